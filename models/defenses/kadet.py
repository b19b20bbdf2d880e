"""The algorithm of ``kadet``: k-anonymous trees (Friedman, Schuster and Wolff 2006)."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np

from maxent.models.arguments import (
    problems_of,
    shorten,
    shorten_list,
    unknown_choice,
)
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.parameters import Kadet
from maxent.models.errors import InvalidInput, Problem
from maxent.models.induction.inducers import prune
from maxent.models.induction.split_scores import (
    TIE,
    Criterion,
    Cut,
    ImpurityMeasure,
    Intervals,
    Scorer,
    above_average,
    any_of,
    best_cut,
    breaching_cuts,
    few_classes,
    frequent_class,
    low_entropy,
    too_small,
    union,
)
from maxent.models.release import Branch, Candidates, Defense, Impurity, Induction, Release, Tree
from maxent.models.tables.hierarchies import Hierarchy, hierarchy_problems, read_hierarchy
from maxent.models.tables.training import Training
from maxent.models.trees.draft import Draft, Publish, freeze
from maxent.models.trees.places import divided

# The spans of a growing tree: people whom an adversary without the private attributes cannot distinguish.
#
# A span (Friedman et al. 2006, Definition 5) is the set of leaves that a person may have been sent to, as far as the
# public attributes tell. Everybody with the same span is one group, its *population*, and the populations divide all
# people. Spans without a population threaten nobody and are dropped.


@dataclass(slots=True, eq=False)
class Span:
    """A group of people: its records, and the leaves it may be in (a set in order)."""

    population: IntArray
    nodes: dict[int, None]
    bad_cuts: dict[int, Intervals] = field(default_factory=dict)


class Spans:
    """The spans of every leaf, kept while leaves are split."""

    def __init__(self, root: int, populations: Iterable[IntArray]) -> None:
        self._of: dict[int, dict[Span, None]] = {
            root: {Span(rows, {root: None}): None for rows in populations if len(rows)}
        }

    def of(self, node: int) -> list[Span]:
        """The spans of a leaf."""
        return list(self._of[node])

    def all(self) -> list[Span]:
        """Every span once."""
        return list(dict.fromkeys(span for spans in self._of.values() for span in spans))

    def is_alone(self, node: int) -> bool:
        """Whether a leaf has one span, which has no other leaf."""
        return len(self._of[node]) == 1 and len(next(iter(self._of[node])).nodes) == 1

    def people(self, node: int) -> tuple[IntArray, IntArray]:
        """Everybody who may have been sent to a leaf, and which of its spans each belongs to, shapes (n,)."""
        parts = [span.population for span in self._of[node]]
        if len(parts) == 1:
            return parts[0], np.zeros(len(parts[0]), np.int64)
        rows = np.concatenate([np.empty(0, np.int64), *parts])
        return rows, np.repeat(np.arange(len(parts)), [len(part) for part in parts])

    def split_privately(self, node: int, sons: Sequence[int]) -> None:
        """Replace a leaf by sons that nobody can be assigned to by what is public."""
        spans = self._of.pop(node)
        for span in spans:
            del span.nodes[node]
            span.nodes.update(dict.fromkeys(sons))
        self._of.update((son, dict(spans)) for son in sons)

    def split_publicly(self, node: int, sons: Sequence[int], branch: IntArray) -> None:
        """Replace a leaf by sons; ``branch`` says to which each of its `people` may be sent, shape (n,)."""
        spans = self._of.pop(node)
        self._of.update((son, {}) for son in sons)
        starts = np.cumsum([0, *(len(span.population) for span in spans)][:-1])
        lowest, highest = (f.reduceat(branch, starts).tolist() if spans else [] for f in (np.minimum, np.maximum))
        for span, start, low, high in zip(spans, starts.tolist(), lowest, highest, strict=True):
            del span.nodes[node]
            if low == high:
                self._join(span, [sons[low]])
                continue
            for other in span.nodes:
                del self._of[other][span]
            parts = divided(branch[start : start + len(span.population)], len(sons))
            for son, part in zip(sons, parts, strict=True):
                if len(part):
                    self._join(Span(span.population[part], {}), [*span.nodes, son])

    def _join(self, span: Span, nodes: Iterable[int]) -> None:
        """Let a span reach more leaves."""
        for node in nodes:
            span.nodes[node] = None
            self._of[node][span] = None


# Growing a tree that is k-anonymous by construction (Algorithm 1 of the paper).
#
# All candidate splits of all leaves wait in one queue. The best is taken; if it would leave people in a span that
# breaches it is generalised, or dropped, else the leaf is split and the candidates of its sons are queued. (The printed
# algorithm does not say the last.)

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
class _KadetSplit:
    """A split: its attribute, its number of branches, and the branch of each record, shape (n,)."""

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
        measure = ImpurityMeasure.of(self.rules.impurity, len(everybody))
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

        A leaf with one span, of which it is all, keeps it until it is split: then what breaches is known at once.
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

    def _by_values(self, node: GrownNode, attribute: int) -> _KadetSplit:
        """The split by groups of values; values of groups that nobody in the node is in share a branch, the last."""
        codes, group = self._scorer.codes[attribute], self.rules.groups[attribute][node.level[attribute]]
        reach = node.reach.get(attribute, np.arange(len(group)))
        present = np.unique(group[codes[node.rows]])
        number = np.full(int(group.max()) + 1, len(present))
        number[present] = np.arange(len(present))
        taken = np.full(len(group), -1)
        taken[reach] = number[group[reach]]
        return _KadetSplit(attribute, int(taken.max()) + 1, lambda rows: taken[codes[rows]], taken=taken)

    def _breaches(self, number: int, split: _KadetSplit) -> bool:
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

    def _by_cut(self, attribute: int, cut: Cut) -> _KadetSplit:
        ranks = self._scorer.codes[attribute]
        return _KadetSplit(
            attribute, 2, lambda rows: (ranks[rows] > cut.rank).astype(np.int64), threshold=cut.threshold
        )

    def _split(self, number: int, split: _KadetSplit) -> None:
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


# The release of a grown tree.


def kadet(
    training: Training,
    asked: Kadet,
    *,
    publish: Publish = "counts",
    inner_counts: bool = False,
    watch: Watch | None = None,
) -> Release:
    """Grow a tree that keeps what is asked, and publish it.

    A node is split by the candidate with the best score of all nodes', if nobody's span breaches then: a categorical
    attribute has a branch for each value, or for each group of values once its values were found to breach, and a
    numeric one is cut where it gains most of the cuts that do not breach. Ties go to the attribute that comes first, to
    the smallest cut, and to the node that was made first. Values that nobody in a node has share an empty leaf with the
    node's own majority, and the label of a tie is the first of its classes. What gains at most 1e-12 is no candidate.

    With the selection "quinlan", a node has one candidate per attribute: its values, or their first generalisation that
    does not breach when the node is made, or of a number the cut with the largest gain of those that do not. Only these
    count in the node's average, those without gain included, and those above it join the queue. What is found to breach
    later, as other nodes with the same people have been split, is replaced, and the average taken anew. The release
    tells an adversary of no candidates, as they cannot know which ones were above the average.

    Parameters
    ----------
    training : Training
        The records, each of another person; the roles of attributes say which are public.
    asked : Kadet
    publish, inner_counts
        What the nodes state, see `maxent.models.trees.draft.freeze`.
    watch : callable, optional
        Is told of every candidate that is taken from the queue, a `Step`.
    """
    if problems := [*problems_of(asked), *unknown_choice("publish", publish, get_args(Publish))]:
        raise InvalidInput("kadet", problems)
    domains = {a.name: a.values for a in training.attributes if a.values is not None}
    hierarchies = {name: read_hierarchy(source, name) for name, source in asked.hierarchies.items()}
    if problems := [*hierarchy_problems(hierarchies, domains), *_root_problems(training, asked)]:
        raise InvalidInput("kadet", problems)
    rules = Rules(
        asked.impurity,
        asked.k,
        criterion(asked),
        tuple(_groups(a.values, hierarchies.get(a.name)) for a in training.attributes),
        asked.class_public,
        asked.order == "weighted",
        asked.selection == "quinlan",
        asked.min_samples_split,
        asked.max_depth,
    )
    drafts = grow(training, rules, watch).drafts()
    if asked.confidence is not None:
        drafts = prune(drafts, asked.confidence)
    nodes = freeze(drafts, training.target.classes, publish, inner_counts=inner_counts)
    tree = Tree(nodes, Induction("kadet", asked.impurity, _candidates(training, asked), k=int(asked.k)))
    return Release(training.target, training.attributes, (tree,), defense=Defense("kadet", _parameters(asked)))


def criterion(asked: Kadet) -> Criterion:
    """The criterion of a breach: a span that is not as asked."""
    parts = [too_small(asked.k)]
    if asked.l is not None:
        parts.append((low_entropy if asked.diversity == "entropy" else few_classes)(asked.l))
    if asked.alpha is not None:
        parts.append(frequent_class(asked.alpha))
    return parts[0] if len(parts) == 1 else any_of(parts)


def _groups(values: tuple[str, ...] | None, hierarchy: Hierarchy | None) -> IntArray:
    """The levels of an attribute, see `Rules`."""
    if values is None:
        return np.zeros((0, 0), np.int64)
    return np.arange(len(values))[None] if hierarchy is None else hierarchy.groups(values)


def _candidates(training: Training, asked: Kadet) -> Candidates:
    """Splits that an adversary knows to have competed: none that classes decided on, which they do not know."""
    if (
        asked.selection == "quinlan"
        or asked.l is not None
        or asked.alpha is not None
        or (asked.class_public and asked.k > 1)
    ):
        return "none"
    return "mixed" if any(a.values is None for a in training.attributes) else "unused"


def _parameters(asked: Kadet) -> dict[str, int | float | str]:
    """The parameters of the defense as the release states them."""
    said: dict[str, int | float | str] = {"k": int(asked.k), "class": "public" if asked.class_public else "private"}
    if asked.l is not None:
        said |= {"l": float(asked.l), "diversity": asked.diversity}
    if asked.alpha is not None:
        said["alpha"] = float(asked.alpha)
    if asked.confidence is None:
        return said | {"pruning": "none"}
    return said | {"pruning": "subtree replacement", "confidence": float(asked.confidence)}


def _root_problems(training: Training, asked: Kadet) -> Iterator[Problem]:
    """Breaches of a tree of one leaf."""
    counts = np.bincount(training.y, minlength=len(training.target.classes))
    n = int(counts.sum())
    if asked.class_public:
        named = {c: size for c, size in zip(training.target.classes, counts.tolist(), strict=True) if size}
        if small := {c: size for c, size in named.items() if size < asked.k}:
            expected = f"at most {min(named.values())}, the records of the rarest class, as the class is public"
            found = f"{asked.k}, but {shorten_list(small)} has {shorten_list(small.values())}"
            yield Problem("root", "k", expected, found)
    elif n < asked.k:
        yield Problem("root", "k", f"at most {n}, the records there are", str(asked.k))
    share = float(counts.max() / n)
    present = counts[counts > 0] / n
    if asked.l is not None and asked.diversity == "entropy" and low_entropy(asked.l)(counts[None])[0]:
        most = float(np.exp(-(present * np.log(present)).sum()))
        yield Problem("root", "l", f"at most {most:.6g}, e to the entropy of all records' classes", f"{asked.l:g}")
    if asked.l is not None and asked.diversity == "distinct" and few_classes(asked.l)(counts[None])[0]:
        yield Problem("root", "l", f"at most {len(present)}, the classes that occur", f"{asked.l:g}")
    if asked.alpha is not None and frequent_class(asked.alpha)(counts[None])[0]:
        expected = f"at least {share:.6g}, the share of {shorten(training.target.classes[int(counts.argmax())])}"
        yield Problem("root", "alpha", expected, f"{asked.alpha:g}")
