"""Tables with something wrong: cells, columns, dialects and encodings of CSV, Parquet, pandas and workbooks."""

import csv
import gzip
import io
from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

import maxent
from fuzz.case import Case, Dice
from fuzz.mutations import (
    FOREIGN,
    MARK,
    NUMBERS,
    TEXTS,
    Table,
    as_frame,
    as_json,
    as_parquet,
    as_workbook,
    changed,
    damaged,
)
from fuzz.worlds import World, world
from maxent.models.defenses.registry import method_names


def case(number: int) -> Case:
    """A case by its number."""
    dice = Dice(f"tables {number}")
    found = world(dice)
    files = {"tree.json": as_json(found.document), "qi.csv": as_csv(found.qi), "truth.csv": as_csv(found.truth)}
    table, name, call = _role(found, files, dice)
    if name == "domains.json":
        files[name] = damaged(files[name], dice) if dice.chance(0.3) else as_json(changed(_domains(found), dice))
        return Case(files, call)
    for _ in range(dice.choice([0, 1, 1, 1, 2, 3])):
        table = dice.choice(CHANGES)(table, dice) or [[]]
    kind = dice.randrange(23)
    secret = ""
    if (kind < 6 or kind >= 20) and name.startswith("groups/"):
        kind = 7
    if kind < 4:
        files.pop(name, None)
        call = tuple("odd.parquet" if part == name else part for part in call)
        files["odd.parquet"] = as_parquet(table, dice)
        if dice.chance(0.35):
            files["odd.parquet"] = damaged(files["odd.parquet"], dice, dice.choice([1, 1, 3]))
    elif kind < 6:
        return Case(files, python=partial(_by_frame, found, as_frame(table, dice), call))
    elif kind >= 20:
        files.pop(name, None)
        call = tuple("odd.xlsx" if part == name else part for part in call)
        files["odd.xlsx"] = as_workbook(table, dice)
        if dice.chance(0.2):
            files["odd.xlsx"] = damaged(files["odd.xlsx"], dice, dice.choice([1, 1, 3]))
        call += dice.choice([(), (), ("--sheet", dice.choice(["People", "second", ""]))])
    elif kind == 6:
        files[name], secret = dice.choice(FOREIGN).encode("utf-8", "surrogateescape"), MARK
    else:
        files[name] = in_dialect(table, dice)
        if dice.chance(0.25):
            files[name] = damaged(files[name], dice, dice.choice([1, 1, 3]))
    if dice.chance(0.1):
        call += dice.choice(READ)
    told = dice.chance(0.4)
    return Case(files, (*call, "--json") if told else call, as_json=told, secret=secret)


READ = (
    *(("--text", mode) for mode in ("strip", "exact")),
    *(("--na", spelling) for spelling in ("?", "", "0", "no")),
    *(("--csv-delimiter", mark) for mark in ("semicolon", "tab", "pipe")),
    ("--csv-decimal", "comma"),
    ("--max-memory", "10kB"),
    ("--max-memory", "100"),
)


def _role(found: World, files: dict[str, bytes], dice: Dice) -> tuple[Table, str, tuple[str, ...]]:
    """Role of a table: the table as it should be, its file, and the call that reads it."""
    tree, target, qi = "tree.json", found.header[-1], ",".join(found.header[:-1])
    defend = ("defend", dice.choice([name for name in method_names() if name != "prune-leaf"]), "truth.csv")
    defend += ("--target", target, "--qi", qi, "-o", "out.json")
    roles: list[tuple[Table, str, tuple[str, ...]]] = [
        (found.qi, "qi.csv", ("audit", tree, "qi.csv")),
        (found.qi, "qi.csv", ("estimate", tree, "qi.csv", "-o", "out.csv", "--time-limit", "2")),
        (found.qi, "qi.csv", ("explain", tree, "qi.csv")),
        (found.truth, "truth.csv", ("estimate", tree, "qi.csv", "--truth", "truth.csv", "--time-limit", "2")),
        (found.truth, "truth.csv", defend),
        (found.truth, "truth.csv", defend),
        (found.truth, "test.csv", (*defend, "--test", "test.csv")),
        ([], "domains.json", ("defend", "rdt", *defend[2:], "--domains", "domains.json")),
    ]
    counted = [[*row, "2" if i else "count"] for i, row in enumerate(found.qi)]
    facts = [[*row, "1" if i else "count"] for i, row in enumerate(found.truth)]
    marginal = [[target, "count"], *([name, "3"] for name in found.document["target"]["classes"])]
    records = [list(found.header), *([_general(cell, dice) for cell in row[:-1]] + [row[-1]] for row in found.rows)]
    hierarchy = [[cell, "group", "*"] for cell in sorted({row[0] for row in found.rows})]
    hierarchies = ("defend", "kadet", *defend[2:], "--k", "2", "--hierarchies", "groups")
    roles += [
        (counted, "qi.csv", ("audit", tree, "qi.csv", "--count", "count")),
        (facts, "facts.csv", ("audit", tree, "qi.csv", "--facts", "facts.csv")),
        (marginal, "marginal.csv", ("explain", tree, "qi.csv", "--marginal", "marginal.csv")),
        (records, "records.csv", ("audit", "records.csv", "qi.csv")),
        (records, "records.csv", ("explain", "records.csv", "qi.csv", "-o", "out.json")),
        (hierarchy, f"groups/{found.header[0]}.csv", hierarchies),
    ]
    table, name, call = dice.choice(roles)
    files[name] = as_csv(table)
    return table, name, call


