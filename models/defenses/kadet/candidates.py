"""The spans of a growing tree: people whom an adversary without the private attributes cannot distinguish.

A span (Friedman et al. 2006, Definition 5) is the set of leaves that a person may have been sent to, as far as the
public attributes tell. Everybody with the same span is one group, its *population*, and the populations divide all
people. Spans without a population threaten nobody and are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.induction.cuts import Intervals
from maxent.models.trees.routing import divided


@dataclass(slots=True, eq=False)
class Span:
    """A group of people: its records, and the leaves it may be in (a set in order).

    ``bad_cuts`` keeps what was found out about numeric attributes, as the population does not change.
    """

    population: IntArray
    nodes: dict[int, None]
    bad_cuts: dict[int, Intervals] = field(default_factory=dict)


class Spans:
    """The spans of every leaf, kept while leaves are split."""

    def __init__(self, root: int, populations: Iterable[IntArray]) -> None:
        self._of: dict[int, dict[Span, None]] = {
            root: {Span(rows, {root: None}): None for rows in populations if len(rows)}
        }

    def of(self, node: int) -> list[Span]:
        """The spans of a leaf."""
        return list(self._of[node])

    def all(self) -> list[Span]:
        """Every span once."""
        return list(dict.fromkeys(span for spans in self._of.values() for span in spans))

    def is_alone(self, node: int) -> bool:
        """Whether a leaf has one span, which has no other leaf."""
        return len(self._of[node]) == 1 and len(next(iter(self._of[node])).nodes) == 1

    def people(self, node: int) -> tuple[IntArray, IntArray]:
        """Everybody who may have been sent to a leaf, and which of its spans each belongs to, shapes (n,).

        The spans of a leaf are numbered from 0 here; people of the same span are consecutive.
        """
        parts = [span.population for span in self._of[node]]
        if len(parts) == 1:
            return parts[0], np.zeros(len(parts[0]), np.int64)
        rows = np.concatenate([np.empty(0, np.int64), *parts])
        return rows, np.repeat(np.arange(len(parts)), [len(part) for part in parts])

    def split_privately(self, node: int, sons: Sequence[int]) -> None:
        """Replace a leaf by sons that nobody can be assigned to by what is public."""
        spans = self._of.pop(node)
        for span in spans:
            del span.nodes[node]
            span.nodes.update(dict.fromkeys(sons))
        self._of.update((son, dict(spans)) for son in sons)

    def split_publicly(self, node: int, sons: Sequence[int], branch: IntArray) -> None:
        """Replace a leaf by sons; ``branch`` says to which each of its `people` may be sent, shape (n,)."""
        spans = self._of.pop(node)
        self._of.update((son, {}) for son in sons)
        starts = np.cumsum([0, *(len(span.population) for span in spans)][:-1])
        lowest, highest = (f.reduceat(branch, starts).tolist() if spans else [] for f in (np.minimum, np.maximum))
        for span, start, low, high in zip(spans, starts.tolist(), lowest, highest, strict=True):
            del span.nodes[node]
            if low == high:
                self._join(span, [sons[low]])
                continue
            for other in span.nodes:
                del self._of[other][span]
            parts = divided(branch[start : start + len(span.population)], len(sons))
            for son, part in zip(sons, parts, strict=True):
                if len(part):
                    self._join(Span(span.population[part], {}), [*span.nodes, son])

    def _join(self, span: Span, nodes: Iterable[int]) -> None:
        """Let a span reach more leaves."""
        for node in nodes:
            span.nodes[node] = None
            self._of[node][span] = None
