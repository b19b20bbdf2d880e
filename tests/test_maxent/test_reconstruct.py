"""``maxent reconstruct``: its table, what of it is proved, and what it refuses."""

import json
import os
import signal
from collections import Counter
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.ensemble import GradientBoostingClassifier
from support.calls import printed_by
from support.paths import D1

import maxent
from maxent.api.reconstruct import Rebuilding, reconstruct_release
from maxent.constraints.patterns import atoms_of, stated_counts
from maxent.models import packages
from maxent.models.errors import InvalidInput, MissingExtra
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.results.reconstruction import print_reconstruction, recount
from maxent.solvers.worlds import scored, tables


def stump(attribute: str, branches: list[dict[str, object]], counts: list[tuple[int, int]]) -> Tree:
    """A tree of one split, with the counts of a and b in its leaves."""
    leaves = [Node(f"L{i}", counts={"a": a, "b": b}) for i, (a, b) in enumerate(counts)]
    taken = tuple(Branch(leaf.id, **branch) for leaf, branch in zip(leaves, branches, strict=True))
    return Tree((Node("N", attribute, taken), *leaves))


def release(*trees: Tree) -> Release:
    attributes = (
        Attribute("Q", values=("p", "q|", "r")),
        Attribute("Age", "numeric"),
        Attribute("Other", values=("u", "v")),
    )
    return Release(Target("X", ("a", "b")), attributes, trees)


BY_Q = stump("Q", [{"values": ("p",)}, {"values": ("q|", "r")}], [(2, 0), (1, 3)])
BY_AGE = stump("Age", [{"le": 30.5}, {"gt": 30.5}], [(3, 1), (0, 2)])


# Three of class a by the one tree, two by the other.
CONTRADICTED = release(BY_Q, stump("Age", [{"le": 30.5}, {"gt": 30.5}], [(2, 2), (0, 2)]))


def nowhere(*arguments: object) -> None:
    """A solver that finds nothing."""


def near(found: Release, most_patterns: int = 100) -> maxent.Reconstruction:
    """What is found where there is no time for a solver."""
    return reconstruct_release(found, None, Rebuilding(time_limit=2, most_patterns=most_patterns), run=nowhere)


def test_known_columns_are_kept_and_files_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = pd.read_csv(D1 / "qi.csv").drop(columns="Gender")
    known.to_csv(tmp_path / "known.csv", index=False)
    table, proved = tmp_path / "table.csv", tmp_path / "proved.csv"
    files = [str(D1 / "tree.json"), str(tmp_path / "known.csv"), "-o", str(table), "--proved", str(proved)]
    said = json.loads(printed_by(capsys, ["reconstruct", *files, "--json"]).out)
    assert said["status"] == "likeliest"
    assert (said["individuals"], said["cells"], said["missed"], said["settled"]) == (11, 22, 0, True)
    assert said["known"] == list(known.columns)
    rows, sure = pd.read_csv(table), pd.read_csv(proved)
    assert list(rows.columns) == list(sure.columns) == ["Education", "Country", "Gender", "Salary"]
    assert rows[list(known.columns)].equals(known)
    assert sure[list(known.columns)].all(axis=None)
    assert int(sure[["Gender", "Salary"]].to_numpy().sum()) == said["cells_proved"]
    # Masters of Canada: two women, one of them above 50K, and two men below.
    of_canada = rows[(rows["Education"] == "Masters") & (rows["Country"] == "Canada")]
    assert sorted(zip(of_canada["Gender"], of_canada["Salary"], strict=True)) == [
        ("Female", "<=50K"),
        ("Female", ">50K"),
        ("Male", "<=50K"),
        ("Male", "<=50K"),
    ]


def test_text_marks_what_is_not_proved(capsys: pytest.CaptureFixture[str]) -> None:
    print_reconstruction(replace(near(release(BY_Q, BY_AGE)), notes=("choices of splits are not used",)))
    printed = capsys.readouterr().out
    assert "(30.5, inf)?" in printed
    assert "6 individuals; known of them: nothing" in printed
    assert "proved: 15 of 24 unknown cells, and all of 0 rows (?: not proved); there was no time" in printed
    assert "consistent: the table agrees with all numbers and labels that are stated" in printed
    assert "note: choices of splits are not used" in printed
    print_reconstruction(near(CONTRADICTED))
    printed = capsys.readouterr().out
    assert "partial: no table that agrees with all numbers and labels was found in time" in printed
    assert "missed: 2 of 8 statements" in printed