def _domains(found: World) -> dict[str, Any]:
    values = {name: sorted({row[i] for row in found.rows}) for i, name in enumerate(found.header)}
    return {name: [10, 90] if all(v.isdigit() for v in known) else known for name, known in values.items()}


def _general(cell: str, dice: Dice) -> str:
    """A cell as it is published, generalised."""
    if cell.isdigit():
        return dice.choice([cell, f"{int(cell) - dice.randrange(5)}-{int(cell) + dice.randrange(5)}"])
    return dice.choice([cell, f"{cell}|q", f"q|{cell}"])


def _by_frame(found: World, frame: Any, call: tuple[str, ...]) -> object:
    """The same from Python, with a data frame for the table."""
    target, qi = found.header[-1], list(found.header[:-1])
    if call[0] == "defend":
        return maxent.defend(frame, call[1], target=target, qi=qi)
    release = maxent.load_release("tree.json")
    if "--truth" in call:
        return maxent.estimate(release, _frame(found.qi), frame, time_limit=2)
    if "--facts" in call:
        return maxent.audit(release, _frame(found.qi), facts=frame)
    return maxent.audit(release, frame, count="count" if "--count" in call else None)


def _frame(table: Table) -> Any:
    return pd.DataFrame(table[1:], columns=table[0])


# --- Cells ---------------------------------------------------------------------------------------------------------


def _cell(table: Table, dice: Dice) -> Table:
    """Another cell, in the header, too."""
    table = [list(row) for row in table]
    row = dice.choice(table)
    if row:
        row[dice.randrange(len(row))] = dice.choice(TEXTS + NUMBERS)
    return table


def _like(table: Table, dice: Dice) -> Table:
    """A cell that is much like it was."""
    table = [list(row) for row in table]
    row = dice.choice(table)
    if row:
        i = dice.randrange(len(row))
        cell = row[i]
        around = ("{} ", " {}", "0{}", "{}.0", "+{}", "-{}", "{}{}", "'{}", '"{}"', "{}\u200b")
        other = [cell.upper(), cell.lower(), cell[:-1], cell.replace("e", "e\u0301")]
        row[i] = dice.choice([*other, *(form.format(cell, cell) for form in around)])
    return table


def _column(table: Table, dice: Dice) -> Table:
    """A column of one kind."""
    i = dice.randrange(max(1, len(table[0])))
    kinds = ([""], ["NA"], ["1", "x"], ["1,5", "2,5"], ["2024-01-31"], ["10%"], ["1,234"], ["01", "1"], NUMBERS, TEXTS)
    kind = dice.choice(kinds)
    return [table[0], *([*row[:i], dice.choice(kind), *row[i + 1 :]] for row in table[1:])]


def _columns(table: Table, dice: Dice) -> Table:
    """Columns less, twice, of other names, or in another order."""
    n = len(table[0])
    order = list(range(n))
    kind = dice.randrange(4)
    if kind == 0:
        order = dice.sample(order, dice.randint(0, n))
    elif kind == 1:
        order += [dice.randrange(n)] if n else []
    elif kind == 2:
        dice.shuffle(order)
    found = [[row[i] for i in order if i < len(row)] for row in table]
    if kind == 3 or not found[0]:
        found[0] = [dice.choice([name, name.lower(), name + " ", dice.choice(TEXTS)]) for name in found[0]]
    return found


def _rows(table: Table, dice: Dice) -> Table:
    """No rows, one, many, or a header only, or none."""
    body = table[1:] or [[]]
    more = [table[0], *body * 30]
    return dice.choice([table[:1], table[:2], table[1:], more, [*table, table[0]], [[]], [table[0], *body[::-1]]])


def _ragged(table: Table, dice: Dice) -> Table:
    table = [list(row) for row in table]
    i = dice.randrange(len(table))
    table[i] = dice.choice([table[i][:-1], [*table[i], "x"], [*table[i], ""], [], [""], table[i] * 40])
    return table


CHANGES = (_cell, _cell, _cell, _like, _like, _column, _columns, _columns, _rows, _ragged)

# --- CSV -----------------------------------------------------------------------------------------------------------


def as_csv(table: Sequence[Sequence[str]]) -> bytes:
    """A table as CSV is usual."""
    return in_csv(table).encode("utf-8", "surrogatepass")


def in_csv(table: Sequence[Sequence[str]], delimiter: str = ",", end: str = "\n", quoting: Any = 0) -> str:
    """A table as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerows(table)
    return out.getvalue()


def in_dialect(table: Table, dice: Dice) -> bytes:
    """A table in some dialect and encoding of CSV."""
    if dice.chance(0.5):
        return as_csv(table)
    delimiter = dice.choice([",", ",", ";", "\t", "|", ":", " ", "^"])
    end = dice.choice(["\n", "\r\n", "\r", "\n\n", "\n \n"])
    if dice.chance(0.2):
        text = end.join(delimiter.join(row) for row in table)  # not quoted, whatever is in it
    else:
        text = in_csv(table, delimiter, end, dice.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]))
    text = dice.choice(["", "", "", "sep=;\n", f"sep={delimiter}\n", "# people\n", "\n\n", "\ufeff", '"', " "]) + text
    text += dice.choice(["", "", "", "\n\n\n", '"', "\x1a", "\x00", f"{delimiter}{end}"])
    others = ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252", "latin-1", "cp437"]
    encoding = dice.choice(["utf-8"] * 4 + others)
    content = text.encode(encoding, "surrogatepass" if encoding.startswith("utf") else "replace")
    return gzip.compress(content, mtime=0) if dice.chance(0.05) else content
