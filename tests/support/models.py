"""Models of other tools, written and read as a release."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from maxent.models.formats.registry import convert_model, reader_for
from maxent.models.formats.release_reader import Converted, Wanted
from maxent.models.reading import Reader


def read_model(path: Path, **said: Any) -> Converted:
    return convert_model(path, Wanted(**said), Reader())


def reads(name: str, kind: str = "", **written: Any) -> Callable[..., Converted]:
    """A function that writes a text, bytes or a document to a file of this name in a folder, and reads it.

    The file has to be recognised as one of the format ``kind``, if that is given.
    """

    def read(folder: Path, content: Any, **said: Any) -> Converted:
        content = content if isinstance(content, str | bytes) else json.dumps(content, **written)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        assert not kind or reader_for(folder / name).name == kind
        return read_model(folder / name, **said)

    return read


def hessian(scores: Any) -> Any:
    """What a person weighs in the leaves of a tree of a logistic loss."""
    share = 1 / (1 + np.exp(-scores))
    return share * (1 - share)
