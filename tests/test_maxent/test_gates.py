"""Gates: a model card from a record, MLflow, hooks of pre-commit and the reusable workflow, as their users run them."""

import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pandas as pd
import pytest
import skops.io
import yaml
from sklearn.tree import DecisionTreeClassifier
from support.paths import D1, ROOT, copy_d1

import maxent
from maxent.__main__ import main
from maxent.commands.main import COMMANDS
from maxent.mlflow import log_review
from maxent.models.errors import InvalidInput

PROGRAMS = Path(sys.executable).parent
POLICY = 'name = "Ours | <b>"\n[limits]\nmin_leaf = %d\nmax_pure = 2\n[off]\nMX104 = "agreed *in writing*"\n'


@pytest.fixture
def folder(tmp_path):
    """A folder with a release, tables and two policies: one that it keeps, and one that it does not."""
    copy_d1(tmp_path)
    (tmp_path / "kept.toml").write_text(POLICY % 1, encoding="utf-8")
    (tmp_path / "broken.toml").write_text(POLICY % 10, encoding="utf-8")
    return tmp_path


def checked(folder, policy="broken.toml"):
    return maxent.check(folder / "tree.json", folder / "qi.csv", folder / policy, truth=folder / "truth.csv")


def test_a_card_says_who_the_adversary_is_and_what_cannot_be_told(folder):
    call = {"truth": folder / "truth.csv", "max_posterior": 0.9, "max_lift": 0.5}
    whole = maxent.check(folder / "tree.json", folder / "qi.csv", **call)
    assert not any(words in maxent.model_card(whole.record()) for words in ("Left out", "these classes alone"))
    alone = maxent.check(folder / "tree.json", folder / "qi.csv", **call, no_marginal=True, sensitive=[">50K"])
    at = alone.lines.index("  the adversary is taken not to know the base rate")
    assert alone.lines[at + 1] == "  judged of these classes alone: '>50K'"
    record = alone.record()
    card = maxent.model_card(record)
    assert "- Left out: the adversary is taken not to know the base rate\n" in card
    assert "- Judged are these classes alone: &gt;50K\n" in card
    row, other = record["checks"][:2]
    row |= {"status": "cannot_tell", "found": 0, "said": "people 0, at most 0: cannot tell, as the proof did not end"}
    other |= {"status": "cannot_tell", "found": None, "said": "people not known, as nothing was proved"}
    record["verdict"]["unread"] = ["not read: scores (6 leaves)"]
    card = maxent.model_card(record)
    assert "| as the proof did not end | cannot tell |" in card
    assert "| people not known, as nothing was proved | cannot tell |" in card
    assert "- not read: scores (6 leaves)\n" in card


