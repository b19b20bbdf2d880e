"""Several releases about overlapping people: what they tell together, in Python and on the command line."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from support.calls import printed_by, refused
from support.strategies import leaves_of, populations, thorough
from support.successive import WHO, Successive, successive

import maxent
from maxent.__main__ import main
from maxent.command_line.options import split_files
from maxent.models.errors import InvalidInput, UnreliableResult
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.statements.read import parse_statements

SPLIT = Node("N", "A", (Branch("L", ("x",)), Branch("R", ("y",))))
OLD_PEOPLE = pd.DataFrame({"id": [1, 2, 3, 4, 5], "A": list("xxxyy"), "Y": list("aabba")})
NEW_PEOPLE = pd.DataFrame({"id": [2, 3, 4, 5, 6], "A": list("xxyyx"), "Y": list("abbab")})


def release(people: pd.DataFrame) -> Release:
    """A tree with a leaf for each value of A that states its counts."""
    counts = [{c: int(((people["A"] == a) & (people["Y"] == c)).sum()) for c in "ab"} for a in "xy"]
    nodes = (SPLIT, Node("L", counts=counts[0]), Node("R", counts=counts[1]))
    return Release(Target("Y", ("a", "b")), (Attribute("A", values=("x", "y")),), (Tree(nodes),))


OLD, NEW = release(OLD_PEOPLE), release(NEW_PEOPLE)
TABLES = [OLD_PEOPLE[["id", "A"]], NEW_PEOPLE[["id", "A"]]]


def test_a_joiner_is_disclosed_by_the_difference():
    grown = pd.concat([OLD_PEOPLE, NEW_PEOPLE.iloc[[4]]])
    alone = maxent.bounds(release(grown), grown[["A"]])
    together = maxent.bounds([OLD, release(grown)], [OLD_PEOPLE[["A"]], grown[["A"]]])
    assert alone.certain_proved == 0
    assert together.certain_proved == 1
    assert together.frame().set_index(["releases", "A", "class"]).loc[("2", "x", "b"), "low"] == 1


def test_estimates_of_people_who_join_and_leave():
    found = maxent.estimate([OLD, NEW], TABLES, pd.concat([OLD_PEOPLE, NEW_PEOPLE.iloc[[4]]]), who="id")
    posterior = found.posterior.set_index(["releases", "A"])
    assert posterior["count"].to_dict() == {("1", "x"): 1, ("1+2", "x"): 2, ("2", "x"): 1, ("1+2", "y"): 2}
    # Of three old people two are a, of three new ones one is: the two who stay have one a, who left is a, who came b.
    for who, share in (("1", 1.0), ("1+2", 0.5), ("2", 0.0)):
        assert posterior.loc[(who, "x"), "P(a)"] == pytest.approx(share, abs=1e-6)
    assert found.summary["divergence"]["overall"] >= 0
    assert found.summary["constraints"]["counts"] == 8


def test_a_marginal_of_everybody_needs_a_file_where_no_release_has_all():
    refused("as no release has all people", maxent.estimate, [OLD, NEW], TABLES, who="id", knowledge="label,marginal")
    assert maxent.estimate([OLD, OLD], OLD_PEOPLE, knowledge="label,marginal").summary["constraints"]["marginal"] == 2


def test_control_people_and_boosted_trees_are_for_one_release():
    with pytest.raises(InvalidInput, match="control: expected none: it applies only to one release"):
        maxent.estimate([OLD, NEW], TABLES, OLD_PEOPLE, who="id", control=NEW_PEOPLE)
    with pytest.raises(InvalidInput, match="risk: expected none: it applies only to one release"):
        maxent.audit([OLD, NEW], TABLES, who="id", risk=True)
    refused(r"expected trees, .*, found generalised records", maxent.estimate, [OLD, OLD_PEOPLE], TABLES, who="id")


@pytest.mark.parametrize("values", [["y", "x"], ["z", "x", "y"], None])
def test_people_reach_their_leaves_whatever_the_order_of_values_in_files(tmp_path, values):
    """Files number the values of an attribute, each in its own order; statements name some that nobody has."""
    people = pd.DataFrame({"A": list("xxx"), "Y": list("aab")})
    release(people).save(tmp_path / "one.json")
    other = json.loads((tmp_path / "one.json").read_text(encoding="utf-8"))
    if values is None:
        said = {"kind": "count", "where": {"A": "z"}, "class": "a", "equals": 0}
        other = {"format": "maxent-statements/1", "target": {"name": "Y", "classes": ["a", "b"]}, "statements": [said]}
    else:
        other["attributes"][0]["values"] = values
        other["trees"][0]["nodes"][0]["branches"][1]["in"] = [value for value in values if value != "x"]
    (tmp_path / "two.json").write_text(json.dumps(other), encoding="utf-8")
    files = [tmp_path / "one.json", tmp_path / "two.json"]
    for order in (files, files[::-1]):
        found = maxent.bounds(order, people[["A"]])
        assert found.low.tolist() == found.high.tolist() == [[pytest.approx(2 / 3), pytest.approx(1 / 3)]]


def test_the_first_of_equal_attributes_needs_one_order():
    both = Attribute("B", values=("u",))
    one = replace(OLD, attributes=(*OLD.attributes, both))
    other = replace(OLD, attributes=(both, *OLD.attributes))
    people = OLD_PEOPLE.assign(B="u")
    refused("ties: expected any", maxent.bounds, [one, other], people, ties="first")
    assert maxent.bounds([one, one], people, ties="first", level="closed").status == "proved"


def test_an_audit_recovers_the_counts_of_those_who_joined():
    grown = pd.concat([OLD_PEOPLE, NEW_PEOPLE.iloc[[4]]])
    found = maxent.audit([OLD, release(grown)], [OLD_PEOPLE[["A"]], grown[["A"]]])
    assert (found["leaves"], found["differencing"]["removed"]) == (4, 0)
    [recovered] = found["recovered"]
    assert recovered["counts"] == {"a": 0, "b": 1}
    assert found["exposed"]["differencing"] == 1


def test_each_release_is_audited_and_judged_by_how_it_prints_error_rates():
    def rated(rate: float, other: float) -> Release:
        nodes = (SPLIT, Node("L", label="a", error_rate=rate), Node("R", label="a", error_rate=other))
        return replace(OLD, trees=(Tree(nodes),))

    people = pd.DataFrame({"A": list("xxxyyyyyyyyy")})
    both = [rated(0.33, 0.22), rated(1 / 3, 2 / 9)]
    assert maxent.estimate(both, people).verdict(max_certain=0, max_posterior=0.9).status == "pass"
    alone = [maxent.audit(each, people)["exposed"] for each in both]
    assert maxent.audit(both, people)["exposed"] == alone[0] == alone[1]
    with pytest.warns(UnreliableResult):  # the counts are of others
        assert maxent.audit([rated(0.33, 0.22), OLD], people)["leaves"] == 4


EXAMPLE = Path(__file__).parents[2] / "examples" / "successive"
FILES = [str(EXAMPLE / name) for name in ("old.json", "new.json", "old.csv", "new.csv")]


@pytest.mark.parametrize("command", ["estimate", "bounds", "audit"])
def test_commands_take_releases_and_their_tables(capsys, tmp_path, command):
    out = tmp_path / "out.csv"
    assert main([command, *FILES, "--who", "id", "--json", "-o", str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["individuals"] == 10
    assert pd.read_csv(out)["releases"].value_counts().sort_index().index.tolist() == ["1", "1+2", "2"]
    assert "or --who, the column that names each person" in printed_by(capsys, [command, *FILES], 2).err


def test_commands_take_releases_about_the_people_of_one_table(capsys, tmp_path):
    report = tmp_path / "report.html"
    call = [FILES[0], FILES[0], FILES[2]]
    text = printed_by(capsys, ["estimate", *call, "--max-certain", "0", "--report", str(report)]).out
    assert "trees are numbered through: 1 of old.json (1), 2 of old.json (2)" in text
    assert "releases" not in text.splitlines()[0]
    assert "old + old" in report.read_text(encoding="utf-8")
    assert json.loads(printed_by(capsys, ["audit", *call[:2], "--json"]).out)["leaves"] == 4
    assert main(["audit", *call[:2], "--json"]) == 0


def test_which_files_are_tables():
    for files, found in {
        ("a", "b"): (1, 1),
        ("a.csv", "b.csv"): (1, 1),
        ("a.csv", "b.csv", "c.csv"): (2, 1),
        ("a.json", "b.txt", "c.parquet"): (2, 1),
        ("a", "b", "c.csv", "-"): (2, 2),
        ("a.json", "b.json", "c.json", "-"): (3, 1),
    }.items():
        assert tuple(map(len, split_files(files))) == found
    for files in (("a",), ("a", "b.JSON"), ("a", "b", "c"), ("a", "b.csv", "c.csv")):
        refused("and after them the adversary's table", split_files, files)
    for files, found in {("a",): (1, 0), ("a", "b.json"): (2, 0), ("a", "b", "c"): (3, 0), ("a", "b"): (1, 1)}.items():
        assert tuple(map(len, split_files(files, needed=False))) == found


@thorough(2)
@given(releases=successive())
def test_who_is_exposed_by_an_audit_has_the_class_that_it_shows(releases: Successive) -> None:
    shown_right(releases)


@pytest.mark.slow
@thorough(300)
@given(releases=successive())
def test_everybody_who_is_exposed_by_an_audit_has_the_class_that_it_shows(releases: Successive) -> None:
    shown_right(releases)


def shown_right(releases: Successive) -> None:
    """Classes that sure attacks show are those of everybody whom they are about."""
    try:
        found = maxent.audit_release(releases.releases, releases.tables, who=WHO)
    except InvalidInput:  # error rates that are printed in different ways
        return
    assert found.reliable
    assert found.people is not None
    frame, names = releases.frame, [a.name for a in found.people.attributes]
    for row in found.individuals.to_dict("records"):
        here = frame[(frame[names] == [row[name] for name in names]).all(axis=1)]
        assert len(here) == row["count"]
        if row["attack"] in ("unique", "homogeneity", "span", "differencing") and isinstance(row["disclosed"], str):
            assert set(here["Y"]) == {row["disclosed"]}


DIFFERENCE_OLD, DIFFERENCE_NEW, OLD_QI, NEW_QI = (
    str(EXAMPLE / name) for name in ("old.json", "new.json", "old.csv", "new.csv")
)
CLASSES = ("a", "b", "c")
FAST = 20  # Planted differences that are looked for by default


def crowd(seed: int) -> pd.DataFrame:
    """Random people, many of them alike."""
    random = np.random.default_rng(seed)
    n = int(random.integers(5, 60))
    names = {f"A{i}": random.choice(list("xyz"), n) for i in range(int(random.integers(1, 4)))}
    age = random.integers(20, 30, n).astype(float)
    return pd.DataFrame({**names, "Age": age, "Y": random.choice(CLASSES[: int(random.integers(2, 4))], n)})


def stated(release: Release, people: pd.DataFrame) -> Release:
    """A tree whose leaves count other people."""
    [tree] = release.trees
    leaf = leaves_of(release, people)[:, 0]
    nodes = tuple(
        replace(node, label=None, n=None, counts=_counted(release, people[leaf == i]) if node.is_leaf else None)
        for i, node in enumerate(tree.nodes)
    )
    return replace(release, trees=(replace(tree, nodes=nodes),))


def _counted(release: Release, people: pd.DataFrame) -> dict[str, int]:
    return {name: int((people["Y"] == name).sum()) for name in release.target.classes}


def planted(seed: int) -> tuple[list[Release], list[pd.DataFrame], str]:
    """A tree before and after somebody joined it, the tables of both, and the class of that person."""
    new = crowd(seed)
    qi = [name for name in new.columns if name != "Y"]
    grown = maxent.cart(new, target="Y", qi=qi, max_depth=3)
    old = new.drop(index=int(np.random.default_rng(seed).integers(len(new))))
    [joiner] = set(new.index) - set(old.index)
    return [stated(grown, old), stated(grown, new)], [old[qi], new[qi]], str(new["Y"].loc[joiner])


@pytest.mark.parametrize("seed", range(FAST))
def test_one_person_who_joins_the_same_tree_is_found(seed):
    releases, tables, truth = planted(seed)
    found = maxent.compare_releases(releases, tables, level="linear", knowledge="counts")
    assert found.summary["joined"] == {
        "individuals": 1,
        "certain_proved": 1,
        "by_difference": found.summary["joined"]["by_difference"],
        "certain_estimated": 1,
    }
    joiner = found.frame().iloc[0]
    assert (joiner["status"], joiner["count"], joiner["proved"]) == ("joined", 1, truth)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 1000, 250))
def test_a_thousand_planted_differences_are_all_found(first):
    for seed in range(first, first + 250):
        releases, tables, truth = planted(seed)
        rows = maxent.bounds(releases, tables, level="linear", knowledge="counts").frame()
        joiner = rows[(rows["releases"] == "2") & (rows["low"] == 1)]
        assert joiner[["class", "count"]].to_numpy().tolist() == [[truth, 1]], seed


@thorough(2)
@given(releases=successive(populations(rows=(3, 14), public=(1, 2), private=(0, 1), classes=(2, 3)), (2, 2)))
def test_what_is_proved_of_trees_grown_anew_is_true(releases: Successive) -> None:
    is_true(releases)


@pytest.mark.slow
@thorough(150)
@given(releases=successive(populations(rows=(3, 14), public=(1, 2), private=(0, 1), classes=(2, 3)), (2, 2)))
def test_whatever_is_proved_of_trees_grown_anew_is_true(releases: Successive) -> None:
    is_true(releases)


def is_true(releases: Successive) -> None:
    found = maxent.compare_releases(releases.releases, releases.tables, who=WHO, level="convex", confidence=1 - 1e-9)
    frame = found.frame()
    assert found.proof.status == "proved"
    classes = releases.everybody.frame["Y"]
    status = {"1": "left", "2": "joined", "1+2": "stayed"}
    for key, change, proved in zip(frame[found.who or ""], frame["status"], frame["proved"], strict=True):
        assert change == status[releases.frame["releases"].iloc[int(key)]]
        assert not isinstance(proved, str) or proved == classes.iloc[int(key)]


def test_trees_that_differ_prove_something_too():
    """The old tree has no splits: that its counts are fewer by one tells the class of who joined."""
    people = pd.DataFrame({"A": list("xxyyy"), "Y": list("abaab")})
    whole = maxent.cart(people.iloc[:4], target="Y", qi=["A"], max_depth=1, domains={"A": ["x", "y"]})
    leaf = replace(whole.trees[0].nodes[0], attribute=None, branches=(), counts={"a": 3, "b": 1})
    old = replace(whole, trees=(replace(whole.trees[0], nodes=(leaf,)),))
    found = maxent.compare_releases([old, stated(whole, people)], [people[["A"]].iloc[:4], people[["A"]]])
    assert found.summary["joined"]["certain_proved"] == found.summary["joined"]["by_difference"] == 1
    assert found.frame()["proved"].iloc[0] == "b"


def test_the_command_names_who_joined_and_left(capsys, tmp_path):
    out = tmp_path / "people.csv"
    calls = [
        ["--diff", DIFFERENCE_OLD, DIFFERENCE_NEW, "--qi", OLD_QI, NEW_QI],
        ["--diff", DIFFERENCE_OLD, DIFFERENCE_NEW, OLD_QI, NEW_QI],
        ["--qi", OLD_QI, "--qi", NEW_QI, DIFFERENCE_OLD, DIFFERENCE_NEW, "--diff"],
    ]
    printed = []
    for call in calls:
        printed.append(printed_by(capsys, ["compare", *call, "--who", "id", "--level", "linear", "-o", str(out)]).out)
    assert printed[1:] == printed[:1] * 2
    lines = [" ".join(line.split()) for line in printed[0].splitlines()]
    assert lines[:3] == [
        "id Department Degree status proved P(<=50K) P(>50K)",
        "10 Care yes joined >50K 0.000 1.000",
        "3 Sales yes left >50K 0.000 1.000",
    ]
    told = "the salary of 1 is proved, of 1 only by both releases together; 1 estimated above 0.999"
    assert f"1 individual joined: {told}" in lines
    assert "8 individuals stayed: nobody's salary is proved" in lines
    table = pd.read_csv(out)
    assert table.columns.tolist()[:6] == ["id", "Department", "Degree", "status", "proved", "proved_alone"]
    assert table.columns.tolist()[6:9] == ["P(<=50K)", "low(<=50K)", "high(<=50K)"]
    assert len(table) == 10
    summary = json.loads(printed_by(capsys, ["compare", *calls[0], "--who", "id", "--level", "linear", "--json"]).out)
    changes = {"individuals": 1, "certain_proved": 1, "by_difference": 1, "certain_estimated": 1}
    assert summary["joined"] == summary["left"] == changes
    assert (summary["stayed"]["individuals"], summary["status"], summary["estimate"]) == (8, "proved", "optimal")


def test_nobody_joined_or_left_the_same_table(capsys):
    assert main(["compare", "--diff", DIFFERENCE_OLD, DIFFERENCE_OLD, OLD_QI, "--level", "linear"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["nobody joined", "nobody left", "9 individuals stayed: nobody's salary is proved"]


def test_the_same_counts_of_other_people_contradict_the_tables(capsys):
    assert main(["compare", "--diff", DIFFERENCE_OLD, DIFFERENCE_OLD, OLD_QI, NEW_QI, "--who", "id"]) == 1
    printed = capsys.readouterr()
    assert "inconsistent: the statements contradict each other or the table" in printed.out
    assert "not to be relied on: bounds inconsistent, estimate inconsistent" in printed.err
    with pytest.warns(UnreliableResult, match="bounds inconsistent"):
        found = maxent.compare_releases([DIFFERENCE_OLD, DIFFERENCE_OLD], [OLD_QI, NEW_QI], who="id", level="closed")
    assert not found.reliable
    assert found.summary["contradictions"]
    assert repr(found).startswith("Difference of old.json (1) and old.json (2): inconsistent")


def test_groups_of_people_who_are_alike_without_a_key(tmp_path):
    found = maxent.compare_releases([DIFFERENCE_OLD, DIFFERENCE_OLD], [OLD_QI, OLD_QI], level="linear")
    frame = found.frame()
    assert frame.columns.tolist()[:4] == ["Department", "Degree", "status", "count"]
    assert frame["count"].sum() == 9
    found.save(tmp_path / "difference.json")
    assert len(json.loads((tmp_path / "difference.json").read_text(encoding="utf-8"))["rows"]) == len(frame)
    assert "stayed" in found._repr_html_()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--truth", OLD_QI], "--truth: expected none: it applies only to releases side by side, without --diff"),
        (["--max-certain", "0"], "--max-certain: expected none: it applies only to releases side by side"),
        (["--plot", "bars"], "--plot: expected none"),
        (["--min-size", "2", "--top", "3"], "--top: expected none"),
        ([DIFFERENCE_OLD], "TREE... QI: expected"),
    ],
)
def test_options_of_releases_side_by_side(capsys, options, says):
    assert main(["compare", "--diff", DIFFERENCE_OLD, DIFFERENCE_NEW, OLD_QI, NEW_QI, "--who", "id", *options]) == 2
    assert says in capsys.readouterr().err


def test_options_of_differences(capsys):
    assert main(["compare", DIFFERENCE_OLD, DIFFERENCE_NEW, OLD_QI, "--who", "id", "--level", "linear"]) == 2
    printed = capsys.readouterr().err
    assert "--who: expected none: it applies only to differences of two releases (--diff)" in printed
    assert "--level: expected none" in printed
    assert main(["compare", DIFFERENCE_OLD, DIFFERENCE_NEW, "--qi", OLD_QI, "--qi", NEW_QI]) == 2
    assert "--qi: expected one table without --diff" in capsys.readouterr().err
    refused("two releases, the first and its successor, found 3", maxent.compare_releases, [DIFFERENCE_OLD] * 3, OLD_QI)
    refused("qi: expected the adversary's table", maxent.compare_releases, [DIFFERENCE_OLD, DIFFERENCE_NEW], None)
    refused("found one", maxent.compare_releases, DIFFERENCE_OLD, OLD_QI)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["auc", "sd"])
def test_an_auc_and_a_deviation_are_about_the_people_of_their_release(seed: int, kind: str) -> None:
    """Of six people; four others are in the second release only. Against all 1,024 labellings."""
    rng = np.random.default_rng(seed)
    x, y = rng.permutation(10) + 1, rng.random(10) < 0.5
    y[:3] = False, True, True

    def figure(yes: np.ndarray) -> float:
        mine, others = x[:6][yes[:6]], x[:6][~yes[:6]]
        if kind == "sd":
            return float(np.std(mine, ddof=1)) if len(mine) > 1 else np.nan
        return float((mine[:, None] > others).mean()) if 0 < len(mine) < 6 else np.nan

    printed, of = f"{figure(y):.2f}", {"score": "x"} if kind == "auc" else {"of": "x"}
    told = (
        {"kind": kind, **of, "class": "y", "equals": printed},
        {"kind": "count", "class": "y", "equals": int(y.sum())},
    )
    document = {"format": "maxent-statements/1", "target": {"name": "c", "classes": ["n", "y"]}}
    both = [parse_statements({**document, "statements": [one]}, f"{i}.json").release for i, one in enumerate(told)]
    table = pd.DataFrame({"x": x.astype(float), "who": np.arange(10)})
    found = maxent.bounds(both, [table[:6], table], who="who", level="integer").frame()
    worlds = (np.arange(1024)[:, None] >> np.arange(10)) & 1 == 1
    agree = [w for w in worlds if w.sum() == y.sum() and abs(figure(w) - float(printed)) <= 0.005 + 1e-9]
    bounds = found[found["class"] == "y"].set_index("x").loc[x, ["low", "high"]]
    assert bounds["low"].tolist() == np.min(agree, axis=0).tolist()
    assert bounds["high"].tolist() == np.max(agree, axis=0).tolist()
