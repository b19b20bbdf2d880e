"""Reader of `maxent/1` documents: text to release, validation, JSON Schema, and names that look alike."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any

from maxent.models.arguments import name as shown
from maxent.models.errors import InvalidInput, Problem
from maxent.models.files import json_files
from maxent.models.files.json_files import RepeatedKeys, bytes_of, json_object, too_large, uncollected
from maxent.models.formats.maxent_json.parse import foreign_problem
from maxent.models.formats.maxent_json.rules import checked_release
from maxent.models.formats.release_reader import ReleaseReader
from maxent.models.packages import installed
from maxent.models.reading import Reader, alike, cleaned, spelled_alike, told_apart
from maxent.models.release import FORMAT, Content, Release
from maxent.models.tables.frame import listed

# Names of values and classes in releases that look alike, or are to.

_NAMED = 3  # groups of names, and names of a group, that are spelled out


def check_names(release: Content, source: str, reader: Reader) -> None:
    """Refuse values, and classes, that differ only by blanks or Unicode form; note those that differ only by case."""
    if reader.reading.text == "exact":
        return
    problems: list[Problem] = []
    for title, names in _domains(release):
        same, similar = alike(names)
        if not (same or similar):
            continue
        where, field = ("target", "classes") if title is None else (f"attribute {shown(title)}", "values")
        if same:
            expected = f"{field} that differ by more than blanks or Unicode form (text='exact' reads them as different)"
            found = (Problem(where, field, expected, _named(group)) for group in same)
            problems += listed(found, len(same), field)
        for group in similar[:_NAMED]:
            reader.note(source, f"{where}: {_named(group)} differ only by case, and are read as different names")
    if problems:
        raise InvalidInput(source, problems)


def _domains(release: Content) -> list[tuple[str | None, Sequence[str]]]:
    """Names that must be told apart: classes (None), and the values of each attribute."""
    named = [(a.name, a.values) for a in release.attributes if a.values is not None]
    return [(None, release.target.classes), *named]


def _named(group: Sequence[str]) -> str:
    return " and ".join(map(told_apart, group[:_NAMED]))


# --- Cleaned names ---------------------------------------------------------------------------------------------


def cleaned_document(document: Mapping[str, object], source: str) -> dict[str, object]:
    """Return a decoded document with all names of values and classes cleaned; those of columns stay as they are."""
    if foreign_problem(document):
        return dict(document)  # refused where it is read, without a word of what is in it
    problems: list[Problem] = []
    found = dict(document)
    target = found.get("target")
    if isinstance(target, dict):
        found["target"] = _with_names(target, "classes", "target", problems)
    attributes = found.get("attributes")
    if isinstance(attributes, list):
        found["attributes"] = [_attribute(entry, i, problems) for i, entry in enumerate(attributes, 1)]
    trees = found.get("trees")
    if isinstance(trees, list):
        found["trees"] = [_tree(entry) for entry in trees]
    boosting = found.get("boosting")
    if type(boosting) is dict:
        found["boosting"] = boosting | {
            key: _keys(boosting[key]) for key in ("base", "penalties", "weights") if key in boosting
        }
    if problems:
        raise InvalidInput(source, problems)
    return found


def _attribute(entry: object, number: int, problems: list[Problem]) -> object:
    where = entry.get("name") if isinstance(entry, dict) else None
    place = f"attribute {shown(where)}" if isinstance(where, str) else f"attribute number {number}"
    return _with_names(entry, "values", place, problems)


def _with_names(entry: object, key: str, where: str, problems: list[Problem]) -> object:
    """An object with a list of names cleaned."""
    if type(entry) is not dict or not isinstance(entry.get(key), list):  # others are refused by those who read them
        return entry
    texts = [name for name in entry[key] if isinstance(name, str)]
    expected = f"{key} that are still different when text is stripped: labels, rates and splits are about each"
    problems += [Problem(where, key, expected, _named(group)) for group in spelled_alike(texts, cleaned)]
    return entry | {key: _cleaned(entry[key])}


def _cleaned(value: object) -> object:
    """A text cleaned, and a list with its texts cleaned."""
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return cleaned(value) if isinstance(value, str) else value


def _keys(stated: object) -> object:
    """An object with its keys cleaned; anything else unchanged."""
    if type(stated) is not dict:
        return stated
    pairs = [(cleaned(name), value) for name, value in stated.items()]
    return dict(pairs) if len(dict(pairs)) == len(pairs) else RepeatedKeys(pairs)


def _tree(tree: object) -> object:
    if type(tree) is not dict or not isinstance(tree.get("nodes"), list):
        return tree
    named = {"class": _cleaned(tree["class"])} if "class" in tree else {}
    return tree | named | {"nodes": [_node(node) for node in tree["nodes"]]}


def _node(node: object) -> object:
    """A node with the names in it cleaned; its id is none."""
    if type(node) is not dict:
        return node
    found = node | ({"label": _cleaned(node["label"])} if "label" in node else {})
    for key in ("counts", "rates", "value"):
        if key in node:
            found[key] = _keys(node[key])
    branches = node.get("branches")
    if isinstance(branches, list):
        found["branches"] = [b | {"in": _cleaned(b["in"])} if type(b) is dict and "in" in b else b for b in branches]
    return found


# Bytes of a document from which on reading it into arrays is faster than to read it carefully, as that loads more
LARGE = 2**17


_TIMES = 4  # how many times larger a document may be that is read into arrays, which takes less memory


@uncollected()
def read_release(path: str | os.PathLike[str], reader: Reader) -> Release:
    """Read a `maxent/1` document from a file, and its names as asked."""
    source = os.fspath(path)
    data = bytes_of(source, _TIMES)
    sound = None if reader.reading.text == "strip" else _sound(data)
    if sound is None and len(data) > json_files.MAX_BYTES:
        raise too_large(
            source, json_files.MAX_BYTES, f", or {_TIMES} times as much without any mistake (and text as it is)"
        )
    if reader.reading.text == "strip":
        release = parse_release(cleaned_document(json_object(data, source), source), source)
    else:
        release = _released(sound or checked_release(json_object(data, source), source))
    check_names(release, source, reader)
    return release


READER = ReleaseReader(
    FORMAT,
    f"a {FORMAT} document",
    (".json",),
    read_release,
    lambda head: re.match(r'\{.*"format"\s*:\s*"maxent/', head.text, re.DOTALL) is not None,
)


@uncollected()
def named_release(release: Release, source: str, reader: Reader) -> Release:
    """Read the names in a release as asked."""
    if reader.reading.text == "strip":
        from maxent.models.formats.maxent_json.write import release_to_document

        release = parse_release(cleaned_document(release_to_document(release), source), source)
    check_names(release, source, reader)
    return release


@uncollected()
def parse_release(document: object, source: str) -> Release:
    """Make a release of decoded JSON that problems call ``source``."""
    return _released(checked_release(document, source))


def validate_release(release: Release, source: str = "release") -> None:
    """Check a release that was built in memory against every rule of the format."""
    from maxent.models.formats.maxent_json.write import check_release

    check_release(release, source)


def _sound(data: bytes) -> Content | None:
    """The content of a large document without anything wrong in it; None of any other, and without msgspec."""
    if len(data) < LARGE or not installed("msgspec"):
        return None
    from maxent.models.formats.maxent_json.typed import read_typed

    return read_typed(data)


def _released(content: Content) -> Release:
    """Content that was checked, as a release."""
    return Release(*(getattr(content, field.name) for field in fields(content)))


@cache
def _schema_text() -> str:
    """The JSON Schema as shipped with the package."""
    return files(__package__).joinpath("maxent-1.schema.json").read_text(encoding="utf-8")


def release_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the format: its structure, not what relates its parts."""
    schema: dict[str, Any] = json.loads(_schema_text())
    return schema
