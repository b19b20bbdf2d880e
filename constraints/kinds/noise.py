"""Counts with noise: intervals that hold together with a confidence, or their likelihood beside the entropy.

A random number of known distribution was added to every count, for itself, after the tree was grown. So a count is
within a distance of the published number that noise exceeds with a probability of ``alpha`` over the number of counts:
all intervals hold together with ``1 - alpha`` (Bonferroni). No noise of these kinds is bounded, and nothing is certain.

The logarithm of the probability of what was published is, as a function of the true count, concave for Laplace,
geometric and Gaussian noise. That of truncated Laplace noise is not: 0 is twice as likely as its neighbours lead to
expect. In its place stands the least concave function above it on the counts that a place can have: two lines that meet
at the published number, and end where noise is as large as it can be there.

Noisy counts say nothing about labels, sizes, or sums: children need not add up to their parent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.program.program import Likelihood, Linear, NoiseLoss
from maxent.models.arrays import FloatArray
from maxent.models.release import AddedNoise, Release


def noisy(context: Context) -> Iterator[Linear]:
    """The mass of each class in a node is near its published number, at the joint confidence."""
    release = context.release
    if release.noise is None or context.noise != "intervals":
        return
    far = release.noise.within(context.counting.alpha / max(noisy_counts(release), 1))
    for t, place, node in context.nodes():
        if not node.noisy:
            continue
        size = context.size(t, place)
        most = float(context.individuals if size is None else size)
        published = _numbers(node.noisy, release)
        low = np.clip(np.ceil(published - far), 0.0, most)
        high = np.maximum(np.clip(np.floor(published + far), 0.0, most), low)
        told = ~np.isnan(published) & ((low > 0) | (high < most))
        if told.any():
            says = "published " + ", ".join(
                f"{release.target.classes[x]} {published[x]:g}: {low[x]:.0f} to {high[x]:.0f}"
                for x in np.flatnonzero(told).tolist()
            )
            origin, region = context.origin(t, node), context.region(t, place)
            yield Linear("noise", origin, region, np.eye(context.n_classes)[told], low[told], high[told], says)


def noisy_counts(release: Release) -> int:
    """How many counts have noise."""
    return sum(len(node.noisy or ()) for tree in release.trees for node in tree.nodes)


def _numbers(noisy: object, release: Release) -> FloatArray:
    """Published numbers of all classes, NaN of one that is not stated; shape (n_classes,)."""
    assert isinstance(noisy, dict)
    return np.array([noisy.get(name, math.nan) for name in release.target.classes], np.float64)


KIND = Kind(
    "noise",
    "counts with noise: so many of a node's people have this class, as far as the noise lets tell",
    r"\lvert m_{\Lambda,x} - C_{\Lambda,x} \rvert \le t \quad \text{where noise exceeds } t"
    r" \text{ with a probability of } \alpha \text{ over the number of counts}",
    noisy,
    "counts",
)


def slopes(noise: AddedNoise, published: FloatArray, most: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What the concave logarithm falls by for each individual below and above a number, and its variance."""
    if noise.mechanism == "gaussian":
        none = np.zeros(len(published))
        return none, none, np.full(len(published), noise.scale**2)
    below = above = np.full(len(published), 1.0 / noise.scale)
    if noise.mechanism == "truncated-laplace":
        # From 0 the chord to the largest noise that is possible: ln 2 more, spread over all that is between.
        inside = (published >= 0) & (published <= most)
        more, less = np.maximum(most - published, 1.0), np.maximum(published, 1.0)
        below = below + np.where(inside & (published > 0), math.log(2) / less, 0.0)
        above = above + np.where(inside & (published < most), math.log(2) / more, 0.0)
    return below, above, np.zeros(len(published))


def noise_likelihood(context: Context) -> Likelihood | None:
    """The likelihood of the noisy counts of all nodes; None without any."""
    release, noise = context.release, context.release.noise
    if noise is None or "counts" not in context.knowledge:
        return None
    found = [(t, place, node.noisy) for t, place, node in context.nodes() if node.noisy]
    if not found:
        return None
    tree, place, numbers = zip(*found, strict=True)
    sizes = [context.size(t, p) for t, p in zip(tree, place, strict=True)]
    size = np.array([context.individuals if s is None else s for s in sizes], np.float64)
    published = np.array([_numbers(each, release) for each in numbers])
    flat = slopes(noise, published.ravel(), np.repeat(size, context.n_classes))
    loss = NoiseLoss(published, *(each.reshape(published.shape) for each in flat))
    none = np.zeros(published.shape)
    return Likelihood(np.array(tree, np.int64), np.array(place, np.int64), none, size, loss)
