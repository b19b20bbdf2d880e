"""Routes of records through PMML trees: predicates, tests of one column, children, and missing values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal, NoReturn, TypeAlias

from maxent.models.errors import invalid
from maxent.models.formats.pmml.expressions import (
    COMPARISONS,
    Expr,
    PiecewiseLine,
    PmmlColumn,
    Special,
    Unknown,
    Value,
    apply,
    constant,
    typed,
)
from maxent.models.formats.pmml.inputs import NUMBERS, Scope, words_of
from maxent.models.formats.pmml.xml_document import Element
from maxent.models.release import Branch

# The way of records through a tree: its nodes, what comes to each, and where it ends.


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers above one and up to another, and whether missing ones are among them."""

    low: float
    high: float
    missing: bool


Reach: TypeAlias = "tuple[int, ...] | Numbers"  # what can come to a node: categories by their indices, or numbers


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """Where a record ends: at a node, at none (the model gives no prediction), or at the last one that had a score."""

    kind: Literal["node", "none", "last"]
    node: Element | None = None


NONE, LAST = End("none"), End("last")


@dataclass(slots=True, eq=False)
class PmmlRouted:
    """A node of the release: its test, the element whose statements it has, and the element whose score it gives."""

    id: str
    attribute: str | None = None
    branches: tuple[Branch, ...] = ()
    element: Element | None = None
    score: Element | None = None


@dataclass(slots=True, eq=False)
class Route:
    """The nodes of a tree, how many ways lead to each, and whether missing values have a prediction."""

    nodes: list[PmmlRouted] = field(default_factory=list)
    ways: dict[int, int] = field(default_factory=dict)
    follows_missing: dict[str, bool] = field(default_factory=lambda: defaultdict(bool))


# Predicates of nodes: true, false or unknown of a record, as functions of its columns.

PREDICATES = ("True", "False", "SimplePredicate", "SimpleSetPredicate", "CompoundPredicate")
_DEEPEST = 100

Truth: TypeAlias = "bool | Special | None"  # none is unknown; `Special.INVALID` where the model gives no prediction

# A category by its index, the upper bound of an interval of numbers, or None for a missing number
Key: TypeAlias = "float | int | None"


@dataclass(frozen=True, slots=True, eq=False)
class PmmlTest:
    """A predicate of one column: its truth at a value, and the bounds of the intervals on which it is the same."""

    column: PmmlColumn
    at: Callable[[Key], Truth]
    uppers: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Several:
    """A predicate of several columns: of parts."""

    operator: str
    parts: tuple[Predicate, ...]


Predicate: TypeAlias = "PmmlTest | Several | Truth"


def predicate_of(element: Element, scope: Scope, depth: int = 0) -> Predicate:
    """The predicate of an element."""
    if depth > _DEEPEST:
        element.refuse("CompoundPredicate", f"at most {_DEEPEST} predicates within each other", "more")
    if element.name in ("True", "False"):
        return element.name == "True"
    try:
        if element.name == "CompoundPredicate":
            operator = element.choice("booleanOperator", ("and", "or", "xor", "surrogate"), "")
            parts = [predicate_of(part, scope, depth + 1) for part in element.all(*PREDICATES)]
            if len(parts) < 2 or not operator:
                element.refuse("booleanOperator", "and, or, xor or surrogate, of two predicates or more")
            return joined(operator, parts)
        found, kind = scope.field(element.need("field"), element)
        if scope.single and kind in NUMBERS and any(isinstance(value, PiecewiseLine) for value in found.values):
            found, kind = typed(found, "float"), "float"
        if element.name == "SimpleSetPredicate":
            operator = element.choice("booleanOperator", ("isIn", "isNotIn"), "")
            values = [_typed(word, kind) for word in words_of(element.one("Array"))]
            if not values:
                return operator == "isNotIn"
            return _test(found, operator, values)
        operator = element.choice("operator", (*COMPARISONS, "isMissing", "isNotMissing"), "")
        if operator in ("isMissing", "isNotMissing"):
            return _test(found, operator, [])
        return _test(found, operator, [_typed(element.need("value"), kind)])
    except Unknown as error:
        element.refuse("field", str(error), element.get("field"))


