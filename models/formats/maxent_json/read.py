"""`maxent/1` documents to releases: reading, validation, and the JSON Schema of the format."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any

from maxent.models.files.json_files import read_json_object, uncollected
from maxent.models.formats.maxent_json.check_tree import checked_release
from maxent.models.formats.maxent_json.names import check_names, cleaned_document
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.formats.scikit_learn.models import no_release
from maxent.models.reading import Reader, Reading, reader_of
from maxent.models.release import Release
from maxent.models.release_content import Content


def load_release(path: str | os.PathLike[str], reading: Reading | None = None) -> Release:
    """Read a release from a `maxent/1` JSON file.

    Parameters
    ----------
    path : str or path-like
        The file, UTF-8 with or without a byte order mark.
    reading : Reading, optional
        What is done with names that differ only by blanks or by Unicode form.

    Raises
    ------
    InvalidInput
        When the file cannot be read, is not strict JSON (no NaN, no repeated keys), or breaks a rule of the
        format; with every problem of the document, each naming the node, the field, what was expected and found.
    """
    return opened_release(path, reader_of(reading))


@uncollected()
def opened_release(release: Release | str | os.PathLike[str], reader: Reader) -> Release:
    """Load a release unless it is one already, and read its names as asked; parameters and errors as `load_release`."""
    if not isinstance(release, (Release, str, os.PathLike)):
        raise no_release(release)
    source = "release" if isinstance(release, Release) else os.fspath(release)
    if reader.reading.text != "strip":
        opened = release if isinstance(release, Release) else parse_release(read_json_object(release), source)
    else:
        document = release_to_document(release) if isinstance(release, Release) else read_json_object(release)
        opened = parse_release(cleaned_document(document, source), source)
    check_names(opened, source, reader)
    return opened


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
    return _released(checked_release(document, source))


def validate_release(release: Release, source: str = "release") -> None:
    """Check a release that was built in memory against every rule of the format.

    Raises
    ------
    InvalidInput
        With every problem of the release.
    """
    checked_release(release_to_document(release), source)


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
