"""Generalised records through the engine: the worked example, what estimates must agree with, attacks, the program."""

import json
from math import sqrt

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.calls import printed_by
from support.generalised import METHODS, assignments, generalised, table_rows
from support.strategies import Style, cases, populations, thorough
from support.yang import figure_1, records

import maxent
from maxent.api.audit import audit_release
from maxent.models.defenses.generalization import tiered, uniform
from maxent.models.tables.training import read_training
from maxent.models.trees.places import assign

QI = ["Age", "Gender", "Marital Status"]


def table_1():
    """The records of Table 1 and those that complete the tree, generalised in tiers with k = 3."""
    people = records().drop(columns="leaf")
    return people, tiered(read_training(people, target="Bought", qi=QI), figure_1(), 3)


def counted(rows=(4, 30), **options):
    return cases(populations(rows=rows, **options), style=st.just(Style(leaf="counts")))


# --- The worked example --------------------------------------------------------------------------------------------


def test_table_1_of_yang():
    people, table = table_1()
    found = maxent.estimate(table, people[QI], people)
    assert (found.outcome.status, found.certificate) == ("optimal", "global")
    p = dict(zip(people["Age"], found.posterior["P(Yes)"], strict=True))
    # Women: rows 42-61 (two, Yes), 29-42 (two, No) and 29-61 (one, No), whose scales are a, b and c. Those of 57 and 61
    # are in the first or third, of 29 and 38 in the second or third, of 42 in any of them: with c = 1 and so b = a, the
    # third says 4 / (a + 1) + 1 / (2a + 1) = 1.
    a = (3 + sqrt(17)) / 2
    assert [p[57], p[61], p[42]] == pytest.approx([a / (a + 1), a / (a + 1), a / (2 * a + 1)], abs=1e-9)
    assert [p[29], p[38]] == pytest.approx([0, 0], abs=1e-12)
    # Unmarried men have rows of their own; those of the married ones are in the same proportions as the women's.
    assert [p[age] for age in (30, 33, 36, 39)] == pytest.approx([0.75] * 4)
    assert [p[22], p[65], p[66], p[70], p[80]] == pytest.approx([p[57], p[61], p[42], 0, 0], abs=1e-9)
    assert found.disclosure.certain == 4


def test_the_attacks_on_table_1():
    people, table = table_1()
    found = maxent.audit(table, people[QI])
    assert (found["leaves"], found["rows"], found["individuals"]) == (7, 14, 14)
    assert found["uniqueness"] == {"leaves": 2}
    assert (found["homogeneity"]["leaves"], found["homogeneity"]["individuals"]) == (6, 10)
    assert found["background"]["beyond_homogeneity"] == {"leaves": 1, "individuals": 3}
    assert found["covering"] == {"kk_anonymous": 3, "rows_per_person": 3, "people_per_row": 3}
    assert found["spans"] == {"count": 7, "min_population": 1, "k_anonymous": 1, "exposed": 4, "unlinked": 0}
    assert found["exposed"] == {"unique": 0, "span": 4, "assignment": 0}
    assert found["assignment"]["ruled_out"] == 0
    assert found["gcp"] == pytest.approx(table.gcp())
    assert found["reliable"]


# --- What estimates must agree with --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@thorough(4)
@given(
    case=counted(classes=(2, 3)), k=st.integers(2, 6), backend=st.sampled_from(("ipopt", "newton", "scipy", "cvxpy"))
)
def test_other_back_ends_agree(method, case, k, backend):
    table = generalised(case, k, method)
    found = maxent.estimate(table, case.people.qi)
    other = maxent.estimate(table, case.people.qi, backend=backend)
    assert found.outcome.status == other.outcome.status == "optimal"
    assert found.certificate == "global"
    assert found.outcome.violation <= 1e-8
    assert found.disclosure.entropy == pytest.approx(other.disclosure.entropy, abs=1e-5)
    np.testing.assert_allclose(found.probabilities, other.probabilities, atol=1e-3)


def test_the_whole_program_in_one_piece_agrees():
    people, table = table_1()
    found = maxent.estimate(table, people[QI])
    whole = maxent.estimate(table, people[QI], presolve=False)
    assert whole.outcome.status == "optimal"
    np.testing.assert_allclose(found.probabilities, whole.probabilities, atol=1e-6)


