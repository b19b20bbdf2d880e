"""LightGBM trees from any of its files: columns, tests, sizes, and training parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, isfinite, isnan
from operator import mul

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.draws import DRAWN
from maxent.models.errors import Unreadable, invalid
from maxent.models.formats.assemble import assemble, cut, packed, rest
from maxent.models.formats.boosting.hessians import FirstTree, balanced, number_of_second, unbalanced, weighed_alike
from maxent.models.formats.proof import check_leaves, reached_as_stated, read_training
from maxent.models.formats.release_reader import ABOVE, UNPROVEN, Converted, Wanted
from maxent.models.nodes import each
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Boosting, Branch, Link, Node, Release, Tree
from maxent.models.tables.cells import MISSING, OTHER
from maxent.models.trees.places import less_than

# Learning rate, penalties and first score that the values of LightGBM's leaves were computed with.
#
# A leaf has the value ``-rate G / (H + lambda_l2)``. LightGBM adds the score before the first tree to the values of the
# first tree of each class (``boost_from_average``). There the G of all records is 0, so that the mean of these values,
# weighted by the divisors, is that score. Right below a split of many categories ``cat_l2`` is added to the penalty.

Forest = Sequence[Sequence[Node]]

_OFF = 1e-5  # by how much a sum of second derivatives may be off, as a share
_CLEAR = 0.2  # by how much a number of records may be off at most, for a whole number to be clear
_LARGEST = 1e6  # penalties, and factors of scores or their reciprocals, beyond which nothing is computed
_PRINTED = 6  # digits with which parameters are printed
_STEEP = 500.0  # score before the first tree that is none
_FAR = 15.0  # score before the first tree of several classes beyond which nobody's share is told

# Parameters that have to be 0, or not there, and what they are
_PLAIN = {
    "max_delta_step": "a limit of steps",
    "path_smooth": "smoothing along paths",
    "linear_tree": "linear leaves",
    "use_quantized_grad": "gradients that were rounded",
}


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """What the file says of the training.

    ``bins`` are how many bins each column of categories has, ``slope`` the factor of scores of two classes,
    ``balanced`` whether classes have weights of their own.
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
    if (_of_records(trained) or _reweighed(trained)) and k == 1:
        found = _weights(trained, trees, l2, penalties, rate)
        if found is None:
            return plain, trees, "the weights of classes, or the scores before the first tree, are not known"
        score, first, second = found
        base: Sequence[float] | None = [score]
        weights = {name: w for name, w in zip(classes, (first, second), strict=True) if w != 1}
    else:
        base = _base(trained, trees, l2, penalties, rate)
        weights = {name: w for name, w in zip(classes, trained.class_weight or [1.0] * k, strict=False) if w != 1}
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
    if _of_records(trained) and ((trained.balanced and trained.per_iteration > 1) or _reweighed(trained)):
        return "classes have weights (class_weight)"
    if not said:
        return ""
    if said.get("boosting") != "gbdt":
        return f"boosting is {said.get('boosting', 'not stated')[:40]}"
    for key, words in _PLAIN.items():
        if _number(said, key, 0.0) != 0:
            return f"values were found under {words}"
    if _reweighed(trained) and (trained.per_iteration > 1 or not _number(said, "scale_pos_weight", 1.0) > 0):
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
    above = [{branch.child: node.attribute for node in each(tree) for branch in node.branches} for tree in first]
    divisors = [
        [(leaf.hessian or 0.0) + penalties.get(of.get(leaf.id) or "", l2) for leaf in each(tree) if leaf.is_leaf]
        for tree, of in zip(first, above, strict=True)
    ]

    def agrees(base: Sequence[float]) -> bool:
        if trained.class_weight:
            return _holds_whole_records(trained, first, base, divisors, rate)
        return _agrees(trained, first, base)

    if not _averaged(trained, first, rate) or _number(trained.parameters, "lambda_l1", 0.0) != 0:
        return none if agrees(none) else None
    found = []
    for tree, own in zip(first, divisors, strict=True):
        values = [_value(node) for node in each(tree) if node.is_leaf]
        if len(values) > 1 and not sum(own) > 0:
            return None
        found.append(values[0] if len(values) == 1 else sum(map(mul, values, own)) / sum(own))
    return next((base for base in (found, none) if agrees(base)), None)


