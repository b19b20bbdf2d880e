"""Text of scikit-learn's ``export_text``, with or without ``show_weights=True``, and its names of columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike

from maxent.models.arguments import LARGEST_COUNT, shorten
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.assemble import assemble
from maxent.models.formats.outline import Line, refuse
from maxent.models.formats.proof import TrainingColumns, check_leaves, read_training
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.hints import close_to
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Branch, Labels, Node, Tree
from maxent.models.trees.places import single_at_most

# Names of columns that scikit-learn prints, ``cat__colour_red``, as columns and values of the training table.

_BIN = re.compile(r"[0-9]+\.0")
_INFREQUENT = "infrequent_sklearn"


def feature_of(name: str, training: TrainingColumns) -> Feature | str:
    """The meaning of a column of a model's input, or what was expected where it has none that is sure.

    A column of the table is itself: numbers, or codes of its sorted values. ``colour_red`` says whether a column has a
    value, as a ``OneHotEncoder`` names its output; and ``cat__`` before either is the name of a step.
    """
    plain = [name] if training.named(name) is not None else list(_plain(name))
    found = [feature for each in dict.fromkeys(plain) for feature in _meanings(each, training)]
    if len(found) > 1:
        return "a name with one meaning in the training table, not " + " and ".join(map(_shown, found))
    if not found:
        if any(_is_bin(each, training) for each in plain):
            return "columns of the table: the bins of a KBinsDiscretizer have no edges in this text"
        if name.endswith(_INFREQUENT):
            return "columns of the table: which values are infrequent is not in this text"
        names = [attribute.name for attribute in training.attributes]
        return f"a column of the training table, or one and a value of it{close_to(plain[-1], names)}"
    [feature] = found
    if feature.attribute in training.gaps:
        return f"columns without missing values: where those of {feature.attribute} go is not in this text"
    return feature


def _plain(name: str) -> Iterator[str]:
    """A name, and what follows each ``__`` in it."""
    yield name
    while "__" in name:
        name = name.partition("__")[2]
        if name:
            yield name


def _meanings(name: str, training: TrainingColumns) -> Iterator[Feature]:
    """A column of that name, or all columns that have a value so that both together are the name."""
    column = training.named(name)
    if column is not None:
        yield Feature(name, name, column.values)
        return
    for attribute in training.attributes:
        if attribute.values is not None and name.startswith(attribute.name + "_"):
            value = name[len(attribute.name) + 1 :]
            if value in attribute.values:
                yield Feature(name, attribute.name, attribute.values, value)


def _is_bin(name: str, training: TrainingColumns) -> bool:
    """Whether a name is that of a bin of a column of numbers."""
    column, _, number = name.rpartition("_")
    found = training.named(column)
    return found is not None and found.values is None and _BIN.fullmatch(number) is not None


def _shown(feature: Feature) -> str:
    return feature.attribute if feature.indicates is None else f"{feature.indicates} of {feature.attribute}"


_LINE = re.compile(r"((?:\| *)*)\|-+ (.*)")
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_TEST = re.compile(rf"(.*) (<=|>) +({_NUMBER})")
_LEAF = re.compile(r"(?:weights: \[([0-9., -]+)\] ?)?(?:class: (.*))?")
_EXPORT = "export_text(model, feature_names=..., class_names=..., decimals=10, show_weights=True)"
_ADVICE = "columns before a scaler, thresholds rounded for print, rows with weights or of a bootstrap would show so"
_FITTED = "of a tree that was fitted on the table's own columns"
_UNNAMED = re.compile(r"(?:feature_|[xX]\[)([0-9]{1,9})\]?")
_LABEL_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]*)?")
_PRINTED = 1.0  # by how much printed weights may hide which is the largest
_EXACT = 10  # decimals with which no threshold that was printed is off by more than single precision is


def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a text, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    drawn = _drawn(source, list(_lines(source, read_text(path))))
    tests = [node.threshold for node in drawn if node.children]
    decimals = min((len(number.partition(".")[2]) for number in tests), default=_EXACT)
    if not decimals:
        raise invalid(source, "document", "thresholds", f"numbers with their decimals: {_EXPORT}", "whole numbers only")
    return drawn_release(source, drawn, wanted, reader)


def drawn_release(
    source: str,
    drawn: Sequence[DrawnLines],
    wanted: Wanted,
    reader: Reader,
    *,
    export: str = _EXPORT,
    finer: str = "decimals=10",
    unweighted: str = "",
) -> Converted:
    """The release of a tree as it is drawn.

    ``export`` is how to draw it best, ``finer`` the option that prints more digits, and ``unweighted`` says why nodes
    have no weights although labels are decided by some.
    """
    decimals = min((len(node.threshold.partition(".")[2]) for node in drawn if node.children), default=_EXACT)
    training = read_training(wanted, reader)
    features = _features(source, drawn, wanted, training)
    classes = _classes(source, drawn, wanted, training)
    used = {feature.attribute: feature.values for feature in features.values()}
    order = used if training is None else [a.name for a in training.attributes if a.name in used]
    known = {name: Attribute(name, "categorical" if used[name] else "numeric", used[name]) for name in order}
    labels: Labels = "majority" if _are_whole(drawn) and not unweighted else "decided"
    tree = Tree(tuple(_nodes(drawn, features, classes)))
    release = assemble(source, [tree], classes, wanted, training, known=known, predicts="label", labels=labels)
    proven = training is not None and check_leaves(source, release, training, f"{_ADVICE}: {export} {_FITTED}")
    coded = [f.name for f in features.values() if f.values is not None and f.indicates is None]
    if coded and not proven:
        expected = f"counts that prove the order of its codes ({export}, with train= and target=)"
        raise invalid(source, f"column {shorten(coded[0])}", "values", expected, "codes of categories without names")
    exact = _is_exact(drawn, features, training)
    lost = ["the criterion, so that nothing follows from the choice of splits"]
    if unweighted:
        lost.append(unweighted)
    elif labels == "decided":
        lost.append("counts: the weights are no whole numbers of records, as with class_weight or sample_weight")
    elif not any(node.weights for node in drawn):
        lost.append("counts and sizes of leaves, which show_weights=True prints")
    if not exact:
        lost.append(f"digits of thresholds beyond {decimals} decimals, which {finer} prints")
    if training is None and len(drawn) > 1:
        lost.append("what columns of one-hot or ordinal encoders mean, which --train tells: they are taken as they are")
    return Converted(release, "scikit-learn", tuple(lost), exact)


def _lines(source: str, text: str) -> Iterator[Line]:
    """The lines of a tree; blank ones are skipped."""
    found = False
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            expected = "a line of export_text, such as |--- age <= 37.50"
            # Of what is no such text at all, and may be any file, nothing is shown.
            raise invalid(source, f"line {number}", "text", expected, shorten(line) if found else "other text")
        if "truncated branch of depth" in match[2]:
            expected = "the whole tree: export_text without max_depth, or with a larger one"
            raise invalid(source, f"line {number}", "text", expected, shorten(match[2]))
        yield Line(number, match[1].count("|"), match[2])
        found = True
    if not found:
        raise invalid(source, "document", "content", "a tree that export_text printed", "an empty file")


@dataclass(slots=True)
class DrawnLines:
    """A node as it is drawn: an inner one with its test and the positions of its children, or a leaf with its label."""

    name: str = ""
    threshold: str = ""
    children: tuple[int, ...] = ()
    label: str | None = None
    weights: tuple[float, ...] | None = None


def _drawn(source: str, lines: Sequence[Line]) -> list[DrawnLines]:
    """The nodes in depth-first order, as scikit-learn numbers those of a tree that it grows depth-first."""
    found: list[DrawnLines] = []
    # What is to come: a node at a depth, or (with its position) the second branch of one.
    stack: list[tuple[int, int | None]] = [(0, None)]
    at = 0
    while stack:
        depth, first = stack.pop()
        if at == len(lines):
            refuse(source, lines[-1], "both branches of every test, but this is the end of the file")
        line = lines[at]
        deeper = at + 1 < len(lines) and lines[at + 1].depth == line.depth + 1
        test = _TEST.fullmatch(line.text)
        if line.depth != depth:
            refuse(source, line, f"a line at depth {depth}")
        if first is not None:
            before = found[first]
            same = test is not None and (test[1], test[2], test[3]) == (before.name, ">", before.threshold)
            if not same or not deeper:
                refuse(source, line, f"the other branch, {shorten(before.name)} > {before.threshold}")
            before.children = (*before.children, len(found))
            stack.append((depth + 1, None))
        elif deeper:
            if test is None or test[2] != "<=":
                refuse(source, line, "a test with <=, as lines below it are deeper")
            found.append(DrawnLines(test[1], test[3], (len(found) + 1,)))
            stack += [(depth, len(found) - 1), (depth + 1, None)]
        else:
            found.append(_leaf(source, line))
        at += 1
    if at < len(lines):
        refuse(source, lines[at], "the end of the file, as the tree is complete")
    return found


def _leaf(source: str, line: Line) -> DrawnLines:
    """A leaf with its label, its weights, or both."""
    match = _LEAF.fullmatch(line.text)
    if match is None or match[0] == "":
        if line.text.startswith("value: ["):
            refuse(source, line, "a classification tree, whose leaves have classes (of a regression: bin the target)")
        refuse(source, line, "a leaf with class: or weights:")
    weights = None
    if match[1] is not None:
        try:
            weights = tuple(float(part) for part in match[1].split(","))
        except ValueError:
            refuse(source, line, "weights that are numbers")
        if min(weights) < 0 or max(weights) > LARGEST_COUNT:
            refuse(source, line, "weights that are numbers of records")
    return DrawnLines(label=match[2], weights=weights)


def _features(
    source: str, drawn: Sequence[DrawnLines], wanted: Wanted, training: TrainingColumns | None
) -> dict[str, Feature]:
    """Meaning of each column that is tested."""
    features, problems = {}, []
    for name in dict.fromkeys(node.name for node in drawn if node.children):
        title = name
        number = _UNNAMED.fullmatch(name)
        if wanted.features is not None and number is not None:
            if int(number[1]) >= len(wanted.features):
                expected = f"a name for {name}"
                problems.append(Problem("argument", "features", expected, f"{len(wanted.features)} names"))
                continue
            title = wanted.features[int(number[1])]
        found = Feature(name, title) if training is None else feature_of(title, training)
        if isinstance(found, str):
            problems.append(Problem(f"column {shorten(name)}", "name", found, shorten(title)))
        else:
            features[name] = replace(found, name=name)
    if problems:
        raise InvalidInput(source, problems)
    return features


def _classes(
    source: str, drawn: Sequence[DrawnLines], wanted: Wanted, training: TrainingColumns | None
) -> tuple[str, ...]:
    """The classes in the model's order, which is sorted."""
    leaves = [node for node in drawn if not node.children]
    labels = {leaf.label for leaf in leaves if leaf.label is not None}
    sizes = {len(leaf.weights) for leaf in leaves if leaf.weights is not None}
    known = wanted.classes or (training.classes if training is not None else ()) or _in_order(labels)
    expected = f"classes={max(sizes)} names" if sizes else "classes, with every label of the tree"
    if len(sizes) > 1 or (sizes and len(known) != max(sizes)) or not known:
        found = f"{len(known)} classes, and {' or '.join(map(str, sorted(sizes))) or 'no'} weights of a leaf"
        raise invalid(source, "document", "classes", f"as many names of classes as weights ({expected})", found)
    if unknown := sorted(labels - set(known)):
        raise invalid(source, "document", "classes", f"classes among {shorten(list(known))}", shorten(unknown))
    for leaf in leaves:
        if leaf.weights is not None and leaf.label is not None:
            best = max(leaf.weights)
            if leaf.weights[known.index(leaf.label)] < best - _PRINTED:
                found = f"label {shorten(leaf.label)} with weights {shorten(list(leaf.weights))}"
                raise invalid(source, "document", "classes", "classes in the order of the weights (classes=)", found)
    return known


