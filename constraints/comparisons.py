"""The active internal constraints of a part as separable nonlinear rows over aggregates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from maxent.constraints.aggregates import Aggregates, Block
from maxent.constraints.evaluate import InternalRows, phi_sum
from maxent.constraints.impurity import PHI_OF
from maxent.constraints.lifted import Terms
from maxent.constraints.program import Internal, Program
from maxent.constraints.reduce import Totals
from maxent.models.errors import Origin

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
Local = Callable[[IntArray], IntArray]


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """Rows ``sum of terms + const >= 0``, impurity units; ``size`` are the individuals of each row's node."""

    terms: tuple[Terms, ...]
    const: FloatArray
    size: FloatArray
    origins: tuple[Origin, ...]


class _Lifter:
    """Cuts nodes into blocks, deepest nodes first, so that the blocks of a node are sums of blocks below it."""

    def __init__(self, program: Program, local: Local, totals: tuple[Totals, ...], aggregates: Aggregates) -> None:
        self.program, self.local, self.totals, self.aggregates = program, local, totals, aggregates
        self.done: dict[
            int, list[tuple[int, int, dict[tuple[int, int], Block]]]
        ] = {}  # per tree: first, last, by value

    def inside(self, tree: int, place: int) -> list[dict[tuple[int, int], Block]]:
        """Blocks by (column, code) of the largest finished nodes at or below a place (a node is finished last)."""
        places = self.program.cells.trees[tree].layout
        first, last = places.first[place], places.last[place]
        below = [d for d in self.done.get(tree, ()) if first <= d[0] and d[1] <= last]
        return [d[2] for d in below if not any(o[0] <= d[0] and d[1] <= o[1] and o is not d for o in below)]

    def chosen(self, constraint: Internal) -> list[Block]:
        """The blocks of the chosen split: the branches of the node."""
        held = self.program.cells.trees[constraint.tree]
        blocks = []
        for child in held.layout.children[constraint.place]:
            if held.start[child] == held.stop[child]:
                continue
            groups = self.local(held.at(child))
            totals = self.totals[constraint.tree].own[child]
            blocks.append(self.aggregates.block(groups, self._pieces(groups, constraint.tree, child), totals))
        return blocks

    def _pieces(self, groups: IntArray, tree: int, child: int) -> tuple[Block, ...]:
        """Finished blocks that cut up the finished nodes inside a branch."""
        pieces: list[Block] = []
        for by_value in self.inside(tree, child):
            for column in sorted({column for column, _ in by_value})[:1]:
                pieces += [block for (c, _), block in by_value.items() if c == column]
        return tuple(pieces)

    def candidate(self, constraint: Internal, offset: int) -> list[Block]:
        """The blocks that the candidate split of one row would have had."""
        held = self.program.cells.trees[constraint.tree]
        cells = held.at(constraint.place)
        codes = self.program.table.codes[self.program.cells.owner[cells], constraint.column]
        if constraint.form == "values":
            inside = self.inside(constraint.tree, constraint.place)
            return [self._of_value(constraint, cells[codes == v], int(v), inside) for v in np.unique(codes)]
        left = codes <= constraint.codes[offset] if constraint.form == "cuts" else codes == constraint.codes[offset]
        return [self.aggregates.block(self.local(cells[side])) for side in (left, ~left)]

    def _of_value(
        self, constraint: Internal, cells: IntArray, code: int, inside: list[dict[tuple[int, int], Block]]
    ) -> Block:
        key = (constraint.column, code)
        return self.aggregates.block(self.local(cells), tuple(by[key] for by in inside if key in by))

    def finish(self, tree: int, place: int, constraints: list[Internal], blocks: dict[int, list[Block]]) -> None:
        """Remember a node's blocks by value, for the nodes above it."""
        places = self.program.cells.trees[tree].layout
        by_value: dict[tuple[int, int], Block] = {}
        cells = self.program.cells.trees[tree].at(place)
        for constraint in constraints:
            if constraint.form == "values":
                codes = np.unique(self.program.table.codes[self.program.cells.owner[cells], constraint.column])
                by_value.update(
                    ((constraint.column, int(v)), block)
                    for v, block in zip(codes, blocks[constraint.column], strict=True)
                )
        if by_value:
            self.done.setdefault(tree, []).append((int(places.first[place]), int(places.last[place]), by_value))


