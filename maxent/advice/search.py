"""The search for advice: trials of candidates in order, within the time limit, with finished rows kept for resuming."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maxent.advice.ranking import Standing, behind, judged, leader_of
from maxent.advice.trials import (
    PEOPLE,
    Trial,
    TrialPeople,
    costs_of,
    failed,
    hits_of,
    proved_of,
    published,
    run_trial,
    trial_of,
)
from maxent.disclosure.limits import Limits
from maxent.models.files.json_files import as_json_text
from maxent.models.files.output import write_text
from maxent.solvers.control import Clock
from maxent.studies.results_folder import Folder, check_folder
from maxent.studies.running import run_all

if TYPE_CHECKING:
    from maxent.api.estimate import Progress


# Rows of trials that are done: in memory, and in a folder where the same call goes on.


@dataclass(slots=True)
class KeptAdvice:
    """Rows by the id of their trial; ``folder`` None keeps them for this call alone."""

    folder: Folder | None = None
    rows: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make the folder and keep other runs from it meanwhile, see `Folder.opened`."""
        with nullcontext() if self.folder is None else self.folder.opened():
            yield

    def get(self, trial: str) -> Mapping[str, Any] | None:
        """The row of a trial, None where it is not done; one that failed is tried again by the next call."""
        if trial not in self.rows and self.folder is not None:
            found = _read(self._file(self.folder, trial))
            if found is not None and found.get("trial") == trial and "error" not in found:
                self.rows[trial] = found
        return self.rows.get(trial)

    def put(self, row: Mapping[str, Any]) -> None:
        """Keep a row."""
        self.rows[row["trial"]] = row
        if self.folder is not None:
            write_text(self._file(self.folder, row["trial"]), as_json_text(row) + "\n")

    @staticmethod
    def _file(folder: Folder, trial: str) -> Path:
        return folder.parts / f"{trial}.json"


def kept_in(path: str | PathLike[str] | None) -> KeptAdvice:
    """Rows in a folder, which may be new; refuses what is a file."""
    return KeptAdvice(None if path is None else check_folder(path, "resume"))


