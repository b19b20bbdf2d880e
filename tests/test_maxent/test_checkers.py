"""What output checkers use: rules of SACRO-ML, folders of ACRO, RO-Crates, and folders of SACRO-ML."""

from __future__ import annotations

import hashlib
import itertools
import json
import pickle
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from skops.io import dump

import maxent
from maxent.__main__ import main
from maxent.policy.checks.hyperparameters import REGIONS, is_risky, unnecessary_risk
from maxent.policy.checks.page import explained
from maxent.policy.checks.registry import CHECKS

# Settings on both sides of every threshold, and what SACRO-ML 2.0.1 (get_unnecessary_risk) says of each: a bit each.
RISKY: dict[str, tuple[dict[str, list[Any]], int]] = {
    "DecisionTreeClassifier": (
        {
            "max_depth": [None, 3, 4, 7, 8],
            "min_samples_leaf": [0.1, 7, 8, 15, 16],
            "min_samples_split": [15, 16],
            "splitter": ["best", "random"],
            "max_features": [None, "sqrt"],
        },
        0xFEFE888800000000000088880000008888000000FEFE888800,
    ),
    "RandomForestClassifier": (
        {
            "max_depth": [None, 3, 4, 7, 8],
            "n_estimators": [15, 16, 35, 36],
            "min_samples_leaf": [15, 16],
            "min_samples_split": [15, 16],
            "max_features": [None, "sqrt"],
            "bootstrap": [True, False],
        },
        0x55005500B3B30000000000000000000000000000B3B3000000000000B3B3000055005500B3B3,
    ),
    "XGBClassifier": (
        {
            "max_depth": [None, 3, 4],
            "n_estimators": [None, 3, 4, 12, 13, 62, 63],
            "min_child_weight": [None, 1.5, 1.6, 3, 3.1, 6, 6.1],
        },
        0x7E0183078F1F8000000000001F8060C1E3C7E,
    ),
}


def combinations(kind: str) -> list[dict[str, Any]]:
    grid = RISKY[kind][0]
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


@pytest.mark.parametrize("kind", RISKY)
def test_settings_are_judged_as_sacro_ml_does_on_both_sides_of_every_threshold(kind: str) -> None:
    cases = combinations(kind)
    bits = "".join(str(int(bool(is_risky({"model": kind, **case})))) for case in cases)
    assert int(bits, 2) == RISKY[kind][1]
    assert list(RISKY) == list(REGIONS)


@pytest.mark.parametrize("kind", RISKY)
def test_without_a_setting_the_risk_is_told_only_where_it_does_not_matter(kind: str) -> None:
    for case in combinations(kind)[::3]:
        for name, values in RISKY[kind][0].items():
            found = is_risky({"model": kind, **{key: value for key, value in case.items() if key != name}})
            if found is not None:
                assert {is_risky({"model": kind, **case, name: value}) for value in values} == {found}
    assert is_risky({"model": kind}) is None
    assert is_risky({"model": "J48", "max_depth": 3}) is is_risky({}) is None


def people(n: int = 120) -> pd.DataFrame:
    dice = np.random.default_rng(4)
    table = pd.DataFrame({"age": dice.integers(20, 60, n), "sex": dice.integers(0, 2, n)})
    return table.assign(ill=np.where(table["age"] + 10 * dice.random(n) > 45, "yes", "no"))


