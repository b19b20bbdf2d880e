"""The experiments of Zhu and Du (2010), section 5: what trees on Adult tell about the education of 30,162 people.

    MAXENT_DATA=/path/to/data PYTHONPATH=examples .venv/bin/python -m papers.zhu_2010.study [FOLDER] [--keep-times]

puts its tables into FOLDER/README.md (default: that of this module) and draws FOLDER/figures/disclosure_*.svg. Words
and numbers outside of the tables are left alone. The same data give the same bytes, but for times and memory, which are
measured anew unless they are to be kept. adult.csv is read from the folder MAXENT_DATA; the numbers of the protocol are
in examples/papers/zhu_2010/paper.toml.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import maxent
from maxent.models.defenses.pruning import prune_leaf, prune_parent
from maxent.models.release import Impurity
from maxent.models.tables.training import Training
from maxent.results.estimate import Estimate
from papers.study_files import ROOT, protocol
from papers.tables import fill
from papers.zhu_2010.cost import Cost, cost
from papers.zhu_2010.figures import save_figures
from papers.zhu_2010.page import MEASURED, Results, cost_tables, tables, words
from papers.zhu_2010.protocol import KNOWLEDGE, QI, STOPS, TREES, Found, People, Size, Stop, measure
from papers.zhu_2010.statements import statements

PROTOCOL = protocol("zhu-2010")
SPLITS: tuple[int, ...] = tuple(PROTOCOL["splits"])
"""Fewest records of a node that is split, for the trees of different sizes."""

RATIO_SPLIT: int = PROTOCOL["ratio_split"]
"""The same for the one tree by gain ratio; with 8 its splits take more than a minute."""

KS: tuple[int, ...] = tuple(PROTOCOL["ks"])
METHODS = {"prune-leaf": prune_leaf, "prune-parent": prune_parent}
SEEDS: tuple[int, ...] = tuple(PROTOCOL["seeds"])
FLOOR: float = PROTOCOL["floor"]
"""A smallest probability that keeps the maximum of entropy from ruling out what is not ruled out."""


def note(text: str) -> None:
    print(f"{text} ...", file=sys.stderr, flush=True)


def examples() -> dict[str, Estimate]:
    """The worked examples with and without the choice of splits, D1 also by Gini."""

    def estimate(name: str, **how: str) -> Estimate:
        folder = ROOT / "examples" / name
        return maxent.estimate(folder / "tree.json", folder / "qi.csv", folder / "truth.csv", **how)  # type: ignore[arg-type]

    return {
        "d1": estimate("d1", knowledge="label,rate"),
        "d1 gini": estimate("d1", impurity="gini"),
        "d1 entropy": estimate("d1", impurity="entropy"),
        "d2": estimate("d2", knowledge="label,rate"),
        "d2 gini": estimate("d2", impurity="gini"),
        "d2 entropy": estimate("d2", impurity="entropy"),
    }


def sizes(people: People, training: Training) -> Iterator[tuple[str, str, Size]]:
    """Leaves and comparisons of a tree by every rule and measure."""
    for rule, stop in STOPS.items():
        for impurity in ("gini", "entropy"):
            yield rule, impurity, Size.of(stop.tree(training, impurity), people)


def by_size(people: People, training: Training) -> Iterator[tuple[tuple[str, int], Size, dict[str, Found]]]:
    """Trees that stop at different numbers of records, and what is disclosed without and with the choice of splits."""
    grown: list[tuple[Impurity, int]] = [(i, split) for i in ("gini", "entropy") for split in SPLITS]
    for impurity, split in [*grown, ("gain_ratio", RATIO_SPLIT)]:
        note(f"{impurity}, {split} records to split")
        release = Stop(split=split).tree(training, impurity)
        found = {name: measure(people, release, name) for name in ("rates", "rates, splits", "counts, splits")}
        found["floor"] = measure(people, release, "rates, splits", floor=FLOOR)
        yield (impurity, split), Size.of(release, people), found


def defended(people: People, training: Training) -> Iterator[tuple[tuple[str, str, int], Size, dict[str, Found]]]:
    """The trees as they are (k = 1) and pruned."""
    for name, (impurity, stop) in TREES.items():
        release = stop.tree(training, impurity)
        pruned = {(method, k): prune(release, k) for method, prune in METHODS.items() for k in KS}
        for (method, k), published in {("none", 1): release, **pruned}.items():
            note(f"{name}, {method}, k = {k}")
            found = {known: measure(people, published, known) for known in KNOWLEDGE if "labels" not in known}
            yield (name, method, k), Size.of(published, people), found


def study(people: People) -> Results:
    """Everything but times and memory."""
    training = people.training()
    found: dict[tuple[str, str], Found] = {}
    for name, (impurity, stop) in TREES.items():
        release = stop.tree(training, impurity)
        for knowledge in KNOWLEDGE:
            note(f"{name}, {knowledge}")
            found[name, knowledge] = measure(people, release, knowledge)
        found[name, "floor"] = measure(people, release, "rates, splits", floor=FLOOR)
        for seed in SEEDS:
            found[name, f"seed {seed}"] = measure(people, release, "rates, splits", seed=seed)
    return Results(
        len(people.train),
        {(rule, impurity): size for rule, impurity, size in sizes(people, training)},
        found,
        {key: (size, points) for key, size, points in by_size(people, training)},
        {key: (size, points) for key, size, points in defended(people, training)},
        examples(),
    )


def costs(people: People) -> dict[tuple[str, str], Cost]:
    """What every estimate takes in a process of its own."""
    measured = {}
    for name, (impurity, stop) in TREES.items():
        with TemporaryDirectory() as folder:
            stop.tree(people.training(), impurity).save(Path(folder) / "tree.json")
            people.train[list(QI)].to_csv(Path(folder) / "qi.csv", index=False)
            for known, knowledge in KNOWLEDGE.items():
                note(f"time of {name}, {known}")
                measured[name, known] = cost(folder, knowledge)
    return measured


def kept(page: str) -> dict[str, str]:
    """The measured tables that the page has."""
    begins = {name: f"<!-- table: {name} -->\n" for name in MEASURED}
    return {name: page.partition(begin)[2].partition("<!-- end -->")[0] for name, begin in begins.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent, metavar="FOLDER")
    parser.add_argument("--keep-times", action="store_true", help="leave the tables of times and memory alone")
    call = parser.parse_args(arguments)
    page = call.folder / "README.md"
    try:
        text = page.read_text(encoding="utf-8")
        people = People.from_environment()
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    results = study(people)
    measured = kept(text) if call.keep_times else cost_tables(costs(people))
    found = {**tables(results), "statements": words(statements(results)), **measured}
    page.write_text(fill(text, found), encoding="utf-8")
    save_figures(results, call.folder / "figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
