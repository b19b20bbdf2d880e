"""Leaf values of boosted models: scores, rounding errors, and the class counts or linear rows that follow.

With p the probability of the tree's class before the round, a leaf states the value ``u = -rate G / (H + l2)``, where
``G = sum (p - y)`` and ``H = hessian sum p (1 - p)`` over its records, y being 1 for those of the class, else 0
(Chen & Guestrin 2016, eq. 5; after an L1 penalty G is nearer to 0 by it). The people of a leaf are known, and so is p
of each: that leaves the sum of y, which is the number of people of the class.

It is a whole number. The formula gives it up to an error that has a bound; where one whole number is within it, that is
the number. Several make an interval. None proves that the values were not computed from these people in this way; then
nothing is concluded from any tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from maxent.constraints.program.cells import Cells, place_sizes
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import Check, unchecked
from maxent.models.nodes import links_of, scores_of, statements_of
from maxent.models.release import Boosting, Release, Tree

if TYPE_CHECKING:
    from maxent.models.tables.truth_and_facts import Weighed

# Scores and probabilities of a boosted model before each round, with bounds on the rounding error.
#
# Tools keep scores, or at least the derivatives of the loss, in single precision, of 24 bits. A sum of scores is off by
# at most half a unit in the last place for each tree that was added. What is computed from it is off by that, and by a
# few units more: the bounds are of the worst case, and not of what is likely.

# Relative error of one rounding to single precision.
SINGLE = 2.0**-24
# Error of a probability, and of a derivative, that was computed in a few steps.
FEW = 4 * SINGLE
# Error of a score from which on nothing is concluded from it.
LOST = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Before:
    """The cells before the round of a tree: the probability of its class, and how far the tool's may be off."""

    tree: int
    klass: int
    share: FloatArray
    off: FloatArray

    @property
    def spread(self) -> FloatArray:
        """``p (1 - p)``, shape (n_cells,); the tool's differs by no more than its p does."""
        return self.share * (1 - self.share)


def before_each_tree(release: Release, boosting: Boosting, cells: Cells) -> Iterator[Before]:
    """The probabilities before each tree, in their order; trees of one round have a different class each."""
    classes = release.target.classes
    of = [classes.index(tree.of_class or "") for tree in release.trees]
    scores, error = start(boosting, of[0], classes, len(cells))
    shares, off = _shares(scores, error, boosting)
    seen: set[int] = set()
    for t, klass in enumerate(of):
        if klass in seen:
            shares, off = _shares(scores, error, boosting)
            seen.clear()
        seen.add(klass)
        yield Before(t, klass, shares[:, klass], off[:, klass])
        with np.errstate(over="ignore", invalid="ignore"):
            scores[:, klass] += values(release, t)[cells.leaf[:, t]]
        error[:, klass] += SINGLE * np.abs(scores[:, klass])
        error[cells.leaf[:, t] >= len(release.trees[t].nodes), klass] = (
            np.inf
        )  # a leaf that was removed added something


def start(boosting: Boosting, of: int, classes: tuple[str, ...], n: int) -> tuple[FloatArray, FloatArray]:
    """The scores before the first tree, shape (n, n_classes), and by how much they may be off."""
    base = boosting.base
    if isinstance(base, Mapping):
        one = np.array([base.get(c, 0.0) for c in classes])
    elif boosting.link == "logit":
        one = np.zeros(len(classes))
        one[of] = base
    else:
        one = np.full(len(classes), base)
    scores = np.tile(one, (n, 1))
    return scores, FEW * np.abs(scores)


def values(release: Release, t: int) -> FloatArray:
    """Terms of the score at each node of a tree, 0 at inner nodes; shape (n_nodes + removed leaves,).

    A tree that counts for nothing when the model predicts, as after the best iteration, did while others were grown.
    """
    tree = release.trees[t]
    weight = tree.weight or release.trees[0].weight or 1.0
    removed = sum(branch.child is None for node in tree.nodes for branch in node.branches)
    found = np.zeros(len(tree.nodes) + removed)
    for place, node in enumerate(tree.nodes):
        if isinstance(node.value, (int, float)):
            found[place] = weight * node.value
    return found


