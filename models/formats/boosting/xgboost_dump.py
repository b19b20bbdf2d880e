"""Trees that XGBoost dumped: no objective, no base score and no weights of trees, which a table or the caller proves.

Sums of hessians at leaves follow from the scores of the trees before. Of the training table, whole and without weights,
they prove which objective and which of the base scores that XGBoost estimates a dump was made under.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, log

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.formats.boosting.hessians import agrees, follows_gradients
from maxent.models.formats.boosting.xgboost import (
    PARAMETERS,
    GrownXgboost,
    XgboostModel,
    base_of,
    categorical,
    class_names,
    converted,
    link_of,
    numeric,
)
from maxent.models.formats.proof import TrainingColumns, read_training
from maxent.models.formats.release_reader import Converted, Wanted
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Branch, Link, Node
from maxent.models.tables.cells import MISSING, OTHER

# Names of what the caller may give: beside those of a model what a dump lacks, and how many trees grew in parallel
DUMP_PARAMETERS = (*PARAMETERS, "objective", "base_score", "parallel")

MOST_CODES = 2**20
_LARGEST = float(np.finfo(np.float32).max)
_UNPROVEN = (
    "the objective and the base score: a table (train=, target=) that gives the covers, of all rows, without weights, "
    "or --param objective=binary:logistic --param base_score=0.5, as the model has them; or save_model('model.json')"
)
_GIVEN = "the objective, the base score and that no trees were dropped (DART): they are what --param says"
_PROVEN = "the objective and the base score, which the sums of hessians of the training table tell"


@dataclass(frozen=True, slots=True)
class Row:
    """A node of a dump: a leaf with its score, or a test; ``cover`` is None of a dump without stats.

    Numbers below ``threshold``, or one of the ``codes`` of categories, go to ``yes``.
    """

    column: str = ""
    threshold: float | None = None
    codes: tuple[int, ...] | None = None
    yes: int = -1
    no: int = -1
    missing: int = -1
    value: float | None = None
    cover: float | None = None


Rows = Mapping[int, Row]  # the nodes of a tree by their numbers


def read_dump(source: str, trees: Sequence[Rows], wanted: Wanted, reader: Reader) -> Converted:
    """The release of a dump."""
    if not trees:
        raise invalid(source, "document", "trees", "at least one tree", "none")
    names = _names(source, trees, wanted)
    columns = tuple(_column(source, trees, name, shown) for name, shown in names.items())
    position = {name: i for i, name in enumerate(names)}

    def grown(of: Sequence[Attribute]) -> list[GrownXgboost]:
        return [_tree(source, f"tree {t}", rows, of, position) for t, rows in enumerate(trees)]

    training = read_training(wanted, reader)
    model = XgboostModel(source, "logit", (), columns, (), (), [1.0] * len(trees), False, 0.0, grown, "XGBoost")
    if {"objective", "base_score"} & {*wanted.parameters}:
        return converted(_as_said(model, wanted), wanted, training)
    covers = [tree.covers for tree in grown(columns)]
    stated = [cover for cover in covers if cover is not None]
    for candidate in _candidates(model, wanted, training) if len(stated) == len(trees) else ():
        try:
            found = converted(candidate, wanted, training)
        except InvalidInput:  # an order of names is not proven under this candidate
            continue
        assert training is not None
        proven = agrees(found.release, stated, candidate.iterations, training)
        if proven and follows_gradients(found.release, candidate.iterations, training):
            return found
    raise invalid(source, "document", "objective", _UNPROVEN, "neither")


def _names(source: str, trees: Sequence[Rows], wanted: Wanted) -> dict[str, str]:
    """The names of columns that are tested; f0, f1 and so on are those that the caller lists."""
    names = dict.fromkeys(row.column for rows in trees for row in rows.values() if row.column)
    if wanted.features is None:
        return {name: name for name in names}
    numbered = [re.fullmatch(r"f([0-9]{1,7})", name) for name in names]
    if all(match is not None and int(match[1]) < len(wanted.features) for match in numbered):
        return {match[0]: wanted.features[int(match[1])] for match in numbered if match is not None}
    unknown = [name for name in names if name not in wanted.features]
    if unknown:
        raise invalid(source, "document", "features", "the names of the columns of the dump", unknown[0][:40])
    return {name: name for name in names}


def _column(source: str, trees: Sequence[Rows], name: str, shown: str) -> Attribute:
    """A column: of numbers, or of codes of categories."""
    codes = [row.codes for rows in trees for row in rows.values() if row.column == name]
    listed = [code for each in codes if each is not None for code in each]
    if all(each is None for each in codes):
        return Attribute(shown, "numeric", missing=True)
    if None in codes or max(listed, default=0) >= MOST_CODES:
        raise invalid(source, f"column {name}", "split", "tests of numbers alone, or of codes of categories", "both")
    return Attribute(shown, "categorical", (*map(str, range(max(listed, default=0) + 1)), OTHER, MISSING))


def _tree(
    source: str, where: str, rows: Rows, columns: Sequence[Attribute], position: Mapping[str, int]
) -> GrownXgboost:
    """The nodes that the root reaches, in depth-first order, and their sums of hessians."""
    nodes: list[Node] = []
    covers: list[float | None] = []
    names = {at: str(at) for at in rows}  # an id is one object, wherever it stands
    stack, seen = [0], set()
    while stack:
        at = stack.pop()
        if at not in rows or at in seen:
            raise invalid(source, where, "yes, no", "nodes that are each below one other", f"node {at}")
        seen.add(at)
        row = rows[at]
        covers.append(row.cover)
        if row.value is not None:
            if abs(row.value) > _LARGEST:
                raise invalid(source, f"{where}, node {at}", "leaf", "a number of single precision", f"{row.value}")
            if row.cover is not None and not row.cover >= 0:
                raise invalid(source, f"{where}, node {at}", "cover", "a sum that is at least 0", f"{row.cover}")
            nodes.append(Node(names[at], value=float(np.float32(row.value)), hessian=row.cover))
            continue
        if row.missing not in (row.yes, row.no) or row.yes == row.no:
            raise invalid(source, f"{where}, node {at}", "missing", "one of yes and no", f"{row.missing}")
        column = columns[position[row.column]]
        branches: tuple[Branch, ...] | None
        if row.codes is not None and column.values is not None:
            # Codes that are named go to yes, which is the right side.
            below = (names.get(row.no, ""), names.get(row.yes, ""))
            branches = categorical(column.values, row.codes, below, row.missing == row.no)
        else:
            threshold = row.threshold if row.threshold is not None and abs(row.threshold) <= _LARGEST else None
            below = (names.get(row.yes, ""), names.get(row.no, ""))
            single = None if threshold is None else float(np.float32(threshold))
            branches = None if single is None else numeric(single, below, row.missing == row.yes)
            if branches is None:
                raise invalid(source, f"{where}, node {at}", "split", "a number of single precision", "another")
        nodes.append(Node(names[at], column.name, branches))
        stack += [row.no, row.yes]
    if len(seen) < len(rows):
        raise invalid(source, where, "nodes", "nodes that the first one leads to", f"{len(rows) - len(seen)} others")
    known = [cover for cover in covers if cover is not None and isfinite(cover)]
    return GrownXgboost(tuple(nodes), np.array(known) if len(known) == len(nodes) else None)


def _as_said(model: XgboostModel, wanted: Wanted) -> XgboostModel:
    """The model under the objective and the base score that the caller names."""
    objective, base_score = wanted.parameters.get("objective", ""), wanted.parameters.get("base_score")
    link = link_of("options", "argument", objective)
    classes = class_names(wanted, len(wanted.classes or ()) or 2 if objective.startswith("multi") else 2)
    base = None if base_score is None else base_of(base_score, link, classes)
    if base is None:
        expected = "base_score=NUMBER: a probability of binary:logistic" if link == "logit" else "base_score=NUMBER"
        raise invalid("options", "argument", "parameters", expected, f"base_score={base_score}"[:60])
    problems: list[Problem] = []
    parallel = wanted.number("parallel", problems) or 1.0
    if problems or not (parallel.is_integer() and 1 <= parallel <= len(model.weights)):
        problems = problems or [Problem("argument", "parameters", "parallel=1 or more", f"parallel={parallel:g}")]
        raise InvalidInput("options", problems)
    doubt = "several trees were grown for a class in each round (parallel)" if parallel > 1 else ""
    return replace(_ordered(model, link, classes, int(parallel)), base=base, lost=(_GIVEN,), doubt=doubt)


def _ordered(model: XgboostModel, link: Link, classes: tuple[str, ...], parallel: int = 1) -> XgboostModel:
    """The model with its trees in the order of training: those of each class, then of the next iteration."""
    n_groups = len(classes) if link == "softmax" else 1
    numbers = range(len(model.weights))
    if len(numbers) % (n_groups * parallel):
        expected = f"{n_groups * parallel} for each iteration"
        raise invalid(model.source, "document", "trees", expected, f"{len(numbers)}")
    groups = [t // parallel % n_groups for t in numbers]
    iterations = [t // (parallel * n_groups) for t in numbers]
    return replace(model, link=link, classes=classes, groups=groups, iterations=iterations)


def _candidates(model: XgboostModel, wanted: Wanted, training: TrainingColumns | None) -> Iterator[XgboostModel]:
    """The models of the classifiers and base scores that XGBoost trains under unless it is told others."""
    classes = wanted.classes or (training.classes if training is not None else ())
    if training is None or wanted.target is None or len(classes) < 2 or {*training.classes} - {*classes}:
        return
    column = training.frame.columns[wanted.target]
    texts = [*column.texts(), ""]
    y = [texts[code] for code in column.codes.tolist()]
    shares = np.array([y.count(name) for name in classes]) / max(len(y), 1)
    if (shares == 0).any():
        return
    if len(classes) == 2:
        share = float(shares[1])
        step = 4 * (share - 0.5)  # of Newton, from 0
        for base in (0.0, log(share / (1 - share)), step):
            yield replace(_ordered(model, "logit", classes), base=base, lost=(_PROVEN,))
    if len(model.weights) % len(classes) == 0:
        logs = np.log(shares)
        found: list[FloatArray] = [np.zeros(len(classes)), logs - logs.mean()]
        for scores in found:
            each = dict(zip(classes, scores.tolist(), strict=True))
            yield replace(_ordered(model, "softmax", classes), base=each, lost=(_PROVEN,))
