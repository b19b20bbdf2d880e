"""Records and limits -> the most accurate release within them, of a portfolio of all defenses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.advice.candidates import check_methods, portfolio, untried
from maxent.advice.kept import kept_in
from maxent.advice.people import People, read_people
from maxent.advice.result import Advice
from maxent.advice.search import Search, now, silent
from maxent.advice.standing import Standing, frontier, ranked
from maxent.advice.trials import costs_about, forget, mark_of, published
from maxent.api.calling import called
from maxent.api.decisions.frames import frame_of, with_column
from maxent.api.releases.defend import columns_named
from maxent.api.releases.start import domains_of, private_of, starting_tree
from maxent.disclosure.limits import limits_of
from maxent.models.defenses.registry import asked_for
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.formats.conversion import UNNAMED
from maxent.models.reading import Reading, reader_of
from maxent.models.tables.columns.product_classes import named_targets
from maxent.models.tables.frame import shorten, shorten_list
from maxent.models.text.arguments import check_flags, check_functions, is_number, is_whole
from maxent.results.reliability import warn_unreliable
from maxent.solvers.solve.dask_cluster import check_address
from maxent.studies.running import check_jobs

if TYPE_CHECKING:
    from maxent.api.adversary.estimate import Progress
    from maxent.models.defenses.method import Method
    from maxent.models.release import Release
    from maxent.models.tables.frame import Source
    from maxent.models.tables.training import Missing
    from maxent.models.trees.accuracy import Cases

INTERRUPTED = "it was interrupted"

TIME = 300.0
"""Seconds that a search takes unless the call says it."""


@called
def advise(
    data: Source,
    y: Any = None,
    *,
    target: str | Sequence[str] | None = None,
    qi: Sequence[str],
    private: Sequence[str] = (),
    categorical: Sequence[str] = (),
    missing: Missing = "refuse",
    methods: Iterable[str] | None = None,
    folds: int = 5,
    seed: int = 0,
    test: Source | None = None,
    cost: Any = None,
    model: Any = None,
    sensitive: str | Iterable[str] | None = None,
    jobs: int = 1,
    dask: str | None = None,
    time_limit: float | None = TIME,
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
    data, qi, private, categorical, missing
        As for `maxent.defend`.
    y : array-like, shape (n_rows,), optional
        The class of each record; by default the column ``target`` of ``data``.
    target : str or list of str, optional
        As for `maxent.defend`; with ``y`` its name by default, else ``class``.
    methods : iterable of str, optional
        Methods of defense that may take part; all by default.
    folds : int
        Of cross-validation, at least 2: stratified by the class.
    seed : int
        Makes folds and random methods repeatable.
    test : DataFrame or path, optional
        People who take no part in anything: the accuracy of the best release on them.
    cost : path, DataFrame, or shape (n_decisions, n_classes); optional
        What a decision costs about somebody of a class, as for the method ``optimal``: the best release is then the one
        with the least costly decisions about people whom it was not made from.
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
        Seconds that reading and trials may take, 300 by default; None for no limit. The trial that runs then is ended,
        and the best so far counts: of candidates that were tested on no fold yet, the best for the people that it is
        made from.
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
    begin = now()
    data, target = _with_classes(data, y, target)
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
    people = read_people(data, columns, **how, start=start, cost=cost, domains=domains)
    cases = None
    if test is not None:
        from maxent.models.trees.accuracy import read_cases

        cases = read_cases(test, "test", people.training.target, people.training.attributes, reader=reader)
    wanted = people.wanted(stated)
    found = portfolio(names, wanted, seed)
    search = Search(people, stated, folds, seed, kept, jobs, dask, time_limit, progress or silent, begin)
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
    best = search.best(standings)
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
        model=_called(model, "MODEL"),
        cost=_called(cost, "COST"),
        notes=notes,
        untried=untried(names, wanted),
        cut=cut,
        interrupted=cut == INTERRUPTED,
        noticed=reader.noticed,
    )
    if best is not None and release is not None and cases is not None:
        result = replace(result, **_tested(release, best.candidate.asked(seed), cases, people))
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


def _called(given: object, otherwise: str) -> str:
    """The name of a file that was given; nothing where nothing was."""
    return "" if given is None else fspath(given) if isinstance(given, (str, PathLike)) else otherwise


def _tested(release: Release, asked: Method, cases: Cases, people: People) -> dict[str, Any]:
    """Accuracy of a release on other people, and what its decisions cost about those whose class is known."""
    from maxent.models.trees.accuracy import score

    found = {"test_accuracy": score(release, cases, asked.predictor()).accuracy}
    known = cases.y >= 0
    if people.costs is not None and known.any():
        each = costs_about(release, asked, cases, people.costs)[known]
        found["test_cost"] = float(np.average(each, weights=cases.counts[known]))
    return found


def _with_classes(data: Any, y: Any, target: Any) -> tuple[Any, Any]:
    """The records with a column of their classes, and its name."""
    if y is None:
        if target is None:
            raise invalid("options", ARGUMENT, "target", "the column of the class, or the classes in y=", "none")
        return data, target
    if isinstance(data, (str, PathLike)):
        expected = "None, as the table is a file: name its column of the class in target="
        raise invalid("options", ARGUMENT, "y", expected, shorten(y))
    named = target or getattr(y, "name", None) or UNNAMED
    if not isinstance(named, str):
        raise invalid("options", ARGUMENT, "target", "one name, for the classes of y", shorten(named))
    return with_column(frame_of(data), named, y), named


def _release(best: Standing, people: People, seed: int) -> tuple[Release, tuple[str, ...]]:
    """The release of the best candidate: the one that was audited, made again."""
    release, _, notes = published(best.candidate, people, seed)
    if mark_of(release) != best.audit["same"]:
        expected = "audits of the same versions of maxent and its libraries"
        raise invalid("resume", ARGUMENT, "resume", expected, f"another release of {best.candidate.name}")
    return release, notes
