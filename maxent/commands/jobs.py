"""What the jobs of all commands share: exit status, messages and progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxent.engine import Progress

DONE, UNRELIABLE, WRONG = 0, 1, 2

Job = Callable[[], int]
"""What a command does, and the exit status it ends with."""

REASONS = {
    "inconsistent": "the statements contradict each other or the table; the result is the nearest to all of them",
    "not_converged": "the solver did not converge",
    "time_limit": "stopped at the time limit; the result is the best so far",
    "interrupted": "interrupted; the result is the best so far",
}
"""Status of an estimate -> why it is not to be relied on."""


def tell(text: str) -> None:
    """Print one line to standard error, behind everything that was printed before."""
    from maxent.report import printable

    sys.stdout.flush()
    print(f"maxent: {printable(text)}", file=sys.stderr)


@contextmanager
def progress() -> Iterator[Progress | None]:
    """A progress bar on standard error, None when nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bars

    # Time left is by all that was done so far: a piece of the work may take long.
    with Bars(console=Console(stderr=True), transient=True, speed_estimate_period=1e6) as bars:
        task = bars.add_task("reading and compiling", total=None)
        yield lambda text, done, total: bars.update(task, description=text, completed=done, total=total or None)
