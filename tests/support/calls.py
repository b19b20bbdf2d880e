"""Calls of commands and functions: what they print or read, and that they are refused."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from maxent.__main__ import main
from maxent.models.errors import InvalidInput
from maxent.models.reading import Reader, Reading
from maxent.models.tables.out_of_core import aggregate
from maxent.models.tables.table_files import read_frame


def printed_by(capsys: Any, call: list[str], status: int = 0) -> Any:
    """Standard output and error of a command that ends with this exit status."""
    found, printed = main(call), capsys.readouterr()
    assert found == status, printed
    return printed


def refusal(function: Callable[..., object], *given: Any, **named: Any) -> InvalidInput:
    """What is said of a call with invalid input."""
    with pytest.raises(InvalidInput) as found:
        function(*given, **named)
    return found.value


def refused(words: str, function: Callable[..., object], *given: Any, **named: Any) -> None:
    """Hold that a call is invalid input, in words that match."""
    with pytest.raises(InvalidInput, match=words):
        function(*given, **named)


def cells(
    path: Any, names: Sequence[str] = ("A", "B"), merged: bool = False, declared: Any = None, **reading: Any
) -> tuple[list[Any], list[int], list[str], list[str]]:
    """Cells row by row, lines of rows, problems, and notes, as either way to read sees them."""
    reader = Reader(Reading(**reading))
    frame = (
        aggregate([path], "data", names, None, reader, declared).frame
        if merged
        else read_frame(path, "data", names, reader, declared)
    )
    columns = [[*frame.columns[name].texts(), None] for name in frame.columns]
    codes = [frame.columns[name].codes for name in frame.columns]
    rows = [tuple(texts[code] for texts, code in zip(columns, row, strict=True)) for row in zip(*codes, strict=True)]
    notes = [note.removeprefix(f"{path}: ") for note in reader.noticed.notes]
    return rows, frame.lines.tolist(), [str(problem) for problem in frame.problems], notes
