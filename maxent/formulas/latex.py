r"""A program as formulas: a LaTeX document that compiles on its own (pdfLaTeX, LuaLaTeX, XeLaTeX; amsmath).

The impurities come from their SymPy statements in `maxent.constraints.impurity`.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from maxent.api.adversary.explain import in_tree_order
from maxent.constraints.impurity import impurity_latex
from maxent.constraints.kinds.registry import KINDS, kinds_of
from maxent.constraints.program import Internal, Linear, Program
from maxent.models.text.printable import printable

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "^": r"\textasciicircum{}",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "-": "-{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    ",": ",{}",
    "?": "?{}",
    "!": "!{}",
    "[": "{[}",
    "]": "{]}",
}
"""Characters that TeX reads as commands or joins with their neighbours; ``"`` needs the T1 encoding."""

_HEAD = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage{textcomp}
\usepackage{amsmath}
\allowdisplaybreaks
\begin{document}
"""


def escaped(text: str) -> str:
    """Text for LaTeX, every special character of a name as itself."""
    return "".join(_SPECIAL.get(c, c) for c in printable(text))


def latex_document(program: Program) -> str:
    """The objective, the general form of each kind of constraint that occurs, and every constraint as a formula."""
    kinds = [kind for kind, number in kinds_of(program).items() if number]
    constraints = in_tree_order(program)
    lines = [_HEAD + r"\section*{Unknowns and objective}", *_unknowns(program), r"\section*{Kinds of constraints}"]
    for kind in kinds:
        lines += [rf"\paragraph{{{kind}}}", rf"\[ {KINDS[kind].latex} \]"]
    for measure in sorted({c.measure for c in program.internal}):
        lines += _impurity(measure)
    lines += [
        r"\section*{Constraints}",
        r"\begin{itemize}",
        rf"\item {escaped(program.table.source)}, qi: $\sum_{{c \in C(q)}} \sum_x m_{{c,x}} = w_q$"
        rf" for {len(program.table)} quasi-identifiers",
    ]
    for constraint in constraints:
        kind = constraint.kind if isinstance(constraint, Linear) else "internal"
        formulas = _linear(program, constraint) if isinstance(constraint, Linear) else _internal(program, constraint)
        lines.append(rf"\item {escaped(str(constraint.origin))}, {kind}: " + ",\n  ".join(f"${f}$" for f in formulas))
    return "\n".join([*lines, r"\end{itemize}", r"\end{document}"]) + "\n"


def _unknowns(program: Program) -> list[str]:
    classes = ", ".join(escaped(c) for c in program.release.target.classes)
    cell = (
        "a quasi-identifier" if program.single else "a quasi-identifier in one combination of the leaves it can reach"
    )
    return [
        rf"The unknowns are $m_{{c,x}} \ge 0$, the individuals of class $x$ of {escaped(program.release.target.name)}"
        rf" ({classes}) in cell $c$: {cell}. $C(q)$ are the cells of quasi-identifier $q$, $w_q$ its individuals,"
        rf" $N = {program.table.individuals}$, and $P(x \mid q) = \frac{{1}}{{w_q}} \sum_{{c \in C(q)}} m_{{c,x}}$."
        r" For a node $\Lambda$, $m_{\Lambda,x} = \sum_{c \in \Lambda} m_{c,x}$ and"
        r" $w_\Lambda = \sum_x m_{\Lambda,x}$.",
        r"\[ \text{maximise} \quad -\frac{1}{N} \sum_c \sum_x m_{c,x} \ln \frac{m_{c,x}}{w_{q(c)}} \]",
    ]


def _impurity(measure: str) -> list[str]:
    """The formula of E for a measure: ``v`` are the branches of a split, ``m_{vx}`` individuals of class x in one."""
    name = escaped(measure)
    if measure != "gain_ratio":
        return [rf"\paragraph{{impurity: {name}}}", rf"\[ E(\Lambda, A) = {impurity_latex(measure)} \]"]
    information = r"S(\Lambda, A) = -\sum_v \frac{w_v}{w_\Lambda} \ln \frac{w_v}{w_\Lambda}"
    gain = (
        r"E(\Lambda, A) = -\frac{1}{S(\Lambda, A)}"
        rf" \left( H(\Lambda) - \left[ {impurity_latex(measure)} \right] \right)"
    )
    entropy = r"H(\Lambda) = -\sum_x \frac{m_{\Lambda,x}}{w_\Lambda} \ln \frac{m_{\Lambda,x}}{w_\Lambda}"
    return [rf"\paragraph{{impurity: {name}}}", *(rf"\[ {formula} \]" for formula in (gain, entropy, information))]


def _linear(program: Program, constraint: Linear) -> list[str]:
    """A formula per row."""
    region, classes = _region(constraint), program.release.target.classes
    return [
        _bounded(_sum(region, constraint.coef[r], classes), float(low), float(high))
        if constraint.weights is None
        else _weighted(constraint, r, classes)
        for r, (low, high) in enumerate(zip(constraint.lower, constraint.upper, strict=True))
    ]


def _region(constraint: Linear) -> str:
    """The domain of a sum: a node, everybody, or the individuals of a fact."""
    if constraint.origin.node is not None:
        return rf"\text{{{escaped(constraint.origin.node)}}}"
    return r"\text{all}" if constraint.kind == "marginal" else "F"


def _sum(region: str, coef: Iterable[float], classes: tuple[str, ...]) -> str:
    """``sum_x coef_x m_{region,x}``."""
    terms: list[str] = []
    for value, name in zip(coef, classes, strict=True):
        if value:
            sign = "-" if value < 0 else "+" if terms else ""
            size = "" if abs(value) == 1 else rf"{_number(abs(float(value)))}\,"
            terms.append(rf"{sign} {size}m_{{{region},\text{{{escaped(name)}}}}}".strip())
    return " ".join(terms) or "0"


def _weighted(constraint: Linear, row: int, classes: tuple[str, ...]) -> str:
    """``sum_c a_{c,x} m_{c,x}``, and the range of the coefficients a."""
    assert constraint.weights is not None
    terms, ranges = [], []
    for name, coef, weights in zip(classes, constraint.coef[row], constraint.weights.T, strict=True):
        if coef:
            at = rf"c,\text{{{escaped(name)}}}"
            terms.append(rf"a_{{{at}}}\,m_{{{at}}}")
            low, high = sorted((float((coef * weights).min()), float((coef * weights).max())))
            ranges.append(rf"a_{{{at}}} \in [{_number(low)}, {_number(high)}]")
    body = rf"\sum_{{c \in {_region(constraint)}}} \bigl({' + '.join(terms)}\bigr)"
    said = _bounded(body, float(constraint.lower[row]), float(constraint.upper[row]))
    return rf"{said} \quad \text{{with}} \quad {', '.join(ranges)}"


def _bounded(body: str, low: float, high: float) -> str:
    if low == high:
        return f"{body} = {_number(low)}"
    if np.isinf(high):
        return rf"{body} \ge {_number(low)}"
    if np.isinf(low):
        return rf"{body} \le {_number(high)}"
    return rf"{_number(low)} \le {body} \le {_number(high)}"


def _number(value: float) -> str:
    if np.isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    mantissa, _, exponent = f"{value:.10g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def _internal(program: Program, constraint: Internal) -> list[str]:
    """A formula per row, what the candidate would have divided as its second argument."""
    node = rf"\text{{{escaped(constraint.origin.node or '')}}}"
    name = escaped(constraint.candidate)
    levels = program.table.levels[constraint.column]
    chosen = rf"E({node}, \text{{{escaped(constraint.chosen)}}})"
    if constraint.form == "values":
        return [rf"{chosen} \le E({node}, \text{{{name}}})"]
    relation = "=" if constraint.form == "each" else r"\le"
    values = [
        rf"\text{{{escaped(value)}}}" if isinstance(value, str) else _number(float(value))
        for value in levels[constraint.codes]
    ]
    return [rf"{chosen} \le E({node}, \text{{{name}}} {relation} {value})" for value in values]
