"""Pages of papers as they are written: their sections, tables with verdicts, and figures."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from papers import verdicts

_HEADING = re.compile(r"^(#+) (.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
_MARK = re.compile(r"<!-- (?:table: .*?|end) -->\n")
_FIGURE = re.compile(r"!\[(.*?)\]\((?:\w+/)?figures/(.+?)\)")
_OTHER = re.compile(r".*[^*]\*")
"""First cell of a row that stands for another version of a row before."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page, from a heading of some level to the next that is not below it."""

    level: int
    title: str
    body: str
    start: int
    stop: int

    @property
    def anchor(self) -> str:
        """What a link calls it: see the extension ``toc`` of Python-Markdown."""
        text = unicodedata.normalize("NFKD", self.title).encode("ascii", "ignore").decode()
        return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower())

    def at_level(self, level: int, page: str) -> str:
        """The section as a part of the page one folder up: without marks, its headings below ``level``.

        Its links lead to ``page``, as that page calls it.
        """
        shift = "#" * (level - self.level)
        hidden = _blanked(self.body)
        body, last = "", 0
        for heading in _HEADING.finditer(hidden):
            body += self.body[last : heading.start()] + shift
            last = heading.start()
        body = _MARK.sub("", body + self.body[last:])
        folder = page.rpartition("/")[0]
        body = body.replace("](#", f"]({page}#").replace("](../", "](").replace("](figures/", f"]({folder}/figures/")
        return f"{'#' * level} {self.title}\n{body}"


def sections(page: str) -> list[Section]:
    """All sections, each with those below it."""
    headings = list(_HEADING.finditer(_blanked(page)))
    found = []
    for at, heading in enumerate(headings):
        level = len(heading[1])
        later = (other.start() for other in headings[at + 1 :] if len(other[1]) <= level)
        stop = next(later, len(page))
        found.append(Section(level, heading[2], page[heading.end() + 1 : stop], heading.start(), stop))
    return found


def section_of(page: str, tables: Sequence[str]) -> Section:
    """The smallest section that has all of some tables.

    Raises
    ------
    ValueError
        When a table is not there, or they are in different sections.
    """
    places = [_place(page, name) for name in tables]
    holding = [s for s in sections(page) if all(s.start <= place < s.stop for place in places)]
    smallest = min(holding, key=lambda section: section.stop - section.start, default=None)
    if smallest is None or smallest.level == 1:
        raise ValueError(f"the tables {', '.join(tables)} are not in one section")
    return smallest


def rows(page: str, name: str) -> list[list[str]]:
    """The cells of a table, its head first; the table is one of Markdown, or text with columns two blanks apart."""
    start = _place(page, name)
    lines = page[start : page.index("<!-- end -->", start)].splitlines()[1:]
    if lines[:1] == ["```"]:
        return [re.split(r"\s{2,}", line.strip()) for line in lines[1:-1]]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [line for line in cells if not all(re.fullmatch(":?-+:?", cell) for cell in line)]


def judged(page: str, name: str) -> Iterator[tuple[str, str, str]]:
    """The cells of a table that have a verdict: metric, difference and verdict.

    A verdict is that of the columns before it, back to the last verdict, which have a difference; the metric is named
    two columns before the difference, over what is printed. Without differences it is that of the row.

    Raises
    ------
    ValueError
        When there are no rows, or no verdicts, or verdicts that are none.
    """
    head, *lines = rows(page, name) or [[]]
    if not lines or "verdict" not in head:
        raise ValueError(f"the table {name} has no {'verdicts' if lines else 'rows'}")
    for line in lines:
        if _OTHER.fullmatch(line[0]):
            continue
        differences: dict[str, str] = {}
        for at, (label, cell) in enumerate(zip(head, line, strict=True)):
            if label == "diff" and cell:
                differences[head[at - 2]] = cell
            elif label == "verdict" and cell:
                for metric, verdict in verdicts.read(cell, list(differences)):
                    yield metric, differences.get(metric, ""), verdict
                differences = {}


def figures(page: str) -> dict[str, str]:
    """The figures of a page: file -> what is said in its place."""
    return {file: said for said, file in _FIGURE.findall(page)}


def _place(page: str, name: str) -> int:
    """Where a table is."""
    mark = f"<!-- table: {name} -->\n"
    if page.count(mark) != 1:
        raise ValueError(f"there is no table {name}")
    return page.index(mark)


def _blanked(page: str) -> str:
    """A page of the same length in which code has no lines that look like headings."""
    spans = [0, *(at for match in _FENCE.finditer(page) for at in match.span()), len(page)]
    parts = [page[a:b] for a, b in pairwise(spans)]
    return "".join(part if i % 2 == 0 else part.replace("#", " ") for i, part in enumerate(parts))
