"""Tests for many boxes whether relative entropy outweighs the curvature of the Lagrangian.

As in `maxent.solvers.bounds.divergence.proof`, at masses and multipliers that each box has, and with squares.
"""

from __future__ import annotations

import numpy as np

from maxent.models.arrays import TINY, BoolArray, FloatArray
from maxent.solvers.bounds.boxes.frontier import Boxes
from maxent.solvers.bounds.boxes.reach import Reach
from maxent.solvers.bounds.boxes.setting import Setting
from maxent.solvers.bounds.divergence.proof import BENT, CLEAR, LARGE, LEAST, POSITIVE, bennett

# By how much directions may miss being orthonormal.
ORTHONORMAL = 1e-7
# Times that weights of squares are raised, at most, by how much more than is missing; directions that count.
WEIGHTS, OVER, STEEPEST = 16, 1.1, 10
# The least width of a function, and square of what it has of a direction; the most that a weight is raised from.
NARROW, ALONG, HEAVY = 1e-6, 1e-6, 1e9
# Entries of matrices from which eigenvalues are not asked for.
FINITE = 1e100


def bending(
    setting: Setting, boxes: Boxes, masses: FloatArray, mu: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Directions from masses, orthonormal in the metric ``sum d^2 / masses``, and what comparisons bend along them.

    The shapes are (n_boxes, n, n_directions) and twice n_directions; the last answer says in which boxes both are
    known.
    """
    base, curves = setting.at.across, setting.at.curves
    least, most = setting.ends(boxes.low, boxes.high)
    with np.errstate(over="ignore", invalid="ignore"):  # where masses are nearly 0
        size, turned, fine = _eigen((base.T / masses[:, None]) @ base)
        fine &= size[:, 0] > 0
        across = base @ (turned / np.sqrt(np.maximum(size, TINY))[:, None])
        again = (across.transpose(0, 2, 1) / masses[:, None]) @ across
        fine &= np.abs(again - np.eye(size.shape[1])).max(axis=(1, 2), initial=0.0) < ORTHONORMAL
        a, gamma = masses @ curves.sums.T + curves.shift, mu @ setting.coef
        bent = gamma * curves.bent(np.maximum(a, TINY), np.where(gamma > 0, least, most) - a)
        by_z = curves.sums @ across
        form = 2.0 * (by_z.transpose(0, 2, 1) * bent[:, None]) @ by_z
    fine &= np.isfinite(form).all(axis=(1, 2))
    known = fine[:, None, None]
    return np.where(known, across, 0.0), np.where(known, form, 0.0), fine


def flat_enough(setting: Setting, boxes: Boxes, masses: FloatArray, mu: FloatArray, left: FloatArray) -> FloatArray:
    """Weights of squares, shape (n_boxes, n_functions), that leave so much of what comparisons bend, or nearly.

    Those of functions with near ends are raised first. Only the steepest directions are looked at.
    """
    across, form, _ = bending(setting, boxes, masses, mu)
    turned = _eigen(form)[1][:, :, -STEEPEST:]
    form, along = turned.transpose(0, 2, 1) @ form @ turned, setting.along @ across @ turned
    flat, width = np.zeros(boxes.low.shape), np.maximum(boxes.width, NARROW) ** 2
    for _ in range(WEIGHTS):
        size, turned, fine = _eigen(form - (along.transpose(0, 2, 1) * flat[:, None]) @ along)
        off = np.where(fine, size[:, -1] - left, 0.0)
        if (off <= 0).all():
            break
        length = (along @ turned[:, :, -1:])[:, :, 0] ** 2
        worth = length / width
        worth = (worth / np.maximum(worth.max(axis=1, keepdims=True), TINY)) ** 2
        worth /= np.maximum(worth.sum(axis=1, keepdims=True), TINY)
        raised = OVER * np.maximum(off, 0.0)[:, None] * worth / np.maximum(length, ALONG)
        flat = np.minimum(flat, HEAVY) + raised
    return flat


def shares_left(
    reach: Reach, masses: FloatArray, mu: FloatArray, flat: FloatArray | None, shares: tuple[float, ...]
) -> FloatArray:
    """The first of some shares of relative entropies that is left when the others make up for what comparisons bend.

    Not a number in boxes where none is; ``mu`` has the shape (n_boxes, n_comparisons), ``flat`` are weights of squares.
    """
    setting = reach.setting
    across, form, fine = bending(setting, reach.boxes, masses, mu)
    if flat is not None:
        along = setting.along @ across
        form = form - (along.transpose(0, 2, 1) * flat[:, None]) @ along
    size, turned, known = _eigen(form)
    fine &= known
    found = np.where(fine & (size[:, -1] <= POSITIVE), shares[0], np.nan)
    functions = across @ turned / masses[:, :, None]
    for share in shares:
        for b in BENT:
            some = np.flatnonzero(fine & np.isnan(found) & (size[:, -1] / (1.0 - share) <= 1.0 / b))
            if len(some):
                bent = size[some] / (1.0 - share)
                found[some[_make_up(reach.take(some), masses[some], functions[some], bent, b)]] = share
    return found


def _make_up(reach: Reach, masses: FloatArray, functions: FloatArray, size: FloatArray, b: float) -> BoolArray:
    """Whether relative entropy is at least as curved as the given functions."""
    first = size.shape[1] - int((size > POSITIVE).sum(axis=1).max())
    functions, size = functions[:, :, first:], size[:, first:]
    some = size > POSITIVE
    k = np.where(some, np.maximum((1.0 - np.sqrt(np.maximum(1.0 - b * size, 0.0))) / b, LEAST), 0.0)
    chosen = (functions * k[:, None]) @ functions.transpose(0, 2, 1)
    rho = np.maximum(reach.setting.of_owners(reach.furthest(chosen, masses)[0]), 0.0)
    near = rho.max(axis=1) <= LARGE
    by_mass = masses * reach.setting.of_masses(bennett(np.where(near[:, None], rho, 0.0)))
    m = (functions.transpose(0, 2, 1) * by_mass[:, None]) @ functions
    form = np.where(some, size - 2.0 * k, -1.0)[:, :, None] * np.eye(size.shape[1]) + k[:, :, None] * m * k[:, None]
    size, _, fine = _eigen(form)
    found: BoolArray = near & fine & (size[:, -1] <= -CLEAR)
    return found


def _eigen(matrices: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Eigenvalues and vectors of symmetric matrices, and of which of them they are known."""
    with np.errstate(invalid="ignore"):
        fine: BoolArray = np.all(np.abs(matrices) < FINITE, axis=(1, 2))
    size, turned = np.linalg.eigh(np.where(fine[:, None, None], matrices, 0.0))
    return size, turned, fine
