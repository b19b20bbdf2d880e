"""Commands that take statements beside a tree: review, check with its record, explain, audit, from Python alike."""

import itertools
import json
import re
from operator import attrgetter, methodcaller
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from support.search import cases

import maxent
from maxent.api.estimate import compile_release
from maxent.commands.main import run
from maxent.constraints.rows import row_system
from maxent.models.errors import InvalidInput
from maxent.models.statements.read import parse_statements
from maxent.models.tables.qi_table import read_qi
from maxent.solvers.certainty.stated import who_in

D1 = Path(__file__).parents[2] / "examples" / "d1"
QI = ["Education", "Country", "Gender"]
MEN = {"kind": "count", "where": {"Gender": "Male"}, "class": ">50K", "equals": 2, "source": "Table 1, row 1"}


def table(folder: Path, *said: dict[str, Any], name: str = "table1.json", classes: Any = (">50K", "<=50K")) -> str:
    """A document of statements about the people of D1, in a file; its classes are in another order."""
    path = folder / name
    told = {"format": "maxent-statements/1", "target": {"name": "Salary", "classes": list(classes)}}
    path.write_text(json.dumps({**told, "statements": list(said or [MEN])}), encoding="utf-8")
    return str(path)


def bare(folder: Path) -> str:
    """The tree of D1 without anything but its labels."""
    tree = json.loads((D1 / "tree.json").read_text(encoding="utf-8"))
    for node in tree["trees"][0]["nodes"]:
        for key in ("n", "error_rate", "counts"):
            node.pop(key, None)
    path = folder / "labels.json"
    path.write_text(json.dumps(tree), encoding="utf-8")
    return str(path)


def test_a_review_takes_in_what_stands_beside_the_tree(tmp_path: Path) -> None:
    truth, tree, beside = D1 / "truth.csv", bare(tmp_path), table(tmp_path)
    alone = maxent.review(tree, truth, qi=QI, target="Salary")
    both = maxent.review([tree, beside], truth, qi=QI, target="Salary")
    assert both.summary["estimate"]["constraints"]["statements"] == 1
    assert both.summary["estimate"]["entropy"] != alone.summary["estimate"]["entropy"]
    swapped = maxent.review([beside, tree], truth, qi=QI, target="Salary")
    assert swapped.summary["estimate"]["entropy"] == both.summary["estimate"]["entropy"]
    frame, people = both.estimate.posterior, pd.read_csv(truth)
    men = frame[frame.Gender == "Male"]
    assert (men["P(>50K)"] * men["count"]).sum() == pytest.approx(2, abs=1e-5)
    assert len(people) == both.individuals


def test_a_review_of_statements_alone_has_columns_that_they_do_not_name(tmp_path: Path) -> None:
    found = maxent.review(table(tmp_path), D1 / "truth.csv", qi=QI, target="Salary", max_certain=0)
    assert found.verdict().status == "pass"
    assert list(found.estimate.posterior.columns[:3]) == ["Gender", "Education", "Country"]
    with pytest.raises(InvalidInput, match="Gender, too: a statement is about it"):
        maxent.review(table(tmp_path), D1 / "truth.csv", qi=["Education"], target="Salary")


def test_a_fitted_tree_and_a_fitted_regression_are_reviewed_together() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.integers(0, 3, 60), "b": rng.integers(0, 2, 60), "c": rng.integers(0, 4, 60)})
    y = pd.Series(rng.choice(["no", "yes"], 60), name="y")
    tree = DecisionTreeClassifier(max_depth=2).fit(frame, y)
    regression = LogisticRegression(tol=1e-10, max_iter=10_000).fit(frame, y)
    found = maxent.review([tree, regression], frame, y, qi=["a", "b", "c"], max_certain=0)
    assert found.reliable
    assert len(found.release.trees) == len(found.release.statements) == 1
    alone = maxent.review(tree, frame, y, qi=["a", "b", "c"])
    assert found.estimate.summary["entropy"] < alone.estimate.summary["entropy"]
    only = maxent.review(regression, frame, y, qi=["a", "b", "c"])
    assert not only.release.trees[0].nodes[0].branches
    assert only.reliable
    posterior = only.estimate.posterior
    told = (posterior["P(yes)"] * posterior["count"]).sum()
    assert told == pytest.approx((y == "yes").sum(), abs=1e-3)


