"""Disclosure at each node of a tree: measures of the people whose quasi-identifier can be there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy.special import entr

from maxent.constraints.program import Program
from maxent.models.arrays import FloatArray, IntArray, run_ends

if TYPE_CHECKING:
    from maxent.disclosure.inference import Inference


@dataclass(frozen=True, slots=True)
class NodeDisclosure:
    """The posterior of the people of one place: a node, or a removed leaf (``id`` None).

    ``individuals`` can be there; ``certain`` of them have a class of probability 0.999 or more. Over these people:
    ``max_posterior`` is the largest probability of a class, ``vulnerability`` the mean of each one's largest (the share
    of right guesses), ``entropy`` and ``divergence`` the means in nats, the latter None without a truth and ``inf``
    where the posterior rules out what is true. All of these are None where nobody is.
    """

    place: int
    id: str | None
    individuals: int
    certain: int
    max_posterior: float | None
    vulnerability: float | None
    entropy: float | None
    divergence: float | None


@dataclass(frozen=True, slots=True, eq=False)
class PeopleByPlace:
    """Rows of the adversary's table by place of a tree: ``rows[start:stop]`` of a place can be there."""

    rows: IntArray
    start: IntArray
    stop: IntArray

    def at(self, place: int) -> IntArray:
        """Rows of the table at a place, shape (n,), each once."""
        return self.rows[self.start[place] : self.stop[place]]


def people_by_place(program: Program, tree: int = 0) -> PeopleByPlace:
    """Whose quasi-identifier can be at each place of a tree, as `maxent.models.trees.places.Places` numbers them."""
    held = program.cells.trees[tree]
    owner = program.cells.owner[held.order]
    if program.single:
        return PeopleByPlace(owner, held.start, held.stop)
    # Private attributes divide a quasi-identifier into cells, several of which may be at the same place.
    rows = [np.unique(owner[begin:end]) for begin, end in zip(held.start, held.stop, strict=True)]
    ends = run_ends(np.array([len(found) for found in rows]))
    return PeopleByPlace(np.concatenate(rows), ends[:-1], ends[1:])


def disclosed_by_node(result: Inference, tree: int = 0) -> tuple[NodeDisclosure, ...]:
    """Disclosure of an estimate at every place of a tree, in the order of places: its nodes, then removed leaves.

    Where private attributes decide who is at a node, everybody who can be there counts, with the posterior of their
    quasi-identifier as a whole.

    Parameters
    ----------
    result : Inference
    tree : int
        Which tree of the release, from 0.

    Raises
    ------
    IndexError
        When the release has no such tree.
    """
    program = result.program
    nodes = program.release.trees[tree].nodes
    people = people_by_place(program, tree)
    counts = program.table.counts.astype(np.float64)
    surest = result.probabilities.max(axis=1)
    individuals = sums_by_place(people, counts)
    inhabited = individuals > 0

    def mean(values: FloatArray) -> list[float | None]:
        total = sums_by_place(people, counts * values)
        found = np.divide(total, individuals, out=np.zeros_like(total), where=inhabited)
        return _where(inhabited, found)

    divergence = result.disclosure.individual
    columns = zip(
        individuals.astype(np.int64).tolist(),
        sums_by_place(people, np.where(result.disclosure.is_certain, counts, 0.0)).astype(np.int64).tolist(),
        _where(inhabited, _by_place(np.maximum, people, surest)),
        mean(surest),
        mean(np.asarray(entr(result.probabilities).sum(axis=1), np.float64)),
        [None] * len(individuals) if divergence is None else mean(divergence),
        strict=True,
    )
    ids = [*(node.id for node in nodes), *[None] * (len(individuals) - len(nodes))]
    return tuple(NodeDisclosure(i, id, *row) for i, (id, row) in enumerate(zip(ids, columns, strict=True)))


def sums_by_place(people: PeopleByPlace, values: FloatArray) -> FloatArray:
    """Sums over the people of each place of a number per row of the table, shape (n_places,)."""
    return np.where(people.stop > people.start, _by_place(np.add, people, values), 0.0)


def _by_place(combine: np.ufunc, people: PeopleByPlace, values: FloatArray) -> FloatArray:
    """Values of the people of each place, combined; meaningless where nobody is.

    Places are taken in depth-first order, where the stretches between the end of one and the start of the next are
    empty: so the work is the number of people times their depth.
    """
    order = np.lexsort((-people.stop, people.start))
    bounds = np.column_stack([people.start[order], people.stop[order]]).ravel()
    padded = np.append(values[people.rows], 0.0)
    found = np.empty(len(order))
    found[order] = combine.reduceat(padded, bounds)[::2]
    return found


def _where(inhabited: npt.NDArray[np.bool_], values: FloatArray) -> list[float | None]:
    """Values as a list, None where nobody is."""
    return [value if there else None for value, there in zip(values.tolist(), inhabited.tolist(), strict=True)]
