"""Registers that hold the people of the data: estimates, bounds, and the figures of an adversary with one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxent.api.case import Case, strangers_left_out
from maxent.api.compile import Knowledge, compile_case, compile_in_time, refuse_contradictions, solve_in_time
from maxent.api.estimate import Solving, compared_with_truth
from maxent.api.proving import AUTO, Proving, proving_seconds
from maxent.constraints.compiler import implied_marginal
from maxent.constraints.kinds.registry import knowledge as choices_of_knowledge
from maxent.constraints.membership import members_of, named, with_bounds
from maxent.constraints.program.program import Program
from maxent.disclosure.baseline import welch
from maxent.disclosure.measures import TOLERANCE
from maxent.disclosure.membership import Membership, membership_of
from maxent.disclosure.sensitive import judged_alone
from maxent.disclosure.truth import right_by, rows_in, shared
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import ARGUMENT, InvalidInput, invalid
from maxent.models.reading import reader_of
from maxent.models.tables.qi_table import QITable, read_qi
from maxent.results.population import PopulationBounds, PopulationEstimate, control_lines, proved_words
from maxent.results.reliability import not_reliable, unwarned, warn_unreliable
from maxent.results.review import LATE
from maxent.solvers.backend import Options
from maxent.solvers.certainty.bounds import Bounds
from maxent.solvers.certainty.levels import Proved, last_level, level_names, prove, untimed
from maxent.solvers.control import Clock, OutOfTime
from maxent.solvers.solve.driver import Outcome, silent, solve_program
from maxent.solvers.solve.symmetrised import averaged

Progress = Callable[[str, int, int], None]

# People of a register times outcomes up to which an estimate asks all levels of proof, as bounds and limits do.
FEW = 100
# Quasi-identifiers that are held to what is proved of them by constraints, at most, and solutions for it.
MOST_HELD, ROUNDS = 2_000, 5
NOBODY = "whole people cannot satisfy all that is stated: shares of people alone can"

# Keys of a row that hold without an estimate that is relied on.
PROVED_KEYS = ("release", "status", "individuals", "base_rate", "exposed", "proved_members", "unread")


def members_in(case: Case) -> int:
    """How many people of the register of a case are in the data."""
    assert case.members is not None
    return case.members


def population_estimate(
    case: Case,
    known: Knowledge,
    how: Solving,
    *,
    interruptible: bool = False,
    progress: Progress | None = None,
    asked: bool = False,
) -> PopulationEstimate:
    """The estimate of a case with a register; parameters and a warning are those of `maxent.estimate`.

    ``asked``: whether limits need all levels of proof, in the time that there is.
    """
    begin, clock = time.perf_counter(), Clock(how.time_limit)
    listening = clock.listening if interruptible else nullcontext
    members = members_in(case)
    there = None if case.inside is None else within(case.inside.people, case.people)
    with listening():
        with strangers_left_out():
            program = compile_in_time(case, known, clock)
        if case.inside is not None and there is not None:
            program = compared_with_truth(replace(case, truth=_of_register(case.inside, there, program)), program)
        compiled = time.perf_counter()
        settings = how.settings(clock, None)
        outcome = solve_in_time(program, how.solver, settings, progress or silent)
        refuse_contradictions(program, outcome.status, clock)
        masses = _masses(program, outcome, how, settings)
        solved = time.perf_counter()
        few = program.individuals * program.n_classes <= FEW
        last = how.bounds or (AUTO if few or asked else level_names()[0])
        patience = clock if how.bounds or not asked else Clock(proving_seconds(clock.left()))
        proved = proved_by_levels(case, known, program, last, patience)
        if proved.status == "inconsistent" and outcome.status == "optimal":
            refuse_contradictions(program, proved.status, clock, whole=True)
            outcome = replace(outcome, status=proved.status, trouble=(*outcome.trouble, NOBODY))
        # An answer that is there is not lost to Ctrl-C while it is measured.
        first = masses
        if outcome.status == "optimal":
            outcome, masses = _held(program, proved.bounds, outcome, masses, how, settings)
        known_of, base = membership_of(
            program,
            masses,
            members,
            proved.bounds,
            max(how.tolerance, TOLERANCE),
            first=first,
            left=left_open(program, proved.bounds, last),
        )
        result = PopulationEstimate(
            program,
            outcome,
            known_of,
            _frequent(case, members) or base,
            outcome.used if how.backend == "auto" else how.solver.name,
            how.tolerance,
            {"compile": case.seconds + compiled - begin, "solve": solved - compiled},
            case.noticed,
            known.no_marginal,
            known.rows_unknown or "",
        )
        if case.inside is not None and there is not None:
            result = _beside(result, case.inside, there, known.confidence)
    if not result.reliable:
        warn_unreliable(f"{not_reliable(outcome.status)}; see notes and contradictions of the result")
    return result


def left_open(program: Program, bounds: Bounds, last: str) -> BoolArray:
    """Of which pairs of a quasi-identifier and an outcome further levels may prove more, shape (n_qi, n_outcomes).

    Of one tree without comparisons of splits, and nothing beside, the first level proves all.
    """
    told = bool(program.internal or program.release.statements) or len(program.release.trees) > 1
    if last in (AUTO, last_level()):
        return bounds.unasked
    return bounds.open if told or not program.single else np.zeros(bounds.low.shape, bool)


def _of_register(inside: Case, there: IntArray, program: Program) -> IntArray | None:
    """The true classes of a register, of which the people in the data are some; None where these are not given."""
    if inside.truth is None:
        return None
    found = np.zeros((len(program.table), program.n_classes), np.int64)
    np.add.at(found[:, :-1], there, inside.truth)
    found[:, -1] = program.table.counts - found.sum(axis=1)
    return found


def _masses(program: Program, outcome: Outcome, how: Solving, settings: Options) -> FloatArray:
    """The masses of an answer: of several optima their mean, unless one is asked for."""
    mean = None if how.single_optimum else averaged(program, outcome, settings)
    point = outcome.point if mean is None else replace(outcome.point, masses=mean.masses)
    return point.cells(program)


def _held(
    program: Program,
    bounds: Bounds,
    outcome: Outcome,
    masses: FloatArray,
    how: Solving,
    settings: Options,
) -> tuple[Outcome, FloatArray]:
    """The answer once more, with constraints of each quasi-identifier that is outside of what is proved of it.

    The last answer that was found stands where these are more than `MOST_HELD`, or there is no time for another.
    """
    counts, tied = program.table.counts[:, None], np.zeros(len(program.table), bool)
    for _ in range(ROUNDS):
        people = program.posterior(masses) * counts
        slack = TOLERANCE * counts
        off = ((people < bounds.low - slack) | (people > bounds.high + slack)).any(axis=1) & ~tied
        if not off.any():
            break
        tied |= off
        if tied.sum() > MOST_HELD:
            break
        bounded = with_bounds(program, np.flatnonzero(tied), bounds.low, bounds.high)
        try:
            again = solve_program(bounded, how.solver, settings)
        except OutOfTime:
            break
        if again.status != "optimal":
            break
        outcome, masses = again, _masses(bounded, again, how, settings)
    return outcome, masses


def _frequent(case: Case, members: int) -> dict[str, float]:
    """The share of the most frequent class among members, where it is stated or known."""
    marginal = _of_each_class(case)
    return {} if marginal is None else {"base_rate": float(marginal.max() / members)}


def _of_each_class(case: Case) -> IntArray | FloatArray | None:
    """How many members are of each class, where it is stated or known."""
    if case.of_each_class is not None:
        return case.of_each_class
    try:
        return implied_marginal(case.release)
    except InvalidInput:
        return None


def population_bounds(case: Case, known: Knowledge, how: Proving, *, interruptible: bool = False) -> PopulationBounds:
    """The bounds of a case with a register; parameters and a warning are those of `maxent.bounds`."""
    begin, clock = time.perf_counter(), Clock(how.time_limit)
    with clock.listening() if interruptible else nullcontext():
        with strangers_left_out():
            program = replace(compile_in_time(case, known, clock), ties=how.ties)
        compiled = time.perf_counter()
        proved = untimed(proved_by_levels(case, known, program, how.last, clock), clock)
        refuse_contradictions(program, proved.status, clock, whole=how.last == level_names()[-1])
    seconds = {"compile": case.seconds + compiled - begin, "prove": time.perf_counter() - compiled}
    result = PopulationBounds(
        program, proved.bounds, proved.status, how.last, seconds, case.noticed, members=members_in(case)
    )
    if not result.reliable:
        warn_unreliable(f"{not_reliable(result.status)}; see notes and contradictions of the result")
    return result


def proved_by_levels(case: Case, known: Knowledge, program: Program, last: str, clock: Clock) -> Proved:
    """Bounds by all levels up to one: first without comparisons of splits, where a quasi-identifier is one cell."""
    if program.single:
        return prove(program, last_level() if last == AUTO else last, clock)
    names = level_names()
    level = names.index(last_level() if last == AUTO else last)
    kinds = known.kinds
    if kinds is None:
        kinds = [kind for kind in choices_of_knowledge() if kind != "marginal" or case.of_each_class is not None]
    kinds = [kind for kind in kinds if kind != "internal"]
    first = prove(compile_case(case, replace(known, knowledge=kinds, impurity=None)), names[min(level, 1)], clock)
    if first.status == "inconsistent" or (level <= 1 and not case.release.private):
        return first  # no level up to linear reads comparisons
    return prove(program, names[level], clock, start=first.bounds)


@dataclass(frozen=True, eq=False)
class PopulationFigures:
    """What an adversary with a register reaches: figures of being a member and of a class.

    ``estimate`` is what they are of. ``right_guesses`` is the share of the members whose class is guessed right: in
    truth where ``in_truth``, else as expected. ``worst`` is the person whose membership and class are most probable,
    ``alike`` is the number of people as badly off.
    ``row`` is what limits are judged by: proofs alone where there was no time for an estimate, nothing where what is
    stated is contradicted; ``why`` is the reason.
    """

    estimate: PopulationEstimate
    certain: int
    certain_proved: int | None
    right_guesses: float
    in_truth: bool
    base_rate: float | None
    worst: dict[str, Any]
    alike: int
    row: dict[str, Any]
    why: str = ""

    @property
    def membership(self) -> dict[str, Any]:
        """The key ``membership`` of a summary."""
        return {**self.estimate.told, "right_guesses": self.right_guesses, "in_truth": self.in_truth}

    @property
    def words(self) -> str:
        """What is inferred of a register, in a sentence."""
        of, base = self.membership, self.base_rate
        least = "not known" if base is None else f"{100 * base:.1f} %"
        how = "in truth" if self.in_truth else "as expected"
        told = (
            f"with a register of {of['people']:,} people, {of['members']:,} of them in the data: largest P(member) "
            f"{of['largest']:.3f}; {proved_words(of)}; known to be in the data and of one class {self.certain:,} by "
            f"the estimate; right guesses about members "
            f"{100 * self.right_guesses:.1f} % {how} (base rate {least})"
        )
        return "; ".join(filter(None, (told, *control_lines(self.estimate.control), self.why)))


def population_figures(case: Case, known: Knowledge, how: Solving, *, asked: bool = False) -> PopulationFigures:
    """The figures of an adversary with the release of a case and its register, which holds the people of the table.

    ``case``: a release of trees, the people of the data, perhaps with their classes, and ``register``. How frequent
    classes are is known where the adversary of verdicts knows it (`Knowledge.of_verdict`). ``known``, ``how`` and
    ``asked``: as for `population_estimate`.
    """
    informed, given = known.of_verdict(case), case.register
    assert given is not None
    named(case.release)
    with strangers_left_out():
        table = read_qi(given.source, case.release, count=given.count, reader=reader_of(given.reading))
    n = case.table.individuals if given.people is None and case.table is not None else given.people
    members = members_of(case.release, table, n)
    inside = None if case.table is None else case
    register = Case(case.release, table, marginal=informed.of_each_class, members=members, inside=inside)
    with unwarned():
        found = population_estimate(register, known, how, asked=asked)
    known_of = replace(found.membership, sensitive=case.sensitive)
    in_truth, (worst, klass, sure) = found.right is not None, known_of.worst
    right = known_of.right_guesses if found.right is None else found.right
    inferred = {"probability": float(known_of.joint[worst, klass]), "member": float(known_of.member[worst])}
    row = found.numbers
    if case.sensitive:
        row["sensitive"] = _alone(known_of, register, case)
    certain, most = row["certain"], row["proved_most"]
    if not found.reliable:
        row = _proved_alone(row) if found.outcome.status in LATE else {}
    return PopulationFigures(
        found,
        certain,
        known_of.proved.certain or (None if most or row.get("unread") else 0),
        right,
        in_truth,
        found.base.get("base_rate"),
        {
            "qi": table.named(worst),
            "class": found.classes[klass],
            **({"probability": 1.0, "member": 1.0, "proved": True} if sure else inferred),
        },
        known_of.alike,
        row,
        "" if found.reliable else not_reliable(found.outcome.status),
    )


def _proved_alone(row: Mapping[str, Any]) -> dict[str, Any]:
    """What of a row holds without an estimate that is relied on."""
    kept = {name: row[name] for name in PROVED_KEYS if name in row}
    return kept | ({"sensitive": _proved_alone(row["sensitive"])} if "sensitive" in row else {})


def _alone(found: Membership, register: Case, case: Case) -> dict[str, Any]:
    """The numbers of being a member of a sensitive class, and P(member), which is about no class."""
    truth, of_each, right = case.truth, _of_each_class(register), None
    if truth is not None:
        guess = shared(found.joint)[within(case.people, register.people)]
        right, of_each = (truth * guess).sum(axis=0), truth.sum(axis=0)
    alone = judged_alone(
        case.sensitive, found.counts, found.joint, found.codes, possible=found.possible, of_each=of_each, right=right
    )
    if "base_posterior" in alone:
        alone["base_posterior"] *= found.members / int(found.counts.sum())
    alone["proved_most"] = found.proved_most(case.sensitive)
    return alone | {key: found.measures[key] for key in ("member", "possible_member", "proved_members")}


def _beside(found: PopulationEstimate, case: Case, inside: IntArray, confidence: float) -> PopulationEstimate:
    """An estimate beside the people in the data: guesses that are right in truth, and P(member) of these and others."""
    right, base = None, found.base
    if case.truth is not None:
        right = float(right_by(found.membership.joint[inside], case.truth).sum() / case.truth.sum())
        base = {"base_rate": float(case.truth.sum(axis=0).max() / case.truth.sum()), **base}
    control = _control(found.membership, found.program.table, case, inside, confidence)
    return replace(found, right=right, base=base, control=control or None)


def within(table: QITable, register: QITable) -> IntArray:
    """The row of a register for each row of a table, shape (n_qi,); with an InvalidInput where people are not in it."""
    found = rows_in(table, register)
    missing = np.flatnonzero((found < 0) | (table.counts > register.counts[found]))
    if len(missing):
        row = int(missing[0])
        there = 0 if found[row] < 0 else int(register.counts[found[row]])
        where = f"{table.unit} {table.lines[row]} of {table.source}"
        expected = f"a register that holds all people of the data: {int(table.counts[row]):,} like {where}"
        raise invalid(register.source, ARGUMENT, "population", expected, f"{there:,}")
    return found


def _control(found: Membership, register: QITable, case: Case, inside: IntArray, confidence: float) -> dict[str, Any]:
    """Mean P(member) of the people of the data and of others of the register, and the interval between.

    The others are control people, or without these all who are not in the data; nothing where there are none.
    """
    if case.controls is None:
        rows, many = np.arange(len(register)), register.counts.copy()
        many[inside] -= case.people.counts
    else:
        rows, many = rows_in(case.controls.table, register), case.controls.table.counts
    there = (rows >= 0) & (many > 0)
    if not there.any():
        return {}
    member = found.member[inside], found.member[rows[there]]
    weight = case.people.counts.astype(np.float64), many[there].astype(np.float64)
    means = [float(np.average(each, weights=w)) for each, w in zip(member, weight, strict=True)]
    return {
        "members": means[0],
        "controls": means[1],
        "difference": means[0] - means[1],
        "interval": list(welch(member, weight, confidence)),
        "n_members": int(weight[0].sum()),
        "n_controls": int(weight[1].sum()),
        "of": "register" if case.controls is None else "control",
    }
