"""Class counts in the leaves of a boosted model, computed from the values of the leaves.

With p the probability of the tree's class before the round, a leaf states the value ``u = -rate G / (H + l2)``, where
``G = sum (p - y)`` and ``H = hessian sum p (1 - p)`` over its records, y being 1 for those of the class, else 0
(Chen & Guestrin 2016, eq. 5; after an L1 penalty G is nearer to 0 by it). The people of a leaf are known, and so is p
of each: that leaves the sum of y, which is the number of people of the class.

It is a whole number. The formula gives it up to an error that has a bound; where one whole number is within it, that is
the number. Several make an interval. None proves that the values were not computed from these people in this way; then
nothing is concluded from any tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.constraints.cells import Cells, place_sizes
from maxent.constraints.kinds.boosting.class_weights import PRINTED, Curve, LeafSum, WeightedLeaf, people_of
from maxent.constraints.kinds.boosting.scores import FEW, SINGLE, Before, before_each_tree, values
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.looking import Check, unchecked
from maxent.models.nodes import links_of, scores_of, statements_of
from maxent.models.release import Boosting, Release, Tree
from maxent.models.tables.truth_and_facts import Weighed

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
    """The counts that the scores of a release prove of the people of a table.

    Parameters
    ----------
    release : Release
    cells : Cells
        The people in the leaves, from `maxent.constraints.cells.build_cells`.
    counts : shape (n_distinct,)
        Individuals of each quasi-identifier.
    check : Check
        Called for each tree.
    weighed : Weighed, optional
        The weights that people had in training, where the adversary knows them.
    """
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

    The records are those of the table only where each leaf has as many: rows without weight are counted nowhere. Where
    the weights of people are known, shares are weighted sums of those of each class.
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


def _of_tree(
    release: Release, boosting: Boosting, cells: Cells, counts: IntArray, n_cells: IntArray, before: Before
) -> tuple[_Rows, str]:
    """The statements of a tree, and a description of the first error, empty without one."""
    tree, held = release.trees[before.tree], cells.trees[before.tree]
    if len(tree.nodes) == 1:  # the value of a tree that did not grow may be any constant
        return _Rows(*_arrays([]), None), ""
    terms, spread = values(release, before.tree), before.spread
    rows: list[tuple[int, float, float, float]] = []
    sums: list[LeafSum] = []
    weights = np.array([boosting.weights.get(c, 1.0) for c in release.target.classes])
    own = float(weights[before.klass])  # everything is divided by what people of the class weigh
    weights, alike = weights / own, bool((weights == own).all())
    whole, total = True, np.zeros(2)
    parents = {branch.child: node.attribute for node in tree.nodes for branch in node.branches}
    for place, node in enumerate(tree.nodes):
        inside = held.at(place)
        if not node.is_leaf or not len(inside):
            continue
        u = float(terms[place])
        penalty = boosting.penalties.get(parents.get(node.id) or "", boosting.l2 or 0.0) / own
        rate, l1, stated = boosting.rate or 1.0, boosting.l1 / own, None if node.hessian is None else node.hessian / own
        # m = sum of a over the people, and what is constant; a as low and as high as rounding may have made it.
        slope = abs(u) * boosting.hessian / rate
        a = before.share[inside] + np.sign(u) * slope * spread[inside]
        off = before.off[inside] * (1 + slope) + slope * spread[inside] * STEPS + FEW * slope
        if own != 1 or not alike:
            off = off + FEW * (1 + slope)  # a weight of single precision, and a product
        fixed = u * penalty / rate + np.sign(u) * l1
        free = abs(u) * penalty / rate * STEPS + l1 * (STEPS if u else 1.0)
        owner = cells.owner[inside]
        low, high = a - off, a + off
        if u == 0 and own * (boosting.hessian * spread[inside].max() * weights.max() + penalty) < VANISHED:
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
