"""Columns of all types, as Parquet and as data frames of pandas, most of them with something odd in them."""

import datetime
import io
from contextlib import suppress
from decimal import Decimal
from typing import Any

from fuzz.case import Dice

Table = list[list[str]]

DAY = datetime.date(2024, 1, 31)


FLOATS = (float("nan"), float("inf"), -0.0, 1e308)


def _arrow(cells: list[str], dice: Dice) -> Any:
    """A column of some type of Arrow's."""
    import pyarrow as pa

    n = len(cells)
    numbers = [i if not c.isdigit() else int(c[:9]) for i, c in enumerate(cells)]
    plain = [c.encode("utf-8", "replace").decode() for c in cells]
    holes = [None if dice.chance(0.3) else c for c in plain]
    text = pa.string()

    def some(values: list[Any], kind: Any) -> Any:
        return pa.array([dice.choice(values) for _ in cells], kind)

    kinds = {
        "text": lambda: pa.array(plain),
        "large text": lambda: pa.array(plain, pa.large_string()),
        "holes": lambda: pa.array(holes, pa.string()),
        "dictionary": lambda: pa.array(plain).dictionary_encode(),
        "numbers in a dictionary": lambda: pa.array(numbers).dictionary_encode(),
        "whole": lambda: pa.array(numbers, dice.choice([pa.int64(), pa.int32(), pa.uint64()])),
        "small": lambda: pa.array([v % 100 for v in numbers], dice.choice([pa.int8(), pa.uint8()])),
        "float": lambda: pa.array([dice.choice([v, v + 0.5, *FLOATS]) for v in numbers], pa.float64()),
        "half": lambda: pa.array(numbers, pa.float32()).cast(pa.float16()) if n else pa.array([], pa.float32()),
        "decimal": lambda: pa.array([Decimal(v) / 10 for v in numbers], pa.decimal128(38, dice.choice([1, 10]))),
        "large decimal": lambda: pa.array([Decimal(10) ** 40 + v for v in numbers], pa.decimal256(76, 2)),
        "bool": lambda: some([True, False, None], pa.bool_()),
        "nothing": lambda: pa.nulls(n),
        "all missing": lambda: pa.nulls(n, dice.choice([pa.string(), pa.float64(), pa.int64(), pa.timestamp("ns")])),
        "binary": lambda: pa.array([dice.choice([c.encode(), b"\xff\xfe", b""]) for c in plain], pa.binary()),
        "fixed": lambda: pa.array([c.encode()[:4].ljust(4) for c in plain], pa.binary(4)),
        "date": lambda: pa.array([DAY] * n, dice.choice([pa.date32(), pa.date64()])),
        "late date": lambda: some([3_000_000, 2**31 - 1, -(2**31), 0], pa.int32()).cast(pa.date32()),
        "time stamp": lambda: some([0, 2**62, -(2**62), None], pa.int64()).cast(
            pa.timestamp(dice.choice(["s", "ms", "us", "ns"]), dice.choice([None, "UTC", "Mars/Base", "+01:00"]))
        ),
        "time": lambda: some([0, 86_399, 86_400_000], pa.int32()).cast(pa.time32("ms")),
        "duration": lambda: some([0, 2**62, -1], pa.int64()).cast(pa.duration("ns")),
        "list": lambda: pa.array([[v] for v in numbers]),
        "map": lambda: pa.array([[("a", v)] for v in numbers], pa.map_(pa.string(), pa.int64())),
        "struct": lambda: pa.array([{"a": v, "b": None} for v in numbers], pa.struct([("a", pa.int64()), ("b", text)])),
    }
    name = dice.choice(["text"] * 8 + ["whole"] * 4 + list(kinds))
    try:
        return kinds[name]()
    except (pa.ArrowException, OverflowError):
        return pa.array(plain)


