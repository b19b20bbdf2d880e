"""How time and memory grow with the number of quasi-identifiers: python benchmarks/scale.py.

A population of made-up individuals, with 12 attributes of 2 to 16 values and a target of 16 classes, all of which
depend on the kind of person one is; a multiway tree grown on it, published with error rates; and the adversary's table,
a row per distinct quasi-identifier. For every size two processes are measured, one after the other:

stages   the steps of an estimate, each timed: read, compile, check (set up the evaluation of all constraints and
         evaluate them once), solve, measure
command  `maxent estimate` as a whole

Seconds are those of the processor, which other work on it disturbs least. The last line has the growth exponents: the
slope of the logarithm of the seconds over that of the number of quasi-identifiers.

With --in-parts whole calls of `maxent estimate -o FOLDER/` are measured instead: one process, two, Dask clusters.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ATTRIBUTES = {
    "region": 16,
    "work": 8,
    "origin": 5,
    "age": 5,
    "family": 4,
    "sector": 4,
    "housing": 4,
    "hours": 3,
    "health": 3,
    "children": 3,
    "abroad": 2,
    "sex": 2,
}
"""How many values each attribute has."""

CLASSES = 16
KINDS = 64
"""Kinds of people, each with habits of its own. All attributes tell of them: the best splits are close together."""

STAGES = ("read", "compile", "check", "solve", "measure")
SIZE, GROWING = "distinct_qi", (*STAGES, "command", "wall")
COLUMNS = {
    "distinct_qi": "QIs",
    "individuals": "people",
    "leaves": "leaves",
    "internal": "internal",
    **{stage: f"{stage} s" for stage in STAGES},
    "stages_mb": "peak MB",
    "command": "command s",
    "wall": "wall s",
    "command_mb": "peak MB",
    "entropy": "entropy",
    "max_violation": "violation",
    "status": "status",
}
FORMATS = {name: ".2f" for name in GROWING} | {
    "stages_mb": ".0f",
    "command_mb": ".0f",
    "entropy": ".6f",
    "max_violation": ".1e",
}


def population(n: int, seed: int) -> tuple[Any, Any, Any]:
    """``n`` distinct quasi-identifiers: codes, shape (n, n_attributes), individuals of each, and everybody's class."""
    import numpy as np

    rng = np.random.default_rng(seed)
    sizes = tuple(ATTRIBUTES.values())
    habits = [np.cumsum(rng.dirichlet(np.full(size, 0.6), KINDS), axis=1) for size in sizes]
    share = rng.dirichlet(np.full(KINDS, 2.0))
    people = np.empty(0, np.int64)  # quasi-identifier * KINDS + kind, of each quasi-identifier the first
    while len(people) < n:
        kind = rng.choice(KINDS, n, p=share)
        drawn = [(rng.random(n)[:, None] > habit[kind, :-1]).sum(axis=1) for habit in habits]
        people = np.concatenate([people, np.ravel_multi_index(tuple(drawn), sizes) * KINDS + kind])
        people = people[np.unique(people // KINDS, return_index=True)[1]]
    people = np.sort(rng.permutation(people)[:n])
    kind = people % KINDS
    codes = np.column_stack(np.unravel_index(people // KINDS, sizes)).astype(np.int8)
    counts = rng.choice([1, 2, 3], n, p=[0.6, 0.25, 0.15])
    of_kind = 2.0 * rng.standard_normal((KINDS, CLASSES))
    of_value = [0.3 * rng.standard_normal((size, CLASSES)) for size in sizes]
    classes = []
    for begin in range(0, n, 100_000):
        rows = slice(begin, begin + 100_000)
        score = of_kind[kind[rows]] + sum(w[code] for w, code in zip(of_value, codes[rows].T, strict=True))
        score = np.repeat(score, counts[rows], axis=0)
        classes.append((score + rng.gumbel(size=score.shape)).argmax(axis=1))  # a draw from the softmax of the score
    return codes, counts, np.concatenate(classes)


def write_instance(n: int, call: argparse.Namespace, folder: Path) -> tuple[Path, Path]:
    """The release and the adversary's table, as files."""
    import numpy as np
    import pandas as pd

    from maxent.models.induction.inducers import id3

    codes, counts, classes = population(n, call.seed)

    def frame(rows: Any) -> Any:
        columns = {}
        for j, (name, size) in enumerate(ATTRIBUTES.items()):
            columns[name] = pd.Categorical.from_codes(codes[rows, j], [f"{name}-{v}" for v in range(size)])
        return pd.DataFrame(columns)

    people = frame(np.repeat(np.arange(n), counts))
    people["class"] = pd.Categorical.from_codes(classes, [f"c{x:02d}" for x in range(CLASSES)])
    release = id3(
        people,
        target="class",
        qi=list(ATTRIBUTES),
        impurity=call.impurity,
        publish="rates",
        min_samples_split=call.split,
    )
    paths = folder / f"{n}.release.json", folder / f"{n}.qi.{call.format}"
    release.save(paths[0])
    table = frame(np.arange(n)).astype(str).assign(count=counts)
    if call.format == "csv":
        table.to_csv(paths[1], index=False)
    else:
        table.to_parquet(paths[1], index=False)
    return paths


def measure(tree: str, qi: str, call: argparse.Namespace) -> dict[str, Any]:
    """The stages of an estimate in this process, without importing libraries."""
    from maxent import disclosure
    from maxent.constraints.compiler import compile_program
    from maxent.constraints.program.residuals import Evaluator
    from maxent.models.formats.registry import load_release
    from maxent.models.tables.qi_table import read_qi
    from maxent.solvers.backend import Options
    from maxent.solvers.backends.registry import load_backend
    from maxent.solvers.solve.driver import solve_program

    backend = load_backend(call.backend)
    seconds: dict[str, float] = {}
    begin = time.process_time()

    def lap(stage: str) -> None:
        nonlocal begin
        now = time.process_time()
        seconds[stage], begin = now - begin, now

    release = load_release(tree)
    table = read_qi(qi, release, count="count")
    lap("read")
    program = compile_program(release, table, knowledge=call.knowledge and call.knowledge.split(","))
    lap("compile")
    evaluator = Evaluator(program)
    evaluator.max_violation(program.weight[:, None].repeat(program.n_classes, axis=1) / program.n_classes)
    lap("check")
    del evaluator
    outcome = solve_program(program, backend, Options(seed=call.seed))
    lap("solve")
    found = disclosure.measure(program.posterior(outcome.masses), table.counts)
    lap("measure")
    return {
        "individuals": table.individuals,
        "distinct_qi": len(table),
        "leaves": len(release.trees[0].leaves),
        "internal": sum(found.rows for found in program.internal),
        **seconds,
        "rounds": outcome.rounds,
        "parts": outcome.parts,
        "active": len(outcome.active),
        "entropy": found.entropy,
        "max_violation": outcome.violation,
        "status": outcome.status,
    }


def spawn(command: list[str]) -> tuple[str, dict[str, float]]:
    """What a process of its own prints; its processor seconds, wall seconds and peak memory (MB)."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, env=os.environ | {"OMP_NUM_THREADS": "1"})
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read()
    wall = time.perf_counter() - begin
    if code not in (0, 1):  # 1: an answer that is not reliable, as its status says
        raise SystemExit(f"{' '.join(command)}: exit status {code}")
    memory = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return said, {"seconds": usage.ru_utime + usage.ru_stime, "wall": wall, "mb": memory}


def run(n: int, call: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Both measurements of one size."""
    print(f"{n} quasi-identifiers: population and tree ...", file=sys.stderr, flush=True)
    tree, qi = map(str, write_instance(n, call, folder))
    options = ["--backend", call.backend, "--seed", str(call.seed)]
    options += ["--knowledge", call.knowledge] if call.knowledge else []
    print(f"{n} quasi-identifiers: stages ...", file=sys.stderr, flush=True)
    said, used = spawn([sys.executable, __file__, "--child", tree, qi, *options])
    row: dict[str, Any] = json.loads(said) | {"stages_mb": used["mb"]}
    print(f"{n} quasi-identifiers: maxent estimate ...", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "maxent", "estimate", tree, qi, "--count", "count", "--json", *options]
    _, used = spawn(command)
    return row | {"command": used["seconds"], "wall": used["wall"], "command_mb": used["mb"]}


Rows = Sequence[Mapping[str, Any]]


def exponents(rows: Rows, by: str, keys: Iterable[str]) -> dict[str, float]:
    """Slopes of the logarithms of some keys over that of another, by least squares."""
    x = [math.log(row[by]) for row in rows]
    mean = sum(x) / len(x)
    spread = sum((v - mean) ** 2 for v in x)
    return {key: sum((v - mean) * math.log(row[key]) for v, row in zip(x, rows, strict=True)) / spread for key in keys}


def aligned(
    series: Iterable[Rows], titles: Mapping[str, str], formats: Mapping[str, str], by: str, growing: Sequence[str]
) -> str:
    """The rows as a table; below those of each series the exponents with which some keys grow by another."""
    cells = [list(titles.values())]
    for rows in series:
        cells += [[format(row[key], formats.get(key, "")) for key in titles] for row in rows]
        if len(rows) > 1:
            slopes = exponents(rows, by, growing)
            cells.append([f"n^{slopes[key]:.2f}" if key in slopes else "" for key in titles])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], metavar="N")
    parser.add_argument("--split", type=int, default=300, metavar="N", help="people below which a node is a leaf")
    parser.add_argument("--impurity", choices=["gini", "entropy", "gain_ratio"], default="gini")
    parser.add_argument("--knowledge", metavar="A,B", help="what the adversary uses, such as label,rate")
    parser.add_argument("--backend", default="auto", metavar="NAME")
    parser.add_argument("--format", choices=["parquet", "csv"], default="parquet", help="of the adversary's table")
    parser.add_argument("--folder", type=Path, help="keep the releases and tables there")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--in-parts", action="store_true", help="whole calls with -o FOLDER/, see scale_parts.py")
    ways = ["one", "jobs", "dask1", "dask2", "local"]
    parser.add_argument(
        "--workers",
        choices=[*ways, "whole"],
        nargs="+",
        default=ways,
        help="in parts: one process, two, clusters, a new cluster; whole: in one piece",
    )
    parser.add_argument("--trees", type=int, default=1, metavar="N", help="in parts: of a forest")
    parser.add_argument("--questions", type=int, default=4, metavar="N", help="in parts: of each tree of a forest")
    parser.add_argument("--publish", choices=["labels", "counts"], default="labels", help="in parts: by a forest")
    parser.add_argument("--grown-on", type=int, default=1_000_000, metavar="N", help="in parts: people of the tree")
    parser.add_argument("--memory", metavar="SIZE", help="in parts: that of the call")
    parser.add_argument("--kill-every", type=float, metavar="S", help="in parts: end a worker every so many seconds")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    call = parser.parse_args()
    if call.child:
        print(json.dumps(measure(*call.child, call)))
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = call.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if call.in_parts:
            from scale_parts import run_in_parts

            return run_in_parts(call, folder)
        rows = [run(n, call, folder) for n in sorted(set(call.sizes))]
    if call.json:
        print(json.dumps({"runs": rows, "exponents": exponents(rows, SIZE, GROWING) if len(rows) > 1 else None}))
    else:
        print(aligned([rows], COLUMNS, FORMATS, SIZE, GROWING))
    return 0


if __name__ == "__main__":
    sys.exit(main())
