"""One small generator per kind of published fact.

Each takes the compile context and yields frozen constraints. Adding a kind: a generator here, its name in
`EMITTERS` and in `maxent.constraints.program.KINDS`, and a property test that the truth satisfies it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from maxent.constraints.cells import Cells
from maxent.constraints.program import Contradiction, Linear
from maxent.constraints.pruned import pruned_sizes
from maxent.constraints.rounding import RateReader
from maxent.constraints.sampling import Counting, left_out_of, true_count_bounds
from maxent.constraints.sums import CellSums
from maxent.models.companions import Fact
from maxent.models.errors import Origin
from maxent.models.random_trees import METHOD as RDT
from maxent.models.release import Node, Release
from maxent.models.table import QITable

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


class RegionBook:
    """Collects the sets of cells that constraints sum over, each once."""

    def __init__(self) -> None:
        self.cells: list[IntArray] = []
        self.places: list[tuple[int, int] | None] = []
        self._known: dict[Hashable, int] = {}

    def add(self, key: Hashable, cells: IntArray, place: tuple[int, int] | None = None) -> int:
        if key not in self._known:
            self._known[key] = len(self.cells)
            self.cells.append(cells)
            self.places.append(place)
        return self._known[key]


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What the emitters look at: the release, the table, the unknowns and the options of the compilation.

    ``sizes`` are those of `maxent.constraints.cells.place_sizes`.
    """

    release: Release
    table: QITable
    cells: Cells
    knowledge: frozenset[str]
    rates: RateReader
    marginal: FloatArray | None
    facts: tuple[Fact, ...]
    counting: Counting
    sums: CellSums
    sizes: tuple[FloatArray, ...]
    regions: RegionBook = field(default_factory=RegionBook)

    @property
    def n_classes(self) -> int:
        return len(self.release.target.classes)

    @property
    def single(self) -> bool:
        """Whether every quasi-identifier is one cell."""
        return len(self.cells) == len(self.table)

    @property
    def sampled(self) -> bool:
        return self.release.sampling_rate < 1.0

    @property
    def suppressed(self) -> bool:
        return self.release.suppressed_below > 1

    def origin(self, tree: int, node: Node) -> Origin:
        many = len(self.release.trees) > 1
        return Origin("leaf" if node.is_leaf else "node", node.id, tree if many else None)

    def nodes(self) -> Iterator[tuple[int, int, Node]]:
        """Every node that some quasi-identifier can reach: (tree, place, node)."""
        for t, tree in enumerate(self.release.trees):
            held = self.cells.trees[t]
            for place, node in enumerate(tree.nodes):
                if held.stop[place] > held.start[place]:
                    yield t, place, node

    def region(self, tree: int, place: int) -> int:
        return self.regions.add((tree, place), self.cells.trees[tree].at(place), (tree, place))

    def size(self, tree: int, place: int) -> float | None:
        """Individuals in a place, None when private attributes decide who is there."""
        size = float(self.sizes[tree][place])
        return None if math.isnan(size) else size

    def records(self, tree: int, place: int, node: Node) -> float | None:
        """Individuals in a place as the table, or else the release, tells; a suppressed ``n`` of 0 tells nothing."""
        size = self.size(tree, place)
        return size if size is not None else None if self.suppressed and node.n == 0 else node.n


def stated_label(context: Context, node: Node) -> str | None:
    """The label of a leaf, as stated or as its counts imply (the first of the most frequent classes)."""
    if node.label is not None or not node.is_leaf or node.counts is None or context.suppressed:
        return node.label
    best = max(node.counts.values(), default=0)
    return next((c for c in context.release.target.classes if best > 0 and node.counts.get(c) == best), None)


def stated_rate(context: Context, node: Node) -> float | None:
    """The error rate of a leaf, as stated or as its counts imply."""
    label = stated_label(context, node)
    if node.error_rate is not None or label is None or node.counts is None or context.suppressed:
        return node.error_rate
    total = sum(node.counts.values())
    return (total - node.counts[label]) / total if total else None


def read_directly(context: Context, node: Node, kind: str) -> bool:
    """Whether a leaf's label or rate is to be compiled: stated, or only implied while its counts are left out."""
    value = node.label if kind == "label" else node.error_rate
    return value is not None or "counts" not in context.knowledge


