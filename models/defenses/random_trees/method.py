"""The method ``rdt``: random trees with sampled, thresholded counts (Waseda et al. 2025)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

from maxent.models.defenses.method import Method, Row, Stated, Wanted
from maxent.models.defenses.pruning_methods import COLUMNS
from maxent.models.defenses.random_trees.parameters import RandomTrees, Vote
from maxent.models.parameters import parameter, picked, same

if TYPE_CHECKING:
    from maxent.models.reading import Reader
    from maxent.models.records.generalized_table import GeneralizedTable
    from maxent.models.release import Release
    from maxent.models.tables.training import Training

_asked = partial(same, RandomTrees)


@dataclass(frozen=True)
class RandomForest(Method):
    """Random trees, drawn without looking at the data and filled from samples."""

    k: int = _asked("k")
    publish: Literal["counts"] = parameter("counts", "Statements of leaves.", group="output")
    trees: int = _asked("trees")
    depth: int | None = _asked("depth")
    beta: float = _asked("beta")
    epsilon: float | None = _asked("epsilon")
    vote: Vote = parameter("sums", "Source of predictions: the summed counts of all trees, or a vote of the trees.")
    domains: Any = parameter(
        None,
        "Domains known without the data, JSON: for each column, and the class, the list of its values or "
        "[lowest, highest].",
        files="file",
    )
    seed: int | None = _asked("seed")

    summary = "A forest drawn at random, which publishes the counts of samples that are k or more."
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
        from maxent.models.defenses.random_trees.trees import draw

        return draw(training, self.asked, self.domains)

    def publish_from(self, training: Training, grown: Any) -> tuple[Release | GeneralizedTable, Row]:
        from maxent.models.defenses.random_trees.guarantee import guarantee

        release = grown.release(self.k)
        known = guarantee(self.asked) if grown.stated else None
        shown = (any((leaf.counts or {}).values()) for tree in release.trees for leaf in tree.leaves)
        return release, {
            "guarantee": known and {name: value for name, value in asdict(known).items() if value is not None},
            "leaves_before": grown.reached,
            "leaves": sum(shown),
        }

    def predictor(self) -> Any:
        from maxent.models.defenses.random_trees.votes import predict_votes

        return predict_votes if self.vote == "trees" else super().predictor()

    def chances(self) -> Any:
        from maxent.models.defenses.random_trees.votes import vote_shares

        return vote_shares if self.vote == "trees" else super().chances()

    def notes(self, training: Training, releases: Sequence[Release], rows: Sequence[Row]) -> Iterator[str]:
        from maxent.models.defenses.random_trees.accounting import smallest_valid_epsilon
        from maxent.models.defenses.random_trees.guarantee import USUAL_DELTA

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
