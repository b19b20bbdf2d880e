"""Comparison of solver back ends on the same problem.

Each back end solves it with `maxent.estimate` in a process of its own, one after the other: so processor time and peak
memory are its own, and one that crashes or does not end takes no other with it.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.api import decision_options
from maxent.api.bench_process import ANSWER, COUNTS, PROBABILITIES, STARTED, high_water
from maxent.api.calling import takes
from maxent.models.arguments import out_of_range, shorten
from maxent.models.errors import ARGUMENT, InvalidInput, MaxentError, Problem, UnknownBackend
from maxent.models.files.input_files import is_standard_input
from maxent.models.files.output import scratch
from maxent.models.reading import NOTHING
from maxent.results.bench import COLUMNS, BenchResult
from maxent.results.reliability import warn_unreliable
from maxent.solvers.backends.registry import load_backend, usable_backends
from maxent.solvers.solve.dask_cluster import check_address

if TYPE_CHECKING:
    from maxent.api.estimate import Progress

PROBLEM = ("individuals", "distinct_qi", "classes", "constraints")
# Seconds after the time limit that a back end which does not stop by itself goes on for.
GRACE = 10.0
_POLL = 0.2
_LONGEST = 500


@takes(decision_options.Benching)
def bench(call: decision_options.Benching) -> BenchResult:
    """Solve the same problem with several back ends, each in a process of its own.

    Ctrl-C ends the comparison with the rows that are there so far.

    Returns
    -------
    BenchResult
        Frozen; ``.table`` is a DataFrame, ``.rows`` the same as mappings.

    Raises
    ------
    UnknownBackend
        For a name that is no back end's. One that is not installed has a row that says so.
    """
    if os.name != "posix":
        raise MaxentError("back ends are compared in processes of their own, which needs Linux or macOS")
    if problems := [each for each in out_of_range(call) if each.field in ("time_limit", "repeat")]:
        raise InvalidInput("options", problems)
    check_address(call.dask)
    sources = ("release", "qi", "truth", "marginal", "facts")
    _check_files({name: getattr(call, name) for name in sources})
    if call.qi is None:
        from maxent.api.case import no_table

        raise no_table()
    installed = {name: _installed(name) for name in _names(call.backends)}
    time_limit, tolerance, progress = call.time_limit, call.tolerance, call.progress
    arguments = {each.name: getattr(call, each.name) for each in fields(call)}
    for name in ("backends", "repeat", "progress"):
        del arguments[name]
    if isinstance(call.knowledge, Iterator):
        arguments["knowledge"] = tuple(call.knowledge)
    request = pickle.dumps({"arguments": arguments, "repeat": call.repeat})
    with scratch() as folder:
        runs = {name: folder / str(i) for i, name in enumerate(installed)}
        answers: dict[str, dict[str, Any]] = {
            name: {"row": {"status": "not_installed", "reason": at.missing}}
            for name, at in installed.items()
            if at.missing is not None
        }
        interrupted = not _run_all(request, runs, answers, time_limit, progress or (lambda text, done, total: None))
        rows = [_row(name, answers.get(name), at.version, call.truth is not None) for name, at in installed.items()]
        best = _best(rows, tolerance)
        if best is not None:
            _add_distances(rows, runs, best)
    problem = next((a["problem"] for a in answers.values() if "problem" in a), dict.fromkeys(PROBLEM))
    if best is None and not interrupted:
        warn_unreliable("not to be relied on: no back end has an answer to rely on; see the reasons in the rows")
    noticed = next((a["noticed"] for a in answers.values() if "noticed" in a), NOTHING)
    return BenchResult(tuple(rows), best, problem, tolerance, interrupted, noticed)


def _run_all(
    request: bytes,
    runs: Mapping[str, Path],
    answers: dict[str, dict[str, Any]],
    time_limit: float | None,
    progress: Progress,
) -> bool:
    """Add the answers that are not there yet, one after the other; False when Ctrl-C ended that early."""
    try:
        for i, (name, run) in enumerate(runs.items()):
            progress(name, i, len(runs))
            if name not in answers:
                answer = _answer(name, request, run, time_limit)
                if "invalid" in answer:
                    raise InvalidInput(*answer["invalid"])
                answers[name] = answer
    except KeyboardInterrupt:
        return False
    return True


def _names(backends: str | Iterable[str] | None) -> list[str]:
    """The back ends asked for, each once; all that can be used here when none is named."""
    if backends is None:
        return list(usable_backends())
    wanted = backends.split(",") if isinstance(backends, str) else backends if isinstance(backends, Iterable) else []
    names = list(dict.fromkeys(str(name).strip() for name in wanted if str(name).strip()))
    if not names:
        expected = "names of back ends, such as 'ipopt,newton'"
        raise InvalidInput("options", [Problem(ARGUMENT, "backends", expected, shorten(backends))])
    return names


@dataclass(frozen=True)
class _Installed:
    """The version that a back end states, if it does, and why it cannot be used here, None when it can."""

    version: str | None = None
    missing: str | None = None


def _installed(name: str) -> _Installed:
    """Look whether a back end is there, which does not load its solver; UnknownBackend when there is none."""
    try:
        backend = load_backend(name)
    except UnknownBackend as error:
        [problem] = error.problems
        raise UnknownBackend(problem.expected, problem.found, field="backends") from None
    except Exception as error:  # a third party's, which must not end the others
        return _Installed(missing=str(error) if isinstance(error, MaxentError) else f"{type(error).__name__}: {error}")
    with suppress(Exception):  # as above; without a version there is still an answer
        return _Installed(str(backend.version()) or None if hasattr(backend, "version") else None)
    return _Installed()


def _check_files(sources: Mapping[str, object]) -> None:
    """Refuse standard input, which the process of each back end would read again."""
    problems = [
        Problem(ARGUMENT, name, "a file, which every back end reads anew", "standard input")
        for name, source in sources.items()
        if isinstance(source, (str, PathLike)) and is_standard_input(source)
    ]
    if problems:
        raise InvalidInput("options", problems)


# --- One back end ----------------------------------------------------------------------------------------------


def _answer(name: str, request: bytes, run: Path, time_limit: float | None) -> dict[str, Any]:
    """The answer of the process of a back end, or the way it ended without one."""
    run.mkdir()
    # The same modules as here, whatever the folder we are in.
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    command = [sys.executable, "-P", "-m", "maxent.api.bench_process", str(run), name]
    with (
        open(run / "log", "wb") as log,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,  # stays open: it closes when this process ends, and the child ends with it
            stdout=log,
            stderr=log,
            env={**os.environ, "PYTHONPATH": paths, "TMPDIR": str(run)},  # what it leaves goes with the folder
            start_new_session=True,  # so that Ctrl-C ends it through us, along with any solver it runs
        ) as process,
    ):
        try:
            _hand_over(request, process)
            late = _late(process, run / STARTED, time_limit)
            memory = high_water(process.pid) if late else None
        finally:
            with suppress(ProcessLookupError, PermissionError):  # macOS: no permission for what has ended
                os.killpg(process.pid, signal.SIGKILL)
    if late:
        reason = f"did not stop at the time limit of {time_limit:g} s and was killed"
        return {"row": {"status": "time_limit", "reason": reason, "peak_memory_mb": memory}}
    try:
        answer: dict[str, Any] = pickle.loads((run / ANSWER).read_bytes())
    except (OSError, EOFError, pickle.UnpicklingError):
        return {"row": {"status": "failed", "reason": _end(process.returncode, run / "log")}}
    return answer


def _hand_over(request: bytes, process: subprocess.Popen[bytes]) -> None:
    """Write a request, which has records, to a process: it is in no file."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it has ended already, which says more
        process.stdin.write(len(request).to_bytes(8, "big") + request)
        process.stdin.flush()


