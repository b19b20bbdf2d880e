"""Fitted models of scikit-learn as a `Release`: classification, regression, boosting, and the induction they prove."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import numpy as np

from maxent.models.arguments import shorten
from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray
from maxent.models.columns import NOTHING
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.formats.boosting.hessians import FirstTree, balanced, number_of_second
from maxent.models.formats.scikit_learn.columns import Feature, attribute_problems, naming_problems, read_coding
from maxent.models.formats.scikit_learn.ensemble import (
    Ensemble,
    Member,
    Splits,
    drawn_rows,
    exact,
    exact_splits,
    is_monotonic,
    shares_of,
    sizes_of,
    splits_of,
    told_draws,
    trees_of,
    weighed,
    were_weighed,
)
from maxent.models.formats.scikit_learn.models import check_model, searched
from maxent.models.formats.scikit_learn.nodes import bare, boosting_of, nodes_of, stated
from maxent.models.nodes import Nodes
from maxent.models.release import Attribute, Boosting, Encoding, Impurity, Induction, Link, Release, Target, Tree
from maxent.models.tables.classes import numeric_target
from maxent.models.trees.draft import Publish

if TYPE_CHECKING:
    from sklearn.ensemble import (
        AdaBoostClassifier,
        BaggingClassifier,
        ExtraTreesClassifier,
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.tree import DecisionTreeClassifier

_SOURCE = "from_sklearn"

# Induction of a scikit-learn tree: the splits that competed, as far as the model or its caller proves it.
#
# A fitted tree does not keep how it was fitted. It shows sums of weights and numbers of rows by node, but neither the
# weights themselves, nor the rows of weight 0, nor missing values in features that it does not test. Whatever is
# not proved is left out of the induction: that is sound, only weaker.

_IMPURITIES: Mapping[str, Impurity] = {"gini": "gini", "entropy": "entropy", "log_loss": "entropy"}


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """What is known of the data of a tree: rows, records for each row, and features without missing values."""

    rows: int | None = None
    weight: FloatArray | None = None
    whole: BoolArray | None = None


def read_fit(model: DecisionTreeClassifier, X: Any, sample_weight: Any) -> Fit:
    """Check the caller's statements about what ``fit`` was given against the fitted tree."""
    weight = None if sample_weight is None else _weights(model, sample_weight)
    if X is None:
        return Fit(None if weight is None else len(weight), weight)
    whole = _check_rows(model, X, weight)
    return Fit(np.shape(X)[0], weight, whole)


def _weights(model: DecisionTreeClassifier, given: Any) -> FloatArray:
    """Weights that are whole and can be those of the tree."""
    expected = "a whole number, at least 0, for each row, since a release counts records"
    try:
        weight = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid(_SOURCE, "argument", "sample_weight", expected, shorten(given)) from None
    if weight.ndim != 1:
        raise invalid(_SOURCE, "argument", "sample_weight", expected, f"an array of shape {weight.shape}")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0) & (weight == np.floor(weight))))
    if len(bad):
        raise invalid(_SOURCE, "argument", "sample_weight", expected, f"{weight[bad[0]]:g} for row {bad[0]}")
    rows, total = int(model.tree_.n_node_samples[0]), float(model.tree_.weighted_n_node_samples[0])
    if np.count_nonzero(weight) != rows or weight.sum() != total:
        expected = f"the weights that fit was given: {rows} rows above 0 that weigh {total:g}"
        found = f"{np.count_nonzero(weight)} rows above 0 that weigh {weight.sum():g}"
        raise invalid(_SOURCE, "argument", "sample_weight", expected, found)
    return weight


