"""The only types of scikit-learn that are made of a file, and those whose place is kept empty.

None of them runs code of the file when it is made: instances get the attributes that the file states, and neither
``__init__`` nor ``__setstate__`` is called.
"""

from __future__ import annotations

from importlib import import_module

_MODELS = "sklearn.ensemble._hist_gradient_boosting"

# Classes by module
TRUSTED = {
    "sklearn.compose._column_transformer": ("ColumnTransformer", "make_column_selector"),
    "sklearn.dummy": ("DummyClassifier",),
    "sklearn.ensemble._bagging": ("BaggingClassifier",),
    "sklearn.ensemble._forest": ("ExtraTreesClassifier", "RandomForestClassifier"),
    "sklearn.ensemble._gb": ("GradientBoostingClassifier",),
    f"{_MODELS}.binning": ("_BinMapper",),
    f"{_MODELS}.gradient_boosting": ("HistGradientBoostingClassifier",),
    f"{_MODELS}.predictor": ("TreePredictor",),
    "sklearn.ensemble._weight_boosting": ("AdaBoostClassifier",),
    "sklearn.feature_selection._univariate_selection": ("SelectKBest", "SelectPercentile"),
    "sklearn.feature_selection._variance_threshold": ("VarianceThreshold",),
    "sklearn.impute._base": ("MissingIndicator", "SimpleImputer"),
    "sklearn.pipeline": ("FeatureUnion", "Pipeline"),
    "sklearn.preprocessing._data": (
        *("Binarizer", "MaxAbsScaler", "MinMaxScaler", "PowerTransformer", "QuantileTransformer", "RobustScaler"),
        "StandardScaler",
    ),
    "sklearn.preprocessing._discretization": ("KBinsDiscretizer",),
    "sklearn.preprocessing._encoders": ("OneHotEncoder", "OrdinalEncoder"),
    "sklearn.preprocessing._function_transformer": ("FunctionTransformer",),
    "sklearn.preprocessing._label": ("LabelEncoder",),
    "sklearn.tree._classes": (
        *("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
    ),
}

# Models that are known, and refused as what they are
REGRESSORS = {
    "sklearn.ensemble._bagging": ("BaggingRegressor",),
    "sklearn.ensemble._forest": ("ExtraTreesRegressor", "RandomForestRegressor"),
    "sklearn.ensemble._gb": ("GradientBoostingRegressor",),
    f"{_MODELS}.gradient_boosting": ("HistGradientBoostingRegressor",),
    "sklearn.ensemble._weight_boosting": ("AdaBoostRegressor",),
}

# Starts of the modules of objects and functions that a model keeps from its training, and that are left out
EMPTY = (
    "sklearn._loss.",
    "sklearn.ensemble._gb_losses.",
    "sklearn.feature_selection._mutual_info.",
    "sklearn.feature_selection._univariate_selection.",
    "sklearn.metrics.",
    "sklearn.utils.",
    "numpy.random.",
    "functools.",
)


def class_of(module: object, name: object) -> type | None:
    """A trusted class, None for any other."""
    for listed in (TRUSTED, REGRESSORS):
        if isinstance(module, str) and isinstance(name, str) and name in listed.get(module, ()):
            found = getattr(import_module(module), name, None)
            return found if isinstance(found, type) else None
    return None


def is_left_out(module: object) -> bool:
    """Whether what is of a module is left out."""
    return isinstance(module, str) and f"{module}.".startswith(EMPTY)
