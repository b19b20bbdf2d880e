"""The impurity measures: one SymPy statement, everything else derived from it."""

import importlib.resources

import numpy as np
import pytest
import sympy

from maxent.constraints.program import impurity
from maxent.constraints.program.impurity_numpy import PHI


def test_the_generated_module_is_what_the_statements_give():
    shipped = (
        importlib.resources.files("maxent.constraints.program")
        .joinpath("impurity_numpy.py")
        .read_text(encoding="utf-8")
    )
    assert shipped == impurity.numpy_source()


@pytest.mark.parametrize("name", sorted(PHI))
def test_numpy_values_and_derivatives_equal_sympys(name):
    a, w = impurity.symbols()
    phi = impurity.statement(name)
    derivatives = {"value": phi, "d_a": phi.diff(a), "d_w": phi.diff(w), "d_aa": phi.diff(a, 2)}
    derivatives |= {"d_aw": phi.diff(a, w), "d_ww": phi.diff(w, 2)}
    rng = np.random.default_rng(0)
    points = rng.uniform(0.1, 9.0, (20, 2))
    for field, expression in derivatives.items():
        exact = [float(expression.evalf(30, subs={a: x, w: y})) for x, y in points]
        np.testing.assert_allclose(getattr(PHI[name], field)(*points.T), exact, rtol=1e-13, err_msg=field)


@pytest.mark.parametrize(
    ("name", "of_branch"), [("gini", lambda p: 1 - (p**2).sum()), ("entropy", lambda p: -(p * np.log(p)).sum())]
)
def test_a_branch_weighs_its_size_times_its_impurity(name, of_branch):
    masses = np.array([3.0, 1.0, 6.0])
    size = masses.sum()
    constant = size if name == "gini" else 0.0
    phi = PHI[name].value(masses, np.full(3, size)).sum()
    assert constant - phi == pytest.approx(size * of_branch(masses / size), rel=1e-14)


def test_latex_comes_from_the_statement():
    assert r"\log" in impurity.impurity_latex("entropy")
    assert r"^{2}" in impurity.impurity_latex("gini")
    assert sympy.simplify(impurity.statement("gain_ratio") - impurity.statement("entropy")) == 0
