"""Objects of scikit-learn from the description of a skops file: trusted types alone, all else is refused by name."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import InvalidInput, invalid
from maxent.models.formats.packing import check_tree
from maxent.models.formats.skops.archive import Archive
from maxent.models.formats.skops.trusted import class_of, is_left_out

# Types of the keys of dictionaries; those of NumPy are taken for the ones of Python that they equal
_KEYS: Mapping[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": lambda text: text == "True",
    "NoneType": lambda text: None,
}

_TYPES: Mapping[str, type] = {"int": int, "float": float, "str": str, "bool": bool, "object": object}


# Fields of a node of a tree that say how many records it has, and what they weigh
_WEIGHED = ("n_node_samples", "weighted_n_node_samples")


class LeftOut:
    """In the place of an object that is not made."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredTree:
    """A ``tree_`` of scikit-learn as its arrays, of whichever version."""

    children_left: IntArray
    children_right: IntArray
    feature: IntArray
    threshold: FloatArray
    n_node_samples: IntArray
    weighted_n_node_samples: FloatArray
    missing_go_to_left: BoolArray | None
    value: FloatArray
    impurity: FloatArray

    def decision_path(self, X: Any) -> Any:
        """The nodes that rows reach, a sparse matrix of shape (n_rows, n_nodes), as scikit-learn has it."""
        from scipy.sparse import csr_matrix

        rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float32)
        at, here = np.zeros(len(rows), np.int64), np.arange(len(rows))
        found = []
        while len(here):
            found.append((here, at))
            inner = self.children_left[at] >= 0
            here, at = here[inner], at[inner]
            values = rows[here, self.feature[at]]
            left = values <= self.threshold[at]
            if self.missing_go_to_left is not None:
                left |= np.isnan(values) & self.missing_go_to_left[at]
            at = np.where(left, self.children_left[at], self.children_right[at])
        row, node = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return csr_matrix((np.ones(len(row)), (row, node)), shape=(len(rows), len(self.feature)))


