"""The result of a defense, and the files that it is written to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxent.models.display import Display, Shown
from maxent.models.files import output
from maxent.models.files.output import check_outputs
from maxent.models.files.result_files import save_frame
from maxent.models.reading import NOTHING, Noticed
from maxent.results.text.terminal import aligned, print_lines

if TYPE_CHECKING:
    from maxent.models.release import Release
    from maxent.models.tables.generalized_records import GeneralizedTable

# Suffixes of the files that trees, and records, can be written to.
TREES, RECORDS = (".json",), (".csv", ".parquet")

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


@dataclass(frozen=True, eq=False, repr=False)
class Defended(Shown):
    """Releases that a method made, one for each k, with what became of the tree.

    They are ``tables`` of generalised records when these were to be published, and otherwise trees, the ``releases``;
    the other of the two is empty. ``rows`` has a mapping for each, of trees:

    - ``k``, None for a method without one; ``guarantee``, such as ``{"k": 5}``, None for none;
    - ``leaves_before`` (of the tree as it was grown) and ``leaves`` that are published; ``removed_leaves``, branches
      that end where a leaf was removed, and ``removed_records``, which no published leaf has;
    - ``pure_leaves`` and ``pure_records``: published leaves whose records all have one class, and the records in them
      (in several trees each record is counted once in every tree);
    - ``train_accuracy`` and ``test_accuracy``, None without a test, of what is published.

    And of records:

    - ``k`` and ``guarantee``, ``{"kk": 5}`` for (5,5)-anonymity, ``{"k": 5}`` of uniform groups; ``leaves_before``;
    - ``gcp``, the global certainty penalty, 0 (records as they are) to 1; and ``k_anonymous``, how many rows are alike
      at the least.

    And of random trees:

    - ``k`` and ``guarantee``, with ``beta``, ``epsilon``, ``delta`` and ``tight_delta`` of
      `maxent.models.defenses.accounting.Guarantee`, None for nothing; ``leaves_before``, which samples
      reach, and
      ``leaves`` with published counts; ``train_accuracy`` and ``test_accuracy``.

    ``notes`` say in words what is guaranteed, and what is not; ``noticed`` is what was while the records were read.
    """

    method: str
    releases: tuple[Release, ...]
    rows: tuple[Mapping[str, Any], ...]
    records: int
    notes: tuple[str, ...]
    tables: tuple[GeneralizedTable, ...] = ()
    noticed: Noticed = NOTHING

    @property
    def release(self) -> Release:
        """The tree that is published; the first, when several k were asked for."""
        return self.releases[0]

    @property
    def summary(self) -> dict[str, Any]:
        """The object of ``maxent defend --json`` without files: all rows as ``releases``, a single one also on top."""
        rows = deepcopy([dict(row) for row in self.rows])
        one = deepcopy(rows[0]) if len(rows) == 1 else {}
        notes = [*self.noticed.notes, *self.notes]
        own = {"method": self.method, "records": self.records, **one, "releases": rows, "notes": notes}
        return {**own, **self.noticed.summary}

    def _display(self) -> Display:
        header, cells = _table(self.rows)
        notes = [*self.noticed.notes, *self.notes]
        return Display(_head(self), [*aligned(header, cells, left=0), *notes], header, cells, notes)

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> tuple[str, ...]:
        """Write every release, trees as maxent/1 files, records as .csv or .parquet; each file atomically.

        Parameters
        ----------
        csv_literal : bool
            Whether text in a .csv file is written as it is, also where a spreadsheet would run it as a formula.

        Returns
        -------
        tuple of str
            The names of the files, see `file_names`.
        """
        files = file_names(path, [row["k"] for row in self.rows])
        if self.tables:
            check_outputs({f"output {file}": (file, RECORDS) for file in files})
            for file, table in zip(files, self.tables, strict=True):
                save_frame(
                    file,
                    table.frame(),
                    lambda rows: {"rows": rows},
                    output.RECORDS,
                    csv_literal=csv_literal,
                    public=True,
                )
        else:
            for file, release in zip(files, self.releases, strict=True):
                release.save(file)
        return files


def file_names(path: str | PathLike[str], ks: Sequence[int | None]) -> tuple[str, ...]:
    """The file of each release: ``{k}`` in the name stands for k; several files without it get ``-k5`` at the end."""
    name = fspath(path)
    if "{k}" not in name and len(ks) > 1:
        name = str(Path(name).with_suffix("")) + "-k{k}" + Path(name).suffix
    return tuple(name if k is None else name.replace("{k}", str(k)) for k in ks)


def print_defended(defended: Defended, files: Sequence[str]) -> None:
    """Print a row per release, then what is guaranteed and what is not."""
    header, cells = _table([{**row, "file": file} for row, file in zip(defended.rows, files, strict=True)])
    print_lines([_head(defended), "", *aligned(header, cells, left=1), "", *defended.notes])


def _head(defended: Defended) -> str:
    before, several = defended.rows[0]["leaves_before"], max((len(r.trees) for r in defended.releases), default=1) > 1
    of = f"{len(defended.release.trees)} trees" if several else "a tree"
    return f"{defended.method}: {defended.records} records, {of} of {before} {'leaf' if before == 1 else 'leaves'}"


def _table(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """The header, and a row of texts per release."""
    keys = [key for key in _COLUMNS if key in rows[0] and (key not in _OPTIONAL or any(row[key] for row in rows))]
    return [_COLUMNS[key][0] for key in keys], [[_COLUMNS[key][1](row[key]) for key in keys] for row in rows]
