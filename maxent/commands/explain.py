"""``maxent explain``: every constraint that a release implies."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer

from maxent.commands import options as opt
from maxent.commands.jobs import DONE, Job, tell


def explain_command(
    tree: opt.Published,
    qi: opt.QI,
    knowledge: opt.Knowledge = None,
    impurity: opt.Impurity = None,
    facts: opt.Facts = None,
    marginal: opt.Marginal = None,
    count: opt.Count = None,
    target: opt.Target = None,
    rounding: opt.Rounding = opt.RoundingMode.auto,
    confidence: opt.Confidence = 0.99,
    latex: Annotated[bool, typer.Option("--latex", help="Print the program as formulas, a LaTeX document.")] = False,
    pyomo: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the program as the text of a Pyomo model.")
    ] = None,
    nl: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the program as an AMPL .nl file, with names in .col and .row."),
    ] = None,
    as_json: opt.Json = False,
    output: opt.Output = None,
) -> Job:
    """List every constraint that a release implies, with the node it comes from."""
    if latex and as_json:
        raise typer.BadParameter("--latex and --json both print to standard output: choose one")
    options = {**opt.problem(knowledge, impurity, facts, marginal, count, rounding, confidence), "target": target}
    form = "latex" if latex else "json" if as_json else "text"
    return partial(_run, tree, qi, options, form, {"-o": output, "--pyomo": pyomo, "--nl": nl})


def _run(tree: str, qi: str, options: dict[str, Any], form: str, outputs: dict[str, str | None]) -> int:
    from maxent.report import POSTERIOR, as_json_text, check_outputs, save_rows

    allowed = {"-o": POSTERIOR, "--pyomo": (), "--nl": (".nl",)}
    check_outputs({name: (path, allowed[name]) for name, path in outputs.items()}, [tree, qi, *opt.inputs(options)])
    from maxent.engine import compile_release
    from maxent.explain import explain, print_explanation

    program = compile_release(tree, qi, **options)
    found = explain(program)
    if outputs["-o"] is not None:
        save_rows(found, "list", outputs["-o"])
    if outputs["--pyomo"] is not None or outputs["--nl"] is not None:
        from maxent.export import export_program

        export_program(program, pyomo=outputs["--pyomo"], nl=outputs["--nl"], tell=tell)
    if form == "latex":
        from maxent.formulas import latex_document

        print(latex_document(program), end="")
    elif form == "json":
        print(as_json_text(found))
    else:
        print_explanation(program, found)
    return DONE
