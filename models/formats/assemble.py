"""Trees of a foreign model as a release: domains, roles and names that the trees themselves do not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.formats.conversion import UNNAMED, Wanted
from maxent.models.formats.packing import packed
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.nodes import Nodes, each
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.tables.columns.missing_values import MISSING, OTHER
from maxent.models.text.hints import close_to

_ROUNDING = 1e-9  # by how much a share may be off that was divided


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

    ``source``: what problems call the file. ``classes``: in the order of the model; `Wanted.classes` are to be taken
    into account before. ``wanted``, ``training``: what the caller says, and the table that it names. ``target``: the
    name of the target that the file has. ``known``: attributes that the file declares; they come first, in this order,
    those that no branch tests included. ``**how``: further fields of `Release`, such as ``predicts``.
    """
    problems: list[Problem] = []
    tests = _tests(trees)
    name = wanted.target or target or UNNAMED
    given = {k: attribute for k, attribute in (known or {}).items() if k != name or k in tests}
    attributes = _attributes(tests, training, given, problems)
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
        attributes |= {k: _with_missing(attributes[k]) for k in attributes if k in training.gaps and k not in tests}
    if problems:
        raise InvalidInput(source, problems)
    if wanted.qi is not None:
        public = frozenset(wanted.qi)
        attributes = {k: replace(a, role="public" if k in public else "private") for k, a in attributes.items()}
    resolved = tuple(replace(tree, nodes=_arrays(source, tree, attributes, classes)) for tree in trees)
    if not _are_majorities(trees, len(classes)):
        how = {**how, "labels": "decided"}
    return Release(Target(name, tuple(classes)), tuple(attributes.values()), resolved, **how)


def _are_majorities(trees: Sequence[Tree], n_classes: int) -> bool:
    """Whether no leaf states a label that others of its records outnumber: else no label is known to be a majority."""
    for leaf in (node for tree in trees for node in each(tree.nodes) if node.is_leaf and node.label is not None):
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


@dataclass(slots=True)
class _Tests:
    """The tests of an attribute: values that branches name, and whether some have bounds or take missing values.

    ``rests`` are the values that the other branches name of each node with a branch for what they leave.
    """

    named: dict[str, None] = field(default_factory=dict)
    numeric: bool = False
    missing: bool = False
    rests: set[frozenset[str]] = field(default_factory=set)


def _tests(trees: Sequence[Tree]) -> dict[str, _Tests]:
    """The tests of each attribute that is tested."""
    found: dict[str, _Tests] = {}
    for node in (node for tree in trees for node in each(tree.nodes)):
        if node.attribute is None:
            continue
        here = found.setdefault(node.attribute, _Tests())
        for branch in node.branches:
            if branch.values:
                here.named.update(dict.fromkeys(branch.values))
            here.numeric = here.numeric or branch.le is not None or branch.gt is not None
            here.missing = here.missing or bool(branch.missing)
        if any(map(_is_rest, node.branches)):
            here.rests.add(frozenset(value for branch in node.branches for value in branch.values or ()))
    return found


def _attributes(
    tests: Mapping[str, _Tests],
    training: TrainingColumns | None,
    known: Mapping[str, Attribute],
    problems: list[Problem],
) -> dict[str, Attribute]:
    """Every attribute that is tested or declared, by name, with its domain."""
    for title in [title for title, tested in tests.items() if tested.named and tested.numeric]:
        problems.append(Problem(f"attribute {title}", "branches", "tests of numbers, or of names", "both"))
    trained_names = [] if training is None else [attribute.name for attribute in training.attributes]
    order = [*known, *trained_names, *tests]
    found: dict[str, Attribute] = {}
    for title in dict.fromkeys(title for title in order if title in known or title in tests):
        declared, trained = known.get(title), None if training is None else training.named(title)
        tested = tests.get(title)
        here = tested or _Tests()
        if here.named or (not here.numeric and _is_categorical(declared, trained)):
            domain = dict.fromkeys((declared.values if declared else None) or ())
            domain |= here.named
            # Where no branch takes whatever the others leave, all values that are there are named.
            if trained is not None and trained.values is not None and (tested is None or here.rests):
                domain = dict.fromkeys(sorted({*domain, *trained.values}) if declared is None else domain)
                domain |= dict.fromkeys(trained.values)
            if _takes_others(here, domain, known=declared is not None or trained is not None):
                domain[OTHER] = None
            found[title] = Attribute(title, "categorical", tuple(domain))
        else:
            missing = (declared is not None and declared.missing) or here.missing or bool(here.rests)
            found[title] = Attribute(title, "numeric", missing=missing)
    return found


def _with_missing(attribute: Attribute) -> Attribute:
    """An attribute of which cells may be empty, which no tree minds."""
    if attribute.values is None:
        return replace(attribute, missing=True)
    return replace(attribute, values=tuple(dict.fromkeys((*attribute.values, MISSING))))


def _is_categorical(*stated: Attribute | None) -> bool:
    """Type of an attribute by the first source that states it."""
    return next((attribute.type == "categorical" for attribute in stated if attribute is not None), False)


def _takes_others(tested: _Tests, domain: Mapping[str, None], *, known: bool) -> bool:
    """Whether some branch takes the rest of a domain that is not known, or of which there is no rest."""
    return bool(tested.rests) and (not known or any(values >= domain.keys() for values in tested.rests))


def _arrays(source: str, tree: Tree, attributes: Mapping[str, Attribute], classes: Sequence[str]) -> Nodes:
    """The nodes of a tree, all with tests, without an object for each."""
    nodes = (_resolved(node, attributes) for node in each(tree.nodes))
    return packed(source, nodes, tuple(attributes.values()), classes)


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
