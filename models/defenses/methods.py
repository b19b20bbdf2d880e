"""The methods of this package but for ``optimal``: what each takes, says and guarantees.

The algorithms, and NumPy with them, are loaded when a method is at work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from maxent.models.arguments import Impurity, Publish, RoundingMethod, parameter, picked, same, whole
from maxent.models.defenses.grown_tree import (
    LEAVES_STATE,
    GrownTree,
    InducedTree,
    leaves_of,
    of_growth,
    of_rounding,
    published,
)
from maxent.models.defenses.method import DEPTHS, Method, Row, Stated, Wanted, only_k
from maxent.models.defenses.parameters import Distance, Diversity, Generalization, Kadet, RandomTrees, Rule, Vote
from maxent.models.errors import ARGUMENT, Problem
from maxent.models.induction.growth import Growth

if TYPE_CHECKING:
    from maxent.models.reading import Reader
    from maxent.models.release import Release
    from maxent.models.tables.generalized_records import GeneralizedTable
    from maxent.models.tables.training import Training

# Options of the examples in the help.
COLUMNS = "truth.csv --target Salary --qi Education,Country,Gender"


@dataclass(frozen=True)
class Plain(InducedTree):
    """The tree as it is grown."""

    examples = (
        f"maxent defend none {COLUMNS} -o before.json",
        f"maxent defend none {COLUMNS} --max-depth 2 --publish labels -o labels.json",
    )

    def defended(self, training: Training, grown: Release) -> Release:
        return grown


@dataclass(frozen=True)
class PrunedLeaves(InducedTree):
    """The tree without its small leaves."""

    k: int = parameter(5, "Fewest records: in a published leaf.", whole(1, "records"))

    depths: ClassVar[Sequence[int]] = (
        3,
        5,
    )  # estimates of deeper trees without some leaves, which are no concave problems, take long
    examples = (
        f"maxent defend prune-leaf {COLUMNS} --k 2 -o after.json",
        f"maxent defend prune-leaf {COLUMNS} --k 2 --k 3 --inducer id3 -o after-{{k}}.json",
    )
    promise = "no published leaf has fewer than {k} records, and nothing is stated about the leaves that were removed"

    @classmethod
    def states(cls, release: Release) -> Stated:
        from maxent.models.defenses.pruning import PRUNE_LEAF, stated_k

        k = stated_k(release, PRUNE_LEAF)
        return Stated(leaves_at_least=k, removed_below=k)

    def defended(self, training: Training, grown: Release) -> Release:
        from maxent.models.defenses.pruning import prune_leaf

        return prune_leaf(grown, self.k)


@dataclass(frozen=True)
class PrunedParents(PrunedLeaves):
    """The tree with a leaf in place of every node above a small leaf."""

    depths = DEPTHS
    examples = (
        f"maxent defend prune-parent {COLUMNS} --k 2 -o after.json",
        f"maxent defend prune-parent {COLUMNS} --k 2 --k 3 --test truth.csv -o after-{{k}}.json",
    )
    promise = "no leaf has fewer than {k} records"

    @classmethod
    def states(cls, release: Release) -> Stated:
        from maxent.models.defenses.pruning import PRUNE_PARENT, stated_k

        grown = all(len(tree.nodes) > 1 for tree in release.trees)  # a root stays, however few it has
        return Stated(leaves_at_least=stated_k(release, PRUNE_PARENT) if grown else None)

    def defended(self, training: Training, grown: Release) -> Release:
        from maxent.models.defenses.pruning import prune_parent

        return prune_parent(grown, self.k)


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
        from maxent.models.defenses.error_risk import prune_erp
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
        from maxent.models.defenses.generalization import tiered, uniform
        from maxent.models.trees.places import assign

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


CONFIDENCE = 0.25  # the confidence factor that C4.5 prunes with
_of_kadet = partial(same, Kadet)


@dataclass(frozen=True)
class KadetTree(GrownTree):
    """A tree that is k-anonymous by construction."""

    k: int = _of_kadet("k")
    inducer: Literal["id3", "c45"] = parameter("id3", "Algorithm that grows the tree.", group="grown")
    impurity: Impurity | None = of_growth(
        "impurity", help="Measure that splits are chosen by; default: entropy (id3), gain_ratio (c45)."
    )
    max_depth: int | None = of_growth("max_depth")
    min_samples_split: int = of_growth("min_samples_split")
    publish: Publish = published(LEAVES_STATE)
    round_counts: int | None = of_rounding("round_counts")
    round_method: RoundingMethod = of_rounding("round_method")
    seed: int | None = of_growth("seed", help="Seed of random choices: rounding by chance, and no others.")
    l: float | None = _of_kadet("l")  # noqa: E741 (the l of l-diversity)
    diversity: Diversity = _of_kadet("diversity")
    alpha: float | None = _of_kadet("alpha")
    hierarchies: Mapping[str, Any] | None = parameter(
        None, "A file COLUMN.csv for each column whose values can be generalised.", files="folder"
    )
    class_public: bool = _of_kadet("class_public")

    anonymous = True
    examples = (
        f"maxent defend kadet {COLUMNS} --k 2 -o anonymous.json",
        f"maxent defend kadet {COLUMNS} --k 2 --alpha 0.9 --inducer c45 -o diverse.json",
    )
    promise = "{k}-anonymity: who knows the public attributes of everybody can link nothing to fewer than {k} of them"
    instead: ClassVar[Mapping[str, str]] = {"min_samples_leaf": "use k="}

    @classmethod
    def grid(cls, wanted: Wanted) -> Iterator[Row]:
        """Both inducers; where posteriors are limited also with that limit on the groups."""
        shares = (None, *(share for share in [wanted.max_posterior] if share is not None and 0 < share < 1))
        for share in shares:
            alpha = {} if share is None else {"alpha": share}
            for inducer in ("c45", "id3"):
                yield from ({"inducer": inducer, "max_depth": 8, "k": k, **alpha} for k in wanted.ks)

    @classmethod
    def states(cls, release: Release) -> Stated:
        by_spans = all(tree.induction.algorithm == "kadet" for tree in release.trees)
        unpruned = release.defense is not None and release.defense.parameters.get("pruning") == "none"
        return Stated(spans_decide=by_spans and unpruned)

    @property
    def growth(self) -> Growth:
        return Growth(self.inducer, self.impurity)

    @property
    def asked(self) -> Kadet:
        """Parameters of the algorithm."""
        confidence = CONFIDENCE if self.inducer == "c45" else None
        given = {"impurity": self.growth.measure, "confidence": confidence, "hierarchies": self.hierarchies or {}}
        found: Kadet = picked(Kadet, self, **given)
        return found

    def conflicts(self) -> Iterator[Problem]:
        yield from super().conflicts()
        yield from picked(Kadet, self, impurity="entropy", hierarchies=self.hierarchies or {}).conflicts()

    def read(self, target: str | Sequence[str], columns: Sequence[str], reader: Reader) -> Self:
        from maxent.models.tables.hierarchies import read_hierarchies

        return replace(self, hierarchies=read_hierarchies(self.hierarchies, reader))

    def origin(self, training: Training) -> Release:
        from maxent.models.defenses.kadet import kadet

        return kadet(training, replace(self.asked, k=1, l=None, alpha=None, class_public=False))

    def defended(self, training: Training, grown: Release) -> Release:
        from maxent.models.defenses.kadet import kadet

        return kadet(training, self.asked)

    def guarantee(self) -> Mapping[str, Any]:
        kept: dict[str, Any] = {"k": self.k}
        kept |= {} if self.l is None else {"l": self.l, "diversity": self.diversity}
        kept |= {} if self.alpha is None else {"alpha": self.alpha}
        return kept | ({"class": "public"} if self.class_public else {})

    def kept(self) -> str:
        words = ", who have the same class, which the adversary knows" if self.class_public else ""
        if self.l is not None:
            distinct = self.diversity == "distinct"
            least = f"{self.l:g} different classes" if distinct else f"an entropy of log {self.l:g}"
            words += f"; the classes of such a group have at least {least}"
        return words + ("" if self.alpha is None else f"; no class has more than a share of {self.alpha:g} of it")


_of_trees = partial(same, RandomTrees)


@dataclass(frozen=True)
class RandomForest(Method):
    """Random trees, drawn without looking at the data and filled from samples."""

    k: int = _of_trees("k")
    publish: Literal["counts"] = parameter("counts", "Statements of leaves.", group="output")
    trees: int = _of_trees("trees")
    depth: int | None = _of_trees("depth")
    beta: float = _of_trees("beta")
    epsilon: float | None = _of_trees("epsilon")
    vote: Vote = parameter("sums", "Source of predictions: the summed counts of all trees, or a vote of the trees.")
    domains: Any = parameter(
        None,
        "Domains known without the data, JSON: for each column, and the class, the list of its values or "
        "[lowest, highest].",
        files="file",
    )
    seed: int | None = _of_trees("seed")

    examples = (
        f"maxent defend rdt {COLUMNS} --k 2 --beta 0.8 -o forest.json",
        f"maxent defend rdt {COLUMNS} --k 2 --trees 3 --depth 1 --seed 1 -o forest.json",
    )
    promise = "no count is published of fewer than {k} sampled people of a leaf and a class"

    @classmethod
    def grid(cls, wanted: Wanted) -> Iterator[Row]:
        """Samples of several sizes, of which a smaller one needs a smaller k."""
        yield from ({"beta": beta, "k": k} for beta in (0.1, 0.4, 0.8) for k in (2, 5, 10, 20, 50))

    @classmethod
    def states(cls, release: Release) -> Stated:
        return Stated(left_out_suppressed=not release.private)

    @property
    def asked(self) -> RandomTrees:
        """The parameters of drawing trees."""
        found: RandomTrees = picked(RandomTrees, self)
        return found

    @property
    def domains_known(self) -> Mapping[str, Sequence[str]]:
        known: Mapping[str, Sequence[str]] = self.domains.values
        return known

    def read(self, target: str | Sequence[str], columns: Sequence[str], reader: Reader) -> Self:
        from maxent.models.tables.domains import read_domains

        return replace(self, domains=read_domains(self.domains, target, columns))

    def origin(self, training: Training) -> Any:
        """The trees with all counts of their samples."""
        from maxent.models.defenses.random_trees import draw

        return draw(training, self.asked, self.domains)

    def publish_from(self, training: Training, grown: Any) -> tuple[Release | GeneralizedTable, Row]:
        from maxent.models.defenses.accounting import guarantee

        release = grown.release(self.k)
        known = guarantee(self.asked) if grown.stated else None
        shown = (any((leaf.counts or {}).values()) for tree in release.trees for leaf in tree.leaves)
        return release, {
            "guarantee": known and {name: value for name, value in asdict(known).items() if value is not None},
            "leaves_before": grown.reached,
            "leaves": sum(shown),
        }

    def predictor(self) -> Any:
        from maxent.models.defenses.random_trees import predict_votes

        return predict_votes if self.vote == "trees" else super().predictor()

    def chances(self) -> Any:
        from maxent.models.defenses.random_trees import vote_shares

        return vote_shares if self.vote == "trees" else super().chances()

    def notes(self, training: Training, releases: Sequence[Release], rows: Sequence[Row]) -> Iterator[str]:
        from maxent.models.defenses.accounting import USUAL_DELTA, smallest_valid_epsilon

        unstated = self.domains.unstated(training)
        for row in rows:
            of = f"k = {row['k']}: " if len(rows) > 1 else ""
            known = row["guarantee"]
            if known is not None:
                begins = self.trees * smallest_valid_epsilon(self.beta)
                printed = (
                    f", and {known['delta']:.3g} by adding up what each tree guarantees"
                    if "delta" in known
                    else f"; what each tree guarantees adds up from an epsilon of {begins:.4g} on only"
                )
                yield (
                    f"guaranteed: {of}differential privacy under sampling, beta {known['beta']:g}, epsilon "
                    f"{known['epsilon']:.4g} nats, delta {known['tight_delta']:.3g}{printed}"
                )
            elif self.beta >= 1:
                yield f"guaranteed: {of}nothing, as every record is in the samples (beta 1)"
            elif not unstated:
                alike = self.trees * self.beta ** row["k"]
                yield (
                    f"guaranteed: {of}nothing with a delta of {USUAL_DELTA:g}: {row['k']} people who are all alike are "
                    f"published with a probability of up to {min(alike, 1.0):.3g} (an epsilon can be asked for)"
                )
        if unstated and self.beta < 1:
            yield (
                f"guaranteed: nothing, as the domains of {', '.join(unstated)} are those of the data, and tell of "
                "values that only few people have: state them without looking at the data"
            )
        if self.seed is not None and self.beta < 1:
            yield "a seed was given: nothing is guaranteed against those who know, or guess, it"
