"""Results for a register (`population=`): who is in the data, and the classes of members, estimated and proved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.constraints.kinds.registry import kinds_of
from maxent.constraints.program.program import Program, unread_in
from maxent.disclosure.ladder import REGISTERED
from maxent.disclosure.limits import Limits, Verdict, judge_rows
from maxent.disclosure.membership import Membership, ProvedMembers, proved_members
from maxent.models.arrays import BoolArray, IntArray
from maxent.models.display import ROWS, Display, counted
from maxent.models.files.output import ESTIMATE
from maxent.models.reading import NOTHING, Noticed
from maxent.models.tables.cells import named_frame, own_names, value_in_words
from maxent.results.bounds import ProvedBounds
from maxent.results.solved import Brief, certificate_of, draws_told, noted
from maxent.results.text.estimate import SHOWN_ROWS, contradiction_lines, in_sentence, kinds_line
from maxent.results.text.terminal import aligned, print_lines, print_people

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.results.parts import Parts
    from maxent.solvers.solve.driver import Outcome


@dataclass(frozen=True, eq=False, repr=False)
class PopulationEstimate(Brief):
    """Estimate of who in a register is in the data, and of the classes of members.

    ``program`` has one class more, of those who are out, as its last. ``membership`` is what is inferred, ``base`` what
    is known of how frequent classes are among members, ``outcome`` how it was solved, ``right`` the share of the
    members whose class is guessed right in truth, where that is given.
    """

    titled = "A register and the people in the data"
    kept_as = ESTIMATE
    rows_key = "posterior"
    program: Program
    outcome: Outcome
    membership: Membership
    base: Mapping[str, float]
    backend: str
    tolerance: float
    seconds: Mapping[str, float]
    noticed: Noticed = NOTHING
    no_marginal: bool = False
    rows_unknown: str = ""
    right: float | None = None
    control: Mapping[str, Any] | None = field(default=None)
    parts: Parts | None = None

    @property
    def distinct(self) -> int:
        """Distinct quasi-identifiers of the register."""
        return self.program.table.distinct if self.parts is None else self.parts.distinct

    @property
    def kinds(self) -> Mapping[str, int]:
        """How many constraints of each kind there are, a quasi-identifier being one."""
        found = kinds_of(self.program)
        return found if self.parts is None else {**found, "qi": self.distinct}

    @property
    def reliable(self) -> bool:
        """Whether the answer can be relied on: solved, and nothing contradicted."""
        return self.outcome.status == "optimal"

    @property
    def certificate(self) -> str:
        """The proof of the optimum: ``global``, ``gap``, ``local`` or ``none``, as of `maxent.estimate`."""
        return certificate_of(self.outcome)

    @property
    def unread_lines(self) -> list[str]:
        """What is stated and not read about a register, for people to read."""
        return [each.in_words({"why": ""}) for each in unread_in(self.noticed, self.program)]

    @property
    def unread(self) -> list[dict[str, Any]]:
        """What is stated and not read; no worst case bounds it, as nobody knows who is a member."""
        return [each.as_dict("not") for each in unread_in(self.noticed, self.program)]

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of members."""
        return self.program.release.target.classes[:-1]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes in words on the reading of the release and the register, and on problems of solving."""
        moved = counted(self.membership.moved, "person", "people")
        told = f"probabilities of {moved} are moved to what is proved: what is stated of shares of people allows others"
        return (*self.noticed.notes, *self.program.notes, *self.outcome.trouble, *[told] * (self.membership.moved > 0))

    @property
    def numbers(self) -> dict[str, Any]:
        """The row that limits are judged by: what is inferred of being a member of a class."""
        n, of = self.membership.members, self.program.individuals
        told = draws_told(self.program.release, self.noticed.aside, self.rows_unknown)
        base = dict(self.base)
        if "base_rate" in base:
            base["base_posterior"] = base["base_rate"] * n / of
        return {
            "release": "release",
            "status": self.outcome.status,
            "certificate": self.certificate,
            "adversary": REGISTERED,
            "base_rate": None,
            **self.membership.measures,
            **base,
            **({} if self.right is None else {"right_guesses": self.right}),
            **({"unread": self.unread} if self.unread else {}),
            **told,
            **({"no_marginal": True} if self.no_marginal else {}),
        }

    @property
    def told(self) -> dict[str, Any]:
        """The key ``membership`` of a summary."""
        own = {} if self.right is None else {"right_guesses": self.right, "in_truth": True}
        return self.membership.as_dict() | own | ({} if self.control is None else {"control": dict(self.control)})

    def judged(self, limits: Limits) -> Verdict:
        """The verdict against limits, for an adversary with the register."""
        return judge_rows(limits, [self.numbers])

    @property
    def reported(self) -> list[str]:
        """The lines of a report below its verdict, and the people who are surest."""
        if self.parts is not None:
            return self.lines()
        rows, rest = self.rows(ROWS)
        left = [f"... the {len(rows)} surest of {len(rows) + rest} quasi-identifiers"] * bool(rest)
        return [*self.lines(), "", *aligned(self.columns, rows, left=len(self.program.table.attributes)), *left]

    @cached_property
    def _summary(self) -> dict[str, Any]:
        table, outcome, measures = self.program.table, self.outcome, self.membership.measures
        base = {"base_rate": self.base.get("base_rate"), "right_guesses": self.membership.right_guesses}
        summary: dict[str, Any] = {
            "individuals": table.individuals,
            "distinct_qi": self.distinct,
            "classes": len(self.classes),
            "membership": self.told,
            "constraints": dict(self.kinds),
            "status": outcome.status,
            "backend": self.backend,
            "convex": outcome.convex,
            "certificate": self.certificate,
            "entropy": measures["entropy"],
            "max_violation": outcome.violation,
            "seconds": {name: round(value, 4) for name, value in self.seconds.items()},
            "disclosure": {
                "certain": measures["certain"],
                "certain_proved": self.membership.proved.certain,
                "max_posterior": measures["max_posterior"],
                "tolerance": self.membership.tolerance,
                "bayes_vulnerability": self.membership.right_guesses,
            },
            "baseline": base,
            "unread": self.unread,
        }
        if isfinite(outcome.duality_gap):
            summary["duality_gap"] = outcome.duality_gap
        summary |= noted(self.notes, self.noticed, self.program.contradictions)
        return summary if self.parts is None else summary | self.parts.summary

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of `posterior`: attributes, ``count``, ``P(member)``, ``P(class)`` of members."""
        names = [a.name for a in self.program.table.attributes]
        return (*names, *own_names(["count", "P(member)", *(f"P({c})" for c in self.classes)], names))

    @property
    def posterior(self) -> DataFrame:
        """One row per distinct quasi-identifier in the order they were read: P(member), and P(class | member).

        Where P(member) is 0 there are no probabilities of classes. Of people in parts the rows of all files, by leaf.
        """
        if self.parts is not None:
            return self.parts.rows()
        people = (column for _, column in self.program.table.frame().items())
        table = named_frame([*people, self.membership.member, *self.membership.of_members.T], self.columns)
        return table.iloc[self.order].reset_index(drop=True)

    @property
    def order(self) -> IntArray:
        """Rows of the register in the order in which they were first read."""
        return np.argsort(self.program.table.lines, kind="stable").astype(np.int64)

    def _saved(self) -> DataFrame:
        return self.posterior

    def lines(self) -> list[str]:
        """What is inferred, in plain language."""
        known, measures, program = self.membership, self.membership.measures, self.program
        target = in_sentence(program.release.target.name)
        of, proved = known.as_dict(), known.proved
        certain = measures["certain"]
        base = self.base.get("base_rate")
        least = "not known" if base is None else f"{100 * base:.1f} %"
        lines = [
            f"{of['people']:,} people in the register, {of['members']:,} of them in the data; {proved_words(of)}; "
            f"largest P(member) {known.largest:.3f}",
            f"known to be in the data, and of which class of {target}: {certain:,} by the estimate, {proved.certain:,} "
            f"by proof; largest probability of both {measures['max_posterior']:.3f}",
            f"an adversary who guesses by this estimate expects to be right for {100 * known.right_guesses:.1f} % of "
            f"the members (base rate {least})",
            *[f"in truth right for {100 * (self.right or 0):.1f} % of the members"] * (self.right is not None),
            *control_lines(self.control),
            "constraints: " + kinds_line(self.kinds),
            f"{self.outcome.status} ({self.certificate}), {self.backend}; "
            f"largest violation {self.outcome.violation:.1e}",
            *self.unread_lines,
            *(f"note: {note}" for note in self.notes),
        ]
        if self.parts is not None:
            lines += self.parts.lines
        return lines + contradiction_lines(program.contradictions)

    def rows(self, most: int = SHOWN_ROWS) -> tuple[list[list[str]], int]:
        """The quasi-identifiers to show as text, members that are surest first where there are more, and the rest."""
        order, table = self.order, self.program.table
        if len(order) > most:
            surest = np.lexsort((-self.membership.joint.max(axis=1)[order], -self.membership.member[order]))
            order = order[surest[:most]]
        of_members = self.membership.of_members
        found = []
        for i in order.tolist():
            values = [level[code] for level, code in zip(table.levels, table.codes[i], strict=True)]
            shares = [self.membership.member[i], *of_members[i]]
            texts = ["" if np.isnan(share) else f"{share:.3f}" for share in shares]
            found.append([*map(value_in_words, values), str(table.counts[i]), *texts])
        return found, len(self.order) - len(found)

    def _display(self) -> Display:
        name = self.program.release.target.name
        if self.parts is not None:
            return Display(f"Estimate of membership and P({name} | member): {self.outcome.status}", self.lines())
        rows, rest = self.rows(ROWS)
        below = [f"... the surest; .posterior has {rest} more rows"] * bool(rest)
        title = f"Estimate of membership and P({name} | member): {self.outcome.status}"
        return Display(title, self.lines(), self.columns, rows, below + self.lines())


