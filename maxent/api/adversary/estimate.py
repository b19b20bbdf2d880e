"""The whole flow: read, compile, solve, certify, measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from maxent.api.adversary.measured import measured
from maxent.api.adversary.mending import mended
from maxent.api.adversary.number_options import check_numbers
from maxent.api.adversary.proving import LONGEST, Certainty, check_level, proof_of
from maxent.api.by_target import inferences
from maxent.api.calling import called
from maxent.api.case import Case, Published, Tables, read_case
from maxent.api.compile import Knowledge, compile_case, compile_in_time, solve_in_time
from maxent.constraints.kinds.context import Noise
from maxent.constraints.program import Program
from maxent.constraints.symmetry.mixture import Mixture
from maxent.disclosure.checked_arrays import TOLERANCE
from maxent.disclosure.limits import Limits, Verdict
from maxent.disclosure.mend import Mend
from maxent.models.arrays import FloatArray
from maxent.models.reading import Reading
from maxent.models.release import Impurity, Release
from maxent.models.tables.frame import Source
from maxent.models.text.arguments import check_flags, check_functions
from maxent.models.trees.printed_rates import Rounding
from maxent.results.estimate import Estimate
from maxent.results.reliability import not_reliable, unwarned, warn_unreliable
from maxent.results.solved import Once
from maxent.solvers.backend import Backend, Options
from maxent.solvers.clock import Clock, OutOfTime, in_time
from maxent.solvers.registry import load_backend
from maxent.solvers.solve.attempt import PRESOLVE
from maxent.solvers.solve.averaged import averaged
from maxent.solvers.solve.driver import Outcome, solve_program

if TYPE_CHECKING:
    from maxent.evidence.worst_case import WorstCase

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how many pieces of it are done, and how many there are."""

TREES_ONLY = ("knowledge", "impurity", "marginal", "control")
"""Options of `estimate` that cannot be given for records."""


@dataclass(frozen=True, slots=True)
class Solving:
    """Parameters of `estimate` for solving and measuring; ``solver`` is the back end.

    Raises
    ------
    InvalidInput
        Naming every number that is out of its range, the back end that there is not, or what is no address of a
        cluster.
    MissingExtra
        For a cluster where distributed is not installed.
    """

    backend: str = "auto"
    tolerance: float = 1e-8
    presolve: bool = True
    starts: int | None = None
    seed: int = 0
    time_limit: float | None = None
    jobs: int | None = None
    dask: str | None = None
    floor: float = 1e-6
    top: int = 10
    single_optimum: bool = False
    bounds: str | None = None
    solver: Backend = field(init=False)

    def __post_init__(self) -> None:
        check_numbers(self)
        check_flags(presolve=self.presolve, single_optimum=self.single_optimum)
        if self.bounds is not None:
            check_level("bounds", self.bounds)
        if self.dask is not None:
            from maxent.solvers.solve.dask_cluster import check_address

            check_address(self.dask)
        object.__setattr__(self, "solver", load_backend(self.backend))


def compile_release(
    release: Published,
    qi: Source | Sequence[Source],
    *,
    knowledge: str | Iterable[str] | None = None,
    impurity: Impurity | None = None,
    marginal: Source | None = None,
    facts: Source | None = None,
    count: str | None = None,
    rounding: Rounding = "auto",
    confidence: float = 0.99,
    noise: Noise = "intervals",
    target: str | None = None,
    reading: Reading | None = None,
    who: str | None = None,
) -> Program:
    """Everything that a release tells an adversary who holds the table ``qi``, as a `Program`.

    The parameters are those of `estimate`, which solves it.
    """
    tables = Tables(qi, facts=facts, marginal=marginal, count=count, reading=reading, who=who)
    case = read_case(release, tables, target, knowledge=knowledge, impurity=impurity, marginal=marginal)
    program = compile_case(case, Knowledge(knowledge, impurity, rounding, confidence, noise))
    return replace(program, notes=(*case.noticed.notes, *program.notes))


