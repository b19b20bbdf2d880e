"""Cells of the people of one group of leaves of the first tree, and their rows in the order of cells."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from maxent.api.parts.posteriors import Evaluated, differences, owner, unpickled
from maxent.models.arrays import IntArray
from maxent.models.tables.parts.forest import Steps
from maxent.models.tables.parts.groups import Group, read_group
from maxent.models.tables.parts.refinement import Lost, cells_of
from maxent.models.tables.parts.runs import Packing, Rows, written


@dataclass(frozen=True, slots=True)
class Refining:
    """What is to be made of every group.

    ``runs`` are of the adversary's table, ``truth`` those of the truth, whose last words hold one of ``n_classes``,
    too; None without. New runs go to the ``folder``.
    """

    runs: tuple[str, ...]
    truth: tuple[str, ...] | None
    packing: Packing
    trees: tuple[Steps, ...]
    n_classes: int
    folder: Path


@dataclass(frozen=True, slots=True, eq=False)
class Refined:
    """The cells of a group, numbered in the order of their smallest quasi-identifiers, leaf by leaf.

    ``run`` and ``truth`` are the rows in the order of these numbers. ``words``, shape (n_words, n_cells), are the
    smallest quasi-identifiers, ``people``, shape (n_cells,), individuals; ``classes``, shape (n_cells, n_classes),
    those of each class.
    """

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


def refine_group(group: Group, path: Path) -> Refined | Stray | Evaluated | None:
    """The cells of a group, as the `Refining` in a file says.

    None for a group without people; where people are not those of the truth, how they differ.
    """
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
    key = theirs.astype(np.int64) * how.n_classes + truth.words[-1] % room
    classes = np.bincount(key, truth.count, len(people) * how.n_classes).astype(np.int64).reshape(len(people), -1)
    truth_run = written([Rows(theirs, truth.words, truth.count)], how.folder)
    return Refined(run, truth_run, rows.words[:, heads], people, classes)


def renumber(run: str, numbers: Path, folder: Path) -> str:
    """The same run with other numbers of cells, those in a file, shape (n_cells,)."""
    cell = np.load(numbers)[np.load(f"{run}.leaf.npy")].astype(np.int32)
    return written([Rows(cell, np.load(f"{run}.words.npy"), np.load(f"{run}.count.npy").astype(np.int64))], folder)
