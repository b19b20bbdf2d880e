"""Augmented Lagrangian method: outer loop, and trust-region steps by conjugate gradients (Steihaug 1983).

Each round minimises the augmented Lagrangian with Newton steps until the natural gradient is small, then takes the
constraints' pull as their multipliers and raises the penalties of those that do not come closer to being met (or to
having no pull). Where rounds end with a small gradient and come no closer to the constraints, the point may be a
saddle, and a way down is looked for. Where there is none, the rounds begin again with other sides of the chosen splits.

Sides: with two classes and two branches, a split's gain is a square, that of the difference between the branches'
probabilities, so a comparison says that the size of the difference is at least something convex. Each sign of it is a
convex set of its own. Where no counts fix the sign, descent keeps the one that it began with, which other comparisons
may rule out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import TINY, FloatArray
from maxent.solvers.dual.newton import Conjugate
from maxent.solvers.newton.block_form import Comparisons
from maxent.solvers.newton.quadratic_model import Model, NewtonProblem, Penalty, State, gram_of, weighted_by

# Trust-region steps by conjugate gradients (Steihaug 1983), and directions of negative curvature.

CG_STEPS = 80
LOOK_STEPS = 12
# Numbers in all directions of a path up to which it is kept, in case its step is too long; four such arrays are.
KEPT = 3_000_000
# Curvature, as a share of the identity's, below which a direction leads away from a saddle.
NEGATIVE = -1e-3


@dataclass(frozen=True, slots=True, eq=False)
class AugmentedStep:
    """A step, how much the model falls along it, its length, and whether it ends at the trust region's boundary."""

    d: FloatArray
    predicted: float
    length: float
    at_boundary: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Leg:
    """A leg of the path of conjugate gradients: from d along q, ``length`` times that far; None at the end."""

    d: FloatArray
    hd: FloatArray
    dd: float
    q: FloatArray | None = None
    hq: FloatArray | None = None
    qd: float = 0.0
    qq: float = 0.0
    length: float = 0.0


class Path:
    """The path of conjugate gradients from a point, as far as it was followed; it does not depend on the radius."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._seen: list[_Leg] = []
        self._further = _legs(model)
        self._kept = CG_STEPS * model.gradient.size <= KEPT

    def step(self, radius: float) -> AugmentedStep:
        """The step to where the path ends, or leaves ``radius``; lengths are those of the preconditioner's metric."""
        if not self._kept:
            self._further = _legs(self.model)
        for leg in self._legs():
            if leg.q is None or leg.hq is None:
                return self._to(leg.d, leg.hd, float(np.sqrt(max(leg.dd, 0.0))), at_boundary=False)
            reached = leg.dd + 2 * leg.length * leg.qd + leg.length * leg.length * leg.qq
            if not np.isfinite(leg.length) or reached >= radius * radius:
                ahead = np.sqrt(max(leg.qd * leg.qd + leg.qq * (radius * radius - leg.dd), 0.0))
                tau = (ahead - leg.qd) / max(leg.qq, TINY)
                return self._to(leg.d + tau * leg.q, leg.hd + tau * leg.hq, radius, at_boundary=True)
        raise AssertionError("a path has an end")

    def _legs(self) -> Iterator[_Leg]:
        yield from self._seen
        for leg in self._further:
            if self._kept:
                self._seen.append(leg)
            yield leg

    def _to(self, d: FloatArray, hd: FloatArray, length: float, *, at_boundary: bool) -> AugmentedStep:
        model = self.model
        return AugmentedStep(d, -(model.dot(d, model.gradient) + 0.5 * model.dot(d, hd)), length, at_boundary)