def _typed(text: str, kind: str) -> Value:
    return typed(constant(text), kind if kind in ("string", "boolean", "float") else "double").values[0]


def _test(found: Expr, operator: str, values: Sequence[Value]) -> Predicate:
    """A comparison of what is computed of a column with fixed values."""
    if found.column is None or found.column.cells is None:
        made = apply(operator, [found, *map(constant, values)])
        return _truth(made.values[0]) if made.column is None else PmmlTest(made.column, _lookup(made), made.uppers)
    # Of categories it is looked at when it is asked for: of many values in many nodes few are.
    if operator in ("isIn", "isNotIn", "equal", "notEqual") and all(
        isinstance(v, str) for v in found.values if _is_fixed(v)
    ):
        known, inside = frozenset(values), operator in ("isIn", "equal")
        return PmmlTest(found.column, lambda key: _is_in(found.at(key), known, inside))
    fixed = [constant(value) for value in values]
    cells = found.values
    return PmmlTest(
        found.column, lambda key: _truth(apply(operator, [constant(cells[int(key or 0)]), *fixed]).values[0])
    )


def _is_fixed(value: Value) -> bool:
    return value is not None and not isinstance(value, Special)


def _is_in(value: Value, known: frozenset[Value], inside: bool) -> Truth:
    if value is None or value is Special.INVALID:
        return None if value is None else Special.INVALID
    return (value in known) == inside


def _lookup(made: Expr) -> Callable[[Key], Truth]:
    return lambda key: _truth(made.at(key))


def _truth(value: Value) -> Truth:
    return value if isinstance(value, bool) or value is None else Special.INVALID


def joined(operator: str, parts: Sequence[Predicate]) -> Predicate:
    """A compound of predicates: one of a column where all of them are."""
    columns = {id(part.column): part.column for part in parts if isinstance(part, PmmlTest)}
    if not any(isinstance(part, Several) for part in parts) and len(columns) <= 1:
        if not columns:
            return _outcome(operator, [part for part in parts if not isinstance(part, (PmmlTest, Several))])
        uppers = {upper for part in parts if isinstance(part, PmmlTest) for upper in part.uppers}
        return PmmlTest(
            next(iter(columns.values())),
            lambda key: _outcome(operator, [at(part, key) for part in parts]),
            tuple(sorted(uppers)),
        )
    if operator == "surrogate" and isinstance(parts[0], bool):
        return parts[0]
    # What decides without the others: one of a record's columns may be missing.
    if operator in ("and", "or") and any(part is (operator == "or") for part in parts):
        return operator == "or"
    return Several(operator, tuple(parts))


def at(part: Predicate, key: Key) -> Truth:
    """The truth of a predicate of one column."""
    if isinstance(part, PmmlTest):
        return part.at(key)
    assert not isinstance(part, Several)
    return part


def _outcome(operator: str, parts: Sequence[Truth]) -> Truth:
    """The truth of a compound."""
    if operator == "surrogate":
        return next((part for part in parts if part is not None), None)
    if any(part is Special.INVALID for part in parts):
        return Special.INVALID
    if operator == "xor":
        return None if None in parts else sum(part is True for part in parts) % 2 == 1
    decisive = operator == "or"
    if decisive in parts:
        return decisive
    return None if None in parts else not decisive


def tests_in(part: Predicate) -> Iterator[PmmlTest]:
    """The tests of columns of a predicate, in order."""
    if isinstance(part, PmmlTest):
        yield part
    elif isinstance(part, Several):
        for each in part.parts:
            yield from tests_in(each)


