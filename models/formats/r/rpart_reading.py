"""From the nodes of an rpart tree to its release, of exports with class counts, surrogates, and levels as letters.

A record without a value goes by the first surrogate split whose column it has, then with the majority. So does one with
a level that no record of the node had. Letters of levels are in R's order, which the counts of the leaves prove.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from maxent.models.errors import InvalidInput, invalid
from maxent.models.formats.assemble import assemble
from maxent.models.formats.conversion import Converted, Wanted
from maxent.models.formats.proof import counts_in_leaves
from maxent.models.formats.r.rpart_tree import (
    ABSENT,
    ADVICE,
    CRITERION,
    SURROGATES,
    Coded,
    Cut,
    Fitted,
    Grown,
    Sets,
    Split,
    check_family,
    tree_of,
)
from maxent.models.formats.training_columns import TrainingColumns, read_training
from maxent.models.reading import Reader
from maxent.models.release import Labels, Node, Release, Target
from maxent.models.tables.frame import shorten

_READINGS = 64  # orders of the levels of all columns that are tried
_PARTS = "counts and sizes of leaves below splits whose values records lack: surrogate splits part such records"
_WEIGHTS = "counts, which are of case weights"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A node: its records, its split and the surrogates for it, records without its value, and what is stated of it."""

    n: int
    splits: tuple[Cut | Coded, ...]
    lacking: int
    stated: Node


def converted(
    source: str,
    drawn: Mapping[int, Drawn],
    classes: tuple[str, ...],
    wanted: Wanted,
    reader: Reader,
    *,
    counted: bool,
    lost: tuple[str, ...],
    numeric: Target | None = None,
) -> Converted:
    """The release of nodes by their numbers; ``lost`` says of thresholds what they lack, nothing where they are exact.

    ``numeric`` is the target of a regression, whose leaves predict their means.
    """
    training = _with_all_levels(read_training(wanted, reader), drawn, wanted, reader)
    leaves = {number for number, node in drawn.items() if not node.splits}
    check_family(source, {number: node.n for number, node in drawn.items()}, leaves)
    if not any(node.lacking for node in drawn.values()) and (training is None or not training.classes):
        drawn = {number: replace(node, splits=node.splits[:1]) for number, node in drawn.items()}
    names = {split.name for node in drawn.values() for split in node.splits}
    lacking = {node.splits[0].name for node in drawn.values() if node.lacking and node.splits}
    may_lack = lacking | (names & training.gaps if training is not None else names if lacking else set())
    if numeric is not None and may_lack:
        expected = "columns without missing values, as means of leaves are of all their records"
        raise invalid(source, f"column {shorten(sorted(may_lack)[0])}", "missing values", expected, "some")
    labels: Labels = "majority" if counted and not may_lack else "decided"
    how: dict[str, Any] = {"predicts": "label", "labels": labels} if numeric is None else {"target": numeric.name}
    grown: Grown | None = None
    proven: list[tuple[Release, Grown]] = []
    failed: InvalidInput | None = None
    coded = dict.fromkeys(split.name for node in drawn.values() for split in node.splits if isinstance(split, Coded))
    for chosen in _orders(source, drawn, tuple(coded), training):
        levels = dict(zip(coded, chosen, strict=True))
        fitted = {
            number: Fitted(node.n, tuple(_named(split, levels) for split in node.splits), node.lacking > 0, node.stated)
            for number, node in drawn.items()
        }
        grown = tree_of(source, fitted, training, frozenset(may_lack))
        release = assemble(source, [grown.tree], classes, wanted, training, **how)
        release = release if numeric is None else replace(release, target=numeric)
        if training is not None:
            try:
                counts = _check(source, release, grown, drawn, training)
            except InvalidInput as error:
                failed = failed or error
                continue
            if coded and not counts:
                expected = f"counts that prove the order of levels ({_BETTER})"
                raise invalid(source, "document", "levels", expected, "none")
        if all(release.trees != other.trees for other, _ in proven):
            proven.append((release, grown))
    if not proven and failed is not None:
        raise failed
    if len(proven) != 1:
        raise invalid(source, "document", "levels", f"one order of levels with such counts ({_BETTER})", "several")
    release, grown = proven[0]
    said = [CRITERION]
    said += [] if counted else [_WEIGHTS]
    said += lost
    said += [_PARTS] if may_lack else []
    said += [ABSENT] if grown.absent else []
    said += [SURROGATES] if training is None and names and not may_lack else []
    return Converted(release, "R rpart", tuple(said), not lost)


