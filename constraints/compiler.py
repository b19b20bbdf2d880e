"""Compile a release and the adversary's table into a `Program`: run every emitter, check sizes, keep origins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from maxent.constraints.cells import build_cells, place_sizes
from maxent.constraints.compete import internal
from maxent.constraints.emit import EMITTERS, Context, says_why_left_out, stated_rate, table_contradictions
from maxent.constraints.impurity import PHI_OF
from maxent.constraints.program import Program, Regions
from maxent.constraints.rounding import ROUNDINGS, RateReader, Rounding, rate_reader
from maxent.constraints.sampling import Counting, left_out_of, n_countable
from maxent.constraints.sums import CellSums
from maxent.models.companions import Fact
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.release import Impurity, Release
from maxent.models.table import QITable

FloatArray = npt.NDArray[np.float64]

KNOWLEDGE = ("label", "rate", "counts", "internal", "marginal")
"""What an adversary may be given, the choices of ``--knowledge``."""


def compile_program(
    release: Release,
    table: QITable,
    *,
    knowledge: Iterable[str] | None = None,
    impurity: Impurity | None = None,
    marginal: FloatArray | None = None,
    facts: tuple[Fact, ...] = (),
    rounding: Rounding = "auto",
    confidence: float = 0.99,
) -> Program:
    """Everything that a release tells an adversary who holds the table.

    Parameters
    ----------
    release, table
        What was published, and the quasi-identifiers of the individuals it was made from.
    knowledge : iterable of {"label", "rate", "counts", "internal", "marginal"}, optional
        What the adversary uses; default everything stated. Without ``counts``, the labels and rates that the
        published counts imply are used in their place.
    impurity : {"gini", "entropy", "gain_ratio"}, optional
        Overrides the release's statement of how splits were chosen.
    marginal : shape (n_classes,), optional
        Individuals of each class in the whole table; implied by counts where they suffice.
    facts : background knowledge, from `maxent.models.table.read_facts`
    rounding : {"auto", "digits", "exact"}
        How printed error rates are read, see `maxent.constraints.rounding`.
    confidence : in (0, 1)
        Probability that all intervals of sampled counts hold together.

    Raises
    ------
    InvalidInput
        For knowledge that is unknown, or a marginal that neither is given nor follows from counts, or a
        quasi-identifier that reaches no leaf.
    """
    known = frozenset(KNOWLEDGE if knowledge is None else knowledge)
    _check_options(known, impurity, rounding, confidence)
    if knowledge is not None and "marginal" in known and marginal is None:
        marginal = implied_marginal(release)
    if "marginal" not in known:
        marginal = None
    cells = build_cells(release, table)
    sums = CellSums(cells, table.codes, tuple(map(len, table.levels)))
    sizes = place_sizes(cells, table.counts)
    countable = n_countable(release, table, cells) if release.sampling_rate < 1.0 else 1
    counting = Counting(release.sampling_rate, release.suppressed_below, (1.0 - confidence) / countable)
    context = Context(release, table, cells, known, RateReader(0.0), marginal, facts, counting, sums, sizes)
    context = replace(context, rates=_rate_reader(context, rounding))
    linear = tuple(
        constraint
        for kind, emit in EMITTERS.items()
        if kind in known or kind in ("n", "facts")
        for constraint in emit(context)
    )
    compared = tuple(internal(context, impurity)) if "internal" in known else ()
    parts = context.regions.cells
    lengths = np.array([0, *map(len, parts)])
    indices = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return Program(
        release,
        table,
        cells,
        sums,
        Regions(np.cumsum(lengths), indices, tuple(context.regions.places)),
        linear,
        compared,
        tuple(table_contradictions(context)) if known & {"rate", "counts"} else (),
        tuple(_notes(context, impurity if "internal" in known else None, confidence, countable)),
    )


def _check_options(known: frozenset[str], impurity: object, rounding: object, confidence: object) -> None:
    problems = [
        Problem("option", "knowledge", "any of " + ", ".join(KNOWLEDGE), repr(kind))
        for kind in sorted(known - set(KNOWLEDGE), key=repr)
    ]
    if impurity is not None and impurity not in PHI_OF:
        problems.append(Problem("option", "impurity", "one of " + ", ".join(PHI_OF), repr(impurity)))
    if rounding not in ROUNDINGS:
        problems.append(Problem("option", "rounding", "one of " + ", ".join(ROUNDINGS), repr(rounding)))
    if not (isinstance(confidence, (int, float)) and 0 < confidence < 1):
        problems.append(Problem("option", "confidence", "a probability between 0 and 1", repr(confidence)))
    if problems:
        raise InvalidInput("options", problems)


def implied_marginal(release: Release) -> FloatArray:
    """Individuals of each class that the counts of a release add up to, shape (n_classes,).

    Raises
    ------
    InvalidInput
        When they do not imply it: a tree's root, or all leaves of one tree, must state exact counts.
    """
    if release.sampling_rate >= 1.0 and release.suppressed_below <= 1:
        for tree in release.trees:
            stating = [tree.root] if tree.root.counts is not None else list(tree.leaves)
            whole = tree.root.counts is not None or not any(b.child is None for n in tree.nodes for b in n.branches)
            if whole and all(node.counts is not None for node in stating):
                return np.array(
                    [sum((node.counts or {})[c] for node in stating) for c in release.target.classes], np.float64
                )
    raise invalid(
        "options",
        "option",
        "marginal",
        "a file with the number of individuals of each class (--marginal FILE), or counts that imply it",
        "neither",
    )


def _rate_reader(context: Context, rounding: Rounding) -> RateReader:
    stated = []
    for t, place, node in context.nodes():
        if stated_rate(context, node) is None or not node.is_leaf:
            continue
        if node.error_rate is not None:
            stated.append((node.error_rate, context.records(t, place, node)))
    return rate_reader(stated, rounding)


def _of_counts(context: Context, confidence: float, countable: int) -> Iterator[str]:
    """What is known of counts that were sampled or suppressed."""
    if context.sampled:
        yield (
            f"counts are of samples (rate {context.release.sampling_rate:g}): each true count is in an interval, and "
            f"with a probability of at least {confidence:g} all are at once, of the up to {countable} counts that "
            "could have been shown"
        )
    elif context.suppressed:
        yield f"a count of 0 stands for 0 to {context.release.suppressed_below - 1}; all others are exact"


def _notes(context: Context, impurity: Impurity | None, confidence: float, countable: int) -> list[str]:
    """What the reader of the result should know about how the release was read."""
    notes = []
    if context.rates.half:
        digits = round(-np.log10(2 * context.rates.half))
        notes.append(
            f"error rates look rounded to {digits} digits and are read as intervals"
            " (rounding 'exact' takes them literally)"
        )
    if context.sampled and any(node.label is not None for tree in context.release.trees for node in tree.leaves):
        notes.append("labels, rates and splits of a sampled release say nothing certain and are not compiled")
    if "counts" in context.knowledge:
        notes += _of_counts(context, confidence, countable)
    if impurity is not None and all(tree.induction.candidates == "none" for tree in context.release.trees):
        notes.append("the release does not say which splits competed (`candidates`): no internal constraint follows")
    gone = np.unique(
        np.concatenate([left_out_of(context.cells, t, len(tree.nodes)) for t, tree in enumerate(context.release.trees)])
    )
    if len(gone):
        people, lines = int(context.table.counts[gone].sum()), np.sort(context.table.lines[gone])
        who = "1 individual reaches" if people == 1 else f"{people} individuals reach"
        what, so = "a removed leaf", ": no leaf states anything about them"
        if says_why_left_out(context.release):
            what, so = "a part of a tree that was left out, as every count in it is published as 0", ""
        some = ", ".join(map(str, lines[:5])) + (", ..." if people > 5 else "")
        notes.append(f"{who} {what} ({context.table.source}, {context.table.unit}s {some}){so}")
    return notes
