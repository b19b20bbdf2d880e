"""Call a function in a process of its own, which can be ended while it computes: python -m maxent.solvers.apart.

For libraries that neither look at the clock nor let other threads of Python run. The process reads the call from its
standard input and answers on its standard output; it ends with the process that started it.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray
from maxent.models.files.scratch import remove_dead
from maxent.solvers.backend import Options
from maxent.solvers.clock import POLL, SOON, Clock
from maxent.solvers.copies import WorkerLost
from maxent.solvers.solution import Solution

Tell = Callable[[Any], None]

LARGE = 4_000
"""Variables and rows of a program from which on a step of such a library may take a good part of a second."""

_TOLD, _RETURNED, _RAISED, _ENDED = range(4)

_RUNNING: set[subprocess.Popen[bytes]] = set()


def apart(function: Callable[..., Any], arguments: tuple[Any, ...], clock: Clock, heard: Tell) -> Any:
    """The result of ``function(*arguments, clock, tell)`` in another process, None where the process had to be ended.

    It hears of the clock as a copy, and has `SOON` seconds to end by itself. What it tells on the way is passed to
    ``heard``. The function is one of a module, and everything is pickled.

    Raises
    ------
    WorkerLost
        When the process did not survive.
    Exception
        What the function raises.
    """
    with clock.shared():
        process = _start()
        try:
            return _listen(process, pickle.dumps((function, (*arguments, clock))), clock, heard)
        finally:
            _end(process)


def may_be_ended(program: LiftedProgram, clock: Clock) -> bool:
    """Whether what is done with a program may take so long that the clock has to end it in the middle."""
    return clock.runs and program.n + len(program.row_lower) + len(program.nl_const) > LARGE


class Here(Protocol):
    """A back end that solves in this process, and tells points on the way."""

    def solve_here(self, program: LiftedProgram, start: FloatArray, options: Options, tell: Tell) -> Solution: ...


def solve_apart_if_large(
    backend: Here, program: LiftedProgram, start: FloatArray, options: Options, heard: Tell
) -> Solution | None:
    """The result of ``backend.solve_here``, from another process where it `may_be_ended`.

    None where that was ended; what it tells on the way is passed to ``heard``.
    """
    if not may_be_ended(program, options.clock):
        return backend.solve_here(program, start, options, heard)
    found: Solution | None = apart(
        _solve_there, (backend, program, start, replace(options, cluster=None)), options.clock, heard
    )
    return found


def _solve_there(
    backend: Here, program: LiftedProgram, start: FloatArray, options: Options, clock: Clock, tell: Tell
) -> Solution:
    return backend.solve_here(program, start, replace(options, clock=clock), tell)


def _start() -> subprocess.Popen[bytes]:
    # The same modules as here, whatever the folder we are in.
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "maxent.solvers.apart"],
        stdin=subprocess.PIPE,  # stays open: it closes when this process ends, and the other ends with it
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
        start_new_session=True,  # Ctrl-C in a terminal is for us
    )
    _RUNNING.add(process)
    return process


def _listen(process: subprocess.Popen[bytes], call: bytes, clock: Clock, heard: Tell) -> Any:
    """Wait for the answer of a process to a call."""
    messages: SimpleQueue[tuple[int, Any]] = SimpleQueue()
    threading.Thread(target=_talk, args=(process, call, messages), daemon=True).start()
    while clock.late() <= SOON:
        try:
            kind, what = messages.get(timeout=POLL)
        except Empty:
            continue
        if kind == _TOLD:
            heard(what)
        elif kind == _RETURNED:
            return what
        elif kind == _RAISED:
            raise what
        else:
            raise WorkerLost("a process was ended from outside, perhaps for want of memory")
    return None


def _talk(process: subprocess.Popen[bytes], call: bytes, messages: SimpleQueue[tuple[int, Any]]) -> None:
    """Hand over a call, which a process takes when it has started, and pass on its messages."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):  # it has ended, as will be noticed
        process.stdin.write(call)
        process.stdin.flush()
    with process.stdout, suppress(EOFError, OSError, pickle.UnpicklingError):
        while True:
            messages.put(pickle.load(process.stdout))
    messages.put((_ENDED, None))


def _end(process: subprocess.Popen[bytes]) -> None:
    _kill(process)
    process.wait()
    remove_dead()  # the temporary folders that it had no time to remove
    assert process.stdin is not None
    with suppress(OSError):  # what it has not read
        process.stdin.close()
    _RUNNING.discard(process)


@atexit.register
def end_all() -> None:
    """End the processes that threads left behind still wait for."""
    for process in list(_RUNNING):
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process that nobody has waited for, with the solvers that it has started."""
    if not hasattr(os, "killpg"):  # Windows
        process.kill()
    elif process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def main() -> None:
    """Answer the call on standard input."""
    from maxent.solvers.threads import one_thread

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever libraries print
    function, arguments = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def answer(kind: int, what: Any) -> None:
        answers.write(pickle.dumps((kind, what)))
        answers.flush()

    try:
        with one_thread():
            found = function(*arguments, lambda what: answer(_TOLD, what))
    except Exception as error:
        answer(_RAISED, error)
    else:
        answer(_RETURNED, found)


def _end_with_parent() -> None:
    while sys.stdin.buffer.read(1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
