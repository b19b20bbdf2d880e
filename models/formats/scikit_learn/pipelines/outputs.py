"""Models of several sensitive columns as one model for each of them.

A tree of several outputs is one tree whose nodes state the classes of each column by itself. How often classes of two
columns come together no node says.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxent.models.arrays import FloatArray

# What is lost of each column of a tree that several columns share
SHARED = "that splits were better than others: they were compared for all sensitive columns together"

# Stands for the criterion of one output: none by which its own classes tell which split was best
_TOGETHER = "the mean over all outputs"


@dataclass(frozen=True, slots=True, eq=False)
class OneOutput:
    """A live ``tree_`` of several outputs with the values of one: ``value`` has shape (n_nodes, 1, n_classes)."""

    tree: Any
    value: FloatArray

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tree, name)


def n_outputs(model: Any) -> int:
    """How many columns a fitted model, or the last step of a pipeline, predicts."""
    steps = getattr(model, "steps", None)
    if steps:
        return n_outputs(steps[-1][1])
    if _has_model_each(model):
        return len(model.estimators_)
    return int(getattr(model, "n_outputs_", 1))


def is_shared(model: Any) -> bool:
    """Whether the columns share the trees: not so where each has a model of its own (``MultiOutputClassifier``)."""
    steps = getattr(model, "steps", None)
    return is_shared(steps[-1][1]) if steps else n_outputs(model) > 1 and not _has_model_each(model)


def outputs_of(model: Any) -> Iterator[Any]:
    """A model for each column of a fitted one: what `maxent.from_sklearn` takes, or a pipeline that ends in it.

    ``model``: of several outputs.
    """
    steps = getattr(model, "steps", None)
    if steps:
        for last in outputs_of(steps[-1][1]):
            found = copy.copy(model)
            found.steps = [*steps[:-1], (steps[-1][0], last)]
            yield found
    elif _has_model_each(model):
        yield from model.estimators_
    else:
        for output in range(n_outputs(model)):
            yield _one_output(model, output)


def _has_model_each(model: Any) -> bool:
    return type(model).__name__ == "MultiOutputClassifier" and hasattr(model, "estimators_")


def _one_output(model: Any, output: int) -> Any:
    """A tree or a forest about one of its outputs."""
    found = copy.copy(model)
    found.n_outputs_ = 1
    found.classes_ = np.asarray(model.classes_[output])
    found.n_classes_ = len(found.classes_)
    if model.class_weight is not None:  # the weights of several columns multiply: those of one tell no counts
        found.class_weight = [model.class_weight]
    if hasattr(model, "estimators_"):
        found.estimators_ = [_one_output(tree, output) for tree in model.estimators_]
    else:
        found.criterion = _TOGETHER
        value = np.asarray(model.tree_.value[:, [output], : found.n_classes_])
        tree: Any = model.tree_
        found.tree_ = OneOutput(tree, value) if hasattr(tree, "apply") else replace(tree, value=value)
    return found
