"""Accuracy within limits: the tables and the figures of docs/frontiers.md, of every defense on five data sets.

    MAXENT_DATA=/path/to/data PYTHONPATH=examples python -m papers.frontiers [--results results/frontiers] [FOLDER]

measures what FOLDER/frontiers.md (default: docs) shows, fills in its tables and draws FOLDER/figures/frontiers_*.svg.
What was measured of a data set is kept in the folder of --results, and not measured again. Some quarter of an hour of a
core.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import maxent
from maxent.models.errors import InvalidInput
from maxent.models.files.output import write_text
from maxent.models.tables.training import stratified
from papers.study_files import ROOT
from papers.tables import fill, table

if TYPE_CHECKING:
    from pandas import DataFrame

ADULT_QI = (
    "age", "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country",
)  # fmt: skip
DATA: Mapping[str, tuple[str, str]] = {
    "adult": ("Adult", "class"),
    "nursery": ("Nursery", "assessment"),
    "mushroom": ("Mushroom", "class"),
    "contraceptive": ("Contraceptive", "contraceptive_method_used"),
    "bank_loan": ("Bank loan", "Personal Loan"),
}
"""File -> its name on the page, and the class."""

FOLDS, SEED, DEPTH = 5, 0, 8
KS = (5, 10, 20)
POSTERIORS = (0.95, 0.9)
LADDER = (5, 10, 20, 50, 100, 200, 500)
"""Values of k by which methods that do not know posteriors may keep a limit on them."""

Options = dict[str, Any]
TREE: Options = {"max_depth": DEPTH}
METHODS: Mapping[str, tuple[str, Options]] = {
    "optimal": ("optimal", TREE),
    "optimal, --remove": ("optimal", {**TREE, "remove": True}),
    "optimal, --remove, cautious": ("optimal", {**TREE, "remove": True, "cautious": True}),
    "optimal, validated": ("optimal", {**TREE, "complexity_folds": 5}),
    "optimal, --remove, validated": ("optimal", {**TREE, "remove": True, "complexity_folds": 5}),
    "optimal, --grow, depth 3": ("optimal", {"grow": True, "max_depth": 3}),
    "prune-parent": ("prune-parent", TREE),
    "prune-leaf": ("prune-leaf", TREE),
    "kadet, C4.5": ("kadet", {**TREE, "inducer": "c45"}),
    "kadet, ID3": ("kadet", {**TREE, "inducer": "id3"}),
    "rdt, beta 0.1": ("rdt", {"beta": 0.1}),
    "rdt, beta 0.4": ("rdt", {"beta": 0.4}),
    "rdt, beta 0.8": ("rdt", {"beta": 0.8}),
}
"""Defense -> its method and parameters. ``erp`` publishes what ``prune-parent`` does."""

C45: Options = {**TREE, "inducer": "c45"}
HIERARCHIES = {name: ROOT / "examples" / "hierarchies" / f"{name}.csv" for name in ADULT_QI if name != "age"}
MERGED: Mapping[str, tuple[str, Options]] = {
    "optimal, C4.5": ("optimal", C45),
    "optimal, C4.5, merged": ("optimal", {**C45, "hierarchies": HIERARCHIES}),
}
"""Defenses of Adult alone, for whose columns there are hierarchies."""

LIMITED = {"optimal": "max_posterior", "kadet": "alpha"}
"""Methods that know a limit on posteriors -> its name."""

REMOVED = "prune-leaf", "optimal, --remove"
BETTER = (("prune-parent", "optimal"), REMOVED, ("optimal, C4.5", "optimal, C4.5, merged"))
"""A defense, and the search for the best subtree of the same tree that is never worse on the people of the tree."""

CAUTIOUS = ("prune-leaf", "optimal, --remove, cautious")
"""The same, which departs from the other's predictions only for what is more than chance."""

VALIDATED = tuple((other, f"{best}, validated") for other, best in BETTER[:2])
"""The same with complexities chosen by folds, which is for other people."""

Measured = dict[str, Any]
"""Limit -> defense -> ``test`` and ``train`` accuracy of each fold, ``k``, and ``found``, the largest posterior."""


