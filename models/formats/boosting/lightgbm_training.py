"""Learning rate, penalties and first score that the values of LightGBM's leaves were computed with.

A leaf has the value ``-rate G / (H + lambda_l2)``. LightGBM adds the score before the first tree to the values of the
first tree of each class (``boost_from_average``). There the G of all records is 0, so that the mean of these values,
weighted by the divisors, is that score. Right below a split of many categories ``cat_l2`` is added to the penalty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, isfinite

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.formats.boosting.class_weights import FirstTree, balanced, number_of_second, unbalanced
from maxent.models.formats.conversion import Wanted
from maxent.models.formats.packing import packed
from maxent.models.nodes import each
from maxent.models.release import Boosting, Link, Node

Forest = Sequence[Sequence[Node]]

_OFF = 1e-5  # by how much a sum of second derivatives may be off, as a share
_LARGEST = 1e6  # penalties, and factors of scores or their reciprocals, beyond which nothing is computed
_PRINTED = 6  # digits with which parameters are printed
_STEEP = 500.0  # score before the first tree that is none

# Parameters that have to be 0, or not there, and what they are
_PLAIN = {
    "max_delta_step": "a limit of steps",
    "path_smooth": "smoothing along paths",
    "linear_tree": "linear leaves",
    "use_quantized_grad": "gradients that were rounded",
}


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """What the file says of the training, in its own words.

    ``shrinkage`` are the rates of the trees, None where they are not stated; ``parameters`` those at the end of the
    text, none of JSON; ``bins`` how many bins each column of categories has; ``slope`` the factor of scores of two
    classes. ``class_weight`` are weights of classes that were those of records, ``balanced`` where they are none.
    """

    shrinkage: Sequence[float | None]
    parameters: Mapping[str, str]
    bins: Mapping[str, int]
    link: Link
    slope: float
    per_iteration: int
    class_weight: Sequence[float] = ()
    balanced: bool = False


def stated_training(
    trained: Trained, trees: Forest, classes: Sequence[str], wanted: Wanted
) -> tuple[Boosting, Forest, str]:
    """The rule of the scores, the trees without the first score, and why counts do not follow, empty where they do."""
    plain = Boosting(trained.link)
    doubt = _doubt(trained)
    if doubt:
        return plain, trees, doubt
    rate, l2 = _rate(trained, wanted), _given("lambda", wanted, trained.parameters, "lambda_l2")
    if rate is None or l2 is None:
        return plain, trees, "the file does not state the learning rate and the L2 penalty, which --param gives"
    penalties = _penalties(trained, trees, l2)
    if penalties is None:
        return plain, trees, "JSON does not state the penalty of splits of categories (cat_l2): save the model as text"
    k, slope = trained.per_iteration, trained.slope
    weights: Mapping[str, float] = {}
    if _weighted(trained):
        found = _weights(trained, trees, l2, penalties, rate)
        if found is None:
            return plain, trees, "the weights of classes, or the scores before the first tree, are not known"
        score, first, second = found
        base: Sequence[float] | None = [score]
        weights = {name: w for name, w in zip(classes, (first, second), strict=True) if w != 1}
    else:
        base = _base(trained, trees, l2, penalties, rate)
    if base is None:
        return plain, trees, "the scores before the first tree are not known"
    without = [
        packed("LightGBM", (_moved(node, base[i], slope) for node in each(tree))) for i, tree in enumerate(trees[:k])
    ]
    others = [packed("LightGBM", (_moved(node, 0.0, slope) for node in each(tree))) for tree in trees[k:]]
    square = slope**2
    boosting = Boosting(
        trained.link,
        rate,
        l2 / square,
        slope * base[0] if k == 1 else dict(zip(classes, base, strict=True)),
        _number(trained.parameters, "lambda_l1", 0.0) / slope,
        1.0 if k == 1 else k / (k - 1),
        {name: penalty / square for name, penalty in penalties.items()},
        weights,
    )
    return boosting, [*without, *others], ""


def _doubt(trained: Trained) -> str:
    """Reason why values are not those of the formula, by what the file says; empty where it has none."""
    said = trained.parameters
    if trained.link == "none":
        return "each class against the rest has a score of its own"
    if not 1 / _LARGEST < trained.slope < _LARGEST:
        return "the factor of scores (sigmoid) is out of the ordinary"
    if not 0 <= _number(said, "lambda_l1", 0.0) < _LARGEST:
        return "lambda_l1 is no penalty"
    if _of_records(trained) and (trained.per_iteration > 1 or _reweighed(trained)):
        return "classes have weights (class_weight)"
    if not said:
        return ""
    if said.get("boosting") != "gbdt":
        return f"boosting is {said.get('boosting', 'not stated')[:40]}"
    for key, words in _PLAIN.items():
        if _number(said, key, 0.0) != 0:
            return f"values were found under {words}"
    if _weighted(trained) and (trained.per_iteration > 1 or not _number(said, "scale_pos_weight", 1.0) > 0):
        return "classes have weights (is_unbalance, scale_pos_weight)"
    if any(part.strip() not in ("", "0") for part in said.get("monotone_constraints", "").split(",")):
        return "values were limited by monotone constraints"
    if said.get("device_type") != "cpu" and said.get("gpu_use_dp") != "1":
        return "sums were computed in single precision (gpu_use_dp)"
    return ""


def _number(said: Mapping[str, str], key: str, default: float) -> float:
    """A parameter that is a number, NaN for another text."""
    try:
        return float(said.get(key, default))
    except ValueError:
        return float("nan")


def _given(name: str, wanted: Wanted, said: Mapping[str, str], key: str) -> float | None:
    """What the caller gives, or else the file states."""
    found = _number(wanted.parameters, name, _number(said, key, float("nan")))
    return found if 0 <= found < _LARGEST else None


def _rate(trained: Trained, wanted: Wanted) -> float | None:
    """The learning rate: the same for all trees, but 1 where the first score was added."""
    found = _given("rate", wanted, trained.parameters, "learning_rate")
    later = {rate for rate in trained.shrinkage[trained.per_iteration :] if rate is not None}
    if found is None and len(later) == 1:
        found = later.pop()
    if not found or any(abs(rate - found) > _OFF * found for rate in later):
        return None
    return found


def _penalties(trained: Trained, trees: Forest, l2: float) -> Mapping[str, float] | None:
    """L2 penalties right below splits of columns of categories, None where they are not known."""
    tested = {node.attribute for tree in trees for node in each(tree) if node.attribute in trained.bins}
    if not tested:
        return {}
    more, most = (_number(trained.parameters, key, float("nan")) for key in ("cat_l2", "max_cat_to_onehot"))
    if not (0 <= more < _LARGEST and isfinite(most)):
        return None
    return {name: l2 + more for name in sorted(map(str, tested)) if trained.bins[name] > most}


def _base(
    trained: Trained, trees: Forest, l2: float, penalties: Mapping[str, float], rate: float
) -> Sequence[float] | None:
    """The score of each class before its first tree, None where it cannot be told from the values."""
    k = trained.per_iteration
    first = trees[:k]
    none = [0.0] * k
    if not _averaged(trained, first, rate) or _number(trained.parameters, "lambda_l1", 0.0) != 0:
        return none if _agrees(trained, first, none) else None
    found = []
    for tree in first:
        above = {branch.child: node.attribute for node in each(tree) for branch in node.branches}
        leaves = [node for node in each(tree) if node.is_leaf]
        if len(leaves) == 1:
            found.append(_value(leaves[0]))
            continue
        divisors = [(leaf.hessian or 0.0) + penalties.get(above.get(leaf.id) or "", l2) for leaf in leaves]
        if not sum(divisors) > 0:
            return None
        of = zip(leaves, divisors, strict=True)
        found.append(sum(_value(leaf) * by for leaf, by in of) / sum(divisors))
    return next((base for base in (found, none) if _agrees(trained, first, base)), None)


def _averaged(trained: Trained, first: Forest, rate: float) -> bool:
    """Whether the first trees may contain scores before them."""
    grown = [i for i, tree in enumerate(first) if len(tree) > 1]  # others hold a constant, which may be any
    shrunk = [abs((trained.shrinkage[i] or 0.0) - rate) <= _OFF * rate for i in grown]
    return trained.parameters.get("boost_from_average") != "0" and not (all(shrunk) and grown and rate != 1)


def _of_records(trained: Trained) -> bool:
    """Whether the records of the classes had weights."""
    return trained.balanced or bool(trained.class_weight)


def _weighted(trained: Trained) -> bool:
    """Whether the classes have weights."""
    return _of_records(trained) or _reweighed(trained)


def _reweighed(trained: Trained) -> bool:
    """Whether the classes have weights, by what the file says."""
    said = trained.parameters
    return _number(said, "is_unbalance", 0.0) != 0 or _number(said, "scale_pos_weight", 1.0) != 1


def _weights(
    trained: Trained, trees: Forest, l2: float, penalties: Mapping[str, float], rate: float
) -> tuple[float, float, float] | None:
    """The score before the first tree and the weights of both classes; None where the first tree does not tell them."""
    averaged = _averaged(trained, trees[:1], rate)
    unbalance = _number(trained.parameters, "is_unbalance", 0.0) != 0
    scale = _number(trained.parameters, "scale_pos_weight", 1.0)
    # A number of six digits was rounded for print: then only a ratio of the classes' records is tried.
    rounded = (
        not _of_records(trained)
        and len(re.sub(r"e.*|[^0-9]", "", trained.parameters.get("scale_pos_weight", "1")).lstrip("0")) >= _PRINTED
    )
    if not averaged and not unbalance and not rounded and not _of_records(trained):
        return 0.0, 1.0, scale
    leaves = [node for node in trees[0] if node.is_leaf]
    if _number(trained.parameters, "lambda_l1", 0.0) != 0 or any(leaf.n is None for leaf in leaves):
        return None

    def weights(second: FloatArray, n: float) -> tuple[FloatArray, FloatArray]:
        if rounded:
            return np.ones(len(second)), (n - second) / second
        if trained.balanced:
            return balanced(second, n)
        if trained.class_weight:
            return np.full(len(second), trained.class_weight[0]), np.full(len(second), trained.class_weight[1])
        first, other = unbalanced(second, n) if unbalance else (np.ones(len(second)), np.ones(len(second)))
        return first, other * scale

    above = {branch.child: node.attribute for node in trees[0] for branch in node.branches}
    tree = FirstTree(
        np.array([leaf.n for leaf in leaves], np.float64),
        np.array([trained.slope * _value(leaf) for leaf in leaves]),
        np.array([penalties.get(above.get(leaf.id) or "", l2) / trained.slope**2 for leaf in leaves]),
        rate,
    )
    found = number_of_second(tree, weights, averaged=averaged, contained=True, weighed=_of_records(trained))
    if found is None:
        return None
    first, other = weights(np.array([found[0]]), float(tree.records.sum()))
    if rounded and (unbalance or abs(float(other[0]) - scale) > scale * 10.0 ** (1 - _PRINTED)):
        return None
    return found[1] / trained.slope, float(first[0]), float(other[0])


def _agrees(trained: Trained, first: Forest, base: Sequence[float]) -> bool:
    """Whether the sums of second derivatives of the first trees are those of records that all have these scores."""
    k, slope = trained.per_iteration, trained.slope
    if not all(max(1.0, slope) * abs(score) < _STEEP for score in base):
        return False
    total = sum(map(exp, base))
    for score, tree in zip(base, first, strict=True):
        share = 1 / (1 + exp(-slope * score)) if k == 1 else exp(score) / total
        curve = slope**2 * share * (1 - share) * (1.0 if k == 1 else k / (k - 1))
        for leaf in (node for node in each(tree) if node.is_leaf and len(tree) > 1):
            if leaf.hessian is None or leaf.n is None or abs(leaf.hessian - leaf.n * curve) > _OFF * leaf.n * curve:
                return False
    return True


def _moved(node: Node, by: float, slope: float) -> Node:
    """A node without the first score in its value, and with second derivatives by the score that predicts."""
    if not node.is_leaf:
        return node
    hessian = None if node.hessian is None else node.hessian / slope**2
    return replace(node, value=_value(node) - by, hessian=hessian)


def _value(leaf: Node) -> float:
    """The score of a leaf, which has one."""
    return leaf.value if isinstance(leaf.value, float) else 0.0