@called
def estimate(
    release: Published,
    qi: Source | Sequence[Source],
    truth: Source | None = None,
    *,
    knowledge: str | Iterable[str] | None = None,
    impurity: Impurity | None = None,
    marginal: Source | None = None,
    facts: Source | None = None,
    count: str | None = None,
    backend: str = "auto",
    tolerance: float = 1e-8,
    rounding: Rounding = "auto",
    confidence: float = 0.99,
    noise: Noise = "intervals",
    presolve: bool = True,
    starts: int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    floor: float = 1e-6,
    top: int = 10,
    single_optimum: bool = False,
    bounds: str | None = None,
    interruptible: bool = False,
    progress: Progress | None = None,
    target: str | None = None,
    reading: Reading | None = None,
    control: Source | None = None,
    sensitive: str | Iterable[str] | None = None,
    gain: Source | None = None,
    who: str | None = None,
    no_marginal: bool = False,
) -> Estimate:
    """The maximum-entropy posterior P(class | quasi-identifier) of an adversary who has the quasi-identifiers.

    The maximum-entropy estimate of Zhu & Du (2010, Definition 1): of all distributions that agree with everything
    the release says, the one that claims least beyond it.

    Parameters
    ----------
    release : Release, fitted model, path of a ``maxent/1`` document or model, or generalised records
        What a model needs stands in ``reading``, such as ``{"target": "ill"}``.
        Records are a `GeneralizedTable`, a DataFrame like its ``frame()``, or the path of a file with that, CSV or
        Parquet by its suffix: every row stands for one individual of ``qi``, whose values lie in its ranges and sets.
        Or a sequence of releases (trees) about overlapping people, which hold together: docs/successive.md.
    qi : DataFrame, path or pattern
        The adversary's table: a row per individual of the training data, a column per public attribute. CSV or Parquet;
        large files and patterns (``part-*.parquet``) are merged out of core. Of several releases with different people
        a sequence: a table for each.
    truth : DataFrame or path, optional
        The same individuals with their classes, to compare with.
    knowledge : comma-separated string or iterable of {"label", "rate", "counts", "internal", "marginal"}, optional
        What the adversary uses; default everything the release states. Without ``counts``, the labels and rates that
        published counts imply are used in their place.
    impurity : {"gini", "entropy", "gain_ratio"}, optional
        How splits were chosen, where the release does not say or says otherwise.
    marginal, facts : DataFrame or path, optional
        The number of individuals of each class; known classes of some individuals.
    count : str, optional
        The column of ``qi`` (and of ``truth``, if it is there) with the number of individuals a row stands for.
    backend : str
        A solver back end, see `maxent.solvers.registry.backend_names`.
    tolerance : float
        Largest violation of any constraint, in probability units, that counts as solved.
    rounding : {"auto", "digits", "exact"}
        How printed error rates are read, see `maxent.models.trees.printed_rates`.
    confidence : float
        Probability that all intervals of counts of samples, bootstraps included, hold together.
    noise : {"intervals", "likelihood"}
        What the draws of a bootstrap are taken for: intervals of the true counts, or what is certain of them, and their
        likelihood, which is maximised together with the entropy.
    presolve : bool
        False gives the solver the whole program in one piece.
    starts : int, optional
        Starting points of a part that is not convex; the best answer is kept.
    seed : int
        Makes the starting points repeatable.
    time_limit : float, optional
        Seconds that everything after the inputs are read may take: compiling, solving and checking the answer. Then,
        within 2 s, the best answer so far is returned, with the status ``time_limit``.
    jobs : int, optional
        Processes that solve independent parts, -1 for one on each core; the result is the same bit for bit. By default
        one, and where parts are many unknowns and the process can be copied (Linux), one on each of up to 8 cores.
    dask : str, optional
        The address of the scheduler of a Dask cluster, such as ``tcp://host:8786``, whose workers solve independent
        parts instead; see `maxent.solvers.solve.dask_cluster`.
    floor : float
        Smallest probability, from 0 to 0.01, that the back end ``newton`` leaves where a choice of split compared by
        entropy would push it to 0: the optimum does not rule out a class that the truth may have.
    top : int
        How many of the most disclosed quasi-identifiers the summary names.
    single_optimum : bool
        Whether, where exchangeable classes make optima several, the posterior is one of them in place of their mean.
    bounds : str, optional
        Prove what is certain over all data consistent with the release, too, up to this ``level`` of `maxent.bounds`,
        such as ``auto``: ``.proof`` and the keys ``certain_proved`` and ``bounds`` of the summary.
    interruptible : bool
        Whether Ctrl-C while compiling or solving returns the best answer so far, with the status
        ``interrupted``; a second one, and otherwise the first, raises KeyboardInterrupt.
    progress : callable, optional
        Told ``(what, done, total)`` while solving.
    target : str, optional
        Of records, the column of the class; by default the only one that ``qi`` lacks. What trees alone state
        (``knowledge``, ``impurity``, ``marginal``) cannot be given for them.
    reading : Reading, optional
        How the release and all tables are read, see `maxent.models.reading.Reading`.
    control : DataFrame or path, optional
        Control people with their classes: like those of ``truth``, but not in the data. Of trees only.
    sensitive : comma-separated string or iterable of str, optional
        Classes that harm those who have them: all measures are also given of these alone.
    gain : DataFrame or path, optional
        What each guess is worth to the adversary: a row for each guess, a column for each class.
    who : str, optional
        With a table for each of several releases: the column that names each person. Without it each table has to be
        within the next larger one.
    no_marginal : bool
        Whether verdicts are about an adversary who does not know the base rate. By default they know how many people
        have each class where ``truth``, ``marginal`` or counts give it, which changes nothing but verdicts.

    Returns
    -------
    Estimate
        Frozen; ``.posterior`` is a DataFrame, ``.summary`` the JSON summary.

    Warns
    -----
    UnreliableResult
        When the status of the result is not ``optimal``.

    Raises
    ------
    InvalidInput
        For anything wrong with the inputs, naming every problem and its place.
    """
    check_functions(progress=progress)
    check_flags(interruptible=interruptible, no_marginal=no_marginal)
    solving = Solving(
        backend, tolerance, presolve, starts, seed, time_limit, jobs, dask, floor, top, single_optimum, bounds
    )
    tables = Tables(qi, truth, facts, marginal, count, reading, control, sensitive, gain, who=who)
    of_trees = {"knowledge": knowledge, "impurity": impurity, "marginal": marginal, "control": control}
    case = read_case(release, tables, target, **of_trees)
    known = Knowledge(knowledge, impurity, rounding, confidence, noise, no_marginal)
    return estimate_case(case, known, solving, interruptible=interruptible, progress=progress)


