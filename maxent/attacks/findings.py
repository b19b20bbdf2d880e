"""Findings of the structural attacks: per tree, and for the people of the adversary's table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxent.attacks.bounds import Bounds
from maxent.attacks.differencing import Difference, Group
from maxent.attacks.leaves import NO_CLASS, Attacked, after_facts, background_knowledge, homogeneity, uniqueness
from maxent.attacks.linking import Links
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.nodes import attributes_of
from maxent.models.reading import NOTHING, Noticed
from maxent.models.release import Release
from maxent.models.sparse_counts import total_count
from maxent.models.tables.qi_table import QITable
from maxent.models.tables.truth_and_facts import Fact
from maxent.models.trees.places import Places
from maxent.models.trees.reidentification import Risk

ATTACKS = ("unique", "homogeneity", "span", "differencing", "facts", "background")
"""The attacks on individuals. Who is open to several is said to be so to the first: it asks least of the adversary."""

CERTAIN = ATTACKS[:4]
"""The attacks that show the class of everybody whom they work on, if any; the others need to know who is who."""

UNTOUCHED = -1


@dataclass(frozen=True, slots=True, eq=False)
class TreeAudit:
    """Findings of attacks on single leaves of one tree.

    ``leaves`` (n_leaves,) are the places of the published leaves, one of those that are parts of a leaf of the tool;
    ``bounds`` and the attacks have a row for each.
    ``facts`` is None unless there are facts. ``difference`` is what inner nodes add, about all places of the tree, None
    where there is nothing to add.
    """

    places: Places
    leaves: IntArray
    bounds: Bounds
    uniqueness: Attacked
    homogeneity: Attacked
    background: Attacked
    facts: Attacked | None
    difference: Difference | None

    @property
    def records(self) -> int:
        """Records that the tree accounts for, at the least."""
        if self.difference is not None:
            return int(self.difference.bounds.low[0, -1])
        root = self.places.tree.root
        if root.is_leaf:
            return int(self.bounds.low[:, -1].sum())
        stated = root.n if root.n is not None else total_count(root.counts or {})
        return max(stated, int(self.bounds.low[:, -1].sum()))

    @property
    def classes(self) -> tuple[FloatArray, FloatArray] | None:
        """The fewest and the most records of each class, shapes (n_classes,); None where leaves are not all known."""
        if self.difference is not None:
            bounds, stating = self.difference.bounds, [0]
        else:
            bounds, stating = self.bounds, list(range(len(self.leaves)))
        if len(self.leaves) < len(self.places.published) or (self.difference is None and self.removed):
            return None
        low, high = bounds.low[stating, :-1].sum(axis=0), bounds.high[stating, :-1].sum(axis=0)
        return None if (low > high).any() else (low, high)

    @property
    def removed(self) -> int:
        """How many leaves were removed."""
        return len(self.places) - self.places.n_nodes

    @property
    def recovered(self) -> IntArray:
        """Places of leaves with tighter counts from inner nodes than from themselves, shape (n_recovered,)."""
        return np.zeros(0, np.int64) if self.difference is None else self.difference.recovered

    @property
    def recovered_records(self) -> int:
        """Records of the recovered leaves, at the least."""
        return 0 if self.difference is None else int(self.difference.bounds.low[self.recovered, -1].sum())

    @property
    def groups(self) -> tuple[Group, ...]:
        """Groups of leaves whose class counts inner nodes state only together."""
        return () if self.difference is None else self.difference.groups

    def at(self, attacked: Attacked) -> Attacked:
        """An attack on published leaves with a row for every place, and one more on which it never works."""
        leaves, disclosed = np.zeros(len(self.places) + 1, bool), np.full(len(self.places) + 1, NO_CLASS)
        individuals = np.zeros(len(self.places) + 1, np.int64)
        leaves[self.leaves], disclosed[self.leaves] = attacked.leaves, attacked.disclosed
        individuals[self.leaves] = attacked.individuals
        of = np.append(self.places.whole, len(self.places))
        return Attacked(leaves[of], disclosed[of], individuals[of])

    def possible(self, *, told: bool = False) -> BoolArray:
        """The classes that records of each place can have, shape (n_places, n_classes); with what inner nodes tell."""
        possible = np.ones((len(self.places), self.bounds.low.shape[1] - 1), bool)
        if told and self.difference is not None:
            possible[:] = False
            np.logical_or.at(possible, self.places.whole, self.difference.bounds.possible)
        else:
            possible[self.leaves] = self.bounds.possible
        return np.asarray(possible[self.places.whole])

    def newly(self, attacked: Attacked, before: Attacked) -> Attacked:
        """New findings of an attack on the recovered leaves; a row for each leaf."""
        new = attacked.leaves & ~self.at(before).leaves[self.recovered]
        return Attacked(new, np.where(new, attacked.disclosed, NO_CLASS), np.where(new, attacked.individuals, 0))


def audit_tree(
    places: Places,
    leaves: IntArray,
    bounds: Bounds,
    found: Difference | None,
    known: FloatArray | None,
    *,
    min_size: int,
    background: int,
) -> TreeAudit:
    """The attacks on the published ``leaves`` of a tree.

    Parameters
    ----------
    places : Places
    leaves : shape (n_leaves,), places
    bounds : Bounds
        Of these leaves.
    found : Difference, optional
        What inner nodes add.
    known : shape (n_leaves, n_classes), optional
        Records that facts place in these leaves.
    min_size, background : int
        As for `maxent.audit`.
    """
    return TreeAudit(
        places,
        leaves,
        bounds,
        uniqueness(bounds),
        homogeneity(bounds, min_size),
        background_knowledge(bounds, background),
        None if known is None else after_facts(bounds, known, min_size),
        found,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Exposure:
    """The attack each row (a quasi-identifier, a leaf) is open to, and the class that it shows, shapes (n_rows,).

    ``attack`` has indices of `ATTACKS`, or `UNTOUCHED`; ``disclosed`` of the classes, or `NO_CLASS`.
    """

    attack: IntArray
    disclosed: IntArray


def strongest(n: int, attacks: Iterable[tuple[str, Attacked]]) -> Exposure:
    """The first of some attacks on ``n`` rows that works on each, and the class that it, or else a sure one, shows."""
    attack, disclosed = np.full(n, UNTOUCHED), np.full(n, NO_CLASS)
    for name, found in attacks:
        first = found.leaves & (attack == UNTOUCHED)
        attack[first] = ATTACKS.index(name)
        shows = found.leaves & (disclosed == NO_CLASS) if name in CERTAIN else first
        disclosed = np.where(shows, found.disclosed, disclosed)
    return Exposure(attack, disclosed)


@dataclass(frozen=True, eq=False)
class Findings:
    """Findings of the structural attacks on one release.

    ``trees`` has the attacks on the
    leaves of each tree; with an adversary's table of ``people``, ``links`` says which leaves they can be in.
    ``contradictions`` say why the release cannot be about these people. ``risks`` are the measures of the nodes of each
    tree, where they were asked for.
    """

    release: Release
    trees: tuple[TreeAudit, ...]
    people: QITable | None
    links: Links | None
    min_size: int
    known: int
    facts: tuple[Fact, ...] | None
    notes: tuple[str, ...]
    contradictions: tuple[str, ...] = ()
    risks: tuple[Risk, ...] | None = None
    noticed: Noticed = NOTHING

    @property
    def reliable(self) -> bool:
        """Whether the release can be about the people of the table."""
        return not self.contradictions

    @property
    def several(self) -> bool:
        """Whether there is more than one tree."""
        return len(self.trees) > 1

    @property
    def class_public(self) -> bool:
        """Whether the adversary of the release's defense knows everybody's class, so that it divides spans."""
        defense = self.release.defense
        return defense is not None and defense.parameters.get("class") == "public" and not self.several

    @property
    def private(self) -> bool:
        """Whether some tree tests attributes that the adversary's table does not have."""
        private = {attribute.name for attribute in self.release.private}
        return any(private & attributes_of(tree.nodes) for tree in self.release.trees)

    @property
    def sampled(self) -> bool:
        """Whether the numbers are those of a sample, which prove nothing of the people it was drawn from."""
        return self.release.sampled

    @property
    def individuals_known(self) -> int:
        """Individuals of the table, otherwise records that the release accounts for."""
        return max(tree.records for tree in self.trees) if self.people is None else self.people.individuals

    def people_in(self, rows: BoolArray) -> int:
        """Individuals of some quasi-identifiers of the table; none without one."""
        return 0 if self.links is None else int(self.links.counts[rows].sum())

    @cached_property
    def homogeneous_somewhere(self) -> BoolArray:
        """Quasi-identifiers in a homogeneous leaf of some tree, shape (n_qi,)."""
        found = np.zeros(0 if self.links is None else len(self.links.counts), bool)
        if self.links is None or self.sampled:
            return found
        for attacked in self._at_people("homogeneity"):
            found |= attacked.leaves
        return found

    @cached_property
    def span_classes(self) -> IntArray:
        """The one class that the people of a quasi-identifier can have, by their span; else `NO_CLASS`; shape (n_qi,).

        Friedman et al. (2006, section 4.2) count those whose span has records of one class only.
        """
        return self._span_classes(told=False)

    @cached_property
    def exposure(self) -> Exposure:
        """The exposed people of the table, and the attack that works on each."""
        if self.links is None:
            return strongest(0, ())
        return strongest(len(self.links.counts), () if self.sampled else self._attacks_on_people(self.links))

    def _attacks_on_people(self, links: Links) -> Iterator[tuple[str, Attacked]]:
        """Every attack, in the order of `ATTACKS`, with a row for every quasi-identifier."""
        for found in self._at_people("uniqueness"):
            yield "unique", found
        for found in self._at_people("homogeneity"):
            yield "homogeneity", found
        for name, classes in (("span", self.span_classes), ("differencing", self._span_classes(told=True))):
            yield name, Attacked(classes != NO_CLASS, classes, links.counts)
        for name in ("facts", "background"):
            for found in self._at_people(name):
                yield name, found

    def _at_people(self, name: str) -> Iterator[Attacked]:
        """An attack on the leaves of each tree, as it works on those who are certain to be there."""
        if self.links is None:
            return
        for tree, place in zip(self.trees, self.links.place.T, strict=True):
            attacked: Attacked | None = getattr(tree, name)
            if attacked is not None:
                found = tree.at(attacked)  # `UNCERTAIN` is the last row, on which no attack works
                yield Attacked(found.leaves[place], found.disclosed[place], found.individuals[place])

    def _span_classes(self, *, told: bool) -> IntArray:
        """The classes of spans; with what inner nodes tell."""
        if self.links is None or self.sampled:
            return np.full(0 if self.links is None else len(self.links.counts), NO_CLASS)
        return self.links.classes([tree.possible(told=told) for tree in self.trees])
