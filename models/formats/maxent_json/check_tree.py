"""Checks of a whole release: nodes form a tree, branches divide the values, numbers agree, rounding is possible."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from maxent.models.arguments import listing, name, show
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.models.columns import NOTHING, Statements, check_size, positive_counts, total_count
from maxent.models.errors import InvalidInput, Problem
from maxent.models.files.json_files import uncollected
from maxent.models.formats.maxent_json.parse import (
    UNREAD,
    answer_problems,
    draw_problems,
    has_several,
    moment_problems,
    parse,
    parse_head,
    parse_tree,
    part_problems,
    rounding_of,
    rule_problems,
    score_problems,
)
from maxent.models.nodes import statements_of
from maxent.models.release import Attribute, Branch, Content, Node, Rounded, Tree
from maxent.models.trees.printed_rates import decimals

# Checks that the branches of each node divide exactly the values that can reach it.

# What can reach a node: values of a categorical attribute, or the interval low < value <= high of a numeric one and
# whether missing values can.
_Interval = tuple[float, float]
_Numbers = tuple[float, float, bool]
_Values = dict[str, None]  # a set that keeps the order of the document, for its messages
_Reach = _Values | _Numbers
_NOTHING: _Numbers = (math.inf, -math.inf, False)


def check_branches(
    problems: list[Problem],
    nodes: Sequence[Node],
    places: Sequence[str],
    children: Sequence[Sequence[int | None]],
    attributes: Sequence[Attribute],
) -> None:
    """Note branches that overlap, and values that can reach a node but that none of its branches covers.

    One walk keeps what can still reach the node, undone on the way back, so that memory stays linear in the document.
    """
    reach: dict[str, _Reach] = {
        a.name: (-math.inf, math.inf, a.missing) if a.values is None else dict.fromkeys(a.values) for a in attributes
    }
    # Either enter node i with a new reach of one attribute, or (None) restore that attribute. The last entry
    # tells whether any record can get there at all: where none can, there is nothing to cover.
    stack: list[tuple[int | None, str, _Reach | None, bool]] = [(0, "", None, True)]
    while stack:
        i, title, new, alive = stack.pop()
        if new is not None:
            reach[title] = new
        if i is None or not nodes[i].branches:
            continue
        node = nodes[i]
        title = node.attribute or ""
        old = reach.get(title)
        if old is None:  # an attribute that could not be read
            steps: list[_Reach | None] = [None] * len(node.branches)
        elif isinstance(old, tuple):
            steps = list(_numeric(problems, places[i], node, old if alive else _NOTHING))
        else:
            steps = list(_categorical(problems, places[i], node, old if alive else {}))
        below = [
            (j, title, step, alive and not _is_empty(step))
            for j, step in zip(children[i], steps, strict=True)
            if j is not None and nodes[j].branches
        ]
        if below:
            stack.append((None, title, old, alive))
            stack += below


def _is_empty(reach: _Reach | None) -> bool:
    """Whether nothing is left that can reach a node."""
    if isinstance(reach, tuple):
        return not reach[0] < reach[1] and not reach[2]
    return reach is not None and not reach


def _categorical(problems: list[Problem], place: str, node: Node, reach: _Values) -> list[_Values]:
    """Check the branches of a categorical split; what reaches each child."""
    branch_of: dict[str, int] = {}
    for number, branch in enumerate(node.branches, 1):
        for value in branch.values or ():
            if branch_of.setdefault(value, number) != number:
                found = f"{show(value)}, also in branch {branch_of[value]}"
                expected = "values that no other branch names (no overlap)"
                problems.append(Problem(f"{place}, branch {number}", "in", expected, found))
    steps = [reach if b.values is None else {v: None for v in b.values if v in reach} for b in node.branches]
    read = all(branch.values is not None for branch in node.branches)
    if read and sum(value in reach for value in branch_of) < len(reach):
        missing = [show(value) for value in islice((v for v in reach if v not in branch_of), 4)]
        found = "no branch for " + ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        expected = f"branches that cover every value of {name(node.attribute or '')} that can reach the node"
        problems.append(Problem(place, "branches", expected, found))
    return steps


def _numeric(problems: list[Problem], place: str, node: Node, reach: _Numbers) -> list[_Numbers]:
    """Check the branches of a numeric split; what reaches each child."""
    if len(node.branches) == 2:
        one, other = node.branches
        if one.le is not None and one.gt is None and other.le is None and other.gt == one.le:
            _check_missing(problems, place, node, reach[2])
            return [
                (reach[0], min(one.le, reach[1]), reach[2] and bool(one.missing)),
                (max(one.le, reach[0]), reach[1], reach[2] and bool(other.missing)),
            ]
    _check_missing(problems, place, node, reach[2])
    sound = [(_interval(branch), b) for b, branch in enumerate(node.branches) if not _untested(branch)]
    in_order = sorted(sound)
    widest, first = in_order[0] if in_order else ((0.0, 0.0), 0)
    for interval, second in in_order[1:]:
        if interval[0] < widest[1]:
            found = f"{_words(interval)}, while branch {first + 1} has {_words(widest)}"
            expected = "an interval that no other branch meets (no overlap)"
            problems.append(Problem(f"{place}, branch {second + 1}", "le, gt", expected, found))
        if interval[1] > widest[1]:
            widest, first = interval, second
    if len(sound) == len(node.branches):
        gaps, start = [], reach[0]
        for low, high in [*(interval for interval, _ in in_order), (reach[1], math.inf)]:
            if start < min(low, reach[1]):
                gaps.append((start, min(low, reach[1])))
            start = max(start, high)
        if gaps:
            expected = f"branches that cover every value of {name(node.attribute or '')} that can reach the node"
            found = "no branch for " + " or ".join(map(_words, gaps[:3])) + (" or ..." if len(gaps) > 3 else "")
            problems.append(Problem(place, "branches", expected, found))
    steps = [(*_interval(branch), bool(branch.missing)) for branch in node.branches]
    return [(max(low, reach[0]), min(high, reach[1]), reach[2] and missing) for low, high, missing in steps]


def _check_missing(problems: list[Problem], place: str, node: Node, reached: bool) -> None:
    """Note missing values that several branches take, or that can reach the node and that none takes."""
    taking = [b for b, branch in enumerate(node.branches, 1) if branch.missing]
    if len(taking) > 1:
        found = f"true, as for branch {taking[0]}"
        problems.append(Problem(f"{place}, branch {taking[1]}", "missing", "true for one branch only", found))
    elif reached and not taking:
        expected = (
            f"a branch with missing: true, as {name(node.attribute or '')} has missing values that can reach the node"
        )
        problems.append(Problem(place, "branches", expected, "none"))


def _untested(branch: Branch) -> bool:
    """Whether the test of a numeric branch could not be read."""
    return branch.le is None and branch.gt is None and branch.missing is None


def _interval(branch: Branch) -> _Interval:
    """The numbers low < value <= high of a numeric branch, none of one that only takes missing values."""
    if branch.missing and branch.le is None and branch.gt is None:
        return math.inf, math.inf
    return (-math.inf if branch.gt is None else branch.gt, math.inf if branch.le is None else branch.le)


def _words(interval: _Interval) -> str:
    """An interval as a document would state it."""
    low, high = interval
    bounds = [f"gt {low!r}"] * (low > -math.inf) + [f"le {high!r}"] * (high < math.inf)
    return " and ".join(bounds) or "every value"


# Whether the numbers of a release agree: within a node, between a node and its children, between trees.
#
# A node states a lower bound on its records, exactly or not: a removed leaf, a leaf that states nothing and a
# suppressed count leave records unseen. What is seen below a node must not exceed what the node states, and must
# equal it when nothing below is unseen.


@dataclass(frozen=True, slots=True)
class Publication:
    """Context of the statements of nodes: the classes, the way records were counted, the meaning of labels.

    What the document states wrongly is `UNREAD`: then numbers may be whatever it could explain.
    """

    classes: tuple[str, ...]
    sampled: bool
    suppressed_below: int
    resampled: int | None = None
    decided: bool = False
    rounded: Rounded | None = None
    noisy: bool = False

    @classmethod
    def of(cls, release: Content) -> Publication:
        """Context of the statements of a release."""
        return cls(
            release.target.classes,
            release.sampled,
            release.suppressed_below,
            release.resampled,
            release.labels == "decided",
            release.rounded,
            release.noise is not None,
        )

    @property
    def suppressed(self) -> bool:
        """Whether a published 0 may stand for records (below 1 there are none)."""
        return self.suppressed_below > 1 or self.suppressed_below == UNREAD

    @property
    def same_records(self) -> bool:
        """Whether the counts of a node, its n and its rates are of the same records, all of them."""
        return not self.suppressed and (not self.sampled or self.resampled is not None)


# Statements of nodes that would say more of the records than their rounded numbers
_UNROUNDED = ("error_rate", "rates", "distinct", "value", "hessian", "mean", "variance")


class Tally(NamedTuple):
    """Records seen at or below a node, ``counts`` those above 0; None: nothing is known. Exact: no others are there."""

    counts: Mapping[str, int] | None = None
    counts_exact: bool = False
    n: int | None = None
    n_exact: bool = False


def check_statements(problems: list[Problem], place: str, node: Node, publication: Publication, allowed: float) -> None:
    """Note where the statements about one node contradict each other; not where rounded numbers do."""
    if publication.rounded is not None or publication.noisy:
        key, fields = ("noise", ("n", *_UNROUNDED)) if publication.noisy else ("rounded", _UNROUNDED)
        for field in fields:
            if (stated := getattr(node, field)) is not None:
                told = "labels and counts" if publication.noisy else "labels, n and counts"
                expected = f"no such key beside release.{key}: only {told} are stated"
                problems.append(Problem(place, field, expected, show(stated)))
        return
    counts, total = node.counts, None if node.counts is None else total_count(node.counts)
    if counts is not None and publication.suppressed and not publication.sampled:
        # A sample is not held to this: what was below the limit may have been the number it was drawn from.
        for label, count in positive_counts(counts).items():
            if count < publication.suppressed_below:
                expected = f"0 or at least {publication.suppressed_below} (release.suppressed_below)"
                problems.append(Problem(place, f"counts of {name(label)}", expected, str(count)))
    if node.n is not None and total is not None and (total > node.n or (total < node.n and not publication.suppressed)):
        expected = f"{'at least ' if publication.suppressed else ''}the sum of counts, {total}"
        problems.append(Problem(place, "n", expected, str(node.n)))
    if node.distinct is not None:
        _check_distinct(problems, place, node, node.distinct, publication)
    if node.label is not None and counts is not None and not publication.decided:
        _check_label(problems, place, node.label, counts, publication)
    if node.label is not None and node.error_rate is not None:
        _check_rate(problems, place, node, publication, allowed)
    if node.rates is not None:
        _check_class_rates(problems, place, node, node.rates, publication)


def _check_distinct(problems: list[Problem], place: str, node: Node, distinct: int, publication: Publication) -> None:
    """Note a number of different records that the draws cannot be of: one at least of each class."""
    if publication.resampled is None:
        expected = "no such key, unless release.resampled says that records were drawn"
        problems.append(Problem(place, "distinct", expected, str(distinct)))
        return
    least, most = 0, node.n
    if node.counts is not None:
        positive = positive_counts(node.counts)
        least, most = len(positive), sum(positive.values())
    if most is not None:
        least = max(least, min(most, 1))
    if distinct < least or (most is not None and distinct > most):
        expected = f"{least} to {most}" if most is not None else f"at least {least}"
        expected += " different records, one at least of each class"
        problems.append(Problem(place, "distinct", expected, str(distinct)))


def _check_label(
    problems: list[Problem], place: str, label: str, counts: Mapping[str, int], publication: Publication
) -> None:
    """Note a label that is not a most frequent class; a suppressed count may hide that it is one."""
    most = max(positive_counts(counts).values(), default=0)
    if counts[label] < most and not (publication.suppressed and counts[label] == 0):
        best = listing(c for c, count in counts.items() if count == most)
        found = f"{show(label)}, which has {counts[label]}"
        problems.append(Problem(place, "label", f"a most frequent class of counts ({best}: {most})", found))


def _check_rate(problems: list[Problem], place: str, node: Node, publication: Publication, allowed: float) -> None:
    """Note an error rate that its label or its counts cannot have, within the rounding of its digits."""
    rate = node.error_rate or 0.0
    highest = 1.0 if publication.decided else 1 - 1 / len(publication.classes)
    if rate > highest + allowed:
        expected = f"at most {highest:.4g}, since the label is a most frequent of {len(publication.classes)} classes"
        problems.append(Problem(place, "error_rate", expected, show(rate)))
        return
    if node.counts is None or not publication.same_records:
        return
    if total := total_count(node.counts):
        share = 1 - node.counts[node.label or ""] / total
        if abs(share - rate) > allowed:
            expected = f"the share of counts that are not {show(node.label)}, {share:.6g}"
            problems.append(Problem(place, "error_rate", expected, show(rate)))


def _check_class_rates(
    problems: list[Problem], place: str, node: Node, rates: Mapping[str, float], publication: Publication
) -> None:
    """Note shares of classes that other statements about a node cannot have, within the rounding of their digits."""
    unit = 2 * rounding_of(rates.values()) / len(rates)
    exact = publication.same_records
    total = 0 if node.counts is None else total_count(node.counts)
    if node.n == 0 and exact:
        problems.append(Problem(place, "rates", "no rates of a node without records", "n 0"))
    if node.label is not None:
        hit, most = rates.get(node.label, 0.0), max(rates.values())
        if hit < most - unit and not publication.decided:
            best = listing(c for c, share in rates.items() if share == most)
            expected = f"a most frequent class of rates ({best}: {most:.6g})"
            problems.append(Problem(place, "label", expected, f"{show(node.label)}, which has {hit:.6g}"))
        elif node.error_rate is not None and abs(1 - hit - node.error_rate) > unit + _rounding(node.error_rate):
            expected = f"1 less the rate of {show(node.label)}, {1 - hit:.6g}"
            problems.append(Problem(place, "error_rate", expected, show(node.error_rate)))
    if total and exact:
        for label in publication.classes:
            share, rate = (node.counts or {})[label] / total, rates.get(label, 0.0)
            if abs(share - rate) > unit:
                expected = f"the share of counts, {share:.6g}"
                problems.append(Problem(place, f"rates of {name(label)}", expected, show(rate)))


def _rounding(value: float) -> float:
    """Half a unit of the last digit that a published number was printed with."""
    return 0.5 * 10.0 ** -max(decimals(value), 1)


def allowed_off(rates: Iterable[float]) -> list[float]:
    """By how much each of some error rates may be off: the rounding of its digits, and a little."""
    return [0.5 * 10.0 ** -max(digits, 1) + 1e-9 for digits in map(decimals, rates)]


def check_sums(
    problems: list[Problem],
    nodes: Sequence[Node],
    places: Sequence[str],
    children: Sequence[Sequence[int | None]],
    order: Sequence[int],
    publication: Publication,
) -> Tally:
    """Note inner nodes whose children's records do not sum to theirs; the tally of the root."""
    tallies: dict[int, Tally] = {}
    nothing, exact = Tally(), not publication.suppressed
    if not any(nodes[i].n is not None or nodes[i].counts is not None for i in order if children[i]):
        # There is nothing to compare the leaves with.
        leaves = [_own(nodes[i], exact) for i in order if not children[i]]
        return _total(leaves + [nothing] * sum(children[i].count(None) for i in order))
    for i in reversed(order):
        own = _own(nodes[i], exact)
        if not children[i]:
            tallies[i] = own
            continue
        # Popped: a tally is of no use once its parent has it, and a deep tree has many.
        below = _total([nothing if j is None else tallies.pop(j) for j in children[i]])
        if own == nothing:
            tallies[i] = below
            continue
        _check_against_children(problems, places[i], own, below, publication)
        tallies[i] = Tally(
            own.counts if own.counts is not None else below.counts,
            own.counts_exact if own.counts is not None else below.counts_exact,
            own.n if own.n is not None else below.n,
            own.n_exact if own.n is not None else below.n_exact,
        )
    return tallies[order[0]]