def _in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Labels as scikit-learn sorts them: numbers by size."""
    if all(_LABEL_NUMBER.fullmatch(label) for label in labels):
        return tuple(sorted(labels, key=float))
    return tuple(sorted(labels))


def _nodes(drawn: Sequence[DrawnLines], features: Mapping[str, Feature], classes: Sequence[str]) -> Iterator[Node]:
    """The nodes of a release."""
    whole = _are_whole(drawn)
    for number, node in enumerate(drawn):
        if node.children:
            feature, threshold = features[node.name], float(node.threshold)
            low, high = (str(child) for child in node.children)
            if feature.values is None:
                most = single_at_most(threshold)
                branches: tuple[Branch, ...] = (Branch(low, le=most), Branch(high, gt=most))
            else:
                sides = zip((low, high), feature.split(threshold), strict=True)
                branches = tuple(Branch(child, values) for child, values in sides)
            yield Node(str(number), feature.attribute, branches)
        elif node.weights is None or not whole:
            yield Node(str(number), label=node.label)
        else:
            counts = dict(zip(classes, map(round, node.weights), strict=True))
            yield Node(str(number), label=node.label, n=sum(counts.values()), counts=counts)


def _are_whole(drawn: Sequence[DrawnLines]) -> bool:
    """Whether all weights are whole numbers of records."""
    return all(weight.is_integer() for node in drawn for weight in node.weights or ())


def _is_exact(drawn: Sequence[DrawnLines], features: Mapping[str, Feature], training: TrainingColumns | None) -> bool:
    """Whether no threshold was changed for print: codes, many decimals, or halves between whole numbers."""
    numeric = [node for node in drawn if node.children and features[node.name].values is None]
    if all(len(node.threshold.partition(".")[2]) >= _EXACT for node in numeric):
        return True
    if training is None:
        return False
    halves = all((2 * float(node.threshold)).is_integer() for node in numeric)
    columns = {features[node.name].attribute for node in numeric}
    return halves and all(training.holds_whole_numbers(name) for name in columns)


READER = model_reader(
    "export-text",
    "text that export_text of scikit-learn printed of a tree",
    (),
    convert,
    lambda head: re.match(r"\|-+ .*(?:\n\| +\|-+ |: )", head.text) is not None,
)
