"""Properties are held for a third of their examples by default, and for all of them by `make hunt`."""

import pytest
from support.strategies import EXAMPLES, FEW, thorough


@pytest.mark.parametrize(
    ("asked", "n", "run"), [("0", 150, 50), ("0", 30, FEW), ("0", 4, 4), ("1", 150, 150), ("3", 4, 12)]
)
def test_how_many_examples_are_run(monkeypatch, asked, n, run):
    monkeypatch.setenv(EXAMPLES, asked)
    assert thorough(n).max_examples == run