class Objects:
    """Makes the objects of one archive; every method raises `InvalidInput` for what is not as it should be."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._loaders: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
            "JsonNode": self._json,
            "ListNode": lambda state: [self.made(item) for item in self._list(state)],
            "TupleNode": self._tuple,
            "DictNode": self._dict,
            "SliceNode": self._slice,
            "NdArrayNode": self._array,
            "DTypeNode": lambda state: np.asarray(self.made(state.get("content"))).dtype,
            "TypeNode": self._type,
            "ObjectNode": self._object,
            "TreeNode": self._tree,
        }

    def made(self, state: Any) -> Any:
        """The value that a part of the description stands for."""
        if not isinstance(state, dict):
            raise self._wrong("content", "a description of an object", "something else")
        loader = self._loaders.get(str(state.get("__loader__")))
        if loader is not None:
            return loader(state)
        if is_left_out(state.get("__module__")):
            return LeftOut()
        raise self._untrusted(state)

    def _json(self, state: Mapping[str, Any]) -> Any:
        text = state.get("content")
        if not isinstance(text, str):
            raise self._wrong("content", "JSON", "something else")
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise self._wrong("content", "JSON", repr(text[:40])) from None

    def _list(self, state: Mapping[str, Any]) -> list[Any]:
        found = state.get("content")
        if not isinstance(found, list):
            raise self._wrong("content", "a list", "something else")
        return found

    def _tuple(self, state: Mapping[str, Any]) -> Any:
        if state.get("__class__") != "tuple" and not is_left_out(state.get("__module__")):
            raise self._untrusted(state)
        return tuple(self.made(item) for item in self._list(state))

    def _dict(self, state: Mapping[str, Any]) -> dict[Any, Any]:
        content, types = state.get("content"), state.get("key_types")
        if not isinstance(content, dict) or not isinstance(types, dict):
            raise self._wrong("content", "a dictionary", "something else")
        names = [str(item.get("__class__")) if isinstance(item, dict) else "" for item in self._list(types)]
        if len(names) != len(content):
            raise self._wrong("key_types", f"a type for each of {len(content)} keys", str(len(names)))
        found = {}
        for (key, value), name in zip(content.items(), names, strict=True):
            plain = name.rstrip("_0123456789")
            try:
                typed = _KEYS.get(plain, str)(key)
            except ValueError:
                raise self._wrong("key_types", f"a key that is {name[:40]}", repr(key[:40])) from None
            found[typed] = self.made(value)
        return found

    def _slice(self, state: Mapping[str, Any]) -> slice:
        content = state.get("content")
        ends = [content.get(key) for key in ("start", "stop", "step")] if isinstance(content, dict) else [""]
        if not all(end is None or type(end) is int for end in ends):
            raise self._wrong("content", "a slice", "something else")
        return slice(*ends)

    def _array(self, state: Mapping[str, Any]) -> Any:
        if state.get("type") == "json":
            return self._objects(state)
        found = self._archive.array(state.get("file"))
        return found if state.get("__class__") == "ndarray" or found.ndim else found[()]

    def _objects(self, state: Mapping[str, Any]) -> npt.NDArray[Any]:
        """An array of objects, of one or two dimensions."""
        shape = self.made(state.get("shape"))
        items = [self.made(item) for item in self._list(state)]
        if isinstance(shape, tuple) and len(shape) == 2 and all(isinstance(row, list) for row in items):
            items = [item for row in items for item in row]
        elif not isinstance(shape, tuple) or len(shape) != 1:
            raise self._wrong("shape", "one dimension, or two", repr(shape)[:40])
        if not all(type(n) is int and n >= 0 for n in shape) or int(np.prod([float(n) for n in shape])) != len(items):
            raise self._wrong("shape", f"that of {len(items)} objects", repr(shape)[:40])
        found = np.empty(len(items), object)
        found[:] = items
        return found.reshape(shape)

    def _type(self, state: Mapping[str, Any]) -> Any:
        module, name = state.get("__module__"), str(state.get("__class__"))
        if module == "builtins" and name in _TYPES:
            return _TYPES[name]
        if module == "numpy" and name.rstrip("_0123456789") in {"float", "int", "uint", "bool", "str", "object"}:
            return getattr(np, name, LeftOut())
        if is_left_out(module) or class_of(module, name) is not None:
            return LeftOut()
        raise self._untrusted(state)

    def _object(self, state: Mapping[str, Any]) -> Any:
        """An instance of a trusted class: parameters that its version did not have yet are those by default."""
        kind = class_of(state.get("__module__"), state.get("__class__"))
        if kind is None:
            if is_left_out(state.get("__module__")):
                return LeftOut()
            raise self._untrusted(state)
        content = self.made(state["content"]) if "content" in state else {}
        if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
            raise self._wrong("content", f"the attributes of a {kind.__name__}", "something else")
        made: Any = object.__new__(kind)
        parameters = inspect.signature(kind).parameters.values()
        vars(made).update({p.name: p.default for p in parameters if p.default is not p.empty})
        vars(made).update(content)
        # No folders are written, and no processes started, whatever the file asks for.
        vars(made).update({name: None for name in ("memory", "n_jobs") if name in vars(made)})
        if kind.__name__ == "ColumnTransformer":
            _pass_through(made)
        return made

    def _tree(self, state: Mapping[str, Any]) -> StoredTree:
        """The arrays of a ``tree_``, which lead from the root to each node in one way."""
        if (state.get("__module__"), state.get("__class__")) != ("sklearn.tree._tree", "Tree"):
            raise self._untrusted(state)
        content = self.made(state.get("content"))
        found = content if isinstance(content, dict) else {}
        nodes: Any = found.get("nodes")
        value: Any = found.get("values")
        fields = nodes.dtype.fields or {} if isinstance(nodes, np.ndarray) and nodes.ndim == 1 else {}
        names = ("left_child", "right_child", "feature", "threshold", "impurity", *_WEIGHED)
        if not isinstance(value, np.ndarray) or not all(
            name in fields and fields[name][0].kind in "iuf" for name in names
        ):
            raise self._wrong("nodes", "the nodes of a tree", "something else")
        columns = {name: np.ascontiguousarray(nodes[name]) for name in names}
        if value.ndim != 3 or len(value) != len(nodes) or value.dtype.kind != "f" or not np.isfinite(value).all():
            raise self._wrong("values", "finite numbers for each node", f"an array of shape {value.shape}")
        left, right = (columns[name].astype(np.int64) for name in names[:2])
        check_links(self._archive.source, left, right)
        gone = "missing_go_to_left"
        missing = nodes[gone] != 0 if gone in fields and fields[gone][0].kind in "iub" else None
        return StoredTree(
            np.where(left < 0, -1, left),
            np.where(left < 0, -1, right),
            columns["feature"].astype(np.int64),
            columns["threshold"].astype(np.float64),
            columns["n_node_samples"].astype(np.int64),
            columns["weighted_n_node_samples"].astype(np.float64),
            missing,
            np.ascontiguousarray(value, np.float64),
            columns["impurity"].astype(np.float64),
        )

    def _wrong(self, field: str, expected: str, found: str) -> InvalidInput:
        return invalid(self._archive.source, "schema.json", field, expected, found)

    def _untrusted(self, state: Mapping[str, Any]) -> InvalidInput:
        name = f"{state.get('__module__')}.{state.get('__class__')}"[:100]
        expected = "trees, ensembles and preprocessing of scikit-learn alone: give the model without it"
        return self._wrong("type", expected, f"{name}, which is not trusted")


def _pass_through(transformer: Any) -> None:
    """Let columns pass as scikit-learn does since 1.5; before, a word stood for that."""
    from sklearn.preprocessing import FunctionTransformer

    passing = FunctionTransformer(accept_sparse=True, check_inverse=False)
    stored = vars(transformer).get("transformers_")
    if isinstance(stored, list) and all(isinstance(each, tuple) and len(each) == 3 for each in stored):
        transformer.transformers_ = [
            (name, passing if isinstance(step, str) and step == "passthrough" else step, chosen)
            for name, step, chosen in stored
        ]


def check_links(source: str, left: IntArray, right: IntArray) -> None:
    """Refuse nodes that are not a tree in which each is below one other, the first excepted."""
    at = np.flatnonzero(left >= 0)
    check_tree(source, np.concatenate([at, at]), np.concatenate([left[at], right[at]]), range(len(left)))
