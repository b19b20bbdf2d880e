"""The verdict on a release: its numbers against limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from maxent.disclosure.checked_arrays import TOLERANCE, at_most
from maxent.disclosure.limits import Check, Judged, Limits, Origin, Status, Verdict, worst
from maxent.models.defenses.certainty import CERTAIN
from maxent.models.text.display import leaves_in


def judge(
    limits: Limits,
    release: str,
    *,
    reliable: bool,
    max_posterior: float | None,
    certain: int | None,
    exposed: int | None,
    k: int | None,
    surest: float | None = None,
    possible_posterior: float | None = None,
    possible_certain: int | None = None,
    pure: int | None = None,
    right_guesses: float | None = None,
    bayes_vulnerability: float | None = None,
    possible_right: float | None = None,
    base_rate: float | None = None,
    certain_proved: int | None = None,
    certain_at_most: int | None = None,
    proved_least: int | None = None,
    proved_most: int | None = None,
    unread: Sequence[Mapping[str, Any]] = (),
    worst_case: Mapping[str, Any] | None = None,
    base_posterior: float | None = None,
    base_most: float | None = None,
    individuals: int | None = None,
    no_marginal: bool = False,
    decisive: bool = True,
) -> Judged:
    """The verdict on one release: the worst of what follows from the estimate, from groups, and from the truth.

    An estimate alone would not do: a leaf of one person with a label, for instance, gives their class away, while the
    maximum-entropy estimate, which knows shares and no whole people, may leave it in doubt. Nor does an estimate that
    rests on no numbers: of a leaf with a label alone it claims one half, whatever is in it. So a limit is kept only if
    it also is as far as published numbers allow. With the truth, what is right about real people counts.

    Parameters
    ----------
    limits : Limits
    release : str
        Its name.
    reliable : bool
        Whether the estimate can be relied on. If not, numbers that seem to be within a limit prove nothing.
    max_posterior, certain : float, int; or None
        As in `maxent.disclosure.summary.Disclosure`; None without an estimate.
    exposed : int or None
        Individuals whose leaf or group has a single class, as `maxent.audit` finds them; None where it cannot be said.
    k : int or None
        Individuals in the smallest group, None where it cannot be said.
    surest, possible_posterior, possible_certain : float, float, int; optional
        As in `maxent.disclosure.summary.Disclosure`; by default what was found, with the error of computing a
        probability.
    pure, right_guesses : int, float; optional
        With the truth: people in leaves of one class, and the share of right guesses, as `maxent.evidence.truth` has
        them.
    bayes_vulnerability, possible_right, base_rate : float, optional
        Shares of people: expected right guesses, what published numbers allow, and the most frequent class.
    certain_proved, certain_at_most : int, optional
        Individuals whose class is proved over all data consistent with the release, which then stand in the place of
        those of the estimate; and the same with those about whom not every proof was asked for.
    proved_least, proved_most : int, optional
        Individuals whose class is proved, and those with whom a proof might still be found: beside the estimate.
    unread : sequence of mappings
        What the release states that no number rests on, as in the key ``unread`` of a summary: what is not read is not
        passed, except the size of groups, and where the worst case keeps the limit, too.
    worst_case : mapping, optional
        What the release tells if that gave everything away: `maxent.evidence.worst_case`.
    base_posterior : float, optional
        The share of the most frequent class among those that limits are about, of all people.
    base_most : float, optional
        Where no base rate is known: the largest share that what is published allows any class.
    individuals : int, optional
        All people.
    no_marginal : bool
        Whether the adversary is taken not to know how frequent classes are. Otherwise nobody infers less than the base
        rate tells, and where it is not known no limit on what is inferred is passed.
    decisive : bool
        Whether the release counts for the verdict.
    """
    checks = []
    sure = reliable and exposed is not None
    if limits.max_posterior is not None:
        worse, origin = worse_posterior(max_posterior, exposed, pure, certain_proved or proved_least)
        computed = None if max_posterior is None else float(at_most(max_posterior)) if surest is None else surest
        most = computed if origin == "estimate" else 1.0
        allowed = None if most is None else max(most, possible_posterior or 0.0)
        possible = 1.0 if allowed is not None and proved_most else allowed
        status = _status(most, possible, limits.max_posterior, sure)
        unproved = "did not end" if allowed is not None and allowed <= limits.max_posterior < (possible or 0.0) else ""
        checks.append(Check("max_posterior", limits.max_posterior, worse, status, origin, possible, unproved=unproved))
    if limits.min_k is not None:
        kept: Status = "cannot_tell" if k is None else "pass" if k >= limits.min_k else "fail"
        checks.append(Check("min_k", limits.min_k, k, kept, "groups"))
    if limits.max_certain is not None and certain_proved is not None:
        many, origin = worse_certain(certain_proved, exposed, pure)
        origin = "proof" if origin == "estimate" else origin
        possible = max(many or 0, certain_at_most or 0)
        status = _status(many, possible, limits.max_certain, reliable)
        found = Check("max_certain", limits.max_certain, many, status, origin, possible, estimated=certain)
        checks.append(replace(found, unproved="were not asked for"))
    elif limits.max_certain is not None:
        many, origin = worse_certain(certain, exposed, pure)
        beside = None
        if proved_least and (many is None or proved_least > many):
            many, origin, beside = proved_least, "proof", certain
        allowed = None if many is None else max(many, possible_certain or 0)
        possible = None if allowed is None else max(allowed, proved_most or 0)
        status = _status(many, possible, limits.max_certain, sure)
        unproved = "did not end" if allowed is not None and allowed <= limits.max_certain < (possible or 0) else ""
        if certain is None and not many:  # that groups prove nobody's class says nothing of an estimate
            many, possible = None, None
        found = Check("max_certain", limits.max_certain, many, status, origin, possible, estimated=beside)
        checks.append(replace(found, unproved=unproved))
    checks += _guesses(limits, reliable, right_guesses, bayes_vulnerability, possible_right, base_rate)
    if not reliable:  # an answer that did not end proves nothing, whichever side of a limit it is on
        checks = [_without_estimate(c, exposed or 0, pure or 0, certain_proved or proved_least or 0) for c in checks]
    if not no_marginal:
        proved, largest = certain_proved is not None, 1.0 if base_most is None else base_most
        base = _by_frequency(base_posterior, base_rate, individuals or 1, proved=proved)
        bound = _by_frequency(largest, largest, individuals or inf, proved=False)
        checks = [_informed(c, base[c.limit], bound[c.limit]) if c.limit in base else c for c in checks]
    if unread:
        checks = [
            c if c.limit == "min_k" or c.status != "pass" else _beside(c, unread, worst_case, base_rate) for c in checks
        ]
    status = worst([check.status for check in checks])
    return Judged(release, decisive, status, tuple(checks), no_marginal=no_marginal)


def _by_frequency(
    posterior: float | None, rate: float | None, individuals: float, *, proved: bool
) -> dict[str, float | None]:
    """What somebody infers who only knows how frequent classes are, by limits; None where that is not known."""
    sure = posterior is not None and posterior >= (1.0 if proved else CERTAIN)
    return {
        "max_posterior": posterior,
        "max_certain": None if posterior is None else individuals if sure else 0,
        "max_right_guesses": rate,
        "max_lift": None if rate is None else 0.0,
    }


def _informed(check: Check, base: float | None, most: float | None) -> Check:
    """A limit by what is found or by the base rate alone, whichever is more; ``most`` is a bound of one not known."""
    if base is None:
        bounded = most is not None and most <= check.stated and check.limit != "max_lift"
        return check if bounded or check.status != "pass" else replace(check, status="cannot_tell", baseless=True)
    check = replace(check, base=base)
    more = check.found is None or base > check.found + TOLERANCE
    alone = replace(check, found=base, origin="base", possible=max(base, check.possible or 0.0))
    if base > check.stated and (more or check.status != "fail"):
        return replace(alone, status="fail")
    return alone if more and check.found is not None else check


def _without_estimate(check: Check, exposed: int, pure: int, proved: int) -> Check:
    """A limit that an estimate may exceed, by what groups, the truth or proofs show instead."""
    if check.status == "pass" or check.origin != "estimate":
        return check
    many = max(exposed, pure, proved)
    shown = float(many > 0) if check.limit == "max_posterior" else many if check.limit == "max_certain" else 0
    if shown > check.stated:
        origin: Origin = _GROUPS if exposed == many else _TRUTH if pure == many else "proof"
        return replace(check, found=shown, status="fail", origin=origin)
    return replace(check, status="cannot_tell")


def _beside(
    check: Check, unread: Sequence[Mapping[str, Any]], worst_case: Mapping[str, Any] | None, base_rate: float | None
) -> Check:
    """A limit that numbers keep which do not rest on all that is stated, by the worst case of the rest."""
    if worst_case is None or "why" in worst_case or any(each.get("judged") == "not" for each in unread):
        words = ", ".join(f"{each['what']} ({leaves_in(each['leaves'], each['trees'])})" for each in unread)
        why = f"; {worst_case['why']}" if worst_case and "why" in worst_case else ""
        return replace(check, status="cannot_tell", unread=f"as more is stated than is read: {words}{why}")
    most, printed, right = (
        float(at_most(worst_case["max_posterior"])),
        worst_case["printed"],
        worst_case["right_guesses"],
    )
    many = worst_case["certain"]
    found, words = {
        "max_posterior": (most, "largest posterior {}"),
        "max_certain": (many, "{} person certain" if many == 1 else "{} people certain"),
        "max_right_guesses": (right, "right guesses {}"),
        "max_lift": (right - (base_rate or 0.0), "right guesses {} above the base rate"),
    }[check.limit]
    kept = found <= check.stated + (TOLERANCE if check.limit == "max_lift" else 0.0)
    if kept and check.limit == "max_posterior" and printed is not None and printed > check.stated:
        said = f"as the release itself prints a probability of {replace(check, found=printed).found_text} for somebody"
        return replace(check, status="cannot_tell", unread=said)
    away = " and ".join(dict.fromkeys(each["what"] for each in unread))
    said = f"if the {away} gave all counts away: {words.format(replace(check, found=found).found_text)}"
    return replace(check, status="pass" if kept else "cannot_tell", unread=f"also {said}" if kept else said)


def _guesses(
    limits: Limits,
    reliable: bool,
    right: float | None,
    expected: float | None,
    possible: float | None,
    base: float | None,
) -> list[Check]:
    """The checks of limits on right guesses: by the truth where there is one, otherwise as the estimate expects."""
    origin: Origin = "truth" if right is not None else "groups" if expected is None else "estimate"
    found = expected if right is None else right
    most = None if found is None else found if right is not None else max(found, possible or 1.0)
    checks = []
    if limits.max_right_guesses is not None:
        status = _status(found, most, limits.max_right_guesses, reliable)
        checks.append(Check("max_right_guesses", limits.max_right_guesses, found, status, origin, most))
    if limits.max_lift is not None:
        lift = None if found is None or base is None else _difference(found, base, limits.max_lift)
        highest = None if most is None or base is None else _difference(most, base, limits.max_lift)
        if lift is not None and abs(lift) <= TOLERANCE:  # computed of a release that says no more than the base rate
            lift = 0.0
            highest = 0.0 if highest is not None and highest <= TOLERANCE else highest
        status = _status(lift, highest, limits.max_lift, reliable)
        checks.append(Check("max_lift", limits.max_lift, lift, status, origin, highest))
    return checks


def _difference(found: float, base: float, stated: float) -> float:
    """How much a share exceeds another; what is said to be the limit is it, whatever the last bit of the difference."""
    return stated if abs(found - base - stated) <= ROUNDED else found - base


def worse_certain(certain: int | None, exposed: int | None, pure: int | None = None) -> tuple[int | None, Origin]:
    """Individuals whose class is certain, by the estimate, by what groups prove, or in truth, whichever are most."""
    found: tuple[int | None, Origin] = (certain, "estimate")
    for many, origin in ((exposed, _GROUPS), (pure, _TRUTH)):
        if many is not None and (found[0] is None or many > found[0]):
            found = (many, origin)
    return found


def worse_posterior(
    max_posterior: float | None, exposed: int | None, pure: int | None = None, proved: int | None = None
) -> tuple[float | None, Origin]:
    """The largest posterior: 1 where somebody's class is proved, or it is so in truth; else of the estimate."""
    if max_posterior is None or max_posterior < 1 - TOLERANCE:
        if exposed:
            return 1.0, _GROUPS
        if pure:
            return 1.0, _TRUTH
        if proved:
            return 1.0, "proof"
    return max_posterior, "estimate"


