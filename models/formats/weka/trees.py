"""Text that Weka prints of J48, REPTree, RandomTree and forests of these, with ``(n/errors)`` behind each label."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from os import PathLike

from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.text_files import read_text
from maxent.models.formats.assemble import assemble, rest
from maxent.models.formats.conversion import Converted, Wanted
from maxent.models.formats.proof import check_leaves
from maxent.models.formats.release_reader import Head, model_reader
from maxent.models.formats.training_columns import TrainingColumns, read_training
from maxent.models.formats.weka.tree_text import Leaf, Line, Split, lines_of, parse_tree
from maxent.models.reading import Reader
from maxent.models.release import Branch, Node, Tree
from maxent.models.trees.thresholds import less_than

_TITLES = {
    "J48 pruned tree": "J48",
    "J48 unpruned tree": "J48",
    "REPTree": "REPTree",
    "RandomTree": "RandomTree",
}
_RULE = re.compile(r"[-=]{4,}\s*")
_OPTIONS = re.compile(r"(?:Options:|Scheme:).*")
_HELD_OUT = re.compile(r"\s-R\b")
_ADVICE = "the table that Weka built the tree from, whole: not a part of it, as with -R, and without weights"
_ROUNDED = "digits of thresholds beyond those that Weka prints"
_CRITERION = "the criterion, so that nothing follows from the choice of splits"


def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a text, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    lines = read_text(path).split("\n")
    drawn = list(_drawn(lines))
    if not drawn:
        expected = f"a tree of Weka: {', '.join(dict.fromkeys(_TITLES.values()))}, printed whole"
        raise invalid(source, "document", "content", expected, "none")
    forest = any(line.startswith(("RandomForest", "Bagging with")) for line in lines)
    if len({kind for kind, _ in drawn}) > 1 or (len(drawn) > 1 and not forest):
        raise invalid(
            source, "document", "content", "one tree, or a forest of trees of one kind", f"{len(drawn)} trees"
        )
    kind = drawn[0][0]
    training = read_training(wanted, reader)
    _refuse_gaps(source, training)
    known = wanted.classes or (training.classes if training is not None else ())
    names = [] if training is None else [attribute.name for attribute in training.attributes]
    parsed = [parse_tree(source, tree, known, names) for _, tree in drawn]
    leaves = [node for tree in parsed for node in tree if isinstance(node, Leaf)]
    classes = known or tuple(sorted({leaf.label for leaf in leaves}))
    if not all(number.is_integer() for leaf in leaves for pair in leaf.numbers for number in pair):
        expected = "whole numbers of records: those with missing values go down several branches in parts"
        raise invalid(source, "document", "numbers", expected, "fractions")
    part = kind == "J48" and any(_OPTIONS.fullmatch(line) and _HELD_OUT.search(line) for line in lines)
    trees = [Tree(tuple(_nodes(tree, classes, states=not part))) for tree in parsed]
    sums = {sum(leaf.n or 0 for leaf in tree.leaves) for tree in trees}
    if forest and (len(sums) > 1 or not min(sums)):
        raise invalid(source, "document", "numbers", "as many records in every tree", f"{sorted(sums)}")
    release = assemble(
        source,
        trees,
        classes,
        wanted,
        training,
        predicts="mean" if forest else "label",
        resampled=sums.pop() if forest else None,
    )
    if training is not None and not forest and not part:
        check_leaves(source, release, training, _ADVICE, empty=True)
    exact = kind == "J48" or not any(isinstance(node, Split) and "<" in node.signs for tree in parsed for node in tree)
    lost = [_CRITERION]
    if part:
        lost.append("counts and sizes: with -R those printed are of some of the records")
    elif any(leaf.counts is None for tree in trees for leaf in tree.leaves):
        lost.append("counts of more than two classes: only the records that are not of the label are printed")
    if not exact:
        lost.append(_ROUNDED)
    if wanted.classes is None and not known:
        lost.append("classes that no leaf predicts, which --classes, or --train and --target, give")
    return Converted(release, f"Weka {'RandomForest' if forest else kind}", tuple(lost), exact)


def _drawn(lines: Sequence[str]) -> Iterator[tuple[str, list[Line]]]:
    """The trees of a text, by their titles: the lines from after the rule below a title to a blank one."""
    at = 0
    while at + 1 < len(lines):
        kind = _TITLES.get(lines[at].strip())
        at += 1
        if kind is None or _RULE.fullmatch(lines[at]) is None:
            continue
        at += 1
        while at < len(lines) and not lines[at].strip():
            at += 1
        begin = at
        while at < len(lines) and lines[at].strip():
            at += 1
        if at > begin:
            yield kind, lines_of([(number + 1, lines[number]) for number in range(begin, at)])


def _refuse_gaps(source: str, training: TrainingColumns | None) -> None:
    if training is not None and training.gaps:
        expected = "a table without missing values: Weka sends records with some down several branches, in parts"
        raise invalid(
            source, "document", "training table", expected, f"missing values of {', '.join(sorted(training.gaps))}"
        )


def _nodes(tree: Sequence[Leaf | Split], classes: Sequence[str], *, states: bool) -> Iterator[Node]:
    """The nodes of a release; with ``states`` their numbers are of all records."""
    for number, node in enumerate(tree):
        if isinstance(node, Split):
            yield Node(str(number), node.name, tuple(_branches(node)))
            continue
        n, errors = (int(sum(column)) for column in zip(*node.numbers, strict=True)) if node.numbers else (None, None)
        if not states or n is None or errors is None:
            yield Node(str(number), label=node.label)
        elif errors and len(classes) != 2:
            rate = errors / n
            yield Node(str(number), label=node.label, error_rate=rate, n=n)
        else:
            counts = {c: n - errors if c == node.label else errors for c in classes}
            yield Node(str(number), label=node.label, n=n, counts=counts)


def _branches(node: Split) -> Iterator[Branch]:
    """The branches of a node: strict tests of numbers at the largest double that passes them."""
    for sign, value, child in zip(node.signs, node.values, map(str, node.children), strict=True):
        if sign == "<=":
            yield Branch(child, le=float(value))
        elif sign == ">":
            yield Branch(child, gt=float(value))
        elif sign == "<":
            yield Branch(child, le=less_than(float(value)))
        elif sign == ">=":
            yield Branch(child, gt=less_than(float(value)))
        else:
            yield Branch(child, values=(value,)) if sign == "=" else rest(child)


def _recognise(head: Head) -> bool:
    return any(re.search(rf"^{title}\s*\n[-=]{{4,}}\s*$", head.text, re.MULTILINE) for title in _TITLES)


READER = model_reader(
    "weka",
    "text that Weka printed of J48, REPTree, RandomTree or a forest",
    (),
    convert,
    _recognise,
)
