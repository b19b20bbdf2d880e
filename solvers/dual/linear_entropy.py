r"""Linear entropy problem and its dual: the dual bounds the maximum entropy, whatever solver found the point.

The problem: masses ``m >= 0`` (individuals), those of owner ``o`` adding up to ``t_o``, and linear rows;

    maximise  H(m) = -sum_i m_i ln(m_i / w_i)    subject to    l <= C m <= u.

One multiplier per row, of either sign: ``y_r > 0`` prices the lower side, ``y_r < 0`` the upper one. For feasible ``m``

    H(m) <= H(m) + sum_r [y_r]_+ ((C m)_r - l_r) + sum_r [y_r]_- (u_r - (C m)_r)
          = H(m) + (C'y)'m - [y]_+'l + [y]_-'u,        [y]_+ = max(y, 0),  [y]_- = max(-y, 0),

and the right side is largest, over the masses of each owner apart, at a softmax (Gibbs' inequality):

    m_i(y) = t_o w_i exp (C'y)_i / sum_{j in o} w_j exp (C'y)_j,
    D(y)   = sum_o t_o (ln sum_{i in o} w_i exp (C'y)_i - ln t_o) - [y]_+'l + [y]_-'u.

So ``D(y)`` bounds the maximum from above whatever ``y`` is (weak duality); a sign that asks for a side that a row does
not have makes it infinite. ``D`` is convex, and its infimum is the maximum itself, as the rows are linear (Rockafellar,
"Convex Analysis", 1970, section 28). Except for the kink at ``y_r = 0`` of rows with ``l_r < u_r`` it is smooth:

    gradient  C m(y) - s,   s_r = l_r where y_r > 0,  u_r where y_r < 0,
    Hessian   C J C',       J = diag(m) - sum_o m_o m_o' / t_o.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray
from maxent.solvers.derivatives import Exponentials, exponentials

# Rows are multiplied as dense matrices up to so many entries, or when one in so many entries is not 0.
DENSE_PRODUCT, FILLED = 200_000, 20
# Of a large problem: a row about more than one in so many masses counts as dense; entries from which on a problem is
# large, and those of dense rows at a time.
HEAVY, CHUNK, DENSE = 50, 4_000_000, 200_000
# Rows in a step up to which the Hessian is factored as a dense matrix.
DENSE_FACTOR = 1500
# Rows of each mass, on average, from which on sums with coefficients other than 1 count as overlapping.
OFTEN = 8
# The same where sparse factors would be full; beyond, the system is solved nearly, by conjugate gradients.
OVERLAPPING_FACTOR = 3500


@dataclass(frozen=True, eq=False)
class LinearEntropy:
    """Maximise ``-sum m ln(m / weight)``, each owner's masses adding up to ``total``, ``lower <= matrix m <= upper``.

    ``owner``, shape (n,): whose each mass is, from 0 to n_owners - 1. ``total``, shape (n_owners,): individuals of each
    owner, not negative; owners need not have masses. ``weight``, shape (n,): what each mass is compared with, positive,
    individuals. ``matrix``, shape (n_rows, n). ``lower``, ``upper``, shape (n_rows,): equal for equations, infinite for
    a side that a row does not have; individuals.
    """

    owner: IntArray
    total: FloatArray
    weight: FloatArray
    matrix: sparse.csr_matrix
    lower: FloatArray
    upper: FloatArray

    def value(self, y: FloatArray) -> float:
        """``D(y)``, nats: an upper bound of the maximum for every y of shape (n_rows,), up to ``rounding(y)``."""
        return self._at(y)[0]

    def masses(self, y: FloatArray) -> FloatArray:
        """``m(y)``, shape (n,), individuals: masses with the owners' totals; the maximum where D is smallest."""
        return self._at(y)[1]

    def rounding(self, y: FloatArray) -> float:
        """Largest floating-point error of ``value(y)``, nats."""
        size = self.largest(abs(self.matrix).T @ np.abs(y) + np.abs(np.log(self.weight)))
        terms = self._total @ (size + np.abs(np.log(self._positive_total)))
        return float(4 * np.finfo(float).eps * (terms + np.abs(self._sides(y)).sum()))

    def left(self, y: FloatArray) -> float:
        """``sum_o t_o max_i (C'y)_i`` less what the sides are worth: the slope of D at infinity in direction y."""
        return float(self._total @ self.largest(self.matrix.T @ y) - self._sides(y).sum())

    @cached_property
    def least(self) -> float:
        """The smallest entropy that the totals allow, nats; a bound below it proves that rows contradict each other."""
        smallest = np.exp(-self.largest(-np.log(self.weight)))
        return float(-(self._total * np.log(self._positive_total / smallest)).sum())

    def centred(self, values: FloatArray, masses: FloatArray) -> FloatArray:
        """Values of shape (n,) less their mean over the owner, weighted by the masses: ``J v = m centred(v)``."""
        sums = np.bincount(self.owner, masses * values, len(self.total))
        mean: FloatArray = sums / self._positive_total
        return values - mean[self.owner]

    def entropy(self, masses: FloatArray) -> float:
        """``-sum m ln(m / w)``, nats, of masses of 0 or more, shape (n,)."""
        return -float((masses * np.log(np.maximum(masses, TINY) / self.weight)).sum())

    def softmax(self, scores: FloatArray) -> FloatArray:
        """Masses in proportion to the exponentials of finite scores, with the owners' totals; shape (n,)."""
        return self.restored(self._exponentials(scores).share)

    def restored(self, masses: FloatArray) -> FloatArray:
        """Masses scaled to the owners' totals, shape (n,)."""
        sums = np.bincount(self.owner, masses, len(self.total))
        factor: FloatArray = self._total / np.where(sums > 0, sums, 1.0)
        return masses * factor[self.owner]

    def variance(self, masses: FloatArray) -> FloatArray:
        """``m (1 - m / t)``, the diagonal of J, shape (n,), individuals."""
        return masses * np.maximum(1.0 - masses / self._positive_total[self.owner], 0.0)

    def softened(self, masses: FloatArray, softness: float) -> FloatArray:
        """Masses mixed with their owner's mean, to this share of its total each; shape (n,), individuals."""
        number = np.bincount(self.owner, minlength=len(self.total))
        whole = self._positive_total[self.owner]
        return (masses + softness * whole) / (1.0 + softness * number[self.owner])

    @cached_property
    def overlapping(self) -> bool:
        """Whether it has many rows, plain sums or many of each mass: the Hessian of several trees is nearly full."""
        many = self.plain or self.matrix.nnz > OFTEN * len(self.owner)
        return len(self.lower) > DENSE_FACTOR and many

    @cached_property
    def plain(self) -> bool:
        """Whether all rows are plain sums."""
        return bool((self.matrix.data == 1).all())

    @cached_property
    def tangled(self) -> bool:
        """Whether so many rows are about one owner's masses that those alone fill a Hessian too large to factor."""
        about: IntArray = np.diff(sparse.csc_matrix(abs(self.matrix) @ self.membership).indptr)
        return int(about.max(initial=0)) > OVERLAPPING_FACTOR

    def bend(self, masses: FloatArray, change: FloatArray) -> float:
        """``D(y + change) - D(y)`` less its linear part, nats, at ``masses = m(y)``, while no multiplier changes sign.

        It is ``sum_o t_o ln mean_o exp c`` with c the change of ``C'y`` less its mean: positive, and free of the
        cancellation that makes differences of D useless near its minimum.
        """
        centred = self.centred(self.matrix.T @ change, masses)
        shift = np.maximum(self.largest(centred), 1.0) - 1.0  # of exponents that could overflow
        sums = np.bincount(self.owner, masses * np.expm1(centred - shift[self.owner]), len(self.total))
        mean = np.maximum(sums / self._positive_total, np.finfo(float).eps - 1.0)
        return float(self._total @ (shift + np.log1p(mean)))

    def hessian(self, masses: FloatArray, rows: IntArray) -> FloatArray | sparse.csc_matrix:
        """``C J C'`` at some masses for some rows, dense or sparse as suits its size; shape (len(rows), len(rows))."""
        if len(rows) * len(self.owner) > CHUNK and len(rows) <= DENSE_FACTOR and self.heavy[rows].any():
            return self._bordered(masses, rows)
        chosen = self.matrix[rows]
        if len(rows) * len(self.owner) <= max(DENSE_PRODUCT, FILLED * chosen.nnz):
            # Centred before they are multiplied: as a difference of products, what is left of a mass near its owner's
            # total would be rounding.
            picked = chosen.toarray()
            sums = (self.membership.T @ (picked * masses).T).T
            root = (picked - (sums / self._positive_total)[:, self.owner]) * np.sqrt(masses)
            dense: FloatArray = root @ root.T
            return dense
        product = self.gram(masses, rows)
        dense_up_to = OVERLAPPING_FACTOR if self.overlapping else DENSE_FACTOR
        return product.toarray() if len(rows) <= dense_up_to else sparse.csc_matrix(product)

    def _bordered(self, masses: FloatArray, rows: IntArray) -> FloatArray:
        """`hessian` of few rows about everybody beside many about some: the former are dense, a chunk at a time."""
        if len(self.lower) <= min(DENSE_FACTOR, 2 * len(rows)):  # all rows, as they are at hand by columns
            (wide, narrow), heavy = self._columns, self.heavy
        else:
            heavy = self.heavy[rows]
            wide, narrow = self._by_columns(rows[heavy]), self._by_columns(rows[~heavy])
        few, many = np.flatnonzero(heavy), np.flatnonzero(~heavy)
        found = np.empty((len(heavy), len(heavy)))
        across, corner = np.zeros((len(many), len(few))), np.zeros((len(few), len(few)))
        if self._twos is None:
            spread, ends = masses[self._order], np.append(self._begin, len(self.owner))
        else:
            first, second, owners = self._twos
            spread, ends = masses[first] * masses[second] / self._positive_total[owners], np.arange(len(owners) + 1)
        root = np.sqrt(spread)
        for begin, end in self._chunks(ends, len(few)):
            here = slice(ends[begin], ends[end])
            picked = wide[:, here].toarray()
            if self._twos is None:
                at, total = ends[begin:end] - ends[begin], self._positive_total[self._owners[begin:end]]
                mean = np.add.reduceat(picked * spread[here], at, axis=1) / total
                picked -= np.repeat(mean, np.diff(ends[begin : end + 1]), axis=1)
            picked *= root[here]
            corner += picked @ picked.T
            picked *= root[here]
            across += narrow[:, here] @ picked.T
        found[np.ix_(few, few)] = corner
        found[np.ix_(many, few)], found[np.ix_(few, many)] = across, across.T
        if self._twos is None:
            of = many if len(heavy) == len(self.lower) else rows[many]
            found[np.ix_(many, many)] = self.gram(masses, of).toarray()
        else:
            weighed = narrow.copy()
            weighed.data *= np.repeat(spread, np.diff(narrow.indptr))
            found[np.ix_(many, many)] = (weighed @ narrow.T).toarray()
        return found if len(heavy) == len(rows) else found[np.ix_(rows, rows)]

    def _chunks(self, ends: IntArray, rows: int) -> Iterator[tuple[int, int]]:
        """Runs of owners, whose columns begin and end at ``ends``, with so many entries as are dense at a time."""
        per = max(1, DENSE * (len(ends) - 1) // max(1, int(ends[-1]) * rows))
        for begin in range(0, len(ends) - 1, per):
            yield begin, min(begin + per, len(ends) - 1)

    @cached_property
    def _twos(self) -> tuple[IntArray, IntArray, IntArray] | None:
        """Of owners with two masses the first, the second and the owner; None where one has more.

        A row then is about the difference of its coefficients, and J about ``m_1 m_2 / t``: nothing cancels.
        """
        size = np.diff(np.append(self._begin, len(self.owner)))
        if size.max(initial=0) > 2:
            return None
        begin = self._begin[size == 2]
        return self._order[begin], self._order[begin + 1], self._owners[size == 2]

    @cached_property
    def _columns(self) -> tuple[sparse.csc_matrix, sparse.csc_matrix]:
        """Rows about nearly everybody, and the others, by columns: see `_by_columns`."""
        return self._by_columns(np.flatnonzero(self.heavy)), self._by_columns(np.flatnonzero(~self.heavy))

    def _by_columns(self, rows: IntArray) -> sparse.csc_matrix:
        """Rows by columns: these are masses in the order of owners, or owners, with differences of two masses."""
        found = sparse.csc_matrix(self.matrix[rows])
        if self._twos is None:
            return found[:, self._order]
        return sparse.csc_matrix(found[:, self._twos[0]] - found[:, self._twos[1]])

    def gram(self, weight: FloatArray, rows: IntArray, of_owner: FloatArray | None = None) -> sparse.csr_matrix:
        """``C (diag(w) - sum_o w_o w_o' / v_o) C'`` for some rows, weights w of the masses and v of the owners."""
        of_owner = self._positive_total if of_owner is None else of_owner
        chosen = self.matrix[rows]
        shape = chosen.shape
        weighted = sparse.csr_matrix((chosen.data * weight[chosen.indices], chosen.indices, chosen.indptr), shape)
        pooled = weighted @ self.membership
        per_owner = pooled.data / of_owner[pooled.indices]
        shared = sparse.csr_matrix((per_owner, pooled.indices, pooled.indptr), pooled.shape)
        return weighted @ chosen.T - shared @ pooled.T

    def _at(self, y: FloatArray) -> tuple[float, FloatArray]:
        """``D(y)`` and ``m(y)``."""
        exponent = self.matrix.T @ y + np.log(self.weight)
        found = self._exponentials(exponent)
        sums = np.where(found.sums == 0, 1.0, found.sums)  # owners without masses
        entropy = float(self._total @ (found.largest + np.log(sums) - np.log(self._positive_total)))
        masses = found.share * (self._total / sums)[self.owner]
        return entropy - float(self._sides(y).sum()), masses

    def _exponentials(self, scores: FloatArray) -> Exponentials:
        """The parts of the softmax of scores within each owner."""
        return exponentials(scores, self.largest, self._summed, lambda values: values[self.owner])

    def _summed(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.owner, values, len(self.total)), np.float64)

    def _sides(self, y: FloatArray) -> FloatArray:
        """Terms that rows subtract from the dual function: ``y_r`` times the side that its sign stands for."""
        side = np.where(y > 0, self.lower, self.upper)
        return np.multiply(y, side, out=np.zeros(len(y)), where=y != 0)

    def few(self, held: BoolArray, weight: FloatArray, lower: FloatArray, upper: FloatArray) -> LinearEntropy:
        """The problem of some rows alone, with other weights; sides have the shape of all rows."""
        return replace(self, weight=weight, matrix=self.matrix[held], lower=lower[held], upper=upper[held])

    def largest(self, values: FloatArray) -> FloatArray:
        """The largest value of each owner, shape (n_owners,); 0 for owners without masses."""
        out = np.zeros(len(self.total))
        if len(values):
            out[self._owners] = np.maximum.reduceat(values[self._order], self._begin)
        return out

    @cached_property
    def empty(self) -> BoolArray:
        """Rows without a coefficient, which say nothing about any mass, shape (n_rows,)."""
        row = np.repeat(np.arange(len(self.lower)), np.diff(self.matrix.indptr))
        sums: BoolArray = np.bincount(row, np.abs(self.matrix.data), len(self.lower)) == 0
        return sums

    @cached_property
    def heavy(self) -> BoolArray:
        """Rows about so many masses that they are multiplied as dense ones, shape (n_rows,)."""
        number: BoolArray = np.diff(self.matrix.indptr) * HEAVY > max(len(self.owner), DENSE_PRODUCT)
        return number

    @cached_property
    def squared(self) -> sparse.csr_matrix:
        """The matrix with its coefficients squared."""
        return sparse.csr_matrix(self.matrix.multiply(self.matrix))

    @cached_property
    def _order(self) -> IntArray:
        return np.argsort(self.owner, kind="stable")

    @cached_property
    def _begin(self) -> IntArray:
        """Start of each owner's masses in ``_order``."""
        return np.flatnonzero(np.diff(self.owner[self._order], prepend=-1))

    @cached_property
    def _owners(self) -> IntArray:
        """The owners that have masses, increasing."""
        return self.owner[self._order][self._begin]

    @cached_property
    def _total(self) -> FloatArray:
        """The totals, with 0 for owners without masses."""
        return np.where(np.bincount(self.owner, minlength=len(self.total)) > 0, self.total, 0.0)

    @cached_property
    def _positive_total(self) -> FloatArray:
        """The totals, with 1 in place of 0: such owners contribute 0 in any case."""
        return np.where(self._total > 0, self._total, 1.0)

    @cached_property
    def membership(self) -> sparse.csr_matrix:
        """1 where a mass (row) is of an owner (column)."""
        n = len(self.owner)
        return sparse.csr_matrix((np.ones(n), (np.arange(n), self.owner)), shape=(n, len(self.total)))