def _own(node: Node, exact: bool) -> Tally:
    """Statements of a node itself; ``n`` also as the sum of its counts, unless (not exact) some are suppressed."""
    counts = None if node.counts is None else positive_counts(node.counts)
    n = sum(counts.values()) if counts is not None and exact else node.n
    return Tally(counts, counts is not None and exact, n, n is not None and exact)


def _total(children: Sequence[Tally]) -> Tally:
    """Totals of the children of a node."""
    if len(children) == 1:
        return children[0]
    counts = [child.counts for child in children if child.counts is not None]
    ns = [child.n for child in children if child.n is not None]
    return Tally(
        _summed(counts) if counts else None,
        bool(children) and all([child.counts_exact for child in children]),
        sum(ns) if ns else None,
        bool(children) and all([child.n_exact for child in children]),
    )


def _summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    """Counts class by class."""
    total: dict[str, int] = {}
    for some in counts:
        for label, count in some.items():
            total[label] = total.get(label, 0) + count
    return total


def _check_against_children(
    problems: list[Problem], place: str, own: Tally, below: Tally, publication: Publication
) -> None:
    """Note counts, or else ``n``, that the children contradict."""
    if own.counts is not None and below.counts is not None and own.counts != below.counts:
        exact = own.counts_exact and below.counts_exact
        wrong = [
            (label, mine, theirs)
            for label in publication.classes
            for mine, theirs in [(own.counts.get(label, 0), below.counts.get(label, 0))]
            if theirs > mine or (exact and theirs != mine)
        ]
        for label, mine, theirs in wrong[:3]:
            expected = _sum_of_children(theirs, exact)
            problems.append(Problem(place, f"counts of {name(label)}", expected, str(mine)))
        if len(wrong) > 3:
            found = f"{len(wrong) - 3} more classes that do not"
            problems.append(Problem(place, "counts", "counts that agree with the children's", found))
        if wrong:
            return
    if own.n is not None and below.n is not None:
        exact = own.n_exact and below.n_exact
        if below.n > own.n or (exact and below.n != own.n):
            problems.append(Problem(place, "n", _sum_of_children(below.n, exact), str(own.n)))


