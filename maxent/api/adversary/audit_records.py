"""Auditing generalised records: the structural attacks, on their groups and on the people of the adversary's table."""

from __future__ import annotations

from collections.abc import Iterator

from maxent.api.case import Case, Tables
from maxent.attacks.records import RecordsAudit
from maxent.constraints.records import row_contradictions
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.formats.release_reader import Records
from maxent.models.reading import Reading
from maxent.models.tables.frame import Source, shorten
from maxent.models.text.arguments import is_whole, up_to_largest
from maxent.results.reliability import NOT_ABOUT_THEM, warn_unreliable


def audit_records(
    records: Records,
    qi: Source,
    *,
    min_size: int = 1,
    background: int = 1,
    count: str | None = None,
    target: str | None = None,
    reading: Reading | None = None,
) -> RecordsAudit:
    """The structural attacks on generalised records, as `maxent.audit` has them, with the tables that they work on.

    Parameters
    ----------
    records : GeneralizedTable, DataFrame or path
        As for `maxent.estimate`.
    qi : DataFrame, path or pattern
        The adversary's table.
    min_size : int
        Rows of the smallest group that counts as homogeneous.
    background : int
        How many members of a group the adversary knows the classes of.
    count : str, optional
        The column of ``qi`` with the number of individuals a row stands for.
    target : str, optional
        The column of the class; by default the only one that ``qi`` lacks.
    reading : Reading, optional
        How all tables are read, see `maxent.models.reading.Reading`.

    Returns
    -------
    RecordsAudit
        Frozen; ``.summary`` is what `maxent.audit` returns, ``.individuals`` and ``.table`` are DataFrames.

    Raises
    ------
    InvalidInput
        For anything wrong with the inputs, naming every problem and its place.
    """
    if problems := list(number_problems(min_size=min_size, background=background)):
        raise InvalidInput("options", problems)
    case = Tables(qi, count=count, reading=reading).case(records, target)
    return audit_covering(case, min_size, background)


def number_problems(*, min_size: object, background: object) -> Iterator[Problem]:
    """Mistakes in the numbers that the attacks go by."""
    for name, value, least in (("min_size", min_size, 1), ("background", background, 0)):
        if not is_whole(value, least):
            expected = up_to_largest(f"a whole number of at least {least}", value)
            yield Problem(ARGUMENT, name, expected, shorten(value))


def audit_covering(case: Case, min_size: int, background: int) -> RecordsAudit:
    """The structural attacks on the generalised records of a case."""
    records, people, covering = case.records, case.people, case.covering()
    assert records is not None
    contradictions = tuple(row_contradictions(records, people, covering.assignment.shortages))
    if contradictions:
        warn_unreliable(NOT_ABOUT_THEM)
    pairs = (covering.owner, covering.group, covering.assignment)
    return RecordsAudit(records, people, *pairs, int(min_size), int(background), contradictions, case.noticed)
