"""Arguments and parameters: checks, ranges and help of each, stated once, and how values are shown in messages.

A dataclass states a parameter once, ``k: int = parameter(5, "Fewest records.", whole(1, "records"))``; its type says
whether it is a number, a choice (``Literal``), a flag or may be None. `same` takes a parameter over from another class.
Options, study keys, checks and tables of the docs follow. ``--help`` needs this, and does not wait for NumPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from functools import cache
from itertools import islice
from math import inf
from numbers import Integral, Rational, Real
from os import PathLike
from types import NoneType
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from maxent.models.errors import ARGUMENT, InvalidInput, Problem, Unreadable

LONGEST = 60  # characters of a value in a message
LARGEST_COUNT = 2**53  # the largest number up to which floats count exactly
ABSENT = object()  # stands for a value that is not there


def show(value: object) -> str:
    """Any decoded value as a message shows it: JSON spelling, at most about 60 characters, never recursive."""
    if value is ABSENT:
        return "nothing"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Unreadable):
        return _cut(value.text)
    if isinstance(value, str):
        return repr(str(value)) if len(value) <= LONGEST else repr(value[: LONGEST - 3]) + "..."
    if isinstance(value, int):
        return shown_whole(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, list):
        return "an empty list" if not value else f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an empty object" if not value else f"an object ({listing(map(str, value))})"
    return f"a value of type {type(value).__name__}"


def shown_whole(value: int) -> str:
    """An integer as a message shows it: of one with very many digits, how many; Python refuses to write some."""
    digits = round(value.bit_length() * 0.30103)
    return str(int(value)) if digits <= LONGEST else f"a number of about {digits} digits"


def name(text: str) -> str:
    """A name inside a place: as it is when short and printable, otherwise as `show` has it."""
    return text if text.isprintable() and 0 < len(text) <= LONGEST else show(text)


def places_of(what: str, names: Iterable[object]) -> list[str]:
    """Places in a document as messages call them: by their names, or by their numbers where they have none."""
    named = enumerate(names, 1)
    return [f"{what} {name(text) if isinstance(text, str) and text else f'number {n}'}" for n, text in named]


def listing(names: Iterable[str]) -> str:
    """The first few names, separated by commas."""
    shown = [name(text) for text in islice(names, 9)]
    return _cut(", ".join(shown[:8]) + (", ..." if len(shown) > 8 else ""))


def _cut(text: str) -> str:
    """A text of at most about 60 characters."""
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def listing_of(values: list[object]) -> str:
    """The first few of a list of values of any type."""
    return ", ".join(show(value) for value in values[:3]) + (", ..." if len(values) > 3 else "")


def is_one_of(value: object, words: Collection[str]) -> bool:
    """Whether a value is one of some words; it may be of any type, also an array, which would compare by its values."""
    return isinstance(value, str) and value in words


def is_flag(value: object) -> bool:
    """Whether a value stands for yes or no: true or false of Python or NumPy, 1 or 0."""
    return is_bool(value) or (is_whole(value, 0) and cast("int", value) <= 1)


def is_bool(value: object) -> bool:
    """Whether a value is true or false of Python or NumPy."""
    return isinstance(value, bool) or (type(value).__module__ == "numpy" and type(value).__name__.startswith("bool"))


def check_flags(**flags: object) -> None:
    """Refuse arguments that are neither yes nor no."""
    problems = [
        Problem(ARGUMENT, name, "True or False", _cut(repr(value)))
        for name, value in flags.items()
        if not is_flag(value)
    ]
    if problems:
        raise InvalidInput("options", problems)


def check_functions(**functions: object) -> None:
    """Refuse arguments that are neither None nor a function to call."""
    problems = [
        Problem(ARGUMENT, name, "a function, which is called meanwhile, or None", _cut(repr(value)))
        for name, value in functions.items()
        if value is not None and not callable(value)
    ]
    if problems:
        raise InvalidInput("options", problems)


def is_path(value: object) -> bool:
    """Whether a value names a file or a folder: text, or what stands for it, such as `pathlib.Path`."""
    return isinstance(value, str) or (isinstance(value, PathLike) and isinstance(value.__fspath__(), str))


def is_whole(value: object, low: int) -> bool:
    """Whether a value is an integer of Python or NumPy (true and false are not) from ``low`` to `LARGEST_COUNT`."""
    return _is_integer(value) and low <= cast("int", value) <= LARGEST_COUNT


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def up_to_largest(expected: str, value: object) -> str:
    """Words for a number that `is_whole` takes, with the largest where a value is beyond it."""
    return f"{expected}, at most 2**53" if _is_integer(value) and cast("int", value) > LARGEST_COUNT else expected


def are_whole(values: Collection[object], low: int) -> bool:
    """Whether `is_whole` holds for every value, at the speed that millions of counts need."""
    if set(map(type, values)) <= {int}:
        numbers = cast("Collection[int]", values)
        return low <= min(numbers, default=low) and max(numbers, default=low) <= LARGEST_COUNT
    return all(is_whole(value, low) for value in values)


def whole_number(low: int) -> str:
    """Words for a number that `is_whole` takes."""
    return f"a whole number from {low} to 2**53"


def is_number(value: object) -> bool:
    """Whether a value is a number of Python or NumPy; true and false are not, nor integers that no float can hold."""
    if _is_integer(value):
        return abs(cast("int", value)) <= sys.float_info.max
    return isinstance(value, Real) and not isinstance(value, Rational)  # bool is rational, and NumPy's is no number


# Suggestions for an unknown name, in bounded time however much is wrong.


def shorten(value: object, width: int = 60) -> str:
    """Return the `repr` of a value, cut to about ``width`` characters."""
    if isinstance(value, int) and not isinstance(value, bool):
        return shown_whole(value)
    try:
        # Cut before repr too: a cell may be megabytes long.
        text = repr(value[: width + 1] if isinstance(value, str) else value)
    except ValueError:  # integers of thousands of digits somewhere in it
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= width else f"{text[: width - 3]}..."


def shorten_list(values: Iterable[object], width: int = 60) -> str:
    """Join the `repr` of values with commas, dropping those beyond about ``width`` characters."""
    text = ", ".join(shorten(value) for value, _ in zip(values, range(width), strict=False))
    return text if len(text) <= width else f"{text[: width - 3]}..."


# Parameters, each stated once.

Group = Literal["grown", "defended", "output", "known", "read", "measured", "solved", "run", "limits", "call"]
"""What a parameter is about, which panel of the help it is in; ``call`` has none: it is of functions alone."""

Adversary = Literal["predictions", "population", "table", "rows", "all_but_one"]
"""Whom limits are about: `maxent.disclosure.ladder`."""

Impurity = Literal["gini", "entropy", "gain_ratio"]
Rounding = Literal["auto", "digits", "exact"]
Publish = Literal["labels", "rates", "counts"]
RoundingMethod = Literal["nearest", "random", "down"]
Noise = Literal["intervals", "likelihood"]
"""How counts of a bootstrap are used: `maxent.constraints.kinds.bootstrap`."""

Ties = Literal["any", "first"]
"""How an inducer chooses among equally good attributes: any of them, or the first in the order of the release."""


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers that suit a parameter, in words and as a test."""

    words: str
    holds: Callable[[Any], bool]


