"""Linking attacks: the possible leaves and classes of each person, and attacks on single leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.constraints.kinds.moments import COMPUTED
from maxent.constraints.program.cells import Cells
from maxent.constraints.program.program import PrintedNumber, printed_moments
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.columns import NOTHING, Statements, check_size
from maxent.models.errors import InvalidInput, Problem
from maxent.models.nodes import attributes_of, moments_of, parts_of
from maxent.models.release import Release
from maxent.models.tables.qi_table import QITable, row_keys
from maxent.models.trees.printed_rates import RateReader
from maxent.models.trees.reidentification import Risk, measure_risk, ranges_of

if TYPE_CHECKING:
    from maxent.models.tables.truth_and_facts import Fact

# Information that re-identifying the people of each node takes (Yang et al. 2019), in bits, as rows of an audit.


def audit_risk(release: Release, people: QITable | None) -> tuple[Risk, ...]:
    """Measure the nodes of every tree; numbers lie between the smallest and the largest of the adversary's table."""
    ranges = {} if people is None else ranges_of(people.attributes, people.levels)
    split = set().union(*(attributes_of(tree.nodes) for tree in release.trees))
    unknown = [a for a in release.attributes if a.values is None and a.name in split and a.name not in ranges]
    problems = []
    for attribute in unknown:
        where, known = f"attribute {attribute.name!r}", "the smallest and the largest of its values are needed"
        if attribute.role == "private":
            problems.append(Problem(where, "role", f"public in a tree whose risk is measured: {known}", "private"))
        else:
            problems.append(Problem(where, "range", f"the adversary's table (qi=): {known}", "none"))
    if problems:
        raise InvalidInput("risk", problems)
    return tuple(measure_risk(release, ranges, tree=number) for number in range(len(release.trees)))


def bits_to_identify(release: Release, people: QITable) -> tuple[float | None, float | None]:
    """Bits that it takes to re-identify somebody, R(t) of leaves: the fewest, and the mean over records.

    Of several trees those of the one that makes it easiest; None where leaves or ranges do not say enough.
    """
    try:
        risks = audit_risk(release, people)
    except InvalidInput:
        return None, None
    fewest, mean = [], []
    for risk in risks:
        held = ~risk.inner & (risk.n > 0)
        if held.any():
            fewest.append(float(risk.total[held].min()))
            mean.append(float(np.average(risk.total[held], weights=risk.n[held])))
    return min(fewest, default=None), min(mean, default=None)


def risk_rows(risks: Sequence[Risk]) -> Iterator[dict[str, Any]]:
    """A row per node: ``tree`` (from 1), and the columns of `Risk.frame`; None for what is none or not known."""
    for number, risk in enumerate(risks, 1):
        for row in risk.frame().to_dict("records"):
            yield {"tree": number, **{str(name): None if value != value else value for name, value in row.items()}}


# Bounds on the records of each class in places of a tree: a smallest and a largest number.

NO_LABEL = -1
# How often bounds are narrowed by one another. Fewer do, as a rule; none more would be wrong, only less narrow.
ROUNDS = 50


@dataclass(frozen=True, slots=True, eq=False)
class CountBounds:
    """Smallest and largest number of records in some places: of each class and, in the last column, of all.

    ``low`` and ``high`` have shape (n_places, n_classes + 1) and hold whole numbers; ``high`` is infinite where nothing
    is known. ``label`` (n_places,) is a class that no other one exceeds, `NO_LABEL` where none is known. Where
    everything is known ``low`` and ``high`` may be the same array.
    """

    low: FloatArray
    high: FloatArray
    label: IntArray

    def __len__(self) -> int:
        return len(self.low)

    @property
    def known(self) -> BoolArray:
        """Places with known counts of every class, shape (n_places,)."""
        return np.ones(len(self), bool) if self.low is self.high else np.all(self.low == self.high, axis=1)

    @property
    def sized(self) -> BoolArray:
        """Places with a known number of records, shape (n_places,)."""
        return np.equal(self.low[:, -1], self.high[:, -1])

    @property
    def contradicted(self) -> BoolArray:
        """Places without a possible number of records, shape (n_places,)."""
        return np.zeros(len(self), bool) if self.low is self.high else np.any(self.low > self.high, axis=1)

    @property
    def possible(self) -> BoolArray:
        """The classes that some record may have, shape (n_places, n_classes)."""
        return self.high[:, :-1] > 0

    def take(self, places: IntArray) -> CountBounds:
        """The bounds of some of the places."""
        low = self.low[places]
        return CountBounds(low, low if self.low is self.high else self.high[places], self.label[places])


