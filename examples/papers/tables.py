"""Tables of the pages: as Markdown, and their places in a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, its first column to the left and the others to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def fenced(tables: Mapping[str, str]) -> dict[str, str]:
    """Tables that are lines of text, as blocks of code."""
    return {name: f"```\n{text}\n```\n" for name, text in tables.items()}


def fill(page: str, tables: Mapping[str, str]) -> str:
    """The page with its tables replaced, which stand between ``<!-- table: NAME -->`` and ``<!-- end -->``.

    Raises
    ------
    ValueError
        When a table has no place, or a place no table.
    """
    names = re.findall(r"<!-- table: (.+?) -->", page)
    if set(names) != set(tables) or len(names) != page.count("<!-- end -->"):
        raise ValueError(f"the page has places for {', '.join(names)}; the tables are {', '.join(tables)}")
    return re.sub(
        r"(<!-- table: (.+?) -->\n).*?(<!-- end -->)",
        lambda found: found[1] + tables[found[2]] + found[3],
        page,
        flags=re.DOTALL,
    )
