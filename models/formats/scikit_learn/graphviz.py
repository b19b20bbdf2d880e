"""Graphs that scikit-learn's ``export_graphviz`` draws of a classification tree, with any of its options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike

import numpy as np

from maxent.models.arguments import LARGEST_COUNT, shorten
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.assemble import check_tree
from maxent.models.formats.release_reader import Converted, Head, Wanted, model_reader
from maxent.models.formats.scikit_learn.export_text import DrawnLines, drawn_release
from maxent.models.reading import Reader

_NUMBER = r"-?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?"
_NODE = re.compile(r'([0-9]{1,9}) \[label=(?:"((?:[^"\\]|\\.)*)"|<(.*)>)(?:, fillcolor="[^"]*")?\] ;')
_EDGE = re.compile(r'([0-9]{1,9}) -> ([0-9]{1,9})(?: \[[^\]]*?(?:headlabel="([^"]*)")?\])? ;')
_OTHER = re.compile(r"digraph Tree \{|(?:node|edge|graph) \[.*\] ;|rankdir=LR ;|\{rank=same ; .*\} ;|\}")
_TEST = re.compile(rf"(.*) (?:<=|&le;) ({_NUMBER})")
_NUMBERED = re.compile(r"node (?:#|&#35;)[0-9]+")
_VALUE = re.compile(r"(?:value = )?\[([0-9eE+., -]*)\]")
_IMPURITY = re.compile(rf"(?:[a-z_]+ = )?{_NUMBER}")
_SAMPLES = re.compile(rf"(?:samples = )?({_NUMBER})(%?)")
_CLASS_NUMBER = re.compile(r"y\[[0-9]+\]")
_EXPORT = "export_graphviz(model, feature_names=..., class_names=..., precision=10)"
_MEMBERS = re.compile(r".* in \{.*\}")


@dataclass(slots=True)
class _Graph:
    """The labels of nodes, in parts, and the nodes below each of them."""

    labels: dict[int, list[str]] = field(default_factory=dict)
    below: dict[int, list[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Said:
    """The statements of a node: its size, the sum of weights of each class or their shares, and its class."""

    samples: float
    percent: bool
    values: tuple[float, ...]
    label: str | None


def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a graph, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    graph = _graph(source, read_text(path))
    n = len(graph.labels)
    if sorted(graph.labels) != list(range(n)) or not n:
        raise invalid(source, "document", "nodes", "nodes that are numbered from 0", f"{n} with other numbers")
    links = [(node, child) for node, below in graph.below.items() for child in below]
    if lost := [node for node, _ in links if node >= n]:
        raise invalid(source, f"node {lost[0]}", "edges", "a node with a label above each edge", "none")
    above, below_it = np.array(links, np.int64).reshape(-1, 2).T
    check_tree(source, above, below_it, range(n))
    if any(child <= node for node, below in graph.below.items() for child in below):
        raise invalid(source, "document", "edges", "nodes that are numbered after those above them", "others")
    said, tests = {}, {}
    for node, parts in graph.labels.items():
        below = graph.below.get(node, [])
        if len(below) not in (0, 2):
            raise invalid(source, f"node {node}", "edges", "two nodes below it, or none", str(len(below)))
        said[node], tests[node] = _statements(source, node, parts, inner=bool(below))
    shares = any(each.percent for each in said.values())
    counted = all(each.samples == sum(each.values) for each in said.values()) and not shares
    unweighted = ""
    if not counted:
        unweighted = (
            "counts: proportion=True prints shares in their place"
            if shares
            else "counts: the values of nodes do not sum to samples, as those of weighted rows, or of draws"
        )
    drawn = [
        DrawnLines(
            *tests[node],
            tuple(graph.below.get(node, ())),
            said[node].label if not graph.below.get(node) else None,
            said[node].values if counted and not graph.below.get(node) else None,
        )
        for node in range(n)
    ]
    if not counted and any(node.label is None for node in drawn if not node.children):
        raise invalid(source, "document", "class", f"labels of leaves ({_EXPORT})", "none, and no counts")
    return drawn_release(source, drawn, wanted, reader, export=_EXPORT, finer="precision=10", unweighted=unweighted)


def _graph(source: str, text: str) -> _Graph:
    """The nodes and edges of a graph."""
    found = _Graph()
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if not line:
            continue
        node, edge = _NODE.fullmatch(line), _EDGE.fullmatch(line)
        if node is not None:
            at = int(node[1])
            if at in found.labels:
                raise invalid(source, f"line {number}", "node", "each node once", f"{at} again")
            words = node[3] if node[3] is not None else node[2]
            parts = words.split("<br/>" if node[3] is not None else "\\n")
            if parts == ["(...)"]:
                expected = "the whole tree: export_graphviz without max_depth"
                raise invalid(source, f"line {number}", "label", expected, "(...)")
            found.labels[at] = [part.replace('\\"', '"') for part in parts]
        elif edge is not None:
            below = found.below.setdefault(int(edge[1]), [])
            below.append(int(edge[2]))
            if edge[3] is not None and edge[3] != ("True" if len(below) == 1 else "False"):
                raise invalid(source, f"line {number}", "headlabel", "True before False", shorten(edge[3]))
        elif _OTHER.fullmatch(line) is None:
            # Of what is no such graph at all, and may be any file, nothing is shown.
            shown = shorten(line) if found.labels else "other text"
            raise invalid(source, f"line {number}", "text", "a node or an edge of export_graphviz", shown)
    return found


def _statements(source: str, node: int, parts: Sequence[str], *, inner: bool) -> tuple[_Said, tuple[str, str]]:
    """The statements of a node, and its test: the name of a column and a threshold."""
    where = f"node {node}"
    rest = list(parts)
    if rest and _NUMBERED.fullmatch(rest[0]):
        del rest[0]
    test = ("", "")
    if inner:
        match = _TEST.fullmatch(rest[0]) if rest else None
        if match is None:
            if rest and _MEMBERS.fullmatch(rest[0]):
                expected = "a test of scikit-learn (c50py joins values with commas: grow it with C5.0, save its .tree)"
                raise invalid(source, where, "label", expected, shorten(rest[0]))
            raise invalid(source, where, "label", "a test, such as age <= 37.5", shorten(rest[:1]))
        test = (match[1], match[2])
        del rest[0]
    at = next((i for i, part in enumerate(rest) if _VALUE.fullmatch(part)), None)
    if at is None:
        if any(re.fullmatch(rf"(?:value = )?{_NUMBER}", part) for part in rest[2:3]):
            expected = "a classification tree (of a regression: bin the target)"
            raise invalid(source, where, "value", expected, "one number")
        raise invalid(source, where, "value", f"the values of all classes ({_EXPORT})", shorten(list(parts)))
    before, after = rest[:at], rest[at + 1 :]
    size = _SAMPLES.fullmatch(before[-1]) if before else None
    if size is None or len(before) > 2 or (len(before) == 2 and not _IMPURITY.fullmatch(before[0])) or len(after) > 1:
        raise invalid(source, where, "label", "impurity, samples, value and class", shorten(list(parts)))
    values = _values(source, where, rest[at])
    label = after[0].removeprefix("class = ") if after else None
    if label is not None and _CLASS_NUMBER.fullmatch(label):
        label = None
    return _Said(float(size[1]), bool(size[2]), values, label), test


def _values(source: str, where: str, part: str) -> tuple[float, ...]:
    match = _VALUE.fullmatch(part)
    try:
        found = tuple(float(word) for word in (match[1] if match is not None else "").split(",") if word.strip())
    except ValueError:
        found = ()
    if len(found) < 2 or min(found) < 0 or max(found) > LARGEST_COUNT:
        raise invalid(source, where, "value", "a number for each of two classes or more", shorten(part))
    return found


def _recognise(head: Head) -> bool:
    return re.match(r"digraph Tree \{\s*\n\s*node \[shape=box", head.text) is not None


READER = model_reader(
    "graphviz", "a graph that export_graphviz of scikit-learn drew of a tree", (), convert, _recognise
)
