"""Every defect that readers found has tests, which are there and run."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from mends import MENDS

TESTS = Path(__file__).parents[1]
NEVER = {"pytest.mark.skip", "pytest.mark.xfail", "pytest.skip", "pytest.xfail"}


def never_passes(statements: list[ast.stmt], decorators: list[ast.expr]) -> bool:
    """Whether a test is skipped or may fail whatever the circumstances, which an ``if`` or ``skipif`` states."""
    marks = [s.value for s in statements if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == "pytestmark"]
    calls = [s.value.func for s in statements if isinstance(s, ast.Expr) and isinstance(s.value, ast.Call)]
    return any(ast.unparse(node) in NEVER for found in (*marks, *calls, *decorators) for node in ast.walk(found))


@pytest.mark.parametrize("number", MENDS, ids="mend-{:02d}".format)
def test_the_tests_of_a_mend_are_there_and_run(number):
    assert len(set(MENDS[number].tests)) == len(MENDS[number].tests) >= 2
    for name in MENDS[number].tests:
        file, _, function = name.partition("::")
        module = ast.parse((TESTS / file).read_text(encoding="utf-8")).body
        [found] = [node for node in module if isinstance(node, ast.FunctionDef) and node.name == function]
        assert not never_passes(module, []), name
        assert not never_passes(found.body, found.decorator_list), name


def test_all_numbers_have_tests():
    assert list(MENDS) == list(range(1, 25))


@pytest.mark.parametrize(
    "text",
    [
        "@pytest.mark.skip\ndef test_a(): pass",
        "@pytest.mark.xfail(reason='hard')\ndef test_a(): pass",
        "def test_a():\n    pytest.skip('hard')",
        "pytestmark = [pytest.mark.slow, pytest.mark.skip]\ndef test_a(): pass",
    ],
)
def test_what_never_passes_is_noticed(text):
    *before, test = ast.parse(text).body
    assert never_passes(before, []) or never_passes(test.body, test.decorator_list)
    *before, test = ast.parse(
        "@pytest.mark.skipif(windows)\ndef test_a():\n    if mac:\n        pytest.skip('no')"
    ).body
    assert not never_passes(before, [])
    assert not never_passes(test.body, test.decorator_list)


def test_a_number_runs_its_tests_slow_ones_included():
    command = [sys.executable, "-m", "pytest", "--mend", "12", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True)
    found = {line.partition("[")[0] for line in done.stdout.splitlines() if "::" in line}
    assert found == {f"tests/{name}" for name in MENDS[12].tests}, done.stdout + done.stderr
