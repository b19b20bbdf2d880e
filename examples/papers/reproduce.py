"""Every experiment of five papers, all defenses side by side, and every figure of the documentation.

    MAXENT_DATA=/path/to/data PYTHONPATH=examples .venv/bin/python -m papers.reproduce [--only wakabayashi-2024]

runs the programs that the study files examples/papers/*/paper.toml name, one after the other, each in a process of
its own, with `OWN`, then `maxent sweep` on examples/studies/defenses.toml, and examples/plots.py. They fill in their
pages, each the README.md of the paper's folder or in docs/, and draw their figures; examples/papers/reproduction.md is
put together from the pages of papers. Results of the sweep go to results/, where an interrupted one continues. Exit
status 1: a program failed, and its page is as it was before; 2: data are missing, nothing was run.

With --check no page is written: the programs make their pages and figures in a folder of their own, and those that
differ are named, with exit status 1. Times and memory are taken from the pages. Figures are compared where the same
Matplotlib drew them.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from maxent.models.errors import InvalidInput
from maxent.models.files.output import write_text
from maxent.models.files.toml import toml_document
from papers.drawing import same_drawing
from papers.reproduction_page import PAGE, compose
from papers.study_files import ROOT, STUDIES, Paper, Program, load_papers, paper_names

MODULES = Path(__file__).parents[1]
"""The folder from which Python loads the programs, as modules of the package `papers`."""

FRONTIERS = ("adult", "nursery", "mushroom", "contraceptive", "bank_loan")
OWN = (
    Program(
        "frontiers",
        "docs/frontiers.md",
        tuple(f"frontiers_{name}.svg" for name in FRONTIERS),
        tuple(f"{name}.csv" for name in FRONTIERS),
    ),
    Program("seeds", "docs/seeds.md", ("seeds.svg",), ("adult.csv", "contraceptive.csv")),
)
"""Programs of our own studies, of no paper."""

SWEEPS = ("defenses",)
"""Studies of `maxent sweep` that belong to a reproduction."""

SCRIPTS = ("plots",)
"""Scripts in examples/ that draw figures, and need no data."""


@dataclass(frozen=True, slots=True)
class Step:
    """A process to run, and the files of MAXENT_DATA that it needs."""

    name: str
    command: tuple[str, ...]
    data: tuple[str, ...]


def steps(
    papers: Sequence[Paper], sweeps: Sequence[str], scripts: Sequence[str], root: Path, own: Sequence[Program] = ()
) -> Iterator[Step]:
    """The programs of some papers and our own, each once, the sweeps with the programs of their pages, the scripts."""
    programs = {each.name: each for each in (*(one for paper in papers for one in paper.programs), *own)}
    for needed in programs.values():
        yield Step(needed.name, program(needed.name, root / needed.folder), needed.data)
    for name in sweeps:
        study = STUDIES / f"{name}.toml"
        document = toml_document(study.read_text(encoding="utf-8"), str(study))
        files = [each["file"] for each in document["data"].values()]
        out = ROOT / "results" / name
        sweep = (sys.executable, "-m", "maxent", "sweep", str(study), "-o", str(out), "--jobs", "2")
        yield Step(f"sweep of {name}", sweep, tuple(files))
        yield Step(name, program(name, root / "docs"), ())
    for name in scripts:
        yield Step(name, (sys.executable, str(MODULES / f"{name}.py"), str(root / "docs" / "figures")), ())


def program(name: str, folder: Path) -> tuple[str, ...]:
    """How to call a module of examples/papers/ that fills in a page of a folder."""
    return sys.executable, "-m", f"papers.{name}", str(folder)


def missing(planned: Sequence[Step], folder: str | None) -> str:
    """What is to be said when data are not there, nothing when they are."""
    needed = {file: step.name for step in reversed(planned) for file in step.data}
    if needed and not folder:
        return f"set the environment variable MAXENT_DATA to the folder that holds {', '.join(sorted(needed))}"
    absent = [f"{file}, for {name}" for file, name in sorted(needed.items()) if not Path(folder or "", file).is_file()]
    return f"the folder {folder}, which MAXENT_DATA names, lacks {'; '.join(absent)}" if absent else ""


def run(planned: Sequence[Step]) -> list[str]:
    """Run all steps, and name those that fail."""
    failed = []
    for number, step in enumerate(planned, 1):
        note(f"[{number}/{len(planned)}] {step.name} ...")
        start = time.monotonic()
        status = subprocess.run(step.command, check=False, env={**os.environ, "PYTHONPATH": str(MODULES)}).returncode
        note(f"[{number}/{len(planned)}] {step.name}: status {status} after {time.monotonic() - start:.0f} s")
        if status:
            failed.append(step.name)
    return failed


TIMED = ("zhu_2010.study",)
"""Programs with the option --keep-times."""


def check(only: Sequence[str] | None, root: Path) -> int:
    """Make the pages again in a temporary folder. Name those that differ from the ones below ``root``."""
    papers = load_papers()
    names = only or [paper.name for paper in papers]
    programs = {one.name: one for paper in papers if paper.name in names for one in paper.programs}
    programs |= {one.name: one for one in OWN if one.name in names}
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        planned = []
        for each in programs.values():
            (made / each.folder).mkdir(parents=True, exist_ok=True)
            shutil.copy(root / each.page, made / each.folder)
            times = ("--keep-times",) if each.name in TIMED else ()
            planned.append(Step(each.name, (*program(each.name, made / each.folder), *times), each.data))
        if lacking := missing(planned, os.environ.get("MAXENT_DATA")):
            note(lacking)
            return 2
        failed = run(planned)
        files = {name for each in programs.values() for name in each.files}
        changed = sorted(name for name in files if not same(made / name, root / name))
    for name in changed:
        note(f"{root / name} is not what its program makes")
    if failed:
        note(f"failed: {', '.join(failed)}")
    note(f"{len(programs)} pages and {len(files) - len(programs)} figures made again, {len(changed)} differ")
    return 1 if failed or changed else 0


def same(made: Path, committed: Path) -> bool:
    """Whether a page has the same bytes, and a figure the same drawing if the same Matplotlib drew both."""
    if not made.is_file():
        return False
    if made.suffix != ".svg":
        return made.read_bytes() == committed.read_bytes()
    tools = [re.findall("Matplotlib v[^,<]*,", path.read_text(encoding="utf-8")) for path in (made, committed)]
    return tools[0] != tools[1] or same_drawing(made, committed)


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    names = [*paper_names(), *(each.name for each in OWN), *SWEEPS, *SCRIPTS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--only", action="append", choices=names, help="run this study only; may be given more than once"
    )
    which.add_argument("--page", action="store_true", help=f"run nothing: only put {PAGE} together again")
    parser.add_argument("--root", type=Path, default=ROOT, help="folder of docs/ and examples/ (default: the project)")
    which_is_as_it_was = "write nothing: name the pages and figures that are no longer what their programs make"
    parser.add_argument("--check", action="store_true", help=which_is_as_it_was)
    call = parser.parse_args(arguments)
    if call.check:
        return check(call.only, call.root)
    chosen = [] if call.page else call.only or names
    try:
        papers = load_papers()
        sweeps, scripts = ([name for name in kind if name in chosen] for kind in (SWEEPS, SCRIPTS))
        own = [each for each in OWN if each.name in chosen]
        planned = list(steps([paper for paper in papers if paper.name in chosen], sweeps, scripts, call.root, own))
    except InvalidInput as error:
        note(str(error))
        return 2
    if planned and (lacking := missing(planned, os.environ.get("MAXENT_DATA"))):
        note(lacking)
        return 2
    failed = run(planned)
    try:
        write_text(call.root / PAGE, compose(papers, call.root), public=True)
    except (OSError, ValueError) as error:
        note(f"{PAGE} is left as it was: {error}")
        return 1
    if failed:
        note(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