def _sum_of_children(total: int, exact: bool) -> str:
    """Bounds of a number of the parent from its children."""
    return f"the sum of its children, {total}" if exact else f"at least what its children state, {total}"


def check_roots(problems: list[Problem], roots: Sequence[tuple[str, Tally, bool]], publication: Publication) -> None:
    """Note trees that were grown on different records, unless each had a sample of its own."""
    if publication.resampled not in (None, UNREAD):
        for place, tally, whole in roots:
            if whole and tally.n_exact and tally.n != publication.resampled:
                expected = f"as many draws as release.resampled says, {publication.resampled}"
                problems.append(Problem(place, "n", expected, str(tally.n)))
    if publication.sampled or publication.suppressed:
        return
    counted = [(place, tally) for place, tally, whole in roots if whole and tally.counts_exact]
    sized = [(place, tally) for place, tally, whole in roots if whole and tally.n_exact]
    differing = set()
    for place, tally in counted[1:]:
        if tally.counts != counted[0][1].counts:
            differing.add(place)
            expected = f"the counts of {counted[0][0]}, {_pairs(publication, counted[0][1])}"
            problems.append(Problem(place, "counts", expected, _pairs(publication, tally)))
    for place, tally in sized[1:]:
        if tally.n != sized[0][1].n and place not in differing:
            expected = f"as many records as {sized[0][0]}, {sized[0][1].n}"
            problems.append(Problem(place, "n", expected, str(tally.n)))