def _late(process: subprocess.Popen[bytes], started: Path, time_limit: float | None) -> bool:
    """Wait for the end of a process; True when it still solves long after the time limit."""
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL)
            return False
        if time_limit is None or not started.exists():
            continue  # reading and compiling have no limit
        # The file is touched again when the problem is solved again.
        if time.time() > started.stat().st_mtime + time_limit + GRACE:
            return True


def _end(status: int, log: Path) -> str:
    """The end of a process without an answer, and its last message."""
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
    how = f"ended without an answer, exit status {status}"
    if status < 0:
        with suppress(ValueError):
            how = f"was ended by the signal {signal.Signals(-status).name}"
    return ": ".join([how, *said])


# --- All of them -----------------------------------------------------------------------------------------------


def _row(name: str, answer: Mapping[str, Any] | None, version: str | None, truth: bool) -> dict[str, Any]:
    """A row with every key; distances are added later."""
    row = dict.fromkeys((*COLUMNS, "divergence") if truth else COLUMNS) | {"backend": name, "version": version}
    given = {"status": "interrupted", "reason": "interrupted"} if answer is None else answer["row"]
    row |= {key: value for key, value in given.items() if value is not None}
    if row["reason"] is not None:
        reason = " ".join(row["reason"].split())
        row["reason"] = reason if len(reason) <= _LONGEST else f"{reason[: _LONGEST - 3]}..."
    return row


def _best(rows: Sequence[Mapping[str, Any]], tolerance: float) -> str | None:
    """The optimal answer with the highest entropy, the first of equal ones."""
    solved = [row for row in rows if row["status"] == "optimal" and row["max_violation"] <= tolerance]
    return max(solved, key=lambda row: float(row["entropy"]))["backend"] if solved else None


def _add_distances(rows: Sequence[dict[str, Any]], runs: Mapping[str, Path], best: str) -> None:
    """Compare every posterior, shape (n_quasi_identifiers, n_classes), with the best one."""
    reference, counts = np.load(runs[best] / PROBABILITIES), np.load(runs[best] / COUNTS)
    for row in rows:
        if row["entropy"] is not None:
            apart = np.abs(np.load(runs[row["backend"]] / PROBABILITIES) - reference)
            variation = 0.5 * apart.sum(axis=1)
            row["max_distance"] = float(apart.max())
            row["total_variation"] = float(variation.max())
            row["mean_total_variation"] = float(variation @ counts / counts.sum())
