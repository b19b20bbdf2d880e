"""Whether the numbers of a release agree: within a node, between a node and its children, between trees.

A node states a lower bound on its records, exactly or not: a removed leaf, a leaf that states nothing and a
suppressed count leave records unseen. What is seen below a node must not exceed what the node states, and must
equal it when nothing below is unseen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from maxent.models.errors import Problem
from maxent.models.formats.maxent_json.parse_answers import rounding_of
from maxent.models.formats.maxent_json.published.parse_release import UNREAD
from maxent.models.release_content import Content, Node
from maxent.models.rounding.rounded import Rounded
from maxent.models.sparse_counts import positive_counts, total_count
from maxent.models.text.arguments import listing, name, show
from maxent.models.trees.printed_rates import decimals


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


def check_statements(problems: list[Problem], place: str, node: Node, publication: Publication) -> None:
    """Note where the statements about one node contradict each other; not where rounded numbers do."""
    if publication.rounded is not None:
        for field in _UNROUNDED:
            if (stated := getattr(node, field)) is not None:
                expected = "no such key beside release.rounded: only labels, n and counts are stated"
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
        _check_rate(problems, place, node, publication)
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


def _check_rate(problems: list[Problem], place: str, node: Node, publication: Publication) -> None:
    """Note an error rate that its label or its counts cannot have, within the rounding of its digits."""
    rate = node.error_rate or 0.0
    allowed = allowed_off(rate)
    highest = 1.0 if publication.decided else 1 - 1 / len(publication.classes)
    if rate > highest + allowed:
        expected = f"at most {highest:.4g}, since the label is a most frequent of {len(publication.classes)} classes"
        problems.append(Problem(place, "error_rate", expected, show(rate)))
        return
    counts = node.counts or {}
    total = total_count(counts)
    if total and publication.same_records:
        share = 1 - counts[node.label or ""] / total
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


def allowed_off(rate: float) -> float:
    """By how much an error rate may be off: the rounding of its digits, and a little."""
    return _rounding(rate) + 1e-9


def check_sums(
    problems: list[Problem],
    nodes: Sequence[Node],
    places: Sequence[str],
    children: Sequence[Sequence[int | None]],
    order: Sequence[int],
    publication: Publication,
) -> Tally:
    """Note inner nodes whose children's records do not sum to theirs; the tally of the root.

    ``problems``: where problems are noted. ``nodes``, ``places``: the nodes of one tree, and how problems name them.
    ``children``: for each node the positions of its children, None for a removed leaf. ``order``: positions of the
    nodes that the root reaches, parents before children. ``publication``: what the numbers are about.
    """
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
    """Note trees that were grown on different records, unless each had a sample of its own.

    ``roots`` has, per tree, the place of its root, its tally and whether the tree is whole (no leaf removed;
    a root's numbers may be from before or from after a removal).
    """
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
