"""Integer level of proof: bounds on class counts that hold in every table of whole people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from maxent.constraints.program.program import Program
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.backend import Options
from maxent.solvers.backends.registry import load_backend
from maxent.solvers.certainty.bounds import Bounds, Source, whole_numbers
from maxent.solvers.control import Clock, OutOfTime, in_time
from maxent.solvers.solve.driver import solve_program
from maxent.solvers.workers import Tell, WorkerLost, apart
from maxent.solvers.worlds.halves import guessed
from maxent.solvers.worlds.part import COMPLETE, WholePart, WholeProgram, completed, whole_program
from maxent.solvers.worlds.settle import (
    CP_SAT,
    SMALL,
    Extremes,
    Patience,
    Run,
    WorldTask,
    elsewhere,
    extremes,
    need_cp_sat,
    settle,
)

# Guesses which answers are certain, from an estimate: only the order of questions depends on it.

# Of the time that is left, what the estimate may take, and seconds that it may take at most.
SHARE, LONGEST = 0.1, 20.0


def likely(program: Program, clock: Clock) -> FloatArray | None:
    """Shares of classes by maximum entropy under the linear statements, shape (n_quasi_identifiers, n_classes).

    None where there was no time for them. Nothing is concluded from it.
    """
    left = clock.left()
    seconds = LONGEST if left is None else min(LONGEST, SHARE * left)
    linear = replace(program, internal=(), unfinished=False)
    options = Options(clock=Clock(seconds))
    try:
        found = in_time(clock, lambda: solve_program(linear, load_backend("auto"), options))
    except OutOfTime:
        return None
    if found is None:
        return None
    people = np.zeros((len(program.table), program.n_classes))
    np.add.at(people, program.cells.owner, found.masses)
    return np.asarray(people / program.table.counts[:, None], np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class WholeBounds:
    """What is proved of whole people."""

    low: IntArray
    high: IntArray
    late: BoolArray
    contradicted: bool
    left_out: int
    whole: WholeProgram
    states: tuple[tuple[WholePart, Extremes], ...]
    ended: bool = False


def whole_bounds(
    program: Program,
    low: FloatArray,
    high: FloatArray,
    questions: BoolArray,
    patience: Patience,
    run: Run = elsewhere,
    guess: Callable[[], FloatArray | None] = lambda: None,
    most: int | None = None,
) -> WholeBounds:
    """Tighten proved bounds to what holds in every world of whole people."""
    whole = whole_program(program, most)
    least, greatest = whole_numbers(low, high)
    late = questions.copy()
    members, tasks = [], []
    for number in whole.asked(np.asarray(questions.any(axis=1))).tolist():
        mine, task = task_of(whole, number, least, greatest, questions)
        if task.part.integral:
            late[mine] = False  # linear bounds, rounded to whole numbers, are those of whole people
            continue
        members.append(mine)
        tasks.append(task)
    drawn = any(len(t.part.owner) * t.part.n_classes > SMALL or guessed(t.part) for t in tasks)
    if drawn and (shares := guess()) is not None:
        people = shares * program.table.counts[:, None]
        tasks = [_guessed(task, whole.like[mine], people[mine]) for mine, task in zip(members, tasks, strict=True)]
    order = sorted(range(len(tasks)), key=lambda i: len(tasks[i].part.owner))
    found: dict[int, tuple[Extremes, int]] = {}

    def hear(message: tuple[int, Extremes, int]) -> None:
        found[order[message[0]]] = message[1:]

    ended = False
    if tasks:
        try:
            run([tasks[i] for i in order], patience, hear)
        except WorkerLost:
            ended = True  # what it told before holds
    states = []
    for i, (state, _) in found.items():
        part, mine = tasks[i].part, members[i]
        states.append((part, state))
        at, weight = np.searchsorted(part.owners, whole.like[mine]), program.table.counts[mine][:, None]
        rest = part.weight[at][:, None] - weight  # the others who are alike
        least[mine] = np.maximum(least[mine], state.low[at] - rest)
        greatest[mine] = np.minimum(greatest[mine], state.high[at])
        low_seen = np.maximum(state.least[at] - rest, 0) <= least[mine]
        late[mine] &= ~(low_seen & (np.minimum(state.most[at], weight) >= greatest[mine]))
    contradicted = any(state.possible is False for _, state in states)
    left_out = whole.left_out + sum(number for _, number in found.values())
    return WholeBounds(least, greatest, late & (least < greatest), contradicted, left_out, whole, tuple(states), ended)


def _guessed(task: WorldTask, like: IntArray, people: FloatArray) -> WorldTask:
    """A task with shares of classes, of people of its members, shape (n_members, n_classes)."""
    pooled = np.zeros((len(task.part.owners), task.part.n_classes))
    np.add.at(pooled, np.searchsorted(task.part.owners, like), people)
    return replace(task, likely=pooled / task.part.weight[:, None])


def task_of(
    whole: WholeProgram, number: int, low: IntArray, high: IntArray, questions: BoolArray
) -> tuple[IntArray, WorldTask]:
    """The quasi-identifiers of a part, and what is asked and known of it; arrays are those of the whole table.

    Where no statement tells the members of a pooled quasi-identifier apart, a member of w people may have any of the
    pooled M: it has at least M - (W - w) in every world and no more, where that is positive, and at most M or w. So its
    bounds tell those of the pool. Where comparisons were left out they may be what proved a member's bound: then only
    sums over the members are sure.
    """
    part = whole.part(number)
    members = np.flatnonzero(np.isin(whole.like, part.owners))
    low, high = low[members], high[members]
    at, weight = np.searchsorted(part.owners, whole.like[members]), whole.program.table.counts[members]
    least, most = np.zeros((2, len(part.owners), part.n_classes), np.int64)
    np.add.at(least, at, np.maximum(low, 0))
    np.add.at(most, at, np.minimum(high, weight[:, None]))
    if not whole.left_out:
        pooled = part.weight[at][:, None]
        np.maximum.at(least, at, np.where(low > 0, low + pooled - weight[:, None], 0))
        np.minimum.at(most, at, np.where(high < weight[:, None], high, pooled))
    largest = np.zeros(len(part.owners), np.int64)
    np.maximum.at(largest, at, weight)
    asked = np.zeros(least.shape, bool)
    np.logical_or.at(asked, at, questions[members])
    return members, WorldTask(part, extremes(part, least, most, largest), asked)


def tighten(program: Program, bounds: Bounds, questions: BoolArray, clock: Clock) -> Bounds:
    """The level ``integer``: what holds in every world of whole people, each end shown by a world or given up.

    First with the comparisons that are cheap; where they leave nothing open, and there is time, with all of them.
    """
    need_cp_sat()
    if program.release.draws is not None and not program.release.target.register:  # draws are of the data alone
        bounds, questions = _unordered(program, bounds, questions, clock)
        if bounds.contradicted or not questions.any():
            return bounds
    patience = Patience.of(clock)
    guess = partial(likely, program, clock)
    found = whole_bounds(program, bounds.low, bounds.high, questions, patience, guess=guess)
    if found.contradicted:
        return replace(bounds, high=np.where(questions, -1.0, bounds.high))
    tight = _narrowed(bounds, questions, found)
    questions = questions & tight.open
    if not (found.whole.left_out and questions.any()) or found.late.any() or found.ended or patience.ended():
        return tight
    if not completed(program, found.whole.rows):
        return tight
    found = whole_bounds(program, tight.low, tight.high, questions, patience, guess=guess, most=COMPLETE)
    if found.contradicted:
        return replace(tight, high=np.where(questions, -1.0, tight.high))
    all_shown = not (found.late.any() or found.ended)
    return replace(_narrowed(tight, questions, found), unasked=tight.unasked, ended=tight.ended, compared=all_shown)


def _narrowed(bounds: Bounds, questions: BoolArray, found: WholeBounds) -> Bounds:
    """Bounds with what was found of the questions."""
    low = np.where(questions, found.low, -np.inf).astype(np.float64)
    high = np.where(questions, found.high, np.inf).astype(np.float64)
    return replace(bounds.narrowed(low, high), unasked=bounds.unasked | found.late, ended=bounds.ended or found.ended)


def _unordered(program: Program, bounds: Bounds, questions: BoolArray, clock: Clock) -> tuple[Bounds, BoolArray]:
    """What draws tell of people whose order is not known, and what they leave open."""
    from maxent.solvers.certainty.unordered import settle_unordered

    found = settle_unordered(program, clock)
    bounds = replace(bounds, notes=(*bounds.notes, found.sentence), ended=bounds.ended or found.lost)
    if found.contradicted:
        return replace(bounds, high=np.where(questions, -1.0, bounds.high)), questions
    low, high = np.maximum(bounds.low, found.low), np.minimum(bounds.high, found.high)
    wrong = low > high  # what is known with a confidence was not so
    low = np.where(questions, np.where(wrong, found.low, low), bounds.low)
    high = np.where(questions, np.where(wrong, found.high, high), bounds.high)
    bounds = replace(bounds, low=low, high=high)
    late = found.late & questions
    return replace(bounds, unasked=bounds.unasked | late), late & bounds.open


# The fewest statements that no whole numbers of people satisfy together, although shares of people may.

# Seconds that one question may take.
QUESTION = 2.0
Fewest = tuple[tuple[Source, ...], bool]


def fewest(starts: Sequence[Sequence[Source]], contradict: Callable[[Sequence[Source]], bool | None]) -> Fewest:
    """Of the first statements that ``contradict`` each other some that do, and whether none can be left out.

    A deletion filter, by halves first (Junker, "QuickXplain", AAAI 2004): what is left out is so because the rest still
    contradicts itself; ``contradict`` is None where that was not found out. No statements where none of ``starts`` do.
    """
    kept, proved = next((tuple(said) for said in starts if contradict(said)), ()), True
    if not kept:
        return (), False
    size = max(1, len(kept) // 2)
    while True:
        begin = 0
        while begin < len(kept):
            rest = kept[:begin] + kept[begin + size :]
            answer = contradict(rest) if rest else False
            if answer:
                kept = rest
                continue
            proved &= size > 1 or answer is False
            begin += size
        if size == 1:
            return kept, proved
        size //= 2


# Whether statements of some sources contradict each other; None where that was not found out.
Contradict = Callable[["Program", Clock, Sequence[Source]], bool | None]


def contradicting_whole(
    program: Program, clock: Clock, contradict: Contradict, starts: Sequence[Sequence[Source]]
) -> Fewest:
    """The fewest sources whose statements no whole people satisfy, and whether that was proved; none if not found."""
    need_cp_sat()
    try:
        found = apart(_contradicting_there, (program, contradict, starts), clock, lambda nothing: None, keep=CP_SAT)
    except WorkerLost:
        found = None
    return ((), False) if found is None else found


def _contradicting_there(
    program: Program, contradict: Contradict, starts: Sequence[Sequence[Source]], clock: Clock, tell: Tell
) -> Fewest:
    """The same, in a process that has not loaded highspy."""
    # Without comparisons of splits where these are not needed: they are what takes long.
    found = fewest(starts, partial(contradict, replace(program, internal=()), clock))
    return found if found[0] or not program.internal else fewest(starts, partial(contradict, program, clock))


def nobody(program: Program, clock: Clock) -> bool | None:
    """Whether no whole numbers of people satisfy a program; None where that was not found out."""
    if clock.stop() is not None:
        return None
    whole, counts = whole_program(program), program.table.counts.astype(np.int64)
    low, nobody = np.zeros((len(counts), program.n_classes), np.int64), np.zeros((len(counts), program.n_classes), bool)
    high, known = np.repeat(counts[:, None], program.n_classes, axis=1), True
    for number in range(len(whole.pieces)):
        _, task = task_of(whole, number, low, high, nobody)
        settle(task.part, task.state, task.asked, Patience.of(clock, QUESTION))
        if task.state.possible is False:
            return True
        known &= task.state.possible is True and not task.part.rows.left_out
    return False if known and not whole.left_out else None
