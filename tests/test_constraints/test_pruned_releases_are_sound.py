"""What is true of the people satisfies every constraint that is compiled from a pruned release, whatever grew it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.soundness import check
from support.strategies import Case, People, Style, cases, populations, thorough

from maxent.constraints.compiler import compile_program
from maxent.constraints.kinds.registry import kinds_of
from maxent.constraints.program.program import Linear, Program
from maxent.models.defenses.error_risk import prune_erp
from maxent.models.defenses.optimal.limits import SubtreeLimits as Limits
from maxent.models.defenses.optimal.subtree import optimal_subtree
from maxent.models.defenses.pruning import prune_leaf, prune_parent
from maxent.models.induction.inducers import Growth, induce
from maxent.models.release import Attribute, Branch, Defense, Node, Release, Target, Tree
from maxent.models.tables.hierarchies import Hierarchy
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.training import Training, read_training
from maxent.models.trees.restate import restate
from maxent.results.explanation import explain
from maxent.results.formulas import latex_document

WIDE = (-3.0, 10.0)


def erp(release: Release, k: int) -> Release:
    """Error-risk pruning, whose ratios need to know what numbers lie between."""
    return prune_erp(release, k, ranges={a.name: WIDE for a in release.attributes if a.values is None})


def best(release: Release, k: int) -> Release:
    """The best subtree, which goes on saying how splits were chosen."""
    return optimal_subtree(release, Limits(k=k), criterion="stated").release


OF_FORESTS = (prune_leaf, prune_parent, erp)
METHODS = st.sampled_from((*OF_FORESTS, best))
PUBLISH = st.sampled_from(("labels", "rates", "counts"))
KS = st.integers(1, 8)
KNOWLEDGE = st.sampled_from((None, None, ("rate",), ("label", "internal"), ("label", "rate", "internal")))


def training_of(people: People, order: Any = "sorted") -> Training:
    """The people as inducers take them, with their domains when those are to be in the order of the people's."""
    return read_training(
        people.frame,
        target="Y",
        qi=[a.name for a in people.attributes if a.role == "public"],
        private=[a.name for a in people.attributes if a.role == "private"],
        domains={"Y": people.classes, **{a.name: a.values for a in people.attributes if a.values is not None}},
        order=order,
    )


@st.composite
def growths(draw: Any) -> Growth:
    """Every inducer with every encoding."""
    inducer = draw(st.sampled_from(("cart", "id3", "c45")))
    measures = {"cart": ("gini", "entropy"), "id3": ("gini", "entropy", "gain_ratio"), "c45": ("gain_ratio",)}
    return Growth(
        inducer,
        draw(st.sampled_from(measures[inducer])),
        draw(st.sampled_from((None, 1, 2, 4))),
        draw(st.sampled_from((None, 1, 2, 4))),
        draw(st.integers(2, 6)),
        draw(st.sampled_from(("ordinal", "appearance", "onehot"))),
        seed=0,
        confidence=draw(st.sampled_from((None, 0.25))),
    )


@thorough(110)  # beside those of merged branches
@given(
    people=populations(rows=(8, 50), private=(0, 2), classes=(2, 3)),
    growth=growths(),
    method=METHODS,
    k=KS,
    publish=PUBLISH,
    inner=st.booleans(),
    knowledge=KNOWLEDGE,
)
def test_trees_of_every_inducer(
    people: People, growth: Growth, method: Any, k: int, publish: Any, inner: bool, knowledge: Any
) -> None:
    if growth.inducer == "id3":
        assume(all(a.values is not None for a in people.attributes))
    assume(k <= len(people))
    training = training_of(people, growth.order)
    release = restate(method(induce(training, growth, inner_counts=inner), k), publish)
    in_order = {a.name: a for a in release.attributes}
    check(
        Case(replace(people, attributes=tuple(in_order[a.name] for a in people.attributes)), release),
        knowledge=knowledge,
    )


