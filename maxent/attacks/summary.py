"""The JSON summary of an audit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from maxent.attacks.bounds import Bounds
from maxent.attacks.differencing import Group
from maxent.attacks.findings import ATTACKS, Findings, TreeAudit
from maxent.attacks.generalised import condition_in_words, everything, narrowed, path_in_words
from maxent.attacks.leaves import NO_CLASS, Attacked, background_knowledge, homogeneity, only_class, uniqueness
from maxent.attacks.linking import NO_SPAN, UNCERTAIN, Links
from maxent.attacks.risk import risk_rows
from maxent.models.arrays import IntArray
from maxent.models.nodes import nodes_at

NAMED = 5
"""Leaves that are named of each attack."""


def summarise(audit: Findings) -> dict[str, Any]:
    """Every number of an audit, see `maxent.audit`."""
    trees = audit.trees
    found = _attacked(audit)
    if audit.links is not None:
        least = _smallest_group(audit, audit.links)
        found["spans"] = {
            "count": len(audit.links.population),
            "min_population": least,
            "k_anonymous": least,
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
    return found


def _attacked(audit: Findings) -> dict[str, Any]:
    """Leaves of all trees that each attack succeeds on, and people in those of the tree that exposes most."""
    trees = audit.trees
    found: dict[str, Any] = {
        "leaves": sum(len(tree.leaves) for tree in trees),
        "individuals": audit.individuals_known or None,
        "uniqueness": {"leaves": sum(tree.uniqueness.n_leaves for tree in trees)},
        "homogeneity": {
            "min_size": audit.min_size,
            "leaves": sum(tree.homogeneity.n_leaves for tree in trees),
            "individuals": max(
                # Who is in a homogeneous leaf of some tree may be more people than those of any one tree.
                *(tree.homogeneity.n_individuals for tree in trees),
                audit.people_in(audit.homogeneous_somewhere),
            ),
        },
        "background": {
            "known": audit.known,
            "leaves": sum(tree.background.n_leaves for tree in trees),
            "individuals": max(tree.background.n_individuals for tree in trees),
            "beyond_homogeneity": {
                "leaves": sum(int(_beyond(audit, tree).sum()) for tree in trees),
                "individuals": max(int(tree.background.individuals[_beyond(audit, tree)].sum()) for tree in trees),
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


def _smallest_group(audit: Findings, links: Links) -> int | None:
    """The fewest people whom nothing tells apart, who also have the same class where the adversary knows the classes.

    These are counted in leaves; where private attributes decide who is in them nothing is known of the groups.
    """
    if not len(links.population):
        return None
    if not audit.class_public:
        return int(links.population.min())
    (place,), tree = links.place[links.span != NO_SPAN].T, audit.trees[0]
    bounds = tree.bounds.take(np.flatnonzero(np.isin(tree.leaves, place)))
    if (place == UNCERTAIN).any() or not bounds.known.all():
        return None
    classes = bounds.low[:, :-1]
    return int(classes[classes > 0].min())


def _beyond(audit: Findings, tree: TreeAudit) -> Any:
    """The leaves where background knowledge settles something that homogeneity does not."""
    return tree.background.leaves & ~(homogeneity(tree.bounds) if audit.min_size > 1 else tree.homogeneity).leaves


def _homogeneous_if_any(bounds: Bounds) -> Any:
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
    for tree in audit.trees:
        if tree.difference is not None:
            bounds = tree.difference.bounds.take(tree.recovered)
            new["uniqueness"].append(tree.newly(uniqueness(bounds), tree.uniqueness))
            new["homogeneity"].append(tree.newly(homogeneity(bounds, audit.min_size), tree.homogeneity))
            new["background"].append(tree.newly(background_knowledge(bounds, audit.known), tree.background))
    together = [group for tree in audit.trees for group in tree.groups if group.only_class is not None]
    return {
        "removed": sum(len(tree.places) - tree.places.n_nodes for tree in audit.trees),
        "recovered": sum(len(tree.recovered) for tree in audit.trees),
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
    if tree.difference is None or not len(tree.recovered):
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
    """Places of leaves: the tree (from 1), the node above and its branch (from 1), the test of the branch, and the id.

    The id of a removed leaf is None, and so is what is above a root.
    """
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
