"""The compiled program: frozen constraints over the masses of the cells, each with its origin.

The unknowns are masses ``m[c, x]``, individuals of class x in cell c (`maxent.constraints.program.cells`), shape
(n_cells, n_classes). They are non-negative, and the cells of a quasi-identifier q add up to its ``w_q`` individuals.
The answer is the feasible point with the largest entropy ``-sum m ln(m / w_owner)`` (Zhu & Du 2010, Definition 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import Ties as Ties
from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.models.display import FALSE, leaves_in
from maxent.models.draws import kept_apart
from maxent.models.errors import Origin

if TYPE_CHECKING:
    from maxent.constraints.program.cells import Cells, CellSums
    from maxent.models.reading import Noticed
    from maxent.models.release import Release
    from maxent.models.tables.qi_table import QITable

TIES: tuple[Ties, ...] = get_args(Ties)
# Cells that are looked at together, so that intermediate results stay small.
CHUNK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """``lower[r] <= sum over the region's cells and classes of coef[r, x] m[c, x] <= upper[r]``, individuals.

    ``coef`` has shape (rows, n_classes); ``region`` indexes `Program.regions`; ``says`` is the statement in words.
    ``weights``, shape (cells of the region, n_classes), are factors of the coefficients in each cell; None: 1. ``unit``
    is what the sum was divided by, so that its largest weight is 1: weights times it are those that were stated.
    """

    kind: str
    origin: Origin
    region: int
    coef: FloatArray
    lower: FloatArray
    upper: FloatArray
    says: str
    weights: FloatArray | None = None
    unit: float = 1.0

    @property
    def rows(self) -> int:
        return len(self.lower)


# Rows of several linear constraints as arrays, for vectorised code.


@dataclass(frozen=True, slots=True, eq=False)
class StatementRows:
    """Rows ``lower <= sum over a region of coef @ masses <= upper``, in the order of their constraints.

    ``of`` are indices into the constraints given, shape (n_rows,); ``alone`` is the class of a row that bounds the mass
    of one class, -1 where it is about several, or weighs cells. ``coef`` are the coefficients that are not 0, of the
    classes ``klass``: those of row r are ``coef[ends[r]:ends[r + 1]]``. In rows that are ``weighted``, shape (n_rows,),
    each cell has a factor besides (`Linear.weights`).
    """

    of: IntArray
    lower: FloatArray
    upper: FloatArray
    alone: IntArray
    ends: IntArray
    klass: IntArray
    coef: FloatArray
    weighted: BoolArray

    def __len__(self) -> int:
        return len(self.of)

    def take(self, rows: IntArray) -> StatementRows:
        """Some of the rows."""
        start, stop = self.ends[rows], self.ends[rows + 1]
        entry = ranges(start, stop)
        return StatementRows(
            self.of[rows],
            self.lower[rows],
            self.upper[rows],
            self.alone[rows],
            run_ends(stop - start),
            self.klass[entry],
            self.coef[entry],
            self.weighted[rows],
        )


def statement_rows(constraints: Sequence[Linear], n_classes: int) -> StatementRows:
    """All rows of some constraints; of their arrays of coefficients, few differ, and each is read once."""
    number: dict[bytes, int] = {}  # one copy of each: there can be as many numbers as constraints times classes
    matrices: list[FloatArray] = []
    held: dict[int, int] = {}  # most constraints of a kind share the very array
    arrays = [constraint.coef for constraint in constraints]
    ids = list(map(id, arrays))
    for key, coef in dict(zip(ids, arrays, strict=True)).items():
        held[key] = number.setdefault(coef.tobytes(), len(number))
        if held[key] == len(matrices):
            matrices.append(coef)
    which = np.fromiter(map(held.__getitem__, ids), np.int64, len(ids))
    people = np.array([c.weights is not None for c in constraints], bool)
    stacked = np.concatenate([np.zeros((0, n_classes)), *matrices])
    row, klass = np.nonzero(stacked)
    coef, length = stacked[row, klass], np.bincount(row, minlength=len(stacked))
    ends = run_ends(length)
    alone = np.full(len(stacked), -1, np.int64)
    only = ends[:-1][length == 1]
    alone[length == 1] = np.where(coef[only] == 1, klass[only], -1)
    first = run_ends(np.fromiter(map(len, matrices), np.int64))
    source = ranges(first[which], first[which + 1])  # the row of `stacked` that each row is
    entry = ranges(ends[source], ends[source + 1])
    nothing, last = np.empty(0), run_ends(length[source])
    of = np.repeat(np.arange(len(which)), first[which + 1] - first[which])
    weighted = people[of]
    return StatementRows(
        of,
        np.concatenate([nothing, *[c.lower for c in constraints]]),
        np.concatenate([nothing, *[c.upper for c in constraints]]),
        np.where(weighted, -1, alone[source]),
        last,
        klass[entry],
        coef[entry],
        weighted,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Internal:
    """Splitting a node on the attribute chosen is at least as good as on a candidate: ``E_T <= E_U``.

    ``form`` says how the candidate (public attribute number ``column`` of the table) would have split: ``values``
    (one branch per value; one row), ``cuts`` (a row for each code in ``codes``: up to it against above it) or
    ``each`` (a row for each code: that value against the rest). Source: Zhu & Du 2010, eq. 3.
    """

    origin: Origin
    measure: str
    tree: int
    place: int
    chosen: str
    candidate: str
    column: int
    form: Literal["values", "cuts", "each"]
    codes: IntArray

    @property
    def rows(self) -> int:
        return len(self.codes)


# What is said of contradictory statements of which some might be left out.
UNPROVED = " (there was no time to prove that none of these can be left out)"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement that the adversary's table, or another statement, contradicts, and by how much."""

    origin: Origin
    says: str
    amount: float
    unit: Literal["individuals", "impurity"] = "individuals"

    def __str__(self) -> str:
        whole = self.amount >= 1 and self.amount == round(self.amount)
        amount = f"{self.amount:,.0f}" if whole else f"{self.amount:.6g}"
        return f"{self.origin}: {self.says} (off by {amount} {self.unit})"

    def as_dict(self) -> dict[str, Any]:
        """The same for JSON."""
        return {"origin": str(self.origin), "says": self.says, "amount": self.amount, "unit": self.unit}


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """Sets of cells that linear constraints sum over: region r is ``indices[indptr[r]:indptr[r + 1]]``."""

    indptr: IntArray
    indices: IntArray
    places: tuple[tuple[int, int] | None, ...]

    def __getitem__(self, region: int) -> IntArray:
        return self.indices[self.indptr[region] : self.indptr[region + 1]]

    def __len__(self) -> int:
        return len(self.indptr) - 1


