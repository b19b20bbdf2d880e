"""People in the leaves of a forest, grouped into cells, for more people than memory holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from maxent.api.out_of_core.folder import needed
from maxent.api.out_of_core.posteriors import Evaluated, differences, owner, unpickled
from maxent.api.out_of_core.scan import Resources, Scanned, check_same
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.out_of_core.descent import Steps, descent_of, numbered, steps_of
from maxent.models.out_of_core.runs import LeafGroup, Lost, Packing, Rows, cells_of, read_group, remove_runs, written
from maxent.models.reading import size_text
from maxent.models.tables.qi_table import describe_codes
from maxent.models.trees.places import number_places

if TYPE_CHECKING:
    from maxent.models.arrays import IntArray
    from maxent.models.release import Release
    from maxent.solvers.solve.parallel import Told

# Cells of the people of one group of leaves of the first tree, and their rows in the order of cells.


@dataclass(frozen=True, slots=True)
class Refining:
    """What is to be made of every group: runs of the table and the truth, None without, to runs in the ``folder``."""

    runs: tuple[str, ...]
    truth: tuple[str, ...] | None
    packing: Packing
    trees: tuple[Steps, ...]
    folder: Path


@dataclass(frozen=True, slots=True, eq=False)
class Refined:
    """The cells of a group, by their smallest quasi-identifiers (``words``), leaf by leaf, with their people."""

    run: str
    truth: str | None
    words: IntArray
    people: IntArray
    classes: IntArray | None


@dataclass(frozen=True, slots=True)
class Stray:
    """Somebody, by codes, whom no branch of a tree takes."""

    tree: int
    codes: tuple[int, ...]


def refine_group(group: LeafGroup, path: Path) -> Refined | Stray | Evaluated | None:
    """The cells of a group, as the `Refining` in a file says."""
    how: Refining = unpickled(path)
    rows = read_group(how.runs, group)
    if rows is None or not len(rows):
        return None
    truth = None if how.truth is None else read_group(how.truth, group, how.packing.room)
    if how.truth is not None and (wrong := differences(rows, truth, how.packing)) is not None:
        return wrong
    first = cells_of(rows.words, how.packing, how.trees)
    if isinstance(first, Lost):
        codes = how.packing.unpack(rows.words[:, first.row : first.row + 1])[0]
        return Stray(first.tree, tuple(codes.tolist()))
    heads = first == np.arange(len(first))
    cell = (np.cumsum(heads) - 1)[first].astype(np.int32)
    run = written([Rows(cell, rows.words, rows.count)], how.folder)
    people = np.bincount(cell, rows.count).astype(np.int64)
    if truth is None:
        return Refined(run, None, rows.words[:, heads], people, None)
    theirs, room = cell[owner(truth, how.packing.room)], how.packing.room
    key = theirs.astype(np.int64) * room + truth.words[-1] % room
    classes = np.bincount(key, truth.count, len(people) * room).astype(np.int64).reshape(len(people), -1)
    truth_run = written([Rows(theirs, truth.words, truth.count)], how.folder)
    return Refined(run, truth_run, rows.words[:, heads], people, classes)


def renumber(run: str, numbers: Path, folder: Path) -> str:
    """The same run with other numbers of cells, those in a file, shape (n_cells,)."""
    cell = np.load(numbers)[np.load(f"{run}.leaf.npy")].astype(np.int32)
    return written([Rows(cell, np.load(f"{run}.words.npy"), np.load(f"{run}.count.npy").astype(np.int64))], folder)


def by_cell(
    release: Release,
    scanned: Scanned,
    truth: tuple[str, ...] | None,
    groups: Sequence[LeafGroup],
    source: str,
    memory: int,
    with_: Resources,
    told: Callable[[str], Told],
) -> tuple[Scanned, tuple[str, ...] | None, IntArray | None]:
    """The people of a table by cell in place of the leaves of the first tree; runs of the truth, and people by class.

    Cells are numbered by these leaves, then by their smallest quasi-identifiers, whatever the groups are.
    """
    trees = _steps(release, scanned)
    plan = Refining(scanned.runs, truth, scanned.packing, trees, with_.folder)
    found = with_.each(refine_group, plan, groups, told("finding cells"))
    check_same(scanned.coded, source, [each for each in found if isinstance(each, Evaluated)])
    _check_stray(release, scanned, [each for each in found if isinstance(each, Stray)])
    refined = [(group, each) for group, each in zip(groups, found, strict=True) if isinstance(each, Refined)]
    remove_runs(scanned.runs)
    remove_runs(truth or ())
    numbers: list[IntArray] = []
    words: list[IntArray] = []
    total = 0
    for _, parts in groupby(refined, key=lambda each: each[0].low):
        mine, smallest = _together([part.words for _, part in parts], scanned.packing, trees)
        numbers += [total + number for number in mine]
        words.append(smallest)
        total += smallest.shape[1]
    _check_memory(release, total, memory)
    calls = []
    for i, ((_, each), own) in enumerate(zip(refined, numbers, strict=True)):
        np.save(with_.folder / f"numbers-{i}.npy", own)
        runs = [each.run, *([] if each.truth is None else [each.truth])]
        calls += [(run, with_.folder / f"numbers-{i}.npy", with_.folder) for run in runs]
    renumbered = with_.workers.map(renumber, calls, told("numbering cells"))
    remove_runs([run for run, *_ in calls])
    people = np.zeros(total, np.int64)
    by_class = None if truth is None else np.zeros((total, scanned.packing.room), np.int64)
    for (_, each), own in zip(refined, numbers, strict=True):
        people[own] += each.people  # the numbers of one part differ
        if by_class is not None and each.classes is not None:
            by_class[own] += each.classes
    every = 1 if truth is None else 2
    cells = replace(
        scanned,
        runs=tuple(renumbered[::every]),
        people=people,
        first=np.arange(total),
        example=np.concatenate(words, axis=1),
        cells=True,
    )
    return cells, None if truth is None else tuple(renumbered[1::every]), by_class


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
