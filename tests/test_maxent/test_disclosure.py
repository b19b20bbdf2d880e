import json
from dataclasses import replace
from math import exp, inf, log
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.attacked import DISEASE, numeric_split, pair, place_of
from support.attacked import people as differencing_people
from support.strategies import Style, cases, leaves_of, thorough

import maxent
from maxent import disclosure as d
from maxent.api.audit import audit_release
from maxent.constraints.program.cells import _nesting
from maxent.models.release import Attribute, Branch, Defense, Node, Release, Target, Tree
from maxent.models.trees.places import number_places

# Zhu & Du's microdata D1: rows q1..q7, columns <=50K and >50K, and what rates and labels leave open.
TRUTH = np.array([[1, 0], [0, 1], [2, 0], [1, 1], [0, 2], [1, 1], [0, 1]])
COUNTS = TRUTH.sum(axis=1)
POSTERIOR = np.array([[0.5, 0.5], [0.5, 0.5], [1, 0], [0.5, 0.5], [0, 1], [0.5, 0.5], [0, 1]])


@st.composite
def people(draw):
    """Individuals per class, at least one per row."""
    classes = draw(st.integers(2, 5))
    row = st.lists(st.integers(0, 6), min_size=classes, max_size=classes).filter(any)
    return np.array(draw(st.lists(row, min_size=1, max_size=8)))


@st.composite
def people_and_posterior(draw):
    truth = draw(people())
    weights = st.lists(st.integers(1, 1000), min_size=truth.size, max_size=truth.size)
    weight = np.array(draw(weights), dtype=float).reshape(truth.shape)
    return truth, weight / weight.sum(axis=1, keepdims=True)


def shares(truth):
    return truth / truth.sum(axis=1, keepdims=True)


def test_the_paper_s_first_table():
    assert d.conditional_entropy(POSTERIOR, COUNTS) == pytest.approx(6 / 11 * log(2), abs=1e-15)
    assert d.individual_divergence(TRUTH, POSTERIOR) == pytest.approx([log(2), log(2), 0, 0, 0, 0, 0], abs=1e-15)
    assert d.overall_divergence(TRUTH, POSTERIOR) == pytest.approx(2 / 11 * log(2), abs=1e-15)
    assert d.bayes_vulnerability(POSTERIOR, COUNTS) == pytest.approx(8 / 11)
    assert d.max_posterior(POSTERIOR) == 1
    assert d.certain(POSTERIOR, COUNTS) == 5


def test_the_paper_s_figure_5():
    truth = [[2, 0], [1, 0], [0, 1], [0, 2]]
    posterior = [[1, 0], [0.5, 0.5], [0.5, 0.5], [0, 1]]
    assert d.overall_divergence(truth, posterior) == pytest.approx(0.231, abs=5e-4)
    assert d.individual_divergence(truth, posterior)[1] == pytest.approx(0.693, abs=5e-4)


def test_zero_posterior_for_a_true_class_is_infinite():
    divergence = d.individual_divergence([[1, 1], [0, 3], [1, 0]], [[1.0, 0.0], [0.0, 1.0], [0.25, 0.75]])
    assert divergence.tolist() == [inf, 0, pytest.approx(log(4))]
    assert d.overall_divergence([[1, 1], [0, 3]], [[1.0, 0.0], [0.0, 1.0]]) == inf


def test_a_tiny_posterior_is_finite_unless_it_can_be_round_off():
    assert d.individual_divergence([[1, 0]], [[2e-12, 1.0]])[0] == pytest.approx(-log(2e-12))
    for nothing in (1e-12, 1e-17, 5e-324):
        assert d.individual_divergence([[1, 0]], [[nothing, 1.0]])[0] == inf


