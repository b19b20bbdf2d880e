"""A report as one HTML file: no other file, no network, and no script or style but its own."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from maxent.disclosure import limits
from maxent.html_report import summaries, words
from maxent.html_report import tree_layout as drawing
from maxent.html_report.gather import MISLED
from maxent.html_report.overview import overview
from maxent.html_report.packed import packed
from maxent.html_report.view import ReportView

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = "templates"

STATIC_TREES = 3
"""Trees of a release that are drawn for readers without script."""


def render(view: ReportView) -> str:
    """The HTML text of a report.

    Everything that comes from a release or a table is escaped, and a strict policy allows no script, style or address
    but those that are part of the file: names in a release cannot do anything.
    """
    from markupsafe import Markup

    style, script = _asset("report.css"), _asset("report.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            view=view,
            policy=policy,
            style=Markup(style),
            script=Markup(script),
            trees=Markup(packed(view.releases)),
            bars=summaries.bars(view),
            glance=summaries.glance(view),
            prices=tuple(summaries.prices(view)),
            static_trees=STATIC_TREES,
            misled=MISLED,
        )
    )


@cache
def _environment() -> Environment:
    """Templates that escape everything, and fail for what is missing."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("maxent.html_report", TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": words.percent, "nats": words.nats, "people": words.people, "shown": words.shown}
    environment.filters["capital"] = lambda text: text[:1].upper() + text[1:]
    environment.globals |= {
        "draw": drawing.draw,
        "overview": overview,
        "legend": drawing.legend,
        "size": drawing,
        "listed": summaries.listed,
        "plural": words.plural,
        "limit_names": limits.NAMES,
        "check_words": limits.CHECK_WORDS,
    }
    return environment


@cache
def _asset(name: str) -> str:
    """A file of ours that goes into the report."""
    return (resources.files("maxent.html_report") / TEMPLATES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """An inline script or style as the policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
