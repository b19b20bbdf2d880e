"""A fitted scikit-learn tree or forest as a `Release`: scikit-learn's conventions end here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from maxent.models.errors import InvalidInput, Problem
from maxent.models.formats.scikit_learn.columns import Feature, attribute_problems, naming_problems, read_coding
from maxent.models.formats.scikit_learn.ensemble import Member, members_of
from maxent.models.formats.scikit_learn.induction import induction_of, read_fit
from maxent.models.release import Attribute, Branch, Induction, Release, Target, Tree
from maxent.models.tables.frame import shorten
from maxent.models.trees.draft import Draft, Publish, freeze

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

_SOURCE = "from_sklearn"


def from_sklearn(
    model: DecisionTreeClassifier | RandomForestClassifier | ExtraTreesClassifier | BaggingClassifier,
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
) -> Release:
    """Publish a fitted ``sklearn.tree.DecisionTreeClassifier``, or all trees of a forest or a bag of them.

    Parameters
    ----------
    model : DecisionTreeClassifier, RandomForestClassifier, ExtraTreesClassifier or BaggingClassifier
        Fitted on one output, one row per individual, without class weights or monotonic constraints, under which it
        does not hold the records' counts, and without sample weights other than ``sample_weight``. Trees with
        ``bootstrap`` count draws of their own from all records: the release then says `Release.resampled`, and nodes
        with counts say `Node.distinct` too, which scikit-learn's exports call samples.
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

    Returns
    -------
    Release
        With induction ``cart`` and candidates ``thresholds``. ``impurity`` is None, which is sound and implies no
        internal constraint, where the format cannot say which splits competed: ``splitter="random"``, fewer
        ``max_features`` than features, missing values that show in the tree, attributes of three or more values in both
        encodings, or a value of such an attribute without an indicator of its own. ``min_samples_leaf`` is
        what surely was enough: with ``min_weight_fraction_leaf``, fractions and weights it may be more than what the
        model was asked for.

    Raises
    ------
    InvalidInput
        When the model is not of this kind or not fitted, when its weighted counts are not whole records, when it was
        fitted with weights that are not given, or not on ``X``, when names do not match it, or when a threshold does
        not fit the encoding described.

    Notes
    -----
    scikit-learn compares values in single precision and considers no cut between values closer than 1e-7, which the
    release cannot tell: numeric columns should keep their values apart in it (scale them, or round them in the table
    too).

    A model trained with missing values shows it only where they went to the smaller child or alone; a split that
    sends them alone has an infinite threshold and is refused. In features that it does not test they leave no trace:
    without ``X`` the attributes of these are left out of the comparisons (`Induction.compared`), with ``X`` those that
    do have missing values. Without ``X`` and ``sample_weight`` a ``min_samples_leaf`` that is a fraction is read as the
    size of the smallest node, because rows of weight 0, which scikit-learn counts in the fraction, leave no trace
    either. Weights that add up to the number of rows at every node cannot be noticed: say so with ``sample_weight``.
    """
    members, draws = members_of(_SOURCE, model)
    problems = list(_argument_problems(model, target, classes, features, private, publish))
    if sample_weight is not None and members[0].tree is not model:
        problems.append(Problem("argument", "sample_weight", "nothing, for several trees", shorten(sample_weight)))
    if problems:
        raise InvalidInput(_SOURCE, problems)
    columns = [str(name) for name in (model.feature_names_in_ if features is None else features)]
    coding, problems = read_coding(columns, categories or {}, onehot or {})
    attributes = {f.attribute: f.values for f in coding}
    problems += attribute_problems(attributes, target, private)
    if problems:
        raise InvalidInput(_SOURCE, problems)
    names = tuple(map(str, model.classes_ if classes is None else classes))
    trees = []
    for member in members:
        counts, unsound = counts_of(member.tree.tree_)
        if unsound:
            raise InvalidInput(_SOURCE, unsound)
        given = [coding[i] for i in member.features.tolist()]
        drafts = _drafts(member, given, counts, len(names), draws)
        induction = Induction("cart")
        if draws is None:
            fit = read_fit(_SOURCE, member.tree, X, sample_weight)
            if len(given) == len(coding) and given == coding:  # else, which attributes a tree could compare is its own
                induction = induction_of(member.tree, coding, fit)
        trees.append(Tree(freeze(drafts, names, publish, inner_counts=inner_counts), induction))
    return Release(
        target=Target(target, names),
        attributes=tuple(
            Attribute(
                name,
                "numeric" if values is None else "categorical",
                values,
                "private" if name in private else "public",
            )
            for name, values in attributes.items()
        ),
        trees=tuple(trees),
        resampled=draws,
        predicts=None if len(trees) == 1 else "mean",
    )


def _drafts(
    member: Member, coding: Sequence[Feature], counts: NDArray[np.int64], n_classes: int, draws: int | None
) -> list[Draft]:
    """The nodes of a tree, with the counts of all classes of its ensemble, and the different records where it drew."""
    tree, complete = member.tree.tree_, np.zeros((len(counts), n_classes), np.int64)
    complete[:, member.classes] = counts
    distinct = None if draws is None else np.asarray(tree.n_node_samples)
    return drafts_of(tree, tree.threshold, coding, complete, distinct)


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


def counts_of(tree: Any) -> tuple[NDArray[np.int64], list[Problem]]:
    """Records per node and class, shape (n_nodes, n_classes), and what is wrong with them."""
    # Since scikit-learn 1.3 the values are shares of the node's weighted records.
    records = tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None]
    whole = np.rint(records)
    problems = []
    if not np.allclose(records, whole, rtol=0, atol=1e-6):
        node, column = np.argwhere(~np.isclose(records, whole, rtol=0, atol=1e-6))[0]
        expected = "whole numbers of records: fit again without sample weights"
        problems.append(Problem(f"model, node {node}", "tree_.value", expected, f"{records[node, column]:g}"))
    return whole.astype(np.int64), problems


def drafts_of(
    tree: Any,
    thresholds: NDArray[np.float64],
    coding: Sequence[Feature],
    counts: NDArray[np.int64],
    distinct: NDArray[np.int64] | None = None,
) -> list[Draft]:
    """The nodes of a fitted ``tree_`` in depth-first order.

    Parameters
    ----------
    tree : sklearn.tree._tree.Tree
    thresholds : float64, shape (n_nodes,)
        Where each node is split, in the codes of ``coding``.
    coding : sequence of Feature
        What each column of the input means.
    counts : int64, shape (n_nodes, n_classes)
        Records, or draws.
    distinct : int64, shape (n_nodes,), optional
        Different records among the draws.

    Raises
    ------
    InvalidInput
        When a threshold does not fit the encoding described.
    """
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    tested = tree.feature.tolist()
    labels = counts.argmax(axis=1).tolist()
    drafts: list[Draft] = []
    problems: dict[str, Problem] = {}
    # A node to come: scikit-learn's number, the parent's position, and the values left of each categorical attribute.
    domains = {f.attribute: f.values for f in coding if f.values is not None}
    stack: list[tuple[int, int, dict[str, tuple[str, ...]]]] = [(0, -1, domains)]
    while stack:
        node, parent, reach = stack.pop()
        draft, position = Draft(counts[node], labels[node]), len(drafts)
        draft.distinct = None if distinct is None else int(distinct[node])
        drafts.append(draft)
        if parent >= 0:
            drafts[parent].children.append(position)
        if left[node] < 0:
            continue
        feature, threshold = coding[tested[node]], float(thresholds[node])
        draft.attribute = feature.attribute
        below = above = reach
        if not math.isfinite(threshold):
            expected = "a finite threshold: give missing values a number or a value of their own, and fit again"
            problems.setdefault(feature.name, Problem(f"model, node {node}", feature.name, expected, f"{threshold}"))
        elif feature.values is None:
            draft.branches = (Branch(None, le=threshold), Branch(None, gt=threshold))
        else:
            low, high = (
                tuple(v for v in reach[feature.attribute] if v in side) for side in map(set, feature.split(threshold))
            )
            if not low or not high:
                expected = (
                    f"codes 0 to {len(feature.values) - 1} of {shorten(list(feature.values))}"
                    if feature.indicates is None
                    else f"0 or 1, with exactly one 1 among the indicators of {shorten(feature.attribute)}"
                )
                found = f"a split at {threshold:g} that leaves a side without values"
                problems.setdefault(feature.name, Problem(f"model, node {node}", feature.name, expected, found))
                continue
            draft.branches = (Branch(None, low), Branch(None, high))
            below, above = reach | {feature.attribute: low}, reach | {feature.attribute: high}
        stack += [(right[node], position, above), (left[node], position, below)]
    if problems:
        raise InvalidInput(_SOURCE, problems.values())
    return drafts
