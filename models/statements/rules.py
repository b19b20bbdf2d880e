"""Rules that predict a class: a rule, rule lists and rule sets, with the people that each covers and is right about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray
from maxent.models.statements.statement import SIGNS, Keys, LinearStatement, StatementPeople, Test, Where

if TYPE_CHECKING:
    from typing import Self


@dataclass(frozen=True, slots=True)
class RuleStatement:
    """``rule``: of the people whom it covers, so many have its class.

    ``n`` are the people it covers, which the table shows, ``correct`` those of its class. A label alone says nothing:
    rules are chosen in many ways. With ``majority`` no other class has more people among those whom it covers.
    """

    where: Where
    label: int | None
    n: int | None
    correct: int | None
    majority: bool = False

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        tests = [_test(each) for each in keys.children("if")] if keys.raw("if") != [] else []
        label = keys.klass("label")
        n, correct = keys.whole("n"), keys.whole("correct")
        if n is not None and correct is not None and correct > n:
            keys.refuse("correct", f"at most n, {n}")
        return cls(Where(tuple(tests)), label, n, correct, keys.flag("majority", False))

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
        """The people it covers, and those of its class."""
        yield from _covered(people, self.where.mask(people), self, str(self.where))


@dataclass(frozen=True, slots=True)
class RuleListStatement:
    """``rules``: a list of rules, of which the first that covers somebody counts (``ordered``), or a set.

    In a list a rule covers those whom no rule before it does; in a set each is about all whom it covers. Numbers of a
    set in which rules were counted in another way contradict the table where they are about other people.

    Whoever lacks a value is covered by no test of it. With ``missing`` ``"unknown"`` tools counted such people in
    parts, and the statement says nothing where there are any.

    A limit is the value of somebody who is within ``within`` of it. Where several are, nobody knows whom its rule
    covers, nor in a list any rule after it: nothing is said of these.
    """

    ordered: bool
    rules: tuple[RuleStatement, ...]
    default: RuleStatement | None
    known: bool = True
    within: float = 0.0

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        ordered = keys.flag("ordered", True)
        rules = []
        for each in keys.children("rules"):
            rules.append(RuleStatement.parse(each))
            each.close()
        default = None
        if "default" in keys:
            label = keys.klass("default")
            default = RuleStatement(Where(), label, keys.whole("default_n"), keys.whole("default_correct"))
        known = keys.text("missing", "uncovered", ("uncovered", "unknown")) == "uncovered"
        return cls(ordered, tuple(rules), default, known, keys.number("within", 0.0, 0.0) if "within" in keys else 0.0)

    @property
    def numbered(self) -> Iterator[str]:
        """The names of the rules, and of the default, that state how many people have a class."""
        named = {f"rule {i}": rule for i, rule in enumerate(self.rules, 1)}
        named |= {} if self.default is None else {"default": self.default}
        return (name for name, rule in named.items() if rule.n and rule.correct is not None)

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
        """The rows of each rule, then those of the people whom none covers."""
        tested = dict.fromkeys(test.column for rule in self.rules for test in rule.where.tests)
        if not self.known and any(people.lack(column) for column in tested):
            return
        left, told = np.ones(len(people), bool), True
        for i, rule in enumerate(self.rules, 1):
            where = self._placed(rule.where, people)
            told &= where is not None
            if where is None or (self.ordered and not told):
                continue
            mask = where.mask(people)
            yield from _covered(people, mask & left if self.ordered else mask, rule, f"rule {i}", f"rule {i}")
            left &= ~mask
        if self.default is not None and told:
            yield from _covered(people, left, self.default, "the default", "default")

    def _placed(self, where: Where, people: StatementPeople) -> Where | None:
        """The tests of a rule, each limit as the value that it was rounded from; None where one is not known."""
        tests = []
        for test in where.tests:
            values = people.numbers(test.column)[people.counts > 0] if self.within and test.limits else np.empty(0)
            limits = [(sign, placed(limit, values, self.within)) for sign, limit in test.limits]
            if any(limit is None for _, limit in limits):
                return None
            tests.append(replace(test, limits=tuple((sign, limit) for sign, limit in limits if limit is not None)))
        return Where(tuple(tests))


def placed(limit: float, values: FloatArray, within: float) -> float | None:
    """The value that a limit was rounded from: the one near it, itself where none is; None where several are."""
    near = np.unique(values[np.abs(values - limit) <= within])
    return None if len(near) > 1 else float(near[0]) if len(near) else limit


def _covered(
    people: StatementPeople, mask: BoolArray, rule: RuleStatement, name: str, source: str = ""
) -> Iterator[LinearStatement]:
    """What a rule says of the people whom it covers."""
    inside = (mask & (people.counts > 0)).astype(np.float64)
    if rule.n is not None:
        ones = np.repeat(inside[:, None], len(people.classes), axis=1)
        yield LinearStatement(ones, rule.n, rule.n, f"{rule.n:,} people covered by {name}", source=source)
    if rule.correct is not None and rule.label is not None:
        says = f"{rule.correct:,} of {people.classes[rule.label]} covered by {name}"
        yield LinearStatement(inside, rule.correct, rule.correct, says, rule.label, source)
    if rule.majority and rule.label is not None:
        for k in (k for k in range(len(people.classes)) if k != rule.label):
            more = np.zeros((len(people), len(people.classes)))
            more[:, rule.label], more[:, k] = inside, -inside
            says = f"at least as many of {people.classes[rule.label]} as of {people.classes[k]} covered by {name}"
            yield LinearStatement(more, 0.0, np.inf, says, source=source)


def _test(keys: Keys) -> Test:
    """A test of a rule: a column, and ``in`` with values, or limits."""
    limits = tuple((sign, keys.number(sign)) for sign in SIGNS if sign in keys)
    if ("in" in keys) == bool(limits):
        keys.refuse("in", "in with values, or limits: gt, ge, lt, le")
    column = keys.column("column", numbers=bool(limits))
    values = keys.raw("in")
    keys.close()
    if limits:
        return Test(column, limits=limits)
    listed = values if isinstance(values, list) else [values]
    keys.use(column, values=listed)
    return Test(column, tuple(v if isinstance(v, str) else float(v) for v in listed))  # type: ignore[arg-type]
