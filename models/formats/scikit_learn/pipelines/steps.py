"""Steps of a fitted pipeline: the column of the table that each column of the model's input comes from.

Only steps are followed that make each of their columns of a single column. What they do to its values is not worked out
here: they are asked, see `maxent.models.formats.scikit_learn.pipelines.table`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maxent.models.errors import InvalidInput, invalid
from maxent.models.tables.frame import shorten


@dataclass(frozen=True, slots=True)
class Traced:
    """A column between two steps.

    ``source``: the column of the table that it is made of. ``same``: whether values are in it as they are in the table,
    wherever the table has one. ``ranges``: whether it is made of all numbers by their size; else of single values, such
    as those that an encoder knows.
    """

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
    """Follow the columns of a table through the steps before a model.

    ``source``: what problems call the model. ``width``: columns of the table that the first step is given.
    """
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