Printed = tuple[PrintedNumber, PrintedNumber]


def printed_in(release: Release) -> Printed:
    """How the means of the nodes of a release were printed, and how their variances."""
    means, variances = zip(*(moments_of(tree.nodes) for tree in release.trees), strict=True)
    return printed_moments(means, variances)


def within_moments(
    bounds: CountBounds, release: Release, number: int, leaves: IntArray, printed: Printed | None = None
) -> CountBounds:
    """Bounds of leaves without the classes whose numbers are too far from the mean for the variance that is stated.

    Of n records with the variance V nobody is further than ``sqrt(n V)`` from the mean. A leaf of one record, or of
    records that are all alike, shows their class.
    """
    numbers = release.target.numbers
    if numbers is None or release.sampled or release.blurred or bounds.low is bounds.high:
        return bounds
    means, variances = printed or printed_in(release)
    low, high = np.array(numbers, np.float64).T
    size = float(np.abs(np.concatenate([low, high])[np.isfinite(np.concatenate([low, high]))]).max(initial=1.0))
    mean, variance = (each[leaves] for each in moments_of(release.trees[number].nodes))
    n = bounds.high[:, -1]
    told = ~np.isnan(mean) & ((n == 1) | ~np.isnan(variance)) & np.isfinite(n)
    scale = np.maximum(size, np.abs(mean))
    wide = COMPUTED * scale + means.off_each(mean)
    off = COMPUTED * scale**2 + wide**2 + variances.off_each(variance)
    many = (n > 1) & ~np.isnan(variance)
    with np.errstate(invalid="ignore"):
        spread = np.where(many, np.sqrt(n * (variance + off)), 0.0)
    near, far = (mean - wide - spread)[:, None], (mean + wide + spread)[:, None]
    bounds.high[:, :-1][told[:, None] & ((high < near) | (low > far))] = 0
    tighten(bounds)
    return bounds


def stated_bounds(
    release: Release, said: Statements, rates: RateReader, sizes: FloatArray | None = None
) -> CountBounds:
    """Bounds from the statements of each node alone.

    A published 0 that may have been suppressed stands for fewer records than the limit, and a rounded number for all
    that are rounded to it. The label is a most frequent class, unless it was decided otherwise. Error rates that may be
    rounded are intervals.

    ``release``: Says which classes there are, and whether counts were suppressed or rounded. ``said``: of the nodes.
    ``rates``: how error rates were printed. ``sizes``, shape (n_nodes,): individuals that the adversary's table shows
    to be there, NaN where it does not; they count where the node states no ``n``, or one that may be another.
    """
    classes, hidden = release.target.classes, release.suppressed_below > 1
    check_size("nodes", len(said), len(classes))
    counted, label = said.counted, np.where(said.label == NOTHING, NO_LABEL, said.label)
    published = said.table(len(classes)).astype(np.int64)
    low = np.zeros((len(said), len(classes) + 1))
    low[counted, :-1], counts_high = release.behind(published[counted])
    low[:, -1] = low[:, :-1].sum(axis=1)
    unranked = np.full_like(label, NO_LABEL)  # under costs, weights or priors other classes need not be rarer
    if counted.all() and not release.blurred:
        return CountBounds(low, low, unranked if release.labels == "decided" else label)
    high = np.full_like(low, np.inf)
    high[counted, :-1] = counts_high
    told = said.n != NOTHING
    low[told, -1], high[told, -1] = release.behind(said.n[told], sizes=True)
    if hidden:
        # The count of a label may have been suppressed; then it was a most frequent class only of what is not shown.
        at = np.flatnonzero(counted & (label != NO_LABEL))
        label[at[published[at, label[at]] == 0]] = NO_LABEL
    if sizes is not None:
        least, most = np.maximum(low[:, -1], low[:, :-1].sum(axis=1)), np.minimum(high[:, -1], high[:, :-1].sum(axis=1))
        fits = (low[:, -1] < high[:, -1]) & (sizes >= least) & (sizes <= most)
        low[fits, -1] = high[fits, -1] = sizes[fits]
    bounds = CountBounds(low, high, label)
    _read_rates(bounds, said, rates, classes)
    if release.labels == "decided":
        bounds = replace(bounds, label=unranked)
    tighten(bounds)
    return bounds


