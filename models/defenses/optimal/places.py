"""The places of a grown tree in the search: their disclosure and value as a leaf, and the gain over cutting by k."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maxent.models.arguments import shorten_list
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.method import CERTAIN
from maxent.models.defenses.optimal.costs import least_cost, weights_stated
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.release import Release, Rounded, Target, Tree
from maxent.models.trees.draft import Publish
from maxent.models.trees.places import Places, number_places
from maxent.models.trees.restate import COUNTS, counts_reader, node_place, refuse
from maxent.models.trees.rounding import inferred_counts, possible_counts

if TYPE_CHECKING:
    from maxent.models.defenses.optimal.limits import Objective, SubtreeLimits
    from maxent.models.tables.training import Training

# What the tree predicts that only k cuts back, and how much better others are beyond chance.
#
# Without removed leaves that tree is `maxent.models.defenses.pruning.prune_parent`'s, with them `prune_leaf`'s. A leaf
# that `prune_leaf` removes has fewer than k people. More of them may be right with another prediction by chance: of
# many such leaves some have most people of another class. The sign test says how many have to be for it to be no
# chance, with a probability of 95 % for all of these leaves together (Bonferroni).

CHANCE = 0.05  # the probability that any removed leaf has so many people of another class by chance


@dataclass(frozen=True, slots=True, eq=False)
class CutBack:
    """The leaves of that tree, removed or not, by their places: ``ends``, ``predicted`` and ``small``, (n_ends,)."""

    places: Places
    ends: IntArray
    predicted: IntArray
    small: BoolArray


def cut_back(places: Places, large: BoolArray, label: IntArray, weights: FloatArray | None) -> CutBack:
    """The tree of places that are ``large`` enough, of which each predicts its ``label``; shapes (n_places,)."""
    if weights is None:
        splits = places.n_branches > 0
        for level in places.levels[1:]:
            np.logical_and.at(splits, places.parent[level], large[level])
        reached = np.ones(len(places), bool)
        for level in places.levels[1:]:
            reached[level] = (reached & splits)[places.parent[level]]
        ends = np.flatnonzero(reached & ~splits)
        return CutBack(places, ends, label[ends], np.zeros(len(ends), bool))
    ends = np.flatnonzero(places.n_branches == 0)
    small = ~large[ends]
    held = np.zeros(weights.shape)
    held[ends] = np.where(small[:, None], 0.0, weights[ends])
    for level in reversed(places.levels[1:]):
        np.add.at(held, places.parent[level], held[level])
    answer = np.where(held.any(axis=1), held.argmax(axis=1), label[0])
    for level in places.levels[1:]:
        silent = level[~held[level].any(axis=1)]
        answer[silent] = answer[places.parent[silent]]
    return CutBack(places, ends, np.where(small, answer[ends], label[ends]), small)


def otherwise(tree: CutBack, n_classes: int) -> IntArray:
    """Leaves of that tree at or below each place that predict another class than each, and their number."""
    found = np.zeros((len(tree.places), n_classes), np.int64)
    found[tree.ends, tree.predicted] = 1
    found = _summed(tree.places, found)
    many = found.sum(axis=1, keepdims=True)
    return np.hstack([many - found, many])


def by_chance(tree: CutBack, counts: IntArray) -> IntArray:
    """People below each place who may be right with each class by chance, shape (n_places, n_classes).

    Of a removed leaf these are the people beyond its prediction, but for those above the number at which the sign test
    tells the two apart.
    """
    of_class = counts[tree.ends]
    own = of_class[np.arange(len(tree.ends)), tree.predicted][:, None]
    leaves = int((tree.small & of_class.any(axis=1)).sum())
    more = np.maximum(of_class - own, 0)
    sure = np.maximum(of_class - _fewest(own, int(of_class.max(initial=0)), leaves) + 1, 0)
    found = np.zeros(counts.shape, np.int64)
    found[tree.ends] = np.where(tree.small[:, None], more - np.minimum(more, sure), 0)
    return _summed(tree.places, found)


def _fewest(others: IntArray, most: int, leaves: int) -> IntArray:
    """The fewest people, up to ``most``, who are so many more than these others that it is no chance; else one more."""
    from scipy.special import bdtrc

    low, high = np.ones_like(others), np.full_like(others, most + 1)
    while (low < high).any():
        middle = (low + high) // 2
        told = leaves * bdtrc(middle - 1, middle + others, 0.5) < CHANCE
        low, high = np.where(told, low, np.minimum(middle + 1, high)), np.where(told, middle, high)
    return np.asarray(low)


def _summed(places: Places, of_ends: IntArray) -> IntArray:
    """The sums at and below each place."""
    for level in reversed(places.levels[1:]):
        np.add.at(of_ends, places.parent[level], of_ends[level])
    return of_ends


ROUNDING = 1e-12  # error of a share, or of a sum of entropies per person, that is compared with a limit
SAME_IMPURITY = 1e-6  # trees whose impurity, per record, differs by less than this are as good


SAME_COST = 1e-9  # trees whose costs differ by less than this share of them are as good


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Each place as a leaf.

    * ``counts`` (n_places, n_classes): records of each class.
    * ``weights`` (n_places, n_classes): what it would state of its classes, see
      `maxent.models.defenses.optimal.costs.weights_stated`.
    * ``allowed`` (n_places,): whether it keeps the limits on leaves.
    * ``worth`` (n_places,): what is summed over the leaves and to be as large as possible: records with the right
      label, less a trifle for predictions that only limits other than k ask for, a smaller one for each branch that is
      merged, and the smallest for each leaf; or records less their Gini impurity; or minus their cost.
    * ``record``: what a record with the right label is worth.
    * ``trifle`` (n_places, n_classes): what is taken off for a leaf, whether it is removed or not, by the class that is
      predicted of its people.
    * ``costs`` (n_places, n_limits): what is summed over the leaves and limited: certain people, right guesses, and
      minus entropies (people x nats).
    * ``most`` (n_limits,): those limits.
    * ``names``: their parameters.
    * ``merged`` (n_places,): of how many branches with people a place is that stands for a group of values; 0 of
      others.
    * ``answer`` (n_places,): what a leaf answers for removed ones, a number below ``n_answers``: the class predicted
      for their people.
    * ``held`` (n_places, n_answers): what it adds to the answer that leaves give together, see `answer_of`; (n_places,
      0) where there is but one.
    * ``removable``, ``divisible`` (n_places,): whether it may be a removed leaf, and whether it may split where it has
      branches.
    * ``removed_worth``, ``removed_costs`` (n_places, n_answers), (n_places, n_limits): the same of a removed leaf, by
      the answer that is given for it.
    * ``price``: what is subtracted from the worth of every leaf, removed or not, see `priced`.
    """

    places: Places
    counts: IntArray
    weights: FloatArray
    allowed: BoolArray
    worth: FloatArray
    record: float
    trifle: FloatArray
    costs: FloatArray
    most: FloatArray
    names: tuple[str, ...]
    merged: IntArray
    objective: Objective
    answer: IntArray
    held: FloatArray
    removable: BoolArray
    divisible: BoolArray
    removed_worth: FloatArray
    removed_costs: FloatArray
    price: float = 0.0

    def answer_of(self, held: FloatArray) -> IntArray:
        """What leaves answer that hold this together, the first of the largest; for shape (n, n_answers), (n,)."""
        return np.zeros(len(held), np.int64) if not held.shape[1] else np.asarray(held.argmax(axis=1))

    def better(self, worth: float) -> float:
        """The least worth of a tree that is better: a record more, or `SAME_IMPURITY`, `SAME_COST` less."""
        if self.objective == "cost" or (self.objective == "accuracy" and self.price):
            return worth + SAME_COST * (1.0 + abs(worth))
        if self.objective == "impurity":
            return worth + SAME_IMPURITY * int(self.counts[0].sum())
        return self.records(worth) * self.record + 0.5

    def records(self, worth: float) -> int:
        """Records with the right label of a tree that is worth so much."""
        return int(np.ceil(worth / self.record))

    def share(self, worth: float) -> float:
        """What a worth is per record: a share with the right label, a Gini impurity or a cost, with that of leaves."""
        n = int(self.counts[0].sum())
        if self.objective == "accuracy":
            return (worth if self.price else self.records(worth)) / n
        return 1 - worth / n if self.objective == "impurity" else -worth / n

    @property
    def kept(self) -> FloatArray:
        """``most`` with the error of adding up."""
        return self.most + ROUNDING * max(1, int(self.counts[0].sum()))


