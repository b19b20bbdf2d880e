"""``maxent estimate``: the inference of an adversary about each person."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from maxent.api.options import Estimating
from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.options import FilesPerhapsOfPeople, named, reads_files, split_files, stated
from maxent.command_line.progress import UNRELIABLE, Job, finishing, progress, tell, tell_noticed
from maxent.command_line.verdict import AskedVerdict, ReportFile
from maxent.models.errors import check_unused
from maxent.models.files.output import check_outputs
from maxent.results.reliability import not_reliable
from maxent.results.text.terminal import print_json, print_lines

if TYPE_CHECKING:
    from maxent.disclosure.limits import Limits, Mend, Reached, Verdict
    from maxent.results.estimate import Estimate
    from maxent.results.solved import Drawing
    from maxent.solvers.control import Clock

# Calls that its help ends with.
EXAMPLES = (
    "maxent estimate tree.json qi.csv",
    "maxent estimate tree.json qi.csv --truth truth.csv --max-certain 0 --report report.html",
)


class EstimatePlot(StrEnum):
    """Choices of ``estimate --plot``."""

    leaves = "leaves"
    posterior = "posterior"
    divergence = "divergence"


@reads_files(options=stated(Estimating), asked=AskedVerdict)
def command(
    qi: FilesPerhapsOfPeople,
    options: Any = None,
    bounds: Annotated[
        bool,
        panels.solved(
            "--bounds", help="Proof of what is certain over all data consistent with the release (docs/bounds.md)."
        ),
    ] = False,
    level: opt.Level = None,
    reading: Any = None,
    as_json: opt.Json = False,
    output: opt.OutputInParts = None,
    csv_literal: opt.CsvLiteral = False,
    plot: Annotated[
        EstimatePlot | None, panels.output(help="Plot that -o draws; default: leaves. divergence needs --truth.")
    ] = None,
    asked: Any = None,
) -> Job:
    """Estimate P(class | quasi-identifier) as an adversary would, and measure the disclosure."""
    options |= {"no_marginal": asked.no_marginal, "reading": reading, "bounds": _level(bounds, level)}
    if opt.in_parts(output, options["memory"]):
        refused = {"plot": plot, "csv_literal": csv_literal, "bounds": bounds, "report": asked.report}
        expected = "none with memory= or -o FOLDER/, where people are in parts"
        from maxent.models.errors import ARGUMENT, InvalidInput, Problem

        if problems := [Problem(ARGUMENT, name, expected, str(value)) for name, value in refused.items() if value]:
            raise InvalidInput("options", problems)
        return partial(_in_parts, qi, options, as_json, output, asked)
    return partial(_run, qi, options, as_json, output, plot and plot.value, asked, csv_literal)


def _in_parts(files: list[str], options: dict[str, Any], as_json: bool, output: str | None, asked: AskedVerdict) -> int:
    """The same leaf by leaf, posteriors in files of a folder."""
    options["folder"] = opt.folder_of(output, [*files, *opt.inputs(options)])
    return _run(files, options, as_json, None, None, asked)


def _run(
    files: list[str],
    options: dict[str, Any],
    as_json: bool,
    output: str | None,
    plot: str | None,
    asked: AskedVerdict,
    csv_literal: bool = False,
) -> int:
    trees, tables = split_files(files, needed=options["population"] is None)
    from maxent.models.files.result_files import PLOTS, POSTERIOR, REPORT

    outputs = {"-o": (output, (*POSTERIOR, *PLOTS)), "--report": (asked.report, REPORT)}
    check_outputs(outputs, [*files, *opt.inputs(options)])
    limits = asked.limits()
    asked.check_texts()
    if options["population"] is not None:
        return _of_register(trees, tables, options, as_json, output, plot, asked, csv_literal)
    kind = _chosen_plot(plot, output, truth=options["truth"] is not None)
    from maxent.disclosure.limits import Verdict, judge_informed
    from maxent.results.text.estimate import print_estimate

    report = ReportFile(asked, Estimating, "estimate", trees, tables, options)
    from maxent.api.posterior import estimate
    from maxent.solvers.control import hearing

    with progress() as told, hearing(tell_ahead):
        result = estimate(trees, tables, **options, progress=told, interruptible=True)
    with finishing("interrupted" if result.interrupted else result.outcome.status) as clock:
        tell_noticed(result.noticed)
        verdict = Verdict(limits, ())
        if limits.stated or asked.report is not None:
            row, drawing = _row(result, trees), _in_time(result.drawing, clock)
            mended = _unless_interrupted(result.mended, clock)
            verdict = judge_informed(limits, [row], [result.judged_row]).reached([drawing]).mended([mended])
            if report.each is not None:
                report.each(result, row)
        if kind is not None and output is not None:
            from maxent.plotting.figures import save_estimate_plot

            save_estimate_plot(result, output, kind)
        elif output is not None:
            result.save(output, csv_literal=csv_literal)
        if asked.report is not None:
            report.write(verdict)
        if as_json:  # after all files: where one cannot be written, the object on standard output says that
            print_json({**result.summary, **verdict.summary})
        else:
            print_estimate(result)
            print_lines(verdict.lines())
    return _status(result, verdict, asked)


def _of_register(
    trees: list[str],
    tables: list[str],
    options: dict[str, Any],
    as_json: bool,
    output: str | None,
    plot: str | None,
    asked: AskedVerdict,
    csv_literal: bool,
) -> int:
    """Estimate who in a register is in the data; there is no plot of that."""
    from maxent.api.posterior import estimate
    from maxent.solvers.control import hearing

    table = "the people in the data, and this is a register (population=): maxent review has both"
    check_unused(table, plot=plot)
    with progress() as told, hearing(tell_ahead):
        result: Any = estimate(trees, tables or None, **options, progress=told, interruptible=True)
    from maxent.disclosure.limits import judge_rows
    from maxent.results.population import print_population

    with finishing(result.outcome.status):
        tell_noticed(result.noticed)
        verdict = judge_rows(asked.limits(), [{**result.numbers, "release": named(trees)}])
        if output is not None:
            result.save(output, csv_literal=csv_literal)
        if asked.report is not None:
            from maxent.results.html_report.view import save_brief

            lines = [*verdict.lines(), *result.reported]
            save_brief(asked.report, asked.title or result.titled, lines, asked.purpose or "")
        if as_json:
            print_json({**result.summary, **verdict.summary})
        else:
            print_population(result)
            print_lines(verdict.lines())
    return _status(result, verdict, asked)


def _row(result: Estimate, trees: list[str]) -> dict[str, Any]:
    """The row of an estimate for limits and the report, with what attacks find."""
    from maxent.results.solved import described

    release = {"release": named(trees), "defense": described(result.program.release)}
    return {**release, **result.numbers, **release}


def _status(result: Estimate, verdict: Verdict, asked: AskedVerdict) -> int:
    """The exit status of an estimate and its verdict."""
    status = asked.status(verdict)
    if result.reliable:
        return status
    tell(not_reliable(result.outcome.status))
    return UNRELIABLE


def _unless_interrupted(search: Callable[[Limits], Mend] | None, clock: Clock) -> Callable[[Limits], Mend] | None:
    """The search for what would pass, which ends when somebody does not wait for it."""
    if search is None:
        return None
    from maxent.disclosure.limits import Mend
    from maxent.solvers.control import in_time

    return lambda limits: in_time(clock, lambda: search(limits)) or Mend("the search for a subtree was interrupted")


def _in_time(drawing: Drawing | None, clock: Clock) -> Callable[[], tuple[Reached, Reached]] | None:
    """How far somebody comes who computes draws, which ends when somebody does not wait for it."""
    if drawing is None:
        return None
    from maxent.disclosure.limits import UNTRIED
    from maxent.solvers.control import in_time

    return lambda: in_time(clock, drawing) or (UNTRIED, UNTRIED)


def _level(bounds: bool, level: opt.LevelName | None) -> str | None:
    """The last level of proof, None for no proof; one without a proof is refused."""
    if level is not None and not bounds:
        from maxent.models.errors import ARGUMENT, invalid

        raise invalid("options", ARGUMENT, "level", "none without bounds=, which it is about", level.value)
    return (level or opt.LevelName.auto).value if bounds else None


def tell_ahead(text: str) -> None:
    """Say early that solving takes long, and what ends it sooner."""
    tell(f"note: {text}; --time-limit SECONDS gives the best answer by then")


def _chosen_plot(plot: str | None, output: str | None, *, truth: bool) -> str | None:
    """The plot that is asked for, None for none; one that cannot be drawn is refused."""
    if plot is None and output is None:
        return None
    from maxent.plotting.figures import KINDS, check_estimate_plot, chosen_plot

    kind = chosen_plot(plot, output, KINDS[0])
    if kind is not None:
        check_estimate_plot(kind, truth=truth)
    return kind
