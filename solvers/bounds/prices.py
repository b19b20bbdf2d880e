r"""Prices (multipliers) of missed comparisons for which the Lagrangian stays concave.

There is one price for each node, see `maxent.solvers.bounds.priced`. For Gini there is more. The masses of a branch b
that rates leave open add up to E_b, S_bx in class x. Let the sets a be what branches are made of, disjoint, and d_a
what the open masses of one class change by, d_b the sum of those in b. As ``2 / E sum_x d_x^2 <= sum_x d_x^2 / S_x``,
the Lagrangian with multipliers mu of comparisons is concave if, as a quadratic form of the d_a,

    sum_a d_a^2 / E_a >= sum_k mu_k (sum of d_b^2 / W_b over the chosen branches b - (sum of all d_a)^2 / W),

where the last term is what the other split gives back at least, by the inequality of Cauchy and Schwarz. A line of
`maxent.solvers.bounds.lines` at shares S_bx / E_b, times E_b,

    sum_x (-S_x ln(S_x / E) + beta / W S_x^2 + tilt_x S_x) <= E most,    beta = steep W / E,

with the multiplier omega_b takes the share omega_b of its entropy from each set a in b: ``d_a^2 omega_b / E_a`` less on
the left side, and ``beta_b omega_b d_b^2 / W_b`` more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from maxent.constraints.lifting.elimination import Elimination
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray
from maxent.solvers.bounds.branch_sets import Known, Sets, branch_sets, contained, known, totals
from maxent.solvers.bounds.lines import Line, touching
from maxent.solvers.bounds.problem import Bent, Curves

# Open individuals of a set, per individual, that count as some.
ALIVE = 1e-9
# How far apart the shares of a set are where a line more is worth it, nats per individual of the program.
APART = 5e-5


@dataclass(frozen=True, slots=True, eq=False)
class Lined:
    """A line and the set that it is of: its open classes, their variables, and how much of these is known.

    ``near`` says that it touches at the shares of a point.
    """

    set: int
    klass: IntArray
    var: IntArray
    shift: FloatArray
    line: Line
    near: bool


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """Slacks with their prices, and rows that come with them; ``slack`` has the comparisons' rows first, then these.

    These are of ``lines``. Curves and ``linear`` count them from 0, and are over the variables of the program.
    """

    slack: sparse.csr_matrix
    cost: FloatArray
    curves: tuple[Curves, ...]
    linear: sparse.csr_matrix
    const: FloatArray
    bent: Bent
    lines: tuple[Lined, ...] = ()


def prices(
    program: LiftedProgram,
    elimination: Elimination,
    times: FloatArray,
    near: tuple[FloatArray, ...],
    kept: tuple[Lined, ...] | None = None,
) -> Prices:
    """The best prices that are known.

    ``times``, shape (n_classes,), is how many classes each stands for. Lines touch at equal shares and ``near`` points,
    each of shape (n,), those of sets with lines that are ``kept`` there alone.
    """
    node, trees = _nodes(program)
    found = _by_leaf(program, elimination, times, near, kept) if trees == 1 else None
    return _by_node(program, node, trees) if found is None else found


def affordable(program: LiftedProgram, multipliers: FloatArray) -> FloatArray:
    """Multipliers of comparisons with which the Lagrangian is concave, shape (n_rows,): those of a node made smaller.

    All that counts is what nodes may miss their comparisons for.
    """
    node, trees = _nodes(program)
    asked = trees * np.bincount(node, _times(program) * multipliers)
    found: FloatArray = multipliers / np.maximum(asked, 1.0)[node]
    return found


def _nodes(program: LiftedProgram) -> tuple[IntArray, int]:
    """The node of each comparison, numbered, and how many trees there are."""
    number = {origin: i for i, origin in enumerate(dict.fromkeys(program.nl_origins))}
    node = np.array([number[origin] for origin in program.nl_origins], np.int64)
    return node, len({origin.tree for origin in number})


def _times(program: LiftedProgram) -> FloatArray:
    """How often each comparison has the gain of the chosen split."""
    tau = np.zeros(len(program.nl_const))
    for terms in program.terms:
        np.maximum.at(tau, terms.row, terms.coef * program.nl_size[terms.row])
    return tau


def _by_node(program: LiftedProgram, node: IntArray, trees: int) -> Prices:
    """One slack for each node; a comparison's counts as often as it has the gain of the chosen split."""
    tau = _times(program)
    n_nodes = int(node.max(initial=-1)) + 1
    slack = sparse.csr_matrix((tau, (np.arange(len(node)), node)), shape=(len(node), n_nodes))
    nothing = Bent(np.empty((0, 0)), sparse.csr_matrix((0, 0)))
    cost = np.full(n_nodes, 1.0 / trees)
    return Prices(slack, cost, (), sparse.csr_matrix((0, program.n)), np.empty(0), nothing)


