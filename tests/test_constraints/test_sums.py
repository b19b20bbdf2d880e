"""Sums over places, and sizes of places, are those of their cells."""

import numpy as np
from hypothesis import given
from support.strategies import Case, cases, thorough

from maxent.constraints.program.cells import CellSums, build_cells, place_sizes
from maxent.models.tables.qi_table import read_qi


@thorough(100)
@given(case=cases(trees=(1, 3)))
def test_sums_by_place_and_value_are_those_of_their_cells(case: Case) -> None:
    table = read_qi(case.people.qi, case.release)
    cells = build_cells(case.release, table)
    sums = CellSums(cells, table.codes, tuple(map(len, table.levels)))
    values = np.random.default_rng(0).integers(1, 1000, (len(cells), 3)).astype(float)
    for t, held in enumerate(cells.trees):
        totals = sums.totals(t, values)
        for place in range(len(held.start)):
            assert totals[place].tolist() == values[held.at(place)].sum(axis=0).tolist()
        inner = [i for i, below in enumerate(held.places.children) if below and len(held.at(i))]
        for column in range(table.codes.shape[1] if inner else 0):
            found = sums.by_value(t, column)
            assert sorted(found.places.tolist()) == inner
            sides = found(values)
            for i, place in enumerate(found.places):
                mine = slice(found.start[i], found.start[i + 1])
                here = held.at(int(place))
                code = table.codes[cells.owner[here], column]
                assert found.value[mine].tolist() == np.unique(code).tolist()
                assert (found.node[mine] == i).all()
                assert sides[mine].tolist() == [values[here[code == v]].sum(axis=0).tolist() for v in np.unique(code)]


@thorough(100)
@given(case=cases(trees=(1, 3)))
def test_the_size_of_a_place_is_known_when_it_holds_all_cells_of_its_people_or_none(case: Case) -> None:
    table = read_qi(case.people.qi, case.release)
    cells = build_cells(case.release, table)
    everywhere = np.bincount(cells.owner)
    for held, sizes in zip(cells.trees, place_sizes(cells, table.counts), strict=True):
        for place, size in enumerate(sizes.tolist()):
            inside = np.bincount(cells.owner[held.at(place)], minlength=len(table))
            complete = ((inside == 0) | (inside == everywhere)).all()
            assert size == table.counts[inside > 0].sum() if complete else np.isnan(size)
