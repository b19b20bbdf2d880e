"""A program for other tools: a LaTeX document of formulas, a Pyomo model, an AMPL ``.nl`` file.

The impurities come from their SymPy statements in `maxent.constraints.program.impurity`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, TextIO

import numpy as np

from maxent.constraints.kinds.registry import KINDS, kinds_of
from maxent.constraints.lifting import LiftedPart, lift
from maxent.constraints.presolve.merge import Part, known_totals, needed, unmerged
from maxent.constraints.program.impurity import impurity_latex
from maxent.constraints.program.program import Internal, Linear, Program
from maxent.constraints.program.residuals import InternalRows, LinearRows
from maxent.constraints.textbook import refusal, textbook_model
from maxent.models.errors import ARGUMENT, invalid, printable
from maxent.models.files.output import write_atomically, write_text
from maxent.results.explanation import in_tree_order, place_name, says

# Characters that TeX reads as commands or joins with their neighbours; ``"`` needs the T1 encoding.
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

ALL = r"\text{all}"  # everybody
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
    constraints, sets = in_tree_order(program), _sets(program)
    lines = [_HEAD + r"\section*{Unknowns and objective}", *_unknowns(program), r"\section*{Kinds of constraints}"]
    for kind in kinds:
        lines += [rf"\paragraph{{{kind}}}", rf"\[ {KINDS[kind].latex} \]"]
    for measure in sorted({c.measure for c in program.internal}):
        lines += _impurity(measure)
    lines += [
        *_statements(program),
        *_stated_of_sets(program, sets),
        r"\section*{Constraints}",
        r"\begin{itemize}",
        rf"\item {escaped(program.table.source)}, qi: $\sum_{{c \in C(q)}} \sum_x m_{{c,x}} = w_q$"
        rf" for {len(program.table)} quasi-identifiers",
    ]
    for constraint in constraints:
        kind = constraint.kind if isinstance(constraint, Linear) else "internal"
        formulas = (
            _linear(program, constraint, sets) if isinstance(constraint, Linear) else _internal(program, constraint)
        )
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
        rf" $N = {program.individuals}$, and $P(x \mid q) = \frac{{1}}{{w_q}} \sum_{{c \in C(q)}} m_{{c,x}}$."
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


def _linear(program: Program, constraint: Linear, sets: Mapping[int, str]) -> list[str]:
    """A formula per row."""
    node, classes = constraint.origin.node, program.release.target.classes
    region = sets[constraint.region] if node is None else rf"\text{{{escaped(node)}}}"
    return [
        _bounded(_sum(region, constraint.coef[r], classes), float(low), float(high))
        if constraint.weights is None
        else _weighted(constraint, r, classes, region)
        for r, (low, high) in enumerate(zip(constraint.lower, constraint.upper, strict=True))
    ]


def _sets(program: Program) -> dict[int, str]:
    """A symbol for each region that is no node, one for each set of cells."""
    held: dict[bytes, str] = {}
    named = {}
    for region in dict.fromkeys(each.region for each in program.linear if each.origin.node is None):
        cells = np.unique(program.regions[region])
        new = ALL if len(cells) == len(program.cells) else f"F_{{{1 + sum(symbol != ALL for symbol in held.values())}}}"
        named[region] = held.setdefault(cells.tobytes(), new)
    return named


def _stated_of_sets(program: Program, sets: Mapping[int, str]) -> list[str]:
    """Who the people of each set are, by what is stated of them."""
    stated: dict[str, list[str]] = {}
    for each in program.linear:
        symbol = sets[each.region] if each.origin.node is None else ALL
        if symbol != ALL:
            stated.setdefault(symbol, []).append(f"{each.origin}: {each.says}")
    items = [rf"\item ${symbol}$: {escaped('; '.join(said))}" for symbol, said in stated.items()]
    return [r"\section*{Sets of individuals}", r"\begin{itemize}", *items, r"\end{itemize}"] if items else []


def _statements(program: Program) -> list[str]:
    """What each file of statements has, and where it was published."""
    items = [
        rf"\item {escaped(document.name)}, {escaped(each.kind)}: {escaped(each.source)}"
        for document in program.release.statements
        for each in document.statements
    ]
    return [r"\section*{Statements}", r"\begin{itemize}", *items, r"\end{itemize}"] if items else []


def _sum(region: str, coef: Iterable[float], classes: tuple[str, ...]) -> str:
    """``sum_x coef_x m_{region,x}``."""
    terms: list[str] = []
    for value, name in zip(coef, classes, strict=True):
        if value:
            sign = "-" if value < 0 else "+" if terms else ""
            size = "" if abs(value) == 1 else rf"{_number(abs(float(value)))}\,"
            terms.append(rf"{sign} {size}m_{{{region},\text{{{escaped(name)}}}}}".strip())
    return " ".join(terms) or "0"


def _weighted(constraint: Linear, row: int, classes: tuple[str, ...], region: str) -> str:
    """``sum_c a_{c,x} m_{c,x}``, what is weighed, in words, and the range of the coefficients a."""
    assert constraint.weights is not None
    terms, ranges = [], []
    for name, coef, weights in zip(classes, constraint.coef[row], constraint.weights.T, strict=True):
        if coef:
            at = rf"c,\text{{{escaped(name)}}}"
            terms.append(rf"a_{{{at}}}\,m_{{{at}}}")
            low, high = sorted((float((coef * weights).min()), float((coef * weights).max())))
            ranges.append(rf"a_{{{at}}} \in [{_number(low)}, {_number(high)}]")
    body = rf"\sum_{{c \in {region}}} \bigl({' + '.join(terms)}\bigr)"
    said = _bounded(body, float(constraint.lower[row]), float(constraint.upper[row]))
    return rf"{said} \quad \text{{({escaped(constraint.says)})}} \quad \text{{with}} \quad {', '.join(ranges)}"


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


# The whole program as files for other tools: the text of a Pyomo model, an AMPL ``.nl`` file.

# Variables from which writing a model takes minutes.
LARGE = 200_000


def lifted_program(program: Program) -> LiftedPart:
    """Every cell and every constraint in one piece: what ``maxent estimate --no-presolve`` solves."""
    rows, totals, merged = InternalRows(program), known_totals(program), unmerged(program)
    whole = Part(np.arange(len(merged.owner)), needed(program, totals, LinearRows(program)), np.arange(rows.n_rows))
    return lift(program, merged, whole, rows, totals)


def export_program(
    program: Program, *, pyomo: str | None, nl: str | None, tell: Callable[[str], None], textbook: bool = False
) -> None:
    """Write the program as the text of a Pyomo model, as an ``.nl`` file (with ``.col`` and ``.row`` names), or both.

    ``tell`` hears when it takes long; ``textbook`` has the constraints as the paper prints them.
    """
    from maxent.solvers.backends.pyomo_model import build_model

    part = None if textbook else lifted_program(program)
    variables = program.weight.size * program.n_classes if part is None else part.program.n
    if variables > LARGE:
        tell(f"the program has {variables} variables: writing it may take long")
    if part is None:
        reason = refusal(program)
        if reason is not None:
            raise invalid("options", ARGUMENT, "textbook", "a release of which the paper has all statements", reason)
    model, key = (
        (textbook_model(program), _textbook_key(program))
        if part is None
        else (build_model(part.program), _key(program, part))
    )
    if pyomo is not None:
        write_atomically(pyomo, lambda path: _write(path, lambda file: _write_pyomo(key, model, file)))
    if nl is not None:
        names: dict[str, str] = {}
        write_atomically(nl, lambda path: _write(path, lambda file: names.update(_write_nl(model, file))))
        for suffix, beside in nl_files(nl).items():
            write_text(beside, names[suffix])


def nl_files(path: str) -> dict[str, str]:
    """The files that are written beside an ``.nl`` file, by suffix: names of its variables and of its rows."""
    return {suffix: os.path.splitext(path)[0] + suffix for suffix in (".col", ".row")}


def _write(path: str, fill: Callable[[TextIO], None]) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        fill(file)


def _write_pyomo(key: Iterable[str], model: Any, file: TextIO) -> None:
    file.writelines(f"# {printable(line)}\n" for line in key)
    file.write("\n")
    model.pprint(ostream=_Unpadded(file))


class _Unpadded:
    """A stream without the spaces that align columns: they make most of the text where one row is very long."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write(re.sub(r"(?<=\S) {2,}", " ", text))


