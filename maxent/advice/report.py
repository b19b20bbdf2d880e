"""The report on an advice: one HTML file without script, with the frontiers as pictures."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Protocol

from maxent.advice.picture import picture
from maxent.advice.race import CHANCE
from maxent.advice.standing import OUTCOMES
from maxent.advice.text import (
    Advice,
    Row,
    accuracy_words,
    amount,
    cells_of,
    head,
    header,
    limits_line,
    measure,
    number_words,
    told,
)
from maxent.disclosure.limits import NAMES
from maxent.html_report.provenance import provenance
from maxent.models.text.printable import printable

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; }
body { max-width: 72em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; } h2 { font-size: 1.2em; margin-top: 2em; }
table { border-collapse: collapse; width: 100%; font-size: 0.9em; }
th, td { text-align: right; padding: 0.25em 0.6em; border-bottom: 1px solid #ddd; vertical-align: top; }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left; }
tr.best td { font-weight: bold; } tr.limit td, tr.cannot_tell td, tr.same td, tr.failed td { color: #666; }
svg { width: 100%; max-width: 48em; height: auto; font: 12px system-ui, sans-serif; }
svg .axis { stroke: #444; } svg .grid { stroke: #e4e4e4; } svg .stated { stroke: #c8553d; stroke-dasharray: 5 4; }
svg .frontier { fill: none; stroke: #1f5fa8; stroke-width: 1.5; }
svg .within { fill: #1f5fa8; } svg .beyond { fill: none; stroke: #9aa5b1; stroke-width: 1.5; }
svg text.y { text-anchor: end; } svg text.x { text-anchor: middle; }
.summary { border-left: 4px solid #1f5fa8; padding: 0.2em 1em; background: #f5f8fc; }
code { overflow-wrap: anywhere; }
@media print { body { max-width: none; } }
"""


class Told(Advice, Protocol):
    """The reported parts of `maxent.Advice`."""

    @property
    def frontier(self) -> Sequence[Row]: ...
    @property
    def target(self) -> str: ...
    @property
    def qi(self) -> Sequence[str]: ...
    @property
    def seed(self) -> int: ...


def page(advice: Told, title: str = "", purpose: str = "") -> str:
    """The report as HTML; everything that comes from data or a call is escaped."""
    best = "least costly" if advice.cost else "most accurate"
    name = title or f"The {best} release of {advice.target} within limits"
    policy = f"default-src 'none'; style-src '{_hash(STYLE)}'; base-uri 'none'; form-action 'none'"
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="generator" content="maxent">',
        f"<title>{_text(name)}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
        f"<h1>{_text(name)}</h1>",
        *([f"<p>{_text(purpose)}</p>"] if purpose else []),
        f"<p>{_text(head(advice))}.<br>{_text(limits_line(advice.limits))}.</p>",
        f'<div class="summary">{_paragraphs(told(advice))}</div>',
        *_frontiers(advice),
        "<h2>All candidates</h2>",
        _table(header(advice), advice.rows),
        *_method(advice),
        *_source(advice),
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _frontiers(advice: Told) -> Iterator[str]:
    """A picture and a table of each limit."""
    key = measure(advice)
    for each in advice.frontier:
        drawn = picture(each, advice.rows)
        if not drawn:
            continue
        limit = each["limit"]
        yield f"<h2>What the limit on the {NAMES[limit]} costs</h2>"
        yield (
            "<p>Each dot is a candidate that was tested: filled within this limit, hollow beyond it. The line joins "
            "candidates that keep all other limits and that no other beats in both; dashes are the limit.</p>"
        )
        yield drawn
        rows = [
            [point["candidate"], amount(point[key], bool(advice.cost)), number_words(limit, point["found"])]
            for point in each["points"]
        ]
        body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
        yield f"<table><tr><th>candidate</th><th>{key}</th><th>{NAMES[limit]}</th></tr>{body}</table>"


def _table(header: Sequence[str], rows: Sequence[Row]) -> str:
    lines = (
        f'<tr class="{row["outcome"]}">{"".join(f"<td>{_text(c)}</td>" for c in [*cells_of(row), row["why"]])}</tr>'
        for row in rows
    )
    names = "".join(f"<th>{_text(name)}</th>" for name in header)
    return f"<table>\n<tr>{names}</tr>\n" + "\n".join(lines) + "\n</table>"


def _method(advice: Told) -> Iterator[str]:
    """How the best was found, and what the words of the table mean."""
    yield "<h2>How it was found</h2>"
    yield (
        "<p>Each candidate's release about all people was audited: what an adversary who has the columns "
        f"{_text(', '.join(advice.qi))} infers from it. Candidates that break more than one limit were not tested.</p>"
        f"<p>Accuracy is that of {advice.folds} stratified folds (seed {advice.seed}), on people whom "
        f"{'neither counts nor pruning were' if advice.model else 'the tree was not'} made from. "
        "After the first and the second fold a candidate was stopped if the leader was right about so many "
        "more of the same people that chance alone would do that less than once in "
        f"{1 / CHANCE:,.0f} times (sign test). Of candidates that publish the same only the first was tested.</p>"
    )
    if advice.cost:
        yield (
            "<p>Candidates are compared by what the cheapest decisions cost that are made from them, per person "
            "of the folds; instead of the sign test it is the t test of the same people.</p>"
        )
    best = advice.winner
    if best is not None:
        yield f"<p>The best is {_text(accuracy_words(best, advice.model))}.</p>"
    yield "<ul>"
    yield from (f"<li><b>{_text(name)}</b>: {_text(words)}</li>" for name, words in OUTCOMES.items())
    yield "</ul>"


def _source(advice: Told) -> Iterator[str]:
    source = provenance(["advise"], {})
    yield "<h2>Provenance</h2>"
    yield f"<p>{_text(source.created)}. {_text(', '.join(' '.join(each) for each in source.versions))}.</p>"


def _paragraphs(lines: Iterable[str]) -> str:
    return "".join(f"<p>{_text(line)}</p>" for line in lines)


def _text(text: object) -> str:
    return escape(printable(text))


def _hash(text: str) -> str:
    """A style as the policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