def _averaged(trained: Trained, first: Forest, rate: float) -> bool:
    """Whether the first trees may contain scores before them."""
    grown = [i for i, tree in enumerate(first) if len(tree) > 1]  # others hold a constant, which may be any
    shrunk = [abs((trained.shrinkage[i] or 0.0) - rate) <= _OFF * rate for i in grown]
    return trained.parameters.get("boost_from_average") != "0" and not (all(shrunk) and grown and rate != 1)


def _of_records(trained: Trained) -> bool:
    """Whether the records of the classes had weights."""
    return trained.balanced or bool(trained.class_weight)


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


def _holds_whole_records(
    trained: Trained, first: Forest, base: Sequence[float], divisors: Sequence[Sequence[float]], rate: float
) -> bool:
    """Whether leaves of the first trees hold whole records of several classes with their weights, all in all as many.

    The records of a leaf of class x weigh ``H / (h p (1 - p))``, those of x ``p`` of that and ``v (H + l2) / rate``.
    """
    if _number(trained.parameters, "lambda_l1", 0.0) != 0 or max(map(abs, base)) > _FAR:
        return False
    total, k, weights, records = sum(map(exp, base)), trained.per_iteration, trained.class_weight, 0
    for x, (score, tree, divided) in enumerate(zip(base, first, divisors, strict=True)):
        share, others = exp(score) / total, [*weights[:x], *weights[x + 1 :]]
        for leaf, divisor in zip((node for node in each(tree) if node.is_leaf), divided, strict=True):
            if leaf.hessian is None or leaf.n is None or len(tree) == 1:
                return False
            weigh = leaf.hessian / (share * (1 - share) * k / (k - 1))
            own = (share * weigh + (_value(leaf) - score) * divisor / rate) / weights[x]
            off, left = _OFF * (1 + weigh / min(weights)), leaf.n - round(own)
            rest = weigh - round(own) * weights[x]
            within = min(others) * left - off * max(others) <= rest <= max(others) * left + off * max(others)
            if off > _CLEAR or abs(own - round(own)) > off or not 0 <= round(own) <= leaf.n or not within:
                return False
            records += round(own)
    return records == sum(leaf.n or 0 for leaf in each(first[0]) if leaf.is_leaf)


def _moved(node: Node, by: float, slope: float) -> Node:
    """A node without the first score in its value, and with second derivatives by the score that predicts."""
    if not node.is_leaf:
        return node
    hessian = None if node.hessian is None else node.hessian / slope**2
    return replace(node, value=_value(node) - by, hessian=hessian)


def _value(leaf: Node) -> float:
    """The score of a leaf, which has one."""
    return leaf.value if isinstance(leaf.value, float) else 0.0


VERSIONS = ("v3", "v4")
# What goes to the default side of a test of numbers, by code: nothing, a missing number being 0; it and 0; or it
MISSING_TYPES = ("None", "Zero", "NaN")

# What the scores of an objective become; those of one class against the rest add up to no probabilities
_LINKS: Mapping[str, Link] = {"binary": "logit", "multiclass": "softmax", "multiclassova": "none"}

_ZERO = float(np.float32(1e-35))  # numbers up to this one, of either sign, are 0
_LARGEST_CODE = 2**20
_MOST_NAMED = 2**20  # values that branches may name, beside one for each character of the file
_LOST = (
    "counts and labels of leaves: LightGBM stores scores, and hessians, which are no numbers of records",
    "which splits competed",
)
# The names of what the caller may give: the learning rate, the L2 penalty and the weights of classes.
PARAMETERS = ("rate", "lambda", "class_weight")
_ADVICE = "the table that LightGBM was trained with, whole"
_SERIAL = {"tree_learner": {"serial", "feature"}, "device_type": {"cpu", "gpu"}, "boosting": {"gbdt", "dart"}}


@dataclass(frozen=True, slots=True)
class LightgbmColumn:
    """A column of the input: its attribute, and the names of the codes of categories, none of numbers."""

    attribute: Attribute
    names: Mapping[int, str] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class GrownLightgbm:
    """A tree as the file has it: its nodes, and the rate that its values contain, None where it is not stated."""

    nodes: Sequence[Node]
    shrinkage: float | None


