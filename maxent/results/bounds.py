"""The result of `maxent.bounds`: the proved bounds of each quasi-identifier, with worlds and example tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.constraints.membership import OUT
from maxent.constraints.program.program import Program, unread_in
from maxent.disclosure.limits import Limits, Verdict, judge_rows
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.display import ROWS, Display, Shown, counted
from maxent.models.files.output import BOUNDS, WITNESSES
from maxent.models.tables.cells import named_frame, own_names, value_in_words
from maxent.results.proof import STATUS, Proof
from maxent.results.solved import Brief, Drawing, draws_told, noted
from maxent.results.text.estimate import contradiction_lines, in_sentence, kinds_line, surest_rows
from maxent.results.text.terminal import print_lines, print_people
from maxent.solvers.certainty.levels import level_names

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.results.parts import Parts
    from maxent.solvers.certainty.weighing import WeighedWorlds
    from maxent.solvers.certainty.witness import Witness


# Worlds beside the estimate: where weighing each world equally says something else, the estimate is fragile.

# Difference of two probabilities from which on the estimate is fragile.
FRAGILE = 0.1
# R-hat up to which chains are taken to agree.
MIXED = 1.05


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Worlds(Shown):
    """P(class | quasi-identifier) with each world equally likely, and as estimated, shapes (n_quasi_identifiers, k)."""

    weighed: WeighedWorlds
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


@dataclass(frozen=True, eq=False, repr=False)
class ProvedBounds(Brief, Proof):
    """Smallest and largest P(class | quasi-identifier) over all data consistent with a release, proved.

    ``program``, ``bounds``, ``status``, ``level``, ``seconds``, ``noticed``, `low`, `high`, `certain`,
    `certain_proved`, `individuals_open`, `proved_by`, `levels`, `order` and `notes` are those of
    `maxent.results.proof.Proof`.

    Attributes
    ----------
    worlds : Worlds, optional
        The posterior that weighs each world equally, beside the estimate; None unless asked for.
    witness : Witness, optional
        Masses of two worlds that are consistent with everything; None unless asked for, and where none was found.
    unwitnessed : str, optional
        Why there is no witness that was asked for.
    drawing : callable, optional
        How far somebody comes who computes who was drawn for each tree.
    parts : Parts, optional
        People in parts. A row of ``program.table``, and of all arrays, is then one of the ``stands_for``
        quasi-identifiers in the same leaf with as many people, shape (n_rows,).
    """

    kept_as = BOUNDS
    titled = "Proved bounds"
    worlds: Worlds | None = None
    witness: Witness | None = None
    unwitnessed: str | None = None
    drawing: Drawing | None = None
    parts: Parts | None = None
    stands_for: IntArray | None = None

    @property
    def times(self) -> IntArray:
        """How many quasi-identifiers each row of the table stands for, shape (n_rows,)."""
        return super().times if self.stands_for is None else self.stands_for

    @property
    def listed(self) -> bool:
        """Whether rows of the table are quasi-identifiers to list, and do not stand for others."""
        return self.parts is None

    @cached_property
    def _summary(self) -> dict[str, Any]:
        summary: dict[str, Any] = {
            "individuals": self.individuals,
            "distinct_qi": self.distinct,
            "classes": self.program.n_classes,
            "constraints": self.constraints,
            "certain_proved": self.certain_proved,
            **self.as_dict(),
            "ties": self.program.ties,
            "unread": self._unread,
        }
        if self.program.row_equations is not None:
            summary["row_equations"] = dict(self.program.row_equations)
        if self.worlds is not None:
            summary["worlds"] = self.worlds.summary
        if self.witness is not None or self.unwitnessed is not None:
            summary["witness"] = self.witness is not None
        summary |= noted(self.notes, self.noticed, self.program.contradictions)
        return summary if self.parts is None else summary | self.parts.summary

    @property
    def _unread(self) -> list[dict[str, Any]]:
        return [each.as_dict("not") for each in unread_in(self.noticed, self.program)]

    def judged(self, limits: Limits) -> Verdict:
        """The verdict against limits, as far as proofs alone can tell: ``max_certain``; of others it cannot be told."""
        row: dict[str, Any] = {"release": "release", "status": "optimal" if self.reliable else self.status}
        row |= {"certain_proved": self.certain_proved, "certain_at_most": self.certain_at_most}
        ordered = self.program.row_equations is not None
        row |= draws_told(self.program.release, self.noticed.aside, ordered=ordered)
        row["unread"] = self._unread
        row["no_marginal"] = True  # proofs are of what is stated, and no estimate
        [judged] = judge_rows(limits, [row]).releases
        return Verdict(limits, (replace(judged, no_marginal=False),)).reached([self.drawing])

    @property
    def reported(self) -> Sequence[str]:
        """The lines of a report below its verdict."""
        return self._display().text().split("\n")

    def frame(self) -> DataFrame:
        """One row per distinct quasi-identifier and class, in the order in which they were read.

        Columns: the public attributes, ``count``, ``class``, ``low`` and ``high`` (P(class | quasi-identifier)), and
        ``proved_by``, the level that proved them; of rows in
        training order also ``row``, from 1. With `worlds` also ``worlds`` and ``estimate``: the probabilities
        with each world equally likely, nothing where that is not known, and as estimated. Names that an attribute has
        already get the prefix ``maxent_``. Of people in parts the rows of all files, by leaf.
        """
        if self.parts is not None:
            return self.parts.rows()
        program, order = self.program, self.order
        n_classes, names = program.n_classes, np.array(level_names(), object)
        people = program.table.frame()
        rows = people.iloc[np.repeat(order, n_classes)].reset_index(drop=True)
        ours = [
            np.tile(np.array(program.release.target.classes, object), len(order)),
            self.low[order].ravel(),
            self.high[order].ravel(),
            names[self.proved_by[order].ravel()],
        ]
        names_of_ours = ["count", "class", "low", "high", "proved_by"]
        if program.row_equations is not None:
            ours.append(np.repeat(np.arange(1, len(order) + 1), n_classes))
            names_of_ours.append("row")
        if self.worlds is not None:
            known = np.where(self.worlds.known[:, None], self.worlds.weighed.posterior, np.nan)
            ours += [known[order].ravel(), self.worlds.estimate[order].ravel()]
            names_of_ours += ["worlds", "estimate"]
        attributes = [a.name for a in program.table.attributes]
        names_of_all = [*attributes, *own_names(names_of_ours, attributes)]
        return named_frame([*(column for _, column in rows.items()), *ours], names_of_all)

    @property
    def lines(self) -> list[str]:
        """What is said of worlds and witnesses, for people to read."""
        missing = [] if self.unwitnessed is None else [self.unwitnessed]
        found = [*(() if self.worlds is None else self.worlds.lines()), *missing]
        return found if self.parts is None else [*found, *self.parts.lines]

    def _display(self) -> Display:
        """The tightest bounds, and what is proved."""
        lines = [*bounds_lines(self), *self.lines]
        if not self.listed:
            return Display(f"Bounds on P({self.program.release.target.name} | leaf): {self.status}", lines)
        names = ", ".join(a.name for a in self.program.table.attributes)
        shown, _ = surest_rows(self.order, self.low, self.program.table.counts, ROWS)
        rest = len(self.order) - len(shown)
        return Display(
            f"Bounds on P({self.program.release.target.name} | {names}): {self.status}",
            lines,
            _header(self),
            [_cells(self, row) for row in shown],
            [f"... the tightest; .frame() has {rest} more quasi-identifiers"] * bool(rest) + lines,
        )

    def _saved(self) -> DataFrame:
        return self.frame()


# The same as text.


def print_bounds(found: ProvedBounds) -> None:
    """Print the bounds, or the tightest of them, and what is proved, to standard output."""
    told = {f"note: {note}" for note in found.noticed.notes}
    lines = [line for line in (*bounds_lines(found), *found.lines) if line not in told]
    if not found.listed:
        print_lines(lines)
        return
    shown, rest = surest_rows(found.order, found.low, found.program.table.counts)
    print_people(found.program.table, _header(found), (_cells(found, row) for row in shown))
    print_lines([*rest, "", *lines])


def bounds_lines(found: ProvedBounds) -> list[str]:
    """What is proved, in plain language."""
    program = found.program
    target = in_sentence(program.release.target.name)
    proved, undecided = found.certain_proved, found.individuals_open
    certain = f"the {target} of {proved:,} is proved" if proved else f"nobody's {target} is proved"
    people = counted(found.individuals, "individual")
    lines = [
        f"{people}, {counted(found.distinct, 'distinct quasi-identifier')}; {certain}",
        f"bounds differ for {counted(undecided, 'individual')}" if undecided else "all numbers of people are proved",
        "bounds proved by level: " + ", ".join(f"{number:,} {name}" for name, number in found.levels.items()),
        "constraints: " + kinds_line(found.constraints),
        f"{found.status}: {STATUS[found.status]}",
        *(each.in_words({"why": ""}) for each in unread_in(found.noticed, program)),
    ]
    lines += [f"note: {note}" for note in found.notes]
    return lines + contradiction_lines(program.contradictions)


def _header(found: ProvedBounds) -> list[str]:
    names = [a.name for a in found.program.table.attributes]
    line = ["row"] * (found.program.row_equations is not None)
    return [
        *names,
        "count",
        *(f"P({name})".replace(f"({OUT})", OUT) for name in found.program.release.target.classes),
        *line,
    ]


def _cells(found: ProvedBounds, row: int) -> list[str]:
    """A quasi-identifier, its individuals and the bounds of its probabilities as text."""
    table = found.program.table
    values = [level[code] for level, code in zip(table.levels, table.codes[row], strict=True)]
    each = zip(found.low[row].tolist(), found.high[row].tolist(), strict=True)
    spans = [f"{low:.3f}" if f"{low:.3f}" == f"{high:.3f}" else f"{low:.3f} to {high:.3f}" for low, high in each]
    line = [str(row + 1)] * (found.program.row_equations is not None)
    return [*map(value_in_words, values), str(table.counts[row]), *spans, *line]


# Two complete tables of people that are consistent with everything published, as one table.


def witness_frame(program: Program, found: Witness) -> DataFrame:
    """A row for each individual: the public attributes, the class in one world, and that in the other."""
    table = program.table
    attributes = [a.name for a in table.attributes]
    order = np.argsort(table.lines, kind="stable")
    people = table.frame()[attributes].iloc[np.repeat(order, table.counts[order])].reset_index(drop=True)
    classes = np.array(program.release.target.classes, object)
    columns: list[Any] = [column for _, column in people.items()]
    for masses in (found.one, found.other):
        by_class = np.zeros((len(table), program.n_classes), np.int64)
        np.add.at(by_class, program.cells.owner, masses)
        columns.append(classes[_each(by_class[order])])
    target = program.release.target.name
    return named_frame(columns, [*attributes, *own_names((target, f"{target}_other"), attributes)])


def _each(by_class: IntArray) -> IntArray:
    """The class of each individual, those of a quasi-identifier together."""
    flat = by_class.ravel()
    return np.repeat(np.tile(np.arange(by_class.shape[1]), len(by_class)), flat)


def save_witness(program: Program, found: Witness, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
    """Write `witness_frame` (.csv or .parquet; .json as ``rows``), atomically."""
    from maxent.models.files.result_files import save_frame

    frame = witness_frame(program, found)
    save_frame(path, frame, lambda rows: {"rows": rows}, WITNESSES, csv_literal=csv_literal)
