"""The property that everything rests on: what is true of the people satisfies every constraint that is compiled."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.soundness import check
from support.strategies import Case, People, cases, inner_places, populations, thorough, true_facts, true_masses

from maxent.constraints.compiler import compile_program, implied_marginal
from maxent.constraints.program.residuals import Evaluator
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.truth_and_facts import read_facts

KNOWLEDGE = (
    None,
    None,
    ("label",),
    ("rate",),
    ("label", "rate", "internal"),
    ("counts",),
    ("internal", "counts", "marginal"),
)


@thorough(250)
@given(case=cases(), knowledge=st.sampled_from(KNOWLEDGE), data=st.data())
def test_the_truth_satisfies_everything_compiled_from_a_tree(case: Case, knowledge: Any, data: st.DataObject) -> None:
    validate_release(case.release)
    table = read_qi(case.people.qi, case.release)
    frame = data.draw(true_facts(case.people), "facts")
    facts = () if frame is None else read_facts(frame, case.release, table)
    marginal = case.people.counts(np.arange(len(case.people))).astype(float)
    check(case, knowledge=knowledge, facts=facts, marginal=marginal)
    if any(states_every_count(case, tree) for tree in case.release.trees):
        assert implied_marginal(case.release).tolist() == marginal.tolist()
    else:
        with pytest.raises(InvalidInput, match="marginal"):
            implied_marginal(case.release)


def states_every_count(case: Case, tree: Tree) -> bool:
    """Whether the exact counts of a tree add up to everybody."""
    exact = case.release.sampling_rate == 1 and not case.release.blurred
    removed = any(branch.child is None for node in tree.nodes for branch in node.branches)
    leaves = all(leaf.counts is not None for leaf in tree.leaves)
    return exact and (tree.root.counts is not None or (leaves and not removed))


@thorough(80)
@given(case=cases(trees=(2, 3)), knowledge=st.sampled_from(KNOWLEDGE[:5]))
def test_the_truth_satisfies_everything_compiled_from_a_forest(case: Case, knowledge: Any) -> None:
    validate_release(case.release)
    check(case, knowledge=knowledge)


@thorough(80)
@given(
    people=populations(rows=(4, 60), public=(1, 3), private=(0, 1), classes=(2, 4)),
    criterion=st.sampled_from(("gini", "entropy")),
    depth=st.sampled_from((None, 1, 2, 4)),
    least=st.integers(1, 5),
    onehot=st.booleans(),
    publish=st.sampled_from(("labels", "rates", "counts")),
    inner_counts=st.booleans(),
)
def test_the_truth_satisfies_everything_compiled_from_scikit_learn(
    people: Any, criterion: Any, depth: Any, least: int, onehot: bool, publish: Any, inner_counts: bool
) -> None:
    import pandas as pd
    from sklearn.tree import DecisionTreeClassifier

    categories = {a.name: a.values for a in people.attributes if a.values is not None}
    indicators = {name: {f"{name}={v}": v for v in values} for name, values in categories.items()} if onehot else {}
    inputs = {
        feature: (people.columns[name] == code).astype(float) if onehot and name in categories else people.columns[name]
        for name in people.columns
        for code, feature in enumerate(indicators.get(name, (name,)))
    }
    model = DecisionTreeClassifier(criterion=criterion, max_depth=depth, min_samples_leaf=least, random_state=0)
    model.fit(pd.DataFrame(inputs), people.y)
    present = np.unique(people.y)
    release = from_sklearn(
        model,
        target="Y",
        classes=[people.classes[y] for y in present],
        categories=categories,
        onehot=indicators,
        private=[a.name for a in people.attributes if a.role == "private"],
        publish=publish,
        inner_counts=inner_counts,
    )
    validate_release(release)
    compact = replace(people, y=np.searchsorted(present, people.y), classes=release.target.classes)
    in_order = {a.name: a for a in release.attributes}
    check(Case(replace(compact, attributes=tuple(in_order[a.name] for a in people.attributes)), release))


@thorough(40)
@given(case=cases(populations(rows=(12, 40), public=(2, 3), private=(0, 0), classes=(2, 3)), kinds=("greedy",)))
def test_a_split_that_did_not_win_is_noticed(case: Case) -> None:
    """The property above can fail: claim that the worst candidate of a node had been chosen."""
    table = read_qi(case.people.qi, case.release)
    program = compile_program(case.release, table, knowledge=("internal",))
    truth = true_masses(case, program)
    evaluator = Evaluator(program)
    slack = evaluator.internal.slack(truth)
    assume(len(slack) and slack.max() > 1e-6)
    better = program.internal[evaluator.internal.constraint_of(np.array([slack.argmax()]))[0]]
    assume(better.form == "values")
    tree = case.release.trees[0]
    place = next(i for i in inner_places(tree) if i == better.place)
    beaten = _with_split(case, place, better.candidate)
    claimed = compile_program(beaten.release, read_qi(case.people.qi, beaten.release), knowledge=("internal",))
    assert Evaluator(claimed).max_violation(true_masses(beaten, claimed)) > 1e-9


def _with_split(case: Case, place: int, name: str) -> Case:
    """The release cut off at a node that now splits by another attribute into leaves, and claims to have won."""
    tree = case.release.trees[0]
    children = {n.id: [b.child for b in n.branches] for n in tree.nodes}
    below, stack = set(), list(children[tree.nodes[place].id])
    while stack:
        at = stack.pop()
        if at is not None:
            below.add(at)
            stack += children[at]
    values = case.people.attribute(name).values or ()
    leaves = tuple(Node(f"new {v}") for v in values)
    branches = tuple(Branch(leaf.id, values=(v,)) for leaf, v in zip(leaves, values, strict=True))
    node = replace(tree.nodes[place], attribute=name, branches=branches)
    kept = [node if i == place else n for i, n in enumerate(tree.nodes) if n.id not in below]
    return replace(case, release=replace(case.release, trees=(replace(tree, nodes=(*kept, *leaves)),)))


def test_a_false_statement_is_noticed() -> None:
    """The property above can fail for the other statements, too."""
    import pandas as pd

    people = Case(
        _people(("x", "x", "x", "y"), (0, 0, 1, 1)),
        Release(
            Target("Y", ("no", "yes")),
            (Attribute("A", "categorical", ("x", "y")),),
            (
                Tree(
                    (
                        Node("N", "A", (Branch("L", values=("x",)), Branch("M", values=("y",)))),
                        Node("L", label="no", error_rate=1 / 3),
                        Node("M", counts={"no": 0, "yes": 1}),
                    )
                ),
            ),
        ),
    )
    check(people)
    leaf = people.release.trees[0].nodes[1]
    for wrong in (
        replace(leaf, label="yes"),
        replace(leaf, error_rate=0.0),
        replace(leaf, label=None, error_rate=None, counts={"no": 1, "yes": 2}),
        replace(leaf, n=2),
    ):
        nodes = list(people.release.trees[0].nodes)
        nodes[1] = wrong
        lie = replace(people, release=replace(people.release, trees=(Tree(tuple(nodes)),)))
        with pytest.raises(AssertionError):
            check(lie)
    table = read_qi(people.people.qi, people.release)
    with pytest.raises(AssertionError):
        check(people, facts=read_facts(pd.DataFrame({"A": ["x"], "Y": ["yes"], "count": [2]}), people.release, table))
    with pytest.raises(AssertionError):
        check(people, marginal=np.array([1.0, 3.0]))


def _people(values: tuple[str, ...], y: tuple[int, ...]) -> Any:
    codes = np.array([("x", "y").index(v) for v in values])
    return People((Attribute("A", "categorical", ("x", "y")),), {"A": codes}, np.array(y), ("no", "yes"))
