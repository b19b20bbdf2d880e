"""The answer of `maxent.compare_releases`: what the difference of two successive releases tells of each person."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

from maxent.models.text.display import Display, Shown
from maxent.successive.findings import Findings
from maxent.successive.text import successive_display


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseDifference(Shown, Findings):
    """What two successive releases tell together of those who joined, left or stayed, and what each of them alone.

    ``people``, ``who``, ``estimate``, ``proof``, ``alone``, `reliable`, `change`, `by_difference`, `summary`, `notes`
    and `frame` are those of `maxent.successive.findings.Findings`.
    """

    def _display(self) -> Display:
        return successive_display(self)

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write `frame` (.csv, .parquet) or the summary with it as ``rows`` (.json), by suffix, atomically.

        Parameters and errors are those of `maxent.results.estimate.Estimate.save`.
        """
        from maxent.models.files.kinds import DIFFERENCE
        from maxent.models.files.result_files import save_frame

        save_frame(path, self.frame(), lambda rows: {**self.summary, "rows": rows}, DIFFERENCE, csv_literal=csv_literal)
