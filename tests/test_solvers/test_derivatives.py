"""The Pyomo form and the program's own derivatives are the same program."""

import numpy as np
import pytest
from programs import private, public, whole
from scipy import sparse

from maxent.solvers.derivatives import Derivatives
from maxent.solvers.pyomo_model import PyomoDerivatives

CASES = {
    "gini": lambda: public("gini"),
    "entropy": lambda: public("entropy"),
    "gain ratio": lambda: public("gain_ratio"),
    "counts": lambda: public("gini", "counts"),
    "private gini": lambda: private("gini"),
    "private entropy": lambda: private("entropy"),
}


def dense(values, structure, shape):
    return sparse.coo_matrix((values, structure), shape=shape).toarray()


def interior(program, rng):
    high = np.where(np.isfinite(program.upper), program.upper, program.lower + 5.0)
    return program.lower + (high - program.lower) * rng.uniform(0.1, 0.9, program.n)


@pytest.mark.parametrize("case", CASES)
def test_both_forms_agree_at_random_points(case):
    _, part = whole(*CASES[case]())
    program = part.program
    assert len(program.nl_const) > 0
    assert ("private" in case) == any((terms.size_var >= 0).any() for terms in program.terms)
    rng = np.random.default_rng(1)
    own, pyomo = Derivatives(program), PyomoDerivatives(program, interior(program, rng))
    n_rows = own.n_rows
    for _ in range(3):
        z, multipliers = interior(program, rng), rng.standard_normal(n_rows)
        assert pyomo.objective(z) == pytest.approx(own.objective(z), rel=1e-12)
        np.testing.assert_allclose(pyomo.gradient(z), own.gradient(z), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(pyomo.constraints(z), own.constraints(z), rtol=1e-10, atol=1e-11)
        shape = (n_rows, program.n)
        np.testing.assert_allclose(
            dense(pyomo.jacobian(z), pyomo.jacobianstructure(), shape),
            dense(own.jacobian(z), own.jacobianstructure(), shape),
            rtol=1e-9,
            atol=1e-12,
        )
        square = (program.n, program.n)
        np.testing.assert_allclose(
            dense(pyomo.hessian(z, multipliers, 0.7), pyomo.hessianstructure(), square),
            dense(own.hessian(z, multipliers, 0.7), own.hessianstructure(), square),
            rtol=1e-9,
            atol=1e-12,
        )


@pytest.mark.parametrize("case", ["gini", "entropy", "private entropy"])
def test_own_derivatives_equal_finite_differences(case):
    _, part = whole(*CASES[case]())
    own = Derivatives(part.program)
    rng = np.random.default_rng(2)
    z, step = interior(part.program, rng), 1e-6
    jacobian = dense(own.jacobian(z), own.jacobianstructure(), (own.n_rows, part.program.n))
    for j in rng.choice(part.program.n, 12, replace=False):
        ahead, behind = z.copy(), z.copy()
        ahead[j] += step
        behind[j] -= step
        slope = (own.constraints(ahead) - own.constraints(behind)) / (2 * step)
        np.testing.assert_allclose(jacobian[:, j], slope, atol=1e-7)
        rise = (own.objective(ahead) - own.objective(behind)) / (2 * step)
        assert own.gradient(z)[j] == pytest.approx(rise, rel=1e-6, abs=1e-7)