def proved_words(of: Mapping[str, Any]) -> str:
    """``proved members 2, proved not to be 0``; ``not settled`` where proofs that may prove somebody were not asked."""
    named = (("proved members", of["proved_members"]), ("proved not to be", of["proved_non_members"]))
    return ", ".join(f"{what} {'not settled' if many is None else f'{many:,}'}" for what, many in named)


def control_lines(control: Mapping[str, Any] | None) -> list[str]:
    """How members and control people compare, in words."""
    if control is None:
        return []
    low, high = control["interval"]
    whom = counted(control["n_controls"], "control person", "control people")
    if control["of"] == "register":
        whom = f"the {control['n_controls']:,} others of the register"
    return [
        f"mean P(member) of {control['n_members']:,} members {control['members']:.3f}, of {whom} "
        f"{control['controls']:.3f}: "
        f"{control['difference']:+.3f} ({low:+.3f} to {high:+.3f})"
    ]


def print_population(found: PopulationEstimate) -> None:
    """Print the register, or its surest rows, and what is disclosed, to standard output."""
    if found.parts is not None:
        print_lines(found.lines())
        return
    rows, rest = found.rows()
    print_people(found.program.table, found.columns, rows)
    left = [f"... the {len(rows)} surest of {len(rows) + rest} quasi-identifiers; -o FILE writes all of them"]
    print_lines([*left * bool(rest), "", *found.lines()])


