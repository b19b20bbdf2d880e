"""Estimates: read, compile, solve, certify, and measure the disclosure."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from maxent.api import options
from maxent.api.calling import takes
from maxent.api.case import Case, Tables, read_case
from maxent.api.compile import Knowledge, compile_case, compile_in_time, false_of, refuse_contradictions, solve_in_time
from maxent.api.proving import Certainty, Drawing, check_level, most_certain, proof_of, proving_seconds
from maxent.constraints.program.program import CHOICES, Program, unread_in
from maxent.disclosure.baseline import baseline_of
from maxent.disclosure.inference import Inference, measure, shares
from maxent.disclosure.limits import Limits, Mend, Verdict
from maxent.disclosure.measures import TOLERANCE, channel_of, leakage, min_capacity
from maxent.models.arguments import check_flags, out_of_range
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import InvalidInput, check_unused
from maxent.models.release import Release
from maxent.results.estimate import Estimate
from maxent.results.reliability import not_reliable, unwarned, warn_unreliable
from maxent.results.solved import Once
from maxent.solvers.backend import Backend, Options
from maxent.solvers.backends.registry import load_backend
from maxent.solvers.control import Clock, OutOfTime, give_back, in_time
from maxent.solvers.solution import Stop
from maxent.solvers.solve.driver import Outcome, Point, silent, solve_program
from maxent.solvers.solve.symmetrised import averaged

if TYPE_CHECKING:
    from maxent.constraints.symmetry import Mixture
    from maxent.disclosure.worst_case import WorstCase


# Everything that is measured of an answer: what it discloses, and the evidence on what that is worth.


def measured(
    case: Case,
    program: Program,
    masses: FloatArray,
    posterior: FloatArray,
    confidence: float,
    *,
    top: int,
    error: float,
    no_marginal: bool = False,
    bounding: Program | None = None,
) -> dict[str, Any]:
    """The disclosure and the evidence of an answer, by their names in `maxent.results.solved.Solved`.

    ``bounding`` is the program with the intervals of draws, where this one has their likelihood.
    """
    counts, truth = program.table.counts, case.truth
    shared = shares(bounding or program, masses, posterior, error, likely=bounding is not None)
    low, high = shared.class_low, shared.class_high
    if program.release.statements:
        from maxent.solvers.certainty.sums import class_ends

        low, high = class_ends(program, low, high)
    baseline = baseline_of(
        program.n_classes, program.individuals, marginal=case.marginal, low=low, high=high, truth=truth
    )
    held, control, frequent = None, None, None if no_marginal else baseline.code
    if truth is not None:
        from maxent.disclosure.truth import in_truth

        held = in_truth(program, masses, posterior, truth, frequent)
        if case.controls is not None:
            from maxent.disclosure.truth import compared

            control = compared(program, masses, posterior, truth, case.controls, confidence, held, frequent)
    disclosure = measure(
        posterior,
        counts,
        truth,
        top=top,
        surest=shared.surest,
        possible=shared.possible,
        tolerance=error,
        right=None if held is None else held.right,
        pure=None if held is None else held.pure,
        baseline=baseline,
        control=control,
    )
    found: dict[str, Any] = {"disclosure": disclosure, "baseline": baseline, "held": held, "control": control}
    if truth is not None and held is not None:
        from maxent.attacks.wp216 import risks

        right = float(held.right.sum() / truth.sum())
        found["wp216"] = risks(program, right, case.controls, control, confidence)
    found["min_capacity"] = min_capacity(channel_of(posterior, counts)[1])
    if case.gain is not None:
        found["leakage"] = leakage(case.gain, posterior, counts, truth)
    if case.sensitive:
        from maxent.disclosure.sensitive import sensitive_of

        compare_with = (case.controls, confidence, baseline.shares)
        alone = sensitive_of(case.sensitive, program, masses, posterior, shared, truth, held, *compare_with)
        found["sensitive"] = alone
    return found


def _by_target(
    case: Case, program: Program, masses: FloatArray, posterior: FloatArray, top: int, error: float
) -> Mapping[str, Inference]:
    """What is inferred of each of several sensitive columns, by its name; empty where there is only one."""
    if not program.release.target.of:
        return {}
    from maxent.api.by_target import inferences

    return inferences(case, program, masses, posterior, top=top, error=error)


Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many pieces of it are done, and how many there are."""

TREES_ONLY = ("knowledge", "impurity", "marginal", "control")
"""Options of `estimate` that cannot be given for records."""


