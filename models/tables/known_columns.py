"""What is known of people, whichever columns that is: a row for each person, with some of the public attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, invalid
from maxent.models.reading import Reader
from maxent.models.release import Release
from maxent.models.tables.frame import Source, shorten_list
from maxent.models.tables.qi_table import declared_values, encode_column
from maxent.models.tables.table_files import read_frame


@dataclass(frozen=True, slots=True, eq=False)
class KnownColumns:
    """The columns of some public attributes, a row for each person.

    ``attributes``: their positions in `Release.attributes`. ``codes`` of shape (n_people, n_known). ``levels``: as in
    `maxent.models.tables.qi_table.QITable`. ``source``: the name of the file, or ``qi`` for a DataFrame.
    """

    attributes: tuple[int, ...]
    codes: IntArray
    levels: tuple[npt.NDArray[Any], ...]
    source: str

    def __len__(self) -> int:
        return len(self.codes)


def read_known(source: Source, release: Release, reader: Reader | None = None) -> KnownColumns:
    """Read those public attributes that a table has; its other columns are ignored."""
    names = [attribute.name for attribute in release.public]
    frame = read_frame(source, "qi", names, reader, declared_values(release.public, release.target))
    known = [j for j, a in enumerate(release.attributes) if a.role == "public" and a.name in frame.columns]
    problems = list(frame.problems)
    if not known and not problems:
        expected = f"a column of at least one public attribute, such as {shorten_list(names)}"
        raise invalid(frame.source, frame.heading, "columns", expected, shorten_list(frame.header) or "none")
    everybody = np.repeat(np.arange(len(frame.lines)), frame.repeats)
    if not len(everybody):
        raise invalid(frame.source, "rows", "individuals", "at least one individual", "no rows")
    coded = [encode_column(frame, release.attributes[j], everybody, problems) for j in known]
    if problems:
        raise InvalidInput(frame.source, problems)
    codes = np.column_stack([codes for codes, _ in coded])
    return KnownColumns(tuple(known), codes, tuple(levels for _, levels in coded), frame.source)
