"""How a tree is to be grown: the inducer and its parameters, and what may be wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from maxent.models.errors import Problem
from maxent.models.release import Impurity
from maxent.models.tables.frame import shorten
from maxent.models.tables.training import Order
from maxent.models.text.arguments import is_number, is_whole, up_to_largest

Inducer = Literal["cart", "id3", "c45"]
CodedAs = Literal["ordinal", "appearance", "onehot"]
Selection = Literal["quinlan", "gain_ratio"]

_IMPURITIES: Mapping[Inducer, tuple[Impurity, ...]] = {
    "cart": ("gini", "entropy"),
    "id3": ("entropy", "gini", "gain_ratio"),
    "c45": ("gain_ratio",),
}
"""What each inducer can compare splits by, its default first."""

_LEAST: Mapping[Inducer, int] = {"cart": 1, "id3": 1, "c45": 2}
"""The smallest leaf of each inducer unless asked for another, records."""


@dataclass(frozen=True, slots=True)
class Growth:
    """An inducer and its parameters; those that the inducer does not have are ignored.

    Attributes
    ----------
    inducer : {"cart", "id3", "c45"}
        See the functions of these names in `maxent.models.induction.inducers`.
    impurity : {"gini", "entropy", "gain_ratio"}, optional
        What splits are compared by, entropies in nats; default gini (cart), entropy (id3), gain_ratio (c45).
    max_depth : int, optional
        Splits between the root and the deepest leaf, at least 0.
    min_samples_leaf : int, optional
        Records, at least 1; default 2 for c45, else 1. Every branch of a split (c45: at least two of them) has as many.
    min_samples_split : int
        Records, at least 1: nodes with fewer stay leaves.
    encoding : {"ordinal", "appearance", "onehot"}
        cart: what scikit-learn is given for a categorical attribute: codes in the order of its domain, which is sorted
        or in order of appearance unless it was given, or an indicator for every value, also when there are but two.
    seed : int, optional
        cart: scikit-learn's ``random_state``, which decides between splits that are equally good.
    max_leaf_nodes, min_impurity_decrease, ccp_alpha
        cart: as in scikit-learn.
    selection : {"quinlan", "gain_ratio"}
        c45: whether only attributes of at least average gain compete by gain ratio, or all splits.
    confidence : float, optional
        c45: the confidence factor of error-based pruning, above 0 and at most 0.5; None: no pruning.
    """

    inducer: Inducer
    impurity: Impurity | None = None
    max_depth: int | None = None
    min_samples_leaf: int | None = None
    min_samples_split: int = 2
    encoding: CodedAs = "ordinal"
    seed: int | None = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    ccp_alpha: float = 0.0
    selection: Selection = "gain_ratio"
    confidence: float | None = 0.25

    @property
    def measure(self) -> Impurity:
        """What splits are compared by."""
        return self.impurity or _IMPURITIES[self.inducer][0]

    @property
    def least(self) -> int:
        """The smallest leaf, records."""
        return self.min_samples_leaf or _LEAST[self.inducer]

    @property
    def order(self) -> Order:
        """How `maxent.models.tables.training.read_training` is to order domains for this inducer."""
        return "appearance" if self.inducer == "cart" and self.encoding == "appearance" else "sorted"


def growth_problems(growth: Growth) -> Iterator[Problem]:
    """List the parameters that no inducer, or not the one that is asked for, can have."""
    if growth.inducer not in _IMPURITIES:
        yield _problem("inducer", f"one of {', '.join(_IMPURITIES)}", growth.inducer)
    else:
        known = _IMPURITIES[growth.inducer]
        if growth.impurity is not None and growth.impurity not in known:
            yield _problem("impurity", f"{_one_of(known)} for {growth.inducer}", growth.impurity)
    for name, literal in (("encoding", CodedAs), ("selection", Selection)):
        if getattr(growth, name) not in get_args(literal):
            yield _problem(name, _one_of(get_args(literal)), getattr(growth, name))
    for name, least, unit, optional in (
        ("max_depth", 0, "", True),
        ("min_samples_leaf", 1, " of records", True),
        ("min_samples_split", 1, " of records", False),
        ("max_leaf_nodes", 2, "", True),
    ):
        value = getattr(growth, name)
        if not (optional and value is None) and not is_whole(value, least):
            expected = f"{'None or ' if optional else ''}a whole number{unit}, at least {least}"
            yield _problem(name, up_to_largest(expected, value), value)
    if growth.seed is not None and not (is_whole(growth.seed, 0) and growth.seed < 2**32):
        yield _problem("seed", "None or a whole number, at least 0 and below 2**32", growth.seed)
    for name in ("min_impurity_decrease", "ccp_alpha"):
        if not (is_number(getattr(growth, name)) and 0 <= getattr(growth, name) < np.inf):
            yield _problem(name, "a number, at least 0", getattr(growth, name))
    if growth.confidence is not None and not (is_number(growth.confidence) and 0 < growth.confidence <= 0.5):
        yield _problem("confidence", "None or a number above 0 and at most 0.5", growth.confidence)


def _problem(name: str, expected: str, value: object) -> Problem:
    return Problem("argument", name, expected, shorten(value))


def _one_of(known: tuple[str, ...]) -> str:
    return known[0] if len(known) == 1 else f"one of {', '.join(known)}"
