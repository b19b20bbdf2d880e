"""Trials of candidates: the audit of a candidate's release, or its accuracy on a fold of the people."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.disclosure.limits import DRAWS_KEYS, ROW_KEYS, Limits
from maxent.disclosure.measures import audited
from maxent.disclosure.sensitive import sensitive_codes
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.method import Method, Wanted
from maxent.models.defenses.optimal.costs import CostFile, read_costs
from maxent.models.errors import ARGUMENT, MaxentError, NoAnswerInTime, invalid
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.reading import Reader, reader_of
from maxent.models.release import Release
from maxent.models.tables.frame import Source
from maxent.models.tables.qi_table import people_of
from maxent.models.tables.training import Order, Training, read_training, stratified
from maxent.models.trees.predict import cases_of, score
from maxent.results.reliability import unwarned
from maxent.studies.data import Packed
from maxent.studies.points import failure

if TYPE_CHECKING:
    from maxent.advice.ranking import Candidate

# The people whom candidates are made from, read once, and their folds.


@dataclass(frozen=True, slots=True, eq=False)
class TrialPeople:
    """Records with their classes, for each order of domains, and the fold that each is tested in, shape (n,)."""

    trainings: Mapping[Order, Training]
    fold: IntArray
    sensitive: tuple[int, ...]
    digest: str
    start: Release | None = None
    costs: FloatArray | None = None

    @property
    def training(self) -> Training:
        """The records, domains sorted."""
        return self.trainings["sorted"]

    def costs_of(self, training: Training) -> FloatArray | None:
        """The costs with a column for each class in the order of these records, which may be another."""
        named, here = self.training.target.classes, training.target.classes
        return None if self.costs is None else self.costs[:, [named.index(name) for name in here]]

    def wanted(self, limits: Limits) -> Wanted:
        """What grids of methods may know of the limits and the records."""
        training = self.training
        right = [limits.max_right_guesses] if limits.max_right_guesses is not None else []
        if limits.max_lift is not None:
            right.append(limits.max_lift + float(np.bincount(training.y).max()) / len(training))
        names = ",".join(training.target.classes[code] for code in self.sensitive)
        return Wanted(
            records=len(training),
            numeric=any(attribute.values is None for attribute in training.attributes),
            min_k=limits.min_k,
            max_posterior=limits.max_posterior,
            max_certain=limits.max_certain,
            max_right_guesses=min(right, default=None),
            sensitive=names or None,
            private=any(attribute.role == "private" for attribute in training.attributes),
            start=0 if self.start is None else len(self.start.trees),
        )


def read_people(
    source: Source,
    columns: Mapping[str, Any],
    *,
    folds: int,
    seed: int,
    sensitive: str | Iterable[str] | None,
    reader: Reader,
    start: Release | None = None,
    cost: Any = None,
    domains: Mapping[str, Sequence[str]] | None = None,
) -> TrialPeople:
    """Read records; ``columns`` are arguments of `maxent.defend`, ``domains`` the values that a model knows."""
    first = read_training(source, **columns, domains=domains or {}, reader=reader)
    appearance = first
    if start is None:
        appearance = read_training(source, **columns, order="appearance", reader=reader)
    trainings: Mapping[Order, Training] = {"sorted": first, "appearance": appearance}
    if len(first) < folds:
        raise invalid("options", ARGUMENT, "folds", f"at most {len(first)}, the number of records", str(folds))
    codes = sensitive_codes(sensitive, first.target)
    costs = None if cost is None else read_costs(CostFile(cost, reader), first.target)
    digest = _digest(first, columns, start, costs)
    return TrialPeople(trainings, stratified(first.y, folds, seed), codes, digest, start, costs)


def _digest(training: Training, columns: Mapping[str, Any], start: Release | None, costs: FloatArray | None) -> str:
    """A hash of records as they were read, of the model to start from, and of costs."""
    stated = [[each.name, each.role, each.values] for each in training.attributes]
    about = [stated, training.target.name, training.target.classes, sorted(map(str, columns.items()))]
    about += [] if start is None else [json.dumps(release_to_document(start), default=str)]
    about += [] if costs is None else [costs.tolist()]
    found = hashlib.sha256(json.dumps(about).encode())
    for column in (*training.columns, training.y):
        found.update(np.ascontiguousarray(column).tobytes())
    return found.hexdigest()


# Of what rows say: those of another version are not used again.
VERSION = 2
# Time for the estimate of one candidate; one that takes longer is not known to keep the limits.
SECONDS = 60.0

# Keys of a row of a comparison that a row has.
KEPT = (
    *(*ROW_KEYS, "status", "min_population", "divergence", "entropy", "targets", "sensitive"),
    *("unread", "individuals", "base_posterior", "base_most", *DRAWS_KEYS),
)

PEOPLE = "people"


@dataclass(frozen=True, slots=True)
class Trial:
    """A candidate, audited (``fold`` None) or tested on a fold; ``id`` is a hash of all that its row depends on."""

    id: str
    candidate: Candidate
    seed: int
    fold: int | None = None
    data: str = PEOPLE


def trial_of(candidate: Candidate, people: TrialPeople, seed: int, fold: int | None = None) -> Trial:
    """The trial of a candidate."""
    folds = int(people.fold.max()) + 1
    about: list[Any] = ["audit", people.sensitive] if fold is None else ["fold", fold, folds]
    stated = json.dumps([VERSION, people.digest, candidate.method, candidate.options, seed, *about])
    return Trial(hashlib.sha256(stated.encode()).hexdigest()[:32], candidate, seed, fold)


def run_trial(trial: Trial, packed: Packed) -> dict[str, Any]:
    """The row of a trial; an error becomes a row that says so, as other candidates are worth trying."""
    try:
        with unwarned():
            people = _unpack(packed)
            found = _audit(trial, people) if trial.fold is None else _test(trial, people, trial.fold)
    except Exception as error:
        found = failed(trial, error)
    return {"trial": trial.id, **found}


def failed(trial: Trial, error: BaseException) -> dict[str, Any]:
    """The row of a trial that has no result."""
    return {"trial": trial.id, "error": failure(error)["error"] or type(error).__name__}


def hits_of(row: Mapping[str, Any]) -> BoolArray:
    """Who of a fold was predicted right, shape (n_tested,)."""
    packed = np.frombuffer(base64.b64decode(row["hits"]), np.uint8)
    return np.unpackbits(packed, count=row["records"]).astype(bool)


def costs_of(row: Mapping[str, Any]) -> FloatArray | None:
    """What decisions cost about the people of a fold, shape (n_tested,); None where accuracy counts."""
    if "costs" not in row:
        return None
    return np.frombuffer(zlib.decompress(base64.b64decode(row["costs"])), "<f8")


def costs_about(release: Release, asked: Method, cases: Any, costs: FloatArray) -> FloatArray:
    """What the cheapest decisions by a release cost about people whose classes are known, shape (n,)."""
    shares = asked.chances()(release, cases.attributes, cases.columns, len(cases.y))
    return np.asarray(costs[(shares @ costs.T).argmin(axis=1), cases.y])


@lru_cache(maxsize=1)
def _unpack(packed: Packed) -> TrialPeople:
    people: TrialPeople = pickle.loads(packed if isinstance(packed, bytes) else Path(packed).read_bytes())
    return people


def forget() -> None:
    """Forget the people that trials in this process left to be shared."""
    _unpack.cache_clear()


def _made(trial: Trial, training: Training, people: TrialPeople) -> tuple[Any, Mapping[str, Any], Any]:
    """The release of records, what is said of it, and the method as it was asked."""
    from maxent.api.defend import publication
    from maxent.api.start import counted

    asked = _asked(trial, training, people)
    grown = asked.origin(training) if people.start is None else counted(people.start, training)
    release, row = publication(asked, training, grown, None)
    return release, row, asked


def _asked(trial: Trial, training: Training, people: TrialPeople) -> Any:
    names = [attribute.name for attribute in training.attributes]
    alone = people.start is None or len(people.start.trees) == 1  # several trees are chosen by their accuracy
    method = trial.candidate.asked(trial.seed, people.costs_of(training) if alone else None)
    return method.read(training.target.name, names, reader_of(None))


def _training(trial: Trial, people: TrialPeople) -> Training:
    return people.trainings[trial.candidate.asked(trial.seed).domain_order]


def _test(trial: Trial, people: TrialPeople, fold: int) -> dict[str, Any]:
    """Accuracy on the people of a fold, and what decisions cost, of a release about all others."""
    training = _training(trial, people)
    release, _, asked = _made(trial, training.take(people.fold != fold), people)
    tested = training.take(people.fold == fold)
    hits = asked.predictor()(release, tested.attributes, tested.columns, len(tested)) == tested.y
    text = base64.b64encode(np.packbits(hits).tobytes()).decode()
    row = {"accuracy": float(hits.mean()), "records": len(tested), "hits": text}
    costs = people.costs_of(training)
    if costs is None:
        return row
    each = costs_about(release, asked, tested, costs)
    packed = base64.b64encode(zlib.compress(each.astype("<f8").tobytes())).decode()
    return {**row, "cost": float(each.mean()), "costs": packed}


def _audit(trial: Trial, people: TrialPeople) -> dict[str, Any]:
    """The release of all people as the engine sees it."""
    training = _training(trial, people)
    release, row, asked = _made(trial, training, people)
    costs = people.costs_of(training)
    return {
        "same": mark_of(release),
        "leaves": row.get("leaves"),
        "guarantee": row.get("guarantee"),
        "train_accuracy": score(release, cases_of(training), asked.predictor()).accuracy,
        "train_cost": None if costs is None else float(costs_about(release, asked, training, costs).mean()),
        "found": numbers_of(release, training, people.sensitive, trial.seed),
    }


def mark_of(release: Release) -> str:
    """A hash of what is published but for the name of the defense and the ids of nodes."""
    document = release_to_document(release)
    trees = [{**tree, "nodes": list(_numbered(list(tree["nodes"])))} for tree in document["trees"]]
    stated = {**document, "release": None, "trees": trees}
    return hashlib.sha256(json.dumps(stated, default=str).encode()).hexdigest()[:32]


def _numbered(nodes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Nodes from the root downwards, in the place of ids numbers in this order."""
    by_id = {node["id"]: node for node in nodes}
    waiting = [nodes[0]["id"]]
    while waiting:
        node = dict(by_id[waiting.pop()])
        branches = node.get("branches", [])
        waiting += [branch["child"] for branch in reversed(branches) if branch["child"] is not None]
        told = [{**branch, "child": branch["child"] is not None} for branch in branches]
        yield {**node, "id": None, "branches": told}