@thorough(12)
@given(case=cases(populations(private=(0, 0)), kinds=("greedy", "anyhow"), style=st.just(Style(leaf="counts"))))
def test_the_leaves_of_a_tree_as_records_disclose_what_their_counts_do(case):
    training = read_training(case.people.frame, target="Y", qi=list(case.people.qi), categorical=[
        a.name for a in case.people.attributes if a.values is not None
    ])  # fmt: skip
    places = assign(case.release.trees[0], case.people.attributes, tuple(
        case.people.columns[a.name] for a in case.people.attributes
    ))  # fmt: skip
    assume((places < len(case.release.trees[0].nodes)).all())
    records_of = maxent.estimate(uniform(training, places, 1), case.people.qi, case.people.frame)
    tree = maxent.estimate(case.release, case.people.qi, case.people.frame, knowledge="counts")
    for name in case.people.classes:
        column = f"P({name})"
        if column in records_of.posterior:
            np.testing.assert_allclose(records_of.posterior[column], tree.posterior[column], atol=1e-12)
        else:
            assert tree.posterior[column].max() == 0


@thorough(30)
@given(case=counted(rows=(3, 6), classes=(2, 3)), k=st.integers(1, 3), seed=st.integers(0, 3))
def test_classes_are_certain_that_no_assignment_changes(case, k, seed):
    table = generalised(case, k, "tiered")
    found = audit_release(table, case.people.qi)
    rows = found.records.counts.sum(axis=1)
    names = found.records.table.target.classes
    possible = [set() for _ in range(len(found.people))]
    who = np.repeat(np.arange(len(found.people)), found.people.counts)
    for order in assignments(found.people.counts, found.owner, found.group, rows):
        for q, b in zip(who, order, strict=True):
            possible[q] |= {names[x] for x in np.flatnonzero(found.records.counts[b])}
    certain = [next(iter(classes)) if len(classes) == 1 else None for classes in possible]
    frame = found.people.frame()
    key = list(frame.columns[:-1])
    shown = dict(
        zip(found.individuals[key].itertuples(index=False, name=None), found.individuals["disclosed"], strict=True)
    )
    for q, values in enumerate(frame[key].itertuples(index=False, name=None)):
        assert (shown[values] if isinstance(shown[values], str) else None) == certain[q]
    who_is = table_rows(case.people, found.people)
    for q, y in zip(who_is, case.people.y, strict=True):
        assert case.people.classes[y] in possible[q]
    exposed = sum(int(n) for n, sure in zip(found.people.counts, certain, strict=True) if sure is not None)
    assert found.summary["assignment"]["exposed"] == exposed


def test_ruling_out_assignments_discloses_more_than_covering():
    # Whoever is 1 has the row 1: 2 cannot have it, and is ill; 3 has either of what is left.
    qi = pd.DataFrame({"A": [1, 2, 3]})
    rows = pd.DataFrame({"A": ["1-2", "2-3", "3"], "T": ["well", "ill", "well"]})
    found = maxent.audit(rows, qi)
    assert found["covering"]["rows_per_person"] == 1
    assert found["exposed"] == {"unique": 1, "span": 0, "assignment": 2}
    assert found["assignment"] | {"complete": True} == {
        "complete": True,
        "ruled_out": 2,
        "rows_per_person": 1,
        "people_per_row": 1,
        "narrowed": 2,
        "below_k": 0,
        "exposed": 3,
    }
    estimate = maxent.estimate(rows, qi)
    assert estimate.probabilities.tolist() == [[0, 1], [1, 0], [0, 1]]
    assert estimate.backend == "closed_form"
    assert "rules out 2 of the 5 pairs" in estimate.notes[0]


def test_facts_are_used_with_records():
    people, table = table_1()
    facts = pd.DataFrame({"Age": [39], "Gender": ["Male"], "Marital Status": ["Not Married"], "Bought": ["No"]})
    found = maxent.estimate(table, people[QI], facts=facts)
    assert found.outcome.status == "optimal"
    p = dict(zip(people["Age"], found.posterior["P(Yes)"], strict=True))
    assert [p[30], p[39]] == pytest.approx([1, 0], abs=1e-6)


