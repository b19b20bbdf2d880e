"""Proved bounds on what an adversary can infer: over all data that are consistent with a release."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from maxent.api import options
from maxent.api.calling import takes
from maxent.api.case import Case, Published, Tables
from maxent.api.compile import Knowledge, compile_beside, compile_in_time, refuse_contradictions, system_of
from maxent.api.decision_options import Bounding
from maxent.api.estimate import Progress, Solving, case_of, estimate_case
from maxent.api.out_of_core.folder import InParts, links_of
from maxent.api.out_of_core.opened import FoundLeaves, Opened, table_of
from maxent.api.population import population_bounds
from maxent.api.proving import Drawing, Proving, proving_seconds
from maxent.constraints.compiler import NOTHING_OF, unread_beside_draws
from maxent.constraints.kinds.registry import knowledge as choices_of_knowledge
from maxent.constraints.program.program import Program
from maxent.models.arrays import IntArray
from maxent.models.errors import ARGUMENT, check_unused, invalid
from maxent.models.out_of_core.runs import LeafGroup, Rows, joined, positions
from maxent.models.tables.cells import own_names
from maxent.results.bounds import ProvedBounds, Worlds
from maxent.results.parts import Parts
from maxent.results.population import PopulationBounds
from maxent.results.reliability import not_reliable, warn_unreliable
from maxent.solvers.certainty.levels import Proved, level_names, prove, prove_alike, untimed
from maxent.solvers.control import Clock


@takes(Bounding)
def bounds(call: Bounding) -> ProvedBounds:
    """The smallest and the largest P(class | quasi-identifier) over all data consistent with a release, proved.

    With ``folder``, ``memory`` or workers people are taken in parts, for the level ``closed``: docs/scale.md.

    Returns
    -------
    ProvedBounds
        Frozen; ``.frame()`` is a DataFrame, ``.summary`` the JSON summary, with ``membership`` where ``population`` is
        given.

    Warns
    -----
    UnreliableResult
        When the statements contradict each other or the table: no data are consistent with them.

    Raises
    ------
    MissingExtra
        For the level ``integer``, worlds and witnesses where OR-Tools is not installed.
    """
    how, known = (
        options.of(Proving, call),
        options.of(Knowledge, call, noise="intervals" if call.noise is None else call.noise),
    )
    if not call.in_parts:
        case = case_of(call)
        if case.members is None:
            return bounds_case(case, known, how, interruptible=call.interruptible)
        return population_bounds(case, known, how, interruptible=call.interruptible)
    check_unused("people who are not taken in parts", rows=call.rows or None)
    where, work = InParts.of(call.folder, call.memory), Solving(jobs=call.jobs, dask=call.dask)
    tables = options.of(Tables, call)
    return bounds_tables(call.release, tables, known, how, work, where, target=call.target, progress=call.progress)


def bounds_case(case: Case, known: Knowledge, how: Proving, *, interruptible: bool = False) -> ProvedBounds:
    """The bounds of a case; the parameters, the result and a warning are those of `bounds`."""
    if how.ties == "first" and case.joined is not None and case.joined.reordered:
        expected = "any, as the releases do not have their attributes in one order"
        raise invalid("options", ARGUMENT, "ties", expected, how.ties)
    begin, clock = time.perf_counter(), Clock(how.time_limit)
    with clock.listening() if interruptible else nullcontext():
        if case.rows:
            check_unused("people whose order is not known", worlds=how.worlds or None, witness=how.witness or None)
            program, proved = _of_rows(case, known, how, clock)
            compiled = begin
        else:
            program = replace(compile_in_time(case, known, clock), ties=how.ties)
            compiled = time.perf_counter()
            proved = untimed(prove(program, how.last, clock), clock)
            refuse_contradictions(program, proved.status, clock, whole=how.last == level_names()[-1])
        more = _more(case, known, how, program, proved, clock) if proved.status != "inconsistent" else {}
    seconds = {"compile": case.seconds + compiled - begin, "prove": time.perf_counter() - compiled}
    more |= {"drawing": Drawing(case, proving_seconds(clock.left()), program)}
    result = ProvedBounds(program, proved.bounds, proved.status, how.last, seconds, case.noticed, **more)
    if not result.reliable:
        warn_unreliable(f"{not_reliable(result.status)}; see notes and contradictions of the result")
    return result


def _of_rows(case: Case, known: Knowledge, how: Proving, clock: Clock) -> tuple[Program, Proved]:
    """The program of single rows, with what is proved of them."""
    from maxent.constraints.rows import row_program
    from maxent.solvers.certainty.rows import prove as prove_rows

    told = [case.release.draws] if case.joined is None else [part.draws for part in case.joined.parts]
    system = system_of(case, known)
    beside = None if None not in told else replace(compile_beside(case, known), ties=how.ties)
    found = prove_rows(system, how.last, clock, beside)
    program = row_program(system, found.low, found.high, beside, found.numbers)
    wrong = program.contradictions if found.consistent else found.contradictions
    notes = (*program.notes, found.in_words())
    program = replace(program, contradictions=wrong, notes=notes, row_equations=found.as_dict(), ties=how.ties)
    if beside is None:  # it has no trees: what these tell beside equations, and of draws, is still theirs
        kinds = frozenset(choices_of_knowledge() if known.kinds is None else known.kinds)
        parts = [case.release] if case.joined is None else [*case.joined.parts]
        unread = tuple(each for part in parts for each in unread_beside_draws(part, kinds))
        program = replace(program, release=replace(program.release, draws=told[0]), unread=unread)
    return program, Proved(found.bounds, found.status)


def _more(case: Case, known: Knowledge, how: Proving, program: Program, proved: Proved, clock: Clock) -> dict[str, Any]:
    """Worlds and witnesses, where they are asked for."""
    from maxent.solvers.certainty.weighing import weigh
    from maxent.solvers.certainty.witness import NoWitness, witness
    from maxent.solvers.worlds.settle import Patience

    low, high = proved.bounds.low, proved.bounds.high
    found: dict[str, Any] = {}
    if how.witness:
        try:
            found["witness"] = witness(program, low, high, Patience.of(clock))
        except NoWitness as error:
            found["unwitnessed"] = str(error)
    if how.worlds:
        weighed = weigh(program, low, high, Patience.of(clock))
        left = clock.left()
        how_long = Solving(time_limit=None if left is None else max(left, 0.01))
        estimate = estimate_case(case, known, how_long).probabilities
        found["worlds"] = Worlds(weighed, estimate, program.table.counts)
    return found


# Quasi-identifiers that are alike: in the same leaf, with as many people each. One of them stands for all.


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """Kinds of quasi-identifiers: ``rows`` of the leaf, people as words, and how many they are; ``words`` of one."""

    rows: Rows
    words: IntArray

    @classmethod
    def of(cls, rows: Rows, words: IntArray) -> Alike:
        """The kinds of some rows, each with the smallest quasi-identifier that is in the ``words``."""
        by_words = np.lexsort(words[::-1])
        merged = rows.some(by_words)
        number, _ = merged.numbered()
        first = np.full(number.max(initial=-1) + 1, len(rows))
        np.minimum.at(first, number, np.arange(len(rows)))
        return cls(rows.merged(), words[:, by_words[first]])

    def __call__(self, rows: Rows, codes: IntArray) -> IntArray:
        """The kind of each of some quasi-identifiers."""
        at, _ = positions(self.rows, Rows(rows.leaf, rows.count[None], rows.count))
        return at


def alike_of(how: None, rows: Rows, group: LeafGroup) -> Alike:
    """The kinds of quasi-identifiers of a group."""
    return Alike.of(Rows(rows.leaf, rows.count[None], np.ones(len(rows), np.int64)), rows.words)


# The level of proof that people in parts can be asked about.
CLOSED = "closed"


def bounds_tables(
    published: Published,
    tables: Tables,
    known: Knowledge,
    how: Proving,
    work: Solving,
    where: InParts,
    *,
    target: str | None = None,
    progress: Progress | None = None,
) -> ProvedBounds:
    """Bounds of the level ``closed`` on more people than memory holds, who are routed to leaves.

    Those in the same leaves with as many people each are proved once; where something links people there are no
    ``parts``.
    """
    if how.level != CLOSED or how.worlds or how.witness:
        found = "worlds or witnesses" if how.level == CLOSED else how.level
        raise invalid("options", ARGUMENT, "level", f"{CLOSED}, where people are taken in parts", found)
    known.check()
    opened = Opened.of(published, tables, links_of, target, where, progress)
    if opened.linked:
        options = {"knowledge": known.knowledge, "impurity": known.impurity, "marginal": tables.marginal}
        case = opened.together(**options)
        whole = bounds_case(case, known, how) if case.members is None else population_bounds(case, known, how)
        opened.write_whole(whole.frame)
        return whole
    with opened.resources(replace(work, time_limit=how.time_limit)) as with_:
        begin = time.perf_counter()
        scanned = opened.scanned(with_)
        parts = with_.people(alike_of, None, scanned, opened.told("counting those who are alike"))
        every = joined([each.rows for each in parts])
        alike = Alike.of(every, np.concatenate([each.words for each in parts], axis=1))  # large leaves are in several
        codes = scanned.runs.packing.unpack(alike.words)
        table, order = scanned.qi_table(alike.rows.leaf, codes, alike.rows.words[0] * alike.rows.count)
        people, stands = alike.rows.words[0, order], alike.rows.count[order]
        clock = Clock(how.time_limit)
        case = opened.case(table)
        program = replace(compile_in_time(case, _without_splits(known, tables), clock), ties=how.ties)
        if known.kinds is None:  # all is known, and choices of splits are left out here alone
            unread = (each for each in program.unread if not each.what.startswith(NOTHING_OF.partition(" (")[0]))
            program = replace(program, unread=tuple(unread))
        compiled = time.perf_counter()
        proved = prove_alike(program, stands, clock)
        seconds = {"compile": compiled - begin, "prove": time.perf_counter() - compiled}
        program = replace(program, table=replace(table, counts=people))
        shown = (program, proved.bounds, proved.status, CLOSED, seconds, case.noticed)
        own = ProvedBounds(*shown, stands_for=stands)
        if case.members is not None:
            own = PopulationBounds(*shown, stands_for=stands, members=case.members)
        files: tuple[Path, ...] = ()
        if where.folder is not None:
            _, files = opened.written("writing bounds", *_bounds(own, alike, order), scanned, with_)
        leaves, trees = len(scanned.there), len(program.release.trees)
        result = replace(own, parts=Parts(what="bounds", trees=trees, leaves=leaves, folder=where.folder, files=files))
    if not result.reliable:
        warn_unreliable(f"{not_reliable(result.status)}; see notes and contradictions of the result")
    return result


def _without_splits(known: Knowledge, tables: Tables) -> Knowledge:
    """The same without choices of splits: the level makes no use of them, and they would be about those alike."""
    kinds = known.kinds
    if kinds is None:
        kinds = [kind for kind in choices_of_knowledge() if kind != "marginal" or tables.marginal is not None]
    return replace(known, knowledge=[kind for kind in kinds if kind != "internal"], impurity=None)


def _bounds(found: ProvedBounds, alike: Alike, order: IntArray) -> tuple[tuple[str, ...], FoundLeaves]:
    """The bounds of everybody, and the names of all columns; row i of ``found`` is row ``order[i]`` of those alike."""
    own = [attribute.name for attribute in found.program.table.attributes]
    names = (*own, *own_names(["count", "class", "low", "high", "proved_by"], own))
    back, classes = np.argsort(order), found.program.release.target.classes
    by = np.array(level_names())[found.proved_by[back].ravel()]
    columns = [(each[back].ravel(), "double") for each in (found.low, found.high)]
    table = table_of([(classes * len(order), "string"), *columns, (by, "string")])
    return names, FoundLeaves(table, alike, len(classes))
