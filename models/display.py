"""Display of results: in a console a few lines, in a notebook a small table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from html import escape
from typing import Any

from maxent.models.errors import printable

LINES, WIDTH = 10, 160  # lines of a `repr`, and characters of each
ROWS, COLUMNS = 12, 12  # of a table in a notebook


@dataclass(frozen=True, slots=True)
class Picture:
    """Bars with their names and numbers, none below 0."""

    title: str
    bars: Sequence[tuple[str, float]]

    def svg(self) -> str:
        """Return a drawing, which says its numbers to who does not see it."""
        most = max((value for _, value in self.bars), default=0.0) or 1.0
        told = "; ".join(f"{name} {value:,.4g}" for name, value in self.bars)
        rows = [
            f'<text x="150" y="{16 * i + 12}" text-anchor="end">{escape(_cut(name, 24))}</text>'
            f'<rect x="156" y="{16 * i + 2}" width="{200 * value / most:.1f}" height="12" fill="#4477aa"/>'
            f'<text x="{162 + 200 * value / most:.1f}" y="{16 * i + 12}">{value:,.4g}</text>'
            for i, (name, value) in enumerate(self.bars)
        ]
        size = f'width="440" height="{16 * len(rows) + 4}" font-size="11" fill="currentColor"'
        label = escape(_cut(f"{self.title}: {told}", 4 * WIDTH))
        return f'<div>{escape(self.title)}</div><svg role="img" aria-label="{label}" {size}>{"".join(rows)}</svg>'


@dataclass(frozen=True, slots=True)
class Display:
    """Text of a result: a title, then lines (console); or what comes first, a table, a picture, lines (notebook)."""

    title: str
    lines: Sequence[str] = ()
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    below: Sequence[str] = ()
    first: Sequence[str] = ()
    picture: Picture | None = None

    def text(self) -> str:
        """Return at most `LINES` lines; what is left out is said in the last one."""
        lines = [self.title, *(f"  {line}" for line in self.lines)]
        if len(lines) > LINES:
            lines = [*lines[: LINES - 1], f"  ... and {len(lines) - LINES + 1} more lines"]
        return "\n".join(_cut(line) for line in lines)

    def html(self) -> str:
        """Return what comes first, a table with the title as its caption, the picture, and lines; all is escaped."""
        more = len(self.rows) - ROWS
        body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in self.rows[:ROWS])
        body += f'<tr><td colspan="{max(len(self.header), 1)}">... and {more} more rows</td></tr>' if more > 0 else ""
        head = f"<thead><tr>{_cells('th', self.header)}</tr></thead>" if self.header else ""
        first, below = (
            "".join(f"<div>{escape(_cut(line, 4 * WIDTH))}</div>" for line in lines[:ROWS])
            for lines in (self.first, self.below)
        )
        caption = f"<caption>{escape(_cut(self.title))}</caption>"
        drawn = "" if self.picture is None else self.picture.svg()
        return f"<div>{first}<table>{caption}{head}<tbody>{body}</tbody></table>{drawn}{below}</div>"


class Shown(ABC):
    """A value with a `Display` of its own; as a dataclass it is declared with ``repr=False``."""

    __slots__ = ()

    @abstractmethod
    def _display(self) -> Display:
        """Return what a console and a notebook show."""

    def __repr__(self) -> str:
        return self._display().text()

    def _repr_html_(self) -> str:
        return self._display().html()


class Summarised(Shown):
    """A result with a summary, which JSON has."""

    __slots__ = ()

    @property
    def summary(self) -> dict[str, Any]:
        """The JSON summary: plain numbers, strings, lists, dictionaries; a copy."""
        return deepcopy(self._summary)

    @property
    def _summary(self) -> dict[str, Any]:
        """The same, made once; without it a result has a `summary` of its own."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """`summary`, as other libraries call it."""
        return self.summary


def counted(number: int, noun: str, many: str | None = None) -> str:
    """Return a number with its noun: ``1 leaf``, ``7 leaves``."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


# What is said of a statement that the true classes refute.
FALSE = "false of the true classes"


def leaves_in(leaves: int, trees: int) -> str:
    """Return where something is stated: ``1 leaf in 1 tree``, ``35 leaves in 7 trees``."""
    return f"{counted(leaves, 'leaf', 'leaves')} in {counted(trees, 'tree')}"


def _cells(tag: str, cells: Sequence[str]) -> str:
    """Cells of a row; of very many columns the first."""
    shown = [f"<{tag}>{escape(_cut(cell))}</{tag}>" for cell in cells[:COLUMNS]]
    return "".join([*shown, f"<{tag}>...</{tag}>"] if len(cells) > COLUMNS else shown)


def _cut(text: str, width: int = WIDTH) -> str:
    """One line of at most so many characters, none of which does anything to a terminal."""
    line = printable(text[: width + 1])
    return line if len(line) <= width else f"{line[: width - 3]}..."
