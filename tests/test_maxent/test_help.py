"""The help: panels, examples that run, the terminal's width, one meaning for each name of an option."""

import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

import pytest
from support.calls import printed_by
from support.paths import ROOT

import maxent
from maxent.__main__ import fitted, main
from maxent.command_line import panels
from maxent.command_line.parsing import is_rare
from maxent.commands import main as cli
from maxent.commands.defend import MissingName, _of_method
from maxent.commands.main import COMMANDS as COMPLETION_COMMANDS
from maxent.models.arguments import parameters_of
from maxent.models.defenses.registry import load_method, method_names
from maxent.models.defenses.registry import parameters as every_parameter
from maxent.models.tables.training import Missing

TITLE = re.compile(r"^(\w[\w ,]*):$", re.MULTILINE)
METHODS = [f"defend {name}" for name in method_names()]
COMMANDS = [*sorted(cli.COMMANDS.keys() - {"defend"}), *METHODS]  # Commands that have options of their own


def help_of(capsys, *command, flag="--help-all"):
    printed = printed_by(capsys, [*" ".join(command).split(), flag if command else "--help"])
    assert printed.err == ""
    return printed.out


def sections(text):
    """Title of a panel -> its lines."""
    parts = TITLE.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def options(text):
    return set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE))


def parameters(command):
    name, _, method = command.partition(" ")
    return [param for param in (_of_method(method) if method else cli.made(name)).params if not param.hidden]


def examples_of(command):
    """Calls that the help of a command ends with."""
    name, _, method = command.partition(" ")
    return load_method(method).examples if method else cli.module_of(name).EXAMPLES


