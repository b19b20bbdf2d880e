"""rpart trees as a release, for all its exports: nodes 2k and 2k + 1 below k, surrogates, levels as letters.

rpart sends a record whose value no record of the node had, and one without a value, by surrogate splits, then with
the majority. Exports without surrogates leave the first to the majority, and are refused where there are some of the
second.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product
from math import isfinite
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from maxent.models.arguments import LARGEST_COUNT, shorten
from maxent.models.errors import InvalidInput, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.assemble import assemble
from maxent.models.formats.outline import levels_in
from maxent.models.formats.proof import TrainingColumns, check_leaves, counts_in_leaves, read_training
from maxent.models.formats.r.forests import read_csv, read_levels
from maxent.models.formats.release_reader import NUMERIC, UNNAMED, Converted, Wanted, model_reader
from maxent.models.formats.unrolled import Question, unrolled
from maxent.models.reading import Reader
from maxent.models.release import Branch, Labels, Node, Release, Target, Tree
from maxent.models.tables.classes import numeric_target
from maxent.models.trees.places import less_than

ADVICE = (
    "the rows that rpart was fitted on, all of them, without weights; and thresholds that were not rounded for print"
)
CRITERION = "the criterion, so that nothing follows from the choice of splits"
ABSENT = "where values go that no record of a node has: surrogate splits decide, and here they go with the majority"
SURROGATES = "surrogate splits, by which rpart sends records without a value"
REGRESSION = "a classification tree, of method class (of a regression give its frame.csv, and bins of the target)"
LARGEST_NUMBER = 2**31 - 1  # the number of the last node at rpart's largest depth, 30


@dataclass(frozen=True, slots=True)
class CodedLevels:
    """A test of levels without their names: for each in the order of the factor ``L``, ``R`` or ``-`` for neither."""

    name: str
    sides: str


@dataclass(frozen=True, slots=True)
class RpartCut:
    """A test of a number: those below the threshold go left (``below``), or right."""

    name: str
    threshold: float
    below: bool


@dataclass(frozen=True, slots=True)
class LevelSets:
    """A test of names: the values that go left, and right."""

    name: str
    left: tuple[str, ...]
    right: tuple[str, ...]


Split = RpartCut | LevelSets


@dataclass(frozen=True, slots=True)
class Fitted:
    """A node as rpart has it: its split and surrogates, none of a leaf, and whether records lack the value."""

    n: int
    splits: tuple[Split, ...]
    lacking: bool
    stated: Node


@dataclass(frozen=True, slots=True)
class GrownRpart:
    """A tree, the numbers of the nodes that its leaves are of, and whether surrogates are left out for new values."""

    tree: Tree
    origins: Mapping[str, str]
    absent: bool


@dataclass(frozen=True, slots=True)
class Labelled:
    """A node with its label, and the numbers or shares of its classes, each of which may be so far ``off``."""

    place: str
    label: str
    shares: tuple[float, ...]
    off: float = 0.0


def check_family(source: str, sizes: Mapping[int, int], leaves: Collection[int]) -> None:
    """Refuse nodes that are no whole tree, or of which records stop at an inner node."""
    if 1 not in sizes:
        raise invalid(source, "document", "nodes", "a root, node 1", "none")
    for number, n in sizes.items():
        place = f"node {number}"
        if number > 1 and (number // 2 not in sizes or number // 2 in leaves):
            raise invalid(source, place, "parent", f"an inner node {number // 2}", "none")
        if number in leaves:
            continue
        below = [2 * number, 2 * number + 1]
        if missing := [child for child in below if child not in sizes]:
            raise invalid(source, place, "children", "nodes {} and {}".format(*below), f"no node {missing[0]}")
        if sum(sizes[child] for child in below) != n:
            expected = f"{n} records below it (with usesurrogate below 2 some stop here: fit the model with 2)"
            raise invalid(source, place, "children", expected, str(sum(sizes[child] for child in below)))


def tree_of(
    source: str, fitted: Mapping[int, Fitted], training: TrainingColumns | None, may_lack: frozenset[str]
) -> GrownRpart:
    """The tree, with the ways of records without a value, and of those with one that no record of a node had.

    Where there are too many ways, and records lack no values, those with a new one go with the majority.
    """
    domains = _domains((split for node in fitted.values() for split in node.splits), training)
    try:
        return _grown(source, fitted, domains, may_lack, by_surrogates=True)
    except InvalidInput:
        if may_lack:
            raise
        return _grown(source, fitted, domains, may_lack, by_surrogates=False)


# The number of a node, and how many of its splits have been tried; one more where a record stays there
_Place = tuple[int, int]


def _grown(
    source: str,
    fitted: Mapping[int, Fitted],
    domains: Mapping[str, Mapping[str, None]],
    may_lack: frozenset[str],
    *,
    by_surrogates: bool,
) -> GrownRpart:
    origins: dict[str, str] = {}
    any_absent = False

    def after(number: int, tried: int) -> _Place:
        """Where a record goes that has none of the first splits' values."""
        if tried < len(fitted[number].splits):
            return number, tried
        left, right = fitted[2 * number].n, fitted[2 * number + 1].n
        return (2 * number + (right > left), 0) if left != right else (number, tried)

    def step(place: _Place) -> Question[_Place] | Node:
        nonlocal any_absent
        number, tried = place
        node = fitted[number]
        if tried == len(node.splits):
            return replace(node.stated, id=str(number)) if not tried else Node(f"{number}s", label=node.stated.label)
        split = node.splits[tried]
        left, right = (2 * number, 0), (2 * number + 1, 0)
        branches = tuple(zip(_sides(split), (left, right), strict=True))
        absent: tuple[str, ...] = ()
        if isinstance(split, LevelSets):
            absent = tuple(value for value in domains[split.name] if value not in {*split.left, *split.right})
        new = after(number, tried + 1 if by_surrogates else len(node.splits))
        any_absent = any_absent or (bool(absent) and not by_surrogates and len(node.splits) > 1)
        aside = ((Branch(None, values=absent), new),) if absent else ()
        return Question(str(number), split.name, branches, after(number, tried + 1), node.lacking and not tried, aside)

    better = "fit it on rows without missing values, na.action = na.omit, or with fewer surrogates, maxsurrogate"
    tree = unrolled(source, (1, 0), step, may_lack, len(fitted), better, origins)
    return GrownRpart(tree, origins, any_absent)


