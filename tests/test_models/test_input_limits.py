"""What files may ask for: only regular files and standard input are read, into no more memory than is allowed."""

import gzip
import json
import os
import socket
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.calls import refused
from support.documents import release_document

from maxent.models.errors import InvalidInput
from maxent.models.formats.registry import convert_model, load_release
from maxent.models.formats.release_reader import Wanted
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
        refused(r"argument: max_memory: expected a size, such as 500MB or 4GB", Reading, max_memory=text)
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
        refused(NO_FILE, read)


def test_a_pattern_that_matches_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    refused(NO_FILE, read_qi, f"{tmp_path}/*.csv", RELEASE)


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
    refused(r"\(max_memory=\)", read_qi, f"{tmp_path}/*.csv", RELEASE, reader=reader)
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
        refused(message, load_study, study)
    points = []
    for size in ('"1MB"', "2000000"):
        study.write_text(text.replace("SIZE", size), encoding="utf-8")
        points.append([point.id for point in load_study(study).points])
    assert points[0] == points[1], "the same rows, whatever they may take"
    study.write_text("#" * 2_000_000, encoding="utf-8")
    refused("file: size: expected at most 1 MB", load_study, study)


@pytest.mark.regression(number=13)
def test_a_study_shows_nothing_of_a_file_that_is_no_table(tmp_path):
    (tmp_path / "shadow").write_text("root:$6$secret:19000:0\n", encoding="utf-8")
    study = tmp_path / "study.toml"
    study.write_text('[data.a]\nfile = "shadow"\ntarget = "T"\n[[grid]]\nmethod = "none"\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match="none among 1 column of other names") as caught:
        load_study(study)
    assert "secret" not in str(caught.value)


DEPTH = 13
MOST = 20.0  # Bytes for each byte of the file


def text(folder: Path) -> Path:
    """A complete tree of scikit-learn's text."""
    lines = []

    def node(depth: int, number: int) -> None:
        mark = "|   " * depth + "|--- "
        if depth == DEPTH:
            lines.append(
                f"{mark}weights: [{number % 7}.0000, {number % 5}.0000] class: {'ab'[number % 7 < number % 5]}"
            )
            return
        for sign in ("<= ", ">  "):
            lines.append(f"{mark}column_{depth} {sign}{number}.5000000000")
            node(depth + 1, 2 * number + (sign == ">  "))

    node(0, 1)
    (folder / "model.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "model.txt"


def scores(folder: Path) -> Path:
    """Complete trees of XGBoost, with all arrays that it writes."""
    n = 2 ** (DEPTH + 1) - 1
    inner = np.arange(n) < n // 2
    numbers = np.random.default_rng(0).normal(size=n).astype(np.float32).astype(str).astype(float)
    tree = {
        "left_children": np.where(inner, 2 * np.arange(n) + 1, -1).tolist(),
        "right_children": np.where(inner, 2 * np.arange(n) + 2, -1).tolist(),
        "parents": ((np.arange(n) - 1) // 2).tolist(),
        "split_indices": np.where(inner, np.arange(n) % 5, 0).tolist(),
        "split_conditions": numbers.tolist(),
        "split_type": [0] * n,
        "default_left": [1] * n,
        "tree_param": {"size_leaf_vector": "1"},
        **{key: np.abs(numbers).tolist() for key in ("base_weights", "loss_changes", "sum_hessian")},
    }
    learner = {
        "attributes": {},
        "feature_names": [f"column_{i}" for i in range(5)],
        "feature_types": ["float"] * 5,
        "gradient_booster": {"name": "gbtree", "model": {"tree_info": [0, 0], "trees": [tree, tree]}},
        "learner_model_param": {"base_score": "5E-1", "num_class": "0", "num_feature": "5"},
        "objective": {"name": "binary:logistic"},
    }
    document = {"learner": learner, "version": [3, 2, 0]}
    (folder / "model.json").write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")
    return folder / "model.json"


def binary(folder: Path) -> Path:
    """The same in UBJSON, whose numbers take four bytes and less."""

    def size(n: int) -> bytes:
        return b"L" + struct.pack(">q", n)

    def written(value: Any) -> bytes:
        if isinstance(value, str):
            return b"S" + size(len(value)) + value.encode()
        if isinstance(value, dict):
            return b"{" + b"".join(size(len(k)) + k.encode() + written(v) for k, v in value.items()) + b"}"
        if all(isinstance(item, (int, float)) for item in value):
            kind = ("d", ">f4") if any(isinstance(item, float) for item in value) else ("l", ">i4")
            return b"[$" + kind[0].encode() + b"#" + size(len(value)) + np.array(value).astype(kind[1]).tobytes()
        return b"[#" + size(len(value)) + b"".join(map(written, value))

    document = json.loads(scores(folder).read_text(encoding="utf-8"))
    (folder / "model.ubj").write_bytes(written({"learner": document["learner"]}))
    return folder / "model.ubj"


def lines(folder: Path) -> Path:
    """Complete trees of LightGBM, with all arrays that it writes."""
    n = 2**DEPTH
    inner = np.arange(n - 1)
    below = [np.where(2 * inner + side < n - 1, 2 * inner + side, ~(2 * inner + side - n + 1)) for side in (1, 2)]
    sizes = 2 ** (DEPTH - np.floor(np.log2(inner + 1)).astype(int))
    numbers = np.random.default_rng(0).normal(size=n).round(12)
    arrays = {
        **{"split_feature": inner % 5, "split_gain": numbers[1:], "threshold": numbers[1:]},
        **{"decision_type": np.full(n - 1, 10), "left_child": below[0], "right_child": below[1]},
        **{"leaf_value": numbers, "leaf_weight": np.abs(numbers), "leaf_count": np.ones(n, int)},
        **{"internal_value": numbers[1:], "internal_weight": np.abs(numbers[1:]), "internal_count": sizes},
    }
    tree = "\n".join(f"{key}={' '.join(map(str, value.tolist()))}" for key, value in arrays.items())
    head = (
        "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nobjective=binary sigmoid:1\n"
        f"feature_names={' '.join('abcde')}\nfeature_infos={' '.join(['[0:1]'] * 5)}\n"
    )
    trees = "".join(f"\nTree={i}\nnum_leaves={n}\nnum_cat=0\n{tree}\nshrinkage=0.1\n\n" for i in range(2))
    (folder / "model.txt").write_text(f"{head}{trees}\nend of trees\n", encoding="utf-8")
    return folder / "model.txt"


def levels(folder: Path) -> Path:
    """Oblivious trees of CatBoost, which indents what it writes."""
    n = 2**6
    splits = [{"border": i + 0.5, "float_feature_index": i % 5, "split_type": "FloatFeature"} for i in range(6)]
    tree = {"leaf_values": [(i + 0.1) / 7 for i in range(n)], "leaf_weights": list(range(n)), "splits": splits}
    columns = [{"feature_id": str(i), "feature_index": i, "flat_feature_index": i} for i in range(5)]
    document = {
        "features_info": {"float_features": columns},
        "model_info": {"params": {"loss_function": {"type": "Logloss"}}},
        "oblivious_trees": [tree] * 200,
    }
    (folder / "model.json").write_text(json.dumps(document, indent=2), encoding="utf-8")
    return folder / "model.json"


def table(folder: Path) -> Path:
    """A complete tree of R's randomForest, a line of which has few bytes."""
    n = 2 ** (DEPTH + 1) - 1
    cuts = np.random.default_rng(0).normal(size=n).round(6).tolist()
    rows = [
        f'"{i + 1}",{2 * i + 2},{2 * i + 3},"column{i % 5}",{cuts[i]},1,NA'
        if i < n // 2
        else f'"{i + 1}",0,0,NA,0,-1,"{"ab"[i % 2]}"'
        for i in range(n)
    ]
    head = '"","left daughter","right daughter","split var","split point","status","prediction"'
    (folder / "model.csv").write_text("\n".join([head, *rows, ""]), encoding="utf-8")
    return folder / "model.csv"


def cases(folder: Path) -> Path:
    """A complete tree of C5.0, with a leaf of missing values at each test."""
    lines = ['id="See5/C5.0 2.07 GPL Edition 2026-11-22"', 'entries="1"']

    def node(depth: int) -> None:
        if depth == DEPTH:
            lines.append('type="0" class="a" freq="1,0"')
            return
        size = 2 ** (DEPTH - depth)
        lines.append(f'type="2" class="a" freq="{size},0" att="column{depth}" forks="3" cut="{depth}.5"')
        lines.append('type="0" class="a"')
        node(depth + 1)
        node(depth + 1)

    node(0)
    (folder / "model.tree").write_text("\n".join([*lines, ""]), encoding="utf-8")
    return folder / "model.tree"


@pytest.mark.slow
@pytest.mark.parametrize("write", [text, scores, binary, lines, levels, table, cases])
def test_memory_is_in_proportion_to_the_file(write: Callable[[Path], Path], tmp_path: Path) -> None:
    path, wanted = write(tmp_path), Wanted(classes=("a", "b") if write in (table, cases) else None)
    convert_model(path, wanted, Reader())  # what is imported stays
    tracemalloc.start()
    try:
        found = convert_model(path, wanted, Reader())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(len(tree.leaves) for tree in found.release.trees) >= 2**DEPTH
    assert peak < MOST * path.stat().st_size, peak / path.stat().st_size
