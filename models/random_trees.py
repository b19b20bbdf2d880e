"""Random decision trees that are filled with sampled, thresholded counts (Waseda et al. 2025, Algorithm 3).

Their structure does not depend on the data (Fan et al. 2003). Each tree counts a Bernoulli sample of its own, and every
count of a leaf and a class that is below k is set to 0, which makes what is published differentially private under
sampling, see `maxent.models.accounting`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count, pairwise
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.accounting import composed, kanon_delta, smallest_epsilon, smallest_valid_epsilon
from maxent.models.composition import forest_delta
from maxent.models.domains import Domains
from maxent.models.errors import InvalidInput, Problem
from maxent.models.fields import is_whole, whole_number
from maxent.models.frames import shorten
from maxent.models.predict import predict_columns
from maxent.models.random_counts import Leaves, count_leaves, randomness
from maxent.models.random_paths import Space, paths, space_of
from maxent.models.release import Attribute, Branch, Defense, Induction, Node, Release, Target, Tree
from maxent.models.risk import Ranges, ranges_of
from maxent.models.routing import assign, layout
from maxent.models.training import Training

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
METHOD = "rdt"

USUAL_DELTA = 1e-6
"""The delta of the guarantee that is stated when no epsilon is asked for."""


@dataclass(frozen=True, slots=True)
class RandomTrees:
    """How random trees are drawn and filled.

    Attributes
    ----------
    trees : int
        At least 1.
    depth : int, optional
        Splits on every path, unless nothing is left to test, at least 0; default half the number of attributes.
    beta : float
        Probability with which a record enters the sample of a tree, above 0 and at most 1.
    k : int
        Counts below are published as 0, records; at least 0.
    epsilon : float, optional
        Nats, of all trees together: where the guarantee is stated; default the smallest one with a delta of at most
        `USUAL_DELTA`.
    seed : int, optional
        Makes trees and samples repeatable: there is no guarantee against those who know or guess it. Without one,
        samples are drawn from the operating system's cryptographic source. The same seed gives the same trees for any
        data, the same samples for any k, smaller samples within larger ones, and the first trees of a larger forest.
    """

    trees: int = 10
    depth: int | None = None
    beta: float = 0.1
    k: int = 20
    epsilon: float | None = None
    seed: int | None = None


def random_trees_problems(asked: RandomTrees) -> Iterator[Problem]:
    """List the parameters that are not as they should be."""
    for name, least, optional in (("trees", 1, False), ("depth", 0, True), ("k", 0, False), ("seed", 0, True)):
        value = getattr(asked, name)
        if not (optional and value is None) and not is_whole(_plain(value), least):
            expected = f"{'None or ' if optional else ''}{whole_number(least)}"
            yield Problem("argument", name, expected, shorten(value))
    if not (_is_number(asked.beta) and 0 < asked.beta <= 1):
        yield Problem("argument", "beta", "a probability above 0 and at most 1", shorten(asked.beta))
    if asked.epsilon is not None and not (_is_number(asked.epsilon) and asked.epsilon > 0 and isfinite(asked.epsilon)):
        yield Problem("argument", "epsilon", "None or a finite number above 0 (nats)", shorten(asked.epsilon))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """A number of NumPy's as one of Python's, which JSON can write."""
    return value.item() if isinstance(value, np.generic) else value


# --- What is guaranteed ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Guarantee:
    """(beta, epsilon, delta)-differential privacy under sampling, of all trees together.

    Attributes
    ----------
    beta : float
        Probability with which a record entered the sample of a tree.
    epsilon : float
        Nats.
    delta : float or None
        Of Waseda et al. (2025, Corollary 1); None where their theorem does not apply.
    tight_delta : float
        Of the same trees, by `maxent.models.composition.forest_delta`; at most ``delta``.
    """

    beta: float
    epsilon: float
    delta: float | None
    tight_delta: float


def guarantee(asked: RandomTrees) -> Guarantee | None:
    """What holds for trees over stated domains, against whoever does not know the samples; None when nothing does.

    There is none without sampling, and without an ``epsilon`` to state it for none when no epsilon has a delta as small
    as `USUAL_DELTA`: k people who are all alike are published by one of the trees with a probability of about
    ``trees * beta**k``.
    """
    if asked.beta >= 1:
        return None
    k = max(asked.k, 1)  # no count is below 1 but 0
    epsilon = asked.epsilon
    if epsilon is None:
        epsilon = asked.trees * float(smallest_epsilon(k, asked.beta, USUAL_DELTA / asked.trees))
        if not isfinite(epsilon):
            return None
    each, delta = epsilon / asked.trees, None
    if each >= smallest_valid_epsilon(asked.beta) * (1 - 1e-12):
        delta = composed(asked.trees, each, kanon_delta(k, asked.beta, each))[1]
    return Guarantee(asked.beta, epsilon, delta, forest_delta(asked.trees, k, asked.beta, epsilon))


# --- What is published -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Random trees with all counts of their samples, which are confidential until `release` suppresses some.

    ``roots`` are the keys of their roots. ``stated`` says whether all domains are known without the data.
    """

    target: Target
    attributes: tuple[Attribute, ...]
    space: Space
    depth: int
    asked: RandomTrees
    stated: bool
    roots: tuple[np.uint64, ...]
    leaves: tuple[Leaves, ...]

    @property
    def reached(self) -> int:
        """Leaves of all trees that somebody in their samples is in."""
        return sum(len(leaves.key) for leaves in self.leaves)

    def release(self, k: int | None = None) -> Release:
        """What is published, see `random_trees`; of the same samples, also with another k than was asked for."""
        asked = self.asked if k is None else replace(self.asked, k=k)
        exact = asked.beta >= 1 and asked.k <= 1
        trees = tuple(
            Tree(tuple(_nodes(self, root, leaves.suppressed(asked.k), exact)), Induction(METHOD))
            for root, leaves in zip(self.roots, self.leaves, strict=True)
        )
        known = guarantee(asked) if self.stated else None
        parameters = {
            "trees": asked.trees,
            "depth": self.depth,
            "beta": asked.beta,
            "k": asked.k,
            "domains": "stated" if self.stated else "data",
            "samples": "secret" if asked.seed is None else "seeded",
            **({} if known is None else {name: value for name, value in asdict(known).items() if value is not None}),
        }
        return Release(self.target, self.attributes, trees, asked.beta, asked.k, Defense(METHOD, parameters))


