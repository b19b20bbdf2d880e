"""Versions of this project side by side: make bench, python benchmarks/versions.py [--before REVISION ...] [--runs N].

Twelve tasks, each one command in a process of its own, of two or more versions in alternation. A version is a git
revision, or `now` for the files as they are. Each gets a worktree and an environment in build/bench, with the libraries
of this environment, so that versions differ alone. A version that lacks a command is measured at the first commit that
has it, which the row names. The least of the runs counts; what gave no answer is not run again. docs/benchmarks.md is
written anew.

One pass is what it takes to read a task's files, and once to write a number for each person and class, at the memory
bandwidth that is measured in the same run. Adult is read from the folder in MAXENT_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "bench"
NOW = "now"
PAGE = ROOT / "docs" / "benchmarks.md"
LIMIT = 150
"""Seconds on the clock that a command may take."""

READ = """import sys
try:
    from maxent.models.formats.registry import load_release
except ImportError:
    from maxent.models.reader import load_release
load_release(sys.argv[1])
"""


@dataclass(frozen=True)
class Task:
    """A command, with the names of files in the folder of inputs, and who makes these.

    ``since`` is the first commit that has the command, where it is younger than versions it is compared with.
    """

    name: str
    arguments: tuple[str, ...]
    make: Callable[[Path], object] = field(default=lambda folder: None)
    since: str = ""


def d1(folder: Path) -> None:
    """Eleven people."""
    for name in ("tree.json", "qi.csv"):
        (folder / f"d1.{name}").write_bytes((ROOT / "examples" / "d1" / name).read_bytes())


def adult(impurity: str, publish: str) -> Callable[[Path], None]:
    """The tree of Zhu and Du (2010) on Adult."""

    def make(folder: Path) -> None:
        from adult import instance

        release, table = instance("all", impurity, publish, 0)
        release.save(folder / f"{impurity}.{publish}.json")
        table.to_csv(folder / "adult.qi.csv", index=False)

    return make


def million(folder: Path) -> None:
    """10^6 quasi-identifiers, and 24,454 comparisons of splits."""
    from scale import write_instance

    call = argparse.Namespace(seed=0, impurity="gini", split=300, format="parquet")
    write_instance(1_000_000, call, folder)


# Keys of releases that older versions refuse.
NEWER = ("among", "draws", "predicts")


def plain(value: Any) -> Any:
    """A release as older versions read it, too."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if key not in NEWER}
    return [plain(each) for each in value] if isinstance(value, list) else value


def forest(name: str, trees: int, depth: int | None, target: str, noise: str | None = None) -> Callable[[Path], None]:
    """A forest of scikit-learn on Adult, its people, and these with their classes."""

    def make(folder: Path) -> None:
        import pandas as pd
        from forests import TARGETS, Forest, write_forest

        data = Path(os.environ["MAXENT_DATA"])
        with tempfile.TemporaryDirectory() as place:
            release, table = write_forest(Forest(trees, depth, target, noise), data, Path(place))
            (folder / f"{name}.json").write_text(json.dumps(plain(json.loads(release.read_text()))))
            (folder / f"{name}.csv").write_bytes(table.read_bytes())
        people = pd.read_csv(data / "adult.csv", dtype=str)
        people = people[(people["fold"] == "train") & ~(people == "?").any(axis=1)]
        column, qi = TARGETS[target]
        people[[*qi, column]].to_csv(folder / f"{name}.train.csv", index=False)

    return make


def leaves(folder: Path) -> None:
    """A tree of 10^6 leaves."""
    from audit import write_release

    write_release(folder / "leaves.json", 1_000_000, "binary", "whole", 0)


def nodes(folder: Path) -> None:
    """A forest of 10^6 nodes."""
    from reading import write_forest

    write_forest(folder / "nodes.json", 999, 1_001, 0)


