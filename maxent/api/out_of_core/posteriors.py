"""Posteriors of groups of leaves: written as files, measured in sums, and the surest guesses of all groups."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.api.out_of_core.folder import PartFile
from maxent.models.out_of_core.runs import LeafGroup, Packing, Rows, positions, read_group

if TYPE_CHECKING:
    from maxent.constraints.program.program import Program
    from maxent.models.arrays import BoolArray, FloatArray, IntArray
    from maxent.models.out_of_core.coding import Coded

# The quasi-identifiers that an adversary is surest of and, with a truth, right about: the first ones of all groups.


@dataclass(frozen=True, slots=True)
class Surest:
    """A quasi-identifier, as codes, with its people and the likeliest class; the fewest ``hidden`` nats come first."""

    hidden: float
    count: int
    codes: tuple[int, ...]
    klass: int
    probability: float
    divergence: float | None

    def entry(self, table: Coded, classes: tuple[str, ...]) -> dict[str, Any]:
        """An item of ``most_disclosed`` of a comparison."""
        found: dict[str, Any] = {
            "qi": table.named(self.codes),
            "count": self.count,
            "class": classes[self.klass],
            "probability": self.probability,
        }
        return found if self.divergence is None else {**found, "divergence": self.divergence}


def surest_of(
    codes: IntArray, count: IntArray, p: FloatArray, divergence: FloatArray | None, most: int
) -> list[Surest]:
    """The first of some quasi-identifiers, up to ``most``; shapes (n, n_attributes), (n,), (n, n_classes) and (n,)."""
    if not most or not len(p):
        return []
    largest = p.max(axis=1)
    hidden = -np.log(largest) if divergence is None else divergence - np.log(largest)
    last = min(most, len(hidden)) - 1
    here = np.flatnonzero(hidden <= np.partition(hidden, last)[last])
    order = here[np.lexsort((*codes[here].T[::-1], -count[here], hidden[here]))][:most]
    return [
        Surest(
            float(hidden[i]),
            int(count[i]),
            tuple(codes[i].tolist()),
            int(p[i].argmax()),
            float(largest[i]),
            None if divergence is None else float(divergence[i]),
        )
        for i in order.tolist()
    ]


def first_of(found: Iterable[Surest], most: int) -> list[Surest]:
    """The first of those of several blocks or groups."""
    return sorted(found, key=lambda each: (each.hidden, -each.count, each.codes))[:most]


# Quasi-identifiers whose probabilities are in memory at the same time, and of a row group.
ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What is to be made of every group.

    ``runs`` are of the adversary's table, ``truth`` those of the truth, whose last words hold the class, too; None
    without. ``posterior`` is the path of P(class | leaf), shape (n_leaves, n_classes); ``single`` are the people whose
    posteriors are not those of their leaves, None for none. ``columns`` are the names of the columns of
    the files, which go to the ``folder``, None for none; ``levels`` are what the codes of attributes mean. Of ``top``
    quasi-identifiers divergences are named; ``surest`` is how many are that an adversary is surest of.
    """

    runs: tuple[str, ...]
    truth: tuple[str, ...] | None
    packing: Packing
    levels: tuple[npt.NDArray[Any], ...]
    posterior: Path
    single: SingleRow | None
    columns: tuple[str, ...]
    folder: Path | None
    top: int
    surest: int = 0


