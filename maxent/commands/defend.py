"""``maxent defend``: grow a tree from confidential records, defend it, and write what is to be published."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

from maxent.command_line import panels
from maxent.commands import options as opt
from maxent.commands.progress import DONE, Job, tell_noticed


class MethodName(StrEnum):
    """Choices of METHOD, those of `maxent.models.defenses.registry.METHODS`."""

    none = "none"
    prune_leaf = "prune-leaf"
    prune_parent = "prune-parent"
    kadet = "kadet"
    erp = "erp"
    rdt = "rdt"


class InducerName(StrEnum):
    """Choices of ``--inducer``."""

    cart = "cart"
    id3 = "id3"
    c45 = "c45"


class EncodingName(StrEnum):
    """Choices of ``--encoding``."""

    ordinal = "ordinal"
    appearance = "appearance"
    onehot = "onehot"


class DiversityName(StrEnum):
    """Choices of ``--diversity``."""

    entropy = "entropy"
    distinct = "distinct"


class MissingName(StrEnum):
    """Choices of ``--missing``."""

    refuse = "refuse"
    category = "category"


class PublishName(StrEnum):
    """Choices of ``--publish``."""

    labels = "labels"
    rates = "rates"
    counts = "counts"
    records = "records"


class RuleName(StrEnum):
    """Choices of ``--rule``."""

    twig = "twig"
    literal = "literal"


class VoteName(StrEnum):
    """Choices of ``--vote``."""

    sums = "sums"
    trees = "trees"


class GeneralizationName(StrEnum):
    """Choices of ``--generalization``."""

    tiered = "tiered"
    uniform = "uniform"


class DistanceName(StrEnum):
    """Choices of ``--distance``."""

    gower = "gower"
    ranks = "ranks"


EXAMPLES = (
    "maxent defend none truth.csv --target Salary --qi Education,Country,Gender -o before.json",
    "maxent defend prune-parent truth.csv --target Salary --qi Education,Country,Gender --k 2 -o after.json",
)
"""Calls that its help ends with."""


def defend_command(
    method: Annotated[
        MethodName,
        typer.Argument(
            metavar="METHOD",
            help="none publishes the tree as it is; prune-leaf removes the leaves with fewer than k records; "
            "prune-parent makes a leaf of every node with such a child, until there is none; kadet grows a tree that "
            "is k-anonymous by construction; erp prunes where people are the easiest to re-identify for the errors it "
            "makes; rdt publishes the large counts of samples, in trees drawn at random.",
        ),
    ],
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="The confidential records, a row for each, .csv or .parquet.")
    ],
    target: Annotated[str, panels.read(metavar="COLUMN", help=opt.TARGET)],
    qi: Annotated[
        list[str],
        panels.read(metavar="A,B,...", help="Columns that the adversary's table has, too; others are ignored."),
    ],
    output: Annotated[
        str,
        panels.output(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the result: the release, a .json file, records .csv or .parquet; with several k one for "
            "each: {k} in the name, else -k5 at its end.",
        ),
    ],
    private: Annotated[
        list[str] | None,
        panels.read(metavar="C,D,...", help="Columns that the tree may test and the adversary's table has not."),
    ] = None,
    k: Annotated[
        list[int] | None,
        panels.defended(
            "--k",
            metavar="N",
            help="Records in the smallest leaf, of kadet in the smallest group that is not told apart, of rdt in the "
            "smallest count; may be repeated. Default: 5, of rdt 20.",
        ),
    ] = None,
    inducer: Annotated[
        InducerName | None, panels.grown(help="What grows the tree; default: cart, of kadet (id3 or c45) id3.")
    ] = None,
    impurity: Annotated[opt.ImpurityName | None, panels.grown(help=opt.IMPURITY)] = None,
    max_depth: Annotated[int | None, panels.grown(metavar="N", help="Splits above the deepest leaf.")] = None,
    min_samples_leaf: Annotated[
        int | None, panels.grown(metavar="N", help="Records in the smallest leaf that is grown.")
    ] = None,
    min_samples_split: Annotated[
        int, panels.grown(metavar="N", help="Records in the smallest node that is split.")
    ] = 2,
    encoding: Annotated[
        EncodingName,
        panels.grown(help="How cart sees categories: as numbers, sorted or in order of appearance, or one by one."),
    ] = EncodingName.ordinal,
    publish: Annotated[
        PublishName,
        panels.output(
            help="What leaves state: the label; also error rate and size; or all counts. Or, of erp, the records in "
            "place of the tree, generalised."
        ),
    ] = PublishName.counts,
    categorical: Annotated[
        list[str] | None, panels.read(metavar="A,B,...", help="Columns whose numbers are only names.")
    ] = None,
    missing: Annotated[
        MissingName, panels.read(help="Cells without a value: an error, or, of categories, a value of their own.")
    ] = MissingName.refuse,
    test: opt.Test = None,
    seed: Annotated[int | None, panels.grown(metavar="N", help=opt.SEED)] = None,
    diversity: Annotated[
        DiversityName, panels.kadet(help="What --l is about: e to the entropy of classes, or how many there are.")
    ] = DiversityName.entropy,
    least_diverse: Annotated[
        float | None,
        panels.kadet("--l", metavar="L", help="The least diversity of the classes of a group, above 1."),
    ] = None,
    alpha: Annotated[
        float | None, panels.kadet(metavar="P", help="The largest share of a class in a group, below 1.")
    ] = None,
    hierarchies: Annotated[
        str | None,
        panels.kadet(metavar="FOLDER", help="A file COLUMN.csv for each column whose values can be generalised."),
    ] = None,
    class_public: Annotated[
        bool, panels.kadet("--class-public", help="The adversary's table has the class, too.")
    ] = False,
    rule: Annotated[
        RuleName | None,
        panels.erp(help="erp: which branches compete to be pruned; default: twig, those of the small leaves' parents."),
    ] = None,
    distance: Annotated[
        DistanceName | None, panels.erp(help="Of records in tiers: which neighbours are closest; default: gower.")
    ] = None,
    generalization: Annotated[
        GeneralizationName | None,
        panels.erp(
            help="Of records: in tiers, small leaves with what they borrow, or all of a leaf of the pruned tree alike; "
            "default: tiered."
        ),
    ] = None,
    trees: Annotated[int | None, panels.rdt(metavar="N", help="How many trees; default: 10.")] = None,
    depth: Annotated[
        int | None, panels.rdt(metavar="N", help="Splits on every path; default: half the columns.")
    ] = None,
    beta: Annotated[
        float | None,
        panels.rdt(metavar="P", help="The probability with which a tree counts a record; default: 0.1."),
    ] = None,
    epsilon: Annotated[
        float | None,
        panels.rdt(metavar="X", help="Where to state delta; default: the least with a delta of at most 1e-6."),
    ] = None,
    vote: Annotated[
        VoteName | None,
        panels.rdt(help="What predicts, the counts of all trees together or a vote of the trees; default: sums."),
    ] = None,
    domains: Annotated[
        str | None,
        panels.rdt(
            metavar="FILE",
            help="What is known without the data, JSON: for each column, and the class, the list of its values "
            "or [lowest, highest].",
        ),
    ] = None,
    text: opt.Text = None,
    na: opt.NA = None,
    max_memory: opt.MaxMemory = None,
    csv_delimiter: opt.CsvDelimiter = None,
    csv_decimal: opt.CsvDecimal = None,
    csv_literal: opt.CsvLiteral = False,
    as_json: opt.Json = False,
) -> Job:
    """Grow a decision tree from confidential records, defend it, and write the release.

    Prints how many leaves are left, how well it predicts, and what is guaranteed.
    """
    options = {
        "target": target,
        "qi": opt.columns(qi),
        "private": opt.columns(private or ()),
        "k": list(k) if k else None,
        "inducer": None if inducer is None else inducer.value,
        "impurity": None if impurity is None else impurity.value,
        "max_depth": max_depth,
        "min_samples_leaf": min_samples_leaf,
        "min_samples_split": min_samples_split,
        "encoding": encoding.value,
        "publish": publish.value,
        "categorical": opt.columns(categorical or ()),
        "missing": missing.value,
        "test": test,
        "seed": seed,
        "l": least_diverse,
        "diversity": diversity.value,
        "alpha": alpha,
        "hierarchies": hierarchies,
        "class_public": class_public,
        "rule": None if rule is None else rule.value,
        "distance": None if distance is None else distance.value,
        "generalization": None if generalization is None else generalization.value,
        "trees": trees,
        "depth": depth,
        "beta": beta,
        "epsilon": epsilon,
        "vote": None if vote is None else vote.value,
        "domains": domains,
        "reading": opt.reading(text, na, max_memory, csv_delimiter, csv_decimal),
    }
    return partial(_run, method.value, data, options, as_json, output, csv_literal)


def _run(method: str, data: str, options: dict[str, Any], as_json: bool, output: str, csv_literal: bool) -> int:
    from maxent.api.defend import defend
    from maxent.models.defenses.registry import wanted_ks
    from maxent.models.files.output import check_outputs
    from maxent.results.defended import RECORDS, TREES, file_names
    from maxent.text.defended import print_defended
    from maxent.text.terminal import print_json

    if options["hierarchies"] is not None:
        from maxent.models.tables.hierarchies import hierarchy_files

        columns = [*options["qi"], *options["private"]]
        options = {**options, "hierarchies": hierarchy_files(options["hierarchies"], columns)}
    ks = wanted_ks(method, options["k"])
    files = file_names(output, ks)
    suffixes = RECORDS if options["publish"] == "records" else TREES
    named = ["-o"] if len(files) == 1 else [f"-o (k = {k})" for k in ks]
    allowed = {name: (file, suffixes) for name, file in zip(named, files, strict=True)}
    hierarchies = (options["hierarchies"] or {}).values()
    check_outputs(allowed, [data, options["test"], options["domains"], *hierarchies])
    result = defend(data, method, **options)
    tell_noticed(result.noticed)
    result.save(output, csv_literal=csv_literal)
    if as_json:
        summary = result.summary
        for row, file in zip(summary["releases"], files, strict=True):
            row["file"] = file
        print_json(summary)
    else:
        print_defended(result, files)
    return DONE
