"""Tables merged out of core: what is read is what the reader of small files reads, or refuses, from the same bytes."""

import csv
import gzip
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from support.paths import merging

from maxent.models.errors import InvalidInput
from maxent.models.reading import Reader, Reading
from maxent.models.release import Attribute, Release, Target
from maxent.models.tables import out_of_core as aggregate
from maxent.models.tables import table_files
from maxent.models.tables.frame import from_arrow
from maxent.models.tables.qi_table import read_qi, read_rows
from maxent.models.tables.truth_and_facts import read_truth

RELEASE = Release(
    Target("Salary", ("<=50K", ">50K")),
    (
        Attribute("Education", values=("Masters", "Doctorate", "", 'a "b", c', " é\n", "1", "1.0")),
        Attribute("Age", "numeric"),
    ),
    (),
)


def outcome(source, release=RELEASE, **options):
    """Everything there is in a table, or in the refusal of it."""
    try:
        table = read_qi(source, release, **options)
    except InvalidInput as error:
        return error.source, error.problems
    # repr tells -0.0 from 0.0, and strings from numbers.
    levels = [repr(level.tolist()) for level in table.levels]
    return (table.codes.tolist(), levels, table.counts.tolist(), table.lines.tolist(), table.source, table.unit)


good_text = st.sampled_from(RELEASE.attributes[0].values)
good_number = st.sampled_from(["1", "1.0", "1e0", " 1 ", "+1", "-0", "0", "0.0", "2.50", "2.5", "1e300", "01"])
good_count = st.sampled_from(["0", "1", "2.0", " 3", "1e2", "9007199254740"])
any_text = st.text(st.sampled_from('ab1.",;\n\r \té😀'), max_size=6)
tables = st.lists(st.tuples(good_text, good_number, good_count, any_text), min_size=1, max_size=12)
wrong_tables = st.lists(
    st.tuples(good_text | any_text, good_number | any_text, good_count | any_text, any_text), max_size=8
)
ends = st.sampled_from(["\n", "\r\n", "\r"])
HEADER = ["Education", "Age", "n", "Note"]


def csv_text(rows, end="\n", quoting=csv.QUOTE_MINIMAL, header=HEADER):
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=end, quoting=quoting)
    writer.writerow(header)
    for row in rows:
        writer.writerow(row)
    return text.getvalue()


@settings(deadline=None, max_examples=30)
@given(
    rows=tables | wrong_tables,
    end=ends,
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    before=st.sampled_from(["", "\ufeff", "\n", "\ufeff\n\n"]),
    after=st.sampled_from(["", "\n\n", "Masters\n", "Masters,1,1,x,y\n\n", 'Masters,1,1,"x', "\n \n"]),
    compressed=st.booleans(),
    options=st.sampled_from([{}, {"count": "n"}, {"count": "m"}]),
)
def test_csv_is_read_as_small_files_are(tmp_path_factory, rows, end, quoting, before, after, compressed, options):
    data = (before + csv_text(rows, end, quoting) + after).encode()
    path = tmp_path_factory.mktemp("csv") / ("qi.csv.gz" if compressed else "qi.csv")
    path.write_bytes(gzip.compress(data) if compressed else data)
    assert outcome(merging(path), **options) == outcome(path, **options)


@settings(deadline=None, max_examples=25)
@given(st.text(st.sampled_from('A1,"\n\r xé'), max_size=30).map(str.encode) | st.binary(max_size=20))
def test_any_bytes_are_read_or_refused_as_small_files_are(tmp_path_factory, data):
    release = Release(RELEASE.target, (Attribute("A", values=("", "1", "x", " ", "é", "A")),), ())
    path = tmp_path_factory.mktemp("csv") / "qi.csv"
    path.write_bytes(b"A\n" + data)
    assert outcome(merging(path), release) == outcome(path, release)


