"""Values in a decoded JSON document of a foreign format: the first that is not as it should be ends the reading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import is_number, is_whole, show
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import invalid

_SMALLEST = -(2**53)


@dataclass(frozen=True, slots=True)
class Values:
    """The keys of one object; every method raises `InvalidInput`, naming the place, for what is not as it should be."""

    source: str
    where: str
    raw: Mapping[str, object]

    def refuse(self, key: str, expected: str) -> NoReturn:
        """Raise the error of a key."""
        found = self.raw.get(key)
        shown = show(found.tolist() if isinstance(found, np.ndarray) else found) if key in self.raw else "nothing"
        raise invalid(self.source, self.where, key, expected, shown)

    def has(self, key: str) -> bool:
        """Whether there is anything in the list, object or text under a key, or a number other than 0."""
        found = self.raw.get(key)
        return len(found) > 0 if isinstance(found, np.ndarray) else bool(found)

    def child(self, key: str) -> Values:
        """The object under a key."""
        found = self.raw.get(key)
        if not isinstance(found, dict):
            self.refuse(key, "an object")
        return Values(self.source, f"{self.where}, {key}", found)

    def children(self, key: str) -> Iterator[Values]:
        """The objects in a list under a key, their places counted from 1."""
        for number, item in enumerate(self.items(key), 1):
            if not isinstance(item, dict):
                raise invalid(self.source, f"{self.where}, {key} {number}", "content", "an object", show(item))
            yield Values(self.source, f"{self.where}, {key} {number}", item)

    def items(self, key: str) -> list[object]:
        """The list under a key."""
        found = self.raw.get(key)
        if isinstance(found, np.ndarray):
            return cast("list[object]", found.tolist())
        if not isinstance(found, list):
            self.refuse(key, "a list")
        return cast("list[object]", found)

    def text(self, key: str, default: str | None = None) -> str:
        """The string under a key, ``default`` where there is no such key."""
        found = self.raw.get(key, default)
        if not isinstance(found, str):
            self.refuse(key, "a string")
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """The list of non-empty strings under a key, () where there is none."""
        found = self.items(key) if key in self.raw else []
        if not all(isinstance(item, str) and item for item in found):
            self.refuse(key, "a list of names")
        return tuple(map(str, found))

    def number(self, key: str) -> float:
        """The finite number under a key, also one that is written as a string, as some tools do."""
        found = self.raw.get(key)
        if isinstance(found, str) and len(found) < 40:
            try:
                found = float(found)
            except ValueError:
                self.refuse(key, "a number")
        if not is_number(found) or not isfinite(cast("float", found)):
            self.refuse(key, "a finite number")
        return float(cast("float", found))

    def whole(self, key: str, low: int = 0) -> int:
        """The whole number under a key, at least ``low``, also one that is written as a string."""
        found = self.raw.get(key)
        if isinstance(found, str) and len(found) < 20 and found.lstrip("-").isdecimal():
            found = int(found)
        if not is_whole(found, low):
            self.refuse(key, f"a whole number, at least {low}")
        return int(cast("int", found))

    def floats(self, key: str, size: int | None = None) -> FloatArray:
        """The list of finite numbers under a key, shape (size,)."""
        held = self._array(key, size)
        if held is not None:
            if not np.isfinite(held).all():
                self.refuse(key, "a list of finite numbers")
            return held.astype(np.float64)
        found = self._sized(key, size)
        if not all(is_number(item) and isfinite(cast("float", item)) for item in found):
            self.refuse(key, "a list of finite numbers")
        return np.array(found, np.float64)

    def wholes(self, key: str, size: int | None = None) -> IntArray:
        """The list of whole numbers, or of true and false, under a key, shape (size,)."""
        held = self._array(key, size)
        if held is not None:
            if held.dtype.kind not in "iu" or (held.size and int(held.min()) < _SMALLEST):
                self.refuse(key, "a list of whole numbers")
            return held.astype(np.int64)
        found = [int(item) if isinstance(item, bool) else item for item in self._sized(key, size)]
        if not all(is_whole(item, _SMALLEST) for item in found):
            self.refuse(key, "a list of whole numbers")
        return np.array(found, np.int64)

    def _array(self, key: str, size: int | None) -> npt.NDArray[Any] | None:
        """What is an array under a key, as binary formats have lists of numbers, else None."""
        found = self.raw.get(key)
        if not isinstance(found, np.ndarray):
            return None
        if size is not None and len(found) != size:
            raise invalid(self.source, self.where, key, f"a list of {size}", f"one of {len(found)}")
        return found

    def _sized(self, key: str, size: int | None) -> list[object]:
        found = self.items(key)
        if size is not None and len(found) != size:
            raise invalid(self.source, self.where, key, f"a list of {size}", f"one of {len(found)}")
        return found
