"""Releases as they are written: documents of the format maxent/1."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

REMOVE = object()
"""In place of a value: the place is not there."""

DOCUMENTED = """
{
  "format": "maxent/1",
  "target": {"name": "Salary", "classes": ["<=50K", ">50K"]},
  "attributes": [
    {"name": "Education", "type": "categorical", "values": ["Masters", "Doctorate"]},
    {"name": "Age", "type": "numeric"},
    {"name": "SportsCar", "type": "categorical", "values": ["yes", "no"], "role": "private"}
  ],
  "release": {"sampling_rate": 0.1, "suppressed_below": 5},
  "trees": [
    {
      "induction": {"algorithm": "id3", "impurity": "entropy", "candidates": "unused"},
      "nodes": [
        {"id": "N1", "attribute": "Education",
         "branches": [{"in": ["Masters"], "child": "N2"}, {"in": ["Doctorate"], "child": "L1"}]},
        {"id": "N2", "attribute": "Age",
         "branches": [{"le": 37.5, "child": "L2"}, {"gt": 37.5, "child": "L3"}]},
        {"id": "L1", "label": ">50K", "error_rate": 0.25, "n": 4},
        {"id": "L2", "counts": {"<=50K": 3, ">50K": 1}},
        {"id": "L3", "label": "<=50K"}
      ]
    }
  ]
}
"""


def release_document(target: str, classes: Sequence[str], attributes: Any, *trees: Any, **more: Any) -> dict[str, Any]:
    """A release of some trees, each an object or its nodes alone.

    Attributes are objects, or a mapping from names to values, None for numbers. There is ``more`` beside the trees.
    """
    if isinstance(attributes, Mapping):
        attributes = [
            {"name": name, "type": "numeric"} if values is None
            else {"name": name, "type": "categorical", "values": list(values)}
            for name, values in attributes.items()
        ]  # fmt: skip
    return {
        "format": "maxent/1",
        "target": {"name": target, "classes": list(classes)},
        "attributes": list(attributes),
        "trees": [tree if isinstance(tree, Mapping) else {"nodes": list(tree)} for tree in trees],
        **more,
    }


def changed(document: Any, *changes: tuple[Sequence[Any], Any]) -> Any:
    """A copy with some places, each a path of keys, changed, removed, or (one past the end of a list) added."""
    found = copy.deepcopy(document)
    for path, value in changes:
        at = found
        for key in path[:-1]:
            at = at[key]
        if value is REMOVE:
            del at[path[-1]]
        elif isinstance(at, list) and path[-1] == len(at):
            at.append(copy.deepcopy(value))
        else:
            at[path[-1]] = copy.deepcopy(value)
    return found
