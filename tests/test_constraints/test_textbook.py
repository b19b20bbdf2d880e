"""The program as the paper prints it: the reference that presolve and lifting are held against."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conformance.answers import random_problem
from support.programs import private, public

import maxent
from maxent.__main__ import main
from maxent.api.estimate import compile_release
from maxent.constraints.program.residuals import Evaluator
from maxent.constraints.textbook import beyond, textbook_model
from maxent.models.formats.maxent_json.write import save_release
from maxent.solvers.backends.registry import backend_names, usable_backends

EXAMPLES = Path(__file__).parents[2] / "examples"
D1, D2 = ([str(EXAMPLES / name / file) for file in ("tree.json", "qi.csv")] for name in ("d1", "d2"))
PRINTED = ("label", "rate", "internal")


def agree(release, people, **options):
    """The same entropy, as printed, presolved in parts and lifted in one piece."""
    options = {"knowledge": PRINTED, **options}
    printed = maxent.estimate(release, people, backend="textbook", starts=2, **options)
    assert printed.summary["status"] == "optimal", printed.notes
    assert printed.summary["max_violation"] <= 1e-8
    for presolve in (True, False):
        found = maxent.estimate(release, people, presolve=presolve, **options)
        assert found.summary["status"] == "optimal"
        assert found.summary["entropy"] == pytest.approx(printed.summary["entropy"], abs=1e-6)


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
@pytest.mark.parametrize("files", [D1, D2], ids=["d1", "d2"])
def test_the_examples_of_the_paper(files, impurity):
    agree(*files, impurity=impurity)


@pytest.mark.parametrize("number", [0, 1, 6, 7])
def test_random_releases(number):
    release, people = random_problem(number)
    agree(release, people)


@pytest.mark.slow
@pytest.mark.parametrize("number", [2, 3, 8, 9, 18, 19, 20, 21])
def test_more_random_releases(number):
    release, people = random_problem(number)
    agree(release, people)


@pytest.mark.parametrize("knowledge", [("label",), ("rate",), ("label", "rate")])
def test_less_knowledge(knowledge):
    release, people = random_problem(3)
    agree(release, people, knowledge=knowledge)


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
def test_private_attributes_leave_sizes_open(impurity):
    release, frame = private(impurity)
    some = frame[(frame["B"] != "2") & (frame["C"] == "0")]
    agree(release, some[["B", "C"]])


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
@pytest.mark.parametrize("make", [public, private])
def test_rows_have_the_values_of_the_compiled_statements(make, impurity):
    import pyomo.environ as pyo

    release, frame = make(impurity)
    program = compile_release(release, frame[["A", "B", "C"] if make is public else ["B", "C"]], knowledge=PRINTED)
    assert not beyond(program)
    share = np.random.default_rng(3).dirichlet(np.ones(program.n_classes), len(program.cells))
    share /= np.bincount(program.cells.owner)[program.cells.owner][:, None]
    masses, model, evaluator = share * program.weight[:, None], textbook_model(program), Evaluator(program)
    for (cell, klass), variable in model.p.items():
        variable.set_value(share[cell, klass])
    assert pyo.value(model.entropy) == pytest.approx(program.entropy(masses), abs=1e-12)
    assert all(pyo.value(row.body) == pytest.approx(1.0) for row in model.qi.values())
    worst = [max(-row.lslack(), -row.uslack(), 0.0) for row in (*model.label.values(), *model.rate.values())]
    assert max(worst) > 0
    assert max(worst) == pytest.approx(evaluator.linear.violation(masses).max())
    slack = evaluator.internal.slack(masses)
    assert len(slack) == len(model.internal) > 0
    # The paper divides by all people in the node; where a private attribute was tested above it, by all who may be.
    assert [pyo.value(row.body) for row in model.internal.values()] == pytest.approx(slack.tolist(), abs=1e-12)


def counted():
    release, frame = public("gini", publish="counts")
    return release, frame[["A", "B", "C"]]


def by_ratio():
    release, frame = public("gain_ratio")
    return release, frame[["A", "B", "C"]]


def drawn():
    release, frame = public("gini", publish="counts")
    return replace(release, sampling_rate=0.5), frame[["A", "B", "C"]]


@pytest.mark.parametrize(
    ("make", "name"), [(counted, "counts"), (by_ratio, "internal (gain_ratio)"), (drawn, "samples")]
)
def test_what_is_beyond_the_paper_is_refused_by_name(make, name):
    release, people = make()
    with pytest.warns(maxent.UnreliableResult):
        found = maxent.estimate(release, people, backend="textbook")
    [said] = [note for note in found.notes if note.startswith("textbook refuses: ")]
    assert name in said
    assert found.summary["status"] == "not_converged"


def test_facts_are_refused_by_name(tmp_path):
    facts = tmp_path / "facts.csv"
    people = pd.read_csv(D1[1])
    facts.write_text(
        pd.DataFrame([{**people.iloc[0].drop("count", errors="ignore"), "Salary": ">50K"}]).to_csv(index=False)
    )
    program = compile_release(*D1, facts=facts)
    assert beyond(program) == ("facts",)


def test_it_has_to_be_named():
    assert "textbook" in backend_names()
    assert "textbook" not in usable_backends()


def test_the_model_as_text(tmp_path):
    file = tmp_path / "model.txt"
    assert main(["explain", *D1, "--textbook", "--pyomo", str(file)]) == 0
    text = file.read_text(encoding="utf-8")
    assert "# p[0,1]: Salary=>50K | Education=Masters, Country=USA, Gender=Female (leaf L1)" in text
    assert "5 : 0.5 : p[6,1] : 0.5 : True" in text  # the last leaf's rate
    assert "aggregate" not in text


def test_the_model_is_not_written_where_it_would_say_less(tmp_path, capsys):
    release, people = counted()
    tree, qi, file = tmp_path / "tree.json", tmp_path / "qi.csv", tmp_path / "model.txt"
    save_release(release, tree)
    people.to_csv(qi, index=False)
    assert main(["explain", str(tree), str(qi), "--textbook", "--pyomo", str(file)]) == 2
    assert "this release states counts" in capsys.readouterr().err
    assert not file.exists()


def test_textbook_needs_a_file(capsys):
    assert main(["explain", *D1, "--textbook"]) == 2
    assert "--textbook: expected --pyomo or --nl" in capsys.readouterr().err
