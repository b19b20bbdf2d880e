"""Cross tables: cells, margins, suppressed cells, and numbers rounded to a base."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, get_args

import numpy as np

from maxent.models.arguments import is_number, show
from maxent.models.release import Rounded, RoundingMethod
from maxent.models.statements.statement import Axis, Keys, LinearStatement, StatementPeople, described
from maxent.models.statements.sums import sides

if TYPE_CHECKING:
    from typing import Self

    from maxent.models.arrays import BoolArray

MARGIN = "*"
SUPPRESSED = "suppressed"  # for null, which TOML does not have
Interval = tuple[float, float]
At = str | float | Interval | None  # a value, an interval of a column with edges, or all (a margin)


@dataclass(frozen=True, slots=True)
class By:
    """A column of a table: by its values, or by intervals between ``edges``, closed on one side."""

    column: str
    edges: tuple[float, ...] = ()
    right: bool = False

    def holds(self, people: StatementPeople, at: At) -> BoolArray:
        """Whether each quasi-identifier is in a row of the table, shape (n_qi,)."""
        if at is None:
            return np.ones(len(people), bool)
        if not isinstance(at, tuple):
            return people.has(self.column, at)
        v = people.numbers(self.column)
        return np.asarray((v > at[0]) & (v <= at[1]) if self.right else (v >= at[0]) & (v < at[1]))

    def axis(self, people: StatementPeople) -> Axis:
        """The rows of the table that it can have, and one for people outside of its edges."""
        if not self.edges:
            return people.axis(self.column)
        pairs = list(pairwise(self.edges))
        codes = sum(
            (self.holds(people, at) * np.int64(i) for i, at in enumerate(pairs, 1)), np.zeros(len(people), np.int64)
        )
        return Axis(codes, [f"{self.column} {words}" for words in ("elsewhere", *map(self.words, pairs))])

    def words(self, at: At) -> str:
        """A row of the table for people to read."""
        return f"{at[0]:g} to {at[1]:g}" if isinstance(at, tuple) else described(at)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: where it is, its class (None: all people), and the least and the largest number in it.

    ``printed``: the number that is printed, or two ends; empty where it is suppressed.
    """

    at: tuple[At, ...]
    klass: int | None
    low: float
    high: float
    printed: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class CrossTable:
    """``table``: numbers of people by columns and class, ``"*"`` being a margin.

    A number that is printed is that of the cell; where numbers are rounded to a ``base`` it may be off as ``rounding``
    says (``nearest``, ``random``, ``down``; without one, as far as any of these). A suppressed cell (null) has fewer
    than ``suppressed_below`` people; with ``secondary`` some were suppressed only so that others do not follow, and
    nothing is known of them, nor of the ``unlimited``, of which neither is stated. Nothing else is concluded from what
    is left out.
    """

    by: tuple[By, ...]
    cells: tuple[Cell, ...]
    unlimited: int = 0

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        by = tuple(_by(keys))
        below, base = keys.whole("suppressed_below", None, 1), keys.whole("base", None, 2)
        secondary = keys.flag("secondary", False)
        methods: tuple[RoundingMethod, ...] = get_args(RoundingMethod)
        method = keys.text("rounding", "random", methods)
        if base is None and "rounding" in keys:
            keys.refuse("rounding", "none without base")
        rounded = None if base is None else Rounded(base, next(m for m in methods if m == method))
        cells: dict[tuple[tuple[At, ...], int | None], Cell] = {}
        unlimited = 0
        for each in keys.children("cells"):
            cell = _cell(each, by, below, rounded, secondary)
            if (cell.at, cell.klass) in cells:
                shown = ", ".join("*" if at is None else one.words(at) for one, at in zip(by, cell.at, strict=True))
                each.refuse("at", "each cell and class once", f"{shown} again")
            cells[cell.at, cell.klass] = cell
            unlimited += cell.high == np.inf and not each.flag("secondary", secondary)
        return cls(by, tuple(cells.values()), unlimited)

    @property
    def counted(self) -> list[int]:
        """The classes of its cells."""
        return sorted({cell.klass for cell in self.cells if cell.klass is not None})

    @property
    def numbers(self) -> Iterator[tuple[int | None, float, float, tuple[float, ...]]]:
        """The numbers of people that are printed: of which class, what is behind each, and how it is printed."""
        return ((cell.klass, cell.low, cell.high, cell.printed) for cell in self.cells if cell.printed)

    def axes(self, people: StatementPeople) -> Iterator[Axis]:
        """Its columns."""
        return (by.axis(people) for by in self.by)

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
        """A row for each cell."""
        held: dict[tuple[int, At], BoolArray] = {}
        for cell in self.cells:
            inside = people.counts > 0
            for j, (by, at) in enumerate(zip(self.by, cell.at, strict=True)):
                if (j, at) not in held:
                    held[j, at] = by.holds(people, at)
                inside = inside & held[j, at]
            shown = [f"{by.column} {by.words(at)}" for by, at in zip(self.by, cell.at, strict=True) if at is not None]
            of = "people" if cell.klass is None else people.classes[cell.klass]
            says = f"{of} {sides(cell.low, cell.high)}"
            weights = inside.astype(np.float64)
            if cell.klass is None:
                weights = np.repeat(weights[:, None], len(people.classes), axis=1)
            source = f"cell {', '.join(shown) or 'of all'}"
            yield LinearStatement(weights, cell.low, cell.high, says, cell.klass, source, not cell.printed)


