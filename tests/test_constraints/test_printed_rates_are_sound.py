"""However rates were printed, the truth satisfies what is compiled, and an audit claims nothing that is not so."""

from dataclasses import dataclass
from decimal import ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.documents import release_document

import maxent
from maxent.api.audit import audit_release
from maxent.constraints.compiler import compile_program
from maxent.constraints.program.residuals import Evaluator
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.tables.qi_table import read_qi

TIES = (ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP)


@dataclass(frozen=True)
class Printed:
    """The counts of leaves, and the release that prints their labels and rates; leaf i is where A is ``vi``.

    ``decimals`` is whether all rates have as many decimals, not as many significant digits.
    """

    counts: tuple[tuple[int, ...], ...]
    release: maxent.Release
    decimals: bool = True

    @property
    def qi(self) -> pd.DataFrame:
        rows = [(f"v{i}", sum(counts)) for i, counts in enumerate(self.counts)]
        return pd.DataFrame(rows, columns=["A", "n"])


def release_of(counts: Any, rates: Any, *, sized: bool) -> maxent.Release:
    """A tree with a leaf for each of some counts, whose rates are printed as given."""
    classes = ["a", "b", "c"][: len(counts[0])]
    leaves = [
        {
            "id": f"L{i}",
            "label": classes[int(np.argmax(leaf))],
            "error_rate": rate,
            **({"n": sum(leaf)} if sized else {}),
        }
        for i, (leaf, rate) in enumerate(zip(counts, rates, strict=True))
    ]
    values = [f"v{i}" for i in range(len(leaves))]
    branches = [{"in": [value], "child": leaf["id"]} for value, leaf in zip(values, leaves, strict=True)]
    return parse_release(
        release_document("T", classes, {"A": values}, [{"id": "N", "attribute": "A", "branches": branches}, *leaves]),
        "printed",
    )


@st.composite
def printed(draw: Any) -> Printed:
    """Two to four leaves, of sizes that rates of few digits look exact for as well, printed in some way."""
    size = st.one_of(st.integers(1, 30), st.integers(1, 30).map(lambda i: 100 * i), st.integers(1, 3000))
    digits, ties = draw(st.integers(1, 5)), draw(st.sampled_from((*TIES, None)))
    n_classes, found, rates = draw(st.integers(2, 3)), [], []
    for n in draw(st.lists(size, min_size=2, max_size=4)):
        wrong = draw(st.one_of(st.integers(0, min(n // 2, 3)), st.integers(0, n // 2)))
        of_one = draw(st.integers(0, wrong)) if n_classes == 3 else wrong
        found.append((n - wrong, of_one, wrong - of_one)[:n_classes])
        exact = Decimal(wrong) / Decimal(n)
        rates.append(float(f"{exact:.{digits}g}" if ties is None else exact.quantize(Decimal(1).scaleb(-digits), ties)))
    return Printed(tuple(found), release_of(found, rates, sized=draw(st.booleans())), ties is not None)


@given(case=printed())
def test_the_truth_satisfies_printed_rates(case):
    table = read_qi(case.qi, case.release, count="n")
    for rounding in ("auto", "digits") if case.decimals else ("auto",):
        program = compile_program(case.release, table, rounding=rounding)
        leaf = [int(table.levels[0][code][1:]) for code in table.codes[program.cells.owner, 0]]
        truth = np.array([case.counts[i] for i in leaf], np.float64)
        assert Evaluator(program).max_violation(truth) <= 1e-9


@given(case=printed(), known=st.integers(0, 3), with_table=st.booleans())
@pytest.mark.regression(number=5)
def test_an_audit_claims_nothing_of_printed_rates_that_is_not_so(case, known, with_table):
    options = {"qi": case.qi, "count": "n"} if with_table else {}
    found = audit_release(case.release, background=known, **options)
    tree, truth = found.trees[0], np.array(case.counts)
    for i, leaf in enumerate(truth):
        wrong = int(leaf.sum() - leaf.max())
        if tree.homogeneity.leaves[i]:
            assert wrong == 0
        if tree.background.leaves[i]:
            assert wrong <= known
        assert (tree.bounds.low[i, :-1] <= leaf).all()
        assert (leaf <= tree.bounds.high[i, :-1]).all()
    if with_table:
        pure = sum(int(leaf.sum()) for leaf in truth if leaf.max() == leaf.sum())
        assert found.summary["spans"]["exposed"] <= pure


@pytest.fixture
def rounded() -> Printed:
    """Errors 25, 51 and 1 of 200, 400 and 300, which look exact with two digits."""
    counts = ((175, 25), (349, 51), (299, 1))
    return Printed(counts, release_of(counts, (0.12, 0.13, 0.0), sized=True))


@pytest.mark.regression(number=5)
def test_rates_that_look_exact_prove_nothing(rounded):
    truth = pd.DataFrame(
        [(f"v{i}", "ab"[x], n) for i, leaf in enumerate(rounded.counts) for x, n in enumerate(leaf)],
        columns=["A", "T", "n"],
    )
    result = maxent.estimate(rounded.release, rounded.qi, truth, count="n")
    assert result.summary["disclosure"]["certain"] == 0
    assert "infinite" not in result.summary["divergence"]
    assert [note for note in result.notes if "2 digits and are read as intervals" in note]
    found = maxent.audit(rounded.release, rounded.qi, count="n")
    assert (found["homogeneity"]["leaves"], found["spans"]["exposed"]) == (0, 0)
    assert found["notes"] == list(result.notes)
    literal = maxent.estimate(rounded.release, rounded.qi, truth, count="n", rounding="exact")
    assert literal.summary["disclosure"]["certain"] == literal.summary["divergence"]["infinite"] * 300 == 300


@pytest.mark.regression(number=5)
def test_both_commands_say_when_digits_prove_that_rates_are_exact():
    counts = ((2, 1), (3, 0))
    for rates in ((0.33, 0.0), (1 / 3, 0.0)):
        case = Printed(counts, release_of(counts, rates, sized=True))
        estimated = maxent.estimate(case.release, case.qi, count="n")
        for notes in (estimated.notes, maxent.audit(case.release)["notes"]):
            assert [note for note in notes if "error rates are exact" in note]
        assert estimated.summary["disclosure"]["certain"] == 3
        assert maxent.estimate(case.release, case.qi, count="n", knowledge="label").notes == ()
