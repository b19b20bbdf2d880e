"""Findings of the structural attacks: per tree, by differencing, for real people and for control people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.attacks.linking import (
    NO_CLASS,
    NO_LABEL,
    ROUNDS,
    Attacked,
    CountBounds,
    Links,
    after_facts,
    background_knowledge,
    homogeneity,
    link,
    stated_bounds,
    tighten,
    uniqueness,
)
from maxent.constraints.program.cells import build_cells
from maxent.disclosure.baseline import TwoGroups, newcombe
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.columns import NOTHING as NOTHING_columns
from maxent.models.columns import Statements, total_count
from maxent.models.defenses.registry import stated
from maxent.models.nodes import attributes_of
from maxent.models.reading import NOTHING, Noticed
from maxent.models.release import Release
from maxent.models.tables.qi_table import QITable
from maxent.models.trees.places import Places
from maxent.models.trees.printed_rates import RateReader
from maxent.models.trees.reidentification import Risk

if TYPE_CHECKING:
    from maxent.disclosure.truth import Controls
    from maxent.models.tables.truth_and_facts import Fact

# Differencing: class counts of leaves, removed or not, that follow from the numbers of inner nodes.
#
# The records of a node are those of its children together. So a node that states its counts gives away a removed leaf:
# the node minus the leaf's siblings. The same holds for bounds on counts, down and up the tree, and for the number of
# records; and two trees of the same people have the same records at their roots.


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Leaves whose records are known together, though not one by one: ``node`` is above all of them.

    ``counts`` has shape (n_classes,).
    """

    node: int
    leaves: IntArray
    counts: FloatArray

    @property
    def only_class(self) -> int | None:
        """The class of all their records, None when they have several, or there are none."""
        present = np.flatnonzero(self.counts)
        return int(present[0]) if len(present) == 1 else None


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Bounds on counts from all nodes of one tree together.

    ``bounds``: of every place of the tree. ``recovered``, shape (n_recovered,): the leaves, removed or published, of
    which more is known than they (and the adversary's table) state: the records of every class, the number of records,
    or that all are of one class. ``groups``: leaves that are known only together: with a removed one among them, or all
    of one class. ``contradicted``: whether the numbers do not add up, so that nothing could be learned: inner nodes may
    have been counted after leaves were removed, or the table may be of other people.
    """

    bounds: CountBounds
    recovered: IntArray
    groups: tuple[Group, ...]
    contradicted: bool


def difference(
    release: Release,
    places: Sequence[Places],
    said: Sequence[Statements],
    rates: Sequence[RateReader],
    sizes: Sequence[FloatArray] | None,
) -> tuple[Difference | None, ...]:
    """Bounds on the leaves of each tree from the numbers of its inner nodes; None where there are none.

    ``rates``: how error rates were printed. ``sizes``, shape (n_places,), one per tree;: individuals that the
    adversary's table shows to be in each place, NaN where it does not.
    """
    linked = sizes is not None or (len(places) > 1 and not release.sampled)
    closed = not release.blurred and not any(map(_has_open_leaf, places, said))
    if closed or not (linked or any(map(_has_inner_numbers, places, said))):
        return (None,) * len(places)
    own, shown = list[_Alone](), list[_Alone]()  # of many trees bounds take most of the memory: few are kept

    def alone(t: int) -> CountBounds:
        bounds = _every_place(release, places[t], said[t], rates[t], None)
        own.append(_Alone.of(bounds))
        return bounds

    told = _combined(release, places, map(alone, range(len(places))))
    if sizes is None:
        return tuple(
            _difference(p, a, b.sized, a, b, partial(_every_place, release, p, s, r, None))
            for p, s, r, a, b in zip(places, said, rates, own, told, strict=True)
        )

    def seen(t: int) -> CountBounds:
        bounds = _every_place(release, places[t], said[t], rates[t], sizes[t])
        _add_sizes(places[t], bounds, sizes[t])
        return bounds

    sized = [bounds.sized for bounds in told]
    told.reverse()

    def both(t: int) -> CountBounds:
        bounds = seen(t)
        shown.append(_Alone.of(bounds))
        return _intersection(told.pop(), bounds)

    known = _combined(release, places, map(both, range(len(places))))
    return tuple(
        _difference(places[t], own[t], sized[t], shown[t], known[t], partial(seen, t)) for t in range(len(places))
    )


def _has_open_leaf(places: Places, said: Statements) -> bool:
    """Whether there is a leaf that does not state its counts."""
    return len(places) > places.n_nodes or not said.counted[places.published].all()


def _has_inner_numbers(places: Places, said: Statements) -> bool:
    """Whether an inner node states any."""
    inner = places.n_branches[: places.n_nodes] > 0
    return bool((inner & (said.counted | (said.n != NOTHING_columns))).any())


def _every_place(
    release: Release, places: Places, said: Statements, rates: RateReader, sizes: FloatArray | None
) -> CountBounds:
    """Bounds that every place of a tree states; for removed leaves at most their size."""
    stated = stated_bounds(release, said, rates, None if sizes is None else sizes[: places.n_nodes])
    removed = len(places) - places.n_nodes
    nothing = np.zeros((removed, len(release.target.classes) + 1))
    return CountBounds(
        np.concatenate([stated.low, nothing]),
        np.concatenate([stated.high, np.full_like(nothing, _largest_removed(release))]),
        np.concatenate([stated.label, np.full(removed, NO_LABEL)]),
    )


def _largest_removed(release: Release) -> float:
    """The most records that a removed leaf can have had, which the method that removed it may tell."""
    below = stated(release).removed_below
    return np.inf if below is None else below - 1.0


def _add_sizes(places: Places, bounds: CountBounds, sizes: FloatArray) -> None:
    """Let removed leaves, in place, have as many records as the adversary's table shows."""
    removed = np.arange(places.n_nodes, len(places))
    removed = removed[~np.isnan(sizes[removed])]
    bounds.low[removed, -1] = bounds.high[removed, -1] = sizes[removed]
    tighten(bounds)


def _intersection(one: CountBounds, other: CountBounds) -> CountBounds:
    """The intersection of two bounds of the same places."""
    return CountBounds(np.maximum(one.low, other.low), np.minimum(one.high, other.high), one.label)


def _combined(release: Release, places: Sequence[Places], bounds: Iterable[CountBounds]) -> list[CountBounds]:
    """The bounds of all places of all trees, narrowed by one another."""
    found = [propagated(p, b) for p, b in zip(places, bounds, strict=True)]
    if len(found) == 1 or release.sampled:  # each tree has a sample of its own
        return found
    low = np.max([b.low[0] for b in found], axis=0)
    high = np.min([b.high[0] for b in found], axis=0)
    if (low > high).any():
        return found
    for t, (p, b) in enumerate(zip(places, found, strict=True)):
        if (b.low[0] < low).any() or (b.high[0] > high).any():
            b.low[0], b.high[0] = low, high
            found[t] = propagated(p, b)
    return found


def propagated(places: Places, bounds: CountBounds) -> CountBounds:
    """Bounds of all places of a tree, narrowed by one another: a node has the records of its children together.

    ``bounds``: what each place of the tree is known to hold by itself.
    """
    order = np.concatenate(places.levels)
    found = CountBounds(bounds.low[order], bounds.high[order], bounds.label[order])
    families = list(_families(places, order))
    for _ in range(ROUNDS):
        before = found.low.copy(), found.high.copy()
        for family in reversed(families):
            family.bound_parents(found)
        for family in families:
            family.bound_children(found)
        tighten(found)
        same = np.array_equal(before[0], found.low) and np.array_equal(before[1], found.high)
        if same or found.contradicted.any():
            break
    low, high = np.empty_like(found.low), np.empty_like(found.high)
    low[order], high[order] = found.low, found.high
    return CountBounds(low, high, bounds.label)


@dataclass(frozen=True, slots=True, eq=False)
class _Family:
    """The inner nodes of one level and their children, as rows of the bounds.

    Those of parent ``parents[f]`` are the rows from ``children.start + start[f]`` on; ``of`` is the f of each child.
    ``pairs``: whether each parent has two.
    """

    parents: IntArray
    children: slice
    start: IntArray
    of: IntArray
    pairs: bool

    def bound_parents(self, bounds: CountBounds) -> None:
        """Narrow the bounds of the parents by the sums of their children's."""
        low, high = bounds.low, bounds.high
        least, most = (self._sum(side[self.children]) for side in (low, high))
        low[self.parents] = np.maximum(low[self.parents], least)
        high[self.parents] = np.minimum(high[self.parents], most)

    def bound_children(self, bounds: CountBounds) -> None:
        """Narrow the bounds of each child by its parent's, minus its siblings'."""
        low, high = bounds.low[self.children], bounds.high[self.children]
        above = self.parents[self.of]
        endless = np.isinf(high)
        finite = np.where(endless, 0.0, high)
        siblings_low = self._sum(low)[self.of] - low
        siblings_high = self._sum(finite)[self.of] - finite
        if endless.any():
            siblings_high[self._sum(endless.astype(np.float64))[self.of] > endless] = np.inf
        bounds.low[self.children] = np.maximum(low, bounds.low[above] - siblings_high)
        bounds.high[self.children] = np.minimum(high, bounds.high[above] - siblings_low)

    def _sum(self, values: FloatArray) -> FloatArray:
        """Sums over the children of each parent, most often two."""
        if self.pairs:
            return np.asarray(values[::2] + values[1::2])
        return np.asarray(np.add.reduceat(values, self.start, axis=0))


def _families(places: Places, order: IntArray) -> Iterator[_Family]:
    """Each level of inner nodes with their children, from the root down."""
    begin = 0
    for level in places.levels[:-1]:
        end = begin + len(level)
        inner = np.flatnonzero(places.n_branches[level])
        width = places.n_branches[level[inner]]
        of = np.repeat(np.arange(len(inner)), width)
        yield _Family(begin + inner, slice(end, end + len(of)), np.cumsum(width) - width, of, bool((width == 2).all()))
        begin = end


@dataclass(frozen=True, slots=True, eq=False)
class _Alone:
    """What places state of themselves: whose counts are known, whose sizes, and who is of one class."""

    known: BoolArray
    sized: BoolArray
    one_class: BoolArray

    @classmethod
    def of(cls, bounds: CountBounds) -> _Alone:
        """The same of bounds."""
        return cls(bounds.known, bounds.sized, _of_one_class(bounds))


def _difference(
    places: Places,
    own: _Alone,
    sized: BoolArray,
    shown: _Alone,
    known: CountBounds,
    again: Callable[[], CountBounds],
) -> Difference:
    """Compare what places state of themselves with what all of them tell.

    ``own`` and the sizes that are told, ``sized``, are without the sizes that the adversary's table shows, ``shown``
    and ``known`` with them. The bounds of ``shown`` are made ``again`` where those known contradict each other.
    """
    if known.contradicted.any():
        return Difference(again(), np.zeros(0, np.int64), (), True)
    gained = known.known & ~shown.known
    gained |= (sized & ~own.sized) | (known.sized & ~shown.sized)
    gained |= _of_one_class(known) & ~shown.one_class
    leaves = places.leaves
    return Difference(known, leaves[gained[leaves]], tuple(_groups(places, known)), False)


def _of_one_class(bounds: CountBounds) -> BoolArray:
    """Places with records, all of one class."""
    alike: BoolArray = (bounds.possible.sum(axis=1) == 1) & (bounds.low[:, -1] > 0)
    return alike


def _groups(places: Places, bounds: CountBounds) -> Iterator[Group]:
    """The leaves that are only known together: unknown ones with the same nearest known node above."""
    known = bounds.known
    anchor = np.full(len(places), -1)
    for level in places.levels[1:]:
        above = places.parent[level]
        anchor[level] = np.where(known[above], above, anchor[above])
    leaves = places.leaves
    members = leaves[~known[leaves] & (anchor[leaves] >= 0)]
    members = members[np.argsort(anchor[members], kind="stable")]
    nodes, first = np.unique(anchor[members], return_index=True)
    if not len(nodes):
        return
    rest = bounds.low[:, :-1].copy()
    apart = np.flatnonzero(known & (anchor >= 0))
    np.subtract.at(rest, anchor[apart], bounds.low[apart, :-1])
    for node, group in zip(nodes.tolist(), np.split(members, first[1:]), strict=True):
        found = Group(node, group, rest[node])
        if group[-1] >= places.n_nodes or found.only_class is not None:
            yield found


# The attacks on individuals. Who is open to several is said to be so to the first: it asks least of the adversary.
ATTACKS = ("unique", "homogeneity", "span", "differencing", "facts", "background")
# The attacks that show the class of everybody whom they work on, if any; the others need to know who is who.
CERTAIN = ATTACKS[:4]
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
    bounds: CountBounds
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
    bounds: CountBounds,
    found: Difference | None,
    known: FloatArray | None,
    *,
    min_size: int,
    background: int,
) -> TreeAudit:
    """The attacks on the published ``leaves`` of a tree.

    ``leaves``, shape (n_leaves,), places. ``bounds``: of these leaves. ``found``: what inner nodes add. ``known``,
    shape (n_leaves, n_classes): records that facts place in these leaves. ``min_size``, ``background``: as for
    `maxent.audit`.
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
        return defense is not None and defense.parameters.get("class") == "public"

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


# Structural attacks on control people: how often a class that an attack shows is theirs, too.


def attacked_controls(
    found: Findings, controls: Controls, confidence: float, classes: Iterable[int] | None = None
) -> dict[str, Any]:
    """The attacks on the people of a release, and the same conclusions drawn about control people.

    Somebody in a leaf (or a span) that shows a class is said to have it. About members that is proved. Control people
    would be in the same leaf; how many of them have the class says how much of it the release teaches about everybody.

    ``found``: of a release with an adversary's table. ``confidence``: probability of the interval. ``classes``: Count
    only what is shown of these; all classes by default. Result: ``members`` and ``controls``, the shares of all of them
    whose class is shown and is theirs; the ``difference``, its ``interval`` and ``confidence``; ``individuals``, and
    those of whom a class is ``shown``, of each.
    """
    assert found.people is not None
    assert found.links is not None
    nodes = [len(tree.places.tree.nodes) for tree in found.trees]
    links = link(build_cells(found.release, controls.table), controls.table.counts, nodes)
    theirs = _shown(replace(found, people=controls.table, links=links, contradictions=()))
    mine = _shown(found)
    right = np.where(theirs != NO_CLASS, controls.truth[np.arange(len(theirs)), np.maximum(theirs, 0)], 0)
    counted = list(range(len(found.release.target.classes)) if classes is None else classes)
    members, others = found.people.counts, controls.table.counts
    people = int(members.sum()), int(others.sum())
    shown = int(members[np.isin(mine, counted)].sum()), int(others[np.isin(theirs, counted)].sum())
    hits = shown[0], int(right[np.isin(theirs, counted)].sum())
    shares = TwoGroups(*(hit / many for hit, many in zip(hits, people, strict=True)))
    return {
        **shares.as_dict(newcombe(hits, people, confidence)),
        "confidence": confidence,
        "individuals": {"members": people[0], "controls": people[1]},
        "shown": {"members": shown[0], "controls": shown[1]},
    }


def _shown(found: Findings) -> IntArray:
    """The class that an attack shows of everybody whom it works on, `NO_CLASS` where none does; shape (n_qi,)."""
    exposure = found.exposure
    sure = np.isin(exposure.attack, [ATTACKS.index(name) for name in CERTAIN])
    return np.where(sure, exposure.disclosed, NO_CLASS).astype(np.int64)