def labels(context: Context) -> Iterator[Linear]:
    """The label's mass in a leaf is at least every other class's (Zhu & Du 2010, section 4.1)."""
    if context.sampled:
        return  # a majority of the sample need not be one of the population
    classes, one = context.release.target.classes, np.eye(context.n_classes)
    ahead = {label: np.delete(one[x] - one, x, axis=0) for x, label in enumerate(classes)}
    lower, upper = np.zeros(context.n_classes - 1), np.full(context.n_classes - 1, np.inf)
    for t, place, node in context.nodes():
        label = stated_label(context, node)
        if label is None or context.n_classes == 1 or not read_directly(context, node, "label"):
            continue
        if context.suppressed and node.counts is not None and not node.counts[label]:
            continue  # every count was suppressed: the label says nothing about the records
        says = f"label {label}: no other class is more frequent"
        yield Linear("label", context.origin(t, node), context.region(t, place), ahead[label], lower, upper, says)


def rates(context: Context) -> Iterator[Linear]:
    """The label's share of a leaf is one minus the error rate (Zhu & Du 2010, section 4.1), within its rounding."""
    if context.sampled:
        return  # the rate of the sample is not the population's
    one = dict(zip(context.release.target.classes, np.eye(context.n_classes), strict=True))
    for t, place, node in context.nodes():
        label, rate = stated_label(context, node), stated_rate(context, node)
        if label is None or rate is None or not read_directly(context, node, "rate"):
            continue
        hit = one[label]
        n = context.records(t, place, node)
        if n is not None:
            coef = hit[None, :]
            low, high = context.rates.hits(rate, n)
            lower, upper = np.array([low]), np.array([high])
        else:
            least, most = context.rates.share(rate)
            coef = np.stack([hit - least, hit - most]) if least < most else (hit - least)[None, :]
            lower = np.array([0.0, -np.inf]) if least < most else np.zeros(1)
            upper = np.array([np.inf, 0.0]) if least < most else np.zeros(1)
        says = f"error rate {rate:.6g} of label {label}"
        yield Linear("rate", context.origin(t, node), context.region(t, place), coef, lower, upper, says)


def counts(context: Context) -> Iterator[Linear]:
    """The mass of each class in a node is its count, or within what sampling and suppression leave of it."""
    classes, each = context.release.target.classes, np.eye(context.n_classes)
    stating = [(t, place, node) for t, place, node in context.nodes() if node.counts is not None]
    published = np.array([[(node.counts or {})[c] for c in classes] for _, _, node in stating], np.int64)
    lower, upper = _true_counts(context, published.reshape(-1, len(classes)), stating)
    for (t, place, node), low, high in zip(stating, lower, upper, strict=True):
        says = "counts " + _counted(classes, low.tolist(), high.tolist())
        region = context.region(t, place)
        yield Linear("counts", context.origin(t, node), region, each, low.astype(float), high.astype(float), says)
    yield from left_out(context)


def _true_counts(
    context: Context, published: IntArray, stating: list[tuple[int, int, Node]]
) -> tuple[IntArray, IntArray]:
    """Smallest and largest true counts behind those of some places, shapes (n_places, n_classes)."""
    if not context.sampled and not context.suppressed:
        return published, published
    sizes = (context.size(t, place) for t, place, _ in stating)
    most = np.array([context.table.individuals if size is None else size for size in sizes], np.int64)
    low, high = true_count_bounds(published.ravel(), np.repeat(most, context.n_classes), context.counting)
    return low.reshape(published.shape), high.reshape(published.shape)


def says_why_left_out(release: Release) -> bool:
    """Whether it is known why parts of trees are missing, and that private attributes do not part who is alike."""
    return release.defense is not None and release.defense.method == RDT and not release.private


def left_out(context: Context) -> Iterator[Linear]:
    """Where a random tree was left out, every count was suppressed; all who are alike would be in one of them."""
    if not says_why_left_out(context.release):
        return
    unseen = [left_out_of(context.cells, t, len(tree.nodes)) for t, tree in enumerate(context.release.trees)]
    rows = np.unique(np.concatenate(unseen))
    _, most = true_count_bounds(np.zeros(len(rows), np.int64), context.table.counts[rows], context.counting)
    each, none = np.eye(context.n_classes), np.zeros(context.n_classes)
    for row, high in zip(rows.tolist(), most.tolist(), strict=True):
        if high < context.table.counts[row]:
            region = context.regions.add(("unseen", row), np.flatnonzero(context.cells.owner == row))
            origin = Origin(f"{context.table.source}, {context.table.unit} {context.table.lines[row]}")
            says = f"in a part of a tree that was left out: at most {high} of each class"
            yield Linear("counts", origin, region, each, none, np.full(context.n_classes, float(high)), says)