@settings(deadline=None, max_examples=12)
@given(
    rows=tables, cuts=st.lists(st.integers(0, 12), min_size=1, max_size=3), suffix=st.sampled_from([".csv", ".parquet"])
)
def test_several_files_are_one_table(tmp_path_factory, rows, cuts, suffix):
    folder = tmp_path_factory.mktemp("parts")
    cuts = sorted(min(cut, len(rows)) for cut in cuts)
    frame = pd.DataFrame(rows, columns=HEADER, dtype=object)
    for i, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(rows)], strict=True)):
        # The order of the columns is that of each file.
        part = frame.iloc[start:stop, :: (-1) ** i]
        if suffix == ".csv":
            # Unquoted, a lone \r in a note would end the line.
            text = csv_text(part.itertuples(index=False), quoting=csv.QUOTE_ALL, header=list(part.columns))
            (folder / f"part-{i}.csv").write_text(text, encoding="utf-8", newline="")
        else:
            table = pa.Table.from_pandas(part, schema=pa.schema([(name, pa.string()) for name in part.columns]))
            parquet.write_table(table, folder / f"part-{i}.parquet")
    pattern = str(folder / f"*{suffix}")
    assert outcome(frame)[:4] == outcome(pattern)[:4]
    for bits in (62, 9, 3):  # of cells in one number; where these are too few, in a table, from some file on
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(aggregate, "WAITING", 1)  # every file is merged into those before
            patched.setattr(aggregate, "_WIDE", bits)
            assert outcome(frame)[:4] == outcome(pattern)[:4]
    if (frame["n"] != "0").any():
        assert outcome(pattern, count="n")[:4] == outcome(frame, count="n")[:4]


TYPES = {
    "text": (["a", "b", None, "a"], pa.string()),
    "large text": (["a", "b", "", "a"], pa.large_string()),
    "text as dictionary": (["a", "b", None, "a"], pa.dictionary(pa.int8(), pa.string())),
    "numbers as dictionary": ([1.5, 2.5, None, 1.5], pa.dictionary(pa.int8(), pa.float64())),
    "text with NUL": (["a\0b", "a\0c", "a", "a"], pa.string()),
    "whole": ([1, -1, None, 1], pa.int16()),
    "large": ([2**63, 2**64 - 1, 0, 2**63], pa.uint64()),
    "float64": ([0.1, 1e300, float("nan"), None], pa.float64()),
    "zeros": ([0.0, -0.0, 0.0, -0.0], pa.float64()),
    "infinite": ([1.0, float("inf"), 0.0, -0.0], pa.float64()),
    "float32": ([0.1, 1.5, -0.0, 0.1], pa.float32()),
    "float16": (np.array([0.1, 1.5, -0.0, 0.1], dtype=np.float16), pa.float16()),
    "bool": ([True, False, None, True], pa.bool_()),
    "date": ([1, 2, None, 1], pa.date32()),
    "time": ([1, 10**9, None, 1], pa.timestamp("ms")),
    "decimal": ([1, 2, None, 1], pa.decimal128(9, 2)),
    "bytes": ([b"a", b"b", None, b"a"], pa.binary()),
    "null": ([None] * 4, pa.null()),
    "lists": ([["a"], [], None, ["a"]], pa.list_(pa.string())),
}


def test_half_precision_in_several_chunks():
    halves = [pa.array(np.array(part, np.float16)) for part in ([0.1, 1.5], [-0.0, 0.1])]
    assert from_arrow(pa.chunked_array(halves)).texts() == ["0.1", "1.5", "0.0"]


@pytest.mark.parametrize(("values", "kind"), TYPES.values(), ids=TYPES)
def test_parquet_of_any_type_is_read_as_small_files_are(tmp_path, values, kind):
    path = tmp_path / "qi.parquet"
    parquet.write_table(pa.table({"A": pa.array(values, kind)}), path)
    texts = {str(v) for v in pa.array(values, kind).to_pylist()} | {"0.1", "-0.0", "0.0", "b", "a\0b"}
    for attribute in (Attribute("A", values=tuple(sorted(texts))), Attribute("A", "numeric")):
        release = Release(RELEASE.target, (attribute,), ())
        assert outcome(merging(path), release) == outcome(path, release)


