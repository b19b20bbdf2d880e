"""XGBoost models saved as JSON (1.0 to 3.x): trees of scores, learning rate and penalty."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import bytes_of, read_json_object, uncollected
from maxent.models.formats.assemble import packed
from maxent.models.formats.boosting.xgboost import (
    PARAMETERS,
    GrownXgboost,
    XgboostModel,
    base_of,
    categorical,
    class_names,
    codes_by_node,
    columns_of,
    link_of,
    numeric,
)
from maxent.models.formats.boosting.xgboost import converted as released
from maxent.models.formats.json_values import Values
from maxent.models.formats.proof import read_training
from maxent.models.formats.release_reader import EVALUATED, Converted, Wanted, model_reader
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Branch, Node

# Learning rate and L2 penalty that the values of XGBoost's trees were computed with, as weights of inner nodes tell.
#
# A leaf has the value ``-rate G / (H + lambda)``, an inner node the weight ``-G / (H + lambda)`` without the rate, each
# with its H, the sum of second derivatives (Chen & Guestrin 2016, eq. 5). The G of two nodes add up to that of the node
# above: an equation for each inner node, in two unknowns. Under an L1 penalty, or a limit of steps, they do not hold.

_OFF = 1e-6  # relative error of sums in single precision
_DIGITS = 5  # digits of the numbers that people choose
_APART = 1e-3  # relative distance of numbers that the equations have to tell apart
_LARGEST = 1e30  # weights and sums from which on nothing is computed
_FEWEST = 3  # equations that prove two numbers: one more than there are unknowns


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The nodes of a tree: children, weights (with the rate at leaves), and sums of second derivatives; shapes (n,)."""

    left: IntArray
    right: IntArray
    weight: FloatArray
    hessian: FloatArray


def training_of(trees: Iterable[Weights | None], rate: float | None, l2: float | None) -> tuple[float, float] | None:
    """The learning rate and the L2 penalty of all trees; None where weights are not there, or do not prove them."""
    every = list(trees)
    found = [_equations(tree) for tree in every if tree is not None]
    rows = np.concatenate([np.zeros((0, 8)), *found])
    if len(found) < len(every) or len(rows) < _FEWEST or not (np.abs(rows) < _LARGEST).all():
        return None
    for penalty in (l2,) if l2 is not None else (1.0, 0.0, *_guesses(rows)):
        terms = _terms(rows, penalty)
        best = rate if rate is not None else _rate(terms)
        for digits in range(1, _DIGITS + 1) if rate is None else (17,):
            rounded = float(f"{best:.{digits}g}")
            if _fits(terms, rounded) and not (_fits(terms, rounded * (1 + _APART)) or _fits_others(rows, penalty)):
                return rounded, penalty
    return None


def _rate(terms: FloatArray) -> float:
    """The rate that fits best."""
    return float(terms[:, 0] @ terms[:, 1] / max(float(terms[:, 1] @ terms[:, 1]), 1e-300))


def _fits(terms: FloatArray, rate: float) -> bool:
    """Whether all equations hold with this rate."""
    off = np.abs(terms[:, 0] - rate * terms[:, 1])
    return bool(rate > 0 and (off <= _OFF * (terms[:, 2] + rate * terms[:, 3])).all())


def _fits_others(rows: FloatArray, penalty: float) -> bool:
    """Whether all equations hold with another penalty, too, which then is not known."""
    others = (_terms(rows, penalty + sign * _APART * (1 + penalty)) for sign in (1, -1))
    return any(_fits(terms, _rate(terms)) for terms in others)


def _equations(tree: Weights) -> FloatArray:
    """Weight and H of an inner node, and of the two below, with whether each is a leaf: shape (n_inner, 8)."""
    inner = np.flatnonzero(tree.left >= 0)
    below = [tree.left[inner], tree.right[inner]]
    if len(inner) and not all((child >= 0).all() and (child < len(tree.left)).all() for child in below):
        return np.zeros((0, 8))
    parts: list[Sequence[float] | FloatArray] = [tree.weight[inner], tree.hessian[inner]]
    for child in below:
        parts += [tree.weight[child], tree.hessian[child], (tree.left[child] < 0).astype(np.float64)]
    return np.column_stack(parts)


