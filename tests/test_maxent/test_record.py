"""Records of checks: their schema, what they hold, and whether they are still true."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from skops.io import dump
from support.calls import printed_by
from support.paths import D1, copy_d1

import maxent
from maxent.__main__ import main
from maxent.api import estimate as estimating
from maxent.api import proving
from maxent.api import verify as verifying
from maxent.api.check import check_release
from maxent.disclosure.ladder import ADVERSARIES
from maxent.policy.checks.registry import CHECKS
from maxent.policy.record import KEYWORDS, schema, shape_problems

POLICY = """
extends = "satre"
[limits]
exports = "allowed"
[off]
MX101 = "a teaching example: nobody of it is real"
[roles]
public = ["Education", "Country", "Gender"]
[adversary]
facts = "facts.csv"
marginal = "marginal.csv"
[rules]
suppression = "none"
perturbation = "none"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything that a check reads, and its record."""
    folder = tmp_path_factory.mktemp("record")
    copy_d1(folder)
    shutil.copy(D1 / "truth.csv", folder / "control.csv")
    people = pd.read_csv(D1 / "truth.csv")
    people.head(1).assign(count=1).to_csv(folder / "facts.csv", index=False)
    people.groupby("Salary").size().rename("count").reset_index().to_csv(folder / "marginal.csv", index=False)
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")
    found = maxent.check(
        *(folder / name for name in ("tree.json", "qi.csv", "policy.toml")),
        truth=folder / "truth.csv",
        control=folder / "control.csv",
        title="The example",
        purpose="To show a record",
    )
    found.record(folder / "record.json")
    return folder


@pytest.fixture
def record(folder: Path) -> Any:
    return json.loads((folder / "record.json").read_text(encoding="utf-8"))


def test_a_record_is_what_its_schema_says(record: Any) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(record, schema(), cls=jsonschema.Draft202012Validator)
    for key in set(record) - {"ladder", "dossier"}:  # which records of earlier versions have not
        broken = {name: value for name, value in record.items() if name != key}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema(), cls=jsonschema.Draft202012Validator)


def test_a_record_holds_what_satre_asks_for(record: Any) -> None:
    """SATRE 2.0.1, 3.3.09: thresholds, suppression or perturbation rules, model requirements, appetite, versions."""
    criteria = record["criteria"]
    assert criteria["thresholds"]["min_leaf"] == 10
    assert criteria["suppression"] == {"policy": "none", "counts_suppressed_below": 0, "leaves_removed": 0}
    assert criteria["perturbation"] == {"policy": "none", "sampling_rate": 1.0}
    assert criteria["model_requirements"].startswith("A tree")
    assert criteria["risk_appetite"].startswith("Not stated by SATRE")
    assert criteria["tool"]["version"] == maxent.__version__ == record["versions"]["maxent"]
    assert criteria["tool"]["configuration_sha256"] == record["policy"]["sha256"]
    [released] = record["output"]["files"]  # linked unambiguously to the released output
    assert (released, released["path"]) == (record["inputs"][0], "tree.json")


def test_a_record_has_every_input_and_every_check(record: Any, folder: Path) -> None:
    assert [each["role"] for each in record["inputs"]] == [
        *("release", "table", "truth", "control", "facts", "marginal", "policy")
    ]
    for each in record["inputs"]:
        content = (folder / each["path"]).read_bytes()
        assert (each["bytes"], each["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
    assert record["policy"]["files"][0]["name"] == "satre"
    assert record["policy"]["content"]["off"] == {"MX101": "a teaching example: nobody of it is real"}
    assert record["overrides"] == [{"id": "MX101", "reason": "a teaching example: nobody of it is real"}]
    assert [each["id"] for each in record["checks"]] == [
        id_ for id_, check in CHECKS.items() if check.key in record["criteria"]["thresholds"]
    ]
    assert record["verdict"]["status"] == "fail"
    assert set(record["decision"].values()) == {""}
    assert (record["title"], record["purpose"]) == ("The example", "To show a record")


def test_what_is_no_file_has_no_record(folder: Path) -> None:
    found = maxent.check(folder / "tree.json", pd.read_csv(D1 / "qi.csv"), min_k=1)
    with pytest.raises(maxent.InvalidInput, match="table: expected files: a record has their hashes"):
        found.record()


ROLES = ("release", "table", "truth", "control", "facts", "marginal", "policy")


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    """A copy of the folder, which can be changed."""
    shutil.copytree(folder, tmp_path / "copy")
    return tmp_path / "copy"


def test_a_record_is_still_true_wherever_its_files_are(copied: Path, tmp_path: Path, capsys: Any) -> None:
    found = maxent.verify(copied / "record.json")
    assert (found.status, found.exit_status, found.changes, found.notes) == ("pass", 0, (), ())
    assert [each.state for each in found.files] == ["same"] * len(ROLES)
    assert "<td>tree.json</td>" in found._repr_html_()
    shutil.move(copied / "record.json", tmp_path / "elsewhere.json")
    printed = printed_by(capsys, ["verify", str(tmp_path / "elsewhere.json"), "--folder", str(copied)])
    assert printed.out.startswith("the record is still true: ")
    assert printed.out.splitlines()[0].endswith("whose verdict is FAIL")
    assert main(["verify", str(tmp_path / "elsewhere.json"), "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["status"] == "cannot_tell"


@pytest.mark.parametrize("role", ROLES)
def test_a_changed_byte_in_any_input_is_noticed(copied: Path, capsys: Any, role: str, record: Any) -> None:
    path = next(each["path"] for each in record["inputs"] if each["role"] == role)
    with open(copied / path, "ab") as file:
        file.write(b"\n")
    printed = printed_by(capsys, ["verify", str(copied / "record.json")], 3)
    assert f"  {role} {path} has other bytes than the record says" in printed.out
    assert "maxent: the record is no longer true" in printed.err


def test_what_another_release_changes_is_said(copied: Path) -> None:
    text = (copied / "tree.json").read_text(encoding="utf-8")
    (copied / "tree.json").write_text(text.replace('"n": 3', '"n": 4'), encoding="utf-8")
    with pytest.warns(maxent.UnreliableResult):
        found = maxent.verify(copied / "record.json")
    assert found.exit_status == 3
    assert any(text.startswith("MX501: pass (optimal") for text in found.differences)
    (copied / "tree.json").write_text("{}", encoding="utf-8")
    assert "it cannot be computed again: " in maxent.verify(copied / "record.json").trouble


def test_missing_files(copied: Path) -> None:
    (copied / "policy.toml").unlink()
    found = maxent.verify(copied / "record.json")
    assert (found.exit_status, found.checked is not None) == (4, True)
    (copied / "truth.csv").unlink()
    found = maxent.verify(copied / "record.json")
    assert (found.exit_status, found.checked) == (4, None)
    assert found.missing == ("truth truth.csv is not there", "policy policy.toml is not there")


def set_status(record: Any) -> None:
    record["checks"][1]["status"] = "pass" if record["checks"][1]["status"] != "pass" else "fail"


def raise_figure(record: Any) -> None:
    row = next(row for row in record["checks"] if isinstance(row["found"], int))
    row["found"] += 1


def add_override(record: Any) -> None:
    record["overrides"].append({"id": "MX104", "reason": "none"})


def loosen(record: Any) -> None:
    record["policy"]["content"]["limits"]["min_leaf"] = 2


def drop_check(record: Any) -> None:
    del record["checks"][0]


def better_verdict(record: Any) -> None:
    record["verdict"] |= {"status": "pass", "exit": 0}


def other_output(record: Any) -> None:
    record["output"]["files"] = []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (set_status, "in the record, now"),
        (raise_figure, "in the record, now"),
        (add_override, "overrides of the record and the checks that are off differ"),
        (loosen, "the policy in the record does not have the hash that the record states"),
        (loosen, "criteria.thresholds and policy.content of the record state different limits"),
        (drop_check, "MX101 is not in the record"),
        (better_verdict, "the verdict is pass (exit status 0) in the record, now fail (3)"),
        (other_output, "output.files and the release in inputs of the record differ"),
    ],
)
def test_a_record_that_was_changed_is_not_true(
    copied: Path, record: Any, change: Callable[[Any], None], said: str
) -> None:
    change(record)
    (copied / "record.json").write_text(json.dumps(record), encoding="utf-8")
    found = maxent.verify(copied / "record.json")
    assert found.exit_status == 3
    assert any(said in text for text in found.differences), found.differences


STATED = (
    *("policy.name", "policy.version", "policy.source", "output.format", "output.target", "output.classes.0"),
    *("output.individuals", "output.trees", "criteria.suppression.policy", "criteria.perturbation.policy"),
    *("criteria.suppression.counts_suppressed_below", "criteria.suppression.leaves_removed", "criteria.risk_appetite"),
    *("criteria.perturbation.sampling_rate", "criteria.model_requirements", "criteria.tool.version"),
    *("ladder.0.certain", "ladder.2.worst.class", "ladder.2.why", "dossier.worst.0.class", "dossier.worst.1.class"),
    *(
        "dossier.published.leaves",
        "criteria.tool.configuration_sha256",
        "verdict.reliable",
        "checks.0.key",
        "checks.0.title",
        "checks.0.said",
    ),
)


def test_nothing_that_a_record_states_can_be_changed(copied: Path, record: Any) -> None:
    for place in STATED:  # all at once, as each is told by itself
        *steps, last = (int(step) if step.isdigit() else step for step in place.split("."))
        part = record
        for step in steps:
            part = part[step]
        old = part[last]
        text = isinstance(old, str)
        part[last] = f"{old[:-1]}-" if text else (not old) if isinstance(old, bool) else old // 2 if old else 1
    record["output"]["trees"] = 7
    record["criteria"]["perturbation"]["sampling_rate"] = 0.5
    record["criteria"]["tool"]["configuration_sha256"] = "0" * 64
    (copied / "record.json").write_text(json.dumps(record), encoding="utf-8")
    found = maxent.verify(copied / "record.json")
    assert found.exit_status == 3
    for place in STATED:
        key = f"MX101: {place.split('.')[-1]}" if place.startswith("checks") else place.removesuffix(".0")
        key = key.replace("ladder.0", "ladder.predictions").replace("ladder.2", "ladder.table")
        key = key.replace("worst.0", "worst.1") if "dossier.worst.0" in place else key.replace("worst.1", "worst.2")
        assert sum(text.startswith(key) for text in found.differences) == 1, (place, found.differences)


def test_figures_within_the_error_and_other_versions_are_told_apart(copied: Path, record: Any) -> None:
    for row in record["checks"]:
        if isinstance(row["found"], float):
            row["found"] += 1e-8
    record["versions"]["numpy"] = "0.1"
    (copied / "record.json").write_text(json.dumps(record), encoding="utf-8")
    found = maxent.verify(copied / "record.json")
    assert found.exit_status == 0
    assert found.notes[0].startswith("numpy was 0.1, and is ")
    record["policy"]["files"][0]["sha256"] = "0" * 64
    record["versions"]["maxent"] = record["criteria"]["tool"]["version"] = "0.1"
    (copied / "record.json").write_text(json.dumps(record), encoding="utf-8")
    found = maxent.verify(copied / "record.json")
    assert (found.exit_status, found.differences) == (4, ())
    assert found.trouble.startswith("the policy satre is that of another version of maxent, which is not installed: ")


def test_what_was_not_computed_to_the_end_says_nothing_of_a_record(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hurried(*arguments: Any, **options: Any) -> Any:
        found = check_release(*arguments, **options)
        return replace(found, review=replace(found.review, weaker=True))

    monkeypatch.setattr(verifying, "check_release", hurried)
    found = maxent.verify(copied / "record.json")
    assert (found.status, found.exit_status, found.differences) == ("cannot_tell", 1, ())
    assert found.trouble.startswith("it was not computed to the end: ")


def test_proofs_that_had_no_time_say_nothing_of_a_record_whose_proofs_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = pd.DataFrame({"a": [0, 1, 2, 3] * 4, "b": range(16), "Y": list("nnyynnynnnyynyny")})
    people.to_csv(tmp_path / "people.csv", index=False)
    dump(DecisionTreeClassifier(max_depth=1, random_state=0).fit(people[["a"]], people["Y"]), tmp_path / "model.skops")
    path, given = tmp_path / "record.json", (tmp_path / "model.skops", tmp_path / "people.csv")
    found = maxent.review(*given, target="Y", qi=["a", "b"], max_certain=0)
    record = found.record(path)
    assert record["verdict"]["status"] == "pass"
    assert maxent.verify(path).status == "pass"
    monkeypatch.setattr(proving, "TRYING", 0.0)
    monkeypatch.setattr(estimating, "proving_seconds", lambda left: 0.0)
    verified = maxent.verify(path)
    assert (verified.status, verified.exit_status, verified.differences) == ("cannot_tell", 4, ())
    assert verified.trouble == "the computation had no time to end its proofs: what it leaves open is not compared"
    record["dossier"]["published"]["leaves"] = 4  # what has ended is compared
    record["checks"][0]["limit"] = 1
    path.write_text(json.dumps(record), encoding="utf-8")
    assert [each.partition(":")[0] for each in maxent.verify(path).differences] == ["MX202", "dossier.published.leaves"]


@pytest.mark.parametrize(("most", "then"), [(7, "cannot_tell"), (0, "fail")])
@pytest.mark.parametrize(
    ("status", "said"), [("interrupted", "a run that was interrupted:"), ("time_limit", "a run that its time limit")]
)
def test_a_record_of_a_run_that_was_stopped_says_so_and_is_not_called_changed(
    most: int, then: str, status: Any, said: str, copied: Path
) -> None:
    qi = ["Education", "Country", "Gender"]
    found = maxent.review(copied / "tree.json", copied / "truth.csv", target="Salary", qi=qi, max_certain=most)
    assert found.estimate is not None
    ended = replace(found.estimate, outcome=replace(found.estimate.outcome, status=status, duality_gap=0.1))
    path, stopped = copied / "stopped.json", replace(found, estimate=ended)
    record = stopped.record(path)
    assert list(shape_problems(record, schema())) == []
    assert (record["verdict"]["stopped"], record["verdict"]["status"]) == (status, then)
    verified = maxent.verify(path)
    assert (verified.status, verified.exit_status, verified.differences) == ("cannot_tell", 4, ())
    assert said in verified.trouble
    assert any(verified.trouble in line for line in verified.lines)
    stopped.dossier(copied / "d.html")
    page = (copied / "d.html").read_text(encoding="utf-8").partition('id="published"')[0]
    assert f"The estimate: {stopped.trouble}." in page
    record["dossier"]["published"]["leaves"] = 4  # what had ended is compared
    record["checks"][1]["status"] = "fail"
    path.write_text(json.dumps(record), encoding="utf-8")
    assert [each.partition(":")[0] for each in maxent.verify(path).differences] == ["MX406", "dossier.published.leaves"]


def test_a_decision_that_was_filled_in_changes_nothing(copied: Path, record: Any) -> None:
    record["decision"] |= {"decided_by": "A. Checker", "decision": "refused", "decided_at": "2026-11-30"}
    (copied / "record.json").write_text(json.dumps(record), encoding="utf-8")
    assert maxent.verify(copied / "record.json").exit_status == 0


def test_a_record_that_says_the_same_keeps_its_date_and_decision(copied: Path) -> None:
    found = maxent.check(copied / "tree.json", copied / "qi.csv", min_k=1)
    path = copied / "again.json"
    first = found.record(path) | {"created": "2020-01-01T00:00:00Z"}
    first["decision"] |= {"decided_by": "A. Checker", "decision": "released"}
    path.write_text(json.dumps(first), encoding="utf-8")
    assert found.record(path) == first == json.loads(path.read_text(encoding="utf-8"))
    other = maxent.check(copied / "tree.json", copied / "qi.csv", min_k=2).record(path)
    assert other == json.loads(path.read_text(encoding="utf-8"))
    assert other["criteria"]["thresholds"] == {"min_k": 2, "no_draws": True, "reliable": True}
    assert set(other["decision"].values()) == {""}
    for text in ("", "[]", "{", json.dumps(other | {"decision": "released"})):
        path.write_text(text, encoding="utf-8")
        assert found.record(path)["created"] > "2020"
        assert maxent.verify(path).exit_status == 0


def test_how_far_was_proved_is_told_with_the_versions(tmp_path: Path) -> None:
    policy = {"limits": {"max_certain_proved": 11}, "adversary": {"proof": "linear"}}
    record = maxent.check(D1 / "tree.json", D1 / "qi.csv", policy).record(tmp_path / "record.json")
    assert record["versions"]["last level of proof"] == "linear"
    record["versions"]["last level of proof"] = "integer"
    (tmp_path / "record.json").write_text(json.dumps(record), encoding="utf-8")
    assert "last level of proof was integer, and is linear" in maxent.verify(tmp_path / "record.json").notes


def test_folders_and_patterns_are_hashed_file_by_file(tmp_path: Path) -> None:
    lines = (D1 / "qi.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "part-1.csv").write_text("\n".join(lines[:5]), encoding="utf-8")
    (tmp_path / "part-2.csv").write_text("\n".join([lines[0], *lines[5:]]), encoding="utf-8")
    document = json.loads((D1 / "tree.json").read_text(encoding="utf-8"))
    for node in document["trees"][0]["nodes"]:  # labels alone, which other people do not contradict
        node.pop("n", None), node.pop("error_rate", None)
    (tmp_path / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    written = maxent.check(tmp_path / "tree.json", tmp_path / "part-*.csv", min_k=1).record(tmp_path / "record.json")
    assert [each["path"] for each in written["inputs"]] == ["tree.json", "part-1.csv", "part-2.csv"]
    assert maxent.verify(tmp_path / "record.json").exit_status == 0
    (tmp_path / "part-3.csv").write_text("\n".join(lines[:2]), encoding="utf-8")
    changed = maxent.verify(tmp_path / "record.json")
    assert changed.changes[0] == "table part-3.csv is read by a check, but is not in the record"


def test_options_that_change_numbers_are_kept(tmp_path: Path) -> None:
    reading = maxent.Reading(text="strip", na=("?",))
    table = pd.read_csv(D1 / "qi.csv").groupby(["Education", "Country", "Gender"]).size().rename("n").reset_index()
    table.to_csv(tmp_path / "qi.csv", index=False)
    options: dict[str, Any] = {"count": "n", "sensitive": "<=50K", "reading": reading, "seed": 3}
    found = maxent.check(D1 / "tree.json", tmp_path / "qi.csv", max_certain=11, **options)
    record = found.record(tmp_path / "record.json")
    assert record["call"]["options"]["sensitive"] == ["<=50K"]
    assert record["call"]["options"]["reading"] == {"text": "strip", "na": ["?"]}
    assert maxent.verify(tmp_path / "record.json").exit_status == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "expected"),
        ("{}", "file: format: expected 'maxent-record/1', of a record of a check, found nothing\n"),
        ('{"format": "maxent/1"}', "file: format: expected 'maxent-record/1', of a record of a check, found"),
    ],
)
def test_what_is_no_record(tmp_path: Path, capsys: Any, text: str, said: str) -> None:
    (tmp_path / "record.json").write_text(text, encoding="utf-8")
    errors = printed_by(capsys, ["verify", str(tmp_path / "record.json")], 2).err
    assert said in errors
    assert len(errors.splitlines()) == 1  # not one for each key that a record has
    assert main(["verify", str(tmp_path / "none.json")]) == 2
    with pytest.raises(maxent.InvalidInput, match="record: expected a path"):
        maxent.verify(3)  # type: ignore[arg-type]


def broken(record: Any) -> list[Any]:
    """Records with one value of another kind, or a key more or less, anywhere."""
    found = []

    def walk(path: tuple[Any, ...], value: Any) -> None:
        wrongs: list[Any] = [None, -1, "?", [], {"?": 1}, True, 1.5]
        for wrong in wrongs if path else []:
            copy = json.loads(json.dumps(record))
            place = copy
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = wrong
            found.append(copy)
        inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
        for key, each in inner:
            walk((*path, key), each)

    walk((), record)
    return found


def test_our_reading_of_the_schema_is_that_of_jsonschema(record: Any) -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator(schema())
    assert list(shape_problems(record, schema())) == []

    def keywords(of: Any) -> set[str]:
        inner = [of[key] for key in ("items", "additionalProperties") if isinstance(of.get(key), dict)]
        return set(of).union(*(keywords(each) for each in [*inner, *of.get("properties", {}).values()]))

    assert keywords(schema()) <= KEYWORDS
    cases = broken(record)
    assert len(cases) > 500
    for case in cases[::17]:
        assert validator.is_valid(case) == (not list(shape_problems(case, schema())))


REVIEW = ("--target", "Salary", "--qi", "Education,Country,Gender", "--max-certain", "7")


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a record of a review by its command, and a dossier whose numbers stand beside it."""
    folder = tmp_path_factory.mktemp("reviewed")
    copy_d1(folder)
    asked = ["review", str(folder / "tree.json"), str(folder / "truth.csv"), *REVIEW]
    written = {"record": "record.json", "dossier": "with.html"}
    assert main([*asked, *(word for k, v in written.items() for word in (f"--{k}", str(folder / v)))]) == 0
    assert not (folder / "with.json").exists()
    found = maxent.review(
        str(folder / "tree.json"),
        str(folder / "truth.csv"),
        target="Salary",
        qi=["Education", "Country", "Gender"],
        adversary="all_but_one",
        max_certain=0,
    )
    assert found.dossier(folder / "dossier.html") == (str(folder / "dossier.html"),)
    return folder


