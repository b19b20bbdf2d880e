"""Results of calls in parts: estimates, audits and bounds whose people are in files, and not in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from maxent.models.display import Display, counted
from maxent.models.errors import ARGUMENT, invalid
from maxent.results.audit import Audit
from maxent.results.bounds import ProvedBounds
from maxent.results.estimate import Estimate
from maxent.results.text.bounds import bounds_lines
from maxent.results.text.estimate import kinds_line, summary_lines

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.disclosure.limits import Limits
    from maxent.models.arrays import IntArray
    from maxent.models.tables.qi_table import QITable


@dataclass(frozen=True, eq=False, repr=False)
class _InFiles:
    """What is found of people in ``n_leaves``, of several trees cells; of each in ``files`` of a ``folder``, if any."""

    WHAT: ClassVar[str]
    n_leaves: int = 0
    folder: Path | None = None
    files: tuple[Path, ...] = ()

    @classmethod
    def of(cls, found: Any, **more: Any) -> Self:
        """What is found of leaves as what is found of the people in them."""
        return cls(**{each.name: getattr(found, each.name) for each in fields(found)} | more)

    def _entry(self, trees: int) -> dict[str, Any]:
        """What a summary says of the parts."""
        return {"leaves" if trees == 1 else "cells": self.n_leaves, "files": [path.name for path in self.files]}

    def _rows(self) -> DataFrame:
        """The rows of all files, by leaf; refused without a folder, in which they would be kept."""
        if self.folder is None:
            raise invalid("options", ARGUMENT, "folder", f"a folder, where {self.WHAT} are kept", "none")
        import pandas as pd

        return pd.concat([pd.read_parquet(path) for path in self.files], ignore_index=True)

    def _written(self) -> list[str]:
        return [f"{self.WHAT} are in {counted(len(self.files), 'file')} of {self.folder}"] * (self.folder is not None)

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Refuse to write what is in files already."""
        raise invalid("options", ARGUMENT, "path", f"none: {self.WHAT} are in the folder of the call", str(path))


