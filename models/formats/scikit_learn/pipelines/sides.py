"""Tests of a model's input as tests of the table: the values of a column that go to the left, or an exact threshold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import invalid
from maxent.models.formats.scikit_learn.pipelines.table import Pipe, Values, column_of
from maxent.models.tables.columns.missing_values import MISSING
from maxent.models.tables.frame import shorten
from maxent.models.trees.thresholds import single_at_most

# A column of the model's input, and the threshold up to which it goes left, or its codes that do, as text
Test = tuple[int, float | frozenset[str]]


Threshold = tuple[int, float]  # a `Test` with a threshold


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A column of the model's input as a function of a column of the table.

    ``numbers`` (n_values,) are what is made of each value, in single precision where the model compares in that;
    ``missing`` of a missing one: NaN where it stays missing, or where there is none. ``same`` says that numbers stay
    what they are.
    """

    numbers: FloatArray
    missing: float
    same: bool

    def left(self, threshold: float) -> BoolArray:
        """Mask of the values that go left, shape (n_values,)."""
        return self.numbers <= threshold


def goes_left(numbers: FloatArray, test: Test, missing_left: bool | None) -> BoolArray:
    """Mask of the numbers of a model's input that go left; ``missing_left`` is where NaN goes by a threshold."""
    limit = test[1]
    if isinstance(limit, float):
        return np.where(np.isnan(numbers), bool(missing_left), numbers <= limit)
    known = [MISSING if x != x else str(int(x)) if x == int(x) else repr(x) for x in numbers.tolist()]
    return np.array([text in limit for text in known], bool)


def made_of(pipe: Pipe, j: int, values: Values, *, single: bool) -> Made:
    """What is made of the values of a column of the table in a column of the model's input."""
    column = in_precision(pipe.column(j), single)
    missing = float(column[values.missing]) if values.missing >= 0 else np.nan
    numbers = column[values.rows]
    expected = np.append(numbers, missing)[values.codes]
    wrong = np.flatnonzero(~((column == expected) | (np.isnan(column) & np.isnan(expected))))
    if len(wrong):
        what = "the same value of this column to become the same number (name what is missing in one way only)"
        raise invalid(pipe.source, f"row {wrong[0] + 1}", values.name, what, shorten(float(column[wrong[0]])))
    return Made(numbers, missing, pipe.traces.columns[j].same)


def in_precision(numbers: FloatArray, single: bool) -> FloatArray:
    """Numbers as a model compares them."""
    return numbers.astype(np.float32).astype(np.float64) if single else numbers


@dataclass(frozen=True, slots=True)
class Cut:
    """A test of numbers: those up to ``threshold`` go left if it ``rises``, else right.

    Without a threshold all numbers go left if it rises, else right.
    """

    threshold: float | None
    rises: bool


def cuts_of(
    pipe: Pipe, tests: Mapping[Threshold, Made], columns: Mapping[int, Values], *, single: bool
) -> dict[Threshold, Cut]:
    """Tests of columns of numbers as thresholds of the table, which divide its numbers exactly as the pipeline does.

    Of numbers that nobody in the table has, those go left that the pipeline sends there, too: each threshold is the
    largest double that goes to its side.

    ``tests``: all of them are intervals, see `is_interval`. ``single``: whether the model compares in single precision.
    """
    found: dict[Threshold, Cut] = {}
    open_: list[tuple[Threshold, bool, float, float]] = []
    beyond: list[Threshold] = []
    for test, made in tests.items():
        (j, threshold), left = test, made.left(test[1])
        v = columns[pipe.traces.columns[j].source].numbers
        assert v is not None
        if left.all() or not left.any():
            beyond.append(test)
            continue
        rises = bool(left[0])
        k = int((left == rises).sum())
        low, high = float(v[k - 1]), float(v[k])
        same = [t for t in (threshold, single_at_most(threshold)) if low <= t < high] if made.same and rises else []
        if same:
            found[test] = Cut(same[0], rises)
        else:
            open_.append((test, rises, low, high))
    for test in beyond:
        (j, threshold), made = test, tests[test]
        if made.same and np.isfinite(threshold):
            found[test] = Cut(threshold, True)
        elif (wide := _bracket(pipe, test, made, columns[pipe.traces.columns[j].source], single)) is not None:
            open_.append((test, *wide))
        else:
            found[test] = Cut(None, bool(made.left(threshold).all()))
    return found | _searched(pipe, open_, single)


_FAR = 1e6  # how many times as far from 0 as all numbers of a table a threshold is looked for that divides none of them


