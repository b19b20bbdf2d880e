"""The panels that the help of a command groups its options in: what each is called, and in which order they come."""

from __future__ import annotations

from functools import partial

import typer

KNOWN = "What is known"
READ = "How files are read"
GROWN = "How the tree is grown"
DEFENDED = "How it is defended"
MEASURED = "What is measured"
SOLVED = "How it is solved"
RUN = "How it is run"
LIMITS = "Limits"
OUTPUT = "Output"

PANELS = (KNOWN, READ, GROWN, DEFENDED, MEASURED, SOLVED, RUN, LIMITS, OUTPUT)
"""All of them, in the order of the help. An option that names none of them comes last."""

known = partial(typer.Option, rich_help_panel=KNOWN)
read = partial(typer.Option, rich_help_panel=READ)
grown = partial(typer.Option, rich_help_panel=GROWN)
defended = partial(typer.Option, rich_help_panel=DEFENDED)
measured = partial(typer.Option, rich_help_panel=MEASURED)
solved = partial(typer.Option, rich_help_panel=SOLVED)
run = partial(typer.Option, rich_help_panel=RUN)
limit = partial(typer.Option, rich_help_panel=LIMITS)
output = partial(typer.Option, rich_help_panel=OUTPUT)
