"""The answer of `maxent.reconstruct`: a whole table of people, and which of its cells are proved."""

from __future__ import annotations

from dataclasses import dataclass

from maxent.models.text.display import Display, Shown
from maxent.rebuilt.table import RebuiltTable
from maxent.rebuilt.text import reconstruction_display


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction(Shown, RebuiltTable):
    """A whole table of the people behind a release, and which of its cells every such table has.

    Its attributes and methods are those of `maxent.rebuilt.table.RebuiltTable`: ``table``, ``proved``, ``status``,
    ``settled``, ``missed``, ``summary``, ``save``, ``save_proved`` and ``to_csv``.
    """

    def _display(self) -> Display:
        return reconstruction_display(self)
