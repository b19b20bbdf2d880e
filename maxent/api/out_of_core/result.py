"""The answer of `maxent.estimate_in_parts`: an estimate whose posterior is in files, and not in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxent.api.out_of_core.folder import frame_of, parts_entry
from maxent.models.display import Display, counted
from maxent.models.errors import ARGUMENT, invalid
from maxent.results.estimate import Estimate
from maxent.results.text.estimate import kinds_line, summary_lines

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.disclosure.limits import Limits
    from maxent.models.arrays import IntArray
    from maxent.models.tables.qi_table import QITable


@dataclass(frozen=True, slots=True)
class FarFrom:
    """Divergences of the posterior from the truth, nats; None stands for infinity.

    ``top`` are the quasi-identifiers whose divergences are largest, each with its values by attribute.
    """

    overall: float | None
    max: float | None
    min: float
    top: tuple[tuple[Mapping[str, str | float], float | None], ...]
    top_k_average: float | None
    infinite: int

    def as_dict(self) -> dict[str, Any]:
        """The key ``divergence`` of a JSON summary."""
        found: dict[str, Any] = {
            "overall": self.overall,
            "max": self.max,
            "top": [{"qi": dict(values), "divergence": each} for values, each in self.top],
            "top_k_average": self.top_k_average,
        }
        return {**found, "infinite": self.infinite} if self.infinite else found

    @property
    def measures(self) -> dict[str, float | int]:
        """The measures of divergence, by their keys in `maxent.disclosure.registry`."""
        inf = float("inf")
        return {
            "divergence": inf if self.overall is None else self.overall,
            "divergence_max": inf if self.max is None else self.max,
            "divergence_top": inf if self.top_k_average is None else self.top_k_average,
            "divergence_min": self.min,
            "infinite": self.infinite,
        }


@dataclass(frozen=True, eq=False, repr=False)
class EstimateInParts(Estimate):
    """An estimate of people who are known by their leaves alone; of several trees by their cells, the leaves of all.

    Its ``program`` has one quasi-identifier for each leaf, or a few, standing for all people in it, and so has
    ``probabilities``: whatever an adversary infers about somebody follows from the leaf. All numbers are those of
    `maxent.estimate`, those of each of several sensitive columns (``targets``) included. ``distinct`` are the
    distinct quasi-identifiers of the table, in so many ``leaves`` (or cells); ``folder`` has their posteriors in
    ``files``, if one was asked for; ``far`` are the divergences, with a truth. ``table`` has one quasi-identifier
    of each leaf with people, standing for all in it, ``truth`` their classes, shape (n_leaves, n_classes), and
    ``most_disclosed`` are those whom the adversary is surest of: all three for comparisons.
    """

    distinct: int = 0
    leaves: int = 0
    folder: Path | None = None
    files: tuple[Path, ...] = ()
    far: FarFrom | None = None
    most_disclosed: tuple[Mapping[str, Any], ...] = ()
    table: QITable | None = None
    truth: IntArray | None = None

    @classmethod
    def of(
        cls,
        found: Estimate,
        distinct: int,
        leaves: int,
        folder: Path | None,
        files: tuple[Path, ...],
        far: FarFrom | None,
    ) -> EstimateInParts:
        """An estimate of leaves as one of the people in them."""
        known = {each.name: getattr(found, each.name) for each in fields(Estimate)}
        measures = dict(found.disclosure.measures)
        for key in ("divergence", "divergence_max", "divergence_top", "divergence_min", "infinite"):
            measures.pop(key, None)  # those of leaves
        if far is not None:
            measures = {**far.measures, **measures}
        known["disclosure"] = replace(found.disclosure, measures=measures, divergence=None, individual=None)
        return cls(**known, distinct=distinct, leaves=leaves, folder=folder, files=files, far=far)

    def proved(self, row: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
        """As of any estimate; where choices of splits link people, who are not in the program, nothing is proved."""
        if not self.program.internal or not self.reliable:
            return super().proved(row, limits)
        if limits.max_certain is None:
            return row
        most = {"proved_least": 0, "proved_most": self.program.table.individuals}
        more = {key: {**row[key], **most} for key in ("sensitive",) if key in row}
        targets = {key: [{**each, **most} for each in row[key]] for key in ("targets",) if key in row}
        return {**row, **most, **more, **targets}

    @cached_property
    def _summary(self) -> dict[str, Any]:
        found = super()._summary
        found["distinct_qi"] = self.distinct
        found["constraints"] = {**found["constraints"], "qi": self.distinct}
        if self.far is not None:
            found["divergence"] = self.far.as_dict()
        found["parts"] = parts_entry(len(self.program.release.trees), self.leaves, self.files)
        return found

    @property
    def posterior(self) -> DataFrame:
        """The posteriors of all files, one row per distinct quasi-identifier, by leaf; read when asked for.

        Raises
        ------
        InvalidInput
            Without a folder.
        """
        return frame_of(self.folder, self.files, "posteriors")

    def lines(self) -> list[str]:
        """What is disclosed, in lines for people to read."""
        first, *rest = summary_lines(self)
        theirs, mine = (
            f", {counted(number, 'distinct quasi-identifier')};" for number in (len(self.program.table), self.distinct)
        )
        lines = [first.replace(theirs, mine, 1), *rest]
        at = next(i for i, line in enumerate(lines) if line.startswith("constraints: "))
        lines[at] = "constraints: " + kinds_line(self._summary["constraints"])
        if self.far is not None:
            overall = "inf" if self.far.overall is None else f"{self.far.overall:.4f} nats"
            lines.insert(2, f"overall divergence from the truth {overall}: the smaller, the more is disclosed")
        if self.folder is not None:
            lines.append(f"posteriors are in {counted(len(self.files), 'file')} of {self.folder}")
        return lines

    def _display(self) -> Display:
        release = self.program.release
        given = "leaf" if len(release.trees) == 1 else "leaves"
        return Display(f"Estimate of P({release.target.name} | {given}): {self.outcome.status}", self.lines())

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Refuse to write what is in files already.

        Raises
        ------
        InvalidInput
            Always.
        """
        raise invalid("options", ARGUMENT, "path", "none: posteriors are in the folder of the estimate", str(path))

    def report(self, path: str | PathLike[str], *, title: str = "", purpose: str = "", **limits: Any) -> None:
        """Refuse a report: it is about single people, who are in files.

        Raises
        ------
        InvalidInput
            Always.
        """
        raise invalid("options", ARGUMENT, "report", "none of an estimate in parts", str(path))