def _shares(scores: FloatArray, error: FloatArray, boosting: Boosting) -> tuple[FloatArray, FloatArray]:
    """Probabilities of scores, shape (n, n_classes), and by how much those of the tool may differ."""
    with np.errstate(over="ignore", invalid="ignore"):  # scores of a file may be beyond all numbers
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares = odds / odds.sum(axis=1, keepdims=True)
        worst = error.max(axis=1, keepdims=True)
        reach = worst if boosting.link == "logit" else 2 * worst  # of two scores one is 0 for certain
        off = 1.02 * shares * (1 - shares) * reach + (scores.shape[1] + 4) * SINGLE * shares + FEW
    return shares, np.where(np.isfinite(shares) & (worst < LOST), off, np.inf)


# Linear statements about a leaf of a boosted model with class weights: one coefficient per quasi-identifier.
#
# A record of class x weighs ``w_x``. With ``a = p + s p (1 - p)``, where s is the value of the leaf times the factor of
# the second derivative, divided by the rate, the value says ``sum_c [a_c sum_x w_x m_cx - w_k m_ck] = -fixed`` of the
# cells c of a leaf and the class k of its tree. The sum of second derivatives, where a file states it, says
# ``sum_c p_c (1 - p_c) sum_x w_x m_cx``. Of two classes one is what the other leaves of the people, if these are known.
#
# What rounding may have done to the coefficients is in the bounds: people times the largest error of each.
#
# Where people had weights of their own that are known, the share s_k of a class in a leaf says that its people weigh
# ``s_k W``, W being the weight of all. With one weight in each cell that is ``sum_c w_c m_ck = s_k W``.

# The numbers of a leaf in words.
SAYS = {"value": "value", "hessian": "sum of second derivatives", "share": "weighted share"}
# Relative error of a sum of second derivatives as a file states it.
PRINTED = 2e-6
# Coefficients that are no larger than this beside the largest are of nobody.
LEVEL = 1e-12


# By how much a sum of weights may be off that a share states in full, as a share of all weight in the leaf.
EXACT = 1e-9
# Decimals of weights that are taken for multiples of a unit.
DIGITS = range(5)
# Multiples up to which sums of weights are sums of whole numbers, for proofs of whole people, too.
MULTIPLES = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class LeafSum:
    """``low <= sum over cells c of a place and classes x of coef[x] weights[c, x] m[c, x] <= high``, individuals."""

    tree: int
    place: int
    of: Literal["value", "hessian", "share"]
    coef: FloatArray
    weights: FloatArray
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The sum of second derivatives of a leaf's records, ``factor`` times ``spread`` each, which may be ``off``."""

    stated: float
    factor: float
    spread: FloatArray
    off: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class FoundCounts:
    """Lower and upper counts of a leaf's class, and weighted sums."""

    number: tuple[float, float]
    sums: tuple[LeafSum, ...]


