"""The answer of `maxent.audit_in_parts`: an audit whose people are in files, and not in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxent.api.parts.folder import frame_of, parts_entry
from maxent.attacks.audit import Audit
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.text.display import counted

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class AuditInParts(Audit):
    """Structural attacks on a release about people who are known by their leaves alone.

    ``people`` has one quasi-identifier for each of the ``n_leaves`` that somebody is in, standing for all people in it.
    All numbers are those of `maxent.audit`. ``folder`` has the people in ``files``, if one was asked for.
    """

    n_leaves: int = 0
    folder: Path | None = None
    files: tuple[Path, ...] = ()

    @classmethod
    def of(cls, found: Audit, n_leaves: int, folder: Path | None, files: tuple[Path, ...]) -> AuditInParts:
        """An audit of leaves as one of the people in them."""
        known: dict[str, Any] = {each.name: getattr(found, each.name) for each in fields(Audit)}
        alone: Mapping[str, Audit] = found.targets
        known["targets"] = {name: cls.of(each, n_leaves, None, ()) for name, each in alone.items()}
        return cls(**known, n_leaves=n_leaves, folder=folder, files=files)

    @cached_property
    def _summary(self) -> dict[str, Any]:
        return {**super()._summary, "parts": parts_entry(len(self.trees), self.n_leaves, self.files)}

    @property
    def individuals(self) -> DataFrame:
        """The rows of all files, with the columns of `Audit.individuals`, by leaf; read when asked for.

        Raises
        ------
        InvalidInput
            Without a folder.
        """
        return frame_of(self.folder, self.files, "people")

    @property
    def lines(self) -> tuple[str, ...]:
        """The summary in plain language."""
        written = [f"people are in {counted(len(self.files), 'file')} of {self.folder}"] * (self.folder is not None)
        return (*super().lines, *written)

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Refuse to write what is in files already.

        Raises
        ------
        InvalidInput
            Always.
        """
        raise invalid("options", ARGUMENT, "path", "none: people are in the folder of the audit", str(path))
