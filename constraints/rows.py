"""Equations about single rows. The table lists the people in training order, one row for each person.

Where it is known how often each row was drawn for each tree (`maxent.models.draws`), every leaf's counts are exact:
``sum_i draws[t, i] [i in leaf] [row i has class c] = count``. Everything else that is certain of whole groups of rows
is joined to them. The unknowns are the classes of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from maxent.constraints.compiler import compile_program
from maxent.constraints.kinds.bootstrap import UNKNOWN, draws_of
from maxent.constraints.kinds.moments import COMPUTED
from maxent.constraints.kinds.registry import knowledge as choices_of_knowledge
from maxent.constraints.program.cells import CellSums, build_cells
from maxent.constraints.program.program import Contradiction, Linear, Program, Regions, printed_moments
from maxent.models.columns import NOTHING
from maxent.models.errors import Check, Origin, invalid, unchecked
from maxent.models.nodes import Nodes, links_of
from maxent.models.release import Node, Release, Tree
from maxent.models.trees.places import interval_of, number_places

if TYPE_CHECKING:
    from maxent.models.arrays import FloatArray, IntArray
    from maxent.models.tables.qi_table import QITable
    from maxent.models.tables.truth_and_facts import Fact

# What is said where the counts of a leaf cannot be those of the rows that were drawn.
MISFIT = "the draws do not fit the counts"
# Misfits that are named.
NAMED = 10
# People by which a stated bound may miss a whole number.
WHOLE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class RowSystem:
    """``low[r, c] <= sum_i matrix[r, i] [row i has class c] <= high[r, c]``, whole numbers, for every r and class c.

    ``matrix``, shape (n_statements, n_rows): Coefficients, at least 0. ``low``, ``high``, shape (n_statements,
    n_classes). ``table``: the rows, each one person. ``place``, shape (n_equations, 3): Release, tree and place of each
    equation of draws; these are the first statements, and exact. ``origins``: where the other statements are from.
    ``contradictions``: leaves whose records or draws are not those of the rows that reach them.
    """

    matrix: sparse.csr_matrix
    low: IntArray
    high: IntArray
    table: QITable
    releases: tuple[Release, ...]
    place: IntArray
    origins: tuple[Origin, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()

    @property
    def equations(self) -> int:
        """Equations of draws, each about every class."""
        return len(self.place)

    @property
    def n_rows(self) -> int:
        return len(self.table)

    @property
    def n_classes(self) -> int:
        return int(self.low.shape[1])

    def origin(self, statement: int) -> Origin:
        """Where a statement is from."""
        if statement >= len(self.place):
            return self.origins[statement - len(self.place)]
        release, tree, place = self.place[statement].tolist()
        return _origin(self.releases, release, tree, place)

    def misfit(self, statement: int) -> Contradiction:
        """The contradiction of a statement that no classes of the rows satisfy."""
        says = f"{MISFIT}: no classes of its rows do" if statement < len(self.place) else "no classes of its rows do"
        return Contradiction(self.origin(statement), says, 1.0)


def has_draws(releases: Iterable[Release]) -> bool:
    """Whether it is told for some release who was drawn for each tree."""
    return any(release.draws is not None for release in releases)


def row_system(
    releases: Sequence[Release],
    table: QITable,
    *,
    knowledge: Iterable[str] | None = None,
    marginal: FloatArray | None = None,
    facts: tuple[Fact, ...] = (),
    check: Check = unchecked,
) -> RowSystem:
    """The equations of releases about the rows of a table. The rows are the people in training order.

    ``releases``: each about all rows; of some it is known who was drawn for each tree. ``table``: the rows in their
    order, see ``rows`` of `maxent.models.tables.qi_table.read_qi`: one person each. ``marginal``, shape (n_classes,):
    people of each class. ``facts``: Known classes of some people. ``check``: Told again and again how far this has
    come.
    """
    known = frozenset(choices_of_knowledge() if knowledge is None else knowledge)
    n_classes = len(releases[0].target.classes)
    blocks: list[_Block] = []
    misfits: list[Contradiction] = []
    for r, release in enumerate(releases):
        if release.draws is not None and "counts" in known:
            found, wrong = _of_draws(releases, r, table, check)
            blocks += found
            misfits += wrong
    place = np.concatenate([np.empty((0, 3), np.int64), *(block.place for block in blocks)])
    origins: list[Origin] = []
    for block in _of_others(releases, table, known, marginal, facts, n_classes, check):
        blocks.append(block)
        origins += block.origins
    nothing = sparse.csr_matrix((0, len(table)), dtype=np.int64)
    none = np.empty((0, n_classes), np.int64)
    matrix = sparse.csr_matrix(sparse.vstack([nothing, *(block.matrix for block in blocks)], format="csr"))
    low = np.concatenate([none, *(block.low for block in blocks)])
    high = np.concatenate([none, *(block.high for block in blocks)])
    return RowSystem(
        matrix.astype(np.int64),
        low,
        high,
        table,
        tuple(releases),
        place.astype(np.int64),
        tuple(origins),
        tuple(misfits[:NAMED]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Some statements, as `RowSystem` has them."""

    matrix: sparse.csr_matrix
    low: IntArray
    high: IntArray
    place: IntArray
    origins: tuple[Origin, ...] = ()


