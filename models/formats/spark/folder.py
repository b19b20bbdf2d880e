"""Folders that Spark MLlib saves: metadata as JSON, data in Parquet, stages and models in folders of their own."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from maxent.models.errors import InvalidInput, invalid
from maxent.models.files.json_files import bytes_of, json_object
from maxent.models.formats.json_values import Values
from maxent.models.tables.frame import shorten

_SPARK = "org.apache.spark.ml."
_MOST_FILES = 10_000
_NESTED = 3
_EXPANSION = 40  # values in a file, for each of its bytes at most, and a thousand more

# The columns of a table; those of structures have both names, with a point, but for nodes and splits
Rows = dict[str, list[Any]]


def metadata(folder: Path) -> Values:
    """The metadata of a folder, whose ``class`` is of Spark's."""
    files = list(_files(folder / "metadata", ""))
    if len(files) != 1:
        raise invalid(str(folder), "metadata", "files", "one", str(len(files)))
    found = Values(str(files[0]), "metadata", json_object(bytes_of(str(files[0])), str(files[0])))
    if not found.text("class").startswith(_SPARK):
        found.refuse("class", f"a class of {_SPARK}")
    return found


def kind(about: Values) -> str:
    """The name of the class of a folder, without its package."""
    return about.text("class").rpartition(".")[2]


def parameters(about: Values) -> Values:
    """The parameters of a folder, those that were set before those that were not."""
    found: dict[str, object] = {}
    for key in ("defaultParamMap", "paramMap"):
        if key in about.raw:
            found |= about.child(key).raw
    return Values(about.source, "parameters", found)


def stages(folder: Path, about: Values) -> list[Path]:
    """The folders of the stages of a pipeline, in their order."""
    uids = about.child("paramMap").texts("stageUids")
    there = sorted(os.listdir(folder / "stages")) if (folder / "stages").is_dir() else []
    found = []
    for number, uid in enumerate(uids):
        names = [name for name in there if name.partition("_")[2] == uid and name.partition("_")[0].isdecimal()]
        names = [name for name in names if int(name.partition("_")[0]) == number]
        if len(names) != 1:
            raise invalid(str(folder), "stages", shorten(uid), "one folder", str(len(names)))
        found.append(folder / "stages" / names[0])
    return found


def _files(folder: Path, suffix: str) -> Iterator[Path]:
    """The parts of a table, in order; marks and checksums are skipped."""
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    for name in names[:_MOST_FILES]:
        if name.startswith("part-") and name.endswith(suffix) and not name.endswith(".crc"):
            yield folder / name


def table(folder: Path) -> Rows:
    """The rows of a table in Parquet."""
    files = list(_files(folder, ".parquet"))
    if not files:
        raise invalid(str(folder), "folder", "files", "Parquet files", "none")
    found: Rows = {}
    for number, path in enumerate(files):
        part = _part(str(path))
        if number and part.keys() != found.keys():
            raise invalid(str(path), "file", "columns", shorten(list(found)), shorten(list(part)))
        for name, values in part.items():
            found.setdefault(name, []).extend(values)
    return found


def _part(source: str) -> Rows:
    import pyarrow as pa
    from pyarrow import parquet

    from maxent.models.tables.sources.parquet_file import check_footer

    data = bytes_of(source)
    found: Rows = {}
    try:
        check_footer(io.BytesIO(data))
        file = parquet.ParquetFile(io.BytesIO(data))
        groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
        columns = [group.column(i) for group in groups for i in range(group.num_columns)]
        values = sum(column.num_values for column in columns)
        unpacked = sum(column.total_uncompressed_size for column in columns)
        if max(values, unpacked // 8, file.metadata.num_rows) > _EXPANSION * len(data) + 1_000:
            raise invalid(source, "file", "size", f"at most {_EXPANSION} values for each byte", "more")
        read = file.read()
        for _ in range(_NESTED):
            read = read.flatten()
        for name, column in zip(read.column_names, read.columns, strict=True):
            title = name.removeprefix("nodeData.").removeprefix("split.")
            if title in found:
                raise invalid(source, "file", "columns", "different names", f"{shorten(title)} twice")
            found[title] = column.to_pylist()
    except InvalidInput:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError, ArithmeticError) as error:
        raise invalid(
            source, "file", "content", "a Parquet file that is whole", shorten(str(error).partition("\n")[0])
        ) from None
    return found


def column(rows: Rows, name: str, types: tuple[type, ...], source: str) -> Sequence[Any]:
    """A column whose values are all of a type."""
    found = rows.get(name)
    if found is None or not all(isinstance(value, types) and not isinstance(value, bool) for value in found):
        raise invalid(source, "table", name, f"a column of {' or '.join(each.__name__ for each in types)}", "others")
    return found
