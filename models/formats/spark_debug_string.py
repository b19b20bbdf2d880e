"""Text that ``toDebugString`` of Spark MLlib prints of trees: places of features, and codes of categories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike

from maxent.models.arguments import shorten
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.outline import Line, refuse
from maxent.models.formats.pmml.ensembles import PmmlEnsemble, PmmlMember
from maxent.models.formats.pmml.inputs import PmmlInput, Scope
from maxent.models.formats.pmml.release import Conversion, PmmlModel
from maxent.models.formats.pmml.xml_document import Element
from maxent.models.formats.proof import read_training
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.formats.spark import SparkNode, SparkSplit, alone, splits_in, tree
from maxent.models.reading import Reader
from maxent.models.release import Boosting

_HEAD = re.compile(r"(DecisionTree|RandomForest|GBT)(Classification|Regression)Model[: (][^\n]*")
_TREE = re.compile(r"Tree ([0-9]{1,6}) \(weight (-?[0-9.]{1,30}(?:E-?[0-9]{1,3})?)\):")
_FEATURE = r"\(feature ([0-9]{1,8}) "
_NUMBER = r"(-?[0-9.]{1,40}(?:E-?[0-9]{1,3})?)"
_CODES = r"\{([0-9.,]*)\}"
_LEFT = re.compile(rf"If {_FEATURE}(?:<= {_NUMBER}|in {_CODES})\)")
_RIGHT = re.compile(rf"Else {_FEATURE}(?:> {_NUMBER}|not in {_CODES})\)")
_LEAF = re.compile(rf"Predict: {_NUMBER}")
_WAY_OUT = "save the model, or the whole pipeline, into a folder: model.save(path)"
_LARGEST_CODE = 100_000
_START = Line(1, 0, "")


def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a text, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    text = enumerate(read_text(path).split("\n"), 1)
    lines = [Line(number, 0, line.strip()) for number, line in text if line.strip()]
    head = _HEAD.fullmatch(lines[0].text) if lines else None
    if head is None:
        raise invalid(source, "line 1", "text", "the name of a model of trees of Spark", "other text")
    if head[2] == "Regression":
        raise invalid(source, "line 1", "model", "a model of classes (of a regression: bin the target)", head[1])
    if head[1] == "RandomForest":
        expected = f"shares of classes at every leaf, by which a forest predicts ({_WAY_OUT})"
        raise invalid(source, "line 1", "model", expected, "a forest with labels only")
    scored = head[1] == "GBT"
    trees = _trees(source, lines[1:], several=scored)
    n = _n_classes(source, lines[0].text, trees, scored=scored)
    classes = tuple(map(str, range(n)))
    training = read_training(wanted, reader)
    scope = Scope()
    splits = [split for nodes, _ in trees for split in splits_in(list(nodes.values()))]
    attributes = alone(scope, splits, wanted, training, source)
    members = tuple(
        PmmlMember(tree(source, nodes, 0, "classification"), scope, 2 * weight, classes[1] if scored else None)
        for nodes, weight in trees
    )
    ensemble = PmmlEnsemble(members, "score", Boosting("logit"), classes) if scored else PmmlEnsemble(members, "label")
    given = PmmlInput(scope, attributes, None, classes)
    element = Element(source, "text", 1)
    found = Conversion(PmmlModel(element, given, ensemble, "Spark MLlib"), wanted, training).converted()
    lost = [*found.lost, f"counts and sizes of leaves ({_WAY_OUT})"]
    if wanted.features is None:
        lost.append("names of columns, which --features gives")
    if wanted.classes is None:
        lost.append("names of classes, which Spark numbers by their frequency and --classes gives")
    if any(split.left for split in splits):
        lost.append("names of categories: they are codes")
    return Converted(found.release, found.tool, tuple(lost), found.exact)


_Tree = tuple[dict[int, SparkNode], float]


def _trees(source: str, lines: Sequence[Line], *, several: bool) -> list[_Tree]:
    """The trees, and their weights."""
    if not several:
        return [(_nodes(source, lines), 1.0)]
    starts = [i for i, line in enumerate(lines) if line.text.startswith("Tree ")]
    if not starts or starts[0] != 0:
        refuse(source, lines[0] if lines else _START, "Tree 0 (weight 1.0):")
    found = []
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(lines)], strict=True)):
        match = _TREE.fullmatch(lines[start].text)
        if match is None or int(match[1]) != number:
            refuse(source, lines[start], f"Tree {number} (weight 1.0):")
        found.append((_nodes(source, lines[start + 1 : end]), _number(source, lines[start], match[2])))
    return found


def _nodes(source: str, lines: Sequence[Line]) -> dict[int, SparkNode]:
    """The nodes of a tree, in the order of the text."""
    splits: dict[int, SparkSplit] = {}
    texts: dict[int, str] = {}
    below: dict[int, list[int]] = {}
    leaves: dict[int, str] = {}
    stack: list[int | None] = [None]
    at = number = 0
    # Each entry is the node above the next one, and whether the words of its other branch come first.
    turned: set[int] = set()
    while stack:
        above = stack.pop()
        if at == len(lines):
            refuse(source, lines[-1] if lines else _START, "both branches of every test")
        if above is not None and above in turned:
            match = _RIGHT.fullmatch(lines[at].text)
            if match is None or match.group(1, 2, 3) != _LEFT.fullmatch(texts[above]).group(1, 2, 3):  # type: ignore[union-attr]
                refuse(source, lines[at], f"the other branch of {shorten(texts[above])}")
            at += 1
            if at == len(lines):
                refuse(source, lines[-1], "both branches of every test")
        line = lines[at]
        node, number, at = number, number + 1, at + 1
        if above is not None:
            below[above].append(node)
            turned.add(above)
        leaf, test = _LEAF.fullmatch(line.text), _LEFT.fullmatch(line.text)
        if leaf is not None:
            leaves[node] = repr(_number(source, line, leaf[1]))
        elif test is not None:
            splits[node], texts[node], below[node] = _split(source, line, test), line.text, []
            stack += [node, node]
        else:
            refuse(source, line, "If (feature 0 <= 0.5), or Predict: 0.0")
    if at < len(lines):
        refuse(source, lines[at], "the end of the tree, as it is complete")
    inner = {node: SparkNode((pair[0], pair[1]), splits[node], ()) for node, pair in below.items()}
    return inner | {node: SparkNode(None, None, ("score", value)) for node, value in leaves.items()}


def _split(source: str, line: Line, test: re.Match[str]) -> SparkSplit:
    if test[2] is not None:
        return SparkSplit(int(test[1]), threshold=_number(source, line, test[2]))
    codes = [_number(source, line, code) for code in test[3].split(",") if code]
    if not codes or any(code != int(code) or not 0 <= code < _LARGEST_CODE for code in codes):
        refuse(source, line, "codes of categories")
    return SparkSplit(int(test[1]), left=tuple(codes))


def _number(source: str, line: Line, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = float("inf")
    if abs(found) == float("inf"):
        refuse(source, line, "a finite number")
    return found


def _n_classes(source: str, head: str, trees: Sequence[_Tree], *, scored: bool) -> int:
    """How many classes there are; predictions become the codes of their names."""
    said = re.search(r"numClasses=([0-9]{1,5})\b", head)
    if scored:
        return 2
    largest = 1
    nodes = trees[0][0]
    for number, node in list(nodes.items()):
        if node.below is None:
            code = float(node.pairs[1])
            if code != int(code) or not 0 <= code < _LARGEST_CODE:
                raise invalid(source, f"node {number}", "Predict", "the code of a class", node.pairs[1])
            nodes[number] = SparkNode(None, None, ("score", str(int(code))))
            largest = max(largest, int(code))
    n = int(said[1]) if said is not None else largest + 1
    if not 2 <= n <= _LARGEST_CODE or largest >= n:
        raise invalid(source, "line 1", "numClasses", f"more than {largest}", str(n))
    return n


READER = model_reader(
    "spark-text",
    "text that toDebugString of Spark MLlib prints of trees",
    (),
    convert,
    lambda head: (
        re.match(r"(DecisionTree|RandomForest|GBT)(Classification|Regression)Model[: (]", head.text) is not None
    ),
)
