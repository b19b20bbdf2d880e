"""Bounds on true counts from bootstrap counts: certain ones, and ones that hold with a given confidence.

Each tree counts n draws from all N records. Whoever was drawn is there: of d draws of a class, among D in a node of
which u are of different records, ``d - (D - u)`` at least are of different records of the class, and one in any case.

How many records of a class there are, m of the W in a node, is in an interval. Who is in the node is public, so that W
is known, and given D the number of draws of the class is Binomial(D, m / W), exactly, whatever the other nodes have.
Where private attributes decide who is there, W is not known, and the draws are Binomial(n, m / N). The intervals are
those of Clopper and Pearson (1934) for whole m. All that there could be have shares of the error probability
(`maxent.constraints.kinds.bootstrap.box_shares`), since the tree was grown on these draws, and chose its nodes by them.

A majority of the draws need not be one of the records, nor was a split the best one for them: labels, rates and
comparisons of splits prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise, repeat

import numpy as np

from maxent.constraints.kinds.bootstrap.box_shares import log_shares
from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.kinds.sampling import ROUNDING
from maxent.constraints.program import Linear
from maxent.models.arrays import BoolArray, FloatArray, IntArray, run_ends
from maxent.models.columns import NOTHING
from maxent.models.nodes import statements_of
from maxent.models.release import Release, Tree
from maxent.models.sparse_counts import check_size
from maxent.models.trees.places import Places

# Draws of a place that neither states them nor has them follow from the places below.
UNKNOWN = -1


def resampled(context: Context) -> Iterator[Linear]:
    """The mass of each class in a node lies in the interval from its draws; see the module's text."""
    release, n_classes = context.release, context.n_classes
    if release.resampled is None or not any(counted(tree, release) for tree in release.trees):
        return  # of numbers, nodes state means: see `maxent.constraints.kinds.bootstrap.drawn_moments`
    check_size("draws of nodes by class", sum(len(tree.nodes) for tree in release.trees), n_classes)
    each = np.eye(n_classes)
    intervals = context.noise == "intervals"
    shares: Iterable[FloatArray | None] = repeat(None)
    if intervals:
        shares = log_shares(release, context.table, context.cells.trees)
    for t, (tree, share) in enumerate(zip(release.trees, shares, strict=False)):
        held = context.cells.trees[t]
        draws, distinct = draws_of(tree, held.places, release.target.classes)
        places = np.flatnonzero((held.stop > held.start) & (draws[:, 0] != UNKNOWN))
        places = places[places < len(tree.nodes)]
        if context.noise == "likelihood":  # what is certain of an inner node follows from those below it
            places = np.intersect1d(places, np.fromiter(finest(held.places, draws[:, 0] != UNKNOWN), np.int64))
        size, drawn, different = context.sizes[t][places], draws[places], distinct[places]
        alone = n_classes == 2 and not np.isnan(size).any()  # the other class is the rest: one interval is both
        low, high = np.zeros_like(drawn), np.broadcast_to(context.table.individuals, drawn.shape)
        if share is not None:
            side = np.log(context.counting.alpha / (2 * len(release.trees) * (1 if alone else n_classes)))
            low, high = _mass_bounds(drawn, size, side + share[places], release.resampled, context.table.individuals)
        whole = np.where(np.isnan(size), context.table.individuals, size)[:, None]
        least, others = certain(drawn, different)
        implied = least.sum(axis=1, keepdims=True) - least
        low, high = np.maximum(low, least), np.minimum(high, whole - others)
        if context.noise == "likelihood":
            high = np.where(others > implied, high, whole)  # else it follows from the other classes
        told = (low > 0) | (high < whole)
        if alone and intervals:
            told[:, 1] = False
        for i in np.flatnonzero(told.any(axis=1)).tolist():
            place, rows = int(places[i]), np.flatnonzero(told[i])
            lower, upper = low[i, rows].astype(np.float64), high[i, rows].astype(np.float64)
            says = "drawn " + ", ".join(
                f"{release.target.classes[x]} {drawn[i, x]} of {drawn[i].sum()}: {low[i, x]:.0f} to {high[i, x]:.0f}"
                for x in rows.tolist()
            )
            coef = each if len(rows) == n_classes else each[rows]
            origin = context.origin(t, tree.nodes[place])
            yield Linear("resampled", origin, context.region(t, place), coef, lower, upper, says)


def counted(tree: Tree, release: Release) -> bool:
    """Whether some node of a tree states counts."""
    return bool(statements_of(tree.nodes, release.target.classes).counted.any())


