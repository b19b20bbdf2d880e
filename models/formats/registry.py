"""The list of readers of releases, our own and third parties', and of formats that cannot be read soundly.

A file is read by the first reader that recognises it by what is in it, else by the first one that has its suffix, in
the order of `OWN`, then of the names of entry points in the group ``maxent.readers``, each of which is a
`ReleaseReader`. ``Reading(format=...)``, on the command line ``--from``, names another one.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from os import PathLike
from typing import cast

from maxent.models.errors import ARGUMENT, InvalidInput, MissingExtra, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import bytes_of
from maxent.models.formats.maxent_json.read import READER as MAXENT_JSON
from maxent.models.formats.maxent_json.read import named_release, validate_release
from maxent.models.formats.release_reader import (
    DECIDED,
    PARTED,
    Converted,
    Head,
    Records,
    ReleaseReader,
    Wanted,
    parameter_problems,
    read_head,
)
from maxent.models.formats.scikit_learn.models import RULE_LISTS, RULE_SETS, no_release
from maxent.models.hints import close_to
from maxent.models.nodes import parts_in_words
from maxent.models.reading import Reader, Reading, reader_of
from maxent.models.release import Release
from maxent.models.tables.generalized_records import GeneralizedTable

# Files of models that cannot be read soundly: how each is told, why it is not read, and the way to a better one.

_PEEKED = 64  # bytes of a compressed file that show what is in it


@dataclass(frozen=True, slots=True)
class Refusal:
    """A kind of file that is not read: what it is, how a `Head` shows it, what to do instead, ``lines`` that do it."""

    words: str
    recognise: Callable[[Head], bool]
    instead: str
    lines: str = ""


def unpacked(head: Head) -> bytes:
    """The first bytes of a file, of what is in it where it is compressed by gzip or zlib."""
    if head.start[:2] == b"\x1f\x8b" or head.start[:1] == b"\x78":
        try:
            return zlib.decompressobj(wbits=zlib.MAX_WBITS | 32).decompress(head.start, _PEEKED)
        except zlib.error:
            return b""
    return head.start[:_PEEKED]


def _is_pickle(head: Head) -> bool:
    start = unpacked(head)
    return (start[:1] == b"\x80" and start[1:2] in (b"\2", b"\3", b"\4", b"\5")) or head.name.endswith(
        (".pkl", ".pickle", ".joblib", ".joblib.gz")
    )


def _is_treelite(head: Head) -> bool:
    """Versions 3 and 4 begin with their three numbers, of 32 bits each."""
    start = head.start[:12]
    return len(start) == 12 and start[0] in (3, 4) and not any(start[i] for i in (1, 2, 3, 5, 6, 7, 9, 10, 11))


def _is_r_data(head: Head) -> bool:
    return unpacked(head)[:2] in (b"X\n", b"A\n", b"RD") or head.name.endswith((".rds", ".rda", ".rdata"))


def _starts(head: Head, pattern: str) -> bool:
    return re.match(pattern, head.text) is not None


# What whoever has the model runs to write a file that is read
_OF_PYTHON = """# in Python, where the model was trained; it needs: pip install skops
import joblib
import skops.io