def _origin(releases: Sequence[Release], release: int, tree: int, place: int) -> Origin:
    first = sum(len(each.trees) for each in releases[:release])
    node = releases[release].trees[tree].nodes[place]
    many = sum(len(each.trees) for each in releases) > 1
    return Origin("leaf" if node.is_leaf else "node", node.id, first + tree if many else None)


def _of_draws(
    releases: Sequence[Release], r: int, table: QITable, check: Check
) -> tuple[list[_Block], list[Contradiction]]:
    """The equations of a release of which it is known who was drawn, and leaves that are not of this table."""
    release = releases[r]
    told, classes = release.draws, release.target.classes
    assert told is not None
    if told.n != len(table):
        expected = f"{told.n:,} rows in training order, from which each tree's people were drawn"
        raise invalid(table.source, "rows", "individuals", expected, f"{len(table):,}")
    if told.trees != len(release.trees):
        raise invalid("release", "draws", "trees", f"draws of {len(release.trees):,} trees", f"{told.trees:,}")
    drawn = told.matrix()
    blocks: list[_Block] = []
    misfits: list[Contradiction] = []
    for t, tree in enumerate(release.trees):
        check(f"equations of {t} of {told.trees} trees were made")
        places = number_places(tree)
        counts, distinct = draws_of(tree, places, classes)
        means = _of_means(tree, release, counts)
        stated = counts[:, 0] != UNKNOWN
        place = reached(tree, release, table)
        rows = np.flatnonzero((drawn[t] > 0) & (place >= 0))
        rows = rows[stated[place[rows]]]
        if not len(rows):
            continue
        here, number = np.unique(place[rows], return_inverse=True)
        many = drawn[t, rows]
        matrix = sparse.csr_matrix((many, (number.ravel(), rows)), shape=(len(here), len(table)), dtype=np.int64)
        low, high = release.behind(counts[here]) if means is None else (means[0][here], means[1][here])
        if not release.blurred:
            sums, records = np.bincount(number.ravel(), many), np.bincount(number.ravel())
            totals, others = counts[here].sum(axis=1), distinct[here]
            for says, found, said, of in (
                ("draws", sums.astype(np.int64), totals, totals != sums),
                ("records", records, others, (others != UNKNOWN) & (others != records)),
            ):
                for i in np.flatnonzero(of)[:NAMED].tolist():
                    words = f"{MISFIT}: {says} of its rows {found[i]:,}, stated {said[i]:,}"
                    origin = _origin(releases, r, t, int(here[i]))
                    misfits.append(Contradiction(origin, words, float(abs(found[i] - said[i]))))
            ended = np.unique(place)
            left = told.drawn - int(totals.sum())
            if left and (ended >= 0).all() and stated[ended].all() and not len(misfits):
                words = f"{MISFIT}: of {told.drawn:,} draws {told.drawn - left:,} are in leaves that rows reach"
                misfits.append(Contradiction(_origin(releases, r, t, 0), words, float(abs(left))))
        where = np.column_stack([np.full(len(here), r), np.full(len(here), t), here])
        blocks.append(_Block(matrix, low.astype(np.int64), high.astype(np.int64), where))
    return blocks, misfits


