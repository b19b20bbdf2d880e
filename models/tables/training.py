"""Training records: read and coded once for every inducer, and divided into folds for cross-validation."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import is_one_of, shorten, shorten_list
from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.reading import Reader, cleaned, spelled_alike, told_apart
from maxent.models.release import Attribute, Role, Target
from maxent.models.tables.cells import (
    MISSING,
    ONLY_SPELLING,
    codes_of,
    finite,
    holds_numbers,
    kind_notes,
    missing_cells,
    missing_rows,
    note_missing,
    numbers,
    spelling_problems,
)
from maxent.models.tables.classes import named_targets, product_target
from maxent.models.tables.frame import LISTED, Column, Frame, Source, missing_columns
from maxent.models.tables.table_files import read_frame

Order = Literal["sorted", "appearance"]
Missing = Literal["refuse", "category"]

_ADVICE = "bin it, or name it in categorical= when its values are only names"
_FILL = "impute or drop them"


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """Records with their classes, coded.

    Attributes
    ----------
    target : Target
        What is learned.
    attributes : tuple of Attribute
        What trees may test, public ones first: categorical ones with their domain, and numeric ones.
    columns : tuple of arrays, each of shape (n,)
        Per attribute: int64 codes into `Attribute.values`, or float64 numbers.
    y : int64, shape (n,)
        Codes of ``target.classes``.
    order : {"sorted", "appearance"}
        How the values of domains that were not given were put in order.
    """

    target: Target
    attributes: tuple[Attribute, ...]
    columns: tuple[npt.NDArray[Any], ...]
    y: IntArray
    order: Order = "sorted"

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: npt.NDArray[Any]) -> Training:
        """Some of the records, as indices or a mask of shape (n,); domains stay as they are."""
        return replace(self, columns=tuple(column[rows] for column in self.columns), y=self.y[rows])


def read_training(
    source: Source,
    *,
    target: str | Sequence[str],
    qi: Sequence[str],
    private: Sequence[str] = (),
    categorical: Sequence[str] = (),
    domains: Mapping[str, Sequence[str]] | None = None,
    order: Order = "sorted",
    missing: Missing = "refuse",
    reader: Reader | None = None,
) -> Training:
    """Read the records that a tree is to be grown from, one row each.

    A column is numeric when its type is, or, in files without types, when all values are finite numbers without leading
    zeros; others, and those named ``categorical``, hold categories. ``domains`` are values in the order to publish
    them, others are in ``order``; of several target columns classes are combinations (`maxent.models.tables.classes`).
    With ``missing`` as a category, cells without a value are one of their own, ``(missing)``, which has to be true of
    the tables of others as well.
    """
    domains = {} if domains is None else domains
    targets = named_targets("training data", target)
    problems = list(_argument_problems(targets, qi, private, categorical, domains, order, missing))
    if problems:
        raise InvalidInput("training data", problems)
    names = [*qi, *private]
    frame = read_frame(source, "data", [*names, *targets], reader, _declared(domains))
    problems += frame.problems
    problems += missing_columns(frame, [*names, *targets])
    if not len(frame.lines):
        problems.append(Problem("rows", "records", "at least one record", "no rows"))
    named = {*categorical, *domains}
    numeric = {name for name in frame.columns if name not in named and holds_numbers(frame.columns[name])}
    attributes: list[Attribute] = []
    columns: list[npt.NDArray[Any]] = []
    for name in (name for name in names if name in frame.columns):
        role: Role = "public" if name in qi else "private"
        if name in numeric:
            attributes.append(Attribute(name, "numeric", None, role))
            columns.append(_numbers(frame, name, problems))
        else:
            given, allowed = domains.get(name), missing == "category"
            values, codes = _coded(frame, name, given, order, problems, named=name in named, missing=allowed)
            attributes.append(Attribute(name, "categorical", values, role))
            columns.append(codes)
    parts: list[Target] = []
    coded: list[IntArray] = []
    for name in (name for name in targets if name in frame.columns):
        problems += _fraction_problems(frame, name) if name in numeric else []
        given, fill = domains.get(name), f"give them a name, {_FILL}"
        classes, codes = _coded(frame, name, given, "sorted", problems, named=name in named, fill=fill)
        parts.append(Target(name, classes))
        coded.append(codes)
    if problems:
        raise InvalidInput(frame.source, problems)
    y, whole = coded[0], parts[0]
    if len(parts) > 1:
        whole = product_target(frame.source, parts)
        y = np.ravel_multi_index(tuple(coded), [len(part.classes) for part in parts]).astype(np.int64)
        if whole.name in names:
            expected = f"columns of other names than {shorten(whole.name)}, which is that of the target"
            raise invalid(frame.source, "argument", "qi and private", expected, shorten(whole.name))
    for name in names:
        for note in () if name in numeric or name in named else kind_notes(frame, name):
            frame.reader.note(frame.source, *note)
    return Training(whole, tuple(attributes), tuple(columns), y, order)


def _argument_problems(
    targets: Sequence[str],
    qi: object,
    private: object,
    categorical: object,
    domains: object,
    order: str,
    missing: str,
) -> Iterator[Problem]:
    """Mistakes in the names of columns, without a look at the data."""
    names: list[object] = []
    for name, columns in (("qi", qi), ("private", private), ("categorical", categorical)):
        if isinstance(columns, str) or not isinstance(columns, Collection):
            advice = f", such as [{columns!r}]" if isinstance(columns, str) else ""
            yield Problem("argument", name, f"a list of columns{advice}", shorten(columns))
        elif name != "categorical":
            names.extend(columns)  # which may be an array, or an index of pandas
    if isinstance(qi, Collection) and not len(qi):
        yield Problem("argument", "qi", "at least one column", "none")
    for column in names:
        if not isinstance(column, str):
            yield Problem("argument", "target, qi and private", "names of columns", shorten(column))
    names = [column for column in names if isinstance(column, str)]
    for target in targets:
        if target in names:
            yield Problem("argument", "target", "a column that is not among qi= and private=", shorten(target))
    for i, column in enumerate(names):
        if column in names[:i] and column not in names[i + 1 :]:
            found = f"{shorten(column)} {names.count(column)} times"
            yield Problem("argument", "qi and private", "each column once", found)
    known = [*names, *targets]
    for argument, used in (("categorical", categorical), ("domains", domains)):
        for column in used if isinstance(used, Collection) and not isinstance(used, str) else ():
            if column not in known:
                yield Problem("argument", argument, "only columns of target=, qi= and private=", shorten(column))
    if not isinstance(domains, Mapping):
        yield Problem("argument", "domains", "columns with the values of each", shorten(domains))
    for argument, value, literal in (("order", order, Order), ("missing", missing, Missing)):
        if not is_one_of(value, get_args(literal)):
            yield Problem("argument", argument, f"one of {', '.join(get_args(literal))}", shorten(value))


def _declared(domains: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    """The values that domains name, as far as they can be."""
    given = {name: domain for name, domain in domains.items() if not isinstance(domain, str)}
    return {name: tuple(map(str, domain)) for name, domain in given.items() if isinstance(domain, Collection)}


def _numbers(frame: Frame, name: str, problems: list[Problem]) -> npt.NDArray[np.float64]:
    """The numbers of a column, shape (n_rows,)."""
    problems += _missing_problems(frame, name, _FILL)
    found: npt.NDArray[np.float64] = np.append(finite(frame, name, problems, optional=True), np.nan)
    return found[frame.columns[name].codes]


def _coded(
    frame: Frame,
    name: str,
    domain: Sequence[str] | None,
    order: Order,
    problems: list[Problem],
    *,
    named: bool,
    missing: bool = False,
    fill: str = f"give them a name, let them be a category (missing='category'), {_FILL}",
) -> tuple[tuple[str, ...], IntArray]:
    """The domain of a column and its codes, shape (n_rows,); without a domain of its own what occurs, in order."""
    column, where = frame.columns[name], f"column {shorten(name)}"
    values: tuple[str, ...] | None = None
    if isinstance(domain, str) or (domain is not None and not isinstance(domain, Collection)):
        problems.append(Problem(where, "domains", "a list of values", shorten(domain)))
    elif domain is not None:
        values = tuple(map(frame.reader.reading.form, map(str, domain)))
        problems += _domain_problems(frame, name, values)
    problems += [] if named else date_problems(frame, name)
    problems += spelling_problems(frame, name)
    texts = column.texts()
    if (column.codes < 0).any():
        if missing:
            note_missing(frame, name, MISSING)
            column = Column(np.where(column.codes < 0, len(texts), column.codes), np.array([*texts, MISSING], object))
            texts = column.texts()
        elif values is None or codes_of(values)[1] < 0:
            problems += _missing_problems(frame, name, fill)
    used, first = np.unique(column.codes[column.codes >= 0], return_index=True)
    seen = list(dict.fromkeys(texts[code] for code in used[np.argsort(first)]))
    if values is None:
        values = tuple(seen if order == "appearance" else sorted(seen))
    elif outside := sorted(set(seen) - set(values)):
        problems.append(Problem(where, "domains", "every value that occurs", f"no {shorten_list(outside)}"))
    index, absent = codes_of(values)
    lookup = np.array([index.get(text, -1) for text in texts] + [absent], np.int64)
    return values, lookup[column.codes]


def _domain_problems(frame: Frame, name: str, values: Sequence[str]) -> Iterator[Problem]:
    """Values of a domain that are stated twice, or are spelled in two ways; and how other values are spelled there."""
    where = f"column {shorten(name)}"
    if repeated := [value for i, value in enumerate(values) if value in values[:i]]:
        yield Problem(where, "domains", "each value once", shorten(repeated[0]))
    elif frame.reader.reading.text == "refuse":
        occurring = [text for text in frame.columns[name].texts() if text not in values]
        for group in spelled_alike([*values, *occurring], cleaned)[:LISTED]:
            yield Problem(where, "domains", ONLY_SPELLING, " and ".join(map(told_apart, group)))


def date_problems(frame: Frame, name: str) -> Iterator[Problem]:
    """Dates and times of a column whose type says so, which are no categories unless they are named as such."""
    if frame.columns[name].dated:
        yield Problem(f"column {shorten(name)}", "type", f"categories or numbers: {_ADVICE}", "dates or times")


def _missing_problems(frame: Frame, name: str, fill: str) -> Iterator[Problem]:
    """Cells without a value; ``fill`` says what can be done about them."""
    missing = np.flatnonzero(frame.columns[name].codes < 0)
    if len(missing):
        expected = f"no missing values: {fill}"
        found = f"{missing_rows(frame, name)} missing, the first in {frame.place(int(missing[0]))}"
        yield Problem(f"column {shorten(name)}", "values", expected, f"{found}{missing_cells(frame, name)}")


def _fraction_problems(frame: Frame, name: str) -> Iterator[Problem]:
    """Numbers that are no names of classes."""
    column = frame.columns[name]
    found = numbers(column)
    if (fractions := found[found != np.floor(found)]).size and not np.isnan(fractions).all():
        some = float(fractions[~np.isnan(fractions)][0])
        yield Problem(f"column {shorten(name)}", "values", f"classes, not numbers with fractions: {_ADVICE}", f"{some}")


# Folds of cross-validation.


def stratified(y: IntArray, folds: int, seed: int) -> IntArray:
    """The fold of each record, shape (n,): at random, sizes and numbers of each class as equal as they can be.

    Records are shuffled, put in the order of their classes, and dealt in turn.
    """
    shuffled = np.random.default_rng(seed).permutation(len(y))
    dealt = shuffled[np.argsort(y[shuffled], kind="stable")]
    fold = np.empty(len(y), np.int64)
    fold[dealt] = np.arange(len(y)) % folds
    return fold
