"""The result of a defense, as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from maxent.models.display import Display
from maxent.results.text.terminal import aligned, print_lines

if TYPE_CHECKING:
    from maxent.models.reading import Noticed
    from maxent.models.release import Release


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


class Defended(Protocol):
    """The printed parts of `maxent.Defended`."""

    @property
    def method(self) -> str: ...
    @property
    def records(self) -> int: ...
    @property
    def rows(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def release(self) -> Release: ...
    @property
    def releases(self) -> Sequence[Release]: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def noticed(self) -> Noticed: ...


def print_defended(defended: Defended, files: Sequence[str]) -> None:
    """Print a row per release, then what is guaranteed and what is not."""
    header, cells = _table([{**row, "file": file} for row, file in zip(defended.rows, files, strict=True)])
    print_lines([_head(defended), "", *aligned(header, cells, left=1), "", *defended.notes])


def defended_display(defended: Defended) -> Display:
    """The result of a defense in a console and in a notebook."""
    header, cells = _table(defended.rows)
    notes = [*defended.noticed.notes, *defended.notes]
    return Display(_head(defended), [*aligned(header, cells, left=0), *notes], header, cells, notes)


def _head(defended: Defended) -> str:
    before, several = defended.rows[0]["leaves_before"], max((len(r.trees) for r in defended.releases), default=1) > 1
    of = f"{len(defended.release.trees)} trees" if several else "a tree"
    return f"{defended.method}: {defended.records} records, {of} of {before} {'leaf' if before == 1 else 'leaves'}"


def _table(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The header, and a row of texts per release."""
    keys = [key for key in _COLUMNS if key in rows[0] and (key not in _OPTIONAL or any(row[key] for row in rows))]
    return [_COLUMNS[key][0] for key in keys], [[_COLUMNS[key][1](row[key]) for key in keys] for row in rows]