def _counted(classes: tuple[str, ...], lower: list[int], upper: list[int]) -> str:
    """What counts say, in words: ``a: 4, b: 0 to 2, of other classes 0``."""
    shown = [
        f"{c}: {low}" if low == high else f"{c}: {low} to {high}"
        for c, low, high in zip(classes, lower, upper, strict=True)
        if high
    ]
    return ", ".join([*shown, "of other classes 0"] if len(shown) < len(classes) else shown)


def sizes(context: Context) -> Iterator[Linear]:
    """What is said of the records of places whose individuals private attributes decide; else it is checked only."""
    if context.sampled or not context.knowledge & {"rate", "counts"}:
        return
    ones = np.ones((1, context.n_classes))
    for t, place, node in context.nodes():
        if node.n is None or context.size(t, place) is not None or (context.suppressed and node.n == 0):
            continue
        n = np.array([float(node.n)])
        yield Linear("n", context.origin(t, node), context.region(t, place), ones, n, n, f"n {node.n}")
    for bound in pruned_sizes(context.release, context.cells.trees[0].layout):
        if context.size(0, bound.place) is None:
            region, lower, upper = context.region(0, bound.place), np.array([bound.low]), np.array([bound.high])
            yield Linear("n", bound.origin, region, ones, lower, upper, bound.says)


def marginal(context: Context) -> Iterator[Linear]:
    """The number of individuals of each class in the whole table (the SA constraint of Zhu & Du 2010, section 4.3)."""
    if context.marginal is None:
        return
    region = context.region(0, 0)
    says = "marginal " + ", ".join(
        f"{c}: {n:g}" for c, n in zip(context.release.target.classes, context.marginal, strict=True)
    )
    yield Linear(
        "marginal", Origin("marginal"), region, np.eye(context.n_classes), context.marginal, context.marginal, says
    )


def facts(context: Context) -> Iterator[Linear]:
    """Background knowledge: at least so many of the individuals with these quasi-identifiers have this class."""
    merged: dict[tuple[bytes, int], list[Fact]] = {}
    for fact in context.facts:
        merged.setdefault((fact.rows.tobytes(), fact.class_index), []).append(fact)
    for (rows, x), group in merged.items():
        inside = np.flatnonzero(np.isin(context.cells.owner, group[0].rows))
        known = float(sum(fact.count for fact in group))
        lines = ", ".join(str(fact.line) for fact in group)
        yield Linear(
            "facts",
            Origin(f"{group[0].source}, line {lines}"),
            context.regions.add(("facts", rows), inside),
            np.eye(context.n_classes)[[x]],
            np.array([known]),
            np.array([np.inf]),
            f"at least {known:g} with {context.release.target.classes[x]}",
        )


EMITTERS: dict[str, Callable[[Context], Iterator[Linear]]] = {
    "label": labels,
    "rate": rates,
    "counts": counts,
    "n": sizes,
    "marginal": marginal,
    "facts": facts,
}


def table_contradictions(context: Context) -> Iterator[Contradiction]:
    """Numbers of records that the adversary's table contradicts: the release was not made from these individuals."""
    for t, tree in enumerate(context.release.trees):
        for place, node in enumerate(tree.nodes):
            size, said, at_least = context.size(t, place), node.n, context.sampled
            if said is None and node.counts is not None:
                said, at_least = sum(node.counts.values()), context.sampled or context.suppressed
            if size is None or said is None or (context.suppressed and said == 0):
                continue
            off = max(said - size, 0.0) if at_least else abs(said - size)
            if off:
                yield Contradiction(
                    context.origin(t, node), f"{said} records, but {size:g} individuals of the table reach it", off
                )
    for bound in pruned_sizes(context.release, context.cells.trees[0].layout):
        size = context.size(0, bound.place)
        if size is not None and not bound.low <= size <= bound.high:
            off = max(bound.low - size, size - bound.high)
            yield Contradiction(bound.origin, f"{bound.says}, but {size:g} individuals of the table reach it", off)
