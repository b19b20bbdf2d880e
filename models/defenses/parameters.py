"""Parameters of error-risk pruning, kADET trees and random trees, which are read without the algorithms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from maxent.models.arguments import Impurity, RoundingMethod, number, parameter, same, whole
from maxent.models.errors import ARGUMENT, Problem
from maxent.models.induction.growth import CONFIDENCES, Growth, Selection

if TYPE_CHECKING:
    from maxent.models.release import Rounded

# Of error-risk pruning, and of generalised records: which branches compete to be pruned is in `error_risk`.

Rule = Literal["twig", "literal"]
Distance = Literal["gower", "ranks"]
Generalization = Literal["tiered", "uniform"]

# Of kADET trees.

Diversity = Literal["entropy", "distinct"]
Order = Literal["gain", "weighted"]


@dataclass(frozen=True, slots=True)
class Kadet:
    """The parameters of a kADET tree: the guarantee to the people in the data, and how it grows."""

    k: int = parameter(5, "Fewest records: in a group that is not told apart.", whole(1, "records"))
    l: float | None = parameter(  # noqa: E741 (the l of l-diversity)
        None,
        "The least diversity of the classes of a group.",
        number(1),
        metavar="L",
        doc="Diversity of the classes of every span: at least log ``l`` of entropy, or ``l`` different classes. With "
        "entropy and two classes, l = 2 ** H2(c), H2 in bits, keeps every class of a span from having more than a "
        "share c of it: 1.526 for 0.85 (section 4.2).",
    )
    diversity: Diversity = parameter(
        "entropy", "Measure of the least diversity: e to the entropy of the classes, or their number."
    )
    alpha: float | None = parameter(None, "The largest share of a class in a group.", number(0, below=1), metavar="P")
    impurity: Impurity = parameter("entropy", "What candidates are compared by.")
    class_public: bool = parameter(
        False,
        "The adversary's table has the class, too.",
        doc="Whether an adversary knows the classes: every class then has spans of its own.",
    )
    order: Order = parameter(
        "gain",
        "How candidates of different nodes are compared.",
        doc="Whether candidates of different nodes are compared as they are, or times the records of the node. It "
        "matters only where spans reach over several nodes, that is below splits of private attributes.",
    )
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    confidence: float | None = parameter(None, "The confidence factor of error-based pruning.", CONFIDENCES)
    min_samples_split: int = same(Growth, "min_samples_split")
    max_depth: int | None = same(Growth, "max_depth")
    selection: Selection = same(Growth, "selection")

    def conflicts(self) -> Iterator[Problem]:
        """Parameters that exclude each other."""
        if self.selection == "quinlan" and self.impurity != "gain_ratio":
            expected = "gain_ratio: only gain ratios are selected from above the average gain"
            yield Problem(ARGUMENT, "selection", expected, "'quinlan'")
        if self.class_public in (True,) and (self.l is not None or self.alpha is not None):
            expected = "None: a class that is public cannot be kept from anybody"
            yield Problem(ARGUMENT, "l and alpha", expected, "class_public=True")
        if not isinstance(self.hierarchies, Mapping):
            expected = "a mapping of attributes to hierarchies"
            yield Problem(ARGUMENT, "hierarchies", expected, repr(self.hierarchies))


# Of random trees.

# What predictions are made from: the counts of all trees together (Waseda et al. 2025, Algorithm 2), or votes.
Vote = Literal["sums", "trees"]


@dataclass(frozen=True, slots=True)
class RandomTrees:
    """The parameters of drawing and filling random trees."""

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
        doc="Makes trees and samples repeatable: there is no guarantee against those who know or guess it. Without "
        "one, samples are drawn from the operating system's cryptographic source. The same seed gives the same trees "
        "for any data, the same samples for any k, smaller samples within larger ones, and the first trees of a larger "
        "forest.",
    )


@dataclass(frozen=True, slots=True)
class Rounding:
    """Rounding of all numbers of records that a release states."""

    round_counts: int | None = parameter(
        None, "Base that counts are rounded to.", whole(2, "records"), metavar="BASE", group="output"
    )
    round_method: RoundingMethod = parameter(
        "nearest", "Multiple that a count is rounded to: nearest, a random neighbour, or the one below.", group="output"
    )

    @property
    def rounded(self) -> Rounded | None:
        """What a release states of it."""
        from maxent.models.release import Rounded

        return None if self.round_counts is None else Rounded(self.round_counts, self.round_method)

    def conflicts_with(self, publish: str) -> Iterator[Problem]:
        """Rounding where leaves state no counts, and a method without a base."""
        if self.round_counts is not None and publish != "counts":
            yield Problem(ARGUMENT, "round_counts", f"None: leaves state {publish}", f"{self.round_counts}")
        named = isinstance(self.round_method, str)  # anything else is a problem of its own, and may not compare
        if self.round_counts is None and named and self.round_method != "nearest":
            expected = "'nearest': no base is given (round_counts)"
            yield Problem(ARGUMENT, "round_method", expected, repr(self.round_method))
