"""Estimates in parts: the numbers of an estimate in one piece, whatever the groups, the files and the workers."""

import json
import os
import pickle
import signal
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from support.parted import check_numbers, public, same
from support.strategies import thorough

import maxent
from maxent.__main__ import main
from maxent.api.out_of_core import opened
from maxent.api.out_of_core.scan import Resources, StepJob
from maxent.models.errors import InvalidInput
from maxent.models.out_of_core.runs import packing_of
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.tables import out_of_core
from maxent.solvers.solve import parallel as workers
from maxent.solvers.solve.parallel import PATIENCE, Workers
from maxent.solvers.workers import WorkerLost


@settings(parent=thorough(1), max_examples=2)
@given(data=st.data())
def test_the_numbers_are_those_of_an_estimate_in_one_piece(data):
    check_numbers(data, public(data.draw))


@pytest.mark.slow
@thorough(150)
@given(data=st.data())
def test_the_numbers_of_many_are_those_of_an_estimate_in_one_piece(data):
    check_numbers(data, public(data.draw))


NAMES = ["job", "age"]


@pytest.fixture
def release():
    """A tree over a text and a number that may be missing, with rates."""
    job = Attribute("job", "categorical", ("cook", "clerk", "smith"), "public")
    age = Attribute("age", "numeric", None, "public", missing=True)
    by_age = (Branch("3", le=20.0), Branch("4", gt=20.0, le=40.0, missing=True), Branch("5", gt=40.0))
    nodes = (
        Node("0", attribute="job", branches=(Branch("1", values=("cook", "smith")), Branch("2", values=("clerk",)))),
        Node("1", attribute="age", branches=by_age),
        Node("2", label="no", error_rate=0.25),
        Node("3", label="yes", error_rate=0.0),
        Node("4", label="yes", error_rate=0.5),
        Node("5", label="no", error_rate=0.25),
    )
    return Release(Target("ill", ("no", "yes")), (job, age), (Tree(nodes),))


@pytest.fixture
def people():
    """Rows for these attributes, many alike, with the number of people of each."""
    rng = np.random.default_rng(0)
    jobs, ages = rng.choice(["cook", "clerk", "smith"], 300), rng.choice([17.0, 20, 21, 40, 41, np.nan], 300)
    return pd.DataFrame({"job": jobs, "age": ages, "people": rng.integers(0, 4, 300)})


def said(release, *files, **options):
    """What an estimate in one piece and one in parts complain of."""
    found = []
    for more in ({}, {"memory": "1GB"}):
        with pytest.raises(InvalidInput) as error:
            maxent.estimate(release, *map(str, files), **options, **more)
        found.append(str(error.value))
    return found


def test_files_of_a_pattern_with_missing_numbers_and_people_of_rows(release, people, tmp_path):
    for i, some in enumerate(np.array_split(np.arange(300), 3)):
        people.iloc[some].to_csv(tmp_path / f"qi-{i}.csv", index=False)
    pattern = str(tmp_path / "qi-*.csv")
    whole = maxent.estimate(release, pattern, count="people")
    parts = maxent.estimate(release, pattern, folder=tmp_path / "out", count="people", memory="1GB")
    same(parts.summary, whole.summary)
    assert parts.notes == whole.notes
    ours, theirs = (found.posterior.sort_values(NAMES).reset_index(drop=True) for found in (parts, whole))
    pd.testing.assert_frame_equal(ours, theirs)


def test_what_is_wrong_is_said_as_of_one_piece(release, people, tmp_path):
    people.loc[[7, 9], "job"] = "cok"
    people.loc[11, "age"] = -np.inf
    people.to_csv(tmp_path / "qi.csv", index=False)
    whole, parts = said(release, tmp_path / "qi.csv", count="people")
    assert parts == whole
    assert "line 9: job" in parts


@pytest.mark.parametrize("count", ["people", "nobody"])
def test_numbers_of_people_that_are_refused(release, people, tmp_path, count):
    people.assign(people=[-1.5, *people["people"][1:]], nobody=0).to_parquet(tmp_path / "qi.parquet")
    whole, parts = said(release, tmp_path / "qi.parquet", count=count)
    assert parts == whole


def test_people_whom_no_branch_takes(release, people, tmp_path):
    nodes = list(release.trees[0].nodes[:5])
    nodes[1] = replace(nodes[1], branches=nodes[1].branches[:2])
    people.to_csv(tmp_path / "qi.csv", index=False)
    found = said(replace(release, trees=(Tree(tuple(nodes)),)), tmp_path / "qi.csv", count="people")
    assert all("age: expected a value that some branch of every node it reaches takes" in text for text in found)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda truth: truth.iloc[1:], "as in qi.csv, found"),
        (lambda truth: truth.assign(age=truth["age"].replace(17.0, 18.0)), "quasi-identifiers of qi.csv only"),
        (lambda truth: truth.assign(age=truth["age"].replace({40.0: 21.0})), "rows with job="),
    ],
)
def test_a_truth_about_others_is_refused(release, people, tmp_path, monkeypatch, change, expected):
    monkeypatch.chdir(tmp_path)
    people = people[people["people"] > 0]
    people.to_csv("qi.csv", index=False)
    change(people.assign(ill=np.where(people.index % 3, "no", "yes"))).to_csv("truth.csv", index=False)
    with pytest.raises(InvalidInput, match=expected):
        maxent.estimate(release, "qi.csv", "truth.csv", folder="out", count="people")
    assert not Path("out").exists()


