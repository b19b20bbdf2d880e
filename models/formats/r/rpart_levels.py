"""Levels of factors: joined by commas, which they may have themselves, or without names, in the order of the factor.

R sorts levels as the locale does. Which order that was, the counts of the leaves prove with the training table.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


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
