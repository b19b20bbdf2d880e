"""The truth satisfies everything that is compiled from a kADET release: what would have breached was no competitor."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.anonymity import hierarchies, training_of
from support.soundness import check
from support.strategies import Case, People, populations, thorough, true_masses

from maxent.constraints.compiler import compile_program
from maxent.constraints.program.residuals import Evaluator
from maxent.models.defenses.kadet import Kadet, kadet
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.release import Attribute, Defense, Release
from maxent.models.tables.qi_table import read_qi

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
        likely = people.columns[private[0]] % len(people.classes)
        people = replace(people, y=np.where(told, people.y, likely))
    strategies = {name: strategy for name, strategy in OPTIONS.items() if name not in fixed}
    further = draw(st.fixed_dictionaries({}, optional=FURTHER)) if not fixed and draw(st.integers(0, 3)) == 0 else {}
    chosen = draw(st.fixed_dictionaries(strategies))
    if chosen.get("selection") == "quinlan":
        chosen["impurity"] = "gain_ratio"
    asked = Kadet(hierarchies=draw(hierarchies(people)), **chosen, **further, **fixed)
    published = draw(st.fixed_dictionaries({"publish": st.sampled_from(("labels", "rates", "counts"))}))
    try:
        return Case(people, kadet(training_of(people), asked, inner_counts=draw(st.booleans()), **published))
    except InvalidInput:  # not even a tree of one leaf keeps what is asked
        assume(False)
        raise


@thorough(150)
@given(case=releases(), knowledge=st.sampled_from((None, None, ("label", "rate", "internal"), ("counts", "internal"))))
def test_the_truth_satisfies_everything_compiled_from_kadet(case: Case, knowledge: Any) -> None:
    validate_release(case.release)
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
    return Case(people, kadet(training_of(people), Kadet(k=3, max_depth=2), publish="rates"))


def comparisons(case: Case, release: Release) -> tuple[set[tuple[str, str]], float]:
    """The comparisons that are compiled, as (chosen, candidate), and how far the truth is from satisfying them."""
    table = read_qi(case.people.qi, release)
    program = compile_program(release, table, knowledge=("internal",))
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
    release = kadet(training_of(people), Kadet(k=3, impurity="gain_ratio", selection="quinlan"))
    assert not release.trees[0].root.is_leaf
    assert comparisons(Case(people, release), release)[0] == set()


@pytest.mark.parametrize("asked", [{"l": 1.2}, {"l": 2, "diversity": "distinct"}, {"alpha": 0.9}])
def test_nothing_is_compared_when_classes_decided_what_breached(asked: dict[str, Any]) -> None:
    people = below_a_private_split().people
    release = kadet(training_of(people), Kadet(k=1, **asked))
    assert not release.trees[0].root.is_leaf
    assert comparisons(Case(people, release), release)[0] == set()
