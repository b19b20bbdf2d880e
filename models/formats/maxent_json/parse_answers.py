"""The answers of a decoded `maxent/1` document: shares and scores of its nodes, and how its trees predict together.

Problems are noted, not raised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypedDict, get_args

import numpy as np

from maxent.models.errors import Problem
from maxent.models.formats.maxent_json.fields import Fields, Names, fields_of, note_repeats
from maxent.models.nodes import Nodes, each, parts_of
from maxent.models.release_content import Boosting, Content, Labels, Link, Node, Predicts, Tree
from maxent.models.text.arguments import is_number, listing, listing_of, name, show
from maxent.models.trees.printed_rates import decimals

RATE = "a number from 0 to 1"
WEIGHT = "a number, at least 0"
SCORE = "a finite number"

_BOOSTING = ("link", "rate", "lambda", "base", "alpha", "hessian", "penalties", "weights")

SINGLE = 1e-6  # by how much shares that were computed in single precision may miss a sum of 1


def read_rates(fields: Fields, names: Names) -> Mapping[str, float] | None:
    """The share of each class that is named; None when anything is wrong with them."""
    raw = fields.raw["rates"]
    if not isinstance(raw, dict) or not raw:
        fields.refuse("rates", "an object from classes to shares")
        return None
    before = len(fields.problems)
    note_repeats(fields.problems, f"{fields.where}, rates", raw)
    if names.no_records and not raw.keys() <= names.no_records.keys():
        unknown: list[object] = [label for label in raw if label not in names.no_records]
        fields.wrong("rates", f"classes of the target ({listing(names.classes)})", listing_of(unknown))
    for label, share in raw.items():
        if not (is_number(share) and 0 <= share <= 1):
            fields.wrong(f"rates of {name(str(label))}", RATE, show(share))
    if len(fields.problems) > before:
        return None
    shares = {label: float(share) for label, share in raw.items()}
    total = sum(shares.values())
    if abs(total - 1) > rounding_of(shares.values()):
        fields.wrong("rates", "shares that sum to 1, within the rounding of their digits", f"a sum of {total:.6g}")
        return None
    return shares


def rounding_of(shares: Iterable[float]) -> float:
    """By how much a sum of shares may be off as each was rounded, or cut off, to the digits of the longest."""
    found = list(shares)
    return len(found) * 10.0 ** -max(1, *map(decimals, found)) + SINGLE


class Answers(TypedDict):
    """Rules by which the trees of a release predict together; the names are those of `Content`."""

    predicts: Predicts | None
    boosting: Boosting | None
    labels: Labels


def read_answers(document: Fields, names: Names) -> Answers:
    """``predicts``, ``boosting`` and ``labels`` of a document."""
    # Any: choice() has checked the strings against the literals of the types.
    predicts: Any = document.choice("predicts", get_args(Predicts), None)
    labels: Any = document.choice("labels", get_args(Labels), "majority")
    return Answers(predicts=predicts, boosting=_boosting(document, names), labels=labels)


def _boosting(document: Fields, names: Names) -> Boosting | None:
    """Rule that turns scores into probabilities."""
    if "boosting" not in document.raw:
        return None
    place = ("document", "boosting")
    raw = document.raw["boosting"]
    fields = fields_of(document.problems, "boosting", raw, _BOOSTING, key=place)
    if fields is None:
        return None
    link: Any = fields.choice("link", get_args(Link), None)
    if "link" not in fields.raw:
        fields.refuse("link", "one of " + ", ".join(get_args(Link)))
    rate = fields.real("rate", "a number above 0", lambda rate: rate > 0)
    l2 = fields.real("lambda", WEIGHT, lambda penalty: penalty >= 0)
    base = read_value(fields, "base", names)
    l1 = fields.real("alpha", WEIGHT, lambda penalty: penalty >= 0)
    hessian = fields.real("hessian", "a number above 0", lambda factor: factor > 0)
    return Boosting(
        link,
        rate,
        l2,
        0.0 if base is None else base,
        0.0 if l1 is None else l1,
        1.0 if hessian is None else hessian,
        _penalties(fields, names) if "penalties" in fields.raw else {},
        _weights(fields, names) if "weights" in fields.raw else {},
    )


def _penalties(fields: Fields, names: Names) -> Mapping[str, float]:
    """The L2 penalty below splits on each attribute that is named."""
    raw = fields.raw["penalties"]
    if not isinstance(raw, dict):
        fields.refuse("penalties", "an object from attributes to penalties")
        return {}
    note_repeats(fields.problems, f"{fields.where}, penalties", raw)
    unknown: list[object] = [key for key in raw if names.all_attributes and key not in names.attributes]
    if unknown:
        fields.wrong("penalties", f"attributes ({listing(names.attributes)})", listing_of(unknown))
    inner = Fields(fields.problems, f"{fields.where}, penalties", raw, tuple(raw))
    found = {str(key): inner.real(str(key), WEIGHT, lambda penalty: penalty >= 0) for key in raw}
    return {key: penalty for key, penalty in found.items() if penalty is not None}


def _weights(fields: Fields, names: Names) -> Mapping[str, float]:
    """The weight of a record of each class that is named."""
    raw = fields.raw["weights"]
    if not isinstance(raw, dict):
        fields.refuse("weights", "an object from classes to weights")
        return {}
    note_repeats(fields.problems, f"{fields.where}, weights", raw)
    unknown: list[object] = [label for label in raw if names.classes and label not in names.no_records]
    if unknown:
        fields.wrong("weights", f"classes of the target ({listing(names.classes)})", listing_of(unknown))
    inner = Fields(fields.problems, f"{fields.where}, weights", raw, tuple(raw))
    found = {str(key): inner.real(str(key), "a number above 0", lambda weight: weight > 0) for key in raw}
    return {key: weight for key, weight in found.items() if weight is not None}


def read_value(fields: Fields, key: str, names: Names) -> float | Mapping[str, float] | None:
    """A score, or one for each class that is named; None when there is none, or anything is wrong with it."""
    raw = fields.raw.get(key)
    if not isinstance(raw, dict):
        return fields.real(key, SCORE, lambda score: score == score)
    before = len(fields.problems)
    note_repeats(fields.problems, f"{fields.where}, {key}", raw)
    unknown: list[object] = [label for label in raw if names.classes and label not in names.no_records]
    if unknown or not raw:
        fields.wrong(key, f"scores of classes of the target ({listing(names.classes)})", listing_of(unknown) or "none")
    for label, score in raw.items():
        if not (is_number(score) and abs(score) < float("inf")):
            fields.wrong(f"{key} of {name(str(label))}", SCORE, show(score))
    return None if len(fields.problems) > before else {label: float(score) for label, score in raw.items()}


def scored_class(tree: Fields, names: Names) -> str | None:
    """The class whose score the values of a tree are added to."""
    found = tree.text("class") if "class" in tree.raw else None
    if found is not None and names.classes and found not in names.no_records:
        tree.refuse("class", f"a class of the target ({listing(names.classes)})")
        return None
    return found


_OF_RECORDS = ("error_rate", "n", "counts", "rates", "distinct", "value", "hessian", "mean", "variance")


def part_problems(tree: Tree, places: Sequence[str], labels: str) -> Iterator[Problem]:
    """Parts of a leaf of the tool that state more than its label, which is no most frequent class of a part."""
    first: dict[str, str | None] = {}
    parts = parts_of(tree.nodes)
    for i, (part, node, place) in enumerate(zip(parts, each(tree.nodes), places, strict=False)):
        where = "on an inner node but the root, beside leaves with part_of" if part is None else "beside part_of"
        told = _OF_RECORDS if part is not None or (i and not node.is_leaf) else ()
        for key in told:
            if (stated := getattr(node, key)) is not None:
                yield Problem(place, key, f"no such key {where}: it would tell parts apart", show(stated))
        if part is None:
            continue
        if node.label is not None and labels != "decided":
            yield Problem(place, "label", "the key labels of the document to be 'decided' beside part_of", show(labels))
        if first.setdefault(part, node.label) != node.label:
            expected = f"that of the other parts of {name(part)}, {show(first[part])}"
            yield Problem(place, "label", expected, show(node.label))


def answer_problems(release: Content, places: Sequence[Sequence[str]]) -> Iterator[Problem]:
    """Mistakes in the rules by which the trees of a release predict together; ``places`` name their nodes."""
    yield from rule_problems(release, several=any(map(has_several, release.trees)))
    if release.predicts == "score":
        for tree, where in zip(release.trees, places, strict=True):
            yield from score_problems(tree, where)


def rule_problems(release: Content, *, several: bool) -> Iterator[Problem]:
    """Mistakes in the rules alone; ``several`` is whether some leaf states scores of classes by name."""
    if release.predicts == "label" and len(release.trees) > 1:
        yield Problem("document", "predicts", "vote, mean or score of several trees", "label")
    if (release.predicts == "score") != (release.boosting is not None):
        found = "nothing" if release.boosting is None else f"boosting, and predicts {show(release.predicts)}"
        yield Problem("document", "boosting", "boosting together with predicts: score, and only then", found)
    if release.predicts != "score":
        return
    logit = release.boosting is not None and release.boosting.link == "logit"
    if logit and len(release.target.classes) != 2:
        found = f"{len(release.target.classes)} classes"
        yield Problem("boosting", "link", "softmax, share or none, unless there are two classes", found)
    if logit and (len({tree.of_class for tree in release.trees}) > 1 or several):
        expected = "softmax, share or none, unless all trees add to the score of one class"
        yield Problem("boosting", "link", expected, "logit")


def has_several(tree: Tree) -> bool:
    """Whether some leaf states scores of classes by name."""
    nodes = tree.nodes
    if isinstance(nodes, Nodes):
        return nodes.columns.scores is not None and not bool(np.isnan(nodes.columns.scores).all())
    return any(isinstance(node.value, Mapping) for node in nodes)


def score_problems(tree: Tree, places: Sequence[str]) -> Iterator[Problem]:
    """Leaves of a tree of scores without one, or with one of another class; ``places`` name its nodes."""
    for node, place in zip(tree.nodes, places, strict=True):
        yield from _value_problems(node, place, tree.of_class)


def _value_problems(node: Node, place: str, of_class: str | None) -> Iterator[Problem]:
    """A leaf without a score, or one whose score is of no class, or of that of the tree and others."""
    if not node.is_leaf:
        return
    if node.value is None:
        yield Problem(place, "value", "a score, since the release predicts by scores", "nothing")
    elif isinstance(node.value, Mapping) == (of_class is not None):
        known = f"one number, as the scores of its tree are of {show(of_class)}"
        unknown = "a number for each class, or one number and the class of its tree"
        yield Problem(place, "value", known if of_class else unknown, "several" if of_class else "one number")
