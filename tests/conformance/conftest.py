"""Every test here runs once for each installed back end, which passes it or refuses the program with a reason."""

import pytest

from maxent.solvers.backends.registry import usable_backends


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "backend" in metafunc.fixturenames:
        metafunc.parametrize("backend", usable_backends())
