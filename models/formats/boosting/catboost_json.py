"""CatBoost models saved as JSON: oblivious or nested trees, columns, and training parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from os import PathLike

from maxent.models.draws import DRAWN
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_json_object, uncollected
from maxent.models.formats.assemble import assemble, cut, packed, rest
from maxent.models.formats.boosting.hessians import SPARE
from maxent.models.formats.json_values import Values
from maxent.models.formats.proof import TrainingColumns, counts_in_leaves, read_training
from maxent.models.formats.release_reader import UNPROVEN, Converted, Wanted, model_reader
from maxent.models.nodes import each
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Boosting, Branch, Link, Node, Release, Tree
from maxent.models.tables.cells import MISSING, OTHER
from maxent.models.trees.places import single_at_most

# Columns of a model of CatBoost: by their numbers, with the names of categories, of which trees have hashes.

_FILLED = "that the value {value!r} of {name} stands for missing ones, as the table (train=) shows"
_UNFILLED = (
    "what stands for missing values of categories in the training: they go where values do that no test names, "
    "unless a table (train=) shows another name"
)
_MISSING_RIGHT = {"AsTrue": True, "AsFalse": False, "AsIs": False}


@dataclass(frozen=True, slots=True)
class CatboostColumns:
    """The columns of the input: the ``known`` by name, where missing numbers go, ``names`` of hashes."""

    source: str
    floats: Mapping[int, Attribute]
    categories: Mapping[int, Attribute]
    missing_right: Mapping[str, bool]
    names: Mapping[int, str]
    filled: Mapping[str, str]
    lost: tuple[str, ...]

    @property
    def known(self) -> dict[str, Attribute]:
        """The attributes that are declared, by name."""
        return {attribute.name: attribute for attribute in (*self.floats.values(), *self.categories.values())}

    def numeric(self, split: Values) -> Attribute:
        """The column that a test of numbers names."""
        number = split.whole("float_feature_index")
        if number not in self.floats:
            split.refuse("float_feature_index", f"one of {len(self.floats)} columns of numbers")
        return self.floats[number]

    def category(self, split: Values) -> tuple[str, str]:
        """The column and the category that a test names."""
        number, code = split.whole("cat_feature_index"), split.whole("value", -(2**31)) % 2**32
        if number not in self.categories:
            split.refuse("cat_feature_index", f"one of {len(self.categories)} columns of categories")
        if code not in self.names:
            expected = "a hash of which the file has the name: save_model(..., format='json', pool=the training pool)"
            split.refuse("value", expected)
        name, value = self.categories[number].name, self.names[code]
        return name, MISSING if self.filled.get(name) == value else value


def columns_of(features: Values, wanted: Wanted, training: TrainingColumns | None) -> CatboostColumns:
    """Read the columns, and what of a training table stands for missing categories.

    CatBoost refuses missing categories; who trains with some gives them a name, which the table then lacks.
    """
    floats = list(features.children("float_features")) if features.has("float_features") else []
    others = list(features.children("categorical_features")) if features.has("categorical_features") else []
    for kind in ("text_features", "embedding_features"):
        if features.has(kind):
            features.refuse(kind, "columns of numbers and of categories alone")
    names = _hashes(features)
    said = wanted.features
    number = {column.whole("flat_feature_index"): column for column in (*floats, *others)}
    if said is not None and len(said) != len(number):
        found = str(len(said))
        raise invalid("options", "argument", "features", f"{len(number)} names, as the model has columns", found)
    own = wanted.named_features(_title(number[i], i) for i in sorted(number))
    titles = dict(zip(sorted(number), own, strict=True))
    if len({*titles.values()}) < len(floats) + len(others):
        features.refuse("float_features", "columns of different names")
    of_floats, missing_right = {}, {}
    for column in floats:
        name = titles[column.whole("flat_feature_index")]
        treatment = column.text("nan_value_treatment", "AsIs")
        if treatment not in _MISSING_RIGHT:
            column.refuse("nan_value_treatment", f"one of {', '.join(_MISSING_RIGHT)}")
        of_floats[column.whole("feature_index")] = Attribute(name, "numeric", missing=True)
        missing_right[name] = _MISSING_RIGHT[treatment]
    of_categories: dict[int, Attribute] = {}
    filled: dict[str, str] = {}
    for column in others:
        name = titles[column.whole("flat_feature_index")]
        tested = [names[code] for code in _codes(column) if code in names]
        values = dict.fromkeys(tested)
        if training is not None and name in training.frame.columns:
            there = {value for order in training.orders(name)[:1] for value in order}
            gone = [value for value in tested if value not in there]
            if name in training.gaps and len(gone) == 1:
                filled[name] = gone[0]
                del values[gone[0]]
            values |= dict.fromkeys(sorted(there))
        domain = (*(value for value in values if value not in (OTHER, MISSING)), OTHER, MISSING)
        of_categories[column.whole("feature_index")] = Attribute(name, "categorical", domain)
    lost = [_FILLED.format(name=name[:40], value=value[:40]) for name, value in filled.items()]
    if of_categories and not filled:
        lost.append(_UNFILLED)
    return CatboostColumns(features.source, of_floats, of_categories, missing_right, names, filled, tuple(lost))


def _title(column: Values, number: int) -> str:
    """The name of a column, which is its number where it has none."""
    return column.text("feature_name", "") or column.text("feature_id", "") or str(number)


def _codes(column: Values) -> list[int]:
    """The hashes of categories that are tested alone."""
    return [code % 2**32 for code in column.wholes("values").tolist()] if column.has("values") else []


def _hashes(features: Values) -> dict[int, str]:
    """The names of the categories of all columns by their hashes."""
    found: dict[int, str] = {}
    for entry in features.children("cat_features_hash") if features.has("cat_features_hash") else ():
        code, name = entry.whole("hash", -(2**31)) % 2**32, entry.text("value")
        if not name or found.setdefault(code, name) != name:
            entry.refuse("value", "a name for each hash")
    return found


# Learning rate and penalty that the values of CatBoost's leaves were computed with, by the parameters in its files.
#
# With one Newton step for each leaf, the default of the logistic loss, a value is ``-rate G / (H + l2_leaf_reg)`` over
# all records: samples are drawn for the choice of splits only.

# Parameters that have to be as they are here, or not there, and what they say otherwise
_PLAIN: Mapping[str, Sequence[tuple[str, object, str]]] = {
    "boosting_options": (
        ("boosting_type", "Plain", "values are of ordered boosting"),
        ("model_shrink_rate", 0, "values were shrunk from tree to tree (model_shrink_rate)"),
        ("langevin", False, "values have noise (langevin)"),
        ("posterior_sampling", False, "values have noise (posterior_sampling)"),
    ),
    "tree_learner_options": (
        ("leaf_estimation_method", "Newton", "values are no Newton steps (leaf_estimation_method)"),
        ("leaf_estimation_iterations", 1, "values are of several steps (leaf_estimation_iterations)"),
        ("monotone_constraints", {}, "values were limited by monotone constraints"),
    ),
    "data_processing_options": (
        ("class_weights", [], "classes have weights"),
        ("auto_class_weights", "None", "classes have weights"),
    ),
}


def training_of(params: Values, loss: str, scale: float) -> tuple[float, float] | str:
    """The learning rate and the L2 penalty, or the reason why values are not those of the formula."""
    if loss != "Logloss":
        return f"the loss is {loss[:40]}"
    if scale != 1:
        return "scores have a scale of their own"
    for group, rules in _PLAIN.items():
        held = params.raw.get(group)
        for key, expected, why in rules:
            if isinstance(held, dict) and held.get(key, expected) != expected:
                return why
    boosting, learner = params.raw.get("boosting_options"), params.raw.get("tree_learner_options")
    if not isinstance(boosting, dict) or not isinstance(learner, dict) or "leaf_estimation_iterations" not in learner:
        return "the file does not state how it was trained"
    rate = Values(params.source, "boosting_options", boosting).number("learning_rate")
    l2 = Values(params.source, "tree_learner_options", learner).number("l2_leaf_reg")
    return (rate, l2) if rate > 0 and l2 >= 0 else "the learning rate, or the penalty, is none"


def _draws(params: Values) -> bool:
    """Whether rows were drawn, or put into a random order, before splits were chosen: the file states the seed.

    Values of leaves are of everybody, but the choice of splits is of who was drawn.
    """
    boosting, learner = params.raw.get("boosting_options"), params.raw.get("tree_learner_options")
    bootstrap = learner.get("bootstrap") if isinstance(learner, dict) else None
    drawn = not isinstance(bootstrap, dict) or (bootstrap.get("type") != "No" and bootstrap.get("subsample") != 1)
    return drawn or not isinstance(boosting, dict) or boosting.get("boosting_type") != "Plain"


def _measured(about: Values) -> bool:
    """Whether the file has measures that are no sums over leaves, as the loss of training is, or are of others."""
    text = about.raw.get("training")
    try:
        found = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return True
    metrics = found.get("metrics") if isinstance(found, dict) else None
    if not isinstance(metrics, dict):
        return False
    rounds = metrics.get("learn_metrics_history")
    known = isinstance(rounds, list) and all(
        isinstance(each, dict) and {*each} <= {"Logloss", "MultiClass"} for each in rounds
    )
    return bool(metrics.get("test_metrics_history")) or not (known or rounds is None)


# What the scores of a loss become; those of one class against the rest add up to no probabilities
_LINKS: Mapping[str, Link] = {
    "Logloss": "logit",
    "CrossEntropy": "logit",
    "Focal": "logit",
    "MultiClass": "softmax",
    "MultiClassOneVsAll": "none",
}

_LOST = (
    "counts and labels of leaves: CatBoost stores scores",
    "which splits competed",
)
_CTR = (
    "tests of columns of the table: a CTR is a number that CatBoost makes of the classes of the training records "
    "(train with one_hot_max_size, at least the number of categories)"
)

_STEEP = 30.0  # score from which on second derivatives are too small to be of use
_Tested = tuple[str, tuple[Branch, ...]]


@model_reader("catboost-json", "a model that CatBoost saved as JSON", r'\{\s*"(ctr_data|features_info)"\s*:\s*\{')
@uncollected()
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    document = Values(source, "document", read_json_object(path))
    about = document.child("model_info")
    loss = about.child("params").child("loss_function").text("type")
    link = _LINKS.get(loss)
    if link is None:
        raise invalid(source, "loss_function", "type", f"a classifier: one of {', '.join(_LINKS)}", repr(loss[:40]))
    classes = _classes(source, about, link, wanted)
    scale, base = _base(document, link, classes)
    training = read_training(wanted, reader)
    columns = columns_of(document.child("features_info"), wanted, training)
    scores = _Scores(1 if link == "logit" else len(classes), classes)
    if "oblivious_trees" in document.raw:
        read = [_oblivious(tree, columns, scores) for tree in document.children("oblivious_trees")]
    else:
        read = [_nested(tree, columns, scores) for tree in document.children("trees")]
    if not read:
        document.refuse("oblivious_trees", "at least one tree")
    of = classes[1] if link == "logit" else None
    trained = training_of(about.child("params"), loss, scale)
    rate, l2 = (None, None) if isinstance(trained, str) else trained
    how = Boosting(link, rate, l2, base)
    if rate is not None:
        read[0] = (_with_hessians(read[0], base), read[0][1])
    trees = [Tree(nodes, weight=scale, of_class=of) for nodes, _ in read]

    def release(of: Sequence[Tree]) -> Release:
        return assemble(source, of, classes, wanted, training, known=columns.known, predicts="score", boosting=how)

    found = release(trees)
    sized = None if training is None else _sized(found, [weights for _, weights in read], training)
    lost = [*_LOST, *columns.lost]
    if isinstance(trained, str):
        lost.append(f"what scores say of counts: {trained}")
    if sized is None:
        lost.append("sizes of leaves: their weights are records where a table (train=) shows so")
    if link == "none":
        lost.append("probabilities: each class against the rest has a score of its own")
    version = re.search(r"release ([0-9.]+[0-9])", about.text("catboost_version_info", ""))
    tool = f"CatBoost {version[1]}" if version is not None else "CatBoost"
    measured = ["measures of training and of evaluation (model_info, training)"] * _measured(about)
    params = about.child("params")
    told = DRAWN if "random_seed" in params.raw else UNPROVEN  # `maxent strip` takes it out
    aside = "; ".join([told] * _draws(params) + measured)
    if sized is None:
        return Converted(found, tool, tuple(lost), aside=aside)
    alike = sum(leaf.n != 0 for tree in sized.trees for leaf in tree.leaves) >= SPARE
    return Converted(sized, tool, tuple(lost), aside=aside, alike=alike)


def _classes(source: str, about: Values, link: Link, wanted: Wanted) -> tuple[str, ...]:
    """The names of the classes, in the order of the model."""
    found = about.child("class_params").items("class_names") if about.has("class_params") else []
    if not found and link == "logit":
        found = ["0", "1"]  # what CrossEntropy is trained with are the probabilities of one class
    names = tuple(str(name) for name in found if isinstance(name, str | int | float))
    if len(names) < len(found) or (link == "logit") > (len(names) == 2) or len(names) < 2 or len({*names}) < len(names):
        raise invalid(source, "class_params", "class_names", "different names of the classes", f"{len(names)}")
    return wanted.named_classes(names)


def _base(document: Values, link: Link, classes: Sequence[str]) -> tuple[float, float | dict[str, float]]:
    """The factor of all scores, and the scores before the first tree."""
    if "scale_and_bias" not in document.raw:
        return 1.0, 0.0
    found = document.items("scale_and_bias")
    if len(found) != 2:
        document.refuse("scale_and_bias", "a factor, and a list of scores")
    both = Values(document.source, "scale_and_bias", {"scale": found[0], "bias": found[1]})
    scale = both.number("scale")
    bias = both.floats("bias").tolist() if isinstance(found[1], list) else [both.number("bias")]
    if scale < 0 or len(bias) != (1 if link == "logit" else len(classes)):
        document.refuse("scale_and_bias", "a factor of at least 0, and a score for each class")
    return scale, bias[0] if link == "logit" else dict(zip(classes, bias, strict=True))


@dataclass(frozen=True, slots=True)
class _Scores:
    """How many scores leaves have, and the classes that several are of."""

    size: int
    classes: tuple[str, ...]

    def of(self, values: Sequence[float]) -> float | dict[str, float]:
        """The value of a leaf."""
        return values[0] if self.size == 1 else dict(zip(self.classes, values, strict=True))


_Read = tuple[Sequence[Node], dict[str, float]]  # the nodes of a tree, and the weights of its leaves


def _oblivious(tree: Values, columns: CatboostColumns, scores: _Scores) -> _Read:
    """A tree of one test for each level, the last on top; the bits of a leaf's number are what its tests say."""
    splits = list(tree.children("splits")) if tree.has("splits") else []
    n = 2 ** min(len(splits), 30)
    values = tree.floats("leaf_values", n * scores.size).tolist()
    weights = tree.floats("leaf_weights", n).tolist() if tree.has("leaf_weights") else [-1.0] * n
    nodes: list[Node] = []
    names = [_id(number, n) for number in range(2 * n)]  # an id is one object, wherever it stands
    for level, split in enumerate(reversed(splits)):
        at = 2**level
        for inner in range(at, 2 * at):
            below = (names[2 * inner], names[2 * inner + 1])
            nodes.append(Node(names[inner], *_test(split, columns, below)))
    size = scores.size
    nodes += [Node(names[n + i], value=scores.of(values[i * size : (i + 1) * size])) for i in range(n)]
    return packed(tree.source, nodes), dict(zip(names[n:], weights, strict=True))


