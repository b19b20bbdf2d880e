"""Whether a release that is held as arrays is sure to be sound, without an object for each node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from maxent.models.arrays import IntArray, run_ends
from maxent.models.columns import NOTHING, Columns, Statements
from maxent.models.errors import Problem
from maxent.models.formats.maxent_json.check_counts import Publication
from maxent.models.formats.maxent_json.fields import Fields
from maxent.models.formats.maxent_json.parse import parse_head, parse_tree_head
from maxent.models.formats.maxent_json.typed.numbers import sound_answers, sound_numbers
from maxent.models.formats.maxent_json.typed.splits import levels_of, sound_splits
from maxent.models.nodes import Nodes
from maxent.models.release_content import Content
from maxent.models.text.arguments import LARGEST_COUNT


def is_sound(release: Content, head: Mapping[str, object], heads: Sequence[dict[str, object]]) -> bool:
    """Whether every rule of the format is surely kept.

    ``head``: the document of it without its trees. ``heads``: the documents of the trees without their nodes.
    """
    trees = [tree.nodes.columns for tree in release.trees if isinstance(tree.nodes, Nodes)]
    if len(trees) < len(release.trees) or not all(_is_plain(nodes, release) for nodes in trees):
        return False
    problems: list[Problem] = []
    parsed = parse_head(head, problems)
    if parsed is None or problems:
        return False
    _, content, names = parsed
    different = {repr(each): each for each in heads}.values()
    for each in different:
        parse_tree_head(Fields(problems, "", each, ("induction", "weight", "class")), "", names)
    if problems:
        return False
    nodes, ends = _joined(trees)
    return are_sound(nodes, ends, Publication.of(content)) and sound_answers(
        replace(content, trees=release.trees), nodes
    )


def are_sound(nodes: Columns, tree_ends: IntArray, publication: Publication) -> bool:
    """Whether nodes of all trees, which end at ``tree_ends``, surely keep every rule by themselves and together."""
    if not _is_each_sound(nodes):
        return False
    levels = levels_of(nodes, tree_ends[:-1])
    return bool(levels) and sound_splits(nodes) and sound_numbers(nodes, tree_ends, levels, publication)


def _is_plain(nodes: Columns, release: Content) -> bool:
    """Whether nodes state nothing that is seldom, of the attributes and classes of their release."""
    seldom = (nodes.scores, nodes.hessian, nodes.mean, nodes.variance)
    if any(each is not None for each in seldom) or nodes.statements.shares or nodes.parts:
        return False
    mine = [(attribute.name, attribute.type, attribute.values, attribute.missing) for attribute in nodes.attributes]
    if mine != [(a.name, a.type, a.values, a.missing) for a in release.attributes]:
        return False
    return tuple(nodes.classes) == release.target.classes and all(nodes.ids)


def _is_each_sound(nodes: Columns) -> bool:
    """Whether nothing is wrong with any node by itself, whatever the others are."""
    said = nodes.statements
    inner, n_values = nodes.attribute != NOTHING, np.diff(nodes.value_ends)
    labelled, rated, scored = said.label != NOTHING, ~np.isnan(said.rate), ~np.isnan(nodes.value)
    wrong = ((np.diff(nodes.branch_ends) > 0) != inner) | (inner & (labelled | rated | scored)) | (rated & ~labelled)
    wrong |= (said.n < NOTHING) | (said.n > LARGEST_COUNT) | (said.distinct < NOTHING) | np.isinf(nodes.value)
    wrong |= rated & ~((said.rate >= 0) & (said.rate <= 1))
    tested = np.repeat(nodes.attribute, np.diff(nodes.branch_ends))
    categorical = np.array([attribute.values is not None for attribute in nodes.attributes], bool)[tested]
    gaps = np.array([attribute.missing for attribute in nodes.attributes], bool)[tested]
    bounded, told = ~np.isnan(nodes.gt) | ~np.isnan(nodes.le), nodes.missing != NOTHING
    untested = np.where(categorical, bounded | told | (n_values == 0), ~(bounded | told) | (n_values > 0))
    untested |= (nodes.gt >= nodes.le) | np.isinf(nodes.gt) | np.isinf(nodes.le)
    untested |= ((nodes.missing == 1) & ~gaps) | ((nodes.missing == 0) & bounded)
    counts = (said.count <= 0) | (said.count > LARGEST_COUNT)
    return not (wrong.any() or untested.any() or counts.any())


def _joined(trees: Sequence[Columns]) -> tuple[Columns, IntArray]:
    """All nodes as if of one tree, and where those of each end."""
    ends = run_ends(np.array([len(nodes) for nodes in trees], np.int64))
    if len(trees) == 1:
        return trees[0], ends
    child = [np.where(n.child == NOTHING, NOTHING, n.child + start) for n, start in zip(trees, ends, strict=False)]
    said = [nodes.statements for nodes in trees]
    return Columns(
        trees[0].attributes,
        trees[0].classes,
        list(chain.from_iterable(nodes.ids for nodes in trees)),
        np.concatenate([nodes.attribute for nodes in trees]),
        run_ends(np.concatenate([np.diff(nodes.branch_ends) for nodes in trees])),
        np.concatenate(child),
        np.concatenate([nodes.le for nodes in trees]),
        np.concatenate([nodes.gt for nodes in trees]),
        np.concatenate([nodes.missing for nodes in trees]),
        run_ends(np.concatenate([np.diff(nodes.value_ends) for nodes in trees])),
        np.concatenate([nodes.values for nodes in trees]),
        np.concatenate([nodes.value for nodes in trees]),
        Statements(
            np.concatenate([each.label for each in said]),
            np.concatenate([each.rate for each in said]),
            np.concatenate([each.n for each in said]),
            np.concatenate([each.distinct for each in said]),
            np.concatenate([each.counted for each in said]),
            run_ends(np.concatenate([np.diff(each.count_ends) for each in said])),
            np.concatenate([each.count_class for each in said]),
            np.concatenate([each.count for each in said]),
        ),
    ), ends