def _with_all_levels(
    training: TrainingColumns | None, drawn: Mapping[int, Drawn], wanted: Wanted, reader: Reader
) -> TrainingColumns | None:
    """The training table, in which a level such as ``NA`` is a value where R has as many more levels."""
    if training is None:
        return None
    declared: dict[str, list[str]] = {}
    for split in (split for node in drawn.values() for split in node.splits if isinstance(split, Coded)):
        column = training.frame.columns.get(split.name)
        if column is not None and split.name not in declared:
            spelled = [text for text in column.blanks if text]
            if spelled and len(split.sides) == len(training.orders(split.name)[0]) + len(spelled):
                declared[split.name] = [*training.orders(split.name)[0], *spelled]
    return read_training(wanted, reader, declared) if declared else training


_BETTER = "print(model), which names them, or train= and target="


def _orders(
    source: str, drawn: Mapping[int, Drawn], coded: tuple[str, ...], training: TrainingColumns | None
) -> list[tuple[tuple[str, ...], ...]]:
    """The orders of the levels of all columns that have letters for them."""
    if coded and (training is None or not training.classes):
        raise invalid(source, f"column {shorten(coded[0])}", "levels", f"names of levels ({_BETTER})", "none")
    orders = [() if training is None else training.orders(name) for name in coded]
    splits = [split for node in drawn.values() for split in node.splits if isinstance(split, Coded)]
    for name, found in zip(coded, orders, strict=True):
        sizes = {len(split.sides) for split in splits if split.name == name}
        if not found or sizes != {len(found[0])}:
            expected = f"as many values in the training table as levels, {shorten(sorted(sizes))} ({_BETTER})"
            shown = str(len(found[0])) if found else "no such column"
            raise invalid(source, f"column {shorten(name)}", "levels", expected, shown)
    together = zip(*(training.sorted_ways(name) for name in coded), strict=True) if training is not None else ()
    apart = zip(range(_READINGS), product(*orders), strict=False)
    return list(dict.fromkeys([*together, *(chosen for _, chosen in apart)]))


def _named(split: Cut | Coded, levels: Mapping[str, tuple[str, ...]]) -> Split:
    if isinstance(split, Cut):
        return split
    sides = list(zip(split.sides, levels[split.name], strict=True))
    left, right = (tuple(level for side, level in sides if side == which) for which in "LR")
    return Sets(split.name, left, right)


def _check(source: str, release: Release, grown: Grown, drawn: Mapping[int, Drawn], training: TrainingColumns) -> bool:
    """Refuse a tree whose leaves the training rows do not reach as rpart counts; whether counts prove it right."""
    classes = release.target.classes
    sums: dict[str, list[int]] = {}
    for node, here in zip(grown.tree.nodes, counts_in_leaves(release, training)[0].tolist(), strict=True):
        if not node.is_leaf and sum(here):
            found = f"{sum(here)} rows without one in {training.frame.source}"
            raise invalid(source, f"node {node.id}", "training table", f"a branch for every row ({ADVICE})", found)
        if node.is_leaf:
            before = sums.setdefault(grown.origins[node.id], [0] * len(classes))
            sums[grown.origins[node.id]] = [a + b for a, b in zip(before, here, strict=True)]
    proven = bool(training.classes)
    for number, made in drawn.items():
        if made.splits:
            continue
        here, stated = sums.get(str(number), [0] * len(classes)), made.stated.counts
        counts = None if stated is None else [stated[c] for c in classes]
        if counts is not None and training.classes and counts != here:
            raise _other(source, number, f"counts {shorten(counts)}", shorten(here), training)
        if sum(here) != made.n:
            raise _other(source, number, f"{made.n} rows", str(sum(here)), training)
        proven = proven and counts is not None
    return proven


def _other(source: str, number: int, stated: str, found: str, training: TrainingColumns) -> InvalidInput:
    expected = f"{stated}, as the model says ({ADVICE})"
    return invalid(source, f"node {number}", "training table", expected, f"{found} in {training.frame.source}")
