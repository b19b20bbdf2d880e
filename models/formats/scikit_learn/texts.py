"""Text of scikit-learn's ``export_text``, with or without ``show_weights=True``, and its names of columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike

import numpy as np

from maxent.models.arguments import LARGEST_COUNT, shorten
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.assemble import assemble, check_tree
from maxent.models.formats.outline import Line, refuse
from maxent.models.formats.proof import TrainingColumns, check_leaves, read_training
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.hints import close_to
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Branch, Labels, Node, Tree
from maxent.models.trees.places import single_at_most

# Names of columns that scikit-learn prints, ``cat__colour_red``, as columns and values of the training table.

_BIN = re.compile(r"[0-9]+\.0")
_INFREQUENT = "infrequent_sklearn"


def feature_of(name: str, training: TrainingColumns) -> Feature | str:
    """The meaning of a column of a model's input, or what was expected where it has none that is sure.

    It is a column of the table, ``colour_red`` of a ``OneHotEncoder``, or either after the name of a step, ``cat__``.
    """
    plain = [name] if training.named(name) is not None else list(_plain(name))
    found = [feature for each in dict.fromkeys(plain) for feature in _meanings(each, training)]
    if len(found) > 1:
        return "a name with one meaning in the training table, not " + " and ".join(map(_shown, found))
    if not found:
        if any(_is_bin(each, training) for each in plain):
            return "columns of the table: the bins of a KBinsDiscretizer have no edges in this text"
        if name.endswith(_INFREQUENT):
            return "columns of the table: which values are infrequent is not in this text"
        names = [attribute.name for attribute in training.attributes]
        return f"a column of the training table, or one and a value of it{close_to(plain[-1], names)}"
    [feature] = found
    if feature.attribute in training.gaps:
        return f"columns without missing values: where those of {feature.attribute} go is not in this text"
    return feature


def _plain(name: str) -> Iterator[str]:
    """A name, and what follows each ``__`` in it."""
    yield name
    while "__" in name:
        name = name.partition("__")[2]
        if name:
            yield name


def _meanings(name: str, training: TrainingColumns) -> Iterator[Feature]:
    """A column of that name, or all columns that have a value so that both together are the name."""
    column = training.named(name)
    if column is not None:
        yield Feature(name, name, column.values)
        return
    for attribute in training.attributes:
        if attribute.values is not None and name.startswith(attribute.name + "_"):
            value = name[len(attribute.name) + 1 :]
            if value in attribute.values:
                yield Feature(name, attribute.name, attribute.values, value)


def _is_bin(name: str, training: TrainingColumns) -> bool:
    """Whether a name is that of a bin of a column of numbers."""
    column, _, number = name.rpartition("_")
    found = training.named(column)
    return found is not None and found.values is None and _BIN.fullmatch(number) is not None


def _shown(feature: Feature) -> str:
    return feature.attribute if feature.indicates is None else f"{feature.indicates} of {feature.attribute}"


_LINE = re.compile(r"((?:\| *)*)\|-+ (.*)")
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_TEST = re.compile(rf"(.*) (<=|>) +({_NUMBER})")
_LEAF = re.compile(r"(?:weights: \[([0-9., -]+)\] ?)?(?:class: (.*))?")
_EXPORT = "export_text(model, feature_names=..., class_names=..., decimals=10, show_weights=True)"
_ADVICE = "columns before a scaler, thresholds rounded for print, rows with weights or of a bootstrap would show so"
_FITTED = "of a tree that was fitted on the table's own columns"
_UNNAMED = re.compile(r"(?:feature_|[xX]\[)([0-9]{1,9})\]?")
_LABEL_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]*)?")
_PRINTED = 1.0  # by how much printed weights may hide which is the largest
_EXACT = 10  # decimals with which no threshold that was printed is off by more than single precision is


@model_reader("export-text", "text that export_text of scikit-learn printed of a tree", r"\|-+ .*(?:\n\| +\|-+ |: )")
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    drawn = _drawn(source, list(_lines(source, read_text(path))))
    tests = [node.threshold for node in drawn if node.children]
    decimals = min((len(number.partition(".")[2]) for number in tests), default=_EXACT)
    if not decimals:
        raise invalid(source, "document", "thresholds", f"numbers with their decimals: {_EXPORT}", "whole numbers only")
    return drawn_release(source, drawn, wanted, reader)


def drawn_release(
    source: str,
    drawn: Sequence[DrawnLines],
    wanted: Wanted,
    reader: Reader,
    *,
    export: str = _EXPORT,
    finer: str = "decimals=10",
    unweighted: str = "",
) -> Converted:
    """The release of a tree as it is drawn; ``finer`` is the option that prints more digits."""
    decimals = min((len(node.threshold.partition(".")[2]) for node in drawn if node.children), default=_EXACT)
    training = read_training(wanted, reader)
    features = _features(source, drawn, wanted, training)
    classes = _classes(source, drawn, wanted, training)
    used = {feature.attribute: feature.values for feature in features.values()}
    order = used if training is None else [a.name for a in training.attributes if a.name in used]
    known = {name: Attribute(name, "categorical" if used[name] else "numeric", used[name]) for name in order}
    labels: Labels = "majority" if _are_whole(drawn) and not unweighted else "decided"
    tree = Tree(tuple(_nodes(drawn, features, classes)))
    release = assemble(source, [tree], classes, wanted, training, known=known, predicts="label", labels=labels)
    proven = training is not None and check_leaves(source, release, training, f"{_ADVICE}: {export} {_FITTED}")
    coded = [f.name for f in features.values() if f.values is not None and f.indicates is None]
    if coded and not proven:
        expected = f"counts that prove the order of its codes ({export}, with train= and target=)"
        raise invalid(source, f"column {shorten(coded[0])}", "values", expected, "codes of categories without names")
    exact = _is_exact(drawn, features, training)
    lost = ["the criterion, so that nothing follows from the choice of splits"]
    if unweighted:
        lost.append(unweighted)
    elif labels == "decided":
        lost.append("counts: the weights are no whole numbers of records, as with class_weight or sample_weight")
    elif not any(node.weights for node in drawn):
        lost.append("counts and sizes of leaves, which show_weights=True prints")
    if not exact:
        lost.append(f"digits of thresholds beyond {decimals} decimals, which {finer} prints")
    if training is None and len(drawn) > 1:
        lost.append("what columns of one-hot or ordinal encoders mean, which --train tells: they are taken as they are")
    return Converted(release, "scikit-learn", tuple(lost), exact)


def _lines(source: str, text: str) -> Iterator[Line]:
    """The lines of a tree; blank ones are skipped."""
    found = False
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            expected = "a line of export_text, such as |--- age <= 37.50"
            # Of what is no such text at all, and may be any file, nothing is shown.
            raise invalid(source, f"line {number}", "text", expected, shorten(line) if found else "other text")
        if "truncated branch of depth" in match[2]:
            expected = "the whole tree: export_text without max_depth, or with a larger one"
            raise invalid(source, f"line {number}", "text", expected, shorten(match[2]))
        yield Line(number, match[1].count("|"), match[2])
        found = True
    if not found:
        raise invalid(source, "document", "content", "a tree that export_text printed", "an empty file")


@dataclass(slots=True)
class DrawnLines:
    """A node as it is drawn: an inner one with its test and the positions of its children, or a leaf with its label."""

    name: str = ""
    threshold: str = ""
    children: tuple[int, ...] = ()
    label: str | None = None
    weights: tuple[float, ...] | None = None


def _drawn(source: str, lines: Sequence[Line]) -> list[DrawnLines]:
    """The nodes in depth-first order, as scikit-learn numbers those of a tree that it grows depth-first."""
    found: list[DrawnLines] = []
    # What is to come: a node at a depth, or (with its position) the second branch of one.
    stack: list[tuple[int, int | None]] = [(0, None)]
    at = 0
    while stack:
        depth, first = stack.pop()
        if at == len(lines):
            refuse(source, lines[-1], "both branches of every test, but this is the end of the file")
        line = lines[at]
        deeper = at + 1 < len(lines) and lines[at + 1].depth == line.depth + 1
        test = _TEST.fullmatch(line.text)
        if line.depth != depth:
            refuse(source, line, f"a line at depth {depth}")
        if first is not None:
            before = found[first]
            same = test is not None and (test[1], test[2], test[3]) == (before.name, ">", before.threshold)
            if not same or not deeper:
                refuse(source, line, f"the other branch, {shorten(before.name)} > {before.threshold}")
            before.children = (*before.children, len(found))
            stack.append((depth + 1, None))
        elif deeper:
            if test is None or test[2] != "<=":
                refuse(source, line, "a test with <=, as lines below it are deeper")
            found.append(DrawnLines(test[1], test[3], (len(found) + 1,)))
            stack += [(depth, len(found) - 1), (depth + 1, None)]
        else:
            found.append(_leaf(source, line))
        at += 1
    if at < len(lines):
        refuse(source, lines[at], "the end of the file, as the tree is complete")
    return found


def _leaf(source: str, line: Line) -> DrawnLines:
    """A leaf with its label, its weights, or both."""
    match = _LEAF.fullmatch(line.text)
    if match is None or match[0] == "":
        if line.text.startswith("value: ["):
            refuse(source, line, "a classification tree, whose leaves have classes (of a regression: bin the target)")
        refuse(source, line, "a leaf with class: or weights:")
    weights = None
    if match[1] is not None:
        try:
            weights = tuple(float(part) for part in match[1].split(","))
        except ValueError:
            refuse(source, line, "weights that are numbers")
        if min(weights) < 0 or max(weights) > LARGEST_COUNT:
            refuse(source, line, "weights that are numbers of records")
    return DrawnLines(label=match[2], weights=weights)


def _features(
    source: str, drawn: Sequence[DrawnLines], wanted: Wanted, training: TrainingColumns | None
) -> dict[str, Feature]:
    """Meaning of each column that is tested."""
    features, problems = {}, []
    for name in dict.fromkeys(node.name for node in drawn if node.children):
        title = name
        number = _UNNAMED.fullmatch(name)
        if wanted.features is not None and number is not None:
            if int(number[1]) >= len(wanted.features):
                expected = f"a name for {name}"
                problems.append(Problem("argument", "features", expected, f"{len(wanted.features)} names"))
                continue
            title = wanted.features[int(number[1])]
        found = Feature(name, title) if training is None else feature_of(title, training)
        if isinstance(found, str):
            problems.append(Problem(f"column {shorten(name)}", "name", found, shorten(title)))
        else:
            features[name] = replace(found, name=name)
    if problems:
        raise InvalidInput(source, problems)
    return features


def _classes(
    source: str, drawn: Sequence[DrawnLines], wanted: Wanted, training: TrainingColumns | None
) -> tuple[str, ...]:
    """The classes in the model's order, which is sorted."""
    leaves = [node for node in drawn if not node.children]
    labels = {leaf.label for leaf in leaves if leaf.label is not None}
    sizes = {len(leaf.weights) for leaf in leaves if leaf.weights is not None}
    known = wanted.classes or (training.classes if training is not None else ()) or _in_order(labels)
    expected = f"classes={max(sizes)} names" if sizes else "classes, with every label of the tree"
    if len(sizes) > 1 or (sizes and len(known) != max(sizes)) or not known:
        found = f"{len(known)} classes, and {' or '.join(map(str, sorted(sizes))) or 'no'} weights of a leaf"
        raise invalid(source, "document", "classes", f"as many names of classes as weights ({expected})", found)
    if unknown := sorted(labels - set(known)):
        raise invalid(source, "document", "classes", f"classes among {shorten(list(known))}", shorten(unknown))
    for leaf in leaves:
        if leaf.weights is not None and leaf.label is not None:
            best = max(leaf.weights)
            if leaf.weights[known.index(leaf.label)] < best - _PRINTED:
                found = f"label {shorten(leaf.label)} with weights {shorten(list(leaf.weights))}"
                raise invalid(source, "document", "classes", "classes in the order of the weights (classes=)", found)
    return known


