"""The key `release` of a document: how records were counted, and what was done to the model."""

from __future__ import annotations

from typing import Any

from maxent.models.formats.maxent_json.fields import Fields, fields_of
from maxent.models.release_content import Defense
from maxent.models.rounding.rounded import ROUNDING_METHODS, Rounded

UNREAD = -1  # in place of a key that is there but wrong: what it changes about the numbers of nodes is not known


def read_publication(document: Fields) -> tuple[float, int, Defense | None, int | None, Rounded | None]:
    """``sampling_rate``, ``suppressed_below``, ``defense``, ``resampled`` and ``rounded``, or `UNREAD`.

    What is wrong is one problem. Numbers that only it could explain are not blamed as well.
    """
    if "release" not in document.raw:
        return 1.0, 0, None, None, None
    known = ("sampling_rate", "suppressed_below", "defense", "resampled", "rounded")
    place = ("document", "release")
    fields = fields_of(document.problems, "release", document.raw["release"], known, key=place)
    if fields is None:
        return UNREAD, UNREAD, None, UNREAD, None
    stated = frozenset(fields.raw)
    rate = fields.real("sampling_rate", "a number above 0 and at most 1", lambda rate: 0 < rate <= 1)
    below = fields.whole("suppressed_below", 0, UNREAD if "suppressed_below" in stated else 0) or 0
    drawn = fields.whole("resampled", 1, UNREAD if "resampled" in stated else None)
    rounded = _rounded(fields)
    changed = {"sampling_rate": rate is not None and rate < 1, "suppressed_below": below > 1}
    if "resampled" in stated:
        for key in (key for key, there in changed.items() if there):
            fields.refuse(key, "no such key beside resampled: counts are of one kind of sample, and all of them")
    if "rounded" in stated:
        for key in (key for key, there in {**changed, "resampled": drawn not in (None, UNREAD)}.items() if there):
            fields.refuse(key, "no such key beside rounded: what is rounded are the numbers of all records")
    if rate is None:
        rate = UNREAD if "sampling_rate" in stated else 1.0
    return rate, below, _defense(fields), drawn, rounded


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
