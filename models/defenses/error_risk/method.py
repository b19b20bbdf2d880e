"""The method ``erp``: error-risk pruning, or the records of the tree, generalised (Yang et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from maxent.models.defenses.error_risk.parameters import Rule
from maxent.models.defenses.grown_tree import LEAVES_STATE, leaves_of, published
from maxent.models.defenses.method import DEPTHS, Row, Wanted, only_k
from maxent.models.defenses.pruning_methods import COLUMNS, PrunedLeaves
from maxent.models.errors import ARGUMENT, Problem
from maxent.models.parameters import parameter
from maxent.models.records.parameters import Distance, Generalization
from maxent.models.trees.draft import Publish

if TYPE_CHECKING:
    from maxent.models.records.generalized_table import GeneralizedTable
    from maxent.models.release import Release
    from maxent.models.tables.training import Training

Published = Literal[Publish, "records"]

# What is guaranteed of generalised records
COVERED: Mapping[Generalization, str] = {
    "tiered": "({k},{k})-anonymity, which is not k-anonymity: at least {k} published rows cover each record, and each "
    "row covers at least {k} records, but fewer than {k} rows may be alike",
    "uniform": "{k}-anonymity: at least {k} rows are alike but for their classes",
}


@dataclass(frozen=True)
class ErrorRiskPruned(PrunedLeaves):
    """The tree after error-risk pruning, or records in its place."""

    publish: Published = published(  # type: ignore[assignment]
        f"{LEAVES_STATE[:-1]}; or records in place of the tree, generalised."
    )
    rule: Rule | None = parameter(
        None, "Branches that compete to be pruned; default: twig, the branches of the small leaves' parents."
    )
    distance: Distance | None = parameter(None, "Distance between neighbours of records in tiers; default: gower.")
    generalization: Generalization | None = parameter(
        None,
        "Generalisation of records: in tiers, where small leaves borrow records, or one for each leaf of the pruned "
        "tree; default: tiered.",
    )

    depths = DEPTHS
    summary = "The tree pruned first where re-identification risk per added error is largest; or its records."
    examples = (
        f"maxent defend erp {COLUMNS} --k 2 -o pruned.json",
        f"maxent defend erp {COLUMNS} --k 2 --publish records -o rows.csv",
    )
    promise = "every leaf has no records or at least {k}"

    @classmethod
    def grid(cls, wanted: Wanted) -> Iterator[Row]:
        """Both rules, as the first publishes what ``prune-parent`` does; records do not predict."""
        trees = list(super().grid(wanted))
        yield from trees
        yield from ({**each, "rule": "literal"} for each in trees)

    @classmethod
    def untried(cls, wanted: Wanted) -> Iterator[tuple[str, str]]:
        yield (
            "erp publish=records",
            "generalised records make no predictions, so that there is no accuracy to compare: it would be that of "
            "whatever is learned from them (maxent audit and maxent estimate tell what they disclose)",
        )

    @property
    def predicts(self) -> bool:
        return self.publish != "records"

    @property
    def in_tiers(self) -> bool:
        """Whether records are generalised in tiers."""
        return self.generalization != "uniform"

    def conflicts(self) -> Iterator[Problem]:
        yield from super().conflicts()
        only_in_tiers = "none: it needs publish='records', and generalization='tiered', the default"
        for name, fits, expected in (
            ("rule", self.predicts or not self.in_tiers, "none for records in tiers, which do not depend on pruning"),
            ("distance", not self.predicts and self.in_tiers, only_in_tiers),
            ("generalization", not self.predicts, "none: it needs publish='records'"),
        ):
            if (given := getattr(self, name)) is not None and not fits:
                yield Problem(ARGUMENT, name, expected, repr(given))

    def defended(self, training: Training, grown: Release) -> Release:
        from maxent.models.defenses.error_risk.prune import prune_erp
        from maxent.models.trees.reidentification import ranges_of

        ranges = ranges_of(training.attributes, training.columns)
        return prune_erp(grown, self.k, ranges=ranges, rule=self.rule or "twig")

    def publish_from(self, training: Training, grown: Any) -> tuple[Release | GeneralizedTable, Row]:
        if self.predicts:
            return super().publish_from(training, grown)
        table = self._records(training, grown)
        return table, {
            "guarantee": {"kk" if self.in_tiers else "k": self.k},
            "leaves_before": leaves_of(grown),
            "gcp": table.gcp(),
            "k_anonymous": table.fewest_alike(),
        }

    def _records(self, training: Training, grown: Release) -> GeneralizedTable:
        """The records in tiers, or alike in each leaf of the pruned tree."""
        from maxent.models.records.generalize import tiered, uniform
        from maxent.models.trees.routing import assign

        if self.in_tiers:
            return tiered(training, grown, self.k, distance=self.distance or "gower")
        (tree,) = self.defended(training, grown).trees
        return uniform(training, assign(tree, training.attributes, training.columns), self.k)

    def notes(self, training: Training, releases: Sequence[Release], rows: Sequence[Row]) -> Iterator[str]:
        if self.predicts:
            yield from super().notes(training, releases, rows)
            return
        yield "guaranteed: " + COVERED["tiered" if self.in_tiers else "uniform"].format(k=only_k(rows))
        yield "classes are not hidden: each row has the class of its record"
