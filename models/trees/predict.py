"""Predictions of a release from its published statements: classes, means, boosted scores, and their accuracy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import shorten
from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray
from maxent.models.columns import NOTHING
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.nodes import attributes_of, links_of, moments_of, records_of, state_scores
from maxent.models.reading import Reader, Reading, reader_of
from maxent.models.release import Attribute, Boosting, Node, Release, Target, Tree
from maxent.models.tables.cells import (
    OTHER,
    codes_in,
    codes_of,
    finite,
    missing_cells,
    missing_rows,
    note_missing,
    note_other,
    unknown_spellings,
)
from maxent.models.tables.classes import class_names, class_of_numbers
from maxent.models.tables.frame import Frame, Source, missing_columns
from maxent.models.tables.qi_table import declared_values, read_counted
from maxent.models.tables.table_files import read_frame
from maxent.models.trees.places import Places, assign, number_places
from maxent.models.trees.printed_rates import SINGLE

if TYPE_CHECKING:
    from maxent.models.tables.training import Training

# What each place of a tree adds to the prediction of its release.

Removed = Literal["ancestor", "majority"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What the places of a tree add to the weights of classes; the trees' terms are summed.

    ``own`` is of places with an answer, ``instead`` counts when no tree has one, ``label`` is the code that a leaf
    states, else -1.
    """

    own: FloatArray
    instead: FloatArray
    label: IntArray


def terms_of(release: Release, removed: Removed = "ancestor") -> Iterator[Terms]:
    """The terms of each tree, see `predict_proba`; not of a release that adds scores."""
    counted = all(leaf.counts is not None for tree in release.trees for leaf in tree.leaves)
    added = counted and release.predicts is None
    heaviest = max(tree.weight for tree in release.trees) or 1.0
    for tree in release.trees:
        answers = _answers(tree, release.target.classes, removed)
        weights = _votes(answers) if release.predicts == "vote" else answers.weights
        weights = weights if added else tree.weight / heaviest * shares_of(weights)
        yield Terms(np.where(answers.own[:, None], weights, 0.0), weights[answers.substitute], answers.label)


def shares_of(weights: FloatArray) -> FloatArray:
    """Rows divided by their sums; those of zeros stay."""
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(weights, total, out=np.zeros_like(weights), where=total > 0))


@dataclass(frozen=True, slots=True)
class _Answers:
    """Class shares of the prediction at each place of a tree, and the place that answers for one without an answer."""

    weights: FloatArray
    own: BoolArray
    label: IntArray
    substitute: IntArray


def _votes(answers: _Answers) -> FloatArray:
    """One vote of each place that has an answer, shape (n_places, n_classes): for its label, or the likeliest class."""
    best = np.where(answers.label < 0, answers.weights.argmax(axis=1), answers.label)
    return np.eye(answers.weights.shape[1])[best] * (answers.weights.any(axis=1) | (answers.label >= 0))[:, None]


def _answers(tree: Tree, classes: tuple[str, ...], removed: Removed) -> _Answers:
    """The answers of a tree."""
    places = number_places(tree)
    n_places, code = len(places.children), {c: x for x, c in enumerate(classes)}
    leaves, label = np.zeros((int(places.last[0]) + 1, len(classes))), np.full(n_places, -1)
    answering = [leaf for leaf in tree.leaves if leaf.label is not None or leaf.rates is not None]
    sized = all(leaf.n is not None or leaf.counts is not None for leaf in answering)
    own = np.zeros(n_places, bool)
    for place, node in enumerate(tree.nodes):
        if node.is_leaf:
            found = _leaf_weights(node, classes, sized)
            leaves[places.first[place]], own[place] = found, any(found)
            label[place] = -1 if node.label is None else code[node.label]
    below = np.column_stack([places.first, places.last]).ravel()
    weights = np.add.reduceat(leaves, below, axis=0)[::2]
    return _Answers(weights, own, label, _substitutes(places, weights.sum(axis=1) > 0, removed))


