"""rpart trees as a release, for all its exports: nodes 2k and 2k + 1 below k, surrogates, levels as letters.

rpart sends a record whose value no record of the node had, and one without a value, by surrogate splits, then with
the majority. Exports without surrogates leave the first to the majority, and are refused where there are some of the
second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import Any

from maxent.models.arguments import shorten
from maxent.models.errors import InvalidInput, invalid
from maxent.models.formats.assemble import assemble
from maxent.models.formats.proof import TrainingColumns, counts_in_leaves, read_training
from maxent.models.formats.release_reader import Converted, Wanted
from maxent.models.formats.unrolled import Question, unrolled
from maxent.models.reading import Reader
from maxent.models.release import Branch, Labels, Node, Release, Target, Tree
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
    """A node as rpart has it.

    ``n``: its records. ``splits``: its split, and the surrogates for it; none of a leaf. ``lacking``: whether some
    record lacks the value that is tested. ``stated``: its label, and what is stated of it as a leaf.
    """

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
    """The classes in the order of the shares, which R sorts as its locale does: labels have the largest shares.

    ``nodes``: at least one, all with as many shares. ``known``: the classes in the order of Python; none where they are
    not known. ``plain``: whether labels are classes with the largest share.
    """
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
