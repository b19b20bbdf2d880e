"""Records of checks: their schema, what they hold, and whether they are still true."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import maxent
from maxent.policy.checks.registry import CHECKS
from maxent.policy.record import schema

D1 = Path(__file__).parents[2] / "examples" / "d1"
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
    for name in ("tree.json", "qi.csv", "truth.csv"):
        shutil.copy(D1 / name, folder / name)
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
    for key in record:
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
    assert released == record["inputs"][0]
    assert released["path"] == "tree.json"


def test_a_record_has_every_input_and_every_check(record: Any, folder: Path) -> None:
    import hashlib

    assert [each["role"] for each in record["inputs"]] == [
        *("release", "table", "truth", "control", "facts", "marginal", "policy"),
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
