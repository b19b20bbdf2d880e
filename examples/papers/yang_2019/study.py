"""The records that Yang et al. (2019) publish, measured again, and what they disclose.

    MAXENT_DATA=/path/to/data PYTHONPATH=examples .venv/bin/python -m papers.yang_2019.study [FOLDER]

puts its tables into FOLDER/README.md (default: that of this module) and draws FOLDER/figures/records.svg. Words and
numbers outside of the tables are left alone. The same data give the same bytes. contraceptive.csv and adult.csv are
read from the folder MAXENT_DATA; how Table 2 is measured is in examples/papers/yang_2019/tiers.py.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

import maxent
from maxent.models.defenses.error_risk import erp_cuts, prune_erp
from maxent.models.defenses.generalization import tiered, uniform
from maxent.models.release import Release
from maxent.models.tables.generalized_records import GeneralizedTable
from maxent.models.tables.training import Training, read_training
from maxent.models.trees.places import assign
from maxent.models.trees.reidentification import measure_risk, ranges_of
from papers.drawing import Line, draw, panels
from papers.study_files import ROOT
from papers.tables import fill, table
from papers.yang_2019 import tiers
from papers.yang_2019.page import (
    TITLES,
    Disclosed,
    Key,
    Readings,
    disclosed,
    orders,
    readings,
    table_1,
    table_2,
    worked_example,
)
from papers.yang_2019.published import Cell
from papers.yang_2019.tiers import (
    DATA,
    HELD_OUT,
    KS,
    METHODS,
    PARTITIONS,
    SEEN,
    TREES,
    Fold,
    Generalized,
    folds,
    hierarchical_gcp,
    load,
)

EXAMPLE = ROOT / "examples" / "yang"
K = 3
"""Of the worked example."""


def example() -> dict[str, str]:
    """The worked example: measures, what either rule prunes, and Table 1."""
    release = maxent.load_release(EXAMPLE / "tree.json")
    people = pd.read_csv(EXAMPLE / "records.csv")
    training = read_training(people, target="Bought", qi=["Age", "Marital Status", "Gender"])
    ranges = ranges_of(training.attributes, training.columns)
    steps = [
        [rule, str(number), cut.node, f"{cut.ratio:.3f}"]
        for rule in ("twig", "literal")
        for number, cut in enumerate(erp_cuts(release, K, ranges=ranges, rule=rule), 1)
    ]
    pruned = prune_erp(release, K, ranges=ranges)
    groups = uniform(training, assign(pruned.trees[0], training.attributes, training.columns), K)
    published = [t.frame(in_order=True).head(5).to_numpy() for t in (tiered(training, release, K), groups)]
    originals = people.head(5)[["Age", "Marital Status", "Bought"]].astype(str).to_numpy()
    return {
        "example": worked_example(measure_risk(release, ranges).frame().to_dict("records")),
        "pruning": table(["rule", "step", "pruned at node", "omega"], steps),
        "table-1": table_1(originals, *published),
    }


def measured(fold: Fold, k: int) -> Iterator[tuple[str, Generalized]]:
    """What every method makes of a fold."""
    for method, generalize in METHODS.items():
        yield method, generalize(fold, k)


def trees(fold: Fold, k: int) -> Iterator[tuple[str, str, float]]:
    """Method, reading and GCP, by the unpruned tree that is meant."""
    for name, growth in TREES.items():
        yield "erp", name, fold.erp(k, growth(k)).table.gcp()
        yield "tiered", name, fold.tiered(k, growth(k)).table.gcp()
    yield "erp", "test records", fold.erp(k).alone.gcp()
    yield "tiered", "test records", fold.tiered(k).alone.gcp()


def partitions(fold: Fold, k: int, *, hierarchies: bool) -> Iterator[tuple[str, str, float]]:
    """Method, reading and GCP, by the Mondrian that is meant."""
    for name, groups in PARTITIONS.items():
        found = fold.mondrian(k, groups)
        yield "mondrian", name, found.table.gcp()
        if hierarchies:
            yield "mondrian", f"{name}, hierarchies", hierarchical_gcp(found.table)
    yield "mondrian", "test records", fold.mondrian(k).alone.gcp()


def errors(fold: Fold, k: int) -> Iterator[tuple[str, str, float]]:
    """Method, reading and error, by what a classifier sees and how test records are generalised."""
    for method, found in measured(fold, k):
        for name, (features, alone) in SEEN.items():
            yield method, name, found.error(features, alone=alone)


def averages(rows: Sequence[tuple[str, int, str, str, float]]) -> Readings:
    """Means over folds, in the order of the rows."""
    frame = pd.DataFrame(rows, columns=["data", "k", "method", "reading", "value"])
    return {
        key: cells.groupby("reading", sort=False)["value"].mean().to_dict()
        for key, cells in frame.groupby(["data", "method", "k"], sort=False)
    }


def everything(training: Training, data: str) -> Iterator[tuple[Key, Disclosed]]:
    """What an adversary with everybody's attributes concludes from publications of all records."""
    whole = Fold(training, training)
    people = frame_of(training)
    qi = people.drop(columns=training.target.name)

    def row(published: Release | GeneralizedTable) -> Disclosed:
        choice = {"knowledge": ("counts",)} if isinstance(published, Release) else {}
        result = maxent.estimate(published, qi, people, **choice)
        if result.outcome.status != "optimal" or result.certificate not in ("global", "gap"):
            raise RuntimeError(f"no proved optimum: {result.outcome.status}, {result.certificate}")
        found = result.disclosure
        gcp = published.gcp() if isinstance(published, GeneralizedTable) else None
        return Disclosed(gcp, found.divergence.overall, found.certain, found.bayes_vulnerability, found.max_posterior)

    yield (data, "tree", 0), row(whole.grown(tiers.MAIN))
    for k in KS:
        for method, found in measured(whole, k):
            yield (data, method, k), row(found.table)
    yield (data, "group", 0), row(uniform(training, np.zeros(len(training), np.int64), 1))