def as_parquet(table: Table, dice: Dice) -> bytes:
    """A table as Parquet, in columns of all types, and in all ways of writing them."""
    import pyarrow as pa
    from pyarrow import parquet

    header = [name.encode("utf-8", "replace").decode() for name in table[0]] if table else []
    rows = [[*row, *[""] * len(header)][: len(header)] for row in table[1:]]
    arrays = [_arrow([row[i] for row in rows], dice) for i in range(len(header))]
    ways = {
        "compression": dice.choice(["none", "snappy", "gzip", "zstd", "lz4", "brotli"]),
        "data_page_version": dice.choice(["1.0", "2.0"]),
        "version": dice.choice(["1.0", "2.4", "2.6"]),
        "store_schema": dice.chance(0.7),
        "write_statistics": dice.chance(0.5),
        "row_group_size": dice.choice([1, 3, 1_000]),
    }
    out = io.BytesIO()
    for options in (ways | {"use_dictionary": dice.chance(0.5)}, {}, None):
        out.seek(0)
        out.truncate()
        try:
            if options is None:
                break
            parquet.write_table(pa.Table.from_arrays(arrays, names=header), out, **options)
            return out.getvalue()
        except (pa.ArrowException, ValueError):  # some types cannot be written in some ways
            continue
    parquet.write_table(pa.table({"x": ["a"]}), out)
    return out.getvalue()


def as_frame(table: Table, dice: Dice) -> Any:
    """A table as a data frame of pandas, in columns of all types, with objects of all kinds in cells."""
    import numpy as np
    import pandas as pd

    header = table[0] if table else []
    rows = [[*row, *[""] * len(header)][: len(header)] for row in table[1:]]
    columns: list[Any] = []
    things = [None, float("nan"), pd.NA, pd.NaT, 1, 1.5, True, "a", b"a", Decimal("1.1"), DAY, (1,), [1], {}, 10**30]
    things += [float("inf"), np.float32(0.1), np.int8(3), np.str_("a"), np.datetime64("2024-01-31"), 1j, "\ud800"]
    for i in range(len(header)):
        cells = [row[i] for row in rows]
        texts = pd.Series(cells, dtype=object)
        kinds = {
            "text": lambda t=texts: t,
            "category": lambda t=texts: t.astype("category"),
            "string": lambda t=texts: t.astype("string"),
            "number": lambda t=texts: pd.to_numeric(t, errors="coerce"),
            "nullable": lambda t=texts: pd.to_numeric(t, errors="coerce").astype("Float64"),
            "objects": lambda t=texts: pd.Series([dice.choice([c, dice.choice(things)]) for c in t], dtype=object),
            "dates": lambda t=texts: pd.Series(pd.to_datetime(["2024-01-31"] * len(t))),
            "time zones": lambda t=texts: pd.Series(pd.to_datetime(["2024-01-31"] * len(t)).tz_localize("UTC")),
            "periods": lambda t=texts: pd.Series(pd.period_range("2024-01", periods=len(t), freq="M")),
            "intervals": lambda t=texts: pd.Series(pd.interval_range(0, len(t))),
            "bool": lambda t=texts: pd.Series([dice.chance(0.5) for _ in t], dtype=bool),
            "complex": lambda t=texts: pd.Series([1j] * len(t), dtype=complex),
            "sparse": lambda t=texts: pd.Series(pd.arrays.SparseArray([1] * len(t))),
            "missing": lambda t=texts: pd.Series([dice.choice([None, pd.NA, float("nan")])] * len(t), dtype=object),
        }
        name = dice.choice(["text"] * 6 + ["number"] * 3 + list(kinds))
        try:
            columns.append(kinds[name]())
        except (ValueError, TypeError):
            columns.append(texts)
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=range(len(rows)))
    frame.columns = pd.Index(header, dtype=object)
    if dice.chance(0.1):
        frame.columns = [dice.choice([name, 1, None, (name, 1), float("nan"), DAY]) for name in frame.columns]
    if dice.chance(0.1):
        frame.index = pd.Index([dice.choice([0, 1, "x"]) for _ in range(len(frame))], dtype=object)
    if dice.chance(0.05):
        with suppress(ValueError, TypeError):  # pandas takes no two columns of one name for an index
            frame = frame.set_index(frame.columns[0]) if len(frame.columns) else frame
    return frame
