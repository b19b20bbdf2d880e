"""The method ``optimal``: the best subtree within limits, and the notes on merged branches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from maxent.models.arguments import number, parameter, picked, same, whole
from maxent.models.defenses.grown_tree import InducedTree
from maxent.models.defenses.method import DEPTHS, Progress, Row, Stated, Wanted
from maxent.models.defenses.methods import COLUMNS
from maxent.models.defenses.optimal.limits import (
    Criterion,
    Objective,
    SubtreeLimits,
    cautious_conflicts,
    grown_conflicts,
    merged_conflicts,
    rounding_conflicts,
)
from maxent.models.defenses.parameters import Diversity
from maxent.models.errors import ARGUMENT, Problem, invalid

if TYPE_CHECKING:
    from maxent.models.defenses.optimal.subtree import Searched
    from maxent.models.reading import Reader
    from maxent.models.release import Release
    from maxent.models.tables.training import Training


# What is told of branches that were merged.


def merged_words(row: Mapping[str, Any], inducer: str) -> Iterator[str]:
    """What was merged, in words."""
    before, now = row["branches_before"], row["branches"]
    of_k = f"of the splits that are kept (k = {row['k']})"
    if before != now:
        yield f"merged along hierarchies: {before} branches {of_k} are {now}"
    else:
        more = (
            "; splits of cart are in two, those of id3 and c45 in one branch for each value"
            if inducer == "cart"
            else ""
        )
        yield f"nothing was merged along hierarchies, {of_k}{more}"


# Objective -> what a better tree would have
MEASURES: Mapping[Objective, str] = {
    "accuracy": "the right label for more records",
    "impurity": "a smaller Gini impurity",
    "cost": "a smaller cost",
}

AUDITS = 20  # subtrees that are audited best first, unless another number is asked for
_limit = partial(same, SubtreeLimits)


@dataclass(frozen=True)
class BestSubtree(InducedTree):
    """The subtree of a grown tree that is best within limits."""

    k: int = _limit("k")
    max_posterior: float | None = _limit("max_posterior")
    sensitive: str | None = _limit("sensitive")
    l: float | None = _limit("l")  # noqa: E741 (the l of l-diversity)
    diversity: Diversity = _limit("diversity")
    alpha: float | None = _limit("alpha")
    max_certain: int | None = _limit("max_certain")
    min_divergence: float | None = _limit("min_divergence")
    max_right_guesses: float | None = _limit("max_right_guesses")
    max_lift: float | None = _limit("max_lift")
    objective: Objective = _limit("objective")
    cost: Any = _limit("cost")
    complexity: float = _limit("complexity")
    complexity_folds: int | None = _limit("complexity_folds")
    cautious: bool = _limit("cautious")
    grow: bool = parameter(
        False, "Grow a tree that is optimal within limits on its leaves, of a depth of 4 unless asked for."
    )
    remove: bool = parameter(False, "Allow removed leaves, of which nothing is stated.")
    audited: bool = parameter(
        False, "Audit the best subtree with all that it states, and go on with the next best until one passes."
    )
    audits: int | None = parameter(
        None,
        "Most subtrees that are audited best first, with audited, choose or a forest to start from; default: 20.",
        whole(1, "subtrees"),
        grid=False,
    )
    time_limit: float | None = parameter(
        None,
        "Time after which no trial begins, nor goes on, of subtrees that are audited; then the best so far counts.",
        number(0),
        metavar="SECONDS",
        grid=False,
    )
    choose: bool = parameter(
        False, "Choose what is stated, audited: of the best trees that pass, the one that states the most."
    )
    criterion: Criterion = parameter(
        "unstated", "Whether the release states what splits were chosen by.", group="output"
    )
    hierarchies: Mapping[str, Any] | None = parameter(
        None, "A file COLUMN.csv for each column whose values can be generalised.", files="folder"
    )

    examples = (
        f"maxent defend optimal {COLUMNS} --k 2 -o best.json",
        f"maxent defend optimal {COLUMNS} --k 2 --max-posterior 0.9 --max-certain 0 -o best.json",
    )
    promise = "no leaf has fewer than {k} records"
    tells = True

    @classmethod
    def grid(cls, wanted: Wanted) -> Iterator[Row]:
        """Subtrees of several trees, and trees that are grown within the limits.

        Larger k than the limit, and leaves that are no smaller from the start, keep deep trees from overfitting.
        """
        limits: dict[str, Any] = {"max_posterior": wanted.max_posterior, "max_certain": wanted.max_certain}
        if wanted.max_posterior is not None:
            limits["sensitive"] = wanted.sensitive
        if wanted.sensitive is None:  # the method knows right guesses of all people only
            limits["max_right_guesses"] = wanted.max_right_guesses
        kept = {name: value for name, value in limits.items() if value is not None}
        if wanted.start:
            yield from ({"k": k, **more, **kept} for more in ({}, {"remove": True}) for k in wanted.ks)
            if wanted.start == 1:  # several are audited together, whatever is asked for
                yield from ({"k": k, "audited": True, **kept} for k in wanted.ks[:2] if wanted.private)
                yield from ({"k": wanted.least, "complexity": each, **kept} for each in (0.0003, 0.001, 0.003, 0.01))
            return
        for depth in (*DEPTHS[1:], 12, None):
            size = {} if depth is None else {"max_depth": depth}
            for k in wanted.ks:
                yield {**size, "k": k, **kept}
                yield {**size, "k": k, "min_samples_leaf": k, **kept}
        yield {"inducer": "c45", "k": wanted.least, **kept}
        # As of other trees without some of their leaves: estimates of deeper ones take long.
        yield from ({"max_depth": 5, "k": k, "remove": True, **kept} for k in wanted.ks[:2])
        if wanted.private:  # leaves are not what the adversary knows, so limits on them say little
            yield from ({"max_depth": depth, "k": wanted.least, "audited": True, **kept} for depth in DEPTHS)
        summed = SubtreeLimits(max_certain=wanted.max_certain, max_right_guesses=limits.get("max_right_guesses")).summed
        if not summed:  # a search with sums takes too long for all folds
            validated = {"complexity_folds": 5, "k": wanted.least, **kept}
            yield from ({"max_depth": depth, **validated} for depth in (8, 12))
            yield validated
            yield {"max_depth": 5, "remove": True, **validated}
            # A depth of 4 takes a minute of tens of thousands of people, or where many columns are numeric.
            yield from ({"grow": True, "max_depth": depth, "k": k, **kept} for depth in (2, 3) for k in wanted.ks[:2])

    @classmethod
    def untried(cls, wanted: Wanted) -> Iterator[tuple[str, str]]:
        if not wanted.start:
            yield (
                "optimal of a forest",
                "forests are not grown here: --from FOREST tries the trees of one that is there",
            )

    @property
    def most_audits(self) -> int:
        """How many subtrees are audited best first at the most."""
        return AUDITS if self.audits is None else self.audits

    @property
    def limits(self) -> SubtreeLimits:
        """The limits."""
        found: SubtreeLimits = picked(SubtreeLimits, self)
        return found

    @classmethod
    def states(cls, release: Release) -> Stated:
        k = (release.defense.parameters if release.defense else {}).get("k")
        return Stated(leaves_at_least=k if isinstance(k, int) else None)

    def conflicts(self) -> Iterator[Problem]:
        yield from super().conflicts()
        yield from self.limits.conflicts()
        yield from grown_conflicts(self.grow, self.limits, self.criterion, self.remove, self.audited, self.choose)
        yield from cautious_conflicts(self.limits, self.remove)
        yield from merged_conflicts(self.hierarchies, self.grow, self.criterion)
        if self.choose is True and (self.publish != "counts" or self.criterion != "unstated"):
            yield Problem(ARGUMENT, "choose", "none where publish or criterion say what is stated", "one")
        yield from rounding_conflicts(self.round_counts, self.cost, self.remove)

    def read(self, target: str | Sequence[str], columns: Sequence[str], reader: Reader) -> Self:
        from maxent.models.defenses.optimal.costs import CostFile
        from maxent.models.tables.hierarchies import read_hierarchies

        cost = None if self.cost is None else CostFile(self.cost, reader)
        return replace(self, cost=cost, hierarchies=read_hierarchies(self.hierarchies, reader))

    def stated(self) -> Row:
        return {} if self.grow else super().stated()

    def origin(self, training: Training) -> Any:
        return None if self.grow else super().origin(training)

    def defended(self, training: Training, grown: Release) -> Release:
        return self._searched(training, grown).release

    def publish_from(self, training: Training, grown: Any, progress: Progress | None = None) -> tuple[Release, Row]:
        for name in ("audits", "time_limit"):
            if (given := getattr(self, name)) is not None:
                expected = "none without audits (audited, choose, or a forest to start from)"
                raise invalid("options", ARGUMENT, name, expected, f"{given:g}")
        settled, row = self.settled(training, progress)
        found = settled._searched(training, grown, progress)
        release, own = settled.row_of(training, found.release if grown is None else grown, found)
        return release, {**own, **row}

    def settled(self, training: Training, progress: Progress | None = None) -> tuple[Self, Row]:
        """The same with the complexity that cross-validation chooses, if it is asked for, and what it found."""
        if self.complexity_folds is None:
            return self, {}
        from maxent.models.defenses.optimal.complexity import validated

        found = validated(
            training, self.origin, self.limits, remove=self.remove, publish=self.publish, hierarchies=self.hierarchies,
            rounded=self.rounding.rounded, seed=self.seed or 0, progress=progress,
        )  # fmt: skip
        row = {"chosen_complexity": found.complexity, "folds_loss": found.loss, "folds_loss_without": found.without}
        return replace(self, complexity=found.complexity, complexity_folds=None), row

    def row_of(self, training: Training, before: Release, found: Searched) -> tuple[Release, Row]:
        """What is published of a tree that was found, and its row."""
        release, row = self.published(training, before, found.release)
        objective = self.objective if self.cost is None else "cost"
        merged = {"branches_before": found.branches_before, "branches": found.branches} if self.hierarchies else {}
        return release, {**row, "objective": objective, "reached": found.reached, "best_possible": found.most, **merged}

    def _searched(self, training: Training, grown: Release | None, progress: Progress | None = None) -> Searched:
        if grown is None:
            from maxent.models.defenses.optimal.growing import optimal_tree

            least = max(self.k, self.min_samples_leaf or 1)
            told = None if progress is None else partial(progress, "trying splits at the top")
            return optimal_tree(training, replace(self.limits, k=least), self.max_depth, told, self.publish)
        from maxent.models.defenses.optimal.subtree import optimal_subtree

        return optimal_subtree(grown, self.limits, training, **self.asked)

    @property
    def asked(self) -> Row:
        """What is asked for besides limits, as `maxent.models.defenses.optimal.subtree.optimal_subtree` takes it."""
        names = ("criterion", "remove", "publish", "hierarchies")
        return {**{name: getattr(self, name) for name in names}, "rounded": self.rounding.rounded}

    def guarantee(self) -> Mapping[str, Any]:
        return self.limits.as_dict()

    def notes(self, training: Training, releases: Sequence[Release], rows: Sequence[Row]) -> Iterator[str]:
        from maxent.models.trees.predict import tested_attributes

        yield from super().notes(training, releases, rows)
        for row in rows:
            if row["objective"] == "cost":
                yield f"decisions cost {row['reached']:.6g} per record, of the records and for k = {row['k']}"
            yield self._proof(row)
            if "chosen_complexity" in row:
                yield self._chosen(row)
            if "branches" in row:
                yield from merged_words(row, self.inducer)
        more = []
        if self.criterion == "stated":
            more.append("what splits were chosen by is stated")
        if any(attribute.role == "private" for release in releases for attribute in tested_attributes(release)):
            more.append("private attributes are tested")
        if any("audits" in row for row in rows):
            yield from self._audits(rows)
        elif more and self.limits.as_dict().keys() != {"k"}:
            yield (
                f"limits are kept by what leaves state, and {' and '.join(more)}: what is inferred of single people "
                "can be beyond them (--audited cuts such subtrees off, maxent estimate TREE QI measures it)"
            )

    def _audits(self, rows: Sequence[Row]) -> Iterator[str]:
        """What was audited, in words."""
        from maxent.models.display import counted

        for row in rows:
            if "unfinished" in row:
                late = (
                    f"{counted(row['unfinished'], 'audit', 'audits')} did not end"
                    if row["unfinished"]
                    else "others are left"
                )
                yield f"out of time: {late}; what was not audited to the end is not taken to be kept"
            told = f"audited: an adversary who knows all that is stated stays within the limits (k = {row['k']})"
            if "trees" in row:
                yield f"{told}; {counted(row['audits'], 'audit', 'audits')} of choices of trees"
                continue
            audits = counted(row["audits"], "audit", "audits")
            yield f"{told}; {audits}, {row['cut_off']} of subtrees that broke a limit and were cut off"
            if "criterion" in row:
                by = "says" if row["criterion"] == "stated" else "does not say"
                base = row["round_counts"]
                more = "; of what states more, none that was found passes with a tree as good" * row["stated_more"]
                what = row["publish"] + ("" if base is None else f" rounded to multiples of {base}")
                yield f"chosen: leaves state {what}, and the release {by} what splits were chosen by{more}"

    def _chosen(self, row: Row) -> str:
        """What cross-validation found, in words."""
        by = f"by {self.complexity_folds} folds of the records (k = {row['k']})"
        if row["folds_loss"] is None:
            return f"complexity 0: there is nothing to choose {by}"
        measure = {"accuracy": "share of wrong labels", "impurity": "Brier score", "cost": "cost per record"}
        told = f"complexity {row['chosen_complexity']:.6g}, chosen {by}: {measure[row['objective']]}"
        return f"{told} {row['folds_loss']:.6g} on their people, without it {row['folds_loss_without']:.6g}"

    def _proof(self, row: Row) -> str:
        """What is known of other trees, in words."""
        if "trees" in row:
            return (
                f"not proved: {row['trees']} of {row['trees_before']} trees were chosen one after the other, each as "
                "deep as all together stay within the limits; another choice may be better"
            )
        measure = MEASURES[row["objective"]]
        if row.get("chosen_complexity", self.complexity):
            measure += {"accuracy": ", less what its leaves cost"}.get(row["objective"], ", with what its leaves cost")
        measure += ", counting in small leaves what is more than chance" * self.cautious
        limits, audited = f"the limits (k = {row['k']})", "audits" in row
        others = "subtree of the grown tree" + (", opened along hierarchies," if self.hierarchies else "")
        others += (" with" if self.hierarchies else ", with") + " or without removed leaves," if self.remove else ""
        others = "tree of this depth, of such splits," if self.grow else others
        if row["reached"] == row["best_possible"]:
            return f"proved: no {others} that keeps {limits}{' and passes the audit' * audited} has {measure}"
        if self.grow:
            return "not proved: each split looks three splits ahead; trees of a depth of at most 4 are proved"
        found, most = f"{row['reached']:.6g}", f"{row['best_possible']:.6g}"
        limits += " and pass the audit" * audited
        return f"not proved: of subtrees that keep {limits} this has {found}, and none can have better than {most}"

    def kept(self) -> str:
        """The other limits, in words."""
        limits, named = self.limits, "class" if self.sensitive is None else f"class of {self.sensitive}"
        told = []
        shares = [share for share in (limits.max_posterior, limits.alpha) if share is not None]
        told += [f"no {named} has more than a share of {min(shares):g} of a leaf"] if shares else []
        if limits.l is not None and limits.diversity == "distinct":
            told.append(f"a leaf has at least {limits.l:g} classes")
        elif limits.l is not None:
            told.append(f"the classes of a leaf have an entropy of at least log {limits.l:g}")
        if limits.max_certain is not None:
            who = f"at most {limits.max_certain} people" if limits.max_certain else "nobody"
            told.append(f"the class of {who} is certain")
        if limits.min_divergence is not None:
            told.append(f"the divergence D_overall is at least {limits.min_divergence:g} nats")
        if limits.max_right_guesses is not None:
            told.append(f"at most a share of {limits.max_right_guesses:g} of all classes is guessed right")
        if limits.max_lift is not None:
            told.append(f"right guesses are at most a share of {limits.max_lift:g} above the most frequent class")
        return "".join(f"; {each}" for each in told)
