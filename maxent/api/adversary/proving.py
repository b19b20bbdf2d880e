"""Parameters of proofs, and the proof of a program."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from maxent.constraints.program import TIES, Program, Ties
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.tables.frame import shorten
from maxent.models.text.arguments import is_number, is_one_of
from maxent.solvers.clock import Clock

if TYPE_CHECKING:
    from maxent.results.proof import Proof

AUTO = "auto"
"""All levels that can be asked here."""


@dataclass(frozen=True, slots=True)
class Proving:
    """Parameters of `bounds` for proving.

    Raises
    ------
    InvalidInput
        Naming every parameter that is out of its range.
    """

    level: str = AUTO
    ties: Ties = "any"
    time_limit: float | None = None
    worlds: bool = False
    witness: bool = False

    def __post_init__(self) -> None:
        problems = _wrong_level("level", self.level)
        if not is_one_of(self.ties, TIES):
            problems.append(Problem(ARGUMENT, "ties", "one of " + ", ".join(TIES), shorten(self.ties)))
        limit = self.time_limit
        if limit is not None and not (is_number(limit) and 0 < limit < inf):
            problems.append(Problem(ARGUMENT, "time_limit", "a positive number of seconds", shorten(limit)))
        if problems:
            raise InvalidInput("options", problems)

    @property
    def last(self) -> str:
        """The last level to ask."""
        return _last(self.level)


def check_level(name: str, level: object) -> None:
    """Refuse what is no level of proof, with an InvalidInput that calls the parameter by its name."""
    if problems := _wrong_level(name, level):
        raise InvalidInput("options", problems)


def _wrong_level(name: str, level: object) -> list[Problem]:
    from maxent.solvers.certainty.levels import level_names

    levels = (*level_names(), AUTO)
    if is_one_of(level, levels):
        return []
    return [Problem(ARGUMENT, name, "one of " + ", ".join(levels), shorten(level))]


def _last(level: str) -> str:
    from maxent.solvers.certainty.levels import last_level

    return last_level() if level == AUTO else level


def proof_of(program: Program, level: str, clock: Clock) -> Proof:
    """What is proved of a program, in the time that is left."""
    from maxent.results.proof import Proof
    from maxent.solvers.certainty.prove import prove

    begin = time.perf_counter()
    proved = prove(program, _last(level), clock)
    return Proof(program, proved.bounds, proved.status, _last(level), {"prove": time.perf_counter() - begin})
