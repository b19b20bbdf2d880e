"""Starts of cases: releases and people that fit, from the examples, and small ones that are made up."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.case import Dice

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class World:
    """A release, and the people that it is about: a header and rows of texts, the class in the last column."""

    document: dict[str, Any]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def qi(self) -> list[list[str]]:
        """The adversary's table, with its header."""
        return [list(row[:-1]) for row in (self.header, *self.rows)]

    @property
    def truth(self) -> list[list[str]]:
        """The confidential table, with its header."""
        return [list(row) for row in (self.header, *self.rows)]


def _example(name: str, truth: str) -> World:
    document = json.loads((EXAMPLES / name / "tree.json").read_text(encoding="utf-8"))
    header, *rows = (tuple(line.split(",")) for line in (EXAMPLES / name / truth).read_text("utf-8").splitlines())
    return World(document, header, tuple(rows))


EXAMPLE_WORLDS = (_example("d1", "truth.csv"), _example("d2", "truth.csv"), _example("yang", "records.csv"))


def world(dice: Dice) -> World:
    """One of the examples, or a small one of its own."""
    return dice.choice(EXAMPLE_WORLDS) if dice.chance(0.4) else made_up(dice)


def made_up(dice: Dice) -> World:
    """A few people, and trees that say of them what is true."""
    names = dice.sample(["A", "B", "C", "Age", "Größe", "x y"], dice.randint(1, 3))
    attributes: list[dict[str, Any]] = []
    for name in names:
        if dice.chance(0.4):
            attributes.append({"name": name, "type": "numeric"})
        else:
            attributes.append({"name": name, "type": "categorical", "values": list("pqrs"[: dice.randint(1, 4)])})
        if dice.chance(0.1):
            attributes[-1]["role"] = "private"
    classes = ["no", "yes", "maybe"][: dice.randint(1, 3)]
    rows = []
    for _ in range(dice.choice([1, 2, 5, 9, 14])):
        cells = [str(dice.randint(18, 30)) if "values" not in a else dice.choice(a["values"]) for a in attributes]
        rows.append((*cells, dice.choice(classes)))
    says = dice.choice(["counts", "rates", "labels", "all", "n"])
    trees = []
    for _ in range(dice.choice([1, 1, 1, 2])):
        nodes: list[dict[str, Any]] = []
        _grow(nodes, attributes, classes, rows, says, dice.randint(0, 3), dice)
        trees.append({"nodes": nodes})
        if dice.chance(0.3):
            trees[-1]["induction"] = {
                "algorithm": "id3",
                "impurity": dice.choice(["gini", "entropy", "gain_ratio", None]),
                "candidates": dice.choice(["unused", "thresholds", "mixed", "none"]),
            }
    document = {"format": "maxent/1", "target": {"name": "T", "classes": classes}, "attributes": attributes}
    return World({**document, "trees": trees}, (*names, "T"), tuple(rows))


def _grow(
    nodes: list[dict[str, Any]],
    attributes: list[dict[str, Any]],
    classes: list[str],
    rows: list[tuple[str, ...]],
    says: str,
    depth: int,
    dice: Dice,
) -> str:
    """Append the nodes of a tree; the id of its root."""
    node: dict[str, Any] = {"id": f"N{len(nodes) + 1}"}
    nodes.append(node)
    counts = Counter(row[-1] for row in rows)
    i = dice.randrange(len(attributes))
    values = attributes[i].get("values")
    if depth and values is None:
        cut = dice.randint(18, 29) + 0.5
        sides = [{"le": cut}, {"gt": cut}]
        parts = [[row for row in rows if (float(row[i]) <= cut) == first] for first in (True, False)]
    elif depth and len(values) > 1:
        sides = [{"in": [value]} for value in values]
        parts = [[row for row in rows if row[i] == value] for value in values]
    else:
        label = max(classes, key=lambda name: counts[name])
        if says in ("rates", "labels", "all"):
            node["label"] = label
        if says in ("rates", "all"):
            node |= {"error_rate": 1 - counts[label] / len(rows) if rows else 0.0}
        if says in ("rates", "n", "all"):
            node["n"] = len(rows)
        if says in ("counts", "all"):
            node["counts"] = {name: counts[name] for name in classes}
        return str(node["id"])
    node |= {"attribute": attributes[i]["name"], "branches": []}
    for side, part in zip(sides, parts, strict=True):
        child = _grow(nodes, attributes, classes, part, says, depth - 1, dice)
        node["branches"].append({**side, "child": child})
    return str(node["id"])
