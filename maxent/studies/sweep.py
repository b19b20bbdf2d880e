"""The run of a study: a check of the whole grid without growing trees, then every point not yet done."""

from __future__ import annotations

import os
import pickle
import platform
import re
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial, reduce
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxent.models.arguments import check_flags, check_functions, parameters_of
from maxent.models.display import Display, Shown, counted
from maxent.models.errors import ARGUMENT, InvalidInput, MaxentError, Problem
from maxent.models.files.input_files import redacted
from maxent.models.files.output import remove_dead
from maxent.models.reading import NOTHING, Noticed, reader_of
from maxent.models.tables.training import read_training
from maxent.results.reliability import unwarned, warn_unreliable
from maxent.results.text.terminal import in_study, respelled
from maxent.solvers.solve.dask_cluster import check_address, connected
from maxent.studies.data import Material, Packed, Protocol
from maxent.studies.points import AUDITED, FAILED, failure, parameters, remembering, results, run_point
from maxent.studies.results_folder import Folder, check_folder, now
from maxent.studies.running import check_jobs, run_all
from maxent.studies.study_file import ATTACK, RELEASE, Options, Point, Study, Value, load_study, method_of, part

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.api.estimate import Progress

Row = Mapping[str, Any]
Rows = Generator[Row, None, None]
LIBRARIES = ("maxent", "numpy", "scipy", "pandas", "pyarrow", "scikit-learn", "joblib", "pyomo", "cyipopt-wheels")