def _pairs(publication: Publication, tally: Tally) -> str:
    """Counts with their classes, the first few."""
    counts = tally.counts or {}
    return listing(f"{label}: {counts.get(label, 0)}" for label in publication.classes)


# Whether rounded numbers of a tree can be those of records: each by itself, and nodes with their children.

Disagreement = tuple[int, str, str, str]  # a node, its field, what was expected there, and what was found


def note_disagreements(
    problems: list[Problem],
    nodes: Sequence[Node],
    places: Sequence[str],
    children: Sequence[Sequence[int | None]],
    order: Sequence[int],
    publication: Publication,
) -> None:
    """Note the disagreements of one tree; arguments as of `check_sums` of the module `check_counts`."""
    depth = {i: 0 for i in order}
    for i in order:
        depth |= {j: depth[i] + 1 for j in children[i] if j is not None}
    of = np.array([depth[i] for i in order], np.int64)
    levels = [np.array(order, np.int64)[of == d] for d in range(int(of.max()) + 1)]
    below = np.array([NOTHING if j is None else j for some in children for j in some], np.int64)
    ends = run_ends(np.array([len(some) for some in children], np.int64))
    said = statements_of(nodes, publication.classes)
    for i, *rest in disagreements(said, publication, ends, below, levels):
        problems.append(Problem(places[i], *rest))