def test_people_who_are_linked_are_estimated_together_or_refused_with_the_reason(release, people, tmp_path):
    root, *others = release.trees[0].nodes
    root = replace(root, branches=(root.branches[0], replace(root.branches[1], child=None)))
    tree = Tree((root, *(node for node in others if node.id != "2")))
    drawn, qi = replace(release, trees=(tree,), sampling_rate=0.5), str(tmp_path / "qi.csv")
    people.to_csv(qi, index=False)
    found = maxent.estimate(drawn, qi, folder=tmp_path / "out", count="people")
    assert found.parts is None
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out" / "part-00000.parquet"), found.posterior)
    with pytest.raises(InvalidInput, match=r"as these link them: counts of samples with .* left out, found 1 kB"):
        maxent.estimate(drawn, qi, count="people", memory="1kB")


def test_people_below_choices_of_splits_that_matter_are_estimated_and_others_have_stand_ins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng, n = np.random.default_rng(7), 2000
    people = pd.DataFrame({f"A{i}": rng.integers(0, size, n).astype(str) for i, size in enumerate((6, 4, 4, 4, 3))})
    told = people["A0"].astype(int) % 4
    people["X"] = np.array(list("abcd"))[np.where(rng.random(n) < 0.5, told, rng.integers(0, 4, n))]
    names = [f"A{i}" for i in range(5)]
    release = maxent.id3(people, target="X", qi=names, impurity="gini", min_samples_split=60, publish="rates")
    people[names].to_csv("qi.csv", index=False)
    people.to_csv("truth.csv", index=False)
    whole = maxent.estimate(release, "qi.csv", "truth.csv")
    monkeypatch.setenv("MAXENT_LARGEST_TABLE", "3500")  # 4 numbers for each of 786 stand-ins, not of 939 people
    with mock.patch.object(opened, "rows_at_a_time", return_value=500):
        parts = maxent.estimate(release, "qi.csv", "truth.csv", folder="out")
    assert len(parts.outcome.active) == len(whole.outcome.active) == 2
    assert parts.parts.leaves < len(parts.program.table) < len(whole.program.table)
    same(parts.summary, whole.summary)
    ours, theirs = (found.posterior.sort_values(names).reset_index(drop=True) for found in (parts, whole))
    pd.testing.assert_frame_equal(ours, theirs, rtol=1e-9)
    with pytest.raises(InvalidInput, match="estimated together as choices of splits"):
        maxent.estimate(release, "qi.csv", memory="100kB")


@pytest.mark.parametrize(("times", "between"), [(PATIENCE, 0), (20, 1)])
def test_calls_of_lost_workers_are_made_again(monkeypatch, times, between):
    left = times

    def made(self, function, calls, first):
        nonlocal left, between
        for number, (i, arguments) in enumerate(calls.items()):
            if left and number == between:
                left -= 1
                raise WorkerLost("gone")
            yield i, function(*arguments)

    monkeypatch.setattr(Workers, "_made", made)
    told = []
    found = Workers(2).map(pow, [(i, 2) for i in range(30)], lambda *what: told.append(what))
    assert found == [i**2 for i in range(30)]
    assert told == [(i, 30) for i in range(31)]
    left, between = PATIENCE + 1, 0
    with pytest.raises(WorkerLost):
        Workers(2).map(pow, [(2, 2)], lambda *what: None)


def test_what_all_calls_need_is_written_for_other_processes_alone(tmp_path):
    with_ = Resources(Workers(1), tmp_path, 10)
    assert with_.each(lambda item, job: job.value[item], ["no", "yes"], [1, 0], lambda done, total: None) == [
        "yes",
        "no",
    ]
    assert not list(tmp_path.iterdir())
    job = StepJob(["no", "yes"], tmp_path / "job")
    first, second = (pickle.loads(pickle.dumps(job)) for _ in range(2))
    assert (first.value, first is second, list(tmp_path.iterdir())) == (["no", "yes"], True, [tmp_path / "job"])


def test_codes_are_as_small_as_those_of_tables():
    codes = np.array([[0, 126, 3], [2, 0, 299]])
    for sizes, kind in (([3, 127, 300], np.int16), ([3, 127], np.int8)):
        packing = packing_of(sizes, 2)
        found = packing.unpack(packing.pack(codes[:, : len(sizes)]))
        np.testing.assert_array_equal(found, codes[:, : len(sizes)])
        assert found.dtype == kind


