"""How well predictions and scores agree with the classes: confusion matrices, accuracy, AUC, log-loss, Brier score.

What is predicted is known of each quasi-identifier: it is in a column of the table, or a release answers it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np

from maxent.models.arguments import shorten_list, show
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import InvalidInput
from maxent.models.release import Release
from maxent.models.statements.statement import (
    COMPUTED,
    Box,
    ClassSum,
    Keys,
    LinearStatement,
    PrintedNumber,
    StatementPeople,
    between,
    described,
)
from maxent.models.statements.sums import about_between, count_row, mean_rows, some
from maxent.models.trees.predict import (
    alike_at,
    limits_at,
    may_predict,
    places_of,
    states_answers,
    states_shares,
    tested_attributes,
)
from maxent.models.trees.printed_rates import SINGLE, decimals

# What tools make of a probability of 0 when they take its logarithm: at the most the precision of a single number, at
# the least 1e-16.
LARGEST_LOSS, SMALLEST_LOSS = -np.log(0.99e-16), -np.log(1.2e-7)


@dataclass(frozen=True, slots=True)
class Answers:
    """What predicts: a column, or a release with the columns that its trees test."""

    column: str = ""
    release: Release | None = None
    name: str = ""

    @classmethod
    def parse(cls, keys: Keys, key: str, *, numbers: bool) -> Self:
        """The model under a key, or under ``from``."""
        if ("from" in keys) == (key in keys):
            keys.refuse(key, f"a column, or from with the file of a release in place of {key}")
        if key in keys:
            column = keys.column(key, numbers=numbers)
            if not numbers:
                keys.columns[column].known |= dict.fromkeys(keys.classes)
            return cls(column)
        from maxent.models.formats.registry import load_release, reader_for

        file, per_row = keys.text("from"), f"others are a column for each row, key {key}"
        path, release = os.path.join(keys.folder, file), None
        try:
            if not reader_for(path, None).states:  # statements may name themselves
                release = load_release(path)
        except InvalidInput as error:
            raise keys.within("from", error) from error
        if release is None or not states_answers(release):
            found = "statements without a tree" if release is None else "trees whose leaves state no answer"
            keys.refuse("from", f"a release of trees that predict ({per_row})", f"{file}: {found}")
        if numbers and not states_shares(release):
            found = f"{file}: answers without probabilities"
            keys.refuse("from", f"a release that states the probabilities it predicts ({per_row})", found)
        if numbers and not _are_exact(release):
            found = f"{file}: probabilities that are rounded, suppressed or noisy"
            keys.refuse("from", f"a release with the numbers of records of its leaves ({per_row})", found)
        if set(release.target.classes) != set(keys.classes):
            keys.refuse("from", f"a release about {', '.join(keys.classes)}", ", ".join(release.target.classes))
        for attribute in tested_attributes(release):
            keys.use(attribute.name, numbers=attribute.values is None)
            for value in attribute.values or ():
                keys.columns[attribute.name].known[value] = None
        return cls(release=release, name=file)

    def may_predict(self, people: StatementPeople) -> BoolArray:
        """Which classes may be predicted of each quasi-identifier, shape (n_qi, n_classes)."""
        if self.release is None:
            found = np.stack([people.has(self.column, klass) for klass in people.classes], axis=1)
            if not found[people.counts > 0].any(axis=1).all():
                others = [v for v in map(described, people.values(self.column)) if v not in people.classes]
                people.refuse(self.column, f"predicted classes: {shorten_list(people.classes)}", shorten_list(others))
            return found
        return np.asarray(may_predict(self.release, self._places(people), len(people))[:, self._order(people)])

    def shares(self, people: StatementPeople, klass: int | None) -> tuple[FloatArray, FloatArray]:
        """The least and the largest probability of each class, shape (n_qi, n_classes).

        With a class the others have what its probability leaves.
        """
        if self.release is None:
            low = high = np.repeat(people.numbers(self.column)[:, None], len(people.classes), axis=1)
            if ((low < 0) | (low > 1))[people.counts > 0].any():
                people.refuse(self.column, "probabilities, from 0 to 1", "others")
        else:
            order = self._order(people)
            low, high = limits_at(self.release, self._places(people), len(people))
            low, high = low[:, order], high[:, order]
        if klass is None:
            return low, high
        own = np.arange(len(people.classes)) == klass
        return np.where(own, low, 1 - high[:, [klass]]), np.where(own, high, 1 - low[:, [klass]])

    def ranks(self, people: StatementPeople, klass: int) -> tuple[FloatArray, FloatArray]:
        """The least and the largest rank of each quasi-identifier by the score of a class, two arrays of shape (n_qi,).

        Ranks count people from 1. People with one score share the middle of their ranks. Where it is not known which
        of two scores is larger, either order is possible, and a tie.
        """
        if self.release is None:
            low = high = people.numbers(self.column)
            _, group = np.unique(low, return_inverse=True)
        else:
            low, high = (side[:, klass] for side in self.shares(people, klass))
            group = alike_at(self.release, self._places(people), len(people))
        tied = np.bincount(group, people.counts)[group]
        below = _people_up_to(high, people.counts, low, "left")
        others = _people_up_to(low, people.counts, high, "right") - below - tied
        middle = below + (tied + 1) / 2
        return middle, middle + others

    def _order(self, people: StatementPeople) -> list[int]:
        assert self.release is not None
        return [self.release.target.classes.index(c) for c in people.classes]

    def _places(self, people: StatementPeople) -> list[IntArray]:
        """Where the people end in each tree."""
        assert self.release is not None
        attributes = tuple(tested_attributes(self.release))
        columns: list[Any] = []
        for attribute in attributes:
            if attribute.values is None:
                columns.append(people.numbers(attribute.name))
                continue
            codes = np.full(len(people), -1)
            for code, value in enumerate(attribute.values):
                codes[people.has(attribute.name, value)] = code
            if (codes < 0)[people.counts > 0].any():
                expected = f"values that {self} knows: {shorten_list(attribute.values)}"
                people.refuse(attribute.name, expected, "others")
            columns.append(codes)
        return places_of(self.release, attributes, columns, len(people))

    def __str__(self) -> str:
        return self.name or self.column


# Digits from which on a share is one that a program printed in full.
FULL = 12


def _are_exact(release: Release) -> bool:
    """Whether a release states the probabilities of its model as they are, and not rounded to a few digits.

    A printed rate is exact if it is the only one of so many records that rounds to it, and nothing was rounded off.
    """
    if release.predicts == "score" or (release.predicts == "vote" and len(release.trees) > 1):
        return True
    if release.rounded is not None or release.suppressed_below or release.noise is not None:
        return False
    leaves = [leaf for tree in release.trees for leaf in tree.leaves if leaf.counts is None]
    rates = [
        (rate, leaf.n)
        for leaf in leaves
        for rate in (
            leaf.rates.values() if leaf.rates is not None else () if leaf.error_rate is None else (leaf.error_rate,)
        )
    ]
    digits = max((decimals(rate) for rate, _ in rates), default=0)
    return digits >= FULL or all(
        n is not None and n < 10.0 ** max(digits, 1) and abs(rate * n - round(rate * n)) <= 1e-9 * max(n, 1)
        for rate, n in rates
    )


@dataclass(frozen=True, slots=True)
class Confusion:
    """``confusion``: how many people of each class are predicted to be of which."""

    model: Answers
    matrix: tuple[tuple[int, int, int], ...]  # predicted, true, people

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        model, raw = Answers.parse(keys, "prediction", numbers=False), keys.raw("matrix")
        if not isinstance(raw, Mapping) or not raw:
            keys.refuse("matrix", "an object from predicted classes to objects from true classes to people")
        found = []
        for predicted, row in raw.items():
            inner = keys.inner(f"{keys.where}, matrix {predicted}", row)
            if predicted not in keys.classes:
                keys.refuse("matrix", f"classes: {', '.join(keys.classes)}", show(predicted))
            for true in row:
                if true not in keys.classes:
                    inner.refuse(true, f"classes: {', '.join(keys.classes)}", show(true))
                found.append((keys.classes.index(predicted), keys.classes.index(true), inner.whole(true) or 0))
        return cls(model, tuple(found))

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
        """A row for each entry, or one for each side."""
        may = self.model.may_predict(people) & (people.counts > 0)[:, None]
        sure = may & (may.sum(axis=1, keepdims=True) == 1)
        for p, x, n in self.matrix:
            says = f"{n:,} of {people.classes[x]} predicted {people.classes[p]} by {self.model}"
            yield from about_between(sure[:, p], may[:, p], float(n), float(n), says, x)


@dataclass(frozen=True, slots=True)
class AccuracyStatement:
    """``accuracy``: the share of people whose class is predicted, as printed: a whole number of them has that share."""

    model: Answers
    value: PrintedNumber

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        return cls(Answers.parse(keys, "prediction", numbers=False), keys.printed())

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
        """One row, or one for each side."""
        may = self.model.may_predict(people)
        sure = may & (may.sum(axis=1, keepdims=True) == 1)
        ends, says = (self.value.low, self.value.high), f"accuracy {self.value} of {self.model}"
        weights = sure.astype(np.float64), may.astype(np.float64)
        yield from mean_rows(people, *weights, ends, people.number, says, grain=Fraction(1))


@dataclass(frozen=True, slots=True)
class RankSum:
    """``auc``: the area under the ROC curve of a score for a class, as printed.

    With ranks r among all N people, ties in the middle, the area is ``(R - n(n + 1)/2) / (n (N - n))``, n being the
    people of the class and R the sum of their ranks (Mann & Whitney 1947). So R lies between
    ``f(n) = a n (N - n) + n (n + 1)/2`` for the two ends a of what was printed: linear where n is known. Where n is
    known to lie within limits only, a chord of f is used on the side where f is bent the right way, tangents on the
    other; bounds take one number after the other.
    """

    model: Answers
    klass: int
    value: PrintedNumber

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        found = cls(Answers.parse(keys, "score", numbers=True), some(keys), keys.printed())
        if found.value.high < 0 or found.value.low > 1:
            keys.refuse("equals", "an area, from 0 to 1")
        return found

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
        """One row where the number of people of the class is known, else a few."""
        everybody = float(people.counts.sum())
        least, most = people.class_total(self.klass)
        yield from self.given(people, [(max(np.ceil(least - 1e-6), 1.0), min(np.floor(most + 1e-6), everybody - 1))])
        yield count_row(people, self.klass, 1.0, everybody - 1, f"{self._says(people)}: people of both classes")

    def figure(self, people: StatementPeople, masses: FloatArray) -> float:
        """The area; the middle of those that are possible where it is not known which of two scores is larger."""
        n, others = float(masses[:, self.klass].sum()), float(np.delete(masses, self.klass, axis=1).sum())
        ranks = float(masses[:, self.klass] @ np.mean(self.model.ranks(people, self.klass), axis=0))
        return (ranks - n * (n + 1) / 2) / (n * others) if n and others else np.nan

    def measures(self, people: StatementPeople) -> tuple[ClassSum, ...]:
        """The number of people of the class."""
        inside = (people.counts > 0).astype(np.float64)
        return (ClassSum(inside, self.klass, 1.0, float(people.counts.sum()) - 1, 1.0),)

    def _says(self, people: StatementPeople) -> str:
        return f"AUC {self.value} of {self.model} for {people.classes[self.klass]}"

    def given(self, people: StatementPeople, box: Box) -> Iterator[LinearStatement]:
        """Rows for numbers of people of the class between two ends."""
        [(least, most)], everybody = box, float(people.counts.sum())
        if least > most:
            return
        least_rank, most_rank = self.model.ranks(people, self.klass)
        low, high = between(max(self.value.low, Fraction(0)), min(self.value.high, Fraction(1)))
        says, of, off = self._says(people), people.classes[self.klass], COMPUTED * everybody**2
        inside = (people.counts > 0).astype(np.float64)
        for end, above, rank in ((low, True, most_rank), (high, False, least_rank)):
            for slope, constant, exact in _lines(end, everybody, least, most, above):
                at = f", exact for {' or '.join(f'{n:,.0f}' for n in exact)} {of}" if exact else ""
                sides = (constant - off, np.inf) if above else (-np.inf, constant + off)
                told = f"{says}, {'lower' if above else 'upper'} side{at}"
                yield LinearStatement((rank - slope) * inside, *sides, told, self.klass)


def _lines(
    end: float, everybody: float, least: float, most: float, above: bool
) -> Iterator[tuple[float, float, list[float]]]:
    """Lines ``slope n + constant`` below f on the numbers between limits, for sums ``above`` it; or above f.

    With the numbers for which a line is f, none where it is so for all.
    """

    def f(n: float) -> float:
        return end * n * (everybody - n) + n * (n + 1) / 2

    bend = 1 - 2 * end  # the second derivative of f
    if least == most:
        yield 0.0, f(least), []
    elif (bend <= 0) == above:  # a chord is on the right side
        slope = (f(most) - f(least)) / (most - least)
        yield slope, f(least) - slope * least, [least, most]
    else:
        for n in np.unique(np.rint(np.linspace(least, most, TANGENTS))).tolist():
            slope = end * (everybody - 2 * n) + n + 0.5
            yield slope, f(n) - slope * n, [n]


TANGENTS = 7


def _people_up_to(score: FloatArray, counts: FloatArray, end: FloatArray, side: Literal["left", "right"]) -> FloatArray:
    """How many people have a score below each of some ends, or up to it."""
    order = np.argsort(score)
    return np.append(0.0, np.cumsum(counts[order]))[np.searchsorted(score[order], end, side)]


@dataclass(frozen=True, slots=True)
class _MeanLoss:
    """A statement on the mean of a loss over people, as printed."""

    model: Answers
    klass: int | None
    value: PrintedNumber

    @classmethod
    def parse(cls, keys: Keys) -> Self:
        model = Answers.parse(keys, "score", numbers=True)
        return cls(model, keys.klass(optional=model.release is not None), keys.printed())

    def about(self, people: StatementPeople) -> str:
        """What the loss is of."""
        return str(self.model) if self.klass is None else f"{self.model} for {people.classes[self.klass]}"


@dataclass(frozen=True, slots=True)
class LogLoss(_MeanLoss):
    """``log_loss``: the mean of minus the logarithm of the probability of the true class, as printed.

    With ``class`` the score is its probability, and the other classes share what is left; without, a release answers
    the probabilities of all. The sum over people is linear in who has which class. Tools put a small number in the
    place of a probability of 0: of which size is not known, so that each side has the size that is sound for it.
    """

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
        """One row, or one for each side."""
        with np.errstate(divide="ignore"):
            large, small = (-np.log(side) for side in self.model.shares(people, self.klass))
        most = np.maximum(np.where(large < np.inf, large, 0.0), LARGEST_LOSS)
        large = np.where(large > SMALLEST_LOSS - 1e-3, most, large)
        small = np.minimum(small, SMALLEST_LOSS)
        yield from _mean_of(people, small, large, self.value, f"log-loss {self.value} of {self.about(people)}")


@dataclass(frozen=True, slots=True)
class Brier(_MeanLoss):
    """``brier``: the mean squared difference of a probability of a class and 1 for people of it, 0 for others.

    Without ``class`` the squared differences of all classes are added up. The sum over people is linear in who has
    which class.
    """

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
        """One row, or one for each side."""
        shares = self.model.shares(people, self.klass)
        small, large = (_squares(side, other, self.klass) for side, other in (shares, shares[::-1]))
        yield from _mean_of(people, small, large, self.value, f"Brier score {self.value} of {self.about(people)}")


def _squares(shares: FloatArray, others: FloatArray, klass: int | None) -> FloatArray:
    """Squared differences by true class, shape (n_qi, n_classes), with one side of probabilities, 1 less the other."""
    of = slice(None) if klass is None else slice(klass, klass + 1)
    squares, away = shares**2, (1 - others) ** 2
    found = np.repeat(squares[:, of].sum(axis=1, keepdims=True), shares.shape[1], axis=1)
    found[:, of] += (away - squares)[:, of]
    return found


def _mean_of(
    people: StatementPeople, small: FloatArray, large: FloatArray, value: PrintedNumber, says: str
) -> Iterator[LinearStatement]:
    """Rows for a mean of what is between two numbers for each class, shapes (n_qi, n_classes)."""
    wide = Fraction(0)
    if (small != large).any():  # then the tool may have added them in single precision, too, pair by pair
        wide = Fraction(64 * SINGLE) * abs(value.high)
    yield from mean_rows(people, small, large, (value.low - wide, value.high + wide), people.number, says)
