"""What files may ask for: only regular files and standard input are read, into no more memory than is allowed."""

import gzip
import json
import os
import socket
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.documents import release_document

from maxent.models.errors import InvalidInput
from maxent.models.formats.registry import load_release
from maxent.models.reading import MAX_MEMORY, Reader, Reading, parse_size, size_text
from maxent.models.release import Attribute, Release, Target
from maxent.models.tables.domains import read_domains
from maxent.models.tables.hierarchies import read_hierarchy
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.table_files import read_frame
from maxent.models.tables.training import read_training
from maxent.studies.study_file import load_study

RELEASE = Release(Target("T", ("0", "1")), (Attribute("A", "numeric"),), ())
TREE = release_document("T", ["0", "1"], {"A": None}, [{"id": "L", "counts": {"0": 2, "1": 1}}])


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500MB", 500_000_000),
        (" 1.5 gb ", 1_500_000_000),
        ("2GiB", 2 * 2**30),
        ("17", 17),
        (4096, 4096),
        ("3 kB", 3000),
        ("0", None),
        ("-1GB", None),
        ("1e9", None),
        ("much", None),
        ("2 XB", None),
        ("9" * 400, None),
        ("9000 TB", 9_000_000_000_000_000),
        ("10000 TB", None),
        (2**60, None),
        (0, None),
        (True, None),
        (1.5, None),
        (None, None),
    ],
)
def test_sizes_have_units(text, size):
    assert parse_size(text) == size
    if size is None:
        with pytest.raises(InvalidInput, match=r"argument: max_memory: expected a size, such as 500MB or 4GB"):
            Reading(max_memory=text)
    else:
        assert Reading(max_memory=text).max_memory == size


def test_sizes_in_words():
    assert [size_text(size) for size in (17, 1500, 2 * 10**9, 123_456_789)] == ["17 bytes", "1.5 kB", "2 GB", "123 MB"]


# --- What is no file -------------------------------------------------------------------------------------------


@pytest.fixture(params=["device", "link to a device", "pipe", "socket"])
def special(request, tmp_path, monkeypatch):
    """The name of something that is no regular file; reading from it would never end."""
    monkeypatch.chdir(tmp_path)
    if request.param == "device":
        return "/dev/zero"
    path = "special.csv"
    if request.param == "link to a device":
        os.symlink("/dev/zero", path)
    elif request.param == "pipe":
        os.mkfifo(path)
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
    return path


NO_FILE = r"file: path: expected .*, found a device, pipe or socket \(give - to read standard input\)"


@pytest.mark.regression(number=11)
def test_what_is_no_file_is_refused_whatever_reads_it(special):
    readers = [
        lambda: read_qi(special, RELEASE),
        lambda: read_training(special, target="T", qi=["A"]),
        lambda: load_release(special, Reading(format="maxent/1")),
        lambda: read_domains(special, "T"),
        lambda: read_hierarchy(special),
        lambda: load_study(special),
    ]
    for read in readers:
        with pytest.raises(InvalidInput, match=NO_FILE):
            read()


def test_a_pattern_that_matches_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(InvalidInput, match=NO_FILE):
        read_qi(f"{tmp_path}/*.csv", RELEASE)


def test_a_link_to_a_file_is_read(tmp_path):
    (tmp_path / "qi.csv").write_text("A\n1\n", encoding="utf-8")
    os.symlink(tmp_path / "qi.csv", tmp_path / "link.csv")
    assert len(read_qi(tmp_path / "link.csv", RELEASE)) == 1


# --- Standard input --------------------------------------------------------------------------------------------


