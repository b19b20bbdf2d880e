"""What the branches of a split are divided into along a hierarchy: groups, smaller groups and single branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from maxent.models.tables.hierarchies import Hierarchy


@dataclass(frozen=True, slots=True)
class Part:
    """Some branches of a split, by number, and their records.

    It is divided into ``parts``, two or more; or it goes on as its branch ``lead`` does; or, with neither, it ends in a
    leaf.
    """

    name: str
    members: tuple[int, ...]
    n: int
    lead: int | None = None
    parts: tuple[Part, ...] = ()


def divided(held: Sequence[Sequence[str]], n: Sequence[int], hierarchy: Hierarchy, least: int) -> Part:
    """All branches of a split, divided so that no part has fewer than ``least`` records, if all have as many.

    What has fewer is joined, in the smallest group that has enough: to the branch of the most records there, or, where
    no part of the group has enough alone, all of it becomes one part.

    ``held``: the values of each branch. ``n``: its records. ``hierarchy``: it has all these values. ``least``: at least
    1.
    """
    row = {value: i for i, value in enumerate(hierarchy.values)}
    rows = [[row[value] for value in values] for values in held]
    levels = [
        [level[at[0]] if len({level[i] for i in at}) == 1 else None for at in rows]
        for level in reversed(hierarchy.levels)
    ]
    return _settled("", _below(range(len(held)), levels, n, least), least)


def _below(members: Sequence[int], levels: Sequence[Sequence[str | None]], n: Sequence[int], least: int) -> list[Part]:
    """The parts of some branches: a group for each name of the coarsest level, or a branch that is alone in its group.

    ``levels`` has the group of each branch, None where its values are of several.
    """
    if not levels:
        return [Part("", (i,), n[i], i) for i in members]
    groups: dict[str | int, list[int]] = {}
    for i in members:
        name = levels[0][i]
        groups.setdefault(i if name is None else name, []).append(i)
    if len(groups) == 1:
        return _below(members, levels[1:], n, least)
    return [
        Part("", (of[0],), n[of[0]], of[0])
        if len(of) == 1
        else _settled(str(name), _below(of, levels[1:], n, least), least)
        for name, of in groups.items()
    ]


def _settled(name: str, parts: Sequence[Part], least: int) -> Part:
    """One part made of several, of which none that stays has too few records."""
    members = tuple(i for part in parts for i in part.members)
    n = sum(part.n for part in parts)
    large = [part for part in parts if part.n >= least]
    if not large:
        return Part(name, members, n)
    most = max(range(len(large)), key=lambda at: large[at].n)
    for part in parts:
        if part.n < least:
            large[most] = _joined(large[most], part)
    return large[0] if len(large) == 1 else Part(name, members, n, parts=tuple(large))


def _joined(part: Part, small: Part) -> Part:
    """A part with another that goes where most of its records go."""
    more = replace(part, members=part.members + small.members, n=part.n + small.n)
    if not part.parts:
        return more
    most = max(range(len(part.parts)), key=lambda at: part.parts[at].n)
    below = [_joined(each, small) if at == most else each for at, each in enumerate(part.parts)]
    return replace(more, parts=tuple(below))
