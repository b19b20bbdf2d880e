"""Groups of people that no statement is about, and whose number of a class follows from everything together.

People whom no statement tells apart are an atom. A union of atoms has a number that follows if it is the same in all
worlds. So unions are asked for that no known world tells from another, the smallest number first. Each has a number
that follows, or there is one more world, which rules it out. Where no union is left, all groups are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from maxent.constraints.program.program import Program
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.certainty.bounds import WHOLE
from maxent.solvers.certainty.cases import cases_of
from maxent.solvers.certainty.settled import holds, more_is_known, with_sum, worlds_in
from maxent.solvers.certainty.sums import SIZE, sparse_rows, sum_ends
from maxent.solvers.control import Clock

# Atoms up to which all unions are asked for, and groups that are listed in each order of numbers.
ATOMS, LISTED = 500, 20
# Worlds whose small changes are looked at.
WORLDS = 3
# Changes of a world that are looked at together, and all; how many times in a row they may be of no use; error of sums.
BATCH, MOST, USELESS, SUMMED = 500, 20_000, 4, 1e-12
# Work for all unions, as `_KnownWorlds.spend` counts it: some seconds for 250 atoms. It ends at the same union on any
# machine, unless that is so slow that the time ends first. Work that a question is beside its size.
WORK, QUESTION, SECONDS = 5_000_000, 4_000, 60.0
# What a group is from where it is not the difference of two that are known.
TOGETHER = "everything together"


@dataclass(frozen=True, slots=True)
class KnownGroup:
    """Cells of a program, shape (n,), with so many people, and the known ``number`` of these who have a class."""

    source: str
    cells: IntArray
    klass: int
    people: int
    number: int

    @property
    def fewest(self) -> int:
        """The number of those who have the class, or of the others."""
        return min(self.number, self.people - self.number)

    @property
    def plain(self) -> bool:
        """Whether nobody or everybody has the class."""
        return self.fewest == 0


class _TooLong(Exception):
    """There is no telling in time."""


def groups_that_follow(
    program: Program, stated: Sequence[KnownGroup], worlds: Sequence[IntArray]
) -> tuple[list[KnownGroup], bool]:
    """Smallest groups of known numbers beside those ``stated``, and whether no other group has a smaller number.

    A group is not listed if it is made of others, or known from trees alone. Of ``worlds`` those count that satisfy
    everything. Of each class and order no more than `LISTED` groups are listed.
    """
    (atom, rows), trees, found = _atoms(program), list(_of_trees(program)), list[KnownGroup]()
    of_members = program.release.target.register
    try:
        if atom.max() >= ATOMS or program.contradictions or more_is_known(program):
            raise _TooLong
        search = _KnownWorlds(program, atom, rows, worlds)
        alone = search.of_trees()
        for klass in (1,) if program.n_classes == 2 else range(program.n_classes - of_members):
            found.extend(_Unions(search, alone, klass, stated, trees).found())
    except _TooLong:
        seen = {(group.cells.tobytes(), group.klass) for group in (*stated, *trees, *found)}
        differences = _differences(program, stated, [*stated, *trees])
        return [*found, *(each for each in differences if (each.cells.tobytes(), each.klass) not in seen)], False
    return found, True


def _differences(program: Program, stated: Sequence[KnownGroup], known: Sequence[KnownGroup]) -> Iterator[KnownGroup]:
    """What groups have less others within them, one of each two being ``stated``."""
    ends = np.cumsum([0, *(len(group.cells) for group in known)])
    cells = np.concatenate([np.empty(0, np.int64), *(group.cells for group in known)])
    held = csr_array((np.ones(len(cells), np.int64), cells, ends), (len(known), len(program.cells)))
    size = np.diff(ends)
    shared = (held[: len(stated)] @ held.T).tocoo()
    i, j = shared.coords
    inside = np.where(size[i] < size[j], i, j)
    around = np.where(size[i] < size[j], j, i)
    proper = (shared.data == size[inside]) & (size[inside] < size[around])
    for one, other in np.unique(np.stack([around[proper], inside[proper]], axis=1), axis=0).tolist():
        whole, less = known[one], known[other]
        if less.klass == whole.klass:
            source, number = f"{whole.source} less {less.source}", whole.number - less.number
            rest = np.setdiff1d(whole.cells, less.cells)
            group = KnownGroup(source, rest, whole.klass, whole.people - less.people, number)
            if group.fewest < min(whole.fewest, less.fewest):
                yield group


def _atoms(program: Program) -> tuple[IntArray, AtomRows | None]:
    """The atom of each cell, -1 of nobody, and the rows over atoms: the people of a quasi-identifier.

    Of more than `ATOMS` those whom no linear row tells apart are one. Where more is stated than linear rows of people
    there are no rows.
    """
    somebody, rows = program.weight > 0, None
    told = program.cells.owner[:, None]
    alike = program.single and not program.internal and cases_of(program) is None
    if alike and sum(said.rows for said in program.linear) * len(program.cells) <= SIZE:
        matrix, lower, upper, _ = sparse_rows(program)
        coef = matrix.toarray().reshape(-1, len(program.cells), program.n_classes)
        told = coef.transpose(1, 0, 2).reshape(len(program.cells), -1)
        if somebody.sum() <= ATOMS:
            told = np.column_stack([told, program.cells.owner])
    atom = np.full(len(told), -1)
    _, first, atom[somebody] = np.unique(told[somebody], axis=0, return_index=True, return_inverse=True)
    if told.shape[1] != 1:
        rows = AtomRows(coef[:, np.flatnonzero(somebody)[first]], lower, upper)
    return atom, rows


def _of_trees(program: Program) -> Iterator[KnownGroup]:
    """Groups whose number of a class trees state exactly."""
    for said in program.linear:
        if said.kind == "statements" or said.weights is not None:
            continue
        for coef, *sides in zip(said.coef, said.lower, said.upper, strict=True):
            klass = np.flatnonzero(coef)
            if len(klass) == 1:
                low, high = sorted(float(side / coef[klass[0]]) for side in sides)
                if np.isfinite([low, high]).all() and np.ceil(low - WHOLE) == np.floor(high + WHOLE):
                    people, cells = round(float(program.region_size[said.region])), program.regions[said.region]
                    yield KnownGroup(str(said.origin), cells, int(klass[0]), people, round(low))


class Changes:
    """Independent changes, shape (n, n_atoms), and orthonormal rows that span them."""

    def __init__(self, n_atoms: int) -> None:
        self.rows, self.basis = np.zeros((0, n_atoms), np.int64), np.zeros((0, n_atoms))

    @property
    def all(self) -> bool:
        """Whether every change is made of these."""
        return len(self.rows) == self.rows.shape[1]

    def add(self, rows: IntArray) -> bool:
        """Take those that are not made of others; whether there is one."""
        left = rows - rows @ self.basis.T @ self.basis
        _, size, order = qr(left.T, mode="economic", pivoting=True)
        new = order[: int((np.abs(np.diag(size)) > 1e-6).sum())]
        if len(new):
            self.rows = np.concatenate([self.rows, rows[new]])
            self.basis = np.linalg.qr(self.rows.T.astype(float))[0].T
        return len(new) > 0

    def add_steps(self, steps: IntArray) -> None:
        """Take changes that are each given by its atoms, as signs times (atom + 1), until few more are of use."""
        steps, useless = np.random.default_rng(0).permutation(steps), 0
        for begin in range(0, len(steps), BATCH):
            at = steps[begin : begin + BATCH]
            rows = np.zeros((len(at), self.rows.shape[1]), np.int64)
            np.add.at(rows, (np.arange(len(at))[:, None], np.abs(at) - 1), np.sign(at))
            useless = 0 if self.add(rows) else useless + 1
            if self.all or useless == USELESS:
                break


@dataclass(frozen=True, slots=True, eq=False)
class AtomRows:
    """``lower <= sum over atoms and classes of coef[r, a, x] people[a, x] <= upper``."""

    coef: FloatArray
    lower: FloatArray
    upper: FloatArray

    def moves(self, worlds: Sequence[IntArray], klass: int) -> Changes:
        """Independent changes of the people of a class, each possible in a world alone."""
        found = Changes(worlds[0].shape[0])
        for world in worlds:
            for other in range(world.shape[1]):
                for some in self._possible(world, klass, other) if other != klass else ():
                    found.add_steps(some)
                    if found.all:
                        return found
        return found

    def _possible(self, world: IntArray, klass: int, other: int) -> Iterator[IntArray]:
        """Changes of one, two and four people between two classes, each by its atoms: signs times (atom + 1)."""
        gain = self.coef[:, :, klass] - self.coef[:, :, other]
        now = np.einsum("rax,ax->r", self.coef, world)
        least, most = (self.lower - now)[:, None], (self.upper - now)[:, None]
        up, down = np.flatnonzero(world[:, other]), np.flatnonzero(world[:, klass])

        def kept(change: FloatArray) -> IntArray:
            return np.flatnonzero(((change >= least) & (change <= most)).all(axis=0))

        yield np.concatenate([up[kept(gain[:, up])] + 1, -1 - down[kept(-gain[:, down])]])[:, None]
        pairs = []
        for a in up.tolist():
            b = down[kept(gain[:, [a]] - gain[:, down])]
            pairs.append(np.column_stack([np.full(len(b), a + 1), -1 - b]))
        yield np.concatenate([np.zeros((0, 2), np.int64), *pairs])
        yield self._fours(gain, up, down)

    @staticmethod
    def _fours(gain: FloatArray, up: IntArray, down: IntArray) -> IntArray:
        """Two pairs whose sums are each other's opposite, shape (n, 4)."""
        pairs = np.stack(np.meshgrid(up, down, indexing="ij"), axis=-1).reshape(-1, 2)
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        one = np.random.default_rng(0).random(len(gain)) @ gain  # tells columns apart
        key = np.rint((one[pairs[:, 0]] - one[pairs[:, 1]]) * 1e6).astype(np.int64)
        order = np.argsort(key, kind="stable")
        pairs, key = pairs[order], key[order]
        first = np.searchsorted(key, -key)
        has = first < len(key)
        has[has] = key[first[has]] == -key[has]
        fours = np.column_stack([pairs[has], pairs[first[has]]])
        fours = fours[(fours[:, 0] != fours[:, 2]) & (fours[:, 1] != fours[:, 3])]
        fours = np.random.default_rng(0).permutation(fours)[:MOST]
        off = gain[:, fours[:, 0]] - gain[:, fours[:, 1]] + gain[:, fours[:, 2]] - gain[:, fours[:, 3]]
        fours = fours[np.abs(off).max(axis=0, initial=0.0) <= SUMMED * np.abs(gain).max(initial=0.0)]
        return np.asarray((fours + 1) * np.array([1, -1, 1, -1]))


