"""Records of checks and reviews: content, JSON schema, and hashes of the files that were read; SATRE 2, 3.3.09."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from glob import glob
from importlib.resources import files
from os import PathLike
from typing import TYPE_CHECKING, Any

from maxent import __version__
from maxent.disclosure.ladder import Rung
from maxent.disclosure.limits import (
    ADVERSARY,
    IDS,
    NO_DRAWS_ID,
    STATUS_WORDS,
    UNORDERED,
    WITH,
    Limits,
    Mend,
    Status,
    in_words,
)
from maxent.models.arguments import shorten
from maxent.models.errors import ARGUMENT, Problem, invalid
from maxent.models.files.input_files import is_standard_input
from maxent.models.files.json_files import as_json_text
from maxent.models.files.output import check_outputs, is_pattern, write_text
from maxent.models.hints import close_to
from maxent.policy.checks.context import Finding, PolicyCheck, about
from maxent.policy.checks.registry import CHECKS
from maxent.policy.policy import Policy, presets
from maxent.results.html_report.dossier import dossier_numbers
from maxent.results.html_report.provenance import versions

if TYPE_CHECKING:
    from maxent.results.review import Review

# Role of what a run writes beside its record -> its file, None for none.
Written = Mapping[str, str | PathLike[str] | None]

# Status of a verdict -> exit status of a command, unless the result is not to be relied on: 1.
EXIT: Mapping[str, int] = {"pass": 0, "not stated": 0, "fail": 3, "cannot_tell": 4}
UNRELIABLE = 1

# Documents against a JSON schema: the part of draft 2020-12 that the schema of records uses.

Schema = Mapping[str, Any]

_TYPES: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "object": ("an object", (dict,)),
    "array": ("a list", (list,)),
    "string": ("a text", (str,)),
    "number": ("a number", (int, float)),
    "integer": ("a whole number", (int,)),
    "boolean": ("true or false", (bool,)),
    "null": ("null", (type(None),)),
}

# Keywords of JSON schemas that are understood.
KEYWORDS = frozenset(
    (
        *("$schema", "$id", "title", "description", "type", "const", "enum", "pattern", "minLength", "minimum"),
        *("maximum", "exclusiveMinimum", "properties", "required", "additionalProperties", "items"),
    )
)


def shape_problems(value: Any, schema: Schema, where: str = "file", name: str = "content") -> Iterator[Problem]:
    """Everything in a document that is not as its schema says, with its place."""
    expected = _expected(value, schema)
    if expected is not None:
        yield Problem(where, name, expected, shorten(value))
        return
    inner = name if where == "file" else f"{where}.{name}"
    here = "file" if where == "file" and name == "content" else inner
    if isinstance(value, dict):
        known: Mapping[str, Schema] = schema.get("properties", {})
        more = schema.get("additionalProperties", True)
        for key in schema.get("required", ()):
            if key not in value:
                yield Problem(here, key, "a value", "nothing")
        for key, each in value.items():
            if key in known:
                yield from shape_problems(each, known[key], here, key)
            elif more is False:
                yield Problem(here, key, f"one of {', '.join(known)}", f"an unknown key{close_to(key, known)}")
            elif isinstance(more, Mapping):
                yield from shape_problems(each, more, here, key)
    elif isinstance(value, list) and "items" in schema:
        for i, each in enumerate(value, 1):
            yield from shape_problems(each, schema["items"], where, f"{name} {i}")


def _expected(value: Any, schema: Schema) -> str | None:
    """What a value was to be, None where it is that."""
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(_is(value, each) for each in types):
        return " or ".join(_TYPES[each][0] for each in types)
    if "const" in schema and value != schema["const"]:
        return repr(schema["const"])
    if "enum" in schema and (isinstance(value, bool) or value not in schema["enum"]):
        return f"one of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, str):
        if "pattern" in schema and re.search(schema["pattern"], value) is None:
            return f"a text like {schema['pattern']}"
        if len(value) < schema.get("minLength", 0):
            return "a text that is not empty"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, above, high = (schema.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))
        if low is not None and value < low:
            return f"a number of at least {low}"
        if above is not None and value <= above:
            return f"a number above {above}"
        if high is not None and value > high:
            return f"a number of at most {high}"
    return None


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES[name][1])


# Rows of a checked release: each check with what was found; and what was asked.


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A check of a policy, its limit, what was found, and the reason why it is off, empty where it counts."""

    check: PolicyCheck
    limit: Any
    finding: Finding
    off: str = ""
    adversary: str = ADVERSARY

    @property
    def status(self) -> Status:
        """What was found, whether it counts or not."""
        return self.finding.status

    def as_dict(self) -> dict[str, Any]:
        """The check as plain numbers and strings."""
        return {
            "id": self.check.id,
            "key": self.check.key,
            "title": self.check.title,
            "limit": self.limit,
            "found": self.finding.figure,
            "status": self.status,
            "said": self.finding.said,
            "off": self.off or None,
            **({} if self.adversary == ADVERSARY else {"adversary": self.adversary}),
        }

    @property
    def line(self) -> str:
        """The check for people to read."""
        told = f"off ({self.off})" if self.off else STATUS_WORDS[self.status]
        said = self.finding.said.removeprefix(f"{self.check.title} ")
        said = said if said[:1].isdigit() else self.finding.said  # a number, else a sentence that needs its beginning
        whom = "" if self.adversary == ADVERSARY else f", for an adversary with {WITH[self.adversary]},"
        return f"{self.check.title} ({self.check.id}){whom} {told}: {said}"


