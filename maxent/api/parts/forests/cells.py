"""People of a table by cell: the leaves of all trees together, where those of one tree have been read into runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from maxent.api.parts.forests.group import Refined, Refining, Stray, refine_group, renumber
from maxent.api.parts.memory import needed
from maxent.api.parts.posteriors import Evaluated, pickled
from maxent.api.parts.scan import Resources, Scanned, check_same
from maxent.api.parts.workers import Told
from maxent.models.arrays import IntArray
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.release import Release
from maxent.models.tables.parts.descent import descent_of, numbered
from maxent.models.tables.parts.forest import Steps, steps_of
from maxent.models.tables.parts.groups import Group
from maxent.models.tables.parts.refinement import Lost, cells_of
from maxent.models.tables.parts.runs import Packing, remove_runs
from maxent.models.tables.qi_table import describe_codes
from maxent.models.text.sizes import size_text
from maxent.models.trees.places import number_places


def by_cell(
    release: Release,
    scanned: Scanned,
    truth: tuple[str, ...] | None,
    groups: Sequence[Group],
    source: str,
    memory: int,
    with_: Resources,
    told: Callable[[str], Told],
) -> tuple[Scanned, tuple[str, ...] | None, IntArray | None]:
    """The people of a table by cell in place of the leaves of the first tree; runs of the truth, and people by class.

    ``groups`` are of those leaves, ``truth`` the runs of the true classes from ``source``. Cells are numbered in the
    order of these leaves, then of their smallest quasi-identifiers, whatever the groups are.

    Raises
    ------
    InvalidInput
        Where cells are too many for the ``memory``, no branch takes somebody, or the truth is about others.
    """
    trees = _steps(release, scanned)
    classes = len(release.target.classes)
    plan = Refining(scanned.runs, truth, scanned.packing, trees, classes, with_.folder)
    path = pickled(plan, with_.folder / "refining")
    found = with_.workers.map(refine_group, [(group, path) for group in groups], told("finding cells"))
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
    by_class = None if truth is None else np.zeros((total, classes), np.int64)
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
    """The cells of a group that was divided: the number of each cell of each part, and the words of all.

    ``parts`` are the smallest quasi-identifiers of the cells of each part.
    """
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
