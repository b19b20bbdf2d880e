"""The registry of kinds of constraint: what is entered there is compiled, counted, reported and written as LaTeX."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.paths import D1

import maxent
from maxent.__main__ import main
from maxent.constraints.compiler import compile_program
from maxent.constraints.kinds import registry
from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.program.program import Linear
from maxent.disclosure.inference import NO_GROUP, _groups
from maxent.models.errors import Origin
from maxent.models.formats.registry import load_release
from maxent.models.tables.qi_table import read_qi


def at_least_one(context: Context):
    """Somebody has the first class."""
    first = np.eye(context.n_classes)[:1]
    low, high = np.ones(1), np.full(1, np.inf)
    yield Linear("toy", Origin("toy"), context.region(0, 0), first, low, high, "somebody has the first class")


TOY = Kind("toy", "toys: somebody has the first class", r"\sum_c m_{c,1} \ge 1", at_least_one)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.KINDS, TOY.name, TOY)


@pytest.mark.usefixtures("toy")
def test_a_new_kind_is_one_generator_and_one_entry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree, qi = str(D1 / "tree.json"), str(D1 / "qi.csv")
    found = maxent.estimate(tree, qi)
    assert found.summary["constraints"]["toy"] == 1
    assert main(["estimate", tree, qi, "--report", str(tmp_path / "report.html")]) == 0
    assert "1 toy" in capsys.readouterr().out
    assert "somebody has the first class" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert main(["explain", tree, qi, "--latex"]) == 0
    text = capsys.readouterr().out
    assert r"\paragraph{toy}" in text
    assert TOY.latex in text


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("about_classes", [True, False])
def test_people_of_whom_a_kind_states_something_are_a_group(
    monkeypatch: pytest.MonkeyPatch, about_classes: bool
) -> None:
    monkeypatch.setitem(registry.KINDS, TOY.name, replace(TOY, about_classes=about_classes))
    table = read_qi(D1 / "qi.csv", release := load_release(D1 / "tree.json"))
    program = compile_program(release, table, knowledge=["internal"])
    [groups] = _groups(program, np.full((len(program.cells), 2), 0.5))
    assert set(groups.of) == {0 if about_classes else NO_GROUP}


def test_every_kind_has_words_a_formula_and_its_own_name() -> None:
    for name, kind in registry.KINDS.items():
        assert kind.name == name
        assert ": " in kind.words
        assert kind.latex


def test_the_documentation_has_every_kind() -> None:
    page = (D1.parents[1] / "docs" / "method.md").read_text(encoding="utf-8")
    assert [kind for kind in registry.KINDS if f"\n| `{kind}` | " not in page] == []
    *first, last = (f"`{kind}`" for kind in registry.knowledge())
    assert f"`--knowledge` takes {', '.join(first)} and {last}," in page