def _id(number: int, n_leaves: int) -> str:
    """The id of a place, numbered level by level from 1: leaves by their own numbers."""
    return f"L{number - n_leaves}" if number >= n_leaves else f"S{number}"


def _nested(tree: Values, columns: CatboostColumns, scores: _Scores) -> _Read:
    """A tree of nodes within nodes, numbered in depth-first order."""
    nodes: list[Node] = []
    weights: dict[str, float] = {}
    for name, at in _walked(tree):
        if "split" not in at.raw:
            held = {"value": [at.number("value")] if scores.size == 1 else at.raw.get("value")}
            value = Values(at.source, at.where, held).floats("value", scores.size).tolist()
            nodes.append(Node(name, value=scores.of(value)))
            weights[name] = at.number("weight") if "weight" in at.raw else -1.0
            continue
        nodes.append(Node(name, *_test(at.child("split"), columns, (f"{name}0", f"{name}1"))))
    numbers = {node.id: str(i) for i, node in enumerate(nodes)}
    renamed = (
        replace(
            node, id=numbers[node.id], branches=tuple(replace(b, child=numbers[b.child or ""]) for b in node.branches)
        )
        for node in nodes
    )
    return packed(tree.source, renamed), {numbers[name]: weight for name, weight in weights.items()}


def _walked(tree: Values) -> Iterator[tuple[str, Values]]:
    """The nodes of a tree with their ways from the root, of 0 for left and 1 for right."""
    stack = [("r", tree)]
    while stack:
        name, at = stack.pop()
        at = Values(tree.source, tree.where, at.raw)
        yield name, at
        if "split" in at.raw:
            stack += [(f"{name}1", at.child("right")), (f"{name}0", at.child("left"))]


