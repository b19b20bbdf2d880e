"""The textbook model, the lifted one and the default path, side by side: python benchmarks/adult.py.

The release is the one of Zhu and Du (2010), section 5: a multiway tree over the UCI Adult data with education as the
sensitive attribute, and for smaller instances a tree grown on the people of some of the quasi-identifiers. Methods:

textbook  Pyomo over P(x|q), equations 1 to 4 as they are printed, solved by Ipopt in one piece (benchmarks/textbook.py)
lifted    the project's Pyomo model of the whole program, every quasi-identifier and constraint, by Ipopt in one piece
default   what `maxent estimate` does

Every run is a process of its own on one core. Seconds are those of the processor, which other work on it disturbs
least. The instance of textbook and lifted doubles until they fail; default solves all of these and the whole of Adult.
adult.csv is read from the folder in the environment variable MAXENT_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

METHODS = ("textbook", "lifted", "default")
SIZES = (25, 50, 100, 200, 400, 800, 1600, 3200)
WHOLE = "all"
DEFAULT_LIMIT = 10
"""The default path may take this many times the limit: it has to solve the whole of Adult too."""

COLUMNS = {
    "method": "method",
    "distinct_qi": "QIs",
    "individuals": "people",
    "internal": "internal",
    "build_seconds": "build s",
    "solve_seconds": "solve s",
    "memory_mb": "peak MB",
    "iterations": "iterations",
    "entropy": "entropy",
    "max_violation": "violation",
    "status": "status",
}
FORMATS = {"build_seconds": ".2f", "solve_seconds": ".2f", "memory_mb": ".0f", "entropy": ".6f", "max_violation": ".1e"}


def instance(size: str, impurity: str, publish: str, seed: int) -> tuple[Any, Any]:
    """(release, table of the adversary) of the people of ``size`` distinct quasi-identifiers drawn at random."""
    import numpy as np

    from maxent.models.induction.inducers import id3

    example = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "adult.py"))
    people, qi, target = example["adult"](), example["QI"], example["TARGET"]
    if size != WHOLE:
        group = people.groupby(qi, sort=True).ngroup().to_numpy()
        drawn = np.random.default_rng(seed).permutation(group.max() + 1)[: int(size)]
        people = people[np.isin(group, drawn)]
    release = id3(people, target=target, qi=qi, impurity=impurity, publish=publish, min_samples_split=8)  # type: ignore[arg-type]
    return release, people[qi]


def measure(method: str, size: str, impurity: str, publish: str, seed: int) -> dict[str, Any]:
    """One run in this process. Build time is all that is not spent inside Ipopt, but for imports and reading data."""
    import cyipopt
    import pyomo.environ  # noqa: F401

    if method == "textbook":
        import casadi  # noqa: F401

    from maxent.api.estimate import compile_release
    from maxent.constraints.program.residuals import Evaluator
    from maxent.disclosure.measures import conditional_entropy
    from maxent.solvers.backend import Options
    from maxent.solvers.backends.registry import load_backend
    from maxent.solvers.solve.driver import solve_program

    inside = {"seconds": 0.0, "iterations": 0}

    class Watched(cyipopt.Problem):  # type: ignore[misc]
        def __init__(self, **arguments: Any) -> None:
            super().__init__(**arguments)
            self.callbacks = arguments["problem_obj"]

        def solve(self, *arguments: Any, **options: Any) -> Any:
            begin = time.process_time()
            answer = super().solve(*arguments, **options)
            inside["seconds"] += time.process_time() - begin
            inside["iterations"] += self.callbacks.iterations
            return answer

    cyipopt.Problem = Watched
    release, table = instance(size, impurity, publish, seed)
    begin = time.process_time()
    program = compile_release(release, table)
    if method == "textbook":
        masses, status = solve_textbook(program, seed)
    else:
        lifted = method == "lifted"
        options = Options(seed=seed, presolve=False, starts=1) if lifted else Options(seed=seed)
        outcome = solve_program(program, load_backend("ipopt" if lifted else "auto"), options)
        masses, status = outcome.masses, outcome.status
    total = time.process_time() - begin
    violation = Evaluator(program).max_violation(masses)
    return {
        "individuals": program.table.individuals,
        "distinct_qi": len(program.table),
        "internal": sum(found.rows for found in program.internal),
        "build_seconds": total - inside["seconds"],
        "solve_seconds": inside["seconds"],
        "iterations": inside["iterations"],
        "entropy": conditional_entropy(program.posterior(masses), program.table.counts),
        "max_violation": violation,
        "status": status if violation <= 1e-8 or status != "optimal" else "inexact",
    }


def solve_textbook(program: Any, seed: int) -> tuple[Any, str]:
    """Masses, shape (n_quasi_identifiers, n_classes), and status of the textbook model.

    It starts where the other methods start: the answer without internal constraints, with noise, because
    the uniform distribution and that answer can be saddles.
    """
    import numpy as np
    from textbook import Textbook

    from maxent.constraints.presolve.merge import known_totals, needed, unmerged
    from maxent.constraints.presolve.parts import solve_leafwise
    from maxent.constraints.program.residuals import Evaluator

    keep = needed(program, known_totals(program), Evaluator(program).linear)
    masses, _ = solve_leafwise(program, unmerged(program), keep)
    start = np.maximum(masses / program.weight[:, None], 1e-6)
    start *= np.exp(0.1 * np.random.default_rng(seed).standard_normal(start.shape))
    start /= start.sum(axis=1, keepdims=True)
    p, status = Textbook(program, start).solve(start)
    return p * program.weight[:, None], "optimal" if status in (0, 1) else f"Ipopt stopped with {status}"


def child(call: argparse.Namespace) -> int:
    """Run one measurement under limits on time and memory and print it as JSON."""
    method, size = call.child
    seconds = limit_of(method, call)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    if call.memory:
        most = int(call.memory * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        print(json.dumps(measure(method, size, call.impurity, call.publish, call.seed)))
    except MemoryError:
        print(json.dumps({"status": "out of memory"}))
    except (FileNotFoundError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def limit_of(method: str, call: argparse.Namespace) -> int:
    """Seconds that one run may take, imports and all."""
    return int(call.limit * (DEFAULT_LIMIT if method == "default" else 1))


def spawn(method: str, size: str, call: argparse.Namespace) -> dict[str, Any]:
    """One measurement in a process of its own, with its peak memory."""
    command = [
        sys.executable,
        __file__,
        "--child",
        method,
        size,
        "--impurity",
        call.impurity,
        "--publish",
        call.publish,
    ]
    command += ["--seed", str(call.seed), "--memory", str(call.memory), "--limit", str(call.limit)]
    alone = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    row: dict[str, Any] = {"method": method, "distinct_qi": size}
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors, env=os.environ | alone)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        said, complaint = out.read(), errors.read()
    row["memory_mb"] = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    if code == 2:
        print(complaint.strip(), file=sys.stderr)
        raise SystemExit(2)
    if code == -signal.SIGXCPU:
        row["status"] = f"over {limit_of(method, call)} s"
    elif code:
        last = complaint.strip().splitlines()[-1:] or [""]
        memory = "MemoryError" in complaint or "bad_alloc" in complaint
        row["status"] = "out of memory" if memory else f"exit status {code} {last[0][:60]}".rstrip()
    else:
        row |= json.loads(said.splitlines()[-1])
    return row


def compare(call: argparse.Namespace) -> list[dict[str, Any]]:
    """All measurements, by instance."""
    rows = []
    growing = [m for m in METHODS if m != "default" and m in call.methods]
    for size in [*map(str, call.sizes), WHOLE]:
        if size != WHOLE and not growing:
            continue
        for method in METHODS:
            if method in growing or (method == "default" and method in call.methods):
                print(f"{method} on {size} quasi-identifiers ...", file=sys.stderr, flush=True)
                row = spawn(method, size, call)
                rows.append(row)
                if method in growing and row["status"] != "optimal":
                    growing.remove(method)
    return rows


def ratios(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Time and memory of each method over those of the default path, where both have solved the same instance."""
    solved = {(r["method"], r["distinct_qi"]): r for r in rows if r["status"] == "optimal"}
    found = []
    for (method, size), row in solved.items():
        base = solved.get(("default", size))
        if method == "default" or base is None:
            continue
        seconds = [r["build_seconds"] + r["solve_seconds"] for r in (row, base)]
        found.append(
            {
                "method": method,
                "distinct_qi": size,
                "time": seconds[0] / seconds[1],
                "memory": row["memory_mb"] / base["memory_mb"],
                "entropy_difference": row["entropy"] - base["entropy"],
            }
        )
    return found


def show(rows: list[dict[str, Any]]) -> str:
    """The measurements as an aligned table."""
    cells = [list(COLUMNS.values())]
    cells += [[format(row[key], FORMATS.get(key, "")) if key in row else "-" for key in COLUMNS] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    text = {0, len(COLUMNS) - 1}
    return "\n".join(
        "  ".join(
            c.ljust(w) if i in text else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--impurity", choices=["gini", "entropy"], default="gini")
    parser.add_argument("--publish", choices=["rates", "counts"], default="rates")
    parser.add_argument("--limit", type=int, default=60, metavar="SECONDS", help="of a textbook or lifted run")
    parser.add_argument("--memory", type=float, default=8, metavar="GB", help="of any run, 0 for no limit")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, metavar="N", help="distinct quasi-identifiers")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    call = parser.parse_args()
    if call.child:
        return child(call)
    rows = compare(call)
    if call.json:
        print(json.dumps({"runs": rows, "ratios": ratios(rows)}))
        return 0
    print(show(rows))
    for ratio in ratios(rows):
        print(
            "{method} over default, {distinct_qi} quasi-identifiers: time x{time:.1f}, memory x{memory:.1f}, "
            "entropy {entropy_difference:+.2e}".format(**ratio)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
