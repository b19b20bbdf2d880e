"""The algorithm of ``erp``: error-risk pruning (Yang et al. 2019)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from math import inf
from typing import get_args

from maxent.models.arguments import unknown_choice
from maxent.models.defenses.parameters import Rule
from maxent.models.defenses.pruning import STATEMENTS, combined, k_problems, new_leaf
from maxent.models.errors import InvalidInput, Problem
from maxent.models.release import Defense, Node, Release, Tree
from maxent.models.tables.domains import Ranges
from maxent.models.tables.frame import listed
from maxent.models.trees.places import Places, number_places
from maxent.models.trees.reidentification import Risk, error_risk_ratio, measure_risk
from maxent.models.trees.restate import COUNTS, counts_reader, node_place

# Error-risk pruning (ERP), from release to release (Yang et al. 2019 [1]_, Figure 2).
#
# A leaf is small when it has records, but fewer than k; one without records discloses nobody. A branch (a node with
# everything below it) that holds a small leaf is pruned to a leaf, and so on until there is no small leaf; the branch
# to prune is the one of the largest error-risk ratio (`maxent.models.trees.reidentification`). Which branches compete
# is the rule:
#
# ``literal``
#     Every branch that holds a small leaf, as printed. While there is a small leaf anywhere, the branches above it
#     compete with it, and the tree often collapses to its root: it does in the paper's own example.
# ``twig``
#     Those of them that hold no smaller branch which holds a small leaf: the small leaf hangs at the node itself. Such
#     a node has to become a leaf sooner or later, whatever else is pruned; so the ratio decides in which order branches
#     are pruned, but not which.
#
# Of equal ratios the branch that comes last in depth-first order is pruned first: of nested ones, the innermost.
#
# References
# ----------
# .. [1] Yang, Wang, Hu and Li, "A Decision Tree Approach for Assessing and Mitigating Background and Identity
#    Disclosure Risks", ICIS 2019 Proceedings, 17.

ERP = "erp"


@dataclass(frozen=True, slots=True)
class PrunedAt:
    """A branch that is pruned: the id of its node, and its error-risk ratio by then (bits per record)."""

    node: str
    ratio: float


def prune_erp(release: Release, k: int, *, ranges: Ranges | None = None, rule: Rule = "twig") -> Release:
    """Prune every tree until its leaves have no record or at least k; ``rule`` says which branches compete, see above.

    Leaves state their counts; numeric attributes that are split need ``ranges``. A node that became a leaf keeps its id
    and states what leaves do, with the first of its most frequent classes.
    """
    cuts = [erp_cuts(release, k, ranges=ranges, rule=rule, tree=t) for t in range(len(release.trees))]
    trees = (collapse(release, {cut.node for cut in of_tree}, tree=t) for t, of_tree in enumerate(cuts))
    defense = combined(release, ERP, int(k))
    return replace(release, trees=tuple(trees), defense=Defense(ERP, {**defense.parameters, "rule": rule}))


def erp_cuts(
    release: Release, k: int, *, ranges: Ranges | None = None, rule: Rule = "twig", tree: int = 0
) -> tuple[PrunedAt, ...]:
    """The branches of a tree that ERP prunes, in order; with ``twig`` in time proportional to M log M for M nodes."""
    problems = _refusals(release, k, rule, tree)
    if problems:
        raise InvalidInput("erp", problems)
    risk, places = measure_risk(release, ranges, tree=tree), number_places(release.trees[tree])
    if risk.n[0] < k:
        where = node_place(release, tree, release.trees[tree].root)
        raise InvalidInput("erp", [Problem(where, "n", f"at least k = {k} records in the whole tree", str(risk.n[0]))])
    branches = _Branches(risk, places)
    pruned = _twigs(branches, k) if rule == "twig" else _literal(branches, k)
    return tuple(PrunedAt(risk.nodes[place], ratio) for place, ratio in pruned)


def collapse(release: Release, nodes: Collection[str], *, tree: int = 0) -> Tree:
    """One tree, whose leaves state their counts, with leaves in the place of these nodes."""
    model, implied = release.trees[tree], counts_reader(release)
    places = number_places(model)
    leaves = [model.nodes[place] for place in places.top_down if not places.children[place]]
    stated = {name for name in STATEMENTS if any(getattr(leaf, name) is not None for leaf in leaves)}
    kept: dict[int, Node] = {}
    stack = [0]
    while stack:
        place = stack.pop()
        node = kept[place] = model.nodes[place]
        if node.id in nodes and not node.is_leaf:
            below = map(implied, leaves[places.first[place] : places.last[place]])
            counts = tuple(map(sum, zip(*(of_leaf for of_leaf in below if of_leaf is not None), strict=True)))
            kept[place] = new_leaf(node.id, counts, release.target.classes, stated)
        else:
            stack += places.children[place]
    return replace(model, nodes=tuple(kept[place] for place in sorted(kept)))


def _refusals(release: Release, k: object, rule: object, t: int) -> list[Problem]:
    """Mistakes in the arguments, and in a tree whose branches cannot be measured."""
    problems = [*k_problems(k), *unknown_choice("rule", rule, get_args(Rule))]
    tree, implied = release.trees[t], counts_reader(release)
    unstated = [leaf for leaf in tree.leaves if implied(leaf) is None]
    broken = [node for node in tree.nodes if any(branch.child is None for branch in node.branches)]
    about = [Problem(node_place(release, t, leaf), "counts", COUNTS, "neither") for leaf in unstated]
    expected = "none removed, since nothing says what the node holds"
    about += [Problem(node_place(release, t, node), "child", expected, "a removed leaf") for node in broken]
    return problems + listed(about, len(about), "nodes")


class _Branches:
    """The branches of a tree while it is pruned: the measures of the one at each place."""

    def __init__(self, risk: Risk, places: Places) -> None:
        self.children = list(places.children)
        self.above = places.parent.tolist()
        self.order = [0] * len(self.children)
        for number, place in enumerate(places.top_down):
            self.order[place] = number
        self.total, self.errors = risk.total.tolist(), risk.errors.tolist()
        self.branch_total, self.branch_errors = risk.branch_total.tolist(), risk.branch_errors.tolist()
        self.n = [n or inf for n in risk.n.tolist()]
        self.smallest = list(self.n)  # records of the smallest leaf, of those with any
        for place in reversed(places.top_down):
            self.measure(place)

    def measure(self, place: int) -> None:
        """Work out the measures of a branch from those of its children."""
        if below := self.children[place]:
            self.branch_total[place] = min([self.branch_total[child] for child in below])
            self.branch_errors[place] = sum([self.branch_errors[child] for child in below])
            self.smallest[place] = min([self.smallest[child] for child in below])

    def key(self, place: int) -> tuple[float, int, int]:
        """Sorting key: the branch to be pruned first is least; its place comes last."""
        measures = self.total, self.branch_total, self.errors, self.branch_errors
        return (-error_risk_ratio(*(of[place] for of in measures)), -self.order[place], place)

    def prune(self, place: int) -> None:
        """Make a leaf of a node, and leaves without a parent of all nodes below."""
        self.branch_total[place], self.branch_errors[place] = self.total[place], self.errors[place]
        self.smallest[place] = self.n[place]
        gone = [place]
        while gone:
            at = gone.pop()
            gone += self.children[at]
            self.children[at] = ()


def _twigs(branches: _Branches, k: int) -> Iterator[tuple[int, float]]:
    """Prune by the rule ``twig``: places in the order in which they are pruned, and their ratios."""
    waiting = [len(below) for below in branches.children]
    settled = [place for place, below in enumerate(branches.children) if not below]  # nothing below will change
    heap: list[tuple[float, int, int]] = []
    while settled or heap:
        while settled:
            above = branches.above[settled.pop()]
            if above < 0:
                continue
            waiting[above] -= 1
            if waiting[above]:
                continue
            branches.measure(above)
            if branches.smallest[above] < k:
                heappush(heap, branches.key(above))
            else:
                settled.append(above)
        if heap:
            ratio, _, place = heappop(heap)
            branches.prune(place)
            settled.append(place)
            yield place, -ratio


def _literal(branches: _Branches, k: int) -> Iterator[tuple[int, float]]:
    """Prune by the rule ``literal``; keys that are no longer those of their branches stay in the heap until met."""
    keys = {
        place: branches.key(place)
        for place, below in enumerate(branches.children)
        if below and branches.smallest[place] < k
    }
    heap = list(keys.values())
    heapify(heap)
    while heap:
        key = heappop(heap)
        ratio, _, place = key
        if not branches.children[place] or branches.smallest[place] >= k or keys[place] != key:
            continue
        branches.prune(place)
        above = branches.above[place]
        while above >= 0:
            branches.measure(above)
            if branches.smallest[above] < k and keys[above] != (key := branches.key(above)):
                keys[above] = key
                heappush(heap, key)
            above = branches.above[above]
        yield place, -ratio