def draw_figure(after: Mapping[Key, Disclosed], path: Path) -> None:
    """D_overall against GCP, of every method a line over k; the unpruned tree is a level."""
    with panels(path, len(DATA)) as axes:
        for axis, data in zip(axes, DATA, strict=True):
            lines = []
            for method in METHODS:
                points = [after[data, method, k] for k in KS]
                lines.append(Line(TITLES[method], {point.gcp or 0.0: point.divergence for point in points}))
            lines.append(Line(TITLES["tree"], {0.0: after[data, "tree", 0].divergence}))
            draw(axis, lines, "GCP", f"{TITLES[data]}: D_overall, nats, k = 10, 20, 30", log=False)


def frame_of(training: Training) -> pd.DataFrame:
    """The records of a training as a table."""
    columns = {
        a.name: column if a.values is None else np.array(a.values, object)[column]
        for a, column in zip(training.attributes, training.columns, strict=True)
    }
    return pd.DataFrame({**columns, training.target.name: np.array(training.target.classes, object)[training.y]})


def study() -> tuple[dict[str, str], Mapping[Key, Disclosed]]:
    """All tables, and what the figure shows."""
    cells: dict[Key, list[Cell]] = {}
    original: dict[str, list[float]] = {}
    by_reading: dict[str, list[tuple[str, int, str, str, float]]] = {"trees": [], "partitions": [], "errors": []}
    after: dict[Key, Disclosed] = {}
    for data in DATA:
        training = load(data)
        for number, fold in enumerate(islice(folds(training), HELD_OUT[data])):
            print(f"{data}: fold {number + 1}", file=sys.stderr, flush=True)
            original.setdefault(data, []).append(tiers.error(fold.train, fold.test))
            for k in KS:
                for method, found in measured(fold, k):
                    cell = Cell(found.table.gcp(), found.error(tiers.names))
                    cells.setdefault((data, method, k), []).append(cell)
                if data == "adult" and number:
                    continue  # of readings one fold is enough: they differ by more than the folds do
                asked = {"trees": trees(fold, k), "partitions": partitions(fold, k, hierarchies=data == "adult")}
                if data != "adult" or k == KS[0]:
                    asked["errors"] = errors(fold, k)
                for name, rows in asked.items():
                    by_reading[name] += [(data, k, *row) for row in rows]
        print(f"{data}: posteriors", file=sys.stderr, flush=True)
        after |= everything(training, data)
    cells = {(d, m, k): cells[d, m, k] for d in DATA for k in KS for m in METHODS}
    found = {
        "table-2": table_2(cells, original),
        "orders": orders(cells),
        **{name: readings(averages(rows), "error" if name == "errors" else "gcp") for name, rows in by_reading.items()},
        "disclosure": disclosed(after, cells),
    }
    return {**example(), **found}, after


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent, metavar="FOLDER")
    folder: Path = parser.parse_args(arguments).folder
    page = folder / "README.md"
    try:
        text = page.read_text(encoding="utf-8")
        tables, after = study()
        page.write_text(fill(text, tables), encoding="utf-8")
        (folder / "figures").mkdir(exist_ok=True)
        draw_figure(after, folder / "figures" / "records.svg")
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
