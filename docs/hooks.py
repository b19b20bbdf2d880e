r"""Formulas, options and parameters for the site.

``$...$`` and ``$$...$$`` become MathML, which browsers show without a script. ``<!-- options -->`` becomes a table of
the options of each command. Functions whose parameters a dataclass states have these, and their help.
"""

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from typing import Any

import griffe
from latex2mathml.converter import convert
from typer.main import get_command

from maxent.command_line.parsing import by_panel
from maxent.commands.main import app
from maxent.models.arguments import entries, parameters_of

_SKIPPED = r"(?P<code>^```.*?^```$|``.+?``|`[^`\n]+`)"
_DISPLAY = r"\$\$(?P<display>.+?)\$\$"
_INLINE = r"(?<![\\$\w])\$(?P<inline>[^\s$](?:[^$\n]*[^\s$\\])?)\$(?![\w$])"
_FORMULA = re.compile(f"{_SKIPPED}|{_DISPLAY}|{_INLINE}", re.DOTALL | re.MULTILINE)
OPTIONS = "<!-- options -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """A page with its formulas, except in code, and its options replaced."""
    if OPTIONS in markdown:
        markdown = markdown.replace(OPTIONS, "\n".join(_options("maxent", get_command(app))))
    return _FORMULA.sub(_mathml, markdown)


def _mathml(match: re.Match[str]) -> str:
    """One formula as MathML, on one line, so that Markdown leaves it alone."""
    if match["code"] is not None:
        return match[0]
    display = match["display"] is not None
    formula = convert(match["display"] or match["inline"], display="block" if display else "inline")
    formula = formula.replace("\n", " ")
    return formula if display else f"<span>{formula}</span>"  # at the start of a line <math> alone would be a block


def _options(name: str, command: Any) -> Iterator[str]:
    """The lines of a command and of those below it: usage, then a table for each panel of its help."""
    context = command.context_class(command, info_name=name, terminal_width=10_000)
    if hasattr(command, "list_commands"):
        for below in command.list_commands(context):
            yield from _options(f"{name} {below}", command.get_command(context, below))
        return
    called = command.get_usage(context).split(":", 1)[1].strip()
    yield from ("", f"## {name}", "", _plain(command.help), "", f"    {called}")
    for panel, records in by_panel(command.get_params(context), context).items():
        if records:
            yield from ("", f"| {panel} | |", "| --- | --- |")
            yield from (f"| `{spelled.strip()}` | {_plain(text)} |" for spelled, text in records)


def _plain(text: str) -> str:
    """Text of a help, on one line, whose signs mean nothing to Markdown."""
    return re.sub(r"([\\`*_<|])", r"\\\1", " ".join(text.split()))


class Calls(griffe.Extension):
    """Functions as `maxent.api.calling.takes` makes them, estimators, and dataclasses of parameters.

    What reads the source alone does not see their parameters, which are stated elsewhere.
    """

    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        of_parameters = any(str(each.value).startswith("dataclass") for each in cls.decorators)
        estimator = cls.module.path.endswith("defenses.estimators")
        if cls.docstring is None or not (of_parameters or estimator):
            return
        found = getattr(import_module(cls.module.path), cls.name)
        text = inspect.getdoc(found) or ""
        kinds = (
            {each.name: str(each.type) for each in fields(found) if "about" in each.metadata} if of_parameters else {}
        )
        if kinds:
            known = parameters_of(found)
            told = [(name, kind, known[name].about.doc or known[name].about.help) for name, kind in kinds.items()]
            text = f"{text}\n\nParameters\n----------\n{entries(told)}"
        cls.docstring = griffe.Docstring(text, parent=cls)

    def on_function_instance(self, *, func: griffe.Function, **_: Any) -> None:
        if not any(str(each.value).startswith("takes") for each in func.decorators):
            return
        found = getattr(import_module(func.module.path), func.name)
        func.docstring = griffe.Docstring(inspect.getdoc(found) or "", parent=func)
        func.parameters = griffe.Parameters(
            *(
                griffe.Parameter(
                    each.name,
                    annotation=str(each.annotation),
                    kind=griffe.ParameterKind(each.kind.description),
                    default=None if each.default is each.empty else repr(each.default),
                )
                for each in inspect.signature(found).parameters.values()
            )
        )