def disagreements(
    said: Statements,
    publication: Publication,
    branch_ends: IntArray,
    child: IntArray,
    levels: Sequence[IntArray],
) -> Iterator[Disagreement]:
    """Numbers that are no multiples of the base, and those that no records can have that are rounded like this."""
    rounded, classes = publication.rounded, publication.classes
    if rounded is None:
        return
    wrong = list(_multiples(said, rounded, classes))
    if wrong:
        yield from wrong
        return
    check_size("nodes", len(said), len(classes) + 1)
    published = np.full((len(said), len(classes) + 1), NOTHING)  # of all classes together in the last column
    published[said.counted, :-1] = said.table(len(classes))[said.counted]
    published[:, -1] = said.n
    low, high = np.zeros((len(said) + 1, len(classes) + 1)), np.full((len(said) + 1, len(classes) + 1), np.inf)
    there = published != NOTHING
    low[:-1][there], high[:-1][there] = rounded.behind(published[there])
    label = np.full_like(said.label, NOTHING) if publication.decided else said.label
    yield from _within(label, classes, published, low, high)
    for level in reversed(levels):
        inner = level[branch_ends[level + 1] > branch_ends[level]]
        if not len(inner):
            continue
        start, end = branch_ends[inner], branch_ends[inner + 1]
        below = child[ranges(start, end)]  # the last row is that of removed leaves
        run = np.cumsum(end - start) - (end - start)
        least, most = (np.add.reduceat(side[below], run, axis=0) for side in (low, high))
        off = (low[inner] > most) | (high[inner] < least)
        for at, x in np.argwhere(off).tolist():
            node = int(inner[at])
            expected = f"what the sum of its children is rounded to, {_span(least[at, x], most[at, x])}"
            yield node, *_stated(published[node], x, expected, classes)
        low[inner] = np.where(off, low[inner], np.maximum(low[inner], least))
        high[inner] = np.where(off, high[inner], np.minimum(high[inner], most))
        _narrow(low, high, inner)