def test_bounds_of_records_hold_the_people_and_the_estimate():
    people, table = table_1()
    found, estimate = maxent.bounds(table, people[QI], level="linear"), maxent.estimate(table, people[QI])
    frame = found.frame()
    assert found.status == "proved"
    truth = people.groupby(QI)["Bought"].value_counts()
    for *values, count, klass, low, high, _ in frame.itertuples(index=False):
        assert low <= truth.get((*values, klass), 0) / count <= high
    assert (found.low <= estimate.probabilities + 1e-6).all()
    assert (estimate.probabilities <= found.high + 1e-6).all()


def test_people_may_be_counted():
    people, table = table_1()
    assert maxent.estimate(table, people[QI].assign(n=1), count="n").probabilities.shape == (14, 2)


# --- Records of others ---------------------------------------------------------------------------------------------


def contradicted(rows, qi):
    found = maxent.estimate(rows, qi)
    assert found.outcome.status == "inconsistent"
    assert not found.reliable
    assert np.isfinite(found.probabilities).all()
    assert found.probabilities.sum(axis=1) == pytest.approx(1)
    assert not maxent.audit(rows, qi)["reliable"]
    return [str(contradiction) for contradiction in found.contradictions]


ROWS = pd.DataFrame({"A": ["1-2", "1-2", "8-9"], "T": ["a", "b", "b"]})


@pytest.mark.parametrize(
    ("ages", "said"),
    [
        ([1, 2, 5], ["no row covers 1 individual (row 3)", "rows like row 3: 1 row that cover nobody of qi"]),
        ([1, 2], ["records: 3 rows, but 2 individuals in qi", "rows like row 3: 1 row that cover nobody of qi"]),
        ([1, 2, 8, 9], ["records: 3 rows, but 4 individuals in qi", "2 individuals (rows 3, 4) can only have 1 row"]),
        ([1, 1, 2], ["3 individuals (rows 1, 3) can only have 2 rows, those like row 1 (off by 1"]),
        ([5, 6, 7], ["no row covers 3 individuals", "rows like rows 1, 3: 3 rows that cover nobody of qi"]),
    ],
)
def test_records_of_others_are_inconsistent(ages, said):
    found = contradicted(ROWS, pd.DataFrame({"A": ages}))
    for text in said:
        assert any(text in line for line in found), found


@pytest.mark.parametrize("ages", [[1, 2, 5], [1, 2], [1, 2, 8, 9], [1, 1, 2]])
def test_other_back_ends_call_them_inconsistent_too(ages):
    assert maxent.estimate(ROWS, pd.DataFrame({"A": ages}), backend="ipopt").outcome.status == "inconsistent"


@pytest.mark.parametrize(
    ("options", "field"),
    [({"knowledge": "counts"}, "knowledge"), ({"impurity": "gini"}, "impurity"), ({"marginal": ROWS}, "marginal")],
)
def test_options_of_trees_are_refused(options, field):
    with pytest.raises(maxent.InvalidInput) as refused:
        maxent.estimate(ROWS, pd.DataFrame({"A": [1, 2, 8]}), **options)
    assert [problem.field for problem in refused.value.problems] == [field]


def test_what_an_audit_refuses():
    qi = pd.DataFrame({"A": [1, 2, 8]})
    for options, field in (({"facts": qi}, "facts"), ({"risk": True}, "risk"), ({"min_size": 0}, "min_size")):
        with pytest.raises(maxent.InvalidInput) as refused:
            maxent.audit(ROWS, qi, **options)
        assert [problem.field for problem in refused.value.problems] == [field]
    with pytest.raises(maxent.InvalidInput, match="which says what the records are of"):
        maxent.audit(ROWS)
    for call in (maxent.audit, maxent.estimate):
        with pytest.raises(maxent.InvalidInput, match="applies only to records"):
            call(figure_1(), records()[QI], target="Bought")


# --- Side by side, and on the command line -------------------------------------------------------------------------


