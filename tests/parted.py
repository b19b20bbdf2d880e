"""Calls in parts: random trees and people in files, and whether numbers are those of calls in one piece."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from strategies import Case, Draw, cases, populations, styles

OTHER = {"seconds", "parts", "notes"}
"""Keys that may differ: what people are said to be lost, by which line, is told of one of each leaf."""


def public(draw: Draw, *, sampled: bool = False) -> Case:
    """A tree over public attributes, as it is published (without samples, unless they are allowed), and its people."""
    crowd = populations(private=(0, 0), rows=(2, 60))
    how = styles() if sampled else styles().map(lambda style: replace(style, sampling_rate=1.0))
    return draw(cases(crowd, kinds=("greedy", "anyhow"), style=how))


def written(case: Case, folder: Path, *, rows: int, truth: bool) -> dict[str, object]:
    """The people as a Parquet file of row groups of so many rows, and what is given of them."""
    frame = case.people.frame
    qi, known = folder / "qi.parquet", folder / "truth.csv"
    names = [a.name for a in case.release.attributes]
    parquet.write_table(pa.Table.from_pandas(frame[names], preserve_index=False), qi, row_group_size=rows)
    frame.to_csv(known, index=False)
    return {"qi": str(qi), **({"truth": str(known)} if truth else {})}


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


def cells(frame: Any, case: Case) -> dict[str, list[Any]]:
    """The columns of such a table, with None for what is missing."""
    found = by_values(frame, case).astype(object)
    return {str(name): list(values) for name, values in found.where(found.notna(), None).items()}
