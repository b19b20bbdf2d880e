"""Folders that Spark MLlib saves of trees: alone, in a pipeline, or as the best model of a search."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import uncollected
from maxent.models.formats.conversion import Converted, Wanted
from maxent.models.formats.json_values import Values
from maxent.models.formats.pmml.ensembles import Ensemble, Member
from maxent.models.formats.pmml.expressions.pieces import Column, Expr, Special, Unknown, Value, identity
from maxent.models.formats.pmml.fields import Scope
from maxent.models.formats.pmml.inputs import Input
from maxent.models.formats.pmml.release import Conversion, Model, with_target
from maxent.models.formats.pmml.xml_document import Element
from maxent.models.formats.release_reader import Head, model_reader
from maxent.models.formats.spark.features import Features, replaced_by
from maxent.models.formats.spark.folder import column, kind, metadata, parameters, stages, table
from maxent.models.formats.spark.stages import STAGES
from maxent.models.formats.spark.trees import Node, Split, Stated, nodes_of, splits_in, tree
from maxent.models.formats.training_columns import TrainingColumns, read_training
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Boosting
from maxent.models.tables.columns.missing_values import MISSING, OTHER
from maxent.models.tables.frame import shorten
from maxent.models.text.arguments import LARGEST_COUNT

_DEEPEST = 10
_SEARCHES = ("CrossValidatorModel", "TrainValidationSplitModel")
_MODELS = {
    "DecisionTreeClassificationModel": "label",
    "RandomForestClassificationModel": "mean",
    "GBTClassificationModel": "score",
}
_REGRESSIONS = ("DecisionTreeRegressionModel", "RandomForestRegressionModel", "GBTRegressionModel")


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """The folder of a model of trees, and the stages before it."""

    folder: Path
    about: Values
    before: Sequence[tuple[Path, Values]]


@uncollected()
def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a model, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    training = read_training(wanted, reader)
    found = _found(Path(os.fspath(path)), source)
    features = Features(source, training)
    for folder, about in found.before:
        features.take(folder, about, STAGES.get(kind(about)))
    options = parameters(found.about)
    if options.raw.get("thresholds"):
        options.refuse("thresholds", "none: the class is that of the largest share")
    target, labels = features.labels.get(options.text("labelCol", "label"), (None, ()))
    features.attributes.pop(target or "", None)
    wanted, training = with_target(wanted, target, training, reader)
    n = 2 if kind(found.about) == "GBTClassificationModel" else found.about.whole("numClasses", 2)
    if n > 10_000:
        found.about.refuse("numClasses", "at most 10,000")
    classes = tuple(labels[i] if i < len(labels) else str(i) for i in range(n))
    trees = _trees(found, source, classes)
    scope, attributes = _scope(found, features, options, trees, wanted, training)
    element = Element(source, "folder", 0, (), ())
    ensemble = _ensemble(found, source, trees, scope, classes)
    given = Input(scope, attributes, target, classes)
    tool = f"Spark MLlib {found.about.text('sparkVersion', '')}".strip()
    whole = options.raw.get("bootstrap") is False and options.raw.get("subsamplingRate") == 1
    return Conversion(Model(element, given, ensemble, tool, draws=False, whole=whole), wanted, training).converted()


def _found(folder: Path, source: str, depth: int = 0) -> _Found:
    """The model in a folder: itself, the last stage of a pipeline, or the best of a search."""
    about = metadata(folder)
    name = kind(about)
    if depth > _DEEPEST:
        raise invalid(source, "stages", "depth", f"at most {_DEEPEST} pipelines within each other", "more")
    if name in _SEARCHES:
        return _found(folder / "bestModel", source, depth + 1)
    if name == "PipelineModel":
        before: list[tuple[Path, Values]] = []
        for path in stages(folder, about):
            inner = metadata(path)
            if kind(inner) in _MODELS or kind(inner) in (*_REGRESSIONS, "PipelineModel", *_SEARCHES):
                found = _found(path, source, depth + 1)
                return _Found(found.folder, found.about, [*before, *found.before])
            before.append((path, inner))
        raise invalid(source, "stages", "class", f"one of {', '.join(_MODELS)}", "others")
    if name in _REGRESSIONS:
        about.refuse("class", "a model of classes (of a regression: bin the target)")
    if name not in _MODELS:
        about.refuse("class", f"PipelineModel, or one of {', '.join(_MODELS)}")
    return _Found(folder, about, ())


_Tree = tuple[dict[int, Node], float]


def _trees(found: _Found, source: str, classes: Sequence[str]) -> list[_Tree]:
    """The nodes of each tree by their numbers, and its weight."""
    rows = table(found.folder / "data")
    scored = _MODELS[kind(found.about)] == "score"
    counts = column(rows, "rawCount", (int,), source) if "rawCount" in rows else None
    stats = column(rows, "impurityStats", (list,), source)
    predictions = column(rows, "prediction", (float,), source)
    leaf = [left < 0 for left in column(rows, "leftChild", (int,), source)]

    def state(at: int) -> Stated:
        said = () if counts is None else ("recordCount", str(max(counts[at], 0)))
        if scored:
            return (*said, "score", repr(predictions[at])), ()
        numbers = stats[at]
        if len(numbers) != len(classes) or not all(
            isinstance(number, (int, float)) and 0 <= number <= LARGEST_COUNT for number in numbers
        ):
            raise invalid(source, f"row {at + 1}", "impurityStats", f"{len(classes)} sums of weights", "others")
        if not leaf[at]:
            return said, ()
        code = predictions[at]
        if not 0 <= code < len(classes) or code != int(code):
            raise invalid(source, f"row {at + 1}", "prediction", f"a code below {len(classes)}", repr(code))
        shares = tuple(
            Element(source, "ScoreDistribution", 0, ("value", name, "recordCount", repr(float(number))))
            for name, number in zip(classes, numbers, strict=True)
        )
        return (*said, "score", classes[int(code)]), shares

    nodes = nodes_of(rows, source, state)
    ids = column(rows, "id", (int,), source)
    owner = column(rows, "treeID", (int,), source) if "treeID" in rows else [0] * len(ids)
    weights = _weights(found.folder, source, max(owner, default=0) + 1 if "treeID" in rows else 1)
    trees: list[_Tree] = [({}, weight) for weight in weights]
    for number, which, node in zip(ids, owner, nodes, strict=True):
        if not 0 <= which < len(trees) or number in trees[which][0]:
            raise invalid(source, f"node {number}", "id", "a number for each node of a tree", "another")
        trees[which][0][number] = node
    return trees


def _weights(folder: Path, source: str, n: int) -> list[float]:
    """The weights of trees."""
    if not (folder / "treesMetadata").is_dir():
        return [1.0] * n
    rows = table(folder / "treesMetadata")
    columns: list[list[Any]] = list(rows.values())
    if len(columns) != 3 or not all(isinstance(value, int) for value in columns[0]):
        raise invalid(source, "treesMetadata", "columns", "number, metadata and weight of each tree", "others")
    found = dict(zip(columns[0], columns[2], strict=True))
    if sorted(found) != list(range(n)) or not all(isinstance(value, float) for value in found.values()):
        raise invalid(source, "treesMetadata", "weights", f"one for each of {n} trees", str(len(found)))
    return [float(found[i]) for i in range(n)]


def _scope(
    found: _Found,
    features: Features,
    options: Values,
    trees: Sequence[_Tree],
    wanted: Wanted,
    training: TrainingColumns | None,
) -> tuple[Scope, Mapping[str, Attribute]]:
    """The features that are tested, and the attributes of the table."""
    splits = [split for nodes, _ in trees for split in splits_in(list(nodes.values()))]
    name = options.text("featuresCol", "features")
    scope = Scope()
    if not found.before:
        return scope, alone(scope, splits, wanted, training, str(found.folder))
    try:
        vector = features.vector(name)
    except Unknown as error:
        raise invalid(str(found.folder), "stages", shorten(name), str(error), "others") from None
    for split in splits:
        if split.feature >= len(vector):
            raise invalid(str(found.folder), "split", "featureIndex", f"below {len(vector)}", str(split.feature))
        scope.found[f"feature {split.feature}"] = vector[split.feature]
        scope.kinds[f"feature {split.feature}"] = "double"
    return scope, features.attributes


def alone(
    scope: Scope, splits: Sequence[Split], wanted: Wanted, training: TrainingColumns | None, source: str
) -> Mapping[str, Attribute]:
    """Features without a pipeline: columns by their places, codes for categories."""
    attributes: dict[str, Attribute] = {}
    sizes: dict[int, int] = {}
    others: set[int] = set()
    for split in splits:
        size = max(split.categories, *(int(code) + 1 for code in split.left), 0)
        sizes[split.feature] = max(sizes.get(split.feature, 0), size)
        if split.left and not split.categories:
            others.add(split.feature)
    for feature, size in sorted(sizes.items()):
        names = wanted.features
        if names is not None and feature >= len(names):
            raise invalid("options", "argument", "features", f"a name for feature {feature}", f"{len(names)} names")
        title = f"feature {feature}" if names is None else names[feature]
        trained = None if training is None else training.named(title)
        if training is not None and (trained is None or (size and trained.values is not None)):
            expected = (
                "columns of the training table as they are, which --features names (save the whole pipeline, which has "
                "what they were made of)"
            )
            raise invalid(source, f"feature {feature}", "column", expected, shorten(title))
        if size:
            rest = [OTHER] if feature in others else []
            cells = (*map(str, range(size)), *rest, MISSING)
            values: tuple[Value, ...] = (*map(float, range(size)), *[Special.STRANGE for _ in rest], Special.INVALID)
            scope.found[f"feature {feature}"] = Expr(Column(title, cells), values)
            attributes[title] = Attribute(title, "categorical", cells)
        else:
            scope.found[f"feature {feature}"] = replaced_by(identity(Column(title, None)), Special.INVALID)
            attributes[title] = Attribute(title, "numeric", missing=True)
        scope.kinds[f"feature {feature}"] = "double"
    return attributes


def _ensemble(found: _Found, source: str, trees: Sequence[_Tree], scope: Scope, classes: Sequence[str]) -> Ensemble:
    """The trees, and how they predict."""
    how = _MODELS[kind(found.about)]
    members = []
    for nodes, weight in trees:
        if how == "score":
            # Of a tree's value v the probability is 1 / (1 + exp(-2 v)).
            model = tree(source, nodes, 0, "regression")
            members.append(Member(model, scope, 2 * weight, classes[1]))
        else:
            members.append(Member(tree(source, nodes, 0, "classification"), scope, weight))
    if how == "score":
        return Ensemble(tuple(members), "score", Boosting("logit"), tuple(classes))
    return Ensemble(tuple(members), "mean" if how == "mean" else "label")


def _recognise(head: Head) -> bool:
    there = frozenset(head.entries)
    return "metadata" in there and bool(there & {"stages", "data", "bestModel"})


READER = model_reader("spark", "a folder that Spark MLlib saved of trees", (), convert, _recognise)
