"""The printed results on leaf pruning, recomputed.

    MAXENT_DATA=/path/to/data PYTHONPATH=examples python -m papers.wakabayashi_2024.study [FOLDER]

Fills in the tables of FOLDER/README.md (default: that of this module) and draws FOLDER/figures/adult_pruning.svg, from
nursery.csv, bank_loan.csv, adult.csv, mushroom.csv and lending_club.csv in the folder MAXENT_DATA: the same bytes every
time. The words of the page are left alone. Papers: see examples/papers/wakabayashi_2024/published.py.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import maxent
from maxent.models.files.output import write_text
from papers.drawing import COLORS, panels
from papers.tables import fenced, fill
from papers.wakabayashi_2024 import protocol
from papers.wakabayashi_2024.page import aligned, compared, counted, verdicts
from papers.wakabayashi_2024.protocol import (
    DEPTH,
    PRUNE,
    SPLITS,
    Data,
    Forest,
    Summary,
    found,
    large_siblings,
    measured,
    rules,
    summarise,
)
from papers.wakabayashi_2024.published import ORIGINAL, TABLE_7, TABLE_A1, TABLES_5_AND_6

KS = tuple(protocol.PROTOCOL["ks"])
STARTS: int = protocol.PROTOCOL["starts"]
"""Of the estimates: where leaves are removed the program is not concave, and fewer starts may find no answer."""

DATA = {
    "nursery": ("nursery", protocol.NURSERY_IN_ORDER),
    "loan": ("loan", protocol.LOAN),
    "loan, numbered": ("loan", protocol.LOAN_NUMBERED),
    "adult": ("adult", protocol.ADULT),
    "adult, numbered": ("adult", protocol.ADULT_NUMBERED),
}
"""What Wakabayashi et al. (2024) may have used: data set of the paper, and the data."""

ASSUMED = ("nursery", "loan, numbered", "adult, numbered")
"""Those they seem to have used, of which other rules for method 1 are shown."""

OTHERS = {"loan, numbered": range(20)}
"""Those among whose splits many are equally good -> other seeds of the trees."""

DATA_A1 = {"nursery": protocol.NURSERY, "adult": protocol.ADULT, "mushroom": protocol.MUSHROOM}
DATA_TEXT = {
    "nursery": (protocol.NURSERY, 8),
    "adult": (protocol.ADULT, 8),
    "mushroom": (protocol.MUSHROOM, 6),
    "lending-club": (protocol.LENDING_CLUB, None),
}
"""The trees of which the text of Waseda et al. (2025) names the accuracy: data and depth, if any limits it."""

TIED = {("nursery", "8"): {0: 8}, ("adult", "8"): {6: 0}}
"""(Data set, depth) of Table A1 -> split -> another seed of its tree, which differs in splits that are equally good."""

COLUMNS = {
    "leaves": "leaves",
    "divergence": "D_overall",
    "divergence_max": "D max",
    "certain": "certain",
    "bayes_vulnerability": "Bayes",
    "unique_leaves": "U",
    "homogeneous_leaves": "H_leaf",
    "homogeneous_individuals": "H_u",
    "background_individuals": "B_u",
    "train_accuracy": "train ACC",
    "test_accuracy": "test ACC",
}
"""Key of a row of `maxent.compare` -> its name on the page."""


def table_a1(name: str, data: Data) -> dict[str, Summary]:
    """Our rows of Table A1; a star marks those of other trees that are as good."""
    rows = {depth: measured(data, data.forest(int(depth))) for depth in TABLE_A1[name]}
    for (tied, depth), seeds in TIED.items():
        if tied == name:
            rows[f"{depth}*"] = measured(data, [[data.grow(int(depth), s, seeds.get(s))] for s in SPLITS])
    return rows


def wakabayashi(name: str, paper: str, data: Data, tables: dict[str, str], cells: dict[str, Sequence[str]]) -> None:
    """Tables 5 to 7 of Wakabayashi et al. (2024), of one data set."""
    grown = {depth: data.forest(int(depth), OTHERS.get(name, ())) for depth in TABLES_5_AND_6[paper]}
    by_depth = {depth: measured(data, forest) for depth, forest in grown.items()}
    tables[f"depths, {name}"] = compared("depth", TABLES_5_AND_6[paper], by_depth)
    cells[f"Tables 5 and 6, {name}"] = verdicts(TABLES_5_AND_6[paper], by_depth)
    plain = grown[str(DEPTH)]
    for method, prune in PRUNE.items():
        printed = TABLE_7[method, paper]
        pruned = {s: [[prune(t, int(s) + 1) for t in trees] for trees in plain] for s in printed if s != "original"}
        by_s = {s: measured(data, forest) for s, forest in {"original": plain, **pruned}.items()}
        tables[f"{method}, {name}"] = compared("s", printed, by_s)
        cells[f"Table 7, {method}, {name}"] = verdicts(printed, by_s)
        if method == "prune-leaf" and name in ASSUMED:
            tables[f"rules, {name}"] = ruled(data, pruned, {s: row["accuracy"] for s, row in printed.items()})
        elif data.numbered:
            tables[f"siblings, {name}"] = compared("s", printed, {s: large_siblings(plain, int(s)) for s in pruned})


def ruled(data: Data, pruned: Mapping[str, Forest], printed: Mapping[str, str]) -> str:
    """The accuracy of method 1 by what is predicted for records that reach a removed leaf."""
    first = {s: [trees[:1] for trees in forest] for s, forest in pruned.items()}
    ours = {s: summarise(lambda split, tree: rules(tree, data.tested(split)), forest) for s, forest in first.items()}
    names = list(next(iter(ours.values())))
    lines = [[s, printed[s], *(f"{row[name].mean:.5f}" for name in names)] for s, row in ours.items()]
    return aligned([["s", "ACC", *names], *lines], left=())


def adult(data: Data) -> dict[str, Summary]:
    """What trees on Adult disclose before and after pruning, by name of the release."""
    runs: dict[str, list[Mapping[str, Any]]] = {}
    for split in SPLITS:
        plain = data.grow(DEPTH, split)
        releases = {"none": plain} | {f"{method} {k}": prune(plain, k) for method, prune in PRUNE.items() for k in KS}
        train, test = (data.frame.iloc[rows].reset_index(drop=True) for rows in data.split(split))
        comparison = maxent.compare(releases, train, train, test, starts=STARTS)
        if not comparison.reliable:
            raise RuntimeError(f"split {split}: {[row['status'] for row in comparison.rows]}")
        for row in comparison.rows:
            runs.setdefault(row["release"], []).append(row)
    return {name: {key: found([[row[key]] for row in rows]) for key in COLUMNS} for name, rows in runs.items()}


def disclosed(ours: Mapping[str, Summary]) -> str:
    """The table of `adult`: means, and standard deviations of some."""
    digits = {"divergence": 4, "divergence_max": 2, "bayes_vulnerability": 4, "train_accuracy": 4, "test_accuracy": 4}
    spread = ("divergence", "homogeneous_individuals", "test_accuracy")
    head = [
        "method",
        "k",
        *(label for key in COLUMNS for label in ([COLUMNS[key], "sd"] if key in spread else [COLUMNS[key]])),
    ]
    body = []
    for name, row in ours.items():
        method, _, k = name.partition(" ")
        line = [method, k]
        for key in COLUMNS:
            line += [f"{number:.{digits.get(key, 1)}f}" for number in row[key][: 2 if key in spread else 1]]
        body.append(line)
    return aligned([head, *body], left={0})


def draw(ours: Mapping[str, Summary], path: Path) -> None:
    """Divergence, and homogeneous individuals and accuracy, against k; dotted: not pruned."""
    colors = {"prune-leaf": COLORS[1], "prune-parent": COLORS[0]}

    def series(axes: Any, key: str, line: str, title: str) -> None:
        axes.axhline(ours["none"][key].mean, color="0.5", linestyle=":", linewidth=1)
        for method, color in colors.items():
            axes.plot(KS, [ours[f"{method} {k}"][key].mean for k in KS], line, color=color, label=method)
        axes.set_ylabel(title)
        axes.spines["top"].set_visible(False)

    with panels(path, 2) as (left, right):
        series(left, "divergence", "-o", "divergence from the truth (nats)")
        left.legend(frameon=False)
        left.spines["right"].set_visible(False)
        series(right, "homogeneous_individuals", "-o", "people in homogeneous leaves")
        right.set_ylim(0, 2600)
        accuracy = right.twinx()
        series(accuracy, "test_accuracy", "--^", "test accuracy (dashed)")
        accuracy.set_ylim(0.76, 0.86)  # from what the most frequent class alone would give
        for axes in (left, right):
            axes.set_xlabel("k")
            axes.set_xticks(KS)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", nargs="?", type=Path, default=Path(__file__).parent, metavar="FOLDER")
    call = parser.parse_args()
    page = call.out / "README.md"
    tables: dict[str, str] = {}
    cells: dict[str, Sequence[str]] = {}
    try:
        words = page.read_text(encoding="utf-8")
        for name, data in DATA_A1.items():
            rows = table_a1(name, data)
            tables[f"A1, {name}"] = compared("depth", TABLE_A1[name], rows)
            cells[f"Table A1, {name}"] = verdicts(TABLE_A1[name], rows)
        grown = {name: measured(data, data.forest(depth)) for name, (data, depth) in DATA_TEXT.items()}
        tables["A1, text"] = compared("data", ORIGINAL, grown)
        cells["Accuracies in the text"] = verdicts(ORIGINAL, grown)
        for name, (paper, data) in DATA.items():
            wakabayashi(name, paper, data, tables, cells)
        ours = adult(protocol.ADULT)
        tables |= {"cells": counted(cells), "adult": disclosed(ours)}
        write_text(page, fill(words, fenced(tables)), public=True)
    except (FileNotFoundError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    (call.out / "figures").mkdir(exist_ok=True)
    draw(ours, call.out / "figures" / "adult_pruning.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
