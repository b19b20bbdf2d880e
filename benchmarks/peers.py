"""Beside others, on the same cross tables: make peers, then python benchmarks/peers.py [--columns N ...].

Adult's training people with a few columns that the adversary knows, and the printed cross tables of each two of these
with the income: the maximum-entropy estimate of everybody's income. mbi (private-pgm), ipfn and pytauargus are in
environments of their own (.peers/), CVXPY with Clarabel (and MOSEK, where licensed) in this one; HiGHS and pytauargus
answer the smallest and the largest number of people of each cell that agrees with the tables, two linear programs a
cell. Each is a process of its own, reading included. The section of docs/benchmarks.md is written anew.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = ("sex", "race", "relationship", "marital-status", "workclass", "occupation", "education")
TARGET = "class"
LIMIT = 300
"""Seconds on the clock that each may take."""

PAGE = ROOT / "docs" / "benchmarks.md"
HEADING = "## Beside others"
ABOUT = """`make peers`, then `python benchmarks/peers.py`, writes this section. Stated are everybody's columns and
the cross tables of each two of them with the income: Adult's 30,162 training people. *Violation*: people that a table
is off by (ours: a probability). *Open*: people whose cell may have more than one number of the first class. mbi
weighs the tables against each other, and needs many more than its 1,000 steps for further digits; ipfn scales to one
table after another. Clarabel solves one cone program; HiGHS and pytauargus (tau-argus' audit, by HiGHS) go from basis
to basis, without the proofs in exact arithmetic that `bounds` makes."""


def write_instance(columns: int, folder: Path) -> None:
    """The people, their cross tables as a document of statements, and as arrays."""
    import pandas as pd

    data = pd.read_csv(Path(os.environ["MAXENT_DATA"]) / "adult.csv", dtype=str)
    data = data[(data["fold"] == "train") & ~(data == "?").any(axis=1)]
    names = list(COLUMNS[:columns])
    codes = [pd.factorize(data[name], sort=True) for name in (*names, TARGET)]
    shape = [len(values) for _, values in codes]
    counts = np.zeros(shape, np.int64)
    np.add.at(counts, tuple(code for code, _ in codes), 1)
    np.savez(folder / "counts.npz", people=counts.sum(axis=-1), truth=counts)
    data[names].to_csv(folder / "qi.csv", index=False)
    classes = [str(each) for each in codes[-1][1]]
    statements = []
    for a, b in combinations(range(columns), 2):
        other = tuple(axis for axis in range(columns) if axis not in (a, b))
        table, there = counts.sum(axis=other), counts.sum(axis=(*other, columns))
        cells = [
            {"at": [str(codes[a][1][i]), str(codes[b][1][j])], "class": classes[0], "count": int(table[i, j, 0])}
            for i, j in zip(*np.nonzero(there), strict=True)
        ]
        by = [names[a], names[b]]
        statements.append({"kind": "table", "by": by, "cells": cells, "source": f"{by[0]} by {by[1]}"})
    target = {"name": TARGET, "classes": classes}
    document = {"format": "maxent-statements/1", "target": target, "individuals": len(data), "statements": statements}
    (folder / "tables.json").write_text(json.dumps(document))


def tables_of(counts: np.ndarray) -> list[tuple[tuple[int, ...], np.ndarray]]:
    """What is stated: everybody's columns, and each two of them with the class."""
    n = counts.ndim - 1
    pairs = [(a, b, n) for a, b in combinations(range(n), 2)]
    every = [tuple(range(n)), *pairs]
    return [(axes, counts.sum(axis=tuple(set(range(n + 1)) - set(axes))).astype(float)) for axes in every]


def measured(mass: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Entropy of the classes given the columns, nats per person, and the largest error of a table, in people."""
    people = mass.sum(axis=-1, keepdims=True)
    share = np.divide(mass, people, out=np.ones_like(mass), where=people > 0)
    entropy = -float((mass * np.log(np.where(share > 0, share, 1.0))).sum() / truth.sum())
    off = [
        np.abs(mass.sum(axis=tuple(set(range(truth.ndim)) - set(axes))) - table).max()
        for axes, table in tables_of(truth)
    ]
    return {"entropy": entropy, "violation": float(max(off))}


# Those who answer: each is called in a process of its own with the people and the true table.


def by_mbi(people: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """mbi 2 by mirror descent over exact marginals."""
    import jax

    jax.config.update("jax_enable_x64", True)
    from mbi import Domain, LinearMeasurement
    from mbi.estimation import MirrorDescent

    names = [f"c{i}" for i in range(truth.ndim)]
    stated = [LinearMeasurement(table.ravel(), tuple(names[a] for a in axes)) for axes, table in tables_of(truth)]
    model = MirrorDescent().estimate(Domain(names, truth.shape), stated, known_total=float(truth.sum()), iters=1000)
    return measured(np.asarray(model.project(tuple(names)).datavector(), float).reshape(truth.shape), truth)


def by_ipfn(people: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """ipfn: each table in turn is met by scaling."""
    from ipfn import ipfn

    stated = tables_of(truth)
    start = np.repeat(people[..., None] / truth.shape[-1], truth.shape[-1], axis=-1).astype(float)
    fit = ipfn.ipfn(
        start, [t for _, t in stated], [list(axes) for axes, _ in stated], convergence_rate=1e-9, rate_tolerance=0.0
    )
    return measured(np.asarray(fit.iteration(), float), truth)


def rows_of(people: np.ndarray, truth: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """The rows of a matrix over masses of the first class of those who are there, what they add up to, and who."""
    from scipy import sparse

    there = np.flatnonzero(people.ravel())
    at = np.unravel_index(there, people.shape)
    rows, right = [], []
    for axes, table in tables_of(truth)[1:]:
        place = np.ravel_multi_index([at[a] for a in axes[:-1]], table.shape[:-1])
        rows.append(sparse.csr_matrix((np.ones(len(there)), (place, np.arange(len(there))))))
        right.append(table[..., 0].ravel()[: rows[-1].shape[0]])
    matrix, sums = sparse.vstack(rows).tocsr(), np.concatenate(right)
    used = np.diff(matrix.indptr) > 0
    return matrix[used], sums[used], there


def by_cvxpy(people: np.ndarray, truth: np.ndarray, solver: str) -> dict[str, float]:
    """CVXPY: the largest sum of entropies, with a conic solver. Two classes."""
    import cvxpy as cp

    matrix, sums, there = rows_of(people, truth)
    w = people.ravel()[there].astype(float)
    mass = cp.Variable(len(there))
    entropy = cp.sum(-cp.rel_entr(mass, w) - cp.rel_entr(w - mass, w))
    cp.Problem(cp.Maximize(entropy), [matrix @ mass == sums]).solve(solver=solver)
    full = np.zeros((people.size, 2))
    full[there] = np.column_stack([mass.value, w - mass.value])
    return measured(full.reshape(truth.shape), truth)


def by_highs(people: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """HiGHS: the smallest and the largest whole number of the first class in each cell; people in open cells."""
    import highspy

    matrix, sums, there = rows_of(people, truth)
    w = people.ravel()[there].astype(float)
    model, lp = highspy.Highs(), highspy.HighsLp()
    model.setOptionValue("output_flag", False)
    lp.num_col_, lp.num_row_ = len(there), len(sums)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.zeros(len(there)), np.zeros(len(there)), w
    lp.row_lower_ = lp.row_upper_ = sums
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    model.passModel(lp)
    ends = np.zeros((2, len(there)))
    for cell in range(len(there)):
        for side, cost in enumerate((1.0, -1.0)):
            model.changeColCost(cell, cost)
            model.run()
            ends[side, cell] = cost * model.getInfo().objective_function_value
        model.changeColCost(cell, 0.0)
    wide = np.floor(ends[1] + 1e-6) > np.ceil(ends[0] - 1e-6)
    return {"individuals_open": float(w[wide].sum())}


def by_pytauargus(people: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """pytauargus: the audit of tau-argus, which bounds each cell that is not printed; people in open cells."""
    matrix, sums, there = rows_of(people, truth)
    w = people.ravel()[there]
    lines = [f"{i} 0 1 u 0 {n} 0 0 0" for i, n in enumerate(w.tolist())]
    lines += [f"{i} {n:.0f} 1 s {n:.0f} {n:.0f} 0 0 0" for i, n in enumerate(sums.tolist(), len(w))]
    rows = [
        f"0 {len(part) + 1} : {i} (-1) {' '.join(f'{cell} (1)' for cell in part.tolist())}"
        for i, part in enumerate(np.split(matrix.indices, matrix.indptr[1:-1]), len(w))
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tables.jj"
        path.write_text("\n".join(["0", str(len(lines)), *lines, str(len(rows)), *rows, ""]))
        ask = "import json, sys; from pytauargus._tauargus import audit_jj; print(json.dumps(audit_jj(sys.argv[1])))"
        told = subprocess.run([python_of("pytauargus"), "-c", ask, path], capture_output=True, check=True, text=True)
    found = [each for each in json.loads(told.stdout[told.stdout.index("[") :]) if each["cell"] < len(w)]
    wide = [np.floor(each["max"] + 1e-6) > np.ceil(each["min"] - 1e-6) for each in found]
    return {"individuals_open": float(w[[each["cell"] for each in found]][wide].sum())}


def by_clarabel(people: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """CVXPY with Clarabel."""
    return by_cvxpy(people, truth, "CLARABEL")


def by_mosek(people: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """CVXPY with MOSEK, which needs a licence."""
    return by_cvxpy(people, truth, "MOSEK")


PEERS: Mapping[str, Callable[[np.ndarray, np.ndarray], dict[str, float]]] = {
    "mbi": by_mbi,
    "ipfn": by_ipfn,
    "clarabel": by_clarabel,
    "mosek": by_mosek,
    "highs": by_highs,
    "pytauargus": by_pytauargus,
}
OURS = {
    "maxent estimate": ("estimate", "tables.json", "qi.csv", "--json"),
    "maxent estimate --backend ipopt": ("estimate", "tables.json", "qi.csv", "--backend", "ipopt", "--json"),
    "maxent bounds --level linear": ("bounds", "tables.json", "qi.csv", "--level", "linear", "--json"),
}


def answer(peer: str, folder: Path) -> None:
    """What a peer finds, as JSON."""
    held = np.load(folder / "counts.npz")
    print(json.dumps(PEERS[peer](held["people"], held["truth"])))


def run(command: list[str], folder: Path) -> dict[str, Any] | str:
    """What a command prints, with its processor seconds and its peak memory; or why it has no answer."""
    before = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as said:
        running = subprocess.Popen(command, cwd=folder, stdout=out, stderr=said, text=True)
        used = None
        while used is None and time.monotonic() - before < LIMIT:
            ended, _, spent = os.wait4(running.pid, os.WNOHANG)
            used = spent if ended else None
            time.sleep(0.01)
        if used is None:
            running.kill()
            return f"over {LIMIT} s"
        out.seek(0)
        said.seek(0)
        try:
            text = out.read()
            found = json.loads(text[text.index("{") :])
        except ValueError:
            return (said.read().strip().splitlines() or ["no answer"])[-1].rpartition(": ")[2]
    return {**found, "seconds": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss / 1024}


def python_of(peer: str) -> str:
    """The interpreter of an environment of ``make peers``."""
    return str(ROOT / ".peers" / peer / "bin" / "python")


def command_of(name: str) -> list[str]:
    """The command of one of ours, or of a peer in its environment."""
    if name in OURS:
        return [sys.executable, "-m", "maxent", *OURS[name]]
    return [python_of(name) if name in ("mbi", "ipfn") else sys.executable, __file__, "--as", name, "."]


def row(name: str, found: dict[str, Any] | str) -> str:
    """A row of the table."""
    if isinstance(found, str):
        return f"| {name} | - | - | - | - | {found} |"
    entropy, off = found.get("entropy"), found.get("violation", found.get("max_violation"))
    told = "" if entropy is None else f"{entropy:.8f}"
    missed = "" if off is None else f"{off:.1e}"
    more = found.get("certificate") or ""
    if "individuals_open" in found:
        more = f"{found['individuals_open']:,.0f} people open"
    return f"| {name} | {found['seconds']:.2f} | {found['megabytes']:.0f} | {told} | {missed} | {more} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, nargs="+", default=[4, 5, 6], help="columns that the adversary knows")
    parser.add_argument("--as", dest="peer", choices=[*PEERS, "instance"], help=argparse.SUPPRESS)
    parser.add_argument("folder", nargs="?", type=Path, help=argparse.SUPPRESS)
    call = parser.parse_args()
    if call.peer == "instance":
        write_instance(*call.columns, call.folder)
        return 0
    if call.peer:
        answer(call.peer, call.folder)
        return 0
    lines = []
    for columns in call.columns:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            ask = [".", "--as", "instance", "--columns", str(columns)]
            subprocess.run([sys.executable, __file__, *ask], cwd=folder, check=True)
            held = np.load(folder / "counts.npz")
            many, cells, tables = np.count_nonzero(held["people"]), held["people"].size, columns * (columns - 1) // 2
            lines.append(
                f"\n{columns} columns: {many:,} combinations that are there, of {cells:,}; {tables} cross tables"
            )
            lines.append(
                "\n| program | CPU s | peak MB | entropy | violation | |\n| --- | ---: | ---: | ---: | ---: | --- |"
            )
            print("\n".join(lines[-2:]))
            for name in (*OURS, *PEERS):
                lines.append(row(name, run(command_of(name), folder)))
                print(lines[-1], flush=True)
    write_section("\n".join(lines))
    return 0


def write_section(table: str) -> None:
    """The section of the documentation; what stands above it stays."""
    above = PAGE.read_text().partition(f"\n{HEADING}\n")[0]
    PAGE.write_text(f"{above}\n{HEADING}\n\n{ABOUT}\n{table}\n")


if __name__ == "__main__":
    sys.exit(main())
