"""Pieces of tables: read once, kept as small numbers, and the same whatever the columns that are read together."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from maxent.models.out_of_core.coding import coded, distinct_cells, open_table, together
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


@pytest.mark.parametrize("workers", [1, 2])
def test_rows_are_kept_as_they_were_whatever_columns_are_read_together(tmp_path, monkeypatch, workers):
    monkeypatch.setattr(out_of_core, "SMALLEST", 3)
    path = tmp_path / "qi.parquet"
    parquet.write_table(pa.table({"job": JOBS, "age": AGES, "town": TOWNS, "n": COUNTS}), path, row_group_size=4)
    opened = open_table([path], "qi", RELEASE, "n", Reader(), target=False)
    divided = pieces_of(opened.tables, [path], 3, workers)
    assert [len(shares) for shares in divided] == [workers] * 2
    found = [together([distinct_cells(piece, opened.wanted, tmp_path) for piece in shares]) for shares in divided]
    firsts = [shares[0] for shares in divided]
    whole = coded(opened, firsts, found, RELEASE, Reader(), target=False)
    codes, people = [[], [], []], []
    for each, start in zip(found, whole.starts(firsts), strict=True):
        rows = each.rows_at(start)
        for share in rows.shares(3):
            people += share.people(share.start, share.stop).tolist()
            for into, column, own in zip(codes, share.columns, whole.codes, strict=True):
                known = [own.numbered(cells) for cells in column.cells()]
                for cells, numbers in column.numbers(share.start, share.stop):
                    into += known[cells][numbers].tolist()
        rows.remove()
    assert people == COUNTS
    held = np.array(COUNTS) > 0  # nobody is a smith, nor 99 years old
    values = [level[np.array(into)[held]].tolist() for level, into in zip(whole.levels, codes, strict=True)]
    expected = [np.array(column, dtype=object)[held].tolist() for column in (JOBS, AGES, TOWNS)]
    assert values[0] == expected[0]
    assert values[1] == pytest.approx([float("nan") if age is None else age for age in expected[1]], nan_ok=True)
    assert values[2] == expected[2]
    assert [each.name for each in tmp_path.iterdir()] == ["qi.parquet"]


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