@given(people_and_posterior())
def test_divergence_is_positive_and_zero_only_for_the_truth(case):
    truth, posterior = case
    assert d.individual_divergence(truth, shares(truth)) == pytest.approx(0, abs=1e-15)
    divergence = d.individual_divergence(truth, posterior)
    total_variation = np.abs(shares(truth) - posterior).sum(axis=1) / 2
    assert (divergence >= 2 * total_variation**2 - 1e-12).all()  # Pinsker's inequality
    assert d.overall_divergence(truth, posterior) == pytest.approx(divergence @ truth.sum(axis=1) / truth.sum())


@given(people())
def test_uniform_posterior_is_ln_classes_minus_entropy_away(truth):
    uniform = np.full(truth.shape, 1 / truth.shape[1])
    entropy = d.conditional_entropy(shares(truth), truth.sum(axis=1))
    assert d.overall_divergence(truth, uniform) == pytest.approx(log(truth.shape[1]) - entropy, abs=1e-12)


def test_largest_divergences_first_and_ties_by_index():
    divergence = [0.5, inf, 0.1, 0.5, inf]
    assert d.top_divergences(divergence, 4).tolist() == [1, 4, 0, 3]
    assert d.top_divergences(divergence, 99).tolist() == [1, 4, 0, 3, 2]
    assert d.top_k_average([1.0, 4.0, 3.0], 2) == 3.5
    assert d.top_k_average([1.0, 4.0], 5) == 2.5
    assert d.top_k_average([1.0, inf, 3.0], 2) == inf


def test_summary_of_finite_divergences():
    summary = d.divergence_summary([0.5, 0.0, 1.0], [2, 1, 1], 2)
    assert summary == d.DivergenceSummary(overall=0.5, max=1.0, top=(2, 0), top_k_average=0.75, infinite=0)


def test_summary_never_hides_an_infinite_divergence():
    summary = d.divergence_summary([0.5, inf, 1.0], [98, 1, 1], 1)
    assert summary == d.DivergenceSummary(overall=None, max=None, top=(1,), top_k_average=None, infinite=1)


@pytest.mark.regression(number=3)
def test_vulnerability_and_certainty_weigh_individuals():
    posterior = [[0.999, 0.001], [0.6, 0.4], [0.9989, 0.0011]]
    assert d.certain([[0.999 - 9e-7, 0.001 + 9e-7], [0.999 - 2e-6, 0.001 + 2e-6]], [1, 1]) == 1  # within the tolerance
    assert d.bayes_vulnerability(posterior, [1, 3, 1]) == pytest.approx((0.999 + 1.8 + 0.9989) / 5)
    assert d.certain(posterior, [7, 3, 1]) == 7
    assert d.certain(posterior, [7, 3, 1], threshold=0.5) == 11


def test_entropy_l_diversity_is_that_of_the_least_diverse():
    assert d.entropy_l_diversity([[1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0]], [1, 9]) == pytest.approx(2)
    assert d.entropy_l_diversity([[0.25, 0.75]], [1]) == pytest.approx(exp(0.25 * log(4) + 0.75 * log(4 / 3)))


def test_alpha_k_pools_quasi_identifiers_with_the_same_posterior():
    assert d.alpha_k(POSTERIOR, COUNTS) == d.AlphaK(alpha=1.0, k=2)  # pools: q1 q2 q4 q6, q3, q5 q7
    # The rows agree in the first class alone, or in the last alone; none may be pooled.
    assert d.alpha_k([[0.2, 0.3, 0.5], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]], [4, 5, 6]) == d.AlphaK(alpha=0.5, k=4)


@pytest.mark.parametrize(("apart", "k"), [(0.0, 7), (5e-10, 7), (3e-9, 3)])
@pytest.mark.parametrize("at", [0.5, 0.4999999995, 0.1234567895])
def test_alpha_k_pools_within_a_billionth_wherever_the_values_lie(at, apart, k):
    assert d.alpha_k([[at, 1 - at], [at + apart, 1 - at - apart]], [3, 4]).k == k


