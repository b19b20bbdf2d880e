"""Reports on one release, or on several side by side, from results to HTML."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from os import PathLike
from typing import Any

from maxent.disclosure.limits import Verdict
from maxent.html_report.gather import release_view
from maxent.html_report.provenance import provenance
from maxent.html_report.trees import DRAWN
from maxent.html_report.view import Provenance, ReleaseView, ReportView
from maxent.models.files.output import check_outputs, write_text
from maxent.models.files.result_files import REPORT
from maxent.models.text.printable import printable
from maxent.results.solved import Solved


class Gatherer:
    """Gathers releases one by one, so that their estimates need not be kept: ``each`` of `maxent.compare`."""

    def __init__(self, top: int = 10) -> None:
        self.top = top
        self.releases: list[ReleaseView] = []
        self.backends: set[str] = set()

    def __call__(self, result: Solved, row: Mapping[str, Any]) -> None:
        """Add a release: its estimate and its row of a comparison."""
        drawn = sum(len(tree.nodes) for release in self.releases for tree in release.trees)
        self.releases.append(release_view(result, row, self.top, max(DRAWN - drawn, 0)))
        self.backends |= {name for name in result.outcome.backends if name != "presolve"}

    def report(
        self,
        verdict: Verdict,
        provenance: Provenance,
        notes: Sequence[str] = (),
        *,
        interrupted: bool = False,
        title: str = "",
        purpose: str = "",
    ) -> str:
        """The report on what was gathered, as HTML; ``verdict`` is on the same releases.

        ``title`` takes the place of one that names the releases; ``purpose`` is what they are for.
        """
        from maxent.html_report.render import render
        from maxent.html_report.words import shown

        return render(
            ReportView(
                title=shown(title) if title else _title(self.releases),
                purpose=shown(purpose),
                verdict=verdict,
                releases=tuple(self.releases),
                interrupted=interrupted,
                notes=tuple(map(shown, notes)),
                provenance=provenance,
            )
        )


def save_report(
    path: str | PathLike[str],
    gatherer: Gatherer,
    verdict: Verdict,
    call: str,
    notes: Sequence[str] = (),
    *,
    interrupted: bool = False,
    title: str = "",
    purpose: str = "",
) -> None:
    """Write the report on what a call from Python gathered; parameters are those of `Gatherer.report`."""
    stated = {"title": title or None, "purpose": purpose or None, **verdict.limits.as_dict()}
    source = replace(provenance([], stated, (), gatherer.backends), command=call)
    text = gatherer.report(verdict, source, notes, interrupted=interrupted, title=title, purpose=purpose)
    write_text(path, text)


BRIEF = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="generator" content="maxent"><title>{title}</title>
<style>body{{font-family:sans-serif;max-width:60em;margin:2em auto}}pre{{white-space:pre-wrap}}</style>
</head><body><h1>{title}</h1>
<p>{purpose}</p>
<pre>{lines}</pre></body></html>
"""


def save_brief(path: str | PathLike[str], title: str, lines: Sequence[str], purpose: str = "") -> None:
    """Write a short report, of a result that has no estimate to draw: a title and lines, one .html file.

    Raises
    ------
    InvalidInput
        For another suffix, or a place that cannot be written.
    """
    check_report(path)
    shown = "\n".join(escape(printable(line)) for line in lines)
    write_text(path, BRIEF.format(title=escape(printable(title)), purpose=escape(printable(purpose)), lines=shown))


def check_report(path: str | PathLike[str]) -> None:
    """Refuse a place where no report can be written, with an InvalidInput."""
    check_outputs({"report": (os.fspath(path), REPORT)})


def _title(releases: Sequence[ReleaseView]) -> str:
    """The subject of a report."""
    *others, last = (
        f"\N{LEFT DOUBLE QUOTATION MARK}{release.name}\N{RIGHT DOUBLE QUOTATION MARK}" for release in releases
    )
    if not others:
        return f"What {last} discloses"
    return (
        f"What {last} discloses, compared with {others[0]}"
        if len(others) == 1
        else f"{len(releases)} releases compared"
    )