def people(name: str, folder: Path) -> tuple[DataFrame, str, list[str]]:
    """A data set without missing values, its class and its quasi-identifiers."""
    import pandas as pd

    target = DATA[name][1]
    found = pd.read_csv(folder / f"{name}.csv")
    if name == "adult":
        found = found[(found["fold"] == "train") & ~found.eq("?").any(axis=1)].reset_index(drop=True)
        return found, target, list(ADULT_QI)
    found[target] = found[target].astype(str)
    qi = [column for column in found.columns if column not in (target, "ID")]
    return found, target, qi


def defenses_of(name: str) -> Mapping[str, tuple[str, Options]]:
    """The defenses of a data set."""
    return {**METHODS, **(MERGED if name == "adult" else {})}


def measured(name: str, folder: Path, defenses: Sequence[str] = ()) -> Measured:
    """The accuracies of every defense within each limit, on the same folds; of all of them by default."""
    known = defenses_of(name)
    defenses = defenses or (*known,)
    frame, target, qi = people(name, folder)
    fold = stratified(np.unique(frame[target], return_inverse=True)[1], FOLDS, SEED)
    by_k = {k: {each: {**_empty(), "k": k} for each in defenses} for k in KS}
    by_posterior = {p: {each: _chosen(known[each], frame, target, qi, p) for each in defenses} for p in POSTERIORS}
    plain = _empty()
    for here in range(FOLDS):
        parts = {"data": frame[fold != here], "test": frame[fold == here], "target": target, "qi": qi}
        _note(plain, _rows(parts, "none", TREE)[0])
        for each in defenses:
            method, options = known[each][0], _seeded(known[each], here)
            for row in _rows(parts, method, {**options, "k": list(KS)}):
                _note(by_k[row["k"]][each], row)
            for p in POSTERIORS:
                entry = by_posterior[p][each]
                if entry["k"] is None:
                    continue
                rows = _rows(parts, method, {**options, **_limit(method, p), "k": entry["k"]})
                if rows:
                    _note(entry, rows[0])
                else:  # of these people no such tree keeps the limit
                    entry["k"] = None
    return {
        "records": len(frame), "qi": len(qi), "none": plain,
        **{f"k = {k}": found for k, found in by_k.items()}, **{f"{p:g}": found for p, found in by_posterior.items()},
    }  # fmt: skip


def _seeded(defense: tuple[str, Options], seed: int) -> Options:
    """The parameters of a defense: random trees are other ones in each fold."""
    method, options = defense
    return {**options, "seed": seed} if method == "rdt" else options


def _empty() -> dict[str, Any]:
    return {"test": [], "train": [], "k": None, "found": None}


def _note(entry: dict[str, Any], row: Mapping[str, Any]) -> None:
    entry["test"].append(row["test_accuracy"])
    entry["train"].append(row["train_accuracy"])


def _limit(method: str, p: float) -> Options:
    return {LIMITED[method]: p} if method in LIMITED else {}


def _rows(parts: Mapping[str, Any], method: str, options: Options) -> list[Mapping[str, Any]]:
    """The rows of a defense; none where no tree of its kind keeps the limits."""
    try:
        return list(maxent.defend(**parts, method=method, **options).rows)
    except InvalidInput:
        return []


def _chosen(defense: tuple[str, Options], frame: DataFrame, target: str, qi: list[str], p: float) -> dict[str, Any]:
    """The smallest k with which a defense of all people keeps a limit on posteriors, as the engine finds them."""
    method, options = defense[0], _seeded(defense, SEED)
    for k in LADDER[:1] if method in LIMITED else LADDER:
        try:
            asked = {**options, **_limit(method, p), "k": k}
            release = maxent.defend(frame, method, target=target, qi=qi, **asked).release
        except InvalidInput:
            continue
        if method != "rdt" and _largest_share(release) > p + 1e-9:
            continue  # of public splits and counts nothing less is inferred
        truth = frame[[*qi, target]]
        found = maxent.estimate(release, frame[qi], truth=truth, time_limit=60)
        if found.verdict(max_posterior=p).passed:
            return {**_empty(), "k": k, "found": found.summary["disclosure"]["max_posterior"]}
    return _empty()


