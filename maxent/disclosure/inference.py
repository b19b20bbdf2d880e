"""Inference: the posterior of the people of a table, with all measures, by individual, by node and by group."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maxent.constraints.kinds.registry import KINDS
from maxent.constraints.program.program import CHUNK, Linear, Program, statement_rows
from maxent.disclosure.measures import (
    MEASURES,
    TOLERANCE,
    AlphaK,
    Believed,
    DivergenceSummary,
    Gain,
    Number,
    at_most,
    checked_counts,
    checked_posterior,
    checked_prior,
    conditional_entropy,
    divergence_summary,
    estimated,
    gain_over_prior,
    individual_divergence,
)
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.models.defenses.method import CERTAIN
from maxent.models.tables.cells import named_frame, own_names
from maxent.models.tables.classes import marginal

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.disclosure.baseline import Baseline, ControlShares


# Everything that a posterior discloses, in one value: all measures, and with a truth the divergences.


@dataclass(frozen=True, slots=True)
class Possible:
    """Disclosure for groups as uneven as published numbers allow."""

    certain: int
    max_posterior: float
    right_guesses: float


@dataclass(frozen=True, slots=True)
class Disclosure:
    """Everything `measure` computes; ``divergence`` and ``individual`` (nats, shape (n_qi,)) only with the truth.

    ``measures`` has every measure of an estimate by its key in `maxent.disclosure.measures`. ``surest`` is
    ``max_posterior`` with the error of computing it, the number that a limit is compared with, and ``is_certain``,
    shape (n_qi,), says whose class is certain.
    """

    certain: int
    max_posterior: float
    surest: float
    possible: Possible
    tolerance: float
    bayes_vulnerability: float
    entropy: float
    entropy_l_diversity: float
    alpha_k: AlphaK
    t_closeness: float
    gain: Gain
    measures: Mapping[str, Number] = field(compare=False, repr=False)
    is_certain: npt.NDArray[np.bool_] = field(compare=False, repr=False)
    divergence: DivergenceSummary | None = None
    individual: FloatArray | None = field(default=None, compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The ``disclosure`` part of a summary: keys -> Python numbers, ready for JSON."""
        own = {
            "certain": self.certain,
            "max_posterior": self.max_posterior,
            "tolerance": self.tolerance,
            "possible": asdict(self.possible),
            "bayes_vulnerability": self.bayes_vulnerability,
            "entropy_l_diversity": self.entropy_l_diversity,
            "alpha_k": asdict(self.alpha_k),
            "t_closeness": self.t_closeness,
            "gain": asdict(self.gain),
        }
        return own | {key: self.measures[key] for key, m in MEASURES.items() if m.json is None and key in self.measures}

    def of_optimum(self, posterior: FloatArray, counts: IntArray) -> Disclosure:
        """The same with the entropy of one optimum, where the posterior is the mean of several.

        ``posterior`` and ``counts`` are those of `measure`; of the optimum, shapes (n_qi, n_classes) and (n_qi,).
        """
        entropy = conditional_entropy(posterior, counts)
        return replace(self, entropy=entropy, measures={**self.measures, "entropy": entropy})

    def of_groups(self, row: IntArray) -> Disclosure:
        """The same of quasi-identifiers in place of groups of them that have one posterior: ``row`` is that of each."""
        return replace(self, is_certain=self.is_certain[row])


