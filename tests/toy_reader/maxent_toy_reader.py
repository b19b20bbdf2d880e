"""A reader of a third party, whole: a tree of one split, as five lines of text.

stump 1
Salary <=50K >50K
Age 37.5
3 1
0 4
"""

from __future__ import annotations

import os

from maxent.models.errors import invalid
from maxent.models.files.input_files import read_input
from maxent.models.formats.release_reader import ReleaseReader
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree


def read(path, reader) -> Release:
    text = (read_input(path, 10_000) or b"").decode("utf-8", "replace")
    try:
        _, (name, *classes), (attribute, cut), *rows = (line.split() for line in text.splitlines())
        root = Node("root", attribute, (Branch("low", le=float(cut)), Branch("high", gt=float(cut))))
        counts = [dict(zip(classes, map(int, row), strict=True)) for row in rows]
        low, high = (Node(leaf, counts=held) for leaf, held in zip(("low", "high"), counts, strict=True))
    except ValueError:
        raise invalid(os.fspath(path), "file", "content", "five lines of a stump", "other text") from None
    return Release(Target(name, tuple(classes)), (Attribute(attribute, "numeric"),), (Tree((root, low, high)),))


STUMP = ReleaseReader("stump", "a stump", (".stump",), read, lambda head: head.text.startswith("stump 1\n"))