model = joblib.load("model.pkl")  # only a file that you wrote yourself: a pickle can run anything
skops.io.dump(model, "model.skops")"""
_OF_R = """# in R, where the model was trained; maxent.R is in the folder examples/r of maxent
source("maxent.R")
model <- readRDS("model.rds")  # of .RData: model <- get(load("model.RData"))
data <- read.csv("data.csv", stringsAsFactors = TRUE)  # the training table
maxent_export(model, "model", data)"""

# All of them; a file is refused by the first that recognises it, after all readers have been asked
REFUSED = (
    Refusal(
        "a pickle, which could run any code and is not loaded",
        _is_pickle,
        "convert the model in Python, maxent.convert(model) or maxent.from_sklearn(model), or save it with skops, as "
        "PMML or as text (export_text with show_weights=True)",
        _OF_PYTHON,
    ),
    Refusal(
        "R data",
        _is_r_data,
        "in R, print the tree into a text file, capture.output(print(model), file='tree.txt'), or write its frame with "
        "write.csv",
        _OF_R,
    ),
    Refusal(
        "a serialised object of Java",
        lambda head: head.start.startswith(b"\xac\xed\0\5"),
        "save the text that Weka prints of the model",
    ),
    Refusal(
        "a tree of R's party, whose print has no labels",
        lambda head: _starts(head, r"\s*Conditional inference tree with [0-9]+ terminal nodes"),
        "grow it with partykit::ctree in place of party::ctree, and save what R prints of that",
    ),
    Refusal(
        "what R prints of a forest, which has no trees",
        lambda head: _starts(head, r"\s*(Ranger result\n|Call:\n randomForest\()"),
        'save its trees as tables, in a folder: write.csv(ranger::treeInfo(model, k), "tree1.csv"), for each k, or '
        "randomForest::getTree(model, k, labelVar = TRUE)",
    ),
    Refusal(
        "CatBoost's binary format",
        lambda head: head.start.startswith(b"CBM1"),
        "save the model as JSON: save_model of the model does, with the format json and the training pool",
    ),
    Refusal(
        "CatBoost's program of a model",
        lambda head: re.match(r"###  Model data\r?\nclass catboost_model", head.text) is not None,
        "save the model as JSON: save_model of the model does, with the format json and the training pool",
    ),
    Refusal(
        "a model of npm's ml-cart or ml-random-forest, without names of columns and classes, and without counts",
        lambda head: re.match(r'\{\s*"(options|baseModel)":\s*\{\s*"(gainFunction|indexes)":', head.text) is not None,
        "grow the tree with a program that saves counts, as scikit-learn in PMML or as text",
    ),
    Refusal(
        "a tree of npm's decision-tree, which keeps the training table in it",
        lambda head: (
            re.match(r'\{\s*"(model|data)":[\s\S]{0,400}?"alias":\s*"|\{\s*"data":\s*\[\s*\{', head.text) is not None
        ),
        "grow the tree with a program that saves counts without the records, as scikit-learn in PMML or as text",
    ),
    Refusal(
        "XGBoost's old binary format",
        lambda head: head.start.startswith(b"binf") and b"gb" in head.start[:400],
        "load it with XGBoost up to 2.1 and save it anew: booster.save_model('model.json')",
    ),
    Refusal(
        "a drawing of one of XGBoost's trees, without those before it",
        lambda head: re.match(r"digraph \{\s*graph \[ rankdir=", head.text) is not None,
        "save the model, booster.save_model('model.json'), or dump all trees, dump_model with with_stats=True",
    ),
    Refusal(
        "a print of ydf, which rounds and leaves out where missing values of the training went",
        lambda head: re.match(r'(Type: "[A-Z_]+"\r?\nTask: |Tree #0\r?\n\s*\S.* \[score=)', head.text) is not None,
        "save the model in a folder: model.save of the model",
    ),
    *(
        Refusal(
            f"a set of rules of imodels ({name}): {said}",
            partial(_starts, pattern=rf"{name}(Classifier|Regressor)[ \t]*\r?\n  "),
            RULE_LISTS,
        )
        for name, said in RULE_SETS.items()
    ),
    Refusal(
        "a checkpoint of treelite, which only its own library can take apart",
        _is_treelite,
        "in Python, write treelite.Model.deserialize(path).dump_as_json() into a file",
    ),
)


def refusal_of(head: Head) -> Refusal | None:
    """Reason why a file is not read, None when it is of no such kind."""
    return next((refusal for refusal in REFUSED if refusal.recognise(head)), None)


GROUP = "maxent.readers"

# Those of this package by name, and their modules: of formats that look alike the narrower is before the wider one
OWN: Mapping[str, str] = {
    "maxent/1": "maxent.models.formats.maxent_json.read",
    "maxent-statements/1": "maxent.models.statements.read",
    "glm": "maxent.models.statements.glm_models",
    "glm-r": "maxent.models.statements.glm_printed",
    "glm-statsmodels": "maxent.models.statements.glm_printed",
    "weka-rules": "maxent.models.statements.rule_models",
    "c50-rules": "maxent.models.statements.rule_models",
    "corels": "maxent.models.statements.rule_models",
    "imodels": "maxent.models.statements.rule_models",
    "xgboost-json": "maxent.models.formats.boosting.xgboost_files",
    "xgboost-ubj": "maxent.models.formats.boosting.xgboost_files",
    "xgboost-dump": "maxent.models.formats.boosting.xgboost_dump",
    "xgboost-dump-json": "maxent.models.formats.boosting.xgboost_dump",
    "xgboost-table": "maxent.models.formats.boosting.xgboost_dump",
    "lightgbm-text": "maxent.models.formats.boosting.lightgbm_files",
    "lightgbm-json": "maxent.models.formats.boosting.lightgbm_files",
    "lightgbm-table": "maxent.models.formats.boosting.lightgbm_files",
    "catboost-json": "maxent.models.formats.boosting.catboost_json",
    "treelite-json": "maxent.models.formats.boosting.treelite_json",
    "pmml": "maxent.models.formats.pmml.reader",
    "sacro-ml": "maxent.models.formats.sacro_ml",
    "ydf": "maxent.models.formats.ydf",
    "spark": "maxent.models.formats.spark",
    "spark-text": "maxent.models.formats.spark",
    "export-text": "maxent.models.formats.scikit_learn.texts",
    "graphviz": "maxent.models.formats.scikit_learn.texts",
    "skops": "maxent.models.formats.skops",
    "onnx": "maxent.models.formats.onnx",
    "weka": "maxent.models.formats.weka",
    "c50-tree": "maxent.models.formats.c50",
    "c50-text": "maxent.models.formats.c50",
    "rpart-frame": "maxent.models.formats.r.rpart",
    "rpart-summary": "maxent.models.formats.r.rpart",
    "rpart-print": "maxent.models.formats.r.rpart",
    "partykit-print": "maxent.models.formats.r.partykit_print",
    "r-forest": "maxent.models.formats.r.forests",
    "records": "maxent.models.formats.published_records",
}


@cache
def own_reader(name: str) -> ReleaseReader:
    """A reader of this package, loaded when it is asked for."""
    held = vars(import_module(OWN[name])).values()
    return next(reader for reader in held if isinstance(reader, ReleaseReader) and reader.name == name)


def load_release(path: str | PathLike[str], reading: Reading | None = None) -> Release:
    """Read a release of trees from a file.

    Parameters
    ----------
    path : str or path-like
        A ``maxent/1`` document: JSON, UTF-8 with or without a byte order mark. Or a file of a format that another
        reader recognises.
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
        return published if published.statements else named_release(published, "release", reader)
    if isinstance(published, (str, PathLike)):
        chosen = reader_for(published, reader.reading.format)
        found = chosen.read(published, reader)
        if chosen is MAXENT_JSON or not isinstance(found, Release) or found.statements:
            return found
        validate_release(found, shown_path(published))
        return named_release(found, shown_path(published), reader)
    if isinstance(published, GeneralizedTable) or hasattr(published, "columns"):
        return cast("Records", published)
    raise no_release(published)


