"""``maxent explain``: every constraint that a release implies."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from maxent.api.options import ProblemOptions
from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.options import reads_files, stated
from maxent.command_line.progress import DONE, Job, tell
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.files.output import CONSTRAINTS, NL, PYOMO, check_outputs
from maxent.results.text.terminal import print_json, print_lines

# Calls that its help ends with.
EXAMPLES = (
    "maxent explain tree.json qi.csv",
    "maxent explain tree.json qi.csv --pyomo model.py --nl model.nl",
)


@reads_files(options=stated(ProblemOptions, without=["who"]))
def command(
    files: opt.Files,
    options: Any = None,
    latex: Annotated[bool, panels.output("--latex", help="Print the program as formulas, a LaTeX document.")] = False,
    pyomo: Annotated[str | None, panels.written(PYOMO, help="Write the program as the text of a Pyomo model.")] = None,
    textbook: Annotated[
        bool,
        panels.output("--textbook", help="Write with --pyomo or --nl the program as the paper prints it."),
    ] = False,
    nl: Annotated[
        str | None,
        panels.written(NL, help="Write the program as an AMPL .nl file, with names in .col and .row."),
    ] = None,
    reading: Any = None,
    as_json: opt.Json = False,
    output: Annotated[str | None, opt.result(CONSTRAINTS)] = None,
    csv_literal: opt.CsvLiteral = False,
) -> Job:
    """List every constraint of a release, with its node."""
    options["reading"] = reading
    outputs = {"-o": output, "--pyomo": pyomo, "--nl": nl}
    return partial(_run, files, options, (latex, as_json, textbook), outputs, csv_literal)


def _run(
    files: list[str],
    options: dict[str, Any],
    forms: tuple[bool, bool, bool],
    outputs: dict[str, str | None],
    csv_literal: bool,
) -> int:
    from maxent.models.files.result_files import POSTERIOR, save_rows
    from maxent.results.formulas import export_program, nl_files

    trees, tables = opt.split_files(files)
    latex, as_json, textbook = forms
    if latex and as_json:
        raise invalid("options", ARGUMENT, "latex", "none with json=: both print to standard output", "both")
    if textbook and outputs["--pyomo"] is None and outputs["--nl"] is None:
        raise invalid("options", ARGUMENT, "textbook", "--pyomo or --nl, which name a file to write", "neither")

    allowed = {"-o": POSTERIOR, "--pyomo": (), "--nl": (".nl",)}
    written = {name: (path, allowed[name]) for name, path in outputs.items()}
    beside = {} if outputs["--nl"] is None else nl_files(outputs["--nl"])
    written |= {f"--nl ({suffix})": (path, ()) for suffix, path in beside.items()}
    check_outputs(written, [*files, *opt.inputs(options)])
    from maxent.api.compile import stated_problems
    from maxent.api.estimate import compile_release
    from maxent.results.explanation import explain

    program = compile_release(trees, tables, **options)
    listed = outputs["-o"] is not None or not latex
    found = explain(program, stated_problems(program) if listed else ())
    if outputs["-o"] is not None:
        save_rows(found, "list", outputs["-o"], CONSTRAINTS, csv_literal=csv_literal)
    if outputs["--pyomo"] is not None or outputs["--nl"] is not None:
        export_program(program, pyomo=outputs["--pyomo"], nl=outputs["--nl"], tell=tell, textbook=textbook)
    if latex:
        from maxent.results.formulas import latex_document

        print_lines(latex_document(program).splitlines())
    elif as_json:
        print_json(found)
    else:
        from maxent.results.text.estimate import print_explanation

        print_explanation(program, found)
    return DONE
