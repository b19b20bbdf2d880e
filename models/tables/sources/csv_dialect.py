"""The delimiter of a CSV file: as a line before the header states it, else as the first rows show it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

# What may separate cells, by what options call it; the mark itself is understood, too
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}

# A line before the header that says what separates cells, as Excel reads it
STATED = re.compile(rb'"?[sS][eE][pP]=([,;\t|])"?(?:\r\n|\n|\r|\Z)')

LOOKED_AT = 100  # rows that are looked at, the header among them


def recognised_mark(widths: Callable[[str], Sequence[int]]) -> str:
    """The delimiter of a table: the comma, unless another one is clear.

    That is so when commas leave the header in one cell, and exactly one other mark divides the header and all rows
    that are looked at into the same number of cells, more than one.

    ``widths``: the numbers of cells of the header and of the first rows, for a mark; none where they cannot be told.
    """
    if [*widths(",")[:1]] != [1]:
        return ","
    found = [mark for mark in (";", "\t", "|") if len(cells := set(widths(mark))) == 1 and cells != {1}]
    return found[0] if len(found) == 1 else ","
