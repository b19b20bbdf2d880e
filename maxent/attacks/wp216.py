"""The three risks of WP216: singling out, linkability and inference, each beside control people.

Source: Article 29 Data Protection Working Party, "Opinion 05/2014 on Anonymisation Techniques" (WP216), section 2.2.1;
compared with controls as in Giomi et al., "A Unified Framework for Quantifying Privacy Risk in Synthetic Data"
(Anonymeter), PoPETs 2023.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import lgamma
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.attacks.beside import told_apart
from maxent.attacks.linking import NO_SPAN, Links, link
from maxent.constraints.program.cells import build_cells
from maxent.constraints.program.program import Program
from maxent.disclosure.baseline import ControlShares, Interval, newcombe
from maxent.models.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from maxent.disclosure.truth import Controls

# Risk -> its title.
TITLES: Mapping[str, str] = {
    "singling_out": "Singling out",
    "linkability": "Linkability",
    "inference": "Inference",
}


@dataclass(frozen=True, slots=True)
class Wp216Risk:
    """One risk: shares of members and of control people; these, and the interval, are None without control people."""

    members: float
    controls: float | None = None
    interval: Interval | None = None
    confidence: float | None = None

    @property
    def difference(self) -> float | None:
        """The share of members less that of control people."""
        return None if self.controls is None else self.members - self.controls

    @property
    def beyond(self) -> float | None:
        """Anonymeter's risk: the difference as a share of what it could be, (members - controls) / (1 - controls)."""
        if self.controls is None:
            return None
        return (self.members - self.controls) / (1 - self.controls) if self.controls < 1 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """The risk as plain numbers."""
        return {
            "members": self.members,
            "controls": self.controls,
            "difference": self.difference,
            "interval": None if self.interval is None else list(self.interval),
            "confidence": self.confidence,
            "beyond_control": self.beyond,
        }


@dataclass(frozen=True, slots=True)
class Risks:
    """The three risks, see `risks`."""

    singling_out: Wp216Risk
    linkability: Wp216Risk
    inference: Wp216Risk

    @property
    def named(self) -> dict[str, Wp216Risk]:
        """Each risk by its key."""
        return {"singling_out": self.singling_out, "linkability": self.linkability, "inference": self.inference}

    def as_dict(self) -> dict[str, Any]:
        """The key ``wp216`` of a JSON summary."""
        return {key: risk.as_dict() for key, risk in self.named.items()}


def risks(
    program: Program, hit_rate: float, controls: Controls | None, control: ControlShares | None, confidence: float
) -> Risks:
    """The three risks of a release.

    A group is the people of a table whom the release does not tell apart (a span): those in the same leaf, of several
    trees in the same leaves, and in the same groups of statements beside them. Nobody who can only be in removed leaves
    is in one. Of N people,

    - *singling out* is the share who are alone in their group: the path to their leaf isolates one person;
    - *linkability* is the expected share of people who are linked with their own record, by choosing one of those of
      their group: the number of groups divided by N, less those in no group;
    - *inference* is the share of people whose class is guessed right.

    Control people are grouped among each other, by the same trees; with statements they are not. A group has more
    people in a larger table, so the larger of the two is reduced to the size of the other: its numbers are the means
    over all of its parts of that size.

    ``hit_rate``: share of members whose class is guessed right. ``controls``, ``control``: control people, and guesses
    of their classes. ``confidence``: of the intervals, which are Newcombe's.
    """
    cells, counts = program.cells, program.table.counts
    beside = bool(program.release.statements)
    nodes = [0 if beside and tree.of_statements else len(tree.nodes) for tree in program.release.trees]
    mine = _group_sizes(link(cells, counts, nodes, told_apart(program).groups if beside else None))
    people = int(counts.sum())
    inference = Wp216Risk(hit_rate)
    if controls is not None and control is not None:
        inference = Wp216Risk(control.hits.members, control.hits.controls, control.interval, confidence)
    if controls is None or control is None or beside:
        single, right = _expected(mine, people, people)
        return Risks(Wp216Risk(single), Wp216Risk(right), inference)
    their_counts = controls.table.counts
    theirs = _group_sizes(link(build_cells(program.release, controls.table), their_counts, nodes))
    others = int(their_counts.sum())
    size = min(people, others)
    alone, linked = (
        Wp216Risk(one, other, newcombe((one * size, other * size), (size, size), confidence), confidence)
        for one, other in zip(_expected(mine, people, size), _expected(theirs, others, size), strict=True)
    )
    return Risks(alone, linked, inference)


def _group_sizes(links: Links) -> IntArray:
    """People of each group, shape (n_groups,)."""
    there = links.span != NO_SPAN
    return np.bincount(links.span[there], links.counts[there]).astype(np.int64)


def _expected(sizes: IntArray, people: int, part: int) -> tuple[float, float]:
    """Means over all parts of so many people: the share who are alone in their group, and groups per person.

    By the hypergeometric distribution: of a group of m among N people, none is in a part of n with probability
    C(N - m, n) / C(N, n), one is with m C(N - m, n - 1) / C(N, n).
    """
    if part == people:
        return float((sizes == 1).sum() / people), len(sizes) / people
    different, many = np.unique(sizes, return_counts=True)
    none = np.array([_log_choose(people - m, part) - _log_choose(people, part) for m in different.tolist()])
    one = np.array(
        [
            np.log(m) + _log_choose(people - m, part - 1) - _log_choose(people, part) if m else -np.inf
            for m in different.tolist()
        ]
    )
    return _mean(np.exp(one), many, part), _mean(1 - np.exp(none), many, part)


def _mean(values: FloatArray, many: IntArray, people: int) -> float:
    return float(values @ many / people)


def _log_choose(n: int, k: int) -> float:
    """The logarithm of a binomial coefficient; minus infinity where there is no way to choose."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) if 0 <= k <= n else -np.inf
