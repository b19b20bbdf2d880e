"""Trees that are printed as lines, each branch one deeper than the one above it: of Weka, C5.0, R and scikit-learn.

Of Weka and C5.0, ``|   age <= 37: yes (12.0/3.0)``, also tests, labels and numbers. Names, values and labels are
printed as they are, blanks, colons and signs included: the name of a column is what all branches of a node begin with,
and a label is told by the classes, where they are known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from maxent.models.arguments import LARGEST_COUNT, shorten
from maxent.models.errors import invalid
from maxent.models.formats.assemble import rest
from maxent.models.formats.proof import TrainingColumns
from maxent.models.formats.unrolled import UnrolledPart
from maxent.models.release import Branch, Node
from maxent.models.trees.places import less_than

_MARKS = re.compile(r"((?:\|\s{2,3})*)(.*)")
_TAIL = re.compile(r"(.*) \(([0-9.]{1,30})(?:/([0-9.]{1,30}))?\)(?: \[([0-9.]{1,30})/([0-9.]{1,30})\])?\s*")
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:E-?[0-9]+)?"
_OPS = ("<=", ">=", "!=", "<", ">", "=")
_PAIRS = ({"<=", ">"}, {"<", ">="}, {"=", "!="}, {"="})  # the signs that the branches of a node have together
_NOBODY = "null"
PRINTED = 0.005  # by how much a number may be off that was printed with two decimals


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its number in the file, its depth, and what follows the marks."""

    number: int
    depth: int
    text: str


def below(source: str, lines: Sequence[Line]) -> list[list[int]]:
    """The positions of the lines directly below each line, and last of all those at the depth of the first one."""
    found: list[list[int]] = [[] for _ in lines]
    first: list[int] = []
    path: list[int] = []
    for at, line in enumerate(lines):
        depth = line.depth - lines[0].depth
        if not 0 <= depth <= len(path):
            refuse(source, line, "a line at most one deeper than the one above it, and not less deep than the first")
        del path[depth:]
        (found[path[-1]] if path else first).append(at)
        path.append(at)
    return [*found, first]


def refuse(source: str, line: Line, expected: str) -> NoReturn:
    """Raise the error of a line."""
    raise invalid(source, f"line {line.number}", "text", expected, shorten(line.text.strip()))


def levels_in(text: str, known: Collection[str] | None, separator: str = ",") -> tuple[str, ...] | None:
    """The levels in a text, None where there are several readings, or none."""
    pieces = text.split(separator)
    if known is None:
        clear = all(piece and piece == piece.strip() for piece in pieces) and len({*pieces}) == len(pieces)
        return tuple(pieces) if clear else None
    if len(pieces) > sum(level.count(separator) + 1 for level in known):
        return None
    longest = max((level.count(separator) for level in known), default=0) + 1
    # For each end the readings of what is before, up to two, and where the last level of one begins.
    ways, last = [1] + [0] * len(pieces), [0] * (len(pieces) + 1)
    for end in range(1, len(pieces) + 1):
        for begin in range(max(0, end - longest), end):
            if ways[begin] and separator.join(pieces[begin:end]) in known:
                ways[end] = min(ways[end] + ways[begin], 2)
                last[end] = begin
    if ways[-1] != 1:
        return None
    found, end = [], len(pieces)
    while end:
        found.append(separator.join(pieces[last[end] : end]))
        end = last[end]
    return tuple(reversed(found)) if len({*found}) == len(found) else None


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
    """The lines of one tree of Weka."""
    found = []
    for number, text in numbered:
        match = _MARKS.fullmatch(text)
        assert match is not None  # whatever is in it
        found.append(Line(number, match[1].count("|"), match[2]))
    return found


def parse_tree(
    source: str, lines: Sequence[Line], classes: Collection[str], names: Collection[str]
) -> list[Leaf | Split]:
    """The nodes of a tree in depth-first order."""
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
        expected = "a test whose column is clear, as with train=" if readings else "a test, such as age <= 37"
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


def nodes_of(tree: Sequence[Leaf | Split], classes: Sequence[str], *, states: bool, two: bool) -> Iterator[Node]:
    """The nodes of a release; with ``states`` their numbers are of all records, ``two`` is whether classes are two."""
    for number, node in enumerate(tree):
        if isinstance(node, Split):
            yield Node(str(number), node.name, tuple(_branches(node)))
        else:
            yield replace(_stated(node, classes, two=two) if states else Node("", label=node.label), id=str(number))


