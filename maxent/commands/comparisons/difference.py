"""``maxent compare --diff``: what two successive releases tell of those who joined, left or stayed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from maxent.command_line.progress import DONE, UNRELIABLE, progress, tell, tell_noticed
from maxent.command_line.release_files import TREES_AND_QI, is_table, split_files

DEFAULTS = {"min_size": 1, "background": 1, "top": 10}
"""Options of a comparison that say nothing where they have these values."""


def difference(
    files: list[str],
    named: list[str],
    options: dict[str, Any],
    apart: dict[str, Any],
    as_json: bool,
    output: str | None,
    csv_literal: bool,
) -> int:
    """Compare two successive releases, and print and write what their difference tells.

    Parameters
    ----------
    files : list of str
        The releases, and after them their tables, but those that are ``named``.
    named : list of str
        Tables that are given with ``--qi``, the first ones.
    options : dict
        Parameters of `maxent.compare_releases`.
    apart : dict
        Options of a comparison side by side, which are refused.
    as_json, output, csv_literal
        As for all commands.
    """
    from maxent.models.errors import ARGUMENT, check_unused, invalid
    from maxent.models.files.output import check_outputs
    from maxent.models.files.result_files import POSTERIOR

    asked = apart.pop("limits")
    given = {name: value for name, value in apart.items() if value != DEFAULTS.get(name)}
    stated = {each.name: getattr(asked, each.name) for each in fields(asked) if getattr(asked, each.name) is not False}
    check_unused("releases side by side, without diff=", **given, **stated)
    trees, tables = _split(files, named)
    check_outputs({"-o": (output, POSTERIOR)}, [*trees, *tables, options["facts"], options["marginal"]])
    if len(trees) != 2:
        expected = "two releases and their tables: maxent compare --diff old.json new.json old.csv new.csv"
        raise invalid("command line", ARGUMENT, TREES_AND_QI, expected, _counted(trees, tables))
    from maxent.api.comparisons.successive import compare_releases
    from maxent.successive.text import print_successive
    from maxent.text.terminal import print_json

    level = options.pop("level")
    with progress() as told:
        found = compare_releases(
            trees, tables, level="auto" if level is None else level.value, progress=told, interruptible=True, **options
        )
    tell_noticed(found.estimate.noticed)
    if output is not None:
        found.save(output, csv_literal=csv_literal)
    if as_json:
        print_json(found.summary)
    else:
        print_successive(found)
    if found.reliable:
        return DONE
    tell(f"not to be relied on: bounds {found.proof.status}, estimate {found.estimate.outcome.status}")
    return UNRELIABLE


def _split(files: list[str], named: list[str]) -> tuple[list[str], list[str]]:
    """The releases and the tables, those first that ``--qi`` names."""
    if not named:
        return split_files(files)
    return [file for file in files if not is_table(file)], [*named, *filter(is_table, files)]


def _counted(trees: list[str], tables: list[str]) -> str:
    """Numbers of releases and tables in words."""
    from maxent.models.text.display import counted

    return f"{counted(len(trees), 'release')} and {counted(len(tables), 'table')}"
