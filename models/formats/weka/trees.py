"""Trees of Weka, printed or drawn: J48, REPTree, RandomTree, forests of these, SimpleCart and Id3."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike

from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.text_files import read_text
from maxent.models.formats.assemble import assemble
from maxent.models.formats.conversion import Converted, Wanted
from maxent.models.formats.missing.fractions import fractional_tree
from maxent.models.formats.outline import Leaf, Split, are_whole, nodes_of, parse_tree, parts_of
from maxent.models.formats.proof import check_leaves
from maxent.models.formats.release_reader import model_reader
from maxent.models.formats.training_columns import read_training
from maxent.models.formats.weka.dot import START, parse_graph
from maxent.models.formats.weka.printed import TITLES, drawn, is_exact, is_weka, printed_classes, with_sets
from maxent.models.reading import Reader
from maxent.models.release import Tree
from maxent.models.tables.frame import shorten

_OPTIONS = re.compile(r"^(?:Options:|Scheme:).*", re.MULTILINE)
_HELD_OUT = re.compile(r"\s-R\b")
_ADVICE = "the table that Weka built the tree from, whole: not a part of it, as with -R, and without weights"
_FRACTIONS = (
    "counts and sizes of leaves below tests of values that records lack: Weka counts such records there in parts"
)
_UNDECIDED = "classes of records without values where the printed numbers leave several"
_ROUNDED = "digits of thresholds beyond those that Weka prints"
_CRITERION = "the criterion, so that nothing follows from the choice of splits"


def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a text, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    text = read_text(path)
    training = read_training(wanted, reader)
    known = wanted.classes or (training.classes if training is not None else ()) or printed_classes(text)
    names = [] if training is None else [attribute.name for attribute in training.attributes]
    kind, parsed, forest = _parsed(source, text, known, names)
    if kind == "SimpleCart":
        with_sets(parsed[0])
    leaves = [node for tree in parsed for node in tree if isinstance(node, Leaf)]
    classes = known or tuple(sorted({leaf.label for leaf in leaves} - ({"null"} if kind == "Id3" else set())))
    tested = dict.fromkeys(node.name for tree in parsed for node in tree if isinstance(node, Split))
    gaps = [] if training is None else [name for name in tested if name in training.gaps]
    whole = all(map(are_whole, parsed))
    two = len(known) == 2
    part = kind == "J48" and any(_HELD_OUT.search(options[0]) for options in _OPTIONS.finditer(text))
    if forest and (gaps or not whole):
        expected = "no missing values in the columns of a forest: records with some go down several branches in parts"
        raise invalid(source, "document", "numbers", expected, shorten(gaps) if gaps else "fractions")
    may_lack = frozenset(gaps if training is not None else () if whole else tested)
    weighted = not whole and not may_lack
    undecided = False
    if whole and not may_lack:
        trees = [Tree(tuple(nodes_of(tree, classes, states=not part, two=two))) for tree in parsed]
    else:
        if any("!=" in node.signs for node in parsed[0] if isinstance(node, Split)) and training is None:
            expected = "the values that != leaves, with train=, where records lack values"
            raise invalid(source, "document", "tests", expected, "none")
        made = parts_of(parsed[0], classes, training, states=not part, two=two)
        tree, undecided = fractional_tree(source, made, classes, may_lack, weighted=weighted)
        trees = [tree]
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
        labels="decided" if may_lack or weighted else "majority",
    )
    if training is not None and not forest and not part and not weighted:
        check_leaves(source, release, training, _ADVICE, empty=True)
    exact = is_exact(kind, parsed, training)
    lost = [_CRITERION]
    if part:
        lost.append("counts and sizes: with -R those printed are of some of the records")
    elif weighted:
        lost.append("counts and sizes: records were weighted")
    elif may_lack:
        lost.append(_FRACTIONS)
    elif kind == "Id3":
        lost.append("counts and sizes, which Id3 does not print")
    elif any(leaf.counts is None for tree in trees for leaf in tree.leaves):
        lost.append("counts of more than two classes: only the records that are not of the label are printed")
    lost += [_UNDECIDED] if undecided else []
    if not exact:
        lost.append(_ROUNDED)
    if wanted.classes is None and not known:
        lost.append("classes that no leaf predicts, which --classes, or --train and --target, give")
    return Converted(release, f"Weka {'RandomForest' if forest else kind}", tuple(lost), exact)


def _parsed(
    source: str, text: str, classes: tuple[str, ...], names: Sequence[str]
) -> tuple[str, list[list[Leaf | Split]], bool]:
    """The kind of the trees, their nodes, and whether they are a forest."""
    if START.match(text) is not None:
        kind, graph = parse_graph(source, text, classes)
        return kind, [graph], False
    found = list(drawn(text.split("\n"), names))
    if not found:
        expected = f"a tree of Weka: {', '.join(dict.fromkeys(TITLES.values()))}, printed whole"
        raise invalid(source, "document", "content", expected, "none")
    kind = found[0][0]
    forest = re.search("^(?:RandomForest|Bagging with)", text, re.MULTILINE) is not None
    if len({kind for kind, _ in found}) > 1 or (len(found) > 1 and not forest):
        expected = "one tree, or a forest of trees of one kind"
        raise invalid(source, "document", "content", expected, f"{len(found)} trees")
    labels = (*classes, "null") if classes and kind == "Id3" else classes
    return kind, [parse_tree(source, tree, labels, names) for _, tree in found], forest


READER = model_reader(
    "weka",
    "text that Weka printed of J48, REPTree, RandomTree, SimpleCart, Id3 or a forest, or drew as a graph",
    (),
    convert,
    is_weka,
)
