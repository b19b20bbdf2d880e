"""`maxent.audit` and `maxent.estimate` on a tree: maxent_.py FOLDER RESULT.json, as compare.py runs it.

The folder has tree.json, qi.csv and truth.csv.
"""

import json
import sys
import time
from pathlib import Path

import maxent

THRESHOLD = 10
"""Records of a leaf below which SACRO-ML, by ACRO's default risk appetite, takes it for a risk."""


def main(folder: str, result: str) -> None:
    _ = maxent.audit, maxent.estimate  # imports them before the clock runs
    tree, qi, truth = (Path(folder) / name for name in ("tree.json", "qi.csv", "truth.csv"))
    found = {}
    for name, attack in (("audit", lambda: audited(tree, qi)), ("estimate", lambda: estimated(tree, qi, truth))):
        wall, cpu = time.perf_counter(), time.process_time()
        found |= attack()
        found |= {f"{name}_wall": time.perf_counter() - wall, f"{name}_cpu": time.process_time() - cpu}
    Path(result).write_text(json.dumps(found), encoding="utf-8")


def audited(tree: Path, qi: Path) -> dict[str, object]:
    """What the attacks on leaves find."""
    said = maxent.audit(tree, qi)
    sizes = [node.n or sum(node.counts.values()) for node in maxent.load_release(tree).trees[0].leaves]
    return {
        "leaves": sorted(sizes),
        "unique": said["uniqueness"]["leaves"],
        "homogeneous_leaves": said["homogeneity"]["leaves"],
        "homogeneous": said["homogeneity"]["individuals"],
        "background_leaves": said["background"]["leaves"],
        "background": said["background"]["individuals"],
        "k": said["spans"]["min_population"],
        "exposed": said["spans"]["exposed"],
        "below": sum(size for size in sizes if size < THRESHOLD),
    }


def estimated(tree: Path, qi: Path, truth: Path) -> dict[str, object]:
    """What the estimate discloses."""
    result = maxent.estimate(tree, qi, truth)
    found = result.disclosure
    return {
        "status": result.outcome.status,
        "certificate": result.certificate,
        "individuals": result.program.table.individuals,
        "certain": found.certain,
        "max_posterior": found.max_posterior,
        "bayes_vulnerability": found.bayes_vulnerability,
        "entropy": found.entropy,
        "divergence": found.divergence.overall,
        "divergence_max": found.divergence.max,
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
