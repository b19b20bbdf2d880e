"""Numbers of people of a class that statements give, or that follow from all of them exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from maxent.solvers.certainty.bounds import WHOLE

if TYPE_CHECKING:
    from maxent.constraints.program.program import Program
    from maxent.models.arrays import FloatArray

# Linear programs up to which numbers that are left open are asked for, and their size: rows times cells.
ASKED, SIZE = 200, 20_000_000


@dataclass(frozen=True, slots=True)
class StatedCell:
    """People of a class in a cell of a statement: ``low`` to ``high``; ``stated`` is whether that is what it says."""

    source: str
    region: int
    klass: int
    people: int
    low: int
    high: int
    stated: bool

    @property
    def exact(self) -> bool:
        """Whether the number is known."""
        return self.low == self.high


def stated_cells(program: Program) -> tuple[tuple[StatedCell, ...], bool]:
    """Every number of people of one class that a statement is about, and whether all statements were asked about it.

    Where there are too many only what each says by itself is known.
    """
    found: dict[tuple[int, int], StatedCell] = {}
    for said in program.linear:
        klass = np.flatnonzero(said.coef[0])
        if said.kind != "statements" or said.weights is not None or len(klass) != 1:
            continue
        coef = float(said.coef[0, klass[0]])
        sides = sorted((float(said.lower[0]) / coef, float(said.upper[0]) / coef))
        people = round(float(program.region_size[said.region]))
        low, high = max(int(np.ceil(max(sides[0], 0.0) - WHOLE)), 0), int(np.floor(min(sides[1], people) + WHOLE))
        key, source = (said.region, int(klass[0])), str(said.origin)
        if (known := found.get(key)) is not None:
            low, high, source = max(low, known.low), min(high, known.high), known.source
        found[key] = StatedCell(source, *key, people, low, high, low == high)
    left = {key: cell for key, cell in found.items() if not cell.exact}
    rows = sum(said.rows for said in program.linear)
    complete = len(left) <= ASKED and rows * len(program.cells) <= SIZE and not program.contradictions
    if left and complete:
        for key, (low, high) in zip(left, _ends(program, list(left)), strict=True):
            cell = found[key]
            found[key] = replace(cell, low=max(cell.low, low), high=min(cell.high, high))
    return tuple(found.values()), complete or not left


def _ends(program: Program, asked: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The least and the largest number of people of a class in some regions, rounded to whole people."""
    from scipy.optimize import linprog

    matrix, lower, upper = _matrix(program)
    n_classes, n = program.n_classes, len(program.cells)
    # People with all their cells and classes alike in every row are one: masses add up.
    owner = program.cells.owner
    columns = matrix.reshape(len(lower), n, n_classes)
    kinds, kind = np.unique(columns.transpose(1, 0, 2).reshape(n, -1), axis=0, return_inverse=True)
    kind = kind.ravel()
    if not program.single:
        kind, kinds = np.arange(n), columns.transpose(1, 0, 2).reshape(n, -1)
    size = np.bincount(kind, program.weight, len(kinds)) if program.single else program.weight
    of = np.arange(len(kinds)) if program.single else owner
    totals = size if program.single else program.table.counts.astype(np.float64)
    rows = kinds.reshape(len(kinds), len(lower), n_classes).transpose(1, 0, 2).reshape(len(lower), -1)
    each = sparse.csr_matrix(
        (np.ones(len(kinds) * n_classes), (np.repeat(of, n_classes), np.arange(len(kinds) * n_classes))),
        shape=(len(totals), len(kinds) * n_classes),
    )
    bounded = np.isfinite(upper), np.isfinite(lower)
    a_ub = np.concatenate([rows[bounded[0]], -rows[bounded[1]]])
    b_ub = np.concatenate([upper[bounded[0]], -lower[bounded[1]]])
    for region, klass in asked:
        aim = np.zeros((len(kinds), n_classes))
        aim[np.unique(kind[program.regions[region]]), klass] = 1.0
        ends = []
        for sign in (1.0, -1.0):
            found = linprog(sign * aim.ravel(), a_ub, b_ub, each, totals, method="highs")
            ends.append(sign * found.fun if found.status == 0 else -sign * np.inf)
        low, high = ends
        yield (
            0 if not np.isfinite(low) else int(np.ceil(low - WHOLE)),
            int(totals.sum()) if not np.isfinite(high) else int(np.floor(high + WHOLE)),
        )


def _matrix(program: Program) -> tuple[FloatArray, FloatArray, FloatArray]:
    """All linear rows over masses, shape (n_rows, n_cells * n_classes), and their sides, loosened by rounding."""
    rows, lower, upper = [], [], []
    for said in program.linear:
        cells = program.regions[said.region]
        for r in range(said.rows):
            row = np.zeros((len(program.cells), program.n_classes))
            row[cells] = said.coef[r] if said.weights is None else said.coef[r] * said.weights
            loose = 1e-9 * max(1.0, float(np.abs(row).max(axis=1) @ program.weight))
            rows.append(row.ravel())
            lower.append(float(said.lower[r]) - loose)
            upper.append(float(said.upper[r]) + loose)
    n = len(program.cells) * program.n_classes
    return np.array(rows).reshape(len(rows), n), np.array(lower), np.array(upper)


def cells_summary(program: Program) -> dict[str, Any]:
    """What statements tell of numbers of people, ready for JSON.

    ``cells`` (numbers of people of a class that statements are about), ``exact`` (those that are known), ``follow`` (of
    these the ones that no statement prints: they follow from all together), ``smallest`` (the smallest known number of
    a class, or of the others in its cell, above 0; None without one), ``zeros`` (cells of nobody, or of everybody in
    them), ``people`` (whose class such cells settle), ``complete`` (whether everything was asked), and ``words``: a
    sentence for each source.
    """
    cells, complete = stated_cells(program)
    exact = [cell for cell in cells if cell.exact]
    positive = [min(c.low, c.people - c.low) for c in exact if 0 < c.low < c.people]
    plain = [c for c in exact if c.low in (0, c.people)]
    known = [program.regions[c.region] for c in plain if c.low or program.n_classes == 2]
    who = np.unique(program.cells.owner[np.concatenate(known)]) if known else np.empty(0, np.int64)
    return {
        "cells": len(cells),
        "exact": len(exact),
        "follow": sum(not cell.stated for cell in exact),
        "smallest": min(positive, default=None),
        "zeros": len(plain),
        "people": int(program.table.counts[who].sum()) if program.single else None,
        "complete": complete,
        "words": list(_words(program, exact)),
    }


def _words(program: Program, exact: list[StatedCell]) -> Iterator[str]:
    """A sentence for each source of numbers that are known."""
    classes = program.release.target.classes
    sources: dict[tuple[str, int], list[StatedCell]] = {}
    for cell in exact:
        sources.setdefault((cell.source.partition(", cell ")[0].partition(", rule ")[0], cell.klass), []).append(cell)
    for (source, klass), cells in sources.items():
        numbers = [cell.low for cell in cells if cell.low]
        often = f"{len(cells)} groups" if len(cells) > 1 else "a group"
        small = f": the smallest is {min(numbers):,}" if numbers else ": nobody"
        follow = sum(not cell.stated for cell in cells)
        also = f", {follow} of which it does not print" if follow else ""
        yield f"{source} gives the number of {classes[klass]} in {often}{also}{small}"
