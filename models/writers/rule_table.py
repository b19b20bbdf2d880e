"""A release as a table of rules: a row for each leaf."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from maxent.models.files.result_files import guarded_frame
from maxent.models.release import Node, Release
from maxent.models.writers.rules import rules_of
from maxent.models.writers.writer import Wanted, Writer


def write_table(release: Release, wanted: Wanted) -> str:
    """A CSV table: tree, leaf, rule, label, and a column for each number that some leaf states."""
    del wanted
    import pandas as pd

    frame = pd.DataFrame(list(_rows(release))).dropna(axis="columns", how="all").convert_dtypes()
    return str(guarded_frame(frame).to_csv(index=False, lineterminator="\n"))


def _rows(release: Release) -> Iterator[dict[str, object]]:
    for position, tree in enumerate(release.trees, 1):
        for rule in rules_of(release, tree):
            removed = rule.place >= len(tree.nodes)
            told = {"tree": position, "leaf": None if removed else rule.node.id, "rule": str(rule)}
            yield {**told, **_statements(Node("") if removed else rule.node, release.target.classes)}


def _statements(leaf: Node, classes: tuple[str, ...]) -> dict[str, object]:
    one = leaf.value if not isinstance(leaf.value, Mapping) else None
    found: dict[str, object] = {
        "label": leaf.label,
        "error_rate": leaf.error_rate,
        "n": leaf.n,
        "distinct": leaf.distinct,
        "value": one,
        "mean": leaf.mean,
        "variance": leaf.variance,
    }
    for words, numbers in (("counts", leaf.counts), ("rates", leaf.rates), ("value", leaf.value)):
        for label in classes:
            found[f"{words}({label})"] = numbers.get(label, 0) if isinstance(numbers, Mapping) else None
    return found


WRITER = Writer("csv", ".csv", "a table of rules, a row for each leaf", write_table)
