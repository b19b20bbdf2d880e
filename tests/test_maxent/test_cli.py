"""The command line on right input: numbers of the paper, forms of output, exit status, files."""

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from support.documents import release_document
from support.paths import ROOT

import maxent
from maxent.__main__ import COLLECTED, command, main
from maxent.commands import main as cli
from maxent.models.errors import printable
from maxent.models.files.json_files import as_json_text

D1 = [str(ROOT / "examples/d1" / name) for name in ("tree.json", "qi.csv")]
D2 = [str(ROOT / "examples/d2" / name) for name in ("tree.json", "qi.csv")]
TRUTH1 = ["--truth", str(ROOT / "examples/d1/truth.csv")]
TRUTH2 = ["--truth", str(ROOT / "examples/d2/truth.csv")]


def summary(capsys, *arguments, status=0):
    """The JSON object that a command prints, and nothing else."""
    assert main([*arguments, "--json"]) == status
    printed = capsys.readouterr()
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
    assert found["entropy"] == pytest.approx(0.369429, abs=1e-6)
    assert found["disclosure"]["certain"] == 5
    assert found["disclosure"]["max_posterior"] == 1.0
    assert found["disclosure"]["bayes_vulnerability"] == pytest.approx(0.755093, abs=1e-6)
    assert found["divergence"]["overall"] == pytest.approx(0.077484, abs=1e-6)
    assert found["divergence"]["max"] == pytest.approx(0.426164, abs=1e-6)
    first = found["divergence"]["top"][0]
    assert set(first) == {"qi", "divergence"}
    assert set(first["qi"]) == {"Education", "Country", "Gender"}
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
    assert main(["estimate", *D1, *TRUTH1]) == 0
    printed = capsys.readouterr()
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
    with pytest.raises(maxent.InvalidInput, match=r"ends in \.csv or \.parquet or \.json, found"):
        result.save(tmp_path / "out.txt")


def test_a_failing_write_leaves_the_old_file_and_no_other(capsys, tmp_path, monkeypatch):
    output = tmp_path / "out.csv"
    output.write_text("old", encoding="utf-8")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    assert main(["estimate", *D1, "-o", str(output), "--force"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "No space left on device" in printed.err
    assert os.listdir(tmp_path) == ["out.csv"]
    assert output.read_text(encoding="utf-8") == "old"


def test_values_stay_the_text_they_are(capsys, tmp_path):
    tree = release(tmp_path, stump(("010", "10"), label="yes", error_rate=0.25))
    (tmp_path / "qi.csv").write_text("V\n" + "010\n" * 4 + "10\n", encoding="utf-8")
    output = tmp_path / "out.csv"
    assert main(["estimate", tree, str(tmp_path / "qi.csv"), "-o", str(output)]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["010", "4", "0.250", "0.750"]
    table = pd.read_csv(output, dtype=str)
    assert table["V"].tolist() == ["010", "10"]


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
    assert main(call) == 0
    text = capsys.readouterr().out
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
    assert main(["estimate", *contradictory, "-o", str(output)]) == 1
    printed = capsys.readouterr()
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
    assert main([*call, "--top", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines[1:6]] == [[str(age), "1", "0.000", "1.000"] for age in range(25, 30)]
    assert lines[21].startswith("... the 20 surest of 30 quasi-identifiers")
    assert [line for line in lines if line.startswith("  0.6931  Age=")] == [f"  0.6931  Age={i}" for i in range(3)]
    assert len(summary(capsys, *call, "--top", "1")["divergence"]["top"]) == 1


def test_nothing_is_cut_where_the_output_is_no_terminal(capsys, tmp_path):
    long, markup = "x" * 300, "[red]b[/red]"
    tree = release(tmp_path, stump((long, markup)))
    (tmp_path / "qi.csv").write_text(f"V\n{long}\n{markup}\n", encoding="utf-8")
    assert main(["estimate", tree, str(tmp_path / "qi.csv")]) == 0
    lines = capsys.readouterr().out.splitlines()
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


def test_an_interrupt_is_one_line(capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("maxent.api.estimate.estimate_case", interrupted)
    assert main(["estimate", *D1]) == 130
    assert capsys.readouterr() == ("", "maxent: interrupted\n")


def test_running_out_of_memory_is_said(capsys, monkeypatch):
    def too_large(*_, **__):
        raise MemoryError

    monkeypatch.setattr("maxent.api.estimate.estimate_case", too_large)
    assert main(["estimate", *D1]) == 2
    assert capsys.readouterr() == ("", "maxent: the problem does not fit into memory\n")


@pytest.mark.parametrize("arguments", [["--help"], ["explain", *D1]])
def test_a_closed_pipe_is_quiet(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        ran = subprocess.run(
            [sys.executable, "-m", "maxent", *arguments], stdout=pipe, stderr=subprocess.PIPE, timeout=120
        )
    assert (ran.returncode, ran.stderr) == (141, b"")


def test_json_is_all_that_a_process_prints():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "FORCE_COLOR": "1"}
    ran = subprocess.run(
        [sys.executable, "-m", "maxent", "estimate", *D1, "--json"], capture_output=True, env=environment, timeout=120
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert json.loads(ran.stdout)["individuals"] == 11


def test_the_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"maxent {maxent.__version__}\n"
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"maxent {maxent.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--help"], ["typer", "rich", "numpy"]),
        (["estimate", "--help"], ["numpy", "pandas", "pyomo", "rich"]),
        (
            ["estimate", *D1, "--json", "--rounding", "auto", "--jobs", "1", "--tolerance", "0.00000001"],
            [
                *("pyomo", "cyipopt", "scipy.optimize", "scipy.special", "pandas", "pyarrow.compute"),
                *("scipy.sparse.csgraph", "scipy.sparse.linalg", "pydantic"),
                *("sklearn", "matplotlib", "rich"),
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
    ids=["help", "help of a command", "a small estimate"],
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


def test_the_process_of_a_command_loads_nothing_that_scipy_only_names():
    arguments = [sys.executable, "-X", "importtime", "-m", "maxent", "estimate", *D1, "--json"]
    ran = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    loaded = {line.rsplit("|", 1)[-1].strip() for line in ran.stderr.splitlines()}
    assert ran.returncode == 0
    assert "scipy.sparse._csr" in loaded
    assert loaded.isdisjoint({"numpy.f2py.auxfuncs", "unittest", "numpy.testing._private.utils"})
    assert "importlib.metadata" not in loaded  # no entry points are asked for the default back end


def test_lazy_modules_are_whole_at_the_first_look():
    code = """
import sys
from maxent.command_line.lazy_modules import SELDOM, BeforeSciPy
sys.meta_path.insert(0, BeforeSciPy())
import numpy as np
import scipy.sparse
assert not any(isinstance(finder, BeforeSciPy) for finder in sys.meta_path)
lazy = [name for name in SELDOM if type(sys.modules[f"numpy.{name}"]).__name__ == "_LazyModule"]
assert lazy == [*SELDOM], lazy
from numpy.testing import assert_array_equal
import numpy.f2py
assert_array_equal([len(numpy.f2py.get_include()) > 0], [True])
assert np.polynomial.Polynomial([1, 2])(3) == 7
print("whole")
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "whole\n", "")


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
    assert main(["--"]) == 2
    assert "COMMAND: expected one of estimate, bounds, " in capsys.readouterr().err