@dataclass(frozen=True, eq=False, repr=False)
class PopulationBounds(ProvedBounds):
    """Proved bounds for a register: of being a member of each class, and of not being a member, the last class."""

    members: int = 0

    @cached_property
    def proved_members(self) -> ProvedMembers:
        """Of whom membership, or membership and class, is proved."""
        found = proved_members(self.program, self.bounds)
        return replace(found, counts=found.counts * self.times)

    @property
    def certain(self) -> BoolArray:
        """Quasi-identifiers whose people are proved to be members of one class, shape (n_qi,)."""
        return self.proved_members.known

    @property
    def membership(self) -> dict[str, Any]:
        """The key ``membership``; ``largest`` is the largest P(member) that is proved."""
        own = {"people": self.individuals, "members": self.members}
        return {**own, **self.proved_members.people, "largest": float(self.proved_members.least.max())}

    @property
    def summary(self) -> dict[str, Any]:
        """The JSON summary, as of `maxent.bounds`, with the key ``membership``."""
        return {**super().summary, "classes": self.program.n_classes - 1, "membership": self.membership}

    @property
    def lines(self) -> list[str]:
        """Who is proved to be a member, and the lines of all bounds."""
        of = self.membership
        told = (
            f"of {of['people']:,} people in the register {of['members']:,} are in the data: "
            f"{of['proved_members']:,} are proved members, {of['proved_non_members']:,} proved not to be"
        )
        return [told, *super().lines]
