"""The methods of defense by name, through entry points, and the facts that each states to an adversary.

An entry point in the group ``maxent.defenses`` names a subclass of `maxent.models.defenses.method.Method`. Options of
the command line, arguments of `maxent.defend`, keys and columns of studies and tables of the documentation follow from
the parameters of the methods here. A parameter that several methods have means the same for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from maxent.models.arguments import Parameter, listed, parameters_of, plain, problems_of, shorten
from maxent.models.defenses.method import Method, Stated
from maxent.models.errors import ARGUMENT, InvalidInput, MissingExtra, Problem

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from maxent.models.release import Release

GROUP = "maxent.defenses"

# The methods of this package, which are there whatever is installed, in the order of the help: where each is, and what
# it does, so that the help of all loads none of them
OWN: Mapping[str, tuple[str, str]] = {
    "none": ("methods:Plain", "The tree as it is grown, without a defense."),
    "prune-leaf": ("methods:PrunedLeaves", "The tree without its leaves of fewer than k records."),
    "prune-parent": (
        "methods:PrunedParents",
        "The tree with a leaf for every node above a leaf of fewer than k records, until there is none.",
    ),
    "optimal": (
        "optimal.method:BestSubtree",
        "The subtree that is right for the most records of all that keep the limits, proved.",
    ),
    "kadet": (
        "methods:KadetTree",
        "A tree that is k-anonymous by construction: no split leaves a group of fewer than k people.",
    ),
    "erp": (
        "methods:ErrorRiskPruned",
        "The tree pruned first where re-identification risk per added error is largest; or its records.",
    ),
    "rdt": (
        "methods:RandomForest",
        "A forest drawn at random, which publishes the counts of samples that are k or more.",
    ),
}


@cache
def _of_others() -> Mapping[str, EntryPoint]:
    from importlib.metadata import entry_points  # which takes longer to load than a small release to read

    found = sorted(entry_points(group=GROUP), key=lambda entry: entry.name)
    return {entry.name: entry for entry in found if entry.name not in OWN}


def _own(place: str) -> object:
    module, _, name = place.partition(":")
    return getattr(import_module(f"maxent.models.defenses.{module}"), name)


def is_method(name: str) -> bool:
    """Whether `load_method` knows a name."""
    return name in OWN or name in _of_others()


def method_names() -> tuple[str, ...]:
    """Names that `load_method` knows; those of other packages last."""
    return (*OWN, *_of_others())


@cache
def load_method(name: str) -> type[Method]:
    """The method of a name."""
    try:
        found = _own(OWN[name][0]) if name in OWN else _of_others()[name].load()
        if not (isinstance(found, type) and issubclass(found, Method)):
            raise TypeError(f"{found!r} is no subclass of {Method.__name__}")
        parameters_of(found)
    except Exception as error:  # whatever a module of a third party does when it is imported
        raise MissingExtra(f"defense {name!r} cannot be loaded: {error}") from error
    return found


@cache
def methods() -> Mapping[str, type[Method]]:
    """All methods that can be loaded."""
    return dict(_loaded(method_names()))


def _loaded(names: Iterable[str]) -> Iterator[tuple[str, type[Method]]]:
    for name in names:
        try:
            yield name, load_method(name)
        except MissingExtra:  # one that is broken must not hide the others
            continue


@cache
def summaries() -> Mapping[str, str]:
    """What each method that can be loaded does, a line of ``maxent defend --help``."""
    others = {name: kind.summary for name, kind in _loaded(_of_others())}
    return {**{name: summary for name, (_, summary) in OWN.items()}, **others}


@cache
def parameters() -> Mapping[str, Parameter]:
    """The parameters of all methods, as the first one has each, but with the choices and names of all; k is first."""
    found: dict[str, Parameter] = {}
    for kind in methods().values():
        for name, each in parameters_of(kind).items():
            first = found.get(name, each)
            choices = tuple(dict.fromkeys((*first.choices, *each.choices)))
            about = replace(first.about, alias=first.about.alias or each.about.alias)
            found[name] = replace(first, choices=choices, about=about)
    return {"k": found["k"], **found}


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are given: not None, and no flag that is not set."""
    return {name: value for name, value in options.items() if value is not None and value is not False}


def asked_for(name: str, options: Mapping[str, Any]) -> tuple[Method, ...]:
    """A method with these parameters, for each k that is asked for; what is not `given` has its default."""
    if not isinstance(name, str) or not is_method(name):
        known = ", ".join(method_names())
        raise InvalidInput("options", [Problem(ARGUMENT, "method", f"one of {known}", shorten(name))])
    kind, wanted = load_method(name), given(options)
    own = parameters_of(kind)
    problems = [_foreign(name, each, value) for each, value in wanted.items() if each not in own]
    wanted = {each: plain(value) for each, value in wanted.items() if each in own}
    several = [{"k": plain(k)} for k in listed(wanted.pop("k"))] if "k" in wanted else [{}]
    if not several:
        problems.append(Problem(ARGUMENT, "k", "at least one whole number of records", "none"))
    asked = [kind(**wanted, **k) for k in several]
    problems += [problem for each in asked for problem in problems_of(each)]
    if problems:
        raise InvalidInput("options", dict.fromkeys(problems))
    return tuple({getattr(each, "k", None): each for each in asked}.values())


def _foreign(name: str, option: str, value: object) -> Problem:
    """The problem of an option that a method does not have."""
    instead = methods()[name].instead.get(option)
    takers = ", ".join(each for each, kind in methods().items() if option in parameters_of(kind))
    expected = f"none for {name}: {instead}" if instead else f"none for the method {name}: it is an option of {takers}"
    return Problem(ARGUMENT, option, expected, ", ".join(map(shorten, listed(value))) or "one, which is empty")


# Facts that a release's defense states to an adversary who knows the method; nobody else asks for its name.


def stated(release: Release) -> Stated:
    """The facts that the defense of a release states; none without a defense, or of a method that is not known."""
    if release.defense is None or not is_method(release.defense.method):
        return Stated()
    try:
        method = load_method(release.defense.method)
    except MissingExtra:
        return Stated()
    return method.states(release)
