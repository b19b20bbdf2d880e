"""Worst-case disclosure: unread statements are assumed to give away the class of everybody who is not told apart.

Whatever the leaves of a release state is a function of how many people of each class end in the same leaves of all
trees: two people who do can change places, and nothing that is stated changes. Where they had different weights in
training, only those of the same weight can. So an adversary who is given these numbers, beside everything that is
compiled, can prove no less than the release allows to prove. (The numbers of each *leaf* would not do: a sum of
gradients can tell more.) An estimate from less can be more extreme; so can a probability that the release prints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from maxent.constraints.compiler import SCORES
from maxent.constraints.kinds.boosted_leaves import before_each_tree
from maxent.constraints.program.program import CHOICES, Linear, Program, Regions
from maxent.disclosure.truth import shared
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.method import CERTAIN
from maxent.models.errors import Origin
from maxent.models.formats.boosting.hessians import SPARE
from maxent.models.nodes import state_scores
from maxent.models.release import Release, Tree
from maxent.models.tables.classes import marginal
from maxent.models.tables.truth_and_facts import Weighed
from maxent.models.trees.predict import answers_at, score_terms, shares_of, states_shares

NO_TRUTH = "the true classes are not given"
WEIGHTS = "people had weights in training, which are not given"
UNSHOWN = (
    "the file does not show whether people had the same weight in training (`sample_weight`, a column, states weights: "
    "of ones where all were alike)"
)
STANDING_IN = "it is about people with the same values, who are not told apart in parts"
SOLVED = "the worst case was not solved"
# By how much the logarithm of a share may be off that is printed in full.
EQUAL = 1e-6
# By how much a sum of second derivatives may be off, as a share: tools compute in single precision.
SUMMED = 1e-5
# Cells of regions that are looked at together.
AT_A_TIME = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class WorstCase:
    """What the worst case allows of groups that are not told apart; ``why`` it is not known, empty where it is.

    ``most``, where it is known, are people who may be certain: of the target, then of each of its columns.
    """

    why: str = ""
    posterior: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    people: IntArray = field(default_factory=lambda: np.empty((0, 0), np.int64))
    printed: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    most: tuple[int, ...] = ()

    def numbers(self, some: Sequence[int] | None = None) -> dict[str, Any]:
        """The key ``worst_case``; ``some`` are the classes that it is about, all by default."""
        if self.why:
            return {"why": self.why}
        codes = np.arange(self.people.shape[1]) if some is None else np.array(some, np.int64)
        mine = self.posterior[:, codes].max(axis=1)
        about = self.people.sum() if some is None else self.people[:, codes].sum()
        right = float((self.people * shared(self.posterior))[:, codes].sum())
        return {
            "max_posterior": float(mine.max()),
            "certain": min([int(self.people[mine >= CERTAIN].sum()), *self.most[:1]]),
            "right_guesses": right / float(about) if about else 0.0,
            "printed": float(self.printed[:, codes].max()) if self.printed.size else None,
        }

    def of_target(self, program: Program, part: int) -> WorstCase:
        """The same of one of several sensitive columns."""
        target = program.release.target
        if self.why:
            return self
        printed = marginal(self.printed, target, part) if self.printed.size else self.printed
        people, most = marginal(self.people, target, part), self.most[part + 1 : part + 2]
        return WorstCase("", marginal(self.posterior, target, part), people, printed, most)


def worst_case(
    program: Program,
    parts: Sequence[Release],
    truth: IntArray | None,
    weighed: Weighed | None,
    unweighed: bool,
    solve: Callable[[Program], FloatArray | None],
) -> WorstCase:
    """The worst case of a release.

    ``unweighed`` is whether people are known to have had weights that are not given; ``solve`` makes masses of a
    program, or None.
    """
    if truth is None:
        return WorstCase(NO_TRUTH)
    why = _unexplained(program, parts, truth, unweighed) if weighed is None else ""
    if why:
        return WorstCase(why)
    alike, printed = _alike(program, _among(program, parts)), _printed(program, parts)
    if weighed is not None and len(weighed.weight):
        people = _pairs(alike, weighed, program.n_classes)
        if len(people) > alike.max() + 1:  # weights differ among people who are alike
            if program.internal or any(each.kind == "facts" for each in program.linear):
                return WorstCase(f"{SOLVED}, as weights differ among people whom facts or splits are about")
            return WorstCase("", shares_of(people.astype(np.float64)), people, printed)
    given = _given(program, alike, truth)
    if given is None:
        people = _summed(alike, truth)
        return WorstCase("", shares_of(people.astype(np.float64)), people, printed)
    masses = solve(given)
    if masses is None:
        return WorstCase(SOLVED)
    return WorstCase("", program.posterior(masses), truth, printed)


def _among(program: Program, parts: Sequence[Release]) -> list[int]:
    """The columns of the table by whose values splits were chosen, where that is not read; none where it is."""
    if all(each.what != CHOICES for each in program.unread):
        return []
    lists = [tree.induction.among for part in parts for tree in part.trees]
    names = {name for some in lists for name in some or ()}
    whole = program.unfinished
    return [j for j, a in enumerate(program.table.attributes) if whole or a.name in names]


def _alike(program: Program, among: Sequence[int]) -> IntArray:
    """The group of each quasi-identifier, shape (n_qi,): those who can end in the same leaves of all trees.

    They are the same in the columns ``among``, too, of whose numbers growing a tree is a function.
    """
    cells = program.cells
    _, leaves = np.unique(cells.leaf, axis=0, return_inverse=True)
    order = np.lexsort((leaves.ravel(), cells.owner))
    first = np.flatnonzero(np.diff(cells.owner[order], prepend=-1))
    number: dict[bytes, int] = {}
    spans = np.split(leaves.ravel()[order], first[1:])
    group = np.array([number.setdefault(span.tobytes(), len(number)) for span in spans], np.int64)
    finer = np.column_stack([group, program.table.codes[:, among]])
    return np.asarray(np.unique(finer, axis=0, return_inverse=True)[1].ravel(), np.int64) if len(among) else group


def _summed(group: IntArray, people: IntArray) -> IntArray:
    """People of each group and class, shape (n_groups, n_classes)."""
    found = np.zeros((int(group.max()) + 1, people.shape[1]), np.int64)
    np.add.at(found, group, people)
    return found


def _pairs(alike: IntArray, weighed: Weighed, n_classes: int) -> IntArray:
    """People of each pair of group and weight, and class, shape (n_pairs, n_classes)."""
    _, weight = np.unique(weighed.weight, return_inverse=True)
    both = alike[weighed.owner] * (int(weight.max()) + 1) + weight
    _, pair = np.unique(both, return_inverse=True)
    found = np.zeros((int(pair.max()) + 1, n_classes), np.int64)
    np.add.at(found, (pair, weighed.classes), weighed.counts)
    return found


def _given(program: Program, alike: IntArray, truth: IntArray) -> Program | None:
    """The program of an adversary who is given the classes of every group; None where nothing else is left to know."""
    people, of_cell = _summed(alike, truth), alike[program.cells.owner]
    size = np.bincount(of_cell)
    whole = _whole(program.regions, of_cell, size)
    more = [each for each in program.linear if not (whole[each.region] and _counts_alike(program, each, of_cell))]
    if not more and not program.internal:
        return None
    order = np.argsort(of_cell, kind="stable")
    parts = [*np.split(order, np.cumsum(size)[:-1]), *(program.regions[each.region] for each in more)]
    places = [*[None] * len(size), *(program.regions.places[each.region] for each in more)]
    regions = Regions(np.cumsum([0, *map(len, parts)]), np.concatenate(parts), tuple(places))
    each_class = np.eye(program.n_classes)
    told = [
        Linear("counts", Origin(f"group {i + 1}"), i, each_class, row, row, "the classes of people who are alike")
        for i, row in enumerate(people.astype(np.float64))
    ]
    told += [replace(each, region=len(size) + i) for i, each in enumerate(more)]
    return replace(program, regions=regions, linear=tuple(told), scaling=None, likelihood=None, unread=())


def _whole(regions: Regions, of_cell: IntArray, size: IntArray) -> BoolArray:
    """Whether each region is one of whole groups, shape (n_regions,): what counts people in it then follows."""
    found = np.ones(len(regions), bool)
    shared = size > 1
    if not shared.any():
        return found
    lengths = np.diff(regions.indptr)
    ends = np.searchsorted(regions.indptr, np.arange(0, len(regions.indices) + AT_A_TIME, AT_A_TIME))
    for begin, end in pairwise(np.unique([0, *np.minimum(ends, len(regions)).tolist(), len(regions)]).tolist()):
        group = of_cell[regions.indices[regions.indptr[begin] : regions.indptr[end]]]
        region = np.repeat(np.arange(begin, end), lengths[begin:end])
        some = shared[group]
        key, inside = np.unique(region[some] * len(size) + group[some], return_counts=True)
        found[key[inside < size[key % len(size)]] // len(size)] = False
    return found


def _counts_alike(program: Program, said: Linear, of_cell: IntArray) -> bool:
    """Whether a statement about whole groups counts the people of each alike."""
    if said.weights is None:
        return True
    _, first, inverse = np.unique(of_cell[program.regions[said.region]], return_index=True, return_inverse=True)
    return bool(np.allclose(said.weights, said.weights[first][inverse], rtol=1e-12, atol=1e-12))


def _printed(program: Program, parts: Sequence[Release]) -> FloatArray:
    """Probabilities that releases print for somebody: those that they predict, and the shares of leaves."""
    found, first = [np.zeros((0, program.n_classes))], 0
    for part in parts:
        reached = list(program.cells.leaf[:, first : first + len(part.trees)].T)
        if states_shares(part):
            found.append(answers_at(part, reached, len(program.cells))[0])
        if _shared(part):
            for terms, place in zip(score_terms(part), reached, strict=True):
                found.append(shares_of(np.maximum(terms, 0.0))[np.unique(place)])
        first += len(part.trees)
    return np.concatenate(found)


def _shared(release: Release) -> bool:
    """Whether what leaves state beside counts are shares of classes, and no scores."""
    return release.boosting is None or release.boosting.link == "share"


def _unexplained(program: Program, parts: Sequence[Release], truth: IntArray, unweighed: bool) -> str:
    """Why a release is not known to be a function of numbers of classes; empty where it is.

    Shares have to be those of the true classes by weight, and boosted trees state hessians of people of one weight.
    """
    spare, mixed, first = 0, False, 0
    for part in parts:
        if not _shared(part) and (
            unweighed or not (_summed_alike(program, part, first, truth) or _counted_alike(program, truth))
        ):
            return WEIGHTS if unweighed else UNSHOWN
        for t, tree in enumerate(part.trees if _shared(part) else (), first):
            if not state_scores(tree.nodes) or all(
                node.value is None or node.counts is not None for node in tree.nodes
            ):
                continue
            more = _by_class(program, t, tree, truth) if program.single and part.resampled is None else None
            if more is None:
                return WEIGHTS
            spare, mixed = spare + more[0], mixed or more[1]
        first += len(part.trees)
    return WEIGHTS if mixed and spare < SPARE else ""


def _summed_alike(program: Program, part: Release, first: int, truth: IntArray) -> bool:
    """Whether the sums of second derivatives at the leaves of the first tree of each class are those of everybody."""
    boosting, classes = part.boosting, part.target.classes
    if boosting is None or boosting.link not in ("logit", "softmax") or not program.single:
        return False
    if any(tree.of_class is None for tree in part.trees):
        return False
    weight = np.array([boosting.weights.get(c, 1.0) for c in classes])
    cells = replace(program.cells, leaf=program.cells.leaf[:, first:], trees=program.cells.trees[first:])
    seen: set[int] = set()
    checked = 0
    for before in before_each_tree(part, boosting, cells):
        if before.klass in seen:
            break
        seen.add(before.klass)
        tree = part.trees[before.tree]
        people = _held(program, first + before.tree, truth) @ weight
        for place, node in enumerate(tree.nodes if len(tree.nodes) > 1 else ()):
            if node.is_leaf:
                sum_ = people[place] * boosting.hessian * before.spread[0]
                if node.hessian is None or not abs(node.hessian - sum_) <= SUMMED * sum_:
                    return False
                checked += sum_ > 0
    return checked >= SPARE


def _counted_alike(program: Program, truth: IntArray) -> bool:
    """Whether the scores of all leaves are read, and are those of the true classes of people who count once each."""
    if not program.single or any(each.what == SCORES for each in program.unread):
        return False
    spare, people = 0, truth[program.cells.owner]
    for said in (each for each in program.linear if each.kind == "boosting"):
        here = people[program.regions[said.region]]
        sums = (here if said.weights is None else here * said.weights).sum(axis=0) @ said.coef.T
        size = float(here.sum())
        if ((sums < said.lower - SUMMED * size) | (sums > said.upper + SUMMED * size)).any():
            return False
        mixed = (here.sum(axis=0) > 0).sum() > 1
        spare += mixed * int((said.upper - said.lower <= SUMMED * size).sum())
    return spare >= SPARE


def _held(program: Program, t: int, truth: IntArray) -> FloatArray:
    """People of each class at the places of a tree, shape (n_places, n_classes)."""
    cells = program.cells
    held = np.zeros((len(cells.trees[t].start), truth.shape[1]))
    np.add.at(held, cells.leaf[:, t], truth[cells.owner])
    return held


def _by_class(program: Program, t: int, tree: Tree, truth: IntArray) -> tuple[int, bool] | None:
    """How many shares of leaves of a tree follow from the others, and whether any leaf has several classes."""
    classes, cells = program.release.target.classes, program.cells
    held = _held(program, t, truth)
    share = np.zeros(held.shape)
    for place, node in enumerate(tree.nodes):
        if node.is_leaf and isinstance(node.value, Mapping):
            share[place] = [max(node.value.get(c, 0.0), 0.0) for c in classes]
    leaves = np.flatnonzero(cells.trees[t].places.n_branches == 0)
    share, count = share[leaves], held[leaves]
    if not np.array_equal(share > 0, count > 0):
        return None
    there = count > 0
    ratio = np.where(there, np.log(np.where(there, share, 1.0) / np.where(there, count, 1.0)), 0.0)
    weight = np.full(len(classes), np.nan)
    weight[int(there.sum(axis=0).argmax())] = 0.0
    for _ in classes:  # each round weighs the classes that share a leaf with one that has a weight
        leaf = _mean(ratio - np.where(np.isnan(weight), 0.0, weight), there & ~np.isnan(weight))
        found = _mean((ratio - leaf[:, None]).T, (there & ~np.isnan(leaf)[:, None]).T)
        weight = np.where(np.isnan(weight), found, weight)
    off = ratio - weight - leaf[:, None]
    if np.nanmax(np.abs(np.where(there, off, 0.0)), initial=0.0) > EQUAL:
        return None
    several = there.sum(axis=1) > 1
    return int((there[several].sum(axis=1) - 1).sum()) - (len(classes) - 1), bool(several.any())


def _mean(values: FloatArray, there: Any) -> FloatArray:
    """The mean of some values of each row, NaN of none; shape (n_rows,)."""
    many = there.sum(axis=1)
    total = np.where(there, np.nan_to_num(values), 0.0).sum(axis=1)
    return np.asarray(np.where(many > 0, total / np.maximum(many, 1), np.nan))
