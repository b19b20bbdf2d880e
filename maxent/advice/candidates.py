"""Candidates: a method of defense with its parameters, from the grids of the methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maxent.models.arrays import FloatArray
from maxent.models.defenses.grown_tree import InducedTree
from maxent.models.defenses.method import Method, Wanted
from maxent.models.defenses.registry import asked_for, method_names, methods
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.parameters import parameters_of
from maxent.models.tables.frame import shorten
from maxent.models.text.hints import close_to

Value = str | int | float | bool

OF_THE_CALL = ("max_posterior", "sensitive", "max_certain", "max_right_guesses")
"""Parameters that are limits of the call, the same for all candidates of a method: names leave them out."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A method and those of its parameters that are not left to their defaults."""

    method: str
    options: tuple[tuple[str, Value], ...]

    @property
    def name(self) -> str:
        """``prune-parent max_depth=8 k=10``."""
        told = (f"{name}={value}" for name, value in self.options if name not in OF_THE_CALL)
        return " ".join([self.method, *told])

    def asked(self, seed: int, cost: FloatArray | None = None) -> Method:
        """The method with its parameters, and the seed and the costs where it takes them."""
        options: dict[str, Any] = dict(self.options)
        takes = parameters_of(methods()[self.method])
        if "seed" in takes:
            options["seed"] = seed
        if "cost" in takes and cost is not None:
            options["cost"] = cost
        return asked_for(self.method, options)[0]


def check_methods(names: Iterable[str] | None, start: bool = False) -> tuple[str, ...]:
    """The methods that are asked for, all by default; ``start`` is whether they have to take a model to start from.

    Raises
    ------
    InvalidInput
        For one that there is not, for one that grows its own trees where there is a model, and for none.
    """
    known = takers() if start else method_names()
    if names is None:
        return known if start else tuple(methods())
    expected = f"names of methods, of {', '.join(known)}"
    listed = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    expected += ", which take a model to start from" if start else ""
    problems = [
        Problem(ARGUMENT, "methods", expected, f"{shorten(name)}{close_to(name, known) if type(name) is str else ''}")
        for name in listed
        if name not in known
    ]
    if problems or not listed:
        raise InvalidInput("options", problems or [Problem(ARGUMENT, "methods", expected, "none")])
    return tuple(dict.fromkeys(listed))


def takers() -> tuple[str, ...]:
    """The methods that can start from a model. They cut back a tree, whatever grew it."""
    return tuple(name for name, kind in methods().items() if issubclass(kind, InducedTree))


def portfolio(names: Sequence[str], wanted: Wanted, seed: int) -> tuple[Candidate, ...]:
    """The candidates of some methods, each once: what their grids have, of those that predict."""
    found = (Candidate(name, tuple(options.items())) for name in names for options in _grid(name, wanted))
    return tuple(each for each in dict.fromkeys(found) if each.asked(seed).predicts)


def untried(names: Sequence[str], wanted: Wanted) -> tuple[dict[str, str], ...]:
    """What some methods can publish that is no candidate: ``candidate`` and ``why``."""
    found = (each for name in names for each in methods()[name].untried(wanted))
    return tuple({"candidate": name, "why": why} for name, why in found)


def _grid(name: str, wanted: Wanted) -> Iterator[Mapping[str, Any]]:
    """The grid of a method; of a model to start from without what grows a tree."""
    kind = methods()[name]
    grown = {each for each, one in parameters_of(kind).items() if wanted.start and one.about.group == "grown"}
    for options in kind.grid(wanted):
        yield {each: value for each, value in options.items() if each not in grown}