def settled(part: Predicate, column: PmmlColumn, key: Key) -> Predicate:
    """A predicate where the value of a column is known."""
    if isinstance(part, PmmlTest):
        return part.at(key) if part.column is column else part
    if isinstance(part, Several):
        return joined(part.operator, [settled(each, column, key) for each in part.parts])
    return part


_MOST_NODES = 4
# Nodes, and tests of values, per node of the document at most, and as many as a thousand nodes have
_MOST_STEPS = 2_000

STRATEGIES = (
    *("none", "nullPrediction", "lastPrediction", "defaultChild"),
    *("weightedConfidence", "aggregateNodes"),
)
# Strategies that send a record with a missing value down several branches
PARTED = ("weightedConfidence", "aggregateNodes")

Step = tuple[Predicate, Element]


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """A branch of a test: what comes to it, and where that goes on."""

    branch: Branch
    reach: Reach
    to: End | Sequence[Step]


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """A node to make, at the children of an element from some on; ``first`` where none of them was tried before."""

    id: str
    element: Element | None
    steps: Sequence[Step]
    reach: Mapping[str, Reach]
    last: Element | None
    first: bool = True
    leaf: End | None = None


class Router:
    """Makes the nodes of one TreeModel."""

    def __init__(self, model: Element, scope: Scope, size: int, unfollowed: Collection[str] = ()) -> None:
        self._scope, self._unfollowed = scope, unfollowed
        self._strategy = model.choice("missingValueStrategy", STRATEGIES, "none")
        known = ("returnNullPrediction", "returnLastPrediction")
        self._no_child = LAST if model.choice("noTrueChildStrategy", known, known[0]) == known[1] else NONE
        self._root = model.one("Node")
        self._model = model
        self._left = _MOST_STEPS * (1_000 + size)
        self._nodes_left = _MOST_NODES * (1_000 + size)
        self._names: dict[str, int] = {}
        self._used: set[str] = set()
        self._numbers: dict[int, str] = {}
        self.route = Route()

    def routed(self) -> Route:
        """All nodes, each before those below it."""
        root = self._root.first(*PREDICATES)
        if root is not None and root.name != "True":
            self._root.refuse(root.name, "a root whose predicate is True")
        self._number()
        stack = [self._entering(self._root, {}, None)]
        while stack:
            task = stack.pop()
            try:
                below = list(self._made(task))
            except Unknown as error:
                (task.element or self._root).refuse("predicate", str(error), "another one")
            stack += reversed(below)
            self._nodes_left -= 1
            if self._nodes_left < 0:
                self._refuse("fewer ways to its nodes (predicates of several columns multiply them)")
        return self.route

    def _refuse(self, expected: str) -> NoReturn:
        raise invalid(self._model.source, self._model.where, "Node", expected, "too many")

    def _number(self) -> None:
        """Ids of the elements: their own where these are all different, else their number in the document."""
        order, stack = [], [self._root]
        while stack:
            element = stack.pop()
            order.append(element)
            stack += reversed(list(element.all("Node")))
        own = [element.get("id") for element in order]
        different = None not in own and "" not in own and len(set(own)) == len(own)
        for number, element in enumerate(order):
            self._numbers[id(element)] = str(own[number]) if different else str(number)

    def _named(self, name: str) -> str:
        """An id that no other node has: a name, or one that begins with it; after a point comes a number."""
        while True:
            number = self._names.get(name, 0) + 1
            self._names[name] = number
            found = f"{name}{number}" if name.endswith(".") else name if number == 1 else f"{name}~{number}"
            if found not in self._used:
                self._used.add(found)
                return found

    def _entering(self, element: Element, reach: Mapping[str, Reach], last: Element | None) -> _Task:
        self._arrive(element)
        return _Task(self._named(self._numbers[id(element)]), element, self._steps_of(element), reach, last)

    def _arrive(self, element: Element) -> None:
        self.route.ways[id(element)] = self.route.ways.get(id(element), 0) + 1

    def _steps_of(self, element: Element) -> Sequence[Step]:
        """The predicates of the children of an element."""
        return [(predicate_of(child.one(*PREDICATES), self._scope), child) for child in element.all("Node")]

    def _made(self, task: _Task) -> Iterator[_Task]:
        """Add the node of a task; what is to be made below it."""
        element, last = task.element, task.last
        if task.leaf is not None or element is None:
            self.route.nodes.append(PmmlRouted(task.id, score=last if task.leaf is LAST else None))
            return
        if element.get("score") is not None:
            last = element
        if task.first and element.first("Node") is None:
            self.route.nodes.append(PmmlRouted(task.id, element=element, score=element))
            return
        steps, groups, end = task.steps, list[_Group](), None
        while end is None and len(groups) < 2:
            steps, end = self._settled(steps, task.reach, element)
            groups = [] if end is not None else self._groups(steps, task.reach, element)
            if len(groups) == 1:
                # All records that come here have the same outcome of the test: it is left out.
                if isinstance(groups[0].to, End):
                    end = groups[0].to
                else:
                    steps, groups = groups[0].to, []
        if end is not None:
            if end.node is None:
                self.route.nodes.append(PmmlRouted(task.id, score=last if end.kind == "last" else None))
                return
            self._arrive(end.node)
            yield _Task(task.id, end.node, self._steps_of(end.node), task.reach, last)
            return
        title = next(tests_in(steps[0][0])).column.name
        branches = []
        for group in groups:
            below = {**task.reach, title: group.reach}
            if isinstance(group.to, End) and group.to.node is not None:
                made = self._entering(group.to.node, below, last)
            elif isinstance(group.to, End):
                made = _Task(self._named(f"{task.id}."), None, (), below, last, leaf=group.to)
            else:
                made = _Task(self._named(f"{task.id}."), element, group.to, below, last, first=False)
            branches.append(replace(group.branch, child=made.id))
            yield made
        self.route.nodes.append(PmmlRouted(task.id, title, tuple(branches), element if task.first else None))

    def _settled(
        self, steps: Sequence[Step], reach: Mapping[str, Reach], element: Element
    ) -> tuple[Sequence[Step], End | None]:
        """The steps from the first one on that is open for the records that come here; or where all of them go."""
        for number, (predicate, child) in enumerate(steps):
            truth = self._fixed(predicate, reach)
            if truth == "open":
                return steps[number:], None
            end = self._end(truth, child, element)
            if end is not None:
                return (), end
        return (), self._no_child

    def _fixed(self, predicate: Predicate, reach: Mapping[str, Reach]) -> Truth | Literal["open"]:
        """The truth of a predicate that is the same for all records that come here."""
        if isinstance(predicate, Several):
            return "open"
        if not isinstance(predicate, PmmlTest):
            return predicate
        found: Truth | Literal["open"] = "open"
        for number, key in enumerate(self._keys([predicate], predicate.column, reach)):
            truth = predicate.at(key)
            if number and truth is not found:
                return "open"
            found = truth
        return False if found == "open" else found

    def _end(self, truth: Truth, child: Element, element: Element) -> End | None:
        """Where records go of which a child's predicate is so; None: on to the next child."""
        if truth is True:
            return End("node", child)
        if truth is False or (truth is None and self._strategy == "none"):
            return None
        if truth is None and self._strategy == "lastPrediction":
            return LAST
        if truth is not None or self._strategy != "defaultChild":
            return NONE
        name = element.get("defaultChild")
        found = next((each for each in element.all("Node") if each.get("id") == name), None)
        if name is not None and found is None:
            element.refuse("defaultChild", "the id of a child")
        return NONE if found is None else End("node", found)

    def _keys(self, tests: Sequence[PmmlTest], column: PmmlColumn, reach: Mapping[str, Reach]) -> list[Key]:
        """One value for each group that tests may tell apart, of those that come here: missing numbers last."""
        here = self._reach(column, reach)
        if isinstance(here, tuple):
            self._spend(len(here) * len(tests))
            return list(here)
        bounds = {upper for test in tests for upper in test.uppers if here.low < upper < here.high}
        self._spend((len(bounds) + 1) * len(tests))
        found: list[Key] = [*sorted(bounds), here.high] if here.low < here.high else []
        return [*found, None] if here.missing else found

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            self._refuse("fewer tests of values")

    def _reach(self, column: PmmlColumn, reach: Mapping[str, Reach]) -> Reach:
        if column.name in reach:
            return reach[column.name]
        missing = column.name not in self._unfollowed
        if column.cells is None:
            return Numbers(-inf, inf, missing)
        return tuple(range(len(column.cells) - (not missing)))

    def _groups(self, steps: Sequence[Step], reach: Mapping[str, Reach], element: Element) -> list[_Group]:
        """The branches of a test of the first column that the first step asks for."""
        column = next(tests_in(steps[0][0])).column
        run = 0
        ahead: list[tuple[PmmlTest, Element]] = []
        for predicate, child in steps:
            if not isinstance(predicate, PmmlTest) or predicate.column is not column:
                break
            ahead.append((predicate, child))
        run = len(ahead)
        tests = [test for test, _ in ahead] or [test for test in tests_in(steps[0][0]) if test.column is column]
        results: list[object] = []
        rests: dict[object, End | Sequence[Step]] = {}
        here = self._reach(column, reach)
        keys = self._keys(tests, column, reach)
        for key in keys:
            if ahead:
                to: End | Sequence[Step] = next(
                    (end for test, child in ahead if (end := self._end(test.at(key), child, element)) is not None),
                    steps[run:] or self._no_child,
                )
                result: object = (to.kind, id(to.node)) if isinstance(to, End) else None
            else:
                result = tuple(test.at(key) for test in tests)
                to = [(settled(steps[0][0], column, key), steps[0][1]), *steps[1:]] if result not in rests else ()
            results.append(result)
            rests.setdefault(result, to)
            if key is None or (column.cells is not None and key == len(column.cells) - 1):
                nowhere = isinstance(to, End) and to.kind == "none"
                self.route.follows_missing[column.name] |= not nowhere
        if isinstance(here, tuple):
            return self._of_categories(column, keys, results, rests)
        return self._of_numbers(here, keys, results, rests)

    @staticmethod
    def _of_categories(
        column: PmmlColumn, keys: Sequence[Key], results: Sequence[object], rests: Mapping[object, End | Sequence[Step]]
    ) -> list[_Group]:
        taken: dict[object, list[int]] = {}
        for key, result in zip(keys, results, strict=True):
            taken.setdefault(result, []).append(int(key or 0))
        cells = column.cells or ()
        return [
            _Group(Branch(None, tuple(cells[i] for i in which)), tuple(which), rests[result])
            for result, which in taken.items()
        ]

    @staticmethod
    def _of_numbers(
        here: Numbers, keys: Sequence[Key], results: Sequence[object], rests: Mapping[object, End | Sequence[Step]]
    ) -> list[_Group]:
        runs: list[tuple[float, float, object]] = []
        for key, result in zip(keys, results, strict=True):
            if key is None:
                continue
            if runs and runs[-1][2] == result:
                runs[-1] = (runs[-1][0], float(key), result)
            else:
                runs.append((runs[-1][1] if runs else here.low, float(key), result))
        gone = results[-1] if here.missing else None
        with_missing = next((i for i, run in enumerate(runs) if here.missing and run[2] == gone), None)
        found = []
        for i, (low, high, result) in enumerate(runs):
            takes = True if i == with_missing else None
            le, gt = None if i == len(runs) - 1 else high, None if i == 0 else low
            branch = Branch(None, None, le, gt, False if len(runs) == 1 else takes)
            found.append(_Group(branch, Numbers(low, high, bool(takes)), rests[result]))
        if here.missing and with_missing is None:
            found.append(_Group(Branch(None, missing=True), Numbers(inf, inf, True), rests[gone]))
        return found
