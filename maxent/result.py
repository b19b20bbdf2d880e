"""The answer of `maxent.estimate`: a frozen value with tables and summaries as views."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.constraints.evaluate import Evaluator
from maxent.constraints.program import Contradiction, Program
from maxent.disclosure import Disclosure
from maxent.solvers.parts import PROVED
from maxent.solvers.solve import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Estimate:
    """What a release discloses about the individuals of a table.

    ``probabilities`` has shape (n_quasi_identifiers, n_classes), rows in the order of ``program.table``; `posterior`
    is the same as a DataFrame, in the order in which the quasi-identifiers appear in the table that was read.
    """

    program: Program
    outcome: Outcome
    probabilities: FloatArray
    disclosure: Disclosure
    backend: str
    tolerance: float
    seconds: Mapping[str, float]

    @property
    def reliable(self) -> bool:
        """Whether the answer can be relied on: solved, and nothing contradicted."""
        return self.outcome.status == "optimal"

    @property
    def certificate(self) -> str:
        """What is proved: ``global`` (the optimum), ``gap`` (near it), ``local`` (nothing), or ``none`` (not solved).

        The proof is our own bound on the entropy: ``global`` when it leaves no more than 1e-6 nats per individual.
        """
        if not self.reliable:
            return "none"
        if self.outcome.duality_gap <= PROVED:
            return "global"
        return "gap" if np.isfinite(self.outcome.duality_gap) else "local"

    @property
    def unique(self) -> bool:
        """Whether the answer is known to be the only optimum: the entropy is strictly concave."""
        return self.outcome.convex and self.certificate == "global"

    @property
    def notes(self) -> tuple[str, ...]:
        """How the release was read, and what went wrong while solving, in words."""
        return (*self.program.notes, *self.outcome.trouble)

    @cached_property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """Statements that the answer does not satisfy, or the table contradicts, the largest of each unit first.

        Where solving was ended early, those that an answer does not satisfy yet contradict nothing, and are left out.
        """
        program, tolerance = self.program, self.tolerance
        found = list(program.contradictions)
        if self.outcome.status in ("inconsistent", "not_converged"):
            evaluator = Evaluator(program)
            linear, rows = evaluator.linear, evaluator.internal
            missed = linear.violation(self.outcome.masses)
            worst = np.zeros(len(program.linear))
            np.maximum.at(worst, linear.constraint, np.where(missed > tolerance, missed * linear.scale, 0.0))
            found += [
                Contradiction(program.linear[i].origin, program.linear[i].says, float(worst[i]))
                for i in np.flatnonzero(worst)
            ]
            slack = rows.violation(self.outcome.masses)
            for i in np.flatnonzero(slack > tolerance):
                c = program.internal[int(rows.constraint_of(np.array([i]))[0])]
                says = f"{c.chosen} chosen over {c.candidate}"
                found.append(Contradiction(c.origin, says, float(slack[i]), "impurity"))
        return tuple(sorted(found, key=lambda c: (c.unit == "impurity", -c.amount)))

    @property
    def order(self) -> npt.NDArray[np.int64]:
        """Rows of the table in the order in which they were first read."""
        return np.argsort(self.program.table.lines, kind="stable").astype(np.int64)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of `posterior`: attributes, ``count``, ``P(class)``; ``divergence`` with a truth."""
        names = [a.name for a in self.program.table.attributes]
        names += ["count", *(f"P({name})" for name in self.program.release.target.classes)]
        return (*names, "divergence") if self.disclosure.individual is not None else tuple(names)

    def row(self, quasi_identifier: int) -> tuple[str | int | float, ...]:
        """The values of `columns` for one quasi-identifier, a row number of ``program.table``."""
        table, individual = self.program.table, self.disclosure.individual
        values = [*self._values(quasi_identifier), int(table.counts[quasi_identifier])]
        values += self.probabilities[quasi_identifier].tolist()
        return tuple(values) if individual is None else (*values, float(individual[quasi_identifier]))

    @property
    def posterior(self) -> DataFrame:
        """One row per distinct quasi-identifier in the order they were read, with the columns `columns`; a copy."""
        return self._posterior.copy()

    @cached_property
    def _posterior(self) -> DataFrame:
        import pandas as pd

        frame = self.program.table.frame()
        columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
        columns += [pd.Series(p) for p in self.probabilities.T]
        if self.disclosure.individual is not None:
            columns.append(pd.Series(self.disclosure.individual))
        table = pd.concat(columns, axis=1)
        table.columns = pd.Index(self.columns)
        return table.iloc[self.order].reset_index(drop=True)

    @property
    def summary(self) -> dict[str, Any]:
        """The JSON summary: plain numbers, strings, lists, dictionaries; entropies, divergences in nats; a copy."""
        return deepcopy(self._summary)

    @cached_property
    def _summary(self) -> dict[str, Any]:
        table, outcome = self.program.table, self.outcome
        summary: dict[str, Any] = {
            "individuals": table.individuals,
            "distinct_qi": len(table),
            "classes": self.program.n_classes,
            "constraints": self.program.kinds(),
            "status": outcome.status,
            "backend": self.backend,
            "convex": outcome.convex,
            "unique": self.unique,
            "certificate": self.certificate,
            "entropy": self.disclosure.entropy,
            "max_violation": outcome.violation,
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
            "solver": {
                "rounds": outcome.rounds,
                "parts": outcome.parts,
                "active_internal": outcome.active,
                "iterations": outcome.iterations,
                "backends": outcome.backends,
            },
            "disclosure": self.disclosure.as_dict(),
        }
        if np.isfinite(outcome.duality_gap):
            summary["duality_gap"] = outcome.duality_gap
            if self.certificate != "global":
                summary["entropy_upper_bound"] = outcome.entropy_upper_bound
            if self.certificate == "gap":
                summary["gap"] = outcome.duality_gap
        if self.disclosure.divergence is not None:
            summary["divergence"] = self._divergence()
        if self.notes:
            summary["notes"] = list(self.notes)
        if self.contradictions:
            summary["contradictions"] = [
                {"origin": str(c.origin), "says": c.says, "amount": c.amount, "unit": c.unit}
                for c in self.contradictions
            ]
        return summary

    def _divergence(self) -> dict[str, Any]:
        found, individual = self.disclosure.divergence, self.disclosure.individual
        assert found is not None
        assert individual is not None
        names = [a.name for a in self.program.table.attributes]
        top = [
            {
                "qi": dict(zip(names, self._values(i), strict=True)),
                "divergence": float(individual[i]) if np.isfinite(individual[i]) else None,
            }
            for i in found.top
        ]
        summary = {"overall": found.overall, "max": found.max, "top": top, "top_k_average": found.top_k_average}
        if found.infinite:
            summary["infinite"] = found.infinite
        return summary

    def _values(self, row: int) -> list[str | float]:
        """The attributes of a quasi-identifier: strings, floats."""
        table = self.program.table
        values = (level[code] for level, code in zip(table.levels, table.codes[row], strict=True))
        return [v if isinstance(v, str) else float(v) for v in values]

    def plot(self, kind: str = "leaves", *, ax: Axes | None = None, tree: int = 0) -> Axes:
        """Draw what is disclosed.

        Parameters
        ----------
        kind : {"leaves", "posterior", "divergence"}
            ``leaves``: the individuals of each leaf and how well they are known; ``posterior``: how many individuals
            have a class of at least a probability; ``divergence``, with a truth: the mean divergence (nats) of the K
            most disclosed individuals against K, after Zhu and Du (2010), Fig. 8.
        ax : matplotlib Axes, optional
            Where to draw; a new figure of pyplot by default, which is not shown.
        tree : int
            Whose leaves, of a release of several trees, from 0.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        MissingExtra
            When matplotlib is not installed.
        InvalidInput
            For another kind, naming those that there are; without the truth that a kind needs; for another tree.
        """
        from maxent.plotting.estimates import check_estimate_plot, draw_estimate
        from maxent.plotting.figures import axes_or_new

        check_estimate_plot(kind, truth=self.disclosure.individual is not None)
        axes = axes_or_new(ax)
        draw_estimate(axes, self, kind, tree)
        return axes

    def save(self, path: str | PathLike[str]) -> None:
        """Write the posterior (.csv, .parquet) or the summary with it (.json), by suffix, atomically.

        Raises
        ------
        InvalidInput
            For another suffix, or a place that cannot be written; nothing is left behind.
        """
        from maxent.report import save_estimate

        save_estimate(self, path)
