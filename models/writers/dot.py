"""A release as a graph in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from maxent.models.release import Node, Release, Tree
from maxent.models.text.printable import printable
from maxent.models.trees.places import number_places
from maxent.models.writers.rules import branch_words, statements
from maxent.models.writers.writer import Wanted, Writer


def write_dot(release: Release, wanted: Wanted) -> str:
    """A directed graph: a box for each node with what it states, a dashed one for a removed leaf."""
    del wanted
    lines = [line for number, tree in enumerate(release.trees, 1) for line in _tree(release, tree, number)]
    style = "node [shape=box, fontname=Helvetica];\n  edge [fontname=Helvetica];"
    return f"digraph {_quoted(release.target.name)} {{\n  {style}\n" + "\n".join(lines) + "\n}\n"


def _tree(release: Release, tree: Tree, number: int) -> Iterator[str]:
    attributes = {attribute.name: attribute for attribute in release.attributes}
    if len(release.trees) > 1:
        yield f"  subgraph cluster_{number} {{\n  label={_quoted(f'tree {number}')};"
    places = number_places(tree)
    for place in places.top_down:
        if place >= places.n_nodes:
            yield f'  t{number}_{place} [label="removed", style=dashed];'
            continue
        node = tree.nodes[place]
        yield f"  t{number}_{place} [label={_quoted(*node_lines(node))}];"
        for child, branch in zip(places.children[place], node.branches, strict=True):
            words = branch_words(attributes[node.attribute or ""], branch)
            yield f"  t{number}_{place} -> t{number}_{child} [label={_quoted(words)}];"
    if len(release.trees) > 1:
        yield "  }"


def node_lines(node: Node) -> list[str]:
    """What is written into the box of a node."""
    return [*([] if node.attribute is None else [node.attribute]), *_label(node), *statements(node)] or ["-"]


def _label(node: Node) -> list[str]:
    return [] if node.label is None else [node.label if node.is_leaf else f"label {node.label}"]


def _quoted(*lines: str) -> str:
    r"""Lines as a string of DOT; the end of a line is ``\n`` there."""
    escaped = [printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return '"' + "\\n".join(escaped) + '"'


WRITER = Writer("dot", ".dot", "a graph for Graphviz", write_dot)