def named_rows(rung: Rung, limits: Limits) -> Iterator[RecordRow]:
    """The checks that name an adversary of the ladder."""
    for key, limit in limits.as_dict().items():
        yield RecordRow(CHECKS[IDS[key]], limit, about(rung, key), adversary=rung.adversary)


@dataclass(frozen=True, slots=True)
class AskedRecord:
    """What was asked of a check or of a review: paths by their role, options that change numbers, title and purpose."""

    paths: Mapping[str, Any]
    options: Mapping[str, Any]
    title: str = ""
    purpose: str = ""
    command: str = "check"

    def unhashed(self, inputs: Sequence[Hashed]) -> list[str]:
        """Roles of what was given, but not as a file."""
        given = [hashed.role for hashed in inputs]
        least = {role: len(value) if isinstance(value, list) else 1 for role, value in self.paths.items()}
        return [role for role, value in self.paths.items() if value is not None and given.count(role) < least[role]]


# Files that a check read, with their hashes: whole folders and patterns, file by file.


@dataclass(frozen=True, slots=True)
class Hashed:
    """A file that was read: what for, its path, bytes and SHA-256."""

    role: str
    path: str
    size: int
    sha256: str

    def as_dict(self, folder: str) -> dict[str, Any]:
        """The entry of a record that is in a folder."""
        return {"role": self.role, "path": relative(self.path, folder), "bytes": self.size, "sha256": self.sha256}


