"""Exit status, messages and progress on standard error, for the jobs of all commands."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxent.api.estimate import Progress
    from maxent.models.reading import Noticed
    from maxent.solvers.control import Clock

# Exit statuses; the last two are of enforced limits, one that is not kept, and one that cannot be judged.
DONE, UNRELIABLE, WRONG, BEYOND, UNKNOWN = 0, 1, 2, 3, 4
# The work of a command; returns the exit status.
Job = Callable[[], int]
# Seconds between lines of progress where standard error is no terminal.
SELDOM = 20.0
# Characters of what a progress bar is about.
LONGEST = 60


def tell(text: str) -> None:
    """Print one line to standard error, behind everything that was printed before."""
    from maxent.models.errors import printable

    sys.stdout.flush()
    print(f"maxent: {printable(text)}", file=sys.stderr)


def tell_noticed(noticed: Noticed) -> None:
    """Print what was noticed while releases and tables were read."""
    for note in noticed.notes:
        tell(f"note: {note}")


@contextmanager
def progress(first: str = "reading and compiling") -> Iterator[Progress | None]:
    """A progress bar on standard error, None when nobody watches; ``first`` is what is being done first."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    from maxent.models.errors import printable

    # Names are text and not Rich's markup. Time left is by all that was done so far: a piece of it may take long.
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=1e6) as bars:
        task = bars.add_task(first, total=None)

        def told(text: str, done: int, total: int) -> None:
            bars.update(task, description=printable(text)[:LONGEST], completed=done, total=total or None)

        yield told


def seldom(now: Callable[[], float] = monotonic, every: float = SELDOM) -> Progress:
    """Progress as a line on standard error now and then, for a job that nobody may watch on a terminal."""
    last = now()

    def told(text: str, done: int, total: int) -> None:
        nonlocal last
        if now() - last >= every:
            last = now()
            tell(f"{text} ({done} of {total} done)")

    return told


@contextmanager
def finishing(status: str) -> Iterator[Clock]:
    """Report a result that is there in spite of Ctrl-C, which the clock hears of; the second one ends the command."""
    from maxent.solvers.control import Clock

    clock = Clock()
    if status == "interrupted":
        clock.interrupt()
    with clock.listening():
        yield clock
