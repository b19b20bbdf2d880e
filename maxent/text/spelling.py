"""Parameters in messages: named as in Python where they arise, as on the command line or in a study where they show."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from maxent.models.errors import ARGUMENT, Problem

_MENTION = re.compile(r"\b([a-z]\w*)=('[^']*'|[\w.]+)?")
"""A parameter in a text, see `maxent.models.errors.ARGUMENT`: ``missing=`` or ``missing='category'``."""

_NAME = re.compile(r"[a-z]\w*")

Spell = Callable[[str, str], str | None]
"""How a parameter and its value, which may be empty, are written; None for what is no parameter."""


def respell(text: str, spell: Spell) -> str:
    """A text with its mentions of parameters, ``missing='category'``, spelled in another way, and no ``None``."""
    text = text.removeprefix("None or ")  # which is to leave an option out
    return _MENTION.sub(lambda found: spell(found[1], (found[2] or "").strip("'")) or found[0], text)


def respelled(problem: Problem, spell: Spell) -> Problem:
    """A problem with all of its parameters spelled in another way; what was found is quoted, and stays."""
    field = problem.field
    if problem.where == ARGUMENT and not field.startswith("-"):
        field = _NAME.sub(lambda name: spell(name[0], "") or name[0], field)
    return replace(problem, field=field, expected=respell(problem.expected, spell))


def on_command_line(names: Mapping[str, str]) -> Spell:
    """The spelling of a command, by the names that `maxent.command_line.parsing.spellings` gives its parameters."""

    def spell(name: str, value: str) -> str | None:
        if name not in names:
            return None
        # A flag takes no value, and is only mentioned where it is to be given.
        return names[name] if value in ("", "True", "False") else f"{names[name]} {value}"

    return spell


def in_study(name: str, value: str) -> str:
    """The spelling of a study file: ``missing = "category"``."""
    return f'{name} = "{value}"' if value else name