def narrowed(
    bounds: CountBounds, places: IntArray, classes: IntArray, low: FloatArray, high: FloatArray
) -> CountBounds:
    """Bounds with further ones of single classes, shapes (n,), which others then follow from."""
    least, most = bounds.low.copy(), bounds.high.copy()
    np.maximum.at(least, (places, classes), low)
    np.minimum.at(most, (places, classes), high)
    found = CountBounds(least, most, bounds.label)
    tighten(found)
    return found


def _read_rates(bounds: CountBounds, said: Statements, rates: RateReader, classes: tuple[str, ...]) -> None:
    """Narrow the bounds, in place, by the rates of nodes whose counts are not all known."""
    low, high = bounds.low, bounds.high
    if rates.of_classes is not None:
        _read_class_rates(bounds, said, rates.of_classes, classes)
    open_ = np.flatnonzero(~bounds.known & (bounds.label != NO_LABEL) & ~np.isnan(said.rate)).tolist()
    for i in open_:
        rate, x = float(said.rate[i]), bounds.label[i]
        if low[i, -1] == high[i, -1]:
            least, most = rates.hits(rate, low[i, -1])
            low[i, x], high[i, x] = max(low[i, x], np.floor(least)), min(high[i, x], np.ceil(most))
        elif rates.share(rate)[0] == 1.0:
            high[i, :-1][np.arange(low.shape[1] - 1) != x] = 0.0


def _read_class_rates(bounds: CountBounds, said: Statements, rates: RateReader, classes: tuple[str, ...]) -> None:
    """Narrow the bounds, in place, by the share of each class that nodes state."""
    low, high = bounds.low, bounds.high
    for i in np.flatnonzero(~bounds.known).tolist() if said.shares else ():
        stated = said.shares[i]
        if stated is None:
            continue
        for x, share in enumerate(stated.get(c, 0.0) for c in classes):
            if low[i, -1] == high[i, -1]:
                least, most = rates.records(share, low[i, -1])
                low[i, x], high[i, x] = max(low[i, x], np.floor(least)), min(high[i, x], np.ceil(most))
            elif rates.shares(share)[1] == 0.0:
                high[i, x] = 0.0


def tighten(bounds: CountBounds) -> None:
    """Narrow the bounds by one another, in place: the classes of a place add up to its records."""
    low, high = bounds.low, bounds.high
    known = bounds.known
    rows = np.arange(len(low)) if 2 * known.sum() < len(low) else np.flatnonzero(~known)
    for _ in range(ROUNDS):
        # With a class in a row NumPy is many times as fast.
        before = np.ascontiguousarray(low[rows].T), np.ascontiguousarray(high[rows].T)
        after = _tightened(*before, bounds.label[rows])
        low[rows], high[rows] = after[0].T, after[1].T
        changed = (after[0] != before[0]).any(axis=0) | (after[1] != before[1]).any(axis=0)
        # Contradictions would only narrow themselves further and further.
        rows = rows[changed & (after[0] <= after[1]).all(axis=0)]
        if not len(rows):
            break


