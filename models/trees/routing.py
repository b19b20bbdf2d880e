"""Routing of records in a tree: the values of its branches, and the final place of each record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.release import Attribute, Branch, Tree
from maxent.models.trees.places import number_places

Interval = tuple[float, float]  # (gt, le]

EVERYWHERE: Interval = (-np.inf, np.inf)
NOWHERE: Interval = (np.inf, np.inf)


def interval_of(branch: Branch) -> Interval:
    """The numbers that a numeric branch takes, ``(gt, le]``; `NOWHERE` when it only takes missing ones."""
    if branch.missing and branch.gt is None and branch.le is None:
        return NOWHERE
    return (-np.inf if branch.gt is None else branch.gt, np.inf if branch.le is None else branch.le)


def branch_of_code(
    attribute: Attribute, branches: tuple[Branch, ...], levels: Sequence[Any] | npt.NDArray[Any], codes: IntArray
) -> IntArray:
    """The branch that each of some codes takes, shape (n_codes,), -1 where none does; ``levels`` are what they mean.

    A code of -1 means no level and takes no branch. The last level of a numeric attribute is NaN where some records
    have no number.
    """
    if attribute.type == "categorical":
        code = {value: i for i, value in enumerate(levels)}
        taken = np.full(len(levels) + 1, -1, np.int64)
        for i, branch in enumerate(branches):
            taken[[code[value] for value in branch.values or () if value in code]] = i
        return taken[codes]
    went = np.full(len(codes), -1, np.int64)
    for i, branch in enumerate(branches):
        low, high = np.searchsorted(levels, interval_of(branch), side="right")
        went[(codes >= low) & (codes < high)] = i
    if attribute.missing and len(levels) and np.isnan(levels[-1]):
        went[codes == len(levels) - 1] = missing_branch(branches)
    return went


def missing_branch(branches: tuple[Branch, ...]) -> int:
    """The branch that records without a number take, -1 when none does."""
    return next((i for i, branch in enumerate(branches) if branch.missing), -1)


def branch_of_number(branches: tuple[Branch, ...], numbers: FloatArray) -> IntArray:
    """The branch that each of some numbers takes, shape (n,), -1 where none does; NaN stands for a missing one."""
    went = np.full(len(numbers), -1, np.int64)
    for i, (low, high) in enumerate(map(interval_of, branches)):
        went[(numbers > low) & (numbers <= high)] = i
    if (missing := missing_branch(branches)) >= 0:
        went[np.isnan(numbers)] = missing
    return went


def branch_taken(attribute: Attribute, branches: tuple[Branch, ...], column: npt.NDArray[Any]) -> IntArray:
    """The branch that each of some records takes, -1 where none does; shape (n,), of a column as `assign` has it."""
    if attribute.values is None:
        return branch_of_number(branches, column)
    return branch_of_code(attribute, branches, attribute.values, column)


def divided(went: IntArray, n_branches: int) -> Iterator[IntArray]:
    """The positions of ``went`` that take each branch, one array per branch; those of -1 take none."""
    if n_branches < np.iinfo(np.int16).max:
        went = went.astype(np.int16)  # NumPy sorts short integers in linear time
    order = np.argsort(went, kind="stable")
    ends = np.cumsum(np.bincount(went + 1, minlength=n_branches + 1))
    for begin, end in pairwise(ends.tolist()):
        yield order[begin:end]


def assign(tree: Tree, attributes: Sequence[Attribute], columns: Sequence[npt.NDArray[Any]]) -> IntArray:
    """The place where each record ends: a leaf, a removed leaf, or the inner node at which it cannot go on.

    ``attributes``: what the columns are; every attribute that the tree tests is among them. ``columns`` of shape (n,):
    categorical: codes (int64) into `Attribute.values`, -1 for a value outside of the domain. Numeric: float64, NaN for
    a missing one. A record stays at the first node whose test it has no value for.

    Returns
    -------
    int64, shape (n,)
        Places as `maxent.models.trees.places.Places` numbers them.
    """
    places = number_places(tree)
    column = {attribute.name: j for j, attribute in enumerate(attributes)}
    n = len(columns[0]) if columns else 0
    ended = np.zeros(n, np.int64)
    stack = [(0, np.arange(n))]
    while stack:
        place, rows = stack.pop()
        ended[rows] = place
        below = places.children[place]
        if not below or not len(rows):
            continue
        branches = tree.nodes[place].branches
        j = column[tree.nodes[place].attribute or ""]
        parts = divided(branch_taken(attributes[j], branches, columns[j][rows]), len(branches))
        stack.extend((child, rows[here]) for child, here in zip(below, parts, strict=True))
    return ended
