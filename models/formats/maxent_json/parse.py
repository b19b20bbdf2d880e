"""Parser of `maxent/1` documents, field by field, to frozen values; problems are noted, not raised.

What is wrong in itself is left out of the values (None, or a branch without a test), so that the rules that
relate fields and nodes, in `maxent.models.formats.maxent_json.rules`, judge only what could be read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice, starmap
from math import inf, prod
from typing import Any, NamedTuple, TypedDict, get_args

from maxent.models.arguments import (
    ABSENT,
    LARGEST_COUNT,
    LONGEST,
    are_whole,
    is_number,
    is_whole,
    listing,
    listing_of,
    name,
    places_of,
    show,
    whole_number,
)
from maxent.models.columns import NOTHING
from maxent.models.draws import GENERATORS, MOST_ROWS, MOST_SEED, Draws
from maxent.models.errors import Problem
from maxent.models.files.json_files import RepeatedKeys
from maxent.models.formats.maxent_json.batch import NAN, rounding_of
from maxent.models.hints import closest
from maxent.models.release import (
    FORMAT,
    MECHANISMS,
    ROUNDING_METHODS,
    AddedNoise,
    Attribute,
    AttributeType,
    Boosting,
    Candidates,
    Content,
    Defense,
    Encoding,
    Impurity,
    Induction,
    Labels,
    Link,
    Numbers,
    Predicts,
    Role,
    Rounded,
    Target,
    Tree,
)
from maxent.models.tables.cells import MISSING
from maxent.models.tables.classes import MOST_CLASSES, joined_name, product_classes

# The fields of one JSON object, read one by one; each problem is noted with its place instead of raised.

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
    domains: Mapping[str, tuple[str, frozenset[str]]]  # the values of each, as messages call them, and as a set
    classes: tuple[str, ...]
    no_records: dict[str, int]  # 0 for each class
    noise: AddedNoise | None = None


class Fields:
    """The keys of one JSON object at a place; reading a wrong one notes a problem and gives None (or the default)."""

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


# The branches of a node of a decoded `maxent/1` document; problems are noted, not raised.


def split(fields: Fields, names: Names) -> tuple[str | None, list[WrittenBranch]]:
    """The attribute of an inner node, None for one that could not be read, and its branches."""
    title = fields.value("attribute")
    attribute = names.attributes.get(title) if isinstance(title, str) else None
    if attribute is None and (names.all_attributes or not isinstance(title, str)):
        fields.refuse("attribute", f"the name of an attribute ({listing(names.attributes)})")
    branches = [
        _branch(fields.problems, f"{fields.where}, branch {number}", raw, attribute, names.domains)
        for number, raw in enumerate(fields.items("branches", "branches"), 1)
    ]
    return (attribute.name if attribute else None), branches


def _branch(
    problems: list[Problem],
    where: str,
    raw: object,
    attribute: Attribute | None,
    domains: Mapping[str, tuple[str, frozenset[str]]],
) -> WrittenBranch:
    """One branch; no test (values, bounds) when that is wrong or its attribute unknown."""
    fields = fields_of(problems, where, raw, ("in", "le", "gt", "missing", "child"))
    if fields is None:
        return WrittenBranch()
    child = fields.value("child")
    if not (child is None or isinstance(child, str)):
        fields.refuse("child", "the id of a node, or null for a removed leaf")
        child = None
    found = WrittenBranch(child)
    if attribute is None or (attribute.type == "categorical" and attribute.values is None):
        return found
    if attribute.type == "categorical":
        return found._replace(values=_values(fields, attribute, *domains[attribute.name]) or ())
    if attribute.type == "numeric":
        le, gt = _bounds(fields, attribute)
        missing = _missing(fields, attribute, le is not None or gt is not None)
        return found._replace(le=_number(le), gt=_number(gt), missing=NOTHING if missing is None else missing)
    return found


def _values(fields: Fields, attribute: Attribute, called: str, domain: frozenset[str]) -> tuple[str, ...] | None:
    """The values of a categorical branch."""
    for key in ("le", "gt"):
        if key in fields.raw:
            fields.refuse(key, f"no such key, since {name(attribute.name)} is categorical (use in)")
    if "missing" in fields.raw:
        expected = f"no such key, since {name(attribute.name)} is categorical: name {MISSING!r} among its values"
        fields.refuse("missing", expected)
    return fields.names_among("in", called, domain, attribute.values or ())


def _bounds(fields: Fields, attribute: Attribute) -> tuple[float | None, float | None]:
    """``le`` and ``gt`` of a numeric branch; both None when either is wrong."""
    if "in" in fields.raw:
        fields.refuse("in", f"no such key, since {name(attribute.name)} is numeric (use le, gt)")
    le, gt = fields.real("le", "a finite number", _any), fields.real("gt", "a finite number", _any)
    stated = ("le" in fields.raw) + ("gt" in fields.raw)
    if not stated:
        if not {"in", "missing"} & fields.raw.keys():
            fields.refuse("le, gt", f"at least one bound, since {name(attribute.name)} is numeric")
        return None, None
    if (le is not None) + (gt is not None) < stated:
        return None, None
    if le is not None and gt is not None and not gt < le:
        fields.wrong("gt", f"a number below le ({le!r})", repr(gt))
        return None, None
    return le, gt


def _any(bound: float) -> bool:
    return True


def _missing(fields: Fields, attribute: Attribute, bounded: bool) -> bool | None:
    """Whether a numeric branch takes missing values; False, of a branch without bounds, that it takes every number."""
    if "missing" not in fields.raw:
        return None
    found = fields.flag("missing")
    if not bounded and fields.raw.keys() & {"le", "gt"}:
        return None  # the bounds are wrong: what it takes is not known
    if found and not attribute.missing:
        expected = f'"missing": true for {name(attribute.name)} among the attributes, too'
        fields.wrong("missing", expected, "an attribute that has no missing values")
    if found is False and fields.raw.keys() & {"le", "gt"}:
        fields.refuse("missing", "true, or no such key, beside le or gt")
        return None
    return found


# What a target of a `maxent/1` document is besides its classes: numbers, or several sensitive columns.

_NUMBERS = "a number, or [least, largest] with null where there is none, for each class, in the order of classes"
_ROUNDED = 1e-6  # by how much, relative to the numbers, a mean that was printed may lie outside of them


def read_numbers(fields: Fields, classes: Sequence[str]) -> tuple[Numbers, ...] | None:
    """What the classes of a target stand for; None when there is nothing, or anything is wrong with it."""
    if "numbers" not in fields.raw:
        return None
    raw = fields.raw["numbers"]
    if not isinstance(raw, list) or (classes and len(raw) != len(classes)):
        fields.refuse("numbers", _NUMBERS)
        return None
    found = []
    for pair in raw:
        low, high = pair if isinstance(pair, list) and len(pair) == 2 else (pair, pair)
        ends = [_end(low, -math.inf), _end(high, math.inf)]
        if (low is high and low is None) or ends[0] is None or ends[1] is None or ends[0] > ends[1]:
            fields.wrong("numbers", _NUMBERS, show(pair))
            return None
        found.append((ends[0], ends[1]))
    return tuple(found)


def _end(raw: object, none: float) -> float | None:
    """An end of an interval, None when it is no number."""
    if raw is None:
        return none
    return float(raw) if is_number(raw) and abs(raw) <= 1e300 else None  # type: ignore[arg-type]


def read_parts(fields: Fields, title: str, classes: Sequence[str]) -> tuple[Target, ...]:
    """The sensitive columns whose combinations the classes are; none where there are none, or anything is wrong."""
    if "of" not in fields.raw:
        return ()
    begin, parts = len(fields.problems), []
    for number, raw in enumerate(fields.items("of", "sensitive columns"), 1):
        part = fields_of(fields.problems, f"target, column {number}", raw, ("name", "classes"))
        if part is not None:
            parts.append(Target(part.text("name") or "", part.names("classes", "classes") or ()))
    if len(fields.problems) > begin or not title or not classes:
        return ()
    names = [part.name for part in parts]
    if len(parts) < 2 or len(set(names)) < len(parts):
        fields.wrong("of", "two or more sensitive columns of different names", listing(names))
    elif "numbers" in fields.raw:
        fields.refuse("numbers", "none, of several sensitive columns")
    elif (size := prod(len(part.classes) for part in parts)) > MOST_CLASSES:
        fields.wrong("of", f"columns with at most {MOST_CLASSES} combinations of classes", f"{size:,}")
    elif title != joined_name(names):
        fields.wrong("name", f"{joined_name(names)!r}, the names in `of`", show(title))
    elif tuple(classes) != (expected := product_classes([part.classes for part in parts])):
        fields.wrong("classes", f"the combinations of those in `of` ({listing(expected)})", listing(classes))
    else:
        return tuple(parts)
    return ()


def read_moments(fields: Fields) -> tuple[float, float]:
    """Mean and variance of a node, NaN in place of what it does not state."""
    mean = fields.real("mean", "a finite number", lambda mean: abs(mean) <= 1e300)
    return _number(mean), _number(fields.real("variance", "a number, at least 0", lambda spread: 0 <= spread <= 1e300))


# The key `release` of a document: how records were counted, and what was done to the model.

UNREAD = -1  # in place of a key that is there but wrong: what it changes about the numbers of nodes is not known


class PublicationKeys(TypedDict):
    """What the key ``release`` states, as fields of `Content`."""

    sampling_rate: float
    suppressed_below: int
    defense: Defense | None
    resampled: int | None
    rounded: Rounded | None
    draws: Draws | None
    noise: AddedNoise | None


def read_publication(document: Fields) -> PublicationKeys:
    """The key ``release``, with `UNREAD` for what is wrong."""
    raw, known, place = document.raw.get("release", {}), tuple(PublicationKeys.__annotations__), ("document", "release")
    fields = fields_of(document.problems, "release", raw, known, key=place)
    if fields is None:
        absent = read_publication(Fields(document.problems, "document", {}, ()))
        return {**absent, "sampling_rate": UNREAD, "suppressed_below": UNREAD, "resampled": UNREAD}
    stated = frozenset(fields.raw)
    rate = fields.real("sampling_rate", "a number above 0 and at most 1", lambda rate: 0 < rate <= 1)
    below = fields.whole("suppressed_below", 0, UNREAD if "suppressed_below" in stated else 0) or 0
    drawn = fields.whole("resampled", 1, UNREAD if "resampled" in stated else None)
    rounded, draws = _rounded(fields), _draws(fields)
    if "draws" in stated and "resampled" not in stated:
        drawn = UNREAD if draws is None else draws.drawn
    elif draws is not None and drawn not in (draws.drawn, UNREAD):
        fields.refuse("resampled", f"as many as release.draws has drawn, {draws.drawn}")
    changed = {"sampling_rate": rate is not None and rate < 1, "suppressed_below": below > 1}
    if stated & {"resampled", "draws"}:
        for key in (key for key, there in changed.items() if there):
            fields.refuse(key, "no such key beside resampled: counts are of one kind of sample, and all of them")
    changed["resampled"] = drawn not in (None, UNREAD)
    if "rounded" in stated:  # of what was not suppressed
        for key in (key for key, there in changed.items() if there and key != "suppressed_below"):
            fields.refuse(key, "no such key beside rounded: what is rounded are the numbers of all records")
    if "noise" in stated:
        for key in (key for key, there in {**changed, "rounded": "rounded" in stated}.items() if there):
            fields.refuse(key, "no such key beside noise, which was added to the counts of all records")
    if rate is None:
        rate = UNREAD if "sampling_rate" in stated else 1.0
    return {
        "sampling_rate": rate,
        "suppressed_below": below,
        "defense": _defense(fields),
        "resampled": drawn,
        "rounded": rounded,
        "draws": draws,
        "noise": _noise(fields),
    }


def _noise(release: Fields) -> AddedNoise | None:
    """The noise in counts; None when there is none, of scale `UNREAD` when anything is wrong with it."""
    if "noise" not in release.raw:
        return None
    keys = ("mechanism", "scale")
    fields = fields_of(release.problems, "noise", release.raw["noise"], keys, key=("release", "noise"))
    if fields is None:
        return AddedNoise("laplace", UNREAD)
    above = "a number of records above 0"
    for key in (key for key in keys if key not in fields.raw):
        fields.refuse(key, above if key == "scale" else "one of " + ", ".join(MECHANISMS))
    # Any: choice() has checked the string against the literals of the type.
    mechanism: Any = fields.choice("mechanism", MECHANISMS, None)
    scale = fields.real("scale", above, lambda scale: 0 < scale < inf) if "scale" in fields.raw else None
    return AddedNoise("laplace", UNREAD) if mechanism is None or scale is None else AddedNoise(mechanism, scale)


_SEEDED = ("generator", "version", "n", "drawn", "replace", "seeds", "features")
_COUNTED = ("generator", "version", "n", "drawn", "replace", "counts")


def _draws(release: Fields) -> Draws | None:
    """Who was drawn for each tree; None when it is not told, or anything is wrong with it."""
    if "draws" not in release.raw:
        return None
    raw, before = release.raw["draws"], len(release.problems)
    known = _COUNTED if isinstance(raw, dict) and "counts" in raw else _SEEDED
    fields = fields_of(release.problems, "draws", raw, known, key=("release", "draws"))
    if fields is None:
        return None
    if known is _COUNTED:
        fields.raw = {**_drawn_sizes(fields.raw["counts"]), **fields.raw}
    n, drawn = fields.whole("n", 1), fields.whole("drawn", 1)
    for key in (key for key in ("n", "drawn") if key not in fields.raw):
        fields.refuse(key, whole_number(1))
    replaced = fields.flag("replace") is not False
    version = fields.text("version") if "version" in fields.raw else ""
    if n is None or drawn is None or len(release.problems) > before:
        return None
    if not replaced and drawn > n:
        fields.refuse("drawn", f"at most n, {n}, as no row was drawn twice")
        return None
    if known is _COUNTED:
        generator = fields.text("generator") if "generator" in fields.raw else ""
        counts = _drawn_rows(fields, n, drawn, 1 if not replaced else drawn)
        found = Draws(n, drawn, replaced, generator or "", version or "", counts=counts)
    else:
        generator = fields.choice("generator", tuple(GENERATORS), None)
        if generator is None and "generator" not in fields.raw:
            fields.refuse("generator", f"one of {', '.join(GENERATORS)}, or counts in place of seeds")
        for key in (key for key in ("n", "drawn") if fields.raw[key] > MOST_ROWS):  # type: ignore[operator]
            fields.refuse(key, f"at most {MOST_ROWS}, as seeds are of draws of 32 bits")
        seeds = fields.items("seeds", f"whole numbers from 0 to {MOST_SEED}, one for each tree")
        bad = [seed for seed in seeds if not is_whole(seed, 0) or seed > MOST_SEED]  # type: ignore[operator]
        if bad:
            fields.wrong("seeds", f"whole numbers from 0 to {MOST_SEED}", listing_of(bad))
        whole: Any = () if bad else tuple(seeds)
        found = Draws(n, drawn, replaced, generator or "", version or "", whole, features=_drawn_features(fields))
    return None if len(release.problems) > before else found


def _drawn_sizes(counts: object) -> dict[str, int]:
    """The keys ``n`` and ``drawn``, as the draws of the first tree tell them."""
    first = counts[0] if isinstance(counts, list) and counts else None
    return {"n": len(first), "drawn": sum(first)} if isinstance(first, list) and first and are_whole(first, 0) else {}


def _drawn_rows(fields: Fields, n: int, drawn: int, most: int) -> tuple[tuple[int, ...], ...]:
    """How often each row was drawn for each tree."""
    found = []
    for number, row in enumerate(fields.items("counts", "lists of whole numbers, one for each tree"), 1):
        words = f"tree {number}: {n} whole numbers of draws, from 0 to {most}, that add up to {drawn}"
        if not isinstance(row, list) or len(row) != n:
            fields.wrong("counts", words, f"a list of {len(row)}" if isinstance(row, list) else show(row))
        elif not are_whole(row, 0) or max(row) > most:
            fields.wrong("counts", words, listing_of([each for each in row if not is_whole(each, 0) or each > most]))
        elif sum(row) != drawn:
            fields.wrong("counts", words, f"a sum of {sum(row)}")
        else:
            found.append(tuple(row))
            continue
        break
    return tuple(found)


def _drawn_features(release: Fields) -> tuple[int, int, bool] | None:
    """The columns of which each tree was given some, drawn before its rows; None of all."""
    if "features" not in release.raw:
        return None
    place = ("draws", "features")
    fields = fields_of(release.problems, "features", release.raw["features"], ("n", "drawn", "replace"), key=place)
    if fields is None:
        return None
    n, drawn, replaced = fields.whole("n", 1), fields.whole("drawn", 1), fields.flag("replace") or False
    if n is None or drawn is None or drawn > n or n > MOST_ROWS:
        release.refuse(
            "features", "how many columns there are (n), and how many each tree had (drawn), at most as many"
        )
        return None
    return n, drawn, replaced


def draw_problems(release: Content, trees: int) -> Iterator[Problem]:
    """Draws of another number of trees than there are."""
    if release.draws is not None and release.draws.trees != trees:
        key = "seeds" if release.draws.seeds else "counts"
        yield Problem("draws", key, f"one for each tree, {trees}", str(release.draws.trees))


def _defense(release: Fields) -> Defense | None:
    """The method and its parameters, which are numbers and strings of any name."""
    if "defense" not in release.raw:
        return None
    raw = release.raw["defense"]
    known = tuple(raw) if isinstance(raw, dict) else ()
    fields = fields_of(release.problems, "defense", raw, ("method", *known), key=("release", "defense"))
    if fields is None:
        return None
    method, before = fields.text("method"), len(fields.problems)
    parameters = {key: value for key, value in fields.raw.items() if key != "method"}
    for key, value in parameters.items():
        if isinstance(value, str):
            fields.text(key)
        else:
            fields.real(key, "a number or a string", lambda number: number == number)
    # Any: the values have just been checked.
    checked: Any = parameters if len(fields.problems) == before else {}
    return None if method is None else Defense(method, checked)


def _rounded(release: Fields) -> Rounded | None:
    """How numbers of records were rounded; None when they were not, base `UNREAD` when anything is wrong with it."""
    if "rounded" not in release.raw:
        return None
    fields = fields_of(
        release.problems, "rounded", release.raw["rounded"], ("base", "method"), key=("release", "rounded")
    )
    if fields is None:
        return Rounded(UNREAD)
    for key in (key for key in ("base", "method") if key not in fields.raw):
        fields.refuse(key, "the base, a whole number of at least 2" if key == "base" else _METHODS)
    base, method = fields.whole("base", 2), fields.choice("method", ROUNDING_METHODS, None)
    # Any: choice() has checked the string against the literals of the type.
    checked: Any = method
    return Rounded(UNREAD) if base is None or method is None else Rounded(base, checked)


_METHODS = "one of " + ", ".join(ROUNDING_METHODS)


# The answers of a decoded `maxent/1` document: shares and scores of its nodes, and how its trees predict together.
#
# Problems are noted, not raised.

RATE = "a number from 0 to 1"
WEIGHT = "a number, at least 0"
SCORE = "a finite number"

_BOOSTING = ("link", "rate", "lambda", "base", "alpha", "hessian", "penalties", "weights")


def read_rates(fields: Fields, names: Names) -> Mapping[str, float] | None:
    """The share of each class that is named; None when anything is wrong with them."""
    raw = fields.raw["rates"]
    if not isinstance(raw, dict) or not raw:
        fields.refuse("rates", "an object from classes to shares")
        return None
    before = len(fields.problems)
    note_repeats(fields.problems, f"{fields.where}, rates", raw)
    if names.no_records and not raw.keys() <= names.no_records.keys():
        unknown: list[object] = [label for label in raw if label not in names.no_records]
        fields.wrong("rates", f"classes of the target ({listing(names.classes)})", listing_of(unknown))
    for label, share in raw.items():
        if not (is_number(share) and 0 <= share <= 1):
            fields.wrong(f"rates of {name(str(label))}", RATE, show(share))
    if len(fields.problems) > before:
        return None
    shares = {label: float(share) for label, share in raw.items()}
    total = sum(shares.values())
    if abs(total - 1) > rounding_of(shares.values()):
        fields.wrong("rates", "shares that sum to 1, within the rounding of their digits", f"a sum of {total:.6g}")
        return None
    return shares if names.classes else None


class Answers(TypedDict):
    """Rules by which the trees of a release predict together; the names are those of `Content`."""

    predicts: Predicts | None
    boosting: Boosting | None
    labels: Labels


def read_answers(document: Fields, names: Names) -> Answers:
    """``predicts``, ``boosting`` and ``labels`` of a document."""
    # Any: choice() has checked the strings against the literals of the types.
    predicts: Any = document.choice("predicts", get_args(Predicts), None)
    labels: Any = document.choice("labels", get_args(Labels), "majority")
    return Answers(predicts=predicts, boosting=_boosting(document, names), labels=labels)


def _boosting(document: Fields, names: Names) -> Boosting | None:
    """Rule that turns scores into probabilities."""
    if "boosting" not in document.raw:
        return None
    place = ("document", "boosting")
    raw = document.raw["boosting"]
    fields = fields_of(document.problems, "boosting", raw, _BOOSTING, key=place)
    if fields is None:
        return None
    link: Any = fields.choice("link", get_args(Link), None)
    if "link" not in fields.raw:
        fields.refuse("link", "one of " + ", ".join(get_args(Link)))
    rate = fields.real("rate", "a number above 0", lambda rate: rate > 0)
    l2 = fields.real("lambda", WEIGHT, lambda penalty: penalty >= 0)
    base = read_value(fields, "base", names)
    l1 = fields.real("alpha", WEIGHT, lambda penalty: penalty >= 0)
    hessian = fields.real("hessian", "a number above 0", lambda factor: factor > 0)
    attributes = names.attributes if names.all_attributes else None
    classes = names.no_records if names.classes else None
    return Boosting(
        link,
        rate,
        l2,
        0.0 if base is None else base,
        0.0 if l1 is None else l1,
        1.0 if hessian is None else hessian,
        _by_name(fields, "penalties", "attributes", attributes, WEIGHT, lambda penalty: penalty >= 0),
        _by_name(fields, "weights", "classes of the target", classes, "a number above 0", lambda weight: weight > 0),
    )


def _by_name(
    fields: Fields, key: str, of: str, known: Collection[str] | None, expected: str, accept: Callable[[float], bool]
) -> Mapping[str, float]:
    """A number for each attribute or class that is named; ``known`` is None where not all of them could be read."""
    raw, place = fields.raw.get(key, {}), f"{fields.where}, {key}"
    if not isinstance(raw, dict):
        fields.refuse(key, f"an object from {of.partition(' ')[0]} to {key}")
        return {}
    note_repeats(fields.problems, place, raw)
    unknown: list[object] = [name for name in raw if known is not None and name not in known]
    if unknown:
        fields.wrong(key, f"{of} ({listing(known or ())})", listing_of(unknown))
    inner = Fields(fields.problems, place, raw, tuple(raw))
    found = {str(name): inner.real(str(name), expected, accept) for name in raw}
    return {name: number for name, number in found.items() if number is not None}


def read_value(fields: Fields, key: str, names: Names) -> float | Mapping[str, float] | None:
    """A score, or one for each class that is named; None when there is none, or anything is wrong with it."""
    raw = fields.raw.get(key)
    if not isinstance(raw, dict):
        return fields.real(key, SCORE, lambda score: score == score)
    before = len(fields.problems)
    note_repeats(fields.problems, f"{fields.where}, {key}", raw)
    unknown: list[object] = [label for label in raw if names.classes and label not in names.no_records]
    if unknown or not raw:
        fields.wrong(key, f"scores of classes of the target ({listing(names.classes)})", listing_of(unknown) or "none")
    for label, score in raw.items():
        if not (is_number(score) and abs(score) < float("inf")):
            fields.wrong(f"{key} of {name(str(label))}", SCORE, show(score))
    return None if len(fields.problems) > before else {label: float(score) for label, score in raw.items()}


def scored_class(tree: Fields, names: Names) -> str | None:
    """The class whose score the values of a tree are added to."""
    found = tree.text("class") if "class" in tree.raw else None
    if found is not None and names.classes and found not in names.no_records:
        tree.refuse("class", f"a class of the target ({listing(names.classes)})")
        return None
    return found


def rule_problems(release: Content, *, several: bool) -> Iterator[Problem]:
    """Mistakes in the rules alone; ``several`` is whether some leaf states scores of classes by name."""
    if release.predicts == "label" and len(release.trees) > 1:
        yield Problem("document", "predicts", "vote, mean or score of several trees", "label")
    if (release.predicts == "score") != (release.boosting is not None):
        found = "nothing" if release.boosting is None else f"boosting, and predicts {show(release.predicts)}"
        yield Problem("document", "boosting", "boosting together with predicts: score, and only then", found)
    if release.predicts != "score":
        return
    logit = release.boosting is not None and release.boosting.link == "logit"
    if logit and len(release.target.classes) != 2:
        found = f"{len(release.target.classes)} classes"
        yield Problem("boosting", "link", "softmax, share or none, unless there are two classes", found)
    if logit and (len({tree.of_class for tree in release.trees}) > 1 or several):
        expected = "softmax, share or none, unless all trees add to the score of one class"
        yield Problem("boosting", "link", expected, "logit")


_SAID = ("label", "error_rate", "n", "counts", "rates", "distinct", "value", "hessian", "mean", "variance")
_NODE = ("id", "attribute", "branches", *_SAID, "part_of")


def parse_head(document: object, problems: list[Problem]) -> tuple[Fields, Content, Names] | None:
    """Read a decoded document but for its trees: its keys, what stands in them, and the names that nodes may use."""
    if other := foreign_problem(document):
        problems.append(other)
        return None
    known = ("format", "target", "attributes", "release", "predicts", "boosting", "labels", "trees")
    fields = fields_of(problems, "document", document, known)
    if fields is None:
        return None
    if fields.value("format") != FORMAT:
        fields.refuse("format", repr(FORMAT))
    target = _target(fields)
    attributes, complete = _attributes(fields, (target.name, *target.columns))
    publication = read_publication(fields)
    domains = {a.name: (f"values of {name(a.name)}", frozenset(a.values or ())) for a in attributes}
    names = Names(
        {attribute.name: attribute for attribute in attributes},
        complete,
        domains,
        target.classes,
        dict.fromkeys(target.classes, 0),
        publication["noise"],
    )
    content = Content(target, attributes, (), **publication, **read_answers(fields, names))
    return fields, content, names


def _target(document: Fields) -> Target:
    """The target; empty names for what could not be read."""
    place = ("document", "target")
    fields = fields_of(
        document.problems, "target", document.value("target"), ("name", "classes", "numbers", "of"), key=place
    )
    if fields is None:
        return Target("", ())
    classes = fields.names("classes", "classes") or ()
    title = fields.text("name") or ""
    return Target(title, classes, read_numbers(fields, classes), read_parts(fields, title, classes))


def _attributes(document: Fields, taken: Sequence[str]) -> tuple[tuple[Attribute, ...], bool]:
    """Every attribute that has a name, and whether those are all; names that are ``taken`` are the target's."""
    if document.value("attributes") == []:
        return (), True  # a tree of a single leaf needs none
    found: dict[str, tuple[Any, ...]] = {}  # the fields of each
    raws = document.items("attributes", "attributes")
    complete = bool(raws)
    titles = [raw.get("name") if isinstance(raw, dict) else None for raw in raws]
    for where, raw in zip(places_of("attribute", titles), raws, strict=True):
        fields = fields_of(document.problems, where, raw, ("name", "type", "values", "role", "missing"))
        title, *rest = _attribute(fields) if fields else ("",)
        if fields is None or not title:
            complete = False
            continue
        if title in found:
            fields.refuse("name", "a name that no other attribute has")
        elif title in taken:
            fields.refuse("name", "a name other than the target's")
        found.setdefault(title, (title, *rest))
    return tuple(starmap(Attribute, found.values())), complete


