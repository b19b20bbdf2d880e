"""Growing a tree to publish: scikit-learn's CART, multiway ID3, and C4.5."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from maxent.models.errors import InvalidInput, Problem
from maxent.models.induction.cart import grow as grow_cart
from maxent.models.induction.error_pruning import prune
from maxent.models.induction.multiway import Rules, grow
from maxent.models.induction.parameters import CodedAs, Growth, Selection
from maxent.models.parameters import problems_of, unknown_choice
from maxent.models.reading import Reading, reader_of
from maxent.models.release import Candidates, Encoding, Impurity, Induction, Release, Tree
from maxent.models.tables.frame import Source, shorten
from maxent.models.tables.training import Training, read_training
from maxent.models.text.arguments import check_flags
from maxent.models.trees.draft import Draft, Publish, freeze

_LARGEST = float(np.finfo(np.float32).max)

__all__ = ["Growth", "c45", "cart", "id3", "induce"]


def induce(training: Training, growth: Growth, *, publish: Publish = "counts", inner_counts: bool = False) -> Release:
    """Grow a tree and publish it.

    Parameters
    ----------
    training : Training
        The records. For ``cart`` with an encoding in the order of appearance they are to be read in that order:
        ``read_training(..., order=growth.order)``.
    growth : Growth
        The inducer and its parameters.
    publish, inner_counts
        What the nodes state, see `maxent.models.trees.draft.freeze`.
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
        return grow_cart(training, growth)
    rules = Rules(growth.measure, growth.max_depth, growth.min_samples_split, growth.least)
    if growth.inducer == "id3":
        return grow(training, rules)
    drafts = grow(training, replace(rules, two_suffice=True, above_average=growth.selection == "quinlan"))
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
        See `maxent.models.induction.parameters.Growth`.
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
        See `maxent.models.induction.parameters.Growth`. Every split is the best of its node, whatever these are.
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
        See `maxent.models.induction.parameters.Growth`.
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
