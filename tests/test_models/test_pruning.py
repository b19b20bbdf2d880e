"""Both methods of leaf pruning, against their definitions and the tree of Wakabayashi et al. 2024, Figure 3."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.strategies import Case, Style, cases, populations, thorough

from maxent.models.defenses.pruning import prune_leaf, prune_parent
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.formats.registry import load_release
from maxent.models.release import Attribute, Branch, Defense, Node, Release, Target, Tree
from maxent.models.trees.restate import restate

CLASSES = ("yes", "no")
KS = st.integers(1, 8)


def leaf(name: str, *counts: int, **more: Any) -> Node:
    return Node(name, counts=dict(zip(CLASSES, counts, strict=True)), **more)


def figure_3(*, inner: bool = False) -> Release:
    """Height, then weight below 1.70 m and age above, with the records of Table 4."""
    tree = Tree(
        (
            Node("N1", "height", (Branch("N2", le=169.0), Branch("N3", gt=169.0))),
            Node("N2", "weight", (Branch("L1", le=59.0), Branch("L2", gt=59.0))),
            leaf("L1", 2, 1),
            leaf("L2", 0, 2),
            Node("N3", "age", (Branch("L3", le=14.0), Branch("L4", gt=14.0))),
            leaf("L3", 1, 0),
            leaf("L4", 1, 2),
        )
    )
    if inner:
        counts = {"N1": (4, 5), "N2": (2, 3), "N3": (2, 2)}
        stated = {i: {"n": sum(c), "counts": dict(zip(CLASSES, c, strict=True))} for i, c in counts.items()}
        tree = replace(tree, nodes=tuple(replace(node, **stated.get(node.id, {})) for node in tree.nodes))
    attributes = tuple(Attribute(name, "numeric") for name in ("height", "weight", "age"))
    return Release(Target("label", CLASSES), attributes, (tree,))


def leaves(release: Release) -> dict[str, tuple[int, ...]]:
    return {leaf.id: tuple((leaf.counts or {}).values()) for tree in release.trees for leaf in tree.leaves}


def unique(release: Release) -> int:
    """Leaves that single one person out."""
    return sum(sum(counts) == 1 for counts in leaves(release).values())


def children(release: Release) -> dict[str, list[str | None]]:
    return {node.id: [b.child for b in node.branches] for node in release.trees[0].nodes if not node.is_leaf}


@pytest.mark.parametrize(
    ("k", "stay"), [(1, ["L1", "L2", "L3", "L4"]), (2, ["L1", "L2", "L4"]), (3, ["L1", "L4"]), (4, [])]
)
def test_method_1_removes_the_small_leaves_of_figure_3(k: int, stay: list[str]) -> None:
    release = figure_3()
    pruned = prune_leaf(release, k)
    assert unique(release) == 1
    assert unique(pruned) == (k == 1)
    assert leaves(pruned) == {name: leaves(release)[name] for name in stay}
    assert children(pruned) == {
        name: [child if child in ("N2", "N3", *stay) else None for child in below]
        for name, below in children(release).items()
    }
    assert pruned.defense == Defense("prune-leaf", {"k": k})
    validate_release(pruned)


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (1, {"L1": (2, 1), "L2": (0, 2), "L3": (1, 0), "L4": (1, 2)}),
        (2, {"L1": (2, 1), "L2": (0, 2), "N3": (2, 2)}),
        (3, {"N2": (2, 3), "N3": (2, 2)}),
        (4, {"N2": (2, 3), "N3": (2, 2)}),
        (5, {"N1": (4, 5)}),
        (9, {"N1": (4, 5)}),
    ],
)
def test_method_2_collapses_the_parents_of_small_leaves_of_figure_3(k: int, expected: dict[str, Any]) -> None:
    pruned = prune_parent(figure_3(), k)
    assert leaves(pruned) == expected
    assert unique(pruned) == (k == 1)
    assert pruned.defense == Defense("prune-parent", {"k": k})
    validate_release(pruned)


def test_a_subtree_goes_when_its_sibling_is_small() -> None:
    """One small child is enough, whatever the other one is."""
    tree = figure_3().trees[0]
    nodes = (*tree.nodes[:1], leaf("N2", 1, 0), *tree.nodes[4:])
    release = replace(figure_3(), trees=(Tree(nodes),))
    assert leaves(prune_parent(release, 2)) == {"N1": (3, 2)}


def test_a_homogeneous_leaf_survives_both() -> None:
    """Pruning is no defense against homogeneity (section 5)."""
    tenfold = tuple(
        replace(node, counts={c: 10 * n for c, n in (node.counts or {}).items()}) if node.is_leaf else node
        for node in figure_3().trees[0].nodes
    )
    release = replace(figure_3(), trees=(Tree(tenfold),))
    assert leaves(prune_leaf(release, 15)) == {"L1": (20, 10), "L2": (0, 20), "L4": (10, 20)}
    assert leaves(prune_parent(release, 15)) == {"L1": (20, 10), "L2": (0, 20), "N3": (20, 20)}


def test_empty_leaves_are_small_for_every_k() -> None:
    tree = figure_3().trees[0]
    release = replace(figure_3(), trees=(Tree(tuple(leaf("L3", 0, 0) if n.id == "L3" else n for n in tree.nodes)),))
    assert list(leaves(prune_leaf(release, 1))) == ["L1", "L2", "L4"]
    assert leaves(prune_parent(release, 1)) == {"L1": (2, 1), "L2": (0, 2), "N3": (1, 2)}


def counted(kinds: tuple[str, ...] = ("greedy", "private", "anyhow"), **style: Any) -> st.SearchStrategy[Case]:
    """Trees whose leaves state at least counts."""
    people = populations(rows=(8, 40), classes=(2, 3))
    return cases(people, kinds=kinds, style=st.just(Style(**{"leaf": "counts", **style})))


def fixpoint(draw: Any, tree: Tree, k: int) -> dict[str, tuple[int, ...]]:
    """Method 2 as it is written down: any node with a small child becomes a leaf, until there is none."""
    nodes = {node.id: node for node in tree.nodes}
    below = {node.id: [b.child or "" for b in node.branches] for node in tree.nodes}
    counts = {leaf.id: np.array(list((leaf.counts or {}).values())) for leaf in tree.leaves}

    def held(name: str) -> Any:
        return sum(map(held, below[name])) if below[name] else counts[name]

    while True:
        reached, stack = [], [tree.root.id]
        while stack:
            reached.append(stack.pop())
            stack += below[reached[-1]]
        ready = [name for name in reached if any(held(child).sum() < k for child in below[name])]
        if not ready:
            return {name: tuple(counts[name].tolist()) for name in reached if not below[name]}
        name = draw(st.sampled_from(sorted(ready)))
        assert not nodes[name].is_leaf
        counts[name], below[name] = held(name), []


@thorough(120)
@given(case=counted(), k=KS, data=st.data())
def test_method_2_is_the_fixpoint_in_whatever_order(case: Case, k: int, data: st.DataObject) -> None:
    assume(k <= len(case.people))
    pruned = prune_parent(case.release, k)
    validate_release(pruned)
    assert leaves(pruned) == fixpoint(data.draw, case.release.trees[0], k)
    assert min(map(sum, leaves(pruned).values())) >= k
    assert pruned.trees[0].induction == case.release.trees[0].induction


@thorough(80)
@given(case=counted(inner="mixture"), k=KS)
def test_no_leaf_of_either_method_singles_anybody_out(case: Case, k: int) -> None:
    assume(2 <= k <= len(case.people))
    assert unique(prune_leaf(case.release, k)) == unique(prune_parent(case.release, k)) == 0


# --- What a release of method 1 tells about the leaves it has lost -----------------------------------------------


def statements(release: Release, original: Release) -> tuple[Any, list[int]]:
    """Every number a tree states, as sums over (leaf of the original, class); and the columns of removed leaves."""
    nodes = {node.id: node for node in original.trees[0].nodes}
    names = [leaf.id for leaf in original.trees[0].leaves]
    width, rows = len(CLASSES) * len(names), []

    def sums(name: str, classes: list[int]) -> Any:
        row, stack = np.zeros((len(names), len(CLASSES))), [name]
        while stack:
            at = stack.pop()
            stack += [b.child for b in nodes[at].branches if b.child is not None]
            if nodes[at].is_leaf:
                row[names.index(at), classes] = 1
        return row.ravel()

    for node in release.trees[0].nodes:
        if node.n is not None:
            rows.append(sums(node.id, [0, 1]))
        if node.counts is not None:
            rows += [sums(node.id, [0]), sums(node.id, [1])]
    kept = {node.id for node in release.trees[0].nodes}
    gone = [len(CLASSES) * i + x for i, name in enumerate(names) if name not in kept for x in range(len(CLASSES))]
    return np.array(rows or [np.zeros(width)]), gone


def revealed(release: Release, original: Release) -> int:
    """How many independent sums over removed leaves alone follow from the statements."""
    rows, gone = statements(release, original)
    others = np.delete(rows, gone, axis=1)
    # A combination of statements that cancels outside of the removed leaves says something about them, unless it
    # cancels there as well.
    return int(np.linalg.matrix_rank(rows)) - (int(np.linalg.matrix_rank(others)) if others.size else 0)


@thorough(100)
@given(case=cases(populations(rows=(8, 40), classes=(2, 2)), style=st.just(Style("counts", inner="mixture"))), k=KS)
def test_nothing_that_is_left_tells_of_a_removed_leaf(case: Case, k: int) -> None:
    assume(k <= len(case.people))
    pruned = prune_leaf(case.release, k)
    validate_release(pruned)
    assert revealed(pruned, case.release) == 0
    now = {node.id: node for node in pruned.trees[0].nodes}
    for node in case.release.trees[0].nodes:
        if node.is_leaf or (node.n is None and node.counts is None) or now[node.id].n == node.n is not None:
            continue
        if now[node.id].counts == node.counts is not None:
            continue
        # Each of the statements that were dropped would have told something.
        put_back = tuple(
            replace(other, n=node.n, counts=node.counts) if other.id == node.id else other
            for other in pruned.trees[0].nodes
        )
        assert revealed(replace(pruned, trees=(replace(pruned.trees[0], nodes=put_back),)), case.release) > 0


def test_inner_counts_are_dropped_above_removed_leaves_only() -> None:
    pruned = prune_leaf(figure_3(inner=True), 2)
    stated = {node.id: node.counts for node in pruned.trees[0].nodes if not node.is_leaf}
    assert stated == {"N1": None, "N2": {"yes": 2, "no": 3}, "N3": None}
    assert revealed(figure_3(inner=True), figure_3()) == 0
    kept = tuple(n for n in figure_3(inner=True).trees[0].nodes if n.id != "L3")
    assert revealed(replace(pruned, trees=(Tree(kept),)), figure_3()) == 2  # both counts of L3


# --- Repeated, restated, refused ---------------------------------------------------------------------------------


@thorough(60)
@given(case=counted(inner="counts"), first=KS, second=KS)
def test_pruning_again_is_pruning_by_the_larger_k(case: Case, first: int, second: int) -> None:
    assume(max(first, second) <= len(case.people))
    for method in (prune_leaf, prune_parent):
        assert method(method(case.release, first), second) == method(case.release, max(first, second))


def test_an_earlier_defense_stays_known() -> None:
    release = replace(figure_3(), defense=Defense("kadet", {"k": 3, "l": 1.5}))
    assert prune_leaf(release, 2).defense == Defense("prune-leaf", {"k": 2, "kadet.k": 3, "kadet.l": 1.5})
    twice = prune_leaf(prune_parent(release, 3), 2).defense
    assert twice == Defense("prune-leaf", {"k": 2, "prune-parent.k": 3, "kadet.k": 3, "kadet.l": 1.5})


@thorough(80)
@given(case=counted(), k=KS, publish=st.sampled_from(("labels", "rates", "counts")))
def test_what_leaves_state_may_be_reduced_before_or_after(case: Case, k: int, publish: Any) -> None:
    assume(k <= len(case.people))
    labelled = restate(case.release, "counts")
    after = restate(prune_parent(labelled, k), publish)
    validate_release(after)
    assert after.defense == Defense("prune-parent", {"k": k})
    if publish == "counts" or (publish == "rates" and len(case.release.target.classes) == 2):
        assert prune_parent(restate(labelled, publish), k) == after
    if publish != "labels":
        assert prune_leaf(restate(labelled, publish), k) == restate(prune_leaf(labelled, k), publish)


def test_what_a_release_restates() -> None:
    release = figure_3(inner=True)
    rates = restate(release, "rates").trees[0]
    assert rates.leaves == (
        Node("L1", label="yes", error_rate=1 / 3, n=3),
        Node("L2", label="no", error_rate=0.0, n=2),
        Node("L3", label="yes", error_rate=0.0, n=1),
        Node("L4", label="no", error_rate=1 / 3, n=3),
    )
    assert rates.root.counts is rates.root.n is None
    labels = restate(release, "labels").trees[0]
    assert [leaf.label for leaf in labels.leaves] == ["yes", "no", "yes", "no"]
    counts = restate(release, "counts")
    assert counts.trees[0].root == release.trees[0].root
    assert restate(restate(release, "rates"), "counts").trees[0].leaves == counts.trees[0].leaves
    empty = Release(release.target, (), (Tree((leaf("L", 0, 0),)),))
    assert restate(empty, "labels").trees[0].root == Node("L")
    assert restate(empty, "rates").trees[0].root == Node("L", n=0)


def problems(function: Any, *arguments: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as caught:
        function(*arguments)
    return [(problem.where, problem.field) for problem in caught.value.problems]


def test_what_states_too_little_is_refused_with_the_nodes() -> None:
    labels = restate(figure_3(), "labels")
    of_leaves = [(f"node L{i}", "n") for i in (1, 2, 3, 4)]
    assert problems(prune_leaf, labels, 2) == of_leaves
    assert problems(prune_parent, labels, 2) == of_leaves
    assert problems(restate, labels, "counts") == [(f"node L{i}", "counts") for i in (1, 2, 3, 4)]
    assert problems(restate, labels, "rates") == [(f"node L{i}", f) for i in (1, 2, 3, 4) for f in ("error_rate", "n")]
    rates = restate(figure_3(), "rates")
    three = replace(rates, target=Target("label", (*CLASSES, "perhaps")))
    assert problems(prune_parent, three, 2) == [("node N3", "counts")]  # L4 has errors of one class or the other
    assert leaves(restate(prune_parent(three, 1), "rates")) == leaves(restate(three, "rates"))  # nothing collapses
    no_whole = tuple(replace(node, error_rate=0.2) if node.id == "L1" else node for node in rates.trees[0].nodes)
    assert problems(prune_parent, replace(rates, trees=(Tree(no_whole),)), 3) == [("node N2", "counts")]


@pytest.mark.parametrize("k", [0, -1, 2.0, "2", True, None])
@pytest.mark.parametrize("method", [prune_leaf, prune_parent])
def test_k_is_a_whole_number_of_records(method: Any, k: Any) -> None:
    assert problems(method, figure_3(), k) == [("argument", "k")]


@pytest.mark.parametrize("method", [prune_leaf, prune_parent])
def test_other_refusals(method: Any) -> None:
    assert problems(method, figure_3(), 10) == [("node N1", "n")]
    forest = replace(figure_3(), trees=(figure_3().trees[0], Tree((leaf("L", 1, 1),))))
    assert problems(method, forest, 3) == [("tree 2, node L", "n")]
    assert problems(method, replace(figure_3(), suppressed_below=5), 2) == [("release", "suppressed_below")]
    removed = replace(prune_leaf(figure_3(), 2), defense=None)
    assert problems(method, removed, 2) == [("node N3", "child")]
    with pytest.raises(InvalidInput, match="N2"):
        prune_parent(prune_leaf(figure_3(), 3), 3)


def test_numpy_integers_will_do(tmp_path: Any) -> None:
    pruned = prune_leaf(figure_3(), np.int64(2))  # type: ignore[arg-type]
    pruned.save(tmp_path / "tree.json")
    assert load_release(tmp_path / "tree.json") == pruned


def test_every_tree_of_a_forest_is_pruned() -> None:
    forest = replace(figure_3(), trees=figure_3().trees * 2, sampling_rate=0.5)
    for method in (prune_leaf, prune_parent):
        alone = method(figure_3(), 3).trees[0]
        assert method(forest, 3).trees == (alone, alone)


def test_trees_may_be_very_deep() -> None:
    depth, nodes = 20_000, []
    for i in range(depth):
        nodes += [Node(f"N{i}", "height", (Branch(f"L{i}", le=float(i)), Branch(f"N{i + 1}", gt=float(i))))]
        nodes += [leaf(f"L{i}", 3 - (i == depth // 2), 0)]
    release = replace(figure_3(), trees=(Tree((*nodes, leaf(f"N{depth}", 0, 9))),))
    assert len(leaves(prune_leaf(release, 3))) == depth
    pruned = leaves(prune_parent(release, 3))
    assert len(pruned) == depth // 2 + 1
    assert pruned[f"N{depth // 2}"] == (3 * (depth // 2) - 1, 9)
