"""``maxent audit``: the structural attacks on a release."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from maxent.commands import options as opt
from maxent.commands.jobs import DONE, UNRELIABLE, Job, tell


def audit_command(
    tree: opt.Published,
    qi: Annotated[
        str | None,
        typer.Argument(metavar="QI", help="The adversary's table of quasi-identifiers, .csv or .parquet."),
    ] = None,
    min_size: opt.MinSize = 1,
    background: opt.Background = 1,
    facts: opt.Facts = None,
    count: opt.Count = None,
    target: opt.Target = None,
    rounding: opt.Rounding = opt.RoundingMode.auto,
    risk: Annotated[
        bool,
        typer.Option(
            "--risk", help="Measure how much information it takes to re-identify the people of each node, in bits."
        ),
    ] = False,
    as_table: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the release as an anonymised table, a row per leaf, by suffix: .csv, .parquet or .json.",
        ),
    ] = None,
    as_json: opt.Json = False,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write a row per quasi-identifier, without QI per leaf, by suffix: .csv, .parquet or .json.",
        ),
    ] = None,
) -> Job:
    """Find the people whom a release singles out or gives away, without solving for anything.

    QI adds who can be linked to which leaves. --facts and --count need it, and --risk for trees that split numbers.
    """
    options = {
        "min_size": min_size,
        "background": background,
        "facts": facts,
        "count": count,
        "rounding": rounding.value,
        "risk": risk,
        "target": target,
    }
    return partial(_run, tree, qi, options, as_json, {"-o": output, "--as-table": as_table})


def _run(tree: str, qi: str | None, options: dict[str, Any], as_json: bool, outputs: dict[str, str | None]) -> int:
    from maxent.report import POSTERIOR, as_json_text, check_outputs

    check_outputs({name: (path, POSTERIOR) for name, path in outputs.items()}, [tree, qi, options["facts"]])
    from maxent.audit_text import print_audit
    from maxent.auditing import audit_published

    found = audit_published(tree, qi, **options)
    if outputs["-o"] is not None:
        found.save(outputs["-o"])
    if outputs["--as-table"] is not None:
        found.save_table(outputs["--as-table"])
    if as_json:
        print(as_json_text(found.summary))
    else:
        print_audit(found)
    if found.reliable:
        return DONE
    tell("not to be relied on: the release and the table are not about the same people")
    return UNRELIABLE
