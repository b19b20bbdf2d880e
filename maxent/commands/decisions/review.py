"""``maxent review``: a model before its publication, from its file and its training table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.parsing import one_or_several, split_names
from maxent.command_line.progress import UNRELIABLE, Job, finishing, progress, tell, tell_noticed
from maxent.command_line.reading_options import reads_files
from maxent.command_line.verdict import Asked, asked
from maxent.models.files.kinds import REVIEW

if TYPE_CHECKING:
    from maxent.disclosure.limits import Verdict

EXAMPLES = (
    "maxent review model.txt truth.csv --target Salary --qi Education,Country,Gender",
    "maxent review model.txt truth.csv --target Salary --qi Education --max-certain 0 --min-k 10 --report report.html",
)
"""Calls that its help ends with."""


Control = Annotated[
    str | None,
    panels.measured(
        metavar="FILE",
        help="People who were not in the data, with their classes: adds how much better those of DATA are guessed.",
    ),
]


@reads_files(problem=opt.knowing, solving=opt.solving, asked=asked)
def command(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="The model, a file or a folder that a tool wrote (docs/models.md)."),
    ],
    data: Annotated[str, typer.Argument(metavar="DATA", help="The training table with the classes, .csv or .parquet.")],
    target: Annotated[str, panels.read(metavar="COLUMN", help="Column of the class, or several: A,B.")],
    qi: Annotated[
        list[str],
        panels.read(metavar="A,B,...", help="Columns that the adversary's table has, too; all others are private."),
    ],
    classes: Annotated[
        list[str] | None,
        panels.read(metavar="A,B,...", help="Names of the classes, in the order in which the model has them."),
    ] = None,
    features: Annotated[
        list[str] | None,
        panels.read(metavar="A,B,...", help="Names of the columns of the model's input, in its order."),
    ] = None,
    bins: Annotated[
        str | None, panels.read(metavar="0,20,50", help="Edges of intervals of the target of a regression.")
    ] = None,
    values: Annotated[
        str | None, panels.read(metavar="0,1,2", help="Every number that the target of a regression can be.")
    ] = None,
    parameters: Annotated[
        list[str] | None,
        panels.read(
            "--param",
            metavar="NAME=VALUE",
            help="Further parameters that the file lacks, such as base_score=0.5 (docs/models.md).",
        ),
    ] = None,
    weights: Annotated[
        str | None,
        panels.read(
            "--sample-weight",
            metavar="COLUMN",
            help="Column of the weights that people had in training, if any.",
        ),
    ] = None,
    control: Control = None,
    sensitive: opt.Sensitive = None,
    gain: opt.Gain = None,
    problem: Any = None,
    backend: opt.Backend = "auto",
    solving: Any = None,
    top: opt.Top = 10,
    reading: Any = None,
    as_json: opt.Json = False,
    output: Annotated[str | None, opt.result(REVIEW)] = None,
    csv_literal: opt.CsvLiteral = False,
    asked: Any = None,
) -> Job:
    """Convert a model, attack it, estimate what it discloses, and judge it.

    Without --time-limit, compiling and solving take at most 120 seconds.
    """
    wanted = {
        "target": one_or_several("target", [target]),
        "classes": split_names("classes", classes) if classes else None,
        "features": split_names("features", features) if features else None,
        "qi": split_names("qi", qi),
        "bins": bins,
        "values": values,
        "sample_weight": weights,
        "param": parameters or [],
    }
    evidence = {"control": control, "sensitive": sensitive, "gain": gain}
    options = {**problem, **evidence, "backend": backend, **solving, "top": top, "reading": reading}
    options["no_marginal"] = asked.no_marginal
    return partial(_run, model, data, wanted, options, as_json, output, asked, csv_literal)


def _run(
    model: str,
    data: str,
    wanted: dict[str, Any],
    options: dict[str, Any],
    as_json: bool,
    output: str | None,
    asked: Asked,
    csv_literal: bool,
) -> int:
    from maxent.models.files.output import check_outputs
    from maxent.models.files.result_files import POSTERIOR
    from maxent.models.files.result_files import REPORT as REPORTS
    from maxent.results.several import report_names

    several = isinstance(wanted["target"], list)
    reports = {"--report": asked.report}
    if several and asked.report is not None:
        names = report_names(asked.report, len(wanted["target"]))
        reports = {f"--report ({i})": name for i, name in enumerate(names, 1)}
    outputs = {"-o": (output, POSTERIOR), **{option: (path, REPORTS) for option, path in reports.items()}}
    check_outputs(outputs, [model, data, *opt.inputs(options)])
    limits = asked.limits()
    from maxent.api.adversary.estimate import Solving
    from maxent.api.case import taken
    from maxent.api.compile import Knowledge
    from maxent.api.decisions.review import TIME
    from maxent.api.decisions.reviewing import noise_of, review_subject
    from maxent.api.decisions.several import review_several
    from maxent.api.decisions.subjects import subject_of, subjects_of
    from maxent.command_line.verdict import as_options
    from maxent.commands.releases.convert import read_parameters
    from maxent.html_report.provenance import read_inputs
    from maxent.results import review as results
    from maxent.results.several import SeveralReviews
    from maxent.solvers.clock import hearing
    from maxent.text.review import print_review, print_several
    from maxent.text.terminal import print_json

    solving = taken(Solving, {**options, "time_limit": options["time_limit"] or TIME})
    inputs = (
        read_inputs([("model", model), ("table", data), *opt.named_inputs(options)]) if asked.report is not None else ()
    )
    numeric = [f"{name}={wanted[name]}" for name in ("bins", "values") if wanted[name] is not None]
    said = {name: wanted[name] for name in ("target", "classes", "features", "qi")}
    said["parameters"] = read_parameters([*wanted["param"], *numeric])
    if several:
        subjects = subjects_of(model, data, None, said["target"], said, options["reading"])
    else:
        subjects = (subject_of(model, data, None, said, options["reading"]),)
    evidence = {name: options[name] for name in ("control", "sensitive", "gain")}
    weighed = (wanted["sample_weight"], data, options["reading"])
    subjects = tuple(subject.beside(**evidence).weighed(*weighed) for subject in subjects)
    options["noise"] = options["noise"] or noise_of(subjects[0].converted.release)
    known = taken(Knowledge, options)
    shown = {name: value for name, value in wanted.items() if value} | {**options, "reading": None}
    shown = {name: ",".join(value) if isinstance(value, list) else value for name, value in shown.items()}
    call = results.Asked(["review", model, data], shown | as_options(options["reading"]), inputs)
    with progress() as told, hearing(_tell_ahead):
        how = (known, solving, limits, call, True, told, _tell_early)
        found = review_subject(subjects[0], *how) if len(subjects) == 1 else review_several(subjects, *how)
    reviews = found.reviews.values() if isinstance(found, SeveralReviews) else [found]
    with finishing("interrupted" if any(review.interrupted for review in reviews) else ""):
        tell_noticed(found.noticed)
        verdict = found.verdict()
        if asked.report is not None and found.solved:
            found.report(asked.report, **asked.texts)
        if output is not None:
            found.save(output, csv_literal=csv_literal)
        if as_json:  # after all files: where one cannot be written, the object on standard output says that
            print_json(found.summary)
        elif isinstance(found, SeveralReviews):
            print_several(found)
        else:
            print_review(found)
    if asked.report is not None and not found.solved:
        tell("no report is written: there is no estimate")
    status = asked.status(verdict)
    if found.reliable:
        return status
    tell(found.trouble)
    unfinished = all(review.reliable or review.unfinished for review in reviews)
    if unfinished and verdict.status == "fail":
        tell("the verdict stands without the estimate")
    return status if asked.enforce and unfinished else UNRELIABLE


def _tell_early(verdict: Verdict) -> None:
    """Say a verdict that no estimate changes, before there is one."""
    from maxent.disclosure.limits import STATUS_WORDS, in_words

    broken = [check for judged in verdict.releases for check in judged.checks if check.status == "fail"]
    tell(f"verdict: {STATUS_WORDS['fail']}, whatever the estimate adds: {'; '.join(map(in_words, broken))}")


def _tell_ahead(text: str) -> None:
    """Say early that solving takes long."""
    tell(f"note: {text}; --time-limit SECONDS (120 by default) gives the best answer by then")
