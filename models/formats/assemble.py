"""Assembly of a release from the trees of another tool's model: domains, roles, names, and nodes as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

import numpy as np

from maxent.models.arguments import shorten
from maxent.models.arrays import FloatArray, IntArray, run_ends
from maxent.models.columns import NOTHING, Columns, Statements, positive_counts
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.formats.proof import TrainingColumns
from maxent.models.formats.release_reader import UNNAMED, Wanted
from maxent.models.hints import close_to
from maxent.models.nodes import Nodes, each
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.tables.cells import MISSING, OTHER

# Nodes that are made one after the other, as arrays: whoever reads a large model keeps few of them at a time.

_TOGETHER = 2**11  # nodes that are objects at the same time
_LARGE = 2**24  # scores of nodes and classes, most of them not there, that would take too much memory
Codes = dict[str, int]


def packed(
    source: str, nodes: Iterable[Node], attributes: Sequence[Attribute] = (), classes: Sequence[str] = ()
) -> Nodes:
    """The nodes of a tree as arrays, each let go when it is packed; attributes are by default what tests show."""
    if isinstance(nodes, Nodes):
        held = [(attribute.name, attribute.values) for attribute in nodes.columns.attributes]
        if held == [(a.name, a.values) for a in attributes] and [*nodes.columns.classes] == [*classes]:
            return nodes
    packing = _Packing(attributes, classes)
    left = iter(nodes)
    try:
        while some := list(islice(left, _TOGETHER)):
            packing.add(some)
    except OverflowError:
        raise invalid(source, "document", "nodes", "whole numbers of at most 2**53", "a larger one") from None
    return packing.nodes(source, complete=bool(classes))


class _Packing:
    """Arrays of some nodes after the others."""

    def __init__(self, attributes: Sequence[Attribute], classes: Sequence[str]) -> None:
        self._given = tuple(attributes)
        self._attributes: Codes = {attribute.name: i for i, attribute in enumerate(attributes)}
        self._values: list[Codes] = [{v: i for i, v in enumerate(attribute.values or ())} for attribute in attributes]
        self._classes: Codes = {name: i for i, name in enumerate(classes)}
        self._n_classes = len(classes)
        self._ids: list[str] = []
        self._shares: list[Mapping[str, float] | None] = []
        self._part_of: list[str | None] = []
        self._empty = False
        self._parts: dict[str, list[IntArray | FloatArray]] = {}

    def _keep(self, name: str, numbers: Iterable[float | int | bool | None], none: float | int) -> None:
        """Numbers of some nodes or branches, with something in the place of None."""
        found = [none if number is None else number for number in numbers]
        part = np.array(found, np.float64) if isinstance(none, float) else np.array(found, np.int64)
        self._parts.setdefault(name, []).append(part)

    def _joined(self, name: str) -> np.typing.NDArray[np.generic]:
        """All numbers of a name."""
        return np.concatenate(self._parts.pop(name)) if name in self._parts else np.zeros(0, np.int64)

    def add(self, nodes: Sequence[Node]) -> None:
        """Pack some more nodes."""
        self._ids += [node.id for node in nodes]
        self._shares += [node.rates for node in nodes]
        self._part_of += [node.part_of for node in nodes]
        tested = [_code(self._attributes, node.attribute) for node in nodes]
        self._values += [{} for _ in range(len(self._attributes) - len(self._values))]
        self._keep("attribute", tested, NOTHING)
        self._keep("n_branches", [len(node.branches) for node in nodes], 0)
        for name in ("error_rate", "hessian", "mean", "variance"):
            self._keep(name, [getattr(node, name) for node in nodes], np.nan)
        for name in ("n", "distinct"):
            self._keep(name, [getattr(node, name) for node in nodes], NOTHING)
        self._keep("label", [_code(self._classes, node.label) for node in nodes], NOTHING)
        self._keep("value", [None if isinstance(node.value, Mapping) else node.value for node in nodes], np.nan)
        scores = [node.value if isinstance(node.value, Mapping) else {} for node in nodes]
        self._by_class("score", scores, 0.0)
        self._keep("counted", [node.counts is not None for node in nodes], 0)
        for node in nodes:
            if node.counts is not None and not node.counts.keys() <= self._classes.keys():
                for name in node.counts:
                    _code(self._classes, name)
        self._by_class("count", [{} if node.counts is None else positive_counts(node.counts) for node in nodes], 0)
        self._add_branches([(j, branch) for j, node in zip(tested, nodes, strict=True) for branch in node.branches])

    def _by_class(self, name: str, held: Sequence[Mapping[str, float]], none: float | int) -> None:
        """Numbers by class of some nodes."""
        self._keep(f"n_{name}", map(len, held), 0)
        self._keep(f"{name}_class", [_code(self._classes, key) for each in held for key in each], NOTHING)
        self._keep(name, chain.from_iterable(each.values() for each in held), none)

    def _add_branches(self, branches: Sequence[tuple[int | None, Branch]]) -> None:
        self._keep("child", [None if b.child is None else hash(b.child) for _, b in branches], 0)
        self._keep("led", [b.child is not None for _, b in branches], 0)
        self._keep("le", [b.le for _, b in branches], np.nan)
        self._keep("gt", [b.gt for _, b in branches], np.nan)
        self._keep("missing", [b.missing for _, b in branches], NOTHING)
        self._keep("n_values", [len(b.values or ()) for _, b in branches], 0)
        self._empty = self._empty or any(b.values is not None and not b.values for _, b in branches)
        named = [
            _code(self._values[j], value)
            for j, branch in branches
            if branch.values and j is not None
            for value in branch.values
        ]
        self._keep("values", named, NOTHING)

    def nodes(self, source: str, *, complete: bool) -> Nodes:
        """All nodes; ``complete`` says that no other classes may be there than were given."""
        if self._empty:
            raise invalid(source, "document", "branches", "values that each branch takes", "a branch without any")
        if complete and len(self._classes) > self._n_classes:
            expected = f"classes among {', '.join([*self._classes][: self._n_classes])}"
            raise invalid(source, "document", "classes", expected, [*self._classes][-1])
        integer = {name: self._joined(name).astype(np.int64) for name in _WHOLE}
        real = {name: self._joined(name).astype(np.float64) for name in _REAL}
        said = Statements(
            integer["label"],
            real["error_rate"],
            integer["n"],
            integer["distinct"],
            integer["counted"].astype(bool),
            run_ends(integer["n_count"]),
            integer["count_class"],
            integer["count"],
            self._shares if any(each is not None for each in self._shares) else (),
        )
        told = {name: None if np.isnan(real[name]).all() else real[name] for name in ("hessian", "mean", "variance")}
        attributes = self._given + tuple(
            Attribute(name, "categorical" if self._values[j] else "numeric", tuple(self._values[j]) or None)
            for name, j in self._attributes.items()
            if j >= len(self._given)
        )
        columns = Columns(
            attributes,
            dict.fromkeys(self._classes, 0),
            self._ids,
            integer["attribute"],
            run_ends(integer["n_branches"]),
            self._linked(source, integer["child"], integer["led"], integer["n_branches"]),
            real["le"],
            real["gt"],
            integer["missing"],
            run_ends(integer["n_values"]),
            integer["values"],
            real["value"],
            said,
            self._scores(source, integer["n_score"], integer["score_class"], real["score"]),
            told["hessian"],
            told["mean"],
            told["variance"],
            self._part_of if any(self._part_of) else (),
        )
        return Nodes(columns)

    def _linked(self, source: str, child: IntArray, led: IntArray, n_branches: IntArray) -> IntArray:
        """The position of each child, by the order of hashes; children lead down."""
        hashes = np.fromiter(map(hash, self._ids), np.int64, len(self._ids))
        order = np.argsort(hashes)
        hashes = hashes[order]
        at = np.minimum(np.searchsorted(hashes, child), len(hashes) - 1)
        there = hashes[at] == child if len(hashes) else np.zeros(len(child), bool)
        if (hashes[1:] == hashes[:-1]).any() or not there[led == 1].all():
            raise _links(source)
        if not len(child):
            return child
        found = np.where(led == 1, order[at], NOTHING)
        owner = np.repeat(np.arange(len(hashes)), n_branches)
        check_tree(source, owner[led == 1], found[led == 1], self._ids)
        return found

    def _scores(self, source: str, n: IntArray, named: IntArray, scores: FloatArray) -> FloatArray | None:
        """What nodes add to the scores of several classes, shape (n_nodes, n_classes)."""
        if not len(scores):
            return None
        size = len(n) * len(self._classes)
        if size > _LARGE and size > 4 * len(scores):
            raise invalid(source, "document", "scores", f"at most {_LARGE:,} of nodes and classes", f"{size:,}")
        found = np.full((len(n), len(self._classes)), np.nan)
        found[np.repeat(np.arange(len(n)), n), named] = scores
        return found


_WHOLE = (
    *("attribute", "n_branches", "n", "distinct", "label", "n_score", "score_class", "counted", "n_count"),
    *("count_class", "count", "child", "led", "missing", "n_values", "values"),
)
_REAL = ("error_rate", "hessian", "mean", "variance", "value", "score", "le", "gt")


def _code(codes: Codes, name: str | None) -> int | None:
    """The number of a name, which it is given when it is new; None for None."""
    return None if name is None else codes.setdefault(name, len(codes))


def check_tree(source: str, parent: IntArray, child: IntArray, ids: Sequence[str | int]) -> None:
    """Refuse links that are no tree below the first node, before anybody walks along them."""
    expected = "each node below one other, the root first"
    if not len(ids):
        raise invalid(source, "document", "nodes", expected, "no node")
    if len(lost := np.flatnonzero((child < 0) | (child >= len(ids)))):
        at = int(parent[lost[0]])
        raise invalid(source, f"node {shorten(ids[at])}", "children", expected, "one that is not there")
    above = np.bincount(child, minlength=len(ids))
    above[0] += 1  # the root is below nothing
    wrong = np.flatnonzero(above != 1)
    if not len(wrong):
        up = np.zeros(len(ids), np.int64)
        up[child] = parent
        for _ in range(len(ids).bit_length()):  # twice as far up each time
            up = up[up]
        wrong = np.flatnonzero(up)
    if len(wrong):
        at = int(wrong[np.argmax(above[wrong])])
        found = "none" if not above[at] else f"{int(above[at])} of them" if above[at] > 1 else "itself, in a cycle"
        raise invalid(source, f"node {shorten(ids[at])}", "children", expected, found)


def _links(source: str) -> InvalidInput:
    return invalid(source, "document", "nodes", "nodes of different ids, each branch to one that is there", "others")


_ROUNDING = 1e-9  # by how much a share may be off that was divided


def assemble(
    source: str,
    trees: Sequence[Tree],
    classes: Sequence[str],
    wanted: Wanted,
    training: TrainingColumns | None,
    *,
    target: str | None = None,
    known: Mapping[str, Attribute] | None = None,
    **how: Any,
) -> Release:
    """Make a release of trees whose attributes are only known by how they are tested.

    An attribute is categorical when some branch names values of it. Its domain are the values that the file declares
    (``known``, which come first) and that branches name; and, where a branch takes what others leave (`rest`), those of
    the training table, and `OTHER` where neither is known. Missing values are among them only where they are declared,
    named, or lacking in the table of an attribute that no branch tests. Where some leaf states a label that is no most
    frequent class, all labels are taken to be decided otherwise.
    """
    problems: list[Problem] = []
    tests = _tests(trees)
    name = wanted.target or target or UNNAMED
    given = {k: attribute for k, attribute in (known or {}).items() if k != name or k in tests}
    attributes = _attributes(tests, training, given, problems)
    if name in attributes:
        problems.append(Problem(ARGUMENT, "target", "a name that no attribute has", name))
    for column in wanted.qi or ():
        there = attributes if training is None else {**attributes, **{a.name: a for a in training.attributes}}
        if column not in there:
            found = f"{column}{close_to(column, list(there))}"
            problems.append(Problem(ARGUMENT, "qi", "attributes of the model", found))
        elif training is not None:
            attributes.setdefault(column, there[column])
    if training is not None:
        attributes |= {k: _with_missing(attributes[k]) for k in attributes if k in training.gaps and k not in tests}
    if problems:
        raise InvalidInput(source, problems)
    if wanted.qi is not None:
        public = frozenset(wanted.qi)
        attributes = {k: replace(a, role="public" if k in public else "private") for k, a in attributes.items()}
    resolved = tuple(replace(tree, nodes=_arrays(source, tree, attributes, classes)) for tree in trees)
    if not _are_majorities(trees, len(classes)):
        how = {**how, "labels": "decided"}
    return Release(Target(name, tuple(classes)), tuple(attributes.values()), resolved, **how)


def _are_majorities(trees: Sequence[Tree], n_classes: int) -> bool:
    """Whether no leaf states a label that others of its records outnumber: else no label is known to be a majority."""
    for leaf in (node for tree in trees for node in each(tree.nodes) if node.is_leaf and node.label is not None):
        if leaf.counts is not None and leaf.counts[leaf.label or ""] < max(leaf.counts.values()):
            return False
        if leaf.error_rate is not None and leaf.error_rate > 1 - 1 / n_classes + _ROUNDING:
            return False
    return True


def cut(below: tuple[str, str], most: float, missing_left: bool) -> tuple[Branch, Branch]:
    """Numbers up to a threshold to the left, others to the right, and missing values to one side."""
    left = Branch(below[0], le=most, missing=True if missing_left else None)
    return left, Branch(below[1], gt=most, missing=None if missing_left else True)


def rest(child: str | None) -> Branch:
    """A branch that takes what the other branches of its node leave."""
    return Branch(child)


def _is_rest(branch: Branch) -> bool:
    return branch.values is None and branch.le is None and branch.gt is None and branch.missing is None


@dataclass(slots=True)
class _Tests:
    """The tests of an attribute: values that branches name, and whether some have bounds or take missing values."""

    named: dict[str, None] = field(default_factory=dict)
    numeric: bool = False
    missing: bool = False
    rests: set[frozenset[str]] = field(default_factory=set)


def _tests(trees: Sequence[Tree]) -> dict[str, _Tests]:
    """The tests of each attribute that is tested."""
    found: dict[str, _Tests] = {}
    for node in (node for tree in trees for node in each(tree.nodes)):
        if node.attribute is None:
            continue
        here = found.setdefault(node.attribute, _Tests())
        for branch in node.branches:
            if branch.values:
                here.named.update(dict.fromkeys(branch.values))
            here.numeric = here.numeric or branch.le is not None or branch.gt is not None
            here.missing = here.missing or bool(branch.missing)
        if any(map(_is_rest, node.branches)):
            here.rests.add(frozenset(value for branch in node.branches for value in branch.values or ()))
    return found


def _attributes(
    tests: Mapping[str, _Tests],
    training: TrainingColumns | None,
    known: Mapping[str, Attribute],
    problems: list[Problem],
) -> dict[str, Attribute]:
    """Every attribute that is tested or declared, by name, with its domain."""
    for title in [title for title, tested in tests.items() if tested.named and tested.numeric]:
        problems.append(Problem(f"attribute {title}", "branches", "tests of numbers, or of names", "both"))
    trained_names = [] if training is None else [attribute.name for attribute in training.attributes]
    order = [*known, *trained_names, *tests]
    found: dict[str, Attribute] = {}
    for title in dict.fromkeys(title for title in order if title in known or title in tests):
        declared, trained = known.get(title), None if training is None else training.named(title)
        tested = tests.get(title)
        here = tested or _Tests()
        if here.named or (not here.numeric and _is_categorical(declared, trained)):
            domain = dict.fromkeys((declared.values if declared else None) or ())
            domain |= here.named
            # Where no branch takes whatever the others leave, all values that are there are named.
            if trained is not None and trained.values is not None and (tested is None or here.rests):
                domain = dict.fromkeys(sorted({*domain, *trained.values}) if declared is None else domain)
                domain |= dict.fromkeys(trained.values)
            if _takes_others(here, domain, known=declared is not None or trained is not None):
                domain[OTHER] = None
            found[title] = Attribute(title, "categorical", tuple(domain))
        else:
            missing = (declared is not None and declared.missing) or here.missing or bool(here.rests)
            found[title] = Attribute(title, "numeric", missing=missing)
    return found


def _with_missing(attribute: Attribute) -> Attribute:
    """An attribute of which cells may be empty, which no tree minds."""
    if attribute.values is None:
        return replace(attribute, missing=True)
    return replace(attribute, values=tuple(dict.fromkeys((*attribute.values, MISSING))))


def _is_categorical(*stated: Attribute | None) -> bool:
    """Type of an attribute by the first source that states it."""
    return next((attribute.type == "categorical" for attribute in stated if attribute is not None), False)


def _takes_others(tested: _Tests, domain: Mapping[str, None], *, known: bool) -> bool:
    """Whether some branch takes the rest of a domain that is not known, or of which there is no rest."""
    return bool(tested.rests) and (not known or any(values >= domain.keys() for values in tested.rests))


def _arrays(source: str, tree: Tree, attributes: Mapping[str, Attribute], classes: Sequence[str]) -> Nodes:
    """The nodes of a tree, all with tests, without an object for each."""
    nodes = (_resolved(node, attributes) for node in each(tree.nodes))
    return packed(source, nodes, tuple(attributes.values()), classes)


def _resolved(node: Node, attributes: Mapping[str, Attribute]) -> Node:
    """A node whose branches all have a test."""
    if node.attribute is None or not any(map(_is_rest, node.branches)):
        return node
    domain = attributes[node.attribute].values
    if domain is None:
        return replace(node, branches=tuple(replace(b, missing=True) if _is_rest(b) else b for b in node.branches))
    taken = {value for branch in node.branches for value in branch.values or ()}
    left = tuple(value for value in domain if value not in taken)
    return replace(node, branches=tuple(replace(b, values=left) if _is_rest(b) else b for b in node.branches))
