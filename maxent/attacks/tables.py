"""An audit as tables: its leaves, the people of the adversary's table, and the release as an anonymised table."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.attacks.bounds import NO_LABEL, Bounds
from maxent.attacks.findings import ATTACKS, Exposure, Findings, TreeAudit, strongest
from maxent.attacks.generalised import generalised
from maxent.attacks.leaves import Attacked, background_knowledge, homogeneity, uniqueness
from maxent.attacks.linking import NO_SPAN, UNCERTAIN
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.nodes import parts_of
from maxent.models.tables.columns.column_names import own_names

if TYPE_CHECKING:
    from pandas import DataFrame

Column = npt.NDArray[Any]

ATTACK_NAMES = np.array([*ATTACKS, ""], object)
"""By index of `ATTACKS`; the last stands for `UNTOUCHED`, which is -1."""


def leaf_table(audit: Findings) -> DataFrame:
    """One row per leaf, see `maxent.attacks.audit.Audit.leaves`."""
    return _stacked([_leaf_columns(audit, number) for number in range(len(audit.trees))])


def anonymised_table(audit: Findings) -> DataFrame:
    """One row per equivalence class, see `maxent.attacks.audit.Audit.table`."""
    return _stacked([_anonymised_columns(audit, number) for number in range(len(audit.trees))])


def people_table(audit: Findings) -> DataFrame | None:
    """One row per distinct quasi-identifier, see `maxent.attacks.audit.Audit.individuals`."""
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
    return _frame([(name, values[order]) for name, values in [*known, *columns]])


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


def _records(audit: Findings, number: int, bounds: Bounds) -> list[tuple[str, Column]]:
    """The records of leaves, where they are known, and their labels."""
    classes, places = audit.release.target.classes, audit.trees[number].places
    exact = bounds.low == bounds.high
    labels = _texts([None if node is None else node.label for node in map(places.node, places.leaves.tolist())])
    return [
        ("n", _known(bounds.low[:, -1], exact[:, -1])),
        *((f"count({name})", _known(bounds.low[:, x], exact[:, x])) for x, name in enumerate(classes)),
        ("label", labels),
    ]


def _leaf_bounds(audit: Findings, tree: TreeAudit, *, told: bool) -> Bounds:
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
    return Bounds(low, high, label)


def _attacks_on_leaves(audit: Findings, tree: TreeAudit, bounds: Bounds) -> Exposure:
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
    columns = [(name, np.concatenate([tree[j][1] for tree in trees])) for j, (name, _) in enumerate(trees[0])]
    return _frame(columns)


def _frame(columns: Sequence[tuple[str, Column]]) -> DataFrame:
    """Columns as a DataFrame."""
    import pandas as pd

    frame = pd.DataFrame({j: values for j, (_, values) in enumerate(columns)})
    frame.columns = pd.Index([name for name, _ in columns], dtype=object)
    return frame
