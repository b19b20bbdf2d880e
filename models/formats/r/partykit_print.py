"""Printed trees of R's partykit: ``|   [4] age <= 29: no (n = 282, err = 0.4%)``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from math import ceil, floor
from os import PathLike

from maxent.models.arguments import LARGEST_COUNT
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.assemble import assemble
from maxent.models.formats.outline import Line, below, levels_in, refuse
from maxent.models.formats.proof import TrainingColumns, check_leaves, counts_in_leaves, read_training
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.reading import Reader
from maxent.models.release import Branch, Labels, Node, Release, Tree
from maxent.models.trees.places import less_than

# The lines of a tree that partykit printed: columns, signs, levels, labels and numbers.
#
# Names, levels and labels are printed as they are, levels joined by commas with a blank. A column is what all branches
# of a node begin with; what is a label, and what are levels, is told by the classes and the training table.

_LINE = re.compile(r"((?:\|   )*)\[([0-9]{1,9})\] (.*)")
_NUMBER = r"-?[0-9]{1,24}(?:\.[0-9]{1,24})?(?:e[+-]?[0-9]{1,3})?"
_CUT = re.compile(rf"(<=|<|>=|>) ({_NUMBER})")
_TAIL = re.compile(rf" \((n|w) = *({_NUMBER}), err = *({_NUMBER})%\) *")
_OPPOSITE = {"<=": ">", "<": ">=", ">": "<=", ">=": "<"}
_NAMES, _LABELS = 100, 1000  # how many columns a line may begin with, and how many labels it may end with
_BETTER = "with train= and target=, which tell levels and labels"


@dataclass(frozen=True, slots=True)
class PartykitLeaf:
    """A leaf: its label, records, and the least and largest number of them outside the label; or it is weighted."""

    label: str
    n: int
    errors: tuple[int, int]
    rate: str
    weighted: bool


@dataclass(frozen=True, slots=True)
class PartykitTest:
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
) -> tuple[dict[int, PartykitTest], dict[int, PartykitLeaf]]:
    """The tests of the inner nodes, and the leaves, by the positions of their lines."""
    children = below(source, lines)
    if len(children[-1]) > 1:
        refuse(source, lines[children[-1][1]], "one root")
    tests: dict[int, PartykitTest] = {}
    leaves: dict[int, PartykitLeaf] = {}
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
) -> tuple[PartykitTest, list[PartykitLeaf | None]]:
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
    ended: Sequence[Sequence[tuple[int, PartykitLeaf | None]]],
    training: TrainingColumns | None,
) -> tuple[PartykitTest, list[PartykitLeaf | None]] | None:
    """The lines as tests of a column, None where they are none, or where there are several ways to read them."""
    attribute = None if training is None else training.named(name)
    known = None if training is None else next(iter(training.orders(name)), ())
    for numeric in (True, False):
        if numeric and attribute is not None and attribute.values is not None:
            continue
        parts: list[tuple[tuple[str, ...], PartykitLeaf | None]] = []
        for line, ends in zip(lines, ended, strict=True):
            ways = list(islice(_ways(line.text[len(name) + 1 :], ends, known, numeric=numeric), 2))
            if len(ways) != 1:
                break
            parts += ways
        if len(parts) < len(lines):
            continue
        values, leaves = [value for value, _ in parts], [leaf for _, leaf in parts]
        if numeric and len(lines) == 2 and values[0] == (_OPPOSITE[values[1][0]], values[1][1]):
            return PartykitTest(name, tuple((sign, number) for sign, number in values), ()), leaves
        if not numeric and len({v for value in values for v in value}) == sum(map(len, values)):
            return PartykitTest(name, (), tuple(values)), leaves
    return None


def _ways(
    rest: str,
    ended: Sequence[tuple[int, PartykitLeaf | None]],
    known: Collection[str] | None,
    *,
    numeric: bool,
) -> Iterator[tuple[tuple[str, ...], PartykitLeaf | None]]:
    """The ways to read what follows a column: a sign and a number, or levels; and the leaf behind."""
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


def _ended(text: str, classes: Collection[str]) -> list[tuple[int, PartykitLeaf | None]]:
    """The leaves that a line may end in, and how many of its last signs are of the leaf."""
    opening = text.rfind(" (")
    tail = _TAIL.fullmatch(text, opening) if opening >= 0 else None
    if tail is None:
        return []
    starts = islice((match for match in re.finditer(": ", text) if match.end() < opening), _LABELS)
    found = ((len(text) - match.start(), _leaf(text[match.end() : opening], tail, classes)) for match in starts)
    return [(size, leaf) for size, leaf in found if leaf is not None]


def _leaf(label: str, tail: re.Match[str], classes: Collection[str]) -> PartykitLeaf | None:
    """A leaf, None where its label is no class, or its numbers are none of a classification."""
    if classes and label not in classes:
        return None
    size, rate = float(tail[2]), float(tail[3])
    if not (0 < size <= LARGEST_COUNT) or not 0 <= rate <= 100:
        return None
    weighted = tail[1] == "w" or not size.is_integer()
    # Under options(digits = 17) the last digits that are printed are those of doubles, not of the share.
    off = max(0.5 * 10.0 ** -len(tail[3].partition(".")[2]) * (1 + 1e-9), 1e-9)
    n = int(size)
    errors = max(ceil(n * (rate - off) / 100), 0), min(floor(n * (rate + off) / 100), n)
    if not weighted and errors[0] > errors[1]:
        return None
    return PartykitLeaf(label, n, errors, tail[3], weighted)


_FORMULA = re.compile(r"^Model formula:\n(?:`([^`\n]{1,500})`|([^\s`~()]{1,500})) ~ ", re.MULTILINE)
_ADVICE = "the rows that the tree was fitted on, all of them, without case weights; and thresholds as they are"
_CRITERION = "the criterion, so that nothing follows from the choice of splits"
_SURROGATES = "where records without a value go: by surrogate splits, which are not printed, or at random"
_ABSENT = "where values go that no record of a node has: by surrogate splits or at random, and here with the majority"
_ROUNDED = "digits of thresholds beyond those printed, which options(digits = 17) before the printing keeps"


@model_reader(
    "partykit-print",
    "text that R printed of a tree of partykit",
    lambda head: re.search(r"^\[1\] root(?:: .* \([nw] = |[ ]*\n\|   \[2\] )", head.text, re.MULTILINE) is not None,
)
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    text = read_text(path)
    lines = lines_of(source, text)
    formula = _FORMULA.search(text)
    target = None if formula is None else formula[1] or formula[2]
    training = read_training(wanted, reader)
    known = wanted.classes or (training.classes if training is not None else ())
    tests, leaves = parsed(source, lines, known, training)
    _refuse_gaps(source, tests.values(), training)
    labels = dict.fromkeys(leaf.label for leaf in leaves.values())
    classes = known or tuple(sorted(labels))
    if len(classes) < 2 and any(leaf.errors[1] for leaf in leaves.values()):
        expected = "the names of the classes (classes=, or train= and target=)"
        raise invalid(source, "document", "classes", expected, "one, and records that are not of it")
    weighted = any(leaf.weighted for leaf in leaves.values())
    tree, absent = _tree(below(source, lines), tests, leaves, classes, training, two=len(known) == 2)
    how: Labels = "decided" if weighted else "majority"
    release = assemble(source, [tree], classes, wanted, training, target=target, predicts="label", labels=how)
    if training is not None:
        check_leaves(source, release, training, _ADVICE)
        _check_errors(source, release, leaves, lines, training)
    exact = _is_exact([cut for test in tests.values() for cut in _cuts(test)], training)
    lost = [_CRITERION]
    if weighted:
        lost.append("counts and sizes, which are of case weights")
    elif any(leaf.counts is None for leaf in tree.leaves):
        lost.append("counts: sizes, labels and rounded shares of errors are printed")
    if not exact:
        lost.append(_ROUNDED)
    lost += [_ABSENT] if absent else []
    lost += [_SURROGATES] if tests else []
    if not known:
        lost.append("classes that no leaf predicts, which --classes, or --train and --target, give")
    return Converted(release, "R partykit", tuple(lost), exact)


def _refuse_gaps(source: str, tests: Collection[PartykitTest], training: TrainingColumns | None) -> None:
    if training is None:
        return
    if gaps := [name for name in dict.fromkeys(test.name for test in tests) if name in training.gaps]:
        expected = (
            "no missing values in the columns of the tree: partykit sends such rows by surrogate splits, which it does "
            "not print, or at random (fit it on rows without; or of rpart, print the rpart object's frame and splits)"
        )
        raise invalid(source, "document", "training table", expected, f"missing values of {', '.join(gaps)}")


def _tree(
    children: Sequence[Sequence[int]],
    tests: Mapping[int, PartykitTest],
    leaves: Mapping[int, PartykitLeaf],
    classes: Sequence[str],
    training: TrainingColumns | None,
    *,
    two: bool,
) -> tuple[Tree, bool]:
    """The tree, its nodes named by the positions of their lines from 1, and whether some values are in no branch."""
    sizes = [0] * (len(children) - 1)
    for at in reversed(range(len(sizes))):
        sizes[at] = leaves[at].n if at in leaves else sum(sizes[i] for i in children[at])
    domains = _domains(tests.values(), training)
    nodes, any_absent = [], False
    for at in range(len(sizes)):
        if at in leaves:
            nodes.append(_stated(str(at + 1), leaves[at], classes, two=two))
            continue
        test, below_ = tests[at], children[at]
        branches: list[Branch]
        if test.cuts:
            branches = [_side(sign, number, str(i + 1)) for (sign, number), i in zip(test.cuts, below_, strict=True)]
        else:
            named = {value for levels in test.levels for value in levels}
            absent = tuple(value for value in domains[test.name] if value not in named)
            any_absent = any_absent or bool(absent)
            largest = max(below_, key=lambda i: sizes[i])
            branches = [
                Branch(str(i + 1), values=levels + (absent if i == largest else ()))
                for levels, i in zip(test.levels, below_, strict=True)
            ]
        nodes.append(Node(str(at + 1), test.name, tuple(branches)))
    return Tree(tuple(nodes)), any_absent


def _domains(tests: Collection[PartykitTest], training: TrainingColumns | None) -> dict[str, dict[str, None]]:
    """The values of each column that is tested by levels: those named, and those of the training table."""
    found: dict[str, dict[str, None]] = {}
    for test in tests:
        if test.levels:
            found.setdefault(test.name, {}).update(dict.fromkeys(v for levels in test.levels for v in levels))
    for name, values in found.items():
        attribute = None if training is None else training.named(name)
        values.update(dict.fromkeys((attribute.values if attribute else None) or ()))
    return found


def _side(sign: str, number: str, child: str) -> Branch:
    most = float(number) if sign in ("<=", ">") else less_than(float(number))
    return Branch(child, le=most) if sign in ("<=", "<") else Branch(child, gt=most)


def _stated(name: str, leaf: PartykitLeaf, classes: Sequence[str], *, two: bool) -> Node:
    """What the file proves of a leaf."""
    if leaf.weighted:
        return Node(name, label=leaf.label)
    fewest, most = leaf.errors
    if fewest == most and (two or not most):
        counts = {c: leaf.n - most if c == leaf.label else most for c in classes}
        return Node(name, label=leaf.label, n=leaf.n, counts=counts)
    if fewest == most:
        return Node(name, label=leaf.label, n=leaf.n, error_rate=most / leaf.n)
    return Node(name, label=leaf.label, n=leaf.n, error_rate=float(Decimal(leaf.rate) / 100))


def _check_errors(
    source: str, release: Release, leaves: Mapping[int, PartykitLeaf], lines: Sequence[Line], training: TrainingColumns
) -> None:
    """Refuse a tree whose labels are wrong more often, or less, of the training rows than it says."""
    if not training.classes:
        return
    counts = counts_in_leaves(release, training)[0].tolist()
    for at, leaf in leaves.items():
        here = counts[at]
        errors = sum(here) - here[release.target.classes.index(leaf.label)]
        if not leaf.weighted and not leaf.errors[0] <= errors <= leaf.errors[1]:
            refuse(source, lines[at], f"the errors of the training table, {errors} of {sum(here)} ({_ADVICE})")


def _cuts(test: PartykitTest) -> Iterator[tuple[str, str, str]]:
    yield from ((test.name, sign, number) for sign, number in test.cuts)


def _is_exact(cuts: Sequence[tuple[str, str, str]], training: TrainingColumns | None) -> bool:
    """Whether no threshold was rounded: R rounds all to as many decimals, at least as many as any of them has.

    A tree of partykit cuts at values of the column, one of rpart (``<``) halfway between two, with one decimal more.
    """
    if not cuts:
        return True
    if training is None or any("e" in number for _, _, number in cuts):
        return False
    decimals = max(len(number.partition(".")[2]) for _, _, number in cuts)
    return all(
        (digits := training.decimals(name)) is not None and digits + (sign in ("<", ">=")) <= decimals
        for name, sign, _ in cuts
    )
