"""Checks 4xx: the model's file, what leaves state, and which attributes it has."""

from __future__ import annotations

from typing import Any

from maxent.disclosure.limits import CHECK_WORDS, NO_DRAWS, NO_DRAWS_ID, Status
from maxent.models.arguments import shorten_list
from maxent.policy.checks.context import YES, Finding, Limit, Matter, PolicyCheck, unknown

SATRE = "SATRE 2.0.1, statement 3.3.07 (a policy for outputs that cannot be checked by hand)"
KINDS = ("labels", "rates", "counts", "n", "linear", "means")
EXPORTS = ("allowed", "by decision", "refused")


def _exact(of: Matter, limit: bool) -> Finding:
    found = of.review.converted
    if not found.exact:
        said = "thresholds of the model were rounded for print: some records may go elsewhere"
        return Finding("fail", "rounded", f"{said}: {CHECK_WORDS['fail']}")
    if found.lost:
        said = f"read exactly, but the file does not state {len(found.lost)} things: {'; '.join(found.lost)}"
        return Finding("cannot_tell", f"{len(found.lost)} lost", f"{said}: {CHECK_WORDS['cannot_tell']}")
    return Finding("pass", "exact", f"the model was read exactly, and whole: {CHECK_WORDS['pass']}")


def _statements(of: Matter, limit: Any) -> Finding:
    converted = of.review.converted
    stated = [kind for kind, there in converted.states.items() if there]
    more = [kind for kind in stated if kind not in limit]
    allowed = shorten_list(limit) if limit else "nothing"
    found = shorten_list(stated) if stated else "nothing"
    status: Status = "fail" if more else "pass" if not converted.lost else "cannot_tell"
    why = ", as the file was not read whole" if status == "cannot_tell" else ""
    return Finding(status, found, f"leaves state {found}, may state {allowed}: {CHECK_WORDS[status]}{why}")


def _named(of: Matter, limit: bool) -> Finding:
    names = [attribute.name for attribute in of.review.release.attributes]
    if not of.roles:
        return Finding("cannot_tell", None, "attributes cannot be judged, as the policy names none ([roles])")
    unnamed = [name for name in names if name not in of.roles]
    if unnamed:
        said = f"attributes that the policy does not name: {shorten_list(unnamed)}"
        return Finding("fail", len(unnamed), f"{said}: {CHECK_WORDS['fail']}")
    return Finding("pass", 0, f"the policy names all attributes: {CHECK_WORDS['pass']}")


def _exports(of: Matter, limit: str) -> Finding:
    told: dict[str, tuple[Status, str]] = {
        "allowed": ("pass", "models may leave by this policy"),
        "by decision": ("cannot_tell", "whether models may leave is for somebody to decide"),
        "refused": ("fail", "models may not leave by this policy"),
    }
    status, said = told[limit]
    return Finding(status, limit, f"{said}: {CHECK_WORDS[status]}")


def _extensions(of: Matter, limit: Any) -> Finding:
    if not of.files:
        return unknown("files of the release", "it was not read from any")
    blocked = {each.lower() for each in limit}
    found = sorted({name for name in of.files if name.lower().endswith(tuple(blocked))}) if blocked else []
    status: Status = "fail" if found else "pass"
    said = f"{shorten_list(found)} may not be released" if found else "no file of the release has a blocked extension"
    return Finding(status, len(found), f"{said}: {CHECK_WORDS[status]}")


def _no_draws(of: Matter, limit: bool) -> Finding:
    found = of.review.draws
    return Finding(found.status, found.rows.proved, found.words)


# The checks of this family.
CHECKS = (
    PolicyCheck(
        "MX401", "exact", "an exact reading of the model's file", YES, _exact,
        "Whether every record goes where the tool sends it, and the file states all that a release can have. It "
        "cannot be told where something is lost in reading, which the finding names. No policy that states it can "
        "switch it off.",
        "What is judged has to be what is published.",
        SATRE,
        "Export the model in a format that keeps numbers whole: docs/models.md.",
    ),
    PolicyCheck(
        "MX402", "may_state", "what leaves may state",
        Limit(
            f"a list of {', '.join(KINDS)}", lambda v: isinstance(v, list) and all(each in KINDS for each in v),
            ["labels", "rates", "counts", "n"],
        ), _statements,
        "What of leaves is published: labels, error rates, counts of classes, n, means of a regression, or scores "
        "(linear).",
        "What a model needs for its predictions is less than what its file has.",
        SATRE,
        "Publish less: `maxent defend --publish labels`, or `maxent export`.",
    ),
    PolicyCheck(
        "MX403", "attributes_named", "attributes that the policy names", YES, _named,
        "Whether every attribute of the model is in the table [roles] of the policy, public or private.",
        "An attribute that nobody thought of may be what gives people away.",
        SATRE,
        "Name the attribute in [roles], or leave it out of the model.",
    ),
    PolicyCheck(
        "MX404", "exports", "whether models may leave",
        Limit(f"one of {', '.join(EXPORTS)}", lambda v: v in EXPORTS, "allowed"), _exports,
        "What the policy says about models as such: they are `allowed`, `refused`, or allowed `by decision` of "
        "somebody, which cannot be told.",
        "Some environments let no model out, whatever it discloses.",
        f"{SATRE}: a policy must address whether model artefacts may be exported.",
        "Ask whoever decides, and switch the check off with their reason.",
    ),
    PolicyCheck(
        "MX405", "blocked_extensions", "files with a blocked extension",
        Limit(
            "a list of extensions, such as [\".svg\"]",
            lambda v: isinstance(v, list) and all(isinstance(each, str) and each[:1] == "." for each in v),
            [".pkl", ".joblib"],
        ), _extensions,
        "Whether a file of the release has an extension that may not be released. It cannot be told of a release that "
        "was not read from a file.",
        "Some kinds of files can hold more than they show.",
        "blocked_extensions of ACRO's default.yaml (github.com/AI-SDC/ACRO).",
        "Export the model in another format: docs/models.md.",
    ),
    PolicyCheck(
        NO_DRAWS_ID, NO_DRAWS, "who was drawn does not follow from the file", YES, _no_draws,
        "Whether the file tells how often each row of the training table was drawn for each tree: by seeds, states of "
        "random numbers, counts, or answers to single rows. The finding says how many classes follow for somebody who "
        "has the table in training order, and for somebody who has it without the order. Every policy asks for it, "
        "stated or not, and none can switch it off.",
        "Counts of draws are then equations about single people: a default forest gives everybody's class away, "
        "however large its leaves are.",
        "docs/models.md, what a model's own file keeps.",
        "Publish the model without them: `maxent strip`, ONNX or PMML; or no bootstrap. Where nobody knows the order "
        "of the rows, `rows = \"unknown\"` with `rows_reason` in [adversary] takes it back.",
    ),
)  # fmt: skip
