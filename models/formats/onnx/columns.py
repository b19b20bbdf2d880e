"""What the operators before an ensemble do to the columns of the input, as far as that can be undone exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf, isfinite, isnan

import numpy as np

from maxent.models.errors import InvalidInput, invalid
from maxent.models.formats.onnx.document import DOUBLE, FLOAT, STRING, Document, Operator, Value
from maxent.models.text.arguments import listing
from maxent.models.trees.thresholds import single_at_most

MOST_COLUMNS = 2**16


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a tensor.

    ``values`` are the categories of a column that was text: in the order of their codes, or those that have an
    indicator, which this one is of ``indicates``. ``unseen`` says that other texts are none of the indicators. Of
    numbers ``filled`` is what a missing one becomes, ``scale`` and ``offset`` what is done to all, in this order:
    ``(x - offset) * scale``. ``single`` is whether numbers are of single precision.
    """

    name: str
    text: bool = False
    values: tuple[str, ...] | None = None
    indicates: str | None = None
    unseen: bool = False
    filled: float | None = None
    scaled: tuple[tuple[float, float], ...] = ()
    single: bool = True

    def threshold(self, most: float) -> float:
        """The largest number of the table that becomes at most this."""
        if not self.single or not isfinite(most):
            return most
        return most if not self.scaled else single_at_most(self._unscaled(most))

    def becomes(self, number: float) -> float:
        """What a number of single precision becomes."""
        found = np.float32(number)
        with np.errstate(all="ignore"):
            for offset, scale in self.scaled:
                found = np.float32((found - np.float32(offset)) * np.float32(scale))
        return float(found)

    def _unscaled(self, most: float) -> float:
        """The largest number of single precision that becomes at most this, by halving all of them."""
        low, high = _place(-float(np.finfo(np.float32).max)), _place(float(np.finfo(np.float32).max))
        if not self.becomes(_number(low)) <= most:
            return -inf
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.becomes(_number(middle)) <= most else (low, middle)
        return _number(high) if self.becomes(_number(high)) <= most else _number(low)


def _place(number: float) -> int:
    """The place of a number of single precision among all of them."""
    bits = int(np.float32(number).view(np.int32))
    return bits if bits >= 0 else -(bits & 0x7FFFFFFF)


def _number(place: int) -> float:
    return float(np.array(abs(place), np.int32).view(np.float32)) * (1 if place >= 0 else -1)


