"""The page of all papers: a summary of what they print beside ours, and the sections of the pages that show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from papers.pages import figures, judged, section_of
from papers.study_files import Paper, Published
from papers.tables import table
from papers.verdicts import GROUPS

PAGE = "examples/papers/reproduction.md"

SHOWN = 4
"""Metrics whose largest difference the summary has room for."""

MARK = "<!-- below: written by examples/papers/reproduce.py -->\n"
"""The words above stay as they are."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the summary: how many cells have which verdict, the largest difference by metric, where ours is."""

    item: Published
    counts: Counter[str]
    largest: Mapping[str, str]
    link: str

    def cells(self) -> list[str]:
        """What the summary says."""
        title = f"[{self.item.title}]({self.link})" if self.link else self.item.title
        largest = ", ".join(f"{metric} {difference}" for metric, difference in [*self.largest.items()][:SHOWN])
        return [title, str(self.counts.total() or ""), self.verdict, largest]

    @property
    def verdict(self) -> str:
        """How many cells have which verdict."""
        found = {group: n for group in GROUPS if (n := self.counts[group])}
        if len(found) == 1:
            return f"all {next(iter(found))}"
        return ", ".join(f"{n:,} {group}" for group, n in found.items()) or self.item.verdict

    @property
    def note(self) -> str:
        """What is to be said of a verdict that is not counted."""
        file, _, function = self.item.test.partition("::")
        said = self.item.why or (f"`{function}` in `{file}` asserts it" if function else "")
        return f"- {self.item.title.partition(':')[0]}: {said}.\n" if said else ""


def compose(papers: Iterable[Paper], root: Path) -> str:
    """The page, from its own words and the pages of papers below ``root``.

    Raises
    ------
    OSError, ValueError
        When a page, or a table of it, is missing, has no rows or no verdicts; the page is named.
    """
    words, mark, _ = (root / PAGE).read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise ValueError(f"{PAGE}: there is no line {MARK.strip()}")
    totals, summaries, parts = [], [], []
    for paper in papers:
        pages = {p.page: (root / p.page).read_text(encoding="utf-8") for p in paper.programs}
        rows = [_row(item, pages[item.page]) for item in paper.published]
        counts = sum((row.counts for row in rows), Counter[str]())
        totals.append([paper.short, *(f"{n:,}" for n in (counts.total(), *(counts[group] for group in GROUPS)))])
        summaries.append(f"### {paper.short}: verdicts\n\n{_summary(rows)}")
        parts.append(_part(paper, pages))
    return words + mark + "\n" + "\n".join([table(["", "cells", *GROUPS], totals), *summaries, *parts])


def _summary(rows: Sequence[Row]) -> str:
    """The rows of a paper, and notes."""
    lines = [["printed", "cells", "verdict", "largest difference"], ["---", "---:", "---", "---"]]
    text = "".join(f"| {' | '.join(line)} |\n" for line in [*lines, *(row.cells() for row in rows)])
    notes = "".join(row.note for row in rows)
    return f"{text}\n{notes}" if notes else text


def _row(item: Published, page: str) -> Row:
    """What became of something printed."""
    try:
        section = section_of(page, item.tables) if item.tables else None
        cells = [cell for name in item.tables for cell in judged(page, name)] if not item.verdict else []
    except ValueError as error:
        raise ValueError(f"{item.page}: {error}") from None
    counts = Counter(group for _, _, verdict in cells for group, words in GROUPS.items() if verdict in words)
    largest: dict[str, str] = {}
    for metric, difference, _ in cells:
        if difference and abs(float(difference)) > abs(float(largest.get(metric, 0))):
            largest[metric] = difference
    return Row(item, counts, largest, f"{_linked(item.page)}#{section.anchor}" if section else "")


def _part(paper: Paper, pages: Mapping[str, str]) -> str:
    """The sections about a paper, each once, and the figures of its programs that are in none of them."""
    text = [f"## {paper.short}\n\n{paper.reference}\n"]
    places = {(item.page, section_of(pages[item.page], item.tables)) for item in paper.published if item.tables}
    order = [program.page for program in paper.programs]
    for page, section in sorted(places, key=lambda place: (order.index(place[0]), place[1].start)):
        there = _linked(page)
        text.append(f"{section.at_level(3, there).rstrip()}\n\nFrom [{there}]({there}#{section.anchor}).\n")
    shown = figures("".join(text))
    left = []
    for program in paper.programs:
        said = figures(pages[program.page])
        folder = PurePosixPath(_linked(program.page)).parent
        left += [f"![{said.get(file, file)}]({folder}/figures/{file})" for file in program.figures if file not in shown]
    if left:
        text.append("### Other figures\n\n" + "\n\n".join(left) + "\n")
    return "\n".join(text)


def _linked(page: str) -> str:
    """A page of a paper as this page links to it."""
    return str(PurePosixPath(page).relative_to(PurePosixPath(PAGE).parent))
