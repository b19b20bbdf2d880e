"""kADET as an estimator (Friedman, Schuster and Wolff 2006)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from maxent.models.defenses.estimator import PublishedTreeClassifier, constructor
from maxent.models.defenses.kadet.parameters import Kadet
from maxent.models.defenses.kadet.release import kadet
from maxent.models.errors import Problem, invalid
from maxent.models.parameters import picked, problems_of, unknown_choice
from maxent.models.reading import USUAL, reader_of
from maxent.models.release import Release
from maxent.models.rounding.parameters import Rounding
from maxent.models.rounding.round_counts import round_counts
from maxent.models.tables.columns.missing_values import MISSING
from maxent.models.tables.hierarchies import HierarchySource, read_hierarchies
from maxent.models.tables.training import Missing, Training
from maxent.models.trees.draft import Publish


class KADETClassifier(PublishedTreeClassifier):
    """A decision tree that is k-anonymous by construction.

    Who knows everybody's public columns, and the tree with all its counts, can link what is private to no group of
    fewer than k people (Definition 7 of [1]_).

    Parameters
    ----------
    k, l, diversity, alpha, impurity, class_public, order, confidence, min_samples_split, max_depth, selection
        See `maxent.models.defenses.kadet.parameters.Kadet`.
    hierarchies : mapping of column to hierarchy, optional
        How the values of categorical columns are generalised when a split breaches: files, or rows, of a value, its
        parent, its parent's parent..., see `maxent.models.tables.hierarchies.read_hierarchy`.
    private : sequence of str
        Columns (``x0``, ``x1``... of an array) that are not in the adversary's table; all others are public.
    missing : {"refuse", "category"}
        What is done with missing values of categorical columns: nothing, which is an error, or make them a category of
        their own, ``(missing)``. That is right only if what is missing here is missing in the adversary's table, too.
    publish : {"labels", "rates", "counts"}
        What leaves state, and what predictions are made from.
    round_counts, round_method
        How numbers of records are rounded, see `maxent.models.rounding.parameters.Rounding`.
    random_state : int, RandomState instance or None
        Of rounding by chance the seed; nothing else is random.
    reading : Reading, optional
        How cells are read, see `maxent.models.reading.Reading`.

    Attributes
    ----------
    release_, classes_, n_features_in_, feature_names_in_
        See `maxent.models.defenses.estimator.PublishedTreeClassifier`.

    References
    ----------
    .. [1] Friedman, Schuster and Wolff, "k-anonymous decision tree induction", PKDD 2006.
    """

    k: int
    hierarchies: Mapping[str, HierarchySource] | None
    missing: Missing
    publish: Publish
    round_counts: int | None
    random_state: int | np.random.RandomState | None

    __init__ = constructor(
        Kadet,
        Rounding,
        hierarchies=None,
        private=(),
        missing="refuse",
        publish="counts",
        random_state=None,
        reading=None,
    )

    def _asked(self) -> Kadet:
        """The parameters that the algorithm has."""
        found: Kadet = picked(Kadet, self, hierarchies={} if self.hierarchies is None else self.hierarchies)
        return found

    def _parameter_problems(self) -> Iterator[Problem]:
        yield from super()._parameter_problems()
        yield from problems_of(self._asked())
        for name, known in (("publish", Publish), ("missing", Missing)):
            yield from unknown_choice(name, getattr(self, name), get_args(known))
        rounding: Rounding = picked(Rounding, self)
        yield from problems_of(rounding) or rounding.conflicts_with(self.publish)

    def _publish(self, training: Training) -> Release:
        if len(training) < self.k:
            raise invalid("fit", "argument", "X", f"at least k = {self.k} records", f"n_samples = {len(training)}")
        asked, reader = self._asked(), reader_of(self.reading)
        read = read_hierarchies(asked.hierarchies, reader) or {}
        found = kadet(training, replace(asked, hierarchies=read), publish=self.publish)
        if (rounded := picked(Rounding, self).rounded) is None:
            return found
        seed = self.random_state
        return round_counts(
            found, rounded, seed.randint(2**31 - 1) if isinstance(seed, np.random.RandomState) else seed
        )

    def _frame(self, X: Any, *, reset: bool = False) -> pd.DataFrame:
        frame = super()._frame(X, reset=reset)
        if self.missing == "category":
            absent = (self.reading or USUAL).absent
            for name, column in frame.items():
                lacking = column.isna() | column.map(lambda cell: isinstance(cell, str) and absent(cell)).astype(bool)
                if not is_numeric_dtype(column.dtype) and lacking.any():
                    frame = frame.assign(**{str(name): column.astype(object).where(~lacking, MISSING)})
        return frame
