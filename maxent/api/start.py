"""A tree that is there, as what a defense starts from: its splits, and what the records have in its leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from maxent.api.convert import converted, wanted_of
from maxent.models.arguments import parameters_of, shorten
from maxent.models.defenses.grown_tree import InducedTree
from maxent.models.defenses.method import Method
from maxent.models.defenses.registry import methods
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.formats.scikit_learn.pipelines import is_pipeline, release_of
from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.reading import Reading
from maxent.models.release import Induction, Node, Release, Tree
from maxent.models.tables.training import Training
from maxent.models.trees.places import assign
from maxent.models.trees.predict import tested_attributes
from maxent.models.trees.restate import majority


def starting_tree(
    model: Any,
    data: Any,
    method: str,
    asked: Method,
    options: Mapping[str, Any],
    named: Mapping[str, Any],
    reading: Reading | None,
) -> Release:
    """The model that a method is to start from, as a release; ``data`` are for domains that a file lacks."""
    takers = [name for name, kind in methods().items() if issubclass(kind, InducedTree)]
    if not isinstance(asked, InducedTree) or getattr(asked, "grow", False):
        own = method if not isinstance(asked, InducedTree) else "grow"
        raise invalid("options", ARGUMENT, "model", f"none for {own}, which grows its own trees", shorten(model))
    of_growth = [
        name
        for name, each in parameters_of(type(asked)).items()
        if each.about.group == "grown" and options.get(name, each.default) != each.default
    ]
    if of_growth:
        expected = "none: the tree is that of the model"
        raise InvalidInput("options", [Problem(ARGUMENT, n, expected, shorten(options[n])) for n in of_growth])
    if getattr(asked, "complexity_folds", None) is not None:
        expected = "none: other trees would have to be grown for the folds"
        raise invalid("options", ARGUMENT, "complexity_folds", expected, shorten(options["complexity_folds"]))
    if options.get("criterion") == "stated":
        expected = "'unstated': what the splits of the model were chosen by is not stated of these records"
        raise invalid("options", ARGUMENT, "criterion", expected, "'stated'")
    target = str(named["target"])
    if isinstance(model, Release):
        found = model
    elif isinstance(model, (str, PathLike)):
        found = converted(model, wanted_of(target, train=data), reading).release
    elif is_pipeline(model):
        found = _undone(model, data, target)
    else:
        found = from_sklearn(model, target=target)
    if found.statements:
        expected = "trees alone: what is published beside them is judged with them, by maxent.review"
        raise invalid("options", ARGUMENT, "model", expected, "statements")
    if found.boosting is not None or found.predicts == "score" or found.target.numbers:
        expected = f"trees whose leaves have classes, for {', '.join(takers)}"
        raise invalid("options", ARGUMENT, "model", expected, "scores or numbers")
    return found


def _undone(pipeline: Any, data: Any, target: str) -> Release:
    """A pipeline of scikit-learn as a release whose splits are in the columns of the records."""
    if isinstance(data, (str, PathLike)) or not hasattr(data, "columns"):
        expected = "a DataFrame as fit was given, with which the steps of a pipeline are undone"
        raise invalid("options", ARGUMENT, "data", expected, shorten(data))
    return release_of(pipeline, data, target=target)


def private_of(model: Release, qi: Sequence[str], private: Sequence[str]) -> list[str]:
    """The attributes that the trees test besides the quasi-identifiers, and those that are named."""
    tested = [attribute.name for attribute in tested_attributes(model)]
    return list(dict.fromkeys([*private, *(name for name in tested if name not in qi)]))


def domains_of(model: Release, columns: Sequence[str]) -> dict[str, Sequence[str]]:
    """The values of the columns that are categories in the model, and the classes."""
    found = {a.name: a.values for a in model.attributes if a.values is not None and a.name in columns}
    return {**found, model.target.name: model.target.classes}


def counted(model: Release, training: Training) -> Release:
    """The trees of a model with the counts of the records, and what is known of how they were grown left out."""
    kinds = {attribute.name: attribute.values is None for attribute in training.attributes}
    problems = [
        Problem("column", a.name, "numbers" if a.values is None else "categories", "the other, in the records")
        for a in tested_attributes(model)
        if kinds.get(a.name) != (a.values is None)
    ]
    if problems:
        raise InvalidInput("data", problems)
    trees = tuple(_counted(tree, training) for tree in model.trees)
    return Release(training.target, training.attributes, trees)


def _counted(tree: Tree, training: Training) -> Tree:
    """One tree with the counts of the records in its leaves."""
    classes = training.target.classes
    ended = assign(tree, training.attributes, training.columns)
    inner = [i for i, node in enumerate(tree.nodes) if not node.is_leaf]
    stuck = np.isin(ended, inner) | (ended >= len(tree.nodes))
    if stuck.any():
        expected = "trees with a branch for every record, and no leaf removed"
        raise invalid("options", ARGUMENT, "model", expected, f"none for {int(stuck.sum()):,} records")
    table = np.zeros((len(tree.nodes), len(classes)), np.int64)
    np.add.at(table, (ended, training.y), 1)
    nodes = tuple(
        Node(node.id, node.attribute, node.branches)
        if not node.is_leaf
        else Node(
            node.id,
            label=majority(classes, tuple(row)) or node.label or classes[0],
            n=sum(row),
            counts=dict(zip(classes, row, strict=True)),
        )
        for node, row in zip(tree.nodes, table.tolist(), strict=True)
    )
    return replace(tree, nodes=nodes, induction=Induction())
