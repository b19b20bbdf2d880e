"""What is published, how it is tried, and that publishing is off."""

import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from support.paths import ROOT

import maxent

SMOKE = runpy.run_path(str(ROOT / ".ci" / "smoke.py"))
COMMAND = Path(sys.executable).with_name("maxent")


def test_the_smoke_test_visits_the_page_and_stops_it(tmp_path):
    SMOKE["visit"](COMMAND, tmp_path / "private")


@pytest.mark.parametrize(
    ("line", "says"),
    [("echo http://0.0.0.0:80/", "expected its address with a token"), ("exit 2", "printed ''")],
)
def test_the_smoke_test_fails_without_the_page(tmp_path, line, says):
    command = tmp_path / "maxent"
    command.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    command.chmod(0o700)
    with pytest.raises(SystemExit, match=re.escape(says)):
        SMOKE["visit"](command, tmp_path / "private")


def test_what_is_tried_has_the_page():
    run, release = ((ROOT / ".ci" / name).read_text(encoding="utf-8") for name in ("run", "release.py"))
    assert '"$(echo "$top"/dist/*.whl)[serve]"' in run
    assert 'f"{package}[serve]"' in release
    assert release.index("cyclonedx-py") < release.index("[serve]")  # the bill is that of the wheel alone


WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "publish.yml").read_text(encoding="utf-8"))


def test_publishing_is_there_and_off():
    assert WORKFLOW[True] == {"workflow_dispatch": None}  # YAML reads `on` as true; nothing but a hand starts it
    assert WORKFLOW["permissions"] == {}
    publish = WORKFLOW["jobs"]["publish"]
    assert publish["if"] == "vars.PUBLISH == 'true'"
    assert publish["environment"] == "release"
    assert publish["needs"] == "build"


def test_publishing_is_trusted():
    build, publish = WORKFLOW["jobs"]["build"], WORKFLOW["jobs"]["publish"]
    assert build["permissions"] == {"contents": "read"}
    assert publish["permissions"] == {"id-token": "write"}
    *_, last = publish["steps"]
    assert last["uses"].partition("@")[0] == "pypa/gh-action-pypi-publish"
    assert "password" not in last["with"]
    assert "secrets." not in str(WORKFLOW)


def test_only_packages_are_published(tmp_path):
    build, publish = (WORKFLOW["jobs"][name]["steps"] for name in ("build", "publish"))
    assert [step["run"] for step in build if "run" in step] == ["make release"]
    [kept], [taken] = ([s["with"] for s in steps if "artifact" in s.get("uses", "")] for steps in (build, publish))
    assert kept["name"] == taken["name"]
    made = "maxent-0.1.0-py3-none-any.whl", "maxent-0.1.0.tar.gz"
    (tmp_path / "dist").mkdir()
    for name in (*made, "SHA256SUMS", "maxent-0.1.0-py3-none-any.cdx.json"):
        (tmp_path / "dist" / name).touch()
    [line] = [step["run"] for step in publish if "run" in step]
    subprocess.run([shutil.which("sh"), "-ec", line], cwd=tmp_path, check=True)
    folder = tmp_path / publish[-1]["with"]["packages-dir"]
    assert {path.name for path in folder.iterdir()} == {*made}


def test_the_version_stands_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert (maxent.__version__, project["project"]["name"]) == ("0.1.0", "maxent")
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "maxent.__version__"}
