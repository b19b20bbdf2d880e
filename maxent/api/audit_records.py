"""Auditing generalised records: the structural attacks, on their groups and on the people of the adversary's table."""

from __future__ import annotations

from maxent.attacks.records import RecordsAudit
from maxent.constraints.records import row_contradictions
from maxent.constraints.row_matching import assign_rows
from maxent.models.formats.published_records import Published, read_published
from maxent.models.reading import Reading, reader_of
from maxent.models.records.coverage import covering_pairs
from maxent.models.tables.frame import Source
from maxent.results.reliability import NOT_ABOUT_THEM, warn_unreliable


def audit_records(
    records: Published,
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
    reader = reader_of(reading)
    published, people = read_published(records, qi, target=target, count=count, reader=reader)
    owner, group = covering_pairs(published.table.boxes, people)
    found = assign_rows(owner, group, people.counts, published.counts.sum(axis=1))
    contradictions = tuple(row_contradictions(published, people, found.shortages))
    if contradictions:
        warn_unreliable(NOT_ABOUT_THEM)
    return RecordsAudit(
        published, people, owner, group, found, int(min_size), int(background), contradictions, reader.noticed
    )
