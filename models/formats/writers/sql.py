"""A release as an SQL query that predicts as it does.

The query is standard SQL with LATERAL and GREATEST, which DuckDB and PostgreSQL have and SQLite has not: its first line
says so. Its numbers have an exponent, so that they are doubles and not decimals. It is made of steps, each a lateral
derived table of the row, by whose name its columns go, so that none of the table's own can stand in their place:

- the leaf of each tree, or the inner node that has no branch for the record;
- of several trees, the weight of each class, in the order in which `maxent.models.trees.predict` adds;
- the prediction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import isinf

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.errors import invalid, printable
from maxent.models.formats.writers.rules import Condition, Rule, WantedForm, Writer, rules_of, stops_of
from maxent.models.release import Attribute, Boosting, Release, Tree
from maxent.models.tables.cells import MISSING, OTHER, PREFIX
from maxent.models.trees.predict import (
    base_scores,
    numbers_of,
    predicts_numbers,
    score_terms,
    shares_of,
    states_shares,
    terms_of,
)

RUNS_ON = "-- for DuckDB and PostgreSQL; not for SQLite, which has no LATERAL"  # the first line of every query
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.0)?")  # a whole number as `repr` writes it, or the double that it is


def write_sql(release: Release, wanted: WantedForm) -> str:
    """A query that adds to each row of a table its leaf in each tree, the predicted class, and its probabilities.

    Names of columns of the query have a prefix where an attribute is called so, in large or small letters.
    """
    if not all(wanted.table.split(".")):
        expected = "the name of a table, a schema before a dot"
        raise invalid("export", "argument", "table", expected, repr(wanted.table))
    names = _Names.of(release)
    trees = [_placed(release, tree, column) for tree, column in zip(release.trees, names.leaf, strict=True)]
    steps = [_step("placed", [part.case for part in trees])]
    if predicts_numbers(release):
        last = [f"{_mean(release, trees)} AS {names.predicted}"]
    elif len(release.trees) == 1 and release.predicts != "score":
        last = _of_one_tree(release, trees[0], names)
    else:
        scores = release.predicts == "score"
        steps += _scored(release, trees, names) if scores else _weighed(release, trees, names)
        last = _shares(release, names)
    title = f"-- {release.target.name}, predicted by {len(release.trees)} tree{'s' * (len(release.trees) > 1)}"
    shown = ["t.*", "placed.*", *["weighed.*"] * (len(steps) > 1), *last]
    source = "\n".join([f"FROM {_table(wanted.table)} AS t", *steps])
    title = printable(" ".join(title.split()))
    return f"{RUNS_ON}\n{title}\nSELECT " + ",\n  ".join(shown) + f"\n{source}\n"


@dataclass(frozen=True, slots=True)
class _Names:
    """Quoted names of the columns that the query adds."""

    leaf: Sequence[str]
    weight: Sequence[str]
    share: Sequence[str]
    score: Sequence[str]
    own: Sequence[str]
    instead: Sequence[str]
    predicted: str

    @classmethod
    def of(cls, release: Release) -> _Names:
        several = len(release.trees) > 1
        # Databases take names that differ by case alone for one, and which of two columns they then read is theirs.
        taken = {attribute.name.casefold() for attribute in release.attributes}

        def free(name: str) -> str:
            while name.casefold() in taken:
                name = PREFIX + name
            taken.add(name.casefold())
            return _quoted(name)

        def each(words: str) -> list[str]:
            return [free(words.format(label=label, x=x)) for x, label in enumerate(release.target.classes)]

        leaf = [free(f"leaf {i}" if several else "leaf") for i in range(1, len(release.trees) + 1)]
        score, own, instead = (each(words) for words in ("score {x}", "own {x}", "instead {x}"))
        return cls(leaf, each("weight({label})"), each("P({label})"), score, own, instead, free("predicted"))


@dataclass(frozen=True, slots=True)
class _Placed:
    """Where the records of a tree end: the column's CASE, and a place for each of its values."""

    column: str
    case: str
    ends: Sequence[tuple[str, int]]

    def chosen(self, of_place: Callable[[int], str]) -> str:
        """A CASE of the column: an expression for each of the places."""
        whens = "".join(f" WHEN {_text(name)} THEN {of_place(place)}" for name, place in self.ends)
        return f"CASE placed.{self.column}{whens} END"


