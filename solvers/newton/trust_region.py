"""Steps of Newton's method: conjugate gradients within a trust region (Steihaug 1983), and a look for saddles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import TINY, FloatArray
from maxent.solvers.newton.quadratic_model import Model

CG_STEPS = 80
LOOK_STEPS = 12
NEGATIVE = -1e-3
"""Curvature, as a share of the identity's, below which a direction leads away from a saddle."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A step, how much the model falls along it, its length, and whether it ends at the trust region's boundary."""

    d: FloatArray
    predicted: float
    length: float
    at_boundary: bool


def newton_step(model: Model, radius: float) -> Step:
    """Minimise the model within ``radius``; lengths are those of the preconditioner's metric."""
    model.prepare()
    r = model.gradient
    d, hd = np.zeros_like(r), np.zeros_like(r)
    residual = -r
    z = model.precondition(residual)
    q = z
    rz = model.dot(residual, z)
    enough = min(0.1, model.norm**0.5) * np.sqrt(max(rz, 0.0))
    dd, qd, qq = 0.0, 0.0, rz
    boundary = False
    for _ in range(CG_STEPS):
        if model.problem.clock.stop() is not None:
            break
        hq = model.hessian(q)
        curvature = model.dot(q, hq)
        alpha = rz / curvature if curvature > 1e-10 * qq else np.inf
        if not np.isfinite(alpha) or dd + 2 * alpha * qd + alpha * alpha * qq >= radius * radius:
            tau = (-qd + np.sqrt(max(qd * qd + qq * (radius * radius - dd), 0.0))) / max(qq, TINY)
            d, hd, boundary = d + tau * q, hd + tau * hq, True
            break
        d, hd, residual = d + alpha * q, hd + alpha * hq, residual - alpha * hq
        dd += 2 * alpha * qd + alpha * alpha * qq
        z = model.precondition(residual)
        new = model.dot(residual, z)
        if np.sqrt(max(new, 0.0)) <= enough:
            break
        beta = new / rz
        q = z + beta * q
        qd, qq, rz = beta * (qd + alpha * qq), new + beta * beta * qq, new
    predicted = -(model.dot(d, r) + 0.5 * model.dot(d, hd))
    return Step(d, predicted, radius if boundary else float(np.sqrt(max(dd, 0.0))), boundary)


def downhill(model: Model, rng: np.random.Generator) -> FloatArray | None:
    """A direction of negative curvature, of unit length, None when a few steps from a random one meet none."""
    model.prepare()
    residual = model.centre(rng.standard_normal(model.gradient.shape))
    q = z = model.precondition(residual)
    rz = model.dot(residual, z)
    for _ in range(LOOK_STEPS):
        if model.problem.clock.stop() is not None:
            return None
        hq = model.hessian(q)
        curvature, size = model.dot(q, hq), model.dot(q, q)
        if curvature < NEGATIVE * size:
            unit: FloatArray = q / np.sqrt(size)
            return unit
        if curvature <= 0:
            return None
        residual = residual - (rz / curvature) * hq
        z = model.precondition(residual)
        new = model.dot(residual, z)
        q, rz = z + (new / rz) * q, new
    return None
