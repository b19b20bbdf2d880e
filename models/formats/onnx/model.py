"""Models in ONNX with one ensemble of trees, as skl2onnx, onnxmltools, LightGBM and CatBoost write them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from os import PathLike

import numpy as np

from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import bytes_of, uncollected
from maxent.models.files.protobuf import Malformed
from maxent.models.formats.assemble import assemble
from maxent.models.formats.conversion import Converted, Wanted
from maxent.models.formats.onnx.columns import Columns
from maxent.models.formats.onnx.document import Document, Operator, read_document
from maxent.models.formats.onnx.trees import Trees, trees_of
from maxent.models.formats.proof import counts_in_leaves
from maxent.models.formats.release_reader import Head, model_reader
from maxent.models.formats.training_columns import TrainingColumns, read_training
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Node, Release, Tree
from maxent.models.tables.columns.missing_values import MISSING, OTHER
from maxent.models.text.arguments import listing

# Operators after the trees that leave probabilities and labels what they are
_AFTER = frozenset({"Identity", "ZipMap", "Cast", "Reshape", "Flatten"})

_DIGITS = 6  # decimals of a rate that single precision is sure to hold


@uncollected()
def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a model, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    try:
        document = read_document(bytes_of(os.fspath(path)))
    except Malformed as error:
        raise invalid(source, "file", "content", "a model in ONNX", str(error)) from None
    operator = _ensemble(source, document)
    training = read_training(wanted, reader)
    features = wanted.features or _features(document, training)
    columns = Columns(source, document, features).of(operator.inputs[0] if operator.inputs else "")
    found = trees_of(source, operator, columns, wanted.classes, training.gaps if training else frozenset())
    known: dict[str, Attribute] = {}
    for column in columns:
        if column.values is not None:
            values = (*column.values, *[OTHER] * column.unseen)
            if {OTHER, MISSING} & {*column.values}:
                raise invalid(source, f"column {column.name}", "values", f"others than {OTHER} and {MISSING}", "these")
            known[column.name] = Attribute(column.name, "categorical", values)
        else:
            known.setdefault(column.name, Attribute(column.name, "numeric"))
    trees = [Tree(nodes, of_class=found.of_class) for nodes in found.trees]
    boosting = found.boosting
    release = assemble(source, trees, found.classes, wanted, training, known=known, predicts="score", boosting=boosting)
    proven = training is not None and _proves(release, found, training)
    if proven:
        release = _with_shares(release)
    return Converted(release, _producer(document), tuple(_lost(release, proven)))


def _features(document: Document, training: TrainingColumns | None) -> tuple[str, ...] | None:
    """The columns of a training table: all of them, or those of the inputs, in whose names other signs became ``_``."""
    if training is None:
        return None
    names = [attribute.name for attribute in training.attributes]
    if len(document.inputs) == 1:
        return tuple(names)
    plain = [re.sub(r"\W", "_", name) for name in names]
    found = [
        each.name if each.name in names else names[plain.index(each.name)]
        for each in document.inputs
        if each.name in names or plain.count(each.name) == 1
    ]
    return tuple(found) if len(set(found)) == len(document.inputs) else None


def _ensemble(source: str, document: Document) -> Operator:
    """The only ensemble of trees, after which nothing is done to what it says."""
    found = [each for each in document.operators if each.name.startswith("TreeEnsemble")]
    if len(found) != 1:
        expected = "one ensemble of trees (save a bag, AdaBoost or a stack with skops, or as PMML)"
        raise invalid(source, "graph", "operators", expected, f"{len(found)}")
    if found[0].name != "TreeEnsembleClassifier":
        expected = "TreeEnsembleClassifier, as classifiers are written: others do not name their classes"
        raise invalid(source, "graph", "operators", expected, found[0].name[:40])
    reached = set(found[0].outputs)
    for operator in document.operators:
        if reached & {*operator.inputs}:
            if operator.name not in _AFTER:
                expected = f"nothing done to the probabilities but {listing(sorted(_AFTER))}"
                raise invalid(source, "graph", "operators", expected, operator.name[:40])
            reached |= {*operator.outputs}
    return found[0]


def _proves(release: Release, found: Trees, training: TrainingColumns) -> bool:
    """Whether the leaves of a single tree have the shares of classes of the training table's records."""
    if len(release.trees) > 1 or not training.classes or release.boosting is None or release.boosting.link != "share":
        return False
    if {*training.classes} - {*found.classes}:
        return False
    [counts] = counts_in_leaves(release, training)
    for node, here in zip(release.trees[0].nodes, counts, strict=True):
        if node.is_leaf:
            stated = _shares(node, release)
            if not here.sum() or np.abs(here / here.sum() - stated).max() > 2e-7:
                return False
    return True


def _shares(node: Node, release: Release) -> np.typing.NDArray[np.float64]:
    value = node.value if isinstance(node.value, dict) else {}
    return np.array([value.get(c, 0.0) for c in release.target.classes])


def _with_shares(release: Release) -> Release:
    """The release of a tree whose leaves state the shares of classes, and their labels, beside their scores."""

    def stated(node: Node) -> Node:
        if not node.is_leaf:
            return node
        shares = _shares(node, release)
        rates = {c: round(float(s), _DIGITS) for c, s in zip(release.target.classes, shares, strict=True)}
        return replace(node, label=release.target.classes[int(shares.argmax())], rates=rates)

    [tree] = release.trees
    return replace(release, trees=(replace(tree, nodes=tuple(map(stated, tree.nodes))),))


def _lost(release: Release, proven: bool) -> Iterator[str]:
    yield "counts and sizes of leaves: ONNX has none"
    if not proven and release.boosting is not None and release.boosting.link == "share":
        yield "shares of classes of records: with weights or bootstraps leaves have others; --train may prove a tree's"
    yield "which splits competed"


def _producer(document: Document) -> str:
    """The program that wrote a model: CatBoost states much more of itself."""
    return document.producer.split("\n")[0].removesuffix("Git info:").strip()[:60] or "ONNX"


def _is_onnx(head: Head) -> bool:
    """Whether a file starts with a version of the format and then its producer or its graph, and names trees."""
    start = re.match(rb"\x08[\x03-\x20][\x12\x1a\x22\x32\x3a\x42]", head.start) is not None
    return start and (b"TreeEnsemble" in head.start or b"ai.onnx" in head.start or b"onnx" in head.start[:64].lower())


READER = model_reader("onnx", "a model in ONNX with an ensemble of trees", (".onnx",), convert, _is_onnx)
