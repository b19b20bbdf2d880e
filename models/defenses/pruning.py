"""Leaf pruning: the algorithms of ``prune-leaf`` and ``prune-parent`` (Wakabayashi et al. 2024).

A leaf is small when it has fewer than k records (n <= s in [1]_, with s = k - 1). Leaves without any record, which
multiway trees have, are small for every k.

Method 1, `prune_leaf`, removes small leaves and nothing else: a node stays even when all of its leaves are gone. Method
2, `prune_parent`, makes a leaf of every node with a small child, whatever its other children are, again and again until
no child is small. How many records a node holds does not depend on what became of those below, so the highest nodes of
the original tree that have a small child are the ones that end up as leaves.

References
----------
.. [1] Wakabayashi, Wang, Nojima and Waseda, "Security Evaluation of Decision Tree Meets Data Anonymization", Proc.
   ICISSP, 2024, section 4.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import is_whole, shorten, whole_number
from maxent.models.arrays import IntArray
from maxent.models.columns import total_count
from maxent.models.errors import Problem
from maxent.models.release import Defense, Node, Release, Tree
from maxent.models.trees.places import Places, number_places
from maxent.models.trees.restate import COUNTS, CountsReader, counts_reader, majority, node_place, refuse

PRUNE_LEAF = "prune-leaf"
PRUNE_PARENT = "prune-parent"

STATEMENTS = ("label", "error_rate", "n", "counts")
_UNKNOWN = -1


def prune_leaf(release: Release, k: int) -> Release:
    """Method 1: remove every leaf with fewer than k records, from every tree.

    Inner nodes above a removed leaf no longer state ``n`` or ``counts``: minus those of the leaves that are left, they
    would tell what the removed ones held. Other inner nodes keep theirs, to which their leaves add up anyway. (Trees of
    one forest over the same records still tell how many records, and of which classes, another tree has lost.)

    Parameters
    ----------
    release : Release
        Its leaves state ``n`` or ``counts``. Leaves may have been removed by this method before: the result is what the
        larger k makes of the original.
    k : int
        Records of the smallest leaf that stays, at least 1, which removes empty leaves only.

    Returns
    -------
    Release
        Its defense is ``prune-leaf`` with ``k``; the parameters of an earlier one are kept as ``method.parameter``.
    """
    k = _plain(k)
    problems = _refusals(release, k)
    if stated_k(release, PRUNE_LEAF) is None:
        problems += _removed_before(release, "none removed other than by prune-leaf, as it need not have been small")
    refuse(problems)
    trees = tuple(_without_small_leaves(release, t, k, problems) for t in range(len(release.trees)))
    refuse(problems)
    return replace(release, trees=trees, defense=combined(release, PRUNE_LEAF, k), draws=None)


def prune_parent(release: Release, k: int) -> Release:
    """Method 2: make a leaf of every node with a child of fewer than k records, until there is none, in every tree.

    A new leaf states what leaves of its tree do (label, error rate, n, counts), about its own records; its label is the
    first of the most frequent classes.

    Parameters
    ----------
    release : Release
        Its leaves state ``n`` or ``counts``. A node that becomes a leaf states ``counts``, or all leaves below it state
        them, or label, n and, of two classes, an error rate that only one number of records has.
    k : int
        Records of the smallest leaf, at least 1, which affects the parents of empty leaves only.

    Returns
    -------
    Release
        All leaves have at least k records. Its defense is ``prune-parent`` with ``k``; the parameters of an earlier one
        are kept as ``method.parameter``.
    """
    k = _plain(k)
    problems = _refusals(release, k)
    problems += _removed_before(release, "none removed, as what the node holds is not known")
    refuse(problems)
    implied = counts_reader(release)
    trees = tuple(_without_small_children(release, t, k, implied, problems) for t in range(len(release.trees)))
    refuse(problems)
    return replace(release, trees=trees, defense=combined(release, PRUNE_PARENT, k), draws=None)


def stated_k(release: Release, method: str) -> int | None:
    """The k of a release's defense, None when it is of another method or its k is no whole number of records."""
    if release.defense is None or release.defense.method != method:
        return None
    k = release.defense.parameters.get("k")
    return k if isinstance(k, int) and is_whole(k, 1) else None


def combined(release: Release, method: str, k: int) -> Defense:
    """The defense of a release that is now pruned as well."""
    before = release.defense
    if before is None:
        return Defense(method, {"k": k})
    if before.method == method:
        return Defense(method, {**before.parameters, "k": max(k, stated_k(release, method) or k)})
    earlier = {name if "." in name else f"{before.method}.{name}": value for name, value in before.parameters.items()}
    return Defense(method, {"k": k, **earlier})


def k_problems(k: object) -> list[Problem]:
    """Mistakes in a k, which may be an integer of NumPy's."""
    return [] if is_whole(k, 1) else [Problem("argument", "k", f"{whole_number(1)} (records)", shorten(k))]


def _plain(k: Any) -> Any:
    """An integer of NumPy's as one of Python's, which JSON can write."""
    return int(k) if isinstance(k, np.integer) else k


