"""The panels of options in the help of a command: their names and their order."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import typer

from maxent.models.files.output import FileKind

REQUIRED = "Required"
FIRST = "Used most"
KNOWN = "What is known"
READ = "How files are read"
GROWN = "How the tree is grown"
DEFENDED = "How it is defended"
MEASURED = "What is measured"
SOLVED = "How it is solved"
RUN = "How it is run"
LIMITS = "Limits"
OUTPUT = "Output"
# All of them, in the order of the help, which begins with `REQUIRED` and `FIRST`. Other options come last.
PANELS = (KNOWN, READ, GROWN, DEFENDED, MEASURED, SOLVED, RUN, LIMITS, OUTPUT)
# The options of the panel "Used most".
MOST = 5

# Options that most people give to a command, by its name; of more than `MOST` the first that it has.
USED_MOST: Mapping[str, tuple[str, ...]] = {
    "advise": ("--min-k", "--max-certain", "--time-limit", "--output", "--report"),
    "audit": ("--risk", "--background", "--min-k", "--json", "--output"),
    "bench": ("--backends", "--repeat", "--truth", "--time-limit", "--output"),
    "bounds": ("--level", "--target", "--time-limit", "--witness", "--output"),
    "check": ("--policy", "--truth", "--record", "--report", "--target"),
    "compare": ("--truth", "--max-certain", "--min-k", "--report", "--output"),
    "convert": ("--target", "--train", "--qi", "--classes", "--features"),
    "defend": ("--k", "--trees", "--max-certain", "--max-depth", "--test", "--private", "--from", "--publish"),
    "estimate": ("--truth", "--max-certain", "--min-k", "--report", "--output"),
    "explain": ("--output", "--latex", "--pyomo", "--nl", "--knowledge"),
    "export": ("--to", "--output", "--table"),
    "predict": ("--output", "--json"),
    "reconstruct": ("--people", "--time-limit", "--proved", "--output", "--json"),
    "strip": ("--json", "--from"),
    "sweep": ("--output", "--jobs", "--dry-run", "--data", "--json"),
    "review": ("--max-certain", "--min-k", "--time-limit", "--report", "--output"),
}

# Options that few people need: only ``--help-all`` shows them.
RARE = frozenset(
    (
        *("--text", "--na", "--max-memory", "--csv-delimiter", "--csv-decimal", "--csv-encoding", "--sheet"),
        *("--rounding", "--confidence", "--noise", "--ties", "--gain", "--top", "--min-size"),
        *("--tolerance", "--no-presolve", "--starts", "--seed", "--floor", "--single-optimum", "--dask"),
        *("--param", "--bins", "--values", "--encoding", "--min-samples-split", "--round-method", "--audits"),
        *("--adversary", "--csv-literal", "--title", "--purpose", "--force", "--rows-unknown", "--sample-weight"),
        *("--dossier", "--dossier-public", "--author", "--organisation"),
        *("--sacro", "--crate", "--crate-in", "--agent", "--provider"),
        *("--max-lift", "--max-member", "--no-marginal", "--published-as"),
    )
)

known = partial(typer.Option, rich_help_panel=KNOWN)
read = partial(typer.Option, rich_help_panel=READ)
grown = partial(typer.Option, rich_help_panel=GROWN)
defended = partial(typer.Option, rich_help_panel=DEFENDED)
measured = partial(typer.Option, rich_help_panel=MEASURED)
solved = partial(typer.Option, rich_help_panel=SOLVED)
run = partial(typer.Option, rich_help_panel=RUN)
limit = partial(typer.Option, rich_help_panel=LIMITS)
output = partial(typer.Option, rich_help_panel=OUTPUT)


def written(*kinds: FileKind, names: tuple[str, ...] = (), **about: Any) -> Any:
    """An option that names a file to write, of some kinds: what else is there is replaced by ``--force`` alone."""
    option = output(*names, **{"metavar": "FILE", **about})
    option.kinds = kinds
    return option