def _attribute(fields: Fields) -> tuple[Any, ...]:
    """The fields of an attribute; a categorical one whose values could not be read has None for them."""
    types: tuple[str, ...] = get_args(AttributeType)
    title = fields.text("name") or ""
    if "type" not in fields.raw:
        fields.refuse("type", "one of " + ", ".join(types))
    # Any: choice() has checked the string against the literals of the type.
    kind: Any = fields.choice("type", types, None)
    role: Any = fields.choice("role", get_args(Role), "public")
    values = None
    if kind == "categorical":
        values = fields.names("values", "values")
    elif kind == "numeric" and "values" in fields.raw:
        fields.refuse("values", "no values for a numeric attribute")
    return title, kind, values, role, _has_missing(fields, kind)


def _has_missing(fields: Fields, kind: str | None) -> bool:
    """Whether records without a number are values of an attribute."""
    if kind == "categorical" and "missing" in fields.raw:
        fields.refuse("missing", f"no such key, since missing ones are a value of a categorical attribute, {MISSING!r}")
        return False
    return fields.flag("missing") or False


def parse_tree(problems: list[Problem], number: str, raw: object, names: Names) -> tuple[Tree, Iterator[WrittenNode]]:
    """One tree, ``number`` among several, and its nodes, each read when it is asked for."""
    fields = fields_of(problems, number or "tree", raw, ("induction", "weight", "class", "nodes"))
    if fields is None:
        return Tree(()), iter(())
    prefix = f"{number}, " if number else ""
    head = parse_tree_head(fields, prefix, names)
    return head, _nodes(problems, prefix, fields.items("nodes", "nodes"), names)