class _KnownWorlds:
    """The worlds that are known, each the number of people of each atom and class, shape (n_atoms, n_classes)."""

    def __init__(self, program: Program, atom: IntArray, rows: AtomRows | None, worlds: Sequence[IntArray]) -> None:
        self.program, self.atom, self.clock, self.work, self._rows = program, atom, Clock(SECONDS), WORK, rows
        n_atoms = int(atom.max()) + 1
        of, first = np.unique(program.cells.owner, return_index=True)
        self.size = np.bincount(atom[first] + 1, program.table.counts[of], n_atoms + 1)[1:].astype(np.int64)
        self.several = np.bincount(atom[first] + 1, minlength=n_atoms + 1)[1:] > 1
        self.worlds: list[IntArray] = []
        for world in worlds:
            self._see(world)
        if not self.worlds:
            self._ask(program)
        if not self.worlds:
            raise _TooLong

    def of_trees(self) -> _KnownWorlds | None:
        """The same of what trees tell alone; None where they tell nothing."""
        linear = tuple(said for said in self.program.linear if said.kind != "statements")
        if not linear and not self.program.internal:
            return None
        release, found = replace(self.program.release, statements=()), copy(self)
        found.program, found.clock = replace(self.program, linear=linear, release=release), Clock(SECONDS)
        found.work = WORK
        found.worlds = self.worlds.copy()
        return found

    def _see(self, world: IntArray) -> None:
        """Take a world of cells and classes, if it satisfies everything and is a new one."""
        inside = self.atom >= 0
        found = np.zeros((len(self.size), world.shape[1]), np.int64)
        np.add.at(found, self.atom[inside], world[inside])
        if not any((found == each).all() for each in self.worlds) and holds(self.program, world):
            self.worlds.append(found)

    def _ask(self, program: Program) -> bool:
        """Take worlds of a program; whether there is none."""
        worlds, none = worlds_in(program, self.clock)
        for world in worlds:
            self._see(world)
        return none

    def moves(self, klass: int) -> Changes:
        """Changes of the people of a class that are possible."""
        return Changes(len(self.size)) if self._rows is None else self._rows.moves(self.worlds[:WORLDS], klass)

    def spend(self, size: int) -> int:
        """Count a question of so many numbers; how many more of it there is work for."""
        self.work -= QUESTION + size
        if self.work < 0 or self.clock.stop() is not None:
            raise _TooLong
        return self.work // (QUESTION + size)

    def _differs(self, union: BoolArray, klass: int) -> bool:
        """Whether two known worlds differ in the number of a class in a union."""
        return len({int(world[union, klass].sum()) for world in self.worlds}) > 1

    def follows(self, union: BoolArray, klass: int) -> bool:
        """Whether a union of atoms has one number in all worlds; if not, known ones show it then."""
        cells, people = np.flatnonzero((self.atom >= 0) & union[self.atom]), int(self.size[union].sum())
        number = int(self.worlds[0][union, klass].sum())
        if self._differs(union, klass):
            return False
        aim = np.zeros((1, len(self.atom), self.program.n_classes))
        aim[0, cells, klass] = 1.0
        [(low, high)] = sum_ends(self.program, aim, self._see)
        if number - 1 < low - WHOLE and high + WHOLE < number + 1:
            return True
        for least, most in ((0, number - 1), (number + 1, people)):
            if least <= most and not self._differs(union, klass):
                self.spend(aim.size)
                none = self._ask(with_sum(self.program, (cells, klass), least, most))
                if not none and not self._differs(union, klass):
                    raise _TooLong
        return not self._differs(union, klass)