@dataclass(frozen=True, slots=True)
class Header:
    """The statements of a model about all trees.

    ``infos`` are the codes of categories of each column, -1 for none of them, () without two values, None of numbers.
    """

    source: str
    objective: str
    per_iteration: int
    averages: bool
    features: tuple[str, ...]
    infos: tuple[tuple[int, ...] | None, ...]
    size: int

    @property
    def link(self) -> Link:
        return _LINKS[self.objective.split()[0]]


def header(
    source: str, version: str, objective: str, per_iteration: int, averages: bool, features: Sequence[str],
    infos: Sequence[tuple[int, ...] | None], size: int, wanted: Wanted,
) -> Header:  # fmt: skip
    """Check what a model says of all trees; the file has ``size`` characters."""
    if version not in VERSIONS:
        expected = f"{' or '.join(VERSIONS)}: load the model with LightGBM 4 and save it again"
        raise invalid(source, "document", "version", expected, repr(version[:40]))
    if not objective or objective.split()[0] not in _LINKS:
        expected = f"a classifier: one of {', '.join(_LINKS)}"
        raise invalid(source, "document", "objective", expected, repr(objective[:40]))
    names = wanted.named_features(features)
    if len(names) != len(infos) or len(set(names)) < len(names) or not all(names):
        raise invalid(source, "document", "feature_names", f"{len(infos)} different names", f"{len(set(names))}")
    if (per_iteration < 2) != objective.startswith("binary") or not 1 <= per_iteration <= _LARGEST_CODE:
        expected = "1 of two classes, else the number of classes"
        raise invalid(source, "document", "num_tree_per_iteration", expected, f"{per_iteration}")
    return Header(source, objective, per_iteration, averages, names, tuple(infos), size)


def columns_of(head: Header, categories: object, stated: Sequence[int] | None) -> tuple[LightgbmColumn | None, ...]:
    """The columns of the input, None for those of which no type is known, and which no node can test."""
    lists = [] if categories is None else categories
    if not isinstance(lists, list) or not all(isinstance(values, list) for values in lists):
        raise invalid(head.source, "document", "pandas_categorical", "a list of lists of values", "something else")
    perhaps = [i for i, codes in enumerate(head.infos) if codes is not None]
    named = (perhaps if stated is None else stated) if lists else ()
    if len(named) != len(lists) or not all(0 <= i < len(head.infos) for i in named):
        # Which columns they are of is only known where no other column can be categorical.
        expected = (
            f"values for each of {len(named)} columns: save the model as text, with all categorical columns categories "
            "of pandas, or none"
        )
        raise invalid(head.source, "document", "pandas_categorical", expected, f"{len(lists)} lists")
    found: list[LightgbmColumn | None] = []
    for i, (name, codes) in enumerate(zip(head.features, head.infos, strict=True)):
        if i in named:
            values = [_name(head, name, value) for value in lists[named.index(i)]]
            if len(set(values)) < len(values) or MISSING in values or max(codes or (), default=-1) >= len(values):
                raise invalid(
                    head.source,
                    f"column {name}",
                    "pandas_categorical",
                    "a different value for each code",
                    f"{len(values)}",
                )
            found.append(LightgbmColumn(Attribute(name, "categorical", (*values, MISSING)), dict(enumerate(values))))
        elif codes is None:
            found.append(LightgbmColumn(Attribute(name, "numeric", missing=True)))
        elif any(code >= 0 for code in codes):
            numbers = {code: str(code) for code in sorted(set(codes)) if code >= 0}
            domain = (*numbers.values(), OTHER, MISSING)
            found.append(LightgbmColumn(Attribute(name, "categorical", domain), numbers))
        else:
            found.append(None)
    return tuple(found)


def _name(head: Header, column: str, value: object) -> str:
    """The name of a category, as it stands in a table."""
    if isinstance(value, (str, int, float)) and not isinstance(value, Unreadable) and str(value):
        return str(value)
    raise invalid(
        head.source, f"column {column}", "pandas_categorical", "names, numbers, true or false", "another value"
    )


