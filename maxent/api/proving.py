"""Parameters of proofs, and the proof of a program."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.api import options
from maxent.constraints.program.program import CHOICES, Program
from maxent.disclosure.limits import NO_PROGRAMS, NOT_FOLLOWED, UNENDED, UNTRIED, Limits, Reached, judge_rows
from maxent.models.arguments import is_one_of, out_of_range, shorten
from maxent.models.arrays import BoolArray, IntArray
from maxent.models.draws import tells_draws
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.tables.classes import part_codes
from maxent.solvers.control import LAST, Clock, give_back, in_time

if TYPE_CHECKING:
    from maxent.api.case import Case
    from maxent.results.proof import Proof
    from maxent.solvers.certainty.unordered import Unordered

# All levels that can be asked here.
AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class Proving(options.ProofOptions):
    """Parameters of `bounds` for proving."""

    def __post_init__(self) -> None:
        if problems := [*_wrong_level("level", self.level), *out_of_range(self)]:
            raise InvalidInput("options", problems)

    @property
    def last(self) -> str:
        """The last level to ask."""
        return _last(self.level)


def check_level(name: str, level: object) -> None:
    """Refuse what is no level of proof, with an InvalidInput that calls the parameter by its name."""
    if problems := _wrong_level(name, level):
        raise InvalidInput("options", problems)


def _wrong_level(name: str, level: object) -> list[Problem]:
    from maxent.solvers.certainty.levels import level_names

    levels = (*level_names(), AUTO)
    if is_one_of(level, levels):
        return []
    return [Problem(ARGUMENT, name, "one of " + ", ".join(levels), shorten(level))]


def _last(level: str) -> str:
    from maxent.solvers.certainty.levels import last_level

    return last_level() if level == AUTO else level


def proof_of(program: Program, level: str, clock: Clock, asked: BoolArray | None = None) -> Proof:
    """What is proved of a program, in the time that is left; see `maxent.solvers.certainty.levels.prove`."""
    from maxent.results.proof import Proof
    from maxent.solvers.certainty.levels import prove

    begin = time.perf_counter()
    proved = prove(program, _last(level), clock, asked)
    return Proof(program, proved.bounds, proved.status, _last(level), {"prove": time.perf_counter() - begin})


# Seconds that proofs for a limit may take where there is no limit of time.
LONGEST = 30.0
# Seconds for letting people of the truth change places, at most.
TRYING = 10.0
# The same where splits have to be chosen again, which every estimate of such a release with the truth asks.
CHOOSING = 3.0


def proving_seconds(left: float | None) -> float:
    """What a call that has so many seconds left leaves for proofs."""
    return LONGEST if left is None else left


@dataclass(eq=False)
class Certainty:
    """How many people are certain by proof, at least and at most, for limits that need it; found when asked for.

    ``shown``: the class that attacks on leaves show of each quasi-identifier, -1 where none, shape (n_qi,).
    """

    program: Program
    truth: IntArray | None = None
    sensitive: tuple[int, ...] = ()
    seconds: float = LONGEST
    shown: IntArray | None = None
    _perhaps: list[tuple[BoolArray, ...]] = field(default_factory=list, init=False, repr=False)
    _proof: list[Proof | None] = field(default_factory=list, init=False, repr=False)
    _alone: list[Proof | None] = field(default_factory=list, init=False, repr=False)

    def __call__(self, row: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
        """A row with the numbers that are proved, where a limit asks for them: by the truth, then by levels."""
        most = most_proved(limits)
        if most is None or "certain_proved" in row:
            return row
        found = self._told(row)
        asked = Limits(max_certain=limits.max_certain, max_posterior=limits.max_posterior)
        [judged] = judge_rows(asked, [row]).releases
        if all(c.status == "fail" for c in judged.checks) or all(n <= most for n in self._judged(found)):
            return found
        return self._told(row, self._by_proof())

    def codes(self) -> IntArray:
        """The class proved of each quasi-identifier by what was asked so far, -1 where none is, shape (n_qi,)."""
        found = self._proof[0] if self._proof else self._of_leaves(Clock(min(TRYING, self.seconds)))
        codes = np.full(len(self.program.table), -1) if found is None else found.codes
        return codes if self.shown is None else np.where(codes < 0, self.shown, codes)

    def _of_leaves(self, clock: Clock) -> Proof | None:
        """What the totals of single leaves prove, which takes no time."""
        if not self._alone:
            give_back()
            found = in_time(clock, lambda: proof_of(self.program, "closed", clock))
            self._alone.append(found if found is not None and found.reliable else None)
        return self._alone[0]

    def take(self, early: Certainty) -> None:
        """Take over what single leaves prove, where it was found of the same statements before they were solved."""
        own, theirs = self.program, early.program
        same = own.linear is theirs.linear and own.cells is theirs.cells and own.contradictions is theirs.contradictions
        if same and not self._alone and early._alone != [None]:
            self._alone += early._alone

    def early(self, clock: Clock) -> dict[str, Any]:
        """The key ``proved_least`` of a row, by the totals of single leaves: what takes no time, before a solution."""
        proof = self._of_leaves(clock)
        if proof is None:
            return {}
        counts, (surely, _) = self.program.table.counts, _of_view(proof, self._views()[0])
        alone = surely & self._sensitive(proof)
        found = {"proved_least": int(counts[surely].sum())}
        return found | ({"sensitive": {"proved_least": int(counts[alone].sum())}} if self.sensitive else {})

    def _judged(self, row: Mapping[str, Any]) -> list[int]:
        """The most people who may be certain, of each thing that the limit is about."""
        alone = [row["sensitive"]] if "sensitive" in row else [row]
        return [each["proved_most"] for each in (*alone, *row.get("targets", ()))]

    def _views(self) -> list[IntArray]:
        return views_of(self.program)

    def _sensitive(self, proof: Proof) -> BoolArray:
        """Who can have a sensitive class alone, shape (n_qi,)."""
        counts, codes = self.program.table.counts, list(self.sensitive)
        return np.asarray((proof.bounds.high[:, codes] >= counts[:, None]).any(axis=1))

    def _told(self, row: Mapping[str, Any], proof: Proof | None = None) -> dict[str, Any]:
        counts = self.program.table.counts
        views, perhaps = self._views(), self._by_truth()
        surely = [np.zeros(len(counts), bool) for _ in views]
        some: BoolArray = np.ones(len(counts), bool)  # who can have a sensitive class alone
        if self.truth is not None:
            some = np.asarray(self.truth[:, list(self.sensitive)].any(axis=1))
        if proof is not None:
            both = [_of_view(proof, view) for view in views]
            surely = [certain for certain, _ in both]
            perhaps = tuple(before & after for before, (_, after) in zip(perhaps, both, strict=True))
            some = some & self._sensitive(proof)

        def numbers(i: int, some: BoolArray | bool = True) -> dict[str, int]:
            least = int(counts[surely[i] & some].sum())
            return {"proved_least": least, "proved_most": int(counts[(perhaps[i] | surely[i]) & some].sum())}

        found = {**row, **numbers(0)}
        if "targets" in row:
            found["targets"] = [{**each, **numbers(i)} for i, each in enumerate(row["targets"], 1)]
        if "sensitive" in row:
            found["sensitive"] = {**row["sensitive"], **numbers(0, some)}
        return found

    def _by_truth(self) -> tuple[BoolArray, ...]:
        """Who may be certain, in each view, by the truth alone."""
        if not self._perhaps:
            from maxent.solvers.certainty.exchange import perhaps_certain

            views, found = self._views(), None
            if self.truth is not None and not self.program.contradictions:
                found = perhaps_certain(self.program, self.truth, views, Clock(min(TRYING, self.seconds)))
            self._perhaps.append(found or tuple(np.ones(len(self.program.table), bool) for _ in views))
        return self._perhaps[0]

    def _by_proof(self) -> Proof | None:
        """What all levels prove of those whom the truth does not clear, in the time that there is."""
        if not self._proof:
            from maxent.solvers.workers import WorkerLost

            try:
                asked = np.asarray(np.logical_or.reduce(self._by_truth()))
                found = proof_of(self.program, AUTO, Clock(self.seconds), asked)
                self._proof.append(found if found.reliable else None)
            except WorkerLost:
                self._proof.append(None)
        return self._proof[0]


def views_of(program: Program) -> list[IntArray]:
    """The values that classes stand for: themselves, then those of each of several columns."""
    target = program.release.target
    return [np.arange(program.n_classes), *(part_codes(target, i) for i in range(len(target.of)))]


def most_certain(program: Program, truth: IntArray | None) -> tuple[int, ...]:
    """The most people who are certain by all that a file states, in each view, where nobody drew; empty if unknown."""
    from maxent.solvers.certainty.exchange import perhaps_certain

    if truth is None or all(each.what != CHOICES for each in program.unread):
        return ()
    found = perhaps_certain(program, truth, views_of(program), Clock(CHOOSING), choices=True)
    return () if found is None else tuple(int(program.table.counts[each].sum()) for each in found)


def most_proved(limits: Limits) -> int | None:
    """The most people who may be certain by proof, for limits to be kept; None where no limit is about that."""
    if limits.max_certain is not None:
        return limits.max_certain
    return 0 if limits.max_posterior is not None and limits.max_posterior < 1 else None


def _of_view(proof: Proof, view: IntArray) -> tuple[BoolArray, BoolArray]:
    """Whose value is proved to be one and the same, and whose may be: by what was not asked for, too; shapes (n_qi,).

    Where every level was asked there are data for each class that is not ruled out.
    """
    bounds, n_values = proof.bounds, int(view.max()) + 1
    low = np.zeros((len(bounds.low), n_values))
    can = np.zeros(low.shape, bool)
    for code, value in enumerate(view.tolist()):
        low[:, value] += bounds.low[:, code]
        can[:, value] |= bounds.high[:, code] > 0
    certain = (can.sum(axis=1) == 1) | (low >= proof.program.table.counts[:, None]).any(axis=1)
    asked = proof.complete & ~bounds.unasked.any(axis=1)
    mixed = (low > 0).sum(axis=1) > 1
    return certain, certain | ~(asked | mixed)


# Seconds that proofs without the order of rows may take where the verdict does not rest on them.
NAMING = 2.0
NO_NUMBERS = "no node states counts of classes, or means of numbers that have ends"


@dataclass(eq=False)
class Drawing:
    """How far somebody comes who computes who was drawn for each tree; found when it is asked for."""

    case: Case
    seconds: float = LONGEST
    program: Program | None = None
    unknown: bool = False
    _found: list[tuple[Reached, Reached]] = field(default_factory=list, init=False, repr=False)
    _settled: list[Unordered | None] = field(default_factory=list, init=False, repr=False)

    def __call__(self) -> tuple[Reached, Reached]:
        """With the rows in training order, and with the table without the order."""
        if not self._found:
            followed = self.case.release.draws is not None
            rows, unordered = (self._rows(), self._unordered()) if followed else (NOT_FOLLOWED, NOT_FOLLOWED)
            self._found.append((rows, unordered))
        return self._found[0]

    def unordered(self, row: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
        """The numbers of a verdict with what is proved without the order of rows.

        Where nobody knows it, that ended, and nothing else tells of draws, it stands in the place of other numbers.
        """
        draws = self.case.release.draws
        if draws is None or most_proved(limits) is None or "targets" in row or (found := self._settle()) is None:
            return row
        alone = self.unknown and row.get("draws") == tells_draws(draws, "") and not found.contradicted
        counts = self.case.people.counts

        def numbers(codes: Sequence[int], before: Mapping[str, Any]) -> dict[str, Any]:
            certain = found.low[:, list(codes)] >= counts[:, None]
            least = int(counts[certain.any(axis=1)].sum())
            if found.ended and alone:
                return {"certain_proved": least, "certain_at_most": least, "settled": True}
            return {"proved_least": max(least, before.get("proved_least") or 0)}

        more = {**row, **numbers(range(found.low.shape[1]), row)}
        if "sensitive" in row:
            more["sensitive"] = {**row["sensitive"], **numbers(self.case.sensitive, row["sensitive"])}
        return more

    def _rows(self) -> Reached:
        """How far somebody comes who knows the rows of the table in training order."""
        if self.case.in_order is None and not self.case.rows:
            return UNTRIED
        from maxent.constraints.rows import row_system
        from maxent.solvers.certainty.rows import prove

        clock, case = Clock(min(self.seconds, LONGEST)), self.case
        try:
            table = case.people if case.rows or case.in_order is None else case.in_order()
            base = case.of_each_class
            found = in_time(
                clock,
                lambda: prove(row_system([case.release], table, marginal=base), "linear", clock, programs=False),
            )
        except InvalidInput as error:
            [first, *_] = error.problems
            return Reached(why=f"not tried: {first.field}: expected {first.expected}, found {first.found}")
        if found is None:
            return Reached(why=UNENDED)
        if not found.consistent:
            return Reached(why="not tried, as the order of the table does not fit the counts")
        if not found.equations:
            return Reached(why=f"not tried: {NO_NUMBERS}")
        determined = found.determined if found.rank is not None else None
        proved, named = int(found.proved.sum()), found.proved
        if case.sensitive:
            named = np.isin(found.classes, case.sensitive)
        i = int(named.argmax())
        told = {"class": case.release.target.classes[found.classes[i]], "probability": 1.0, "proved": True}
        who = {"qi": table.named(i), "people": 1, **told, "row": int(table.lines[i])} if named[i] else None
        return Reached(len(table), determined, proved, "" if proved == len(table) else NO_PROGRAMS, who)

    def _unordered(self) -> Reached:
        """How far somebody comes who has the table, and does not know the order of its rows."""
        found, people = self._settle(), self.case.people.individuals
        if found is None:
            return UNTRIED if self.case.rows else Reached(why=UNENDED)
        if found.contradicted:
            return Reached(why="not tried, as the draws do not fit the counts of this table")
        unused = found.sentence.startswith("draws") and "not used" in found.sentence
        if unused:
            return Reached(why=f"not tried: {found.sentence}")
        return Reached(people, None, found.certain, "" if found.ended else UNENDED)

    def _settle(self) -> Unordered | None:
        """What draws tell without the order of rows, in the time that there is; None where nothing was found."""
        if not self._settled and self.case.rows:  # taken to be known
            self._settled.append(None)
        if not self._settled:
            from maxent.api.compile import Knowledge, compile_case
            from maxent.solvers.certainty.unordered import settle_unordered

            seconds = self.seconds if self.unknown else min(self.seconds, NAMING)
            clock = Clock(seconds)

            def settled() -> Unordered | None:
                return settle_unordered(self.program or compile_case(self.case, Knowledge()), clock)

            self._settled.append(in_time(clock, settled, LAST))
        return self._settled[0]
