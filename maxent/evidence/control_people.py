"""Control people: people like those of the table, who were not in the data that a release was made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.constraints.cells import build_cells
from maxent.constraints.program import Program
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import InvalidInput, Problem
from maxent.models.reading import Reader
from maxent.models.release import Release
from maxent.models.tables.frame import Source
from maxent.models.tables.qi_table import QITable, row_keys, sum_by
from maxent.models.tables.truth_and_facts import recoded
from maxent.models.trees.accuracy import read_cases
from maxent.models.trees.predict import answers_at


@dataclass(frozen=True, slots=True, eq=False)
class Controls:
    """Control people, and their classes.

    ``table`` has their quasi-identifiers, ``truth`` the individuals of each class, shape (n_distinct, n_classes).
    ``left_out`` are individuals with a value or a class that the release does not know.
    """

    table: QITable
    truth: IntArray
    left_out: int


@dataclass(frozen=True, slots=True, eq=False)
class Believed:
    """What an adversary believes of control people.

    ``posterior`` (n_qi, n_classes) is P(x|q), ``predicted`` (n_qi,) the class that the release predicts. ``known`` are
    individuals whose quasi-identifier is in the adversary's table, too.
    """

    posterior: FloatArray
    predicted: IntArray
    known: int


def read_controls(
    source: Source, release: Release, *, count: str | None = None, reader: Reader | None = None
) -> Controls:
    """Read control people: a column for each public attribute, and the target.

    Parameters
    ----------
    source, release, count, reader
        As in `maxent.models.tables.qi_table.read_qi`.

    Raises
    ------
    InvalidInput
        When it cannot be read, or nobody is left whose values and class the release knows.
    """
    cases = read_cases(source, "control", release.target, release.public, count=count, reader=reader)
    known = cases.y >= 0
    for attribute, column in zip(cases.attributes, cases.columns, strict=True):
        if attribute.values is not None:
            known &= column >= 0
    rows = np.flatnonzero(known & (cases.counts > 0))
    if not len(rows):
        problem = Problem("rows", "individuals", "people whose values and class the release knows", "none")
        raise InvalidInput("control", [problem])
    codes, levels = [], []
    for attribute, column in zip(cases.attributes, cases.columns, strict=True):
        if attribute.values is None:
            level, code = np.unique(column[rows], return_inverse=True)
        else:
            level, code = np.array(attribute.values, dtype=object), column[rows]
        codes.append(code)
        levels.append(level)
    stacked = np.column_stack([np.zeros((len(rows), 0), np.int64), *codes])
    keys = row_keys(stacked, [len(level) for level in levels])
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    counts, classes = cases.counts[rows], len(release.target.classes)
    truth = sum_by(inverse * classes + cases.y[rows], counts, len(first) * classes).reshape(len(first), classes)
    table = QITable(
        cases.attributes, stacked[first], tuple(levels), truth.sum(axis=1), rows[first] + 1, "control", "row"
    )
    left_out = int(cases.counts[~known].sum())
    if left_out and reader is not None:
        people = f"{left_out:,} of {left_out + table.individuals:,} control people are left out"
        reader.note("control", f"{people}: they have a value or a class that the release does not know")
    return Controls(table, truth, left_out)


def believed(program: Program, masses: FloatArray, posterior: FloatArray, controls: Controls) -> Believed:
    """The posterior that an adversary holds of control people.

    Somebody whose quasi-identifier is in the adversary's table has its posterior. Anybody else has that of the people
    who are in the same leaf, of several trees in the same leaves: the classes that the estimate gives these people
    together. Where nobody is in the same leaves of all trees, it is the mean of the posteriors of each tree's leaf; of
    a leaf where nobody is, that of the nearest node above where somebody is. Of the leaves that private attributes may
    lead to, each counts by the people whom the estimate puts there.

    Parameters
    ----------
    program : Program
    masses : shape (n_cells, n_classes)
        The answer to it, individuals.
    posterior : shape (n_qi, n_classes)
        The same as probabilities.
    controls : Controls
        Of the same attributes and classes.
    """
    table, classes = controls.table, program.n_classes
    theirs = build_cells(program.release, table)
    each = np.zeros((len(theirs), classes))
    for t, held in enumerate(program.cells.trees):
        places = held.places
        mass = np.zeros((len(places), classes))
        np.add.at(mass, program.cells.leaf[:, t], masses)
        nearest = np.arange(len(places))
        for level in reversed(places.levels[1:]):
            np.add.at(mass, places.parent[level], mass[level])
        for level in places.levels[1:]:
            empty = mass[level].sum(axis=1) <= 0
            nearest[level] = np.where(empty, nearest[places.parent[level]], level)
        here = mass[nearest[theirs.leaf[:, t]]]
        each += here / here.sum(axis=1, keepdims=True) / len(program.cells.trees)
    together = _together(program, masses, theirs.leaf)
    size = together.sum(axis=1, keepdims=True)
    cell = np.where(size > 0, together / np.where(size > 0, size, 1.0), each)
    # Cells where nobody is count a little, so that somebody who can only be in such ones has a posterior.
    weight = np.maximum(size, 1e-9)
    found = np.zeros((len(table), classes))
    np.add.at(found, theirs.owner, weight * cell)
    found /= found.sum(axis=1, keepdims=True)
    _, codes = answers_at(program.release, list(theirs.leaf.T), len(theirs))
    votes = np.zeros((len(table), classes))
    np.add.at(votes, (theirs.owner, codes), weight[:, 0])
    row = _rows(table, program.table)
    known = row >= 0
    found[known] = posterior[row[known]]
    return Believed(found, votes.argmax(axis=1), int(table.counts[known].sum()))


def _together(program: Program, masses: FloatArray, leaf: IntArray) -> FloatArray:
    """The masses of the people who are in the same leaves of all trees, shape (n, n_classes)."""
    both = np.vstack([program.cells.leaf, leaf])
    keys = row_keys(both, [len(held.places) for held in program.cells.trees])
    _, which = np.unique(keys, return_inverse=True)
    total = np.zeros((int(which.max()) + 1, masses.shape[1]))
    np.add.at(total, which[: len(masses)], masses)
    return np.asarray(total[which[len(masses) :]])


def _rows(table: QITable, of: QITable) -> IntArray:
    """The row of another table with each quasi-identifier of a table, -1 where there is none; shape (n_distinct,)."""
    codes = recoded(table.codes, table.levels, of)
    known = np.all(codes >= 0, axis=1)
    sizes = [len(level) for level in of.levels]
    keys = row_keys(np.vstack([of.codes, codes[known]]), sizes)
    own, theirs = keys[: len(of)], keys[len(of) :]
    at = np.minimum(np.searchsorted(own, theirs), len(of) - 1)
    found = np.full(len(table), -1)
    found[known] = np.where(own[at] == theirs, at, -1)
    return found