_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Failure:
    """A line of an error, the ids of the points that it ended, and the row of the first of them."""

    error: str
    points: tuple[str, ...]
    first: Row


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Shown):
    """The results of a study.

    ``rows`` has a mapping for each point that is done, in the order of the study, with the columns that docs/sweep.md
    describes; what is not known is None. ``points`` is how many there are, ``new`` how many were run this time;
    ``noticed`` is what was while the data were read.
    """

    name: str
    folder: Path
    rows: tuple[Row, ...]
    points: int
    new: int
    interrupted: bool = False
    noticed: Noticed = NOTHING

    @property
    def reliable(self) -> bool:
        """Whether every point has results, and all of them can be relied on."""
        return len(self.rows) == self.points and {row["status"] for row in self.rows} <= {"optimal", AUDITED}

    @property
    def failed(self) -> tuple[Row, ...]:
        """The points that failed; they are tried again next time."""
        return tuple(row for row in self.rows if row["status"] == FAILED)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Reasons of failures, each once: reasons that differ only in numbers are one, in the words of the first."""
        alike: dict[str, list[tuple[str, Row]]] = {}
        for row in self.failed:
            for line in dict.fromkeys(row["error"].splitlines()):
                alike.setdefault(_NUMBER.sub("0", line), []).append((line, row))
        return tuple(
            Failure(found[0][0], tuple(row["point"] for _, row in found), found[0][1]) for found in alike.values()
        )

    @property
    def frame(self) -> DataFrame:
        """One row per point, as in results.parquet; a copy."""
        import pyarrow.parquet as pq

        table: DataFrame = pq.ParquetFile(Folder(self.folder).results).read().to_pandas()
        return table

    def _display(self) -> Display:
        states = Counter(row["status"] for row in self.rows)
        rows = [(str(status), str(number)) for status, number in sorted(states.items())]
        failed = [f"{row['point']}: {row['error']}" for row in self.failed]
        title = f"Sweep {self.name}: {len(self.rows)} of {counted(self.points, 'point')} done"
        lines = [f"{status}: {number}" for status, number in rows]
        return Display(title, [*lines, f"results: {self.folder}", *failed], ("status", "points"), rows, failed)

    @property
    def summary(self) -> dict[str, Any]:
        """Summary of a sweep: the output of ``maxent sweep --json``."""
        return {
            "study": self.name,
            "points": self.points,
            "done": len(self.rows),
            "new": self.new,
            "status": dict(sorted(Counter(row["status"] for row in self.rows).items())),
            "reliable": self.reliable,
            "interrupted": self.interrupted,
            "failed": [{"point": row["point"], "error": row["error"]} for row in self.failed],
            "failures": [{"error": failure.error, "points": list(failure.points)} for failure in self.failures],
            "results": str(Folder(self.folder).results),
            **({"notes": list(self.noticed.notes)} if self.noticed.notes else {}),
            **self.noticed.summary,
        }


def sweep(
    study: Study | str | PathLike[str],
    output: str | PathLike[str],
    *,
    data: str | PathLike[str] | None = None,
    jobs: int = 1,
    dask: str | None = None,
    interruptible: bool = False,
    progress: Progress | None = None,
) -> Sweep:
    """Run a study: a grid of data sets, defenses and adversaries, one row of results for each point.

    Points that ``output`` has a row of already are not run again, whatever ended the run before.

    Parameters
    ----------
    study : path or Study
        A study file, see docs/sweep.md; or what `maxent.studies.study_file.load_study` made of one.
    output : path
        A folder, which may be new: each row is written to it as soon as it is there.
    data : path, optional
        Where to look for the files of the study first, see `maxent.studies.study_file.load_study`.
    jobs : int
        Processes that run points, -1 for one on each core; the rows are the same but for times and memory.
    dask : str, optional
        The address of the scheduler of a Dask cluster, ``tcp://host:8786``, whose workers run the points instead. They
        need this package; the data are sent to them.
    interruptible : bool
        Whether Ctrl-C ends the run with the rows so far; otherwise it raises KeyboardInterrupt, and they are kept, too.
    progress : callable, optional
        Told ``(what, points done, points to do)``.

    Returns
    -------
    Sweep
        Frozen; ``.frame`` is a DataFrame.

    Raises
    ------
    MaxentError
        When another run is writing to the folder, or the cluster cannot be used.
    """
    check_jobs(jobs)
    check_address(dask)
    check_functions(progress=progress)
    check_flags(interruptible=interruptible)
    folder = check_folder(output)
    found = study if isinstance(study, Study) else load_study(study, data)
    folder.check(found.source, (path for material in found.data.values() for path in material.files))
    ids = [point.id for point in found.points]
    remove_dead()
    with folder.opened():
        done = folder.done(ids)
        todo = [point for point in found.points if point.id not in done]
        about = _circumstances(found, jobs, dask, len(todo))
        folder.describe(found.source, found.text, about)
        told = progress or (lambda text, done, total: None)
        told(found.name, 0, len(todo))
        interrupted, new = False, 0
        try:
            with closing(_run(found, todo, jobs, dask)) as rows:
                for row in rows:
                    folder.write(row)
                    new += 1
                    told(found.name, new, len(todo))
        except KeyboardInterrupt:
            if not interruptible:
                raise
            interrupted = True
        finally:
            merged = folder.merge(ids)
            folder.describe(found.source, found.text, {**about, "ended": now(), "run": new})
    noticed = reduce(Noticed.joined, (material.noticed for material in found.data.values()), NOTHING)
    result = Sweep(found.name, folder.path, tuple(merged), len(ids), new, interrupted, noticed)
    if not result.reliable and not interrupted:
        warn_unreliable("not to be relied on: not every point has a result, or one to rely on; see status and error")
    return result


def _circumstances(study: Study, jobs: int, dask: str | None, points: int) -> dict[str, Any]:
    """Under what circumstances a run begins."""
    return {
        "started": now(),
        "study": study.name,
        "points": len(study.points),
        "to_run": points,
        "jobs": jobs,
        "dask": None if dask is None else redacted(dask),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": {name: _version(name) for name in LIBRARIES},
        "data": {
            name: {"file": str(study.files[name].file.resolve()), "records": len(found.records), "digest": found.digest}
            for name, found in study.data.items()
        },
    }


def _run(study: Study, points: Sequence[Point], jobs: int, dask: str | None) -> Rows:
    """The rows of points, as they come."""
    pickled = {name: pickle.dumps(study.data[name]) for name in dict.fromkeys(point.data for point in points)}
    with remembering():
        yield from run_all(points, pickled, partial(_work, protocol=study.protocol), _failed, jobs, dask)


def _work(point: Point, packed: Packed, protocol: Protocol) -> Row:
    return run_point(point, packed, protocol)


def _failed(point: Point, error: MaxentError) -> Row:
    """The row of a point whose process, or workers, did not survive it."""
    return {**parameters(point), **failure(error)}


def _version(name: str) -> str | None:
    """The version of a distribution, None where there is none: a study may need less than all of them."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


# Failures of a study, found without running it: every defense and adversary, with trees that are not grown.

# Parameters that name the first of the points that fail alike.
TOLD = ("data", "method", "k", "publish", "knowledge")


def rehearse(
    study: Study,
    output: str | PathLike[str] | None = None,
    *,
    jobs: int = 1,
    dask: str | None = None,
    progress: Progress | None = None,
) -> None:
    """Refuse a study with points that will fail: each combination of data, defense and adversary is tried once.

    Trees have no more than a root, so that what is found does not depend on how they grow.
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
    """Options that have the same faults and next to no work: a single tree, and no more of that than its root."""
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
