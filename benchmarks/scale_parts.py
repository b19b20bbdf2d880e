"""Estimates in parts of up to tens of millions of people, measured: python benchmarks/scale.py --in-parts.

Whole calls of `maxent estimate -o FOLDER/`, from reading to the last file of posteriors: seconds of the clock (on a
quiet machine), of all processors, and the peak memory of every process. Modules are compiled to bytecode before, as
they are when a package is installed. ``dask1`` and ``dask2`` are calls on a cluster of one worker and of two that is
running and has loaded its libraries; ``local`` starts a cluster and ends it. People are drawn evenly from the domain of
attributes of scale.py and one of 500 districts, so that nearly all are different; a multiway tree is grown on at most
``--grown-on`` of them, and published with its error rates alone.

With ``--trees N`` it is a forest that is published, with the labels of all people (or the counts): each tree asks some
``--questions``, whether the value of an attribute is in a random half of its values, the same ones of everybody.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from scale import ATTRIBUTES, CLASSES, exponents

DISTRICTS = 500
ROWS = 1 << 20
"""Rows that are made together, and of a row group."""

WORKERS = {"one": [], "jobs": ["--jobs", "2"], "local": ["--dask", "local:2"], "whole": []}
"""What each way of working adds to the call; the last is in one piece."""

RUNNING = {"dask1": 1, "dask2": 2}
"""Workers of the clusters that run before the call, by the way of working."""

SMALL = Path(__file__).parents[1] / "examples" / "d1"

CLUSTER = """
import sys
from importlib import import_module
from distributed import Client, LocalCluster

def load():
    for name in ("api.out_of_core.scan", "api.out_of_core.opened", "solvers.workers"):
        import_module(f"maxent.{name}")
    import pyarrow.compute, pyarrow.parquet, scipy.linalg

if __name__ == "__main__":
    workers = int(sys.argv[1])
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster:
        with Client(cluster) as client:
            client.run(load)
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""
"""Starts a cluster, says where it is, and ends it when nobody needs it any longer."""


def sizes() -> dict[str, int]:
    return {**ATTRIBUTES, "district": DISTRICTS}


def blocks(n: int, seed: int) -> Iterator[tuple[Any, Any, Any]]:
    """Codes, shape (n_rows, n_attributes), individuals of each row, and a class of each, block by block."""
    import numpy as np

    of_value = [
        np.random.default_rng((seed, j)).standard_normal((size, CLASSES)) for j, size in enumerate(sizes().values())
    ]
    for block, begin in enumerate(range(0, n, ROWS)):
        rng = np.random.default_rng((seed, 1000 + block))
        rows = min(ROWS, n - begin)
        codes = np.column_stack([rng.integers(0, size, rows, dtype=np.int16) for size in sizes().values()])
        score = sum(weight[code] for weight, code in zip(of_value, codes.T, strict=True))
        classes = (score + rng.gumbel(size=score.shape)).argmax(axis=1)
        yield codes, rng.choice([1, 2, 3], rows, p=[0.6, 0.25, 0.15]), classes


def arrow(codes: Any, **more: Any) -> Any:
    """A table of the attributes, and of other columns."""
    import numpy as np
    import pyarrow as pa

    columns = {}
    for j, (name, size) in enumerate(sizes().items()):
        values = pa.array([f"{name}-{v}" for v in range(size)])
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes[:, j].astype(np.int32)), values)
    return pa.table({**columns, **{name: pa.array(values) for name, values in more.items()}})


