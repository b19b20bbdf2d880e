"""Parameters of random trees (Waseda et al. 2025)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from maxent.models.parameters import number, parameter, whole

# What predictions are made from: the counts of all trees together (Waseda et al. 2025, Algorithm 2), or votes.
Vote = Literal["sums", "trees"]


@dataclass(frozen=True, slots=True)
class RandomTrees:
    """The parameters of drawing and filling random trees.

    Attributes
    ----------
    trees : int
        At least 1.
    depth : int, optional
        Splits on every path, unless nothing is left to test, at least 0; default half the number of attributes.
    beta : float
        Probability with which a record enters the sample of a tree, above 0 and at most 1.
    k : int
        Counts below are published as 0, records; at least 0.
    epsilon : float, optional
        Nats, of all trees together: where the guarantee is stated; default the smallest one with a delta of at most
        1e-6.
    seed : int, optional
        Makes trees and samples repeatable: there is no guarantee against those who know or guess it. Without one,
        samples are drawn from the operating system's cryptographic source. The same seed gives the same trees for any
        data, the same samples for any k, smaller samples within larger ones, and the first trees of a larger forest.
    """

    trees: int = parameter(10, "Number of trees.", whole(1), small=1)
    depth: int | None = parameter(None, "Splits on every path; default: half the columns.", whole(0))
    beta: float = parameter(0.1, "The probability with which a tree counts a record.", number(0, most=1), metavar="P")
    k: int = parameter(20, "Fewest records: in a published count.", whole(0, "records"))
    epsilon: float | None = parameter(
        None,
        "Epsilon at which delta is stated; default: the least with a delta of at most 1e-6.",
        number(0, unit="nats"),
    )
    seed: int | None = parameter(
        None,
        "Seed of random choices: trees and samples. The guarantee does not hold against an adversary who guesses it.",
        whole(0),
        group="grown",
        grid=False,
    )
