"""From confidential records to a release that was defended: grow a tree, change it, and say what that gives.

``METHODS`` is the one place where a method of defense is registered: how it makes a release, whether it takes a k, and
what it guarantees.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from maxent.drawing import DEFAULT_K as DEFAULT_K_RDT
from maxent.drawing import RDT, drawing_problems, drawn_notes, drawn_row, wanted_trees
from maxent.models.boxes import GeneralizedTable
from maxent.models.defenses.pruning import prune_leaf, prune_parent
from maxent.models.domains import Domains, read_domains
from maxent.models.drafts import Publish
from maxent.models.erp import ERP, Rule, prune_erp
from maxent.models.errors import InvalidInput, Problem
from maxent.models.frames import shorten
from maxent.models.generalize import Distance, tiered
from maxent.models.growth import Growth, growth_problems
from maxent.models.inducers import induce
from maxent.models.kadet import Diversity, Kadet, kadet, kadet_problems
from maxent.models.predict import tested_attributes
from maxent.models.random_trees import Drawn, RandomTrees, draw
from maxent.models.release import Release
from maxent.models.restate import restate
from maxent.models.risk import ranges_of
from maxent.models.training import Missing, Training, read_training
from maxent.report import check_outputs, save_frame
from maxent.scoring import Score, cases_of, read_cases, score

if TYPE_CHECKING:
    from maxent.models.domains import DomainSource
    from maxent.models.frames import Source
    from maxent.models.growth import CodedAs, Inducer
    from maxent.models.hierarchies import HierarchySource
    from maxent.models.release import Impurity

DEFAULT_K = 5

Published = Literal[Publish, "records"]
"""What is published: a tree, of whose leaves something is stated, or records."""

TREES, RECORDS = (".json",), (".csv", ".parquet")
"""Suffixes of the files that trees, and records, can be written to."""


@dataclass(frozen=True)
class Grown:
    """What a method works on: the records, how to grow a tree, and that tree, grown when first asked for.

    ``asked`` is what k-anonymous induction is to keep, but for k; ``rule`` and ``distance`` are those of error-risk
    pruning; ``random`` is how random trees are drawn, over these ``domains``.
    """

    method: Method
    training: Training
    growth: Growth
    asked: Kadet = field(default_factory=Kadet)
    rule: Rule = "twig"
    distance: Distance = "gower"
    random: RandomTrees = field(default_factory=RandomTrees)
    domains: Domains = field(default_factory=Domains)

    @cached_property
    def drawn(self) -> Drawn:
        """Random trees, filled from samples."""
        return draw(self.training, self.random, self.domains)

    @cached_property
    def release(self) -> Release:
        """The tree as it is without the method, its leaves with their counts."""
        return self.method.plain(self)


@dataclass(frozen=True, slots=True)
class Method:
    """A method of defense.

    ``apply`` makes a release, whose leaves state counts, from what was grown and k; ``plain`` grows the tree that it
    is compared with. ``promise`` says in words, with ``{k}``, what is guaranteed; a method without a promise takes no
    k and guarantees nothing. ``inducers`` are those it can grow a tree with, its default first. ``anonymous`` methods
    guarantee k-anonymity, also of trees that test private attributes. ``generalize`` makes records, of a method that
    can publish these instead of a tree. ``default_k`` is the k when none is asked for.
    """

    apply: Callable[[Grown, int], Release]
    promise: str | None = None
    plain: Callable[[Grown], Release] = lambda grown: induce(grown.training, grown.growth, publish="counts")
    inducers: tuple[Inducer, ...] = ("cart", "id3", "c45")
    anonymous: bool = False
    generalize: Callable[[Grown, int], GeneralizedTable] | None = None
    default_k: int = DEFAULT_K

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
    "kadet": Method(
        lambda grown, k: kadet(grown.training, replace(grown.asked, k=k)),
        "{k}-anonymity: who knows the public attributes of everybody can link nothing to fewer than {k} of them",
        plain=lambda grown: kadet(grown.training, _plainly(grown.asked)),
        inducers=("id3", "c45"),
        anonymous=True,
    ),
    ERP: Method(
        lambda grown, k: prune_erp(
            grown.release, k, ranges=ranges_of(grown.training.attributes, grown.training.columns), rule=grown.rule
        ),
        "every leaf has no records or at least {k}",
        generalize=lambda grown, k: tiered(grown.training, grown.release, k, distance=grown.distance),
    ),
    RDT: Method(
        lambda grown, k: grown.drawn.release(k),
        "no count is published of fewer than {k} sampled people of a leaf and a class",
        default_k=DEFAULT_K_RDT,
    ),
}

COVERED = (
    "({k},{k})-anonymity, which is not k-anonymity: at least {k} published rows cover each record, and each row covers "
    "at least {k} records, but fewer than {k} rows may be alike"
)
"""What is guaranteed of generalised records."""

CONFIDENCE = 0.25
"""The confidence factor that C4.5 prunes with."""


def _plainly(asked: Kadet) -> Kadet:
    """The same growth without anything to keep."""
    return replace(asked, k=1, l=None, alpha=None, class_public=False)


@dataclass(frozen=True, eq=False)
class Defended:
    """Releases that a method made, one for each k, with what became of the tree.

    They are ``tables`` of generalised records when these were to be published, and otherwise trees, the ``releases``;
    the other of the two is empty. ``rows`` has a mapping for each, of trees:

    - ``k``, None for a method without one; ``guarantee``, such as ``{"k": 5}``, None for none;
    - ``leaves_before`` (of the tree as it was grown) and ``leaves`` that are published; ``removed_leaves``, branches
      that end where a leaf was removed, and ``removed_records``, which no published leaf has;
    - ``pure_leaves`` and ``pure_records``: published leaves whose records all have one class, and the records in them;
    - ``train_accuracy`` and ``test_accuracy``, None without a test, of what is published.

    And of records:

    - ``k`` and ``guarantee``, ``{"kk": 5}`` for (5,5)-anonymity; ``leaves_before``;
    - ``gcp``, the global certainty penalty, 0 (records as they are) to 1; and ``k_anonymous``, how many rows are alike
      at the least.

    And of random trees:

    - ``k`` and ``guarantee``, with ``beta``, ``epsilon``, ``delta`` and ``tight_delta`` of
      `maxent.models.random_trees.Guarantee`, None for nothing; ``leaves_before``, which samples reach, and ``leaves``
      with published counts; ``train_accuracy`` and ``test_accuracy``.

    ``notes`` say in words what is guaranteed, and what is not.
    """

    method: str
    releases: tuple[Release, ...]
    rows: tuple[Mapping[str, Any], ...]
    records: int
    notes: tuple[str, ...]
    tables: tuple[GeneralizedTable, ...] = ()

    @property
    def release(self) -> Release:
        """The tree that is published; the first, when several k were asked for."""
        return self.releases[0]

    @property
    def summary(self) -> dict[str, Any]:
        """What ``maxent defend --json`` prints, but for the files: all rows as ``releases``, a single one as it is."""
        rows = deepcopy([dict(row) for row in self.rows])
        one = deepcopy(rows[0]) if len(rows) == 1 else {}
        return {"method": self.method, "records": self.records, **one, "releases": rows, "notes": list(self.notes)}

    def save(self, path: str | PathLike[str]) -> tuple[str, ...]:
        """Write every release, trees as maxent/1 files, records as .csv or .parquet; each file atomically.

        Returns
        -------
        tuple of str
            The names of the files, see `file_names`.

        Raises
        ------
        InvalidInput
            When a file cannot be written.
        """
        files = file_names(path, [row["k"] for row in self.rows])
        if self.tables:
            check_outputs({f"output {file}": (file, RECORDS) for file in files})
            for file, table in zip(files, self.tables, strict=True):
                save_frame(file, table.frame(), lambda rows: {"rows": rows})
        else:
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
    inducer: Inducer | None = None,
    impurity: Impurity | None = None,
    max_depth: int | None = None,
    min_samples_leaf: int | None = None,
    min_samples_split: int = 2,
    encoding: CodedAs = "ordinal",
    publish: Published = "counts",
    categorical: Sequence[str] = (),
    missing: Missing = "refuse",
    test: Source | None = None,
    seed: int | None = None,
    l: float | None = None,  # noqa: E741 (the l of l-diversity)
    diversity: Diversity = "entropy",
    alpha: float | None = None,
    hierarchies: Mapping[str, HierarchySource] | None = None,
    class_public: bool = False,
    rule: Rule | None = None,
    distance: Distance | None = None,
    trees: int | None = None,
    depth: int | None = None,
    beta: float | None = None,
    epsilon: float | None = None,
    domains: DomainSource | None = None,
) -> Defended:
    """Grow a tree from confidential records, and defend it before it is published.

    Parameters
    ----------
    data : DataFrame or path
        One row per record; other columns than those named here are ignored.
    method : {"none", "prune-leaf", "prune-parent", "kadet", "erp", "rdt"}
        ``none`` publishes the tree as it is grown; ``prune-leaf`` and ``prune-parent`` are those of
        `maxent.models.defenses.pruning`; ``kadet`` grows a k-anonymous tree, see `maxent.models.kadet.kadet`; ``erp``
        prunes by error-risk ratios, see `maxent.models.erp`; ``rdt`` draws random trees without looking at the data and
        publishes large counts of samples, see `maxent.models.random_trees`.
    target : str
        The column of the class.
    qi, private : sequence of str
        The attributes an adversary has in their table, and those they have not.
    k : int or sequence of int, optional
        The smallest leaf that is published, of ``kadet`` the smallest group of people whom the release does not tell
        apart, of ``rdt`` the smallest count that is published, records; a release for each. Default 5 for the methods
        that take it, 20 for ``rdt``.
    inducer : {"cart", "id3", "c45"}, optional
        Default cart; of ``kadet``, which can be id3 (information gain) or c45 (gain ratio, pruned), id3.
    impurity, max_depth, min_samples_leaf, min_samples_split, encoding
        How the tree is grown, see `maxent.models.growth.Growth`; ``kadet`` has no ``min_samples_leaf``, ``rdt`` none.
    seed : int, optional
        Decides between splits of cart that are equally good, default 0. It makes ``rdt`` repeatable, at the cost of
        what that guarantees; without it, samples are drawn from the operating system's cryptographic source.
    publish : {"labels", "rates", "counts", "records"}
        What the leaves state: the label; label, error rate and n; or label, n and counts. Inner nodes state nothing,
        as that could tell what removed leaves held. Or, of ``erp``, the records in place of the tree, generalised in
        tiers, see `maxent.models.generalize.tiered`.
    categorical : sequence of str
        Columns whose numbers are only names.
    missing : {"refuse", "category"}
        What is done with cells without a value of columns that are not numeric: nothing, which is an error, or make
        them a category of their own, which is right only if what is missing here is missing in the adversary's table.
    test : DataFrame or path, optional
        Other records, for the test accuracy. They may have values and classes that the data have not.
    l, diversity, alpha, hierarchies, class_public
        Of ``kadet``, see `maxent.models.kadet.Kadet`.
    rule : {"twig", "literal"}, optional
        Of ``erp``, which branches compete to be pruned; default ``twig``.
    distance : {"gower", "ranks"}, optional
        Of records, which neighbours are closest; default ``gower``.
    trees, depth, beta, epsilon
        Of ``rdt``, see `maxent.models.random_trees.RandomTrees`.
    domains : mapping of column to domain, or path, optional
        Of ``rdt``, see `maxent.models.domains.read_domains`. Without those of all columns and of the target nothing is
        guaranteed.

    Returns
    -------
    Defended
        Frozen; ``.release`` (``.releases`` for several k; ``.tables`` of records), ``.rows``, ``.summary``,
        ``.save(path)``.

    Raises
    ------
    InvalidInput
        Naming every unsuitable option and column.
    """
    asked = Kadet(
        l=l,
        diversity=diversity,
        alpha=alpha,
        hierarchies={} if hierarchies is None else hierarchies,
        class_public=class_public,
        min_samples_split=min_samples_split,
        max_depth=max_depth,
    )
    growth = Growth(
        inducer or METHODS.get(method, METHODS["none"]).inducers[0],
        impurity,
        max_depth,
        min_samples_leaf,
        min_samples_split,
        encoding,
        0 if seed is None or method == RDT else seed,
    )
    drawing = {"trees": trees, "depth": depth, "beta": beta, "epsilon": epsilon}
    growing = {
        "inducer": inducer,
        "impurity": impurity,
        "max_depth": max_depth,
        "min_samples_leaf": min_samples_leaf,
        "min_samples_split": None if min_samples_split == 2 else min_samples_split,
        "encoding": None if encoding == "ordinal" else encoding,
    }
    problems = [
        *_option_problems(method, k, publish, inducer, min_samples_leaf, asked),
        *_erp_problems(method, publish, rule, distance, test),
        *drawing_problems(method, drawing, seed, domains, growing, publish),
        *(growth_problems(growth) if method != RDT else ()),
    ]
    if problems:
        raise InvalidInput("options", problems)
    stated = read_domains(domains, target)
    training = read_training(
        data,
        target=target,
        qi=qi,
        private=private,
        categorical=categorical,
        domains=stated.values,
        order=growth.order,
        missing=missing,
    )
    cases = None if test is None else read_cases(test, "test", training.target, training.attributes)
    confidence = CONFIDENCE if growth.inducer == "c45" else None
    asked = replace(asked, impurity=growth.measure, confidence=confidence)
    chosen = METHODS[method]
    random = wanted_trees(drawing, seed) if method == RDT else RandomTrees()
    grown = Grown(chosen, training, growth, asked, rule or "twig", distance or "gower", random, stated)
    ks = wanted_ks(method, k)
    if publish == "records":
        return _generalized(method, grown, [each for each in ks if each is not None])
    releases, rows, notes = [], [], []
    for each in ks:
        counted = chosen.apply(grown, each or 1)
        release = counted if method == RDT else restate(counted, publish)
        train = score(release, cases_of(training))
        tested = None if cases is None else score(release, cases)
        releases.append(release)
        if method == RDT:
            rows.append(drawn_row(grown.drawn, each or 1, release, train, tested))
        else:
            rows.append(_row(each, grown, counted, train, tested))
        notes += [] if tested is None else [f"test: {note}" for note in tested.notes]
    if method == RDT:
        notes = [*drawn_notes(rows, random, stated.unstated(training)), *dict.fromkeys(notes)]
    else:
        notes = [*_caveats(chosen, ks, releases, rows, publish, asked), *dict.fromkeys(notes)]
    return Defended(method, tuple(releases), tuple(rows), len(training), tuple(notes))


def wanted_ks(method: str, k: int | Sequence[int] | None) -> list[int | None]:
    """The k of each release, each once: the method's default when none is asked for, None for a method without one."""
    chosen = METHODS[method]
    return list(dict.fromkeys(map(int, _listed(k, chosen.default_k)))) if chosen.has_k else [None]


