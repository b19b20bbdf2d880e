"""One back end of a comparison, in a process of its own: python -m maxent.api.bench_process FOLDER BACKEND.

It reads what is asked from standard input, solves it with `maxent.estimate`, and writes its answer to FOLDER. The
process ends with the one that started it, and is the leader of a group with all that the solver starts.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxent.models.errors import InvalidInput, MissingExtra
from maxent.results.bench import CLOSED_FORM, NOT_USED, SINGLE
from maxent.results.reliability import unwarned

if TYPE_CHECKING:
    from maxent.results.estimate import Estimate

STARTED, ANSWER, PROBABILITIES, COUNTS = "started", "answer", "probabilities.npy", "counts.npy"
# Without a wish, a problem is solved so often when the first time took less than so many seconds.
REPEATS, SHORT = 3, 5.0
# Contradictions that a reason names.
SHOWN = 3


def main() -> None:
    """Answer one request."""
    run, name = Path(sys.argv[1]), sys.argv[2]
    with open(0, "rb", buffering=0, closefd=False) as pipe:
        request = pickle.loads(_read(pipe, int.from_bytes(_read(pipe, 8), "big")))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    (run / ANSWER).write_bytes(pickle.dumps(answer(name, request, run)))


def _read(pipe: FileIO, size: int) -> bytearray:
    """So many bytes; the process ends where there are fewer, as its parent has."""
    found = bytearray()
    while len(found) < size:
        piece = pipe.read(size - len(found))
        if not piece:
            sys.exit(1)
        found += piece
    return found


def _end_with_parent() -> None:
    """Standard input is a pipe that the parent writes no more to: it ends when the parent does, however that came."""
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def answer(name: str, request: Mapping[str, Any], run: Path) -> dict[str, Any]:
    """Solve a request with a back end: a ``row``, the ``problem`` and what was ``noticed``; or ``invalid`` input."""
    try:
        return _solve(name, request, run)
    except MissingExtra as error:
        return {"row": {"status": "not_installed", "reason": str(error)}}
    except MemoryError:
        return _failed("the problem does not fit into memory")
    except Exception as error:
        if isinstance(error, InvalidInput) and not (run / STARTED).exists():
            return {"invalid": (error.source, error.problems)}
        return _failed(f"{type(error).__name__}: {error}".removesuffix(": "))


def _failed(reason: str) -> dict[str, Any]:
    return {"row": {"status": "failed", "reason": reason, "peak_memory_mb": peak_memory()}}


def _solve(name: str, request: Mapping[str, Any], run: Path) -> dict[str, Any]:
    """Solve once, or several times to time it, and save the posterior."""
    from maxent.api.posterior import estimate

    repeat: int | None = request["repeat"]
    taken: list[dict[str, float]] = []
    result: Estimate | None = None
    while result is None or (result.reliable and len(taken) < (repeat or _wanted(taken[0]))):
        result = None  # two answers at a time would count as memory of the back end
        starts = _Once(run / STARTED)
        before = processor_seconds()
        with unwarned():
            result = estimate(**request["arguments"], backend=name, progress=starts)
        processor = processor_seconds() - before
        solve = result.seconds["solve"]
        taken.append({"build": sum(result.seconds.values()) - solve, "solve": solve, "processor": processor})
    row = {
        **_worth(result, CLOSED_FORM if request["arguments"]["presolve"] else SINGLE),
        **{f"{key}_seconds": min(times[key] for times in taken) for key in taken[0]},
        "peak_memory_mb": peak_memory(),
    }
    if row["status"] != "refused":
        import numpy as np

        np.save(run / PROBABILITIES, result.probabilities)
        np.save(run / COUNTS, result.program.table.counts)
    summary = result.summary
    return {
        "row": row,
        "problem": {key: summary[key] for key in ("individuals", "distinct_qi", "classes", "constraints")},
        "noticed": result.noticed,
    }


def _wanted(first: Mapping[str, float]) -> int:
    return REPEATS if first["build"] + first["solve"] < SHORT else 1


class _Once:
    """Progress that leaves a file with the time when the reading was over and the solving began."""

    def __init__(self, path: Path) -> None:
        self.path, self.done = path, False

    def __call__(self, text: str, done: int, total: int) -> None:
        if not self.done:
            self.path.touch()
            self.done = True


def _worth(result: Estimate, unused: str) -> dict[str, Any]:
    """The answer and its certificate; only the reason when the back end refused the problem, or ``unused``."""
    refusal = f"{result.backend} refuses: "
    refused = [text.removeprefix(refusal) for text in result.outcome.trouble if text.startswith(refusal)]
    if refused:
        return {"status": "refused", "reason": "; ".join(refused)}
    summary = result.summary
    keys = ("status", "convex", "certificate", "entropy", "entropy_upper_bound", "max_violation")
    row = {key: summary.get(key) for key in keys} | {"iterations": summary["solver"]["iterations"]}
    if not result.reliable:
        row["reason"] = _reason(result)
    elif result.outcome.closed_form:
        row |= {"status": NOT_USED, "reason": unused, "iterations": None}
    if result.disclosure.divergence is not None:
        overall = result.disclosure.divergence.overall
        row["divergence"] = float("inf") if overall is None else overall
    return row


def _reason(result: Estimate) -> str:
    """The reason not to rely on an answer."""
    trouble = list(result.outcome.trouble)
    if result.outcome.status == "inconsistent":
        trouble += [str(found) for found in result.contradictions[:SHOWN]]
    said = {"time_limit": "stopped at the time limit", "not_converged": "the solver did not converge"}
    return "; ".join(trouble) or said.get(result.outcome.status, result.outcome.status)


def processor_seconds() -> float:
    """Processor time, user and system. It counts this process, ended children and kept solver processes."""
    from maxent.solvers.workers import seconds_spent

    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(of.ru_utime + of.ru_stime for of in used) + seconds_spent()


def peak_memory() -> float:
    """The largest resident memory, 2^20 bytes, of this process or of one that it has started; they are ended."""
    from maxent.solvers.workers import end_all

    end_all()
    own = high_water("self")
    if own is None:
        own = _megabytes(resource.RUSAGE_SELF)
    return max(own, _megabytes(resource.RUSAGE_CHILDREN))


def _megabytes(who: int) -> float:
    most: int = resource.getrusage(who).ru_maxrss
    return most / (2**20 if sys.platform == "darwin" else 2**10)


def high_water(pid: int | str) -> float | None:
    """The largest resident memory that a process had, 2^20 bytes; None where the system does not say."""
    with suppress(OSError, ValueError), open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 2**10
    return None


if __name__ == "__main__":
    from maxent.solvers.control import end_process

    main()
    end_process(0)
