"""Whether a tree is of the training table that a caller names: its rows reach every leaf, as many as it states.

A text can be misread in silence: names of columns before a scaler, codes of categories, thresholds rounded for print.
The training rows tell.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, invalid
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.nodes import each
from maxent.models.release import Release
from maxent.models.tables.columns.missing_values import understood
from maxent.models.tables.columns.numeric_classes import class_names
from maxent.models.tables.frame import missing_columns
from maxent.models.tables.qi_table import declared_values
from maxent.models.trees.predict import places_of, read_codes, read_column, tested_attributes


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
    """The place of each tree where each row of a training table ends, and the code of its class (0 without a target).

    Errors are those of `counts_in_leaves`.
    """
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
    """Refuse a tree whose leaves the training rows do not reach as they state; whether their counts prove it right.

    ``empty`` is whether the tool makes leaves that no row reaches.
    """
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
