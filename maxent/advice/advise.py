"""Advice: from records and limits to the most accurate release within them, among the candidates of all defenses."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike, fspath
from typing import Any

import numpy as np

from maxent.advice.ranking import Standing, check_methods, frontier, portfolio, ranked, untried
from maxent.advice.result import Advice
from maxent.advice.search import AdviceSearch, kept_in, now, silent
from maxent.advice.trials import TrialPeople, costs_about, forget, mark_of, published, read_people
from maxent.api import decision_options
from maxent.api.calling import takes_limits
from maxent.api.defend import columns_named
from maxent.api.review_input import frame_of, with_column
from maxent.api.start import domains_of, private_of, starting_tree
from maxent.disclosure.limits import limits_of
from maxent.models.arguments import out_of_range, shorten, shorten_list
from maxent.models.defenses.method import Method
from maxent.models.defenses.registry import asked_for
from maxent.models.errors import ARGUMENT, InvalidInput, invalid
from maxent.models.formats.release_reader import UNNAMED
from maxent.models.reading import reader_of
from maxent.models.release import Release
from maxent.models.tables.classes import named_targets
from maxent.models.trees.predict import Cases, score
from maxent.results.reliability import warn_unreliable
from maxent.solvers.solve.dask_cluster import check_address

INTERRUPTED = "it was interrupted"


@takes_limits(decision_options.Advising)
def advise(call: decision_options.Advising, limits: dict[str, Any]) -> Advice:
    """Find the most accurate release within limits.

    Every method of defense proposes candidates. The release of each about all people is audited by the engine against
    the limits; those that keep them race by cross-validation, so that nothing is tuned on people whom accuracy is
    measured on. See docs/advise.md.

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
    """
    begin = now()
    for name, why in decision_options.UNTAKEN["advise"].items():
        if name in limits:
            raise invalid("options", ARGUMENT, name, f"none: {why}", shorten(limits[name]))
    data, target = _with_classes(call.data, call.y, call.target)
    qi, private, model, seed, folds, reading = call.qi, call.private, call.model, call.seed, call.folds, call.reading
    if problems := out_of_range(call):
        raise InvalidInput("options", problems)
    check_address(call.dask)
    stated, names = limits_of(limits), check_methods(call.methods, model is not None)
    kept, reader = kept_in(call.resume), reader_of(reading)
    targets = named_targets("options", target)
    columns = {
        "target": targets if len(targets) > 1 else targets[0],
        "qi": qi,
        "private": private,
        "categorical": call.categorical,
        "missing": call.missing,
    }
    start, domains = None, None
    if model is not None:
        if len(targets) > 1:
            raise invalid("options", ARGUMENT, "target", "one column, for a tree to start from", shorten_list(targets))
        start = starting_tree(model, data, "none", asked_for("none", {})[0], {}, columns, reading)
        private = private_of(start, columns_named(qi), columns_named(private))
        columns["private"] = private
        domains = domains_of(start, [*columns_named(qi), *private])
    how: Any = {"folds": folds, "seed": seed, "sensitive": call.sensitive, "reader": reader}
    people = read_people(data, columns, **how, start=start, cost=call.cost, domains=domains)
    cases = None
    if call.test is not None:
        from maxent.models.trees.predict import read_cases

        cases = read_cases(call.test, "test", people.training.target, people.training.attributes, reader=reader)
    wanted = people.wanted(stated)
    found = portfolio(names, wanted, seed)
    work = (call.jobs, call.dask, call.time_limit, call.progress or silent)
    search = AdviceSearch(people, stated, folds, seed, kept, *work, begin)
    standings = [Standing(number, candidate) for number, candidate in enumerate(found)]
    cut = ""
    try:
        with kept.opened():
            late = search.audit(standings)
            cut = search.race(standings) or late
    except KeyboardInterrupt:
        if not call.interruptible:
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
        cost=_called(call.cost, "COST"),
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


def _called(given: object, otherwise: str) -> str:
    """The name of a file that was given; nothing where nothing was."""
    return "" if given is None else fspath(given) if isinstance(given, (str, PathLike)) else otherwise


def _tested(release: Release, asked: Method, cases: Cases, people: TrialPeople) -> dict[str, Any]:
    """Accuracy of a release on other people, and what its decisions cost about those whose class is known."""
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


def _release(best: Standing, people: TrialPeople, seed: int) -> tuple[Release, tuple[str, ...]]:
    """The release of the best candidate: the one that was audited, made again."""
    release, _, notes = published(best.candidate, people, seed)
    if mark_of(release) != best.audit["same"]:
        expected = "audits of the same versions of maxent and its libraries"
        raise invalid("resume", ARGUMENT, "resume", expected, f"another release of {best.candidate.name}")
    return release, notes
