"""How long private random trees take, and how much memory.

    python benchmarks/rdt_scale.py [--rows 1000000] [--trees 100] [--depth 9] [--beta 0.1] [--k 20]

writes people with six numeric and eight categorical attributes to a Parquet file, a part at a time, and fills trees
from it in the same way. What has to fit into memory is a part, and the leaves that the samples reach.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from maxent.models.defenses.parameters import RandomTrees
from maxent.models.defenses.random_trees import draw_batches
from maxent.models.tables.training import Training, read_training
from maxent.models.trees.predict import predict_columns

CATEGORIES = (9, 16, 7, 15, 6, 5, 2, 42)
PART = 100_000


def made_up(rows: int, seed: int) -> pd.DataFrame:
    """People with a class that depends on some of their attributes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"n{j}": rng.normal(size=rows).clip(-4, 4) for j in range(6)})
    for j, size in enumerate(CATEGORIES):
        frame[f"c{j}"] = pd.Categorical.from_codes(
            (size * rng.random(rows) ** 2).astype(int), [f"v{i}" for i in range(size)]
        )
    likely = 1 / (1 + np.exp(-(frame["n0"] + frame["c4"].cat.codes - 2)))
    return frame.assign(y=np.where(rng.random(rows) < likely, "yes", "no"))


def speed(rows: int, asked: RandomTrees) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"n{j}" for j in range(6)] + [f"c{j}" for j in range(len(CATEGORIES))]
    domains = {f"c{j}": [f"v{i}" for i in range(size)] for j, size in enumerate(CATEGORIES)} | {"y": ["no", "yes"]}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        writer = None
        for seed, begin in enumerate(range(0, rows, PART)):
            part = pa.Table.from_pandas(made_up(min(PART, rows - begin), seed), preserve_index=False)
            writer = writer or pq.ParquetWriter(path, part.schema)
            writer.write_table(part)
        if writer is not None:
            writer.close()

        def batches() -> Iterator[Training]:
            for part in pq.ParquetFile(path).iter_batches(PART):
                yield read_training(part.to_pandas(), target="y", qi=names, domains=domains)

        first = next(batches())
        before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, time.process_time()
        ranges = {f"n{j}": (-4.0, 4.0) for j in range(6)}
        release = draw_batches(batches(), first.target, first.attributes, asked, ranges).release()
        seconds = time.process_time() - begin
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        right = predict_columns(release, first.attributes, first.columns, len(first)) == first.y
        size = path.stat().st_size / 2**20
    leaves = sum(any((leaf.counts or {}).values()) for tree in release.trees for leaf in tree.leaves)
    print(f"{rows} rows ({size:.0f} MiB), {asked}")
    print(f"{seconds:.1f} s of the processor, at most {after:.0f} MiB (before {before:.0f})")
    print(f"{leaves} leaves with counts")
    print(f"accuracy on the first {len(first)}: {right.mean():.4f}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for option, default in (("rows", 1_000_000), ("trees", 100), ("depth", 9), ("k", 20)):
        parser.add_argument(f"--{option}", type=int, default=default)
    parser.add_argument("--beta", type=float, default=0.1)
    call = parser.parse_args(arguments)
    speed(call.rows, RandomTrees(call.trees, call.depth, call.beta, call.k))
    return 0


if __name__ == "__main__":
    sys.exit(main())