def convert_model(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a model that a tool wrote, a file or a folder, as a release."""
    chosen = reader_for(path, reader.reading.format)
    source = shown_path(path)
    if path != "-" and not os.path.exists(path):
        bytes_of(os.fspath(path))  # which says why it cannot be read
    release = None if chosen.convert else chosen.read(path, reader)  # first, as a file may not be there
    if problems := parameter_problems(wanted.parameters, chosen.parameters, chosen.name):
        raise InvalidInput("options", problems)
    if chosen.convert is not None:
        found = chosen.convert(path, wanted, reader)
        if found.release.statements:
            return replace(found, format=chosen.name)
        validate_release(found.release, source)
        if found.release.labels == "decided":
            parted = parts_in_words(found.release.trees)
            found = replace(found, lost=(*found.lost, PARTED if parted else DECIDED))
        return replace(found, release=named_release(found.release, source, reader), format=chosen.name)
    if not isinstance(release, Release):
        raise invalid(source, "file", "format", "a model", chosen.words)
    if wanted.target not in (None, release.target.name):
        raise invalid(
            "options", ARGUMENT, "target", f"that of the release, {release.target.name!r}", repr(wanted.target)
        )
    return Converted(release, "maxent", format=chosen.name)


def reader_for(path: str | PathLike[str], name: str | None = None) -> ReleaseReader:
    """The reader of a name, else the one that recognises a file; `MissingExtra` when it cannot be loaded."""
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
