"""Predictions of a release for a table of records: classes, probabilities where they are stated, and leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.api.case import open_published
from maxent.models.arrays import IntArray
from maxent.models.display import Display, Shown, counted
from maxent.models.errors import InvalidInput, invalid
from maxent.models.reading import NOTHING, Noticed, Reader, Reading, reader_of
from maxent.models.release import Release, Tree
from maxent.models.tables.cells import own_names, understood
from maxent.models.tables.frame import Frame, Source, missing_columns
from maxent.models.tables.qi_table import declared_values
from maxent.models.tables.table_files import read_frame
from maxent.models.trees.places import number_places
from maxent.models.trees.predict import (
    places_of,
    predict_columns,
    predict_proba_columns,
    predicted_numbers,
    predicts_numbers,
    read_column,
    states_shares,
    tested_attributes,
)

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class Predicted(Shown):
    """Predictions for the rows of a table.

    Attributes
    ----------
    frame : DataFrame
        The rows as they were given, in their order, with ``predicted``, a number where leaves state means of a numeric
        target, and then its ``class``; ``P(<class>)`` for each class, where the
        release states shares; and ``leaf``, ``tree:node`` with trees counted from 1, joined by blanks. A record that
        ends where a leaf was removed, or at a node without a branch for it, has the node there. These names have a
        prefix beside columns that are called so, see `own_names`.
    summary : dict
        ``rows``, ``trees``, ``predicts`` (None: the default), ``predicted`` (class -> rows), ``shares`` (whether
        probabilities are stated) and ``without_leaf``, the rows that end in no leaf of some tree.
    """

    frame: DataFrame
    summary: dict[str, Any]
    noticed: Noticed = NOTHING

    def _display(self) -> Display:
        rows = [(name, f"{number:,}") for name, number in self.summary["predicted"].items()]
        told = [f"{name}: {number}" for name, number in rows]
        trees = counted(self.summary["trees"], "tree")
        lost = self.summary["without_leaf"]
        more = [f"{counted(lost, 'row')} in no leaf of some tree"] * bool(lost)
        return Display(
            f"Predictions of {trees} for {counted(self.summary['rows'], 'row')}",
            [*told, *more],
            ("class", "rows"),
            rows,
            more,
        )


def predict(release: Release | str | PathLike[str], data: Source, *, reading: Reading | None = None) -> Predicted:
    """Predict the class of every record of a table, as the release's trees do together.

    Parameters
    ----------
    release : Release or path
    data : DataFrame or path
        With a column for each attribute that some tree tests; others are kept as they are.
    reading : Reading, optional
        How both are read.
    """
    reader = reader_of(reading)
    published = open_published(release, reader)
    if not isinstance(published, Release):
        raise invalid(
            "release", "file", "format", "a release of trees, which predict", "a table of generalised records"
        )
    cells, frame = _read(data, published, reader)
    attributes = tested_attributes(published)
    needed = [attribute.name for attribute in attributes]
    problems = [*frame.problems, *missing_columns(frame, needed)]
    columns = tuple(read_column(frame, a, problems) for a in attributes if a.name in frame.columns)
    if problems:
        raise InvalidInput(frame.source, problems)
    n, classes = len(frame.lines), published.target.classes
    codes = predict_columns(published, attributes, columns, n)
    reached = places_of(published, attributes, columns, n)
    numeric = predicts_numbers(published)
    answers = predicted_numbers(published, reached) if numeric else np.array(classes, object)[codes]
    ours: list[tuple[str, Any]] = [("predicted", answers), *([("class", np.array(classes, object)[codes])] * numeric)]
    shares = states_shares(published)
    if shares:
        found = predict_proba_columns(published, attributes, columns, n)
        ours += [(f"P({label})", found[:, x]) for x, label in enumerate(classes)]
    ours.append(("leaf", _leaves(published.trees, reached)))
    summary = {
        "rows": n,
        "trees": len(published.trees),
        "predicts": published.predicts,
        "predicted": dict(zip(classes, np.bincount(codes, minlength=len(classes)).tolist(), strict=True)),
        "shares": shares,
        "without_leaf": _without_leaf(published.trees, reached, n),
    }
    return Predicted(_beside(cells, ours), summary, reader.noticed)


def _read(data: Source, release: Release, reader: Reader) -> tuple[Frame, Frame]:
    """All columns of a table as they are written, and as they are meant."""
    unread = reader.reading_as(replace(reader.reading, text="exact", na=()))
    header = read_frame(data, "data", [], unread).header
    cells = read_frame(data, "data", header, unread)
    return cells, understood(cells, reader, declared_values(tested_attributes(release), release.target))


def _beside(cells: Frame, ours: Sequence[tuple[str, Any]]) -> DataFrame:
    """The columns of a table, and ours after them."""
    import pandas as pd

    theirs = list(dict.fromkeys(cells.header))
    columns = [cells.columns[name] for name in theirs]
    found = [
        pd.Series(np.append(column.values.astype(object), np.array([None], object))[column.codes]) for column in columns
    ]
    names = [*theirs, *own_names([name for name, _ in ours], theirs)]
    frame = pd.DataFrame(dict(enumerate([*found, *(values for _, values in ours)])), index=range(len(cells.lines)))
    frame.columns = pd.Index(names, dtype=object)
    return frame


def _leaves(trees: Sequence[Tree], reached: Sequence[IntArray]) -> Any:
    """The leaf of each record in every tree, shape (n,), str."""
    parts = []
    for number, (tree, place) in enumerate(zip(trees, reached, strict=True), 1):
        places = number_places(tree)
        at = [i if i < places.n_nodes else int(places.parent[i]) for i in range(len(places))]
        parts.append(np.array([f"{number}:{tree.nodes[i].id}" for i in at], object)[place])
    return np.array([" ".join(row) for row in zip(*parts, strict=True)], object)


def _without_leaf(trees: Sequence[Tree], reached: Sequence[IntArray], n: int) -> int:
    """Number of records that end in no published leaf of some tree."""
    lost = np.zeros(n, bool)
    for tree, place in zip(trees, reached, strict=True):
        places = number_places(tree)
        published = np.zeros(len(places), bool)
        published[places.published] = True
        lost |= ~published[place]
    return int(lost.sum())