@dataclass(frozen=True, slots=True, eq=False)
class NoiseLoss:
    """What noise in numbers makes less likely, nats: a concave function of each true number, less its largest value.

    ``published``, NaN where there is none. Of a mass below it ``below`` is lost for each individual that it lacks, of
    one above ``above``; or, where ``variance`` is positive, the squared distance over twice the variance. Arrays have
    one shape.
    """

    published: FloatArray
    below: FloatArray
    above: FloatArray
    variance: FloatArray

    def __len__(self) -> int:
        return len(self.published)

    def __getitem__(self, at: Any) -> NoiseLoss:
        return NoiseLoss(self.published[at], self.below[at], self.above[at], self.variance[at])

    def at(self, masses: FloatArray) -> FloatArray:
        """The loss of each mass, nats; shape as given."""
        off = np.where(np.isnan(self.published), 0.0, self.published - masses)
        squared = off**2 / np.where(self.variance > 0, 2 * self.variance, np.inf)
        return np.asarray(self.below * np.maximum(off, 0.0) + self.above * np.maximum(-off, 0.0) + squared)

    def slope(self, masses: FloatArray) -> FloatArray:
        """The derivative of the loss of each mass, nats per individual; shape as given."""
        off = np.where(np.isnan(self.published), 0.0, self.published - masses)
        curved = off / np.where(self.variance > 0, self.variance, np.inf)
        return np.asarray(np.where(off < 0, self.above, np.where(off > 0, -self.below, 0.0)) - curved)


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """Draws of classes in places: ``sum draws ln(mass / size)`` is to be large beside the entropy, nats.

    Place i is ``place[i]`` of tree ``tree[i]``, with ``draws[i, x]`` of class x and ``size[i]`` individuals that they
    are from; shapes (n,) and (n, n_classes). ``noise``, of the same shape, is lost where published numbers have some.
    """

    tree: IntArray
    place: IntArray
    draws: FloatArray
    size: FloatArray
    noise: NoiseLoss | None = None

    def __len__(self) -> int:
        return len(self.place)


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Counts of every leaf and class as the only constraints of a program: a problem of transportation.

    Such are generalised records (`maxent.constraints.records`), but for facts. ``sizes``, shape (n_places,), are the
    individuals of each place that make that possible: those stated, unless they contradict the table. ``possible``,
    shape (n_cells,), are the cells that can then hold somebody.
    """

    sizes: IntArray
    possible: npt.NDArray[np.bool_]


# What no leaf states, and everybody sees of a tree that a tool grew
CHOICES = "choices of splits"


@dataclass(frozen=True, slots=True)
class Unread:
    """A statement of trees that the compiler does not read, and the number of these and of their leaves.

    ``of`` has the number of each such tree, from 0, and how many leaves of it. What a model's own file keeps beside its
    trees is of none, and no worst case bounds it. What is ``refuted`` was read, and is false of the true classes.
    """

    what: str
    trees: int = 0
    leaves: int = 0
    of: tuple[tuple[int, int], ...] = ()
    refuted: bool = False

    def in_words(self, worst: Mapping[str, Any]) -> str:
        """``not read: scores of 35 leaves in 1 tree``, and how they are judged."""
        if not self.trees:
            return f"{FALSE if self.refuted else 'not read'}: {self.what}: no limit is known to be kept"
        why = worst.get("why")
        if why is None and self.what == CHOICES:
            judged = "judged as if they gave away the classes of all who are alike in the columns of the model"
        elif why is None:
            judged = "judged as if they gave away the classes of all who are in the same leaves"
        else:
            judged = "no limit is known to be kept" + (f", as {why}" if why else "")
        return f"not read: {self.what} of {leaves_in(self.leaves, self.trees)}: {judged}"

    def as_dict(self, judged: str) -> dict[str, Any]:
        """An entry of the key ``unread``; ``judged`` is ``worst_case`` or ``not``."""
        judged = judged if self.trees else "not"
        told = {"what": self.what, "trees": self.trees, "leaves": self.leaves, "judged": judged}
        return told | ({"refuted": True} if self.refuted else {})


def unread_in(noticed: Noticed, program: Program | None = None) -> tuple[Unread, ...]:
    """What is stated and not read: by the leaves of a program, and by what models' own files keep beside them.

    So are draws, unless there are equations about rows in training order.
    """
    draws = None if program is None or program.by_rows else program.release.draws
    return (*(() if program is None else program.unread), *map(Unread, kept_apart(draws, noticed.aside)))


@dataclass(frozen=True, eq=False)
class Program:
    """Everything a release and the adversary's table say, over the cells; see the module's text.

    ``unfinished`` is whether internal constraints are missing, for want of time. ``ties`` matters for whole numbers
    only: with ``first`` a choice over an earlier attribute was strictly better. ``unread`` is what leaves state that is
    in no constraint. ``row_equations`` is what equations prove of rows in training order, see
    `maxent.solvers.certainty.rows.RowProof.as_dict`; None where the order is not known. ``files`` names the release of
    each tree, where there are several.
    """

    release: Release
    table: QITable
    cells: Cells
    sums: CellSums
    regions: Regions
    linear: tuple[Linear, ...]
    internal: tuple[Internal, ...]
    contradictions: tuple[Contradiction, ...] = ()
    notes: tuple[str, ...] = ()
    scaling: Scaling | None = None
    unfinished: bool = False
    likelihood: Likelihood | None = None
    ties: Ties = "any"
    unread: tuple[Unread, ...] = ()
    row_equations: Mapping[str, int | None] | None = None
    files: tuple[str, ...] = ()

    @property
    def by_rows(self) -> bool:
        """Whether equations about rows in training order take in who was drawn."""
        return bool(self.row_equations and self.row_equations["equations"])

    @cached_property
    def n_classes(self) -> int:
        return len(self.release.target.classes)

    @cached_property
    def individuals(self) -> int:
        """People in the adversary's table."""
        return self.table.individuals

    @cached_property
    def weight(self) -> FloatArray:
        """Individuals of each cell's quasi-identifier, shape (n_cells,)."""
        return self.table.counts[self.cells.owner].astype(np.float64)

    @cached_property
    def single(self) -> bool:
        """Whether every quasi-identifier is one cell (no private attribute is tested), so that all sizes are known."""
        return len(self.cells) == len(self.table)

    @cached_property
    def rows(self) -> StatementRows:
        """The rows of all linear constraints."""
        return statement_rows(self.linear, self.n_classes)

    def rows_of(self, some: IntArray) -> StatementRows:
        """The rows of some linear constraints, increasing."""
        if len(some) == len(self.linear):
            return self.rows
        return statement_rows([self.linear[i] for i in some.tolist()], self.n_classes)

    @cached_property
    def region_of(self) -> IntArray:
        """The region of each linear constraint, shape (n_constraints,)."""
        return np.fromiter((constraint.region for constraint in self.linear), np.int64, len(self.linear))

    @cached_property
    def placed(self) -> IntArray:
        """The tree and the place of each region, shape (n_regions, 2); -1 and -1 for a region that is no place."""
        return np.array([place or (-1, -1) for place in self.regions.places], np.int64).reshape(-1, 2)

    @cached_property
    def cells_of(self) -> IntArray:
        """Cells of each quasi-identifier, shape (n_quasi_identifiers,)."""
        return np.bincount(self.cells.owner, minlength=len(self.table))

    @cached_property
    def region_size(self) -> FloatArray:
        """Individuals whose quasi-identifier can be in a region, shape (n_regions,): the scale of its residuals."""
        if self.single:
            sizes = np.add.reduceat(self.weight[self.regions.indices], self.regions.indptr[:-1])
            return np.asarray(sizes, np.float64)
        owners = (np.unique(self.cells.owner[self.regions[r]]) for r in range(len(self.regions)))
        return np.array([self.table.counts[owner].sum() for owner in owners], np.float64)

    def log_likelihood(self, masses: FloatArray) -> float:
        """The logarithm of the likelihood of the draws but for a constant, nats; 0 where there are none."""
        likely = self.likelihood
        if likely is None:
            return 0.0
        totals = np.empty_like(likely.draws)
        for t in np.unique(likely.tree).tolist():
            mine = likely.tree == t
            totals[mine] = self.sums.totals(t, masses)[likely.place[mine]]
        share = np.maximum(totals, TINY) / likely.size[:, None]
        lost = 0.0 if likely.noise is None else float(likely.noise.at(totals).sum())
        return float((likely.draws * np.log(share)).sum()) - lost

    def objective(self, masses: FloatArray) -> float:
        """The objective, which is maximised: entropy plus log-likelihood of draws, if any; nats per individual."""
        entropy = self.entropy(masses)
        return entropy if self.likelihood is None else entropy + self.log_likelihood(masses) / self.individuals

    def posterior(self, masses: FloatArray) -> FloatArray:
        """P(x | q) of a point, shape (n_quasi_identifiers, n_classes); ``masses`` has shape (n_cells, n_classes)."""
        total = np.zeros((len(self.table.counts), self.n_classes))
        if self.single:
            total[self.cells.owner] = masses
        else:
            np.add.at(total, self.cells.owner, masses)
        np.maximum(total, 0.0, out=total)
        total /= total.sum(axis=1, keepdims=True)
        return total

    def entropy(self, masses: FloatArray) -> float:
        """The objective at a point, in nats per individual: the joint entropy of class and leaves given q."""
        total = 0.0
        for begin in range(0, len(masses), CHUNK):
            m, weight = masses[begin : begin + CHUNK], self.weight[begin : begin + CHUNK]
            total -= float((m * np.log(np.maximum(m, TINY) / weight[:, None])).sum())
        return total / self.individuals