def _of_means(tree: Tree, release: Release, counts: IntArray) -> tuple[IntArray, IntArray] | None:
    """Fewest and most draws of each class, shapes as ``counts``, which get some that agree with them.

    Of a numeric target of two classes, by sizes and means of nodes; None of others.
    """
    numbers = release.target.numbers
    if numbers is None or len(numbers) != 2:
        return None
    (a, b), (c, d) = numbers
    low, high, printed = counts.copy(), counts.copy(), printed_moments(tree.nodes)[0]
    if not np.isfinite([a, b, c, d]).all() or min(c - a, d - b) <= 0:
        return None
    for i, node in enumerate(tree.nodes):
        if node.mean is not None and node.n is not None and counts[i, 0] == UNKNOWN:
            off = COMPUTED * max(1.0, abs(a), abs(d), abs(node.mean)) + printed.off(node.mean)
            least = max(0, int(np.ceil(node.n * (node.mean - off - b) / (d - b) - WHOLE)))
            most = min(node.n, int(np.floor(node.n * (node.mean + off - a) / (c - a) + WHOLE)))
            low[i], high[i], counts[i] = (node.n - most, least), (node.n - least, most), (0, node.n)
    return low, high


# The way of all rows through a tree at the same time.


@dataclass(frozen=True, slots=True, eq=False)
class _Tests:
    """What nodes test, in arrays as `maxent.models.columns.Columns` has them."""

    attribute: IntArray
    le: FloatArray
    gt: FloatArray
    missing: IntArray
    value_ends: IntArray
    values: IntArray


def _tests(nodes: Sequence[Node], release: Release) -> _Tests:
    names = [attribute.name for attribute in release.attributes]
    if isinstance(nodes, Nodes) and [a.name for a in nodes.columns.attributes] == names:
        held = nodes.columns
        return _Tests(held.attribute, held.le, held.gt, held.missing, held.value_ends, held.values)
    index = {name: j for j, name in enumerate(names)}
    code = [{value: i for i, value in enumerate(a.values or ())} for a in release.attributes]
    attribute = np.array([NOTHING if node.attribute is None else index[node.attribute] for node in nodes], np.int64)
    le, gt, missing, values, ends = [], [], [], [], [0]
    for node, j in zip(nodes, attribute.tolist(), strict=True):
        for branch in node.branches:
            low, high = interval_of(branch)
            gt.append(low)
            le.append(high)
            missing.append(int(bool(branch.missing)))
            values += [code[j][value] for value in branch.values or ()]
            ends.append(len(values))
    return _Tests(
        attribute,
        np.array(le, np.float64),
        np.array(gt, np.float64),
        np.array(missing, np.int64),
        np.array(ends, np.int64),
        np.array(values, np.int64),
    )


def reached(tree: Tree, release: Release, table: QITable) -> IntArray:
    """The place of a tree where each row ends, or first meets a private attribute; -1 for a leaf that was removed.

    Shape (n_rows,), places as `maxent.models.trees.places.Places` numbers them.
    """
    tests = _tests(tree.nodes, release)
    n_branches, child = links_of(tree.nodes)
    own = {attribute.name: j for j, attribute in enumerate(table.attributes)}
    of = np.array([*(own.get(attribute.name, NOTHING) for attribute in release.attributes), NOTHING], np.int64)
    column = of[tests.attribute]  # of no attribute the last entry
    tested = np.repeat(column, n_branches)
    low, high = np.zeros((2, len(child)), np.int64)
    base, member = np.zeros(len(child), np.int64), [np.zeros(0, bool)]
    numeric, none = np.zeros(len(table.attributes), bool), np.full(len(table.attributes), NOTHING)
    size = 0
    for j in np.unique(tested[tested >= 0]).tolist():
        mine, levels = np.flatnonzero(tested == j), table.levels[j]
        if table.attributes[j].values is None:
            numeric[j] = True
            gt, le = tests.gt[mine], tests.le[mine]
            alone = (tests.missing[mine] == 1) & np.isnan(gt) & np.isnan(le)
            low[mine] = np.searchsorted(levels, np.where(np.isnan(gt), -np.inf, gt), side="right")
            high[mine] = np.searchsorted(levels, np.where(np.isnan(le), np.inf, le), side="right")
            high[mine[alone]] = low[mine[alone]]
            if len(levels) and np.isnan(levels[-1]):
                none[j] = len(levels) - 1
            continue
        code = {value: i for i, value in enumerate(levels)}
        number = int(np.flatnonzero(of == j)[0])
        codes = np.array([code.get(value, NOTHING) for value in release.attributes[number].values or ()], np.int64)
        takes = np.zeros((len(mine), len(levels)), bool)
        ends = tests.value_ends
        for row, branch in enumerate(mine.tolist()):
            inside = codes[tests.values[ends[branch] : ends[branch + 1]]]
            takes[row, inside[inside >= 0]] = True
        base[mine] = size + np.arange(len(mine)) * len(levels)
        member.append(takes.ravel())
        size += takes.size
    inside = np.concatenate(member)
    start = np.cumsum(n_branches) - n_branches
    place, active = np.zeros(len(table), np.int64), np.arange(len(table))
    while len(active := active[(place[active] >= 0)]):
        node = place[active]
        on = (n_branches[node] > 0) & (column[node] >= 0)
        active, node = active[on], node[on]
        if not len(active):
            break
        tests_of, went = column[node], np.full(len(active), NOTHING)
        codes = table.codes[active, tests_of]
        numbers = numeric[tests_of]
        for branch in range(int(n_branches[node].max())):
            open_rows = np.flatnonzero((went == NOTHING) & (branch < n_branches[node]))
            at, value = start[node[open_rows]] + branch, codes[open_rows]
            taken = (low[at] <= value) & (value < high[at])
            taken |= (value == none[tests_of[open_rows]]) & (tests.missing[at] == 1)
            sets = np.flatnonzero(~numbers[open_rows])
            taken[sets] = inside[base[at[sets]] + value[sets]]
            went[open_rows[taken]] = at[taken]
        if (went == NOTHING).any():
            lost = int(active[np.argmax(went == NOTHING)])
            name = table.attributes[int(column[place[lost]])].name
            expected = "a value that some branch of every node it reaches takes"
            raise invalid(table.source, f"{table.unit} {table.lines[lost]}", name, expected, "one that reaches no leaf")
        place[active] = child[went]
    return place