def random_trees(training: Training, asked: RandomTrees, domains: Domains | None = None) -> Release:
    """Draw random trees, fill them from samples of the records, and suppress small counts.

    Parameters
    ----------
    training : Training
        Its categorical attributes and its target have the domains that were stated, or those of the data.
    asked : RandomTrees
    domains : Domains, optional
        What is known without the data. Of numeric attributes it says what their thresholds are drawn from; without it,
        that is the range of the data.

    Returns
    -------
    Release
        Leaves state counts and nothing else, as a label or a number of records would tell of what was suppressed.
        ``sampling_rate`` is ``beta``, ``suppressed_below`` is ``k``, and the defense ``rdt`` has the parameters, where
        domains are from (``stated`` or ``data``), whether samples are ``secret`` or ``seeded``, and, if domains are
        stated, what is guaranteed as long as nobody knows the seed: ``epsilon``, ``delta`` and ``tight_delta``.

        Parts of a tree in which every count is 0 are left out: their branches have no child. That follows from what is
        published, and so tells nothing more. (They are not leaves with counts of 0: fewer than k people are in each
        leaf of such a part, not in all of them together.) A leaf at full depth whose counts are 0 is published when one
        beside it has others.

    Raises
    ------
    InvalidInput
        Naming every unsuitable parameter, and every attribute that is not within its stated range.
    """
    return draw(training, asked, domains).release()


def draw(training: Training, asked: RandomTrees, domains: Domains | None = None) -> Drawn:
    """`random_trees` before any count is suppressed; parameters and errors as there."""
    domains = domains or Domains()
    problems = [*random_trees_problems(asked), *domains.problems(training)]
    if problems:
        raise InvalidInput("random trees", problems)
    ranges = {**ranges_of(training.attributes, training.columns), **domains.ranges}
    stated = not domains.unstated(training)
    return draw_batches([training], training.target, training.attributes, asked, ranges, stated=stated)


