"""The command line on right input: numbers of the paper, forms of output, exit status, files."""

import io
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from support.calls import printed_by, refused
from support.documents import release_document
from support.paths import D1 as STREAMS_D1
from support.paths import ROOT
from support.studies import STUDY, people, write_study

import maxent
from maxent.__main__ import COLLECTED, command, main
from maxent.commands import main as cli
from maxent.models.defenses.registry import OWN
from maxent.models.errors import printable
from maxent.models.files.json_files import as_json_text

D1 = [str(ROOT / "examples/d1" / name) for name in ("tree.json", "qi.csv")]
D2 = [str(ROOT / "examples/d2" / name) for name in ("tree.json", "qi.csv")]
TRUTH1 = ["--truth", str(ROOT / "examples/d1/truth.csv")]
TRUTH2 = ["--truth", str(ROOT / "examples/d2/truth.csv")]


def summary(capsys, *arguments, status=0):
    """The JSON object that a command prints, and nothing else."""
    printed = printed_by(capsys, [*arguments, "--json"], status)
    assert printed.out.endswith("}\n")
    return json.loads(printed.out, parse_constant=lambda text: pytest.fail(f"{text} in JSON"))


def release(tmp_path, document):
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def stump(values=("a", "b"), classes=("no", "yes"), name="V", **first):
    """A release with one categorical split; ``first`` is stated about its first leaf."""
    return release_document(
        "T",
        classes,
        {name: list(values)},
        [
            {
                "id": "N",
                "attribute": name,
                "branches": [{"in": [values[0]], "child": "A"}, {"in": list(values[1:]), "child": "B"}],
            },
            {"id": "A", **first},
            {"id": "B"},
        ],
    )


def test_the_summary_has_every_key_of_the_contract(capsys):
    found = summary(capsys, "estimate", *D1, *TRUTH1)
    assert (found["individuals"], found["distinct_qi"], found["classes"]) == (11, 7, 2)
    kinds = {"qi": 7, "label": 5, "rate": 5, "counts": 0, "marginal": 0, "internal": 4}
    assert kinds.items() <= found["constraints"].items()
    assert (found["status"], found["backend"], found["convex"], found["certificate"]) == (
        "optimal",
        "newton",
        True,
        "global",
    )
    assert 0 <= found["max_violation"] <= 1e-8
    assert set(found["seconds"]) == {"compile", "solve"}
    assert (found["entropy"], found["disclosure"]["certain"]) == (pytest.approx(0.369429, abs=1e-6), 5)
    assert found["disclosure"]["max_posterior"] == 1.0
    assert found["disclosure"]["bayes_vulnerability"] == pytest.approx(0.755093, abs=1e-6)
    assert found["divergence"]["overall"] == pytest.approx(0.077484, abs=1e-6)
    assert found["divergence"]["max"] == pytest.approx(0.426164, abs=1e-6)
    first = found["divergence"]["top"][0]
    assert (set(first), set(first["qi"])) == ({"qi", "divergence"}, {"Education", "Country", "Gender"})
    assert "infinite" not in found["divergence"]