def maxent(folder, *arguments, data=b""):
    """Run a command with something on standard input: its exit status, output and errors."""
    command = [sys.executable, "-m", "maxent", *arguments]
    done = subprocess.run(command, input=data, capture_output=True, cwd=folder, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tree.json").write_text(json.dumps(TREE), encoding="utf-8")
    (tmp_path / "qi.csv").write_text("A\n1\n2\n2\n", encoding="utf-8")
    return tmp_path


def packed(suffix):
    frame = pd.DataFrame({"A": [1, 2, 2]})
    if suffix == ".parquet":
        return frame.to_parquet()
    text = frame.to_csv(index=False).encode()
    return gzip.compress(text) if suffix == ".csv.gz" else text


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_standard_input_is_a_table_of_any_format(folder, suffix):
    # The limits make it read the table twice.
    status, found, errors = maxent(
        folder, "estimate", "tree.json", "-", "--json", "--max-posterior", "0.9", data=packed(suffix)
    )
    assert (status, errors) == (0, "")
    assert json.loads(found)["individuals"] == 3


def test_standard_input_may_be_the_release(folder):
    status, found, errors = maxent(
        folder, "estimate", "-", "qi.csv", "--json", data=(folder / "tree.json").read_bytes()
    )
    assert (status, errors) == (0, "")
    assert json.loads(found)["individuals"] == 3


def test_errors_in_standard_input_have_places(folder):
    status, _, errors = maxent(folder, "audit", "tree.json", "-", data=b"A\n1\nx\n")
    assert status == 2
    assert "standard input: line 3: A: expected a finite number" in errors


@pytest.mark.regression(number=11)
def test_standard_input_has_a_limit(folder):
    status, _, errors = maxent(
        folder, "audit", "tree.json", "-", "--max-memory", "1MB", data=b"A\n" + b"1\n" * 1_000_000
    )
    assert status == 2
    assert "standard input: file: memory: expected at most 1 MB" in errors
    assert "--max-memory" in errors


def test_an_empty_standard_input(folder):
    status, _, errors = maxent(folder, "audit", "tree.json", "-")
    assert status == 2
    assert "standard input: file: header: expected a line with the names of the columns" in errors


def test_back_ends_that_read_for_themselves_need_a_file(folder):
    status, _, errors = maxent(folder, "bench", "tree.json", "-", "--backends", "scipy", data=packed(".csv"))
    assert status == 2
    assert "QI: expected a file, which every back end reads anew, found standard input" in errors


# --- Memory ----------------------------------------------------------------------------------------------------


def refusal(path, max_memory):
    with pytest.raises(InvalidInput) as caught:
        read_frame(path, "data", ["A"], Reader(Reading(max_memory=max_memory)))
    (problem,) = caught.value.problems
    assert (problem.where, problem.field) == ("file", "memory")
    assert problem.expected == f"at most {size_text(parse_size(max_memory))} for what is read (max_memory=)"
    return problem.found


def test_rows_are_known_before_they_are_read(tmp_path):
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table({"A": np.ones(1_000_000, np.int64)}), path)
    assert path.stat().st_size < 5000
    assert refusal(path, "10MB") == "1,000,000 rows, which take at least 24 MB"
    assert len(read_frame(path, "data", ["A"]).lines) == 1_000_000


def test_bytes_of_a_row_group_are_known_before_they_are_read(tmp_path):
    path = tmp_path / "data.parquet"
    parquet.write_table(pa.table({"A": ["x" * 20_000_000]}), path, compression="zstd")
    assert path.stat().st_size < 20_000
    assert refusal(path, "10MB") == "20 MB in one row group"


