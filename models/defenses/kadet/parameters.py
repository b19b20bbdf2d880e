"""kADET: what can be asked for, and the release that it makes (Friedman, Schuster and Wolff 2006)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.defenses.kadet.criteria import any_of, few_classes, frequent_class, low_entropy, too_small
from maxent.models.defenses.kadet.grow import Rules, Watch, grow
from maxent.models.errors import InvalidInput, Problem
from maxent.models.induction.error_pruning import prune
from maxent.models.induction.parameters import Selection
from maxent.models.induction.split_scores import Criterion
from maxent.models.release import Candidates, Defense, Impurity, Induction, Release, Tree
from maxent.models.tables.frame import shorten, shorten_list
from maxent.models.tables.hierarchies import Hierarchy, HierarchySource, hierarchy_problems, read_hierarchy
from maxent.models.tables.training import Training
from maxent.models.text.arguments import is_number, is_whole, up_to_largest
from maxent.models.trees.draft import Publish, freeze

Diversity = Literal["entropy", "distinct"]
Order = Literal["gain", "weighted"]


@dataclass(frozen=True, slots=True)
class Kadet:
    """What is asked of a kADET tree: a guarantee to the people in the data, and how to grow.

    Attributes
    ----------
    k : int
        The smallest number of records that may share a span (Definition 7); 1 asks for nothing.
    l : float, optional
        Diversity of the classes of every span, above 1: at least log ``l`` of entropy, or ``l`` different classes. With
        entropy and two classes, l = 2 ** H2(c), H2 in bits, keeps every class of a span from having more than a share
        c of it: 1.526 for 0.85 (section 4.2).
    diversity : {"entropy", "distinct"}
        What ``l`` means.
    alpha : float, optional
        The largest share of a class in a span, above 0 and below 1: (alpha, k)-anonymity.
    impurity : {"entropy", "gini", "gain_ratio"}
        What candidates are compared by. ID3 is "entropy" for categorical attributes, C4.5 "gain_ratio" with a
        ``confidence``.
    selection : {"gain_ratio", "quinlan"}
        Of gain_ratio: whether all candidates compete by it; or numbers are cut where they gain most (section 3.3), and
        of the attributes those compete that gain at least as much as all of their node do on average (Quinlan 1993).
    class_public : bool
        Whether an adversary knows the classes: then every class has spans of its own, which are to have k records.
    order : {"gain", "weighted"}
        Whether candidates of different nodes are compared as they are, or times the records of the node. It matters
        only where spans reach over several nodes, that is below splits of private attributes.
    hierarchies : mapping of attribute to hierarchy
        How to generalise the values of categorical attributes, see `maxent.models.tables.hierarchies.read_hierarchy`.
    confidence : float, optional
        The confidence factor of error-based pruning by subtree replacement, above 0 and at most 0.5; None: no pruning.
    min_samples_split : int
        Records, at least 1: nodes with fewer stay leaves.
    max_depth : int, optional
        Splits between the root and the deepest leaf, at least 0.
    """

    k: int = 5
    l: float | None = None  # noqa: E741 (the l of l-diversity)
    diversity: Diversity = "entropy"
    alpha: float | None = None
    impurity: Impurity = "entropy"
    class_public: bool = False
    order: Order = "gain"
    hierarchies: Mapping[str, HierarchySource] = field(default_factory=dict)
    confidence: float | None = None
    min_samples_split: int = 2
    max_depth: int | None = None
    selection: Selection = "gain_ratio"


def kadet(
    training: Training,
    asked: Kadet,
    *,
    publish: Publish = "counts",
    inner_counts: bool = False,
    watch: Watch | None = None,
) -> Release:
    """Grow a tree that keeps what is asked, and publish it.

    A node is split by the candidate with the best score of all nodes', if nobody's span breaches then: a categorical
    attribute has a branch for each value, or for each group of values once its values were found to breach, and a
    numeric one is cut where it gains most of the cuts that do not breach. Ties go to the attribute that comes first, to
    the smallest cut, and to the node that was made first. Values that nobody in a node has share an empty leaf with the
    node's own majority, and the label of a tie is the first of its classes. What gains at most 1e-12 is no candidate.

    With the selection "quinlan", a node has one candidate per attribute: its values, or their first generalisation that
    does not breach when the node is made, or of a number the cut with the largest gain of those that do not. Only these
    count in the node's average, those without gain included, and those above it join the queue. What is found to breach
    later, as other nodes with the same people have been split, is replaced, and the average taken anew. The release
    tells an adversary of no candidates, as they cannot know which ones were above the average.

    Parameters
    ----------
    training : Training
        The records, each of another person; the roles of attributes say which are public.
    asked : Kadet
    publish, inner_counts
        What the nodes state, see `maxent.models.trees.draft.freeze`.
    watch : callable, optional
        Is told of every candidate that is taken from the queue, a `maxent.models.defenses.kadet.grow.Step`.

    Raises
    ------
    InvalidInput
        Naming every unsuitable parameter; or when no tree keeps what is asked, as even a single leaf breaches, with the
        numbers that would be kept.
    """
    problems = list(kadet_problems(asked))
    if publish not in get_args(Publish):
        problems.append(_argument("publish", _one_of(get_args(Publish)), publish))
    if problems:
        raise InvalidInput("kadet", problems)
    domains = {a.name: a.values for a in training.attributes if a.values is not None}
    hierarchies = {name: read_hierarchy(source, name) for name, source in asked.hierarchies.items()}
    if problems := [*hierarchy_problems(hierarchies, domains), *_root_problems(training, asked)]:
        raise InvalidInput("kadet", problems)
    rules = Rules(
        asked.impurity,
        asked.k,
        criterion(asked),
        tuple(_groups(a.values, hierarchies.get(a.name)) for a in training.attributes),
        asked.class_public,
        asked.order == "weighted",
        asked.selection == "quinlan",
        asked.min_samples_split,
        asked.max_depth,
    )
    drafts = grow(training, rules, watch).drafts()
    if asked.confidence is not None:
        drafts = prune(drafts, asked.confidence)
    nodes = freeze(drafts, training.target.classes, publish, inner_counts=inner_counts)
    tree = Tree(nodes, Induction("kadet", asked.impurity, _candidates(training, asked), k=int(asked.k)))
    return Release(training.target, training.attributes, (tree,), defense=Defense("kadet", _parameters(asked)))


def criterion(asked: Kadet) -> Criterion:
    """What breaches: a span that is not as asked."""
    parts = [too_small(asked.k)]
    if asked.l is not None:
        parts.append((low_entropy if asked.diversity == "entropy" else few_classes)(asked.l))
    if asked.alpha is not None:
        parts.append(frequent_class(asked.alpha))
    return parts[0] if len(parts) == 1 else any_of(parts)


def _groups(values: tuple[str, ...] | None, hierarchy: Hierarchy | None) -> IntArray:
    """The levels of an attribute, see `Rules`."""
    if values is None:
        return np.zeros((0, 0), np.int64)
    return np.arange(len(values))[None] if hierarchy is None else hierarchy.groups(values)


def _candidates(training: Training, asked: Kadet) -> Candidates:
    """Which splits an adversary can tell to have competed.

    Whether a candidate left too uniform a span, or too few of a class, or gained less than others, depends on classes
    that they do not know.
    """
    if (
        asked.selection == "quinlan"
        or asked.l is not None
        or asked.alpha is not None
        or (asked.class_public and asked.k > 1)
    ):
        return "none"
    return "mixed" if any(a.values is None for a in training.attributes) else "unused"


def _parameters(asked: Kadet) -> dict[str, int | float | str]:
    """What the publication says about the defense."""
    said: dict[str, int | float | str] = {"k": int(asked.k), "class": "public" if asked.class_public else "private"}
    if asked.l is not None:
        said |= {"l": float(asked.l), "diversity": asked.diversity}
    if asked.alpha is not None:
        said["alpha"] = float(asked.alpha)
    if asked.confidence is None:
        return said | {"pruning": "none"}
    return said | {"pruning": "subtree replacement", "confidence": float(asked.confidence)}


def kadet_problems(asked: Kadet) -> Iterator[Problem]:
    """List what no data would make right."""
    for name, least, optional in (("k", 1, False), ("min_samples_split", 1, False), ("max_depth", 0, True)):
        value = getattr(asked, name)
        if not (optional and value is None) and not is_whole(value, least):
            expected = f"{'None or ' if optional else ''}a whole number, at least {least}"
            yield _argument(name, up_to_largest(expected, value), value)
    for name, low, high, words in (
        ("l", 1, np.inf, "a number above 1"),
        ("alpha", 0, 1, "a number above 0 and below 1"),
        ("confidence", 0, np.nextafter(0.5, 1), "a number above 0 and at most 0.5"),
    ):
        value = getattr(asked, name)
        if value is not None and not (is_number(value) and low < value < high):
            yield _argument(name, f"None or {words}", value)
    for name, known in (("diversity", Diversity), ("impurity", Impurity), ("selection", Selection), ("order", Order)):
        if getattr(asked, name) not in get_args(known):
            yield _argument(name, _one_of(get_args(known)), getattr(asked, name))
    if asked.selection == "quinlan" and asked.impurity != "gain_ratio":
        yield _argument("selection", "gain_ratio: only gain ratios are selected from above the average gain", "quinlan")
    if not isinstance(asked.class_public, (bool, np.bool_)):
        yield _argument("class_public", "True or False", asked.class_public)
    elif asked.class_public and (asked.l is not None or asked.alpha is not None):
        yield _argument("l and alpha", "None: a class that is public cannot be kept from anybody", "class_public=True")
    if not isinstance(asked.hierarchies, Mapping):
        yield _argument("hierarchies", "a mapping of attributes to hierarchies", asked.hierarchies)


def _root_problems(training: Training, asked: Kadet) -> Iterator[Problem]:
    """What a tree of one leaf already breaches."""
    counts = np.bincount(training.y, minlength=len(training.target.classes))
    n = int(counts.sum())
    if asked.class_public:
        named = {c: size for c, size in zip(training.target.classes, counts.tolist(), strict=True) if size}
        if small := {c: size for c, size in named.items() if size < asked.k}:
            expected = f"at most {min(named.values())}, the records of the rarest class, as the class is public"
            found = f"{asked.k}, but {shorten_list(small)} has {shorten_list(small.values())}"
            yield Problem("root", "k", expected, found)
    elif n < asked.k:
        yield Problem("root", "k", f"at most {n}, the records there are", str(asked.k))
    share = float(counts.max() / n)
    present = counts[counts > 0] / n
    if asked.l is not None and asked.diversity == "entropy" and low_entropy(asked.l)(counts[None])[0]:
        most = float(np.exp(-(present * np.log(present)).sum()))
        yield Problem("root", "l", f"at most {most:.6g}, e to the entropy of all records' classes", f"{asked.l:g}")
    if asked.l is not None and asked.diversity == "distinct" and few_classes(asked.l)(counts[None])[0]:
        yield Problem("root", "l", f"at most {len(present)}, the classes that occur", f"{asked.l:g}")
    if asked.alpha is not None and frequent_class(asked.alpha)(counts[None])[0]:
        expected = f"at least {share:.6g}, the share of {shorten(training.target.classes[int(counts.argmax())])}"
        yield Problem("root", "alpha", expected, f"{asked.alpha:g}")


def _argument(name: str, expected: str, found: object) -> Problem:
    return Problem("argument", name, expected, found if isinstance(found, str) and "=" in found else shorten(found))


def _one_of(known: tuple[str, ...]) -> str:
    return f"one of {', '.join(known)}"
