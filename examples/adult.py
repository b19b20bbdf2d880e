"""Publish the Adult tree of Zhu and Du (2010), section 5: python examples/adult.py [OUT_DIR].

Reads adult.csv (UCI Adult with a header row and a column "fold" that says train or test) from the folder in the
environment variable MAXENT_DATA. The sensitive attribute is education; the training rows without missing values are
30,162 people with 4,480 different quasi-identifiers.
"""

import argparse
import os
import sys
from pathlib import Path

import pandas as pd

from maxent.models.induction.inducers import id3

TARGET = "education"
QI = ["workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country", "class"]


def adult() -> pd.DataFrame:
    folder = os.environ.get("MAXENT_DATA")
    if not folder:
        raise FileNotFoundError("set the environment variable MAXENT_DATA to the folder that holds adult.csv")
    path = Path(folder) / "adult.csv"
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}: MAXENT_DATA must name the folder that holds adult.csv")
    people = pd.read_csv(path)
    if missing := {TARGET, *QI, "fold"} - set(people.columns):
        raise ValueError(f"{path} lacks the columns {', '.join(sorted(missing))}")
    return people[(people["fold"] == "train") & ~(people == "?").any(axis=1)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", nargs="?", type=Path, default=Path("demo/adult"), metavar="OUT_DIR")
    parser.add_argument("--impurity", choices=["gini", "entropy", "gain_ratio"], default="entropy")
    parser.add_argument("--publish", choices=["counts", "rates", "labels"], default="rates")
    parser.add_argument("--min-samples-split", type=int, default=8, metavar="RECORDS")
    call = parser.parse_args()
    try:
        people = adult()
        release = id3(
            people,
            target=TARGET,
            qi=QI,
            impurity=call.impurity,
            publish=call.publish,
            min_samples_split=call.min_samples_split,
        )
    except (FileNotFoundError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2

    out = call.out
    out.mkdir(parents=True, exist_ok=True)
    release.save(out / "tree.json")
    people[QI].to_csv(out / "qi.csv", index=False)
    people[[*QI, TARGET]].to_csv(out / "truth.csv", index=False)
    leaves = len(release.trees[0].leaves)
    print(
        f"{out}: a tree with {leaves} leaves of {len(people)} people; next: "
        f"maxent estimate {out / 'tree.json'} {out / 'qi.csv'} --truth {out / 'truth.csv'}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