def write_instance(n: int, call: argparse.Namespace, folder: Path) -> tuple[Path, Path]:
    """The release and the adversary's table, as files."""
    import numpy as np
    import pandas as pd
    from pyarrow import parquet

    from maxent.models.induction.inducers import id3

    tree, qi = folder / f"{n}.parts.json", folder / f"{n}.parts.parquet"
    if call.trees > 1:
        from scale_forest import write_forest

        tree = folder / f"{n}.{call.trees}.{call.questions}.{call.publish}.json"
        write_forest(n, call, tree)
    if qi.exists():
        return tree, qi
    writer, sample, held = None, [], 0
    for codes, counts, classes in blocks(n, call.seed):
        table = arrow(codes, count=counts)
        writer = writer or parquet.ParquetWriter(qi, table.schema)
        writer.write_table(table, row_group_size=ROWS)
        if call.trees == 1 and held < call.grown_on:
            some = np.repeat(np.arange(len(counts)), counts)[: call.grown_on - held]
            grown = arrow(codes[some]).to_pandas()
            grown["class"] = pd.Categorical.from_codes(classes[some], [f"c{x:02d}" for x in range(CLASSES)])
            sample.append(grown)
            held += len(grown)
    assert writer is not None
    writer.close()
    if call.trees > 1:
        return tree, qi
    people = pd.concat(sample, ignore_index=True)
    del sample
    release = id3(
        people,
        target="class",
        qi=list(sizes()),
        impurity=call.impurity,
        publish="rates",
        min_samples_split=call.split,
    )
    # Sizes are those of the people that it was grown on.
    trees = tuple(replace(t, nodes=tuple(replace(node, n=None) for node in t.nodes)) for t in release.trees)
    replace(release, trees=trees).save(tree)
    return tree, qi


