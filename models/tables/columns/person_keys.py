"""Keys of people: a column that names another person in each row, by which tables are linked."""

from __future__ import annotations

from maxent.models.errors import Problem
from maxent.models.tables.frame import Frame, listed


def keys_of(frame: Frame, name: str, problems: list[Problem]) -> tuple[str, ...]:
    """The key of each row in a column that names people; rows without one, or with that of another, are problems."""
    column = frame.columns[name]
    texts = column.texts()
    if column.values.dtype.kind == "f":  # whole numbers beside missing ones, as pandas has them
        texts = [text.removesuffix(".0") for text in texts]
    first: dict[str, int] = {}
    expected = "the key of a person, another one on each " + frame.unit
    wrong = []
    for row, code in enumerate(column.codes.tolist()):
        if code < 0:
            wrong.append(Problem(frame.place(row), name, expected, "none"))
        elif (before := first.setdefault(texts[code], row)) != row:
            wrong.append(
                Problem(frame.place(row), name, expected, f"{texts[code]!r} again, as on {frame.place(before)}")
            )
    problems += listed(wrong, len(wrong), f"{frame.unit}s")
    return tuple(texts[code] if code >= 0 else "" for code in column.codes.tolist())
