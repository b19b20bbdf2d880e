"""The result of an audit: its findings, their JSON summary, and their tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.attacks.findings import ATTACKS, Exposure, Findings, Group, TreeAudit, strongest
from maxent.attacks.generalised import condition_in_words, everything, generalised, narrowed, path_in_words
from maxent.attacks.linking import (
    NO_CLASS,
    NO_LABEL,
    NO_SPAN,
    UNCERTAIN,
    Attacked,
    CountBounds,
    Links,
    background_knowledge,
    homogeneity,
    only_class,
    risk_rows,
    uniqueness,
)
from maxent.constraints.program.program import unread_in
from maxent.disclosure.baseline import Baseline, base_numbers, base_of, baseline_of
from maxent.disclosure.limits import Limits, Mend, Verdict, judge_rows
from maxent.disclosure.measures import audited, told_apart_in
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.display import Display, counted
from maxent.models.files.output import AUDIT
from maxent.models.nodes import nodes_at, parts_of
from maxent.models.tables.cells import named_frame, own_names
from maxent.results.solved import AttackReport, Drawing, draws_told

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.results.parts import Parts
    from maxent.solvers.certainty.stated import StatedCell


# The JSON summary.

# Leaves that are named of each attack.
NAMED = 5


def summarise(audit: Findings) -> dict[str, Any]:
    """Every number of an audit, see `maxent.audit`."""
    trees = audit.trees
    found = _attacked(audit)
    if audit.links is not None:
        least, exact = _smallest_group(audit, audit.links)
        found["spans"] = {
            "count": len(audit.links.population),
            "min_population": least,
            "k_anonymous": least if exact else None,
            "exposed": audit.people_in(audit.span_classes != NO_CLASS),
            "unlinked": audit.people_in(audit.links.span == NO_SPAN),
        } | ({"class": "public"} if audit.class_public else {})
        classes = audit.release.target.classes
        found["exposed_classes"] = {c: audit.people_in(audit.span_classes == x) for x, c in enumerate(classes)}
        found["exposed"] = {name: audit.people_in(audit.exposure.attack == i) for i, name in enumerate(ATTACKS)}
    found["differencing"] = _differencing(audit)
    if audit.several:
        found["trees"] = [_one_tree(tree) for tree in trees]
    found["recovered"] = [row for number in range(len(trees)) for row in _recovered(audit, number)]
    found["groups"] = [_group(audit, number, group) for number, tree in enumerate(trees) for group in tree.groups]
    if audit.risks is not None:
        found["risk"] = list(risk_rows(audit.risks))
    found["worst"] = _worst(audit)
    found["reliable"] = audit.reliable
    doubts = [f"{text}: not to be relied on" for text in audit.contradictions]
    found |= {"notes": [*audit.noticed.notes, *audit.notes, *doubts], **audit.noticed.summary}
    if unread := [each.as_dict("not") for each in unread_in(audit.noticed)]:
        found["unread"] = unread
    return found


def published(audit: Findings) -> list[TreeAudit]:
    """The trees without those that stand for statements."""
    beside = bool(audit.release.statements)
    return [tree for tree in audit.trees if not (beside and tree.places.tree.of_statements)]


def _attacked(audit: Findings) -> dict[str, Any]:
    """Leaves of all trees that each attack succeeds on, and people in those of the tree that exposes most."""
    trees = published(audit)
    found: dict[str, Any] = {
        "leaves": sum(len(tree.leaves) for tree in trees),
        "individuals": audit.individuals_known or None,
        "uniqueness": {"leaves": sum(tree.uniqueness.n_leaves for tree in trees)},
        "homogeneity": {
            "min_size": audit.min_size,
            "leaves": sum(tree.homogeneity.n_leaves for tree in trees),
            "individuals": max(
                # Who is in a homogeneous leaf of some tree may be more people than those of any one tree.
                [*(tree.homogeneity.n_individuals for tree in trees), audit.people_in(audit.homogeneous_somewhere)]
            ),
        },
        "background": {
            "known": audit.known,
            "leaves": sum(tree.background.n_leaves for tree in trees),
            "individuals": max((tree.background.n_individuals for tree in trees), default=0),
            "beyond_homogeneity": {
                "leaves": sum(int(_beyond(audit, tree).sum()) for tree in trees),
                "individuals": max(
                    (int(tree.background.individuals[_beyond(audit, tree)].sum()) for tree in trees), default=0
                ),
            },
        },
        "unknown_size": {
            "leaves": sum(int((~tree.bounds.sized).sum()) for tree in trees),
            "homogeneous": sum(int(_homogeneous_if_any(tree.bounds).sum()) for tree in trees),
        },
    }
    if audit.facts is not None:
        told = [tree.facts for tree in trees if tree.facts is not None]
        found["facts"] = {
            "known": sum(fact.count for fact in audit.facts),
            "leaves": sum(facts.n_leaves for facts in told),
            "individuals": max(facts.n_individuals for facts in told),
        }
    return found


def _smallest_group(audit: Findings, links: Links) -> tuple[int | None, bool]:
    """The fewest people whom nothing tells apart, and whether it is so many; there may be fewer of these.

    Where the adversary knows the classes they have the same one, too: these are counted in leaves. Where private
    attributes decide who is in them nothing is known of the groups. Leaves of several trees, and leaves beside
    statements, have parts, of whose classes nothing is known.
    """
    if not len(links.population):
        return None, True
    trees, least = published(audit), int(links.population.min())
    if not audit.class_public:
        return least, True
    exact = len(trees) == 1 and not audit.release.statements
    for tree in trees:
        place = links.place[links.span != NO_SPAN, audit.trees.index(tree)]
        bounds = tree.bounds.take(np.flatnonzero(np.isin(tree.leaves, place)))
        if (place != UNCERTAIN).all() and bounds.known.all():
            classes = bounds.low[:, :-1]
            least = min(least, int(classes[classes > 0].min()))
        elif exact:
            return None, True
    return least, exact


def _beyond(audit: Findings, tree: TreeAudit) -> Any:
    """The leaves where background knowledge settles something that homogeneity does not."""
    return tree.background.leaves & ~(homogeneity(tree.bounds) if audit.min_size > 1 else tree.homogeneity).leaves


def _homogeneous_if_any(bounds: CountBounds) -> Any:
    """Leaves that may have no records, but none that are not of one class."""
    return (only_class(bounds) != NO_CLASS) & (bounds.low[:, -1] == 0)


def _one_tree(tree: TreeAudit) -> dict[str, Any]:
    """The numbers of one tree of several."""
    return {
        "leaves": len(tree.leaves),
        "removed": len(tree.places) - tree.places.n_nodes,
        "recovered": len(tree.recovered),
        "uniqueness": {"leaves": tree.uniqueness.n_leaves},
        "homogeneity": _numbers(tree.homogeneity),
        "background": _numbers(tree.background),
    }


def _numbers(attacked: Attacked) -> dict[str, int]:
    return {"leaves": attacked.n_leaves, "individuals": attacked.n_individuals}


def _differencing(audit: Findings) -> dict[str, Any]:
    """Findings from inner nodes, beside those of the published leaves."""
    new: dict[str, list[Attacked]] = {"uniqueness": [], "homogeneity": [], "background": []}
    for tree in published(audit):
        if tree.difference is not None:
            bounds = tree.difference.bounds.take(tree.recovered)
            new["uniqueness"].append(tree.newly(uniqueness(bounds), tree.uniqueness))
            new["homogeneity"].append(tree.newly(homogeneity(bounds, audit.min_size), tree.homogeneity))
            new["background"].append(tree.newly(background_knowledge(bounds, audit.known), tree.background))
    together = [group for tree in audit.trees for group in tree.groups if group.only_class is not None]
    return {
        "removed": sum(len(tree.places) - tree.places.n_nodes for tree in audit.trees),
        "recovered": sum(len(tree.recovered) for tree in published(audit)),
        "uniqueness": {"leaves": sum(found.n_leaves for found in new["uniqueness"])},
        **{
            name: {
                "leaves": sum(found.n_leaves for found in new[name]),
                "individuals": max((found.n_individuals for found in new[name]), default=0),
            }
            for name in ("homogeneity", "background")
        },
        "groups": {"count": len(together), "individuals": sum(int(group.counts.sum()) for group in together)},
    }


def _recovered(audit: Findings, number: int) -> Iterator[dict[str, Any]]:
    """Leaves of a tree with tighter counts from inner nodes than from themselves."""
    tree = audit.trees[number]
    if tree.difference is None or not len(tree.recovered) or tree not in published(audit):
        return
    bounds = tree.difference.bounds.take(tree.recovered)
    classes = audit.release.target.classes
    shown, known, sized = homogeneity(bounds).disclosed.tolist(), bounds.known.tolist(), bounds.sized.tolist()
    counts = bounds.low.astype(np.int64).tolist()
    for i, named in enumerate(leaf_names(audit, number, tree.recovered)):
        low = counts[i]
        yield {
            **named,
            "n": low[-1] if sized[i] else None,
            "counts": dict(zip(classes, low[:-1], strict=True)) if known[i] else None,
            "class": None if shown[i] == NO_CLASS else classes[shown[i]],
        }


def _group(audit: Findings, number: int, group: Group) -> dict[str, Any]:
    """A group of leaves whose counts inner nodes reveal only in total."""
    classes, counts = audit.release.target.classes, group.counts.astype(np.int64).tolist()
    return {
        "tree": number + 1,
        "node": audit.trees[number].places.tree.nodes[group.node].id,
        "leaves": list(leaf_names(audit, number, group.leaves)),
        "n": sum(counts),
        "counts": dict(zip(classes, counts, strict=True)),
        "class": None if group.only_class is None else classes[group.only_class],
    }


def leaf_names(audit: Findings, number: int, leaves: IntArray) -> Iterator[dict[str, Any]]:
    """Places of leaves: the tree and branch (from 1), the node above, the test, and the id, None if removed."""
    places = audit.trees[number].places
    attributes = {attribute.name: attribute for attribute in audit.release.attributes}
    above = places.parent[leaves]
    nodes = nodes_at(places.tree.nodes, np.unique(np.concatenate([leaves[leaves < places.n_nodes], above[above >= 0]])))
    for place, up, branch in zip(leaves.tolist(), above.tolist(), places.branch[leaves].tolist(), strict=True):
        node, parent = nodes.get(place), nodes.get(up)
        found = {"tree": number + 1, "node": None, "branch": None, "test": None, "leaf": node.id if node else None}
        if parent is not None:
            attribute = attributes[parent.attribute or ""]
            values = narrowed(everything(attribute), parent.branches[branch])
            found |= {"node": parent.id, "branch": branch + 1, "test": condition_in_words(attribute, values)}
        yield found


def _worst(audit: Findings) -> list[dict[str, Any]]:
    """The largest homogeneous leaves, and the first that single somebody out, with the way there."""
    found: dict[str, list[tuple[int, int, int, int]]] = {"homogeneity": [], "uniqueness": []}
    for number, tree in enumerate(audit.trees):
        for attack, attacked in (("homogeneity", tree.homogeneity), ("uniqueness", tree.uniqueness)):
            at = np.flatnonzero(attacked.leaves & ((attack == "uniqueness") | ~tree.uniqueness.leaves))
            worst = at[np.argsort(-attacked.individuals[at], kind="stable")[:NAMED]]
            size, shown = attacked.individuals[worst].tolist(), attacked.disclosed[worst].tolist()
            found[attack] += [
                (-n, number, place, x) for n, place, x in zip(size, tree.leaves[worst].tolist(), shown, strict=True)
            ]
    return [
        {
            "attack": attack,
            "tree": number + 1,
            "leaf": audit.trees[number].places.tree.nodes[place].id,
            "n": -size,
            "class": None if shown == NO_CLASS else audit.release.target.classes[shown],
            "path": path_in_words(audit.trees[number].places, place, audit.release.attributes),
        }
        for attack, leaves in found.items()
        for size, number, place, shown in sorted(leaves)[:NAMED]
    ]


# An audit as tables: its leaves, the people of the adversary's table, and the release as an anonymised table.

Column = npt.NDArray[Any]
# By index of `ATTACKS`; the last stands for `UNTOUCHED`, which is -1.
ATTACK_NAMES = np.array([*ATTACKS, ""], object)


def people_table(audit: Findings) -> DataFrame | None:
    """One row per distinct quasi-identifier, see `Audit.individuals`."""
    if audit.people is None or audit.links is None:
        return None
    order = np.argsort(audit.people.lines, kind="stable")
    shown = audit.people.frame()
    columns: list[tuple[str, Column]] = []
    for number in range(len(audit.trees)):
        mark = f" {number + 1}" if audit.several else ""
        leaf, n = _places_of_people(audit, number)
        columns += [(f"leaf{mark}", leaf), (f"leaf_n{mark}", n)]
    exposed, span = audit.exposure, audit.links.span
    population = np.append(audit.links.population, 0)[span]
    columns += [
        ("span", _known(np.add(span, 1.0), span != NO_SPAN)),
        ("population", _known(population.astype(np.float64), span != NO_SPAN)),
        ("attack", ATTACK_NAMES[exposed.attack]),
        ("disclosed", _classes(audit, exposed.disclosed)),
    ]
    known = [(str(name), shown[name].to_numpy()) for name in shown.columns]
    columns = _own(columns, [attribute.name for attribute in audit.people.attributes])
    shown_columns = [*known, *columns]
    return named_frame((values[order] for _, values in shown_columns), (name for name, _ in shown_columns))


def _leaf_columns(audit: Findings, number: int) -> list[tuple[str, Column]]:
    """The leaves of one tree, in the order of their places."""
    tree = audit.trees[number]
    bounds = _leaf_bounds(audit, tree, told=True)
    exposed = _attacks_on_leaves(audit, tree, bounds)
    places, leaves = tree.places, tree.places.leaves
    ids = np.array([node.id for node in places.tree.nodes] + [None], object)
    return [
        *_head(audit, number),
        ("node", ids[places.parent[leaves]]),
        ("branch", _known(np.add(places.branch[leaves], 1.0), places.parent[leaves] >= 0)),
        *_records(audit, number, bounds),
        ("recovered", np.isin(leaves, tree.recovered)),
        ("attack", ATTACK_NAMES[exposed.attack]),
        ("disclosed", _classes(audit, exposed.disclosed)),
    ]


def _anonymised_columns(audit: Findings, number: int) -> list[tuple[str, Column]]:
    """The equivalence classes of one tree, in the order of its places."""
    tree = audit.trees[number]
    cells = generalised(audit.release, tree.places)
    return [
        *_own(_head(audit, number), cells),
        *((name, _texts(values)) for name, values in cells.items()),
        *_own(_records(audit, number, _leaf_bounds(audit, tree, told=False)), cells),
    ]


def _own(columns: Sequence[tuple[str, Column]], theirs: Collection[str]) -> list[tuple[str, Column]]:
    """Columns of ours beside those of attributes: no two have the same name."""
    names = own_names([name for name, _ in columns], theirs)
    return list(zip(names, (values for _, values in columns), strict=True))


def _head(audit: Findings, number: int) -> list[tuple[str, Column]]:
    """The leaf of a row."""
    places = audit.trees[number].places
    ids = _texts([None if node is None else node.id for node in map(places.node, places.leaves.tolist())])
    tree = [("tree", np.full(len(ids), number + 1))] if audit.several else []
    parts = parts_of(places.tree.nodes)
    several = any(parts_of(one.places.tree.nodes) for one in audit.trees)
    of = _texts([parts[p] if p < len(parts) else None for p in places.leaves.tolist()])
    return [*tree, ("leaf", ids), *([("part_of", of)] if several else [])]


def _records(audit: Findings, number: int, bounds: CountBounds) -> list[tuple[str, Column]]:
    """The records of leaves, where they are known, and their labels."""
    classes, places = audit.release.target.classes, audit.trees[number].places
    exact = bounds.low == bounds.high
    labels = _texts([None if node is None else node.label for node in map(places.node, places.leaves.tolist())])
    return [
        ("n", _known(bounds.low[:, -1], exact[:, -1])),
        *((f"count({name})", _known(bounds.low[:, x], exact[:, x])) for x, name in enumerate(classes)),
        ("label", labels),
    ]


def _leaf_bounds(audit: Findings, tree: TreeAudit, *, told: bool) -> CountBounds:
    """Bounds of every leaf, published ones first; of recovered leaves with those from inner nodes."""
    leaves, width = tree.places.leaves, len(audit.release.target.classes) + 1
    whole = tree.places.whole[leaves]
    there = np.isin(whole, tree.leaves)
    at = np.searchsorted(tree.leaves, whole[there])
    low, high = np.zeros((len(leaves), width)), np.full((len(leaves), width), np.inf)
    label = np.full(len(leaves), NO_LABEL)
    low[there], high[there], label[there] = tree.bounds.low[at], tree.bounds.high[at], tree.bounds.label[at]
    if told and tree.difference is not None:
        rows, found = np.searchsorted(leaves, tree.recovered), tree.difference.bounds.take(tree.recovered)
        low[rows], high[rows] = found.low, found.high
    return CountBounds(low, high, label)


def _attacks_on_leaves(audit: Findings, tree: TreeAudit, bounds: CountBounds) -> Exposure:
    """The attack that each leaf is open to."""
    leaves = tree.places.leaves

    def stated(attacked: Attacked) -> Attacked:
        found = tree.at(attacked)
        return Attacked(found.leaves[leaves], found.disclosed[leaves], found.individuals[leaves])

    return strongest(
        len(leaves),
        [
            ("unique", stated(tree.uniqueness)),
            ("homogeneity", stated(tree.homogeneity)),
            # Of leaves that are not recovered the bounds are as they state them.
            ("differencing", uniqueness(bounds)),
            ("differencing", homogeneity(bounds, audit.min_size)),
            *([] if tree.facts is None else [("facts", stated(tree.facts))]),
            ("background", background_knowledge(bounds, audit.known)),
        ],
    )


def _places_of_people(audit: Findings, number: int) -> tuple[Column, Column]:
    """The leaf of a tree in which each quasi-identifier is, all that it can be in joined by ``|``, and its records."""
    assert audit.links is not None
    tree, links = audit.trees[number], audit.links
    names = np.array([_place_name(tree, place) for place in range(len(tree.places))], object)
    place = links.place[:, number]
    found = names[place]
    several = np.flatnonzero(place[links.cells.owner] == UNCERTAIN)
    owner, leaf = links.cells.owner[several], links.cells.leaf[several, number]
    pairs = np.unique(np.column_stack([owner, leaf]), axis=0)
    owners, start = np.unique(pairs[:, 0], return_index=True)
    for i, reached in zip(owners.tolist(), np.split(pairs[:, 1], start[1:]), strict=False):
        found[i] = "|".join(names[reached])
    n, sized = np.zeros(len(tree.places) + 1), np.zeros(len(tree.places) + 1, bool)
    n[tree.leaves], sized[tree.leaves] = tree.bounds.low[:, -1], tree.bounds.sized
    return found, _known(n[place], sized[place])


def _place_name(tree: TreeAudit, place: int) -> str:
    """The id of a node; of a removed leaf where it was."""
    node = tree.places.node(place)
    if node is not None:
        return node.id
    above = tree.places.tree.nodes[int(tree.places.parent[place])]
    return f"removed from {above.id}, branch {int(tree.places.branch[place]) + 1}"


def _classes(audit: Findings, index: IntArray) -> Column:
    """The names of classes, None for `NO_CLASS`."""
    found: Column = np.array([*audit.release.target.classes, None], object)[index]
    return found


def _texts(values: Sequence[str | None]) -> Column:
    return np.array(values, object)


def _known(values: FloatArray, known: BoolArray) -> Column:
    """Whole numbers, None where they are not known."""
    if known.all():
        return values.astype(np.int64)
    found = np.full(len(values), None, object)
    found[known] = values[known].astype(np.int64)
    return found


def _stacked(trees: Sequence[list[tuple[str, Column]]]) -> DataFrame:
    """The rows of all trees, one below the other."""
    columns = (np.concatenate([tree[j][1] for tree in trees]) for j in range(len(trees[0])))
    return named_frame(columns, (name for name, _ in trees[0]))


def _copied(value: Any) -> Any:
    """A copy of plain dictionaries and lists; less work than `copy.deepcopy` when leaves are many."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


