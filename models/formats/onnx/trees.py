"""Ensembles of trees in ONNX: the operator ``TreeEnsembleClassifier`` as trees whose leaves state scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.columns import NOTHING
from maxent.models.errors import InvalidInput, invalid
from maxent.models.formats.onnx.columns import Column
from maxent.models.formats.onnx.document import Operator, Value
from maxent.models.formats.packing import check_tree
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.formats.scikit_learn.nodes.states import bare
from maxent.models.formats.scikit_learn.splits import Splits, exact
from maxent.models.nodes import Nodes
from maxent.models.release import Attribute, Boosting
from maxent.models.trees.thresholds import less_than

# Tests of numbers: whether those that pass are the low ones, and whether the value itself is among the high ones
_MODES: Mapping[bytes, tuple[bool, bool]] = {
    b"BRANCH_LEQ": (True, False),
    b"BRANCH_LT": (True, True),
    b"BRANCH_GT": (False, False),
    b"BRANCH_GTE": (False, True),
}

_LEAF = b"LEAF"


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """An ensemble: names of its classes, its trees, how their scores become probabilities, and the class of all.

    ``of_class`` is the class that all values add to, None where each leaf has one for every class.
    """

    classes: tuple[str, ...]
    trees: tuple[Nodes, ...]
    boosting: Boosting
    of_class: str | None


def trees_of(
    source: str, operator: Operator, columns: Sequence[Column], classes: tuple[str, ...] | None, gaps: frozenset[str]
) -> Trees:
    """The trees of an operator over the columns that it is given.

    ``source``: what errors call the file. ``classes``: names in place of those of the model. ``gaps``: columns of the
    table that are known to have missing values.
    """
    read = _Read(source, operator)
    names = read.classes(classes)
    ids = read.wholes("nodes_nodeids")
    n = len(ids)
    tree_of = read.wholes("nodes_treeids", n)
    position = {pair: i for i, pair in enumerate(zip(tree_of.tolist(), ids.tolist(), strict=True))}
    if not n or len(position) < n:
        raise read.wrong("nodes_nodeids", "different numbers of the nodes of each tree", f"{n}")
    modes = read.strings("nodes_modes", n)
    tested, thresholds = read.wholes("nodes_featureids", n), read.numbers("nodes_values", n, inf)
    below = [read.wholes(f"nodes_{side}nodeids", n) for side in ("true", "false")]
    missing = read.wholes("nodes_missing_value_tracks_true", n) if read.has("nodes_missing_value_tracks_true") else None
    goes = np.zeros(n, bool) if missing is None else missing != 0
    weights = read.weights(position, len(names))
    used, boosting, of = read.scores(weights, names, len(set(tree_of.tolist())))
    # An infinite threshold sends what is missing alone.
    shown = goes | np.isinf(thresholds)
    seen = {int(f) for f, here, mode in zip(tested, shown, modes, strict=True) if here and mode != _LEAF}
    coding = [_feature(column, i in seen or column.name in gaps) for i, column in enumerate(columns)]
    domains = {feature.attribute: feature.domain for feature in coding}
    attributes = tuple(
        Attribute(name, "numeric" if domain is None else "categorical", domain) for name, domain in domains.items()
    )
    made = []
    for tree in dict.fromkeys(tree_of.tolist()):
        here = np.flatnonzero(tree_of == tree)
        place = {int(ids[i]): k for k, i in enumerate(here.tolist())}
        parts = _Parts(modes, tested, thresholds, below, goes)
        splits = read.splits(here, place, parts, columns)
        nodes, order = bare(source, splits, coding, attributes, names)
        scores = np.where((nodes.attribute == NOTHING)[:, None], used[here[order.order]], np.nan)
        made.append(Nodes(replace(nodes, scores=scores) if of is None else replace(nodes, value=scores[:, -1])))
    return Trees(names, tuple(made), boosting, of)


def _feature(column: Column, missing: bool) -> Feature:
    """The meaning of a column: other texts than those with an indicator have none."""
    number = column.values is None
    filled = number and column.filled is not None
    return Feature(
        column.name, column.name, column.values, column.indicates, number and (missing or filled), column.unseen
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """The attributes of all nodes."""

    modes: Sequence[bytes]
    tested: IntArray
    thresholds: FloatArray
    below: Sequence[IntArray]
    goes: np.typing.NDArray[np.bool_]


class _Read:
    """Reads the attributes of an operator; every method raises `InvalidInput` for what is not as it should be."""

    def __init__(self, source: str, operator: Operator) -> None:
        self._source, self._operator = source, operator

    def has(self, key: str) -> bool:
        """Whether there is an attribute with something in it."""
        value = self._operator.attributes.get(key)
        return value is not None and not (isinstance(value, (list, np.ndarray)) and len(value) == 0)

    def wrong(self, key: str, expected: str, found: str) -> InvalidInput:
        """The error of an attribute."""
        return invalid(self._source, self._operator.name, key, expected, found)

    def wholes(self, key: str, size: int | None = None) -> IntArray:
        """Whole numbers."""
        return self._array(key, size, "i").astype(np.int64)

    def numbers(self, key: str, size: int | None = None, most: float = 0.0) -> FloatArray:
        """Finite numbers, or ``most``, of single precision or, as a tensor, of double."""
        name = f"{key}_as_tensor" if self.has(f"{key}_as_tensor") else key
        found = self._array(name, size, "f").astype(np.float64)
        if not (np.isfinite(found) | (found == most)).all():
            raise self.wrong(name, "finite numbers", "others")
        return found

    def strings(self, key: str, size: int) -> list[bytes]:
        """Words."""
        found = self._operator.attributes.get(key)
        if not isinstance(found, list) or len(found) != size:
            raise self.wrong(key, f"{size} words", "others")
        return found

    def _array(self, key: str, size: int | None, kind: str) -> np.typing.NDArray[np.generic]:
        found: Value = self._operator.attributes.get(key)
        if not isinstance(found, np.ndarray) or found.ndim != 1 or (len(found) and found.dtype.kind != kind):
            raise self.wrong(key, "a list of numbers", "none")
        if size is not None and len(found) != size:
            raise self.wrong(key, f"a list of {size} numbers", f"{len(found)}")
        return found

    def classes(self, given: tuple[str, ...] | None) -> tuple[str, ...]:
        """The names of the classes, at least two."""
        words, numbers = (self._operator.attributes.get(f"classlabels_{kind}") for kind in ("strings", "int64s"))
        try:
            named = [word.decode("utf-8") for word in words] if isinstance(words, list) else []
        except UnicodeDecodeError:
            raise self.wrong("classlabels_strings", "names in UTF-8", "others") from None
        if not named and isinstance(numbers, np.ndarray):
            named = [str(int(number)) for number in numbers.tolist()]
        if len(named) < 2 or len(set(named)) < len(named) or not all(named):
            raise self.wrong("classlabels", "at least two different classes", f"{len(named)}")
        if given is not None and len(given) != len(named):
            expected = f"{len(named)} names, as the model has classes"
            raise invalid("options", "argument", "classes", expected, str(len(given)))
        return tuple(named) if given is None else given

    def weights(self, position: Mapping[tuple[int, int], int], n_classes: int) -> tuple[FloatArray, list[int]]:
        """What each node adds to each class, shape (n_nodes, n_classes), and the classes that some node adds to."""
        ids = self.wholes("class_ids")
        nodes, trees = self.wholes("class_nodeids", len(ids)), self.wholes("class_treeids", len(ids))
        weights = self.numbers("class_weights", len(ids))
        at = [position.get(pair, -1) for pair in zip(trees.tolist(), nodes.tolist(), strict=True)]
        if not at or min(at) < 0 or ids.min() < 0 or ids.max() >= n_classes or len(position) * n_classes > 2**24:
            raise self.wrong("class_ids", f"classes below {n_classes} of nodes that are there", "others")
        found = np.zeros((len(position), n_classes))
        np.add.at(found, (np.array(at), ids), weights)
        return found, sorted(set(ids.tolist()))

    def scores(
        self, weights: tuple[FloatArray, list[int]], names: tuple[str, ...], n_trees: int
    ) -> tuple[FloatArray, Boosting, str | None]:
        """The scores of nodes, how they become probabilities, and the class of all of them.

        Where only one of two classes has weights these are its probability if all are at least 0, or else its score.
        """
        found, ids = weights
        after = self._operator.attributes.get("post_transform", b"NONE")
        base = self.numbers("base_values") if self.has("base_values") or self.has("base_values_as_tensor") else None
        if base is not None and len(base) not in (1, len(names)):
            raise self.wrong("base_values", f"1 or {len(names)} numbers", f"{len(base)}")
        if len(names) == 2 and len(ids) == 1:
            one = found[:, ids]
            first = 0.0 if base is None else float(base[-1])
            likely = bool((one >= 0).all())
            if likely and after == b"NONE":
                # What the trees do not give to the second class is the first one's.
                shares = np.column_stack([1 / n_trees - one, one])
                return shares, Boosting("share", base={names[0]: -first, names[1]: first}), None
            if after == b"LOGISTIC" and (not likely or (base is not None and len(base) == 2)):
                return one, Boosting("logit", base=first), names[1]
            raise self.wrong("post_transform", "probabilities, or LOGISTIC of scores of both signs", repr(after)[:40])
        each = np.zeros(len(names)) if base is None else np.broadcast_to(base, len(names))
        if after == b"LOGISTIC" and len(names) == 2 and (found[:, 0] == -found[:, 1]).all() and each[0] == -each[1]:
            return found[:, 1:], Boosting("logit", base=float(each[1])), names[1]
        by_name = dict(zip(names, each.tolist(), strict=True))
        if after == b"SOFTMAX":
            return found, Boosting("softmax", base=by_name), None
        if after == b"NONE" and (found >= 0).all() and (each >= 0).all():
            return found, Boosting("share", base=by_name), None
        expected = "SOFTMAX, LOGISTIC of two classes, or probabilities"
        raise self.wrong("post_transform", expected, repr(after)[:40])

    def splits(self, here: IntArray, place: Mapping[int, int], parts: _Parts, columns: Sequence[Column]) -> Splits:
        """The tests of a tree, low numbers to the left, in the columns of the table."""
        n = len(here)
        left, right = np.full(n, -1), np.full(n, -1)
        threshold, to_left, feature = np.zeros(n), np.zeros(n, bool), np.zeros(n, np.int64)
        for k, i in enumerate(here.tolist()):
            if parts.modes[i] == _LEAF:
                continue
            if parts.modes[i] not in _MODES or not 0 <= parts.tested[i] < len(columns):
                expected = f"tests of numbers, {', '.join(m.decode() for m in _MODES)}, of {len(columns)} columns"
                raise self.wrong("nodes_modes", expected, f"{parts.modes[i][:40]!r} of column {parts.tested[i]}")
            low_passes, above = _MODES[parts.modes[i]]
            column = columns[int(parts.tested[i])]
            most = float(parts.thresholds[i])
            if above:
                most = float(np.nextafter(np.float32(most), np.float32(-inf))) if column.single else less_than(most)
            passes, fails = (place.get(int(side[i]), -1) for side in parts.below)
            left[k], right[k] = (passes, fails) if low_passes else (fails, passes)
            feature[k] = parts.tested[i]
            threshold[k] = column.threshold(most)
            to_left[k] = low_passes == bool(parts.goes[i])
            if column.filled is not None:
                to_left[k] = replace(column, filled=None).becomes(column.filled) <= most
            elif column.indicates is not None:
                to_left[k] = True  # other texts have no indicator
        at = np.array([k for k, i in enumerate(here.tolist()) if parts.modes[i] != _LEAF], np.int64)
        check_tree(self._source, np.concatenate([at, at]), np.concatenate([left[at], right[at]]), list(place))
        single = np.array([columns[int(f)].single and not columns[int(f)].scaled for f in feature])
        threshold[single] = exact(threshold[single])
        return Splits(left, right, feature, threshold, to_left)