def test_types_may_differ_from_file_to_file(tmp_path):
    parts = [pa.array([1, 2], pa.int64()), pa.array(["1", "2"]), pa.array([2.0, 0.5], pa.float64())]
    for i, part in enumerate(parts):
        parquet.write_table(pa.table({"A": part}), tmp_path / f"{i}.pq")
    categorical = Release(RELEASE.target, (Attribute("A", values=("1", "2", "2.0", "0.5")),), ())
    assert read_qi(f"{tmp_path}/*.pq", categorical).counts.tolist() == [2, 2, 1, 1]
    table = read_qi(f"{tmp_path}/*.pq", Release(RELEASE.target, (Attribute("A", "numeric"),), ()))
    assert table.levels[0].tolist() == [0.5, 1.0, 2.0]
    assert table.counts.tolist() == [1, 2, 3]
    assert table.lines.tolist() == [6, 1, 2]


def test_names_that_differ_by_case_alone_are_different_columns(tmp_path):
    path = tmp_path / "qi.csv"
    path.write_text("a,A,key0,place\n1,2,3,4\n1,3,3,4\n", encoding="utf-8")
    release = Release(RELEASE.target, tuple(Attribute(name, "numeric") for name in ("A", "a", "place")), ())
    assert read_qi(merging(path), release).frame().to_numpy().tolist() == [[2, 1, 4, 1], [3, 1, 4, 1]]


def test_without_public_attributes_everybody_is_alike(tmp_path):
    release = Release(RELEASE.target, (Attribute("Car", values=("yes",), role="private"),), ())
    pd.DataFrame({"x": [1, 2, 3], "n": [0, 4, 5]}).to_parquet(tmp_path / "qi.parquet")
    (tmp_path / "qi.csv").write_text("x,n\n1,0\n2,4\n3,5\n")
    for name in ("qi.csv", "qi.parquet"):
        assert outcome(merging(tmp_path / name), release) == outcome(tmp_path / name, release)
        assert read_qi(merging(tmp_path / name), release, count="n").counts.tolist() == [9]


def test_a_large_file_is_merged_and_a_small_one_is_not(tmp_path, monkeypatch):
    path = tmp_path / "qi.csv"
    path.write_text(csv_text([("Masters", "1", "1", ""), ("Masters", "1", "2", "")]), encoding="utf-8")
    pd.DataFrame({"Age": [1, 2]}).to_parquet(tmp_path / "qi.parquet")
    assert table_files.large_files(path)[0] == table_files.large_files(tmp_path / "qi.parquet")[0] == ()
    expected = outcome(path, count="n")
    monkeypatch.setattr(table_files, "LARGE_BYTES", path.stat().st_size - 1)
    monkeypatch.setattr(table_files, "LARGE_ROWS", 1)
    assert table_files.large_files(path) == ((path,), None)
    assert table_files.large_files(str(tmp_path / "qi.parquet")) == ((tmp_path / "qi.parquet",), None)
    assert outcome(path, count="n") == expected


def test_many_batches_with_lines_inside_quotes(tmp_path):
    rows = [
        ("Masters" if i % 7 else "Doctorate", i % 1000, 1, "two\nlines" if i % 1001 == 0 else "")
        for i in range(100_000)
    ]
    path = tmp_path / "qi.csv"
    path.write_text(csv_text(rows), encoding="utf-8")
    assert outcome(merging(path)) == outcome(path)
    assert len(read_qi(merging(path), RELEASE)) == 2000


def test_a_bracket_in_the_name_of_a_file_is_no_pattern(tmp_path):
    path = tmp_path / "qi[1].csv"
    path.write_text("Education,Age\nMasters,1\n", encoding="utf-8")
    assert read_qi(path, RELEASE).source == str(path)


def test_any_folders(tmp_path):
    for year in ("2020", "2021"):
        (tmp_path / year).mkdir()
        (tmp_path / year / "qi.csv").write_text(f"Education,Age\nMasters,{year}\n", encoding="utf-8")
    table = read_qi(f"{tmp_path}/**/*.csv", RELEASE)
    assert (table.levels[1].tolist(), table.unit, table.source) == ([2020, 2021], "row", f"{tmp_path}/**/*.csv")


