"""Which files a command replaces: those that it wrote before, and with ``--force`` any; nothing is computed before."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from maxent.__main__ import main
from maxent.commands.main import COMMANDS, made

EXAMPLES = Path(__file__).parents[2] / "examples" / "d1"
COLUMNS = "--target Salary --qi Education,Country,Gender"
FOREIGN = "a,b\n1,2\n"

# Calls, and the suffixes of each of their outputs whose kind a file tells.
CALLS = {
    "estimate tree.json qi.csv": {"-o": ("csv", "json", "parquet", "svg", "png", "pdf"), "--report": ("html",)},
    "bounds tree.json qi.csv --level closed": {"-o": ("csv", "json", "parquet")},
    "bounds tree.json qi.csv": {"--witness": ("csv", "json")},
    "audit tree.json qi.csv": {"-o": ("csv", "json"), "--as-table": ("csv", "json", "parquet")},
    "audit tree.json": {"-o": ("csv",)},
    f"review tree.json truth.csv {COLUMNS}": {
        "-o": ("csv", "json"),
        "--record": ("json",),
        "--report": ("html",),
        "--dossier": ("html",),
        "--dossier-public": ("html",),
    },
    "check tree.json qi.csv --policy policy.toml": {
        "-o": ("csv", "json"),
        "--record": ("json",),
        "--report": ("html",),
        "--dossier": ("html",),
        "--dossier-public": ("html",),
    },
    "compare tree.json tree.json qi.csv": {"-o": ("csv",), "--report": ("html",)},
    "compare --diff tree.json tree.json qi.csv qi.csv": {"-o": ("csv", "json")},
    "bench tree.json qi.csv --backends newton --repeat 1": {"-o": ("json",), "--plot": ("svg",)},
    "explain tree.json qi.csv": {"-o": ("csv", "json"), "--pyomo": ("py",), "--nl": ("nl",)},
    "reconstruct tree.json qi.csv": {
        "-o": ("parquet",),
        "--proved": ("json",),
        "--probabilities": ("parquet",),
    },
    "predict tree.json qi.csv": {"-o": ("csv", "json", "parquet")},
    "export tree.json": {"-o": ("sql", "pmml", "txt", "csv", "dot", "svg")},
    "convert model.txt --train truth.csv --target Salary": {"-o": ("json",)},
    f"defend none truth.csv {COLUMNS}": {"-o": ("json",)},
    f"defend erp truth.csv {COLUMNS} --k 2 --publish records": {"-o": ("parquet",)},
    f"advise truth.csv {COLUMNS} --min-k 2 --folds 2 --methods erp": {
        "-o": ("json",),
        "--table": ("csv",),
        "--report": ("html",),
    },
    "card record.json": {"-o": ("md",)},
}

# Outputs whose header rows are those of any table of people.
OF_PEOPLE = {
    "reconstruct tree.json qi.csv -o": "csv",
    "reconstruct tree.json qi.csv --proved": "csv",
    "reconstruct tree.json qi.csv --probabilities": "csv",
    f"defend erp truth.csv {COLUMNS} --k 2 --publish records -o": "csv",
    "fetch adult -o": "csv",
}

CASES = [(call, option, suffix) for call, told in CALLS.items() for option, each in told.items() for suffix in each]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with the files of an example, where calls are made."""
    for file in EXAMPLES.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "policy.toml").write_text("[limits]\nmax_certain = 11\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(call, *more):
    """The exit status of a call; what it ends with is no matter here, but for a refusal."""
    return main([*call.split(), *more])


def test_every_option_that_names_a_file_to_write_is_in_the_table_here():
    told = {call.split()[0]: set() for call in CALLS} | {name: {"-o"} for name in ("fetch", "strip", "sweep")}
    told["serve"] = {"--shortcut"}
    for call, options in CALLS.items():
        told[call.split()[0]] |= {*options}
    for name in COMMANDS:
        command = made(name)
        if name == "defend":
            command = command.get_command(command.context_class(command), "none")
        context = command.context_class(command, info_name=name)
        params = {param.opts[0]: param for param in command.get_params(context)}
        outputs = {
            option
            for option, param in params.items()
            if getattr(param, "rich_help_panel", None) == "Output" and param.metavar in {"FILE", "FOLDER"}
        }
        assert outputs == told.get(name, set()) == {option for option in command.kinds if option in params}
        assert ("--force" in params) == bool(outputs)


@pytest.mark.parametrize(("call", "option", "suffix"), CASES, ids=lambda value: value.split(" --")[0])
def test_foreign_files_are_kept_and_own_ones_replaced(here, capsys, call, option, suffix):
    if suffix in {"svg", "png", "pdf"} and "export" not in call:
        pytest.importorskip("matplotlib")
    if call.startswith("card"):
        assert called("check tree.json qi.csv --policy policy.toml --record record.json") in {0, 3, 4}
    file = here / f"out.{suffix}"
    file.write_text("{}" if suffix == "json" else FOREIGN, encoding="utf-8")
    before = file.read_bytes()
    capsys.readouterr()
    assert called(call, option, file.name) == 2
    told = capsys.readouterr()
    assert f"{option}: expected a new file, one that the same command wrote before, or --force, found" in told.err
    assert told.out == ""
    assert file.read_bytes() == before
    assert called(call, option, file.name, "--force") != 2
    assert "maxent: replaced: out." in capsys.readouterr().err
    written = file.read_bytes()
    assert written != before
    assert called(call, option, file.name) != 2
    if option != "--record":  # one that says the same is left alone
        assert "maxent: replaced: out." in capsys.readouterr().err


@pytest.mark.parametrize("call", OF_PEOPLE)
def test_tables_with_the_header_of_any_table_of_people_are_kept(here, capsys, call):
    shutil.copy("truth.csv", "colleague.csv")
    assert called(call, "colleague.csv") == 2
    assert "one that the same command wrote before, or --force" in capsys.readouterr().err
    assert Path("colleague.csv").read_bytes() == Path("truth.csv").read_bytes()


def test_a_file_of_another_command_is_foreign(here, capsys):
    assert called("estimate tree.json qi.csv -o out.json") == 0
    assert called("bounds tree.json qi.csv --level closed -o out.json") == 2
    assert "which has the format 'maxent-estimate/1'" in capsys.readouterr().err


def test_inputs_and_devices_are_refused_with_force_too(here, capsys):
    assert called("estimate tree.json qi.csv -o qi.csv --force") == 2
    assert "which is an input too" in capsys.readouterr().err
    assert called("bounds tree.json qi.csv -o one.csv --witness one.csv --force") == 2
    assert "which is the file of -o too" in capsys.readouterr().err
    if os.path.exists("/dev/null"):
        assert called("card tree.json -o /dev/null --force") == 2
        assert "a file name that ends in" in capsys.readouterr().err


CHECK = "check tree.json qi.csv --policy policy.toml --record record.json"


def decide(**more):
    """Write a decision into the record."""
    record = json.loads(Path("record.json").read_text(encoding="utf-8"))
    record["decision"] |= {"decided_by": "A. Person", "decision": "released"}
    text = json.dumps(record | more)
    Path("record.json").write_text(text, encoding="utf-8")
    return text


def test_a_blank_record_is_replaced_and_one_with_a_decision_kept(here, capsys):
    assert called(CHECK) == 0
    Path("policy.toml").write_text("[limits]\nmax_certain = 10\n", encoding="utf-8")
    assert called(CHECK) == 0
    assert "maxent: replaced: record.json" in capsys.readouterr().err
    text = decide()
    assert called(CHECK) == 0  # goes on to judge
    said = capsys.readouterr()
    assert "record.json is left as it is: it has a decision" in said.err
    assert said.out
    Path("policy.toml").write_text("[limits]\nmax_certain = 0\n", encoding="utf-8")
    assert called(CHECK) == 2
    said = capsys.readouterr()
    assert "which is a record with a decision" in said.err
    assert said.out == ""
    assert Path("record.json").read_text(encoding="utf-8") == text
    assert called(CHECK, "--force") == 3
    assert "A. Person" not in Path("record.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("change", ["release", "option", "version"])
def test_a_decision_is_about_the_files_options_and_version_of_its_record(here, capsys, change):
    assert called(CHECK) == 0
    if change == "version":
        versions = json.loads(Path("record.json").read_text(encoding="utf-8"))["versions"]
        decide(versions=versions | {"maxent": "0"})
    else:
        decide()
    if change == "release":
        tree = Path("tree.json")
        tree.write_text(tree.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    more = ["--sensitive", ">50K"] if change == "option" else []
    capsys.readouterr()
    assert called(CHECK, *more) == 2
    assert "which is a record with a decision" in capsys.readouterr().err


def test_a_study_does_not_replace_the_results_of_others(here, capsys):
    pytest.importorskip("pyarrow")
    study = '[study]\nname = "s"\n[data.d]\nfile = "truth.csv"\ntarget = "Salary"\n[protocol]\nfolds = 2\n'
    Path("study.toml").write_text(study + '[[grid]]\nmethod = "none"\n', encoding="utf-8")
    Path("results").mkdir()
    Path("results", "results.parquet").write_text("mine", encoding="utf-8")
    assert called("sweep study.toml -o results") == 2
    assert "a folder of a study" in capsys.readouterr().err
    assert Path("results", "results.parquet").read_text(encoding="utf-8") == "mine"
    for more in (["--force"], []):  # and then it goes on as before
        assert called("sweep study.toml -o results", *more) == 0
    assert "maxent: replaced:" in capsys.readouterr().err


def test_of_two_processes_one_has_a_new_folder(here):
    """Both begin at once; the folder has the result of one, whole."""
    call = [sys.executable, "-m", "maxent", "estimate", "tree.json", "qi.csv", "-o", "new/"]
    runs = [subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [run.communicate()[1] for run in runs]
    assert sorted(run.returncode for run in runs) == [0, 2], said
    loser = next(text for run, text in zip(runs, said, strict=True) if run.returncode == 2)
    assert "new" in loser
    assert [path.name for path in Path("new").iterdir()] == ["part-00000.parquet"]
