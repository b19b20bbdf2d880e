"""Worlds beside the estimate: where weighing each world equally says something else, the estimate is fragile."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.text.display import Display, Shown
from maxent.solvers.worlds.weighing.equally import Weighed

FRAGILE = 0.1
"""Difference of two probabilities from which on the estimate is fragile."""

MIXED = 1.05
"""R-hat up to which chains are taken to agree."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Worlds(Shown):
    """P(class | quasi-identifier) with each world equally likely, and as estimated, shapes (n_quasi_identifiers, k).

    ``counts`` are the individuals of each quasi-identifier.
    """

    weighed: Weighed
    estimate: FloatArray
    counts: IntArray

    @property
    def known(self) -> BoolArray:
        """Quasi-identifiers whose worlds were counted, or sampled by chains that agree."""
        agree = (self.weighed.r_hat <= MIXED).all(axis=1)
        result: BoolArray = self.weighed.counted | agree
        return result

    @property
    def difference(self) -> FloatArray:
        """The largest difference of the two for any class, shape (n_quasi_identifiers,); NaN where `known` is not."""
        difference = np.abs(self.weighed.posterior - self.estimate).max(axis=1)
        return np.where(self.known, difference, np.nan)

    @property
    def fragile(self) -> int:
        """Individuals for whom the two differ by more than `FRAGILE`."""
        return int(self.counts[np.nan_to_num(self.difference) > FRAGILE].sum())

    @property
    def summary(self) -> dict[str, Any]:
        """Plain numbers for JSON; what is not known is None."""
        weighed, number = self.weighed, self.weighed.log_number
        largest = np.nanmax(self.difference) if self.known.any() else None
        sampled = ~np.isnan(weighed.r_hat).all(axis=1)
        return {
            "log10_number": None if number is None else number / math.log(10),
            "individuals_counted": int(self.counts[weighed.counted].sum()),
            "individuals_sampled": int(self.counts[self.known & ~weighed.counted].sum()),
            "individuals_unknown": int(self.counts[~self.known].sum()),
            "largest_r_hat": float(weighed.r_hat[sampled].max()) if sampled.any() else None,
            "least_effective_sample_size": float(weighed.effective[sampled].min()) if sampled.any() else None,
            "largest_difference": None if largest is None else float(largest),
            "fragile": self.fragile,
        }

    def _display(self) -> Display:
        told = {name.replace("_", " "): value for name, value in self.summary.items() if value is not None}
        rows = [(name, f"{value:,}" if isinstance(value, int) else f"{value:.4g}") for name, value in told.items()]
        return Display("Worlds, each equally likely, beside the estimate", self.lines(), ("number", "value"), rows)

    def lines(self) -> list[str]:
        """The same for people to read."""
        told = self.summary
        number = told["log10_number"]
        few = number is not None and number < 6
        many = "not counted" if number is None else f"{round(10**number):,}" if few else f"about 10^{number:.1f}"
        lines = [
            f"consistent worlds (classes handed out to individuals): {many}; the posterior that weighs each equally is "
            f"exact for {told['individuals_counted']:,} individuals, sampled for {told['individuals_sampled']:,}"
        ]
        if told["individuals_unknown"]:
            lines[0] += f", and not known for {told['individuals_unknown']:,}"
        if told["largest_r_hat"] is not None:
            effective, r_hat = told["least_effective_sample_size"], told["largest_r_hat"]
            lines.append(f"chains: R-hat up to {r_hat:.3f}, effective sample size from {effective:,.0f}")
        if told["largest_difference"] is not None:
            most = f"it differs from the estimate by up to {told['largest_difference']:.3f}"
            lines.append(f"{most}, by more than {FRAGILE} for {self.fragile:,} individuals" + _verdict(self.fragile))
        return lines


def _verdict(fragile: int) -> str:
    return ": there the estimate is fragile" if fragile else ""
