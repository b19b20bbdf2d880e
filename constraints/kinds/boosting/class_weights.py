"""Linear statements about a leaf of a boosted model with class weights: one coefficient per quasi-identifier.

A record of class x weighs ``w_x``. With ``a = p + s p (1 - p)``, where s is the value of the leaf times the factor of
the second derivative, divided by the rate, the value says ``sum_c [a_c sum_x w_x m_cx - w_k m_ck] = -fixed`` of the
cells c of a leaf and the class k of its tree. The sum of second derivatives, where a file states it, says
``sum_c p_c (1 - p_c) sum_x w_x m_cx``. Of two classes one is what the other leaves of the people, if these are known.

What rounding may have done to the coefficients is in the bounds: people times the largest error of each.

Where people had weights of their own that are known, the share s_k of a class in a leaf says that its people weigh
``s_k W``, W being the weight of all. With one weight in each cell that is ``sum_c w_c m_ck = s_k W``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from maxent.constraints.kinds.boosting.scores import FEW
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.tables.truth_and_facts import Weighed

# The numbers of a leaf in words.
SAYS = {"value": "value", "hessian": "sum of second derivatives", "share": "weighted share"}
# Relative error of a sum of second derivatives as a file states it.
PRINTED = 2e-6
# Coefficients that are no larger than this beside the largest are of nobody.
LEVEL = 1e-12


# By how much a sum of weights may be off that a share states in full, as a share of all weight in the leaf.
EXACT = 1e-9
# Decimals of weights that are taken for multiples of a unit.
DIGITS = range(5)
# Multiples up to which sums of weights are sums of whole numbers, for proofs of whole people, too.
MULTIPLES = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class LeafSum:
    """``low <= sum over cells c of a place and classes x of coef[x] weights[c, x] m[c, x] <= high``, individuals.

    ``of`` is the number in the leaf that says so. Shapes: coef (n_classes,), weights (n_cells of the place, n_classes).
    """

    tree: int
    place: int
    of: Literal["value", "hessian", "share"]
    coef: FloatArray
    weights: FloatArray
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The sum of second derivatives of a leaf's records, ``factor`` times ``spread`` each, which may be ``off``.

    ``spread`` and ``off`` have shape (n_cells,).
    """

    stated: float
    factor: float
    spread: FloatArray
    off: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Lower and upper counts of a leaf's class, and weighted sums."""

    number: tuple[float, float]
    sums: tuple[LeafSum, ...]


@dataclass(frozen=True, slots=True, eq=False)
class WeightedLeaf:
    """The people of a leaf, and the statement of its value about their weighted sum.

    Attributes
    ----------
    tree, place, klass : int
    weights : shape (n_classes,)
        Of the classes, that of the tree's class being 1.
    people : shape (n_cells,)
        Individuals of the quasi-identifier of each cell.
    a, off : shape (n_cells,)
        The coefficients of the text above, and how far they may be off.
    fixed, free : float
        The constant, and how far it may be off.
    """

    tree: int
    place: int
    klass: int
    weights: FloatArray
    people: FloatArray
    a: FloatArray
    off: FloatArray
    fixed: float
    free: float

    def found(self, n: int | None, curve: Curve | None, *, single: bool) -> Found | str:
        """Everything the leaf states, or a description of the error.

        ``n`` are the records that it states; ``single`` is whether no quasi-identifier has cells elsewhere.
        """
        people, x = float(self.people.sum()), self.klass
        if single and n is not None and n != people:
            return f"{n:,} records, but {people:,.0f} individuals of the table reach it"
        sums = [self._value(single=single), *([] if curve is None else [self._curve(curve, single=single)])]
        sums = [said for said in sums if np.isfinite([said.low, said.high, said.weights.sum()]).all()]
        low, high = 0.0, people
        for said in sums if single and len(self.weights) == 2 else ():
            number = number_of_class(said, x, self.people)
            if number is None or max(low, np.ceil(number[0])) > min(high, np.floor(number[1])):
                return f"its {SAYS[said.of]} is not that of {people:,.0f} people whose classes have these weights"
            low, high = max(low, float(np.ceil(number[0]))), min(high, float(np.floor(number[1])))
        telling = [said for said in sums if says_more(said, x, self.people)]
        if low == high in (0.0, people):
            telling = []
        return Found((low, high), tuple(telling))

    def _value(self, *, single: bool) -> LeafSum:
        """The statement of the value."""
        wide = float(self.people @ self.off) * float(self.weights.max()) + self.free
        own = np.arange(len(self.weights)) == self.klass
        matrix = self.a[:, None] * self.weights - own
        return self._stated("value", matrix, -self.fixed - wide, -self.fixed + wide, single=single)

    def _curve(self, curve: Curve, *, single: bool) -> LeafSum:
        """The statement of the sum of second derivatives."""
        wide = float(self.people @ (curve.off + FEW)) * float(self.weights.max())
        wide += (PRINTED * curve.stated + FEW) / curve.factor
        middle = curve.stated / curve.factor
        return self._stated(
            "hessian", curve.spread[:, None] * self.weights, middle - wide, middle + wide, single=single
        )

    def _stated(
        self, of: Literal["value", "hessian"], matrix: FloatArray, low: float, high: float, *, single: bool
    ) -> LeafSum:
        """A statement with coefficients of size 1, about one of two classes where that is all."""
        if single and len(self.weights) == 2:
            other = 1 - self.klass
            constant = float(self.people @ matrix[:, other])
            left = (matrix[:, self.klass] - matrix[:, other])[:, None] * (np.arange(2) == self.klass)
            matrix, low, high = left, low - constant, high - constant
        size = np.abs(matrix).max(initial=0.0)
        matrix = np.where(np.abs(matrix) <= LEVEL * size, 0.0, matrix) / (size or 1.0)
        low, high = low / (size or 1.0), high / (size or 1.0)
        if matrix.sum() < 0:
            matrix, low, high = -matrix, -high, -low
        return LeafSum(self.tree, self.place, of, np.asarray(matrix.any(axis=0), np.float64), matrix, low, high)


