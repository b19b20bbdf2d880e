"""Where trees are in the text of Weka: below the title of their classifier; and what else is printed with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from maxent.models.formats.outline import Leaf, Line, Split, lines_of
from maxent.models.formats.release_reader import Head
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.formats.weka.dot import START

TITLES = {
    "J48 pruned tree": "J48",
    "J48 unpruned tree": "J48",
    "REPTree": "REPTree",
    "RandomTree": "RandomTree",
    "CART Decision Tree": "SimpleCart",
    "Id3": "Id3",
}
_UNRULED = ("SimpleCart", "Id3")  # those whose titles have no rule below them
_RULE = re.compile(r"[-=]{4,}\s*")
_MATRIX = re.compile(r"^[ 0-9.]+\| +[a-z]+ = (.+)$", re.MULTILINE)
_CUTS = ("<=", "<", ">", ">=")
_DECIMALS = {"J48": 6, "SimpleCart": 4, "REPTree": 2, "RandomTree": 2, "Id3": 0}
_CART_TEST = re.compile(r"(!?=)(?=\()")
_CART_LEAF = re.compile(r"(.*: .*)\(([0-9]{1,15}(?:\.[0-9]{1,2})?)/([0-9]{1,15}(?:\.[0-9]{1,2})?)\)\s*")


def drawn(lines: Sequence[str], names: Sequence[str]) -> Iterator[tuple[str, list[Line]]]:
    """The trees of a text: the lines from after a title, and the rule below it, to a blank one."""
    at = 0
    while at + 1 < len(lines):
        kind = TITLES.get(lines[at].strip())
        at += 1
        if kind is None or (kind not in _UNRULED and _RULE.fullmatch(lines[at]) is None):
            continue
        at += kind not in _UNRULED
        while at < len(lines) and not lines[at].strip():
            at += 1
        begin = at
        while at < len(lines) and lines[at].strip():
            at += 1
        if at > begin:
            text = [_as_others(line, names) if kind == "SimpleCart" else line for line in lines[begin:at]]
            yield kind, lines_of(list(enumerate(text, begin + 1)))


def _as_others(line: str, names: Sequence[str]) -> str:
    """A line of SimpleCart, ``a=(b)|(c): d(3.0/1.0)``, as other classifiers print it: ``a = (b)|(c): d (4.0/1.0)``."""
    leaf = _CART_LEAF.fullmatch(line)
    if leaf is not None:
        line = f"{leaf[1]} ({float(leaf[2]) + float(leaf[3]):.2f}/{leaf[3]})"
    marks = re.match(r"[|\s]*", line)
    begin = marks.end() if marks is not None else 0
    ends = [begin + len(name) for name in names if line.startswith((f"{name}=(", f"{name}!=("), begin)]
    match = _CART_TEST.match(line, max(ends)) if ends else None if names else _CART_TEST.search(line, begin)
    return line if match is None else f"{line[: match.start()]} {match[1]} {line[match.end() :]}"


def with_sets(tree: Sequence[Leaf | Split]) -> None:
    """Take the values of SimpleCart's tests, ``(b)|(c)``, for sets."""
    for node in tree:
        if isinstance(node, Split) and node.signs[0] in ("=", "!="):
            node.sets = [tuple(value[1:-1].split(")|(")) for value in node.values]


def printed_classes(text: str) -> tuple[str, ...]:
    """The classes in the order of the first confusion matrix that is printed below the tree, none without one."""
    matrix = text.partition("<-- classified as\n")[2].partition("\n\n")[0]
    return tuple(match[1].rstrip() for match in _MATRIX.finditer(matrix))


def is_exact(kind: str, trees: Sequence[Sequence[Leaf | Split]], training: TrainingColumns | None) -> bool:
    """Whether no threshold was rounded, as columns have so few decimals that none is lacking.

    J48 cuts at values of the column and prints six decimals, others halfway between two values.
    """
    splits = [node for tree in trees for node in tree if isinstance(node, Split) and node.signs[0] in _CUTS]
    if training is None:
        most = max((len(value.partition(".")[2]) for split in splits for value in split.values), default=0)
        return not splits or (kind == "J48" and most < _DECIMALS[kind])
    found = [training.decimals(name) for name in {split.name for split in splits}]
    return all(each is not None and each + (kind != "J48") <= _DECIMALS[kind] for each in found)


def is_weka(head: Head) -> bool:
    """Whether a file begins as a text or a graph of Weka."""
    text = head.text
    if START.match(text) is not None:
        return True
    for title, kind in TITLES.items():
        rule = r"[-=]{4,}\s*$" if kind not in _UNRULED else r"\s*\n\S.*(?: [=<]|!?=\(|: )"
        if re.search(rf"^{title}\s*\n{rule}", text, re.MULTILINE):
            return True
    return False