def measure(
    posterior: npt.ArrayLike,
    counts: npt.ArrayLike,
    truth: npt.ArrayLike | None = None,
    top: int = 10,
    prior: npt.ArrayLike | None = None,
    *,
    surest: npt.ArrayLike | None = None,
    possible: npt.ArrayLike | None = None,
    tolerance: float = TOLERANCE,
    right: FloatArray | None = None,
    pure: BoolArray | None = None,
    baseline: Baseline | None = None,
    control: ControlShares | None = None,
) -> Disclosure:
    """Every measure together.

    Parameters
    ----------
    posterior : array_like, shape (n_qi, n_classes)
        P(x|q).
    counts : array_like, shape (n_qi,)
        Individuals.
    truth : array_like, shape (n_qi, n_classes), optional
        Individuals per class; the divergences need it.
    top : int
        How many of the largest divergences to name and average, at least 1.
    prior : array_like, shape (n_classes,), optional
        P(x) as the adversary knew it before the release; uniform by default.
    surest, possible : array_like, shape (n_qi,), optional
        The largest P(x|q) at most, by the estimate and as far as published numbers allow;
        by default as computed, with the error of computing it.
    tolerance : float
        That error, a probability.
    right, pure : shape (n_qi,), optional
        People who are guessed right, and whether they are in a leaf of one class: `maxent.disclosure.truth`.
    baseline : Baseline, optional
        What guesses without the release achieve.
    control : Control, optional
        Members against people who were not in the data.
    """
    p, n = checked_posterior(posterior), checked_counts(counts, posterior)
    individual = None if truth is None else individual_divergence(truth, p)
    sure = at_most(p.max(axis=1), tolerance) if surest is None else np.asarray(surest, np.float64)
    allowed = sure if possible is None else np.asarray(possible, np.float64)
    before = checked_prior(prior, p.shape[1])
    found = estimated(Believed(p, n, sure, allowed, before, individual, top, right, pure, baseline, control))
    gain, least = gain_over_prior(p, n, prior), AlphaK(found["max_posterior"], int(found["alpha_k"]))
    named: dict[str, Any] = {f.name: found[f.name] for f in fields(Disclosure) if f.name in found}
    named["alpha_k"] = least
    named["divergence"] = None if individual is None else divergence_summary(individual, n, top)
    return Disclosure(
        **named,
        possible=Possible(int(found["possible_certain"]), found["possible_posterior"], found["possible_right"]),
        tolerance=tolerance,
        gain=gain,
        individual=individual,
        measures=found,
        is_certain=sure >= CERTAIN,
    )


