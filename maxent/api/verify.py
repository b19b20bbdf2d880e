"""A record, verified: its files hashed, and its checks, ladder and dossier computed, again."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from math import isclose
from os import PathLike
from pathlib import Path
from typing import Any

from maxent import __version__
from maxent.api.case import taken
from maxent.api.check import check_release, checked_limits
from maxent.api.decision_options import Reviewing
from maxent.api.estimate import Progress, Solving
from maxent.api.review import review
from maxent.disclosure.ladder import stated_by
from maxent.disclosure.limits import ADVERSARY, LATE, NO_DRAWS_ID, UNENDED
from maxent.models.arguments import is_path, shorten
from maxent.models.errors import ARGUMENT, InvalidInput, invalid
from maxent.models.files.json_files import as_json_text, read_json_object
from maxent.models.reading import reading_of
from maxent.policy.checked import Checked
from maxent.policy.policy import Policy, PolicyFile, presets, read_policy
from maxent.policy.record import FORMAT, RecordedReview, ReviewCall, hashed, record_of, relative, schema, shape_problems
from maxent.policy.verified import FileState, Verified
from maxent.results import review as results
from maxent.results.html_report.dossier import FORMAT as DOSSIER

# By how much a number that is computed again may differ, of 1 or as a share: more than solvers differ by.
TOLERANCE = 1e-5
# Fields whose words are those of a version of maxent.
SENTENCES = re.compile(
    r"checks\.\w+\.(title|said)|verdict\.(trouble|unread)|output\.lost|policy\.left_out|ladder\.\w+\.(why|assumed)|"
    r"dossier\.(not_tested|worst\.\d+\.remedy|would_pass\.reason)"
)
# Options of a call that are arguments of a check.
CALL = (
    *("target", "classes", "features", "parameters", "private", "count", "sensitive", "no_marginal", "sample_weight"),
    *("published_as", "people"),
)
# Parts of a record that are not computed again, or are compared file by file.
TAKEN = ("created", "title", "purpose", "decision", "versions", "inputs", "written")
# Parts of a record that say nothing where the computation ended early.
FOUND = ("checks", "verdict", "ladder", "dossier")
# Parts of a record whose numbers solvers computed.
FIGURES = ("ladder", "dossier")
# Statuses that a run which was stopped leaves open, and keys of a check or a rung that no run finds.
OPEN = ("cannot_tell", "not_assessed", "not stated")
ASKED = ("id", "key", "title", "limit", "off", "adversary", "assumed", "contains")
# Keys of a rung that are a matter of time where a proof did not end.
TIMED = ("certain", "certain_proved", "right_guesses", "worst", "why")
# A number in a sentence that was rounded.
NUMBER = r"(\d+\.\d+)"


def verify(
    record: str | PathLike[str], folder: str | PathLike[str] | None = None, *, progress: Progress | None = None
) -> Verified:
    """Verify a record of `check` or `review`: its files are hashed, and what it says of them is computed, again.

    Parameters
    ----------
    record : path
        A record that ``maxent check --record`` or ``maxent review --record`` wrote, or the .json beside a dossier.
    folder : path, optional
        Where the paths of the record begin; by default its own folder.
    progress : callable, optional
        As for `maxent.estimate`.

    Returns
    -------
    Verified
        ``.status``, ``.exit_status``, ``.files``, ``.first``, ``.differences``, ``.unverified``, ``.checked``.

    Warns
    -----
    UnreliableResult
        When the estimate or the audit that is computed again is not to be relied on.
    """
    for name, value in (("record", record), ("folder", folder)):
        if not is_path(value) and not (name == "folder" and value is None):
            raise invalid("options", ARGUMENT, name, "a path", shorten(value))
    source = os.fspath(record)
    found: dict[str, Any] = read_json_object(source)
    if found.get("format") == DOSSIER:
        raise invalid(source, "file", "format", f"{FORMAT!r}, of a record", "a dossier of what was in no files")
    if found.get("format") != FORMAT:  # whatever else it is, nothing more is to be said of it
        of = shorten(found["format"]) if "format" in found else "nothing"
        raise invalid(source, "file", "format", f"{FORMAT!r}, of a record of a check", of)
    if problems := list(shape_problems(found, schema())):
        raise InvalidInput(source, problems)
    base = os.fspath(folder) if folder is not None else os.path.dirname(os.path.abspath(source))
    if not os.path.isdir(base):
        raise invalid("options", ARGUMENT, "folder", "a folder", shorten(base))
    policy, own, untold = _policy(found, base)
    checked: RecordedReview | None = None
    trouble = ""
    missing = {each["role"] for each in found["inputs"] if not os.path.isfile(os.path.join(base, each["path"]))}
    if missing <= {"policy"}:
        try:
            again = _reviewed_again if found["call"].get("command") == "review" else _again
            checked = again(found, policy, base, own, progress)
        except InvalidInput as error:
            trouble = f"it cannot be computed again: {error}"
    files = tuple(_states(found, base, source, checked, own))
    written = [FileState(each["role"], each["path"], _state(each, base)) for each in found.get("written", ())]
    differences = _contradictions(found)
    notes: list[str] = []
    unverified = [*_unverified(found), *["policy.content"] * own]
    if checked is not None:
        now = json.loads(as_json_text(record_of(checked, base)))
        stopped = _unfinished(found)
        early = bool(checked.review.stopped) and not stopped
        if early:
            trouble = f"it was not computed to the end: {checked.review.trouble}"
        finished = _finished(found, now) if stopped else found
        if "stopped" in found["verdict"] or found["verdict"]["status"] != finished["verdict"]["status"]:
            trouble = f"the record is of a run that {stopped}: only what that had finished is compared"
        late = "" if stopped or early else _unfinished(now)
        ended = _finished(now, found) if late else now
        if now["verdict"]["status"] != ended["verdict"]["status"]:
            trouble = f"the computation {late}: what it leaves open is not compared"
        for place, told in _differences(finished, ended, early).items():
            if SENTENCES.match(place) and found["versions"]["maxent"] != now["versions"]["maxent"]:
                unverified.append(place)
            else:
                differences.setdefault(place, told)
        unverified += [f"versions.{name}" for name in now["versions"] if name not in found["versions"]]
        notes = list(_versions(found["versions"], now["versions"]))
    trouble = trouble or ("" if "policy" in missing else untold)
    notes += [each.line for each in written if each.state == "missing"]  # a report need not lie beside its record
    written = [each for each in written if each.state != "missing"]
    told_of = [f"inputs: {each.role} {each.path}" for each in files if each.state not in ("same", "missing")]
    told_of += [f"written: {each.role} {each.path}" for each in written if each.state == "changed"]
    order = list(schema()["properties"])
    places = sorted([*told_of, *differences], key=lambda place: order.index(re.split("[.:]", place)[0]))
    return Verified(
        source,
        found,
        (*files, *written),
        tuple(differences.values()),
        tuple(notes),
        checked,
        trouble,
        next(iter(places), ""),
        tuple(unverified),
    )


def _unverified(record: Mapping[str, Any]) -> Iterator[str]:
    """The fields of a record that nobody can compute again: texts, times, and what it was made by and with."""
    yield from ("created", "title", "purpose")
    for part in ("versions", "decision"):
        yield from (f"{part}.{name}" for name in record[part])
    yield "criteria.tool.version"
    for i, _ in enumerate(record.get("written", ())):
        yield from (f"written.{i}.role", f"written.{i}.path")
    yield from (
        f"call.paths.{name}" for name in ("truth", "control", "population", "gain")
    )  # nothing tells whether a call had others, or none
    options = record["call"]["options"]
    named = isinstance(options.get("policy"), str)  # one that is shipped is compared with what the record says of it
    yield from ("call.options", *(f"call.options.{name}" for name in options if not (named and name == "policy")))


def _states(
    record: Mapping[str, Any], base: str, source: str, checked: RecordedReview | None, own: bool
) -> Iterator[FileState]:
    """The files of a record as they are now, and further ones that are read, but the record itself."""
    named = [(role, path) for role, given in record["call"]["paths"].items() for path in _listed(given)]
    call = [file for role, path in named for file in hashed(role, os.path.join(base, path))]
    read = {(file.role, relative(file.path, base)) for file in [*call, *(checked.inputs if checked else ())]}
    listed = {(role, relative(source, base)) for role in record["call"]["paths"]}
    for each in record["inputs"]:
        key, state = (each["role"], each["path"]), _state(each, base)
        known = key in read or (each["role"] == "policy" and (own or checked is None))
        if state != "missing" and (not known or key in listed):
            state = "unread"
        listed.add(key)
        yield FileState(*key, state)
    yield from (FileState(role, name, "new") for role, name in sorted(read - listed))


def _state(each: Mapping[str, Any], base: str) -> str:
    """A file of a record as it is now: ``same``, ``changed`` or ``missing``."""
    now = next(hashed(each["role"], os.path.join(base, each["path"])), None)
    if now is None:
        return "missing"
    return "same" if (now.sha256, now.size) == (each["sha256"], each["bytes"]) else "changed"


def _policy(record: Mapping[str, Any], base: str) -> tuple[Policy, bool, str]:
    """The policy that a record names, with the limits of the call, whether it is its own copy, and why if so."""
    stated, call = record["policy"], record["call"]
    shipped = presets()
    for each in stated["files"]:
        text = shipped.get(each["name"])
        other = text is not None and hashlib.sha256(text.encode()).hexdigest() != each["sha256"]
        if other and record["versions"]["maxent"] != __version__:
            told = f"the policy {each['name']} is that of another version of maxent, which is not installed"
            return _own(record, base), True, f"{told}: policy.content cannot be compared with it"
    try:
        given = call["options"].get("policy")
        if "policy" in call["paths"]:
            given = os.path.join(base, call["paths"]["policy"])
        elif isinstance(given, Mapping) and isinstance(below := given.get("extends"), str) and below not in shipped:
            given = {**given, "extends": os.path.join(base, below)}
        elif isinstance(given, str) and given not in shipped:
            raise invalid("file", "call.options", "policy", f"one of {', '.join(shipped)}", shorten(given))
        return read_policy(given).with_limits(checked_limits(call["options"].get("limits", {}))), False, ""
    except InvalidInput as error:
        return _own(record, base), True, f"the policy cannot be read again: {error}"


def _own(record: Mapping[str, Any], base: str) -> Policy:
    """The copy of its policy that a record has."""
    stated, path = record["policy"], record["call"]["paths"].get("policy", ".")
    files = tuple(PolicyFile(each["name"], each["sha256"]) for each in stated["files"])
    return Policy(stated["content"], files, tuple(stated["left_out"]), os.path.dirname(os.path.join(base, path)))


def _contradictions(record: Mapping[str, Any]) -> dict[str, str]:
    """What a record says of itself that does not agree: the field, and a sentence."""
    criteria, policy = record["criteria"], record["policy"]
    own = _own(record, "")
    off = [{"id": row["id"], "reason": row["off"]} for row in record["checks"] if row["off"]]
    files = {each["sha256"] for each in record["inputs"] if each["role"] == "policy"}
    ids = [_named(row) for row in record["checks"]]
    listed = [(each["role"], each["path"]) for each in record["inputs"]]
    found = {
        "policy.sha256": (
            own.sha256 != policy["sha256"],
            "the policy in the record does not have the hash that the record states",
        ),
        "criteria.thresholds": (
            own.thresholds != criteria["thresholds"],
            "criteria.thresholds and policy.content of the record state different limits",
        ),
        "output.files": (
            [each for each in record["inputs"] if each["role"] == "release"] != record["output"]["files"],
            "output.files and the release in inputs of the record differ",
        ),
        "verdict.stopped": (
            record["verdict"]["reliable"] and "stopped" in record["verdict"],
            "the record is of a run that was stopped, and says that it can be relied on",
        ),
        "policy.files": (
            not {each["sha256"] for each in policy["files"]} >= files,
            "policy.files lacks a file of a policy that inputs of the record lists",
        ),
        "overrides": (off != record["overrides"], "overrides of the record and the checks that are off differ"),
        "checks": (len(set(ids)) < len(ids), "a check stands in the record twice"),
        "inputs": (len(set(listed)) < len(listed), "a file stands in the inputs of the record twice"),
        "criteria.tool.version": (
            criteria["tool"]["version"] != record["versions"]["maxent"],
            "criteria.tool.version and versions.maxent of the record differ",
        ),
        "criteria.tool.configuration_sha256": (
            criteria["tool"]["configuration_sha256"] != policy["sha256"],
            "criteria.tool.configuration_sha256 and policy.sha256 of the record differ",
        ),
    }
    return {place: told for place, (wrong, told) in found.items() if wrong}


def _again(record: Mapping[str, Any], policy: Policy, base: str, own: bool, progress: Progress | None) -> Checked:
    """The check of a record, computed again."""
    given = dict(record["call"]["paths"])
    beside = [os.path.join(base, path) for path in given.pop("statements", ())]
    paths = {role: os.path.join(base, path) for role, path in given.items()}
    options = record["call"]["options"]
    if own:
        read_policy({key: value for key, value in policy.content.items() if key != "extends"})  # which has the errors
    names = (*CALL, "limits")
    loose = ("facts", "marginal") if own or isinstance(options.get("policy"), Mapping) else ()  # of no file's folder
    said = {
        **{name: options.get(name) for name in names},
        **{name: paths.get(name) for name in ("truth", "control", "population", *loose)},
        **{"qi": paths["table"], "title": record["title"], "purpose": record["purpose"]},
        "policy": paths.get("policy", options.get("policy")),
    }
    solving = taken(Solving, options)
    words = results.Asked("maxent.verify(record)")
    release = Path(paths["release"])
    return check_release(
        [release, *beside], policy, said, solving, reading_of(options.get("reading", {})), words, progress=progress
    )


def _reviewed_again(
    record: Mapping[str, Any], policy: Policy, base: str, own: bool, progress: Progress | None
) -> RecordedReview:
    """The review of a record, computed again."""
    given = dict(record["call"]["paths"])
    beside = [os.path.join(base, path) for path in given.pop("statements", ())]
    paths = {role: os.path.join(base, path) for role, path in given.items()}
    said = dict(record["call"]["options"])
    column, limits = said.pop("column", None), said.pop("limits", {})
    adversary = said.get("adversary", ADVERSARY)
    said["reading"] = reading_of(said.pop("reading", {}))
    said |= {name: paths.get(name) for name in ("control", "population", "gain")}
    unknown = [name for name in said if name not in {each.name for each in fields(Reviewing)}]
    if unknown:
        raise invalid("record", "call.options", unknown[0], "an option of a review", shorten(said[unknown[0]]))
    model = [paths["release"], *beside] if beside else paths["release"]
    found = review(model, paths["table"], progress=progress, **said, **stated_by(adversary, limits))
    if isinstance(found, results.SeveralReviews):
        if column not in found.reviews:
            raise invalid("record", "call.options", "column", f"one of {', '.join(found.reviews)}", shorten(column))
        found = found.reviews[column]
    call = found.recording
    assert isinstance(call, ReviewCall)
    return call.recorded(found, record["title"], record["purpose"])


def _listed(given: str | list[str]) -> list[str]:
    return [given] if isinstance(given, str) else given


def _unfinished(record: Mapping[str, Any]) -> str:
    """How the run of a record ended before its findings were there; empty where it did not."""
    if why := record["verdict"].get("stopped"):
        return {"interrupted": "was interrupted", "time_limit": "its time limit stopped"}[why]
    said = [*(row["said"] for row in record["checks"]), *(rung["why"] for rung in record.get("ladder", ()))]
    return "had no time to end its proofs" if any(f"proofs that {LATE}" in text for text in said) else ""


def _finished(record: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """A record with what is found now in place of what its run had not finished.

    That is what it could not tell, and figures of a limit that is broken then and now.
    """

    def completed(old: Mapping[str, Any], new: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if new is None or not (old["status"] in OPEN or old["status"] == new["status"] == "fail"):
            return old
        return {**new, **{key: value for key, value in old.items() if key in ASKED}}

    found = {**record, "verdict": completed(record["verdict"], now["verdict"])}
    for part, name in (("checks", _named), ("ladder", lambda rung: rung["adversary"])):
        again = {name(row): row for row in now[part]}
        found |= {part: [completed(row, again.get(name(row))) for row in record[part]]} if part in record else {}
    if "dossier" in record:
        published = {**now["dossier"]["published"], **record["dossier"]["published"]}
        found["dossier"] = {**now["dossier"], "published": published}
    return found


def _differences(record: Mapping[str, Any], now: Mapping[str, Any], early: bool) -> dict[str, str]:
    """Fields that are others now than in the record, with sentences; without findings where it ended early."""
    exact = record["versions"] == now["versions"]
    found: dict[str, str] = {}
    for part in record:
        if part in TAKEN or (early and part in FOUND):
            continue
        if part == "checks":
            found |= dict(_findings(record[part], now[part], exact))
        elif part == "ladder":
            found |= dict(_rungs(record[part], now[part], exact))
        else:
            found |= dict(_unlike(part, record[part], now[part], exact))
    for part in ("ladder", "dossier"):  # which records of earlier versions have not
        if part not in record and record["versions"]["maxent"] == now["versions"]["maxent"]:
            found[part] = f"{part}: not in the record"
    for place in ("criteria.tool.version", *(place for place in found if place.startswith("output.files"))):
        found.pop(place, None)  # compared elsewhere
    if "verdict.status" in found or "verdict.exit" in found:
        old, new = record["verdict"], now["verdict"]
        place = "verdict.status" if "verdict.status" in found else "verdict.exit"
        found.pop("verdict.exit", None)
        found[place] = (
            f"the verdict is {old['status']} (exit status {old['exit']}) in the record, now {new['status']} "
            f"({new['exit']})"
        )
    return found


def _named(row: Mapping[str, Any]) -> str:
    """The id of a check, with the adversary whom it is about, unless that is the one with the table."""
    return f"{row['id']}.{row['adversary']}" if "adversary" in row else str(row["id"])


def _findings(before: Any, after: Any, exact: bool) -> Iterator[tuple[str, str]]:
    """Checks that are others now: the first key of each that differs, and its sentences."""
    was, now = ({_named(row): row for row in rows} for rows in (before, after))
    for id_ in dict.fromkeys([*was, *now]):
        old, new, place = was.get(id_), now.get(id_), f"checks.{id_}"
        if old and new and id_ == NO_DRAWS_ID and any(UNENDED in row["said"] for row in (old, new)):
            old = {**old, **{key: new[key] for key in ("found", "said")}}  # how far that came is a matter of time
        if old is None or new is None:
            yield place, f"{id_} is {'not in the record' if old is None else 'in the record, but not in its policy'}"
            continue
        judged = [key for key in ("limit", "status", "off") if not _same(old[key], new[key])]
        if judged:
            yield f"{place}.{judged[0]}", f"{id_}: {_told(old)} in the record, now {_told(new)}"
        elif not _alike(old["found"], new["found"]):
            yield f"{place}.found", f"{id_}: {old['found']} in the record, now {new['found']}"
        for key in ("key", "title", "said"):
            if not _same(old[key], new[key]) and not (key == "said" and _reads_alike(old[key], new[key], exact)):
                yield f"{place}.{key}", f"{id_}: {key} {old[key]!r} in the record, now {new[key]!r}"
    if list(was) != list(now) and set(was) == set(now):
        yield "checks", "the checks of the record stand in another order"


def _rungs(before: Any, after: Any, exact: bool) -> Iterator[tuple[str, str]]:
    """Rungs of the ladder that differ from the record."""
    was, now = ({rung["adversary"]: rung for rung in rungs} for rungs in (before, after))
    for name in dict.fromkeys([*was, *now]):
        old, new = was.get(name), now.get(name)
        if old and new and any(UNENDED in rung["why"] for rung in (old, new)):
            old = {**old, **{key: new[key] for key in TIMED}}
        if old is None or new is None:
            yield f"ladder.{name}", f"the adversary {name} is not in the record"
        else:
            yield from _unlike(f"ladder.{name}", old, new, exact)
    if (list(was) != list(now) and set(was) == set(now)) or len(was) < len(before):
        yield "ladder", "the adversaries of the record stand in another order"


def _unlike(place: str, old: Any, new: Any, exact: bool) -> Iterator[tuple[str, str]]:
    """The leaves of two documents that are not the same."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from _unlike(f"{place}.{key}", old.get(key), new.get(key), exact)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (one, other) in enumerate(zip(old, new, strict=True), 1):
            yield from _unlike(f"{place}.{i}", one, other, exact)
    elif not (_alike if place.startswith(("ladder", "dossier")) else _same)(old, new) and not (
        SENTENCES.match(place) and _reads_alike(old, new, exact)
    ):
        yield place, f"{place}: {json.dumps(old)} in the record, now {json.dumps(new)}"


