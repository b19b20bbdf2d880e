"""From a case to a program and its answer, in the time that there is, or with the reason why there is no answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maxent.api import options
from maxent.constraints.compiler import check_options, compile_program, has_likelihood, unread_beside_draws
from maxent.constraints.kinds.context import Noise
from maxent.constraints.kinds.registry import knowledge as choices_of_knowledge
from maxent.constraints.program.program import UNPROVED, Program
from maxent.models.arguments import shorten
from maxent.models.errors import ARGUMENT, Check, InvalidInput, NoAnswerInTime, Origin, Problem, unchecked
from maxent.models.files.json_files import uncollected
from maxent.models.release import Release
from maxent.solvers.backend import Backend, Options
from maxent.solvers.control import LAST, SOON, Clock, OutOfTime, Watch, in_time, watched
from maxent.solvers.solution import Stop
from maxent.solvers.solve.driver import Outcome, Progress, solve_program

if TYPE_CHECKING:
    from maxent.api.case import Case
    from maxent.constraints.rows import RowSystem
    from maxent.solvers.certainty.exchange import FalseStatement


@dataclass(frozen=True, kw_only=True)
class Knowledge(options.Informed, options.InexactNumbers, options.Kinds):
    """Knowledge of the adversary: parameters of `estimate`.

    With ``no_marginal`` verdicts are about somebody who does not know the base rate, with ``rows_unknown``, a reason,
    about somebody who does not know which row of the training data is whose.
    """

    rows_unknown: str | None = None

    def of_verdict(self, case: Case) -> Case:
        """The case that limits are about: of an adversary who also knows how many people have each class."""
        return case if self.no_marginal or self.knowledge is not None else case.knowing_classes()

    @property
    def kinds(self) -> list[str] | None:
        """Kinds of knowledge, None for all that are published."""
        if isinstance(self.knowledge, str):
            return [kind.strip() for kind in self.knowledge.split(",")]
        if not (self.knowledge is None or isinstance(self.knowledge, Iterable)):
            expected = "a string or strings, such as 'label,rate'"
            raise InvalidInput("options", [Problem(ARGUMENT, "knowledge", expected, shorten(self.knowledge))])
        return None if self.knowledge is None else list(self.knowledge)

    def check(self) -> None:
        """Refuse what no release makes right, with an InvalidInput that names every parameter."""
        check_options(frozenset(self.kinds or ()), self.impurity, self.rounding, self.confidence, self.noise)


def noise_of(*releases: Release) -> Noise:
    """How counts are read unless the call says it: draws, and those with noise, by their likelihood."""
    return "likelihood" if any(map(has_likelihood, releases)) else "intervals"


def system_of(case: Case, known: Knowledge, check: Check = unchecked) -> RowSystem:
    """What a case tells of single rows of its table, whose order the adversary knows."""
    from maxent.constraints.rows import row_system

    releases = (case.release,) if case.joined is None else case.joined.parts
    beside: dict[str, Any] = {"knowledge": known.kinds, "marginal": case.of_each_class, "facts": case.facts or ()}
    return row_system(releases, case.people, **beside, check=check)


# Seconds that linear programs about rows may take before an estimate.
ROWS = 10.0


def compile_case(
    case: Case, known: Knowledge, enough: Callable[[], bool] = lambda: False, check: Check = unchecked
) -> Program:
    """Everything that a case tells an adversary; records are used whole.

    Of rows in training order it has what is proved of each by equations and linear programs.
    """
    program = compile_beside(case, known, enough, check)
    if not case.rows:
        return program
    from maxent.constraints.rows import row_program
    from maxent.solvers.certainty.rows import prove

    system = system_of(case, known, check)
    proof = prove(system, "linear", Clock(ROWS), program)
    found = row_program(system, proof.low, proof.high, program, proof.numbers)
    wrong = found.contradictions if proof.consistent else proof.contradictions
    notes = (*found.notes, proof.in_words())
    return replace(found, contradictions=wrong, notes=notes, row_equations=proof.as_dict())


def compile_beside(
    case: Case, known: Knowledge, enough: Callable[[], bool] = lambda: False, check: Check = unchecked
) -> Program:
    """The program of a case without equations about rows, and without what these say more exactly."""
    if case.records is not None:
        from maxent.constraints.records import compile_records

        return compile_records(case.records, case.people, case.facts or (), case.covering(check))
    given: dict[str, Any] = {
        "knowledge": known.kinds,
        "impurity": known.impurity,
        "marginal": case.of_each_class,
        "facts": case.facts or (),
        "rounding": known.rounding,
        "confidence": known.confidence,
        "noise": _noise(case, known),
        "enough": enough,
        "cells": case.cells(check),
        "check": check,
    }
    if case.rows and case.joined is None and case.release.draws is not None:  # equations about rows say all of it
        kinds = frozenset(choices_of_knowledge() if known.kinds is None else known.kinds)
        beside = kinds & (set() if case.of_each_class is None else {"marginal"})
        given |= {"knowledge": beside, "noise": "intervals"}
        program = compile_program(case.release, case.people, **given)
        told = case.release if "counts" in kinds else program.release
        return replace(program, release=told, unread=unread_beside_draws(case.release, kinds), notes=())
    if case.members is not None:
        from maxent.constraints.membership import compile_population

        return compile_population(case.release, case.people, case.members, **given)
    if case.joined is not None:
        from maxent.constraints.compiler import compile_several

        program = compile_several(case.joined, case.people, **given)
        named = zip(case.joined.names, case.joined.parts, strict=True)
        program = replace(program, files=tuple(name for name, part in named for _ in part.trees))
    else:
        program = compile_program(case.release, case.people, weighed=case.weighed, **given)
    return _without_draws(case, program) if case.rows else program


def _noise(case: Case, known: Knowledge) -> Noise:
    """What counts are taken for; draws of rows for what is certain of them."""
    releases = [case.release] if case.joined is None else [*case.joined.parts]
    drawn = case.rows and case.release.target.numbers is None and any(r.resampled is not None for r in releases)
    return noise_of(*releases) if drawn or known.noise is None else known.noise


def _without_draws(case: Case, program: Program) -> Program:
    """A program without the trees whose draws are known. Equations about rows say exactly what these trees say."""
    releases = [case.release] if case.joined is None else [*case.joined.parts]
    told = [release.draws is not None for release in releases for _ in release.trees]
    return replace(
        program,
        linear=tuple(said for said in program.linear if said.origin.node is None or not told[said.origin.tree or 0]),
        internal=tuple(said for said in program.internal if not told[said.tree]),
        notes=() if all(told) else program.notes,
        likelihood=None,
    )


# Statements that contradict each other of which each is shown, and others that it names.
SHOWN, NAMED = 6, 4


def refuse_contradictions(
    program: Program, status: str, clock: Clock | None = None, *, whole: bool = False, case: Case | None = None
) -> None:
    """Refuse statements that contradict each other or the table, and name the smallest set that does.

    ``clock``: of a call that has found that there is one, which is refused though no time is left to name it. Without
    one it is asked whether there is. ``whole``: whole people are asked, too, where fractions of people show no
    contradiction. With the truth in ``case`` the statements that it refutes come first.
    """
    if status == "inconsistent" and (problems := [*contradiction_problems(program, clock, whole=whole, case=case)]):
        raise InvalidInput("statements", problems)


def false_of(case: Case, program: Program) -> Iterator[FalseStatement]:
    """What a program states and the true classes of its case refute; nothing without these."""
    if case.truth is None:
        return iter(())
    from maxent.solvers.certainty.exchange import false_statements

    parts = (case.release,) if case.joined is None else case.joined.parts
    by_chance = [part.sampled for part in parts for _ in part.trees]
    return false_statements(program, case.truth, by_chance=by_chance, splits=not case.stands_in)


def stated_problems(program: Program) -> list[Problem]:
    """The same problems. Whole people are asked where fractions show none, and numbers of people are left open."""
    problems = [*contradiction_problems(program, shown=None)]
    if problems or not program.release.statements:
        return problems
    from maxent.solvers.certainty.stated import listed_cells, may_contradict_whole

    whole = may_contradict_whole(program, complete=listed_cells(program, [])[1])
    return [*contradiction_problems(program, whole=True, shown=None)] if whole else []


def contradiction_problems(
    program: Program,
    clock: Clock | None = None,
    *,
    whole: bool = False,
    case: Case | None = None,
    shown: int | None = SHOWN,
) -> Iterator[Problem]:
    """A problem for each of the fewest statements that contradict each other or the table; none where none does."""
    if not program.release.statements:
        return
    from maxent.solvers.certainty.stated import contradicting
    from maxent.solvers.certainty.sums import SEARCH

    left = None if clock is None else clock.left()
    wrong = contradicting(program, Clock(SEARCH if left is None else min(SEARCH, left + SOON)), whole=whole)
    named = tuple(f"{each.name}, " for each in program.release.statements)
    if not wrong.said and not wrong.fewest and clock is not None:
        found = "a contradiction (there was no time to find the smallest set that contradicts itself)"
        yield Problem(named[0].removesuffix(", "), "statements", "what can be true together and of the table", found)
    if not any(origin.place.startswith(named) for origin, _ in wrong.said):
        return
    people = "whole people" if wrong.whole else "the people"
    false = {} if case is None else {(str(each.origin), each.says): each.true for each in false_of(case, program)}
    said = sorted(wrong.said, key=lambda each: (str(each[0]), each[1]) not in false)
    places = [_place(program, origin) for origin, _ in said]
    for i, (place, (origin, says)) in enumerate(zip(places[:shown], said, strict=False)):
        true = false.get((str(origin), says))
        beside = [at + f" ({other})" * (places.count(at) > 1) for at, (_, other) in zip(places, said, strict=True)]
        others = "; ".join([*beside[:i], *beside[i + 1 :]][:NAMED])
        more = f" and {len(wrong.said) - 1 - NAMED} more" if len(wrong.said) > NAMED + 1 else ""
        of = " of whole people" if wrong.whole else ""
        together = f"what can be true{of} together with {others}{more}"
        expected = together if others else f"what {people} of the table can have"
        expected += "" if wrong.fewest else UNPROVED
        says += f", where the true classes give {true}" if true else ""
        yield Problem(place, "statement", expected, says)


def _place(program: Program, origin: Origin) -> str:
    """An origin with the file that its tree is from, where that is known."""
    if origin.tree is None or not program.files:
        return str(origin)
    name = program.files[origin.tree]
    number = None if program.files.count(name) == 1 else origin.tree - program.files.index(name)
    return f"{name}, {replace(origin, tree=number)}"


class Interrupted(KeyboardInterrupt):
    """Work that was given up before there was any answer, as a clock heard of Ctrl-C."""


def compile_in_time(case: Case, known: Knowledge, clock: Clock) -> Program:
    """The program of a case, without the comparisons of splits that there is no time for.

    Raises `NoAnswerInTime` when time is up before any answer, `KeyboardInterrupt` when somebody asked to stop.
    """
    watch = Watch(clock, "nobody was placed yet")

    # In the thread that works: the search goes on for seconds among millions of nodes, and nobody looks at a clock
    # meanwhile. So it is also left out of work that is left behind.
    @uncollected()
    def compiled() -> Program:
        return compile_case(case, known, lambda: clock.late() > SOON, watch)

    shorter = "fewer trees, or less --knowledge, take less"
    with suppress(OutOfTime), watched("compiling", lambda: watch.far, shorter, clock):
        program = in_time(clock, compiled, LAST)
        if program is not None:
            return program
    if clock.stop() is Stop.INTERRUPTED:
        raise Interrupted
    raise NoAnswerInTime(clock.limit or 0.0, watch.far)


def solve_in_time(
    program: Program,
    solver: Backend,
    settings: Options,
    progress: Progress,
    meanwhile: Callable[[Outcome], object] = lambda outcome: None,
) -> Outcome:
    """The answer to a program; raises `NoAnswerInTime` or `KeyboardInterrupt` before there can be any."""
    try:
        return solve_program(program, solver, settings, progress, meanwhile)
    except OutOfTime as error:
        if error.why is Stop.INTERRUPTED:
            raise Interrupted from None
        statements = len(program.linear) + len(program.internal)
        far = f"{statements:,} statements about {len(program.cells):,} cells were compiled, and too many to evaluate"
        raise NoAnswerInTime(settings.clock.limit or 0.0, far) from None
