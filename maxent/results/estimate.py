"""The answer of `maxent.estimate`: a frozen value with tables and summaries as views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.constraints.kinds.registry import kinds_of
from maxent.disclosure.inference import Inference
from maxent.disclosure.limits import Limits, Verdict, judge_informed, limits_of
from maxent.models.display import Display
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.files.output import ESTIMATE
from maxent.results.solved import (
    Saved,
    Solved,
    assessed_numbers,
    described,
    noted,
    unread_of,
    with_proved,
)
from maxent.results.text.estimate import estimate_display

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


# Keys of the measures of guesses that the summary has of each of several sensitive columns.
_IN_TRUTH = ("base_rate", "uniform", "right_guesses", "pure")
# Optima up to which JSON has the exact number, and the largest number of them that it can have.
EXACT, MOST = 2**53, 10**308


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Saved, Solved):
    """An estimate: the posterior of the individuals of a table, given a release, and how it was solved.

    ``program``, ``probabilities``, ``disclosure``, `posterior`, `columns`, `order` and `row` are those of
    `maxent.disclosure.inference.Inference`; ``outcome``, ``backend``, ``tolerance``, ``seconds``, ``noticed``,
    ``targets``, `reliable`, `certificate`, `unique`, `notes` and `contradictions` those of
    `maxent.results.solved.Solved`. Entropies and divergences of the summary are in nats.
    """

    kept_as = ESTIMATE
    rows_key = "posterior"

    @cached_property
    def _summary(self) -> dict[str, Any]:
        table, outcome = self.program.table, self.outcome
        seconds = {name: round(value, 4) for name, value in self.seconds.items()}
        summary: dict[str, Any] = {
            "individuals": self.program.individuals,
            "distinct_qi": table.distinct,
            "classes": self.program.n_classes,
            "constraints": kinds_of(self.program),
            "status": outcome.status,
            "backend": self.backend,
            "convex": outcome.convex,
            "unique": self.unique,
            "symmetric": self.optima > 1,
            "optima": self.optima if self.optima <= EXACT else float(min(self.optima, MOST)),
            "certificate": self.certificate,
            "entropy": self.disclosure.entropy,
            "max_violation": outcome.violation,
            "seconds": seconds,
            "solver": {
                "rounds": outcome.rounds,
                "parts": outcome.parts,
                "active_internal": len(outcome.active),
                "iterations": outcome.iterations,
                "backends": outcome.backends,
            },
            "disclosure": self.disclosure.as_dict(),
            **unread_of(self),
        }
        if self.proof is not None:
            summary["certain_proved"] = self.proof.certain_proved
            summary["certain_estimated"] = self.disclosure.certain
            summary["bounds"] = self.proof.as_dict()
        if self.baseline is not None:
            measures = self.disclosure.measures
            right = float(measures.get("right_guesses", measures["bayes_vulnerability"]))
            summary["baseline"] = self.baseline.as_dict(self.program.release.target.classes, right)
        if self.held is not None:
            summary["truth"] = self.held.as_dict(table.counts)
        if self.control is not None:
            summary["control"] = self.control.as_dict()
        if self.wp216 is not None:
            summary["wp216"] = self.wp216.as_dict()
        if self.min_capacity is not None:
            summary["min_capacity"] = self.min_capacity
        if self.leakage is not None:
            summary["leakage"] = self.leakage.as_dict()
        if self.sensitive is not None:
            summary["sensitive"] = self.sensitive.as_dict()
        if self.program.row_equations is not None:
            summary["row_equations"] = dict(self.program.row_equations)
        if np.isfinite(outcome.duality_gap):
            summary["duality_gap"] = outcome.duality_gap
        if np.isfinite(outcome.entropy_upper_bound):
            if self.certificate != "global" and self.program.likelihood is None:
                summary["entropy_upper_bound"] = self.most_entropy
            if self.certificate == "gap":
                summary["gap"] = outcome.duality_gap
        if self.program.likelihood is not None:
            summary["log_likelihood"] = self.program.log_likelihood(outcome.masses) / table.individuals
        if self.disclosure.divergence is not None:
            summary["divergence"] = divergence_numbers(self)
        if self.targets:
            summary["targets"] = {name: inferred_numbers(each) for name, each in self.targets.items()}
        summary |= noted(self.notes, self.noticed, self.contradictions)
        if self.parts is not None:
            summary["distinct_qi"] = summary["constraints"]["qi"] = self.parts.distinct
            if self.parts.far is not None:
                summary["divergence"] = dict(self.parts.far)
            summary |= self.parts.summary
        return summary

    @property
    def posterior(self) -> DataFrame:
        """One row per distinct quasi-identifier in the order they were read, with the columns `columns`; a copy.

        Of people in parts the rows of all files, by leaf, read when asked for.
        """
        return super().posterior if self.parts is None else self.parts.rows()

    def _display(self) -> Display:
        return estimate_display(self)

    @cached_property
    def numbers(self) -> Mapping[str, Any]:
        """The numbers by the keys of `maxent.disclosure.measures`, with what attacks find, as in a comparison."""
        named = {"release": "release", "defense": described(self.program.release)}
        return {**named, **with_proved(self, assessed_numbers(self, self._attacks))}

    @cached_property
    def _attacks(self) -> Mapping[str, Any]:
        return {} if self.attacks is None else self.attacks()

    def verdict(self, **limits: Any) -> Verdict:
        """The verdict against limits, by the estimate and the attacks on the same release.

        It is about an adversary who knows the base rate, too: where the truth says it, and the release does not, by a
        second estimate, which nothing else shows.
        Where a limit is not kept, ``releases[0].mend`` is what would pass, or why no change is offered.

        Parameters
        ----------
        **limits
            Fields of `maxent.disclosure.limits.Limits`: ``max_posterior`` (a probability), ``min_k``, ``max_certain``
            (individuals), ``max_right_guesses``, ``max_lift`` (shares of individuals).
        """
        return self.judged(limits_of(limits)).mended([self.mended])

    def judged(self, limits: Limits) -> Verdict:
        """The same without what would pass."""
        return judge_informed(limits, [self.numbers], [self.judged_row]).reached([self.drawing])

    def report(self, path: str | PathLike[str], *, title: str = "", purpose: str = "", **limits: Any) -> None:
        """Write a report for whoever decides: one .html file, for any browser.

        Parameters
        ----------
        path : path
        title, purpose : str
            The title, and what the release is for.
        **limits
            As for `verdict`.
        """
        if self.parts is not None:
            raise invalid("options", ARGUMENT, "report", "none of an estimate in parts", str(path))
        from maxent.results.html_report.build import Gatherer, save_report
        from maxent.results.html_report.view import check_report

        verdict = self.verdict(**limits)
        check_report(path)
        gatherer = Gatherer()
        gatherer(self, self.numbers)
        interrupted = self.outcome.status == "interrupted"
        call = "maxent.estimate(...).report(...)"
        save_report(path, gatherer, verdict, call, interrupted=interrupted, title=title, purpose=purpose)

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

        Raises
        ------
        MissingExtra
            When matplotlib is not installed.
        """
        from maxent.plotting.figures import axes_or_new, check_estimate_plot, draw_estimate

        check_estimate_plot(kind, truth=self.disclosure.individual is not None)
        axes = axes_or_new(ax)
        draw_estimate(axes, self, kind, tree)
        return axes

    def _saved(self) -> DataFrame:
        return self.posterior


def inferred_numbers(found: Inference) -> dict[str, Any]:
    """What is inferred of one of several sensitive columns, or of all together, for a JSON summary."""
    known = found.disclosure.divergence is not None
    return {
        "classes": found.program.n_classes,
        "entropy": found.disclosure.entropy,
        "disclosure": found.disclosure.as_dict(),
        **{key: value for key, value in found.disclosure.measures.items() if key in _IN_TRUTH},
        **({"divergence": divergence_numbers(found)} if known else {}),
    }


def divergence_numbers(inferred: Inference) -> dict[str, Any]:
    """The key ``divergence`` of a JSON summary, of an inference with a truth."""
    found, individual = inferred.disclosure.divergence, inferred.disclosure.individual
    assert found is not None
    assert individual is not None
    names = [a.name for a in inferred.program.table.attributes]
    top = [
        {
            "qi": dict(zip(names, inferred.values(i), strict=True)),
            "divergence": float(individual[i]) if np.isfinite(individual[i]) else None,
        }
        for i in found.top
    ]
    summary = {"overall": found.overall, "max": found.max, "top": top, "top_k_average": found.top_k_average}
    if found.infinite:
        summary["infinite"] = found.infinite
    return summary