def _write_nl(model: Any, file: TextIO) -> dict[str, str]:
    """Write the NL file; the names of its variables and rows, in its own order, as files by suffix.

    NL knows no names: AMPL's tools look for them in files beside it. (Some readers trip over comments.)
    """
    from pyomo.repn.plugins.nl_writer import NLWriter

    info = NLWriter().write(model, file, linear_presolve=False, symbolic_solver_labels=False)
    ordered = {".col": info.variables, ".row": [*info.constraints, *info.objectives]}
    return {
        suffix: "".join(f"{component.name}\n" for component in components) for suffix, components in ordered.items()
    }


def _named(program: Program, cell: int, klass: int) -> str:
    """The class, quasi-identifier and leaves that a mass is of."""
    cells = program.cells
    where = "; ".join(str(place_name(program, t, int(place))) for t, place in enumerate(cells.leaf[cell]))
    quasi_identifier = program.table.describe(int(cells.owner[cell]))
    return f"{program.release.target.name}={program.release.target.classes[klass]} | {quasi_identifier} ({where})"


def _textbook_key(program: Program) -> Iterator[str]:
    """The meaning of the indices of a model as the paper prints it."""
    yield "The maximum-entropy program of a release as Zhu & Du (2010) print it; see maxent explain --textbook."
    yield "Maximise the entropy, nats per individual, of the probabilities of the classes given quasi-identifiers."
    yield ""
    for cell, klass in np.ndindex(len(program.cells), program.n_classes):
        yield f"p[{cell},{klass}]: {_named(program, cell, klass)}"
    yield ""
    for index, line in enumerate(program.table.describe(q) for q in range(len(program.table))):
        yield f"qi[{index + 1}]: {line}"
    number = Counter[str]()
    constraints: list[Linear | Internal] = [*program.linear, *program.internal]
    for constraint in constraints:
        name = constraint.kind if isinstance(constraint, Linear) else "internal"
        for _ in range(constraint.rows):
            number[name] += 1
            yield f"{name}[{number[name]}]: {constraint.origin}, {says(program, constraint)}"


