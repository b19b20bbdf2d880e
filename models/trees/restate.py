"""Restated releases: consequences of leaf statements, fewer statements, or one of several sensitive columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import get_args

import numpy as np

from maxent.models.arguments import name, shorten
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.release import Node, Release, Tree
from maxent.models.tables.classes import marginal, part_codes
from maxent.models.tables.frame import listed
from maxent.models.trees.draft import Publish
from maxent.models.trees.printed_rates import release_rates

# What a node has to state for `counts_reader`, as problems say it
COUNTS = (
    "counts, or what implies them (label, n and, of two classes, an error rate that only one number of records has)"
)

CountsReader = Callable[[Node], tuple[int, ...] | None]


def counts_reader(release: Release) -> CountsReader:
    """A function from a node to the records of each class that its statements imply, None where they imply none.

    Counts imply nothing where small ones were suppressed, or all were rounded.
    """
    classes = release.target.classes
    rates = release_rates(release, None, "auto")

    def counts(node: Node) -> tuple[int, ...] | None:
        if release.blurred:
            return None
        if node.counts is not None:
            return tuple(node.counts[c] for c in classes)
        if node.n == 0:
            return (0,) * len(classes)
        if node.n is not None and node.rates is not None and rates.of_classes is not None:
            whole = [rates.of_classes.records(node.rates.get(c, 0.0), node.n) for c in classes]
            if all(least == most and least.is_integer() for least, most in whole):
                return tuple(int(least) for least, _ in whole)
        if node.n is None or node.label is None or node.error_rate is None:
            return None
        least, most = rates.hits(node.error_rate, node.n)
        if least != most or not least.is_integer():
            return None
        errors = node.n - int(least)
        if errors and len(classes) != 2:
            return None
        return tuple(node.n - errors if c == node.label else errors for c in classes)

    return counts


def majority(classes: tuple[str, ...], counts: tuple[int, ...]) -> str | None:
    """The first of the most frequent classes, None when there are no records."""
    return classes[counts.index(max(counts))] if any(counts) else None


def node_place(release: Release, tree: int, node: Node) -> str:
    """A node as problems name it: ``tree 2, node L3``."""
    return (f"tree {tree + 1}, " if len(release.trees) > 1 else "") + f"node {name(node.id)}"


def refuse(problems: list[Problem]) -> None:
    """Raise the problems of a release's nodes, the first of many spelled out."""
    if problems:
        raise InvalidInput("release", listed(problems, len(problems), "nodes"))


def restate(release: Release, publish: Publish) -> Release:
    """The same trees, whose leaves state labels, rates with n, or counts with labels and n, as far as these follow.

    Inner nodes keep their n and counts with ``counts`` only, since they would tell of the leaves what those do not.
    """
    if publish not in get_args(Publish):
        raise invalid("restate", "argument", "publish", f"one of {', '.join(get_args(Publish))}", shorten(publish))
    implied = counts_reader(release)
    problems: list[Problem] = []
    trees = []
    for t, tree in enumerate(release.trees):
        nodes = []
        for node in tree.nodes:
            if node.is_leaf:
                counts = implied(node)
                n = node.n if counts is None else sum(counts)
                leaf = _restated(node, n, counts, release.target.classes, publish)
                problems += _missing(node_place(release, t, node), leaf, n, publish)
                nodes.append(leaf)
            else:
                nodes.append(node if publish == "counts" else replace(node, n=None, counts=None))
        trees.append(replace(tree, nodes=tuple(nodes)))
    refuse(problems)
    return replace(release, trees=tuple(trees), draws=None)


def _restated(
    leaf: Node, n: int | None, counts: tuple[int, ...] | None, classes: tuple[str, ...], publish: Publish
) -> Node:
    """A leaf that states what it should as far as its statements imply it; ``counts`` are those, ``n`` its records."""
    label = leaf.label if leaf.label is not None or counts is None else majority(classes, counts)
    if publish == "labels":
        return Node(leaf.id, label=label, part_of=leaf.part_of)
    if publish == "counts":
        by_class = leaf.counts if counts is None else dict(zip(classes, counts, strict=True))
        return Node(leaf.id, label=label, n=n, counts=by_class)
    rate = leaf.error_rate
    if rate is None and counts is not None and label is not None and n:
        rate = (n - counts[classes.index(label)]) / n
    return Node(leaf.id, label=label, error_rate=rate, n=n)


def _missing(place: str, leaf: Node, n: int | None, publish: Publish) -> Iterator[Problem]:
    """The missing statement of a restated leaf that has records (``n``) or may have some."""
    if leaf.label is None and n != 0:
        yield Problem(place, "label", "a label, or counts that imply it", "neither")
    if publish == "rates" and leaf.error_rate is None and n != 0:
        yield Problem(place, "error_rate", "an error rate, or counts that imply it", "neither")
    if publish == "rates" and n is None:
        yield Problem(place, "n", "the number of its records, or counts", "neither")
    if publish == "counts" and leaf.counts is None:
        yield Problem(place, "counts", COUNTS, "less")


# A release about several sensitive columns as one about a single of them: what its statements say of that one.


def of_target(release: Release, part: int) -> Release:
    """The same trees about one column: classes are its own, and counts are sums over those of the others.

    What says nothing sound of one column is left out: rates without counts, rounded or suppressed counts, comparisons.
    """
    implied = counts_reader(release)
    of = release.target.of[part].classes
    named = {c: of[code] for c, code in zip(release.target.classes, part_codes(release.target, part), strict=True)}
    trees = tuple(
        Tree(tuple(_of_node(node, release, part, implied, named) for node in tree.nodes)) for tree in release.trees
    )
    return Release(
        release.target.of[part],
        release.attributes,
        trees,
        release.sampling_rate,
        release.suppressed_below,
        # What it states are sizes of leaves; of rows alike in the class, too, it is about combinations.
        None if release.defense and release.defense.parameters.get("class") == "public" else release.defense,
        release.resampled,
        labels="decided",
        rounded=release.rounded,
    )


def _of_node(node: Node, release: Release, part: int, implied: CountsReader, named: Mapping[str, str]) -> Node:
    """A node with its test, and with what is known of one column; ``named`` is its class of each combination."""
    found = implied(node)
    label = node.label if node.label is not None or found is None else majority(release.target.classes, found)
    label = named[label] if label is not None and node.is_leaf else None
    bare = Node(node.id, node.attribute, node.branches, label, n=node.n, distinct=node.distinct, part_of=node.part_of)
    if found is None:
        return bare
    counts = marginal(np.array(found, np.int64), release.target, part).tolist()
    return replace(bare, counts=dict(zip(release.target.of[part].classes, counts, strict=True)))
