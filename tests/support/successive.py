"""Several releases about overlapping people, each with trees grown on its own."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from maxent.api.case import Tables, read_case
from maxent.api.compile import Knowledge, compile_case
from maxent.constraints.program.program import Program
from maxent.models.release import Release
from support.strategies import SURE, Case, Draw, People, cases, leaves_of, masses_of, populations

WHO = "who"  # Column that names people


@dataclass(frozen=True, eq=False)
class Successive:
    """Everybody, and for each release its rows of them and what was published of these."""

    everybody: People
    rows: tuple[npt.NDArray[np.int64], ...]
    parts: tuple[Case, ...]

    @property
    def releases(self) -> list[Release]:
        return [part.release for part in self.parts]

    @property
    def public(self) -> list[str]:
        """Attributes that are public in some release."""
        return list(dict.fromkeys(a.name for r in self.releases for a in r.public))

    def table(self, i: int) -> Any:
        """The table of a release, with the keys of its people."""
        return self.everybody.frame.assign(**{WHO: np.arange(len(self.everybody))}).iloc[self.rows[i]]

    @property
    def tables(self) -> list[Any]:
        return [self.table(i)[[WHO, *self.public]] for i in range(len(self.rows))]

    @property
    def frame(self) -> Any:
        """Everybody, with the releases that they are in."""
        inside = [np.isin(np.arange(len(self.everybody)), rows) for rows in self.rows]
        groups = ["+".join(str(i) for i, one in enumerate(row, 1) if one) for row in np.column_stack(inside)]
        return self.everybody.frame.assign(releases=groups)

    def compiled(self, **options: Any) -> Program:
        case = read_case(self.releases, Tables(self.tables, who=WHO))
        return compile_case(case, Knowledge(confidence=SURE, **options))

    def true_masses(self, program: Program) -> npt.NDArray[np.float64]:
        """The individuals of each class in each cell of a program."""
        frame, classes = self.frame, program.release.target.classes
        return masses_of(program, frame, leaves_of(program.release, frame), map(classes.index, frame["Y"]))


def view(draw: Draw, people: People, rows: npt.NDArray[np.int64]) -> People:
    """Some of the people, by some of their attributes, with values and classes in an order of their own."""
    kept = [a for a in people.attributes if a.role == "public"][:1]
    kept += [a for a in people.attributes if a not in kept and draw(st.integers(0, 3))]
    attributes, columns = [], {}
    for a in draw(st.permutations(kept)):
        column = people.columns[a.name][rows]
        if a.values is not None and draw(st.booleans()):
            order = draw(st.permutations(range(len(a.values))))
            a = replace(a, values=tuple(a.values[i] for i in order))
            column = np.argsort(order)[column]
        if a.role == "public" and len(kept) > 1 and attributes and draw(st.integers(0, 5)) == 0:
            a = replace(a, role="private")
        attributes.append(a)
        columns[a.name] = column
    classes = draw(st.permutations(range(len(people.classes))))
    y = np.argsort(classes)[people.y[rows]]
    return People(tuple(attributes), columns, y, tuple(people.classes[i] for i in classes))


@st.composite
def successive(
    draw: Draw, people: st.SearchStrategy[People] | None = None, releases: tuple[int, int] = (2, 3), **options: Any
) -> Successive:
    """A few people, and releases about some of them each; somebody is in all."""
    some = populations(rows=(3, 24), public=(1, 3), private=(0, 1), classes=(1, 3)) if people is None else people
    crowd = draw(some)
    n = draw(st.integers(*releases))
    inside = np.array([[draw(st.integers(0, 3)) > 0 for _ in range(n)] for _ in range(len(crowd))])
    inside[0] = True
    if draw(st.integers(0, 4)) == 0:
        inside[:] = True
    there = np.flatnonzero(inside.any(axis=1))
    columns = {name: column[there] for name, column in crowd.columns.items()}
    crowd = People(crowd.attributes, columns, crowd.y[there], crowd.classes)
    rows = tuple(np.flatnonzero(inside[there, i]) for i in range(n))
    parts = tuple(draw(cases(st.just(view(draw, crowd, own)), trees=(1, 2), **options)) for own in rows)
    return Successive(crowd, rows, parts)
