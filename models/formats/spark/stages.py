"""The stages of a pipeline of Spark that can be undone: the columns that each makes of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf, isfinite, isnan
from typing import Any

from maxent.models.formats.json_values import Values
from maxent.models.formats.pmml.expressions.comparisons import compare
from maxent.models.formats.pmml.expressions.functions import apply
from maxent.models.formats.pmml.expressions.intervals import parts_inside
from maxent.models.formats.pmml.expressions.pieces import (
    Expr,
    Piece,
    Special,
    Unknown,
    Value,
    combine,
    constant,
)
from maxent.models.formats.spark.features import MOST, Features, Made, Make, Stage, replaced_by
from maxent.models.tables.frame import shorten


def _indexer(features: Features, stage: Stage) -> list[Expr]:
    rows = stage.data()
    lists = rows["labelsArray"][0] if "labelsArray" in rows else [rows.get("labels", [[]])[0]]
    if not isinstance(lists, list) or len(lists) != len(stage.inputs):
        raise Unknown("labels for each column")
    found = []
    for name, output, labels in zip(stage.inputs, stage.outputs, lists, strict=True):
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise Unknown("labels that are text")
        other = float(len(labels)) if stage.keeps else None
        features.labels[output] = (name, tuple(labels))
        found.append(features.categories(name, labels, other))
    return found


def _assembler(features: Features, stage: Stage) -> list[list[Expr]]:
    found = [each for name in stage.inputs for each in features.vector(name)]
    if len(found) > MOST:
        raise Unknown(f"at most {MOST:,} features")
    return [found if stage.keeps else [replaced_by(each, Special.INVALID) for each in found]]


def _one_hot(features: Features, stage: Stage) -> list[list[Expr]]:
    sizes = stage.row("categorySizes")
    if not isinstance(sizes, list) or len(sizes) != len(stage.inputs) or sum(sizes) > MOST:
        raise Unknown("a number of categories for each column")
    drops = stage.options.raw.get("dropLast") is not False
    found = []
    for name, size in zip(stage.inputs, sizes, strict=True):
        code = features.number(name)
        size = int(size)
        known = combine([code], _knowing(size, stage.keeps))
        places = range(size + stage.keeps - drops)
        found.append([_as_number(apply("equal", [known, constant(float(place))])) for place in places])
    return found


def _knowing(size: int, keeps: bool) -> Callable[[Sequence[Value], float, float], list[Piece]]:
    return lambda values, low, high: [(high, _known(values[0], size, keeps))]


def _known(value: Value, size: int, keeps: bool) -> Value:
    """A code, that of all others beyond the last one where they are kept."""
    if not isinstance(value, float) or 0 <= value < size:
        return value
    return float(size) if keeps else Special.INVALID


def _as_number(found: Expr) -> Expr:
    return combine([found], lambda v, low, high: [(high, float(v[0]) if isinstance(v[0], bool) else v[0])])


def _scaled(names: tuple[str, str], how: Callable[[Values], tuple[bool, bool]]) -> Callable[[Features, Stage], Any]:
    """A scaler: a number less one, by the inverse of another."""

    def make(features: Features, stage: Stage) -> list[list[Expr]]:
        inner = features.vector(stage.inputs[0])
        shifts, scales = (_vector(stage, name, len(inner)) for name in names)
        shifted, divided = how(stage.options)
        found = []
        for each, shift, scale in zip(inner, shifts, scales, strict=True):
            made = apply("-", [each, constant(shift)]) if shifted else each
            factor = 0.0 if scale == 0 else 1 / scale
            found.append(apply("*", [made, constant(factor)]) if divided else made)
        return [found]

    return make


def _vector(stage: Stage, name: str, size: int) -> list[float]:
    """A vector of the data with a number for each feature; zeros without a name."""
    if not name:
        return [0.0] * size
    rows = stage.vector(name)
    if len(rows) != size or not all(isinstance(value, float) and isfinite(value) for value in rows):
        raise Unknown(f"{name} with a number for each feature")
    return rows


def _min_max(features: Features, stage: Stage) -> list[list[Expr]]:
    inner = features.vector(stage.inputs[0])
    least, most = (_vector(stage, name, len(inner)) for name in ("originalMin", "originalMax"))
    low, high = stage.options.number("min"), stage.options.number("max")
    found = []
    for each, a, b in zip(inner, least, most, strict=True):
        if a == b:
            found.append(combine([each], lambda v, x, y: [(y, v[0] if v[0] is None else 0.5 * (high + low))]))
            continue
        by = apply("*", [apply("-", [each, constant(a)]), constant((high - low) / (b - a))])
        found.append(apply("+", [by, constant(low)]))
    return [found]


def _binarizer(features: Features, stage: Stage) -> list[Made]:
    thresholds = stage.options.raw.get("thresholds") or [stage.options.number("threshold")] * len(stage.inputs)
    if not isinstance(thresholds, list) or len(thresholds) != len(stage.inputs):
        raise Unknown("a threshold for each column")
    found: list[Made] = []
    for name, threshold in zip(stage.inputs, thresholds, strict=True):
        made = [apply("threshold", [each, constant(float(threshold))]) for each in features.vector(name)]
        found.append(made if features.is_vector(name) else made[0])
    return found


def _bucketizer(features: Features, stage: Stage) -> list[Expr]:
    lists = stage.options.raw.get("splitsArray") or [stage.options.raw.get("splits")]
    if not isinstance(lists, list) or len(lists) != len(stage.inputs):
        raise Unknown("splits for each column")
    found = []
    for name, raw in zip(stage.inputs, lists, strict=True):
        splits = [_split(value) for value in raw] if isinstance(raw, list) else []
        if len(splits) < 3 or any(not a < b for a, b in pairwise(splits)):
            raise Unknown("splits that rise")
        found.append(combine([features.number(name)], _bucket(splits, stage.keeps)))
    return found


def _split(value: object) -> float:
    known = {"-Inf": -inf, "Inf": inf, "-Infinity": -inf, "Infinity": inf}
    if isinstance(value, str) and value in known:
        return known[value]
    if isinstance(value, (int, float)) and not isnan(value):
        return float(value)
    raise Unknown("splits that are numbers")


def _bucket(splits: Sequence[float], keeps: bool) -> Callable[[Sequence[Value], float, float], list[Piece]]:
    def rule(values: Sequence[Value], low: float, high: float) -> list[Piece]:
        value = values[0]
        if value is None:
            return [(high, float(len(splits) - 1) if keeps else Special.INVALID)]
        if isinstance(value, Special):
            return [(high, value)]
        parts: list[Piece] = [(high, Special.INVALID)]
        for number, (a, b) in enumerate(pairwise(splits)):
            news: list[Piece] = []
            start = low
            for upper, there in parts:
                if there is not Special.INVALID:
                    news.append((upper, there))
                else:
                    inside = parts_inside(value, (a, True, b, number == len(splits) - 2), start, upper)
                    news += [(to, float(number) if is_in else Special.INVALID) for to, is_in in inside]
                start = upper
            parts = news
        return parts

    return rule


def _imputer(features: Features, stage: Stage) -> list[Expr]:
    rows = stage.data()
    absent = stage.options.raw.get("missingValue", "NaN")
    found = []
    for name in stage.inputs:
        surrogate = rows.get(name, [None])[0]
        if not isinstance(surrogate, (int, float)) or not isfinite(surrogate):
            raise Unknown(f"a surrogate for {shorten(name)}")
        made = features.number(name)
        if isinstance(absent, (int, float)) and isfinite(absent):
            made = combine([made], _replacing(float(absent), float(surrogate)))
        found.append(replaced_by(made, float(surrogate)))
    return found


def _replacing(old: float, new: float) -> Callable[[Sequence[Value], float, float], Iterator[Piece]]:
    def rule(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
        if values[0] is None or isinstance(values[0], Special):
            yield high, values[0]
            return
        for upper, is_it in compare("equal", [values[0], old], low, high):
            yield upper, new if is_it else values[0]

    return rule


def _vector_indexer(features: Features, stage: Stage) -> list[list[Expr]]:
    inner = features.vector(stage.inputs[0])
    maps = dict(stage.row("categoryMaps") or ())
    found = list(inner)
    for place, pairs in maps.items():
        if not isinstance(place, int) or not 0 <= place < len(inner):
            raise Unknown("maps of features that are there")
        known = {float(value): float(code) for value, code in dict(pairs).items()}
        other: Value = float(len(known)) if stage.keeps else Special.INVALID
        found[place] = combine([inner[place]], _coded(known, other))
    return [found]


def _coded(known: Mapping[float, float], other: Value) -> Callable[[Sequence[Value], float, float], list[Piece]]:
    def rule(values: Sequence[Value], low: float, high: float) -> list[Piece]:
        if values[0] is None or isinstance(values[0], Special):
            return [(high, Special.INVALID if values[0] is None else values[0])]
        parts: list[tuple[float, Value, bool]] = [(high, other, False)]
        for number, code in known.items():
            news: list[tuple[float, Value, bool]] = []
            start = low
            for upper, value, done in parts:
                if done:
                    news.append((upper, value, done))
                else:
                    for to, is_it in compare("equal", [values[0], number], start, upper):
                        news.append((to, code if is_it else other, is_it))
                start = upper
            parts = news
        return [(upper, value) for upper, value, _ in parts]

    return rule


# Those that are known, by the names of their classes
STAGES: dict[str, Make] = {
    "StringIndexerModel": _indexer,
    "VectorAssembler": _assembler,
    "OneHotEncoderModel": _one_hot,
    "OneHotEncoderEstimatorModel": _one_hot,
    "StandardScalerModel": _scaled(
        ("mean", "std"), lambda o: (o.raw.get("withMean") is True, o.raw.get("withStd") is not False)
    ),
    "MaxAbsScalerModel": _scaled(("", "maxAbs"), lambda o: (False, True)),
    "RobustScalerModel": _scaled(
        ("median", "range"), lambda o: (o.raw.get("withCentering") is True, o.raw.get("withScaling") is not False)
    ),
    "MinMaxScalerModel": _min_max,
    "Binarizer": _binarizer,
    "Bucketizer": _bucketizer,
    "ImputerModel": _imputer,
    "VectorIndexerModel": _vector_indexer,
}
