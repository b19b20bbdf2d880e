"""Folders of the repository that tests read."""

from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
EXAMPLES = ROOT / "examples"
D1 = EXAMPLES / "d1"  # The first example of the paper
SEEDS = TESTS / "fuzz" / "seeds"  # A model of each format
