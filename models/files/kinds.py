"""Kinds of files that commands write: how an earlier result is told from anything else that is in its place."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

# Endings of files that are tables, where several files have to be told apart
TABLE_SUFFIXES = (".csv", ".csv.gz", ".parquet", ".pq", ".xlsx", ".xlsm")

LOOKED_AT = 1 << 16  # bytes at the beginning and at the end of a file in which its marker is

# Bytes of the largest JSON document that is read to find its ``format``, where that is not its first key
LARGEST = 1 << 28

KEY = b"maxent"  # key of a Parquet file's metadata, whose value is the name of the kind

PLOT = "maxent-plot"  # what plots say in their metadata

DRAWING = "maxent-drawing"  # what drawings of releases say in their metadata

REPORT_MARK = '<meta name="generator" content="maxent">'  # what reports say in their first lines

FOREIGN = "which is there, and which this command did not write"  # why most files are not replaced

_FORMAT = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"format"\s*:\s*"([^"\\]*)"')
_MARKS: Mapping[str, str] = {".html": re.escape(REPORT_MARK), **dict.fromkeys((".svg", ".png", ".pdf"), PLOT)}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file.

    ``name``: what it states: as the key ``format`` of JSON, and in the metadata of Parquet. ``header``: the columns of
    a CSV file -> whether they are those of the kind; none where any table of people has such. ``marks``: suffix of
    other files, ``""`` for any -> a regular expression for what is in their first or last bytes. ``kept``: a document
    of JSON -> the reason why it must be kept, None for none.
    """

    name: str
    header: Callable[[Sequence[str]], bool] | None = None
    marks: Mapping[str, str] = field(default_factory=lambda: _MARKS)
    kept: Callable[[Mapping[str, Any]], str | None] | None = None

    def refuses(self, path: str) -> str | None:
        """The reason why a file must not be replaced, None where it is of this kind."""
        suffix = os.path.splitext(path)[1].lower()
        mark = self.marks.get(suffix, self.marks.get(""))
        try:
            if mark is not None:
                found = re.search(mark.encode(), _ends(path)) is not None
            elif suffix == ".json":
                return self._of_document(path)
            elif suffix == ".parquet":
                found = _stated_in_parquet(path) == self.name
            else:
                found = suffix == ".csv" and self.header is not None and self.header(_columns(path))
        except (OSError, ValueError, RecursionError, csv.Error) as error:
            return f"which cannot be read ({type(error).__name__})"
        return None if found else FOREIGN

    def _of_document(self, path: str) -> str | None:
        with open(path, "rb") as file:
            first = _FORMAT.match(file.read(LOOKED_AT))
        if first is not None and self.kept is None:
            return None if first[1].decode() == self.name else f"which has the format {first[1].decode()!r}"
        if os.path.getsize(path) > LARGEST:
            return "which is too large to be looked at"
        with open(path, encoding="utf-8-sig") as file:
            document = json.load(file)
        stated = document.get("format") if isinstance(document, dict) else None
        if stated != self.name:
            return FOREIGN if stated is None else f"which has the format {str(stated)[:60]!r}"
        return None if self.kept is None else self.kept(document)


def _columns(path: str) -> list[str]:
    """The header row of a CSV file."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        return [name.removeprefix("'") for name in next(csv.reader(file), [])]


def _stated_in_parquet(path: str) -> str:
    from pyarrow import parquet

    return ((parquet.read_metadata(path).metadata or {}).get(KEY) or b"").decode()


def _ends(path: str) -> bytes:
    """The first and the last bytes of a file."""
    with open(path, "rb") as file:
        first = file.read(LOOKED_AT)
        file.seek(max(os.path.getsize(path) - LOOKED_AT, len(first)))
        return first + file.read(LOOKED_AT)


def _adjacent(*patterns: str) -> Callable[[Sequence[str]], bool]:
    """Whether columns that fit patterns are beside each other, whatever is before and after them.

    Where an attribute has the name of one of ours, ours has a prefix.
    """

    def fits(columns: Sequence[str]) -> bool:
        names = [re.sub("^(maxent_)+", "", name) for name in columns]
        starts = range(len(names) - len(patterns) + 1)
        return any(all(map(fnmatchcase, names[start:], patterns)) for start in starts)

    return fits


def _of_predictions(columns: Sequence[str]) -> bool:
    names = [re.sub("^(maxent_)+", "", name) for name in columns]
    return "predicted" in names and names[-1] == "leaf"


def _of_witnesses(columns: Sequence[str]) -> bool:
    return len(columns) > 1 and columns[-1].endswith(f"{re.sub('^(maxent_)+', '', columns[-2])}_other")


def _decided(record: Mapping[str, Any]) -> str | None:
    """Why a record is kept: somebody decided by it."""
    decision = record.get("decision")
    blank = isinstance(decision, dict) and not any(str(each or "").strip() for each in decision.values())
    return None if blank else "which is a record with a decision"


# The kinds, each of one output of a command
RELEASE = Kind("maxent/1")
RECORDS = Kind("maxent-records/1")
ESTIMATE = Kind("maxent-estimate/1", _adjacent("count", "P(*)"))
REVIEW = Kind("maxent-review/1", _adjacent("count", "P(*)"))
BOUNDS = Kind("maxent-bounds/1", _adjacent("count", "class", "low", "high", "proved_by"))
WITNESSES = Kind("maxent-witnesses/1", _of_witnesses)
TABLE = Kind("maxent-table/1")
PROVED = Kind("maxent-proved/1")
AUDIT = Kind("maxent-audit/1", _adjacent("attack", "disclosed"))
GROUPS = Kind("maxent-groups/1", _adjacent("n", "count(*)"))
PREDICTIONS = Kind("maxent-predictions/1", _of_predictions)
COMPARISON = Kind("maxent-comparison/1", _adjacent("release", "defense", "status", "certificate"))
DIFFERENCE = Kind("maxent-difference/1", _adjacent("proved", "proved_alone"))
BENCH = Kind("maxent-bench/1", _adjacent("backend", "version", "status", "reason", "convex", "certificate"))
CONSTRAINTS = Kind("maxent-constraints/1", _adjacent("kind", "origin", "tree", "node", "says"))
CHECKS = Kind("maxent-checks/1", _adjacent("id", "key", "limit", "found", "status", "said", "off"))
RECORD = Kind("maxent-record/1", kept=_decided)
CANDIDATES = Kind("maxent-candidates/1", _adjacent("rank", "candidate", "method", "outcome", "why"))
REPORT = Kind("maxent-report")
PLOTTED = Kind(PLOT)
CARD = Kind("maxent-card", marks={"": r"\A#{1,6} Disclosure of the training data\n"})
PYOMO = Kind("maxent-pyomo", marks={"": r"\A# The maximum-entropy program of a release"})
NL = Kind(
    "maxent-nl",
    marks={
        ".nl": r"\A[bg].*# problem maxent\n",
        ".col": r"\A(mass|aggregate)\[",
        ".row": r"\A(linear\[|internal\[|negative_entropy\n)",
    },
)
EXPORT = Kind(
    "maxent-export",
    _adjacent("tree", "leaf", "rule"),
    {
        ".sql": r"\A-- for DuckDB and PostgreSQL; ",
        ".pmml": r'<Extension extender="maxent"',
        ".txt": r"\A.*, predicted from .*\n(.*\n)?\n(Tree|\d+ rules?)",
        ".dot": r'\Adigraph ".*" \{\n  node \[shape=box, fontname=Helvetica\];\n',
        ".svg": f"<metadata>{DRAWING}</metadata>",
    },
)
