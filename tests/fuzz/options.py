"""Calls with something wrong in them: options that are none, twice there, or have no value, or another's; and names."""

from enum import Enum
from functools import cache
from typing import Any, get_type_hints

from fuzz.case import Case, Dice
from fuzz.mutations import TEXTS, as_json
from fuzz.tables import as_csv
from fuzz.worlds import EXAMPLE_WORLDS, World
from maxent.command_line.parsing import _kind
from maxent.commands import main as cli
from maxent.commands.defend import _of_all
from maxent.models.defenses.registry import method_names

NUMBERS = (
    *("-1", "0", "1", "2", "3", "5", "0.5", "0.999", "1.0", "1.5", "-0.0", "1e-9", "1e-300", "1e400", "inf", "-inf"),
    *("9" * 30, "9" * 400, "9" * 5000, "nan", "0x10", "1_0", "\u0661", "1e2", "+1", "--1", "1,2", "true", "None"),
    *("", " ", " 1", "1 "),
)
NAMES = (
    *("tree.json", "qi.csv", "truth.csv", "old.csv", "old.json", "folder", ".", "", "nowhere", "nowhere/out.csv"),
    *("/dev/null", "/nowhere/out.json", "*.csv", "q?.csv", "TREE.JSON", "./qi.csv", "folder/../qi.csv", "a\0b"),
    *("out\x1b[2J.csv", "out\udcff.csv", "out\n.csv", "é.json", "out.CSV", "out.csv.gz", "out.txt", "out", "-x.csv"),
    *("~/out.csv", "x" * 300 + ".csv"),
)
OUTPUTS = tuple(f"out.{end}" for end in ("csv", "json", "parquet", "html", "nl", "py", "svg", "png", "pdf", "xlsx"))
COLUMNS = (
    *("Education", "Education,Country,Gender", "Salary", "Age,Gender", "Age", "nothing", "Education,Education"),
    *(",", '"Education', '"a\nb"', "Education,,Gender", "a\rb", "x" * 140_000),
)
KINDS = ("label", "label,rate", "counts", "marginal", "internal", "label,label", "nothing", "Label", "label;rate")
BACKENDS = ("auto", "newton", "ipopt", "scipy", "cvxpy", "scip", "pyomo", "newton,newton", "newtn", "newton:x")
SIZES = ("1", "10kB", "1GB", "0", "-1", "1e9", "1 PB", "9" * 400, "9" * 400 + "TB", "1.5.GB", "lots", "inf", "1.5 GiB")
TABLES = (["qi.csv"], ["qi.csv"], ["tree.json", "qi.csv"], ["tree.json", "qi.csv", "qi.csv"])
# What may follow a release: its table, or another release and their tables.
COMPARED = (["qi.csv"], ["qi.csv"], ["--diff", "qi.csv"], ["--diff", "--qi", "qi.csv", "qi.csv"])

DASK = ("", "nowhere", "tcp://", "http://x y", "tcp://:::", "\0")

# Values by the parameter. Other numbers of jobs, starts, trees and repeats are legal, and take long.
BY_NAME = {
    "backend": BACKENDS,
    "backends": BACKENDS,
    "knowledge": KINDS,
    "max_memory": SIZES,
    "memory": SIZES,
    "dask": DASK,
    "na": ("?", "", "0", "a,b", '"', "a\rb", "x" * 140_000, "NA"),
    "jobs": ("0", "1", "-2", "x", "1.5", "9" * 30),
    "starts": ("0", "1", "2", "-1", "x", "9" * 30),
    "trees": ("0", "1", "2", "-1", "x", "9" * 30),
    "repeat": ("0", "1", "-1", "x"),
    "time_limit": ("0", "-1", "1e-9", "0.1", "1", "nan", "inf", "1e400", "x"),
    "output": (*OUTPUTS, *OUTPUTS, *NAMES),
    "report": (*OUTPUTS, *NAMES),
    "plot": ("leaves", "posterior", "divergence", "bars", "tradeoff", "nothing", "out.svg"),
    "pyomo": ("out.py", "tree.json", "nowhere/out.py", "folder", ""),
    "nl": OUTPUTS,
    "witness": (*OUTPUTS, *NAMES),
    **dict.fromkeys(("target", "count", "who"), COLUMNS),
    **dict.fromkeys(("qi", "private", "categorical"), COLUMNS),
    **dict.fromkeys(("truth", "facts", "marginal", "test", "hierarchies", "domains", "data", "study"), NAMES),
}


# Commands, and how often each is called.
WEIGHTS = {
    "estimate": 4,
    "defend": 4,
    "audit": 1,
    "bounds": 1,
    "compare": 2,
    "explain": 2,
    "sweep": 1,
    "bench": 1,
    "backends": 1,
}