def hashed(role: str, path: object) -> Iterator[Hashed]:
    """The files that a path stands for, in the order of their names; nothing of what is no file."""
    if not isinstance(path, (str, os.PathLike)):
        return
    given = os.fspath(path)
    if "\0" in given or is_standard_input(given):
        return
    for name in _names(given):
        with open(name, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        yield Hashed(role, name, os.path.getsize(name), digest)


def relative(path: str, folder: str) -> str:
    """A path from a folder, with slashes; as it is where there is no way."""
    try:
        return os.path.relpath(path, folder or ".").replace(os.sep, "/")
    except ValueError:  # another drive
        return path


def _names(path: str) -> Iterable[str]:
    if os.path.isdir(path):
        return sorted(
            os.path.join(folder, name)
            for folder, _, names in os.walk(path)
            for name in names
            if os.path.isfile(os.path.join(folder, name))
        )
    found = sorted(glob(path, recursive=True)) if is_pattern(path) else [path]
    return filter(os.path.isfile, found)


FORMAT = "maxent-record/1"
# Suffixes of the files that a record can be written to.
RECORD = (".json",)

# What is left blank for whoever decides.
UNDECIDED: Mapping[str, str] = {"decided_by": "", "role": "", "decision": "", "reason": "", "decided_at": ""}


@dataclass(frozen=True, eq=False)
class RecordedReview:
    """A review against a policy, as a record has it: by default one of limits, whose checks are the rows."""

    policy: Policy
    rows: tuple[RecordRow, ...]
    review: Review
    asked: AskedRecord
    inputs: tuple[Hashed, ...] = ()

    @property
    def status(self) -> Status:
        """The status of the verdict."""
        return self.review.verdict().status

    @property
    def passed(self) -> bool:
        """Whether every check that counts is within its limit for sure, and the result can be relied on."""
        return self.exit_status == 0

    @property
    def reliable(self) -> bool:
        """Whether the result can be relied on."""
        return self.review.reliable

    @property
    def exit_status(self) -> int:
        """Exit status of ``maxent check``: 0 within, 1 not to be relied on, 3 beyond a limit, 4 cannot tell."""
        return EXIT[self.status] if self.reliable else UNRELIABLE

    @property
    def ladder(self) -> tuple[Rung, ...]:
        """What five adversaries infer."""
        return self.review.ladder

    @property
    def mend(self) -> Mend | None:
        """What would pass limits that are broken, where that was searched."""
        return self.review.verdict().releases[0].mend


@dataclass(frozen=True, eq=False)
class ReviewCall:
    """The call of a review, and the files that it read, so that there can be a record of it."""

    policy: Policy
    asked: AskedRecord
    inputs: tuple[Hashed, ...]

    @property
    def of_files(self) -> bool:
        """Whether all that was reviewed is in files."""
        return not self.asked.unhashed(self.inputs)

    def of_column(self, name: str) -> ReviewCall:
        """The same of one of several sensitive columns."""
        return replace(self, asked=replace(self.asked, options={**self.asked.options, "column": name}))

    def recorded(self, review: Review, title: str = "", purpose: str = "") -> RecordedReview:
        """A review of this call as a record has it."""
        rows = [
            RecordRow(CHECKS[IDS[each.limit]], each.stated, Finding(each.status, each.found, in_words(each)))
            for judged in review.verdict().releases
            for each in judged.checks
        ]
        if rows or review.named:
            draws = review.draws
            off = "" if draws.counts else f"{UNORDERED}: {draws.unknown}"
            found = Finding(draws.status, draws.rows.proved, draws.said)
            rows.append(RecordRow(CHECKS[NO_DRAWS_ID], True, found, off))
        for name, limits in review.named.items():
            rows += named_rows(review.rung(name, limits), limits)
        asked = replace(self.asked, title=title, purpose=purpose)
        return RecordedReview(self.policy, tuple(rows), review, asked, self.inputs)

    def __call__(
        self,
        review: Review,
        path: str | PathLike[str] | None,
        title: str = "",
        purpose: str = "",
        written: Written | None = None,
    ) -> dict[str, Any]:
        """The record of a review, written to a file unless ``path`` is None."""
        return save_record(self.recorded(review, title, purpose), path, written)


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of records."""
    text = (files("maxent.policy") / "record.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def save_record(
    checked: RecordedReview, path: str | PathLike[str] | None, written: Written | None = None
) -> dict[str, Any]:
    """The record of a check or a review, written to a file unless ``path`` is None; see `Checked.record`.

    ``written`` has the report and the dossiers of the same run, which are hashed, too.
    """
    if missing := checked.asked.unhashed(checked.inputs):
        expected = "files: a record has their hashes"
        raise invalid("record", ARGUMENT, missing[0], expected, "something that is no file")
    if path is not None:
        check_outputs({"record": (path, RECORD)}, [hashed.path for hashed in checked.inputs])
    folder = "" if path is None else os.path.dirname(os.path.abspath(path))
    own = [each.as_dict(folder) for role, file in (written or {}).items() for each in hashed(role, file)]
    text = as_json_text(record_of(checked, folder) | ({"written": own} if own else {})) + "\n"
    found: dict[str, Any] = json.loads(text)
    if path is None:
        return found
    if (standing := _standing(path, found)) is not None:
        return standing
    write_text(path, text)
    return found


def stands(path: str | PathLike[str], policy: Policy, inputs: Sequence[Hashed], options: Mapping[str, Any]) -> bool:
    """Whether a file is a record with a decision, of the same files, policy, options and version of maxent."""
    found = _recorded(path)
    if found is None or found["decision"] == UNDECIDED:
        return False
    folder = os.path.dirname(os.path.abspath(path))
    now = {
        "inputs": [each.as_dict(folder) for each in inputs],
        "policy": policy.sha256,
        "limits": policy.thresholds,
        "options": dict(options),
        "version": __version__,
    }
    then = {
        "inputs": found["inputs"],
        "policy": found["policy"]["sha256"],
        "limits": found["criteria"]["thresholds"],
        "options": found["call"]["options"],
        "version": found["versions"]["maxent"],
    }
    return as_json_text(now) == as_json_text(then)


def _recorded(path: str | PathLike[str]) -> dict[str, Any] | None:
    """The record in a file; None where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            found: Any = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and not any(shape_problems(found, schema())) else None


def _standing(path: str | PathLike[str], record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The record that a file has already, where it says the same but for its date and the decision; else None.

    A record with a decision stays as it is when reports are written again. Its hashes are those of the decided reports.
    """
    if (found := _recorded(path)) is None:
        return None
    renewed = found | {key: record[key] for key in ("created", "decision")}
    if found["decision"] != UNDECIDED:
        renewed, record = ({**each, "written": None} for each in (renewed, record))
    return found if as_json_text(renewed) == as_json_text(record) else None


def decided(path: str | PathLike[str], decision: str, reason: str, by: str, role: str = "") -> dict[str, str]:
    """Write a decision into a record that has none; the decision."""
    with open(path, encoding="utf-8") as file:
        found: Any = json.load(file)
    if not isinstance(found, dict) or any(shape_problems(found, schema())) or found["decision"] != UNDECIDED:
        raise invalid(os.fspath(path), "file", "content", "a record without a decision", "another file")
    told = {"decided_by": by, "role": role, "decision": decision, "reason": reason, "decided_at": now()}
    write_text(path, as_json_text(found | {"decision": told}) + "\n")
    return told


def now() -> str:
    """The time, or that of the environment variable ``SOURCE_DATE_EPOCH`` (seconds, UTC), if it is set."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    moment = datetime.now(UTC) if epoch is None else datetime.fromtimestamp(int(epoch), UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def recorded_versions(review: Review) -> dict[str, str]:
    """Versions of maxent, Python, libraries and the back ends that solved something, and how far was proved."""
    estimate = review.estimate
    if estimate is None:
        return dict(versions(()))
    told = dict(versions(name for name in estimate.outcome.backends if name != "presolve"))
    if estimate.proof is not None:  # by default the last level whose packages are installed
        told["last level of proof"] = estimate.proof.level
    return told


def record_of(checked: RecordedReview, folder: str) -> dict[str, Any]:
    """The record of a check or a review, whose paths are from a folder."""
    review, policy, asked = checked.review, checked.policy, checked.asked
    release = review.release
    inputs = [hashed.as_dict(folder) for hashed in checked.inputs]
    told = recorded_versions(review)
    return {
        "format": FORMAT,
        "created": now(),
        "title": asked.title,
        "purpose": asked.purpose,
        "output": {
            "name": review.name,
            "files": [each for each in inputs if each["role"] == "release"],
            "format": review.converted.format,
            "tool": review.converted.tool,
            "lost": list(review.converted.lost),
            "target": release.target.name,
            "classes": list(release.target.classes),
            "attributes": {attribute.name: attribute.role for attribute in release.attributes},
            "trees": len(release.trees),
            "individuals": review.individuals,
        },
        "inputs": inputs,
        "versions": told,
        "criteria": {
            "thresholds": policy.thresholds,
            "suppression": {
                "policy": policy.rule("suppression"),
                "counts_suppressed_below": release.suppressed_below,
                "leaves_removed": review.audit.summary["differencing"]["removed"],
            },
            "perturbation": {
                "policy": policy.rule("perturbation"),
                "sampling_rate": release.sampling_rate,
                **({} if release.rounded is None else {"rounded": asdict(release.rounded)}),
            },
            "model_requirements": policy.rule("model_requirements"),
            "risk_appetite": policy.rule("risk_appetite"),
            "tool": {"name": "maxent", "version": told["maxent"], "configuration_sha256": policy.sha256},
        },
        "policy": {
            "name": policy.name,
            "version": policy.content.get("version", ""),
            "source": policy.content.get("source", ""),
            "sha256": policy.sha256,
            "files": [{"name": each.name, "sha256": each.sha256} for each in policy.files],
            "left_out": list(policy.left_out),
            "content": dict(policy.content),
        },
        "call": {
            **({} if asked.command == "check" else {"command": asked.command}),
            "paths": {
                role: [relative(os.fspath(each), folder) for each in path]
                if isinstance(path, list)
                else relative(os.fspath(path), folder)
                for role, path in asked.paths.items()
                if path is not None
            },
            "options": _stated(asked.options, folder),
        },
        "checks": [row.as_dict() for row in checked.rows],
        "overrides": [{"id": row.check.id, "reason": row.off} for row in checked.rows if row.off],
        "verdict": {
            "status": checked.status,
            "exit": checked.exit_status,
            "reliable": checked.reliable,
            "trouble": review.trouble,
            **({"stopped": review.stopped} if review.stopped else {}),
            **({"marginal": False} if review.row.get("no_marginal") else {}),
            **({"unread": unread} if (unread := list(review.unread_lines)) else {}),
        },
        "ladder": [rung.as_dict() for rung in checked.ladder],
        "dossier": dossier_numbers(review, checked.ladder, checked.mend),
        "decision": dict(UNDECIDED),
    }


def _stated(options: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The options of a call; the file that a policy of a call extends is named from a folder, as paths are."""
    given = options.get("policy")
    below = given.get("extends") if isinstance(given, Mapping) else None
    if below is None or below in presets():
        return dict(options)
    return {**options, "policy": {**options["policy"], "extends": relative(below, folder)}}
