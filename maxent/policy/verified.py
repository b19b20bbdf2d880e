"""Result of a verification: whether the files of a record are the same, and what it says still true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maxent.disclosure.limits import STATUS_WORDS
from maxent.models.display import Display, Shown, counted
from maxent.policy.record import EXIT, UNRELIABLE, RecordedReview

# Status -> what it says of a record.
WORDS: Mapping[str, str] = {
    "pass": "the record is still true",
    "fail": "the record is no longer true",
    "cannot_tell": "it cannot be told whether the record is still true",
}
# First key of a field that nobody can compute again -> what it is.
UNVERIFIED: Mapping[str, str] = {
    "created": "when it was made",
    **dict.fromkeys(("title", "purpose"), "its title and purpose"),
    **dict.fromkeys(("versions", "criteria"), "the versions that made it"),
    "decision": "who decided what, and when",
    "call": "which options and files were asked for",
    "policy": "its policy",
    "written": "which reports were written with it",
}
SENTENCES = "sentences of another version of maxent"


@dataclass(frozen=True, slots=True)
class FileState:
    """A file of a record: its role, path and state."""

    role: str
    path: str
    state: str

    @property
    def line(self) -> str:
        """The file in words; empty where it is the same."""
        words = {
            "changed": "has other bytes than the record says",
            "missing": "is not there",
            "new": "is read by a check, but is not in the record",
            "unread": "is in the record, but no check reads it",
        }
        return f"{self.role} {self.path} {words[self.state]}" if self.state in words else ""


@dataclass(frozen=True, eq=False, repr=False)
class Verified(Shown):
    """A record that was verified.

    Attributes
    ----------
    source : str
        The file of the record.
    record : mapping
        What it says.
    files : tuple of FileState
    differences : tuple of str
        What is different now, in sentences: findings, and what the record says of itself.
    notes : tuple of str
        What is told, and decides nothing: other versions.
    checked : RecordedReview or None
        The same check, or review, computed again; None where files are missing, or it could not be.
    trouble : str
        Why it could not be computed again, or not to the end; empty where it was.
    first : str
        The first field of the record that differs; empty where none does.
    unverified : tuple of str
        The fields of the record that nobody can compute again, nor compare.
    """

    source: str
    record: Mapping[str, Any]
    files: tuple[FileState, ...]
    differences: tuple[str, ...]
    notes: tuple[str, ...]
    checked: RecordedReview | None
    trouble: str = ""
    first: str = ""
    unverified: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[str, ...]:
        """Everything that makes the record untrue: files that changed, came or are not read, and differences."""
        files = (each.line for each in self.files if each.state in ("changed", "new", "unread"))
        return (*files, *self.differences)

    @property
    def missing(self) -> tuple[str, ...]:
        """The files that are not there."""
        return tuple(each.line for each in self.files if each.state == "missing")

    @property
    def status(self) -> str:
        """``pass`` (still true), ``fail`` (no longer), or ``cannot_tell``."""
        if self.changes:
            return "fail"
        return "cannot_tell" if self.missing or self.trouble or self.checked is None else "pass"

    @property
    def exit_status(self) -> int:
        """Exit status of ``maxent verify``: 0 still true, 1 not to be relied on, 3 no longer true, 4 cannot tell."""
        unreliable = self.checked is not None and not self.checked.reliable
        return UNRELIABLE if unreliable and self.status != "fail" else EXIT[self.status]

    @property
    def summary(self) -> dict[str, Any]:
        """The object of ``maxent verify --json``: plain numbers, strings, lists, dictionaries."""
        return {
            "record": self.source,
            "status": self.status,
            "exit": self.exit_status,
            "verdict": self.record["verdict"]["status"],
            "files": [{"role": each.role, "path": each.path, "state": each.state} for each in self.files],
            "first": self.first,
            "differences": list(self.differences),
            "trouble": self.trouble,
            "notes": list(self.notes),
            "not_verified": list(self.unverified),
        }

    @property
    def title(self) -> str:
        """Whether it is still true, and what it says."""
        status = self.record["verdict"]["status"]
        said = STATUS_WORDS.get(status, status)
        return f"{WORDS[self.status]}: {self.source}, whose verdict is {said}"

    @property
    def lines(self) -> Sequence[str]:
        """What is different, missing or to be told."""
        same = sum(each.state == "same" for each in self.files)
        found = [f"{counted(same, 'file')} of {len(self.files)} as in the record"]
        found += [f"the first field that differs: {self.first}"] * bool(self.first)
        told = [*self.changes, *self.missing, *[self.trouble] * bool(self.trouble)]
        if self.checked is not None and not self.checked.reliable and not self.trouble:
            told.append(self.checked.review.trouble)
        kept = dict.fromkeys(UNVERIFIED.get(place.partition(".")[0], SENTENCES) for place in self.unverified)
        unverified = f"taken as the record says it, as nobody can compute it again: {'; '.join(kept)}"
        return [*found, *told, *(f"note: {sentence}" for sentence in self.notes), unverified]

    def _display(self) -> Display:
        rows = [[each.role, each.path, each.state] for each in self.files]
        return Display(self.title, self.lines, ("role", "file", "state"), rows, self.lines)