MILLION = ("estimate", "1000000.release.json", "1000000.qi.parquet", "--count", "count", "--json")
QI = "age,workclass,education,marital-status,occupation,relationship,race,sex,native-country"
TASKS = (
    Task("D1", ("estimate", "d1.tree.json", "d1.qi.csv", "--json"), d1),
    Task("Adult, counts", ("estimate", "gini.counts.json", "adult.qi.csv", "--json"), adult("gini", "counts")),
    Task("Adult, rates, Gini", ("estimate", "gini.rates.json", "adult.qi.csv", "--json"), adult("gini", "rates")),
    Task(
        "Adult, rates, entropy", ("estimate", "entropy.rates.json", "adult.qi.csv", "--json"), adult("entropy", "rates")
    ),
    Task("10^6 with comparisons", MILLION, million),
    Task("10^6 with comparisons, --jobs 2", (*MILLION, "--jobs", "2"), million),
    Task("10 x depth 6, 16 classes", ("estimate", "f10.json", "f10.csv", "--json"), forest("f10", 10, 6, "education")),
    Task("100 x depth 8", ("estimate", "f100.json", "f100.csv", "--json"), forest("f100", 100, 8, "income")),
    Task(
        "default forest, likelihood",
        ("estimate", "drawn.json", "drawn.csv", "--noise", "likelihood", "--json"),
        forest("drawn", 100, 8, "income", "likelihood"),
        "b2550a64",
    ),
    Task("audit of 10^6 leaves", ("audit", "leaves.json", "--json"), leaves),
    Task("reading 10^6 nodes", ("nodes.json",), nodes),
    Task(
        "review of Adult's tree",
        ("review", "tree.json", "tree.train.csv", "--target", "class", "--qi", QI, "--json"),
        forest("tree", 1, None, "income"),
        "c474d72b",
    ),
)


@dataclass(frozen=True)
class Used:
    """What a command took: seconds, megabytes, and the quasi-identifiers times classes that it says it was about."""

    user: float
    system: float
    wall: float
    memory: float
    cells: int
    ended: bool


def environment(revision: str) -> Path:
    """The interpreter of an environment with a version of this project."""
    if revision == NOW:
        return compiled(Path(sys.executable), ROOT)
    tree = BUILD / revision
    python = tree / ".venv" / "bin" / "python"
    if not python.exists():
        git("worktree", "prune")
        git("worktree", "add", "--force", "--detach", str(tree), revision)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tree / ".venv")], check=True)
        site = next((tree / ".venv" / "lib").glob("python*")) / "site-packages"
        (site / "libraries.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")) + "\n")
        install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "-e", "."]
        subprocess.run(install, cwd=tree, check=True)
        compiled(python, tree)
    return python


def compiled(python: Path, tree: Path) -> Path:
    """An interpreter, for which a version is compiled: where Python may not do that, it takes 0.15 s in each run."""
    subprocess.run([str(python), "-m", "compileall", "-q", "maxent", "models", "constraints", "solvers"], cwd=tree)
    return python


def git(*arguments: str) -> str:
    """What git says."""
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True).stdout


def has(revision: str, since: str) -> bool:
    """Whether a revision is, or follows, another one."""
    where = "HEAD" if revision == NOW else revision
    return not subprocess.run(["git", "-C", str(ROOT), "merge-base", "--is-ancestor", since, where]).returncode


def run(python: Path, task: Task, folder: Path) -> Used:
    """One command, which is given up after some time."""
    start = [str(python), "-c", READ] if len(task.arguments) == 1 else [str(python), "-m", "maxent"]
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen([*start, *task.arguments], cwd=folder, stdout=out, stderr=subprocess.DEVNULL)
        while True:
            found, status, usage = os.wait4(process.pid, os.WNOHANG)
            if found:
                break
            if time.perf_counter() - begin > LIMIT:
                process.kill()
            time.sleep(0.005)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - begin
        out.seek(0)
        said = out.read()
    cells = 0
    if said.startswith("{"):
        answer = json.loads(said)
        cells = int(answer.get("distinct_qi", 0)) * int(answer.get("classes", 0) or 0)
    memory = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return Used(usage.ru_utime, usage.ru_stime, wall, memory, cells, process.returncode in (0, 1))


