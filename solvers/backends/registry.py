"""Back ends by name, through entry points, and the default back end, which chooses one for each part.

A name is that of an entry point in the group ``maxent.backends``, such as ``newton``, or that and an argument for it
after a colon, such as ``pyomo:ipopt``. Beside what `Backend` asks for, a class may have, for those who choose:
``solves``, one line on the programs it takes; ``version()``, the versions of what it uses; ``available()``, a static
method with the arguments that would work here; ``reference``, True for one that is used only where it is named. Where
there is no instance without an argument, ``version`` is a static method, too.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from maxent.models.errors import MaxentError, MissingExtra, UnknownBackend
from maxent.models.hints import close_to
from maxent.solvers.backend import Backend

GROUP = "maxent.backends"
# The default back end, which is there whatever is installed.
AUTO = "auto"
Factory = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Description:
    """A back end as ``maxent backends`` shows it; ``missing`` is why it cannot be used here, and how to get it."""

    name: str
    installed: bool
    version: str = ""
    solves: str = ""
    missing: str = ""


def backend_names() -> tuple[str, ...]:
    """Names that `load_backend` knows before a colon, ``auto`` first."""
    from importlib.metadata import entry_points  # which takes longer to load than a small release to read

    return (AUTO, *sorted({entry.name for entry in entry_points(group=GROUP)} - {AUTO}))


def load_backend(name: str) -> Backend:
    """The back end of a name; what follows the first colon is passed to its factory.

    Raises `UnknownBackend` for a name or argument that is not known, `MissingExtra` for what is not installed.
    """
    if not isinstance(name, str):
        raise UnknownBackend(f"one of {', '.join(backend_names())}", repr(name))
    kind, colon, argument = name.partition(":")
    make = _factory(kind)
    if not _takes(make, *([argument] if colon else [])):
        if colon:
            raise UnknownBackend(f"{kind!r} alone, which takes no argument", repr(name))
        here = ", ".join(_choices(make))
        raise UnknownBackend(f"{kind}:NAME{here and ', with a NAME that is here: '}{here}", repr(name))
    backend: Backend = make(argument) if colon else make()
    return backend


def describe_backends() -> tuple[Description, ...]:
    """Every registered back end, in the order of `backend_names`; solvers are not loaded where they need not be."""
    return tuple(_describe(name) for name in backend_names())


def usable_backends() -> tuple[str, ...]:
    """Names that `load_backend` takes here as they are: in place of a back end that needs a NAME, those it finds.

    References, which others are tested against, are left out: they prove nothing, and have to be named.
    """
    names: list[str] = []
    for found in describe_backends():
        make = _factory(found.name) if found.installed else None
        if make is not None and not getattr(make, "reference", False):
            names += [found.name] if _takes(make) else [f"{found.name}:{choice}" for choice in _choices(make)]
    return tuple(names)


def _factory(kind: str) -> Factory:
    """Constructor of the back ends of an entry point: its class, usually."""
    if kind == AUTO:
        from maxent.solvers.backends.auto import AutoBackend

        return AutoBackend
    from importlib.metadata import entry_points

    for entry in entry_points(group=GROUP, name=kind):
        try:
            make: Factory = entry.load()
        except (ImportError, AttributeError) as error:
            raise MissingExtra(f"backend {kind!r} cannot be loaded: {error}") from error
        return make
    names = backend_names()
    raise UnknownBackend(f"one of {', '.join(names)}", f"{kind!r}{close_to(kind, names)}")


def _takes(make: Factory, *arguments: str) -> bool:
    """Whether a factory can be called with these arguments."""
    try:
        inspect.signature(make).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # written in C, without a signature
        return True
    return True


def _choices(make: Factory) -> tuple[str, ...]:
    """Arguments of a factory that would work here, if it can tell, by a static method ``available``."""
    available = getattr(make, "available", None)
    return tuple(available()) if available is not None else ()


def _describe(name: str) -> Description:
    solves = ""
    try:
        make = _factory(name)
        solves = getattr(make, "solves", "")
        choices = _choices(make)
        if choices:
            solves = f"{solves}; here: {', '.join(f'{name}:{choice}' for choice in choices)}"
        # One that needs a NAME tells its version without, by a static method.
        subject = make() if _takes(make) else make
    except Exception as error:  # one that is broken must not hide the others
        text = str(error) if isinstance(error, MaxentError) else f"{type(error).__name__}: {error}"
        return Description(name, False, solves=solves, missing=text)
    version = ""
    with suppress(Exception):
        version = str(getattr(subject, "version", str)())
    return Description(name, True, version, solves)
