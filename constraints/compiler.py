"""Compiler: from one or several releases and the adversary's table to a `Program`, with a list of unread statements."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.constraints.kinds import facts as facts_of
from maxent.constraints.kinds import marginal as marginal_of
from maxent.constraints.kinds.boosted_leaves import LeafCounts, leaf_counts, none
from maxent.constraints.kinds.bootstrap import likelihood_of
from maxent.constraints.kinds.bootstrap import misfits as misfits_of_draws
from maxent.constraints.kinds.context import NOISES, Context, Noise, RegionBook, RegisterMembers
from maxent.constraints.kinds.noise import noise_likelihood, noisy_counts
from maxent.constraints.kinds.registry import KINDS
from maxent.constraints.kinds.registry import knowledge as choices_of_knowledge
from maxent.constraints.kinds.sampling import Counting, left_out_of, n_countable
from maxent.constraints.kinds.size import table_contradictions
from maxent.constraints.kinds.statements import contradictions as contradictions_of_statements
from maxent.constraints.program.cells import Cells, CellSums, build_cells, place_sizes
from maxent.constraints.program.impurity import PHI_OF
from maxent.constraints.program.program import (
    CHOICES,
    Contradiction,
    Internal,
    Likelihood,
    Linear,
    NoiseLoss,
    Program,
    Regions,
    Unread,
)
from maxent.models.arguments import is_number, is_one_of, shorten
from maxent.models.columns import CELLS, NOTHING, check_size
from maxent.models.defenses.registry import stated
from maxent.models.errors import ARGUMENT, Check, InvalidInput, Origin, Problem, invalid, unchecked
from maxent.models.hints import as_share, close_to
from maxent.models.nodes import Nodes, links_of, parts_of, state_scores, statements_of
from maxent.models.trees.printed_rates import ROUNDINGS, Rounding, release_rates

if TYPE_CHECKING:
    from maxent.models.arrays import BoolArray, FloatArray, IntArray
    from maxent.models.release import Impurity, Node, Release, Tree
    from maxent.models.successive.releases import Joined
    from maxent.models.tables.qi_table import QITable
    from maxent.models.tables.truth_and_facts import Fact, Weighed

# Ledger of the statements that no constraint reads, so that no verdict ignores them.

SCORES = "scores"
SHARES = "weighted shares of classes"
LABELS = "labels that were decided otherwise than by the most frequent class"
OF_PARTS = "labels of the tool's leaves, of which leaves are parts"
NOTHING_OF = "all that the trees state (nothing is read of --knowledge {})"


def unread_of(
    release: Release, scored: LeafCounts, settings: Settings, said: Sequence[Linear | Internal]
) -> tuple[Unread, ...]:
    """What a release states that is in no constraint, of what an adversary is said to know.

    All of it, where ``said``, the constraints, are of none of some kinds of knowledge. Counts, rates and means of
    leaves are always compiled; scores where they prove something (``scored``), draws never.
    """
    found = _of_leaves(release, scored) if "counts" in settings.known else {}
    if "internal" in settings.known:
        compared = settings.unfinished and not release.sampled
        of = [
            (t, int((links_of(tree.nodes)[0] == 0).sum()))
            for t, tree in enumerate(release.trees)
            if tree.induction.among is not None
            or (compared and tree.induction.impurity is not None and tree.induction.candidates != "none")
            or (settings.members is not None and not holds_of_members(release, tree, settings.impurity))
        ]
        found |= {CHOICES: of} if of else {}
    found |= {
        what: [] for what in unread_beside(release, settings.members is not None, {str(row.origin) for row in said})
    }
    kinds = settings.known - {"marginal"}
    used = any(isinstance(one, Internal) or KINDS[one.kind].knowledge in kinds for one in said)
    if not used and (not release.statements or any(len(tree.nodes) > 1 for tree in release.trees)):
        found |= _nothing_of(settings.known)
    return tuple(Unread(what, len(of), sum(many for _, many in of), tuple(of)) for what, of in found.items())


def unread_beside_draws(release: Release, known: frozenset[str]) -> tuple[Unread, ...]:
    """What a release states that equations about rows do not: which splits were chosen, and what is no count."""
    whole, real = np.empty(0, np.int64), np.empty(0)
    nothing = LeafCounts(whole, whole, whole, real, real, real)
    found = _of_leaves(release, nothing) if "counts" in known else {}
    if "internal" in known:
        of = [
            (t, int((links_of(tree.nodes)[0] == 0).sum()))
            for t, tree in enumerate(release.trees)
            if tree.induction.among is not None
        ]
        found |= {CHOICES: of} if of else {}
    if "counts" not in known and (release.target.numbers is None or "rate" not in known):
        found |= _nothing_of(known)
    return tuple(Unread(what, len(of), sum(many for _, many in of), tuple(of)) for what, of in found.items())


def _nothing_of(known: frozenset[str]) -> dict[str, list[tuple[int, int]]]:
    """What is unread where the trees state nothing of some kinds of knowledge; nothing of all kinds."""
    kinds = [kind for kind in choices_of_knowledge() if kind in known]
    return {} if len(kinds) == len(choices_of_knowledge()) else {NOTHING_OF.format(",".join(kinds)): []}


def _of_leaves(release: Release, scored: LeafCounts) -> dict[str, list[tuple[int, int]]]:
    """What leaves state that is in no constraint: each tree where there is some, and in how many leaves."""
    read = scored.read
    kind = SCORES if release.boosting is not None or release.predicts == "score" else SHARES
    found: dict[str, list[tuple[int, int]]] = {}
    for t, tree in enumerate(release.trees):
        values, labels = _silent(tree, release)
        many = sum((t, at) not in read for at in np.flatnonzero(values).tolist())
        if many:
            found.setdefault(kind, []).append((t, many))
        if release.noise is not None:
            labels &= [_says_more(node) for node in tree.nodes]
        if (release.labels == "decided" or release.noise is not None) and labels.any():
            parted = any(part is not None for part in parts_of(tree.nodes))
            found.setdefault(OF_PARTS if parted else LABELS, []).append((t, int(labels.sum())))
    return found


def _says_more(node: Node) -> bool:
    """Whether a label does not follow from noisy counts: it may have been chosen by the true ones."""
    return not node.noisy or node.label is None or node.noisy.get(node.label, -np.inf) < max(node.noisy.values())


def _silent(tree: Tree, release: Release) -> tuple[BoolArray, BoolArray]:
    """Nodes that state a value, and leaves that state a label, beside no number of classes; shapes (n_nodes,)."""
    said = statements_of(tree.nodes, release.target.classes)
    counted = said.counted | (~np.isnan(said.rate) & (not release.sampled))
    if said.shares and not release.sampled:
        counted = counted | np.array([each is not None for each in said.shares], bool)
    leaf = links_of(tree.nodes)[0] == 0
    labels = leaf & ~counted & (said.label >= 0)
    if not state_scores(tree.nodes):
        return np.zeros(len(labels), bool), labels
    return leaf & ~counted & _valued(tree), labels


def _valued(tree: Tree) -> BoolArray:
    """Whether nodes state their contribution to a score."""
    if not isinstance(tree.nodes, Nodes):
        return np.array([node.value is not None for node in tree.nodes], bool)
    held = tree.nodes.columns
    valued = ~np.isnan(held.value)
    return valued if held.scores is None else valued | ~np.isnan(held.scores).all(axis=1)


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
    members: RegisterMembers | None = None,
) -> Program:
    """Everything that a release tells an adversary who holds the table.

    * ``release``, ``table``: what was published, and the quasi-identifiers of the individuals it was made from.
    * ``knowledge`` (label, rate, counts, internal, marginal): what the adversary uses; default everything stated.
      Without ``counts``, the labels and rates that the published counts imply are used in their place.
    * ``impurity`` (gini, entropy, gain_ratio): overrides the release's statement of how splits were chosen.
    * ``marginal`` (n_classes,): individuals of each class in the whole table; implied by counts where they suffice.
    * ``facts``: background knowledge, from `maxent.models.tables.truth_and_facts.read_facts`.
    * ``rounding`` (auto, digits, exact): how printed error rates are read, see `maxent.models.trees.printed_rates`.
    * ``confidence``: probability that all intervals of sampled counts hold together.
    * ``noise`` (intervals, likelihood): what counts of a bootstrap or with noise are taken for: intervals of the true
      counts, or what is certain, and the likelihood.
    * ``enough``: asked while splits are compared whether to leave out the rest. The program is then ``unfinished``.
    * ``cells``: from `maxent.constraints.program.cells.build_cells`, where they are there already.
    * ``check``: told again and again how far this has come.
    * ``weighed``: the weights that people had in training, where the adversary knows them.
    * ``members``: of a register: how many of its people the release is about, see `maxent.constraints.membership`.
    """
    known = frozenset(choices_of_knowledge() if knowledge is None else knowledge)
    check_options(known, impurity, rounding, confidence, noise)
    check_noise(noise, release)
    if knowledge is not None and "marginal" in known and marginal is None:
        marginal = implied_marginal(release)
    if "marginal" not in known:
        marginal = None
    cells = build_cells(release, table, check) if cells is None else cells
    told = release.statements or facts or weighed is not None or members is not None
    check_size(CELLS, len(cells) if told else told_apart(cells, table), len(release.target.classes))
    sums = CellSums(cells, table.codes, tuple(map(len, table.levels)))
    check(f"people were placed, which made {len(cells):,} cells, and nothing was stated about these yet")
    countable = n_countable(release, table, cells) if release.sampling_rate < 1.0 else 1
    alpha = (1.0 - confidence) / countable
    totals = _totals([release], marginal)
    settings = Settings(
        known, marginal, facts, impurity, rounding, noise, alpha, enough, check, weighed, totals, members
    )
    context = context_of(release, table, cells, sums, settings)
    said = emitted(context, settings)
    if members is not None:
        said = [each for found in said for each in about_members(found, context)]
    unfinished = settings.unfinished
    return Program(
        release if "counts" in known else replace(release, draws=None),
        table,
        cells,
        sums,
        regions_of(context.regions.cells, context.regions.places),
        tuple(found for found in said if isinstance(found, Linear)),
        tuple(found for found in said if isinstance(found, Internal)),
        (
            *(table_contradictions(context) if known & {"rate", "counts"} else ()),
            *(misfits_of_draws(context) if "counts" in known else ()),
            *contradictions_of_statements(context, said),
        ),
        tuple(notes_of(context, settings, confidence, countable, unfinished=unfinished)),
        unfinished=unfinished,
        likelihood=_likelihood(context) if noise == "likelihood" else None,
        unread=unread_of(release, context.scored, settings, said),
    )


def told_apart(cells: Cells, table: QITable) -> int:
    """Cells that leaves tell apart: those of one tree without private attributes are solved together."""
    if len(cells.trees) > 1 or len(cells) > len(table):
        return len(cells)
    return int((cells.trees[0].stop > cells.trees[0].start)[cells.trees[0].places.leaves].sum())


def has_likelihood(release: Release) -> bool:
    """Whether counts have a likelihood: draws of classes, and noise."""
    return release.noise is not None or (release.resampled is not None and release.target.numbers is None)


def check_noise(noise: object, *releases: Release) -> None:
    """Refuse a likelihood where no release has one."""
    if noise == "likelihood" and not any(map(has_likelihood, releases)):
        none = "the release has no" if len(releases) == 1 else "no release has"
        expected = f"intervals, since {none} counts of a bootstrap (release.resampled) or with noise"
        raise invalid("options", ARGUMENT, "noise", expected, noise)


def _likelihood(context: Context) -> Likelihood | None:
    """The likelihood of draws, or of counts with noise."""
    return likelihood_of(context) if context.release.noise is None else noise_likelihood(context)


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
    totals: tuple[FloatArray, ...] = ()
    members: RegisterMembers | None = None

    @property
    def unfinished(self) -> bool:
        """Whether there was no time for internal constraints."""
        return "internal" in self.known and self.enough()


def context_of(release: Release, table: QITable, cells: Cells, sums: CellSums, settings: Settings) -> Context:
    """The input of the kinds of constraints."""
    known, check = settings.known, settings.check
    sizes = place_sizes(cells, table.counts, check)
    read = "counts" in known and settings.members is None
    if settings.members is not None:
        sizes = tuple(np.full(len(size), np.nan) for size in sizes)
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
        totals=settings.totals,
        scored=leaf_counts(release, cells, table.counts, check, settings.weighed) if read else none(),
        members=settings.members,
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
    known: frozenset[str], impurity: object, rounding: object, confidence: Any, noise: object = None
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
    problems += interval_problems(rounding, confidence, noise)
    if problems:
        raise InvalidInput("options", problems)


def interval_problems(rounding: object, confidence: Any, noise: object) -> Iterator[Problem]:
    """Mistakes in the parameters by which printed numbers become intervals."""
    if not is_one_of(rounding, ROUNDINGS):
        yield Problem(ARGUMENT, "rounding", "one of " + ", ".join(ROUNDINGS), shorten(rounding))
    if not (is_number(confidence) and 0 < confidence < 1):
        expected = "a probability between 0 and 1"
        yield Problem(ARGUMENT, "confidence", expected, shorten(confidence) + as_share(confidence))
    if noise is not None and not is_one_of(noise, NOISES):
        yield Problem(ARGUMENT, "noise", "one of " + ", ".join(NOISES), shorten(noise))


def _totals(releases: Iterable[Release], marginal: FloatArray | None) -> tuple[FloatArray, ...]:
    """Numbers of people of each class that releases about everybody state, each of shape (n_classes,)."""
    found = [] if marginal is None else [marginal]
    for release in releases:
        with suppress(InvalidInput):
            found.append(implied_marginal(release))
    return tuple(found)


def implied_marginal(release: Release) -> FloatArray:
    """Individuals of each class that the counts of a release add up to, shape (n_classes,)."""
    if not release.sampled and not release.blurred:
        for tree in release.trees:
            stating = [tree.root] if tree.root.counts is not None else list(tree.leaves)
            whole = tree.root.counts is not None or not any(b.child is None for n in tree.nodes for b in n.branches)
            if whole and all(node.counts is not None for node in stating):
                return np.array(
                    [sum((node.counts or {}).get(c, 0) for node in stating) for c in release.target.classes], np.float64
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
    if context.release.noise is not None:
        noise, many = context.release.noise, noisy_counts(context.release)
        how = f"each true count is in an interval; all {many:,} hold together with a probability of at least "
        if context.noise == "likelihood":
            yield (
                f"counts have noise ({noise}): nothing is certain of them, and their likelihood is maximised with the "
                "entropy" + "; of its logarithm, the least concave function above it" * (not noise.concave)
            )
        else:
            yield f"counts have noise ({noise}): {how}{confidence:g}"
    elif context.noise == "likelihood" and context.release.resampled is not None:
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
        others = "all others are exact" if context.release.rounded is None else context.release.rounded.in_words
        yield f"a count of 0 stands for 0 to {context.release.behind(np.zeros(1, np.int64))[1][0]}; {others}"
    elif context.release.rounded is not None:
        yield context.release.rounded.in_words


def notes_of(context: Context, settings: Settings, confidence: float, countable: int, *, unfinished: bool) -> list[str]:
    """Notes on how the release was read."""
    impurity = settings.impurity if "internal" in settings.known else None
    notes = [*context.scored.notes, *(note for said in context.release.statements for note in said.notes)]
    if context.rates.note and "rate" in context.knowledge and not context.sampled:
        notes.append(context.rates.note)
    if unfinished:
        notes.append("the time limit ended the comparison of splits: internal constraints are missing")
    if context.sampled and any(
        (statements_of(tree.nodes, context.release.target.classes).label[links_of(tree.nodes)[0] == 0] != NOTHING).any()
        for tree in context.release.trees
    ):
        what = "sampled release" if context.release.noise is None else "release with noise"
        notes.append(f"labels, rates and splits of a {what} say nothing certain and are not compiled")
    if context.regions.repeated:
        notes.append(f"{context.regions.repeated:,} statements of leaves repeat others about the same people: left out")
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


# Statements about the members of a register, see `maxent.constraints.membership`.


def about_members(found: Linear | Internal, context: Context) -> Iterator[Linear | Internal]:
    """A constraint, without the last class, of those who are out: none where nothing is left of it."""
    members = context.members
    if (
        members is not None
        and members.apart
        and (isinstance(found, Internal) or context.regions.places[found.region] not in (None, (0, 0)))
    ):
        if isinstance(found, Linear) or found.place > 0:  # the first node is ours
            yield found
        return
    if isinstance(found, Internal):
        yield found
        return
    outs, coef = found.coef[:, -1] != 0, found.coef.copy()
    coef[:, -1] = 0.0
    low, high = found.lower, found.upper
    empty = outs & (~coef.any(axis=1) | ((coef >= 0).all(axis=1) & (low <= 0) & np.isinf(high)))
    if not empty.all():
        yield replace(found, coef=coef[~empty], lower=low[~empty], upper=high[~empty])


def holds_of_members(release: Release, tree: Tree, impurity: Impurity | None) -> bool:
    """Whether comparisons of the splits of a tree hold whoever of a register is a member, or there are none."""
    made, measure = tree.induction, impurity or tree.induction.impurity
    if release.sampled or measure is None or made.candidates == "none":
        return True
    return measure != "gain_ratio" and max(made.min_samples_leaf, made.k) <= 1


def unread_beside(release: Release, members: bool, origins: Container[str]) -> Iterator[str]:
    """Each statement that is not proved, or says nothing linear of ``members`` of a register, and why.

    ``origins``: of all constraints.
    """
    if not release.statements:
        return
    from maxent.models.statements.glm import Coefficients
    from maxent.models.statements.read import NOT_OF_MEMBERS

    for said in release.statements:
        for each in said.statements:
            where = f"({said.name}, {each.source})"
            if members and each.kind in NOT_OF_MEMBERS:
                yield f"{each.kind} {where}, as {NOT_OF_MEMBERS[each.kind]}"
            elif isinstance(each.content, Coefficients) and each.content.fit.assumed:
                yield f"where the fit stopped {where}, which is assumed: proofs hold as far as that does"
            elif any(
                f"{said.name}, {each.source}, {name}" not in origins for name in getattr(each.content, "numbered", ())
            ):
                why = "as printed thresholds leave open whom they cover, or people lack values"
                yield f"numbers of rules {where}, {why}"


# Compiles several releases about overlapping people into one program.
#
# The unknowns are those of all trees together (`maxent.models.successive.releases`). Each release is compiled with its
# own settings, over the same cells, by a table where people who are not in it count for nobody; of these it states
# nothing.


def compile_several(
    joined: Joined,
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
) -> Program:
    """Everything that several releases tell an adversary who holds a table of all their people.

    ``table``: everybody who is in some release, with the public attributes of all releases and the one that says in
    which releases somebody is. ``knowledge``, ``impurity``, ``rounding``, ``noise``: as for `compile_program`, of each
    release. ``marginal``, ``facts``: of everybody in the table. ``confidence``: probability that all intervals of all
    releases hold together. ``enough``, ``cells``, ``check``: as for `compile_program`.
    """
    known = frozenset(choices_of_knowledge() if knowledge is None else knowledge)
    check_options(known, impurity, rounding, confidence, noise)
    check_noise(noise, *joined.parts)
    if knowledge is not None and "marginal" in known and marginal is None:
        marginal = _implied(joined)
    release = joined.release
    cells = build_cells(release, table, check) if cells is None else cells
    check_size(CELLS, len(cells), len(release.target.classes))
    sums = CellSums(cells, table.codes, tuple(map(len, table.levels)))
    check(f"people were placed, which made {len(cells):,} cells, and nothing was stated about these yet")
    miss = (1.0 - confidence) / max(sum(part.sampled for part in joined.parts), 1)
    totals = _totals([part for i, part in enumerate(joined.parts) if not joined.partial(i)], marginal)
    settings = Settings(known, None, (), impurity, rounding, noise, miss, enough, check, None, totals)
    book = RegionBook()
    found = [_of_release(joined, i, table, cells, sums, book, settings, confidence) for i in range(len(joined.parts))]
    said = [constraint for one in found for constraint in one.said]
    of_all: dict[str, Any] = {"release": release, "table": table, "cells": cells, "sums": sums, "regions": book}
    everybody = replace(found[0].context, **of_all, facts=facts, marginal=marginal)
    said += marginal_of.marginal(everybody) if "marginal" in known else ()
    said += facts_of.facts(everybody)
    unfinished = settings.unfinished
    notes = [*joined.notes, *(note for one in found for note in one.notes)]
    if unfinished:
        notes.append("the time limit ended the comparison of splits: internal constraints are missing")
    return Program(
        release,
        table,
        cells,
        sums,
        regions_of(book.cells, book.places),
        tuple(constraint for constraint in said if isinstance(constraint, Linear)),
        tuple(constraint for constraint in said if isinstance(constraint, Internal)),
        tuple(wrong for one in found for wrong in one.contradictions),
        tuple(notes),
        unfinished=unfinished,
        likelihood=_together([one.likelihood for one in found if one.likelihood is not None]),
        unread=tuple(
            replace(each, of=tuple((first + t, many) for t, many in each.of))
            for one, first in zip(found, joined.first, strict=True)
            for each in unread_of(one.context.release, one.context.scored, settings, one.said)
        ),
    )


class _Shifted(RegionBook):
    """The regions of a release in the book of all, where its trees have other numbers."""

    def __init__(self, book: RegionBook, first: int) -> None:
        super().__init__()
        self._book, self._first = book, first
        self.cells, self.places = book.cells, book.places

    def add(self, key: Hashable, cells: IntArray, place: tuple[int, int] | None = None) -> int:
        if place is not None:
            key = place = (place[0] + self._first, place[1])
        return self._book.add(key, cells, place)


@dataclass(frozen=True, slots=True, eq=False)
class _OfRelease:
    """Statements of one release, with the numbers of its trees among all."""

    context: Context
    said: list[Linear | Internal]
    contradictions: list[Contradiction]
    likelihood: Likelihood | None
    notes: list[str]


def _of_release(
    joined: Joined,
    i: int,
    table: QITable,
    cells: Cells,
    sums: CellSums,
    book: RegionBook,
    settings: Settings,
    confidence: float,
) -> _OfRelease:
    """Statements of a release about its people."""
    part, first, partial = joined.parts[i], joined.first[i], joined.partial(i)
    trees = slice(first, first + len(part.trees))
    view = Cells(cells.owner, cells.leaf[:, trees], cells.trees[trees])
    own = _own_table(joined, table, i)
    countable = n_countable(part, own, view) if part.sampling_rate < 1.0 else 1
    settings = replace(settings, alpha=settings.alpha / countable, totals=() if partial else settings.totals)
    context = context_of(part, own, view, sums.of_trees(view, first), settings)
    context = replace(context, regions=_Shifted(book, first))
    said = emitted(context, settings)
    wrong = list(table_contradictions(context)) if settings.known & {"rate", "counts"} else []
    wrong += misfits_of_draws(context) if "counts" in settings.known else []
    wrong += contradictions_of_statements(context, said)
    likelihood = _likelihood(context) if settings.noise == "likelihood" else None
    if partial:  # nothing is stated of the others, nor was the node that tells them apart chosen
        others = {(t, len(tree.nodes) - 1) for t, tree in enumerate(part.trees, first)}
        ids = {(t, tree.nodes[-1].id) for t, tree in enumerate(part.trees)}
        said = [s for s in said if (s.place > 0 if isinstance(s, Internal) else book.places[s.region] not in others)]
        wrong = [found for found in wrong if (found.origin.tree or 0, found.origin.node) not in ids]
    notes = notes_of(context, settings, confidence, countable, unfinished=False)
    return _OfRelease(
        context,
        [_numbered(constraint, first) for constraint in said],
        [replace(found, origin=_of_tree(found.origin, first)) for found in wrong],
        None if likelihood is None else replace(likelihood, tree=likelihood.tree + first),
        [f"{joined.names[i]}: {note}" for note in notes],
    )


def _own_table(joined: Joined, table: QITable, i: int) -> QITable:
    """The table in which those who are not in a release count for nobody."""
    if not joined.partial(i):
        return table
    inside = np.array([row[i] for row in joined.members])
    return replace(table, counts=np.where(inside[table.codes[:, -1]], table.counts, 0))


def _numbered(said: Linear | Internal, first: int) -> Linear | Internal:
    """A constraint with the number that its tree has among all."""
    origin = _of_tree(said.origin, first)
    if isinstance(said, Internal):
        return replace(said, origin=origin, tree=said.tree + first)
    return replace(said, origin=origin)


def _of_tree(origin: Origin, first: int) -> Origin:
    """An origin with the number that its tree has among all."""
    return origin if origin.node is None else replace(origin, tree=(origin.tree or 0) + first)


def _implied(joined: Joined) -> FloatArray:
    """Individuals of each class in the whole table, from the counts of a release that has everybody."""
    whole = [part for i, part in enumerate(joined.parts) if not joined.partial(i)]
    error = None
    for part in whole:
        try:
            return implied_marginal(part)
        except InvalidInput as refused:
            error = refused
    expected = "a file with the number of individuals of each class (marginal=), as no release has all people"
    raise error or invalid("options", ARGUMENT, "marginal", expected, "none")


def _together(found: list[Likelihood]) -> Likelihood | None:
    """The likelihood of the draws of several releases."""
    if not found:
        return None
    loss = None
    if any(one.noise is not None for one in found):
        noises = [one.noise or NoiseLoss(*(np.full(one.draws.shape, np.nan), *[0 * one.draws] * 3)) for one in found]
        loss = NoiseLoss(
            *(
                np.concatenate([getattr(each, part) for each in noises])
                for part in ("published", "below", "above", "variance")
            )
        )
    return Likelihood(
        np.concatenate([one.tree for one in found]),
        np.concatenate([one.place for one in found]),
        np.concatenate([one.draws for one in found]),
        np.concatenate([one.size for one in found]),
        loss,
    )