@pytest.mark.parametrize(("how", "status"), [({"max_depth": 3}, "pass"), ({}, "fail")])
def test_a_skops_file_states_the_settings_of_its_training(tmp_path: Path, how: Any, status: str) -> None:
    table = people()
    model = DecisionTreeClassifier(min_samples_leaf=np.int64(5), random_state=0, **how)
    model.fit(table[["age", "sex"]], table["ill"])
    dump(model, tmp_path / "tree.skops")
    said: dict[str, Any] = {"target": "ill", "truth": table}
    found = maxent.check(tmp_path / "tree.skops", table[["age", "sex"]], no_unnecessary_risk=True, **said)
    row = next(row for row in found.rows if row.check.id == "MX120")
    assert row.status == status
    assert "min_samples_leaf=5" in row.finding.said
    assert found.status == ("cannot_tell" if status == "pass" else "fail")  # of settings alone there is no PASS
    table_rung = next(rung for rung in found.ladder if rung.adversary == "table")
    assert table_rung.status == "not_assessed"  # settings judge nobody
    found.review.release.save(tmp_path / "tree.json")
    plain = maxent.check(tmp_path / "tree.json", table[["age", "sex"]], truth=table, no_unnecessary_risk=True)
    assert plain.rows[0].status == "cannot_tell"


@pytest.mark.parametrize("odd", ["8", "None", float("nan"), True, [3], -3])
@pytest.mark.parametrize("name", ["max_depth", "min_samples_leaf"])
def test_values_that_are_no_settings_tell_nothing_of_risk(name: str, odd: Any) -> None:
    """Unless what is stated beside them leaves no region."""
    stated = {"model": "DecisionTreeClassifier", "max_depth": 9, "min_samples_leaf": 3, "min_samples_split": 2}
    matter: Any = SimpleNamespace(
        review=SimpleNamespace(converted=SimpleNamespace(hyperparameters=stated | {name: odd}))
    )
    found = unnecessary_risk(matter, True)
    assert found.status == "cannot_tell"
    assert f"{name} is {odd!r}, which is no setting" in found.said
    assert is_risky(stated) is True
    assert (
        is_risky(stated | {name: odd, "splitter": "random", "min_samples_split": 16, "max_features": "sqrt"}) is False
    )


def test_every_check_names_its_statbarn_or_none() -> None:
    known = {"Frequencies", "LinearAggregations", "CorrelationCoefficients", "LinkedMultilevelTables"}
    for check in CHECKS.values():
        uri = explained(check)["statbarn"]
        assert uri == "none" or uri.removeprefix("https://www.w3id.org/statbarnsdc#") in known
    assert CHECKS["MX101"].statbarn == "Frequencies"


# The folder of ACRO, and crates.

ROOT = Path(__file__).parents[2]
PROFILE = "https://w3id.org/5s-crate/0.4"
CHECK = "https://w3id.org/shp#DisclosureCheck"


