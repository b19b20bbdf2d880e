"""Names of columns that scikit-learn prints, ``cat__colour_red``, as columns and values of the training table."""

from __future__ import annotations

import re
from collections.abc import Iterator

from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.text.hints import close_to

_BIN = re.compile(r"[0-9]+\.0")
_INFREQUENT = "infrequent_sklearn"


def feature_of(name: str, training: TrainingColumns) -> Feature | str:
    """The meaning of a column of a model's input, or what was expected where it has none that is sure.

    A column of the table is itself: numbers, or codes of its sorted values. ``colour_red`` says whether a column has a
    value, as a ``OneHotEncoder`` names its output; and ``cat__`` before either is the name of a step.
    """
    plain = [name] if training.named(name) is not None else list(_plain(name))
    found = [feature for each in dict.fromkeys(plain) for feature in _meanings(each, training)]
    if len(found) > 1:
        return "a name with one meaning in the training table, not " + " and ".join(map(_shown, found))
    if not found:
        if any(_is_bin(each, training) for each in plain):
            return "columns of the table: the bins of a KBinsDiscretizer have no edges in this text"
        if name.endswith(_INFREQUENT):
            return "columns of the table: which values are infrequent is not in this text"
        names = [attribute.name for attribute in training.attributes]
        return f"a column of the training table, or one and a value of it{close_to(plain[-1], names)}"
    [feature] = found
    if feature.attribute in training.gaps:
        return f"columns without missing values: where those of {feature.attribute} go is not in this text"
    return feature


def _plain(name: str) -> Iterator[str]:
    """A name, and what follows each ``__`` in it."""
    yield name
    while "__" in name:
        name = name.partition("__")[2]
        if name:
            yield name


def _meanings(name: str, training: TrainingColumns) -> Iterator[Feature]:
    """A column of that name, or all columns that have a value so that both together are the name."""
    column = training.named(name)
    if column is not None:
        yield Feature(name, name, column.values)
        return
    for attribute in training.attributes:
        if attribute.values is not None and name.startswith(attribute.name + "_"):
            value = name[len(attribute.name) + 1 :]
            if value in attribute.values:
                yield Feature(name, attribute.name, attribute.values, value)


def _is_bin(name: str, training: TrainingColumns) -> bool:
    """Whether a name is that of a bin of a column of numbers."""
    column, _, number = name.rpartition("_")
    found = training.named(column)
    return found is not None and found.values is None and _BIN.fullmatch(number) is not None


def _shown(feature: Feature) -> str:
    return feature.attribute if feature.indicates is None else f"{feature.indicates} of {feature.attribute}"