def test_cells_are_what_the_release_tells_apart() -> None:
    found = near(release(BY_Q, BY_AGE))
    assert found.status == "consistent"
    assert sorted(found.table["Q"]) == ["p", "p", *["q\\||r"] * 4]
    assert sorted(found.table["Age"]) == [*["(-inf, 30.5]"] * 4, *["(30.5, inf)"] * 2]
    assert set(found.table["Other"]) == {"*"}
    assert not found.proved["Other"].any()
    assert found.proved[["Q", "X"]].all(axis=None)  # as the first tree states
    assert not found.settled
    assert "consistent" in repr(found)


def test_without_time_the_table_is_the_nearest_and_never_a_random_one() -> None:
    found = near(CONTRADICTED)
    assert (found.status, found.reliable) == ("partial", False)
    assert not found.shared.any()
    assert sorted(found.table["X"]) in (["a"] * 2 + ["b"] * 4, ["a"] * 3 + ["b"] * 3)
    assert len(found.missed) == found.summary["missed"] == 2
    assert found.table.equals(near(CONTRADICTED).table)


def test_more_kinds_of_people_than_are_looked_at_are_a_sample() -> None:
    found = near(release(BY_Q, BY_AGE), most_patterns=1)
    assert found.sampled
    assert found.patterns == 2
    assert not found.settled
    assert not found.shared.any()
    assert any("too many kinds" in line for line in found._display().lines)


def test_a_recount_finds_what_a_table_misses() -> None:
    found = release(BY_Q, BY_AGE)
    atoms, trees = atoms_of(found), stated_counts(found)
    value = np.zeros((6, 3), np.int64)  # all p, at most 30.5
    stated, missed = recount(found, atoms, trees, value, np.array([0, 0, 0, 1, 1, 1]))
    assert stated == 8
    assert [str(each) for each in missed][:2] == [
        "tree 1, leaf L0: states 2 people of a, the table has 3",
        "tree 1, leaf L0: states 0 people of b, the table has 3",
    ]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"people": 12}, "options: argument: people: expected what the release states: 11, found 12"),
        ({"people": 0}, "people: expected a number of individuals, at least 1"),
        ({"time_limit": -1}, "time_limit: expected a positive number of seconds"),
        ({"seed": -1}, "seed: expected a whole number"),
        ({"qi": pd.DataFrame({"Nothing": [1]})}, "qi: columns: columns: expected a column of at least one public"),
        ({"qi": pd.DataFrame({"Gender": ["Neither"] * 11})}, "Gender"),
        ({"qi": pd.DataFrame({"Gender": ["Male"] * 11}), "people": 3}, "the rows of qi: 11, found 3"),
    ],
)
def test_wrong_arguments_are_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidInput, match="expected") as error:
        maxent.reconstruct(D1 / "tree.json", **options)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"sampling_rate": 0.5}, "a table cannot be rebuilt from a sample, found a sample"),
        ({"resampled": 6}, "people: expected the number of individuals"),
        ({"trees": (Tree((Node("L", label="a"),)),)}, "counts, or sizes n, of nodes"),
        ({"trees": (Tree((Node("L", counts={"a": 0, "b": 0}),)),)}, "1 to 5,000,000 people"),
        ({"suppressed_below": 3}, "people: expected the number of individuals"),
    ],
)
def test_releases_that_do_not_say_how_many_are_refused(changed: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidInput, match="expected") as error:
        maxent.reconstruct(replace(release(BY_Q, BY_AGE), **changed))
    assert says in str(error.value)


def test_it_needs_or_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "installed", lambda module: module != "ortools")
    with pytest.raises(MissingExtra, match="whole tables need OR-Tools"):
        maxent.reconstruct(D1 / "tree.json")


# Of the people up to 30 one is of class a and one of class b; of the others both are of class a.
ONE_OF_EACH = release(stump("Age", [{"le": 30.5}, {"gt": 30.5}], [(1, 1), (2, 0)]))