@given(people_and_posterior(), st.randoms(use_true_random=False))
def test_pools_match_a_comparison_of_all_pairs(case, random):
    _, posterior = case
    posterior = posterior[[random.randrange(len(posterior)) for _ in range(12)]]
    counts = np.array([random.randrange(1, 9) for _ in posterior])
    same = np.abs(posterior[:, None] - posterior[None]).max(axis=2) <= 1e-9
    assert d.alpha_k(posterior, counts) == d.AlphaK(alpha=posterior.max(), k=(same @ counts).min())


def test_t_closeness():
    posterior = [[1.0, 0, 0], [0, 0, 1.0]]
    assert d.t_closeness(posterior, [3, 1]) == pytest.approx(0.75)  # overall (3/4, 0, 1/4), the second q is 3/4 away
    assert d.t_closeness(posterior, [3, 1], ordered=True) == pytest.approx(0.75)
    middle = [[0, 1.0, 0], [0, 0, 1.0]]
    assert d.t_closeness(middle, [1, 1]) == pytest.approx(0.5)
    assert d.t_closeness(middle, [1, 1], ordered=True) == pytest.approx(0.25)  # the mass moves one step of two


def test_gain_over_a_uniform_prior():
    gain = d.gain_over_prior(POSTERIOR, COUNTS)
    assert (gain.vulnerability_before, gain.vulnerability_after) == (0.5, pytest.approx(8 / 11))
    assert (gain.multiplicative, gain.additive) == (pytest.approx(16 / 11), pytest.approx(5 / 22))
    assert gain.entropy_before == log(2)
    assert gain.entropy_reduction == pytest.approx(5 / 11 * log(2))


def test_gain_over_a_known_marginal():
    gain = d.gain_over_prior(POSTERIOR, COUNTS, prior=[0.25, 0.75])
    assert (gain.vulnerability_before, gain.additive) == (0.75, pytest.approx(8 / 11 - 0.75))
    assert gain.entropy_reduction == pytest.approx(0.25 * log(4) + 0.75 * log(4 / 3) - 6 / 11 * log(2))


@given(people())
def test_nothing_is_gained_when_everybody_looks_like_the_population(truth):
    prior = truth.sum(axis=0) / truth.sum()
    gain = d.gain_over_prior(np.tile(prior, (3, 1)), [1, 2, 3], prior)
    assert gain.multiplicative == pytest.approx(1)
    assert gain.additive == pytest.approx(0, abs=1e-12)
    assert gain.entropy_reduction == pytest.approx(0, abs=1e-12)
    assert d.t_closeness(np.tile(prior, (3, 1)), [1, 2, 3]) == pytest.approx(0, abs=1e-12)


@given(people_and_posterior())
def test_every_measure_keeps_its_bounds(case):
    truth, posterior = case
    counts, classes, tiny = truth.sum(axis=1), truth.shape[1], 1e-12
    for p in (posterior, shares(truth)):
        found = d.measure(p, counts, truth)
        assert 0 <= found.certain <= counts.sum()
        assert 1 / classes - tiny <= found.bayes_vulnerability <= found.max_posterior + tiny <= 1 + 2 * tiny
        assert 0 <= found.entropy <= log(classes) + tiny
        assert 1 <= found.entropy_l_diversity <= classes + tiny
        assert counts.min() <= found.alpha_k.k <= counts.sum()
        assert found.alpha_k.alpha == found.max_posterior
        assert 0 <= found.t_closeness <= 1
        assert 0 <= d.t_closeness(p, counts, ordered=True) <= found.t_closeness * (1 + tiny) + tiny
        assert 1 - tiny <= found.gain.multiplicative <= classes + tiny
        assert found.gain.entropy_reduction >= -tiny


@given(people_and_posterior())
def test_order_and_splitting_of_rows_change_nothing(case):
    truth, posterior = case
    counts = truth.sum(axis=1)
    split = d.measure(np.vstack([posterior[::-1], posterior]), np.concatenate([counts[::-1], counts]))
    whole = d.measure(posterior, 2 * counts)
    assert split.entropy == pytest.approx(whole.entropy)
    assert split.bayes_vulnerability == pytest.approx(whole.bayes_vulnerability)
    assert (split.alpha_k, split.certain) == (whole.alpha_k, whole.certain)