def _nodes(problems: list[Problem], prefix: str, raws: Sequence[object], names: Names) -> Iterator[WrittenNode]:
    """The nodes of a tree."""
    ids = [item.get("id") if isinstance(item, dict) else None for item in raws]
    return (
        _node(problems, place, raw, names) for place, raw in zip(places_of(f"{prefix}node", ids), raws, strict=True)
    )


def parse_tree_head(tree: Fields, prefix: str, names: Names) -> Tree:
    """Read a tree but for its nodes."""
    weight = tree.real("weight", WEIGHT, lambda weight: weight >= 0)
    induction = _induction(tree, prefix, names)
    return Tree((), induction, 1.0 if weight is None else weight, scored_class(tree, names))


def _induction(tree: Fields, prefix: str, names: Names) -> Induction:
    """Knowledge of the algorithm; the defaults for what could not be read."""
    if "induction" not in tree.raw:
        return Induction()
    known = ("algorithm", "impurity", "candidates", "min_samples_leaf", "k", "encoding", "compared", "among")
    place = (tree.where, "induction")
    fields = fields_of(tree.problems, f"{prefix}induction", tree.raw["induction"], known, key=place)
    if fields is None:
        return Induction()
    # Any: choice() has checked the strings against the literals of the types.
    impurity: Any = fields.choice("impurity", get_args(Impurity), None, null=True)
    candidates: Any = fields.choice("candidates", get_args(Candidates), "none")
    encoding: Any = fields.choice("encoding", get_args(Encoding), "ordinal")
    return Induction(
        algorithm=fields.text("algorithm") if "algorithm" in fields.raw else None,
        impurity=impurity,
        candidates=candidates,
        min_samples_leaf=fields.whole("min_samples_leaf", 1, 1) or 1,
        k=fields.whole("k", 1, 1) or 1,
        encoding=encoding,
        compared=_named(fields, "compared", names),
        among=_named(fields, "among", names),
    )


