"""Posteriors of leaves as they will be where leaves alone say something: known before everything else is compiled.

What a release states is compiled, checked and measured as a whole, by one process. Others need only the posterior of
each leaf to go on. Where no more than counts, or labels and error rates, of leaves is known, it has a closed form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maxent.api.parts.linked import splits_compared
from maxent.api.parts.posteriors import Evaluated, Evaluation, evaluate_group, pickled
from maxent.api.parts.scan import Resources, Scanned
from maxent.api.parts.workers import Told
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.columns import NOTHING, Statements
from maxent.models.files.json_files import uncollected
from maxent.models.nodes import statements_of
from maxent.models.release import Release
from maxent.models.tables.parts.groups import Group
from maxent.models.trees.printed_rates import REMEMBERED, decimals, release_rates
from maxent.solvers.copies import nothing

if TYPE_CHECKING:
    from maxent.api.adversary.estimate import Solving
    from maxent.api.case import Tables
    from maxent.api.compile import Knowledge
    from maxent.api.parts.leaves import Leaves


def look_ahead(release: Release) -> None:
    """Find the decimals of printed rates, which are remembered, while others read the people."""
    for tree in release.trees:
        rates = statements_of(tree.nodes, release.target.classes).rate
        for rate in rates[~np.isnan(rates)][:REMEMBERED].tolist():
            decimals(rate)


def foreseen(
    release: Release, tables: Tables, known: Knowledge, how: Solving, people: IntArray, rank: IntArray
) -> FloatArray | None:
    """P(class | leaf), shape (n_leaves, n_classes), NaN for leaves without people; None where more is known of leaves.

    ``people``, shape (n_leaves,), are those of each leaf, numbered depth-first; ``rank``, shape (n_places,), is the
    number of each leaf, -1 of other places. Whoever uses it compares it with the answer, which it need not be.
    """
    from maxent.constraints.presolve.closed_form import water_fill

    if len(release.trees) > 1 or tables.marginal is not None or release.sampled or release.blurred:
        return None
    if not how.presolve or how.backend != "auto":
        return None
    kinds = set(known.kinds) if known.kinds is not None else {"label", "rate", "counts"}
    tree, classes = release.trees[0], release.target.classes
    said, leaves = statements_of(tree.nodes, classes), np.flatnonzero(people > 0)
    node = np.argsort(rank)[np.count_nonzero(rank < 0) :][leaves]
    if (node >= len(said)).any():  # of removed leaves nothing is stated
        return None
    weight = people[leaves].astype(np.float64)
    if said.counted[node].all() and "counts" in kinds:
        lower = upper = said.take(node).table(len(classes))
        label = np.full(len(leaves), NOTHING)
    elif _more_said(release, said, kinds, rank[: len(said)] < 0, node):
        return None
    else:
        sizes = np.full(len(said), np.nan)
        sizes[node] = weight
        label = said.label[node]
        lower, upper = _hits(release, said, known, sizes, node, weight)
    masses = water_fill(weight, lower, upper, label)
    found = np.full((len(people), len(classes)), np.nan)
    found[leaves] = masses / masses.sum(axis=1, keepdims=True)
    return found


def _more_said(release: Release, said: Statements, kinds: set[str], inner: BoolArray, leaves: IntArray) -> bool:
    """Whether more, or less, is known than the labels of some leaves, and error rates."""
    unlike = release.labels != "majority" or not {"label", "rate"} <= kinds or bool(said.shares)
    some = said.counted.any() or (said.label[inner] != NOTHING).any() or not np.isnan(said.rate[inner]).all()
    return bool(unlike or some or (said.label[leaves] == NOTHING).any())


def _hits(
    release: Release, said: Statements, known: Knowledge, sizes: FloatArray, node: IntArray, weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Fewest and most people of each class in leaves with labels, some of which have an error rate."""
    lower = np.zeros((len(node), len(release.target.classes)))
    upper = np.repeat(weight[:, None], lower.shape[1], axis=1)
    rate, label = said.rate[node], said.label[node]
    rated = np.flatnonzero(~np.isnan(rate))
    hits = release_rates(release, (sizes,), known.rounding).hits
    bounds = [hits(*each) for each in zip(rate[rated].tolist(), weight[rated].tolist(), strict=True)]
    lower[rated, label[rated]], upper[rated, label[rated]] = np.array(bounds).reshape(-1, 2).T
    return lower, upper


def evaluated_ahead(
    release: Release,
    tables: Tables,
    known: Knowledge,
    how: Solving,
    scanned: Scanned,
    job: Evaluation,
    groups: Sequence[Group],
    with_: Resources,
    told: Told,
    solved: Callable[[], Leaves],
) -> list[Evaluated] | None:
    """All groups, evaluated by others while this process finds the answer; None where that is not the foreseen one."""
    if not with_.workers.others or splits_compared(release, known.kinds):
        return None
    with uncollected():
        rank = scanned.descent.rank.astype(np.int64)
        expected = foreseen(release, tables, known, how, scanned.people, rank)
    if expected is None:
        return None
    posterior = with_.folder / "foreseen.npy"
    np.save(posterior, expected)
    results = evaluated(replace(job, posterior=posterior), "ahead", groups, with_, told, solved)
    same = solved().single is None and np.array_equal(expected, solved().posterior, equal_nan=True)
    return results if same else None


def evaluated(
    job: Evaluation,
    name: str,
    groups: Sequence[Group],
    with_: Resources,
    told: Told,
    first: Callable[[], object] = nothing,
) -> list[Evaluated]:
    """Evaluate all groups, while this process does something ``first``; the ``name`` is that of a new file."""
    path = pickled(job, with_.folder / name)
    return with_.workers.map(evaluate_group, [(group, path) for group in groups], told, first)