def estimate_case(
    case: Case,
    known: Knowledge,
    how: Solving,
    *,
    interruptible: bool = False,
    progress: Progress | None = None,
    before: Callable[[Program, Clock], object] = lambda program, clock: None,
) -> Estimate:
    """The estimate of a case; the parameters, the result and a warning are those of `estimate`.

    What is done ``before`` it is solved with its program, and the clock that it is solved by, is done when Ctrl-C is
    heard.

    Raises
    ------
    InvalidInput
        For knowledge that the release does not give.
    """
    begin, clock = time.perf_counter(), Clock(how.time_limit)
    listening = clock.listening if interruptible else nullcontext
    with listening():
        program = compile_in_time(case, known, clock)
        before(program, clock)
    compiled = time.perf_counter()
    if how.dask is not None:
        from maxent.solvers.solve.dask_cluster import connected
    with connected(how.dask, clock.left()) if how.dask is not None else nullcontext() as cluster:
        options = Options(
            tolerance=how.tolerance,
            starts=how.starts,
            seed=how.seed,
            presolve=how.presolve,
            floor=how.floor,
            jobs=how.jobs,
            cluster=cluster,
            clock=clock,
        )
        with listening():
            means: list[Mixture | None] = []

            def average(found: Outcome) -> None:
                if not (means or how.single_optimum):
                    means.append(in_time(clock, lambda: averaged(program, found, options)))

            told = progress or (lambda text, done, total: None)
            outcome = solve_in_time(program, how.solver, options, told, average)
            average(outcome)
            mean = means[0] if means else None
            solved = time.perf_counter()
            proof = None if how.bounds is None else proof_of(program, how.bounds, clock)
            # An answer that is there is not lost to Ctrl-C while it is measured.
            masses = outcome.masses if mean is None else mean.masses
            posterior = program.posterior(masses)
            error = max(how.tolerance, TOLERANCE)
            found = measured(
                case,
                program,
                masses,
                posterior,
                known.confidence,
                top=how.top,
                error=error,
                no_marginal=known.no_marginal,
            )
            disclosure = found.pop("disclosure")
            if mean is not None:
                disclosure = disclosure.of_optimum(program.posterior(outcome.masses), program.table.counts)
            worst = _worst_case(case, program, how, options) if program.unread else None
            result = Estimate(
                program=program,
                worst=worst,
                outcome=outcome,
                probabilities=posterior,
                disclosure=disclosure,
                backend=_used(outcome) if how.backend == "auto" else how.solver.name,
                tolerance=how.tolerance,
                seconds={"compile": case.seconds + compiled - begin, "solve": solved - compiled},
                noticed=case.noticed,
                optima=1 if mean is None else mean.optima,
                targets=inferences(case, program, masses, posterior, top=how.top, error=error),
                proof=proof,
                attacks=partial(_attacks, case, known.rounding),
                certainty=Certainty(program, case.truth, case.sensitive, _seconds(clock)),
                mended=mending(known.of_verdict(case), known, how, found["baseline"].base_rate),
                no_marginal=known.no_marginal,
                informed=_informed(case, known, how),
                **found,
            )
    if not result.reliable:
        warn_unreliable(f"{not_reliable(outcome.status)}; see notes and contradictions of the result")
    return result


