"""Domains of columns that are known without the data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any

import numpy as np

from maxent.models.arguments import is_number, shorten
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.files.json_files import read_json_object
from maxent.models.tables.frame import has_any
from maxent.models.tables.training import Training

Interval = tuple[float, float]  # the smallest and the largest value of a number
Ranges = Mapping[str, Interval]  # the interval of each numeric attribute
DomainSource = Mapping[str, Any] | str | PathLike[str]

_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class Domains:
    """The values of categorical columns and of the target, and what the values of numeric columns lie between."""

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ranges: Ranges = field(default_factory=dict)

    def unstated(self, training: Training) -> tuple[str, ...]:
        """The columns of the training data whose domains are those of the data, the target among them."""
        names = [*(attribute.name for attribute in training.attributes), *training.target.columns]
        return tuple(name for name in names if name not in self.values and name not in self.ranges)

    def problems(self, training: Training) -> Iterator[Problem]:
        """Ranges of what is no numeric column, or does not lie within them; values are `read_training`'s to judge."""
        columns = {a.name: column for a, column in zip(training.attributes, training.columns, strict=True)}
        numeric = {a.name for a in training.attributes if a.values is None}
        for name, (low, high) in self.ranges.items():
            if name not in columns:
                yield Problem("domains", shorten(name), f"a name among {', '.join(columns)}", "no such column")
            elif name not in numeric:
                yield Problem("domains", shorten(name), "values, as strings, since it is no numeric column", "a range")
            elif len(training) and not low <= columns[name].min() <= columns[name].max() <= high:
                found = f"{columns[name].min():g} to {columns[name].max():g}"
                yield Problem("domains", shorten(name), f"numbers from {low:g} to {high:g}", found)


def read_domains(
    source: DomainSource | None, target: str | Sequence[str], columns: Collection[str] | None = None
) -> Domains:
    """Read domains: values of columns, or their smallest and largest number.

    A file that names none of the columns may be any file: nothing of it is shown.
    """
    if source is None:
        return Domains()
    targets = [target] if isinstance(target, str) else [*target]
    entries = read_json_object(source) if isinstance(source, (str, PathLike)) else source
    where = fspath(source) if isinstance(source, (str, PathLike)) else "argument"
    if not isinstance(entries, Mapping):
        raise invalid(where, "domains", "type", "columns with their domains", shorten(entries))
    if entries and columns is not None and entries is not source and not has_any(entries, [*targets, *columns]):
        expected = "an object from columns of the data to their domains"
        raise invalid(where, "domains", "columns", expected, f"{len(entries)} keys that are no columns")
    values: dict[str, tuple[str, ...]] = {}
    ranges: dict[str, tuple[float, float]] = {}
    problems = [
        Problem("domains", shorten(name), "each column once", f"{number} times")
        for name, number in getattr(entries, "repeated", {}).items()
    ]
    for name, domain in entries.items():
        found: list[Any] = list(domain) if isinstance(domain, (list, tuple, np.ndarray)) else []
        numbers, names = all(map(_is_number, found)), all(isinstance(v, (str, bool, np.bool_)) for v in found)
        if found and (names or (numbers and name in targets)):
            values[name] = tuple(map(str, found))
        elif len(found) == 2 and numbers and found[0] <= found[1]:
            ranges[name] = (float(found[0]), float(found[1]))
        else:
            expected = "a list of values, as strings, or the smallest and the largest number"
            problems.append(Problem("domains", shorten(name), expected, shorten(domain)))
    if problems:
        raise InvalidInput(where, problems)
    return Domains(values, ranges)


def _is_number(value: object) -> bool:
    """Whether a value is a number that a float can hold."""
    return is_number(value) and bool(-_LARGEST <= value <= _LARGEST)  # type: ignore[operator]  # not so for NaN
