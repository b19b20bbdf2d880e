"""A release in a form that others use: a query, rules, a table, a graph, a drawing."""

from __future__ import annotations

from os import PathLike, fspath

from maxent.api.case import open_published
from maxent.models.errors import invalid
from maxent.models.files.output import check_outputs, write_text
from maxent.models.formats.writers.registry import writer_for
from maxent.models.formats.writers.rules import WantedForm
from maxent.models.reading import Reading, reader_of
from maxent.models.release import Release
from maxent.models.trees.predict import check_predicts


def export(
    release: Release | str | PathLike[str],
    path: str | PathLike[str] | None = None,
    *,
    to: str | None = None,
    table: str = "data",
    reading: Reading | None = None,
) -> str:
    """Write a release in a form that others use; it says what the release states and no more.

    Parameters
    ----------
    release : Release or path
    path : path, optional
        The file to write; its suffix names the form unless ``to`` does.
    to : str, optional
        A form of `maxent.models.formats.writers.registry.WRITERS`.
    table : str
        The table that a query reads, a schema before a dot.
    reading : Reading, optional
        How the release is read.

    Returns
    -------
    str
        The text of the file.
    """
    writer = writer_for(path, to)
    if path is not None:
        check_outputs({"path": (path, (writer.suffix,))}, [release if isinstance(release, (str, PathLike)) else None])
    published = open_published(release, reader_of(reading))
    if not isinstance(published, Release):
        raise invalid("release", "file", "format", "a release of trees", "a table of generalised records")
    check_predicts(published)
    text = writer.write(published, WantedForm(table))
    if path is not None:
        write_text(fspath(path), text)
    return text
