"""A fitted scikit-learn decision tree as a `Release`: scikit-learn's conventions end here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from maxent.models.drafts import Draft, Publish, freeze
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.frames import shorten
from maxent.models.release import Attribute, Branch, Encoding, Impurity, Induction, Release, Target, Tree

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.tree import DecisionTreeClassifier

_SOURCE = "from_sklearn"
_IMPURITIES: Mapping[str, Impurity] = {"gini": "gini", "entropy": "entropy", "log_loss": "entropy"}


@dataclass(frozen=True, slots=True)
class Feature:
    """A column of a model's input: numeric, ordinal codes of ``values``, or whether it is ``indicates``."""

    name: str
    attribute: str
    values: tuple[str, ...] | None = None
    indicates: str | None = None

    def split(self, threshold: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Values of the domain at most, and above, the threshold; one of them is empty when it is out of range."""
        assert self.values is not None
        if self.indicates is None:
            cut = min(max(math.floor(threshold) + 1, 0), len(self.values))
            return self.values[:cut], self.values[cut:]
        if not 0 <= threshold < 1:
            return self.values, ()
        return tuple(value for value in self.values if value != self.indicates), (self.indicates,)


def from_sklearn(
    model: DecisionTreeClassifier,
    *,
    target: str,
    classes: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
    onehot: Mapping[str, Mapping[str, str]] | None = None,
    private: Sequence[str] = (),
    publish: Publish = "counts",
    inner_counts: bool = False,
) -> Release:
    """Publish a fitted ``sklearn.tree.DecisionTreeClassifier``.

    Parameters
    ----------
    model : DecisionTreeClassifier
        Fitted on one output, one row per individual, without fractional sample weights, class weights or monotonic
        constraints, under which it does not hold the records' counts. Whole sample weights are read as repeated
        records.
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
        What the nodes state, see `maxent.models.drafts.freeze`.

    Returns
    -------
    Release
        With induction ``cart`` and candidates ``thresholds``. ``impurity`` is None, which is sound and implies no
        internal constraint, where the format cannot say which splits competed: ``splitter="random"``, fewer
        ``max_features`` than features, ``min_weight_fraction_leaf``, ``min_samples_leaf`` with
        sample weights, missing values in the training data (see Notes), attributes of three or more values in both
        encodings, or a value of such an attribute without an indicator of its own.

    Raises
    ------
    InvalidInput
        When the model is not of this kind or not fitted, when its weighted counts are not whole records, when names do
        not match it, or when a threshold does not fit the encoding described.

    Notes
    -----
    scikit-learn compares values in single precision and considers no cut between values closer than 1e-7, which the
    release cannot tell: numeric columns should keep their values apart in it (scale them, or round them in the table
    too). A model trained with missing values shows it only where they went to the smaller child or alone; a split that
    sends them alone has an infinite threshold and is refused.
    """
    _check_model(model)
    problems = list(_argument_problems(model, target, classes, features, private, publish))
    if problems:
        raise InvalidInput(_SOURCE, problems)
    columns = [str(name) for name in (model.feature_names_in_ if features is None else features)]
    coding, problems = _coding(columns, categories or {}, onehot or {})
    attributes = {f.attribute: f.values for f in coding}
    problems += _attribute_problems(attributes, target, private)
    counts, unsound = counts_of(model.tree_)
    problems += unsound
    if problems:
        raise InvalidInput(_SOURCE, problems)

    names = tuple(map(str, model.classes_ if classes is None else classes))
    drafts = drafts_of(model.tree_, model.tree_.threshold, coding, counts)
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
        trees=(Tree(freeze(drafts, names, publish, inner_counts=inner_counts), _induction(model, coding)),),
    )


def _check_model(model: object) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.utils.validation import check_is_fitted

    expected = "a fitted sklearn.tree.DecisionTreeClassifier"
    if not isinstance(model, DecisionTreeClassifier):
        if hasattr(model, "estimators_"):
            expected += " (one of its estimators_)"
        elif hasattr(model, "best_estimator_"):
            expected += " (its best_estimator_)"
        elif hasattr(model, "named_steps"):
            expected += " (the last of its steps)"
        raise invalid(_SOURCE, "argument", "model", expected, type(model).__name__)
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise invalid(_SOURCE, "argument", "model", f"{expected} (call fit first)", "not fitted") from None
    if model.n_outputs_ != 1:
        raise invalid(_SOURCE, "argument", "model", "one output: fit a tree per target", f"{model.n_outputs_} outputs")
    if model.class_weight is not None:
        expected = "None: with class weights neither labels nor counts are those of the records; fit again without"
        raise invalid(_SOURCE, "model", "class_weight", expected, shorten(model.class_weight))
    if model.monotonic_cst is not None and np.any(model.monotonic_cst):
        # The tree then stores class shares clipped to its ancestors', from which the records' cannot be told.
        expected = (
            "None: with monotonic constraints the model does not hold the counts of the records; fit again without"
        )
        raise invalid(_SOURCE, "model", "monotonic_cst", expected, shorten(model.monotonic_cst))


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
        yield from _naming_problems("features", features, fitted, model.n_features_in_, "feature_names_in_")
    elif not fitted:
        expected = f"the {model.n_features_in_} column names: the model was fitted without (on an array)"
        yield Problem("argument", "features", expected, "None")
    if classes is not None:
        yield from _naming_problems("classes", classes, list(map(str, model.classes_)), len(model.classes_), "classes_")


def _naming_problems(
    argument: str, given: Sequence[str], fitted: Sequence[str], size: int, attribute: str
) -> Iterator[Problem]:
    names = [given] if isinstance(given, str) else [str(name) for name in given]
    if len(names) != size:
        yield Problem(
            "argument", argument, f"{size} names, as many as the model has", f"{len(names)}: {shorten(given)}"
        )
    elif len(set(names)) < size:
        yield Problem("argument", argument, "each name once", shorten(next(n for n in names if names.count(n) > 1)))
    elif set(names) == set(fitted) and names != list(fitted):
        # The same names in another order would silently swap their meaning.
        yield Problem("argument", argument, f"the order of model.{attribute}, {shorten(list(fitted))}", shorten(names))


def _coding(
    columns: Sequence[str], categories: Mapping[str, Sequence[str]], onehot: Mapping[str, Mapping[str, str]]
) -> tuple[list[Feature], list[Problem]]:
    """What each column means, and what is wrong with the description of it."""
    coding = {name: Feature(name, name) for name in columns}
    problems: list[Problem] = []
    domains: dict[str, tuple[str, ...]] = {}
    for name, given in categories.items():
        where = f"categories {shorten(name)}"
        if name not in coding and name not in onehot:
            problems.append(Problem(where, "name", f"a feature ({shorten(', '.join(columns))})", "none of that name"))
        elif isinstance(given, str):
            problems.append(Problem(where, "values", "a list of values", shorten(given)))
        else:
            domains[name] = tuple(map(str, given))
            if not domains[name] or len(set(domains[name])) < len(domains[name]):
                problems.append(Problem(where, "values", "at least one value, each once", shorten(list(given))))
            if name not in onehot:
                coding[name] = Feature(name, name, domains[name])
    for attribute, indicators in onehot.items():
        where = f"onehot {shorten(attribute)}"
        values = tuple(map(str, indicators.values()))
        domain = domains.get(attribute, values)
        if not values or len(set(values)) < len(values):
            problems.append(Problem(where, "values", "at least one value, each once", shorten(list(values))))
        if attribute in coding and attribute not in indicators:
            problems.append(Problem(where, "name", "a name that no feature has", "a feature of that name"))
        if not set(values) <= set(domain) or len(domain) > len(values) + 1:
            expected = f"the values that have an indicator, {shorten(list(values))}, and at most one more"
            problems.append(Problem(f"categories {shorten(attribute)}", "values", expected, shorten(list(domain))))
        for name, value in indicators.items():
            if name not in coding:
                problems.append(Problem(where, "feature", f"one of {shorten(', '.join(columns))}", shorten(name)))
            elif coding[name].values is not None:
                problems.append(Problem(where, "feature", "features described once", f"{shorten(name)} again"))
            else:
                coding[name] = Feature(name, attribute, domain, str(value))
    return list(coding.values()), problems


def _attribute_problems(attributes: Mapping[str, object], target: str, private: Sequence[str]) -> Iterator[Problem]:
    if target in attributes:
        yield Problem("argument", "target", "a name that no attribute has", shorten(target))
    for name in private:
        if name not in attributes:
            yield Problem("argument", "private", f"attributes ({shorten(', '.join(attributes))})", shorten(name))


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
    tree: Any, thresholds: NDArray[np.float64], coding: Sequence[Feature], counts: NDArray[np.int64]
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
        Records.

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
        drafts.append(draft)
        if parent >= 0:
            drafts[parent].children.append(position)
        if left[node] < 0:
            continue
        feature, threshold = coding[tested[node]], float(thresholds[node])
        draft.attribute = feature.attribute
        below = above = reach
        if not math.isfinite(threshold):
            expected = "a finite threshold: name or fill missing values and fit again"
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


def _induction(model: DecisionTreeClassifier, coding: Sequence[Feature]) -> Induction:
    """What the format can say of how the tree was grown; without impurity when that is not all."""
    tree = model.tree_
    n_root = int(tree.n_node_samples[0])
    least = model.min_samples_leaf
    min_samples_leaf = int(least) if isinstance(least, (int, np.integer)) else math.ceil(least * n_root)
    weighted = not np.array_equal(tree.weighted_n_node_samples, tree.n_node_samples)
    encodings: set[Encoding] = set()
    complete = True
    for attribute in {f.attribute for f in coding if f.values is not None}:
        columns = [f for f in coding if f.attribute == attribute]
        values = columns[0].values or ()
        if len(values) > 2:  # with two values both encodings have the same single split
            encodings.add("ordinal" if columns[0].indicates is None else "onehot")
            complete &= columns[0].indicates is None or len(columns) == len(values)
    if (
        model.splitter != "best"
        or model.max_features_ < model.n_features_in_
        or model.min_weight_fraction_leaf > 0
        or (weighted and min_samples_leaf > 1)
        or _missing_seen(tree)
        or len(encodings) > 1
        or not complete
    ):
        return Induction("cart")
    encoding = encodings.pop() if encodings else "ordinal"
    return Induction("cart", _IMPURITIES[model.criterion], "thresholds", min_samples_leaf, encoding=encoding)


def _missing_seen(tree: Any) -> bool:
    """Whether some node sent missing values where it would not have without any: without, to the larger child."""
    inner = np.flatnonzero(tree.children_left >= 0)
    larger_left = tree.n_node_samples[tree.children_left[inner]] > tree.n_node_samples[tree.children_right[inner]]
    return bool(np.any(tree.missing_go_to_left[inner].astype(bool) != larger_left))