def draw_batches(
    batches: Iterable[Training],
    target: Target,
    attributes: Sequence[Attribute],
    asked: RandomTrees,
    ranges: Ranges,
    *,
    stated: bool = True,
) -> Drawn:
    """`draw` for records that come in batches, all with these domains; nothing is checked.

    ``ranges`` has every numeric attribute; ``stated`` says whether all domains are known without the data. What has to
    fit into memory is a batch, and the leaves that records reach.
    """
    asked = RandomTrees(**{name: _plain(value) for name, value in asdict(asked).items()})
    space = space_of(attributes, ranges)
    depth = max(len(attributes) // 2, 1) if asked.depth is None else asked.depth
    random = [randomness(asked.seed, t) for t in range(asked.trees)]
    leaves = count_leaves(batches, random, asked.beta, space, depth, len(target.classes))
    roots = tuple(root for root, _ in random)
    return Drawn(target, tuple(attributes), space, depth, asked, stated, roots, leaves)


def _nodes(forest: Drawn, root: np.uint64, shown: Leaves, exact: bool) -> Iterator[Node]:
    """The nodes of a tree, the root first; ``shown`` are its leaves with counts above 0.

    Leaves without anybody share one below each node. Others with counts of 0 must not: those of several leaves together
    need not be small, and who chooses leaves because their samples are empty makes them look emptier than they are.
    """
    n = len(shown.key)
    some = shown.some if n else np.zeros((1, len(forest.attributes)))  # the root tests the same whoever comes
    steps = list(paths(forest.space, root, forest.depth, some))
    order = np.lexsort([step.branch for step in reversed(steps)]) if steps else np.arange(len(some))
    steps, counts = [step.take(order) for step in steps], shown.counts[order[:n]]
    queue: deque[tuple[str, bool, int, int, int]] = deque()
    leaf_ids, inner_ids = (map(f"{letter}{{}}".format, count(1)) for letter in "LN")

    def place(level: int, begin: int, end: int) -> str:
        """The id of the node above the leaves from ``begin`` to ``end``."""
        inner = begin < end and level < len(steps) and bool(steps[level].attribute[begin] >= 0)
        queue.append((next(inner_ids if inner else leaf_ids), inner, level, begin, end))
        return queue[-1][0]

    place(0, 0, len(some))
    while queue:
        name, inner, level, begin, end = queue.popleft()
        if not inner:
            yield Node(
                name, counts=dict(zip(forest.target.classes, counts[begin:end].sum(axis=0).tolist(), strict=True))
            )
            continue
        step, end = steps[level], min(end, n)
        attribute = forest.attributes[step.attribute[begin]]
        taken = step.branch[begin:end]
        starts = (begin + np.flatnonzero(np.diff(taken, prepend=-1))).tolist()
        below: dict[int, str | None] = {
            int(step.branch[at]): place(level + 1, at, to) for at, to in pairwise([*starts, end])
        }
        empty = [branch for branch in range(len(attribute.values or "01")) if branch not in below]
        if exact and empty:
            below |= dict.fromkeys(empty, place(level + 1, end, end))
        elif step.last[begin]:
            below |= {branch: place(level + 1, end, end) for branch in empty}
        yield Node(name, attribute.name, _branches(attribute, float(step.cut[begin]), below))


def _branches(attribute: Attribute, cut: float, below: Mapping[int, str | None]) -> tuple[Branch, ...]:
    """The branches of a node, with the child that is below each; those that are not there have none."""
    if attribute.values is None:
        return Branch(below.get(0), le=cut), Branch(below.get(1), gt=cut)
    values: dict[str | None, list[str]] = {}
    for code, value in enumerate(attribute.values):
        values.setdefault(below.get(code), []).append(value)
    return tuple(Branch(child, tuple(of)) for child, of in values.items())


# --- What is predicted -----------------------------------------------------------------------------------------


def vote_shares(
    release: Release, attributes: Sequence[Attribute], columns: Sequence[npt.NDArray[Any]], n: int
) -> FloatArray:
    """The share of the trees that vote for each class, for each record, shape (n, n_classes).

    A tree votes for the most frequent class (the first of them) of the leaf that a record comes to, when that has
    counts above 0. Where none has, what `maxent.models.predict.predict_columns`, which has the same arguments, predicts
    is the only vote.
    """
    n_classes = len(release.target.classes)
    votes = np.zeros((n, n_classes), np.int64)
    for tree in release.trees:
        counts = np.zeros((len(layout(tree).children), n_classes), np.int64)
        for place, node in enumerate(tree.nodes):
            if node.counts is not None:
                counts[place] = [node.counts[c] for c in release.target.classes]
        here = np.zeros(n, np.int64) if tree.root.is_leaf else assign(tree, attributes, columns)
        told = np.flatnonzero(counts.max(axis=1)[here])
        votes[told, counts.argmax(axis=1)[here[told]]] += 1
    silent = np.flatnonzero(~votes.any(axis=1))
    votes[silent, predict_columns(release, attributes, columns, n)[silent]] = 1
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))
