"""Options of estimates in parts, of more people than memory holds."""

from __future__ import annotations

from typing import Annotated

from maxent.command_line import panels

Memory = Annotated[
    str | None,
    panels.run(
        metavar="SIZE",
        help="Memory of all processes, such as 4GB: people are estimated in parts (docs/scale.md); default with -o "
        "FOLDER/: most of the machine's.",
    ),
]
OutputInParts = Annotated[
    str | None,
    panels.output(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the result, by suffix: .csv, .parquet or .json; or a plot of it: .svg, .png or .pdf; or, to a new "
        "FOLDER/, Parquet files of posteriors as they come (docs/scale.md).",
    ),
]