@pytest.mark.parametrize("ages", [(20, 25, 40, 50), (25, 20, 50, 40)])
@pytest.mark.promise(number=8)
def test_who_is_told_apart_by_known_columns_alone_is_not_proved(ages: tuple[int, ...]) -> None:
    """A row is a person: of two in one leaf, known by their ages, nobody can say who is of which class."""
    found = maxent.reconstruct(ONE_OF_EACH, pd.DataFrame({"Age": ages}))
    assert found.status == "likeliest"
    assert found.proved["Age"].all()
    assert found.proved["X"].tolist() == [False, False, True, True]
    assert found.table["X"].tolist()[2:] == ["a", "a"]


def test_a_known_column_that_no_tree_tests_tells_people_apart() -> None:
    """Which person of a leaf has which class is open, whichever column it is that tells them apart."""
    found = maxent.reconstruct(release(BY_Q), pd.DataFrame({"Age": [1, 2, 3, 4, 5, 6]}))
    assert not found.proved[["Q", "X"]].any(axis=None)


def test_names_beside_what_is_known_tell_people_apart(tmp_path: Path) -> None:
    """Rows stay where they are: of two people of one age nobody can say who is of which class."""
    named = pd.DataFrame({"Age": [20, 20, 40, 50], "Name": ["Ann", "Ben", "Cy", "Dee"]})
    named.to_csv(tmp_path / "named.csv", index=False)
    for known in (named, tmp_path / "named.csv"):
        found = maxent.reconstruct(ONE_OF_EACH, known)
        assert found.proved["X"].tolist() == [False, False, True, True]
    alike = maxent.reconstruct(ONE_OF_EACH, named.assign(Name="-"))
    assert alike.proved["X"].all()


def test_people_who_are_known_by_the_same_are_still_proved_as_a_group() -> None:
    """Rows that nothing tells apart can be matched with each other: so many of them are of each class."""
    found = maxent.reconstruct(ONE_OF_EACH, pd.DataFrame({"Age": [20, 20, 40, 50]}))
    assert found.proved["X"].all()
    assert sorted(found.table["X"][:2]) == ["a", "b"]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.promise(number=8)
def test_what_is_proved_with_known_columns_holds_for_every_assignment(seed: int) -> None:
    """Small tables by brute force: all orders of unknown cells of people with other known ages that keep the release.

    A person keeps the age, and takes the class and the value of anybody else: wherever every tree states the same of
    the table that comes of it, each proved cell is that person's cell.
    """
    rng = np.random.default_rng(seed)
    n = 5
    age, q, klass = rng.integers(28, 34, n), rng.choice(["p", "r"], n), rng.choice(["a", "b"], n)

    def stated(q: np.ndarray, klass: np.ndarray) -> list[list[tuple[int, int]]]:
        sides = [[q == "p", q != "p"], [age <= 30.5, age > 30.5]]
        return [[tuple(int((at & (klass == c)).sum()) for c in "ab") for at in side] for side in sides]

    by_q, by_age = stated(q, klass)
    trees = (
        stump("Q", [{"values": ("p",)}, {"values": ("q|", "r")}], by_q),
        stump("Age", [{"le": 30.5}, {"gt": 30.5}], by_age),
    )
    found = maxent.reconstruct(release(*trees), pd.DataFrame({"Age": age}))
    assert found.reliable
    for order in permutations(range(n)):
        moved = list(order)
        if stated(q[moved], klass[moved]) != [by_q, by_age]:
            continue
        # People of one age are told apart by nothing: a proof is of how many of them there are.
        for of_age in np.unique(age):
            rows = np.flatnonzero(age == of_age)
            for column, truth in (("X", klass[moved]), ("Q", np.where(q[moved] == "p", "p", "q\\||r"))):
                sure = found.proved[column].to_numpy()[rows]
                assert Counter(found.table[column].to_numpy()[rows][sure].tolist()) <= Counter(truth[rows].tolist())


