"""Populations: what a release tells an adversary with a register of N people, n of them those it is about.

Nobody says who these are. Everybody in the register is out of the data or of one class: C + 1 outcomes for each
quasi-identifier, of which the last is out, and n is a constraint. Draws of n of N without knowledge have a prior whose
terms are constant once n is fixed, so that the estimate is the plain maximum of the entropy.

A statement about the people of a node is one about its members. As nobody knows how many they are, places have no
size, and every kind of constraint takes what is stated (`n`, counts, shares) in its place, as where private attributes
decide who is there. A comparison of splits holds whoever is a member, unless a minimum size or the gain ratio is in it:
a candidate that leaves all members on one side is no better than no split, which no chosen one is worse than.

Where splits are compared, the impurity is of members alone; where private attributes decide on leaves, who is out is in
none of them. There every tree is below a node that sends those who are out to a leaf of their own, as a private
attribute does, so that a quasi-identifier has one cell more.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.constraints.compiler import compile_program
from maxent.constraints.kinds.context import RegisterMembers
from maxent.constraints.kinds.registry import knowledge as choices_of_knowledge
from maxent.constraints.program.program import Linear, Program, Regions
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.columns import total_count
from maxent.models.errors import ARGUMENT, Origin, invalid
from maxent.models.release import Attribute, Release, Target
from maxent.models.successive.releases import rooted
from maxent.models.tables.cells import own_names

if TYPE_CHECKING:
    from maxent.models.tables.qi_table import QITable

MEMBER, OUT = "member", "(not a member)"


def named(release: Release) -> Release:
    """A release with the outcome of those who are not in the data, as the last class."""
    target = release.target
    if target.of or target.numbers is not None:
        what = "several columns" if target.of else "numbers"
        raise invalid("options", ARGUMENT, "population", "a release whose target is one column of classes", what)
    [out] = own_names([OUT], set(target.classes))
    return replace(release, target=Target(target.name, (*target.classes, out), register=True))


def apart(release: Release) -> Release:
    """A release of `named` whose trees are below a node that sends those who are not members to a leaf of their own."""
    taken = {*(a.name for a in release.attributes), *release.target.columns, "count"}
    [name] = own_names([MEMBER], taken)
    attribute = Attribute(name, values=("in", "out"), role="private")
    trees = tuple(rooted(tree, name, ("in",), ("out",)) for tree in release.trees)
    return replace(release, attributes=(*release.attributes, attribute), trees=trees)


def stated_people(release: Release) -> int | None:
    """How many people a release says that it is about, exactly; None where it does not."""
    for statements in release.statements:
        if statements.individuals is not None:
            return int(statements.individuals)
    if release.draws is not None:
        return int(release.draws.n)
    if release.sampled or release.blurred or release.resampled is not None or release.noise is not None:
        return None
    for tree in release.trees:
        root = tree.root
        if root.n is not None or root.counts is not None:
            return root.n if root.n is not None else total_count(root.counts or {})
        whole = not any(branch.child is None for node in tree.nodes for branch in node.branches)
        sizes = [leaf.n if leaf.n is not None else leaf.counts and total_count(leaf.counts) for leaf in tree.leaves]
        if whole and None not in sizes:
            return sum(size or 0 for size in sizes)
    return None


def members_of(release: Release, table: QITable, people: int | None) -> int:
    """The number of members of a register: what is stated, or else ``people``; with an InvalidInput without either."""
    stated = stated_people(release)
    n = stated if people is None else people
    if stated is not None and people is not None and people != stated:
        expected = f"the number of people that the release states, {stated:,}, or none"
        raise invalid("options", ARGUMENT, "people", expected, f"{people:,}")
    if n is None:
        expected = "the number of people in the data (--people N), as the release does not state it"
        raise invalid("options", ARGUMENT, "people", expected, "none")
    if not 1 <= n <= table.individuals:
        expected = f"a register of at least the {n:,} people that the data are of" if n >= 1 else "at least 1 person"
        raise invalid("options", ARGUMENT, "population", expected, f"{table.individuals:,} people in {table.source}")
    return n


def compile_population(release: Release, table: QITable, members: int, **given: Any) -> Program:
    """Everything that a release tells an adversary with a register; classes have one more, of those who are out."""
    known = frozenset(choices_of_knowledge() if given.get("knowledge") is None else given["knowledge"])
    own = named(release)
    if given.get("marginal") is not None:
        given["marginal"] = np.append(given["marginal"], table.individuals - members)
    tested = {node.attribute for tree in release.trees for node in tree.nodes}
    spread = any(attribute.name in tested for attribute in release.private)
    compared = "internal" in known and any(tree.induction.candidates != "none" for tree in release.trees)
    if spread or compared:
        program = compile_program(
            apart(own), table, members=RegisterMembers(members, apart=True), **{**given, "cells": None}
        )
        if spread or program.internal:
            return program
    return compile_program(own, table, members=RegisterMembers(members), **given)


def with_bounds(program: Program, rows: IntArray, low: FloatArray, high: FloatArray) -> Program:
    """A program with bounds on the people of some quasi-identifiers as constraints, of shape (n_qi, n_classes)."""
    regions, linear = program.regions, list(program.linear)
    cells = [np.flatnonzero(program.cells.owner == q) for q in rows.tolist()]
    ends = regions.indptr[-1] + np.cumsum([len(own) for own in cells])
    for i, q in enumerate(rows.tolist()):
        origin = Origin(f"{program.table.unit} {program.table.lines[q]} of {program.table.source}")
        each = np.eye(program.n_classes)
        linear.append(
            Linear("facts", origin, len(regions) + i, each, low[q], high[q], "what is proved of whole people")
        )
    more = Regions(
        np.concatenate([regions.indptr, ends]).astype(regions.indptr.dtype),
        np.concatenate([regions.indices, *cells]).astype(regions.indices.dtype),
        (*regions.places, *[None] * len(rows)),
    )
    return replace(program, regions=more, linear=tuple(linear))
