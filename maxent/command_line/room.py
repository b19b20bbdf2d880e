"""Libraries that are loaded sooner: parts that they load for nobody; and room for SciPy, which is looked for before."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

# SciPy's, and scikit-learn's, copy of all that NumPy has a name for: modules for tests and for Fortran, too, which
# NumPy itself loads when they are asked for. They take half of the time in which SciPy is loaded.
COPY = "array_api_compat.numpy"

# Bytes that SciPy and scikit-learn take when they are loaded, and OpenBLAS for each thread, of at most so many.
LIBRARIES, BUFFER, MOST_THREADS = 500_000_000, 50_000_000, 64


class NoRoom(MemoryError):
    """The process may not have the memory that libraries take."""


class BeforeSciPy:
    """A finder of modules that looks for room when SciPy is about to be loaded, and keeps copies of NumPy short."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name == "scipy":
            check_room()
        if name == "dataclasses" and sys.version_info < (3, 13):  # later ones compile once for each class
            return followed_by(name, path, without_compiling)
        return short_copy(name, path) if name.endswith(COPY) else None


def without_compiling(dataclasses: Any) -> None:
    """Let no source text be made and compiled for what all frozen classes have alike: that is half of their time."""

    def frozen(cls: Any, fields: Sequence[Any], *_: object) -> tuple[Any, Any]:
        names = frozenset(each.name for each in fields)

        def __setattr__(self: object, name: str, value: object) -> None:
            if type(self) is cls or name in names:
                raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
            super(cls, self).__setattr__(name, value)

        def __delattr__(self: object, name: str) -> None:
            if type(self) is cls or name in names:
                raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
            super(cls, self).__delattr__(name)

        return __setattr__, __delattr__

    def shown(fields: Sequence[Any], *_: object) -> Any:
        names = [each.name for each in fields]

        def __repr__(self: object) -> str:
            return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

        return dataclasses._recursive_repr(__repr__)

    dataclasses._frozen_get_del_attr, dataclasses._repr_fn = frozen, shown


def followed_by(name: str, path: Sequence[str] | None, then: Callable[[ModuleType], None]) -> ModuleSpec | None:
    """A module that is changed as soon as it is loaded."""
    from importlib.machinery import PathFinder

    found = PathFinder.find_spec(name, path)
    if found is not None and found.loader is not None:
        run = found.loader.exec_module

        def loaded(module: ModuleType) -> None:
            run(module)
            then(module)

        found.loader.exec_module = loaded  # type: ignore[method-assign]
    return found


def short_copy(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """A copy of NumPy, made while NumPy tells of no module that is not loaded."""
    from importlib.machinery import PathFinder

    import numpy as np

    found = PathFinder.find_spec(name, path)
    if found is None or found.loader is None:
        return found
    run = found.loader.exec_module

    def copied(module: ModuleType) -> None:
        names, listed = np.__dir__, np.__all__
        np.__dir__ = lambda: [each for each in names() if each in np.__dict__]  # type: ignore[method-assign]
        np.__all__ = [each for each in listed if each in np.__dict__]
        try:
            run(module)
        finally:
            np.__dir__, np.__all__ = names, listed  # type: ignore[method-assign]

    found.loader.exec_module = copied  # type: ignore[method-assign]
    return found


def check_room() -> None:
    """Refuse to load SciPy where memory is limited to less than it takes (``ulimit -v``): `NoRoom` says how much.

    Its OpenBLAS asks again, for ever, where it gets no buffer for a thread.
    """
    if sys.platform == "win32":
        return
    import mmap
    import resource

    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return
    asked = os.environ.get("OPENBLAS_NUM_THREADS", "")
    threads = min(int(asked) if asked.isdecimal() and int(asked) else os.cpu_count() or 1, MOST_THREADS)
    needed = LIBRARIES + threads * BUFFER
    try:
        mmap.mmap(-1, needed, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        expected = f"{needed // 10**6} MB more for SciPy with {threads} threads (OPENBLAS_NUM_THREADS=1 takes less)"
        raise NoRoom(
            f"memory: expected {expected}, found a limit of the process (ulimit -v) that leaves less"
        ) from None
