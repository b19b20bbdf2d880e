"""The trees in a text of Weka, ``|   age <= 37: yes (12.0/3.0)``: lines with depths, tests, labels and numbers.

Names, values and labels are printed as they are, blanks, colons and signs included. What is the name of a column is
what all branches of a node begin with; what is a label is told by the classes, where they are known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from maxent.models.formats.outline import Line, refuse
from maxent.models.text.arguments import LARGEST_COUNT

_MARKS = re.compile(r"((?:\|\s{2,3})*)(.*)")
_TAIL = re.compile(r"(.*) \(([0-9.]{1,30})(?:/([0-9.]{1,30}))?\)(?: \[([0-9.]{1,30})/([0-9.]{1,30})\])?\s*")
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:E-?[0-9]+)?"
_OPS = ("<=", ">=", "!=", "<", ">", "=")
_PAIRS = ({"<=", ">"}, {"<", ">="}, {"=", "!="}, {"="})
"""The signs that the branches of a node have together."""


@dataclass(slots=True)
class Leaf:
    """A leaf: its label, and the records and errors of each pair of numbers behind it."""

    label: str
    numbers: tuple[tuple[float, float], ...]


@dataclass(slots=True)
class Split:
    """A node: the column that it tests, and for each branch the sign, the value, and the position of what is below."""

    name: str
    signs: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    children: list[int] = field(default_factory=list)
    sets: list[tuple[str, ...]] = field(default_factory=list)

    def values_of(self, at: int) -> tuple[str, ...]:
        """The values of a branch, of which SimpleCart's tests have several."""
        return self.sets[at] if self.sets else (self.values[at],)


def lines_of(numbered: Sequence[tuple[int, str]]) -> list[Line]:
    """The lines of one tree."""
    found = []
    for number, text in numbered:
        match = _MARKS.fullmatch(text)
        assert match is not None  # whatever is in it
        found.append(Line(number, match[1].count("|"), match[2]))
    return found


def parse_tree(
    source: str, lines: Sequence[Line], classes: Collection[str], names: Collection[str]
) -> list[Leaf | Split]:
    """The nodes of a tree in depth-first order.

    Parameters
    ----------
    source : str
    lines : sequence of Line
        At least one.
    classes, names : collections of str
        Labels and columns, where they are known; none where they are not.

    Raises
    ------
    InvalidInput
        For a line that is none of such a tree, or that could mean two things.
    """
    if len(lines) == 1 and lines[0].text.lstrip().startswith(": "):
        only = leaf_of(source, lines[0], lines[0].text, classes)
        if only is None:
            refuse(source, lines[0], "a label that is a class")
        return [only]
    found: list[Leaf | Split] = []
    # What is to come: a leaf, or the lines of a node from one to another; and the node above.
    stack: list[tuple[Leaf | tuple[int, int], Split | None]] = [((0, len(lines)), None)]
    while stack:
        task, above = stack.pop()
        if above is not None:
            above.children.append(len(found))
        if isinstance(task, Leaf):
            found.append(task)
            continue
        begin, end = task
        depth = lines[begin].depth
        if depth != (0 if above is None else lines[begin - 1].depth + 1):
            refuse(source, lines[begin], "a line that is one deeper than the test above it, the first at depth 0")
        own = [i for i in range(begin, end) if lines[i].depth == depth]
        if shallow := [i for i in range(begin, end) if lines[i].depth < depth]:
            refuse(source, lines[shallow[0]], f"a line at depth {depth} or deeper")
        ends = [*own[1:], end]
        leaves = [stop == i + 1 for i, stop in zip(own, ends, strict=True)]
        split, below = _split(source, [lines[i] for i in own], leaves, classes, names)
        found.append(split)
        tasks = [leaf or (i + 1, stop) for i, stop, leaf in zip(own, ends, below, strict=True)]
        stack += [(each, split) for each in reversed(tasks)]
    return found


