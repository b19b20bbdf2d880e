"""Back ends by name, through entry points: a third party adds one without touching this package."""

from __future__ import annotations

from importlib.metadata import entry_points

from maxent.models.errors import MaxentError
from maxent.solvers.backend import Backend

GROUP = "maxent.backends"
DEFAULT = "ipopt"


class UnknownBackend(MaxentError, ValueError):
    """A back end that is not installed; names those that are."""


class MissingExtra(MaxentError, ImportError):
    """A back end whose solver cannot be imported."""


def backend_names() -> tuple[str, ...]:
    """Names that `load_backend` knows, ``auto`` first."""
    return ("auto", *sorted({entry.name for entry in entry_points(group=GROUP)}))


def load_backend(name: str) -> Backend:
    """The back end of a name; ``auto`` is the default one.

    Raises
    ------
    UnknownBackend
        When no entry point has the name.
    MissingExtra
        When the back end is registered but what it needs is not installed.
    """
    wanted = DEFAULT if name == "auto" else name
    for entry in entry_points(group=GROUP, name=wanted):
        try:
            make = entry.load()
        except ImportError as error:
            raise MissingExtra(f"backend {wanted!r} cannot be loaded: {error}") from error
        backend: Backend = make()
        return backend
    raise UnknownBackend(f"no backend {name!r}; known: {', '.join(backend_names())}")
