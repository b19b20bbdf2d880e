"""The inducer of a tree and its parameters, with their checks: they are read without the inducers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from maxent.models.arguments import Impurity, Range, is_number, is_one_of, number, parameter, whole
from maxent.models.errors import ARGUMENT, Problem

if TYPE_CHECKING:
    from maxent.models.tables.training import Order

Inducer = Literal["cart", "id3", "c45"]
CodedAs = Literal["ordinal", "appearance", "onehot"]
Selection = Literal["quinlan", "gain_ratio"]

# Impurity measures of each inducer, its default first
_IMPURITIES: Mapping[Inducer, tuple[Impurity, ...]] = {
    "cart": ("gini", "entropy"),
    "id3": ("entropy", "gini", "gain_ratio"),
    "c45": ("gain_ratio",),
}

# The smallest leaf of each inducer unless asked for another, records
_LEAST: Mapping[Inducer, int] = {"cart": 1, "id3": 1, "c45": 2}


RECORDS = whole(1, "records")
SEEDS = whole(0, below=2**32)
CONFIDENCES = number(0, most=0.5)
NOT_NEGATIVE = Range("a number, at least 0", lambda value: number(0).holds(value) or (is_number(value) and value == 0))


@dataclass(frozen=True, slots=True)
class Growth:
    """An inducer and its parameters; parameters of other inducers are ignored."""

    inducer: Inducer = parameter("cart", "Algorithm that grows the tree.", group="grown")
    impurity: Impurity | None = parameter(
        None,
        "Measure that splits are chosen by; default: gini (cart), entropy (id3), gain_ratio (c45).",
        group="grown",
    )
    max_depth: int | None = parameter(None, "Splits above the deepest leaf.", whole(0), group="grown", small=0)
    min_samples_leaf: int | None = parameter(
        None, "Records in the smallest leaf that is grown; default: 2 (c45), else 1.", RECORDS, group="grown"
    )
    min_samples_split: int = parameter(2, "Records in the smallest node that is split.", RECORDS, group="grown")
    encoding: CodedAs = parameter(
        "ordinal",
        "Encoding of categories for cart: as numbers, sorted or in order of appearance, or one by one.",
        group="grown",
    )
    seed: int | None = parameter(
        None,
        "Seed of random choices: between equally good splits of cart.",
        SEEDS,
        group="grown",
        grid=False,
    )
    max_leaf_nodes: int | None = parameter(None, "Leaves, at most.", whole(2))
    min_impurity_decrease: float = parameter(0.0, "The least gain of a split.", NOT_NEGATIVE)
    ccp_alpha: float = parameter(0.0, "Cost of a leaf.", NOT_NEGATIVE)
    selection: Selection = parameter(
        "gain_ratio",
        "Which splits compete by gain ratio.",
        doc="c45: whether only attributes of at least average gain compete by gain ratio (quinlan), or all splits.",
    )
    confidence: float | None = parameter(
        0.25, "The confidence factor of error-based pruning; default: no pruning.", CONFIDENCES
    )

    @property
    def measure(self) -> Impurity:
        """Impurity measure of the splits."""
        return self.impurity or _IMPURITIES[self.inducer][0]

    @property
    def least(self) -> int:
        """The smallest leaf, records."""
        return self.min_samples_leaf or _LEAST[self.inducer]

    @property
    def order(self) -> Order:
        """Order of domains in `maxent.models.tables.training.read_training` for this inducer."""
        return "appearance" if self.inducer == "cart" and self.encoding == "appearance" else "sorted"

    def conflicts(self) -> Iterator[Problem]:
        """An impurity that the inducer cannot compare splits by."""
        if not (is_one_of(self.inducer, get_args(Inducer)) and is_one_of(self.impurity, get_args(Impurity))):
            return
        known = _IMPURITIES[self.inducer]
        if self.impurity not in known:
            expected = known[0] if len(known) == 1 else f"one of {', '.join(known)}"
            yield Problem(ARGUMENT, "impurity", f"{expected} for {self.inducer}", repr(self.impurity))
