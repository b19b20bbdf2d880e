r"""Formulas for the site: ``$...$`` and ``$$...$$`` become MathML, which browsers show without a script."""

import re
from typing import Any

from latex2mathml.converter import convert

_SKIPPED = r"(?P<code>^```.*?^```$|``.+?``|`[^`\n]+`)"
_DISPLAY = r"\$\$(?P<display>.+?)\$\$"
_INLINE = r"(?<![\\$\w])\$(?P<inline>[^\s$](?:[^$\n]*[^\s$\\])?)\$(?![\w$])"
_FORMULA = re.compile(f"{_SKIPPED}|{_DISPLAY}|{_INLINE}", re.DOTALL | re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the formulas of a page, but for what is code."""
    return _FORMULA.sub(_mathml, markdown)


def _mathml(match: re.Match[str]) -> str:
    """One formula as MathML, on one line, so that Markdown leaves it alone."""
    if match["code"] is not None:
        return match[0]
    display = match["display"] is not None
    formula = convert(match["display"] or match["inline"], display="block" if display else "inline")
    return formula.replace("\n", " ")