class _Unions:
    """Unions of atoms whose number of one class follows: of atoms ``open``, that have neither nobody nor everybody."""

    def __init__(
        self,
        search: _KnownWorlds,
        alone: _KnownWorlds | None,
        klass: int,
        stated: Sequence[KnownGroup],
        trees: Sequence[KnownGroup],
    ) -> None:
        self._search, self._alone, self._klass, self._n = search, alone, klass, len(search.size)
        self._moves = search.moves(klass)
        self._moved = self._moves.rows.any(axis=0)
        self._seen, self._of_open = 1, self._n
        self._parts: list[IntArray] | None = None
        self._kept: dict[tuple[bytes, bool], BoolArray] = {}
        self._stated = [union for _, union in self._of_class(stated)]
        known = [*self._of_class([*stated, *trees])]
        self._cuts = [union for _, union in known]
        self._sources = {union.tobytes(): group.source for group, union in known}
        self._open, self._listed = np.ones(self._n, bool), np.zeros(self._n, bool)
        for group, union in known:
            self._listed |= union & group.plain

    def _of_class(self, groups: Sequence[KnownGroup]) -> Iterator[tuple[KnownGroup, BoolArray]]:
        """Groups of the class that are unions of atoms; of two classes those of the other one are turned."""
        atom, of_two = self._search.atom, self._search.program.n_classes == 2
        counts = np.bincount(atom[atom >= 0], minlength=self._n)
        for group in groups:
            inside = atom[group.cells]
            union = np.bincount(inside[inside >= 0], minlength=self._n) == counts
            whole = int(union[inside[inside >= 0]].sum()) == int((inside >= 0).sum())
            if whole and union.any() and (group.klass == self._klass or of_two):
                people = int(self._search.size[union].sum())
                number = group.number if group.klass == self._klass else people - group.number
                yield replace(group, klass=self._klass, people=people, number=number), union

    def found(self) -> Iterator[KnownGroup]:
        """The groups, those of the fewest people of the class first, then those of the fewest others."""
        for others in (False, True):
            listed = 0
            while listed < LISTED and (union := self._next(others)) is not None:
                if not self._search.follows(union, self._klass):
                    continue
                group = self._group(union)
                if group.plain:
                    self._open &= ~union
                else:
                    self._cuts.append(union)
                if not self._is_known(group, union):
                    listed += not group.plain
                    yield group
        worlds = np.array([world[:, self._klass] for world in self._search.worlds])
        parted = self._moved | ((worlds > 0) & (worlds < self._search.size)).any(axis=0)
        if (self._open & self._search.several & ~parted).any():  # all of an atom may be alike: parts of it follow
            raise _TooLong

    def _is_known(self, group: KnownGroup, union: BoolArray) -> bool:
        """Whether a group is part of a listed one that is plain, or known from trees alone."""
        if group.plain and self._listed[union].all():
            return True
        try:
            return self._alone is not None and self._alone.follows(union, self._klass)
        except _TooLong:
            return False

    def _group(self, union: BoolArray) -> KnownGroup:
        """A union as a group, named as the difference of two known groups where it is one."""
        search, source = self._search, TOGETHER
        for whole in self._stated:
            less = self._sources.get((whole & ~union).tobytes())
            if (whole >= union).all() and less is not None:
                source = f"{self._sources[whole.tobytes()]} less {less}"
                break
        cells = np.flatnonzero((search.atom >= 0) & union[search.atom])
        number = int(search.worlds[0][union, self._klass].sum())
        return KnownGroup(source, cells, self._klass, int(search.size[union].sum()), number)

    def _next(self, others: bool) -> BoolArray | None:
        """The union with the fewest people of the class (or ``others``) that no two known worlds tell apart."""
        worlds, found = np.array([world[:, self._klass] for world in self._search.worlds]), self._moves
        if self._seen < len(worlds) and found.add(worlds[self._seen :] - worlds[0]):
            self._parts = None
        self._seen, moves = len(worlds), found.rows
        if self._parts is None or self._of_open != int(self._open.sum()):
            self._parts, self._of_open = list(self._linked(moves)), int(self._open.sum())
        cost = (self._search.size - worlds[0] if others else worlds[0]) * (self._n + 1) + 1
        best, least = None, np.inf
        for part in self._parts:
            key = part.tobytes(), others
            union = self._kept.get(key)
            if union is None or (moves @ union).any() or not self._is_open(union):
                union = self._kept[key] = self._cheapest(cost, moves, part)
            if union.any() and cost[union].sum() < least:
                best, least = union, cost[union].sum()
        return best

    def _is_open(self, union: BoolArray) -> bool:
        """Whether a union has open atoms only, and no group within it is known; no union has none."""
        return bool(self._open[union].all()) and not any(union[cut].all() for cut in self._cuts)

    def _linked(self, moves: IntArray) -> Iterator[IntArray]:
        """Open atoms that moves link: a smallest union has atoms of one part."""
        span = Changes(int(self._open.sum()))
        span.add(moves[:, self._open])
        linked = np.abs(span.basis.T @ span.basis) > 1e-9
        n_parts, part = connected_components(linked, directed=False)
        return (np.flatnonzero(self._open)[part == i] for i in range(n_parts))

    def _cheapest(self, cost: IntArray, moves: IntArray, part: IntArray) -> BoolArray:
        """The union of some atoms that costs least; without atoms if there is none."""
        union = np.zeros(self._n, bool)
        inside = moves[:, part]
        inside = inside[inside.any(axis=1)]
        if len(inside) and np.linalg.matrix_rank(inside) == len(part):
            return union
        within = np.zeros(self._n, bool)
        within[part] = True
        cuts = np.array([cut[part] for cut in self._cuts if within[cut].all()], float).reshape(-1, len(part))
        rows = [
            LinearConstraint(np.ones((1, len(part))), 1, np.inf),
            *([LinearConstraint(inside, 0, 0)] if len(inside) else []),
            *([LinearConstraint(cuts, -np.inf, cuts.sum(axis=1) - 1)] if len(cuts) else []),
        ]
        size = len(part) * (1 + len(inside) + len(cuts))
        more, left = self._search.spend(size), self._search.clock.left() or 0.0
        options = {"mip_rel_gap": 0.0, "time_limit": max(left, 0.1), "node_limit": 1 + more}
        found = milp(cost[part], integrality=np.ones(len(part)), bounds=Bounds(0, 1), constraints=rows, options=options)
        for _ in range(int(found.mip_node_count or 0)):
            self._search.spend(size)
        if found.status == 2:
            return union
        if found.status != 0:
            raise _TooLong
        union[part] = found.x > 0.5
        if (moves @ union).any() or not union.any():
            raise _TooLong
        return union
