"""The lines of a tree that partykit printed: columns, signs, levels, labels and numbers.

Names, levels and labels are printed as they are, levels joined by commas with a blank. A column is what all branches of
a node begin with; what is a label, and what are levels, is told by the classes and the training table.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil, floor

from maxent.models.errors import invalid
from maxent.models.formats.outline import Line, below, levels_in, refuse
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.text.arguments import LARGEST_COUNT

_LINE = re.compile(r"((?:\|   )*)\[([0-9]{1,9})\] (.*)")
_NUMBER = r"-?[0-9]{1,24}(?:\.[0-9]{1,24})?(?:e[+-]?[0-9]{1,3})?"
_CUT = re.compile(rf"(<=|<|>=|>) ({_NUMBER})")
_TAIL = re.compile(rf" \((n|w) = *({_NUMBER}), err = *({_NUMBER})%\) *")
_OPPOSITE = {"<=": ">", "<": ">=", ">": "<=", ">=": "<"}
_NAMES, _LABELS = 100, 1000  # how many columns a line may begin with, and how many labels it may end with
_BETTER = "with train= and target=, which tell levels and labels"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf: its label, records, and the least and largest number of them outside the label; or it is weighted."""

    label: str
    n: int
    errors: tuple[int, int]
    rate: str
    weighted: bool


@dataclass(frozen=True, slots=True)
class Test:
    """What the lines of the branches of a node say: the column, and for each branch a sign and number, or levels."""

    name: str
    cuts: tuple[tuple[str, str], ...]
    levels: tuple[tuple[str, ...], ...]


def lines_of(source: str, text: str) -> list[Line]:
    """The lines of the tree, from its root to the first one that is none."""
    found: list[Line] = []
    for number, line in enumerate(text.split("\n"), 1):
        match = _LINE.fullmatch(line)
        if match is None:
            if found:
                break
            continue
        found.append(Line(number, match[1].count("|"), match[3]))
    if not found or found[0].depth or not found[0].text.startswith("root"):
        raise invalid(source, "document", "content", "text that R printed of a tree of partykit", "other text")
    return found


def parsed(
    source: str, lines: Sequence[Line], classes: Collection[str], training: TrainingColumns | None
) -> tuple[dict[int, Test], dict[int, Leaf]]:
    """The tests of the inner nodes, and the leaves, by the positions of their lines."""
    children = below(source, lines)
    if len(children[-1]) > 1:
        refuse(source, lines[children[-1][1]], "one root")
    tests: dict[int, Test] = {}
    leaves: dict[int, Leaf] = {}
    if not children[0]:
        found = [leaf for size, leaf in _ended(lines[0].text, classes) if size == len(lines[0].text) - len("root")]
        if len(found) != 1 or found[0] is None:
            refuse(source, lines[0], _expected(lines[0].text))
        leaves[0] = found[0]
    for at, here in enumerate(children[:-1]):
        if not here:
            continue
        if len(here) < 2:
            refuse(source, lines[here[0]], "two branches of a node, or more")
        tests[at], ended = _split(source, [lines[i] for i in here], [not children[i] for i in here], classes, training)
        leaves |= {i: leaf for i, leaf in zip(here, ended, strict=True) if leaf is not None}
    return tests, leaves


def _split(
    source: str,
    lines: Sequence[Line],
    leaves: Sequence[bool],
    classes: Collection[str],
    training: TrainingColumns | None,
) -> tuple[Test, list[Leaf | None]]:
    """The test of a node from the lines of its branches, and the leaf of each branch that ends in one."""
    ended = [_ended(line.text, classes) if ends else [(0, None)] for line, ends in zip(lines, leaves, strict=True)]
    found = (_reading(name, lines, ended, training) for name in _names(lines, training))
    readings = [reading for reading in found if reading is not None]
    if len(readings) != 1:
        clear = f"levels and a label that are clear ({_BETTER})"
        refuse(source, lines[0], clear if readings else _expected(lines[0].text))
    return readings[0]


def _expected(text: str) -> str:
    """What a line that cannot be read ought to be."""
    if re.search(r" [<>]=? [^0-9-]", text):
        return f"numbers or levels ({_BETTER}); levels of an ordered factor are not printed: fit it as a number"
    return f"a test, and of a leaf : label (n = 12, err = 8.3%), of a classification ({_BETTER})"