def _legs(model: Model) -> Iterator[_Leg]:
    """The legs of the path, the last one without direction; one along which the model only falls has no end."""
    model.prepare()
    system = Conjugate(model.hessian, -model.gradient, model.precondition, model.dot)
    d, hd = np.zeros_like(model.gradient), np.zeros_like(model.gradient)
    enough = min(0.1, model.norm**0.5) * np.sqrt(max(system.size, 0.0))
    dd, qd, qq = 0.0, 0.0, system.size
    for _ in range(CG_STEPS):
        if model.problem.clock.stop() is not None:
            break
        q, alpha = system.direction, system.size / system.curvature if system.look() > 1e-10 * qq else np.inf
        yield _Leg(d, hd, dd, q, system.product, qd, qq, alpha)
        d, hd = d + alpha * q, hd + alpha * system.product
        dd += 2 * alpha * qd + alpha * alpha * qq
        beta = system.go()
        if np.sqrt(max(system.size, 0.0)) <= enough:
            break
        qd, qq = beta * (qd + alpha * qq), system.size + beta * beta * qq
    yield _Leg(d, hd, dd)


def downhill(model: Model, rng: np.random.Generator) -> FloatArray | None:
    """A direction of negative curvature, of unit length, None when a few steps from a random one meet none."""
    model.prepare()
    start = model.centre(rng.standard_normal(model.gradient.shape))
    system = Conjugate(model.hessian, start, model.precondition, model.dot)
    for _ in range(LOOK_STEPS):
        if model.problem.clock.stop() is not None:
            return None
        q, curvature = system.direction, system.look()
        size = model.dot(q, q)
        if curvature < NEGATIVE * size:
            unit: FloatArray = q / np.sqrt(size)
            return unit
        if curvature <= 0:
            return None
        system.go()
    return None


# The first round's bound on the natural gradient, nats per individual; a tenth in each that follows.
FIRST = 0.1
# First and largest penalty of a constraint, per individual that it is about.
PENALTY, MOST = 100.0, 1e7
ROUNDS, STEPS = 40, 25
# Rounds without progress after which the point is jolted.
STALLED = 4
# Change of the entropy, nats per individual; rounds in a row without more, after which a feasible point is kept.
STILL, SETTLED = 1e-9, 3
# Times that the rounds begin again, from other sides.
JOLTS = 4
# Of a jolt: the change of a favoured class's scores in a branch, and of all scores at random; how much larger the first
# penalties are, lest the entropy pulls the branches back before the comparisons hold them.
SIDE, NOISE, FIRMER = 3.0, 0.02, 10.0
# Near an optimum with fewer constraints: the first round's bound, and the individuals, per individual that a constraint
# is about, down to which it has room and no multiplier.
NEARBY, TOUCHED = 0.01, 1e-3
# Searches for a way down from a saddle, per round.
LOOKS = 2


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Tolerances of gradient and violation, growth of penalties, and the decrease that counts as progress."""

    gradient: float
    violation: float
    growth: float
    closer: float


# For large parts: the projection onto the constraints does the rest, at no cost in entropy.
LOOSE = {"gini": Accuracy(1e-4, 1e-6, 10.0, 0.1), "entropy": Accuracy(1e-3, 1e-5, 3.0, 0.25)}
# For small parts. At the optimum of an entropy probabilities may vanish: more accuracy would chase them.
CLOSE = {"gini": Accuracy(1e-6, 1e-7, 10.0, 0.1), "entropy": Accuracy(1e-5, 1e-6, 3.0, 0.25)}
# For convex parts, whose optimum is to be proven.
FINE = Accuracy(1e-9, 1e-10, 10.0, 0.1)


@dataclass(slots=True)
class FoundPoint:
    """End of the loop: the state, the multipliers, Newton steps taken, and whether it met its accuracy."""

    state: State
    pull: FloatArray
    steps: int = 0
    converged: bool = False


@dataclass(slots=True)
class _Search:
    """State of rounds: the trust region's ``radius``, its ``widest``, and Newton steps taken, ``most`` in all."""

    problem: NewtonProblem
    rng: np.random.Generator
    most: int
    radius: float
    widest: float
    steps: int = 0
    stuck: bool = False
    stopped: bool = False


