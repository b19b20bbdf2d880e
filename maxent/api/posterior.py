"""Estimates of people: of all together, or in parts, for any number of them."""

from __future__ import annotations

from typing import Any, cast

from maxent.api import options
from maxent.api.calling import takes
from maxent.api.case import Tables
from maxent.api.compile import Knowledge
from maxent.api.estimate import Solving, case_of, estimate_case
from maxent.models.errors import check_unused
from maxent.results.estimate import Estimate


@takes(options.Estimating)
def estimate(call: options.Estimating) -> Estimate:
    """The maximum-entropy posterior P(class | quasi-identifier) of an adversary who has the quasi-identifiers.

    The maximum-entropy estimate of Zhu & Du (2010, Definition 1): of all distributions that agree with everything
    the release says, the one that claims least beyond it.

    With ``folder`` or ``memory`` people are taken in parts, as more of them than memory holds: docs/scale.md.

    Returns
    -------
    Estimate
        Frozen; ``.posterior`` is a DataFrame, ``.summary`` the JSON summary. With ``population`` a
        `maxent.results.population.PopulationEstimate`, which has the same and ``.membership``.

    Warns
    -----
    UnreliableResult
        When the status of the result is not ``optimal``.
    """
    how, known = options.of(Solving, call), options.of(Knowledge, call)
    if call.folder is None and call.memory is None:
        case = case_of(call)
        if case.members is None:
            return estimate_case(case, known, how, interruptible=call.interruptible, progress=call.progress)
        from maxent.api.population import population_estimate

        found: Any = population_estimate(case, known, how, interruptible=call.interruptible, progress=call.progress)
        return cast("Estimate", found)
    from maxent.api.out_of_core.estimate import estimate_tables
    from maxent.api.out_of_core.folder import InParts

    check_unused("people who are not taken in parts", rows=call.rows or None, bounds=call.bounds)
    where, tables = InParts.of(call.folder, call.memory), options.of(Tables, call)
    known.check()
    return estimate_tables(call.release, tables, known, how, where, target=call.target, progress=call.progress)