def _refusals(release: Release, k: object) -> list[Problem]:
    """Mistakes in k, and in a release whose small leaves cannot be told."""
    problems = k_problems(k)
    if release.suppressed_below > 1:
        found = f"counts below {release.suppressed_below} suppressed"
        problems.append(Problem("release", "suppressed_below", "exact counts, which tell small leaves", found))
    if release.rounded is not None:
        found = f"counts that are rounded ({release.rounded})"
        problems.append(Problem("release", "rounded", "exact counts, which tell small leaves", found))
    return problems


def _removed_before(release: Release, expected: str) -> list[Problem]:
    """A problem for each node that has lost a leaf."""
    return [
        Problem(node_place(release, t, node), "child", expected, "a removed leaf")
        for t, tree in enumerate(release.trees)
        for node in tree.nodes
        if any(branch.child is None for branch in node.branches)
    ]


def _below(amount: npt.NDArray[np.generic], places: Places) -> IntArray:
    """Sums over the leaves below each place, shape (n_places,), of an amount of each leaf in depth-first order."""
    up_to = np.concatenate([[0], np.cumsum(amount, dtype=np.int64)])
    return np.asarray(up_to[places.last] - up_to[places.first])


def _records(release: Release, t: int, places: Places, k: int, problems: list[Problem]) -> IntArray:
    """Records in each place of a tree, stated or the sum of what is, else `_UNKNOWN`, shape (n_places,)."""
    tree = release.trees[t]
    stated = np.full(len(places.children), _UNKNOWN, np.int64)
    for place, node in enumerate(tree.nodes):
        if node.n is not None:
            stated[place] = node.n
        elif node.counts is not None:
            stated[place] = total_count(node.counts)
        elif node.is_leaf:
            found = Problem(node_place(release, t, node), "n", "the number of its records, or counts", "neither")
            problems.append(found)
    ends = np.array([not below for below in places.children])
    leaves = np.empty(int(places.last[0]), np.int64)
    leaves[places.first[ends]] = stated[ends]
    summed = np.where(_below(leaves == _UNKNOWN, places) == 0, _below(leaves, places), _UNKNOWN)
    records = np.where(stated == _UNKNOWN, summed, stated)
    if _UNKNOWN < records[0] < k:
        expected = f"at least k = {k} records in the whole tree"
        problems.append(Problem(node_place(release, t, tree.root), "n", expected, str(records[0])))
    return records


def _without_small_leaves(release: Release, t: int, k: int, problems: list[Problem]) -> Tree:
    """One tree by method 1."""
    tree, places = release.trees[t], number_places(release.trees[t])
    records = _records(release, t, places, k, problems)
    small = np.array([not below for below in places.children]) & (records < k)  # those removed before are unknown
    removed = np.zeros(int(places.last[0]), bool)
    removed[places.first[small]] = True
    above = _below(removed, places) > 0
    gone = {node.id for place, node in enumerate(tree.nodes) if small[place]}

    def pruned(place: int, node: Node) -> Node:
        if node.is_leaf or not above[place]:
            return node
        branches = tuple(replace(b, child=None) if b.child in gone else b for b in node.branches)
        return Node(node.id, node.attribute, branches)

    return replace(tree, nodes=tuple(pruned(place, node) for place, node in enumerate(tree.nodes) if not small[place]))


def _without_small_children(release: Release, t: int, k: int, implied: CountsReader, problems: list[Problem]) -> Tree:
    """One tree by method 2."""
    tree, places = release.trees[t], number_places(release.trees[t])
    records = _records(release, t, places, k, problems)
    leaves = [tree.nodes[place] for place in places.top_down if not places.children[place]]
    stated = {name for name in STATEMENTS if any(getattr(leaf, name) is not None for leaf in leaves)}
    new: dict[int, Node] = {}
    stack = [0]
    while stack:
        place = stack.pop()
        node, below = tree.nodes[place], places.children[place]
        new[place] = node
        if any(_UNKNOWN < records[child] < k for child in below):
            own = _counts(node, leaves[places.first[place] : places.last[place]], implied)
            if own is None:
                expected = f"{COUNTS}, or as much of all leaves below"
                problems.append(Problem(node_place(release, t, node), "counts", expected, "less"))
            else:
                new[place] = new_leaf(node.id, own, release.target.classes, stated)
        else:
            stack += reversed(below)
    return replace(tree, nodes=tuple(new[place] for place in sorted(new)))


def _counts(node: Node, leaves: Sequence[Node], implied: CountsReader) -> tuple[int, ...] | None:
    """Records of each class in a node, from its own statements or from those of the leaves below it."""
    own = implied(node)
    if own is not None:
        return own
    known = [counts for counts in map(implied, leaves) if counts is not None]
    return tuple(map(sum, zip(*known, strict=True))) if len(known) == len(leaves) else None


def new_leaf(node_id: str, counts: tuple[int, ...], classes: tuple[str, ...], stated: Container[str]) -> Node:
    """A leaf with these records of each class, and what it states of them."""
    n = sum(counts)
    return Node(
        node_id,
        label=majority(classes, counts) if "label" in stated else None,
        error_rate=(n - max(counts)) / n if "error_rate" in stated and n else None,
        n=n if "n" in stated else None,
        counts=dict(zip(classes, counts, strict=True)) if "counts" in stated else None,
    )
