"""Files of models without what tells who was drawn for training: each in its tool's own format, predictions unchanged.

A format's entry in `STRIPPERS` edits the file's own description, and nothing else of it. `strip_file` then reads both
files, and refuses a result that differs in anything but what was removed.
"""

from __future__ import annotations

import copy
import io
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from maxent.models.display import Display, Summarised
from maxent.models.draws import DRAWN
from maxent.models.errors import ARGUMENT, InvalidInput, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import bytes_of
from maxent.models.files.output import check_outputs, write_atomically
from maxent.models.formats.registry import reader_for
from maxent.models.reading import Reading, reader_of
from maxent.models.release import Release

# Attributes of scikit-learn's objects from which draws follow, or that have an entry for each row of training. What
# begins with ``param_`` are columns of a search.
_TELLS = re.compile(
    r"(param_)?(.*__)?random_state|_seeds|_random_seed|_rng|_feature_subsample_rng|_sample_weight"
    r"|oob_(decision_function|prediction|scores?|improvement)_"
)
_GENERATORS = ("RandomStateNode", "RandomGeneratorNode")
_NOTHING = {
    "__class__": "str",
    "__module__": "builtins",
    "__loader__": "JsonNode",
    "content": "null",
    "is_json": True,
}

# False takes the place of these: rows were drawn by weights, not all alike, which whoever reads counts has to know
_WEIGHTS = "_sample_weight"

# The seed of its draws that a tool takes unless another is given: everybody knows it, so that it cannot be taken away.
_USUAL_LIGHTGBM, _USUAL_CATBOOST = "3", 0


@dataclass(frozen=True, slots=True, repr=False)
class Stripped(Summarised):
    """What was taken out of a model's file.

    Attributes
    ----------
    removed, kept : tuple of str
        Names of what is gone, and of what is still there although draws follow from it, each with the reason.
    same_predictions : bool
        Whether both files were read, and say the same beside what was removed. It is True, or nothing was written.
    """

    removed: tuple[str, ...]
    kept: tuple[str, ...] = ()
    same_predictions: bool = True

    @property
    def summary(self) -> dict[str, Any]:
        """The object of ``maxent strip --json``."""
        return {"removed": [*self.removed], "kept": [*self.kept], "same_predictions": self.same_predictions}

    def _display(self) -> Display:
        rows = [*(("removed", name) for name in self.removed), *(("cannot be removed", name) for name in self.kept)]
        lines = [f"{what}: {name}" for what, name in rows]
        same = "it reads as before, and predicts the same"
        title = "A model's file without seeds" if self.removed else "A model's file, in which no seed stands"
        return Display(title, [*lines, same], ("", "what"), rows, [same])


@dataclass(frozen=True, slots=True)
class _Edit:
    """Members of a file or folder that are written anew, by name (``""``: the file itself), and what was removed."""

    written: Mapping[str, bytes]
    removed: Mapping[str, int]
    kept: tuple[str, ...] = ()


def strip_file(model: str | PathLike[str], path: str | PathLike[str], reading: Reading | None = None) -> Stripped:
    """Write a model's file without what tells who was drawn, see `maxent.strip`."""
    source, name = shown_path(model), reader_for(model, None if reading is None else reading.format).name
    check_outputs({"-o": (path, ())}, [model])
    if name not in STRIPPERS:
        known = ", ".join(STRIPPERS)
        raise invalid(source, "file", "format", f"one that can be stripped: {known}", name)
    folder = os.path.isdir(model)
    if folder and os.path.lexists(path):
        raise invalid(
            "output", ARGUMENT, "-o", "a folder that is not there yet", f"{os.fspath(path)!r}, which is there"
        )
    try:
        edit = STRIPPERS[name](os.fspath(model))
    except (
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        UnicodeDecodeError,
        ValueError,
        zipfile.BadZipFile,
    ) as error:
        if isinstance(error, InvalidInput):
            raise
        found = f"{type(error).__name__}: {str(error)[:100]}"
        raise invalid(source, "document", "content", f"a model that {name} describes", found) from None
    before, aside = _read(model, name)
    if folder:
        _write_folder(Path(os.fspath(model)), Path(os.fspath(path)), edit, before, name)
    else:

        def write(temporary: str) -> None:
            Path(temporary).write_bytes(edit.written[""])
            _compare(before, _read(temporary, name)[0], source)

        write_atomically(path, write, public=True)
    removed = [f"{what} ({times} times)" if times > 1 else what for what, times in edit.removed.items()]
    return Stripped(tuple(removed), edit.kept if name == "skops" or any(DRAWN in what for what in aside) else ())


def _read(path: str | PathLike[str], name: str) -> tuple[Release | None, tuple[str, ...]]:
    """The release of a model's file without draws, None where it needs words of the caller, and what is kept aside."""
    reader = reader_of(Reading(format=name))
    try:
        found = reader_for(path, name).read(path, reader)
    except InvalidInput:
        return None, (DRAWN,)
    return (replace(found, draws=None) if isinstance(found, Release) else None), reader.noticed.aside