@dataclass(frozen=True, slots=True, eq=False)
class WeightedLeaf:
    """The people of a leaf, and the statement of its value about their weighted sum.

    ``weights``, shape (n_classes,): of the classes, that of the tree's class being 1. ``people``, shape (n_cells,):
    individuals of the quasi-identifier of each cell. ``a``, ``off``, shape (n_cells,): the coefficients of the text
    above, and how far they may be off. ``fixed``, ``free``: the constant, and how far it may be off.
    """

    tree: int
    place: int
    klass: int
    weights: FloatArray
    people: FloatArray
    a: FloatArray
    off: FloatArray
    fixed: float
    free: float

    def found(self, n: int | None, curve: Curve | None, *, single: bool) -> FoundCounts | str:
        """Everything the leaf states, or a description of the error."""
        people, x = float(self.people.sum()), self.klass
        if single and n is not None and n != people:
            return f"{n:,} records, but {people:,.0f} individuals of the table reach it"
        sums = [self._value(single=single), *([] if curve is None else [self._curve(curve, single=single)])]
        sums = [said for said in sums if np.isfinite([said.low, said.high, said.weights.sum()]).all()]
        low, high = 0.0, people
        for said in sums if single and len(self.weights) == 2 else ():
            number = number_of_class(said, x, self.people)
            if number is None or max(low, np.ceil(number[0])) > min(high, np.floor(number[1])):
                return f"its {SAYS[said.of]} is not that of {people:,.0f} people whose classes have these weights"
            low, high = max(low, float(np.ceil(number[0]))), min(high, float(np.floor(number[1])))
        telling = [said for said in sums if says_more(said, x, self.people)]
        if low == high in (0.0, people):
            telling = []
        return FoundCounts((low, high), tuple(telling))

    def _value(self, *, single: bool) -> LeafSum:
        """The statement of the value."""
        wide = float(self.people @ self.off) * float(self.weights.max()) + self.free
        own = np.arange(len(self.weights)) == self.klass
        matrix = self.a[:, None] * self.weights - own
        return self._stated("value", matrix, -self.fixed - wide, -self.fixed + wide, single=single)

    def _curve(self, curve: Curve, *, single: bool) -> LeafSum:
        """The statement of the sum of second derivatives."""
        wide = float(self.people @ (curve.off + FEW)) * float(self.weights.max())
        wide += (PRINTED * curve.stated + FEW) / curve.factor
        middle = curve.stated / curve.factor
        return self._stated(
            "hessian", curve.spread[:, None] * self.weights, middle - wide, middle + wide, single=single
        )

    def _stated(
        self, of: Literal["value", "hessian"], matrix: FloatArray, low: float, high: float, *, single: bool
    ) -> LeafSum:
        """A statement with coefficients of size 1, about one of two classes where that is all."""
        if single and len(self.weights) == 2:
            other = 1 - self.klass
            constant = float(self.people @ matrix[:, other])
            left = (matrix[:, self.klass] - matrix[:, other])[:, None] * (np.arange(2) == self.klass)
            matrix, low, high = left, low - constant, high - constant
        size = np.abs(matrix).max(initial=0.0)
        matrix = np.where(np.abs(matrix) <= LEVEL * size, 0.0, matrix) / (size or 1.0)
        low, high = low / (size or 1.0), high / (size or 1.0)
        if matrix.sum() < 0:
            matrix, low, high = -matrix, -high, -low
        return LeafSum(self.tree, self.place, of, np.asarray(matrix.any(axis=0), np.float64), matrix, low, high)


def number_of_class(said: LeafSum, klass: int, people: FloatArray) -> tuple[float, float] | None:
    """Least and largest number of people of one class that a statement about it alone leaves; None if it leaves none.

    Cells with the largest, or smallest, coefficients have them all, until the sum is reached.
    """
    weight = said.weights[:, klass]
    if said.coef.sum() != 1 or (weight <= 0).any():
        return 0.0, float(people.sum())
    if said.low > float(weight @ people) or said.high < 0:
        return None
    order = np.argsort(-weight, kind="stable")
    least = _filled(weight[order], people[order], said.low)
    most = _filled(weight[order[::-1]], people[order[::-1]], said.high)
    return least, most


def _filled(weight: FloatArray, people: FloatArray, total: float) -> float:
    """How many people, taken in this order, have a weighted sum of ``total``; all of them where it is never reached."""
    sums = np.cumsum(weight * people)
    at = int(np.searchsorted(sums, total))
    if total <= 0:
        return 0.0
    if at == len(people):
        return float(people.sum())
    before = float(sums[at - 1]) if at else 0.0
    return float(people[:at].sum()) + (total - before) / float(weight[at])


def says_more(said: LeafSum, klass: int, people: FloatArray) -> bool:
    """Whether a statement tells cells apart by more than it leaves open: else a number of people says it all."""
    weight = said.weights[:, klass]
    return bool(said.coef.sum() > 1 or float(np.ptp(weight)) * float(people.sum()) > said.high - said.low)


