"""Pipelines of scikit-learn as releases: the steps before the model are undone, so that tests name table columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arguments import shorten
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.columns import NOTHING, Columns
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.files.json_files import uncollected
from maxent.models.formats.assemble import packed
from maxent.models.formats.release_reader import EVALUATED
from maxent.models.formats.scikit_learn.ensemble import aside_of
from maxent.models.formats.scikit_learn.models import searched
from maxent.models.formats.scikit_learn.nodes import TakenBranch, ends_of, reached
from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.hints import close_to
from maxent.models.nodes import Nodes
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Branch, Encoding, Induction, Release, Tree
from maxent.models.tables.cells import MISSING, OTHER, holds_numbers, numbers, understood
from maxent.models.tables.frame import Frame, from_pandas
from maxent.models.trees.places import single_at_most

if TYPE_CHECKING:
    from pandas import DataFrame


# Steps of a fitted pipeline: the column of the table that each column of the model's input comes from.
#
# Only steps are followed that make each of their columns of a single column. What they do to its values is not worked
# out here: they are asked, see below.


@dataclass(frozen=True, slots=True)
class Traced:
    """A column between two steps, made of the column ``source``: the ``same`` values, ``ranges``, or single values."""

    source: int
    same: bool = True
    ranges: bool = True


@dataclass(frozen=True, slots=True)
class Traces:
    """The columns of a model's input, and the values that encoders were told of, by column of the table."""

    columns: tuple[Traced, ...]
    told: Mapping[int, tuple[object, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class _Tracer:
    """Follows columns through steps; ``told`` collects what encoders know of columns of the table."""

    source: str
    told: dict[int, tuple[object, ...]] = field(default_factory=dict)

    def through(self, step: Any, columns: Sequence[Traced], where: str) -> list[Traced]:
        """The columns after a step."""
        if step is None or (isinstance(step, str) and step == "passthrough"):
            return list(columns)
        name = type(step).__name__
        known = _KINDS.get(name) if _is_of_scikit_learn(step) else None
        if known is None and _is_of_scikit_learn(step) and hasattr(step, "get_support"):
            known = _selected
        if known is None:
            raise self.refusal(step, where)
        _check_fitted(self.source, step, where)
        return list(known(self, step, columns, where))

    def refusal(self, step: Any, where: str) -> InvalidInput:
        """Why a step cannot be undone, and the way out."""
        name = type(step).__name__
        why = _REFUSED.get(name) if _is_of_scikit_learn(step) else None
        expected = why or (
            "a step of scikit-learn that makes each of its columns of one column (encoders, scalers, binners, "
            "SimpleImputer, selection of columns): do what this one does to the table, before fit"
        )
        return invalid(self.source, where, name, expected, shorten(f"{type(step).__module__}.{name}"))


def trace(source: str, steps: Sequence[tuple[str, Any]], width: int) -> Traces:
    """Follow the columns of a table through the steps before a model."""
    tracer = _Tracer(source)
    columns = [Traced(i) for i in range(width)]
    for name, step in steps:
        columns = tracer.through(step, columns, f"step {name}")
    return Traces(tuple(columns), tracer.told)


def _check_fitted(source: str, step: Any, where: str) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(step)
    except NotFittedError:
        raise invalid(source, where, type(step).__name__, "a fitted step: call fit first", "not fitted") from None


def _is_of_scikit_learn(step: Any) -> bool:
    """Whether a step is what scikit-learn itself has: a subclass may do anything."""
    return type(step).__module__.split(".")[0] == "sklearn"


def _each(tracer: _Tracer, step: Any, columns: Sequence[Traced], where: str) -> Iterator[Traced]:
    """A step that changes the values of each column by themselves."""
    yield from (replace(column, same=False) for column in columns)


def _encoded(tracer: _Tracer, step: Any, columns: Sequence[Traced], where: str) -> Iterator[Traced]:
    listed = not isinstance(step.categories, str)  # those that were found are in the table
    for column, categories in zip(columns, step.categories_, strict=True):
        if column.same and listed:
            tracer.told[column.source] = (*tracer.told.get(column.source, ()), *np.asarray(categories).tolist())
    yield from (replace(column, same=False, ranges=False) for column in columns)


def _indicated(tracer: _Tracer, step: Any, columns: Sequence[Traced], where: str) -> Iterator[Traced]:
    encoded = list(_encoded(tracer, step, columns, where))
    rare = getattr(step, "infrequent_categories_", [None] * len(columns))
    dropped = [None] * len(columns) if step.drop_idx_ is None else step.drop_idx_
    for column, categories, few, drop in zip(encoded, step.categories_, rare, dropped, strict=True):
        n = len(categories) - (0 if few is None else len(few) - 1) - (drop is not None)
        yield from [column] * n


def _binned(tracer: _Tracer, step: Any, columns: Sequence[Traced], where: str) -> Iterator[Traced]:
    for column, bins in zip(_each(tracer, step, columns, where), step.n_bins_.tolist(), strict=True):
        yield from [column] * (1 if step.encode == "ordinal" else bins)


def _filled(tracer: _Tracer, step: Any, columns: Sequence[Traced], where: str) -> Iterator[Traced]:
    indicated = [] if step.indicator_ is None else step.indicator_.features_.tolist()
    names = [str(name) for name in step.get_feature_names_out()]
    given = getattr(step, "feature_names_in_", [f"x{i}" for i in range(len(columns))])
    at = {str(name): i for i, name in enumerate(given)}
    gaps = step.missing_values  # another one stands for a gap, so that it does not stay what it is
    kept = gaps is None or (isinstance(gaps, float) and np.isnan(gaps))
    for name in names[: len(names) - len(indicated)]:
        column = columns[at[name]]
        yield column if kept else replace(column, same=False)
    yield from (replace(columns[i], same=False) for i in indicated)


def _missing(tracer: _Tracer, step: Any, columns: Sequence[Traced], where: str) -> Iterator[Traced]:
    yield from (replace(columns[i], same=False) for i in step.features_.tolist())


def _selected(tracer: _Tracer, step: Any, columns: Sequence[Traced], where: str) -> Iterator[Traced]:
    yield from (columns[i] for i in np.flatnonzero(step.get_support()).tolist())


def _function(tracer: _Tracer, step: Any, columns: Sequence[Traced], where: str) -> Iterator[Traced]:
    if step.func is not None:
        expected = (
            "no function: it is code, and no one can say of it what each column becomes; call it on the table before "
            "fit, and name its columns in the table"
        )
        function = getattr(step.func, "__name__", type(step.func).__name__)
        raise invalid(tracer.source, where, "FunctionTransformer", expected, f"the function {shorten(function)}")
    yield from columns


def _piped(tracer: _Tracer, step: Any, columns: Sequence[Traced], where: str) -> Iterator[Traced]:
    inner = list(columns)
    for name, each in step.steps:
        inner = tracer.through(each, inner, f"{where}, {name}")
    yield from inner


def _divided(tracer: _Tracer, step: Any, columns: Sequence[Traced], where: str) -> Iterator[Traced]:
    """A ``ColumnTransformer``: each transformer has columns of its own, and a range of the output."""
    width = max((each.stop for each in step.output_indices_.values()), default=0)
    found: list[Traced | None] = [None] * width
    for name, each, chosen in step.transformers_:
        place = step.output_indices_.get(name, slice(0, 0))
        if (isinstance(each, str) and each == "drop") or place.start == place.stop:
            continue
        given = [columns[i] for i in _positions(step, chosen, len(columns))]
        out = tracer.through(each, given, f"{where}, {name}")
        if len(out) != place.stop - place.start:
            raise tracer.refusal(each, f"{where}, {name}")
        found[place] = out
    yield from (column for column in found if column is not None)


def _positions(step: Any, chosen: Any, width: int) -> list[int]:
    """The columns that a transformer of a ``ColumnTransformer`` is given, by name, position, mask or slice."""
    import pandas as pd

    names = getattr(step, "feature_names_in_", None)
    index = pd.RangeIndex(width) if names is None else pd.Index(names)
    where = pd.Series(np.arange(width), index=index)
    bounds = (chosen.start, chosen.stop) if isinstance(chosen, slice) else np.atleast_1d(np.asarray(chosen, object))
    by_name = any(isinstance(each, str) for each in bounds)
    found = where.loc[chosen] if by_name else where.iloc[np.atleast_1d(chosen) if np.isscalar(chosen) else chosen]
    return [int(i) for i in np.atleast_1d(np.asarray(found))]


def _united(tracer: _Tracer, step: Any, columns: Sequence[Traced], where: str) -> Iterator[Traced]:
    for name, each in step.transformer_list:
        if not (isinstance(each, str) and each == "drop"):
            out = tracer.through(each, columns, f"{where}, {name}")
            weighted = name in (step.transformer_weights or {})
            yield from (replace(column, same=False) for column in out) if weighted else out


_Kind = Callable[[_Tracer, Any, Sequence[Traced], str], Iterator[Traced]]

# Name of a class of scikit-learn -> the columns after it. Selectors are known by their ``get_support``.
_KINDS: Mapping[str, _Kind] = {
    **dict.fromkeys(("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "Binarizer"), _each),
    **dict.fromkeys(("QuantileTransformer", "PowerTransformer"), _each),
    "OrdinalEncoder": _encoded,
    "OneHotEncoder": _indicated,
    "KBinsDiscretizer": _binned,
    "SimpleImputer": _filled,
    "MissingIndicator": _missing,
    "FunctionTransformer": _function,
    "Pipeline": _piped,
    "ColumnTransformer": _divided,
    "FeatureUnion": _united,
}

_OTHERS = "values of several columns make one of its columns: leave it out, a tree does not need it, and fit again"

# Name of a class of scikit-learn -> why it cannot be undone, and the way out
_REFUSED: Mapping[str, str] = {
    **dict.fromkeys(("PCA", "IncrementalPCA", "KernelPCA", "TruncatedSVD", "FastICA", "NMF"), _OTHERS),
    **dict.fromkeys(("Normalizer", "PolynomialFeatures", "LinearDiscriminantAnalysis"), _OTHERS),
    **dict.fromkeys(
        ("KNNImputer", "IterativeImputer"),
        "a gap is filled by what the other columns have: use SimpleImputer, and fit again",
    ),
    "TargetEncoder": (
        "values are encoded by the classes of their records, and otherwise in fit than afterwards: use OneHotEncoder "
        "or OrdinalEncoder, and fit again"
    ),
}


# The table that a pipeline was fitted on: the values of its columns, and what the pipeline makes of them.


@dataclass(frozen=True, eq=False)
class PipelineValues:
    """The values of a column of the table, each with a row that has it.

    ``texts``: the values as tables of people have them. ``rows`` of shape (n_values,): a row with each. ``missing``: a
    row without a value, -1 for none. ``codes`` of shape (n_rows,): indices into ``texts``, -1 for a missing value.
    ``numbers`` of shape (n_values,): the values of a column of numbers, increasing; None for other columns.
    """

    name: str
    texts: tuple[str, ...]
    rows: IntArray
    missing: int
    codes: IntArray
    numbers: FloatArray | None


def values_of(frame: Frame, name: str) -> PipelineValues:
    """The values of a column of a frame that was read from a table."""
    column = frame.columns[name]
    missing = np.flatnonzero(column.codes < 0)
    used, first, codes = np.unique(column.codes, return_index=True, return_inverse=True)
    there = used >= 0
    codes, used, first = codes - (~there).sum(), used[there], first[there]
    texts, found = column.texts(), None
    order = np.arange(len(used))
    if holds_numbers(column):
        found = numbers(column)[used]
        order = np.argsort(found, kind="stable")
        found = found[order]
    else:
        order = np.array(sorted(order.tolist(), key=lambda i: _by_size(texts[used[i]])), np.int64)
    place = np.append(np.argsort(order), -1)
    return PipelineValues(
        name,
        tuple(texts[i] for i in used[order].tolist()),
        first[order].astype(np.int64),
        int(missing[0]) if len(missing) else -1,
        place[codes].astype(np.int64),
        found,
    )


def is_numeric(frame: Frame, name: str) -> bool:
    """Whether a model takes a column of a frame as numbers: all its values are, or true and false."""
    column = frame.columns[name]
    return holds_numbers(column) or {*column.texts()} <= {"True", "False"}


def _by_size(text: str) -> tuple[float, str]:
    """Order of values: numbers by size, before other texts."""
    try:
        return float(text), text
    except ValueError:
        return np.inf, text


@dataclass(frozen=True, eq=False)
class Pipe:
    """The fitted steps before a model, the columns of their table, and which of these each input of the model is of."""

    source: str
    steps: Sequence[Any]
    table: DataFrame
    traces: Traces

    def __call__(self, table: DataFrame) -> Any:
        """The model's input for a table, sparse by columns or float64, shape (n_rows, n_columns)."""
        found: Any = table
        with _quiet():
            for step in self.steps:
                found = step.transform(found)
        if hasattr(found, "tocsc"):
            return found.tocsc()
        return np.asarray(found, np.float64)

    @cached_property
    def input(self) -> Any:
        """The model's input for the table itself."""
        try:
            found = self(self.table)
        except (TypeError, ValueError) as error:
            expected = "the table that fit was given, which the steps before the model take"
            raise invalid(self.source, "argument", "X", expected, shorten(str(error), 200)) from None
        if found.shape[1] != len(self.traces.columns):
            expected = f"steps that make {len(self.traces.columns)} columns, as they say"
            raise invalid(self.source, "argument", "model", expected, str(found.shape[1]))
        return found

    def column(self, j: int) -> FloatArray:
        """A column of the model's input for the table, shape (n_rows,)."""
        return column_of(self.input, j)

    def with_columns(self, cells: Mapping[int, Any], size: int) -> DataFrame:
        """Copies of the first row of the table, with other cells in some of its columns."""
        import pandas as pd

        first = self.table.iloc[np.zeros(size, np.int64)].reset_index(drop=True)
        columns = [pd.Series(cells[i]) if i in cells else first.iloc[:, i] for i in range(first.shape[1])]
        changed = pd.concat(columns, axis=1)
        changed.columns = self.table.columns
        return changed

    def answers(self, source: int, cell: Any) -> Any:
        """The model's input where one column has another cell, shape (1, n_columns); None where steps refuse it."""
        import pandas as pd

        try:
            return self(self.with_columns({source: pd.Series([cell], dtype=object)}, 1))
        except (TypeError, ValueError, InvalidInput):
            return None


def column_of(found: Any, j: int) -> FloatArray:
    """A column of a model's input, which may be sparse."""
    return np.asarray(found[:, [j]].toarray() if hasattr(found, "tocsc") else found[:, j], np.float64).ravel()


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of steps that are asked about values which nobody has."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


# Tests of a model's input as tests of the table: the values of a column that go to the left, or an exact threshold.

# A column of the model's input, and the threshold up to which it goes left, or its codes that do, as text
Test = tuple[int, float | frozenset[str]]


Threshold = tuple[int, float]  # a `Test` with a threshold


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A column of the model's input as a function of one of the table; ``missing`` is NaN if it stays missing."""

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


def made_of(pipe: Pipe, j: int, values: PipelineValues, *, single: bool) -> Made:
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
class PipelineCut:
    """A test of numbers: those up to ``threshold`` go left if it ``rises``, else right."""

    threshold: float | None
    rises: bool


def cuts_of(
    pipe: Pipe, tests: Mapping[Threshold, Made], columns: Mapping[int, PipelineValues], *, single: bool
) -> dict[Threshold, PipelineCut]:
    """Tests of columns of numbers as thresholds of the table, which divide its numbers exactly as the pipeline does.

    Numbers that nobody has go where the pipeline sends them: each threshold is the largest double of its side.
    """
    found: dict[Threshold, PipelineCut] = {}
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
            found[test] = PipelineCut(same[0], rises)
        else:
            open_.append((test, rises, low, high))
    for test in beyond:
        (j, threshold), made = test, tests[test]
        if made.same and np.isfinite(threshold):
            found[test] = PipelineCut(threshold, True)
        elif (wide := _bracket(pipe, test, made, columns[pipe.traces.columns[j].source], single)) is not None:
            open_.append((test, *wide))
        else:
            found[test] = PipelineCut(None, bool(made.left(threshold).all()))
    return found | _searched(pipe, open_, single)


_FAR = 1e6  # how many times as far from 0 as all numbers of a table a threshold is looked for that divides none of them


def _bracket(
    pipe: Pipe, test: Threshold, made: Made, values: PipelineValues, single: bool
) -> tuple[bool, float, float] | None:
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


def _searched(
    pipe: Pipe, tests: Sequence[tuple[Threshold, bool, float, float]], single: bool
) -> dict[Threshold, PipelineCut]:
    """Thresholds found by halving the doubles between two neighbours of the table: steps keep their order."""
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
    return {test: PipelineCut(x, up) for (test, up, _, _), x in zip(tests, found, strict=True)}


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


# Attributes of a release that a pipeline was undone for: numbers where thresholds will do, else values by name.

MOST_NAMED = 2_000  # different numbers of a column up to which each may become a value of its own


@dataclass(frozen=True, slots=True, eq=False)
class Numeric:
    """A column of the table as an attribute of numbers: the branches of each test, without children."""

    attribute: Attribute
    made: Mapping[int, Made]
    values: PipelineValues
    cuts: Mapping[Threshold, PipelineCut] = field(default_factory=dict)
    _made: dict[tuple[Test, bool | None], tuple[Branch, Branch]] = field(default_factory=dict)

    def stays_missing(self, j: int) -> bool:
        """Whether some value is still missing in a column of the model's input."""
        return self.values.missing >= 0 and bool(np.isnan(self.made[j].missing))

    def branches(self, test: Test, missing_left: bool | None) -> tuple[Branch, Branch]:
        """Left and right; ``missing_left`` is where the model sends what is still missing in its input."""
        found = self._made.get((test, missing_left))
        if found is None:
            found = self._made[test, missing_left] = self._branches(test, missing_left)
        return found

    def _branches(self, test: Test, missing_left: bool | None) -> tuple[Branch, Branch]:
        (j, limit), gaps, where = test, self.values.missing >= 0, missing_left
        assert isinstance(limit, float)
        cut = self.cuts[j, limit]
        if gaps and not np.isnan(self.made[j].missing):
            where = self.made[j].missing <= limit
        to_left, to_right = (True, None) if where else (None, True)
        if not gaps:
            to_left = to_right = None
        if cut.threshold is None:
            numbers_left = (False, None) if cut.rises else (None, False)
            return Branch(None, missing=numbers_left[0] if to_left is None else to_left), Branch(
                None, missing=numbers_left[1] if to_right is None else to_right
            )
        if cut.rises:
            return Branch(None, le=cut.threshold, missing=to_left), Branch(None, gt=cut.threshold, missing=to_right)
        return Branch(None, gt=cut.threshold, missing=to_left), Branch(None, le=cut.threshold, missing=to_right)


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """A column of the table as an attribute of named values: what is made of each value of the domain."""

    attribute: Attribute
    made: Mapping[int, FloatArray]
    values: PipelineValues
    _masks: dict[tuple[Test, bool | None], int] = field(default_factory=dict)
    _texts: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def stays_missing(self, j: int) -> bool:
        """Whether some value is still missing in a column of the model's input."""
        return bool(np.isnan(self.made[j]).any())

    @property
    def everything(self) -> int:
        """All values, as a set of bits."""
        return (1 << len(self.attribute.values or ())) - 1

    def left(self, test: Test, missing_left: bool | None) -> int:
        """The values that go left, as bits."""
        key = (test, missing_left)
        if key not in self._masks:
            goes = goes_left(self.made[test[0]], test, missing_left)
            self._masks[key] = sum(1 << i for i in np.flatnonzero(goes).tolist())
        return self._masks[key]

    def texts(self, bits: int) -> tuple[str, ...]:
        """The values of a set of bits."""
        if bits not in self._texts:
            self._texts[bits] = tuple(v for i, v in enumerate(self.attribute.values or ()) if bits >> i & 1)
        return self._texts[bits]


Undone = Numeric | Named


def undone(pipe: Pipe, tests: set[Test], columns: Sequence[PipelineValues], *, single: bool) -> dict[int, Undone]:
    """The attribute of each column of the table that the model's input is made of."""
    every = {traced.source for traced in pipe.traces.columns}
    by_source = tests_by_source(pipe, tests)
    made = {j: made_of(pipe, j, columns[t.source], single=single) for j, t in enumerate(pipe.traces.columns)}
    mine = {c: {j: made[j] for j, t in enumerate(pipe.traces.columns) if t.source == c} for c in every}
    numeric = {
        c
        for c in every
        if columns[c].numbers is not None
        and (all(pipe.traces.columns[j].ranges for j in mine[c]) or not by_source.get(c))
        and all(isinstance(t, float) and is_interval(made[j].left(t)) for j, t in by_source.get(c, ()))
    }
    asked = {(j, t): made[j] for c in numeric for j, t in by_source.get(c, ()) if isinstance(t, float)}
    cuts = cuts_of(pipe, asked, {c: columns[c] for c in numeric}, single=single)
    found: dict[int, Undone] = {}
    for c in sorted(every):
        values = columns[c]
        if c in numeric:
            attribute = Attribute(values.name, "numeric", missing=values.missing >= 0)
            found[c] = Numeric(
                attribute, mine[c], values, {test: cut for test, cut in cuts.items() if test[0] in mine[c]}
            )
        elif values.numbers is not None and len(values.texts) > MOST_NAMED:
            expected = (
                f"tests that are ranges of numbers, or at most {MOST_NAMED:,} different numbers: bins as indicators "
                "are none, so fit again with KBinsDiscretizer(encode='ordinal')"
            )
            raise invalid(pipe.source, f"column {values.name}", "X", expected, f"{len(values.texts):,} numbers")
        else:
            found[c] = _named(pipe, c, values, mine[c], single=single)
    return found


def untested(values: PipelineValues) -> Attribute:
    """The attribute of a column of the table that the model is not given."""
    if values.numbers is not None:
        return Attribute(values.name, "numeric", missing=values.missing >= 0)
    gaps = values.missing >= 0 or not values.texts
    return Attribute(values.name, "categorical", tuple(dict.fromkeys((*values.texts, *[MISSING] * gaps))))


def _named(pipe: Pipe, source: int, values: PipelineValues, made: Mapping[int, Made], *, single: bool) -> Named:
    """A column whose values are named: those of the table, those that an encoder was told of, and all others."""
    texts = list(values.texts)
    numbers = {j: [*m.numbers.tolist()] for j, m in made.items()}

    def add(text: str, answer: object) -> None:
        texts.append(text)
        for j in made:
            numbers[j].append(float(in_precision(column_of(answer, j), single)[0]))

    for told in pipe.traces.told.get(source, ()):
        text = str(told)
        if text not in texts and told == told and told is not None:
            answer = pipe.answers(source, told)
            if answer is not None:
                add(text, answer)
    if values.missing >= 0:
        if MISSING in texts:
            raise invalid(pipe.source, f"column {values.name}", "X", f"no value {MISSING!r} beside missing ones", "it")
        texts.append(MISSING)
        for j, m in made.items():
            numbers[j].append(m.missing)
    if values.numbers is None or not any(pipe.traces.columns[j].ranges for j in made):  # else they go by their size
        answer = pipe.answers(source, _unknown(values))
        if answer is not None and OTHER not in texts:
            add(OTHER, answer)
    arrays = {j: np.array(each, np.float64) for j, each in numbers.items()}
    order = _ordinal(arrays, len(values.texts))
    domain = tuple(texts[i] for i in order)
    return Named(Attribute(values.name, "categorical", domain), {j: a[order] for j, a in arrays.items()}, values)


def _unknown(values: PipelineValues) -> object:
    """A value of the kind of a column that nobody has."""
    if values.numbers is not None:
        return float(np.floor(np.abs(values.numbers).max() if len(values.numbers) else 0.0)) + 0.5
    text = OTHER
    while text in values.texts:
        text += "?"
    return text


def _ordinal(made: Mapping[int, FloatArray], n: int) -> list[int]:
    """The values in the order of their codes, where some column has a code for each of the first ``n``."""
    for found in made.values():
        if n > 2 and len(np.unique(found[:n])) == n:
            return [int(i) for i in np.argsort(found, kind="stable")]
    return list(range(len(next(iter(made.values()), []))))


# Trees over a model's input as trees over the table: every split in its columns and values.

GAP = 2.0**-23  # numbers closer than this are taken for one by a split of scikit-learn, see `split_choice.FEATURE_GAP`

# A test of a model's input, and whether what is missing there goes left; None where the model does not say
Asked = tuple[Test, bool | None]


def input_name(j: int) -> str:
    """The name of a column of a model's input."""
    return f"z{j}"


def input_number(name: str | None) -> int:
    """The column of a model's input that has a name."""
    return int((name or "z")[1:])


def _asked(nodes: Columns) -> tuple[list[Asked], IntArray]:
    """The tests over a model's input, and the index of the test of each inner node.

    Each test says whether missing values go left, if the model says so. Tests of numbers that are equal are one.
    """
    inner = nodes.inner
    first = nodes.branch_ends[inner]
    attribute, low = nodes.attribute[inner], nodes.le[first]
    left, right = nodes.missing[first], nodes.missing[first + 1]
    # Where the left one has no bound it has no numbers, or all.
    limit = np.where(np.isnan(low), np.where(left == 0, np.inf, -np.inf), low)
    goes = np.where(left == 1, 1, np.where(right == 1, 0, NOTHING))
    domains = [attribute.values for attribute in nodes.attributes]
    named = np.flatnonzero(np.array([each is not None for each in domains], bool)[attribute])
    limits, which = np.unique(limit, return_inverse=True)
    key = (attribute * len(limits) + which) * 3 + goes
    key[named] = -2 - np.arange(len(named))
    _, example, which = np.unique(key, return_index=True, return_inverse=True)
    number = [input_number(each.name) for each in nodes.attributes]
    taken = (False, True, None)
    rows = zip(attribute[example].tolist(), limit[example].tolist(), goes[example].tolist(), strict=True)
    found: list[Asked] = [((number[j], most), taken[where]) for j, most, where in rows]
    for row in named.tolist():
        j, held = int(attribute[row]), slice(*nodes.value_ends[first[row] : first[row] + 2].tolist())
        values = frozenset(map((domains[j] or ()).__getitem__, nodes.values[held].tolist()))
        found[which[row]] = (number[j], values), MISSING in values
    return found, which


def tests_of(trees: Sequence[Nodes]) -> set[Test]:
    """All tests of trees over a model's input."""
    return {test for nodes in trees for test, _ in _asked(nodes.columns)[0]}


def rewritten(source: str, nodes: Nodes, undone: Mapping[int, Undone], attributes: Sequence[Attribute]) -> Nodes:
    """The nodes of a tree, in depth-first order, with their tests in columns of the table."""
    held = nodes.columns
    inner = held.inner
    tests, which = _asked(held)
    columns = [undone[test[0]] for test, _ in tests]
    lost = [w is None and c.stays_missing(t[0]) for (t, w), c in zip(tests, columns, strict=True)]
    for row in np.flatnonzero(np.array(lost, bool)[which])[:1].tolist():
        expected = "a model that says where missing values go: fill them with SimpleImputer, and fit again"
        name = columns[which[row]].attribute.name
        raise invalid(source, f"node {held.ids[inner[row]]}", name, expected, "missing values there")
    index = {attribute.name: j for j, attribute in enumerate(attributes)}
    attribute = np.full(len(held), NOTHING)
    attribute[inner] = np.array([index[column.attribute.name] for column in columns], np.int64)[which]
    nothing = (Branch(None), Branch(None))
    pairs = [
        column.branches(test, where) if isinstance(column, Numeric) else nothing
        for column, (test, where) in zip(columns, tests, strict=True)
    ]
    taken = TakenBranch(len(inner))

    def of_each(values: Iterable[float | None], none: float) -> FloatArray:
        """What the two branches of every test say, as those of all inner nodes."""
        told = np.array([none if value is None else value for value in values], np.float64)
        return told.reshape(-1, 2)[which].ravel()

    named = {index[u.attribute.name]: u for u in undone.values() if isinstance(u, Named)}
    right = held.child[held.branch_ends[inner] + 1]
    end = ends_of(len(held), inner.tolist(), right.tolist()) if named else []
    for j, column in named.items():
        rows = np.flatnonzero(attribute[inner] == j)
        chosen = [column.left(*tests[k]) for k in which[rows].tolist()]
        sides = reached(column.everything, inner[rows].tolist(), right[rows].tolist(), chosen, end)
        for at, (low, high) in zip(inner[rows].tolist(), sides, strict=True):
            if not low or not high:
                raise _one_sided(source, held.ids[at], column.attribute.name)
        taken.take(rows, sides)
    value_ends, values = taken.arrays()
    return Nodes(
        replace(
            held,
            attributes=tuple(attributes),
            attribute=attribute,
            le=of_each((each.le for pair in pairs for each in pair), np.nan),
            gt=of_each((each.gt for pair in pairs for each in pair), np.nan),
            missing=of_each((each.missing for pair in pairs for each in pair), NOTHING).astype(np.int64),
            value_ends=value_ends,
            values=values,
        )
    )


def _one_sided(source: str, node: str, name: str) -> Exception:
    expected = (
        "the table that fit was given, in which every split divides the values that reach it (CatBoost's do not behind "
        "encoders: give it the categories themselves, cat_features=)"
    )
    return invalid(source, f"node {node}", "X", expected, f"none with both of its sides in {name}")


def induction_of(tree: Tree, undone: Mapping[int, Undone], attributes: Sequence[Attribute]) -> Induction:
    """What is known of the choice of the splits: attributes whose every split in the table competed, no others."""
    stated, mine = tree.induction, tuple(dict.fromkeys(u.attribute.name for u in undone.values()))
    if stated.among is not None:
        stated = replace(stated, among=mine)
    if stated.impurity is not None and stated.candidates == "none":
        cut = all(len(u.made) == 1 and "ordinal" in _encodings(u, {*undone}) for u in undone.values())
        return stated if cut else replace(stated, impurity=None)
    if stated.impurity is None or stated.candidates != "thresholds":
        return stated
    names = [*map(input_name, undone)] if stated.compared is None else stated.compared
    competed = {input_number(name) for name in names}
    columns = {u.attribute.name: u for u in undone.values()}
    known = {name: _encodings(u, competed) for name, u in columns.items()}
    best: Encoding = "onehot" if _many(known, "onehot") > _many(known, "ordinal") else "ordinal"
    compared = tuple(name for name in columns if best in known[name])
    if not compared:
        return Induction(stated.algorithm, among=mine)
    if len(compared) < len(mine):
        stated = replace(stated, among=mine)
    every = {attribute.name for attribute in attributes} <= {*compared}  # a quasi-identifier need not be in the model
    return replace(stated, encoding=best, compared=None if every else compared)


def _many(known: Mapping[str, frozenset[Encoding]], encoding: Encoding) -> int:
    return sum(encoding in each for each in known.values())


def _encodings(column: Undone, competed: set[int]) -> frozenset[Encoding]:
    """Encodings of an attribute in which all splits of its values in the table competed."""
    made = [made for j, made in column.made.items() if j in competed]
    both: frozenset[Encoding] = frozenset(("ordinal", "onehot"))
    if isinstance(column, Numeric):
        whole = column.values.missing < 0 and any(each.same or _apart(each.numbers) for each in made)  # type: ignore[union-attr]
        return both if whole else frozenset()
    values = column.attribute.values or ()
    there = {*column.values.texts, *[v for v in values if v == MISSING]}
    rows = np.array([i for i, value in enumerate(values) if value in there], np.int64)
    found: set[Encoding] = set()
    arrays = [np.asarray(each, np.float64)[rows] for each in made]
    if any(_apart(each) for each in arrays):
        found.add("ordinal")
    alone = {int(np.flatnonzero(mask)[0]) for each in arrays for mask in _alone(each)}
    if len(alone) == len(rows) or (len(rows) == 2 and alone):
        found.add("onehot")
    return both if found and len(rows) <= 2 else frozenset(found)


def _apart(numbers: FloatArray) -> bool:
    """Whether numbers are sorted, and so far apart that every cut between two of them competes."""
    steps = np.diff(numbers)
    return bool((steps > GAP).all() or (steps < -GAP).all())


def _alone(numbers: FloatArray) -> Iterator[np.typing.NDArray[np.bool_]]:
    """Masks of the only value with a number, where all others have another one."""
    found = np.unique(numbers)
    if len(found) == 2 and found[1] - found[0] > GAP:
        yield from (numbers == each for each in found if (numbers == each).sum() == 1)


SOURCE = "model"


def is_pipeline(model: object) -> bool:
    """Whether a model, or the best one of a search, is a pipeline of scikit-learn."""
    model = searched(model)
    return type(model).__name__ == "Pipeline" and type(model).__module__.startswith("sklearn.")


@uncollected()
def release_of(
    model: Any,
    table: DataFrame,
    *,
    target: str,
    classes: Sequence[str] | None = None,
    qi: Sequence[str] | None = None,
    bins: Sequence[float] | None = None,
    values: Sequence[float] | None = None,
    read: Callable[..., Release] | None = None,
    sample_weight: FloatArray | None = None,
) -> Release:
    """A fitted model, or a pipeline that ends in one, as a release whose splits are in columns of the table.

    ``read`` makes a release over the columns of its input where the last step is no model of scikit-learn; the rest is
    as of `maxent.from_sklearn`.
    """
    steps, final = _flat(model)
    said: dict[str, Any] = {"classes": classes, "bins": bins, "values": values}
    said |= {} if sample_weight is None else {"sample_weight": sample_weight}
    asked = None if qi is None else tuple(qi)
    given = _model_columns(model, steps, final, table, target)
    header = [str(label) for label in table.columns]
    if asked is not None and (unknown := [name for name in asked if name not in header]):
        expected = f"columns of the table ({shorten(', '.join(header))})"
        raise invalid("options", ARGUMENT, "qi", expected, f"{unknown[0]}{close_to(unknown[0], header)}")
    taken = [header[i] for i in given]
    frame = read_values(table, [name for name in header if name in taken or name in (asked or ())])
    traces = trace(SOURCE, steps, len(given))
    if not steps and read is None and not all(is_numeric(frame, name) for name in taken):
        return _with_attributes(_by_itself(final, table.iloc[:, given], target, said), frame, header, asked)
    pipe = Pipe(SOURCE, [step for _, step in steps], table.iloc[:, given], traces)
    inner = _over_input(final, pipe, target, said, read)
    columns = [values_of(frame, name) for name in taken]
    nodes = [tree.nodes for tree in inner.trees if isinstance(tree.nodes, Nodes)]
    single = read is None and not type(final).__name__.startswith("Hist")  # files have thresholds of doubles
    found = undone(pipe, tests_of(nodes), columns, single=single)
    by_input = {j: found[traced.source] for j, traced in enumerate(pipe.traces.columns)}
    mine = {u.attribute.name: u.attribute for u in found.values()}
    release = _with_attributes(replace(inner, attributes=tuple(mine.values())), frame, header, asked)
    trees = tuple(
        replace(
            tree,
            nodes=rewritten(SOURCE, held, by_input, release.attributes),
            induction=induction_of(tree, by_input, release.attributes),
        )
        for tree, held in zip(inner.trees, nodes, strict=True)
    )
    return replace(release, trees=trees)


def _by_itself(final: Any, table: DataFrame, target: str, said: Mapping[str, Any]) -> Release:
    """A model that takes categories as they are."""
    names = [str(label) for label in table.columns]
    return from_sklearn(final, target=target, features=names, X=table, **said)


def _with_attributes(release: Release, frame: Frame, header: Sequence[str], qi: Sequence[str] | None) -> Release:
    """A release with its attributes in the order of the table, their roles, and quasi-identifiers that it lacks."""
    mine = {attribute.name: attribute for attribute in release.attributes}
    attributes = tuple(
        _with_role(mine.get(name) or untested(values_of(frame, name)), qi)
        for name in header
        if name in mine or name in (qi or ())
    )
    if any(attribute.name == release.target.name for attribute in attributes):
        raise invalid("options", ARGUMENT, "target", "a name that no attribute has", shorten(release.target.name))
    return replace(release, attributes=attributes)


def read_values(table: DataFrame, names: Sequence[str]) -> Frame:
    """Columns of a table as tables of people are read: every value in it is one, however it is spelled."""
    frame = from_pandas(table, "X", names)
    if frame.problems:
        raise InvalidInput("X", frame.problems)
    return understood(frame, Reader(), {name: column.texts() for name, column in frame.columns.items()})


def _with_role(attribute: Attribute, qi: Sequence[str] | None) -> Attribute:
    return attribute if qi is None or attribute.name in qi else replace(attribute, role="private")


def _flat(model: Any) -> tuple[list[tuple[str, Any]], Any]:
    """The steps before the last of a pipeline, and that; those of a pipeline at its end, too."""
    steps: list[tuple[str, Any]] = []
    while is_pipeline(model := searched(model)):
        steps += [(name, step) for name, step in model.steps[:-1] if step is not None and step != "passthrough"]
        model = model.steps[-1][1]
    return steps, model


def final_of(model: Any) -> Any:
    """The model at the end of a pipeline; a model that is none itself."""
    return _flat(model)[1]


_SEARCHED = "scores of the search (publish its best_estimator_ alone)"
_BLIND = (*_KINDS, "VarianceThreshold")  # steps that are not told the classes, or hold others


def aside_in(model: Any) -> str:
    """What a model, its steps and a search keep beside its trees, in words; empty where they keep nothing."""
    found: dict[str, None] = {}
    while is_pipeline(model):
        found |= dict.fromkeys([_SEARCHED] * (searched(model) is not model))
        model = searched(model)
        found |= dict.fromkeys(text for _, step in model.steps[:-1] for text in _learned(step))
        model = model.steps[-1][1]
    found |= dict.fromkeys([_SEARCHED] * (searched(model) is not model))
    model = searched(model)
    if type(model).__module__.split(".")[0] in ("xgboost", "lightgbm"):
        evaluated = any(getattr(model, name, None) for name in ("evals_result_", "_evals_result"))
        found |= dict.fromkeys([EVALUATED] * evaluated)
    return joined(*found, aside_of(model))


def joined(*asides: str) -> str:
    """What several parts of a model keep, each once."""
    return "; ".join(dict.fromkeys(each for text in asides for each in text.split("; ") if each))


def _learned(step: Any) -> Iterator[str]:
    """What a step, or one inside of it, keeps that it learned from the classes."""
    if step is None or isinstance(step, str):
        return
    inner = [pair[1] for name in ("steps", "transformers_", "transformer_list") for pair in getattr(step, name, ())]
    for each in inner:
        yield from _learned(each)
    name = type(step).__name__
    if name not in _BLIND or not _is_of_scikit_learn(step):
        kept = [key for key in vars(step) if key.endswith("_") and key not in ("n_features_in_", "feature_names_in_")]
        yield f"what {name} learned from the classes ({', '.join(kept) or 'its choice of columns'})"


def _over_input(
    final: Any, pipe: Pipe, target: str, said: Mapping[str, Any], read: Callable[..., Release] | None
) -> Release:
    """The model as a release over the columns of its input."""
    names = [input_name(j) for j in range(len(pipe.traces.columns))]
    # The name of the target must not be that of a column of the input.
    if read is not None:
        release = read(final, target="class", features=names, rows=pipe.input, **said)
        held = [packed(SOURCE, tree.nodes, release.attributes, release.target.classes) for tree in release.trees]
        trees = tuple(replace(tree, nodes=nodes) for tree, nodes in zip(release.trees, held, strict=True))
        release = replace(release, trees=trees)
    else:
        rows = pipe.input.tocsr() if hasattr(pipe.input, "tocsr") else pipe.input  # they prove which splits competed
        release = from_sklearn(final, target="class", features=names, X=rows, **said)
    return replace(release, target=replace(release.target, name=target))


def _model_columns(
    model: Any, steps: Sequence[tuple[str, Any]], final: Any, table: DataFrame, target: str
) -> list[int]:
    """Positions of the columns that the first step is given, in its order."""
    header = [str(label) for label in table.columns]
    first = steps[0][1] if steps else final
    names = getattr(first, "feature_names_in_", None)
    if names is not None:
        problems = list(_absent(names, header))
        if problems:
            raise InvalidInput("X", problems)
        return [header.index(str(name)) for name in names]
    found = [i for i, name in enumerate(header) if name != target]
    width = getattr(first, "n_features_in_", len(found))
    if len(found) != width:
        expected = f"{width} columns, as many as fit was given (without names), and the target"
        raise invalid("X", ARGUMENT, "X", expected, f"{len(found)} beside the target")
    return found


def _absent(names: Sequence[str], header: Sequence[str]) -> Iterator[Problem]:
    for name in map(str, names):
        if name not in header:
            yield Problem("columns", name, "a column of this name, as fit had it", f"none{close_to(name, header)}")
