"""What is right about real people: guesses by an estimate and by predictions, and leaves that are pure in truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxent.constraints.program import Program
from maxent.disclosure.checked_arrays import TOLERANCE
from maxent.evidence.baseline import Way
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.trees.answers import terms_of
from maxent.models.trees.predict import answers_at


@dataclass(frozen=True, slots=True, eq=False)
class InTruth:
    """What the truth says of the guesses that a release lets somebody make, arrays of shape (n_qi,).

    ``by_estimate`` and ``as_predicted`` are how many people of each quasi-identifier are guessed right, by the class
    that the posterior makes most likely (of several alike, by chance) and by the class that the release predicts;
    ``as_predicted`` is None where it predicts nothing of them. ``by_base`` are those of the class that is most frequent
    among everybody, None where the adversary does not know it. ``pure`` are those in a leaf of one class.
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
    """Compare what a release lets somebody guess with the truth.

    Parameters
    ----------
    program : Program
    masses : shape (n_cells, n_classes)
        The answer to it, individuals: where private attributes decide on leaves, its shares weigh the predictions.
    posterior : shape (n_qi, n_classes)
        The same as probabilities.
    truth : shape (n_qi, n_classes)
        Individuals of each class.
    frequent : int, optional
        The most frequent class, where the adversary knows it.
    """
    guess = predicted_classes(program, masses)
    each = np.arange(len(truth))
    predicted = None if guess is None else truth[each, guess].astype(np.float64)
    base = None if frequent is None else truth[:, frequent].astype(np.float64)
    return InTruth(right_by(posterior, truth), predicted, pure_people(program, truth), base)


def right_by(posterior: FloatArray, truth: IntArray | FloatArray) -> FloatArray:
    """People of each quasi-identifier who have its most likely class, shape (n_qi,); of several alike, their mean."""
    likeliest = posterior >= posterior.max(axis=1, keepdims=True) - TOLERANCE
    return np.asarray((truth * likeliest).sum(axis=1) / likeliest.sum(axis=1))


def predicted_classes(program: Program, masses: FloatArray) -> IntArray | None:
    """The class that a release predicts for each quasi-identifier, shape (n_qi,); None of generalised records.

    Where private attributes decide on the leaf, it is the class of the leaves that by the estimate hold most of them.
    """
    if program.scaling is not None:
        return None
    cells = program.cells
    _, codes = answers_at(program.release, list(cells.leaf.T), len(cells))
    votes = np.zeros((len(program.table), program.n_classes))
    np.add.at(votes, (cells.owner, codes), np.maximum(masses.sum(axis=1), TOLERANCE))
    return np.asarray(votes.argmax(axis=1), np.int64)


def pure_people(program: Program, truth: IntArray) -> BoolArray:
    """Whether the people of a quasi-identifier are in a leaf whose people all have the class that it answers with.

    Somebody whom private attributes put into one of several leaves counts where all of them are such leaves of one
    class, whoever is in them. Leaves of samples and bootstraps are not those of these people, and the leaves of
    boosted trees answer with scores: nobody counts. Shape (n_qi,).
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
        pure = (there.sum(axis=1) == 1) & there[np.arange(len(there)), answered] & ~silent
        least, most = np.full((2, len(truth)), -1)
        least[:] = truth.shape[1]
        told = np.where(pure, answered, -1)[leaf]
        np.minimum.at(least, cells.owner, told)
        np.maximum.at(most, cells.owner, told)
        found |= (least == most) & (least >= 0)
    return found
