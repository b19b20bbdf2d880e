"""Folders of the repository that tests read."""

import shutil
from pathlib import Path

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
EXAMPLES = ROOT / "examples"
D1 = EXAMPLES / "d1"  # The first example of the paper
SEEDS = TESTS / "fuzz" / "seeds"  # A model of each format


def copy_d1(folder: Path) -> None:
    """Copy the release, the adversary's table and the truth of the first example to a folder."""
    for name in ("tree.json", "qi.csv", "truth.csv"):
        shutil.copy(D1 / name, folder)


def merging(path: Path) -> str:
    """A pattern that only this file matches: a single file is merged when it is large, and by a pattern always."""
    return str(path.with_name(f"{path.name[:-1]}[{path.name[-1]}]"))
