"""Impurity measures, each defined once in SymPy; code and formulas are derived from the definition.

A branch with ``W`` individuals, ``a_x`` of them of class ``x``, has the impurity ``W I = const W - sum_x phi(a_x, W)``
(Zhu & Du 2010, section 4.2, eqs 2-4, times the number of individuals), with a convex ``phi`` per measure:

* ``gini``: ``phi = a^2 / W``;
* ``entropy`` (information gain): ``phi = a ln(a / W)``;
* ``gain_ratio``: the entropy's ``phi``; the comparison divides by the split information.

So ``E_T <= E_U`` reads ``sum_T phi - sum_U phi >= 0``, for every measure and without divisions by a node's size.

From the statement come: the vectorised NumPy functions of `maxent.constraints.program.impurity_numpy` (written by
``python -m maxent.constraints.program.impurity``, so that a run need not import SymPy; a test compares them), the Pyomo
expression of the exported model (the same functions with Pyomo's logarithm), and the LaTeX of
``maxent explain --latex``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sympy

# The `phi` of an impurity measure.
PHI_OF = {"gini": "gini", "entropy": "entropy", "gain_ratio": "entropy"}


def symbols() -> tuple[sympy.Symbol, sympy.Symbol]:
    """``a`` (individuals of one class in a branch) and ``W`` (individuals in the branch), both positive."""
    import sympy

    return sympy.Symbol("a", positive=True), sympy.Symbol("W", positive=True)


def statement(measure: str) -> sympy.Expr:
    """``phi(a, W)`` of an impurity measure, individuals (gini) or individuals times nats (entropy)."""
    import sympy

    a, w = symbols()
    return {"gini": a**2 / w, "entropy": a * sympy.log(a / w)}[PHI_OF[measure]]


def impurity_latex(measure: str) -> str:
    r"""LaTeX of the expected impurity ``E(Lambda, A)`` of splitting node Lambda on attribute A."""
    import sympy

    a, w = symbols()
    names = {a: sympy.Symbol("m_{v x}"), w: sympy.Symbol("w_v")}
    term = sympy.latex(statement(measure).subs(names))
    return rf"\frac{{1}}{{w_\Lambda}} \sum_{{v}} \Bigl({'w_v' if measure == 'gini' else '0'} - \sum_x {term}\Bigr)"


def numpy_source() -> str:
    """Source of `maxent.constraints.program.impurity_numpy`, printed from the statements."""
    import sympy
    from sympy.printing.pycode import pycode

    a, w = symbols()
    lines = [
        '"""Every `phi` with its derivatives, vectorised: arrays of positive numbers of one shape in, one out.',
        "",
        "Written by ``python -m maxent.constraints.program.impurity`` from the statements there; do not edit.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from collections.abc import Callable",
        "from typing import Any, NamedTuple",
        "",
        "from numpy import log",
        "",
        "Function = Callable[..., Any]",
        "",
        "",
        "class Phi(NamedTuple):",
        '    """``phi(a, w)`` and its first and second derivatives; ``log`` may be another library\'s logarithm."""',
        "",
    ]
    derivatives = {"value": (), "d_a": (a,), "d_w": (w,), "d_aa": (a, a), "d_aw": (a, w), "d_ww": (w, w)}
    lines += [f"    {suffix}: Function" for suffix in derivatives]
    lines += ["", "", "PHI = {"]
    for name in sorted(set(PHI_OF.values())):
        lines.append(f'    "{name}": Phi(')
        for suffix, by in derivatives.items():
            expression = sympy.diff(statement(name), *by) if by else statement(name)
            code = pycode(expression, fully_qualified_modules=False).replace("W", "w")
            lines.append(f"        {suffix}=lambda a, w, log=log: {code},")
        lines.append("    ),")
    return "\n".join([*lines, "}"]) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("impurity_numpy.py").write_text(numpy_source(), encoding="utf-8")