def numbers_of(release: Release, training: Training, sensitive: tuple[int, ...], seed: int) -> dict[str, Any]:
    """The numbers that limits are about, by the estimate, the attacks and the truth."""
    from maxent.api.audit import assess
    from maxent.api.case import Case
    from maxent.api.compile import Knowledge
    from maxent.api.estimate import Solving

    table, truth = people_of(training)
    case = Case(release, table, truth=truth, sensitive=sensitive, informed=True)
    found = assess(case, Knowledge(), Solving(seed=seed, time_limit=SECONDS))
    numbers: dict[str, Any] = {"status": "time_limit", **audited(found.audit.summary)}
    with suppress(NoAnswerInTime):
        numbers |= found.row  # what groups prove is known, and a limit that they do not break is not known to be kept
    return {key: _plain(numbers[key]) for key in KEPT if key in numbers}


def proved_of(
    release: Release,
    training: Training,
    sensitive: tuple[int, ...],
    found: Mapping[str, Any],
    limits: Limits,
    seconds: float,
) -> Mapping[str, Any]:
    """The numbers that were found of a release with those that are proved, where limits need these."""
    from maxent.api.case import Case
    from maxent.api.compile import Knowledge, compile_case
    from maxent.api.proving import Certainty

    table, truth = people_of(training)
    program = compile_case(Case(release, table, truth=truth, sensitive=sensitive, informed=True), Knowledge())
    return Certainty(program, truth, sensitive, seconds)(found, limits)


def _plain(value: Any) -> Any:
    """A number as JSON has it; infinity, of a divergence, is not known."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    found = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(found, float) and not isfinite(found) else found


def published(candidate: Candidate, people: TrialPeople, seed: int) -> tuple[Release, Training, tuple[str, ...]]:
    """The release of a candidate about all people, these, and notes on what it guarantees."""
    trial = trial_of(candidate, people, seed)
    training = _training(trial, people)
    release, row, asked = _made(trial, training, people)
    if not isinstance(release, Release):
        raise MaxentError(f"{candidate.method} publishes no trees")
    rows = [{"k": getattr(asked, "k", None), **row}]
    return release, training, tuple(asked.notes(training, [release], rows))
