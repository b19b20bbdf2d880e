"""Private random trees among the methods of defense: which options they have, and what is told of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, get_args

from maxent.models.defenses.random_trees.accounting import smallest_valid_epsilon
from maxent.models.defenses.random_trees.guarantee import USUAL_DELTA, RandomTrees, guarantee, random_trees_problems
from maxent.models.defenses.random_trees.trees import METHOD, Drawn
from maxent.models.defenses.random_trees.votes import Vote
from maxent.models.errors import Problem
from maxent.models.release import Release
from maxent.models.tables.frame import shorten
from maxent.models.trees.accuracy import Score

RDT = METHOD
DEFAULT_K = 20


def wanted_trees(options: Mapping[str, Any], seed: int | None) -> RandomTrees:
    """The random trees that options ask for; those that are None have their defaults."""
    return RandomTrees(**{name: value for name, value in options.items() if value is not None}, seed=seed)


def drawing_problems(
    method: str,
    options: Mapping[str, Any],
    seed: int | None,
    others: Mapping[str, Any],
    growth: Mapping[str, Any],
    publish: str,
) -> Iterator[Problem]:
    """What is wrong with options of random trees, and, for them, with those of trees that are grown from data.

    ``others`` are options of theirs that `maxent.models.defenses.random_trees.guarantee.RandomTrees` has not.
    """
    if method != RDT:
        for name, value in {**options, **others}.items():
            if value is not None:
                yield Problem(
                    "argument", name, f"none for the method {method}: it is an option of {RDT}", shorten(value)
                )
        return
    yield from random_trees_problems(wanted_trees(options, seed))
    if others["vote"] not in (None, *get_args(Vote)):
        yield Problem("argument", "vote", f"one of {', '.join(get_args(Vote))}", shorten(others["vote"]))
    for name, value in growth.items():
        if value is not None:
            yield Problem("argument", name, f"none for {RDT}, whose trees are not grown from the data", shorten(value))
    if publish in ("labels", "rates"):
        expected = f"counts for {RDT}: whatever else leaves stated would tell of those that were suppressed"
        yield Problem("argument", "publish", expected, shorten(publish))


def drawn_row(trees: Drawn, k: int, release: Release, train: Score, test: Score | None) -> dict[str, Any]:
    """What became of the trees, see `maxent.results.defended.Defended`."""
    known = guarantee(replace(trees.asked, k=k)) if trees.stated else None
    return {
        "k": k,
        "guarantee": known and {name: value for name, value in asdict(known).items() if value is not None},
        "leaves_before": trees.reached,
        "leaves": sum(any((leaf.counts or {}).values()) for tree in release.trees for leaf in tree.leaves),
        "train_accuracy": train.accuracy,
        "test_accuracy": None if test is None else test.accuracy,
    }


def drawn_notes(rows: Sequence[Mapping[str, Any]], asked: RandomTrees, unstated: Sequence[str]) -> Iterator[str]:
    """What is guaranteed, and what is not, in words; ``unstated`` are columns whose domains are those of the data."""
    for row in rows:
        of = f"k = {row['k']}: " if len(rows) > 1 else ""
        known = row["guarantee"]
        if known is not None:
            begins = asked.trees * smallest_valid_epsilon(asked.beta)
            printed = (
                f", and {known['delta']:.3g} by adding up what each tree guarantees"
                if "delta" in known
                else f"; what each tree guarantees adds up from an epsilon of {begins:.4g} on only"
            )
            yield (
                f"guaranteed: {of}differential privacy under sampling, beta {known['beta']:g}, epsilon "
                f"{known['epsilon']:.4g} nats, delta {known['tight_delta']:.3g}{printed}"
            )
        elif asked.beta >= 1:
            yield f"guaranteed: {of}nothing, as every record is in the samples (beta 1)"
        elif not unstated:
            alike = asked.trees * asked.beta ** row["k"]
            yield (
                f"guaranteed: {of}nothing with a delta of {USUAL_DELTA:g}: {row['k']} people who are all alike are "
                f"published with a probability of up to {min(alike, 1.0):.3g} (an epsilon can be asked for)"
            )
    if unstated and asked.beta < 1:
        yield (
            f"guaranteed: nothing, as the domains of {', '.join(unstated)} are those of the data, and tell of values "
            "that only few people have: state them without looking at the data"
        )
    if asked.seed is not None and asked.beta < 1:
        yield "a seed was given: nothing is guaranteed against those who know, or guess, it"