@dataclass(frozen=True, eq=False)
class EntropyByClass:
    """`LinearEntropy` with the classes as columns.

    ``owner``, shape (n,): whose each cell is, increasing. ``total``, shape (n_owners,): individuals of each owner,
    positive. ``weight``, shape (n, n_classes): what each mass is compared with. ``matrix``, shape (n_rows, n): 1 where
    a place (row) has a cell. ``lower`` and ``upper``, shape (n_rows, n_classes), are the sides of its classes.
    """

    owner: IntArray
    total: FloatArray
    weight: FloatArray
    matrix: sparse.csr_matrix
    lower: FloatArray
    upper: FloatArray

    def value(self, y: FloatArray) -> float:
        """The dual function without draws, nats, at multipliers of shape (n_rows, n_classes)."""
        scores = np.asarray(self.transposed @ y) + np.log(self.weight)
        top = self.largest(scores)
        sums = self._summed(np.exp(scores - top[self.owner, None]))
        side = np.where(y > 0, self.lower, self.upper)
        sides = np.multiply(y, side, out=np.zeros_like(y), where=y != 0).sum()
        return float(self.total @ (top + np.log(sums) - np.log(self.total))) - float(sides)

    def rounding(self, y: FloatArray) -> float:
        """Largest floating-point error of ``value(y)``, nats."""
        size = self.largest(np.asarray(self.transposed @ np.abs(y)) + np.abs(np.log(self.weight)))
        side = np.where(y > 0, self.lower, self.upper)
        sides = np.multiply(y, side, out=np.zeros_like(y), where=y != 0)
        terms = self.total @ (size + np.abs(np.log(self.total)))
        return float(4 * np.finfo(float).eps * (terms + np.abs(sides).sum()))

    def entropy(self, masses: FloatArray) -> float:
        """``-sum m ln(m / w)``, nats."""
        return -float((masses * np.log(np.maximum(masses, TINY) / self.weight)).sum())

    def centred(self, values: FloatArray, masses: FloatArray) -> FloatArray:
        """Values less their mean over the owner, weighted by the masses."""
        mean = self._summed(masses * values) / self.total
        return values - mean[self.owner, None]

    def variance(self, masses: FloatArray) -> FloatArray:
        """``m (1 - m / t)``, individuals."""
        return masses * np.maximum(1.0 - masses / self.total[self.owner, None], 0.0)

    def softmax(self, scores: FloatArray) -> FloatArray:
        """Masses in proportion to the exponentials of scores, with the owners' totals."""
        return self.restored(np.exp(scores - self.largest(scores)[self.owner, None]))

    def restored(self, masses: FloatArray) -> FloatArray:
        """Masses scaled to the owners' totals."""
        factor: FloatArray = self.total / self._summed(masses)
        return masses * factor[self.owner, None]

    def few(self, held: BoolArray, weight: FloatArray, lower: FloatArray, upper: FloatArray) -> LinearEntropy:
        """The problem of some rows alone, with other weights, and each class of a cell as a mass of its own."""
        (place, klass), n_classes = np.nonzero(held), weight.shape[1]
        chosen = self.matrix[place]
        column = chosen.indices.astype(np.int64) * n_classes + np.repeat(klass, np.diff(chosen.indptr))
        shape = (len(place), weight.size)
        matrix = sparse.csr_matrix((chosen.data, column, chosen.indptr), shape=shape)
        owner = np.repeat(self.owner, n_classes)
        return LinearEntropy(owner, self.total, weight.ravel(), matrix, lower[held], upper[held])

    def largest(self, values: FloatArray) -> FloatArray:
        """The largest value of each owner, shape (n_owners,)."""
        found: FloatArray = np.maximum.reduceat(values.max(axis=1), self._first)
        return found

    def _summed(self, values: FloatArray) -> FloatArray:
        found: FloatArray = np.add.reduceat(values.sum(axis=1), self._first)
        return found

    @cached_property
    def transposed(self) -> sparse.csr_matrix:
        """The matrix, transposed."""
        return sparse.csr_matrix(self.matrix.T)

    @cached_property
    def empty(self) -> BoolArray:
        """Rows without a cell, shape (n_rows, 1)."""
        return np.asarray(np.diff(self.matrix.indptr) == 0)[:, None]

    @cached_property
    def _first(self) -> IntArray:
        return np.flatnonzero(np.diff(self.owner, prepend=-1))
