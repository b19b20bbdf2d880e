"""Ranking of candidates: their grids, the race by folds, the ranked table, and the frontier of each limit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from maxent.disclosure.limits import LimitCheck, Limits, Status, in_words, judge_rows
from maxent.models.arguments import parameters_of, shorten
from maxent.models.arrays import FloatArray
from maxent.models.defenses.grown_tree import InducedTree
from maxent.models.defenses.method import Method, Wanted
from maxent.models.defenses.registry import asked_for, method_names, methods
from maxent.models.display import counted
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.hints import close_to

# The race by folds: who leads, and who is stopped because the leader is better beyond chance.

# A candidate is stopped where, were it as good as the leader, chance would favour the leader so much less often.
CHANCE = 0.001
# Fold -> what each of its people gains: who is predicted right, bool; or minus what the decision costs, float64.
Gains = Mapping[int, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Behind:
    """How far a candidate is behind the leader on the folds of both, in right predictions or costs per person.

    ``chance`` is the probability of it if both were as good: by the sign test, or by the t test of costs.
    """

    share: float
    deviation: float | None
    only_leader: int
    only_other: int
    chance: float

    @property
    def beaten(self) -> bool:
        """Whether the leader is better beyond chance."""
        return self.chance < CHANCE


def behind(leader: Gains, other: Gains) -> Behind | None:
    """How far a candidate is behind; None without a fold of both."""
    shared = sorted(leader.keys() & other.keys())
    if not shared:
        return None
    more = [np.subtract(leader[fold], other[fold], dtype=np.float64) for fold in shared]
    every = np.concatenate(more)
    ours, theirs = int((every > 0).sum()), int((every < 0).sum())
    chance = _sign_test(ours, theirs) if leader[shared[0]].dtype == bool else _paired_test(every)
    return Behind(float(every.mean()), deviation([float(each.mean()) for each in more]), ours, theirs, chance)


def _sign_test(ours: int, theirs: int) -> float:
    """The probability of as many people with the leader, if each were as likely to be with the other."""
    from scipy.special import bdtrc

    return float(bdtrc(ours - 1, ours + theirs, 0.5)) if ours else 1.0


def _paired_test(more: npt.NDArray[np.float64]) -> float:
    """The probability of as large a mean, if it were 0 but for chance."""
    from scipy.special import stdtr

    mean, spread = float(more.mean()), float(more.std(ddof=1)) if len(more) > 1 else 0.0
    if not spread:
        return 1.0 if mean <= 0 or len(more) < 2 else 0.0
    return float(stdtr(len(more) - 1, -mean / spread * np.sqrt(len(more))))


def mean_gain(gains: Gains) -> float:
    """What people of the folds gain on average: of who is right the share."""
    return float(sum(gain.sum() for gain in gains.values()) / sum(map(len, gains.values())))


def deviation(values: Collection[float]) -> float | None:
    """The standard deviation over folds; None of fewer than two."""
    return float(np.std(list(values), ddof=1)) if len(values) > 1 else None


def leader_of(found: Mapping[int, Gains], among: Iterable[int]) -> int | None:
    """Who leads: of those with the most folds the one whose people gain most, of equals the first."""
    tested = [each for each in among if found.get(each)]
    return max(tested, key=lambda each: (len(found[each]), mean_gain(found[each]), -each), default=None)


# Candidates: a method of defense with its parameters, from the grids of the methods.

Value = str | int | float | bool
# Parameters that are limits of the call, the same for all candidates of a method: names leave them out.
OF_THE_CALL = ("max_posterior", "sensitive", "max_certain", "max_right_guesses")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A method and those of its parameters that are not left to their defaults."""

    method: str
    options: tuple[tuple[str, Value], ...]

    @property
    def name(self) -> str:
        """``prune-parent max_depth=8 k=10``."""
        told = (f"{name}={value}" for name, value in self.options if name not in OF_THE_CALL)
        return " ".join([self.method, *told])

    def asked(self, seed: int, cost: FloatArray | None = None) -> Method:
        """The method with its parameters, and the seed and the costs where it takes them."""
        options: dict[str, Any] = dict(self.options)
        takes = parameters_of(methods()[self.method])
        if "seed" in takes:
            options["seed"] = seed
        if "cost" in takes and cost is not None:
            options["cost"] = cost
        return asked_for(self.method, options)[0]


def check_methods(names: Iterable[str] | None, start: bool = False) -> tuple[str, ...]:
    """The methods that are asked for, all by default; ``start`` is whether they have to take a model to start from."""
    known = takers() if start else method_names()
    if names is None:
        return known if start else tuple(methods())
    expected = f"names of methods, of {', '.join(known)}"
    listed = [names] if isinstance(names, str) or not isinstance(names, Iterable) else list(names)
    expected += ", which take a model to start from" if start else ""
    problems = [
        Problem(ARGUMENT, "methods", expected, f"{shorten(name)}{close_to(name, known) if type(name) is str else ''}")
        for name in listed
        if name not in known
    ]
    if problems or not listed:
        raise InvalidInput("options", problems or [Problem(ARGUMENT, "methods", expected, "none")])
    return tuple(dict.fromkeys(listed))


