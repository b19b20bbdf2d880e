"""Fill in docs/boosting.md, boosted trees beside one tree and a forest: python examples/boosting.py [PAGE].

Reads adult.csv from the folder in the environment variable MAXENT_DATA. The sensitive attribute is income; 30,162
people have nine quasi-identifiers. All models are scikit-learn's, of the same people and columns. Some minutes of one
core.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

import maxent

TARGET = "class"
WORDS = (
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country"
)  # fmt: skip
QI = ["age", *WORDS]
ROUNDS = (10, 50, 100)
HEAD = ("model", "accuracy", "leaves", "counts", "certain", "right guesses", "H nats", "D_overall", "gap", "CPU s")
TABLE = re.compile(r"(?<=<!-- table: boosting -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)


def people(folder: str | None) -> pd.DataFrame:
    """Adult without missing values, the people of the test file included."""
    if not folder:
        raise FileNotFoundError("set the environment variable MAXENT_DATA to the folder that holds adult.csv")
    found = pd.read_csv(Path(folder) / "adult.csv", dtype=str)
    found["age"] = found["age"].astype(int)
    return found[~(found[[*QI, TARGET]] == "?").any(axis=1) & ~(found == "?").any(axis=1)]


def models(rounds: Sequence[int]) -> Iterator[tuple[str, Any]]:
    """Names of models, and the models, which are not fitted."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    yield "one tree, 31 leaves", DecisionTreeClassifier(max_leaf_nodes=31, random_state=0)
    yield "one tree, depth 8", DecisionTreeClassifier(max_depth=8, random_state=0)
    yield (
        "forest, 50 trees of depth 6",
        RandomForestClassifier(50, max_depth=6, bootstrap=False, max_features="sqrt", random_state=0),
    )
    for n in rounds:
        model = HistGradientBoostingClassifier(max_iter=n, early_stopping=False, random_state=0)
        yield f"boosted, {n} trees of 31 leaves", model


def row(name: str, model: Any, train: pd.DataFrame, test: pd.DataFrame) -> list[str]:
    """What a model of the training people discloses about them, and how well it predicts others."""
    from sklearn.preprocessing import OrdinalEncoder

    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1).fit(train[list(WORDS)])

    def coded(table: pd.DataFrame) -> pd.DataFrame:
        codes = dict(zip(WORDS, encoder.transform(table[list(WORDS)]).T, strict=True))
        return table[QI].assign(**codes).astype(float)

    model.fit(coded(train), train[TARGET])
    accuracy = float((model.predict(coded(test)) == test[TARGET]).mean())
    categories = {word: list(values) for word, values in zip(WORDS, encoder.categories_, strict=True)}
    classes = [str(label) for label in model.classes_]
    release = maxent.from_sklearn(model, target=TARGET, features=QI, classes=classes, categories=categories)
    start = time.process_time()
    found = maxent.estimate(release, train[QI], truth=train[[*QI, TARGET]]).summary
    seconds = time.process_time() - start
    constraints, disclosed = found["constraints"], found["disclosure"]
    gap = found.get("duality_gap")
    return [
        name,
        f"{accuracy:.4f}",
        f"{sum(len(tree.leaves) for tree in release.trees):,}",
        f"{constraints['boosting'] or constraints['counts']:,}",
        f"{disclosed['certain']:,}",
        f"{disclosed['bayes_vulnerability']:.4f}",
        f"{found['entropy']:.4f}",
        f"{found['divergence']['overall']:.4f}",
        "0" if gap is None else f"{max(gap, 0.0):.0e}",
        f"{seconds:.0f}",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("page", nargs="?", type=Path, default=Path("docs/boosting.md"), metavar="PAGE")
    call = parser.parse_args(arguments)
    try:
        everybody = people(os.environ.get("MAXENT_DATA"))
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 2
    train, test = everybody[everybody["fold"] == "train"], everybody[everybody["fold"] == "test"]
    rows = [list(HEAD)]
    for name, model in models(ROUNDS):
        rows.append(row(name, model, train, test))
        print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    lines = ["| " + " | ".join(cells) + " |" for cells in rows]
    lines.insert(1, "| --- |" + " ---: |" * (len(HEAD) - 1))
    text = call.page.read_text(encoding="utf-8")
    call.page.write_text(TABLE.sub(lambda _: "\n".join(lines) + "\n", text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