def lift_comparisons(
    program: Program,
    local: Local,
    active: IntArray,
    rows: InternalRows,
    totals: tuple[Totals, ...],
    aggregates: Aggregates,
) -> Comparisons:
    """Nonlinear rows for the active internal rows of a part; blocks common to both sides cancel."""
    lifter = _Lifter(program, local, totals, aggregates)
    which = rows.constraint_of(active)
    by_node: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for k, row in zip(which.tolist(), active.tolist(), strict=True):
        by_node.setdefault((program.internal[k].tree, program.internal[k].place), []).append((k, row))
    span = {node: int(np.diff(_span(program, *node))[0]) for node in by_node}
    signed: list[tuple[Internal, dict[int, tuple[Block, float]]]] = []
    for node in sorted(by_node, key=lambda node: (span[node], node)):
        cut: dict[int, list[Block]] = {}
        for k, row in by_node[node]:
            constraint = program.internal[k]
            candidate = lifter.candidate(constraint, row - int(rows.first_row[k]))
            cut[constraint.column] = candidate
            signed.append((constraint, _signed(program, lifter, constraint, candidate)))
        lifter.finish(*node, [program.internal[k] for k, _ in by_node[node]], cut)
    return _as_terms(program, [row for row in signed if any((b.var >= 0).any() for b, _ in row[1].values())])


def _span(program: Program, tree: int, place: int) -> IntArray:
    places = program.cells.trees[tree].layout
    return np.array([places.first[place], places.last[place]])


def _signed(
    program: Program, lifter: _Lifter, constraint: Internal, candidate: list[Block]
) -> dict[int, tuple[Block, float]]:
    """The blocks of a row with their factors: ``E_U - E_T`` (or the difference of gain ratios) is their sum of phi."""
    chosen = lifter.chosen(constraint)
    n = individuals(program, constraint)
    factors: list[tuple[Block, float]]
    if constraint.measure == "gain_ratio":
        split_t, split_u = _split_information(chosen, n), _split_information(candidate, n)
        cells = program.cells.trees[constraint.tree].at(constraint.place)
        totals = lifter.totals[constraint.tree].own[constraint.place]
        whole = lifter.aggregates.block(lifter.local(cells), tuple(chosen), totals)
        factors = [(b, 1 / (n * split_t)) for b in chosen] + [(b, -1 / (n * split_u)) for b in candidate]
        factors.append((whole, (1 / split_u - 1 / split_t) / n))
    else:
        factors = [(b, 1 / n) for b in chosen] + [(b, -1 / n) for b in candidate]
    total: dict[int, tuple[Block, float]] = {}
    for block, factor in factors:
        total[id(block)] = (block, total.get(id(block), (block, 0.0))[1] + factor)
    return {key: (block, factor) for key, (block, factor) in total.items() if abs(factor) > 1e-15}


def _split_information(blocks: list[Block], n: float) -> float:
    """Entropy of the sizes of a split's branches, nats."""
    share = np.array([block.size for block in blocks], np.float64) / n
    return float(-(share * np.log(share)).sum())


def _as_terms(program: Program, signed: list[tuple[Internal, dict[int, tuple[Block, float]]]]) -> Comparisons:
    const: FloatArray = np.zeros(len(signed))
    collected: dict[str, list[tuple[int, int, float, float, int, int]]] = {}
    number: dict[int, int] = {}
    for row, (constraint, blocks) in enumerate(signed):
        for block, factor in blocks.values():
            size = 0.0 if block.size is None else block.size
            still = block.var < 0
            if still.any() and block.size is not None:
                value = phi_sum(constraint.measure, block.const[still][None, :], np.array([size]))
                const[row] += factor * float(value[0])
            collected.setdefault(PHI_OF[constraint.measure], []).extend(
                (row, int(var), factor, size, block.size_var, number.setdefault(id(block), len(number)))
                for var in block.var[~still]
            )
    terms = []
    for phi, entries in collected.items():
        row_of, var, coef, size_of, size_var, block_of = (np.array(column) for column in zip(*entries, strict=True))
        terms.append(Terms(phi, row_of, var, coef, size_of.astype(np.float64), size_var, block_of))
    people = np.array([individuals(program, constraint) for constraint, _ in signed])
    return Comparisons(tuple(terms), const, people, tuple(constraint.origin for constraint, _ in signed))


def individuals(program: Program, constraint: Internal) -> float:
    """Individuals whose quasi-identifier can be in the node of a comparison."""
    cells = program.cells.trees[constraint.tree].at(constraint.place)
    return float(program.table.counts[np.unique(program.cells.owner[cells])].sum())
