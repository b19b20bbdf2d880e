"""Text that C5.0 prints of a tree, also in R's summary: ``:...age <= 30: no (92.6/17.6)``.

Sets of values go on in the next lines, and deep subtrees stand apart, as ``[S1]``. Numbers are compared in single
precision. What is a label, and what are values, is told by the classes and the training table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from os import PathLike

import numpy as np

from maxent.models.arguments import shorten
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.assemble import assemble
from maxent.models.formats.outline import Leaf, Line, Split, are_whole, levels_in, parse_tree, parts_of, refuse
from maxent.models.formats.proof import TrainingColumns, check_leaves, read_training
from maxent.models.formats.release_reader import Converted, Head, Wanted, model_reader
from maxent.models.formats.unrolled import fractional_tree
from maxent.models.reading import Reader
from maxent.models.trees.places import single_at_most

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
_ADVICE = "the table that C5.0 built the tree from, whole: not a sample of it, and without weights"
_CRITERION = "the criterion, so that nothing follows from the choice of splits"
_FRACTIONS = "counts and sizes of leaves below tests of values that cases lack: such cases are counted there in parts"
_UNDECIDED = "classes of records without values where the printed numbers leave several"
_ROUNDED = "digits of thresholds beyond those printed, which model.tree has"


def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a text, see `maxent.models.formats.release_reader.ReleaseReader`."""
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
    lost += [_UNDECIDED] if undecided else []
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


def _recognise(head: Head) -> bool:
    text = head.text
    return (
        _START.search(text) is not None and re.search(r"^(Decision tree:|Rules:|-----  Trial )", text, re.M) is not None
    )


READER = model_reader("c50-text", "text that C5.0 printed of a tree", (), convert, _recognise)
