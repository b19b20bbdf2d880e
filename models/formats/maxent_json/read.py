"""`maxent/1` documents to releases: reading, validation, and the JSON Schema of the format."""

from __future__ import annotations

import json
import os
import re
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any

from maxent.models.files.json_files import bytes_of, json_object, uncollected
from maxent.models.formats.maxent_json.check_tree import checked_release
from maxent.models.formats.maxent_json.names import check_names, cleaned_document
from maxent.models.formats.maxent_json.write import check_release, release_to_document
from maxent.models.formats.release_reader import ReleaseReader
from maxent.models.packages import installed
from maxent.models.reading import Reader
from maxent.models.release import FORMAT, Release
from maxent.models.release_content import Content

# Bytes of a document from which on reading it into arrays is faster than to read it carefully, as that loads more
LARGE = 2**17


@uncollected()
def read_release(path: str | os.PathLike[str], reader: Reader) -> Release:
    """Read a `maxent/1` document from a file, and its names as asked."""
    source = os.fspath(path)
    data = bytes_of(source)
    if reader.reading.text == "strip":
        release = parse_release(cleaned_document(json_object(data, source), source), source)
    else:
        release = _released(_sound(data) or checked_release(json_object(data, source), source))
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
        release = parse_release(cleaned_document(release_to_document(release), source), source)
    check_names(release, source, reader)
    return release


def parse_release(document: object, source: str) -> Release:
    """Make a release of an already decoded document.

    Parameters
    ----------
    document : object
        Decoded JSON: dict, list, str, int, float, bool and None.
    source : str
        What problems call the document, such as its file name.
    """
    return _released(checked_release(document, source))


def validate_release(release: Release, source: str = "release") -> None:
    """Check a release that was built in memory against every rule of the format."""
    check_release(release, source)


def _sound(data: bytes) -> Content | None:
    """The content of a large document without anything wrong in it; None of any other, and without msgspec."""
    if len(data) < LARGE or not installed("msgspec"):
        return None
    from maxent.models.formats.maxent_json.typed.document import read_typed

    return read_typed(data)


def _released(content: Content) -> Release:
    """Content that was checked, as a release."""
    return Release(*(getattr(content, field.name) for field in fields(content)))


@cache
def _schema_text() -> str:
    """The JSON Schema as shipped with the package."""
    return files(__package__).joinpath("maxent-1.schema.json").read_text(encoding="utf-8")


def release_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the format.

    It states the structure of a document; what relates fields and nodes (sums, domains, cycles) only
    `load_release` checks.
    """
    schema: dict[str, Any] = json.loads(_schema_text())
    return schema
