"""What published numbers allow of groups, and what is certain by exact counts and by computed probabilities."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor
from support.calls import printed_by
from support.documents import release_document
from support.strategies import SURE, Case, cases, true_masses

import maxent
from maxent.constraints.compiler import compile_program
from maxent.disclosure.inference import NO_GROUP, _groups, shares
from maxent.disclosure.limits import Limits, judge
from maxent.disclosure.measures import TOLERANCE
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.tables.qi_table import read_qi


def release(*leaves, inner=None, split=("u", "v", "w"), private=False, **extra):
    """A tree that splits on A into these leaves; what its root says; B is not tested unless it is private."""
    leaves = [{"id": f"L{i}", **leaf} if leaf is not None else None for i, leaf in enumerate(leaves)]
    branches = [
        {"in": [value], "child": None if leaf is None else leaf["id"]}
        for value, leaf in zip(split, leaves, strict=False)
    ]
    values = {"A": list(split[: len(leaves)]), "B": ["0", "1", "2", "3"]}
    return parse_release(
        release_document(
            "T",
            ["a", "b"],
            [
                {"name": name, "type": "categorical", "values": values[name]}
                | ({"role": "private"} if private and name == "A" else {})
                for name in values
            ],
            [{"id": "N", "attribute": "A", "branches": branches, **(inner or {})}, *filter(None, leaves)],
            **extra,
        ),
        "release",
    )


def people(*sizes, kinds=1):
    """So many people in each leaf, in equal parts of several quasi-identifiers."""
    rows = [(value, str(b), size // kinds) for value, size in zip("uvw", sizes, strict=False) for b in range(kinds)]
    return pd.DataFrame(rows, columns=["A", "B", "n"])


def found(published, table, **options):
    return maxent.estimate(published, table, count="n", **options).disclosure


# --- Whole leaves at the threshold -------------------------------------------------------------------------------

AT, BELOW = {"counts": {"a": 999, "b": 1}}, {"counts": {"a": 998, "b": 2}}


@pytest.mark.parametrize("kinds", [1, 2, 4])
@pytest.mark.parametrize("options", [{}, {"presolve": False, "backend": "newton"}, {"knowledge": "label,rate"}])
def test_the_same_leaf_is_certain_whatever_its_quasi_identifiers(kinds, options):
    table = people(1000, 1000, kinds=kinds)
    assert found(release(AT, BELOW), table, **options).certain == 1000
    assert found(release(BELOW, BELOW), table, **options).certain == 0


def test_a_posterior_just_below_the_threshold_is_certain_by_caution_unless_counts_say_how_many():
    nearly = {"counts": {"a": 9_989_995, "b": 10_005}}
    table = people(10**7, kinds=4)
    disclosed = found(release(nearly, split=("u",)), table)
    assert disclosed.max_posterior == pytest.approx(0.9989995)
    assert (disclosed.certain, disclosed.surest) == (0, 0.9989995)
    # Who is in which leaf is decided by what the adversary does not know: nothing says that the shares are exact.
    hidden = release(nearly, nearly, private=True)
    assert found(hidden, table.groupby("B", as_index=False)["n"].sum().assign(n=5 * 10**6)).certain == 2 * 10**7


def test_whoever_asks_for_a_rough_answer_gets_a_rough_limit():
    hidden = release({"counts": {"a": 995, "b": 5}}, {"counts": {"a": 995, "b": 5}}, private=True)
    table = pd.DataFrame({"B": ["0", "1"], "n": [1000, 1000]})
    disclosed = [found(hidden, table, tolerance=tolerance) for tolerance in (1e-9, 1e-2)]
    assert [(one.tolerance, one.certain) for one in disclosed] == [(TOLERANCE, 0), (1e-2, 2000)]


@pytest.mark.parametrize(("people_of_a", "status"), [(998, "pass"), (999, "fail")])
def test_the_verdict_does_not_depend_on_rounding_errors(tmp_path, capsys, people_of_a, status):
    release({"counts": {"a": people_of_a, "b": 1000 - people_of_a}}, BELOW).save(tmp_path / "tree.json")
    for kinds in (1, 4):
        people(1000, 1000, kinds=kinds).to_csv(tmp_path / "qi.csv", index=False)
        call = ["estimate", str(tmp_path / "tree.json"), str(tmp_path / "qi.csv"), "--count", "n", "--json"]
        summary = json.loads(printed_by(capsys, [*call, "--max-certain", "0"]).out)
        assert (summary["verdict"]["status"], summary["disclosure"]["tolerance"]) == (status, TOLERANCE)


@given(total=st.integers(2, 2000), data=st.data(), kinds=st.integers(1, 4))
def test_a_limit_that_is_the_share_of_a_leaf_is_kept_and_a_smaller_one_is_not(total, data, kinds):
    of_a = data.draw(st.integers(total - total // 2, total))
    counts = {"counts": {"a": of_a * kinds, "b": (total - of_a) * kinds}}
    disclosed = found(release(counts, split=("u",)), people(total * kinds, kinds=kinds))

    def status(limit):
        told = {"max_posterior": disclosed.max_posterior, "surest": disclosed.surest, "certain": disclosed.certain}
        allowed = disclosed.possible.max_posterior
        limits = Limits(max_posterior=limit)
        base = of_a / total  # counts state it
        told |= {"possible_posterior": allowed, "base_posterior": base}
        return judge(limits, "r", reliable=True, exposed=0, k=1, **told).status

    assert status(of_a / total) == "pass"
    assert status(np.nextafter(of_a / total, 0)) == "fail"


# --- What published numbers allow --------------------------------------------------------------------------------

LABELS = ({"label": "a"}, {"label": "b"})


def possible(published, table, **options):
    disclosed = found(published, table, **options)
    return disclosed.possible.certain, pytest.approx(disclosed.possible.max_posterior)


@pytest.mark.parametrize(
    ("leaves", "allowed"),
    [
        pytest.param(LABELS, (100, 1.0), id="labels"),
        pytest.param(({"label": "a", "n": 60}, {"label": "b", "n": 40}), (100, 1.0), id="labels and n"),
        pytest.param(({"label": "a", "error_rate": 0.25}, {"label": "b", "error_rate": 0.1}), (0, 0.9), id="rates"),
        pytest.param(({"label": "a", "error_rate": 0.2}, {"label": "b"}), (40, 1.0), id="a rate in one leaf"),
        pytest.param(({"counts": {"a": 45, "b": 15}}, {"counts": {"a": 10, "b": 30}}), (0, 0.75), id="counts"),
        pytest.param(({"counts": {"a": 45, "b": 15}}, {"label": "b"}), (40, 1.0), id="counts in one leaf"),
        pytest.param(({"counts": {"a": 45, "b": 15}}, {"counts": {"a": 0, "b": 40}}), (40, 1.0), id="a pure leaf"),
        pytest.param(({"counts": {"a": 45, "b": 15}}, None), (0, 0.75), id="a removed leaf, of which nothing is said"),
    ],
)
def test_what_leaves_allow(leaves, allowed):
    assert possible(release(*leaves), people(60, 40, kinds=2)) == allowed


def test_printed_rates_allow_what_their_digits_do():
    published = release({"label": "a", "error_rate": 0.12}, {"label": "a", "error_rate": 0.13})
    disclosed = found(published, people(200, 400))
    assert (disclosed.surest, disclosed.possible.max_posterior) == (175 / 200, 177 / 200)


def test_rates_of_who_knows_how_many_people_allow_a_share():
    published = release({"label": "a", "error_rate": 0.2}, {"label": "b", "error_rate": 0.1}, private=True)
    table = pd.DataFrame({"B": ["0", "1"], "n": [60, 40]})
    disclosed = found(published, table, rounding="exact")
    assert disclosed.possible.max_posterior == pytest.approx(disclosed.max_posterior, abs=2 * TOLERANCE)
    assert found(release(*LABELS, private=True), table).possible.certain == 100


def test_nodes_above_tell_of_leaves_with_labels():
    counts = {"counts": {"a": 45, "b": 15}}
    table = people(60, 40)
    assert possible(release(counts, {"label": "b"}, inner={"counts": {"a": 55, "b": 45}}), table) == (0, 0.75)
    # Of two leaves with labels the node says little: one may have all of a class that are there.
    assert possible(release(*LABELS, inner={"counts": {"a": 55, "b": 45}}), table) == (40, 1.0)
    # Of two removed leaves the node speaks as of one group.
    alone = {"counts": {"a": 55, "b": 45}}
    assert possible(release(None, None, counts, inner={"counts": {"a": 100, "b": 60}}), people(60, 40, 60)) == (0, 0.75)
    assert possible(release(None, None, inner=alone), table) == (0, 0.55)


@pytest.mark.parametrize(("of_a", "open_"), [(60, 100), (45, 40), (80, 60)])
def test_a_marginal_bounds_what_arithmetic_lets_it_bound(of_a, open_):
    marginal = pd.DataFrame({"T": ["a", "b"], "count": [of_a, 100 - of_a]})
    # Of 45, the first 60 people cannot all be a; of 80, at least 20 are among the other 40, whose label is b.
    table = people(60, 40)
    assert found(release({}, {}), table, marginal=marginal).possible.max_posterior == max(of_a, 100 - of_a) / 100
    assert found(release(*LABELS), table, marginal=marginal).possible.certain == open_


def test_a_marginal_and_counts_settle_the_rest():
    marginal = pd.DataFrame({"T": ["a", "b"], "count": [55, 45]})
    published = release({"counts": {"a": 45, "b": 15}}, {"label": "b"})
    assert possible(published, people(60, 40), marginal=marginal) == (0, 0.75)


def test_facts_about_some_bound_nothing_about_others():
    facts = pd.DataFrame({"A": ["u"], "B": ["0"], "T": ["a"], "count": [20]})
    assert found(release(*LABELS), people(60, 40), facts=facts).possible.certain == 100


def test_numbers_that_an_adversary_does_not_use_bound_nothing():
    leaves = [{"label": "a", "counts": {"a": 45, "b": 15}}, {"label": "b", "counts": {"a": 10, "b": 30}}]
    assert possible(release(*leaves), people(60, 40), knowledge="label") == (100, 1.0)


@pytest.mark.parametrize("sampling", [0.5, 0.9])
def test_intervals_of_sampled_counts_allow_their_ends(sampling):
    counts = [{"counts": {"a": 300, "b": 200}}, {"counts": {"a": 250, "b": 0}}]
    published = release(*counts, release={"sampling_rate": sampling, "suppressed_below": 20})
    size = round(500 / sampling)
    result = maxent.estimate(published, people(size, round(250 / sampling) + 10), count="n")
    assert result.reliable
    first = next(c for c in result.program.linear if c.kind == "counts")
    most = np.minimum(first.upper, size - first.lower[::-1])
    known = shares(result.program, result.outcome.masses, result.probabilities)
    assert known.surest[0] < known.possible[0] == most.max() / size < 1
    assert known.possible[1] == 1.0  # all of the second leaf may be a


def test_records_rest_on_the_classes_of_their_rows():
    rows = pd.DataFrame({"A": ["1-2"] * 4 + ["3-4"] * 4, "T": list("aaabbbba")})
    disclosed = maxent.estimate(rows, pd.DataFrame({"A": [1, 1, 2, 2, 3, 3, 4, 4]}), target="T").disclosure
    assert disclosed.possible.max_posterior == disclosed.surest
    assert disclosed.possible.certain == disclosed.certain == 0


@given(case=cases(trees=(1, 2)), knowledge=st.sampled_from((None, "label", "label,rate")))
def test_the_truth_is_within_what_groups_are_allowed(case: Case, knowledge):
    table = read_qi(case.people.qi, case.release)
    options = {} if knowledge is None else {"knowledge": knowledge.split(",")}
    for rounding in case.roundings:
        program = compile_program(case.release, table, rounding=rounding, confidence=SURE, **options)
        truth = true_masses(case, program)
        for t, groups in enumerate(_groups(program, truth)):
            of = groups.of[program.cells.leaf[:, t]]
            for group in set(of.tolist()) - {NO_GROUP}:
                people = truth[of == group].sum(axis=0)
                assert people == pytest.approx(groups.mass[group])
                assert (groups.low[group] - 1e-9 <= people).all()
                assert (people <= groups.high[group] + 1e-9).all()
        known = shares(program, truth, program.posterior(truth))
        assert (known.possible >= known.surest).all()
        assert (known.surest >= program.posterior(truth).max(axis=1) - 1e-12).all()
        assert known.possible.max() <= 1


@pytest.mark.parametrize("seed", range(6))
def test_the_truth_is_within_what_means_allow_groups(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.integers(0, 5, 20) * 1.0, "b": rng.integers(0, 3, 20) * 1.0})
    score = np.round(rng.gamma(1.5, 8, 20) % 60 + 0.25, 1)
    model = DecisionTreeRegressor(max_depth=2, random_state=0).fit(frame, score)
    classes = np.eye(3, dtype=int)[np.digitize(score, [10, 20])]
    told = {"target": "score", "qi": ["a", "b"], "bins": [0, 10, 20, 61]}
    estimate = maxent.review(model, frame.assign(score=score), **told, no_marginal=True).estimate
    program, row = estimate.program, {}
    for q in range(len(program.table)):
        row[tuple(estimate.values(q))] = q
    people = np.zeros((len(program.table), 3))
    np.add.at(people, [row[tuple(each)] for each in frame.to_numpy().tolist()], classes)
    [groups] = _groups(program, people[program.cells.owner])
    assert (groups.low <= groups.mass + 1e-9).all()
    assert (groups.mass <= groups.high + 1e-9).all()
    assert (groups.all_low <= classes.sum(axis=0) + 1e-9).all()
    assert (classes.sum(axis=0) <= groups.all_high + 1e-9).all()
