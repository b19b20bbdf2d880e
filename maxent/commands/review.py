"""``maxent review``: a model before its publication, from its file and its training table."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxent.api.decision_options import TIME, Reviewing
from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.options import reads_files, split_last, stated
from maxent.command_line.parsing import joined_names, one_or_several, split_names
from maxent.command_line.progress import UNRELIABLE, Job, finishing, progress, tell, tell_noticed
from maxent.command_line.verdict import AskedDossier, AskedVerdict, Handed, as_options, named_files
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.files.input_files import is_standard_input
from maxent.models.files.output import RECORD, REVIEW, check_outputs
from maxent.results.text.terminal import print_json

if TYPE_CHECKING:
    from maxent.disclosure.limits import Verdict
    from maxent.results.review import Review

# Calls that its help ends with.
EXAMPLES = (
    "maxent review model.txt truth.csv --target Salary --qi Education,Country,Gender",
    "maxent review model.txt truth.csv --target Salary --qi Education --max-certain 0 --min-k 10 --report report.html",
)


@reads_files(options=stated(Reviewing, time_limit=None), asked=AskedVerdict, handing=Handed, dossiers=AskedDossier)
def command(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL... DATA",
            help="The model, a file or folder of a tool (docs/models.md), statements beside it "
            "(docs/statements.md), and the training table with the classes, .csv or .parquet.",
        ),
    ],
    target: Annotated[str, panels.read(metavar="COLUMN", help="Column of the class, or several: A,B.")],
    qi: Annotated[
        list[str],
        panels.read(metavar="A,B,...", help="Columns that the adversary's table has, too; all others are private."),
    ],
    options: Any = None,
    reading: Any = None,
    record: Annotated[
        str | None,
        panels.written(RECORD, help="Write a record that others can verify: one .json file (docs/policies.md)."),
    ] = None,
    as_json: opt.Json = False,
    output: Annotated[str | None, opt.result(REVIEW)] = None,
    csv_literal: opt.CsvLiteral = False,
    asked: Any = None,
    handing: Any = None,
    dossiers: Any = None,
) -> Job:
    """Convert a model, attack it, estimate what it discloses, and judge it.

    Without --time-limit, compiling and solving take at most 120 seconds.
    """
    options = {"target": one_or_several(target), "qi": split_names("qi", qi), **options}
    options |= {"no_marginal": asked.no_marginal, "reading": reading}
    from maxent.models.formats.sacro_ml import is_target, table_in

    if is_target(files[-1]):  # the table lies in it
        files = [*files, table_in(files[-1], split_names("target", [target]))]
    models, data = split_last(files, "MODEL... DATA")
    return partial(_run, models, data, options, as_json, output, asked, csv_literal, (handing, dossiers, record))


def _run(
    models: list[str],
    data: str,
    options: dict[str, Any],
    as_json: bool,
    output: str | None,
    asked: AskedVerdict,
    csv_literal: bool,
    writing: tuple[Handed, AskedDossier, str | None],
) -> int:
    handing, dossiers, record = writing
    from maxent.models.files.result_files import POSTERIOR
    from maxent.models.files.result_files import REPORT as REPORTS

    columns = len(options["target"]) if isinstance(options["target"], list) else 1
    if record is not None and any(map(is_standard_input, [*models, data])):
        expected = "files alone, as it has their hashes"
        raise InvalidInput("options", [Problem(ARGUMENT, "record", expected, "standard input")])
    reports = named_files({"--report": asked.report}, columns) | dossiers.files(columns, numbers=record is None)
    outputs = {"-o": (output, POSTERIOR), **{option: (path, REPORTS) for option, path in reports.items()}}
    outputs |= {option: (path, (".json",)) for option, path in named_files({"--record": record}, columns).items()}
    check_outputs(outputs, [*models, data, *opt.inputs(options)])
    handing.check({name: path for name, (path, _) in outputs.items()}, [*models, data, *opt.inputs(options)])
    limits = asked.limits()
    asked.check_texts(dossiers.asked, record)
    from maxent.api.review import review
    from maxent.commands.convert import read_parameters
    from maxent.results import review as results
    from maxent.results.review import CUT, SeveralReviews, print_review, print_several
    from maxent.solvers.control import hearing

    shown = {
        **opt.beyond_defaults(Reviewing, options),
        "param": options["parameters"],
        "parameters": None,
        "reading": None,
    }
    shown |= as_options(options["reading"])
    shown = {name: joined_names(value) if isinstance(value, list) else value for name, value in shown.items()}
    numeric = [f"{name}={options.pop(name)}" for name in ("bins", "values") if options[name] is not None]
    options["parameters"] = read_parameters([*(options["parameters"] or []), *numeric])
    options["time_limit"] = options["time_limit"] or TIME
    with progress() as told, hearing(_tell_ahead):
        found = review(
            models if len(models) > 1 else models[0],
            data,
            **{**options, **limits.as_dict()},
            interruptible=True,
            progress=told,
            early=_tell_early,
            first=partial(_tell_first, time.monotonic()),
        )
    reviews = found.reviews if isinstance(found, SeveralReviews) else {"": found}
    read = next(iter(reviews.values())).asked.inputs
    call = results.Asked(["review", *models, data], {**shown, **limits.as_dict()}, read)

    def put(**changed: Any) -> SeveralReviews | Review:
        each = {name: replace(review, **changed) for name, review in reviews.items()}
        return replace(found, reviews=each) if isinstance(found, SeveralReviews) else each[""]

    found = put(asked=call)
    with finishing("interrupted" if any(each.interrupted for each in reviews.values()) else "") as clock:
        tell_noticed(found.noticed)
        verdict = found.verdict()
        if asked.report is not None and found.solved:
            found.report(asked.report, **asked.texts)
        if output is not None:
            found.save(output, csv_literal=csv_literal)
        if found.solved:
            dossiers.write(found, asked.texts, numbers=record is None)
        if clock.stop() is not None:
            found = put(asked=call, unsolved=CUT)
        if record is not None:
            written = {"report": asked.report, **dossiers.by_role} if found.solved else {}
            found.record(record, **asked.texts, written=written)
        handing.write(found)
        _tell_refined(reviews.values())
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
    unfinished = all(each.reliable or each.unfinished for each in reviews.values())
    if unfinished and verdict.status == "fail":
        tell("the verdict stands without the estimate")
    return status if asked.enforce and unfinished else UNRELIABLE


def _tell_early(verdict: Verdict) -> None:
    """Say a verdict that no estimate changes, before there is one."""
    from maxent.disclosure.limits import STATUS_WORDS, in_words

    broken = [check for judged in verdict.releases for check in judged.checks if check.status == "fail"]
    tell(f"verdict: {STATUS_WORDS['fail']}, whatever the estimate adds: {'; '.join(map(in_words, broken))}")


def _tell_first(begin: float, found: Review) -> None:
    """Say the first answer, before it is refined."""
    from maxent.disclosure.limits import STATUS_WORDS

    shown = found.first
    told = [f"verdict {STATUS_WORDS[shown['verdict']]}"] if found.limits.stated else []
    told.append(f"{shown['certain']:,} people certain by the estimate")
    told.append("private splits left out" if shown["weaker"] else f"status {shown['status']}")
    seconds = time.monotonic() - begin
    tell(f"first answer after {seconds:.1f} s: {'; '.join(told)}; Ctrl-C ends what may still be proved of it")


def _tell_refined(reviews: Iterable[Review]) -> None:
    """Say what came out otherwise than in the first answer."""
    for found in reviews:
        changes = [f"{each['what']} {each['first']} -> {each['now']}" for each in found.refined]
        if changes:
            tell(f"refined: {'; '.join(changes)}")


def _tell_ahead(text: str) -> None:
    """Say early that solving takes long."""
    tell(f"note: {text}; --time-limit SECONDS (120 by default) gives the best answer by then")
