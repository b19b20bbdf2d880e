"""The tables of this folder's README.md: what was measured, and how the page says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from maxent.results.estimate import Estimate
from papers.tables import table
from papers.verdicts import difference, holds, of
from papers.zhu_2010.cost import Cost
from papers.zhu_2010.protocol import FloatArray, Found, Size
from papers.zhu_2010.published import FIGURE_5, FIGURE_7, INTERNAL, LEAVES, MEMORY_GB

MEASURED = ("cost", "cost-statements")
"""The tables of times and memory, which differ from run to run."""

TOP = (1, 10, 20, 50, 100, 200, 500)
WORDS = {"floor": "rates, splits, floor 0.001"}
SIDES = {"fall": 1, "rise": -1}
CHANGED = 1e-3
"""Nats by which a divergence is to change to be counted."""


@dataclass(frozen=True, eq=False)
class Results:
    """Everything but times and memory.

    ``found`` by tree and knowledge (``floor``: rates, splits, and a larger smallest probability; ``seed N``: another
    start); ``by_size`` by impurity and records to split; ``defended`` by tree, method and k.
    """

    people: int
    sizes: Mapping[tuple[str, str], Size]
    found: Mapping[tuple[str, str], Found]
    by_size: Mapping[tuple[str, int], tuple[Size, Mapping[str, Found]]]
    defended: Mapping[tuple[str, str, int], tuple[Size, Mapping[str, Found]]]
    examples: Mapping[str, Estimate]

    @property
    def trees(self) -> tuple[str, ...]:
        """The trees that stand for the published ones."""
        return tuple(dict.fromkeys(name for name, _, _ in self.defended))

    def change(self, tree: str) -> FloatArray:
        """KL2 - KL1 of every quasi-identifier: how much nearer to the truth the choice of splits brings us."""
        without, together = self.found[tree, "rates"], self.found[tree, "rates, splits"]
        return np.asarray(without.individual - together.individual)

    def top(self, tree: str, k: int, side: str = "fall") -> float:
        """Mean of the k largest falls, or rises, of individual divergences."""
        return float(np.sort(SIDES[side] * self.change(tree))[::-1][:k].mean())

    def share(self, tree: str, side: str) -> float:
        """Individuals whose divergence changes."""
        return float(self.found[tree, "rates"].people[SIDES[side] * self.change(tree) > CHANGED].sum() / self.people)


def tables(results: Results) -> dict[str, str]:
    """The tables of the page by name, but for the statements and those that are `MEASURED`."""
    return {
        "sizes": _sizes(results),
        "figure-5": figure_5(results.examples),
        "d1": d1(results.examples),
        "overall": _overall(results),
        "by-size": _by_size(results),
        "figure-7": _figure_7(results),
        "top-k": _top_k(results),
        "certificates": _certificates(results),
        "defenses": _defenses(results),
    }


def nats(value: float) -> str:
    return f"{value:.3f}"


def words(statements: Sequence[Sequence[str]]) -> str:
    """A table of what the paper says, left-aligned."""
    lines = [["the paper", "says", "here", "verdict"], ["---"] * 4, *statements]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _sizes(results: Results) -> str:
    head = ["a node stays a leaf unless it has"]
    for name in ("Gini", "gain"):
        head += [f"{name}: leaves", "with empty ones", "comparisons", "compiled"]
    printed = ["published"]
    for impurity in LEAVES:
        printed += [f"{LEAVES[impurity]:,}", "", f"{INTERNAL[impurity]:,}", ""]
    rows = [printed]
    for rule in dict.fromkeys(rule for rule, _ in results.sizes):
        found = [results.sizes[rule, impurity] for impurity in LEAVES]
        numbers = [n for s in found for n in (s.leaves, s.all_leaves, s.comparisons, s.compiled)]
        rows.append([rule, *(f"{n:,}" for n in numbers)])
    return table(head, rows)


def figure_5(examples: Mapping[str, Estimate]) -> str:
    """Figure 5 with ours beside it; S_B is by information gain, then by Gini."""
    without, gain, gini = (_solution(examples[name]) for name in ("d2", "d2 entropy", "d2 gini"))
    rows = []
    for i, name in enumerate(("x20", "x21", "x30", "x31", "D_o", "D_q2", "D_q3")):
        row = [name]
        for case, ours in (("S_A", without[i]), ("S_B", gain[i])):
            printed = FIGURE_5[case][i]
            row += [printed, nats(ours), difference(ours - float(printed), 3), of(printed, ours)]
        rows.append([*row, nats(gini[i])])
    one = ["ours", "diff", "verdict"]
    return table(["", "S_A", *one, "S_B", *one, "by Gini"], rows)


def _solution(found: Estimate) -> list[float]:
    """The numbers of Figure 5."""
    by_qi = [int(i) for i in found.order]  # q1 to q4, as the table names them
    individual, divergence = found.disclosure.individual, found.disclosure.divergence
    assert individual is not None
    assert divergence is not None
    assert divergence.overall is not None
    p = [float(number) for q in (1, 2) for number in found.probabilities[by_qi[q]]]
    return [*p, divergence.overall, *(float(individual[by_qi[q]]) for q in (1, 2))]


def d1(examples: Mapping[str, Estimate]) -> str:
    """What the tree of Figure 1 tells, without the choice of splits and with it, by either measure."""
    rows = []
    for name in ("d1", "d1 gini", "d1 entropy"):
        found = examples[name]
        divergence = found.disclosure.divergence
        assert divergence is not None
        assert divergence.overall is not None
        p = [f"{found.probabilities[int(i)][1]:.3f}" for i in found.order]
        rows.append([name.partition(" ")[2] or "without splits", *p, nats(divergence.overall)])
    return table(["P(>50K)", *(f"q{i + 1}" for i in range(len(rows[0]) - 2)), "D_overall"], rows)


def _overall(results: Results) -> str:
    rows = []
    for tree in results.trees:
        for (name, knowledge), found in results.found.items():
            if name == tree and not knowledge.startswith("seed"):
                what = WORDS.get(knowledge, knowledge)
                row = [nats(found.entropy), nats(found.overall), nats(found.top), nats(found.individual.max())]
                rows.append([tree, what, *row, f"{found.certain:,}", f"{found.right:.1%}"])
    return table(
        ["tree", "known", "entropy", "D_overall", "top 10", "largest", "certain", "expects to guess right"], rows
    )


def _by_size(results: Results) -> str:
    rows = []
    names = {"gini": "Gini", "entropy": "information gain", "gain_ratio": "gain ratio"}
    for (impurity, split), (size, found) in results.by_size.items():
        divergences = [nats(found[known].overall) for known in ("rates", "rates, splits", "floor", "counts, splits")]
        row = [names[impurity], f"{split}", f"{size.leaves:,}", f"{size.compiled:,}", *divergences]
        rows.append([*row, nats(found["rates, splits"].gap)])
    head = ["measure", "records to split", "leaves", "compiled"]
    return table([*head, "rates", "rates, splits", "floor 0.001", "counts, splits", "gap of rates, splits"], rows)


def _figure_7(results: Results) -> str:
    tree = "information gain"
    change = results.change(tree)
    first = np.argsort(-change, kind="stable")[: len(FIGURE_7)]
    without, together = (results.found[tree, knowledge].individual for knowledge in ("rates", "rates, splits"))
    rows = []
    for rank, (printed, at) in enumerate(zip(FIGURE_7, first, strict=True), 1):
        difference, _, kl2 = map(float, printed)
        ours = [change[at], together[at], without[at]]
        shares = [f"{difference / kl2:.0%}", f"{change[at] / without[at]:.0%}"]
        rows.append([f"{rank}", *printed, shares[0], *map(nats, ours), shares[1]])
    head = ["rank", "published: difference", "KL1 (with)", "KL2 (without)", "lower by"]
    return table([*head, "here: difference", "KL1 (with)", "KL2 (without)", "lower by"], rows)


def _top_k(results: Results) -> str:
    published = [float(row[0]) for row in FIGURE_7]
    rows = [["published (Fig. 7)", "fall", *(nats(np.mean(published[:k])) if k <= 10 else "" for k in TOP), ""]]
    for tree in results.trees:
        for side in SIDES:
            means = [nats(results.top(tree, k, side)) for k in TOP]
            rows.append([tree, side, *means, f"{results.share(tree, side):.1%}"])
    return table(["tree", "mean of the K largest", *(f"K = {k}" for k in TOP), "of all people"], rows)


def _certificates(results: Results) -> str:
    rows = []
    for tree in results.trees:
        for (name, knowledge), found in results.found.items():
            if name == tree:
                numbers = [f"{number:.5f}" for number in (found.entropy, found.bound, found.gap)]
                numbers.append(f"{found.violation:.0e}")
                what = WORDS.get(knowledge, knowledge).replace("seed", "rates, splits, seed")
                rows.append([tree, what, found.certificate, *numbers, f"{found.overall:.4f}"])
    return table(["tree", "known", "certificate", "entropy", "at most", "gap", "violation", "D_overall"], rows)


def _defenses(results: Results) -> str:
    rows = []
    for (tree, method, k), (size, found) in results.defended.items():
        row = [tree, method, f"{k}" if method != "none" else "", f"{size.leaves:,}"]
        row += [f"{size.accuracy:.3f}", f"{size.test_accuracy:.3f}"]
        row += [nats(found[known].overall) for known in ("rates", "rates, splits", "counts", "counts, splits")]
        row += [nats(found["rates, splits"].gap), f"{found['counts'].certain:,}"]
        rows.append([*row, nats(found["rates"].top), nats(found["counts"].top)])
    head = [
        "tree",
        "method",
        "k",
        "leaves",
        "training accuracy",
        "test accuracy",
        "D: rates",
        "rates, splits",
        "counts",
    ]
    return table([*head, "counts, splits", "gap of rates, splits", "certain", "top 10: rates", "counts"], rows)


def cost_tables(costs: Mapping[tuple[str, str], Cost]) -> dict[str, str]:
    """The tables that are `MEASURED`."""
    rows = [[*key, f"{cost.seconds:.2f}", f"{cost.megabytes:,.0f}"] for key, cost in costs.items()]
    return {
        "cost": table(["tree", "known", "processor seconds", "peak MB"], rows),
        "cost-statements": words(_cost_statements(costs)),
    }


def _cost_statements(costs: Mapping[tuple[str, str], Cost]) -> list[list[str]]:
    """What the paper says on its Figure 9; of the Gini trees, that of the published size."""
    trees = ("Gini", "information gain")
    gini, gain = (costs[tree, "rates, splits"] for tree in trees)
    known = ("labels, splits", "rates", "rates, splits")
    seconds = {k: ", ".join(f"{costs[tree, k].seconds:.2f}" for tree in trees) for k in known}

    def slower(first: str, second: str) -> bool:
        return all(costs[tree, first].seconds > costs[tree, second].seconds for tree in trees)

    return [
        [
            "Fig. 9",
            "information gain takes longer than Gini",
            f"{gain.seconds:.2f} s against {gini.seconds:.2f} s",
            holds(gain.seconds > gini.seconds),
        ],
        [
            "Performance",
            f"and more memory: {MEMORY_GB['entropy']} GB against {MEMORY_GB['gini']} GB",
            f"{gain.megabytes:,.0f} MB against {gini.megabytes:,.0f} MB",
            holds(gain.megabytes > gini.megabytes),
        ],
        [
            "Fig. 9",
            "all included takes longer than no implicit information",
            f"{seconds['rates, splits']} s against {seconds['rates']} s",
            holds(slower("rates, splits", "rates")),
        ],
        [
            "Fig. 9",
            "no error rate takes far longer than all included",
            f"{seconds['labels, splits']} s against {seconds['rates, splits']} s",
            holds(slower("labels, splits", "rates, splits")),
        ],
    ]
