"""Releases to `maxent/1` documents, and to files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from math import isfinite
from typing import Any

from maxent.models.columns import SparseCounts
from maxent.models.draws import Draws
from maxent.models.files.json_files import uncollected
from maxent.models.files.output import write_text
from maxent.models.formats.maxent_json.rules import check_in_memory, checked_release
from maxent.models.nodes import each
from maxent.models.release import FORMAT, Attribute, Branch, Content, Defense, Induction, Node, Target, Tree


def release_to_document(release: Content) -> dict[str, Any]:
    """Write a release as a document for JSON; what has its default value is left out. Nothing is checked."""
    publication = _without_none(
        sampling_rate=None if release.sampling_rate == 1 else _plain(release.sampling_rate),
        suppressed_below=None if release.suppressed_below == 0 else _plain(release.suppressed_below),
        defense=None if release.defense is None else _defense_entry(release.defense),
        resampled=_plain(release.resampled),
        rounded=None if release.rounded is None else asdict(release.rounded),
        draws=None if release.draws is None else _draws_entry(release.draws),
        noise=None if release.noise is None else asdict(release.noise),
    )
    return {
        "format": FORMAT,
        "target": _target_entry(release.target),
        "attributes": [_attribute_entry(attribute) for attribute in release.attributes],
        **({"release": publication} if publication else {}),
        **_answers(release),
        "trees": [_tree_entry(tree) for tree in release.trees],
    }


class _LazyList(list[object]):
    """Nodes or trees as a document has them, each made when it is asked for."""

    def __init__(self, number: int, made: Callable[[], Iterator[object]]) -> None:
        super().__init__()
        self._number, self._made = number, made

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[object]:
        return self._made()


@uncollected()
def check_release(release: Content, source: str) -> None:
    """Check a release against every rule of the format, without a document of all of it in memory."""
    if not release.trees:
        checked_release(release_to_document(release), source)
        return
    head = release_to_document(replace(release, trees=()))
    if not check_in_memory(release, head, [_tree_head(tree) for tree in release.trees], source):
        checked_release(head, source, _LazyList(len(release.trees), lambda: map(_listed_tree, release.trees)))


def _answers(release: Content) -> dict[str, object]:
    """Rules by which the trees predict together."""
    boosting, labels = None, None if release.labels == "majority" else release.labels
    if release.boosting is not None:
        of, base = release.boosting, _by_class(release.boosting.base)
        stated = _without_none(
            rate=_plain(of.rate),
            base=None if base == 0 else base,
            alpha=None if of.l1 == 0 else _plain(of.l1),
            hessian=None if of.hessian == 1 else _plain(of.hessian),
            penalties=_by_class(of.penalties) if of.penalties else None,
            weights=_by_class(of.weights) if of.weights else None,
        )
        boosting = {"link": of.link, **stated, **({} if of.l2 is None else {"lambda": _plain(of.l2)})}
    return _without_none(predicts=release.predicts, boosting=boosting, labels=labels)


def _by_class(value: object) -> object:
    """A number, or one for each class, as the document has it."""
    return {label: _plain(one) for label, one in value.items()} if isinstance(value, Mapping) else _plain(value)


def save_release(release: Content, path: str | os.PathLike[str]) -> None:
    """Write a release as a `maxent/1` JSON file, one line per node, validated first and all or nothing."""
    source = os.fspath(path)
    check_release(release, source)
    head = release_to_document(replace(release, trees=()))
    write_text(source, _text({**head, "trees": list(map(_listed_tree, release.trees))}), public=True)


def _without_none(**entries: object) -> dict[str, object]:
    """The entries that are not None."""
    return {key: value for key, value in entries.items() if value is not None}


def _plain(value: object) -> object:
    """A NumPy scalar as the Python number it is; anything else unchanged."""
    item = getattr(value, "item", None)
    return item() if callable(item) else value


def _listed(values: object) -> object:
    """A tuple as a list; anything else unchanged, for validation to refuse."""
    return list(values) if isinstance(values, tuple) else values


def _attribute_entry(attribute: Attribute) -> dict[str, object]:
    """An attribute of the document."""
    role = None if attribute.role == "public" else attribute.role
    values = _listed(attribute.values)
    missing = _plain(attribute.missing) or None
    return {"name": attribute.name, "type": attribute.type, **_without_none(values=values, role=role, missing=missing)}


def _target_entry(target: Target) -> dict[str, object]:
    """The target of the document; a class that stands for one number has it, others the least and the largest."""
    entry: dict[str, object] = {"name": target.name, "classes": _listed(target.classes)}
    if target.numbers is not None:
        entry["numbers"] = [
            low if low == high else [number if isfinite(number) else None for number in (low, high)]
            for low, high in target.numbers
        ]
    if target.of:
        entry["of"] = [{"name": part.name, "classes": _listed(part.classes)} for part in target.of]
    return entry


def _defense_entry(defense: Defense) -> dict[str, object]:
    """The defense before publication, as the document has it."""
    return {"method": defense.method, **{key: _plain(value) for key, value in defense.parameters.items()}}


def _draws_entry(draws: Draws) -> dict[str, object]:
    """Who was drawn for each tree, as the document has it."""
    made = {key: text for key, text in (("generator", draws.generator), ("version", draws.version)) if text}
    stated = {**made, "n": draws.n, "drawn": draws.drawn, "replace": draws.replace}
    if draws.counts:
        return {**stated, "counts": _listed(tuple(map(_listed, draws.counts)))}
    features = None if draws.features is None else dict(zip(("n", "drawn", "replace"), draws.features, strict=True))
    return {**stated, "seeds": list(draws.seeds), **({"features": features} if features else {})}


def _tree_entry(tree: Tree) -> dict[str, object]:
    """A tree of the document."""
    return {**_tree_head(tree), "nodes": [_node_entry(node) for node in each(tree.nodes)]}


def _listed_tree(tree: Tree) -> dict[str, object]:
    """A tree of the document, of which each node is made when it is asked for."""
    return {**_tree_head(tree), "nodes": _LazyList(len(tree.nodes), lambda: map(_node_entry, each(tree.nodes)))}


def _tree_head(tree: Tree) -> dict[str, object]:
    """A tree of the document without its nodes."""
    default = Induction()
    induction = {
        key: _listed(_plain(getattr(tree.induction, key)))
        for key in ("algorithm", "impurity", "candidates", "min_samples_leaf", "k", "encoding", "compared", "among")
        if getattr(tree.induction, key) != getattr(default, key)
    }
    weight = None if tree.weight == 1 else _plain(tree.weight)
    return {
        **({"induction": induction} if induction else {}),
        **_without_none(weight=weight, **{"class": tree.of_class}),
    }


def _node_entry(node: Node) -> dict[str, object]:
    """A node of the document."""
    entry: dict[str, object] = {"id": node.id}
    if node.attribute is not None:
        entry["attribute"] = node.attribute
    if node.attribute is not None or node.branches:
        entry["branches"] = [_branch_entry(branch) for branch in node.branches]
    counts = None if node.noisy is None else _by_class(node.noisy)
    if node.counts is not None:
        counts = {label: _plain(count) for label, count in _stated(node.counts).items()}
    entry.update(_without_none(label=node.label, error_rate=_plain(node.error_rate), n=_plain(node.n)))
    entry.update(_without_none(counts=counts, rates=_by_class(node.rates), distinct=_plain(node.distinct)))
    entry.update(_without_none(value=_by_class(node.value), hessian=_plain(node.hessian)))
    entry.update(_without_none(mean=_plain(node.mean), variance=_plain(node.variance), part_of=node.part_of))
    return entry


def _stated(counts: Mapping[str, int]) -> Mapping[str, int]:
    """The counts that are written: of very many classes those that are not 0, or else the first."""
    if not isinstance(counts, SparseCounts):
        return counts
    return counts.positive or dict.fromkeys(list(counts)[:1], 0)


def _branch_entry(branch: Branch) -> dict[str, object]:
    """A branch of the document."""
    tests = {"in": _listed(branch.values), "gt": _plain(branch.gt), "le": _plain(branch.le), "missing": branch.missing}
    return {**_without_none(**tests), "child": branch.child}


def _text(document: dict[str, Any]) -> str:
    """A document as text that people can read: a line per entry of the head and per node."""
    head = {key: document[key] for key in document if key not in ("attributes", "trees")}
    entries = [f"{_dumps(key)}: {_dumps(value)}" for key, value in head.items()]
    entries.insert(2, '"attributes": ' + _block(map(_dumps, document["attributes"]), "  "))
    trees = []
    for tree in document["trees"]:
        parts = [f"{_dumps(key)}: {_dumps(value)}" for key, value in tree.items() if key != "nodes"]
        parts.append('"nodes": ' + _block(map(_dumps, tree["nodes"]), "      "))
        trees.append("{\n      " + ",\n      ".join(parts) + "\n    }")
    entries.append('"trees": ' + _block(trees, "  "))
    return "{\n  " + ",\n  ".join(entries) + "\n}\n"


def _dumps(value: object) -> str:
    """Strict JSON on one line; floats by `repr`, so that reading gives them back exactly."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _block(items: Iterable[str], indent: str) -> str:
    """A JSON list with one item per line."""
    lines = ",\n".join(f"{indent}  {item}" for item in items)
    return f"[\n{lines}\n{indent}]" if lines else "[]"