def test_a_review_has_a_record_that_is_verified(reviewed: Path, capsys: Any) -> None:
    told = json.loads((reviewed / "record.json").read_text(encoding="utf-8"))
    assert list(shape_problems(told, schema())) == []
    assert told["call"]["command"] == "review"
    assert [(row["id"], row["status"]) for row in told["checks"]] == [("MX202", "pass"), ("MX406", "pass")]
    assert [rung["adversary"] for rung in told["ladder"]] == list(ADVERSARIES)
    assert told["dossier"]["published"]["leaves"] == 5
    worst = told["dossier"]["worst"][0]
    assert worst.pop("remedy").startswith("cut the tree back to node ")
    assert worst.items() <= told["ladder"][2]["worst"].items()
    assert main(["verify", str(reviewed / "record.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["differences"] == []


def test_a_record_has_the_hashes_of_what_was_written_with_it(reviewed: Path, tmp_path: Path) -> None:
    shutil.copytree(reviewed, tmp_path / "copy")
    for record, dossier in (("record.json", "with.html"), ("dossier.json", "dossier.html")):
        path, page = tmp_path / "copy" / record, tmp_path / "copy" / dossier
        [told] = json.loads(path.read_text(encoding="utf-8"))["written"]
        digest = hashlib.sha256(page.read_bytes()).hexdigest()
        assert told == {"role": "dossier", "path": dossier, "bytes": page.stat().st_size, "sha256": digest}
        page.write_text(page.read_text(encoding="utf-8").replace("Disclosure", "Other"), encoding="utf-8")
        found = maxent.verify(path)
        assert (found.status, found.first) == ("fail", f"written: dossier {dossier}")
        assert f"dossier {dossier} has other bytes than the record says" in found.changes
        page.unlink()
        found = maxent.verify(path)
        assert (found.status, found.notes) == ("pass", (f"dossier {dossier} is not there",))


def test_a_record_with_a_decision_keeps_the_hashes_of_what_was_decided_on(copied: Path) -> None:
    found = maxent.check(copied / "tree.json", copied / "qi.csv", min_k=1)
    path, page = copied / "decided.json", copied / "page.html"
    page.write_text("first", encoding="utf-8")
    first = found.record(path, written={"report": page})
    page.write_text("again", encoding="utf-8")
    second = found.record(path, written={"report": page})
    assert second["written"] != first["written"]
    second["decision"] |= {"decided_by": "A. Checker", "decision": "released"}
    path.write_text(json.dumps(second), encoding="utf-8")
    page.write_text("later", encoding="utf-8")
    assert found.record(path, written={"report": page}) == second == json.loads(path.read_text(encoding="utf-8"))


def test_what_differs_in_a_record_of_a_review_is_named(reviewed: Path, tmp_path: Path) -> None:
    shutil.copytree(reviewed, tmp_path / "copy")
    path = tmp_path / "copy" / "record.json"
    told = json.loads(path.read_text(encoding="utf-8"))
    told["checks"][0] |= {"found": 4}
    told["verdict"] |= {"status": "not stated"}
    told["ladder"][4]["certain_proved"] = 0
    told["dossier"]["worst"][0]["qi"]["Gender"] = "other"
    told["dossier"]["worst"][1]["probability"] -= 1e-9
    path.write_text(json.dumps(told), encoding="utf-8")
    found = maxent.verify(path)
    assert (found.exit_status, len(found.differences)) == (3, 4)
    for place in ("MX202: 4 in", "verdict is not stated", "ladder.all_but_one.certain_proved: 0", "dossier.worst.1.qi"):
        assert sum(place in each for each in found.differences) == 1, (place, found.differences)
    del told["ladder"], told["dossier"]
    path.write_text(json.dumps(told), encoding="utf-8")
    assert {"ladder: not in the record", "dossier: not in the record"} <= set(maxent.verify(path).differences)


def test_the_numbers_beside_a_dossier_are_its_record(reviewed: Path) -> None:
    told = json.loads((reviewed / "dossier.json").read_text(encoding="utf-8"))
    assert [(row["id"], row.get("adversary"), row["status"]) for row in told["checks"]] == [
        ("MX406", None, "pass"),
        ("MX202", "all_but_one", "fail"),
    ]
    assert maxent.verify(reviewed / "dossier.json").exit_status == 0


def test_a_public_dossier_alone_has_its_record_beside_it_by_a_name_that_says_confidential(tmp_path: Path) -> None:
    asked = ["review", str(D1 / "tree.json"), str(D1 / "truth.csv"), "--target", "Salary", "--qi", "Education,Country"]
    assert main([*asked, "--max-certain", "0", "--dossier-public", str(tmp_path / "page.html")]) == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["page.confidential.json", "page.html"]
    record = tmp_path / "page.confidential.json"
    told = json.loads(record.read_text(encoding="utf-8"))
    assert told["dossier"]["published"]["people"] == 11
    assert maxent.verify(record).exit_status == 0
    (tmp_path / "page.html").write_text("another", encoding="utf-8")
    assert maxent.verify(record).exit_status == 3


def test_a_review_of_no_files_has_a_dossier_and_no_record(tmp_path: Path) -> None:
    people = pd.read_csv(D1 / "truth.csv")
    found = maxent.review(str(D1 / "tree.json"), people, target="Salary", qi=["Education", "Country", "Gender"])
    with pytest.raises(maxent.InvalidInput, match="a record has their hashes"):
        found.record(tmp_path / "record.json")
    found.dossier(tmp_path / "dossier.html")
    told = json.loads((tmp_path / "dossier.json").read_text(encoding="utf-8"))
    assert (told["format"], told["dossier"]["published"]["people"]) == ("maxent-dossier/1", 11)
    with pytest.raises(maxent.InvalidInput, match="a dossier of what was in no files"):
        maxent.verify(tmp_path / "dossier.json")
