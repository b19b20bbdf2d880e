"""The difference of two successive releases: who joined, left or stayed, and what is proved and estimated of them."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from support.strategies import leaves_of, populations, thorough
from support.successive import WHO, Successive, successive

import maxent
from maxent.__main__ import main
from maxent.models.errors import InvalidInput, UnreliableResult
from maxent.models.release import Release

EXAMPLE = Path(__file__).parents[2] / "examples" / "successive"
OLD, NEW, OLD_QI, NEW_QI = (str(EXAMPLE / name) for name in ("old.json", "new.json", "old.csv", "new.csv"))
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
        ["--diff", OLD, NEW, "--qi", OLD_QI, NEW_QI],
        ["--diff", OLD, NEW, OLD_QI, NEW_QI],
        ["--qi", OLD_QI, "--qi", NEW_QI, OLD, NEW, "--diff"],
    ]
    printed = []
    for call in calls:
        assert main(["compare", *call, "--who", "id", "--level", "linear", "-o", str(out)]) == 0
        printed.append(capsys.readouterr().out)
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
    assert main(["compare", *calls[0], "--who", "id", "--level", "linear", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    changes = {"individuals": 1, "certain_proved": 1, "by_difference": 1, "certain_estimated": 1}
    assert summary["joined"] == summary["left"] == changes
    assert (summary["stayed"]["individuals"], summary["status"], summary["estimate"]) == (8, "proved", "optimal")


def test_nobody_joined_or_left_the_same_table(capsys):
    assert main(["compare", "--diff", OLD, OLD, OLD_QI, "--level", "linear"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["nobody joined", "nobody left", "9 individuals stayed: nobody's salary is proved"]


def test_the_same_counts_of_other_people_contradict_the_tables(capsys):
    assert main(["compare", "--diff", OLD, OLD, OLD_QI, NEW_QI, "--who", "id"]) == 1
    printed = capsys.readouterr()
    assert "inconsistent: the statements contradict each other or the table" in printed.out
    assert "not to be relied on: bounds inconsistent, estimate inconsistent" in printed.err
    with pytest.warns(UnreliableResult, match="bounds inconsistent"):
        found = maxent.compare_releases([OLD, OLD], [OLD_QI, NEW_QI], who="id", level="closed")
    assert not found.reliable
    assert found.summary["contradictions"]
    assert repr(found).startswith("Difference of old.json (1) and old.json (2): inconsistent")


def test_groups_of_people_who_are_alike_without_a_key(tmp_path):
    found = maxent.compare_releases([OLD, OLD], [OLD_QI, OLD_QI], level="linear")
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
        ([OLD], "TREE... QI: expected"),
    ],
)
def test_options_of_releases_side_by_side(capsys, options, says):
    assert main(["compare", "--diff", OLD, NEW, OLD_QI, NEW_QI, "--who", "id", *options]) == 2
    assert says in capsys.readouterr().err


def test_options_of_differences(capsys):
    assert main(["compare", OLD, NEW, OLD_QI, "--who", "id", "--level", "linear"]) == 2
    printed = capsys.readouterr().err
    assert "--who: expected none: it applies only to differences of two releases (--diff)" in printed
    assert "--level: expected none" in printed
    assert main(["compare", OLD, NEW, "--qi", OLD_QI, "--qi", NEW_QI]) == 2
    assert "--qi: expected one table without --diff" in capsys.readouterr().err
    with pytest.raises(InvalidInput, match="two releases, the first and its successor, found 3"):
        maxent.compare_releases([OLD] * 3, OLD_QI)
    with pytest.raises(InvalidInput, match="qi: expected the adversary's table"):
        maxent.compare_releases([OLD, NEW], None)
    with pytest.raises(InvalidInput, match="found one"):
        maxent.compare_releases(OLD, OLD_QI)
