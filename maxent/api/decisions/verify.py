"""A record, verified: its files hashed, and its checks computed, again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isclose
from os import PathLike
from pathlib import Path
from typing import Any

from maxent.api.adversary.estimate import Progress, Solving
from maxent.api.case import taken
from maxent.api.decisions.check import check_release
from maxent.models.errors import ARGUMENT, InvalidInput, invalid
from maxent.models.files.json_files import read_json_object
from maxent.models.reading import reading_of
from maxent.models.tables.frame import shorten
from maxent.models.text.arguments import is_path
from maxent.policy.checked import Checked
from maxent.policy.inputs import hashed, relative
from maxent.policy.policy import Policy, PolicyFile, presets, read_policy
from maxent.policy.record import FORMAT, recorded_versions, schema
from maxent.policy.shape import shape_problems
from maxent.policy.verified import FileState, Verified
from maxent.results import review as results

TOLERANCE = 1e-5
"""By how much a number that is computed again may differ, of 1 or as a share: more than solvers differ by."""


def verify(
    record: str | PathLike[str], folder: str | PathLike[str] | None = None, *, progress: Progress | None = None
) -> Verified:
    """Verify a record of `check`: whether its files are the same, and what it says of them is still true.

    Parameters
    ----------
    record : path
        A record that ``maxent check --record`` wrote.
    folder : path, optional
        Where the paths of the record begin; by default its own folder.
    progress : callable, optional
        As for `maxent.estimate`.

    Returns
    -------
    Verified
        ``.status``, ``.exit_status``, ``.files``, ``.differences``, ``.checked``.

    Warns
    -----
    UnreliableResult
        When the estimate or the audit that is computed again is not to be relied on.

    Raises
    ------
    InvalidInput
        For a file that is no record, or for one with keys that are not as the schema says, each of them.
    """
    for name, value in (("record", record), ("folder", folder)):
        if not is_path(value) and not (name == "folder" and value is None):
            raise invalid("options", ARGUMENT, name, "a path", shorten(value))
    source = os.fspath(record)
    found: dict[str, Any] = read_json_object(source)
    if found.get("format") != FORMAT:  # whatever else it is, nothing more is to be said of it
        of = shorten(found["format"]) if "format" in found else "nothing"
        raise invalid(source, "file", "format", f"{FORMAT!r}, of a record of a check", of)
    if problems := list(shape_problems(found, schema())):
        raise InvalidInput(source, problems)
    base = os.fspath(folder) if folder is not None else os.path.dirname(os.path.abspath(source))
    if not os.path.isdir(base):
        raise invalid("options", ARGUMENT, "folder", "a folder", shorten(base))
    files = tuple(_states(found, base, source))
    policy = _policy(found, base)
    notes = list(_notes(found))
    differences = list(_contradictions(found, policy))
    checked, trouble = None, ""
    if not any(each.state == "missing" and each.role != "policy" for each in files):
        try:
            checked = _again(found, policy, base, progress)
        except InvalidInput as error:
            trouble = f"it cannot be computed again: {error}"
    if checked is not None:
        if _ended_early(checked) and found["verdict"]["reliable"]:
            trouble = f"it was not computed to the end: {checked.review.trouble}"
        else:
            differences += [*_differences(found, checked), *_restated(found, checked)]
        notes += _versions(found, checked)
    return Verified(source, found, files, tuple(differences), tuple(notes), checked, trouble)


def _states(record: Mapping[str, Any], base: str, source: str) -> Iterator[FileState]:
    """The files of a record as they are now, and further ones that folders and patterns have, but the record itself."""
    known = {(role, relative(source, base)) for role in record["call"]["paths"]}
    for each in record["inputs"]:
        path = os.path.join(base, each["path"])
        now = list(hashed(each["role"], path)) if os.path.isfile(path) else []
        state = "missing" if not now else "same" if now[0].sha256 == each["sha256"] else "changed"
        known.add((each["role"], each["path"]))
        yield FileState(each["role"], each["path"], state)
    for role, path in record["call"]["paths"].items():
        for file in hashed(role, os.path.join(base, path)):
            name = relative(file.path, base)
            if (role, name) not in known:
                yield FileState(role, name, "new")


def _policy(record: Mapping[str, Any], base: str) -> Policy:
    """The policy that a record has, with the files that it names; errors name the record."""
    stated = record["policy"]
    found = read_policy({key: value for key, value in stated["content"].items() if key != "extends"})
    paths = record["call"]["paths"]
    adversary = {
        **found.adversary,
        **{name: os.path.join(base, paths[name]) for name in ("facts", "marginal") if name in paths},
    }
    files = tuple(PolicyFile(each["name"], each["sha256"]) for each in stated["files"])
    content = {**found.content, "adversary": adversary} if adversary else found.content
    return replace(found, content=content, files=files, left_out=tuple(stated["left_out"]))


def _contradictions(record: Mapping[str, Any], policy: Policy) -> Iterator[str]:
    """What a record says of itself that does not agree."""
    content = Policy(record["policy"]["content"])
    if content.sha256 != record["policy"]["sha256"]:
        yield "the policy of the record has another hash than the record says"
    if dict(policy.limits) != record["criteria"]["thresholds"]:
        yield "the thresholds of the record are not those of its policy"
    released = [each for each in record["inputs"] if each["role"] == "release"]
    if released != record["output"]["files"]:
        yield "the output of the record is not the release that it read"
    if not {each["sha256"] for each in record["policy"]["files"]} >= {
        each["sha256"] for each in record["inputs"] if each["role"] == "policy"
    }:
        yield "the files of the policy are not those that the record read"
    criteria, content = record["criteria"], record["policy"]["content"]
    twice = {
        "policy.name": (record["policy"]["name"], policy.name),
        "policy.version": (record["policy"]["version"], content.get("version", "")),
        "policy.source": (record["policy"]["source"], content.get("source", "")),
        "criteria.suppression.policy": (criteria["suppression"]["policy"], policy.rule("suppression")),
        "criteria.perturbation.policy": (criteria["perturbation"]["policy"], policy.rule("perturbation")),
        "criteria.model_requirements": (criteria["model_requirements"], policy.rule("model_requirements")),
        "criteria.risk_appetite": (criteria["risk_appetite"], policy.rule("risk_appetite")),
        "criteria.tool.version": (criteria["tool"]["version"], record["versions"].get("maxent")),
        "criteria.tool.configuration_sha256": (criteria["tool"]["configuration_sha256"], record["policy"]["sha256"]),
    }
    yield from (f"{key} of the record is not what it says elsewhere" for key, (a, b) in twice.items() if a != b)


def _notes(record: Mapping[str, Any]) -> Iterator[str]:
    """What is told of a shipped policy that another version has changed: the record has its own copy."""
    import hashlib

    shipped = presets()
    for each in record["policy"]["files"]:
        text = shipped.get(each["name"])
        if text is not None and hashlib.sha256(text.encode()).hexdigest() != each["sha256"]:
            yield f"the policy {each['name']} has changed since: the record is verified against its own copy"


def _again(record: Mapping[str, Any], policy: Policy, base: str, progress: Progress | None) -> Checked:
    """The check of a record, computed again."""
    paths = {role: os.path.join(base, path) for role, path in record["call"]["paths"].items()}
    options = record["call"]["options"]
    names = ("target", "classes", "features", "parameters", "private", "count", "sensitive", "no_marginal")
    said = {
        **{name: options.get(name) for name in names},
        **{name: paths.get(name) for name in ("truth", "control")},
        **{"qi": paths["table"], "title": record["title"], "purpose": record["purpose"]},
    }
    solving = taken(Solving, options)
    words = results.Asked("maxent.verify(record)")
    release = Path(paths["release"])
    return check_release(
        release, policy, said, solving, reading_of(options.get("reading", {})), words, progress=progress
    )


def _ended_early(checked: Checked) -> bool:
    """Whether an answer lacks time, on a slower machine perhaps, so that its findings say nothing of a record."""
    estimate = checked.review.estimate
    return estimate is None or checked.review.weaker or estimate.outcome.status in ("time_limit", "interrupted")


def _differences(record: Mapping[str, Any], checked: Checked) -> Iterator[str]:
    """Findings that are others now than in the record."""
    now = {row["id"]: row for row in json.loads(json.dumps([row.as_dict() for row in checked.rows]))}
    before = {row["id"]: row for row in record["checks"]}
    for id_ in dict.fromkeys([*before, *now]):
        old, new = before.get(id_), now.get(id_)
        if old is None or new is None:
            yield f"{id_} is {'not in the record' if old is None else 'in the record, but not in its policy'}"
        elif (old["status"], old["off"], old["limit"]) != (new["status"], new["off"], new["limit"]):
            yield f"{id_}: {_told(old)} in the record, now {_told(new)}"
        elif not _alike(old["found"], new["found"]):
            yield f"{id_}: {old['found']} in the record, now {new['found']}"
    stated = record["verdict"]
    if (stated["status"], stated["exit"]) != (checked.status, checked.exit_status):
        yield (
            f"the verdict is {stated['status']} (exit status {stated['exit']}) in the record, now {checked.status} "
            f"({checked.exit_status})"
        )
    off = [{"id": row["id"], "reason": row["off"]} for row in record["checks"] if row["off"]]
    if off != record["overrides"]:
        yield "the overrides of the record are not the checks that are off"


def _restated(record: Mapping[str, Any], checked: Checked) -> Iterator[str]:
    """What a record says of the release and of its checks, and is not so; sentences with the same versions only."""
    now = json.loads(json.dumps(checked.record()))
    for part, keys in (
        (("output",), ("format", "target", "classes", "attributes", "trees", "individuals")),
        (("criteria", "suppression"), ("counts_suppressed_below", "leaves_removed")),
        (("criteria", "perturbation"), ("sampling_rate", "rounded")),
        (("verdict",), ("reliable",)),
    ):
        old, new = record, now
        for step in part:
            old, new = old[step], new[step]
        for key in keys:
            before, after = old.get(key), new.get(key)  # only a release with rounded counts says how
            if not _alike(before, after):
                yield f"{'.'.join((*part, key))}: {json.dumps(before)} in the record, now {json.dumps(after)}"
    if record["versions"] == now["versions"]:
        rows = {row["id"]: row for row in now["checks"]}
        for row in record["checks"]:
            for key in ("key", "title", "said"):
                if row["id"] in rows and row[key] != rows[row["id"]][key]:
                    yield f"{row['id']}: {key} {row[key]!r} in the record, now {rows[row['id']][key]!r}"


def _told(row: Mapping[str, Any]) -> str:
    off = f", off ({row['off']})" if row["off"] else ""
    return f"{row['status']} ({row['found']}, limit {json.dumps(row['limit'])}{off})"


def _alike(old: Any, new: Any) -> bool:
    """Whether two figures are the same, but for the error of computing them."""
    numbers = [isinstance(each, (int, float)) and not isinstance(each, bool) for each in (old, new)]
    return isclose(old, new, rel_tol=TOLERANCE, abs_tol=TOLERANCE) if all(numbers) else bool(old == new)


def _versions(record: Mapping[str, Any], checked: Checked) -> Iterator[str]:
    """Versions that are others now."""
    before, now = record["versions"], recorded_versions(checked.review)
    for name in dict.fromkeys([*before, *now]):
        if before.get(name) != now.get(name):
            yield f"{name} was {before.get(name, 'not used')}, and is {now.get(name, 'not used')}"