def whole(least: int, unit: str = "", below: int | None = None) -> Range:
    """Whole numbers from ``least`` on, of a unit such as records; ``below`` is a power of 2."""

    def holds(value: Any) -> bool:
        return is_whole(value, least) and (below is None or value < below)

    of, end = f" of {unit}" if unit else "", "" if below is None else f" and below 2**{below.bit_length() - 1}"
    return Range(f"a whole number{of}, at least {least}{end}", holds)


def number(above: float, below: float | None = None, most: float | None = None, unit: str = "") -> Range:
    """Finite numbers above one bound, and below another or at ``most`` that."""

    def holds(value: Any) -> bool:
        end = float("inf") if below is None else below
        return is_number(value) and above < value and (value < end if most is None else value <= most)

    end = f" and below {below:g}" if below is not None else f" and at most {most:g}" if most is not None else ""
    return Range(f"a number above {above:g}{end}{unit and f' ({unit})'}", holds)


def real(words: str, fits: Callable[[Any], bool]) -> Range:
    """Numbers that fit."""

    def holds(value: Any) -> bool:
        return is_number(value) and fits(value)

    return Range(words, holds)


def _is_job_count(value: Any) -> bool:
    return is_whole(value, -LARGEST_COUNT) and value != 0


NOT_NEGATIVE, POSITIVE = (Range(f"a whole number of at least {low}", whole(low).holds) for low in (0, 1))
SHARE = real("a number between 0 and 1", lambda value: 0 < value < 1)
SMALL = real("a probability from 0 to 0.01", lambda value: 0 <= value <= 0.01)
SECONDS = real("a positive number of seconds", lambda value: 0 < value < inf)
JOB_COUNT = Range("a whole number other than 0", _is_job_count)