CASES = {
    "label": ("label", [], 0.441094, None),
    "label and rate": ("label,rate", [], 0.126027, 0.5),
    "gini": ("label,rate,internal", ["--impurity", "gini"], 0.079321, 0.646446),
    "entropy": ("label,rate,internal", ["--impurity", "entropy"], 0.077484, 0.653009),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_first_example_of_the_paper(capsys, tmp_path, case):
    knowledge, more, divergence, probability = case
    output = tmp_path / "out.csv"
    found = summary(capsys, "estimate", *D1, *TRUTH1, "--knowledge", knowledge, *more, "-o", str(output))
    assert found["divergence"]["overall"] == pytest.approx(divergence, abs=2e-6)
    table = pd.read_csv(output)
    if probability is None:
        assert table["P(<=50K)"].tolist() == pytest.approx([0.5] * len(table), abs=1e-6)
    else:
        assert table["P(<=50K)"][0] == pytest.approx(probability, abs=2e-6)
    if knowledge == "label,rate":
        assert found["entropy"] == pytest.approx(0.378080, abs=1e-6)


def test_the_second_example_of_the_paper(capsys):
    found = summary(capsys, "estimate", *D2, *TRUTH2, "--knowledge", "label,rate")
    assert found["divergence"]["overall"] == pytest.approx(0.231049, abs=1e-6)
    assert found["disclosure"]["bayes_vulnerability"] == pytest.approx((2 * 1.0 + 2 * 0.5 + 2 * 1.0) / 6, abs=1e-6)


def test_the_text_is_plain_and_alone_on_standard_output(capsys):
    printed = printed_by(capsys, ["estimate", *D1, *TRUTH1])
    assert printed.err == ""
    assert "the global optimum" in printed.out
    assert "\x1b" not in printed.out
    assert all(line == line.rstrip() for line in printed.out.splitlines())


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json", ".CSV"])
def test_the_posterior_in_a_file(capsys, tmp_path, suffix):
    output = tmp_path / f"out{suffix}"
    found = summary(capsys, "estimate", *D1, *TRUTH1, "-o", str(output))
    assert os.listdir(tmp_path) == [output.name]
    if suffix == ".json":
        document = json.loads(output.read_text(encoding="utf-8"))
        assert document["entropy"] == found["entropy"]
        table = pd.DataFrame(document["posterior"])
    else:
        table = pd.read_parquet(output) if suffix == ".parquet" else pd.read_csv(output, dtype=str)
    names = ["Education", "Country", "Gender", "count", "P(<=50K)", "P(>50K)", "divergence"]
    expected = maxent.estimate(*D1, truth=TRUTH1[1]).posterior
    assert table.columns.tolist() == names
    for name in names:
        kind = type(expected[name].tolist()[0])  # what was read as text stands for the same number to the last digit
        assert [kind(value) for value in table[name]] == expected[name].tolist()


def test_a_result_can_save_itself(tmp_path):
    result = maxent.estimate(*D1)
    result.save(tmp_path / "out.json")
    assert "posterior" in json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    refused(r"ends in \.csv or \.parquet or \.json, found", result.save, tmp_path / "out.txt")


GROWN = [TRUTH1[1], "--target", "Salary", "--qi", "Education,Country,Gender"]
WRITING = {
    "a table": ["estimate", *D1, "-o", "out.csv"],
    "a release": ["defend", "none", *GROWN, "-o", "out.json"],
    "records": ["defend", "erp", *GROWN, "--k", "2", "--publish", "records", "-o", "out.csv"],
}


@pytest.mark.parametrize("call", WRITING.values(), ids=WRITING)
def test_a_failing_write_leaves_the_old_file_and_no_other(capsys, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    Path(call[-1]).write_text("old", encoding="utf-8")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    printed = printed_by(capsys, [*call, "--force"], 2)
    assert printed.out == ""
    assert "expected a file that can be written, found No space left on device" in printed.err
    assert os.listdir(tmp_path) == [call[-1]]
    assert Path(call[-1]).read_text(encoding="utf-8") == "old"


def test_values_stay_the_text_they_are(capsys, tmp_path):
    tree = release(tmp_path, stump(("010", "10"), label="yes", error_rate=0.25))
    (tmp_path / "qi.csv").write_text("V\n" + "010\n" * 4 + "10\n", encoding="utf-8")
    output = tmp_path / "out.csv"
    assert main(["estimate", tree, str(tmp_path / "qi.csv"), "-o", str(output)]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["010", "4", "0.250", "0.750"]
    assert pd.read_csv(output, dtype=str)["V"].tolist() == ["010", "10"]


def test_a_count_column_makes_a_row_stand_for_several_people(capsys, tmp_path):
    tree = release(tmp_path, stump(label="yes", error_rate=0.25))
    (tmp_path / "qi.csv").write_text("V,people\na,4\nb,3\n", encoding="utf-8")
    (tmp_path / "truth.csv").write_text("V,T,people\na,yes,3\na,no,1\nb,no,3\n", encoding="utf-8")
    call = ["estimate", tree, str(tmp_path / "qi.csv"), "--truth", str(tmp_path / "truth.csv"), "--count", "people"]
    found = summary(capsys, *call)
    assert (found["individuals"], found["distinct_qi"]) == (7, 2)
    assert found["divergence"]["max"] == pytest.approx(0.693147, abs=1e-6)
    assert found["divergence"]["overall"] == pytest.approx(0.693147 * 3 / 7, abs=1e-6)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
def test_an_attribute_may_be_called_count(capsys, tmp_path, suffix):
    tree = release(tmp_path, stump(name="count"))
    (tmp_path / "qi.csv").write_text("count\na\na\nb\n", encoding="utf-8")
    output = tmp_path / f"out{suffix}"
    assert main(["estimate", tree, str(tmp_path / "qi.csv"), "-o", str(output)]) == 0
    read = {".csv": pd.read_csv, ".parquet": pd.read_parquet}
    table = read[suffix](output) if suffix in read else pd.DataFrame(json.loads(output.read_text())["posterior"])
    assert table["count"].tolist() == ["a", "b"]
    assert table["maxent_count"].tolist() == [2, 1]


def test_an_infinite_divergence_is_never_hidden(capsys, tmp_path):
    truth = Path(TRUTH1[1]).read_text(encoding="utf-8").replace("Canada,Male,<=50K", "Canada,Male,>50K", 1)
    (tmp_path / "truth.csv").write_text(truth, encoding="utf-8")
    output = tmp_path / "out.csv"
    call = ["estimate", *D1, "--truth", str(tmp_path / "truth.csv")]
    found = summary(capsys, *call, "-o", str(output))["divergence"]
    assert (found["overall"], found["max"], found["infinite"]) == (None, None, 1)
    assert found["top"][0] == {
        "qi": {"Education": "Masters", "Country": "Canada", "Gender": "Male"},
        "divergence": None,
    }
    assert output.read_text(encoding="utf-8").count(",inf\n") == 1
    text = printed_by(capsys, call).out
    assert "overall divergence from the truth inf: the estimate rules out what is true of 1 quasi-identifier\n" in text
    assert re.search(r"^Masters +Canada +Male +2 +1\.000 +0\.000 +inf$", text, re.MULTILINE)


@pytest.fixture
def contradictory(tmp_path):
    """A release that says three people reach a leaf that two of the table reach."""
    document = json.loads(Path(D1[0]).read_text(encoding="utf-8"))
    next(node for node in document["trees"][0]["nodes"] if node["id"] == "L1")["n"] = 3
    return [release(tmp_path, document), D1[1]]


def test_a_contradiction_is_answered_but_not_to_be_relied_on(capsys, tmp_path, contradictory):
    output = tmp_path / "out.csv"
    printed = printed_by(capsys, ["estimate", *contradictory, "-o", str(output)], 1)
    assert printed.err.startswith("maxent: not to be relied on: ")
    assert printed.err.count("\n") == 1
    assert "leaf L1: 3 records, but 2 individuals of the table reach it" in printed.out
    assert len(pd.read_csv(output)) == 7
    found = summary(capsys, "estimate", *contradictory, status=1)
    assert (found["status"], found["certificate"]) == ("inconsistent", "none")
    assert found["contradictions"][0]["origin"] == "leaf L1"


def test_many_rows_are_cut_to_the_surest(capsys, tmp_path):
    ages = range(30)
    document = stump()
    document["attributes"] = [{"name": "Age", "type": "numeric"}]
    root, first, _ = document["trees"][0]["nodes"]
    root.update(attribute="Age", branches=[{"gt": 24.5, "child": "A"}, {"le": 24.5, "child": "B"}])
    first["counts"] = {"no": 0, "yes": 5}
    (tmp_path / "qi.csv").write_text("Age\n" + "".join(f"{age}\n" for age in ages), encoding="utf-8")
    (tmp_path / "truth.csv").write_text("Age,T\n" + "".join(f"{age},yes\n" for age in ages), encoding="utf-8")
    call = ["estimate", release(tmp_path, document), str(tmp_path / "qi.csv"), "--truth", str(tmp_path / "truth.csv")]
    lines = printed_by(capsys, [*call, "--top", "3"]).out.splitlines()
    assert [line.split()[:4] for line in lines[1:6]] == [[str(age), "1", "0.000", "1.000"] for age in range(25, 30)]
    assert lines[21].startswith("... the 20 surest of 30 quasi-identifiers")
    assert [line for line in lines if line.startswith("  0.6931  Age=")] == [f"  0.6931  Age={i}" for i in range(3)]
    assert len(summary(capsys, *call, "--top", "1")["divergence"]["top"]) == 1


def test_nothing_is_cut_where_the_output_is_no_terminal(capsys, tmp_path):
    long, markup = "x" * 300, "[red]b[/red]"
    tree = release(tmp_path, stump((long, markup)))
    (tmp_path / "qi.csv").write_text(f"V\n{long}\n{markup}\n", encoding="utf-8")
    lines = printed_by(capsys, ["estimate", tree, str(tmp_path / "qi.csv")]).out.splitlines()
    assert lines[1].startswith(long)
    assert lines[2].startswith(markup)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_goes_to_the_terminal_alone(capsys, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert summary(capsys, "estimate", *D1)["status"] == "optimal"
    assert "reading and compiling" in terminal.getvalue()


def test_a_terminal_gets_a_table_that_fits(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    assert main(["estimate", *D1]) == 0
    plain = re.sub(r"\x1b\[[0-9;]*m", "", terminal.getvalue())
    assert plain != terminal.getvalue()
    table = plain.split("\n\n")[0].splitlines()
    assert len(table) >= 8
    assert max(map(len, table)) <= 60


def test_json_is_all_that_a_process_prints():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "FORCE_COLOR": "1"}
    ran = subprocess.run(
        [sys.executable, "-m", "maxent", "estimate", *D1, "--json"], capture_output=True, env=environment, timeout=120
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert json.loads(ran.stdout)["individuals"] == 11


def test_the_version(capsys):
    assert printed_by(capsys, ["--version"]).out == f"maxent {maxent.__version__}\n"
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"maxent {maxent.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], ["typer", "rich", "numpy"]),
        (["estimate", "--help"], ["numpy", "pandas", "pyomo", "rich"]),
        (["defend", "--help"], ["numpy", "sklearn", "rich"]),
        *(
            (["defend", method, "--help"], ["numpy", "rich", "hashlib", "importlib.metadata", "maxent.models.release"])
            for method in OWN
        ),
        (
            ["estimate", *D1, "--json", "--rounding", "auto", "--jobs", "1", "--tolerance", "0.00000001"],
            [
                *("pyomo", "cyipopt", "scipy.optimize", "scipy.special", "scipy.linalg", "pandas", "pyarrow.compute"),
                *("pydantic", "sklearn", "matplotlib", "rich"),
                *(
                    "maxent.commands.defend",
                    "maxent.constraints.records",
                    "maxent.plotting",
                    "maxent.api.audit",
                    "maxent.models.defenses.optimal",
                    "maxent.models.defenses.random_trees",
                    "maxent.models.formats.registry",
                ),
                *("maxent.attacks.wp216", "maxent.disclosure.truth", "maxent.solvers.certainty"),
                *("maxent.models.tables.excel_files", "maxent.models.tables.parquet_files"),
                *(
                    "maxent.solvers.newton",
                    "maxent.solvers.gap.interior_point",
                    "maxent.solvers.backends.ipopt_",
                    "maxent.solvers.solve.dask_cluster",
                ),
                *("maxent.solvers.conic", "maxent.solvers.dual.matrix_scaling", "maxent.solvers.dual.overlapping"),
            ],
        ),
    ],
    ids=["help", "help of a command", "help of all methods", *OWN, "a small estimate"],
)
def test_nothing_is_imported_in_vain(arguments, heavy):
    code = f"""
import sys
from maxent.__main__ import main
status = main({arguments!r})
print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
sys.exit(status)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "[]\n")
    assert ran.stdout


@pytest.mark.parametrize("given", [None, "26"])
def test_threads_of_linear_algebra_do_not_wait_in_a_loop_unless_the_user_says_so(monkeypatch, given):
    looks = []

    def end(status):
        raise SystemExit(status)

    name = "OPENBLAS_THREAD_TIMEOUT"
    monkeypatch.setenv(name, given or "")
    if given is None:
        monkeypatch.delenv(name)
    monkeypatch.setattr("maxent.__main__.main", lambda: 0)
    monkeypatch.setattr("sys.meta_path", [*sys.meta_path])
    monkeypatch.setattr("gc.set_threshold", lambda *least: looks.append(least))
    monkeypatch.setattr("maxent.solvers.control.end_process", end)
    with pytest.raises(SystemExit):
        command()
    assert os.environ[name] == (given or "20")
    assert looks == [COLLECTED]  # libraries load faster


def test_json_knows_no_infinity():
    text = as_json_text({"a": [float("inf"), float("nan"), 1.5], "b": {"c": -float("inf")}})
    assert json.loads(text) == {"a": [None, None, 1.5], "b": {"c": None}}


def test_text_is_made_printable():
    assert printable("naïve\t\x1b[0m") == "naïve\\t\\x1b[0m"


def test_dashes_alone_are_no_command(capsys):
    assert "COMMAND: expected one of estimate, bounds, " in printed_by(capsys, ["--"], 2).err


posix = pytest.mark.skipif(os.name != "posix", reason="streams are closed as POSIX has it")

ESTIMATE = ["estimate", str(STREAMS_D1 / "tree.json"), str(STREAMS_D1 / "qi.csv")]
FULL = Path("/dev/full")
full = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full, a file that cannot be written")


def shell(line, *arguments, cwd=None):
    """Run maxent by a line of the shell, where ``"$@"`` stands for it: its own exit status, and what arrives."""
    command = ["bash", "-c", f"set -o pipefail; {line}", "bash", sys.executable, "-m", "maxent", *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=180, cwd=cwd)
    assert "Traceback" not in ran.stdout + ran.stderr
    assert "Exception ignored" not in ran.stderr
    return ran


COMMANDS = {
    "help": ["--help"],
    "help of a command": ["estimate", "--help"],
    "estimate": ESTIMATE,
    "json": [*ESTIMATE, "--json"],
}


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.regression(number=15)
@posix
def test_a_closed_standard_output_is_told_before_any_work(arguments):
    ran = shell('"$@" >&-', *arguments)
    told = "maxent: cannot write: standard output is closed (for none, send it to /dev/null)\n"
    assert (ran.returncode, ran.stderr) == (2, told)


@posix
def test_a_closed_standard_output_leaves_no_file(tmp_path):
    assert shell('"$@" >&-', *ESTIMATE, "-o", tmp_path / "out.csv").returncode == 2
    assert os.listdir(tmp_path) == []


@posix
def test_a_closed_standard_error_loses_messages_only(tmp_path):
    ran = shell('"$@" 2>&-', *ESTIMATE, "-o", tmp_path / "out.csv")
    assert ran.returncode == 0
    assert "the salary of 5 is certain" in ran.stdout
    assert len(pd.read_csv(tmp_path / "out.csv")) == 7
    ran = shell('"$@" 2>&-', "estimate", "none.json", "none.csv")
    assert (ran.returncode, ran.stdout) == (2, "")


@pytest.mark.slow
@posix
def test_all_streams_closed(tmp_path):
    ran = shell('"$@" <&- >&- 2>&-', *ESTIMATE, "-o", tmp_path / "out.csv")
    assert (ran.returncode, os.listdir(tmp_path)) == (2, [])
    ran = shell('"$@" <&-', *ESTIMATE, "-o", tmp_path / "out.csv")
    assert (ran.returncode, os.listdir(tmp_path)) == (0, ["out.csv"])


@pytest.mark.slow
@posix
def test_no_file_becomes_a_standard_stream(tmp_path):
    """What is opened next would have the number of a stream that is closed, and get what is printed there."""
    code = "import os, sys; from maxent.__main__ import main; main(sys.argv[1:]); os.write(2, b'noise')"
    command = [
        "bash",
        "-c",
        '"$@" <&- 2>&-',
        "bash",
        sys.executable,
        "-c",
        code,
        *ESTIMATE,
        "-o",
        str(tmp_path / "o.json"),
    ]
    assert subprocess.run(command, capture_output=True, text=True, timeout=180).returncode == 0
    assert json.loads((tmp_path / "o.json").read_text())["individuals"] == 11


@full
@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
@posix
def test_a_full_standard_output(arguments):
    ran = shell('"$@" >/dev/full', *arguments)
    assert (ran.returncode, ran.stderr) == (2, "maxent: cannot write: No space left on device\n")


@full
@posix
def test_files_are_whole_where_standard_output_is_full(tmp_path):
    outputs = ["-o", tmp_path / "out.csv", "--report", tmp_path / "out.html"]
    assert shell('"$@" >/dev/full', *ESTIMATE, *outputs).returncode == 2
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "out.html"]
    assert len(pd.read_csv(tmp_path / "out.csv")) == 7
    assert (tmp_path / "out.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


@pytest.mark.slow
@full
@posix
def test_a_full_standard_error_loses_messages_only():
    ran = shell('"$@" 2>/dev/full', *ESTIMATE)
    assert ran.returncode == 0
    assert "the salary of 5 is certain" in ran.stdout
    assert shell('"$@" 2>/dev/full', "estimate", "none.json", "none.csv").returncode == 2
    assert shell('"$@" 2>/dev/full', "estimate", "--jsno").returncode == 2
    assert shell('"$@" >/dev/full 2>/dev/full', *ESTIMATE).returncode == 2


@pytest.mark.parametrize("arguments", [["--help"], ["explain", *ESTIMATE[1:]], [*ESTIMATE, "--json"]], ids=str)
@posix
def test_a_reader_that_goes(arguments):
    """As of all programs in a pipe: 128 and the number of SIGPIPE."""
    ran = shell('"$@" | true', *arguments)
    assert (ran.returncode, ran.stdout, ran.stderr) == (141, "", "")


@posix
def test_files_are_whole_where_the_reader_goes(tmp_path):
    outputs = ["-o", tmp_path / "out.csv", "--report", tmp_path / "out.html"]
    assert shell('"$@" | true', *ESTIMATE, *outputs).returncode == 141
    assert sorted(os.listdir(tmp_path)) == ["out.csv", "out.html"]
    assert len(pd.read_csv(tmp_path / "out.csv")) == 7


@posix
def test_readers_of_messages_that_go():
    assert shell('"$@" 2>&1 >/dev/null | true', "estimate", "none.json", "none.csv").returncode == 2


# --- Disks that are full ---------------------------------------------------------------------------------------


def limited(size):
    """Let files have so many bytes at most: what a full disk does to those who write them."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".json", ".parquet"])
@pytest.mark.parametrize("old", [None, "old"])
@posix
def test_a_file_that_does_not_fit_leaves_the_old_one(tmp_path, suffix, old):
    path = tmp_path / f"out{suffix}"
    if old:
        path.write_text(old)
    command = [sys.executable, "-m", "maxent", *ESTIMATE, "-o", str(path), "--force"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=180, preexec_fn=limited(100))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"out{suffix}: file: path: expected a file that can be written, found" in ran.stderr
    assert "File too large" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert [name.read_text() for name in tmp_path.iterdir()] == ([old] if old else [])


@posix
def test_a_release_that_does_not_fit_leaves_the_old_one(tmp_path):
    shutil.copy(STREAMS_D1 / "truth.csv", tmp_path)
    (tmp_path / "tree.json").write_text("old")
    call = ["defend", "none", "truth.csv", "--target", "Salary", "--qi", "Education", "-o", "tree.json", "--force"]
    command = [sys.executable, "-m", "maxent", *call]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=180, preexec_fn=limited(100))
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "File too large" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert sorted(os.listdir(tmp_path)) == ["tree.json", "truth.csv"]
    assert (tmp_path / "tree.json").read_text() == "old"


@pytest.mark.slow
@posix
def test_a_sweep_that_does_not_fit_keeps_the_rows_that_did(tmp_path):
    people(tmp_path)
    study = write_study(tmp_path, STUDY + "max_depth = [1, 2]\n")
    command = [sys.executable, "-m", "maxent", "sweep", str(study), "-o", str(tmp_path / "out")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=180, preexec_fn=limited(2000))
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert not list((tmp_path / "out").rglob("*.tmp"))
    assert not list((tmp_path / "out" / "parts").iterdir())
    again = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert (again.returncode, again.stderr) == (0, "")


TABLE_REFUSED = """
import sys
from maxent.__main__ import command

class Held:
    def __del__(self):
        print("taken down")

held = Held()
sys.argv = ["maxent", "defend", "none", "gaps.csv", "--target", "T", "--qi", "A", "-o", "out.json"]
command()
"""


@posix
def test_the_command_does_not_take_python_down_around_the_threads_that_read_tables(tmp_path):
    (tmp_path / "gaps.csv").write_text("A,T\n,no\ny,no\n", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", TABLE_REFUSED], capture_output=True, text=True, timeout=180, cwd=tmp_path
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "expected no missing values" in ran.stderr


EXAMPLE = Path(__file__).parents[2] / "examples" / "d1"

LIMITED = """
import resource, sys
limit = int(sys.argv.pop(1)) * 10**6
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
from maxent.__main__ import command
command()
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no limit of memory")
@pytest.mark.parametrize(("threads", "needed"), [("1", 550), ("2", 600), ("64", 3700)])
def test_no_room_for_scipy_is_said(threads: str, needed: int) -> None:
    call = ["estimate", str(EXAMPLE / "tree.json"), str(EXAMPLE / "qi.csv")]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "420", *call],
        env={**os.environ, "OPENBLAS_NUM_THREADS": threads}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert f"memory: expected {needed} MB more for SciPy with {threads} threads" in done.stderr
    assert len(done.stderr.splitlines()) == 1


SHORT = """
import sys
import numpy as np
from maxent.command_line.room import BeforeSciPy

names, listed = np.__dir__(), list(np.__all__)
sys.meta_path.insert(0, BeforeSciPy())
import scipy.optimize, scipy.stats
copy = next(module for name, module in sys.modules.items() if name.endswith("array_api_compat.numpy"))

print([name for name in ("numpy.f2py", "numpy.testing") if name in sys.modules], file=sys.stderr)
there = {name for name in listed if hasattr(copy, name)}
print(sorted(name for name in set(listed) - there if callable(getattr(np, name))), file=sys.stderr)
print(sorted(np.__dir__()) == sorted(names), np.__all__ == listed, hasattr(np, "testing"), file=sys.stderr)
"""


def test_scipy_loads_no_modules_for_tests_and_numpy_still_has_them() -> None:
    done = subprocess.run([sys.executable, "-c", SHORT], capture_output=True, text=True, timeout=60)
    assert done.stderr.splitlines() == ["[]", "[]", "True True True"]