@dataclass(frozen=True, slots=True, eq=False)
class WeighedPeople:
    """The weight of each person of a quasi-identifier, and that of its people in each class."""

    weight: FloatArray
    sums: FloatArray

    def have(self, own: IntArray, share: FloatArray) -> bool:
        """Whether some people have these shares of classes: else they were computed otherwise, and say nothing."""
        told = self.sums[own].sum(axis=0)
        return bool((np.abs(share * told.sum() - told) <= EXACT * told.sum()).all())

    def stated(
        self, tree: int, place: int, own: IntArray, people: FloatArray, share: FloatArray
    ) -> tuple[list[tuple[int, float, float]], list[LeafSum]] | None:
        """What the shares of a leaf say of its people: numbers of each class, and sums.

        None unless people of a quasi-identifier weigh alike, multiples of one unit: then that is not all they tell.
        """
        weight = self.weight[own]
        unit = _unit(weight)
        if not unit:
            return None
        classes, total = np.flatnonzero(share > 0).tolist(), float(weight @ people)
        largest, numbers, sums = float(weight.max()), [], []
        weight = weight / largest
        heaviest = np.argsort(-weight, kind="stable")
        for x in classes:
            said = round(float(share[x]) * total / unit) * unit / largest
            fewest, most = (_filled(weight[of], people[of], said) for of in (heaviest, heaviest[::-1]))
            numbers.append((x, float(np.ceil(fewest - EXACT)), float(np.floor(most + EXACT))))
            if np.ptp(weight) and x != classes[-1]:  # the last class has what is left
                coef = (np.arange(len(share)) == x).astype(np.float64)
                sums.append(LeafSum(tree, place, "share", coef, weight[:, None] * coef, said, said))
        return numbers, sums


def people_of(weighed: Weighed, n_qi: int, n_classes: int) -> WeighedPeople:
    """The weights of the people of each quasi-identifier."""
    there = weighed.counts > 0
    owner, weight = weighed.owner[there], weighed.weight[there]
    each, sums = np.full(n_qi, np.nan), np.zeros((n_qi, n_classes))
    each[owner] = weight
    each[owner[each[owner] != weight]] = np.nan
    np.add.at(sums, (owner, weighed.classes[there]), weighed.counts[there] * weight)
    return WeighedPeople(each, sums)


def _unit(weight: FloatArray) -> float:
    """A power of ten that all weights are multiples of, not too many; 0 where there is none, or a weight is none."""
    for digits in DIGITS if weight.min() > 0 else ():
        many = weight * 10.0**digits
        if many.max() <= MULTIPLES and np.abs(many - np.rint(many)).max() <= EXACT:
            return float(10.0**-digits)
    return 0.0