@st.composite
def hierarchies(draw: Any, people: People) -> dict[str, Hierarchy]:
    """Two levels of groups for each categorical attribute."""
    found = {}
    for attribute in people.attributes:
        if attribute.values is not None:
            low = draw(st.lists(st.integers(0, 2), min_size=len(attribute.values), max_size=len(attribute.values)))
            high = draw(st.lists(st.integers(0, 1), min_size=3, max_size=3))
            levels = (attribute.values, tuple(f"g{i}" for i in low), tuple(f"h{high[i]}" for i in low))
            found[attribute.name] = Hierarchy(levels)
    return found


@thorough(60)
@given(
    data=st.data(),
    people=populations(rows=(8, 40), private=(0, 1), classes=(2, 3)),
    inducer=st.sampled_from(("id3", "c45")),
    remove=st.booleans(),
    k=KS,
    publish=PUBLISH,
    inner=st.booleans(),
    knowledge=KNOWLEDGE,
)
def test_merged_branches(
    data: Any, people: People, inducer: Any, remove: bool, k: int, publish: Any, inner: bool, knowledge: Any
) -> None:
    if inducer == "id3":
        assume(all(a.values is not None for a in people.attributes))
    assume(k <= len(people))
    training = training_of(people)
    grown = induce(training, Growth(inducer, max_depth=3), inner_counts=inner)
    asked: Any = {"remove": remove, "publish": publish, "hierarchies": data.draw(hierarchies(people))}
    release = restate(optimal_subtree(grown, Limits(k=k), training, **asked).release, publish)
    in_order = {a.name: a for a in people.attributes}
    check(
        Case(replace(people, attributes=tuple(in_order[a.name] for a in release.attributes)), release),
        knowledge=knowledge,
    )


@thorough(150)
@given(
    case=cases(
        populations(rows=(8, 40), private=(0, 2), classes=(2, 3)),
        kinds=("greedy", "private", "private", "anyhow"),
        style=st.sampled_from([Style("counts", inner=inner) for inner in ("nothing", "counts", "mixture")]),
    ),
    method=METHODS,
    k=KS,
    publish=PUBLISH,
    knowledge=KNOWLEDGE,
)
def test_trees_of_the_tests_own(case: Case, method: Any, k: int, publish: Any, knowledge: Any) -> None:
    assume(k <= len(case.people))
    check(replace(case, release=restate(method(restate(case.release, "counts"), k), publish)), knowledge=knowledge)


@thorough(60)
@given(
    case=cases(populations(rows=(8, 40), classes=(2, 2)), kinds=("private", "greedy"), style=st.just(Style("all"))),
    methods=st.lists(st.tuples(METHODS, KS), min_size=1, max_size=3),
)
def test_pruning_of_rates_and_again_of_pruned_trees(case: Case, methods: Any) -> None:
    assume(max(k for _, k in methods) <= len(case.people))
    release = restate(case.release, "rates")
    for method, k in methods:
        if method is not prune_leaf and any(
            branch.child is None for n in release.trees[0].nodes for branch in n.branches
        ):
            continue  # refused where leaves are gone
        release = method(release, k)
    check(replace(case, release=release))


@thorough(40)
@given(
    case=cases(populations(rows=(8, 40)), trees=(2, 3), style=st.just(Style("counts", inner="mixture"))),
    method=st.sampled_from(OF_FORESTS),
    k=KS,
)
def test_forests(case: Case, method: Any, k: int) -> None:
    assume(k <= len(case.people))
    check(replace(case, release=method(case.release, k)))


@thorough(30)
@given(
    case=cases(populations(rows=(8, 40)), style=st.builds(Style, st.just("counts"), sampling_rate=st.just(0.5))),
    method=METHODS,
)
def test_the_k_of_a_sample_says_nothing_of_the_people(case: Case, method: Any) -> None:
    assume(sum(sum((leaf.counts or {}).values()) for leaf in case.release.trees[0].leaves) >= 3)
    program = check(replace(case, release=method(case.release, 3)))
    assert kinds_of(program)["n"] == 0