def candidates(
    release: Release,
    tree: int,
    limits: SubtreeLimits,
    training: Training | None = None,
    publish: Publish = "counts",
    merged: Mapping[str, int] | None = None,
    rounded: Rounded | None = None,
    remove: bool = False,
) -> Candidates:
    """The places of a tree whose leaves state their counts; a cost matrix has been read.

    Counts to be ``rounded`` are judged by all that they allow then, and the divergence by what is inferred from them.
    """
    places = number_places(release.trees[tree])
    counts = counts_below(release, tree, places)
    largest, n = counts.max(axis=1), counts.sum(axis=1)
    labels = _labels(places, counts, release.target)
    possible = counts if rounded is None else possible_counts(counts, labels, rounded)
    costs, most, names = [], [], []
    if limits.max_certain:
        costs.append(np.where(possible.max(axis=1) >= CERTAIN * n, n, 0))
        most.append(float(limits.max_certain))
        names.append("max_certain")
    right = limits.right_guesses(float(largest[0] / max(n[0], 1)))
    if right is not None:
        costs.append(largest)
        most.append(float(np.floor((right + ROUNDING) * n[0])))
        names.append("max_right_guesses")
    if limits.min_divergence is not None and training is not None:
        believed = None if rounded is None else inferred_counts(counts, labels, rounded)
        costs.append(-leaf_entropies(counts, believed))
        most.append(-(limits.min_divergence * n[0] + truth_entropy(training)))
        names.append("min_divergence")
    weights = weights_stated(counts, labels, publish)
    groups = np.zeros(len(places), np.int64)
    if merged:
        groups[: places.n_nodes] = [merged.get(node.id, 0) for node in places.tree.nodes]
    usual = cut_back(places, n >= limits.k, labels, weights if remove else None)
    record, trifle = _trifles(np.maximum(groups - 1, 0), otherwise(usual, counts.shape[1]), int(n[0]))
    if limits.cautious and remove:
        trifle = trifle + record * by_chance(usual, counts)
    return Candidates(
        places,
        counts,
        weights,
        _allowed(counts, possible, limits, sensitive_classes(release.target, limits)),
        _worth(counts, weights, limits, record, trifle[np.arange(len(places)), labels]),
        record,
        trifle,
        np.array(costs, np.float64).reshape(len(costs), len(places)).T,
        np.array(most, np.float64),
        tuple(names),
        groups,
        limits.objective,
        np.zeros(len(places), np.int64),
        np.zeros((len(places), 0)),
        np.zeros(len(places), bool),
        np.ones(len(places), bool),
        np.zeros((len(places), 1)),
        np.zeros((len(places), len(costs))),
    )