# Relative error of a value that was computed in single precision: sums, a quotient, a rate, and its print.
STEPS = 12 * SINGLE
# Divisor below which tools write 0 in place of a quotient.
VANISHED = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class LeafCounts:
    """Statements ``low <= m - slope M <= high``: m people of class ``klass`` in a place, M of all classes.

    Arrays of shape (n,). ``slope`` is 0, and low and high are whole numbers, unless private attributes decide who is
    in the place. ``sums`` are statements of a coefficient for each quasi-identifier, where classes or people
    have weights. ``lost`` says in words what could not be concluded.
    """

    tree: IntArray
    place: IntArray
    klass: IntArray
    slope: FloatArray
    low: FloatArray
    high: FloatArray
    lost: tuple[str, ...] = ()
    sums: tuple[LeafSum, ...] = ()
    partly: frozenset[tuple[int, int]] = frozenset()

    def __len__(self) -> int:
        return len(self.tree)

    @property
    def read(self) -> set[tuple[int, int]]:
        """Leaves (tree, place) whose scores are completely expressed by statements."""
        return {
            *zip(self.tree.tolist(), self.place.tolist(), strict=True),
            *((said.tree, said.place) for said in self.sums),
        } - self.partly

    @property
    def counts(self) -> int:
        """Number of counts that are known exactly."""
        return int(((self.slope == 0) & (self.low == self.high)).sum())

    @property
    def notes(self) -> tuple[str, ...]:
        """The statements in words, for a reader of results."""
        if not len(self) and not self.sums:
            return self.lost
        others = len(self) - self.counts
        found = [f"scores of leaves prove {self.counts:,} counts of a class in a leaf"]
        found += [f"{others:,} intervals"] if others else []
        found += [f"{len(self.sums):,} weighted sums"] if self.sums else []
        return (", and ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found), *self.lost)


def none(*lost: str) -> LeafCounts:
    """No statement, and the reason."""
    nothing, numbers = np.empty(0, np.int64), np.empty(0)
    return LeafCounts(nothing, nothing, nothing, numbers, numbers, numbers, lost)


def unusable(release: Release) -> str:
    """Reason why the scores of a release can never state counts; empty where they can."""
    boosting = release.boosting
    if boosting is None:
        return ""
    why = ""
    if boosting.link == "share" and not release.sampled:
        sized = not release.blurred and all(
            _leaves(tree, release.target.classes)[1].min() >= 0 for tree in release.trees
        )
        why = "" if sized and boosting.base == 0 else "leaves do not state how many records they are shares of"
    elif boosting.link not in ("logit", "softmax"):
        why = "it is not known which probabilities they stood for"
    elif boosting.rate is None or boosting.l2 is None:
        lacking = [
            name for name, value in (("learning rate", boosting.rate), ("L2 penalty", boosting.l2)) if value is None
        ]
        why = f"the release does not state the {' and the '.join(lacking)} that they were computed with"
    elif release.sampled or any(tree.of_class is None for tree in release.trees):
        why = "they are of a sample, or of several classes together"
    return f"scores of leaves state no counts: {why}" if why else ""


def leaf_counts(
    release: Release, cells: Cells, counts: IntArray, check: Check = unchecked, weighed: Weighed | None = None
) -> LeafCounts:
    """The counts that the scores of a release prove of the people of a table, by the weights they had if known."""
    boosting = release.boosting
    if boosting is None:
        return none()
    if why := unusable(release):
        return none(why)
    if boosting.link == "share":
        return _of_shares(release, cells, counts, weighed)
    found = []
    certain: dict[int, tuple[float, float]] = {}
    n_cells = np.bincount(cells.owner, minlength=len(counts))
    for before in before_each_tree(release, boosting, cells):
        check()
        with np.errstate(over="ignore", invalid="ignore"):  # numbers of a file may be as large as they like
            rows, wrong = _of_tree(release, boosting, cells, counts, n_cells, before)
        if wrong:
            return none(f"scores of leaves state no counts of these people: {wrong}")
        found.append(rows)
        total = rows.total
        if total is not None:  # every tree holds the same people
            low, high = certain.get(before.klass, (0.0, float(counts.sum())))
            low, high = max(low, total[0]), min(high, total[1])
            if low > high:
                return none(
                    f"scores of leaves state no counts of these people: trees up to {before.tree + 1} state different "
                    f"numbers of {release.target.classes[before.klass]} in all"
                )
            certain[before.klass] = low, high
    if not any(len(rows.place) or rows.sums for rows in found):
        why = (
            "rounding leaves room for any"
            if any(len(tree.nodes) > 1 for tree in release.trees)
            else "no tree has a split"
        )
        return none(f"scores of leaves state no counts: {why}")
    klass = [np.full(len(rows.place), before, np.int64) for rows, before in zip(found, _classes(release), strict=True)]
    tree = [np.full(len(rows.place), t, np.int64) for t, rows in enumerate(found)]
    return LeafCounts(
        np.concatenate(tree),
        np.concatenate([rows.place for rows in found]),
        np.concatenate(klass),
        np.concatenate([rows.slope for rows in found]),
        np.concatenate([rows.low for rows in found]),
        np.concatenate([rows.high for rows in found]),
        sums=tuple(said for rows in found for said in rows.sums),
    )


def _leaves(tree: Tree, classes: tuple[str, ...]) -> tuple[IntArray, IntArray]:
    """The places of the leaves of a tree, and the records that they state, below 0 where none."""
    leaves = np.flatnonzero(links_of(tree.nodes)[0] == 0)
    return leaves, statements_of(tree.nodes, classes).n[leaves]


def _of_shares(release: Release, cells: Cells, counts: IntArray, weighed: Weighed | None) -> LeafCounts:
    """What shares of weighted records prove, whatever the weights, which are above 0: a class without any has nobody.

    The records are those of the table only where each leaf has as many: rows without weight are counted nowhere.
    """
    found: list[tuple[int, int, int, float, float]] = []
    sums: list[LeafSum] = []
    partly: set[tuple[int, int]] = set()
    lost: list[str] = []
    people = None
    if weighed is not None and len(weighed.weight) and len(cells) == len(counts):
        people = people_of(weighed, len(counts), len(release.target.classes))
    for t, (tree, sizes) in enumerate(zip(release.trees, place_sizes(cells, counts), strict=True)):
        leaves, n = _leaves(tree, release.target.classes)
        shares = scores_of(tree.nodes, release.target.classes)[leaves]
        off = (sizes[leaves] != n) & ~np.isnan(sizes[leaves])
        if off.any() or n.sum() != counts.sum():
            return none("shares of leaves state no counts of these people: there are others than were counted")
        if (shares < 0).any():
            return none("shares of leaves state no counts: some are below 0, as of weights below 0")
        above: BoolArray = np.asarray(shares > 0, bool)
        shown = above.sum(axis=1, keepdims=True) > 0
        at, without = np.nonzero(~above & shown)
        found += zip([t] * len(at), leaves[at].tolist(), without.tolist(), *[[0.0] * len(at)] * 2, strict=True)
        mixed = np.flatnonzero(above.sum(axis=1) != 1)
        partly |= {(t, place) for place in leaves[mixed].tolist()}
        if people is None or not len(mixed):
            continue
        inside = [cells.owner[cells.trees[t].at(place)] for place in leaves.tolist()]
        if not all(people.have(own, share) for own, share in zip(inside, shares, strict=True)):
            lost.append(f"shares of tree {t + 1} are not those of people with these weights")
            continue
        for i in mixed.tolist():
            place = int(leaves[i])
            told = people.stated(t, place, inside[i], counts[inside[i]].astype(np.float64), shares[i])
            if told is not None:
                found += [(t, place, *number) for number in told[0]]
                sums += told[1]
                partly.discard((t, place))
    rows = np.array(found, np.float64).reshape(-1, 5)
    at_tree, at_place, klass = rows[:, :3].astype(np.int64).T
    if people is not None and partly and not lost:
        lost.append("shares of leaves say no more of people with one quasi-identifier and different weights")
    if not found and not sums:
        lost.append("shares of leaves state no counts: each class has one")
    slope, low, high = np.zeros(len(rows)), rows[:, 3], rows[:, 4]
    return LeafCounts(at_tree, at_place, klass, slope, low, high, tuple(lost), tuple(sums), frozenset(partly))


def _classes(release: Release) -> list[int]:
    """The class of each tree."""
    return [release.target.classes.index(tree.of_class or "") for tree in release.trees]


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The statements of a tree; ``total`` are bounds on the people of the class in all leaves, None if not known."""

    place: IntArray
    slope: FloatArray
    low: FloatArray
    high: FloatArray
    total: tuple[float, float] | None
    sums: tuple[LeafSum, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class LeafTerms:
    """A leaf says ``sum_c [a_c sum_x w_x m_cx - m_ck] = -fixed``, all divided by the weight of its tree's class k.

    ``a`` and ``off``, by how much rounding may have changed it, have shape (n_cells,); ``fixed`` may be off by
    ``free``. ``stated`` is the sum of second derivatives, ``penalty`` what is added to it, ``value`` that of the leaf.
    """

    a: FloatArray
    off: FloatArray
    fixed: float
    free: float
    stated: float | None
    penalty: float
    value: float


class TreeTerms:
    """The terms of the leaves of a tree; ``weights``, shape (n_classes,), and ``own`` are those of the classes."""

    def __init__(self, release: Release, boosting: Boosting, before: Before) -> None:
        self.tree, self.boosting = release.trees[before.tree], boosting
        self.values = values(release, before.tree)
        self.above = {branch.child: node.attribute for node in self.tree.nodes for branch in node.branches}
        weights = np.array([boosting.weights.get(c, 1.0) for c in release.target.classes])
        self.own = float(weights[before.klass])  # everything is divided by what people of the class weigh
        self.weights, self.alike = weights / self.own, bool((weights == self.own).all())

    def at(self, place: int, share: FloatArray, off: FloatArray) -> LeafTerms:
        """A leaf, of cells whose probabilities are ``share`` and may be ``off``, shapes (n_cells,)."""
        node, u, spread, boosting, own = (
            self.tree.nodes[place],
            float(self.values[place]),
            share * (1 - share),
            self.boosting,
            self.own,
        )
        penalty = boosting.penalties.get(self.above.get(node.id) or "", boosting.l2 or 0.0) / own
        rate, l1, stated = boosting.rate or 1.0, boosting.l1 / own, None if node.hessian is None else node.hessian / own
        # m = sum of a over the people, and what is constant; a as low and as high as rounding may have made it.
        slope = abs(u) * boosting.hessian / rate
        a = share + np.sign(u) * slope * spread
        off = off * (1 + slope) + slope * spread * STEPS + FEW * slope
        if own != 1 or not self.alike:
            off = off + FEW * (1 + slope)  # a weight of single precision, and a product
        fixed = u * penalty / rate + np.sign(u) * l1
        free = abs(u) * penalty / rate * STEPS + l1 * (STEPS if u else 1.0)
        return LeafTerms(a, off, fixed, free, stated, penalty, u)


def _of_tree(
    release: Release, boosting: Boosting, cells: Cells, counts: IntArray, n_cells: IntArray, before: Before
) -> tuple[_Rows, str]:
    """The statements of a tree, and a description of the first error, empty without one."""
    tree, held = release.trees[before.tree], cells.trees[before.tree]
    if len(tree.nodes) == 1:  # the value of a tree that did not grow may be any constant
        return _Rows(*_arrays([]), None), ""
    spread = before.spread
    rows: list[tuple[int, float, float, float]] = []
    sums: list[LeafSum] = []
    whole, total = True, np.zeros(2)
    leaves = TreeTerms(release, boosting, before)
    own, weights, alike = leaves.own, leaves.weights, leaves.alike
    for place, node in enumerate(tree.nodes):
        inside = held.at(place)
        if not node.is_leaf or not len(inside):
            continue
        leaf_ = leaves.at(place, before.share[inside], before.off[inside])
        a, off, fixed, free, stated = leaf_.a, leaf_.off, leaf_.fixed, leaf_.free, leaf_.stated
        owner = cells.owner[inside]
        low, high = a - off, a + off
        if (
            leaf_.value == 0
            and own * (boosting.hessian * spread[inside].max() * weights.max() + leaf_.penalty) < VANISHED
        ):
            whole = False
            continue
        several = len(n_cells) < len(cells.owner)
        if not alike:
            leaf = WeightedLeaf(
                before.tree, place, before.klass, weights, counts[owner].astype(np.float64), a, off, fixed, free
            )
            known = None if stated is None else Curve(stated, boosting.hessian, spread[inside], before.off[inside])
            found = leaf.found(node.n, known, single=not several)
            if isinstance(found, str):
                return _Rows(*_arrays(rows), None), f"tree {before.tree + 1}, leaf {node.id}: {found}"
            bottom, top = found.number
            sums += found.sums
            total += bottom, top
            whole &= not several
            if not several and (bottom > 0 or top < leaf.people.sum()):
                rows.append((place, 0.0, bottom, top))
            continue
        if several and not _all_inside(owner, n_cells):
            whole = False
            if np.isfinite(off).all():
                rows.append((place, float(high.max()), -np.inf, fixed + free))
                rows.append((place, float(low.min()), fixed - free, np.inf))
            continue
        people, least, most, curve, blur = _by_owner(
            owner, counts, low, high, spread[inside], before.off[inside], several=several
        )
        least, most, n = least + fixed - free, most + fixed + free, float(people)
        if np.isnan(least) or np.isnan(most):  # of numbers that are beyond all numbers
            whole = False
            continue
        wrong = _hessian_problem(stated, boosting.hessian * curve, boosting.hessian * (blur + FEW * n))
        if wrong:
            return _Rows(*_arrays(rows), None), f"tree {before.tree + 1}, leaf {node.id}: {wrong}"
        bottom, top = max(np.ceil(least), 0.0), min(np.floor(most), n)
        if node.n is not None and node.n != people:
            wrong = f"{node.n:,} records, but {people:,} individuals of the table reach it"
        elif bottom > top:
            name = release.target.classes[before.klass]
            wrong = f"its value stands for {(least + most) / 2:.6g} of {people:,} people of class {name}"
        if wrong:
            return _Rows(*_arrays(rows), None), f"tree {before.tree + 1}, leaf {node.id}: {wrong}"
        total += bottom, top
        if bottom > 0 or top < n:
            rows.append((place, 0.0, bottom, top))
    complete = whole and not any(branch.child is None for node in tree.nodes for branch in node.branches)
    return _Rows(*_arrays(rows), (float(total[0]), float(total[1])) if complete else None, tuple(sums)), ""


def _arrays(rows: list[tuple[int, float, float, float]]) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Places, slopes and bounds of statements, apart."""
    table = np.array(rows, np.float64).reshape(-1, 4)
    return table[:, 0].astype(np.int64), table[:, 1], table[:, 2], table[:, 3]


def _all_inside(owner: IntArray, n_cells: IntArray) -> bool:
    """Whether all cells of each quasi-identifier with some of these cells are among them."""
    owners, here = np.unique(owner, return_counts=True)
    return bool((here == n_cells[owners]).all())


def _by_owner(
    owner: IntArray,
    counts: IntArray,
    low: FloatArray,
    high: FloatArray,
    spread: FloatArray,
    off: FloatArray,
    *,
    several: bool,
) -> tuple[int, float, float, float, float]:
    """People, least and largest sum over them of ``low`` to ``high``, the middle of that of ``spread`` and its blur."""
    # Each is of cells, shape (n,), and counts once for everybody of an owner: for the least, or the largest, of the
    # cells, where there are ``several``.
    if not several:
        w = counts[owner].astype(np.float64)
        return int(counts[owner].sum()), float(w @ low), float(w @ high), float(w @ spread), float(w @ off)
    order = np.argsort(owner, kind="stable")
    first = np.flatnonzero(np.diff(owner[order], prepend=-1))
    w = counts[owner[order][first]].astype(np.float64)
    least, most = np.minimum.reduceat(low[order], first), np.maximum.reduceat(high[order], first)
    flat, steep = np.minimum.reduceat(spread[order], first), np.maximum.reduceat(spread[order], first)
    blur = np.maximum.reduceat(off[order], first) + (steep - flat) / 2
    return int(w.sum()), float(w @ least), float(w @ most), float(w @ ((flat + steep) / 2)), float(w @ blur)


def _hessian_problem(stated: float | None, curve: float, blur: float) -> str:
    """A sum of second derivatives that is not that of the people, in words; empty where it may be."""
    if stated is None or abs(stated - curve) <= blur + PRINTED * max(stated, curve) + FEW:
        return ""
    return (
        f"a sum of second derivatives of {stated:.6g}, but that of the table's people is {curve:.6g} (a sample "
        "of the records, weights, or other people)"
    )
