"""Limits on the disclosure of the best subtree, and its objective."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from maxent.models.arguments import Range, is_number, number, parameter, same, whole
from maxent.models.defenses.parameters import Diversity, Kadet
from maxent.models.errors import ARGUMENT, Problem
from maxent.models.induction.growth import NOT_NEGATIVE

Objective = Literal["accuracy", "impurity", "cost"]
Criterion = Literal["unstated", "stated"]

_of_kadet = partial(same, Kadet)
_SHARE = Range("a share from 0 to 1", lambda value: is_number(value) and 0 <= value <= 1)


@dataclass(frozen=True, slots=True)
class SubtreeLimits:
    """Limits on every leaf and on all of them together; None is no limit."""

    k: int = parameter(5, "Fewest records: in a leaf.", whole(1, "records"), alias="min_k")
    max_posterior: float | None = parameter(
        None, "Limit: largest probability of a class in a leaf.", number(0, most=1), metavar="P", grid=False
    )
    sensitive: str | None = parameter(
        None, "Classes that are sensitive: of max_posterior, alpha; default: all.", metavar="A,B,...", grid=False
    )
    l: float | None = _of_kadet("l")  # noqa: E741 (the l of l-diversity)
    diversity: Diversity = _of_kadet("diversity")
    alpha: float | None = _of_kadet("alpha")
    max_certain: int | None = parameter(None, "Limit: most people whose class is certain.", whole(0, "people"))
    min_divergence: float | None = parameter(
        None, "The least divergence D_overall of what is inferred.", NOT_NEGATIVE, metavar="NATS"
    )
    max_right_guesses: float | None = parameter(
        None, "Limit: largest share of people whose class is guessed right.", _SHARE, metavar="P"
    )
    max_lift: float | None = parameter(
        None, "Limit: by how much it may exceed the share of the most frequent class.", _SHARE, metavar="S"
    )
    objective: Objective = parameter("accuracy", "Objective: the number that the tree is best by.")
    cost: Any = parameter(
        None,
        "Costs, a table: a row for each decision, a column for each class; the objective is then the cost.",
        files="file",
        grid=False,
        doc="What a decision costs about somebody of a class, a path, DataFrame, or array of shape (n_decisions, "
        "n_classes), see `maxent.models.defenses.optimal.costs`. The objective is then the cost.",
    )
    complexity: float = parameter(
        0.0,
        "Cost of a leaf, as a share of the records: what it must be right for besides.",
        NOT_NEGATIVE,
        metavar="P",
        doc="What every leaf, removed or not, costs: a share of the records, or as much of the impurity or the cost "
        'per record (Breiman et al., "Classification and Regression Trees", 1984, chapter 3).',
    )
    complexity_folds: int | None = parameter(
        None, "Folds of cross-validation, of the same records, that choose the complexity.", whole(2, "folds")
    )

    cautious: bool = parameter(
        False, "Depart from what prune-leaf predicts only for what is more than chance in its removed leaves (remove)."
    )

    def conflicts(self) -> Iterator[Problem]:
        """Sensitive classes without a limit that is about them, and what else does not go together."""
        if self.complexity_folds is not None and self.complexity:
            expected = "none: cross-validation chooses it"
            yield Problem(ARGUMENT, "complexity", expected, f"{self.complexity}")
        if not isinstance(self.sensitive, str | None):
            expected = "None or classes with commas between, such as 'A,B'"
            yield Problem(ARGUMENT, "sensitive", expected, repr(self.sensitive))
        elif self.sensitive is not None and self.max_posterior is None and self.alpha is None:
            expected = "None: classes are named for max_posterior and alpha, and neither is given"
            yield Problem(ARGUMENT, "sensitive", expected, repr(self.sensitive))
        if self.objective == "cost" and self.cost is None:
            yield Problem(ARGUMENT, "cost", "a table of costs, for the objective cost", "none")
        if self.objective == "impurity" and self.cost is not None:
            yield Problem(ARGUMENT, "objective", "cost: a table of costs is given", "impurity")

    @property
    def summed(self) -> bool:
        """Whether there is a limit on all leaves together that none on each of them can stand for."""
        several = self.max_certain is not None and self.max_certain > 0
        guesses = self.max_right_guesses is not None or self.max_lift is not None
        return several or guesses or self.min_divergence is not None

    def right_guesses(self, base_rate: float) -> float | None:
        """The largest share of right guesses, where the most frequent class has this share."""
        shares = [self.max_right_guesses, None if self.max_lift is None else base_rate + self.max_lift]
        return min((share for share in shares if share is not None), default=None)

    def as_dict(self) -> dict[str, int | float | str]:
        """The limits that are stated, k among them."""
        shares = ("max_right_guesses", "max_lift")
        names = ("k", "max_posterior", "sensitive", "l", "alpha", "max_certain", "min_divergence", *shares)
        found = {name: value for name in names if (value := getattr(self, name)) is not None}
        return found | ({"diversity": self.diversity} if self.l is not None else {})


def cautious_conflicts(limits: SubtreeLimits, remove: bool) -> Iterator[Problem]:
    """What does not go with counting only what is more than chance."""
    if limits.cautious is True and remove is not True:
        yield Problem(ARGUMENT, "cautious", "none without removed leaves (remove)", "one")
    if limits.cautious is True and (limits.cost is not None or limits.objective != "accuracy"):
        expected = "none where trees are compared by another objective than accuracy"
        yield Problem(ARGUMENT, "cautious", expected, "cost" if limits.cost is not None else str(limits.objective))


def merged_conflicts(hierarchies: object, grow: bool, criterion: Criterion) -> Iterator[Problem]:
    """What a tree cannot have whose branches are merged along hierarchies."""
    if hierarchies is None:
        return
    if not isinstance(hierarchies, Mapping):
        yield Problem(ARGUMENT, "hierarchies", "a mapping of attributes to hierarchies", repr(hierarchies))
    if grow is True:
        yield Problem(
            ARGUMENT, "hierarchies", "none for a tree that is grown within limits: its splits are binary", "some"
        )
    if criterion == "stated":
        expected = "'unstated': a split with merged branches was not chosen as it is published"
        yield Problem(ARGUMENT, "criterion", expected, "'stated'")


def grown_conflicts(
    grow: bool,
    limits: SubtreeLimits,
    criterion: Criterion,
    remove: bool = False,
    audited: bool = False,
    choose: bool = False,
) -> Iterator[Problem]:
    """What a tree that is grown within limits cannot have."""
    if grow is True and limits.summed:
        expected = "limits on leaves, and no others, for a tree that is grown within them"
        yield Problem(ARGUMENT, "grow", expected, "max_certain, min_divergence, max_right_guesses or max_lift")
    if grow is True and limits.complexity_folds is not None:
        expected = "none for a tree that is grown within limits: a complexity is stated"
        yield Problem(ARGUMENT, "complexity_folds", expected, f"{limits.complexity_folds}")
    if grow is True and criterion == "stated":
        yield Problem(ARGUMENT, "criterion", "'unstated': splits are not chosen one by one", "'stated'")
    for name, asked in (("remove", remove), ("audited", audited), ("choose", choose)):
        if grow is True and asked is True:
            yield Problem(ARGUMENT, name, "none for a tree that is grown within limits", "one")


def rounding_conflicts(round_counts: int | None, cost: object, remove: bool) -> Iterator[Problem]:
    """What counts that are rounded cannot have: trees are compared by what their true counts predict and cost."""
    if round_counts is not None and cost is not None:
        yield Problem(ARGUMENT, "round_counts", "None: decisions are made from true counts (cost)", f"{round_counts}")
    if round_counts is not None and remove is True:
        expected = "None: for removed leaves the counts of others answer (remove)"
        yield Problem(ARGUMENT, "round_counts", expected, f"{round_counts}")
