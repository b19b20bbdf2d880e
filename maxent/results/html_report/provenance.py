"""Provenance of a report: versions, options, and the files that were read."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from glob import glob
from importlib import metadata

from maxent import __version__
from maxent.models.files.input_files import redacted
from maxent.results.html_report.view import InputFile, Provenance, shown

LIBRARIES = ("numpy", "scipy", "pandas")


def provenance(
    command: Sequence[str],
    options: Mapping[str, object],
    inputs: Sequence[InputFile] = (),
    backends: Iterable[str] = (),
) -> Provenance:
    """Everything that makes a report repeatable.

    ``command``: the command and its arguments, without options. ``options``: names of options, as Python has them, ->
    values; None for what was not given. ``inputs``: see `read_inputs`. ``backends``: names of the back ends that solved
    something.
    """
    given = {name: value for name, value in options.items() if value is not None}
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    now = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    return Provenance(
        created=now.strftime("%Y-%m-%d %H:%M:%S UTC"),
        command=shown_command(command, given),
        versions=tuple(versions(backends)),
        options=tuple((name.replace("_", " "), shown(value)) for name, value in given.items()),
        inputs=tuple(inputs),
    )


def read_inputs(files: Iterable[tuple[str, str | None]]) -> tuple[InputFile, ...]:
    """Size and SHA-256 of files, given as (what for, path or pattern); those that are no files are left out."""
    found = []
    for role, path in files:
        if path is None or "\0" in path:
            continue
        names = [path] if os.path.isfile(path) else sorted(glob(path))
        for name in filter(os.path.isfile, names):
            with open(name, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            found.append(InputFile(role, shown(name), os.path.getsize(name), digest))
    return tuple(found)


def shown_command(command: Sequence[str], given: Mapping[str, object]) -> str:
    """A command line that does the same, for people to read."""
    words = ["maxent", *(shlex.quote(word) for word in command)]
    for name, value in given.items():
        if name == "presolve":
            words += [] if value else ["--no-presolve"]
        elif name == "bounds":
            words += ["--bounds", *([] if value == "auto" else ["--level", str(value)])]
        elif isinstance(value, bool):
            words += [f"--{name.replace('_', '-')}"] if value else []
        else:
            text = redacted(str(value)) if name == "dask" else str(value)
            words += [f"--{name.replace('_', '-')}", shlex.quote(text)]
    return " ".join(shown(word) for word in words)


def versions(backends: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Names and versions of what computed the numbers."""
    from maxent.solvers.backends.registry import backend_names, load_backend

    yield "maxent", __version__
    yield "Python", f"{platform.python_version()} ({platform.platform(terse=True)})"
    for name in LIBRARIES:
        yield name, metadata.version(name)
    for name in sorted(set(backends)):
        known = name.partition(":")[0] in backend_names()
        version = getattr(load_backend(name), "version", None) if known else None
        yield f"back end {name}", str(version()) if version is not None else "no version" if known else "part of maxent"
