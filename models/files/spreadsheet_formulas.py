r"""Text in CSV files that a spreadsheet would run as a formula: how it is written so that none does, and read back.

A spreadsheet takes a cell for a formula that begins with ``=``, ``+``, ``-`` or ``@`` (also in full width), or with a
tab or an end of line, behind which it looks for one. Numbers are none. Such a text gets an apostrophe before it, which
makes it text (OWASP, "CSV Injection"). Where semicolons or tabs part the cells, a text with one of these begins another
cell: behind them, and behind ends of lines, it is the same. A text that has apostrophes there already gets one more, so
that taking one away gives every text back.
"""

from __future__ import annotations

import re

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![^;\t\r\n])"
_FORMULA = rf"(?!{_NUMBER})[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]"
_BEFORE = r"(?<![^;\t\r\n])"
_UNGUARDED = re.compile(rf"{_BEFORE}(?='*{_FORMULA})")
_GUARDED = re.compile(rf"{_BEFORE}'(?='*{_FORMULA})")


def guarded(text: str) -> str:
    """A text as no spreadsheet runs it."""
    return _UNGUARDED.sub("'", text)


def unguarded(text: str) -> str:
    """The text that `guarded` wrote so."""
    return _GUARDED.sub("", text)


def is_formula(text: str) -> bool:
    """Whether a spreadsheet may run a text."""
    return re.search(rf"{_BEFORE}{_FORMULA}", text) is not None
