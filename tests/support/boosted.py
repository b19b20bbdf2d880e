"""Boosted models of people, with values that are computed as tools compute them, in single or double precision."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from maxent.constraints.compiler import compile_program
from maxent.constraints.kinds.boosted_leaves import LeafCounts, leaf_counts
from maxent.constraints.program.cells import build_cells
from maxent.constraints.program.residuals import LinearRows
from maxent.constraints.scored_rows import first_numbers, scored_rows
from maxent.models.release import Boosting, Induction, Release, Target, Tree
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.truth_and_facts import read_truth
from maxent.models.trees.places import assign
from support.strategies import Case, Draw, People, Style, grow_anyhow, leaves_of, populations, publish


@dataclass(frozen=True)
class Rule:
    """How values are computed: what `Boosting` states, what people weigh, and the type of all numbers.

    ``weights`` are not stated, those ``of_class`` are.
    """

    rate: float = 0.3
    l2: float = 1.0
    l1: float = 0.0
    factor: float = 1.0
    penalties: tuple[tuple[str, float], ...] = ()
    base: float = 0.0
    weights: tuple[float, ...] | None = None
    of_class: tuple[float, ...] = ()
    number: Any = np.float32
    hessians: bool = True


def boosted(people: People, trees: list[Tree], rule: Rule) -> Release:
    """A release of trees, in rounds of one for each class (of two: one), with values and sums of derivatives."""
    n, k, real = len(people), len(people.classes), rule.number
    logit = k <= 2
    weight = np.ones(n) if rule.weights is None else np.resize(np.array(rule.weights), n)
    of_class = rule.of_class[:k]
    weight *= np.array([real(w) for w in (*of_class, *[1.0] * (k - len(of_class)))], np.float64)[people.y]
    scores = np.zeros((n, k), real)
    scores[:, 1 if logit else slice(None)] = rule.base
    made: list[Tree] = []
    for t, tree in enumerate(trees):
        klass = 1 if logit else t % k
        if logit or klass == 0:
            odds = np.exp(scores - scores.max(axis=1, keepdims=True))
            shares = (odds / odds.sum(axis=1, keepdims=True)).astype(real)
        p = shares[:, klass]
        g = ((p - (people.y == klass)) * weight).astype(real).astype(np.float64)
        h = (rule.factor * p * (1 - p) * weight).astype(real).astype(np.float64)
        at = leaves_of(Release(Target("Y", people.classes), people.attributes, (tree,)), people.frame)[:, 0]
        above = {branch.child: node.attribute for node in tree.nodes for branch in node.branches}
        nodes = []
        for i, node in enumerate(tree.nodes):
            if not node.is_leaf:
                nodes.append(node)
                continue
            penalty = dict(rule.penalties).get(above.get(node.id) or "", rule.l2)
            total, curve = float(g[at == i].sum()), float(h[at == i].sum())
            pull = np.sign(total) * max(abs(total) - rule.l1, 0.0)
            value = real(0.0) if curve + penalty == 0 else real(rule.rate) * real(-pull / (curve + penalty))
            scores[at == i, klass] += value
            nodes.append(replace(node, value=float(value), hessian=float(real(curve)) if rule.hessians else None))
        for i in set(at.tolist()) - set(range(len(tree.nodes))):  # leaves that were removed afterwards
            total, curve = float(g[at == i].sum()), float(h[at == i].sum())
            pull = np.sign(total) * max(abs(total) - rule.l1, 0.0)
            scores[at == i, klass] += real(rule.rate) * real(-pull / max(curve + rule.l2, 1e-9))
        made.append(replace(tree, nodes=tuple(nodes), of_class=people.classes[klass]))
    link: Any = "logit" if logit else "softmax"
    stated = dict(zip(people.classes, of_class, strict=False))
    how = Boosting(link, rule.rate, rule.l2, rule.base, rule.l1, rule.factor, dict(rule.penalties), stated)
    return Release(Target("Y", people.classes), people.attributes, tuple(made), predicts="score", boosting=how)


def satisfied(release: Release, frame: pd.DataFrame, y: Any) -> tuple[int, bool, int]:
    """Counts that a model of some people states, whether these satisfy everything, and how many weighted sums it has.

    ``y`` are the numbers of their classes.
    """
    program = compile_program(release, qi := read_qi(frame, release))
    names = np.array(release.target.classes)[np.asarray(y).astype(int)]
    truth = read_truth(frame.assign(**{release.target.name: names}), release, qi)
    rows, masses = LinearRows(program), np.asarray(truth, np.float64)[program.cells.owner]
    exact = [c for c in program.linear if c.kind == "boosting" and c.lower[0] == c.upper[0]]
    sums = sum(c.kind == "linear" for c in program.linear)
    return len(exact), bool((rows.violation(masses) <= 1e-12).all()), sums


def scored(release: Release, frame: pd.DataFrame, y: Any) -> tuple[int, list[str]]:
    """Rows that leaf values state of unknown people, and those that the people of the model do not satisfy."""
    columns = [
        frame[a.name].to_numpy() if a.values is None else np.array([a.values.index(str(v)) for v in frame[a.name]])
        for a in release.attributes
    ]
    leaf = np.column_stack([assign(tree, release.attributes, columns) for tree in release.trees])
    y = np.asarray(y, np.int64)
    rows = list(scored_rows(release, leaf, y, len(y)))
    wrong = [f"{r.of} of {r.tree}, {r.place}" for r in rows if r.least.sum() > r.high or r.most.sum() < r.low]
    for said in first_numbers(release):
        there = leaf[:, said.tree] == said.place
        if not said.least <= there.sum() <= said.most or not said.low <= (y[there] == said.klass).sum() <= said.high:
            wrong.append(f"numbers of {said.tree}, {said.place}")
    return len(rows), wrong


RULES = st.builds(
    Rule,
    rate=st.sampled_from((1.0, 0.3, 0.1, 0.033)),
    l2=st.sampled_from((0.0, 1.0, 0.5, 10.0)),
    l1=st.sampled_from((0.0, 0.0, 0.0, 0.5)),
    factor=st.sampled_from((1.0, 2.0, 1.5)),
    penalties=st.sampled_from(((), (("A0", 4.0),))),
    base=st.sampled_from((0.0, -1.25)),
    number=st.sampled_from((np.float32, np.float64)),
    hessians=st.booleans(),
)


@st.composite
def models(draw: Draw, *, private: int = 0, removed: bool = False, rules: Any = RULES) -> Case:
    """People, and a boosted model of them."""
    people = draw(populations(rows=(2, 60), public=(1, 3), private=(0, private), classes=(2, 3)))
    n = draw(st.integers(1, 4)) * (1 if len(people.classes) <= 2 else len(people.classes))
    style = Style(leaf="nothing", removal=removed)
    trees = [publish(draw, people, grow_anyhow(draw, people), style, Induction()) for _ in range(n)]
    return Case(people, boosted(people, trees, draw(rules)))


def proved(case: Case) -> LeafCounts:
    table = read_qi(case.people.qi, case.release)
    return leaf_counts(case.release, build_cells(case.release, table), table.counts)
