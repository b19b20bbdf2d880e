"""People in the leaves of a forest, grouped into cells, for more people than memory holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from maxent.api.out_of_core.folder import needed
from maxent.api.out_of_core.scan import Resources, Scanned
from maxent.models.arrays import IntArray
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.out_of_core.descent import Steps, descent_of, numbered, steps_of
from maxent.models.out_of_core.runs import LeafGroup, Lost, Packing, Rows, Runs, cells_of, written
from maxent.models.reading import size_text
from maxent.models.release import Release
from maxent.models.tables.qi_table import describe_codes
from maxent.models.trees.places import number_places

if TYPE_CHECKING:
    from maxent.solvers.solve.parallel import Told

# Cells of the people of one group of leaves of the first tree, and their rows in the order of cells.


@dataclass(frozen=True, slots=True)
class Refining:
    """What is to be made of every group: cells of all ``trees``, as runs in the ``folder``."""

    packing: Packing
    trees: tuple[Steps, ...]
    folder: Path


@dataclass(frozen=True, slots=True, eq=False)
class Refined:
    """The cells of people of the first tree's ``leaf``, by their smallest quasi-identifiers (``words``)."""

    leaf: int
    runs: Runs
    words: IntArray
    people: IntArray
    classes: IntArray | None


@dataclass(frozen=True, slots=True)
class Stray:
    """Somebody, by codes, whom no branch of a tree takes."""

    tree: int
    codes: tuple[int, ...]


def refine_group(how: Refining, rows: Rows, group: LeafGroup) -> Refined | Stray:
    """The cells of a group."""
    packing, classes = how.packing, None
    first = cells_of(rows.words, packing, how.trees)
    if isinstance(first, Lost):
        return Stray(first.tree, tuple(packing.unpack(rows.words[:, first.row : first.row + 1])[0].tolist()))
    heads = first == np.arange(len(first))
    cell = (np.cumsum(heads) - 1)[first].astype(np.int32)
    people = np.bincount(cell, rows.count).astype(np.int64)
    runs = Runs((written([Rows(cell, rows.words, rows.count)], how.folder),), None, packing)
    if rows.classes is not None:
        room, (row, klass) = packing.room, np.nonzero(rows.classes)
        words, count = rows.words[:, row], rows.classes[row, klass]
        words[-1] = words[-1] * room + klass
        runs = replace(runs, truth=(written([Rows(cell[row], words, count)], how.folder),))
        classes = np.bincount(cell[row] * np.int64(room) + klass, count, len(people) * room)
        classes = classes.astype(np.int64).reshape(-1, room)
    return Refined(group.low, runs, rows.words[:, heads], people, classes)


def renumber(runs: Runs, numbers: IntArray, folder: Path) -> Runs:
    """The same runs with other ``numbers`` of their cells, shape (n_cells,)."""

    def moved(run: str) -> str:
        cell = numbers[np.load(f"{run}.leaf.npy")].astype(np.int32)
        return written([Rows(cell, np.load(f"{run}.words.npy"), np.load(f"{run}.count.npy").astype(np.int64))], folder)

    truth = None if runs.truth is None else tuple(map(moved, runs.truth))
    return replace(runs, own=tuple(map(moved, runs.own)), truth=truth)


def by_cell(release: Release, scanned: Scanned, memory: int, with_: Resources, told: Callable[[str], Told]) -> Scanned:
    """The people of a table by cell in place of the leaves of the first tree.

    Cells are numbered by these leaves, then by their smallest quasi-identifiers, whatever the groups are.
    """
    trees, packing = _steps(release, scanned), scanned.runs.packing
    found = with_.people(refine_group, Refining(packing, trees, with_.folder), scanned, told("finding cells"))
    _check_stray(release, scanned, [each for each in found if isinstance(each, Stray)])
    refined = [each for each in found if isinstance(each, Refined)]
    scanned.runs.remove()
    numbers: list[IntArray] = []
    words: list[IntArray] = []
    total = 0
    for _, parts in groupby(refined, key=lambda each: each.leaf):
        mine, smallest = _together([part.words for part in parts], packing, trees)
        numbers += [total + number for number in mine]
        words.append(smallest)
        total += smallest.shape[1]
    _check_memory(release, total, memory)
    calls = [(each.runs, own, with_.folder) for each, own in zip(refined, numbers, strict=True)]
    renumbered = with_.workers.map(renumber, calls, told("numbering cells"))
    people, classes = np.zeros(total, np.int64), None
    if scanned.classes is not None:
        classes = np.zeros((total, packing.room), np.int64)
    for each, own in zip(refined, numbers, strict=True):
        each.runs.remove()
        people[own] += each.people  # the numbers of one part differ
        if classes is not None and each.classes is not None:
            classes[own] += each.classes
    runs = Runs(tuple(run for each in renumbered for run in each.own), None, packing)
    if classes is not None:
        runs = replace(runs, truth=tuple(run for each in renumbered for run in each.truth or ()))
    example = np.concatenate(words, axis=1)
    return replace(scanned, runs=runs, people=people, classes=classes, example=example, cells=True)


def _steps(release: Release, scanned: Scanned) -> tuple[Steps, ...]:
    """All trees, for rows of codes."""
    found, table = [], scanned.coded
    sizes = [len(level) for level in table.levels]
    for tree in release.trees:
        places = number_places(tree)
        descent = descent_of(numbered(tree, places), table.attributes, table.levels)
        found.append(steps_of(descent, places, sizes))
    return tuple(found)


def _together(parts: Sequence[IntArray], packing: Packing, trees: Sequence[Steps]) -> tuple[list[IntArray], IntArray]:
    """The cells of a group that was divided: the number of each cell of each part, and the words of all."""
    if len(parts) == 1:
        return [np.arange(parts[0].shape[1])], parts[0]
    words = np.concatenate(parts, axis=1)
    order = np.lexsort(words[::-1])
    first = cells_of(words[:, order], packing, trees)
    assert not isinstance(first, Lost)
    heads = first == np.arange(len(first))
    number = np.empty(len(first), np.int64)
    number[order] = (np.cumsum(heads) - 1)[first]
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]
    return np.split(number, ends), words[:, order][:, heads]


def _check_memory(release: Release, cells: int, memory: int) -> None:
    trees = len(release.trees)
    if (need := needed(cells, trees)) > memory:
        expected = f"about {size_text(need)} for {cells:,} cells of people whom {trees:,} trees do not tell apart"
        raise invalid("options", ARGUMENT, "memory", expected, size_text(memory))


def _check_stray(release: Release, scanned: Scanned, stray: Sequence[Stray]) -> None:
    """Refuse the first people whom no branch of a tree takes."""
    if stray:
        first = min(stray, key=lambda each: (each.tree, each.codes))
        found = describe_codes(scanned.coded.attributes, scanned.coded.levels, np.array(first.codes))
        expected = "values that some branch of every node they reach takes"
        where = f"tree {first.tree + 1}"
        raise invalid(scanned.coded.source, where, "rows", expected, f"{found}, which reaches no leaf")