def _leaf_weights(leaf: Node, classes: tuple[str, ...], sized: bool) -> Sequence[float]:
    """Records of each class that a leaf states, or their shares unless ``sized``; zeros when it states none."""
    if leaf.counts is not None:
        counts = [float(leaf.counts[c]) for c in classes]
        return counts if sized else [count / max(sum(counts), 1.0) for count in counts]
    if leaf.rates is not None:
        return [leaf.rates.get(c, 0.0) * (float(leaf.n) if sized and leaf.n is not None else 1.0) for c in classes]
    if leaf.label is None or leaf.n == 0:
        return [0.0] * len(classes)
    n = float(leaf.n) if sized and leaf.n is not None else 1.0
    errors = n * (leaf.error_rate or 0.0)
    return [n - errors if c == leaf.label else errors / (len(classes) - 1) for c in classes]


def _substitutes(places: Places, answers: BoolArray, removed: Removed) -> IntArray:
    """The place that answers for each place, shape (n_places,); ``answers`` says which have leaves with an answer."""
    found = np.zeros(len(answers), np.int64)
    if removed == "ancestor":
        for place in places.top_down:
            if answers[place]:
                found[place] = place
            for child in places.children[place]:
                found[child] = found[place]
    return found


# Numbers that a release predicts of a numeric target: the means of leaves.


def predicts_numbers(release: Release) -> bool:
    """Whether a release predicts numbers: its target is numeric, and every leaf states a mean."""
    if release.target.numbers is None or release.predicts not in (None, "mean"):
        return False
    return not any(np.isnan(moments_of(tree.nodes)[0][links_of(tree.nodes)[0] == 0]).any() for tree in release.trees)


def predicted_numbers(release: Release, reached: Sequence[IntArray]) -> FloatArray:
    """The mean of the trees' numbers, each times its weight, shape (n,); NaN where no tree has one.

    A place without a leaf has the mean below the nearest node with any, by records where all leaves state them.
    """
    total, weight = np.zeros((2, len(reached[0])))
    for tree, place in zip(release.trees, reached, strict=True):
        found = numbers_of(tree)[place]
        there = ~np.isnan(found)
        total[there] += tree.weight * found[there]
        weight[there] += tree.weight
    return np.asarray(np.divide(total, weight, out=np.full(len(total), np.nan), where=weight > 0))


def numbers_of(tree: Tree) -> FloatArray:
    """The number that each place of a tree answers with, shape (n_places,)."""
    places = number_places(tree)
    leaf, mean = places.n_branches[: places.n_nodes] == 0, moments_of(tree.nodes)[0]
    n = records_of(tree.nodes)
    told = np.flatnonzero(leaf & ~np.isnan(mean))
    sums, sizes = np.zeros((2, len(places)))
    sizes[told] = 1.0 if (n[leaf] == NOTHING).any() else n[told]
    sums[told] = mean[told] * sizes[told]
    for level in reversed(places.levels[1:]):
        np.add.at(sums, places.parent[level], sums[level])
        np.add.at(sizes, places.parent[level], sizes[level])
    found = np.divide(sums, sizes, out=np.full(len(places), np.nan), where=sizes > 0)
    found[told] = mean[told]  # as it is stated, without a rounding error
    for level in places.levels[1:]:
        silent = level[np.isnan(found[level])]
        found[silent] = found[places.parent[silent]]
    return np.asarray(found)


def predicted_classes(release: Release, numbers: FloatArray) -> IntArray:
    """The class of each predicted number, shape (n,): the nearest, as means lie between the values of a target."""
    stands_for = np.array(release.target.numbers, np.float64)
    found = class_of_numbers(numbers, [tuple(pair) for pair in stands_for.tolist()])
    open_ = np.flatnonzero(found < 0)
    away = np.maximum(stands_for[:, 0] - numbers[open_, None], numbers[open_, None] - stands_for[:, 1])
    found[open_] = np.nan_to_num(away, nan=0.0).argmin(axis=1)
    return found


# Scores of boosted trees: their sum, and the probabilities that it stands for.

_LARGEST = 1e300  # stands for scores that are beyond all numbers


def sum_of_scores(release: Release, reached: Sequence[IntArray], n: int) -> FloatArray:
    """The scores of records, shape (n, n_classes); removed leaves and inner nodes add nothing to them."""
    total = np.tile(base_scores(release), (n, 1))
    with np.errstate(over="ignore", invalid="ignore"):  # numbers of a file may be as large as they like
        for terms, place in zip(score_terms(release), reached, strict=True):
            total += terms[place]
    return np.asarray(np.nan_to_num(total, posinf=_LARGEST, neginf=-_LARGEST))