ROUNDED = 1e-12
"""By how much a difference of two shares of people may be off."""

_GROUPS: Origin = "groups"
_TRUTH: Origin = "truth"

ROW_KEYS = (
    *("max_posterior", "certain", "exposed", "surest", "possible_posterior", "possible_certain", "pure"),
    *("right_guesses", "bayes_vulnerability", "possible_right", "base_rate", "certain_proved", "certain_at_most"),
    *("proved_least", "proved_most", "worst_case"),
)
"""Keys of a row of a comparison that are arguments of `judge`."""


SHARED_KEYS = ("release", "status", "min_population", "unread", "individuals", "no_marginal")
"""Keys of a row that are the same of each of several sensitive columns."""


def judge_rows(limits: Limits, rows: Sequence[Mapping[str, Any]], of: int | None = None) -> Verdict:
    """The verdict on the rows of a comparison; the first of several releases is not decisive.

    ``of`` is how many releases there were to be, if some were not reached. Of several sensitive columns each one has to
    keep the limits: a class of one can be certain while no combination is. Of sensitive classes the limits are about
    these alone; what is found of all classes stands beside.
    """
    judged = []
    for i, row in enumerate(rows):
        whole = _judge_row(limits, row, decisive=i > 0 or (of or len(rows)) == 1)
        checks = whole.checks
        for each in row.get("targets", ()):
            # What is proved of combinations is no bound on the people who are certain in one column.
            shared = {key: row[key] for key in SHARED_KEYS if key in row}
            alone = _judge_row(limits, {**shared, **each}, decisive=whole.decisive).checks
            both = zip(checks, (replace(check, target=each["target"]) for check in alone), strict=True)
            checks = tuple(max(pair, key=_badness) for pair in both)
        beside: tuple[Check, ...] = ()
        if "sensitive" in row:  # what is known of other classes harms nobody, and is only shown
            alone, beside = _judge_row(limits, _sensitive_row(row), decisive=whole.decisive).checks, checks
            checks = alone
        judged.append(replace(whole, checks=checks, beside=beside, status=worst([check.status for check in checks])))
    return Verdict(limits, tuple(judged))