def _compare(before: Release | None, after: Release | None, source: str) -> None:
    """Refuse a file that does not say the same as before."""
    if before != after:
        raise invalid(source, "document", "model", "the same trees without its seeds", "others")


def _write_folder(model: Path, path: Path, edit: _Edit, before: Release | None, name: str) -> None:
    temporary = path.with_name(f".{path.name}.maxent-{os.getpid()}.tmp")
    try:
        shutil.copytree(model, temporary)
        for member, data in edit.written.items():
            (temporary / member).write_bytes(data)
            (temporary / member).with_name(f".{Path(member).name}.crc").unlink(missing_ok=True)  # of what was there
        _compare(before, _read(temporary, name)[0], shown_path(model))
        temporary.rename(path)
    except OSError as error:
        words = error.strerror or type(error).__name__
        raise invalid(
            "output", ARGUMENT, "-o", "a folder that can be written", f"{os.fspath(path)!r}, {words}"
        ) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _tried(seed: object) -> str:
    """What removing the seed of an ensemble does not help against: few numbers are tried in no time."""
    return f"draws of random_state={seed}, as whoever tries small numbers finds them again: train without a seed"


def _count(removed: dict[str, int], name: str) -> None:
    removed[name] = removed.get(name, 0) + 1


# --- skops: a zip archive with a description of objects, and arrays beside it


def _skops(path: str) -> _Edit:
    removed: dict[str, int] = {}
    content = io.BytesIO(bytes_of(path))
    with zipfile.ZipFile(content) as archive:
        schema = json.loads(archive.read("schema.json"))
        nothing = {**_NOTHING, "__id__": 1 + max(_ids(schema), default=0)}
        kept = _empty(schema, nothing, removed)
        left, made = set(_files(schema)), io.BytesIO()
        with zipfile.ZipFile(made, "w") as new:
            for member in archive.infolist():
                if member.filename == "schema.json":
                    new.writestr(member, json.dumps(schema, indent=2))
                elif member.filename in left:
                    new.writestr(member, archive.read(member))
    return _Edit({"": made.getvalue()}, removed, kept)