def _test(split: Values, columns: CatboostColumns, below: tuple[str, str]) -> _Tested:
    """The attribute and the branches of a test: to the right what is above a border, or the one category."""
    kind = split.text("split_type")
    if kind == "FloatFeature":
        column = columns.numeric(split)
        most = single_at_most(split.number("border"))
        if most in (float("inf"), float("-inf")):
            split.refuse("border", "a number of single precision")
        return column.name, cut(below, most, not columns.missing_right[column.name])
    if kind == "OneHotFeature":
        name, value = columns.category(split)
        return name, (rest(below[0]), Branch(below[1], values=(value,)))
    if kind == "OnlineCtr":
        raise invalid(split.source, split.where, "split_type", _CTR, "OnlineCtr")
    split.refuse("split_type", "FloatFeature or OneHotFeature")


def _with_hessians(read: _Read, base: object) -> tuple[Node, ...]:
    """The nodes of the first tree, with the sums of second derivatives of records that all have the same score."""
    nodes, weights = read
    share = 1 / (1 + exp(-base)) if isinstance(base, float) and abs(base) < _STEEP else 0.0
    return tuple(
        replace(node, hessian=weights[node.id] * share * (1 - share))
        if share and weights.get(node.id, -1.0) >= 0
        else node
        for node in each(nodes)
    )


def _sized(release: Release, weights: Sequence[Mapping[str, float]], training: TrainingColumns) -> Release | None:
    """The release with sizes, where as many rows of a training table reach each leaf as its weight is, else None."""
    rows = replace(training, classes=())
    trees = []
    for tree, counts, of in zip(release.trees, counts_in_leaves(release, rows), weights, strict=True):
        sums = counts.sum(axis=1).tolist()
        if any(of[node.id] != n for node, n in zip(each(tree.nodes), sums, strict=True) if node.is_leaf):
            return None
        sized = (replace(node, n=n) if node.is_leaf else node for node, n in zip(each(tree.nodes), sums, strict=True))
        trees.append(replace(tree, nodes=tuple(sized)))
    return replace(release, trees=tuple(trees))
