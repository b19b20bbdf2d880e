"""Nodes of PMML as tests of one column each: children in their order, missing values, predicates of several columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal, NoReturn

from maxent.models.errors import invalid
from maxent.models.formats.pmml.expressions.pieces import Column, Unknown
from maxent.models.formats.pmml.fields import Scope
from maxent.models.formats.pmml.predicates import (
    PREDICATES,
    Key,
    Predicate,
    Several,
    Test,
    Truth,
    predicate_of,
    settled,
    tests_in,
)
from maxent.models.formats.pmml.route import LAST, NONE, End, Numbers, Reach, Route, Routed
from maxent.models.formats.pmml.xml_document import Element
from maxent.models.release import Branch

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
            self.route.nodes.append(Routed(task.id, score=last if task.leaf is LAST else None))
            return
        if element.get("score") is not None:
            last = element
        if task.first and element.first("Node") is None:
            self.route.nodes.append(Routed(task.id, element=element, score=element))
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
                self.route.nodes.append(Routed(task.id, score=last if end.kind == "last" else None))
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
        self.route.nodes.append(Routed(task.id, title, tuple(branches), element if task.first else None))

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
        if not isinstance(predicate, Test):
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

    def _keys(self, tests: Sequence[Test], column: Column, reach: Mapping[str, Reach]) -> list[Key]:
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

    def _reach(self, column: Column, reach: Mapping[str, Reach]) -> Reach:
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
        ahead: list[tuple[Test, Element]] = []
        for predicate, child in steps:
            if not isinstance(predicate, Test) or predicate.column is not column:
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
        column: Column, keys: Sequence[Key], results: Sequence[object], rests: Mapping[object, End | Sequence[Step]]
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
