"""Error rates: the share of a leaf that its label has, within the rounding of the rate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxent.constraints.kinds.context import Context, Kind, read_directly
from maxent.constraints.kinds.label import stated_label
from maxent.constraints.program.program import Linear
from maxent.models.columns import total_count
from maxent.models.release import Node
from maxent.models.trees.printed_rates import RateReader

# Reading of rates that follow from counts: they were never printed.
LITERALLY = RateReader()


def stated_rate(context: Context, node: Node) -> float | None:
    """The error rate of a leaf, as stated or as its counts imply."""
    label = stated_label(context, node)
    if node.error_rate is not None or label is None or node.counts is None or context.release.blurred:
        return node.error_rate
    total = total_count(node.counts)
    return (total - node.counts[label]) / total if total else None


def rates(context: Context) -> Iterator[Linear]:
    """The label's share of a leaf is one minus the error rate (Zhu & Du 2010, section 4.1), within its rounding."""
    if context.sampled:
        return  # the rate of the sample is not the population's
    one = dict(zip(context.release.target.classes, np.eye(context.n_classes)[:, None], strict=True))
    for t, place, node in context.nodes():
        label, rate = stated_label(context, node), stated_rate(context, node)
        if label is None or rate is None or not read_directly(context, node, "rate"):
            continue
        hit = one[label]
        n = context.records(t, place, node)
        reader = context.rates if node.error_rate is not None else LITERALLY
        if n is not None:
            coef = hit  # one array for all leaves of a label
            lower, upper = np.array(reader.hits(rate, n))[:, None]
        else:
            least, most = reader.share(rate)
            coef = np.concatenate([hit - least, hit - most]) if least < most else hit - least
            lower = np.array([0.0, -np.inf]) if least < most else np.zeros(1)
            upper = np.array([np.inf, 0.0]) if least < most else np.zeros(1)
        says = f"error rate {rate:.6g} of label {label}"
        yield Linear("rate", context.origin(t, node), context.region(t, place), coef, lower, upper, says)


KIND = Kind(
    "rate",
    "error rates: the label's share of a leaf is 1 less the error rate, within its rounding",
    r"m_{\Lambda,\ell} = (1 - e_\Lambda)\, w_\Lambda \quad \text{within the rounding of the rate } e_\Lambda",
    rates,
    "rate",
)
