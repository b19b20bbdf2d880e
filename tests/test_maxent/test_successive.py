"""Several releases about overlapping people: what they tell together, in Python and on the command line."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from support.strategies import thorough
from support.successive import WHO, Successive, successive

import maxent
from maxent.__main__ import main
from maxent.command_line.release_files import split_files
from maxent.models.errors import InvalidInput, UnreliableResult
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree

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
    rows = together.frame().set_index(["releases", "A", "class"])
    assert rows.loc[("2", "x", "b"), "low"] == 1


def test_estimates_of_people_who_join_and_leave():
    truth = pd.concat([OLD_PEOPLE, NEW_PEOPLE.iloc[[4]]])
    found = maxent.estimate([OLD, NEW], TABLES, truth, who="id")
    posterior = found.posterior.set_index(["releases", "A"])
    assert posterior["count"].to_dict() == {("1", "x"): 1, ("1+2", "x"): 2, ("2", "x"): 1, ("1+2", "y"): 2}
    # Of three old people two are a, of three new ones one is: the two who stay have one a, who left is a, who came b.
    for who, share in (("1", 1.0), ("1+2", 0.5), ("2", 0.0)):
        assert posterior.loc[(who, "x"), "P(a)"] == pytest.approx(share, abs=1e-6)
    assert found.summary["divergence"]["overall"] >= 0
    assert found.summary["constraints"]["counts"] == 8


def test_a_marginal_of_everybody_needs_a_file_where_no_release_has_all():
    with pytest.raises(InvalidInput, match="as no release has all people"):
        maxent.estimate([OLD, NEW], TABLES, who="id", knowledge="label,marginal")
    found = maxent.estimate([OLD, OLD], OLD_PEOPLE, knowledge="label,marginal")
    assert found.summary["constraints"]["marginal"] == 2


def test_control_people_and_boosted_trees_are_for_one_release():
    with pytest.raises(InvalidInput, match="control: expected none: it applies only to one release"):
        maxent.estimate([OLD, NEW], TABLES, OLD_PEOPLE, who="id", control=NEW_PEOPLE)
    with pytest.raises(InvalidInput, match="risk: expected none: it applies only to one release"):
        maxent.audit([OLD, NEW], TABLES, who="id", risk=True)
    with pytest.raises(InvalidInput, match=r"expected trees, .*, found generalised records"):
        maxent.estimate([OLD, OLD_PEOPLE], TABLES, who="id")


def test_the_first_of_equal_attributes_needs_one_order():
    both = Attribute("B", values=("u",))
    one = replace(OLD, attributes=(*OLD.attributes, both))
    other = replace(OLD, attributes=(both, *OLD.attributes))
    people = OLD_PEOPLE.assign(B="u")
    with pytest.raises(InvalidInput, match="ties: expected any"):
        maxent.bounds([one, other], people, ties="first")
    assert maxent.bounds([one, one], people, ties="first", level="closed").status == "proved"


def test_an_audit_recovers_the_counts_of_those_who_joined():
    grown = pd.concat([OLD_PEOPLE, NEW_PEOPLE.iloc[[4]]])
    found = maxent.audit([OLD, release(grown)], [OLD_PEOPLE[["A"]], grown[["A"]]])
    assert found["leaves"] == 4
    assert found["differencing"]["removed"] == 0
    [recovered] = found["recovered"]
    assert recovered["counts"] == {"a": 0, "b": 1}
    assert found["exposed"]["differencing"] == 1


def test_each_release_is_audited_and_judged_by_how_it_prints_error_rates():
    def rated(rate: float, other: float) -> Release:
        nodes = (SPLIT, Node("L", label="a", error_rate=rate), Node("R", label="a", error_rate=other))
        return replace(OLD, trees=(Tree(nodes),))

    people = pd.DataFrame({"A": list("xxxyyyyyyyyy")})
    both = [rated(0.33, 0.22), rated(1 / 3, 2 / 9)]
    found = maxent.estimate(both, people)
    assert found.verdict(max_certain=0, max_posterior=0.9).status == "pass"
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
    assert main([command, *FILES]) == 2
    assert "or --who, the column that names each person" in capsys.readouterr().err


def test_commands_take_releases_about_the_people_of_one_table(capsys, tmp_path):
    report = tmp_path / "report.html"
    call = [FILES[0], FILES[0], FILES[2]]
    assert main(["estimate", *call, "--max-certain", "0", "--report", str(report)]) == 0
    text = capsys.readouterr().out
    assert "trees are numbered through: 1 of old.json (1), 2 of old.json (2)" in text
    assert "releases" not in text.splitlines()[0]
    assert "old + old" in report.read_text(encoding="utf-8")
    assert main(["audit", *call[:2], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["leaves"] == 4
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
        with pytest.raises(InvalidInput, match="and after them the adversary's table"):
            split_files(files)
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