@dataclass(frozen=True, eq=False)
class Inference:
    """Posterior P(class | quasi-identifier) of the people of a table, and its disclosure.

    ``probabilities`` has shape (n_quasi_identifiers, n_classes), rows in the order of ``program.table``; `posterior`
    is the same as a DataFrame, in the order in which the quasi-identifiers appear in the table that was read. Where
    people share posteriors, these are kept once: ``sharing`` is the row of ``shared`` that each has.
    """

    program: Program
    shared: FloatArray
    disclosure: Disclosure
    sharing: IntArray | None = field(default=None, kw_only=True, repr=False)

    @cached_property
    def probabilities(self) -> FloatArray:
        """P(class | quasi-identifier), shape (n_quasi_identifiers, n_classes)."""
        return self.shared if self.sharing is None else self.shared[self.sharing]

    @property
    def order(self) -> npt.NDArray[np.int64]:
        """Rows of the table in the order in which they were first read."""
        return np.argsort(self.program.table.lines, kind="stable").astype(np.int64)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of `posterior`: attributes, ``count``, ``P(class)``; ``divergence`` with a truth.

        Those that an attribute has already get the prefix ``maxent_``.
        """
        names = [a.name for a in self.program.table.attributes]
        ours = ["count", *(f"P({name})" for name in self.program.release.target.classes)]
        ours += ["divergence"] * (self.disclosure.individual is not None)
        return (*names, *own_names(ours, names))

    def row(self, quasi_identifier: int) -> tuple[str | int | float, ...]:
        """The values of `columns` for one quasi-identifier, a row number of ``program.table``."""
        table, individual = self.program.table, self.disclosure.individual
        values = [*self.values(quasi_identifier), int(table.counts[quasi_identifier])]
        values += self.probabilities[quasi_identifier].tolist()
        return tuple(values) if individual is None else (*values, float(individual[quasi_identifier]))

    @property
    def posterior(self) -> DataFrame:
        """One row per distinct quasi-identifier in the order they were read, with the columns `columns`; a copy."""
        return self._posterior.copy()

    @cached_property
    def _posterior(self) -> DataFrame:
        individual = [] if self.disclosure.individual is None else [self.disclosure.individual]
        people = (column for _, column in self.program.table.frame().items())
        table = named_frame([*people, *self.probabilities.T, *individual], self.columns)
        return table.iloc[self.order].reset_index(drop=True)

    def values(self, row: int) -> list[str | float]:
        """The attributes of a quasi-identifier: strings, floats."""
        table = self.program.table
        values = (level[code] for level, code in zip(table.levels, table.codes[row], strict=True))
        return [v if isinstance(v, str) else float(v) for v in values]


# Curves over individuals: the number with a class of at least a probability, and means of the most disclosed.

# Points of a curve, whatever the number of individuals.
POINTS = 400


@dataclass(frozen=True, slots=True, eq=False)
class Individuals:
    """An adversary's inference about the people of each distinct quasi-identifier, arrays of shape (n_qi,).

    ``counts`` individuals; ``largest`` is the largest P(x|q); ``divergence`` (nats, ``inf`` when the posterior rules
    out what is true) is None without a truth; ``certain`` of the individuals have a class of probability 0.999 or more.
    ``classes`` is how many there are, so that ``largest`` is at least 1 / classes.
    """

    counts: IntArray
    largest: FloatArray
    divergence: FloatArray | None
    certain: int
    classes: int

    @classmethod
    def of(cls, result: Inference) -> Individuals:
        """The individuals of an inference."""
        found, program = result.disclosure, result.program
        largest = result.probabilities.max(axis=1)
        return cls(program.table.counts, largest, found.individual, found.certain, program.n_classes)

    def __len__(self) -> int:
        return int(self.counts.sum())

    def known_with(self) -> tuple[FloatArray, IntArray]:
        """Probabilities in ascending order, and how many individuals have a class of at least that probability."""
        values, place = np.unique(self.largest, return_inverse=True)
        people = np.bincount(place, self.counts)[::-1].cumsum()[::-1].astype(np.int64)
        shown = np.unique(np.linspace(0, len(values) - 1, POINTS).round().astype(np.int64))
        return values[shown], people[shown]

    def mean_of_top(self) -> tuple[IntArray, FloatArray]:
        """Numbers K of individuals, from 1 to all, and the mean divergence (nats) of the K most disclosed.

        Most disclosed are those with the smallest divergence, so the curve rises; it ends at the overall divergence.
        After Zhu and Du (2010), Fig. 8, which averages over the top K in the same way.

        Raises `ValueError` without a truth.
        """
        if self.divergence is None:
            raise ValueError("divergences need a truth")
        order = np.argsort(self.divergence, kind="stable")
        ends = np.append(0, self.counts[order].cumsum())
        sums = np.append(0.0, (self.counts[order] * self.divergence[order]).cumsum())
        k = np.unique(np.geomspace(1, ends[-1], POINTS).round().astype(np.int64))
        finite = int(np.isfinite(sums).sum())
        mean = np.interp(k, ends[:finite], sums[:finite]) / k
        return k, np.where(k <= ends[finite - 1], mean, np.inf)


# Disclosure at each node of a tree: measures of the people whose quasi-identifier can be there.


@dataclass(frozen=True, slots=True)
class NodeDisclosure:
    """The posterior of the people of one place: a node, or a removed leaf (``id`` None).

    ``individuals`` can be there; ``certain`` of them have a class of probability 0.999 or more. Over these people:
    ``max_posterior`` is the largest probability of a class, ``vulnerability`` the mean of each one's largest (the share
    of right guesses), ``entropy`` and ``divergence`` the means in nats, the latter None without a truth and ``inf``
    where the posterior rules out what is true. All of these are None where nobody is.
    """

    place: int
    id: str | None
    individuals: int
    certain: int
    max_posterior: float | None
    vulnerability: float | None
    entropy: float | None
    divergence: float | None


@dataclass(frozen=True, slots=True, eq=False)
class PeopleByPlace:
    """Rows of the adversary's table by place of a tree: ``rows[start:stop]`` of a place can be there."""

    rows: IntArray
    start: IntArray
    stop: IntArray

    def at(self, place: int) -> IntArray:
        """Rows of the table at a place, shape (n,), each once."""
        return self.rows[self.start[place] : self.stop[place]]


