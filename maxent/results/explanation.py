"""Every constraint of a program, with its origin, in words and as rows of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from maxent.constraints.kinds.registry import kinds_of
from maxent.constraints.program.program import Internal, Linear, Program
from maxent.models.errors import Origin, Problem
from maxent.models.nodes import each as each_of
from maxent.models.nodes import links_of, statements_of

SHOWN_CUTS = 4


def explain(program: Program, problems: Iterable[Problem] = ()) -> dict[str, Any]:
    """All constraints of a release, ready for JSON; ``problems`` are statements that contradict each other.

    Returns
    -------
    dict
        ``constraints`` (kind -> number, as in the summary of an estimate), ``unread`` (as there), ``leaves`` (of each
        ``tree`` how many leaves there are, how many of them state what, the rows that are ``compiled`` of each kind,
        and the leaves that state what is ``unread``), ``statements`` (of each ``file`` how many ``rows`` are compiled,
        and its ``statements``: ``kind``, ``source``, and the people they are about, ``where``, None for everybody),
        ``notes``, ``contradictions``, and ``list``: a dict per constraint, in the order of the nodes of the trees, with

        * ``kind``, ``origin`` (in words), ``tree`` (from 1) and ``node`` (None where it is about no node; for a removed
          leaf the node and the branch it was below), ``says`` (in words), ``rows`` (how many inequalities or equations
          it is), ``individuals`` (people it is about);
        * for linear ones ``lower`` and ``upper``, individuals, one of each per row, None for no bound;
        * for internal ones ``measure``, ``chosen`` and ``candidate`` (attributes), ``form``, and ``cuts``: for each row
          the largest value of the lower side (numeric), or the list of values on one side (categorical).
    """
    return {
        "constraints": kinds_of(program),
        "list": [_qi_row(program), *(_row(program, constraint) for constraint in in_tree_order(program))],
        "unread": [each.as_dict("not") for each in program.unread],
        "leaves": list(_leaves(program)),
        "statements": list(_documents(program)),
        "notes": list(program.notes),
        "contradictions": list(_contradictions(program, problems)),
    }


def _contradictions(program: Program, problems: Iterable[Problem]) -> Iterator[dict[str, Any]]:
    """What the table contradicts, and by how much; then statements that something else contradicts."""
    yield from (each.as_dict() for each in program.contradictions)
    known = {(str(each.origin), each.says) for each in program.contradictions}
    for each in problems:
        if (each.where, each.found) not in known:
            yield {"origin": each.where, "says": each.found, "expected": each.expected}


def _documents(program: Program) -> Iterator[dict[str, Any]]:
    """Of each file of statements what they are, where they were published, and how many rows are compiled."""
    for document in program.release.statements:
        rows = (said.rows for said in program.linear if said.origin.place.startswith(f"{document.name}, "))
        listed = [
            {"kind": each.kind, "source": each.source, "where": str(each.where) if each.where.tests else None}
            for each in document.statements
        ]
        yield {"file": document.name, "statements": listed, "rows": sum(rows)}


def _leaves(program: Program) -> Iterator[dict[str, Any]]:
    """Of each published tree, how many leaves state what, how many rows are compiled about it, and what is not."""
    compiled: list[Counter[str]] = [Counter() for _ in program.release.trees]
    for constraint in in_tree_order(program):
        place = place_of(program, constraint)
        if place is not None:
            kind = constraint.kind if isinstance(constraint, Linear) else "internal"
            compiled[place[0]][kind] += constraint.rows
    for t, tree in enumerate(program.release.trees):
        if program.release.statements and tree.of_statements:
            continue
        said, leaf = statements_of(tree.nodes, program.release.target.classes), links_of(tree.nodes)[0] == 0
        stated = {
            "counts": said.counted,
            "rates": ~np.isnan(said.rate) | np.array([each is not None for each in said.shares] or [False]),
            "n": said.n >= 0,
            "labels": said.label >= 0,
            "means": np.array([each.mean is not None for each in each_of(tree.nodes)]),
            "scores": np.array([each.value is not None for each in each_of(tree.nodes)]),
        }
        numbers = {name: int((leaf & there).sum()) for name, there in stated.items()}
        yield {
            "tree": t + 1,
            "leaves": int(leaf.sum()),
            "states": {name: number for name, number in numbers.items() if number},
            "compiled": dict(compiled[t]),
            "unread": {each.what: many for each in program.unread for of, many in each.of if of == t},
        }


def in_tree_order(program: Program) -> list[Linear | Internal]:
    """All constraints: node by node from the root of the first tree on, then constraints without a node."""
    position = {
        (t, place): (t, i) for t, held in enumerate(program.cells.trees) for i, place in enumerate(held.places.top_down)
    }
    last = (len(program.cells.trees), 0)

    def key(constraint: Linear | Internal) -> tuple[int, int]:
        place = place_of(program, constraint)
        return last if place is None else position[place]

    return sorted([*program.linear, *program.internal], key=key)


def place_of(program: Program, constraint: Linear | Internal) -> tuple[int, int] | None:
    """The (tree, place) a constraint is about; None for what is about no node (a marginal, a fact)."""
    if isinstance(constraint, Internal):
        return constraint.tree, constraint.place
    return program.regions.places[constraint.region] if constraint.origin.node is not None else None


def _qi_row(program: Program) -> dict[str, Any]:
    n = len(program.table)
    return {
        "kind": "qi",
        "origin": program.table.source,
        "tree": None,
        "node": None,
        "says": f"the probabilities of the classes of each of {n} quasi-identifiers sum to 1",
        "rows": n,
        "individuals": program.individuals,
        "lower": program.table.counts.tolist(),
        "upper": program.table.counts.tolist(),
    }


def _row(program: Program, constraint: Linear | Internal) -> dict[str, Any]:
    place = place_of(program, constraint)
    row = {
        "kind": constraint.kind if isinstance(constraint, Linear) else "internal",
        "origin": str(constraint.origin),
        "tree": None if place is None else place[0] + 1,
        "node": constraint.origin.node,
        "says": says(program, constraint),
        "rows": constraint.rows,
        "individuals": individuals(program, constraint),
    }
    if isinstance(constraint, Linear):
        return {**row, "lower": _bounds(constraint.lower), "upper": _bounds(constraint.upper)}
    return {
        **row,
        "measure": constraint.measure,
        "chosen": constraint.chosen,
        "candidate": constraint.candidate,
        "form": constraint.form,
        "cuts": _cuts(program, constraint),
    }


def individuals(program: Program, constraint: Linear | Internal) -> int:
    """Number of people with a quasi-identifier in a constraint."""
    if isinstance(constraint, Linear):
        return round(float(program.region_size[constraint.region]))
    cells = program.cells.trees[constraint.tree].at(constraint.place)
    return int(program.table.counts[np.unique(program.cells.owner[cells])].sum())


def _bounds(values: Iterable[float]) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


def _cuts(program: Program, constraint: Internal) -> list[float] | list[list[str]] | None:
    """Cut of the candidate for each row of a comparison; None when there is a branch per value."""
    levels = program.table.levels[constraint.column]
    if constraint.form == "values":
        return None
    if program.table.attributes[constraint.column].type == "numeric":
        return [float(levels[code]) for code in constraint.codes]
    if constraint.form == "each":
        return [[str(levels[code])] for code in constraint.codes]
    return [[str(value) for value in levels[: code + 1]] for code in constraint.codes]


def says(program: Program, constraint: Linear | Internal) -> str:
    """A constraint in words: ``Education chosen over 23 cuts of Age (gini): <= 17, <= 18, ...``."""
    if isinstance(constraint, Linear):
        return constraint.says
    over = constraint.candidate
    if constraint.form == "values":
        return f"{constraint.chosen} chosen over {over} ({constraint.measure})"
    single = constraint.form == "each"
    noun = "value" if single else "cut"
    number = f"{constraint.rows} {noun}s" if constraint.rows > 1 else f"one {noun}"
    levels = program.table.levels[constraint.column]
    first = [
        f"{value}"
        if isinstance(value, str) and single
        else f"<= {value if isinstance(value, str) else f'{value:.15g}'}"
        for value in levels[constraint.codes[:SHOWN_CUTS]]
    ]
    more = ["..."] if constraint.rows > SHOWN_CUTS else []
    apart = " against the rest" if single else ""
    return f"{constraint.chosen} chosen over {number} of {over}{apart} ({constraint.measure}): " + ", ".join(
        first + more
    )


def place_name(program: Program, tree: int, place: int) -> Origin:
    """A place as an origin; removed leaves have no id."""
    node = program.release.trees[tree].nodes[place] if place < len(program.release.trees[tree].nodes) else None
    number = tree if len(program.release.trees) > 1 else None
    if node is None:
        return Origin("removed leaf", None, number)
    return Origin("leaf" if node.is_leaf else "node", node.id, number)
