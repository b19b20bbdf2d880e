"""Atoms: for each attribute, the sets of values that all branches of the release treat alike.

A person's values are then one atom of each attribute. A *box* is a set of atoms of each, a bit for every atom, so that
narrowing boxes to a branch is a single operation on the bits of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import BoolArray, IntArray
from maxent.models.release import Attribute, Branch, Release
from maxent.models.trees.routing import Interval, interval_of

# Boxes, shape (n, n_words): of each the bits of its atoms.
Bits = npt.NDArray[np.uint64]
WORD = 64
# Cells of an attribute that nothing tests, and of numeric ones without a number.
ANYTHING, MISSING = "*", "(missing)"


@dataclass(frozen=True, slots=True)
class Atom:
    """Values that no branch tells apart: ``values`` of a categorical attribute, else numbers ``low < x <= high``.

    A numeric one with neither holds the people without a number.
    """

    values: tuple[str, ...] = ()
    interval: Interval | None = None

    def words(self) -> str:
        """The atom as the cell of a table: a value, a set ``A|B``, or an interval ``(0.5, 1.5]``."""
        if self.values:
            one = len(self.values) == 1
            return self.values[0] if one else "|".join(v.replace("\\", "\\\\").replace("|", "\\|") for v in self.values)
        if self.interval is None:
            return MISSING
        low, high = self.interval
        return f"({low:.17g}, {high:.17g}{')' if high == np.inf else ']'}"


@dataclass(frozen=True, eq=False)
class Atoms:
    """The atoms of all attributes of a release.

    Attributes
    ----------
    attributes : tuple of Attribute, those of the release
    of : tuple of tuple of Atom, one per attribute
    start : shape (n_attributes + 1,), the first bit of each attribute
    tested : shape (n_attributes,), whether any tree tests it
    """

    attributes: tuple[Attribute, ...]
    of: tuple[tuple[Atom, ...], ...]
    start: IntArray
    tested: BoolArray

    @property
    def n_words(self) -> int:
        """Words of a box."""
        return int(-(-self.start[-1] // WORD))

    def box(self, atoms: Iterable[tuple[int, Iterable[int]]]) -> Bits:
        """A box of the given atoms of some attributes, and no atoms of the others, shape (n_words,)."""
        bits = np.zeros(self.n_words, np.uint64)
        for attribute, held in atoms:
            for atom in held:
                word, bit = divmod(int(self.start[attribute]) + atom, WORD)
                bits[word] |= np.uint64(1 << bit)
        return bits

    def everything(self, attributes: Iterable[int] | None = None) -> Bits:
        """The box of all atoms of some attributes, by default of all."""
        chosen = range(len(self.of)) if attributes is None else attributes
        return self.box((j, range(len(self.of[j]))) for j in chosen)

    def held(self, boxes: Bits, attribute: int) -> BoolArray:
        """Which atoms of an attribute boxes hold, shape (n, n_atoms)."""
        word, bit = np.divmod(np.arange(self.start[attribute], self.start[attribute + 1]), WORD)
        return ((boxes[:, word] >> bit.astype(np.uint64)) & np.uint64(1)).astype(bool)

    def taking(self, attribute: int, branch: Branch) -> list[int]:
        """The atoms of an attribute that take a branch."""
        return [a for a, atom in enumerate(self.of[attribute]) if _takes(atom, branch)]

    def code(self, attribute: int, levels: npt.NDArray[Any]) -> IntArray:
        """The atom of each of some values, categories or numbers (NaN: none), shape (n_levels,)."""
        atoms = self.of[attribute]
        if self.attributes[attribute].values is not None:
            number = {value: a for a, atom in enumerate(atoms) for value in atom.values}
            return np.array([number[value] for value in levels], np.int64)
        highest = [atom.interval[1] for atom in atoms if atom.interval is not None]
        found = np.searchsorted(np.array(highest), levels.astype(np.float64), side="left")
        return np.where(np.isnan(levels.astype(np.float64)), len(highest), found).astype(np.int64)


def _takes(atom: Atom, branch: Branch) -> bool:
    """Whether the values of an atom take a branch: all of them do, or none."""
    if branch.values is not None:
        return atom.values[0] in branch.values
    if atom.interval is None:
        return bool(branch.missing)
    low, high = interval_of(branch)
    return low <= atom.interval[0] and atom.interval[1] <= high


def atoms_of(release: Release) -> Atoms:
    """The atoms of a release."""
    branches: dict[str, list[tuple[Branch, ...]]] = {attribute.name: [] for attribute in release.attributes}
    for tree in release.trees:
        for node in tree.nodes:
            if node.attribute is not None:
                branches[node.attribute].append(node.branches)
    found = tuple(tuple(_atoms(attribute, branches[attribute.name])) for attribute in release.attributes)
    start = np.concatenate([[0], np.cumsum([len(atoms) for atoms in found])]).astype(np.int64)
    tested = np.array([bool(branches[attribute.name]) for attribute in release.attributes], bool)
    return Atoms(release.attributes, found, start, tested)


def _atoms(attribute: Attribute, splits: Sequence[tuple[Branch, ...]]) -> Iterator[Atom]:
    """The atoms of an attribute that is split so."""
    if attribute.values is not None:
        alike: dict[tuple[int, ...], list[str]] = {}
        taken = [{value: i for i, b in enumerate(branches) for value in b.values or ()} for branches in set(splits)]
        for value in attribute.values:
            alike.setdefault(tuple(number.get(value, -1) for number in taken), []).append(value)
        yield from (Atom(tuple(values)) for values in alike.values())
        return
    ends = {end for branches in splits for branch in branches for end in (branch.gt, branch.le) if end is not None}
    yield from (Atom(interval=interval) for interval in pairwise([-np.inf, *sorted(ends), np.inf]))
    if attribute.missing:
        yield Atom()
