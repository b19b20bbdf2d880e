"""Numbers on inner nodes give removed leaves away: all that they give away is found, and it is the truth."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.attacked import DISEASE, numeric_split, pair, people, place_of
from support.strategies import Style, cases, leaves_of, thorough

import maxent
from maxent.api.audit import audit_release
from maxent.models.release import Attribute, Branch, Defense, Node, Release, Target, Tree
from maxent.models.trees.places import number_places

PRUNED = Style(leaf="counts", inner="counts", removal=True)


@thorough(9)
@given(data=st.data())
def test_places_are_numbered_as_everywhere(data):
    case = data.draw(cases(kinds=("private", "anyhow"), style=st.just(PRUNED)))
    tree = case.release.trees[0]
    places = number_places(tree)
    removed = sum(branch.child is None for node in tree.nodes for branch in node.branches)
    assert len(places) == len(places.children) == len(tree.nodes) + removed
    for node, children in zip(tree.nodes, places.children, strict=False):
        assert [places.node(child) and places.node(child).id for child in children] == [b.child for b in node.branches]
    for at, children in enumerate(places.children):
        below = np.flatnonzero(places.parent == at)
        assert below[np.argsort(places.branch[below])].tolist() == list(children)
        assert places.n_branches[at] == len(children)
    assert sorted(np.concatenate(places.levels).tolist()) == sorted(places.top_down) == list(range(len(places)))
    leaves = [place for place in places.top_down if not places.children[place]]
    assert places.first[leaves].tolist() == (places.last[leaves] - 1).tolist() == list(range(len(leaves)))


@thorough(24)
@given(data=st.data(), forms=st.sampled_from(("greedy", "private", "anyhow")), with_qi=st.booleans())
def test_counts_on_inner_nodes_give_every_removed_leaf_away(data, forms, with_qi):
    case = data.draw(cases(kinds=(forms,), trees=(1, 2), style=st.just(PRUNED)))
    found = audit_release(case.release, case.people.qi if with_qi else None)
    places = leaves_of(case.release, case.people.frame)
    classes = case.people.classes
    for number, (tree, place) in enumerate(zip(found.trees, places.T, strict=True), 1):
        removed = range(tree.places.n_nodes, len(tree.places))
        truth = {
            at: dict(
                zip(classes, np.bincount(case.people.y[place == at], minlength=len(classes)).tolist(), strict=True)
            )
            for at in removed
        }
        rows = [row for row in found.summary["recovered"] if row["tree"] == number]
        one_by_one = {place_of(tree, row): row["counts"] for row in rows}
        assert {at: counts for at, counts in one_by_one.items() if counts is not None}.items() <= truth.items()
        together = [group for group in found.summary["groups"] if group["tree"] == number]
        members = [place_of(tree, leaf) for group in together for leaf in group["leaves"]]
        assert len(members) == len(set(members))
        for group in together:
            sums = {c: sum(truth[place_of(tree, leaf)][c] for leaf in group["leaves"]) for c in classes}
            assert group["counts"] == sums
            assert len(group["leaves"]) > 1
            assert {leaf["node"] for leaf in group["leaves"]} == {group["node"]}
        known = {at for at, counts in one_by_one.items() if counts is not None} | set(members)
        if with_qi:  # what shows in the table already: who is in a leaf, and with a single class everything
            known |= {at for at in removed if len(classes) == 1 or not any(truth[at].values())}
        assert known == set(removed)
    exposed = sum(
        sum(row["counts"].values())
        for row in found.summary["recovered"]
        if row["tree"] == 1 and row["counts"] and np.count_nonzero(list(row["counts"].values())) == 1
    )
    if len(found.trees) == 1 and not with_qi:
        assert found.summary["differencing"]["homogeneity"]["individuals"] == exposed


@thorough(20)
@given(data=st.data())
def test_sizes_of_inner_nodes_tell_how_many_records_a_removed_leaf_had(data):
    case = data.draw(cases(style=st.just(replace(PRUNED, leaf="rate and n", inner="n"))))
    found = audit_release(case.release)
    place, tree = leaves_of(case.release, case.people.frame)[:, 0], found.trees[0]
    rows = {place_of(tree, row): row["n"] for row in found.summary["recovered"] if row["leaf"] is None}
    alone = [
        at
        for at in range(tree.places.n_nodes, len(tree.places))
        if (tree.places.parent[tree.places.n_nodes :] == tree.places.parent[at]).sum() == 1
    ]
    assert rows.keys() >= set(alone)
    for at in alone:
        assert rows[at] == (place == at).sum()


@thorough(20)
@given(data=st.data())
def test_without_numbers_on_inner_nodes_nothing_is_recovered(data):
    case = data.draw(cases(style=st.just(replace(PRUNED, inner="nothing"))))
    qi = case.people.qi if data.draw(st.booleans()) and not case.release.private else None
    found = maxent.audit(case.release, qi)
    assert found["recovered"] == found["groups"] == []


def without(release: Release, *leaves: str) -> Release:
    """Method 1 done badly: the leaves are gone, what is said of the nodes above them is not."""
    (tree,) = release.trees
    nodes = tuple(
        replace(node, branches=tuple(replace(b, child=None if b.child in leaves else b.child) for b in node.branches))
        for node in tree.nodes
        if node.id not in leaves
    )
    return replace(release, trees=(replace(tree, nodes=nodes),))


def stating(release: Release, **numbers: dict) -> Release:
    """The release with numbers on some nodes."""
    (tree,) = release.trees
    nodes = tuple(replace(node, **numbers.get(node.id, {})) for node in tree.nodes)
    return replace(release, trees=(replace(tree, nodes=nodes),))


N3 = {"N3": {"counts": {"yes": 2, "no": 2}}}


def test_a_node_minus_a_leaf_is_its_sibling():
    found = maxent.audit(without(stating(DISEASE, **N3), "L3"))
    row = {"tree": 1, "node": "N3", "branch": 1, "test": "age <= 14.5", "leaf": None}
    assert found["recovered"] == [{**row, "n": 1, "counts": {"yes": 1, "no": 0}, "class": "yes"}]
    assert found["differencing"] == {
        "removed": 1,
        "recovered": 1,
        "uniqueness": {"leaves": 1},
        "homogeneity": {"leaves": 1, "individuals": 1},
        "background": {"leaves": 1, "individuals": 1},
        "groups": {"count": 0, "individuals": 0},
    }
    assert found["leaves"] == 3
    assert found["individuals"] == 9
    assert found["uniqueness"] == {"leaves": 0}


def test_a_node_further_up_will_do():
    root = {"N1": {"counts": {"yes": 4, "no": 5}}}
    assert maxent.audit(without(stating(DISEASE, **root), "L3"))["recovered"][0]["counts"] == {"yes": 1, "no": 0}
    assert maxent.audit(without(stating(DISEASE, **root), "L1", "L3"))["recovered"] == []


def test_removed_leaves_of_one_class_are_named_together():
    root = {"N1": {"counts": {"yes": 4, "no": 5}}}
    release = without(stating(DISEASE, **root), "L2", "L3", "L4")
    (group,) = maxent.audit(release)["groups"]
    assert (group["node"], group["n"], group["counts"], group["class"]) == ("N1", 6, {"yes": 2, "no": 4}, None)
    release = without(stating(DISEASE, N1={"counts": {"yes": 2, "no": 6}}), "L2", "L3", "L4")
    found = maxent.audit(release)
    (group,) = found["groups"]
    assert [(leaf["node"], leaf["branch"]) for leaf in group["leaves"]] == [("N2", 2), ("N3", 1), ("N3", 2)]
    assert (group["n"], group["class"]) == (5, "no")
    assert found["differencing"]["groups"] == {"count": 1, "individuals": 5}


def test_a_published_leaf_that_hides_its_numbers_is_recovered_too():
    hiding = stating(DISEASE, **N3, L3={"counts": None, "label": "yes"})
    (row,) = maxent.audit(hiding)["recovered"]
    assert (row["leaf"], row["n"], row["counts"]) == ("L3", 1, {"yes": 1, "no": 0})
    sized = stating(DISEASE, N3={"n": 4}, L3={"counts": None, "label": "yes"})
    found = maxent.audit(sized)
    assert found["unknown_size"]["leaves"] == 1
    assert found["recovered"][0]["counts"] == {"yes": 1, "no": 0}  # one record, and yes is its most frequent class
    assert found["differencing"]["uniqueness"] == {"leaves": 1}


def test_another_tree_of_the_same_people_tells_the_same():
    whole = DISEASE.trees[0]
    cut = without(DISEASE, "L3").trees[0]
    found = maxent.audit(replace(DISEASE, trees=(cut, whole)))
    assert found["recovered"][0]["counts"] == {"yes": 1, "no": 0}
    assert maxent.audit(replace(DISEASE, trees=(cut, whole), sampling_rate=0.9))["recovered"] == []


def test_inner_nodes_counted_after_the_removal_prove_nothing():
    after = without(stating(DISEASE, N3={"counts": {"yes": 1, "no": 2}}), "L3")
    found = maxent.audit(after)
    assert found["recovered"][0]["n"] == 0
    assert any("after leaves were removed" in note for note in found["notes"])
    release = pair(Node("L", counts={"a": 2, "b": 1}), Node("M", counts={"a": 1, "b": 0}))
    after = without(stating(release, root={"counts": {"a": 2, "b": 1}}), "M")
    found = audit_release(after, people(x=3, y=1))
    assert found.summary["recovered"] == []
    assert any("do not add up" in note for note in found.summary["notes"])
    assert found.individuals["attack"].tolist() == ["background", ""]


def test_the_size_of_the_leaves_that_a_method_removes_helps():
    release = without(stating(DISEASE, N3={"n": 2}), "L3", "L4")
    assert maxent.audit(release)["recovered"] == []
    pruned = replace(release, defense=Defense("prune-leaf", {"k": 2}))
    assert [row["n"] for row in maxent.audit(pruned)["recovered"]] == [1, 1]


def test_what_inner_nodes_tell_shows_in_the_tables():
    release = pair(Node("L", counts={"a": 2, "b": 1}), Node("M", counts={"a": 0, "b": 4}))
    bad = without(stating(release, root={"counts": {"a": 2, "b": 5}}), "M")
    found = audit_release(bad, people(x=3, y=4))
    assert found.individuals[["leaf", "attack"]].to_numpy().tolist() == [
        ["L", "background"],
        ["removed from root, branch 2", "differencing"],
    ]
    assert found.individuals["disclosed"].tolist() == ["a", "b"]
    assert found.leaves["recovered"].tolist() == [False, True]
    assert found.leaves["n"].tolist() == [3, 4]
    assert found.table["n"].tolist() == [3, None]  # the table is what is published


def test_deep_trees_take_no_recursion():
    depth = 2000
    nodes = [
        numeric_split(f"N{i}", "x", float(i), None if i % 2 else f"L{i}", f"N{i + 1}", n=depth - i + 1)
        for i in range(depth)
    ]
    leaves = [Node(f"L{i}", n=1, label="a") for i in range(0, depth, 2)]
    tree = Tree((*nodes, Node(f"N{depth}", n=1, label="a"), *leaves))
    found = audit_release(Release(Target("Y", ("a", "b")), (Attribute("x", "numeric"),), (tree,)))
    assert found.summary["differencing"]["recovered"] == depth // 2
    assert {row["n"] for row in found.summary["recovered"]} == {1}
    assert len(found.table) == depth + 1


def test_what_suppression_hides_is_recovered_where_it_follows():
    leaves = (Node("L1", counts={"yes": 4, "no": 0}), Node("L2", counts={"yes": 0, "no": 3}))
    root = Node("N1", "a", (Branch("L1", le=0.0), Branch("L2", gt=0.0)), counts={"yes": 4, "no": 5})
    release = replace(DISEASE, attributes=(Attribute("a", "numeric"),), trees=(Tree((root, *leaves)),))
    (first, second) = maxent.audit(replace(release, suppressed_below=3))["recovered"]
    assert (first["leaf"], first["n"], first["counts"]) == ("L1", 6, {"yes": 4, "no": 2})
    assert (second["leaf"], second["n"], second["counts"], second["class"]) == ("L2", 3, {"yes": 0, "no": 3}, "no")
