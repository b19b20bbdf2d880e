"""Presolve: redundant statements dropped, equal cells merged into groups, independent parts found, all reversible.

All are exact, also where the program is not convex: averaging inside a merged group keeps every sum that an active
constraint looks at, and raises the entropy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np
from scipy import sparse

from maxent.constraints.program.cells import Cells, TreeCells, cells_of
from maxent.constraints.program.program import Linear, Program, components, statement_rows
from maxent.constraints.program.residuals import InternalRows, LinearRows
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends

# Signatures of cells: cells with equal signatures occur in the same statements and can be merged.

# Distinctions of comparisons: the codes that they name, by (column, form), see `Internal`.
Looks = dict[tuple[int, str], IntArray]
# Labels up to which signature and label still fit into one integer, with room for 10^7 signatures.
WIDE = 2**38
# Times as many groups as cells from which on the groups of these are sorted, not marked.
FEW = 20


class Signatures:
    """A number for every cell; only cells of equal numbers may be pooled."""

    def __init__(self, program: Program) -> None:
        leaf = program.cells.leaf
        self.of: IntArray = leaf[:, 0].astype(np.int64)
        self.n = int(leaf[:, 0].max()) + 1
        alone = 0
        for t in range(1, leaf.shape[1]):
            if alone == len(leaf):
                break  # there is nothing left to tell apart
            before = self.n
            self.split(np.arange(len(leaf)), leaf[:, t])
            alone = self.n - before

    def split(self, cells: IntArray, label: IntArray) -> None:
        """Tell some cells apart by a label (small and non-negative), and from all other cells."""
        key = self.of[cells] * (int(label.max()) + 1) + label
        distinct, inverse = np.unique(key, return_inverse=True)
        self.of[cells] = self.n + inverse
        self.n += len(distinct)

    def split_by(self, cells: IntArray, values: FloatArray) -> None:
        """Tell some cells apart by a number each, and from all other cells, unless they are already."""
        before, first, signature = np.unique(self.of[cells], return_index=True, return_inverse=True)
        if len(before) < len(cells) and (values != values[first][signature]).any():
            self.split(cells, np.unique(values, return_inverse=True)[1])


def tell_apart(
    program: Program, rows: InternalRows, active: IntArray, signatures: Signatures, check: Callable[[], None]
) -> None:
    """Refine signatures by the blocks of the active internal rows."""
    for t, held in enumerate(program.cells.trees):
        nodes = _active_nodes(program, rows, active, t)
        for cells, looks in _innermost(held, nodes) if nodes else ():
            check()
            signatures.split(cells, _label(program, cells, looks))


def _active_nodes(program: Program, rows: InternalRows, active: IntArray, tree: int) -> dict[int, Looks]:
    """Attributes and codes that the active rows at each place of a tree compare."""
    nodes: dict[int, Looks] = {}
    for k, offsets in by_constraint(rows, active):
        comparison = program.internal[k]
        if comparison.tree == tree:
            looks = nodes.setdefault(comparison.place, {})
            looks[comparison.column, comparison.form] = np.unique(comparison.codes[offsets])
    return nodes


def by_constraint(rows: InternalRows, active: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Active rows, gathered: (index of the internal constraint, its rows' offsets)."""
    which = rows.constraint_of(active)
    for k, pairs in groupby(zip(which.tolist(), active.tolist(), strict=True), key=lambda pair: pair[0]):
        yield k, np.array([row for _, row in pairs]) - rows.first_row[k]


