"""Modules of NumPy that SciPy asks for by name alone: they are loaded when something looks into them.

SciPy copies every name of NumPy, so that with its first import come tools of tests, of packaging and of Fortran, which
take longer to load than all of `scipy.sparse`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

SELDOM = ("ctypeslib", "f2py", "polynomial", "testing")
"""Names in NumPy."""


class BeforeSciPy:
    """A finder of modules that finds none: when SciPy is about to be loaded it makes `SELDOM` lazy, and is gone."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if name == "scipy" and self in sys.meta_path:
            sys.meta_path.remove(self)
            import numpy as np

            for each in SELDOM:
                make_lazy(np, each)


def make_lazy(package: ModuleType, name: str) -> None:
    """Put a module into a package, to be loaded at the first look at one of its names; a loaded one stays."""
    from importlib.util import LazyLoader, find_spec, module_from_spec

    whole = f"{package.__name__}.{name}"
    spec: ModuleSpec | None = None if whole in sys.modules else find_spec(whole)
    if spec is None or spec.loader is None:
        return
    spec.loader = LazyLoader(spec.loader)
    module = module_from_spec(spec)
    sys.modules[whole] = module
    spec.loader.exec_module(module)
    setattr(package, name, module)