def _key(program: Program, part: LiftedPart) -> Iterator[str]:
    """The meaning of the indices of a model."""
    lifted = part.program
    named = partial(_named, program)
    yield "The maximum-entropy program of a release, in individuals; see maxent explain."
    known = part.known[part.known > 0]
    of_known = program.weight[np.nonzero(part.known)[0]]
    constant = float((known * np.log(known / of_known)).sum())
    yield "Minimise f, the sum of m ln(m / w) over the masses, w being the individuals of the quasi-identifier."
    people = program.individuals
    yield f"The entropy is -(f + {constant!r}) / {people} nats; the constant is that of the fixed masses."
    yield f"{lifted.n_masses} masses, {lifted.n_aggregates} aggregates (sums of masses, defined by linear rows)"
    yield f"{len(lifted.origins)} linear rows, {len(lifted.nl_origins)} internal rows"
    yield "Masses that the statements fix are constants; rows that these, or other rows, already imply are left out."
    yield ""
    for i, (cell, klass) in enumerate(zip(part.program.group.tolist(), part.program.klass.tolist(), strict=True)):
        yield f"mass[{i}]: {named(cell, klass)}"
    free = np.zeros(part.known.shape, bool)
    free[part.program.group, part.program.klass] = True
    for cell, klass in np.argwhere(~free).tolist():
        yield f"constant {part.known[cell, klass]:.15g}: {named(cell, klass)}"
    n_statements = len(lifted.origins) - lifted.n_aggregates
    for r, origin in enumerate(lifted.origins):
        total = "total of a quasi-identifier" if r < n_statements else f"definition of aggregate[{r - n_statements}]"
        yield f"linear[{r}]: {total if origin is None else origin}"
    for r, origin in enumerate(lifted.nl_origins):
        yield f"internal[{r}]: {origin}"