def _innermost(held: TreeCells, nodes: dict[int, Looks]) -> Iterator[tuple[IntArray, Looks]]:
    """The cells of which each node is the innermost, and what that node and those above it look at."""
    # Every cell comes once at most, however deep the tree.
    places = np.array(sorted(nodes, key=lambda place: (held.start[place] - held.stop[place], held.places.first[place])))
    inner = np.full(len(held.order), -1, np.int64)
    seen: list[Looks] = []
    for i, place in enumerate(places.tolist()):
        start, stop = held.start[place], held.stop[place]
        looks = dict(seen[inner[start]]) if inner[start] >= 0 else {}
        for key, codes in nodes[place].items():
            looks[key] = np.union1d(looks[key], codes) if key in looks else codes
        seen.append(looks)
        inner[start:stop] = i
    position = np.argsort(inner, kind="stable")
    ends = np.searchsorted(inner[position], np.arange(len(places) + 1))
    for looks, start, stop in zip(seen, ends[:-1], ends[1:], strict=True):
        if stop > start:
            yield held.order[position[start:stop]], looks


def _label(program: Program, cells: IntArray, looks: Looks) -> IntArray:
    """The signature of some cells for comparisons, as one number."""
    owner = program.cells.owner[cells]
    label, n = np.zeros(len(cells), np.int64), 1
    for (column, form), named in looks.items():
        codes = program.table.codes[owner, column]
        if form == "cuts":
            codes = np.searchsorted(named, codes)
        elif form == "each":
            at = np.minimum(np.searchsorted(named, codes), len(named) - 1)
            codes = np.where(named[at] == codes, at, len(named))
        values = int(codes.max()) + 1
        if n * values > WIDE:
            distinct, label = np.unique(label, return_inverse=True)
            n = len(distinct)
        label, n = label * values + codes, n * values
    return label


def alike(owner: IntArray, signature: IntArray, n_owners: int, check: Callable[[], None]) -> IntArray:
    """Classes of quasi-identifiers by the signatures of their cells, shape (n_owners,), numbered from 0."""
    order = np.lexsort((signature, owner))
    sorted_signature = signature[order].astype(">i8")  # so that bytes are in the order of numbers
    length = np.bincount(owner, minlength=n_owners)
    start = run_ends(length)[:-1]
    like, n = np.empty(n_owners, np.int64), 0
    for cells in np.unique(length).tolist():
        check()
        has = np.flatnonzero(length == cells)
        held = sorted_signature[ranges(start[has], start[has] + cells)]
        distinct, inverse = np.unique(held.view(f"V{8 * cells}"), return_inverse=True)
        like[has] = n + inverse
        n += len(distinct)
    return like


def by_first(label: IntArray) -> tuple[IntArray, IntArray]:
    """Labels renumbered in the order in which they appear, and where each appears first; labels are small integers."""
    first = np.full(int(label.max()) + 1, len(label), np.int64)
    first[label[::-1]] = np.arange(len(label) - 1, -1, -1)
    used = np.flatnonzero(first < len(label))
    order = used[np.argsort(first[used])]
    number = np.empty(len(first), np.int64)
    number[order] = np.arange(len(order))
    return number[label], first[order]


# Intervals of groups in the order of the leaves: groups below one place of a tree are neighbours.
#
# A place is then a slice of an order, so that sets of groups need not be written out to be linked, counted or compared.


