"""Compile a release and the adversary's table into a `Program`: run every emitter, check sizes, keep origins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxent.constraints.cells import Cells, build_cells, place_sizes
from maxent.constraints.impurity import PHI_OF
from maxent.constraints.kinds.boosting.leaf_counts import leaf_counts, none
from maxent.constraints.kinds.bootstrap.likelihood import likelihood_of
from maxent.constraints.kinds.context import NOISES, Context, Noise
from maxent.constraints.kinds.registry import KINDS
from maxent.constraints.kinds.registry import knowledge as choices_of_knowledge
from maxent.constraints.kinds.sampling import Counting, left_out_of, n_countable
from maxent.constraints.kinds.size import table_contradictions
from maxent.constraints.place_sums import CellSums
from maxent.constraints.program import Internal, Linear, Program, Regions
from maxent.constraints.unread import unread_of
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.defenses.stated import stated
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.looking import Check, unchecked
from maxent.models.release import Impurity, Release
from maxent.models.sparse_counts import check_size
from maxent.models.tables.frame import shorten
from maxent.models.tables.qi_table import QITable
from maxent.models.tables.truth_and_facts import Fact, Weighed
from maxent.models.text.arguments import is_number, is_one_of
from maxent.models.text.hints import as_share, close_to
from maxent.models.trees.printed_rates import ROUNDINGS, Rounding, release_rates


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
    noise: Noise = "intervals",
    enough: Callable[[], bool] = lambda: False,
    cells: Cells | None = None,
    check: Check = unchecked,
    weighed: Weighed | None = None,
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
    facts : background knowledge, from `maxent.models.tables.qi_table.read_facts`
    rounding : {"auto", "digits", "exact"}
        How printed error rates are read, see `maxent.models.trees.printed_rates`.
    confidence : in (0, 1)
        Probability that all intervals of sampled counts hold together.
    noise : {"intervals", "likelihood"}
        What counts of a bootstrap are taken for: intervals of the true counts, or what is certain, and the likelihood.
    enough : callable
        Asked while splits are compared whether to leave out the rest. The program is then ``unfinished``.
    cells : Cells, optional
        From `maxent.constraints.cells.build_cells`, where they are there already.
    check : Check
        Told again and again how far this has come.
    weighed : Weighed, optional
        The weights that people had in training, where the adversary knows them.
    """
    known = frozenset(choices_of_knowledge() if knowledge is None else knowledge)
    check_options(known, impurity, rounding, confidence, noise)
    if noise == "likelihood" and (release.resampled is None or release.target.numbers is not None):
        expected = "intervals, since the release has no counts of a bootstrap (release.resampled)"
        raise invalid("options", ARGUMENT, "noise", expected, noise)
    if knowledge is not None and "marginal" in known and marginal is None:
        marginal = implied_marginal(release)
    if "marginal" not in known:
        marginal = None
    cells = build_cells(release, table, check) if cells is None else cells
    check_size("cells of distinct quasi-identifiers", len(cells), len(release.target.classes))
    sums = CellSums(cells, table.codes, tuple(map(len, table.levels)))
    check(f"people were placed, which made {len(cells):,} cells, and nothing was stated about these yet")
    countable = n_countable(release, table, cells) if release.sampling_rate < 1.0 else 1
    alpha = (1.0 - confidence) / countable
    settings = Settings(known, marginal, facts, impurity, rounding, noise, alpha, enough, check, weighed)
    context = context_of(release, table, cells, sums, settings)
    said = emitted(context, settings)
    unfinished = settings.unfinished
    return Program(
        release,
        table,
        cells,
        sums,
        regions_of(context.regions.cells, context.regions.places),
        tuple(found for found in said if isinstance(found, Linear)),
        tuple(found for found in said if isinstance(found, Internal)),
        tuple(table_contradictions(context)) if known & {"rate", "counts"} else (),
        tuple(notes_of(context, settings, confidence, countable, unfinished=unfinished)),
        unfinished=unfinished,
        likelihood=likelihood_of(context) if noise == "likelihood" else None,
        unread=unread_of(release, context.scored) if "counts" in known else (),
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """Parameters of `compile_program` for one release; ``alpha`` is the error probability of each interval."""

    known: frozenset[str]
    marginal: FloatArray | None
    facts: tuple[Fact, ...]
    impurity: Impurity | None
    rounding: Rounding
    noise: Noise
    alpha: float
    enough: Callable[[], bool]
    check: Check
    weighed: Weighed | None = None

    @property
    def unfinished(self) -> bool:
        """Whether there was no time for internal constraints."""
        return "internal" in self.known and self.enough()


def context_of(release: Release, table: QITable, cells: Cells, sums: CellSums, settings: Settings) -> Context:
    """The input of the kinds of constraints."""
    known, check = settings.known, settings.check
    sizes = place_sizes(cells, table.counts, check)
    return Context(
        release,
        table,
        cells,
        known,
        release_rates(release, None if release.sampled else sizes, settings.rounding),
        settings.marginal,
        settings.facts,
        Counting(release.sampling_rate, release.suppressed_below, settings.alpha, release.rounded),
        sums,
        sizes,
        settings.impurity,
        enough=settings.enough,
        noise=settings.noise,
        scored=leaf_counts(release, cells, table.counts, check, settings.weighed) if "counts" in known else none(),
    )


def emitted(context: Context, settings: Settings) -> list[Linear | Internal]:
    """Every constraint of a context, kind after kind; regions are in its book."""
    constraints: list[Linear | Internal] = []
    cells, check = context.cells, settings.check
    used = (kind for kind in KINDS.values() if kind.knowledge is None or kind.knowledge in context.knowledge)
    for kind in used:
        for found in () if kind.emit is None else kind.emit(context):
            constraints.append(found)
            check()
        check(f"people were placed, which made {len(cells):,} cells, and {len(constraints):,} statements were compiled")
    return constraints


def regions_of(parts: Sequence[IntArray], places: Sequence[tuple[int, int] | None]) -> Regions:
    """The sets of cells of a program."""
    lengths = np.array([0, *map(len, parts)])
    indices = np.concatenate(parts) if parts else np.empty(0, np.int64)
    return Regions(np.cumsum(lengths), indices, tuple(places))


def check_options(
    known: frozenset[str], impurity: object, rounding: object, confidence: Any, noise: object = "intervals"
) -> None:
    """Refuse parameters of `compile_program` that no release makes right."""
    problems = [
        Problem(
            ARGUMENT,
            "knowledge",
            "any of " + ", ".join(choices_of_knowledge()),
            shorten(kind) + close_to(str(kind), choices_of_knowledge()),
        )
        for kind in sorted(known - set(choices_of_knowledge()), key=repr)
    ]
    if impurity is not None and not is_one_of(impurity, PHI_OF):
        problems.append(Problem(ARGUMENT, "impurity", "one of " + ", ".join(PHI_OF), shorten(impurity)))
    if not is_one_of(rounding, ROUNDINGS):
        problems.append(Problem(ARGUMENT, "rounding", "one of " + ", ".join(ROUNDINGS), shorten(rounding)))
    if not (is_number(confidence) and 0 < confidence < 1):
        found = shorten(confidence) + as_share(confidence)
        problems.append(Problem(ARGUMENT, "confidence", "a probability between 0 and 1", found))
    if not is_one_of(noise, NOISES):
        problems.append(Problem(ARGUMENT, "noise", "one of " + ", ".join(NOISES), shorten(noise)))
    if problems:
        raise InvalidInput("options", problems)


def implied_marginal(release: Release) -> FloatArray:
    """Individuals of each class that the counts of a release add up to, shape (n_classes,)."""
    if not release.sampled and not release.blurred:
        for tree in release.trees:
            stating = [tree.root] if tree.root.counts is not None else list(tree.leaves)
            whole = tree.root.counts is not None or not any(b.child is None for n in tree.nodes for b in n.branches)
            if whole and all(node.counts is not None for node in stating):
                return np.array(
                    [sum((node.counts or {})[c] for node in stating) for c in release.target.classes], np.float64
                )
    raise invalid(
        "options",
        ARGUMENT,
        "marginal",
        "a file with the number of individuals of each class (marginal=), or counts that imply it",
        "neither",
    )


def _of_counts(context: Context, confidence: float, countable: int) -> Iterator[str]:
    """Sampling, suppression and rounding of the published counts."""
    what = "count" if context.release.target.numbers is None else "mean"
    if context.noise == "likelihood":
        yield (
            f"counts are of {context.release.resampled:,} draws with replacement for each tree: what they prove is "
            "compiled, and their likelihood, as if leaves had not been chosen by what was drawn, is maximised with the "
            "entropy; nothing else about them is certain"
        )
    elif context.release.resampled is not None:
        yield (
            f"{what}s are of {context.release.resampled:,} draws with replacement for each tree: each true {what} is "
            "in an interval; all intervals, those of all nodes that the trees could have had, hold together with a "
            f"probability of at least {confidence:g}"
        )
    elif context.sampled:
        yield (
            f"counts are of samples (rate {context.release.sampling_rate:g}): each true count lies in an interval; all "
            f"intervals (up to {countable} counts could have been shown) hold together with a probability of "
            f"at least {confidence:g}"
        )
    elif context.suppressed:
        yield f"a count of 0 stands for 0 to {context.release.suppressed_below - 1}; all others are exact"
    elif context.release.rounded is not None:
        yield context.release.rounded.in_words


def notes_of(context: Context, settings: Settings, confidence: float, countable: int, *, unfinished: bool) -> list[str]:
    """Notes on how the release was read."""
    impurity = settings.impurity if "internal" in settings.known else None
    notes = list(context.scored.notes)
    if context.rates.note and "rate" in context.knowledge and not context.sampled:
        notes.append(context.rates.note)
    if unfinished:
        notes.append("the time limit ended the comparison of splits: internal constraints are missing")
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
        if stated(context.release).left_out_suppressed:
            what, so = "a part of a tree that was left out, as every count in it is published as 0", ""
        some = ", ".join(map(str, lines[:5])) + (", ..." if people > 5 else "")
        notes.append(f"{who} {what} ({context.table.source}, {context.table.unit}s {some}){so}")
    return notes
