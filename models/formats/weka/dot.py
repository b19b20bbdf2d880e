"""Graphs that Weka draws of its trees (``-g``): a line for each node and edge, as Graphviz reads them."""

from __future__ import annotations

import re
from collections.abc import Collection

from maxent.models.errors import invalid
from maxent.models.formats.outline import Leaf, Line, Split, is_test, leaf_of
from maxent.models.tables.frame import shorten

# The classifiers by what their graphs are called
KINDS = {"J48Tree": "J48", "RandomTree": "RandomTree", "Tree": "REPTree"}

START = re.compile(r"digraph (J48Tree|RandomTree|Tree) \{\s*\n(?:edge \[style=bold\]\s*\n)?(N[0-9a-f]+) \[label=")
_LINE = re.compile(r'(N[0-9a-f]{1,16})(?:->(N[0-9a-f]{1,16}))? \[label="((?:[^"\\]|\\.)*)" ?(shape=box)?.*\]')
_EDGE = re.compile(r"(<=|>=|!=|<|>|=) (.*)")


def parse_graph(source: str, text: str, classes: Collection[str]) -> tuple[str, list[Leaf | Split]]:
    """The kind of tree, and its nodes in depth-first order."""
    start = START.match(text)
    if start is None:
        raise invalid(source, "document", "content", "a graph that Weka drew of a tree", "other text")
    kind = KINDS[start[1]]
    labels: dict[str, tuple[int, str, bool]] = {}
    edges: dict[str, list[tuple[int, str, str]]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            if line.startswith("N"):
                raise invalid(source, f"line {number}", "text", "a node or an edge with its label", shorten(line))
            continue
        words = re.sub(r"\\(.)", r"\1", match[3])
        words = words[1:-1] if len(words) > 1 and words[0] == words[-1] == "'" else words
        if match[2] is not None:
            edges.setdefault(match[1], []).append((number, words, match[2]))
        elif match[1] in labels:
            raise invalid(source, f"line {number}", "text", "each node once", match[1])
        else:
            labels[match[1]] = (
                number,
                words if kind == "J48" else re.sub("^[0-9]+ ?: ", "", words),
                match[4] is not None,
            )
    found: list[Leaf | Split] = []
    seen: set[str] = set()
    stack: list[tuple[str, Split | None]] = [(start[2], None)]
    while stack:
        name, above = stack.pop()
        if name not in labels or name in seen:
            raise invalid(source, f"node {name}", "text", "each node once, below one other", "none, or several")
        seen.add(name)
        number, words, ends = labels[name]
        if above is not None:
            above.children.append(len(found))
        if ends or name not in edges:
            leaf = leaf_of(source, Line(number, 0, words), f": {words}", classes)
            if leaf is None or name in edges:
                raise invalid(source, f"line {number}", "text", "a leaf with a label that is a class", shorten(words))
            found.append(leaf)
            continue
        split = Split(words)
        for line_number, edge, _ in edges[name]:
            test = _EDGE.fullmatch(edge.strip())
            if test is None:
                raise invalid(source, f"line {line_number}", "text", "a test, such as <= 37", shorten(edge))
            split.signs.append(test[1])
            split.values.append(test[2])
        if not is_test(split):
            raise invalid(source, f"line {number}", "text", "branches of one test", shorten(words))
        found.append(split)
        stack += [(below, split) for _, _, below in reversed(edges[name])]
    if len(seen) < len(labels):
        raise invalid(source, "document", "nodes", "one tree", "nodes that are not below its root")
    return kind, found
