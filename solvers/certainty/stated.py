"""Numbers of people of a class that follow from statements, and the fewest statements that contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from maxent.constraints.program.program import Linear, Program
from maxent.models.arrays import BoolArray, IntArray
from maxent.models.errors import Origin
from maxent.models.packages import installed
from maxent.models.statements.read import NUMBERED
from maxent.models.statements.statement import CountsInCells
from maxent.models.statements.sums import LinearSum
from maxent.models.tables.cells import value_in_words
from maxent.solvers.certainty.bounds import WHOLE, Source, row_of, source_of
from maxent.solvers.certainty.cases import cases_of, contradict
from maxent.solvers.certainty.following import TOGETHER, KnownGroup, groups_that_follow
from maxent.solvers.certainty.integer import Fewest, contradicting_whole, fewest
from maxent.solvers.certainty.settled import Settled
from maxent.solvers.certainty.sums import SIZE, Misses, is_quick, sum_ends
from maxent.solvers.control import Clock

# Numbers that are left open up to which these are asked for.
ASKED = 200
# Groups whose number nothing prints that are described; values of a column, and single people, that describe one.
DESCRIBED, VALUES, NAMED = 100, 6, 3
# What stands between a regression and its term in the source of a statement.
COEFFICIENT = ", coefficient of "


@dataclass(frozen=True, slots=True)
class StatedCell:
    """People of a class in a cell of a statement: ``low`` to ``high``; ``stated`` is whether that is what it says.

    ``cells``: those of the program, shape (n,).
    """

    source: str
    cells: IntArray
    klass: int
    people: int
    low: int
    high: int
    stated: bool

    @property
    def exact(self) -> bool:
        """Whether the number is known."""
        return self.low == self.high


def stated_cells(program: Program) -> tuple[tuple[StatedCell, ...], bool]:
    """Every number of people of one class that a statement is about, and whether all that follows of it is known.

    With the smallest groups that no statement is about and whose number follows from everything together, such as the
    difference of two (`maxent.solvers.certainty.following`).
    """
    worlds: list[IntArray] = []
    cells, complete = listed_cells(program, worlds)
    known = [KnownGroup(c.source, c.cells, c.klass, c.people, c.low) for c in cells if c.exact]
    groups, all_known = groups_that_follow(program, known, worlds)
    more = (StatedCell(g.source, g.cells, g.klass, g.people, g.number, g.number, False) for g in groups)
    return (*cells, *more), complete and all_known


def listed_cells(program: Program, worlds: list[IntArray]) -> tuple[tuple[StatedCell, ...], bool]:
    """The same of what statements are about alone; whole people who satisfy what is linear join ``worlds``.

    With the cells and margins that somebody is in and no row is about (`_left_out`), as many as are asked. A number
    follows from linear programs, or from whole people (`maxent.solvers.certainty.settled`).
    """
    found: dict[tuple[bytes, int], StatedCell] = {}
    for said in program.linear:
        klass = np.flatnonzero(said.coef[0])
        if said.kind != "statements" or said.weights is not None or len(klass) != 1:
            continue
        coef = float(said.coef[0, klass[0]])
        sides = sorted((float(said.lower[0]) / coef, float(said.upper[0]) / coef))
        people = round(float(program.region_size[said.region]))
        low, high = max(int(np.ceil(max(sides[0], 0.0) - WHOLE)), 0), int(np.floor(min(sides[1], people) + WHOLE))
        held, source = program.regions[said.region], str(said.origin)
        key = held.tobytes(), int(klass[0])
        if (known := found.get(key)) is not None:
            low, high, source = max(low, known.low), min(high, known.high), known.source
        found[key] = StatedCell(source, held, key[1], people, low, high, low == high)
    found |= _other_classes(found, program.n_classes - program.release.target.register)
    left = {key: cell for key, cell in found.items() if not cell.exact}
    every = True
    for key, cell in _left_out(program):
        others = (key[0], 1 - key[1]) if program.single and program.n_classes == 2 else key
        if key not in found and others not in found:
            if not (every := len(left) < ASKED):
                break
            found[key] = left[key] = cell
    rows = sum(said.rows for said in program.linear)
    asked = len(left) <= ASKED and rows * len(program.cells) <= SIZE and not program.contradictions
    if left and asked:
        for key, (low, high) in zip(left, _ends(program, list(left.values()), worlds), strict=True):
            cell = found[key]
            found[key] = replace(cell, low=max(cell.low, low), high=min(cell.high, high))
    for cell in [*_references(program, tuple(found.values()))]:
        own = found.setdefault((cell.cells.tobytes(), cell.klass), cell)
        found[own.cells.tobytes(), own.klass] = replace(own, low=max(own.low, cell.low), high=min(own.high, cell.high))
    cells = tuple(found.values())
    if not asked or all(cell.exact for cell in cells):
        return cells, every and (asked or not left)
    cells, complete = _of_whole_people(program, cells, worlds)
    return cells, every and complete


def open_numbers(program: Program, known: Sequence[StatedCell] = ()) -> list[tuple[float, float]]:
    """The fewest and the most people whom printed numbers leave possible: of a class, and of the others beside it.

    They are those of counts, shares, rates and sums with one weight, each by itself. Numbers that are ``known``, for
    they follow from everything together, leave nothing open. Others who are all suppressed are not printed.
    """
    settled = {(cell.cells.tobytes(), program.release.target.classes[cell.klass]) for cell in known if cell.exact}
    ends: dict[tuple[str, bytes, frozenset[str]], tuple[float, float]] = {}
    hidden, printed = set[tuple[str, bytes, str]](), set[tuple[str, bytes, str]]()
    for document in program.release.statements:
        people, told = document.people(program.table), document.target
        rows = (
            row
            for one in document.statements
            if isinstance(one.content, (CountsInCells, LinearSum))
            for row in one.rows(people)
        )
        for row in rows:
            held = row.weights != 0
            if row.klass is None or not held.any() or (row.weights[held] != (weight := row.weights[held][0])).any():
                continue
            name, at = told.classes[row.klass], (told.name, held.tobytes())
            (hidden if row.suppressed else printed).add((*at, name))
            if row.suppressed or (np.flatnonzero(held[program.cells.owner]).tobytes(), name) in settled:
                continue
            number, sides = float(people.counts[held].sum()), sorted((row.low / weight, row.high / weight))
            low, high = max(np.ceil(sides[0] - WHOLE), 0.0), min(np.floor(sides[1] + WHOLE), number)
            for of, least, most in (({name}, low, high), ({*told.classes} - {name}, number - high, number - low)):
                if low > 0 or high < number:
                    before = ends.get(key := (*at, frozenset(of)), (0.0, np.inf))
                    ends[key] = max(before[0], least), min(before[1], most)
    return [
        (low, high)
        for (*at, of), (low, high) in ends.items()
        if low < high and not all((*at, name) in hidden - printed for name in of)
    ]


def _other_classes(found: Mapping[tuple[bytes, int], StatedCell], classes: int) -> dict[tuple[bytes, int], StatedCell]:
    """The cells of the other classes where several, not all, are counted: nobody may be left for these."""
    counted: dict[bytes, list[StatedCell]] = {}
    for (held, _), cell in found.items():
        counted.setdefault(held, []).append(cell)
    return {
        (held, klass): replace(group[0], klass=klass, low=0, high=group[0].people, stated=False)
        for held, group in counted.items()
        for klass in range(classes if len(group) > 1 else 0)
        if (held, klass) not in found
    }


def _left_out(program: Program) -> Iterator[tuple[tuple[bytes, int], StatedCell]]:
    """The cells and margins by whose columns statements count people of a class, listed or not, by cells and class."""
    target = program.release.target
    classes = target.classes[:-1] if target.register else target.classes
    for document in program.release.statements:
        for row in document.cells(program.table, classes):
            assert row.klass is not None
            held = np.flatnonzero(row.weights[program.cells.owner])
            people = round(float(row.weights @ program.table.counts))
            yield (held.tobytes(), row.klass), StatedCell(row.source, held, row.klass, people, 0, people, False)


def _of_whole_people(
    program: Program, cells: Sequence[StatedCell], worlds: Sequence[IntArray]
) -> tuple[tuple[StatedCell, ...], bool]:
    """The same numbers as whole people settle them, and whether all are known or seen to differ.

    They are not where no whole people satisfy the statements.
    """
    low, high = np.array([[cell.low, cell.high] for cell in cells], np.int64).T
    settled = Settled(program, [(cell.cells, cell.klass) for cell in cells], low, high)
    for world in worlds:
        settled.see(world)
    settled.ask()
    ends = zip(cells, settled.low.tolist(), settled.high.tolist(), strict=True)
    complete = not (settled.unsettled | (settled.low > settled.high)).any()
    return tuple(replace(cell, low=a, high=b) for cell, a, b in ends), complete


def _of_column(cell: StatedCell) -> tuple[str, str] | None:
    """The regression whose coefficient of a value a cell is about, and the column; None of other cells."""
    statement, is_term, term = cell.source.partition(COEFFICIENT)
    column, is_value, _ = term.partition("=")
    return (statement, column) if is_term and is_value else None


def _references(program: Program, cells: Sequence[StatedCell]) -> Iterator[StatedCell]:
    """People with the value of a column that has no coefficient: all others, where these and all are known."""
    everybody = {(cell.source, cell.klass): cell for cell in cells if cell.people == round(float(program.individuals))}
    columns: dict[tuple[str, str, int], list[StatedCell]] = {}
    for cell in cells:
        if (of := _of_column(cell)) is not None:
            columns.setdefault((*of, cell.klass), []).append(cell)
    for (statement, column, klass), named in columns.items():
        whole = everybody.get((f"{statement}{COEFFICIENT}intercept", klass))
        named_cells = np.concatenate([cell.cells for cell in named])
        rest = np.setdiff1d(np.arange(len(program.cells)), named_cells)
        if whole is None or not len(rest) or len(np.unique(named_cells)) < len(named_cells):
            continue
        people = whole.people - sum(cell.people for cell in named)
        low = max(whole.low - sum(cell.high for cell in named), 0)
        high = min(whole.high - sum(cell.low for cell in named), people)
        if low <= high:
            source = f"{statement}{COEFFICIENT}{column}=(reference)"
            yield StatedCell(source, rest, klass, people, low, high, False)


def _ends(program: Program, asked: list[StatedCell], worlds: list[IntArray]) -> Iterator[tuple[int, int]]:
    """The least and the largest number of people of a class in some regions, rounded; whole ones join ``worlds``."""
    aims = np.zeros((len(asked), len(program.cells), program.n_classes))
    for aim, cell in zip(aims, asked, strict=True):
        aim[cell.cells, cell.klass] = 1.0
    people = int(program.individuals)
    for low, high in sum_ends(program, aims, worlds.append):
        yield (
            0 if not np.isfinite(low) else int(np.ceil(low - WHOLE)),
            people if not np.isfinite(high) else int(np.floor(high + WHOLE)),
        )


def may_contradict_whole(program: Program, *, complete: bool) -> bool:
    """Whether whole people are asked if they contradict statements; ``complete``: all numbers of people are settled.

    Settled numbers say nothing of statements that are not linear.
    """
    return (not complete or cases_of(program) is not None) and installed("ortools") and is_quick(program)


def cells_summary(program: Program, cells: Sequence[StatedCell], complete: bool) -> dict[str, Any]:
    """What statements tell of numbers of people, as `stated_cells` found them, ready for JSON.

    ``cells`` (numbers of people of a class that statements are about, or that a table leaves out), ``exact`` (those
    that are known), ``follow`` (of these the ones that no statement prints: they follow from all together),
    ``smallest`` (the smallest known number of a class, or of the others in its cell, above 0; None without one),
    ``zeros`` (cells of nobody, or of everybody in them), ``people`` (whose class such a cell settles on its own),
    ``complete`` (whether everything was asked), ``words``: a sentence for each source, and ``unprinted``: the groups
    whose number follows and that nothing prints, the smallest first, no more than `DESCRIBED`.
    """
    exact = [cell for cell in cells if cell.exact]
    positive = [part for c in exact for part in (c.low, c.people - c.low) if part]
    plain = [c for c in exact if c.low in (0, c.people)]
    known = [c.cells for c in plain if c.low or program.n_classes == 2]
    who = np.unique(program.cells.owner[np.concatenate(known)]) if known else np.empty(0, np.int64)
    hidden = sorted((c for c in exact if not c.stated), key=lambda c: (min(c.low, c.people - c.low), c.people))
    return {
        "cells": len(cells),
        "exact": len(exact),
        "follow": sum(not cell.stated for cell in exact),
        "smallest": min(positive, default=None),
        "zeros": len(plain),
        "people": int(program.table.counts[who].sum()) if program.single else None,
        "complete": complete,
        "words": list(_words(program, cells)),
        "unprinted": [_described(program, cell) for cell in hidden[:DESCRIBED]],
    }


def _described(program: Program, cell: StatedCell) -> dict[str, Any]:
    """A group whose number is known, ready for JSON."""
    klass = program.release.target.classes[cell.klass]
    said = {"source": cell.source, "class": klass, "number": cell.low, "people": cell.people}
    return {**said, "who": who_in(program, cell.cells, _columns(program, cell))}


def _columns(program: Program, cell: StatedCell) -> set[str]:
    """The columns by which the statements that a cell follows from tell people apart; of a coefficient its own."""
    if (of := _of_column(cell)) is not None:
        return {of[1]}
    said = [(f"{each.name}, {one.source}", one) for each in program.release.statements for one in each.statements]
    return {column for source, one in said if source in cell.source for column in one.columns}


def who_in(program: Program, cells: IntArray, own: AbstractSet[str] = frozenset()) -> str:
    """Who is in some cells: the fewest values of columns that say it, or else the first of the people.

    Columns that are ``own`` to what is said of them come before others.
    """
    table, owners = program.table, np.unique(program.cells.owner[cells])
    some = "" if program.single else "some of: "
    conditions: list[tuple[str, BoolArray]] = []
    kept_last: dict[str, tuple[bool, bool]] = {}
    for attribute, level, codes in zip(table.attributes, table.levels, table.codes.T, strict=True):
        seen = np.unique(codes[owners])
        inside, values = np.isin(codes, seen), [value_in_words(level[code]) for code in seen.tolist()]
        ranged = attribute.values is None and not np.isnan(level[seen].astype(float)).any()
        if ranged:
            inside, values = (codes >= seen[0]) & (codes <= seen[-1]), list(dict.fromkeys([values[0], values[-1]]))
        text = f"{attribute.name} {(' to ' if ranged else ' or ').join(values)}"
        kept_last[text] = attribute.name in own, " to " not in text
        conditions += [(text, inside)] * (len(values) <= VALUES and not inside.all())
    needed = conditions
    for each in sorted(conditions, key=lambda each: kept_last[each[0]]):
        others = [one for one in needed if one is not each]
        if _inside(others, len(table)).sum() == len(owners):
            needed = others
    if len(owners) > 1 and _inside(needed, len(table)).sum() == len(owners):
        return some + (", ".join(text for text, _ in needed) or "everybody")
    more = len(owners) - NAMED
    named = [table.describe(i) for i in owners[:NAMED].tolist()] + [f"{more:,} more"] * (more > 0)
    return some + "; ".join(named)


def _inside(conditions: Sequence[tuple[str, BoolArray]], n_qi: int) -> BoolArray:
    """Who satisfies all conditions, shape (n_qi,)."""
    return np.asarray(np.logical_and.reduce([inside for _, inside in conditions] or [np.ones(n_qi, bool)]))


def _words(program: Program, cells: Sequence[StatedCell]) -> Iterator[str]:
    """A sentence for each source of numbers that are known, and each column of a regression."""
    classes = program.release.target.classes
    sources: dict[tuple[str, str, int], list[StatedCell]] = {}
    for cell in cells:
        whole = cell.source.partition(", cell ")[0].partition(", rule ")[0].removesuffix(f"{COEFFICIENT}intercept")
        whole = whole.partition(NUMBERED)[0]
        sources.setdefault((*(_of_column(cell) or (whole, "")), cell.klass), []).append(cell)
    alone = len({source for source, _, _ in sources} - {TOGETHER}) == 1 and not program.release.published
    rated = any(said.kind == "marginal" for said in program.linear)
    beside = (", with the base rate," if rated else "") if alone else ", with what else is published,"
    for (source, column, klass), group in sources.items():
        known = [cell for cell in group if cell.exact]
        numbers = [cell.low for cell in known if cell.low]
        if not known:
            continue
        who = "" if len(known) > 1 else who_in(program, known[0].cells, _columns(program, known[0]))
        often = (
            f"in {len(known)} groups" if not who else "of everybody" if who == "everybody" else f"in a group ({who})"
        )
        if column:
            often = (
                f"in every {column}"
                if len(known) == len(group)
                else f"in {len(known)} of {len(group)} values of {column}"
            )
        apart = "zeros apart, " if len(numbers) < len(known) else ""
        small = f"it is {known[0].low:,}" if len(known) == 1 else f"{apart}the smallest is {min(numbers, default=0):,}"
        small = small if numbers or len(known) == 1 else "0 in each"
        follow = sum(not cell.stated for cell in known)
        many = "" if follow == len(known) else f"{follow} of "
        also = f", {many}which it does not print" if follow else ""
        if any(COEFFICIENT in cell.source for cell in group):  # a regression prints no number of people
            also = f", {many}which follow{'s' * (follow == 1)} from others" if column and follow else ""
        whole = f"{source}{beside * (follow > 0 and source != TOGETHER)}"
        yield f"{whole} gives the number of {classes[klass]} {often}{also}: {small}"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Statements that contradict each other, each with what it says; none where none do.

    ``fewest``: it is proved that none can be left out. ``whole``: fractions of people could satisfy them, whole people
    cannot.
    """

    said: tuple[tuple[Origin, str], ...] = ()
    fewest: bool = True
    whole: bool = False


