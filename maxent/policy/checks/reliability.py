"""Checks 5xx: whether the numbers can be relied on, and are all there."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxent.disclosure.limits import CHECK_WORDS, Status
from maxent.disclosure.measures import MEASURES
from maxent.models.arguments import shorten_list
from maxent.models.display import FALSE
from maxent.policy.checks.context import YES, Finding, Limit, Matter, PolicyCheck, is_number, unknown, within
from maxent.policy.checks.evidence import NO_CONTROL

CERTIFICATES = ("local", "gap", "global")
OURS = "docs/method.md, docs/results.md."


def _reliable(of: Matter, limit: bool) -> Finding:
    estimate = of.review.estimate
    if estimate is None:
        return unknown("the estimate", of.review.unsolved)
    status = estimate.outcome.status
    if status == "inconsistent":
        said = "the statements contradict each other or the table"
        return Finding("fail", status, f"{said}: {CHECK_WORDS['fail']}")
    if not of.reliable:
        return Finding("cannot_tell", status, f"{of.review.trouble}: {CHECK_WORDS['cannot_tell']}")
    if false := [each["what"] for each in of.row.get("unread", ()) if each.get("refuted")]:
        return Finding("cannot_tell", status, f"{FALSE}: {'; '.join(false)}: {CHECK_WORDS['cannot_tell']}")
    return Finding("pass", status, f"the estimate was solved: {CHECK_WORDS['pass']}")


def _certificate(of: Matter, limit: str) -> Finding:
    estimate = of.review.estimate
    if estimate is None or not of.reliable:
        return unknown("the certificate", of.review.trouble)
    found = estimate.certificate
    status: Status = "pass" if CERTIFICATES.index(found) >= CERTIFICATES.index(limit) else "fail"
    return Finding(status, found, f"certificate {found}, at least {limit}: {CHECK_WORDS[status]}")


def _violation(of: Matter, limit: float) -> Finding:
    name = "largest violation of a statement"
    if of.review.estimate is None:
        return unknown(name, of.review.unsolved)
    found = float(of.review.estimate.outcome.violation)
    return within(name, found, found, limit, bound="at most")


def _same_people(of: Matter, limit: bool) -> Finding:
    audit = of.review.audit
    if not audit.reliable:
        return Finding("fail", len(audit.contradictions), f"{audit.contradictions[0]}: {CHECK_WORDS['fail']}")
    sized = any(bool(np.any(tree.bounds.low[:, -1] > 0)) for tree in audit.trees)
    if audit.people is None or of.review.release.sampled or not sized:
        return unknown("whether the table has the people of the release", "leaves do not state how many they have")
    return Finding("pass", 0, f"the table has as many people in every leaf as the release: {CHECK_WORDS['pass']}")


def _required(of: Matter, limit: Any) -> Finding:
    absent = [key for key in limit if of.row.get(key) is None]
    if not absent:
        return Finding("pass", 0, f"all {len(limit)} required measures are there: {CHECK_WORDS['pass']}")
    said = f"required measures that are not there: {shorten_list(absent)}"
    estimate = of.review.estimate
    if estimate is None or estimate.control is None:
        why = of.review.unsolved if estimate is None else NO_CONTROL
        return Finding("cannot_tell", len(absent), f"{said}, as {why}: {CHECK_WORDS['cannot_tell']}")
    return Finding("fail", len(absent), f"{said}: {CHECK_WORDS['fail']}")


# The checks of this family.
CHECKS = (
    PolicyCheck(
        "MX501", "reliable", "an estimate that can be relied on", YES, _reliable,
        "Whether the estimate was solved to the optimum, the release, the table and the true classes agree, and "
        "nothing was left out for want of time. Every policy asks for it, stated or not, and none can switch it off.",
        "What an unfinished estimate seems to keep proves nothing.",
        OURS,
        "Give it more time (`--time-limit`), fewer trees, or the table of the people that the model was trained on.",
    ),
    PolicyCheck(
        "MX502", "certificate", "the certificate of the estimate",
        Limit(f"one of {', '.join(CERTIFICATES)}", lambda v: v in CERTIFICATES, "global"), _certificate,
        "What is proved of the estimate: `global` (the optimum), `gap` (near it) or `local` (nothing).",
        "A local optimum may claim more, or less, than the adversary can.",
        OURS,
        "Another `--backend`, more `--starts`, or knowledge without `internal` ([adversary]).",
    ),
    PolicyCheck(
        "MX503", "max_violation", "largest violation of a statement",
        Limit("a probability from 0 to 1", is_number(0, 1), 1e-6), _violation,
        "The largest violation of any statement of the release at the optimum, in probability units.",
        "An answer that does not satisfy the statements is not an answer to them.",
        OURS,
        "As for MX501; a smaller `--tolerance`.",
    ),
    PolicyCheck(
        "MX504", "same_people", "the table has the people of the release", YES, _same_people,
        "Whether as many people of the table reach every leaf as the leaf states.",
        "Groups and guesses are those of the people of the table: of others they say nothing.",
        "docs/attacks.md.",
        "Give the table that the model was trained on.",
    ),
    PolicyCheck(
        "MX505", "required_measures", "required measures",
        Limit(
            "a list of keys of measures (docs/results.md)",
            lambda v: isinstance(v, list) and all(isinstance(each, str) and each in MEASURES for each in v),
            ["right_guesses", "beyond_control"],
        ), _required,
        "Whether the record has these measures, by their keys in docs/results.md. Where one is not there, it cannot be "
        "told without an estimate, --truth and --control, and fails with them.",
        "A decision needs its evidence: right guesses need a truth, `beyond_control` needs control people.",
        "SATRE 2.0.1, statement 3.3.06 (a statistical basis for decisions on outputs).",
        "Give `--truth` and `--control`.",
    ),
)  # fmt: skip
