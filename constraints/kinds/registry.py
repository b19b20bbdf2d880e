"""Registry of the kinds of constraints: a new kind is a module with its generator and an entry here."""

from __future__ import annotations

from collections import Counter

from maxent.constraints.kinds import (
    boosting,
    bootstrap,
    class_rates,
    counts,
    facts,
    label,
    marginal,
    moments,
    noise,
    rate,
    size,
    split_choice,
    statements,
)
from maxent.constraints.kinds import boosting as kinds_boosting
from maxent.constraints.kinds.context import Kind
from maxent.constraints.program.program import Program

QI = Kind(
    "qi",
    "the table: the probabilities of the classes of every quasi-identifier sum to 1",
    r"\sum_{c \in C(q)} \sum_x m_{c,x} = w_q \quad \text{for every quasi-identifier } q",
)

# Name -> kind, in the order of reports.
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        QI,
        label.KIND,
        rate.KIND,
        class_rates.KIND,
        counts.KIND,
        bootstrap.RESAMPLED,
        bootstrap.DRAWN_MOMENTS,
        noise.KIND,
        boosting.COUNTS,
        kinds_boosting.SUMS,
        moments.KIND,
        size.KIND,
        marginal.KIND,
        split_choice.KIND,
        facts.KIND,
        statements.KIND,
    )
}


def knowledge() -> tuple[str, ...]:
    """Kinds of knowledge of an adversary: the choices of ``--knowledge``."""
    return tuple(dict.fromkeys(kind.knowledge for kind in KINDS.values() if kind.knowledge is not None))


def kinds_of(program: Program) -> dict[str, int]:
    """Number of constraints of each kind in a program, in the order of reports; of rows all equations of draws."""
    found = Counter({QI.name: len(program.table.counts)})
    for constraint in program.linear:
        found[constraint.kind] += len(constraint.lower)
    found[split_choice.KIND.name] = sum(len(comparison.codes) for comparison in program.internal)
    if program.row_equations is not None:
        kind = "resampled" if program.release.target.numbers is None else "drawn"
        found[kind] = program.row_equations["equations"] or 0
    return {name: found[name] for name in KINDS}
