"""Writers of drawings of a release, also in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from maxent.models.errors import printable
from maxent.models.files.output import DRAWING
from maxent.models.formats.writers.rules import WantedForm, Writer, branch_words, statements
from maxent.models.release import Node, Release, Tree
from maxent.models.trees.places import number_places


def write_dot(release: Release, wanted: WantedForm) -> str:
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


DOT_WRITER = Writer("dot", ".dot", "a graph for Graphviz", write_dot)


# A release as a drawing: each tree from its root on the left to its leaves on the right.

COLUMN, ROW = 250, 46  # pixels from a node to those below it, and from a leaf to the next
WIDTH, HEIGHT = 160, 32  # pixels of a node's box
LONGEST = 24  # characters of a line in a box; its title has all of them
_STYLE = (
    "text{font:11px Helvetica,Arial,sans-serif;fill:#1a1a1a}rect{fill:#f4f6f8;stroke:#5b6b7b}"
    ".leaf{fill:#e2eefb}.removed{stroke-dasharray:4;fill:none}path{fill:none;stroke:#9aa7b4}.branch{fill:#4a5866}"
)


def write_svg(release: Release, wanted: WantedForm) -> str:
    """A drawing as SVG, without a script; a title shows the whole of what a box states."""
    del wanted
    parts: list[str] = []
    top, width = 10.0, 0.0
    for position, tree in enumerate(release.trees, 1):
        if len(release.trees) > 1:
            parts.append(f'<text x="10" y="{top + 12:g}">tree {position}</text>')
            top += 22
        drawn, right, below = _svg_tree(release, tree, top)
        parts += drawn
        top, width = below + 10, max(width, right)
    size = f'width="{width + 10:g}" height="{top:g}" viewBox="0 0 {width + 10:g} {top:g}"'
    title = f"<title>{_text(release.target.name)}</title><metadata>{DRAWING}</metadata><style>{_STYLE}</style>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{title}\n' + "\n".join(parts) + "\n</svg>\n"


def _svg_tree(release: Release, tree: Tree, top: float) -> tuple[list[str], float, float]:
    """The parts of a drawing, and its right and lower end in pixels."""
    attributes = {attribute.name: attribute for attribute in release.attributes}
    places = number_places(tree)
    x = [0.0] * len(places)
    for depth, level in enumerate(places.levels):
        for place in level.tolist():
            x[place] = 10.0 + depth * COLUMN
    y = ((places.first + places.last - 1) / 2 * ROW + top).tolist()
    parts = []
    for place in places.top_down:
        if place >= places.n_nodes:
            parts.append(_box(x[place], y[place], ["removed"], "removed"))
            continue
        node = tree.nodes[place]
        for child, branch in zip(places.children[place], node.branches, strict=True):
            words = branch_words(attributes[node.attribute or ""], branch)
            parts += _link((x[place], y[place]), (x[child], y[child]), words)
        parts.append(_box(x[place], y[place], node_lines(node), "leaf" if node.is_leaf else "node"))
    return parts, max(x) + WIDTH, top + int(places.last[0]) * ROW


def _link(start: tuple[float, float], end: tuple[float, float], words: str) -> Iterator[str]:
    """A line from one box to the next, and on it the branch."""
    (x0, y0), (x1, y1) = (start[0] + WIDTH, start[1] + HEIGHT / 2), (end[0], end[1] + HEIGHT / 2)
    middle = (x0 + x1) / 2
    yield f'<path d="M{x0:g} {y0:g}C{middle:g} {y0:g} {middle:g} {y1:g} {x1:g} {y1:g}"/>'
    beside = y1 + 13 if y1 > y0 else y1 - 4  # the side of the end that the line does not come from
    titled = f"<title>{_text(words)}</title>{_text(_cut(words, 15))}"
    yield f'<text class="branch" x="{x1 - 4:g}" y="{beside:g}" text-anchor="end">{titled}</text>'


def _box(x: float, y: float, lines: list[str], kind: str) -> str:
    rect = f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="4"/>'
    shown = [lines[0], "; ".join(lines[1:])]
    texts = "".join(
        f'<text x="{x + 6:g}" y="{y + 13 + 13 * i:g}">{_text(_cut(line, LONGEST))}</text>'
        for i, line in enumerate(shown)
        if line
    )
    return f"<g><title>{_text('; '.join(lines))}</title>{rect}{texts}</g>"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _text(text: str) -> str:
    return escape(printable(text))


WRITER = Writer("svg", ".svg", "a drawing", write_svg)