def _multiples(said: Statements, rounded: Rounded, classes: Sequence[str]) -> Iterator[Disagreement]:
    """Numbers that are no multiples of the base."""
    expected = f"a multiple of {rounded.base} (release.rounded)"
    for i in np.flatnonzero((said.n != NOTHING) & (said.n % rounded.base != 0)).tolist():
        yield i, "n", expected, str(said.n[i])
    off, owner = np.flatnonzero(said.count % rounded.base), said.owner
    for j in off.tolist():
        yield int(owner[j]), f"counts of {name(classes[said.count_class[j]])}", expected, str(said.count[j])


def _within(
    labels: IntArray, classes: Sequence[str], published: IntArray, low: FloatArray, high: FloatArray
) -> Iterator[Disagreement]:
    """Numbers of all classes that those of each contradict, and labels that cannot be of a most frequent class."""
    rows = np.arange(len(labels))
    sums = low[rows, :-1].sum(axis=1), high[rows, :-1].sum(axis=1)
    for i in np.flatnonzero(_narrow(low, high, rows)).tolist():
        expected = f"what the sum of counts is rounded to, {_span(sums[0][i], sums[1][i])}"
        yield i, *_stated(published[i], len(classes), expected, classes)
    for i in np.flatnonzero((labels != NOTHING) & (published[:, 0] != NOTHING)).tolist():
        label, best = int(labels[i]), int(published[i, :-1].argmax())
        if high[i, label] < low[i, best]:
            expected = f"a class that can be most frequent ({show(classes[best])}: {published[i, best]}, rounded)"
            yield i, "label", expected, f"{show(classes[label])}, which has {published[i, label]}"


def _stated(published: IntArray, column: int, expected: str, classes: Sequence[str]) -> tuple[str, str, str]:
    """A problem with the number of a class, or with that of all."""
    if column < len(classes):
        return f"counts of {name(classes[column])}", expected, str(published[column])
    if published[-1] != NOTHING:
        return "n", expected, str(published[-1])
    return "counts", expected, f"{published[:-1].sum()} in all"


def _narrow(low: FloatArray, high: FloatArray, rows: IntArray) -> BoolArray:
    """Narrow the records of all classes by those of each, in place; in which rows they contradict each other."""
    least, most = low[rows, :-1].sum(axis=1), high[rows, :-1].sum(axis=1)
    wrong: BoolArray = (least > high[rows, -1]) | (most < low[rows, -1])
    low[rows, -1] = np.where(wrong, low[rows, -1], np.maximum(low[rows, -1], least))
    high[rows, -1] = np.where(wrong, high[rows, -1], np.minimum(high[rows, -1], most))
    return wrong


