"""Errors and the places that they cite, safe text for terminals, and clock checks for long work: the lowest layer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

# Text from files as it may go to a terminal: every name, cell and message passes through here.


def printable(text: object) -> str:
    r"""A text in which nothing moves the cursor, breaks the line, hides, or changes the direction of what is read.

    Control characters (C0, C1, DEL), line separators, characters without a width or that turn the direction of text,
    spaces other than the common one, lone surrogates, and code points without a character are written as escapes
    (``\x1b``, ``\u202e``), on a single line. The rest stays as it is: for Rich, give it as a `Text`, not as markup.
    """
    string = str(text)
    if string.isprintable():
        return string
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in string)


# Where a `Problem` is that is about a parameter of the call; its field is the name that the parameter has in Python.
# Wherever else a message names a parameter, it writes ``name=`` or ``name='value'``. The command line shows both as it
# spells the option, and a study as it spells the key: `maxent.results.text.terminal`.
ARGUMENT = "argument"


class MaxentError(Exception):
    """Base of every error that `maxent` raises on purpose; as text, names in it are as a terminal may have them."""

    def __str__(self) -> str:
        return "\n".join(map(printable, super().__str__().split("\n")))


class MissingExtra(MaxentError, ImportError):
    """An optional package that cannot be imported or found; says how to get it."""


class UnreliableResult(UserWarning):
    """A result that is there but is not to be relied on; the message says why."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with an input: where, which field, what was expected and what was found."""

    where: str
    field: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.where}: {printable(self.field)}: expected {self.expected}, found {self.found}"


class InvalidInput(MaxentError, ValueError):
    """An input that is refused, with every problem found in it.

    Parameters
    ----------
    source : str
        The file (or argument) the problems are in.
    problems : iterable of Problem
        All of them, in the order they were found; at least one.
    """

    def __init__(self, source: str, problems: Iterable[Problem]) -> None:
        self.source = source
        self.problems = tuple(problems)
        super().__init__("\n".join(printable(f"{source}: {problem}") for problem in self.problems))

    def __reduce__(self) -> tuple[object, ...]:
        """Survive pickling: errors come back from other processes."""
        return _restored, (type(self), self.source, self.problems)


class UnknownBackend(InvalidInput):
    """A name that is no back end's, or an argument that a back end does not know; names the known ones."""

    def __init__(self, expected: str, found: str, *, field: str = "backend") -> None:
        super().__init__("options", [Problem(ARGUMENT, field, expected, found)])


class NoAnswerInTime(InvalidInput):
    """A time limit that is too short for any answer; says how far the work had come."""

    def __init__(self, limit: float, far: str) -> None:
        expected = f"more seconds than it takes to have any answer (when time was up, {far})"
        super().__init__("options", [Problem(ARGUMENT, "time_limit", expected, f"{limit:g}")])


def _restored(kind: type[InvalidInput], source: str, problems: tuple[Problem, ...]) -> InvalidInput:
    """An error as it was before it was pickled."""
    error = kind.__new__(kind)
    InvalidInput.__init__(error, source, problems)
    return error


def invalid(source: str, where: str, field: str, expected: str, found: str) -> InvalidInput:
    """An `InvalidInput` with a single problem."""
    return InvalidInput(source, [Problem(where, field, expected, found)])


def check_unused(what: str, **options: object) -> None:
    """Refuse options that are given, not None, although they apply only to ``what``."""
    problems = [
        Problem(ARGUMENT, name, f"none: it applies only to {what}", "one")
        for name, value in options.items()
        if value is not None
    ]
    if problems:
        raise InvalidInput("options", problems)


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of a constraint: ``tree 2, leaf L3`` or ``facts.csv, line 4``."""

    place: str
    node: str | None = None
    tree: int | None = None

    def __str__(self) -> str:
        where = self.place if self.node is None else f"{self.place} {self.node}"
        return where if self.tree is None else f"tree {self.tree + 1}, {where}"


# Looks at the clock, for work that knows nothing of clocks: it calls a function again and again, which may raise.


class Check(Protocol):
    """Called again and again by work that takes long, with how far it has come; it may raise, to end it."""

    def __call__(self, far: str = "") -> None: ...


def unchecked(far: str = "") -> None:
    """Let the work go on: nobody waits for it."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A literal that is no usable number (``NaN``, ``1e999``, thousands of digits), kept as it was written.

    It is of no JSON type, so the check of the field it stands in refuses it there, with the field's place.
    """

    text: str

    def __repr__(self) -> str:
        """As it was written: errors show values by their `repr`."""
        return self.text
