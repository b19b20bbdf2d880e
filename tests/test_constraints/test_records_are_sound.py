"""What is compiled of generalised records holds for the people that they were made from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.generalised import METHODS, generalised, table_rows, true_masses
from support.strategies import Style, cases, populations, thorough

from maxent.constraints.program.residuals import Evaluator
from maxent.constraints.records import compile_records
from maxent.models.formats.published_records import read_published


@pytest.mark.parametrize("method", METHODS)
@thorough(25)
@given(case=cases(populations(rows=(3, 40)), style=st.just(Style(leaf="counts"))), k=st.integers(1, 9))
def test_the_true_assignment_satisfies_every_constraint(tmp_path_factory, method, case, k):
    table = generalised(case, k, method)
    file = tmp_path_factory.getbasetemp() / "records.csv"
    public = [a.name for a in table.attributes if a.role == "public"]
    table.frame(in_order=True)[[*public, "Y"]].to_csv(file, index=False)
    records, people = read_published(str(file), case.people.qi)
    program = compile_records(records, people)
    classes = np.array([records.table.target.classes.index(case.people.classes[y]) for y in case.people.y])
    truth = true_masses(program, table_rows(case.people, people), records.table.box, classes)
    assert Evaluator(program).max_violation(truth) == 0
    assert program.contradictions == ()
    assert program.scaling.possible.all()
    assert program.entropy(truth) >= 0