def people_by_place(program: Program, tree: int = 0) -> PeopleByPlace:
    """Whose quasi-identifier can be at each place of a tree, as `maxent.models.trees.places.Places` numbers them."""
    held = program.cells.trees[tree]
    owner = program.cells.owner[held.order]
    if program.single:
        return PeopleByPlace(owner, held.start, held.stop)
    # Private attributes divide a quasi-identifier into cells, several of which may be at the same place.
    rows = [np.unique(owner[begin:end]) for begin, end in zip(held.start, held.stop, strict=True)]
    ends = run_ends(np.array([len(found) for found in rows]))
    return PeopleByPlace(np.concatenate(rows), ends[:-1], ends[1:])


def disclosed_by_node(result: Inference, tree: int = 0) -> tuple[NodeDisclosure, ...]:
    """Disclosure of an estimate at every place of a tree, from 0: its nodes, then removed leaves.

    Where private attributes decide, everybody who can be there counts; raises `IndexError` for no such tree.
    """
    from scipy.special import entr

    program = result.program
    nodes = program.release.trees[tree].nodes
    people = people_by_place(program, tree)
    counts = program.table.counts.astype(np.float64)
    surest = result.probabilities.max(axis=1)
    individuals = sums_by_place(people, counts)
    inhabited = individuals > 0

    def mean(values: FloatArray) -> list[float | None]:
        total = sums_by_place(people, counts * values)
        found = np.divide(total, individuals, out=np.zeros_like(total), where=inhabited)
        return _where(inhabited, found)

    divergence = result.disclosure.individual
    columns = zip(
        individuals.astype(np.int64).tolist(),
        sums_by_place(people, np.where(result.disclosure.is_certain, counts, 0.0)).astype(np.int64).tolist(),
        _where(inhabited, _by_place(np.maximum, people, surest)),
        mean(surest),
        mean(np.asarray(entr(result.probabilities).sum(axis=1), np.float64)),
        [None] * len(individuals) if divergence is None else mean(divergence),
        strict=True,
    )
    ids = [*(node.id for node in nodes), *[None] * (len(individuals) - len(nodes))]
    return tuple(NodeDisclosure(i, id, *row) for i, (id, row) in enumerate(zip(ids, columns, strict=True)))


def sums_by_place(people: PeopleByPlace, values: FloatArray) -> FloatArray:
    """Sums over the people of each place of a number per row of the table, shape (n_places,)."""
    return np.where(people.stop > people.start, _by_place(np.add, people, values), 0.0)


def _by_place(combine: np.ufunc, people: PeopleByPlace, values: FloatArray) -> FloatArray:
    """Values of the people of each place, combined; meaningless where nobody is.

    Places go depth-first, where stretches between ends and starts are empty: the work is people times depth.
    """
    order = np.lexsort((-people.stop, people.start))
    bounds = np.column_stack([people.start[order], people.stop[order]]).ravel()
    padded = np.append(values[people.rows], 0.0)
    found = np.empty(len(order))
    found[order] = combine.reduceat(padded, bounds)[::2]
    return found


def _where(inhabited: npt.NDArray[np.bool_], values: FloatArray) -> list[float | None]:
    """Values as a list, None where nobody is."""
    return [value if there else None for value, there in zip(values.tolist(), inhabited.tolist(), strict=True)]


# Shares of the classes that published numbers allow in each group of people.
#
# A group is a leaf, or all leaves together of which nothing is said but by a node above. What is said of it (counts,
# rates, intervals of them, a marginal) bounds how many of its people can have a class. Where the estimate takes less
# than that, as for a leaf with a label and no number, it claims no more than it must: the group may disclose more.