def number_of_class(said: LeafSum, klass: int, people: FloatArray) -> tuple[float, float] | None:
    """Least and largest number of people of one class that a statement about it alone leaves; None if it leaves none.

    Bounds of the linear program with ``0 <= m_c <= people_c``: cells with the largest, or the smallest, coefficients
    have them all, until the sum is reached. Coefficients below 0 prove nothing.
    """
    weight = said.weights[:, klass]
    if said.coef.sum() != 1 or (weight <= 0).any():
        return 0.0, float(people.sum())
    if said.low > float(weight @ people) or said.high < 0:
        return None
    order = np.argsort(-weight, kind="stable")
    least = _filled(weight[order], people[order], said.low)
    most = _filled(weight[order[::-1]], people[order[::-1]], said.high)
    return least, most


def _filled(weight: FloatArray, people: FloatArray, total: float) -> float:
    """How many people, taken in this order, have a weighted sum of ``total``; all of them where it is never reached."""
    sums = np.cumsum(weight * people)
    at = int(np.searchsorted(sums, total))
    if total <= 0:
        return 0.0
    if at == len(people):
        return float(people.sum())
    before = float(sums[at - 1]) if at else 0.0
    return float(people[:at].sum()) + (total - before) / float(weight[at])


def says_more(said: LeafSum, klass: int, people: FloatArray) -> bool:
    """Whether a statement tells cells apart by more than it leaves open: else a number of people says it all."""
    weight = said.weights[:, klass]
    return bool(said.coef.sum() > 1 or float(np.ptp(weight)) * float(people.sum()) > said.high - said.low)


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """The weight of each person of a quasi-identifier, and that of its people in each class.

    ``weight`` has shape (n_qi,), NaN where people have different ones; ``sums`` has shape (n_qi, n_classes).
    """

    weight: FloatArray
    sums: FloatArray

    def have(self, own: IntArray, share: FloatArray) -> bool:
        """Whether some people have these shares of classes: else they were computed otherwise, and say nothing."""
        told = self.sums[own].sum(axis=0)
        return bool((np.abs(share * told.sum() - told) <= EXACT * told.sum()).all())

    def stated(
        self, tree: int, place: int, own: IntArray, people: FloatArray, share: FloatArray
    ) -> tuple[list[tuple[int, float, float]], list[LeafSum]] | None:
        """What the shares of a leaf say of its people: numbers of each class, and sums.

        None unless people of a quasi-identifier weigh alike, multiples of one unit: then that is not all they tell.
        """
        weight = self.weight[own]
        unit = _unit(weight)
        if not unit:
            return None
        classes, total = np.flatnonzero(share > 0).tolist(), float(weight @ people)
        largest, numbers, sums = float(weight.max()), [], []
        weight = weight / largest
        heaviest = np.argsort(-weight, kind="stable")
        for x in classes:
            said = round(float(share[x]) * total / unit) * unit / largest
            fewest, most = (_filled(weight[of], people[of], said) for of in (heaviest, heaviest[::-1]))
            numbers.append((x, float(np.ceil(fewest - EXACT)), float(np.floor(most + EXACT))))
            if np.ptp(weight) and x != classes[-1]:  # the last class has what is left
                coef = (np.arange(len(share)) == x).astype(np.float64)
                sums.append(LeafSum(tree, place, "share", coef, weight[:, None] * coef, said, said))
        return numbers, sums


def people_of(weighed: Weighed, n_qi: int, n_classes: int) -> People:
    """The weights of the people of each quasi-identifier."""
    there = weighed.counts > 0
    owner, weight = weighed.owner[there], weighed.weight[there]
    each, sums = np.full(n_qi, np.nan), np.zeros((n_qi, n_classes))
    each[owner] = weight
    each[owner[each[owner] != weight]] = np.nan
    np.add.at(sums, (owner, weighed.classes[there]), weighed.counts[there] * weight)
    return People(each, sums)


def _unit(weight: FloatArray) -> float:
    """A power of ten that all weights are multiples of, not too many; 0 where there is none, or a weight is none."""
    for digits in DIGITS if weight.min() > 0 else ():
        many = weight * 10.0**digits
        if many.max() <= MULTIPLES and np.abs(many - np.rint(many)).max() <= EXACT:
            return float(10.0**-digits)
    return 0.0
