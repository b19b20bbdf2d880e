"""Trees of rpart as a release: nodes 2k and 2k + 1 below k, and what all its exports have in common.

rpart sends a record whose value no record of the node had, and one without a value, by surrogate splits, then with
the majority. A release has one place for each value, so the first go with the majority, and the second are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from maxent.models.errors import invalid
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.release import Branch, Node, Tree
from maxent.models.tables.frame import shorten
from maxent.models.trees.thresholds import less_than

ADVICE = (
    "the rows that rpart was fitted on, all of them, without weights; and thresholds that were not rounded for print"
)
CRITERION = "the criterion, so that nothing follows from the choice of splits"
ABSENT = "where values go that no record of a node has: surrogate splits decide, and here they go with the majority"
SURROGATES = "surrogate splits, by which rpart sends records without a value"
REGRESSION = "a classification tree, of method class (of a regression: bin the target, and fit it anew)"
LARGEST_NUMBER = 2**31 - 1
"""The number of the last node at rpart's largest depth, 30."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A test of a number: those below the threshold go left (``below``), or right."""

    name: str
    threshold: float
    below: bool


@dataclass(frozen=True, slots=True)
class Sets:
    """A test of names: the values that go left, and right."""

    name: str
    left: tuple[str, ...]
    right: tuple[str, ...]


Split = Cut | Sets


@dataclass(frozen=True, slots=True)
class Fitted:
    """A node as rpart has it: its records, its split (None for a leaf), and as a leaf what is stated of it."""

    n: int
    split: Split | None
    stated: Node


@dataclass(frozen=True, slots=True)
class Labelled:
    """A node with its label, and the numbers or shares of its classes, each of which may be so far ``off``."""

    place: str
    label: str
    shares: tuple[float, ...]
    off: float = 0.0


def check_family(source: str, sizes: Mapping[int, int], leaves: Collection[int]) -> None:
    """Refuse nodes that are no whole tree, or of which records stop at an inner node.

    Raises
    ------
    InvalidInput
        Naming a node without its parent, its children, or its records.
    """
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


def tree_of(fitted: Mapping[int, Fitted], training: TrainingColumns | None) -> tuple[Tree, bool]:
    """The tree, and whether some values go with the majority as no record of a node has them."""
    domains = _domains((node.split for node in fitted.values()), training)
    nodes, any_absent, stack = [], False, [1]
    while stack:
        number = stack.pop()
        node = fitted[number]
        if node.split is None:
            nodes.append(replace(node.stated, id=str(number)))
            continue
        left, right = 2 * number, 2 * number + 1
        stack += [right, left]
        if isinstance(node.split, Cut):
            branches = tuple(_sides(node.split, str(left), str(right)))
        else:
            named = {*node.split.left, *node.split.right}
            absent = tuple(value for value in domains[node.split.name] if value not in named)
            any_absent = any_absent or bool(absent)
            to_left = fitted[left].n >= fitted[right].n
            branches = (
                Branch(str(left), values=node.split.left + (absent if to_left else ())),
                Branch(str(right), values=node.split.right + (() if to_left else absent)),
            )
        nodes.append(Node(str(number), node.split.name, branches))
    return Tree(tuple(nodes)), any_absent


def _sides(cut: Cut, left: str, right: str) -> Iterator[Branch]:
    most = less_than(cut.threshold)
    yield Branch(left, le=most) if cut.below else Branch(left, gt=most)
    yield Branch(right, gt=most) if cut.below else Branch(right, le=most)


def _domains(splits: Iterable[Split | None], training: TrainingColumns | None) -> dict[str, dict[str, None]]:
    """The values of each attribute that is tested by names: of the splits and of the training table."""
    found: dict[str, dict[str, None]] = {}
    for split in splits:
        if isinstance(split, Sets):
            found.setdefault(split.name, {}).update(dict.fromkeys(split.left + split.right))
    for name, values in found.items():
        attribute = None if training is None else training.named(name)
        values.update(dict.fromkeys((attribute.values if attribute else None) or ()))
    return found


def refuse_gaps(source: str, tested: Iterable[str], training: TrainingColumns | None) -> None:
    """Refuse a tree that tests columns of which the training table lacks cells.

    Raises
    ------
    InvalidInput
        With the columns.
    """
    if training is not None and (gaps := [name for name in dict.fromkeys(tested) if name in training.gaps]):
        expected = (
            "no missing values in the columns of the tree: rpart sends such rows by surrogate splits, which a release "
            "has no place for (fit it on rows without: na.action = na.omit)"
        )
        raise invalid(source, "document", "training table", expected, f"missing values of {shorten(gaps)}")


def classes_of(source: str, nodes: Sequence[Labelled], known: Sequence[str], *, plain: bool) -> tuple[str, ...]:
    """The classes in the order of the shares, which R sorts as its locale does: labels have the largest shares.

    Parameters
    ----------
    nodes : sequence of Labelled
        At least one, all with as many shares.
    known : sequence of str
        The classes in the order of Python; none where they are not known.
    plain : bool
        Whether labels are classes with the largest share.

    Raises
    ------
    InvalidInput
        When two labels have the shares of one class, or the names of all classes are not known.
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


def is_half(cut: Cut, training: TrainingColumns | None) -> bool:
    """Whether no rounding for print shows: halves between whole numbers."""
    return training is not None and cut.threshold % 1 == 0.5 and training.holds_whole_numbers(cut.name)
