r"""Prices at which nodes may miss their comparisons: those that keep the Lagrangian concave.

There is one price for each node, see `maxent.solvers.bounds.priced`. For Gini there is more. The masses of a branch b
that rates leave open add up to E_b, S_bx in class x, and with c = (q - 1) ln(q - 1) / (q - 2) for q such classes

    -sum_x S_x ln(S_x / E) + beta / W sum_x S_x^2 <= E ln q + beta E^2 / (q W),    beta = c W / E:

divided by E it says that ``sum_x s_x (c s_x - ln s_x)`` is at most ``ln q + c / q``. Of all s with one sum of squares
that with one large and q - 1 equal small ones has most entropy (Harremoes & Topsoe, "Inequalities between entropy and
index of coincidence", IEEE Transactions on Information Theory 47, 2001), and among these the left side is as large
where all are equal as where the large one is 1 - 1 / q, and smaller elsewhere: it is the transition of the Potts model.
Without such a line the entropy of a set bends as gains do up to the price kappa = W / E, as
``2 / E sum_x d_x^2 <= sum_x d_x^2 / S_x``. With the share omega_b of the entropy replaced by the line of b, the price
of a node is, for each set a that its branches are made of, with b around a,

    kappa_a (1 - sum of omega_b) + sum of beta_b omega_b over the b in the node's branches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.constraints.lifting.elimination import Elimination
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.bounds.interior_point import Curves


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """Slacks with their prices, and rows that come with them; ``slack`` has the comparisons' rows first, then these.

    Curves count the rows that are no comparisons from 0, and are over the variables of the program.
    """

    slack: sparse.csr_matrix
    cost: FloatArray
    curves: tuple[Curves, ...]
    const: FloatArray


def prices(program: LiftedProgram, elimination: Elimination) -> Prices:
    """The best prices that are known."""
    number = {origin: i for i, origin in enumerate(dict.fromkeys(program.nl_origins))}
    node = np.array([number[origin] for origin in program.nl_origins], np.int64)
    trees = len({origin.tree for origin in number})
    found = _by_leaf(program, elimination, node) if trees == 1 else None
    return _by_node(program, node, trees) if found is None else found


def _by_node(program: LiftedProgram, node: IntArray, trees: int) -> Prices:
    """One slack for each node; a comparison's counts as often as it has the gain of the chosen split."""
    tau = np.zeros(len(node))
    for terms in program.terms:
        np.maximum.at(tau, terms.row, terms.coef * program.nl_size[terms.row])
    n_nodes = int(node.max(initial=-1)) + 1
    slack = sparse.csr_matrix((tau, (np.arange(len(node)), node)), shape=(len(node), n_nodes))
    return Prices(slack, np.full(n_nodes, 1.0 / trees), (), np.empty(0))


@dataclass(frozen=True, slots=True, eq=False)
class _Sets:
    """Branches of chosen splits as sets of groups: ``inside``, shape (n_blocks, n_groups), of ``size`` individuals.

    ``node`` (n_blocks, n_nodes) says whose branches they are, ``variable`` (n_blocks, n_classes) are their masses per
    class, -1 where statements fix them. ``within[a, b]`` is whether b is in a or a itself.
    """

    inside: BoolArray
    size: FloatArray
    node: BoolArray
    variable: IntArray
    within: BoolArray