def test_measure_gathers_plain_numbers():
    found = d.measure(POSTERIOR, COUNTS, TRUTH, top=3)
    assert found.divergence is not None
    assert found.divergence.top == (0, 1, 2)
    assert found.divergence.overall == pytest.approx(2 / 11 * log(2))
    assert found.individual == pytest.approx(d.individual_divergence(TRUTH, POSTERIOR))
    summary = found.as_dict()
    assert json.loads(json.dumps(summary)) == summary
    assert (summary["certain"], summary["alpha_k"]) == (5, {"alpha": 1.0, "k": 2})
    assert list(summary) == [
        "certain",
        "max_posterior",
        "tolerance",
        "possible",
        "bayes_vulnerability",
        "entropy_l_diversity",
        "alpha_k",
        "t_closeness",
        "gain",
    ]
    leaves = [v for part in ([summary], [summary["gain"], summary["alpha_k"]]) for each in part for v in each.values()]
    assert {type(v) for v in leaves} == {int, float, dict}
    right = summary["possible"].pop("right_guesses")
    assert summary["bayes_vulnerability"] <= right <= summary["bayes_vulnerability"] + 1e-6
    assert (summary["tolerance"], summary["possible"]) == (1e-6, {"certain": 5, "max_posterior": 1.0})
    assert found.is_certain.tolist() == [False, False, True, False, True, False, True]


@pytest.mark.regression(number=3)
def test_exact_numbers_take_the_place_of_computed_ones():
    posterior = [[0.999 - 1e-9, 0.001 + 1e-9], [0.999, 0.001], [0.5, 0.5]]
    found = d.measure(posterior, [3, 5, 7], surest=[0.9989999, 0.999, 0.5], possible=[0.9989999, 1.0, 1.0])
    assert (found.certain, found.surest, found.possible) == (
        5,
        0.999,
        d.Possible(12, 1.0, pytest.approx((3 * 0.9989999 + 12) / 15)),
    )
    assert d.measure(posterior, [3, 5, 7]).certain == 8


def test_without_the_truth_there_is_no_divergence():
    found = d.measure(POSTERIOR, COUNTS, prior=[0.5, 0.5])
    assert found.divergence is None
    assert found.individual is None
    assert found.gain.vulnerability_before == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: d.max_posterior([0.5, 0.5]), "shape"),
        (lambda: d.max_posterior(np.empty((0, 2))), "empty"),
        (lambda: d.max_posterior([[np.nan, 1.0]]), "not finite"),
        (lambda: d.conditional_entropy([[-0.1, 1.1]], [1]), "negative"),
        (lambda: d.conditional_entropy([[0.5, 0.5]], [1, 2]), "counts must have the shape"),
        (lambda: d.entropy_l_diversity([[0.5, 0.5]], [0]), "at least one individual"),
        (lambda: d.individual_divergence([[1, 0, 0]], [[0.5, 0.5]]), "truth must have the posterior's shape"),
        (lambda: d.individual_divergence([[1, 0], [0, 0]], [[0.5, 0.5]] * 2), "no individual in row 1"),
        (lambda: d.individual_divergence([[2, -1]], [[0.5, 0.5]]), "negative"),
        (lambda: d.gain_over_prior([[0.5, 0.5]], [1], [1.0]), "prior must have the shape"),
        (lambda: d.gain_over_prior([[0.5, 0.5]], [1], [0.4, 0.4]), "sum to 1"),
        (lambda: d.top_divergences([0.1], 0), "at least 1"),
        (lambda: d.top_k_average([np.nan], 1), "divergence must hold"),
    ],
)
def test_arrays_that_make_no_sense_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


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
    assert places.number[list(places.top_down)].tolist() == list(range(len(places)))
    some = {*data.draw(st.sets(st.integers(0, len(places) - 1))), int(places.levels[0][0])}
    nested = _nesting(SimpleNamespace(places=places), np.array(sorted(some)))

    def around(place):
        above = int(places.parent[place])
        return above if above < 0 or above in some else around(above)

    chosen = nested.places.tolist()
    assert chosen == [place for place in places.top_down if place in some]
    above = [chosen[i] if i >= 0 else -1 for i in nested.above.tolist()]
    assert above == [around(place) for place in chosen]
    assert nested.depth.tolist() == [0 if i < 0 else int(nested.depth[i]) + 1 for i in nested.above.tolist()]
    assert [chosen[i] for i in nested.deepest] == [leaf if leaf in some else around(leaf) for leaf in leaves]


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
    assert (found["leaves"], found["individuals"], found["uniqueness"]) == (3, 9, {"leaves": 0})


