"""``maxent predict``: the class that a release predicts for each row of a table."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from maxent.command_line import options as opt
from maxent.command_line.options import reads_files
from maxent.command_line.progress import DONE, Job, tell_noticed
from maxent.models.files.output import PREDICTIONS, check_outputs
from maxent.results.text.terminal import print_json, print_lines

# Calls that its help ends with.
EXAMPLES = (
    "maxent predict tree.json qi.csv",
    "maxent predict tree.json truth.csv -o predicted.csv",
)


@reads_files()
def command(
    tree: opt.Tree,
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="The records, a row for each, .csv or .parquet; - is standard input.")
    ],
    reading: Any = None,
    as_json: opt.Json = False,
    output: Annotated[str | None, opt.result(PREDICTIONS)] = None,
    csv_literal: opt.CsvLiteral = False,
) -> Job:
    """Predict the class of each row of a table, with probabilities where the release states them, and the leaf."""
    return partial(_run, tree, data, reading, as_json, output, csv_literal)


def _run(tree: str, data: str, reading: Any, as_json: bool, output: str | None, csv_literal: bool) -> int:
    from maxent.models.files.result_files import POSTERIOR, save_frame

    check_outputs({"-o": (output, POSTERIOR)}, [tree, data])
    from maxent.api.predict import predict
    from maxent.models.files.result_files import guarded_frame

    found = predict(tree, data, reading=reading)
    tell_noticed(found.noticed)
    summary = {**found.summary, "notes": list(found.noticed.notes), **found.noticed.summary}
    if output is not None:
        save_frame(output, found.frame, lambda rows: {**summary, "rows": rows}, PREDICTIONS, csv_literal=csv_literal)
    if as_json:
        print_json(summary)
    elif output is None:
        rows = found.frame if csv_literal else guarded_frame(found.frame)
        print_lines(rows.to_csv(index=False, lineterminator="\n").splitlines())
    else:
        counts = ", ".join(f"{label}: {number}" for label, number in found.summary["predicted"].items())
        lost = found.summary["without_leaf"]
        print_lines([f"{found.summary['rows']} rows; predicted {counts}"])
        if lost:
            print_lines([f"{lost} rows end in no leaf, and are predicted by what the leaves nearby say"])
    return DONE
