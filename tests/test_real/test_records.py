"""Generalised records of real data, through the engine: Contraceptive and Adult in tiers."""

import numpy as np
import pytest
from support.generalised import table_rows, true_masses
from support.strategies import People
from test_real.test_erp_paper import adult, contraceptive

import maxent
from maxent.api.attack import audit_records
from maxent.constraints.program.residuals import Evaluator
from maxent.models.defenses.generalization import tiered
from maxent.models.induction.inducers import Growth, induce


def people_of(training):
    """Records as the tests have them."""
    names = [a.name for a in training.attributes]
    columns = dict(zip(names, training.columns, strict=True))
    return People(training.attributes, columns, training.y, training.target.classes)


def check(training, k):
    """Solved, true of the people, and no surer than what every assignment shows; the estimate and its audit."""
    people = people_of(training)
    table = tiered(training, induce(training, Growth("cart", seed=0)), k)
    truth = people.frame.rename(columns={"Y": training.target.name})
    found = maxent.estimate(table, people.qi, truth)
    assert found.certificate == "global"
    assert found.outcome.violation <= 1e-10
    attacks = audit_records(table, people.qi)
    sure = attacks.possible.only
    assert np.array_equal(found.probabilities[sure >= 0].argmax(axis=1), sure[sure >= 0])
    assert found.probabilities[sure >= 0].max(axis=1) == pytest.approx(1)
    assert (found.probabilities[sure < 0].max(axis=1) < 1).all()
    assert attacks.summary["covering"]["kk_anonymous"] >= k
    in_order = attacks.records  # of rows sorted by text; those of the people in order are found by their boxes
    group = {tuple(row): i for i, row in enumerate(attacks.table.iloc[:, 1 : 1 + len(training.attributes)].to_numpy())}
    boxes = table.frame(in_order=True).iloc[:, :-1].to_numpy()
    classes = np.array([in_order.table.target.classes.index(people.classes[y]) for y in people.y])
    rows = table_rows(people, attacks.people)
    masses = true_masses(found.program, rows, [group[tuple(box)] for box in boxes], classes)
    assert Evaluator(found.program).max_violation(masses) == 0
    assert found.disclosure.divergence.infinite == 0
    return found, attacks


@pytest.mark.parametrize("k", [10, 30])
def test_contraceptive_in_tiers(k):
    found, attacks = check(contraceptive(), k)
    assert found.outcome.backends["scaling"] > 0
    assert attacks.summary["assignment"]["exposed"] >= attacks.summary["spans"]["exposed"]


@pytest.mark.slow
def test_adult_in_tiers():
    found, attacks = check(adult(), 10)
    assert len(attacks.owner) == 408_323
    assert attacks.summary["exposed"]["assignment"] > 0
    assert found.outcome.iterations > 0
