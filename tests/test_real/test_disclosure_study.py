"""The page zhu_2010/README.md and its figures are what zhu_2010/study.py makes of Adult."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from papers.zhu_2010 import page, protocol, published, study
from support.paths import ROOT
from test_real.instances import data_folder

from maxent.api.estimate import compile_release
from maxent.constraints.program.residuals import Evaluator
from maxent.models.tables.truth_and_facts import read_truth


@cache
def people() -> Any:
    if not (data_folder() / "adult.csv").is_file():
        pytest.skip(f"needs real data: no file {data_folder() / 'adult.csv'}")
    return protocol.People.read(str(data_folder()))


@cache
def tree(name: str) -> Any:
    impurity, stop = protocol.TREES[name]
    return stop.tree(people().training(), impurity)


def rows(name: str) -> list[list[str]]:
    """The rows of a table of the page."""
    text = (ROOT / "examples" / "papers" / "zhu_2010" / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"<!-- table: {name} -->\n(.*?)<!-- end -->", text, re.DOTALL)
    assert found is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()][2:]


def test_the_printed_numbers_agree_with_one_another() -> None:
    classes = published.CLASSES - 1
    assert {impurity: leaves * classes for impurity, leaves in published.LEAVES.items()} == published.LABELS
    printed = np.array(published.FIGURE_7, float)
    np.testing.assert_allclose(printed[:, 0], printed[:, 2] - printed[:, 1], atol=1.01e-3)
    assert np.all(np.diff(printed[:, 0]) < 0)


@pytest.mark.parametrize("name", ["Gini", "Gini, three levels", "information gain"])
def test_the_trees_are_of_about_the_published_size(name: str) -> None:
    impurity, _ = protocol.TREES[name]
    size = protocol.Size.of(tree(name), people())
    assert size.leaves == pytest.approx(published.LEAVES[impurity], rel=0.06)
    if name != "Gini, three levels":
        assert size.comparisons == pytest.approx(published.INTERNAL[impurity], rel=0.03)
    said = next(row for row in rows("defenses") if row[:2] == [name, "none"])
    assert said[3:6] == [f"{size.leaves:,}", f"{size.accuracy:.3f}", f"{size.test_accuracy:.3f}"]


@pytest.mark.parametrize("name", ["Gini", "information gain"])
def test_the_truth_satisfies_everything_that_the_trees_say(name: str) -> None:
    program = compile_release(tree(name), people().train[list(protocol.QI)])
    assert not program.contradictions
    truth = read_truth(people().train, program.release, program.table).astype(np.float64)[program.cells.owner]
    evaluator = Evaluator(program)
    assert evaluator.internal.n_rows > 0
    assert evaluator.max_violation(truth) <= 1e-12


@pytest.mark.parametrize(
    ("name", "knowledge"),
    [
        ("Gini", "labels, splits"),
        ("Gini", "rates, splits"),
        ("Gini", "counts"),
        ("information gain", "rates"),
        pytest.param("information gain", "rates, splits", marks=pytest.mark.slow),
        ("information gain", "counts, splits"),
    ],
)
def test_the_page_says_what_is_measured(name: str, knowledge: str) -> None:
    found = protocol.measure(people(), tree(name), knowledge)
    overall = next(row for row in rows("overall") if row[:2] == [name, knowledge])
    assert overall[2:4] == [page.nats(found.entropy), page.nats(found.overall)]
    assert overall[-2:] == [f"{found.certain:,}", f"{found.right:.1%}"]
    certificate = next(row for row in rows("certificates") if row[:2] == [name, knowledge])
    assert certificate[2] == found.certificate
    assert certificate[4] == f"{found.bound:.5f}"


def test_with_linear_statements_the_divergence_is_the_entropy_gap() -> None:
    """H* - H(X|Q) is the same entropy of the truth for every tree, by every table of the page."""
    linear = [row for row in rows("overall") if "splits" not in row[1]]
    assert len({row[0] for row in linear}) == 3
    assert [float(row[2]) - float(row[3]) for row in linear] == pytest.approx([1.314] * len(linear), abs=1.1e-3)


def test_the_worked_examples_are_as_the_page_says() -> None:
    examples = study.examples()
    assert page.figure_5(examples).splitlines()[2:] == [f"| {' | '.join(row)} |" for row in rows("figure-5")]
    assert page.d1(examples).splitlines()[2:] == [f"| {' | '.join(row)} |" for row in rows("d1")]
    assert all(found.certificate == "global" for found in examples.values())


def test_times_are_measured_in_a_process_of_its_own() -> None:
    cost = study.cost(str(ROOT / "examples" / "d1"), protocol.KNOWLEDGE["rates, splits"])
    assert cost.seconds > 0
    assert cost.megabytes > 10


def test_the_study_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study.main([str(tmp_path)]) == 2
    (tmp_path / "README.md").touch()
    monkeypatch.delenv("MAXENT_DATA", raising=False)
    assert study.main([str(tmp_path)]) == 2
    assert "MAXENT_DATA" in capsys.readouterr().err
