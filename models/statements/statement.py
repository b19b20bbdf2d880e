"""Linear statements, the people that they are about, and the keys of a statement in a document.

Every kind of statement is a class with `parse` (keys of the document -> what was published) and `rows` (people ->
linear rows). A row says ``low <= sum over people of weight(quasi-identifier, class) [person has it] <= high``. The law:
the people that a statement was made from satisfy each of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, runtime_checkable

import numpy as np

from maxent.models.arguments import is_number, is_whole, name, shorten_list, show
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import InvalidInput, Problem, Unreadable, invalid
from maxent.models.files.json_files import Scientific
from maxent.models.hints import close_to
from maxent.models.tables.cells import MISSING

if TYPE_CHECKING:
    from maxent.models.tables.qi_table import QITable

# Error of numbers that programs computed in double precision before they printed them, as a share of their size.
COMPUTED = 1e-12
# The largest number of a document, whose square is a double, too, and the most places before or after the point.
LARGEST, PLACES = 1e100, 400


@dataclass(frozen=True, slots=True, eq=False)
class LinearStatement:
    """``low <= sum_qx weights[q, x] m[q, x] <= high``, m being individuals; weights (n_qi,) are of class ``klass``.

    ``suppressed``: the number is not printed.
    """

    weights: FloatArray
    low: float
    high: float
    says: str
    klass: int | None = None
    source: str = ""
    suppressed: bool = False


class StatementKeys(Protocol):
    """What one statement says, by its kind."""

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
        """Linear rows that the people whom the statement was made from satisfy."""
        ...


@runtime_checkable
class Paired(StatementKeys, Protocol):
    """Content that other statements about the same people complete."""

    def paired(self, others: Mapping[str, StatementKeys]) -> StatementKeys:
        """The content with what others say, by their sources."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class ClassSum:
    """A sum over people of a class, ``low <= weights @ m[:, klass] <= high``, perhaps a multiple of ``grain``."""

    weights: FloatArray
    klass: int
    low: float
    high: float
    grain: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """A column of cells: the number of each quasi-identifier's value, shape (n_qi,), and each value in words."""

    codes: IntArray
    words: Sequence[str]


@runtime_checkable
class CountsInCells(StatementKeys, Protocol):
    """Content that counts people of some classes in cells."""

    @property
    def counted(self) -> Sequence[int]:
        """The classes."""
        ...

    def axes(self, people: StatementPeople) -> Iterator[Axis]:
        """The columns of its cells."""
        ...


def cells_of(people: StatementPeople, axes: Sequence[Axis], klasses: Sequence[int]) -> Iterator[LinearStatement]:
    """A row that says nothing for each cell and margin of some columns that somebody is in, and each class.

    Those of fewer columns come first.
    """
    counted = people.counts > 0
    for chosen in sorted(product((False, True), repeat=len(axes)), key=sum):
        used = [axis for axis, is_used in zip(axes, chosen, strict=True) if is_used]
        codes = np.column_stack([np.zeros(len(people), np.int64), *(axis.codes for axis in used)])
        for at in np.unique(codes[counted], axis=0):
            weights = (counted & (codes == at).all(axis=1)).astype(np.float64)
            shown = ", ".join(axis.words[code] for axis, code in zip(used, at[1:].tolist(), strict=True))
            for klass in klasses:
                yield LinearStatement(weights, 0.0, np.inf, "nothing", klass, f"cell {shown or 'of all'}")


Box = Sequence[tuple[float, float]]


@runtime_checkable
class Measured(StatementKeys, Protocol):
    """Content that is linear for each value of some sums."""

    def measures(self, people: StatementPeople) -> tuple[ClassSum, ...]:
        """The sums that it is linear for; none where it is linear."""
        ...

    def given(self, people: StatementPeople, box: Box) -> Iterator[LinearStatement]:
        """Linear rows that hold where each measure lies between two ends: exact where these are equal."""
        ...


@runtime_checkable
class Figured(StatementKeys, Protocol):
    """Content that is one figure of people whose classes are known."""

    def figure(self, people: StatementPeople, masses: FloatArray) -> float:
        """The figure of people of each class, shape (n_qi, n_classes); NaN of nobody."""
        ...


