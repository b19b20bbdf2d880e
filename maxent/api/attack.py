"""Structural attacks on releases, on successive releases, and on generalised records."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.api.by_target import case_of
from maxent.api.case import Case, Tables
from maxent.attacks.beside import ToldApart, smallest_told_apart, stated_groups, told_apart
from maxent.attacks.findings import Difference, TreeAudit, audit_tree, difference
from maxent.attacks.linking import (
    CountBounds,
    Links,
    Printed,
    audit_risk,
    known_records,
    link,
    narrowed,
    printed_in,
    stated_bounds,
    within_moments,
)
from maxent.constraints.compiler import interval_problems
from maxent.constraints.kinds.boosted_leaves import LeafCounts, leaf_counts, none, unusable
from maxent.constraints.program.cells import place_sizes
from maxent.constraints.program.program import Program, unread_in
from maxent.constraints.records import row_contradictions
from maxent.models.arguments import is_whole, shorten, up_to_largest
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.columns import Statements
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.formats.release_reader import Records
from maxent.models.nodes import parts_in_words, statements_of
from maxent.models.reading import Noticed, Reading
from maxent.models.release import Release
from maxent.models.statements.statement import CountsInCells
from maxent.models.tables.frame import Source
from maxent.models.tables.qi_table import QITable
from maxent.models.trees.places import Places, number_places
from maxent.models.trees.printed_rates import RateReader, Rounding, release_rates
from maxent.results.audit import Audit
from maxent.results.records import RecordsAudit
from maxent.results.reliability import NOT_ABOUT_THEM, warn_unreliable

if TYPE_CHECKING:
    from maxent.models.tables.truth_and_facts import Fact

# Auditing several releases about overlapping people: the nodes of each, and how it prints error rates.


def published_nodes(case: Case) -> list[int]:
    """The nodes of each tree that were published: the leaf of those who are not in its release is its last one."""
    joined = case.joined
    if joined is None:
        return [len(tree.nodes) for tree in case.release.trees]
    parts = enumerate(joined.parts)
    return [len(tree.nodes) - joined.partial(i) for i, part in parts for tree in part.trees]


def rates_of(case: Case, sizes: Sequence[FloatArray] | None, rounding: Rounding) -> list[RateReader]:
    """How the error rates of each tree were printed: those of a release in one way, of several each in its own."""
    if case.joined is None:
        return [release_rates(case.release, sizes, rounding)] * len(case.release.trees)
    found = []
    for part, first in zip(case.joined.parts, case.joined.first, strict=True):
        own = None if sizes is None else sizes[first : first + len(part.trees)]
        found += [release_rates(part, own, rounding)] * len(part.trees)
    return found


# Auditing generalised records: the structural attacks, on their groups and on the people of the adversary's table.


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


def audit_case(
    case: Case,
    *,
    min_size: int = 1,
    background: int = 1,
    rounding: Rounding = "auto",
    risk: bool = False,
    knowledge: Collection[str] | None = None,
    intervals: Program | None = None,
    refuse: bool = False,
) -> Audit | RecordsAudit:
    """The structural attacks on a case; parameters and a warning are those of `audit`.

    ``knowledge``: kinds of statements that are known, as of `maxent.estimate`; None: all. ``intervals``: the program
    whose intervals stand for draws and noisy counts, of the table's people; None: these prove nothing of people.
    ``refuse``: whether statements that contradict each other or the table are looked for, and refused.
    """
    check_options(case.table, rounding, min_size=min_size, background=background)
    if case.records is not None:
        return audit_covering(case, min_size, background)
    options: dict[str, Any] = {"min_size": min_size, "background": background, "knowledge": knowledge}
    if intervals is not None:
        case = replace(case, release=replace(case.release, noise=None, resampled=None, draws=None))
        options["intervals"] = intervals
    program = None
    if case.release.statements and case.table is not None:
        from maxent.api.compile import Knowledge, compile_case, refuse_contradictions
        from maxent.solvers.certainty.stated import may_contradict_whole

        program = compile_case(case, Knowledge(rounding=rounding, knowledge=knowledge))
        if refuse:
            refuse_contradictions(program, "inconsistent", case=case)
        options["told"] = told_apart(program)
    found = _audit_trees(case, rounding=rounding, risk=risk, **options)
    parts = [case_of(case, i) for i in range(len(case.release.target.of))]
    alone = [_audit_trees(part, rounding=rounding, risk=False, **options) for part in parts]
    found = replace(found, targets=dict(zip(case.release.target.columns, alone, strict=False)))
    if program is not None:
        found = _with_statements(found, program, options["told"], case.noticed)
        if refuse and may_contradict_whole(program, complete=found.beside["statements"]["complete"]):
            refuse_contradictions(program, "inconsistent", whole=True, case=case)
    if not found.reliable:
        warn_unreliable(NOT_ABOUT_THEM)
    return found


def _with_statements(found: Audit, program: Program, told: ToldApart, noticed: Noticed) -> Audit:
    """The attacks with what statements tell of the people of the table."""
    from maxent.solvers.certainty.stated import cells_summary, open_numbers, stated_cells

    assert found.links is not None
    cells, complete = stated_cells(program)
    counted = [(cell.people, cell.source) for cell in cells if cell.exact]
    counts = program.table.counts
    groups = [(int(counts[group.holds].sum()), group.source) for group in stated_groups(program)]
    group, source = min([*groups, *counted], default=(None, ""))
    sources = tuple(
        f"{said.name}, {each.source}"
        for said in program.release.statements
        for each in said.statements
        if isinstance(each.content, CountsInCells)
    )
    hidden = {
        (program.regions[row.region].tobytes(), *np.flatnonzero(row.coef[0]).tolist()): str(row.origin)
        for row in program.linear
        if str(row.origin).startswith(sources) and row.lower[0] < row.upper[0] and program.region_size[row.region]
    }
    summary = {
        **cells_summary(program, cells, complete),
        "group": group,
        "group_source": source,
        "recovered": [
            hidden[key]
            for cell in cells
            if cell.exact
            and (key := (cell.cells.tobytes(), cell.klass)) in hidden
            and not _of_base_rate(program, cell.people, cell.klass)
        ],
        "told_apart": smallest_told_apart(program, told, found.links),
    }
    wrong = (*found.contradictions, *map(str, program.contradictions))
    unread = [each for each in program.unread if not each.trees]
    left = [each.as_dict("not") for each in (*unread, *unread_in(noticed))]
    beside = {"statements": summary, **({"unread": left} if unread else {})}
    return replace(found, beside=beside, stated=cells, open_numbers=open_numbers(program, cells), contradictions=wrong)


def _of_base_rate(program: Program, people: int, klass: int) -> bool:
    """Whether the number of a class in the whole table, the base rate, tells its number in a group of ``people``."""
    totals = [row.lower[klass] for row in program.linear if row.kind == "marginal"]
    return any(people == program.individuals or total in (0, program.individuals) for total in totals)


def _audit_trees(
    case: Case,
    *,
    rounding: Rounding,
    risk: bool,
    knowledge: Collection[str] | None,
    intervals: Program | None = None,
    told: ToldApart | None = None,
    **options: int,
) -> Audit:
    """The attacks on all trees of a release."""
    release, people = case.release, case.table
    links, sizes = None, None
    if people is not None:
        silent = [bool(release.statements) and tree.of_statements for tree in release.trees]
        nodes = [0 if none else n for none, n in zip(silent, published_nodes(case), strict=True)]
        links = link(case.cells(), people.counts, nodes, None if told is None else told.groups)
        if not release.sampled:  # otherwise the table does not show who is in the sample
            sizes = place_sizes(case.cells(), people.counts)
    risks = audit_risk(release, people) if risk else None
    # Those that people were placed in, where they were: what is known of a tree's places is found once.
    places = (
        [number_places(tree) for tree in release.trees] if people is None else [t.places for t in case.cells().trees]
    )
    said = [statements_of(tree.nodes, release.target.classes) for tree in release.trees]
    if knowledge is not None:
        said = [each.known(knowledge, exact=not release.blurred) for each in said]
    if intervals is not None:
        said = [each.unsaid() for each in said]
    rates = rates_of(case, sizes, rounding)
    differences = difference(release, places, said, rates, sizes)
    scored = _scored(case) if knowledge is None or "counts" in knowledge else none()
    if intervals is not None:
        scored = _in_leaves(intervals)
    printed = None if release.target.numbers is None else printed_in(release)
    trees = tuple(
        _audited(release, number, p, n, s, r, sizes, links, case.facts, d, scored, printed, **options)
        for number, (p, n, s, r, d) in enumerate(
            zip(places, published_nodes(case), said, rates, differences, strict=True)
        )
    )
    notes = tuple(_notes(release, trees, rates, people, scored if intervals is None else none(*intervals.notes)))
    wrong = () if people is None or sizes is None else tuple(_contradictions(trees, people, sizes))
    if intervals is not None:
        wrong += tuple(map(str, intervals.contradictions))
    given = (int(options["min_size"]), int(options["background"]))
    return Audit(release, trees, people, links, *given, case.facts, notes, wrong, risks, case.noticed)


def _audited(
    release: Release,
    number: int,
    places: Places,
    n_nodes: int,
    said: Statements,
    rates: RateReader,
    sizes: Sequence[FloatArray] | None,
    links: Links | None,
    facts: Sequence[Fact] | None,
    found: Difference | None,
    scored: LeafCounts,
    printed: Printed | None,
    **options: int,
) -> TreeAudit:
    """The attacks on one tree, on the leaves among its first ``n_nodes`` places."""
    # A tenth of the time of np.unique.
    leaves = np.flatnonzero(np.bincount(places.whole[places.published[places.published < n_nodes]]))
    shown = None if sizes is None else _together(places, sizes[number])[leaves]
    bounds = stated_bounds(release, said.take(leaves), rates, shown)
    bounds = within_moments(bounds, release, number, leaves, printed)
    bounds = _with_scores(bounds, leaves, scored, number)
    known = None
    if links is not None and facts is not None:
        possible = np.ones((len(places), len(release.target.classes)), bool)
        possible[leaves] = bounds.possible
        known = known_records(facts, links, number, possible)[leaves]
    return audit_tree(places, leaves, bounds, found, known, **options)


def _together(places: Places, sizes: FloatArray) -> FloatArray:
    """Individuals of each place, of a leaf of the tool those of all of its parts; shape (n_places,)."""
    found = np.zeros(len(places))
    np.add.at(found, places.whole, sizes)
    return found


def _scored(case: Case) -> LeafCounts:
    """The counts that the scores of a release prove of the people of a table."""
    release, people = case.release, case.table
    if people is not None:
        return leaf_counts(release, case.cells(), people.counts, weighed=case.weighed)
    if release.boosting is None:
        return none()
    return none(unusable(release) or "scores of leaves state counts of classes, but only of the people of a table (qi)")


def _in_leaves(program: Program) -> LeafCounts:
    """What a program states of single classes in places, each by itself, as counts between two numbers."""
    found = []
    for said in program.linear:
        place = program.regions.places[said.region]
        if place is None or said.weights is not None:
            continue
        alone = ((said.coef != 0).sum(axis=1) == 1) & (said.coef.max(axis=1) == 1)
        for row in np.flatnonzero(alone).tolist():
            found.append((*place, int(said.coef[row].argmax()), np.ceil(said.lower[row]), np.floor(said.upper[row])))
    rows = np.array(found, np.float64).reshape(-1, 5)
    tree, place_of, klass = rows[:, :3].astype(np.int64).T
    return LeafCounts(tree, place_of, klass, np.zeros(len(rows)), rows[:, 3], rows[:, 4])


def _with_scores(bounds: CountBounds, leaves: IntArray, scored: LeafCounts, number: int) -> CountBounds:
    """Bounds of leaves of a tree, narrowed by what their values prove."""
    mine = np.flatnonzero((scored.tree == number) & (scored.slope == 0) & np.isin(scored.place, leaves))
    if not len(mine):
        return bounds
    at = np.searchsorted(leaves, scored.place[mine])
    return narrowed(bounds, at, scored.klass[mine], scored.low[mine], scored.high[mine])


def _notes(
    release: Release,
    trees: Sequence[TreeAudit],
    rates: Sequence[RateReader],
    people: QITable | None,
    scored: LeafCounts,
) -> Iterator[str]:
    """Notes on how the release was read."""
    if release.sampling_rate < 1:
        yield (
            f"the numbers are those of a sample of {release.sampling_rate:.4g} of the records: what they show of the "
            "sample is no proof for the people it was drawn from, but where as many were counted as there are in the "
            "table (maxent estimate takes that in)"
        )
    if release.resampled is not None:
        yield (
            f"the numbers are those of {release.resampled:,} draws with replacement for each tree: a class that was "
            "drawn is there, but what was not drawn may be, too; labels and splits are those of the draws, and "
            "prove nothing of the people (maxent estimate takes in what the draws do prove)"
        )
    if release.noise is not None:
        yield (
            f"counts have noise ({release.noise}): nothing is certain of them (--noise intervals: what their intervals "
            "prove of the people of the table)"
        )
    yield from parts_in_words(release.trees)
    if release.suppressed_below > 1:
        yield f"counts below {release.suppressed_below} are published as 0: a 0 proves nothing, unless n does"
    if release.rounded is not None:
        yield release.rounded.in_words
    yield from dict.fromkeys(each.note for each in rates if each.note)
    yield from scored.notes
    for number, tree in enumerate(trees, 1):
        which = f"tree {number}: " if len(trees) > 1 else ""
        if tree.difference is not None and tree.difference.contradicted:
            yield (
                f"{which}the numbers of inner nodes and leaves do not add up, so nothing is recovered from them; inner "
                "nodes may have been counted after leaves were removed" + (", or the table be of others" * bool(people))
            )
        elif len(tree.recovered) and not tree.recovered_records:
            yield (
                f"{which}the recovered leaves have no records; or inner nodes were counted after leaves were removed, "
                "and tell nothing of them"
            )


def _contradictions(trees: Sequence[TreeAudit], people: QITable, sizes: Sequence[FloatArray]) -> Iterator[str]:
    """Contradictions between a release and the people of the table."""
    for number, tree in enumerate(trees, 1):
        which = f"tree {number}: " if len(trees) > 1 else ""
        stated = tree.bounds.low[:, -1]
        shown = _together(tree.places, sizes[number - 1])[tree.leaves]
        different = tree.bounds.sized & (shown != stated) & ~np.isnan(shown)
        if different.any():
            first = tree.places.tree.nodes[int(tree.leaves[np.argmax(different)])].id
            yield (
                f"{which}{different.sum()} leaves (the first is {first}) do not have as many records as individuals "
                f"of {people.source} reach them"
            )
        elif stated.sum() > people.individuals:
            total = int(stated.sum())
            yield f"{which}the leaves have {total} records, {people.source} has {people.individuals} individuals"


def check_options(
    qi: object,
    rounding: object,
    *,
    facts: object = None,
    count: object = None,
    control: object = None,
    confidence: Any = 0.99,
    noise: object = None,
    **numbers: object,
) -> None:
    """Refuse options of `audit` that are wrong, or that need a table where there is none."""
    problems = [*number_problems(**numbers), *interval_problems(rounding, confidence, noise)]
    for name, value in (("facts", facts), ("count", count), ("control", control)):
        if qi is None and value is not None:
            problems.append(Problem(ARGUMENT, name, "the adversary's table (qi=), which it is about", "none"))
    if problems:
        raise InvalidInput("options", problems)