def draws_of(tree: Tree, places: Places, classes: tuple[str, ...]) -> tuple[IntArray, IntArray]:
    """Draws of each class, shape (n_places, n_classes), and different records among them, (n_places,), else `UNKNOWN`.

    What a node does not state follows from all that are below it.
    """
    stated = statements_of(tree.nodes, classes)
    draws, distinct = np.full((len(places), len(classes)), UNKNOWN), np.full(len(places), UNKNOWN)
    known = np.flatnonzero(stated.counted)
    draws[known] = stated.table(len(classes))[known].astype(np.int64)
    distinct[: len(stated)] = np.where(stated.distinct == NOTHING, UNKNOWN, stated.distinct)
    for level, below in reversed(list(pairwise(places.levels))):
        inner = level[places.n_branches[level] > 0]
        first = run_ends(places.n_branches[inner])[:-1]
        for values, told in ((draws, draws[:, 0] != UNKNOWN), (distinct, distinct != UNKNOWN)):
            follow = np.logical_and.reduceat(told[below], first) & ~told[inner]
            values[inner[follow]] = np.add.reduceat(values[below], first)[follow]
    return draws, distinct


def finest(places: Places, known: BoolArray) -> Iterator[int]:
    """The lowest places with known draws that hold, each apart, what those above them hold."""
    stack, told = [0], known.tolist()
    while stack:
        place = stack.pop()
        below = places.children[place]
        if below and (not told[place] or all(told[child] for child in below)):
            stack.extend(below)
        elif told[place]:
            yield place


def certain(drawn: IntArray, distinct: IntArray) -> tuple[IntArray, IntArray]:
    """Least records of each class in some places, and of all others together.

    Parameters
    ----------
    drawn : shape (n_places, n_classes), draws
    distinct : shape (n_places,), different records among the draws of each place, or `UNKNOWN`

    Returns
    -------
    own, others : shapes (n_places, n_classes)
    """
    there = (drawn > 0).astype(np.int64)
    own, others = there, there.sum(axis=1, keepdims=True) - there
    known = (distinct != UNKNOWN)[:, None]
    repeats = drawn.sum(axis=1, keepdims=True) - distinct[:, None]
    own = np.where(known, np.maximum(own, drawn - repeats), own)
    return own, np.where(known, np.maximum(others, distinct[:, None] - drawn), others)


def _mass_bounds(
    drawn: IntArray, size: FloatArray, side: FloatArray, draws: int, individuals: int
) -> tuple[IntArray, IntArray]:
    """Smallest and largest number of records of each class in some places, shapes (n_places, n_classes)."""
    # Parameters ---------- drawn : shape (n_places, n_classes) size : shape (n_places,), individuals, NaN where private
    # attributes decide who is there side : shape (n_places,), the logarithm of the probability that an interval may
    # miss on one side draws, individuals : draws of the whole tree, and records that they are from
    among = np.broadcast_to(np.where(np.isnan(size), draws, drawn.sum(axis=1))[:, None], drawn.shape).ravel()
    whole = np.broadcast_to(np.where(np.isnan(size), individuals, size)[:, None], drawn.shape).ravel()
    miss = np.exp(np.broadcast_to(side[:, None], drawn.shape)).ravel()
    whole, among, d = whole.astype(np.int64), among.astype(np.int64), drawn.ravel()
    low, rest = least_records(d, among, whole, miss), least_records(among - d, among, whole, miss)
    return low.reshape(drawn.shape), (whole - rest).reshape(drawn.shape)


def least_records(drawn: IntArray, among: IntArray, whole: IntArray, miss: FloatArray) -> IntArray:
    """The smallest m with ``P(Binomial(among, m / whole) >= drawn) > miss``, shape (n,), at most ``whole``."""
    from scipy.special import bdtrc

    low, up = np.zeros(len(drawn), np.int64), whole.copy()
    low[drawn > 0] = np.minimum(1, whole)[drawn > 0]
    up[drawn <= 0] = 0
    while (open_ := low < up).any():
        middle = (low + up) // 2
        with np.errstate(divide="ignore", invalid="ignore"):
            tail = bdtrc(drawn - 1.0, among, middle / whole) * (1 + ROUNDING)
        enough = tail > miss
        up = np.where(open_ & enough, middle, up)
        low = np.where(open_ & ~enough, middle + 1, low)
    return up


KIND = Kind(
    "resampled",
    "draws of a bootstrap: so many of a node's people have this class, as far as draws with replacement prove it",
    r"\ell_{\Lambda,x} \le m_{\Lambda,x} \le u_{\Lambda,x}"
    r" \quad \text{where } d_{\Lambda,x} \text{ of } d_\Lambda \text{ draws were of class } x",
    resampled,
    "counts",
)