# Everything else that is certain of groups of rows.


def _of_others(
    releases: Sequence[Release],
    table: QITable,
    known: frozenset[str],
    marginal: FloatArray | None,
    facts: tuple[Fact, ...],
    n_classes: int,
    check: Check,
) -> Iterator[_Block]:
    """Statements of releases without draws, numbers of each class in all rows, and facts."""
    everybody, most = sparse.csr_matrix(np.ones((1, len(table)), np.int64)), len(table)
    nowhere = np.empty((0, 3), np.int64)
    if marginal is not None and "marginal" in known and np.abs(marginal - np.rint(marginal)).max() < WHOLE:
        exact = np.rint(marginal).astype(np.int64)[None, :]
        yield _Block(everybody, exact, exact, nowhere, (Origin("frequencies of classes"),))
    for fact in facts:
        row = sparse.csr_matrix(
            (np.ones(len(fact.rows), np.int64), (np.zeros(len(fact.rows), np.int64), fact.rows)), shape=(1, most)
        )
        low, high = np.zeros((1, n_classes), np.int64), np.full((1, n_classes), len(fact.rows))
        low[0, fact.class_index] = sum(
            each.count for each in facts if each.class_index == fact.class_index and _same(each.rows, fact.rows)
        )
        yield _Block(row, low, high, nowhere, (Origin(f"{fact.source}, line {fact.line}"),))
    for release in releases:
        if release.draws is not None or release.sampling_rate < 1 or not known - {"internal", "marginal"}:
            continue
        drawn = release.resampled is not None
        if drawn and release.target.numbers is not None:
            continue
        program = compile_program(
            release,
            table,
            knowledge=known - {"internal", "marginal"},
            noise="likelihood" if drawn else "intervals",
            check=check,
        )
        yield from filter(None, (_stated(program, said, n_classes) for said in program.linear))


def _same(one: IntArray, other: IntArray) -> bool:
    return len(one) == len(other) and bool((one == other).all())


def _stated(program: Program, said: Linear, n_classes: int) -> _Block | None:
    """A statement about single classes of a group of rows; None where it says nothing of the kind."""
    if said.weights is not None:
        return None
    cells = program.regions[said.region]
    rows = np.unique(program.cells.owner[cells])
    if len(rows) < len(cells) or not program.single:
        held = np.bincount(program.cells.owner, minlength=len(program.table))
        if (np.bincount(program.cells.owner[cells], minlength=len(program.table))[rows] < held[rows]).any():
            return None  # private attributes decide who is here
    people = len(rows)
    low, high = np.zeros(n_classes), np.full(n_classes, float(people))
    for coef, lower, upper in zip(said.coef, said.lower, said.upper, strict=True):
        if n_classes == 2:  # the other class is the rest
            factor, rest = float(coef[0] - coef[1]), float(coef[1]) * people
            of, lower, upper = (0, lower - rest, upper - rest) if factor else (0, lower, upper)
        elif np.count_nonzero(coef) == 1:
            of = int(np.flatnonzero(coef)[0])
            factor = float(coef[of])
        else:
            continue
        if not factor:
            continue
        ends = sorted((lower / factor, upper / factor))
        low[of], high[of] = max(low[of], ends[0]), min(high[of], ends[1])
    least, most = np.ceil(low - WHOLE).astype(np.int64), np.floor(high + WHOLE).astype(np.int64)
    if (least <= 0).all() and (most >= people).all():
        return None
    matrix = sparse.csr_matrix(
        (np.ones(people, np.int64), (np.zeros(people, np.int64), rows)), shape=(1, len(program.table))
    )
    return _Block(matrix, least[None, :], most[None, :], np.empty((0, 3), np.int64), (said.origin,))