def _names(lines: Sequence[Line], training: TrainingColumns | None) -> list[str]:
    """The columns that all lines could begin with."""
    first = lines[0].text
    if training is not None:
        found = [a.name for a in training.attributes if first.startswith((f"{a.name} in ", *_signed(a.name)))]
    else:
        found = [first[: match.start()] for match in islice(re.finditer(r" (?=in |[<>])", first), _NAMES)]
    names = dict.fromkeys(name for name in found if name)
    return [n for n in names if all(line.text.startswith((f"{n} in ", *_signed(n))) for line in lines)]


def _signed(name: str) -> tuple[str, str]:
    return f"{name} <", f"{name} >"


def _reading(
    name: str,
    lines: Sequence[Line],
    ended: Sequence[Sequence[tuple[int, Leaf | None]]],
    training: TrainingColumns | None,
) -> tuple[Test, list[Leaf | None]] | None:
    """The lines as tests of a column, None where they are none, or where there are several ways to read them."""
    attribute = None if training is None else training.named(name)
    known = None if training is None else next(iter(training.orders(name)), ())
    for numeric in (True, False):
        if numeric and attribute is not None and attribute.values is not None:
            continue
        parts: list[tuple[tuple[str, ...], Leaf | None]] = []
        for line, ends in zip(lines, ended, strict=True):
            ways = list(islice(_ways(line.text[len(name) + 1 :], ends, known, numeric=numeric), 2))
            if len(ways) != 1:
                break
            parts += ways
        if len(parts) < len(lines):
            continue
        values, leaves = [value for value, _ in parts], [leaf for _, leaf in parts]
        if numeric and len(lines) == 2 and values[0] == (_OPPOSITE[values[1][0]], values[1][1]):
            return Test(name, tuple((sign, number) for sign, number in values), ()), leaves
        if not numeric and len({v for value in values for v in value}) == sum(map(len, values)):
            return Test(name, (), tuple(values)), leaves
    return None


def _ways(
    rest: str,
    ended: Sequence[tuple[int, Leaf | None]],
    known: Collection[str] | None,
    *,
    numeric: bool,
) -> Iterator[tuple[tuple[str, ...], Leaf | None]]:
    """The ways to read what follows a column: a sign and a number, or levels; and the leaf behind.

    ``ended`` has the numbers of signs before which the test may end, counted from the end of the line.
    """
    for size, leaf in ended:
        text = rest[: len(rest) - size]
        if numeric:
            match = _CUT.fullmatch(text)
            if match is not None:
                yield (match[1], match[2]), leaf
            continue
        body = text.removeprefix("in ")
        unclear = known is None and (body == text or len(ended) > 1)  # a level, or one of an ordered factor
        if text.startswith("in ") == body.startswith(("<", ">")) or unclear:
            continue  # R leaves out the word before these signs
        levels = levels_in(body, known, ", ")
        if levels is not None:
            yield levels, leaf


def _ended(text: str, classes: Collection[str]) -> list[tuple[int, Leaf | None]]:
    """The leaves that a line may end in, and how many of its last signs are of the leaf."""
    opening = text.rfind(" (")
    tail = _TAIL.fullmatch(text, opening) if opening >= 0 else None
    if tail is None:
        return []
    starts = islice((match for match in re.finditer(": ", text) if match.end() < opening), _LABELS)
    found = ((len(text) - match.start(), _leaf(text[match.end() : opening], tail, classes)) for match in starts)
    return [(size, leaf) for size, leaf in found if leaf is not None]


def _leaf(label: str, tail: re.Match[str], classes: Collection[str]) -> Leaf | None:
    """A leaf, None where its label is no class, or its numbers are none of a classification."""
    if classes and label not in classes:
        return None
    size, rate = float(tail[2]), float(tail[3])
    if not (0 < size <= LARGEST_COUNT) or not 0 <= rate <= 100:
        return None
    weighted = tail[1] == "w" or not size.is_integer()
    off = 0.5 * 10.0 ** -len(tail[3].partition(".")[2]) * (1 + 1e-9)
    n = int(size)
    errors = max(ceil(n * (rate - off) / 100), 0), min(floor(n * (rate + off) / 100), n)
    if not weighted and errors[0] > errors[1]:
        return None
    return Leaf(label, n, errors, tail[3], weighted)
