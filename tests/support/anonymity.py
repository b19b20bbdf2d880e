"""Definitions 5 to 7 of Friedman, Schuster and Wolff (2006), word for word, and hierarchies to generalise with."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import strategies as st

from maxent.models.release import Release, Target
from maxent.models.tables.hierarchies import Hierarchy
from maxent.models.tables.training import Training
from support.strategies import Draw, People

Bin = tuple[str, str]  # a leaf and a class
Span = frozenset[Bin]


def training_of(people: People) -> Training:
    """The people as an inducer is given them."""
    columns = tuple(people.columns[a.name] for a in people.attributes)
    return Training(Target("Y", people.classes), people.attributes, columns, people.y)


def leaves_reached(release: Release, person: Any) -> frozenset[str]:
    """The leaves of the first tree that someone may be sent to, whatever their private values are."""
    nodes = {node.id: node for node in release.trees[0].nodes}
    domains = {a.name: a for a in release.attributes}

    def below(node_id: str, private: dict[str, Any]) -> Iterator[str]:
        node = nodes[node_id]
        if node.is_leaf:
            yield node_id
        for branch in node.branches:
            name = node.attribute or ""
            low = -np.inf if branch.gt is None else branch.gt
            high = np.inf if branch.le is None else branch.le
            if domains[name].role == "public":
                value = person[name]
                if value in branch.values if branch.values is not None else low < value <= high:
                    yield from below(branch.child or "", private)
            elif branch.values is not None:
                left = set(private.get(name, domains[name].values)) & set(branch.values)
                if left:
                    yield from below(branch.child or "", {**private, name: left})
            else:
                lowest, highest = private.get(name, (-np.inf, np.inf))
                if max(low, lowest) < min(high, highest):
                    yield from below(branch.child or "", {**private, name: (max(low, lowest), min(high, highest))})

    return frozenset(below(release.trees[0].root.id, {}))


def groups_by_span(people: People, release: Release, *, class_public: bool = False) -> dict[Span, list[int]]:
    """The linking attack of Definition 6: the rows of all people with the same span (Definition 5)."""
    groups: dict[Span, list[int]] = {}
    for row, person in enumerate(people.frame.to_dict("records")):
        classes = [person["Y"]] if class_public else people.classes
        span = frozenset((leaf, c) for leaf in leaves_reached(release, person) for c in classes)
        groups.setdefault(span, []).append(row)
    return groups


@st.composite
def hierarchies(draw: Draw, people: People) -> dict[str, Hierarchy]:
    """Two levels above the values of some of the categorical attributes."""
    found = {}
    for a in people.attributes:
        if a.values is not None and draw(st.integers(0, 2)):
            one = draw(st.lists(st.integers(0, 2), min_size=len(a.values), max_size=len(a.values)))
            two = draw(st.lists(st.integers(0, 1), min_size=3, max_size=3))
            levels = (a.values, tuple(f"one {g}" for g in one), tuple(f"two {two[g]}" for g in one))
            found[a.name] = Hierarchy(levels)
    return found