class AuditedPart(dict[str, Any]):
    """The summary of an audit, a mapping, with the views of the audit that it is of."""

    def __init__(self, attacks: Any) -> None:
        super().__init__(attacks.summary)
        self.attacks = attacks

    def verdict(self, **limits: Any) -> Verdict:
        """The verdict against limits, see `Audit.verdict`."""
        found: Verdict = self.attacks.verdict(**limits)
        return found

    def report(self, path: str | PathLike[str], *, title: str = "", purpose: str = "", **limits: Any) -> None:
        """Write a short report, see `Audit.report`."""
        self.attacks.report(path, title=title, purpose=purpose, **limits)

    def to_dict(self) -> dict[str, Any]:
        """The summary as a plain dictionary; a copy."""
        return {key: _copied(value) for key, value in self.items()}

    def _repr_html_(self) -> str:
        found: str = self.attacks._repr_html_()
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """As the plain dictionary that it is."""
        return dict, (self.to_dict(),)


@dataclass(frozen=True, eq=False, repr=False)
class Audit(AttackReport, Findings):
    """Structural attacks on a release.

    `summary` is the JSON summary; `leaves`, `individuals` and `table` are DataFrames. The findings behind them are
    the fields of `maxent.attacks.findings.Findings`. Of several sensitive columns they are about combinations of
    classes, and ``targets`` has the attacks on each column by its name. ``beside`` has what the findings are compared
    with, and those of some classes alone, by the keys of the summary; ``mended`` searches for what would pass limits,
    and ``drawing`` is how far somebody comes who computes draws; ``parts`` has people who are taken in parts.
    ``stated`` are the numbers of people that statements beside trees are about. ``open_numbers`` are the fewest and the
    most people that printed numbers leave possible, where that is more than one number.
    """

    kept_as = AUDIT
    targets: Mapping[str, Audit] = field(default_factory=dict)
    beside: Mapping[str, Any] = field(default_factory=dict)
    mended: Callable[[Limits], Mend] | None = None
    drawing: Drawing | None = None
    parts: Parts | None = None
    stated: Sequence[StatedCell] = ()
    open_numbers: Sequence[tuple[float, float]] = ()

    @property
    def summary(self) -> dict[str, Any]:
        """The JSON summary: plain numbers, strings, lists, dictionaries; a copy."""
        found: dict[str, Any] = _copied(self._summary)
        return found

    @cached_property
    def _summary(self) -> dict[str, Any]:
        alone = {name: found.summary for name, found in self.targets.items()}
        found = summarise(self) | dict(self.beside) | ({"targets": alone} if alone else {})
        return found if self.parts is None else found | self.parts.summary

    def judged(self, limits: Limits, name: str = "release") -> Verdict:
        """The verdict, as far as attacks alone can tell: whether ``min_k`` is kept, and what is not.

        Nobody knows less than the base rate, where counts state it.
        """
        told = draws_told(self.release, self.noticed.aside)
        row: dict[str, Any] = {"release": name, **self._numbers, **told}
        if self.targets:
            row["targets"] = [{"target": column, **found._numbers} for column, found in self.targets.items()]
        if "sensitive" in self.beside:
            alone, shares, classes = self.beside["sensitive"], self.baseline.shares, self.release.target.classes
            known = {} if shares is None else base_of(shares, [classes.index(each) for each in alone["classes"]])
            row["sensitive"] = {"exposed": alone.get("exposed"), **known}
        return judge_rows(limits, [row]).reached([self.drawing]).mended([self.mended])

    @property
    def _numbers(self) -> dict[str, Any]:
        """What limits are about, in a row."""
        unread = {"unread": self._summary.get("unread", ())}
        found = {**audited(self._summary), **told_apart_in(self._summary)}
        if self._summary.get("statements", {}).get("people"):  # single cells settle their class
            found["proved_least"] = self._summary["statements"]["people"]
        return {**found, **unread, **base_numbers(self.baseline, self.individuals_known)}

    @cached_property
    def baseline(self) -> Baseline:
        """What somebody who has no release guesses right, as far as counts state how frequent classes are."""
        stated = [] if self.release.sampled or self.contradictions else [tree.classes for tree in self.trees]
        known = [bounds for bounds in stated if bounds is not None]
        n_classes = len(self.release.target.classes)
        if not (known and self.individuals_known):
            return baseline_of(n_classes, 1)
        low, high = np.max([low for low, _ in known], axis=0), np.min([high for _, high in known], axis=0)
        if self.people is None and low.sum() < high.sum():  # then it is not known how many people there are
            return baseline_of(n_classes, 1)
        return baseline_of(n_classes, self.individuals_known, low=low, high=np.minimum(high, self.individuals_known))

    @property
    def leaves(self) -> DataFrame:
        """One row per leaf, published or removed: what is known of its records, the attack it is open to.

        Columns: ``tree`` (from 1, when there are several), ``leaf`` (its id, None when removed), ``part_of`` (where
        some are parts of a leaf of the tool; the rest is then about all of its parts together), ``node`` and
        ``branch`` (from 1) that lead to it, ``n``, ``count(<class>)`` for each class, ``label``, ``recovered`` (whether
        inner nodes tell more than the leaf does), ``attack`` (of `ATTACKS`, empty for none) and ``disclosed``, the
        class it shows.
        """
        return _stacked([_leaf_columns(self, number) for number in range(len(self.trees))])

    @property
    def individuals(self) -> DataFrame | None:
        """One row per distinct quasi-identifier, in the order in which they were read; None without a table.

        Columns: the public attributes, ``count``; ``leaf`` and ``leaf_n``, its records (with several trees ``leaf 1``,
        ``leaf_n 1``, ...); ``span``, ``population`` (individuals of the span); ``attack`` (of `ATTACKS`, empty for
        none) and ``disclosed``, the class it shows. Of people in parts the rows of all files, by leaf.
        """
        return people_table(self) if self.parts is None else self.parts.rows()

    @property
    def table(self) -> DataFrame:
        """The release as an anonymised table: one row per equivalence class, which is a leaf.

        Columns: ``tree`` (when there are several), ``leaf``, ``part_of`` as in `leaves`, each attribute generalised
        (``Masters|Doctorate``, ``(37.5, 52]``, ``> 52``, ``*`` for anything), ``n``, ``count(<class>)`` for each class,
        ``label``; empty where the leaf says nothing.
        """
        return _stacked([_anonymised_columns(self, number) for number in range(len(self.trees))])

    @property
    def lines(self) -> tuple[str, ...]:
        """The summary in plain language."""
        from maxent.results.text.audit import audit_lines

        lines = [*audit_lines(self._summary, self.release.target.name, len(published(self)), self.private)]
        for name, found in self.targets.items():
            known = [line for line in lines if line.startswith("note: ")]
            lines += [f"{name} by itself:", *(f"  {line}" for line in found.lines[1:] if line not in known)]
        return tuple(lines if self.parts is None else [*lines, *self.parts.lines])

    def _display(self) -> Display:
        from maxent.results.text.audit import audit_display

        of = counted(len(published(self)), "tree") if published(self) else "statements"
        return audit_display(f"Audit of {of}", self._summary, self.lines)

    def _saved(self) -> DataFrame:
        return self.leaves if self.individuals is None else self.individuals