def parts_of(
    tree: Sequence[Leaf | Split],
    classes: Sequence[str],
    training: TrainingColumns | None,
    *,
    states: bool,
    two: bool,
    off: float = PRINTED,
) -> list[UnrolledPart]:
    """The nodes with the numbers of records in them, each at most ``off`` away, as `fractional_tree` takes them."""
    sizes = [0.0] * len(tree)
    for at in reversed(range(len(tree))):
        node = tree[at]
        grown = node.numbers[:1] if isinstance(node, Leaf) else ()  # records that were held out part none
        sizes[at] = sum(n for n, _ in grown) if isinstance(node, Leaf) else sum(sizes[i] for i in node.children)
    domains: dict[str, dict[str, None]] = {}
    for node in tree:
        if isinstance(node, Split) and "=" in node.signs:
            attribute = None if training is None else training.named(node.name)
            values = domains.setdefault(node.name, dict.fromkeys((attribute and attribute.values) or ()))
            values.update(dict.fromkeys(value for at in range(len(node.signs)) for value in node.values_of(at)))
    found = []
    for at, node in enumerate(tree):
        if isinstance(node, Leaf):
            stated = _stated(node, classes, two=two) if states else Node("", label=node.label)
            found.append(
                UnrolledPart(str(at), None, (), (), stated, _shares(node, classes, two=two, off=off), sizes[at])
            )
            continue
        named = {value for i, sign in enumerate(node.signs) if sign == "=" for value in node.values_of(i)}
        left = tuple(value for value in domains.get(node.name, ()) if value not in named)
        branches = [
            replace(branch, child=None, values=left) if sign == "!=" else replace(branch, child=None)
            for branch, sign in zip(_branches(node), node.signs, strict=True)
        ]
        absent = left if set(node.signs) == {"="} else ()
        below = tuple(zip(branches, node.children, strict=True))
        found.append(UnrolledPart(str(at), node.name, below, absent, Node(""), (), sizes[at]))
    return found


def are_whole(tree: Sequence[Leaf | Split]) -> bool:
    """Whether all numbers of records are whole."""
    leaves = [node for node in tree if isinstance(node, Leaf)]
    return all(number.is_integer() for leaf in leaves for pair in leaf.numbers for number in pair)


def _stated(node: Leaf, classes: Sequence[str], *, two: bool) -> Node:
    """What the text proves of a leaf; Id3 has no label where no record is."""
    if node.label == _NOBODY and not node.numbers:
        return Node("", n=0, counts=dict.fromkeys(classes, 0))
    if not node.numbers or not all(number.is_integer() for pair in node.numbers for number in pair):
        return Node("", label=node.label)
    n, errors = (int(sum(column)) for column in zip(*node.numbers, strict=True))
    if errors and not two:
        return Node("", label=node.label, error_rate=errors / n, n=n)
    return Node("", label=node.label, n=n, counts={c: n - errors if c == node.label else errors for c in classes})


def _shares(node: Leaf, classes: Sequence[str], *, two: bool, off: float) -> tuple[tuple[float, float], ...]:
    """The least and largest number of records of each class: who errors are is printed of two classes only."""
    n, errors = (sum(column) for column in zip(*node.numbers, strict=True)) if node.numbers else (0.0, 0.0)
    if not n:
        return ()
    off *= len(node.numbers)
    right = (max(n - errors - 2 * off, 0.0), n - errors + 2 * off)
    wrong = (max(errors - off, 0.0) if two else 0.0, errors + off)
    return tuple(right if c == node.label else wrong for c in classes)


def _branches(node: Split) -> Iterator[Branch]:
    """The branches of a node: strict tests of numbers at the largest double that passes them."""
    for at, (sign, value, child) in enumerate(zip(node.signs, node.values, map(str, node.children), strict=True)):
        if sign == "<=":
            yield Branch(child, le=float(value))
        elif sign == ">":
            yield Branch(child, gt=float(value))
        elif sign == "<":
            yield Branch(child, le=less_than(float(value)))
        elif sign == ">=":
            yield Branch(child, gt=less_than(float(value)))
        else:
            yield Branch(child, values=node.values_of(at)) if sign == "=" else rest(child)
