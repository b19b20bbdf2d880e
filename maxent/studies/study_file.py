"""Study files: data sets, test protocol, and a grid of defenses and adversaries, all checked before the run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import product
from math import prod
from os import PathLike, fspath
from pathlib import Path
from typing import Any, get_args

from maxent.models.arguments import is_path, shorten
from maxent.models.defenses.method import Method
from maxent.models.defenses.registry import asked_for, parameters
from maxent.models.errors import ARGUMENT, InvalidInput, MaxentError, Problem, invalid
from maxent.models.files.input_files import is_standard_input, read_input
from maxent.models.files.json_files import unusable_file
from maxent.models.files.toml import Table, are_texts, is_text, is_whole, line_numbers, syntax_problem, toml_document
from maxent.models.hints import close_to
from maxent.models.reading import Decimal, Delimiter, Reading, Text, encoding_named, parse_size, reading_of, size_text
from maxent.models.tables.datasets import DATA, cache_folder
from maxent.models.tables.training import Missing, read_training
from maxent.results.text.terminal import in_study, respelled
from maxent.studies.data import Material, Protocol, StudyData, draws, read_material

# The options of a study's grid: which there are, and which of them go together.
#
# Values are not checked here: methods of defense, attacks and estimates check their own parameters.

# Options of `maxent.defend` whose values are files: a study says true for those of the data set.
FILES = tuple(name for name, each in parameters().items() if each.about.files and each.about.grid)

# Options of `maxent.defend`, and what their values are.
RELEASE: Mapping[str, type] = {
    "method": str,
    **{name: bool if name in FILES else each.kind for name, each in parameters().items() if each.about.grid},
}

# Options of `maxent.audit`.
ATTACK: Mapping[str, type] = {"min_size": int, "background": int, "rounding": str}

# Options of `maxent.estimate`, and whether to estimate at all.
ESTIMATE: Mapping[str, type] = {
    "estimate": bool,
    "knowledge": str,
    "confidence": float,
    "backend": str,
    "tolerance": float,
    "presolve": bool,
    "starts": int,
    "floor": float,
    "time_limit": float,
}

OPTIONS: Mapping[str, type] = {**RELEASE, **ATTACK, **ESTIMATE}

# In place of a value: as if the option was not there.
DEFAULT = "default"
Value = str | int | float | bool
Options = Mapping[str, Value]
# Numbers of a study are smaller.
LARGEST = 2**53
_KINDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def value_problem(name: str, value: object) -> Problem | None:
    """The mistake in the type of the value of an option, None for none; without its place."""
    kind = OPTIONS[name]
    fits = isinstance(value, (int, float) if kind is float else kind) and (kind is bool or not isinstance(value, bool))
    if isinstance(value, (int, float)):
        fits = fits and -LARGEST < value < LARGEST  # not so for NaN
    if fits or value == DEFAULT:
        return None
    return Problem("", name, f"{_KINDS[kind]}, or a list of such values, or {DEFAULT!r}", shorten(value))


def part(options: Options, names: Iterable[str]) -> dict[str, Any]:
    """Some of the options."""
    return {name: options[name] for name in names if name in options}


def method_of(options: Options) -> Method:
    """The method that options ask for, its files not read."""
    given = part(options, RELEASE)
    return asked_for(given.pop("method", "none"), {**given, **{name: {} for name in FILES if given.get(name)}})[0]


def as_asked(options: Options) -> dict[str, Value]:
    """Options with what `maxent.defend` takes for the method, k, inducer and impurity where they are not given."""
    asked = method_of(options)
    found = {"method": "none", **asked.stated(), **options, "k": getattr(asked, "k", None)}
    return {name: found[name] for name in OPTIONS if found.get(name) is not None}


def problems_of(options: Options) -> Iterator[Problem]:
    """Mistakes in a combination of options of the right types; without their places."""
    yield from _defend_problems(tuple(part(options, RELEASE).items()))
    estimated = options.get("estimate", True)
    for name, value in options.items():
        if name in ATTACK:
            yield from _attack_problems(name, value)
        elif name in ESTIMATE and name != "estimate":
            if estimated:
                yield from _estimate_problems(name, value)
            else:
                yield Problem("", name, "none where estimate = false", shorten(value))


@cache
def _defend_problems(options: tuple[tuple[str, Value], ...]) -> tuple[Problem, ...]:
    """Mistakes in the options of a method."""
    return _refused("method", lambda: method_of(dict(options)))


@cache
def _attack_problems(name: str, value: Value) -> tuple[Problem, ...]:
    """Mistakes in the value of an option, found by `maxent.audit`."""
    from maxent.api.attack import check_options

    option: dict[str, Any] = {"min_size": 1, "background": 1, "rounding": "auto", name: value}
    return _refused(name, lambda: check_options(None, **option))


@cache
def _estimate_problems(name: str, value: Value) -> tuple[Problem, ...]:
    """Mistakes in the value of an option, found by `maxent.estimate`."""
    from maxent.api.compile import Knowledge
    from maxent.api.estimate import Solving

    option: dict[str, Any] = {name: value}
    of_solving = name in {each.name for each in fields(Solving)}
    return _refused(name, lambda: Solving(**option) if of_solving else Knowledge(**option).check())


def _refused(name: str, call: Callable[[], object]) -> tuple[Problem, ...]:
    """Mistakes in options, found by a call; an error that is not about an option is one about ``name``."""
    try:
        call()
    except InvalidInput as error:
        return tuple(replace(problem, where="") for problem in error.problems if error.source == "options")
    except MaxentError as error:
        return (Problem("", name, "one that is installed", str(error)),)
    return ()


# Version of what a row says: points of another version are computed again.
ROWS = 1
# Bytes of a study file.
MOST_BYTES = 1_000_000
# Points of a block of a study.
MOST = 100_000


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a study, which gives one row, with the options that are not left to their defaults, in order."""

    id: str
    data: str
    seed: int
    fold: int | None
    options: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Study:
    """A study that can run: its file, ``source``, the ``text`` of that, its data, and its points, each once."""

    name: str
    source: Path
    text: str
    files: Mapping[str, StudyData]
    data: Mapping[str, Material]
    protocol: Protocol
    points: tuple[Point, ...]