def judge_informed(
    limits: Limits,
    rows: Sequence[Mapping[str, Any]],
    informed: Sequence[Callable[[Mapping[str, Any], Limits], Mapping[str, Any]] | None],
    of: int | None = None,
) -> Verdict:
    """The verdict on rows, each also by the row that ``informed`` makes of it, where that decides.

    Such a row has the numbers of an adversary who knows the base rate, and what is proved. Those are not printed.
    Where the estimate of who knows less is beyond a limit, it is not kept; else it is judged by
    the estimate of who knows more.
    """
    first = judge_rows(limits, rows, of)
    open_ = [
        judged.decisive and any(c.status != "fail" and c.limit != "min_k" for c in judged.checks)
        for judged in first.releases
    ]
    if not any(more is not None and wanted for more, wanted in zip(informed, open_, strict=True)):
        return first
    known = [
        more(row, limits) if more is not None and wanted else row
        for row, more, wanted in zip(rows, informed, open_, strict=True)
    ]
    second = judge_rows(limits, known, of)
    judged = []
    for one, other in zip(first.releases, second.releases, strict=True):
        both = zip(one.checks, other.checks, strict=True)
        checks = tuple(max(pair, key=_badness) if pair[0].status == "fail" else pair[1] for pair in both)
        judged.append(replace(other, checks=checks, status=worst([check.status for check in checks])))
    return Verdict(limits, tuple(judged))


