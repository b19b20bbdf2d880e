"""Methods that grow a tree from the records: its parameters, and what is told of it when it was defended."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from maxent.models.arguments import Impurity, Publish, RoundingMethod, parameter, parameters_of, picked, same
from maxent.models.defenses.method import DEPTHS, Method, Row, Wanted, only_k
from maxent.models.defenses.parameters import Rounding
from maxent.models.errors import Problem
from maxent.models.induction.growth import CodedAs, Growth, Inducer

if TYPE_CHECKING:
    from maxent.models.release import Release
    from maxent.models.tables.generalized_records import GeneralizedTable
    from maxent.models.tables.training import Order, Training

of_growth = partial(same, Growth)  # a parameter of `Growth`
published = partial(parameter, "counts", group="output")  # the parameter ``publish``, with its help
of_rounding = partial(same, Rounding)  # a parameter of `Rounding`
LEAVES_STATE = "Statements of leaves: the label; also error rate and size; or all counts."


class GrownTree(Method):
    """A tree from the data, defended while it grows or afterwards; ``anonymous`` if that is k-anonymity."""

    anonymous: ClassVar[bool] = False
    publish: Any
    round_counts: Any
    round_method: Any
    seed: Any

    @property
    @abstractmethod
    def growth(self) -> Growth:
        """The parameters of growing the tree."""

    @abstractmethod
    def defended(self, training: Training, grown: Release) -> Release:
        """The release, whose leaves state their counts."""

    @property
    def domain_order(self) -> Order:
        return self.growth.order

    @property
    def rounding(self) -> Rounding:
        """The parameters of rounding counts."""
        return Rounding(self.round_counts, self.round_method)

    def conflicts(self) -> Iterator[Problem]:
        yield from self.growth.conflicts()
        yield from self.rounding.conflicts_with(self.publish)

    def stated(self) -> Row:
        return {"inducer": self.growth.inducer, "impurity": self.growth.measure}

    def origin(self, training: Training) -> Release:
        """The tree without the method, its leaves with their counts."""
        from maxent.models.induction.inducers import induce

        return induce(training, self.growth, publish="counts")

    def guarantee(self) -> Mapping[str, Any] | None:
        """The guarantee of the release, None for none."""
        k = getattr(self, "k", None)
        return None if k is None else {"k": k}

    def publish_from(self, training: Training, grown: Any) -> tuple[Release | GeneralizedTable, Row]:
        return self.published(training, grown, self.defended(training, grown))

    def stating(self, release: Release) -> Release:
        """A defended release with what is to be stated of it."""
        from maxent.models.trees.restate import restate
        from maxent.models.trees.rounding import round_counts

        said = restate(release, self.publish)
        rounded = self.rounding.rounded
        return said if rounded is None else round_counts(said, rounded, self.seed)

    def settled_chance(self) -> Self:
        """The same with a seed, where chance rounds counts and none is given: what is audited is what is published."""
        if self.round_counts is None or self.round_method != "random" or self.seed is not None:
            return self
        from secrets import randbits  # which loads OpenSSL

        changed: dict[str, Any] = {"seed": randbits(63)}
        return replace(self, **changed)

    def published(self, training: Training, grown: Release, release: Release) -> tuple[Release, Row]:
        """A defended release with what is to be stated of it, and its row."""
        counts = [[n for n in (leaf.counts or {}).values() if n] for tree in release.trees for leaf in tree.leaves]
        pure = [classes[0] for classes in counts if len(classes) == 1]
        return self.stating(release), {
            "guarantee": self.guarantee(),
            "leaves_before": leaves_of(grown),
            "leaves": len(counts),
            "removed_leaves": sum(b.child is None for tree in release.trees for n in tree.nodes for b in n.branches),
            "removed_records": len(training) * len(release.trees) - sum(map(sum, counts)),
            "pure_leaves": len(pure),
            "pure_records": sum(pure),
        }

    def notes(self, training: Training, releases: Sequence[Release], rows: Sequence[Row]) -> Iterator[str]:
        from maxent.models.trees.predict import tested_attributes

        if self.promise is not None:
            yield "guaranteed: " + self.promise.format(k=only_k(rows)) + self.kept()
        tested = (attribute for release in releases for attribute in tested_attributes(release))
        private = dict.fromkeys(attribute.name for attribute in tested if attribute.role == "private")
        audited = all("audits" in row for row in rows)  # the people who are not told apart were counted
        if private and rows[0]["k"] is not None and not self.anonymous and not audited:
            yield (
                f"this is not k-anonymity: the tree tests {', '.join(private)}, which an adversary does not know, and "
                "the people whom they cannot tell apart can be fewer than k (maxent audit TREE QI counts them)"
            )
        if (rounded := self.rounding.rounded) is not None:
            yield rounded.in_words
            if rounded.method == "random" and self.seed is not None:
                yield "a seed was given: who knows, or guesses it, knows more of the true numbers"
        elif self.publish != "labels" and any(row["pure_leaves"] for row in rows):
            yield "classes are not hidden: everybody in a pure leaf has the class that it states"

    def kept(self) -> str:
        """Guarantees besides the promise, in words."""
        return ""


def leaves_of(release: Release) -> int:
    """The leaves of all trees."""
    return sum(tree.n_leaves for tree in release.trees)


@dataclass(frozen=True)
class InducedTree(GrownTree):
    """A tree that any inducer grows, and that is defended afterwards; its grid has trees of some ``depths``."""

    depths: ClassVar[Sequence[int]] = DEPTHS

    inducer: Inducer = of_growth("inducer")
    impurity: Impurity | None = of_growth("impurity")
    max_depth: int | None = of_growth("max_depth")
    min_samples_leaf: int | None = of_growth("min_samples_leaf")
    min_samples_split: int = of_growth("min_samples_split")
    encoding: CodedAs = of_growth("encoding")
    publish: Publish = published(LEAVES_STATE)
    round_counts: int | None = of_rounding("round_counts")
    round_method: RoundingMethod = of_rounding("round_method")
    seed: int | None = of_growth("seed")

    @classmethod
    def grid(cls, wanted: Wanted) -> Iterator[Row]:
        """Trees of several depths; and every k."""
        several: Sequence[Row] = [{"k": k} for k in wanted.ks] if "k" in parameters_of(cls) else [{}]
        yield from ({"max_depth": depth, **k} for depth in cls.depths for k in several)

    @property
    def growth(self) -> Growth:
        found: Growth = picked(Growth, self, seed=0 if self.seed is None else self.seed)
        return found
