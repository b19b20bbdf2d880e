"""The interface of a writer, and writers of rules: as a table with a row for each leaf, and as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from maxent.models.display import counted
from maxent.models.errors import printable
from maxent.models.files.result_files import guarded_frame
from maxent.models.release import Attribute, Branch, Node, Release, Tree
from maxent.models.tables.cells import OTHER
from maxent.models.trees.places import Places, interval_of, number_places


@dataclass(frozen=True, slots=True)
class Condition:
    """What the tests on the way to a place ask of one attribute: ``values``, ``gt < number <= le``, ``missing``."""

    attribute: Attribute
    values: tuple[str, ...] = ()
    gt: float = -np.inf
    le: float = np.inf
    missing: bool = False

    @property
    def numbers(self) -> bool:
        """Whether some number passes."""
        return self.gt < self.le

    def within(self, branch: Branch) -> Condition:
        """The condition of those who take a branch, too."""
        if self.attribute.values is not None:
            taken = frozenset(branch.values or ())
            return replace(self, values=tuple(value for value in self.values if value in taken))
        low, high = interval_of(branch)
        return replace(self, gt=max(self.gt, low), le=min(self.le, high), missing=self.missing and bool(branch.missing))

    def __str__(self) -> str:
        name = self.attribute.name
        if self.attribute.values is not None:
            return f"{name} in {{{', '.join(self.values)}}}"
        parts = []
        if self.numbers:
            high = "" if self.le == np.inf else f" <= {number(self.le)}"
            low = "" if self.gt == -np.inf or not high else f"{number(self.gt)} < "
            parts.append(f"{low}{name}{high}" if high else f"{name} > {number(self.gt)}")
        if self.numbers and self.gt == -np.inf and self.le == np.inf:
            parts = [f"{name} is a number"]
        if self.missing:
            parts.append(f"{name} is missing")
        return " or ".join(parts) or f"{name} has no value"


@dataclass(frozen=True, slots=True)
class Rule:
    """The records that end at a place of a tree: the place, its node, and their conditions."""

    place: int
    node: Node
    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        return " and ".join(f"({c})" if " or " in str(c) else str(c) for c in self.conditions) or "always"


def rules_of(release: Release, tree: Tree) -> Iterator[Rule]:
    """The rule of each place that is no inner node, in depth-first order; removed leaves among them."""
    places = number_places(tree)
    for place, conditions in _conditions(release, places):
        if not places.children[place]:
            yield Rule(place, _node(places, place), tuple(conditions.values()))


def stops_of(release: Release, tree: Tree) -> list[Rule]:
    """The rule of each inner node at which a record can end, as no branch has its value or its leaf was removed.

    The deepest are first: of the rules of leaves, and then of these, the first one that holds is the record's.
    """
    places = number_places(tree)
    attributes = {attribute.name: attribute for attribute in release.attributes}
    found = [
        Rule(place, tree.nodes[place], tuple(conditions.values()))
        for place, conditions in _conditions(release, places)
        if places.children[place]
        and _has_gap(attributes[tree.nodes[place].attribute or ""], tree.nodes[place].branches)
    ]
    return found[::-1]  # depth-first order has each place before those below it


def _conditions(release: Release, places: Places) -> Iterator[tuple[int, Mapping[str, Condition]]]:
    """The conditions of each place by attribute, in depth-first order."""
    attributes = {
        a.name: Condition(a, values=a.values or (), missing=a.missing and a.values is None) for a in release.attributes
    }
    known: dict[int, Mapping[str, Condition]] = {0: {}}
    for place in places.top_down:
        here = known.pop(place)
        yield place, here
        if not places.children[place]:
            continue
        node = places.tree.nodes[place]
        name = node.attribute or ""
        before = here.get(name, attributes[name])
        for child, branch in zip(places.children[place], node.branches, strict=True):
            known[child] = {**here, name: before.within(branch)}


def _node(places: Places, place: int) -> Node:
    return places.tree.nodes[place if place < places.n_nodes else int(places.parent[place])]


def _has_gap(attribute: Attribute, branches: tuple[Branch, ...]) -> bool:
    """Whether some value takes none of the branches."""
    if any(branch.child is None for branch in branches):
        return True
    if attribute.values is not None:
        return not any(OTHER in (branch.values or ()) for branch in branches)
    return attribute.missing and not any(branch.missing for branch in branches)


def number(value: float) -> str:
    """A number as it is, in few characters."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(float(value))


