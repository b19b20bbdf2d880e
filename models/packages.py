"""Packages that may be missing here: whether one is there, and how to get it."""

from __future__ import annotations

from importlib.util import find_spec

from maxent.models.errors import MissingExtra

# Modules that are optional, with the extra of maxent that brings them
EXTRAS = {
    "distributed": "dask",
    "fsspec": "dask",
    "matplotlib": "plot",
    "mlflow": "mlflow",
    "openpyxl": "excel",
    "pyscipopt": "scip",
    "starlette": "serve",
    "uvicorn": "serve",
}

# Packages of an extra, as pip knows them, where they are not its one module
PACKAGES = {"dask": "distributed fsspec", "mlflow": "mlflow-skinny", "serve": "starlette uvicorn"}

# Modules that come with maxent and are imported only where they are needed, with the name that pip knows
BASE = {
    "charset_normalizer": "charset-normalizer",
    "cvxpy": "cvxpy",
    "cyipopt": "cyipopt-wheels",
    "msgspec": "msgspec",
    "ortools": "ortools",
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "pyomo": "pyomo",
    "sklearn": "scikit-learn",
    "sympy": "sympy",
}


def installed(module: str) -> bool:
    """Whether a module can be found; it is not imported."""
    return find_spec(module) is not None


def how_to_install(module: str) -> str:
    """Say how to get a module of `EXTRAS` or `BASE`: by its own packages, or from the repository.

    Never by the name of maxent, which stands for nothing of ours on an index of packages.
    """
    if module in EXTRAS:
        extra = EXTRAS[module]
        return f"pip install {PACKAGES.get(extra, module)}; in a copy of the repository: pip install '.[{extra}]'"
    return f"pip install {BASE[module]}"


def need(module: str, what: str) -> None:
    """Refuse to go on without a module; ``what`` begins the message: "a plot needs matplotlib"."""
    if not installed(module):
        raise MissingExtra(f"{what}: {how_to_install(module)}")


def absent(error: ModuleNotFoundError) -> str | None:
    """Say what is missing and how to get it, when an import failed for a package of maxent; None for any other."""
    module = (error.name or "").partition(".")[0]
    if module in EXTRAS or module in BASE:
        return f"this needs {BASE.get(module, module)}, which is not installed: {how_to_install(module)}"
    return None