def _by_leaf(program: LiftedProgram, elimination: Elimination, node: IntArray) -> Prices | None:
    """A slack for each node and each set that its branches are made of, where there is a single tree, and Gini."""
    owners, groups = len(np.unique(program.owner)), len(np.unique(program.group))
    if owners != groups or any(terms.phi != "gini" for terms in program.terms):
        return None
    sets = _sets(program, elimination, node)
    if sets is None:
        return None
    n_blocks = len(sets.size)
    known, covered = _known(program, elimination, sets)
    free = np.zeros((sets.inside.shape[1], sets.variable.shape[1]), bool)
    free[program.group[elimination.free], program.klass[elimination.free]] = True
    total = _totals(program, elimination, sets.inside.shape[1])
    # What is in a set and in no smaller one.
    strictly = sets.within & ~np.eye(n_blocks, dtype=bool)
    child = strictly & ~((strictly.astype(np.float64) @ strictly) > 0)
    atom = sets.inside & ~((strictly.astype(np.float64) @ sets.inside) > 0)
    amount, where, klass = known
    of_atom = _contained(where, atom)
    atom_open = atom @ total - of_atom @ amount
    atom_size = sets.size - child @ sets.size
    open_ = sets.inside @ total - _contained(where, sets.inside) @ amount
    varies = (sets.inside[:, :, None] & free & ~_covered_in(covered, where, klass, sets.inside)).any(axis=1)
    n_open = varies.sum(axis=1)
    lined = (n_open > 2) & ~(varies & (sets.variable < 0)).any(axis=1) & (open_ > 0)
    kappa = np.where(atom_open > 0, atom_size / np.where(atom_open > 0, atom_open, 1.0), np.inf)
    alive = atom_open > 1e-9 * np.maximum(atom_size, 1e-9)
    if not alive.any():
        return None
    q = np.maximum(n_open, 3).astype(np.float64)
    beta = (q - 1) * np.log(q - 1) / (q - 2) * sets.size / np.where(lined, open_, 1.0)
    line = np.cumsum(lined) - 1
    n_rows, n_lines = len(node), int(lined.sum())
    entries: list[tuple[int, int, float]] = []
    cost: list[float] = []
    rows_of = [np.flatnonzero(node == n) for n in range(sets.node.shape[1])]
    for a in np.flatnonzero(alive).tolist():
        around = np.flatnonzero(sets.within[:, a])
        with_line = around[lined[around]]
        for b in around.tolist():
            for n in np.flatnonzero(sets.node[b]).tolist():
                column = len(cost)
                cost.append(float(kappa[a]))
                entries += [(row, column, 1.0) for row in rows_of[n].tolist()]
                gain = np.where(sets.within[b, with_line], beta[with_line], 0.0)
                entries += [
                    (n_rows + int(line[o]), column, float(kappa[a] - g)) for o, g in zip(with_line, gain, strict=True)
                ]
        if len(with_line):
            entries += [(n_rows + int(line[o]), len(cost), 1.0) for o in with_line]
            cost.append(1.0)
    places = np.array([entry[:2] for entry in entries], np.int64).T
    slack = sparse.csr_matrix(
        (np.array([entry[2] for entry in entries]), tuple(places)), shape=(n_rows + n_lines, len(cost))
    )
    block, x = np.nonzero(varies & lined[:, None])
    moved = _contained(where, sets.inside) * amount @ np.eye(sets.variable.shape[1])[klass]
    var = sets.variable[block, x]
    shift = elimination.point(np.zeros(len(elimination.free)))[var] + moved[block, x]
    ones = np.ones(len(block))
    curves = (
        Curves("entropy", line[block], var, ones, open_[block], shift),
        Curves("gini", line[block], var, -beta[block] * ones, sets.size[block], shift),
    )
    most = open_ * np.log(q) + beta * open_**2 / (q * sets.size)
    return Prices(slack, np.array(cost), curves, most[lined])


