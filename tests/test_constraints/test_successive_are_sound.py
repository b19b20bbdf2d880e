"""Several releases about overlapping people: the truth satisfies what is compiled of all of them together."""

import numpy as np
import pytest
from hypothesis import given
from support.strategies import populations, thorough
from support.successive import WHO, Successive, successive

from maxent.api.case import Tables, read_case
from maxent.api.successive import of_one
from maxent.constraints.program.residuals import Evaluator
from maxent.solvers.certainty.levels import prove
from maxent.solvers.control import Clock


@thorough(4)
@given(releases=successive())
def test_the_truth_satisfies_all_releases_together(releases: Successive) -> None:
    holds(releases)


@pytest.mark.slow
@thorough(600)
@given(releases=successive())
def test_the_truth_satisfies_many_releases_together(releases: Successive) -> None:
    holds(releases)


def holds(releases: Successive) -> None:
    program = releases.compiled()
    truth = releases.true_masses(program)
    evaluator = Evaluator(program)
    linear = evaluator.linear.violation(truth)
    assert linear.max(initial=0.0) <= 1e-9, str(program.linear[evaluator.linear.constraint[linear.argmax()]])
    assert evaluator.max_violation(truth) <= 1e-9
    assert program.contradictions == ()


@pytest.mark.slow
@thorough(60)
@given(releases=successive(populations(rows=(3, 14), public=(1, 2), private=(0, 1), classes=(2, 3)), (2, 2)))
def test_the_truth_lies_inside_what_is_proved_of_all_releases_together(releases: Successive) -> None:
    program = releases.compiled()
    truth = np.zeros((len(program.table), program.n_classes))
    np.add.at(truth, program.cells.owner, releases.true_masses(program))
    joined = read_case(releases.releases, Tables(releases.tables, who=WHO)).joined
    assert joined is not None
    alone = [prove(of_one(program, joined, i), "linear", Clock()).bounds for i in range(2)]
    for level in ("closed", "linear", "convex"):
        proved = prove(program, level, Clock())
        assert proved.status == "proved"
        assert (proved.bounds.low <= truth).all()
        assert (truth <= proved.bounds.high).all()
    for one in alone:  # what another release states never widens a bound
        assert (proved.bounds.low >= one.low - 1e-5).all()
        assert (proved.bounds.high <= one.high + 1e-5).all()