def _judge_row(limits: Limits, row: Mapping[str, Any], *, decisive: bool) -> Judged:
    """The verdict on the numbers of a row."""
    return judge(
        limits,
        row["release"],
        reliable=row.get("status") == "optimal",
        k=row.get("min_population"),
        unread=row.get("unread", ()),
        base_posterior=row.get("base_posterior", row.get("base_rate")),
        base_most=row.get("base_most"),
        individuals=row.get("individuals"),
        no_marginal=bool(row.get("no_marginal")),
        **{key: row.get(key) for key in ROW_KEYS},
        decisive=decisive,
    )


def _sensitive_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of sensitive classes alone, in a row."""
    return {**row, **dict.fromkeys((*ROW_KEYS, "base_posterior")), **row["sensitive"]}


def _badness(check: Check) -> tuple[int, float]:
    """An order of checks of one limit: the worst is the largest."""
    found = 0.0 if check.found is None or check.limit == "min_k" else check.found
    return ("pass", "cannot_tell", "fail").index(check.status), found


def _status(found: float | None, possible: float | None, stated: float, sure: bool) -> Status:
    """The status that a comparison with a limit proves."""
    if found is None or possible is None:
        return "cannot_tell"
    if found > stated:
        return "fail"
    return "pass" if sure and possible <= stated else "cannot_tell"