def base_scores(release: Release) -> FloatArray:
    """The scores of the classes before the first tree, shape (n_classes,)."""
    boosting = release.boosting or Boosting("none")
    named = {tree.of_class for tree in release.trees}
    return _by_class(boosting.base, named.pop() if len(named) == 1 else None, release.target.classes)


def score_terms(release: Release) -> Iterator[FloatArray]:
    """What each place of each tree adds to the scores, shape (n_places, n_classes)."""
    with np.errstate(over="ignore", invalid="ignore"):
        for tree in release.trees:
            yield tree.weight * _values(tree, release.target.classes)


def _by_class(value: float | Mapping[str, float] | None, of: str | None, classes: tuple[str, ...]) -> FloatArray:
    """A score as one for each class, shape (n_classes,): that of the class that it is of, or else of all of them."""
    if value is None:
        return np.zeros(len(classes))
    if isinstance(value, Mapping):
        return np.array([value.get(c, 0.0) for c in classes])
    return np.array([value if of is None or c == of else 0.0 for c in classes])


def _values(tree: Tree, classes: tuple[str, ...]) -> FloatArray:
    """Terms of the scores at each place of a tree, shape (n_places, n_classes)."""
    found = np.zeros((len(number_places(tree)), len(classes)))
    for place, node in enumerate(tree.nodes if state_scores(tree.nodes) else ()):
        if node.value is not None:
            found[place] = _by_class(node.value, tree.of_class, classes)
    return found


def linked(scores: FloatArray, boosting: Boosting | None) -> FloatArray:
    """The probabilities that scores stand for, shape (n, n_classes): all of it on the best class without a link."""
    if boosting is None or boosting.link == "none":
        return np.asarray(np.eye(scores.shape[1])[scores.argmax(axis=1)])
    if boosting.link == "share":
        return _shares(scores)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _shares(scores: FloatArray) -> FloatArray:
    """Each row divided by its sum, what is below 0 being nothing; equal parts of a row of nothing."""
    above = np.maximum(scores, 0.0)
    above /= np.maximum(above.max(axis=1, keepdims=True), TINY)  # the sum of large scores may be infinite
    total = above.sum(axis=1, keepdims=True)
    equal = np.full(scores.shape, 1 / scores.shape[1])
    return np.asarray(np.divide(above, total, out=equal, where=total > 0))


def states_answers(release: Release) -> bool:
    """Whether some leaf of a release states what it predicts; none does of statements without a tree."""
    if predicts_numbers(release):
        return True
    if release.predicts == "score":
        return any(state_scores(tree.nodes) for tree in release.trees)
    nodes = (node for tree in release.trees for node in tree.nodes if node.is_leaf)
    classes = release.target.classes
    return any(leaf.label is not None or any(_leaf_weights(leaf, classes, sized=False)) for leaf in nodes)


def states_shares(release: Release) -> bool:
    """Whether the probabilities that a release predicts follow from its statements."""
    if predicts_numbers(release):
        return False
    if release.predicts == "score":
        return release.boosting is not None and release.boosting.link != "none"
    if release.predicts == "vote" and len(release.trees) > 1:
        return True
    two = len(release.target.classes) <= 2
    return all(
        leaf.counts is not None or leaf.rates is not None or (two and leaf.error_rate is not None) or leaf.n == 0
        for tree in release.trees
        for leaf in tree.leaves
    )


def check_predicts(release: Release) -> None:
    """Refuse statements without a tree that predicts: no model that they are about is read as one."""
    if release.statements and not states_answers(release):
        source = release.statements[0].name
        raise invalid(source, "release", "trees", "trees that predict", "statements without a tree")


def predict_proba(
    release: Release, source: Source, *, removed: Removed = "ancestor", reading: Reading | None = None
) -> FloatArray:
    """The probability of each class that a release gives to each record, shape (n, n_classes).

    A leaf answers with the shares of its counts, else with its rates; without either, with one minus the error rate for
    its label and the rest in equal parts for the others; else with its label. The trees of a forest with counts answer
    with the shares of their sums (Waseda et al. 2025, Algorithm 2), others with the mean of their answers, or as the
    release says that it ``predicts``. A place without an answer gets that of the leaves below its nearest ancestor
    (``ancestor``), or of all leaves (``majority``), by records; in a forest only where no tree has one. Where nothing
    is stated at all, every class is as likely.
    """
    return _answer(release, *read_columns(release, source, reading), removed)[0]