class LightgbmNodes:
    """Makes the nodes of trees, and bounds how many values their branches name in all."""

    def __init__(self, head: Header, columns: Sequence[LightgbmColumn | None]) -> None:
        self._head, self.columns = head, columns
        self._left = _MOST_NAMED + head.size

    def column(self, where: str, feature: int) -> LightgbmColumn:
        """The column of a number, which a node tests."""
        found = self.columns[feature] if 0 <= feature < len(self.columns) else None
        if found is None:
            expected = f"one of the {len(self.columns)} columns that has several values"
            raise invalid(self._head.source, where, "split_feature", expected, f"{feature}")
        return found

    def numeric(
        self, where: str, feature: int, below: tuple[str, str], threshold: float, missing: str, to_left: bool
    ) -> tuple[str, tuple[Branch, ...]]:
        """The attribute and the branches of a test of numbers, at most the threshold to the left."""
        column = self.column(where, feature)
        if column.names is not None or isnan(threshold) or threshold == -inf:
            raise invalid(self._head.source, where, "threshold", "a number, of a column of numbers", "something else")
        if threshold == inf:
            if to_left or missing != "NaN":
                raise invalid(self._head.source, where, "threshold", "a number that some value is above", "none")
            return column.attribute.name, (Branch(below[0], missing=False), Branch(below[1], missing=True))
        if missing == "Zero":
            # Zeros go where missing numbers do, which is an interval only where those next to them go there, too.
            if threshold < less_than(-_ZERO) if to_left else threshold > _ZERO:
                expected = "zeros that go with the numbers next to them: train without zero_as_missing"
                raise invalid(self._head.source, where, "missing_type", expected, "zeros apart")
            threshold = max(threshold, _ZERO) if to_left else min(threshold, less_than(-_ZERO))
        elif missing == "None":
            to_left = threshold >= 0
        return column.attribute.name, cut(below, threshold, to_left)

    def categorical(
        self, where: str, feature: int, below: tuple[str, str], codes: Iterable[int]
    ) -> tuple[str, tuple[Branch, ...]]:
        """The attribute and the branches of a test of categories, those with the codes to the left, all else right."""
        column = self.column(where, feature)
        chosen = list(codes)
        if column.names is None or not chosen or not all(code in column.names for code in chosen):
            raise invalid(self._head.source, where, "threshold", "codes of categories of the column", "others")
        self._left -= len(column.names)
        if self._left < 0:
            raise invalid(self._head.source, where, "threshold", "fewer values in all tests of categories", "too many")
        return column.attribute.name, (
            Branch(below[0], values=tuple(column.names[code] for code in chosen)),
            rest(below[1]),
        )


def codes_in(words: IntArray) -> list[int]:
    """The numbers of the bits that are set in words of 32, in their order."""
    bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
    return [int(code) for code in np.flatnonzero(bits)]


def bag_of(parameters: Mapping[str, str]) -> str:
    """Reason why sizes are not known to be of all rows, by the parameters of the training; empty where they are."""
    if not parameters:
        return "the file does not say whether trees were grown from all rows, or from a bag of them"
    for name, known in _SERIAL.items():
        if parameters.get(name) not in known:
            return f"{name} is {parameters.get(name, 'not stated')[:40]}"
    if parameters.get("data_sample_strategy", "bagging") != "bagging":
        return "trees were grown from a sample of the rows"
    fractions = [parameters.get(f"{kind}bagging_fraction", "1") for kind in ("", "pos_", "neg_")]
    if parameters.get("bagging_freq") != "0" and not all(re.fullmatch(r"1(\.0*)?", share) for share in fractions):
        return "trees were grown from a bag of the rows"
    return ""


