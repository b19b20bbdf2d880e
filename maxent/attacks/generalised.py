"""The way to a leaf as the generalised values of an anonymised table: ``Masters|Doctorate``, ``(37.5, 52]``, ``*``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import cast

import numpy as np

from maxent.models.release import Attribute, Branch, Release
from maxent.models.tables.cells import MISSING
from maxent.models.trees.places import EVERYWHERE, Places, interval_of

ANYTHING = "*"
# The mark of an empty set of values, which no record reaches.
NOTHING = ""
# Values that are named in a sentence; of more, the number.
LISTED = 4
# The mark of all numbers of an attribute whose values may be missing.
ANY_NUMBER = "any number"
# Numbers ``(gt, le]``, and whether missing ones are among the values.
Numbers = tuple[float, float, bool]
# The values of an attribute with which a place can be reached.
Reach = tuple[str, ...] | Numbers


def everything(attribute: Attribute) -> Reach:
    """Every value of an attribute."""
    return (*EVERYWHERE, attribute.missing) if attribute.values is None else attribute.values


def narrowed(reach: Reach, branch: Branch) -> Reach:
    """The values of a branch, among the values of its node."""
    if branch.values is not None:
        taken = frozenset(branch.values)
        return tuple(value for value in reach if value in taken)
    low, high = interval_of(branch)
    least, most, missing = reach
    return max(low, float(least)), min(high, float(most)), bool(missing) and bool(branch.missing)


def in_words(attribute: Attribute, reach: Reach) -> str:
    """Values as the cell of an anonymised table; `ANYTHING` for all of them, `NOTHING` for none."""
    if attribute.values is not None:
        names = [str(value) for value in reach]
        if len(names) == len(attribute.values):
            return ANYTHING
        # A list where the mark between values is part of one.
        return "|".join(names) if not any("|" in name for name in names) else json.dumps(names, ensure_ascii=False)
    low, high, missing = float(reach[0]), float(reach[1]), bool(reach[2])
    if not low < high:
        return MISSING if missing else NOTHING
    if (low, high) == EVERYWHERE:
        return ANYTHING if missing == attribute.missing else ANY_NUMBER
    if low == -np.inf:
        words = f"<= {_number(high)}"
    else:
        words = f"> {_number(low)}" if high == np.inf else f"({_number(low)}, {_number(high)}]"
    return f"{words} or {MISSING}" if missing else words


def _number(value: float) -> str:
    """A number with all its digits: ``37.5``, ``37``."""
    return repr(value).removesuffix(".0")


def path_in_words(places: Places, place: int, attributes: Iterable[Attribute]) -> str:
    """The way to a place for people to read: ``Education = Masters, Age > 37.5``; ``everybody`` for the root."""
    known = {attribute.name: attribute for attribute in attributes}
    reach: dict[str, Reach] = {}
    for name, branch in places.path(place):
        reach[name] = narrowed(reach.get(name, everything(known[name])), branch)
    tests = [condition_in_words(known[name], values) for name, values in reach.items()]
    return ", ".join(tests) or "everybody"


def condition_in_words(attribute: Attribute, reach: Reach, number: Callable[[float], str] | None = None) -> str:
    """Values of an attribute for people to read: ``24.5 < Age <= 28.5``, ``Country = France|... (31 of 41 values)``.

    ``number`` writes the ends of an interval, by default with all their digits; where it writes both alike, so do we.
    """
    if attribute.values is not None and LISTED < len(reach) < len(attribute.values):
        inside = frozenset(reach)
        rest = tuple(value for value in attribute.values if value not in inside)
        if len(rest) <= LISTED:
            return f"{attribute.name} other than {in_words(attribute, rest)}"
        first = in_words(attribute, tuple(map(str, reach[:2])))
        return f"{attribute.name} = {first}|... ({len(reach)} of {len(attribute.values)} values)"
    words = in_words(attribute, reach)
    if attribute.values is None and reach[:2] != EVERYWHERE and float(reach[0]) < float(reach[1]):
        return _interval(attribute.name, cast("Numbers", reach), number or _number)
    if attribute.values is not None or words in (NOTHING, MISSING, ANY_NUMBER):
        return f"{attribute.name} = {words or 'nothing'}"
    return f"{attribute.name} = {words}"


def _interval(name: str, reach: Numbers, number: Callable[[float], str]) -> str:
    """Numbers that are neither none nor all, for people to read."""
    low, high, missing = reach
    least, most = number(low), number(high)
    if least == most:
        least, most = _number(low), _number(high)
    if low == -np.inf:
        words = f"{name} <= {most}"
    else:
        words = f"{name} > {least}" if high == np.inf else f"{least} < {name} <= {most}"
    return f"{words} or {MISSING}" if missing else words


def generalised(release: Release, places: Places) -> Mapping[str, list[str]]:
    """Values of every attribute in each leaf of a tree, published or removed; in the order of `Places.leaves`.

    One walk from the root keeps the words of the node it is at. A step changes those of one attribute, and is undone on
    the way back: so trees may be deep.
    """
    attributes = release.attributes
    column = {attribute.name: j for j, attribute in enumerate(attributes)}
    reach = [everything(attribute) for attribute in attributes]
    words = [in_words(attribute, values) for attribute, values in zip(attributes, reach, strict=True)]
    nodes, n_nodes = places.tree.nodes, places.n_nodes
    below, end = places.below.tolist(), np.cumsum(places.n_branches).tolist()
    found: dict[int, tuple[str, ...]] = {}
    # Either enter a place, or (None) restore what is known of an attribute.
    stack: list[tuple[int | None, int, Reach, str]] = [(0, -1, (), "")]
    while stack:
        place, j, values, text = stack.pop()
        if j >= 0:
            reach[j], words[j] = values, text
        if place is None:
            continue
        node = nodes[place] if place < n_nodes else None
        if node is None or node.is_leaf:
            found[place] = tuple(words)
            continue
        j = column[node.attribute or ""]
        stack.append((None, j, reach[j], words[j]))
        children = below[end[place] - len(node.branches) : end[place]]
        for child, branch in zip(children, node.branches, strict=True):
            values = narrowed(reach[j], branch)
            stack.append((child, j, values, in_words(attributes[j], values)))
    rows = zip(*(found[place] for place in sorted(found)), strict=True)
    return {attribute.name: list(cells) for attribute, cells in zip(attributes, rows, strict=True)}