@runtime_checkable
class Reprinted(StatementKeys, Protocol):
    """Content of which linear rows tell less than it does: more tables of people satisfy them than print it."""

    def prints(self, people: StatementPeople, masses: FloatArray) -> bool | None:
        """Whether people of each class, shape (n_qi, n_classes), may have printed it; None if not known."""
        ...

    def possible(self, people: StatementPeople, second: FloatArray) -> BoolArray:
        """The same of many tables of two classes by the second, shape (n_tables, n_qi): False where it is proved."""
        ...

    def effects(self, people: StatementPeople) -> tuple[FloatArray, FloatArray, FloatArray]:
        """About how far what people of the first class print is off, in halves of the last digit, shape (n_figures,).

        With what one of the second class moves it by, shape (n_qi, n_figures), and shares of that class, shape (n_qi,).
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class StatementPeople:
    """The people of a table by quasi-identifier, with columns, and ``total`` of each class, at least and most.

    With ``of_register`` statements are about some people of the table, nobody says whom: about ``members`` of them,
    where it is known how many.
    """

    table: QITable
    classes: tuple[str, ...]
    source: str = "statements"
    total: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    of_register: bool = False
    members: int | None = None

    def __len__(self) -> int:
        return len(self.table)

    @property
    def counts(self) -> FloatArray:
        """Individuals of each quasi-identifier, shape (n_qi,)."""
        return self.table.counts.astype(np.float64)

    @property
    def number(self) -> int | None:
        """How many people statements are about; None where it is not known how many of a register."""
        return self.members if self.of_register else round(float(self.counts.sum()))

    def class_total(self, klass: int) -> tuple[float, float]:
        """The least and the largest number of people of a class that is known."""
        everybody = float(self.table.counts.sum())
        if not len(self.total):
            return 0.0, everybody
        low, high = self.total[klass].tolist()
        return max(low, 0.0), min(high, everybody)

    def numbers(self, column: str) -> FloatArray:
        """The number that each quasi-identifier has in a column, shape (n_qi,)."""
        j = self._column(column)
        levels = self.table.levels[j]
        if levels.dtype.kind != "f":
            self.refuse(column, "numbers", f"values such as {shorten_list(levels[:3].tolist())}")
        found = np.asarray(levels[self.table.codes[:, j]], np.float64)
        if np.isnan(found[self.table.counts > 0]).any():
            self.refuse(column, "a number for everybody", "people without one")
        return np.nan_to_num(found)

    def lack(self, column: str) -> bool:
        """Whether somebody has no value in a column."""
        levels = self.table.levels[self._column(column)]
        used = levels[np.unique(self.table.codes[self.table.counts > 0, self._column(column)])]
        return bool(np.isnan(used).any()) if levels.dtype.kind == "f" else MISSING in used.tolist()

    def has(self, column: str, value: str | float) -> BoolArray:
        """Whether each quasi-identifier has a value in a column, shape (n_qi,)."""
        j = self._column(column)
        levels = self.table.levels[j]
        if levels.dtype.kind == "f":
            try:
                codes = np.flatnonzero(levels == float(value))
            except ValueError:
                self.refuse(column, "a number, as others say of the column", repr(value))
        else:
            names = {value} if isinstance(value, str) else {repr(value), f"{value:g}", str(value)}
            if isinstance(value, float) and value.is_integer():
                names.add(str(int(value)))
            codes = np.flatnonzero(np.isin(levels, list(names)))
        return np.isin(self.table.codes[:, j], codes)

    def values(self, column: str) -> list[str | float]:
        """The values of a column that somebody has."""
        j = self._column(column)
        used = np.unique(self.table.codes[self.table.counts > 0, j])
        return [value.item() if isinstance(value, np.generic) else value for value in self.table.levels[j][used]]

    def axis(self, column: str) -> Axis:
        """A column by its values."""
        j = self._column(column)
        return Axis(self.table.codes[:, j], [f"{column} {described(level)}" for level in self.table.levels[j]])

    def _column(self, column: str) -> int:
        names = [attribute.name for attribute in self.table.attributes]
        if column not in names:
            expected = f"a column of the table that adversaries have: {shorten_list(names)}"
            self.refuse(column, expected, "no such column")
        return names.index(column)

    def refuse(self, column: str, expected: str, found: str) -> NoReturn:
        """Raise the error of a column."""
        raise invalid(self.source, f"column {name(column)}", "values", expected, found)


@dataclass(slots=True)
class ColumnUse:
    """How statements use a column: as ``numbers``, and the ``values`` that they name, each with the first place.

    Somebody must have the values ``needed``; of others statements are true where nobody has them.
    """

    numbers: str | None = None
    values: dict[str | float, str] = field(default_factory=dict)
    needed: dict[str | float, str] = field(default_factory=dict)
    known: dict[str, None] = field(default_factory=dict)

    @property
    def place(self) -> str | None:
        """The first statement that uses the column; None where a release that scores are from has it."""
        return self.numbers or next(iter(self.values.values()), None)


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """A printed number: all values from ``low`` to ``high`` round to it."""

    value: Fraction
    half: Fraction

    @property
    def low(self) -> Fraction:
        return self.value - self.half

    @property
    def high(self) -> Fraction:
        return self.value + self.half

    def __str__(self) -> str:
        return f"{float(self.value):.10g}"


class Keys:
    """The keys of a statement, or of an object in it, which are taken one by one; those that nobody takes are unknown.

    Columns are asked for with `column`, `condition` and `use`, so that the table is read with them.
    """

    def __init__(
        self,
        source: str,
        where: str,
        raw: object,
        classes: tuple[str, ...],
        columns: dict[str, ColumnUse],
        folder: str = "",
    ) -> None:
        self.source, self.where, self.classes, self.columns, self.folder = source, where, classes, columns, folder
        if not isinstance(raw, Mapping):
            raise invalid(source, where, "content", "an object", show(raw))
        if repeated := getattr(raw, "repeated", None):
            raise invalid(source, where, next(iter(repeated)), "each key once", "the key several times")
        self._raw: Mapping[str, object] = raw
        self._taken: set[str] = set()
        self._known: set[str] = set()

    def refuse(self, key: str, expected: str, found: str | None = None) -> NoReturn:
        """Raise the error of a key."""
        shown = found if found is not None else show(self._raw[key]) if key in self._raw else "nothing"
        raise invalid(self.source, self.where, key, expected, shown)

    def within(self, key: str, error: InvalidInput) -> InvalidInput:
        """The error of a file that a key names, with the place of the key."""
        at = f"{self.where}, {key}, {error.source}"
        return InvalidInput(self.source, [replace(p, where=f"{at}: {p.where}") for p in error.problems])

    def __contains__(self, key: str) -> bool:
        self._known.add(key)
        return key in self._raw

    def raw(self, key: str) -> object:
        """Whatever is under a key, None where there is nothing."""
        self._taken.add(key)
        return self._raw.get(key)

    def close(self, *more: str) -> None:
        """Refuse keys that nobody has taken; ``more`` might have been."""
        for key in self._raw:
            if key not in self._taken:
                known = sorted({*self._taken, *self._known, *more})
                raise invalid(
                    self.source, self.where, key, f"one of {', '.join(known)}", f"an unknown key{close_to(key, known)}"
                )

    def child(self, key: str) -> Keys:
        """The object under a key."""
        return self.inner(f"{self.where}, {key}", self.raw(key))

    def inner(self, where: str, raw: object) -> Keys:
        """An object in the statement, at a place."""
        return Keys(self.source, where, raw, self.classes, self.columns, self.folder)

    def children(self, key: str) -> list[Keys]:
        """The objects of the list under a key, at least one; places are counted from 1."""
        found = self.raw(key)
        if not isinstance(found, list) or not found:
            self.refuse(key, "a list of at least one object")
        at = f"{self.where}, {key.rstrip('s') if key.endswith('s') else key}"
        return [self.inner(f"{at} {i}", each) for i, each in enumerate(found, 1)]

    def text(self, key: str, default: str | None = None, among: Sequence[str] = ()) -> str:
        """The text under a key, one of some words where these are given."""
        found = self.raw(key)
        if found is None and default is not None:
            return default
        if not isinstance(found, str) or not found:
            self.refuse(key, f"one of {', '.join(among)}" if among else "a text")
        if among and found not in among:
            self.refuse(key, f"one of {', '.join(among)}", f"{show(found)}{close_to(found, among)}")
        return found

    def flag(self, key: str, default: bool) -> bool:
        """True or false under a key."""
        found = self.raw(key)
        if found is None:
            return default
        if not isinstance(found, bool):
            self.refuse(key, "true or false")
        return found

    def number(self, key: str, default: float | None = None, least: float = -np.inf) -> float:
        """The finite number under a key."""
        found = self.raw(key)
        if found is None and default is not None:
            return default
        if not is_number(found) or not abs(found) <= LARGEST or found < least:  # type: ignore[operator, arg-type]
            bounded = f"a number, at most {LARGEST:g}"
            self.refuse(key, bounded + (f" and at least {least:g}" if isfinite(least) else ""))
        return float(found)  # type: ignore[arg-type]

    def whole(self, key: str, default: int | None = None, low: int = 0) -> int | None:
        """The whole number under a key; ``default`` where there is none."""
        found = self.raw(key)
        if found is None:
            return default
        if isinstance(found, float) and found.is_integer():
            found = int(found)
        if not is_whole(found, low):
            self.refuse(key, f"a whole number, at least {low}")
        return int(found)  # type: ignore[call-overload, no-any-return]

    def klass(self, key: str = "class", *, optional: bool = False) -> int | None:
        """The number of the class under a key."""
        if optional and key not in self._raw:
            self._taken.add(key)
            return None
        found = self.raw(key)
        if not isinstance(found, (str, bool, int, float)) or str(found) not in self.classes:
            near = close_to(found, self.classes) if isinstance(found, str) else ""
            self.refuse(key, f"a class: {shorten_list(self.classes)}", show(found) + near if key in self._raw else None)
        return self.classes.index(str(found))

    def printed(self, key: str = "equals", digits: str = "digits") -> PrintedNumber:
        """A printed number. Without ``digits`` it has as many after its point as it shows; a text shows all of them."""
        raw, given = self.raw(key), self.whole(digits, None, low=-20)
        found = raw.strip() if isinstance(raw, str) else raw
        if given is None and isinstance(raw, Scientific):
            found = raw.text
        try:
            if isinstance(found, (Unreadable, bool)) or found is None:
                raise ValueError
            shown = found if isinstance(found, str) else repr(found)
            if abs(seen := decimals(shown)) > PLACES:
                raise ValueError
            value = Fraction(found if isinstance(found, (int, str)) else repr(float(found)))  # type: ignore[arg-type]
            if abs(value) > LARGEST:
                raise ValueError
        except (ValueError, OverflowError, ZeroDivisionError, TypeError):
            self.refuse(key, f"a number as it was printed, at most {LARGEST:g}")
        if given is not None and (given < 0 or not isinstance(found, str)):  # 120 in tens, 45.0 in ones
            seen = min(seen, given) if (value * Fraction(10) ** given).denominator == 1 else seen
        if given is not None and seen > given:
            self.refuse(digits, f"the digits that {key} has after its point, at least {seen}", str(given))
        if given is not None and seen < given and isinstance(found, str):
            expected = f"{seen}, as many as {key} shows after its point"
            self.refuse(digits, expected, str(given))
        places = seen if given is None else given
        return PrintedNumber(value, Fraction(1, 2) / Fraction(10) ** places)

    def column(self, key: str, *, numbers: bool = True) -> str:
        """The name of a column under a key."""
        found = self.text(key)
        self.use(found, numbers=numbers)
        return found

    def use(self, column: str, *, numbers: bool = False, values: Sequence[object] = (), needed: bool = True) -> None:
        """Say how a statement uses a column: as numbers, or by some of its values, which somebody must have."""
        if not column or column == "*":
            self.refuse("column", "the name of a column", show(column))
        use = self.columns.setdefault(column, ColumnUse())
        if numbers and use.numbers is None:
            use.numbers = self.where
        for value in values:
            if isinstance(value, bool) or not isinstance(value, (str, int, float)):
                self.refuse(column, "a text or a number", show(value))
            found = value if isinstance(value, str) else float(value)
            use.values.setdefault(found, self.where)
            if needed:
                use.needed.setdefault(found, self.where)

    def value(self, key: str, column: str) -> str | float:
        """A value of a column, a text or a number."""
        found = self.raw(key)
        self.use(column, values=[found])
        return found if isinstance(found, str) else float(found)  # type: ignore[arg-type]

    def condition(self, key: str = "where") -> Where:
        """The people that a statement is about; everybody without the key. Nobody needs to have their values."""
        found = self.raw(key)
        if found is None:
            return Where()
        if not isinstance(found, Mapping) or not found:
            self.refuse(key, "an object from columns to values, lists of values, or limits {gt, ge, lt, le}")
        tests: list[Test] = []
        for column, said in found.items():
            if isinstance(said, Mapping):
                inner = self.inner(f"{self.where}, {key} {name(column)}", said)
                limits = {sign: inner.number(sign) for sign in SIGNS if sign in inner}
                inner.close(*SIGNS)
                for one, other in (("gt", "ge"), ("lt", "le")):
                    if one in limits and other in limits:
                        inner.refuse(other, f"{one} or {other}, as both are limits of one side")
                if not limits:
                    self.refuse(key, f"limits of {name(column)}: gt, ge, lt or le", "none")
                self.use(column, numbers=True)
                tests.append(Test(column, limits=tuple(limits.items())))
            else:
                values = said if isinstance(said, list) else [said]
                if not values:
                    self.refuse(key, f"values of {name(column)}", "none")
                self.use(column, values=values, needed=False)
                tests.append(Test(column, tuple(v if isinstance(v, str) else float(v) for v in values)))
        return Where(tuple(tests))


SIGNS = ("gt", "ge", "lt", "le")
WORDS = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}


@dataclass(frozen=True, slots=True)
class Test:
    """A test of a column: one of some values, or within limits."""

    column: str
    values: tuple[str | float, ...] = ()
    limits: tuple[tuple[str, float], ...] = ()

    def holds(self, people: StatementPeople) -> BoolArray:
        """Whether it holds for each quasi-identifier, shape (n_qi,)."""
        found = np.zeros(len(people), bool)
        for value in self.values:
            found |= people.has(self.column, value)
        if self.limits:
            numbers, found = people.numbers(self.column), np.ones(len(people), bool)
            compare = {"gt": np.greater, "ge": np.greater_equal, "lt": np.less, "le": np.less_equal}
            for sign, limit in self.limits:
                found &= compare[sign](numbers, limit)
        return found

    def axis(self, people: StatementPeople) -> Axis:
        """Its column by values, or by whether people are within the limits."""
        if self.values:
            return people.axis(self.column)
        return Axis(self.holds(people).astype(np.int64), [f"not {self}", str(self)])

    def __str__(self) -> str:
        if self.limits:
            return " and ".join(f"{self.column} {WORDS[sign]} {limit:g}" for sign, limit in self.limits)
        return f"{self.column} {' or '.join(v if isinstance(v, str) else f'{v:g}' for v in self.values)}"


@dataclass(frozen=True, slots=True)
class Where:
    """The people that a statement is about: those for whom all tests hold."""

    tests: tuple[Test, ...] = ()

    def mask(self, people: StatementPeople) -> BoolArray:
        """Whether each quasi-identifier is among them, shape (n_qi,)."""
        found = np.ones(len(people), bool)
        for test in self.tests:
            found &= test.holds(people)
        return found

    def __str__(self) -> str:
        return ", ".join(map(str, self.tests)) or "everybody"


def decimals(shown: str) -> int:
    """Digits after the point of a number as it was printed; fewer than none of one with an exponent."""
    mantissa, _, exponent = shown.lower().partition("e")
    return len(mantissa.partition(".")[2]) - int(exponent or 0)


def between(low: float | Fraction, high: float | Fraction) -> tuple[float, float]:
    """Sides as floats, rounded outward."""
    return _down(low), _up(high)


def _down(value: float | Fraction) -> float:
    found = float(value)
    return found if Fraction(found) <= value else float(np.nextafter(found, -np.inf))


def _up(value: float | Fraction) -> float:
    found = float(value)
    return found if Fraction(found) >= value else float(np.nextafter(found, np.inf))


def together(errors: Sequence[InvalidInput]) -> InvalidInput:
    """Errors of one file as one."""
    problems: list[Problem] = [problem for error in errors for problem in error.problems]
    return InvalidInput(errors[0].source, problems)


def described(value: Any) -> str:
    """A value of a column for people to read."""
    return value if isinstance(value, str) else f"{value:g}"