def _named(fields: Fields, key: str, names: Names) -> tuple[str, ...] | None:
    """The attributes that a key lists, None without it."""
    if key not in fields.raw:
        return None
    if names.all_attributes:
        return fields.names_among(key, "attributes", names.attributes, names.attributes)
    return fields.names(key, "attributes")


class WrittenBranch(NamedTuple):
    """A branch as it is written; what is not there has a default that no document states."""

    child: str | None = None
    values: Sequence[str] = ()
    le: float = NAN
    gt: float = NAN
    missing: bool | int = NOTHING


@dataclass(slots=True)
class WrittenNode:
    """A node as it is written; ``attribute`` is None where it could not be read."""

    id: str
    attribute: str | None = ""
    branches: Sequence[WrittenBranch] = ()
    label: str = ""
    error_rate: float = NAN
    n: int = NOTHING
    distinct: int = NOTHING
    counts: Mapping[str, float] | None = None
    rates: Mapping[str, float] | None = None
    value: float | Mapping[str, float] = NAN
    hessian: float = NAN
    mean: float = NAN
    variance: float = NAN
    part_of: str = ""


def _node(problems: list[Problem], where: str, raw: object, names: Names) -> WrittenNode:
    """One node, inner when it has ``attribute`` or ``branches``; what is wrong with it is as if it were not there."""
    fields = fields_of(problems, where, raw, _NODE)
    if fields is None:
        return WrittenNode("")
    node = WrittenNode(fields.text("id") or "")
    node.n, node.distinct = _whole(fields, "n"), _whole(fields, "distinct")
    if "counts" in fields.raw:
        node.counts = _counts(fields, names) if names.noise is None else _noisy_counts(fields, names, names.noise)
    node.rates = read_rates(fields, names) if "rates" in fields.raw else None
    if "attribute" in fields.raw or "branches" in fields.raw:
        for key in ("label", "error_rate", "value", "hessian", "part_of"):
            if key in fields.raw:
                fields.refuse(key, "no such key on an inner node (one with attribute and branches)")
        node.attribute, node.branches = split(fields, names)
        node.mean, node.variance = read_moments(fields)
        return node
    if "error_rate" in fields.raw:
        node.error_rate = _number(fields.real("error_rate", RATE, lambda rate: 0 <= rate <= 1))
        if "label" not in fields.raw:
            fields.refuse("label", "the class that error_rate is about")
    if "value" in fields.raw:
        score = read_value(fields, "value", names)
        node.value = NAN if score is None or (isinstance(score, dict) and not names.classes) else score
    if "hessian" in fields.raw:
        node.hessian = _number(fields.real("hessian", WEIGHT, lambda total: total >= 0))
    node.label = _label(fields, names.classes)
    node.mean, node.variance = read_moments(fields)
    node.part_of = (fields.text("part_of") or "") if "part_of" in fields.raw else ""
    return node


