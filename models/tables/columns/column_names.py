"""Names of columns that are ours, beside columns that are called as an attribute is: no two are alike."""

from __future__ import annotations

from collections.abc import Collection, Sequence

PREFIX = "maxent_"


def own_names(ours: Sequence[str], theirs: Collection[str]) -> list[str]:
    """Names for columns of ours, in their order: the name of an attribute gets a prefix, as often as it takes.

    So ``count`` is ``maxent_count`` beside an attribute ``count``, and stays ``count`` beside all others. Attributes
    keep their names.

    ``ours``: different ones, none of which begins with the prefix. ``theirs``: the names of attributes.
    """
    taken = frozenset(theirs)

    def free(name: str) -> str:
        return name if name not in taken else free(PREFIX + name)

    return [free(name) for name in ours]
