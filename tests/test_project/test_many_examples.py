"""Properties are held for a third of their examples by default, and here for all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from strategies import EXAMPLES, FEW, thorough

TESTS = Path(__file__).parents[1]
FILES = sorted(
    path.relative_to(TESTS).as_posix()
    for path in TESTS.rglob("test_*.py")
    if "\n@thorough(" in path.read_text(encoding="utf-8")
)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_properties_hold_for_all_examples(file):
    call = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", str(TESTS / file)]
    ran = subprocess.run(call, capture_output=True, text=True, env={**os.environ, EXAMPLES: "1"})
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize(
    ("asked", "n", "run"), [("0", 150, 50), ("0", 30, FEW), ("0", 4, 4), ("1", 150, 150), ("3", 4, 12)]
)
def test_how_many_examples_are_run(monkeypatch, asked, n, run):
    monkeypatch.setenv(EXAMPLES, asked)
    assert thorough(n).max_examples == run
