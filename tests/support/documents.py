"""Releases as they are written: documents of the format maxent/1."""

from collections.abc import Mapping, Sequence
from typing import Any


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