@dataclass(frozen=True, slots=True, eq=False)
class PlacedInTree:
    """Groups by the leaves of one tree: those below a place are ``order[low:high]`` for its `span`."""

    order: IntArray
    rank: IntArray  # of the leaf of order[i], increasing
    first: IntArray  # first and last rank of the leaves below each place
    last: IntArray

    def spans(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """Starts and ends of places, shapes (n,)."""
        low, high = np.searchsorted(self.rank, self.first[places]), np.searchsorted(self.rank, self.last[places])
        return low.astype(np.int64), high.astype(np.int64)

    def at(self, low: int, high: int) -> IntArray:
        """Groups in a span, increasing."""
        result: IntArray = np.sort(self.order[low:high])
        return result

    def linked(self, low: IntArray, high: IntArray) -> BoolArray:
        """Whether some span has both positions i and i + 1, shape (n_groups - 1,)."""
        return self.covered(low, np.maximum(high - 1, low))[:-1]

    def covered(self, low: IntArray, high: IntArray) -> BoolArray:
        """Whether position i is in some span, shape (n_groups,)."""
        change = np.zeros(len(self.order) + 1, np.int64)
        np.add.at(change, low, 1)
        np.add.at(change, high, -1)
        result: BoolArray = np.cumsum(change)[:-1] > 0
        return result


def placed(cells: Cells, examples: IntArray) -> tuple[PlacedInTree, ...]:
    """Places of groups in every tree, from one cell of each."""
    found = []
    for t, tree in enumerate(cells.trees):
        rank = tree.places.first[cells.leaf[examples, t]]
        order = np.argsort(rank, kind="stable")
        found.append(PlacedInTree(order, rank[order], tree.places.first, tree.places.last))
    return tuple(found)


def spans_of(trees: tuple[PlacedInTree, ...], places: Sequence[tuple[int, int]]) -> tuple[IntArray, IntArray, IntArray]:
    """Tree, start and end of each (tree, place), shapes (n,)."""
    tree, place = np.array(places, np.int64).reshape(-1, 2).T
    low, high = np.zeros(len(tree), np.int64), np.zeros(len(tree), np.int64)
    for t, held in enumerate(trees):
        mine = tree == t
        low[mine], high[mine] = held.spans(place[mine])
    return tree, low, high


# Individuals by which two statements may differ and still agree.
EXACT = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """Cells pooled with their like: cell c is in ``group[c]``, whose pooled quasi-identifier is ``owner[group]``.

    ``weight[o]`` are the individuals of a pooled quasi-identifier. A pooled mass is shared out in proportion to the
    individuals of each member (`expand`), which is the way back.
    """

    group: IntArray  # (n_cells,)
    owner: IntArray  # (n_groups,)
    weight: FloatArray  # (n_owners,)
    cell: IntArray  # (n_groups,), a cell of each group

    @property
    def of_group(self) -> FloatArray:
        """Individuals of each group's pooled quasi-identifier, shape (n_groups,)."""
        return self.weight[self.owner]

    def inside(self, cells: IntArray) -> IntArray:
        """The groups of some cells, increasing."""
        if len(cells) * FEW < len(self.owner):
            return np.unique(self.group[cells])
        seen = np.zeros(len(self.owner), bool)
        seen[self.group[cells]] = True
        return np.flatnonzero(seen)

    def pool(self, masses: FloatArray) -> FloatArray:
        """Masses of the groups, shape (n_groups, n_classes)."""
        n = len(self.group)
        held = sparse.csc_matrix((np.ones(n), self.group, np.arange(n + 1)), shape=(len(self.owner), n))
        return np.asarray(held @ masses)

    def expand(self, pooled: FloatArray, cell_weight: FloatArray) -> FloatArray:
        """Masses of the cells, shape (n_cells, n_classes); ``cell_weight`` are their quasi-identifiers' individuals."""
        share = cell_weight / self.weight[self.owner[self.group]]
        result: FloatArray = pooled[self.group] * share[:, None]
        return result


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A piece of the program that shares no constraint with the rest."""

    groups: IntArray  # of `Merged`, increasing
    linear: IntArray  # indices into program.linear
    internal: IntArray  # active internal rows (numbered over all of program.internal)
    likely: IntArray = field(default_factory=lambda: np.empty(0, np.int64))  # places of program.likelihood


def unmerged(program: Program) -> Merged:
    """Every cell on its own: the reduction that does nothing."""
    cells = np.arange(len(program.cells))
    return Merged(cells, program.cells.owner, program.table.counts.astype(np.float64), cells)


def merge(
    program: Program,
    rows: InternalRows | None = None,
    active: IntArray | None = None,
    check: Callable[[], None] = lambda: None,
) -> Merged:
    """Pool the quasi-identifiers that no linear constraint and no active internal row tells apart."""
    owner = program.cells.owner
    signatures = Signatures(program)
    for region in [r for r, place in enumerate(program.regions.places) if place is None]:
        check()
        inside = program.regions[region]
        signatures.split(inside, np.zeros(len(inside), np.int64))
    for constraint in program.linear:
        if constraint.weights is not None:
            check()
            for x in np.flatnonzero(constraint.coef.any(axis=0)).tolist():
                signatures.split_by(program.regions[constraint.region], constraint.weights[:, x])
    if rows is not None and active is not None:
        tell_apart(program, rows, active, signatures, check)
    if program.single:
        group, cell = by_first(signatures.of)
        weight = np.bincount(group, program.weight).astype(np.float64)
        return Merged(group, np.arange(len(weight)), weight, cell)
    like = alike(owner, signatures.of, len(program.table), check)
    check()
    weight = np.bincount(like, program.table.counts).astype(np.float64)
    _, label = np.unique(like[owner] * signatures.n + signatures.of, return_inverse=True)
    group, cell = by_first(label)
    return Merged(group, like[owner[cell]], weight, cell)


def poolable(program: Program, merged: Merged) -> bool:
    """Whether a program can be stated, and is far smaller, over groups of its cells."""
    weighed = any(constraint.weights is not None for constraint in program.linear)
    return program.single and not weighed and 2 * len(merged.owner) <= len(merged.group)


def pooled(program: Program, merged: Merged) -> Program:
    """The program over groups as its quasi-identifiers: whatever masses of these it is given, it states the same of."""
    table, cells, n = program.table, program.cells, len(merged.owner)
    example = cells.owner[merged.cell]
    held = cells_of(np.arange(n), cells.leaf[merged.cell], [tree.places for tree in cells.trees])
    inside = [_groups_in(program, merged, held, r) for r in range(len(program.regions))]
    regions = replace(
        program.regions,
        indptr=run_ends(np.array([len(groups) for groups in inside], np.int64)),
        indices=np.concatenate([np.empty(0, np.int64), *inside]),
    )
    return replace(
        program,
        table=replace(
            table,
            codes=table.codes[example],
            counts=np.rint(merged.of_group).astype(np.int64),
            lines=table.lines[example],
        ),
        cells=held,
        sums=program.sums.mixed(held, merged.group, program.weight),
        regions=regions,
    )


def _groups_in(program: Program, merged: Merged, held: Cells, region: int) -> IntArray:
    """The groups of a region, each of which is in it as a whole."""
    place = program.regions.places[region]
    if place is None:
        return merged.inside(program.regions[region])
    return held.trees[place[0]].at(place[1])


def compared(program: Program, merged: Merged, rows: InternalRows, active: IntArray) -> BoolArray:
    """Mask of the groups in the node of an active internal row, shape (n_groups,)."""
    found = np.zeros(len(merged.owner), bool)
    trees = placed(program.cells, merged.cell)
    nodes = _nodes(program, rows, active)
    tree, low, high = spans_of(trees, nodes)
    for t, held in enumerate(trees):
        found[held.order[held.covered(low[tree == t], high[tree == t])]] = True
    return found


def drawn(program: Program, merged: Merged) -> BoolArray:
    """Mask of the groups in a place whose draws have a likelihood, shape (n_groups,)."""
    found = np.zeros(len(merged.owner), bool)
    if program.likelihood is None:
        return found
    trees = placed(program.cells, merged.cell)
    tree, low, high = spans_of(trees, _drawn(program))
    for t, held in enumerate(trees):
        found[held.order[held.covered(low[tree == t], high[tree == t])]] = True
    return found


def _drawn(program: Program) -> list[tuple[int, int]]:
    """Tree and place of all draws with a likelihood."""
    likely = program.likelihood
    return [] if likely is None else list(zip(likely.tree.tolist(), likely.place.tolist(), strict=True))


def _nodes(program: Program, rows: InternalRows, active: IntArray) -> list[tuple[int, int]]:
    """Tree and place of every active row."""
    comparisons = [program.internal[k] for k in rows.constraint_of(active).tolist()]
    return [(comparison.tree, comparison.place) for comparison in comparisons]


def parts(
    program: Program,
    merged: Merged,
    linear: IntArray,
    rows: InternalRows,
    active: IntArray,
    among: BoolArray,
    check: Callable[[], None] = lambda: None,
) -> list[Part]:
    """Pieces that share no constraint of ``linear`` and ``active``, of the groups that ``among`` marks."""
    regions = [program.linear[i].region for i in linear.tolist()]
    places = [program.regions.places[r] for r in regions] + _nodes(program, rows, active) + _drawn(program)
    trees = placed(program.cells, merged.cell)
    at = np.array([i for i, place in enumerate(places) if place is not None], np.int64)
    tree, low, high = spans_of(trees, [place for place in places if place is not None])
    example, pairs = np.empty(len(places), np.int64), [_neighbours(merged.owner)]
    for t, held in enumerate(trees):
        check()
        mine = tree == t
        example[at[mine]] = held.order[low[mine]]
        linked = held.linked(low[mine], high[mine])
        pairs.append(np.stack([held.order[:-1][linked], held.order[1:][linked]]))
    for i, place in enumerate(places):
        if place is None:
            inside = merged.group[program.regions[regions[i]]]
            example[i] = inside[0]
            pairs.append(np.stack([inside[:-1], inside[1:]]))
    check()
    one, other = np.concatenate(pairs, axis=1)
    component = components(len(merged.owner), one, other)
    n_parts = int(component.max(initial=-1)) + 1
    check()
    wanted = np.unique(component[among])
    group_order, group_start = _grouped(component, n_parts)
    row_order, row_start = _grouped(component[example], n_parts)
    found = []
    for c in wanted.tolist():
        mine = np.sort(row_order[row_start[c] : row_start[c + 1]])
        groups = group_order[group_start[c] : group_start[c + 1]]
        ends = np.searchsorted(mine, [len(linear), len(linear) + len(active)])
        stated, compared_here, likely = np.split(mine, ends)
        found.append(
            Part(groups, linear[stated], active[compared_here - len(linear)], likely - len(linear) - len(active))
        )
    return found


def _neighbours(owner: IntArray) -> IntArray:
    """Pairs of groups that link all groups of each pooled quasi-identifier, shape (2, n_pairs)."""
    order = np.argsort(owner, kind="stable")
    same = owner[order[:-1]] == owner[order[1:]]
    return np.stack([order[:-1][same], order[1:][same]])


def everything_about(program: Program, merged: Merged, part: Part) -> Part:
    """The part with every linear constraint on its groups, also the redundant ones that `needed` drops."""
    regions = program.regions
    first = merged.group[regions.indices[regions.indptr[:-1]]]
    inside = np.isin(first, part.groups)[program.region_of]
    return Part(part.groups, np.flatnonzero(inside), part.internal, part.likely)


def _grouped(label: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Indices sorted by label, and where each of ``n`` labels starts."""
    order = np.argsort(label, kind="stable")
    return order, np.searchsorted(label[order], np.arange(n + 1))


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """Class totals of each place of a tree, NaN where unknown; ``below`` from statements about branches alone."""

    own: FloatArray
    below: FloatArray


def known_totals(program: Program) -> tuple[Totals, ...]:
    """Class totals that counts, rates and (with two classes, or pure leaves) complements fix, for every tree."""
    said: list[list[tuple[int, Linear]]] = [[] for _ in program.cells.trees]
    for constraint in program.linear:
        place = program.regions.places[constraint.region]
        if place is not None and constraint.kind in ("counts", "rate", "rates", "marginal", "boosting"):
            said[place[0]].append((place[1], constraint))
    return tuple(_known_in_tree(program, t, stated) for t, stated in enumerate(said))


def _known_in_tree(program: Program, t: int, said: list[tuple[int, Linear]]) -> Totals:
    held = program.cells.trees[t]
    place = np.array([place for place, _ in said], np.int64)
    size = np.full(len(held.start), np.nan)  # of the places that something is said about, where it is known
    if program.single:
        size[place] = program.region_size[np.array([constraint.region for _, constraint in said], np.int64)]
    own = np.full((len(held.start), program.n_classes), np.nan)
    own[held.start == held.stop] = 0.0
    below = own.copy()
    table = statement_rows([constraint for _, constraint in said], program.n_classes)
    exact = (table.lower == table.upper) & (table.alone >= 0)
    own[place[table.of[exact]], table.alone[exact]] = table.lower[exact]
    stated = ~np.isnan(own)
    _complement(own, size, np.unique(place))
    for parents, children, first in _levels(held):
        below[parents] = np.add.reduceat(own[children], first, axis=0)
        own[parents] = np.where(stated[parents], own[parents], below[parents])
        _complement(own, size, parents)
    return Totals(own, below)


def _complement(own: FloatArray, size: FloatArray, places: IntArray) -> None:
    """At places of known size, fill in the one class that is open, or all that are where nothing is left for them."""
    places = places[~np.isnan(size[places])]
    if not len(places):
        return
    open_ = np.isnan(own[places])
    left = size[places] - np.nansum(own[places], axis=1)
    filled = open_ & ((open_.sum(axis=1) == 1) | (left <= EXACT))[:, None]
    own[places] = np.where(filled, np.maximum(left, 0.0)[:, None], own[places])


def _levels(held: TreeCells) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Inner places that hold cells, by depth, the deepest first: (places, all their children, where each's start)."""
    places = held.places
    start = run_ends(places.n_branches)
    for level in reversed(places.levels):
        inner = level[(places.n_branches[level] > 0) & (held.stop[level] > held.start[level])]
        if len(inner):
            children = places.below[ranges(start[inner], start[inner + 1])]
            yield inner, children, run_ends(places.n_branches[inner])[:-1]


def needed(program: Program, totals: tuple[Totals, ...], rows: LinearRows) -> IntArray:
    """Indices of the linear constraints that other exact statements do not already imply.

    What agrees with the known totals of branches or classes is left out, and so is a rate beside the counts.
    """
    if not program.linear:
        return np.empty(0, np.int64)
    counted = {c.region for c in program.linear if c.kind == "counts" and (c.lower == c.upper).all()}
    beside = [c.kind == "label" or (c.kind in ("rate", "rates") and c.region in counted) for c in program.linear]
    ends = run_ends(np.array([len(known.own) for known in totals], np.int64))
    nowhere = int(ends[-1])
    unknown = np.full((1, program.n_classes), np.nan)
    tree, place = program.placed[program.region_of].T
    place = np.where(tree < 0, nowhere, ends[tree] + place)
    below = np.concatenate([*(known.below for known in totals), unknown])
    own = np.concatenate([*(known.own for known in totals), unknown])
    implied = _agree(rows, below[place]) | _agree(rows, own[np.where(beside, place, nowhere)])
    return np.flatnonzero(~implied)


def _agree(rows: LinearRows, totals: FloatArray) -> BoolArray:
    """Mask of constraints implied by ``totals``, shape (n_constraints, n_classes), NaN where unknown."""
    known = (np.isnan(totals).sum(axis=1) < totals.shape[1])[rows.constraint]
    value = rows.sums(totals[rows.constraint[rows.entry], rows.klass])  # NaN where a class that counts is unknown
    holds = known & ~rows.weighted & (value >= rows.lower - EXACT) & (value <= rows.upper + EXACT)
    missed = np.bincount(rows.constraint, ~holds, len(totals))
    return np.asarray(missed == 0)


def convex_rows(program: Program, totals: tuple[Totals, ...]) -> BoolArray:
    """Mask of the convex internal constraints: the totals of their chosen branches are known."""
    known = []
    for held, of_tree in zip(program.cells.trees, totals, strict=True):
        complete: list[bool] = [not missing for missing in np.isnan(of_tree.own).sum(axis=1).tolist()]
        known.append([all(complete[child] for child in below) for below in held.places.children])
    return np.array([known[c.tree][c.place] for c in program.internal], bool)