def _split(
    source: str, lines: Sequence[Line], leaves: Sequence[bool], classes: Collection[str], names: Collection[str]
) -> tuple[Split, list[Leaf | None]]:
    """The test of a node from the lines of its branches, and the leaf of each branch that ends in one."""
    readings = [
        reading
        for name in _names(lines, names)
        if (reading := _reading(source, name, lines, leaves, classes)) is not None
    ]
    if len(readings) != 1:
        expected = "a test whose column is clear, as with --train" if readings else "a test, such as age <= 37"
        refuse(source, lines[0], expected)
    return readings[0]


def _names(lines: Sequence[Line], known: Collection[str]) -> list[str]:
    """The columns that all lines could begin with."""
    first = lines[0].text
    if known:
        found = [name for name in known if any(first.startswith(f"{name} {op} ") for op in _OPS)]
    else:
        found = [first[: match.start()] for op in _OPS for match in re.finditer(f" {re.escape(op)} ", first)]
    return [name for name in dict.fromkeys(found) if name and all(line.text.startswith(f"{name} ") for line in lines)]


def _reading(
    source: str, name: str, lines: Sequence[Line], leaves: Sequence[bool], classes: Collection[str]
) -> tuple[Split, list[Leaf | None]] | None:
    """The lines as tests of a column, None where they are none."""
    split, below = Split(name), []
    for line, ends in zip(lines, leaves, strict=True):
        sign, _, rest = line.text[len(name) + 1 :].partition(" ")
        numeric = sign in ("<=", ">", "<", ">=")
        leaf, value = None, rest.rstrip()
        if ends:
            found = _ended(source, line, rest, classes, numeric=numeric)
            if found is None:
                return None
            value, leaf = found
        if numeric and re.fullmatch(_NUMBER, value) is None:
            return None
        split.signs.append(sign)
        split.values.append(value)
        below.append(leaf)
    return (split, below) if is_test(split) else None


def is_test(split: Split) -> bool:
    """Whether the signs and values of branches are those of one test."""
    signs, values = set(split.signs), set(split.values)
    numeric = bool(signs & {"<=", "<", ">", ">="})
    if numeric and any(re.fullmatch(_NUMBER, value) is None for value in values):
        return False
    if len(signs) == 2:
        return signs in _PAIRS and len(split.signs) == 2 and len(values) == 1
    return signs == {"="} and len(values) == len(split.values)


def _ended(source: str, line: Line, rest: str, classes: Collection[str], *, numeric: bool) -> tuple[str, Leaf] | None:
    """The value of a test, and the leaf behind it; None where there is none, or several ways to read it."""
    found = []
    for match in re.finditer(r" ?: ", rest):
        value = rest[: match.start()]
        if numeric and re.fullmatch(_NUMBER, value) is None:
            continue
        leaf = leaf_of(source, line, rest[match.start() :], classes)
        if leaf is not None:
            found.append((value, leaf))
    if len(found) > 1 and not classes:
        refuse(source, line, "a label that is clear, as with classes=, or with train= and target=")
    return found[0] if len(found) == 1 else None


def leaf_of(source: str, line: Line, text: str, classes: Collection[str]) -> Leaf | None:
    """A leaf from what follows its test, ``: label (n/errors)``; None where its label is no class."""
    body = text.lstrip().removeprefix(": ")
    match = _TAIL.fullmatch(body)
    label = body.rstrip() if match is None else match[1]
    if not label or (classes and label not in classes):
        return None
    if match is None:
        return Leaf(label, ())
    try:
        numbers = [(float(match[2]), float(match[3] or 0))]
        if match[4] is not None:
            numbers.append((float(match[4]), float(match[5])))
    except ValueError:
        refuse(source, line, "numbers of records and of errors")
    if any(errors > n for n, errors in numbers) or any(n > LARGEST_COUNT for n, _ in numbers):
        refuse(source, line, "no more errors than records")
    return Leaf(label, tuple(numbers))
