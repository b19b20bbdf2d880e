"""Trees of a foreign model as a release: domains, roles and names that the trees themselves do not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.formats.conversion import UNNAMED, Wanted
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.tables.columns.missing_values import MISSING, OTHER
from maxent.models.text.hints import close_to

_ROUNDING = 1e-9
"""By how much a share may be off that was divided."""


def assemble(
    source: str,
    trees: Sequence[Tree],
    classes: Sequence[str],
    wanted: Wanted,
    training: TrainingColumns | None,
    *,
    target: str | None = None,
    known: Mapping[str, Attribute] | None = None,
    **how: Any,
) -> Release:
    """Make a release of trees whose attributes are only known by how they are tested.

    An attribute is categorical when some branch names values of it. Its domain are the values that the file declares
    (``known``) and the values that branches name; and, where a branch takes what the others of its node leave (`rest`),
    those of the training table, and `OTHER` where neither is known or nothing is left. Missing values are among them
    only where they are declared or named, or where the training table lacks some of an attribute that no branch tests.
    Of numbers such a branch takes the missing ones.

    Where some leaf states a label that is no most frequent class, all labels are taken to be decided otherwise.

    Parameters
    ----------
    source : str
        What problems call the file.
    trees : sequence of Tree
    classes : sequence of str
        In the order of the model; `Wanted.classes` are to be taken into account before.
    wanted, training
        What the caller says, and the table that it names.
    target : str, optional
        The name of the target that the file has.
    known : mapping of name to Attribute, optional
        Attributes that the file declares; they come first, in this order, those that no branch tests included.
    **how
        Further fields of `Release`, such as ``predicts``.

    Raises
    ------
    InvalidInput
        For quasi-identifiers that the model does not have, an attribute that is tested as numbers and as names, and a
        target that is an attribute, too.
    """
    problems: list[Problem] = []
    attributes = _attributes(trees, training, known or {}, problems)
    name = wanted.target or target or UNNAMED
    if name in attributes:
        problems.append(Problem(ARGUMENT, "target", "a name that no attribute has", name))
    for column in wanted.qi or ():
        there = attributes if training is None else {**attributes, **{a.name: a for a in training.attributes}}
        if column not in there:
            found = f"{column}{close_to(column, list(there))}"
            problems.append(Problem(ARGUMENT, "qi", "attributes of the model", found))
        elif training is not None:
            attributes.setdefault(column, there[column])
    if training is not None:
        tested = {node.attribute for tree in trees for node in tree.nodes}
        attributes |= {k: _with_missing(attributes[k]) for k in attributes if k in training.gaps and k not in tested}
    if problems:
        raise InvalidInput(source, problems)
    if wanted.qi is not None:
        public = frozenset(wanted.qi)
        attributes = {k: replace(a, role="public" if k in public else "private") for k, a in attributes.items()}
    resolved = tuple(replace(tree, nodes=tuple(_resolved(node, attributes) for node in tree.nodes)) for tree in trees)
    if not _are_majorities(trees, len(classes)):
        how = {**how, "labels": "decided"}
    return Release(Target(name, tuple(classes)), tuple(attributes.values()), resolved, **how)


def _are_majorities(trees: Sequence[Tree], n_classes: int) -> bool:
    """Whether no leaf states a label that others of its records outnumber: else no label is known to be a majority."""
    for leaf in (leaf for tree in trees for leaf in tree.leaves if leaf.label is not None):
        if leaf.counts is not None and leaf.counts[leaf.label or ""] < max(leaf.counts.values()):
            return False
        if leaf.error_rate is not None and leaf.error_rate > 1 - 1 / n_classes + _ROUNDING:
            return False
    return True


def rest(child: str | None) -> Branch:
    """A branch that takes what the other branches of its node leave."""
    return Branch(child)


def _is_rest(branch: Branch) -> bool:
    return branch.values is None and branch.le is None and branch.gt is None and branch.missing is None


def _attributes(
    trees: Sequence[Tree],
    training: TrainingColumns | None,
    known: Mapping[str, Attribute],
    problems: list[Problem],
) -> dict[str, Attribute]:
    """Every attribute that is tested or declared, by name, with its domain."""
    named: dict[str, dict[str, None]] = {}
    numeric: dict[str, bool] = {}
    testing: dict[str, list[Node]] = {}
    for node in (node for tree in trees for node in tree.nodes if node.attribute is not None):
        title = node.attribute or ""
        values = named.setdefault(title, {})
        testing.setdefault(title, []).append(node)
        for branch in node.branches:
            values.update(dict.fromkeys(branch.values or ()))
            numeric[title] = numeric.get(title, False) or branch.le is not None or branch.gt is not None
    for title in [title for title, values in named.items() if values and numeric[title]]:
        problems.append(Problem(f"attribute {title}", "branches", "tests of numbers, or of names", "both"))
    trained_names = [] if training is None else [attribute.name for attribute in training.attributes]
    order = [*known, *trained_names, *named]
    found: dict[str, Attribute] = {}
    for title in dict.fromkeys(title for title in order if title in known or title in named):
        declared, trained = known.get(title), None if training is None else training.named(title)
        if named.get(title) or (not numeric.get(title) and _is_categorical(declared, trained)):
            domain = dict.fromkeys((declared.values if declared else None) or ())
            domain |= named.get(title, {})
            if trained is not None and trained.values is not None and _has_rest(testing.get(title, ())):
                domain = dict.fromkeys(sorted({*domain, *trained.values}) if declared is None else domain)
                domain |= dict.fromkeys(trained.values)
            if _takes_others(testing.get(title, ()), domain, known=declared is not None or trained is not None):
                domain[OTHER] = None
            found[title] = Attribute(title, "categorical", tuple(domain))
        else:
            missing = declared is not None and declared.missing
            found[title] = Attribute(title, "numeric", missing=missing or _takes_missing(testing.get(title, ())))
    return found


def _with_missing(attribute: Attribute) -> Attribute:
    """An attribute of which cells may be empty, which no tree minds."""
    if attribute.values is None:
        return replace(attribute, missing=True)
    return replace(attribute, values=tuple(dict.fromkeys((*attribute.values, MISSING))))


def _is_categorical(*stated: Attribute | None) -> bool:
    """Type of an attribute by the first source that states it."""
    return next((attribute.type == "categorical" for attribute in stated if attribute is not None), False)


def _has_rest(nodes: Sequence[Node]) -> bool:
    """Whether some branch takes whatever values the others leave; else all that are there are named."""
    return not nodes or any(_is_rest(branch) for node in nodes for branch in node.branches)


def _takes_others(nodes: Sequence[Node], domain: Mapping[str, None], *, known: bool) -> bool:
    """Whether some branch takes the rest of a domain that is not known, or of which there is no rest."""
    resting = [node for node in nodes if any(map(_is_rest, node.branches))]
    taken = ({value for branch in node.branches for value in branch.values or ()} for node in resting)
    return bool(resting) and (not known or any(values >= domain.keys() for values in taken))


def _takes_missing(nodes: Sequence[Node]) -> bool:
    """Whether some branch takes missing numbers."""
    return any(branch.missing or _is_rest(branch) for node in nodes for branch in node.branches)


def _resolved(node: Node, attributes: Mapping[str, Attribute]) -> Node:
    """A node whose branches all have a test."""
    if node.attribute is None or not any(map(_is_rest, node.branches)):
        return node
    domain = attributes[node.attribute].values
    if domain is None:
        return replace(node, branches=tuple(replace(b, missing=True) if _is_rest(b) else b for b in node.branches))
    taken = {value for branch in node.branches for value in branch.values or ()}
    left = tuple(value for value in domain if value not in taken)
    return replace(node, branches=tuple(replace(b, values=left) if _is_rest(b) else b for b in node.branches))