def predict(
    release: Release, source: Source, *, removed: Removed = "ancestor", reading: Reading | None = None
) -> npt.NDArray[Any]:
    """The class that a release predicts for each record: a single tree's label, else the first of the most probable."""
    codes = predict_columns(release, *read_columns(release, source, reading), removed=removed)
    return np.array(release.target.classes, object)[codes]


def predict_columns(
    release: Release,
    attributes: Sequence[Attribute],
    columns: Sequence[npt.NDArray[Any]],
    n: int,
    *,
    removed: Removed = "ancestor",
) -> IntArray:
    """`predict` for records that are read already: indices into ``release.target.classes``, shape (n,)."""
    return _answer(release, attributes, columns, n, removed)[1]


def predict_proba_columns(
    release: Release,
    attributes: Sequence[Attribute],
    columns: Sequence[npt.NDArray[Any]],
    n: int,
    *,
    removed: Removed = "ancestor",
) -> FloatArray:
    """`predict_proba` for records that are read already, as `predict_columns` takes them; shape (n, n_classes)."""
    return _answer(release, attributes, columns, n, removed)[0]


def read_columns(
    release: Release, source: Source, reading: Reading | None = None
) -> tuple[tuple[Attribute, ...], tuple[npt.NDArray[Any], ...], int]:
    """The attributes that some tree tests, a column of each as `predict_columns` takes it, and the number of rows."""
    attributes = tested_attributes(release)
    needed = [a.name for a in attributes]
    frame = read_frame(source, "data", needed, reader_of(reading), declared_values(attributes, release.target))
    problems = [*frame.problems, *missing_columns(frame, needed)]
    columns = tuple(read_column(frame, a, problems) for a in attributes if a.name in frame.columns)
    if problems:
        raise InvalidInput(frame.source, problems)
    return attributes, columns, len(frame.lines)


def tested_attributes(release: Release) -> tuple[Attribute, ...]:
    """The attributes that some tree tests, in the order of the release."""
    tested = {name for tree in release.trees for name in attributes_of(tree.nodes)}
    return tuple(attribute for attribute in release.attributes if attribute.name in tested)


def read_column(frame: Frame, attribute: Attribute, problems: list[Problem]) -> npt.NDArray[Any]:
    """One column as `predict_columns` takes it, shape (n_rows,)."""
    if attribute.values is not None:
        return read_codes(frame, attribute.name, attribute.values, problems)
    found: FloatArray = np.append(finite(frame, attribute.name, problems, optional=attribute.missing), np.nan)
    return found[frame.columns[attribute.name].codes]


def read_codes(
    frame: Frame,
    name: str,
    domain: Sequence[str],
    problems: list[Problem],
    *,
    key: Literal["values", "classes"] = "values",
) -> IntArray:
    """A column as codes into a domain, -1 outside of it; what is missing is a problem.

    So is a value that is one of the domain but for blanks or Unicode form; one but for its case is noted.
    """
    column = frame.columns[name]
    index, absent = codes_of(domain)
    if absent >= 0:
        note_missing(frame, name, domain[absent])
    elif (column.codes < 0).any():
        expected = "a value: name missing ones as the release does, or drop their rows"
        where = frame.place(int((column.codes < 0).argmax()))
        found = f"a missing one ({missing_rows(frame, name)} in all){missing_cells(frame, name)}"
        problems.append(Problem(where, name, expected, found))
    problems += unknown_spellings(frame, name, domain)
    other = index.get(OTHER, -1) if key == "values" else -1
    if other >= 0:
        note_other(frame, name, domain)
    return np.array([*codes_in(column, index, other), absent], np.int64)[column.codes]