@dataclass(slots=True)
class _Rounds:
    """State of the rounds since they last began; ``stalled`` ones came no closer to meeting the constraints.

    ``apart`` is how far each constraint was from being met, or from having no pull, per individual.
    """

    state: State
    penalty: Penalty
    apart: FloatArray
    bound: float = FIRST
    worst: float = np.inf
    stalled: int = 0

    @classmethod
    def begin(cls, state: State, rho: FloatArray) -> _Rounds:
        """The first round from a state, with penalties."""
        return cls(state, Penalty(np.zeros(len(rho)), rho), np.full(len(rho), np.inf))

    def count(self, violation: float, accuracy: Accuracy) -> None:
        """Take note of the violation that a round ended with."""
        self.stalled = self.stalled + 1 if violation > max(accuracy.violation, 0.9 * self.worst) else 0
        self.worst = violation

    def tighten(self, model: Model, apart: FloatArray, accuracy: Accuracy, largest: FloatArray) -> None:
        """The next round's multipliers, penalties and bound."""
        rho = self.penalty.rho
        # Where the minimum was not reached, how far the constraints are from being met says nothing about penalties.
        reached = model.norm <= 10.0 * self.bound
        lazy = reached & (apart > accuracy.closer * self.apart) & (apart > 0.1 * accuracy.violation)
        self.penalty = Penalty(model.a, np.where(lazy, np.minimum(rho * accuracy.growth, largest), rho))
        self.apart, self.bound = np.maximum(apart, 1e-12), max(accuracy.gradient, 0.1 * self.bound)


def solve(
    problem: NewtonProblem,
    start: FloatArray,
    accuracy: Accuracy,
    rng: np.random.Generator,
    *,
    convex: bool,
    most: int | None = None,
    near: bool = False,
) -> FoundPoint:
    """Minimise ``sum m ln p`` subject to the constraints, from scores of shape (n_groups, n_classes).

    Where these are ``near`` an optimum, the multipliers begin as those that explain the gradient best.
    """
    people, scale = problem.people, np.sqrt(problem.individuals)
    search = _Search(problem, rng, most or ROUNDS * STEPS, scale, 30.0 * scale)
    now = _Rounds.begin(problem.at(start), PENALTY / people)
    if near:
        now.penalty, now.bound = Penalty(explaining(problem, now.state), FIRMER * now.penalty.rho), NEARBY
    converged, settled, objective, jolts = False, 0, np.inf, 0
    for _ in range(ROUNDS):
        now.state, model = _minimise(search, now.state, now.penalty, now.bound)
        violation = float(problem.violation(now.state).max(initial=0.0))
        apart = np.abs(np.minimum(now.state.c, model.a / now.penalty.rho)) / people
        converged = (
            violation <= accuracy.violation
            and model.norm <= 3.0 * accuracy.gradient
            and float(apart.max(initial=0.0)) <= 10.0 * accuracy.violation
        )
        # Where masses have to vanish the gradient may stop falling, at a point with nothing left to gain.
        still = violation <= accuracy.violation and abs(now.state.objective - objective) <= STILL * problem.individuals
        settled, objective = settled + 1 if still else 0, now.state.objective
        converged |= settled >= SETTLED
        if converged or search.stopped:
            break
        now.count(violation, accuracy)
        search.stuck = now.stalled > 0
        if now.stalled < STALLED:
            now.tighten(model, apart, accuracy, MOST / people)
            search.radius = max(search.radius, 0.3 * scale)
        elif convex or jolts == JOLTS:
            break  # as near as it gets: the constraints contradict each other, at least around here
        else:
            jolts += 1
            change = _sides(problem.comparisons, rng) + NOISE * rng.standard_normal(start.shape)
            now = _Rounds.begin(problem.step(problem.at(start), change), FIRMER * (PENALTY / people))
            search.radius = scale
    return FoundPoint(now.state, model.a, search.steps, converged)


