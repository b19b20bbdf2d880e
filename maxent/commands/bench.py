"""``maxent bench``: a comparison of the solver back ends."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from maxent.api.decision_options import Benching
from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.command_line.options import reads_files, stated
from maxent.command_line.progress import DONE, UNRELIABLE, Job, progress, tell, tell_noticed
from maxent.models.files.output import BENCH, check_outputs
from maxent.results.text.terminal import print_json

# Calls that its help ends with.
EXAMPLES = (
    "maxent bench tree.json qi.csv",
    "maxent bench tree.json qi.csv --backends newton,ipopt --time-limit 60 -o seconds.csv",
)


@reads_files(options=stated(Benching, jobs=None))
def command(
    tree: opt.Tree,
    qi: opt.QI,
    options: Any = None,
    # As it was called before -o drew, as it does in all other commands.
    plot: Annotated[str | None, panels.written(BENCH, hidden=True)] = None,
    reading: Any = None,
    as_json: opt.Json = False,
    output: Annotated[str | None, opt.result_or_plot(BENCH)] = None,
    csv_literal: opt.CsvLiteral = False,
) -> Job:
    """Solve the same problem with several back ends, each in a process of its own, and compare them.

    Exit status 1 when none has a reliable answer, or Ctrl-C ended it early: the rows so far are still printed.
    """
    options |= {"jobs": 1 if options["jobs"] is None else options["jobs"], "reading": reading}
    return partial(_run, tree, qi, options, as_json, {"-o": output, "--plot": plot}, csv_literal)


def _run(
    tree: str, qi: str, options: dict[str, Any], as_json: bool, outputs: dict[str, str | None], csv_literal: bool
) -> int:
    from maxent.models.files.result_files import PLOTS, POSTERIOR
    from maxent.plotting.figures import check_matplotlib

    allowed = {"-o": (*POSTERIOR, *PLOTS), "--plot": PLOTS}
    check_outputs({name: (path, allowed[name]) for name, path in outputs.items()}, [tree, qi, *opt.inputs(options)])
    files = [path for path in outputs.values() if path is not None]
    plots = [path for path in files if path.lower().endswith(PLOTS)]
    if plots:
        check_matplotlib()
    from maxent.api.bench import bench
    from maxent.results.bench import print_bench

    with progress() as told:
        result = bench(tree, qi, progress=told, **options)
    tell_noticed(result.noticed)
    for path in files:
        if path in plots:
            result.plot(path)
        else:
            result.save(path, csv_literal=csv_literal)
    if as_json:
        print_json(result.summary)
    else:
        print_bench(result)
    if result.reliable and not result.interrupted:
        return DONE
    tell("interrupted: not every back end was tried" if result.interrupted else "no back end can be relied on")
    return UNRELIABLE
