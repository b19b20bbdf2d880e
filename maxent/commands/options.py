"""Arguments and options that several commands have, each said once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer


class ImpurityName(StrEnum):
    """Choices of ``--impurity``."""

    gini = "gini"
    entropy = "entropy"
    gain_ratio = "gain_ratio"


class RoundingMode(StrEnum):
    """Choices of ``--rounding``."""

    auto = "auto"
    digits = "digits"
    exact = "exact"


class EstimatePlot(StrEnum):
    """Choices of ``estimate --plot``."""

    leaves = "leaves"
    posterior = "posterior"
    divergence = "divergence"


class ComparisonPlot(StrEnum):
    """Choices of ``compare --plot``."""

    bars = "bars"
    tradeoff = "tradeoff"
    posterior = "posterior"
    divergence = "divergence"


Tree = Annotated[str, typer.Argument(metavar="TREE", help="What is published: a maxent/1 JSON file.")]
Published = Annotated[
    str,
    typer.Argument(
        metavar="TREE", help="What is published: a maxent/1 JSON file, or generalised records, .csv or .parquet."
    ),
]
Target = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Of records, the column of the class; default: the one that QI lacks."),
]
QI = Annotated[str, typer.Argument(metavar="QI", help="The adversary's table of quasi-identifiers, .csv or .parquet.")]
Knowledge = Annotated[
    str | None,
    typer.Option(
        metavar="KINDS",
        help="What the adversary uses, any of label,rate,counts,internal,marginal; default: all that is stated.",
    ),
]
Impurity = Annotated[ImpurityName | None, typer.Option(help="How splits were chosen; overrides the release.")]
Facts = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Background knowledge: columns of quasi-identifiers (empty: any), the target, and count."
    ),
]
Marginal = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="How often each class occurs: a column of the target, and count or probability."),
]
Count = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="The column with the number of people a row of QI stands for.")
]
Rounding = Annotated[
    RoundingMode,
    typer.Option(help="Printed error rates are rounded (digits), literal (exact), or judged by their look (auto)."),
]
Confidence = Annotated[
    float, typer.Option(metavar="P", help="Probability that all intervals of sampled counts hold together.")
]
Truth = Annotated[
    str | None, typer.Option(metavar="FILE", help="The confidential data: adds how far the estimate is from it.")
]
Backend = Annotated[
    str, typer.Option(metavar="NAME", help="The solver; auto is the best one installed for the problem.")
]
Tolerance = Annotated[
    float, typer.Option(metavar="X", help="Largest violation of a constraint, as a probability, that is solved.")
]
NoPresolve = Annotated[bool, typer.Option("--no-presolve", help="Give the solver the whole program in one piece.")]
Starts = Annotated[
    int | None,
    typer.Option(metavar="N", help="Starting points for parts that are not convex; the best result is kept."),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Makes the starting points repeatable.")]
Jobs = Annotated[int, typer.Option(metavar="N", help="Processes that solve independent parts; -1: one for each core.")]
Dask = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Let the workers of a Dask cluster do that: tcp://scheduler:8786."),
]
Floor = Annotated[
    float,
    typer.Option(metavar="P", help="Smallest probability that newton leaves where entropies would push it to 0."),
]
MinSize = Annotated[int, typer.Option(metavar="N", help="Records of the smallest leaf that counts as homogeneous.")]
Background = Annotated[
    int, typer.Option(metavar="B", help="How many members of a leaf the adversary knows the classes of.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Output = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write the result, by suffix: .csv, .parquet or .json."),
]

OutputOrPlot = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the result, by suffix: .csv, .parquet or .json; or a plot of it: .svg, .png or .pdf.",
    ),
]

Report = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Write a report for whoever decides: one .html file that opens anywhere."),
]
MaxPosterior = Annotated[
    float | None, typer.Option(metavar="P", help="Limit: the largest probability that may be inferred of anybody.")
]
MinK = Annotated[
    int | None, typer.Option(metavar="K", help="Limit: the fewest individuals in a group that is not told apart.")
]
MaxCertain = Annotated[
    int | None, typer.Option(metavar="N", help="Limit: the most individuals whose class may be certain.")
]
Enforce = Annotated[
    bool, typer.Option("--enforce", help="Exit status 1 unless all limits are kept; else they are only reported.")
]


def problem(
    knowledge: str | None,
    impurity: ImpurityName | None,
    facts: str | None,
    marginal: str | None,
    count: str | None,
    rounding: RoundingMode,
    confidence: float,
) -> dict[str, Any]:
    """The arguments of `maxent.engine.compile_release`, which all commands that read a problem have."""
    return {
        "knowledge": knowledge,
        "impurity": None if impurity is None else impurity.value,
        "facts": facts,
        "marginal": marginal,
        "count": count,
        "rounding": rounding.value,
        "confidence": confidence,
    }


def inputs(options: dict[str, Any]) -> list[str | None]:
    """The files among the arguments of `maxent.estimate` that go with the table."""
    return [path for _, path in named_inputs(options)]


def named_inputs(options: dict[str, Any]) -> list[tuple[str, str | None]]:
    """The same, each with what it is."""
    return [(name, options.get(name)) for name in ("truth", "facts", "marginal")]
