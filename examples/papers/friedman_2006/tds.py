"""Top-down specialisation of a table: Fung, Wang and Yu (2005), the baseline that kADET is compared with.

Every attribute starts at its most general value. One generalised value at a time is specialised, everywhere in the
table: a categorical one into its children in the taxonomy, an interval of numbers into the two that tell the classes
apart best. Each step takes the specialisation with the most information gained per anonymity lost, of those that leave
the table k-anonymous and that concern more than one class. Any inducer can be given the table that is made like this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import floor
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.release import Branch, Node, Release, Tree

if TYPE_CHECKING:
    from pandas import DataFrame


ANY = "*"
"""The most general value of a categorical attribute."""

TIE = 1e-12
"""Scores that differ by less are one and the same number, summed in another order."""


@dataclass(frozen=True, slots=True)
class Step:
    """One specialisation: of which value, the bits it gained, and the smallest group of equal rows after it."""

    attribute: str
    members: tuple[str, ...] | tuple[float, ...]
    gain: float
    score: float
    smallest: int


@dataclass(frozen=True, slots=True)
class Recoding:
    """How the values of a table are generalised: ``names`` of categorical values, and ``cuts`` between numbers.

    Numbers at most as large as a cut are on its lower side; the generalised value is the number of cuts below.
    """

    names: Mapping[str, Mapping[str, str]]
    cuts: Mapping[str, tuple[float, ...]]
    steps: tuple[Step, ...]

    def apply(self, table: DataFrame) -> DataFrame:
        """The table with its attributes generalised, and its other columns as they are."""
        new: dict[str, Any] = {name: table[name].map(dict(names)) for name, names in self.names.items()}
        new |= {name: np.searchsorted(cuts, table[name], side="left") for name, cuts in self.cuts.items()}
        return table.assign(**new)

    def restore(self, release: Release) -> Release:
        """A tree that was grown on a table so generalised, over the attributes as they were before.

        Nothing is kept of how it was grown: what competed were splits of generalised values.
        """

        def before(name: str, branch: Branch) -> Branch:
            if branch.values is not None:
                values = tuple(value for value, general in self.names[name].items() if general in branch.values)
                return replace(branch, values=values)
            gt, le = (None if end is None else self.cuts[name][floor(end)] for end in (branch.gt, branch.le))
            return replace(branch, gt=gt, le=le)

        def node(old: Node) -> Node:
            return replace(old, branches=tuple(before(old.attribute or "", branch) for branch in old.branches))

        attributes = tuple(
            replace(a, values=None if a.values is None else tuple(self.names[a.name])) for a in release.attributes
        )
        trees = tuple(Tree(tuple(map(node, tree.nodes))) for tree in release.trees)
        return replace(release, attributes=attributes, trees=trees)


class Kind(Protocol):
    """What the codes of an attribute stand for."""

    def split(self, members: IntArray, counts: IntArray) -> IntArray | None:
        """The child of each member, from their counts per class; None when there is nothing to specialise."""

    def values(self, members: IntArray) -> list[Any]:
        """What the codes stand for."""


@dataclass(frozen=True, slots=True, eq=False)
class Taxonomy:
    """Categorical values by code: ``levels[code]`` are the names of a value, the value itself first, `ANY` last."""

    levels: npt.NDArray[np.object_]

    def split(self, members: IntArray, counts: IntArray) -> IntArray | None:
        level = self._level(members)
        return np.unique(self.levels[members, level - 1], return_inverse=True)[1] if level else None

    def values(self, members: IntArray) -> list[Any]:
        return list(self.levels[members, 0])

    def name(self, members: IntArray) -> str:
        """The generalised value."""
        return str(self.levels[members[0], self._level(members)])

    def _level(self, members: IntArray) -> int:
        """The lowest level at which all of them have the same name."""
        names = self.levels[members]
        return int((names == names[0]).all(axis=0).argmax())


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """The numbers that occur, ascending; a generalised value is a run of them."""

    numbers: FloatArray

    def split(self, members: IntArray, counts: IntArray) -> IntArray | None:
        if len(members) < 2:
            return None
        below = counts.cumsum(axis=0)
        after = -(_bits(below[:-1]) + _bits(below[-1] - below[:-1]))
        cut = int(np.argmax(after >= after.max() - TIE * counts.sum()))
        return np.asarray(np.arange(len(members)) > cut, dtype=np.int64)

    def values(self, members: IntArray) -> list[Any]:
        return self.numbers[members].tolist()


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A generalised value of the table: its ``members`` (codes) and the ``rows`` that have it."""

    members: IntArray
    rows: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Specialisation:
    """What a generalised value would become: which child each of its rows gets, and the information gained, in bits."""

    attribute: str
    value: Value
    children: tuple[Value, ...]
    branch: IntArray
    gain: float

    def groups(self, group: IntArray) -> IntArray:
        """A number for each of the rows; equal for those that are equal rows after specialising."""
        return group[self.value.rows] * len(self.children) + self.branch