def _generalized(name: str, grown: Grown, ks: Sequence[int]) -> Defended:
    """The records of each k, generalised; the method can do that."""
    assert grown.method.generalize is not None
    tables = tuple(grown.method.generalize(grown, k) for k in ks)
    rows = tuple(
        {
            "k": k,
            "guarantee": {"kk": k},
            "leaves_before": sum(len(tree.leaves) for tree in grown.release.trees),
            "gcp": table.gcp(),
            "k_anonymous": table.fewest_alike(),
        }
        for k, table in zip(ks, tables, strict=True)
    )
    notes = (
        "guaranteed: " + COVERED.format(k=ks[0] if len(ks) == 1 else "k"),
        "classes are not hidden: each row has the class of its record",
    )
    return Defended(name, (), rows, len(grown.training), notes, tables)


def _row(k: int | None, grown: Grown, release: Release, train: Score, test: Score | None) -> dict[str, Any]:
    """What became of the tree, see `Defended`, from a release whose leaves state their counts."""
    counts = [[n for n in (leaf.counts or {}).values() if n] for tree in release.trees for leaf in tree.leaves]
    pure = [classes[0] for classes in counts if len(classes) == 1]
    return {
        "k": k,
        "guarantee": _guarantee(grown, k),
        "leaves_before": sum(len(tree.leaves) for tree in grown.release.trees),
        "leaves": len(counts),
        "removed_leaves": sum(b.child is None for tree in release.trees for node in tree.nodes for b in node.branches),
        "removed_records": len(grown.training) - sum(map(sum, counts)),
        "pure_leaves": len(pure),
        "pure_records": sum(pure),
        "train_accuracy": train.accuracy,
        "test_accuracy": None if test is None else test.accuracy,
    }


