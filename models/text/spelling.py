"""Text that looks the same: spellings that differ only by blanks, invisible characters or Unicode form, or by case."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from unicodedata import normalize

# The code points with the property Default_Ignorable_Code_Point, which leave no mark, and control characters.
_INVISIBLE = re.compile(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_SOUND = re.compile("(?! )[ -~]*(?<! )")
# How people write numbers; float() accepts more: 1_000, nan, other digits
NUMBER = re.compile(r"[ \t\r\n]*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[ \t\r\n]*")

_LEADING_ZEROS = re.compile(r"\s*[+-]?0[0-9]")
_NEGATIVE_ZERO = re.compile(r"-(?:0+(?:\.0*)?|\.0+)")


def cleaned(text: str) -> str:
    """Return a text in the one form that all texts which look like it share.

    Invisible characters are left out; the rest is in Unicode's normal form NFKC, which also unites what NFC keeps apart
    though nobody sees a difference (the micro sign and the Greek letter, full and half width, ligatures, non-breaking
    blanks). Blanks of any kind and number become a single space, none at the ends, and a zero has no sign.
    """
    if _SOUND.fullmatch(text) and "  " not in text:
        return unsigned(text)
    # Leaving a character out may bring two together that have a form of their own.
    normal = normalize("NFKC", _INVISIBLE.sub("", text)).replace("\u2800", " ")
    return unsigned(" ".join(_INVISIBLE.sub("", normal).split()))


def unsigned(text: str) -> str:
    """Return a text without the sign of a zero: ``-0.0`` is ``0.0``."""
    return text[1:] if text.startswith("-") and _NEGATIVE_ZERO.fullmatch(text) else text


def has_leading_zeros(text: str) -> bool:
    """Whether a text is digits after a zero, as in a code that is no number: ``01102``."""
    return _LEADING_ZEROS.match(text) is not None


def folded(text: str) -> str:
    """Return the form that texts share which look alike but for case."""
    return cleaned(cleaned(text).casefold())


def spelled_alike(texts: Iterable[str], form: Callable[[str], str]) -> list[tuple[str, ...]]:
    """Return the different texts that have the same form, in groups of two or more, each in the order given."""
    groups: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        groups.setdefault(form(text), []).append(text)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def told_apart(text: str) -> str:
    """Return the `repr` of a text in which characters that look alike can be told apart."""
    return repr(text) if text.isascii() else ascii(text)