def _answer(
    release: Release,
    attributes: Sequence[Attribute],
    columns: Sequence[npt.NDArray[Any]],
    n: int,
    removed: Removed,
) -> tuple[FloatArray, IntArray]:
    """Probabilities, shape (n, n_classes), and codes of the predicted classes, shape (n,)."""
    if removed not in get_args(Removed):
        raise invalid("predict", "argument", "removed", f"one of {', '.join(get_args(Removed))}", shorten(removed))
    check_predicts(release)
    return answers_at(release, places_of(release, attributes, columns, n), n, removed)


def answers_at(
    release: Release, reached: Sequence[IntArray], n: int, removed: Removed = "ancestor"
) -> tuple[FloatArray, IntArray]:
    """Probabilities and predicted classes of records whose place in each tree is known, see `predict_proba`."""
    if release.predicts == "score":
        shares = linked(sum_of_scores(release, reached, n), release.boosting)
        return shares, shares.argmax(axis=1)
    if predicts_numbers(release):
        codes = predicted_classes(release, predicted_numbers(release, reached))
        return np.asarray(np.eye(len(release.target.classes))[codes]), codes
    total, instead = np.zeros((2, n, len(release.target.classes)))
    label = np.full(n, -1)
    for terms, place in zip(terms_of(release, removed), reached, strict=True):
        total += terms.own[place]
        instead += terms.instead[place]
        label = terms.label[place]
    silent = ~total.any(axis=1)
    total[silent] = instead[silent]
    total[~total.any(axis=1)] = 1.0
    best = total.argmax(axis=1)
    return shares_of(total), best if len(release.trees) > 1 else np.where(label < 0, best, label)


# How far tools that add in single precision, in whatever order, may be from these numbers.


def limits_at(release: Release, reached: Sequence[IntArray], n: int) -> tuple[FloatArray, FloatArray]:
    """The least and the largest probability of each class, see `answers_at`, that the model's own tool may give.

    A sum of T numbers is off by T times `SINGLE` of the sum of their sizes at most, in any order; two more are for what
    the numbers themselves lost. An initial score is that of a rounded probability. A link then loses a few places,
    and one minus a probability that of 1. A single tree adds nothing: equal leaves are equal.
    """
    found, many = answers_at(release, reached, n)[0], len(release.trees) + 16
    if release.predicts != "score":
        lost = 0.0 if len(release.trees) == 1 else 2 * many * SINGLE
        return np.maximum(found * (1 - lost) - lost, 0.0), np.minimum(found * (1 + lost) + lost, 1.0)
    scores, base = sum_of_scores(release, reached, n), base_scores(release)
    size = np.tile(np.abs(base), (n, 1))
    for terms, place in zip(score_terms(release), reached, strict=True):
        size += np.abs(terms)[place]
    with np.errstate(over="ignore"):
        off = SINGLE * (many * size + 4 * np.exp(np.maximum(base, 0.0)) * (base != 0))
    low, high = np.empty_like(scores), np.empty_like(scores)
    for x in range(scores.shape[1]):
        mine = np.arange(scores.shape[1]) == x
        low[:, x] = linked(np.where(mine, scores - off, scores + off), release.boosting)[:, x]
        high[:, x] = linked(np.where(mine, scores + off, scores - off), release.boosting)[:, x]
    lost = (16 + scores.shape[1]) * SINGLE
    return np.maximum(low * (1 - lost) - 4 * SINGLE, 0.0), np.minimum(high * (1 + lost) + 4 * SINGLE, 1.0)


def alike_at(release: Release, reached: Sequence[IntArray], n: int) -> IntArray:
    """A number for each record, the same of those whose probabilities are surely equal, shape (n,).

    So they are where all trees add the same, and where whole numbers, whose sums are exact, add up to the same.
    """
    scored = release.predicts == "score"
    added = score_terms(release) if scored else (np.hstack([t.own, t.instead]) for t in terms_of(release))
    found, whole = np.zeros(n, np.int64), True
    for terms, place in zip(added, reached, strict=True):
        whole &= bool((terms == np.rint(terms)).all())
        _, kind = np.unique(terms, axis=0, return_inverse=True)
        _, found = np.unique(found * len(terms) + kind[place], return_inverse=True)
    if whole or (len(release.trees) == 1 and not scored):
        _, found = np.unique(answers_at(release, reached, n)[0], axis=0, return_inverse=True)
    return found


