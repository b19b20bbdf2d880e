"""Failures of a study, found without running it: every defense and adversary, with trees that are not grown."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING

from maxent.models.errors import ARGUMENT, InvalidInput, MaxentError, Problem
from maxent.models.parameters import parameters_of
from maxent.models.reading import reader_of
from maxent.models.tables.training import read_training
from maxent.results.reliability import unwarned
from maxent.solvers.solve.dask_cluster import connected
from maxent.studies.data import Material, Packed
from maxent.studies.options import ATTACK, RELEASE, Options, Value, method_of, part
from maxent.studies.points import failure, remembering, results
from maxent.studies.results_folder import check_folder
from maxent.studies.running import check_jobs
from maxent.studies.study_file import Point, Study
from maxent.text.spelling import in_study, respelled

if TYPE_CHECKING:
    from maxent.api.adversary.estimate import Progress

TOLD = ("data", "method", "k", "publish", "knowledge")
"""Parameters that name the first of the points that fail alike."""


def rehearse(
    study: Study,
    output: str | PathLike[str] | None = None,
    *,
    jobs: int = 1,
    dask: str | None = None,
    progress: Progress | None = None,
) -> None:
    """Refuse a study with points that will fail; parameters as in `maxent.sweep`.

    Each combination of data, defense and adversary is tried once, on the first of its draws, with trees of no more than
    a root. So what is found does not depend on how trees grow: cells without a value, columns that a method cannot use,
    groups larger than the data, hierarchies that lack values, knowledge that a release does not give.

    Raises
    ------
    InvalidInput
        Naming every problem once, with the number of points that have these options, and the first of them.
    """
    problems = [*_problems_of_run(output, jobs, dask)]
    failing: dict[Problem, list[Point]] = {}
    unfit = {name: _problems_of_cells(material) for name, material in study.data.items()}
    packed = {name: pickle.dumps(material) for name, material in study.data.items()}
    tried: dict[tuple[str, tuple[tuple[str, Value], ...]], tuple[Problem, ...]] = {}
    told = progress or (lambda text, done, total: None)
    with remembering(), unwarned():
        for number, point in enumerate(study.points):
            told("rehearsing", number, len(study.points))
            options = tuple(_least(dict(point.options)).items())
            key = (point.data, options)
            if key not in tried:
                tried[key] = unfit[point.data] or _problems_of_point(
                    replace(point, options=options), packed[point.data], study
                )
            for problem in tried[key]:
                failing.setdefault(problem, []).append(point)
    for problem, points in failing.items():
        place = "" if problem.where == ARGUMENT else f": {problem.where}"
        problems.append(replace(problem, where=f"{_named(points)}{place}"))
    if problems:
        raise InvalidInput(str(study.source), problems)


def _least(options: Options) -> dict[str, Value]:
    """Options that have the same faults and next to no work: a single tree, and no more of that than its root.

    Those whose values were looked at with the study file are left out.
    """
    known = parameters_of(type(method_of(options)))
    size = {name: each.about.small for name, each in known.items() if each.about.small is not None}
    return {**part(options, [*RELEASE, *ATTACK, "estimate", "knowledge"]), **size}


def _problems_of_cells(material: Material) -> tuple[Problem, ...]:
    """Mistakes in records, whichever of them are drawn."""
    try:
        read_training(material.records, **material.columns, reader=reader_of(material.reading))
    except InvalidInput as error:
        return tuple(_placed(respelled(problem, in_study), error.source) for problem in error.problems)
    return ()


def _problems_of_point(point: Point, packed: Packed, study: Study) -> tuple[Problem, ...]:
    """The reasons why a point has no results."""
    try:
        results(point, packed, study.protocol)
    except InvalidInput as error:
        return tuple(_placed(respelled(problem, in_study), error.source) for problem in error.problems)
    except Exception as error:  # as of points that are run: the others are worth trying
        return (Problem(ARGUMENT, "results", "some", failure(error)["error"]),)
    return ()


def _placed(problem: Problem, source: str) -> Problem:
    return problem if problem.where == ARGUMENT else replace(problem, where=f"{source}, {problem.where}")


def _named(points: Sequence[Point]) -> str:
    """Number of points, and the first one: ``4 points, such as data=adult method=kadet k=5``."""
    first = {"data": points[0].data, **dict(points[0].options)}
    words = " ".join(f"{name}={first[name]}" for name in TOLD if name in first)
    return f"1 point, {words}" if len(points) == 1 else f"{len(points)} points like {words}"


def _problems_of_run(output: str | PathLike[str] | None, jobs: int, dask: str | None) -> Iterator[Problem]:
    """Mistakes that end a run before its first point."""
    try:
        check_jobs(jobs)
    except InvalidInput as error:
        yield from error.problems
    if output is not None:
        try:
            folder = check_folder(output).path.absolute()
        except InvalidInput as error:
            yield from error.problems
        else:
            there = next(each for each in (folder, *folder.parents) if os.path.exists(each))
            if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
                yield Problem(ARGUMENT, "output", "a folder that can be made and written to", repr(str(output)))
    if dask is not None:
        try:
            with connected(dask):
                pass
        except InvalidInput as error:
            yield from error.problems
        except MaxentError as error:
            yield Problem(ARGUMENT, "dask", "a cluster that can be used", str(error))
