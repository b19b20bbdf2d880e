"""The options of a study's grid: which there are, and which of them go together.

Values are not checked here: methods of defense, attacks and estimates check their own parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any

from maxent.models.defenses.method import Method
from maxent.models.defenses.registry import asked_for, parameters
from maxent.models.errors import InvalidInput, MaxentError, Problem
from maxent.models.tables.frame import shorten

FILES = tuple(name for name, each in parameters().items() if each.about.files and each.about.grid)
"""Options of `maxent.defend` whose values are files: a study says true for those of the data set."""

RELEASE: Mapping[str, type] = {
    "method": str,
    **{name: bool if name in FILES else each.kind for name, each in parameters().items() if each.about.grid},
}
"""Options of `maxent.defend`, and what their values are."""

ATTACK: Mapping[str, type] = {"min_size": int, "background": int, "rounding": str}
"""Options of `maxent.audit`."""

ESTIMATE: Mapping[str, type] = {
    "estimate": bool,
    "knowledge": str,
    "confidence": float,
    "backend": str,
    "tolerance": float,
    "presolve": bool,
    "starts": int,
    "floor": float,
    "time_limit": float,
}
"""Options of `maxent.estimate`, and whether to estimate at all."""

OPTIONS: Mapping[str, type] = {**RELEASE, **ATTACK, **ESTIMATE}

DEFAULT = "default"
"""In place of a value: as if the option was not there."""

Value = str | int | float | bool
Options = Mapping[str, Value]

LARGEST = 2**53
"""Numbers of a study are smaller."""

_KINDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def value_problem(name: str, value: object) -> Problem | None:
    """The mistake in the type of the value of an option, None for none; without its place."""
    kind = OPTIONS[name]
    fits = isinstance(value, (int, float) if kind is float else kind) and (kind is bool or not isinstance(value, bool))
    if isinstance(value, (int, float)):
        fits = fits and -LARGEST < value < LARGEST  # not so for NaN
    if fits or value == DEFAULT:
        return None
    return Problem("", name, f"{_KINDS[kind]}, or a list of such values, or {DEFAULT!r}", shorten(value))


def part(options: Options, names: Iterable[str]) -> dict[str, Any]:
    """Some of the options."""
    return {name: options[name] for name in names if name in options}


def method_of(options: Options) -> Method:
    """The method that options ask for, its files not read."""
    given = part(options, RELEASE)
    return asked_for(given.pop("method", "none"), {**given, **{name: {} for name in FILES if given.get(name)}})[0]


def as_asked(options: Options) -> dict[str, Value]:
    """Options with what `maxent.defend` takes for the method, k, inducer and impurity where they are not given."""
    asked = method_of(options)
    found = {"method": "none", **asked.stated(), **options, "k": getattr(asked, "k", None)}
    return {name: found[name] for name in OPTIONS if found.get(name) is not None}


def problems_of(options: Options) -> Iterator[Problem]:
    """Mistakes in a combination of options of the right types; without their places."""
    yield from _defend_problems(tuple(part(options, RELEASE).items()))
    estimated = options.get("estimate", True)
    for name, value in options.items():
        if name in ATTACK:
            yield from _attack_problems(name, value)
        elif name in ESTIMATE and name != "estimate":
            if estimated:
                yield from _estimate_problems(name, value)
            else:
                yield Problem("", name, "none where estimate = false", shorten(value))


@cache
def _defend_problems(options: tuple[tuple[str, Value], ...]) -> tuple[Problem, ...]:
    """Mistakes in the options of a method."""
    return _refused("method", lambda: method_of(dict(options)))


@cache
def _attack_problems(name: str, value: Value) -> tuple[Problem, ...]:
    """Mistakes in the value of an option, found by `maxent.audit`."""
    from maxent.api.adversary.attack import check_options

    option: dict[str, Any] = {"min_size": 1, "background": 1, "rounding": "auto", name: value}
    return _refused(name, lambda: check_options(None, **option))


@cache
def _estimate_problems(name: str, value: Value) -> tuple[Problem, ...]:
    """Mistakes in the value of an option, found by `maxent.estimate`."""
    from maxent.api.adversary.estimate import Solving
    from maxent.api.compile import Knowledge

    option: dict[str, Any] = {name: value}
    of_solving = name in {each.name for each in fields(Solving)}
    return _refused(name, lambda: Solving(**option) if of_solving else Knowledge(**option).check())


def _refused(name: str, call: Callable[[], object]) -> tuple[Problem, ...]:
    """Mistakes in options, found by a call; an error that is not about an option is one about ``name``."""
    try:
        call()
    except InvalidInput as error:
        return tuple(replace(problem, where="") for problem in error.problems if error.source == "options")
    except MaxentError as error:
        return (Problem("", name, "one that is installed", str(error)),)
    return ()