# Codes that comparisons of splits name, by column and form, see `maxent.constraints.program.program.Internal`.
Named = dict[tuple[int, str], npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """What choices of splits that matter look at: people of a leaf who are alike there have one posterior.

    ``of_leaf``, shape (n_leaves,), is the number of the set of each leaf, -1 for none. Of each attribute that it looks
    at, one of the ``sets`` has the code that stands for each code, shape (n_codes,).
    """

    of_leaf: IntArray
    sets: tuple[dict[int, IntArray], ...] = ()

    def standing(self, leaf: npt.NDArray[Any], codes: IntArray) -> IntArray:
        """The codes that stand for those of people, shape (n_people, n_attributes): 0 where nothing looks."""
        found, own = np.zeros_like(codes), self.of_leaf[leaf]
        for number in np.unique(own[own >= 0]).tolist():
            rows = np.flatnonzero(own == number)
            for column, standing in self.sets[number].items():
                found[rows, column] = standing[codes[rows, column]]
        return found

    def refined(self, program: Program, active: IntArray, leaf: IntArray) -> tuple[Looks, BoolArray]:
        """The same with what rows of comparisons look at, and the leaves where that tells more people apart."""
        from maxent.constraints.presolve.merge import by_constraint
        from maxent.constraints.program.residuals import InternalRows

        looks: dict[tuple[int, int], Named] = {}
        for number, offsets in by_constraint(InternalRows(program), active) if len(active) else ():
            compared = program.internal[number]
            here, look = looks.setdefault((compared.tree, compared.place), {}), (compared.column, compared.form)
            here[look] = np.union1d(here.get(look, []), compared.codes[offsets]).astype(np.int64)
        of_leaf, sets, more = self.of_leaf.copy(), list(self.sets), np.zeros(len(self.of_leaf), bool)
        sizes = [len(level) for level in program.table.levels]
        for (tree, place), named in looks.items():
            below = np.unique(leaf[program.cells.owner[program.cells.trees[tree].at(place)]])
            for number in np.unique(of_leaf[below]).tolist():
                before = sets[number] if number >= 0 else {}
                if after := _finer(before, named, sizes):
                    here = below[of_leaf[below] == number]
                    of_leaf[here], more[here] = len(sets), True
                    sets.append(after)
        return Looks(of_leaf, tuple(sets)), more


def _finer(before: dict[int, IntArray], named: Named, sizes: Sequence[int]) -> dict[int, IntArray] | None:
    """A set that looks at more, None where it tells nobody else apart."""
    after = dict(before)
    for (column, form), given in named.items():
        codes = label = np.arange(sizes[column])
        if form == "cuts":
            label = np.searchsorted(given, codes)
        elif form == "each":
            label = np.where(np.isin(codes, given), codes + 1, 0)
        own = after.get(column, np.zeros_like(codes))
        _, first, inverse = np.unique(own * (sizes[column] + 1) + label, return_index=True, return_inverse=True)
        after[column] = first[inverse]
    same = all(np.array_equal(each, before.get(column, np.zeros_like(each))) for column, each in after.items())
    return None if same else after


@dataclass(frozen=True, slots=True, eq=False)
class SingleRow:
    """People told apart by ``looks``, sorted ``rows`` of the codes that stand for theirs, and P(class) of each."""

    looks: Looks
    rows: Rows
    posterior: FloatArray


# Minus the divergence of a quasi-identifier, nats, and its codes. Sorted, the farthest quasi-identifiers come first.
Far = tuple[float, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Divergences:
    """Divergences of the quasi-identifiers of a group from the truth: sums of finite ones by leaf, nats."""

    leaves: IntArray
    total: FloatArray
    infinite: int
    least: float
    top: tuple[Far, ...]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A group that was evaluated: its rows, the file of posteriors, and some whose people differ in the truth."""

    rows: int = 0
    path: str | None = None
    divergences: Divergences | None = None
    different: tuple[tuple[tuple[int, ...], int, int], ...] = ()
    n_different: int = 0
    surest: tuple[Surest, ...] = ()


def evaluate_group(group: LeafGroup, path: Path) -> Evaluated:
    """Evaluate a group as the `Evaluation` in a file says."""
    how: Evaluation = unpickled(path)
    rows = read_group(how.runs, group)
    if rows is None or not len(rows):
        return Evaluated()
    posterior = np.load(how.posterior, mmap_mode="r")
    truth = None
    if how.truth is not None:
        truth = read_group(how.truth, group, how.packing.room)
        if (found := differences(rows, truth, how.packing)) is not None:
            return found
    sums = _LeafSums(rows, how.top)
    written, surest = None, list[Surest]()
    for begin, codes, p, people in _blocks(rows, truth, how, posterior):
        divergence = None if people is None else _divergence(people, p)
        if divergence is not None:
            sums.add(begin, codes, divergence)
        here = rows.count[begin : begin + len(p)]
        surest = first_of([*surest, *surest_of(codes, here, p, divergence, how.surest)], how.surest)
        if how.folder is not None:
            written = written or PartFile(how.folder, how.columns, how.levels, _kinds(how))
            numbers = [here, *p.T, *([] if divergence is None else [divergence])]
            written.add(codes, numbers)
    path_of = None if written is None else written.closed()
    far = None if truth is None else sums.found()
    return Evaluated(len(rows), path_of, far, surest=tuple(surest))


def _divergence(people: FloatArray, posterior: FloatArray) -> FloatArray:
    from maxent.disclosure.measures import individual_divergence  # with a truth only

    return individual_divergence(people, posterior)


def _kinds(how: Evaluation) -> list[Any]:
    """The types of the columns after those of attributes."""
    import pyarrow as pa

    return [pa.int64(), *[pa.float64()] * (len(how.columns) - len(how.levels) - 1)]


def _blocks(
    rows: Rows, truth: Rows | None, how: Evaluation, posterior: FloatArray
) -> Iterator[tuple[int, IntArray, FloatArray, FloatArray | None]]:
    """Blocks of quasi-identifiers: where each begins, codes, probabilities and, with a truth, people of each class."""
    ends = None if truth is None else owner(truth, how.packing.room)
    own = how.single
    for begin in range(0, len(rows), ROWS):
        here = slice(begin, begin + ROWS)
        leaf = rows.leaf[here]
        people = None
        if truth is not None and ends is not None:
            people = np.zeros((len(leaf), posterior.shape[1]))
            mine = slice(*np.searchsorted(ends, [begin, begin + len(leaf)]).tolist())
            klass = truth.words[-1, mine] % how.packing.room
            people[ends[mine] - begin, klass] = truth.count[mine]
        p, codes = np.array(posterior[leaf]), how.packing.unpack(rows.words[:, here])
        if own is not None:
            standing = how.packing.pack(own.looks.standing(leaf, codes))
            at, known = positions(own.rows, Rows(leaf, standing, rows.count[here]))
            p[known] = own.posterior[at[known]]
        yield begin, codes, p, people


def owner(truth: Rows, room: int) -> IntArray:
    """The number of the quasi-identifier of each row of a truth, increasing from 0."""
    new = np.ones(len(truth), bool)
    own = truth.words[-1] // room
    new[1:] = own[1:] != own[:-1]
    new[1:] |= truth.leaf[1:] != truth.leaf[:-1]
    for word in truth.words[:-1]:
        new[1:] |= word[1:] != word[:-1]
    return np.cumsum(new) - 1


def differences(rows: Rows, truth: Rows | None, packing: Packing) -> Evaluated | None:
    """The quasi-identifiers whose people are not as many in the truth, None where all are."""
    known: dict[tuple[int, ...], int] = {}
    if truth is not None and len(truth):
        of = owner(truth, packing.room)
        first = np.flatnonzero(np.diff(of, prepend=-1))
        words = truth.words[:, first].copy()
        words[-1] //= packing.room
        count = np.bincount(of, truth.count).astype(np.int64)
        if words.shape == rows.words.shape and (words == rows.words).all() and (count == rows.count).all():
            return None
        known = dict(zip(map(tuple, words.T.tolist()), count.tolist(), strict=True))
    own = dict(zip(map(tuple, rows.words.T.tolist()), rows.count.tolist(), strict=True))
    wrong = [key for key in sorted(own.keys() | known.keys()) if own.get(key, 0) != known.get(key, 0)]
    shown = packing.unpack(np.array(wrong[:11], np.int64).reshape(-1, len(rows.words)).T)
    different = tuple(
        (tuple(codes), own.get(key, 0), known.get(key, 0)) for codes, key in zip(shown.tolist(), wrong, strict=False)
    )
    return Evaluated(len(rows), different=different, n_different=len(wrong))


@dataclass(slots=True)
class _LeafSums:
    """Divergences of a group as they come."""

    rows: Rows
    most: int
    values: list[FloatArray] = field(default_factory=list)
    top: list[Far] = field(default_factory=list)

    def add(self, begin: int, codes: IntArray, divergence: FloatArray) -> None:
        self.values.append(divergence)
        order = np.argsort(-divergence, kind="stable")
        if len(order) > self.most:
            least = divergence[order[self.most - 1]]
            order = np.flatnonzero(divergence >= least)
        found = ((-float(divergence[i]), tuple(codes[i].tolist())) for i in order.tolist())
        self.top = sorted([*self.top, *found])[: self.most]

    def found(self) -> Divergences:
        value = np.concatenate(self.values)
        finite = np.isfinite(value)
        start = np.flatnonzero(np.diff(self.rows.leaf, prepend=-1))
        total = np.add.reduceat(np.where(finite, value, 0.0) * self.rows.count, start)
        infinite = int((~finite).sum())
        return Divergences(self.rows.leaf[start].astype(np.int64), total, infinite, float(value.min()), tuple(self.top))


@lru_cache(maxsize=2)
def unpickled(path: Path) -> Any:
    """What all calls of a step need, which each process reads once."""
    return pickle.loads(path.read_bytes())
