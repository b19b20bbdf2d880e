"""Generalised records with the people behind them: tables to audit, and the truth in the cells of a program."""

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
from papers.yang_2019 import mondrian

from maxent.models.defenses.error_risk import prune_erp
from maxent.models.defenses.generalization import tiered, uniform
from maxent.models.tables.generalized_records import GeneralizedTable
from maxent.models.trees.places import assign
from support.anonymity import training_of
from support.strategies import Case, People

METHODS = ("uniform", "tiered", "mondrian")


def generalised(case: Case, k: int, method: str) -> GeneralizedTable:
    """The people of a case, generalised by its first tree or by Mondrian; k is at most their number."""
    training = training_of(case.people)
    k = min(k, len(training))
    if method == "tiered":
        return tiered(training, case.release, k)
    if method == "mondrian":
        pruned = mondrian.partition(training, k, mondrian.median_cut)
    else:
        ranges = {a.name: (-3.0, 10.0) for a in case.release.attributes if a.values is None}
        pruned = prune_erp(case.release, k, ranges=ranges)
    return uniform(training, assign(pruned.trees[0], training.attributes, training.columns), k)


def table_rows(people: People, table: Any) -> np.ndarray:
    """The quasi-identifier of a `QITable` that each of the people has, shape (n,)."""
    place = {tuple(row): i for i, row in enumerate(table.frame().iloc[:, :-1].itertuples(index=False, name=None))}
    wanted = people.qi[[a.name for a in table.attributes]]
    return np.array([place[tuple(row)] for row in wanted.itertuples(index=False, name=None)])


def true_masses(program: Any, rows: np.ndarray, group: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Masses of a program's cells when everybody has the row that was published for them.

    ``rows`` are the quasi-identifiers of the people, ``group`` the groups of their rows, ``y`` the codes of classes.
    """
    cells = {pair: i for i, pair in enumerate(zip(program.cells.owner, program.cells.leaf[:, 0] - 1, strict=True))}
    masses = np.zeros((len(program.cells), program.n_classes))
    for pair, x in zip(zip(rows, group, strict=True), y, strict=True):
        masses[cells[pair], x] += 1
    return masses


def assignments(people: np.ndarray, owner: np.ndarray, group: np.ndarray, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Every way to give each individual, in the order of ``people``, the group of one published row."""
    allowed = set(zip(owner.tolist(), group.tolist(), strict=True))
    who = np.repeat(np.arange(len(people)), people).tolist()
    which = np.repeat(np.arange(len(rows)), rows).tolist()
    for order in set(permutations(which)):
        if len(order) == len(who) and all(pair in allowed for pair in zip(who, order, strict=True)):
            yield np.array(order)
