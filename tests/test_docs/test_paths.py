"""Files of the project that its pages name: they are there."""

from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).parents[2]
PAGES = [*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md"), *(TOP / "examples").rglob("*.md")]
NAMED = re.compile(
    r"(?<![\w/.-])(?:\.ci|benchmarks|constraints|docs|examples|maxent|models|solvers|tests)/[\w./-]+\.(?:py|toml|md|json|csv|js)\b"
)


def test_files_that_pages_name_are_there():
    absent = {
        f"{page.relative_to(TOP)}: {name}"
        for page in PAGES
        for name in NAMED.findall(page.read_text(encoding="utf-8"))
        if not (TOP / name).is_file()
    }
    assert absent == set()