def test_a_node_further_up_will_do():
    root = {"N1": {"counts": {"yes": 4, "no": 5}}}
    assert maxent.audit(without(stating(DISEASE, **root), "L3"))["recovered"][0]["counts"] == {"yes": 1, "no": 0}
    assert maxent.audit(without(stating(DISEASE, **root), "L1", "L3"))["recovered"] == []


def test_removed_leaves_of_one_class_are_named_together():
    release = without(stating(DISEASE, **{"N1": {"counts": {"yes": 4, "no": 5}}}), "L2", "L3", "L4")
    (group,) = maxent.audit(release)["groups"]
    assert (group["node"], group["n"], group["counts"], group["class"]) == ("N1", 6, {"yes": 2, "no": 4}, None)
    release = without(stating(DISEASE, N1={"counts": {"yes": 2, "no": 6}}), "L2", "L3", "L4")
    found = maxent.audit(release)
    (group,) = found["groups"]
    assert [(leaf["node"], leaf["branch"]) for leaf in group["leaves"]] == [("N2", 2), ("N3", 1), ("N3", 2)]
    assert (group["n"], group["class"]) == (5, "no")
    assert found["differencing"]["groups"] == {"count": 1, "individuals": 5}


def test_a_published_leaf_that_hides_its_numbers_is_recovered_too():
    (row,) = maxent.audit(stating(DISEASE, **N3, L3={"counts": None, "label": "yes"}))["recovered"]
    assert (row["leaf"], row["n"], row["counts"]) == ("L3", 1, {"yes": 1, "no": 0})
    found = maxent.audit(stating(DISEASE, N3={"n": 4}, L3={"counts": None, "label": "yes"}))
    assert found["unknown_size"]["leaves"] == 1
    assert found["recovered"][0]["counts"] == {"yes": 1, "no": 0}  # one record, and yes is its most frequent class
    assert found["differencing"]["uniqueness"] == {"leaves": 1}


def test_another_tree_of_the_same_people_tells_the_same():
    whole = DISEASE.trees[0]
    cut = without(DISEASE, "L3").trees[0]
    assert maxent.audit(replace(DISEASE, trees=(cut, whole)))["recovered"][0]["counts"] == {"yes": 1, "no": 0}
    assert maxent.audit(replace(DISEASE, trees=(cut, whole), sampling_rate=0.9))["recovered"] == []


def test_inner_nodes_counted_after_the_removal_prove_nothing():
    after = without(stating(DISEASE, N3={"counts": {"yes": 1, "no": 2}}), "L3")
    found = maxent.audit(after)
    assert found["recovered"][0]["n"] == 0
    assert any("after leaves were removed" in note for note in found["notes"])
    release = pair(Node("L", counts={"a": 2, "b": 1}), Node("M", counts={"a": 1, "b": 0}))
    after = without(stating(release, root={"counts": {"a": 2, "b": 1}}), "M")
    found = audit_release(after, differencing_people(x=3, y=1))
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
    found = audit_release(
        without(stating(release, root={"counts": {"a": 2, "b": 5}}), "M"), differencing_people(x=3, y=4)
    )
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