def test_the_gradient_of_a_regression_is_counted_in_the_table_of_a_review_beside_a_tree(tmp_path: Path) -> None:
    """L-BFGS with its defaults: no rule bounds the gradient, which the table shows."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.integers(0, 2, 200), "b": rng.integers(0, 2, 200)})
    y = pd.Series(np.where(rng.random(200) < 0.3 + 0.4 * frame.a, "yes", "no"), name="y")
    fitted = DecisionTreeClassifier(max_depth=1).fit(frame, y)
    regression = LogisticRegression().fit(frame, y)
    written = str(tmp_path / "tree.json")
    maxent.convert(fitted, target="y").save(written)
    for model in ([fitted, regression], [regression, fitted], [written, regression], regression):
        found = maxent.review(model, frame, y, qi=["a", "b"], target="y", max_certain=0)
        assert not any("where the fit stopped" in each["what"] for each in found.row.get("unread") or ())
        assert found.verdict().status == "pass"


@pytest.mark.parametrize(
    ("function", "shown"),
    [
        (maxent.estimate, attrgetter("posterior")),
        (maxent.bounds, methodcaller("frame")),
        (maxent.audit, pd.Series),
    ],
)
def test_fitted_models_stand_in_lists_beside_files(function: Any, shown: Any, tmp_path: Path) -> None:
    people = pd.read_csv(D1 / "truth.csv")
    inputs, answers = pd.get_dummies(people[QI]).astype(int), people["Salary"]
    tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(inputs, answers)
    fit = LogisticRegression().fit(inputs, answers)
    beside = table(tmp_path, {**MEN, "where": {"Gender_Male": 1}})
    read = [maxent.convert(each, target="Salary") for each in (tree, fit)]
    found, wanted = function([tree, fit, beside], inputs, target="Salary"), function([*read, beside], inputs)
    assert shown(found).equals(shown(wanted))


def test_a_check_has_a_record_of_all_files_that_can_be_verified(tmp_path: Path) -> None:
    beside, record = table(tmp_path), tmp_path / "record.json"
    policy = tmp_path / "policy.toml"
    policy.write_text('name = "mine"\n[limits]\nmin_stated_cell = 3\n', encoding="utf-8")
    call = [str(D1 / "tree.json"), beside, str(D1 / "qi.csv"), "--policy", str(policy)]
    assert run(["check", *call, "--record", str(record)]) == 3
    found = json.loads(record.read_text(encoding="utf-8"))
    assert found["call"]["paths"]["statements"] == ["table1.json"]
    assert [each["role"] for each in found["inputs"]] == ["release", "table", "statements", "policy"]
    assert maxent.verify(record).status == "pass"
    table(tmp_path, {**MEN, "equals": 1})
    assert maxent.verify(record).status == "fail"
    said = parse_statements(json.loads(Path(table(tmp_path)).read_text(encoding="utf-8")), "s").release
    with pytest.raises(InvalidInput, match="files: a record has their hashes"):
        maxent.check([D1 / "tree.json", said], D1 / "qi.csv", policy).record()


def test_a_release_that_a_statement_names_is_a_file_of_the_record_and_of_the_folder(tmp_path: Path) -> None:
    labels, record, folder = Path(bare(tmp_path)), tmp_path / "record.json", tmp_path / "out"
    said = {"kind": "accuracy", "from": "labels.json", "equals": "0.8", "digits": 1}
    call = ["check", table(tmp_path, said), str(D1 / "qi.csv"), "--max-certain", "0"]
    run([*call, "--record", str(record), "--sacro", str(folder)])
    files = [each["path"] for each in json.loads(record.read_text(encoding="utf-8"))["inputs"]]
    assert "labels.json" in files
    assert (folder / "labels.json").read_bytes() == labels.read_bytes()
    assert maxent.verify(record).status == "pass"
    labels.write_text(json.dumps(json.loads(labels.read_text(encoding="utf-8"))) + " ", encoding="utf-8")
    assert maxent.verify(record).status == "fail"


def test_explain_and_audit_name_the_source(tmp_path: Path, capsys: Any) -> None:
    beside, other = table(tmp_path), table(tmp_path, {**MEN, "source": "Figure 2"}, name="figure.json")
    call = [str(D1 / "tree.json"), beside, other, str(D1 / "qi.csv")]
    assert run(["explain", *call, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["list"]
    assert [each["origin"] for each in told if each["kind"] == "statements"] == [
        "table1.json, Table 1, row 1",
        "figure.json, Figure 2",
    ]
    assert run(["explain", *call, "--latex"]) == 0
    assert "Figure 2" in capsys.readouterr().out
    regression = str(D1.parent / "statements" / "regression.json")
    assert run(["explain", regression, str(D1 / "qi.csv"), "--latex"]) == 0
    assert r"\text{(sum that the coefficient of Gender=Male alone" in capsys.readouterr().out
    assert run(["audit", *call, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["statements"]["smallest"] == 2


def test_a_column_that_is_missing_is_named_with_the_statement_that_has_it(tmp_path: Path) -> None:
    young = table(tmp_path, MEN, {**MEN, "where": {"Age": {"lt": 30}}, "source": "Table 2"})
    match = r"Age: expected a column of this name, as table1\.json, statement 2 \(Table 2\) has it, found none"
    for release in (young, [D1 / "tree.json", young]):
        with pytest.raises(InvalidInput, match=match):
            maxent.estimate(release, D1 / "qi.csv")


def test_cells_are_not_passed_where_more_is_stated_than_is_read(tmp_path: Path) -> None:
    """Splits were chosen among two columns in some way that nobody states."""
    tree = json.loads(Path(bare(tmp_path)).read_text(encoding="utf-8"))
    limits = {"min_stated_cell": 1, "max_stated_zeros": 9}
    for among, status in (({}, "pass"), ({"among": QI[:2]}, "cannot_tell")):
        tree["trees"][0]["induction"] |= among
        path = tmp_path / "drawn.json"
        path.write_text(json.dumps(tree), encoding="utf-8")
        rows = maxent.check([path, table(tmp_path)], D1 / "qi.csv", {"limits": limits}).rows
        assert {row.check.key: row.status for row in rows if row.check.key in limits} == dict.fromkeys(limits, status)


def test_a_regression_is_judged_by_its_coefficients_and_is_no_table() -> None:
    """11 people, an intercept and three values: that no leaf is small says nothing of it."""
    limits = {"min_dof": 8, "nk_dominance": {"n": 2, "k": 0.9}, "p_ratio": 0.1}
    found = maxent.check(D1.parent / "statements" / "regression.json", D1 / "qi.csv", {"limits": limits})
    shown = {row.check.key: (row.status, row.finding.figure) for row in found.rows if row.check.key in limits}
    assert shown == {"min_dof": ("fail", 7), "nk_dominance": ("cannot_tell", None), "p_ratio": ("cannot_tell", None)}


def test_audit_and_review_take_statements_for_no_tree(tmp_path: Path) -> None:
    beside, qi = table(tmp_path), D1 / "qi.csv"
    alone = maxent.audit_release(beside, qi)
    assert (alone.summary["leaves"], alone.lines[0]) == (0, "statements without a tree; 11 individuals")
    assert not any("leaf" in line for line in alone.lines)
    both = maxent.audit_release([beside, bare(tmp_path)], qi)
    assert both.lines[0] == maxent.audit_release(bare(tmp_path), qi).lines[0]
    assert both.summary["differencing"]["recovered"] == 0
    found = maxent.review(beside, D1 / "truth.csv", target="Salary", qi=QI)
    found.dossier(tmp_path / "dossier.html")
    assert "about Salary: statements, 11 people" in str(found)
    assert "1 count (table1.json)" in (tmp_path / "dossier.html").read_text(encoding="utf-8")


def test_one_set_of_people_has_one_symbol_in_latex(tmp_path: Path, capsys: Any) -> None:
    women = {**MEN, "where": {"Gender": "Female"}, "source": "A"}
    rest = {name: value for name, value in {**MEN, "equals": 4, "source": "B"}.items() if name != "where"}
    again = {**MEN, "class": "<=50K", "equals": 4, "source": "C"}
    call = [bare(tmp_path), table(tmp_path, rest, women, MEN, again), str(D1 / "qi.csv"), "--latex"]
    assert run(["explain", *call]) == 0
    text = capsys.readouterr().out
    salary = r"m_{%s,\text{\textgreater{}50K}} = %d$"
    assert r"B, statements: $" + salary % (r"\text{all}", 4) in text
    assert r"A, statements: $" + salary % ("F_{1}", 2) in text
    assert r"Table 1,{} row 1, statements: $" + salary % ("F_{2}", 2) in text
    assert r"C, statements: $m_{F_{2},\text{\textless{}=50K}} = 4$" in text
    assert r"Table 1,{} row 1: \textgreater{}50K 2 among Gender Male; table1.json,{} C: \textless{}=50K 4 among" in text


def test_what_cannot_stand_beside_a_tree_is_refused(tmp_path: Path) -> None:
    truth = D1 / "truth.csv"
    with pytest.raises(InvalidInput, match="statements beside one model of trees"):
        maxent.review([D1 / "tree.json", D1 / "tree.json"], truth, qi=QI, target="Salary")
    with pytest.raises(InvalidInput, match="same classes"):
        maxent.review([D1 / "tree.json", table(tmp_path, classes=(">50K", "less"))], truth, qi=QI, target="Salary")
    with pytest.raises(InvalidInput, match="a model, or a list of one"):
        maxent.review([], truth, qi=QI, target="Salary")
    unknown = {**MEN, "where": {"Gender": "Mael"}}
    with pytest.raises(InvalidInput, match="a value that somebody has"):
        maxent.review([D1 / "tree.json", table(tmp_path, unknown)], truth, qi=["Education", "Gender"], target="Salary")


def of_rows(rng: np.random.Generator, frame: pd.DataFrame, y: np.ndarray) -> tuple[dict[str, Any], Any]:
    """A statement that weighs people, true of a labelling, and whether it is of others, shape (n_labellings, n)."""
    age, sick, kind = frame.age.to_numpy(), y == "yes", rng.choice(["mean", "linear", "brier", "auc"])
    score = np.round(age / 100, 2)
    if kind == "mean":
        value = round(float(age[sick].mean()), 1)
        said = {"kind": "mean", "of": "age", "class": "yes", "equals": str(value)}
        return said, lambda every: np.abs(every @ age / np.maximum(every.sum(axis=1), 1) - value) <= 0.05 + 1e-9
    if kind == "linear":
        total = float(age[sick].sum())
        said = {"kind": "linear", "weight": "age", "class": "yes", "at_least": total - 3, "at_most": total + 2}
        return said, lambda every: (every @ age >= total - 3) & (every @ age <= total + 2)
    if kind == "brier":
        value = round(float(((score - sick) ** 2).mean()), 3)
        said = {"kind": "brier", "score": "score", "class": "yes", "equals": value, "digits": 3}
        return said, lambda every: np.abs(((score - every) ** 2).mean(axis=1) - value) <= 0.0005 + 1e-9
    wins = (score[:, None] > score) + 0.5 * (score[:, None] == score)

    def area(every: np.ndarray) -> np.ndarray:
        n = every.sum(axis=1)
        return np.einsum("li,ij,lj->l", every, wins, 1 - every) / np.maximum(n * (len(age) - n), 1e-9)

    value = round(float(area(sick[None, :].astype(float))[0]), 2)
    said = {"kind": "auc", "score": "score", "class": "yes", "equals": value, "digits": 2}
    return said, lambda every: np.abs(area(every) - value) <= 0.005 + 1e-9


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 6, hunted=60))
def test_rows_have_the_bounds_of_all_labellings_that_draws_and_weighed_statements_leave(seed: int) -> None:
    rng = np.random.default_rng([seed, 41])
    n = int(rng.integers(7, 10))
    frame = pd.DataFrame({"b": rng.integers(0, 2, n).astype(float), "age": rng.integers(20, 60, n).astype(float)})
    frame["score"] = np.round(frame.age / 100, 2)
    y = rng.choice(["no", "yes"], n)
    y[:2] = ["no", "yes"]
    grown = {"n_estimators": int(rng.integers(1, 3)), "max_depth": 1, "min_samples_leaf": 3, "random_state": seed}
    forest = maxent.from_sklearn(RandomForestClassifier(**grown).fit(frame[["b"]], y), target="y", features=["b"])
    said, holds = of_rows(rng, frame, y)
    target = {"name": "y", "classes": ["no", "yes"]}
    told = parse_statements({"format": "maxent-statements/1", "target": target, "statements": [said]}, "s.json")
    system = row_system([forest], read_qi(frame[["b"]], forest, rows=True))
    every = np.array(list(itertools.product((0, 1), repeat=n)))
    left = holds(every)
    for x in (0, 1):
        counts = (every == x) @ system.matrix.toarray().T
        left &= ((counts >= system.low[:, x]) & (counts <= system.high[:, x])).all(axis=1)
    possible = np.stack([(every[left] == x).any(axis=0) for x in (0, 1)], axis=1)
    assert possible[np.arange(n), (y == "yes").astype(int)].all()
    for level in ("closed", "linear", "integer"):
        found = maxent.bounds([forest, told.release], frame, rows=True, level=level)
        assert ((found.bounds.high >= 1) >= possible).all(), said
        if level == "integer":
            assert np.array_equal(found.bounds.high >= 1, possible), said
    alone = maxent.audit([forest, told.release], frame, rows=True)["row_equations"]
    assert alone["proved"] <= (possible.sum(axis=1) == 1).sum()


def test_rows_without_draws_of_their_own_follow_from_a_weighed_statement() -> None:
    """Six people whose draws tell nothing but how many are sick: the largest sum of ages tells who they are."""
    frame = pd.DataFrame({"b": np.zeros(6), "age": [20.0, 25.0, 30.0, 40.0, 50.0, 60.0]})
    y = np.array(["no"] * 4 + ["yes"] * 2)
    forest = RandomForestClassifier(n_estimators=1, random_state=0, bootstrap=True).fit(frame[["b"]], y)
    own = maxent.from_sklearn(forest, target="y", features=["b"])
    target = {"name": "y", "classes": ["no", "yes"]}
    said = [
        {"kind": "count", "class": "yes", "equals": 2},
        {"kind": "mean", "of": "age", "class": "yes", "equals": "55.0", "source": "Table 1"},
    ]
    told = {"format": "maxent-statements/1", "target": target, "statements": said}
    found = maxent.audit([own, parse_statements(told, "s.json").release], frame, rows=True)["row_equations"]
    assert found["proved"] >= 2
    said[1]["equals"] = "75.0"
    with pytest.warns(maxent.UnreliableResult):
        wrong = maxent.bounds([own, parse_statements(told, "s.json").release], frame, rows=True, level="closed")
    assert wrong.status == "inconsistent"
    assert wrong.program.contradictions


def test_statements_alone_are_taken_together_where_people_are_taken_in_parts() -> None:
    release, qi = Path(__file__).parents[2] / "examples" / "statements" / "regression.json", D1 / "qi.csv"
    whole, parts = maxent.estimate(release, qi), maxent.estimate(release, qi, memory="1GB")
    assert parts.summary["entropy"] == whole.summary["entropy"]
    assert parts.summary["constraints"] == whole.summary["constraints"]
    assert maxent.bounds(release, qi, level="closed", memory="1GB").summary["individuals"] == 11


def test_the_truth_clears_nobody_whom_a_standard_deviation_settles() -> None:
    ages, classes = [50, 20, 31, 62, 62, 30, 20], ["yes", "yes", "no", "yes", "yes", "yes", "yes"]
    people = pd.DataFrame({"age": ages, "t": classes}, dtype=object).assign(age=np.array(ages))
    said = {"kind": "sd", "of": "age", "where": {"age": {"ge": 25}}, "equals": 13, "ddof": 0, "class": "yes"}
    given = {"format": "maxent-statements/1", "target": {"name": "t", "classes": ["no", "yes"]}}
    release = parse_statements({**given, "statements": [{**said, "source": "Table 1"}]}, "sd.json").release
    proved = maxent.bounds(release, people[["age"]], level="integer").summary["certain_proved"]
    review = maxent.review(release, people, target="t", qi=["age"], max_certain=0, no_marginal=True)
    assert (proved, review.verdict().status) == (1, "fail")


def test_what_others_are_compared_with_is_proved_too(tmp_path: Path) -> None:
    ages = pd.DataFrame({"age": [23, 31, 40, 52, 29, 35, 44, 61, 38, 47]})
    told = {"of": "age", "class": "yes", "source": "Table 1"}
    spread = table(tmp_path, {"kind": "sd", **told, "equals": "6.5", "mean": 39.4}, classes=("no", "yes"))
    mean = table(tmp_path, {"kind": "mean", **told, "equals": "39.4", "n": 5}, name="mean.json", classes=("no", "yes"))
    first, last = maxent.compare([spread, mean], ages).verdict(max_certain=3).releases
    [check] = first.checks
    assert (first.decisive, first.status, check.found, check.estimated) == (False, "fail", 10, 1)
    assert last.status == "pass"
    [check] = maxent.compare([spread, mean], ages).verdict(max_certain=0).releases[0].checks
    assert (check.found, check.origin, check.possible) == (1, "estimate", None)  # proofs would find more
    for limits in ({"max_posterior": 0.99999}, {"max_posterior": 0.99999, "max_certain": 0}):
        check = maxent.estimate(spread, ages).verdict(**limits).releases[0].checks[0]
        assert (check.status, check.found, check.origin) == ("fail", 1.0, "proof")


def test_an_audit_lists_the_groups_whose_number_nothing_prints(tmp_path: Path, capsys: Any) -> None:
    people = pd.DataFrame({"age": [*range(20, 30), 31, 40], "sex": [*list("FM" * 5), "F", "M"]})
    people.to_csv(tmp_path / "qi.csv", index=False)
    up = {"kind": "count", "class": "yes", "source": "Table 1"}
    said = [
        {**up, "where": {"age": {"le": 29}}, "equals": 5},
        {**up, "where": {"age": {"le": 35}}, "equals": 5},
        {**up, "where": {"sex": "F"}, "equals": 3},
    ]
    path = table(tmp_path, *said, classes=("no", "yes"))
    call = ["audit", path, str(tmp_path / "qi.csv"), "--max-certain", "0"]
    assert run(call) == 0
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("numbers that nothing prints, the smallest first:") + 1
    assert lines[at].startswith("  0 yes of 1 individual: age=31, sex=F (table1.json, Table 1 (statement 2) less ")
    told = (
        "everything together gives the number of yes in a group (age 20 to 28, sex F), which it does not print: it is 3"
    )
    assert f"  {told}" in lines
    assert any("certain 1 by proof, at most 0: beyond the limit" in line for line in lines)
    assert any("single cells settle the class of 1 individual" in line for line in lines)
    assert run([*call, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["statements"]["unprinted"]
    assert (told[0]["number"], told[0]["people"], told[0]["who"]) == (0, 1, "age=31, sex=F")
    assert {"number": 0, "people": 1, "class": "yes"}.items() <= told[0].items()


def test_a_group_is_described_by_the_fewest_columns_that_tell_it_or_by_people(tmp_path: Path) -> None:
    people = pd.DataFrame({"age": range(20, 30), "sex": list("FM" * 5), "town": list("aabbccddee")})
    where = {"sex": "F", "town": "a", "age": 20}
    said = {"kind": "count", "class": "yes", "where": where, "equals": 1, "source": "Table 1"}
    program = compile_release(maxent.load_release(table(tmp_path, said, classes=("no", "yes"))), people)
    ages_of = np.array([program.table.named(i)["age"] for i in range(10)])[program.cells.owner]
    for ages, who in (
        ((20, 22, 24, 26, 28), "sex F"),
        ((25, 26, 27), "age 25 to 27"),
        ((20, 22), "sex F, town a or b"),
        (range(20, 30), "everybody"),
        ((20, 23, 28, 29), "sex=F, town=a, age=20; sex=F, town=e, age=28; sex=M, town=b, age=23; 1 more"),
    ):
        assert who_in(program, np.flatnonzero(np.isin(ages_of, ages))) == who


def test_a_cell_is_described_by_its_own_columns(tmp_path: Path) -> None:
    """All women live in a and b."""
    people = pd.DataFrame({"town": list("aabbccdd"), "sex": list("FFFFMMMM"), "y": list("ynynynnn")})
    said = {"kind": "table", "by": ["sex"], "source": "Table 1", "secondary": True}
    cells = [{"at": ["*"], "class": "y", "count": 3}, {"at": ["M"], "class": "y", "count": 1}]
    cells.append({"at": ["F"], "class": "y", "count": None})
    towns = {"kind": "count", "class": "y", "where": {"town": ["a", "c"]}, "equals": 2, "source": "Table 3"}
    path = table(tmp_path, {**said, "cells": cells}, towns, classes=("n", "y"))
    told = maxent.audit(path, people.drop(columns="y"))["statements"]
    assert [(one["who"], one["number"]) for one in told["unprinted"]] == [("town b or d", 1), ("sex F", 2)]


def test_words_of_statements_tell_rows_people_and_classes_apart(tmp_path: Path, capsys: Any) -> None:
    people = pd.DataFrame(
        {"age": [23, 31, 40, 52, 29, 35], "score": [0.2, 0.7, 0.6, 0.4, 0.3, 0.8], "told": list("nnnnyy")}
    )
    people["told"] = people.told.map({"n": "no", "y": "yes"})
    people.to_csv(tmp_path / "qi.csv", index=False)
    of = {"class": "yes", "source": "Table 1"}
    matrix = {"yes": {"yes": 2, "no": 0}, "no": {"yes": 1, "no": 3}}
    said = [
        {"kind": "auc", "score": "score", "equals": 0.8, **of},
        {"kind": "sd", "of": "age", "equals": 6.5, "mean": 39.4, **of},
        {"kind": "brier", "score": "score", "equals": 0.2, **of},
        {"kind": "log_loss", "score": "score", "equals": 0.6, **of},
        {"kind": "confusion", "prediction": "told", "matrix": matrix, "source": "Table 2"},
    ]
    path, qi = table(tmp_path, *said[:-1], classes=("no", "yes")), str(tmp_path / "qi.csv")
    assert run(["explain", path, qi]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line.startswith("  statements ")]
    assert len(set(rows)) == len(rows) > 12
    assert "  statements AUC 0.8 of score for yes, lower side, exact for 2 or 5 yes" in rows
    assert {"  statements Brier score 0.2 of score for yes", "  statements log-loss 0.6 of score for yes"} <= set(rows)
    confusion = table(tmp_path, said[-1], classes=("no", "yes"))
    assert run(["explain", confusion, qi]) == 0
    assert "table1.json, Table 2: 6 individuals" in capsys.readouterr().out.splitlines()
    limits = {"max_background": 0, "min_leaf": 10, "max_certain": 0}
    found = {row.check.key: row.finding.said for row in maxent.check(confusion, qi, {"limits": limits}).rows}
    assert "give away from 3 to 6 (" in found["max_background"]
    assert "leaves do not state" not in " ".join(found.values())
    verdict = maxent.audit_release(confusion, qi).verdict(max_certain=0)
    assert any("the search is for one tree alone, and there are statements" in line for line in verdict.lines())


def test_a_tree_that_follows_statements_says_what_it_is_called(tmp_path: Path) -> None:
    tree, beside, qi = D1 / "tree.json", table(tmp_path), D1 / "qi.csv"
    notes = [maxent.estimate(releases, qi).notes[0] for releases in ([tree, beside], [beside, tree])]
    assert notes[0] == "all releases hold together"
    assert notes[1].startswith("all releases hold together; the tree of ")
    assert notes[1].endswith("tree.json is called tree 2")


def test_reports_and_dossiers_of_statements_alone_speak_of_no_tree(tmp_path: Path) -> None:
    found = maxent.review(table(tmp_path), D1 / "truth.csv", qi=QI, target="Salary", max_certain=0)
    found.report(tmp_path / "report.html")
    found.dossier(tmp_path / "dossier.html")
    report, dossier = ((tmp_path / f"{name}.html").read_text(encoding="utf-8") for name in ("report", "dossier"))
    assert 'id="tree"' not in report
    assert "Published leaves" not in report
    assert "People in leaves" not in report
    page = dossier.partition("</style>")[2]
    assert "MX406" not in page
    assert "table1.json, Table 1, row 1" in page.partition('id="people"')[2]  # where what is inferred comes from
    assert "statements" in page.partition("Used as")[2].partition("table1.json")[0]
    told = page.replace("the model's answer for any input", "").replace("statements without a tree", "")
    told = told.replace("the model&#39;s answer for any input", "").partition('id="provenance"')[0]
    assert not re.search(r"\b(trees?|lea(f|ves)|nodes?|model|trained|training)\b", re.sub("<[^>]*>", " ", told))