def _number(found: float | None) -> float:
    """A number, NaN in place of None."""
    return NAN if found is None else found


def _whole(fields: Fields, key: str) -> int:
    """A number of records, `NOTHING` without one."""
    found = fields.whole(key, 0)
    return NOTHING if found is None else found


def _label(fields: Fields, classes: tuple[str, ...]) -> str:
    """The label, when it is a class."""
    label = fields.raw.get("label")
    if isinstance(label, str) and label in classes:
        return label
    if "label" in fields.raw and (classes or not isinstance(label, str)):
        fields.refuse("label", f"a class of the target ({listing(classes)})" if classes else "a string")
    return ""


def _by_classes(fields: Fields, names: Names, numbers: str) -> dict[str, object] | None:
    """The counts of a node as they stand there; None where they are no object."""
    raw = fields.raw["counts"]
    if not isinstance(raw, dict):
        fields.refuse("counts", f"an object from classes to {numbers}")
        return None
    note_repeats(fields.problems, f"{fields.where}, counts", raw)
    if names.no_records and not raw.keys() <= names.no_records.keys():
        unknown: list[object] = [label for label in raw if label not in names.no_records]
        fields.wrong("counts", f"classes of the target ({listing(names.classes)})", listing_of(unknown))
    return raw


def _noisy_counts(fields: Fields, names: Names, noise: AddedNoise) -> Mapping[str, float] | None:
    """Numbers of the classes that are stated, in the order of the classes; None when anything is wrong with them."""
    before, whole = len(fields.problems), noise.whole and noise.scale != UNREAD
    raw = _by_classes(fields, names, "numbers")
    expected = f"a {'whole ' * whole}number of at most {LARGEST_COUNT}" + f", as noise is {noise.mechanism}" * whole
    for label, count in () if raw is None else raw.items():
        sound = is_number(count) and abs(count) <= LARGEST_COUNT  # type: ignore[arg-type]
        if not sound or (whole and count != round(count)):  # type: ignore[call-overload]
            fields.wrong(f"counts of {name(str(label))}", expected, show(count))
    if raw is None or not names.classes or len(fields.problems) > before:
        return None
    return {label: float(raw[label]) for label in names.classes if label in raw}  # type: ignore[arg-type]


def _counts(fields: Fields, names: Names) -> dict[str, int] | None:
    """Records of the classes that are stated; None when anything is wrong with them."""
    before = len(fields.problems)
    raw: Any = _by_classes(fields, names, "whole numbers")
    if raw is None:
        return None
    if not are_whole(raw.values(), 0):
        for label, count in raw.items():
            if not is_whole(count, 0):
                fields.wrong(f"counts of {name(str(label))}", whole_number(0), show(count))
    if not names.classes or len(fields.problems) > before:
        return None
    counts: dict[str, int] = raw
    return counts