def explaining(problem: NewtonProblem, state: State) -> FloatArray:
    """Multipliers of the constraints without room, none negative, that explain most of the gradient."""
    found = np.zeros(len(state.c))
    rows = np.flatnonzero(state.c < TOUCHED * problem.people)
    centre, slopes = problem.manifold.centring(state.m), problem.comparisons.slopes(state.sums)
    gradients = problem.centred(state, slopes, rows)
    weighted = weighted_by(gradients, state.m.ravel())
    gram, pull = gram_of(weighted, gradients), weighted @ centre(state.masses.log_p).ravel()
    scale = 1.0 / np.sqrt(np.maximum(np.diag(gram), TINY))
    gram, pull, left = gram * scale[:, None] * scale, pull * scale, np.arange(len(rows))
    while len(left):  # those that come out negative are let go
        some = np.linalg.lstsq(gram[np.ix_(left, left)], pull[left], rcond=1e-8)[0]
        if (some >= 0).all():
            found[rows[left]] = some * scale[left]
            break
        left = left[some >= 0]
    return found


def _sides(comparisons: Comparisons, rng: np.random.Generator) -> FloatArray:
    """Raise the scores of each class in one branch, at random, of every chosen split, shape (n_groups, n_classes)."""
    blocks = comparisons.blocks
    terms = blocks.factor.tocoo()
    row, block = terms.row[terms.data > 0], terms.col[terms.data > 0]
    draw = np.where(blocks.seen, rng.random(blocks.seen.shape), 0.0)
    most = np.zeros((len(comparisons), draw.shape[1]))
    np.maximum.at(most, row, draw[block])
    raised = np.zeros(draw.shape)
    term, klass = np.nonzero((draw[block] == most[row]) & blocks.seen[block])
    raised[block[term], klass] = SIDE
    change: FloatArray = comparisons.transposed @ raised
    return change


def _minimise(search: _Search, state: State, penalty: Penalty, bound: float) -> tuple[State, Model]:
    """Newton steps on one augmented Lagrangian until its natural gradient is below ``bound``."""
    problem = search.problem
    value, looks = penalty.value(state), 0
    model = Model(problem, state, penalty)
    path = Path(model)
    for _ in range(STEPS):
        if problem.clock.stop() is not None or search.steps >= search.most:
            search.stopped = True
            break
        if model.norm < bound:
            violated = float(problem.violation(state).max(initial=0.0)) > 1e-7
            if not (search.stuck and violated) or looks >= LOOKS:
                break
            looks += 1
            away = downhill(model, search.rng)
            better = None if away is None else _lower(search, state, away, penalty, value)
            if better is None:
                break
            state, value = better
            search.radius = max(search.radius, 0.3 * np.sqrt(problem.individuals))
            model = Model(problem, state, penalty)
            path = Path(model)
            continue
        step = path.step(search.radius)
        search.steps += 1
        new = problem.step(state, step.d)
        new_value = penalty.value(new)
        fell = value - new_value
        ratio = fell / max(step.predicted, TINY)
        if abs(step.predicted) < 1e-10 * max(1.0, abs(value)) and fell > -1e-10 * max(1.0, abs(value)):
            ratio = 1.0  # below what rounding shows
        if ratio > 1e-4:
            state, value = new, new_value
            model = Model(problem, state, penalty)
            path = Path(model)
        if ratio < 0.25:
            search.radius = 0.3 * step.length
        elif ratio > 0.7 and step.at_boundary:
            search.radius = min(2.5 * search.radius, search.widest)
        if search.radius < 1e-9 * np.sqrt(problem.individuals):
            break
    return state, model


def _lower(
    search: _Search, state: State, away: FloatArray, penalty: Penalty, value: float
) -> tuple[State, float] | None:
    """Step along a direction of negative curvature, to whichever side is lower."""
    length = 0.1 * np.sqrt(search.problem.individuals)
    for side in (length, -length):
        new = search.problem.step(state, side * away)
        if penalty.value(new) < value:
            return new, penalty.value(new)
    return None