def test_a_card_says_what_was_checked_and_found(folder, capsys):
    record = checked(folder).record(folder / "record.json")
    text = maxent.model_card(folder / "record.json")
    assert text == maxent.model_card(record)
    assert text.startswith("## Disclosure of the training data\n\n**FAIL** against the policy Ours \\| &lt;b&gt;.")
    assert "| MX101 | records of the smallest leaf | 10 | 2 | fail |" in text
    assert "| MX104 | leaves whose people all have one class | 2 | 2 | switched off |" in text
    assert "- MX104 was switched off: agreed \\*in writing\\*" in text
    assert record["output"]["files"][0]["sha256"] in text
    assert not any(each["sha256"] in text for each in record["inputs"] if each["role"] != "release")
    assert "- Sensitive attribute: Salary (&lt;=50K, &gt;50K)" in text
    assert text.rstrip().endswith("Nobody has decided on the release in this record.")
    assert maxent.model_card(record, level=4).startswith("#### ")
    record["decision"] |= {"decision": "released", "decided_by": "A. Checker", "decided_at": "2026-11-22"}
    assert "Decision: released (A. Checker, 2026-11-22)" in maxent.model_card(record)
    assert main(["card", str(folder / "record.json"), "--heading", "3"]) == 0
    assert capsys.readouterr().out == maxent.model_card(folder / "record.json", level=3)
    assert main(["card", str(folder / "record.json"), "-o", str(folder / "card.md")]) == 0
    assert (folder / "card.md").read_text(encoding="utf-8") == text
    capsys.readouterr()
    assert main(["card", str(folder / "record.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": None, "text": text}


def test_what_is_no_record_makes_no_card(folder, capsys):
    with pytest.raises(InvalidInput, match="format: expected 'maxent-record/1'"):
        maxent.model_card(folder / "tree.json")
    record = checked(folder).record()
    with pytest.raises(InvalidInput, match="level: expected a whole number from 1 to 6"):
        maxent.model_card(record, level=7)
    with pytest.raises(InvalidInput, match="checks: expected a key of a record"):
        maxent.model_card({key: value for key, value in record.items() if key != "checks"})
    with pytest.raises(InvalidInput, match="expected a record as maxent check --record writes it"):
        maxent.model_card(record | {"checks": [{"id": "MX101"}]})
    assert main(["card", str(folder / "tree.json")]) == 2
    assert main(["card", str(folder / "tree.json"), "-o", str(folder / "card.doc")]) == 2


@pytest.fixture
def tracking(tmp_path, monkeypatch):
    """MLflow with a local folder."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import mlflow

        mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
        yield mlflow
        while mlflow.active_run():
            mlflow.end_run()


def test_a_check_is_logged_with_all_that_it_rests_on(folder, tracking):
    found = checked(folder)
    logged = log_review(found)
    run = tracking.MlflowClient().get_run(logged.run_id)
    assert run.data.tags["maxent.verdict"] == "fail"
    assert run.data.tags["maxent.MX101"] == "fail"
    assert run.data.tags["maxent.MX104"] == "off"
    assert run.data.metrics == dict(logged.metrics)
    assert run.data.metrics["maxent.certain"] == 5
    assert run.info.status == "FINISHED"
    names = {each.path for each in tracking.MlflowClient().list_artifacts(logged.run_id, "maxent")}
    assert names == {f"maxent/{name}" for name in ("summary.json", "report.html", "record.json", "model_card.md")}
    assert names == set(logged.artifacts)
    there = Path(tracking.artifacts.download_artifacts(run_id=logged.run_id, artifact_path="maxent/record.json"))
    assert json.loads(there.read_text(encoding="utf-8"))["verdict"]["status"] == "fail"


def test_a_review_is_logged_to_the_run_that_there_is(folder, tracking):
    truth = pd.read_csv(D1 / "truth.csv")
    review = maxent.check(maxent.load_release(D1 / "tree.json"), truth[["Education", "Country", "Gender"]], min_leaf=1)
    with tracking.start_run() as run:
        logged = log_review(review.review, artifact_path="privacy")
        assert tracking.active_run().info.run_id == run.info.run_id == logged.run_id
    data = tracking.MlflowClient().get_run(run.info.run_id).data
    assert data.tags["maxent.verdict"] == "not stated"
    assert logged.artifacts == ("privacy/report.html", "privacy/summary.json")
    again = log_review(review, run_id=run.info.run_id)  # of no files, so that there is no record
    assert again.run_id == run.info.run_id
    assert again.tags["maxent.verdict"] == "pass"
    assert {Path(name).name for name in again.artifacts} == {"report.html", "summary.json"}


def test_only_results_are_logged():
    with pytest.raises(
        InvalidInput, match=r"result: expected what maxent\.review or maxent\.check returned, found str"
    ):
        log_review("tree.json")


HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}


def environment(**more):
    """The environment of a user with maxent on the path, and settings of git of their own."""
    told = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b.c",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b.c",
    }
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "PRE_COMMIT"))}
    return kept | told | {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"} | more


def committed(folder, hooks, repo, **more):
    """What committing everything in a folder does with some hooks of a repository, and with its output."""
    config = {"repos": [{"repo": repo, "hooks": hooks, **more}]}
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    home = environment(PRE_COMMIT_HOME=str(folder.parent / "cache"))
    for call in (["git", "init", "-q"], ["git", "add", "."]):
        subprocess.run(call, cwd=folder, env=home, check=True, capture_output=True)
    call = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose"]
    done = subprocess.run(call, cwd=folder, env=home, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize(("policy", "status"), [("kept.toml", 0), ("broken.toml", 3)])
def test_the_hook_stops_a_release_beyond_a_limit(folder, policy, status, monkeypatch):
    arguments = ["tree.json", "qi.csv", "--truth", "truth.csv", "--policy", policy, "--record", "record.json"]
    monkeypatch.chdir(folder)
    assert main(["check", *arguments]) == status
    record = json.loads(Path("record.json").read_text(encoding="utf-8")) | {"created": "2020-01-01T00:00:00Z"}
    Path("record.json").write_text(json.dumps(record), encoding="utf-8")  # of an earlier commit: it stays as it is
    code, said = committed(folder, [HOOKS["maxent-check"] | {"language": "system", "args": arguments}], "local")
    assert code == min(status, 1), said
    assert status == 0 or "exit code: 3" in said
    assert "files were modified" not in said
    assert "MX101" in said


def test_hooks_are_commands_that_there_are():
    for hook in HOOKS.values():
        program, command = hook["entry"].split()
        assert program == "maxent"
        assert command in COMMANDS


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_hook_installs_from_a_clone(folder, tmp_path_factory):
    clone = tmp_path_factory.mktemp("clone") / "maxent"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True, capture_output=True)
    revision = subprocess.run(["git", "rev-parse", "HEAD"], cwd=clone, check=True, capture_output=True, text=True)
    arguments = ["tree.json", "qi.csv", "--policy", "kept.toml"]
    hooks = [{"id": "maxent-check", "args": arguments}]
    code, said = committed(folder, hooks, str(clone), rev=revision.stdout.strip())
    assert code == 0, said


WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "maxent-check.yml").read_text(encoding="utf-8"))


def steps(folder, given):
    """Run the steps of the workflow that are scripts of the project's, as its machine would; their exit statuses."""
    inputs = {name: each.get("default", "") for name, each in WORKFLOW[True]["workflow_call"]["inputs"].items()} | given
    ended = {}
    for step in WORKFLOW["jobs"]["check"]["steps"]:
        if "run" not in step or step["name"] == "Install":
            continue
        told = {
            name: re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda found: inputs[found[1]], value)
            for name, value in step["env"].items()
        }
        here = environment(**told, GITHUB_STEP_SUMMARY=str(folder / "summary.md"))
        done = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=folder, env=here, capture_output=True, text=True)
        ended[step["name"]] = done.returncode
    return ended