# Programs of rows: the same statements for everything that works on programs.


def row_program(system: RowSystem, low: IntArray, high: IntArray, base: Program | None = None) -> Program:
    """A program of rows, each a quasi-identifier, with what is known of each, shapes (n_rows, n_classes), 0 or 1.

    With a ``base``, the program of everything else over the same rows, the statements are added to it; without, it has
    one tree, of a single leaf.
    """
    table, n_classes = system.table, system.n_classes
    if base is None:
        release = Release(system.releases[0].target, table.attributes, (Tree((Node("all rows"),)),))
        cells = build_cells(release, table)
        sums = CellSums(cells, table.codes, tuple(map(len, table.levels)))
        regions = Regions(np.zeros(1, np.int64), np.empty(0, np.int64), ())
        base = Program(release, table, cells, sums, regions, (), (), contradictions=system.contradictions)
    order = np.argsort(base.cells.owner, kind="stable")
    first = np.searchsorted(base.cells.owner[order], np.arange(len(table) + 1))
    parts: list[IntArray] = []
    linear: list[Linear] = []
    each = np.eye(n_classes)

    def cells_of(rows: IntArray) -> tuple[IntArray, IntArray]:
        """The cells of some rows, and of each which of the rows it is of."""
        sizes = first[rows + 1] - first[rows]
        which = np.repeat(np.arange(len(rows)), sizes)
        return order[first[rows][which] + np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes)], which

    def state(origin: Origin, says: str, rows: IntArray, coef: IntArray, least: IntArray, most: IntArray) -> None:
        cells, which = cells_of(rows)
        weights = None if (coef == 1).all() else np.repeat(coef[which, None], n_classes, axis=1).astype(np.float64)
        told = np.asarray(least > 0) | (most < coef.sum())
        if told.any():
            region = len(base.regions) + len(parts)
            parts.append(cells)
            sides = least[told].astype(np.float64), most[told].astype(np.float64)
            linear.append(Linear("resampled", origin, region, each[told], *sides, says, weights))

    sure = low.any(axis=1) | ((high > 0).sum(axis=1) == 1)
    found = np.where(sure, high.argmax(axis=1), -1)
    for x in range(n_classes):
        rows = np.flatnonzero(found == x)
        if len(rows):
            exact = np.where(np.arange(n_classes) == x, len(rows), 0)
            state(Origin("rows that are proved"), "proved", rows, np.ones(len(rows), np.int64), exact, exact)
        banned = np.flatnonzero(~sure & (high[:, x] == 0))
        if len(banned):
            most = np.where(np.arange(n_classes) == x, 0, len(banned))
            state(Origin("rows that are proved"), "excluded", banned, np.ones(len(banned), np.int64), 0 * most, most)
    fixed = system.matrix @ (low.astype(np.int64))
    matrix = system.matrix
    for r in range(matrix.shape[0]):
        at = slice(matrix.indptr[r], matrix.indptr[r + 1])
        rows, coef = matrix.indices[at].astype(np.int64), matrix.data[at]
        free = ~sure[rows]
        if free.any():
            least = np.maximum(system.low[r] - fixed[r], 0)
            most = np.minimum(system.high[r] - fixed[r], coef[free].sum())
            state(system.origin(r), "draws of rows", rows[free], coef[free], least, most)
    lengths = [len(part) for part in parts]
    regions = Regions(
        np.concatenate([base.regions.indptr, base.regions.indptr[-1] + np.cumsum(lengths, dtype=np.int64)]),
        np.concatenate([base.regions.indices, *parts]) if parts else base.regions.indices,
        (*base.regions.places, *([None] * len(parts))),
    )
    return replace(base, regions=regions, linear=(*base.linear, *linear))
