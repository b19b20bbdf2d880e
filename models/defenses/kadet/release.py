"""kADET: the release of a tree that keeps what is asked (Friedman, Schuster and Wolff 2006)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.defenses.kadet.grow import Rules, Watch, grow
from maxent.models.defenses.kadet.parameters import Kadet
from maxent.models.errors import InvalidInput, Problem
from maxent.models.induction.criteria import any_of, few_classes, frequent_class, low_entropy, too_small
from maxent.models.induction.error_pruning import prune
from maxent.models.induction.split_scores import Criterion
from maxent.models.parameters import problems_of, unknown_choice
from maxent.models.release import Candidates, Defense, Induction, Release, Tree
from maxent.models.tables.frame import shorten, shorten_list
from maxent.models.tables.hierarchies import Hierarchy, hierarchy_problems, read_hierarchy
from maxent.models.tables.training import Training
from maxent.models.trees.draft import Publish, freeze


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
    """
    if problems := [*problems_of(asked), *unknown_choice("publish", publish, get_args(Publish))]:
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
    """The criterion of a breach: a span that is not as asked."""
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
    """Splits that an adversary knows to have competed.

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
    """The parameters of the defense as the release states them."""
    said: dict[str, int | float | str] = {"k": int(asked.k), "class": "public" if asked.class_public else "private"}
    if asked.l is not None:
        said |= {"l": float(asked.l), "diversity": asked.diversity}
    if asked.alpha is not None:
        said["alpha"] = float(asked.alpha)
    if asked.confidence is None:
        return said | {"pruning": "none"}
    return said | {"pruning": "subtree replacement", "confidence": float(asked.confidence)}


def _root_problems(training: Training, asked: Kadet) -> Iterator[Problem]:
    """Breaches of a tree of one leaf."""
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