def test_a_tree_and_records_side_by_side():
    people, table = table_1()
    found = maxent.compare({"tree": figure_1(), "tiers": table}, people[QI], people, people)
    tree, tiers = found.rows
    assert (tree["gcp"], tiers["gcp"]) == (None, pytest.approx(table.gcp()))
    assert (tiers["train_accuracy"], tiers["test_accuracy"]) == (None, None)
    assert tree["train_accuracy"] is not None
    assert tiers["leaves"] == 7
    assert tiers["divergence"] > tree["divergence"]
    assert found.reliable
    assert any("a leaf is a group of identical rows" in note for note in found.notes)
    reverse = maxent.compare([table.frame(), table, figure_1()], people[QI], people, knowledge="label")
    assert [row["release"] for row in reverse.rows] == ["records", "records (2)", "release"]
    assert reverse.rows[0]["entropy"] == reverse.rows[1]["entropy"] == tiers["entropy"]
    other = table.frame().rename(columns={"Bought": "Sold"})
    with pytest.raises(maxent.InvalidInput, match="Sold"):
        maxent.compare([figure_1(), other], people[QI])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with Table 1 as it is published, the people and the tree."""
    monkeypatch.chdir(tmp_path)
    people, table = table_1()
    people.to_csv("data.csv", index=False)
    people[QI].to_csv("qi.csv", index=False)
    table.frame().to_csv("anonymised.csv", index=False)
    figure_1().save("tree.json")
    return tmp_path


def printed(capsys, *arguments, status=0):
    return printed_by(capsys, [*arguments], status).out


def test_the_commands(folder, capsys):
    people, table = table_1()
    found = maxent.estimate(table, people[QI], people)
    out = printed(
        capsys, "estimate", "anonymised.csv", "data.csv", "--target", "Bought", "--truth", "data.csv", "--json"
    )
    assert json.loads(out)["divergence"]["overall"] == pytest.approx(found.disclosure.divergence.overall)
    text = printed(capsys, "estimate", "anonymised.csv", "qi.csv", "-o", "posterior.csv")
    assert "uniform guess 50.0 %" in text
    assert len(pd.read_csv("posterior.csv")) == 14
    audited = json.loads(printed(capsys, "audit", "anonymised.csv", "qi.csv", "--json", "-o", "people.csv"))
    assert audited == json.loads(json.dumps(maxent.audit("anonymised.csv", "qi.csv")))
    assert pd.read_csv("people.csv")["rows"].min() == 3
    text = printed(capsys, "audit", "anonymised.csv", "qi.csv", "--as-table", "groups.csv")
    assert "it is (3,3)-anonymous" in text
    assert "give away the bought of 4 individuals (28.6 %)" in text
    assert pd.read_csv("groups.csv")["n"].tolist() == [2, 1, 2, 1, 4, 2, 2]
    text = printed(capsys, "explain", "anonymised.csv", "qi.csv")
    assert "rows like line 2: 3 individuals\n  counts    counts Yes: 2, of other classes 0" in text
    text = printed(capsys, "compare", "tree.json", "anonymised.csv", "--qi", "qi.csv", "--truth", "data.csv")
    assert "global certainty penalty" in text


def test_exit_statuses(folder, capsys):
    pd.read_csv("qi.csv").iloc[1:].to_csv("fewer.csv", index=False)
    assert "14 rows, but 13 individuals" in printed(capsys, "estimate", "anonymised.csv", "fewer.csv", status=1)
    assert "13 individuals" in printed(capsys, "audit", "anonymised.csv", "fewer.csv", status=1)
    for table in ("data.csv", "missing.csv"):
        assert printed(capsys, "estimate", "anonymised.csv", table, status=2) == ""
    assert printed(capsys, "audit", "anonymised.csv", status=2) == ""


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_defend_writes_is_read(folder, capsys, suffix):
    file = f"out{suffix}"
    options = ["--target", "Bought", "--qi", ",".join(QI), "--k", "3", "--publish", "records", "-o", file]
    printed_by(capsys, ["defend", "erp", "data.csv", *options])
    found = json.loads(printed(capsys, "audit", file, "qi.csv", "--json"))
    assert found["reliable"]
    assert found["covering"]["kk_anonymous"] >= 3