def refusals(source, **options):
    with pytest.raises(InvalidInput) as caught:
        read_qi(source, RELEASE, **options)
    assert caught.value.source == str(source)
    return [(problem.where, problem.field, problem.expected, problem.found) for problem in caught.value.problems]


def test_patterns_that_name_no_table(tmp_path):
    assert refusals(f"{tmp_path}/*.csv") == [
        ("file", "path", "a pattern that CSV, Parquet or Excel files match", "no file that does")
    ]
    (tmp_path / "b.csv").write_text("Education,Age\nMasters,1\n", encoding="utf-8")
    (tmp_path / "a.pq").write_bytes(b"")
    assert refusals(f"{tmp_path}/*") == [("file", "path", "a pattern of files of one format", "'.csv', '.parquet'")]


def test_a_folder_is_refused_with_advice(tmp_path):
    (tmp_path / "b.pq").write_bytes(b"")
    ((_, _, _, found),) = refusals(tmp_path)
    assert found == f"a directory (to read all files in it, give the pattern '{tmp_path}/*.pq')"


def test_a_damaged_archive(tmp_path):
    path = tmp_path / "qi.csv.gz"
    path.write_bytes(gzip.compress(csv_text([("Masters", "1", "1", "x" * 500)]).encode())[:-9])
    assert outcome(merging(path)) == outcome(path)
    assert refusals(path)[0][:3] == ("file", "format", "CSV text in a gzip archive")
    path.write_bytes(b"Education,Age\n")
    assert refusals(path)[0][:3] == ("file", "format", "CSV text in a gzip archive")