class Columns:
    """The columns of each tensor of a graph, as its operators make them."""

    def __init__(self, source: str, document: Document, features: tuple[str, ...] | None) -> None:
        self._source, self._document = source, document
        self._tensors: dict[str, tuple[Column, ...]] = {}
        self._input(features)
        self._known: Mapping[str, Callable[[Operator], tuple[Column, ...]]] = {
            "Identity": self._same,
            "Reshape": self._same,
            "Flatten": self._same,
            "Cast": self._cast,
            "Concat": self._joined,
            "FeatureVectorizer": self._joined,
            "Imputer": self._filled,
            "Scaler": self._scaled,
            "OneHotEncoder": self._indicated,
            "LabelEncoder": self._coded,
            "CategoryMapper": self._refused,
            "Gather": self._chosen,
            "ArrayFeatureExtractor": self._chosen,
        }

    def of(self, tensor: str) -> tuple[Column, ...]:
        """The columns of a tensor."""
        makers = {output: each for each in self._document.operators for output in each.outputs}
        stack = [tensor]
        opened: set[str] = set()
        while stack:
            name = stack[-1]
            operator = makers.get(name)
            if name in self._tensors:
                stack.pop()
            elif operator is None or (name in opened and any(self._lacks(i) for i in operator.inputs)):
                raise self._wrong("input", "a tensor that an operator makes, or the caller gives", name[:40])
            elif waiting := [each for each in operator.inputs if name not in opened and self._lacks(each)]:
                opened.add(name)
                stack += waiting
            else:
                made = self._known.get(operator.name, self._refused)(operator)
                if len(made) > MOST_COLUMNS:
                    raise self._wrong(operator.name, f"at most {MOST_COLUMNS:,} columns", f"{len(made):,}")
                self._tensors[name] = made
        return self._tensors[tensor]

    def _lacks(self, tensor: str) -> bool:
        return tensor not in self._tensors and tensor not in self._document.constants and bool(tensor)

    def _input(self, features: tuple[str, ...] | None) -> None:
        """The columns of the input: one of many columns has no names for them."""
        given = self._document.inputs
        widths = [1 if each.width is None and len(given) > 1 else each.width for each in given]
        if None in widths and features is not None and len(given) == 1:
            widths = [len(features)]
        if not given or None in widths or any(not 0 < (w or 0) <= MOST_COLUMNS for w in widths):
            raise self._wrong("input", "a number of columns of each input", listing(str(w) for w in widths))
        n = sum(width or 0 for width in widths)
        own = len(given) == n
        names = tuple(each.name for each in given) if own else features or ()
        if features is not None and own and len(features) == n:
            names = features  # names of tensors have no blanks and no signs
        if len(names) != n or len(set(names)) < n or not all(names):
            expected = f"{n} different names of columns, which --features gives: the model has one tensor of them"
            raise invalid("options", "argument", "features", expected, f"{len(names)}")
        at = 0
        for each, width in zip(given, widths, strict=True):
            last = at + (width or 0)
            text, single = each.kind == STRING, each.kind == FLOAT
            if not (text or single or each.kind in (DOUBLE, 6, 7)):
                raise self._wrong("input", "numbers or text", f"type {each.kind}")
            self._tensors[each.name] = tuple(Column(name, text, single=single) for name in names[at:last])
            at = last

    def _inputs(self, operator: Operator) -> tuple[Column, ...]:
        return tuple(column for name in operator.inputs if name in self._tensors for column in self._tensors[name])

    def _same(self, operator: Operator) -> tuple[Column, ...]:
        return self._inputs(operator)

    _joined = _same

    def _cast(self, operator: Operator) -> tuple[Column, ...]:
        to = operator.attributes.get("to")
        columns = self._inputs(operator)
        if to not in (FLOAT, DOUBLE) or any(column.text for column in columns):
            raise self._wrong("Cast", "numbers to floating point", f"type {to!r}")
        # Of whole numbers and codes nothing is lost; doubles of which single ones were made stay single.
        if to == FLOAT:
            return tuple(replace(column, single=True) for column in columns)
        return columns

    def _filled(self, operator: Operator) -> tuple[Column, ...]:
        columns = self._inputs(operator)
        values, replaced = (
            operator.attributes.get("imputed_value_floats"),
            operator.attributes.get("replaced_value_float"),
        )
        if not isinstance(values, np.ndarray) or not isinstance(replaced, float) or not isnan(replaced):
            raise self._wrong("Imputer", "numbers in the place of missing ones", "other values")
        each = values.tolist() * (len(columns) if len(values) == 1 else 1)
        if len(each) != len(columns) or any(c.text or c.values or c.scaled or c.filled is not None for c in columns):
            raise self._wrong("Imputer", "a number for each column of numbers", f"{len(each)}")
        return tuple(replace(column, filled=value) for column, value in zip(columns, each, strict=True))

    def _scaled(self, operator: Operator) -> tuple[Column, ...]:
        columns = self._inputs(operator)
        found = []
        for key in ("offset", "scale"):
            values = operator.attributes.get(key)
            numbers = values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind == "f" else []
            found.append(numbers * (len(columns) if len(numbers) == 1 else 1))
        if any(len(numbers) != len(columns) for numbers in found) or any(c.text or c.values for c in columns):
            raise self._wrong("Scaler", "an offset and a scale for each column of numbers", "others")
        if not all(isfinite(o) and isfinite(s) and s > 0 for o, s in zip(*found, strict=True)):
            raise self._wrong("Scaler", "scales above 0", "others")
        return tuple(
            replace(column, scaled=(*column.scaled, pair), single=True)
            for column, pair in zip(columns, zip(*found, strict=True), strict=True)
        )

    def _indicated(self, operator: Operator) -> tuple[Column, ...]:
        columns = self._inputs(operator)
        values = _names(operator.attributes.get("cats_strings"))
        if not values or len(columns) != 1 or not columns[0].text or columns[0].values is not None:
            raise self._wrong("OneHotEncoder", "categories of one column of text", "others")
        seen = bool(operator.attributes.get("zeros", 1))
        return tuple(replace(columns[0], text=False, values=values, indicates=v, unseen=seen) for v in values)

    def _coded(self, operator: Operator) -> tuple[Column, ...]:
        columns, names = self._inputs(operator), _names(operator.attributes.get("keys_strings"))
        codes = next((v for k, v in operator.attributes.items() if k in ("values_int64s", "values_floats")), None)
        order = codes.tolist() if isinstance(codes, np.ndarray) else []
        if len(columns) != 1 or not columns[0].text or not names or sorted(order) != list(range(len(names))):
            raise self._wrong("LabelEncoder", "codes 0, 1, ... of the values of a column of text", "others")
        values = tuple(name for _, name in sorted(zip(order, names, strict=True)))
        return (replace(columns[0], text=False, values=values),)

    def _chosen(self, operator: Operator) -> tuple[Column, ...]:
        columns = self._inputs(operator)
        at = self._document.constants.get(operator.inputs[1]) if len(operator.inputs) == 2 else None
        axis = operator.attributes.get("axis", 1 if operator.name != "Gather" else 0)
        if at is None or at.dtype.kind not in "iu" or axis not in (1, -1):
            raise self._wrong(operator.name, "columns by number", "others")
        places = at.ravel().tolist()
        if not all(-len(columns) <= i < len(columns) for i in places):
            raise self._wrong(operator.name, f"columns below {len(columns)}", listing(map(str, places)))
        return tuple(columns[i] for i in places)

    def _refused(self, operator: Operator) -> tuple[Column, ...]:
        expected = (
            "steps before the trees that can be undone: one-hot and ordinal encoders, scalers, imputers and choices of "
            "columns (convert the trees alone, or save the pipeline with skops)"
        )
        raise self._wrong("operator", expected, operator.name[:40] or "none")

    def _wrong(self, where: str, expected: str, found: str) -> InvalidInput:
        return invalid(self._source, "graph", where, expected, found)


def _names(value: Value) -> tuple[str, ...]:
    """Different names that are UTF-8, none for all else."""
    try:
        names = tuple(each.decode("utf-8") for each in value) if isinstance(value, list) else ()
    except UnicodeDecodeError:
        return ()
    return names if len(set(names)) == len(names) and all(names) else ()