def test_text_is_counted_while_it_is_read(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("A\n" + "".join(f"a longer text with number {i}\n" for i in range(100_000)), encoding="utf-8")
    assert refusal(path, "1MB") == "more"
    assert len(read_frame(path, "data", ["A"], Reader(Reading(max_memory="20MB"))).lines) == 100_000


def test_distinct_rows_out_of_core_are_counted(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("A\n" + "".join(f"{i}\n" for i in range(200_000)), encoding="utf-8")
    reader = Reader(Reading(max_memory="3MB"))
    with pytest.raises(InvalidInput, match=r"\(max_memory=\)"):
        read_qi(f"{tmp_path}/*.csv", RELEASE, reader=reader)
    path.write_text("A\n" + "".join(f"{i % 10}\n" for i in range(200_000)), encoding="utf-8")
    assert read_qi(f"{tmp_path}/*.csv", RELEASE, reader=reader).individuals == 200_000


def test_a_limit_does_not_change_what_is_read(tmp_path):
    (tmp_path / "data.csv").write_text("A\n1\n2\n", encoding="utf-8")
    few = read_qi(tmp_path / "data.csv", RELEASE, reader=Reader(Reading(max_memory="10kB")))
    assert few.counts.tolist() == read_qi(tmp_path / "data.csv", RELEASE).counts.tolist()


PEAK = """
import sys
from maxent.models.errors import InvalidInput
from maxent.models.reading import Reader, Reading
from maxent.models.release import Attribute, Release, Target
from maxent.models.tables.table_files import read_frame
from maxent.models.tables.qi_table import read_qi
how, path = sys.argv[1:]
reader = Reader(Reading(max_memory="200MB"))
try:
    if how == "merged":
        attribute = Attribute("A", values=("x",))
        found = read_qi(path, Release(Target("T", ("0", "1")), (attribute,), ()), reader=reader).individuals
    else:
        found = len(read_frame(path, "data", ["A"], reader).lines)
except InvalidInput as error:
    found = str(error)[:300]
# Unlike what getrusage knows, without what the process had before it was this one.
[size] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(size) / 1000, found)
"""


needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no high-water mark of memory")


def peak(how, path):
    """The megabytes that a process took at most to read a file, and what it found."""
    done = subprocess.run(
        [sys.executable, "-c", PEAK, how, path], capture_output=True, text=True, timeout=300, check=True
    )
    size, _, found = done.stdout.strip().partition(" ")
    return float(size), found


@needs_proc
@pytest.mark.parametrize("how", ["merged", "whole"])
@pytest.mark.regression(number=11)
def test_a_small_parquet_file_of_very_long_texts(tmp_path, how):
    path = tmp_path / "bomb.parquet"
    once = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int32()), pa.array(["x" * 1_000_000]))
    parquet.write_table(pa.table({"A": once}), path, compression="zstd", store_schema=False, write_statistics=False)
    assert path.stat().st_size < 1000, "and a hundred gigabytes as plain text"
    size, found = peak(how, str(path))
    assert size < 1000
    assert "row 1: A: expected one of 'x'" in found if how == "merged" else found == "100000"


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("how", ["merged", "whole"])
def test_a_small_parquet_file_of_texts_stored_as_differences(tmp_path, how):
    path = tmp_path / "bomb.parquet"
    parquet.write_table(
        pa.table({"A": ["x" * 200_000] * 2000}),
        path,
        compression="zstd",
        use_dictionary=False,
        column_encoding="DELTA_BYTE_ARRAY",
        store_schema=False,
        write_statistics=False,
    )
    assert path.stat().st_size < 1000, "and a gigabyte as plain text"
    assert peak(how, str(path))[0] < 700


@needs_proc
@pytest.mark.parametrize("how", ["merged", pytest.param("whole", marks=pytest.mark.slow)])
@pytest.mark.regression(number=11)
def test_a_small_archive_of_very_many_lines(tmp_path, how):
    path = tmp_path / "bomb.csv.gz"
    lines = gzip.compress((b"x," + b"y" * 97 + b"\n") * 10_000, 9)
    path.write_bytes(gzip.compress(b"A,note\n") + lines * 300)
    assert path.stat().st_size < 2_000_000, "and 300 MB of text"
    size, said = peak(how, str(path))
    assert size < 700
    assert said == "3000000"


@needs_proc
def test_a_small_archive_of_one_endless_line(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"x" * 1_000_000, 9) * 300)
    size, said = peak("merged", str(path))
    assert size < 300
    assert "at most 1048576 characters" in said


def test_the_usual_limit():
    assert MAX_MEMORY == Reading().max_memory == 2_000_000_000


def test_studies_state_limits(tmp_path):
    (tmp_path / "people.csv").write_text("A,T\n" + "1,x\n2,y\n" * 100, encoding="utf-8")
    study = tmp_path / "study.toml"
    text = '[data.people]\nfile = "people.csv"\ntarget = "T"\nmax_memory = SIZE\n[[grid]]\nmethod = "none"\n'
    for size, message in (('"1kB"', "memory: expected at most 1 kB"), ('"much"', "max_memory: expected a size")):
        study.write_text(text.replace("SIZE", size), encoding="utf-8")
        with pytest.raises(InvalidInput, match=message):
            load_study(study)
    points = []
    for size in ('"1MB"', "2000000"):
        study.write_text(text.replace("SIZE", size), encoding="utf-8")
        points.append([point.id for point in load_study(study).points])
    assert points[0] == points[1], "the same rows, whatever they may take"
    study.write_text("#" * 2_000_000, encoding="utf-8")
    with pytest.raises(InvalidInput, match="file: size: expected at most 1 MB"):
        load_study(study)


@pytest.mark.regression(number=13)
def test_a_study_shows_nothing_of_a_file_that_is_no_table(tmp_path):
    (tmp_path / "shadow").write_text("root:$6$secret:19000:0\n", encoding="utf-8")
    study = tmp_path / "study.toml"
    study.write_text('[data.a]\nfile = "shadow"\ntarget = "T"\n[[grid]]\nmethod = "none"\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match="none among 1 column of other names") as caught:
        load_study(study)
    assert "secret" not in str(caught.value)
