"""``maxent estimate``: what an adversary infers about each person."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line import part_options as parts
from maxent.command_line.progress import UNRELIABLE, Job, finishing, progress, tell, tell_noticed
from maxent.command_line.reading_options import reads_files
from maxent.command_line.release_files import Files, Who, named, split_files
from maxent.command_line.verdict import Asked, ReportFile, asked
from maxent.results.reliability import not_reliable

if TYPE_CHECKING:
    from maxent.disclosure.limits import Limits
    from maxent.disclosure.mend import Mend
    from maxent.results.estimate import Estimate
    from maxent.solvers.clock import Clock

EXAMPLES = (
    "maxent estimate tree.json qi.csv",
    "maxent estimate tree.json qi.csv --truth truth.csv --max-certain 0 --report report.html",
)
"""Calls that its help ends with."""


class EstimatePlot(StrEnum):
    """Choices of ``estimate --plot``."""

    leaves = "leaves"
    posterior = "posterior"
    divergence = "divergence"


@reads_files(problem=opt.problem, solving=opt.solving, evidence=opt.evidence, asked=asked)
def command(
    qi: Files,
    truth: opt.Truth = None,
    evidence: Any = None,
    problem: Any = None,
    target: opt.Target = None,
    who: Who = None,
    backend: opt.Backend = "auto",
    solving: Any = None,
    memory: parts.Memory = None,
    top: opt.Top = 10,
    single_optimum: opt.SingleOptimum = False,
    bounds: Annotated[
        bool,
        panels.solved(
            "--bounds", help="Proof of what is certain over all data consistent with the release (docs/bounds.md)."
        ),
    ] = False,
    level: opt.Level = None,
    reading: Any = None,
    as_json: opt.Json = False,
    output: parts.OutputInParts = None,
    csv_literal: opt.CsvLiteral = False,
    plot: Annotated[
        EstimatePlot | None, panels.output(help="Plot that -o draws; default: leaves. divergence needs --truth.")
    ] = None,
    asked: Any = None,
) -> Job:
    """Estimate P(class | quasi-identifier) as an adversary would, and measure the disclosure."""
    options = {
        **problem,
        "target": target,
        "truth": truth,
        **evidence,
        "backend": backend,
        **solving,
        "top": top,
        "single_optimum": single_optimum,
        "bounds": _level(bounds, level),
        "no_marginal": asked.no_marginal,
        "reading": reading,
        "who": who,
    }
    if memory is not None or parts.is_folder(output):
        from maxent.commands.adversary.estimate_in_parts import run

        refused = {"plot": plot, "csv_literal": csv_literal, "bounds": bounds, "report": asked.report}
        return partial(run, qi, options, as_json, output, memory, asked, refused)
    return partial(_run, qi, options, as_json, output, plot and plot.value, asked, csv_literal)


def _run(
    files: list[str],
    options: dict[str, Any],
    as_json: bool,
    output: str | None,
    plot: str | None,
    asked: Asked,
    csv_literal: bool,
) -> int:
    trees, tables = split_files(files)
    from maxent.models.files.output import check_outputs
    from maxent.models.files.result_files import PLOTS, POSTERIOR, REPORT

    outputs = {"-o": (output, (*POSTERIOR, *PLOTS)), "--report": (asked.report, REPORT)}
    check_outputs(outputs, [*files, *opt.inputs(options)])
    limits = asked.limits()
    kind = _chosen_plot(plot, output, truth=options["truth"] is not None)
    from maxent.disclosure.judging import judge_informed
    from maxent.text.estimate import print_estimate
    from maxent.text.terminal import print_json, print_lines

    report = ReportFile(asked, ["estimate", *files], options)
    read = [*(("release", tree) for tree in trees), *(("table", table) for table in tables)]
    report.begin([*read, *opt.named_inputs(options)])
    result, row = _estimated(trees, tables, options, attacked=limits.stated or asked.report is not None)
    with finishing(result.outcome.status) as clock:
        tell_noticed(result.noticed)
        verdict = judge_informed(limits, [row], [result.judged_row]).mended([_unless_interrupted(result.mended, clock)])
        if report.each is not None:
            report.each(result, row)
        if kind is not None and output is not None:
            from maxent.plotting.estimates import save_estimate_plot

            save_estimate_plot(result, output, kind)
        elif output is not None:
            result.save(output, csv_literal=csv_literal)
        report.write(verdict)
        if as_json:  # after all files: where one cannot be written, the object on standard output says that
            print_json({**result.summary, **verdict.summary})
        else:
            print_estimate(result)
            print_lines(verdict.lines())
    status = asked.status(verdict)
    if result.reliable:
        return status
    tell(not_reliable(result.outcome.status))
    return UNRELIABLE


def _unless_interrupted(search: Callable[[Limits], Mend] | None, clock: Clock) -> Callable[[Limits], Mend] | None:
    """The search for what would pass, which ends when somebody does not wait for it."""
    if search is None:
        return None
    from maxent.disclosure.mend import Mend
    from maxent.solvers.clock import in_time

    return lambda limits: in_time(clock, lambda: search(limits)) or Mend("the search for a subtree was interrupted")


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
    from maxent.plotting.estimates import KINDS, check_estimate_plot
    from maxent.plotting.figures import chosen_plot

    kind = chosen_plot(plot, output, KINDS[0])
    if kind is not None:
        check_estimate_plot(kind, truth=truth)
    return kind


def _estimated(
    trees: list[str], qi: list[str], options: dict[str, Any], *, attacked: bool
) -> tuple[Estimate, dict[str, Any]]:
    """The estimate, and its row for limits and the report, with what attacks find where that is asked for."""
    from maxent.api.adversary.estimate import TREES_ONLY, Solving, estimate_case
    from maxent.api.case import Tables, read_case, taken
    from maxent.api.compile import Knowledge
    from maxent.results.solved import described, estimate_numbers, sensitive_rows, target_rows
    from maxent.solvers.clock import hearing

    how = taken(Solving, options)
    of_trees = {name: options[name] for name in TREES_ONLY}
    case = read_case(trees, taken(Tables, {**options, "qi": qi}), options["target"], **of_trees)
    with progress() as told, hearing(tell_ahead):
        result = estimate_case(case, taken(Knowledge, options), how, progress=told, interruptible=True)
    row = {"release": named(trees), "defense": described(case.release), **estimate_numbers(result)}
    if attacked:
        from maxent.api.adversary.attack import audit_case
        from maxent.disclosure.registry import audited

        # Attacks find what an estimate of shares does not, and take little time where solving was possible.
        with finishing(result.outcome.status):
            attacks = audit_case(case, rounding=options["rounding"]).summary
        row |= audited(attacks) | target_rows(result, attacks) | sensitive_rows(result, attacks)
    return result, row
