"""Text that ``summary`` of R prints of an ``rpart`` object, with the counts of the classes of every node.

Levels have no names there, only ``L`` or ``R`` for each. The first of the primary splits is the node's, all others
competed with it or stand in for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

from maxent.models.arguments import LARGEST_COUNT, shorten
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.proof import read_training
from maxent.models.formats.r.rpart_tree import (
    LARGEST_NUMBER,
    REGRESSION,
    CodedLevels,
    DrawnRows,
    Labelled,
    RpartCut,
    are_exact,
    classes_of,
    converted,
)
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.reading import Reader
from maxent.models.release import Node

_NODE = re.compile(r"^Node number ([0-9]{1,10}): ([0-9]{1,16}) observations", re.MULTILINE)
_LABEL = re.compile(r"^  predicted class=(.*)  expected loss=", re.MULTILINE)
_COUNTS = re.compile(r"^ +class counts:([0-9.e+ ]+)$", re.MULTILINE)
_PRIMARY = re.compile(r"^  Primary splits:\n(.*)$", re.MULTILINE)
_TAIL = r", +(?:improve|agree)= *[-+0-9.e]+,(?: adj= *[-+0-9.e]+,)? \(([0-9]{1,16}) (?:missing|split)\) *"
_CUT = re.compile(rf" {{6}}(.+) < (-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{{1,3}})?) +to the (left|right){_TAIL}")
_SETS = re.compile(rf" {{6}}(.+) splits as +([LR-]+){_TAIL}")


@dataclass(frozen=True, slots=True)
class _Section:
    """What is said of a node: counts None where they are no whole numbers of its records; its split and surrogates."""

    n: int
    label: str
    shares: tuple[float, ...]
    counts: tuple[int, ...] | None
    splits: tuple[RpartCut | CodedLevels, ...]
    lacking: int


def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a text, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    sections = _sections(source, read_text(path))
    training = read_training(wanted, reader)
    known = wanted.classes or (training.classes if training is not None else ())
    if len({len(section.shares) for section in sections.values()}) > 1:
        raise invalid(source, "document", "class counts", "as many in every node", "others")
    seen = [Labelled(f"node {number}", section.label, section.shares) for number, section in sections.items()]
    classes = _classes(source, seen, known)
    counted = all(section.counts is not None for section in sections.values())
    drawn = {
        number: DrawnRows(section.n, section.splits, section.lacking, _stated(section, classes, counted=counted))
        for number, section in sections.items()
    }
    cuts = [split for section in sections.values() for split in section.splits if isinstance(split, RpartCut)]
    exact = are_exact(cuts, training)
    lost = () if exact else ("digits of thresholds beyond those printed, which summary(model, digits = 15) prints",)
    return converted(source, drawn, classes, wanted, reader, counted=counted, lost=lost)


def _sections(source: str, text: str) -> dict[int, _Section]:
    """The nodes by their numbers."""
    found: dict[int, _Section] = {}
    starts = list(_NODE.finditer(text))
    for at, start in enumerate(starts):
        end = starts[at + 1].start() if at + 1 < len(starts) else len(text)
        number, n = int(start[1]), int(start[2])
        place = f"node {shorten(number)}"
        if not 0 < number <= LARGEST_NUMBER or number in found or not 0 < n <= LARGEST_COUNT:
            expected = f"each node once, its number at most {LARGEST_NUMBER}, and its observations"
            raise invalid(source, place, "text", expected, shorten(start[0]))
        found[number] = _section(source, place, n, text[start.start() : end].partition("\n\n")[0])
    if not found:
        raise invalid(source, "document", "content", "text that summary of R printed of an rpart object", "other text")
    return found


def _section(source: str, place: str, n: int, text: str) -> _Section:
    label, counts, primary = _LABEL.search(text), _COUNTS.search(text), _PRIMARY.search(text)
    if label is None or counts is None:
        raise invalid(source, place, "class counts", REGRESSION, "no predicted class, or no counts")
    try:
        shares = tuple(map(float, counts[1].split()))
    except ValueError:
        shares = ()
    if len(shares) < 2 or max(shares) > LARGEST_COUNT:
        raise invalid(source, place, "class counts", "two numbers of records, or more", shorten(counts[1]))
    whole = "." not in counts[1] and "e" not in counts[1] and sum(shares) == n
    if (primary is None) != ("left son=" not in text):
        raise invalid(source, place, "splits", "primary splits of a node with children", "others")
    found = [] if primary is None else [_split(source, place, primary[1])]
    surrogates = text.partition("\n  Surrogate splits:\n")[2] if found else ""
    for line in surrogates.split("\n"):
        if not line.startswith("      "):
            break
        found.append(_split(source, place, line))
    splits = tuple(split for split, _ in found)
    lacking = found[0][1] if found else 0
    return _Section(n, label[1].rstrip(), shares, tuple(map(int, shares)) if whole else None, splits, lacking)


def _split(source: str, place: str, line: str) -> tuple[RpartCut | CodedLevels, int]:
    """The split of a line, and how many records lack its value; of a surrogate how many it sends."""
    cut, sets = _CUT.fullmatch(line), _SETS.fullmatch(line)
    if cut is not None:
        return RpartCut(cut[1].strip(), float(cut[2]), cut[3] == "left"), int(cut[4])
    if sets is not None:
        return CodedLevels(sets[1].strip(), sets[2]), int(sets[3])
    expected = "a split, such as age < 37.5 to the left, improve=2.5, (0 missing)"
    raise invalid(source, place, "split", expected, shorten(line.strip()))


def _classes(source: str, seen: Sequence[Labelled], known: tuple[str, ...]) -> tuple[str, ...]:
    """The classes; under priors or costs labels have not the largest counts, and their order has to be known."""
    clear = [node for node in seen if node.shares.count(max(node.shares)) == 1]
    pairs = {(node.shares.index(max(node.shares)), node.label) for node in clear}
    plain = len({i for i, _ in pairs}) == len(pairs) == len({label for _, label in pairs})
    if not plain and not known:
        expected = "the names of the classes (classes=, or train= and target=), as labels are no most frequent ones"
        raise invalid(source, "document", "classes", expected, "none")
    return classes_of(source, seen, known, plain=plain)


def _stated(section: _Section, classes: tuple[str, ...], *, counted: bool) -> Node:
    if not counted:
        return Node("", label=section.label, n=section.n)
    counts = dict(zip(classes, section.counts or (), strict=True))
    return Node("", label=section.label, n=section.n, counts=counts)


READER = model_reader(
    "rpart-summary",
    "text that summary of R printed of an rpart tree",
    (),
    convert,
    lambda head: _NODE.search(head.text) is not None and "  left son=" in head.text,
)
