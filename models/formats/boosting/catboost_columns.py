"""Columns of a model of CatBoost: by their numbers, with the names of categories, of which trees have hashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from maxent.models.errors import invalid
from maxent.models.formats.conversion import Wanted
from maxent.models.formats.json_values import Values
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.release import Attribute
from maxent.models.tables.columns.missing_values import MISSING, OTHER

_FILLED = "that the value {value!r} of {name} stands for missing ones, as the table (train=) shows"
_UNFILLED = (
    "what stands for missing values of categories in the training: they go where values do that no test names, "
    "unless a table (train=) shows another name"
)
_MISSING_RIGHT = {"AsTrue": True, "AsFalse": False, "AsIs": False}


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of the input.

    ``known`` are the attributes that are tested, or have categories, by name; ``missing_right`` says of numeric ones
    where missing numbers go; ``names`` are those of hashes of categories.
    """

    source: str
    floats: Mapping[int, Attribute]
    categories: Mapping[int, Attribute]
    missing_right: Mapping[str, bool]
    names: Mapping[int, str]
    filled: Mapping[str, str]
    lost: tuple[str, ...]

    @property
    def known(self) -> dict[str, Attribute]:
        """The attributes that are declared, by name."""
        return {attribute.name: attribute for attribute in (*self.floats.values(), *self.categories.values())}

    def numeric(self, split: Values) -> Attribute:
        """The column that a test of numbers names."""
        number = split.whole("float_feature_index")
        if number not in self.floats:
            split.refuse("float_feature_index", f"one of {len(self.floats)} columns of numbers")
        return self.floats[number]

    def category(self, split: Values) -> tuple[str, str]:
        """The column and the category that a test names."""
        number, code = split.whole("cat_feature_index"), split.whole("value", -(2**31)) % 2**32
        if number not in self.categories:
            split.refuse("cat_feature_index", f"one of {len(self.categories)} columns of categories")
        if code not in self.names:
            expected = "a hash of which the file has the name: save_model(..., format='json', pool=the training pool)"
            split.refuse("value", expected)
        name, value = self.categories[number].name, self.names[code]
        return name, MISSING if self.filled.get(name) == value else value


def columns_of(features: Values, wanted: Wanted, training: TrainingColumns | None) -> Columns:
    """Read the columns, and what of a training table stands for missing categories.

    CatBoost refuses missing categories; who trains with some gives them a name, which the table then lacks.
    """
    floats = list(features.children("float_features")) if features.has("float_features") else []
    others = list(features.children("categorical_features")) if features.has("categorical_features") else []
    for kind in ("text_features", "embedding_features"):
        if features.has(kind):
            features.refuse(kind, "columns of numbers and of categories alone")
    names = _hashes(features)
    said = wanted.features
    number = {column.whole("flat_feature_index"): column for column in (*floats, *others)}
    if said is not None and len(said) != len(number):
        found = str(len(said))
        raise invalid("options", "argument", "features", f"{len(number)} names, as the model has columns", found)
    titles = {i: _title(column, i) if said is None else said[sorted(number).index(i)] for i, column in number.items()}
    if len({*titles.values()}) < len(floats) + len(others):
        features.refuse("float_features", "columns of different names")
    of_floats, missing_right = {}, {}
    for column in floats:
        name = titles[column.whole("flat_feature_index")]
        treatment = column.text("nan_value_treatment", "AsIs")
        if treatment not in _MISSING_RIGHT:
            column.refuse("nan_value_treatment", f"one of {', '.join(_MISSING_RIGHT)}")
        of_floats[column.whole("feature_index")] = Attribute(name, "numeric", missing=True)
        missing_right[name] = _MISSING_RIGHT[treatment]
    of_categories: dict[int, Attribute] = {}
    filled: dict[str, str] = {}
    for column in others:
        name = titles[column.whole("flat_feature_index")]
        tested = [names[code] for code in _codes(column) if code in names]
        values = dict.fromkeys(tested)
        if training is not None and name in training.frame.columns:
            there = {value for order in training.orders(name)[:1] for value in order}
            gone = [value for value in tested if value not in there]
            if name in training.gaps and len(gone) == 1:
                filled[name] = gone[0]
                del values[gone[0]]
            values |= dict.fromkeys(sorted(there))
        domain = (*(value for value in values if value not in (OTHER, MISSING)), OTHER, MISSING)
        of_categories[column.whole("feature_index")] = Attribute(name, "categorical", domain)
    lost = [_FILLED.format(name=name[:40], value=value[:40]) for name, value in filled.items()]
    if of_categories and not filled:
        lost.append(_UNFILLED)
    return Columns(features.source, of_floats, of_categories, missing_right, names, filled, tuple(lost))


def _title(column: Values, number: int) -> str:
    """The name of a column, which is its number where it has none."""
    return column.text("feature_name", "") or column.text("feature_id", "") or str(number)


def _codes(column: Values) -> list[int]:
    """The hashes of categories that are tested alone."""
    return [code % 2**32 for code in column.wholes("values").tolist()] if column.has("values") else []


def _hashes(features: Values) -> dict[int, str]:
    """The names of the categories of all columns by their hashes."""
    found: dict[int, str] = {}
    for entry in features.children("cat_features_hash") if features.has("cat_features_hash") else ():
        code, name = entry.whole("hash", -(2**31)) % 2**32, entry.text("value")
        if not name or found.setdefault(code, name) != name:
            entry.refuse("value", "a name for each hash")
    return found
