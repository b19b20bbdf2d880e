"""The command line: arguments -> engine, errors -> exit status.

Typer only parses: a command returns what is to be done, and `run` does it. So ``--help`` and a mistyped option are
answered without NumPy, and errors, Ctrl-C and closed pipes of the work itself do not pass through Typer.
``python -m maxent.cli`` renders the help of the whole program into ``help.txt``, which `maxent.__main__` prints.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maxent.models.errors import InvalidInput, MaxentError

if TYPE_CHECKING:
    from maxent.engine import Progress
    from maxent.result import Estimate

DONE, UNRELIABLE, WRONG = 0, 1, 2
LISTED = 50
"""Problems that are printed; of more, the number."""

Job = Callable[[], int]
# Newer versions of Typer bring their own copy of Click: this is the class in either.
_UsageError: Any = typer.BadParameter.__bases__[0]


class ImpurityName(StrEnum):
    """Choices of ``--impurity``."""

    gini = "gini"
    entropy = "entropy"
    gain_ratio = "gain_ratio"


class RoundingMode(StrEnum):
    """Choices of ``--rounding``."""

    auto = "auto"
    digits = "digits"
    exact = "exact"


_HELP = {"help_option_names": ["-h", "--help"]}
app = typer.Typer(
    name="maxent", context_settings=_HELP, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
)

_Tree = Annotated[str, typer.Argument(metavar="TREE", help="What is published: a maxent/1 JSON file.")]
_QI = Annotated[str, typer.Argument(metavar="QI", help="The adversary's table of quasi-identifiers, .csv or .parquet.")]
_Knowledge = Annotated[
    str | None,
    typer.Option(
        metavar="KINDS",
        help="What the adversary uses, any of label,rate,counts,internal,marginal; default: all that is stated.",
    ),
]
_Impurity = Annotated[ImpurityName | None, typer.Option(help="How splits were chosen; overrides the release.")]
_Facts = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Background knowledge: columns of quasi-identifiers (empty: any), the target, and count."
    ),
]
_Marginal = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="How often each class occurs: a column of the target, and count or probability."),
]
_Count = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The column with the number of people a row of QI stands for.")
]
_Rounding = Annotated[
    RoundingMode,
    typer.Option(help="Printed error rates are rounded (digits), literal (exact), or judged by their look (auto)."),
]
_Confidence = Annotated[
    float, typer.Option(metavar="P", help="Probability that all intervals of sampled counts hold together.")
]
_Truth = Annotated[
    str | None, typer.Option(metavar="FILE", help="The confidential data: adds how far the estimate is from it.")
]
_Tolerance = Annotated[
    float, typer.Option(metavar="X", help="Largest violation of a constraint, as a probability, that is solved.")
]
_NoPresolve = Annotated[bool, typer.Option("--no-presolve", help="Give the solver the whole program in one piece.")]
_Starts = Annotated[
    int | None,
    typer.Option(metavar="N", help="Starting points for parts that are not convex; the best result is kept."),
]
_Seed = Annotated[int, typer.Option(metavar="N", help="Makes the starting points repeatable.")]
_Jobs = Annotated[int, typer.Option(metavar="N", help="Processes that solve independent parts; -1: one for each core.")]
_Floor = Annotated[
    float,
    typer.Option(metavar="P", help="Smallest probability that newton leaves where entropies would push it to 0."),
]
_Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
_Output = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write the result, by suffix: .csv, .parquet or .json."),
]


def _print_version(asked: bool) -> None:
    if asked:
        from maxent import __version__

        print(f"maxent {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """What a published decision tree discloses about the people behind it.

    Exit status: 0 done, 1 there is a result but it is not to be relied on, 2 the input or the call is wrong.
    """


@app.command("estimate", short_help="What an adversary infers about each person, and how much that is.")
def _estimate(
    tree: _Tree,
    qi: _QI,
    truth: _Truth = None,
    knowledge: _Knowledge = None,
    impurity: _Impurity = None,
    facts: _Facts = None,
    marginal: _Marginal = None,
    count: _Count = None,
    rounding: _Rounding = RoundingMode.auto,
    confidence: _Confidence = 0.99,
    backend: Annotated[
        str, typer.Option(metavar="NAME", help="The solver; auto is the best one installed for the problem.")
    ] = "auto",
    tolerance: _Tolerance = 1e-8,
    no_presolve: _NoPresolve = False,
    starts: _Starts = None,
    seed: _Seed = 0,
    time_limit: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Stop solving then, and give the best answer so far (exit status 1)."),
    ] = None,
    jobs: _Jobs = 1,
    floor: _Floor = 1e-6,
    top: Annotated[int, typer.Option(metavar="N", min=1, help="How many of the largest divergences are named.")] = 10,
    as_json: _Json = False,
    output: _Output = None,
) -> Job:
    """Estimate P(class | quasi-identifier), as an adversary would, and how much it discloses."""
    options = {
        **_shared(knowledge, impurity, facts, marginal, count, rounding, confidence),
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
    return partial(_run_estimate, tree, qi, options, as_json, output)


@app.command("explain", short_help="Every constraint a release implies, with the node it comes from.")
def _explain(
    tree: _Tree,
    qi: _QI,
    knowledge: _Knowledge = None,
    impurity: _Impurity = None,
    facts: _Facts = None,
    marginal: _Marginal = None,
    count: _Count = None,
    rounding: _Rounding = RoundingMode.auto,
    confidence: _Confidence = 0.99,
    latex: Annotated[bool, typer.Option("--latex", help="Print the program as formulas, a LaTeX document.")] = False,
    pyomo: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the program as the text of a Pyomo model.")
    ] = None,
    nl: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the program as an AMPL .nl file, with names in .col and .row."),
    ] = None,
    as_json: _Json = False,
    output: _Output = None,
) -> Job:
    """List every constraint that a release implies, with the node it comes from."""
    if latex and as_json:
        raise typer.BadParameter("--latex and --json both print to standard output: choose one")
    options = _shared(knowledge, impurity, facts, marginal, count, rounding, confidence)
    form = "latex" if latex else "json" if as_json else "text"
    return partial(_run_explain, tree, qi, options, form, {"-o": output, "--pyomo": pyomo, "--nl": nl})


@app.command("bench", short_help="The same problem on several solver back ends, side by side.")
def _bench(
    tree: _Tree,
    qi: _QI,
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
    truth: _Truth = None,
    knowledge: _Knowledge = None,
    impurity: _Impurity = None,
    facts: _Facts = None,
    marginal: _Marginal = None,
    count: _Count = None,
    rounding: _Rounding = RoundingMode.auto,
    confidence: _Confidence = 0.99,
    tolerance: _Tolerance = 1e-8,
    no_presolve: _NoPresolve = False,
    starts: _Starts = None,
    seed: _Seed = 0,
    jobs: _Jobs = 1,
    floor: _Floor = 1e-6,
    as_json: _Json = False,
    output: _Output = None,
) -> Job:
    """Solve the same problem with several back ends, each in a process of its own, and compare them.

    Exit status 1 when none has an answer to rely on, or Ctrl-C ended it early: the rows so far are still printed.
    """
    options = {
        **_shared(knowledge, impurity, facts, marginal, count, rounding, confidence),
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


@app.command("backends", short_help="Which solver back ends are installed, and what each can solve.")
def _backends(as_json: _Json = False) -> Job:
    """List the solver back ends: which are installed, their versions, and what each can solve."""
    return partial(_run_backends, as_json)


def _shared(
    knowledge: str | None,
    impurity: ImpurityName | None,
    facts: str | None,
    marginal: str | None,
    count: str | None,
    rounding: RoundingMode,
    confidence: float,
) -> dict[str, Any]:
    """The arguments of `maxent.engine.compile_release`, which all commands that read a problem have."""
    return {
        "knowledge": knowledge,
        "impurity": None if impurity is None else impurity.value,
        "facts": facts,
        "marginal": marginal,
        "count": count,
        "rounding": rounding.value,
        "confidence": confidence,
    }


def run(args: list[str]) -> int:
    """Parse arguments and do what they say; the exit status. Messages go to standard error."""
    try:
        job = app(args, prog_name="maxent", standalone_mode=False)
    except _UsageError as error:
        error.show()
        return WRONG
    if not callable(job):  # help or the version was printed
        return DONE
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal without UTF-8 is no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        return int(job())
    except InvalidInput as error:
        _print_problems([f"{error.source}: {problem}" for problem in error.problems])
    except MaxentError as error:
        _print_problems([str(error)])
    except MemoryError:
        _print_problems(["the problem does not fit into memory"])
    return WRONG


def _print_problems(lines: list[str]) -> None:
    from maxent.report import printable

    for line in lines[:LISTED]:
        print(f"maxent: {printable(line)}", file=sys.stderr)
    if len(lines) > LISTED:
        print(f"maxent: and {len(lines) - LISTED} more problems, {len(lines)} in all", file=sys.stderr)
    elif len(lines) > 1:
        print(f"maxent: {len(lines)} problems", file=sys.stderr)


def _run_estimate(tree: str, qi: str, options: dict[str, Any], as_json: bool, output: str | None) -> int:
    from maxent.report import POSTERIOR, check_outputs

    inputs = [tree, qi, *(options[name] for name in ("truth", "facts", "marginal"))]
    check_outputs({"-o": (output, POSTERIOR)}, inputs)
    from maxent.engine import estimate
    from maxent.report import as_json_text, print_estimate, save_estimate

    with _progress() as progress:
        result: Estimate = estimate(tree, qi, progress=progress, interruptible=True, **options)
    if output is not None:
        save_estimate(result, output)
    if as_json:
        print(as_json_text(result.summary))
    else:
        print_estimate(result)
    if result.reliable:
        return DONE
    sys.stdout.flush()
    reason = {
        "inconsistent": "the statements contradict each other or the table; the result is the nearest to all of them",
        "not_converged": "the solver did not converge",
        "time_limit": "stopped at the time limit; the result is the best so far",
        "interrupted": "interrupted; the result is the best so far",
    }.get(result.outcome.status, result.outcome.status)
    print(f"maxent: not to be relied on: {reason} (status {result.outcome.status})", file=sys.stderr)
    return UNRELIABLE


def _run_explain(tree: str, qi: str, options: dict[str, Any], form: str, outputs: dict[str, str | None]) -> int:
    from maxent.report import POSTERIOR, as_json_text, check_outputs, save_rows

    allowed = {"-o": POSTERIOR, "--pyomo": (), "--nl": (".nl",)}
    inputs = [tree, qi, options["facts"], options["marginal"]]
    check_outputs({name: (path, allowed[name]) for name, path in outputs.items()}, inputs)
    from maxent.engine import compile_release
    from maxent.explain import explain, print_explanation

    program = compile_release(tree, qi, **options)
    found = explain(program)
    if outputs["-o"] is not None:
        save_rows(found, "list", outputs["-o"])
    if outputs["--pyomo"] is not None or outputs["--nl"] is not None:
        from maxent.export import export_program

        export_program(program, pyomo=outputs["--pyomo"], nl=outputs["--nl"], tell=_tell)
    if form == "latex":
        from maxent.formulas import latex_document

        print(latex_document(program), end="")
    elif form == "json":
        print(as_json_text(found))
    else:
        print_explanation(program, found)
    return DONE


def _run_bench(tree: str, qi: str, options: dict[str, Any], as_json: bool, outputs: dict[str, str | None]) -> int:
    from maxent.plots import PLOTS, check_matplotlib
    from maxent.report import POSTERIOR, as_json_text, check_outputs

    inputs = [tree, qi, *(options[name] for name in ("truth", "facts", "marginal"))]
    allowed = {"-o": POSTERIOR, "--plot": PLOTS}
    check_outputs({name: (path, allowed[name]) for name, path in outputs.items()}, inputs)
    if outputs["--plot"] is not None:
        check_matplotlib()
    from maxent.bench_text import print_bench
    from maxent.benching import bench

    with _progress() as progress:
        result = bench(tree, qi, progress=progress, **options)
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
    sys.stdout.flush()
    _tell("interrupted: not every back end was tried" if result.interrupted else "no back end can be relied on")
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


def _tell(text: str) -> None:
    print(f"maxent: {text}", file=sys.stderr)


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """A progress bar on standard error while solving, None when nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bars

    with Bars(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("reading and compiling", total=None)
        yield lambda text, done, total: bars.update(task, description=text, completed=done, total=total or None)


def help_text() -> str:
    """The help of the whole program as plain text, 80 columns wide."""
    from typer.main import get_command

    command = get_command(app)
    context = command.context_class(command, info_name="maxent", terminal_width=80, **_HELP)  # type: ignore[arg-type]
    lines = command.get_help(context).splitlines()
    return (
        "\n".join([*(line.rstrip() for line in lines), "", "'maxent COMMAND --help' lists the options of a command."])
        + "\n"
    )


if __name__ == "__main__":
    Path(__file__).with_name("help.txt").write_text(help_text(), encoding="utf-8")
