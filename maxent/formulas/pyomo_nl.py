"""The whole program as files for other tools: the text of a Pyomo model, an AMPL ``.nl`` file."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.api.adversary.explain import place_name, says
from maxent.constraints.lifting.lift import LiftedPart, lift
from maxent.constraints.presolve.merge import Part, known_totals, needed, unmerged
from maxent.constraints.program import Internal, Linear, Program
from maxent.constraints.residuals import InternalRows, LinearRows
from maxent.constraints.textbook import refusal, textbook_model
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.files.output import write_atomically, write_text
from maxent.models.text.printable import printable

if TYPE_CHECKING:
    from typing import TextIO

LARGE = 200_000
"""Variables from which writing a model takes minutes."""


def lifted_program(program: Program) -> LiftedPart:
    """Every cell and every constraint in one piece: what ``maxent estimate --no-presolve`` solves."""
    rows, totals, merged = InternalRows(program), known_totals(program), unmerged(program)
    whole = Part(np.arange(len(merged.owner)), needed(program, totals, LinearRows(program)), np.arange(rows.n_rows))
    return lift(program, merged, whole, rows, totals)


def export_program(
    program: Program, *, pyomo: str | None, nl: str | None, tell: Callable[[str], None], textbook: bool = False
) -> None:
    """Write the program as the text of a Pyomo model, as an ``.nl`` file, or both.

    Parameters
    ----------
    pyomo, nl : str or None
        The files; each is written atomically. Beside ``model.nl`` go ``model.col`` and ``model.row``, the names of its
        variables and rows in the Pyomo model.
    tell : callable
        Told when the program is so large that it will take long.
    textbook : bool
        The constraints as the paper prints them, see `maxent.constraints.textbook`, in place of the lifted program.

    Raises
    ------
    InvalidInput
        When a file cannot be written; it is then as it was. Also where a release states what the paper has not.
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
    people = program.table.individuals
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
