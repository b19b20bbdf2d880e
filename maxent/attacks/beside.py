"""Groups that statements beside trees are about, and the people whom they tell apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.attacks.linking import NO_SPAN, Links
from maxent.constraints.kinds.statements import KIND
from maxent.constraints.program.program import Linear, Program
from maxent.models.arrays import BoolArray, IntArray
from maxent.models.statements.rules import RuleListStatement, RuleStatement
from maxent.models.statements.statement import StatementPeople
from maxent.models.statements.tables import CrossTable
from maxent.solvers.certainty.cases import cases_of

if TYPE_CHECKING:
    from maxent.models.statements.read import MeasuredStatement, Statement


@dataclass(frozen=True, slots=True, eq=False)
class StatedGroup:
    """People whom a statement is about: its ``source``, and which quasi-identifiers they have, shape (n_qi,)."""

    source: str
    holds: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class ToldApart:
    """The people of a table, by quasi-identifier, as statements tell them apart.

    ``groups``, shape (n_qi,): people with the same number are in the same groups, -1 in none. ``alike``: they have the
    same weight in every sum, too; ``weighing``: the source of a sum that weighs people of a group differently.
    """

    groups: IntArray
    alike: IntArray
    weighing: str


@dataclass(slots=True)
class _Codes:
    """Numbers of combinations of codes that are added one after another, shape (n_qi,)."""

    codes: IntArray
    width: int = 1

    def add(self, codes: IntArray, width: int) -> None:
        """Divide people by further codes from 0 to ``width``, this excluded."""
        if self.width * width >= 2**62:
            self.codes, self.width = self.numbered, len(self.codes)
        self.codes, self.width = self.codes * width + codes, self.width * width

    @property
    def numbered(self) -> IntArray:
        """The same from 0 on."""
        return np.unique(self.codes, return_inverse=True)[1].astype(np.int64)


def stated_groups(program: Program) -> Iterator[StatedGroup]:
    """The groups of which statements say something.

    They are the people who are counted, of a class or all, and those of the ``where`` of a sum that weighs them
    differently.
    """
    weighing = []
    for said in _telling(program):
        if said.weights is None:
            yield StatedGroup(str(said.origin), _people(program, said))
        else:
            weighing.append(str(said.origin))
    weighing.extend(each.source for each in _by_cases(program))
    for document in program.release.statements:
        people = document.people(program.table)
        for each in document.statements:
            name = f"{document.name}, {each.source}"
            if isinstance(each.content, (CrossTable, RuleStatement, RuleListStatement)):
                yield from _people_alone(document.name, each, people)
            if any(of == name or of.startswith(f"{name}, ") for of in weighing):
                yield StatedGroup(name, each.where.mask(people) & (people.counts > 0))


def _people_alone(document: str, said: Statement, people: StatementPeople) -> Iterator[StatedGroup]:
    """The groups of which a statement says how many people they are, whatever their classes."""
    for row in said.rows(people):
        if row.klass is None and (row.weights == row.weights[:, :1]).all() and np.isin(row.weights, (0.0, 1.0)).all():
            holds = (row.weights[:, 0] > 0) & (people.counts > 0)
            number = float(people.counts[holds].sum())
            if number and (row.low > 0 or row.high < number):
                yield StatedGroup(f"{document}, {row.source}", holds)


def _telling(program: Program) -> Iterator[Linear]:
    """The rows of statements that rule out some classes of their people; numbers of nobody in particular do not."""
    for said in program.linear:
        people, coef = float(program.region_size[said.region]), said.coef[0]
        nothing = said.lower[0] <= coef.min() * people and said.upper[0] >= coef.max() * people
        if said.kind == KIND.name and not (nothing and said.weights is None):
            yield said


def _by_cases(program: Program) -> Iterator[MeasuredStatement]:
    """The statements that weigh people by cases: of these single linear rows may say nothing."""
    cases = cases_of(program)
    yield from () if cases is None else cases.statements


def _people(program: Program, said: Linear) -> BoolArray:
    """The quasi-identifiers that a row is about, shape (n_qi,)."""
    found = np.zeros(len(program.table), bool)
    found[program.cells.owner[program.regions[said.region]]] = True
    return found


def told_apart(program: Program) -> ToldApart:
    """How the statements of a program tell the people of its table apart."""
    n, sources = len(program.table), []
    groups, alike, somewhere = _Codes(np.zeros(n, np.int64)), _Codes(np.zeros(n, np.int64)), np.zeros(n, bool)
    for group in stated_groups(program):
        groups.add(group.holds.astype(np.int64), 2)
        somewhere |= group.holds
    for said in _telling(program):
        if said.weights is not None:
            owner, first = np.unique(program.cells.owner[program.regions[said.region]], return_index=True)
            _, codes = np.unique(said.weights[first], axis=0, return_inverse=True)
            every = np.zeros(n, np.int64)
            every[owner] = codes.ravel() + 1
            alike.add(every, n + 1)
            sources.append(str(said.origin))
    for statement in _by_cases(program):
        for row in statement.rows([(one.low, one.high) for one in statement.sums]):
            _, codes = np.unique(row.weights, axis=0, return_inverse=True)
            alike.add(codes.ravel(), n + 1)
        sources.append(statement.source)
    alike.add(groups.numbered, n)
    return ToldApart(np.where(somewhere, groups.numbered, -1), alike.numbered, next(iter(sources), ""))


def smallest_told_apart(program: Program, told: ToldApart, links: Links) -> dict[str, Any]:
    """What statements do to the smallest span, ready for JSON.

    ``source``: the statement that tells its people apart from others of their leaves, empty where none does. ``least``:
    people of the smallest part of a span whom no sum weighs differently; ``weighing``: the source of such a sum.
    """
    linked, source = links.span != NO_SPAN, ""
    if not linked.any():
        return {"source": "", "least": None, "weighing": told.weighing}
    smallest = int(links.population.argmin())
    person = int(np.flatnonzero(links.span == smallest)[0])
    beside = (links.place == links.place[person]).all(axis=1)
    if links.counts[beside].sum() > links.population[smallest]:
        groups = [
            (not group.holds[person], int(links.counts[group.holds].sum()), group.source)
            for group in stated_groups(program)
        ]
        source = min(groups)[2]
    _, parts = np.unique(np.column_stack([links.span, told.alike])[linked], axis=0, return_inverse=True)
    least = int(np.bincount(parts.ravel(), links.counts[linked]).min())
    return {"source": source, "least": least, "weighing": told.weighing}
