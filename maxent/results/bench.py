"""The answer of `maxent.bench`: a row per back end, with tables, summaries and plots as views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from maxent.models.display import Display, Shown, counted
from maxent.models.reading import NOTHING, Noticed
from maxent.results.text.terminal import aligned, print_lines

if TYPE_CHECKING:
    from pandas import DataFrame

# Keys of every row, see `BenchResult`.
COLUMNS = (
    "backend",
    "version",
    "status",
    "reason",
    "convex",
    "certificate",
    "entropy",
    "entropy_upper_bound",
    "max_violation",
    "max_distance",
    "total_variation",
    "mean_total_variation",
    "build_seconds",
    "solve_seconds",
    "processor_seconds",
    "peak_memory_mb",
    "iterations",
)

# Status of a back end that presolve left nothing to.
NOT_USED = "not_used"
# Why no back end was used.
CLOSED_FORM = "closed forms of presolve answer the whole problem"
# The same without presolve, which no option changes.
SINGLE = "what is stated leaves a single answer, and nothing to any back end"

_COLUMNS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "backend": ("backend", str),
    "status": ("status", str),
    "certificate": ("certificate", str),
    "entropy": ("entropy", "{:.6f}".format),
    "max_violation": ("violation", "{:.1e}".format),
    "max_distance": ("distance", "{:.1e}".format),
    "total_variation": ("variation", "{:.1e}".format),
    "build_seconds": ("build s", "{:.3f}".format),
    "solve_seconds": ("solve s", "{:.3f}".format),
    "processor_seconds": ("CPU s", "{:.3f}".format),
    "peak_memory_mb": ("peak MB", "{:.0f}".format),
    "iterations": ("iterations", str),
    "divergence": ("divergence", "{:.4f}".format),
}
_TEXTS = 3


@dataclass(frozen=True, eq=False, repr=False)
class BenchResult(Shown):
    """Results of several back ends on one problem.

    ``rows`` has a mapping per back end, in the order asked for, each with all keys; what is not known is None.

    - ``backend``, ``version`` of its solver, ``status``, and ``reason``, in words, where that is not ``optimal``. The
      status is one of `maxent.estimate`, or ``refused`` (the back end says that it cannot solve such a problem),
      ``not_installed``, ``failed`` (an error or a crash), ``time_limit``, ``interrupted``, or ``not_used``: presolve
      left nothing to any back end, so that entropy and seconds are not those of one (``presolve=False`` asks them);
    - ``convex``, ``certificate``, ``entropy`` and ``entropy_upper_bound`` (nats), ``max_violation`` (probability),
      ``iterations``: as in the summary of an estimate, also of an answer that is not to be relied on;
    - how far the answer is from that of ``best``, the back end with the highest entropy of all that are optimal:
      ``max_distance``, the largest difference of any probability, ``total_variation``, the largest distance of the
      distributions of one quasi-identifier (half the sum of their differences), and ``mean_total_variation``, its mean
      over the individuals;
    - ``build_seconds`` (reading and compiling) and ``solve_seconds`` on the clock, ``processor_seconds`` for both, each
      the least of all repetitions; ``peak_memory_mb``, resident, of the largest process, in 2^20 bytes;
    - ``divergence`` from the truth (nats), only when there is a truth.

    ``problem`` has ``individuals``, ``distinct_qi``, ``classes`` and ``constraints`` of the summary, None when no back
    end got that far. ``interrupted`` is whether Ctrl-C ended the comparison early;
    ``noticed`` is what was while the release and the tables were read.
    """

    rows: tuple[Mapping[str, Any], ...]
    best: str | None
    problem: Mapping[str, Any]
    tolerance: float
    interrupted: bool
    noticed: Noticed = NOTHING

    @property
    def reliable(self) -> bool:
        """Whether there is an answer to rely on, of at least one back end or in closed form."""
        return self.best is not None or self.closed_form

    @property
    def closed_form(self) -> bool:
        """Whether presolve answered the whole problem, so that no back end was used."""
        return any(row["status"] == NOT_USED for row in self.rows)

    @property
    def summary(self) -> dict[str, Any]:
        """The object of ``maxent bench --json``: plain numbers, strings, lists, dictionaries; a copy."""
        rows = [dict(row) for row in self.rows]
        own = {"tolerance": self.tolerance, "best": self.best, "interrupted": self.interrupted, "rows": rows}
        notes = {"notes": list(self.noticed.notes)} if self.noticed.notes else {}
        return deepcopy({**self.problem, **own, **notes, **self.noticed.summary})

    @property
    def table(self) -> DataFrame:
        """One row per back end with the keys of ``rows`` as columns; a copy."""
        import pandas as pd

        return pd.DataFrame([dict(row) for row in self.rows])

    def _display(self) -> Display:
        header, cells = _table(self)
        title = f"Comparison of {counted(len(cells), 'back end')}, best: {self.best or 'none'}"
        reasons = _reasons(self)
        return Display(title, [*aligned(header, cells, left=_TEXTS), *reasons], header, cells, reasons)

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write the rows (.csv, .parquet) or the summary (.json), by suffix, atomically.

        Parameters and errors are those of `maxent.results.estimate.Estimate.save`.
        """
        from maxent.models.files.output import BENCH
        from maxent.models.files.result_files import save_rows

        save_rows(self.summary, "rows", path, BENCH, csv_literal=csv_literal)

    def plot(self, target: str | PathLike[str] | Sequence[Any]) -> None:
        """Draw seconds, and entropy below the best, by back end.

        Parameters
        ----------
        target : path, or two matplotlib Axes
            A file (.svg, .png, .pdf), or where to draw the one and the other.

        Raises
        ------
        MissingExtra
            When matplotlib is not installed.
        """
        from maxent.plotting.bench import draw_bench, save_bench_plot

        if isinstance(target, (str, PathLike)):
            save_bench_plot(self.rows, target)
        else:
            draw_bench(self.rows, *target)


def print_bench(result: BenchResult) -> None:
    """Print a row per back end, why some have no answer to rely on, and which is the best."""
    header, cells = _table(result)
    print_lines([*aligned(header, cells, left=_TEXTS), "", *_reasons(result)])


def _table(result: BenchResult) -> tuple[list[str], list[list[str]]]:
    """The header, and a row of texts per back end."""
    keys = [key for key in _COLUMNS if key in result.rows[0]]
    cells = [["-" if row[key] is None else _COLUMNS[key][1](row[key]) for key in keys] for row in result.rows]
    return [_COLUMNS[key][0] for key in keys], cells


def _reasons(result: BenchResult) -> list[str]:
    """Reasons not to rely on the answers of some back ends, and the name of the best."""
    lines = [
        f"{row['backend']}: {row['status'].replace('_', ' ')}: {row['reason']}"
        for row in result.rows
        if row["reason"] is not None
    ]
    if result.best is None and result.closed_form:
        way = ": --no-presolve (in Python presolve=False) gives each the program"
        presolved = any(row["reason"] == CLOSED_FORM for row in result.rows)
        return [*lines, f"no back end was used, and none is best{way if presolved else ''}"]
    if result.best is None:
        return [*lines, "no back end has an answer to rely on"]
    best = next(row for row in result.rows if row["backend"] == result.best)
    return [
        *lines,
        f"best: {result.best}, entropy {best['entropy']:.6f} nats; distance and variation are the largest "
        "difference from its posterior, of a probability and of a quasi-identifier's distribution",
    ]
