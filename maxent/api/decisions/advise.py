"""Records and limits -> the most accurate release within them, of a portfolio of all defenses."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from maxent.advice.candidates import check_methods, portfolio
from maxent.advice.kept import Kept, kept_in
from maxent.advice.people import People, read_people
from maxent.advice.race import behind, leader_of
from maxent.advice.result import Advice
from maxent.advice.standing import Standing, frontier, judged, ranked
from maxent.advice.trials import PEOPLE, Trial, failed, forget, hits_of, mark_of, published, run_trial, trial_of
from maxent.api.releases.defend import columns_named
from maxent.api.releases.start import domains_of, private_of, starting_tree
from maxent.disclosure.limits import Limits, limits_of
from maxent.models.defenses.registry import asked_for
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.reading import Reading, reader_of
from maxent.models.tables.columns.product_classes import named_targets
from maxent.models.tables.frame import shorten, shorten_list
from maxent.models.text.arguments import check_flags, check_functions, is_number, is_whole
from maxent.results.reliability import warn_unreliable
from maxent.solvers.solve.dask_cluster import check_address
from maxent.studies.running import check_jobs, run_all

if TYPE_CHECKING:
    from maxent.api.adversary.estimate import Progress
    from maxent.models.release import Release
    from maxent.models.tables.frame import Source
    from maxent.models.tables.training import Missing

AUDITS = 0.6
"""Share of a time limit by which audits end: an accuracy is known of what was audited by then."""

INTERRUPTED = "it was interrupted"


def advise(
    data: Source,
    *,
    target: str | Sequence[str],
    qi: Sequence[str],
    private: Sequence[str] = (),
    categorical: Sequence[str] = (),
    missing: Missing = "refuse",
    methods: Iterable[str] | None = None,
    folds: int = 5,
    seed: int = 0,
    test: Source | None = None,
    model: Any = None,
    sensitive: str | Iterable[str] | None = None,
    jobs: int = 1,
    dask: str | None = None,
    time_limit: float | None = None,
    resume: str | PathLike[str] | None = None,
    interruptible: bool = False,
    progress: Progress | None = None,
    reading: Reading | None = None,
    **limits: Any,
) -> Advice:
    """Find the most accurate release within limits.

    Every method of defense proposes candidates. The release of each about all people is audited by the engine against
    the limits; those that keep them race by cross-validation, so that nothing is tuned on people whom accuracy is
    measured on. See docs/advise.md.

    Parameters
    ----------
    data, target, qi, private, categorical, missing
        As for `maxent.defend`.
    methods : iterable of str, optional
        Methods of defense that may take part; all by default.
    folds : int
        Of cross-validation, at least 2: stratified by the class.
    seed : int
        Makes folds and random methods repeatable.
    test : DataFrame or path, optional
        People who take no part in anything: the accuracy of the best release on them.
    model : path, Release, or fitted model or pipeline of scikit-learn, optional
        A tree or forest to start from, as for `maxent.defend`: candidates are what methods that prune trees make of it.
        Its splits may have been chosen by all records, so that accuracies may be too good; use ``test``.
    sensitive : str or iterable of str, optional
        The classes that the limits are about, see `maxent.estimate`; default: all.
    jobs : int
        Processes that run trials, -1 for one on each core.
    dask : str, optional
        The address of the scheduler of a Dask cluster whose workers run the trials instead.
    time_limit : float, optional
        Seconds after which no trial begins any more: then the best so far counts.
    resume : path, optional
        A folder, which may be new: each trial is written to it as soon as it is done, and not run again.
    interruptible : bool
        Whether Ctrl-C ends the search with what there is; otherwise it raises KeyboardInterrupt.
    progress : callable, optional
        Told ``(what, trials done, trials to do)``.
    reading : Reading, optional
        How tables are read.
    **limits
        ``min_k``, ``max_posterior``, ``max_certain``, ``max_right_guesses``, ``max_lift``, as for `maxent.review`.

    Returns
    -------
    Advice
        Frozen: ``.table``, ``.best``, ``.frontier``, ``.report(path)``, ``.plot()``, ``.save(path)``, ``.summary``.

    Warns
    -----
    UnreliableResult
        When the search ended before the best was tested on all folds.

    Raises
    ------
    InvalidInput
        For anything wrong with the call or the records.
    """
    check_functions(progress=progress)
    check_flags(interruptible=interruptible)
    check_jobs(jobs)
    _check(folds, seed, time_limit)
    check_address(dask)
    stated, names = limits_of(limits), check_methods(methods, model is not None)
    kept, reader = kept_in(resume), reader_of(reading)
    targets = named_targets("options", target)
    columns = {
        "target": targets if len(targets) > 1 else targets[0],
        "qi": qi,
        "private": private,
        "categorical": categorical,
        "missing": missing,
    }
    start, domains = None, None
    if model is not None:
        if len(targets) > 1:
            raise invalid("options", ARGUMENT, "target", "one column, for a tree to start from", shorten_list(targets))
        start = starting_tree(model, data, "none", asked_for("none", {})[0], {}, columns, reading)
        private = private_of(start, columns_named(qi), columns_named(private))
        columns["private"] = private
        domains = domains_of(start, [*columns_named(qi), *private])
    how: Any = {"folds": folds, "seed": seed, "sensitive": sensitive, "reader": reader}
    people = read_people(data, columns, **how, start=start, domains=domains)
    cases = None
    if test is not None:
        from maxent.models.trees.accuracy import read_cases

        cases = read_cases(test, "test", people.training.target, people.training.attributes, reader=reader)
    found = portfolio(names, people.wanted(stated), seed)
    search = _Search(people, stated, folds, seed, kept, jobs, dask, time_limit, progress or _silent)
    standings = [Standing(number, candidate) for number, candidate in enumerate(found)]
    cut = ""
    try:
        with kept.opened():
            late = search.audit(standings)
            cut = search.race(standings) or late
    except KeyboardInterrupt:
        if not interruptible:
            raise
        cut = INTERRUPTED
    finally:
        forget()
    best = _best(standings)
    release, notes = (None, ()) if best is None else _release(best, people, seed)
    rows = ranked(standings, best, folds, cut)
    result = Advice(
        rows=rows,
        best=release,
        frontier=frontier(rows, stated),
        limits=stated,
        individuals=len(people.training),
        folds=folds,
        seed=seed,
        target=",".join(targets),
        qi=tuple(qi),
        private=tuple(private),
        model="" if model is None else fspath(model) if isinstance(model, (str, PathLike)) else "MODEL",
        notes=notes,
        cut=cut,
        interrupted=cut == INTERRUPTED,
        noticed=reader.noticed,
    )
    if best is not None and release is not None and cases is not None:
        from maxent.models.trees.accuracy import score

        result = replace(result, test_accuracy=score(release, cases, best.candidate.asked(seed).predictor()).accuracy)
    if not result.reliable:
        warn_unreliable(f"not to be relied on: {cut} before every candidate was tried")
    return result


def _check(folds: object, seed: object, time_limit: object) -> None:
    """Refuse numbers that do not suit."""
    problems = []
    if not is_whole(folds, 2):
        problems.append(Problem(ARGUMENT, "folds", "a whole number of at least 2", shorten(folds)))
    if not is_whole(seed, 0):
        problems.append(Problem(ARGUMENT, "seed", "a whole number of at least 0", shorten(seed)))
    if time_limit is not None and not (is_number(time_limit) and time_limit > 0):  # type: ignore[operator]
        problems.append(Problem(ARGUMENT, "time_limit", "a number of seconds above 0", shorten(time_limit)))
    if problems:
        raise InvalidInput("options", problems)


def _silent(text: str, done: int, total: int) -> None:
    """Progress that nobody is told of."""


def _best(standings: Sequence[Standing]) -> Standing | None:
    """Who is best of those within the limits."""
    hits = {each.number: each.hits for each in standings}
    found = leader_of(hits, (each.number for each in standings if each.passed and each.stopped is None))
    return None if found is None else standings[found]


def _release(best: Standing, people: People, seed: int) -> tuple[Release, tuple[str, ...]]:
    """The release of the best candidate: the one that was audited, made again."""
    release, notes = published(best.candidate, people, seed)
    if mark_of(release) != best.audit["same"]:
        expected = "audits of the same versions of maxent and its libraries"
        raise invalid("resume", ARGUMENT, "resume", expected, f"another release of {best.candidate.name}")
    return release, notes


@dataclass(slots=True)
class _Search:
    """Trials of candidates, in their order, within the time that there is."""

    people: People
    limits: Limits
    folds: int
    seed: int
    kept: Kept
    jobs: int
    dask: str | None
    time_limit: float | None
    told: Progress
    begin: float = 0.0
    packed: bytes = b""

    def __post_init__(self) -> None:
        self.begin, self.packed = time.monotonic(), pickle.dumps(self.people)

    def audit(self, standings: Sequence[Standing]) -> str:
        """Audit every candidate; returns why it ended early, nothing where it did not."""
        trials = {each.number: trial_of(each.candidate, self.people, self.seed) for each in standings}
        share = AUDITS if self.time_limit is not None else 1.0
        try:
            complete = self._run("auditing candidates", list(trials.values()), share)
        finally:
            self._judge(standings, trials)
        return "" if complete else self._late()

    def _judge(self, standings: Sequence[Standing], trials: Mapping[int, Trial]) -> None:
        """Note what audits have found; of candidates that publish the same the first stays."""
        first: dict[str, str] = {}
        for each in standings:
            row = self.kept.get(trials[each.number].id)
            if row is None:
                continue
            if "error" in row:
                each.error = row["error"]
                continue
            judged(each, row, self.limits)
            mark = f"{row['same']} {row['found']}"
            each.same = first.get(mark, "")
            first.setdefault(mark, each.candidate.name)

    def race(self, standings: Sequence[Standing]) -> str:
        """Test candidates fold by fold, and stop those that are beaten; returns why it ended early."""
        alive = sorted((each for each in standings if each.raced), key=lambda each: -each.audit["train_accuracy"])
        rounds = [range(1), range(1, 2), range(2, self.folds)]
        for these in rounds:
            trials = {(e.number, f): trial_of(e.candidate, self.people, self.seed, f) for f in these for e in alive}
            complete = self._run(f"{_named(these)} of {self.folds}", list(trials.values()), 1.0)
            # Of a round that was cut short only folds that all were tested on are compared, unless there is no other.
            noted = [fold for fold in these if not fold or all(self._done(trials[e.number, fold]) for e in alive)]
            for fold in noted:
                for each in alive:
                    self._note(each, fold, self.kept.get(trials[each.number, fold].id))
            alive = [each for each in alive if not each.error]
            if not complete:
                return self._late()
            leader = _best(standings)
            if leader is not None and these.stop < self.folds:
                for each in alive:
                    apart = behind(leader.hits, each.hits)
                    each.stopped = apart if apart is not None and apart.beaten else None
                alive = [each for each in alive if each.stopped is None]
        return ""

    def _note(self, each: Standing, fold: int, row: Any) -> None:
        if row is not None and "error" in row:
            each.error = row["error"]
        elif row is not None:
            each.hits[fold] = hits_of(row)

    def _done(self, trial: Trial) -> bool:
        return self.kept.get(trial.id) is not None

    def _run(self, what: str, trials: Sequence[Trial], share: float) -> bool:
        """Run the trials that are not done; whether there was time for all of them."""
        todo = [trial for trial in trials if not self._done(trial)]
        self.told(what, 0, len(todo))
        if not todo:
            return True
        if self._out(share):
            return False
        with closing(run_all(todo, {PEOPLE: self.packed}, run_trial, failed, self.jobs, self.dask)) as rows:
            for done, row in enumerate(rows, 1):
                self.kept.put(row)
                self.told(what, done, len(todo))
                if done < len(todo) and self._out(share):
                    return False
        return True

    def _out(self, share: float) -> bool:
        """Whether a share of the time is over."""
        return self.time_limit is not None and time.monotonic() - self.begin > share * self.time_limit

    def _late(self) -> str:
        return f"{self.time_limit:g} seconds were over"


def _named(folds: range) -> str:
    return f"fold {folds.start + 1}" if len(folds) == 1 else f"folds {folds.start + 1} to {folds.stop}"
