"""One Adult tree before this project and two others.

    MAXENT_DATA=/path/to/data PYTHONPATH=examples python -m papers.peers.compare --env DIR

The tree is the one of papers/wakabayashi_2024: scikit-learn's, depth 7, grown from four fifths of UCI Adult.
`maxent.audit` and `maxent.estimate`, SACRO-ML's structural attack, and ART's white-box attribute inference are each
installed in a virtual environment of their own below DIR (about 4 GB; found again by the next run), and run in a
process of their own. Writes the tables of this folder's README.md; a tool that does not install or run here gets a
column that says why.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from papers.peers.environments import PEERS, NotInstalled, Peer, install, python_of
from papers.peers.page import tables
from papers.tables import fill

HERE = Path(__file__).parent
PAGE = HERE / "README.md"
ATTRIBUTE = "relationship"
"""What ART guesses; the tree's root tests it."""

PEOPLE = 2000
"""Members, and as many people who are not, for whom ART guesses: it takes some milliseconds for each."""

REPEATED = 3
"""Imports, of which the fastest counts: the others had to read from disk."""


def write_instance(folder: Path) -> None:
    """The tree, and the records it was grown from and is tested on, as each tool takes them."""
    import numpy as np

    from maxent.models.induction.inducers import encode
    from papers.wakabayashi_2024.protocol import ADULT, DEPTH

    train, test = ADULT.split(0)
    training = ADULT.training
    _, x = encode(training, "ordinal")
    names = [attribute.name for attribute in training.attributes]
    about = {"depth": DEPTH, "attribute": names.index(ATTRIBUTE), "people": PEOPLE}
    split = {"x": x[train], "y": training.y[train], "x_test": x[test], "y_test": training.y[test]}
    np.savez(folder / "instance.npz", **split, **about)
    ADULT.grow(DEPTH, 0).save(folder / "tree.json")
    ADULT.frame.iloc[train].to_csv(folder / "truth.csv", index=False)
    ADULT.frame.iloc[train].drop(columns=ADULT.target).to_csv(folder / "qi.csv", index=False)


def measured(command: list[str]) -> dict[str, float]:
    """Processor seconds, wall seconds and peak memory (MB) of a process.

    Raises
    ------
    RuntimeError
        With its last line when it fails.
    """
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": said, "cwd": tempfile.gettempdir()}
        process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, **quiet)  # type: ignore[call-overload]
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            raise RuntimeError((said.read().strip().splitlines() or [f"exit status {process.returncode}"])[-1])
    memory = usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return {"cpu": usage.ru_utime + usage.ru_stime, "wall": time.perf_counter() - begin, "mb": memory}


def run(peer: Peer, env: Path, folder: Path) -> dict[str, Any]:
    """Everything about a tool; ``refused`` says why there is nothing else."""
    try:
        found: dict[str, Any] = {"installed": asdict(install(peer, env))}
    except NotInstalled as error:
        return {"refused": f"does not install: {error}"}
    python, result = str(python_of(env)), folder / f"{peer.distribution}.json"
    instance = folder if peer.name == "maxent" else folder / "instance.npz"
    try:
        for name, code in (("bare", "pass"), ("import", peer.imports)):
            tries = [measured([python, "-c", code]) for _ in range(REPEATED)]
            found[name] = min(tries, key=lambda taken: taken["cpu"])
        found["run"] = measured([python, str(HERE / peer.script), str(instance), str(result)])
    except RuntimeError as error:
        return {"refused": f"does not run: {error}"}
    return found | {"found": json.loads(result.read_text(encoding="utf-8"))}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--env", type=Path, required=True, metavar="DIR", help="where the environments are, or are made"
    )
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE")
    call = parser.parse_args()
    call.env.mkdir(parents=True, exist_ok=True)
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        write_instance(Path(scratch))
        for peer in PEERS:
            print(f"{peer.name} ...", file=sys.stderr, flush=True)
            results[peer.name] = run(peer, call.env.resolve() / peer.distribution, Path(scratch))
    (call.env / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")
    page = fill(call.page.read_text(encoding="utf-8"), tables(results))
    call.page.write_text(page, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
