"""``maxent compare``: several releases about the same people, before and after a defense."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from maxent.commands import options as opt
from maxent.commands.deciding import Asked, ReportFile
from maxent.commands.jobs import REASONS, UNRELIABLE, Job, progress, tell


def compare_command(
    trees: Annotated[
        list[str],
        typer.Argument(
            metavar="TREE...",
            help="What is published: maxent/1 JSON files, records in .csv or .parquet; the one before first.",
        ),
    ],
    qi: Annotated[
        str, typer.Option(metavar="FILE", help="The adversary's table of quasi-identifiers, .csv or .parquet.")
    ],
    truth: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The confidential data: adds the divergences and the training accuracy."),
    ] = None,
    test: Annotated[
        str | None, typer.Option(metavar="FILE", help="Other records with their classes: adds the test accuracy.")
    ] = None,
    min_size: opt.MinSize = 1,
    background: opt.Background = 1,
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
        typer.Option(metavar="SECONDS", help="How long solving each release may take; then its best answer counts."),
    ] = None,
    jobs: opt.Jobs = 1,
    floor: opt.Floor = 1e-6,
    top: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many of the most disclosed quasi-identifiers are named.")
    ] = 10,
    as_json: opt.Json = False,
    output: opt.OutputOrPlot = None,
    plot: Annotated[
        opt.ComparisonPlot | None,
        typer.Option(help="What -o draws; default: bars. tradeoff and divergence need --truth."),
    ] = None,
    report: opt.Report = None,
    max_posterior: opt.MaxPosterior = None,
    min_k: opt.MinK = None,
    max_certain: opt.MaxCertain = None,
    enforce: opt.Enforce = False,
) -> Job:
    """Compare what several releases about the same people disclose, what attacks find, and how well they predict.

    Exit status 1 when an estimate is not to be relied on, or Ctrl-C ended it early: the rest is still printed. Limits
    are about all releases but the first, which the others are compared with.
    """
    options = {
        **opt.problem(knowledge, impurity, facts, marginal, count, rounding, confidence),
        "target": target,
        "truth": truth,
        "test": test,
        "min_size": min_size,
        "background": background,
        "backend": backend,
        "tolerance": tolerance,
        "presolve": not no_presolve,
        "starts": starts,
        "seed": seed,
        "time_limit": time_limit,
        "jobs": jobs,
        "floor": floor,
        "top": top,
    }
    asked = Asked(max_posterior, min_k, max_certain, enforce, report)
    return partial(_run, trees, qi, options, as_json, output, plot and plot.value, asked)


def _run(
    trees: list[str],
    qi: str,
    options: dict[str, Any],
    as_json: bool,
    output: str | None,
    plot: str | None,
    asked: Asked,
) -> int:
    from maxent.plotting.comparisons import KINDS, check_comparison_kind, save_comparison_plot
    from maxent.plotting.figures import PLOTS, chosen_plot
    from maxent.report import POSTERIOR, REPORT, as_json_text, check_outputs, print_lines

    outputs = {"-o": (output, (*POSTERIOR, *PLOTS)), "--report": (asked.report, REPORT)}
    check_outputs(outputs, [*trees, qi, options["test"], *opt.inputs(options)])
    limits = asked.limits()
    kind = chosen_plot(plot, output, KINDS[0])
    if kind is not None:
        check_comparison_kind(kind, truth=options["truth"] is not None)
    from maxent.compare_text import print_comparison
    from maxent.comparing import compare
    from maxent.limits import judge_rows

    report = ReportFile(asked, ["compare", *trees], {"qi": qi, **options})
    releases = [("release", tree) for tree in trees]
    report.begin([*releases, ("table", qi), *opt.named_inputs(options), ("test", options["test"])])
    with progress() as told:
        result = compare(trees, qi, progress=told, interruptible=True, each=report.each, **options)
    verdict = judge_rows(limits, result.rows, of=len(trees))
    if output is not None and kind is None:
        result.save(output)
    if as_json:
        print(as_json_text({**result.summary, **verdict.summary}))
    else:
        print_comparison(result)
        print_lines(verdict.lines())
    report.write(verdict, result.notes, interrupted=result.interrupted)
    if output is not None and kind is not None:
        save_comparison_plot(result, output, kind)  # what it lacks, an accuracy, may be known only now
    for row in result.rows:
        if row["status"] != "optimal":
            tell(f"{row['release']}: not to be relied on: {REASONS.get(row['status'], row['status'])}")
    if result.interrupted:
        tell("interrupted: not every release was compared")
    status = asked.status(verdict)
    return status if result.reliable and not result.interrupted else UNRELIABLE
