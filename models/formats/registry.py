"""The readers of releases: the one place where they are listed, and where a third party's are found.

A file is read by the first reader that recognises it by what is in it, else by the first one that has its suffix, in
the order of `OWN`, then of the names of entry points in the group ``maxent.readers``, each of which is a
`ReleaseReader`. ``Reading(format=...)``, on the command line ``--from``, names another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from os import PathLike
from typing import cast

from maxent.models.errors import ARGUMENT, InvalidInput, MissingExtra, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.formats.conversion import DECIDED, Converted, Wanted, parameter_problems
from maxent.models.formats.maxent_json.read import READER as MAXENT_JSON
from maxent.models.formats.maxent_json.read import named_release, validate_release
from maxent.models.formats.refused import refusal_of
from maxent.models.formats.release_reader import Records, ReleaseReader, read_head
from maxent.models.formats.scikit_learn.models import no_release
from maxent.models.reading import Reader, Reading, reader_of
from maxent.models.records.generalized_table import GeneralizedTable
from maxent.models.release import Release
from maxent.models.text.hints import close_to

GROUP = "maxent.readers"

# Those of this package by name, and their modules: of formats that look alike the narrower is before the wider one
OWN: Mapping[str, str] = {
    "maxent/1": "maxent.models.formats.maxent_json.read",
    "xgboost-json": "maxent.models.formats.xgboost.saved_json",
    "xgboost-ubj": "maxent.models.formats.xgboost.saved_ubj",
    "xgboost-dump": "maxent.models.formats.xgboost.dump_text",
    "xgboost-dump-json": "maxent.models.formats.xgboost.dump_json",
    "xgboost-table": "maxent.models.formats.xgboost.dump_table",
    "lightgbm-text": "maxent.models.formats.boosting.lightgbm_text",
    "lightgbm-json": "maxent.models.formats.boosting.lightgbm_json",
    "lightgbm-table": "maxent.models.formats.boosting.lightgbm_table",
    "catboost-json": "maxent.models.formats.boosting.catboost_json",
    "treelite-json": "maxent.models.formats.boosting.treelite_json",
    "pmml": "maxent.models.formats.pmml.reader",
    "ydf": "maxent.models.formats.ydf.folder",
    "spark": "maxent.models.formats.spark.reader",
    "spark-text": "maxent.models.formats.spark.debug_string",
    "export-text": "maxent.models.formats.scikit_learn.export_text",
    "graphviz": "maxent.models.formats.graphviz.scikit_learn",
    "skops": "maxent.models.formats.skops.model",
    "onnx": "maxent.models.formats.onnx.model",
    "weka": "maxent.models.formats.weka.trees",
    "c50-tree": "maxent.models.formats.c50.tree_file",
    "c50-text": "maxent.models.formats.c50.text",
    "rpart-frame": "maxent.models.formats.r.rpart_frame",
    "rpart-summary": "maxent.models.formats.r.rpart_summary",
    "rpart-print": "maxent.models.formats.r.rpart_print",
    "partykit-print": "maxent.models.formats.r.partykit_print",
    "r-forest": "maxent.models.formats.r_forests.reader",
    "records": "maxent.models.formats.published_records",
}


@cache
def own_reader(name: str) -> ReleaseReader:
    """A reader of this package, loaded when it is asked for."""
    found: ReleaseReader = import_module(OWN[name]).READER
    return found


def load_release(path: str | PathLike[str], reading: Reading | None = None) -> Release:
    """Read a release of trees from a file.

    Parameters
    ----------
    path : str or path-like
        A ``maxent/1`` document: JSON, UTF-8 with or without a byte order mark. Or a file of a format that another
        reader recognises, see `maxent.models.formats.registry`.
    reading : Reading, optional
        The format, and what is done with names that differ only by blanks or by Unicode form.
    """
    found = open_published(path, reader_of(reading))
    if isinstance(found, Release):
        return found
    if isinstance(path, (str, PathLike)):
        raise invalid(shown_path(path), "file", "format", "a release of trees", own_reader("records").words)
    raise no_release(path)


def open_published(published: object, reader: Reader) -> Release | Records:
    """Read what was published; records stay what they are until the adversary's table says what their columns mean."""
    if isinstance(published, Release):
        return named_release(published, "release", reader)
    if isinstance(published, (str, PathLike)):
        chosen = reader_for(published, reader.reading.format)
        found = chosen.read(published, reader)
        if chosen is MAXENT_JSON or not isinstance(found, Release):
            return found
        validate_release(found, shown_path(published))
        return named_release(found, shown_path(published), reader)
    if isinstance(published, GeneralizedTable) or hasattr(published, "columns"):
        return cast("Records", published)
    raise no_release(published)


