"""A release in the place of a model: a classifier of scikit-learn that predicts from its statements."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin

from maxent.models.arguments import shorten
from maxent.models.errors import invalid
from maxent.models.formats.registry import load_release
from maxent.models.reading import Reading
from maxent.models.release import Release
from maxent.models.trees.predict import Removed, predict_columns, predict_proba, read_columns


class ReleaseClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that knows no more than a release: fitted from the beginning.

    It takes records as the release names them, so it stands in the place of a whole pipeline with its encoders.

    Parameters
    ----------
    release : Release or path
    classes : sequence, optional
        The classes as the model before had them, such as the numbers 0 and 1, in the order of
        ``release.target.classes``; default: their names.
    removed : {"ancestor", "majority"}
        As in `maxent.models.trees.predict.predict_proba`.
    reading : Reading, optional
        How records are read.

    Attributes
    ----------
    classes_ : shape (n_classes,)
    feature_names_in_ : shape (n_features_in_,), str
        The attributes of the release. Columns of an array without names are taken to be these.
    """

    def __init__(
        self,
        release: Release | str | PathLike[str],
        *,
        classes: Sequence[Any] | None = None,
        removed: Removed = "ancestor",
        reading: Reading | None = None,
    ) -> None:
        self.release, self.classes = release, classes
        self.removed, self.reading = removed, reading

    @property
    def release_(self) -> Release:
        """The release, read where a path is given."""
        if isinstance(self.release, Release):
            return self.release
        if getattr(self, "_read", (None,))[0] != self.release:
            self._read = (self.release, load_release(self.release, self.reading))
        return self._read[1]

    @property
    def classes_(self) -> npt.NDArray[Any]:
        names = self.release_.target.classes
        if self.classes is None:
            return np.array(names, object)
        if len(self.classes) != len(names):
            expected = f"{len(names)} classes, those that stand for {', '.join(names)}"
            raise invalid("ReleaseClassifier", "argument", "classes", expected, shorten(list(self.classes)))
        found = np.asarray(self.classes)
        if len(np.unique(found)) < len(names):
            raise invalid("ReleaseClassifier", "argument", "classes", "each class once", shorten(list(self.classes)))
        return found

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        return np.array([attribute.name for attribute in self.release_.attributes], object)

    @property
    def n_features_in_(self) -> int:
        return len(self.release_.attributes)

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Do nothing: a release is what was learned."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The probability of each class, shape (n, n_classes), see `maxent.models.trees.predict.predict_proba`."""
        return predict_proba(self.release_, self._frame(X), removed=self.removed, reading=self.reading)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each record, shape (n,), see `maxent.models.trees.predict.predict`."""
        columns = read_columns(self.release_, self._frame(X), self.reading)
        found: npt.NDArray[Any] = self.classes_[predict_columns(self.release_, *columns, removed=self.removed)]
        return found

    def _frame(self, X: Any) -> pd.DataFrame:
        if hasattr(X, "columns"):
            return X  # type: ignore[no-any-return]
        cells = np.asarray(X)
        if cells.ndim != 2 or cells.shape[1] != self.n_features_in_:
            expected = f"a column for each of {self.n_features_in_} attributes"
            raise invalid("ReleaseClassifier", "argument", "X", expected, f"an array of the shape {cells.shape}")
        return pd.DataFrame(cells).infer_objects().set_axis(list(self.feature_names_in_), axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
