"""Growing a tree that is k-anonymous by construction: kADET (Friedman, Schuster and Wolff 2006, Algorithm 1).

All candidate splits of all leaves wait in one queue. The best is taken; if it would leave people in a span that
breaches it is generalised, or dropped, else the leaf is split and the candidates of its sons are queued. (The printed
algorithm does not say the last.)
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.kadet.candidates import Span, Spans
from maxent.models.induction.cuts import Cut, Intervals, best_cut, breaching_cuts, union
from maxent.models.induction.split_scores import TIE, Criterion, Measure, Scorer, above_average
from maxent.models.release import Branch, Impurity
from maxent.models.tables.training import Training
from maxent.models.trees.draft import Draft
from maxent.models.trees.routing import divided

_NOBODY = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Step:
    """A candidate taken from the queue: a split of a node, and what became of it. Nodes are numbered as they are made.

    ``level`` counts the generalisations of a categorical attribute, ``threshold`` is the cut of a numeric one, None
    when the best cut breaches.
    """

    node: int
    attribute: str
    level: int
    threshold: float | None
    score: float
    outcome: Literal["split", "breach"]


Watch: TypeAlias = Callable[[Step], None]


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """Rules for the choice of splits.

    Attributes
    ----------
    impurity : {"entropy", "gini", "gain_ratio"}
        What candidates are compared by.
    k : int
        The smallest population of a span, records.
    breach : Criterion
        Which spans must not be; one of them is that there are fewer than ``k``.
    groups : tuple of int64 arrays, one per attribute, each of shape (n_levels, n_values)
        The numbers of the groups of a categorical attribute's values, level 0 being the values themselves.
    class_public : bool
        Whether an adversary knows the classes: then every class has spans of its own.
    weighted : bool
        Whether gains of different nodes are compared times the records of the node.
    above_average : bool
        Whether numbers are cut where they gain most, and attributes compete only when they gain as much as those that
        can split the node, and do not breach, do on average.
    min_samples_split : int
        Records of a node that is split.
    max_depth : int or None
        Splits between the root and the deepest leaf.
    """

    impurity: Impurity
    k: int
    breach: Criterion
    groups: tuple[IntArray, ...]
    class_public: bool = False
    weighted: bool = False
    above_average: bool = False
    min_samples_split: int = 2
    max_depth: int | None = None


@dataclass(slots=True, eq=False)
class GrownNode:
    """A node of the tree; a leaf has no ``attribute`` (a position), an inner node no ``rows``.

    Of the candidates left, one per attribute, ``gain`` and ``score`` are -inf where there is none, and ``level`` says
    how far it is generalised. ``reach`` are the values that can come here, of the attributes that are split above.
    """

    rows: IntArray
    counts: IntArray
    label: int
    depth: int
    reach: Mapping[int, IntArray]
    gain: FloatArray
    score: FloatArray
    level: IntArray
    attribute: int | None = None
    branches: tuple[Branch, ...] = ()
    sons: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """A split: its attribute, its number of branches, and the branch of each record, shape (n,).

    Either ``taken`` is the branch of each value, -1 for those that cannot come here, or there is a ``threshold``.
    """

    attribute: int
    n_branches: int
    branch_of: Callable[[IntArray], IntArray]
    taken: IntArray | None = None
    threshold: float | None = None


@dataclass(eq=False)
class GrowingTree:
    """A tree while it grows: its nodes, their spans, and the queue of candidate splits; see `grow`.

    ``watch``: is told of every candidate that is taken from the queue. Without it, or when candidates are to gain as
    much as the average, those that are known from the beginning to breach are not queued. ``nodes``: the root first,
    and every node before its sons. ``spans``: those of the leaves, which are called by their positions in ``nodes``.
    """

    training: Training
    rules: Rules
    watch: Watch | None = None
    nodes: list[GrownNode] = field(init=False, default_factory=list)
    spans: Spans = field(init=False)

    def __post_init__(self) -> None:
        """Begin with a root that everybody is in."""
        everybody = np.arange(len(self.training))
        self._n_classes = len(self.training.target.classes)
        of_class = [np.flatnonzero(self.training.y == c) for c in range(self._n_classes)]
        self.spans = Spans(0, of_class if self.rules.class_public else [everybody])
        measure = Measure.of(self.rules.impurity, len(everybody))
        self._scorer = Scorer(self.training, measure, by_gain=self.rules.above_average)
        self._public = np.array([a.role == "public" for a in self.training.attributes], bool)
        self._flat = np.array([len(groups) < 2 for groups in self.rules.groups], bool)
        self._queue: list[tuple[float, int, int]] = []
        self._add(everybody, 0, {}, 0)

    def step(self) -> bool:
        """Take the best candidate from the queue, and split or generalise; whether there was one."""
        if not self._queue:
            return False
        _, number, attribute = heapq.heappop(self._queue)
        if self.training.attributes[attribute].values is None:
            self._try_cuts(number, attribute)
        else:
            self._try_values(number, attribute)
        return True

    def drafts(self) -> list[Draft]:
        """The tree in depth-first order."""
        drafts: list[Draft] = []
        stack = [(0, -1)]
        while stack:
            number, parent = stack.pop()
            if parent >= 0:
                drafts[parent].children.append(len(drafts))
            node = self.nodes[number]
            name = None if node.attribute is None else self.training.attributes[node.attribute].name
            stack.extend((son, len(drafts)) for son in reversed(node.sons))
            drafts.append(Draft(node.counts, node.label, name, node.branches))
        return drafts

    def _add(self, rows: IntArray, depth: int, reach: Mapping[int, IntArray], label: int) -> None:
        """A new leaf, its best candidate in the queue; ``label`` is for a leaf of nobody."""
        number, counts = len(self.nodes), np.bincount(self.training.y[rows], minlength=self._n_classes)
        if self._is_final(counts, depth):
            known, gain, score = self._public, *np.full((2, len(self._public)), -np.inf)
        else:
            known, gain, score = self._judged(number, rows, counts)
        label = int(counts.argmax()) if len(rows) else label
        self.nodes.append(GrownNode(rows, counts, label, depth, reach, gain, score, np.zeros(len(score), np.int64)))
        if self.rules.above_average:
            for attribute in np.flatnonzero(self._public & ~known & (gain > -np.inf)).tolist():
                self._settle(number, attribute)
        self._queue_best(number)

    def _is_final(self, counts: IntArray, depth: int) -> bool:
        """Whether a leaf has no candidates."""
        least = self.rules.min_samples_split
        if self.watch is None and self._public.all():
            least = max(least, 2 * self.rules.k)  # nobody but these records is in its spans, and it has two sons
        deepest = self.rules.max_depth is not None and depth >= self.rules.max_depth
        return bool(deepest or counts.sum() < least or np.count_nonzero(counts) < 2)

    def _judged(self, number: int, rows: IntArray, counts: IntArray) -> tuple[BoolArray, FloatArray, FloatArray]:
        """Of a new leaf's candidates, whether they are known not to breach, the gains and scores; (n_attributes,) each.

        When a leaf has one span, and the span this one leaf, the span stays as it is until the leaf is split. Then what
        breaches, and cannot be generalised, is known at once, and no candidate.
        """
        if self.watch is not None or self.rules.class_public or not self.spans.is_alone(number):
            return np.zeros_like(self._public), *self._scorer.scores(rows, counts)
        known = self._public & self._flat
        return known, *self._scorer.scores(rows, counts, self.rules.breach, known)

    def _settle(self, number: int, attribute: int) -> None:
        """Replace the candidate of an attribute by the best that does not breach: only such count in an average."""
        node = self.nodes[number]
        if self.training.attributes[attribute].values is None:
            self._set_cut(node, attribute, self._best_cut(number, attribute))
            return
        while node.gain[attribute] > -np.inf and self._breaches(number, self._by_values(node, attribute)):
            self._generalise(node, attribute)

    def _queue_best(self, number: int) -> None:
        """Put the best candidate of a leaf into the queue, of those that are equally good the first attribute's."""
        node = self.nodes[number]
        score = above_average(node.gain, node.score) if self.rules.above_average else node.score
        best = score.max(initial=-np.inf)
        if best > -np.inf:
            attribute = int(np.argmax(score >= best - TIE))
            heapq.heappush(self._queue, (-best * (len(node.rows) if self.rules.weighted else 1), number, attribute))

    def _try_values(self, number: int, attribute: int) -> None:
        """Split a leaf by a categorical attribute, or generalise the candidate when that would breach."""
        node = self.nodes[number]
        split = self._by_values(node, attribute)
        if not self._breaches(number, split):
            self._tell(number, attribute, None, "split")
            self._split(number, split)
            return
        self._tell(number, attribute, None, "breach")
        self._generalise(node, attribute)
        self._queue_best(number)

    def _generalise(self, node: GrownNode, attribute: int) -> None:
        """Go on to the next level of a categorical attribute, after the last one to no candidate."""
        node.level[attribute] += 1
        node.gain[attribute] = node.score[attribute] = -np.inf
        if node.level[attribute] < len(self.rules.groups[attribute]):
            group = self.rules.groups[attribute][node.level[attribute]]
            table = self._scorer.table(node.rows, group[self._scorer.codes[attribute][node.rows]], int(group.max()) + 1)
            node.gain[attribute], node.score[attribute] = self._scorer.judge_split(table, node.counts)

    def _by_values(self, node: GrownNode, attribute: int) -> _Split:
        """The split by groups of values; values of groups that nobody in the node is in share a branch, the last."""
        codes, group = self._scorer.codes[attribute], self.rules.groups[attribute][node.level[attribute]]
        reach = node.reach.get(attribute, np.arange(len(group)))
        present = np.unique(group[codes[node.rows]])
        number = np.full(int(group.max()) + 1, len(present))
        number[present] = np.arange(len(present))
        taken = np.full(len(group), -1)
        taken[reach] = number[group[reach]]
        return _Split(attribute, int(taken.max()) + 1, lambda rows: taken[codes[rows]], taken=taken)

    def _breaches(self, number: int, split: _Split) -> bool:
        """Whether some who are in one span now, and take the same branch, would be a span that breaches."""
        if not self._public[split.attribute]:
            return False
        people, span = self.spans.people(number)
        group, n_groups = span * split.n_branches + split.branch_of(people), (int(span[-1]) + 1) * split.n_branches
        return bool(self.rules.breach(self._scorer.table(people, group, n_groups)).any())

    def _try_cuts(self, number: int, attribute: int) -> None:
        """Split a leaf at the best cut of a numeric attribute that does not breach, if it is as good as was thought."""
        node, cut = self.nodes[number], self._best_cut(number, attribute)
        gained = cut is not None and (cut.gain >= node.gain[attribute] - TIE or not self.rules.above_average)
        if cut is not None and gained and cut.score >= node.score[attribute] - TIE:
            self._tell(number, attribute, cut.threshold, "split")
            self._split(number, self._by_cut(attribute, cut))
            return
        self._tell(number, attribute, None, "breach")
        self._set_cut(node, attribute, cut)
        self._queue_best(number)

    def _best_cut(self, number: int, attribute: int) -> Cut | None:
        """The best cut of a leaf that does not breach."""
        node, spans = self.nodes[number], self.spans.of(number) if self._public[attribute] else []
        bad = union([self._bad_cuts(span, attribute) for span in spans])
        return best_cut(self._scorer, attribute, node.rows, node.counts, bad)

    def _set_cut(self, node: GrownNode, attribute: int, cut: Cut | None) -> None:
        """Make a cut, or none, the candidate of a numeric attribute."""
        node.gain[attribute], node.score[attribute] = (-np.inf, -np.inf) if cut is None else (cut.gain, cut.score)

    def _bad_cuts(self, span: Span, attribute: int) -> Intervals:
        """The cuts of a numeric attribute after which a part of a span breaches."""
        if attribute not in span.bad_cuts:
            ranks, place = np.unique(self._scorer.codes[attribute][span.population], return_inverse=True)
            counts = self._scorer.table(span.population, place, len(ranks))
            span.bad_cuts[attribute] = breaching_cuts(ranks, counts, self.rules.breach)
        return span.bad_cuts[attribute]

    def _by_cut(self, attribute: int, cut: Cut) -> _Split:
        ranks = self._scorer.codes[attribute]
        return _Split(attribute, 2, lambda rows: (ranks[rows] > cut.rank).astype(np.int64), threshold=cut.threshold)

    def _split(self, number: int, split: _Split) -> None:
        """Give a leaf sons."""
        node, attribute = self.nodes[number], self.training.attributes[split.attribute]
        sons = tuple(range(len(self.nodes), len(self.nodes) + split.n_branches))
        if self._public[split.attribute]:
            self.spans.split_publicly(number, sons, split.branch_of(self.spans.people(number)[0]))
        else:
            self.spans.split_privately(number, sons)
        parts = [node.rows[here] for here in divided(split.branch_of(node.rows), split.n_branches)]
        reach: list[Mapping[int, IntArray]] = [{}] * split.n_branches
        if split.taken is None:
            node.branches = Branch(None, le=split.threshold), Branch(None, gt=split.threshold)
        else:
            names, values = attribute.values or (), [np.flatnonzero(split.taken == b) for b in range(split.n_branches)]
            node.branches = tuple(Branch(None, tuple(names[v] for v in among.tolist())) for among in values)
            reach = [{split.attribute: among} for among in values]
        node.attribute, node.sons, node.rows = split.attribute, sons, _NOBODY
        for rows, narrowed in zip(parts, reach, strict=True):
            self._add(rows, node.depth + 1, {**node.reach, **narrowed}, node.label)

    def _tell(self, number: int, attribute: int, threshold: float | None, outcome: Literal["split", "breach"]) -> None:
        """Report what became of a candidate."""
        if self.watch is not None:
            node, name = self.nodes[number], self.training.attributes[attribute].name
            score = float(node.score[attribute])
            self.watch(Step(number, name, int(node.level[attribute]), threshold, score, outcome))


def grow(training: Training, rules: Rules, watch: Watch | None = None) -> GrowingTree:
    """Grow a tree until no candidate is left (Friedman et al. 2006, Algorithm 1); the fields are the parameters."""
    tree = GrowingTree(training, rules, watch)
    while tree.step():
        pass
    return tree