def _terms(rows: FloatArray, penalty: float) -> FloatArray:
    """Both sides of ``a = rate b``, and the sums of the absolute terms of each; shape (n, 4)."""
    above = rows[:, 0] * (rows[:, 1] + penalty)
    a, b = np.zeros(len(rows)), above.copy()
    size_a, size_b = np.zeros(len(rows)), np.abs(above)
    for first in (2, 5):
        term = rows[:, first] * (rows[:, first + 1] + penalty)
        leaf = rows[:, first + 2] > 0
        a += np.where(leaf, term, 0.0)
        size_a += np.where(leaf, np.abs(term), 0.0)
        b -= np.where(leaf, 0.0, term)
        size_b += np.where(leaf, 0.0, np.abs(term))
    return np.column_stack([a, b, size_a, size_b])


def _guesses(rows: FloatArray) -> list[float]:
    """Penalties near the one that fits nodes above two leaves best, rounded to ever more digits."""
    pair = rows[(rows[:, 4] > 0) & (rows[:, 7] > 0)]
    w, h, left, h_left, right, h_right = (pair[:, i] for i in (0, 1, 2, 3, 5, 6))
    # rate w H + rate lambda w - lambda (v + v') = v H + v' H', linear in rate, rate lambda and lambda.
    matrix = np.column_stack([w * h, w, -(left + right)])
    if len(pair) < _FEWEST:
        return []
    fit, *_ = np.linalg.lstsq(matrix, left * h_left + right * h_right, rcond=None)
    return [float(f"{fit[2]:.{digits}g}") for digits in range(1, _DIGITS + 1) if fit[2] >= 0]


# What trains where the estimator of scikit-learn, which XGBoost 1 writes into its files, states nothing
_DEFAULTS = {"learning_rate": 0.3, "reg_lambda": 1.0}


@model_reader(
    "xgboost-json",
    "a model that XGBoost saved as JSON",
    r'\{\s*"learner"\s*:\s*\{\s*"(attributes|feature_names|gradient_booster)"',
    parameters=PARAMETERS,
)
@uncollected()
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    return converted(shown_path(path), read_json_object(path), wanted, reader)


def converted(source: str, content: Mapping[str, object], wanted: Wanted, reader: Reader) -> Converted:
    """Convert the document of a model, in whichever notation its file has it."""
    document = Values(source, "document", content)
    learner = document.child("learner")
    objective = learner.child("objective").text("name")
    link = link_of(source, "learner, objective", objective)
    params = learner.child("learner_model_param")
    n_classes = 2 if objective.startswith("binary") else params.whole("num_class", 2)
    classes = class_names(wanted, n_classes)
    base = base_of(params.text("base_score"), link, classes)
    if base is None:
        params.refuse("base_score", "a probability" if link == "logit" else "a number, or one for each class")
    booster, drops = _booster(learner)
    training = read_training(wanted, reader)
    columns = columns_of(learner, booster, params.whole("num_feature"), wanted, training)
    group = booster.wholes("tree_info")
    n = len(booster.items("trees"))
    if not n or n != len(group):
        raise invalid(source, booster.where, "trees", "a tree for each of tree_info, at least one", f"{n} trees")
    if group.min() < 0 or group.max() >= (n_classes if link == "softmax" else 1):
        booster.refuse("tree_info", f"classes from 0 to {n_classes - 1}")
    iterations = _iterations(booster, group, n_classes if link == "softmax" else 1)
    best, rate, l2 = _said(learner)
    doubt = _doubt(booster, dropped=drops is not None)
    second = _second_weight(learner.child("objective")) if link == "logit" else 1.0
    if not doubt and not second > 0:
        doubt = "records of one of the classes count for nothing (scale_pos_weight)"
    if not doubt and "alpha" not in wanted.parameters:
        rate, l2 = training_of(map(_weights, booster.children("trees")), rate, l2) or (rate, l2)
    weights, lost = [1.0] * n if drops is None else drops, []
    if best is not None and best < iterations[-1]:
        if "scikit_learn" in learner.child("attributes").raw:
            weights = [w if i <= best else 0.0 for w, i in zip(weights, iterations.tolist(), strict=True)]
            lost.append(f"predictions by trees after the best iteration, {best}, which the estimator leaves out")
        else:
            lost.append(f"predictions of the best iteration, {best}, alone: all trees predict, as in Booster.predict")

    def grown(of: Sequence[Attribute]) -> list[GrownXgboost]:
        return [_tree(raw, of) for raw in booster.children("trees")]

    version = ".".join(map(str, document.wholes("version").tolist())) if "version" in document.raw else ""
    model = XgboostModel(
        source, link, classes, columns, group.tolist(), iterations.tolist(), weights, drops is not None, base, grown,
        f"XGBoost {version}".strip(), tuple(lost), rate, l2, doubt, second, _scored(learner),
    )  # fmt: skip
    return released(model, wanted, training)


