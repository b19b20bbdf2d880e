"""The features of a pipeline of Spark: what each number of the vector that trees test is of one column of the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, TypeAlias

from maxent.models.errors import InvalidInput, invalid
from maxent.models.formats.json_values import Values
from maxent.models.formats.pmml.expressions.pieces import (
    Column,
    Expr,
    Special,
    Unknown,
    Value,
    combine,
    identity,
)
from maxent.models.formats.spark.folder import Rows, kind, parameters, table
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.release import Attribute
from maxent.models.tables.columns.missing_values import MISSING, OTHER
from maxent.models.tables.frame import shorten

# A column that a stage makes: of numbers, of vectors, or why it is not known
Made: TypeAlias = "Expr | list[Expr] | str"

MOST = 100_000  # features, and categories of one


Make: TypeAlias = "Callable[[Features, Stage], Sequence[Made]]"  # the columns that a stage makes


class Features:
    """Columns by name, as the stages of a pipeline make them; those of the table are found when they are asked for."""

    def __init__(self, source: str, training: TrainingColumns | None) -> None:
        self._source, self._training = source, training
        self._made: dict[str, Made] = {}
        self._columns: dict[str, Column] = {}
        self.attributes: dict[str, Attribute] = {}
        # The column that each indexer reads, and its labels, by the column that it makes
        self.labels: dict[str, tuple[str, tuple[str, ...]]] = {}

    def take(self, folder: Path, about: Values, make: Make | None) -> None:
        """Take a stage to the others; one that is not known makes columns that cannot be asked for."""
        name = kind(about)
        options = parameters(about)
        inputs, outputs = _columns(options, "inputCol"), _columns(options, "outputCol")
        if name == "VectorAssembler":
            inputs, outputs = options.texts("inputCols"), (options.text("outputCol"),)
        if make is None:
            self._made |= {output: f"a stage that can be undone, not {name}" for output in outputs}
            return
        try:
            found = make(self, Stage(folder, options, inputs, outputs))
            self._made |= dict(zip(outputs, found, strict=True))
        except InvalidInput:
            raise
        except Unknown as error:
            raise invalid(str(folder), name, "stage", str(error), "others") from None
        except (ValueError, TypeError, LookupError, ArithmeticError):  # its data are not as Spark writes them
            raise invalid(
                str(folder), name, "data", f"those of {name}, for each column that it reads", "others"
            ) from None

    def number(self, name: str) -> Expr:
        """A column of numbers."""
        made = self._made.get(name)
        if made is None:
            if name not in self.attributes:
                self.attributes[name] = Attribute(name, "numeric", missing=True)
            if self.attributes[name].values is not None:
                raise Unknown(f"a column that is either numbers or categories: {shorten(name)}")
            made = self._made[name] = identity(Column(name, None))
        if isinstance(made, list):
            raise Unknown(f"a column of numbers: {shorten(name)} has vectors")
        if isinstance(made, str):
            raise Unknown(made)
        return made

    def vector(self, name: str) -> list[Expr]:
        """A column of vectors, or one of numbers as vectors of one."""
        made = self._made.get(name)
        return made if isinstance(made, list) else [self.number(name)]

    def is_vector(self, name: str) -> bool:
        return isinstance(self._made.get(name), list)

    def categories(self, name: str, labels: Sequence[str], other: float | None) -> Expr:
        """The places of the categories of a column among labels; ``other`` is that of all others."""
        if name in self._made:
            raise Unknown(f"a column of the table: {shorten(name)}")
        spelled = _spelled(labels, None if self._training is None else self._training.named(name))
        instead: Value = Special.INVALID if other is None else other
        missing = float(labels.index("")) if "" in labels else instead
        cells = [(cell, float(i)) for i, (label, cell) in enumerate(zip(labels, spelled, strict=True)) if label]
        if other is not None:
            cells.append((OTHER, other))
        values = (*(cell for cell, _ in cells), MISSING)
        if len(set(values)) < len(values):
            raise Unknown("labels that are all different")
        attribute = Attribute(name, "categorical", values)
        if self.attributes.setdefault(name, attribute) != attribute:
            raise Unknown(f"a column with the same categories wherever it is read: {shorten(name)}")
        column = self._columns.setdefault(name, Column(name, values))
        return Expr(column, (*(place for _, place in cells), missing))


class Stage:
    """A stage: its parameters, the columns that it reads and makes, and its data."""

    def __init__(self, folder: Path, options: Values, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self.options, self.inputs, self.outputs = options, inputs, outputs
        self._folder = folder

    def data(self) -> Rows:
        return table(self._folder / "data")

    def row(self, name: str) -> Any:
        """The value of a table with one row."""
        found = self.data().get(name)
        if found is None or len(found) != 1:
            raise Unknown(f"data with one {name}")
        return found[0]

    def vector(self, name: str) -> list[Any]:
        """A vector in a table with one row: dense, or sparse with the places of its numbers."""
        rows = self.data()
        fields = [rows.get(f"{name}.{field}", [None])[0] for field in ("type", "size", "indices", "values")]
        values = list(fields[3] or ())
        if fields[0] == 1:
            return values
        size, places = fields[1], list(fields[2] or ())
        if not isinstance(size, int) or not 0 <= size <= MOST or any(not 0 <= place < size for place in places):
            raise Unknown(f"a vector as {name}")
        known = dict(zip(places, values, strict=True))
        return [known.get(place, 0.0) for place in range(size)]

    @property
    def keeps(self) -> bool:
        """Whether values that are not valid are kept."""
        return self.options.raw.get("handleInvalid") == "keep"


def _columns(options: Values, key: str) -> tuple[str, ...]:
    """The columns that a stage reads, or makes: one, or several."""
    several = options.texts(f"{key}s")
    if several:
        return several
    return (options.text(key),) if key in options.raw else ()


def _spelled(labels: Sequence[str], trained: Attribute | None) -> list[str]:
    """Labels as the table spells them: numbers have other digits after the point."""
    known: dict[float, str] = {}
    for text in (trained.values if trained is not None else None) or ():
        number = _number(text)
        if number is not None:
            known[number] = text
    written = set((trained.values if trained is not None else None) or ())
    return [label if label in written or (n := _number(label)) is None else known.get(n, label) for label in labels]


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if isfinite(found) else None


def replaced_by(found: Expr, value: Value) -> Expr:
    """Something in the place of a missing value."""
    if found.column is not None and found.values[-1] is not None and None not in found.values:
        return found
    return combine([found], lambda v, low, high: [(high, value if v[0] is None else v[0])])