NO_GROUP = -1


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of one tree, by the place that says something of them.

    ``of`` (n_places,) is the place of the group of each leaf, `NO_GROUP` where nothing is said of it. ``low`` and
    ``high`` are the fewest and the most people of a group who can have each class, ``mass`` how many have it by the
    estimate, shapes (n_places, n_classes); ``size`` (n_places,) is how many people there are. ``all_low`` and
    ``all_high``, shape (n_classes,), are the fewest and the most of everybody.
    """

    of: IntArray
    low: FloatArray
    high: FloatArray
    mass: FloatArray
    size: FloatArray
    all_low: FloatArray
    all_high: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """The probability of the most likely class of every quasi-identifier, arrays of shape (n_qi,).

    ``surest`` is that of the estimate, at most: exact where counts prove it, else with the error of computing it.
    ``possible`` is what it would be if as many people of each group had a class as published numbers allow.
    ``class_low`` and ``class_high``, shape (n_classes,), are the fewest and the most people with each class.
    ``possible_each``, shape (n_qi, n_classes), is what ``possible`` is the largest of, but for errors of computing it.
    """

    surest: FloatArray
    possible: FloatArray
    class_low: FloatArray
    class_high: FloatArray
    possible_each: FloatArray


def shares(
    program: Program,
    masses: FloatArray,
    posterior: FloatArray,
    tolerance: float = TOLERANCE,
    *,
    part: int | None = None,
    likely: bool = False,
) -> Shares:
    """Largest probabilities per quasi-identifier: by the estimate, and the largest that published numbers allow.

    ``part`` is one of several sensitive columns; with ``likely`` odds within a group grow by as much as those of the
    group may.
    """
    each = np.arange(len(posterior))

    def summed(values: FloatArray) -> FloatArray:
        return values if part is None else marginal(values, program.release.target, part)

    groups, of_cell = [], []
    for t, found in enumerate(_groups(program, masses)):
        held, group = _with_cells(found, program.cells.leaf[:, t])
        groups.append(held if part is None else _of_part(held, summed, program.individuals))
        of_cell.append(group)
    possible = _scaled(program, summed(masses), groups, of_cell, tolerance, summed, likely)
    surest = []
    for p in (posterior, possible):
        largest = p.argmax(axis=1)
        value = p[each, largest]
        least = 1 / posterior.shape[1]
        exact = np.where(value <= least + tolerance, least, np.nan)
        if program.single:  # the sizes of groups are whole numbers
            for tree, group in zip(groups, of_cell, strict=True):
                _recognise(exact, value, tree, group[np.argsort(program.cells.owner)], largest, tolerance)
        surest.append(np.where(np.isnan(exact), np.minimum(value + tolerance, 1.0), exact))  # see `measures.at_most`
    low = np.max([each.all_low for each in groups], axis=0)
    high = np.min([each.all_high for each in groups], axis=0)
    return Shares(surest[0], np.maximum(*surest), low, high, possible)


def _with_cells(groups: Groups, leaf: IntArray) -> tuple[Groups, IntArray]:
    """The groups that hold cells, alone, ``of`` their places; and the number of each cell's among them, if any."""
    of = groups.of[leaf]
    there = np.zeros(len(groups.of), bool)
    there[of[of != NO_GROUP]] = True
    number, at = np.cumsum(there, dtype=np.int32) - 1, np.flatnonzero(there)
    held = replace(groups, of=at, low=groups.low[at], high=groups.high[at], mass=groups.mass[at], size=groups.size[at])
    return held, np.where(of == NO_GROUP, NO_GROUP, number[of])


def _of_part(groups: Groups, summed: Callable[[FloatArray], FloatArray], people: int) -> Groups:
    """The groups by the classes of one of several columns: bounds of combinations add up."""
    low, high = summed(groups.low), summed(groups.high)
    _narrow(low, high, groups.size)
    least, most = summed(groups.all_low)[None], summed(groups.all_high)[None]
    _narrow(least, most, np.array([people], np.float64))
    high = np.minimum(high, groups.size[:, None])
    return Groups(groups.of, low, high, summed(groups.mass), groups.size, least[0], most[0])


