"""The entry of a third party's defense: what people are told of it, and its parameters."""

from __future__ import annotations

from dataclasses import dataclass

from maxent.models.arguments import number, parameter
from maxent.models.defenses.grown_tree import InducedTree


@dataclass(frozen=True)
class Blunted(InducedTree):
    """A tree without leaves that are nearly of one class."""

    share: float = parameter(0.9, "The largest share of a class in a leaf.", number(0, below=1), metavar="P")

    summary = "The tree without leaves that are nearly of one class."
    examples = ("maxent defend blunt truth.csv --target Salary --qi Education --share 0.8 -o blunt.json",)
    promise = "no leaf below the root is surer of a class than asked"

    def defended(self, training, grown):
        from blunting import blunted

        return blunted(grown, self.share)

    def guarantee(self):
        return {"share": self.share}
