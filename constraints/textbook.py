"""The maximum-entropy program as Zhu & Du (2010) print it, as a Pyomo model: nothing is merged, lifted or left out.

Unknown is ``p[c, x]``, the share of the people with the quasi-identifier of cell c who are in that cell (they reach its
leaves) and have class x. Where no private attribute is tested, a quasi-identifier is one cell, and p is ``p(x | q)``.
With ``w_c`` people of the quasi-identifier and N in the table, ``P(q) = w / N``; section and equation numbers are those
of the paper. Presolve and lifting are tested against this model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from maxent.constraints.program.program import Internal, Program
    from maxent.models.arrays import IntArray

LINEAR = ("label", "rate")
MEASURES = ("gini", "entropy")


def beyond(program: Program) -> tuple[str, ...]:
    """Names of statements for which the paper has no constraint; empty where the model has all statements."""
    found = [constraint.kind for constraint in program.linear if constraint.kind not in LINEAR]
    found += [f"internal ({splits.measure})" for splits in program.internal if splits.measure not in MEASURES]
    found += ["samples"] * (program.release.sampled or program.likelihood is not None)
    found += [each.what for each in program.unread]
    return tuple(dict.fromkeys(found))


def refusal(program: Program) -> str | None:
    """The sentence that names statements beyond the paper's constraints, None where there are none."""
    names = beyond(program)
    if not names:
        return None
    hint = " (without counts: --knowledge label,rate,internal)" if "counts" in names else ""
    return f"the paper has labels, error rates, Gini and entropy alone; this release states {', '.join(names)}{hint}"


def textbook_model(program: Program) -> Any:
    """The program as a `pyomo.environ.ConcreteModel`, numbered as `Program.linear` and `Program.internal`.

    What is `beyond` the paper's constraints is not in it.
    """
    import pyomo.environ as pyo

    cells, classes = program.cells, range(program.n_classes)
    weight, people = program.weight.tolist(), program.individuals
    model = pyo.ConcreteModel(name="textbook")
    model.p = pyo.Var(range(len(cells)), classes, bounds=(0.0, 1.0))

    # Definition 1: the largest entropy of the class given the quasi-identifier.
    terms = (weight[c] / people * p * pyo.log(p) for (c, _), p in model.p.items())
    model.entropy = pyo.Objective(expr=-pyo.quicksum(terms), sense=pyo.maximize)

    # The probabilities of a quasi-identifier sum to 1.
    model.qi = pyo.ConstraintList()
    for owned in _groups(cells.owner, np.arange(len(cells))):
        model.qi.add(pyo.quicksum(model.p[c, x] for c in owned for x in classes) == 1.0)

    def people_in(inside: Iterable[int]) -> list[Any]:
        """Individuals of each class in some cells: N P(L) p(x | L), equation 1."""
        inside = list(inside)
        return [pyo.quicksum(weight[c] * model.p[c, x] for c in inside) for x in classes]

    # Section 4.1: p(label | leaf) >= p(x | leaf), and p(label | leaf) = 1 - e, within the rounding of e.
    model.label, model.rate = pyo.ConstraintList(), pyo.ConstraintList()
    for linear in program.linear:
        if linear.kind not in LINEAR:
            continue
        size, mass = float(program.region_size[linear.region]), people_in(program.regions[linear.region].tolist())
        for coefficients, low, high in zip(linear.coef.tolist(), linear.lower, linear.upper, strict=True):
            share = pyo.quicksum(k / size * a for k, a in zip(coefficients, mass, strict=True) if k)
            bounds = [None if np.isinf(bound) else float(bound) / size for bound in (low, high)]
            same = bounds[0] == bounds[1]
            getattr(model, linear.kind).add(share == bounds[0] if same else (bounds[0], share, bounds[1]))

    def expected_impurity(measure: str, branches: Iterable[IntArray]) -> Any:
        """``|D_L| E(L, A)`` of a split of node L into branches, equations 2 to 4."""
        total = 0.0
        for branch in branches:
            mass = people_in(branch.tolist())
            size = float(program.weight[branch].sum()) if program.single else pyo.quicksum(mass)
            if measure == "gini":
                total += size - pyo.quicksum(a**2 / size for a in mass)
            else:
                total += -pyo.quicksum(a * pyo.log(a / size) for a in mass)
        return total

    # Section 4.2: E(L, T) <= E(L, U) for the chosen attribute T and every candidate U.
    model.internal = pyo.ConstraintList()
    for splits in program.internal:
        if splits.measure not in MEASURES:
            continue
        held = cells.trees[splits.tree]
        children = [held.at(child) for child in held.places.children[splits.place]]
        chosen = expected_impurity(splits.measure, (child for child in children if len(child)))
        size = float(program.table.counts[np.unique(cells.owner[held.at(splits.place)])].sum())
        for candidate in _candidates(program, splits):
            model.internal.add((expected_impurity(splits.measure, candidate) - chosen) / size >= 0.0)
    return model


def _candidates(program: Program, splits: Internal) -> Iterator[list[IntArray]]:
    """The cells in each branch of every candidate of a comparison."""
    inside = program.cells.trees[splits.tree].at(splits.place)
    code = program.table.codes[program.cells.owner[inside], splits.column]
    if splits.form == "values":
        yield _groups(code, inside)
        return
    for cut in splits.codes.tolist():
        left = code <= cut if splits.form == "cuts" else code == cut
        yield [inside[left], inside[~left]]


def _groups(key: IntArray, of: IntArray) -> list[IntArray]:
    """The elements of ``of``, divided by their key; both have shape (n,)."""
    order = np.argsort(key, kind="stable")
    return np.split(of[order], np.flatnonzero(np.diff(key[order])) + 1)