def _check_rows(model: DecisionTreeClassifier, X: Any, weight: FloatArray | None) -> BoolArray:
    """Check that the tree holds these rows; which features have no missing value in them, shape (n_features,)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # names of columns that only one of model and X has
            reached = model.decision_path(X)
    except (TypeError, ValueError) as error:
        expected = f"the rows that fit was given, {model.n_features_in_} features"
        raise invalid(_SOURCE, "argument", "X", expected, shorten(str(error), 200)) from None
    if weight is not None and len(weight) != reached.shape[0]:
        expected = f"as many rows as sample_weight, {len(weight)}"
        raise invalid(_SOURCE, "argument", "X", expected, str(reached.shape[0]))
    weight = np.ones(reached.shape[0]) if weight is None else weight
    for what, theirs, ours in (
        ("rows", model.tree_.n_node_samples, reached.T @ (weight > 0).astype(np.float64)),
        ("weight", model.tree_.weighted_n_node_samples, reached.T @ weight),
    ):
        for at in np.flatnonzero(theirs != ours)[:1].tolist():
            expected = f"the rows that fit was given: {what} {theirs[at]:g} at node {at} of the tree"
            raise invalid(_SOURCE, "argument", "X", expected, f"{ours[at]:g}")
    if hasattr(X, "tocsr"):  # sparse, which holds no missing values
        return np.ones(model.n_features_in_, bool)
    missing = np.isnan(np.asarray(X, dtype=np.float64)[weight > 0])
    return np.asarray(~missing.any(axis=0), dtype=np.bool_)


def induction_of(model: DecisionTreeClassifier, coding: Sequence[Feature], fit: Fit) -> Induction:
    """The induction of a fitted tree; without impurity where the format cannot state all of it."""
    impurity = _IMPURITIES.get(model.criterion) if isinstance(model.criterion, str) else None
    encoding = _encoding(coding)
    if (
        impurity is None
        or encoding is None
        or model.splitter != "best"
        or model.max_features_ < model.n_features_in_
        or (fit.whole is None and len(missing_seen(model.tree_)) > 0)
    ):
        return _of_some(model, impurity, encoding, fit.whole)
    compared = tuple(_compared(model.tree_, coding, fit.whole))
    if not compared:
        return _of_some(model, impurity, encoding, fit.whole)
    every = len(compared) == len({feature.attribute for feature in coding})
    least = fewest_records(model, fit)
    return Induction("cart", impurity, "thresholds", least, encoding=encoding, compared=None if every else compared)


def _of_some(model: Any, impurity: Impurity | None, encoding: Encoding | None, whole: BoolArray | None) -> Induction:
    """The induction of a tree of which it is not known which splits competed; with an impurity if that alone chose."""
    clear = encoding == "ordinal" and whole is not None and bool(whole.all()) and _is_bare(model)
    return Induction("cart", impurity) if clear else Induction("cart")


def _of_first(model: Any, coding: Sequence[Feature], given: BoolArray | None) -> Induction:
    """The induction of the only tree of AdaBoost, before which rows weigh alike; ``given``: which cells are missing."""
    plain = model.class_weight is None and not is_monotonic(model)
    whole = None if given is None else np.asarray(~given.any(axis=0), bool)
    return _of_some(model, _IMPURITIES.get(model.criterion) if plain else None, _encoding(coding), whole)


def _is_bare(model: Any) -> bool:
    """Whether no split had to be worth more than others, or anything: or each leaf was one for another reason."""
    if model.max_leaf_nodes is None and not model.ccp_alpha and not model.min_impurity_decrease:
        return True
    tree, depth = model.tree_, np.zeros(len(model.tree_.children_left), np.int64)
    for node in np.flatnonzero(tree.children_left >= 0).tolist():  # children have larger numbers
        depth[[tree.children_left[node], tree.children_right[node]]] = depth[node] + 1
    fewest = [model.min_samples_split, *[2 * model.min_samples_leaf] * isinstance(model.min_samples_leaf, Integral)]
    ended = (tree.impurity <= 0) | (depth >= (np.inf if model.max_depth is None else model.max_depth))
    ended |= tree.n_node_samples < max((each for each in fewest if isinstance(each, Integral)), default=0)
    return bool(ended[tree.children_left < 0].all())


def _in_whole(induction: Induction, model: Any) -> bool:
    """Whether all that a tree was grown by is stated: all splits competed, and the best of them was made."""
    return induction.candidates != "none" and induction.compared is None and _is_bare(model)


def _encoding(coding: Sequence[Feature]) -> Encoding | None:
    """Encoding of attributes with three or more values; None when the format has no name for it."""
    encodings: set[Encoding] = set()
    for attribute in {f.attribute for f in coding if f.values is not None}:
        columns = [f for f in coding if f.attribute == attribute]
        values = columns[0].values or ()
        if len(values) > 2:
            if columns[0].indicates is not None and len(columns) < len(values):
                return None  # the value without an indicator did not stand against the rest
            encodings.add("ordinal" if columns[0].indicates is None else "onehot")
    if len(encodings) > 1:
        return None
    return encodings.pop() if encodings else "ordinal"


def _compared(tree: Any, coding: Sequence[Feature], whole: BoolArray | None) -> Iterator[str]:
    """The attributes whose splits are known to have been judged by all records of each node.

    Missing values compete on either side of every cut, or alone, and show only in features that are tested.
    """
    known = np.isin(np.arange(len(coding)), tree.feature) if whole is None else whole
    for attribute in dict.fromkeys(feature.attribute for feature in coding):
        mine = np.array([known[i] for i, feature in enumerate(coding) if feature.attribute == attribute])
        if mine.all() if whole is not None else mine.any():
            yield attribute


def fewest_records(model: DecisionTreeClassifier, fit: Fit) -> int:
    """Records on each side of a split that are enough for it to have competed."""
    tree = model.tree_
    if isinstance(model.min_samples_leaf, Integral):
        rows = int(model.min_samples_leaf)
    elif fit.rows is not None:
        rows = math.ceil(model.min_samples_leaf * fit.rows)
    else:
        rows = int(tree.n_node_samples.min())  # no node has fewer than were asked for, however many rows there were
    records = rows
    if fit.weight is not None:
        # As many rows have to be there even if the heaviest ones are.
        records = int(np.sort(fit.weight)[::-1][: rows - 1].sum()) + 1
    lightest = math.ceil(model.min_weight_fraction_leaf * float(tree.weighted_n_node_samples[0]))
    return max(records, int(lightest))


def missing_seen(tree: Any) -> IntArray:
    """The columns of a ``tree_`` with a test that sent missing values where it would not have without any."""
    stored = getattr(tree, "missing_go_to_left", None)
    if stored is None:
        return np.zeros(0, np.int64)
    inner = np.flatnonzero(tree.children_left >= 0)
    rows = tree.n_node_samples
    larger_left = rows[tree.children_left[inner]] > rows[tree.children_right[inner]]
    odd = (stored[inner].astype(bool) != larger_left) | ~np.isfinite(tree.threshold[inner])
    return np.unique(np.asarray(tree.feature[inner][odd], np.int64))


# Fitted regression trees and forests of scikit-learn as releases: means and variances of a numeric target.

# Criteria under which the value of a node is the mean of its records
MEANS = ("squared_error", "friedman_mse", "poisson")

VARIANCES = ("squared_error", "friedman_mse")  # those under which its impurity is their variance


def is_regression(model: object) -> bool:
    """Whether a model is a regression tree, or a forest or bag of regression trees."""
    from sklearn import ensemble
    from sklearn.tree import DecisionTreeRegressor

    kinds = (ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor, ensemble.BaggingRegressor)
    if isinstance(model, DecisionTreeRegressor):
        return hasattr(model, "tree_")
    trees = getattr(model, "estimators_", ()) if isinstance(model, kinds) else ()
    return bool(len(trees)) and all(isinstance(tree, DecisionTreeRegressor) for tree in trees)


def regression_of(model: Any) -> Ensemble:
    """The trees of a regression."""
    trees = [(model, None)] if hasattr(model, "tree_") else list(_members(model))
    if model.n_outputs_ != 1 if hasattr(model, "n_outputs_") else False:
        raise invalid(_SOURCE, "model", "outputs", "one target", str(model.n_outputs_))
    # Forests and bags keep how many rows they were given; a bag draws by its weights, whatever its trees then weigh.
    forest = trees[0][0] is not model
    given = getattr(model, "_n_samples", trees[0][0].tree_.n_node_samples[0])
    drawn = drawn_rows(model, [tree.tree_ for tree, _ in trees]) if forest else 0
    draws = drawn if forest and (model.bootstrap or 0 < drawn < given) else None
    weighed = were_weighed(model)
    members = []
    for tree, features in trees:
        if tree.criterion not in MEANS:
            expected = f"one of {', '.join(MEANS)}, whose leaves state means"
            raise invalid(_SOURCE, "model", "criterion", expected, tree.criterion)
        if is_monotonic(tree):
            expected = "no constraints, which clip means to those of the nodes above"
            raise invalid(_SOURCE, "model", "monotonic_cst", expected, shorten(list(tree.monotonic_cst)))
        grown = tree.tree_
        rows, records = (np.asarray(n, np.float64) for n in (grown.n_node_samples, grown.weighted_n_node_samples))
        whole = np.array_equal(records, np.rint(records) if forest and model.bootstrap else rows)
        if weighed or not whole or records[0] != (given if draws is None else draws):
            raise invalid(_SOURCE, "model", "sample_weight", "every record once", "weights, or some of the records")
        splits = splits_of(grown)
        splits = Splits(splits.left, splits.right, splits.feature, exact(splits.threshold), splits.missing_left)
        known = np.arange(tree.n_features_in_) if features is None else np.asarray(features, np.int64)
        members.append(Member(splits, known, np.empty(0, np.int64), rows=rows.astype(np.int64), tree=tree))
    return Ensemble(tuple(members), "mean" if len(members) > 1 else None, draws, told=told_draws(model))


def check_covered(ensemble: Ensemble, target: Target) -> None:
    """Refuse bins, or values, outside of which leaves have means: they are not those of the target."""
    low, high = (ends for ends in zip(*(target.numbers or ()), strict=True))
    trees = [member.tree.tree_ for member in ensemble.members if member.tree is not None]
    means = np.concatenate([tree.value[tree.children_left < 0, 0, 0] for tree in trees])
    slack = 1e-6 * float(np.abs(means).max())
    if means.min() < min(low) - slack or means.max() > max(high) + slack:
        of_values = all(least == most for least, most in target.numbers or ())
        expected = f"numbers that cover the target: means of leaves are from {means.min():g} to {means.max():g}"
        found = f"{min(low):g} to {max(high):g}"
        raise invalid(_SOURCE, "argument", "values" if of_values else "bins", expected, found)


def _members(model: Any) -> Any:
    """The trees of a forest or bag, and the columns of each."""
    features = getattr(model, "estimators_features_", [None] * len(model.estimators_))
    return zip(model.estimators_, features, strict=True)


def numeric_nodes(
    member: Member,
    coding: Sequence[Feature],
    attributes: Sequence[Attribute],
    classes: Sequence[str],
    publish: Publish,
    *,
    inner: bool,
    draws: bool,
) -> Nodes:
    """The nodes of a regression tree with means, and unless only these are published (``labels``) n and variance.

    Of draws the root says as much as the leaves: the mean of all shows whether somebody rounded afterwards.
    """
    tree = member.tree
    assert tree is not None  # regression_of has it
    assert member.rows is not None
    nodes, order = bare("from_sklearn", member.splits, coding, attributes, classes)
    shown = (nodes.attribute == NOTHING) | inner
    shown[0] |= draws and publish != "labels"
    full = shown & (publish != "labels")
    mean = np.asarray(tree.tree_.value[:, 0, 0], np.float64)[order.order]
    spread = np.maximum(np.asarray(tree.tree_.impurity, np.float64), 0.0)[order.order]
    rows = member.rows[order.order]
    drawn = np.asarray(tree.tree_.weighted_n_node_samples, np.float64)[order.order].astype(np.int64) if draws else rows
    said = stated(len(nodes), n=np.where(full, drawn, NOTHING))
    return Nodes(
        replace(
            nodes,
            statements=replace(said, distinct=np.where(full, rows, NOTHING)) if draws else said,
            mean=np.where(shown, mean, np.nan),
            variance=np.where(full, spread, np.nan) if tree.criterion in VARIANCES else None,
        )
    )


# Boosted models of scikit-learn: gradient boosting, histogram gradient boosting and AdaBoost of trees.
#
# Leaves of gradient boosting add to log-odds; rate and penalty are stated where the values are Newton steps of all
# records alike, for then they tell how many of a class a leaf has. Trees of AdaBoost vote with weights.

# By how much the records of a class may be off a whole number, as the scores before the first tree tell them
_WHOLE = 1e-6


def is_boosted(model: object) -> bool:
    """Whether a model is a fitted classifier of one of these kinds."""
    from sklearn import ensemble
    from sklearn.tree import DecisionTreeClassifier

    if isinstance(model, ensemble.AdaBoostClassifier):
        trees = getattr(model, "estimators_", ())
        return bool(len(trees)) and all(isinstance(tree, DecisionTreeClassifier) for tree in trees)
    if isinstance(model, ensemble.HistGradientBoostingClassifier):
        return hasattr(model, "_predictors")
    return isinstance(model, ensemble.GradientBoostingClassifier) and hasattr(model, "estimators_")


def boosted_of(model: Any, rows: int | None, *, alike: bool) -> Ensemble:
    """The trees of a boosted model, see `maxent.models.formats.scikit_learn.ensemble.trees_of`."""
    if hasattr(model, "_predictors"):
        return _histograms(model, rows)
    return _adaboost(model, rows, alike) if hasattr(model, "estimator_weights_") else _gradients(model, rows)


def _gradients(model: Any, rows: int | None) -> Ensemble:
    """Gradient boosting: regression trees for each iteration and class."""
    n_classes = len(model.classes_)
    several = n_classes > 2
    stumps = np.asarray(model.estimators_, object)
    trees = [tree.tree_ for tree in stumps.ravel()]
    exponential = model.loss == "exponential"
    part = model.subsample < 1 or model.n_iter_no_change is not None
    sizes = [None] * len(trees) if part else sizes_of(trees, rows)
    every = np.arange(model.n_features_in_)
    members = []
    for number, (tree, n) in enumerate(zip(trees, sizes, strict=True)):
        values = model.learning_rate * np.asarray(tree.value[:, 0, :1], np.float64)
        of = np.array([number % n_classes if several else 1])
        # Of the exponential loss the score is half the log-odds.
        members.append(Member(exact_splits(tree), every, of, None, n, values, 2.0 if exponential else 1.0))
    base = _first_scores(model) * (2.0 if exponential else 1.0)
    whole = all(np.array_equal(tree.weighted_n_node_samples, tree.n_node_samples) for tree in trees)
    rate = None
    if not part and not exponential and whole:
        rate = float(model.learning_rate) * ((n_classes - 1) / n_classes if several else 1.0)
    return _gradient(members, base, rate, None if rate is None else 0.0)


def _first_scores(model: Any) -> FloatArray:
    """The scores before the first tree of gradient boosting, shape (1,) or (n_classes,)."""
    n_classes = len(model.classes_)
    if isinstance(model.init_, str):
        return np.zeros(n_classes if n_classes > 2 else 1)
    if type(model.init_).__name__ != "DummyClassifier" or model.init_.strategy != "prior":
        expected = "None or 'zero': scores before the first tree that depend on the row cannot be stated; fit again"
        raise invalid(_SOURCE, "model", "init", expected, shorten(model.init_))
    small = np.finfo(np.float64).eps
    shares = np.clip(np.asarray(model.init_.class_prior_, np.float64), small, 1 - small)
    if n_classes > 2:
        return np.asarray(np.log(shares) - np.log(shares).mean())
    odds = float(np.log(shares[1] / (1 - shares[1])))
    return np.array([odds / 2 if model.loss == "exponential" else odds])


def _gradient(members: Sequence[Member], base: FloatArray, rate: float | None, penalty: float | None) -> Ensemble:
    """Trees that add to log-odds."""
    link: Link = "logit" if len(base) == 1 else "softmax"
    return Ensemble(tuple(members), "score", None, Boosting(link, rate, penalty), base)


def _histograms(model: Any, rows: int | None) -> Ensemble:
    """Histogram gradient boosting, whose trees compare doubles and test sets of categories."""
    n_classes = len(model.classes_)
    several = n_classes > 2
    order = histogram_columns(model)
    members = []
    for iteration in model._predictors:
        for number, predictor in enumerate(iteration):
            nodes = predictor.nodes
            inner = nodes["is_leaf"] == 0
            codes = {
                node: _codes(predictor.raw_left_cat_bitsets[int(nodes["bitset_idx"][node])])
                for node in np.flatnonzero(inner & (nodes["is_categorical"] == 1)).tolist()
            }
            splits = Splits(
                np.where(inner, nodes["left"].astype(np.int64), -1),
                np.where(inner, nodes["right"].astype(np.int64), -1),
                order[nodes["feature_idx"].astype(np.int64)],
                np.asarray(nodes["num_threshold"], np.float64),
                np.asarray(nodes["missing_go_to_left"], bool),
                codes,
            )
            values = np.asarray(nodes["value"], np.float64)[:, None]
            of = np.array([number if several else 1])
            members.append(
                Member(splits, np.arange(model.n_features_in_), of, None, nodes["count"].astype(np.int64), values)
            )
    base = np.asarray(model._baseline_prediction, np.float64).ravel()
    part = bool(getattr(model, "do_early_stopping_", False)) and model.validation_fraction is not None
    part = part or len({int(m.rows[0]) for m in members if m.rows is not None}) > 1
    if part:
        members = [replace(member, rows=None) for member in members]
    weights = _weights_of(model, base, members)
    # Weights of records multiply both sums: only a penalty would show them where all records have the same.
    plain = not part and not getattr(model, "_fitted_with_sw", False) and not is_monotonic(model)
    if not plain or weights is None or not _of_whole_records(base, members[0].rows, weights):
        return _gradient(members, base, None, None)
    found = _gradient(members, base, float(model.learning_rate), float(model.l2_regularization))
    return found if getattr(model, "class_weight", None) is None else replace(found, weights=weights)


def _weights_of(model: Any, base: FloatArray, members: Sequence[Member]) -> FloatArray | None:
    """What records of each class weigh, shape (n_classes,); None where it is not known."""
    asked, n_classes = getattr(model, "class_weight", None), len(model.classes_)
    if asked is None and members:
        return np.ones(n_classes)
    if isinstance(asked, Mapping):  # the keys are the numbers of the classes, which may be their names, too
        keys, numbers, names = set(asked), set(range(n_classes)), set(model.classes_.tolist())
        if not keys <= numbers or (keys <= names and names != numbers):
            return None
        stated = np.array([float(asked.get(x, 1.0)) for x in range(n_classes)])
        return stated if (stated > 0).all() else None
    rows = members[0].rows if members else None
    if asked != "balanced" or n_classes > 2 or rows is None or abs(float(base[0])) > _WHOLE:
        return None
    first, leaves = members[0], np.flatnonzero(members[0].splits.left < 0)
    if first.values is None:
        return None
    penalty = np.full(len(leaves), float(model.l2_regularization))
    tree = FirstTree(rows[leaves].astype(np.float64), first.values[leaves, 0], penalty, float(model.learning_rate))
    found = number_of_second(tree, balanced, averaged=False)
    if found is None:
        return None
    return np.concatenate(balanced(np.array([found[0]]), float(rows[0])))


def _of_whole_records(base: FloatArray, rows: IntArray | None, weights: FloatArray) -> bool:
    """Whether scores before the first tree are those of whole records of classes with these weights."""
    if rows is None:
        return False
    odds = np.exp(np.append(0.0, base) if len(weights) == 2 else base) / weights
    records = odds / odds.sum() * float(rows[0])
    return bool(np.abs(records - np.rint(records)).max() <= _WHOLE * max(float(rows[0]), 1.0))


def _codes(bits: Any) -> frozenset[int]:
    """The numbers of the bits that are set in words of 32."""
    found = np.unpackbits(np.asarray(bits, "<u4").view(np.uint8), bitorder="little")
    return frozenset(np.flatnonzero(found).tolist())


def histogram_columns(model: Any) -> IntArray:
    """The column of the input that each column inside of histogram boosting is: categories come first there."""
    every = np.arange(model.n_features_in_)
    if getattr(model, "_preprocessor", None) is None:
        return every
    chosen = np.asarray(model.is_categorical_, bool)
    return np.concatenate([every[chosen], every[~chosen]])


def histogram_coding(model: Any, coding: Sequence[Feature]) -> list[Feature]:
    """The columns of histogram boosting, which takes missing values and categories as they are."""
    found = [feature if feature.values is not None else replace(feature, missing=True) for feature in coding]
    if getattr(model, "is_categorical_", None) is None:
        return found
    where = np.flatnonzero(model.is_categorical_).tolist()
    for i, values in zip(where, _categories(model, where), strict=True):
        names = coding[i].values
        if names is None:
            names = tuple(_text(value) for value in values)
        elif not all(isinstance(v, (float, int)) for v in values) or max(values) >= len(names):
            expected = f"no description: the model has {len(values)} categories of its own"
            raise invalid(_SOURCE, f"categories {shorten(coding[i].name)}", "values", expected, shorten(list(names)))
        elif getattr(model, "_preprocessor", None) is not None:
            names = tuple(names[int(value)] for value in values)
        if len(set(names)) < len(names) or {"(missing)", "(other)"} & set(names):
            expected = "categories that read differently, and not as (missing) or (other)"
            raise invalid(_SOURCE, f"column {shorten(coding[i].name)}", "categories", expected, shorten(list(names)))
        found[i] = replace(coding[i], values=names, missing=True, unseen=True)
    return found


def _categories(model: Any, where: Sequence[int]) -> list[list[Any]]:
    """The categories of each categorical column, in the order of their codes, without missing ones."""
    if getattr(model, "_preprocessor", None) is not None:
        stored = model._preprocessor.named_transformers_["encoder"].categories_
        return [[v for v in values.tolist() if v is not None and v == v] for values in stored]
    known = [model._bin_mapper.bin_thresholds_[i] for i in where]
    return [list(range(int(max(values)) + 1)) if len(values) else [] for values in known]


def _text(value: object) -> str:
    """A category as it stands in a table: codes, which are stored as doubles, are whole numbers."""
    return (
        repr(value)
        if isinstance(value, float) and not value.is_integer()
        else str(int(value) if isinstance(value, float) else value)
    )


def _adaboost(model: Any, rows: int | None, alike: bool) -> Ensemble:
    """AdaBoost: each tree votes for the class of its leaf, or by the logarithms of its shares (SAMME.R).

    The first tree counts records of several classes only where they are known to have weighed ``alike``.
    """
    n_classes = len(model.classes_)
    for tree in model.estimators_:
        check_model(_SOURCE, tree)
    weights = np.asarray(model.estimator_weights_, np.float64)
    trees = [tree.tree_ for tree in model.estimators_]
    first = weighed(trees[0]) / max(float(trees[0].weighted_n_node_samples[0]), TINY)
    first *= float(trees[0].n_node_samples[0])
    whole = bool(np.abs(first - np.rint(first)).max() <= _WHOLE) and not is_monotonic(model.estimators_[0])
    whole = whole and np.array_equal(np.rint(first).sum(axis=1), trees[0].n_node_samples)
    roots = {int(tree.n_node_samples[0]) for tree in trees}
    sized = len(roots) == 1 and (whole or rows in roots)
    every = np.arange(model.n_features_in_)
    members = []
    for number, (tree, weight) in enumerate(zip(model.estimators_, weights / weights.sum(), strict=False)):
        n = np.asarray(tree.tree_.n_node_samples, np.int64) if sized else None
        counts = None
        if number == 0 and sized and alike and whole:
            counts = np.rint(first).astype(np.int64)
        elif number == 0 and sized and not is_monotonic(tree):
            present = first > 0
            counts = np.where(
                present.sum(axis=1, keepdims=True) == 1, present * trees[0].n_node_samples[:, None], NOTHING
            )
        splits, classes = exact_splits(tree.tree_), np.arange(n_classes)
        members.append(Member(splits, every, classes, counts, n, _votes(model, tree), float(weight), tree))
    return Ensemble(tuple(members), "score", None, Boosting("softmax"))


def _votes(model: Any, tree: Any) -> FloatArray:
    """The terms of the scores of AdaBoost at each node of a tree, shape (n_nodes, n_classes)."""
    shares = shares_of(tree)
    others = shares.shape[1] - 1
    if getattr(model, "algorithm", "SAMME") == "SAMME.R":
        logs = np.log(np.clip(shares, np.finfo(np.float64).eps, None))
        return np.asarray(logs - logs.mean(axis=1, keepdims=True))
    won = shares.argmax(axis=1)[:, None] == np.arange(others + 1)
    if not _votes_against(model):
        return np.asarray(won - 0.5 if others == 1 else won / others)
    return np.asarray(np.where(won, 1.0, -1 / others) / others)


def _votes_against(model: Any) -> bool:
    """Whether a tree votes against the classes that it does not predict: since scikit-learn 1.3."""
    found = re.match(r"1\.[0-2]\b", str(vars(model).get("_sklearn_version", "")))
    return found is None


if TYPE_CHECKING:
    Forest: TypeAlias = "RandomForestClassifier | ExtraTreesClassifier | BaggingClassifier"
    Boosted: TypeAlias = "AdaBoostClassifier | GradientBoostingClassifier | HistGradientBoostingClassifier"


def from_sklearn(
    model: DecisionTreeClassifier | Forest | Boosted,
    *,
    target: str,
    classes: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
    onehot: Mapping[str, Mapping[str, str]] | None = None,
    private: Sequence[str] = (),
    publish: Publish = "counts",
    inner_counts: bool = False,
    X: Any = None,
    sample_weight: Any = None,
    bins: Sequence[float] | None = None,
    values: Sequence[float] | None = None,
) -> Release:
    """Publish a fitted ``sklearn.tree.DecisionTreeClassifier``, or all trees of an ensemble of trees.

    Parameters
    ----------
    model : DecisionTreeClassifier, or a classifier of many trees
        ``RandomForestClassifier``, ``ExtraTreesClassifier``, ``BaggingClassifier`` or ``AdaBoostClassifier`` of trees,
        ``GradientBoostingClassifier`` or ``HistGradientBoostingClassifier``. Fitted on one output, one row per person.
        Of a search (``GridSearchCV``) its best model. Trees with ``bootstrap`` count draws of their own from all
        records: the release then says `Release.resampled`, and nodes with counts say `Node.distinct` too, which
        scikit-learn's exports call samples. See Notes for models that count something else.
    target : str
        Name of the sensitive attribute.
    classes : sequence of str, optional
        Names of ``model.classes_``, in that order; default ``str`` of each.
    features : sequence of str, optional
        Names of the input's columns; default ``model.feature_names_in_``.
    categories : mapping of feature to values, optional
        Features that were encoded as 0, 1... in this order, such as those of an ``OrdinalEncoder``. Named after
        an attribute of ``onehot`` it gives that attribute's domain and its order, which may hold one value more than
        has an indicator (``OneHotEncoder(drop=...)``).
    onehot : mapping of attribute to (mapping of feature to value), optional
        Indicator features that together encode one attribute.
    private : sequence of str
        Attributes (not features) that are not in the adversary's table.
    publish, inner_counts
        What the nodes state, see `maxent.models.trees.draft.freeze`.
    X : array-like, shape (n_rows, n_features), optional
        What ``fit`` was given. The tree does not keep it, and without it less is known of which splits competed: see
        Notes. It is compared with the tree, and nothing of it is published.
    sample_weight : array-like of whole numbers, shape (n_rows,), optional
        What ``fit`` was given: row i stands for that many records, such as how often a bootstrap drew it
        (``np.bincount(forest.estimators_samples_[i], minlength=n_rows)``). The counts are then of the records so
        repeated, and so has the adversary's table to be (its ``count`` column). Only of a single tree; of AdaBoost the
        same for each row, which says that all weighed alike at first.
    bins : sequence of numbers, optional
        Of a regression: the edges of intervals that become the classes of the target, as of `pandas.cut` with
        ``include_lowest``; the outer ones may be infinite.
    values : sequence of numbers, optional
        Of a regression, in place of ``bins``: every number that the target can be, each a class.

    Returns
    -------
    Release
        With induction ``cart`` and candidates ``thresholds``. ``impurity`` is None, which is sound and implies no
        internal constraint, where the format cannot say which splits competed: ``splitter="random"``, fewer
        ``max_features`` than features, missing values that show in the tree, attributes of three or more values in both
        encodings, or a value of such an attribute without an indicator of its own. ``min_samples_leaf`` is
        what surely was enough: with ``min_weight_fraction_leaf``, fractions and weights it may be more than what the
        model was asked for.

    Notes
    -----
    A tree that was fitted with other weights than ``sample_weight``, with monotonic constraints or, in a bag, on a part
    of the rows without replacement, does not hold the records' counts: its shares of classes become scores (``value``),
    from which the release predicts as the model does. With sizes beside them a share of 0 states that nobody there
    has the class, whatever the weights above 0; else they state nothing of the records. Sizes are stated where
    they are surely of all records (give ``X``), and counts where ``class_weight`` alone tells them. Leaves of boosted
    models state scores, and sizes where trees were grown from all records; the first tree of AdaBoost counts them where
    all are of one class, and elsewhere where ``sample_weight`` says that all weighed alike at first.
    `Boosting.rate` is stated where values are steps that all records, alike, decided on.

    scikit-learn compares values of most models in single precision and considers no cut between values closer than
    1e-7: numeric columns should keep their values apart in it. Thresholds of up to seven digits are stated as they are.

    A model trained with missing values shows it only where they went to the smaller child or alone: give ``X``, so that
    every attribute with some has them. In features that a tree does not test they leave no trace:
    without ``X`` the attributes of these are left out of the comparisons (`Induction.compared`), with ``X`` those that
    do have missing values. Without ``X`` and ``sample_weight`` a ``min_samples_leaf`` that is a fraction is read as the
    size of the smallest node, because rows of weight 0, which scikit-learn counts in the fraction, leave no trace
    either. Weights that add up to the number of rows at every node cannot be noticed: say so with ``sample_weight``.
    """
    model = searched(model)
    given = _given(model, X)
    numeric = numeric_target(_SOURCE, target, bins, values) if is_regression(model) else None
    ensemble = _ensemble(model, None if given is None else len(given), weighted=sample_weight is not None)
    if numeric is None and (bins is not None or values is not None):
        expected = "nothing for a classifier, which has classes"
        raise invalid(_SOURCE, "argument", "bins", expected, shorten(values if bins is None else bins))
    if numeric is not None:
        check_covered(ensemble, numeric)
    if numeric is not None and classes is not None:
        raise invalid(_SOURCE, "argument", "classes", "bins or values of a regression", shorten(classes))
    members = ensemble.members
    problems = list(_argument_problems(model, target, classes, features, private, publish))
    if sample_weight is not None and members[0].tree is not model:
        problems += _weighed_apart(model, sample_weight)
    if problems:
        raise InvalidInput(_SOURCE, problems)
    columns = [str(name) for name in (model.feature_names_in_ if features is None else features)]
    coding, problems = read_coding(columns, categories or {}, onehot or {})
    if not problems:
        coding = _with_missing(model, members, coding, given)
    by_attribute = {f.attribute: f for f in coding}
    problems += attribute_problems(by_attribute, target, private)
    if problems:
        raise InvalidInput(_SOURCE, problems)
    names = numeric.classes if numeric is not None else tuple(map(str, model.classes_ if classes is None else classes))
    attributes = tuple(
        Attribute(
            name,
            "numeric" if feature.values is None else "categorical",
            feature.domain,
            "private" if name in private else "public",
            feature.missing and feature.values is None,
        )
        for name, feature in by_attribute.items()
    )
    trees, draws = [], ensemble.draws is not None
    for member in members:
        own = [coding[i] for i in member.features.tolist()]
        induction = Induction("cart")
        # Of some of the columns, which attributes a tree could compare is its own.
        alike = len(own) == len(coding) and own == coding
        if alike and ensemble.predicts != "score" and not draws and member.tree is not None:
            induction = induction_of(member.tree, coding, read_fit(member.tree, X, sample_weight))
        if hasattr(model, "estimator_weights_") and len(members) == 1 and member.tree is not None:
            induction = _of_first(member.tree, coding, given)
        if draws or not _in_whole(induction, member.tree):
            induction = replace(induction, among=tuple(by_attribute))
        if numeric is not None:
            means = numeric_nodes(member, own, attributes, names, publish, inner=inner_counts, draws=draws)
            trees.append(Tree(means, induction))
            continue
        nodes = nodes_of(member, own, attributes, names, publish, inner_counts=inner_counts, draws=draws)
        of = None if member.values is None or member.values.shape[1] > 1 else names[int(member.classes[0])]
        trees.append(Tree(nodes, induction, member.weight, of))
    return Release(
        target=numeric or Target(target, names),
        attributes=attributes,
        trees=tuple(trees),
        resampled=ensemble.draws,
        predicts=ensemble.predicts,
        boosting=boosting_of(ensemble, names),
        draws=ensemble.told if publish == "counts" else None,
    )


def _weighed_apart(model: Any, sample_weight: Any) -> Iterator[Problem]:
    """What is wrong with weights beside several trees: only of AdaBoost it is of use that all are the same."""
    boosted = hasattr(model, "estimator_weights_")
    weights = np.asarray(sample_weight)
    if not boosted or weights.ndim != 1 or not len(weights) or (weights != weights[0]).any():
        expected = "the same for each row, or nothing" if boosted else "nothing, for several trees"
        yield Problem("argument", "sample_weight", expected, shorten(sample_weight))


def _ensemble(model: Any, rows: int | None, *, weighted: bool) -> Ensemble:
    """The trees of a model, whatever they hold."""
    if is_regression(model):
        return regression_of(model)
    if is_boosted(model):
        return boosted_of(model, rows, alike=weighted)
    return trees_of(_SOURCE, model, rows, weighted=weighted)


def _given(model: Any, X: Any) -> BoolArray | None:
    """Which cells of the rows that ``fit`` was given are missing, shape (n_rows, n_features); None without them."""
    if X is None:
        return None
    if hasattr(X, "tocsr"):  # sparse, which holds no missing values
        found = np.zeros(X.shape, bool)
    else:
        from pandas import isna

        found = np.asarray(isna(X if hasattr(X, "isna") else np.asarray(X)))
    features = getattr(model, "n_features_in_", None)
    if features is not None and (found.ndim != 2 or found.shape[1] != features):
        expected = f"the rows that fit was given, {features} features"
        raise invalid(_SOURCE, "argument", "X", expected, f"an array of shape {found.shape}")
    return found


def _with_missing(
    model: Any, members: Sequence[Member], coding: Sequence[Feature], given: BoolArray | None
) -> list[Feature]:
    """What columns mean, with those that have missing values: where the data or the directions of the trees say so."""
    if hasattr(model, "_predictors"):
        return histogram_coding(model, coding)
    there: BoolArray = np.zeros(len(coding), bool) if given is None else np.asarray(given.any(axis=0), bool)
    for member in members:
        if member.tree is not None:
            there[member.features[missing_seen(member.tree.tree_)]] = True
    absent = {feature.attribute for feature, here in zip(coding, there, strict=True) if here}
    return [replace(feature, missing=True) if feature.attribute in absent else feature for feature in coding]


def _argument_problems(
    model: DecisionTreeClassifier,
    target: str,
    classes: Sequence[str] | None,
    features: Sequence[str] | None,
    private: Sequence[str],
    publish: str,
) -> Iterator[Problem]:
    if publish not in get_args(Publish):
        yield Problem("argument", "publish", f"one of {', '.join(get_args(Publish))}", shorten(publish))
    if not isinstance(target, str) or not target:
        yield Problem("argument", "target", "a name", shorten(target))
    if isinstance(private, str):
        yield Problem("argument", "private", f"a list of attributes, such as [{private!r}]", shorten(private))
    fitted = [str(name) for name in getattr(model, "feature_names_in_", ())]
    if features is not None:
        yield from naming_problems("features", features, fitted, model.n_features_in_, "feature_names_in_")
    elif not fitted:
        expected = f"the {model.n_features_in_} column names: the model was fitted without (on an array)"
        yield Problem("argument", "features", expected, "None")
    if classes is not None:
        yield from naming_problems("classes", classes, list(map(str, model.classes_)), len(model.classes_), "classes_")
