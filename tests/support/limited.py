"""Limits on leaves and on all of them together, by their definitions, random ones, and random trees."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from maxent.models.defenses.optimal.limits import SubtreeLimits as Limits
from maxent.models.release import Attribute, Branch, Induction, Node, Release, Target, Tree
from maxent.models.tables.training import Training
from maxent.models.trees.places import number_places

CLASSES = ("yes", "no", "perhaps")


def entropy(leaf: Any) -> float:
    shares = [c / sum(leaf) for c in leaf if c]
    return -sum(leaf) * sum(s * np.log(s) for s in shares)


def keeps(leaves: list[Any], limits: Limits, truth: float) -> bool:
    """The definitions of the limits, one by one."""
    named = range(3) if limits.sensitive is None else [CLASSES.index(c) for c in limits.sensitive.split(",")]
    for leaf in leaves:
        n = sum(leaf)
        if n < limits.k:
            return False
        shares = [leaf[i] / n for i in named]
        if max(shares) > min(limits.max_posterior or 1, limits.alpha or 1) + 1e-9:
            return False
        if limits.l is not None and limits.diversity == "distinct" and sum(c > 0 for c in leaf) < limits.l:
            return False
        if limits.l is not None and limits.diversity == "entropy" and entropy(leaf) / n < np.log(limits.l) - 1e-9:
            return False
    n = sum(map(sum, leaves))
    if limits.max_certain is not None and sum(sum(x) for x in leaves if max(x) == sum(x)) > limits.max_certain:
        return False
    if limits.max_right_guesses is not None and sum(map(max, leaves)) > limits.max_right_guesses * n + 1e-9:
        return False
    overall = (sum(map(entropy, leaves)) - truth) / n
    return limits.min_divergence is None or overall >= limits.min_divergence - 1e-9


def random_limits(random: np.random.Generator) -> Limits:
    """Some limits."""

    def one_of(*values: Any) -> Any:
        return values[int(random.integers(len(values)))]

    shares = one_of(None, None, 0.5, 0.75, 0.9)
    return Limits(
        k=int(random.integers(1, 9)),
        max_posterior=shares,
        sensitive=None if shares is None else one_of(None, "yes", "no,perhaps"),
        alpha=one_of(None, None, None, 0.8),
        l=one_of(None, None, 1.5, 2.0),
        diversity=one_of("entropy", "distinct"),
        max_certain=one_of(None, None, 0, 3, 8),
        min_divergence=one_of(None, None, 0.1, 0.3),
        max_right_guesses=one_of(None, None, 0.6, 0.8),
        objective=one_of("accuracy", "impurity"),
    )


Shape = list[Any]  # A tree of counts: a leaf is an array, an inner node a list of trees


def random_tree(random: np.random.Generator, leaves: int) -> Shape:
    """A tree with random counts, of branches two or three."""
    trees: list[Any] = [
        random.integers(0, 7, len(CLASSES)) * (random.random(len(CLASSES)) < 0.7) for _ in range(leaves)
    ]
    while len(trees) > 1:
        many = min(len(trees), int(random.integers(2, 4)))
        at = int(random.integers(0, len(trees) - many + 1))
        trees[at : at + many] = [trees[at : at + many]]
    return trees[0] if isinstance(trees[0], list) else trees


def as_release(shape: Shape) -> Release:
    """A release whose numeric attributes are as many as its tree has inner nodes."""
    nodes: list[Node] = []
    attributes: list[Attribute] = []

    def place(tree: Any) -> str:
        name = f"N{len(nodes)}"
        if not isinstance(tree, list):
            nodes.append(Node(name, counts=dict(zip(CLASSES, map(int, tree), strict=True))))
            return name
        nodes.append(Node(name))
        at = len(nodes) - 1
        values = tuple("abcdefghijklmno"[: len(tree)])
        attributes.append(Attribute(f"x{at}", "categorical", values))
        below = tuple(Branch(place(child), values=(v,)) for child, v in zip(tree, values, strict=True))
        nodes[at] = Node(name, f"x{at}", below)
        return name

    place(shape)
    return Release(Target("y", CLASSES), tuple(attributes), (Tree(tuple(nodes), Induction("cart", "gini", "unused")),))


def held(shape: Any) -> Any:
    return sum(map(held, shape)) if isinstance(shape, list) else shape


def gini(leaf: Any) -> float:
    n = sum(leaf)
    return float(n - sum(c * c for c in leaf) / n) if n else 0.0


def leaves_of(shape: Any) -> list[Any]:
    return [leaf for child in shape for leaf in leaves_of(child)] if isinstance(shape, list) else [shape]


def training(release: Release, leaves: list[Any]) -> Training:
    """People of whom the leaf is the only attribute."""
    leaf = np.repeat(np.arange(len(leaves)), [int(sum(x)) for x in leaves])
    y = np.concatenate([np.repeat(np.arange(3), x) for x in leaves])
    values = tuple(f"L{i}" for i in range(len(leaves)))
    return Training(release.target, (Attribute("leaf", "categorical", values),), (leaf,), y)


GONE = "gone"


def trees(shape: Any, root: bool = True) -> Iterator[Any]:
    """Every subtree with every removal: a leaf is its counts, a removed one those with a mark, others lists."""
    yield held(shape)
    if not root:
        yield (GONE, held(shape))
    if isinstance(shape, list):
        yield from map(list, product(*(list(trees(child, False)) for child in shape)))


def ends(tree: Any) -> tuple[list[Any], list[Any]]:
    """The counts of published and of removed leaves."""
    if isinstance(tree, tuple):
        return [], [tree[1]]
    if not isinstance(tree, list):
        return [tree], []
    found = [ends(child) for child in tree]
    return [x for kept, _ in found for x in kept], [x for _, gone in found for x in gone]


def records_of(release: Any, shape: Any) -> Training:
    """People of the leaves of a tree, by the attributes on their way there."""
    places = number_places(release.trees[0])
    rows: list[list[int]] = []
    y: list[int] = []
    column = {attribute.name: j for j, attribute in enumerate(release.attributes)}
    for place in places.published.tolist():
        row = [0] * len(column)
        for name, branch in places.path(place):
            row[column[name]] = (release.attributes[column[name]].values or ()).index((branch.values or ("",))[0])
        for code, many in enumerate((release.trees[0].nodes[place].counts or {}).values()):
            rows += [row] * many
            y += [code] * many
    table = np.array(rows, np.int64).reshape(len(y), len(column))
    return Training(release.target, release.attributes, tuple(table.T), np.array(y))