def _sides(split: Split) -> Iterator[Branch]:
    """The branches of a split, left and right."""
    if isinstance(split, LevelSets):
        yield from (Branch(None, values=split.left), Branch(None, values=split.right))
        return
    most = less_than(split.threshold)
    yield Branch(None, le=most) if split.below else Branch(None, gt=most)
    yield Branch(None, gt=most) if split.below else Branch(None, le=most)


def _domains(splits: Iterable[Split], training: TrainingColumns | None) -> dict[str, dict[str, None]]:
    """The values of each attribute that is tested by names: of the splits and of the training table."""
    found: dict[str, dict[str, None]] = {}
    for split in splits:
        if isinstance(split, LevelSets):
            found.setdefault(split.name, {}).update(dict.fromkeys(split.left + split.right))
    for name, values in found.items():
        attribute = None if training is None else training.named(name)
        values.update(dict.fromkeys((attribute.values if attribute else None) or ()))
    return found


def refuse_gaps(source: str, tested: Iterable[str], training: TrainingColumns | None) -> None:
    """Refuse a tree that tests columns of which the training table lacks cells."""
    if training is not None and (gaps := [name for name in dict.fromkeys(tested) if name in training.gaps]):
        expected = (
            "no missing values in the columns of the tree: rpart sends such rows by surrogate splits, which are not "
            "printed (write its frame, splits and csplit with write.csv, or summary(model))"
        )
        raise invalid(source, "document", "training table", expected, f"missing values of {shorten(gaps)}")


def classes_of(source: str, nodes: Sequence[Labelled], known: Sequence[str], *, plain: bool) -> tuple[str, ...]:
    """The classes in the order of the shares, which R sorts as its locale does: labels have the largest shares."""
    width = len(nodes[0].shares)
    labels = list(dict.fromkeys(node.label for node in nodes))
    if not known and len(labels) == width and not plain:
        known = sorted(labels)
    order: dict[int, str] = {}
    for node in nodes if plain else ():
        best = [i for i, share in enumerate(node.shares) if share >= max(node.shares) - 2 * node.off]
        if len(best) == 1 and order.setdefault(best[0], node.label) != node.label:
            expected = f"the label {shorten(order[best[0]])}, as elsewhere with such shares"
            raise invalid(source, node.place, "label", expected, shorten(node.label))
    left = iter([label for label in known if label not in order.values()])
    found = tuple(order.get(i) or next(left, "") for i in range(width))
    if len({*found}) != width or "" in found or (known and {*known} != {*found}) or not {*labels} <= {*found}:
        expected = f"the names of {width} classes, all labels among them (classes=, or train= and target=)"
        raise invalid(source, "document", "classes", expected, shorten(list(known or labels)))
    return found


def are_exact(cuts: Sequence[RpartCut], training: TrainingColumns | None) -> bool:
    """Whether no rounding for print shows: halves between whole numbers, or whole ones with digits to spare.

    R prints as many significant digits of all thresholds, at least as many as any of them has.
    """
    digits = max((len(f"{abs(cut.threshold):.15g}".replace(".", "").lstrip("0")) for cut in cuts), default=0)
    return all(
        training is not None
        and training.holds_whole_numbers(cut.name)
        and (cut.threshold % 1 == 0.5 or (cut.threshold % 1 == 0 and abs(cut.threshold) < 10.0 ** (digits - 1)))
        for cut in cuts
    )


# From the nodes of an rpart tree to its release, of exports with class counts, surrogates, and levels as letters.
#
# A record without a value goes by the first surrogate split whose column it has, then with the majority. So does one
# with a level that no record of the node had. Letters of levels are in R's order, which the counts of the leaves prove.

_READINGS = 64  # orders of the levels of all columns that are tried
_PARTS = "counts and sizes of leaves below splits whose values records lack: surrogate splits part such records"
_WEIGHTS = "counts, which are of case weights"


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """A node: its records, its split and the surrogates for it, records without its value, and what is stated of it."""

    n: int
    splits: tuple[RpartCut | CodedLevels, ...]
    lacking: int
    stated: Node


