"""Weka trees, printed or drawn: J48, REPTree, RandomTree, forests of these, SimpleCart and Id3."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from os import PathLike

from maxent.models.arguments import shorten
from maxent.models.draws import DRAWN
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.assemble import assemble
from maxent.models.formats.outline import (
    Leaf,
    Line,
    Split,
    are_whole,
    is_test,
    leaf_of,
    lines_of,
    nodes_of,
    parse_tree,
    parts_of,
)
from maxent.models.formats.proof import TrainingColumns, check_leaves, read_training
from maxent.models.formats.release_reader import Converted, Head, Wanted, model_reader
from maxent.models.formats.unrolled import fractional_tree
from maxent.models.reading import Reader
from maxent.models.release import Tree

# Graphs that Weka draws of its trees (``-g``): a line for each node and edge, as Graphviz reads them.

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


# Where trees are in the text of Weka: below the title of their classifier; and what else is printed with them.

TITLES = {
    "J48 pruned tree": "J48",
    "J48 unpruned tree": "J48",
    "REPTree": "REPTree",
    "RandomTree": "RandomTree",
    "CART Decision Tree": "SimpleCart",
    "Id3": "Id3",
}
_UNRULED = ("SimpleCart", "Id3")  # those whose titles have no rule below them
_RULE = re.compile(r"[-=]{4,}\s*")
_MATRIX = re.compile(r"^[ 0-9.]+\| +[a-z]+ = (.+)$", re.MULTILINE)
_CUTS = ("<=", "<", ">", ">=")
_DECIMALS = {"J48": 6, "SimpleCart": 4, "REPTree": 2, "RandomTree": 2, "Id3": 0}
_CART_TEST = re.compile(r"(!?=)(?=\()")
_CART_LEAF = re.compile(r"(.*: .*)\(([0-9]{1,15}(?:\.[0-9]{1,2})?)/([0-9]{1,15}(?:\.[0-9]{1,2})?)\)\s*")


def drawn(lines: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, list[Line]]]:
    """The trees of a text: the lines from after a title, and the rule below it, to a blank one."""
    at = 0
    while at + 1 < len(lines):
        kind = TITLES.get(lines[at].strip())
        at += 1
        if kind is None or (kind not in _UNRULED and _RULE.fullmatch(lines[at]) is None):
            continue
        at += kind not in _UNRULED
        while at < len(lines) and not lines[at].strip():
            at += 1
        begin = at
        while at < len(lines) and lines[at].strip():
            at += 1
        if at > begin:
            text = [_as_others(line, names) if kind == "SimpleCart" else line for line in lines[begin:at]]
            yield kind, lines_of(list(enumerate(text, begin + 1)))


def _as_others(line: str, names: Sequence[str]) -> str:
    """A line of SimpleCart, ``a=(b)|(c): d(3.0/1.0)``, as other classifiers print it: ``a = (b)|(c): d (4.0/1.0)``."""
    leaf = _CART_LEAF.fullmatch(line)
    if leaf is not None:
        line = f"{leaf[1]} ({float(leaf[2]) + float(leaf[3]):.2f}/{leaf[3]})"
    marks = re.match(r"[|\s]*", line)
    begin = marks.end() if marks is not None else 0
    ends = [begin + len(name) for name in names if line.startswith((f"{name}=(", f"{name}!=("), begin)]
    match = _CART_TEST.match(line, max(ends)) if ends else None if names else _CART_TEST.search(line, begin)
    return line if match is None else f"{line[: match.start()]} {match[1]} {line[match.end() :]}"


def with_sets(tree: Sequence[Leaf | Split]) -> None:
    """Take the values of SimpleCart's tests, ``(b)|(c)``, for sets."""
    for node in tree:
        if isinstance(node, Split) and node.signs[0] in ("=", "!="):
            node.sets = [tuple(value[1:-1].split(")|(")) for value in node.values]


def printed_classes(text: str) -> tuple[str, ...]:
    """The classes in the order of the first confusion matrix that is printed below the tree, none without one."""
    matrix = text.partition("<-- classified as\n")[2].partition("\n\n")[0]
    return tuple(match[1].rstrip() for match in _MATRIX.finditer(matrix))


def is_exact(kind: str, trees: Sequence[Sequence[Leaf | Split]], training: TrainingColumns | None) -> bool:
    """Whether no threshold was rounded, as columns have so few decimals that none is lacking."""
    splits = [node for tree in trees for node in tree if isinstance(node, Split) and node.signs[0] in _CUTS]
    if training is None:
        most = max((len(value.partition(".")[2]) for split in splits for value in split.values), default=0)
        return not splits or (kind == "J48" and most < _DECIMALS[kind])
    found = [training.decimals(name) for name in {split.name for split in splits}]
    return all(each is not None and each + (kind != "J48") <= _DECIMALS[kind] for each in found)


def is_weka(head: Head) -> bool:
    """Whether a file begins as a text or a graph of Weka."""
    text = head.text
    if START.match(text) is not None:
        return True
    for title, kind in TITLES.items():
        rule = r"[-=]{4,}\s*$" if kind not in _UNRULED else r"\s*\n\S.*(?: [=<]|!?=\(|: )"
        if re.search(rf"^{title}\s*\n{rule}", text, re.MULTILINE):
            return True
    return False


