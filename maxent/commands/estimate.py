"""``maxent estimate``: what an adversary infers about each person."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxent.commands import options as opt
from maxent.commands.jobs import DONE, REASONS, UNRELIABLE, Job, progress, tell

if TYPE_CHECKING:
    from maxent.result import Estimate


def estimate_command(
    tree: opt.Tree,
    qi: opt.QI,
    truth: opt.Truth = None,
    knowledge: opt.Knowledge = None,
    impurity: opt.Impurity = None,
    facts: opt.Facts = None,
    marginal: opt.Marginal = None,
    count: opt.Count = None,
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
    floor: opt.Floor = 1e-6,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="How many of the largest divergences are named.")] = 10,
    as_json: opt.Json = False,
    output: opt.Output = None,
) -> Job:
    """Estimate P(class | quasi-identifier), as an adversary would, and how much it discloses."""
    options = {
        **opt.problem(knowledge, impurity, facts, marginal, count, rounding, confidence),
        "truth": truth,
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
    return partial(_run, tree, qi, options, as_json, output)


def _run(tree: str, qi: str, options: dict[str, Any], as_json: bool, output: str | None) -> int:
    from maxent.report import POSTERIOR, check_outputs

    check_outputs({"-o": (output, POSTERIOR)}, [tree, qi, *opt.inputs(options)])
    from maxent.engine import estimate
    from maxent.report import as_json_text, print_estimate, save_estimate

    with progress() as told:
        result: Estimate = estimate(tree, qi, progress=told, interruptible=True, **options)
    if output is not None:
        save_estimate(result, output)
    if as_json:
        print(as_json_text(result.summary))
    else:
        print_estimate(result)
    if result.reliable:
        return DONE
    status = result.outcome.status
    tell(f"not to be relied on: {REASONS.get(status, status)} (status {status})")
    return UNRELIABLE
