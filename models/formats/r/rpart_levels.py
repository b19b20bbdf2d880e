"""Levels of factors: joined by commas, which they may have themselves, or without names, in the order of the factor.

R sorts levels as the locale does. Which order that was, the counts of the leaves prove with the training table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import product

from maxent.models.errors import InvalidInput, invalid
from maxent.models.formats.proof import check_leaves
from maxent.models.formats.r.rpart_tree import ADVICE, Cut, Sets, Split
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.release import Release
from maxent.models.tables.frame import shorten

_READINGS = 64
"""Orders of the levels of all columns that are tried."""


@dataclass(frozen=True, slots=True)
class Coded:
    """A test of levels without their names: for each in the order of the factor ``L``, ``R`` or ``-`` for neither."""

    name: str
    sides: str


def levels_in(text: str, known: Collection[str] | None, separator: str = ",") -> tuple[str, ...] | None:
    """The levels in a text, None where there are several readings, or none.

    Parameters
    ----------
    text : str
    known : collection of str, optional
        All levels. Where they are not known, commas with blanks beside them are taken for parts of a level.
    separator : str
        What levels are joined by.
    """
    pieces = text.split(separator)
    if known is None:
        clear = all(piece and piece == piece.strip() for piece in pieces) and len({*pieces}) == len(pieces)
        return tuple(pieces) if clear else None
    if len(pieces) > sum(level.count(separator) + 1 for level in known):
        return None
    longest = max((level.count(separator) for level in known), default=0) + 1
    # For each end the readings of what is before, up to two, and where the last level of one begins.
    ways, last = [1] + [0] * len(pieces), [0] * (len(pieces) + 1)
    for end in range(1, len(pieces) + 1):
        for begin in range(max(0, end - longest), end):
            if ways[begin] and separator.join(pieces[begin:end]) in known:
                ways[end] = min(ways[end] + ways[begin], 2)
                last[end] = begin
    if ways[-1] != 1:
        return None
    found, end = [], len(pieces)
    while end:
        found.append(separator.join(pieces[last[end] : end]))
        end = last[end]
    return tuple(reversed(found)) if len({*found}) == len(found) else None


def with_names(
    source: str,
    splits: Mapping[int, Cut | Coded],
    training: TrainingColumns | None,
    release_of: Callable[[Mapping[int, Split]], Release],
) -> Release:
    """The release of a tree whose levels have no names: that of the order of levels whose leaves count as they state.

    Raises
    ------
    InvalidInput
        Without a training table that proves the order, or where several orders are right; else as `check_leaves`.
    """
    coded = dict.fromkeys(split.name for split in splits.values() if isinstance(split, Coded))
    better = "print(model), which names them, or train= and target="
    if coded and (training is None or not training.classes):
        raise invalid(source, f"column {shorten(next(iter(coded)))}", "levels", f"names of levels ({better})", "none")
    orders = [() if training is None else training.orders(name) for name in coded]
    for name, found in zip(coded, orders, strict=True):
        sizes = {len(split.sides) for split in splits.values() if isinstance(split, Coded) and split.name == name}
        if not found or sizes != {len(found[0])}:
            expected = f"as many values in the training table as levels, {shorten(sorted(sizes))} ({better})"
            shown = str(len(found[0])) if found else "no such column"
            raise invalid(source, f"column {shorten(name)}", "levels", expected, shown)
    proven: list[Release] = []
    failed: InvalidInput | None = None
    for _, chosen in zip(range(_READINGS), product(*orders), strict=False):
        levels = dict(zip(coded, chosen, strict=True))
        release = release_of({number: _named(split, levels) for number, split in splits.items()})
        try:
            counts = training is not None and check_leaves(source, release, training, ADVICE)
        except InvalidInput as error:
            failed = failed or error
            continue
        if coded and not counts:
            raise invalid(source, "document", "levels", f"counts that prove the order of levels ({better})", "none")
        if all(release.trees != other.trees for other in proven):
            proven.append(release)
    if not proven and failed is not None:
        raise failed
    if len(proven) != 1:
        raise invalid(source, "document", "levels", f"one order of levels with such counts ({better})", "several")
    return proven[0]


def _named(split: Cut | Coded, levels: Mapping[str, tuple[str, ...]]) -> Split:
    if isinstance(split, Cut):
        return split
    sides = list(zip(split.sides, levels[split.name], strict=True))
    left, right = (tuple(level for side, level in sides if side == which) for which in "LR")
    return Sets(split.name, left, right)