def made(release, people, folder, **options):
    """An estimate in parts of a few rows each: its summary, and its files."""
    folder.mkdir()
    people = people.loc[people.index.repeat(people["people"]), NAMES].reset_index(drop=True)
    parquet.write_table(pa.Table.from_pandas(people), folder / "qi.parquet", row_group_size=100)
    people.assign(ill=np.where(people.index % 3, "no", "yes")).to_parquet(folder / "truth.parquet")
    with (
        mock.patch.object(opened, "rows_at_a_time", return_value=5),
        mock.patch.multiple(out_of_core, SMALLEST=50, LARGEST=50),
    ):
        qi, truth = str(folder / "qi.parquet"), str(folder / "truth.parquet")
        found = maxent.estimate(release, qi, truth, folder=folder / "out", **options)
    summary = json.dumps({**found.summary, "seconds": 0}).replace(str(folder), "")
    return summary, [path.read_bytes() for path in found.parts.files]


WAYS = [({"jobs": 2}, True), ({"jobs": 3}, True), ({"jobs": 2}, False), ({"dask": "local:2"}, False)]


def copying(monkeypatch, copied):
    """Whether processes are to be copies of this one."""
    if copied and not workers.can_fork():
        pytest.skip("not Linux, or a thread of another test is alive")
    monkeypatch.setattr(workers, "can_fork", lambda: copied)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="no process is ended like that elsewhere")
def test_a_worker_that_is_killed_changes_no_bit(release, people, tmp_path, monkeypatch):
    from joblib.externals.loky import reusable_executor

    copying(monkeypatch, False)
    left = [("reading the table", 2), ("evaluating leaves", 1), ("evaluating leaves", 3)]

    def kill(text, done, total):
        if (text, done) in left:
            left.remove((text, done))
            os.kill(next(iter(reusable_executor._executor._processes)), signal.SIGKILL)

    here = made(release, people, tmp_path / "here")
    assert here == made(release, people, tmp_path / "there", jobs=2, progress=kill)
    assert not left
    reusable_executor._executor.shutdown(wait=True)  # its threads would keep others from being copied


@pytest.mark.slow
def test_a_copy_that_is_killed_changes_no_bit(release, people, tmp_path, monkeypatch):
    copying(monkeypatch, True)
    here, make_calls, deaths = made(release, people, tmp_path / "here"), workers.make_calls, tmp_path / "deaths"
    next_call = workers.next_call
    deaths.mkdir()

    def waiting(turn, calls, patience):
        """This process makes no call before all that are to die have died: how many it made would be luck."""
        return next_call(turn, calls, patience) if len(list(deaths.iterdir())) == 5 else None

    def dying(turn, function, calls, pipe):
        if len(list(deaths.iterdir())) < 5:
            next_call(turn, len(calls))  # which nobody else makes
            (deaths / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        make_calls(turn, function, calls, pipe)

    monkeypatch.setattr(workers, "next_call", waiting)
    monkeypatch.setattr(workers, "make_calls", dying)
    assert here == made(release, people, tmp_path / "there", jobs=2)
    assert len(list(deaths.iterdir())) == 5


@pytest.mark.slow
@pytest.mark.parametrize(("options", "copied"), WAYS)
def test_processes_change_no_bit(release, people, tmp_path, monkeypatch, options, copied):
    copying(monkeypatch, copied)
    assert made(release, people, tmp_path / "here") == made(release, people, tmp_path / "there", **options)


@pytest.mark.slow
def test_a_cluster_changes_no_bit(release, people, tmp_path, address):
    here = made(release, people, tmp_path / "here")
    assert len(here[1]) > 3
    assert here == made(release, people, tmp_path / "there", dask=address)


def test_the_command_writes_a_folder(release, people, tmp_path, capsys):
    release.save(tmp_path / "tree.json")
    people.to_csv(tmp_path / "qi.csv", index=False)
    call = ["estimate", str(tmp_path / "tree.json"), str(tmp_path / "qi.csv"), "--count", "people"]
    assert main([*call, "-o", f"{tmp_path}/out/"]) == 0
    printed = capsys.readouterr().out
    distinct = len(people[people["people"] > 0].groupby(NAMES, dropna=False))
    assert f"{distinct} distinct quasi-identifiers;" in printed
    assert f"constraints: {distinct} qi, " in printed
    assert "posteriors are in 1 file of" in printed
    assert os.stat(tmp_path / "out").st_mode & 0o777 == 0o700
    assert os.stat(tmp_path / "out" / "part-00000.parquet").st_mode & 0o777 == 0o600
    assert main([*call, "-o", f"{tmp_path}/out/"]) == 2
    assert "expected a new or empty folder" in capsys.readouterr().err
    assert main([*call, "--memory", "2GB", "--max-posterior", "0.5", "--enforce"]) == 3


def test_a_table_that_is_no_file(release, people):
    with pytest.raises(InvalidInput, match="the path of a file, or a pattern"):
        maxent.estimate(release, people, memory="1GB")


def test_what_is_in_files_is_not_kept_twice(release, people, tmp_path):
    people.to_parquet(tmp_path / "qi.parquet")
    found = maxent.estimate(release, str(tmp_path / "qi.parquet"), memory="1GB")
    assert "distinct quasi-identifiers" in repr(found)
    for wrong in (found.save, found.report):
        with pytest.raises(InvalidInput):
            wrong(tmp_path / "x.csv")
    with pytest.raises(InvalidInput, match="a folder"):
        _ = found.posterior
