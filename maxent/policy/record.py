"""Records of checks: everything that whoever decides, and whoever asks later, needs to know; SATRE 2, 3.3.09."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.resources import files
from os import PathLike
from typing import Any, Protocol

from maxent.html_report.provenance import versions
from maxent.models.files.json_text import as_json_text
from maxent.models.files.output import check_outputs, write_text
from maxent.policy.inputs import Hashed, relative
from maxent.policy.policy import Policy, presets
from maxent.policy.rows import Asked, Row
from maxent.policy.shape import shape_problems
from maxent.results.review import Review

FORMAT = "maxent-record/1"

RECORD = (".json",)
"""Suffixes of the files that a record can be written to."""

UNDECIDED: Mapping[str, str] = {"decided_by": "", "role": "", "decision": "", "reason": "", "decided_at": ""}
"""What is left blank for whoever decides."""


class Checked(Protocol):
    """The recorded parts of `maxent.Checked`."""

    @property
    def policy(self) -> Policy: ...
    @property
    def rows(self) -> tuple[Row, ...]: ...
    @property
    def review(self) -> Review: ...
    @property
    def asked(self) -> Asked: ...
    @property
    def inputs(self) -> tuple[Hashed, ...]: ...
    @property
    def status(self) -> str: ...
    @property
    def exit_status(self) -> int: ...
    @property
    def reliable(self) -> bool: ...


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of records."""
    text = (files("maxent.policy") / "record.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def save_record(checked: Checked, path: str | PathLike[str] | None) -> dict[str, Any]:
    """The record of a check, written to a file unless ``path`` is None; see `Checked.record`."""
    if path is not None:
        check_outputs({"record": (path, RECORD)}, [hashed.path for hashed in checked.inputs])
    folder = "" if path is None else os.path.dirname(os.path.abspath(path))
    text = as_json_text(record_of(checked, folder)) + "\n"
    found: dict[str, Any] = json.loads(text)
    if path is None:
        return found
    if (standing := _standing(path, found)) is not None:
        return standing
    write_text(path, text)
    return found


def stands(path: str | PathLike[str], policy: Policy, inputs: Sequence[Hashed], options: Mapping[str, Any]) -> bool:
    """Whether a file is a record with a decision, of the same files, policy, options and version of maxent.

    This is known before anything is computed; ``options`` are those of `Asked`.
    """
    from maxent import __version__

    try:
        with open(path, encoding="utf-8") as file:
            found: Any = json.load(file)
    except (OSError, ValueError, RecursionError):
        return False
    if not isinstance(found, dict) or any(shape_problems(found, schema())) or found["decision"] == UNDECIDED:
        return False
    folder = os.path.dirname(os.path.abspath(path))
    now = {
        "inputs": [each.as_dict(folder) for each in inputs],
        "policy": policy.sha256,
        "limits": dict(policy.limits),
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


def _standing(path: str | PathLike[str], record: Mapping[str, Any]) -> dict[str, Any] | None:
    """The record that a file has already, where it says the same but for its date and the decision; else None."""
    try:
        with open(path, encoding="utf-8") as file:
            found: Any = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or any(shape_problems(found, schema())):
        return None
    renewed = found | {key: record[key] for key in ("created", "decision")}
    return found if as_json_text(renewed) == as_json_text(record) else None


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


def record_of(checked: Checked, folder: str) -> dict[str, Any]:
    """The record of a check, whose paths are from a folder."""
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
            "thresholds": dict(policy.limits),
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
            "paths": {
                role: relative(os.fspath(path), folder) for role, path in asked.paths.items() if path is not None
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
        },
        "decision": dict(UNDECIDED),
    }


def _stated(options: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """The options of a call; the file that a policy of a call extends is named from a folder, as paths are."""
    given = options.get("policy")
    below = given.get("extends") if isinstance(given, Mapping) else None
    if below is None or below in presets():
        return dict(options)
    return {**options, "policy": {**options["policy"], "extends": relative(below, folder)}}