def convert_model(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a model that a tool wrote as a release.

    Parameters
    ----------
    path : str or path-like
        A file or a folder.
    wanted : Wanted
        What its file lacks.
    reader : Reader
        How to read; `Reading.format` names the format.
    """
    chosen = reader_for(path, reader.reading.format)
    source = shown_path(path)
    if problems := parameter_problems(wanted.parameters, chosen.parameters, chosen.name):
        raise InvalidInput("options", problems)
    if chosen.convert is not None:
        found = chosen.convert(path, wanted, reader)
        validate_release(found.release, source)
        if found.release.labels == "decided":
            found = replace(found, lost=(*found.lost, DECIDED))
        return replace(found, release=named_release(found.release, source, reader), format=chosen.name)
    release = chosen.read(path, reader)
    if not isinstance(release, Release):
        raise invalid(source, "file", "format", "a model", chosen.words)
    if wanted.target not in (None, release.target.name):
        raise invalid(
            "options", ARGUMENT, "target", f"that of the release, {release.target.name!r}", repr(wanted.target)
        )
    return Converted(release, "maxent", format=chosen.name)


def reader_for(path: str | PathLike[str], name: str | None = None) -> ReleaseReader:
    """The reader of a name, else the one that recognises a file.

    Raises
    ------
    MissingExtra
        When the reader of that name cannot be loaded.
    """
    if name is not None:
        return _named(name)
    head = read_head(path)
    for reader in known_readers():
        with suppress(Exception):  # one that is broken must not hide the others
            if reader.recognise is not None and reader.recognise(head):
                return reader
    if (refusal := refusal_of(head)) is not None:
        expected = f"another export of the model: {refusal.instead}"
        raise invalid(shown_path(path), "file", "format", expected, f"what looks like {refusal.words}")
    for reader in known_readers():
        if head.name.endswith(reader.suffixes):
            return reader
    if not head.start:
        return MAXENT_JSON  # which says that it is empty, or why it cannot be read
    kinds = "; ".join(f"{r.name}: {r.words}{_endings(r)}" for r in known_readers())
    expected = f"a release in one of these formats, which format= can name: {kinds}"
    raise invalid(shown_path(path), "file", "format", expected, f"what looks like {head.looks}")


def _endings(reader: ReleaseReader) -> str:
    """The suffixes of a reader in brackets; nothing for a format that is recognised by its content alone."""
    return f" ({', '.join(reader.suffixes)})" if reader.suffixes else ""


def known_readers() -> Iterator[ReleaseReader]:
    """Every reader that can be used, in their order; those of third parties are loaded last."""
    yield from map(own_reader, OWN)
    for entry in _entries():
        with suppress(Exception):  # as above
            yield _loaded(entry)


def reader_names() -> tuple[str, ...]:
    """The names of all readers, in their order."""
    return (*OWN, *(entry.name for entry in _entries()))


def _entries() -> list[EntryPoint]:
    """The entry points of third parties, by name; ours come first, whatever else has their names."""
    return sorted((e for e in entry_points(group=GROUP) if e.name not in OWN), key=lambda entry: entry.name)


def _named(name: str) -> ReleaseReader:
    """The reader that has a name."""
    if name in OWN:
        return own_reader(name)
    for entry in _entries():
        if entry.name == name:
            return _loaded(entry)
    names = reader_names()
    expected = f"one of {', '.join(names)}"
    raise invalid("options", ARGUMENT, "format", expected, f"{name!r}{close_to(str(name), names)}")


def _loaded(entry: EntryPoint) -> ReleaseReader:
    """The reader of an entry point."""
    try:
        found = entry.load()
    except Exception as error:  # whatever a third party's module does when it is imported
        raise MissingExtra(f"reader {entry.name!r} cannot be loaded: {error}") from error
    if not isinstance(found, ReleaseReader) or found.name != entry.name:
        raise MissingExtra(f"reader {entry.name!r} cannot be loaded: {entry.value} is no ReleaseReader of that name")
    return found
