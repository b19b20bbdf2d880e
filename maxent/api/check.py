"""A release against a written policy: review it, and judge every check of the policy."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from maxent.api import decision_options, options
from maxent.api.calling import takes_limits
from maxent.api.case import Tables, taken
from maxent.api.compile import Knowledge
from maxent.api.convert import as_published, converted, wanted_of
from maxent.api.estimate import Progress, Solving
from maxent.api.review import review_subject
from maxent.api.review_input import Subject, apart, files_of, named_by_statements, with_others
from maxent.disclosure.ladder import ADVERSARIES, MEMBER, about, check_adversary
from maxent.disclosure.limits import ADVERSARY, IDS, NO_DRAWS_ID, ORDERED, UNORDERED, Limits
from maxent.models.arguments import shorten
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, check_unused, invalid
from maxent.models.formats.registry import open_published
from maxent.models.formats.release_reader import Converted
from maxent.models.hints import close_to
from maxent.models.reading import Reading, reader_of
from maxent.models.release import Attribute, Release
from maxent.policy.checked import Checked
from maxent.policy.checks.context import Finding, Matter, PolicyCheck
from maxent.policy.checks.registry import BY_KEY
from maxent.policy.policy import Policy, presets, read_policy
from maxent.policy.record import AskedRecord, Hashed, RecordRow, hashed, named_rows
from maxent.results import review as results
from maxent.results.html_report.view import InputFile, shown

# Options of solving that a record keeps.
SOLVING = ("backend", "tolerance", "presolve", "starts", "seed", "time_limit", "jobs", "floor")

# Options of a call that `check_release` is told.
SAID = (
    *("target", "classes", "features", "parameters", "qi", "truth", "control", "count", "sensitive", "private"),
    *("title", "purpose", "no_marginal", "published_as", "policy", "sample_weight", "population", "people"),
)


@takes_limits(decision_options.Checking)
def check(call: decision_options.Checking, limits: dict[str, Any]) -> Checked:
    """Check a release against a written policy.

    **limits
        Limits by the keys of checks, in the place of those of the policy.

    Returns
    -------
    Checked
        ``.status``, ``.exit_status``, ``.rows``, ``.record(path)``, ``.save(path)``, ``.review``.

    Warns
    -----
    UnreliableResult
        When the estimate or the audit is not to be relied on.
    """
    _check_texts(
        {name: getattr(call, name) for name in ("classes", "features", "private", "sensitive")},
        {"title": call.title, "purpose": call.purpose},
    )
    if call.sample_weight is not None and (call.truth is None or not isinstance(call.sample_weight, str)):
        expected = "the name of a column of truth=, which has the weights that people had in training"
        raise invalid("options", ARGUMENT, "sample_weight", expected, shorten(call.sample_weight))
    solving = options.of(Solving, call)
    said = {name: getattr(call, name) for name in SAID} | {"limits": limits}
    policy = read_policy(call.policy)
    check_adversary(call.adversary, limits, policy.named)
    said["limits"] = about(call.adversary, limits)
    chosen = policy.with_limits(checked_limits(said["limits"]))
    words = results.Asked(f"maxent.check({_named(call.release)}, qi, policy={chosen.name!r})")
    told = call.progress
    return check_release(
        call.release, chosen, said, solving, call.reading, words, interruptible=call.interruptible, progress=told
    )


def _check_texts(lists: Mapping[str, Any], texts: Mapping[str, Any]) -> None:
    """Refuse lists of names that are none, and texts that are none, naming each of them."""
    problems = []
    for name, value in lists.items():
        fits = isinstance(value, Iterable) and all(isinstance(each, str) for each in value)
        if value is not None and not (fits and (name == "sensitive" or not isinstance(value, str))):
            problems.append(Problem(ARGUMENT, name, "a list of names", shorten(value)))
    problems += [
        Problem(ARGUMENT, name, "a text", shorten(value)) for name, value in texts.items() if not isinstance(value, str)
    ]
    if problems:
        raise InvalidInput("options", problems)


def checked_limits(limits: Mapping[str, Any]) -> dict[str, Any]:
    """Limits of a call by the keys of checks, those on another adversary by its name."""
    for key, limit in limits.items():
        if key in ADVERSARIES and key != ADVERSARY and isinstance(limit, Mapping):
            check_adversary(key, limit, limited=(key,))
            checked_limits(limit)
            continue
        if key not in BY_KEY:
            expected = f"the key of a check ({', '.join(BY_KEY)})"
            raise invalid("limits", ARGUMENT, key, expected, f"{shorten(limit)}{close_to(key, BY_KEY)}")
        if not BY_KEY[key].limit.fits(limit):
            raise invalid("limits", ARGUMENT, key, BY_KEY[key].limit.expected, shorten(limit))
    return dict(limits)


def check_release(
    release: Any,
    policy: Policy,
    said: Mapping[str, Any],
    solving: Solving,
    reading: Reading | None,
    words: results.Asked,
    *,
    interruptible: bool = False,
    progress: Progress | None = None,
) -> Checked:
    """The check of a release; ``said`` has the arguments of `check` by their names, which has the errors."""
    if not policy.limited:
        keys = ", ".join(list(BY_KEY)[:3])
        raise invalid("options", ARGUMENT, "policy", f"a policy with limits, such as {keys}", "none")
    paths, inputs = read_by(release, policy, said)
    release, *others = apart(release)
    found, declared = _converted(release, others, said, policy, reading)
    found = as_published(found, said.get("published_as"))
    tables = Tables(
        said["qi"],
        said["truth"],
        paths["facts"],
        paths["marginal"],
        said["count"],
        reading,
        said["control"],
        said["sensitive"] or policy.sensitive,
        declared=declared,
        population=said.get("population"),
        people=said.get("people"),
    )
    adversary = policy.adversary
    left_out = bool(said.get("no_marginal")) or adversary.get("marginal") is False
    known = taken(Knowledge, adversary)
    known = replace(known, no_marginal=left_out, rows_unknown=policy.rows_unknown or None)
    name = Path(release).stem if isinstance(release, (str, os.PathLike)) else "release"
    active = {key: limit for key, limit in policy.limits.items() if BY_KEY[key].id not in policy.off}
    limits = Limits(**{each.name: active[each.name] for each in fields(Limits) if each.name in active})
    named = policy.named
    if IDS[MEMBER] in policy.off:
        named = {name: replace(limits, max_member=None) for name, limits in named.items()}
    how = replace(solving, bounds=policy.proof)
    subject = Subject(name, found, tables).weighed(said.get("sample_weight"), said["truth"], reading)
    review = review_subject(subject, known, how, limits, words, interruptible, progress, named=named)
    asked_by = replace(review.asked, inputs=tuple(InputFile(f.role, shown(f.path), f.size, f.sha256) for f in inputs))
    review = replace(review, files=files_of([release, *others]), asked=asked_by)
    names = tuple(os.path.basename(each.path) for each in inputs if each.role == "release")
    matter = Matter(review, policy.roles, int(adversary.get("background", 1)), names)
    rows = tuple(
        RecordRow(each, limit, finding := each.judge(matter, limit), _off(policy, each, finding))
        for each, limit in ((BY_KEY[key], limit) for key, limit in policy.limits.items())
    )
    for rung in review.ladder:
        for row in named_rows(rung, policy.named.get(rung.adversary, Limits())):
            rows += (replace(row, off=policy.off.get(row.check.id, "") if row.check.key == MEMBER else ""),)
    if ORDERED in named:  # an order that is taken to be unknown takes nothing back of who knows it
        rows += tuple(replace(each, off="", adversary=ORDERED) for each in rows if each.off.startswith(UNORDERED))
    asked = AskedRecord(paths, recorded_options(said, solving, reading), said["title"], said["purpose"])
    return Checked(policy, rows, review, asked, inputs)


def _off(policy: Policy, check: PolicyCheck, finding: Finding) -> str:
    """Why a check is off, or taken back; empty where it counts."""
    if check.id == NO_DRAWS_ID and finding.status == "fail" and policy.rows_unknown:
        return f"{UNORDERED}: {policy.rows_unknown}"
    return policy.off.get(check.id, "")


def read_by(release: Any, policy: Policy, said: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Hashed, ...]]:
    """What a check reads: paths by their role, and the files that they stand for with their hashes."""
    main, *beside = apart(release)
    paths = {
        "release": main,
        **({"statements": beside} if beside else {}),
        "table": said["qi"],
        **{name: said.get(name) for name in ("truth", "control", "population")},
        **{name: said.get(name) or policy.file_of(name) for name in ("facts", "marginal")},
    }
    inputs = [found for role, path in paths.items() for found in hashed(role, path)]
    inputs += [
        found for path in (*beside, *named_by_statements([main, *beside])) for found in hashed("statements", path)
    ]
    inputs += [found for file in policy.files for found in hashed("policy", file.path)]
    return paths | {"policy": _policy_file(said)}, tuple(inputs)


def _policy_file(said: Mapping[str, Any]) -> str | None:
    """The path of the policy of a call; None for one that is shipped, or that is no file."""
    given = said.get("policy")
    return os.fspath(given) if isinstance(given, (str, os.PathLike)) and os.fspath(given) not in presets() else None


def recorded_options(said: Mapping[str, Any], solving: Solving, reading: Reading | None) -> dict[str, Any]:
    """The options of a call that change numbers, as a record has them."""
    sensitive, parameters, given = said["sensitive"], said["parameters"], said.get("policy")
    lists = {name: said[name] for name in ("classes", "features", "private")}
    found = {
        **{name: said.get(name) for name in ("target", "count", "sample_weight")},
        **{name: None if value is None else [str(each) for each in value] for name, value in lists.items()},
        "no_marginal": said.get("no_marginal") or None,
        "published_as": said.get("published_as"),
        "people": said.get("people"),
        "parameters": None if parameters is None else {str(key): str(value) for key, value in parameters.items()},
        "sensitive": [each.strip() for each in sensitive.split(",")] if isinstance(sensitive, str) else sensitive,
        **{name: getattr(solving, name) for name in SOLVING},
        "reading": None if reading is None else reading.stated(),
        "policy": None if _policy_file(said) else os.fspath(given) if isinstance(given, os.PathLike) else given,
        "limits": said.get("limits") or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _converted(
    release: Any, others: Sequence[Any], said: Mapping[str, Any], policy: Policy, reading: Reading | None
) -> tuple[Converted, tuple[Attribute, ...] | None]:
    """What is checked, as a release whose attributes have the roles of the policy and of the call."""
    given = {name: said[name] for name in ("target", "classes", "features", "parameters")}
    if isinstance(release, (str, os.PathLike)):
        train = said["qi"] if said["truth"] is None else said["truth"]
        wanted = wanted_of(
            **{name: given[name] for name in ("target", "classes", "features", "parameters")}, train=train
        )
        try:
            found = converted(release, wanted, reading)
        except InvalidInput as error:
            if said["truth"] is not None:
                raise
            raise InvalidInput(error.source, [_of_truth(each, given["target"]) for each in error.problems]) from None
    else:
        check_unused("files, and this is a release", **given)
        opened = open_published(release, reader_of(reading))
        if not isinstance(opened, Release):
            expected = "a release of trees: a file, a folder, or a Release"
            raise invalid("options", ARGUMENT, "release", expected, shorten(release))
        found = Converted(opened, "maxent", format="maxent/1")
    own = found.release
    declared = own.attributes if others and not own.statements else None
    joined, lost = with_others(
        found, "release", others, said["qi"] if said["truth"] is None else said["truth"], reading
    )
    found = replace(found, release=joined, lost=(*found.lost, *lost))
    roles: dict[str, Any] = {**policy.roles, **dict.fromkeys(said["private"] or (), "private")}
    names = [attribute.name for attribute in found.release.attributes]
    for name in said["private"] or ():
        if name not in names:
            expected = f"attributes of the model ({shorten(', '.join(names))})"
            raise invalid("options", ARGUMENT, "private", expected, f"{name}{close_to(name, names)}")
    attributes = tuple(replace(each, role=roles.get(each.name, each.role)) for each in found.release.attributes)
    return replace(found, release=replace(found.release, attributes=attributes)), declared


def _of_truth(problem: Problem, target: str | None) -> Problem:
    """The problem of a table of the adversary that lacks the classes, which it need not have: another one has them."""
    if target is None or problem.field != target or not problem.expected.startswith("a column of this name"):
        return problem
    expected = "a column of this name, or the confidential table, which has the classes, by truth="
    return replace(problem, expected=expected)


def _named(release: Any) -> str:
    if isinstance(release, (list, tuple)):
        return f"[{', '.join(map(_named, release))}]"
    return repr(os.fspath(release)) if isinstance(release, (str, os.PathLike)) else "release"
