"""kADET as an estimator (Friedman, Schuster and Wolff 2006)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import pandas as pd
from pandas.api.types import is_numeric_dtype

from maxent.models.defenses.estimator import PublishedTreeClassifier
from maxent.models.defenses.kadet.parameters import Diversity, Kadet, Order
from maxent.models.defenses.kadet.release import kadet
from maxent.models.errors import Problem, invalid
from maxent.models.induction.parameters import Selection
from maxent.models.parameters import picked, problems_of, unknown_choice
from maxent.models.reading import USUAL, Reading, reader_of
from maxent.models.release import Impurity, Release
from maxent.models.tables.columns.missing_values import MISSING
from maxent.models.tables.hierarchies import HierarchySource, read_hierarchy
from maxent.models.tables.training import Missing, Training
from maxent.models.trees.draft import Publish


class KADETClassifier(PublishedTreeClassifier):
    """A decision tree that is k-anonymous by construction.

    Who knows everybody's public columns, and the tree with all its counts, can link what is private to no group of
    fewer than k people (Definition 7 of [1]_).

    Parameters
    ----------
    k : int
        The smallest number of records that may share a span; 1 asks for nothing.
    l : float, optional
        Diversity of the classes of every span, above 1; ``diversity`` "entropy": e to the entropy is at least l, or
        "distinct": there are at least l classes.
    alpha : float, optional
        The largest share of a class in a span, above 0 and below 1.
    impurity : {"entropy", "gini", "gain_ratio"}
        What splits are compared by. ID3 is "entropy" on categorical columns, C4.5 "gain_ratio" with a ``confidence``.
    selection : {"gain_ratio", "quinlan"}
        Of gain_ratio: whether all splits compete by it; or, as in C4.5, numbers are cut where they gain most, and the
        attributes that gain at least as much as all do on average compete by gain ratio.
    confidence : float, optional
        The confidence factor of error-based pruning, 0.25 in C4.5: subtrees are replaced by leaves, which keeps
        whatever is guaranteed. None: no pruning.
    hierarchies : mapping of column to hierarchy, optional
        How the values of categorical columns are generalised when a split breaches: files, or rows, of a value, its
        parent, its parent's parent..., see `maxent.models.tables.hierarchies.read_hierarchy`.
    private : sequence of str
        Columns (``x0``, ``x1``... of an array) that are not in the adversary's table; all others are public.
    class_public : bool
        Whether the class is in the adversary's table.
    missing : {"refuse", "category"}
        What is done with missing values of categorical columns: nothing, which is an error, or make them a category of
        their own, ``(missing)``. That is right only if what is missing here is missing in the adversary's table, too.
    order : {"gain", "weighted"}
        Whether candidates of different nodes are compared as they are, or times the records of the node.
    min_samples_split : int
        Records, at least 1: nodes with fewer stay leaves.
    max_depth : int, optional
        Splits between the root and the deepest leaf, at least 0.
    publish : {"labels", "rates", "counts"}
        What leaves state, and what predictions are made from.
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

    def __init__(
        self,
        *,
        k: int = 5,
        l: float | None = None,  # noqa: E741 (the l of l-diversity)
        diversity: Diversity = "entropy",
        alpha: float | None = None,
        impurity: Impurity = "entropy",
        selection: Selection = "gain_ratio",
        confidence: float | None = None,
        hierarchies: Mapping[str, HierarchySource] | None = None,
        private: Sequence[str] = (),
        class_public: bool = False,
        missing: Missing = "refuse",
        order: Order = "gain",
        min_samples_split: int = 2,
        max_depth: int | None = None,
        publish: Publish = "counts",
        reading: Reading | None = None,
    ) -> None:
        self.k = k
        self.l = l
        self.diversity = diversity
        self.alpha = alpha
        self.impurity = impurity
        self.selection = selection
        self.confidence = confidence
        self.hierarchies = hierarchies
        self.private = private
        self.class_public = class_public
        self.missing = missing
        self.order = order
        self.min_samples_split = min_samples_split
        self.max_depth = max_depth
        self.publish = publish
        self.reading = reading

    def _asked(self) -> Kadet:
        """The parameters that the algorithm has."""
        found: Kadet = picked(Kadet, self, hierarchies={} if self.hierarchies is None else self.hierarchies)
        return found

    def _parameter_problems(self) -> Iterator[Problem]:
        yield from super()._parameter_problems()
        yield from problems_of(self._asked())
        for name, known in (("publish", Publish), ("missing", Missing)):
            yield from unknown_choice(name, getattr(self, name), get_args(known))

    def _publish(self, training: Training) -> Release:
        if len(training) < self.k:
            raise invalid("fit", "argument", "X", f"at least k = {self.k} records", f"n_samples = {len(training)}")
        asked, reader = self._asked(), reader_of(self.reading)
        read = {name: read_hierarchy(source, name, reader) for name, source in asked.hierarchies.items()}
        return kadet(training, replace(asked, hierarchies=read), publish=self.publish)

    def _frame(self, X: Any, *, reset: bool = False) -> pd.DataFrame:
        frame = super()._frame(X, reset=reset)
        if self.missing == "category":
            absent = (self.reading or USUAL).absent
            for name, column in frame.items():
                lacking = column.isna() | column.map(lambda cell: isinstance(cell, str) and absent(cell)).astype(bool)
                if not is_numeric_dtype(column.dtype) and lacking.any():
                    frame = frame.assign(**{str(name): column.astype(object).where(~lacking, MISSING)})
        return frame
