"""maxent backends: what is installed, its versions, and what is missing."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import toys
from support.calls import printed_by
from support.paths import D1
from support.studies import STUDY, people

from maxent.models.packages import BASE, EXTRAS
from maxent.solvers.backends.registry import backend_names


@pytest.fixture
def third_party(tmp_path, monkeypatch):
    toys.install(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def test_every_back_end_is_described(capsys):
    printed = printed_by(capsys, ["backends", "--json"])
    assert printed.err == ""
    found = json.loads(printed.out)
    assert list(found) == ["backends"]
    assert set(backend_names()) <= {row["name"] for row in found["backends"]}
    for row in found["backends"]:
        assert list(row) == ["name", "installed", "version", "solves", "missing"]
        assert isinstance(row["installed"], bool)
        assert row["installed"] or row["missing"]
    assert {row["name"] for row in found["backends"] if row["installed"]} >= {"auto", "ipopt", "newton"}


def test_a_table_to_read(capsys, third_party):
    printed = printed_by(capsys, ["backends"])
    assert printed.err == ""
    lines = printed.out.splitlines()
    assert lines[0].split() == ["backend", "version", "solves"]
    rows = {line.split()[0]: line for line in lines[1 : lines.index("")]}
    assert set(backend_names()) <= set(rows)
    assert "not installed" in rows["absent"]
    assert "0.7" in rows["picky"]
    assert any(
        line.startswith("absent: ") and "a_solver_that_is_not_there" in line for line in lines[lines.index("") :]
    )
    assert all(line == line.rstrip() for line in lines)


def test_no_solver_is_loaded():
    heavy = ["pyomo", "cvxpy", "casadi", "pandas", "matplotlib", "sklearn", "pyscipopt"]
    code = f"""
import sys
from maxent.__main__ import main
status = main(["backends"])
print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
sys.exit(status)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "[]\n")


HIDE = """
# Hides packages from this Python, and from those that it starts: they look as if they were not installed.
import os, sys
from importlib.machinery import PathFinder

hidden = os.environ["HIDDEN"].split(",")

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in hidden else PathFinder.find_spec(name, path, target)

sys.meta_path[:] = [Finder if finder is PathFinder else finder for finder in sys.meta_path]
"""

RUN = """
import contextlib, io, json, sys
from maxent.__main__ import main

said = {}
for name, command in json.loads(sys.argv[1]).items():
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        status = main(command)
    said[name] = status, out.getvalue(), errors.getvalue()
print(json.dumps(said))
"""


def run(folder, *hidden, **more):
    """What the commands say with some packages hidden, by command: exit status, output, errors."""
    people(folder)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    tree, qi, truth = (str(D1 / name) for name in ("tree.json", "qi.csv", "truth.csv"))
    grow = ["people.csv", "--target", "secret", "--qi", "job,sex,age", "--max-depth", "2"]
    commands = {
        "estimate": ["estimate", tree, qi, "--truth", truth, "--report", "report.html"],
        "audit": ["audit", tree, qi],
        "defend": ["defend", "none", *grow, "-o", "tree.json"],
        "compare": ["compare", tree, tree, "--qi", qi],
        "explain": ["explain", tree, qi],
        "bench": ["bench", tree, qi, "--backends", "auto,newton"],
        "backends": ["backends"],
        "sweep": ["sweep", "study.toml", "-o", "results"],
    } | more
    hiding = folder / "hiding"
    hiding.mkdir()
    (hiding / "sitecustomize.py").write_text(HIDE, encoding="utf-8")
    path = os.pathsep.join([str(hiding), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(commands)],
        env={**os.environ, "HIDDEN": ",".join(hidden), "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert not any("Traceback" in text for _, *texts in said.values() for text in texts)
    return said


def statuses(said):
    return {name: status for name, (status, _, _) in said.items() if status}


TREE = [str(D1 / "tree.json"), str(D1 / "qi.csv")]


@pytest.mark.regression(number=21)
def test_nothing_that_is_optional_is_needed(tmp_path):
    plot = ["estimate", *TREE, "-o", "figure.svg"]
    said = run(tmp_path, "casadi", "duckdb", *EXTRAS, plot=plot, scip=["estimate", *TREE, "--backend", "scip"])
    assert statuses(said) == {"plot": 2, "scip": 2}
    how = "pip install matplotlib; in a copy of the repository: pip install '.[plot]'"
    assert said["plot"][1:] == ["", f"maxent: a plot needs matplotlib: {how}\n"]
    assert "pip install '.[scip]'" in said["scip"][2]
    assert "scip: backend 'scip' needs PySCIPOpt: pip install pyscipopt" in said["backends"][1]
    assert not (tmp_path / "figure.svg").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("module", "backend"), [("cyipopt", "ipopt"), ("cvxpy", "cvxpy"), ("pyomo", "pyomo:ipopt")])
@pytest.mark.regression(number=21)
def test_the_default_back_end_does_without_any_other(tmp_path, module, backend):
    said = run(tmp_path, module, own=["estimate", *TREE, "--backend", backend])
    assert statuses(said) == {"own": 2}
    assert said["own"][1:] == ["", said["own"][2]]
    assert f"pip install {BASE[module]}" in said["own"][2]
    assert f"pip install {BASE[module]}" in said["backends"][1]


@pytest.mark.slow
@pytest.mark.parametrize(("module", "needing"), [("sklearn", {"defend", "sweep"}), ("sympy", set())])
def test_packages_that_some_commands_need(tmp_path, module, needing):
    said = run(tmp_path, module)
    assert set(statuses(said)) <= needing
    for name in statuses(said):
        assert f"pip install {BASE[module]}" in "".join(said[name][1:]), said[name]


@pytest.mark.slow
def test_no_table_is_read_without_arrow(tmp_path):
    said = run(tmp_path, "pyarrow")
    assert set(statuses(said)) == set(said) - {"backends"}
    for name in statuses(said):
        assert "pyarrow" in "".join(said[name][1:]), said[name]
    assert "this needs pyarrow, which is not installed: pip install pyarrow\n" in said["estimate"][2]


@pytest.mark.slow
@pytest.mark.regression(number=21)
def test_nothing_imports_casadi_or_duckdb():
    for folder in ("constraints", "maxent", "models", "solvers"):
        for path in (Path(__file__).parents[2] / folder).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names = {n.name for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names}
            names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
            assert not {name.partition(".")[0] for name in names} & {"casadi", "duckdb"}, path
