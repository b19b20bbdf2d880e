"""Models of other tools with something wrong in them: every reader that is registered, from the seeds of its name."""

import json
import re
import zlib
from collections.abc import Callable
from functools import cache
from io import BytesIO
from pathlib import Path
from xml.etree.ElementTree import ParseError
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from fuzz.case import Case, Dice
from fuzz.mutations import FOREIGN, MARK, as_json, as_xml, changed, damaged
from maxent.models.formats.registry import OWN, own_reader

SEEDS = Path(__file__).parent / "seeds"
TABLE = "train.csv"  # The training table of all seeds; its target is Salary


@cache
def seeds() -> tuple[tuple[str, str, bytes], ...]:
    """The reader, the name and the content of every seed, sorted: files are called by their reader, and a number.

    Each file of a folder that is called by a reader is a seed, whose case has the other files as they are.
    """
    names = {reader.name for reader in map(own_reader, OWN) if reader.convert is not None}
    paths = [path for path in sorted(SEEDS.rglob("*")) if path.is_file()]
    found = [(path.relative_to(SEEDS).as_posix(), path.read_bytes()) for path in paths]
    read = [(re.split("[./]", name)[0], name, content) for name, content in found]
    return tuple((reader, name, content) for reader, name, content in read if reader in names)


def case(number: int) -> Case:
    """A case by its number."""
    dice = Dice(f"models {number}")
    reader, name, content = dice.choice(seeds())
    kind = dice.randrange(20)
    secret = ""
    if kind == 0:
        content, secret = dice.choice(FOREIGN).encode(), MARK
    elif kind < 6:
        content = damaged(content, dice, dice.choice([1, 1, 2, 5]))
    elif kind < 19:
        for _ in range(dice.choice([1, 1, 1, 2, 3])):
            content = _changed(content, dice)
    folder = name.partition("/")[0] if "/" in name else ""
    call = ["convert", folder or name, "-o", "out.json"]
    if dice.chance(0.5):
        call += ["--target", "Salary", "--train", TABLE]
    if dice.chance(0.2):
        call += ["--from", reader]
    if dice.chance(0.2):
        names = ["a,b", "Education,Country,Gender", "x"]
        call += [dice.choice(["--classes", "--features", "--qi"]), dice.choice(names)]
    if dice.chance(0.1):
        call += ["--param", dice.choice(["rate=0.3", "rate=nan", "rate=x", "lambda=-1", "other=1"])]
    if reader == "r-forest" and dice.chance(0.5):
        call += ["--param", "levels=sorted"]
    if reader == "c50-tree" and dice.chance(0.5):
        call += ["--classes", "<=50K,>50K"]
    told = dice.chance(0.5)
    others = {other: same for _, other, same in seeds() if folder and other.startswith(f"{folder}/")}
    files = {**others, name: content, TABLE: (SEEDS / TABLE).read_bytes()}
    return Case(files, (*call, "--json") if told else tuple(call), as_json=told, secret=secret)


def _changed(content: bytes, dice: Dice) -> bytes:
    """A document with a change of the kind that it is of."""
    if content[:4] == b"PK\3\4":
        return _as_archive(content, dice)
    if b"\0" in content[:64]:
        return damaged(content, dice)
    if content[:1] in b"{[":
        return _as_json(content, dice)
    if content[:1] == b"<" and dice.chance(0.7):
        try:
            return as_xml(content, dice)
        except (ParseError, LookupError, ValueError):  # the latter of encodings that Python does not know
            return damaged(content, dice)
    return _as_lines(content, dice)


def _as_archive(content: bytes, dice: Dice) -> bytes:
    """An archive with a member changed, left out or renamed; one that cannot be read any more is damaged."""
    try:
        with ZipFile(BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except (BadZipFile, OSError, ValueError, NotImplementedError, zlib.error):
        return damaged(content, dice)
    name = dice.choice(sorted(members)) if dice.chance(0.4) else max(members, key=lambda name: len(members[name]))
    member = members.pop(name, b"")
    found = BytesIO()
    with ZipFile(found, "w", dice.choice([ZIP_STORED, ZIP_DEFLATED])) as archive:
        for other, unchanged in members.items():
            archive.writestr(other, unchanged)
        if dice.chance(0.95):
            changed_one = _as_json(member, dice) if member[:1] == b"{" else damaged(member, dice)
            archive.writestr(name if dice.chance(0.95) else f"x{name}", changed_one)
    return found.getvalue()


def _as_json(content: bytes, dice: Dice) -> bytes:
    """A document with a part changed; one that cannot be read any more is damaged."""
    try:
        return as_json(changed(json.loads(content), dice))
    except (ValueError, RecursionError, OverflowError):  # the last of whole numbers that no double holds
        return damaged(content, dice)


def _as_lines(content: bytes, dice: Dice) -> bytes:
    """A text with a change to its lines."""
    lines = content.decode("utf-8", "replace").split("\n")
    dice.choice(LINES)(lines, dice)
    return "\n".join(lines).encode()


def _drop(lines: list[str], dice: Dice) -> None:
    del lines[dice.randrange(len(lines))]


def _twice(lines: list[str], dice: Dice) -> None:
    at = dice.randrange(len(lines))
    lines[at:at] = lines[at : at + dice.choice([1, 1, 2, 9])] * dice.choice([1, 1, 1, 50])


def _swap(lines: list[str], dice: Dice) -> None:
    a, b = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]


def _number(lines: list[str], dice: Dice) -> None:
    """Another number in the place of one."""
    odd = ["0", "-1", "1e400", "nan", "inf", "9" * 400, "1.5", "0.0000001", "", "1,5", "-0.0", "5e-324", "3.5e38"]
    _replaced(lines, dice, r"-?[0-9]+(?:\.[0-9]+)?", odd)


def _mark(lines: list[str], dice: Dice) -> None:
    """Another sign in the place of one."""
    _replaced(lines, dice, r"[^\w\s]+", ["", "|", "<=", ">", "=", "!=", "(", ")", "[", "]", ":", "--", "\u00a0", "\t"])


def _word(lines: list[str], dice: Dice) -> None:
    """Another word in the place of one."""
    odd = ["", "class", "Salary", "x" * 5_000, "Stra\u00dfe", "\u202e", "weights", "null"]
    _replaced(lines, dice, r"[^\W\d_]+", odd)


def _indent(lines: list[str], dice: Dice) -> None:
    at = dice.randrange(len(lines))
    lines[at] = dice.choice(["", "|   ", "| ", "  ", "|   " * 2_000]) + lines[at][dice.choice([0, 0, 2, 4]) :]


def _replaced(lines: list[str], dice: Dice, pattern: str, instead: list[str]) -> None:
    at = dice.randrange(len(lines))
    found = list(re.finditer(pattern, lines[at]))
    if found:
        match = dice.choice(found)
        lines[at] = lines[at][: match.start()] + dice.choice(instead) + lines[at][match.end() :]


LINES: tuple[Callable[[list[str], Dice], None], ...] = (
    *(_drop, _twice, _swap, _number, _number, _mark, _mark, _word, _word, _indent),
)
