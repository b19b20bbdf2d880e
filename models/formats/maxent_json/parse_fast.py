"""Nodes with nothing wrong in them, read at the speed that releases of millions of nodes need.

Whatever is not as it should be, in the least, is left to `maxent.models.formats.maxent_json.parse`, which says what
it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from maxent.models.release_content import Attribute, Branch, Node
from maxent.models.sparse_counts import complete_counts
from maxent.models.text.arguments import LARGEST_COUNT


@dataclass(frozen=True, slots=True)
class Names:
    """The names that nodes may use, as sets where a document may have very many."""

    attributes: Mapping[str, Attribute]
    all_attributes: bool  # false when some could not be read: a name may then be one of those
    domains: Mapping[str, frozenset[str]]
    classes: tuple[str, ...]
    no_records: dict[str, int]  # 0 for each class


def sound_node(raw: Any, names: Names) -> Node | None:
    """A node, None when something is wrong with it, or may be.

    Types are compared exactly: objects that repeat a key are of another one, and true is no number.
    """
    if type(raw) is not dict:
        return None
    identity, n, counts, distinct = raw.get("id"), raw.get("n"), raw.get("counts"), raw.get("distinct")
    if type(identity) is not str or not identity or not identity.isascii():
        return None
    stated = 1
    if n is not None:
        stated += 1
        if type(n) is not int or not 0 <= n <= LARGEST_COUNT:
            return None
    if distinct is not None:
        stated += 1
        if type(distinct) is not int or not 0 <= distinct <= LARGEST_COUNT:
            return None
    if counts is not None:
        stated += 1
        if not _are_counts(counts, names.no_records):
            return None
        counts = complete_counts(names.no_records, counts)
    if "rates" in raw or "value" in raw:
        return None  # with what is right of them they are as quickly read there
    if "branches" in raw:
        branches = _branches(raw, names) if len(raw) == stated + 2 else None
        if branches is None:
            return None
        return Node(identity, raw["attribute"], branches, None, None, n, counts, None, distinct)
    label, rate = raw.get("label"), raw.get("error_rate")
    if label is not None:
        stated += 1
        if type(label) is not str or label not in names.no_records:
            return None
    if rate is not None:
        stated += 1
        if label is None or type(rate) is not float or not 0 <= rate <= 1:
            return None
    # A key with the value null, or an unknown one, has not been counted.
    return Node(identity, None, (), label, rate, n, counts, None, distinct) if len(raw) == stated else None


def _are_counts(counts: Any, no_records: dict[str, int]) -> bool:
    """Whether a value is an object from classes to whole numbers."""
    if type(counts) is not dict or not counts or not counts.keys() <= no_records.keys():
        return False
    values = counts.values()
    return set(map(type, values)) == {int} and min(values) >= 0 and max(values) <= LARGEST_COUNT


def _branches(raw: dict[str, Any], names: Names) -> tuple[Branch, ...] | None:
    """The branches of an inner node."""
    title, below = raw.get("attribute"), raw["branches"]
    attribute = names.attributes.get(title) if type(title) is str else None
    if attribute is None or type(below) is not list or not below:
        return None
    if attribute.type == "numeric":
        found = [_numeric(branch, attribute.missing) for branch in below]
    elif attribute.values is not None:
        domain = names.domains[attribute.name]
        found = [_categorical(branch, domain) for branch in below]
    else:
        return None
    branches = tuple(branch for branch in found if branch is not None)
    return branches if len(branches) == len(found) else None


def _numeric(raw: Any, missing: bool) -> Branch | None:
    """A branch with bounds, and perhaps with the missing values of an attribute that has some."""
    if type(raw) is not dict or "child" not in raw:
        return None
    child, le, gt = raw["child"], raw.get("le"), raw.get("gt")
    takes = True if missing and raw.get("missing") is True else None
    if len(raw) != 1 + (le is not None) + (gt is not None) + (takes is not None) or len(raw) == 1:
        return None
    if not _is_child(child):
        return None
    if le is not None and (type(le) is not float or not -inf < le < inf):
        return None
    if gt is not None and (type(gt) is not float or not -inf < gt < inf):
        return None
    return Branch(child, None, le, gt, takes) if le is None or gt is None or gt < le else None


def _categorical(raw: Any, domain: frozenset[str]) -> Branch | None:
    """A branch with values."""
    if type(raw) is not dict or len(raw) != 2 or "child" not in raw:
        return None
    child, values = raw["child"], raw.get("in")
    if type(values) is not list or not values or set(map(type, values)) != {str} or not _is_child(child):
        return None
    distinct = set(values)
    return Branch(child, tuple(values)) if len(distinct) == len(values) and distinct <= domain else None


def _is_child(child: Any) -> bool:
    """Whether a value is an id, or null."""
    return child is None or type(child) is str
