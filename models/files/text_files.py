"""Text files read whole: UTF-8, of a size that fits."""

from __future__ import annotations

import os

from maxent.models.errors import invalid
from maxent.models.files.input_files import read_input, shown_path
from maxent.models.files.json_files import MAX_BYTES, unusable_file


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file without a byte order mark, its lines ended as on Unix."""
    source = shown_path(path)
    try:
        data = read_input(path, MAX_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        raise unusable_file(source, "a file that can be read", error) from None
    if data is None:
        raise invalid(source, "file", "size", f"at most {MAX_BYTES // 2**20} MiB", "a larger file")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise invalid(source, f"line {line}", "encoding", "text in UTF-8", f"byte 0x{data[error.start]:02x}") from None