def _parts(value: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Every container in a document with each of its keys and values; what a value became is gone through next."""
    todo = [value]
    while todo:
        found = todo.pop()
        for key in list(found) if isinstance(found, dict) else range(len(found)):
            yield found, key, found[key]
            if isinstance(found[key], (dict, list)):
                todo.append(found[key])


def _empty(schema: Any, nothing: Mapping[str, Any], removed: dict[str, int]) -> tuple[str, ...]:
    """Put nothing in the place of what tells of draws; what that does not help against."""
    kept: dict[str, None] = {}
    for found, key, value in _parts(schema):
        if not isinstance(value, dict) or "__loader__" not in value or value.get("content") in ("null", "false"):
            continue
        if value["__loader__"] in _GENERATORS or (isinstance(key, str) and _TELLS.fullmatch(key)):
            _count(removed, str(key))
            found[key] = {**nothing, "content": "false"} if key == _WEIGHTS else dict(nothing)
            if key == "random_state" and {"bootstrap", "subsample"} & {*found} and value["__loader__"] == "JsonNode":
                kept[_tried(value["content"])] = None
    return tuple(kept)


def _ids(schema: Any) -> Iterator[int]:
    return (value for _, key, value in _parts({"": schema}) if key == "__id__" and isinstance(value, int))


def _files(schema: Any) -> Iterator[str]:
    return (value for _, key, value in _parts({"": schema}) if key == "file" and isinstance(value, str))


# --- Boosted models as text and JSON


def _lightgbm(path: str) -> _Edit:
    text = bytes_of(path).decode("utf-8")
    start, end, said = text.partition("\nend of trees\n")
    stated = dict(re.findall(r"^\[((?:[a-z_]+_)?seed): ?(.*?)\]", said, re.MULTILINE))
    if stated.get("bagging_seed", "") == _USUAL_LIGHTGBM:
        why = (
            f"bagging_seed, {_USUAL_LIGHTGBM}, which LightGBM takes unless a seed is given: train with one of your own"
        )
        return _Edit({"": text.encode()}, {}, (why,))
    left = re.sub(r"^\[(?:[a-z_]+_)?seed: ?[^\]\n]*\]\r?\n", "", said, flags=re.MULTILINE)
    return _Edit({"": (start + end + left).encode()}, dict.fromkeys(stated, 1))


def _catboost(path: str) -> _Edit:
    document, removed = json.loads(bytes_of(path)), dict[str, int]()
    seed = document["model_info"]["params"].get("random_seed")
    if seed == _USUAL_CATBOOST:
        why = f"random_seed, {seed}, which CatBoost takes unless a seed is given: train with one of your own"
        return _Edit({"": bytes_of(path)}, {}, (why,))
    for found, key, _ in [*_parts(document["model_info"])]:
        if key == "random_seed":
            del found[key]
            _count(removed, key)
    return _Edit({"": json.dumps(document).encode()}, removed)


def _xgboost(path: str) -> _Edit:
    """Older versions keep parameters of the estimator as text in an attribute."""
    document, removed = json.loads(bytes_of(path)), dict[str, int]()
    attributes = document["learner"].get("attributes", {})
    for name, text in attributes.items():
        try:
            told = json.loads(text)
        except ValueError:
            continue
        for key in ("random_state", "seed") if isinstance(told, dict) else ():
            if told.get(key) is not None:
                told[key] = None
                _count(removed, key)
                attributes[name] = json.dumps(told)
    written = json.dumps(document).encode() if removed else bytes_of(path)
    return _Edit({"": written}, removed)


# --- Spark: metadata of the model, and of each of its trees in a Parquet file


def _spark(path: str) -> _Edit:
    removed: dict[str, int] = {}
    written: dict[str, bytes] = {}
    drawn, usual = False, True
    for file in sorted(Path(path).rglob("*")):
        member, kind = file.relative_to(path).as_posix(), file.parent.name
        if kind == "metadata" and file.name.startswith("part-"):
            document = json.loads(file.read_bytes())
            mine = _spark_seed(document, removed)
            drawn |= "bootstrap" in document.get("defaultParamMap", {}) or "subsamplingRate" in document["paramMap"]
            if mine:
                usual, written[member] = False, json.dumps(document, separators=(",", ":")).encode() + b"\n"
        elif kind == "treesMetadata" and file.name.startswith("part-"):
            from pyarrow import array
            from pyarrow.parquet import read_table, write_table

            table = read_table(file)
            name = next(field.name for field in table.schema if str(field.type) == "string")
            trees = [json.loads(text) for text in table.column(name).to_pylist()]
            for tree in trees:
                _spark_seed(tree, removed)
            texts = array([json.dumps(tree, separators=(",", ":")) for tree in trees])
            content = io.BytesIO()
            write_table(table.set_column(table.schema.get_field_index(name), table.schema.field(name), texts), content)
            written[member] = content.getvalue()
    if drawn and usual:
        return _Edit({}, {}, ("seed, which Spark takes unless one is given: train with one of your own",))
    return _Edit(written, removed)


def _spark_seed(document: dict[str, Any], removed: dict[str, int]) -> bool:
    """Take a seed that was given out of the parameters of a stage; the usual one is that of its class."""
    if "seed" not in document["paramMap"]:
        return False
    del document["paramMap"]["seed"]
    document["defaultParamMap"].pop("seed", None)
    _count(removed, "seed")
    return True


def _maxent(path: str) -> _Edit:
    document = json.loads(bytes_of(path).decode("utf-8-sig"))
    about = document.get("release", {})
    if about.pop("draws", None) is None:
        return _Edit({"": bytes_of(path)}, {})
    if not about:
        del document["release"]
    return _Edit({"": json.dumps(document, ensure_ascii=False).encode() + b"\n"}, {"draws": 1})


# Name of a reader -> what edits a file or folder of its format.
STRIPPERS: Mapping[str, Callable[[str], _Edit]] = {
    "maxent/1": _maxent,
    "skops": _skops,
    "lightgbm-text": _lightgbm,
    "catboost-json": _catboost,
    "xgboost-json": _xgboost,
    "spark": _spark,
}


# --- Fitted models


def strip_fitted(model: Any) -> tuple[Any, tuple[str, ...]]:
    """A copy of a fitted model of scikit-learn without what tells who was drawn, and the names of that."""
    made, removed = copy.deepcopy(model), dict[str, int]()
    seen: set[int] = set()
    todo: list[Any] = [made]
    while todo:
        found = todo.pop()
        if id(found) in seen:
            continue
        seen.add(id(found))
        where = type(found).__module__.partition(".")[0]
        if where in ("xgboost", "lightgbm", "catboost"):
            expected = "a model whose seeds are in its own file alone: save it (as text or JSON), and strip that file"
            raise invalid("model", ARGUMENT, "type", expected, type(found).__name__)
        inside = found if isinstance(found, dict) else getattr(found, "__dict__", None)
        if isinstance(found, (list, tuple)):
            todo += found
        elif where == "numpy" and getattr(getattr(found, "dtype", None), "hasobject", False):
            todo += found.ravel().tolist()
        elif isinstance(inside, dict) and (isinstance(found, dict) or where in ("sklearn", "imblearn")):
            for key in [k for k, v in inside.items() if v is not None and v is not False and _TELLS.fullmatch(str(k))]:
                _count(removed, str(key))
                inside[key] = False if key == _WEIGHTS else None
            todo += inside.values()
    return made, tuple(removed)
