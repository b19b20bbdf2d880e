"""The options of a study's grid: which there are, and which of them go together.

What suits an option is not said here again: `problems_of` gives it to the function that takes it, with next to no data,
and listens to what that refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from maxent.models.errors import InvalidInput, MaxentError, Problem
from maxent.models.release import Attribute, Node, Release, Target, Tree
from maxent.models.tables.frame import shorten

RELEASE: Mapping[str, type] = {
    "method": str,
    "k": int,
    "inducer": str,
    "impurity": str,
    "max_depth": int,
    "min_samples_leaf": int,
    "min_samples_split": int,
    "encoding": str,
    "publish": str,
    "l": float,
    "diversity": str,
    "alpha": float,
    "hierarchies": bool,
    "class_public": bool,
    "rule": str,
    "distance": str,
    "generalization": str,
    "trees": int,
    "depth": int,
    "beta": float,
    "epsilon": float,
    "vote": str,
    "domains": bool,
}
"""Options of `maxent.defend`, and what their values are; files are those of the data set."""

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
    """What is wrong with the type of a value of an option, None for nothing; where it is, is left open."""
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


def as_asked(options: Options) -> dict[str, Value]:
    """Options with what `maxent.defend` takes for the method, k, inducer and impurity where they are not given."""
    from maxent.models.defenses.random_trees.method import RDT
    from maxent.models.defenses.registry import METHODS, wanted_ks
    from maxent.models.induction.parameters import Growth

    method = str(options.get("method", "none"))
    found: dict[str, Any] = {"method": method, **options}
    (found["k"],) = wanted_ks(method, found.get("k"))
    if method != RDT:
        found.setdefault("inducer", METHODS[method].inducers[0])
        found.setdefault("impurity", Growth(found["inducer"]).measure)
    return {name: found[name] for name in OPTIONS if found.get(name) is not None}


def problems_of(options: Options) -> Iterator[Problem]:
    """What is wrong with options of the right types that are to go together; where they are, is left open."""
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
    """What `maxent.defend` has against options; they come before the records, of which there are none."""
    from pandas import DataFrame

    from maxent.api.defend import defend

    given: dict[str, Any] = dict(options)
    if given.pop("hierarchies", False):
        given["hierarchies"] = {"x": [("a", "*")]}
    if given.pop("domains", False):
        given["domains"] = {}
    method = given.pop("method", "none")
    return _refused(lambda: defend(DataFrame(), method, target="y", qi=["x"], **given))


@cache
def _attack_problems(name: str, value: Value) -> tuple[Problem, ...]:
    """What `maxent.audit` has against the value of an option."""
    from maxent.api.audit import audit

    option: dict[str, Any] = {name: value}
    return _refused(lambda: audit(_TINY, **option))


@cache
def _estimate_problems(name: str, value: Value) -> tuple[Problem, ...]:
    """What `maxent.estimate` has against the value of an option."""
    from pandas import DataFrame

    from maxent.api.estimate import estimate

    option: dict[str, Any] = {name: value}
    return _refused(lambda: estimate(_TINY, DataFrame({"x": ["a", "b"]}), **option))


_TINY = Release(
    Target("y", ("no", "yes")),
    (Attribute("x", "categorical", ("a", "b")),),
    (Tree((Node("L", counts={"no": 1, "yes": 1}),)),),
)
"""A release that leaves nothing to solve."""


def _refused(call: Callable[[], object]) -> tuple[Problem, ...]:
    """What a call has against its options."""
    try:
        call()
    except InvalidInput as error:
        return tuple(replace(problem, where="") for problem in error.problems if error.source == "options")
    except MaxentError as error:  # of back ends
        return (Problem("", "backend", "one that is installed", str(error)),)
    return ()