def _trifles(more: IntArray, otherwise: IntArray, records: int) -> tuple[float, FloatArray]:
    """The worth of a record, and what is taken off for leaves, see `Candidates`.

    A prediction outweighs all merged branches, one of these all leaves; predictions are left aside beside merged
    branches, and where doubles would not hold it all.
    """
    branch = len(more) + 1.0
    prediction = branch * (1 + int(more.sum()))
    record = prediction * (1 + int(otherwise.max()))
    if more.any() or records * record >= 2.0**52:
        record, otherwise = prediction, np.zeros_like(otherwise)
    return record, 1 + branch * more[:, None] + prediction * otherwise[:, :-1]


def priced(found: Candidates, complexity: float) -> Candidates:
    """The same places where every leaf, removed or not, costs this share of the records; as they are where it is 0."""
    if not complexity:
        return found
    price = complexity * int(found.counts[0].sum())
    worth, removed = found.worth, found.removed_worth
    if found.objective == "accuracy" and not found.price:
        worth, removed = np.ceil(worth / found.record), np.ceil(removed / found.record)  # without trifles
    return replace(found, worth=worth - price, removed_worth=removed - price, price=found.price + price)


def leaf_entropies(counts: IntArray, believed: FloatArray | None = None) -> FloatArray:
    """Records times the entropy of their classes, nats, for counts of shape (n_leaves, n_classes); (n_leaves,).

    With numbers that are ``believed`` instead, shape as of ``counts``, the cross-entropy with these.
    """
    n = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts if believed is None else believed, n, out=np.ones(counts.shape), where=counts > 0)
    return np.asarray(-(counts * np.log(share)).sum(axis=1))


