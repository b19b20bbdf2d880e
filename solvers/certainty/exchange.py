"""Upper bound on the number of certain people: found by exchanges in the true table, without a solver.

Two people in the same leaves of all trees change places with their classes. No count of any leaf changes; everything
else that is compiled, comparisons of splits above all, is evaluated again. If it holds, the exchanged data agree with
all that is published and known, as the truth does, and so no proof finds either class. Many pairs are tried at once;
where something breaks, each half of them by itself.

Of a tool that does not state all that splits competed with, choices are evaluated, too: what was worse than the chosen
split has to stay so. What was better was not among the candidates, which no class decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from maxent.constraints.program.program import Linear, Program, Unread
from maxent.constraints.program.residuals import Evaluator, InternalRows, LinearRows
from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray
from maxent.models.display import counted
from maxent.models.errors import Origin
from maxent.models.nodes import links_of
from maxent.solvers.certainty.settled import NotLinear
from maxent.solvers.control import Clock
from maxent.solvers.worlds.part import TIED

# Probability by which a linear statement may be missed: the error of computing it.
MET = 1e-9
# Rounds of other partners in which nobody was cleared, after which no more are tried.
TRIES = 4
# Steps from world to world, where splits have to be chosen again.
STEPS = 1000
# Cells, times columns that trees were grown from, that choices are evaluated of.
LARGEST = 1 << 20
# Statements that are false of the true classes of which each is named.
NAMED = 5
# Two quasi-identifiers, and the classes of the people of each who change places.
Pair = tuple[int, int, int, int]


def perhaps_certain(
    program: Program, truth: IntArray, views: Sequence[IntArray], clock: Clock, *, choices: bool = False
) -> tuple[BoolArray, ...] | None:
    """Quasi-identifiers whose people may be proved to have one value, for each view of the classes, shape (n_qi,).

    All others have different values, in the truth or in exchanges that agree with everything; none where the truth
    itself misses a statement, or choices cannot be evaluated.
    """
    seen = _Seen(truth, views)
    if choices and not _choices_are_known(program):
        return None
    if not program.single:  # leaves of people are not known; mixed groups are, where statements are not of chance
        return None if program.release.sampled or program.scaling is not None else tuple(seen.alike)
    worlds = _Worlds(program, truth, seen, clock, choices)
    if not worlds.hold(truth):
        return None
    box = np.empty(len(truth), np.int64)
    box[program.cells.owner] = np.unique(program.cells.leaf, axis=0, return_inverse=True)[1].ravel()
    if not choices and _only_boxes(program, box):
        for alike, view in zip(seen.alike, views, strict=True):
            values = _by_value(truth, view) > 0
            there = np.zeros((int(box.max()) + 1, values.shape[1]), bool)
            np.logical_or.at(there, box, values)
            alike &= (there.sum(axis=1) == 1)[box]
        return tuple(seen.alike)
    rng, idle = np.random.default_rng(0), 0
    while idle < TRIES and clock.stop() is None:
        before = seen.left
        pairs = list(_pairs(truth, box, seen.any, rng))
        if not pairs:
            break
        worlds.exchange(pairs)
        idle = 0 if seen.left < before else idle + 1
    if choices:
        worlds.walk(box, rng)
    return tuple(seen.alike)


def _only_boxes(program: Program, box: IntArray) -> bool:
    """Whether nothing is stated but of people in the same leaves together, so that any of them may change places."""
    if program.internal or NotLinear(program) or any(said.weights is not None for said in program.linear):
        return False
    size = np.bincount(box)
    for region, place in enumerate(program.regions.places):
        if place is None:
            here = np.bincount(box[program.cells.owner[program.regions[region]]], minlength=len(size))
            if ((here > 0) & (here < size)).any():
                return False
    return True


def _by_value(world: IntArray, view: IntArray) -> IntArray:
    """Individuals of each value, shape (n_qi, n_values)."""
    found = np.zeros((len(world), int(view.max()) + 1), np.int64)
    for code, value in enumerate(view.tolist()):
        found[:, value] += world[:, code]
    return found


class _Seen:
    """Who has had one and the same value in all worlds so far, ``alike`` for each view, shape (n_qi,)."""

    def __init__(self, truth: IntArray, views: Sequence[IntArray]) -> None:
        self.views = views
        self.values = [_by_value(truth, view).argmax(axis=1) for view in views]
        self.alike = [(_by_value(truth, view) > 0).sum(axis=1) == 1 for view in views]

    @property
    def any(self) -> BoolArray:
        """Quasi-identifiers that are not cleared in every view."""
        return np.asarray(np.logical_or.reduce(self.alike))

    @property
    def left(self) -> int:
        """How many are not cleared, over all views."""
        return int(sum(alike.sum() for alike in self.alike))

    def add(self, world: IntArray) -> None:
        """Take in a world that agrees with everything."""
        for view, value, alike in zip(self.views, self.values, self.alike, strict=True):
            people = _by_value(world, view)
            alike &= people[np.arange(len(people)), value] == people.sum(axis=1)


class _Worlds:
    """Labellings of the people of a program, whose quasi-identifiers have a cell each."""

    def __init__(self, program: Program, truth: IntArray, seen: _Seen, clock: Clock, choices: bool) -> None:
        self._evaluator, self._owner = Evaluator(program), program.cells.owner
        self._chosen = _Chosen(program, truth) if choices else None
        self._not_linear = NotLinear(program)
        self._least = TIED if program.ties == "first" else -TIED
        self._truth, self._seen, self._clock = truth, seen, clock

    def hold(self, world: IntArray) -> bool:
        """Whether a labelling agrees with everything that is compiled."""
        masses = world[self._owner].astype(np.float64)
        if float(self._evaluator.linear.violation(masses).max(initial=0.0)) > MET:
            return False
        if float(self._evaluator.internal.slack(masses).min(initial=np.inf)) < self._least:
            return False
        if not self._not_linear.hold(world.astype(np.float64)):
            return False
        return self._chosen is None or self._chosen.again(masses)

    def walk(self, box: IntArray, rng: np.random.Generator) -> None:
        """Let pairs change places one after the other, so that what one breaks another may mend."""
        world = self._truth
        for _ in range(STEPS):
            if self._clock.stop() is not None or not self._seen.left:
                return
            pairs = list(_pairs(world, box, self._seen.any, rng))
            if not pairs:
                return
            step = [pairs[i] for i in rng.choice(len(pairs), min(len(pairs), int(rng.integers(1, 4))), replace=False)]
            if self.hold(moved := _exchanged(world, step)):
                world = moved
                self._seen.add(world)

    def exchange(self, pairs: list[Pair]) -> None:
        """Let pairs change places, all together where that is possible, else each half by itself."""
        if self._clock.stop() is not None:
            return
        world = _exchanged(self._truth, pairs)
        if self.hold(world):
            self._seen.add(world)
        elif len(pairs) > 1:
            self.exchange(pairs[: len(pairs) // 2])
            self.exchange(pairs[len(pairs) // 2 :])


def _exchanged(world: IntArray, pairs: Sequence[Pair]) -> IntArray:
    """A world in which the people of pairs have changed places."""
    found = world.copy()
    one, other, its, others = np.array(pairs).T
    for who, loses, gains in ((one, its, others), (other, others, its)):
        np.add.at(found, (who, loses), -1)
        np.add.at(found, (who, gains), 1)
    return found


def _choices_are_known(program: Program) -> bool:
    """Whether trees with `Induction.among` count everybody, and cut columns in two by an impurity that is stated."""
    whole = {attribute.name for attribute in program.table.attributes if not attribute.missing}
    columns = sum(len(tree.induction.among or ()) for tree in program.release.trees)
    return (
        program.single
        and not program.release.sampled
        and len(program.cells) * columns <= LARGEST
        and all(
            tree.induction.impurity in ("gini", "entropy")
            and tree.induction.candidates == "none"
            and tree.induction.encoding == "ordinal"
            and whole.issuperset(tree.induction.among)
            and set(links_of(tree.nodes)[0].tolist()) <= {0, 2}
            for tree in program.release.trees
            if tree.induction.among is not None
        )
    )


class _Chosen:
    """Choices of splits that are not compiled: candidates that were worse in the truth, or as good."""

    def __init__(self, program: Program, truth: IntArray) -> None:
        names = [attribute.name for attribute in program.table.attributes]
        self._program = program
        self._of = [
            (t, [names.index(name) for name in tree.induction.among], str(tree.induction.impurity))
            for t, tree in enumerate(program.release.trees)
            if tree.induction.among is not None and len(tree.nodes) > 1
        ]
        self._before = list(self._cuts(truth[program.cells.owner].astype(np.float64)))

    def again(self, masses: FloatArray) -> bool:
        """Whether all splits are chosen again, by the people of each cell and class."""
        return all(
            bool(((gap > MET) | (was < -MET) | ((was <= MET) & (left == held).all(axis=1))).all())
            for (gap, left), (was, held) in zip(self._cuts(masses), self._before, strict=True)
        )

    def _cuts(self, masses: FloatArray) -> Iterable[tuple[FloatArray, FloatArray]]:
        """By how much the cuts of a column are worse than the chosen ones, and their people on the left, by class."""
        for t, columns, measure in self._of:
            totals = self._program.sums.totals(t, masses)
            parts, places = _impurity(measure, totals), self._program.cells.trees[t].places
            for column in columns:
                sums = self._program.sums.by_value(t, column)
                up_to = np.concatenate([np.zeros((1, masses.shape[1])), np.cumsum(sums(masses), axis=0)])
                left = up_to[1:] - up_to[sums.start[:-1]][sums.node]
                right = totals[sums.places][sums.node] - left
                chosen = np.array([parts[list(places.children[place])].sum() for place in sums.places.tolist()])
                last = np.zeros(len(left), bool)
                last[sums.start[1:] - 1] = True
                gap = _impurity(measure, left) + _impurity(measure, right) - chosen[sums.node]
                size = totals[sums.places].sum(axis=1)[sums.node]
                yield (gap / np.maximum(size, 1.0))[~last], left[~last]


def _impurity(measure: str, people: FloatArray) -> FloatArray:
    """The impurity of groups times their people, of each class in the last axis."""
    size = people.sum(axis=-1)
    if measure == "gini":
        return np.asarray(size - (people**2).sum(axis=-1) / np.maximum(size, TINY))
    share = people / np.maximum(size, TINY)[..., None]
    return np.asarray(-(people * np.log(np.maximum(share, TINY))).sum(axis=-1))


def _pairs(truth: IntArray, box: IntArray, left: BoolArray, rng: np.random.Generator) -> Iterable[Pair]:
    """Partners of other classes in the same box for those who are left, as many as there are, each person once."""
    who, klass = np.nonzero(truth)
    order = rng.permutation(len(who))
    order = order[np.lexsort((left[who[order]], box[who[order]]))]  # those who are left come last in their box
    who, klass = who[order], klass[order]
    for start, stop in _runs(box[who]):
        stacks: dict[int, list[int]] = {}
        for entry in range(start, stop):
            stacks.setdefault(int(klass[entry]), []).append(entry)
        if len(stacks) < 2:
            continue
        waiting = {entry for entry in range(start, stop) if left[who[entry]]}
        while waiting:
            classes = sorted((x for x in stacks if stacks[x]), key=lambda x: (stacks[x][-1] in waiting, len(stacks[x])))
            if len(classes) < 2 or not waiting & {stacks[classes[-1]][-1]}:
                break
            first, second = stacks[classes[-1]].pop(), stacks[classes[-2]].pop()
            waiting -= {first, second}
            if who[first] != who[second]:
                yield int(who[first]), int(who[second]), int(klass[first]), int(klass[second])


def _runs(values: IntArray) -> Iterable[tuple[int, int]]:
    """Begin and end of each run of equal values."""
    ends = np.flatnonzero(np.diff(values)) + 1
    return zip([0, *ends.tolist()], [*ends.tolist(), len(values)], strict=True)


# Statements that are false of the true classes. Nothing that is compiled is, so whoever wrote them erred, or the
# truth is of other people.


@dataclass(frozen=True, slots=True)
class FalseStatement:
    """A statement, in words, and what the true classes give in its place; empty where that is no number."""

    origin: Origin | str
    says: str
    true: str

    def __str__(self) -> str:
        given = f"the true classes give {self.true}" if self.true else "the true classes give another number"
        return f"{self.origin} states {self.says}; {given}" if self.says else f"{self.origin}; {given}"


def false_statements(
    program: Program, truth: IntArray, *, by_chance: Sequence[bool] = (), splits: bool = True
) -> Iterator[FalseStatement]:
    """What is compiled and false of the true classes, shape (n_qi, n_classes), beyond the error of computing it.

    Numbers of trees that hold ``by_chance``, by the number of the tree, are left out, and without ``splits`` choices of
    these. Where private attributes decide who is in a leaf, a statement is false that no placing of people makes true.
    """
    if truth.shape[1] != program.n_classes:
        return
    chance = np.array([*(by_chance or [False] * len(program.cells.trees)), False])  # what is of no tree is exact
    beside, people = NotLinear(program), truth.astype(np.float64)
    rows = LinearRows(program)
    low, high = _reached(program, rows, truth)
    slack = MET * np.maximum(rows.scale, 1.0)
    for k in np.unique(rows.constraint[(high < rows.lower - slack) | (low > rows.upper + slack)]).tolist():
        said = program.linear[k]
        place = program.regions.places[said.region]
        tree = -1 if place is None or said.origin.node is None else place[0]
        if str(said.origin) not in beside.by_cases and not chance[tree]:
            mine = np.searchsorted(rows.constraint, k)
            sums = float(low[mine]) * said.unit, float(high[mine]) * said.unit
            true = _figure(program, str(said.origin), truth) if said.weights is not None else ""
            yield FalseStatement(said.origin, said.says, true or _given_by(program, truth, said, sums))
    for source, says in beside.missed(people):
        yield FalseStatement(source, says, _figure(program, source, truth))
    for source, printed in beside.printed(people):
        if printed is False:
            yield FalseStatement(source, "coefficients", "others")
    if program.internal and splits and program.single:
        compared = InternalRows(program)
        missed = np.flatnonzero(compared.slack(truth[program.cells.owner].astype(np.float64)) < -TIED)
        for k in np.unique(compared.constraint_of(missed)).tolist():
            choice = program.internal[k]
            if not chance[choice.tree]:
                yield FalseStatement(choice.origin, f"{choice.chosen} chosen over {choice.candidate}", "a better one")


def unread_as_false(found: Iterable[FalseStatement]) -> tuple[Unread, ...]:
    """The same, each once, as what no number rests on: the first are named, and the others counted."""
    told = list(dict.fromkeys(map(str, found)))
    more = len(told) - NAMED
    words = [*told[:NAMED], *[f"{more:,} more statements"] * (more > 0)]
    return tuple(Unread(each, refuted=True) for each in words)


def _people_in(program: Program, truth: IntArray, region: int) -> IntArray:
    """People of each class who are in a region, and who may be, too, shape (2, n_classes)."""
    owner = program.cells.owner[program.regions[region]]
    if program.single:
        return np.stack([truth[owner].sum(axis=0), np.zeros(program.n_classes, np.int64)])
    who, here = np.unique(owner, return_counts=True)
    whole = here == program.cells_of[who]
    return np.stack([truth[who[whole]].sum(axis=0), truth[who[~whole]].sum(axis=0)])


def _reached(program: Program, rows: LinearRows, truth: IntArray) -> tuple[FloatArray, FloatArray]:
    """The least and the largest value of each row by the true classes; nothing of those that weigh unknown cells."""
    if program.single:
        value = rows.values(truth[program.cells.owner].astype(np.float64))
        return value, value
    regions = range(len(program.regions))
    people = np.array([_people_in(program, truth, r) for r in regions], np.int64).reshape(-1, 2, program.n_classes)
    region = rows.region[rows.entry]
    sure, more = people[region, 0, rows.klass], people[region, 1, rows.klass]
    low, high = (rows.sums(sure + np.where(up, more, 0)) for up in (rows.coef < 0, rows.coef > 0))
    low[rows.weighted], high[rows.weighted] = -np.inf, np.inf
    return low, high


def _figure(program: Program, place: str, truth: IntArray) -> str:
    """The figure that the true classes give a statement that stands in a place; empty where it has none."""
    classes, people = program.release.target.classes, truth.astype(np.float64)
    found = (each.figure(place, program.table, classes, people) for each in program.release.statements)
    return next((f"{figure:.6g}" if np.isfinite(figure) else "none" for figure in found if figure is not None), "")


def _given_by(program: Program, truth: IntArray, said: Linear, sums: tuple[float, float]) -> str:
    """What the true classes give in the place of a linear statement: people of its classes, or its sum."""
    if said.weights is not None:
        return f"{sums[0]:.6g} in the place of {said.lower[0] * said.unit:.6g} to {said.upper[0] * said.unit:.6g}"
    (own, more), named = _people_in(program, truth, said.region), np.flatnonzero(said.coef.any(axis=0))
    found = ", ".join(
        f"{program.release.target.classes[x]} {own[x]:,}" + f" to {own[x] + more[x]:,}" * bool(more[x])
        for x in named.tolist()
    )
    members = own[: program.n_classes - program.release.target.register]
    rest = len(named) < len(members) and not more.any()
    return found + f" of {counted(int(members.sum()), 'person', 'people')}" * rest
