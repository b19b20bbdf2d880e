"""Linear equations with disjoint quasi-identifiers, such as the rates of one tree.

Each is met by a multiplier of its own, and each is centred on its own: all together cost no more than a pass over the
masses. Where an equation looks at one mass of a quasi-identifier, whose probability is p, the multiplier lam makes that
``p e^lam / (1 - p + p e^lam)``, which takes exponentials of the other masses once for all multipliers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from maxent.models.arrays import TINY, FloatArray, IntArray
from maxent.solvers.clock import SOON, Clock
from maxent.solvers.newton.block_form import Form, fast

# Individuals, relative to the equation's size, up to which equations are met.
ACCURACY = 1e-11
# Logarithm of the smallest probability: below, its reciprocal would overflow.
SMALLEST = -600.0
# Multipliers are between minus and plus the first; the longest step of one, and steps at most.
WIDEST, FARTHEST, STEPS = 1e3, 20.0, 100
Centre = Callable[[FloatArray], FloatArray]
# What equations miss at some multipliers, and the derivatives of that by the multipliers.
At = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


class SeparateEquations:
    """The equations of a form, at least one, in which a quasi-identifier is in one of them at most.

    ``row_of`` and ``owner_of`` are the row and the quasi-identifier of each of their coefficients.
    """

    def __init__(self, form: Form, row_of: IntArray, owner_of: IntArray, clock: Clock) -> None:
        self.form, self.clock, self.row_of, self.owner_of = form, clock, row_of, owner_of
        equal = form.equal.matrix
        self.coefficient, self.place = equal.data, equal.indices
        self.touched, first = np.unique(owner_of, return_index=True)
        self.row_of_touched = row_of[first]
        gradient = np.zeros(form.free.size)  # of each mass's own equation
        gradient[self.place] = self.coefficient
        self.gradient = gradient.reshape(form.free.shape)
        row = np.full(len(form.start), len(form.equal))  # one more, for quasi-identifiers that are in none
        row[self.touched] = self.row_of_touched
        self.row = row[form.owner]
        self.group = self.place // form.free.shape[1]
        # One mass of a quasi-identifier, which is in one place only.
        self.one_mass = len(form.start) == len(form.owner) and len(self.touched) == len(self.place)

    def multipliers(self, at: At) -> FloatArray:
        """The multipliers that meet the equations, by Newton's method, each in its own bracket.

        What an equation misses increases with its multiplier.
        """
        size = ACCURACY * self.form.equal.size
        found = np.zeros(len(size))
        low, high = np.full(len(size), -WIDEST), np.full(len(size), WIDEST)
        for _ in range(STEPS):
            miss, slope = at(found)
            open_ = np.abs(miss) > size
            if not open_.any() or self.clock.late() > SOON:
                break
            low, high = np.where(miss < 0, found, low), np.where(miss > 0, found, high)
            new = found + np.clip(-miss / np.maximum(slope, TINY), -FARTHEST, FARTHEST)
            new = np.where((new <= low) | (new >= high), 0.5 * (low + high), new)
            found = np.where(open_, new, found)
        return found

    def probabilities(self, theta: FloatArray) -> FloatArray:
        """Logarithms of the probabilities of some scores, -inf where fixed, of equations with one mass each.

        A multiplier changes two numbers of a quasi-identifier: the logarithm of its equation's mass, and of all others.
        """
        n, total = len(self.form.equal), self.form.total[self.group]
        own, others = theta.ravel()[self.place], theta.copy()
        others.ravel()[self.place] = -np.inf
        top = others.max(axis=1, keepdims=True)
        top[top == -np.inf] = 0.0
        others -= top
        with np.errstate(divide="ignore"):  # where no other is free
            beside = np.log(np.exp(others).sum(axis=1))
        rest = beside[self.group] + top[self.group, 0]

        def at(multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
            raised = own + self.coefficient * multipliers[self.row_of]
            both = np.logaddexp(raised, rest)
            pull = self.coefficient * total * np.exp(raised - both)
            steep = self.coefficient * pull * np.exp(rest - both)
            slope = np.asarray(np.bincount(self.row_of, steep, n), np.float64)
            return np.bincount(self.row_of, pull, n) - self.form.equal.value, slope

        raised = own + self.coefficient * self.multipliers(at)[self.row_of]
        both = np.logaddexp(raised, rest)
        beside[self.group] = both - top[self.group, 0]
        others -= beside[:, None]
        others.ravel()[self.place] = raised - both
        return others

    @cached_property
    def squared(self) -> Any:
        """The coefficients' squares; a form whose equations look at one mass each does without."""
        equal = self.form.equal.matrix
        return fast(equal.multiply(equal).tocsr())

    def slopes(self, m: FloatArray) -> FloatArray:
        """The derivatives of the equations by their own multipliers, at the masses m."""
        share = self.coefficient * m.ravel()[self.place]
        of_owner = np.bincount(self.owner_of, share, len(self.form.start))[self.touched]
        lost = np.bincount(self.row_of_touched, of_owner**2 / self.form.total[self.touched], len(self.form.equal))
        slope: FloatArray = self.squared @ m.ravel() - lost
        return slope

    def centring(self, m: FloatArray, centre_totals: Callable[[FloatArray, FloatArray], FloatArray]) -> Centre:
        """The projection of directions onto those that keep totals (``centre_totals`` does that) and equations."""
        n_rows, n_groups = len(self.form.equal) + 1, len(m)
        gradient = centre_totals(m, self.gradient)
        weight = m * gradient
        length = np.bincount(self.row, np.einsum("gx,gx->g", weight, gradient), n_rows)
        inverse = np.divide(1.0, length, out=np.zeros(n_rows), where=length > 1e-12)

        def centre(b: FloatArray) -> FloatArray:
            u = centre_totals(m, b)
            along = np.einsum("gx,...gx->...g", weight, u)
            place = self.row if u.ndim == 2 else (n_rows * np.arange(len(u))[:, None] + self.row).ravel()
            sums = np.bincount(place, along.ravel(), n_rows * (along.size // n_groups)).reshape(-1, n_rows)
            u -= ((sums * inverse)[:, self.row]).reshape(along.shape)[..., None] * gradient
            return u

        return centre
