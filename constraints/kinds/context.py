"""Input of every kind of constraint (`Context`), and the interface of a kind (`Kind`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np

from maxent.constraints.kinds.boosted_leaves import LeafCounts, none
from maxent.constraints.program.cells import Cells, CellSums
from maxent.models.arguments import Noise as Noise
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import Origin
from maxent.models.nodes import moments_of
from maxent.models.release import Impurity, Node, Release

if TYPE_CHECKING:
    from maxent.constraints.kinds.sampling import Counting
    from maxent.constraints.program.program import Internal, Linear
    from maxent.models.tables.qi_table import QITable
    from maxent.models.tables.truth_and_facts import Fact
    from maxent.models.trees.printed_rates import RateReader

NOISES: tuple[Noise, ...] = get_args(Noise)


class RegionBook:
    """Collects the sets of cells that constraints sum over, each once."""

    def __init__(self) -> None:
        self.cells: list[IntArray] = []
        self.places: list[tuple[int, int] | None] = []
        self.repeated = 0  # statements that were left out, as they repeat others about the same cells
        self._known: dict[Hashable, int] = {}

    def add(self, key: Hashable, cells: IntArray, place: tuple[int, int] | None = None) -> int:
        if key not in self._known:
            self._known[key] = len(self.cells)
            self.cells.append(cells)
            self.places.append(place)
        return self._known[key]


@dataclass(frozen=True, slots=True)
class RegisterMembers:
    """Members of a register: ``number`` of its people are in the data, nobody says who; the last class are the others.

    ``apart``: whether these are in leaves of their own, where a node before each root sends them.
    """

    number: int
    apart: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """Input of the emitters: the release, the table, the unknowns and the options of the compilation.

    ``sizes`` are those of `maxent.constraints.program.cells.place_sizes`, ``scored`` are the counts that scores prove.
    ``totals`` are numbers of people of each class that some release states, shape (n_classes,).
    ``enough`` is asked while there is more to state whether to leave it out. ``members`` are those of the table who are
    in the data, None where all are; then no size of a place is known.
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
    impurity: Impurity | None = None
    regions: RegionBook = field(default_factory=RegionBook)
    enough: Callable[[], bool] = lambda: False
    noise: Noise = "intervals"
    scored: LeafCounts = field(default_factory=none)
    totals: tuple[FloatArray, ...] = ()
    members: RegisterMembers | None = None

    @property
    def individuals(self) -> int:
        """People whom the release is about."""
        return self.table.individuals if self.members is None else self.members.number

    @property
    def n_classes(self) -> int:
        return len(self.release.target.classes)

    @property
    def single(self) -> bool:
        """Whether every quasi-identifier is one cell."""
        return len(self.cells) == len(self.table)

    @property
    def sampled(self) -> bool:
        return self.release.sampled

    @property
    def rounded(self) -> bool:
        return self.release.rounded is not None

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

    def moments(self) -> tuple[list[FloatArray], list[FloatArray]]:
        """Means and variances of the nodes of each tree, NaN where nobody is or none is stated; shapes (n_nodes,)."""
        found = []
        for tree, held in zip(self.release.trees, self.cells.trees, strict=True):
            n = len(tree.nodes)
            here = held.stop[:n] > held.start[:n]
            found.append([np.where(here, each, np.nan) for each in moments_of(tree.nodes)])
        return [mean for mean, _ in found], [variance for _, variance in found]

    def region(self, tree: int, place: int) -> int:
        return self.regions.add((tree, place), self.cells.trees[tree].at(place), (tree, place))

    def size(self, tree: int, place: int) -> float | None:
        """Individuals in a place, None when private attributes decide who is there."""
        size = float(self.sizes[tree][place])
        return None if math.isnan(size) else size

    def records(self, tree: int, place: int, node: Node) -> float | None:
        """Individuals in a place as the table, or else the release, tells; not by an ``n`` that may be another."""
        size = self.size(tree, place)
        return size if size is not None else None if self.rounded or (self.suppressed and node.n == 0) else node.n


class Kind(NamedTuple):
    r"""A kind of constraint: one module with its generator, one entry in `maxent.constraints.kinds.registry`.

    ``name``: as in reports and in the JSON summary. ``words``: what constraints of the kind say, for a report: a noun,
    a colon and a sentence. ``latex``: their general form, for the inside of ``\[ \]``. ``emit``: Yields the constraints
    of a context; None where the program has them by construction. ``knowledge``: the choice of ``--knowledge`` that the
    kind belongs to; None for what an adversary always uses. ``about_classes``: whether the kind says something
    about classes of people in a place of a tree. People of whom nothing more is stated are one group, see
    `maxent.disclosure.inference`.
    """

    name: str
    words: str
    latex: str
    emit: Callable[[Context], Iterator[Linear] | Iterator[Internal]] | None = None
    knowledge: str | None = None
    about_classes: bool = True


def read_directly(context: Context, node: Node, kind: str) -> bool:
    """Whether a leaf's label or rate is to be compiled: stated, or only implied while its counts are left out."""
    value = node.label if kind == "label" else node.error_rate
    return value is not None or "counts" not in context.knowledge