def peer(name: str) -> str:
    """The interpreter of an environment of ``make peers``."""
    found = ROOT / ".peers" / name / "bin" / "python"
    if not found.exists():
        pytest.skip(f"{name} is not there: make peers")
    return str(found)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose names are those of an attack on pages, and the table that it was trained on."""
    folder = tmp_path_factory.mktemp("model")
    table = people().rename(columns={"age": "age & 'x'", "sex": "<img src=x>"})
    columns = [name for name in table.columns if name != "ill"]
    table["ill"] = table["ill"].map({"yes": "<b>yes</b>", "no": "no"})
    model = DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(table[columns], table["ill"])
    dump(model, folder / "tree <b>& 1.skops")
    table.to_csv(folder / "truth.csv", index=False)
    return folder


def reviewed(folder: Path, **limits: Any) -> Any:
    table = pd.read_csv(folder / "truth.csv")
    qi = [name for name in table.columns if name != "ill"]
    return maxent.review(folder / "tree <b>& 1.skops", folder / "truth.csv", target="ill", qi=qi, **limits)


KEYS = ["uid", "status", "type", "properties", "files", "outcome", "command", "summary"]
KEYS += ["timestamp", "comments", "exception", "fair"]
LIMITS: dict[str, dict[str, Any]] = {"pass": {"max_certain": 120}, "fail": {"max_certain": 0}, "review": {}}


@pytest.mark.parametrize("status", LIMITS)
def test_the_folder_of_acro_has_the_model_the_verdict_and_nobody(folder: Path, tmp_path: Path, status: str) -> None:
    found = reviewed(folder, **LIMITS[status])
    found.sacro(tmp_path / "out")
    names = {each.relative_to(tmp_path / "out").as_posix() for each in (tmp_path / "out").rglob("*") if each.is_file()}
    model = "tree_b_1.skops"
    assert names == {model, "results.json", "config.json", f"checksums/{model}.txt", "checksums/results.json.txt"}
    document = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    (result,) = document["results"].values()
    assert list(document) == ["version", "results"]
    assert document["version"] == "1.0.2"
    assert list(result) == KEYS
    assert result["status"] == status
    assert result["summary"].startswith(f"{status}; ")
    assert result["files"] == [{"name": model, "sdc": {}}]
    assert result["properties"] == {"method": "decision tree"}
    limits = {"no_draws": True, **LIMITS[status]} if LIMITS[status] else {}
    assert json.loads((tmp_path / "out" / "config.json").read_text()) == limits
    for name in (model, "results.json"):
        text = (tmp_path / "out" / "checksums" / f"{name}.txt").read_text(encoding="utf-8")
        assert text == hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest()
    everything = (tmp_path / "out" / "results.json").read_text() + (tmp_path / "out" / "config.json").read_text()
    assert not any(word in everything for word in ("<", "yes", "age", "img", str(folder)))
    reviewed(folder, **LIMITS[status]).sacro(tmp_path / "out")  # its own folder is replaced


def test_the_folder_of_acro_says_whom_each_limit_is_about(folder: Path, tmp_path: Path) -> None:
    table = pd.read_csv(folder / "truth.csv")
    policy = {"limits": {"max_certain": 120, "all_but_one": {"max_certain": 3}}}
    model = folder / "tree <b>& 1.skops"
    maxent.check(model, table.drop(columns="ill"), policy, truth=table, target="ill").sacro(tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (config["max_certain"], config["all_but_one"]) == (120, {"max_certain": 3})
    summary = json.loads((tmp_path / "out" / "results.json").read_text())["results"]["output_0"]["summary"]
    assert "MX202 max_certain for all_but_one limit 3: fail" in summary
    assert summary.endswith(f"; adversary: all_but_one; maxent {maxent.__version__}")


def test_a_folder_of_somebody_else_is_never_replaced(folder: Path, tmp_path: Path) -> None:
    found = reviewed(folder, max_certain=120)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it", encoding="utf-8")
    for write in (found.sacro, found.crate):
        with pytest.raises(maxent.InvalidInput, match="which this command did not write"):
            write(tmp_path / "mine")
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    with pytest.raises(maxent.InvalidInput, match="a model in a file of its own"):
        replace(found, files=()).sacro(tmp_path / "new")
    with pytest.raises(maxent.InvalidInput, match="a name, an address"):
        found.crate(tmp_path / "new", agent="<>")
    assert not (tmp_path / "new").exists()


def test_acro_loads_the_folder(folder: Path, tmp_path: Path) -> None:
    python = peer("acro")
    reviewed(folder, max_certain=0).sacro(tmp_path / "out")
    call = "import sys; from acro.record import load_records; print(load_records(sys.argv[1]).get('output_0').status)"
    done = subprocess.run([python, "-c", call, str(tmp_path / "out")], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "fail"


def graph_of(crate: Path) -> dict[str, dict[str, Any]]:
    document = json.loads((crate / "ro-crate-metadata.json").read_text(encoding="utf-8"))
    return {each["@id"]: each for each in document["@graph"]}


def action_of(graph: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return next(each for each in graph.values() if each["@type"] == "AssessAction")


STATES = {"pass": "Completed", "fail": "Failed", "review": "Potential"}


@pytest.mark.parametrize("status", LIMITS)
def test_a_crate_has_the_check_as_an_action(folder: Path, tmp_path: Path, status: str) -> None:
    pytest.importorskip("rocrate", reason="rocrate is not there: pip install rocrate")
    reviewed(folder, **LIMITS[status]).crate(tmp_path / "crate", agent="Jo <https://orcid.org/0>", provider="TRE 7")
    graph = graph_of(tmp_path / "crate")
    action, root = action_of(graph), graph["./"]
    assert graph["ro-crate-metadata.json"]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.2"}
    assert root["license"]["@id"].startswith("https://")
    assert root["mentions"] == {"@id": action["@id"]}
    assert action["additionalType"] == {"@id": CHECK}
    assert action["actionStatus"] == f"http://schema.org/{STATES[status]}ActionStatus"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", action["endTime"])
    assert action["agent"] == {"@id": "https://orcid.org/0"}
    assert graph[action["instrument"]["@id"]]["provider"] == root["publisher"]
    assert ("tree_b_1.skops" in graph) == (tmp_path / "crate" / "tree_b_1.skops").exists() == (status != "fail")
    assert "yes" not in json.dumps(graph)


# Keeps the context of RO-Crate, from a file, where the validator looks before it asks the network.
CACHED = """
import sys
from requests.adapters import HTTPAdapter
from requests_cache import CachedSession
from urllib3 import HTTPResponse