def _guarantee(grown: Grown, k: int | None) -> dict[str, int | float | str] | None:
    """What the release is guaranteed to keep, None for nothing."""
    if k is None:
        return None
    asked = grown.asked
    kept: dict[str, int | float | str] = {"k": k}
    kept |= {} if asked.l is None else {"l": asked.l, "diversity": asked.diversity}
    kept |= {} if asked.alpha is None else {"alpha": asked.alpha}
    return kept | ({"class": "public"} if asked.class_public else {})


def _kept(asked: Kadet) -> str:
    """What is guaranteed of the classes besides k, in words."""
    words = ", who have the same class, which the adversary knows" if asked.class_public else ""
    if asked.l is not None:
        least = f"{asked.l:g} different classes" if asked.diversity == "distinct" else f"an entropy of log {asked.l:g}"
        words += f"; the classes of such a group have at least {least}"
    return words + ("" if asked.alpha is None else f"; no class has more than a share of {asked.alpha:g} of it")


def _caveats(
    method: Method,
    ks: Sequence[int | None],
    releases: Sequence[Release],
    rows: Sequence[Mapping[str, Any]],
    publish: Publish,
    asked: Kadet,
) -> Iterator[str]:
    """What is guaranteed, and what is not, in words."""
    if method.promise is not None:
        yield "guaranteed: " + method.promise.format(k=ks[0] if len(ks) == 1 else "k") + _kept(asked)
    private = dict.fromkeys(a.name for release in releases for a in tested_attributes(release) if a.role == "private")
    if private and method.has_k and not method.anonymous:
        yield (
            f"this is not k-anonymity: the tree tests {', '.join(private)}, which an adversary does not know, and the "
            "people whom they cannot tell apart can be fewer than k (maxent audit TREE QI counts them)"
        )
    if publish != "labels" and any(row["pure_leaves"] for row in rows):
        yield "classes are not hidden: everybody in a pure leaf has the class that it states"


