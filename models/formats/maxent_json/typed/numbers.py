"""Whether the numbers of nodes held as arrays agree: within a node, with its children's, between trees.

Vectorised over the nodes of all trees, six times as fast as `maxent.models.formats.maxent_json.check_counts`: what is
not sure to be sound is left to that, which words what is wrong, of nodes of which parts could not be read and of trees
of any depth (a level takes 0.1 ms here).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import BoolArray, IntArray, ranges
from maxent.models.columns import NOTHING, Columns, Statements
from maxent.models.formats.maxent_json.check_counts import Publication, allowed_off
from maxent.models.formats.maxent_json.parse_answers import answer_problems
from maxent.models.formats.maxent_json.published.rounded_numbers import disagreements
from maxent.models.release_content import Content
from maxent.models.text.arguments import LARGEST_COUNT

MOST_CELLS = 200_000_000  # nodes times classes that are looked at in all
TOGETHER = 8  # classes that are looked at together, at least

# Nodes times classes that are looked at together where nodes are few: a long chain is walked once for many classes
CELLS_TOGETHER = 1_000_000

_SURE = 1e-9


def sound_numbers(nodes: Columns, tree_ends: IntArray, levels: Sequence[IntArray], publication: Publication) -> bool:
    """Whether the numbers of all nodes are sure to agree.

    ``nodes``: of all trees. ``tree_ends`` of shape (n_trees + 1,): where the nodes of each tree end; the first is 0.
    ``levels``: the nodes of each depth, the roots first. ``publication``: what the numbers are about.
    """
    said = nodes.statements
    records = float(said.count.sum(dtype=np.float64)) + float(np.maximum(said.n, 0).sum(dtype=np.float64))
    if records > LARGEST_COUNT or len(nodes) * len(publication.classes) > MOST_CELLS:
        return False
    if publication.rounded is not None:
        return _sound_rounded(nodes, levels, publication)
    if not _agree_within(said, publication):
        return False
    together = max(TOGETHER, CELLS_TOGETHER // max(len(nodes), 1))
    classes = range(len(publication.classes))
    blocks = (classes[first : first + together] for first in classes[::together])
    return all(_agree_above(nodes, tree_ends, levels, publication, block) for block in blocks)


def _sound_rounded(nodes: Columns, levels: Sequence[IntArray], publication: Publication) -> bool:
    """Whether nodes state labels and rounded numbers alone, which agree."""
    said = nodes.statements
    told = (said.distinct != NOTHING) | ~np.isnan(said.rate) | ~np.isnan(nodes.value)
    if told.any() or said.shares or any(each is not None for each in (nodes.scores, nodes.hessian, nodes.mean)):
        return False
    return next(disagreements(said, publication, nodes.branch_ends, nodes.child, levels), None) is None


def sound_parts(nodes: Columns, tree_ends: IntArray, labels: str) -> bool:
    """Whether parts of a leaf of the tool have one label, and state nothing else."""
    if not nodes.parts:
        return True
    said, part = nodes.statements, np.array([each is not None for each in nodes.parts], bool)
    more = (nodes.attribute != NOTHING) | ~np.isnan(said.rate) | ~np.isnan(nodes.value) | said.counted
    if (part & (more | (said.n != NOTHING) | (said.distinct != NOTHING))).any():
        return False
    inner = nodes.attribute != NOTHING
    inner[tree_ends[:-1]] = False
    if (inner & (said.counted | (said.n != NOTHING) | (said.distinct != NOTHING))).any():
        return False
    tree = np.repeat(np.arange(len(tree_ends) - 1), np.diff(tree_ends)).tolist()
    stated = zip(tree, nodes.parts, said.label.tolist(), strict=True)
    told = {(t, part, label) for t, part, label in stated if part is not None}
    alike = len(told) == len({each[:2] for each in told})
    return alike and (labels == "decided" or all(label == NOTHING for _, _, label in told))


def sound_answers(release: Content, nodes: Columns) -> bool:
    """Whether the trees are sure to predict together as a release says that they do."""
    if release.predicts != "score":
        return next(answer_problems(release, ()), None) is None
    if release.boosting is None or (release.boosting.link == "logit" and len(release.target.classes) != 2):
        return False
    if release.boosting.link == "logit" and len({tree.of_class for tree in release.trees}) > 1:
        return False
    # Leaves state one number each, if any: it is of the class of their tree.
    named = all(tree.of_class is not None for tree in release.trees)
    leaves = nodes.attribute == NOTHING
    return named and not np.isnan(nodes.value[leaves]).any()


def _agree_within(said: Statements, publication: Publication) -> bool:
    """Whether the statements about each node agree with each other."""
    hidden = publication.suppressed
    if hidden and not publication.sampled and (said.count < publication.suppressed_below).any():
        return False
    total, both = said.total, said.counted & (said.n != NOTHING)
    if (both & ((total > said.n) | ((total < said.n) & (not hidden)))).any():
        return False
    if not _sound_distinct(said, total, publication):
        return False
    owner = said.owner
    most = np.zeros(len(said), np.int64)
    np.maximum.at(most, owner, said.count)
    of_label = said.count_class == said.label[owner]
    hits = np.zeros(len(said), np.int64)
    hits[owner[of_label]] = said.count[of_label]
    less = said.counted & (said.label != NOTHING) & (hits < most)
    if not publication.decided and (less & ~((hits == 0) & hidden)).any():
        return False
    rate = said.rate
    highest = 1.0 if publication.decided else 1 - 1 / len(publication.classes)
    beyond = np.maximum(rate - highest, 0.0) > _SURE
    if beyond.any() and (rate[beyond] > highest + _allowed(rate[beyond])).any():
        return False
    if not publication.same_records:
        return True
    rows = np.flatnonzero(~np.isnan(rate) & (total > 0))
    off = np.abs((1 - hits[rows] / total[rows]) - rate[rows])
    rows, off = rows[off > _SURE], off[off > _SURE]
    return not (off > _allowed(rate[rows])).any()


def _sound_distinct(said: Statements, total: IntArray, publication: Publication) -> bool:
    """Whether the draws of each node can be of so many different records: one at least of each class."""
    told = said.distinct != NOTHING
    if publication.resampled is None or not told.any():
        return not told.any()
    most = np.where(said.counted, total, said.n)
    least = np.maximum(np.where(said.counted, np.diff(said.count_ends), 0), np.minimum(most, 1))
    off = (said.distinct < least) | ((most != NOTHING) & (said.distinct > most))
    return not (told & off).any()


def _allowed(rates: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """By how much each rate may be off."""
    distinct, which = np.unique(rates, return_inverse=True)
    return np.array([allowed_off(rate) for rate in distinct.tolist()], np.float64)[which]


@dataclass(frozen=True, slots=True, eq=False)
class _Tallies:
    """Records at or below every node, and a last row of nothing, as `check_counts.Tally` has those of one.

    ``counts`` (n_nodes + 1, n_classes) and ``n`` (n_nodes + 1,) are 0 where nothing is known.
    """

    counts: IntArray
    has_counts: BoolArray
    counts_exact: BoolArray
    n: IntArray
    has_n: BoolArray
    n_exact: BoolArray


def _own(nodes: Columns, publication: Publication, block: range) -> _Tallies:
    """Statements of nodes themselves, of a block of classes."""
    said, exact = nodes.statements, not publication.suppressed
    counts = np.zeros((len(nodes) + 1, len(block)), np.int64)
    here = (said.count_class >= block.start) & (said.count_class < block.stop)
    counts[said.owner[here], said.count_class[here] - block.start] = said.count[here]
    n = np.where(said.counted & exact, said.total, said.n)
    has_counts, has_n = np.append(said.counted, False), np.append(n != NOTHING, False)
    n = np.append(np.maximum(n, 0), 0)
    return _Tallies(counts, has_counts, has_counts & exact, n, has_n, has_n & exact)


def _agree_above(
    nodes: Columns, tree_ends: IntArray, levels: Sequence[IntArray], publication: Publication, block: range
) -> bool:
    """Whether inner nodes agree with their children, and roots with each other, in a block of classes."""
    tally = _own(nodes, publication, block)
    for level in reversed(levels):
        inner = level[nodes.branch_ends[level + 1] > nodes.branch_ends[level]]
        if len(inner) and not _tallied(nodes, inner, tally):
            return False
    if publication.resampled is None and (publication.sampled or publication.suppressed):
        return True
    removed = np.concatenate([[0], np.cumsum(nodes.child == NOTHING)])
    whole = np.diff(removed[nodes.branch_ends[tree_ends]]) == 0
    roots = tree_ends[:-1][whole]
    if publication.resampled is not None:
        return not (tally.n[roots[tally.n_exact[roots]]] != publication.resampled).any()
    counted, sized = tally.counts[roots[tally.counts_exact[roots]]], tally.n[roots[tally.n_exact[roots]]]
    return bool((counted == counted[:1]).all() and (sized == sized[:1]).all())


def _tallied(nodes: Columns, inner: IntArray, tally: _Tallies) -> bool:
    """Tally nodes whose children are tallied, in place; whether they agree."""
    start, end = nodes.branch_ends[inner], nodes.branch_ends[inner + 1]
    child = nodes.child[ranges(start, end)]  # the last row is that of removed leaves
    run = np.cumsum(end - start) - (end - start)
    counts = np.add.reduceat(tally.counts[child], run, axis=0)
    n = np.add.reduceat(tally.n[child], run)
    has_counts = np.logical_or.reduceat(tally.has_counts[child], run)
    has_n = np.logical_or.reduceat(tally.has_n[child], run)
    counts_exact = np.logical_and.reduceat(tally.counts_exact[child], run)
    n_exact = np.logical_and.reduceat(tally.n_exact[child], run)
    own_counts, own_n = tally.has_counts[inner], tally.has_n[inner]
    both, exact = own_counts & has_counts, tally.counts_exact[inner] & counts_exact
    mine = tally.counts[inner]
    wrong = (counts > mine) | ((counts != mine) & exact[:, None])
    if (wrong & both[:, None]).any():
        return False
    both, exact = own_n & has_n, tally.n_exact[inner] & n_exact
    if (both & ((n > tally.n[inner]) | ((n != tally.n[inner]) & exact))).any():
        return False
    open_ = inner[~own_counts]
    tally.counts[open_], tally.has_counts[open_] = counts[~own_counts], has_counts[~own_counts]
    tally.counts_exact[open_] = counts_exact[~own_counts]
    open_ = inner[~own_n]
    tally.n[open_], tally.has_n[open_], tally.n_exact[open_] = n[~own_n], has_n[~own_n], n_exact[~own_n]
    return True
