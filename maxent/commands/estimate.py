"""``maxent estimate``: what an adversary infers about each person."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxent.commands import options as opt
from maxent.commands.deciding import Asked, ReportFile
from maxent.commands.jobs import REASONS, UNRELIABLE, Job, progress, tell

if TYPE_CHECKING:
    from maxent.result import Estimate


def estimate_command(
    tree: opt.Published,
    qi: opt.QI,
    truth: opt.Truth = None,
    knowledge: opt.Knowledge = None,
    impurity: opt.Impurity = None,
    facts: opt.Facts = None,
    marginal: opt.Marginal = None,
    count: opt.Count = None,
    target: opt.Target = None,
    rounding: opt.Rounding = opt.RoundingMode.auto,
    confidence: opt.Confidence = 0.99,
    backend: opt.Backend = "auto",
    tolerance: opt.Tolerance = 1e-8,
    no_presolve: opt.NoPresolve = False,
    starts: opt.Starts = None,
    seed: opt.Seed = 0,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Stop solving then, and give the best answer so far (exit status 1)."),
    ] = None,
    jobs: opt.Jobs = 1,
    dask: opt.Dask = None,
    floor: opt.Floor = 1e-6,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="How many of the largest divergences are named.")] = 10,
    as_json: opt.Json = False,
    output: opt.OutputOrPlot = None,
    plot: Annotated[
        opt.EstimatePlot | None, typer.Option(help="What -o draws; default: leaves. divergence needs --truth.")
    ] = None,
    report: opt.Report = None,
    max_posterior: opt.MaxPosterior = None,
    min_k: opt.MinK = None,
    max_certain: opt.MaxCertain = None,
    enforce: opt.Enforce = False,
) -> Job:
    """Estimate P(class | quasi-identifier), as an adversary would, and how much it discloses."""
    options = {
        **opt.problem(knowledge, impurity, facts, marginal, count, rounding, confidence),
        "target": target,
        "truth": truth,
        "backend": backend,
        "tolerance": tolerance,
        "presolve": not no_presolve,
        "starts": starts,
        "seed": seed,
        "time_limit": time_limit,
        "jobs": jobs,
        "dask": dask,
        "floor": floor,
        "top": top,
    }
    asked = Asked(max_posterior, min_k, max_certain, enforce, report)
    return partial(_run, tree, qi, options, as_json, output, plot and plot.value, asked)


def _run(
    tree: str, qi: str, options: dict[str, Any], as_json: bool, output: str | None, plot: str | None, asked: Asked
) -> int:
    from maxent.plotting.estimates import KINDS, check_estimate_plot, save_estimate_plot
    from maxent.plotting.figures import PLOTS, chosen_plot
    from maxent.report import POSTERIOR, REPORT, check_outputs

    outputs = {"-o": (output, (*POSTERIOR, *PLOTS)), "--report": (asked.report, REPORT)}
    check_outputs(outputs, [tree, qi, *opt.inputs(options)])
    limits = asked.limits()
    kind = chosen_plot(plot, output, KINDS[0])
    if kind is not None:
        check_estimate_plot(kind, truth=options["truth"] is not None)
    from maxent.engine import estimate
    from maxent.limits import judge_rows
    from maxent.report import as_json_text, print_estimate, print_lines, save_estimate

    report = ReportFile(asked, ["estimate", tree, qi], options)
    report.begin([("release", tree), ("table", qi), *opt.named_inputs(options)])
    with progress() as told:
        result: Estimate = estimate(tree, qi, progress=told, interruptible=True, **options)
    # Attacks find what an estimate of shares does not, and take little time where solving was possible.
    row = _row(tree, qi, result, options, attacked=limits.stated or asked.report is not None)
    verdict = judge_rows(limits, [row])
    if report.each is not None:
        report.each(result, row)
    if kind is not None and output is not None:
        save_estimate_plot(result, output, kind)
    elif output is not None:
        save_estimate(result, output)
    if as_json:
        print(as_json_text({**result.summary, **verdict.summary}))
    else:
        print_estimate(result)
        print_lines(verdict.lines())
    report.write(verdict)
    status = asked.status(verdict)
    if result.reliable:
        return status
    why = result.outcome.status
    tell(f"not to be relied on: {REASONS.get(why, why)} (status {why})")
    return UNRELIABLE


def _row(tree: str, qi: str, result: Estimate, options: dict[str, Any], *, attacked: bool) -> dict[str, Any]:
    """What a comparison would say of the release, attacks only where that is wanted."""
    from pathlib import Path

    from maxent.auditing import audit
    from maxent.comparison import attack_numbers, described, estimate_numbers
    from maxent.models.published_records import is_records

    row = {"release": Path(tree).stem, "defense": described(result.program.release), **estimate_numbers(result)}
    if not attacked:
        return row
    told = ("count", "target") if is_records(tree) else ("facts", "count", "rounding")
    known = {key: options[key] for key in told if options.get(key) is not None}
    return {**row, **attack_numbers(audit(tree, qi, **known))}
