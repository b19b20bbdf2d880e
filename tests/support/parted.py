"""Calls in parts: random trees and people in files, and whether numbers are those of calls in one piece."""

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from pyarrow import parquet

import maxent
from maxent.api.out_of_core import opened, scan, stand_ins
from maxent.models.out_of_core import runs
from maxent.models.tables import out_of_core
from support.strategies import Case, Draw, cases, populations, styles

# Keys that may differ: what people are said to be lost, by which line, is told of one of each leaf.
OTHER = {"seconds", "parts", "notes"}


def public(draw: Draw, *, sampled: bool = False, trees: tuple[int, int] = (1, 1)) -> Case:
    """Trees over public attributes, as they are published (without samples, unless these are allowed), and people."""
    crowd = populations(private=(0, 0), rows=(2, 60))
    how = styles() if sampled else styles().map(lambda style: replace(style, sampling_rate=1.0))
    return draw(cases(crowd, kinds=("greedy", "anyhow"), style=how, trees=trees))


def written(case: Case, folder: Path, *, rows: int, truth: bool) -> dict[str, object]:
    """The people as a Parquet file of row groups of so many rows, and what is given of them."""
    frame = case.people.frame
    qi, known = folder / "qi.parquet", folder / "truth.csv"
    names = [a.name for a in case.release.attributes]
    parquet.write_table(pa.Table.from_pandas(frame[names], preserve_index=False), qi, row_group_size=rows)
    frame.to_csv(known, index=False)
    return {"qi": str(qi), **({"truth": str(known)} if truth else {})}


@contextmanager
def few_rows(draw: Draw) -> Iterator[None]:
    """Calls in parts of a few rows at a time: files in pieces, keys of one word or more, stand-ins or all people."""
    with (
        mock.patch.object(opened, "rows_at_a_time", return_value=draw(st.integers(1, 20))),
        mock.patch.object(stand_ins, "fits", return_value=draw(st.booleans())),
        mock.patch.object(out_of_core, "SMALLEST", 7),
        mock.patch.object(runs, "_FITS", draw(st.sampled_from([2**62, 40]))),
    ):
        yield


def bits(call: Any, *given: Any, **options: Any) -> tuple[Any, list[bytes]]:
    """The summary and the files of an audit or of bounds in groups of two rows."""
    with mock.patch.object(opened, "rows_at_a_time", return_value=3), mock.patch.object(scan, "GROUP", 2):
        found = call(*given, **options)
    return {**found.summary, "seconds": 0}, [path.read_bytes() for path in found.parts.files]


def same(found: Any, expected: Any, place: str = "summary") -> None:
    """Whether two JSON values are the same, numbers to 1e-9."""
    if ".top[" in place and place.endswith(".qi"):
        return  # of equal divergences, but for rounding, either may be first
    if isinstance(expected, dict):
        assert found.keys() - OTHER == expected.keys() - OTHER, place
        for key in expected.keys() - OTHER:
            same(found[key], expected[key], f"{place}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            same(one, other, f"{place}[{i}]")
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9), place
    else:
        assert found == expected, place


def by_values(frame: Any, case: Case) -> Any:
    """The rows of a table of people in the order of their values."""
    names = [a.name for a in case.release.attributes]
    return frame.sort_values(names).reset_index(drop=True)


def check_numbers(data: Any, case: Case) -> None:
    """Whether an estimate in parts of random releases and people has the numbers of one in one piece."""
    rows, truth = data.draw(st.integers(1, 30)), data.draw(st.booleans())
    knowledge = data.draw(st.sampled_from(["label,rate,counts", None]))
    options: dict[str, Any] = {"knowledge": knowledge, "top": data.draw(st.integers(1, 4))}
    with tempfile.TemporaryDirectory() as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore", maxent.UnreliableResult)
        folder = Path(temporary)
        given: dict[str, Any] = written(case, folder, rows=rows, truth=truth)
        whole = maxent.estimate(case.release, **given, **options)
        with few_rows(data.draw):
            parts = maxent.estimate(case.release, **given, folder=folder / "out", **options)
        assert parts.parts is not None
        same(parts.summary, whole.summary)
        same(parts.numbers, whole.numbers)
        pd.testing.assert_frame_equal(by_values(parts.posterior, case), by_values(whole.posterior, case), rtol=1e-9)
        assert sorted(os.listdir(folder / "out")) == sorted(path.name for path in parts.parts.files)


def cells(frame: Any, case: Case) -> dict[str, list[Any]]:
    """The columns of such a table, with None for what is missing."""
    found = by_values(frame, case).astype(object)
    return {str(name): list(values) for name, values in found.where(found.notna(), None).items()}
