"""Options of calls in parts, about more people than memory holds."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from maxent.command_line import options as opt
from maxent.command_line import panels
from maxent.models.files.kinds import AUDIT, BOUNDS, ESTIMATE

if TYPE_CHECKING:
    from maxent.api.parts.folder import InParts

Memory = Annotated[
    str | None,
    panels.run(
        metavar="SIZE",
        help="Memory of all processes, such as 4GB: people are taken in parts (docs/scale.md); default with -o "
        "FOLDER/: most of the machine's.",
    ),
]
OutputInParts = Annotated[
    str | None,
    panels.written(
        ESTIMATE,
        names=opt.OUTPUT,
        help="Write the result, by suffix: .csv, .parquet or .json; or a plot of it: .svg, .png or .pdf; or, to a new "
        "FOLDER/, Parquet files of posteriors as they come (docs/scale.md).",
    ),
]
OutputOfPeople = Annotated[
    str | None,
    panels.written(
        AUDIT,
        names=opt.OUTPUT,
        help="Write the result: a row per quasi-identifier, without QI per leaf, by suffix: .csv, .parquet or .json; "
        "or, to a new FOLDER/, Parquet files as they come (docs/scale.md).",
    ),
]
OutputOfBounds = Annotated[
    str | None,
    panels.written(
        BOUNDS,
        names=opt.OUTPUT,
        help="Write the result, by suffix: .csv, .parquet or .json; or, with --level closed, to a new FOLDER/, Parquet "
        "files as they come (docs/scale.md).",
    ),
]


@dataclass(frozen=True, slots=True)
class Work:
    """How much memory a call may take, and which processes or cluster do its work."""

    memory: str | None
    jobs: int
    dask: str | None

    @property
    def options(self) -> dict[str, Any]:
        """The same as arguments of functions."""
        return {"memory": self.memory, "jobs": self.jobs, "dask": self.dask}

    def in_parts(self, output: str | None) -> bool:
        """Whether people are taken in parts, as the folder of an output, memory or workers ask for."""
        return self.memory is not None or self.dask is not None or self.jobs != 1 or is_folder(output)

    def where(self, output: str | None, inputs: Iterable[str | None]) -> InParts:
        """The folder and the memory.

        Raises
        ------
        InvalidInput
            For a file in place of a folder, one that is among the ``inputs``, and what `InParts.of` refuses.
        """
        return where(output, self.memory, inputs)


def work(memory: Memory = None, jobs: opt.Jobs = 1, dask: opt.Dask = None) -> Work:
    """The options of calls whose people alone are a reason for several processes."""
    return Work(memory, jobs, dask)


def is_folder(output: str | None) -> bool:
    """Whether an output is a folder, by how it is written, or as there is one."""
    return output is not None and (output.endswith(("/", os.sep)) or os.path.isdir(output))


def where(output: str | None, memory: str | None, inputs: Iterable[str | None]) -> InParts:
    """The folder and the memory of a call in parts; errors are those of `Work.where`."""
    from maxent.api.parts.folder import InParts
    from maxent.models.errors import ARGUMENT, invalid
    from maxent.models.files.output import check_apart

    if output is not None and not is_folder(output):
        expected = "a FOLDER/ for Parquet files, as people are taken in parts (memory=, jobs=, dask=)"
        raise invalid("options", ARGUMENT, "-o", expected, output)
    found = InParts.of(output, memory)
    if output is not None:
        check_apart({"-o": output}, inputs)
    return found
