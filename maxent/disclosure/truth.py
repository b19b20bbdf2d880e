"""Measures that need the truth: correct guesses, g-vulnerability, and control people compared with members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxent.constraints.program.cells import build_cells
from maxent.constraints.program.program import Program
from maxent.disclosure.baseline import ControlShares, TwoGroups, Way, newcombe, welch
from maxent.disclosure.measures import TOLERANCE, individual_divergence, mean
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import InvalidInput, Problem
from maxent.models.reading import Reader
from maxent.models.release import Release
from maxent.models.tables.frame import Source
from maxent.models.tables.qi_table import QITable, row_keys, sum_by
from maxent.models.tables.truth_and_facts import recoded
from maxent.models.trees.predict import answers_at, read_cases, states_answers, terms_of


@dataclass(frozen=True, slots=True, eq=False)
class InTruth:
    """How many people of each quasi-identifier are guessed right, by estimate, prediction and base rate, if known.

    Of several likeliest classes one is guessed by chance; ``pure`` are those in a leaf of one class.
    """

    by_estimate: FloatArray
    as_predicted: FloatArray | None
    pure: BoolArray
    by_base: FloatArray | None = None

    @property
    def ways(self) -> dict[Way, FloatArray]:
        """The people who are guessed right in each of the ways that there are."""
        found: dict[Way, FloatArray | None] = {
            "estimate": self.by_estimate,
            "predicted": self.as_predicted,
            "base": self.by_base,
        }
        return {way: right for way, right in found.items() if right is not None}

    @property
    def way(self) -> Way:
        """The way of guessing that is right most often over all: nobody guesses worse than by what they know."""
        ways = self.ways
        return max(ways, key=lambda way: float(ways[way].sum()))

    @property
    def right(self) -> FloatArray:
        """The people of each quasi-identifier whose class is guessed right, in that way."""
        return self.ways[self.way]

    @property
    def predicted(self) -> bool:
        """Whether the predictions of the release are right more often than other guesses."""
        return self.way == "predicted"

    def as_dict(self, counts: IntArray) -> dict[str, Any]:
        """The key ``truth`` of a JSON summary: shares of all people, and a number of them; ``counts`` are people."""
        people = int(counts.sum())
        return {
            "right_guesses": float(self.right.sum() / people),
            "by_estimate": float(self.by_estimate.sum() / people),
            "as_predicted": None if self.as_predicted is None else float(self.as_predicted.sum() / people),
            "by_base_rate": None if self.by_base is None else float(self.by_base.sum() / people),
            "pure": int(counts[self.pure].sum()),
        }


def in_truth(
    program: Program, masses: FloatArray, posterior: FloatArray, truth: IntArray, frequent: int | None = None
) -> InTruth:
    """Compare what a release lets somebody guess with the truth; ``frequent`` is the class that is known to be."""
    guess = predicted_guesses(program, masses)
    predicted = None if guess is None else (truth * guess).sum(axis=1)
    base = None if frequent is None else truth[:, frequent].astype(np.float64)
    return InTruth(right_by(posterior, truth), predicted, pure_people(program, truth), base)


def shared(p: FloatArray) -> FloatArray:
    """The guess of each row, shape (n, n_classes): its likeliest class; several that are as likely share it equally."""
    likeliest = p >= p.max(axis=1, keepdims=True) - TOLERANCE
    return np.asarray(likeliest / likeliest.sum(axis=1, keepdims=True))


def right_by(posterior: FloatArray, truth: IntArray | FloatArray) -> FloatArray:
    """People of each quasi-identifier who have its most likely class, shape (n_qi,); of several alike, their mean."""
    return np.asarray((truth * shared(posterior)).sum(axis=1))


def answered(answers: FloatArray, codes: IntArray, owner: IntArray, weight: FloatArray) -> FloatArray:
    """What the answers at cells let somebody guess, see `shared`, shape (n_qi, n_classes).

    ``answers``, ``codes``: see `answers_at`; a class that is not the most likely one is guessed as it was answered.
    ``owner``: the quasi-identifier of each cell. ``weight``: how likely its people are there.
    """
    each, guess = np.arange(len(codes)), shared(answers)
    guess = np.where(guess[each, codes][:, None] > 0, guess, np.eye(answers.shape[1])[codes])
    votes = np.zeros((int(owner.max()) + 1, answers.shape[1]))
    np.add.at(votes, owner, guess * weight[:, None])
    return shared(votes / votes.sum(axis=1, keepdims=True))


def predicted_guesses(program: Program, masses: FloatArray) -> FloatArray | None:
    """What a release predicts for each quasi-identifier, as `answered` has it; None if it predicts nothing."""
    if program.scaling is not None or not states_answers(program.release):
        return None
    cells = program.cells
    told = answers_at(program.release, list(cells.leaf.T), len(cells))
    return answered(*told, cells.owner, np.maximum(masses.sum(axis=1), TOLERANCE))


def pure_people(program: Program, truth: IntArray) -> BoolArray:
    """Whether the people of a quasi-identifier are in leaves whose people all have the class that they answer with.

    Nobody is in leaves of samples, bootstraps, scores, or labels that something else decided.
    """
    release, cells = program.release, program.cells
    found = np.zeros(len(truth), bool)
    if program.scaling is not None or release.sampled or release.predicts == "score":
        return found
    possible = truth[cells.owner] > 0
    for t, terms in enumerate(terms_of(release)):
        leaf = cells.trees[t].places.whole[cells.leaf[:, t]]
        there = np.zeros(terms.own.shape, bool)
        np.logical_or.at(there, leaf, possible)
        answered = np.where(terms.label < 0, terms.own.argmax(axis=1), terms.label)
        silent = (terms.label < 0) & ~terms.own.any(axis=1)
        for at, node in enumerate(release.trees[t].nodes if release.labels == "decided" else ()):
            silent[at] |= node.counts is None and node.rates is None and node.error_rate is None
        pure = (there.sum(axis=1) == 1) & there[np.arange(len(there)), answered] & ~silent
        least, most = np.full((2, len(truth)), -1)
        least[:] = truth.shape[1]
        told = np.where(pure, answered, -1)[leaf]
        np.minimum.at(least, cells.owner, told)
        np.maximum.at(most, cells.owner, told)
        found |= (least == most) & (least >= 0)
    return found


# Leakage to adversaries with stakes of their own: g-vulnerability, and the capacity of a channel.
#
# A channel C[x, y] = P(y|x) has a row for each secret x and a column for each observation y; rows sum to 1. A gain
# matrix g[w, x] says what the guess w is worth when the secret is x. Source: Alvim, Chatzikokolakis, McIver, Morgan,
# Palamidessi and Smith, "The Science of Quantitative Information Flow", Springer 2020, chapters 3, 5 and 7.


# Control people: people like those of the table, who were not in the data that a release was made from.


@dataclass(frozen=True, slots=True, eq=False)
class Controls:
    """Control people by quasi-identifier and class; the release does not know a value of those ``left_out``."""

    table: QITable
    truth: IntArray
    left_out: int


@dataclass(frozen=True, slots=True, eq=False)
class BelievedInTruth:
    """What an adversary believes of control people; the quasi-identifiers of those ``known`` are in the table, too."""

    posterior: FloatArray
    predicted: FloatArray | None
    known: int


def read_controls(
    source: Source, release: Release, *, count: str | None = None, reader: Reader | None = None
) -> Controls:
    """Read control people: a column for each public attribute, and the target."""
    cases = read_cases(source, "control", release.target, release.public, count=count, reader=reader)
    known = cases.y >= 0
    for attribute, column in zip(cases.attributes, cases.columns, strict=True):
        if attribute.values is not None:
            known &= column >= 0
    rows = np.flatnonzero(known & (cases.counts > 0))
    if not len(rows):
        problem = Problem("rows", "individuals", "people whose values and class the release knows", "none")
        raise InvalidInput("control", [problem])
    codes, levels = [], []
    for attribute, column in zip(cases.attributes, cases.columns, strict=True):
        if attribute.values is None:
            level, code = np.unique(column[rows], return_inverse=True)
        else:
            level, code = np.array(attribute.values, dtype=object), column[rows]
        codes.append(code)
        levels.append(level)
    stacked = np.column_stack([np.zeros((len(rows), 0), np.int64), *codes])
    keys = row_keys(stacked, [len(level) for level in levels])
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    counts, classes = cases.counts[rows], len(release.target.classes)
    truth = sum_by(inverse * classes + cases.y[rows], counts, len(first) * classes).reshape(len(first), classes)
    table = QITable(
        cases.attributes, stacked[first], tuple(levels), truth.sum(axis=1), rows[first] + 1, "control", "row"
    )
    left_out = int(cases.counts[~known].sum())
    if left_out and reader is not None:
        people = f"{left_out:,} of {left_out + table.individuals:,} control people are left out"
        reader.note("control", f"{people}: they have a value or a class that the release does not know")
    return Controls(table, truth, left_out)


def believed(program: Program, masses: FloatArray, posterior: FloatArray, controls: Controls) -> BelievedInTruth:
    """The posterior that an adversary holds of control people: their quasi-identifier's, or that of their leaves.

    Where nobody is in the same leaves of all trees, it is the mean of those of each tree's leaf, or of the nearest node
    with somebody.
    """
    table, classes = controls.table, program.n_classes
    theirs = build_cells(program.release, table)
    each = np.zeros((len(theirs), classes))
    for t, held in enumerate(program.cells.trees):
        places = held.places
        mass = np.zeros((len(places), classes))
        np.add.at(mass, program.cells.leaf[:, t], masses)
        nearest = np.arange(len(places))
        for level in reversed(places.levels[1:]):
            np.add.at(mass, places.parent[level], mass[level])
        for level in places.levels[1:]:
            empty = mass[level].sum(axis=1) <= 0
            nearest[level] = np.where(empty, nearest[places.parent[level]], level)
        here = mass[nearest[theirs.leaf[:, t]]]
        each += here / here.sum(axis=1, keepdims=True) / len(program.cells.trees)
    together = _together(program, masses, theirs.leaf)
    size = together.sum(axis=1, keepdims=True)
    cell = np.where(size > 0, together / np.where(size > 0, size, 1.0), each)
    # Cells where nobody is count a little, so that somebody who can only be in such ones has a posterior.
    weight = np.maximum(size, 1e-9)
    found = np.zeros((len(table), classes))
    np.add.at(found, theirs.owner, weight * cell)
    found /= found.sum(axis=1, keepdims=True)
    row = rows_in(table, program.table)
    known = row >= 0
    found[known] = posterior[row[known]]
    predicted = None
    if states_answers(program.release):
        told = answers_at(program.release, list(theirs.leaf.T), len(theirs))
        predicted = answered(*told, theirs.owner, weight[:, 0])
    return BelievedInTruth(found, predicted, int(table.counts[known].sum()))


def _together(program: Program, masses: FloatArray, leaf: IntArray) -> FloatArray:
    """The masses of the people who are in the same leaves of all trees, shape (n, n_classes)."""
    both = np.vstack([program.cells.leaf, leaf])
    keys = row_keys(both, [len(held.places) for held in program.cells.trees])
    _, which = np.unique(keys, return_inverse=True)
    total = np.zeros((int(which.max()) + 1, masses.shape[1]))
    np.add.at(total, which[: len(masses)], masses)
    return np.asarray(total[which[len(masses) :]])


def rows_in(table: QITable, of: QITable) -> IntArray:
    """The row of another table with each quasi-identifier of a table, -1 where there is none; shape (n_distinct,)."""
    codes = recoded(table.codes, table.levels, of)
    known = np.all(codes >= 0, axis=1)
    sizes = [len(level) for level in of.levels]
    keys = row_keys(np.vstack([of.codes, codes[known]]), sizes)
    own, theirs = keys[: len(of)], keys[len(of) :]
    at = np.minimum(np.searchsorted(own, theirs), len(of) - 1)
    found = np.full(len(table), -1)
    found[known] = np.where(own[at] == theirs, at, -1)
    return found


# Members against control people: what a release gives away about its people beyond what it teaches about others.


def compared(
    program: Program,
    masses: FloatArray,
    posterior: FloatArray,
    truth: IntArray,
    controls: Controls,
    confidence: float,
    held: InTruth,
    frequent: int | None = None,
) -> ControlShares:
    """Apply the adversary of a release to its people, and to people who were not in its data.

    Control people are guessed in the way that is right about most of those ``held``. See Jayaraman and Evans, "Are
    Attribute Inference Attacks Just Imputation?", CCS 2022, and Giomi et al. (Anonymeter), PoPETs 2023.
    """
    others = believed(program, masses, posterior, controls)
    counts, their_counts = program.table.counts, controls.table.counts
    people = int(counts.sum()), int(their_counts.sum())
    right = held.right.sum(), _theirs(held.way, others, controls.truth, frequent).sum()
    weights = counts.astype(np.float64), their_counts.astype(np.float64)
    surest = posterior.max(axis=1), others.posterior.max(axis=1)
    divergence = individual_divergence(truth, posterior), individual_divergence(controls.truth, others.posterior)
    return ControlShares(
        hits=TwoGroups(*(float(r / n) for r, n in zip(right, people, strict=True))),
        interval=newcombe((float(right[0]), float(right[1])), people, confidence),
        vulnerability=TwoGroups(*(mean(s, w) for s, w in zip(surest, weights, strict=True))),
        vulnerability_interval=welch(surest, weights, confidence),
        divergence=TwoGroups(*(mean(d, w) for d, w in zip(divergence, weights, strict=True))),
        people=people,
        known=others.known,
        confidence=confidence,
    )


def _theirs(way: Way, others: BelievedInTruth, truth: IntArray, frequent: int | None) -> FloatArray:
    """Control people of each quasi-identifier whose class is guessed right, in a way."""
    if way == "estimate":
        return right_by(others.posterior, truth)
    if way == "base":
        return truth[:, frequent].astype(np.float64)
    assert others.predicted is not None  # a release that predicts nothing is not guessed by
    return np.asarray((truth * others.predicted).sum(axis=1))


def guesses(posterior: FloatArray, predicted: FloatArray | None) -> FloatArray:
    """The guess of each quasi-identifier, see `shared`: the likeliest class; of several alike those predicted."""
    likeliest = shared(posterior)
    both = likeliest * (0.0 if predicted is None else predicted)
    return shared(np.where(both.any(axis=1, keepdims=True), both, likeliest))