def _recognise(
    exact: FloatArray, value: FloatArray, tree: Groups, group: IntArray, largest: IntArray, tolerance: float
) -> None:
    """Note, in place, the values that are a bound of their group: a whole number of people, divided by its size."""
    rows = np.flatnonzero((group != NO_GROUP) & np.isnan(exact))
    at, x = group[rows], largest[rows]
    for bound in (tree.low, tree.high):
        people = bound[at, x]
        share = people / tree.size[at]
        same = (np.abs(share - value[rows]) <= tolerance) & (people == np.floor(people))
        exact[rows[same]] = share[same]


def _scaled(
    program: Program,
    masses: FloatArray,
    groups: list[Groups],
    of_cell: list[IntArray],
    tolerance: float,
    summed: Callable[[FloatArray], FloatArray],
    likely: bool,
) -> FloatArray:
    """The posterior, each class of each group scaled up to the most that can have it; shape (n_qi, n_classes)."""
    most = np.full(masses.shape, np.inf)
    for begin in range(0, len(masses), CHUNK):
        rows = slice(begin, begin + CHUNK)
        for found, group in zip(groups, of_cell, strict=True):
            cells = begin + np.flatnonzero(group[rows] != NO_GROUP)
            at, here = group[cells], masses[cells]
            high, mass, size = found.high[at], found.mass[at], found.size[at][:, None]
            # Where nobody has the class by the estimate, everybody in the group may as well as anybody else.
            alike = np.divide(high, size, out=np.ones_like(high), where=size > 0) * here.sum(axis=1, keepdims=True)
            scaled = np.divide(here * high, mass, out=alike, where=mass > 0)
            if likely:
                all_here, spared = here.sum(axis=1, keepdims=True), np.zeros_like(mass)
                np.divide(size - high, size - mass, out=spared, where=mass < size)
                odds = scaled + (all_here - here) * spared
                scaled = np.divide(scaled * all_here, odds, out=alike, where=odds > 0)
            if not program.single:  # who is in a group that may be all of one class is not known either
                scaled = np.where(high >= size, program.weight[cells, None], scaled)
            most[cells] = np.minimum(most[cells], np.where(high - mass > tolerance * size, scaled, here))
    for c in program.linear:
        if c.kind == "counts" and program.regions.places[c.region] is None:  # of one quasi-identifier
            cells = program.regions[c.region]
            most[cells] = np.minimum(most[cells], summed(c.upper) / len(cells))
    most = np.maximum(np.where(np.isinf(most), masses, most), masses)
    total = np.zeros((len(program.table.counts), masses.shape[1]))
    np.add.at(total, program.cells.owner, most)
    return np.minimum(total / program.table.counts[:, None], 1.0)


def _groups(program: Program, masses: FloatArray) -> Iterator[Groups]:
    """The groups of each tree; the group of a leaf is the nearest place, up from it, that says something."""
    stated: list[list[Linear]] = [[] for _ in program.cells.trees]
    numbers: list[list[Linear]] = [[] for _ in program.cells.trees]
    for constraint in program.linear:
        place = program.regions.places[constraint.region]
        if place is not None:
            (stated if KINDS[constraint.kind].about_classes else numbers)[place[0]].append(constraint)
    for t, tree in enumerate(program.cells.trees):
        above, leaf = _Above(tree.places.parent, tree.places.levels[1:]), program.cells.leaf[:, t]
        mass = program.sums.totals(t, masses)
        size = mass.sum(axis=1)
        if program.single:  # without the error of solving
            size = np.bincount(leaf, program.weight, len(above)).astype(np.float64)
            above.add_up(size)
        sizes = Sizes(size, size, size, size)
        if program.release.target.register:
            sizes = _of_members(program, above, leaf, numbers[t])
        yield _tree_groups(program, above, stated[t], mass, size, sizes)


class Sizes(NamedTuple):
    """Numbers of people at each place: ``least`` and ``most`` have classes, ``fewest`` and ``all`` may be out, too."""

    least: FloatArray
    most: FloatArray
    fewest: FloatArray
    all: FloatArray