def alone(work: Callable[..., object], *arguments: object) -> object:
    """What a function returns, in a process of its own: memory of this one would count as that of the commands."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def make(number: int, folder: Path) -> None:
    """The files of a task."""
    TASKS[number].make(folder)


def bandwidth() -> float:
    """Bytes a second that one pass over memory reads, or writes."""
    import numpy as np

    held, copy = np.ones(1 << 25), np.empty(1 << 25)
    least = float("inf")
    for _ in range(7):
        begin = time.perf_counter()
        np.copyto(copy, held)
        least = min(least, time.perf_counter() - begin)
    return 2 * held.nbytes / least


def best(runs: Sequence[Used]) -> Used:
    """The least of each number."""
    return Used(
        *(min(getattr(each, name) for each in runs) for name in ("user", "system", "wall", "memory")),
        max(each.cells for each in runs),
        all(each.ended for each in runs),
    )


NUMBERS = ("CPU s", "of it system", "wall s", "peak MB", "CPU, times", "wall, times", "one pass, ms", "passes")
TITLES = ("task", "version", *NUMBERS)


def rows(task: Task, found: dict[str, list[Used]], speed: float, folder: Path) -> Iterator[str]:
    """The lines of a task in the table; its first version is what others are compared with."""
    files = sum((folder / name).stat().st_size for name in task.arguments if (folder / name).is_file())
    first: Used | None = None
    for version, runs_of in found.items():
        used = best(runs_of)
        seconds = used.user + used.system
        first = first or used
        cells = max(each.cells for runs in found.values() for each in runs)
        once = max((files + 8 * cells) / speed, 1e-9)
        wall = f"{used.wall:.2f}" if used.ended else f"no answer ({used.wall:.0f})"
        ratios = f"{seconds / (first.user + first.system):.2f} | {used.wall / first.wall:.2f}"
        numbers = f"{seconds:.2f} | {used.system:.2f} | {wall} | {used.memory:.0f} | {ratios}"
        yield f"| {task.name} | {version} | {numbers} | {1e3 * once:.2g} | {seconds / once:,.0f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", nargs="+", default=["HEAD~1"], metavar="REVISION", help="older versions")
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="alternations")
    parser.add_argument("--only", metavar="TEXT", default="", help="tasks with this in their names")
    parser.add_argument("--print", action="store_true", help="print the table alone")
    call = parser.parse_args()
    tasks = [task for task in TASKS if call.only in task.name]
    if "MAXENT_DATA" not in os.environ:
        parser.error("MAXENT_DATA has to name the folder with adult.csv")
    versions = [git("rev-parse", "--short", each).strip() for each in call.before] + [NOW]
    folder = BUILD / "inputs"
    folder.mkdir(parents=True, exist_ok=True)
    speed = float(str(alone(bandwidth)))
    table = ["| " + " | ".join(TITLES) + " |", "| --- | --- |" + " ---: |" * (len(TITLES) - 2)]
    for task in tasks:
        if not all(
            (folder / each).is_file() for each in task.arguments if each.endswith((".json", ".csv", ".parquet"))
        ):
            alone(make, TASKS.index(task), folder)
        mine = [each if not task.since or has(each, task.since) else task.since for each in versions]
        found: dict[str, list[Used]] = {each: [] for each in mine}
        for _ in range(call.runs):
            for version in found:
                if found[version] and not found[version][-1].ended:
                    continue  # it would not answer again
                found[version].append(run(environment(version), task, folder))
        lines = list(rows(task, found, speed, folder))
        print("\n".join(lines), flush=True)
        table += lines
    if not call.print:
        about = f"{os.cpu_count()} cores, {call.runs} runs of each in alternation, {speed / 1e9:.1f} GB/s"
        below = PAGE.read_text().partition("\n## ")
        PAGE.write_text(page(about, "\n".join(table), git("rev-parse", "--short", "HEAD").strip()) + "".join(below[1:]))
    return 0


def page(about: str, table: str, now: str) -> str:
    """The page of the documentation."""
    return f"""# Benchmarks

`make bench BEFORE=988728d RUNS=5` writes this page: the least of each number over runs in alternation. *Times* are
relative to the first version of a task, which is the first commit that has the command where 988728d lacks it; `now`
is {now}. *One pass* reads a task's files and writes a number for each person and class, at the bandwidth of memory
measured in the same run; *passes* are how many of these the processor seconds are, which benchmarks/README.md explains.
Machine: {about}.

{table}

What else was measured, and how to repeat it, and why a task takes longer than before, is in `benchmarks/README.md`.
"""


if __name__ == "__main__":
    sys.exit(main())