@dataclass(frozen=True, kw_only=True)
class Solving(options.WholeOptions, options.Top, options.SolverOptions, options.ByBackend):
    """Parameters of `estimate` for solving and measuring; ``solver`` is the back end."""

    solver: Backend = field(init=False)

    def __post_init__(self) -> None:
        if problems := out_of_range(self):
            raise InvalidInput("options", problems)
        check_flags(presolve=self.presolve, single_optimum=self.single_optimum)
        if self.bounds is not None:
            check_level("bounds", self.bounds)
        if self.dask is not None:
            from maxent.solvers.solve.dask_cluster import check_address

            check_address(self.dask)
        object.__setattr__(self, "solver", load_backend(self.backend))

    def settings(self, clock: Clock, cluster: Any = None) -> Options:
        """How a program is solved."""
        return Options(
            tolerance=self.tolerance,
            starts=self.starts,
            seed=self.seed,
            presolve=self.presolve,
            floor=self.floor,
            jobs=self.jobs,
            cluster=cluster,
            clock=clock,
        )


@takes(options.ProblemOptions)
def compile_release(call: options.ProblemOptions) -> Program:
    """Everything that a release tells an adversary who holds the table ``qi``, as a `Program`, which `estimate` solves.

    Returns
    -------
    Program
        Frozen.
    """
    case = case_of(call)
    program = compile_case(case, options.of(Knowledge, call))
    notes = (*case.noticed.notes, *program.notes)
    return replace(program, notes=notes, unread=unread_in(case.noticed, program))


def case_of(call: Any, releases: Any = None) -> Case:
    """The case of a call with ``release`` (or ``releases``) and tables; of records, options of trees are refused."""
    of_trees = {name: getattr(call, name, None) for name in TREES_ONLY}
    published = call.release if releases is None else releases
    if getattr(call, "population", None) is not None:
        check_unused("the table of the people in the data, and this is a register (population=)", qi=call.qi)
    return read_case(published, options.of(Tables, call), getattr(call, "target", None), **of_trees)


def estimate_case(
    case: Case,
    known: Knowledge,
    how: Solving,
    *,
    interruptible: bool = False,
    progress: Progress | None = None,
    before: Callable[[Program, Clock], object] = lambda program, clock: None,
) -> Estimate:
    """The estimate of a case, as `estimate` returns it; ``before`` is called first, while Ctrl-C is heard."""
    begin, clock = time.perf_counter(), Clock(how.time_limit)
    if how.dask is not None:
        from maxent.solvers.solve.dask_cluster import connected
    with clock.listening() if interruptible else nullcontext():
        program = compared_with_truth(case, compile_in_time(case, known, clock))
        before(program, clock)
        compiled = time.perf_counter()
        with connected(how.dask, clock.left()) if how.dask is not None else nullcontext() as cluster:
            settings = how.settings(clock, cluster)
            means: list[Mixture | None] = []

            def average(found: Outcome) -> None:
                if not (means or how.single_optimum or found.convex):
                    means.append(in_time(clock, lambda: averaged(program, found, settings)))

            outcome = solve_in_time(program, how.solver, settings, progress or silent, average)
            refuse_contradictions(program, outcome.status, clock, case=case)
            average(outcome)
            mean = means[0] if means else None
            solved = time.perf_counter()
            proof = None if how.bounds is None else proof_of(program, how.bounds, clock)
            if proof is not None:
                from maxent.solvers.certainty.levels import level_names

                whole = proof.level == level_names()[-1]
                refuse_contradictions(program, proof.status, clock, whole=whole, case=case)
            # An answer that is there is not lost to Ctrl-C while it is measured.
            point, of_each = _where_measured(case, program, outcome)
            whole = point.merged is None and outcome.point.merged is not None
            backend, masses = outcome.used if how.backend == "auto" else how.solver.name, point.masses
            if mean is not None:
                masses = replace(outcome.point, masses=mean.masses).cells(program) if whole else mean.masses
            measuring = point.program
            posterior = measuring.posterior(masses)
            error = max(how.tolerance, TOLERANCE)
            give_back()
            found = measured(
                case,
                measuring,
                masses,
                posterior,
                known.confidence,
                top=how.top,
                error=error,
                no_marginal=known.no_marginal,
                bounding=None if program.likelihood is None else _with_intervals(case, known, clock),
            )
            disclosure = found.pop("disclosure")
            if mean is not None:
                counts = measuring.table.counts
                disclosure = disclosure.of_optimum(measuring.posterior(point.masses), counts)
            targets = _by_target(case, program, masses, posterior, how.top, error)
            if of_each is not None:
                disclosure = disclosure.of_groups(of_each)
            left_out = any(not each.refuted for each in program.unread)
            worst = _worst_case(case, program, how, settings) if left_out else None
            ordered, judged = _without_draws(program), known.of_verdict(case)
            interrupted = clock.stop() is Stop.INTERRUPTED
            seconds = 0.0 if interrupted else proving_seconds(clock.left())
            result = Estimate(
                program=program,
                worst=worst,
                outcome=outcome,
                shared=posterior,
                sharing=of_each,
                disclosure=disclosure,
                backend=backend,
                tolerance=how.tolerance,
                seconds={"compile": case.seconds + compiled - begin, "solve": solved - compiled},
                noticed=case.noticed,
                optima=1 if mean is None else mean.optima,
                targets=targets,
                proof=proof,
                attacks=partial(_attacks, case, known),
                certainty=Certainty(ordered, case.truth, case.sensitive, seconds),
                drawing=Drawing(case, seconds, program, bool(known.rows_unknown)),
                mended=mending(judged, known, how, found["baseline"].base_rate),
                no_marginal=known.no_marginal,
                rows_unknown=known.rows_unknown or "",
                informed=_informed(case, judged, known, how),
                interrupted=interrupted,
                **found,
            )
    if not result.reliable:
        warn_unreliable(f"{not_reliable(outcome.status)}; see notes and contradictions of the result")
    return result