def processor_seconds(process: int) -> float:
    """Processor seconds, of the user and the system, that a process has taken so far, without those below it."""
    text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    return sum(map(int, text.rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")


class Watch:
    """Peak memory, in MB, of a process and of all below it, as Linux counts it for each."""

    def __init__(self, process: int) -> None:
        self.process, self.over = process, threading.Event()
        self.peaks, self.spent = dict[int, float](), dict[int, float]()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        while not self.over.wait(0.1):
            for process in self.below():
                try:
                    text = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
                    self.spent[process] = processor_seconds(process)
                except OSError:
                    continue
                if peak := re.search(r"VmHWM:\s+(\d+) kB", text):
                    self.peaks[process] = int(peak[1]) / 1024

    def processors(self) -> float:
        """Processor seconds so far, of processes that are gone as they were when they were last seen."""
        for process in self.below():
            with suppress(OSError):
                self.spent[process] = processor_seconds(process)
        return sum(self.spent.values())

    def below(self) -> list[int]:
        """The process and all its descendants."""
        parents = {}
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                text = entry.read_text(encoding="utf-8")
            except OSError:
                continue
            parents[int(entry.parent.name)] = int(text.rpartition(")")[2].split()[1])
        found = [self.process]
        for each in found:
            found += [process for process, parent in parents.items() if parent == each]
        return found

    def end(self) -> list[int]:
        """The peaks, the largest first; of helpers that hold nothing none."""
        self.over.set()
        self.thread.join()
        return sorted((round(peak) for peak in self.peaks.values() if peak > 50), reverse=True)


def killing(watch: Watch, every: float) -> None:
    """End one worker again and again: the one with most memory, but never the process that it works for."""
    while not watch.over.wait(every):
        workers = [p for p in watch.below() if p != watch.process and watch.peaks.get(p, 0) > 150]
        if workers:
            print(f"killing worker {max(workers)}", file=sys.stderr, flush=True)
            os.kill(max(workers), signal.SIGKILL)


@contextmanager
def cluster(workers: int, environment: Mapping[str, str]) -> Iterator[tuple[list[str], Watch]]:
    """A cluster that is running: the options that have it work, and what watches it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.py"  # its workers load it, too
        path.write_text(CLUSTER, encoding="utf-8")
        command = [sys.executable, str(path), str(workers)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        assert process.stdin is not None
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        watch = Watch(process.pid)
        try:
            yield ["--dask", address], watch
        finally:
            watch.over.set()
            process.stdin.close()
            process.wait()


def compiled(folder: Path) -> dict[str, str]:
    """The environment of calls, in which all modules are compiled before."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    found = {**kept, "OMP_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    files = [str(SMALL / name) for name in ("tree.json", "qi.csv")]
    command = [sys.executable, "-m", "maxent", "estimate", *files, "--json", "--memory", "1GB"]
    for options in WORKERS.values():
        subprocess.run([*command, *options], env=found, stdout=subprocess.DEVNULL, check=True)
    return found


def measured(
    way: str, call: argparse.Namespace, folder: Path, files: tuple[Path, Path], environment: Mapping[str, str]
) -> dict[str, Any]:
    """One whole call."""
    if way not in RUNNING:
        return called(way, WORKERS[way], None, call, folder, files, environment)
    with cluster(RUNNING[way], environment) as (options, watch):
        return called(way, options, watch, call, folder, files, environment)


def called(
    way: str,
    options: Sequence[str],
    others: Watch | None,
    call: argparse.Namespace,
    folder: Path,
    files: tuple[Path, Path],
    environment: Mapping[str, str],
) -> dict[str, Any]:
    """One whole call, to which other processes that are watched belong."""
    out = folder / "posteriors"
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "maxent", "estimate", *map(str, files), "--count", "count", "--json"]
    command += ["--knowledge", "label,rate" if call.trees == 1 else "label,counts", "--rounding", "exact"]
    if way == "whole":
        out.mkdir()
        command += ["-o", str(out / "posteriors.parquet")]
    else:
        command += ["-o", f"{out}/", *options, *(["--memory", call.memory] if call.memory else [])]
    before = 0.0 if others is None else others.processors()
    begin = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=said, env=environment)
        watch = Watch(process.pid)
        if call.kill_every:
            threading.Thread(target=killing, args=(watch, call.kill_every), daemon=True).start()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds, peaks = time.perf_counter() - begin, watch.end()
        elsewhere = 0.0 if others is None else others.processors() - before
        # Nobody waits for the processes of a cluster that the call has started.
        spent = max(usage.ru_utime + usage.ru_stime, sum(watch.spent.values()))
        peaks = sorted([*peaks, *([] if others is None else others.end())], reverse=True)
        said.seek(0)
        text = said.read()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit status {process.returncode}")
    summary = json.loads(text)
    size = sum(path.stat().st_size for path in out.iterdir()) / 1e6
    shutil.rmtree(out)
    return {
        "distinct_qi": summary["distinct_qi"],
        "individuals": summary["individuals"],
        "leaves": summary.get("parts", {}).get("leaves" if call.trees == 1 else "cells", 0),
        "workers": way,
        "wall": seconds,
        "processors": spent + elsewhere,
        "peaks": peaks,
        "written": size,
        "entropy": summary["entropy"],
        "status": summary["status"],
    }


def run_in_parts(call: argparse.Namespace, folder: Path) -> int:
    """Measure all sizes and ways, and print a line for each as it is done."""
    rows = []
    environment = compiled(folder)
    print("      QIs     people   cells  workers  wall s  CPU s  files MB   entropy  status   peak MB of every process")
    for n in sorted(set(call.sizes)):
        files = write_instance(n, call, folder)
        for way in call.workers:
            row = measured(way, call, folder, files, environment)
            rows.append(row)
            print(
                f"{row['distinct_qi']:9d}  {row['individuals']:9d}  {row['leaves']:6d}  {way:>7}  {row['wall']:6.1f}  "
                f"{row['processors']:5.1f}  {row['written']:8.1f}  {row['entropy']:.6f}  {row['status']}  "
                f"{', '.join(map(str, row['peaks']))}",
                flush=True,
            )
        if not call.folder:
            for path in files:
                path.unlink()
    for way in call.workers:
        mine = [row for row in rows if row["workers"] == way]
        if len(mine) > 1:
            slopes = exponents(mine, "distinct_qi", ["wall", "processors"])
            print(f"{way}: wall n^{slopes['wall']:.2f}, processors n^{slopes['processors']:.2f}")
    if call.json:
        print(json.dumps(rows))
    return 0
