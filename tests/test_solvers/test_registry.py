"""Back ends are found by name."""

import pytest

from maxent.solvers.backend import Backend
from maxent.solvers.registry import UnknownBackend, backend_names, load_backend


def test_ipopt_is_there_and_the_default():
    assert backend_names()[0] == "auto"
    assert "ipopt" in backend_names()
    for name in ("auto", "ipopt"):
        backend = load_backend(name)
        assert isinstance(backend, Backend)
        assert backend.name == "ipopt"


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UnknownBackend, match=r"no backend 'ipop'; known: auto.*ipopt"):
        load_backend("ipop")