def _placed(release: Release, tree: Tree, column: str) -> _Placed:
    rules = [rule for rule in rules_of(release, tree) if rule.place < len(tree.nodes)]
    stops = stops_of(release, tree)
    known = {a.name: a for a in release.attributes}
    conditions = [*map(_rule, rules), *(_stop(rule, known[rule.node.attribute or ""]) for rule in stops)]
    whens = "".join(
        f"\n      WHEN {condition} THEN {_text(rule.node.id)}"
        for condition, rule in zip(conditions, [*rules, *stops], strict=True)
    )
    ends = [(rule.node.id, rule.place) for rule in [*rules, *stops]]
    if tree.root.is_leaf:
        return _Placed(column, f"{_text(tree.root.id)} AS {column}", ends)
    return _Placed(column, f"CASE{whens}\n    END AS {column}", ends)


def _rule(rule: Rule) -> str:
    return " AND ".join(map(_condition, rule.conditions)) or "TRUE"


def _stop(rule: Rule, tested: Attribute) -> str:
    """The condition of a record that stops at a node; where missing values are none of its attribute's, it has one."""
    unknown = not tested.missing and MISSING not in (tested.values or ())
    return (
        " AND ".join([*map(_condition, rule.conditions), *[f"t.{_quoted(tested.name)} IS NOT NULL"] * unknown])
        or "TRUE"
    )


def _condition(condition: Condition) -> str:
    attribute = condition.attribute
    name = f"t.{_quoted(attribute.name)}"
    if attribute.values is not None:
        return _among(f"CAST({name} AS VARCHAR)", name, condition.values, attribute)
    parts = []
    if condition.numbers:
        low = [] if isinf(condition.gt) else [f"{name} > {_number(condition.gt)}"]
        high = [] if isinf(condition.le) else [f"{name} <= {_number(condition.le)}"]
        parts.append(" AND ".join([*low, *high]) or f"{name} IS NOT NULL")
    if condition.missing:
        parts.append(f"{name} IS NULL")
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})" if parts else "FALSE"


def _among(text: str, name: str, values: Sequence[str], attribute: Attribute) -> str:
    """Whether a category is among values; `OTHER` stands for each that the attribute does not name."""
    parts = []
    if named := [value for value in values if value not in (MISSING, OTHER)]:
        parts.append(f"{text} IN ({', '.join(map(_text, _spelled(named, attribute)))})")
    if OTHER in values:
        known = [value for value in attribute.values or () if value not in (MISSING, OTHER)]
        others = f"{text} NOT IN ({', '.join(map(_text, _spelled(known, attribute)))})"
        parts.append(others if known else f"{name} IS NOT NULL")
    if MISSING in values:
        parts.append(f"{name} IS NULL")
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})" if parts else "FALSE"


def _spelled(values: Sequence[str], attribute: Attribute) -> list[str]:
    """Values as a database casts them to text."""
    others = [value.lower() for value in values if value in ("True", "False")]
    whole = [value for value in values if _WHOLE.fullmatch(value)]  # with its other spelling, 1.0 of 1
    others += [value[:-2] if value.endswith(".0") else f"{value}.0" for value in whole]
    return [*values, *(value for value in dict.fromkeys(others) if value not in (attribute.values or ()))]


def _of_one_tree(release: Release, placed: _Placed, names: _Names) -> list[str]:
    """The prediction at each end of a single tree."""
    (terms,) = terms_of(release)
    weights = np.where(terms.own.any(axis=1, keepdims=True), terms.own, terms.instead)
    weights[~weights.any(axis=1)] = 1.0
    label = np.where(terms.label < 0, weights.argmax(axis=1), terms.label)
    classes = release.target.classes
    found = [f"{placed.chosen(lambda place: _text(classes[label[place]]))} AS {names.predicted}"]
    if states_shares(release):
        shares = shares_of(weights)
        found += [
            f"{placed.chosen(lambda place, share=share: _number(share[place]))} AS {name}"  # type: ignore[misc]
            for share, name in zip(shares.T, names.share, strict=True)
        ]
    return found


