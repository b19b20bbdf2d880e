"""maxent backends: what is installed, its versions, and what is missing."""

import json
import subprocess
import sys

import pytest
from support import toys

from maxent.__main__ import main
from maxent.solvers.backends.registry import backend_names


@pytest.fixture
def third_party(tmp_path, monkeypatch):
    toys.install(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def test_every_back_end_is_described(capsys):
    assert main(["backends", "--json"]) == 0
    printed = capsys.readouterr()
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
    assert main(["backends"]) == 0
    printed = capsys.readouterr()
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