def _span(least: float, most: float) -> str:
    """A range of records in words."""
    return f"{least:.0f} or more" if np.isinf(most) else f"{least:.0f} to {most:.0f}"


_Root = tuple[str, Tally, bool]

MOST_PROBLEMS = 10_000


class _Noted(list[Problem]):
    """Problems of a document, refused when there are `MOST_PROBLEMS`: each takes far more memory than two brackets."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self._source = source

    def append(self, problem: Problem) -> None:
        super().append(problem)
        if len(self) >= MOST_PROBLEMS:
            raise InvalidInput(self._source, self)


def checked_release(document: object, source: str) -> Content:
    """The release that a decoded document describes."""
    problems: list[Problem] = _Noted(source)
    draft = parse(document, problems)
    if draft is None:
        raise InvalidInput(source, problems)
    release = draft.release
    publication = Publication.of(release)
    roots: list[_Root] = []
    for tree, places in zip(release.trees, draft.places, strict=True):
        roots += _check_nodes(problems, tree, places, release.attributes, publication)
        problems += part_problems(tree, places, release.labels)
    check_roots(problems, roots, publication)
    problems += draw_problems(release, len(release.trees))
    problems += answer_problems(release, draft.places)
    problems += moment_problems(release, draft.places)
    if problems:
        raise InvalidInput(source, problems)
    return release


@uncollected()
def check_by_tree(head: object, trees: Sequence[Tree], entry: Callable[[Tree], object], source: str) -> None:
    """Check what `checked_release` does, one tree after the other, so that of no other there is a copy in memory."""
    problems: list[Problem] = []
    parsed = parse_head(head, problems)
    if parsed is None:
        raise InvalidInput(source, problems)
    _, content, names = parsed
    publication = Publication.of(content)
    roots: list[_Root] = []
    heads, several = [], False
    for number, each in enumerate(trees, 1):
        tree, places = parse_tree(problems, f"tree {number}, " if len(trees) > 1 else "", entry(each), names)
        roots += _check_nodes(problems, tree, places, content.attributes, publication)
        problems += part_problems(tree, places, content.labels)
        several = several or has_several(tree)
        if content.predicts == "score":
            problems += score_problems(tree, places)
        problems += moment_problems(replace(content, trees=(tree,)), [places])
        heads.append(replace(tree, nodes=()))
    check_roots(problems, roots, publication)
    problems += draw_problems(content, len(trees))
    problems += rule_problems(replace(content, trees=tuple(heads)), several=several)
    if problems:
        raise InvalidInput(source, problems)


def _check_nodes(
    problems: list[Problem],
    tree: Tree,
    places: Sequence[str],
    attributes: Sequence[Attribute],
    publication: Publication,
) -> list[_Root]:
    """Note what is wrong with the nodes of a tree; its root, as `check_roots` has it, none of a tree without nodes."""
    off = allowed_off([node.error_rate or 0.0 for node in tree.nodes])
    for node, place, allowed in zip(tree.nodes, places, off, strict=True):
        check_statements(problems, place, node, publication, allowed)
    if not tree.nodes:
        return []
    layout = check_structure(problems, tree.nodes, places)
    check_branches(problems, tree.nodes, places, layout.children, attributes)
    if publication.rounded is not None:
        if publication.rounded.base == UNREAD:
            return []
        note_disagreements(problems, tree.nodes, places, layout.children, layout.order, publication)
        return []
    tally = check_sums(problems, tree.nodes, places, layout.children, layout.order, publication)
    whole = all(branch.child is not None for node in tree.nodes for branch in node.branches)
    return [(places[0], tally, whole)]


@dataclass(frozen=True, slots=True)
class TreeLayout:
    """Links of one tree: the ``children`` of each node by branch, None for nothing usable, and an ``order``."""

    children: tuple[tuple[int | None, ...], ...]
    order: tuple[int, ...]


def check_structure(problems: list[Problem], nodes: Sequence[Node], places: Sequence[str]) -> TreeLayout:
    """Note dangling and shared children, cycles and nodes that nothing leads to."""
    # The first of several nodes with the same id is the one that counts.
    position = {node.id: i for i, node in zip(range(len(nodes) - 1, -1, -1), reversed(nodes), strict=True)}
    owner: list[tuple[int, int] | None] = [None] * len(nodes)
    children: list[tuple[int | None, ...]] = []
    extra: list[tuple[int, int, int]] = []
    for i, node in enumerate(nodes):
        if not node.branches:
            children.append(())
            continue
        below: list[int | None] = []
        for b, branch in enumerate(node.branches):
            j = position.get(branch.child) if branch.child else None
            if branch.child is not None and j is None:
                expected = "the id of a node of this tree, or null for a removed leaf"
                problems.append(Problem(_at(places, i, b), "child", expected, show(branch.child)))
            elif j is not None and (j == 0 or owner[j] is not None):
                extra.append((i, b, j))
                j = None
            elif j is not None:
                owner[j] = (i, b)
            below.append(j)
        children.append(tuple(below))
    order = _preorder(children)
    if extra:
        _note_extra(problems, nodes, places, extra, owner, _spans(children, order))
    if len(order) < len(nodes):
        _note_unreached(problems, nodes, places, owner, position, set(order))
    return TreeLayout(tuple(children), order)


def _at(places: Sequence[str], i: int, b: int) -> str:
    """The place of branch ``b`` of node ``i``."""
    return f"{places[i]}, branch {b + 1}"


def _preorder(children: Sequence[tuple[int | None, ...]]) -> tuple[int, ...]:
    """The nodes below the root, parents first; without recursion, since trees may be very deep."""
    order: list[int] = []
    stack = [0]
    while stack:
        i = stack.pop()
        order.append(i)
        if children[i]:
            stack.extend([j for j in reversed(children[i]) if j is not None])
    return tuple(order)


def _spans(children: Sequence[tuple[int | None, ...]], order: Sequence[int]) -> dict[int, tuple[int, int]]:
    """For each reached node the range of preorder numbers of its subtree."""
    start = {i: number for number, i in enumerate(order)}
    size: dict[int, int] = {}
    for i in reversed(order):
        size[i] = 1 + sum(size[j] for j in children[i] if j is not None)
    return {i: (start[i], start[i] + size[i]) for i in order}


def _note_extra(
    problems: list[Problem],
    nodes: Sequence[Node],
    places: Sequence[str],
    extra: Sequence[tuple[int, int, int]],
    owner: Sequence[tuple[int, int] | None],
    spans: Mapping[int, tuple[int, int]],
) -> None:
    """Note branches that lead to the root or to a node that already has a parent."""
    for i, b, j in extra:
        (low, high), (number, _) = spans.get(j, (0, 0)), spans.get(i, (-1, -1))
        first = owner[j]
        if low <= number < high:
            expected = "a node that is not above this branch"
            found = f"{show(nodes[j].id)}, {'the root, ' if j == 0 else ''}which closes a cycle"
        elif first is None:
            expected, found = "a node other than the root", f"{show(nodes[j].id)}, the root"
        else:
            expected = "a node that is the child of no other branch"
            found = f"{show(nodes[j].id)}, already the child of {_at(places, *first)}"
        problems.append(Problem(_at(places, i, b), "child", expected, found))


def _note_unreached(
    problems: list[Problem],
    nodes: Sequence[Node],
    places: Sequence[str],
    owner: Sequence[tuple[int, int] | None],
    position: Mapping[str, int],
    reached: Set[int],
) -> None:
    """Note nodes without a parent, and cycles apart from the root; what hangs below those follows from them."""
    walk_of: dict[int, int] = {}
    for start in range(len(nodes)):
        i = start
        while i not in reached and i not in walk_of:
            walk_of[i] = start
            parent = owner[i]
            if parent is None:
                # Without a usable id of its own a node cannot be anyone's child: that is noted already.
                if nodes[i].id and position[nodes[i].id] == i:
                    expected = "a node that some branch leads to, as for every node but the first (the root)"
                    problems.append(Problem(places[i], "id", expected, f"no branch with child {show(nodes[i].id)}"))
                break
            i = parent[0]
            if walk_of.get(i) == start:
                expected = "a parent that the root leads to"
                found = f"a cycle of nodes apart from the root, through {show(nodes[i].id)}"
                problems.append(Problem(places[i], "branches", expected, found))
