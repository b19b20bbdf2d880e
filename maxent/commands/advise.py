"""``maxent advise``: the most accurate release within limits, of a portfolio of all defenses."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from maxent.api.decision_options import Advising
from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.options import reads_files, stated
from maxent.command_line.parsing import one_or_several, split_names
from maxent.command_line.progress import BEYOND, DONE, UNRELIABLE, Job, progress, seldom, tell, tell_noticed
from maxent.command_line.verdict import AskedVerdict
from maxent.commands.defend import Categorical, Data, KnownColumns, Missing, MissingName, PrivateColumns, Target
from maxent.models.files.output import CANDIDATES, RELEASE, check_outputs
from maxent.results.text.terminal import print_json

# Calls that its help ends with.
EXAMPLES = (
    "maxent advise truth.csv --target Salary --qi Education,Country,Gender --min-k 2 --folds 2 --methods erp "
    "-o best.json",
    "maxent advise truth.csv --target Salary --qi Education --max-posterior 0.9 --folds 2 --methods optimal "
    "--report report.html",
)


def completed_methods(incomplete: str) -> list[str]:
    """Methods of defense that a shell offers."""
    from maxent.models.defenses.registry import method_names

    return opt.completed(incomplete, method_names())


LIMITS = stated(AskedVerdict, without=("max_member", "enforce", "no_marginal"))


@reads_files(releases=False, options=stated(Advising), asked=LIMITS)
def command(
    data: Data,
    target: Target,
    qi: KnownColumns,
    private: PrivateColumns = None,
    categorical: Categorical = None,
    missing: Missing = MissingName.refuse,
    methods: Annotated[
        list[str] | None,
        panels.defended(
            metavar="A,B,...", help="Methods of defense that take part; default: all.", autocompletion=completed_methods
        ),
    ] = None,
    options: Any = None,
    reading: Any = None,
    as_json: opt.Json = False,
    output: Annotated[
        str | None,
        panels.written(RELEASE, names=opt.OUTPUT, help="Write the result: the best release, a .json file."),
    ] = None,
    table: Annotated[
        str | None,
        panels.written(CANDIDATES, help="Write all candidates, by suffix: .csv or .parquet; all results: .json."),
    ] = None,
    asked: Any = None,
    csv_literal: opt.CsvLiteral = False,
) -> Job:
    """Find the most accurate release within limits: candidates of all defenses, audited and cross-validated.

    Exit status 3 when no candidate is known to keep the limits; 1 when it ended early, without one tested on all folds.
    """
    options |= {
        "target": one_or_several(target),
        "qi": split_names("qi", qi),
        "private": split_names("private", private or ()),
        "categorical": split_names("categorical", categorical or ()),
        "missing": missing.value,
        "methods": split_names("methods", methods) if methods else None,
        "reading": reading,
    }
    texts = {name: asked.pop(name) or "" for name in ("title", "purpose")}
    files = {"-o": output, "--table": table, "--report": asked.pop("report")}
    return partial(_run, data, options | asked, files, texts, as_json, csv_literal)


def _run(
    data: str,
    options: dict[str, Any],
    files: dict[str, str | None],
    texts: dict[str, str],
    as_json: bool,
    csv_literal: bool,
) -> int:
    from maxent.advice.advise import advise
    from maxent.advice.result import print_advice
    from maxent.models.files.result_files import POSTERIOR, REPORT
    from maxent.results.defended import TREES

    suffixes = {"-o": TREES, "--table": POSTERIOR, "--report": REPORT}
    read = [data, *(options[name] for name in ("test", "model", "cost"))]
    check_outputs({name: (path, suffixes[name]) for name, path in files.items()}, read)
    with progress() as told:
        found = advise(data, progress=told or seldom(), interruptible=True, **options)
    tell_noticed(found.noticed)
    output, table, report = files.values()
    if output is not None and found.best is not None:
        found.save(output)
    if table is not None:
        found.save_table(table, csv_literal=csv_literal)
    if report is not None:
        found.report(report, **texts)
    if as_json:  # after all files: where one cannot be written, the object on standard output says that
        print_json(found.summary)
    else:
        print_advice(found)
    if found.cut:
        again = f"the same call with --resume {options['resume']} goes on" if options["resume"] else "--resume keeps it"
        tell(f"not all was tried: {found.cut}; {again}")
    if found.best is not None:
        return DONE if found.reliable else UNRELIABLE
    if output is not None:
        tell(f"nothing is written to {output}: no candidate is known to keep the limits")
    return UNRELIABLE if found.cut else BEYOND
