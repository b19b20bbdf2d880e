"""The names file of C5.0: the target, its classes, and for each attribute its values in their order.

An entry ends at a full stop before a blank or the end of the line; signs with a backslash stand for themselves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.text_files import read_text
from maxent.models.tables.frame import shorten

_TOKEN = re.compile(r"(?:\\.|[^\\|.]|\.(?!\s|$))+", re.DOTALL)
_KINDS = ("continuous", "date", "time", "timestamp", "ignore", "label")


@dataclass(frozen=True, slots=True)
class Names:
    """A names file: the target, None where only its classes are listed, the classes, and attributes with their values.

    Those of numbers have None, and so have those whose values are not listed.
    """

    target: str | None
    classes: tuple[str, ...]
    attributes: dict[str, tuple[str, ...] | None]


def read_names(file: Path) -> Names:
    """Read a names file."""
    source = shown_path(file)
    lines = [re.sub(r"(?<!\\)\|.*", "", line) for line in read_text(file).split("\n")]
    entries = [_plain_blanks(entry) for entry in _TOKEN.findall("\n".join(lines)) if entry.strip()]
    if not entries:
        raise invalid(source, "document", "content", "a names file of C5.0", "an empty file")
    attributes: dict[str, tuple[str, ...] | None] = {}
    for entry in entries[1:]:
        parts = _parts(entry, ":")
        name = _meant(parts[0])
        body = entry[len(parts[0]) + 1 :].strip() if len(parts) > 1 else ""
        if name in ("attributes included", "attributes excluded"):
            continue
        if not body or name in attributes:
            expected = "each attribute once, with its values: name: a, b, c."
            raise invalid(source, "document", "entries", expected, shorten(entry))
        body = re.sub(r"^\[ordered\]\s*", "", body)
        listed = body.split()[0] not in _KINDS and not body.startswith("=") and not re.match(r"discrete\s", body)
        attributes[name] = tuple(map(_meant, _parts(body, ","))) if listed else None
    first = [_meant(part) for part in _parts(entries[0], ",")]
    target = first[0] if len(first) == 1 else None
    classes = attributes.pop(target, None) if target is not None else tuple(first)
    if len(_parts(entries[0], ":")) > 1 or classes is None or len({*classes}) != len(classes) or len(classes) < 2:
        expected = "classes that are listed: of the target, or in the first entry"
        raise invalid(source, "document", "classes", expected, shorten(entries[0]))
    return Names(target, classes, attributes)


def _parts(text: str, sign: str) -> list[str]:
    """The parts of a text between signs that have no backslash before them."""
    return re.split(rf"(?<!\\){re.escape(sign)}", text)


def _plain_blanks(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _meant(text: str) -> str:
    """A name without the backslashes before its signs."""
    return re.sub(r"\\(.)", r"\1", text.strip())