def _by(keys: Keys) -> Iterator[By]:
    """The columns of a table."""
    listed = keys.raw("by")
    if not isinstance(listed, list) or not listed:
        keys.refuse("by", "a list of at least one column")
    seen: set[str] = set()
    for i, each in enumerate(listed, 1):
        if isinstance(each, str):
            found = By(each)
            keys.use(each)
        else:
            inner = keys.inner(f"{keys.where}, by {i}", each)
            edges = inner.raw("edges")
            if (
                not isinstance(edges, list)
                or len(edges) < 2
                or not all(is_number(edge) for edge in edges)
                or sorted(set(edges)) != edges
            ):
                inner.refuse("edges", "a list of at least two increasing numbers")
            closed = inner.text("closed", "left", ("left", "right"))
            found = By(inner.column("column"), tuple(map(float, edges)), closed == "right")
            inner.close()
        if found.column in seen:
            keys.refuse("by", "each column once", show(found.column))
        seen.add(found.column)
        yield found


def _cell(keys: Keys, by: tuple[By, ...], below: int | None, rounded: Rounded | None, secondary: bool) -> Cell:
    """A cell of a table."""
    at = keys.raw("at")
    if not isinstance(at, list) or len(at) != len(by):
        keys.refuse("at", f"a list of {len(by)}: a value of each column, or '*'")
    said = keys.raw("class")
    whole = "class" not in keys or (said == MARGIN and MARGIN not in keys.classes)
    klass = None if whole else keys.klass()
    if keys.flag("secondary", secondary):
        below = None
    count = keys.raw("count")
    printed: tuple[float, ...] = ()
    if "count" not in keys:
        keys.refuse("count", "a whole number, [low, high], or null where it is suppressed (TOML: 'suppressed')")
    if count is None or count == SUPPRESSED:
        low, high = 0.0, np.inf if below is None else float(below - 1)
    elif isinstance(count, list):
        if len(count) != 2 or not all(is_number(side) for side in count) or not 0 <= count[0] <= count[1]:
            shown = f"[{', '.join(map(show, count))}]" if len(count) == 2 else None
            keys.refuse("count", "[low, high], two numbers from 0, the lower one first", shown)
        low, high = printed = float(np.ceil(count[0])), float(np.floor(count[1]))
    else:
        n = keys.whole("count")
        assert n is not None
        low = high = float(n)
        printed = (low,)
        if rounded is not None:
            if n % rounded.base:
                keys.refuse("count", f"a multiple of the base, {rounded.base}")
            least, most = rounded.behind(np.array([n]))
            low, high = float(least[0]), float(most[0])
    keys.close()
    where = tuple(_at(keys, one, value, low > 0) for one, value in zip(by, at, strict=True))
    return Cell(where, klass, low, high, printed)


def _at(keys: Keys, by: By, value: object, somebody: bool) -> At:
    """Where a cell, in which there must be ``somebody`` or not, is in one column of the table."""
    if value == MARGIN:
        return None
    if not by.edges:
        keys.use(by.column, values=[value], needed=somebody)
        return value if isinstance(value, str) else float(value)  # type: ignore[arg-type]
    pairs = list(pairwise(by.edges))
    if not isinstance(value, list) or tuple(value) not in pairs:
        keys.refuse(
            "at", f"two neighbouring edges of {by.column}: {', '.join(map(str, map(list, pairs)))}", show(value)
        )
    return float(value[0]), float(value[1])
