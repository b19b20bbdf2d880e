"""What links the people of different leaves, so that leaves alone do not show what is inferred about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from maxent.api.case import Case
from maxent.api.parts.memory import needed
from maxent.models.columns import NOTHING
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.nodes import attributes_of
from maxent.models.nodes import links_of as node_links
from maxent.models.release import Release
from maxent.models.text.sizes import size_text


def links_of(release: Release, *, truth: bool = False) -> Iterator[str]:
    """What of a release needs more of its people than their cells, in words; nothing where cells will do.

    A cell is the leaf, of several trees those of all of them. With the ``truth`` divergences are measured, too.
    """
    yield from links_of_attacks(release)
    if release.target.of and truth:
        yield "the true classes of several sensitive columns"
    if release.sampled and any((node_links(tree.nodes)[1] == NOTHING).any() for tree in release.trees):
        yield "counts of samples with parts of trees left out"


def links_of_attacks(release: Release) -> Iterator[str]:
    """The same for attacks alone."""
    tested = set[str]().union(*(attributes_of(tree.nodes) for tree in release.trees))
    if any(attribute.name in tested for attribute in release.private):
        yield "splits on private attributes"
    if release.boosting is not None:
        yield "scores of boosted trees"


def splits_compared(release: Release, knowledge: Iterable[str] | None) -> bool:
    """Whether choices of splits (internal constraints) are used."""
    used = knowledge is None or "internal" in set(knowledge)
    return used and any(tree.induction.candidates != "none" for tree in release.trees)


def check_fits(case: Case, linked: Iterable[str], memory: int) -> None:
    """Refuse people who are linked, and therefore taken together, and do not fit into memory.

    Raises
    ------
    InvalidInput
        Saying what links them.
    """
    if (need := needed(len(case.people), len(case.release.trees))) > memory:
        people = f"{len(case.people):,} distinct quasi-identifiers"
        expected = f"about {size_text(need)} for {people}, taken together as these link them: {', '.join(linked)}"
        raise invalid("options", ARGUMENT, "memory", expected, size_text(memory))