def _scored(learner: Values) -> tuple[str, ...]:
    """How good the trees were found to be, which is told of some people by how many are right."""
    attributes = learner.raw.get("attributes")
    told = isinstance(attributes, dict) and "best_score" in attributes
    return (EVALUATED,) if told else ()


def _booster(learner: Values) -> tuple[Values, list[float] | None]:
    """The trees, and their weights where some were dropped (DART)."""
    booster = learner.child("gradient_booster")
    name = booster.text("name")
    if name == "dart":
        model = booster.child("gbtree").child("model")
        return model, booster.floats("weight_drop", len(model.items("trees"))).tolist()
    if name != "gbtree":
        booster.refuse("name", "gbtree or dart, which have trees")
    return booster.child("model"), None


def _doubt(model: Values, *, dropped: bool) -> str:
    """Reason why values are not those of the formula, whatever the rate; empty where the file has none."""
    if dropped:
        return "trees were dropped while others were grown (dart)"
    params = model.raw.get("gbtree_model_param")
    if isinstance(params, dict) and str(params.get("num_parallel_tree", "1")) not in ("0", "1"):
        return "several trees were grown for a class in each round (num_parallel_tree)"
    return ""


def _second_weight(objective: Values) -> float:
    """The weight of a record of the second class of two, where one of the first has 1."""
    loss = objective.raw.get("reg_loss_param")
    if not isinstance(loss, dict) or "scale_pos_weight" not in loss:
        return 1.0
    return objective.child("reg_loss_param").number("scale_pos_weight")


def _weights(tree: Values) -> Weights | None:
    """The weights of the nodes of a tree, None where a file does not have them."""
    if "base_weights" not in tree.raw or "sum_hessian" not in tree.raw:
        return None
    left = tree.wholes("left_children")
    n = len(left)
    values = _conditions(tree, left >= 0)
    weight = np.where(left < 0, values, tree.floats("base_weights", n))
    return Weights(left, tree.wholes("right_children", n), weight, tree.floats("sum_hessian", n))


def _iterations(model: Values, group: IntArray, n_groups: int) -> IntArray:
    """The iteration of each tree: where each begins is written since 2.0; each has as many trees for every class."""
    n = len(group)
    if model.has("iteration_indptr"):
        starts = model.wholes("iteration_indptr")
        if starts[0] != 0 or starts[-1] != n or (np.diff(starts) <= 0).any():
            model.refuse("iteration_indptr", "where each iteration begins")
        return np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    params = model.child("gbtree_model_param") if "gbtree_model_param" in model.raw else None
    parallel = 1
    if params is not None and params.raw.get("num_parallel_tree", "0") not in ("0", 0):
        parallel = params.whole("num_parallel_tree", 1)
    return np.arange(n) // (n_groups * parallel)


def _said(learner: Values) -> tuple[int | None, float | None, float | None]:
    """The best iteration, the learning rate and the L2 penalty, as far as attributes state them."""
    attributes = learner.child("attributes") if "attributes" in learner.raw else None
    if attributes is None:
        return None, None, None
    best = attributes.whole("best_iteration") if "best_iteration" in attributes.raw else None
    try:
        found = json.loads(attributes.text("scikit_learn", "{}"))
    except (ValueError, RecursionError):
        found = {}
    if not isinstance(found, dict) or found.get("callbacks") is not None:
        return best, None, None
    known: list[float | None] = []
    for key, default in _DEFAULTS.items():
        value: object = found.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf"):
            known.append(float(value))
        else:
            known.append(default if key in found and value is None else None)
    rate, l2 = known
    return best, rate or None, l2


