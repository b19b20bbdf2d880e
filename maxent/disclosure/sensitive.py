"""Disclosure of some classes alone: to be certain of another one may harm nobody."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxent.constraints.program.program import Program
from maxent.disclosure.baseline import TwoGroups, base_of, newcombe
from maxent.disclosure.inference import Shares
from maxent.disclosure.measures import at_most, conditional_entropy, individual_divergence
from maxent.disclosure.truth import Controls, InTruth, believed, guesses, predicted_guesses
from maxent.models.arguments import shorten, shorten_list
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.defenses.method import CERTAIN
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.hints import close_to
from maxent.models.release import Target


@dataclass(frozen=True, slots=True)
class Sensitive:
    """Measures of some classes alone, by the keys of `maxent.disclosure.measures`; ``codes`` are the classes."""

    codes: tuple[int, ...]
    classes: tuple[str, ...]
    measures: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """The key ``sensitive`` of a JSON summary; None stands for infinity."""
        finite = {
            key: None if isinstance(value, float) and not np.isfinite(value) else value
            for key, value in self.measures.items()
        }
        return {"classes": list(self.classes), **finite}


def sensitive_codes(named: str | Iterable[str] | None, target: Target) -> tuple[int, ...]:
    """The codes of classes that are named, in a list or with commas between; empty for none."""
    if named is None:
        return ()
    if not isinstance(named, Iterable):
        raise InvalidInput("options", [Problem(ARGUMENT, "sensitive", "names of classes", shorten(named))])
    names = named.split(",") if isinstance(named, str) else named
    wanted = list(dict.fromkeys(str(name).strip() for name in names))
    expected = f"classes of {shorten(target.name)} ({shorten_list(target.classes)})"
    unknown = [name for name in wanted if name not in target.classes]
    if unknown or not wanted:
        problems = [
            Problem(ARGUMENT, "sensitive", expected, f"{shorten(name)}{close_to(name, target.classes)}")
            for name in unknown
        ]
        raise InvalidInput("options", problems or [Problem(ARGUMENT, "sensitive", expected, "none")])
    return tuple(target.classes.index(name) for name in wanted)


def sensitive_of(
    codes: tuple[int, ...],
    program: Program,
    masses: FloatArray,
    posterior: FloatArray,
    shared: Shares,
    truth: IntArray | None,
    held: InTruth | None,
    controls: Controls | None = None,
    confidence: float = 0.99,
    shares: Sequence[float] | None = None,
) -> Sensitive:
    """The measures of some classes alone, all others taken together.

    Right guesses are those about people of these classes; the base rate is that of always naming the one that is most
    frequent in truth.
    """
    counts, classes = program.table.counts, program.release.target.classes
    mine, some = np.isin(np.arange(len(classes)), codes), list(codes)
    largest, allowed = posterior[:, some].max(axis=1), shared.possible_each[:, some].max(axis=1)
    surest = np.where(mine[posterior.argmax(axis=1)], shared.surest, at_most(largest))
    possible = np.where(mine[shared.possible_each.argmax(axis=1)], shared.possible, at_most(allowed))
    possible = np.maximum(surest, possible)
    guess = guesses(posterior, predicted_guesses(program, masses))[:, some]
    together = _together(posterior, some)
    expected = float(counts @ posterior[:, some].sum(axis=1))
    found: dict[str, Any] = {
        "entropy": conditional_entropy(together, counts),
        "max_posterior": float(largest.max()),
        "certain": int(counts[surest >= CERTAIN].sum()),
        "surest": float(surest.max()),
        "possible_posterior": float(possible.max()),
        "possible_certain": int(counts[possible >= CERTAIN].sum()),
        "bayes_vulnerability": float(counts @ (guess * posterior[:, some]).sum(axis=1)) / expected
        if expected > 0
        else 0.0,
        "possible_right": 1.0,  # no statement says how people of a class are divided among leaves that predict others
        "right_guesses": None,
        "pure": None,
        "base_rate": None,
        "base_posterior": None,
    }
    if shares is not None:
        found |= base_of(shares, some)
    if truth is not None and held is not None:
        people = int(truth[:, some].sum())
        right = float((truth[:, some] * guess).sum())
        most = int(truth.sum(axis=0).argmax())
        known = _together(truth.astype(np.float64), some)
        divergence = individual_divergence(known, together)
        found |= {
            "individuals": people,
            "divergence": float(counts @ divergence / counts.sum()),
            "right_guesses": right / people if people else 0.0,
            "pure": int(counts[held.pure & mine[truth.argmax(axis=1)]].sum()),
            "base_rate": float(truth[:, most].sum() / people) if people and mine[most] else 0.0,
        }
        if controls is not None and people and (others := int(controls.truth[:, some].sum())):
            theirs = believed(program, masses, posterior, controls)
            their_guess = guesses(theirs.posterior, theirs.predicted)[:, some]
            their_right = float((controls.truth[:, some] * their_guess).sum())
            interval = newcombe((right, their_right), (people, others), confidence)
            found["control"] = {
                **TwoGroups(right / people, their_right / others).as_dict(interval),
                "confidence": confidence,
                "individuals": {"members": people, "controls": others},
            }
    return Sensitive(tuple(codes), tuple(classes[code] for code in codes), found)


def judged_alone(
    codes: Sequence[int],
    counts: IntArray,
    p: FloatArray,
    proved: IntArray,
    *,
    possible: FloatArray | None = None,
    of_each: IntArray | FloatArray | None = None,
    right: FloatArray | IntArray | None = None,
) -> dict[str, Any]:
    """The key ``sensitive`` of the row of an adversary of the ladder: what limits on some classes alone are judged by.

    ``codes``: the classes. ``counts`` (n_qi,). ``p``, ``possible`` (n_qi, n_classes): probabilities of classes, and as
    far as published numbers allow; None: anything. ``proved`` (n_qi,): the class that is proved, or -1. ``of_each``,
    ``right`` (n_classes,): people of each class, where that is known, and of how many of them the class is guessed in
    truth.
    """
    some = list(codes)
    named, largest = np.isin(p.argmax(axis=1), some), p[:, some].max(axis=1)
    surest, exposed = at_most(largest), int(counts[np.isin(proved, some)].sum())
    allowed = np.ones(len(p)) if possible is None else np.maximum(surest, possible[:, some].max(axis=1))
    expected = float(counts @ p[:, some].sum(axis=1))
    found: dict[str, Any] = {
        "max_posterior": float(largest.max()),
        "certain": int(counts[surest >= CERTAIN].sum()),
        "surest": float(surest.max()),
        "possible_posterior": float(allowed.max()),
        "possible_certain": int(counts[allowed >= CERTAIN].sum()),
        **{"exposed": exposed, "proved_least": exposed},
        "bayes_vulnerability": float(counts[named] @ largest[named]) / expected if expected > 0 else 0.0,
        "possible_right": 1.0,
    }
    if of_each is not None and of_each[some].sum():
        found |= base_of((of_each / of_each.sum()).tolist(), some)
    if of_each is not None and right is not None:
        people = float(of_each[some].sum())
        found |= {"individuals": int(people), "right_guesses": float(right[some].sum()) / people if people else 0.0}
    return found


def _together(values: FloatArray, some: list[int]) -> FloatArray:
    """Columns of some classes, and the sum of the others where there are any."""
    others = np.delete(values, some, axis=1)
    return np.column_stack([values[:, some], others.sum(axis=1)]) if others.shape[1] else values[:, some]
