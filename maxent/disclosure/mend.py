"""What would pass: the cheapest change of a release that was found, with which it keeps the limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from maxent.models.release import Release
from maxent.models.text.display import counted


@dataclass(frozen=True, slots=True)
class Mend:
    """A subtree of a release that keeps limits which the release does not, or why none is offered.

    Attributes
    ----------
    reason : str
        Why none is offered; empty where one is.
    release : Release or None
        The subtree, judged as the release was.
    leaves : (int, int)
        Of the release, and of the subtree.
    accuracy : (float, float)
        The shares of records with the class that their leaf predicts, before and after.
    cut : tuple of str
        Ids of the nodes that become leaves.
    unstated : bool
        Whether the release states what splits were chosen by, and the subtree does not.
    proved : bool
        Whether no subtree that keeps the limits is right for more records.
    limits : mapping
        Those of `maxent defend optimal`.
    """

    reason: str = ""
    release: Release | None = None
    leaves: tuple[int, int] = (0, 0)
    accuracy: tuple[float, float] = (0.0, 0.0)
    cut: tuple[str, ...] = ()
    unstated: bool = False
    proved: bool = False
    limits: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The key ``would_pass`` of a release in a JSON verdict."""
        if self.release is None:
            return {"offered": False, "reason": self.reason}
        return {
            "offered": True,
            "method": "optimal",
            "limits": dict(self.limits),
            "leaves": self.leaves[1],
            "leaves_before": self.leaves[0],
            "accuracy": self.accuracy[1],
            "accuracy_before": self.accuracy[0],
            "cut": list(self.cut),
            "criterion_unstated": self.unstated,
            "proved": self.proved,
        }

    @property
    def change(self) -> str:
        """What is changed, in words."""
        if self.release is None:
            return f"no change is offered: {self.reason}"
        (before, after), unstated = self.leaves, "without saying what its splits were chosen by"
        if not self.cut:
            return f"the same tree, {unstated}"
        cut = f"the tree cut back from {counted(before, 'leaf', 'leaves')} to {counted(after, 'leaf', 'leaves')}"
        return f"{cut}, {unstated}" if self.unstated else cut

    @property
    def price(self) -> str:
        """What that costs, in words; empty where nothing is offered."""
        if self.release is None:
            return ""
        before, after = self.accuracy
        found = f"right about {100 * after:.1f} % of its records, before {100 * before:.1f} %"
        return f"{found}; no subtree within the limits is right about more" if self.proved else found

    @property
    def words(self) -> str:
        """What is changed, and what that costs."""
        return ", ".join(filter(None, (self.change, self.price)))

    @property
    def how(self) -> str:
        """The call that makes it from the data, empty where nothing is offered."""
        if self.release is None:
            return ""
        target, names = self.release.target.name, [a.name for a in self.release.public]
        options = [f"--{name.replace('_', '-')} {_word(f'{value}')}" for name, value in self.limits.items()]
        call = f"maxent defend optimal DATA --from TREE --target {_word(target)} --qi {_word(','.join(names))}"
        return " ".join([call, *options, "-o best.json"])


def _word(text: str) -> str:
    """A word of a shell."""
    import shlex

    return shlex.quote(text)
