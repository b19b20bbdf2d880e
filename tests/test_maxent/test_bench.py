"""maxent bench: rows of all kinds, files, the plot, exit statuses, and that one back end cannot hurt another."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from support import toys
from support.calls import printed_by, refused
from support.paths import ROOT

import maxent
from maxent.api import bench as benching
from maxent.models.errors import UnknownBackend
from maxent.plotting.bench import draw_bench, save_bench_plot
from maxent.results.bench import COLUMNS

D1 = [str(ROOT / "examples/d1" / name) for name in ("tree.json", "qi.csv")]
TRUTH = str(ROOT / "examples/d1/truth.csv")
ENTROPY = 0.369429
NUMBER = {"type": ["number", "null"]}
TEXT = {"type": ["string", "null"]}
NUMBERS = [key for key in COLUMNS if key not in ("backend", "version", "status", "reason", "convex", "certificate")]
SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["individuals", "distinct_qi", "classes", "constraints", "tolerance", "best", "interrupted", "rows"],
    "properties": {
        "individuals": {"const": 11},
        "distinct_qi": {"const": 7},
        "classes": {"const": 2},
        "constraints": {"type": "object", "additionalProperties": {"type": "integer"}},
        "tolerance": {"const": 1e-8},
        "best": TEXT,
        "interrupted": {"type": "boolean"},
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": list(COLUMNS),
                "properties": {
                    "backend": {"type": "string"},
                    "version": TEXT,
                    "status": {"type": "string"},
                    "reason": TEXT,
                    "convex": {"type": ["boolean", "null"]},
                    "certificate": TEXT,
                    **dict.fromkeys([*NUMBERS, "divergence"], NUMBER),
                },
            },
        },
    },
}


@pytest.fixture
def third_party(tmp_path, monkeypatch):
    """Toy back ends, installed beside ours."""
    folder = tmp_path / "site"
    folder.mkdir()
    toys.install(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("TOY_PID", str(tmp_path / "pid"))
    return tmp_path


def test_back_ends_agree_and_files_hold_what_is_printed(capsys, tmp_path):
    files = [tmp_path / f"out{suffix}" for suffix in (".json", ".csv", ".parquet")]
    plot = tmp_path / "out.svg"
    call = ["bench", *D1, "--truth", TRUTH, "--backends", "ipopt, newton,ipopt", "--json"]
    printed = printed_by(capsys, [*call, "-o", str(files[0]), "--plot", str(plot)])
    assert printed.err == ""
    found = json.loads(printed.out)
    jsonschema.validate(found, SCHEMA)
    assert [row["backend"] for row in found["rows"]] == ["ipopt", "newton"]
    for row in found["rows"]:
        assert (row["status"], row["reason"], row["convex"], row["certificate"]) == ("optimal", None, True, "global")
        assert row["entropy"] == pytest.approx(ENTROPY, abs=1e-6)
        assert row["divergence"] == pytest.approx(0.077484, abs=1e-6)
        assert 0 <= row["mean_total_variation"] <= row["total_variation"] <= 1e-6
        assert row["max_distance"] == pytest.approx(row["total_variation"])  # there are two classes
        assert min(row["build_seconds"], row["solve_seconds"], row["processor_seconds"]) > 0
        assert 20 < row["peak_memory_mb"] < 2000
    best = next(row for row in found["rows"] if row["backend"] == found["best"])
    assert best["max_distance"] == best["total_variation"] == 0
    assert best["entropy"] == max(row["entropy"] for row in found["rows"])
    assert json.loads(files[0].read_text(encoding="utf-8")) == {"format": "maxent-bench/1", **found}
    drawn = plot.read_text(encoding="utf-8")
    assert all(f">{text}</text>" in drawn for text in ("ipopt", "newton", "seconds", "build", "solve"))
    result = maxent.BenchResult(tuple(found["rows"]), found["best"], {}, found["tolerance"], False)
    for path, read in zip(files[1:], (pd.read_csv, pd.read_parquet), strict=True):
        result.save(path)
        table = read(path).astype(object)
        pd.testing.assert_frame_equal(
            table.where(table.notna(), None), result.table.astype(object).where(result.table.notna(), None)
        )
    refused(r"ends in \.csv or \.parquet or \.json, found", result.save, tmp_path / "out.txt")


@pytest.mark.slow
def test_the_python_interface_takes_tables_and_hides_no_infinity(tmp_path):
    qi, people = pd.read_csv(D1[1], dtype=str), Path(TRUTH).read_text(encoding="utf-8")
    (tmp_path / "truth.csv").write_text(people.replace("Canada,Male,<=50K", "Canada,Male,>50K", 1), encoding="utf-8")
    told = []
    result = maxent.bench(
        maxent.load_release(D1[0]),
        qi,
        truth=tmp_path / "truth.csv",
        backends=["newton"],
        repeat=1,
        progress=lambda *state: told.append(state),
    )
    assert callable(maxent.bench)  # its module has another name
    assert (result.reliable, result.best, told) == (True, "newton", [("newton", 0, 1)])
    assert list(result.table.columns) == [*COLUMNS, "divergence"]
    assert result.rows[0]["divergence"] == math.inf
    for suffix in (".csv", ".json"):
        result.save(tmp_path / f"out{suffix}")
    assert pd.read_csv(tmp_path / "out.csv")["divergence"].tolist() == [math.inf]
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"][0]["divergence"] is None


def test_distances_are_those_of_the_posteriors(tmp_path):
    for name, probabilities in {
        "a": [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]],
        "b": [[0.2, 0.6, 0.2], [1.0, 0.0, 0.0]],
    }.items():
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "probabilities.npy", probabilities)
        np.save(tmp_path / name / "counts.npy", [3, 1])
    rows = [{"backend": name, "entropy": entropy} for name, entropy in (("a", 1.0), ("b", 0.9), ("c", None))]
    benching._add_distances(rows, {name: tmp_path / name for name in "abc"}, "a")
    found = [[row.get(key) for key in ("max_distance", "total_variation", "mean_total_variation")] for row in rows]
    assert (found[0], found[1], found[2]) == ([0, 0, 0], pytest.approx([0.3, 0.3, 0.225]), [None] * 3)


def test_the_best_is_optimal_and_within_the_tolerance():
    rows = [
        {"backend": "loose", "status": "optimal", "max_violation": 1e-3, "entropy": 3.0},
        {"backend": "stopped", "status": "time_limit", "max_violation": 0.0, "entropy": 2.0},
        {"backend": "good", "status": "optimal", "max_violation": 1e-9, "entropy": 1.5},
        {"backend": "equal", "status": "optimal", "max_violation": 0.0, "entropy": 1.5},
        {"backend": "low", "status": "optimal", "max_violation": 0.0, "entropy": 1.0},
    ]
    assert benching._best(rows, 1e-8) == "good"
    assert benching._best(rows[:2], 1e-8) is None


@pytest.mark.slow
def test_what_goes_wrong_in_one_back_end_is_its_row_alone(capsys, third_party):
    output = third_party / "out.csv"
    reasons = {
        "absent": ("not_installed", "a_solver_that_is_not_there"),
        "picky": ("refused", r"^programs with variables$"),
        "broken": ("not_converged", "ArithmeticError: a division by zero"),
        "misled": ("failed", r"^InvalidInput: toy: here"),
        "crashing": ("failed", r"^was ended by the signal SIGABRT: about to crash$"),
        "ended": ("not_converged", r"the solver ended \(SIGABRT\): a library crashed, in a process of its own"),
        "leaving": ("failed", r"^ended without an answer, exit status 0$"),
    }
    names = [*reasons, "unversioned", "newton"]
    printed = printed_by(capsys, ["bench", *D1, "--backends", ",".join(names), "-o", str(output), "--json"])
    assert printed.err == ""
    found = json.loads(printed.out)
    jsonschema.validate(found, SCHEMA)
    assert found["best"] == "newton"
    rows = {row["backend"]: row for row in found["rows"]}
    assert list(rows) == names
    for name, (status, reason) in reasons.items():
        assert rows[name]["status"] == status
        assert re.search(reason, rows[name]["reason"]), rows[name]
        missing = [rows[name][key] is None for key in ("entropy", "max_violation", "max_distance", "certificate")]
        assert all(missing) or name in ("broken", "ended")
    assert rows["picky"]["version"] == "0.7"
    assert rows["broken"]["peak_memory_mb"] > 300 > rows["newton"]["peak_memory_mb"]
    assert rows["unversioned"]["status"] not in ("optimal", "failed")  # it lies, and that is found out
    assert rows["unversioned"]["certificate"] == "none"
    assert pd.read_csv(output)["status"].tolist() == [rows[name]["status"] for name in names]


def test_what_does_not_stop_is_killed(capsys, third_party, monkeypatch):
    monkeypatch.setattr(benching, "GRACE", 0.0)
    printed = printed_by(capsys, ["bench", *D1, "--backends", "stuck", "--time-limit", "0.5", "--json"], 1)
    assert printed.err == "maxent: no back end can be relied on\n"
    found = json.loads(printed.out)
    assert [found[key] for key in ("individuals", "best", "interrupted")] == [None, None, False]
    row = found["rows"][0]
    assert (row["status"], row["entropy"]) == ("time_limit", None)
    assert row["reason"] == "did not stop at the time limit of 0.5 s and was killed"
    assert row["peak_memory_mb"] > 20
    assert gone(int((third_party / "pid").read_text()))


@pytest.mark.slow
def test_none_to_rely_on(capsys, third_party):
    plot = third_party / "out.png"
    printed = printed_by(capsys, ["bench", *D1, "--backends", "picky,faulty", "--plot", str(plot)], 1)
    assert printed.err == "maxent: no back end can be relied on\n"
    lines = printed.out.splitlines()
    assert lines[0].split()[:4] == ["backend", "status", "certificate", "entropy"]
    assert lines[1].split()[:4] == ["picky", "refused", "-", "-"]
    assert lines[2].startswith("faulty   ")
    assert "picky: refused: programs with variables" in lines
    assert lines[-1] == "no back end has an answer to rely on"
    assert all(line == line.rstrip() for line in lines)
    assert plot.read_bytes().startswith(b"\x89PNG\r\n")


WRONG = {
    "unknown back end": (["--backends", "newton,newtn"], "textbook, found 'newtn'; did you mean 'newton'?"),
    "no back end": (
        ["--backends", " ,"],
        "maxent: --backends: expected names of back ends, such as 'ipopt,newton', found ' ,'",
    ),
    "time limit": (["--time-limit", "0"], "maxent: --time-limit: expected a positive number of seconds, found 0"),
    "repeat": (["--repeat", "0"], "maxent: --repeat: expected a whole number of at least 1, found 0"),
    "suffix": (["--plot", "out.gif"], "maxent: --plot: expected a file name that ends in .svg or .png or .pdf"),
    "no number": (["--repeat", "often"], "maxent: --repeat: expected a whole number, found 'often'"),
}


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_a_wrong_call_is_refused_before_anything_runs(capsys, monkeypatch, case):
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    arguments, message = case
    printed = printed_by(capsys, ["bench", *D1, *arguments], 2)
    assert printed.out == ""
    assert message in printed.err


def test_wrong_input_is_reported_once_with_all_its_problems(capsys, tmp_path):
    tree = tmp_path / "tree.json"
    tree.write_text(
        Path(D1[0]).read_text(encoding="utf-8").replace('"format"', '"from": 1, "format"'), encoding="utf-8"
    )
    call = ["bench", str(tree), D1[1], "--backends", "newton,ipopt", "-o", str(tmp_path / "out.csv")]
    printed = printed_by(capsys, call, 2)
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "document: from: expected only the keys" in printed.err
    assert os.listdir(tmp_path) == ["tree.json"]
    with pytest.raises(UnknownBackend, match=r"backends: expected one of auto, .*, found 'nobody'"):
        maxent.bench(*D1, backends=["nobody"])


def gone(pid):
    """Whether a process has ended, or does so within seconds (what nobody waits for stays as a zombie)."""
    for _ in range(200):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                if file.read().rpartition(")")[2].split()[0] == "Z":
                    return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False


@pytest.fixture
def hanging(third_party):
    """A comparison whose second back end hangs: (the process, the number of that back end's)."""
    paths = os.pathsep.join([str(third_party / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths, "TMPDIR": str(third_party)}
    call = [sys.executable, "-m", "maxent", "bench", *D1, "--backends", "newton,stuck,ipopt", "--repeat", "1", "--json"]
    pid = third_party / "pid"
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True) as process:
        for _ in range(1200):
            if process.poll() is not None or (pid.exists() and pid.read_text()):
                break
            time.sleep(0.05)
        yield process, int(pid.read_text())
        process.kill()


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
def test_an_interrupt_keeps_the_rows_so_far(hanging, third_party):
    process, child = hanging
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, "maxent: interrupted: not every back end was tried\n")
    found = json.loads(out)
    jsonschema.validate(found, SCHEMA)
    assert [row["status"] for row in found["rows"]] == ["optimal", "interrupted", "interrupted"]
    assert (found["interrupted"], found["best"]) == (True, "newton")
    assert gone(child)
    assert not list(third_party.glob("maxent-bench-*"))


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
def test_no_back_end_outlives_the_comparison(hanging):
    process, child = hanging
    process.kill()
    assert gone(child)


STATES = [
    {"status": "optimal", "entropy": 2.0},
    {"status": "optimal", "entropy": 2.0 - 3e-9},
    {"status": "optimal", "entropy": 1.9},
    {"status": "time_limit", "entropy": 1.5},
    {"status": "not_converged", "entropy": 2.0005},
    {"status": "refused", "entropy": None},
]


@pytest.mark.parametrize(
    "rows", [STATES, STATES[:1], STATES[3:5], STATES[5:]], ids=["all", "one", "unreliable", "none"]
)
def test_labels_of_the_plot_do_not_overlap(rows):
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    times = [(0.01, 0.004), (7.3, 24.0), (7.4, 400.0), (0.2, 600.0), (7.0, 0.0), (None, None)]
    rows = [
        {"backend": f"pyomo:name{i}", "build_seconds": build, "solve_seconds": solve, **row}
        for i, (row, (build, solve)) in enumerate(zip(rows, times, strict=False))
    ]
    figure = Figure(figsize=(9.0, 1.6 + 0.36 * len(rows)), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    draw_bench(rows, *axes)
    for _ in range(2):  # the layout is known after the first time
        figure.draw_without_rendering()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    boxes = [text.get_window_extent() for text in texts]
    assert len(texts) >= 2 * len(rows) + 5
    assert not [(a, b) for i, a in enumerate(boxes) for b in boxes[i + 1 :] if a.overlaps(b)]
    assert all(figure.bbox.contains(*corner) for box in boxes for corner in (box.min, box.max))
    assert [label.get_text() for label in axes[0].get_yticklabels()] == [row["backend"] for row in rows]


def test_the_same_rows_give_the_same_plot(tmp_path):
    rows = [{"backend": "<a&b>", "build_seconds": 1.0, "solve_seconds": 2.0, **STATES[0]}]
    for name in ("a.svg", "b.svg", "c.pdf"):
        save_bench_plot(rows, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "&lt;a&amp;b&gt;</text>" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert (tmp_path / "c.pdf").read_bytes().startswith(b"%PDF")
    refused(r"ends in \.svg or", save_bench_plot, rows, tmp_path / "a.gif")


def test_a_plot_without_matplotlib_is_refused_first(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    printed = printed_by(capsys, ["bench", *D1, "--plot", "out.svg"], 2)
    assert printed.out == ""
    assert printed.err.startswith("maxent: a plot needs matplotlib: pip install matplotlib; in a copy")


@pytest.mark.slow
@pytest.mark.regression(number=6)
def test_where_what_is_stated_leaves_one_answer_presolve_is_not_blamed(tmp_path, capsys):
    leaf = {"id": "L", "counts": {"x": 1, "y": 1}}
    attribute = {"name": "A", "type": "categorical", "values": ["a"]}
    document = {"format": "maxent/1", "target": {"name": "S", "classes": ["x", "y"]}, "attributes": [attribute]}
    (tmp_path / "tree.json").write_text(json.dumps({**document, "trees": [{"nodes": [leaf]}]}), encoding="utf-8")
    (tmp_path / "qi.csv").write_text("A\na\na\n", encoding="utf-8")
    call = ["bench", str(tmp_path / "tree.json"), str(tmp_path / "qi.csv"), "--backends", "newton", "--no-presolve"]
    told = printed_by(capsys, call).out
    assert "newton: not used: what is stated leaves a single answer, and nothing to any back end" in told
    assert told.splitlines()[-1] == "no back end was used, and none is best"


@pytest.mark.slow
@pytest.mark.regression(number=6)
def test_where_closed_forms_answer_everything_no_back_end_is_best(tmp_path, capsys):
    document = json.loads(Path(D1[0]).read_text(encoding="utf-8"))
    del document["trees"][0]["induction"]  # nothing but the rates of leaves: closed forms
    (tmp_path / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    call = ["bench", str(tmp_path / "tree.json"), D1[1], "--backends", "newton,scipy", "--repeat", "1"]
    told = printed_by(capsys, [*call, "-o", str(tmp_path / "rows.svg")]).out
    assert "newton: not used: closed forms of presolve answer the whole problem" in told
    assert told.splitlines()[-1].startswith("no back end was used, and none is best: --no-presolve")
    found = json.loads(printed_by(capsys, [*call, "--json"]).out)
    assert found["best"] is None
    assert {(row["status"], row["iterations"]) for row in found["rows"]} == {("not_used", None)}
    found = json.loads(printed_by(capsys, [*call, "--no-presolve", "--json"]).out)
    assert found["best"] in ("newton", "scipy")
    assert {row["status"] for row in found["rows"]} == {"optimal"}