def may_predict(release: Release, reached: Sequence[IntArray], n: int) -> BoolArray:
    """Which classes the model's own tool may predict of records, shape (n, n_classes): several where they are close."""
    codes = [answers_at(release, reached, n)[1]]
    if predicts_numbers(release):
        largest = max(float(np.nanmax(np.abs(numbers_of(tree)))) for tree in release.trees)
        numbers, off = predicted_numbers(release, reached), SINGLE * (len(release.trees) + 16) * largest
        codes += [predicted_classes(release, numbers - off), predicted_classes(release, numbers + off)]
    found: BoolArray = np.any([np.eye(len(release.target.classes), dtype=bool)[each] for each in codes], axis=0)
    if predicts_numbers(release) or (len(release.trees) == 1 and release.predicts != "score"):
        return found
    low, high = limits_at(release, reached, n)
    return np.asarray(found | (high >= low.max(axis=1, keepdims=True)))


def places_of(
    release: Release, attributes: Sequence[Attribute], columns: Sequence[npt.NDArray[Any]], n: int
) -> list[IntArray]:
    """The place of each tree where records end, shape (n,) each, see `maxent.models.trees.places.assign`."""
    return [np.zeros(n, np.int64) if tree.root.is_leaf else assign(tree, attributes, columns) for tree in release.trees]


# Accuracy of a release: the share of records with a correctly predicted class, on any records.


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Records with their classes, to predict: codes are -1 outside of the domain, each row for ``counts`` records."""

    attributes: tuple[Attribute, ...]
    columns: tuple[npt.NDArray[Any], ...]
    y: IntArray
    counts: IntArray


@dataclass(frozen=True, slots=True)
class Score:
    """Accuracy of a release: ``unseen`` records have a value that it does not know, ``unknown`` ones a class."""

    accuracy: float
    records: int
    unseen: int = 0
    unknown: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on records with values or classes outside the training data."""
        notes = []
        if self.unseen:
            notes.append(f"{self.unseen} of {self.records} records have a value that the release does not know")
        if self.unknown:
            notes.append(f"{self.unknown} of {self.records} records have a class that the release does not know")
        return tuple(notes)


def cases_of(training: Training) -> Cases:
    """The records that a tree was grown from, as cases."""
    return Cases(training.attributes, training.columns, training.y, np.ones(len(training), np.int64))


def read_cases(
    source: Source,
    name: str,
    target: Target,
    attributes: Sequence[Attribute],
    *,
    count: str | None = None,
    optional: Collection[str] = (),
    reader: Reader | None = None,
) -> Cases:
    """Read records with values and classes that the release need not have, without ``optional`` columns that lack."""
    names = [attribute.name for attribute in attributes]
    problems: list[Problem] = []
    needed = [*names, *target.columns]
    frame, counts = read_counted(
        source,
        name,
        needed,
        count,
        problems,
        count_optional=True,
        merge=True,
        reader=reader,
        declared=declared_values(attributes, target),
    )
    problems = [problem for problem in problems if problem.field not in optional or problem.field in frame.header]
    present = [attribute for attribute in attributes if attribute.name in frame.columns]
    columns = tuple(read_column(frame, attribute, problems) for attribute in present)
    y = np.zeros(0, np.int64)
    named = class_names(frame, target)
    if target.name in named.columns:
        y = read_codes(named, target.name, target.classes, problems, key="classes")
    if problems:
        raise InvalidInput(frame.source, problems)
    return Cases(tuple(present), columns, y, counts)


def score(release: Release, cases: Cases, predict: Callable[..., IntArray] = predict_columns) -> Score:
    """Predict the class of every case, and compare; the cases need no attributes that no tree tests."""
    column = {attribute.name: values for attribute, values in zip(cases.attributes, cases.columns, strict=True)}
    unseen = np.zeros(len(cases.y), bool)
    for attribute in tested_attributes(release):
        if attribute.values is not None:
            unseen |= column[attribute.name] < 0
    right = predict(release, cases.attributes, cases.columns, len(cases.y)) == cases.y

    def records(rows: npt.NDArray[np.bool_]) -> int:
        return int(cases.counts[rows].sum())

    total = int(cases.counts.sum())
    return Score(records(right) / total, total, records(unseen), records(cases.y < 0))
