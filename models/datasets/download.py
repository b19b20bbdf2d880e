"""Copies of data sets: the folders where they are looked for, and how one is fetched.

The folder in ``MAXENT_DATA`` is looked in first, then the cache: the folder in ``MAXENT_CACHE``, else the user's. What
is fetched is compared with a checksum. ``MAXENT_MIRROR`` is an address that has the same files, for places without a
way out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from hashlib import sha256
from http.client import HTTPException
from pathlib import Path
from urllib.request import Request, urlopen

from maxent.models.datasets.catalogue import DataSet, Part, data_set
from maxent.models.errors import invalid
from maxent.models.files.addresses import has_password, redacted, without_secrets
from maxent.models.files.output import write_text

DATA, CACHE, MIRROR = "MAXENT_DATA", "MAXENT_CACHE", "MAXENT_MIRROR"

SECONDS = 30.0  # without a byte for so long, a download has failed
_CHUNK = 1 << 16

Told = Callable[[str, int, int], None]  # what is being done, and how many bytes of how many are there


def cache_folder() -> Path:
    """The folder of fetched data sets, which need not be there."""
    if stated := os.environ.get(CACHE):
        return Path(stated)
    if sys.platform == "win32":
        above = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local"
    elif sys.platform == "darwin":
        above = Path.home() / "Library/Caches"
    else:
        above = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(above) / "maxent"


def local_copy(name: str) -> Path | None:
    """The table of a data set, where one of the folders has it."""
    file = data_set(name).file
    folders = [*([Path(stated)] if (stated := os.environ.get(DATA)) else []), cache_folder()]
    return next((folder / file for folder in folders if (folder / file).is_file()), None)


def fetched(name: str, told: Told | None = None) -> Path:
    """The table of a data set; it is fetched where no folder has it.

    ``name``: of `maxent.models.datasets.catalogue.DATA_SETS`. ``told``: called as bytes arrive.
    """
    wanted = data_set(name)
    if (found := local_copy(name)) is not None:
        return found
    path = cache_folder() / wanted.file
    contents = [_downloaded(wanted, part, told or _silent) for part in wanted.parts]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise invalid(str(path.parent), "folder", CACHE, "a folder that can be made", str(error)) from None
    write_text(path, wanted.table(contents), public=True)
    return path


def _downloaded(wanted: DataSet, part: Part, told: Told) -> bytes:
    mirror = os.environ.get(MIRROR)
    url = f"{mirror.rstrip('/')}/{part.name}" if mirror else part.url
    content, shown = bytearray(), without_secrets(url)
    try:
        if not url.startswith(("https://", "http://")):
            raise ValueError("no web address")
        if has_password(url):
            raise ValueError(f"a name or a password in {MIRROR}")
        with urlopen(Request(url, headers={"User-Agent": "maxent"}), timeout=SECONDS) as answer:
            while len(content) <= part.size and (more := answer.read(_CHUNK)):
                content += more
                told(f"fetching {part.name}", len(content), part.size)
    except (OSError, ValueError, HTTPException) as error:
        said = redacted(str(error).replace(url, shown)) or type(error).__name__
        expected = f"a connection; or {wanted.file} in a folder that {DATA} names, or a copy of the files at {MIRROR}"
        raise invalid(shown, "download", wanted.name, expected, said) from None
    if (digest := sha256(content).hexdigest()) != part.sha256:
        size = f"{len(content)} bytes" if len(content) <= part.size else f"more than {part.size} bytes"
        expected = f"the file with the SHA-256 checksum {part.sha256}"
        raise invalid(shown, "download", wanted.name, expected, f"{digest}, {size}")
    return bytes(content)


def _silent(text: str, done: int, total: int) -> None:
    del text, done, total