_OPTIONS = re.compile(r"^(?:Options:|Scheme:).*", re.MULTILINE)
_HELD_OUT = re.compile(r"\s-R\b")
_FOLDS = re.compile(r"\) \[[0-9.]+/[0-9.]+\]")  # numbers of a part that was held out
_ADVICE = "the table that Weka built the tree from, whole: not a part of it, as with -R, and without weights"
_FRACTIONS = (
    "counts and sizes of leaves below tests of values that records lack: Weka counts such records there in parts"
)
_UNDECIDED = "classes of records without values where the printed numbers leave several"
_ROUNDED = "digits of thresholds beyond those that Weka prints"
_CRITERION = "the criterion, so that nothing follows from the choice of splits"


@model_reader(
    "weka",
    "text that Weka printed of J48, REPTree, RandomTree, SimpleCart, Id3 or a forest, or drew as a graph",
    is_weka,
)
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    text = read_text(path)
    training = read_training(wanted, reader)
    known = wanted.classes or (training.classes if training is not None else ()) or printed_classes(text)
    names = [] if training is None else [attribute.name for attribute in training.attributes]
    kind, parsed, forest = _parsed(source, text, known, names)
    if kind == "SimpleCart":
        with_sets(parsed[0])
    leaves = [node for tree in parsed for node in tree if isinstance(node, Leaf)]
    classes = known or tuple(sorted({leaf.label for leaf in leaves} - ({"null"} if kind == "Id3" else set())))
    tested = dict.fromkeys(node.name for tree in parsed for node in tree if isinstance(node, Split))
    gaps = [] if training is None else [name for name in tested if name in training.gaps]
    whole = all(map(are_whole, parsed))
    two = len(known) == 2
    part = kind == "J48" and any(_HELD_OUT.search(options[0]) for options in _OPTIONS.finditer(text))
    if forest and (gaps or not whole):
        expected = "no missing values in the columns of a forest: records with some go down several branches in parts"
        raise invalid(source, "document", "numbers", expected, shorten(gaps) if gaps else "fractions")
    may_lack = frozenset(gaps if training is not None else () if whole else tested)
    weighted = not whole and not may_lack
    undecided = False
    if whole and not may_lack:
        trees = [Tree(tuple(nodes_of(tree, classes, states=not part, two=two))) for tree in parsed]
    else:
        if any("!=" in node.signs for node in parsed[0] if isinstance(node, Split)) and training is None:
            expected = "the values that != leaves, with train=, where records lack values"
            raise invalid(source, "document", "tests", expected, "none")
        made = parts_of(parsed[0], classes, training, states=not part, two=two)
        tree, undecided = fractional_tree(source, made, classes, may_lack, weighted=weighted)
        trees = [tree]
    sums = {sum(leaf.n or 0 for leaf in tree.leaves) for tree in trees}
    if forest and (len(sums) > 1 or not min(sums)):
        raise invalid(source, "document", "numbers", "as many records in every tree", f"{sorted(sums)}")
    release = assemble(
        source,
        trees,
        classes,
        wanted,
        training,
        predicts="mean" if forest else "label",
        resampled=sums.pop() if forest else None,
        labels="decided" if may_lack or weighted else "majority",
    )
    if training is not None and not forest and not part and not weighted:
        check_leaves(source, release, training, _ADVICE, empty=True)
    exact = is_exact(kind, parsed, training)
    lost = [_CRITERION]
    if part:
        lost.append("counts and sizes: with -R those printed are of some of the records")
    elif weighted:
        lost.append("counts and sizes: records were weighted")
    elif may_lack:
        lost.append(_FRACTIONS)
    elif kind == "Id3":
        lost.append("counts and sizes, which Id3 does not print")
    elif any(leaf.counts is None for tree in trees for leaf in tree.leaves):
        lost.append("counts of more than two classes: only the records that are not of the label are printed")
    lost += [_UNDECIDED] if undecided else []
    if not exact:
        lost.append(_ROUNDED)
    if wanted.classes is None and not known:
        lost.append("classes that no leaf predicts, which --classes, or --train and --target, give")
    aside = DRAWN if forest or part or (kind == "REPTree" and _FOLDS.search(text)) else ""
    return Converted(release, f"Weka {'RandomForest' if forest else kind}", tuple(lost), exact, aside=aside)


def _parsed(
    source: str, text: str, classes: tuple[str, ...], names: Sequence[str]
) -> tuple[str, list[list[Leaf | Split]], bool]:
    """The kind of the trees, their nodes, and whether they are a forest."""
    if START.match(text) is not None:
        kind, graph = parse_graph(source, text, classes)
        return kind, [graph], False
    found = list(drawn(text.split("\n"), names))
    if not found:
        expected = f"a tree of Weka: {', '.join(dict.fromkeys(TITLES.values()))}, printed whole"
        raise invalid(source, "document", "content", expected, "none")
    kind = found[0][0]
    forest = re.search("^(?:RandomForest|Bagging with)", text, re.MULTILINE) is not None
    if len({kind for kind, _ in found}) > 1 or (len(found) > 1 and not forest):
        expected = "one tree, or a forest of trees of one kind"
        raise invalid(source, "document", "content", expected, f"{len(found)} trees")
    labels = (*classes, "null") if classes and kind == "Id3" else classes
    return kind, [parse_tree(source, tree, labels, names) for _, tree in found], forest
