"""A decoded `maxent/1` document, field by field, as the frozen values of a release; problems are noted, not raised.

What is wrong in itself is left out of the values (None, or a branch without a test), so that the rules that
relate fields and nodes, in `maxent.models.formats.maxent_json.check_tree`, judge only what could be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, get_args

from maxent.models.errors import Problem
from maxent.models.formats.maxent_json.fields import Fields, Names, fields_of, foreign_problem, note_repeats
from maxent.models.formats.maxent_json.parse_answers import (
    RATE,
    WEIGHT,
    read_answers,
    read_rates,
    read_value,
    scored_class,
)
from maxent.models.formats.maxent_json.parse_branches import split
from maxent.models.formats.maxent_json.parse_target import read_moments, read_numbers, read_parts
from maxent.models.formats.maxent_json.published.parse_release import read_publication
from maxent.models.release_content import (
    FORMAT,
    Attribute,
    AttributeType,
    Candidates,
    Content,
    Encoding,
    Impurity,
    Induction,
    Node,
    Role,
    Target,
    Tree,
)
from maxent.models.sparse_counts import complete_counts
from maxent.models.tables.columns.missing_values import MISSING
from maxent.models.text.arguments import are_whole, is_whole, listing, listing_of, name, show, whole_number

_SAID = ("label", "error_rate", "n", "counts", "rates", "distinct", "value", "hessian", "mean", "variance")
_NODE = ("id", "attribute", "branches", *_SAID, "part_of")


@dataclass(frozen=True, slots=True)
class Draft:
    """A document as far as it could be read.

    ``places[t][i]`` is how problems name node ``i`` of tree ``t``. A node that is no object, or without a
    usable id, has the id "" (which no node of a valid document has).
    """

    release: Content
    places: tuple[tuple[str, ...], ...]


def parse(document: object, problems: list[Problem]) -> Draft | None:
    """Read a decoded document; None when nothing further can be said about it."""
    head = parse_head(document, problems)
    if head is None:
        return None
    fields, content, names = head
    raw_trees = fields.items("trees", "trees")
    trees = [
        parse_tree(problems, f"tree {number}, " if len(raw_trees) > 1 else "", raw, names)
        for number, raw in enumerate(raw_trees, 1)
    ]
    return Draft(replace(content, trees=tuple(tree for tree, _ in trees)), tuple(places for _, places in trees))


def parse_head(document: object, problems: list[Problem]) -> tuple[Fields, Content, Names] | None:
    """Read a decoded document but for its trees: its keys, what stands in them, and the names that nodes may use."""
    if other := foreign_problem(document):
        problems.append(other)
        return None
    known = ("format", "target", "attributes", "release", "predicts", "boosting", "labels", "trees")
    fields = fields_of(problems, "document", document, known)
    if fields is None:
        return None
    if fields.value("format") != FORMAT:
        fields.refuse("format", repr(FORMAT))
    target = _target(fields)
    attributes, complete = _attributes(fields, target)
    sampling_rate, suppressed_below, defense, resampled, rounded = read_publication(fields)
    domains = {attribute.name: frozenset(attribute.values or ()) for attribute in attributes}
    names = Names(
        {attribute.name: attribute for attribute in attributes},
        complete,
        domains,
        target.classes,
        dict.fromkeys(target.classes, 0),
    )
    content = Content(
        target,
        attributes,
        (),
        sampling_rate,
        suppressed_below,
        defense,
        resampled,
        **read_answers(fields, names),
        rounded=rounded,
    )
    return fields, content, names


def _target(document: Fields) -> Target:
    """The target; empty names for what could not be read."""
    place = ("document", "target")
    fields = fields_of(
        document.problems, "target", document.value("target"), ("name", "classes", "numbers", "of"), key=place
    )
    if fields is None:
        return Target("", ())
    classes = fields.names("classes", "classes") or ()
    title = fields.text("name") or ""
    return Target(title, classes, read_numbers(fields, classes), read_parts(fields, title, classes))


def _attributes(document: Fields, target: Target) -> tuple[tuple[Attribute, ...], bool]:
    """Every attribute that has a name, and whether those are all."""
    if document.value("attributes") == []:
        return (), True  # a tree of a single leaf needs none
    found: dict[str, Attribute] = {}
    raws = document.items("attributes", "attributes")
    complete = bool(raws)
    for number, raw in enumerate(raws, 1):
        title = raw.get("name") if isinstance(raw, dict) else None
        where = f"attribute {name(title)}" if isinstance(title, str) and title else f"attribute number {number}"
        fields = fields_of(document.problems, where, raw, ("name", "type", "values", "role", "missing"))
        attribute = _attribute(fields) if fields else None
        if fields is None or attribute is None or not attribute.name:
            complete = False
            continue
        if attribute.name in found:
            fields.refuse("name", "a name that no other attribute has")
        elif attribute.name in (target.name, *target.columns):
            fields.refuse("name", "a name other than the target's")
        found.setdefault(attribute.name, attribute)
    return tuple(found.values()), complete


def _attribute(fields: Fields) -> Attribute:
    """One attribute; a categorical one whose values could not be read has None for them."""
    types: tuple[str, ...] = get_args(AttributeType)
    title = fields.text("name") or ""
    if "type" not in fields.raw:
        fields.refuse("type", "one of " + ", ".join(types))
    # Any: choice() has checked the string against the literals of the type.
    kind: Any = fields.choice("type", types, None)
    role: Any = fields.choice("role", get_args(Role), "public")
    values = None
    if kind == "categorical":
        values = fields.names("values", "values")
    elif kind == "numeric" and "values" in fields.raw:
        fields.refuse("values", "no values for a numeric attribute")
    return Attribute(title, kind, values, role, _has_missing(fields, kind))


def _has_missing(fields: Fields, kind: str | None) -> bool:
    """Whether records without a number are values of an attribute."""
    if kind == "categorical" and "missing" in fields.raw:
        fields.refuse("missing", f"no such key, since missing ones are a value of a categorical attribute, {MISSING!r}")
        return False
    return fields.flag("missing") or False


def parse_tree(problems: list[Problem], prefix: str, raw: object, names: Names) -> tuple[Tree, tuple[str, ...]]:
    """One tree and the places of its nodes."""
    where = prefix.removesuffix(", ") or "tree"
    fields = fields_of(problems, where, raw, ("induction", "weight", "class", "nodes"))
    if fields is None:
        return Tree(()), ()
    head = parse_tree_head(fields, prefix, names)
    nodes: list[Node] = []
    places: list[str] = []
    first: dict[str, int] = {}
    for number, item in enumerate(fields.items("nodes", "nodes"), 1):
        identity = item.get("id") if isinstance(item, dict) else None
        named = isinstance(identity, str) and identity
        place = f"{prefix}node {name(str(identity))}" if named else f"{prefix}node number {number}"
        node = _node(problems, place, item, names)
        if node.id and first.setdefault(node.id, number) != number:
            found = f"{show(node.id)} for nodes number {first[node.id]} and {number}"
            problems.append(Problem(place, "id", "an id that no other node of the tree has", found))
        nodes.append(node)
        places.append(place)
    return replace(head, nodes=tuple(nodes)), tuple(places)


def parse_tree_head(tree: Fields, prefix: str, names: Names) -> Tree:
    """Read a tree but for its nodes."""
    weight = tree.real("weight", WEIGHT, lambda weight: weight >= 0)
    induction = _induction(tree, prefix, names)
    return Tree((), induction, 1.0 if weight is None else weight, scored_class(tree, names))


def _induction(tree: Fields, prefix: str, names: Names) -> Induction:
    """Knowledge of the algorithm; the defaults for what could not be read."""
    if "induction" not in tree.raw:
        return Induction()
    known = ("algorithm", "impurity", "candidates", "min_samples_leaf", "k", "encoding", "compared")
    place = (tree.where, "induction")
    fields = fields_of(tree.problems, f"{prefix}induction", tree.raw["induction"], known, key=place)
    if fields is None:
        return Induction()
    # Any: choice() has checked the strings against the literals of the types.
    impurity: Any = fields.choice("impurity", get_args(Impurity), None, null=True)
    candidates: Any = fields.choice("candidates", get_args(Candidates), "none")
    encoding: Any = fields.choice("encoding", get_args(Encoding), "ordinal")
    return Induction(
        algorithm=fields.text("algorithm") if "algorithm" in fields.raw else None,
        impurity=impurity,
        candidates=candidates,
        min_samples_leaf=fields.whole("min_samples_leaf", 1, 1) or 1,
        k=fields.whole("k", 1, 1) or 1,
        encoding=encoding,
        compared=_compared(fields, names) if "compared" in fields.raw else None,
    )


def _compared(fields: Fields, names: Names) -> tuple[str, ...] | None:
    """The attributes whose splits competed."""
    if names.all_attributes:
        return fields.names_among("compared", "attributes", names.attributes, names.attributes)
    return fields.names("compared", "attributes")


def _node(problems: list[Problem], where: str, raw: object, names: Names) -> Node:
    """One node, inner when it has ``attribute`` or ``branches``."""
    fields = fields_of(problems, where, raw, _NODE)
    if fields is None:
        return Node("")
    identity = fields.text("id") or ""
    n, distinct = fields.whole("n", 0), fields.whole("distinct", 0)
    counts = _counts(fields, names) if "counts" in fields.raw else None
    rates = read_rates(fields, names) if "rates" in fields.raw else None
    if "attribute" in fields.raw or "branches" in fields.raw:
        for key in ("label", "error_rate", "value", "hessian", "part_of"):
            if key in fields.raw:
                fields.refuse(key, "no such key on an inner node (one with attribute and branches)")
        attribute, branches = split(fields, names)
        moments = read_moments(fields)
        return Node(identity, attribute, branches, None, None, n, counts, rates, distinct, None, None, *moments)
    rate = fields.real("error_rate", RATE, lambda rate: 0 <= rate <= 1) if "error_rate" in fields.raw else None
    if "error_rate" in fields.raw and "label" not in fields.raw:
        fields.refuse("label", "the class that error_rate is about")
    value = read_value(fields, "value", names) if "value" in fields.raw else None
    hessian = fields.real("hessian", WEIGHT, lambda total: total >= 0) if "hessian" in fields.raw else None
    label, moments = _label(fields, names.classes), read_moments(fields)
    part = fields.text("part_of") if "part_of" in fields.raw else None
    return Node(identity, None, (), label, rate, n, counts, rates, distinct, value, hessian, *moments, part)


def _label(fields: Fields, classes: tuple[str, ...]) -> str | None:
    """The label, when it is a class (any string, when the classes could not be read)."""
    label = fields.raw.get("label")
    if "label" not in fields.raw or (isinstance(label, str) and label in classes):
        return label if isinstance(label, str) else None
    if classes or not isinstance(label, str):
        fields.refuse("label", f"a class of the target ({listing(classes)})" if classes else "a string")
    return None


def _counts(fields: Fields, names: Names) -> Mapping[str, int] | None:
    """Records per class, complete and in the order of the classes; None when anything is wrong with them."""
    raw = fields.raw["counts"]
    if not isinstance(raw, dict):
        fields.refuse("counts", "an object from classes to whole numbers")
        return None
    before = len(fields.problems)
    note_repeats(fields.problems, f"{fields.where}, counts", raw)
    if names.no_records and not raw.keys() <= names.no_records.keys():
        unknown: list[object] = [label for label in raw if label not in names.no_records]
        fields.wrong("counts", f"classes of the target ({listing(names.classes)})", listing_of(unknown))
    if not are_whole(raw.values(), 0):
        for label, count in raw.items():
            if not is_whole(count, 0):
                fields.wrong(f"counts of {name(str(label))}", whole_number(0), show(count))
    if not names.classes or len(fields.problems) > before:
        return None
    return complete_counts(names.no_records, raw)