def _largest_share(release: maxent.Release) -> float:
    """The largest share of a class in a leaf."""
    leaves = [[*(leaf.counts or {}).values()] for tree in release.trees for leaf in tree.leaves]
    return max((max(counts) / sum(counts) for counts in leaves if sum(counts)), default=1.0)


# --- The tables --------------------------------------------------------------------------------------------------


def limits() -> list[str]:
    """The limits, as keys of what was measured."""
    return [*(f"k = {k}" for k in KS), *(f"{p:g}" for p in POSTERIORS)]


def header(first: str) -> list[str]:
    return [first, *(f"k = {k}" for k in KS), *(f"posterior {p:g}" for p in POSTERIORS)]


def cell(values: Sequence[float]) -> str:
    """Mean and deviation of accuracies, %."""
    return f"{100 * np.mean(values):.2f} ± {100 * np.std(values, ddof=1):.2f}" if len(values) else "none"


def accuracies(found: Measured) -> str:
    """The accuracy of each defense within each limit."""
    defenses = found[limits()[0]]
    rows = [[each, *(cell(found[limit][each]["test"]) for limit in limits())] for each in defenses]
    return table(header("defense"), [["no defense", cell(found["none"]["test"]), "", "", "", ""], *rows])


def gains(found: Mapping[str, Measured], side: str) -> str:
    """How many points the best subtree is better than each other subtree, mean and deviation over the folds.

    As it is, and with complexities chosen by folds of the people that it is made from.
    """
    rows = []
    for name, data in found.items():
        for other, best in (*BETTER[1:], CAUTIOUS, *VALIDATED):  # the first predicts as ``prune-parent`` does
            if best not in data[limits()[0]]:
                continue
            cells = []
            for limit in limits():
                ours, theirs = data[limit][best][side], data[limit][other][side]
                apart = 100 * (np.array(ours) - theirs) if ours and theirs else np.zeros(0)
                told = f"{apart.mean():+.2f} ± {apart.std(ddof=1):.2f}" if len(apart) else ""
                cells.append(told or ("alone" if ours else "none"))
            rows.append([DATA[name][0], f"{best} over {other}", *cells])
    return table(["data", *header("best over other")], rows)


def bests(found: Mapping[str, Measured]) -> str:
    """The most accurate defense of all within each limit, and what it costs."""
    rows = []
    for name, data in found.items():
        plain, cells = np.mean(data["none"]["test"]), []
        for limit in limits():
            means = {each: np.mean(entry["test"]) for each, entry in data[limit].items() if entry["test"]}
            top = max(means, key=lambda each: means[each], default=None)
            cells.append("nothing" if top is None else f"{top}: {100 * (means[top] - plain):+.2f}")
        rows.append([DATA[name][0], *cells])
    return table(header("data"), rows)


def worst(found: Mapping[str, Measured]) -> float:
    """The least that the best subtree is better than another, on the people of the tree: at least 0, or it is wrong."""
    apart = [
        np.subtract(data[limit][best]["train"], data[limit][other]["train"]).min()
        for data in found.values()
        for limit in limits()
        for other, best in (*BETTER, CAUTIOUS)
        if best in data[limit] and data[limit][best]["train"] and data[limit][other]["train"]
    ]
    return float(min(apart))


def by_hand(folder: Path) -> str:
    """The two trees of docs/optimal.md: Adult, and the patients of the README."""
    frame, target, qi = people("adult", folder)
    rows = []
    for method, more in (("prune-parent", {}), ("optimal", {}), ("optimal", {"max_certain": 0})):
        row = maxent.defend(frame, method, target=target, qi=qi, max_depth=8, k=10, **more).rows[0]
        rows.append(["Adult, depth 8, k = 10", _call(method, more), *_numbers(row)])
    with tempfile.TemporaryDirectory() as place:
        runpy.run_path(str(ROOT / "examples" / "diabetes.py"))["publish"](Path(place))
        asked = {"target": "progression", "qi": ["age", "sex", "bmi", "bp"]}
        calls: list[tuple[str, Options]] = [("none", {"max_depth": 5}), ("prune-parent", {"max_depth": 5, "k": 10})]
        grown: Options = {"k": 10, "max_certain": 0, "grow": True}
        calls += [("optimal", {**grown, "max_depth": depth}) for depth in (3, 4)]
        for method, more in calls:
            row = maxent.defend(Path(place) / "truth.csv", method, **asked, **more).rows[0]
            rows.append(["442 patients", _call(method, more), *_numbers(row)])
    return table(["people", "defense", "leaves", "right, %", "people in pure leaves"], rows)


