"""kADET: what can be asked for (Friedman, Schuster and Wolff 2006)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from maxent.models.errors import ARGUMENT, Problem
from maxent.models.induction.parameters import CONFIDENCES, Growth, Selection
from maxent.models.parameters import number, parameter, same, whole
from maxent.models.release import Impurity

Diversity = Literal["entropy", "distinct"]
Order = Literal["gain", "weighted"]


@dataclass(frozen=True, slots=True)
class Kadet:
    """The parameters of a kADET tree: the guarantee to the people in the data, and how it grows.

    Attributes
    ----------
    k : int
        The smallest number of records that may share a span (Definition 7); 1 asks for nothing.
    l : float, optional
        Diversity of the classes of every span, above 1: at least log ``l`` of entropy, or ``l`` different classes. With
        entropy and two classes, l = 2 ** H2(c), H2 in bits, keeps every class of a span from having more than a share
        c of it: 1.526 for 0.85 (section 4.2).
    diversity : {"entropy", "distinct"}
        What ``l`` means.
    alpha : float, optional
        The largest share of a class in a span, above 0 and below 1: (alpha, k)-anonymity.
    impurity : {"entropy", "gini", "gain_ratio"}
        What candidates are compared by. ID3 is "entropy" for categorical attributes, C4.5 "gain_ratio" with a
        ``confidence``.
    selection : {"gain_ratio", "quinlan"}
        Of gain_ratio: whether all candidates compete by it; or numbers are cut where they gain most (section 3.3), and
        of the attributes those compete that gain at least as much as all of their node do on average (Quinlan 1993).
    class_public : bool
        Whether an adversary knows the classes: then every class has spans of its own, which are to have k records.
    order : {"gain", "weighted"}
        Whether candidates of different nodes are compared as they are, or times the records of the node. It matters
        only where spans reach over several nodes, that is below splits of private attributes.
    hierarchies : mapping of attribute to hierarchy
        How to generalise the values of categorical attributes, see `maxent.models.tables.hierarchies.read_hierarchy`.
    confidence : float, optional
        The confidence factor of error-based pruning by subtree replacement, above 0 and at most 0.5; None: no pruning.
    min_samples_split : int
        Records, at least 1: nodes with fewer stay leaves.
    max_depth : int, optional
        Splits between the root and the deepest leaf, at least 0.
    """

    k: int = parameter(5, "Fewest records: in a group that is not told apart.", whole(1, "records"))
    l: float | None = parameter(  # noqa: E741 (the l of l-diversity)
        None, "The least diversity of the classes of a group.", number(1), metavar="L"
    )
    diversity: Diversity = parameter(
        "entropy", "Measure of the least diversity: e to the entropy of the classes, or their number."
    )
    alpha: float | None = parameter(None, "The largest share of a class in a group.", number(0, below=1), metavar="P")
    impurity: Impurity = parameter("entropy", "What candidates are compared by.")
    class_public: bool = parameter(False, "The adversary's table has the class, too.")
    order: Order = parameter("gain", "How candidates of different nodes are compared.")
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