def _sets(program: LiftedProgram, elimination: Elimination, node: IntArray) -> _Sets | None:
    """The branches of the chosen splits, None unless any two are apart or one in the other."""
    n_groups, n_classes = int(program.group.max()) + 1, int(program.klass.max()) + 1
    terms = [(t.block[t.coef > 0], t.row[t.coef > 0], t.var[t.coef > 0], t.size[t.coef > 0]) for t in program.terms]
    block, row, var, size = (np.concatenate(parts) for parts in zip(*terms, strict=True))
    if not len(block):
        return None
    _, block = np.unique(block, return_inverse=True)
    n_blocks = int(block.max()) + 1
    pick = sparse.csr_matrix((np.ones(len(var)), (block, var)), shape=(n_blocks, program.n))
    sums, _ = elimination.over_free(pick)
    inside = np.zeros((n_blocks, n_groups), bool)
    entries = sums.tocoo()
    inside[entries.row, program.group[elimination.free][entries.col]] = True
    one, _ = elimination.over_free(sparse.identity(program.n, format="csr")[var])
    klass = program.klass[elimination.free][one.indices[np.minimum(one.indptr[:-1], one.nnz - 1)]]
    some = np.diff(one.indptr) > 0
    variable = np.full((n_blocks, n_classes), -1, np.int64)
    variable[block[some], klass[some]] = var[some]
    of_node = np.zeros((n_blocks, int(node.max()) + 1), bool)
    of_node[block, node[row]] = True
    people = np.zeros(n_blocks)
    people[block] = size
    common = inside.astype(np.float64) @ inside.T
    number = inside.sum(axis=1)
    if not ((common == 0) | (common == np.minimum(number[:, None], number))).all():
        return None
    # Of sets with the same groups the smaller one is inside: the other one has people with nothing open, too.
    contains = common == number
    alike = contains & contains.T
    rank = np.argsort(np.argsort(people, kind="stable"), kind="stable")
    within = contains & (~alike | (rank[:, None] >= rank))
    return _Sets(inside, people, of_node, variable, within)


_Known = tuple[FloatArray, BoolArray, IntArray]


def _known(program: LiftedProgram, elimination: Elimination, sets: _Sets) -> tuple[_Known, BoolArray]:
    """What statements say of one class in one set of groups: amounts, sets and classes; no two overlap."""
    n_groups, n_classes = sets.inside.shape[1], sets.variable.shape[1]
    stated = np.array([origin is not None for origin in program.origins], bool)
    equations = np.flatnonzero(stated & (program.row_lower == program.row_upper))
    matrix, moved = elimination.over_free(program.matrix[equations])
    covered = np.zeros((n_groups, n_classes), bool)
    group, of = program.group[elimination.free], program.klass[elimination.free]
    amounts, places, classes = [], [], []
    for i in np.argsort(np.diff(matrix.indptr), kind="stable").tolist():
        columns = matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]
        if not len(columns) or (matrix.data[matrix.indptr[i] : matrix.indptr[i + 1]] != 1.0).any():
            continue
        x = int(of[columns[0]])
        if (of[columns] != x).any() or covered[group[columns], x].any():
            continue
        covered[group[columns], x] = True
        place = np.zeros(n_groups, bool)
        place[group[columns]] = True
        amounts.append(float(program.row_lower[equations[i]] - moved[i]))
        places.append(place)
        classes.append(x)
    where = np.array(places, bool).reshape(-1, n_groups)
    return (np.array(amounts, np.float64), where, np.array(classes, np.int64)), covered


def _totals(program: LiftedProgram, elimination: Elimination, n_groups: int) -> FloatArray:
    """Individuals of each group whose class is open, shape (n_groups,)."""
    held = np.ones(program.n_masses, bool)
    held[elimination.free] = False
    known = np.bincount(program.owner[held], program.lower[: program.n_masses][held], len(program.total))
    total = np.zeros(n_groups)
    total[program.group[elimination.free]] = (program.total - known)[program.owner[elimination.free]]
    return total


def _contained(where: BoolArray, inside: BoolArray) -> FloatArray:
    """Which sets of groups are in which others, 0/1, shape (n_others, n_sets)."""
    outside = (~inside).astype(np.float64) @ where.T
    found: FloatArray = (outside == 0).astype(np.float64)
    return found


def _covered_in(covered: BoolArray, where: BoolArray, klass: IntArray, inside: BoolArray) -> BoolArray:
    """The masses that statements about groups in a set cover, shape (n_sets, n_groups, n_classes)."""
    found = np.zeros((len(inside), *covered.shape), bool)
    for place, x, sets in zip(where, klass.tolist(), _contained(where, inside).T > 0, strict=True):
        found[np.ix_(sets, place, [x])] = True
    return found
