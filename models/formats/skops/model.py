"""Models of scikit-learn that skops saved, of any version: trees, ensembles, and pipelines that end in one.

The file is read here, and not by the library: that can load trees only of the version that is installed, and has no
bound for what an archive holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from itertools import islice
from os import PathLike
from typing import Any

import numpy as np

from maxent.models.errors import ARGUMENT, InvalidInput, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import uncollected
from maxent.models.formats.conversion import NUMERIC, UNNAMED, Converted, Wanted
from maxent.models.formats.proof import check_leaves
from maxent.models.formats.release_reader import model_reader
from maxent.models.formats.scikit_learn.class_weights import unweighed
from maxent.models.formats.scikit_learn.ensemble import aside_of
from maxent.models.formats.scikit_learn.pipelines.outputs import n_outputs, outputs_of
from maxent.models.formats.scikit_learn.pipelines.undo import is_pipeline, release_of
from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.formats.skops.archive import Archive
from maxent.models.formats.skops.objects import Objects, StoredTree, check_links
from maxent.models.formats.skops.table import kinds_of, table_of, texts_of
from maxent.models.formats.training_columns import TrainingColumns, read_training
from maxent.models.reading import Reader
from maxent.models.release import Release
from maxent.models.tables.frame import missing_columns, shorten
from maxent.models.text.hints import close_to

_MOST_CELLS = 2**20  # nodes times classes, or columns, that a file may state, beside one for each byte of it

# Errors of models whose attributes are not those of a model
_WRONG = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


_ADVICE = "the table that the model was fitted on, whole; with sample weights of 0, without their rows"


@uncollected()
def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a model, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    archive = Archive(path)
    training = read_training(wanted, reader)
    try:
        model = Objects(archive).made(archive.schema())
        model = _about_one(source, model, wanted)
        final = _final(model)
        if type(final).__name__.endswith("Regressor") and not any(wanted.numeric().values()):
            expected = "a classifier; or of a regression bins of the target, or its values: --bins 0,20,50"
            raise invalid(source, "document", "model", expected, type(final).__name__)
        _check_size(source, final, archive.size)
        release, aside, alike = _release(source, model, wanted, training), aside_of(final), unweighed(final)
    except InvalidInput:
        raise
    except _WRONG as error:
        expected = "a model as scikit-learn and skops save it"
        raise invalid(source, "document", "content", expected, f"{type(error).__name__}: {str(error)[:100]}") from None
    if training is not None and release.resampled is None:
        stated = any(leaf.n is not None for tree in release.trees for leaf in tree.leaves)
        check_leaves(source, release, training, _ADVICE, empty=not stated)
    version = getattr(final, "_sklearn_version", None)
    known = isinstance(version, str) and re.fullmatch(r"[0-9][0-9a-z.]{0,20}", version)
    tool = f"scikit-learn {version}" if known else "scikit-learn"
    return Converted(release, tool, tuple(_lost(release)), aside=aside, alike=alike)


def _final(model: Any) -> Any:
    """The last step of pipelines."""
    while is_pipeline(model):
        model = model.steps[-1][1]
    return model


def _about_one(source: str, model: Any, wanted: Wanted) -> Any:
    """A model of several outputs as that of one, which the parameter ``output`` is: 1, or of three 1/3."""
    outputs, asked = n_outputs(model), wanted.parameters.get("output")
    if outputs == 1 and asked is None:
        return model
    stated = re.fullmatch(r"([0-9]{1,3})(?:/([0-9]{1,3}))?", asked or "")
    if stated is None or int(stated[1]) >= outputs or int(stated[2] or outputs) != outputs:
        several = f"the output of one of {outputs} sensitive columns, from 0 to {outputs - 1} (maxent review takes all)"
        expected = several if outputs > 1 else "no output: the model is about one sensitive column"
        raise invalid(source, ARGUMENT, "parameters", expected, "nothing" if asked is None else f"output={asked}")
    return next(islice(outputs_of(model), int(stated[1]), None))


def _steps(model: Any) -> list[Any]:
    """The steps of pipelines that do something before the last."""
    found: list[Any] = []
    while is_pipeline(model):
        found += [step for _, step in model.steps[:-1] if step is not None and step != "passthrough"]
        model = model.steps[-1][1]
    return found


def _check_size(source: str, model: Any, size: int) -> None:
    """Refuse what would take far more memory than the file, and trees with columns or values that are not there."""
    width = model.n_features_in_
    trees = list(_trees(model))
    classes = max(1, *(len(getattr(each, "classes_", ())) for each in (model, *_members(model))))
    cells = sum(len(tree.value) for tree in trees) * classes
    if type(width) is not int or not 0 < width <= _MOST_CELLS or cells > _MOST_CELLS + size:
        found = f"{cells:,} numbers, of {shorten(width)} columns"
        raise invalid(source, "document", "size", f"at most {_MOST_CELLS + size:,} numbers in nodes", found)
    for member in _members(model) or (model,):
        if isinstance(getattr(member, "tree_", None), StoredTree):
            _check_tree(source, member)
    for predictor in _predictors(model):
        _check_predictor(source, predictor, width)


def _members(model: Any) -> tuple[Any, ...]:
    """The trees of an ensemble that are models themselves."""
    found = getattr(model, "estimators_", ())
    return tuple(np.asarray(found, object).ravel().tolist()) if isinstance(found, (list, np.ndarray)) else ()


def _trees(model: Any) -> Iterator[StoredTree]:
    for member in (model, *_members(model)):
        if isinstance(getattr(member, "tree_", None), StoredTree):
            yield member.tree_


def _check_tree(source: str, member: Any) -> None:
    """Refuse a tree that tests columns, or has numbers of classes, that its model has not."""
    tree = member.tree_
    inner = tree.children_left >= 0
    tested = tree.feature[inner]
    classes = len(member.classes_) if hasattr(member, "classes_") else 1
    outputs = tree.value.shape[1] if getattr(member, "n_outputs_", 1) == 1 else 1
    if len(tested) and not 0 <= tested.min() <= tested.max() < member.n_features_in_:
        raise invalid(source, "document", "feature", f"columns below {member.n_features_in_}", str(tested.max()))
    if outputs != 1 or tree.value.shape[2] != classes or (tree.n_node_samples < 0).any():
        raise invalid(source, "document", "values", f"numbers of {classes} classes", f"shape {tree.value.shape}")


def _predictors(model: Any) -> Iterator[Any]:
    for iteration in getattr(model, "_predictors", ()):
        yield from iteration


def _check_predictor(source: str, predictor: Any, width: int) -> None:
    """Refuse a tree of histogram boosting whose nodes are none."""
    nodes = predictor.nodes
    leaf = nodes["is_leaf"] != 0
    left, right = (np.where(leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
    check_links(source, left, right)
    tested = nodes["feature_idx"].astype(np.int64)
    if not np.isfinite(nodes["value"]).all() or not ((tested >= 0) & (tested < width)).all():
        raise invalid(source, "document", "nodes", f"finite values, and columns below {width}", "others")


def _release(source: str, model: Any, wanted: Wanted, training: TrainingColumns | None) -> Release:
    """The model as a release: about the columns that it was given, or those before the steps of its pipeline."""
    final, steps = _final(model), _steps(model)
    target = wanted.target or UNNAMED
    if training is not None:
        names = _names(steps[0] if steps else final, wanted, training)
        if lacking := missing_columns(training.frame, names):
            raise InvalidInput(training.frame.source, lacking)
        more = [name for name in wanted.qi or () if name not in names and training.named(name) is not None]
        texts = texts_of(steps, names)
        table = table_of(training, (*names, *more), texts)
        named: dict[str, Any] = {"target": target, "classes": wanted.classes, "qi": wanted.qi, **wanted.numeric()}
        release = release_of(model, table, **named)
        _check_named(source, release, {a.name for a in training.attributes if a.values is None} - {*texts}, steps)
        return release
    if steps:
        expected = "the training table, which --train gives: only its values tell what steps before the model do"
        raise invalid(source, "document", "steps", expected, shorten(", ".join(type(step).__name__ for step in steps)))
    columns = _names(final, wanted, None)
    if unknown := [name for name in wanted.qi or () if name not in columns]:
        found = f"{unknown[0]}{close_to(unknown[0], columns)}"
        raise invalid("options", ARGUMENT, "qi", "attributes of the model", found)
    private = () if wanted.qi is None else [name for name in columns if name not in wanted.qi]
    said: dict[str, Any] = {"classes": wanted.classes, **wanted.numeric()}
    return from_sklearn(final, target=target, features=columns, private=private, **said)


def _check_named(source: str, release: Release, numeric: Set[str], steps: Sequence[Any]) -> None:
    """Refuse bins as indicators: where other numbers than those of the training table go would not be known."""
    names = [attribute.name for attribute in release.attributes if attribute.values is not None]
    if "KBinsDiscretizer" in kinds_of(steps) and (lost := [name for name in names if name in numeric]):
        expected = "bins in their order: fit again with KBinsDiscretizer(encode='ordinal')"
        raise invalid(source, f"column {lost[0]}", "steps", expected, "an indicator of each bin")


def _names(first: Any, wanted: Wanted, training: TrainingColumns | None) -> tuple[str, ...]:
    """The names of the columns that a model or its first step was given."""
    stored = getattr(first, "feature_names_in_", None)
    if stored is not None:
        return tuple(map(str, stored))
    if wanted.features is not None:
        return wanted.features
    if training is None or len(training.attributes) != first.n_features_in_:
        expected = "the names of the columns, which --features gives: the model was fitted without"
        raise invalid("options", ARGUMENT, "features", expected, "none")
    return tuple(attribute.name for attribute in training.attributes)


def _lost(release: Release) -> Iterator[str]:
    """What the release does not state of the records."""
    leaves = [leaf for tree in release.trees for leaf in tree.leaves]
    if release.target.numbers is None and all(leaf.counts is None for leaf in leaves):
        yield "counts and labels of leaves: the model has scores, or shares of records that weigh differently"
    if all(leaf.n is None for leaf in leaves):
        yield "sizes of leaves: they are not surely those of all records; --train may prove them"
    if all(tree.induction.impurity is None for tree in release.trees):
        yield "which splits competed"


READER = model_reader(
    "skops",
    "a model of scikit-learn that skops saved",
    (".skops",),
    convert,
    lambda head: re.match(rb"PK\x03\x04.{26}[0-9]+\.npy", head.start, re.DOTALL) is not None,
    parameters=(*NUMERIC, "output"),
)