def converted(
    source: str,
    drawn: Mapping[int, DrawnRows],
    classes: tuple[str, ...],
    wanted: Wanted,
    reader: Reader,
    *,
    counted: bool,
    lost: tuple[str, ...],
    numeric: Target | None = None,
    stated: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> Converted:
    """The release of nodes by their numbers; ``lost`` says of thresholds what they lack, nothing where they are exact.

    ``numeric`` is the target of a regression, whose leaves predict their means. ``stated`` are levels in their order.
    """
    training = _with_all_levels(read_training(wanted, reader), drawn, wanted, reader, stated)
    leaves = {number for number, node in drawn.items() if not node.splits}
    check_family(source, {number: node.n for number, node in drawn.items()}, leaves)
    if not any(node.lacking for node in drawn.values()) and (training is None or not training.classes):
        drawn = {number: replace(node, splits=node.splits[:1]) for number, node in drawn.items()}
    names = {split.name for node in drawn.values() for split in node.splits}
    lacking = {node.splits[0].name for node in drawn.values() if node.lacking and node.splits}
    may_lack = lacking | (names & training.gaps if training is not None else names if lacking else set())
    if numeric is not None and may_lack:
        expected = "columns without missing values, as means of leaves are of all their records"
        raise invalid(source, f"column {shorten(sorted(may_lack)[0])}", "missing values", expected, "some")
    labels: Labels = "majority" if counted and not may_lack else "decided"
    how: dict[str, Any] = {"predicts": "label", "labels": labels} if numeric is None else {"target": numeric.name}
    grown: GrownRpart | None = None
    proven: list[tuple[Release, GrownRpart]] = []
    failed: InvalidInput | None = None
    coded = dict.fromkeys(
        split.name for node in drawn.values() for split in node.splits if isinstance(split, CodedLevels)
    )
    for chosen in _orders(source, drawn, tuple(coded), training, stated):
        levels = dict(zip(coded, chosen, strict=True))
        fitted = {
            number: Fitted(node.n, tuple(_named(split, levels) for split in node.splits), node.lacking > 0, node.stated)
            for number, node in drawn.items()
        }
        grown = tree_of(source, fitted, training, frozenset(may_lack))
        release = assemble(source, [grown.tree], classes, wanted, training, **how)
        release = release if numeric is None else replace(release, target=numeric)
        if training is not None:
            try:
                counts = _check(source, release, grown, drawn, training)
            except InvalidInput as error:
                failed = failed or error
                continue
            if not counts and not {*coded} <= {*stated}:
                expected = f"counts that prove the order of levels ({_BETTER})"
                raise invalid(source, "document", "levels", expected, "none")
        if all(release.trees != other.trees for other, _ in proven):
            proven.append((release, grown))
    if not proven and failed is not None:
        raise failed
    if len(proven) != 1:
        raise invalid(source, "document", "levels", f"one order of levels with such counts ({_BETTER})", "several")
    release, grown = proven[0]
    said = [CRITERION]
    said += [] if counted else [_WEIGHTS]
    said += lost
    said += [_PARTS] if may_lack else []
    said += [ABSENT] if grown.absent else []
    said += [SURROGATES] if training is None and names and not may_lack else []
    return Converted(release, "R rpart", tuple(said), not lost)


def _with_all_levels(
    training: TrainingColumns | None,
    drawn: Mapping[int, DrawnRows],
    wanted: Wanted,
    reader: Reader,
    stated: Mapping[str, tuple[str, ...]],
) -> TrainingColumns | None:
    """The training table, in which a level such as ``NA`` is a value where R has as many more levels."""
    if training is None:
        return None
    declared: dict[str, list[str]] = {}
    for split in (split for node in drawn.values() for split in node.splits if isinstance(split, CodedLevels)):
        column = training.frame.columns.get(split.name)
        if column is not None and split.name not in declared:
            spelled = [text for text in column.blanks if text]
            if spelled and split.name in stated:
                declared[split.name] = list(stated[split.name])
            elif spelled and len(split.sides) == len(training.orders(split.name)[0]) + len(spelled):
                declared[split.name] = [*training.orders(split.name)[0], *spelled]
    return read_training(wanted, reader, declared) if declared else training


_BETTER = "print(model), which names them, levels.csv beside the frame, or train= and target="


def _orders(
    source: str,
    drawn: Mapping[int, DrawnRows],
    coded: tuple[str, ...],
    training: TrainingColumns | None,
    stated: Mapping[str, tuple[str, ...]],
) -> list[tuple[tuple[str, ...], ...]]:
    """The orders of the levels of all columns that have letters for them: those that are stated, or all that may be."""
    unknown = [name for name in coded if name not in stated]
    if unknown and (training is None or not training.classes):
        raise invalid(source, f"column {shorten(unknown[0])}", "levels", f"names of levels ({_BETTER})", "none")
    orders = [
        (stated[name],) if name in stated else () if training is None else training.orders(name) for name in coded
    ]
    splits = [split for node in drawn.values() for split in node.splits if isinstance(split, CodedLevels)]
    for name, found in zip(coded, orders, strict=True):
        sizes = {len(split.sides) for split in splits if split.name == name}
        if not found or sizes != {len(found[0])}:
            table = "levels.csv" if name in stated else "the training table"
            expected = f"as many values in {table} as levels, {shorten(sorted(sizes))} ({_BETTER})"
            shown = str(len(found[0])) if found else "no such column"
            raise invalid(source, f"column {shorten(name)}", "levels", expected, shown)
    together = zip(*map(training.sorted_ways, unknown), strict=True) if training is not None else ()
    apart = zip(range(_READINGS), product(*orders), strict=False)
    ways = [{**dict(zip(unknown, way, strict=True)), **stated} for way in together]
    either = [tuple(way[name] for name in coded) for way in ways]
    return list(dict.fromkeys([*either, *(chosen for _, chosen in apart)]))


def _named(split: RpartCut | CodedLevels, levels: Mapping[str, tuple[str, ...]]) -> Split:
    if isinstance(split, RpartCut):
        return split
    sides = list(zip(split.sides, levels[split.name], strict=True))
    left, right = (tuple(level for side, level in sides if side == which) for which in "LR")
    return LevelSets(split.name, left, right)


def _check(
    source: str, release: Release, grown: GrownRpart, drawn: Mapping[int, DrawnRows], training: TrainingColumns
) -> bool:
    """Refuse a tree whose leaves the training rows do not reach as rpart counts; whether counts prove it right."""
    classes = release.target.classes
    sums: dict[str, list[int]] = {}
    for node, here in zip(grown.tree.nodes, counts_in_leaves(release, training)[0].tolist(), strict=True):
        if not node.is_leaf and sum(here):
            found = f"{sum(here)} rows without one in {training.frame.source}"
            raise invalid(source, f"node {node.id}", "training table", f"a branch for every row ({ADVICE})", found)
        if node.is_leaf:
            before = sums.setdefault(grown.origins[node.id], [0] * len(classes))
            sums[grown.origins[node.id]] = [a + b for a, b in zip(before, here, strict=True)]
    proven = bool(training.classes)
    for number, made in drawn.items():
        if made.splits:
            continue
        here, stated = sums.get(str(number), [0] * len(classes)), made.stated.counts
        counts = None if stated is None else [stated[c] for c in classes]
        if counts is not None and training.classes and counts != here:
            raise _other(source, number, f"counts {shorten(counts)}", shorten(here), training)
        if sum(here) != made.n:
            raise _other(source, number, f"{made.n} rows", str(sum(here)), training)
        proven = proven and counts is not None
    return proven


def _other(source: str, number: int, stated: str, found: str, training: TrainingColumns) -> InvalidInput:
    expected = f"{stated}, as the model says ({ADVICE})"
    return invalid(source, f"node {number}", "training table", expected, f"{found} in {training.frame.source}")


# Text that R prints of an ``rpart`` object: ``4) capital-gain< 7731.5 1084  59 <=50K (0.95 0.05) *``.
#
# Names, levels and labels are printed as they are, and levels joined by commas. What is the name of a column is what
# both branches of a node begin with; what is a label is told by the classes, and by its numbers.


_HEADER = re.compile(r"^node\), split, n, (loss, yval, \(yprob\)|deviance, yval)\s*$", re.MULTILINE)
_NUMBER = r"[0-9]{1,24}(?:\.[0-9]{1,24})?(?:e[+-]?[0-9]{1,3})?"
_START = re.compile(r" *([0-9]{1,10})\) ")
_NUMBERS = re.compile(rf"(?= ([0-9]{{1,16}}) +({_NUMBER}) (?=\S))")
_CUT = re.compile(rf"(.+)(<|>=) ?(-?{_NUMBER})")
_PRINT_READINGS = 1000  # how often two numbers may follow each other in a line
_MANY_CLASSES = 5  # from so many classes on, rpart prints two digits of each share
_ROUNDED_FROM = 1000  # no loss below is rounded with three digits, the fewest that anybody prints


@dataclass(frozen=True, slots=True)
class _Line:
    """A node as it is printed: its number, test, records, loss, label, shares, and whether it is a leaf."""

    line: int
    number: int
    test: str
    n: int
    loss: float
    label: str
    shares: tuple[float, ...]
    off: float
    leaf: bool

    @property
    def plain(self) -> bool:
        """Whether the loss is the number of records outside a most frequent class."""
        allowed = self.n * self.off + _rounding(self.loss) + 1e-6
        return self.loss.is_integer() and abs(self.loss - self.n * (1 - max(self.shares))) <= allowed


@model_reader("rpart-print", "text that R printed of an rpart tree", lambda head: _HEADER.search(head.text) is not None)
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    text = read_text(path)
    training = read_training(wanted, reader)
    known = wanted.classes or (training.classes if training is not None else ())
    lines = {line.number: line for line in _lines(source, text, known)}
    check_family(
        source, {line.number: line.n for line in lines.values()}, {line.number for line in lines.values() if line.leaf}
    )
    plain = all(line.plain for line in lines.values())
    seen = [Labelled(f"node {line.number}", line.label, line.shares, line.off) for line in lines.values()]
    classes = classes_of(source, seen, known, plain=plain)
    counted = plain and _is_counted(list(lines.values()), classes)
    refuse_gaps(source, _tested(list(lines.values()), training), training)
    splits = {n: _split(source, lines[2 * n], lines[2 * n + 1], training) for n in lines if not lines[n].leaf}
    fitted = {}
    for number, line in lines.items():
        stated = _stated(line, classes, plain=plain, counted=counted)
        fitted[number] = Fitted(line.n, (splits[number],) if number in splits else (), False, stated)
    grown = tree_of(source, fitted, training, frozenset())
    labels: Labels = "majority" if plain else "decided"
    release = assemble(source, [grown.tree], classes, wanted, training, predicts="label", labels=labels)
    if training is not None:
        check_leaves(source, release, training, ADVICE)
        _check_shares(source, release, training, max(line.off for line in lines.values()))
    cuts = [split for split in splits.values() if isinstance(split, RpartCut)]
    exact = are_exact(cuts, training)
    lost = [CRITERION]
    if not plain:
        lost.append("counts and rates: loss and yprob are weighted by priors, costs or case weights")
    elif not counted:
        lost.append("counts, of which the numbers of records, the label and the rounded rates are printed")
    if not exact:
        lost.append("digits of thresholds beyond those printed, which print(model, digits = 15) prints")
    lost += [ABSENT] if _has_new(grown.tree, splits) else []
    lost += [SURROGATES] if training is None and splits else []
    return Converted(release, "R rpart", tuple(lost), exact)


def _lines(source: str, text: str, classes: Collection[str]) -> Iterator[_Line]:
    """The nodes in the order of their lines."""
    header = _HEADER.search(text)
    if header is None:
        raise invalid(source, "document", "content", "text that R printed of an rpart object", "other text")
    if not header[1].startswith("loss"):
        raise invalid(source, "document", "method", REGRESSION, "deviances in place of losses")
    number, width = text.count("\n", 0, header.start()) + 1, 0
    seen: set[int] = set()
    for line in text[header.end() :].split("\n")[1:]:
        number += 1
        if not line.strip() or line.strip() == "* denotes terminal node":
            if seen:
                break
            continue
        found = _line(source, number, line, classes)
        if found.number in seen or (width and len(found.shares) != width):
            _refuse(source, number, line, "another node, with as many shares as the one above")
        width = len(found.shares)
        seen.add(found.number)
        yield found


def _line(source: str, number: int, line: str, classes: Collection[str]) -> _Line:
    """One line, which has to have one reading."""
    body, leaf = line.rstrip(), False
    if body.endswith(" *"):
        body, leaf = body[:-2].rstrip(), True
    start, opening = _START.match(body), body.rfind(" (")
    if start is None or opening < start.end() - 1 or not body.endswith(")"):
        _refuse(source, number, line, "a node, such as 2) age< 37.5 120  14 no (0.883333 0.116667) *")
    printed = body[opening + 2 : -1].split()
    if len(printed) < 2 or any(re.fullmatch(_NUMBER, share) is None or float(share) > 1 for share in printed):
        _refuse(source, number, line, "a share of each class in brackets")
    if not 0 < int(start[1]) <= LARGEST_NUMBER:
        _refuse(source, number, line, f"the number of a node, 1 to {LARGEST_NUMBER}")
    off = 0.5 * 10.0 ** -max(len(share.partition(".")[2]) for share in printed)
    if len(printed) >= _MANY_CLASSES:
        off = 0.5e-2
    shares = tuple(map(float, printed))
    inside = body[start.end() - 1 : opening]
    readings = []
    for match in islice(_NUMBERS.finditer(inside), _PRINT_READINGS):
        test, label = inside[: match.start()].strip(), inside[match.end(2) + 1 :].strip()
        if not test or (test == "root") != (start[1] == "1") or (classes and label not in classes):
            continue
        if 0 < int(match[1]) <= LARGEST_COUNT and float(match[2]) <= LARGEST_COUNT:
            readings.append(
                _Line(number, int(start[1]), test, int(match[1]), float(match[2]), label, shares, off, leaf)
            )
    readings = [reading for reading in readings if reading.plain] or readings
    if len(readings) != 1:
        expected = (
            "a label that is clear, as with classes=, or with train= and target=" if readings else "n, loss, yval"
        )
        _refuse(source, number, line, f"{expected} behind a test")
    return readings[0]


def _rounding(loss: float) -> float:
    """By how much a loss may be off that was printed with few digits: half a unit of the last that is no zero."""
    if loss < _ROUNDED_FROM or not loss.is_integer():
        return 0.0
    text = str(int(loss))
    zeros = len(text) - len(text.rstrip("0"))
    return 0.5 * 10.0**zeros if zeros else 0.0


def _is_counted(lines: Sequence[_Line], classes: Sequence[str]) -> bool:
    """Whether losses are counts of the other of two classes: none is rounded, so that they add up at every node."""
    if len(classes) > 2:
        return False
    large = [line.loss for line in lines if line.loss >= _ROUNDED_FROM]
    if large and all(loss % 10 == 0 for loss in large):
        return False
    first = {line.number: line.n - line.loss if line.label == classes[0] else line.loss for line in lines}
    return all(
        first[line.number] == first[2 * line.number] + first[2 * line.number + 1] for line in lines if not line.leaf
    )


def _stated(line: _Line, classes: Sequence[str], *, plain: bool, counted: bool) -> Node:
    """What the file proves of a node."""
    if not plain:
        return Node("", label=line.label, n=line.n)
    loss = round(line.loss)
    if counted or not loss:
        others = {c: loss for c in classes}
        return Node("", label=line.label, n=line.n, counts=others | {line.label: line.n - loss})
    if len(classes) >= _MANY_CLASSES:  # two digits of the smallest share are many decimals, of the largest few
        return Node("", label=line.label, n=line.n, error_rate=loss / line.n if not _rounding(line.loss) else None)
    return Node("", label=line.label, n=line.n, rates=dict(zip(classes, line.shares, strict=True)))


def _tested(lines: Sequence[_Line], training: TrainingColumns | None) -> Iterator[str]:
    """The columns of the training table that tests begin with, before their values are read."""
    names = [] if training is None else [attribute.name for attribute in training.attributes]
    for line in lines:
        begins = [name for name in names if line.test.startswith((f"{name}=", f"{name}<", f"{name}>="))]
        yield from (max(begins, key=len),) if begins else ()


def _split(source: str, left: _Line, right: _Line, training: TrainingColumns | None) -> Split:
    """The test of a node from those of its two children."""
    cuts = [_CUT.fullmatch(line.test) for line in (left, right)]
    if (a := cuts[0]) is not None and (b := cuts[1]) is not None:
        if (a[1], a[3]) != (b[1], b[3]) or a[2] == b[2]:
            _refuse(source, right.line, right.test, "the other branch of the test of its sibling")
        return RpartCut(a[1], float(a[3]), a[2] == "<")
    names = [] if training is None else [attribute.name for attribute in training.attributes]
    found = []
    for match in islice(re.finditer("=", left.test), _PRINT_READINGS):
        name, begin = left.test[: match.start()], match.end()
        if not name or left.test[:begin] != right.test[:begin] or (training is not None and name not in names):
            continue
        attribute = None if training is None else training.named(name)
        values = None if attribute is None else attribute.values
        sides = [levels_in(line.test[begin:], values) for line in (left, right)]
        if sides[0] is not None and sides[1] is not None and not {*sides[0]} & {*sides[1]}:
            found.append(LevelSets(name, sides[0], sides[1]))
    if len(found) != 1:
        expected = (
            "levels printed whole, of one reading (with train=; not with minlength=, which abbreviates them; else "
            "write labels, frame, splits and csplit with write.csv)"
        )
        _refuse(source, left.line, left.test, expected)
    return found[0]


def _has_new(tree: Tree, splits: Mapping[int, Split]) -> bool:
    """Whether some branch takes values that are not printed."""
    named = {str(n): {*split.left, *split.right} for n, split in splits.items() if isinstance(split, LevelSets)}
    inner = [node for node in tree.nodes if node.id in named]
    return any({v for branch in node.branches for v in branch.values or ()} - named[node.id] for node in inner)


def _check_shares(source: str, release: Release, training: TrainingColumns, off: float) -> None:
    """Refuse rates that the training rows do not have."""
    if not training.classes:
        return
    for node, here in zip(release.trees[0].nodes, counts_in_leaves(release, training)[0].tolist(), strict=True):
        shares: Mapping[str, float] = node.rates or {}
        if any(
            abs(shares[c] - k / sum(here)) > 1.01 * off
            for c, k in zip(release.target.classes, here, strict=True)
            if shares
        ):
            expected = f"the rates of node {node.id}, as the model says ({ADVICE})"
            raise invalid(source, f"node {node.id}", "training table", expected, "others")


def _refuse(source: str, line: int, text: str, expected: str) -> NoReturn:
    raise invalid(source, f"line {line}", "text", expected, shorten(text.strip()))


# Text that ``summary`` of R prints of an ``rpart`` object, with the counts of the classes of every node.
#
# Levels have no names there, only ``L`` or ``R`` for each. The first of the primary splits is the node's, all others
# competed with it or stand in for it.


_NODE = re.compile(r"^Node number ([0-9]{1,10}): ([0-9]{1,16}) observations", re.MULTILINE)
_LABEL = re.compile(r"^  predicted class=(.*)  expected loss=", re.MULTILINE)
_COUNTS = re.compile(r"^ +class counts:([0-9.e+ ]+)$", re.MULTILINE)
_PRIMARY = re.compile(r"^  Primary splits:\n(.*)$", re.MULTILINE)
_TAIL = r", +(?:improve|agree)= *[-+0-9.e]+,(?: adj= *[-+0-9.e]+,)? \(([0-9]{1,16}) (?:missing|split)\) *"
_SUMMARY_CUT = re.compile(rf" {{6}}(.+) < (-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{{1,3}})?) +to the (left|right){_TAIL}")
_SETS = re.compile(rf" {{6}}(.+) splits as +([LR-]+){_TAIL}")


@dataclass(frozen=True, slots=True)
class _Section:
    """What is said of a node: counts None where they are no whole numbers of its records; its split and surrogates."""

    n: int
    label: str
    shares: tuple[float, ...]
    counts: tuple[int, ...] | None
    splits: tuple[RpartCut | CodedLevels, ...]
    lacking: int


@model_reader(
    "rpart-summary",
    "text that summary of R printed of an rpart tree",
    lambda head: _NODE.search(head.text) is not None and "  left son=" in head.text,
)
def _convert_summary(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    sections = _sections(source, read_text(path))
    training = read_training(wanted, reader)
    known = wanted.classes or (training.classes if training is not None else ())
    if len({len(section.shares) for section in sections.values()}) > 1:
        raise invalid(source, "document", "class counts", "as many in every node", "others")
    seen = [Labelled(f"node {number}", section.label, section.shares) for number, section in sections.items()]
    classes = _classes(source, seen, known)
    counted = all(section.counts is not None for section in sections.values())
    drawn = {
        number: DrawnRows(section.n, section.splits, section.lacking, _counted(section, classes, counted=counted))
        for number, section in sections.items()
    }
    cuts = [split for section in sections.values() for split in section.splits if isinstance(split, RpartCut)]
    exact = are_exact(cuts, training)
    lost = () if exact else ("digits of thresholds beyond those printed, which summary(model, digits = 15) prints",)
    return converted(source, drawn, classes, wanted, reader, counted=counted, lost=lost)


def _sections(source: str, text: str) -> dict[int, _Section]:
    """The nodes by their numbers."""
    found: dict[int, _Section] = {}
    starts = list(_NODE.finditer(text))
    for at, start in enumerate(starts):
        end = starts[at + 1].start() if at + 1 < len(starts) else len(text)
        number, n = int(start[1]), int(start[2])
        place = f"node {shorten(number)}"
        if not 0 < number <= LARGEST_NUMBER or number in found or not 0 < n <= LARGEST_COUNT:
            expected = f"each node once, its number at most {LARGEST_NUMBER}, and its observations"
            raise invalid(source, place, "text", expected, shorten(start[0]))
        found[number] = _section(source, place, n, text[start.start() : end].partition("\n\n")[0])
    if not found:
        raise invalid(source, "document", "content", "text that summary of R printed of an rpart object", "other text")
    return found


def _section(source: str, place: str, n: int, text: str) -> _Section:
    label, counts, primary = _LABEL.search(text), _COUNTS.search(text), _PRIMARY.search(text)
    if label is None or counts is None:
        raise invalid(source, place, "class counts", REGRESSION, "no predicted class, or no counts")
    try:
        shares = tuple(map(float, counts[1].split()))
    except ValueError:
        shares = ()
    if len(shares) < 2 or max(shares) > LARGEST_COUNT:
        raise invalid(source, place, "class counts", "two numbers of records, or more", shorten(counts[1]))
    whole = "." not in counts[1] and "e" not in counts[1] and sum(shares) == n
    if (primary is None) != ("left son=" not in text):
        raise invalid(source, place, "splits", "primary splits of a node with children", "others")
    found = [] if primary is None else [_summary_split(source, place, primary[1])]
    surrogates = text.partition("\n  Surrogate splits:\n")[2] if found else ""
    for line in surrogates.split("\n"):
        if not line.startswith("      "):
            break
        found.append(_summary_split(source, place, line))
    splits = tuple(split for split, _ in found)
    lacking = found[0][1] if found else 0
    return _Section(n, label[1].rstrip(), shares, tuple(map(int, shares)) if whole else None, splits, lacking)


def _summary_split(source: str, place: str, line: str) -> tuple[RpartCut | CodedLevels, int]:
    """The split of a line, and how many records lack its value; of a surrogate how many it sends."""
    cut, sets = _SUMMARY_CUT.fullmatch(line), _SETS.fullmatch(line)
    if cut is not None:
        return RpartCut(cut[1].strip(), float(cut[2]), cut[3] == "left"), int(cut[4])
    if sets is not None:
        return CodedLevels(sets[1].strip(), sets[2]), int(sets[3])
    expected = "a split, such as age < 37.5 to the left, improve=2.5, (0 missing)"
    raise invalid(source, place, "split", expected, shorten(line.strip()))


def _classes(source: str, seen: Sequence[Labelled], known: tuple[str, ...]) -> tuple[str, ...]:
    """The classes; under priors or costs labels have not the largest counts, and their order has to be known."""
    clear = [node for node in seen if node.shares.count(max(node.shares)) == 1]
    pairs = {(node.shares.index(max(node.shares)), node.label) for node in clear}
    plain = len({i for i, _ in pairs}) == len(pairs) == len({label for _, label in pairs})
    if not plain and not known:
        expected = "the names of the classes (classes=, or train= and target=), as labels are no most frequent ones"
        raise invalid(source, "document", "classes", expected, "none")
    return classes_of(source, seen, known, plain=plain)


def _counted(section: _Section, classes: tuple[str, ...], *, counted: bool) -> Node:
    if not counted:
        return Node("", label=section.label, n=section.n)
    counts = dict(zip(classes, section.counts or (), strict=True))
    return Node("", label=section.label, n=section.n, counts=counts)


# The tables of an ``rpart`` object as R's ``write.csv`` writes them: ``frame``, ``splits`` and, of names, ``csplit``.
#
# The frame has a row for each node. Its split is the first of as many rows of ``splits`` as it has splits that competed
# and surrogates; a split of names has its row of ``csplit``, with 1 for each level that goes left, 3 for right. A file
# ``levels.csv`` beside it names the levels in their order, as it does for forests.


_FRAME = "frame.csv"
_COLUMNS = re.compile(r'"?(?:node)?"?,"?var"?,"?n"?,"?wt"?,"?dev"?,"?yval"?,"?complexity"?,"?ncompete"?,"?nsurrogate"?')
_SIDES = {"1": "L", "2": "-", "3": "R"}
_DIGITS = 15  # as many as write.csv writes


@dataclass(frozen=True, slots=True)
class _Row:
    """A node of the frame: its variable, records, label (a position), numbers of classes, and rows of splits."""

    variable: str
    n: int
    label: int
    counts: tuple[float, ...]
    splits: int
    surrogates: int
    mean: float | None = None
    squares: float = 0.0


@model_reader(
    "rpart-frame",
    "the frame of an rpart tree as CSV, with its splits and csplit beside it, or their folder",
    lambda head: _COLUMNS.match(head.text) is not None or {_FRAME, "splits.csv"} <= {*head.entries},
    parameters=NUMERIC,
)
def _convert_frame(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    file = Path(path) / _FRAME if os.path.isdir(path) else Path(path)
    source = shown_path(file)
    rows = _rows(source, _table(file))
    splits = _splits(source, rows, file) if len(rows) > 1 else {}
    training = read_training(wanted, reader)
    levels = read_levels(source, file.parent, wanted, training).stated
    width = len(next(iter(rows.values())).counts)
    numeric = None if width else numeric_target(source, wanted.target or UNNAMED, **wanted.numeric())
    known = training.classes if training is not None else ()
    classes = wanted.classes or levels.get(wanted.target or "", known)
    if numeric is not None:
        classes = numeric.classes
    elif len(classes) != width:
        expected = f"the names of {width} classes in the order of R's levels (classes=, or train= and target=)"
        raise invalid(source, "document", "classes", expected, shorten(list(classes)))
    counted = numeric is not None or all(
        sum(row.counts) == row.n and all(c.is_integer() for c in row.counts) for row in rows.values()
    )
    drawn = {
        number: DrawnRows(row.n, *splits.get(number, ((), 0)), _from_frame(row, classes, counted=counted))
        for number, row in rows.items()
    }
    cuts = [split.threshold for found, _ in splits.values() for split in found if isinstance(split, RpartCut)]
    exact = all(float(f"{cut:.{_DIGITS - 1}g}") == cut for cut in cuts)
    lost = () if exact else (f"digits of thresholds beyond the {_DIGITS} that write.csv writes",)
    return converted(source, drawn, classes, wanted, reader, counted=counted, lost=lost, numeric=numeric, stated=levels)


def _table(file: Path) -> list[list[str]]:
    """The rows of a file, its header first."""
    return [row for _, row in read_csv(file)]


def _rows(source: str, table: Sequence[Sequence[str]]) -> dict[int, _Row]:
    """The nodes by their numbers, in the order of the frame."""
    header = list(table[0])
    if _COLUMNS.match(",".join(header)) is None:
        raise invalid(source, "file", "header", "node, var, n, wt, dev, yval, complexity, ...: the frame", "others")
    width = len(header) - 9
    if width and (width < 6 or width % 2 or not all(name.startswith("yval2") for name in header[9:])):
        raise invalid(source, "file", "header", f"columns yval2 of {REGRESSION}", shorten(header[9:]))
    found: dict[int, _Row] = {}
    for line, row in enumerate(table[1:], 2):
        number, n, competing, surrogate = (_whole(source, line, row[i]) for i in (0, 2, 7, 8))
        # The class and numbers of all classes; of a regression the weight, the deviance, and the mean.
        values = [_number(source, line, cell) for cell in (row[9:] if width else row[3:6])]
        counts = tuple(values[1 : width // 2])
        sound = values[0] in range(1, len(counts) + 1) if width else values[1] >= 0
        if not 0 < number <= LARGEST_NUMBER or number in found or n == 0 or not sound:
            expected = f"each node once, with records and {'the number of its class' if width else 'a deviance'}"
            raise invalid(source, f"line {line}", "node", expected, shorten(row[0]))
        if width and (min(counts) < 0 or max(counts) > LARGEST_COUNT):
            raise invalid(source, f"line {line}", "yval2", "numbers of records", shorten(row[9:]))
        if not width and values[0] != n:
            raise invalid(source, f"line {line}", "wt", f"{n}: every record once", shorten(row[3]))
        label, mean, squares = (int(values[0]) - 1, None, 0.0) if width else (-1, values[2], values[1])
        splits = competing + surrogate + (row[1] != "<leaf>")
        found[number] = _Row(row[1], n, label, counts, splits, surrogate, mean, squares)
    if not found:
        raise invalid(source, "file", "content", "a row for each node", "none")
    return found


def _splits(
    source: str, rows: Mapping[int, _Row], file: Path
) -> dict[int, tuple[tuple[RpartCut | CodedLevels, ...], int]]:
    """The split of each inner node with its surrogates, and its records without a value, of files beside the frame."""
    if "frame" not in file.name:
        expected = "a file called frame.csv, beside it splits.csv and csplit.csv"
        raise invalid(source, "file", "name", expected, shorten(file.name))
    beside = {kind: file.with_name(file.name.replace("frame", kind)) for kind in ("splits", "csplit")}
    table = _table(beside["splits"])
    csplit: list[list[str]] | None = None
    where, at = shown_path(beside["splits"]), 1
    found: dict[int, tuple[tuple[RpartCut | CodedLevels, ...], int]] = {}
    if table[0][1:4] != ["count", "ncat", "improve"] or len(table[0]) < 5 or table[0][4] != "index":
        raise invalid(where, "file", "header", "variable, count, ncat, improve, index: the splits", "others")
    for number, row in rows.items():
        if row.variable == "<leaf>":
            at += row.splits
            continue
        if at + row.splits > len(table) or table[at][0] != row.variable:
            expected = f"a split of node {number} by {shorten(row.variable)}"
            raise invalid(where, f"line {at + 1}", "variable", expected, "another, or none")
        with_value = _whole(where, at + 1, table[at][1])
        if with_value > row.n:
            raise invalid(
                where, f"line {at + 1}", "count", f"at most {row.n} records of node {number}", str(with_value)
            )
        here: list[RpartCut | CodedLevels] = []
        for line in (at, *range(at + row.splits - row.surrogates, at + row.splits)):
            name, levels = table[line][0], _number(where, line + 1, table[line][2])
            index = _number(where, line + 1, table[line][4])
            if abs(levels) < 2:
                here.append(RpartCut(name, index, levels < 0))
            else:
                csplit = csplit or _table(beside["csplit"])
                here.append(_coded(shown_path(beside["csplit"]), csplit, name, index, levels))
        found[number] = tuple(here), row.n - with_value
        at += row.splits
    return found


def _coded(source: str, table: Sequence[Sequence[str]], name: str, index: float, levels: float) -> CodedLevels:
    """The sides of levels from a row of ``csplit``, which may begin with the names of rows."""
    begin = 1 if table[0][0] == "" else 0
    if (
        levels < 2
        or not levels.is_integer()
        or not index.is_integer()
        or not 0 < index < len(table)
        or levels > len(table[0]) - begin
    ):
        expected = f"a row {index:g} of {levels:g} levels of {shorten(name)}"
        raise invalid(source, "file", "rows", expected, f"{len(table) - 1} rows")
    cells = table[int(index)][begin : begin + int(levels)]
    if not {*cells} <= {*_SIDES}:
        raise invalid(source, f"line {int(index) + 1}", "levels", "1, 2 or 3 for each level", shorten(cells))
    return CodedLevels(name, "".join(_SIDES[cell] for cell in cells))


def _whole(source: str, line: int, cell: str) -> int:
    cell = cell.strip()  # write.csv fills up numbers of a frame with a matrix in it
    if re.fullmatch("[0-9]{1,15}", cell) is None:
        raise invalid(source, f"line {line}", "cell", "a whole number", shorten(cell))
    return int(cell)


def _number(source: str, line: int, cell: str) -> float:
    try:
        found = float(cell)
    except ValueError:
        found = float("nan")
    if not isfinite(found):
        raise invalid(source, f"line {line}", "cell", "a number", shorten(cell))
    return found


def _from_frame(row: _Row, classes: Sequence[str], *, counted: bool) -> Node:
    if row.mean is not None:
        return Node("", n=row.n, mean=row.mean, variance=row.squares / row.n)
    label = classes[row.label]
    if not counted:
        return Node("", label=label, n=row.n)
    return Node("", label=label, n=row.n, counts=dict(zip(classes, map(int, row.counts), strict=True)))
