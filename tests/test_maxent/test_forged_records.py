"""Forged records: everything that a record states is computed again or compared, or named as not verified."""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import chdir
from copy import deepcopy
from html import unescape
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.paths import D1, copy_d1

import maxent
from maxent.__main__ import main
from maxent.policy.policy import Policy
from maxent.policy.record import schema

POLICY = """
extends = "satre"
[limits]
max_pure = 3
max_posterior = 0.9
[off]
MX404 = "decided elsewhere"
[adversary]
facts = "facts.csv"
marginal = "marginal.csv"
[rules]
suppression = "none"
perturbation = "none"
"""
Forgery = Callable[[Any], None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a policy, a truth, control people and everything else that a check reads, and its record."""
    folder = tmp_path_factory.mktemp("forged")
    copy_d1(folder)
    people = pd.read_csv(D1 / "truth.csv")
    people.iloc[::2].to_csv(folder / "control.csv", index=False)
    people.head(1).assign(count=1).to_csv(folder / "facts.csv", index=False)
    people.head(2).tail(1).assign(count=1).to_csv(folder / "others.csv", index=False)
    people.groupby("Salary").size().rename("count").reset_index().to_csv(folder / "marginal.csv", index=False)
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    files = {"--policy": "policy.toml", "--truth": "truth.csv", "--control": "control.csv", "--record": "record.json"}
    files["--dossier"] = "d.html"
    named = [word for option, name in files.items() for word in (option, str(folder / name))]
    call = [
        "check",
        str(folder / "tree.json"),
        str(folder / "qi.csv"),
        *named,
        "--title",
        "Wages",
        "--max-certain",
        "9",
    ]
    assert main(call) == 3
    return folder


def put(place: str, value: Any) -> Forgery:
    """What puts a value at a place of a record, or lets a function make it of the one that is there."""
    *steps, last = (int(step) if step.isdigit() else step for step in place.split("/"))

    def forge(record: Any) -> None:
        part = record
        for step in steps:
            part = part.setdefault(step, {}) if isinstance(part, dict) else part[step]
        part[last] = value(part[last]) if callable(value) else value

    return forge


def more(text: str) -> str:
    return f"{text}!"


def hashed(record: Any) -> None:
    """The hashes of a policy whose content was forged, as whoever forges one would put them right."""
    record["policy"]["sha256"] = Policy(record["policy"]["content"]).sha256
    record["criteria"]["tool"]["configuration_sha256"] = record["policy"]["sha256"]
    record["criteria"]["thresholds"] = dict(Policy(record["policy"]["content"]).limits)


def loosened(record: Any) -> None:
    record["policy"]["content"]["limits"]["min_leaf"] = 1
    next(row for row in record["checks"] if row["key"] == "min_leaf").update(limit=1, status="pass")
    hashed(record)


def loosened_a_little(record: Any) -> None:
    record["policy"]["content"]["limits"]["max_posterior"] = 0.9000001
    next(row for row in record["checks"] if row["key"] == "max_posterior").update(limit=0.9000001)
    hashed(record)


def without_check(record: Any) -> None:
    del record["policy"]["content"]["limits"]["min_leaf"]
    record["checks"] = [row for row in record["checks"] if row["key"] != "min_leaf"]
    hashed(record)


def switched_off(record: Any) -> None:
    row = next(row for row in record["checks"] if row["key"] == "min_leaf")
    row["off"] = record["policy"]["content"]["off"][row["id"]] = "agreed"
    record["overrides"] = [{"id": each["id"], "reason": each["off"]} for each in record["checks"] if each["off"]]
    hashed(record)


def on_again(record: Any) -> None:
    del record["policy"]["content"]["off"]
    record["overrides"] = []
    for row in record["checks"]:
        row["off"] = None
    hashed(record)


def without_file_of_policy(record: Any) -> None:
    record["inputs"] = [each for each in record["inputs"] if each["role"] != "policy"]
    del record["call"]["paths"]["policy"], record["policy"]["files"][1:]


def of_satre(record: Any) -> None:
    """The very hash of a policy that is shipped, and other limits."""
    without_file_of_policy(record)
    record["call"]["options"]["policy"] = "satre"
    loosened(record)


def of_another_satre(record: Any) -> None:
    of_satre(record)
    record["policy"]["files"][0]["sha256"] = "0" * 64
    of_another_version(record)


def of_nowhere(record: Any) -> None:
    without_file_of_policy(record)
    record["call"]["options"]["policy"] = "none of ours"


def of_another_version(record: Any) -> None:
    record["versions"]["maxent"] = record["criteria"]["tool"]["version"] = "0.0.1"


def said_by_another_version(record: Any) -> None:
    of_another_version(record)
    record["checks"][0]["said"] = record["checks"][0]["title"] = "everybody is safe"


def figure_by_another_version(record: Any) -> None:
    of_another_version(record)
    record["checks"][0]["found"] = 50


def said_by_another_library(record: Any) -> None:
    record["versions"]["numpy"] = "0.1"
    record["checks"][0]["said"] = "everybody is safe"


def with_file(role: str, name: str) -> Forgery:
    """What lists a file that is there, with its true hash."""

    def forge(record: Any) -> None:
        here = next(each for each in record["inputs"] if each["path"] == "truth.csv")
        record["inputs"].append({**here, "role": role, "path": name})

    return forge


def without_file(role: str) -> Forgery:
    """What strikes a file from the list."""

    def forge(record: Any) -> None:
        record["inputs"] = [each for each in record["inputs"] if each["role"] != role]

    return forge


def uncalled(role: str) -> Forgery:
    """What strikes a file from the list and from the call."""

    def forge(record: Any) -> None:
        del record["call"]["paths"][role]
        without_file(role)(record)

    return forge


def with_other_facts(record: Any) -> None:
    """A file that is there, with its true hash, in the place of that which the policy names."""
    record["call"]["paths"]["facts"] = "others.csv"
    entry = next(each for each in record["inputs"] if each["role"] == "facts")
    content = Path(record.pop("folder"), "others.csv").read_bytes()
    entry |= {"path": "others.csv", "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def twice(record: Any) -> None:
    record["checks"].append(record["checks"][0])


def turned(record: Any) -> None:
    record["checks"].reverse()


def listed_twice(record: Any) -> None:
    record["inputs"].append(record["inputs"][1])


def without_option(name: str) -> Forgery:
    def forge(record: Any) -> None:
        del record["call"]["options"][name]

    return forge


OTHER = "0" * 64
# Name of a forgery of more than one field -> what forges, and the first field that differs, or is not verified.
FORGERIES: dict[str, tuple[Forgery, str]] = {
    "without a version": (lambda record: record["versions"].pop("numpy"), "versions.numpy"),
    "loosened": (loosened, "criteria.thresholds.min_leaf"),
    "loosened a little": (loosened_a_little, "criteria.thresholds.max_posterior"),
    "without a check": (without_check, "criteria.thresholds.min_leaf"),
    "switched off": (switched_off, "criteria.tool.configuration_sha256"),
    "on again": (on_again, "criteria.tool.configuration_sha256"),
    "of satre": (of_satre, "criteria.thresholds.min_leaf"),
    "of another satre": (of_another_satre, "CANNOT TELL"),
    "of nowhere": (of_nowhere, "CANNOT TELL"),
    "without a file of the policy": (without_file_of_policy, "criteria.thresholds.min_leaf"),
    "said by another version": (said_by_another_version, "checks.MX101.said"),
    "a figure of another version": (figure_by_another_version, "checks.MX101.found"),
    "said by another library": (said_by_another_library, "checks.MX101.said"),
    "a file that no check read": (with_file("table", "truth.csv"), "inputs: table truth.csv"),
    "a further file of the policy": (with_file("policy", "truth.csv"), "inputs: policy truth.csv"),
    "a further truth": (with_file("truth", "../truth.csv"), "CANNOT TELL"),
    "without truth in the list": (without_file("truth"), "inputs: truth truth.csv"),
    "without policy in the list": (without_file("policy"), "inputs: policy policy.toml"),
    "without truth": (uncalled("truth"), "CANNOT TELL"),
    "without control": (uncalled("control"), "dossier.control"),
    "without facts": (uncalled("facts"), "inputs: facts facts.csv"),
    "with other facts": (with_other_facts, "inputs: facts facts.csv"),
    "a check twice": (twice, "checks"),
    "checks in another order": (turned, "checks"),
    "a file twice": (listed_twice, "inputs: table qi.csv"),
    "without a limit of the call": (without_option("limits"), "criteria.thresholds.max_certain"),
}

# Forgeries of more than one field that nothing tells: the field is not verified.
UNVERIFIED = ("said by another version", "without a version")

# Place of a field -> a value that is forged, and the first field that differs: empty where it is that very one.
EACH: dict[str, tuple[Any, str]] = {
    "created": ("2020-01-01T00:00:00Z", "not verified"),
    "title": ("Others", "not verified"),
    "purpose": ("To be safe", "not verified"),
    "output/name": (more, ""),
    "output/files/0/role": ("table", "output.files"),
    "output/files/0/path": (more, "output.files"),
    "output/files/0/bytes": (1, "output.files"),
    "output/files/0/sha256": (OTHER, "output.files"),
    "output/format": (more, ""),
    "output/tool": (more, ""),
    "output/lost": (["nothing"], ""),
    "output/target": (more, ""),
    "output/classes/0": (more, "output.classes.1"),
    "output/attributes/Gender": ("private", ""),
    "output/trees": (2, ""),
    "output/individuals": (1000, ""),
    "inputs/1/role": ("truth", "inputs: truth qi.csv"),
    "inputs/1/path": ("truth.csv", "inputs: table truth.csv"),
    "inputs/1/bytes": (1, "inputs: table qi.csv"),
    "written/0/role": ("report", "not verified"),
    "written/0/path": ("other.html", "not verified"),
    "written/0/bytes": (1, "written: dossier d.html"),
    "written/0/sha256": (OTHER, "written: dossier d.html"),
    "inputs/1/sha256": (OTHER, "inputs: table qi.csv"),
    "versions/maxent": ("9.9", "criteria.tool.version"),
    "versions/Python": ("9.9", "not verified"),
    "versions/numpy": ("9.9", "not verified"),
    "criteria/thresholds/min_leaf": (1, "criteria.thresholds"),
    "criteria/suppression/policy": (more, ""),
    "criteria/suppression/counts_suppressed_below": (5, ""),
    "criteria/suppression/leaves_removed": (2, ""),
    "criteria/perturbation/policy": (more, ""),
    "criteria/perturbation/sampling_rate": (0.5, ""),
    "criteria/perturbation/rounded": ({"base": 5, "method": "nearest"}, ""),
    "criteria/model_requirements": (more, ""),
    "criteria/risk_appetite": (more, ""),
    "criteria/tool/version": ("9.9", ""),
    "criteria/tool/configuration_sha256": (OTHER, ""),
    "policy/name": (more, ""),
    "policy/version": (more, ""),
    "policy/source": (more, ""),
    "policy/sha256": (OTHER, "criteria.tool.configuration_sha256"),
    "policy/files/0/name": (more, "policy.files.1.name"),
    "policy/files/0/sha256": (OTHER, "policy.files.1.sha256"),
    "policy/files/1/sha256": (OTHER, "policy.files"),
    "policy/left_out": (["safe_round_base does not apply"], ""),
    "policy/content/about": ("Everything is safe", "policy.sha256"),
    "policy/content/limits/min_leaf": (1, "criteria.thresholds"),
    "policy/content/off/MX404": (more, "policy.sha256"),
    "policy/content/adversary/background": (9, "policy.sha256"),
    "call/paths/statements": (["others.csv"], "inputs: statements others.csv"),
    "call/paths/release": ("qi.csv", "CANNOT TELL"),
    "call/paths/truth": ("others.csv", "inputs: truth truth.csv"),
    "call/paths/policy": ("satre.toml", "CANNOT TELL"),
    "call/options/target": ("Gender", "CANNOT TELL"),
    "call/options/no_marginal": (True, "verdict.marginal"),
    "call/options/published_as": ("onnx", "not verified"),
    "call/options/classes": (["a", "b"], "not verified"),
    "call/options/features": (["a"], "not verified"),
    "call/options/parameters": ({"a": "1"}, "CANNOT TELL"),
    "call/options/private": (["Gender"], "CANNOT TELL"),
    "call/options/count": ("n", "CANNOT TELL"),
    "call/options/sensitive": ([">50K"], "checks.MX202.found"),
    "call/options/sample_weight": ("Salary", "CANNOT TELL"),
    "call/options/backend": ("none", "CANNOT TELL"),
    "call/options/tolerance": (1e-9, "not verified"),
    "call/options/presolve": (False, "not verified"),
    "call/options/starts": (3, "not verified"),
    "call/options/seed": (3, "not verified"),
    "call/options/time_limit": (100.0, "not verified"),
    "call/options/jobs": (1, "not verified"),
    "call/options/floor": (1e-5, "not verified"),
    "call/options/policy": ("ehds", ""),
    "call/options/limits": ({"max_certain": 11}, "criteria.thresholds.max_certain"),
    "call/options/reading": ({"text": "strip"}, "not verified"),
    "call/command": ("review", "CANNOT TELL"),
    "call/options/people": (9, "CANNOT TELL"),
    "call/options/column": ("Salary", ""),
    "call/options/qi": (["Gender"], ""),
    "call/options/knowledge": (["label"], ""),
    "call/options/impurity": ("gini", ""),
    "call/options/rounding": ("digits", ""),
    "call/options/confidence": (0.5, ""),
    "call/options/noise": ("intervals", ""),
    "call/options/rows": (True, ""),
    "call/options/rows_unknown": ("none", ""),
    "call/options/adversary": ("rows", ""),
    "call/options/top": (3, ""),
    "call/options/bins": ([1.0], ""),
    "call/options/values": ([1.0], ""),
    "ladder/0/adversary": ("rows", "ladder.predictions"),
    "ladder/0/assumed": (more, "ladder.predictions.assumed"),
    "ladder/2/contains/0": (more, "ladder.table.contains.1"),
    "ladder/0/certain": (4, "ladder.predictions.certain"),
    "ladder/0/certain_proved": (4, "ladder.predictions.certain_proved"),
    "ladder/0/certain_in_truth": (4, "ladder.predictions.certain_in_truth"),
    "ladder/0/right_guesses": (0.5, "ladder.predictions.right_guesses"),
    "ladder/0/base_rate": (0.5, "ladder.predictions.base_rate"),
    "ladder/0/worst/qi/Gender": (more, "ladder.predictions.worst.qi.Gender"),
    "ladder/0/worst/people": (9, "ladder.predictions.worst.people"),
    "ladder/0/worst/others": (9, "ladder.predictions.worst.others"),
    "ladder/0/worst/class": (more, "ladder.predictions.worst.class"),
    "ladder/0/worst/probability": (0.5, "ladder.predictions.worst.probability"),
    "ladder/0/status": ("pass", "ladder.predictions.status"),
    "ladder/0/why": (more, "ladder.predictions.why"),
    "dossier/published/trees": (9, ""),
    "dossier/control/members": (0.5, ""),
    "dossier/membership": ({"proved_members": 0}, ""),
    "dossier/would_pass": ({"offered": False}, ""),
    "dossier/worst/0/remedy": (more, "dossier.worst.1.remedy"),
    "dossier/worst/0/qi/Gender": (more, "dossier.worst.1.qi.Gender"),
    "dossier/worst/0/people": (9, "dossier.worst.1.people"),
    "dossier/worst/0/class": (more, "dossier.worst.1.class"),
    "dossier/worst/0/probability": (0.5, "dossier.worst.1.probability"),
    "dossier/worst/0/proved": (False, "dossier.worst.1.proved"),
    "dossier/worst/0/row": (9, "dossier.worst.1.row"),
    "dossier/not_tested/0": (more, "dossier.not_tested.1"),
    "checks/0/id": ("MX102", "checks.MX102"),
    "checks/0/key": (more, "checks.MX101.key"),
    "checks/0/title": (more, "checks.MX101.title"),
    "checks/0/limit": (1, "checks.MX101.limit"),
    "checks/0/found": (50, "checks.MX101.found"),
    "checks/0/status": ("pass", "checks.MX101.status"),
    "checks/0/said": (more, "checks.MX101.said"),
    "checks/0/off": ("agreed", "checks.MX101.off"),
    "checks/0/adversary": ("rows", "checks.MX101.rows"),
    "overrides/0/id": ("MX101", "overrides"),
    "overrides/0/reason": (more, "overrides"),
    "verdict/status": ("pass", ""),
    "verdict/exit": (0, ""),
    "verdict/reliable": (False, ""),
    "verdict/trouble": ("none", ""),
    "verdict/marginal": (False, ""),
    "verdict/unread": (["nothing"], ""),
    "verdict/stopped": ("time_limit", ""),
    "decision/decided_by": ("A. Checker", "not verified"),
    "decision/role": ("checker", "not verified"),
    "decision/decision": ("released", "not verified"),
    "decision/reason": ("none", "not verified"),
    "decision/decided_at": ("2026-11-30", "not verified"),
}


@pytest.mark.parametrize("name", [*FORGERIES, *EACH])
@pytest.mark.promise(number=9)
def test_a_forged_record_is_told_by_the_field_or_the_field_is_not_verified(
    folder: Path, tmp_path: Path, name: str, recwarn: Any
) -> None:
    forge, first = FORGERIES[name] if name in FORGERIES else (put(name, EACH[name][0]), EACH[name][1])
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    if name == "with other facts":
        record["folder"] = str(folder)
    forge(record)
    (tmp_path / "record.json").write_text(json.dumps(record), encoding="utf-8")
    found = maxent.verify(tmp_path / "record.json", folder)
    first = first or name.replace("/", ".")
    if first == "CANNOT TELL":
        assert found.status != "pass"
        assert found.summary["trouble"] or found.missing
    elif first == "not verified" or name in UNVERIFIED:
        field = first if name in FORGERIES else name.replace("/", ".")
        assert found.status == "pass", found.lines
        assert field in found.summary["not_verified"]
        assert found.lines[-1].startswith(
            "taken as the record says it, as nobody can compute it again: when it was made;"
        )
        assert "versions." not in found.lines[-1]
    else:
        assert (found.status, found.first) == ("fail", first), found.lines
        assert f"the first field that differs: {first}" in found.lines


def leaves(of: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The leaf fields of a schema; ``*`` for what has no name in it."""
    inner = {**of.get("properties", {}), **({"*": of["items"]} if "items" in of else {})}
    if isinstance(of.get("additionalProperties"), dict):
        inner["*"] = of["additionalProperties"]
    for name, each in inner.items():
        yield from leaves(each, (*place, name))
    if not inner:
        yield place


def test_every_field_of_the_schema_is_forged() -> None:
    forged = [place.split("/") for place in EACH]
    for leaf in leaves(schema()):
        if leaf in (("format",), ("criteria", "tool", "name")):  # constants: without them it is no record
            continue
        assert any(all(step in ("*", other) for step, other in zip(leaf, place, strict=False)) for place in forged), (
            leaf
        )
    assert len(EACH) + len(FORGERIES) >= 45


def test_a_policy_of_a_call_is_compared_with_what_the_call_said(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(folder, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    policy = {"extends": "policy.toml", "limits": {"min_k": 2}}
    found = maxent.check("tree.json", "qi.csv", policy, truth="truth.csv", min_leaf=3)
    (tmp_path / "records").mkdir()
    record = found.record(tmp_path / "records" / "record.json")
    assert record["call"]["options"]["policy"] == {**policy, "extends": "../here/policy.toml"}
    assert record["call"]["options"]["limits"] == {"min_leaf": 3}
    assert maxent.verify(tmp_path / "records" / "record.json").changes == ()
    del record["call"]["options"]["limits"]
    record["call"]["options"]["policy"]["limits"]["min_k"] = 1
    (tmp_path / "records" / "record.json").write_text(json.dumps(record), encoding="utf-8")
    changed = maxent.verify(tmp_path / "records" / "record.json").changes
    assert "policy.content.limits.min_leaf: 3 in the record, now 10" in changed
    assert "policy.content.limits.min_k: 2 in the record, now 1" in changed


def test_other_libraries_may_round_the_last_digit_of_a_sentence(folder: Path, tmp_path: Path) -> None:
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    row = next(row for row in record["checks"] if row["key"] == "max_posterior")
    number = f"{row['found']:.3f}"
    assert number in row["said"]
    row["said"] = row["said"].replace(number, f"{row['found'] - 1e-3:.3f}")
    (tmp_path / "record.json").write_text(json.dumps(record), encoding="utf-8")
    assert maxent.verify(tmp_path / "record.json", folder).first == "checks.MX201.said"
    record["versions"]["numpy"] = "0.1"
    (tmp_path / "record.json").write_text(json.dumps(record), encoding="utf-8")
    assert maxent.verify(tmp_path / "record.json", folder).status == "pass"


def test_every_number_that_a_dossier_prints_of_a_register_and_of_the_change_offered_is_verified(tmp_path: Path) -> None:
    people = pd.DataFrame({"age": [20, 20, 20, 30, 30, 30, 40, 40, 40, 40], "ill": [*"nnnnynyyyy"]})
    people.to_csv(tmp_path / "people.csv", index=False)
    pd.DataFrame({"age": [20] * 5 + [30] * 6 + [40] * 7}).to_csv(tmp_path / "register.csv", index=False)
    model = DecisionTreeClassifier(random_state=0).fit(people[["age"]], people["ill"])
    maxent.from_sklearn(model, target="ill", X=people[["age"]]).save(tmp_path / "tree.json")
    call = ["review", "tree.json", "people.csv", "--target", "ill", "--qi", "age", "--max-certain", "0"]
    files = ["--population", "register.csv", "--record", "record.json", "--dossier", "dossier.html"]
    with chdir(tmp_path):
        main([*call, *files])
    page = unescape((tmp_path / "dossier.html").read_text(encoding="utf-8"))
    record = json.loads((tmp_path / "record.json").read_text(encoding="utf-8"))
    dossier = record["dossier"]
    control, offered, remedy = dossier["membership"]["control"], dossier["would_pass"], dossier["worst"][0]["remedy"]
    assert f"mean P(member) of {control['n_members']} members {control['members']:.3f}" in page
    assert f"largest P(member) {dossier['membership']['largest']:.3f}" in page
    assert f"predicts {100 * offered['accuracy']:.1f} % of its records right, " in page
    assert f"cut back from {offered['leaves_before']} leaves to {offered['leaves']} " in page
    assert "the surest guess there is right with" in remedy
    assert remedy in page
    assert maxent.verify(tmp_path / "record.json").status == "pass"
    register = [name for name in dossier["membership"] if name not in ("control", "in_truth")]
    numbers = ["leaves", "leaves_before", "accuracy", "accuracy_before"]
    for place in [
        *(f"membership/{name}" for name in register),
        *(f"membership/control/{name}" for name in ("members", "controls", "difference", "interval/0", "interval/1")),
        *(f"would_pass/{name}" for name in numbers),
    ]:
        forged = deepcopy(record)
        put(f"dossier/{place}", lambda old: old + 0.01 if isinstance(old, float) else old + 1)(forged)
        (tmp_path / "forged.json").write_text(json.dumps(forged), encoding="utf-8")
        found = maxent.verify(tmp_path / "forged.json")
        assert found.status == "fail", place
        assert found.first.startswith(f"dossier.{place.partition('/')[0]}.")
