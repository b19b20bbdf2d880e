"""Programs of a handful of masses, and where solves of them may start."""

import numpy as np
import pandas as pd

from maxent.models.induction.inducers import id3
from maxent.solvers.backend import Options
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Stop
from support.programs import whole


def release_and_people(impurity, seed, *, publish="rates", classes="abc", n=14):
    """A tree of depth 2 over three attributes of two values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.integers(0, 2, n).astype(str) for name in "ABC"})
    weight = frame["A"].astype(int) + 2 * frame["B"].astype(int)
    frame["X"] = np.array(list(classes))[(weight + rng.integers(0, 2, n)) % len(classes)]
    settings = {"impurity": impurity, "min_samples_split": 4, "max_depth": 2, "publish": publish}
    return id3(frame, target="X", qi=["A", "B", "C"], **settings), frame


def part(impurity, seed, **options):
    """The whole program of such a release, in one piece."""
    return whole(*release_and_people(impurity, seed, **options))[1]


def start(part, rng=None):
    """A point with the right totals: all free masses alike, with noise when there is a generator."""
    program = part.program
    share = np.ones(program.n_masses) if rng is None else np.exp(0.3 * rng.standard_normal(program.n_masses))
    held = np.bincount(program.owner, share, len(program.total))
    share *= program.total[program.owner] / held[program.owner]
    masses = part.known.copy()
    masses[program.group, program.klass] = share
    return part.point(masses)


def best_of_ipopt(part, starts=5):
    """The best answer of Ipopt from several starts."""
    rng, own = np.random.default_rng(0), Derivatives(part.program)
    options = Options()
    found = [IpoptBackend("own").solve(part.program, start(part, rng), options) for _ in range(starts)]
    solved = [s for s in found if s.stop is Stop.CONVERGED and s.violation <= options.tolerance]
    return min((s.point for s in solved), key=own.objective)


def entropy(part, point):
    """The objective, which is maximised, nats per individual."""
    return -Derivatives(part.program).objective(point) / part.program.total.sum()


def assert_same_masses(part, point, other):
    """Equal in every probability to 1e-6."""
    program = part.program
    weight = program.total[program.owner]
    n = program.n_masses
    np.testing.assert_allclose(point[:n] / weight, other[:n] / weight, rtol=0, atol=1e-6)
