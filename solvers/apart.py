"""Calls a function in a child process that can be killed: python -m maxent.solvers.apart.

For libraries that neither look at the clock nor let other threads of Python run, that take streams and signals of the
whole process, or that may crash. The process reads calls from its standard input, runs them in its main thread and
answers on its standard output; it ends with the process that started it.
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
# Variables and rows of a program from which on a step of such a library may take a good part of a second.
LARGE = 4_000
_TOLD, _RETURNED, _RAISED, _UNREADABLE, _ENDED, _LATE = range(6)
# Bytes of the length of a call, which stands before it.
_LENGTH = 8
# Signals by which others end a process; the rest, and an end without one, it brings upon itself.
_FROM_OUTSIDE = frozenset({"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"})


class Crashed(WorkerLost):
    """A child process crashed in a library; this process goes on."""


def apart(
    function: Callable[..., Any], arguments: tuple[Any, ...], clock: Clock, heard: Tell, *, keep: bool = False
) -> Any:
    """The result of ``function(*arguments, clock, tell)`` in another process, None where the process had to be ended.

    It hears of the clock as a copy, and has `SOON` seconds to end by itself. What it tells on the way is passed to
    ``heard``. The function is one of a module, and everything is pickled. To ``keep`` the process for the next such
    call saves the second that it takes to start.

    Raises
    ------
    Crashed
        When what was called ended the process.
    WorkerLost
        When another one did.
    Exception
        What the function raises.
    """
    with clock.shared():
        call = pickle.dumps((function, (*arguments, clock)))
        process, kind = (_kept() if keep else None) or _Process(), _LATE
        try:
            kind, found = process.call(call, clock, heard)
        finally:
            if keep and kind in (_RETURNED, _RAISED):
                _IDLE.append(process)
            else:
                process.end()
    if kind in (_RAISED, _UNREADABLE):
        raise found
    if kind == _ENDED:
        raise process.lost()
    return found


def may_be_ended(program: LiftedProgram, clock: Clock) -> bool:
    """Whether a step on this program may take so long that the clock must be able to kill it."""
    return clock.runs and program.n + len(program.row_lower) + len(program.nl_const) > LARGE


class Here(Protocol):
    """A back end that solves in this process, and tells points on the way."""

    def solve_here(self, program: LiftedProgram, start: FloatArray, options: Options, tell: Tell) -> Solution: ...


def solve_apart(
    backend: Here, program: LiftedProgram, start: FloatArray, options: Options, heard: Tell, *, keep: bool = False
) -> Solution | None:
    """The result of ``backend.solve_here`` from another process, None where that was ended.

    Points on the way go to ``heard``. ``keep`` is that of `apart`.
    """
    arguments = (backend, program, start, replace(options, cluster=None))
    found: Solution | None = apart(_solve_there, arguments, options.clock, heard, keep=keep)
    return found


def solve_apart_if_large(
    backend: Here, program: LiftedProgram, start: FloatArray, options: Options, heard: Tell
) -> Solution | None:
    """`solve_apart` for programs that `may_be_ended`; other programs are solved in this process."""
    if not may_be_ended(program, options.clock):
        return backend.solve_here(program, start, options, heard)
    return solve_apart(backend, program, start, options, heard)


def _solve_there(
    backend: Here, program: LiftedProgram, start: FloatArray, options: Options, clock: Clock, tell: Tell
) -> Solution:
    return backend.solve_here(program, start, replace(options, clock=clock), tell)


def _surroundings() -> tuple[str, str, str | None]:
    """Module path, folder and PATH of this process, for a child that loads the same modules."""
    here = os.getcwd()
    return os.pathsep.join(path or here for path in sys.path), here, os.environ.get("PATH")


class _Process:
    """A process that answers calls, one after another; ``spent`` are its processor seconds until its last answer."""

    def __init__(self) -> None:
        self.surroundings, self.of = _surroundings(), os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "maxent.solvers.apart"],
            stdin=subprocess.PIPE,  # stays open: it closes when this process ends, and the other ends with it
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": self.surroundings[0]},
            start_new_session=True,  # Ctrl-C in a terminal is for us
        )
        self._reader: threading.Thread | None = None
        self.spent = 0.0
        _ALL.add(self)

    def call(self, call: bytes, clock: Clock, heard: Tell) -> tuple[int, Any]:
        """How a call ended, and its result; unless `_LATE`, the thread that waits for it has ended."""
        messages: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._reader = threading.Thread(target=self._talk, args=(call, messages), daemon=True)
        self._reader.start()
        while clock.late() <= SOON:
            try:
                kind, what = messages.get(timeout=POLL)
            except Empty:
                continue
            if kind != _TOLD:
                self._reader.join()
                return kind, what
            heard(what)
        return _LATE, None

    def _talk(self, call: bytes, messages: SimpleQueue[tuple[int, Any]]) -> None:
        """Hand over a call, which a process takes when it has started, and pass on its messages."""
        calls, answers = self._process.stdin, self._process.stdout
        assert calls is not None
        assert answers is not None
        kind, what = _TOLD, None
        try:
            calls.write(len(call).to_bytes(_LENGTH, "little"))
            calls.write(call)
            calls.flush()
            while kind == _TOLD:
                kind, what, self.spent = pickle.load(answers)
                messages.put((kind, what))
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):  # in the middle of an answer, perhaps
            messages.put((_ENDED, None))
        except Exception as error:  # what the function raised can be one that does not unpickle
            messages.put((_UNREADABLE, error))

    def fits(self) -> bool:
        """Whether it would answer as a new one would: a copy of this process has none of its own."""
        alive = self.of == os.getpid() and self._process.poll() is None
        return alive and self.surroundings == _surroundings()

    def lost(self) -> WorkerLost:
        """The error that describes its end."""
        code = self._process.returncode
        try:
            how = signal.Signals(-code).name
        except ValueError:
            how = f"exit status {code}"
        if how in _FROM_OUTSIDE:
            return WorkerLost(f"the solver ended ({how}): it was ended from outside, perhaps for want of memory")
        return Crashed(f"the solver ended ({how}): a library crashed, in a process of its own")

    def kill(self) -> None:
        """End it at once, unless somebody has waited for its end, with the solvers that it has started."""
        if not hasattr(os, "killpg"):  # Windows
            self._process.kill()
        elif self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """End it, and remove its temporary files."""
        self.kill()
        self._process.wait()
        remove_dead()  # the temporary folders that it had no time to remove
        calls, answers = self._process.stdin, self._process.stdout
        assert calls is not None
        assert answers is not None
        with suppress(OSError):  # what it has not read
            calls.close()
        if self._reader is not None:
            self._reader.join(SOON)
        if self._reader is None or not self._reader.is_alive():  # a process that nobody ended may hold the other end
            answers.close()
        _ALL.discard(self)


_ALL: set[_Process] = set()
_IDLE: list[_Process] = []


def _kept() -> _Process | None:
    """A process that was kept, and suits a call from here and now."""
    while True:
        try:
            process = _IDLE.pop()  # by one thread alone
        except IndexError:
            return None
        if process.fits():
            return process
        if process.of == os.getpid():
            process.end()


def seconds_spent() -> float:
    """Processor seconds of the processes that are kept: the system knows those of ended ones alone."""
    return sum(process.spent for process in list(_ALL))


@atexit.register
def end_all() -> None:
    """End all solver processes of this process: idle ones, and those still at work."""
    for process in list(_ALL):
        if process.of == os.getpid():  # not those of the process that this one is a copy of
            process.end()


def main() -> None:
    """Answer the calls on standard input."""
    from maxent.solvers.threads import keep_to_one_thread

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever libraries print
    calls: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(calls,), daemon=True).start()

    def answer(kind: int, what: Any) -> None:
        answers.write(pickle.dumps((kind, what, sum(os.times()[:4]))))
        answers.flush()

    keep_to_one_thread()
    while True:
        try:
            function, arguments = pickle.loads(calls.get())
            found = function(*arguments, lambda what: answer(_TOLD, what))
        except Exception as error:
            answer(_RAISED, error)
        else:
            answer(_RETURNED, found)


def _read(calls: SimpleQueue[bytes]) -> None:
    """Take calls as they come, and end with the process that makes them, solvers that this one has started included."""
    while len(length := sys.stdin.buffer.read(_LENGTH)) == _LENGTH:
        calls.put(sys.stdin.buffer.read(int.from_bytes(length, "little")))
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main()