@dataclass(frozen=True, slots=True)
class About:
    """Help, range and display of a parameter: everything but its name, type and default.

    Attributes
    ----------
    help : str
        One sentence. What None stands for is said after "default:".
    range : Range, optional
        The numbers that are allowed.
    metavar : str
        What stands for a value on the command line; default N (whole numbers) or X.
    group : Group
        The panel of the help.
    files : {"", "file", "folder"}
        Whether a value comes from a file, or from a folder with a file COLUMN.csv for each column. A study says true
        for those of the data set.
    grid : bool
        Whether it is a key of studies.
    alias : str
        Another name of the option of the command line.
    option : str
        The name of the option of the command line, where it is another one; a flag ``--no-...`` makes it False.
    doc : str
        The help of functions, where it is another one, or longer.
    kinds : tuple of FileKind
        The kinds of the file that an option names to be written.
    small
        A value that makes a method quick, for rehearsals of studies.
    """

    help: str
    range: Range | None = None
    metavar: str = ""
    group: Group = "defended"
    files: Literal["", "file", "folder"] = ""
    grid: bool = True
    alias: str = ""
    option: str = ""
    doc: str = ""
    kinds: tuple[Any, ...] = ()
    small: Any = None


def about_of(stated: Field[Any]) -> About | None:
    """What a field of a dataclass tells of its parameter, if it is one; made of its keywords when somebody asks."""
    told = stated.metadata.get("about")
    return None if told is None else About(**told)


def parameter(default: Any, help: str, range: Range | None = None, **more: Any) -> Any:
    """A field of a dataclass with what is told of it, see `About`."""
    return field(default=default, metadata={"about": {"help": help, "range": range, **more}})


def same(kind: type, name: str, **changed: Any) -> Any:
    """The parameter of another dataclass, with its default; that and attributes of `About` may be ``changed``."""
    (found,) = (each for each in fields(kind) if each.name == name)
    default = changed.pop("default", found.default)
    changed = {"doc": "", **changed} if "help" in changed else changed
    return field(default=default, metadata={"about": {**found.metadata["about"], **changed}})