def _mean(release: Release, trees: Sequence[_Placed]) -> str:
    """The number that a release of a numeric target predicts."""
    parts = []
    for tree, placed in zip(release.trees, trees, strict=True):
        numbers = numbers_of(tree)
        case = placed.chosen(lambda place, numbers=numbers: _number(numbers[place]))  # type: ignore[misc]
        parts.append(case if tree.weight == 1 else f"{_number(tree.weight)} * {case}")
    if len(parts) == 1:
        return parts[0]
    total = "\n    + ".join(parts)
    return f"({total}) / {_number(sum(tree.weight for tree in release.trees))}"


def _weighed(release: Release, trees: Sequence[_Placed], names: _Names) -> Iterator[str]:
    """The steps that add up the weights of classes; where no tree has an answer, those that count instead."""
    terms = [*terms_of(release)]
    ends = [np.array([place for _, place in part.ends]) for part in trees]
    if all(each.own[at].any(axis=1).all() for each, at in zip(terms, ends, strict=True)):
        yield _step("weighed", _sums(trees, [t.own for t in terms], None, names.weight))
        return
    own, instead = names.own, names.instead
    columns = _sums(trees, [t.own for t in terms], None, own) + _sums(trees, [t.instead for t in terms], None, instead)
    yield _step("answered", columns)
    silent, mute = (" AND ".join(f"answered.{name} = 0e0" for name in columns) for columns in (own, instead))
    yield _step(
        "weighed",
        [
            f"CASE WHEN NOT ({silent}) THEN answered.{mine} WHEN {mute} THEN 1e0 ELSE answered.{theirs} END AS {name}"
            for mine, theirs, name in zip(own, instead, names.weight, strict=True)
        ],
    )


def _scored(release: Release, trees: Sequence[_Placed], names: _Names) -> Iterator[str]:
    """The steps from places to the weights of classes by their scores."""
    link = (release.boosting or Boosting("none")).link
    scores = names.score if link != "none" else names.weight
    values = [*score_terms(release)]
    yield _step("scored" if link != "none" else "weighed", _sums(trees, values, base_scores(release), scores))
    if link != "none":
        found = [f"scored.{name}" for name in scores]
        best = _greatest(found)
        yield _step("weighed", [f"EXP({s} - {best}) AS {name}" for s, name in zip(found, names.weight, strict=True)])


def _sums(
    trees: Sequence[_Placed], terms: Sequence[FloatArray], base: FloatArray | None, names: Sequence[str]
) -> list[str]:
    """A column for each class: the terms of all trees, added in their order."""
    found = []
    for x, name in enumerate(names):
        parts = ["0e0" if base is None else _number(base[x])]
        for placed, term in zip(trees, terms, strict=True):
            added = term[:, x]
            parts.append(placed.chosen(lambda place, added=added: _number(added[place])))  # type: ignore[misc]
        found.append("\n    + ".join(parts) + f" AS {name}")
    return found


def _shares(release: Release, names: _Names) -> list[str]:
    """The predicted class and, where they are stated, the probabilities: weights divided by their sum."""
    classes = [_text(label) for label in release.target.classes]
    weights = [f"weighed.{name}" for name in names.weight]
    whens = "".join(f" WHEN {weight} THEN {label}" for weight, label in zip(weights, classes, strict=True))
    found = [f"CASE {_greatest(weights)}{whens} END AS {names.predicted}"]
    if states_shares(release):
        total = " + ".join(weights)
        found += [f"{w} / ({total}) AS {name}" for w, name in zip(weights, names.share, strict=True)]
    return found


def _greatest(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"GREATEST({', '.join(names)})"


def _step(name: str, columns: Sequence[str]) -> str:
    return "CROSS JOIN LATERAL (\n  SELECT\n    " + ",\n    ".join(columns) + f"\n) AS {name}"


def _table(name: str) -> str:
    """A table as it is named, a schema before a dot."""
    return ".".join(map(_quoted, name.split(".")))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _number(value: float) -> str:
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


WRITER = Writer("sql", ".sql", "an SQL query that predicts", write_sql)
