"""Numbers of members and of control people, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

from maxent.evidence.intervals import Interval


@dataclass(frozen=True, slots=True)
class Two:
    """A number of members and of control people."""

    members: float
    controls: float

    @property
    def difference(self) -> float:
        """The number of members less that of control people."""
        return self.members - self.controls

    def as_dict(self, interval: Interval | None = None) -> dict[str, Any]:
        """Both and their difference as plain numbers, None for infinite ones."""
        found: dict[str, Any] = {
            name: value if isfinite(value) else None
            for name, value in (("members", self.members), ("controls", self.controls))
        }
        found["difference"] = self.difference if isfinite(self.difference) else None
        return found if interval is None else {**found, "interval": list(interval)}


@dataclass(frozen=True, slots=True)
class Control:
    """One adversary against members and against control people.

    Attributes
    ----------
    hits : Two
        Shares of people whose class is guessed right, in the way that is right about most members:
        `maxent.evidence.truth.InTruth.way`.
    interval : (float, float)
        Of the difference of these.
    vulnerability : Two
        Expected shares of right guesses (Bayes vulnerability), with ``vulnerability_interval``.
    divergence : Two
        Overall divergences of the truth from the posterior, nats.
    people : (int, int)
        Members and control people; ``known`` of these have a quasi-identifier of the adversary's table.
    confidence : float
        Of each interval.
    """

    hits: Two
    interval: Interval
    vulnerability: Two
    vulnerability_interval: Interval
    divergence: Two
    people: tuple[int, int]
    known: int
    confidence: float

    @property
    def beyond(self) -> bool:
        """Whether members are guessed right more often for sure."""
        return self.interval[0] > 0

    def as_dict(self) -> dict[str, Any]:
        """The key ``control`` of a JSON summary."""
        return {
            **self.hits.as_dict(self.interval),
            "confidence": self.confidence,
            "individuals": {"members": self.people[0], "controls": self.people[1], "known_controls": self.known},
            "bayes_vulnerability": self.vulnerability.as_dict(self.vulnerability_interval),
            "divergence": self.divergence.as_dict(),
        }
