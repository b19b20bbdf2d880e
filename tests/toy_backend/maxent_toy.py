"""A back end of a third party, whole: SciPy's SLSQP on the program as it is."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Solution, Stop


class Stopped(Exception):
    """The clock ends SciPy's iterations."""


class ToyBackend:
    """One solve from the start that it is given; small programs only."""

    name = "toy"
    solves = "small programs (up to 100 variables), locally"

    def version(self) -> str:
        return "0.1"

    def refuses(self, program) -> str | None:
        return f"{program.n} variables, and it takes at most 100" if program.n > 100 else None

    def solve(self, program, start, options) -> Solution:
        own = Derivatives(program)
        lower, upper = own.bounds()
        equal, low = lower == upper, np.isfinite(lower) & (lower < upper)
        high = np.isfinite(upper) & (lower < upper)

        def jacobian(z):
            values = (own.jacobian(z), own.jacobianstructure())
            return sparse.csr_matrix(values, shape=(own.n_rows, program.n)).toarray()

        last = [np.clip(start, program.lower, program.upper), 0]

        def watch(z) -> None:
            last[:] = [z.copy(), last[1] + 1]
            if options.clock.stop() is not None:
                raise Stopped

        rows = [
            {"type": "eq", "fun": lambda z: (own.constraints(z) - lower)[equal], "jac": lambda z: jacobian(z)[equal]},
            {"type": "ineq", "fun": lambda z: (own.constraints(z) - lower)[low], "jac": lambda z: jacobian(z)[low]},
            {"type": "ineq", "fun": lambda z: (upper - own.constraints(z))[high], "jac": lambda z: -jacobian(z)[high]},
        ]
        try:
            found = minimize(
                own.objective,
                last[0],
                jac=own.gradient,
                method="SLSQP",
                bounds=list(zip(program.lower, program.upper, strict=True)),
                constraints=rows,
                callback=watch,
                options={"maxiter": options.iterations_for(program), "ftol": 1e-14},
            )
            last[0], stop = found.x, Stop.CONVERGED if found.success else Stop.NUMERICAL
        except Stopped:
            stop = options.clock.stop()
        return Solution(last[0], stop, own.violation(last[0]), last[1], "", self.name)