def specialise(table: DataFrame, target: str, k: int, taxonomies: Mapping[str, npt.ArrayLike]) -> Recoding:
    """The k-anonymous recoding of a table that top-down specialisation finds (2005, Algorithm 1).

    Parameters
    ----------
    table : DataFrame
        A row per individual. Every column but the target is generalised.
    target : str
        The column of the class.
    k : int
        How many rows have to be equal, at least.
    taxonomies : mapping of attribute to array, shape (n_values, n_levels)
        Names of every value of a categorical attribute, the value itself first, then ever more general ones. Other
        attributes are numeric.

    Raises
    ------
    ValueError
        When the table has fewer than k rows.
    """
    if len(table) < k:
        raise ValueError(f"a table of {len(table)} rows cannot be {k}-anonymous")
    y = np.unique(table[target], return_inverse=True)[1]
    columns = {name: _encode(table[name], taxonomies.get(name)) for name in table.columns if name != target}
    everybody = np.arange(len(table))
    values = {name: [Value(np.arange(size), everybody)] for name, (_, _, size) in columns.items()}

    def possible(name: str, new: Sequence[Value]) -> Iterator[Specialisation]:
        kind, codes, _ = columns[name]
        for value in new:
            if (found := _specialisation(name, kind, codes, y, value)) is not None:
                yield found

    candidates = [found for name in values for found in possible(name, values[name])]
    group, smallest = np.zeros(len(table), np.int64), len(table)
    steps: list[Step] = []
    while True:
        left = [min(smallest, _smallest(candidate.groups(group))) for candidate in candidates]
        # What breaches k-anonymity once will do so ever after: groups only get smaller.
        candidates = [candidate for candidate, after in zip(candidates, left, strict=True) if after >= k]
        left = [after for after in left if after >= k]
        if not candidates:
            break
        scores = np.array([c.gain / max(smallest - after, 1) for c, after in zip(candidates, left, strict=True)])
        best = int(np.argmax(scores >= scores.max() - TIE))
        chosen, smallest = candidates[best], left[best]
        rows = chosen.value.rows
        group[rows] = group.max() + 1 + np.unique(chosen.groups(group), return_inverse=True)[1]
        group = np.unique(group, return_inverse=True)[1]
        candidates[best : best + 1] = possible(chosen.attribute, chosen.children)
        held = values[chosen.attribute]
        at = next(i for i, value in enumerate(held) if value is chosen.value)
        held[at : at + 1] = chosen.children
        members = tuple(columns[chosen.attribute][0].values(chosen.value.members))
        steps.append(Step(chosen.attribute, members, chosen.gain, float(scores[best]), smallest))
    return _recoding({name: kind for name, (kind, _, _) in columns.items()}, values, steps)


def _recoding(kinds: Mapping[str, Kind], values: Mapping[str, Sequence[Value]], steps: Sequence[Step]) -> Recoding:
    """The generalised values as what becomes of each value."""
    names: dict[str, dict[str, str]] = {}
    cuts: dict[str, tuple[float, ...]] = {}
    for name, kind in kinds.items():
        if isinstance(kind, Taxonomy):
            general = {code: kind.name(value.members) for value in values[name] for code in value.members.tolist()}
            names[name] = {value: general[code] for code, value in enumerate(kind.levels[:, 0])}
        else:
            ends = [kind.values(value.members) for value in values[name]]
            cuts[name] = tuple((a[-1] + b[0]) / 2 for a, b in pairwise(ends))
    return Recoding(names, cuts, tuple(steps))


def _specialisation(attribute: str, kind: Kind, codes: IntArray, y: IntArray, value: Value) -> Specialisation | None:
    """The one specialisation of a value; None when it has no children or would concern one class only."""
    n_classes, size = int(y.max()) + 1, int(value.members.max()) + 1
    here = codes[value.rows]
    counts = np.bincount(here * n_classes + y[value.rows], minlength=size * n_classes).reshape(-1, n_classes)
    counts = counts[value.members]
    child = kind.split(value.members, counts) if np.count_nonzero(counts.sum(axis=0)) > 1 else None
    if child is None:
        return None
    lookup = np.zeros(size, np.int64)
    lookup[value.members] = child
    branch = lookup[here]
    n_children = int(child.max()) + 1
    after = np.zeros((n_children, n_classes), np.int64)
    np.add.at(after, child, counts)
    gain = (_bits(counts.sum(axis=0)) - _bits(after).sum()) / len(value.rows)
    children = tuple(Value(value.members[child == i], value.rows[branch == i]) for i in range(n_children))
    return Specialisation(attribute, value, children, branch, float(gain))


def _bits(counts: IntArray) -> Any:
    """The entropy of the classes times the rows, in bits; classes are the last axis."""
    n = counts.sum(axis=-1)
    terms = counts * np.log2(np.maximum(counts, 1))
    return n * np.log2(np.maximum(n, 1)) - terms.sum(axis=-1)


def _smallest(groups: IntArray) -> int:
    """The size of the smallest group."""
    sizes = np.bincount(groups)
    return int(sizes[sizes > 0].min())


def _encode(column: Any, levels: npt.ArrayLike | None) -> tuple[Kind, IntArray, int]:
    """What the codes stand for, the code of every row, and how many codes there are."""
    if levels is None:
        numbers, codes = np.unique(np.asarray(column, np.float64), return_inverse=True)
        return Numbers(numbers), codes, len(numbers)
    names = np.asarray(levels, dtype=object)
    names = np.column_stack([names, np.full(len(names), ANY, dtype=object)])
    index = {value: i for i, value in enumerate(names[:, 0])}
    return Taxonomy(names), np.array([index[value] for value in column], np.int64), len(names)
