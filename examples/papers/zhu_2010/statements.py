"""What Zhu and Du (2010) say about their experiments in words, each beside what was found, with a verdict."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from papers.verdicts import holds
from papers.zhu_2010.page import Results, nats
from papers.zhu_2010.published import CLASSES, COMBINATIONS, FIGURE_7, INTERNAL, LABELS, LEAVES, RECORDS

GINI, THREE, GAIN = "Gini", "Gini, three levels", "information gain"
LITTLE = 0.02
"""Nats that nobody would see in a plot of overall divergences from 0 to 1.5."""


def statements(results: Results) -> list[list[str]]:
    """Rows of place, statement, finding and verdict."""
    return [*_data(results), *_rates(results), *_measures(results), *_splits(results)]


def _data(results: Results) -> list[list[str]]:
    one = results.found[GAIN, "rates"]
    ours = (results.people, one.combinations, one.classes)
    rows = [
        [
            "section 5",
            f"{RECORDS:,} records, {COMBINATIONS:,} quasi-identifiers, {CLASSES} classes",
            f"{ours[0]:,}, {ours[1]:,}, {ours[2]}",
            "exact" if ours == (RECORDS, COMBINATIONS, CLASSES) else "off",
        ]
    ]
    for tree, impurity in ((GINI, "gini"), (GAIN, "entropy")):
        size, _ = results.defended[tree, "none", 1]
        found = {"rate": size.leaves, "label": size.leaves * (CLASSES - 1), "internal": size.comparisons}
        printed = {"rate": LEAVES[impurity], "label": LABELS[impurity], "internal": INTERNAL[impurity]}
        off = max(abs(found[kind] / printed[kind] - 1) for kind in found)
        rows.append(
            [
                "section 5",
                f"{tree}: " + ", ".join(f"{n:,} {kind}" for kind, n in printed.items()),
                ", ".join(f"{n:,}" for n in found.values()),
                f"off: within {off:.1%}" if off else "exact",
            ]
        )
    return rows


def _drop(results: Results, tree: str, before: str, after: str) -> float:
    return results.found[tree, before].overall - results.found[tree, after].overall


def _pairs(results: Results, before: str, after: str, trees: tuple[str, ...] = (GINI, GAIN)) -> str:
    ends = {tree: [results.found[tree, known].overall for known in (before, after)] for tree in trees}
    return "; ".join(f"{tree} {nats(first)} to {nats(last)}" for tree, (first, last) in ends.items())


def _rates(results: Results) -> list[list[str]]:
    drops = {tree: _drop(results, tree, "labels, splits", "rates, splits") for tree in (GINI, GAIN)}
    return [
        [
            "Fig. 3",
            "overall divergence is much larger without error rates, for both measures",
            _pairs(results, "labels, splits", "rates, splits"),
            holds(min(drops.values()) > 0.25),
        ],
        [
            "Fig. 3",
            "the impact is much more severe for information gain",
            f"{nats(drops[GAIN])} against {nats(drops[GINI])}",
            holds(drops[GAIN] > 1.1 * drops[GINI]),
        ],
        [
            "Fig. 3",
            "knowing more brings the estimate closer to the truth: the solution space is a subset",
            f"choice of splits, {_pairs(results, 'rates', 'rates, splits')}",
            "does not hold: only of linear statements"
            if _drop(results, GAIN, "rates", "rates, splits") < 0 < _drop(results, GAIN, "labels", "rates")
            else "holds",
        ],
    ]


def _measures(results: Results) -> list[list[str]]:
    gini, gain = (results.found[tree, "rates, splits"].overall for tree in (GINI, GAIN))
    alike = [
        abs(results.by_size["gini", split][1]["rates"].overall - results.by_size["entropy", split][1]["rates"].overall)
        for impurity, split in results.by_size
        if impurity == "gini"
    ]
    return [
        ["Fig. 4", "overall divergence is larger with Gini", f"{nats(gini)} against {nats(gain)}", holds(gini > gain)],
        [
            "Fig. 4",
            "but there are many other factors",
            f"trees grown alike differ by at most {nats(max(alike))} (rates): it is their size",
            holds(max(alike) < gini - gain),
        ],
    ]


def _splits(results: Results) -> list[list[str]]:
    rows = []
    for tree in (GINI, THREE):
        fall = _drop(results, tree, "rates", "rates, splits")
        rows.append(
            [
                "Fig. 6",
                "implicit information makes an obvious difference to the overall divergence with Gini",
                _pairs(results, "rates", "rates, splits", (tree,)),
                holds(fall > LITTLE),
            ]
        )
    gain = _drop(results, GAIN, "rates", "rates, splits")
    change = results.change(GAIN)
    without, together = (results.found[GAIN, known].individual for known in ("rates", "rates, splits"))
    first = np.argsort(-change, kind="stable")[: len(FIGURE_7)]
    difference, _, kl2 = (float(number) for number in FIGURE_7[3])
    shares = [results.share(GAIN, side) for side in ("fall", "rise")]
    tops = [results.top(GAIN, k) for k in range(1, 501)]
    return [
        *rows,
        [
            "Fig. 6",
            "and no major one with information gain",
            _pairs(results, "rates", "rates, splits", (GAIN,)),
            holds(abs(gain) < LITTLE),
        ],
        [
            "Fig. 7",
            "of the ten quasi-identifiers with the largest differences KL1 is significantly smaller than KL2",
            f"lower by {(change[first] / without[first]).min():.0%} to {(change[first] / without[first]).max():.0%}",
            holds(bool((together[first] < 0.8 * without[first]).all())),
        ],
        [
            "Fig. 7",
            "of the fourth it is about 77 percent lower",
            f"printed {difference / kl2:.1%}; ours {change[first[3]] / without[first[3]]:.1%}",
            "off: other trees; the printed numbers agree",
        ],
        [
            "Fig. 8",
            "the mean of the K largest differences decreases with K",
            f"{nats(tops[0])} to {nats(tops[-1])} at K = 500",
            "holds: of any such mean" if all(a >= b - 1e-12 for a, b in pairwise(tops)) else "off",
        ],
        [
            "Fig. 8",
            "that is why the overall divergence hardly differs",
            f"the estimates of {shares[0]:.1%} of people come nearer to the truth, those of {shares[1]:.1%} go away",
            holds(shares[1] < 0.01),
        ],
    ]