def _of_members(program: Program, above: _Above, leaf: IntArray, numbers: list[Linear]) -> Sizes:
    """Sizes where shares are of members of a register, of whom ``numbers`` say how many are at a place."""
    people = np.bincount(leaf, program.table.counts[program.cells.owner], len(above)).astype(np.float64)
    above.add_up(people)
    least, most, inside = np.zeros_like(people), people.copy(), np.arange(program.n_classes) < program.n_classes - 1
    for said in numbers:
        place = (program.regions.places[said.region] or (0, 0))[1]
        if len(said.coef) == 1 and (said.coef[0] == inside).all():
            least[place], most[place] = max(least[place], said.lower[0]), min(most[place], said.upper[0])
    return Sizes(least, most, people if program.single else np.zeros_like(people), people)


def _tree_groups(
    program: Program, above: _Above, stated: list[Linear], mass: FloatArray, size: FloatArray, sizes: Sizes
) -> Groups:
    """The groups of a tree, from what is stated of its places; ``mass`` and ``size`` are those of all places."""
    low, high = np.zeros_like(mass), np.repeat(sizes.all[:, None], mass.shape[1], axis=1)
    place = np.array([(program.regions.places[c.region] or (0, 0))[1] for c in stated], np.int64)
    said = np.zeros(len(above), bool)
    said[place] = True
    _read(stated, place, sizes, program.n_classes - program.release.target.register, low, high)
    _narrow(low, high, sizes.all, sizes.fewest)
    above.narrow(low, high)
    _narrow(low, high, sizes.all, sizes.fewest)
    everybody = low[0].copy(), high[0].copy()
    # Of a node that says something, what is left when the groups below are taken away.
    taken = [above.groups_below(values, said) for values in (low, high, mass, size)]
    low, high = np.maximum(low - taken[1], 0.0), np.maximum(high - taken[0], 0.0)
    mass, size = np.maximum(mass - taken[2], 0.0), size - taken[3]
    return Groups(above.nearest(said), low, np.minimum(high, size[:, None]), mass, size, *everybody)


def _read(stated: list[Linear], place: IntArray, sizes: Sizes, members: int, low: FloatArray, high: FloatArray) -> None:
    """Narrow, in place, how many people of each place can have each class by what is stated of it.

    ``members``: how many of the classes, the first, are of people who are in the data.
    """
    labels = [i for i, c in enumerate(stated) if c.kind == "label" and len(c.lower) == low.shape[1] - 1]
    numbers = [i for i, c in enumerate(stated) if c.kind != "label" and c.weights is None]
    if labels:  # each a class that no other exceeds
        at, x = place[labels], np.array([stated[i].coef[0].argmax() for i in labels])
        of_label = high[at, x]
        high[at] = np.minimum(high[at], sizes.most[at, None] / 2)
        high[at, x] = of_label
        low[at, x] = sizes.least[at] / low.shape[1]
    if not numbers:
        return
    rows = statement_rows([stated[i] for i in numbers], low.shape[1])
    at, alone = place[numbers][rows.of], np.flatnonzero(rows.alone >= 0)
    np.maximum.at(low, (at[alone], rows.alone[alone]), rows.lower[alone])
    np.minimum.at(high, (at[alone], rows.alone[alone]), rows.upper[alone])
    others = np.flatnonzero(rows.alone < 0)
    coef, entry = np.zeros((len(others), low.shape[1])), ranges(rows.ends[others], rows.ends[others + 1])
    coef[np.repeat(np.arange(len(others)), np.diff(rows.ends)[others]), rows.klass[entry]] = rows.coef[entry]
    of = at[others]
    inside = slice(None, members)
    ends = _of_rows(coef[:, inside], rows.lower[others], rows.upper[others], sizes.least[of], sizes.most[of])
    for klass in range(ends[0].shape[1]):  # NumPy is many times as fast with one class at a time
        np.maximum.at(low[:, klass], of, ends[0][:, klass])
        np.minimum.at(high[:, klass], of, ends[1][:, klass])