def contradicting(program: Program, clock: Clock, *, whole: bool = False) -> Contradiction:
    """The fewest linear statements that contradict each other: sources, and of these the rows.

    ``whole``: whole people are asked where fractions of people show no contradiction. Nothing is found where all
    statements can hold together, or time is up. A single one contradicts the table. From the rows with a multiplier
    in the program of least violation, which contradict each other, one source after another is left out where the
    rest still does (a deletion filter), so that in the end none can be; then one row of these after another.
    """
    cases = cases_of(program)
    by_cases = {} if cases is None else {each.source: each.says for each in cases.statements}
    wrong = [each for each in program.contradictions if each.origin.node is None and str(each.origin) not in by_cases]
    if wrong:
        return Contradiction(((wrong[0].origin, wrong[0].says),))
    if not program.linear:
        return Contradiction()
    misses, unsure = Misses(program, clock), False

    def least(kept: AbstractSet[Source], of: Callable[[Linear], Source]) -> set[Source]:
        """Of some sources or rows those that contradict each other; none where they can, or time is up."""
        nonlocal unsure
        answer, which = misses.contradict(np.array([of(row) in kept for row in program.linear]))
        unsure |= answer is None
        return {of(program.linear[i]) for i in which.tolist()}

    def filtered(kept: AbstractSet[Source], of: Callable[[Linear], Source]) -> set[Source]:
        core = least(kept, of)
        for each in sorted(core):
            if each in core and len(core) > 1 and (fewer := least(core - {each}, of)):
                core = fewer
        return core

    def rows(names: Container[Source]) -> dict[Source, Linear]:
        """The rows of some sources; those that go through cases as one."""
        found: dict[Source, Linear] = {}
        for row in program.linear:
            if source_of(row) in names:
                found.setdefault(source_of(row) if str(row.origin) in by_cases else row_of(row), row)
        return found

    def named(said: Mapping[Source, Linear], core: Container[Source]) -> tuple[tuple[Origin, str], ...]:
        return tuple((row.origin, by_cases.get(name[0], row.says)) for name, row in said.items() if name in core)

    core = filtered({source_of(row) for row in program.linear}, source_of)
    if not any(name in by_cases for name, _ in core) and (core or not (whole or by_cases)):
        said = rows(core)
        return Contradiction(named(said, filtered(said.keys(), row_of) or said), not unsure)
    find: Callable[[Sequence[Sequence[Source]]], Fewest]
    if whole:
        find = partial(contradicting_whole, program, clock, contradict)
    else:
        find = partial(fewest, contradict=partial(contradict, program, clock, whole=False))
    everything = tuple(dict.fromkeys(map(source_of, program.linear)))
    names, proved = find([some for some in (tuple(sorted(core)), everything) if some])
    said = rows(names)
    fewer, sure = find([tuple(said)]) if len(said) > len(names) else (tuple(said), True)
    return Contradiction(named(said, fewer or said), proved and sure, whole=whole)
