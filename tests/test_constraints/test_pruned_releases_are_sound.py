"""What is true of the people satisfies every constraint that is compiled from a pruned release, whatever grew it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.anonymity import hierarchies as kadet_hierarchies
from support.anonymity import training_of as kadet_training_of
from support.soundness import check
from support.strategies import Case, People, Style, cases, populations, thorough, true_masses

from maxent.constraints.compiler import compile_program
from maxent.constraints.kinds.registry import kinds_of
from maxent.constraints.program.program import Linear, Program
from maxent.constraints.program.residuals import Evaluator
from maxent.models.defenses.error_risk import prune_erp
from maxent.models.defenses.kadet import kadet
from maxent.models.defenses.optimal.limits import SubtreeLimits as Limits
from maxent.models.defenses.optimal.subtree import optimal_subtree
from maxent.models.defenses.parameters import Kadet
from maxent.models.defenses.pruning import prune_leaf, prune_parent
from maxent.models.errors import InvalidInput
from maxent.models.induction.growth import Growth
from maxent.models.induction.inducers import induce
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


@thorough(80)
@given(
    case=cases(
        populations(rows=(8, 40), private=(0, 2), classes=(2, 3)),
        style=st.sampled_from([Style("counts", inner=inner) for inner in ("nothing", "counts")]),
        trees=(1, 2),
    ),
    rule=st.sampled_from(("twig", "literal")),
    k=st.integers(1, 12),
    publish=st.sampled_from(("labels", "rates", "counts")),
)
def test_pruned_releases_are_sound(case: Case, rule: Any, k: int, publish: Any) -> None:
    assume(k <= len(case.people))
    ranges = {a.name: WIDE for a in case.release.attributes if a.values is None}
    check(replace(case, release=restate(prune_erp(case.release, k, ranges=ranges, rule=rule), publish)))


OPTIONS: dict[str, Any] = {
    "k": st.sampled_from((1, 2, 2, 3, 3, 5)),
    "impurity": st.sampled_from(("entropy", "gini", "gain_ratio")),
    "selection": st.sampled_from(("gain_ratio", "quinlan")),
    "order": st.sampled_from(("gain", "weighted")),
    "min_samples_split": st.sampled_from((2, 2, 5)),
    "max_depth": st.sampled_from((None, None, 2)),
    "confidence": st.sampled_from((None, None, 0.25, 0.5)),
}
FURTHER: dict[str, Any] = {
    "l": st.sampled_from((1.2, 1.5)),
    "alpha": st.sampled_from((0.75, 0.9)),
    "diversity": st.sampled_from(("entropy", "distinct")),
    "class_public": st.booleans(),
}


@st.composite
def releases(draw: Any, **fixed: Any) -> Case:
    """People, of whom many have private attributes that are worth a split, and what kADET publishes about them."""
    rows = draw(st.sampled_from(((4, 40), (20, 60))))
    people = draw(populations(rows=rows, public=(1, 3), private=(0, 2), classes=(2, 3)))
    private = [a.name for a in people.attributes if a.role == "private" and a.values is not None]
    if private and draw(st.booleans()):
        told = np.isin(np.arange(len(people)), draw(st.sets(st.integers(0, len(people) - 1), max_size=8)))
        people = replace(people, y=np.where(told, people.y, people.columns[private[0]] % len(people.classes)))
    strategies = {name: strategy for name, strategy in OPTIONS.items() if name not in fixed}
    further = draw(st.fixed_dictionaries({}, optional=FURTHER)) if not fixed and draw(st.integers(0, 3)) == 0 else {}
    chosen = draw(st.fixed_dictionaries(strategies))
    if chosen.get("selection") == "quinlan":
        chosen["impurity"] = "gain_ratio"
    asked = Kadet(hierarchies=draw(kadet_hierarchies(people)), **chosen, **further, **fixed)
    published = draw(st.fixed_dictionaries({"publish": st.sampled_from(("labels", "rates", "counts"))}))
    try:
        return Case(people, kadet(kadet_training_of(people), asked, inner_counts=draw(st.booleans()), **published))
    except InvalidInput:  # not even a tree of one leaf keeps what is asked
        assume(False)
        raise


@thorough(150)
@given(case=releases(), knowledge=st.sampled_from((None, None, ("label", "rate", "internal"), ("counts", "internal"))))
def test_the_truth_satisfies_everything_compiled_from_kadet(case: Case, knowledge: Any) -> None:
    check(case, knowledge=knowledge)


def below_a_private_split() -> Case:
    """Twelve people, of whom a private attribute S tells six apart.

    Those split by M (gain 0.46 bits), as E (0.92 bits) would leave two people to themselves; F gains less than M.
    """
    binary = {"S": "ny", "M": "mu", "E": "xy", "F": "fg"}
    attributes = tuple(
        Attribute(name, "categorical", tuple(values), "private" if name == "S" else "public")
        for name, values in binary.items()
    )
    rows = ["ymxf", "ymxg", "ymyf", "yuyg", "yuyg", "yuyg", "nmyf", "nmyf", "nmyg", "nmyg", "nuyg", "nuyg"]
    columns = {name: np.array([binary[name].index(row[j]) for row in rows]) for j, name in enumerate(binary)}
    people = People(attributes, columns, np.array([1, 1] + [0] * 10), ("bad", "good"))
    return Case(people, kadet(kadet_training_of(people), Kadet(k=3, max_depth=2), publish="rates"))


def comparisons(case: Case, release: Release) -> tuple[set[tuple[str, str]], float]:
    """The comparisons that are compiled, as (chosen, candidate), and how far the truth is from satisfying them."""
    program = compile_program(release, read_qi(case.people.qi, release), knowledge=("internal",))
    truth = true_masses(replace(case, release=release), program)
    violation = Evaluator(program).internal.violation(truth).max(initial=0.0)
    return {(c.chosen, c.candidate) for c in program.internal}, float(violation)


def test_candidates_below_a_private_split_are_judged_by_the_final_spans() -> None:
    case = below_a_private_split()
    found, violation = comparisons(case, case.release)
    assert found == {("S", "M"), ("S", "F"), ("M", "F")}
    assert violation <= 1e-12


@pytest.mark.parametrize(
    "defense", [None, Defense("kadet", {"k": 3}), Defense("prune-leaf", {"k": 3, "kadet.pruning": "none"})]
)
def test_what_may_have_been_pruned_is_not_judged_by_its_final_spans(defense: Defense | None) -> None:
    """Splits that are gone may have made a candidate breach."""
    case = below_a_private_split()
    found, _ = comparisons(case, replace(case.release, defense=defense))
    assert found == {("S", "M"), ("S", "F")}


def test_a_candidate_that_breached_would_be_one_too_many() -> None:
    case = below_a_private_split()
    tree = case.release.trees[0]
    careless = replace(tree, induction=replace(tree.induction, k=1))
    found, violation = comparisons(case, replace(case.release, trees=(careless,)))
    assert ("M", "E") in found
    assert violation > 0.1


def test_nothing_is_compared_when_the_average_gain_decided_what_competed() -> None:
    people = below_a_private_split().people
    release = kadet(kadet_training_of(people), Kadet(k=3, impurity="gain_ratio", selection="quinlan"))
    assert not release.trees[0].root.is_leaf
    assert comparisons(Case(people, release), release)[0] == set()


@pytest.mark.parametrize("asked", [{"l": 1.2}, {"l": 2, "diversity": "distinct"}, {"alpha": 0.9}])
def test_nothing_is_compared_when_classes_decided_what_breached(asked: dict[str, Any]) -> None:
    people = below_a_private_split().people
    release = kadet(kadet_training_of(people), Kadet(k=1, **asked))
    assert not release.trees[0].root.is_leaf
    assert comparisons(Case(people, release), release)[0] == set()
