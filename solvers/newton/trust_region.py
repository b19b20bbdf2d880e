"""Trust-region steps by conjugate gradients (Steihaug 1983), and directions of negative curvature."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import TINY, FloatArray
from maxent.solvers.dual.conjugate_gradients import Conjugate
from maxent.solvers.newton.quadratic_model import Model

CG_STEPS = 80
LOOK_STEPS = 12
# Numbers in all directions of a path up to which it is kept, in case its step is too long; four such arrays are.
KEPT = 3_000_000
# Curvature, as a share of the identity's, below which a direction leads away from a saddle.
NEGATIVE = -1e-3


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A step, how much the model falls along it, its length, and whether it ends at the trust region's boundary."""

    d: FloatArray
    predicted: float
    length: float
    at_boundary: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Leg:
    """A leg of the path of conjugate gradients: from d along q, ``length`` times that far; None at the end.

    Products with the Hessian stand beside them, and inner products in the preconditioner's metric.
    """

    d: FloatArray
    hd: FloatArray
    dd: float
    q: FloatArray | None = None
    hq: FloatArray | None = None
    qd: float = 0.0
    qq: float = 0.0
    length: float = 0.0


class Path:
    """The path that conjugate gradients take from a point, as far as it was followed: it does not depend on the radius.

    After a step that was too long, only the end of the path is another.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._seen: list[_Leg] = []
        self._further = _legs(model)
        self._kept = CG_STEPS * model.gradient.size <= KEPT

    def step(self, radius: float) -> Step:
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

    def _to(self, d: FloatArray, hd: FloatArray, length: float, *, at_boundary: bool) -> Step:
        model = self.model
        return Step(d, -(model.dot(d, model.gradient) + 0.5 * model.dot(d, hd)), length, at_boundary)


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
