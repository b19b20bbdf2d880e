"""All back ends say the same of the same problem: one by one against dense solves, and against each other."""

import warnings

import numpy as np
import pytest
from conformance.answers import random_problem
from hypothesis import given
from support.brute_force import compare, refusal, releases
from support.search import cases
from support.strategies import thorough

import maxent
from maxent.solvers.backends.registry import load_backend, usable_backends

SAME = 1e-6  # Largest difference of probabilities (convex programs) and of entropies, nats per individual (others)


@pytest.mark.parametrize("private", [False, True], ids=["public", "private"])
def test_against_brute_force(backend, private):
    @thorough(3)
    @given(case=releases(private, (2, 3), ("rate", "counts", "mixture")))
    def check(case):
        compare(case, starts=3, backend=backend)

    check()


def agree(seeds, limit=None):
    """Every back end's answers to some random problems; those that refuse one are left out there.

    Branch and bound takes minutes to hours for a few of them: it may stop at a limit of so many seconds, and has to say
    so.
    """
    solved = 0
    for seed in seeds:
        release, qi = random_problem(seed)
        limits = {name: limit if _branches(name) else None for name in usable_backends()}
        found = {name: _quietly(release, qi, name, most) for name, most in limits.items()}
        found = {name: answer for name, answer in found.items() if refusal(answer) is None}
        assert {"auto", "ipopt", "newton"} <= set(found)
        stopped = {name for name, answer in found.items() if answer.summary["status"] == "time_limit"}
        assert stopped <= {name for name, most in limits.items() if most}
        found = {name: answer for name, answer in found.items() if name not in stopped}
        best = max(found.values(), key=lambda answer: answer.summary["entropy"])
        for name, answer in found.items():
            where = f"{name} on problem {seed}: {answer.notes}"
            assert answer.summary["max_violation"] <= 1e-8, where
            assert answer.summary["status"] == "optimal", where
            if best.summary["convex"]:
                assert np.abs(answer.probabilities - best.probabilities).max() <= SAME, where
            elif answer.summary["certificate"] == "global" or name in ("auto", "ipopt", "newton"):
                assert answer.summary["entropy"] >= best.summary["entropy"] - SAME, where
        solved += len(found)
    return solved


def _branches(name):
    """Whether a back end is branch and bound."""
    return getattr(load_backend(name), "finds_global", False)


def _quietly(release, qi, backend, limit):
    """An answer, be it none to rely on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", maxent.UnreliableResult)
        return maxent.estimate(release, qi, backend=backend, time_limit=limit)


def test_random_problems():
    assert agree(range(5)) > 5 * 3


@pytest.mark.slow
@pytest.mark.search
def test_many_random_problems():
    assert agree(cases(5, 40, hunted=10), limit=20) > 10 * 3