STUDY = '[data.d]\nfile = "truth.csv"\ntarget = "{target}"\n[[grid]]\nmax_depth = 1\n'
STRANGE = ("--nothing", "-x", "--", "-", "--k", "--truth", "--=", "-o", "--json=1", "--no-presolve", "-ox")


def case(number: int) -> Case:
    """A case by its number."""
    dice = Dice(f"options {number}")
    found = dice.choice(EXAMPLE_WORLDS)
    name = dice.choices(tuple(WEIGHTS), tuple(WEIGHTS.values()))[0]
    call = [name, *_usual(name, found, dice)]
    for _ in range(dice.choice([0, 1, 1, 2, 2, 3, 5])):
        call += option(name, dice)
    for _ in range(dice.choice([0, 0, 0, 1, 2])):
        call = changed(call, dice) if call else ["--help"]
    if name == "bench":  # which starts processes where nothing is wrong
        call += ["--time-limit", "wrong"]
    elif name in ("estimate", "bounds", "compare") and dice.chance(0.9):
        call += ["--time-limit", "2"]
    told = call[:1] in [[name] for name in cli.COMMANDS] and "--latex" not in call and dice.chance(0.3)
    if told:
        call.insert(1, "--json")
    files = {
        "tree.json": as_json(found.document),
        "qi.csv": as_csv(found.qi),
        "truth.csv": as_csv(found.truth),
        "study.toml": STUDY.format(target=found.header[-1]).encode(),
        "old.csv": b"old\n1\n",
        "old.json": b"{}",
        "folder/file.csv": b"a,b\n1,2\n",
    }
    # A shell hands over bytes, and of surrogates only what stands for those that are no UTF-8.
    call = [part.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape") for part in call]
    return Case(files, tuple(call), as_json=told)


def _usual(name: str, found: World, dice: Dice) -> list[str]:
    """Arguments that are all right."""
    target, qi = found.header[-1], ",".join(found.header[:-1])
    return {
        "audit": ["tree.json", "qi.csv"],
        "backends": [],
        "bench": ["tree.json", "qi.csv"],
        "bounds": ["tree.json", *dice.choice(TABLES)],
        "compare": ["tree.json", "tree.json", *dice.choice(COMPARED)],
        "defend": [
            *(dice.choice(method_names()), "truth.csv"),
            *("--target", target, "--qi", qi, "-o", dice.choice(["out.json", "out.json", "out-{k}.json", "out.csv"])),
        ],
        "estimate": ["tree.json", "qi.csv"],
        "explain": ["tree.json", "qi.csv"],
        "sweep": ["study.toml", "--dry-run"],
    }[name]


@cache
def _parameters(name: str) -> tuple[tuple[Any, tuple[str, ...]], ...]:
    """The options of a command, as its parser has them, each with its choices."""
    command = _of_all() if name == "defend" else cli.made(name)
    hints = get_type_hints(getattr(command.callback, "__wrapped__", command.callback))
    found = [p for p in command.params if p.param_type_name == "option" and p.name in hints]
    kinds = [_kind(hints[p.name]) for p in found]
    choices = [tuple(map(str, kind)) if isinstance(kind, type) and issubclass(kind, Enum) else () for kind in kinds]
    return tuple((p, known) for p, known in zip(found, choices, strict=True) if p.name != "as_json")


def option(name: str, dice: Dice) -> list[str]:
    """An option of the command, with a value that suits it, or none, or another."""
    parameters = _parameters(name)
    if not parameters or dice.chance(0.05):
        return [dice.choice(STRANGE)]
    option, choices = dice.choice(parameters)
    spelled = dice.choice(option.opts)
    if option.is_flag:
        return [f"{spelled}=1" if dice.chance(0.1) else spelled]
    values = BY_NAME.get(option.name) or choices or NUMBERS
    value = dice.choice(TEXTS) if dice.chance(0.1) and option.name not in ("jobs", "dask") else dice.choice(values)
    if dice.chance(0.05):
        return [spelled]
    return [f"{spelled}={value}"] if dice.chance(0.1) else [spelled, value]


def changed(call: list[str], dice: Dice) -> list[str]:
    """A call with an argument less, twice, in another place, or another."""
    call = list(call)
    i = dice.randrange(len(call))
    part = call.pop(i)
    kind = dice.randrange(6)
    if kind == 1:
        call[i:i] = [part, part]
    elif kind == 2:
        call.insert(dice.randrange(len(call) + 1), part)
    elif kind == 3:
        call.insert(i, dice.choice(TEXTS))
    elif kind == 4:
        call.insert(i, dice.choice(NAMES))
    elif kind == 5:
        call.insert(i, part[:-1] if dice.chance(0.5) else part + dice.choice(TEXTS))
    return call
