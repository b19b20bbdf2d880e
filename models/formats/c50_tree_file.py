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
from maxent.models.formats.proof import check_leaves, read_training
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
    """A names file: the target, None where only its classes are listed, the classes, and attributes with their values.

    Those of numbers have None, and so have those whose values are not listed.
    """

    target: str | None
    classes: tuple[str, ...]
    attributes: dict[str, tuple[str, ...] | None]


def read_names(file: Path) -> C50Names:
    """Read a names file."""
    source = shown_path(file)
    lines = [re.sub(r"(?<!\\)\|.*", "", line) for line in read_text(file).split("\n")]
    entries = [_plain_blanks(entry) for entry in _TOKEN.findall("\n".join(lines)) if entry.strip()]
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


def _plain_blanks(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


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


def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a file, see `maxent.models.formats.release_reader.ReleaseReader`."""
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


def _recognise(head: Head) -> bool:
    return _HEAD.match(head.text) is not None


READER = model_reader("c50-tree", "a tree that C5.0 saved, with its names file beside it", (), convert, _recognise)
