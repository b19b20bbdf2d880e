"""Suggestions for an unknown name, in bounded time however much is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache
from heapq import nlargest
from itertools import pairwise

HINTED = 20  # problems of one input that come with a hint; nobody mends more before the next try

# Characters of a name, known names, and candidates that difflib compares letter by letter
_LONGEST, _KNOWN, _COMPARED = 60, 1000, 8


def closest(text: str, known: Sequence[str]) -> str | None:
    """Return the known name that a text is probably a misspelling of, None when no name is close.

    difflib, which is quadratic, sees only the few candidates that share most letters and pairs of letters with it.
    """
    folded = text.lower()
    same = next((name for name in known if name.lower() == folded), None)
    if same is not None:
        return same
    cut = text[:_LONGEST]
    grams = _grams(cut)
    by_overlap = nlargest(_COMPARED, _with_grams(tuple(known[:_KNOWN])), key=lambda other: _overlap(grams, other[1]))
    names = {name[:_LONGEST]: name for name, _ in reversed(by_overlap)}
    found = get_close_matches(cut, names, n=1)
    return names[found[0]] if found else None


def close_to(text: str, known: Iterable[str]) -> str:
    """``; did you mean ...?`` with the known name that was probably meant, empty when no name is close."""
    found = closest(text, tuple(known))
    return "" if found is None else f"; did you mean {found!r}?"


def as_share(value: object) -> str:
    """``; did you mean ...?`` with the share that a number of percent is, empty for what is none."""
    percent = isinstance(value, (int, float)) and not isinstance(value, bool) and 1 < value <= 100
    return f"; did you mean {value / 100:.15g}?" if percent else ""  # type: ignore[operator]


@lru_cache(maxsize=8)
def _with_grams(known: tuple[str, ...]) -> list[tuple[str, frozenset[str]]]:
    """Each name with its grams, which the next hint about the same names needs again."""
    return [(name, _grams(name[:_LONGEST])) for name in known]


def _grams(text: str) -> frozenset[str]:
    """The letters and the pairs of adjacent letters of a text."""
    return frozenset(text) | frozenset(map("".join, pairwise(text)))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Share of grams that two texts have in common (Dice)."""
    return 2 * len(one & other) / max(len(one) + len(other), 1)
