"""Attributes of a release that a pipeline was undone for: numbers where thresholds will do, else values by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.errors import invalid
from maxent.models.formats.scikit_learn.pipelines.sides import (
    Cut,
    Made,
    Test,
    Threshold,
    cuts_of,
    goes_left,
    in_precision,
    is_interval,
    made_of,
    tests_by_source,
)
from maxent.models.formats.scikit_learn.pipelines.table import Pipe, Values, column_of
from maxent.models.release import Attribute, Branch
from maxent.models.tables.columns.missing_values import MISSING, OTHER

MOST_NAMED = 2_000  # different numbers of a column up to which each may become a value of its own


@dataclass(frozen=True, slots=True, eq=False)
class Numeric:
    """A column of the table as an attribute of numbers: the branches of each test, without children."""

    attribute: Attribute
    made: Mapping[int, Made]
    values: Values
    cuts: Mapping[Threshold, Cut] = field(default_factory=dict)
    _made: dict[tuple[Test, bool | None], tuple[Branch, Branch]] = field(default_factory=dict)

    def stays_missing(self, j: int) -> bool:
        """Whether some value is still missing in a column of the model's input."""
        return self.values.missing >= 0 and bool(np.isnan(self.made[j].missing))

    def branches(self, test: Test, missing_left: bool | None) -> tuple[Branch, Branch]:
        """Left and right; ``missing_left`` is where the model sends what is still missing in its input."""
        found = self._made.get((test, missing_left))
        if found is None:
            found = self._made[test, missing_left] = self._branches(test, missing_left)
        return found

    def _branches(self, test: Test, missing_left: bool | None) -> tuple[Branch, Branch]:
        (j, limit), gaps, where = test, self.values.missing >= 0, missing_left
        assert isinstance(limit, float)
        cut = self.cuts[j, limit]
        if gaps and not np.isnan(self.made[j].missing):
            where = self.made[j].missing <= limit
        to_left, to_right = (True, None) if where else (None, True)
        if not gaps:
            to_left = to_right = None
        if cut.threshold is None:
            numbers_left = (False, None) if cut.rises else (None, False)
            return Branch(None, missing=numbers_left[0] if to_left is None else to_left), Branch(
                None, missing=numbers_left[1] if to_right is None else to_right
            )
        if cut.rises:
            return Branch(None, le=cut.threshold, missing=to_left), Branch(None, gt=cut.threshold, missing=to_right)
        return Branch(None, gt=cut.threshold, missing=to_left), Branch(None, le=cut.threshold, missing=to_right)


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """A column of the table as an attribute of named values: what is made of each value of the domain.

    ``made`` (n_domain,) by column of the model's input; NaN where a value is still missing there.
    """

    attribute: Attribute
    made: Mapping[int, FloatArray]
    values: Values
    _masks: dict[tuple[Test, bool | None], int] = field(default_factory=dict)
    _texts: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def stays_missing(self, j: int) -> bool:
        """Whether some value is still missing in a column of the model's input."""
        return bool(np.isnan(self.made[j]).any())

    @property
    def everything(self) -> int:
        """All values, as a set of bits."""
        return (1 << len(self.attribute.values or ())) - 1

    def left(self, test: Test, missing_left: bool | None) -> int:
        """The values that go left, as bits."""
        key = (test, missing_left)
        if key not in self._masks:
            goes = goes_left(self.made[test[0]], test, missing_left)
            self._masks[key] = sum(1 << i for i in np.flatnonzero(goes).tolist())
        return self._masks[key]

    def texts(self, bits: int) -> tuple[str, ...]:
        """The values of a set of bits."""
        if bits not in self._texts:
            self._texts[bits] = tuple(v for i, v in enumerate(self.attribute.values or ()) if bits >> i & 1)
        return self._texts[bits]


Undone = Numeric | Named


