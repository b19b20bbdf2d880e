"""From confidential records to a release that was defended: grow a tree, change it, and say what that gives.

``METHODS`` is the one place where a method of defense is registered: how it makes a release, whether it takes a k, and
what it guarantees.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from maxent.models.defenses.pruning import prune_leaf, prune_parent
from maxent.models.drafts import Publish
from maxent.models.errors import InvalidInput, Problem
from maxent.models.frames import shorten
from maxent.models.growth import Growth, growth_problems
from maxent.models.inducers import induce
from maxent.models.predict import tested_attributes
from maxent.models.release import Release
from maxent.models.restate import restate
from maxent.models.training import Training, read_training
from maxent.scoring import Score, cases_of, read_cases, score

if TYPE_CHECKING:
    from maxent.models.frames import Source
    from maxent.models.growth import CodedAs, Inducer
    from maxent.models.release import Impurity

DEFAULT_K = 5


@dataclass(frozen=True)
class Grown:
    """What a method works on: the records, how to grow a tree, and that tree, grown when first asked for."""

    training: Training
    growth: Growth

    @cached_property
    def release(self) -> Release:
        """The tree as it was grown, its leaves with their counts."""
        return induce(self.training, self.growth, publish="counts")


@dataclass(frozen=True, slots=True)
class Method:
    """A method of defense.

    ``apply`` makes a release, whose leaves state counts, from what was grown and k. ``promise`` says in words, with
    ``{k}``, what is guaranteed; a method without a promise takes no k and guarantees nothing.
    """

    apply: Callable[[Grown, int], Release]
    promise: str | None = None

    @property
    def has_k(self) -> bool:
        return self.promise is not None


METHODS: Mapping[str, Method] = {
    "none": Method(lambda grown, k: grown.release),
    "prune-leaf": Method(
        lambda grown, k: prune_leaf(grown.release, k),
        "no published leaf has fewer than {k} records, and nothing is stated about the leaves that were removed",
    ),
    "prune-parent": Method(
        lambda grown, k: prune_parent(grown.release, k),
        "no leaf has fewer than {k} records",
    ),
}


@dataclass(frozen=True, eq=False)
class Defended:
    """Releases that a method made, one for each k, with what became of the tree.

    ``rows`` has a mapping per release:

    - ``k``, None for a method without one; ``guarantee``, such as ``{"k": 5}``, None for none;
    - ``leaves_before`` (of the tree as it was grown) and ``leaves`` that are published; ``removed_leaves``, branches
      that end where a leaf was removed, and ``removed_records``, which no published leaf has;
    - ``pure_leaves`` and ``pure_records``: published leaves whose records all have one class, and the records in them;
    - ``train_accuracy`` and ``test_accuracy``, None without a test, of what is published.

    ``notes`` say in words what is guaranteed, and what is not.
    """

    method: str
    releases: tuple[Release, ...]
    rows: tuple[Mapping[str, Any], ...]
    records: int
    notes: tuple[str, ...]

    @property
    def release(self) -> Release:
        """The release; the first, when several k were asked for."""
        return self.releases[0]

    @property
    def summary(self) -> dict[str, Any]:
        """What ``maxent defend --json`` prints, but for the files: all rows as ``releases``, a single one as it is."""
        rows = deepcopy([dict(row) for row in self.rows])
        one = deepcopy(rows[0]) if len(rows) == 1 else {}
        return {"method": self.method, "records": self.records, **one, "releases": rows, "notes": list(self.notes)}

    def save(self, path: str | PathLike[str]) -> tuple[str, ...]:
        """Write every release as a maxent/1 file, atomically; the names of the files, see `file_names`.

        Raises
        ------
        InvalidInput
            When a file cannot be written.
        """
        files = file_names(path, [row["k"] for row in self.rows])
        for file, release in zip(files, self.releases, strict=True):
            release.save(file)
        return files


def file_names(path: str | PathLike[str], ks: Sequence[int | None]) -> tuple[str, ...]:
    """The file of each release: ``{k}`` in the name stands for k; several files without it get ``-k5`` at the end."""
    name = fspath(path)
    if "{k}" not in name and len(ks) > 1:
        name = str(Path(name).with_suffix("")) + "-k{k}" + Path(name).suffix
    return tuple(name if k is None else name.replace("{k}", str(k)) for k in ks)


def defend(
    data: Source,
    method: str = "none",
    *,
    target: str,
    qi: Sequence[str],
    private: Sequence[str] = (),
    k: int | Sequence[int] | None = None,
    inducer: Inducer = "cart",
    impurity: Impurity | None = None,
    max_depth: int | None = None,
    min_samples_leaf: int | None = None,
    min_samples_split: int = 2,
    encoding: CodedAs = "ordinal",
    publish: Publish = "counts",
    categorical: Sequence[str] = (),
    test: Source | None = None,
    seed: int | None = 0,
) -> Defended:
    """Grow a tree from confidential records, and defend it before it is published.

    Parameters
    ----------
    data : DataFrame or path
        One row per record; other columns than those named here are ignored.
    method : {"none", "prune-leaf", "prune-parent"}
        ``none`` publishes the tree as it is grown; the others are `maxent.models.defenses.pruning.prune_leaf` and
        `prune_parent`.
    target : str
        The column of the class.
    qi, private : sequence of str
        The attributes an adversary has in their table, and those they have not.
    k : int or sequence of int, optional
        The smallest leaf that is published, records; a release for each. Default 5 for the methods that take it.
    inducer, impurity, max_depth, min_samples_leaf, min_samples_split, encoding, seed
        How the tree is grown, see `maxent.models.growth.Growth`.
    publish : {"labels", "rates", "counts"}
        What the leaves state: the label; label, error rate and n; or label, n and counts. Inner nodes state nothing,
        as that could tell what removed leaves held.
    categorical : sequence of str
        Columns whose numbers are only names.
    test : DataFrame or path, optional
        Other records, for the test accuracy. They may have values and classes that the data have not.

    Returns
    -------
    Defended
        Frozen; ``.release`` (``.releases`` for several k), ``.rows``, ``.summary``, ``.save(path)``.

    Raises
    ------
    InvalidInput
        Naming every unsuitable option and column.
    """
    growth = Growth(inducer, impurity, max_depth, min_samples_leaf, min_samples_split, encoding, seed)
    problems = [*_option_problems(method, k, publish), *growth_problems(growth)]
    if problems:
        raise InvalidInput("options", problems)
    training = read_training(data, target=target, qi=qi, private=private, categorical=categorical, order=growth.order)
    cases = None if test is None else read_cases(test, "test", training.target, training.attributes)
    chosen, grown = METHODS[method], Grown(training, growth)
    ks = wanted_ks(method, k)
    releases, rows, notes = [], [], []
    for each in ks:
        counted = chosen.apply(grown, each or 1)
        release = restate(counted, publish)
        train = score(release, cases_of(training))
        tested = None if cases is None else score(release, cases)
        releases.append(release)
        rows.append(_row(each, grown, counted, train, tested))
        notes += [] if tested is None else [f"test: {note}" for note in tested.notes]
    notes = [*_caveats(chosen, ks, releases, rows, publish), *dict.fromkeys(notes)]
    return Defended(method, tuple(releases), tuple(rows), len(training), tuple(notes))


def wanted_ks(method: str, k: int | Sequence[int] | None) -> list[int | None]:
    """The k of each release, each once: `DEFAULT_K` when none is asked for, None for a method without one."""
    return list(dict.fromkeys(map(int, _listed(k)))) if METHODS[method].has_k else [None]


def _row(k: int | None, grown: Grown, release: Release, train: Score, test: Score | None) -> dict[str, Any]:
    """What became of the tree, see `Defended`, from a release whose leaves state their counts."""
    counts = [[n for n in (leaf.counts or {}).values() if n] for tree in release.trees for leaf in tree.leaves]
    pure = [classes[0] for classes in counts if len(classes) == 1]
    return {
        "k": k,
        "guarantee": None if k is None else {"k": k},
        "leaves_before": sum(len(tree.leaves) for tree in grown.release.trees),
        "leaves": len(counts),
        "removed_leaves": sum(b.child is None for tree in release.trees for node in tree.nodes for b in node.branches),
        "removed_records": len(grown.training) - sum(map(sum, counts)),
        "pure_leaves": len(pure),
        "pure_records": sum(pure),
        "train_accuracy": train.accuracy,
        "test_accuracy": None if test is None else test.accuracy,
    }


def _caveats(
    method: Method,
    ks: Sequence[int | None],
    releases: Sequence[Release],
    rows: Sequence[Mapping[str, Any]],
    publish: Publish,
) -> Iterator[str]:
    """What is guaranteed, and what is not, in words."""
    if method.promise is not None:
        yield "guaranteed: " + method.promise.format(k=ks[0] if len(ks) == 1 else "k")
    private = dict.fromkeys(a.name for release in releases for a in tested_attributes(release) if a.role == "private")
    if private and method.has_k:
        yield (
            f"this is not k-anonymity: the tree tests {', '.join(private)}, which an adversary does not know, and the "
            "people whom they cannot tell apart can be fewer than k (maxent audit TREE QI counts them)"
        )
    if publish != "labels" and any(row["pure_leaves"] for row in rows):
        yield "classes are not hidden: everybody in a pure leaf has the class that it states"


def _option_problems(method: str, k: object, publish: str) -> Iterator[Problem]:
    """What no data would make right; what is wrong with the growth of the tree comes on top."""
    if method not in METHODS:
        yield Problem("argument", "method", f"one of {', '.join(METHODS)}", shorten(method))
    elif k is not None and not METHODS[method].has_k:
        yield Problem("argument", "k", f"none for the method {method}, which makes no leaf larger", shorten(k))
    if not _listed(k):
        yield Problem("argument", "k", "at least one whole number of records", "none")
    for each in _listed(k):
        if not isinstance(each, (int, np.integer)) or isinstance(each, bool) or each < 1:
            yield Problem("argument", "k", "whole numbers of records, at least 1", shorten(each))
    if publish not in get_args(Publish):
        yield Problem("argument", "publish", f"one of {', '.join(get_args(Publish))}", shorten(publish))


def _listed(k: object) -> list[Any]:
    """The k that are asked for."""
    if k is None:
        return [DEFAULT_K]
    return list(k) if isinstance(k, Collection) and not isinstance(k, str) else [k]
