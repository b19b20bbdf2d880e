"""Predictions of a release, from its published statements only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.nodes import attributes_of
from maxent.models.reading import Reading, reader_of
from maxent.models.release import Attribute, Release
from maxent.models.tables.columns.cell_values import codes_in, finite
from maxent.models.tables.columns.missing_values import (
    OTHER,
    codes_of,
    missing_cells,
    missing_rows,
    note_missing,
    note_other,
)
from maxent.models.tables.columns.spellings import unknown_spellings
from maxent.models.tables.frame import Frame, Source, missing_columns, shorten
from maxent.models.tables.qi_table import declared_values
from maxent.models.tables.table_files import read_frame
from maxent.models.trees.answers import Removed as Removed
from maxent.models.trees.answers import shares_of, terms_of
from maxent.models.trees.ensembles import linked, sum_of_scores
from maxent.models.trees.means import predicted_classes, predicted_numbers, predicts_numbers
from maxent.models.trees.routing import assign


def predict_proba(
    release: Release, source: Source, *, removed: Removed = "ancestor", reading: Reading | None = None
) -> FloatArray:
    """The probability of each class that a release gives to each record.

    A leaf answers with the shares of its counts, else with its rates; without either, with one minus the error rate for
    its label and the rest in equal parts for the other classes; without an error rate, with its label. The trees of a
    forest whose leaves state counts answer with the shares of their summed counts [1]_, others with the mean of their
    answers. A release that says how it ``predicts`` does that: by the mean of the trees' answers, by the shares of
    their votes, each weighted by `Tree.weight`, or by the sum of their scores. Where leaves state means of a numeric
    target, the class is that of the mean.

    A record may reach a place without an answer: a removed leaf, one without records, one that states nothing, or an
    inner node that has no branch for its value. It gets the answer that the leaves below the nearest ancestor give
    together (``ancestor``; those of them that have one), or that all leaves of the tree give (``majority``), each
    weighted by its records, or all alike where some do not state them. In a forest this is only done for records that
    no tree has an answer for. Where nothing is stated at all, every class is as likely.

    Parameters
    ----------
    release : Release
    source : DataFrame or path
        With a column for each attribute that some tree tests; other columns are ignored.
    removed : {"ancestor", "majority"}
        Which leaves answer for a place without an answer.
    reading : Reading, optional
        How the source is read.

    Returns
    -------
    float64, shape (n, n_classes)
        In the order of ``release.target.classes``; rows sum to 1.

    References
    ----------
    .. [1] Waseda, Nojima and Wang, 2025, Algorithm 2.
    """
    return _answer(release, *read_columns(release, source, reading), removed)[0]


def predict(
    release: Release, source: Source, *, removed: Removed = "ancestor", reading: Reading | None = None
) -> npt.NDArray[Any]:
    """The class that a release predicts for each record, shape (n,), str.

    It is the label of the leaf that a record reaches in a single tree; where none is stated, and in a forest, it is
    the first of the most probable classes. Parameters and errors are those of `predict_proba`.
    """
    codes = predict_columns(release, *read_columns(release, source, reading), removed=removed)
    return np.array(release.target.classes, object)[codes]


def predict_columns(
    release: Release,
    attributes: Sequence[Attribute],
    columns: Sequence[npt.NDArray[Any]],
    n: int,
    *,
    removed: Removed = "ancestor",
) -> IntArray:
    """`predict` for records that are read already: indices into ``release.target.classes``, shape (n,).

    ``columns`` has an array for each of the attributes, shape (n,), as `maxent.models.trees.routing.assign` takes them.
    """
    return _answer(release, attributes, columns, n, removed)[1]


def predict_proba_columns(
    release: Release,
    attributes: Sequence[Attribute],
    columns: Sequence[npt.NDArray[Any]],
    n: int,
    *,
    removed: Removed = "ancestor",
) -> FloatArray:
    """`predict_proba` for records that are read already, as `predict_columns` takes them; shape (n, n_classes)."""
    return _answer(release, attributes, columns, n, removed)[0]


def read_columns(
    release: Release, source: Source, reading: Reading | None = None
) -> tuple[tuple[Attribute, ...], tuple[npt.NDArray[Any], ...], int]:
    """The attributes that some tree tests, a column of each as `predict_columns` takes it, and the number of rows."""
    attributes = tested_attributes(release)
    needed = [a.name for a in attributes]
    frame = read_frame(source, "data", needed, reader_of(reading), declared_values(attributes, release.target))
    problems = [*frame.problems, *missing_columns(frame, needed)]
    columns = tuple(read_column(frame, a, problems) for a in attributes if a.name in frame.columns)
    if problems:
        raise InvalidInput(frame.source, problems)
    return attributes, columns, len(frame.lines)


def tested_attributes(release: Release) -> tuple[Attribute, ...]:
    """The attributes that some tree tests, in the order of the release."""
    tested = {name for tree in release.trees for name in attributes_of(tree.nodes)}
    return tuple(attribute for attribute in release.attributes if attribute.name in tested)


def read_column(frame: Frame, attribute: Attribute, problems: list[Problem]) -> npt.NDArray[Any]:
    """One column as `predict_columns` takes it, shape (n_rows,).

    What is no number is a problem, and so is what is missing, unless the attribute has missing values.
    """
    if attribute.values is not None:
        return read_codes(frame, attribute.name, attribute.values, problems)
    found: FloatArray = np.append(finite(frame, attribute.name, problems, optional=attribute.missing), np.nan)
    return found[frame.columns[attribute.name].codes]


def read_codes(
    frame: Frame,
    name: str,
    domain: Sequence[str],
    problems: list[Problem],
    *,
    key: Literal["values", "classes"] = "values",
) -> IntArray:
    """A column as codes into a domain, shape (n_rows,), -1 outside of it; what is missing is a problem.

    ``key`` is where a release declares the domain; of values `OTHER` stands for all that it does not name.

    So is a value outside of it that is one of the domain but for blanks or Unicode form; that it is one but for its
    case is noted.
    """
    column = frame.columns[name]
    index, absent = codes_of(domain)
    if absent >= 0:
        note_missing(frame, name, domain[absent])
    elif (column.codes < 0).any():
        expected = "a value: name missing ones as the release does, or drop their rows"
        where = frame.place(int((column.codes < 0).argmax()))
        found = f"a missing one ({missing_rows(frame, name)} in all){missing_cells(frame, name)}"
        problems.append(Problem(where, name, expected, found))
    problems += unknown_spellings(frame, name, domain)
    other = index.get(OTHER, -1) if key == "values" else -1
    if other >= 0:
        note_other(frame, name, domain)
    return np.array([*codes_in(column, index, other), absent], np.int64)[column.codes]


def _answer(
    release: Release,
    attributes: Sequence[Attribute],
    columns: Sequence[npt.NDArray[Any]],
    n: int,
    removed: Removed,
) -> tuple[FloatArray, IntArray]:
    """Probabilities, shape (n, n_classes), and codes of the predicted classes, shape (n,)."""
    if removed not in get_args(Removed):
        raise invalid("predict", "argument", "removed", f"one of {', '.join(get_args(Removed))}", shorten(removed))
    return answers_at(release, places_of(release, attributes, columns, n), n, removed)


def answers_at(
    release: Release, reached: Sequence[IntArray], n: int, removed: Removed = "ancestor"
) -> tuple[FloatArray, IntArray]:
    """The predictions for records whose place in each tree is known.

    Parameters
    ----------
    release : Release
    reached : sequence of int64, shape (n,), one for each tree
        Places, as `places_of` has them.
    n : int
        Number of records.
    removed : {"ancestor", "majority"}
        As for `predict_proba`.

    Returns
    -------
    float64, shape (n, n_classes), and int64, shape (n,)
        Probabilities, and codes of the predicted classes.
    """
    if release.predicts == "score":
        shares = linked(sum_of_scores(release, reached, n), release.boosting)
        return shares, shares.argmax(axis=1)
    if predicts_numbers(release):
        codes = predicted_classes(release, predicted_numbers(release, reached))
        return np.asarray(np.eye(len(release.target.classes))[codes]), codes
    total, instead = np.zeros((2, n, len(release.target.classes)))
    label = np.full(n, -1)
    for terms, place in zip(terms_of(release, removed), reached, strict=True):
        total += terms.own[place]
        instead += terms.instead[place]
        label = terms.label[place]
    silent = ~total.any(axis=1)
    total[silent] = instead[silent]
    total[~total.any(axis=1)] = 1.0
    best = total.argmax(axis=1)
    return shares_of(total), best if len(release.trees) > 1 else np.where(label < 0, best, label)


def places_of(
    release: Release, attributes: Sequence[Attribute], columns: Sequence[npt.NDArray[Any]], n: int
) -> list[IntArray]:
    """The place of each tree where records end, shape (n,) each, see `maxent.models.trees.routing.assign`."""
    return [np.zeros(n, np.int64) if tree.root.is_leaf else assign(tree, attributes, columns) for tree in release.trees]
