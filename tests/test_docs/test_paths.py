"""What pages say of the project holds: files that they name are there, and it is installed as they tell."""

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


def test_pages_install_from_a_copy_of_the_repository():
    text = {page.relative_to(TOP).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
    assert [name for name, said in text.items() if re.search(r"pip install (-\S+ )*'?maxent\b", said)] == []
    assert "pip install .  " in text["README.md"]
    assert "pip install '.[plot]'" in text["README.md"]
