"""What a target of a `maxent/1` document is besides its classes: numbers, or several sensitive columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from math import prod

from maxent.models.errors import Problem
from maxent.models.formats.maxent_json.fields import Fields, fields_of
from maxent.models.release_content import Content, Numbers, Target
from maxent.models.tables.columns.product_classes import MOST, joined_name, product_classes
from maxent.models.text.arguments import is_number, listing, show

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
    for each in raw:
        low, high = each if isinstance(each, list) and len(each) == 2 else (each, each)
        ends = [_end(low, -math.inf), _end(high, math.inf)]
        if (low is high and low is None) or ends[0] is None or ends[1] is None or ends[0] > ends[1]:
            fields.wrong("numbers", _NUMBERS, show(each))
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
    elif (size := prod(len(part.classes) for part in parts)) > MOST:
        fields.wrong("of", f"columns with at most {MOST} combinations of classes", f"{size:,}")
    elif title != joined_name(names):
        fields.wrong("name", f"{joined_name(names)!r}, the names in `of`", show(title))
    elif tuple(classes) != (expected := product_classes([part.classes for part in parts])):
        fields.wrong("classes", f"the combinations of those in `of` ({listing(expected)})", listing(classes))
    else:
        return tuple(parts)
    return ()


def read_moments(fields: Fields) -> tuple[float | None, float | None]:
    """Mean and variance of a node."""
    mean = fields.real("mean", "a finite number", lambda mean: abs(mean) <= 1e300)
    return mean, fields.real("variance", "a number, at least 0", lambda spread: 0 <= spread <= 1e300)


def moment_problems(release: Content, places: Sequence[Sequence[str]]) -> Iterator[Problem]:
    """Means and variances without a numeric target, a variance without a mean, and a mean that no class can have."""
    numbers = release.target.numbers
    for tree, where in zip(release.trees, places, strict=True):
        for node, place in zip(tree.nodes, where, strict=True):
            if node.mean is None and node.variance is None:
                continue
            if numbers is None:
                yield Problem(place, "mean", "none, since the target has no numbers", show(node.mean))
            elif node.mean is None:
                yield Problem(place, "mean", "a mean beside the variance", "nothing")
            else:
                low, high = min(low for low, _ in numbers), max(high for _, high in numbers)
                slack = _ROUNDED * max(abs(end) for end in (low, high, node.mean) if math.isfinite(end))
                if not low - slack <= node.mean <= high + slack:
                    yield Problem(place, "mean", f"a number from {low:g} to {high:g}", show(node.mean))