# Rounding error of printed means and variances.

# Significant digits of a number that was not rounded for print.
FULL = 15


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """How all numbers of one kind were printed: with this many significant digits at least, or decimals.

    A program prints them alike, and leaves out zeros at the end. Where 151 and 310 stand side by side, 310 was not
    rounded to tens.
    """

    whole: bool
    digits: int
    decimals: int
    any: bool = True  # whether there is one that is not 0

    def off(self, number: float) -> float:
        """Largest distance of a number from its printed form."""
        if self.whole:
            return 0.0
        if not number:
            return float(0.5 * 10.0**-self.decimals)
        digits, last = _digits(number)
        first = last + digits - 1
        return float(0.5 * 10.0 ** min(last, max(first + 1 - self.digits, -self.decimals)))

    def off_each(self, numbers: FloatArray) -> FloatArray:
        """`off` of each of some numbers, 0 of NaN; shape as given."""
        if self.whole:
            return np.zeros_like(numbers)
        found, at = np.unique(numbers, return_inverse=True)
        each = np.array([0.0 if number != number else self.off(number) for number in found.tolist()], np.float64)
        return each[at].reshape(numbers.shape)


def printed_moments(
    means: Sequence[FloatArray], variances: Sequence[FloatArray]
) -> tuple[PrintedNumber, PrintedNumber]:
    """How the means of nodes were printed, and how their variances; NaN where nothing is stated.

    If some number has so many digits that it was not rounded, none of its kind was: means may be rounded alone.
    """
    return _printed_alike(means), _printed_alike(variances)


