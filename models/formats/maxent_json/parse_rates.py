"""The share of each class at a node of a decoded `maxent/1` document; problems are noted, not raised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from maxent.models.formats.maxent_json.fields import Fields, note_repeats
from maxent.models.formats.maxent_json.parse_fast import Names
from maxent.models.text.arguments import is_number, listing, listing_of, name, show
from maxent.models.trees.printed_rates import decimals

RATE = "a number from 0 to 1"

SINGLE = 1e-6
"""By how much shares that were computed in single precision may miss a sum of 1."""


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
    return shares


def rounding_of(shares: Iterable[float]) -> float:
    """By how much a sum of shares may be off as each was rounded, or cut off, to the digits of the longest."""
    found = list(shares)
    return len(found) * 10.0 ** -max(1, *map(decimals, found)) + SINGLE
