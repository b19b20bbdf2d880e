"""How long kADET takes: python benchmarks/kadet.py [--sizes N ...] [--rounds N].

Reads adult.csv (UCI Adult with a header row and a column "fold") from the folder in MAXENT_DATA. Measured are

cart    all 45,222 people without missing values, 14 attributes, k = 10, beside a full tree of scikit-learn's CART on
        the same numbers, one after the other in every round
sweep   the experiments of Friedman, Schuster and Wolff (2006), section 4: 30,162 people, every k from 2 to 1000 they
        show and a few more, ID3 on 8 attributes and C4.5 on 14, with the hierarchies of examples/
growth  people drawn from Adult with replacement

Seconds are those of the processor, the fewest of all rounds, and do not include reading the data.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.defenses.kadet import kadet
from maxent.models.defenses.parameters import Kadet
from maxent.models.release import Release
from maxent.models.tables.hierarchies import read_hierarchy
from maxent.models.tables.training import Training, read_training

if TYPE_CHECKING:
    import pandas as pd

NUMERIC = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
CATEGORICAL = [
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
]
KS = (2, 5, 10, 25, 50, 75, 100, 150, 200, 250, 500, 750, 1000)
SIZES = (10_000, 31_623, 100_000, 316_228, 1_000_000)
PRIVATE = ["occupation"]


def adult() -> pd.DataFrame:
    import pandas as pd

    folder = os.environ.get("MAXENT_DATA")
    if not folder or not (Path(folder) / "adult.csv").is_file():
        raise SystemExit("set the environment variable MAXENT_DATA to the folder that holds adult.csv")
    people = pd.read_csv(Path(folder) / "adult.csv")
    return people[~(people == "?").any(axis=1)]


def training_of(people: pd.DataFrame, names: Sequence[str], private: Sequence[str] = ()) -> Training:
    qi = [name for name in names if name not in private]
    return read_training(people[[*names, "class"]], target="class", qi=qi, private=private)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    result = work()
    return time.process_time() - begin, result


def leaves(release: Release) -> int:
    return len(release.trees[0].leaves)


def against_cart(training: Training, rounds: int) -> None:
    from sklearn.tree import DecisionTreeClassifier

    numbers = np.column_stack(training.columns).astype(np.float32)
    work: dict[str, Callable[[], int]] = {
        "scikit-learn CART": lambda: DecisionTreeClassifier(random_state=0).fit(numbers, training.y).get_n_leaves(),
        "kADET entropy": lambda: leaves(kadet(training, Kadet(k=10))),
        "kADET gini": lambda: leaves(kadet(training, Kadet(k=10, impurity="gini"))),
        "kADET gain_ratio": lambda: leaves(kadet(training, Kadet(k=10, impurity="gain_ratio"))),
        "kADET quinlan": lambda: leaves(kadet(training, Kadet(k=10, impurity="gain_ratio", selection="quinlan"))),
    }
    best = dict.fromkeys(work, math.inf)
    size = {}
    for _ in range(rounds):
        for name, grow in work.items():
            took, size[name] = seconds(grow)
            best[name] = min(best[name], took)
    print(f"{len(training):,} people, {len(training.attributes)} attributes, k = 10")
    for name, took in best.items():
        print(f"  {name:<18} {took:8.3f} s  {took / best['scikit-learn CART']:5.2f} x  {size[name]:6,} leaves")


def sweep(people: pd.DataFrame, rounds: int) -> None:
    folder = Path(__file__).parents[1] / "examples" / "hierarchies"
    hierarchies = {name: read_hierarchy(folder / f"{name}.csv") for name in CATEGORICAL}
    for title, names, options in (
        ("ID3", CATEGORICAL, {}),
        ("C4.5", [*CATEGORICAL, *NUMERIC], {"impurity": "gain_ratio", "confidence": 0.25}),
    ):
        training = training_of(people, names)
        took = [
            min(
                seconds(partial(kadet, training, Kadet(k=k, hierarchies=hierarchies, **options)))[0]
                for _ in range(rounds)
            )
            for k in KS
        ]
        slowest = int(np.argmax(took))
        print(
            f"{title}, {len(training):,} people, {len(names)} attributes, {len(KS)} values of k from 2 to 1000: "
            f"{sum(took):.2f} s together, the slowest (k = {KS[slowest]}) {took[slowest]:.2f} s"
        )


def growth(people: pd.DataFrame, sizes: Sequence[int]) -> None:
    print(f"  people     ID3: s  leaves   C4.5: s  leaves   {', '.join(PRIVATE)} private: s  leaves")
    rows: list[tuple[int, list[float]]] = []
    for size in sizes:
        drawn = people.iloc[np.random.default_rng(0).integers(len(people), size=size)]
        results = []
        for names, private, asked in (
            (CATEGORICAL, [], Kadet(k=10)),
            ([*CATEGORICAL, *NUMERIC], [], Kadet(k=10, impurity="gain_ratio", confidence=0.25)),
            (CATEGORICAL, PRIVATE, Kadet(k=10)),
        ):
            training = training_of(drawn, names, private)
            took, release = seconds(partial(kadet, training, asked))
            results.append((took, leaves(release)))
        rows.append((size, [took for took, _ in results]))
        print(f"{size:9,}" + "   ".join(f"{took:9.2f}  {n:6,}" for took, n in results))
    if len(rows) > 1:
        logs = np.log([took for _, took in rows])
        slopes = np.polyfit(np.log([size for size, _ in rows]), logs, 1)[0]
        print("exponents" + "           ".join(f"{slope:9.2f}" for slope in slopes))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    call = parser.parse_args()
    people = adult()
    against_cart(training_of(people, [*CATEGORICAL, *NUMERIC]), call.rounds)
    sweep(people[people["fold"] == "train"], call.rounds)
    growth(people, call.sizes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