def _read(path: Path) -> dict[str, Any] | None:
    """A row, None where there is none that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


# Share of a time limit by which audits end: an accuracy is known of what was audited by then.
AUDITS = 0.6
# Seconds that proofs for one candidate may take, at most.
PROOFS = 30.0
# Share of a time limit that they may take in any case.
LEAST = 0.05


def best_of(standings: Sequence[Standing]) -> Standing | None:
    """Who is best of those within the limits: of tested ones by their folds, else by the people they are made from."""
    passed = [each for each in standings if each.passed and each.stopped is None]
    found = leader_of({each.number: each.gains for each in passed}, (each.number for each in passed))
    return min(passed, key=_promise, default=None) if found is None else standings[found]


def now() -> float:
    """The time that a search begins at, and is measured by, in seconds."""
    return time.monotonic()


def silent(text: str, done: int, total: int) -> None:
    """Progress that nobody is told of."""


@dataclass(slots=True)
class AdviceSearch:
    """Trials of candidates, in their order, within the time that there is since ``begin``."""

    people: TrialPeople
    limits: Limits
    folds: int
    seed: int
    kept: KeptAdvice
    jobs: int
    dask: str | None
    time_limit: float | None
    told: Progress
    begin: float
    packed: bytes = b""

    def __post_init__(self) -> None:
        self.packed = pickle.dumps(self.people)

    def audit(self, standings: Sequence[Standing]) -> str:
        """Audit every candidate; returns why it ended early, nothing where it did not."""
        trials = {each.number: trial_of(each.candidate, self.people, self.seed) for each in standings}
        share = AUDITS if self.time_limit is not None else 1.0
        try:
            complete = self._run("auditing candidates", list(trials.values()), share)
        finally:
            self._judge(standings, trials)
        return "" if complete else self._late()

    def _judge(self, standings: Sequence[Standing], trials: Mapping[int, Trial]) -> None:
        """Note what audits have found; of candidates that publish the same the first stays."""
        first: dict[str, str] = {}
        for each in standings:
            row = self.kept.get(trials[each.number].id)
            if row is None:
                continue
            if "error" in row:
                each.error = row["error"]
                continue
            judged(each, row, self.limits)
            mark = f"{row['same']} {row['found']}"
            each.same = first.get(mark, "")
            first.setdefault(mark, each.candidate.name)

    def best(self, standings: Sequence[Standing]) -> Standing | None:
        """Who is best of those within the limits, by proofs, too, which are made for nobody else."""
        from maxent.api.proving import most_proved

        while (best := best_of(standings)) is not None and not best.settled:
            best.settled = True
            if best.status == "pass" and most_proved(self.limits) is not None:
                self.told(f"proving: {best.candidate.name}", 0, 1)
                release, training, _ = published(best.candidate, self.people, self.seed)
                numbers = {"release": best.candidate.name, **best.audit["found"]}
                found = proved_of(release, training, self.people.sensitive, numbers, self.limits, self._to_prove())
                judged(best, {**best.audit, "found": found}, self.limits)
        return best

    def _to_prove(self) -> float:
        """Seconds that proofs for one candidate may take."""
        left = self._left(1.0)
        return PROOFS if left is None or self.time_limit is None else min(PROOFS, max(left, LEAST * self.time_limit))

    def race(self, standings: Sequence[Standing]) -> str:
        """Test candidates fold by fold, and stop the beaten ones. Returns the reason of an early end."""
        alive = sorted((each for each in standings if each.raced), key=_promise)
        rounds = [range(1), range(1, 2), range(2, self.folds)]
        for these in rounds:
            trials = {(e.number, f): trial_of(e.candidate, self.people, self.seed, f) for f in these for e in alive}
            try:
                complete = self._run(f"{_named(these)} of {self.folds}", list(trials.values()), 1.0)
            finally:  # what is done counts after Ctrl-C, too
                self._noted(alive, these, trials)
            alive = [each for each in alive if not each.error]
            if not complete:
                return self._late()
            leader = self.best(standings)
            if leader is not None and these.stop < self.folds:
                for each in alive:
                    apart = behind(leader.gains, each.gains)
                    each.stopped = apart if apart is not None and apart.beaten else None
                alive = [each for each in alive if each.stopped is None]
        return ""

    def _noted(self, alive: Sequence[Standing], these: range, trials: Mapping[tuple[int, int], Trial]) -> None:
        """Note what the folds have found: the first fold always, another one if all candidates were tested on it."""
        for fold in these:
            if not fold or all(self._done(trials[each.number, fold]) for each in alive):
                for each in alive:
                    self._note(each, fold, self.kept.get(trials[each.number, fold].id))

    def _note(self, each: Standing, fold: int, row: Any) -> None:
        if row is not None and "error" in row:
            each.error = row["error"]
        elif row is not None:
            each.hits[fold] = hits_of(row)
            if (costs := costs_of(row)) is not None:
                each.costs[fold] = costs

    def _done(self, trial: Trial) -> bool:
        return self.kept.get(trial.id) is not None

    def _run(self, what: str, trials: Sequence[Trial], share: float) -> bool:
        """Run the trials that are not done; whether there was time for all of them."""
        todo = [trial for trial in trials if not self._done(trial)]
        self.told(what, 0, len(todo))
        if not todo:
            return True
        if self._out(share):
            return False
        self.told(f"{what}: {todo[0].candidate.name}", 0, len(todo))
        done, clock = 0, Clock(self._left(share))
        with closing(run_all(todo, {PEOPLE: self.packed}, run_trial, failed, self.jobs, self.dask, clock)) as rows:
            for done, row in enumerate(rows, 1):
                self.kept.put(row)
                after = f": {todo[done].candidate.name}" if done < len(todo) else ""
                self.told(what + after, done, len(todo))
                if done < len(todo) and self._out(share):
                    return False
        return done == len(todo)

    def _left(self, share: float) -> float | None:
        """Seconds until a share of the time is over; None without a limit."""
        return None if self.time_limit is None else share * self.time_limit - (now() - self.begin)

    def _out(self, share: float) -> bool:
        """Whether a share of the time is over."""
        left = self._left(share)
        return left is not None and left < 0

    def _late(self) -> str:
        return f"{self.time_limit:g} seconds were over"


def _promise(one: Standing) -> float:
    """What a candidate costs about the people that it is made from, or minus its accuracy: the least comes first."""
    cost: float | None = one.audit.get("train_cost")
    return -float(one.audit["train_accuracy"]) if cost is None else cost


def _named(folds: range) -> str:
    return f"fold {folds.start + 1}" if len(folds) == 1 else f"folds {folds.start + 1} to {folds.stop}"