def _option_problems(
    method: str, k: object, publish: str, inducer: str | None, min_samples_leaf: object, asked: Kadet
) -> Iterator[Problem]:
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
    if publish not in get_args(Published):
        yield Problem("argument", "publish", f"one of {', '.join(get_args(Published))}", shorten(publish))
    if method == "kadet":
        inducers = METHODS[method].inducers
        if inducer is not None and inducer not in inducers:
            yield Problem("argument", "inducer", f"one of {', '.join(inducers)} for kadet", shorten(inducer))
        if min_samples_leaf is not None:
            yield Problem("argument", "min_samples_leaf", "none for kadet: k says it", shorten(min_samples_leaf))
        own = ("l", "alpha", "diversity", "hierarchies", "class_public", "l and alpha")
        yield from (problem for problem in kadet_problems(asked) if problem.field in own)
    elif method in METHODS:
        plain = Kadet()
        for name in ("l", "alpha", "diversity", "hierarchies", "class_public"):
            if getattr(asked, name) != getattr(plain, name):
                expected = f"none for the method {method}: it is an option of kadet"
                yield Problem("argument", name, expected, shorten(getattr(asked, name)))


def _erp_problems(method: str, publish: str, rule: object, distance: object, test: object) -> Iterator[Problem]:
    """What is wrong with options of error-risk pruning, and of records in place of a tree."""
    records = publish == "records"
    if method in METHODS and records and METHODS[method].generalize is None:
        can = ", ".join(name for name, m in METHODS.items() if m.generalize is not None)
        expected = f"{', '.join(get_args(Publish))} for the method {method}: only {can} can publish records"
        yield Problem("argument", "publish", expected, "records")
    for name, value, choices in (("rule", rule, get_args(Rule)), ("distance", distance, get_args(Distance))):
        if value is not None and value not in choices:
            yield Problem("argument", name, f"one of {', '.join(choices)}", shorten(value))
    if rule is not None and method in METHODS and method != ERP:
        yield Problem("argument", "rule", f"none for the method {method}: it is an option of {ERP}", shorten(rule))
    elif rule is not None and records:
        yield Problem(
            "argument", "rule", "none for records, which do not depend on how trees are pruned", shorten(rule)
        )
    if distance is not None and not records:
        yield Problem("argument", "distance", "none but for records, of which it finds neighbours", shorten(distance))
    if test is not None and records:
        yield Problem("argument", "test", "none for records, which do not predict", shorten(test))


def _listed(k: object, default: int = DEFAULT_K) -> list[Any]:
    """The k that are asked for."""
    if k is None:
        return [default]
    return list(k) if isinstance(k, Collection) and not isinstance(k, str) else [k]
