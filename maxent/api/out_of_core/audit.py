"""Audits of more people than memory holds: the attacks work on leaves, and whoever is in one shares what they find."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maxent.api import options
from maxent.api.audit import Attacking, audit_read
from maxent.api.calling import takes
from maxent.api.case import Published, Tables
from maxent.api.estimate import Progress, Solving
from maxent.api.out_of_core.folder import InParts, links_of_attacks
from maxent.api.out_of_core.opened import ByLeaf, FoundLeaves, Opened, groups_for, table_of
from maxent.api.out_of_core.results import AuditInParts
from maxent.models.errors import check_unused
from maxent.results.audit import Audit, people_table

if TYPE_CHECKING:
    from pathlib import Path

    from maxent.api.out_of_core.scan import Scanned
    from maxent.models.arrays import IntArray
    from maxent.results.records import RecordsAudit

# Types of the columns of `maxent.results.audit.Audit.individuals` after ``count``: for each tree, and the rest.
OF_TREE, OF_PEOPLE = ("string", "int64"), ("int64", "int64", "string", "string")


@takes(options.AuditingInParts)
def audit_in_parts(call: options.AuditingInParts) -> Audit | RecordsAudit:
    """The structural attacks on a release about more people than memory holds.

    The people of trees whose splits are public are routed to leaves, as by `maxent.estimate_in_parts`, and attacked
    there; the numbers are those of `maxent.audit`. Where something links people of different leaves (splits on private
    attributes, scores of boosted trees, ``facts``, records), they are taken together in one process.

    Returns
    -------
    Audit or, of generalised records, RecordsAudit
        An `AuditInParts`, or where people are linked a plain one.
    """
    check_unused("people who are not taken in parts", rows=call.rows or None)
    where, how = InParts.of(call.folder, call.memory), options.of(Solving, call)
    attacks, tables = options.of(Attacking, call), options.of(Tables, call, proved=True)
    return audit_tables(call.release, tables, attacks, how, where, target=call.target, progress=call.progress)


def audit_tables(
    published: Published,
    tables: Tables,
    attacks: Attacking,
    how: Solving,
    where: InParts,
    *,
    target: str | None = None,
    progress: Progress | None = None,
) -> Audit | RecordsAudit:
    """The audit of tables in parts; the parameters and the result are those of `audit_in_parts`."""
    attacks.check(tables.qi, facts=tables.facts, count=tables.count, control=tables.control)
    opened = Opened.of(published, tables, links_of_attacks, target, where, progress)
    if opened.linked:
        whole = audit_read(opened.together(**attacks.of_trees(tables)), attacks)
        opened.write_whole(lambda: whole.individuals)
        return whole
    with opened.resources(how) as with_:
        scanned, *_ = opened.scanned(with_)
        table, leaf = scanned.table()
        found = audit_read(opened.case(table), attacks)
        assert isinstance(found, Audit)
        files: tuple[Path, ...] = ()
        if where.folder is not None:
            names, rows = _people(found, leaf, scanned)
            files = opened.written("people", names, rows, scanned, groups_for(scanned, with_), with_)
        return AuditInParts.of(found, n_leaves=len(leaf), folder=where.folder, files=files)


def _people(found: Audit, leaf: IntArray, scanned: Scanned) -> tuple[tuple[str, ...], FoundLeaves]:
    """What is found of the people of every leaf, and the names of all columns; ``leaf`` is that of each row."""
    frame = people_table(found)
    assert found.people is not None
    assert frame is not None
    in_order = leaf[np.argsort(found.people.lines, kind="stable")]
    first = len(scanned.coded.attributes) + 1
    kinds = (*OF_TREE * len(found.trees), *OF_PEOPLE)
    columns = table_of((frame.iloc[:, first + i].to_list(), kind) for i, kind in enumerate(kinds))
    return tuple(map(str, frame.columns)), FoundLeaves(columns, ByLeaf(in_order, len(scanned.people)))