def _by_leaf(
    program: LiftedProgram,
    elimination: Elimination,
    times: FloatArray,
    near: tuple[FloatArray, ...],
    kept: tuple[Lined, ...] | None,
) -> Prices | None:
    """Curvature of the sets of the branches, for a single tree with Gini."""
    owners, groups = len(np.unique(program.owner)), len(np.unique(program.group))
    if owners != groups or any(terms.phi != "gini" for terms in program.terms):
        return None
    sets = branch_sets(program, elimination, times)
    if sets is None:
        return None
    said, total = known(program, elimination), totals(program, elimination, sets.inside.shape[1])
    atom_open = sets.atom @ total - contained(said.where, sets.atom) @ said.amount
    alive = np.flatnonzero(atom_open > ALIVE * np.maximum(sets.size, ALIVE))
    if not len(alive):
        return None
    part = contained(said.where, sets.inside) * said.amount
    open_ = sets.inside @ total - part.sum(axis=1)
    found = tuple(_lines(program, elimination, sets, said, part, open_, times, near, APART * float(total.sum())))
    if kept is not None:
        again = {one.set for one in kept}
        found = kept + tuple(one for one in found if one.near and one.set in again)
    n_rows, n_lines = len(program.nl_const), len(found)
    of = np.array([one.set for one in found], np.int64)
    whole, size = open_[of], sets.size[of]
    beta = np.array([one.line.steep for one in found]) * size / whole
    line = np.repeat(np.arange(n_lines), [len(one.var) for one in found])
    x, var = (_joined([getattr(one, name) for one in found], np.int64) for name in ("klass", "var"))
    shift, tilt = (_joined(values, np.float64) for values in ([f.shift for f in found], [f.line.tilt for f in found]))
    curves = (
        Curves("entropy", line, var, np.ones(len(line)), whole[line] * times[x], shift),
        Curves("gini", line, var, -beta[line], size[line] * times[x], shift),
    )
    linear = sparse.csr_matrix((-tilt, (line, var)), shape=(n_lines, program.n))
    most = whole * np.array([one.line.most for one in found]) + np.bincount(line, tilt * shift, n_lines)
    around = sets.within[:, alive].astype(np.float64)
    gains, together = _gains(program, elimination, sets, said, alive)
    by_set = np.concatenate([gains, np.zeros((n_lines, len(around)))])
    by_set[n_rows + np.arange(n_lines), of] = -beta / size
    own = np.concatenate([np.zeros((n_rows, len(alive))), around[of]])
    several = around.sum(axis=1) > 1  # the others change by what a single atom does
    alone = own + by_set[:, ~several] @ (around[~several] * atom_open[alive])
    weight = np.concatenate([by_set[:, several], -np.eye(n_rows + n_lines, n_rows), alone], axis=1)
    unit = np.sqrt(atom_open[alive])
    vectors = np.concatenate([around[several] * unit, together * unit, np.eye(len(alive))])
    bent = Bent(vectors, sparse.csr_matrix(weight))
    # The shares of the entropy of a set that lines replace are at most 1.
    return Prices(sparse.csr_matrix(own), np.ones(len(alive)), curves, linear, most, bent, found)


def _joined(arrays: list[Any], kind: type) -> Any:
    return np.concatenate([np.empty(0, kind), *arrays])