def converted(
    head: Header,
    columns: Sequence[LightgbmColumn | None],
    trees: Sequence[GrownLightgbm],
    parameters: Mapping[str, str],
    version: str,
    wanted: Wanted,
    reader: Reader,
) -> Converted:
    """The release of trees, with sizes where `bag_of` has no doubt, or where leaves agree with a training table."""
    several = head.per_iteration > 1
    classes = wanted.named_classes(map(str, range(head.per_iteration if several else 2)))
    if not trees or len(trees) % head.per_iteration:
        expected = f"{head.per_iteration} for each iteration, at least one"
        raise invalid(head.source, "document", "trees", expected, f"{len(trees)}")
    bag = bag_of(parameters)
    weight = _slope(head) / (len(trees) // head.per_iteration if head.averages else 1)
    bins = {
        column.attribute.name: len(codes)
        for column, codes in zip(columns, head.infos, strict=True)
        if column is not None and codes is not None
    }
    rates = [tree.shrinkage if len(tree.nodes) > 1 else None for tree in trees]  # that of a constant says nothing
    told = _class_weight(wanted, len(classes))
    trained = Trained(rates, parameters, bins, head.link, weight, head.per_iteration, told or (), told is None)
    how, doubt = Boosting(head.link), ""
    grown: Forest = [tree.nodes for tree in trees]
    if (bag and parameters) or head.averages:
        doubt = bag or "trees predict by their mean"
    else:
        how, grown, doubt = stated_training(trained, grown, classes, wanted)
    if doubt:
        how = Boosting(head.link)
        grown = [packed(head.source, (replace(node, hessian=None) for node in each(tree))) for tree in grown]
    made = [
        Tree(nodes, weight=weight, of_class=classes[i % head.per_iteration] if several else classes[1])
        for i, nodes in enumerate(grown)
    ]
    if len({tree.root.n for tree in made if tree.root.n is not None}) > 1:
        bag = bag or "trees have different numbers of records"
    training = read_training(wanted, reader)

    def release(of: Sequence[Tree]) -> Release:
        known = {column.attribute.name: column.attribute for column in columns if column is not None}
        return assemble(head.source, of, classes, wanted, training, known=known, predicts="score", boosting=how)

    found = release(made)
    if training is not None:
        rows = replace(training, classes=())
        if not bag:
            check_leaves(head.source, found, rows, _ADVICE, empty=True)
        elif reached_as_stated(found, rows):
            bag = ""
    if bag:
        found = release([_unsized(tree) for tree in made])
    lost = [*_LOST]
    if bag:
        lost.append(f"sizes of leaves: {bag}")
    if doubt:
        lost.append(f"what scores say of counts: {doubt}")
    if head.link == "none":
        lost.append("probabilities: each class against the rest has a score of its own")
    if any(column is not None and OTHER in (column.attribute.values or ()) for column in columns):
        lost.append("the names of categories that have codes only: make their columns categories of pandas")
    if wanted.classes is None:
        lost.append("the names of the classes, which --classes gives")
    alike = weighed_alike(tree.nodes for tree in trees[: head.per_iteration])
    # Rounding of gradients is drawn for each row, too. `maxent strip` leaves parameters without seeds.
    draws = DRAWN if "bagging_seed" in parameters else UNPROVEN
    drawn = [draws] * bool(bag or _number(parameters, "use_quantized_grad", 0.0))
    aside = [*drawn, *[ABOVE] * (_number(parameters, "lambda_l1", 0.0) != 0)]
    return Converted(found, f"LightGBM {version}".strip(), tuple(lost), aside="; ".join(aside), alike=alike)


def _class_weight(wanted: Wanted, n: int) -> tuple[float, ...] | None:
    """The weights that records of each class had in training, none unless they are given; None of balanced ones."""
    text = wanted.parameters.get("class_weight", "")
    if text in ("", "balanced"):
        return None if text else ()
    try:
        found = tuple(map(float, text.split(",")))
    except ValueError:
        found = ()
    if len(found) != n or not all(0 < weight < np.inf for weight in found):
        expected = f"class_weight=balanced, or a weight above 0 of each class, {n} in all: class_weight=1,2.5"
        raise invalid("options", "argument", "parameters", expected, f"class_weight={text[:40]}")
    return found


def _unsized(tree: Tree) -> Tree:
    return replace(tree, nodes=packed("LightGBM", (replace(node, n=None) for node in each(tree.nodes))))


def _slope(head: Header) -> float:
    """The factor of scores of two classes before the logistic function."""
    match = re.fullmatch(r"binary(?: sigmoid:([0-9.eE+-]{1,30}))?", head.objective)
    if head.link != "logit":
        return 1.0
    try:
        found = float(match[1] or 1) if match is not None else 0.0
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise invalid(head.source, "document", "objective", "binary sigmoid:NUMBER, above 0", repr(head.objective[:40]))
    return found
