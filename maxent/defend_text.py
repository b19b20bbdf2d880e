"""What a defense made of a tree, as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from maxent.bench_text import aligned
from maxent.report import printable

if TYPE_CHECKING:
    from maxent.defended import Defended

_SHARE = "{:.4f}".format
_COLUMNS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "file": ("release", str),
    "k": ("k", str),
    "leaves": ("leaves", str),
    "removed_leaves": ("removed", str),
    "removed_records": ("records in them", str),
    "pure_leaves": ("pure", str),
    "pure_records": ("records in them", str),
    "train_accuracy": ("train accuracy", _SHARE),
    "test_accuracy": ("test accuracy", _SHARE),
    "gcp": ("GCP", _SHARE),
    "k_anonymous": ("fewest alike", str),
}
_OPTIONAL = ("k", "removed_leaves", "removed_records", "test_accuracy")


def print_defended(defended: Defended, files: Sequence[str]) -> None:
    """Print a row per release, then what is guaranteed and what is not."""
    rows = [{**row, "file": file} for row, file in zip(defended.rows, files, strict=True)]
    before, several = defended.rows[0]["leaves_before"], max((len(r.trees) for r in defended.releases), default=1) > 1
    of = f"{len(defended.release.trees)} trees" if several else "a tree"
    print(f"{defended.method}: {defended.records} records, {of} of {before} {'leaf' if before == 1 else 'leaves'}")
    keys = [key for key in _COLUMNS if key in rows[0] and (key not in _OPTIONAL or any(row[key] for row in rows))]
    cells = [[_COLUMNS[key][1](row[key]) for key in keys] for row in rows]
    for line in ["", *aligned([_COLUMNS[key][0] for key in keys], cells, left=1), ""]:
        print(line)
    for note in defended.notes:
        print(printable(note))
