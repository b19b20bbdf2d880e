"""What auditing generalised records takes: Adult, tiered, uniform and Mondrian, python benchmarks/records_scale.py.

The records are the 45,222 of Adult without missing values, with the income as the class and all 14 attributes, or the
first 30,162 with the education (16 classes) and eight attributes, from the folder MAXENT_DATA. They are written and
read back, as the commands do. Each table is estimated and audited in a process of its own; seconds are of the
processor, the peak of memory that of the process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

EIGHT = ["age", "workclass", "marital-status", "occupation", "race", "sex", "native-country", "class"]
COLUMNS = (
    "attributes",
    "method",
    "k",
    "GCP",
    "groups",
    "pairs",
    "ruled out",
    "parts",
    "estimate s",
    "audit s",
    "peak MB",
)
COLUMNS += ("entropy", "divergence", "certain", "certain by audit")


def write(folder: Path, attributes: int, method: str, k: int) -> str:
    """Write the people, the confidential data and the generalised records; the name of the class."""
    import mondrian
    import pandas as pd

    from maxent.models.defenses.error_risk import prune_erp
    from maxent.models.defenses.generalization import tiered, uniform
    from maxent.models.induction.growth import Growth
    from maxent.models.induction.inducers import induce
    from maxent.models.tables.training import read_training
    from maxent.models.trees.places import assign
    from maxent.models.trees.reidentification import ranges_of

    people = pd.read_csv(Path(os.environ["MAXENT_DATA"]) / "adult.csv")
    people = people[~(people == "?").any(axis=1)].drop(columns="fold")
    target, qi = "class", [name for name in people if name != "class"]
    if attributes == 8:
        people, target, qi = people.iloc[:30162], "education", EIGHT
    people.to_csv(folder / "data.csv", index=False)
    people[qi].to_csv(folder / "qi.csv", index=False)
    training = read_training(str(folder / "data.csv"), target=target, qi=qi)
    if method == "tiered":
        table = tiered(training, induce(training, Growth("cart", seed=0)), k)
    else:
        if method == "mondrian":
            groups = mondrian.partition(training, k, mondrian.median_cut)
        else:
            ranges = ranges_of(training.attributes, training.columns)
            groups = prune_erp(induce(training, Growth("cart", seed=0)), k, ranges=ranges)
        table = uniform(training, assign(groups.trees[0], training.attributes, training.columns), k)
    table.frame().to_csv(folder / "records.csv", index=False)
    return target


def measure(folder: str, target: str) -> dict[str, Any]:
    """Estimate and audit what is in a folder."""
    import maxent

    files = [str(Path(folder) / name) for name in ("records.csv", "qi.csv", "data.csv")]
    begin = time.process_time()
    found = maxent.estimate(*files, target=target)
    estimated = time.process_time()
    attacks = maxent.audit(files[0], files[1], target=target)
    audited = time.process_time()
    assert found.reliable, found.outcome.trouble
    return {
        "GCP": attacks["gcp"],
        "groups": attacks["leaves"],
        "pairs": len(found.program.cells) + attacks["assignment"]["ruled_out"],
        "ruled out": attacks["assignment"]["ruled_out"],
        "parts": found.outcome.parts,
        "estimate s": estimated - begin,
        "audit s": audited - estimated,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "entropy": found.disclosure.entropy,
        "divergence": found.disclosure.divergence.overall,
        "certain": found.disclosure.certain,
        "certain by audit": attacks["assignment"]["exposed"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--attributes", type=int, nargs="+", choices=[8, 14], default=[8, 14])
    parser.add_argument("--method", nargs="+", default=["tiered", "uniform", "mondrian"])
    parser.add_argument("--k", type=int, nargs="+", default=[10, 20, 30])
    call = parser.parse_args()
    if not os.environ.get("MAXENT_DATA"):
        raise SystemExit("set MAXENT_DATA to a folder with adult.csv")
    print("  ".join(f"{name:>8}" for name in COLUMNS))
    for attributes in call.attributes:
        for method in call.method:
            for k in call.k:
                with tempfile.TemporaryDirectory() as folder:
                    target = write(Path(folder), attributes, method, k)
                    with multiprocessing.get_context("spawn").Pool(1) as pool:
                        found = pool.apply(measure, (folder, target))
                row = {"attributes": attributes, "method": method, "k": k, **found}
                cells = (
                    f"{v:.4f}" if isinstance(v, float) and v < 5 else f"{v:.1f}" if isinstance(v, float) else str(v)
                    for v in row.values()
                )
                print(
                    "  ".join(f"{cell:>{max(8, len(name))}}" for cell, name in zip(cells, COLUMNS, strict=True)),
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