def takers() -> tuple[str, ...]:
    """The methods that can start from a model. They cut back a tree, whatever grew it."""
    return tuple(name for name, kind in methods().items() if issubclass(kind, InducedTree))


def portfolio(names: Sequence[str], wanted: Wanted, seed: int) -> tuple[Candidate, ...]:
    """The candidates of some methods, each once: what their grids have, of those that predict."""
    found = (Candidate(name, tuple(options.items())) for name in names for options in _grid(name, wanted))
    return tuple(each for each in dict.fromkeys(found) if each.asked(seed).predicts)


def untried(names: Sequence[str], wanted: Wanted) -> tuple[dict[str, str], ...]:
    """What some methods can publish that is no candidate: ``candidate`` and ``why``."""
    found = (each for name in names for each in methods()[name].untried(wanted))
    return tuple({"candidate": name, "why": why} for name, why in found)


def _grid(name: str, wanted: Wanted) -> Iterator[Mapping[str, Any]]:
    """The grid of a method; of a model to start from without what grows a tree."""
    kind = methods()[name]
    grown = {each for each, one in parameters_of(kind).items() if wanted.start and one.about.group == "grown"}
    for options in kind.grid(wanted):
        yield {each: value for each, value in options.items() if each not in grown}


Outcome = Literal["best", "beaten", "stopped", "limit", "cannot_tell", "same", "failed", "not reached"]

# Outcome of a candidate -> what it means, in the order of the ranked table.
OUTCOMES: Mapping[Outcome, str] = {
    "best": "the best within the limits",
    "beaten": "within the limits by the estimate, and worse on all folds",
    "stopped": "within the limits by the estimate, and stopped early as the leader was better beyond chance",
    "limit": "beyond a limit",
    "cannot_tell": "not known to be within the limits",
    "same": "the same release as that of another candidate",
    "failed": "no release",
    "not reached": "not tried in the time that there was",
}

# Measures that rows have, by their keys in `maxent.disclosure.measures`.
MEASURED = ("min_population", "max_posterior", "certain", "right_guesses", "divergence")


@dataclass(slots=True)
class Standing:
    """What is known of a candidate so far; ``number`` is its place in the portfolio."""

    number: int
    candidate: Candidate
    status: Status | None = None
    checks: tuple[LimitCheck, ...] = ()
    stated: tuple[dict[str, Any], ...] = ()
    audit: Mapping[str, Any] = field(default_factory=dict)
    same: str = ""
    error: str = ""
    hits: dict[int, Any] = field(default_factory=dict)
    costs: dict[int, Any] = field(default_factory=dict)
    stopped: Behind | None = None
    settled: bool = False

    @property
    def gains(self) -> Gains:
        """What the race is about, by fold: minus costs where there are any, else who is predicted right."""
        return {fold: -each for fold, each in self.costs.items()} or self.hits

    @property
    def passed(self) -> bool:
        """Whether its release keeps every limit, for sure."""
        return self.status in ("pass", "not stated") and not self.same and not self.error

    @property
    def broken(self) -> tuple[LimitCheck, ...]:
        """The limits that are not kept for sure."""
        return tuple(check for check in self.checks if check.status != "pass")

    @property
    def raced(self) -> bool:
        """Whether folds are worth their time: all limits are kept but one at most, which the frontier then shows."""
        return self.status is not None and not self.same and not self.error and len(self.broken) <= 1


def judged(standing: Standing, row: Mapping[str, Any], limits: Limits) -> None:
    """Note the audit of a candidate, and what the limits say of it."""
    standing.audit = row
    verdict = judge_rows(limits, [{"release": standing.candidate.name, **row["found"]}])
    [only] = verdict.releases
    standing.status, standing.checks, standing.stated = only.status, only.checks, tuple(only.all_checks)


def ranked(standings: Sequence[Standing], best: Standing | None, folds: int, cut: str) -> list[dict[str, Any]]:
    """The rows of the table, the best first; ``cut`` says why candidates were not reached."""
    rows = [_row(each, best, folds, cut) for each in standings]
    rows.sort(key=_order)
    return [{"rank": place, **row} for place, row in enumerate(rows, 1)]


def _row(one: Standing, best: Standing | None, folds: int, cut: str) -> dict[str, Any]:
    outcome, why = _outcome(one, best, folds, cut)
    apart = None if best is None else behind(best.gains, one.gains)
    found = one.audit.get("found", {})
    level = _level(one, best, apart)
    return {
        "candidate": one.candidate.name,
        "method": one.candidate.method,
        "options": dict(one.candidate.options),
        "outcome": outcome,
        "why": why,
        "accuracy": mean_gain(one.hits) if one.hits else None,
        "cost": -mean_gain(one.gains) if one.costs else None,
        "deviation": deviation([float(each.mean()) for each in one.gains.values()]),
        "folds": len(one.hits),
        "level": level if level is None or not one.costs else -level,
        "behind": None if apart is None else apart.share,
        "behind_deviation": None if apart is None else apart.deviation,
        "train_accuracy": one.audit.get("train_accuracy"),
        "train_cost": one.audit.get("train_cost"),
        "leaves": one.audit.get("leaves"),
        **{key: found.get(key) for key in MEASURED},
        "excess": None if one.passed or not one.checks else excess(one.checks),
        "checks": [{key: value for key, value in each.items() if key != "release"} for each in one.stated],
    }


