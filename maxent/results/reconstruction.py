"""The result of `maxent.reconstruct`: a rebuilt table, its proved cells, its errors in the trees, and its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.constraints.kinds.boosted_leaves import SAYS
from maxent.constraints.patterns import ANYTHING, MANY, Atoms, TreeCounts, noisy_numbers
from maxent.constraints.scored_rows import is_scored, scored_rows
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.display import ROWS, Display, counted
from maxent.models.errors import Origin
from maxent.models.files.output import PROVED, SHARES, TABLE, write_atomically
from maxent.models.reading import NOTHING, Noticed
from maxent.models.release import Release
from maxent.models.tables.cells import named_frame, value_in_words
from maxent.models.trees.places import assign
from maxent.results.solved import Saved
from maxent.results.text.estimate import SHOWN_ROWS
from maxent.results.text.terminal import print_lines, print_table

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.models.tables.truth_and_facts import KnownColumns
    from maxent.solvers.worlds.tables import Status


# A table put into the trees again: how many people it has where the release states a number, and what it misses.


@dataclass(frozen=True, slots=True)
class Missed:
    """A number of people that a table does not have; ``klass`` None: of all classes together."""

    origin: Origin
    klass: str | None
    low: int
    high: int
    found: int

    def __str__(self) -> str:
        most = "" if self.low == self.high else " or more" if self.high >= MANY else f" to {self.high:,}"
        of = "people" if self.klass is None else f"people of {self.klass}"
        return f"{self.origin}: states {self.low:,}{most} {of}, the table has {self.found:,}"


@dataclass(frozen=True, slots=True)
class MissedScore:
    """A number in a boosted leaf that a table does not have: its value, or its sum of second derivatives."""

    origin: Origin
    of: str

    def __str__(self) -> str:
        return f"{self.origin}: the {self.of} is not that of the table's people"


def recount(
    release: Release,
    atoms: Atoms,
    trees: tuple[TreeCounts, ...],
    value: IntArray,
    klass: IntArray,
    times: IntArray | None = None,
) -> tuple[int, tuple[Missed | MissedScore, ...]]:
    """How many numbers a release states that tell of people, and those that a table of atoms does not have."""
    columns = [_one_of_each(atoms, j)[value[:, j]] for j in range(len(atoms.of))]
    stated, missed, leaves = 0, list[Missed | MissedScore](), []
    for t, (tree, counts) in enumerate(zip(release.trees, trees, strict=True)):
        often = np.ones(len(klass), np.int64) if times is None else times[t]
        leaves.append(assign(tree, release.attributes, columns))
        found = _people(counts, leaves[-1], klass, often)
        total, labels = found.sum(axis=1), np.flatnonzero(counts.label >= 0)
        told = (counts.low == counts.high) | (counts.low > 0) | (counts.high < counts.most[:, None])
        sized = counts.sized  # else the classes say it
        stated += int(told.sum() + sized.sum()) + len(labels)
        wrong = told & ((found < counts.low) | (found > counts.high))
        for place, x in np.argwhere(wrong).tolist():
            origin, low, high = _origin(release, t, place), int(counts.low[place, x]), int(counts.high[place, x])
            missed.append(Missed(origin, release.target.classes[x], low, high, int(found[place, x])))
        for place in np.flatnonzero(sized & ((total < counts.least) | (total > counts.most))).tolist():
            low, high = int(counts.least[place]), int(counts.most[place])
            missed.append(Missed(_origin(release, t, place), None, low, high, int(total[place])))
        of_label = found[labels, counts.label[labels]]
        for place, has in zip(labels.tolist(), of_label.tolist(), strict=True):
            most = int(found[place].max())
            if has < most:
                label = release.target.classes[int(counts.label[place])]
                missed.append(Missed(_origin(release, t, place), label, most, int(total[place]), has))
    for row in scored_rows(release, np.column_stack(leaves), klass, len(klass)) if is_scored(release) else ():
        stated += 1
        if row.least.sum() > row.high or row.most.sum() < row.low:
            missed.append(MissedScore(_origin(release, row.tree, row.place), SAYS[row.of]))
    return stated, tuple(missed)


def stated_people(
    release: Release, atoms: Atoms, trees: tuple[TreeCounts, ...], value: IntArray, klass: IntArray
) -> FloatArray:
    """The people of each number with noise, as `maxent.constraints.patterns.uncertain_numbers` numbers them."""
    columns = [_one_of_each(atoms, j)[value[:, j]] for j in range(len(atoms.of))]
    found, once = [], np.ones(len(klass), np.int64)
    for tree, counts in zip(release.trees, trees, strict=True):
        told = ~np.isnan(noisy_numbers(tree, len(counts.places), release.target.classes))
        found.append(_people(counts, assign(tree, release.attributes, columns), klass, once)[told])
    return np.concatenate(found).astype(np.float64)


def _people(counts: TreeCounts, leaf: IntArray, klass: IntArray, often: IntArray) -> IntArray:
    """People of each class in each place, shape (n_places, n_classes)."""
    places, n_classes = counts.places, counts.low.shape[1]
    by_rank = np.zeros((int(places.last[0]) + 1, n_classes), np.int64)
    np.add.at(by_rank, (places.first[leaf] + 1, klass), often)
    up_to = by_rank.cumsum(axis=0)
    return np.asarray(up_to[places.last] - up_to[places.first], np.int64)


def _one_of_each(atoms: Atoms, j: int) -> npt.NDArray[Any]:
    """A value of every atom of an attribute: a code of a category, or a number."""
    attribute = atoms.attributes[j]
    if attribute.values is not None:
        code = {value: i for i, value in enumerate(attribute.values)}
        return np.array([code[atom.values[0]] for atom in atoms.of[j]], np.int64)
    numbers = []
    for atom in atoms.of[j]:
        low, high = (np.nan, np.nan) if atom.interval is None else atom.interval
        numbers.append(high if high != np.inf else 0.0 if low == -np.inf else np.nextafter(low, np.inf))
    return np.array(numbers)


def _origin(release: Release, tree: int, place: int) -> Origin:
    node = release.trees[tree].nodes[place]
    return Origin("leaf" if node.is_leaf else "node", node.id, tree if len(release.trees) > 1 else None)


@dataclass(frozen=True, eq=False, repr=False)
class Reconstruction(Saved):
    """A whole table of the people behind a release, and which of its cells every such table has.

    Attributes
    ----------
    release : Release
    status : {"likeliest", "consistent", "partial", "inconsistent"}
        The table agrees with everything that is stated, and no other one that does is likelier; it agrees, and there
        was no time to look for likelier ones; it does not agree with the statements of `missed`, as none that does was
        found in time; there is none that does.
    settled : bool
        Whether all cells that can be proved are: else there was no time.
    missed : tuple of Missed or MissedScore
        What is stated and not true of the table, by a recount of its rows.
    statements : int
        Numbers that tell of people: counts, sizes, and values and sums of boosted leaves.
    patterns : int
        Kinds of people, by class and leaves, that were looked at: all that are possible, unless ``sampled``.
    seconds : dict
        Of ``read`` and ``rebuild``.
    noticed : Noticed
        What was noticed while the release and the table were read.
    atoms, value, klass, shared : Atoms and arrays
        The table as numbers: of each row the values, shape (n, n_attributes), and the class, shape (n,); and whether
        every cell is proved, the class last, shape (n, n_attributes + 1).
    known : KnownColumns, optional
        What was known of each person.
    notes : tuple of str
        What is stated and was not used.
    likely : array of shape (n, n_attributes + 1), optional
        The share of plausible tables that have each cell.
    null, others : dict, optional
        How near the table is to the people of the data and to others, and what noise left open of one row.
    """

    kept_as = TABLE
    release: Release
    atoms: Atoms
    value: IntArray
    klass: IntArray
    shared: BoolArray
    status: Status
    settled: bool
    missed: tuple[Missed | MissedScore, ...]
    statements: int
    patterns: int
    sampled: bool
    seconds: dict[str, float]
    known: KnownColumns | None = None
    notes: tuple[str, ...] = ()
    noticed: Noticed = NOTHING
    likely: FloatArray | None = None
    null: Mapping[str, Any] | None = None
    others: Mapping[str, Any] | None = None

    @property
    def reliable(self) -> bool:
        """Whether the table agrees with everything that is stated."""
        return self.status in {"likeliest", "consistent"}

    @property
    def columns(self) -> list[str]:
        """The attributes in the order of the release, then the target."""
        return [*(attribute.name for attribute in self.release.attributes), self.release.target.name]

    @property
    def is_known(self) -> BoolArray:
        """Whether each column was known, the class last, shape (n_attributes + 1,)."""
        known = np.zeros(len(self.atoms.of) + 1, bool)
        known[list(self.known.attributes if self.known is not None else ())] = True
        return known

    @property
    def table(self) -> DataFrame:
        """A row for each person: the attributes, then the target.

        Known values are as they were read, others are values, sets ``A|B`` of values that nothing in the release tells
        apart, or intervals ``(0.5, 1.5]`` between its thresholds; ``*`` where it tests nothing. With a table of what is
        known, rows are in its order.
        """
        return self._table.copy()

    @cached_property
    def _table(self) -> DataFrame:
        columns: list[Any] = []
        known = {} if self.known is None else dict(zip(self.known.attributes, range(len(self.value[0])), strict=False))
        for j, of in enumerate(self.atoms.of):
            if self.known is not None and j in known:
                columns.append(self.known.levels[known[j]][self.known.codes[:, known[j]]])
                continue
            words = [atom.words() for atom in of] if self.atoms.tested[j] else [ANYTHING]
            columns.append(np.array(words, object)[self.value[:, j]])
        columns.append(np.array(self.release.target.classes, object)[self.klass])
        return named_frame(columns, self.columns)

    @property
    def proved(self) -> DataFrame:
        """Which cells are proved, a table of the same shape: true where all tables that agree have the value.

        That is, any such table can be matched with this one, row by row, such that all cells that are proved agree.
        """
        import pandas as pd

        return pd.DataFrame(self.shared, columns=self.columns)

    @property
    def probabilities(self) -> DataFrame:
        """Of each cell the share of plausible tables that have it, a table of the same shape; 1 where it is known.

        Where counts are exact the tables are not drawn: 1 where a cell is proved, else none.
        """
        import pandas as pd

        return pd.DataFrame(
            np.where(self.shared, 1.0, np.nan if self.likely is None else self.likely), columns=self.columns
        )

    @property
    def summary(self) -> dict[str, Any]:
        """The JSON summary: plain numbers, strings, lists, dictionaries; a copy."""
        known = self.is_known
        unknown = self.shared[:, ~known]
        return {
            "individuals": len(self.value),
            "attributes": len(self.atoms.of),
            "known": [name for name, is_known in zip(self.columns, known, strict=True) if is_known],
            "cells": int(unknown.size),
            "cells_proved": int(unknown.sum()),
            "rows_proved": int(self.shared.all(axis=1).sum()),
            "status": self.status,
            "settled": self.settled,
            "statements": self.statements,
            "missed": len(self.missed),
            "patterns": self.patterns,
            "sampled": self.sampled,
            "seconds": dict(self.seconds),
            "notes": list(self.notes),
            **{name: dict(told) for name in ("null", "others") if (told := getattr(self, name)) is not None},
            **self.noticed.summary,
        }

    def _display(self) -> Display:
        """A table in a console and in a notebook: its first rows, and what is proved."""
        lines = reconstruction_lines(self)
        return Display(f"Table of {self.columns[-1]}: {self.status}", lines, self.columns, _rows(self, ROWS), lines)

    def _saved(self) -> DataFrame:
        return self._table

    def save_proved(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write `proved` as `save` writes the table."""
        self._write(path, self.proved, PROVED, csv_literal)

    def save_probabilities(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write `probabilities` as `save` writes the table."""
        self._write(path, self.probabilities, SHARES, csv_literal)

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write `table` as CSV, whatever the file is called; text that a spreadsheet would run is written as it is."""
        write_atomically(path, lambda name: self._table.to_csv(name, index=False, lineterminator="\n"))


# A rebuilt table for people to read; numbers are formatted here, none is computed.

# Status -> what it means.
STATUS = {
    "likeliest": "the table agrees with all numbers and labels that are stated, and no other one that does is likelier",
    "consistent": "the table agrees with all numbers and labels that are stated; others may be likelier",
    "partial": "no table that agrees with all numbers and labels was found in time: this one is the nearest that was",
    "inconsistent": "no table of people agrees with all numbers and labels that are stated: this one is near",
}

# Statements that are missed and spelled out.
SHOWN_MISSED = 10
# Stands behind a value that is not proved.
OPEN = "?"


def print_reconstruction(found: Reconstruction) -> None:
    """Print the first rows, and what is proved of them, to standard output."""
    print_table(found.columns, _rows(found, SHOWN_ROWS), [False] * len(found.columns))
    rest = len(found.value) - SHOWN_ROWS
    more = [f"... {counted(rest, 'more row')}; -o FILE writes all of them"] if rest > 0 else []
    print_lines([*more, "", *reconstruction_lines(found)])


def reconstruction_lines(found: Reconstruction) -> list[str]:
    """What is proved, in plain language."""
    facts = found.summary
    individuals = counted(facts["individuals"], "individual")
    settled = "" if found.settled or not found.reliable else "; there was no time to look for more"
    lines = [
        f"{individuals}; known of them: {', '.join(facts['known']) or 'nothing'}",
        f"proved: {facts['cells_proved']:,} of {counted(facts['cells'], 'unknown cell')}, and all of "
        f"{counted(facts['rows_proved'], 'row')} ({OPEN}: not proved){settled}",
        f"{found.status}: {STATUS[found.status]}",
    ]
    if found.sampled:
        lines.append(f"note: people could be of too many kinds; {found.patterns:,} of the likelier were looked at")
    lines += _nearness(found)
    lines += [f"note: {note}" for note in found.notes]
    if found.missed:
        lines.append(f"missed: {len(found.missed):,} of {counted(found.statements, 'statement')}")
        lines += [f"  {each}" for each in found.missed[:SHOWN_MISSED]]
        if len(found.missed) > SHOWN_MISSED:
            lines.append(f"  and {len(found.missed) - SHOWN_MISSED:,} more")
    return lines


def _nearness(found: Reconstruction) -> list[str]:
    """How near the table is to the people of the data and to others, and what is known of the last row."""
    lines, null, others = [], found.null, found.others
    if null is not None:
        lines.append(
            f"{null['error']:.2%} of the cells differ from the people of the data after the best matching; "
            f"{null['error_marginals']:.2%} of those of tables that know the share of each value alone"
        )
    if null is not None and null["interval"] is not None:
        low, high = null["interval"]
        lines.append(
            f"{null['error_control']:.2%} differ from others: nearer to the people of the data by "
            f"{null['difference']:.2%} of the cells ({low:.2%} to {high:.2%})"
        )
    if others is not None:
        epsilon = others["epsilon"]
        promised = "" if epsilon is None else f", where epsilon {epsilon:.3g} promises at most exp({2 * epsilon:.3g})"
        lines.append(
            f"of the last row: what was published changed the odds of two rows by up to exp({others['log_ratio']:.3g})"
            f"{promised}; its cells have a probability of {others['probability']:.1%} on average"
        )
    return lines


def _rows(found: Reconstruction, most: int) -> list[list[str]]:
    """The first rows as text."""
    rows = found.table.head(most).itertuples(index=False, name=None)
    return [
        [_cell(cell, sure) for cell, sure in zip(row, proved, strict=True)]
        for row, proved in zip(rows, found.shared[:most].tolist(), strict=True)
    ]


def _cell(cell: str | float, proved: bool) -> str:
    """A cell as text."""
    return value_in_words(cell) + ("" if proved or cell == ANYTHING else OPEN)
