"""The writers of releases: the one place where they are listed."""

from __future__ import annotations

from os import PathLike, fspath

from maxent.models.errors import invalid
from maxent.models.formats.writers.drawings import DOT_WRITER as DOT
from maxent.models.formats.writers.drawings import WRITER as SVG
from maxent.models.formats.writers.pmml import WRITER as PMML
from maxent.models.formats.writers.rules import RULE_TABLE_WRITER as CSV
from maxent.models.formats.writers.rules import WRITER as RULES
from maxent.models.formats.writers.rules import Writer
from maxent.models.formats.writers.sql import WRITER as SQL
from maxent.models.hints import close_to

WRITERS = {writer.name: writer for writer in (SQL, PMML, RULES, CSV, DOT, SVG)}  # name -> writer


def writer_for(path: str | PathLike[str] | None, name: str | None) -> Writer:
    """The writer of a name, else the one of a file's suffix."""
    if name is not None:
        if name not in WRITERS:
            raise invalid(
                "export", "argument", "to", f"one of {', '.join(WRITERS)}", repr(name) + close_to(name, WRITERS)
            )
        return WRITERS[name]
    if path is None:
        raise invalid("export", "argument", "to", f"one of {', '.join(WRITERS)}, or a file", "nothing")
    for writer in WRITERS.values():
        if fspath(path).lower().endswith(writer.suffix):
            return writer
    suffixes = ", ".join(writer.suffix for writer in WRITERS.values())
    raise invalid("export", "argument", "to", f"a form, or a file that ends in {suffixes}", repr(fspath(path)))
