"""The method ``kadet``: k-anonymous trees (Friedman, Schuster and Wolff 2006)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from maxent.models.defenses.grown_tree import LEAVES_STATE, GrownTree, of_growth, of_rounding, published
from maxent.models.defenses.kadet.parameters import Diversity, Kadet
from maxent.models.defenses.method import Row, Stated, Wanted
from maxent.models.defenses.pruning_methods import COLUMNS
from maxent.models.errors import Problem
from maxent.models.induction.parameters import Growth
from maxent.models.parameters import parameter, picked, same
from maxent.models.release import Impurity
from maxent.models.rounding.rounded import RoundingMethod
from maxent.models.trees.draft import Publish

if TYPE_CHECKING:
    from maxent.models.reading import Reader
    from maxent.models.release import Release
    from maxent.models.tables.training import Training

CONFIDENCE = 0.25  # the confidence factor that C4.5 prunes with
_asked = partial(same, Kadet)


@dataclass(frozen=True)
class KadetTree(GrownTree):
    """A tree that is k-anonymous by construction."""

    k: int = _asked("k")
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
    l: float | None = _asked("l")  # noqa: E741 (the l of l-diversity)
    diversity: Diversity = _asked("diversity")
    alpha: float | None = _asked("alpha")
    hierarchies: Mapping[str, Any] | None = parameter(
        None, "A file COLUMN.csv for each column whose values can be generalised.", files="folder"
    )
    class_public: bool = _asked("class_public")

    anonymous = True
    summary = "A tree that is k-anonymous by construction: no split leaves a group of fewer than k people."
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
        from maxent.models.defenses.kadet.release import kadet

        return kadet(training, replace(self.asked, k=1, l=None, alpha=None, class_public=False))

    def defended(self, training: Training, grown: Release) -> Release:
        from maxent.models.defenses.kadet.release import kadet

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