def _worst_case(case: Case, program: Program, how: Solving, options: Options) -> WorstCase:
    """What a release would tell if all that is not read of it gave classes away, in the time that is left."""
    from maxent.evidence.worst_case import worst_case

    def solved(given: Program) -> FloatArray | None:
        with suppress(OutOfTime):
            found = solve_program(given, how.solver, options)
            mean = None if how.single_optimum else averaged(given, found, options)
            if found.status == "optimal":
                return found.masses if mean is None else mean.masses
        return None

    parts = (case.release,) if case.joined is None else case.joined.parts
    return worst_case(program, parts, case.truth, case.weighed, case.unweighed, solved)


def _informed(case: Case, known: Knowledge, how: Solving) -> Callable[[], Estimate] | None:
    """Makes the estimate that a verdict needs beside, where there is another one: of who knows the base rate."""
    more = known.of_verdict(case)
    if more.informed == case.informed or more.of_each_class is None or more.of_each_class is case.of_each_class:
        return None
    return Once(partial(_unwarned, more, known, how))


def _unwarned(case: Case, known: Knowledge, how: Solving) -> Estimate:
    """An estimate that a status tells the worth of."""
    with unwarned():
        return estimate_case(case, known, how)


def _seconds(clock: Clock) -> float:
    """What a call leaves for proofs."""
    left = clock.left()
    return LONGEST if left is None else min(LONGEST, left)


def mending(case: Case, known: Knowledge, how: Solving, base_rate: float | None) -> Callable[[Limits], Mend]:
    """The search for what of a case would pass limits; everything that the release then states is known."""
    again = partial(_judged, replace(case), replace(known, knowledge=None), how)
    return partial(mended, replace(case), again, base_rate)


def _judged(case: Case, known: Knowledge, how: Solving, release: Release, limits: Limits) -> Verdict:
    """The verdict on another release about the same people."""
    return _unwarned(replace(case, release=release), known, how).judged(limits)


def _attacks(case: Case, rounding: Rounding) -> Mapping[str, Any]:
    """The summary of the attacks on a case, for the verdict on its estimate."""
    from maxent.api.adversary.attack import audit_case

    with unwarned():
        return audit_case(case, rounding=rounding).summary


def _used(outcome: Outcome) -> str:
    """The back ends that ``auto`` gave parts to, ``closed_form`` where there was nothing to give."""
    return (
        "closed_form"
        if outcome.closed_form
        else "+".join(name for name in outcome.backends if name != PRESOLVE) or "auto"
    )