# --- What a k says beyond the other statements ---------------------------------------------------------------------


def private_tree(k: int, method: str, *, removed: bool) -> tuple[Release, pd.DataFrame]:
    """A private split: the table of ten people does not show who is where."""
    leaves = (Node("L1", label="no"), *(() if removed else (Node("L2", label="yes"),)))
    root = Node("N", "P", (Branch("L1", ("x",)), Branch(None if removed else "L2", ("y",))))
    attributes = (Attribute("A", "categorical", ("u", "v")), Attribute("P", "categorical", ("x", "y"), "private"))
    release = Release(Target("Y", ("no", "yes")), attributes, (Tree((root, *leaves)),))
    return replace(release, defense=Defense(method, {"k": k})), pd.DataFrame({"A": ["u"] * 6 + ["v"] * 4})


def sizes(program: Program) -> dict[str, tuple[float, float]]:
    found = [c for c in program.linear if isinstance(c, Linear) and c.kind == "n"]
    return {str(c.origin): (float(c.lower[0]), float(c.upper[0])) for c in found}


def test_a_removed_leaf_and_its_siblings_are_bounded_by_k() -> None:
    release, people = private_tree(3, "prune-leaf", removed=True)
    program = compile_program(release, read_qi(people, release))
    assert sizes(program) == {"leaf L1": (3.0, np.inf), "removed leaf of N, branch 2": (0.0, 2.0)}
    assert kinds_of(program)["n"] == 2
    rows = [row for row in explain(program)["list"] if row["kind"] == "n"]
    assert [(row["node"], row["lower"], row["upper"]) for row in rows] == [
        ("L1", [3.0], [None]),
        ("N, branch 2", [0.0], [2.0]),
    ]
    assert [row["says"] for row in rows] == [
        "at least k = 3 records, as the leaf was not pruned",
        "fewer than k = 3 records, as the leaf was removed",
    ]
    assert r"m_{\text{N,{} branch 2},\text{no}}" in latex_document(program)


def test_all_leaves_of_method_2_are_bounded_by_k_from_below() -> None:
    release, people = private_tree(4, "prune-parent", removed=False)
    program = compile_program(release, read_qi(people, release))
    assert sizes(program) == {"leaf L1": (4.0, np.inf), "leaf L2": (4.0, np.inf)}
    alone = replace(release, trees=(Tree((Node("L1", label="no"),)),))
    assert sizes(compile_program(alone, read_qi(people, alone))) == {}


@pytest.mark.parametrize(
    "change",
    [
        {"defense": None},
        {"defense": Defense("prune-leaf", {"k": 2.5})},
        {"defense": Defense("prune-leaf", {"k": "3"})},
        {"defense": Defense("kadet", {"k": 3})},
        {"sampling_rate": 0.5},
    ],
)
def test_nothing_follows_without_a_whole_k_of_all_people(change: Any) -> None:
    release, people = private_tree(3, "prune-leaf", removed=True)
    release = replace(release, **change)
    assert sizes(compile_program(release, read_qi(people, release))) == {}


def test_a_table_of_other_people_contradicts_k() -> None:
    release, people = private_tree(3, "prune-leaf", removed=True)
    public = replace(release, attributes=tuple(replace(a, role="public") for a in release.attributes))
    people = people.assign(P=["x"] * 2 + ["y"] * 8)
    program = compile_program(public, read_qi(people, public))
    assert sizes(program) == {}
    assert [str(c) for c in program.contradictions] == [
        "leaf L1: at least k = 3 records, as the leaf was not pruned, but 2 individuals of the table reach it"
        " (off by 1 individuals)",
        "removed leaf of N, branch 2: fewer than k = 3 records, as the leaf was removed, but 8 individuals of the table"
        " reach it (off by 6 individuals)",
    ]
