"""Default children that CatBoost leaves out: it names them below one of the two outcomes of each test only."""

from __future__ import annotations

from collections.abc import Iterator

from maxent.models.formats.pmml.xml_document import Element


def name_default_children(root: Element) -> None:
    """Give nodes without a default child the one that others have whose test is of the same field.

    Missing values of a field go with the smallest numbers, or with the largest, in all trees of a model; where nothing
    tells of a field, it is as of all others that do.
    """
    told: dict[str, set[int]] = {}
    silent: list[tuple[str, Element, tuple[Element, ...]]] = []
    for node, field, children in _tests(root):
        name = node.get("defaultChild")
        if name is None:
            silent.append((field, node, children))
            continue
        told.setdefault(field, set()).update(i for i, child in enumerate(children) if child.get("id") == name)
    everywhere = set().union(*told.values())
    for field, node, children in silent:
        places = told.get(field, everywhere)
        if len(places) == 1:
            name = children[next(iter(places))].get("id")
            if name is not None:
                node.pairs = (*node.pairs, "defaultChild", name)


def _tests(root: Element) -> Iterator[tuple[Element, str, tuple[Element, ...]]]:
    """Nodes with two children, the field that these ask for, and the two."""
    stack = [root]
    while stack:
        element = stack.pop()
        stack += element.children
        children = tuple(element.all("Node")) if element.name == "Node" else ()
        test = children[0].first("SimplePredicate") if len(children) == 2 else None
        if test is not None and (field := test.get("field")) is not None:
            yield element, field, children