def _tightened(low: FloatArray, high: FloatArray, label: IntArray) -> tuple[FloatArray, FloatArray]:
    """One round of `tighten`, of arrays of shape (n_classes + 1, n_places); new ones."""
    low, high = low.copy(), high.copy()
    each, all_low = low[:-1], low[:-1].sum(axis=0)
    low[-1] = np.maximum(low[-1], all_low)
    high[-1] = np.minimum(high[-1], high[:-1].sum(axis=0))
    high[:-1] = np.minimum(high[:-1], high[-1] - (all_low - each))
    low[:-1] = np.maximum(each, low[-1] - _sum_of_others(high[:-1]))
    at = np.flatnonzero(label != NO_LABEL)
    if len(at):
        x = label[at]
        most = high[x, at]
        high[:-1, at] = np.minimum(high[:-1, at], np.minimum(most, np.floor(high[-1, at] / 2)))
        high[x, at] = most
        rivals = np.maximum((high[:-1, at] > 0).sum(axis=0), 1)
        least = np.maximum(low[:-1, at].max(axis=0), np.ceil(low[-1, at] / rivals))
        low[x, at] = np.maximum(low[x, at], least)
    return low, high


def _sum_of_others(high: FloatArray) -> FloatArray:
    """For each entry the sum of the others of its place; entries may be infinite."""
    endless = np.isinf(high)
    finite = np.where(endless, 0.0, high)
    others: FloatArray = finite.sum(axis=0) - finite
    if endless.any():
        others[endless.sum(axis=0) > endless] = np.inf
    return others


# Attacks on single leaves: uniqueness, homogeneity and background knowledge.
#
# Wakabayashi et al. (2024), section 3: the leaves of a tree are the equivalence classes of an anonymised table, and the
# attacks on such tables work on them. Leaves of which only bounds are known count where these prove the attack.

NO_CLASS = -1


@dataclass(frozen=True, slots=True, eq=False)
class Attacked:
    """The leaves, by their places in what was attacked, that an attack works on.

    ``leaves`` (n_leaves,) is where it does; ``disclosed`` (n_leaves,) the class it shows, `NO_CLASS` where none; and
    ``individuals`` (n_leaves,) how many records are shown to be of it, 0 where it does not work.
    """

    leaves: BoolArray
    disclosed: IntArray
    individuals: IntArray

    @property
    def n_leaves(self) -> int:
        return int(self.leaves.sum())

    @property
    def n_individuals(self) -> int:
        return int(self.individuals.sum())


def only_class(bounds: CountBounds) -> IntArray:
    """The one class that records of a leaf can have, `NO_CLASS` where there are several or none; shape (n_leaves,)."""
    possible = bounds.possible
    alone = np.flatnonzero(np.count_nonzero(possible, axis=1) == 1)
    found = np.full(len(possible), NO_CLASS)
    found[alone] = possible[alone].argmax(axis=1)
    return found


def uniqueness(bounds: CountBounds) -> Attacked:
    """Leaves with a single record: whoever is known to be in one is singled out."""
    alone = bounds.sized & (bounds.low[:, -1] == 1)
    return _attacked(alone, only_class(bounds), bounds.low[:, -1])


def homogeneity(bounds: CountBounds, min_size: int = 1) -> Attacked:
    """Leaves whose records, at least ``min_size`` (and one), are all of one class."""
    only = only_class(bounds)
    return _attacked((only != NO_CLASS) & (bounds.low[:, -1] >= max(min_size, 1)), only, bounds.low[:, -1])


