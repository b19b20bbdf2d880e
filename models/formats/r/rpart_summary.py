"""Text that ``summary`` of R prints of an ``rpart`` object, with the counts of the classes of every node.

Levels have no names there, only ``L`` or ``R`` for each. The first of the primary splits is the node's, all others
competed with it or stand in for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.text_files import read_text
from maxent.models.formats.assemble import assemble
from maxent.models.formats.conversion import Converted, Wanted
from maxent.models.formats.r.rpart_levels import Coded, with_names
from maxent.models.formats.r.rpart_tree import (
    ABSENT,
    CRITERION,
    LARGEST_NUMBER,
    REGRESSION,
    SURROGATES,
    Cut,
    Fitted,
    Labelled,
    Split,
    check_family,
    classes_of,
    is_half,
    refuse_gaps,
    tree_of,
)
from maxent.models.formats.release_reader import model_reader
from maxent.models.formats.training_columns import read_training
from maxent.models.reading import Reader
from maxent.models.release import Labels, Node, Release
from maxent.models.tables.frame import shorten
from maxent.models.text.arguments import LARGEST_COUNT

_NODE = re.compile(r"^Node number ([0-9]{1,10}): ([0-9]{1,16}) observations", re.MULTILINE)
_LABEL = re.compile(r"^  predicted class=(.*)  expected loss=", re.MULTILINE)
_COUNTS = re.compile(r"^ +class counts:([0-9.e+ ]+)$", re.MULTILINE)
_PRIMARY = re.compile(r"^  Primary splits:\n(.*)$", re.MULTILINE)
_TAIL = r", +improve= *[-+0-9.e]+, \(([0-9]{1,16}) missing\) *"
_CUT = re.compile(rf" {{6}}(.+) < (-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{{1,3}})?) +to the (left|right){_TAIL}")
_SETS = re.compile(rf" {{6}}(.+) splits as +([LR-]+){_TAIL}")


@dataclass(frozen=True, slots=True)
class _Section:
    """What is said of a node: counts None where they are no whole numbers of its records."""

    n: int
    label: str
    shares: tuple[float, ...]
    counts: tuple[int, ...] | None
    split: Cut | Coded | None


def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a text, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    sections = _sections(source, read_text(path))
    training = read_training(wanted, reader)
    known = wanted.classes or (training.classes if training is not None else ())
    leaves = {number for number, section in sections.items() if section.split is None}
    check_family(source, {number: section.n for number, section in sections.items()}, leaves)
    if len({len(section.shares) for section in sections.values()}) > 1:
        raise invalid(source, "document", "class counts", "as many in every node", "others")
    seen = [Labelled(f"node {number}", section.label, section.shares) for number, section in sections.items()]
    classes = _classes(source, seen, known)
    splits = {number: section.split for number, section in sections.items() if section.split is not None}
    refuse_gaps(source, [split.name for split in splits.values()], training)
    counted = all(section.counts is not None for section in sections.values())
    any_absent = False

    def release_of(named: Mapping[int, Split]) -> Release:
        nonlocal any_absent
        fitted = {
            number: Fitted(section.n, named.get(number), _stated(section, classes, counted=counted))
            for number, section in sections.items()
        }
        tree, any_absent = tree_of(fitted, training)
        labels: Labels = "majority" if counted else "decided"
        return assemble(source, [tree], classes, wanted, training, predicts="label", labels=labels)

    release = with_names(source, splits, training, release_of)
    exact = all(is_half(split, training) for split in splits.values() if isinstance(split, Cut))
    lost = [CRITERION]
    if not counted:
        lost.append("counts, which are of case weights")
    if not exact:
        lost.append("digits of thresholds beyond those printed, which summary(model, digits = 15) prints")
    lost += [ABSENT] if any_absent else []
    lost += [SURROGATES] if training is None and splits else []
    return Converted(release, "R rpart", tuple(lost), exact)


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
    split = None if primary is None else _split(source, place, primary[1])
    if (primary is None) != ("left son=" not in text):
        raise invalid(source, place, "splits", "primary splits of a node with children", "others")
    return _Section(n, label[1].rstrip(), shares, tuple(map(int, shares)) if whole else None, split)


def _split(source: str, place: str, line: str) -> Cut | Coded:
    """The first of the primary splits."""
    cut, sets = _CUT.fullmatch(line), _SETS.fullmatch(line)
    if cut is None and sets is None:
        expected = "a split, such as age < 37.5 to the left, improve=2.5, (0 missing)"
        raise invalid(source, place, "primary split", expected, shorten(line.strip()))
    missing = int(cut[4] if cut is not None else sets[3] if sets is not None else 0)
    if missing:
        expected = (
            "a split without missing values: rpart sends such rows by surrogate splits, which a release has no place "
            "for (fit it on rows without: na.action = na.omit)"
        )
        raise invalid(source, place, "primary split", expected, f"{missing} missing")
    if cut is not None:
        return Cut(cut[1].strip(), float(cut[2]), cut[3] == "left")
    assert sets is not None
    return Coded(sets[1].strip(), sets[2])


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