def compared_with_truth(case: Case, program: Program) -> Program:
    """A program with what is false of the true classes of a case among what no number may rest on."""
    if not (found := [*false_of(case, program)]):
        return program
    from maxent.solvers.certainty.exchange import unread_as_false

    return replace(program, unread=(*program.unread, *unread_as_false(found)))


def _where_measured(case: Case, program: Program, outcome: Outcome) -> tuple[Point, IntArray | None]:
    """The answer as it is measured, and the row there of each quasi-identifier: None for their own."""
    point = outcome.point
    each = case.truth is not None or case.controls is not None or case.sensitive or program.release.target.of
    if point.merged is None or not (each or program.likelihood is not None):
        return point, None if point.merged is None else point.of_everybody(program)
    return Point(point.evaluator.at(program), outcome.masses), None


def _without_draws(program: Program) -> Program:
    """The program of somebody who does not compute draws: what these prove in unknown order is found apart, in time."""
    ordered = program.row_equations is not None or program.release.draws is None
    return program if ordered else replace(program, release=replace(program.release, draws=None))


def _with_intervals(case: Case, known: Knowledge, clock: Clock) -> Program | None:
    """The program with intervals in the place of the likelihood of draws, where there is time for it."""
    return in_time(clock, lambda: compile_case(case, replace(known, noise="intervals")))


def _worst_case(case: Case, program: Program, how: Solving, options: Options) -> WorstCase:
    """What a release would tell if all that is not read of it gave classes away, in the time that is left."""
    from maxent.disclosure.worst_case import STANDING_IN, WorstCase, worst_case

    if case.stands_in and any(each.what == CHOICES for each in program.unread):
        return WorstCase(STANDING_IN)

    def solved(given: Program) -> FloatArray | None:
        with suppress(OutOfTime):
            found = solve_program(given, how.solver, options)
            mean = None if how.single_optimum else averaged(given, found, options)
            if found.status == "optimal":
                point = found.point if mean is None else replace(found.point, masses=mean.masses)
                return point.cells(given)
        return None

    parts = (case.release,) if case.joined is None else case.joined.parts
    found = worst_case(program, parts, case.truth, case.weighed, case.unweighed, solved)
    if found.why or (case.weighed is not None and len(case.weighed.weight)):
        return found
    telling = program.release.target.of or found.numbers()["certain"]
    return replace(found, most=most_certain(program, case.truth)) if telling else found


def _informed(case: Case, judged: Case, known: Knowledge, how: Solving) -> Callable[[], Estimate] | None:
    """Makes the estimate of the case that is ``judged``, which a verdict needs beside, where there is another one.

    It is of who knows the base rate, and who reads draws by their likelihood.
    """
    more, noise = judged, known.noise
    drawn = case.joined is None and case.records is None and case.release.resampled is not None
    if drawn and noise == "intervals":
        noise = None
    if more.informed == case.informed or more.of_each_class is None or more.of_each_class is case.of_each_class:
        more = case
    if more is case and noise == known.noise:
        return None
    return Once(partial(_unwarned, more, replace(known, noise=noise), how))


def _unwarned(case: Case, known: Knowledge, how: Solving) -> Estimate:
    """An estimate that a status tells the worth of."""
    with unwarned():
        return estimate_case(case, known, how)


def mending(case: Case, known: Knowledge, how: Solving, base_rate: float | None) -> Callable[[Limits], Mend]:
    """The search for what of a case would pass limits; everything that the release then states is known."""
    plain = replace(case)  # without what it keeps of its cells
    return partial(_mended, plain, partial(_judged, plain, replace(known, knowledge=None), how), base_rate)


def _mended(case: Case, judged: Callable[[Release, Limits], Verdict], base_rate: float | None, limits: Limits) -> Mend:
    from maxent.api.remediation import mended

    return mended(case, judged, base_rate, limits)


def _judged(case: Case, known: Knowledge, how: Solving, release: Release, limits: Limits) -> Verdict:
    """The verdict on another release about the same people."""
    return _unwarned(replace(case, release=release), known, how).judged(limits)


def _attacks(case: Case, known: Knowledge) -> Mapping[str, Any]:
    """The summary of the attacks on a case, for the verdict on its estimate."""
    from maxent.api.attack import audit_case

    with unwarned():
        return audit_case(case, rounding=known.rounding, knowledge=known.kinds, refuse=True).summary