def background_knowledge(bounds: CountBounds, known: int = 1) -> Attacked:
    """Leaves where the classes of at most ``known`` members settle those of all others.

    They are those with at most so many records that are not of the most frequent class; whoever knows them knows that
    the others, those of the most frequent class, are all alike.
    """
    low, high = bounds.low, bounds.high
    each = np.arange(len(low))
    largest = low[:, :-1].argmax(axis=1)
    most = low[each, largest]
    others = high[:, :-1].copy()
    others[each, largest] = 0.0
    rest = np.minimum(others.sum(axis=1), high[:, -1] - most)
    return _attacked((most > 0) & (rest <= known), largest, most)


def after_facts(bounds: CountBounds, known: FloatArray, min_size: int = 1) -> Attacked:
    """Leaves that become homogeneous without known records, with the remaining records.

    ``bounds``: of leaves. ``known``, shape (n_leaves, n_classes): records of each class in each leaf that the adversary
    knows already. ``min_size``: the fewest records of a leaf that counts.
    """
    total = np.column_stack([known, known.sum(axis=1)])
    rest = CountBounds(np.maximum(bounds.low - total, 0), np.maximum(bounds.high - total, 0), _no_labels(len(bounds)))
    found = homogeneity(rest)
    new = found.leaves & ~homogeneity(bounds).leaves & (bounds.low[:, -1] >= min_size)
    return _attacked(new, found.disclosed, found.individuals)


def _no_labels(n: int) -> IntArray:
    return np.full(n, NO_LABEL, np.int64)


def _attacked(leaves: BoolArray, disclosed: IntArray, individuals: npt.NDArray[np.number]) -> Attacked:
    """Leaves with what is disclosed there, and nothing elsewhere."""
    return Attacked(
        leaves,
        np.where(leaves, disclosed, NO_CLASS).astype(np.int64),
        np.where(leaves, individuals, 0).astype(np.int64),
    )


UNCERTAIN = -1
NO_SPAN = -1


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """The quasi-identifiers of a table, linked with the leaves of a release.

    ``cells``: which leaves each quasi-identifier can be in; of parts of a leaf of the tool the one that stands for it.
    ``counts``, shape (n_qi,), individuals. ``place``, shape (n_qi, n_trees): the leaf of each tree that a
    quasi-identifier is in, `UNCERTAIN` where private attributes decide. ``span``, shape (n_qi,): the span of each
    (Friedman et al. 2006, Definition 5): those of the same span can be in the same leaves, over all trees, and nothing
    in the release tells them apart. Numbered in the order of the quasi-identifiers; `NO_SPAN` for those who can only be
    in removed leaves, to whom nothing can be linked. ``population``, shape (n_spans,): individuals of each span
    (Definition 6).
    """

    cells: Cells
    counts: IntArray
    place: IntArray
    span: IntArray
    population: IntArray

    def classes(self, possible: Sequence[BoolArray]) -> IntArray:
        """The one class that the people of each quasi-identifier can have, `NO_CLASS` where there are several.

        ``possible`` says, for every tree, which classes records of each place can have, (n_places, n_classes). Whoever
        is in several trees has a class that is possible in all of them.
        """
        here = possible[0][self.cells.leaf[:, 0]]
        for t in range(1, len(possible)):
            here = here & possible[t][self.cells.leaf[:, t]]
        order = np.argsort(self.cells.owner, kind="stable")
        start = np.searchsorted(self.cells.owner[order], np.arange(len(self.counts)))
        found = np.logical_or.reduceat(here[order], start, axis=0)
        return np.where(found.sum(axis=1) == 1, found.argmax(axis=1), NO_CLASS)