def _lines(
    program: LiftedProgram,
    elimination: Elimination,
    sets: Sets,
    said: Known,
    part: FloatArray,
    open_: FloatArray,
    times: FloatArray,
    near: tuple[FloatArray, ...],
    apart: float,
) -> list[Lined]:
    """Lines of sets with more than two open classes: at equal shares, and at those of a point."""
    free = np.zeros(said.number.shape, bool)
    free[program.group[elimination.free], program.klass[elimination.free]] = True
    varies: BoolArray = np.any(sets.inside[:, :, None] & free & ~said.covered_in(sets.inside), axis=1)
    several = (varies @ times[: varies.shape[1]] > 2) & ~(varies & (sets.variable < 0)).any(axis=1) & (open_ > 0)
    fixed = elimination.point(np.zeros(len(elimination.free)))
    by_class = part @ np.eye(varies.shape[1])[said.klass]
    where: list[tuple[int, IntArray, IntArray, FloatArray, bool]] = []
    shares: list[FloatArray] = []
    number: list[FloatArray] = []
    for b in np.flatnonzero(several).tolist():
        x = np.flatnonzero(varies[b])
        var = sets.variable[b, x]
        shift = fixed[var] + by_class[b, x]
        taken = [np.full(len(x), 1.0 / times[x].sum())]
        for point in near:
            share = (point[var] - shift) / open_[b] / times[x]
            if all(open_[b] * _apart(share, other, times[x]) > apart for other in taken):
                taken.append(share)
        where += [(b, x, var, shift, i > 0) for i in range(len(taken))]
        shares += taken
        number += [times[x]] * len(taken)
    lines = touching(shares, number)
    return [
        Lined(b, x, var, shift, line, beside) for (b, x, var, shift, beside), line in zip(where, lines, strict=True)
    ]


def _apart(share: FloatArray, other: FloatArray, times: FloatArray) -> float:
    """Distance of shares, nats: second order of the entropy of their mean minus their mean entropy."""
    return float(times @ ((share - other) ** 2 / np.maximum(share + other, TINY)))


def _gains(
    program: LiftedProgram, elimination: Elimination, sets: Sets, said: Known, alive: IntArray
) -> tuple[FloatArray, FloatArray]:
    """How comparisons bend by the changes d of the open masses of the sets ``alive``: gains d'd - (together d)^2."""
    # Shapes (n_rows, n_sets) and (n_rows, n_alive). The other split bends them back by no less than its branches
    # together do, which change by what the chosen one's do: where each open mass is in as many of its branches as all
    # others of that set.
    n_rows, n_alive, n_known = len(program.nl_const), len(alive), len(said.amount)
    gains, together = np.zeros((n_rows, len(sets.size))), np.zeros((n_rows, n_alive))
    gains[sets.chosen.row, sets.number] = sets.chosen.weight / sets.chosen.size
    group, klass = program.group[elimination.free], program.klass[elimination.free]
    set_of = np.full(sets.inside.shape[1], n_alive)
    a, inside = np.nonzero(sets.atom)
    place = np.full(len(sets.atom), n_alive + 1)
    place[alive] = np.arange(n_alive)
    set_of[inside] = place[a]
    # Masses that a statement is about change by nothing together, and those of a set that is not alive by nothing.
    of = np.where(said.number[group, klass] >= 0, n_alive + 2 + said.number[group, klass], set_of[group])
    n_places = n_alive + 2 + n_known
    row, var = sets.other.row, sets.other.var
    pick = sparse.csr_matrix((np.ones(len(var)), (row, var)), shape=(n_rows, program.n))
    cover, _ = elimination.over_free(pick)
    branch, first = np.unique(np.column_stack([row, sets.other.block]), axis=0, return_index=True)
    whole = np.bincount(branch[:, 0], sets.other.size[first] / sets.other.weight[first], n_rows)
    for k in np.unique(row).tolist():
        number = np.asarray(cover[[k]].todense()).ravel()
        least, most = np.full(n_places, np.inf), np.full(n_places, -np.inf)
        np.minimum.at(least, of, number)
        np.maximum.at(most, of, number)
        differ: BoolArray = np.less(least, most)
        differ[n_alive + 1] = False
        if not differ.any() and most[n_alive] <= 0:
            together[k] = np.maximum(most[:n_alive], 0.0) / np.sqrt(whole[k])
    return gains, together
