"""What is disclosed at each node: against the definition, one node at a time."""

import numpy as np
import pytest
from support.reported import forest
from support.small import release_and_people

import maxent
from maxent.disclosure.inference import disclosed_by_node, people_by_place
from maxent.disclosure.measures import bayes_vulnerability, certain, conditional_entropy, max_posterior


def assert_as_defined(result, tree=0):
    program, cells = result.program, result.program.cells.trees[tree]
    found = disclosed_by_node(result, tree)
    people = people_by_place(program, tree)
    assert [node.place for node in found] == list(range(len(cells.start)))
    for node in found:
        rows = np.unique(program.cells.owner[cells.at(node.place)])
        assert sorted(people.at(node.place)) == rows.tolist()
        p, counts = result.probabilities[rows], program.table.counts[rows]
        assert node.individuals == counts.sum()
        if not len(rows):
            assert node.certain == 0
            assert {node.max_posterior, node.vulnerability, node.entropy, node.divergence} == {None}
            continue
        assert node.certain == certain(p, counts)
        assert node.max_posterior == max_posterior(p)
        assert node.vulnerability == pytest.approx(bayes_vulnerability(p, counts))
        assert node.entropy == pytest.approx(conditional_entropy(p, counts))
        if result.disclosure.individual is None:
            assert node.divergence is None
        else:
            expected = counts @ result.disclosure.individual[rows] / counts.sum()
            assert node.divergence == pytest.approx(expected)
    return found


def test_every_node_of_a_tree():
    for seed in range(3):
        release, people = release_and_people("entropy", seed)
        result = maxent.estimate(release, people[["A", "B", "C"]], people)
        found = assert_as_defined(result)
        assert found[0].individuals == len(people)
        assert found[0].entropy == pytest.approx(result.disclosure.entropy)
        assert [node.id for node in found] == [node.id for node in release.trees[0].nodes]


def test_leaves_that_nobody_is_in_say_nothing():
    release, people = release_and_people("gini", 0)
    first = people.iloc[:1]
    result = maxent.estimate(release, first[["A", "B", "C"]], knowledge="label")
    found = assert_as_defined(result)
    assert sum(node.individuals == 0 for node in found) >= 2


def test_infinite_divergences_stay_in_their_branch():
    release, people = release_and_people("gini", 1, publish="counts")
    wrong = people.assign(X=np.where(people["X"] == "a", "b", "a"))
    result = maxent.estimate(release, people[["A", "B", "C"]], wrong)
    assert_as_defined(result)
    assert np.isinf(disclosed_by_node(result)[0].divergence)


def test_removed_leaves_and_private_attributes(tmp_path):
    result = maxent.estimate(*forest(tmp_path))
    first, second = assert_as_defined(result, 0), assert_as_defined(result, 1)
    assert [(node.id, node.individuals) for node in first] == [("N", 4), ("L", 2), (None, 2)]
    assert [(node.id, node.individuals) for node in second] == [("N", 4), ("P", 4), ("Q", 4)]
    with pytest.raises(IndexError):
        disclosed_by_node(result, 2)
