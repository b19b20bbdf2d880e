"""Text that R prints of an ``rpart`` object: ``4) capital-gain< 7731.5 1084  59 <=50K (0.95 0.05) *``.

Names, levels and labels are printed as they are, and levels joined by commas. What is the name of a column is what
both branches of a node begin with; what is a label is told by the classes, and by its numbers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import NoReturn

from maxent.models.arguments import LARGEST_COUNT, shorten
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.assemble import assemble
from maxent.models.formats.outline import levels_in
from maxent.models.formats.proof import TrainingColumns, check_leaves, counts_in_leaves, read_training
from maxent.models.formats.r.rpart_tree import (
    ABSENT,
    ADVICE,
    CRITERION,
    LARGEST_NUMBER,
    REGRESSION,
    SURROGATES,
    Fitted,
    Labelled,
    LevelSets,
    RpartCut,
    Split,
    are_exact,
    check_family,
    classes_of,
    refuse_gaps,
    tree_of,
)
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.reading import Reader
from maxent.models.release import Labels, Node, Release, Tree

_HEADER = re.compile(r"^node\), split, n, (loss, yval, \(yprob\)|deviance, yval)\s*$", re.MULTILINE)
_NUMBER = r"[0-9]{1,24}(?:\.[0-9]{1,24})?(?:e[+-]?[0-9]{1,3})?"
_START = re.compile(r" *([0-9]{1,10})\) ")
_NUMBERS = re.compile(rf"(?= ([0-9]{{1,16}}) +({_NUMBER}) (?=\S))")
_CUT = re.compile(rf"(.+)(<|>=) ?(-?{_NUMBER})")
_READINGS = 1000  # how often two numbers may follow each other in a line
_MANY_CLASSES = 5  # from so many classes on, rpart prints two digits of each share
_ROUNDED_FROM = 1000  # no loss below is rounded with three digits, the fewest that anybody prints


@dataclass(frozen=True, slots=True)
class _Line:
    """A node as it is printed: its number, test, records, loss, label, shares, and whether it is a leaf."""

    line: int
    number: int
    test: str
    n: int
    loss: float
    label: str
    shares: tuple[float, ...]
    off: float
    leaf: bool

    @property
    def plain(self) -> bool:
        """Whether the loss is the number of records outside a most frequent class."""
        allowed = self.n * self.off + _rounding(self.loss) + 1e-6
        return self.loss.is_integer() and abs(self.loss - self.n * (1 - max(self.shares))) <= allowed


def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a text, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    text = read_text(path)
    training = read_training(wanted, reader)
    known = wanted.classes or (training.classes if training is not None else ())
    lines = {line.number: line for line in _lines(source, text, known)}
    check_family(
        source, {line.number: line.n for line in lines.values()}, {line.number for line in lines.values() if line.leaf}
    )
    plain = all(line.plain for line in lines.values())
    seen = [Labelled(f"node {line.number}", line.label, line.shares, line.off) for line in lines.values()]
    classes = classes_of(source, seen, known, plain=plain)
    counted = plain and _is_counted(list(lines.values()), classes)
    refuse_gaps(source, _tested(list(lines.values()), training), training)
    splits = {n: _split(source, lines[2 * n], lines[2 * n + 1], training) for n in lines if not lines[n].leaf}
    fitted = {}
    for number, line in lines.items():
        stated = _stated(line, classes, plain=plain, counted=counted)
        fitted[number] = Fitted(line.n, (splits[number],) if number in splits else (), False, stated)
    grown = tree_of(source, fitted, training, frozenset())
    labels: Labels = "majority" if plain else "decided"
    release = assemble(source, [grown.tree], classes, wanted, training, predicts="label", labels=labels)
    if training is not None:
        check_leaves(source, release, training, ADVICE)
        _check_shares(source, release, training, max(line.off for line in lines.values()))
    cuts = [split for split in splits.values() if isinstance(split, RpartCut)]
    exact = are_exact(cuts, training)
    lost = [CRITERION]
    if not plain:
        lost.append("counts and rates: loss and yprob are weighted by priors, costs or case weights")
    elif not counted:
        lost.append("counts, of which the numbers of records, the label and the rounded rates are printed")
    if not exact:
        lost.append("digits of thresholds beyond those printed, which print(model, digits = 15) prints")
    lost += [ABSENT] if _has_new(grown.tree, splits) else []
    lost += [SURROGATES] if training is None and splits else []
    return Converted(release, "R rpart", tuple(lost), exact)


def _lines(source: str, text: str, classes: Collection[str]) -> Iterator[_Line]:
    """The nodes in the order of their lines."""
    header = _HEADER.search(text)
    if header is None:
        raise invalid(source, "document", "content", "text that R printed of an rpart object", "other text")
    if not header[1].startswith("loss"):
        raise invalid(source, "document", "method", REGRESSION, "deviances in place of losses")
    number, width = text.count("\n", 0, header.start()) + 1, 0
    seen: set[int] = set()
    for line in text[header.end() :].split("\n")[1:]:
        number += 1
        if not line.strip() or line.strip() == "* denotes terminal node":
            if seen:
                break
            continue
        found = _line(source, number, line, classes)
        if found.number in seen or (width and len(found.shares) != width):
            _refuse(source, number, line, "another node, with as many shares as the one above")
        width = len(found.shares)
        seen.add(found.number)
        yield found


def _line(source: str, number: int, line: str, classes: Collection[str]) -> _Line:
    """One line, which has to have one reading."""
    body, leaf = line.rstrip(), False
    if body.endswith(" *"):
        body, leaf = body[:-2].rstrip(), True
    start, opening = _START.match(body), body.rfind(" (")
    if start is None or opening < start.end() - 1 or not body.endswith(")"):
        _refuse(source, number, line, "a node, such as 2) age< 37.5 120  14 no (0.883333 0.116667) *")
    printed = body[opening + 2 : -1].split()
    if len(printed) < 2 or any(re.fullmatch(_NUMBER, share) is None or float(share) > 1 for share in printed):
        _refuse(source, number, line, "a share of each class in brackets")
    if not 0 < int(start[1]) <= LARGEST_NUMBER:
        _refuse(source, number, line, f"the number of a node, 1 to {LARGEST_NUMBER}")
    off = 0.5 * 10.0 ** -max(len(share.partition(".")[2]) for share in printed)
    if len(printed) >= _MANY_CLASSES:
        off = 0.5e-2
    shares = tuple(map(float, printed))
    inside = body[start.end() - 1 : opening]
    readings = []
    for match in islice(_NUMBERS.finditer(inside), _READINGS):
        test, label = inside[: match.start()].strip(), inside[match.end(2) + 1 :].strip()
        if not test or (test == "root") != (start[1] == "1") or (classes and label not in classes):
            continue
        if 0 < int(match[1]) <= LARGEST_COUNT and float(match[2]) <= LARGEST_COUNT:
            readings.append(
                _Line(number, int(start[1]), test, int(match[1]), float(match[2]), label, shares, off, leaf)
            )
    readings = [reading for reading in readings if reading.plain] or readings
    if len(readings) != 1:
        expected = (
            "a label that is clear, as with classes=, or with train= and target=" if readings else "n, loss, yval"
        )
        _refuse(source, number, line, f"{expected} behind a test")
    return readings[0]


def _rounding(loss: float) -> float:
    """By how much a loss may be off that was printed with few digits: half a unit of the last that is no zero."""
    if loss < _ROUNDED_FROM or not loss.is_integer():
        return 0.0
    text = str(int(loss))
    zeros = len(text) - len(text.rstrip("0"))
    return 0.5 * 10.0**zeros if zeros else 0.0


def _is_counted(lines: Sequence[_Line], classes: Sequence[str]) -> bool:
    """Whether losses are counts of the other of two classes: none is rounded, so that they add up at every node."""
    if len(classes) > 2:
        return False
    large = [line.loss for line in lines if line.loss >= _ROUNDED_FROM]
    if large and all(loss % 10 == 0 for loss in large):
        return False
    first = {line.number: line.n - line.loss if line.label == classes[0] else line.loss for line in lines}
    return all(
        first[line.number] == first[2 * line.number] + first[2 * line.number + 1] for line in lines if not line.leaf
    )


def _stated(line: _Line, classes: Sequence[str], *, plain: bool, counted: bool) -> Node:
    """What the file proves of a node."""
    if not plain:
        return Node("", label=line.label, n=line.n)
    loss = round(line.loss)
    if counted or not loss:
        others = {c: loss for c in classes}
        return Node("", label=line.label, n=line.n, counts=others | {line.label: line.n - loss})
    if len(classes) >= _MANY_CLASSES:  # two digits of the smallest share are many decimals, of the largest few
        return Node("", label=line.label, n=line.n, error_rate=loss / line.n if not _rounding(line.loss) else None)
    return Node("", label=line.label, n=line.n, rates=dict(zip(classes, line.shares, strict=True)))


def _tested(lines: Sequence[_Line], training: TrainingColumns | None) -> Iterator[str]:
    """The columns of the training table that tests begin with, before their values are read."""
    names = [] if training is None else [attribute.name for attribute in training.attributes]
    for line in lines:
        begins = [name for name in names if line.test.startswith((f"{name}=", f"{name}<", f"{name}>="))]
        yield from (max(begins, key=len),) if begins else ()


def _split(source: str, left: _Line, right: _Line, training: TrainingColumns | None) -> Split:
    """The test of a node from those of its two children."""
    cuts = [_CUT.fullmatch(line.test) for line in (left, right)]
    if (a := cuts[0]) is not None and (b := cuts[1]) is not None:
        if (a[1], a[3]) != (b[1], b[3]) or a[2] == b[2]:
            _refuse(source, right.line, right.test, "the other branch of the test of its sibling")
        return RpartCut(a[1], float(a[3]), a[2] == "<")
    names = [] if training is None else [attribute.name for attribute in training.attributes]
    found = []
    for match in islice(re.finditer("=", left.test), _READINGS):
        name, begin = left.test[: match.start()], match.end()
        if not name or left.test[:begin] != right.test[:begin] or (training is not None and name not in names):
            continue
        attribute = None if training is None else training.named(name)
        values = None if attribute is None else attribute.values
        sides = [levels_in(line.test[begin:], values) for line in (left, right)]
        if sides[0] is not None and sides[1] is not None and not {*sides[0]} & {*sides[1]}:
            found.append(LevelSets(name, sides[0], sides[1]))
    if len(found) != 1:
        expected = (
            "levels printed whole, of one reading (with train=; not with minlength=, which abbreviates them; else "
            "write labels, frame, splits and csplit with write.csv)"
        )
        _refuse(source, left.line, left.test, expected)
    return found[0]


def _has_new(tree: Tree, splits: Mapping[int, Split]) -> bool:
    """Whether some branch takes values that are not printed."""
    named = {str(n): {*split.left, *split.right} for n, split in splits.items() if isinstance(split, LevelSets)}
    inner = [node for node in tree.nodes if node.id in named]
    return any({v for branch in node.branches for v in branch.values or ()} - named[node.id] for node in inner)


def _check_shares(source: str, release: Release, training: TrainingColumns, off: float) -> None:
    """Refuse rates that the training rows do not have."""
    if not training.classes:
        return
    for node, here in zip(release.trees[0].nodes, counts_in_leaves(release, training)[0].tolist(), strict=True):
        shares: Mapping[str, float] = node.rates or {}
        if any(
            abs(shares[c] - k / sum(here)) > 1.01 * off
            for c, k in zip(release.target.classes, here, strict=True)
            if shares
        ):
            expected = f"the rates of node {node.id}, as the model says ({ADVICE})"
            raise invalid(source, f"node {node.id}", "training table", expected, "others")


def _refuse(source: str, line: int, text: str, expected: str) -> NoReturn:
    raise invalid(source, f"line {line}", "text", expected, shorten(text.strip()))


READER = model_reader(
    "rpart-print",
    "text that R printed of an rpart tree",
    (),
    convert,
    lambda head: _HEADER.search(head.text) is not None,
)