def _of_rows(
    coef: FloatArray, lower: FloatArray, upper: FloatArray, least: FloatArray, most: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The fewest and the most people of each class by a row alone, where all classes have ``least`` to ``most``.

    Whoever does not have a class has another: one of the smallest coefficient, or of the largest.
    """
    low, high = np.zeros_like(coef), np.full_like(coef, np.inf)
    if coef.shape[1] < 2:
        return low, high
    order = np.sort(coef, axis=1)
    for sign, end in ((1.0, upper), (-1.0, -lower)):
        own, known = sign * coef, np.isfinite(end)[:, None]
        first, second = (order[:, :1], order[:, 1:2]) if sign > 0 else (-order[:, -1:], -order[:, -2:-1])
        rest = np.where(own == first, second, first)  # the smallest of the other classes
        room = end[:, None] - rest * np.where(rest > 0, least[:, None], most[:, None])
        gap = own - rest
        share = np.divide(room, gap, out=np.full_like(coef, np.nan), where=known & (gap != 0))
        high = np.where(known & (gap > 0), np.minimum(high, share), high)
        low = np.where(known & (gap < 0), np.maximum(low, share), low)
    return low, high


def _narrow(low: FloatArray, high: FloatArray, size: FloatArray, fewest: FloatArray | None = None) -> None:
    """Narrow bounds, in place, by one another: the classes of a place add up to its people."""
    least = size if fewest is None else fewest
    np.minimum(high, size[:, None] - (low.sum(axis=1, keepdims=True) - low), out=high)
    np.maximum(low, least[:, None] - (high.sum(axis=1, keepdims=True) - high), out=low)


@dataclass(frozen=True, slots=True, eq=False)
class _Above:
    """The places of a tree by depth: ``parent`` (n_places,), and the places below the root, those nearest first."""

    parent: IntArray
    levels: tuple[IntArray, ...]

    def __len__(self) -> int:
        return len(self.parent)

    def add_up(self, values: FloatArray) -> None:
        """Add the values of places, in place, to those above; inner ones have 0."""
        for level, first, up in self._families():
            values[up] += np.add.reduceat(values[level], first, axis=0)

    def _families(self) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
        """Each level, the deepest first; where in it the places below each node begin, and these nodes.

        Places below one node are consecutive (`maxent.models.trees.places.Places.levels`).
        """
        for level in reversed(self.levels):
            above = self.parent[level]
            first = np.flatnonzero(np.append(True, above[1:] != above[:-1]))
            yield level, first, above[first]

    def narrow(self, low: FloatArray, high: FloatArray) -> None:
        """Narrow bounds, in place, by one another: the people of a place are those of the places below."""
        least, most = np.zeros_like(low), np.zeros_like(high)
        for level, first, up in self._families():
            least[up], most[up] = (np.add.reduceat(side[level], first, axis=0) for side in (low, high))
            low[up], high[up] = np.maximum(low[up], least[up]), np.minimum(high[up], most[up])
        for level in self.levels:
            up, lows, highs = self.parent[level], low[level], high[level]
            low[level] = np.maximum(lows, low[up] - (most[up] - highs))
            high[level] = np.minimum(highs, high[up] - (least[up] - lows))

    def groups_below(self, values: FloatArray, said: BoolArray) -> FloatArray:
        """The values of the first places below each that say something, added up."""
        found = np.zeros_like(values)
        for level, first, up in self._families():
            stated = said[level].reshape(-1, *[1] * (values.ndim - 1))
            found[up] = np.add.reduceat(np.where(stated, values[level], found[level]), first, axis=0)
        return found

    def nearest(self, said: BoolArray) -> IntArray:
        """The nearest place that says something, from each one up; `NO_GROUP` where there is none."""
        found = np.where(said, np.arange(len(self)), NO_GROUP)
        for level in self.levels:
            found[level] = np.where(said[level], level, found[self.parent[level]])
        return found
