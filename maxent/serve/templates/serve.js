// Sends dropped files as they are, and looks how far a review is. All else are plain forms.
"use strict";
(() => {
  const token = document.body.dataset.token;

  async function send(method, address, body, headers) {
    const answer = await fetch(address, {
      method, body, credentials: "same-origin", redirect: "error", headers: { "X-Form-Token": token, ...headers },
    });
    const found = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(found.sentence || "maxent did not take it: is it still running?");
    return found;
  }

  const drop = document.getElementById("drop");
  if (drop) {
    const told = document.getElementById("told");
    const button = drop.querySelector("button");
    drop.hidden = false;
    const zoneOf = (event) => event.target.closest && event.target.closest(".zone");
    for (const kind of ["dragover", "dragleave", "drop"]) {
      document.addEventListener(kind, (event) => {
        event.preventDefault(); // or the browser leaves the page, and shows the file
        const zone = zoneOf(event);
        for (const each of drop.querySelectorAll(".over")) each.classList.remove("over");
        if (kind === "dragover" && zone) zone.classList.add("over");
        if (kind !== "drop") return;
        const input = zone && zone.querySelector("input[type=file]");
        const { files } = event.dataTransfer;
        if (!input || !files.length) {
          told.textContent = "Drop each file on its field: the model, the training table.";
        } else if (files.length > 1 && !input.multiple) {
          told.textContent = "Expected one file there, found several.";
        } else {
          input.files = files;
          told.textContent = [...files].map((file) => file.name).join(", ");
        }
      });
    }
    drop.addEventListener("submit", async (event) => {
      event.preventDefault();
      button.disabled = true;
      try {
        const form = "application/x-www-form-urlencoded";
        const files = [...drop.elements.model.files].map((file) => [drop.elements.model.files.length > 1 ? "model-part" : "model", file]);
        for (const role of ["table", "policy", "population", "control", "statements"]) {
          for (const file of drop.elements[role].files) files.push([role, file]);
        }
        for (const [, file] of files) {
          if (!file.size) throw new Error(`${file.name}: expected a file, found nothing in it.`);
          if (file.size > Number(drop.dataset.most)) throw new Error(`${file.name}: expected at most ${Number(drop.dataset.most) / 1e6} MB, found more.`);
        }
        const { number } = await send("POST", "/reviews", "", { "Content-Type": form });
        for (const [role, file] of files) {
          told.textContent = `Taking ${file.name} ...`;
          const headers = { "Content-Type": "application/octet-stream", "X-File-Name": encodeURIComponent(file.name) };
          await send("PUT", `/review/${number}/put/${role}`, file, headers);
        }
        await send("POST", `/review/${number}/look`, "", { "Content-Type": form });
        location.assign(`/review/${number}`);
      } catch (error) {
        told.textContent = error.message;
        button.disabled = false;
      }
    });
  }

  const running = document.getElementById("running");
  if (running) {
    const show = (name, text) => { document.getElementById(name).textContent = text; };
    const look = async () => {
      try {
        const answer = await fetch(`/review/${running.dataset.review}/state`, { credentials: "same-origin" });
        const found = await answer.json();
        if (!found.running) { location.reload(); return; }
        show("at", found.at || found.text);
        show("seconds", found.seconds);
        show("forecast", found.forecast);
        const bar = document.getElementById("bar");
        if (found.total) { bar.max = found.total; bar.value = found.done; } else bar.removeAttribute("value");
      } catch (error) {
        show("forecast", "maxent does not answer: is it still running?");
      }
      setTimeout(look, 1000);
    };
    setTimeout(look, 500);
  }
})();
