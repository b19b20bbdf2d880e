"""Text that R prints of a tree of partykit: ``|   [4] age <= 29: no (n = 282, err = 0.4%)``."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from os import PathLike

from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.text_files import read_text
from maxent.models.formats.assemble import assemble
from maxent.models.formats.conversion import Converted, Wanted
from maxent.models.formats.outline import Line, below, refuse
from maxent.models.formats.proof import check_leaves, counts_in_leaves
from maxent.models.formats.r.partykit_lines import Leaf, Test, lines_of, parsed
from maxent.models.formats.release_reader import Head, model_reader
from maxent.models.formats.training_columns import TrainingColumns, read_training
from maxent.models.reading import Reader
from maxent.models.release import Branch, Labels, Node, Release, Tree
from maxent.models.trees.thresholds import less_than

_FORMULA = re.compile(r"^Model formula:\n(?:`([^`\n]{1,500})`|([^\s`~()]{1,500})) ~ ", re.MULTILINE)
_ADVICE = "the rows that the tree was fitted on, all of them, without case weights; and thresholds as they are"
_CRITERION = "the criterion, so that nothing follows from the choice of splits"
_SURROGATES = "where records without a value go: by surrogate splits, which are not printed, or at random"
_ABSENT = "where values go that no record of a node has: by surrogate splits or at random, and here with the majority"
_ROUNDED = "digits of thresholds beyond those printed, which options(digits = 17) before the printing keeps"


def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a text, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    text = read_text(path)
    lines = lines_of(source, text)
    formula = _FORMULA.search(text)
    target = None if formula is None else formula[1] or formula[2]
    training = read_training(wanted, reader)
    known = wanted.classes or (training.classes if training is not None else ())
    tests, leaves = parsed(source, lines, known, training)
    _refuse_gaps(source, tests.values(), training)
    labels = dict.fromkeys(leaf.label for leaf in leaves.values())
    classes = known or tuple(sorted(labels))
    if len(classes) < 2 and any(leaf.errors[1] for leaf in leaves.values()):
        expected = "the names of the classes (classes=, or train= and target=)"
        raise invalid(source, "document", "classes", expected, "one, and records that are not of it")
    weighted = any(leaf.weighted for leaf in leaves.values())
    tree, absent = _tree(below(source, lines), tests, leaves, classes, training, two=len(known) == 2)
    how: Labels = "decided" if weighted else "majority"
    release = assemble(source, [tree], classes, wanted, training, target=target, predicts="label", labels=how)
    if training is not None:
        check_leaves(source, release, training, _ADVICE)
        _check_errors(source, release, leaves, lines, training)
    exact = _is_exact([cut for test in tests.values() for cut in _cuts(test)], training)
    lost = [_CRITERION]
    if weighted:
        lost.append("counts and sizes, which are of case weights")
    elif any(leaf.counts is None for leaf in tree.leaves):
        lost.append("counts: sizes, labels and rounded shares of errors are printed")
    if not exact:
        lost.append(_ROUNDED)
    lost += [_ABSENT] if absent else []
    lost += [_SURROGATES] if tests else []
    if not known:
        lost.append("classes that no leaf predicts, which --classes, or --train and --target, give")
    return Converted(release, "R partykit", tuple(lost), exact)


def _refuse_gaps(source: str, tests: Collection[Test], training: TrainingColumns | None) -> None:
    if training is None:
        return
    if gaps := [name for name in dict.fromkeys(test.name for test in tests) if name in training.gaps]:
        expected = (
            "no missing values in the columns of the tree: partykit sends such rows by surrogate splits, which it does "
            "not print, or at random (fit it on rows without; or of rpart, print the rpart object's frame and splits)"
        )
        raise invalid(source, "document", "training table", expected, f"missing values of {', '.join(gaps)}")


def _tree(
    children: Sequence[Sequence[int]],
    tests: Mapping[int, Test],
    leaves: Mapping[int, Leaf],
    classes: Sequence[str],
    training: TrainingColumns | None,
    *,
    two: bool,
) -> tuple[Tree, bool]:
    """The tree, its nodes named by the positions of their lines from 1, and whether some values are in no branch.

    ``two`` is whether there are known to be two classes: of others no leaf may be.
    """
    sizes = [0] * (len(children) - 1)
    for at in reversed(range(len(sizes))):
        sizes[at] = leaves[at].n if at in leaves else sum(sizes[i] for i in children[at])
    domains = _domains(tests.values(), training)
    nodes, any_absent = [], False
    for at in range(len(sizes)):
        if at in leaves:
            nodes.append(_stated(str(at + 1), leaves[at], classes, two=two))
            continue
        test, below_ = tests[at], children[at]
        branches: list[Branch]
        if test.cuts:
            branches = [_side(sign, number, str(i + 1)) for (sign, number), i in zip(test.cuts, below_, strict=True)]
        else:
            named = {value for levels in test.levels for value in levels}
            absent = tuple(value for value in domains[test.name] if value not in named)
            any_absent = any_absent or bool(absent)
            largest = max(below_, key=lambda i: sizes[i])
            branches = [
                Branch(str(i + 1), values=levels + (absent if i == largest else ()))
                for levels, i in zip(test.levels, below_, strict=True)
            ]
        nodes.append(Node(str(at + 1), test.name, tuple(branches)))
    return Tree(tuple(nodes)), any_absent


def _domains(tests: Collection[Test], training: TrainingColumns | None) -> dict[str, dict[str, None]]:
    """The values of each column that is tested by levels: those named, and those of the training table."""
    found: dict[str, dict[str, None]] = {}
    for test in tests:
        if test.levels:
            found.setdefault(test.name, {}).update(dict.fromkeys(v for levels in test.levels for v in levels))
    for name, values in found.items():
        attribute = None if training is None else training.named(name)
        values.update(dict.fromkeys((attribute.values if attribute else None) or ()))
    return found


def _side(sign: str, number: str, child: str) -> Branch:
    most = float(number) if sign in ("<=", ">") else less_than(float(number))
    return Branch(child, le=most) if sign in ("<=", "<") else Branch(child, gt=most)


def _stated(name: str, leaf: Leaf, classes: Sequence[str], *, two: bool) -> Node:
    """What the file proves of a leaf."""
    if leaf.weighted:
        return Node(name, label=leaf.label)
    fewest, most = leaf.errors
    if fewest == most and (two or not most):
        counts = {c: leaf.n - most if c == leaf.label else most for c in classes}
        return Node(name, label=leaf.label, n=leaf.n, counts=counts)
    if fewest == most:
        return Node(name, label=leaf.label, n=leaf.n, error_rate=most / leaf.n)
    return Node(name, label=leaf.label, n=leaf.n, error_rate=float(Decimal(leaf.rate) / 100))


def _check_errors(
    source: str, release: Release, leaves: Mapping[int, Leaf], lines: Sequence[Line], training: TrainingColumns
) -> None:
    """Refuse a tree whose labels are wrong more often, or less, of the training rows than it says."""
    if not training.classes:
        return
    counts = counts_in_leaves(release, training)[0].tolist()
    for at, leaf in leaves.items():
        here = counts[at]
        errors = sum(here) - here[release.target.classes.index(leaf.label)]
        if not leaf.weighted and not leaf.errors[0] <= errors <= leaf.errors[1]:
            refuse(source, lines[at], f"the errors of the training table, {errors} of {sum(here)} ({_ADVICE})")


def _cuts(test: Test) -> Iterator[tuple[str, str, str]]:
    yield from ((test.name, sign, number) for sign, number in test.cuts)


def _is_exact(cuts: Sequence[tuple[str, str, str]], training: TrainingColumns | None) -> bool:
    """Whether no threshold was rounded: R rounds all to as many decimals, at least as many as any of them has.

    A tree of partykit cuts at values of the column, one of rpart (``<``) halfway between two, with one decimal more.
    """
    if not cuts:
        return True
    if training is None or any("e" in number for _, _, number in cuts):
        return False
    decimals = max(len(number.partition(".")[2]) for _, _, number in cuts)
    return all(
        (digits := training.decimals(name)) is not None and digits + (sign in ("<", ">=")) <= decimals
        for name, sign, _ in cuts
    )


def _recognise(head: Head) -> bool:
    return re.search(r"^\[1\] root(?:: .* \([nw] = |[ ]*\n\|   \[2\] )", head.text, re.MULTILINE) is not None


READER = model_reader("partykit-print", "text that R printed of a tree of partykit", (), convert, _recognise)