def link(cells: Cells, counts: IntArray, n_nodes: Sequence[int], groups: IntArray | None = None) -> Links:
    """Group the quasi-identifiers of a table by the leaves they can be in.

    ``counts``, shape (n_qi,), individuals of each quasi-identifier. ``n_nodes``: the places below are those of nodes,
    the others of removed leaves. ``groups``, shape (n_qi,): the groups of statements beside trees that each is in, by
    number, -1 for none.
    """
    n = len(counts)
    if any(parts_of(held.places.tree.nodes) for held in cells.trees):
        whole = [held.places.whole[cells.leaf[:, t]] for t, held in enumerate(cells.trees)]
        cells = replace(cells, leaf=np.column_stack(whole))
    order = np.lexsort((*cells.leaf.T[::-1], cells.owner))
    owner, leaf = cells.owner[order], cells.leaf[order]
    start = np.searchsorted(owner, np.arange(n))
    place = leaf[start]
    for t in range(leaf.shape[1]):
        low, high = np.minimum.reduceat(leaf[:, t], start), np.maximum.reduceat(leaf[:, t], start)
        place[low != high, t] = UNCERTAIN
    # Nothing is published of removed leaves: one is as good as any other.
    leaf = np.minimum(leaf, n_nodes)
    where = row_keys(leaf, (leaf.max(axis=0) + 1).tolist())
    published = np.flatnonzero((leaf < n_nodes).any(axis=1))
    published = published[np.lexsort((where[published], owner[published]))]
    pairs = np.column_stack([owner[published], where[published]])
    pairs = pairs[np.append(True, (pairs[1:] != pairs[:-1]).any(axis=1))[: len(pairs)]]
    span = _same_sets(np.searchsorted(pairs[:, 0], np.arange(n + 1)), np.ascontiguousarray(pairs[:, 1]))
    if groups is not None:
        span = _same_sets(2 * np.arange(n + 1), np.column_stack([span, groups]).ravel(), nothing=(NO_SPAN, -1))
    linked = span != NO_SPAN
    return Links(cells, counts, place, span, np.bincount(span[linked], counts[linked]).astype(np.int64))


def _same_sets(ends: IntArray, members: IntArray, nothing: tuple[int, ...] = ()) -> IntArray:
    """Number sets, ``members[ends[i]:ends[i + 1]]`` in increasing order, by appearance; `NO_SPAN` for ``nothing``."""
    number: dict[bytes, int] = {np.array(nothing, np.int64).tobytes(): NO_SPAN}
    bounds = pairwise(ends.tolist())
    sets = (members[begin:end].tobytes() for begin, end in bounds)
    return np.array([number.setdefault(key, len(number) - 1) for key in sets], np.int64)


def known_records(facts: Sequence[Fact], links: Links, tree: int, possible: BoolArray) -> FloatArray:
    """Fewest records of each class in each leaf of a tree, from facts; shape (n_places, n_classes).

    A fact counts where all whom it can be about are in the same leaf, of those in which its class is possible. Facts
    that can be about the same person are not added up.

    ``possible``, shape (n_places, n_classes): the classes that records of each place of the tree can have.
    """
    leaf = links.cells.leaf[:, tree]
    groups: dict[tuple[int, int], dict[bytes, tuple[IntArray, int]]] = {}
    for fact in facts:
        reached = np.unique(leaf[np.isin(links.cells.owner, fact.rows)])
        reached = reached[possible[reached, fact.class_index]]
        if len(reached) == 1:
            same = groups.setdefault((int(reached[0]), fact.class_index), {})
            key = fact.rows.tobytes()
            same[key] = fact.rows, fact.count + (same[key][1] if key in same else 0)
    known = np.zeros(possible.shape)
    for at, same in groups.items():
        known[at] = _at_least(list(same.values()))
    return known


def _at_least(facts: list[tuple[IntArray, int]]) -> int:
    """Lower bound on the different people of some facts: a sum over facts without common people."""
    total, taken = 0, np.zeros(0, np.int64)
    for rows, count in sorted(facts, key=lambda fact: (len(fact[0]), -fact[1])):
        if not np.isin(rows, taken).any():
            total, taken = total + count, np.concatenate([taken, rows])
    return max(total, *(count for _, count in facts))
