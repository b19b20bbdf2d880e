"""The data of a study: files read once, and split into training and test records."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arrays import BoolArray
from maxent.models.errors import InvalidInput, Problem
from maxent.models.files.json_files import read_json_object
from maxent.models.reading import NOTHING, USUAL, Noticed, Reader, Reading
from maxent.models.tables.cells import (
    MISSING,
    holds_numbers,
    kind_notes,
    note_missing,
    numbers,
    spelling_problems,
    unknown_spellings,
)
from maxent.models.tables.domains import read_domains
from maxent.models.tables.frame import Column, Frame, missing_columns
from maxent.models.tables.hierarchies import Hierarchy, hierarchy_files, read_hierarchy
from maxent.models.tables.table_files import read_frame
from maxent.models.tables.training import Missing, date_problems

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, slots=True)
class StudyData:
    """A data set as the study file has it; ``qi`` None: all columns but the target, ``private`` and ``ignore``.

    Test records are those of a file, or those whose column ``fold[0]`` has the value ``fold[1]``.
    """

    name: str
    file: Path
    target: str
    qi: tuple[str, ...] | None = None
    private: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    missing: Missing = "refuse"
    test: Path | None = None
    fold: tuple[str, str] | None = None
    hierarchies: Path | None = None
    domains: Path | None = None
    reading: Reading = USUAL


@dataclass(frozen=True, slots=True)
class Protocol:
    """Protocol of held-out test records: a random share, folds of cross-validation, or neither; for every seed."""

    test_share: float | None = None
    folds: int | None = None
    seeds: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """A data set that was read: the arguments of `maxent.defend` that name columns, its files, and their digest."""

    records: DataFrame
    test: DataFrame | None
    columns: Mapping[str, Any]
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    domains: Mapping[str, Any] | None = None
    files: tuple[Path, ...] = ()
    digest: str = ""
    reading: Reading = USUAL
    noticed: Noticed = NOTHING


def read_material(data: StudyData) -> Material:
    """Read a data set, and everything that goes with it."""
    reader = Reader(data.reading)
    qi = _quasi_identifiers(data, reader)
    names = list(dict.fromkeys([*qi, *data.private, data.target, *(data.fold or ())[:1]]))
    domains = None if data.domains is None else dict(read_json_object(data.domains))
    declared = read_domains(data.domains, data.target, names).values
    frame = read_frame(data.file, data.name, names, reader, declared)
    if problems := [*frame.problems, *missing_columns(frame, names)]:
        raise InvalidInput(frame.source, problems)
    texts = _texts(data, frame, names, declared)
    _note_texts(data, frame, texts)
    records, test = _table(frame, names, texts), None
    if data.test is not None:
        test = _table(_read_test(data.test, data.name, frame, texts, declared), names, texts)
    elif data.fold is not None:
        held_out = _held_out(frame, *data.fold)
        records, test = (records[rows].reset_index(drop=True) for rows in (~held_out, held_out))
    files = [data.file, *([] if data.test is None else [data.test])]
    hierarchies: dict[str, Hierarchy] = {}
    if data.hierarchies is not None:
        found = hierarchy_files(data.hierarchies, [*qi, *data.private])
        hierarchies = {name: read_hierarchy(path, name, reader) for name, path in found.items()}
        files += [Path(path) for path in found.values()]
    if data.domains is not None:
        files.append(data.domains)
    columns = {
        "target": data.target,
        "qi": qi,
        "private": list(data.private),
        "categorical": list(data.categorical),
        "missing": data.missing,
    }
    # The limit on memory decides whether there is a result, not what it is.
    known = {name: value for name, value in data.reading.stated().items() if name != "max_memory"}
    stated = [columns, data.fold, list(hierarchies), *filter(None, [known])]
    digest = _digest(stated, files)
    return Material(records, test, columns, hierarchies, domains, tuple(files), digest, data.reading, reader.noticed)


def _quasi_identifiers(data: StudyData, reader: Reader) -> list[str]:
    """The quasi-identifiers that a data set names, by default all columns without a role of their own."""
    if data.qi is not None:
        return list(data.qi)
    frame = read_frame(data.file, data.name, [], reader)
    if problems := missing_columns(frame, [data.target]):
        raise InvalidInput(frame.source, problems)  # without the names of the other columns: none was asked for
    roles = {data.target, *data.private, *data.ignore, *(data.fold or ())[:1]}
    return [name for name in frame.header if name not in roles]


def _texts(data: StudyData, frame: Frame, names: Sequence[str], declared: Collection[str]) -> list[str]:
    """The columns that are not numeric; refuses dates and times, and values that are spelled in several ways."""
    numeric = {name for name in names if name not in data.categorical and holds_numbers(frame.columns[name])}
    if data.target in numeric and _are_names(frame, data.target):
        numeric.remove(data.target)
    texts = [name for name in names if name not in numeric]
    unnamed = [name for name in texts if name not in data.categorical and name not in declared]
    problems = [problem for name in unnamed for problem in date_problems(frame, name)]
    if problems := [*problems, *(problem for name in texts for problem in spelling_problems(frame, name))]:
        raise InvalidInput(frame.source, problems)
    return texts


def _note_texts(data: StudyData, frame: Frame, texts: Sequence[str]) -> None:
    """Note columns that look like numbers, and missing values that are a category."""
    for name in texts:
        if name not in data.categorical:
            for note in kind_notes(frame, name):
                frame.reader.note(frame.source, *note)
        if data.missing == "category" and name != data.target:
            note_missing(frame, name, MISSING)


def _read_test(
    path: Path, name: str, frame: Frame, texts: Sequence[str], declared: Mapping[str, Sequence[str]]
) -> Frame:
    """The test records of a file, with the columns and the spellings of the training records."""
    names = list(frame.columns)
    other = read_frame(path, f"test of {name}", names, frame.reader, declared)
    problems = [*other.problems, *missing_columns(other, names)]
    if not problems:
        known = {column: frame.columns[column].texts() for column in texts}
        problems = [problem for column in texts for problem in unknown_spellings(other, column, known[column])]
    if problems:
        raise InvalidInput(other.source, problems)
    return other


def _held_out(frame: Frame, column: str, value: str) -> BoolArray:
    """The records with a value in a column, shape (n,): some, but not all."""
    found = frame.columns[column]
    form = frame.reader.reading.form
    chosen: BoolArray = np.array([text == form(value) for text in found.texts()] + [False])[found.codes]
    if chosen.all() or not chosen.any():
        share = f"{chosen.sum()} of {len(chosen)}"
        raise InvalidInput(frame.source, [Problem(f"column {column!r}", value, "some records, not all", share)])
    return chosen


def _digest(stated: object, files: Sequence[Path]) -> str:
    """A hash of what is stated and of the content of files."""
    parts = [json.dumps(stated)]
    for path in files:
        with path.open("rb") as file:
            parts.append(hashlib.file_digest(file, "sha256").hexdigest())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _are_names(frame: Frame, name: str) -> bool:
    """Say whether no number of a column has a fraction, so that they can be names of classes."""
    found = numbers(frame.columns[name])
    return not (found != np.floor(found))[np.isfinite(found)].any()


def _table(frame: Frame, names: Sequence[str], texts: Collection[str]) -> DataFrame:
    """Columns as they are trained on: numbers, or texts; where a cell is no number, it is left to others to refuse."""
    import pandas as pd

    def cells(column: Column, as_numbers: bool) -> Any:
        found = numbers(column)
        if as_numbers and np.isfinite(found).all():
            return np.append(found, np.nan)[column.codes]
        return np.array([*column.texts(), None], object)[column.codes]

    return pd.DataFrame({name: cells(frame.columns[name], name not in texts) for name in names})


# --- Train and test --------------------------------------------------------------------------------------------

# A `Material` as other processes get it: pickled, or the path of the file that it was pickled to.
Packed = bytes | str


@lru_cache(maxsize=2)
def unpack(packed: Packed) -> Material:
    """A packed `Material`; the last ones are remembered."""
    material: Material = pickle.loads(packed if isinstance(packed, bytes) else Path(packed).read_bytes())
    return material


@lru_cache(maxsize=2)
def split(packed: Packed, protocol: Protocol, seed: int, fold: int | None) -> tuple[DataFrame, DataFrame | None]:
    """The records to train on, and those to test on; the last ones are remembered, as many points share them."""
    material = unpack(packed)
    if material.test is not None or (protocol.test_share is None and protocol.folds is None):
        return material.records, material.test
    rows = np.arange(len(material.records))
    if protocol.folds is not None:
        from sklearn.model_selection import KFold

        assert fold is not None
        train, test = list(KFold(protocol.folds, shuffle=True, random_state=seed).split(rows))[fold]
    else:
        from sklearn.model_selection import train_test_split

        train, test = train_test_split(rows, test_size=protocol.test_share, random_state=seed)
    return tuple(material.records.iloc[part].reset_index(drop=True) for part in (train, test))


def draws(protocol: Protocol, fixed: bool) -> Iterator[tuple[int, int | None]]:
    """Seeds and folds; ``fixed`` test records have no folds."""
    for seed in protocol.seeds:
        for fold in [None] if fixed or protocol.folds is None else range(protocol.folds):
            yield seed, fold
