"""One point of a study -> its row: grow, defend, attack, estimate, measure."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from maxent.api.bench_process import high_water
from maxent.disclosure.measures import MEASURES, audited
from maxent.models.defenses.registry import asked_for
from maxent.models.errors import ARGUMENT, InvalidInput, MaxentError, check_unused
from maxent.models.packages import absent
from maxent.models.reading import reader_of
from maxent.models.tables.qi_table import people_of
from maxent.results.reliability import unwarned
from maxent.results.text.terminal import in_study, respelled
from maxent.studies.data import Packed, Protocol, split, unpack
from maxent.studies.study_file import ESTIMATE, FILES, OPTIONS, RELEASE, Point, method_of, part

if TYPE_CHECKING:
    from maxent.api.case import Case

GUARANTEE = ("k", "kk", "l", "alpha", "epsilon", "delta", "tight_delta")
# Status of a point that has no results but an ``error``, and of one that was only attacked.
FAILED, AUDITED = "failed", "audited"
# Columns that are not the same every time.
TIMES = ("seconds_release", "seconds_attacks", "seconds_compile", "seconds_solve", "peak_memory_mb")


def columns() -> dict[str, type]:
    """Columns of the results of a study, and what they hold; docs/sweep.md says what each means."""
    return {
        **{"point": str, "data": str, "seed": int, "fold": int},
        **OPTIONS,
        **{"status": str, "certificate": str, "error": str, "solver": str},
        **{"records": int, "test_records": int, "individuals": int, "distinct_qi": int},
        **{"leaves_before": int, "removed_records": int},
        **{f"guarantee_{name}": float for name in GUARANTEE},
        **{key: measure.kind for key, measure in MEASURES.items() if measure.swept},
        **{"duality_gap": float, "max_violation": float},
        **dict.fromkeys(TIMES, float),
    }


def run_point(point: Point, packed: Packed, protocol: Protocol) -> dict[str, Any]:
    """The row of a point, with those of `columns` that are known."""
    measured = _forget_peak()
    try:
        with unwarned():
            found = results(point, packed, protocol)
    except Exception as error:
        found = failure(error)
    return {**parameters(point), **found, "peak_memory_mb": high_water("self") if measured else None}


def parameters(point: Point) -> dict[str, Any]:
    """Columns of the row of a point before it is run."""
    return {"point": point.id, "data": point.data, "seed": point.seed, "fold": point.fold, **dict(point.options)}


def failure(error: BaseException) -> dict[str, Any]:
    """Columns of the row of a failed point: a line for each problem, with the names that the study has."""
    if isinstance(error, InvalidInput):
        problems = [respelled(problem, in_study) for problem in error.problems]
        lines = [
            str(p).removeprefix(f"{ARGUMENT}: ") if p.where == ARGUMENT else f"{error.source}: {p}" for p in problems
        ]
        return {"status": FAILED, "error": "\n".join(lines)}
    text = str(error) if isinstance(error, MaxentError) else f"{type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError):
        text = absent(error) or text
    return {"status": FAILED, "error": text}


def results(point: Point, packed: Packed, protocol: Protocol) -> dict[str, Any]:
    """Columns of the row of a point after it is run."""
    from maxent.api.audit import assess
    from maxent.api.case import taken
    from maxent.api.compile import Knowledge
    from maxent.api.estimate import Solving
    from maxent.results.solved import estimate_numbers

    options = dict(point.options)
    release = tuple(part(options, RELEASE).items())
    made = _made(packed, protocol, point.seed, point.fold, release)
    chosen = part(options, [*ESTIMATE, "rounding"])
    estimated = chosen.pop("estimate", True)
    known, how = taken(Knowledge, chosen), taken(Solving, {**chosen, "seed": point.seed})
    found = assess(made.case, known, how, **part(options, ("min_size", "background")))
    begin = time.perf_counter()
    attacks = found.audit.summary
    seconds = {"seconds_release": made.seconds, "seconds_attacks": time.perf_counter() - begin}
    row = {**audited(attacks), **made.numbers}
    if not estimated:
        return {"status": AUDITED, "individuals": attacks["individuals"], **row, **seconds}
    if made.case.records is not None:
        check_unused("trees, and these are records", knowledge=chosen.get("knowledge"))
    result = found.estimate
    return {
        **estimate_numbers(result),
        "solver": result.backend,
        "distinct_qi": result.program.table.distinct,
        "duality_gap": result.outcome.duality_gap,
        "max_violation": result.outcome.violation,
        **row,
        **seconds,
        **{f"seconds_{name}": value for name, value in result.seconds.items()},
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    """The defended release of some records, its columns, and the seconds it took."""

    case: Case
    numbers: Mapping[str, Any]
    seconds: float


@lru_cache(maxsize=4)
def _made(
    packed: Packed, protocol: Protocol, seed: int, fold: int | None, release: tuple[tuple[str, Any], ...]
) -> _Made:
    """Defend the records; the last results are remembered, as adversaries of several kinds share them."""
    from maxent.api.case import Case, Tables
    from maxent.api.defend import defend_training, read_for

    material, options = unpack(packed), dict(release)
    train, test = split(packed, protocol, seed, fold)
    asked = method_of(options)
    method = options.pop("method", "none")
    options |= {name: getattr(material, name) for name in FILES if options.get(name)}
    options |= {"seed": seed} if hasattr(asked, "seed") else {}
    given = test if asked.predicts else None
    begin, reader = time.perf_counter(), reader_of(material.reading)
    first, training = read_for(asked_for(method, options)[0], train, material.columns, reader)
    made = defend_training(method, [first], training, given, reader)
    seconds = time.perf_counter() - begin
    [found] = made.rows
    numbers = {name: found[name] for name in columns() if name in found and name not in OPTIONS}
    numbers |= {f"guarantee_{name}": value for name, value in (found["guarantee"] or {}).items() if name in GUARANTEE}
    numbers |= {"records": len(train), "test_records": None if given is None else len(given)}
    table, truth = people_of(training)
    if made.releases and (made.release.public, made.release.target) == (table.attributes, training.target):
        return _Made(Case(made.release, table, truth=truth), numbers, seconds)
    tables = Tables(train, train, reading=material.reading)
    return _Made(tables.case(made.tables[0] if made.tables else made.release), numbers, seconds)


@contextmanager
def remembering() -> Iterator[None]:
    """Forget at the end what points left to be shared, in a process that has other things to do."""
    try:
        yield
    finally:
        for remembered in (unpack, split, _made):
            remembered.cache_clear()


def _forget_peak() -> bool:
    """Let the largest resident memory of this process begin anew; False where the system cannot."""
    with suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
        return True
    return False
