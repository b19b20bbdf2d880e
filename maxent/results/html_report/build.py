"""HTML reports on one release or several: their content, trees and data in one file without network access."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from heapq import heappop, heappush
from importlib import resources
from math import isfinite, isinf, log
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.constraints.kinds.registry import KINDS as KIND_REGISTRY
from maxent.constraints.kinds.registry import kinds_of
from maxent.disclosure import ladder as ladders
from maxent.disclosure import limits
from maxent.disclosure.ladder import Rung
from maxent.disclosure.limits import Verdict
from maxent.disclosure.measures import TOLERANCE
from maxent.models.arrays import IntArray
from maxent.models.errors import printable
from maxent.models.files.output import write_text
from maxent.models.nodes import parts_in_words
from maxent.results.html_report import summaries
from maxent.results.html_report import trees as drawing
from maxent.results.html_report import view as html_report_view
from maxent.results.html_report.provenance import provenance
from maxent.results.html_report.summaries import blind_words, numbers, risk_numbers, sensitive_numbers, stakes_numbers
from maxent.results.html_report.trees import DRAWN, drawn_trees, shade, tree_views
from maxent.results.html_report.view import (
    WORTH,
    NodeView,
    Person,
    Provenance,
    ReleaseView,
    ReportView,
    TreeView,
    number,
    shown,
)
from maxent.results.solved import Solved, by_exposure
from maxent.results.text.estimate import target_line

if TYPE_CHECKING:
    from jinja2 import Environment


# The content of a report on one release, from its estimate and the attacks on it.

SHOWN_CONTRADICTIONS = 50
# Nats from the truth from which on an estimate is mostly wrong: it gives one person's true class at most one half.
MISLED = log(2)


def release_view(result: Solved, row: Mapping[str, Any], top: int = 10, budget: int = DRAWN) -> ReleaseView:
    """One release, ready to be rendered.

    ``row``: what `maxent.results.comparison.comparison_row` says of it. ``top``: how many of the most exposed
    quasi-identifiers are listed. ``budget``: how many nodes are drawn at most, the first tree not counted.
    """
    program, found, held = result.program, result.disclosure, result.held
    release, table = program.release, program.table
    surest = exposure(result)
    pool: dict[int, int] = {}
    trees = drawn_trees(result, budget) if release.published else 0
    views = tree_views(result, surest, lambda q: pool.setdefault(q, len(pool)), trees)
    target = shown(release.target.name)
    blind = blind_words(None if result.baseline is None else result.baseline.base_rate, program.n_classes)
    return ReleaseView(
        name=shown(row["release"]),
        defense=shown(row["defense"] or ""),
        target=target,
        classes=tuple(map(shown, release.target.classes)),
        attributes=tuple(shown(attribute.name) for attribute in table.attributes),
        individuals=table.individuals,
        quasi_identifiers=len(table),
        baseline=found.gain.vulnerability_before if result.baseline is None else result.baseline.best,
        row=row,
        measures=numbers(row, target, program.n_classes, result.baseline, "estimate" if held is None else held.way),
        risks=() if result.wp216 is None else risk_numbers(result.wp216, target, blind),
        sensitive=sensitive_numbers(row, target, program.n_classes),
        stakes=stakes_numbers(result.leakage, result.min_capacity),
        blind=blind,
        exposed=tuple(person_of(result, int(q)) for q in surest[:top]),
        people=tuple(person_of(result, q) for q in pool),
        trees=views,
        undrawn=len(release.trees) - trees if release.published else 0,
        records=program.scaling is not None,
        uncertain=not program.single,
        constraints=tuple(
            (kind, count, KIND_REGISTRY[kind].words) for kind, count in kinds_of(program).items() if count
        ),
        reliable=result.reliable,
        worth=WORTH[result.certificate],
        solver=tuple(_solver(result)),
        notes=tuple(
            map(shown, (*map(target_line, result.targets.values()), *parts_in_words(release.trees), *result.notes))
        ),
        contradictions=tuple(shown(c) for c in result.contradictions[:SHOWN_CONTRADICTIONS]),
    )


def exposure(result: Solved) -> IntArray:
    """Quasi-identifiers: whoever is worst off first, those about whom the estimate is mostly wrong last."""
    order, individual = by_exposure(result), result.disclosure.individual
    return order if individual is None else order[np.argsort(individual[order] >= MISLED, kind="stable")]


def person_of(result: Solved, q: int) -> Person:
    """A quasi-identifier, a row of the table."""
    program, p, proof = result.program, result.probabilities[q], result.proof
    likeliest = int(p.argmax())
    known = None if proof is None or not proof.reliable else (proof.low[q, likeliest], proof.high[q, likeliest])
    attributes = program.table.attributes
    values = result.row(q)[: len(attributes)]
    individual = result.disclosure.individual
    return Person(
        values=tuple(
            (shown(attribute.name), shown(value) if isinstance(value, str) else number(value))
            for attribute, value in zip(attributes, values, strict=True)
        ),
        count=int(program.table.counts[q]),
        label=shown(program.release.target.classes[likeliest]),
        probability=float(p.max()),
        divergence=None if individual is None else float(individual[q]),
        proved=None if known is None else (float(known[0]), float(known[1])),
    )


def _solver(result: Solved) -> Iterator[tuple[str, str]]:
    """Solver, status and certificate of the answer."""
    outcome = result.outcome
    yield "Status", outcome.status
    yield "Certificate", result.certificate
    yield "Back end", result.backend
    yield "Convex problem", "yes" if outcome.convex else "no"
    yield "Only optimum", "yes" if result.unique else "not known"
    most = log(result.program.n_classes)
    yield "Entropy left", f"{result.disclosure.entropy:.4f} of at most {most:.4f} nats"
    if (far := result.disclosure.measures.get("divergence")) is not None:
        yield "Divergence of the truth", f"{far:.4f} nats"
    yield "Largest violation of a constraint", f"{outcome.violation:.1e} (tolerance {result.tolerance:g})"
    if isfinite(outcome.duality_gap):
        yield "Proved gap", f"at most {max(outcome.duality_gap, 0.0):.1e} nats per person"
    yield "Independent parts", f"{outcome.parts:,}"
    yield "Iterations", f"{outcome.iterations:,}"
    yield "Seconds", ", ".join(f"{name} {value:.2f}" for name, value in result.seconds.items())


class Gatherer:
    """Gathers releases one by one, so that their estimates need not be kept: ``each`` of `maxent.compare`."""

    def __init__(self, top: int = 10) -> None:
        self.top = top
        self.releases: list[ReleaseView] = []
        self.backends: set[str] = set()

    def __call__(self, result: Solved, row: Mapping[str, Any]) -> None:
        """Add a release: its estimate and its row of a comparison."""
        drawn = sum(len(tree.nodes) for release in self.releases for tree in release.trees)
        self.releases.append(release_view(result, row, self.top, max(DRAWN - drawn, 0)))
        self.backends |= {name for name in result.outcome.backends if name != "presolve"}

    def report(
        self,
        verdict: Verdict,
        provenance: Provenance,
        notes: Sequence[str] = (),
        *,
        interrupted: bool = False,
        title: str = "",
        purpose: str = "",
        ladder: Sequence[Rung] = (),
    ) -> str:
        """The report on what was gathered, as HTML; ``verdict`` is on the same releases.

        ``title`` takes the place of one that names the releases; ``purpose`` is what they are for; ``ladder`` is that
        of the only one.
        """
        return render(
            ReportView(
                title=shown(title) if title else _title(self.releases),
                purpose=shown(purpose),
                verdict=verdict,
                releases=tuple(self.releases),
                interrupted=interrupted,
                notes=tuple(map(shown, notes)),
                provenance=provenance,
                ladder=tuple(ladder),
            )
        )


def save_report(
    path: str | PathLike[str],
    gatherer: Gatherer,
    verdict: Verdict,
    call: str,
    notes: Sequence[str] = (),
    *,
    interrupted: bool = False,
    title: str = "",
    purpose: str = "",
) -> None:
    """Write the report on what a call from Python gathered; parameters are those of `Gatherer.report`."""
    stated = {"title": title or None, "purpose": purpose or None, **verdict.limits.as_dict()}
    source = replace(provenance([], stated, (), gatherer.backends), command=call)
    text = gatherer.report(verdict, source, notes, interrupted=interrupted, title=title, purpose=purpose)
    write_text(path, text)


def _title(releases: Sequence[ReleaseView]) -> str:
    """The subject of a report."""
    *others, last = (
        f"\N{LEFT DOUBLE QUOTATION MARK}{release.name}\N{RIGHT DOUBLE QUOTATION MARK}" for release in releases
    )
    if not others:
        return f"What {last} discloses"
    return (
        f"What {last} discloses, compared with {others[0]}"
        if len(others) == 1
        else f"{len(releases)} releases compared"
    )


# A whole tree at a glance: every leaf a column below its splits, in the shade of what it discloses.

# Columns of a drawing: of a tree with more leaves, those parts are merged that the fewest people are in.
MOST = 400
# Share of the height in which there are leaves alone.
STRIP = 0.4


@dataclass(frozen=True, slots=True)
class Overview:
    """A tree as an icicle, in columns and levels.

    ``columns`` are the places at the bottom, from left to right, of which ``merged`` are no leaves but parts of the
    tree: the shades of their leaves are stacked, each as high as it has people. ``inner`` is the outline of the splits,
    ``shaded`` the outlines of the shades by their class of style.
    """

    width: int
    height: float
    columns: tuple[int, ...]
    merged: int
    leaves: int
    inner: str
    shaded: tuple[tuple[str, str], ...]


def overview(tree: TreeView, baseline: float, most: int = MOST) -> Overview:
    """The whole of a tree, with at most so many columns unless the root alone has more branches."""
    nodes = tree.nodes
    is_open = _opened(tree, most)
    depth, first = {0: 0}, {0: 0}
    columns: list[int] = []
    order: list[int] = []
    stack = [0]
    while stack:
        place = stack.pop()
        first[place] = len(columns)
        order.append(place)
        if place in is_open:
            children = nodes[place].children
            depth.update(dict.fromkeys(children, depth[place] + 1))
            stack.extend(reversed(children))
        else:
            columns.append(place)
    levels = max(depth.values()) + 1
    height = levels / (1 - STRIP)
    end = {place: first[place] + 1 for place in columns}
    for place in reversed(order):
        if place in is_open:
            end[place] = end[nodes[place].children[-1]]
    inner = "".join(_box(first[p], depth[p], end[p] - first[p], 1) for p in order if p in is_open)
    shaded: dict[str, list[str]] = {}
    people = _people_by_shade(tree, baseline, set(columns))
    for place in columns:
        top, total = float(depth[place]), sum(people[place].values())
        for name, count in sorted(people[place].items()):
            high = (height - depth[place]) * count / total
            shaded.setdefault(name, []).append(_box(first[place], top, 1, high))
            top += high
    return Overview(
        width=len(columns),
        height=height,
        columns=tuple(columns),
        merged=sum(bool(nodes[place].children) for place in columns),
        leaves=sum(not node.children for node in nodes),
        inner=inner,
        shaded=tuple((name, "".join(boxes)) for name, boxes in sorted(shaded.items())),
    )


def _people_by_shade(tree: TreeView, baseline: float, columns: set[int]) -> dict[int, dict[str, int]]:
    """The people of the leaves below each column by the shade of their leaf; one of none where nobody is."""
    nodes = tree.nodes
    column, found = {place: place for place in columns}, {place: dict[str, int]() for place in columns}
    stack = [*columns]
    while stack:
        place = stack.pop()
        node, mine = nodes[place], found[column[place]]
        column |= dict.fromkeys(node.children, column[place])
        stack += node.children
        if not node.children and node.disclosed.individuals:
            name = f"s{shade(node.disclosed, baseline)}"
            mine[name] = mine.get(name, 0) + node.disclosed.individuals
    return {place: mine or {"nobody": 1} for place, mine in found.items()}


def _opened(tree: TreeView, most: int) -> set[int]:
    """The places whose branches are drawn: where the most people are first, as long as there are columns."""
    found: set[int] = set()
    used, waiting = 1, [(0, 0)]
    while waiting:
        _, place = heappop(waiting)
        children = tree.nodes[place].children
        if children and (place == 0 or used + len(children) - 1 <= most):
            found.add(place)
            used += len(children) - 1
            for child in children:
                heappush(waiting, (-tree.nodes[child].disclosed.individuals, child))
    return found


def _box(x: int, y: float, width: int, height: float) -> str:
    return f"M{x} {y:g}h{width}v{height:g}h-{width}z"


# The trees of a report as compact JSON, from which its script draws what is asked for.

KINDS = ("leaf", "node", "removed leaf")
# Decimals of probabilities and nats; what is certain becomes 1, what is impossible 0, and nothing else does.
DIGITS = 4


class Pool:
    """Texts, each once."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        """The number of a text."""
        return self.texts.setdefault(text, len(self.texts))

    def all(self, texts: Iterable[str]) -> list[int]:
        """The numbers of some texts."""
        return [self(text) for text in texts]


def packed(releases: Iterable[ReleaseView]) -> str:
    """The trees of all releases as JSON text that may stand in a script element: no character of it ends one."""
    size = {
        "column": drawing.COLUMN,
        "row": drawing.ROW,
        "width": drawing.CARD_WIDTH,
        "height": drawing.CARD_HEIGHT,
        "line": drawing.SMALL_LINE,
    }
    document = {
        "size": {**size, "margin": drawing.MARGIN, "steps": drawing.STEPS},
        "releases": [_release(release) for release in releases if release.trees],
    }
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)  # ASCII: U+2028 and the like are escaped
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _release(release: ReleaseView) -> dict[str, Any]:
    """One release: its texts, the people who are named, and its trees."""
    pool = Pool()
    trees = [_tree(tree, pool) for tree in release.trees]
    people = [_packedperson_of(person, pool) for person in release.people]
    return {
        "name": release.name,
        "target": release.target,
        "classes": list(release.classes),
        "attributes": list(release.attributes),
        "baseline": release.baseline,
        "blind": release.blind,
        "undrawn": release.undrawn,
        "uncertain": release.uncertain,
        "people": people,
        "trees": trees,
        "texts": list(pool.texts),
    }


def _tree(tree: TreeView, pool: Pool) -> dict[str, Any]:
    """One tree, a list for each property of its places."""
    nodes = tree.nodes
    found: dict[str, Any] = {
        "name": tree.name,
        "open": sorted(drawing.opened(tree)),
        "kind": [KINDS.index(node.kind) for node in nodes],
        "id": pool.all(node.name for node in nodes),
        "children": [list(node.children) for node in nodes],
        "attribute": pool.all(node.attribute for node in nodes),
        "condition": pool.all(node.condition for node in nodes),
        "title": pool.all(node.title for node in nodes),
        "people": [node.disclosed.individuals for node in nodes],
        "certain": [node.disclosed.certain for node in nodes],
        "surest": [rounded(node.disclosed.max_posterior) for node in nodes],
        "right": [rounded(node.disclosed.vulnerability) for node in nodes],
        "entropy": [rounded(node.disclosed.entropy) for node in nodes],
        "stated": [pool.all(node.stated) for node in nodes],
        "classes": [[rounded(share) for share in node.distribution] for node in nodes],
        "quasi": [node.quasi_identifiers for node in nodes],
        "who": [list(node.people) for node in nodes],
        "why": [_constraints(node, pool) for node in nodes],
        "more": [node.more for node in nodes],
    }
    if any(node.disclosed.divergence is not None for node in nodes):
        found["divergence"] = [rounded(node.disclosed.divergence) for node in nodes]
    return found


def _constraints(node: NodeView, pool: Pool) -> list[int]:
    """Kind and words of each constraint, one after the other."""
    return [number for said in node.constraints for number in (pool(said.kind), pool(said.says))]


def _packedperson_of(person: Person, pool: Pool) -> list[Any]:
    """Values, individuals, class, its probability, and the divergence if there is one."""
    values = pool.all(value for _, value in person.values)
    return [values, person.count, pool(person.label), rounded(person.probability), rounded(person.divergence)]


def rounded(value: float | None) -> float | str | None:
    """A probability or nats in few characters; infinity, which JSON has not, as ``inf``."""
    if value is None:
        return None
    if isinf(value):
        return "inf"
    unit = 10.0**-DIGITS
    if TOLERANCE <= value < unit or 1 - unit < value <= 1 - TOLERANCE:
        return unit if value < unit else 1 - unit
    short = float(round(value, DIGITS))
    return int(short) if short.is_integer() else short


# A report as one HTML file: no other file, no network, and no script or style but its own.

TEMPLATES = "templates"
# Trees of a release that are drawn for readers without script.
STATIC_TREES = 3


def render(view: ReportView) -> str:
    """The HTML text of a report.

    Everything that comes from a release or a table is escaped, and a strict policy allows no script, style or address
    but those that are part of the file: names in a release cannot do anything.
    """
    return rendered(
        "report.html.j2",
        view=view,
        trees=packed(view.releases),
        bars=summaries.bars(view),
        glance=summaries.glance(view),
        prices=tuple(summaries.prices(view)),
        static_trees=STATIC_TREES,
        misled=MISLED,
    )


def rendered(
    template: str, *, style: str = "report.css", script: str = "report.js", trees: str = "", **content: Any
) -> str:
    """A page of a template, with a style, a script unless it is empty, and the policy that allows these alone."""
    from markupsafe import Markup

    own = {"script": _asset(script) if script else "", "style": _asset(style)}
    hashed = "".join(f"{name}-src '{_hash(text)}'; " for name, text in own.items() if text)
    policy = f"default-src 'none'; {hashed}img-src data:; base-uri 'none'; form-action 'none'"
    marked = {name: Markup(text) for name, text in {**own, "trees": trees}.items()}
    return _environment().get_template(template).render(policy=policy, **marked, **content)


def templates(package: str) -> Environment:
    """Templates of a package, which escape everything, and fail for what is missing."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    how: Any = {"autoescape": True, "undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    found = Environment(loader=PackageLoader(package, TEMPLATES), **how)
    found.filters["capital"] = lambda text: text[:1].upper() + text[1:]
    return found


@cache
def _environment() -> Environment:
    """Templates of reports."""
    environment = templates("maxent.results.html_report")
    environment.filters |= {
        "percent": html_report_view.percent,
        "distance": html_report_view.distance,
        "people": html_report_view.people,
        "printable": printable,
        "shown": html_report_view.shown,
    }
    environment.globals |= {
        "draw": drawing.draw,
        "overview": overview,
        "legend": drawing.legend,
        "size": drawing,
        "listed": summaries.listed,
        "plural": html_report_view.plural,
        "limit_names": limits.PLAIN,
        "check_words": limits.CHECK_WORDS,
        "assumed": ladders.ASSUMED,
        "rung_words": ladders.STATUS,
    }
    return environment


@cache
def _asset(name: str) -> str:
    """A file of ours that goes into the report."""
    return (resources.files("maxent.results.html_report") / TEMPLATES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """An inline script or style as the policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
