"""Reader of the tree tables of R's ``ranger``, ``randomForest`` and ``gbm``, told apart by their headers."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from maxent.models.arguments import shorten
from maxent.models.arrays import IntArray
from maxent.models.columns import NOTHING
from maxent.models.draws import Draws
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.assemble import assemble, packed
from maxent.models.formats.proof import TrainingColumns, counts_in_leaves, reached_as_stated, read_training
from maxent.models.formats.r.forest_tables import (
    RANDOM_FOREST,
    RANGER,
    WAY_OUT,
    ForestTable,
    GrownForest,
    Levels,
    are_whole,
    classes_of_shares,
    random_forest_kinds,
    random_forest_tree,
    ranger_kinds,
    ranger_tree,
    read_csv,
    read_levels,
    read_tables,
    splits_of,
    tree_files,
)
from maxent.models.formats.release_reader import Converted, Head, Wanted, model_reader
from maxent.models.nodes import Nodes, each
from maxent.models.reading import Reader
from maxent.models.release import Boosting, Branch, Node, Release, Tree
from maxent.models.tables.cells import MISSING
from maxent.models.trees.places import less_than

# Classes that ``treeInfo`` of ranger exchanged, as it does up to version 0.14.1.
#
# Where classes first appear in the data in another order than that of the levels, it calls the first that appears by
# the first level, and so on. The training table shows that order, and by how many of its rows each reading is right.

_MARGIN = 0.05  # by what share of the rows one reading has to be better than the other


def with_true_classes(source: str, release: Release, training: TrainingColumns | None) -> Release:
    """The release with the classes that were meant."""
    if training is None or not training.classes:
        expected = (
            "train= and target=: treeInfo of ranger up to 0.14.1 exchanges classes that first appear in the data in "
            "another order than that of the levels, which the training table tells"
        )
        raise invalid(source, "document", "classes", expected, "none")
    classes = release.target.classes
    column = training.frame.columns[release.target.name]
    texts = column.texts()
    seen = column.codes[column.codes >= 0]
    _, first = np.unique(seen, return_index=True)
    appearing = [texts[code] for code in seen[np.sort(first)].tolist()]
    if list(classes) == appearing or len(appearing) != len(classes):
        return release
    meant = dict(zip(classes, appearing, strict=True))
    other = replace(release, trees=tuple(_renamed(tree, meant) for tree in release.trees))
    counts = [here.tolist() for here in counts_in_leaves(release, training)]
    rows = sum(map(sum, (row for tree in counts for row in tree)))
    right = [
        sum(
            here[classes.index(label)]
            for tree, numbers in zip(reading.trees, counts, strict=True)
            for node, here in zip(tree.nodes, numbers, strict=True)
            if (label := _label(node)) is not None
        )
        for reading in (release, other)
    ]
    if abs(right[0] - right[1]) < _MARGIN * rows:
        expected = f"classes that fit the training table: {right[0]} of {rows} rows as printed"
        raise invalid(source, "document", "classes", expected, f"{right[1]} in the order in which classes appear")
    return release if right[0] > right[1] else other


def _label(node: Node) -> str | None:
    """The class of a leaf: that of its largest share."""
    if isinstance(node.value, Mapping):
        return max(node.value, key=node.value.__getitem__)
    return node.label


def _renamed(tree: Tree, meant: Mapping[str, str]) -> Tree:
    def node(of: Node) -> Node:
        if isinstance(of.value, Mapping):
            return replace(of, value={meant[c]: share for c, share in of.value.items()})
        return of if of.label is None else replace(of, label=meant[of.label])

    nodes: Sequence[Node] = tree.nodes
    return replace(tree, nodes=tuple(map(node, nodes)))


# How often each row was drawn for each tree, where the forest was asked to keep it (``keep.inbag``).
#
# A file ``inbag.csv`` beside the tables has a line for each row of the training table and a column for each tree, as
# ``write.csv(do.call(cbind, model$inbag.counts), "inbag.csv")`` of ranger and ``write.csv(model$inbag, "inbag.csv")``
# of randomForest write it, with or without the names of rows.

INBAG = "inbag.csv"


def read_draws(folder: Path, trees: int) -> Draws | None:
    """The draws in a file beside the tables, None where there is none."""
    file = folder / INBAG
    if not os.path.exists(file):
        return None
    source, counts = shown_path(file), [array("q") for _ in range(trees)]
    (_, header), *rows = read_csv(file)
    named = len(header) - trees  # the names of rows come first
    if named not in (0, 1) or not rows:
        expected = f"a column for each of {trees} trees, and a line for each row of the training table"
        raise invalid(source, "file", "header", expected, f"{len(header)} columns, {len(rows)} lines")
    for line, row in rows:
        for number, (cell, of) in enumerate(zip(row[named:], counts, strict=True), 1):
            if re.fullmatch("[0-9]{1,9}", cell) is None:
                raise invalid(source, f"line {line}", f"tree {number}", "how often the row was drawn", shorten(cell))
            of.append(int(cell))
    drawn = {sum(of) for of in counts}
    if len(drawn) > 1 or drawn == {0}:
        expected = "as many draws for each tree, at least 1"
        raise invalid(source, "file", "sums of columns", expected, shorten(sorted(drawn)))
    again = max(map(max, counts)) > 1
    return Draws(len(rows), drawn.pop(), again, counts=tuple(map(tuple, counts)))


# Trees of ``gbm`` (``pretty.gbm.tree``): what leaves add to a score, and a third child for missing values.
#
# Numbers below the split go left. A factor's split is the number of a list, from 0, in ``csplits.json`` (or
# ``csplits.csv``, a list on each line) beside the tables: for each level -1 for left, 1 for right, 0 for as if missing.

GBM = ("SplitVar", "SplitCodePred", "LeftNode", "RightNode", "MissingNode", "ErrorReduction", "Weight", "Prediction")
_FILES = ("csplits.json", "csplits.csv")
_LISTS = (
    'model$c.splits beside the tables: write(jsonlite::toJSON(model$c.splits), "csplits.json"), or '
    'writeLines(sapply(model$c.splits, paste, collapse = ","), "csplits.csv")'
)
_SIDE = {"-1": 0, "1": 1, "0": 2}


def read_lists(folder: Path) -> list[tuple[int, ...]] | None:
    """For each split of a factor the side of each level, 0 left, 1 right, 2 missing; None where there is no file."""
    file = next((folder / name for name in _FILES if (folder / name).exists()), None)
    if file is None:
        return None
    text = read_text(file).strip()
    if text.startswith("["):
        text = re.sub(r"\s", "", text)[1:-1].replace("],[", "]\n[")
    found = []
    for line in text.split("\n") if text else ():
        cells = line.strip("[] \t").replace(" ", "").split(",")
        if not {*cells} <= {*_SIDE}:
            expected = f"-1, 0 or 1 for levels: {_LISTS}"
            raise invalid(shown_path(file), "document", "content", expected, shorten(line))
        found.append(tuple(_SIDE[cell] for cell in cells))
    return found


def gbm_tree(
    table: ForestTable,
    names: Sequence[str],
    factors: frozenset[str],
    lists: Sequence[tuple[int, ...]] | None,
    levels: Levels,
) -> GrownForest:
    """A tree of gbm; rows are numbered from 0, and so are columns."""
    thresholds = array("d")
    return GrownForest(packed(table.source, _nodes(table, names, factors, lists, levels, thresholds)), thresholds)


def _nodes(
    table: ForestTable,
    names: Sequence[str],
    factors: frozenset[str],
    lists: Sequence[tuple[int, ...]] | None,
    levels: Levels,
    thresholds: array[float],
) -> Iterator[Node]:
    for at in range(len(table)):
        variable = table.whole(at, "SplitVar")
        if variable == -1:
            yield Node(str(at), n=_size(table, at), value=table.number(at, "Prediction"))
            continue
        name = names[variable]
        left, right, missing = (str(table.whole(at, side)) for side in GBM[2:5])
        if name in factors:
            yield Node(str(at), name, _sides(table, at, name, lists, levels, (left, right, missing)))
            continue
        threshold = table.number(at, "SplitCodePred")
        thresholds.append(threshold)
        most = less_than(threshold)
        branches = Branch(left, le=most), Branch(right, gt=most), Branch(missing, missing=True)
        yield Node(str(at), name, branches)


def _size(table: ForestTable, at: int) -> int | None:
    weight = table.number(at, "Weight")
    return int(weight) if weight.is_integer() and 0 <= weight < 2**53 else None


def _sides(
    table: ForestTable,
    at: int,
    name: str,
    lists: Sequence[tuple[int, ...]] | None,
    levels: Levels,
    below: tuple[str, str, str],
) -> tuple[Branch, ...]:
    """The branches of a test of a factor."""
    place = table.place(at)
    number = table.whole(at, "SplitCodePred")
    if lists is None:
        raise invalid(table.source, place, "SplitCodePred", _LISTS, f"the number of a list, {number}")
    values = levels.of(place, name)
    if not 0 <= number < len(lists) or len(lists[number]) != len(values):
        found = f"{len(lists[number])} levels" if 0 <= number < len(lists) else f"list {number} of {len(lists)}"
        raise invalid(
            table.source, place, "SplitCodePred", f"a list of the {len(values)} levels of {shorten(name)}", found
        )
    parts = [tuple(v for v, side in zip(values, lists[number], strict=True) if side == which) for which in range(3)]
    parts[2] = (*parts[2], MISSING)
    return tuple(Branch(child, values=part) for child, part in zip(below, parts, strict=True))


def factors_of(source: str, tables: Sequence[ForestTable], names: Sequence[str], levels: Levels) -> frozenset[str]:
    """The columns that are factors."""
    splits: dict[str, list[str]] = {}
    for table in tables:
        for at in range(len(table)):
            variable = table.whole(at, "SplitVar")
            if variable >= len(names):
                expected = f"the names of the model's columns in its order (features=), at least {variable + 1}"
                raise invalid(table.source, table.place(at), "SplitVar", expected, f"{len(names)} names")
            if variable >= 0:
                splits.setdefault(names[variable], []).append(table.cell(at, "SplitCodePred"))
    found = set()
    for name, of in splits.items():
        factor = levels.is_factor(name)
        if factor:
            found.add(name)
        elif factor is None and all(re.fullmatch("[0-9]{1,9}", split) for split in of):
            raise invalid(source, f"column {shorten(name)}", "levels", WAY_OUT, "whole numbers, of lists or not")
    return frozenset(found)


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
    draws = read_draws(folder, len(tables))
    if {*RANGER} <= columns:
        return _drawn(_ranger(source, tables, levels, wanted, lost), draws)
    if {*RANDOM_FOREST} <= columns:
        kinds = random_forest_kinds(source, splits_of(tables, "split var", "split point"), levels)
        grown = [random_forest_tree(table, kinds, levels) for table in tables]
        return _drawn(_voting(source, "R randomForest", grown, levels, wanted, lost), draws)
    expected = "columns of treeInfo of ranger, getTree of randomForest, or pretty.gbm.tree of gbm"
    raise invalid(source, "file", "header", expected, "others")


def _drawn(found: Converted, draws: Draws | None) -> Converted:
    """A forest with the draws of its trees."""
    if draws is None:
        return found
    return replace(found, release=replace(found.release, resampled=draws.drawn, draws=draws))


def _refuse_gaps(source: str, table: ForestTable, training: TrainingColumns | None) -> None:
    cell = "splitvarName" if "splitvarName" in table.names else "split var"
    tested = dict.fromkeys(table.column(cell))
    if training is not None and (gaps := [name for name in tested if name in training.gaps]):
        expected = "no missing values in the columns of the forest: the table does not say where they go"
        raise invalid(source, "document", "training table", expected, f"missing values of {', '.join(gaps)}")


def _ranger(source: str, tables: Sequence[ForestTable], levels: Levels, wanted: Wanted, lost: list[str]) -> Converted:
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
    source: str, tool: str, grown: Sequence[GrownForest], levels: Levels, wanted: Wanted, lost: list[str]
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
    source: str, tables: Sequence[ForestTable], folder: Path, levels: Levels, wanted: Wanted, lost: list[str]
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


def _converted(release: Release, tool: str, grown: Sequence[GrownForest], lost: Sequence[str]) -> Converted:
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
