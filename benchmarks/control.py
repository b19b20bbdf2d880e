"""Members and control people of Adult: python benchmarks/control.py [NAME ...], the data in the folder MAXENT_DATA.

The complete records of the training fold are divided in two at random. One half are members, whom trees are made from;
the other half are people like them. Every row of the table, which is that of docs/evidence.md, is one estimate.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

import maxent

TARGET = "class"
WORDS = (
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country"
)  # fmt: skip
NUMBERS = ("age", "hours-per-week")
QI = [*NUMBERS, *WORDS]
DEPTH = 8


def halves(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Members and control people."""
    people = pd.read_csv(folder / "adult.csv", dtype=str)
    people = people[(people["fold"] == "train") & ~(people == "?").any(axis=1)][[*QI, TARGET]]
    people[list(NUMBERS)] = people[list(NUMBERS)].astype(int)
    order = np.random.default_rng(0).permutation(len(people))
    half = len(people) // 2
    return people.iloc[order[:half]], people.iloc[order[half:]]


def defended(method: str, **options: int) -> Callable[[pd.DataFrame], maxent.Release]:
    """A tree of the project's own."""
    return lambda people: maxent.defend(people, method, target=TARGET, qi=QI, max_depth=DEPTH, **options).release


def fitted(name: str) -> Callable[[pd.DataFrame], maxent.Release]:
    """A model of scikit-learn as a release."""

    def release(people: pd.DataFrame) -> maxent.Release:
        from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
        from sklearn.preprocessing import OrdinalEncoder

        encoder = OrdinalEncoder().fit(people[list(WORDS)])
        codes = dict(zip(WORDS, encoder.transform(people[list(WORDS)]).T, strict=True))
        forest = RandomForestClassifier(5, max_depth=DEPTH, bootstrap=False, max_features="sqrt", random_state=0)
        boosted = HistGradientBoostingClassifier(max_iter=5, max_depth=3, early_stopping=False, random_state=0)
        model = forest if name == "forest" else boosted
        model.fit(people[QI].assign(**codes).astype(float), people[TARGET])
        categories = {word: list(values) for word, values in zip(WORDS, encoder.categories_, strict=True)}
        classes = [str(label) for label in model.classes_]
        return maxent.from_sklearn(model, target=TARGET, features=QI, classes=classes, categories=categories)

    return release


RELEASES: Mapping[str, tuple[str, Callable[[pd.DataFrame], maxent.Release]]] = {
    "plain": ("plain tree, depth 8, counts", defended("none")),
    "pruned": ("`prune-parent`, k = 10", defended("prune-parent", k=10)),
    "kadet": ("`kadet`, k = 10", defended("kadet", k=10)),
    "forest": ("random forest, 5 trees of depth 8", fitted("forest")),
    "boosted": ("boosted, 5 trees of depth 3", fitted("boosted")),
}
"""Name -> what the page calls it, and how it is made of members."""


def row(name: str, members: pd.DataFrame, controls: pd.DataFrame) -> str:
    """A row of the page."""
    title, make = RELEASES[name]
    found = maxent.estimate(make(members), members[QI], members, control=controls)
    if found.control is None or not found.reliable:
        raise RuntimeError(f"{name}: {found.outcome.status}")
    hits, (low, high) = found.control.hits, found.control.interval
    shares = f"{100 * hits.members:.1f} % | {100 * hits.controls:.1f} % | {100 * hits.difference:+.1f}"
    return f"| {title} | {shares} | {100 * low:+.1f} to {100 * high:+.1f} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(RELEASES)}; default: all of them")
    call = parser.parse_args()
    data = os.environ.get("MAXENT_DATA")
    if data is None or not {*call.names} <= {*RELEASES}:
        parser.error("MAXENT_DATA has to name the folder with adult.csv" if data is None else f"of {[*RELEASES]}")
    members, controls = halves(Path(data))
    base_rate = members[TARGET].value_counts(normalize=True).max()
    print(f"{len(members):,} members, {len(controls):,} control people; base rate {100 * base_rate:.1f} %\n")
    print("| release | hit rate of members | of control people | difference, points | interval, 99 % |")
    print("| --- | --- | --- | --- | --- |")
    for name in call.names or RELEASES:
        print(row(name, members, controls), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