def test_the_workflow_takes_a_model_of_another_tool(folder):
    people = pd.DataFrame({"a": [0, 0, 0, 1, 1, 1]})
    skops.io.dump(DecisionTreeClassifier().fit(people, list("xxyxyy")), folder / "model.skops")
    people.to_csv(folder / "people.csv", index=False)
    people.assign(y=list("xxyxyy")).to_csv(folder / "classes.csv", index=False)
    (folder / "small.toml").write_text("[limits]\nmin_leaf = 3\n", encoding="utf-8")
    tables = {"qi": "people.csv", "truth": "classes.csv"}
    given = {"release": "model.skops", "policy": "small.toml", "target": "y", **tables}
    assert steps(folder, given) == {"Check": 0, "Card": 0}
    assert json.loads((folder / "maxent-record.json").read_text(encoding="utf-8"))["output"]["target"] == "y"


@pytest.mark.parametrize(("policy", "status"), [("kept.toml", 0), ("broken.toml", 3)])
def test_the_workflow_checks_and_keeps_the_record(folder, policy, status):
    given = {"release": "tree.json", "qi": "qi.csv", "policy": policy, "truth": "truth.csv"}
    assert steps(folder, given) == {"Check": status, "Card": 0}
    record = json.loads((folder / "maxent-record.json").read_text(encoding="utf-8"))
    assert record["verdict"]["exit"] == status
    assert (folder / "summary.md").read_text(encoding="utf-8") == maxent.model_card(record)


def documented(key):
    """The example of docs/gates.md that begins with a key."""
    text = (ROOT / "docs" / "gates.md").read_text(encoding="utf-8")
    return next(
        yaml.safe_load(each) for each in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if each.startswith(key)
    )


@pytest.mark.promise(number=5)
def test_the_workflow_is_called_as_documented_and_has_no_policy_of_its_own():
    [given] = documented("jobs")["jobs"].values()
    inputs = WORKFLOW[True]["workflow_call"]["inputs"]
    required = {name for name, each in inputs.items() if each.get("required")}
    assert required == given["with"].keys() == {"release", "qi", "policy", "requirement"}
    assert all("default" not in inputs[name] for name in required)
    assert given["uses"].startswith("OWNER/maxent/.github/workflows/maxent-check.yml@")
    assert given["uses"].partition("@")[2] == given["with"]["requirement"].rpartition("@")[2]


def test_the_hooks_are_named_as_documented():
    [repo] = documented("repos")["repos"]
    assert {hook["id"] for hook in repo["hooks"]} == HOOKS.keys()
    assert repo.keys() == {"repo", "rev", "hooks"}
    assert all(hook["language"] == "python" and "additional_dependencies" not in hook for hook in HOOKS.values())


@pytest.mark.parametrize(
    ("requirement", "installed"),
    [
        ("git+https://github.com/OWNER/maxent@COMMIT", True),
        ("./wheels/maxent-1.0-py3-none-any.whl", True),
        ("maxent", False),
        ("maxent==1.0", False),
        ("git+https://github.com/OWNER/maxent", False),
        ("git+https://github.com/OWNER/maxent@", False),
        ("", False),
    ],
)
@pytest.mark.promise(number=5)
def test_the_workflow_installs_a_revision_and_no_name(tmp_path, requirement, installed):
    [step] = [each for each in WORKFLOW["jobs"]["check"]["steps"] if each.get("name") == "Install"]
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    here = environment(REQUIREMENT=requirement) | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-e", "-c", step["run"]], env=here, capture_output=True, text=True)
    if installed:
        assert (done.returncode, done.stdout.split()) == (0, ["-m", "pip", "install", requirement])
    else:
        assert (done.returncode, done.stdout) == (2, "")
        assert "requirement: expected git+https://HOST/OWNER/maxent@COMMIT, or a wheel, found" in done.stderr


def test_inputs_of_the_workflow_are_never_code():
    for step in WORKFLOW["jobs"]["check"]["steps"]:
        assert "${{" not in step.get("run", "")