def statements(node: Node) -> list[str]:
    """What a node states, in words."""
    said = [] if node.error_rate is None else [f"error rate {number(node.error_rate)}"]
    said += [] if node.n is None else [f"n {node.n}"]
    said += [] if node.distinct is None else [f"distinct {node.distinct}"]
    for words, numbers in (("counts", node.counts), ("rates", node.rates)):
        if numbers is not None:
            said.append(f"{words} " + ", ".join(f"{c} {number(float(x))}" for c, x in numbers.items() if x))
    if isinstance(node.value, Mapping):
        said.append("value " + ", ".join(f"{c} {number(x)}" for c, x in node.value.items()))
    elif node.value is not None:
        said.append(f"value {number(node.value)}")
    said += [] if node.mean is None else [f"mean {number(node.mean)}"]
    said += [] if node.variance is None else [f"variance {number(node.variance)}"]
    return said


def branch_words(attribute: Attribute, branch: Branch) -> str:
    """What a branch asks, without the name of the attribute."""
    if attribute.values is not None:
        return ", ".join(branch.values or ())
    words = []
    if branch.gt is not None and branch.le is not None:
        words.append(f"in ({number(branch.gt)}, {number(branch.le)}]")
    elif branch.le is not None:
        words.append(f"<= {number(branch.le)}")
    elif branch.gt is not None:
        words.append(f"> {number(branch.gt)}")
    elif not branch.missing:
        words.append("a number")
    return " or ".join([*words, *["missing"] * bool(branch.missing)])


# What a writer of releases is.


@dataclass(frozen=True, slots=True)
class WantedForm:
    """What a written file is to say that no release does."""

    table: str = "data"


@dataclass(frozen=True, slots=True)
class Writer:
    """A form in which releases are written: ``--to`` takes its name; raises `InvalidInput` for what it cannot say."""

    name: str
    suffix: str
    words: str
    write: Callable[[Release, WantedForm], str]


# A release as a table of rules: a row for each leaf.


def write_table(release: Release, wanted: WantedForm) -> str:
    """A CSV table: tree, leaf, rule, label, and a column for each number that some leaf states."""
    del wanted
    import pandas as pd

    frame = pd.DataFrame(list(_rows(release))).dropna(axis="columns", how="all").convert_dtypes()
    return str(guarded_frame(frame).to_csv(index=False, lineterminator="\n"))


def _rows(release: Release) -> Iterator[dict[str, object]]:
    for position, tree in enumerate(release.trees, 1):
        for rule in rules_of(release, tree):
            removed = rule.place >= len(tree.nodes)
            told = {"tree": position, "leaf": None if removed else rule.node.id, "rule": str(rule)}
            yield {**told, **_statements(Node("") if removed else rule.node, release.target.classes)}


def _statements(leaf: Node, classes: tuple[str, ...]) -> dict[str, object]:
    one = leaf.value if not isinstance(leaf.value, Mapping) else None
    found: dict[str, object] = {
        "label": leaf.label,
        "error_rate": leaf.error_rate,
        "n": leaf.n,
        "distinct": leaf.distinct,
        "value": one,
        "mean": leaf.mean,
        "variance": leaf.variance,
    }
    for words, numbers in (("counts", leaf.counts), ("rates", leaf.rates), ("value", leaf.value)):
        for label in classes:
            found[f"{words}({label})"] = numbers.get(label, 0) if isinstance(numbers, Mapping) else None
    return found


RULE_TABLE_WRITER = Writer("csv", ".csv", "a table of rules, a row for each leaf", write_table)


# A release as rules for people to read.


def write_rules(release: Release, wanted: WantedForm) -> str:
    """A rule for each leaf, ``IF ... THEN``, with what the leaf states."""
    del wanted
    return "\n".join(_lines(release)) + "\n"


def _lines(release: Release) -> Iterator[str]:
    named = {node.attribute for tree in release.trees for node in tree.nodes}
    tested = [printable(a.name) for a in release.attributes if a.name in named]
    yield f"{printable(release.target.name)}, predicted from {', '.join(tested) or 'nothing'}"
    if release.rounded is not None:
        yield release.rounded.in_words
    for position, tree in enumerate(release.trees, 1):
        if len(release.trees) > 1:
            yield ""
            yield f"Tree {position}{_of_tree(tree)}"
        yield ""
        rules = [*rules_of(release, tree)]
        yield counted(len(rules), "rule")
        for rule in rules:
            yield ""
            yield printable(f"IF {rule}")
            removed = rule.place >= len(tree.nodes)
            said = [] if removed else statements(rule.node)
            answer = "a removed leaf" if removed else rule.node.label or "no label"
            yield printable(f"THEN {answer}" + (f" ({'; '.join(said)})" if said else ""))


def _of_tree(tree: Tree) -> str:
    of_class = "" if tree.of_class is None else f", of class {printable(tree.of_class)}"
    return of_class + ("" if tree.weight == 1 else f", weight {tree.weight:g}")


WRITER = Writer("rules", ".txt", "rules, one for each leaf", write_rules)