def _tree(tree: Values, columns: Sequence[Attribute]) -> GrownXgboost:
    """The nodes that the root reaches, in depth-first order, and their sums of hessians."""
    left = tree.wholes("left_children")
    n = len(left)
    right, tested = tree.wholes("right_children", n), tree.wholes("split_indices", n)
    default = tree.wholes("default_left", n)
    kinds = tree.wholes("split_type", n) if "split_type" in tree.raw else np.zeros(n, np.int64)
    values = _conditions(tree, kinds == 1)
    covers = tree.floats("sum_hessian", n) if "sum_hessian" in tree.raw else None
    if covers is not None and (covers < 0).any():
        tree.refuse("sum_hessian", "sums that are at least 0")
    if tree.child("tree_param").raw.get("size_leaf_vector", "0") not in ("0", "1", 0, 1):
        tree.refuse("tree_param", "leaves with one score: train with multi_strategy='one_output_per_tree'")
    listed = codes_by_node(tree)
    nodes: list[Node] = []
    order: list[int] = []
    names = [*map(str, range(n))]  # an id is one object, wherever it stands
    stack, seen = [0], set()
    while stack:
        at = stack.pop()
        if not 0 <= at < n or at in seen:
            raise invalid(tree.source, tree.where, "left_children", "nodes that are each below one other", f"node {at}")
        seen.add(at)
        order.append(at)
        if left[at] < 0:
            cover = None if covers is None else float(covers[at])
            nodes.append(Node(names[at], value=float(np.float32(values[at])), hessian=cover))
            continue
        if not 0 <= tested[at] < len(columns):
            tree.refuse("split_indices", f"columns from 0 to {len(columns) - 1}")
        below = _named(names, int(left[at])), _named(names, int(right[at]))
        column, to_left = columns[int(tested[at])], bool(default[at])
        if (kinds[at] == 1) != (column.values is not None):
            tree.refuse("split_type", f"splits of {column.name} that are all of numbers, or all of categories")
        branches: tuple[Branch, ...] | None
        if column.values is None:
            branches = numeric(float(np.float32(values[at])), below, to_left)
            if branches is None:
                tree.refuse("split_conditions", "numbers that some value is below")
        else:
            codes = listed[at].tolist() if at in listed else []
            branches = categorical(column.values, codes, below, to_left)
        nodes.append(Node(names[at], column.name, branches))
        stack += [int(right[at]), int(left[at])]
    return GrownXgboost(packed(tree.source, nodes), None if covers is None else covers[order])


def _named(names: Sequence[str], at: int) -> str:
    """The id of a node; of one that there is not, which is refused when it is visited."""
    return names[at] if 0 <= at < len(names) else str(at)