def _bracket(pipe: Pipe, test: Threshold, made: Made, values: Values, single: bool) -> tuple[bool, float, float] | None:
    """Where numbers change sides that are larger or smaller than all of the table, as `_searched` takes it."""
    v, (j, threshold) = values.numbers, test
    if v is None or not len(v) or not np.isfinite(threshold):
        return None
    far = _FAR * (1 + float(np.abs(v).max()))
    try:
        cells = {pipe.traces.columns[j].source: np.array([-far, far])}
        answers = in_precision(column_of(pipe(pipe.with_columns(cells, 2)), j), single) <= threshold
    except ValueError:  # out of what a step takes
        return None
    here, (below, above) = bool(made.left(threshold)[0]), answers.tolist()
    if below != here and above == here:
        return not here, -far, float(v[0])
    if above != here and below == here:
        return here, float(v[-1]), far
    return None


def is_interval(left: BoolArray) -> bool:
    """Whether values that go left, of increasing ones, are the first or the last of them."""
    return bool((left[1:] != left[:-1]).sum() <= 1)


def _searched(pipe: Pipe, tests: Sequence[tuple[Threshold, bool, float, float]], single: bool) -> dict[Threshold, Cut]:
    """Thresholds found by dividing the doubles between two neighbours of the table again and again, all together.

    Rounding keeps order, and so do the steps that are followed: what a step makes of the numbers between two
    neighbours changes its side once.
    """
    if not tests:
        return {}
    per_source: dict[int, list[int]] = {}
    for at, ((j, _), *_) in enumerate(tests):
        per_source.setdefault(pipe.traces.columns[j].source, []).append(at)
    row = np.zeros(len(tests), np.int64)
    for held in per_source.values():
        row[held] = np.arange(len(held))
    size = int(row.max()) + 1
    parts = max(2, min(_PARTS, _ROWS // size))
    low = _ordered(np.array([low for *_, low, _ in tests])).view(np.uint64)
    width = _ordered(np.array([high for *_, high in tests])).view(np.uint64) - low
    rises = np.array([rises for _, rises, _, _ in tests])
    limit = np.array([threshold for (_, threshold), *_ in tests])
    used = {j: np.array([at for at, ((k, _), *_) in enumerate(tests) if k == j]) for j in {j for (j, _), *_ in tests}}
    points = np.arange(1, parts, dtype=np.uint64)
    while (width > 1).any():
        # In unsigned integers, in which a difference of any two is right, whatever their signs.
        step = np.maximum(width // parts + (width % parts > 0), 1).astype(np.uint64)
        offsets = np.minimum(points * step[:, None], width[:, None])
        asked = _doubles((low[:, None] + offsets).view(np.int64))
        cells = {source: _padded(asked[held], size).ravel() for source, held in per_source.items()}
        made = pipe(pipe.with_columns(cells, size * (parts - 1)))
        left = np.zeros(asked.shape, bool)
        for j, here in used.items():
            answers = in_precision(column_of(made, j), single).reshape(size, parts - 1)
            left[here] = answers[row[here]] <= limit[here, None]
        below = ((left == rises[:, None]) & (offsets < width[:, None])).sum(axis=1).astype(np.uint64)
        moved = below * step
        low, width = low + moved, np.minimum(step, width - moved)
    found = _doubles(low.view(np.int64)).tolist()
    return {test: Cut(x, up) for (test, up, _, _), x in zip(tests, found, strict=True)}


# The most parts that an interval is divided into with one call of the steps, and rows of such a call
_PARTS, _ROWS = 128, 20_000


def _padded(values: FloatArray, size: int) -> FloatArray:
    """Rows of points, as many as ``size``: the first one again in place of those that are not there."""
    return np.concatenate([values, np.repeat(values[:1], size - len(values), axis=0)])


def _ordered(numbers: FloatArray) -> IntArray:
    """Doubles as integers in the same order, neighbours one apart."""
    bits = numbers.view(np.int64)
    return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)


def _doubles(ordered: IntArray) -> FloatArray:
    """The doubles that `_ordered` has numbered."""
    bits = np.where(ordered < 0, np.int64(-(2**63)) - ordered, ordered)
    return bits.view(np.float64) + 0.0


def tests_by_source(pipe: Pipe, tests: Iterable[Test]) -> dict[int, list[Test]]:
    """Tests of the model's input by the column of the table that they are about."""
    found: dict[int, list[Test]] = {}
    for test in tests:
        found.setdefault(pipe.traces.columns[test[0]].source, []).append(test)
    return found