def killed(*given: object) -> None:
    """In the process that solves: end it as the system does where memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_dies_is_told_and_nothing_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tables, "_there", killed)
    table = tmp_path / "table.csv"
    said = printed_by(capsys, ["reconstruct", str(D1 / "tree.json"), str(D1 / "qi.csv"), "-o", str(table)], 2)
    assert "maxent: the solver ended (SIGKILL): it was ended from outside, perhaps for want of memory" in said.err
    assert said.out == ""
    assert not table.exists()


def test_a_label_beside_suppressed_counts_is_used() -> None:
    """Of one person whose counts hide 0 to 2 it tells the class; beside a class that is shown it tells nothing."""
    told = Release(
        Target("Y", ("HIV", "no")),
        (Attribute("Age", "numeric"),),
        (Tree((Node("L", label="HIV", counts={"HIV": 0, "no": 0}),)),),
        suppressed_below=3,
    )
    found = maxent.reconstruct(told, pd.DataFrame({"Age": [40.0]}))
    assert found.table["Y"].tolist() == ["HIV"]
    assert found.proved["Y"].tolist() == [True]
    [tree] = stated_counts(replace(told, trees=(Tree((Node("L", label="HIV", counts={"HIV": 0, "no": 3}),)),)))
    assert tree.label.tolist() == [-1]


@pytest.mark.parametrize(
    "tool", ["xgboost", *(pytest.param(t, marks=pytest.mark.slow) for t in ("lightgbm", "gradient boosting"))]
)
def test_leaf_values_of_a_tool_give_its_people_away(tool: str) -> None:
    """Without their table: the truth is a table of those that there are, and has what is proved."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (40, 5)).astype(float), columns=list("abcde"))
    y = (X["a"] + X["b"] + rng.integers(0, 2, 40) >= 2).astype(int)
    model: Any
    if tool == "xgboost":
        import xgboost

        model = xgboost.XGBClassifier(n_estimators=6, n_jobs=1)
    elif tool == "lightgbm":
        import lightgbm

        model = lightgbm.LGBMClassifier(n_estimators=6, min_child_samples=4, n_jobs=1, verbose=-1)
    else:
        model = GradientBoostingClassifier(n_estimators=3, random_state=0)
    release = maxent.convert(model.fit(X, y), target="y")
    found = maxent.reconstruct(release, people=40, time_limit=100)
    assert found.status == "likeliest"
    assert found.settled
    assert found.missed == ()
    assert found.statements >= sum(node.is_leaf for tree in release.trees for node in tree.nodes)
    assert found.shared[:, [*found.atoms.tested.tolist(), True]].mean() > 0.3
    codes = [found.atoms.code(j, X[a.name].to_numpy()) for j, a in enumerate(release.attributes)]
    truth, table = np.column_stack([*codes, y]), np.column_stack([found.value, found.klass])
    wrong = ((truth[:, None] != table[None]) & found.shared[None]).any(axis=2)
    assert not wrong[linear_sum_assignment(wrong)].any()


def test_trees_that_tell_nobody_further_apart_are_taken_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """One question for four rounds over one split; and a table that misses nothing is no partial one."""
    asked: list[int] = []
    original = scored.Ask.peopled

    def counted(self: Any, group: Any) -> Any:
        asked.append(len(group))
        return original(self, group)

    x = pd.DataFrame({"a": [0.0] * 12 + [1.0] * 8})
    y = np.array(["no"] * 9 + ["yes"] * 9 + ["no"] * 2)
    model = GradientBoostingClassifier(n_estimators=4, max_depth=1, random_state=0).fit(x, y)
    release = maxent.from_sklearn(model, target="t")
    monkeypatch.setattr(scored.Ask, "peopled", counted)
    how = Rebuilding(people=20, time_limit=20.0)
    found = reconstruct_release(release, None, how, run=tables.rebuild_here)
    assert len(asked) == 1
    assert found.status == "likeliest"
    rebuilt = scored.rebuild_scored

    def partly(*given: Any, **more: Any) -> tables.Rebuilt:
        return replace(rebuilt(*given, **more), status="partial")

    monkeypatch.setattr("maxent.api.reconstruct.rebuild_scored", partly)
    assert reconstruct_release(release, None, how, run=tables.rebuild_here).status == "consistent"
