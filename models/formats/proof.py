"""Proof that a tree is of the named training table: its rows reach every leaf in the stated numbers.

A text can be misread in silence: names of columns before a scaler, codes of categories, thresholds rounded for print.
The training rows tell.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, invalid
from maxent.models.formats.release_reader import Wanted
from maxent.models.nodes import each
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Release
from maxent.models.tables.cells import MISSING, holds_numbers, numbers, understood
from maxent.models.tables.classes import class_names
from maxent.models.tables.frame import Frame, missing_columns
from maxent.models.tables.qi_table import declared_values
from maxent.models.tables.table_files import read_frame
from maxent.models.trees.predict import places_of, read_codes, read_column, tested_attributes

# The columns of a training table, for the domains of a model's attributes; nothing else of it is taken.

_MOST_DECIMALS = 15


@dataclass(frozen=True, slots=True, eq=False)
class TrainingColumns:
    """The columns of a training table; ``gaps`` have empty cells."""

    attributes: tuple[Attribute, ...]
    classes: tuple[str, ...]
    frame: Frame
    gaps: frozenset[str] = frozenset()

    def named(self, name: str) -> Attribute | None:
        """The attribute of a name."""
        return next((attribute for attribute in self.attributes if attribute.name == name), None)

    def orders(self, name: str) -> tuple[tuple[str, ...], ...]:
        """The values of a column in each order that a program may have sorted them in, none without the column."""
        return tuple(dict.fromkeys(self.sorted_ways(name)))

    def sorted_ways(self, name: str) -> tuple[tuple[str, ...], ...]:
        """The values of a column in the order of each of several ways to sort, the same for all columns."""
        if name not in self.frame.columns:
            return ()
        values = _values(self.frame, name)
        orders = [values, tuple(sorted(values)), tuple(sorted(values, key=lambda v: (v.casefold(), v.swapcase())))]
        # Collation of many languages passes over signs and blanks at first.
        orders.append(tuple(sorted(values, key=lambda v: (re.sub(r"[\W_]+", "", v.casefold()), v.swapcase()))))
        return tuple(orders)

    def holds_whole_numbers(self, name: str) -> bool:
        """Whether all numbers of a column are whole, so that a threshold halfway between two was not rounded."""
        return self.decimals(name) == 0

    def decimals(self, name: str) -> int | None:
        """Most decimals of a number of a column, None of one with other than numbers, or with more than 15."""
        column = self.frame.columns.get(name)
        if column is None or not holds_numbers(column):
            return None
        found = numbers(column)[np.unique(column.codes[column.codes >= 0])]
        return next((k for k in range(_MOST_DECIMALS + 1) if (np.round(found, k) == found).all()), None)


def read_training(
    wanted: Wanted, reader: Reader, declared: Mapping[str, Collection[str]] | None = None
) -> TrainingColumns | None:
    """Read the table that a caller names, None when there is none."""
    if wanted.train is None:
        return None
    header = read_frame(wanted.train, "train", [], reader).header
    frame = read_frame(wanted.train, "train", header, reader, declared)
    problems = [*frame.problems, *missing_columns(frame, [] if wanted.target is None else [wanted.target])]
    if problems:
        raise InvalidInput(frame.source, problems)
    names = [name for name in dict.fromkeys(header) if name != wanted.target]
    classes = () if wanted.target is None else _values(frame, wanted.target)
    gaps = frozenset(name for name in names if (frame.columns[name].codes < 0).any())
    return TrainingColumns(tuple(_attribute(frame, name) for name in names), classes, frame, gaps)


def _attribute(frame: Frame, name: str) -> Attribute:
    column = frame.columns[name]
    if holds_numbers(column):
        return Attribute(name, "numeric")
    return Attribute(name, "categorical", _values(frame, name) or (MISSING,))


def _values(frame: Frame, name: str) -> tuple[str, ...]:
    """The values that occur in a column, sorted; numbers by size."""
    column = frame.columns[name]
    used = np.unique(column.codes[column.codes >= 0]).tolist()
    texts = column.texts()
    found = {texts[code] for code in used}
    if holds_numbers(column):
        return tuple(sorted(found, key=float))
    return tuple(sorted(found))


def counts_in_leaves(release: Release, training: TrainingColumns) -> list[IntArray]:
    """Rows of a training table of each class at each node of every tree, shape (n_nodes, n_classes) each.

    Without a column of the target all are of the first class. Rows that end at no leaf count at the node where they do.
    """
    found = []
    reached, y = training_places(release, training)
    for tree, place in zip(release.trees, reached, strict=True):
        counts = np.zeros((len(tree.nodes), len(release.target.classes)), np.int64)
        inside = (place < len(tree.nodes)) & (y >= 0)
        np.add.at(counts, (place[inside], y[inside]), 1)
        found.append(counts)
    return found


def training_places(release: Release, training: TrainingColumns) -> tuple[list[IntArray], IntArray]:
    """The place of each tree where each row of a training table ends, and its class (0 without a target)."""
    attributes = tested_attributes(release)
    frame = understood(training.frame, training.frame.reader, declared_values(attributes, release.target))
    problems = [*frame.problems, *missing_columns(frame, [attribute.name for attribute in attributes])]
    if problems:
        raise InvalidInput(frame.source, problems)
    columns = [read_column(frame, attribute, problems) for attribute in attributes]
    classes = release.target.classes
    y = np.zeros(len(frame.lines), np.int64)
    if training.classes:
        named = class_names(frame, release.target)
        y = read_codes(named, release.target.name, classes, problems, key="classes")
    if problems:
        raise InvalidInput(frame.source, problems)
    return places_of(release, attributes, columns, len(y)), y


def check_leaves(source: str, release: Release, training: TrainingColumns, advice: str, *, empty: bool = False) -> bool:
    """Refuse a tree whose leaves the training rows do not reach as they state; whether their counts prove it right."""
    proven = bool(training.classes)
    for tree, counts in zip(release.trees, counts_in_leaves(release, training), strict=True):
        for node, here in zip(each(tree.nodes), counts.tolist(), strict=True):
            if not node.is_leaf:
                if sum(here):
                    raise _other(
                        source, node.id, "a branch for every row", f"{sum(here)} rows without one", training, advice
                    )
                continue
            if not sum(here) and not empty:
                raise _other(source, node.id, "a leaf that some row reaches", "none", training, advice)
            stated = None if node.counts is None else [node.counts[c] for c in release.target.classes]
            if stated is not None and (stated != here if training.classes else sum(stated) != sum(here)):
                raise _other(source, node.id, f"counts {_shown(stated)}", f"{_shown(here)}", training, advice)
            if stated is None and node.n is not None and node.n != sum(here):
                raise _other(source, node.id, f"{node.n} rows", f"{sum(here)}", training, advice)
            proven = proven and stated is not None
    return proven


def reached_as_stated(release: Release, training: TrainingColumns) -> bool:
    """Whether as many rows of a training table reach each leaf as it states."""
    return all(
        node.n is None or node.n == sum(here)
        for tree, counts in zip(release.trees, counts_in_leaves(release, training), strict=True)
        for node, here in zip(each(tree.nodes), counts.tolist(), strict=True)
        if node.is_leaf
    )


def _shown(counts: Sequence[int]) -> str:
    return ", ".join(map(str, counts[:8])) + (", ..." if len(counts) > 8 else "")


def _other(source: str, node: str, stated: str, found: str, training: TrainingColumns, advice: str) -> InvalidInput:
    expected = f"{stated}, as the model says ({advice})"
    return invalid(source, f"node {node}", "training table", expected, f"{found} in {training.frame.source}")