def _in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels as scikit-learn sorts them: numbers by size."""
    if all(_LABEL_NUMBER.fullmatch(label) for label in labels):
        return tuple(sorted(labels, key=float))
    return tuple(sorted(labels))


def _nodes(drawn: Sequence[DrawnLines], features: Mapping[str, Feature], classes: Sequence[str]) -> Iterator[Node]:
    """The nodes of a release."""
    whole = _are_whole(drawn)
    for number, node in enumerate(drawn):
        if node.children:
            feature, threshold = features[node.name], float(node.threshold)
            low, high = (str(child) for child in node.children)
            if feature.values is None:
                most = single_at_most(threshold)
                branches: tuple[Branch, ...] = (Branch(low, le=most), Branch(high, gt=most))
            else:
                sides = zip((low, high), feature.split(threshold), strict=True)
                branches = tuple(Branch(child, values) for child, values in sides)
            yield Node(str(number), feature.attribute, branches)
        elif node.weights is None or not whole:
            yield Node(str(number), label=node.label)
        else:
            counts = dict(zip(classes, map(round, node.weights), strict=True))
            yield Node(str(number), label=node.label, n=sum(counts.values()), counts=counts)


def _are_whole(drawn: Sequence[DrawnLines]) -> bool:
    """Whether all weights are whole numbers of records."""
    return all(weight.is_integer() for node in drawn for weight in node.weights or ())


def _is_exact(drawn: Sequence[DrawnLines], features: Mapping[str, Feature], training: TrainingColumns | None) -> bool:
    """Whether no threshold was changed for print: codes, many decimals, or halves between whole numbers."""
    numeric = [node for node in drawn if node.children and features[node.name].values is None]
    if all(len(node.threshold.partition(".")[2]) >= _EXACT for node in numeric):
        return True
    if training is None:
        return False
    halves = all((2 * float(node.threshold)).is_integer() for node in numeric)
    columns = {features[node.name].attribute for node in numeric}
    return halves and all(training.holds_whole_numbers(name) for name in columns)


# Graphs that scikit-learn's ``export_graphviz`` draws of a classification tree, with any of its options.


_GRAPHVIZ_NUMBER = r"-?[0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?"
_NODE = re.compile(r'([0-9]{1,9}) \[label=(?:"((?:[^"\\]|\\.)*)"|<(.*)>)(?:, fillcolor="[^"]*")?\] ;')
_EDGE = re.compile(r'([0-9]{1,9}) -> ([0-9]{1,9})(?: \[[^\]]*?(?:headlabel="([^"]*)")?\])? ;')
_OTHER = re.compile(r"digraph Tree \{|(?:node|edge|graph) \[.*\] ;|rankdir=LR ;|\{rank=same ; .*\} ;|\}")
_GRAPHVIZ_TEST = re.compile(rf"(.*) (?:<=|&le;) ({_GRAPHVIZ_NUMBER})")
_NUMBERED = re.compile(r"node (?:#|&#35;)[0-9]+")
_VALUE = re.compile(r"(?:value = )?\[([0-9eE+., -]*)\]")
_IMPURITY = re.compile(rf"(?:[a-z_]+ = )?{_GRAPHVIZ_NUMBER}")
_SAMPLES = re.compile(rf"(?:samples = )?({_GRAPHVIZ_NUMBER})(%?)")
_CLASS_NUMBER = re.compile(r"y\[[0-9]+\]")
_DRAW = "export_graphviz(model, feature_names=..., class_names=..., precision=10)"
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


@model_reader(
    "graphviz",
    "a graph that export_graphviz of scikit-learn drew of a tree",
    r"digraph Tree \{\s*\n\s*node \[shape=box",
)
def _convert_graphviz(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
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
        raise invalid(source, "document", "class", f"labels of leaves ({_DRAW})", "none, and no counts")
    return drawn_release(source, drawn, wanted, reader, export=_DRAW, finer="precision=10", unweighted=unweighted)


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
        match = _GRAPHVIZ_TEST.fullmatch(rest[0]) if rest else None
        if match is None:
            if rest and _MEMBERS.fullmatch(rest[0]):
                expected = "a test of scikit-learn (c50py joins values with commas: grow it with C5.0, save its .tree)"
                raise invalid(source, where, "label", expected, shorten(rest[0]))
            raise invalid(source, where, "label", "a test, such as age <= 37.5", shorten(rest[:1]))
        test = (match[1], match[2])
        del rest[0]
    at = next((i for i, part in enumerate(rest) if _VALUE.fullmatch(part)), None)
    if at is None:
        if any(re.fullmatch(rf"(?:value = )?{_GRAPHVIZ_NUMBER}", part) for part in rest[2:3]):
            expected = "a classification tree (of a regression: bin the target)"
            raise invalid(source, where, "value", expected, "one number")
        raise invalid(source, where, "value", f"the values of all classes ({_DRAW})", shorten(list(parts)))
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