def _told(row: Mapping[str, Any]) -> str:
    off = f", off ({row['off']})" if row["off"] else ""
    return f"{row['status']} ({row['found']}, limit {json.dumps(row['limit'])}{off})"


def _same(old: Any, new: Any) -> bool:
    """Whether two values are the same; 1 is 1.0, and not true."""
    return isinstance(old, bool) == isinstance(new, bool) and bool(old == new)


def _alike(old: Any, new: Any) -> bool:
    """Whether two figures are the same, but for the error of computing them; counts have none."""
    numbers = [isinstance(each, (int, float)) and not isinstance(each, bool) for each in (old, new)]
    if all(numbers) and float in (type(old), type(new)):
        return isclose(old, new, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return _same(old, new)


def _reads_alike(old: Any, new: Any, exact: bool) -> bool:
    """Whether two sentences are the same, but for the last digit of a number where other libraries computed it."""
    if exact or not (isinstance(old, str) and isinstance(new, str)):
        return False
    before, after = re.split(NUMBER, old), re.split(NUMBER, new)
    pairs = list(zip(before, after, strict=False))
    return len(before) == len(after) and all(
        one == other or (i % 2 == 1 and abs(float(one) - float(other)) <= 1.5 * 10.0 ** -len(one.partition(".")[2]))
        for i, (one, other) in enumerate(pairs)
    )


def _versions(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Versions that are others now."""
    for name in dict.fromkeys([*before, *now]):
        if before.get(name) != now.get(name):
            yield f"{name} was {before.get(name, 'not used')}, and is {now.get(name, 'not used')}"