@dataclass(frozen=True, eq=False, repr=False)
class EstimateInParts(_InFiles, Estimate):
    """An estimate of people who are known by their leaves alone; of several trees by their cells, the leaves of all.

    Its ``program`` has one quasi-identifier for each leaf, or a few, standing for all people in it, and so has
    ``probabilities``: whatever an adversary infers about somebody follows from the leaf. All numbers are those of
    `maxent.estimate`, those of each of several sensitive columns (``targets``) included. ``distinct`` are the
    distinct quasi-identifiers of the table, in so many leaves (or cells), ``n_leaves``; ``folder`` has their posteriors
    in ``files``, if one was asked for; ``far`` are the divergences, with a truth, as in a summary. ``table`` has one
    quasi-identifier of each leaf with people, standing for all in it, ``truth`` their classes, shape (n_leaves,
    n_classes), and ``most_disclosed`` are those whom the adversary is surest of: all three for comparisons.
    """

    WHAT = "posteriors"
    distinct: int = 0
    far: Mapping[str, Any] | None = None
    most_disclosed: tuple[Mapping[str, Any], ...] = ()
    table: QITable | None = None
    truth: IntArray | None = None

    @classmethod
    def of(cls, found: Any, least: float = 0.0, **more: Any) -> Self:
        """As there; ``least`` is the smallest of the divergences."""
        far, measures = more["far"], dict(found.disclosure.measures)
        for key in ("divergence", "divergence_max", "divergence_top", "divergence_min", "infinite"):
            measures.pop(key, None)  # those of leaves
        if far is not None:
            keys = {"divergence": "overall", "divergence_max": "max", "divergence_top": "top_k_average"}
            whole = {key: np.inf if far[name] is None else far[name] for key, name in keys.items()}
            measures = {**whole, "divergence_min": least, "infinite": far.get("infinite", 0), **measures}
        disclosure = replace(found.disclosure, measures=measures, divergence=None, individual=None)
        return super().of(found, disclosure=disclosure, **more)

    def proved(self, row: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
        """As of any estimate; where choices of splits link people, who are not in the program, nothing is proved."""
        if not self.program.internal or not self.reliable:
            return super().proved(row, limits)
        if limits.max_certain is None:
            return row
        most = {"proved_least": 0, "proved_most": self.program.individuals}
        more = {key: {**row[key], **most} for key in ("sensitive",) if key in row}
        targets = {key: [{**each, **most} for each in row[key]] for key in ("targets",) if key in row}
        return {**row, **most, **more, **targets}

    @cached_property
    def _summary(self) -> dict[str, Any]:
        found = super()._summary
        found["distinct_qi"] = self.distinct
        found["constraints"] = {**found["constraints"], "qi": self.distinct}
        if self.far is not None:
            found["divergence"] = dict(self.far)
        return {**found, "parts": self._entry(len(self.program.release.trees))}

    @property
    def posterior(self) -> DataFrame:
        """The posteriors of all files, one row per distinct quasi-identifier, by leaf; read when asked for."""
        return self._rows()

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
            overall = "inf" if self.far["overall"] is None else f"{self.far['overall']:.4f} nats"
            lines.insert(2, f"overall divergence from the truth {overall}: the smaller, the more is disclosed")
        return [*lines, *self._written()]

    def _display(self) -> Display:
        release = self.program.release
        given = "leaf" if len(release.trees) == 1 else "leaves"
        return Display(f"Estimate of P({release.target.name} | {given}): {self.outcome.status}", self.lines())

    def report(self, path: str | PathLike[str], *, title: str = "", purpose: str = "", **limits: Any) -> None:
        """Refuse a report: it is about single people, who are in files."""
        raise invalid("options", ARGUMENT, "report", "none of an estimate in parts", str(path))


@dataclass(frozen=True, eq=False, repr=False)
class AuditInParts(_InFiles, Audit):
    """Structural attacks on a release about people who are known by their leaves alone.

    ``people`` has one quasi-identifier for each of the ``n_leaves`` that somebody is in, standing for all people in it.
    All numbers are those of `maxent.audit`. ``folder`` has the people in ``files``, if one was asked for.
    """

    WHAT = "people"

    @classmethod
    def of(cls, found: Any, **more: Any) -> Self:
        """As there; of each of several sensitive columns no people are written."""
        alone = {name: cls.of(each, n_leaves=more["n_leaves"]) for name, each in found.targets.items()}
        return super().of(found, targets=alone, **more)

    @cached_property
    def _summary(self) -> dict[str, Any]:
        return {**super()._summary, "parts": self._entry(len(self.trees))}

    @property
    def individuals(self) -> DataFrame:
        """The rows of all files, with the columns of `Audit.individuals`, by leaf; read when asked for."""
        return self._rows()

    @property
    def lines(self) -> tuple[str, ...]:
        """The summary in plain language."""
        return (*super().lines, *self._written())


@dataclass(frozen=True, eq=False, repr=False)
class BoundsInParts(_InFiles, ProvedBounds):
    """Bounds on P(class | quasi-identifier) of people who are known by their leaves, and how many are alike.

    A row of ``program.table``, and of all arrays, is one of the ``times`` quasi-identifiers in the same leaf with as
    many people. All numbers are those of `maxent.bounds`. ``folder`` has the bounds in ``files``, if one was asked for.
    """

    WHAT = "bounds"
    stands_for: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def listed(self) -> bool:
        """Rows of the table stand for others: they are not listed."""
        return False

    @property
    def times(self) -> IntArray:
        """How many quasi-identifiers each row of the table stands for, shape (n_rows,)."""
        return self.stands_for

    @cached_property
    def _summary(self) -> dict[str, Any]:
        return {**super()._summary, "parts": self._entry(len(self.program.release.trees))}

    def frame(self) -> DataFrame:
        """The rows of all files, with the columns of `ProvedBounds.frame`, by leaf; read when asked for."""
        return self._rows()

    @property
    def lines(self) -> list[str]:
        """Where the bounds are, for people to read."""
        return self._written()

    def _display(self) -> Display:
        title = f"Bounds on P({self.program.release.target.name} | leaf): {self.status}"
        return Display(title, [*bounds_lines(self), *self.lines])