def _call(method: str, options: Options) -> str:
    told = (f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}") for name, value in options.items())
    return f"`{' '.join([method, *told])}`"


def _numbers(row: Mapping[str, Any]) -> list[str]:
    return [str(row["leaves"]), f"{100 * row['train_accuracy']:.3f}", f"{row['pure_records']:,}"]


# --- The figures -------------------------------------------------------------------------------------------------

STYLES: Mapping[str, tuple[str, str]] = {
    "optimal": ("#1f5fa8", "o"),
    "optimal, --remove": ("#56b4e9", "P"),
    "optimal, --remove, cautious": ("#0072b2", "d"),
    "optimal, validated": ("#0b7a75", "*"),
    "optimal, --grow, depth 3": ("#000000", "v"),
    "prune-parent": ("#c8553d", "s"),
    "prune-leaf": ("#e69f00", "X"),
    "kadet, C4.5": ("#588157", "^"),
    "kadet, ID3": ("#9aa5b1", "D"),
    "rdt, beta 0.4": ("#8e6c8a", "<"),
}
"""Defense -> colour and marker."""


def draw(found: Measured, title: str, path: Path) -> None:
    """Accuracy against k and against the limit on posteriors, a line per defense."""
    from papers.drawing import finish, panels

    with panels(path, 2) as (left, right):
        for axes, names, places in (
            (left, [f"k = {k}" for k in KS], KS), (right, [f"{p:g}" for p in POSTERIORS], POSTERIORS)
        ):  # fmt: skip
            for each, (color, marker) in STYLES.items():
                means = [(x, np.mean(found[n][each]["test"])) for x, n in zip(places, names, strict=True)
                         if found[n][each]["test"]]  # fmt: skip
                axes.plot([x for x, _ in means], [y for _, y in means], color=color, marker=marker, label=each)
            axes.axhline(np.mean(found["none"]["test"]), color="0.4", linestyle=":", linewidth=1, label="no defense")
            axes.set_xticks(places)
            axes.margins(0.08)
        finish(left, "k, fewest people", f"{title}: accuracy of five folds", zero=False, legend="x-small")
        finish(right, "largest posterior", "", zero=False, legend="x-small")
        right.get_legend().remove()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "docs", metavar="FOLDER")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "frontiers", metavar="FOLDER")
    call = parser.parse_args()
    page, data = call.folder / "frontiers.md", Path(os.environ.get("MAXENT_DATA", ""))
    try:
        text = page.read_text(encoding="utf-8")
        found = dict(_kept(call.results, data))
    except OSError as error:
        print(f"{error} (MAXENT_DATA names the folder of the data)", file=sys.stderr)
        return 2
    tables = {f"{name}-accuracy": accuracies(each) for name, each in found.items()}
    tables |= {"bests": bests(found), "gains": gains(found, "test"), "hand": by_hand(data)}
    tables["theorem"] = f"The least of all folds, data sets and limits: {100 * worst(found):+.2f} points.\n"
    write_text(page, fill(text, tables), public=True)
    (call.folder / "figures").mkdir(exist_ok=True)
    for name, each in found.items():
        draw(each, DATA[name][0], call.folder / "figures" / f"frontiers_{name}.svg")
    return 0


def _kept(results: Path, data: Path) -> Iterator[tuple[str, Measured]]:
    """What was measured of each data set, now or before."""
    results.mkdir(parents=True, exist_ok=True)
    for name in DATA:
        file = results / f"{name}.json"
        if not file.exists():
            write_text(file, json.dumps(measured(name, data)))
        yield name, json.loads(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())