def _level(one: Standing, best: Standing | None, apart: Behind | None) -> float | None:
    """The gain to compare: that of the best less the difference on the folds of both, which are the same people."""
    if best is None or apart is None:
        return mean_gain(one.gains) if one.hits else None
    return mean_gain(best.gains) - apart.share


def _outcome(one: Standing, best: Standing | None, folds: int, cut: str) -> tuple[Outcome, str]:
    """How a candidate ended, and why."""
    if one.error:
        return "failed", one.error
    if one.same:
        return "same", f"publishes what {one.same} does"
    if one.status is None:
        return "not reached", cut
    if not one.passed:
        told = "; ".join(map(in_words, one.broken))
        return ("limit" if one.status == "fail" else "cannot_tell"), told
    if one is best and not one.hits:
        return "best", f"of those within the limits so far, by the people that it is made from; on no fold yet: {cut}"
    if best is None or not one.hits or not best.hits:
        return "not reached", cut
    if one is best:
        how = "least costly" if one.costs else "most accurate"
        return "best", f"the {how} on {counted(len(one.hits), 'fold')} of those within the limits"
    apart = behind(best.gains, one.gains)
    assert apart is not None  # whoever was tested at all was tested on the first fold
    if one.stopped is not None:
        ended, here = f"stopped after {len(one.hits)} of {folds} folds", one.stopped
        people, others = counted(here.only_leader, "person", "people"), f"{here.only_other:,}"
        if one.costs:
            return "stopped", f"{ended}: the leader cost less for {people}, this one for {others}"
        return "stopped", f"{ended}: the leader alone was right about {people}, this one alone about {others}"
    return "beaten", f"{apart_words(apart.share, apart.deviation, bool(one.costs))} behind on the same people"


def apart_words(amount: float, spread: float | None, by_cost: bool = False) -> str:
    """A difference of shares in percentage points, ``0.42 points (± 0.10)``, or of costs per person."""
    if by_cost:
        return f"{amount:.4g} per person" + ("" if spread is None else f" (± {spread:.4g})")
    return f"{100 * amount:.2f} points" + ("" if spread is None else f" (± {100 * spread:.2f})")


def _order(row: Mapping[str, Any]) -> tuple[int, float, float]:
    """The best first; candidates within the limits by how far they are behind, others by how far beyond."""
    group = [*OUTCOMES].index(row["outcome"])
    if group <= 2:
        return min(group, 1), row["behind"] or 0.0, 0.0
    if row["outcome"] in ("limit", "cannot_tell"):
        return 2, row["excess"], row["cost"] if row["cost"] is not None else -(row["accuracy"] or 0.0)
    return group, 0.0, 0.0


def excess(checks: Sequence[LimitCheck]) -> float:
    """How far a candidate is from keeping all limits: for each the relative distance, added up; at most 1 each."""
    return sum(_distance(check) for check in checks if check.status != "pass")


def _distance(check: LimitCheck) -> float:
    if check.found is None:
        return 1.0
    if check.limit == "min_k":
        return max(check.stated - check.found, 0.0) / check.stated
    return min(max(check.found - check.stated, 0.0) / max(check.found, 1e-12), 1.0)


# --- The frontier ------------------------------------------------------------------------------------------------


def frontier(rows: Sequence[Mapping[str, Any]], limits: Limits) -> list[dict[str, Any]]:
    """For each limit the best candidates that keep all others, at the levels of accuracy or costs that they reach."""
    found = []
    for limit, stated in limits.as_dict().items():
        higher = limit == "min_k"
        points = sorted(_points(rows, limit), key=lambda p: (-p["found"] if higher else p["found"], -gained(p)))
        kept: list[dict[str, Any]] = []
        for point in points:
            if not kept or gained(point) > gained(kept[-1]):
                kept.append(point)
        found.append({"limit": limit, "stated": stated, "points": kept})
    return found


def gained(point: Mapping[str, Any]) -> float:
    """The accuracy of a point, or minus its cost: the more the better."""
    found: float = point["accuracy"] if point["cost"] is None else -point["cost"]
    return found


def _points(rows: Sequence[Mapping[str, Any]], limit: str) -> Iterator[dict[str, Any]]:
    """Candidates that were tested and keep all other limits, with what was found of this one."""
    for row in rows:
        others = [check for check in row["checks"] if check["key"] != limit and check["status"] != "pass"]
        own = [check for check in row["checks"] if check["key"] == limit and check["found"] is not None]
        if row["level"] is None or row["outcome"] in ("same", "failed") or others or not own:
            continue
        yield {
            "candidate": row["candidate"],
            "found": own[0]["found"],
            "accuracy": row["level"] if row["cost"] is None else None,
            "cost": row["level"] if row["cost"] is not None else None,
            "deviation": row["deviation"],
            "within": own[0]["status"] == "pass",
        }
