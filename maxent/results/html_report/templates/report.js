"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const MOST_ROWS = 600;
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  if (!data.releases.length) return;
  const { column, row, width, height, line, margin, steps } = data.size;
  const canvas = byId("canvas"), panel = byId("panel"), told = byId("told");
  const state = { release: 0, tree: 0, colour: "right", open: new Set(), chosen: -1, focus: 0 };
  const KINDS = ["leaf", "node", "removed leaf"];
  let cards = new Map(), order = [], parents = [], depths = [], ranked = null;

  const release = () => data.releases[state.release];
  const tree = () => release().trees[state.tree];
  const text = (i) => release().texts[i];
  const percent = (share) => {
    if (share === 0 || share === 1) return 100 * share + " %";
    return Math.min(Math.max(100 * share, 0.1), 99.9).toFixed(1) + " %";
  };
  const count = (n) => n.toLocaleString("en-US");
  const people = (n) => (n === 1 ? "1 person" : count(n) + " people");
  const far = (x) => (x === "inf" ? "infinite" : x.toFixed(4));
  const clip = (words, n) => (words.length <= n ? words : words.slice(0, n - 1) + "…");

  // Only text and attributes are ever set: nothing from the data is parsed as markup.
  function make(name, attributes = {}, ...children) {
    const svg = ["svg", "g", "rect", "path", "text", "tspan", "title", "circle"].includes(name);
    const element = svg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  // --- Measures and shades

  function measure(place) {
    const t = tree();
    if (!t.people[place]) return null;
    return state.colour === "certain" ? t.certain[place] / t.people[place] : t[state.colour][place];
  }
  function shade(place) {
    const value = measure(place), base = release().baseline;
    if (value === null) return null;
    if (state.colour === "certain") return value === 0 ? 0 : Math.min(steps - 1, 1 + Math.floor(value * (steps - 1)));
    return base >= 1 ? steps - 1 : Math.min(steps - 1, Math.max(0, Math.floor(((value - base) / (1 - base)) * steps)));
  }
  function legend() {
    const base = release().baseline, list = make("ul", { class: "legend", "aria-label": "Shades of disclosure" });
    for (let i = 0; i < steps; i++) {
      const begins = state.colour === "certain" ? (i ? (i - 1) / (steps - 1) : 0) : base + ((1 - base) * i) / steps;
      const words = state.colour === "certain" ? (i ? (i > 1 ? "from " : "above ") + percent(begins) : "nobody") : "from " + percent(begins);
      const box = make("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, make("rect", { class: `shade s${i}`, width: 16, height: 16, rx: 3 }));
      list.append(make("li", {}, box, words));
    }
    if (state.colour !== "certain") list.append(make("li", {}, "without the release: " + release().blind));
    byId("legend").replaceChildren(list);
  }

  // --- The drawing

  function survey() {
    const t = tree();
    parents = new Array(t.kind.length).fill(-1);
    depths = new Array(t.kind.length).fill(0);
    const stack = [0];
    while (stack.length) {
      const place = stack.pop();
      for (const child of t.children[place]) {
        parents[child] = place;
        depths[child] = depths[place] + 1;
        stack.push(child);
      }
    }
    t.below = new Array(t.kind.length).fill(0);
    const down = [0];
    for (let i = 0; i < down.length; i++) down.push(...t.children[down[i]]);
    for (let i = down.length - 1; i > 0; i--) t.below[parents[down[i]]] += t.below[down[i]] + 1;
    ranked = null;
  }
  function label(place) {
    const t = tree(), words = [people(t.people[place])];
    if (t.people[place]) words.push(percent(t.right[place]));
    if (t.certain[place]) words.push(count(t.certain[place]) + " certain");
    return words.join(" · ");
  }
  function name(place) {
    const t = tree();
    return t.kind[place] === 2 ? "removed leaf" : `${KINDS[t.kind[place]]} ${text(t.id[place])}`;
  }
  function draw(keepFocus) {
    const t = tree(), rows = new Map(), stack = [0];
    order = [];
    let used = 0, deepest = 0;
    while (stack.length) {
      const place = stack.pop();
      order.push(place);
      deepest = Math.max(deepest, depths[place]);
      if (state.open.has(place)) stack.push(...[...t.children[place]].reverse());
      else rows.set(place, used++);
    }
    for (let i = order.length - 1; i >= 0; i--) {
      const below = t.children[order[i]];
      if (state.open.has(order[i])) rows.set(order[i], (rows.get(below[0]) + rows.get(below[below.length - 1])) / 2);
    }
    const wide = margin * 2 + column * deepest + width + (column - width), high = margin * 2 + row * used;
    const svg = make("svg", { class: "tree", width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "tree", "aria-label": `${t.name} of ${release().name}` });
    const links = make("g", { "aria-hidden": "true" });
    svg.append(links);
    cards = new Map();
    for (const place of order) {
      const x = margin + column * depths[place], y = margin + row * rows.get(place) + (row - height) / 2;
      if (state.open.has(place)) {
        for (const child of t.children[place]) {
          const x1 = x + width, x2 = x + column, y1 = y + height / 2, y2 = margin + row * (rows.get(child) + 0.5), middle = (x1 + x2) / 2;
          links.append(make("path", { class: "link", d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` }));
        }
      }
      const card = drawCard(place, x, y);
      cards.set(place, card);
      svg.append(card);
    }
    canvas.replaceChildren(svg);
    if (!cards.has(state.focus)) state.focus = 0;
    cards.get(state.focus).setAttribute("tabindex", "0");
    if (keepFocus) cards.get(state.focus).focus({ preventScroll: true });
    told.textContent = order.length < t.kind.length ? `${count(order.length)} of ${count(t.kind.length)} nodes are shown; open one (+) to see more.` : "";
    byId("drawn").textContent = `${release().name}: ${t.name}`;
  }
  function drawCard(place, x, y) {
    const t = tree(), level = shade(place), inner = t.children[place].length > 0, open = state.open.has(place);
    const siblings = parents[place] < 0 ? [place] : t.children[parents[place]];
    const full = `${text(t.condition[place])}: ${name(place)}, ${label(place)}`;
    const card = make("g", {
      class: "node", role: "treeitem", tabindex: "-1", transform: `translate(${x} ${y})`, "aria-label": full, "aria-level": depths[place] + 1,
      "aria-setsize": siblings.length, "aria-posinset": siblings.indexOf(place) + 1, "aria-selected": String(place === state.chosen), "data-place": place,
    });
    if (inner) card.setAttribute("aria-expanded", String(open));
    const tone = level === null ? "tn" : `t${level}`;
    card.append(
      make("title", {}, full),
      make("rect", { class: "ring", x: -4, y: -4, width: width + 8, height: height + 8, rx: 11 }),
      make("rect", { class: `shade ${level === null ? "nobody" : "s" + level}`, width, height, rx: 8 }),
      make("text", { class: tone, x: 12, y: 18 }, make("tspan", { class: "strong" }, text(t.title[place])), make("tspan", { x: 12, dy: 16 }, clip(label(place), line))),
    );
    if (inner) {
      const cross = make("path", { d: open ? "M-4 0H4" : "M-4 0H4M0 -4V4", fill: "none" });
      card.append(make("g", { class: "toggle", transform: `translate(${width} ${height / 2})`, "aria-hidden": "true" }, make("circle", { r: 9 }), cross));
      if (!open) card.append(make("text", { class: "more", x: width + 13, y: height / 2 + 4 }, "+" + count(t.below[place])));
    }
    return card;
  }
  function toggle(place, keepFocus = true) {
    if (!tree().children[place].length) return;
    if (state.open.has(place)) state.open.delete(place);
    else state.open.add(place);
    state.focus = place;
    draw(keepFocus);
  }
  function focus(place) {
    cards.get(state.focus)?.setAttribute("tabindex", "-1");
    state.focus = place;
    const card = cards.get(place);
    card.setAttribute("tabindex", "0");
    card.focus({ preventScroll: true });
    intoView(card);
  }
  function intoView(card) {
    const inside = card.getBoundingClientRect(), frame = canvas.getBoundingClientRect();
    if (inside.top < frame.top || inside.bottom > frame.bottom) canvas.scrollTop += inside.top - frame.top - frame.height / 2 + inside.height / 2;
    if (inside.left < frame.left || inside.right > frame.right) canvas.scrollLeft += inside.left - frame.left - 24;
  }
  function reveal(place) {
    for (let up = parents[place]; up >= 0; up = parents[up]) state.open.add(up);
    state.focus = place;
    draw(false);
    choose(place);
    intoView(cards.get(place));
  }

  // --- The panel

  function choose(place) {
    cards.get(state.chosen)?.setAttribute("aria-selected", "false");
    state.chosen = place;
    cards.get(place)?.setAttribute("aria-selected", "true");
    const t = tree(), parts = [], title = name(place);
    parts.push(make("h3", {}, title[0].toUpperCase() + title.slice(1)));
    const steps = new Map(); // upwards: of each attribute the first condition says all that the way does
    for (let up = place; up > 0; up = parents[up]) if (!steps.has(t.attribute[up])) steps.set(t.attribute[up], text(t.condition[up]));
    const way = [...steps.values()].reverse();
    parts.push(make("p", { class: "muted" }, way.length > 12 ? "… , " + way.slice(-12).join(", ") : way.join(", ") || "everybody"));
    parts.push(make("h4", {}, "What it tells"), list(t.stated[place].map(text)));
    if (t.people[place]) parts.push(...inferred(place), ...behind(place));
    else parts.push(make("p", {}, "Nobody of the table can be here."));
    const why = t.why[place];
    parts.push(make("h4", {}, "Constraints that come from it"));
    if (!why.length) parts.push(make("p", { class: "muted" }, "None of its own."));
    const said = make("ul");
    for (let i = 0; i < why.length; i += 2) said.append(make("li", {}, make("b", {}, text(why[i])), " " + text(why[i + 1])));
    if (t.more[place]) said.append(make("li", {}, `and ${count(t.more[place])} more`));
    if (why.length) parts.push(said);
    panel.replaceChildren(...parts);
    panel.scrollTop = 0;
  }
  function inferred(place) {
    const t = tree(), table = make("table"), body = make("tbody");
    const shares = t.classes[place].map((share, i) => [share, i]).sort((a, b) => b[0] - a[0]);
    const likely = shares.slice(0, 8).filter(([share], i) => i < 2 || share >= 0.001);
    for (const [share, i] of likely) {
      const bar = make("svg", { class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
        make("rect", { class: "track", width: 100, height: 8 }), make("rect", { class: "fill", width: (100 * share).toFixed(2), height: 8 }));
      body.append(make("tr", {}, make("th", { scope: "row" }, release().classes[i], bar), make("td", { class: "n" }, percent(share))));
    }
    table.append(make("caption", { class: "hidden" }, "Estimated classes"), body);
    const facts = [`A guess of ${t.people[place] === 1 ? "this person’s" : "each person’s"} class is right ${percent(t.right[place])} of the time, by the estimate (without the release: ${release().blind}).`,
      `The surest guess about anybody here has a probability of ${t.surest[place].toFixed(3)}.`,
      t.certain[place] ? `${people(t.certain[place])}: the class is certain.` : "Nobody’s class is certain.",
      `Doubt that is left: ${percent(shares.length > 1 ? t.entropy[place] / Math.log(shares.length) : 0)} of what it could be.`];
    if (t.divergence) facts.push(`Distance of the estimate from the truth: ${far(t.divergence[place])}.`);
    const rest = shares.length - likely.length;
    const more = rest ? make("p", { class: "muted" }, `and ${rest === 1 ? "one class" : rest + " classes"} less likely`) : null;
    return [make("h4", {}, `What an adversary concludes: ${release().target}`), table, ...(more ? [more] : []), list(facts)];
  }
  function behind(place) {
    const t = tree(), r = release(), kinds = t.quasi[place];
    const intro = `${people(t.people[place])}${r.uncertain ? " who may be here," : ""} with ${kinds === 1 ? "one quasi-identifier" : count(kinds) + " quasi-identifiers"}` + (t.who[place].length < kinds ? "; the most exposed:" : ":");
    const entries = t.who[place].map((i) => {
      const [values, n, klass, probability, distance] = r.people[i];
      const item = make("li", {});
      values.forEach((value, j) => item.append(make("span", { class: "pair" }, make("span", {}, r.attributes[j]), " " + text(value)), " "));
      item.append(make("br"), `${people(n)}: ${text(klass)} with probability ${probability.toFixed(3)}` + (distance === null ? "" : `, distance ${far(distance)}`));
      return item;
    });
    return [make("h4", {}, "Who is behind it"), make("p", {}, intro), make("ul", {}, ...entries)];
  }
  const list = (texts) => make("ul", {}, ...texts.map((words) => make("li", {}, words)));

  // --- What the reader does

  function show(number, which) {
    state.release = number;
    state.tree = which;
    state.open = new Set(tree().open);
    state.chosen = -1;
    state.focus = 0;
    byId("release").value = number;
    fill(byId("which"), release().trees.map((t) => t.name), which);
    byId("pick-tree").hidden = release().trees.length < 2;
    survey();
    legend();
    draw(false);
    panel.replaceChildren(make("p", { class: "muted" }, "Choose a node to see what it tells, who is behind it and which constraints come from it."));
  }
  function fill(select, names, value) {
    select.replaceChildren(...names.map((words, i) => make("option", { value: i }, words)));
    select.value = value;
  }
  function rank() {
    const t = tree();
    if (!ranked) {
      ranked = t.kind.map((_, place) => place).filter((place) => !t.children[place].length && t.people[place]);
      ranked.sort((a, b) => t.right[b] - t.right[a] || t.people[b] - t.people[a]);
    }
    return ranked;
  }
  byId("next").addEventListener("click", () => {
    const leaves = rank();
    if (leaves.length) reveal(leaves[(leaves.indexOf(state.chosen) + 1) % leaves.length]);
  });
  byId("find").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    const t = tree(), wanted = event.target.value.trim().toLowerCase(), n = t.kind.length;
    if (!wanted) return;
    for (let i = 1; i <= n; i++) {
      const place = (Math.max(state.chosen, -1) + i) % n;
      if (text(t.id[place]).toLowerCase() === wanted || text(t.condition[place]).toLowerCase().includes(wanted)) return reveal(place);
    }
    told.textContent = "No node has this id or value.";
  });
  byId("open-all").addEventListener("click", () => {
    const t = tree(), waiting = [0];
    let used = 1;
    for (let i = 0; i < waiting.length; i++) {
      const below = t.children[waiting[i]];
      if (!below.length) continue;
      if (!state.open.has(waiting[i]) && used + below.length - 1 > MOST_ROWS) continue;
      state.open.add(waiting[i]);
      used += below.length - 1;
      waiting.push(...below);
    }
    draw(false);
  });
  byId("close-all").addEventListener("click", () => {
    state.open = new Set(tree().children[0].length ? [0] : []);
    draw(false);
  });
  byId("colour").addEventListener("change", (event) => {
    state.colour = event.target.value;
    legend();
    draw(false);
  });
  byId("release").addEventListener("change", (event) => show(Number(event.target.value), 0));
  byId("which").addEventListener("change", (event) => show(state.release, Number(event.target.value)));
  canvas.addEventListener("click", (event) => {
    const card = event.target.closest(".node");
    if (!card) return;
    const place = Number(card.dataset.place);
    if (event.target.closest(".toggle")) return toggle(place);
    focus(place);
    choose(place);
  });
  canvas.addEventListener("dblclick", (event) => {
    const card = event.target.closest(".node");
    if (card && !event.target.closest(".toggle")) toggle(Number(card.dataset.place));
  });
  canvas.addEventListener("keydown", (event) => {
    const t = tree(), at = order.indexOf(state.focus), open = state.open.has(state.focus), below = t.children[state.focus];
    const moves = {
      ArrowDown: () => at + 1 < order.length && focus(order[at + 1]),
      ArrowUp: () => at > 0 && focus(order[at - 1]),
      Home: () => focus(order[0]),
      End: () => focus(order[order.length - 1]),
      ArrowRight: () => below.length && (open ? focus(below[0]) : toggle(state.focus)),
      ArrowLeft: () => (open ? toggle(state.focus) : parents[state.focus] >= 0 && focus(parents[state.focus])),
      Enter: () => choose(state.focus),
      " ": () => choose(state.focus),
    };
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    moves[event.key]();
  });
  for (const button of document.querySelectorAll("button.show")) {
    button.addEventListener("click", () => {
      const { release: number, tree: which, place } = button.dataset;
      if (Number(number) !== state.release || Number(which) !== state.tree) show(Number(number), Number(which));
      reveal(Number(place));
      byId("explorer").scrollIntoView({ block: "start" });
      cards.get(Number(place)).focus({ preventScroll: true });
    });
  }
  for (const whole of document.querySelectorAll(".whole")) {
    const places = whole.dataset.places.split(" ").map(Number), number = Number(whole.dataset.release), which = Number(whole.dataset.tree);
    whole.classList.add("linked");
    whole.addEventListener("click", (event) => {
      const frame = whole.getBoundingClientRect(), at = Math.floor(((event.clientX - frame.left) / frame.width) * places.length);
      if (number !== state.release || which !== state.tree) show(number, which);
      reveal(places[Math.min(Math.max(at, 0), places.length - 1)]);
      byId("explorer").scrollIntoView({ block: "nearest" });
    });
  }
  const folded = [];
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details.fold:not([open])")) {
      details.open = true;
      folded.push(details);
    }
  });
  addEventListener("afterprint", () => {
    for (const details of folded.splice(0)) details.open = false;
  });

  for (const element of document.querySelectorAll(".scripted")) element.hidden = false;
  for (const element of document.querySelectorAll(".static")) element.hidden = true;
  byId("explorer").hidden = false;
  fill(byId("release"), data.releases.map((one) => one.name), 0);
  byId("pick-release").hidden = data.releases.length < 2;
  show(data.releases.length - 1, 0);
  if (order.length) choose(0);
})();
