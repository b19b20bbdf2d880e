"""Remediation: the best subtree of a release within limits, judged as the release was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from maxent.disclosure.limits import Limits, Mend, Verdict
from maxent.models.defenses.method import CERTAIN
from maxent.models.errors import InvalidInput
from maxent.models.release import Release
from maxent.models.trees.restate import counts_reader

if TYPE_CHECKING:
    from maxent.api.case import Case
    from maxent.models.defenses.optimal import limits as optimal
    from maxent.models.defenses.optimal.subtree import Searched

# The largest share of a class of which nobody's class counts as certain, with the error of computing it.
SURE = CERTAIN - 2e-6

# Status of the best subtree -> why it is not offered.
BY_LEAVES_ALONE: Mapping[str, str] = {
    status: f"the best subtree keeps the limits by its leaves alone, but {known}"
    for status, known in {
        "fail": "not by all that the adversary knows",
        "cannot_tell": "it cannot be told whether it does by all that the adversary knows",
    }.items()
}


def mended(case: Case, judged: Callable[[Release, Limits], Verdict], base_rate: float | None, limits: Limits) -> Mend:
    """The most accurate subtree of the tree of a case that keeps limits, or why none is offered.

    It is searched by what leaves state, then judged as the release itself is; ``base_rate`` is by default that of the
    counts.
    """
    reason = next(_reasons(case, limits), "")
    if reason:
        return Mend(reason)
    from maxent.models.defenses.optimal.subtree import optimal_subtree

    release = case.release
    if base_rate is None:  # attacks do not look for it
        base_rate = _most_frequent(release)
    asked = _searched_limits(case, limits, base_rate)
    try:
        found = optimal_subtree(release, asked, criterion="unstated")
    except InvalidInput as error:
        told = (p.found if p.field == "leaves" else f"{p.field}: {p.expected}, found {p.found}" for p in error.problems)
        return Mend(f"no subtree of this tree keeps the limits: {'; '.join(told)}")
    status = judged(found.release, limits).status
    return _mend(release, asked, found) if status == "pass" else Mend(BY_LEAVES_ALONE[status])


def _reasons(case: Case, limits: Limits) -> Iterator[str]:
    """Why the search cannot be asked."""
    from maxent.models.trees.predict import tested_attributes

    release = case.release
    if case.table is None:
        yield "without the adversary's table it is not known what a subtree discloses"
    if case.records is not None:
        yield "the search is for trees, and these are generalised records"
    elif release.statements:
        beside = " beside a tree" * bool(release.published)
        yield f"the search is for one tree alone, and there are statements{beside}"
        return
    elif len(release.trees) != 1:
        yield f"the search is for one tree, and the release has {len(release.trees)}"
    if release.target.of:
        yield "the search is for one sensitive column"
    if release.sampled or release.blurred:
        yield "the counts are not those of the people"
    if any(attribute.role == "private" for attribute in tested_attributes(release)):
        yield "splits test attributes that the adversary does not know, and by them more is inferred than leaves state"
    implied = counts_reader(release)
    leaves = [leaf for tree in release.trees for leaf in tree.leaves]
    silent = sum(implied(leaf) is None for leaf in leaves)
    if silent:
        yield f"{silent:,} of {len(leaves):,} leaves do not state the counts of their classes"
    if any(branch.child is None for node in release.trees[0].nodes for branch in node.branches):
        yield "leaves were removed, whose counts are not stated"
    if case.sensitive and (limits.max_right_guesses is not None or limits.max_lift is not None):
        yield "the search knows no limits on right guesses about sensitive classes"


def _most_frequent(release: Release) -> float:
    """The share of the most frequent class, of a tree whose leaves state counts."""
    implied = counts_reader(release)
    stated = [counts for leaf in release.trees[0].leaves if (counts := implied(leaf)) is not None]
    people = [sum(of_class) for of_class in zip(*stated, strict=True)]
    return float(max(people) / max(sum(people), 1))


def _searched_limits(case: Case, limits: Limits, base_rate: float) -> optimal.SubtreeLimits:
    """The limits as the search has them."""
    from maxent.models.defenses.optimal import limits as optimal

    posterior, certain, sensitive = limits.max_posterior, limits.max_certain, None
    if case.sensitive:
        classes = case.release.target.classes
        if certain == 0:  # of these classes alone
            posterior, certain = SURE if posterior is None else min(posterior, SURE), None
        sensitive = None if posterior is None else ",".join(classes[code] for code in case.sensitive)
    shares = [limits.max_right_guesses]
    if limits.max_lift is not None:
        shares.append(base_rate + limits.max_lift)
    right = min((share for share in shares if share is not None), default=None)
    return optimal.SubtreeLimits(
        k=limits.min_k or 1,
        max_posterior=posterior,
        sensitive=sensitive,
        max_certain=certain,
        max_right_guesses=None if right is None else min(max(right, 0.0), 1.0),
    )


def _mend(release: Release, asked: optimal.SubtreeLimits, found: Searched) -> Mend:
    """What the search found, beside what there was."""
    before, after = release.trees[0], found.release.trees[0]
    inner = {node.id for node in before.nodes if not node.is_leaf}
    stated = any(
        getattr(before.induction, each.name) != getattr(after.induction, each.name) for each in fields(before.induction)
    )
    return Mend(
        release=found.release,
        leaves=(len(before.leaves), len(after.leaves)),
        accuracy=(_accuracy(release), _accuracy(found.release)),
        cut=tuple(node.id for node in after.leaves if node.id in inner),
        unstated=stated,
        proved=found.proved and all(_records(release)),
        limits=asked.as_dict(),
    )


def _records(release: Release) -> list[int]:
    """The records of each leaf; of an empty one the search makes no leaf."""
    implied = counts_reader(release)
    return [sum(implied(leaf) or ()) for leaf in release.trees[0].leaves]


def _accuracy(release: Release) -> float:
    """The share of the records of a tree with the class that their leaf predicts."""
    classes, implied = release.target.classes, counts_reader(release)
    right = 0
    for leaf in release.trees[0].leaves:
        counts = implied(leaf) or (0,) * len(classes)
        right += max(counts) if leaf.label is None else counts[classes.index(leaf.label)]
    return right / max(sum(_records(release)), 1)
