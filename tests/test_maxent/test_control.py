"""Control people: what a release gives away about its people beyond what it teaches about people like them."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.calls import printed_by, refused
from support.documents import release_document

import maxent
from maxent import InvalidInput
from maxent.__main__ import main
from maxent.disclosure.baseline import newcombe, welch, wilson
from maxent.models.release import Induction, Node
from maxent.results.estimate import Estimate
from maxent.results.text.estimate import summary_lines

QI = ["a", "b", "c"]


def people(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """People whose class depends on two of three attributes, in part."""
    table = pd.DataFrame(rng.integers(0, 6, (n, 3)), columns=QI)
    likely = 0.25 + 0.5 * (table["a"] + table["b"] > 5)
    return table.astype(str).assign(T=np.where(rng.random(n) < likely, "ill", "well"))


def leak_free(seed: int) -> Estimate:
    """A release of third people: it teaches about people like members and controls, and has seen neither."""
    rng = np.random.default_rng(seed)
    third, members, controls = (people(rng, n) for n in (400, 300, 500))
    release = maxent.defend(third, target="T", qi=QI, method="none", max_depth=4).release
    [tree] = release.trees
    shown = replace(release, trees=(replace(tree, induction=Induction(), nodes=tuple(map(with_rate, tree.nodes))),))
    return maxent.estimate(shown, members[QI], members, control=controls)


def with_rate(node: Node) -> Node:
    """A node with a label and an error rate in place of counts."""
    if node.counts is None:
        return replace(node, n=None)
    label, most = max(node.counts.items(), key=lambda pair: pair[1])
    return replace(node, n=None, counts=None, label=label, error_rate=1 - most / sum(node.counts.values()))


def leaking(seed: int) -> Estimate:
    """A release that knows its members by heart."""
    rng = np.random.default_rng(seed)
    members, controls = people(rng, 300), people(rng, 500)
    release = maxent.defend(members, target="T", qi=QI, method="none", max_depth=12).release
    return maxent.estimate(release, members[QI], members, control=controls)


def covers(result: Estimate) -> bool:
    assert result.control is not None
    low, high = result.control.interval
    return low <= 0 <= high


def test_intervals_cover_what_is_the_same_and_not_what_is_known_by_heart() -> None:
    assert [covers(leak_free(seed)) for seed in range(3)] == [True] * 3
    found = leaking(0).control
    assert found is not None
    assert found.beyond
    assert found.hits.difference > 0.1


@pytest.mark.slow
def test_intervals_cover_no_difference_in_nineteen_of_twenty_releases() -> None:
    assert sum(covers(leak_free(seed)) for seed in range(1000, 1200)) >= 190
    assert sum(covers(leaking(seed)) for seed in range(1000, 1200)) == 0


def test_newcombes_and_wilsons_examples() -> None:
    """Newcombe (1998, Table II, method 10): 56/70 less 48/80, and 9/10 less 3/10."""
    assert newcombe((56, 48), (70, 80), 0.95) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert newcombe((9, 3), (10, 10), 0.95) == pytest.approx((0.1705, 0.8090), abs=5e-5)
    assert wilson(81, 263, 0.95) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0, 10, 0.95)[0] == pytest.approx(0)


def test_a_mean_of_weighted_numbers_is_that_of_as_many_people() -> None:
    values, weights = np.array([0.5, 0.9]), np.array([3.0, 2.0])
    each = np.repeat(values, [3, 2])
    low, high = welch((values, np.array([0.4])), (weights, np.array([7.0])), 0.9)
    assert (low + high) / 2 == pytest.approx(each.mean() - 0.4)
    assert (high - low) / 2 == pytest.approx(1.6448536 * np.sqrt(each.var(ddof=1) / 5))


def tree(folder: Path, leaves: dict[str, dict[str, int]], branches: list[dict[str, Any]]) -> str:
    """A tree on one number, with counts."""
    document = release_document(
        "T",
        ["x", "y"],
        {"A": None},
        [
            {"id": "r", "attribute": "A", "branches": branches},
            *({"id": name, "counts": counts} for name, counts in leaves.items()),
        ],
    )
    (folder / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    return str(folder / "tree.json")


def test_other_people_have_the_posterior_of_their_leaf(tmp_path: Path) -> None:
    branches = [{"le": 1, "child": "p"}, {"gt": 1, "le": 2, "child": "q"}, {"gt": 2, "child": "s"}]
    path = tree(tmp_path, {"p": {"x": 3, "y": 1}, "q": {"x": 0, "y": 4}, "s": {"x": 0, "y": 0}}, branches)
    members = pd.DataFrame({"A": [0] * 4 + [2] * 4, "T": ["x"] * 3 + ["y"] * 5})
    controls = pd.DataFrame({"A": [0, 0.5, 1.5, 1.5, 9], "T": ["x", "x", "y", "x", "y"]})
    told = maxent.estimate(path, members[["A"]], members, control=controls, confidence=0.9).summary["control"]
    # Two of p, two of q, and one of a leaf where nobody is, who has the posterior of everybody: 3/8 and 5/8.
    assert told["individuals"] == {"members": 8, "controls": 5, "known_controls": 1}
    assert (told["members"], told["controls"]) == (7 / 8, 4 / 5)
    assert told["difference"] == pytest.approx(7 / 8 - 4 / 5)
    assert told["interval"] == pytest.approx(newcombe((7, 4), (8, 5), 0.9))
    assert told["confidence"] == 0.9
    assert told["bayes_vulnerability"]["controls"] == pytest.approx((2 * 0.75 + 2 * 1 + 5 / 8) / 5)
    assert told["divergence"]["members"] == pytest.approx(0, abs=1e-9)
    assert told["divergence"]["controls"] is None  # the estimate rules out the class of one of them


def test_sensitive_classes_are_found_among_control_people_too(tmp_path: Path) -> None:
    branches = [{"le": 1, "child": "p"}, {"gt": 1, "child": "q"}]
    path = tree(tmp_path, {"p": {"x": 3, "y": 1}, "q": {"x": 1, "y": 3}}, branches)
    members = pd.DataFrame({"A": [0] * 4 + [2] * 4, "T": list("xxxyxyyy")})
    controls = pd.DataFrame({"A": [0.5] * 3 + [3] * 3, "T": list("xyyxyy")})
    found = maxent.estimate(path, members[["A"]], members, control=controls, sensitive="y", confidence=0.9)
    told = found.summary["sensitive"]["control"]
    assert (told["members"], told["controls"]) == (3 / 4, 2 / 4)
    assert told["interval"] == pytest.approx(newcombe((3, 2), (4, 4), 0.9))
    assert told["individuals"] == {"members": 4, "controls": 4}
    assert "of y alone: the same guesses find 75.0 % of those in the data and 50.0 % of 4 others" in "".join(
        summary_lines(found)
    )
    found.report(tmp_path / "report.html")
    assert "Of others who were not in the data: 50.0 %" in (tmp_path / "report.html").read_text(encoding="utf-8")
    nobody = maxent.estimate(path, members[["A"]], members, control=controls[controls["T"] == "x"], sensitive="y")
    assert "control" not in nobody.summary["sensitive"]


def test_other_people_of_several_trees_have_the_mean_of_their_leaves() -> None:
    rng = np.random.default_rng(3)
    members, controls = people(rng, 60), people(rng, 60)
    trees = [
        maxent.defend(members, target="T", qi=[name], method="none", max_depth=2).release.trees[0] for name in QI[:2]
    ]
    one = maxent.defend(members, target="T", qi=QI[:2], method="none", max_depth=2).release
    forest = replace(one, trees=tuple(replace(each, induction=Induction()) for each in trees))
    found = maxent.estimate(forest, members[QI[:2]], members, control=controls)
    assert found.control is not None
    assert found.control.people == (60, 60)
    assert 0 <= found.control.hits.controls <= 1
    assert found.control.known > 0


def test_those_who_are_not_known_to_the_release_are_left_out(tmp_path: Path, capsys: Any) -> None:
    rng = np.random.default_rng(0)
    members, controls = people(rng, 80), people(rng, 40)
    controls.loc[0, "a"], controls.loc[1, "T"] = "7", "neither"
    for name, frame in (("qi", members[QI]), ("truth", members), ("control", controls)):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    maxent.defend(members, target="T", qi=QI, method="none", max_depth=3).release.save(tmp_path / "tree.json")
    files = [str(tmp_path / name) for name in ("tree.json", "qi.csv")]
    more = ["--truth", str(tmp_path / "truth.csv"), "--control", str(tmp_path / "control.csv")]
    said = printed_by(capsys, ["estimate", *files, *more])
    assert "2 of 40 control people are left out" in said.err
    assert "of 38 others: a difference of" in said.out
    printed_by(capsys, ["estimate", *files, *more, "--report", str(tmp_path / "report.html")])
    assert "Beyond other people" in (tmp_path / "report.html").read_text(encoding="utf-8")
    alone = json.loads(printed_by(capsys, ["estimate", *files, *more, "--json"]).out)["control"]
    assert {"members", "controls", "difference", "interval", "confidence"} <= set(alone)
    assert main(["compare", files[0], *files, *more, "--json", "-o", str(tmp_path / "rows.csv")]) == 0
    rows = json.loads(capsys.readouterr().out)["releases"]
    assert [row["control"] for row in rows] == [alone, alone]
    said_of_two = printed_by(capsys, ["compare", files[0], *files, *more, "--sensitive", "ill"]).out
    for line in ("of 38 others: a difference of", "(WP216): singling out", "of ill alone: the same guesses find"):
        assert said_of_two.count(line) >= 2
    assert rows[0]["beyond_control"] == alone["difference"]
    assert "control" not in pd.read_csv(tmp_path / "rows.csv").columns
    review = ["review", files[0], more[1], "--target", "T", "--qi", ",".join(QI), *more[2:], "--json"]
    assert json.loads(printed_by(capsys, review).out)["estimate"]["control"] == alone
    assert "--control: expected none without --truth" in printed_by(capsys, ["estimate", *files, *more[2:]], 2).err


def test_an_audit_draws_the_same_conclusions_about_control_people(tmp_path: Path, capsys: Any) -> None:
    branches = [{"le": 1, "child": "p"}, {"gt": 1, "le": 2, "child": "q"}, {"gt": 2, "child": "s"}]
    path = tree(tmp_path, {"p": {"x": 3, "y": 1}, "q": {"x": 0, "y": 4}, "s": {"x": 2, "y": 0}}, branches)
    members = pd.DataFrame({"A": [0] * 4 + [2] * 4 + [3] * 2})
    controls = pd.DataFrame({"A": [0, 0.5, 1.5, 1.5, 9], "T": ["x", "y", "y", "x", "x"]})
    found = maxent.audit(path, members, control=controls, sensitive="y", confidence=0.9)
    told = found["control"]
    assert (told["members"], told["controls"]) == (6 / 10, 2 / 5)
    assert told["shown"] == {"members": 6, "controls": 3}
    assert told["individuals"] == {"members": 10, "controls": 5}
    assert told["interval"] == pytest.approx(newcombe((6, 2), (10, 5), 0.9))
    assert (found["sensitive"]["classes"], found["sensitive"]["exposed"]) == (["y"], 4)
    alone = found["sensitive"]["control"]
    assert (alone["members"], alone["controls"]) == (4 / 10, 1 / 5)
    for name, frame in (("qi", members), ("control", controls)):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    call = ["audit", path, str(tmp_path / "qi.csv"), "--control", str(tmp_path / "control.csv")]
    assert main([*call, "--confidence", "0.9", "--sensitive", "y", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["control"] == told
    said = printed_by(capsys, [*call, "--sensitive", "y"]).out
    assert "of 5 others they would name that of 3, right for 40.0 % of all others" in said
    assert "y alone: the t of 4 individuals follows from the group" in said.lower()
    assert "--control: expected the adversary's table" in printed_by(capsys, ["audit", path, *call[3:]], 2).err
    refused("confidence", maxent.audit, path, members, control=controls, confidence=1)
    refused("sensitive: expected classes", maxent.audit, path, sensitive="z")


def test_nobody_is_left_and_records_have_no_controls(tmp_path: Path) -> None:
    members = people(np.random.default_rng(0), 20)
    release = maxent.defend(members, target="T", qi=QI, method="none", max_depth=1).release
    with pytest.raises(InvalidInput, match="people whose values and class the release knows"):
        maxent.estimate(release, members[QI], members, control=members.assign(T="neither"))
    refused("control", maxent.estimate, members, members[QI], members, target="T", control=members)
    refused("control", maxent.audit, members, members[QI], target="T", control=members)


def test_the_interval_narrows_with_more_people() -> None:
    widths = [np.ptp(newcombe((0.8 * n, 0.7 * n), (n, n), 0.95)) for n in (10, 100, 1000)]
    assert all(wide > narrow for wide, narrow in pairwise(widths))
