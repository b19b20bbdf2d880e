"""`maxent/1` documents to releases and back: reading, validation, writing and the JSON Schema of the format."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any

from maxent.models.errors import invalid
from maxent.models.release import FORMAT, Attribute, Branch, Defense, Induction, Node, Release, Tree
from maxent.models.strict_json import read_json_object, uncollected, unusable_file
from maxent.models.validate import checked_release


@uncollected()
def load_release(path: str | os.PathLike[str]) -> Release:
    """Read a release from a `maxent/1` JSON file.

    Parameters
    ----------
    path : str or path-like
        The file, UTF-8 with or without a byte order mark.

    Raises
    ------
    InvalidInput
        When the file cannot be read, is not strict JSON (no NaN, no repeated keys), or breaks a rule of the
        format; with every problem of the document, each naming the node, the field, what was expected and found.
    """
    return parse_release(read_json_object(path), os.fspath(path))


def parse_release(document: object, source: str) -> Release:
    """Make a release of an already decoded document.

    Parameters
    ----------
    document : object
        Decoded JSON: dict, list, str, int, float, bool and None.
    source : str
        What problems call the document, such as its file name.

    Raises
    ------
    InvalidInput
        With every problem of the document.
    """
    return checked_release(document, source)


def validate_release(release: Release, source: str = "release") -> None:
    """Check a release that was built in memory against every rule of the format.

    Raises
    ------
    InvalidInput
        With every problem of the release.
    """
    checked_release(release_to_document(release), source)


def release_to_document(release: Release) -> dict[str, Any]:
    """Write a release as a document for JSON; what has its default value is left out. Nothing is checked."""
    publication = _without_none(
        sampling_rate=None if release.sampling_rate == 1 else _plain(release.sampling_rate),
        suppressed_below=None if release.suppressed_below == 0 else _plain(release.suppressed_below),
        defense=None if release.defense is None else _defense_entry(release.defense),
    )
    return {
        "format": FORMAT,
        "target": {"name": release.target.name, "classes": _listed(release.target.classes)},
        "attributes": [_attribute_entry(attribute) for attribute in release.attributes],
        **({"release": publication} if publication else {}),
        "trees": [_tree_entry(tree) for tree in release.trees],
    }


def save_release(release: Release, path: str | os.PathLike[str]) -> None:
    """Write a release as a `maxent/1` JSON file, one line per node.

    The release is validated first, and written under a temporary name that then replaces the file: whatever
    goes wrong, the file is as it was, and no other is left behind.

    Raises
    ------
    InvalidInput
        When the release breaks a rule of the format, or the file cannot be written.
    """
    source = os.fspath(path)
    document = release_to_document(release)
    checked_release(document, source)
    _replace_file(source, _text(document))


@cache
def _schema_text() -> str:
    """The JSON Schema as shipped with the package."""
    return files("maxent.models").joinpath("maxent-1.schema.json").read_text(encoding="utf-8")


def release_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the format.

    It states the structure of a document; what relates fields and nodes (sums, domains, cycles) only
    `load_release` checks.
    """
    schema: dict[str, Any] = json.loads(_schema_text())
    return schema


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
    return {"name": attribute.name, "type": attribute.type, **_without_none(values=values, role=role)}


def _defense_entry(defense: Defense) -> dict[str, object]:
    """What was done before publication, as the document has it."""
    return {"method": defense.method, **{key: _plain(value) for key, value in defense.parameters.items()}}


def _tree_entry(tree: Tree) -> dict[str, object]:
    """A tree of the document."""
    default = Induction()
    induction = {
        key: _plain(getattr(tree.induction, key))
        for key in ("algorithm", "impurity", "candidates", "min_samples_leaf", "k", "encoding")
        if getattr(tree.induction, key) != getattr(default, key)
    }
    return {**({"induction": induction} if induction else {}), "nodes": [_node_entry(node) for node in tree.nodes]}


def _node_entry(node: Node) -> dict[str, object]:
    """A node of the document."""
    entry: dict[str, object] = {"id": node.id}
    if node.attribute is not None:
        entry["attribute"] = node.attribute
    if node.attribute is not None or node.branches:
        entry["branches"] = [_branch_entry(branch) for branch in node.branches]
    counts = None if node.counts is None else {label: _plain(count) for label, count in node.counts.items()}
    entry.update(_without_none(label=node.label, error_rate=_plain(node.error_rate), n=_plain(node.n), counts=counts))
    return entry


def _branch_entry(branch: Branch) -> dict[str, object]:
    """A branch of the document."""
    tests = {"in": _listed(branch.values), "gt": _plain(branch.gt), "le": _plain(branch.le)}
    return {**_without_none(**tests), "child": branch.child}


def _text(document: dict[str, Any]) -> str:
    """A document as text that people can read: a line per entry of the head and per node."""
    head = {key: document[key] for key in document if key not in ("attributes", "trees")}
    entries = [f"{_dumps(key)}: {_dumps(value)}" for key, value in head.items()]
    entries.insert(2, '"attributes": ' + _block(map(_dumps, document["attributes"]), "  "))
    trees = []
    for tree in document["trees"]:
        parts = [f'"induction": {_dumps(tree["induction"])}'] if "induction" in tree else []
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


def _replace_file(source: str, text: str) -> None:
    """Put a text in the place of a file at once: readers find the old or the new content, nothing between."""
    expected = "a file that can be written"
    try:
        target = os.path.realpath(source)  # through a symbolic link, so that the link stays one
    except (OSError, ValueError) as error:
        raise unusable_file(source, expected, error) from None
    if os.path.isdir(target):
        raise invalid(source, "file", "path", expected, "a directory")
    temporary = os.path.join(os.path.dirname(target), f".maxent-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise unusable_file(source, expected, error) from None
    finally:
        with suppress(OSError):
            os.unlink(temporary)  # after a success it is no longer there
