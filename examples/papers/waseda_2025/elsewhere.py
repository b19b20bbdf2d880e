"""What other libraries say, which need an environment of their own; this folder's README.md quotes what is recorded.

    python -m venv other && other/bin/pip install diffprivlib==0.6.6 'scikit-learn<1.6' pandas
    MAXENT_DATA=/path/to/data other/bin/PYTHONPATH=examples python -m papers.waseda_2025.elsewhere diffprivlib

measures the random forests of diffprivlib (Fletcher and Islam 2017), which does not run with later versions of
scikit-learn: categories are numbers in alphabetical order, bounds and classes are stated, and the records are split as
in `rdt_protocol.Split`.

    python -m venv third && third/bin/pip install dp-accounting && third/bin/pip install --no-deps .
    third/bin/PYTHONPATH=examples python -m papers.waseda_2025.elsewhere accountant

composes ten trees with dp-accounting, which needs an older version of attrs. It is given the pair of distributions that
is worse than any neighbours in one tree (`maxent.models.defenses.accounting`), and, for each n on its
own, the counts of n and
n - 1 people in every tree: the first is another computation of our upper bound, the second a lower bound.

Both write their part of examples/papers/waseda_2025/recorded.json.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).with_name("recorded.json")
TREES = 10
EPSILONS = (0.5, 1.0, 2.0, 4.0)
SEEDS = 10
DEPTHS = {"nursery": (2, 3, 4), "mushroom": (2, 3, 6, 11), "adult": (2, 4, 7)}
CLASSES = {"nursery": "assessment", "mushroom": "class", "adult": "class"}
CELLS = [(k, beta, total) for k in (5, 10, 20) for beta in (0.01, 0.1, 0.4) for total in (2.0, 6.0)]
"""(k, beta, epsilon of all trees) that are composed."""


def diffprivlib() -> dict[str, Any]:
    """(Data set, epsilon, depth) -> the accuracy for each seed."""
    import pandas as pd
    from diffprivlib.models import RandomForestClassifier

    rows = []
    for name, target in CLASSES.items():
        people = pd.read_csv(Path(os.environ["MAXENT_DATA"]) / f"{name}.csv").drop(columns="fold", errors="ignore")
        x = np.column_stack(
            [
                column if column.dtype.kind in "if" else np.unique(column.astype(str), return_inverse=True)[1]
                for column in (people[attribute] for attribute in people if attribute != target)
            ]
        ).astype(np.float64)
        classes, y = np.unique(people[target], return_inverse=True)
        for epsilon in EPSILONS:
            for depth in DEPTHS[name]:
                found = []
                for seed in range(SEEDS):
                    order = np.random.default_rng(seed).permutation(len(y))
                    train, test = order[len(y) // 5 :], order[: len(y) // 5]
                    forest = RandomForestClassifier(
                        TREES,
                        epsilon=epsilon,
                        bounds=(x.min(axis=0), x.max(axis=0)),
                        classes=np.arange(len(classes)),
                        random_state=seed,
                        max_depth=depth,
                    )
                    found.append(float(forest.fit(x[train], y[train]).score(x[test], y[test])))
                rows.append([name, epsilon, depth, [round(a, 4) for a in found]])
                print(name, epsilon, depth, f"{np.mean(found):.3f}", file=sys.stderr)
    return {"versions": {p: version(p) for p in ("diffprivlib", "scikit-learn", "numpy")}, "rows": rows}


def accountant() -> dict[str, Any]:
    """(k, beta, epsilon) -> an upper and a lower bound on the delta of ten trees."""
    from dp_accounting.pld import privacy_loss_distribution as pld
    from scipy.stats import binom

    from maxent.models.defenses.accounting import _losses

    def composed(more: np.ndarray, less: np.ndarray, *, pessimistic: bool) -> Any:
        """The loss of ten trees, of a pair of distributions."""
        parts = [{i: math.log(p) for i, p in enumerate(side.tolist()) if p > 0} for side in (less, more)]
        return pld.from_two_probability_mass_functions(
            *parts,
            value_discretization_interval=1e-4,
            log_mass_truncation_bound=-80 if pessimistic else -math.inf,
            pessimistic_estimate=pessimistic,
        ).self_compose(TREES)

    rows = []
    for k, beta in sorted({cell[:2] for cell in CELLS}):
        one = _losses(k, beta)
        loss = one.first + one.width * np.arange(len(one.mass))
        upper = composed(np.append(one.mass, one.never), np.append(one.mass * np.exp(-loss), 0.0), pessimistic=True)
        totals = [total for *cell, total in CELLS if cell == [k, beta]]
        lower = dict.fromkeys(totals, 0.0)
        for n in np.unique(np.geomspace(k, 12 * k / beta, 40).astype(int)):
            m = np.arange(n + 1)
            more, less = (np.where(m >= k, binom.pmf(m, size, beta), 0.0) for size in (n, n - 1))
            more[0], less[0] = binom.cdf(k - 1, n, beta), binom.cdf(k - 1, n - 1, beta)
            apart = composed(more, less, pessimistic=False)
            lower = {total: max(least, apart.get_delta_for_epsilon(total)) for total, least in lower.items()}
        rows += [[k, beta, total, upper.get_delta_for_epsilon(total), lower[total]] for total in totals]
        print(*rows[-2:], sep="\n", file=sys.stderr)
    return {"versions": {"dp-accounting": version("dp-accounting")}, "rows": rows}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("part", choices=["diffprivlib", "accountant"])
    part = parser.parse_args(arguments).part
    if part == "diffprivlib" and not os.environ.get("MAXENT_DATA"):
        print("set the environment variable MAXENT_DATA to the folder with the data sets", file=sys.stderr)
        return 2
    recorded = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
    recorded[part] = diffprivlib() if part == "diffprivlib" else accountant()
    rows = {name: ",\n".join(f"   {json.dumps(row)}" for row in found["rows"]) for name, found in recorded.items()}
    parts = [
        f' "{name}": {{\n  "versions": {json.dumps(recorded[name]["versions"])},\n  "rows": [\n{rows[name]}\n  ]\n }}'
        for name in sorted(recorded)
    ]
    RECORDED.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
