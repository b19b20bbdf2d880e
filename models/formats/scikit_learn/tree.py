"""A fitted scikit-learn tree or forest as a `Release`: scikit-learn's conventions end here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import numpy as np

from maxent.models.arrays import BoolArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.formats.scikit_learn.columns import Feature, attribute_problems, naming_problems, read_coding
from maxent.models.formats.scikit_learn.ensemble import Ensemble, Member, trees_of
from maxent.models.formats.scikit_learn.induction import induction_of, missing_seen, read_fit
from maxent.models.formats.scikit_learn.models import searched
from maxent.models.formats.scikit_learn.nodes.states import boosting_of, nodes_of
from maxent.models.formats.scikit_learn.regression import check_covered, is_regression, numeric_nodes, regression_of
from maxent.models.formats.scikit_learn.scores import boosted_of, histogram_coding, is_boosted
from maxent.models.release import Attribute, Induction, Release, Target, Tree
from maxent.models.tables.columns.numeric_classes import numeric_target
from maxent.models.tables.frame import shorten
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

    Forest: TypeAlias = "RandomForestClassifier | ExtraTreesClassifier | BaggingClassifier"
    Boosted: TypeAlias = "AdaBoostClassifier | GradientBoostingClassifier | HistGradientBoostingClassifier"

_SOURCE = "from_sklearn"


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
        repeated, and so has the adversary's table to be (its ``count`` column). Only of a single tree.
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
    models state scores, and sizes where trees were grown from all records; the first tree of AdaBoost counts them.
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
        check_covered(_SOURCE, ensemble, numeric)
    if numeric is not None and classes is not None:
        raise invalid(_SOURCE, "argument", "classes", "bins or values of a regression", shorten(classes))
    members = ensemble.members
    problems = list(_argument_problems(model, target, classes, features, private, publish))
    if sample_weight is not None and members[0].tree is not model:
        problems.append(Problem("argument", "sample_weight", "nothing, for several trees", shorten(sample_weight)))
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
            induction = induction_of(member.tree, coding, read_fit(_SOURCE, member.tree, X, sample_weight))
        if numeric is not None:
            trees.append(Tree(numeric_nodes(member, own, attributes, names, publish, inner=inner_counts, draws=draws)))
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
    )


def _ensemble(model: Any, rows: int | None, *, weighted: bool) -> Ensemble:
    """The trees of a model, whatever they hold."""
    if is_regression(model):
        return regression_of(_SOURCE, model)
    if is_boosted(model):
        return boosted_of(_SOURCE, model, rows)
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
        return histogram_coding(_SOURCE, model, coding)
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
