"""A forest within limits: some of its trees, each as deep as all together can be, chosen one after the other.

Several trees tell more together than each of them does, and what they tell cannot be summed over leaves. So each
choice is estimated and attacked as any release is. There is no proof that another choice is not better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from maxent.api.adversary.estimate import Progress
from maxent.api.releases.audited import Audit, Broken, audit_of, not_in_time
from maxent.models.defenses.optimal.forest import Member, members, together, tried
from maxent.models.defenses.optimal.subtree import Searched
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.release import Release
from maxent.models.tables.training import Training
from maxent.models.trees.restate import restate
from maxent.solvers.clock import Clock


@dataclass(frozen=True, slots=True)
class Chosen:
    """The trees that were chosen, the share of records that they predict right, and how many audits that took.

    ``unfinished`` of these audits did not end in time.
    """

    members: tuple[Member, ...]
    reached: float
    audits: int
    unfinished: int = 0


def greedy_forest(
    options: Sequence[Member],
    audit: Audit,
    training: Training,
    most_audits: int,
    progress: Progress | None = None,
    clock: Clock | None = None,
) -> Chosen:
    """Trees of a forest, one after the other, as long as all of them together pass an audit; as many as predict best.

    Of all trees at all depths the one comes next with which most records are predicted right, even if that is no more
    than before: the third tree may need the second. What does not pass is not tried again with more trees, nor is the
    same tree any deeper. This is greedy: nothing is known of other choices. ``clock`` is that of the audit.

    Raises
    ------
    InvalidInput
        When no tree passes alone, with what the last one discloses.
    NoAnswerInTime
        When time is over before one has passed.
    """
    left, chosen, audits, unfinished, told = list(options), list[Member](), 0, 0, ""
    clock = clock or Clock()
    best = Chosen((), -1.0, 0)
    while audits < most_audits and clock.stop() is None and (ranked := tried(left, chosen, training)):
        right, _, option = ranked[0]
        if progress is not None:
            progress("auditing trees", audits, most_audits)
        audits += 1
        broken = audit(together([*chosen, option]))
        if broken is not None:
            left = [each for each in left if each.number != option.number or each.depth < option.depth]
            told, unfinished = f": {broken.told}", unfinished + broken.unfinished
            continue
        chosen.append(option)
        if right / len(training) > best.reached:
            best = Chosen(tuple(chosen), right / len(training), audits)
    if not best.members and (unfinished or clock.stop() is not None):
        raise not_in_time(clock, audits)
    if not best.members:
        found = f"none does{told}"
        raise InvalidInput("options", [Problem("limits", "audit", "a tree of the forest that passes", found)])
    return replace(best, audits=audits, unfinished=unfinished)


def publish_forest(
    method: Any, training: Training, forest: Release, progress: Progress | None = None
) -> tuple[Release, dict[str, Any]]:
    """The publication of the method ``optimal`` of several trees, and its row.

    Raises
    ------
    InvalidInput
        For another objective than accuracy, and as `greedy_forest`.
    """
    if method.objective != "accuracy" or method.cost is not None:
        other = "impurity" if method.objective == "impurity" else "cost"
        raise InvalidInput("options", [Problem(ARGUMENT, "objective", "accuracy, for several trees", other)])
    if method.complexity:
        raise InvalidInput(
            "options", [Problem(ARGUMENT, "complexity", "none, for several trees", f"{method.complexity}")]
        )
    for name in ("choose", "hierarchies", "round_counts", "cautious"):
        if getattr(method, name):
            raise InvalidInput("options", [Problem(ARGUMENT, name, "none for several trees", "one")])
    asked: dict[str, Any] = {"criterion": method.criterion, "remove": method.remove, "publish": method.publish}
    options = members(forest, method.limits, training, **asked)
    clock = Clock(method.time_limit)
    audit = audit_of(training, method.limits, clock)

    def judged(release: Release) -> Broken | None:
        return audit(restate(release, method.publish))

    found = greedy_forest(options, judged, training, method.most_audits, progress, clock)
    release = together(found.members)
    published, row = method.row_of(training, forest, Searched(release, found.reached, 1.0))
    own = {"trees": len(found.members), "trees_before": len(forest.trees), "audits": found.audits}
    late = {"unfinished": found.unfinished} if found.unfinished or clock.stop() is not None else {}
    return published, {**row, **own, **late}
