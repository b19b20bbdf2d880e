"""From confidential records to a release that was defended: grow a tree, change it, and say what that gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from maxent.models.defenses.kadet.parameters import Kadet
from maxent.models.defenses.options import erp_problems, option_problems
from maxent.models.defenses.random_trees.guarantee import RandomTrees
from maxent.models.defenses.random_trees.method import RDT, drawing_problems, drawn_notes, drawn_row, wanted_trees
from maxent.models.defenses.random_trees.votes import predict_votes
from maxent.models.defenses.registry import CONFIDENCE, COVERED, METHODS, Grown, wanted_ks
from maxent.models.defenses.result_rows import grown_notes, grown_row
from maxent.models.errors import InvalidInput
from maxent.models.induction.parameters import Growth, growth_problems
from maxent.models.reading import Reading, reader_of
from maxent.models.tables.domains import read_domains
from maxent.models.tables.training import read_training
from maxent.models.trees.accuracy import cases_of, read_cases, score
from maxent.models.trees.predict import predict_columns
from maxent.models.trees.restate import restate
from maxent.results.defended import Defended

if TYPE_CHECKING:
    from maxent.models.defenses.error_risk.prune import Rule
    from maxent.models.defenses.kadet.parameters import Diversity
    from maxent.models.defenses.random_trees.votes import Vote
    from maxent.models.defenses.registry import Published
    from maxent.models.induction.parameters import CodedAs, Inducer
    from maxent.models.records.generalize import Distance, Generalization
    from maxent.models.release import Impurity
    from maxent.models.tables.domains import DomainSource
    from maxent.models.tables.frame import Source
    from maxent.models.tables.hierarchies import HierarchySource
    from maxent.models.tables.training import Missing


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
    generalization: Generalization | None = None,
    trees: int | None = None,
    depth: int | None = None,
    beta: float | None = None,
    epsilon: float | None = None,
    vote: Vote | None = None,
    domains: DomainSource | None = None,
    reading: Reading | None = None,
) -> Defended:
    """Grow a tree from confidential records, and defend it before it is published.

    Parameters
    ----------
    data : DataFrame or path
        One row per record; other columns than those named here are ignored.
    method : {"none", "prune-leaf", "prune-parent", "kadet", "erp", "rdt"}
        ``none`` publishes the tree as it is grown; ``prune-leaf`` and ``prune-parent`` are those of
        `maxent.models.defenses.leaf_pruning`; ``kadet`` grows a k-anonymous tree, see
        `maxent.models.defenses.kadet.parameters.kadet`; ``erp``
        prunes by error-risk ratios, see `maxent.models.defenses.error_risk.prune`; ``rdt`` draws random trees without
        looking at the data and
        publishes large counts of samples, see `maxent.models.defenses.random_trees.trees`.
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
        How the tree is grown, see `maxent.models.induction.parameters.Growth`; ``kadet`` has no ``min_samples_leaf``,
        ``rdt`` none.
    seed : int, optional
        Decides between splits of cart that are equally good, default 0. It makes ``rdt`` repeatable, at the cost of
        what that guarantees; without it, samples are drawn from the operating system's cryptographic source.
    publish : {"labels", "rates", "counts", "records"}
        What the leaves state: the label; label, error rate and n; or label, n and counts. Inner nodes state nothing,
        as that could tell what removed leaves held. Or, of ``erp``, the records in place of the tree, generalised in
        tiers, see `maxent.models.records.generalize.tiered`.
    categorical : sequence of str
        Columns whose numbers are only names.
    missing : {"refuse", "category"}
        What is done with cells without a value of columns that are not numeric: nothing, which is an error, or make
        them a category of their own, which is right only if what is missing here is missing in the adversary's table.
    test : DataFrame or path, optional
        Other records, for the test accuracy. They may have values and classes that the data have not.
    l, diversity, alpha, hierarchies, class_public
        Of ``kadet``, see `maxent.models.defenses.kadet.parameters.Kadet`.
    rule : {"twig", "literal"}, optional
        Of ``erp``, which branches compete to be pruned; default ``twig``.
    distance : {"gower", "ranks"}, optional
        Of records in tiers, which neighbours are closest; default ``gower``.
    generalization : {"tiered", "uniform"}, optional
        Of records, whether they are generalised in tiers, the default, or are alike in each leaf of the pruned tree.
    trees, depth, beta, epsilon
        Of ``rdt``, see `maxent.models.defenses.random_trees.guarantee.RandomTrees`.
    vote : {"sums", "trees"}, optional
        Of ``rdt``, what the accuracies are of: predictions from the counts of all trees together, the default, or from
        a vote of the trees. What is published is the same.
    domains : mapping of column to domain, or path, optional
        Of ``rdt``, see `maxent.models.tables.domains.read_domains`. Without those of all columns and of the target
        nothing is
        guaranteed.
    reading : Reading, optional
        How all tables are read, see `maxent.models.reading.Reading`.

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
        *option_problems(method, k, publish, inducer, min_samples_leaf, asked),
        *erp_problems(method, publish, rule, distance, generalization, test),
        *drawing_problems(method, drawing, seed, {"vote": vote, "domains": domains}, growing, publish),
        *(growth_problems(growth) if method != RDT else ()),
    ]
    if problems:
        raise InvalidInput("options", problems)
    reader = reader_of(reading)
    stated = read_domains(domains, target, [*_names(qi), *_names(private)])
    training = read_training(
        data,
        target=target,
        qi=qi,
        private=private,
        categorical=categorical,
        domains=stated.values,
        order=growth.order,
        missing=missing,
        reader=reader,
    )
    cases = None if test is None else read_cases(test, "test", training.target, training.attributes, reader=reader)
    confidence = CONFIDENCE if growth.inducer == "c45" else None
    asked = replace(asked, impurity=growth.measure, confidence=confidence)
    chosen = METHODS[method]
    random = wanted_trees(drawing, seed) if method == RDT else RandomTrees()
    grown = Grown(
        chosen,
        training,
        growth,
        asked,
        rule or "twig",
        distance or "gower",
        random,
        stated,
        generalization or "tiered",
    )
    ks = wanted_ks(method, k)
    if publish == "records":
        made = _generalized(method, grown, [each for each in ks if each is not None])
        return replace(made, noticed=reader.noticed)
    predict = predict_votes if vote == "trees" else predict_columns
    releases, rows, notes = [], [], []
    for each in ks:
        least = 1 if each is None else each
        counted = chosen.apply(grown, least)
        release = counted if method == RDT else restate(counted, publish)
        train = score(release, cases_of(training), predict)
        tested = None if cases is None else score(release, cases, predict)
        releases.append(release)
        if method == RDT:
            rows.append(drawn_row(grown.drawn, least, release, train, tested))
        else:
            rows.append(grown_row(each, grown, counted, train, tested))
        notes += [] if tested is None else [f"test: {note}" for note in tested.notes]
    if method == RDT:
        said = drawn_notes(rows, random, stated.unstated(training))
    else:
        said = grown_notes(chosen, ks, releases, rows, publish, asked)
    notes = [*said, *dict.fromkeys(notes)]
    return Defended(method, tuple(releases), tuple(rows), len(training), tuple(notes), noticed=reader.noticed)


def _names(columns: object) -> list[str]:
    """Columns as far as they are names; what is wrong with them is told when the data are read."""
    return [str(name) for name in columns] if isinstance(columns, Iterable) else []


def _generalized(name: str, grown: Grown, ks: Sequence[int]) -> Defended:
    """The records of each k, generalised; the method can do that."""
    assert grown.method.generalize is not None
    tables = tuple(grown.method.generalize(grown, k) for k in ks)
    rows = tuple(
        {
            "k": k,
            "guarantee": {"kk" if grown.generalization == "tiered" else "k": k},
            "leaves_before": sum(len(tree.leaves) for tree in grown.release.trees),
            "gcp": table.gcp(),
            "k_anonymous": table.fewest_alike(),
        }
        for k, table in zip(ks, tables, strict=True)
    )
    notes = (
        "guaranteed: " + COVERED[grown.generalization].format(k=ks[0] if len(ks) == 1 else "k"),
        "classes are not hidden: each row has the class of its record",
    )
    return Defended(name, (), rows, len(grown.training), notes, tables)
