"""``maxent bench`` and ``maxent backends``: the solvers side by side, and which there are."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

import typer

from maxent.commands import options as opt
from maxent.commands.jobs import DONE, UNRELIABLE, Job, progress, tell


def bench_command(
    tree: opt.Tree,
    qi: opt.QI,
    backends: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Back ends, such as newton,cvxpy:scs; default: all that are installed."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="How long each back end may take to solve.")
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="How often each solves it, the least seconds count; default: 3 times if one takes under 5 seconds.",
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw seconds and entropies, by suffix: .svg, .png or .pdf."),
    ] = None,
    truth: opt.Truth = None,
    knowledge: opt.Knowledge = None,
    impurity: opt.Impurity = None,
    facts: opt.Facts = None,
    marginal: opt.Marginal = None,
    count: opt.Count = None,
    rounding: opt.Rounding = opt.RoundingMode.auto,
    confidence: opt.Confidence = 0.99,
    tolerance: opt.Tolerance = 1e-8,
    no_presolve: opt.NoPresolve = False,
    starts: opt.Starts = None,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    floor: opt.Floor = 1e-6,
    as_json: opt.Json = False,
    output: opt.Output = None,
) -> Job:
    """Solve the same problem with several back ends, each in a process of its own, and compare them.

    Exit status 1 when none has an answer to rely on, or Ctrl-C ended it early: the rows so far are still printed.
    """
    options = {
        **opt.problem(knowledge, impurity, facts, marginal, count, rounding, confidence),
        "truth": truth,
        "backends": backends,
        "time_limit": time_limit,
        "repeat": repeat,
        "tolerance": tolerance,
        "presolve": not no_presolve,
        "starts": starts,
        "seed": seed,
        "jobs": jobs,
        "floor": floor,
    }
    return partial(_run_bench, tree, qi, options, as_json, {"-o": output, "--plot": plot})


def backends_command(as_json: opt.Json = False) -> Job:
    """List the solver back ends: which are installed, their versions, and what each can solve."""
    return partial(_run_backends, as_json)


def _run_bench(tree: str, qi: str, options: dict[str, Any], as_json: bool, outputs: dict[str, str | None]) -> int:
    from maxent.plotting.figures import PLOTS, check_matplotlib
    from maxent.report import POSTERIOR, as_json_text, check_outputs

    allowed = {"-o": POSTERIOR, "--plot": PLOTS}
    check_outputs({name: (path, allowed[name]) for name, path in outputs.items()}, [tree, qi, *opt.inputs(options)])
    if outputs["--plot"] is not None:
        check_matplotlib()
    from maxent.bench_text import print_bench
    from maxent.benching import bench

    with progress() as told:
        result = bench(tree, qi, progress=told, **options)
    if outputs["-o"] is not None:
        result.save(outputs["-o"])
    if outputs["--plot"] is not None:
        result.plot(outputs["--plot"])
    if as_json:
        print(as_json_text(result.summary))
    else:
        print_bench(result)
    if result.reliable and not result.interrupted:
        return DONE
    tell("interrupted: not every back end was tried" if result.interrupted else "no back end can be relied on")
    return UNRELIABLE


def _run_backends(as_json: bool) -> int:
    from maxent.bench_text import print_backends
    from maxent.report import as_json_text
    from maxent.solvers.registry import describe_backends

    described = describe_backends()
    if as_json:
        print(as_json_text({"backends": [asdict(found) for found in described]}))
    else:
        print_backends(described)
    return DONE
