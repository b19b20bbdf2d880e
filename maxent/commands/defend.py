"""``maxent defend``: grow a tree from confidential records, defend it, and write what is to be published."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

import typer

from maxent.commands import options as opt
from maxent.commands.jobs import DONE, Job


class MethodName(StrEnum):
    """Choices of METHOD, those of `maxent.methods.METHODS`."""

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
    target: Annotated[str, typer.Option(metavar="COLUMN", help="The column of the class.")],
    qi: Annotated[
        list[str],
        typer.Option(metavar="A,B,...", help="Columns that the adversary's table has, too; others are ignored."),
    ],
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the release, a .json file, records .csv or .parquet; with several k one for each: {k} in the "
            "name, else -k5 at its end.",
        ),
    ],
    private: Annotated[
        list[str] | None,
        typer.Option(metavar="C,D,...", help="Columns that the tree may test and the adversary's table has not."),
    ] = None,
    k: Annotated[
        list[int] | None,
        typer.Option(
            "--k",
            metavar="N",
            help="Records in the smallest leaf, of kadet in the smallest group that is not told apart, of rdt in the "
            "smallest count; may be repeated. Default: 5, of rdt 20.",
        ),
    ] = None,
    inducer: Annotated[
        InducerName | None, typer.Option(help="What grows the tree; default: cart, of kadet (id3 or c45) id3.")
    ] = None,
    impurity: Annotated[
        opt.ImpurityName | None,
        typer.Option(help="How splits are chosen; default: gini (cart), entropy (id3), gain_ratio (c45)."),
    ] = None,
    max_depth: Annotated[int | None, typer.Option(metavar="N", help="Splits above the deepest leaf.")] = None,
    min_samples_leaf: Annotated[
        int | None, typer.Option(metavar="N", help="Records in the smallest leaf that is grown.")
    ] = None,
    min_samples_split: Annotated[
        int, typer.Option(metavar="N", help="Records in the smallest node that is split.")
    ] = 2,
    encoding: Annotated[
        EncodingName,
        typer.Option(help="How cart sees categories: as numbers, sorted or in order of appearance, or one by one."),
    ] = EncodingName.ordinal,
    publish: Annotated[
        PublishName,
        typer.Option(
            help="What leaves state: the label; also error rate and size; or all counts. Or, of erp, the records in "
            "place of the tree, generalised."
        ),
    ] = PublishName.counts,
    categorical: Annotated[
        list[str] | None, typer.Option(metavar="A,B,...", help="Columns whose numbers are only names.")
    ] = None,
    missing: Annotated[
        MissingName, typer.Option(help="Cells without a value: an error, or, of categories, a value of their own.")
    ] = MissingName.refuse,
    test: Annotated[
        str | None, typer.Option(metavar="FILE", help="Other records, for the accuracy on people not trained on.")
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Decides between splits of cart that are equally good; makes rdt repeatable, at the cost of its "
            "guarantee against those who guess it.",
        ),
    ] = None,
    diversity: Annotated[
        DiversityName, typer.Option(help="What --l is about: e to the entropy of classes, or how many there are.")
    ] = DiversityName.entropy,
    least_diverse: Annotated[
        float | None,
        typer.Option("--l", metavar="L", help="kadet: the least diversity of the classes of a group, above 1."),
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(metavar="P", help="kadet: the largest share of a class in a group, below 1.")
    ] = None,
    hierarchies: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="kadet: a file COLUMN.csv for each column whose values can be generalised."
        ),
    ] = None,
    class_public: Annotated[
        bool, typer.Option("--class-public", help="kadet: the adversary's table has the class, too.")
    ] = False,
    rule: Annotated[
        RuleName | None,
        typer.Option(
            help="erp: which branches compete to be pruned; default: twig, those of the small leaves' parents."
        ),
    ] = None,
    distance: Annotated[
        DistanceName | None, typer.Option(help="Of records in tiers: which neighbours are closest; default: gower.")
    ] = None,
    generalization: Annotated[
        GeneralizationName | None,
        typer.Option(
            help="Of records: in tiers, small leaves with what they borrow, or all of a leaf of the pruned tree alike; "
            "default: tiered."
        ),
    ] = None,
    trees: Annotated[int | None, typer.Option(metavar="N", help="rdt: how many; default: 10.")] = None,
    depth: Annotated[
        int | None, typer.Option(metavar="N", help="rdt: splits on every path; default: half the columns.")
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(metavar="P", help="rdt: the probability with which a tree counts a record; default: 0.1."),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(metavar="X", help="rdt: where to state delta; default: the least with a delta of at most 1e-6."),
    ] = None,
    vote: Annotated[
        VoteName | None,
        typer.Option(
            help="rdt: what predicts, the counts of all trees together or a vote of the trees; default: sums."
        ),
    ] = None,
    domains: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="rdt: what is known without the data, JSON: for each column, and the class, the list of its values "
            "or [lowest, highest].",
        ),
    ] = None,
    as_json: opt.Json = False,
) -> Job:
    """Grow a decision tree from confidential records, defend it, and write the release.

    Prints how many leaves are left, how well it predicts, and what is guaranteed.
    """
    options = {
        "target": target,
        "qi": _columns(qi),
        "private": _columns(private or ()),
        "k": list(k) if k else None,
        "inducer": None if inducer is None else inducer.value,
        "impurity": None if impurity is None else impurity.value,
        "max_depth": max_depth,
        "min_samples_leaf": min_samples_leaf,
        "min_samples_split": min_samples_split,
        "encoding": encoding.value,
        "publish": publish.value,
        "categorical": _columns(categorical or ()),
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
    }
    return partial(_run, method.value, data, options, as_json, output)


def _columns(lists: Iterable[str]) -> list[str]:
    """Names of columns from lists of them; a name with a comma in it is quoted, as in CSV."""
    return [name for row in csv.reader(lists, skipinitialspace=True) for name in row if name]


def _run(method: str, data: str, options: dict[str, Any], as_json: bool, output: str) -> int:
    from maxent.defend_text import print_defended
    from maxent.defended import RECORDS, TREES, file_names
    from maxent.defending import defend
    from maxent.methods import wanted_ks
    from maxent.report import as_json_text, check_outputs

    if options["hierarchies"] is not None:
        from maxent.models.hierarchies import hierarchy_files

        columns = [*options["qi"], *options["private"]]
        options = {**options, "hierarchies": hierarchy_files(options["hierarchies"], columns)}
    files = file_names(output, wanted_ks(method, options["k"]))
    suffixes = RECORDS if options["publish"] == "records" else TREES
    allowed = {"-o" if len(files) == 1 else f"-o {file}": (file, suffixes) for file in files}
    check_outputs(allowed, [data, options["test"], options["domains"]])
    result = defend(data, method, **options)
    result.save(output)
    if as_json:
        summary = result.summary
        for row, file in zip(summary["releases"], files, strict=True):
            row["file"] = file
        print(as_json_text(summary))
    else:
        print_defended(result, files)
    return DONE