def picked(kind: type[Any], values: object, **others: Any) -> Any:
    """A dataclass of parameters from an object's attributes of the same names, and others."""
    names = [each.name for each in fields(kind) if hasattr(values, each.name)]
    return kind(**{name: getattr(values, name) for name in names} | others)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a dataclass."""

    name: str
    default: Any
    kind: type
    choices: tuple[str, ...]
    optional: bool
    about: About

    @property
    def expected(self) -> str:
        """Its suitable values in words, without None."""
        if self.about.range is not None:
            return self.about.range.words
        if self.choices:
            return self.choices[0] if len(self.choices) == 1 else f"one of {', '.join(self.choices)}"
        return "True or False" if self.kind is bool else ""

    def problem(self, value: object) -> Problem | None:
        """The problem of a value, None for none."""
        if (self.optional and value is None) or self._suits(value):
            return None
        expected = up_to_largest(self.expected, value) if self.kind is int else self.expected
        return Problem(ARGUMENT, self.name, f"{'None or ' if self.optional else ''}{expected}", shorten(value))

    def out_of_range(self, value: object) -> Problem | None:
        """The same, without the words for None."""
        return replace(self, optional=False).problem(value) if self.problem(value) is not None else None

    def _suits(self, value: object) -> bool:
        if self.about.range is not None:
            return self.about.range.holds(value)
        if self.choices:
            return isinstance(value, str) and value in self.choices
        return self.kind is not bool or is_bool(value)


@cache
def parameters_of(kind: type) -> Mapping[str, Parameter]:
    """The parameters of a dataclass by name, in their order."""
    hints = _hints(kind)
    return {each.name: _parameter(each, hints[each.name]) for each in fields(kind) if "about" in each.metadata}


class _Anything:
    """Any type."""

    def __class_getitem__(cls, inner: object) -> type:
        return cls


def _hints(kind: type) -> Mapping[str, Any]:
    """The types of the fields of a dataclass; names that only type checkers import may be anything."""
    unknown: dict[str, Any] = {}
    while True:
        try:
            return get_type_hints(kind, localns=unknown or None)
        except NameError as error:
            unknown[str(error.name)] = _Anything


def _parameter(found: Any, hint: Any) -> Parameter:
    about = about_of(found)
    assert about is not None
    inner = [each for each in get_args(hint) if each is not NoneType] if NoneType in get_args(hint) else [hint]
    choices = get_args(inner[0]) if get_origin(inner[0]) is Literal else ()
    several: dict[Any, type] = {} if about.files else {Sequence[str]: list, Mapping[str, Any]: dict}
    as_text = bool(choices) or (len(inner) > 1 and str in inner)
    kind = str if as_text else inner[0] if inner[0] in (int, float, bool, str) else several.get(inner[0], object)
    return Parameter(found.name, found.default, kind, choices, inner != [hint], about)


def problems_of(values: Any) -> list[Problem]:
    """Problems that no data would solve: unsuitable values, and parameters that do not go together."""
    kind: type = type(values)
    each = ((one, getattr(values, one.name)) for one in parameters_of(kind).values())
    found = [problem for one, value in each if (problem := one.problem(value)) is not None]
    return [*found, *getattr(values, "conflicts", tuple)()]


def entries(told: Sequence[tuple[str, str, str]]) -> str:
    """The entries of a docstring about parameters: name, type (empty for none) and text of each."""
    from textwrap import fill, indent

    return "".join(f"{name}{kind and f' : {kind}'}\n{indent(fill(text, 112), ' ' * 4)}\n" for name, kind, text in told)


def out_of_range(values: Any) -> list[Problem]:
    """Problems of numbers that are out of their range, and of choices that there are not."""
    kind: type = type(values)
    limited = [each for each in parameters_of(kind).values() if each.about.range is not None or each.choices]
    found = [each.out_of_range(getattr(values, each.name)) for each in limited]
    return [each for each in found if each is not None]


def unknown_choice(name: str, value: object, choices: tuple[str, ...]) -> list[Problem]:
    """The problem of an argument that is none of its choices, if it is none."""
    found = Parameter(name, None, str, choices, False, About("")).problem(value)
    return [] if found is None else [found]


def listed(value: object) -> list[Any]:
    """The values of a parameter that takes one or several."""
    return list(value) if isinstance(value, Collection) and not isinstance(value, str) else [value]


def plain(value: Any) -> Any:
    """A number of NumPy's as one of Python's, which JSON can write."""
    import numpy as np

    return value.item() if isinstance(value, np.generic) else value
