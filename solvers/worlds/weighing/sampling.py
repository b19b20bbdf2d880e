"""Samples worlds of a large part: several random walks, and their agreement.

R-hat compares the spread between the halves of all chains with that within them; the effective sample size is what so
many independent worlds would tell as much as the chains do (Gelman et al., "Bayesian Data Analysis", 2013, chapter 11).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.worlds.part import WholePart
from maxent.solvers.worlds.weighing.moves import moves_of
from maxent.solvers.worlds.weighing.walk import Walk

CHAINS = 4
# Worlds that are kept of each chain, after as many that are not.
DRAWS = 400
# Moves between two worlds that are kept, for each pooled quasi-identifier of which something is open.
PACE = 20
# Quantities that are looked at together, so that intermediate results stay small.
CHUNK = 1 << 10
# Moves between two looks at the clock.
LOOK = 50


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """People of each class on average, with R-hat and the effective sample size; shapes (n_owners, n_classes).

    Of what never changes R-hat is 1, and the effective sample size that of all draws.
    """

    mean: FloatArray
    r_hat: FloatArray
    effective: FloatArray


def sampled(
    part: WholePart, starts: Sequence[IntArray], free: BoolArray, seconds: float, seed: int, draws: int = DRAWS
) -> Sampled | None:
    """Walk from some worlds, and look at what the chains have in common; None where no move leads from one to another.

    Parameters
    ----------
    starts : worlds of the part, shape (n_groups, n_classes) each; chains begin at them in turn
    free : shape (n_owners,), pooled quasi-identifiers of which something is open
    seconds : time for all chains; a shorter one means fewer moves between two worlds that are kept
    seed : of the moves
    draws : worlds that are kept of each chain
    """
    rng = np.random.default_rng(seed)
    begin = time.monotonic()
    moves = moves_of(part, free, rng)
    if not len(moves):
        return None
    walks = [Walk(part, moves, starts[i % len(starts)], rng) for i in range(CHAINS)]
    pace = PACE * max(int(free.sum()), 1)
    kept = np.zeros((CHAINS, draws, len(part.owners), part.n_classes), np.float32)
    for draw in range(-draws, draws):
        # What is left of the time for each draw of a chain, in moves at the speed so far.
        share = (begin + seconds - time.monotonic()) / (draws - draw) / CHAINS
        for chain, walk in enumerate(walks):
            ends = time.monotonic() + share
            for number in range(pace):
                walk.step()
                if number % LOOK == LOOK - 1 and time.monotonic() > ends:
                    break
            if draw >= 0:
                kept[chain, draw] = part.totals(walk.point())
    values = kept.reshape(CHAINS, draws, -1)
    chunks = [values[:, :, at : at + CHUNK].astype(np.float64) for at in range(0, values.shape[2], CHUNK)]
    r_hat, effective = (np.concatenate(each) for each in zip(*map(agreement, chunks), strict=True))
    shape = len(part.owners), part.n_classes
    mean: FloatArray = kept.mean(axis=(0, 1), dtype=np.float64)
    return Sampled(mean, r_hat.reshape(shape), effective.reshape(shape))


def agreement(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """R-hat of split chains and effective sample sizes; ``values`` has shape (n_chains, n_draws, n_quantities)."""
    half = values.shape[1] // 2
    split = np.concatenate([values[:, :half], values[:, half : 2 * half]])
    m, n = split.shape[:2]
    within = split.var(axis=1, ddof=1).mean(axis=0)
    between = n * split.mean(axis=1).var(axis=0, ddof=1)
    whole = (n - 1) / n * within + between / n
    still = whole <= 0
    safe_within, safe = np.where(within > 0, within, np.inf), np.where(still, 1.0, whole)
    r_hat = np.where(still, 1.0, np.where(within > 0, np.sqrt(whole / safe_within), np.inf))
    centred = split - split.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    covariance = np.fft.irfft(spectrum * spectrum.conj(), 2 * n, axis=1)[:, :n].mean(axis=0) / n
    correlation = 1.0 - (within - covariance * n / (n - 1)) / safe
    # Geyer's initial positive sequence: pairs of neighbours are added while they are positive.
    pairs = correlation[: n - n % 2].reshape(-1, 2, correlation.shape[1]).sum(axis=1)
    positive = np.cumprod(pairs > 0, axis=0).astype(bool)
    time_ = np.maximum(2 * np.where(positive, pairs, 0.0).sum(axis=0) - 1, 1.0 / (m * n))
    return r_hat, np.where(still, m * n, np.minimum(m * n / time_, m * n))
