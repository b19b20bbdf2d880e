"""Class rates: the share of each class in a node, within the rounding of what was printed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.program.program import Linear

# Shares that are known this well are stated as equalities.
EXACTLY = 1e-12


def class_rates(context: Context) -> Iterator[Linear]:
    """Each class's mass in a node is its rate times the node's, within rounding; whole records where n is known."""
    reader = context.rates.of_classes
    if context.sampled or reader is None:
        return  # the rates of the sample are not the population's
    classes, each = context.release.target.classes, np.eye(context.n_classes)
    records, shares = cache(reader.records), cache(reader.shares)
    for t, place, node in context.nodes():
        if node.rates is None:
            continue
        stated = [node.rates.get(c, 0.0) for c in classes]
        n = context.records(t, place, node)
        if n is not None:
            low, high = np.array([records(share, n) for share in stated], np.float64).T
            coef = each
        else:
            least, most = np.array([shares(share) for share in stated], np.float64).T
            same = most - least <= EXACTLY
            coef = np.concatenate([each - least[:, None], (each - most[:, None])[~same]])
            low = np.concatenate([np.zeros(len(classes)), np.full(int((~same).sum()), -np.inf)])
            high = np.concatenate([np.where(same, 0.0, np.inf), np.zeros(int((~same).sum()))])
        says = "rates " + ", ".join(f"{c}: {share:.6g}" for c, share in zip(classes, stated, strict=True) if share)
        yield Linear("rates", context.origin(t, node), context.region(t, place), coef, low, high, says)


KIND = Kind(
    "rates",
    "class rates: each class's share of a node, within the rounding of the rate",
    r"m_{\Lambda,x} = r_{\Lambda,x}\, w_\Lambda \quad \text{within the rounding of the rate } r_{\Lambda,x}",
    class_rates,
    "rate",
)
