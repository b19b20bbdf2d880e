"""C5.0 files: the saved tree ``model.tree``, and the names file with its classes and attributes.

A test of numbers, and of all values, has a first branch for values that are not applicable. Numbers are compared in
single precision. A case without a value goes down all branches in parts, as many as cases of the training took each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from os import PathLike
from pathlib import Path
from sys import intern

import numpy as np

from maxent.models.arguments import LARGEST_COUNT, shorten
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.assemble import assemble
from maxent.models.formats.outline import Leaf, Line, Split, are_whole, levels_in, parse_tree, parts_of, refuse
from maxent.models.formats.proof import TrainingColumns, check_leaves, read_training
from maxent.models.formats.release_reader import Converted, Head, Wanted, model_reader
from maxent.models.formats.unrolled import UnrolledPart, fractional_tree
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Branch, Labels, Node
from maxent.models.trees.places import single_at_most

# The names file of C5.0: the target, its classes, and for each attribute its values in their order.
#
# An entry ends at a full stop before a blank or the end of the line; signs with a backslash stand for themselves.

_TOKEN = re.compile(r"(?:\\.|[^\\|.]|\.(?!\s|$))+", re.DOTALL)
_KINDS = ("continuous", "date", "time", "timestamp", "ignore", "label")


@dataclass(frozen=True, slots=True)
class C50Names:
    """A names file: the target, None if only its classes are listed, the classes, and attributes with their values."""

    target: str | None
    classes: tuple[str, ...]
    attributes: dict[str, tuple[str, ...] | None]


def read_names(file: Path) -> C50Names:
    """Read a names file."""
    source = shown_path(file)
    lines = [re.sub(r"(?<!\\)\|.*", "", line) for line in read_text(file).split("\n")]
    entries = [" ".join(entry.split()) for entry in _TOKEN.findall("\n".join(lines)) if entry.strip()]
    if not entries:
        raise invalid(source, "document", "content", "a names file of C5.0", "an empty file")
    attributes: dict[str, tuple[str, ...] | None] = {}
    for entry in entries[1:]:
        parts = _name_parts(entry, ":")
        name = _meant(parts[0])
        body = entry[len(parts[0]) + 1 :].strip() if len(parts) > 1 else ""
        if name in ("attributes included", "attributes excluded"):
            continue
        if not body or name in attributes:
            expected = "each attribute once, with its values: name: a, b, c."
            raise invalid(source, "document", "entries", expected, shorten(entry))
        body = re.sub(r"^\[ordered\]\s*", "", body)
        listed = body.split()[0] not in _KINDS and not body.startswith("=") and not re.match(r"discrete\s", body)
        attributes[name] = tuple(map(_meant, _name_parts(body, ","))) if listed else None
    first = [_meant(part) for part in _name_parts(entries[0], ",")]
    target = first[0] if len(first) == 1 else None
    classes = attributes.pop(target, None) if target is not None else tuple(first)
    if len(_name_parts(entries[0], ":")) > 1 or classes is None or len({*classes}) != len(classes) or len(classes) < 2:
        expected = "classes that are listed: of the target, or in the first entry"
        raise invalid(source, "document", "classes", expected, shorten(entries[0]))
    return C50Names(target, classes, attributes)


def _name_parts(text: str, sign: str) -> list[str]:
    """The parts of a text between signs that have no backslash before them."""
    return re.split(rf"(?<!\\){re.escape(sign)}", text)


def _meant(text: str) -> str:
    """A name without the backslashes before its signs."""
    return re.sub(r"\\(.)", r"\1", text.strip())


_HEAD = re.compile(r'id="See5/C5\.0 ([^"]{0,80})"\s*\n\s*entries="([0-9]{1,6})"')
_CELL = re.compile(r'([a-z]+)=("(?:[^"\\]|\\.)*"(?:,"(?:[^"\\]|\\.)*")*)(?:\s+|$)')
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ADVICE = "the table that C5.0 built the tree from, whole: not a sample of it, and without weights"
_CRITERION = "the criterion, so that nothing follows from the choice of splits"
_FRACTIONS = "counts and sizes of leaves below tests of values that cases lack: such cases are counted there in parts"
_UNDECIDED = "classes of records without values where branches are as likely"
_WEIGHTS = "counts and sizes: cases were weighted"
_ABSENT = "N/A"


@dataclass(frozen=True, slots=True)
class _NamesRow:
    """A node: its line, kind, class, cases of each class, test, and the values of each branch."""

    line: int
    kind: int
    label: str
    cases: tuple[float, ...]
    attribute: str
    forks: int
    cut: float
    values: tuple[tuple[str, ...], ...]


@model_reader(
    "c50-tree", "a tree that C5.0 saved, with its names file beside it", lambda head: _HEAD.match(head.text) is not None
)
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    version, rows = _rows(source, read_text(path))
    beside = Path(path).with_suffix(".names")
    names = read_names(beside) if beside.is_file() else None
    training = read_training(wanted, reader)
    classes = names.classes if names is not None else wanted.classes
    said = wanted.classes or (training.classes if training is not None else ())
    if classes is None or (said and {*said} != {*classes}):
        expected = f"the names file {beside.name} beside it, or classes= in the order of C5.0"
        raise invalid(source, "document", "classes", expected, "none" if classes is None else shorten(list(said)))
    tested = dict.fromkeys(row.attribute for row in rows if row.kind)
    whole = all(number.is_integer() for row in rows for number in row.cases)
    if training is not None:
        may_lack = [name for name in tested if name in training.gaps]
        weighted = not whole and not may_lack
    else:
        may_lack, weighted = ([] if whole else list(tested)), False
    parts = _parts(source, rows, classes, names, shared=bool(may_lack))
    del rows  # large files take much memory as it is
    tree, undecided = fractional_tree(source, parts, classes, frozenset(may_lack), weighted=weighted)
    del parts
    labels: Labels = "decided" if weighted or may_lack else "majority"
    known = _declared(names, tested)
    target = None if names is None else names.target
    release = assemble(
        source, [tree], classes, wanted, training, target=target, known=known, predicts="label", labels=labels
    )
    if training is not None and not weighted:
        check_leaves(source, release, training, _ADVICE, empty=True)
    lost = [_CRITERION]
    lost += [_WEIGHTS] if weighted else []
    lost += [_FRACTIONS] if may_lack else []
    lost += [_UNDECIDED] if undecided else []
    return Converted(release, f"C5.0 {version.split(' ')[0]}".strip(), tuple(lost))


def _declared(names: C50Names | None, tested: dict[str, None]) -> dict[str, Attribute]:
    """The attributes that are tested, with the values that the names file lists."""
    if names is None:
        return {}
    found = {name: names.attributes.get(name) for name in names.attributes if name in tested}
    return {name: Attribute(name, "categorical", values) for name, values in found.items() if values is not None}


def _rows(source: str, text: str) -> tuple[str, list[_NamesRow]]:
    """The version of C5.0, and the nodes in depth-first order."""
    head = _HEAD.match(text)
    if head is None:
        raise invalid(source, "document", "content", "a tree that C5.0 saved", "other text")
    lines = list(enumerate(text.split("\n"), 1))[2:]
    if any(line.startswith("rules=") for _, line in lines[:2]):
        expected = "a tree: grow it without -r (in R with rules = FALSE), as rules of which several apply are no tree"
        raise invalid(source, "line 3", "content", expected, "rules")
    if head[2] != "1":
        expected = "one tree: grow it without -b (in R with trials = 1), as boosted trees weigh the cases anew"
        raise invalid(source, "line 2", "entries", expected, head[2])
    return head[1], [_row(source, number, line) for number, line in lines if line.strip()]


def _row(source: str, number: int, line: str) -> _NamesRow:
    """One line."""
    cells: dict[str, str] = {}
    values: list[tuple[str, ...]] = []
    end = 0
    for match in _CELL.finditer(line):
        if match.start() != end or (match[1] != "elts" and match[1] in cells):
            break
        end = match.end()
        texts = tuple(re.sub(r"\\(.)", r"\1", each) for each in _TEXT.findall(match[2]))
        values += [texts] if match[1] == "elts" else []
        cells[match[1]] = texts[0]
    kind = cells.get("type", "")
    if end != len(line) or kind not in ("0", "1", "2", "3") or "class" not in cells:
        raise invalid(source, f"line {number}", "text", 'a node, such as type="0" class="a" freq="3,1"', shorten(line))
    if {"low", "high", "mid"} & cells.keys():
        expected = "one threshold of each test: grow the tree without -p (in R with fuzzyThreshold = FALSE)"
        raise invalid(source, f"line {number}", "cut", expected, "a range of thresholds")
    try:
        cases = tuple(map(float, cells["freq"].split(","))) if "freq" in cells else ()
        cut, forks = float(cells.get("cut", 0)), int(cells.get("forks", 0))
    except ValueError:
        cases, cut, forks = (-1.0,), 0.0, 0
    if any(not 0 <= each <= LARGEST_COUNT for each in cases) or not isfinite(cut):
        raise invalid(source, f"line {number}", "freq, cut, forks", "numbers", shorten(line))
    inner = kind != "0"
    expected_forks = {"0": 0, "2": 3, "3": len(values)}.get(kind, forks)
    if forks != expected_forks or inner != ("att" in cells) or (inner and (forks < 2 or not cases)):
        expected = "a test with its attribute, its branches and its cases"
        raise invalid(source, f"line {number}", "text", expected, shorten(line))
    label, attribute = intern(cells["class"]), intern(cells.get("att", ""))  # the same few words on every line
    return _NamesRow(number, int(kind), label, cases, attribute, forks, cut, tuple(values))


def _parts(
    source: str, rows: Sequence[_NamesRow], classes: Sequence[str], names: C50Names | None, *, shared: bool
) -> list[UnrolledPart]:
    """The nodes with their branches, as `fractional_tree` takes them, ``shared`` with the shares of classes."""
    children: list[list[int]] = [[] for _ in rows]
    open_: list[int] = []
    for at, row in enumerate(rows):
        while open_ and len(children[open_[-1]]) == rows[open_[-1]].forks:
            open_.pop()
        if at and not open_:
            raise invalid(source, f"line {row.line}", "text", "the end of the file, as the tree is complete", "a node")
        if open_:
            children[open_[-1]].append(at)
        open_.append(at)
        if row.label not in classes or len(row.cases) not in (0, len(classes)):
            expected = f"one of {len(classes)} classes, and cases of each ({shorten(list(classes))})"
            raise invalid(source, f"line {row.line}", "class", expected, shorten(row.label))
    if not rows or any(len(below) != row.forks for below, row in zip(children, rows, strict=True)):
        raise invalid(source, "document", "content", "all nodes of the tree", "the end of the file")
    # Large files have the same few cases in very many leaves.
    said = {(row.kind > 0, row.label, row.cases): _stated(row, classes) for row in rows}
    return [
        UnrolledPart(
            str(at + 1),
            *_test(source, rows, at, children[at], names),
            said[row.kind > 0, row.label, row.cases],
            _shares(row) if shared else (),
            sum(row.cases),
        )
        for at, row in enumerate(rows)
    ]


def _shares(row: _NamesRow) -> tuple[tuple[float, float], ...]:
    """Cases of each class, as the least and largest number that were printed so with six digits."""
    return tuple((each * (1 - 5e-6), each * (1 + 5e-6)) for each in row.cases)


def _stated(row: _NamesRow, classes: Sequence[str]) -> Node:
    """What the file says of a leaf, if its cases are whole records."""
    if row.kind or not all(each.is_integer() for each in row.cases):
        return Node("", label=row.label)
    counts = dict(zip(classes, map(int, row.cases or (0.0,) * len(classes)), strict=True))
    return Node("", label=row.label, n=sum(counts.values()), counts=counts)


def _test(
    source: str, rows: Sequence[_NamesRow], at: int, below: Sequence[int], names: C50Names | None
) -> tuple[str | None, tuple[tuple[Branch, int], ...], tuple[str, ...]]:
    """The attribute, the branches with their children, and the values that no branch takes."""
    row = rows[at]
    if not row.kind:
        return None, (), ()
    if row.kind == 2:
        if any(rows[below[0]].cases):
            expected = "numbers: values that are not applicable (N/A) have no place among numbers"
            raise invalid(source, f"line {row.line}", "att", expected, shorten(row.attribute))
        most = single_at_most(float(np.float32(row.cut)))
        return row.attribute, ((Branch(None, le=most), below[1]), (Branch(None, gt=most), below[2])), ()
    listed = None if names is None else names.attributes.get(row.attribute)
    if row.kind == 1:
        if listed is None or len(listed) != row.forks - 1:
            expected = f"{row.forks - 1} values of {shorten(row.attribute)} in the names file beside it"
            raise invalid(source, f"line {row.line}", "att", expected, "none" if listed is None else str(len(listed)))
        values: Iterator[tuple[str, ...]] = iter([(_ABSENT,), *((value,) for value in listed)])
    else:
        values = iter(row.values)
    sides = list(zip(values, below, strict=True))
    used = [(tuple(v for v in taken if v != _ABSENT or any(rows[child].cases)), child) for taken, child in sides]
    kept = tuple((Branch(None, values=taken), child) for taken, child in used if taken)
    named = {value for taken, _ in sides for value in taken}
    return row.attribute, kept, tuple(value for value in listed or () if value not in named)


# Text that C5.0 prints of a tree, also in R's summary: ``:...age <= 30: no (92.6/17.6)``.
#
# Sets of values go on in the next lines, and deep subtrees stand apart, as ``[S1]``. Numbers are compared in single
# precision. What is a label, and what are values, is told by the classes and the training table.


_START = re.compile(r"^C5\.0 \[Release ([0-9.a-z]+)", re.MULTILINE)
_TREE = re.compile(r"^Decision tree:\s*$", re.MULTILINE)
_OTHERS = re.compile(r"^(Rules:|-----  Trial )", re.MULTILINE)
_SUBTREE = re.compile(r"^SubTree \[S([0-9]{1,6})\]\s*$", re.MULTILINE)
_APART = re.compile(r"(.*): \[S([0-9]{1,6})\]")
_TARGET = re.compile(r"^Class specified by attribute `(.+)'\s*$", re.MULTILINE)
_CLASS = re.compile(r"\(([a-z]{1,2})\): class (.+?)\s*$", re.MULTILINE)
_PREFIX = re.compile(r"(?::\.\.\.|:   |    )*")
_SET = re.compile(r" in \{")
_LEAF = re.compile(r".*\([0-9.]+(?:/[0-9.]+)?\)")
_MARK = "\x01"  # stands before the values of a set
_CUTS = ("<=", ">")
_OFF = 0.05
_DIGITS = 7  # so many digits of a number in single precision are printed; fewer show that none is lacking
_LONGEST = 1000  # lines that a set may go on for
_TEXT_UNDECIDED = "classes of records without values where the printed numbers leave several"
_ROUNDED = "digits of thresholds beyond those printed, which model.tree has"


def _text_recognise(head: Head) -> bool:
    text = head.text
    return (
        _START.search(text) is not None and re.search(r"^(Decision tree:|Rules:|-----  Trial )", text, re.M) is not None
    )


@model_reader("c50-text", "text that C5.0 printed of a tree", _text_recognise)
def _convert_text(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    text = read_text(path)
    training = read_training(wanted, reader)
    printed = tuple(dict.fromkeys(match[2] for match in _CLASS.finditer(text)))
    known = wanted.classes or (training.classes if training is not None else ()) or printed
    names = [] if training is None else [attribute.name for attribute in training.attributes]
    tree = parse_tree(source, _lines(source, text), known, names)
    leaves = [node for node in tree if isinstance(node, Leaf)]
    splits = [node for node in tree if isinstance(node, Split)]
    classes = known or tuple(sorted({leaf.label for leaf in leaves}))
    cuts = [value for split in splits if split.signs[0] in _CUTS for value in split.values]
    exact = all(len(re.sub(r"e.*|[^0-9]", "", cut).lstrip("0")) < _DIGITS for cut in cuts)
    for split in splits:
        _finish(source, split, training)
    tested = dict.fromkeys(split.name for split in splits)
    gaps = [] if training is None else [name for name in tested if name in training.gaps]
    whole = are_whole(tree)
    may_lack = frozenset(gaps if training is not None else () if whole else tested)
    weighted = not whole and not may_lack
    made = parts_of(tree, classes, training, states=True, two=len(known) == 2, off=_OFF)
    grown, undecided = fractional_tree(source, made, classes, may_lack, weighted=weighted)
    target = _TARGET.search(text)
    release = assemble(
        source,
        [grown],
        classes,
        wanted,
        training,
        target=None if target is None else target[1],
        predicts="label",
        labels="decided" if may_lack or weighted else "majority",
    )
    if training is not None and not weighted:
        check_leaves(source, release, training, _ADVICE, empty=True)
    lost = [_CRITERION]
    if weighted:
        lost.append("counts and sizes: cases were weighted")
    elif may_lack:
        lost.append(_FRACTIONS)
    elif any(leaf.counts is None for leaf in grown.leaves):
        lost.append("counts of more than two classes: only the cases that are not of the label are printed")
    lost += [_TEXT_UNDECIDED] if undecided else []
    lost += [] if exact else [_ROUNDED]
    start = _START.search(text)
    return Converted(release, f"C5.0 {start[1] if start else ''}".strip(), tuple(lost), exact)


def _lines(source: str, text: str) -> list[Line]:
    """The lines of the tree with its subtrees, each a test as Weka prints them, the values of sets behind a mark."""
    start = _TREE.search(text)
    other = _OTHERS.search(text)
    if other is not None or start is None:
        expected = "one tree: grow it without -r and -b (in R with rules = FALSE, trials = 1)"
        raise invalid(source, "document", "content", expected, shorten(other[1]) if other else "no tree")
    parts = {"": list(_block(source, text, start.end()))}
    for match in _SUBTREE.finditer(text):
        parts.setdefault(match[1], list(_block(source, text, match.end())))
    found: list[Line] = []
    stack = [(line, 0) for line in reversed(parts.pop(""))]
    while stack:
        line, depth = stack.pop()
        below = _APART.fullmatch(line.text)
        if below is None:
            found.append(Line(line.number, depth + line.depth, line.text))
            continue
        if below[2] not in parts:
            refuse(source, line, "a subtree that is printed below, once")
        found.append(Line(line.number, depth + line.depth, below[1]))
        stack += [(each, depth + line.depth + 1) for each in reversed(parts.pop(below[2]))]
    if not found:
        raise invalid(source, "document", "content", "a tree that C5.0 printed", "none")
    if len(found) == 1 and found[0].depth == 0 and " = " not in found[0].text:
        found = [Line(found[0].number, 0, f": {found[0].text}")]
    return found


def _block(source: str, text: str, begin: int) -> Iterator[Line]:
    """The lines of a tree, or subtree, that begins below a title."""
    first = text.count("\n", 0, begin) + 1
    for number, depth, body in _joined(text[begin:].split("\n")[1:], first + 1):
        ends = _LEAF.fullmatch(body) is not None or _APART.fullmatch(body) is not None
        if not ends and not body.endswith(":"):
            refuse(source, Line(number, depth, body), "a test, or a leaf such as age <= 30: no (92.6/17.6)")
        line = body if ends else body[:-1]
        sets = _SET.search(line)
        if sets is not None:
            closing = line.rfind("}: ") if ends else len(line) - 1
            if closing < sets.end() or line[closing] != "}":
                refuse(source, Line(number, depth, body), "values in brackets")
            line = f"{line[: sets.start()]} = {_MARK}{line[sets.end() : closing]}{line[closing + 1 :]}"
        yield Line(number, depth, line)


def _joined(lines: Sequence[str], first: int) -> Iterator[tuple[int, int, str]]:
    """The numbers, depths and texts of the lines of a tree, with sets in one line; blank lines end it."""
    at, started = 0, False
    while at < len(lines):
        number, line = at, lines[at].rstrip()
        at += 1
        if not line.strip():
            if started:
                return
            continue
        started = True
        match = _PREFIX.match(line)
        body = line[match.end() :] if match is not None else line
        pieces = [body]
        while _SET.search(body) and pieces[-1].endswith(",") and at < len(lines) and len(pieces) < _LONGEST:
            pieces.append(lines[at].rstrip().lstrip(": "))
            at += 1
        yield first + number, (len(line) - len(body)) // 4, "".join(pieces).strip()


def _finish(source: str, split: Split, training: TrainingColumns | None) -> None:
    """The values of sets, and thresholds in single precision."""
    if split.signs[0] in _CUTS:
        split.values = [repr(single_at_most(float(np.float32(value)))) for value in split.values]
        return
    known = None if training is None else next(iter(training.orders(split.name)), ())
    for value in split.values:
        values = levels_in(value[1:], known) if value.startswith(_MARK) else (value,)
        if values is None:
            expected = "values that part at commas in one way (with train=, or model.tree)"
            raise invalid(source, f"column {shorten(split.name)}", "values", expected, shorten(value[1:]))
        split.sets.append(values)