def undone(pipe: Pipe, tests: set[Test], columns: Sequence[Values], *, single: bool) -> dict[int, Undone]:
    """The attribute of each column of the table that the model's input is made of."""
    every = {traced.source for traced in pipe.traces.columns}
    by_source = tests_by_source(pipe, tests)
    made = {j: made_of(pipe, j, columns[t.source], single=single) for j, t in enumerate(pipe.traces.columns)}
    mine = {c: {j: made[j] for j, t in enumerate(pipe.traces.columns) if t.source == c} for c in every}
    numeric = {
        c
        for c in every
        if columns[c].numbers is not None
        and (all(pipe.traces.columns[j].ranges for j in mine[c]) or not by_source.get(c))
        and all(isinstance(t, float) and is_interval(made[j].left(t)) for j, t in by_source.get(c, ()))
    }
    asked = {(j, t): made[j] for c in numeric for j, t in by_source.get(c, ()) if isinstance(t, float)}
    cuts = cuts_of(pipe, asked, {c: columns[c] for c in numeric}, single=single)
    found: dict[int, Undone] = {}
    for c in sorted(every):
        values = columns[c]
        if c in numeric:
            attribute = Attribute(values.name, "numeric", missing=values.missing >= 0)
            found[c] = Numeric(
                attribute, mine[c], values, {test: cut for test, cut in cuts.items() if test[0] in mine[c]}
            )
        elif values.numbers is not None and len(values.texts) > MOST_NAMED:
            expected = (
                f"tests that are ranges of numbers, or at most {MOST_NAMED:,} different numbers: bins as indicators "
                "are none, so fit again with KBinsDiscretizer(encode='ordinal')"
            )
            raise invalid(pipe.source, f"column {values.name}", "X", expected, f"{len(values.texts):,} numbers")
        else:
            found[c] = _named(pipe, c, values, mine[c], single=single)
    return found


def untested(values: Values) -> Attribute:
    """The attribute of a column of the table that the model is not given."""
    if values.numbers is not None:
        return Attribute(values.name, "numeric", missing=values.missing >= 0)
    gaps = values.missing >= 0 or not values.texts
    return Attribute(values.name, "categorical", tuple(dict.fromkeys((*values.texts, *[MISSING] * gaps))))


def _named(pipe: Pipe, source: int, values: Values, made: Mapping[int, Made], *, single: bool) -> Named:
    """A column whose values are named: those of the table, those that an encoder was told of, and all others."""
    texts = list(values.texts)
    numbers = {j: [*m.numbers.tolist()] for j, m in made.items()}

    def add(text: str, answer: object) -> None:
        texts.append(text)
        for j in made:
            numbers[j].append(float(in_precision(column_of(answer, j), single)[0]))

    for told in pipe.traces.told.get(source, ()):
        text = str(told)
        if text not in texts and told == told and told is not None:
            answer = pipe.answers(source, told)
            if answer is not None:
                add(text, answer)
    if values.missing >= 0:
        if MISSING in texts:
            raise invalid(pipe.source, f"column {values.name}", "X", f"no value {MISSING!r} beside missing ones", "it")
        texts.append(MISSING)
        for j, m in made.items():
            numbers[j].append(m.missing)
    if values.numbers is None or not any(pipe.traces.columns[j].ranges for j in made):  # else they go by their size
        answer = pipe.answers(source, _unknown(values))
        if answer is not None and OTHER not in texts:
            add(OTHER, answer)
    arrays = {j: np.array(each, np.float64) for j, each in numbers.items()}
    order = _ordinal(arrays, len(values.texts))
    domain = tuple(texts[i] for i in order)
    return Named(Attribute(values.name, "categorical", domain), {j: a[order] for j, a in arrays.items()}, values)


def _unknown(values: Values) -> object:
    """A value of the kind of a column that nobody has."""
    if values.numbers is not None:
        return float(np.floor(np.abs(values.numbers).max() if len(values.numbers) else 0.0)) + 0.5
    text = OTHER
    while text in values.texts:
        text += "?"
    return text


def _ordinal(made: Mapping[int, FloatArray], n: int) -> list[int]:
    """The values in the order of their codes, where some column has a code for each of the first ``n``."""
    for numbers in made.values():
        if n > 2 and len(np.unique(numbers[:n])) == n:
            return [int(i) for i in np.argsort(numbers, kind="stable")]
    return list(range(len(next(iter(made.values()), []))))