def test_the_packaged_help_is_that_of_the_program(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "10000")
    for arguments in ([], ["-h"], ["--help"]):
        assert printed_by(capsys, arguments).out == cli.help_text()


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.regression(number=19)
def test_every_option_is_in_a_panel(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    found = sections(help_of(capsys, command))
    titles = (panels.REQUIRED, panels.FIRST, *panels.PANELS)
    assert set(found) <= {"Arguments", "Examples", *titles}
    shown = [title for title in found if title in titles]
    assert shown == [title for title in titles if title in found]
    for title in shown:
        assert options(found[title]), title
    first = options(found.get(panels.FIRST, ""))
    for param in parameters(command):
        if param.param_type_name == "option":
            assert param.rich_help_panel in panels.PANELS, param.name
            panel = panels.FIRST if first & {*param.opts} else param.rich_help_panel
            assert {*param.opts} & options(found[panels.REQUIRED if param.required else panel]), param.opts
    assert list(found)[-1] == "Examples"


@pytest.mark.parametrize("command", COMMANDS)
def test_options_that_people_need_stand_first_and_rare_ones_are_left_out(capsys, monkeypatch, command):
    """Required ones, then up to five that are used most; rare ones are only in the long help."""
    monkeypatch.setenv("COLUMNS", "80")
    text, every = help_of(capsys, command, flag="--help"), options(help_of(capsys, command))
    found, own = sections(text), parameters(command)
    required = [param for param in own if param.required and param.param_type_name == "option"]
    named = {*panels.USED_MOST.get(command.split()[0], ())} & every
    begin = [panels.REQUIRED] * bool(required) + [panels.FIRST] * bool(named)
    titles = [title for title in found if title not in ("Arguments", "Examples")]
    assert titles[: len(begin)] == begin
    assert not {panels.REQUIRED, panels.FIRST} & {*titles[len(begin) :]}
    assert len(options(found.get(panels.REQUIRED, ""))) == len(required)
    assert len(options(found.get(panels.FIRST, ""))) == min(len(named), panels.MOST)
    rare = {name for param in own if is_rare(param) for name in param.opts if name.startswith("--")}
    rare |= {"--force"} & every
    assert options(text) == every - rare
    assert (f"Show {len(rare)} more option{'s' if len(rare) > 1 else ''} that" in " ".join(text.split())) == bool(rare)
    assert not named & panels.RARE
    assert "--force" not in options(text)
    assert not re.search(r"\[\[|\]\]", text)


def test_few_options_are_shown_of_many(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for command, needed, line in (("review", "--target", 13), ("check", "--policy", 17)):
        text = help_of(capsys, command, flag="--help")
        assert len(options(text)) < 30 <= len(options(help_of(capsys, command)))
        [at] = [n for n, each in enumerate(text.splitlines(), 1) if each.startswith(f"  {needed} ")]
        assert at <= line


@pytest.mark.parametrize("command", [*COMMANDS, "defend"])
def test_a_help_cites_no_option_that_the_command_lacks(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "1000")
    text = help_of(capsys, command).partition("\nExamples:")[0]
    text = re.sub(r"'maxent [^']*'", "", text)  # of other commands
    cited = {*re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", text)}
    aliases = set() if command == "defend" else {name for param in parameters(command) for name in param.opts}
    assert cited - options(text) - aliases - {"--help-all"} == set()


def test_the_long_help_of_defend_is_there_without_a_method(capsys):
    text = help_of(capsys, "defend")
    assert {"--csv-literal", "--na", "--force"} <= options(text)
    assert "Methods:" in text
    assert not {"--csv-literal", "--na", "--force"} & options(help_of(capsys, "defend", flag="--help"))


def test_the_panels_of_an_estimate(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    found = sections(help_of(capsys, "estimate"))
    for title, some in {
        "What is known": {"--knowledge", "--facts", "--marginal", "--rounding"},
        "Used most": {"--truth", "--max-certain", "--min-k", "--report", "--output"},
        "How files are read": {"--count", "--target"},
        "How it is solved": {"--backend", "--tolerance", "--time-limit"},
        "Limits": {"--max-posterior", "--max-right-guesses", "--max-lift", "--enforce"},
        "Output": {"--json", "--plot"},
    }.items():
        assert some <= options(found[title]), title


@pytest.mark.parametrize("columns", [50, 80, 200])
@pytest.mark.parametrize(
    "command", [[], ["defend"], *([name] for name in COMMANDS)], ids=lambda command: " ".join(command) or "maxent"
)
@pytest.mark.regression(number=19)
def test_the_help_is_as_wide_as_the_terminal(capsys, monkeypatch, command, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = help_of(capsys, *command)
    lines = [line for line in text.partition("\nExamples:\n")[0].splitlines() if not line.startswith("Usage")]
    assert max(map(len, lines)) <= columns
    assert (max(map(len, lines)) > min(columns - 15, 90)) or command in ([], ["backends"])
    monkeypatch.setenv("COLUMNS", "1000")
    assert "".join(help_of(capsys, *command).split()) == "".join(text.split())  # nothing is cut


def test_the_usage_names_what_is_needed(capsys):
    usage = " ".join(help_of(capsys, "defend").partition("\n\n")[0].split())
    assert usage == "Usage: maxent defend METHOD DATA --target COLUMN --qi A,B,... -o FILE [OPTIONS]"
    usage = " ".join(help_of(capsys, "defend kadet").partition("\n\n")[0].split())
    assert usage == "Usage: maxent defend kadet DATA --target COLUMN --qi A,B,... -o FILE [OPTIONS]"
    assert help_of(capsys, "audit").startswith("Usage: maxent audit TREE... [QI] [OPTIONS]\n")
    assert help_of(capsys, "compare").startswith("Usage: maxent compare TREE... QI [OPTIONS]\n")


@pytest.mark.regression(number=19)
def test_every_command_has_two_examples_of_its_own():
    for name in (*COMMANDS, "defend"):
        examples = examples_of(name)
        assert len(examples) == len(set(examples)) == 2
        for example in examples:
            assert f"{example} ".startswith(f"maxent {name} ")


STUDY = """
[data.people]
file = "truth.csv"
target = "Salary"
[[grid]]
method = ["none", "prune-leaf"]
estimate = false
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files that examples name."""
    for name in ("tree.json", "qi.csv", "truth.csv", "model.txt"):
        shutil.copy(ROOT / "examples/d1" / name, tmp_path / name)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "policy.toml").write_text("[limits]\nmin_leaf = 2\n", encoding="utf-8")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/adult.csv").write_text("age,class\n39,<=50K\n", encoding="utf-8")
    monkeypatch.setenv("MAXENT_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    for example in examples_of("defend"):
        assert main(shlex.split(example)[1:]) == 0
    return tmp_path


LONG = {"advise", "bench", "sweep"}  # Commands whose examples take seconds


@pytest.mark.parametrize(
    "command", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in COMMANDS]
)
def test_the_examples_run(capsys, folder, command):
    if command in ("verify", "card"):
        assert main(shlex.split(examples_of("check")[0])[1:]) == 0
    capsys.readouterr()
    assert help_of(capsys, command).endswith(
        "\nExamples:\n" + "".join(f"  {example}\n" for example in examples_of(command))
    )
    for example in examples_of(command):
        words = shlex.split(example)[1:]
        if words == ["serve"]:  # it ends when somebody ends it: tests/test_serve
            continue
        assert main(words) == 0, capsys.readouterr().err
        assert capsys.readouterr().out
        for option in ("-o", "--report", "--record", "--pyomo", "--nl"):
            if option in words:
                assert (folder / words[words.index(option) + 1].format(k=2)).exists()


def test_a_method_has_its_own_options_and_no_others(capsys):
    for method in method_names():
        shown = options(help_of(capsys, f"defend {method}"))
        own = {f"--{name.replace('_', '-')}" for name in parameters_of(load_method(method))}
        every = {f"--{name.replace('_', '-')}" for name in every_parameter()}
        assert own <= shown
        assert not shown & (every - own)


def test_options_may_stand_before_the_method(capsys, folder):
    for call in (
        ["prune-leaf", "truth.csv", "--k", "2", "--target", "Salary", "--qi", "Education", "-o", "a.json"],
        ["--k", "2", "--target", "Salary", "prune-leaf", "truth.csv", "--qi", "Education", "-o", "b.json"],
        ["--json", "--class-public", "--qi=Education", "-o", "c.json", "kadet", "--target", "Salary", "truth.csv"],
    ):
        assert main(["defend", *call]) == 0
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()
    capsys.readouterr()
    printed = printed_by(capsys, ["defend", "--k", "x", "truth.csv"], 2).err
    assert "METHOD: expected one of none, prune-leaf" in printed
    assert "--k: expected a whole number, found 'x'" in printed


# --- One meaning for each name ---------------------------------------------------------------------------------


def kind(param):
    """What follows an option: nothing, or what its metavar says, a file and a folder both being places."""
    if param.is_flag:
        return "nothing"
    return {"FILE": "place", "FOLDER": "place"}.get(param.metavar, param.metavar or "a choice")


def meanings():
    """Name of an option -> (command, what follows, whether often, the panel, what its help begins with)."""
    found = {}
    for command in COMMANDS:
        for param in parameters(command):
            for name in param.opts if param.param_type_name == "option" else ():
                begin = re.split(r"[,.;:(]", param.help)[0]
                found.setdefault(name, []).append((command, kind(param), param.multiple, begin))
    return found


TWO_MEANINGS = {"--folder", "--from", "--min-k", "--table", "--time-limit"}
"""Options that scripts rely on with two: where reviews are kept, and paths of a record begin; the format of a file,
and what a defense starts from; the fewest people of a group, and of a leaf, for several releases; the name of an SQL
table, and a file of candidates; the time for one problem, and for all trials of a search."""


@pytest.mark.parametrize("name", sorted(name for name, uses in meanings().items() if len(uses) > 1))
@pytest.mark.regression(number=19)
def test_an_option_means_the_same_wherever_it_is(name):
    uses = meanings()[name]
    assert len({use[1:] for use in uses}) == 1 + (name in TWO_MEANINGS), uses


def test_the_help_of_an_option_begins_with_a_noun():
    said = {param.help for command in COMMANDS for param in parameters(command)}
    said |= {parameter.about.help for parameter in every_parameter().values()}
    questions = ("What ", "Which ", "Where ", "How ", "Of ", "Makes ")
    assert sorted(text for text in said if text and text.startswith(questions)) == []


def test_columns_are_named_by_qi_and_the_table_is_an_argument():
    """In all commands, those that are to come too: ``--qi A,B`` names columns, QI is a file."""
    for command in COMMANDS:
        for param in parameters(command):
            if "--qi" in param.opts:
                assert param.metavar == "A,B,..."
    for command in ("estimate", "audit", "compare", "explain", "bench"):
        assert any("QI" in (param.metavar or "") for param in parameters(command)), command


def test_compare_takes_the_table_last_and_as_it_did_before(capsys, folder):
    capsys.readouterr()
    printed = []
    for call in (
        ["before.json", "after.json", "qi.csv"],
        ["before.json", "after.json", "--qi", "qi.csv"],
        ["--qi", "qi.csv", "before.json", "after.json"],
    ):
        printed.append(re.sub(r"\d+\.\d+ s", "", printed_by(capsys, ["compare", *call]).out))
    assert printed[0].startswith("release") or "before" in printed[0]
    assert printed[1:] == printed[:1] * 2
    for call in (["qi.csv"], ["before.json", "after.json"], ["tree.json"]):
        printed_err = printed_by(capsys, ["compare", *call], 2).err
        assert "TREE... QI: expected the releases, and after them the adversary's table" in printed_err


def test_bench_draws_with_o_and_as_it_did_before(capsys, folder):
    pytest.importorskip("matplotlib")
    call = ["bench", "tree.json", "qi.csv", "--backends", "newton", "--repeat", "1"]
    assert main([*call, "-o", "a.svg"]) == 0
    assert main([*call, "-o", "a.csv", "--plot", "b.svg"]) == 0
    assert (folder / "a.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert (folder / "b.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert (folder / "a.csv").read_text(encoding="utf-8").startswith("backend")


def test_the_help_of_the_program_is_instant():
    """Its own code takes a few milliseconds; the rest is Python's start."""
    begin = time.process_time()
    text = (Path(maxent.__file__).parent / "help.txt").read_text(encoding="utf-8")
    assert len(fitted(text, 60).splitlines()) > len(text.splitlines())
    assert time.process_time() - begin < 1


def test_options_have_the_choices_of_the_functions_behind_them():
    assert tuple(choice.value for choice in MissingName) == get_args(Missing)


def test_defend_does_not_speak_of_published_records(capsys):
    for command in ("defend", "defend kadet"):
        told = help_of(capsys, command)
        assert re.search(r"--target COLUMN +Column of the class, or several: A,B\.  \[required\]\n", told)


BASH = shutil.which("bash")
SCRIPTS = str(Path(sys.executable).parent)
ENVIRONMENT = {**os.environ, "PATH": SCRIPTS + os.pathsep + os.environ["PATH"], "TERM": "dumb"}

needs_bash = pytest.mark.skipif(BASH is None, reason="needs bash")


def bash(script, home, **more):
    environment = {**ENVIRONMENT, "HOME": str(home), **more}
    return subprocess.run(
        [BASH, "--norc", "--noprofile", "-c", script], capture_output=True, text=True, timeout=120, env=environment
    )


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """What ``maxent --show-completion`` prints in bash."""
    if BASH is None:
        pytest.skip("needs bash")
    shown = bash("maxent --show-completion; exit $?", tmp_path_factory.mktemp("home"))
    assert shown.returncode == 0, shown.stderr
    path = tmp_path_factory.mktemp("completion") / "maxent.sh"
    path.write_text(shown.stdout, encoding="utf-8")
    return path


def completed(script, home, *words):
    """What bash is given for the last of some words."""
    quoted = " ".join(f"'{word}'" for word in words)
    call = f"""
        source '{script}'
        COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}
        $(complete -p maxent | sed 's/.*-F \\([^ ]*\\) .*/\\1/') maxent '{words[-1]}' '{words[-2]}'
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    ran = bash(call, home)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


@pytest.mark.slow
def test_bash_completes_names(script, tmp_path):
    assert completed(script, tmp_path, "maxent", "est") == ["estimate"]
    assert set(completed(script, tmp_path, "maxent", "")) == set(COMPLETION_COMMANDS)
    assert completed(script, tmp_path, "maxent", "defend", "prune-") == ["prune-leaf", "prune-parent"]
    assert completed(script, tmp_path, "maxent", "defend", "kadet", "--di") == ["--diversity"]
    assert completed(script, tmp_path, "maxent", "estimate", "--knowledge", "label,ra") == ["label,rate"]
    assert completed(script, tmp_path, "maxent", "defend", "kadet", "a.csv", "--inducer", "c") == ["c45"]
    assert completed(script, tmp_path, "maxent", "defend", "none", "--di") == []
    limits = {"--max-posterior", "--max-certain", "--max-right-guesses", "--max-lift", "--max-member", "--max-memory"}
    assert set(completed(script, tmp_path, "maxent", "estimate", "--max")) == limits
    assert completed(script, tmp_path, "maxent", "estimate", "a.json", "b.csv", "--rounding", "d") == ["digits"]
    assert completed(script, tmp_path, "maxent", "compare", "--q") == []  # accepted, but not offered


def test_bash_completes_back_ends(script, tmp_path):
    found = completed(script, tmp_path, "maxent", "estimate", "a.json", "b.csv", "--backend", "")
    assert {"auto", "ipopt", "newton"} <= set(found)
    assert completed(script, tmp_path, "maxent", "estimate", "--backend", "new") == ["newton"]
    assert completed(script, tmp_path, "maxent", "bench", "--backends", "ipopt,new") == ["ipopt,newton"]


def test_a_file_is_left_to_the_shell(script, tmp_path):
    """No word of ours, so that bash (``-o default``) offers files."""
    assert "complete -o default" in script.read_text(encoding="utf-8")
    for words in (["estimate", "tr"], ["audit", "tree.json", "q"], ["estimate", "--truth", "t"], ["sweep", "-o", "r"]):
        assert completed(script, tmp_path, "maxent", *words) == []


@needs_bash
def test_the_tabulator_key_in_an_interactive_bash(script, tmp_path):
    (tmp_path / "the-tree.json").write_text("{}", encoding="utf-8")
    reader, writer = pty.openpty()
    environment = {**ENVIRONMENT, "HOME": str(tmp_path), "PS1": "ready> ", "INPUTRC": "/dev/null"}
    shell = subprocess.Popen(
        [BASH, "--norc", "--noprofile", "-i"],
        stdin=writer,
        stdout=writer,
        stderr=writer,
        cwd=tmp_path,
        env=environment,
        start_new_session=True,
        close_fds=True,
    )
    os.close(writer)
    seen = ""

    def until(text, timeout=60):
        nonlocal seen
        end = time.monotonic() + timeout
        while text not in seen and time.monotonic() < end:
            if select.select([reader], [], [], 0.2)[0]:
                seen += os.read(reader, 65536).decode("utf-8", "replace")
        assert text in seen, seen

    try:
        until("ready> ")
        os.write(reader, f"source '{script}'; echo sour''ced\n".encode())
        until("sourced")
        os.write(reader, b"maxent aud\t")
        until("maxent audit ")
        os.write(reader, b"the-\t")
        until("maxent audit the-tree.json ")
    finally:
        os.close(reader)
        shell.kill()
        shell.wait()


@needs_bash
@pytest.mark.regression(number=19)
def test_it_is_installed_for_bash(tmp_path):
    (tmp_path / ".bashrc").write_text("alias ll='ls -l'\n", encoding="utf-8")
    installed = bash("maxent --install-completion; exit $?", tmp_path)
    assert installed.returncode == 0, installed.stderr
    assert (tmp_path / ".bashrc").read_text(encoding="utf-8").startswith("alias ll='ls -l'\n")
    assert "-F _maxent_completion maxent" in bash(f"source {tmp_path}/.bashrc; complete -p maxent", tmp_path).stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_are_scripts_for_shells(tmp_path, shell):
    """Typer takes the name of a shell only where it does not look which one is running."""
    environment = {**ENVIRONMENT, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    ran = subprocess.run(
        ["maxent", "--show-completion", shell], capture_output=True, text=True, timeout=120, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    assert f"_MAXENT_COMPLETE=complete_{shell}" in ran.stdout
    asked = {"_MAXENT_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "maxent est"}
    asked |= {"COMP_WORDS": "maxent est", "COMP_CWORD": "1", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    ran = subprocess.run(["maxent"], capture_output=True, text=True, timeout=120, env={**ENVIRONMENT, **asked})
    assert ran.returncode == 0
    assert "estimate" in ran.stdout
    assert "Usage" not in ran.stdout


def test_another_shell_is_told(capsys, monkeypatch):
    monkeypatch.setattr(cli, "app", lambda *_, **__: 1)
    assert cli.run(["--install-completion"]) == 2
    assert (
        capsys.readouterr().err
        == "maxent: completion is for bash, zsh, fish and PowerShell: call it from one of them\n"
    )
