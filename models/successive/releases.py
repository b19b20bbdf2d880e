"""Several releases about overlapping people, as one: common attributes, all trees, and who is in which release.

Everything that is stated stays with the release that states it (`Joined.parts`). Where releases have different people,
a public attribute says which of them somebody is in. A tree then has a node before its root, which sends everybody who
is not in its release to a leaf that states nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, TypeVar

from maxent.models.arguments import shorten_list
from maxent.models.defenses.registry import stated
from maxent.models.errors import InvalidInput, Problem
from maxent.models.formats.release_reader import UNNAMED
from maxent.models.release import Attribute, Branch, Coarsened, Defense, Induction, Node, Release, Target, Tree
from maxent.models.tables.cells import own_names

MEMBERSHIP = "releases"  # column that says in which releases somebody is: ``1+2`` for the first and the second
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """Several releases as one.

    ``release``: all trees, over the attributes of all releases. Where releases were made in different ways, it says the
    one that proves least (the smallest sample, the highest limit of suppression, the coarsest rounding): see ``parts``.
    ``parts``: each release with its own trees, as they are in ``release``, and the attributes of all. ``own``: the
    releases as they were read. ``members``, shape (n_groups, n_releases): which releases the people of each value of
    the attribute `MEMBERSHIP` are in; one row of True where all people are in all of them, and there is no such
    attribute. ``notes``: how releases were joined.
    """

    release: Release
    parts: tuple[Release, ...]
    names: tuple[str, ...]
    own: tuple[Release, ...]
    members: tuple[tuple[bool, ...], ...]
    notes: tuple[str, ...]

    @property
    def first(self) -> tuple[int, ...]:
        """The number of the first tree of each release, from 0."""
        return (0, *accumulate(len(part.trees) for part in self.parts[:-1]))

    @property
    def membership(self) -> Attribute | None:
        """The attribute that says in which releases somebody is, the last one; None where all are in all."""
        return self.release.attributes[-1] if len(self.members) > 1 else None

    def partial(self, part: int) -> bool:
        """Whether some people are not in a release."""
        return not all(row[part] for row in self.members)

    @property
    def reordered(self) -> bool:
        """Whether the attributes of some release are in another order than those of all."""
        order = [attribute.name for attribute in self.release.attributes]
        return not all(_in_order([a.name for a in own.attributes], order) for own in self.own)


def join_releases(
    releases: Sequence[Release], names: Sequence[str], members: Sequence[tuple[bool, ...]] = ()
) -> Joined:
    """Join releases about overlapping people; attributes of the same name are taken to be the same."""
    releases = _typed_alike(releases)
    if problems := [*_targets(releases, names), *_types(releases, names), *_scores(releases, names)]:
        raise InvalidInput("releases", problems)
    target = releases[0].target
    attributes = [_attribute(name, releases) for name in merged([a.name for a in r.attributes] for r in releases)]
    groups = tuple(members) or ((True,) * len(releases),)
    if len(groups) > 1:
        taken = {*(a.name for a in attributes), *target.columns, "count"}
        attributes.append(Attribute(own_names([MEMBERSHIP], taken)[0], values=tuple(map(group_name, groups))))
    parts = []
    named = Counter(each.name for release in releases for each in release.statements)
    for i, release in enumerate(releases):
        inside = [group_name(row) for row in groups if row[i]]
        outside = [group_name(row) for row in groups if not row[i]]
        trees = tuple(
            replace(
                rooted(tree, attributes[-1].name, inside, outside) if outside else tree,
                induction=_induction(release, tree.induction, attributes),
            )
            for tree in release.trees
        )
        said = tuple(
            each
            if named[each.name] == 1
            else replace(each, name=names[i] if named[names[i]] < 2 else f"release {i + 1}")
            for each in release.statements
        )
        if outside:
            said = tuple(replace(each, groups=tuple(row[i] for row in groups)) for each in said)
        parts.append(replace(release, target=target, attributes=tuple(attributes), trees=trees, statements=said))
    joined = Release(
        target,
        tuple(attributes),
        tuple(tree for part in parts for tree in part.trees),
        sampling_rate=min(r.sampling_rate for r in releases),
        suppressed_below=max(r.suppressed_below for r in releases),
        defense=_defense([r.defense for r in releases if r.published]),
        resampled=max((r.resampled for r in releases if r.resampled is not None), default=None),
        rounded=_common([(r.rounded, r.suppressed_below) for r in releases], (_coarsest(releases), 0))[0],
        predicts=_common([r.predicts for r in releases], None),
        labels=_common([r.labels for r in releases], "decided"),
        statements=tuple(each for part in parts for each in part.statements),
    )
    return Joined(joined, tuple(parts), tuple(names), tuple(releases), groups, tuple(_notes(releases, names)))


def with_statements(release: Release, documents: Sequence[Release], names: Sequence[str]) -> Release:
    """A release with the statements published beside it; columns that only statements name come last."""
    if not documents:
        return release
    releases = _typed_alike([release, *documents])
    if problems := [*_targets(releases, names), *_types(releases, names)]:
        raise InvalidInput("releases", problems)
    own = {a.name: a.role for a in release.attributes}
    named = dict.fromkeys(a.name for r in releases for a in r.attributes)
    joined = (_attribute(name, releases) for name in named)
    attributes = tuple(replace(a, role=own[a.name]) if a.name in own else a for a in joined)
    trees = []
    for tree in release.trees:  # splits on columns that only statements name did not compete
        made = tree.induction
        made = replace(made, compared=tuple(own) if made.compared is None else made.compared)
        trees.append(replace(tree, induction=_induction(release, made, attributes)))
    said = tuple(each for r in releases for each in r.statements)
    return replace(release, attributes=attributes, trees=tuple(trees), statements=said)


def group_name(row: Sequence[bool]) -> str:
    """The value of the attribute `MEMBERSHIP` for people who are in some releases: their numbers, from 1."""
    return "+".join(str(i) for i, inside in enumerate(row, 1) if inside)


def merged(lists: Iterable[Sequence[_T]]) -> list[_T]:
    """All items of some lists, each once; new ones come after the one that they follow in their own list."""
    found: list[_T] = []
    for items in lists:
        at = 0
        for item in items:
            if item in found:
                at = found.index(item) + 1
            else:
                found.insert(at, item)
                at += 1
    return found


def rooted(tree: Tree, attribute: str, inside: Sequence[str], outside: Sequence[str]) -> Tree:
    """A tree below a node that lets only those with some values of an attribute in; all others are in its last leaf."""
    taken = {node.id for node in tree.nodes}
    root, others = _free("(all)", taken), _free("(others)", taken)
    branches = (Branch(tree.root.id, values=tuple(inside)), Branch(others, values=tuple(outside)))
    return replace(tree, nodes=(Node(root, attribute, branches), *tree.nodes, Node(others)))


def _free(name: str, taken: set[str]) -> str:
    return name if name not in taken else _free(f"({name})", taken)


def _induction(release: Release, induction: Induction, attributes: Sequence[Attribute]) -> Induction:
    """What is known of the choices of splits, for candidates among the attributes of all releases."""
    named = {a.name: a for a in attributes}
    own = induction.compared
    # That splits by a private attribute competed was of no use to an adversary before: only a list of names says so.
    known = [a for a in release.attributes if (a.role == "public" if own is None else a.name in own)]
    if induction.k > 1 and stated(release).spans_decide and any(named[a.name].role != a.role for a in known):
        known = []  # candidates were judged by people who are alike in other attributes
    if induction.candidates == "thresholds" and induction.encoding == "ordinal":  # cuts follow the order of values
        known = [a for a in known if a.values is None or _in_order(a.values, named[a.name].values or ())]
    compared = tuple(a.name for a in known)
    return induction if set(compared) == set(named) else replace(induction, compared=compared)


def _in_order(some: Sequence[str], every: Sequence[str]) -> bool:
    """Whether items are in the order that they have among others."""
    at = [every.index(item) for item in some]
    return at == sorted(at)


def _attribute(name: str, releases: Sequence[Release]) -> Attribute:
    """An attribute as all releases together have it: public where it is in one of them."""
    ordered = sorted(releases, key=lambda r: bool(r.statements))  # statements name values in no order
    own = [a for r in ordered for a in r.attributes if a.name == name]
    role: Any = "public" if any(a.role == "public" for a in own) else "private"
    values = None if own[0].values is None else tuple(merged(a.values or () for a in own))
    return Attribute(name, own[0].type, values, role, any(a.missing for a in own))


def _common(values: Sequence[_T], otherwise: _T) -> _T:
    """What all releases agree on."""
    return values[0] if all(value == values[0] for value in values) else otherwise


def _defense(made: Sequence[Defense | None]) -> Defense | None:
    """The defense of all releases of trees, or of one of them whose adversary knows the classes."""
    public = (each for each in made if each is not None and each.parameters.get("class") == "public")
    return _common(made, next(public, None)) if made else None


def _coarsest(releases: Sequence[Release]) -> Coarsened | None:
    """A rounding by which the numbers of all releases can be off as they are."""
    off = [most for r in releases if r.rounded is not None for most in (r.rounded.below, r.rounded.above)]
    return Coarsened(max(off) + 1, "random") if off else None


# Beside the name of a target that no model has.
OF_NOBODY = " (class is the name where a model gives none: maxent.convert(model, target=) gives one)"


def _targets(releases: Sequence[Release], names: Sequence[str]) -> Iterator[Problem]:
    """Targets that are not that of the first release; classes may be in another order."""
    first = releases[0].target
    for name, release in zip(names[1:], releases[1:], strict=True):
        target = release.target
        if target.name != first.name:
            own = OF_NOBODY * (UNNAMED in (first.name, target.name))
            yield Problem(name, "target", f"{first.name!r}, as in {names[0]}{own}", repr(target.name))
        elif _classes(target) != _classes(first):
            expected = f"the same classes as in {names[0]}: {shorten_list(first.classes)}"
            yield Problem(name, "classes", expected, shorten_list(target.classes))


def _classes(target: Target) -> object:
    """What the classes of a target are, in any order."""
    numbers = target.numbers or (None,) * len(target.classes)
    return frozenset(zip(target.classes, numbers, strict=True)), tuple(map(_classes, target.of))


def _typed_alike(releases: Sequence[Release]) -> list[Release]:
    """The releases, where columns that statements name by numbers alone have the type that they have elsewhere."""
    named = {a.name: a.type for r in releases for a in r.attributes if not r.statements or a.type == "categorical"}

    def typed(release: Release) -> Release:
        using = {n: use.numbers is not None for each in release.statements for n, use in each.columns.items()}
        attributes = tuple(
            replace(a, type="categorical", values=())
            if a.type == "numeric" and named.get(a.name) == "categorical" and not using[a.name]
            else a
            for a in release.attributes
        )
        return replace(release, attributes=attributes)

    return [typed(release) if release.statements else release for release in releases]


def _types(releases: Sequence[Release], names: Sequence[str]) -> Iterator[Problem]:
    """Attributes that are numbers in one release and names in another."""
    known: dict[str, tuple[str, str]] = {}
    for name, release in zip(names, releases, strict=True):
        for a in release.attributes:
            type_, first = known.setdefault(a.name, (a.type, name))
            if a.type != type_:
                yield Problem(name, a.name, f"a {type_} attribute, as in {first}", a.type)
            if a.name == releases[0].target.name:
                yield Problem(name, a.name, f"no attribute, as it is the target of {names[0]}", "one")


def _scores(releases: Sequence[Release], names: Sequence[str]) -> Iterator[Problem]:
    """Boosted trees, whose scores mean something only together with those before them."""
    for name, release in zip(names, releases, strict=True):
        if release.boosting is not None:
            yield Problem(name, "boosting", "trees that state classes, where there are several releases", "scores")


def _notes(releases: Sequence[Release], names: Sequence[str]) -> Iterator[str]:
    """How the releases were joined."""
    number = 1
    told = []
    for name, release in zip(names, releases, strict=True):
        last = number + len(release.trees) - 1
        if not release.statements:
            told.append(f"{number} of {name}" if last == number else f"{number} to {last} of {name}")
        number = last + 1
    trees = sum(len(release.published) for release in releases)
    numbered = f"; trees are numbered through: {', '.join(told)}" if trees > 1 else ""
    if trees == 1 and not releases[0].published:
        number, name = next(
            (n, name) for n, (name, each) in enumerate(zip(names, releases, strict=True), 1) if each.published
        )
        numbered = f"; the tree of {name} is called tree {number}"
    yield f"all releases hold together{numbered}"
    for attribute in merged([a.name for a in r.attributes] for r in releases):
        own = [(n, a) for n, r in zip(names, releases, strict=True) for a in r.attributes if a.name == attribute]
        public = [name for name, a in own if a.role == "public"]
        private = [name for name, a in own if a.role == "private"]
        if public and private:
            yield f"{attribute} is private in {', '.join(private)}, and taken as public, as in {', '.join(public)}"
        orders = [a.values or () for r in releases if not r.statements for a in r.attributes if a.name == attribute]
        every = merged(orders)
        if not all(_in_order(values, every) for values in orders):
            yield f"releases have the values of {attribute} in different orders: splits by their order are not compared"
