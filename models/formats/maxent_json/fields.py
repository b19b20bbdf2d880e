"""The fields of one JSON object, read one by one; each problem is noted with its place instead of raised."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from math import inf

from maxent.models.errors import Problem
from maxent.models.files.json_files import RepeatedKeys
from maxent.models.release_content import FORMAT, Attribute
from maxent.models.text.arguments import (
    ABSENT,
    LARGEST_COUNT,
    LONGEST,
    is_whole,
    listing,
    listing_of,
    name,
    show,
    whole_number,
)
from maxent.models.text.hints import closest

_MOST_UNKNOWN = 20
_OURS = FORMAT.partition("/")[0] + "/"


@cache
def _as_set(known: tuple[str, ...]) -> frozenset[str]:
    """The known keys of a kind of object, for a test that a document makes of every object."""
    return frozenset(known)


@lru_cache(maxsize=1024)
def _closest(key: str, known: tuple[str, ...]) -> str:
    """A hint at the known key that an unknown one is probably meant to be."""
    match = closest(key.lower(), known) if len(key) <= LONGEST else None
    return "" if match is None else f" (did you mean {match}?)"


def is_text(value: object) -> bool:
    """Whether a value is a non-empty string that UTF-8 can hold (half a surrogate pair it cannot)."""
    if not isinstance(value, str) or not value:
        return False
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Names:
    """The names that nodes may use, as sets where a document may have very many."""

    attributes: Mapping[str, Attribute]
    all_attributes: bool  # false when some could not be read: a name may then be one of those
    domains: Mapping[str, frozenset[str]]
    classes: tuple[str, ...]
    no_records: dict[str, int]  # 0 for each class


class Fields:
    """The keys of one JSON object; reading a wrong one notes a problem and gives None (or the default).

    ``problems``: where problems are noted. ``where``: the place of the object, as problems name it. ``raw``: the
    decoded object. ``known``: every key it may have; others are noted at once, and so are keys that the document
    repeats.
    """

    __slots__ = ("problems", "raw", "where")

    def __init__(self, problems: list[Problem], where: str, raw: Mapping[str, object], known: tuple[str, ...]) -> None:
        self.problems, self.where, self.raw = problems, where, raw
        if not _as_set(known).issuperset(raw):
            self._note_unknown(known)
        if type(raw) is not dict:
            note_repeats(problems, where, raw)

    def _note_unknown(self, known: tuple[str, ...]) -> None:
        """Note the keys that no object of this kind has."""
        unknown = [key for key in self.raw if key not in known]
        for key in unknown[:_MOST_UNKNOWN]:
            hint = _closest(key, known) if isinstance(key, str) else ""
            expected = f"only the keys {', '.join(known)}{hint}"
            self.wrong(name(key) if isinstance(key, str) else show(key), expected, f"an unknown key {show(key)}")
        if len(unknown) > _MOST_UNKNOWN:
            rest = f"{len(unknown) - _MOST_UNKNOWN} more unknown keys"
            self.wrong("keys", f"only the keys {', '.join(known)}", rest)

    def wrong(self, field: str, expected: str, found: str) -> None:
        """Note a problem of this object."""
        self.problems.append(Problem(self.where, field, expected, found))

    def value(self, key: str) -> object:
        """The decoded value of a key; a value that `show` calls nothing when the key is absent."""
        return self.raw.get(key, ABSENT)

    def refuse(self, key: str, expected: str) -> None:
        """Note a problem with the value of a key."""
        self.wrong(key, expected, show(self.value(key)))

    def text(self, key: str) -> str | None:
        """A required non-empty string."""
        value = self.value(key)
        if isinstance(value, str) and is_text(value):
            return str(value)
        self.refuse(key, "a non-empty string")
        return None

    def choice(self, key: str, options: tuple[str, ...], default: str | None, *, null: bool = False) -> str | None:
        """One of a few strings; with ``null`` also null, which is None."""
        if key not in self.raw:
            return default
        value = self.raw[key]
        if (isinstance(value, str) and value in options) or (null and value is None):
            return value
        self.refuse(key, "one of " + ", ".join((*options, "null") if null else options))
        return default

    def flag(self, key: str) -> bool | None:
        """Either of true and false, None when the key is absent."""
        value = self.raw.get(key)
        if key in self.raw and not isinstance(value, bool):
            self.refuse(key, "true or false")
        return value if isinstance(value, bool) else None

    def whole(self, key: str, low: int, default: int | None = None) -> int | None:
        """A whole number, at least ``low``, small enough for floats to count it exactly."""
        if key not in self.raw:
            return default
        value = self.raw[key]
        if type(value) is int and low <= value <= LARGEST_COUNT:  # as nearly all
            return value
        if is_whole(value, low):
            return int(value)  # type: ignore[call-overload, no-any-return]
        self.refuse(key, whole_number(low))
        return default

    def real(self, key: str, expected: str, accept: Callable[[float], bool]) -> float | None:
        """A number that ``accept`` takes, None when the key is absent; NaN and the infinities are never taken."""
        if key not in self.raw:
            return None
        value = self.raw[key]
        if type(value) is float and abs(value) < inf and accept(value):  # as nearly all
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                number = float("inf")
            if abs(number) != float("inf") and accept(number):  # NaN fails every comparison of accept
                return number
        self.refuse(key, expected)
        return None

    def items(self, key: str, of: str) -> list[object]:
        """A required list with at least one item; an empty list stands for a wrong one."""
        value = self.value(key)
        if isinstance(value, list) and value:
            return value
        self.refuse(key, f"a non-empty list of {of}")
        return []

    def names(self, key: str, of: str) -> tuple[str, ...] | None:
        """A required non-empty list of different non-empty strings."""
        items = self.items(key, of)
        bad = [item for item in items if not is_text(item)]
        if bad:
            self.wrong(key, f"a list of {of} (non-empty strings)", listing_of(bad))
        if not items or bad:
            return None
        seen: set[object] = set()
        again = [item for item in items if item in seen or seen.add(item)]  # type: ignore[func-returns-value]
        if again:
            self.wrong(key, f"{of} that are all different", f"{listing_of(again)} more than once")
            return None
        return tuple(map(str, items))

    def names_among(self, key: str, of: str, known: Collection[str], in_order: Iterable[str]) -> tuple[str, ...] | None:
        """Names that are all ``known``, which messages list ``in_order``; None when anything is wrong with them."""
        found = self.names(key, of)
        unknown: list[object] = [text for text in found or () if text not in known]
        if unknown:
            self.wrong(key, f"{of} ({listing(in_order)})", listing_of(unknown))
            return None
        return found


def note_repeats(problems: list[Problem], where: str, raw: Mapping[str, object]) -> None:
    """Note the keys that a document states more than once in one object."""
    if isinstance(raw, RepeatedKeys):
        for key, times in islice(raw.repeated.items(), _MOST_UNKNOWN):
            problems.append(Problem(where, name(key), "each key once", f"the key {show(key)} {times} times"))


def fields_of(
    problems: list[Problem], where: str, value: object, known: tuple[str, ...], *, key: tuple[str, str] | None = None
) -> Fields | None:
    """The `Fields` of a value that has to be an object; ``key`` is the place and field that hold it, if any does."""
    if isinstance(value, dict):
        return Fields(problems, where, value, known)
    place, field = key or (where, "content")
    problems.append(Problem(place, field, "an object", show(value)))
    return None


def foreign_problem(document: object) -> Problem | None:
    """Say what shows that an object is no document of ours, without a word of what is in it; None for one of ours."""
    stated = document.get("format") if isinstance(document, dict) else _OURS
    if isinstance(stated, str) and stated.startswith(_OURS):
        return None
    return Problem("document", "format", repr(FORMAT), "another value" if stated is not None else "nothing")
