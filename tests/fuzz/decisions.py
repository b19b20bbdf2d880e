"""Calls of commands that decide about a release, with something wrong in them, as `fuzz.options` has for others."""

from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz.case import Case, Dice
from fuzz.mutations import as_json
from fuzz.options import changed, option
from fuzz.tables import as_csv
from fuzz.worlds import EXAMPLE_WORLDS, World
from maxent.__main__ import main

WEIGHTS = {"advise": 3, "check": 2, "reconstruct": 2, "verify": 1}  # Commands, and how often each is called

POLICY = b'name = "p"\n\n[limits]\nmin_leaf = 2\nmax_certain = 0\n'
LIMITED = ("--time-limit", "2")


def case(number: int) -> Case:
    """A case by its number."""
    dice = Dice(f"decisions {number}")
    found = dice.choice(EXAMPLE_WORLDS)
    name = dice.choices(tuple(WEIGHTS), tuple(WEIGHTS.values()))[0]
    call = [name, *_usual(name, found, dice)]
    for _ in range(dice.choice([0, 1, 1, 2, 2, 3])):
        call += option(name, dice)
    for _ in range(dice.choice([0, 0, 0, 1, 2])):
        call = changed(call, dice) if call else ["--help"]
    if name in ("advise", "reconstruct") and call[:1] == [name]:
        call += LIMITED
    told = call[:1] == [name] and dice.chance(0.3)
    if told:
        call.insert(1, "--json")
    files = {**_files(EXAMPLE_WORLDS.index(found)), "policy.toml": POLICY, "old.csv": b"old\n1\n", "old.json": b"{}"}
    call = [part.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape") for part in call]
    return Case({**files, "folder/file.csv": b"a,b\n1,2\n"}, tuple(call), as_json=told)


def _usual(name: str, found: World, dice: Dice) -> list[str]:
    """Arguments that are all right."""
    target, qi = found.header[-1], ",".join(found.header[:-1])
    return {
        "advise": ["truth.csv", "--target", target, "--qi", qi, "--methods", "none", "--folds", "2"],
        "check": ["tree.json", "qi.csv", *dice.choice([["--max-posterior", "0.9"], ["--policy", "policy.toml"]])],
        "reconstruct": ["tree.json", "qi.csv"],
        "verify": ["record.json"],
    }[name]


@cache
def _files(world: int) -> dict[str, bytes]:
    """A release, its tables, and the record of a check of it."""
    found = EXAMPLE_WORLDS[world]
    files = {"tree.json": as_json(found.document), "qi.csv": as_csv(found.qi), "truth.csv": as_csv(found.truth)}
    with TemporaryDirectory(prefix="fuzz-") as name, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        for file, content in files.items():
            Path(name, file).write_bytes(content)
        tables = [str(Path(name, file)) for file in ("tree.json", "qi.csv")]
        main(["check", *tables, "--max-posterior", "0.9", "--record", str(Path(name, "record.json"))])
        return {**files, "record.json": Path(name, "record.json").read_bytes()}
