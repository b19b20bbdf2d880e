"""Trust-region steps for all items, by conjugate gradients (Steihaug 1983)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import TINY, BoolArray, FloatArray
from maxent.solvers.newton.stacked.model import Quadratic
from maxent.solvers.newton.trust_region import LOOK_STEPS, NEGATIVE

# All items take as many as the one that takes most, which is more than the others need.
CG_STEPS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """A step of each item, how much its model falls along it, its length, and whether it ends at the boundary."""

    d: FloatArray
    predicted: FloatArray
    length: FloatArray
    at_boundary: BoolArray


def steps(model: Quadratic, radius: FloatArray, some: BoolArray) -> Steps:
    """The steps of some items, 0 for the others."""
    model.prepare()
    stack, m = model.stack, model.points.m
    d, hd, residual = np.zeros_like(m), np.zeros_like(m), -model.gradient
    z = model.precondition(residual)
    q = z.copy()
    rz = stack.dot(m * residual, z)
    enough = np.minimum(0.1, np.sqrt(model.norm)) * np.sqrt(np.maximum(rz, 0.0))
    dd, qd, qq = np.zeros(stack.n_items), np.zeros(stack.n_items), rz.copy()
    going, boundary = some & (rz > 0), np.zeros(stack.n_items, bool)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for _ in range(CG_STEPS):
            if not going.any() or stack.clock.stop() is not None:
                break
            change = m * q
            hq = model.hessian(q, change)
            curvature = stack.dot(change, hq)
            alpha = np.where(curvature > 1e-10 * qq, rz / curvature, np.inf)
            leaves = going & ~(dd + 2 * alpha * qd + alpha * alpha * qq < radius * radius)
            if leaves.any():
                ahead = np.sqrt(np.maximum(qd * qd + qq * (radius * radius - dd), 0.0))
                alpha = np.where(leaves, (ahead - qd) / np.maximum(qq, TINY), alpha)
                boundary |= leaves
            alpha = np.where(going, alpha, 0.0)
            at = stack.spread(alpha)
            d += at * q
            at = at * hq
            hd += at
            residual -= at
            dd += 2 * alpha * qd + alpha * alpha * qq
            going = going & ~leaves
            if not going.any():
                break
            z = model.precondition(residual)
            new = stack.dot(m * residual, z)
            going &= np.sqrt(np.maximum(new, 0.0)) > enough
            beta = np.where(going, new / rz, 0.0)
            q = z + stack.spread(beta) * q
            qd, qq, rz = beta * (qd + alpha * qq), new + beta * beta * qq, new
    predicted = -stack.dot(m * d, model.gradient + 0.5 * hd)
    return Steps(d, predicted, np.where(boundary, radius, np.sqrt(np.maximum(dd, 0.0))), boundary)


def downhill(model: Quadratic, direction: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Directions of negative curvature, of unit length, of those items for which a few steps meet one.

    The steps begin with the ``direction``, shape (n_groups, n_classes), which is changed.
    """
    model.prepare()
    stack, m = model.stack, model.points.m
    residual = model.centre(direction)
    q = z = model.precondition(residual)
    rz = stack.dot(m * residual, z)
    found, going = np.zeros(stack.n_items, bool), np.ones(stack.n_items, bool)
    away = np.zeros_like(m)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for _ in range(LOOK_STEPS):
            if not going.any() or stack.clock.stop() is not None:
                break
            change = m * q
            hq = model.hessian(q, change)
            curvature, size = stack.dot(change, hq), stack.dot(change, q)
            meets = going & (curvature < NEGATIVE * size)
            if meets.any():
                away = np.where(stack.spread(meets), q / stack.spread(np.sqrt(size)), away)
                found |= meets
            going &= ~meets & (curvature > 0)
            residual = residual - stack.spread(np.where(going, rz / curvature, 0.0)) * hq
            z = model.precondition(residual)
            new = stack.dot(m * residual, z)
            q, rz = z + stack.spread(np.where(going, new / rz, 0.0)) * q, new
    return away, found