def parts(folder: Path, *texts: str) -> list[str]:
    paths = [folder / f"part-{i}.csv" for i in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8", newline="")
    return [str(path) for path in paths]


def test_bad_cells_of_several_files_are_named_by_file_and_line(tmp_path):
    first, second, _, fourth = parts(
        tmp_path,
        'Note,Education,Age,n\n"two\nlines",PhD,1,1\n\n,Masters,2,-3\n',
        "Education,Age,Note,n\nPhD,x,,1\nMasters,,\n",
        "Education,Age,n\n",
        "Education,Age,n\n\n\nMasters,,1\n",
    )
    found = refusals(f"{tmp_path}/part-*.csv", count="n")
    assert [(where, field) for where, field, _, _ in found] == [
        (f"{second}, line 3", "cells"),
        (f"{first}, line 5", "n"),
        (f"{first}, line 2", "Education"),
        (f"{fourth}, line 4", "Age"),
        (f"{second}, line 2", "Age"),
    ]
    assert found[2][3].endswith("(on 2 rows)")


def test_columns_that_some_files_lack(tmp_path):
    first, second = parts(tmp_path, "Education,Age\nMasters,1\n", "Education,age\nMasters,1\n")
    found = refusals(f"{tmp_path}/*.csv")
    assert found == [(f"{second}, header", "Age", f"a column of this name, as in {first}", "none")]
    parts(tmp_path, "Education,Age,Age\nMasters,1,2\n", "Education,Age\nMasters,1\n")
    assert refusals(f"{tmp_path}/*.csv") == [(f"{first}, header", "Age", "one column of this name", "2 of them")]
    parts(tmp_path, "Education\nMasters\n", "Education\nMasters\n")
    ((where, field, _, _),) = refusals(f"{tmp_path}/*.csv")
    assert (where, field) == ("columns", "Age")


def test_an_error_in_the_bytes_names_its_file(tmp_path):
    _, second = parts(tmp_path, "Education,Age\nMasters,1\n", "Education,Age\nMasters,1\nMas\0ters,2\n")
    with pytest.raises(InvalidInput, match=r"line 3: encoding: .* NUL byte") as caught:
        read_qi(f"{tmp_path}/*.csv", RELEASE)
    assert caught.value.source == second


def test_individuals_that_are_too_many(tmp_path):
    path = tmp_path / "qi.csv"
    path.write_text("Education,Age,n\n" + f"Masters,3,{2**52}\n" * 4, encoding="utf-8")
    assert outcome(merging(path), count="n") == outcome(path, count="n")
    assert "a sum of about 1.801e+16" in refusals(path, count="n")[0][3]


def test_distinct_rows_that_do_not_fit(tmp_path):
    path = tmp_path / "qi.csv"
    path.write_text("Education,Age\nMasters,1\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"file: rows: expected .* fit into 20 bytes \(max_memory=\)") as caught:
        read_qi(merging(path), RELEASE, reader=Reader(Reading(max_memory=20)))
    assert caught.value.source == str(path)


def test_the_truth_is_merged_too(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "Age": rng.integers(0, 9, 300),
            "Education": rng.choice(["Masters", "Doctorate"], 300),
            "Salary": rng.choice(RELEASE.target.classes, 300),
        }
    )
    for i in range(3):
        frame[100 * i : 100 * i + 100].to_csv(tmp_path / f"{i}.csv", index=False)
    table = read_qi(f"{tmp_path}/*.csv", RELEASE)
    assert read_truth(f"{tmp_path}/*.csv", RELEASE, table).tolist() == read_truth(frame, RELEASE, table).tolist()
    frame.loc[120:122, "Age"] = [77, 77, 78]
    frame[100:200].to_csv(tmp_path / "1.csv", index=False)
    with pytest.raises(InvalidInput) as caught:
        read_truth(f"{tmp_path}/*.csv", RELEASE, table)
    strangers = [problem.where for problem in caught.value.problems if problem.field == "quasi-identifier"]
    expected = dict.fromkeys(zip(frame["Education"][120:123], frame["Age"][120:123], strict=True))
    assert len(strangers) == len(expected)
    assert strangers[0] == f"{tmp_path}/1.csv, line 22"


def test_records_stay_as_they_are(tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    path.write_text("Education,Age,Salary\n" + "Masters,1,>50K\n" * 3, encoding="utf-8")
    monkeypatch.setattr(table_files, "LARGE_BYTES", 1)
    assert len(read_rows(path, "data", RELEASE, RELEASE.attributes, None, target=True)) == 3


READ = """
import os, sys
import pyarrow
from maxent.models.release import Attribute, Release, Target
from maxent.models.tables.qi_table import read_qi
def read(pattern):
    return read_qi(pattern, Release(Target("T", ("0", "1")), (Attribute("A", "numeric"),), ()))
"""
LARGE = """
print(read(sys.argv[1]).individuals, pyarrow.default_memory_pool().max_memory())
"""
INTERRUPTED = """
read(sys.argv[2])  # what is imported late is there
try:
    print("reading", flush=True)
    read(sys.argv[1])
except KeyboardInterrupt:
    read(sys.argv[2])
    sys.exit("interrupted " + " ".join(os.listdir(os.environ["TMPDIR"])))
"""


def linked(folder: Path, rows: int, number: int) -> str:
    """The pattern of one file under many names: long to read, short to write."""
    (folder / "0.csv").write_text("A\n" + "1\n" * rows, encoding="utf-8")
    for i in range(1, number):
        os.link(folder / "0.csv", folder / f"{i}.csv")
    return f"{folder}/[0-9]*.csv"


def test_memory_does_not_grow_with_the_rows(tmp_path):
    pattern = linked(tmp_path, 200_000, 20)
    done = subprocess.run(
        [sys.executable, "-c", READ + LARGE, pattern], capture_output=True, text=True, timeout=120, check=True
    )
    individuals, peak = map(int, done.stdout.split())
    assert individuals == 4_000_000
    assert peak < 10_000_000, "the cells alone are 20 million bytes"


def test_ctrl_c_ends_it_and_nothing_is_left_in_a_temporary_folder(tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (tmp_path / "qi.csv").write_text("A\n1\n", encoding="utf-8")
    pattern = linked(tmp_path, 1_000_000, 100)
    process = subprocess.Popen(
        [sys.executable, "-c", READ + INTERRUPTED, pattern, f"{tmp_path}/q*.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "reading\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (1, "interrupted \n")
