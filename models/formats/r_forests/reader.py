"""The reader of tables of trees of R's ``ranger``, ``randomForest`` and ``gbm``, which their headers tell apart."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from maxent.models.arrays import IntArray
from maxent.models.columns import NOTHING
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.formats.assemble import assemble
from maxent.models.formats.conversion import Converted, Wanted
from maxent.models.formats.proof import reached_as_stated
from maxent.models.formats.r_forests.exchanged import with_true_classes
from maxent.models.formats.r_forests.forests import (
    RANDOM_FOREST,
    RANGER,
    Grown,
    classes_of_shares,
    random_forest_kinds,
    random_forest_tree,
    ranger_kinds,
    ranger_tree,
    splits_of,
)
from maxent.models.formats.r_forests.gbm import GBM, factors_of, gbm_tree, read_lists
from maxent.models.formats.r_forests.levels import Levels, read_levels
from maxent.models.formats.r_forests.tables import Table, are_whole, read_tables, tree_files
from maxent.models.formats.release_reader import Head, model_reader
from maxent.models.formats.training_columns import TrainingColumns, read_training
from maxent.models.nodes import Nodes, each
from maxent.models.reading import Reader
from maxent.models.release import Boosting, Release, Tree

_FRACTION = re.compile(r"-?[0-9]*\.[0-9]+(e[+-]?[0-9]+)?")
_LEVELS, _RATE, _BASE = "levels", "rate", "base"
_NO_COUNTS = "counts and sizes of leaves: the table has none, and labels are of the draws that grew the tree"
_SHARES = "shares of classes at leaves as statements: they are of the draws that grew the tree"
_BAG = "sizes of leaves: trees were grown from a bag of the rows (with bag.fraction = 1 and --train they are kept)"
_TIES = "how ties of votes are broken: at random"
_ONE = "the other trees of the model, if there are some: a folder of tree1.csv, tree2.csv, ... has all of them"
_START = "the score before the first tree, model$initF, which --param base=NUMBER gives"
_NUMBERS = "whether columns of numbers were factors, which levels.csv beside the tables tells"
_DIGITS = "digits of thresholds beyond the 15 that write.csv writes"


def convert(path: str | os.PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a table or a folder of them, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    tables = read_tables(path)
    if not tables:
        expected = "the tables of the trees: tree1.csv, tree2.csv, ..., or one table with a column of the tree"
        raise invalid(source, "folder", "files", expected, "none")
    folder = Path(path) if os.path.isdir(path) else Path(path).parent
    training = read_training(wanted, reader)
    levels = read_levels(source, folder, wanted, training)
    columns = {*tables[0].names}
    lost = [] if len(tables) > 1 else [_ONE]
    lost += [] if levels.stated else [_NUMBERS]
    if {*GBM} <= columns:
        return _gbm(source, tables, folder, levels, wanted, lost)
    for table in tables:
        _refuse_gaps(source, table, training)
    if {*RANGER} <= columns:
        return _ranger(source, tables, levels, wanted, lost)
    if {*RANDOM_FOREST} <= columns:
        kinds = random_forest_kinds(source, splits_of(tables, "split var", "split point"), levels)
        grown = [random_forest_tree(table, kinds, levels) for table in tables]
        return _voting(source, "R randomForest", grown, levels, wanted, lost)
    expected = "columns of treeInfo of ranger, getTree of randomForest, or pretty.gbm.tree of gbm"
    raise invalid(source, "file", "header", expected, "others")


def _refuse_gaps(source: str, table: Table, training: TrainingColumns | None) -> None:
    cell = "splitvarName" if "splitvarName" in table.names else "split var"
    tested = dict.fromkeys(table.column(cell))
    if training is not None and (gaps := [name for name in tested if name in training.gaps]):
        expected = "no missing values in the columns of the forest: the table does not say where they go"
        raise invalid(source, "document", "training table", expected, f"missing values of {', '.join(gaps)}")


def _ranger(source: str, tables: Sequence[Table], levels: Levels, wanted: Wanted, lost: list[str]) -> Converted:
    shares = classes_of_shares(tables[0], _known(wanted, levels))
    kinds = ranger_kinds(source, splits_of(tables, "splitvarName", "splitval"), levels)
    grown = [ranger_tree(table, kinds, levels, shares) for table in tables]
    if not shares:
        found = _voting(source, "R ranger", grown, levels, wanted, lost)
        return replace(found, release=with_true_classes(source, found.release, levels.training))
    classes = _known(wanted, levels) or tuple(shares.values())
    trees = [Tree(each.nodes, weight=1 / len(grown)) for each in grown]
    release = assemble(
        source, trees, classes, wanted, levels.training, known=levels.known, predicts="score", boosting=Boosting("none")
    )
    release = with_true_classes(source, release, levels.training)
    return _converted(release, "R ranger", grown, [*lost, _SHARES])


def _known(wanted: Wanted, levels: Levels) -> tuple[str, ...]:
    """The classes, where they are known."""
    stated = levels.stated.get(wanted.target or "", ())
    return wanted.classes or (levels.training.classes if levels.training is not None else ()) or stated


def _voting(
    source: str, tool: str, grown: Sequence[Grown], levels: Levels, wanted: Wanted, lost: list[str]
) -> Converted:
    """The release of trees that vote for classes."""
    labels = {node.label for tree in grown for node in each(tree.nodes) if node.label is not None}
    classes = _known(wanted, levels) or tuple(sorted(labels))
    if not labels <= {*classes} or (not _known(wanted, levels) and any(map(_FRACTION.fullmatch, labels))):
        expected = "classes of the target at leaves (of a regression: bin the target, and fit it anew)"
        raise invalid(source, "document", "prediction", expected, "others")
    several = len(grown) > 1
    release = assemble(
        source,
        [Tree(each.nodes) for each in grown],
        classes,
        wanted,
        levels.training,
        known=levels.known,
        predicts="vote" if several else "label",
        labels="decided",
    )
    return _converted(release, tool, grown, [*lost, _NO_COUNTS, *([_TIES] if several else [])])


def _gbm(
    source: str, tables: Sequence[Table], folder: Path, levels: Levels, wanted: Wanted, lost: list[str]
) -> Converted:
    training = levels.training
    names = wanted.features or (tuple(a.name for a in training.attributes) if training is not None else ())
    lists, factors = read_lists(folder), factors_of(source, tables, names, levels)
    grown = [gbm_tree(table, names, factors, lists, levels) for table in tables]
    classes = _known(wanted, levels) or ("0", "1")
    several = len(classes) > 2
    if len(classes) < 2 or (several and len(grown) % len(classes)):
        expected = "two classes, or as many trees of each class"
        raise invalid(source, "document", "trees", expected, f"{len(grown)} of {len(classes)} classes")
    rate, base = _number(wanted, _RATE), _number(wanted, _BASE)
    if several and base is not None:
        raise invalid("options", "argument", "parameters", "no base of several classes", f"{_BASE}={base:g}")
    boosting = Boosting("softmax" if several else "logit", rate=rate, base=base or 0.0)
    trees = [
        Tree(each.nodes, of_class=classes[i % len(classes)] if several else classes[1]) for i, each in enumerate(grown)
    ]

    def release_of(made: Sequence[Tree]) -> Release:
        known = levels.known
        return assemble(source, made, classes, wanted, training, known=known, predicts="score", boosting=boosting)

    release = release_of([replace(tree, nodes=_sized(here.nodes)) for tree, here in zip(trees, grown, strict=True)])
    if training is None or not reached_as_stated(release, replace(training, classes=())):
        release = release_of(
            [replace(tree, nodes=_unsized(here.nodes)) for tree, here in zip(trees, grown, strict=True)]
        )
        lost = [*lost, _BAG]
    lost += [] if base is not None or several else [_START]
    if not _known(wanted, levels):
        lost.append("the names of the classes, which --classes gives")
    if wanted.features is None:
        lost.append("the names of columns, which are taken to be those of --train in its order; --features gives them")
    return _converted(release, "R gbm", grown, lost)


def _sized(nodes: Nodes) -> Nodes:
    """A tree without the sizes of leaves of missing values: gbm writes those of the nodes above."""
    held = nodes.columns
    return _unsized(nodes, held.child[held.branch_ends[held.inner] + 2])


def _unsized(nodes: Nodes, rows: IntArray | None = None) -> Nodes:
    """A tree without the sizes of some of its nodes, or of all."""
    n = nodes.columns.statements.n.copy()
    n[slice(None) if rows is None else rows] = NOTHING
    return Nodes(replace(nodes.columns, statements=replace(nodes.columns.statements, n=n)))


def _number(wanted: Wanted, name: str) -> float | None:
    """A parameter that is a number."""
    problems: list[Problem] = []
    found = wanted.number(name, problems)
    if problems:
        raise InvalidInput("options", problems)
    return found


def _converted(release: Release, tool: str, grown: Sequence[Grown], lost: Sequence[str]) -> Converted:
    exact = are_whole([threshold for tree in grown for threshold in tree.thresholds])
    criterion = "the criterion, so that nothing follows from the choice of splits"
    return Converted(release, tool, (criterion, *lost, *(() if exact else (_DIGITS,))), exact)


def _recognise(head: Head) -> bool:
    header = re.sub(r'["\']', "", head.text.partition("\n")[0]).strip().replace(".", " ").split(",")
    kinds = (RANGER, RANDOM_FOREST, GBM)
    return any({*kind} <= {*header} for kind in kinds) or bool(tree_files(head.entries))


READER = model_reader(
    "r-forest",
    "tables of trees of R's ranger, randomForest or gbm as CSV (treeInfo, getTree, pretty.gbm.tree), or their folder",
    (),
    convert,
    _recognise,
    parameters=(_LEVELS, _RATE, _BASE),
)
