"""Forests and boosted models that treelite dumped as JSON: its own notation of models of several tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from os import PathLike
from typing import Any

from maxent.models.arguments import LARGEST_COUNT
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_json_object, uncollected
from maxent.models.formats.assemble import assemble, cut, packed, rest
from maxent.models.formats.json_values import Values
from maxent.models.formats.proof import read_training
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Boosting, Branch, Link, Node, Release, Tree
from maxent.models.tables.cells import MISSING, OTHER
from maxent.models.trees.places import less_than, single_at_most, single_less_than

_LINKS: Mapping[str, Link] = {"sigmoid": "logit", "softmax": "softmax"}  # what a postprocessor makes of scores
_MEAN = "identity_multiclass"
_MOST_CODES = 2**20
_ROUNDING = 1e-6
_LOST = ("which splits competed",)
_NAMES = "the names of the columns, which --features gives"

# The largest number that passes a test, by its sign, and whether numbers are of single precision
_BELOW: dict[tuple[str, bool], Callable[[float], float]] = {
    ("<", False): less_than,
    ("<=", False): float,
    ("<", True): single_less_than,
    ("<=", True): single_at_most,
}

_OPPOSITE = {">": "<=", ">=": "<"}


@dataclass(frozen=True, slots=True)
class _Forest:
    """The statements of a model about all trees; ``groups`` are the classes to which trees add, -1 for all."""

    source: str
    link: Link | None
    classes: tuple[str, ...]
    columns: tuple[Attribute, ...]
    groups: Sequence[int]
    single: bool
    weight: float
    base: float | dict[str, float]


@model_reader(
    "treelite-json",
    "a model that treelite dumped as JSON",
    r'\{\s*"threshold_type"\s*:\s*"\w+"\s*,\s*"leaf_output_type"',
)
@uncollected()
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    document = Values(source, "document", read_json_object(path))
    forest = _forest(document, wanted)
    trees = tuple(_tree(tree, t, forest) for t, tree in enumerate(document.children("trees")))
    training = read_training(wanted, reader)
    known = {column.name: column for column in forest.columns}
    lost = [*_LOST, *(() if wanted.features is not None else (_NAMES,))]
    if wanted.classes is None:
        lost.append("the names of the classes, which --classes gives")
    if any(OTHER in (column.values or ()) for column in forest.columns):
        lost.append("the names of categories: they are codes")

    def release(of: Sequence[Tree], **how: Any) -> Release:
        return assemble(source, of, forest.classes, wanted, training, known=known, **how)

    if forest.link is not None:
        lost.append("counts and labels of leaves: boosted trees have scores")
        lost.append("sizes of leaves: of all records or of a sample")
        how = Boosting(forest.link, base=forest.base)
        return Converted(release(trees, predicts="score", boosting=how), "treelite", tuple(lost))
    rows = 0 if training is None else len(training.frame.lines)
    sizes = [_Sizes.of(tree) for tree in document.children("trees")]
    counted = [_counted(tree, size, forest.classes) for tree, size in zip(trees, sizes, strict=True)]
    whole = [tree for tree in counted if tree is not None]
    draws = {size.weights[0] for size in sizes}
    if len(whole) < len(trees) or (any(size.drawn for size in sizes) and draws != {rows}):
        lost.append("counts and sizes of leaves: of weights, or of a bootstrap of as many rows as a table (train=) has")
        return Converted(release(trees, predicts="mean"), "treelite", tuple(lost))
    drawn = any(size.drawn for size in sizes)
    lost.append("labels of leaves")
    return Converted(release(whole, predicts="mean", resampled=rows if drawn else None), "treelite", tuple(lost))


def _forest(document: Values, wanted: Wanted) -> _Forest:
    """What holds of all trees."""
    source, task, post = document.source, document.text("task_type"), document.text("postprocessor")
    mean = document.raw.get("average_tree_output")
    kind = {"kBinaryClf": "sigmoid", "kMultiClf": "softmax"}.get(task)
    if kind is None or not isinstance(mean, bool) or post != (_MEAN if mean else kind) or (mean and kind == "sigmoid"):
        expected = "a classifier whose scores become probabilities by sigmoid or softmax, or a mean of shares"
        raise invalid(source, "document", "task_type, postprocessor", expected, f"{task[:40]}, {post[:40]}")
    if document.wholes("num_class").tolist() == [] or document.whole("num_target") != 1:
        document.refuse("num_target", "one target")
    n = 2 if kind == "sigmoid" else int(document.wholes("num_class", 1)[0])
    if not 2 <= n <= 2**16:
        document.refuse("num_class", "at least 2 classes")
    classes = wanted.named_classes(map(str, range(n)))
    trees = document.items("trees")
    groups = document.wholes("class_id", len(trees)).tolist()
    if not trees or min(groups) < -1 or max(groups) >= (1 if kind == "sigmoid" else n) or (mean and max(groups) >= 0):
        document.refuse("class_id", "the class of each tree")
    bases = document.floats("base_scores", 1 if kind == "sigmoid" else n).tolist()
    alpha = document.number("sigmoid_alpha") if kind == "sigmoid" else 1.0
    if not alpha > 0 or (mean and any(bases)):
        document.refuse("base_scores", "scores of boosted trees alone, and a positive sigmoid_alpha")
    base = alpha * bases[0] if kind == "sigmoid" else dict(zip(classes, bases, strict=True))
    if document.text("threshold_type") not in ("float32", "float64"):
        document.refuse("threshold_type", "float32 or float64")
    single = document.text("threshold_type") == "float32"
    link = None if mean else _LINKS[kind]
    return _Forest(source, link, classes, _columns(document, wanted), groups, single, alpha, base)


def _columns(document: Values, wanted: Wanted) -> tuple[Attribute, ...]:
    """The columns, by number: treelite has no names, and codes in the place of categories."""
    n = document.whole("num_feature")
    if wanted.features is not None and (len(wanted.features) != n or len({*wanted.features}) < n):
        raise invalid("options", "argument", "features", f"{n} different names", f"{len({*wanted.features})}")
    largest: dict[int, int] = {}
    tested: set[int] = set()
    for tree in document.children("trees"):
        for node in tree.children("nodes"):
            if "split_feature_id" not in node.raw:
                continue
            feature = node.whole("split_feature_id")
            tested.add(feature)
            if "category_list" in node.raw:
                codes = node.wholes("category_list").tolist()
                if codes and not 0 <= min(codes) <= max(codes) < _MOST_CODES:
                    node.refuse("category_list", f"codes from 0 to {_MOST_CODES - 1}")
                largest[feature] = max(largest.get(feature, 0), max(codes, default=0))
    if tested and max(tested) >= n:
        document.refuse("num_feature", f"more than {max(tested)}, a column that a node tests")
    names = {i: f"f{i}" for i in tested} if wanted.features is None else dict(enumerate(wanted.features))
    return tuple(
        Attribute(name, "categorical", (*map(str, range(largest[i] + 1)), OTHER, MISSING))
        if i in largest
        else Attribute(name, "numeric", missing=True)
        for i, name in sorted(names.items())
    )


def _tree(tree: Values, t: int, forest: _Forest) -> Tree:
    """A tree, its nodes in depth-first order."""
    raws = {node.whole("node_id"): node for node in tree.children("nodes")}
    position = {column.name: column for column in forest.columns}
    names = list(position)
    numbered = {int(name[1:]): name for name in names} if all(re.fullmatch("f[0-9]+", n) for n in names) else {}
    of = forest.groups[t]
    nodes: list[Node] = []
    stack, seen = [0], set()
    while stack:
        at = stack.pop()
        if at not in raws or at in seen:
            raise invalid(tree.source, tree.where, "left_child", "nodes that are each below one other", f"node {at}")
        seen.add(at)
        node = Values(tree.source, f"{tree.where}, node {at}", raws[at].raw)
        if "split_feature_id" not in node.raw:
            nodes.append(_leaf(node, at, of, forest))
            continue
        number = node.whole("split_feature_id")
        column = position[numbered.get(number, names[number] if number < len(names) else "")]
        left, right = node.whole("left_child"), node.whole("right_child")
        nodes.append(Node(str(at), column.name, _branches(node, column, (str(left), str(right)), forest)))
        stack += [right, left]
    if len(seen) < len(tree.items("nodes")):
        tree.refuse("nodes", "nodes that the first one leads to, each once")
    name = forest.classes[1] if forest.link == "logit" else forest.classes[of] if of >= 0 else None
    return Tree(packed(tree.source, nodes), weight=forest.weight, of_class=name if forest.link is not None else None)


def _leaf(node: Values, at: int, of: int, forest: _Forest) -> Node:
    """A leaf: a score, one for each class, or shares of the classes."""
    if isinstance(node.raw.get("leaf_value"), list):
        several = dict(zip(forest.classes, node.floats("leaf_value", len(forest.classes)).tolist(), strict=True))
        if forest.link is None:
            total = sum(several.values())
            if min(several.values()) < 0 or abs(total - 1) > _ROUNDING:
                node.refuse("leaf_value", "shares of the classes, whose sum is 1")
            return Node(str(at), rates={name: value / total for name, value in several.items()})
        if forest.link != "softmax" or of >= 0:
            node.refuse("leaf_value", "one score")
        return Node(str(at), value=several)
    if forest.link is None or (forest.link == "softmax" and of < 0):
        node.refuse("leaf_value", "a number for each class")
    return Node(str(at), value=node.number("leaf_value"))


def _branches(node: Values, column: Attribute, below: tuple[str, str], forest: _Forest) -> tuple[Branch, ...]:
    """The branches of a test: to the left where it holds, and missing values where the node says."""
    to_left = node.raw.get("default_left")
    if not isinstance(to_left, bool):
        node.refuse("default_left", "true or false")
    if node.text("node_type") == "categorical_test_node":
        right = node.raw.get("category_list_right_child")
        if not isinstance(right, bool) or column.values is None:
            node.refuse("category_list_right_child", "true or false")
        codes = tuple(str(code) for code in sorted(set(node.wholes("category_list").tolist())))
        named, other = below[right], below[not right]
        values = (*codes, MISSING) if to_left != right else codes
        if not values:
            node.refuse("category_list", "at least one code")
        return Branch(named, values=values), rest(other)
    sign = node.text("comparison_op")
    if column.values is not None or (sign not in ("<", "<=") and sign not in _OPPOSITE):
        node.refuse("comparison_op", "<, <=, > or >=, of a column of numbers")
    if sign in _OPPOSITE:
        sign, below, to_left = _OPPOSITE[sign], (below[1], below[0]), not to_left
    # Trees of scikit-learn, which alone have both, round numbers to single precision.
    single = forest.single or ("data_count" in node.raw and "sum_hess" in node.raw)
    most = _BELOW[sign, single](node.number("threshold"))
    if not isfinite(most):
        node.refuse("threshold", "a number that some value is above, and some below")
    return cut(below, most, to_left)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Records at the nodes of a tree, by id, and their sums of weights; the root's are first."""

    records: Mapping[str, float]
    of_weights: Mapping[str, float]

    @classmethod
    def of(cls, tree: Values) -> _Sizes:
        """Those that a tree states, -1 where a node states none."""
        records, weights = {}, {}
        for node in tree.children("nodes"):
            name = str(node.whole("node_id"))
            records[name] = node.number("data_count") if "data_count" in node.raw else -1.0
            weights[name] = node.number("sum_hess") if "sum_hess" in node.raw else -1.0
        return cls(records, weights)

    @property
    def drawn(self) -> bool:
        """Whether some record counts more than once."""
        return self.records != self.of_weights

    @property
    def weights(self) -> tuple[float, ...]:
        """The sums of weights, that of the root first."""
        return self.of_weights["0"], *self.of_weights.values()


def _counted(tree: Tree, sizes: _Sizes, classes: Sequence[str]) -> Tree | None:
    """The tree with counts in the place of shares, of records or draws; None where they are no whole numbers."""
    nodes = []
    for node in tree.nodes:
        total, n = sizes.of_weights[node.id], sizes.records[node.id]
        if not (total.is_integer() and n.is_integer() and 0 <= n <= total <= LARGEST_COUNT):
            return None
        how = replace(node, n=int(total), distinct=int(n) if sizes.drawn else None)
        if node.rates is not None:
            counts = {name: node.rates.get(name, 0.0) * total for name in classes}
            if any(abs(count - round(count)) > _ROUNDING * total for count in counts.values()):
                return None
            how = replace(how, rates=None, counts={name: round(count) for name, count in counts.items()})
        nodes.append(how)
    return replace(tree, nodes=tuple(nodes))