class Told(HTTPAdapter):
    def send(self, request, **how):
        head = {"Content-Type": "application/ld+json"}
        return self.build_response(request, HTTPResponse(open(sys.argv[2], "rb"), head, 200, preload_content=False))

session = CachedSession(sys.argv[1], backend="sqlite", expire_after=-1)
session.mount("https://", Told())
session.get("https://w3id.org/ro/crate/1.2/context")
"""


@pytest.mark.parametrize("status", LIMITS)
def test_the_validator_of_crates_passes_the_crate(folder: Path, tmp_path: Path, status: str) -> None:
    """Without a network, by the terms that rocrate brings: those of RO-Crate 1.3, which has those of 1.2."""
    python, cache = peer("roc-validator"), str(tmp_path / "cache")
    rocrate = pytest.importorskip("rocrate", reason="rocrate is not there: pip install rocrate")
    reviewed(folder, **LIMITS[status]).crate(tmp_path / "crate")
    terms = str(Path(rocrate.__file__).with_name("data") / "ro-crate.jsonld")
    subprocess.run([python, "-c", CACHED, cache, terms], check=True)
    call = [str(Path(python).with_name("rocrate-validator")), "-y", "validate", str(tmp_path / "crate")]
    call += ["-p", "ro-crate-1.2", "-l", "required", "--no-paging", "--verbose", "--offline", "--cache-path", cache]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def five_safes(place: Path, model: Path, *, others: bool = False, bag: bool = True) -> Path:
    """A crate that a trusted research environment holds: a run that made the model, and perhaps more."""
    root = place / "data" if bag else place
    (root / "outputs").mkdir(parents=True)
    shutil.copyfile(model, root / "outputs" / "model.skops")
    (root / "input.txt").write_text("asked for", encoding="utf-8")
    (root / "log.txt").write_text("nobody described this", encoding="utf-8")
    results = [{"@id": "outputs/model.skops"}]
    entities: list[dict[str, Any]] = []
    if others:
        (root / "outputs" / "table.csv").write_text("a,b\n1,2\n", encoding="utf-8")
        results.append({"@id": "outputs/table.csv"})
        entities.append({"@id": "outputs/table.csv", "@type": "File", "name": "a table"})
    graph = [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.2"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "conformsTo": {"@id": PROFILE},
            "hasPart": [{"@id": "input.txt"}, *results, {"@id": "https://workflows.example/289"}],
            "mainEntity": {"@id": "https://workflows.example/289"},
            "mentions": {"@id": "#query"},
            "sourceOrganization": {"@id": "#project"},
        },
        {
            "@id": "#query",
            "@type": "CreateAction",
            "name": "the run",
            "agent": {"@id": "#jo"},
            "instrument": {"@id": "https://workflows.example/289"},
            "object": [{"@id": "input.txt"}],
            "result": results if others else results[0],
        },
        {"@id": "#jo", "@type": "Person", "name": "Jo"},
        {"@id": "#project", "@type": "Project", "name": "a project"},
        {"@id": "https://workflows.example/289", "@type": "Dataset", "name": "the workflow"},
        {"@id": "input.txt", "@type": "File", "name": "input"},
        {"@id": "outputs/model.skops", "@type": "File", "name": "the model"},
        *entities,
    ]
    document = {"@context": "https://w3id.org/ro/crate/1.2/context", "@graph": graph}
    (root / "ro-crate-metadata.json").write_text(json.dumps(document), encoding="utf-8")
    if bag:
        (place / "bagit.txt").write_text("BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n", encoding="utf-8")
        identifier = "External-Identifier: urn:uuid:9796155a-fe44-4614-89b8-71945f718ffb\n"
        (place / "bag-info.txt").write_text(f"{identifier}Payload-Oxum: 1.1\n", encoding="utf-8")
        (place / "manifest-sha256.txt").write_text("old  data/input.txt\n", encoding="utf-8")
    return place


def check_bag(bag: Path) -> None:
    """BagIt 1.0: every file of the payload in each manifest, and each digest right."""
    payload = {each.relative_to(bag).as_posix() for each in (bag / "data").rglob("*") if each.is_file()}
    assert (bag / "bagit.txt").read_text().startswith("BagIt-Version: 1.0\n")
    assert (bag / "manifest-sha512.txt").exists()
    for manifest in bag.glob("*manifest-*.txt"):
        algorithm = manifest.stem.split("-")[1]
        lines = [line.split("  ", 1) for line in manifest.read_text().splitlines()]
        for digest, name in lines:
            assert hashlib.new(algorithm, (bag / name).read_bytes()).hexdigest() == digest
        if manifest.name.startswith("manifest"):
            assert {name for _, name in lines} == payload
    size = sum((bag / name).stat().st_size for name in payload)
    assert f"Payload-Oxum: {size}.{len(payload)}\n" in (bag / "bag-info.txt").read_text()


@pytest.mark.parametrize("bag", [True, False])
@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("status", LIMITS)
def test_a_five_safes_crate_gets_the_check_and_loses_its_results_where_it_failed(
    folder: Path, tmp_path: Path, status: str, others: bool, bag: bool
) -> None:
    found = reviewed(folder, **LIMITS[status])
    given = five_safes(tmp_path / "in", folder / "tree <b>& 1.skops", others=others, bag=bag)
    before = {each: each.read_bytes() for each in given.rglob("*") if each.is_file()}
    found.crate(tmp_path / "out", source=given, provider="TRE 7 <https://tre7.example>")
    assert {each: each.read_bytes() for each in given.rglob("*") if each.is_file()} == before
    check_bag(tmp_path / "out")
    graph = graph_of(tmp_path / "out" / "data")
    action, root, run = action_of(graph), graph["./"], graph["#query"]
    # What the profile says must be there.
    assert root["conformsTo"] == {"@id": PROFILE}
    assert {"@id": "#query"} in root["mentions"]
    assert {"@id": action["@id"]} in root["mentions"]
    assert graph[root["sourceOrganization"]["@id"]]["@type"] == "Project"
    assert root["mainEntity"] == run["instrument"]
    assert graph[action["agent"]["@id"]]["provider"] == {"@id": "https://tre7.example"}
    assert graph["https://tre7.example"]["@type"] == "Organization"
    assert action["name"].startswith("Disclosure check")
    assert {"@id": "./"} in (action["object"] if isinstance(action["object"], list) else [action["object"]])
    assert "External-Identifier: urn:uuid:" in (tmp_path / "out" / "bag-info.txt").read_text()
    state = "review" if status == "pass" and others else status
    assert action["actionStatus"] == f"http://schema.org/{STATES[state]}ActionStatus"
    files = {each.name for each in (tmp_path / "out" / "data").rglob("*") if each.is_file()}
    kept = {"ro-crate-metadata.json", "input.txt"}
    everything = kept | {"model.skops", *(["table.csv"] if others else [])}
    assert files == (kept if status == "fail" else everything)
    assert ("result" in run) == (status != "fail")
    for each in graph.values():  # what is gone is nowhere named
        assert status != "fail" or "outputs/" not in json.dumps(each)


def test_a_failed_crate_of_nothing_but_results_keeps_its_description(folder: Path, tmp_path: Path) -> None:
    given = five_safes(tmp_path / "in", folder / "tree <b>& 1.skops")
    (given / "data" / "input.txt").unlink()
    (given / "data" / "log.txt").unlink()
    reviewed(folder, max_certain=0).crate(tmp_path / "out", source=given, agent="Jo")
    check_bag(tmp_path / "out")
    assert [each.name for each in (tmp_path / "out" / "data").iterdir()] == ["ro-crate-metadata.json"]


def test_what_is_no_five_safes_crate_is_refused_and_nothing_is_written(folder: Path, tmp_path: Path) -> None:
    found = reviewed(folder, max_certain=120)
    model = folder / "tree <b>& 1.skops"
    good = five_safes(tmp_path / "good", model)
    cases = {
        "agent= or provider=": (good, {}),
        "no file like": (five_safes(tmp_path / "other", folder / "truth.csv"), {"agent": "Jo"}),
        "none that can be read": (folder, {"agent": "Jo"}),
    }
    plain = five_safes(tmp_path / "plain", model, bag=False)
    document = (plain / "ro-crate-metadata.json").read_text()
    (plain / "ro-crate-metadata.json").write_text(document.replace(PROFILE, "https://w3id.org/ro/crate/1.2"))
    cases["conformsTo: expected https://w3id.org/5s-crate/0.4"] = (plain, {"agent": "Jo"})
    older = five_safes(tmp_path / "older", model, bag=False)
    (older / "ro-crate-metadata.json").write_text(document.replace(PROFILE, "https://w3id.org/5s-crate/0.3"))
    cases[f"conformsTo: expected {PROFILE}, found 'https://w3id.org/5s-crate/0.3'"] = (older, {"agent": "Jo"})
    for name in ("good/in", "good/data/outputs/in"):
        with pytest.raises(maxent.InvalidInput, match=r"crate: expected a folder apart from the crate"):
            found.crate(tmp_path / name, source=good, agent="Jo")
    linked = five_safes(tmp_path / "linked", model)
    (linked / "data" / "outputs" / "link").symlink_to("/etc/passwd")
    cases["a link, outputs/link"] = (linked, {"agent": "Jo"})
    leading = five_safes(tmp_path / "leading", model)
    document = (leading / "data" / "ro-crate-metadata.json").read_text()
    (leading / "data" / "ro-crate-metadata.json").write_text(document.replace('"input.txt"', '"../../etc"'))
    cases["a path that leads out of it"] = (leading, {"agent": "Jo"})
    for words, (source, named) in cases.items():
        with pytest.raises(maxent.InvalidInput, match=re.escape(words)):
            found.crate(tmp_path / "out", source=source, **named)
        assert not (tmp_path / "out").exists()


def test_commands_write_the_folders_and_refuse_what_lies_in_them(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, table = str(folder / "tree <b>& 1.skops"), str(folder / "truth.csv")
    call = ["check", model, table, "--truth", table, "--target", "ill", "--max-certain", "120"]
    out = str(tmp_path / "out")
    assert main([*call, "--sacro", out, "--record", str(tmp_path / "record.json")]) == 0
    result = json.loads((tmp_path / "out" / "results.json").read_text())["results"]["output_0"]
    assert (result["status"], result["command"]) == ("pass", "maxent check")
    for wrong, said in {
        ("--sacro", out, "--record", f"{out}/record.json"): "a folder without the file of --record",
        ("--sacro", str(folder)): "which this command did not write",
        ("--agent", "Jo"): "--crate DIR, too",
        ("--crate-in", out): "--crate DIR, too",
        ("--crate-in", out, "--crate", f"{out}/in"): "a folder apart from the crate that is copied",
        ("--sacro", str(tmp_path / "no" / "out")): "whose folder does not exist",
    }.items():
        assert main([*call, *wrong]) == 2
        assert said in capsys.readouterr().err
    document = json.loads((tmp_path / "out" / "results.json").read_text())
    document["results"]["output_0"]["comments"] = ["ask for rounded counts"]
    for name, text in (("results.json", json.dumps(document)), ("letter.txt", "approved")):
        (tmp_path / "out" / name).write_text(text)
        assert main([*call, "--sacro", out]) == 2
        assert "a reviewer's decision" in capsys.readouterr().err
        assert main([*call, "--sacro", out, "--force"]) == 0
        assert main([*call, "--sacro", out]) == 0


# Folders of SACRO-ML.


def target(place: Path, model: Any = None, table: pd.DataFrame | None = None, **params: Any) -> Path:
    """A folder as ``Target.save`` of SACRO-ML 2.0.1 writes it, with what was written beside its pickles."""
    place.mkdir()
    for name in ("model", "X_train", "y_train"):
        (place / f"{name}.pkl").write_bytes(b"\x80\x05cos\nsystem\n")  # which nobody may load
    features = "".join(
        f"  {i}:\n    name: {name}\n    indices:\n    - {i}\n    encoding: float\n"
        for i, name in enumerate(("age", "sex"))
    )
    listed = "".join(f"  {name}: {'null' if value is None else value}\n" for name, value in params.items())
    text = f"dataset_name: people\ndataset_module_path: ''\nfeatures:\n{features}safemodel: []\n"
    text += f"model_type: SklearnModel\nmodel_name: DecisionTreeClassifier\nmodel_params:\n{listed}"
    text += "model_path: model.pkl\nX_train_path: X_train.pkl\ny_train_path: y_train.pkl\n"
    (place / "target.yaml").write_text(text if params else text.replace("model_params:\n", ""), encoding="utf-8")
    if model is not None:
        dump(model, place / "model.skops")
    if table is not None:
        table.to_csv(place / "train.csv", index=False)
    return place


def test_a_folder_of_sacro_ml_is_reviewed_without_its_pickles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = people()
    model = DecisionTreeClassifier(min_samples_leaf=20, random_state=0).fit(table[["age", "sex"]].to_numpy(), table.ill)
    call = ["--target", "ill", "--qi", "age,sex", "--max-certain", "120", "--json"]
    assert main(["review", str(target(tmp_path / "bare")), *call]) == 2
    said = capsys.readouterr().err
    assert said.count("not loaded") == 2
    arrays = {"model": model, "X_train": table[["age", "sex"]].to_numpy(), "y_train": table.ill.sample(frac=1.0)}
    arrays["y_train"][:] = table.ill
    for name, each in arrays.items():
        (tmp_path / "bare" / f"{name}.pkl").write_bytes(pickle.dumps(each))
    for line in re.findall(r"where you trust it: (.*?), found", said):  # run the printed lines
        subprocess.run([sys.executable, "-c", line], cwd=tmp_path / "bare", check=True)
    assert main(["review", str(tmp_path / "bare"), *call]) == 0
    written = json.loads(capsys.readouterr().out)
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "bare" / "train.csv"), table[["age", "sex", "ill"]])
    whole = target(tmp_path / "whole", model, table, max_depth=3, min_samples_leaf=20)
    assert main(["review", str(whole), *call, "--sacro", str(tmp_path / "out")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"]["status"] == "pass"
    assert found["model"]["format"] == "sacro-ml"
    assert written["estimate"]["entropy"] == pytest.approx(found["estimate"]["entropy"], abs=1e-9)
    alone = maxent.review(whole / "model.skops", table, target="ill", qi=["age", "sex"], features=["age", "sex"])
    assert found["estimate"]["entropy"] == pytest.approx(alone.estimate.summary["entropy"], abs=1e-9)
    assert {each.name for each in (tmp_path / "out").iterdir()} >= {"model.skops", "results.json"}
    assert not list((tmp_path / "out").rglob("*.pkl"))
    judged = maxent.check(whole, table[["age", "sex"]], target="ill", truth=table, no_unnecessary_risk=True)
    row = next(row for row in judged.rows if row.check.id == "MX120")
    assert (row.status, "max_depth=None" in row.finding.said) == ("pass", True)  # by the model's own settings


@pytest.mark.parametrize(
    ("text", "where", "found"),
    [
        ("a: 1\nb: [", "line 2", r"\"expected the node content, but found '<stream end>'\"$"),
        ("- 1\n- 2\n", "file", r"\[1, 2\]$"),
        ("a: 1\nb: !!python/object/apply:os.system ['true']\n", "line 2", r"the tag '.*apply:os\.system'\"$"),
        ("\0", "file", "special characters are not allowed'$"),
        ("a: 2020-13-45", "file", "month must be"),
    ],
)
def test_a_description_that_is_no_plain_yaml_is_refused(tmp_path: Path, text: str, where: str, found: str) -> None:
    """At the line of what is none, in a sentence that ends."""
    place = target(tmp_path / "target")
    (place / "target.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(maxent.InvalidInput, match=rf"target\.yaml: {where}: content: expected .*, found .*{found}"):
        maxent.convert(place, target="ill")


def test_what_sacro_ml_saves_is_recognised(tmp_path: Path) -> None:
    python = peer("sacroml")
    program = (
        "import sys, numpy as np\nfrom sklearn.tree import DecisionTreeClassifier\n"
        "from sacroml.attacks.target import Target\nX = np.arange(40).reshape(20, 2); y = (X[:, 0] > 18).astype(int)\n"
        "model = DecisionTreeClassifier(max_depth=2).fit(X, y)\n"
        "found = Target(model=model, dataset_name='d', X_train=X, y_train=y, X_test=X, y_test=y)\n"
        "found.add_feature('age', [0], 'float'); found.add_feature('sex', [1], 'str')\nfound.save(sys.argv[1])\n"
    )
    subprocess.run([python, "-c", program, str(tmp_path / "saved")], check=True, capture_output=True)
    with pytest.raises(maxent.InvalidInput, match=r"model: expected model\.skops.*found 'model\.pkl', which"):
        maxent.convert(tmp_path / "saved", target="y")


def test_sacro_ml_itself_judges_the_settings_alike() -> None:
    python = peer("sacroml")
    program = (
        "import itertools, json, sys\nfrom sklearn.ensemble import RandomForestClassifier\n"
        "from sklearn.tree import DecisionTreeClassifier\nfrom xgboost.sklearn import XGBClassifier\n"
        "from sacroml.attacks.structural_attack import get_unnecessary_risk\n"
        "kinds = {each.__name__: each for each in (DecisionTreeClassifier, RandomForestClassifier, XGBClassifier)}\n"
        "kind, cases = json.load(sys.stdin)\n"
        "print(''.join(str(int(bool(get_unnecessary_risk(kinds[kind](**case))))) for case in cases))\n"
    )
    for kind in RISKY:
        given = json.dumps([kind, combinations(kind)])
        done = subprocess.run([python, "-c", program], input=given, capture_output=True, text=True, check=True)
        assert int(done.stdout, 2) == RISKY[kind][1]
