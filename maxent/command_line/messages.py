"""Errors as a command shows them: lines on standard error, and with ``--json`` an object on standard output, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from maxent.models.errors import ARGUMENT, InvalidInput, MaxentError
from maxent.results.text.terminal import on_command_line, respell, respelled

# Problems that are printed; of more, the number. JSON has all of them.
LISTED = 50
# Characters of a line that is printed, about; of a longer one its beginning and its end. JSON has all of it.
LONGEST = 1000
# The source of a problem that is about an argument of the call.
CALL = "command line"
PARTS = ("source", "where", "field", "expected", "found")
# A problem as JSON has it: `PARTS`, None where there are none, and ``message``, the line that is printed.
Entry = dict[str, str | None]


def entries(error: MaxentError, names: Mapping[str, str]) -> list[Entry]:
    """The problems of an error, parameters as a command spells them: see `maxent.command_line.parsing.spellings`."""
    spell = on_command_line(names)
    if not isinstance(error, InvalidInput):
        return [plain(respell(str(error), spell))]
    found = []
    for problem in (respelled(each, spell) for each in error.problems):
        of_call = problem.where == ARGUMENT
        source = CALL if of_call else error.source
        line = str(problem).removeprefix(f"{ARGUMENT}: ") if of_call else f"{source}: {problem}"
        found.append({"message": line, "source": source, **asdict(problem)})
    return found


def plain(message: str) -> Entry:
    """A problem that has no parts."""
    return {"message": message, **dict.fromkeys(PARTS)}


def as_object(status: int, problems: Sequence[Entry]) -> dict[str, object]:
    """The JSON object in place of a result: exit status and problems."""
    return {"error": {"exit": status, "problems": problems}}


def lines(problems: Sequence[Entry]) -> list[str]:
    """Problems as they are printed, of very many only the first."""
    shown = [_cut(str(problem["message"])) for problem in problems[:LISTED]]
    if len(problems) > LISTED:
        return [*shown, f"and {len(problems) - LISTED} more problems, {len(problems)} in all"]
    return [*shown, f"{len(problems)} problems"] if len(problems) > 1 else shown


def _cut(line: str) -> str:
    """A line, without the middle of a very long one: names of files and columns may have any length."""
    half = LONGEST // 2
    return line if len(line) <= LONGEST else f"{line[:half]} ... {line[-half:]}"