def load_study(path: str | PathLike[str], data: str | PathLike[str] | None = None) -> Study:
    """Read a study file and its data, from a folder, the study's own, MAXENT_DATA, or the fetched data sets."""
    for argument, value, expected in (("study", path, "the path of a study file"), ("data", data, "a folder")):
        if not is_path(value) and not (argument == "data" and value is None):
            raise InvalidInput("options", [Problem(ARGUMENT, argument, expected, shorten(value))])
    source = fspath(path)
    try:
        content = read_input(path, MOST_BYTES)
        if content is None:
            raise invalid(source, "file", "size", f"at most {size_text(MOST_BYTES)}", "a larger one")
        text = content.decode("utf-8-sig")
    except InvalidInput:
        raise
    except OSError as error:
        raise unusable_file(source, "a study file that can be read", error) from None
    except ValueError as error:
        raise invalid(source, *syntax_problem(error)) from None
    document = toml_document(text, source)
    if document and not _is_study(document):
        expected = "a study, with tables [data.NAME] and [[grid]]"
        raise invalid(source, "file", "content", expected, "neither of them (is it the right file?)")
    problems: list[Problem] = []
    top = Table(document, (), line_numbers(text), problems)
    cached = cache_folder()
    searched = (data, Path(path).parent, os.environ.get(DATA), cached if cached.is_dir() else None)
    folders = [Path(folder) for folder in searched if folder]
    about = top.table("study")
    name = about.take("name", "a text", is_text) or Path(path).stem
    about.take("description", "a text", is_text)
    about.close()
    protocol = _protocol(top.table("protocol"))
    files = {each: _data_set(each, table, folders) for each, table in top.tables("data").items()}
    blocks = _blocks(top, files)
    top.close()
    materials: dict[str, Material] = {}
    for each, found in files.items():
        if found is not None:
            material = _material(found, top.inner("data", each), protocol)
            materials |= {} if material is None else {each: material}
    if problems:
        raise InvalidInput(source, dict.fromkeys(problems))
    known = {each: found for each, found in files.items() if found is not None}
    points = {point.id: point for block in blocks for point in _points(block, materials, protocol)}
    return Study(name, Path(path), text, known, materials, protocol, tuple(points.values()))


def _is_study(document: Mapping[str, Any]) -> bool:
    """Say whether a document has a data set or a block of a grid; one without either may be any file."""
    data, grid = document.get("data"), document.get("grid")
    named = isinstance(data, dict) and any(isinstance(each, dict) for each in data.values())
    return named or (isinstance(grid, list) and any(isinstance(each, dict) for each in grid))


