"""The methods of defense: how each makes a release, whether it takes a k, and what it guarantees."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from maxent.models.defenses.error_risk.prune import ERP, Rule, prune_erp
from maxent.models.defenses.kadet.parameters import Kadet, kadet
from maxent.models.defenses.leaf_pruning import prune_leaf, prune_parent
from maxent.models.defenses.random_trees.guarantee import RandomTrees
from maxent.models.defenses.random_trees.method import DEFAULT_K as DEFAULT_K_RDT
from maxent.models.defenses.random_trees.method import RDT
from maxent.models.defenses.random_trees.trees import Drawn, draw
from maxent.models.induction.inducers import induce
from maxent.models.induction.parameters import Growth
from maxent.models.records.generalize import Distance, Generalization, tiered, uniform
from maxent.models.records.generalized_table import GeneralizedTable
from maxent.models.release import Release
from maxent.models.tables.domains import Domains
from maxent.models.tables.training import Training
from maxent.models.trees.draft import Publish
from maxent.models.trees.reidentification import ranges_of
from maxent.models.trees.routing import assign

if TYPE_CHECKING:
    from maxent.models.induction.parameters import Inducer

DEFAULT_K = 5

Published = Literal[Publish, "records"]
"""What is published: a tree, of whose leaves something is stated, or records."""


@dataclass(frozen=True)
class Grown:
    """What a method works on: the records, how to grow a tree, and that tree, grown when first asked for.

    ``asked`` is what k-anonymous induction is to keep, but for k; ``rule``, ``distance`` and ``generalization`` are
    those of error-risk pruning; ``random`` is how random trees are drawn, over these ``domains``.
    """

    method: Method
    training: Training
    growth: Growth
    asked: Kadet = field(default_factory=Kadet)
    rule: Rule = "twig"
    distance: Distance = "gower"
    random: RandomTrees = field(default_factory=RandomTrees)
    domains: Domains = field(default_factory=Domains)
    generalization: Generalization = "tiered"

    @cached_property
    def drawn(self) -> Drawn:
        """Random trees, filled from samples."""
        return draw(self.training, self.random, self.domains)

    @cached_property
    def release(self) -> Release:
        """The tree as it is without the method, its leaves with their counts."""
        return self.method.plain(self)


@dataclass(frozen=True, slots=True)
class Method:
    """A method of defense.

    ``apply`` makes a release, whose leaves state counts, from what was grown and k; ``plain`` grows the tree that it
    is compared with. ``promise`` says in words, with ``{k}``, what is guaranteed; a method without a promise takes no
    k and guarantees nothing. ``inducers`` are those it can grow a tree with, its default first. ``anonymous`` methods
    guarantee k-anonymity, also of trees that test private attributes. ``generalize`` makes records, of a method that
    can publish these instead of a tree. ``default_k`` is the k when none is asked for.
    """

    apply: Callable[[Grown, int], Release]
    promise: str | None = None
    plain: Callable[[Grown], Release] = lambda grown: induce(grown.training, grown.growth, publish="counts")
    inducers: tuple[Inducer, ...] = ("cart", "id3", "c45")
    anonymous: bool = False
    generalize: Callable[[Grown, int], GeneralizedTable] | None = None
    default_k: int = DEFAULT_K

    @property
    def has_k(self) -> bool:
        return self.promise is not None


def _erp(grown: Grown, k: int) -> Release:
    """The tree after error-risk pruning."""
    ranges = ranges_of(grown.training.attributes, grown.training.columns)
    return prune_erp(grown.release, k, ranges=ranges, rule=grown.rule)


def _records(grown: Grown, k: int) -> GeneralizedTable:
    """The records in tiers, or alike in each leaf of the pruned tree."""
    training = grown.training
    if grown.generalization == "tiered":
        return tiered(training, grown.release, k, distance=grown.distance)
    return uniform(training, assign(_erp(grown, k).trees[0], training.attributes, training.columns), k)


METHODS: Mapping[str, Method] = {
    "none": Method(lambda grown, k: grown.release),
    "prune-leaf": Method(
        lambda grown, k: prune_leaf(grown.release, k),
        "no published leaf has fewer than {k} records, and nothing is stated about the leaves that were removed",
    ),
    "prune-parent": Method(
        lambda grown, k: prune_parent(grown.release, k),
        "no leaf has fewer than {k} records",
    ),
    "kadet": Method(
        lambda grown, k: kadet(grown.training, replace(grown.asked, k=k)),
        "{k}-anonymity: who knows the public attributes of everybody can link nothing to fewer than {k} of them",
        plain=lambda grown: kadet(grown.training, _plainly(grown.asked)),
        inducers=("id3", "c45"),
        anonymous=True,
    ),
    ERP: Method(_erp, "every leaf has no records or at least {k}", generalize=_records),
    RDT: Method(
        lambda grown, k: grown.drawn.release(k),
        "no count is published of fewer than {k} sampled people of a leaf and a class",
        default_k=DEFAULT_K_RDT,
    ),
}
"""The one place where a method is registered."""

COVERED: Mapping[Generalization, str] = {
    "tiered": "({k},{k})-anonymity, which is not k-anonymity: at least {k} published rows cover each record, and each "
    "row covers at least {k} records, but fewer than {k} rows may be alike",
    "uniform": "{k}-anonymity: at least {k} rows are alike but for their classes",
}
"""What is guaranteed of generalised records."""

CONFIDENCE = 0.25
"""The confidence factor that C4.5 prunes with."""


def wanted_ks(method: str, k: int | Sequence[int] | None) -> list[int | None]:
    """The k of each release, each once: the method's default when none is asked for, None for a method without one."""
    chosen = METHODS[method]
    return list(dict.fromkeys(map(int, listed(k, chosen.default_k)))) if chosen.has_k else [None]


def listed(k: object, default: int = DEFAULT_K) -> list[Any]:
    """The k that are asked for."""
    if k is None:
        return [default]
    return list(k) if isinstance(k, Collection) and not isinstance(k, str) else [k]


def _plainly(asked: Kadet) -> Kadet:
    """The same growth without anything to keep."""
    return replace(asked, k=1, l=None, alpha=None, class_public=False)