def _conditions(tree: Values, of_categories: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> FloatArray:
    """Thresholds, and scores of leaves; there are none, or no numbers, at splits of categories."""
    held = tree.raw.get("split_conditions")
    if isinstance(held, np.ndarray) and len(held) == len(of_categories):
        found: object = np.where(of_categories, 0.0, held)
    elif isinstance(held, list) and len(held) == len(of_categories):
        found = [0.0 if other else value for value, other in zip(held, of_categories.tolist(), strict=True)]
    else:
        found = held
    values = Values(tree.source, tree.where, {"split_conditions": found}).floats("split_conditions", len(of_categories))
    if (np.abs(values) > float(np.finfo(np.float32).max)).any():
        tree.refuse("split_conditions", "numbers of single precision")
    return values


# XGBoost models saved as UBJSON (1.6 to 3.x, the default since 2.1), with a strict reader of UBJSON.


# Universal Binary JSON (ubjson.org, draft 12) read strictly: one object, whose numbers stand in it as they are.

_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_NAMED = {b"Z": None, b"T": True, b"F": False}

_MOST_LEVELS = 32
# Objects, lists and keys that any file may have, and bytes for each further one: they take far more in memory
_FREE, _BYTES_EACH = 1024, 8


def read_ubjson_object(path: str | os.PathLike[str]) -> dict[str, object]:
    """Read the one object that a file holds, as `maxent.models.files.json_files.read_json_object` does."""
    return _Decoder(bytes_of(os.fspath(path)), shown_path(path)).document()


class _Decoder:
    """Reads from a place on; every method moves it behind what it returns."""

    def __init__(self, data: bytes, source: str) -> None:
        self._data, self._source = data, source
        self._at = 0
        self._left = _FREE + len(data) // _BYTES_EACH

    def document(self) -> dict[str, object]:
        found = self._value(self._take(1), 0) if self._data[:1] == b"{" else self._refuse("an object")
        if self._at < len(self._data):
            self._refuse("nothing after the object")
        assert isinstance(found, dict)
        return found

    def _refuse(self, expected: str) -> NoReturn:
        found = "the end of the file" if self._at >= len(self._data) else "something else"
        raise invalid(self._source, f"byte {self._at}", "UBJSON", expected, found)

    def _take(self, n: int) -> bytes:
        if n > len(self._data) - self._at:
            self._at = len(self._data)
            self._refuse("more bytes")
        self._at += n
        return self._data[self._at - n : self._at]

    def _value(self, mark: bytes, level: int) -> object:
        """The value behind its mark."""
        if mark in _NUMBERS:
            return self._numbers(mark, 1)[0].item()
        if mark == b"S":
            return self._string()
        if mark in _NAMED:
            return _NAMED[mark]
        if mark not in (b"[", b"{") or level == _MOST_LEVELS:
            self._refuse(f"a value, in at most {_MOST_LEVELS} levels")
        self._count()
        return self._list(level) if mark == b"[" else self._object(level)

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            self._refuse(f"fewer objects, lists and keys: {_FREE}, and one for {_BYTES_EACH} bytes")

    def _numbers(self, mark: bytes, n: int) -> npt.NDArray[Any]:
        kind = np.dtype(_NUMBERS[mark])
        if n > (len(self._data) - self._at) // kind.itemsize:
            self._refuse("fewer numbers")
        return np.frombuffer(self._take(n * kind.itemsize), kind)

    def _length(self) -> int:
        mark = self._take(1)
        found = self._numbers(mark, 1)[0].item() if mark in _NUMBERS and mark not in (b"d", b"D") else -1
        if not isinstance(found, int) or found < 0:
            self._refuse("a length")
        return found

    def _string(self) -> str:
        try:
            return self._take(self._length()).decode("utf-8")
        except UnicodeDecodeError:
            self._refuse("text in UTF-8")

    def _next_is(self, mark: bytes) -> bool:
        """Whether a mark comes next, which is then passed."""
        there = self._data[self._at : self._at + 1] == mark
        self._at += there
        return there

    def _list(self, level: int) -> list[object] | npt.NDArray[Any]:
        if self._next_is(b"$"):
            mark = self._take(1)
            if mark not in _NUMBERS or not self._next_is(b"#"):
                self._refuse("numbers of a type, and how many")
            return self._numbers(mark, self._length())
        found: list[object] = []
        if self._next_is(b"#"):
            for _ in range(self._length()):
                found.append(self._value(self._take(1), level + 1))
            return found
        while not self._next_is(b"]"):
            found.append(self._value(self._take(1), level + 1))
        return found

    def _object(self, level: int) -> dict[str, object]:
        found: dict[str, object] = {}
        size = self._length() if self._next_is(b"#") else None
        while len(found) < size if size is not None else not self._next_is(b"}"):
            self._count()
            key = self._string()
            if key in found:
                self._refuse("each key once")
            found[key] = self._value(self._take(1), level + 1)
        return found


_START = b"{L\0\0\0\0\0\0\0\x07learner{"


@model_reader(
    "xgboost-ubj",
    "a model that XGBoost saved as UBJSON",
    lambda head: head.start.startswith(_START),
    parameters=PARAMETERS,
)
@uncollected()
def _convert_ubj(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    return converted(shown_path(path), read_ubjson_object(path), wanted, reader)
