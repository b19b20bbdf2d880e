"""Pieces of tables: read once, and kept as small numbers."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from maxent.models.out_of_core.coding import KeptRows, coded, distinct_cells, open_people
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Node, Release, Target, Tree
from maxent.models.tables import out_of_core
from maxent.models.tables.frame import arrow_numbers, arrow_places, arrow_texts, is_there, plain_numbers, whole_places
from maxent.models.tables.out_of_core import pieces_of

RELEASE = Release(
    Target("ill", ("no", "yes")),
    (
        Attribute("job", "categorical", ("cook", "clerk", "smith"), "public"),
        Attribute("age", "numeric", None, "public", missing=True),
        Attribute("town", "categorical", ("a", "b"), "public"),
    ),
    (Tree((Node("0", label="no"),)),),
)
JOBS, AGES = ["cook", "clerk", "cook", "smith", "clerk", "cook"], [30.5, None, 17.0, 99.0, 17.0, 30.5]
TOWNS, COUNTS = ["b", "a", "a", "b", "b", "a"], [1, 300, 2, 0, 1, 1]


def test_rows_are_kept_as_they_were(tmp_path, monkeypatch):
    monkeypatch.setattr(out_of_core, "SMALLEST", 3)
    path = tmp_path / "qi.parquet"
    parquet.write_table(pa.table({"job": JOBS, "age": AGES, "town": TOWNS, "n": COUNTS}), path, row_group_size=4)
    opened = open_people([path], "qi", RELEASE, "n", Reader(), target=False)
    pieces = pieces_of(opened, 1)
    assert len(pieces) == 2
    found = [distinct_cells(piece, opened.wanted, tmp_path) for piece in pieces]
    whole = coded(opened, pieces, found, RELEASE, Reader(), target=False)
    codes, people = [[], [], []], []
    assert [kept.first for kept in whole.kept] == [0, 4]
    for kept in whole.kept:
        for share in kept.shares(3):
            for columns, counts in share:
                people += counts.tolist()
                for into, (cells, numbers), own in zip(codes, columns, whole.codes, strict=True):
                    into += own.numbered(cells)[numbers].tolist()
    assert people == COUNTS
    held = np.array(COUNTS) > 0  # nobody is a smith, nor 99 years old
    values = [level[np.array(into)[held]].tolist() for level, into in zip(whole.levels, codes, strict=True)]
    expected = [np.array(column, dtype=object)[held].tolist() for column in (JOBS, AGES, TOWNS)]
    assert values[0] == expected[0]
    assert values[1] == pytest.approx([float("nan") if age is None else age for age in expected[1]], nan_ok=True)
    assert values[2] == expected[2]


def test_shares_are_of_whole_batches():
    kept = KeptRows("people", ((0, 5), (90, 4), (150, 3)), first=10)
    assert [(share.first, len(share)) for share in kept.shares(8)] == [(10, 5), (15, 7)]


def test_arrow_and_back_by_buffers():
    assert arrow_numbers(np.arange(10, dtype=np.uint16)[::2]).to_pylist() == [0, 2, 4, 6, 8]
    places = np.array([3, -1, 0] * 7)
    array = arrow_places(places)
    assert array.to_pylist() == [3, None, 0] * 7
    assert whole_places(array[2:]).tolist() == places[2:].tolist()
    assert is_there(array[9:]).tolist() == (places[9:] >= 0).tolist()
    assert plain_numbers(pa.chunked_array([[1.5], [], [2.5, 3.5]])[1:]).tolist() == [2.5, 3.5]
    assert plain_numbers(pa.chunked_array([], pa.int8())).tolist() == []
    assert arrow_texts(["a", "", "é"]).to_pylist() == ["a", "", "é"]
