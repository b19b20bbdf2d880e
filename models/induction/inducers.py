"""Inducers: multiway ID3, C4.5 with error-based pruning, and scikit-learn's CART."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import (
    check_flags,
    problems_of,
    shorten,
    unknown_choice,
)
from maxent.models.arrays import FloatArray
from maxent.models.errors import InvalidInput, Problem
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.induction.growth import CodedAs, Growth, Selection
from maxent.models.induction.multiway import GrowthRules
from maxent.models.induction.multiway import grow as grow_multiway
from maxent.models.nodes import Nodes
from maxent.models.reading import Reading, reader_of
from maxent.models.release import Candidates, Encoding, Impurity, Induction, Release, Tree
from maxent.models.tables.frame import Source
from maxent.models.tables.training import Training, read_training
from maxent.models.trees.draft import Draft, Publish, depth_first, freeze

# CART as scikit-learn grows it, on a stated encoding of the attributes.


def grow(training: Training, growth: Growth) -> list[Draft]:
    """Fit a ``DecisionTreeClassifier`` and write its thresholds back as sets of values; in depth-first order."""
    from sklearn.tree import DecisionTreeClassifier

    from maxent.models.formats.scikit_learn.ensemble import counts_of, splits_of
    from maxent.models.formats.scikit_learn.nodes import bare

    if growth.max_depth == 0:  # scikit-learn grows no tree of a single leaf
        counts = np.bincount(training.y, minlength=len(training.target.classes))
        return [Draft(counts, int(counts.argmax()))]
    coding, inputs = encode(training, growth.encoding)
    model = DecisionTreeClassifier(
        criterion=growth.measure,
        max_depth=growth.max_depth,
        min_samples_split=max(growth.min_samples_split, 2),
        min_samples_leaf=growth.least,
        max_leaf_nodes=growth.max_leaf_nodes,
        min_impurity_decrease=growth.min_impurity_decrease,
        ccp_alpha=growth.ccp_alpha,
        random_state=growth.seed,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes is greater", category=UserWarning)
        model.fit(inputs, training.y)  # it takes a class per person for a regression; the target says what it is
    found = counts_of(model.tree_)
    assert found is not None, "no weights were given"
    counts = np.zeros((len(found), len(training.target.classes)), np.int64)
    counts[:, model.classes_] = found
    splits = replace(splits_of(model.tree_), threshold=_thresholds(model.tree_, training, coding))
    nodes, order = bare("cart", splits, coding, training.attributes, training.target.classes)
    drafts = []
    below = nodes.child.tolist()
    for at, node, first in zip(order.order.tolist(), Nodes(nodes), nodes.branch_ends.tolist(), strict=False):
        branches = tuple(replace(branch, child=None) for branch in node.branches)
        children = below[first : first + len(branches)]
        drafts.append(Draft(counts[at], int(counts[at].argmax()), node.attribute, branches, children))
    return drafts


def encode(training: Training, encoding: CodedAs) -> tuple[list[Feature], FloatArray]:
    """Input of scikit-learn: the meaning of each column, and float64 of shape (n, n_columns).

    A categorical attribute is a column of codes, or with ``onehot`` one for each value of its domain.
    """
    coding: list[Feature] = []
    columns: list[npt.NDArray[Any]] = []
    for attribute, column in zip(training.attributes, training.columns, strict=True):
        if attribute.values is None or encoding != "onehot":
            coding.append(Feature(attribute.name, attribute.name, attribute.values))
            columns.append(column)
            continue
        for code, value in enumerate(attribute.values):
            coding.append(Feature(f"{attribute.name}={value}", attribute.name, attribute.values, value))
            columns.append(column == code)
    return coding, np.column_stack(columns).astype(np.float64)


def _thresholds(tree: Any, training: Training, coding: list[Feature]) -> FloatArray:
    """The thresholds, moved where a number that scikit-learn rounded to single precision went to the other side."""
    thresholds: FloatArray = tree.threshold.copy()
    for i, feature in enumerate(coding):
        if feature.values is not None:
            continue
        (column,) = (c for a, c in zip(training.attributes, training.columns, strict=True) if a.name == feature.name)
        seen = np.unique(column)
        nodes = np.flatnonzero(tree.feature == i)
        below = np.searchsorted(seen.astype(np.float32).astype(np.float64), thresholds[nodes], side="right")
        moved = below != np.searchsorted(seen, thresholds[nodes], side="right")
        thresholds[nodes[moved]] = seen[below[moved] - 1]
    return thresholds


# Error-based pruning by subtree replacement, as C4.5 prunes (Quinlan 1993, section 4.2).


def upper_error(errors: npt.ArrayLike, n: npt.ArrayLike, confidence: float) -> FloatArray:
    """The error rate of a leaf at its upper confidence limit, U_CF(E, N); arguments broadcast.

    It is the exact limit of the binomial distribution (Clopper and Pearson 1934), which Quinlan's program approximates.
    """
    from scipy.special import betaincinv

    e, total = np.broadcast_arrays(np.asarray(errors, np.float64), np.asarray(n, np.float64))
    return np.asarray(np.where(e < total, betaincinv(e + 1, np.maximum(total - e, 1), 1 - confidence), 1.0))


def prune(drafts: Sequence[Draft], confidence: float) -> list[Draft]:
    """Replace every subtree by a leaf that is predicted to make no more errors, from the leaves up, in place."""
    n = np.array([draft.counts.sum() for draft in drafts])
    right = np.array([draft.counts[draft.label] for draft in drafts])
    predicted = np.where(n > 0, n * upper_error(n - right, np.maximum(n, 1), confidence), 0.0).tolist()
    for at in range(len(drafts) - 1, -1, -1):
        draft = drafts[at]
        below = sum(predicted[child] for child in draft.children)
        if draft.children and below < predicted[at]:
            predicted[at] = below
        else:
            draft.attribute, draft.branches, draft.children = None, (), []
    return depth_first(drafts)


_LARGEST = float(np.finfo(np.float32).max)

__all__ = ["Growth", "c45", "cart", "id3", "induce"]


def induce(training: Training, growth: Growth, *, publish: Publish = "counts", inner_counts: bool = False) -> Release:
    """Grow a tree and publish it.

    With an encoding in the order of appearance, records are to be read in it (``growth.order``).
    """
    check_flags(inner_counts=inner_counts)
    problems = [*_argument_problems(growth, publish), *_attribute_problems(training, growth)]
    if problems:
        raise InvalidInput(str(growth.inducer), problems)
    nodes = freeze(_drafts(training, growth), training.target.classes, publish, inner_counts=inner_counts)
    tree = Tree(nodes, _induction(growth))
    return Release(training.target, training.attributes, (tree,))


def _drafts(training: Training, growth: Growth) -> list[Draft]:
    """The tree, grown."""
    if growth.inducer == "cart":
        return grow(training, growth)
    rules = GrowthRules(growth.measure, growth.max_depth, growth.min_samples_split, growth.least)
    if growth.inducer == "id3":
        return grow_multiway(training, rules)
    drafts = grow_multiway(training, replace(rules, two_suffice=True, above_average=growth.selection == "quinlan"))
    return drafts if growth.confidence is None else prune(drafts, growth.confidence)


def _induction(growth: Growth) -> Induction:
    """The published description of how the tree was grown."""
    if growth.inducer == "cart":
        encoding: Encoding = "onehot" if growth.encoding == "onehot" else "ordinal"
        return Induction("cart", growth.measure, "thresholds", growth.least, encoding=encoding)
    if growth.inducer == "id3":
        return Induction("id3", growth.measure, "unused", growth.least)
    # An attribute of less than average gain did not compete, and which ones those were is not known.
    candidates: Candidates = "none" if growth.selection == "quinlan" else "mixed"
    return Induction("c45", growth.measure, candidates, growth.least)


def _argument_problems(growth: Growth, publish: str) -> list[Problem]:
    """Mistakes in the parameters, whatever the data."""
    return [*problems_of(growth), *unknown_choice("publish", publish, get_args(Publish))]


def _attribute_problems(training: Training, growth: Growth) -> Iterator[Problem]:
    """Mistakes in the parameters for these records."""
    if not len(training):
        yield Problem("training", "records", "at least one record", "none")
    for attribute, column in zip(training.attributes, training.columns, strict=True):
        where = f"column {shorten(attribute.name)}"
        if attribute.type == "numeric" and growth.inducer == "id3":
            expected = "categories: bin it, name it in categorical=, or grow c45 or cart, which cut numbers"
            yield Problem(where, "type", expected, "numbers")
        elif growth.inducer == "cart" and np.abs(column).max(initial=0) > _LARGEST:
            expected = f"numbers up to {_LARGEST:.4g}, which scikit-learn compares in single precision"
            yield Problem(where, "values", expected, f"{np.abs(column).max():.4g}")
    if growth.inducer == "cart" and growth.encoding != "onehot" and training.order != growth.order:
        expected = f"order={growth.order!r}, which encoding={growth.encoding!r} means"
        yield Problem("training", "order", expected, shorten(training.order))


def id3(
    data: Source,
    *,
    target: str,
    qi: Sequence[str],
    private: Sequence[str] = (),
    impurity: Impurity = "entropy",
    min_samples_split: int = 2,
    min_samples_leaf: int = 1,
    max_depth: int | None = None,
    publish: Publish = "counts",
    inner_counts: bool = False,
    domains: Mapping[str, Sequence[str]] | None = None,
    categorical: Sequence[str] = (),
    reading: Reading | None = None,
) -> Release:
    """Grow a multiway ID3 tree [1]_ over categorical attributes and publish it.

    A node is split by the attribute, among those not yet used on its path, with the smallest expected impurity
    (``gain_ratio`` [2]_: the largest gain / split information). An attribute competes when it has at least two values
    in the node, each with ``min_samples_leaf`` records. Ties go to the first in the order ``qi``, ``private``. A node
    stays a leaf when it has fewer than ``min_samples_split`` records, is pure, is ``max_depth`` splits below the root,
    or gains at most 1e-12. Values of the domain that do not occur in a node share one empty leaf (n = 0, the label of
    the node's own majority). The label of a tied leaf is the first of its classes.

    Parameters
    ----------
    data : DataFrame or path
        One row per record. Numbers are refused unless they are named in ``categorical`` or ``domains``.
    target, qi, private, categorical, domains
        See `maxent.models.tables.training.read_training`.
    impurity, min_samples_split, min_samples_leaf, max_depth
        See `Growth`.
    publish, inner_counts
        What the nodes state, see `maxent.models.trees.draft.freeze`.
    reading : Reading, optional
        How the data are read, see `maxent.models.reading.Reading`.

    References
    ----------
    .. [1] Quinlan, "Induction of decision trees", Machine Learning 1, 1986.
    .. [2] Quinlan, *C4.5: Programs for Machine Learning*, 1993.
    """
    growth = Growth("id3", impurity, max_depth, min_samples_leaf, min_samples_split)
    return _from_data(data, target, qi, private, categorical, domains, growth, publish, inner_counts, reading)


def cart(
    data: Source,
    *,
    target: str,
    qi: Sequence[str],
    private: Sequence[str] = (),
    encoding: CodedAs = "ordinal",
    impurity: Impurity = "gini",
    min_samples_split: int = 2,
    min_samples_leaf: int = 1,
    max_depth: int | None = None,
    seed: int | None = None,
    max_leaf_nodes: int | None = None,
    min_impurity_decrease: float = 0.0,
    ccp_alpha: float = 0.0,
    publish: Publish = "counts",
    inner_counts: bool = False,
    domains: Mapping[str, Sequence[str]] | None = None,
    categorical: Sequence[str] = (),
    reading: Reading | None = None,
) -> Release:
    """Grow scikit-learn's ``DecisionTreeClassifier`` and publish it in terms of the attributes and their values.

    The tree is the one that scikit-learn grows on the columns ``qi``, ``private``, in this order: numeric ones as they
    are, categorical ones encoded. Its thresholds are written back as sets of values, and moved by less than single
    precision shows where a number was rounded across one.

    Parameters
    ----------
    data, target, qi, private, categorical, domains, publish, inner_counts, reading
        As for `id3`; numbers are taken, too.
    encoding : {"ordinal", "appearance", "onehot"}
        What stands for a categorical attribute: 0, 1... for its values, sorted as text or in the order in which they
        first appear in ``data`` (both: in the order of ``domains`` where that names it); or an indicator for every
        value, two of them when it has two, as ``OneHotEncoder`` makes them.
    impurity, min_samples_split, min_samples_leaf, max_depth, max_leaf_nodes, min_impurity_decrease, ccp_alpha
        See `Growth`. Every split is the best of its node, whatever these are.
    seed : int, optional
        Decides between splits that are equally good; None: another tree every time.
    """
    growth = Growth(
        "cart",
        impurity,
        max_depth,
        min_samples_leaf,
        min_samples_split,
        encoding,
        seed,
        max_leaf_nodes,
        min_impurity_decrease,
        ccp_alpha,
    )
    return _from_data(data, target, qi, private, categorical, domains, growth, publish, inner_counts, reading)


def c45(
    data: Source,
    *,
    target: str,
    qi: Sequence[str],
    private: Sequence[str] = (),
    impurity: Impurity = "gain_ratio",
    min_samples_split: int = 2,
    min_samples_leaf: int = 2,
    max_depth: int | None = None,
    selection: Selection = "gain_ratio",
    confidence: float | None = 0.25,
    publish: Publish = "counts",
    inner_counts: bool = False,
    domains: Mapping[str, Sequence[str]] | None = None,
    categorical: Sequence[str] = (),
    reading: Reading | None = None,
) -> Release:
    """Grow a tree as C4.5 does [1]_, prune it, and publish it.

    Categorical attributes not yet used on the path have a branch per value, numeric ones are cut in two, as often as
    they win, at a number that occurs in ``data``. A split competes when at least two of its branches have
    ``min_samples_leaf`` records. Then subtrees are replaced by leaves from the leaves up, wherever the leaf is
    predicted to make no more errors, the error rate of a leaf being its upper confidence limit ([1]_, section 4.2).
    Not of C4.5: the larger numeric branches that it asks of larger nodes, groups of values, raising of subtrees,
    missing values, and the penalty for numbers of its later releases. Leaves are as in `id3`.

    Parameters
    ----------
    data, target, qi, private, categorical, domains, publish, inner_counts, reading
        As for `id3`; numbers are taken, too.
    impurity, min_samples_split, min_samples_leaf, max_depth
        See `Growth`.
    selection : {"gain_ratio", "quinlan"}
        Whether all splits compete by gain ratio; or, as in C4.5, numbers are cut where they gain most, and the
        attributes that gain at least as much as all do on average compete by gain ratio. In the second case, whose
        trees are better when ``max_depth`` is small, an adversary cannot tell which splits competed, and the release
        says so.
    confidence : float, optional
        The confidence factor of pruning, above 0 and at most 0.5: the smaller, the smaller the tree. None: no pruning.

    References
    ----------
    .. [1] Quinlan, *C4.5: Programs for Machine Learning*, 1993.
    """
    growth = Growth(
        "c45",
        impurity,
        max_depth,
        min_samples_leaf,
        min_samples_split,
        selection=selection,
        confidence=confidence,
    )
    return _from_data(data, target, qi, private, categorical, domains, growth, publish, inner_counts, reading)


def _from_data(
    data: Source,
    target: str,
    qi: Sequence[str],
    private: Sequence[str],
    categorical: Sequence[str],
    domains: Mapping[str, Sequence[str]] | None,
    growth: Growth,
    publish: Publish,
    inner_counts: bool,
    reading: Reading | None,
) -> Release:
    """Check the arguments, read the data and grow the tree."""
    if problems := _argument_problems(growth, publish):
        raise InvalidInput(growth.inducer, problems)
    training = read_training(
        data,
        target=target,
        qi=qi,
        private=private,
        categorical=categorical,
        domains=domains,
        order=growth.order,
        reader=reader_of(reading),
    )
    return induce(training, growth, publish=publish, inner_counts=inner_counts)