def truth_entropy(training: Training) -> float:
    """People times the entropy of the class among those with the same public attributes, nats.

    The entropies of leaves that state counts, less this, are the divergence D_overall.
    """
    public = [
        np.unique(column, return_inverse=True)[1]
        for attribute, column in zip(training.attributes, training.columns, strict=True)
        if attribute.role == "public"
    ]
    group = np.zeros(len(training), np.int64)
    for codes in public:
        group = np.unique(group * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
    counts = np.zeros((int(group.max()) + 1, len(training.target.classes)), np.int64)
    np.add.at(counts, (group, training.y), 1)
    return float(leaf_entropies(counts).sum())


def counts_below(release: Release, t: int, places: Places) -> IntArray:
    """Records of each class in every place, shape (n_places, n_classes): the sums of what the leaves below state."""
    tree: Tree = release.trees[t]
    implied = counts_reader(release)
    problems, stated = [], np.zeros((int(places.last[0]), len(release.target.classes)), np.int64)
    for place in places.leaves.tolist():
        node = places.node(place)
        found = None if node is None else implied(node)
        if found is None:
            above = tree.nodes[int(places.parent[place])] if node is None else node
            told = "a removed leaf" if node is None else "less"
            problems.append(Problem(node_place(release, t, above), "counts", COUNTS, told))
        else:
            stated[places.first[place]] = found
    refuse(problems)
    up_to = np.concatenate([np.zeros((1, stated.shape[1]), np.int64), np.cumsum(stated, axis=0)])
    return np.asarray(up_to[places.last] - up_to[places.first])


def sensitive_classes(target: Target, limits: SubtreeLimits) -> IntArray:
    """Numbers of the sensitive classes."""
    classes = target.classes
    if limits.sensitive is None:
        return np.arange(len(classes))
    asked = [name.strip() for name in limits.sensitive.split(",")] if limits.sensitive not in classes else None
    named = [limits.sensitive] if asked is None else asked
    if unknown := [name for name in named if name not in classes]:
        expected = f"classes of {target.name}: {shorten_list(classes)}"
        raise InvalidInput("options", [Problem(ARGUMENT, "sensitive", expected, shorten_list(unknown))])
    return np.array([classes.index(name) for name in named])


def _allowed(
    counts: IntArray, possible: IntArray | FloatArray, limits: SubtreeLimits, sensitive: IntArray
) -> BoolArray:
    """Whether each place keeps the limits on leaves, on what is possible and on what is true; shape (n_places,)."""
    n = counts.sum(axis=1)
    kept = n >= limits.k
    for share, of in ((limits.max_posterior, possible), (limits.alpha, counts)):
        if share is not None:
            kept &= of[:, sensitive].max(axis=1) <= (share + ROUNDING) * n
    if limits.max_certain == 0:
        kept &= possible.max(axis=1) < CERTAIN * n
    if limits.l is not None and limits.diversity == "distinct":
        kept &= np.count_nonzero(counts, axis=1) >= limits.l
    elif limits.l is not None:
        kept &= leaf_entropies(counts) >= (np.log(limits.l) - ROUNDING) * n
    return np.asarray(kept)


def _worth(
    counts: IntArray, weights: FloatArray, limits: SubtreeLimits, record: float, trifle: FloatArray
) -> FloatArray:
    """What each place is worth as a leaf, see `Candidates`."""
    if limits.objective == "accuracy":
        return np.asarray(counts.max(axis=1) * record - trifle)
    if limits.objective == "cost":
        return -least_cost(counts, weights, limits.cost)
    n = counts.sum(axis=1)
    return np.asarray(np.divide((counts.astype(np.float64) ** 2).sum(axis=1), n, out=np.zeros(len(n)), where=n > 0))


def _labels(places: Places, counts: IntArray, target: Target) -> IntArray:
    """The class that each place names as a leaf, the first of the most frequent unless it names another."""
    label = np.asarray(counts.argmax(axis=1))
    for place in places.published.tolist():
        stated = places.tree.nodes[place].label
        label[place] = label[place] if stated is None else target.classes.index(stated)
    return label