# --- Data and protocol -----------------------------------------------------------------------------------------


def _protocol(table: Table) -> Protocol:
    """The protocol: held-out records, and seeds."""

    def are_seeds(value: Any) -> bool:
        if isinstance(value, list):
            return bool(value) and all(is_whole(v) and 0 <= v < 2**32 for v in value) and len({*value}) == len(value)
        return is_whole(value) and 1 <= value <= MOST

    share = table.take("test_share", "a share above 0 and below 1", lambda v: isinstance(v, float) and 0 < v < 1)
    folds = table.take("folds", "a whole number of at least 2", lambda v: is_whole(v) and 2 <= v <= MOST)
    seeds = table.take("seeds", "how many seeds, or a list of different ones, each at least 0", are_seeds) or 1
    if share is not None and folds is not None:
        table.note("folds", "either test_share or folds", "both")
    table.close()
    return Protocol(share, folds, tuple(seeds) if isinstance(seeds, list) else tuple(range(seeds)))


def _reading(table: Table) -> Reading | None:
    """How the files of a data set are read."""

    def are_spellings(value: Any) -> bool:
        return isinstance(value, list) and all(isinstance(spelling, str) for spelling in value)

    text = table.take("text", f"one of {', '.join(get_args(Text))}", lambda v: v in get_args(Text))
    na = table.take("na", "a list of spellings of a missing value", are_spellings)
    size = table.take("max_memory", "a size, such as 500MB or 4GB", lambda v: parse_size(v) is not None)
    sheet = table.take("sheet", "the name of a sheet", is_text)
    delimiters, decimals = get_args(Delimiter), get_args(Decimal)
    csv = {
        "csv_delimiter": table.take("csv_delimiter", f"one of {', '.join(delimiters)}", lambda v: v in delimiters),
        "csv_decimal": table.take("csv_decimal", f"one of {', '.join(decimals)}", lambda v: v in decimals),
        "csv_encoding": table.take(
            "csv_encoding", "an encoding, such as cp1252", lambda v: encoding_named(v) is not None
        ),
    }
    return reading_of({"text": text, "na": na, "max_memory": size, "sheet": sheet, **csv})


def _data_set(name: str, table: Table, folders: Sequence[Path]) -> StudyData | None:
    """A data set whose files are there, None when they are not."""

    def is_test(value: Any) -> bool:
        return is_text(value) or (isinstance(value, dict) and len(value) == 1 and all(map(is_text, value.values())))

    def find(key: str, value: Any) -> Path | None:
        if not isinstance(value, str):
            return None
        paths = [folder / value for folder in folders]
        found = next((path for path in paths if os.path.exists(path)), None)
        if found is None:
            there = "" if os.environ.get(DATA) else f" (the environment variable {DATA} is not set)"
            table.note(key, "a file or folder that exists", f"no {shorten(value)} in {_listed(folders)}{there}")
        return found.absolute() if found is not None and is_standard_input(found) else found

    before = len(table.problems)
    given: dict[str, Any] = {
        "file": find("file", table.take("file", "the name of a file", is_text, required=True)),
        "target": table.take("target", "the column of the class", is_text, required=True),
        "missing": table.take("missing", f"one of {', '.join(get_args(Missing))}", lambda v: v in get_args(Missing)),
    }
    for key in ("qi", "private", "ignore", "categorical"):
        columns = table.take(key, "a list of columns", are_texts)
        given[key] = None if columns is None else tuple(columns)
    for key in ("hierarchies", "domains"):
        given[key] = find(key, table.take(key, "the name of a file or folder", is_text))
    given["reading"] = _reading(table)
    test = table.take("test", 'the name of a file, or a column and its value: {fold = "test"}', is_test)
    given["test"] = find("test", test)
    given["fold"] = next(iter(test.items())) if isinstance(test, dict) else None
    table.close()
    if len(table.problems) > before:
        return None
    return StudyData(name, **{key: value for key, value in given.items() if value is not None})


def _listed(folders: Sequence[Path]) -> str:
    return ", ".join(dict.fromkeys(str(folder) for folder in folders))


