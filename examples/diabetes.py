"""Publish a decision tree of 442 real diabetes patients: python examples/diabetes.py [OUT_DIR].

The data come with scikit-learn (Efron, Hastie, Johnstone and Tibshirani, "Least angle regression", 2004). An insurer or
employer who knows a patient's age, sex, body mass index and blood pressure would like to know how their disease
progressed. The data set does not document which sex is 1 and which is 2, so they stay numbers here.
"""

import argparse
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeClassifier

from maxent.models.formats.scikit_learn.tree import from_sklearn

PROGRESSION = ["low", "medium", "high"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", nargs="?", type=Path, default=Path("demo/diabetes"), metavar="OUT_DIR")
    out = parser.parse_args().out
    leaves, patients = publish(out)
    print(
        f"{out}: a tree with {leaves} leaves of {patients} patients; next: "
        f"maxent estimate {out / 'tree.json'} {out / 'qi.csv'} --truth {out / 'truth.csv'}"
    )


def publish(out: Path) -> tuple[int, int]:
    """Write tree.json, qi.csv and truth.csv into a folder; the numbers of leaves and of patients."""
    patients = load_diabetes(as_frame=True, scaled=False)
    table = patients.data[["age", "sex", "bmi", "bp"]].copy()
    table["age"] = table["age"].round().astype(int)
    table["sex"] = table["sex"].astype(int)
    thirds = np.quantile(patients.target, [1 / 3, 2 / 3])
    progression = np.searchsorted(thirds, patients.target)  # 0, 1, 2 in the order of PROGRESSION

    features = table.assign(sex=table["sex"] - 1)  # 0, 1 in the order of the categories below
    model = DecisionTreeClassifier(max_depth=4, min_samples_leaf=5, random_state=0).fit(features, progression)
    categories = {"sex": ["1", "2"]}
    release = from_sklearn(model, target="progression", classes=PROGRESSION, categories=categories, X=features)

    out.mkdir(parents=True, exist_ok=True)
    release.save(out / "tree.json")
    table.to_csv(out / "qi.csv", index=False)
    table.assign(progression=np.array(PROGRESSION)[progression]).to_csv(out / "truth.csv", index=False)
    return len(release.trees[0].leaves), len(table)


if __name__ == "__main__":
    main()
