"""Checks of policies: each one seen passing, failing and not to be told; verdicts, exit statuses and files."""

import json
import os
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from support.documents import release_document
from support.paths import D1

import maxent
from maxent.__main__ import main
from maxent.disclosure.limits import STATUS_WORDS, UNTRIED, Reached
from maxent.models.draws import SEEDS
from maxent.models.formats.registry import load_release
from maxent.models.formats.release_reader import UNPROVEN
from maxent.models.release import Attribute, Branch, Node, Release, Rounded, Target, Tree
from maxent.models.statements.read import parse_statements
from maxent.policy.checks.context import Matter
from maxent.policy.checks.page import PAGE, page
from maxent.policy.checks.registry import BY_KEY, CHECKS, FAMILIES
from maxent.policy.policy import presets, read_policy

DOCUMENT = json.loads((D1 / "tree.json").read_text(encoding="utf-8"))
PEOPLE = pd.read_csv(D1 / "truth.csv")
QI = PEOPLE[["Education", "Country", "Gender"]]


def released(folder: Path, change: Callable[[dict[str, Any]], object] = lambda document: None) -> Release:
    """The release of the example, changed."""
    document = json.loads(json.dumps(DOCUMENT))
    change(document)
    (folder / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    return load_release(folder / "tree.json")


def only_labels(document: dict[str, Any]) -> None:
    for node in document["trees"][0]["nodes"]:
        node.pop("error_rate", None), node.pop("n", None)


def sampled(document: dict[str, Any]) -> None:
    only_labels(document)
    document["release"] = {"sampling_rate": 0.5}


def drawn(document: dict[str, Any]) -> None:
    document["release"] = {"resampled": 11}
    nodes = {node["id"]: node for node in document["trees"][0]["nodes"]}
    for leaf in ("L1", "L2", "L3", "L4", "L5"):
        del nodes[leaf]["error_rate"], nodes[leaf]["n"], nodes[leaf]["label"]
        nodes[leaf]["counts"] = {"<=50K": 1, ">50K": 1}
    nodes["L4"]["counts"] = {"<=50K": 0, ">50K": 3}


def of_others(document: dict[str, Any]) -> None:
    document["trees"][0]["nodes"][-1]["n"] = 4


def adding_up_wrongly(document: dict[str, Any]) -> None:
    """A leaf is removed, and the node above was counted afterwards: the table has more people there."""
    with_inner_numbers(document)
    nodes = {node["id"]: node for node in document["trees"][0]["nodes"]}
    nodes["N3"]["counts"] = {"<=50K": 1, ">50K": 1}


def stating_means(document: dict[str, Any]) -> None:
    only_labels(document)
    document["target"] = {"name": "Salary", "classes": ["0", "1"], "numbers": [0, 1]}
    for node in document["trees"][0]["nodes"]:
        if node.pop("label", None) is not None:
            node["mean"] = 0.5


def with_inner_numbers(document: dict[str, Any]) -> None:
    """A leaf is removed, which the node above gives back."""
    nodes = {node["id"]: node for node in document["trees"][0]["nodes"]}
    nodes["N3"]["counts"] = {"<=50K": 1, ">50K": 4}
    nodes["N3"]["branches"][0]["child"] = None
    document["trees"][0]["nodes"].remove(nodes["L4"])


def stating_counts() -> Release:
    """Statements: 2 of 5 men earn much, and nobody of one group."""
    here = {"kind": "table", "by": ["Gender", "Education"], "cells": []}
    for gender, education, count in (("Male", "*", 2), ("Male", "Masters", 1), ("Female", "Masters", 1)):
        here["cells"].append({"at": [gender, education], "class": ">50K", "count": count})
    here["cells"].append({"at": ["Female", "Doctorate"], "class": "<=50K", "count": 0})
    target = {"name": "Salary", "classes": ["<=50K", ">50K"]}
    return parse_statements({"format": "maxent-statements/1", "target": target, "statements": [here]}, "table").release


def memorised(folder: Path) -> Any:
    """A tree with a leaf for everybody, and control people with the same numbers and other classes."""
    dice, names = np.random.default_rng(0), [f"x{i}" for i in range(60)]
    members = pd.DataFrame({"x": names, "ill": np.tile(["no", "yes"], 30)})
    others = pd.DataFrame({"x": dice.choice(names, 60), "ill": dice.choice(["no", "yes"], 60)})
    leaves = [{"id": x, "counts": {ill: 1}} for x, ill in zip(members["x"], members["ill"], strict=True)]
    root = {"id": "root", "attribute": "x", "branches": [{"in": [x], "child": x} for x in names]}
    document = release_document("ill", ["no", "yes"], {"x": names}, [root, *leaves])
    (folder / "memorised.json").write_text(json.dumps(document), encoding="utf-8")
    return maxent.check(folder / "memorised.json", members, truth=members, control=others, min_leaf=1).review


def by_fives(document: dict[str, Any]) -> None:
    for node in document["trees"][0]["nodes"]:
        if node.pop("error_rate", None) is not None:
            del node["n"], node["label"]
            node["counts"] = {"<=50K": 5, ">50K": 10}


ATTACKED: dict[str, Callable[[dict[str, Any]], object]] = {
    "sampled": sampled,
    "drawn": drawn,
    "inner numbers": with_inner_numbers,
    "wrong sums": adding_up_wrongly,
    "means": stating_means,
    "by fives": by_fives,
}


class Matters:
    """Reviewed releases by name, each made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cache  # noqa: B019 (one instance)
    def reviewed(self, name: str) -> Any:
        if name == "memorised":
            return memorised(self.folder)
        if name in ATTACKED:  # of which only leaves are looked at
            release = released(self.folder, ATTACKED[name])
            plain = self.reviewed("plain")
            converted = replace(plain.converted, release=release)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return replace(plain, converted=converted, audit=maxent.audit_release(release, QI))
        changes = {"labels": only_labels, "of others": of_others}
        truth, control = (PEOPLE, PEOPLE.iloc[::-1].iloc[:8]) if name in ("plain", "controlled") else (None, None)
        given: dict[str, Any] = {"truth": truth, "control": control if name == "controlled" else None}
        release = released(self.folder, changes.get(name, lambda document: None))
        policy: dict[str, Any] = {"limits": {"min_leaf": 1}}
        if name == "plain":
            policy = {"limits": {"max_certain_proved": 0}, "adversary": {"proof": "linear"}}
        if name == "registered":
            given |= {"population": pd.concat([QI, QI.iloc[:3]])}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return maxent.check(release, QI, policy, **given).review

    def __getitem__(self, name: str) -> Matter:
        roles = dict.fromkeys(QI.columns, "public")
        match name:
            case "unnamed":
                return Matter(self.reviewed("plain"))
            case "half named":
                return Matter(self.reviewed("plain"), {"Gender": "public"})
            case "unsolved":
                return Matter(replace(self.reviewed("plain"), estimate=None, unsolved="there was no time"), roles)
            case "labels unsolved":
                return Matter(replace(self.reviewed("labels"), estimate=None, unsolved="there was no time"), roles)
            case "unreliable":
                return Matter(replace(self.reviewed("controlled"), weaker=True), roles)
            case "rounded" | "lost":
                found = self.reviewed("plain")
                how: dict[str, Any] = {"exact": False} if name == "rounded" else {"lost": ("the counts",)}
                return Matter(replace(found, converted=replace(found.converted, **how)), roles)
            case "drawn by seeds" | "perhaps drawn":
                found = self.reviewed("plain")
                kept = SEEDS if name == "drawn by seeds" else UNPROVEN
                converted = replace(found.converted, aside=kept)
                return Matter(replace(found, converted=converted, drawing=lambda: (Reached(11, 11, 9), UNTRIED)), roles)
            case "not placed":
                found = self.reviewed("plain")
                return Matter(replace(found, audit=maxent.audit_release(found.release)), roles)
            case "local" | "violated":
                found = self.reviewed("plain")
                worse: dict[str, Any] = {"duality_gap": np.inf} if name == "local" else {"violation": 0.01}
                outcome = replace(found.estimate.outcome, **worse)
                return Matter(replace(found, estimate=replace(found.estimate, outcome=outcome)), roles)
            case "stated" | "stated alone":
                found, people = self.reviewed("plain"), QI if name == "stated" else None
                converted = replace(found.converted, release=stating_counts())
                return Matter(replace(found, converted=converted, audit=maxent.audit_release(stating_counts(), people)))
            case "small depth" | "any depth":
                found = self.reviewed("plain")
                depth = 2 if name == "small depth" else None
                how = {"max_depth": depth, "min_samples_leaf": 5, "min_samples_split": 2}
                how |= {"model": "DecisionTreeClassifier", "splitter": "best", "max_features": None}
                return Matter(replace(found, converted=replace(found.converted, hyperparameters=how)), roles)
            case "file":
                return Matter(self.reviewed("plain"), roles, files=("tree.json",))
            case "three known":
                return Matter(self.reviewed("plain"), roles, background=3)
            case _:
                return Matter(self.reviewed(name), roles)


@pytest.fixture(scope="module")
def matters(tmp_path_factory: pytest.TempPathFactory) -> Matters:
    return Matters(tmp_path_factory.mktemp("matters"))


Case = tuple[str, Any]
# Id -> what it is judged of and against, so that it passes, fails, and cannot be told.
CASES: dict[str, tuple[Case, Case, Case]] = {
    "MX101": (("plain", 2), ("plain", 3), ("sampled", 3)),
    "MX102": (("plain", 1), ("plain", 2), ("labels", 2)),
    "MX103": (("plain", 2), ("plain", 1), ("labels", 0)),
    "MX104": (("plain", 2), ("plain", 1), ("labels", 0)),
    "MX105": (("plain", {"n": 1, "k": 0.5}), ("plain", {"n": 2, "k": 0.9}), ("means", {"n": 2, "k": 0.9})),
    "MX106": (("plain", 0), ("plain", 0.1), ("means", 0.1)),
    "MX107": (("plain", 1), ("plain", 100), ("not placed", 1)),
    "MX108": (("plain", 0), ("inner numbers", 0), ("wrong sums", 0)),
    "MX109": (("plain", 11), ("three known", 3), ("sampled", 11)),
    "MX110": (("plain", 2), ("plain", 3), ("sampled", 1)),
    "MX111": (("stated", 1), ("stated", 2), ("stated alone", 1)),
    "MX112": (("stated", 1), ("stated", 0), ("stated alone", 1)),
    "MX120": (("small depth", True), ("any depth", True), ("plain", True)),
    "MX121": (("by fives", 5), ("plain", 2), ("means", 5)),
    "MX201": (("plain", 1.0), ("plain", 0.9), ("labels unsolved", 0.9)),
    "MX202": (("plain", 11), ("plain", 0), ("unsolved", 11)),
    "MX203": (("plain", 7), ("plain", 4), ("controlled", 7)),
    "MX204": (("plain", 1.0), ("plain", 0.5), ("labels", 0.9)),
    "MX205": (("plain", 1.0), ("plain", 0.1), ("labels", 0.1)),
    "MX206": (("plain", 0), ("plain", 9), ("labels", 0)),
    "MX207": (("plain", 1), ("plain", 0.1), ("unreliable", 1)),
    "MX208": (("plain", 1), ("plain", 1.5), ("unreliable", 1)),
    "MX209": (("registered", 1), ("registered", 0.9), ("plain", 1)),
    "MX301": (("controlled", 1), ("memorised", 0), ("labels", 1)),
    "MX302": (("controlled", 1), ("memorised", 0), ("plain", 1)),
    "MX303": (("controlled", 1), ("memorised", 0), ("plain", 1)),
    "MX304": (("controlled", 1), ("memorised", 0), ("plain", 1)),
    "MX401": (("plain", True), ("rounded", True), ("lost", True)),
    "MX402": (("plain", ["labels", "rates", "n"]), ("plain", ["labels"]), ("lost", ["labels", "rates", "n"])),
    "MX403": (("plain", True), ("half named", True), ("unnamed", True)),
    "MX404": (("plain", "allowed"), ("plain", "refused"), ("plain", "by decision")),
    "MX405": (("file", [".pkl"]), ("file", [".JSON"]), ("plain", [".pkl"])),
    "MX406": (("plain", True), ("drawn by seeds", True), ("perhaps drawn", True)),
    "MX501": (("plain", True), ("of others", True), ("unreliable", True)),
    "MX502": (("plain", "global"), ("local", "gap"), ("unreliable", "global")),
    "MX503": (("plain", 1e-6), ("violated", 1e-6), ("unsolved", 1e-6)),
    "MX504": (("plain", True), ("of others", True), ("sampled", True)),
    "MX505": (("controlled", ["beyond_control"]), ("controlled", ["test_accuracy"]), ("plain", ["beyond_control"])),
}

STATUSES = ("pass", "fail", "cannot_tell")


def test_every_check_has_its_cases() -> None:
    assert list(CASES) == list(CHECKS)


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("id_", CHECKS)
def test_each_check_passes_fails_and_cannot_be_told(matters: Matters, id_: str, status: str) -> None:
    name, limit = CASES[id_][STATUSES.index(status)]
    check = CHECKS[id_]
    assert check.limit.fits(limit)
    found = check.judge(matters[name], limit)
    assert found.status == status, found.said
    assert found.said
    assert not found.said.endswith(".")
    if status == "fail":
        assert found.figure is not None or "interval" in check.what


def test_cells_that_may_be_empty_are_counted_in_words(matters: Matters) -> None:
    """A range is of cells or leaves, and no interval of people."""
    for id_, words in (
        ("MX103", r"in a leaf: from \d+ to \d+ cells, at most"),
        ("MX104", r"class: from \d+ to \d+ of them"),
    ):
        assert re.search(words, CHECKS[id_].judge(matters["labels"], 0).said)


TENS, LABEL = {"counts": {"no": 10, "yes": 10}}, {"label": "no"}
HALVES = {"rates": {"no": 0.5, "yes": 0.5}}


@pytest.mark.parametrize(
    ("root", "leaf", "other", "status"),
    [
        ({}, {"n": 20, "error_rate": 0.5, **LABEL}, TENS, "cannot_tell"),  # 10 or 11 people
        ({}, {"n": 20, "error_rate": 0.0, **LABEL}, TENS, "cannot_tell"),  # 20 or 19
        ({}, {"n": 20, "error_rate": 0.4, **LABEL}, TENS, "fail"),  # 11 to 13
        ({}, {"n": 20, "error_rate": 0.25, **LABEL}, TENS, "pass"),
        ({}, {"n": 20, **HALVES}, TENS, "cannot_tell"),  # 9 to 11
        ({}, {"n": 20, "rates": {"no": 0.6, "yes": 0.4}}, TENS, "fail"),
        ({}, HALVES, TENS, "cannot_tell"),
        ({"n": 40, **HALVES}, LABEL, LABEL, "cannot_tell"),
        ({"n": 20, "rates": {"no": 0.6, "yes": 0.4}}, LABEL, LABEL, "fail"),
        ({}, {"n": 20, **LABEL}, TENS, "pass"),
        ({}, TENS, TENS, "pass"),
    ],
)
def test_a_number_behind_a_rate_of_few_digits_is_a_multiple_only_if_no_other_fits(
    tmp_path: Path, root: Any, leaf: Any, other: Any, status: str
) -> None:
    branches = [{"in": [x], "child": x} for x in "ab"]
    nodes = [{"id": "root", "attribute": "x", "branches": branches, **root}, {"id": "a", **leaf}, {"id": "b", **other}]
    document = release_document("ill", ["no", "yes"], {"x": ["a", "b"]}, nodes)
    (tmp_path / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    people = pd.DataFrame({"x": ["a", "b"] * (root.get("n", 40) // 2)})
    rows = maxent.check(tmp_path / "tree.json", people, rounded_to=5).rows
    row = next(row for row in rows if row.check.id == "MX121")
    assert row.status == status, row.finding.said
    assert ("a rate is that of several numbers" in row.finding.said) == (status == "cannot_tell")


def test_choices_of_splits_that_are_not_read_state_no_number(tmp_path: Path) -> None:
    grown = {"algorithm": "cart", "impurity": "gini", "candidates": "none", "among": ["x"]}
    nodes = [
        {"id": "root", "attribute": "x", "branches": [{"le": 1.5, "child": "a"}, {"gt": 1.5, "child": "b"}]},
        {"id": "a", "counts": {"no": 15, "yes": 5}},
        {"id": "b", "counts": {"no": 5, "yes": 15}},
    ]
    document = release_document("ill", ["no", "yes"], {"x": None}, {"induction": grown, "nodes": nodes})
    (tmp_path / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    people = pd.DataFrame({"x": [0, 1, 2, 3] * 10})
    for multiple, status in ((5, "pass"), (3, "fail")):
        found = maxent.check(tmp_path / "tree.json", people, rounded_to=multiple)
        assert [each["what"] for each in found.review.row["unread"]] == ["choices of splits"]
        assert next(row for row in found.rows if row.check.id == "MX121").status == status


@pytest.mark.parametrize(
    ("id_", "limit", "status"),
    [
        ("MX101", 3, "fail"),
        ("MX101", 2, "cannot_tell"),
        ("MX101", 1, "pass"),
        ("MX102", 2, "fail"),
        ("MX102", 1, "pass"),
        ("MX104", 0, "cannot_tell"),
        ("MX104", 1, "pass"),
        ("MX106", 0.1, "fail"),
        ("MX109", 11, "cannot_tell"),
    ],
)
def test_draws_of_a_bootstrap_are_not_taken_for_people(matters: Matters, id_: str, limit: Any, status: str) -> None:
    found = CHECKS[id_].judge(matters["drawn"], limit)
    assert found.status == status, found.said
    assert ("draws" in found.said) == (status == "cannot_tell")


def every_limit() -> dict[str, Any]:
    return {check.key: check.limit.example for check in CHECKS.values()}


@pytest.fixture(scope="module")
def checked(matters: Matters) -> Any:
    """The example against a policy with every check."""
    policy = {
        "name": "all",
        "limits": every_limit(),
        "adversary": {"proof": "linear"},
        "off": {"MX404": "by the board"},
    }
    return maxent.check(D1 / "tree.json", D1 / "qi.csv", policy, truth=D1 / "truth.csv", control=D1 / "truth.csv")


def test_a_policy_may_have_every_check(checked: Any) -> None:
    assert sorted(row.check.id for row in checked.rows) == list(CHECKS)
    assert [row.check.id for row in checked.rows if row.adversary == "population"] == ["MX209"]
    assert {row.status for row in checked.rows} == set(STATUSES)
    assert [row.check.id for row in checked.rows if row.off] == ["MX404"]
    assert (checked.status, checked.exit_status, checked.passed) == ("fail", 3, False)
    assert len(checked.frame()) == len(CHECKS)
    summary = checked.summary
    assert sorted(row["id"] for row in summary["verdict"]["checks"]) == list(CHECKS)
    assert {"control", "wp216", "baseline"} <= summary.keys()
    assert "<td>MX101</td>" in checked._repr_html_()
    assert repr(checked).startswith("tree, checked against all")


def test_figures_of_the_estimate_are_named_and_one_that_did_not_end_decides_nothing(matters: Matters) -> None:
    for key, limit in {"max_t_closeness": 0.0, "min_l_diversity": 9.0}.items():
        found = BY_KEY[key].judge(matters["plain"], limit)
        assert (found.status, " by the estimate, at " in found.said) == ("fail", True)
        found = BY_KEY[key].judge(matters["unreliable"], limit)
        assert (found.status, found.figure) == ("cannot_tell", None)
        assert "not to be relied on" in found.said


def test_ids_are_of_their_family_and_keys_are_different() -> None:
    assert {digit: {check.id[2] for check in checks} for digit, (_, checks) in FAMILIES.items()} == {
        digit: {digit} for digit in FAMILIES
    }
    assert len(BY_KEY) == len(CHECKS)
    for check in CHECKS.values():
        assert check.limit.fits(check.limit.example)
        assert not check.limit.fits("?")
        assert not check.limit.fits(None)
        for text in (check.what, check.why, check.source, check.fix):
            assert text.endswith((".", ")")) or text == check.source


def test_the_page_is_that_of_the_registry() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()  # python -m maxent.policy.checks.page writes it


ACRO = """---
# frequency and degrees-of-freedom thresholds
safe_threshold: {threshold}
safe_dof_threshold: 1
safe_nk_n: 1
safe_nk_k: 0.90
safe_pratio_p: {p}
check_missing_values: False
survival_safe_threshold: 10
zeros_are_disclosive: {zeros}

safe_round_base: 5
federated: false
blocked_extensions:
  - .svg
  - ".gph"  # of Stata
...
"""


@pytest.mark.parametrize(
    ("threshold", "p", "zeros", "status"), [(10, 0.1, True, 3), (1, 0, False, 0)], ids=["beyond", "within"]
)
def test_the_configuration_of_acro_is_a_policy(
    tmp_path: Path, capsys: Any, threshold: int, p: float, zeros: bool, status: int
) -> None:
    policy = tmp_path / "default.yaml"
    policy.write_text(ACRO.format(threshold=threshold, p=p, zeros=zeros), encoding="utf-8")
    call = ["check", str(D1 / "tree.json"), str(D1 / "qi.csv"), "--policy", str(policy)]
    assert main([*call, "--truth", str(D1 / "truth.csv"), "--json"]) == status
    found = json.loads(capsys.readouterr().out)
    assert found["exit"] == status
    stated = {row["key"]: row["limit"] for row in found["verdict"]["checks"]}
    zero = {"max_zeros": 0, "max_stated_zeros": 0} if zeros else {}
    assert stated == {
        **dict.fromkeys(("min_leaf", "min_cell", "min_stated_cell"), threshold),
        **{"nk_dominance": {"n": 1, "k": 0.9}, "p_ratio": p},
        **{"min_dof": 1, "blocked_extensions": [".svg", ".gph"], "no_draws": True, "reliable": True},
        **zero,
    }
    assert [text.split()[0] for text in found["policy"]["left_out"]] == [
        "check_missing_values",
        "survival_safe_threshold",
        "safe_round_base",
        "federated",
    ]


@pytest.mark.parametrize(("name", "status"), [("satre", 3), ("uk-llc", 3), ("ehds", 3), ("opensafely", 3)])
def test_policies_that_are_shipped(name: str, status: int, capsys: Any) -> None:
    assert name in presets()
    assert main(["check", str(D1 / "tree.json"), str(D1 / "qi.csv"), "--policy", name]) == status
    printed = capsys.readouterr()
    assert "verdict: FAIL" in printed.out
    assert "beyond the stated limits" in printed.err


@pytest.mark.parametrize(("below", "shown", "status"), [(8, {}, "pass"), (6, {}, "fail"), (8, {"n": 43}, "fail")])
def test_a_release_that_follows_the_rule_of_opensafely_passes_it(
    below: int, shown: dict[str, int], status: str
) -> None:
    """40 and 3 people in a leaf: 3 are redacted, all others rounded to 5, and 43 in all would give the 3 back."""
    rounded = None if shown else Rounded(5, "nearest")
    counts = ({"no": 40, "yes": 0}, {"no": 27 - 2 * (not shown), "yes": 30})
    branches = Branch("L", le=0.5), Branch("R", gt=0.5)
    tree = Tree((Node("N", "a", branches), Node("L", counts=counts[0], **shown), Node("R", counts=counts[1])))
    more: dict[str, Any] = {"suppressed_below": below, "rounded": rounded}
    release = Release(Target("ill", ("no", "yes")), (Attribute("a", "numeric"),), (tree,), **more)
    people = pd.DataFrame({"a": [0] * 43 + [1] * 57, "ill": ["no"] * 40 + ["yes"] * 3 + ["no"] * 27 + ["yes"] * 30})
    found = maxent.check(release, people[["a"]], "opensafely", truth=people)
    [cell] = [row.finding for row in found.rows if row.check.id == "MX102"]
    assert cell.status == status, cell.said
    assert ("1 redacted count apart" in cell.said) == (status == "pass")
    assert found.status == status, found.lines


@pytest.mark.parametrize(
    ("cells", "more", "statuses"),
    [
        ((10, 20), {}, ("pass", "pass", "pass")),
        ((8, 20), {}, ("pass", "pass", "fail")),
        ((7, 20), {}, ("fail", "pass", "fail")),
        ((0, 20), {}, ("pass", "fail", "pass")),
        ((5, 20), {"base": 5, "rounding": "nearest"}, ("fail", "pass", "pass")),  # 3 to 7
        ((5, 20), {"base": 5}, ("cannot_tell", "pass", "pass")),  # 1 to 9
        ((0, 20), {"base": 5, "rounding": "nearest"}, ("cannot_tell", "cannot_tell", "pass")),
        ((10, 20), {"base": 5, "rounding": "nearest"}, ("pass", "pass", "pass")),
        ((None, 20), {"base": 5, "suppressed_below": 8, "rounding": "nearest"}, ("pass", "pass", "pass")),
        (([1, 7], 20), {}, ("fail", "pass", "cannot_tell")),  # a range that is printed is not redacted
        (([8, 12], 20), {}, ("pass", "pass", "cannot_tell")),
    ],
)
def test_counts_of_tables_are_judged_as_those_of_leaves(
    cells: tuple[Any, int], more: dict[str, Any], statuses: tuple[str, str, str], tmp_path: Path
) -> None:
    """By `opensafely`: no count of 7 or fewer, none of 0 either, and all others multiples of 5."""
    counts = [["a", "ill", cells[0]], ["a", "no", cells[1]], ["b", "ill", 15], ["b", "no", 15]]
    listed = [{"at": [at], "class": klass, "count": count} for at, klass, count in counts]
    said = {"kind": "table", "by": ["g"], "cells": listed, **more}
    document = {
        "format": "maxent-statements/1",
        "target": {"name": "T", "classes": ["ill", "no"]},
        "statements": [said],
    }
    (tmp_path / "table.json").write_text(json.dumps(document), encoding="utf-8")
    least = cells[0][0] if isinstance(cells[0], list) else cells[0] if cells[0] is not None else 7
    many = {"a": (least, 20), "b": (15, 15)}
    people = pd.DataFrame(
        [(at, name) for at, of in many.items() for name, n in zip(("ill", "no"), of, strict=True) for _ in range(n)],
        columns=["g", "T"],
    )
    found = maxent.check(tmp_path / "table.json", people[["g"]], "opensafely", truth=people)
    judged = {row.check.id: row.finding.status for row in found.rows}
    assert (judged["MX102"], judged["MX103"], judged["MX121"]) == statuses
    assert judged["MX111"] == statuses[0]


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ([{"kind": "table", "count": 25, "base": 5}], {"ill": (21, 29), "others": (1, 9)}),
        ([{"kind": "table", "count": 25, "base": 5, "rounding": "nearest"}], {"ill": (23, 27), "others": (3, 7)}),
        ([{"kind": "table", "count": 15, "base": 5}], {"ill": (11, 19), "others": (11, 19)}),
        ([{"kind": "table", "count": [24, 26]}], {"ill": (24, 26), "others": (4, 6)}),
        ([{"kind": "share", "equals": "0.2"}], {"ill": (5, 7), "others": (23, 25)}),  # 4.5 to 7.5 of 30
        ([{"kind": "share", "equals": "0.8"}], {"ill": (23, 25), "others": (5, 7)}),
        ([{"kind": "rate", "equals": 200, "digits": -2, "per": 1000}], {"ill": (5, 7), "others": (23, 25)}),
        ([{"kind": "linear", "weight": 1, "equals": 5, "within": 2}], {"ill": (3, 7), "others": (23, 27)}),
        ([{"kind": "linear", "weight": -2, "equals": -50, "within": 4}], {"ill": (23, 27), "others": (3, 7)}),
        ([{"kind": "linear", "at_least": 23}, {"kind": "linear", "at_most": 27}], {"ill": (23, 27), "others": (3, 7)}),
        ([{"kind": "linear", "at_most": 27}], {"ill": (0, 27), "others": (3, 30)}),
    ],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_numbers_that_print_leaves_open_are_judged_with_the_others_beside_them(
    said: list[dict[str, Any]], numbers: dict[str, tuple[int, int]], classes: int
) -> None:
    """Of 30 people in a group: the whole range below the limit fails, one that reaches into it cannot be told."""
    statements: list[dict[str, Any]] = []
    for each in said:
        if each["kind"] == "table":
            cell = {"at": ["a"], "class": "ill", "count": each["count"]}
            more = {key: value for key, value in each.items() if key != "count"}
            statements.append({**more, "by": ["g"], "cells": [cell]})
        else:
            statements.append({**each, "where": {"g": "a"}, "class": "ill"})
    names = ["ill", "no", "maybe"][:classes]
    target = {"name": "T", "classes": names}
    release = parse_statements({"format": "maxent-statements/1", "target": target, "statements": statements}, "s.json")
    people = pd.DataFrame({"g": ["a"] * 30 + ["b"] * 100})
    for limit in (2, 4, 6, 8, 10):
        found = maxent.check(release.release, people, {"limits": {"min_cell": limit, "min_stated_cell": limit}})
        statuses = {row.finding.status for row in found.rows if row.check.id in ("MX102", "MX111")}
        ends = numbers.values()
        low, high = min((max(a, 1) for a, _ in ends), default=99), min((b for a, b in ends if a), default=99)
        assert statuses == {"fail" if high < limit else "cannot_tell" if low < limit else "pass"}, (limit, found.lines)


def test_others_who_are_suppressed_are_not_printed_unless_something_else_prints_them() -> None:
    """20, rounded, of 27 people leave 5 to 7 who are suppressed; a share of these prints their number."""
    cells = [{"at": ["a"], "class": "no", "count": 20}, {"at": ["a"], "class": "ill", "count": None}]
    table = {"kind": "table", "by": ["g"], "cells": cells, "base": 5, "rounding": "nearest", "suppressed_below": 8}
    share = {"kind": "share", "where": {"g": "a"}, "class": "ill", "equals": 0.2}
    people = pd.DataFrame({"g": ["a"] * 27 + ["b"] * 100})
    for said, status in (([table], "pass"), ([table, share], "fail")):
        target = {"name": "T", "classes": ["ill", "no"]}
        document = {"format": "maxent-statements/1", "target": target, "statements": said}
        found = maxent.check(parse_statements(document, "s.json").release, people, {"limits": {"min_stated_cell": 8}})
        assert [row.status for row in found.rows if row.check.id == "MX111"] == [status], found.lines


def test_a_printed_range_that_the_margin_settles_leaves_nothing_open() -> None:
    """Of 5 ill people 5 are in one group: the range of the other is 0, one zero; without the margin it is not known."""
    cells: list[dict[str, Any]] = [
        {"at": ["a"], "class": "ill", "count": 5},
        {"at": ["b"], "class": "ill", "count": [0, 2]},
    ]
    people = pd.DataFrame({"g": ["a"] * 20 + ["b"] * 20})
    for more, status in (([{"at": ["*"], "class": "ill", "count": 5}], "pass"), ([], "cannot_tell")):
        said = [{"kind": "table", "by": ["g"], "cells": [*cells, *more]}]
        target = {"name": "T", "classes": ["ill", "no"]}
        document = {"format": "maxent-statements/1", "target": target, "statements": said}
        limits = {"max_stated_zeros": 1 if more else 0}
        found = maxent.check(parse_statements(document, "s.json").release, people, {"limits": limits})
        assert [row.status for row in found.rows if row.check.id == "MX112"] == [status], found.lines


def people_of(many: int) -> pd.DataFrame:
    """People with two columns, and a class that is about three times as frequent in one half as in the other."""
    i = np.arange(many)
    yes = (i % 20 < 5) | ((i % 2 == 0) & (i % 20 < 15))
    return pd.DataFrame({"a": i % 2, "b": i // 2 % 2, "ill": np.where(yes, "yes", "no")})


@pytest.fixture(scope="module")
def harmless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tree of two large leaves, its people, and people like them."""
    folder = tmp_path_factory.mktemp("harmless")
    people = people_of(8000)
    people.to_csv(folder / "truth.csv", index=False)
    people.to_csv(folder / "control.csv", index=False)
    people.drop(columns="ill").to_csv(folder / "qi.csv", index=False)
    maxent.defend(people, "none", target="ill", qi=["a", "b"], max_depth=1).release.save(folder / "tree.json")
    return folder


def harmless_call(folder: Path, policy: Any, **more: Any) -> Any:
    return maxent.check(folder / "tree.json", folder / "qi.csv", policy, **more)


@pytest.mark.parametrize(
    ("name", "more", "status"),
    [
        ("satre", {"limits": {"exports": "allowed"}}, "pass"),
        ("satre", {"off": {"MX404": "by the board"}}, "pass"),
        ("uk-llc", {"off": {"MX404": "by the board"}}, "pass"),
        ("satre", {}, "cannot_tell"),
        ("uk-llc", {}, "fail"),
    ],
)
def test_a_policy_that_no_model_can_pass_says_so_first_and_what_to_add(
    harmless: Path, tmp_path: Path, capsys: Any, name: str, more: dict[str, Any], status: str
) -> None:
    found = harmless_call(harmless, {"extends": name, **more}, truth=harmless / "truth.csv")
    assert found.status == status, found.lines
    said = found.policy.never_passes
    assert bool(said) == (status != "pass")
    if said:
        assert found.lines[2] == f"  {said}"
        assert found.summary["policy"]["never_passes"] == said
        assert 'to add, in a policy that extends it: exports = "allowed" in [limits], or MX404' in said
        assert presets()[name].startswith("# No model can pass it as it is")
        assert main(["check", str(harmless / "tree.json"), str(harmless / "qi.csv"), "--policy", name]) in (3, 4)
        assert capsys.readouterr().err.startswith(f"maxent: {said}")


def test_no_shipped_policy_passes_small_cells_that_stand_beside_a_tree(harmless: Path, tmp_path: Path) -> None:
    for name in presets():
        limits = read_policy(name).limits
        assert limits["min_stated_cell"] == limits["min_leaf"]
    cell = {"kind": "count", "where": {"a": 0, "b": 0}, "class": "no", "equals": 3}
    paper = {"format": "maxent-statements/1", "target": {"name": "ill", "classes": ["no", "yes"]}, "statements": [cell]}
    (tmp_path / "paper.json").write_text(json.dumps(paper), encoding="utf-8")
    found = maxent.check([harmless / "tree.json", tmp_path / "paper.json"], harmless / "qi.csv", "satre")
    assert [row.status for row in found.rows if row.check.key == "min_stated_cell"] == ["fail"]


def test_anonymity_cannot_be_told_without_control_people(harmless: Path) -> None:
    tables = {"truth": harmless / "truth.csv", "control": harmless / "control.csv"}
    for given in ({}, {"truth": tables["truth"]}):
        found = harmless_call(harmless, "ehds", **given)
        assert (found.status, found.exit_status) == ("cannot_tell", 4), found.lines
    assert harmless_call(harmless, "ehds", **tables).status == "pass"


@pytest.mark.parametrize(
    ("limits", "off", "status"),
    [
        ({"exact": True, "may_state": ["labels", "rates", "counts", "n"], "certificate": "global"}, {}, "cannot_tell"),
        ({"min_leaf": 10, "exact": True}, {"MX101": "none"}, "cannot_tell"),
        ({"exact": True, "exports": "refused"}, {}, "fail"),
        ({"min_leaf": 10, "exact": True}, {}, "pass"),
    ],
)
def test_where_nothing_is_judged_about_people_it_cannot_be_told(
    harmless: Path, limits: Any, off: Any, status: str
) -> None:
    found = harmless_call(harmless, {"limits": limits, "off": off})
    assert all(row.status == "pass" for row in found.rows if row.check.id != "MX404")
    assert found.status == status
    assert found.exit_status == {"pass": 0, "fail": 3, "cannot_tell": 4}[status]
    nobody = "  nothing is judged that is about the people: no check 1xx, 2xx or 3xx but MX120 counts"
    assert (nobody in found.lines) == ("min_leaf" not in limits or bool(off))


def test_every_policy_asks_whether_the_estimate_can_be_relied_on(harmless: Path, tmp_path: Path) -> None:
    for policy, limits in (({"limits": {"min_leaf": 1}}, {}), (None, {"min_k": 1})):
        assert "MX501" in [row.check.id for row in harmless_call(harmless, policy, **limits).rows]
    (tmp_path / "own.yaml").write_text("safe_threshold: 10\n", encoding="utf-8")
    assert harmless_call(harmless, tmp_path / "own.yaml").rows[-1].check.id == "MX501"
    for id_, stated in (("MX501", {}), ("MX401", {"exact": True})):
        with pytest.raises(maxent.InvalidInput, match=rf"{id_}: expected a check that can be switched off"):
            harmless_call(harmless, {"limits": {"min_leaf": 1, **stated}, "off": {id_: "slow"}})


def test_a_changed_policy_is_called_by_its_own_name_everywhere(harmless: Path, capsys: Any) -> None:
    (harmless / "own.toml").write_text('extends = "satre"\n[limits]\nexports = "allowed"\n', encoding="utf-8")
    name = 'own policy, extends SATRE 2.0.1; 1 limit relaxed: exports "allowed" (was "by decision")'
    call = ["check", str(harmless / "tree.json"), str(harmless / "qi.csv"), "--policy", str(harmless / "own.toml")]
    assert main([*call, "--record", str(harmless / "record.json"), "--report", str(harmless / "check.html")]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0] == f"tree, checked against {name}"
    assert printed.out.splitlines()[2] == f"  by {name}"
    record = json.loads((harmless / "record.json").read_text(encoding="utf-8"))
    assert record["policy"]["name"] == record["policy"]["content"]["name"] == name
    assert (record["policy"]["version"], record["policy"]["source"]) == ("", "")
    assert f"**PASS** against the policy {name}. Checked on" in maxent.model_card(record)
    assert "2.0.1; 1 limit relaxed" in (harmless / "check.html").read_text(encoding="utf-8")
    assert maxent.verify(harmless / "record.json").exit_status == 0
    looser = harmless_call(harmless, "satre", min_leaf=2)
    assert looser.lines[1] == "  by own policy, extends SATRE 2.0.1; 1 limit relaxed: min_leaf 2 (was 10)"
    assert looser.summary["policy"]["name"] == looser.policy.name == looser.lines[1].removeprefix("  by ")


MODELS: dict[str, Any] = {
    "tree": (DecisionTreeClassifier(max_depth=3, min_samples_leaf=8), False),
    "tree with weights": (DecisionTreeClassifier(max_depth=2), True),
    "tree with weights of classes": (DecisionTreeClassifier(max_depth=3, class_weight="balanced"), False),
    "forest": (RandomForestClassifier(2, max_depth=3, bootstrap=False, random_state=0), False),
    "boosting": (GradientBoostingClassifier(n_estimators=1, max_depth=2, random_state=0), False),
    "boosting in two rounds": (GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0), False),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_and_its_release_are_judged_alike(tmp_path: Path, name: str) -> None:
    skops = pytest.importorskip("skops.io")
    dice = np.random.default_rng(4)
    people = pd.DataFrame(dice.integers(0, 4, (120, 3)).astype(float), columns=["a", "b", "c"])
    classes = np.where((people["a"] + people["b"] + dice.integers(0, 3, 120)) > 4, "yes", "no")
    model, weighted = MODELS[name]
    model = clone(model).fit(people, classes, sample_weight=dice.integers(1, 4, 120) if weighted else None)
    skops.dump(model, tmp_path / "model.skops")
    truth, columns = people.assign(ill=classes), ["a", "b"] if name == "tree" else ["a", "b", "c"]
    maxent.convert(tmp_path / "model.skops", train=truth, target="ill", qi=columns).save(tmp_path / "tree.json")
    limits: dict[str, Any] = {"min_leaf": 10, "max_certain": 100}
    private = [each for each in people if each not in columns]
    call: dict[str, Any] = {"truth": truth, **limits}
    of_model = maxent.check(tmp_path / "model.skops", people[columns], target="ill", private=private or None, **call)
    of_release = maxent.check(tmp_path / "tree.json", people[columns], **call)
    judged = [[(row.check.id, row.finding) for row in found.rows] for found in (of_model, of_release)]
    assert [id_ for id_, _ in judged[0]] == ["MX101", "MX202", "MX406", "MX501"]
    if "rounds" not in name:
        assert judged[0] == judged[1]
        return
    # Its own file has impurities, which are no part of the release.
    (_, of_file), (_, of_leaves) = judged[0][1], judged[1][1]
    assert (of_file.status, of_leaves.status) == ("cannot_tell", "pass")
    assert of_file.figure == of_leaves.figure
    assert "impurities of nodes" in of_file.said
    assert [judged[0][0], *judged[0][2:]] == [judged[1][0], *judged[1][2:]]


LIMITS = "[limits]\nmin_leaf = {leaf}\nmax_pure = {pure}\n[off]\n{off}\n"


@pytest.mark.parametrize(
    ("leaf", "pure", "off", "status"),
    [
        (2, 2, "", 0),
        (3, 2, "", 3),
        (3, 2, 'MX101 = "agreed by the panel"', 0),
        (3, 1, 'MX101 = "agreed by the panel"', 3),
    ],
)
def test_exit_statuses_and_checks_that_are_off(
    tmp_path: Path, capsys: Any, leaf: int, pure: int, off: str, status: int
) -> None:
    (tmp_path / "policy.toml").write_text(LIMITS.format(leaf=leaf, pure=pure, off=off), encoding="utf-8")
    call = ["check", str(D1 / "tree.json"), str(D1 / "qi.csv"), "--policy", str(tmp_path / "policy.toml")]
    assert main(call) == status
    assert (
        "records of the smallest leaf (MX101) off (agreed by the panel): 2, at least" in capsys.readouterr().out
    ) == bool(off)


def test_what_cannot_be_told_is_4_and_what_is_not_to_be_relied_on_1(tmp_path: Path, capsys: Any) -> None:
    released(tmp_path, only_labels)
    call = [str(tmp_path / "tree.json"), str(D1 / "qi.csv")]
    assert main(["check", *call, "--max-lift", "0.1", "--enforce"]) == 4
    released(tmp_path, of_others)
    assert main(["check", *call, "--max-posterior", "1"]) == 1
    assert "the statements contradict each other" in capsys.readouterr().err


def test_roles_of_the_policy_and_of_the_call(capsys: Any, tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(
        "[limits]\nmin_k = 1\nattributes_named = true\n"
        '[roles]\npublic = ["Education", "Country"]\nprivate = ["Gender"]\n',
        encoding="utf-8",
    )
    QI[["Education", "Country"]].to_csv(tmp_path / "qi.csv", index=False)
    call = ["check", str(D1 / "tree.json"), str(tmp_path / "qi.csv"), "--json"]
    assert main([*call, "--policy", str(tmp_path / "policy.toml")]) == 0
    assert main([*call, "--private", "Gender", "--min-k", "1"]) == 0
    capsys.readouterr()
    assert main([*call, "--private", "Gendr", "--min-k", "1"]) == 2
    assert "--private: expected attributes of the model" in capsys.readouterr().err


def test_files_of_a_check(tmp_path: Path, capsys: Any) -> None:
    call = ["check", str(D1 / "tree.json"), str(D1 / "qi.csv"), "--min-k", "1"]
    files = [("-o", "out.csv"), ("--record", "record.json")]
    assert main([*call, *(word for option, name in files for word in (option, str(tmp_path / name)))]) == 0
    assert main([*call, "-o", str(tmp_path / "out.json")]) == 0
    assert (tmp_path / "record.json").is_file()
    assert pd.read_csv(tmp_path / "out.csv")["id"].tolist() == ["MX107", "MX406", "MX501"]
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["verdict"]["status"] == "pass"
    capsys.readouterr()
    assert main([*call, "--record", str(tmp_path / "record.txt")]) == 2
    assert "--record: expected a file name that ends in .json" in capsys.readouterr().err
    (tmp_path / "policy.toml").write_text('[limits]\nmin_k = 1\n[adversary]\nfacts = "out.json"\n', encoding="utf-8")
    assert main([*call, "--policy", str(tmp_path / "policy.toml"), "--record", str(tmp_path / "out.json")]) == 2
    assert " of its own, found " in capsys.readouterr().err


def test_the_list_of_checks_and_what_is_known_of_one(capsys: Any) -> None:
    assert main(["check", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == list(CHECKS)
    assert main(["check", "--list", "--json"]) == 0
    assert [each["id"] for each in json.loads(capsys.readouterr().out)["checks"]] == list(CHECKS)
    assert main(["check", "--explain", "MX203"]) == 0
    assert "max_certain_proved = 0" in capsys.readouterr().out
    assert main(["check", "--explain", "MX103", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["key"] == "max_zeros"
    assert main(["check", "--explain", "MX999"]) == 2
    assert "--explain: expected the id of a check" in capsys.readouterr().err


def test_leaves_that_are_pure_in_one_of_several_columns(tmp_path: Path) -> None:
    people = QI.assign(Salary=PEOPLE["Salary"], Car=["yes", "no"] * 5 + ["yes"])
    made = maxent.defend(people, "none", target=["Salary", "Car"], qi=list(QI.columns), max_depth=2)
    found = maxent.check(made.release, QI, max_pure=0, max_background=0)
    sizes = made.release.trees[0].nodes
    pure = {name: alone.summary["homogeneity"]["leaves"] for name, alone in found.review.audit.targets.items()}
    assert len(sizes) > 3
    assert max(pure.values()) > found.review.audit.summary["homogeneity"]["leaves"]
    assert found.rows[0].finding.figure == max(pure.values())


def test_calls_that_are_wrong(capsys: Any) -> None:
    assert main(["check", str(D1 / "tree.json"), "-", "--min-k", "1", "--record", "record.json"]) == 2
    assert "--record: expected files alone, as it has their hashes, found standard input" in capsys.readouterr().err
    assert main(["check"]) == 2
    assert capsys.readouterr().err.count("expected a value, found nothing") == 2
    assert main(["check", str(D1 / "tree.json"), str(D1 / "qi.csv")]) == 2
    assert "--policy: expected a policy with limits" in capsys.readouterr().err
    assert main(["check", str(D1 / "tree.json"), str(D1 / "qi.csv"), "--policy", "satr"]) == 2
    assert "did you mean 'satre'?" in capsys.readouterr().err
    with pytest.raises(maxent.InvalidInput, match="min_lea: expected the key of a check"):
        maxent.check(D1 / "tree.json", QI, min_lea=3)
    with pytest.raises(maxent.InvalidInput, match="min_leaf: expected a number of individuals of at least 1, found 0"):
        maxent.check(D1 / "tree.json", QI, min_leaf=0)
    with pytest.raises(maxent.InvalidInput, match="release: expected a release of trees"):
        maxent.check(QI, QI, min_leaf=1)
    with pytest.raises(maxent.InvalidInput, match="policy: expected the path of a policy"):
        maxent.check(D1 / "tree.json", QI, 3)  # type: ignore[arg-type]


def test_a_report_has_each_check_by_its_name_before_its_number(tmp_path: Path, capsys: Any) -> None:
    report = tmp_path / "check.html"
    call = ["check", str(D1 / "tree.json"), str(D1 / "qi.csv"), "--policy", "satre", "--report", str(report)]
    assert main([*call, "--title", "Wages", "--purpose", "for the panel"]) == 3
    printed, written = capsys.readouterr().out, report.read_text(encoding="utf-8")
    for row in maxent.check(D1 / "tree.json", D1 / "qi.csv", "satre").rows:
        line = next(line for line in printed.splitlines() if f"({row.check.id}) {STATUS_WORDS[row.status]}: " in line)
        assert line.startswith(f"  {row.check.title} ({row.check.id}) ")
        assert line in written
    assert "<h1>Wages</h1>\n<p>for the panel</p>" in written
    report.unlink()
    assert main([*call[:-1], str(tmp_path / "check.pdf")]) == 2
    assert "--report: expected" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []


def test_weights_of_people_are_a_column_of_the_truth(tmp_path: Path, capsys: Any) -> None:
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"a": rng.integers(0, 3, 200), "b": rng.integers(0, 3, 200)}).astype(float)
    labels, weights = pd.Series(np.where(rng.random(200) < 0.3, "yes", "no")), 1.0 + (people["a"] == 1)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(people, labels, sample_weight=weights)
    model, table, truth = (str(tmp_path / name) for name in ("model.skops", "table.csv", "truth.csv"))
    skops.io.dump(tree, model)
    people.to_csv(table, index=False)
    people.assign(y=labels, w=weights).to_csv(truth, index=False)
    record = str(tmp_path / "record.json")
    call = ["check", model, table, "--truth", truth, "--target", "y", "--max-certain", "0", "--max-posterior", "0.97"]
    assert main(call) == 4
    assert main([*call, "--sample-weight", "w", "--record", record]) == 0
    assert json.loads(Path(record).read_text(encoding="utf-8"))["call"]["options"]["sample_weight"] == "w"
    assert maxent.verify(record).status == "pass"
    given: dict[str, Any] = {"target": "y", "max_certain": 0}
    assert maxent.check(model, table, truth=truth, sample_weight="w", **given).status == "pass"
    for wrong in ({"sample_weight": "w"}, {"sample_weight": weights, "truth": truth}):
        with pytest.raises(maxent.InvalidInput, match="the name of a column of truth="):
            maxent.check(model, table, **wrong, **given)
    with pytest.raises(maxent.InvalidInput, match="sample_weight"):
        maxent.check(model, table, truth=truth, sample_weight="other", **given)


def test_an_adversary_whom_a_check_of_proofs_fails_is_not_called_unnamed() -> None:
    found = maxent.check(D1 / "tree.json", D1 / "qi.csv", {"limits": {"max_certain_proved": 0}})
    [table] = [rung for rung in found.ladder if rung.adversary == "table"]
    assert (table.status, table.why) == ("fail", "")
