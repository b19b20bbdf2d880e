"""Generalised records of real data, through the engine: Contraceptive and Adult in tiers."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from papers.yang_2019 import page, study, tiers
from support.generalised import table_rows, true_masses
from support.paths import ROOT
from support.strategies import People
from support.studies import check_what_it_lacks
from test_real.instances import data_folder
from test_real.test_erp_paper import adult, contraceptive

import maxent
from maxent.api.attack import audit_records
from maxent.constraints.program.residuals import Evaluator
from maxent.models.defenses.generalization import tiered
from maxent.models.induction.growth import Growth
from maxent.models.induction.inducers import induce


def people_of(training):
    """Records as the tests have them."""
    columns = dict(zip([a.name for a in training.attributes], training.columns, strict=True))
    return People(training.attributes, columns, training.y, training.target.classes)


def check(training, k):
    """Solved, true of the people, and no surer than what every assignment shows; the estimate and its audit."""
    people = people_of(training)
    table = tiered(training, induce(training, Growth("cart", seed=0)), k)
    found = maxent.estimate(table, people.qi, people.frame.rename(columns={"Y": training.target.name}))
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


PAGE = ROOT / "examples" / "papers" / "yang_2019" / "README.md"


def rows(name: str) -> list[list[str]]:
    """A table of the page, without its header."""
    found = re.search(rf"<!-- table: {name} -->\n(.*?)<!-- end -->", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in found[1].splitlines()[2:]]


def test_the_worked_example_is_as_printed() -> None:
    """Needs no data: every figure that the paper prints is marked, and Table 1 is the same record by record."""
    for name, table in study.example().items():
        assert f"<!-- table: {name} -->\n{table}<!-- end -->" in (
            ROOT / "examples" / "papers" / "yang_2019" / "README.md"
        ).read_text("utf-8")
    assert sum(cell.startswith("**") for row in rows("example") for cell in row) == len(page.RISK)
    assert [row[-1] for row in rows("table-1")] == ["exact"] * 5


def test_tiers_lose_less_than_pruned_groups_in_every_fold() -> None:
    held = {tuple(row[:2]): row[2:] for row in rows("orders")}
    for data in tiers.DATA:
        folds = 3 * tiers.HELD_OUT[data]
        assert held[page.TITLES[data], "Proposed < ERP-only"][0] == f"{folds} of {folds}"


def test_the_page_says_what_is_disclosed(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = data_folder()
    if not (folder / "contraceptive.csv").is_file():
        pytest.skip("needs real data: contraceptive.csv in the folder that MAXENT_DATA names")
    monkeypatch.setenv("MAXENT_DATA", str(folder))
    monkeypatch.setattr(study, "KS", (30,))
    found = dict(study.everything(tiers.load("contraceptive"), "contraceptive"))
    said = {tuple(row[:3]): row[3:8] for row in rows("disclosure")}
    for key, row in found.items():
        if key[1] != "tree":  # other versions of scikit-learn may break ties differently
            line = page.disclosed({key: row}, {}).splitlines()[-1]
            assert said[tuple(page.named(key))] == [cell.strip() for cell in line.strip("|").split(" | ")][3:8]
    plain = found["contraceptive", "tree", 0]
    assert all(plain.divergence < row.divergence for key, row in found.items() if key[1] != "tree")


def test_the_study_says_what_it_lacks(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    tiers.load.cache_clear()
    check_what_it_lacks(study, tmp_path, monkeypatch, capsys)