def _printed_alike(stated: Sequence[FloatArray]) -> PrintedNumber:
    """How numbers of one kind were printed: the rest is not looked at where one shows that none was rounded."""
    digits, decimals, there = 1, 0, False
    seen = set[float]()
    for numbers in stated:
        new = set(numbers[~np.isnan(numbers) & (numbers != 0)].tolist()) - seen
        for number in new:
            many, last = _digits(number)
            digits, decimals, there = max(digits, many), max(decimals, -last), True
            if many >= FULL:
                return PrintedNumber(True, digits, decimals, True)
        seen |= new
    return PrintedNumber(False, digits, decimals, there)


def _digits(number: float) -> tuple[int, int]:
    """Significant digits of a number as it is printed, and the power of ten of the last one."""
    shown = Decimal(repr(float(number))).normalize().as_tuple()
    return len(shown.digits), shown.exponent if isinstance(shown.exponent, int) else 0


# Links up to which graphs are walked here: SciPy's take 0.04 s to load.
FEW_LINKS = 10_000


def components(n: int, one: IntArray, other: IntArray) -> IntArray:
    """Component of each of n nodes, numbered by first node, shape (n,); edge i links ``one[i]`` and ``other[i]``."""
    if len(one) > FEW_LINKS:
        return _components_by_scipy(n, one, other)
    root = np.arange(n)
    while True:  # roots across an edge hang on the smaller of them, and nodes on their root's root
        one, other = root[one], root[other]
        apart = one != other
        if not apart.any():
            return np.unique(root, return_inverse=True)[1].astype(np.int64)
        one, other = one[apart], other[apart]
        np.minimum.at(root, np.maximum(one, other), np.minimum(one, other))
        while not np.array_equal(above := root[root], root):
            root = above


def _components_by_scipy(n: int, one: IntArray, other: IntArray) -> IntArray:
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    links = sparse.coo_array((np.ones(len(one), bool), (one, other)), shape=(n, n))
    label: IntArray = connected_components(links, directed=False)[1].astype(np.int64)
    return label
