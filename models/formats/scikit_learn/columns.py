"""Columns of a scikit-learn model's input: the attributes of a release, and how they were encoded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from maxent.models.arguments import shorten
from maxent.models.errors import Problem
from maxent.models.tables.cells import MISSING, OTHER


@dataclass(frozen=True, slots=True)
class Feature:
    """A column of a model's input: numeric, ordinal codes of ``values``, or whether it is ``indicates``."""

    name: str
    attribute: str
    values: tuple[str, ...] | None = None
    indicates: str | None = None
    missing: bool = False
    unseen: bool = False

    @property
    def others(self) -> tuple[str, ...]:
        """What the attribute can be beside its values."""
        return (OTHER,) * self.unseen + (MISSING,) * self.missing

    @property
    def domain(self) -> tuple[str, ...] | None:
        """The values of a categorical attribute, those without a code last."""
        return None if self.values is None else (*self.values, *self.others)

    def split(self, threshold: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Values of the domain at most, and above, the threshold; one of them is empty when it is out of range."""
        assert self.values is not None
        if self.indicates is None:
            cut = min(max(math.floor(threshold) + 1, 0), len(self.values))
            return self.values[:cut], self.values[cut:]
        if not 0 <= threshold < 1:
            return self.values, ()
        return tuple(value for value in self.values if value != self.indicates), (self.indicates,)


def naming_problems(
    argument: str, given: Sequence[str], fitted: Sequence[str], size: int, attribute: str
) -> Iterator[Problem]:
    """List what is wrong with names given for what the model has in ``attribute``."""
    names = [given] if isinstance(given, str) else [str(name) for name in given]
    if len(names) != size:
        yield Problem(
            "argument", argument, f"{size} names, as many as the model has", f"{len(names)}: {shorten(given)}"
        )
    elif len(set(names)) < size:
        yield Problem("argument", argument, "each name once", shorten(next(n for n in names if names.count(n) > 1)))
    elif set(names) == set(fitted) and names != list(fitted):
        # The same names in another order would silently swap their meaning.
        yield Problem("argument", argument, f"the order of model.{attribute}, {shorten(list(fitted))}", shorten(names))


def read_coding(
    columns: Sequence[str], categories: Mapping[str, Sequence[str]], onehot: Mapping[str, Mapping[str, str]]
) -> tuple[list[Feature], list[Problem]]:
    """Meaning of each column, and mistakes in the description of it."""
    coding = {name: Feature(name, name) for name in columns}
    problems: list[Problem] = []
    domains: dict[str, tuple[str, ...]] = {}
    for name, given in categories.items():
        where = f"categories {shorten(name)}"
        if name not in coding and name not in onehot:
            problems.append(Problem(where, "name", f"a feature ({shorten(', '.join(columns))})", "none of that name"))
        elif isinstance(given, str):
            problems.append(Problem(where, "values", "a list of values", shorten(given)))
        else:
            domains[name] = tuple(map(str, given))
            if not domains[name] or len(set(domains[name])) < len(domains[name]):
                problems.append(Problem(where, "values", "at least one value, each once", shorten(list(given))))
            if name not in onehot:
                coding[name] = Feature(name, name, domains[name])
    for attribute, indicators in onehot.items():
        where = f"onehot {shorten(attribute)}"
        values = tuple(map(str, indicators.values()))
        domain = domains.get(attribute, values)
        if not values or len(set(values)) < len(values):
            problems.append(Problem(where, "values", "at least one value, each once", shorten(list(values))))
        if attribute in coding and attribute not in indicators:
            problems.append(Problem(where, "name", "a name that no feature has", "a feature of that name"))
        if not set(values) <= set(domain) or len(domain) > len(values) + 1:
            expected = f"the values that have an indicator, {shorten(list(values))}, and at most one more"
            problems.append(Problem(f"categories {shorten(attribute)}", "values", expected, shorten(list(domain))))
        for name, value in indicators.items():
            if name not in coding:
                problems.append(Problem(where, "feature", f"one of {shorten(', '.join(columns))}", shorten(name)))
            elif coding[name].values is not None:
                problems.append(Problem(where, "feature", "features described once", f"{shorten(name)} again"))
            else:
                coding[name] = Feature(name, attribute, domain, str(value))
    return list(coding.values()), problems


def attribute_problems(attributes: Mapping[str, object], target: str, private: Sequence[str]) -> Iterator[Problem]:
    """List names of the target and of private attributes that cannot be."""
    if target in attributes:
        yield Problem("argument", "target", "a name that no attribute has", shorten(target))
    for name in private:
        if name not in attributes:
            yield Problem("argument", "private", f"attributes ({shorten(', '.join(attributes))})", shorten(name))
