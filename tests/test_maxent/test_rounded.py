"""Rounded counts in commands: policies and their records, reports, exports, rebuilt tables."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.calls import printed_by, refused

import maxent
from maxent.__main__ import main
from maxent.api import defend_audited
from maxent.api.defend_audited import statements
from maxent.api.review import without_private_splits
from maxent.constraints.patterns import individuals, stated_counts
from maxent.models.defenses import OptimalSubtree
from maxent.models.defenses.optimal.method import BestSubtree
from maxent.models.errors import InvalidInput
from maxent.models.release import Attribute, Branch, Node, Release, Rounded, Target, Tree
from maxent.models.trees.rounding import inferred_counts, possible_counts

PEOPLE = pd.DataFrame({"Age": [20.0] * 12 + [50.0] * 4, "Y": ["well"] * 11 + ["ill"] * 5})
RELEASE = Release(
    Target("Y", ("well", "ill")),
    (Attribute("Age", "numeric"),),
    (
        Tree(
            (
                Node("N", "Age", (Branch("L0", le=37.0), Branch("L1", gt=37.0)), n=15),
                Node("L0", label="well", counts={"well": 10, "ill": 0}),
                Node("L1", label="ill", counts={"well": 0, "ill": 5}),
            )
        ),
    ),
    rounded=Rounded(5, "nearest"),
)


def test_policies_judge_by_what_is_certain_and_records_say_how_counts_were_rounded(tmp_path: Path) -> None:
    RELEASE.save(tmp_path / "tree.json")
    PEOPLE.to_csv(tmp_path / "truth.csv", index=False)
    PEOPLE[["Age"]].to_csv(tmp_path / "qi.csv", index=False)
    (tmp_path / "policy.toml").write_text("[limits]\nmin_cell = 3\nmin_leaf = 3\nmax_zeros = 1\n", encoding="utf-8")
    found = maxent.check(*(tmp_path / name for name in ("tree.json", "qi.csv", "policy.toml")))
    status = {row.check.key: row.status for row in found.rows}
    cells = {"min_cell": "cannot_tell", "max_zeros": "cannot_tell"}
    assert status == {"min_leaf": "pass", **cells, "no_draws": "pass", "reliable": "pass"}
    found.record(tmp_path / "record.json")
    record = json.loads((tmp_path / "record.json").read_text(encoding="utf-8"))
    assert record["criteria"]["perturbation"]["rounded"] == {"base": 5, "method": "nearest"}
    assert maxent.verify(tmp_path / "record.json").exit_status == 0
    record["criteria"]["perturbation"]["rounded"]["base"] = 10
    (tmp_path / "record.json").write_text(json.dumps(record), encoding="utf-8")
    (told,) = maxent.verify(tmp_path / "record.json").differences
    assert told == "criteria.perturbation.rounded.base: 10 in the record, now 5"
    del record["criteria"]["perturbation"]["rounded"]
    (tmp_path / "record.json").write_text(json.dumps(record), encoding="utf-8")
    (told,) = maxent.verify(tmp_path / "record.json").differences
    assert told.startswith("criteria.perturbation.rounded: null in the record")


def test_reports_and_rules_say_that_counts_are_rounded(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    maxent.estimate(RELEASE, PEOPLE[["Age"]]).report(report)
    assert "well: 10 records (rounded)" in report.read_text(encoding="utf-8")
    assert "numbers of records are rounded to the nearest multiple of 5" in maxent.export(RELEASE, to="rules")
    maxent.export(RELEASE, tmp_path / "tree.pmml")
    assert maxent.load_release(tmp_path / "tree.pmml") == RELEASE
    assert maxent.convert(tmp_path / "tree.pmml", qi=["Age"]) == RELEASE
    refused("expected none of target, classes, features and qi", maxent.convert, tmp_path / "tree.pmml", target="Other")


def test_what_would_pass_is_not_offered_where_counts_are_not_those_of_the_people() -> None:
    found = maxent.estimate(RELEASE, PEOPLE[["Age"]]).verdict(max_posterior=0.6)
    assert found.status == "fail"
    assert "the counts are not those of the people" in str(found)


def test_tables_are_rebuilt_of_as_many_people_as_are_told() -> None:
    trees = stated_counts(RELEASE)
    refused("people", individuals, trees, None)
    refused("what the release states: 13 to 17", individuals, trees, 30)
    assert individuals(trees, 16) == 16
    assert not trees[0].exact
    assert (trees[0].label == [-1, 0, 1]).all()


def test_private_splits_left_out_leave_no_sums_of_rounded_counts() -> None:
    private = replace(RELEASE, attributes=(Attribute("Age", "numeric", role="private"),))
    (leaf,) = without_private_splits(private).trees[0].nodes
    assert (leaf.counts, leaf.n) == (None, None)


def made(folder: Path, *options: str) -> Release:
    """The release of a call of ``maxent defend``."""
    PEOPLE.to_csv(folder / "truth.csv", index=False)
    method, *more = options
    asked = [str(folder / "truth.csv"), "--target", "Y", "--qi", "Age", *more, "-o", str(folder / "tree.json")]
    assert main(["defend", method, *asked]) == 0
    return maxent.load_release(folder / "tree.json")


def test_defend_rounds_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = made(tmp_path, "none", "--max-depth", "1", "--round-counts", "5")
    assert found.rounded == Rounded(5, "nearest")
    assert [leaf.counts for leaf in found.trees[0].leaves] == [{"ill": 0, "well": 10}, {"ill": 5, "well": 0}]
    said = capsys.readouterr().out
    assert "numbers of records are rounded to the nearest multiple of 5" in said
    assert "classes are not hidden" not in said  # a leaf that is pure in truth does not say so
    assert maxent.estimate(found, PEOPLE[["Age"]], truth=PEOPLE).reliable
    by_chance = [made(tmp_path, "kadet", "--k", "4", "--round-counts", "3", "--round-method", "random", "--seed", "7")]
    assert "a seed was given: who knows, or guesses it" in capsys.readouterr().out
    by_chance += [made(tmp_path, "kadet", "--k", "4", "--round-counts", "3", "--round-method", "random", "--seed", "7")]
    assert by_chance[0] == by_chance[1]
    assert by_chance[0].rounded == Rounded(3, "random")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("none", "--round-counts", "1"), "--round-counts: expected a whole number of records, at least 2, found 1"),
        (("none", "--round-counts", "2.5"), "--round-counts"),
        (("none", "--round-counts", "5", "--publish", "rates"), "--round-counts: expected None: leaves state rates"),
        (("none", "--round-method", "down"), "--round-method: expected 'nearest': no base is given"),
        (("rdt", "--round-counts", "5"), "--round-counts: expected none for the method rdt"),
    ],
)
def test_rounding_that_cannot_be_is_refused(
    options: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    PEOPLE.to_csv(tmp_path / "truth.csv", index=False)
    method, *more = options
    asked = [str(tmp_path / "truth.csv"), "--target", "Y", "--qi", "Age", *more, "-o", str(tmp_path / "tree.json")]
    assert said in printed_by(capsys, ["defend", method, *asked], 2).err


def test_what_is_audited_is_what_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 6, 90).astype(float), "y": rng.choice(["n", "y"], 90, p=[0.3, 0.7])})
    seen: list[Release] = []
    audit_of = defend_audited.audit_of

    def watched(*asked: object) -> object:
        audit = audit_of(*asked)  # type: ignore[arg-type]
        return lambda release: (seen.append(release), audit(release))[1]

    monkeypatch.setattr(defend_audited, "audit_of", watched)
    options = {"k": 5, "max_posterior": 0.9, "audited": True, "round_counts": 7, "round_method": "random"}
    found = maxent.defend(frame, "optimal", target="y", qi=["a"], **options)  # type: ignore[arg-type]
    assert found.release.trees == seen[-1].trees
    assert found.release.rounded == Rounded(7, "random")


def stumps(seed: int, classes: str = "uvw") -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    likely = rng.dirichlet(np.full(len(classes), 0.6), 5)
    frame = pd.DataFrame({"a": rng.integers(0, 5, 130).astype(str)})
    return frame.assign(y=[str(rng.choice(list(classes), p=likely[int(a)])) for a in frame["a"]])


@pytest.mark.parametrize("method", ["nearest", "down"])
def test_the_search_knows_what_is_inferred_from_rounded_counts(method: str) -> None:
    frame = stumps(2)
    asked: Any = {"target": "y", "qi": ["a"], "inducer": "id3", "k": 1, "round_counts": 7, "round_method": method}
    found = maxent.defend(frame, "optimal", **asked).release
    posterior = maxent.estimate(found, frame[["a"]]).posterior
    counts = pd.crosstab(frame["a"], frame["y"]).to_numpy()
    rounded = Rounded(7, method)  # type: ignore[arg-type]
    told = inferred_counts(counts, counts.argmax(axis=1), rounded)
    shares = posterior.groupby("a").first()[[f"P({c})" for c in sorted(set(frame["y"]))]].to_numpy()
    assert np.allclose(told / counts.sum(axis=1, keepdims=True), shares, atol=1e-6)
    assert (told.max(axis=1) <= counts.max(axis=1) + 1e-9).all()  # nothing seems surer than the truth
    divergence = maxent.estimate(found, frame[["a"]], truth=frame).summary["divergence"]["overall"]
    assert maxent.defend(frame, "optimal", min_divergence=divergence - 1e-7, **asked).release.trees == found.trees
    beyond = maxent.defend(frame, "optimal", min_divergence=divergence + 1e-7, **asked).release
    assert len(beyond.trees[0].leaves) < len(found.trees[0].leaves)


def test_counts_are_rounded_where_that_lets_a_better_tree_pass() -> None:
    frame = stumps(1)
    asked: Any = {"target": "y", "qi": ["a"], "inducer": "id3", "k": 1}
    whole = maxent.defend(frame, "optimal", **asked)
    least = maxent.estimate(whole.release, frame[["a"]], truth=frame).summary["divergence"]["overall"] + 0.01
    exact = maxent.defend(frame, "optimal", audited=True, min_divergence=least, **asked)
    found = maxent.defend(frame, "optimal", choose=True, min_divergence=least, **asked)
    assert found.rows[0]["reached"] == whole.rows[0]["reached"] > exact.rows[0]["reached"]
    assert found.release.rounded == Rounded(found.rows[0]["round_counts"], "nearest")
    assert f"chosen: leaves state counts rounded to multiples of {found.release.rounded.base}, and the" in str(
        found.notes
    )
    seven = maxent.defend(frame, "optimal", choose=True, round_counts=7, min_divergence=least, **asked)
    assert seven.release.rounded == Rounded(7, "nearest")
    plain = maxent.defend(frame, "optimal", choose=True, **asked)
    assert plain.release.rounded is None
    assert plain.rows[0]["audits"] == 1  # nothing that says less can be better


@pytest.mark.parametrize("method", ["nearest", "random", "down"])
def test_limits_are_kept_by_all_that_rounded_counts_allow(method: str) -> None:
    for seed in range(2):
        frame = stumps(seed)
        counts = pd.crosstab(frame["a"], frame["y"]).to_numpy()
        rounded = Rounded(7, method)  # type: ignore[arg-type]
        possible = possible_counts(counts, counts.argmax(axis=1), rounded)
        assert ((counts <= possible) & (possible <= counts.sum(axis=1, keepdims=True))).all()
        asked: Any = {"target": "y", "qi": ["a"], "inducer": "id3", "k": 1, "max_posterior": 0.85}
        found = maxent.defend(frame, "optimal", round_counts=7, round_method=method, **asked)
        assert maxent.estimate(found.release, frame[["a"]]).verdict(max_posterior=0.85).passed


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"remove": True}, "round_counts: expected None: for removed leaves the counts of others answer"),
        ({"cost": [[0, 1], [1, 0]]}, "round_counts: expected None: decisions are made from true counts"),
    ],
)
def test_trees_that_answer_by_counts_are_not_rounded(more: dict[str, Any], said: str) -> None:
    frame = stumps(0, "uv")
    refused(said, maxent.defend, frame, "optimal", target="y", qi=["a"], round_counts=5, **more)
    with pytest.raises(InvalidInput, match=said):
        OptimalSubtree(round_counts=5, **more).fit(frame[["a"]], frame["y"])
    assert [each["round_counts"] for each in statements(BestSubtree(**more), 2)] == [None] * 4