def _material(data: StudyData, table: Table, protocol: Protocol) -> Material | None:
    """A data set that is read and whose columns can be used, None when it cannot."""
    from pandas import DataFrame

    try:
        material = read_material(data)
    except InvalidInput as error:
        found = (respelled(problem, in_study) for problem in error.problems)
        table.problems.extend(replace(p, where=f"{table.where()}: {error.source}: {p.where}") for p in found)
        return None
    try:  # without records only the columns are looked at
        read_training(DataFrame(), **material.columns)
    except InvalidInput as error:
        if error.source == "training data":
            table.problems.extend(
                replace(respelled(problem, in_study), where=table.where()) for problem in error.problems
            )
    records = len(material.records)
    if material.test is None and protocol.folds is not None and protocol.folds > records:
        table.note("file", f"at least {protocol.folds} records, one for each fold", f"{records}")
    return material


# --- The grid --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Block:
    """A ``[[grid]]``: its data sets, and combinations of options for releases, each with those for adversaries."""

    data: tuple[str, ...]
    releases: tuple[Options, ...]
    adversaries: tuple[Options, ...]


def _blocks(top: Table, files: Mapping[str, StudyData | None]) -> list[_Block]:
    """Every block of the grid whose options can be used."""
    defaults = top.table("defaults")
    usual = _values(defaults)
    blocks = []
    for table in top.array("grid"):
        expected = f"names of data sets, of {', '.join(files)}"
        data = table.take("data", expected, lambda v: v in files if isinstance(v, str) else v and are_texts(v))
        names = tuple(dict.fromkeys([data] if isinstance(data, str) else data or files))
        for name in names:
            if name not in files:
                table.note("data", expected, shorten(name))
        values = {**usual, **_values(table)}
        if prod(map(len, values.values())) > MOST:
            table.problems.append(Problem(table.where(), "grid", f"at most {MOST} combinations", "more"))
            continue
        block = _Block(names, _combined(values, RELEASE), _combined(values, OPTIONS.keys() - RELEASE.keys()))
        _check(block, table, defaults, {name: files[name] for name in names if files.get(name) is not None})
        blocks.append(block)
    return blocks


def _values(table: Table) -> dict[str, list[Value]]:
    """The values of every option of a block; keys that are no options are noted."""
    found = {}
    for key, given in table.content.items():
        if key not in OPTIONS:
            if key not in table.taken:
                table.note(key, "an option of the grid", f"an unknown key{close_to(key, OPTIONS)}")
            continue
        values = given if isinstance(given, list) else [given]
        wrong = [problem for value in values if (problem := value_problem(key, value)) is not None]
        if not values:
            table.note(key, "at least one value", "none")
        table.problems.extend(replace(problem, where=table.where(key)) for problem in wrong)
        if values and not wrong:
            found[key] = values
    return found


def _combined(values: Mapping[str, Sequence[Value]], names: Any) -> tuple[Options, ...]:
    """The product of the values of some options, the last varying first."""
    used = [name for name in values if name in names]
    return tuple(
        {name: value for name, value in zip(used, row, strict=True) if value != DEFAULT}
        for row in product(*(values[name] for name in used))
    )


def _check(block: _Block, table: Table, defaults: Table, data: Mapping[str, StudyData | None]) -> None:
    """Note what is wrong with combinations of options, each problem once."""
    found = [problem for options in block.releases for problem in problems_of(options)]
    found += [problem for options in block.adversaries for problem in problems_of(options)]
    for problem in dict.fromkeys(found):
        place = defaults if problem.field in defaults.content and problem.field not in table.content else table
        table.problems.append(replace(respelled(problem, in_study), where=place.where(problem.field)))
    for key in FILES:
        if any(options.get(key) for options in block.releases):
            for name, files in data.items():
                if files is not None and getattr(files, key) is None:
                    table.note(key, f"a data set with {key}", f"none in [data.{name}]")


def _points(block: _Block, materials: Mapping[str, Material], protocol: Protocol) -> Iterator[Point]:
    """The points of a block; points with the same release follow each other."""
    for name in block.data:
        material = materials[name]
        fixed = material.test is not None
        how = None if fixed else (protocol.test_share, protocol.folds)
        for release in block.releases:
            for seed, fold in draws(protocol, fixed):
                for adversary in block.adversaries:
                    options = as_asked({**release, **adversary})
                    stated = json.dumps([ROWS, name, material.digest, how, seed, fold, options])
                    digest = hashlib.sha256(stated.encode()).hexdigest()[:32]
                    yield Point(digest, name, seed, fold, tuple(options.items()))
