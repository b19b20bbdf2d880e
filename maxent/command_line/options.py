"""Arguments and options that several commands have, each said once."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any

import typer

from maxent.command_line import panels
from maxent.models.files.kinds import REPORT, Kind


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


class NoiseMode(StrEnum):
    """Choices of ``--noise``."""

    intervals = "intervals"
    likelihood = "likelihood"


class LevelName(StrEnum):
    """Choices of ``--level``."""

    closed = "closed"
    linear = "linear"
    convex = "convex"
    integer = "integer"
    auto = "auto"


def completed_backend(incomplete: str) -> list[str]:
    """Back ends that a shell offers."""
    from maxent.solvers.registry import backend_names

    return _completed(incomplete, backend_names())


def completed_knowledge(incomplete: str) -> list[str]:
    """Kinds of knowledge that a shell offers."""
    from maxent.constraints.kinds.registry import knowledge

    return _completed(incomplete, knowledge())


def _completed(incomplete: str, names: Iterable[str]) -> list[str]:
    """Names for the end of a list with commas between."""
    before, comma, _ = incomplete.rpartition(",")
    return [before + comma + name for name in names]


Tree = Annotated[str, typer.Argument(metavar="TREE", help="The release: a maxent/1 JSON file.")]
Published = Annotated[
    str,
    typer.Argument(metavar="TREE", help="The release: a maxent/1 JSON file, or generalised records, .csv or .parquet."),
]
Target = Annotated[
    str | None,
    panels.read(metavar="COLUMN", help="Column of the class; default for published records: the one that QI lacks."),
]
QI = Annotated[
    str,
    typer.Argument(
        metavar="QI", help="The adversary's table of quasi-identifiers, .csv or .parquet; - is standard input."
    ),
]
Knowledge = Annotated[
    str | None,
    panels.known(
        metavar="KINDS",
        help="Knowledge of the adversary: kinds of statements, such as label,rate (docs/method.md); default: all that "
        "are published.",
        autocompletion=completed_knowledge,
    ),
]
Impurity = Annotated[
    ImpurityName | None,
    panels.known(help="Measure that splits are chosen by; default: the one that the release states."),
]
Facts = Annotated[
    str | None,
    panels.known(
        metavar="FILE", help="Background knowledge: columns of quasi-identifiers (empty: any), the target, and count."
    ),
]
Marginal = Annotated[
    str | None,
    panels.known(metavar="FILE", help="Frequency of each class: a column of the target, and count or probability."),
]
NoMarginal = Annotated[
    bool,
    panels.limit(
        "--no-marginal",
        help="Judge by an adversary who does not know the base rate; default: it is known where anything states it.",
    ),
]
Count = Annotated[str | None, panels.read(metavar="COLUMN", help="Column of QI with the number of people in a row.")]
Rounding = Annotated[
    RoundingMode,
    panels.known(
        help="Printed error rates: rounded to decimals (digits), exact, or detected from the printed digits (auto)."
    ),
]
Confidence = Annotated[
    float,
    panels.known(metavar="P", help="Probability that all intervals of counts of samples hold together."),
]
Noise = Annotated[
    NoiseMode,
    panels.known(help="Draws of a bootstrap: intervals of true counts, or their likelihood beside the entropy."),
]
NoiseOfModel = Annotated[
    NoiseMode | None,
    panels.known(
        "--noise",
        help="Draws of a bootstrap: intervals of true counts, or their likelihood beside the entropy (the default).",
    ),
]
Truth = Annotated[
    str | None,
    panels.measured(
        metavar="FILE", help="The confidential data: adds divergences of the estimate from it, and training accuracies."
    ),
]
Control = Annotated[
    str | None,
    panels.measured(
        metavar="FILE",
        help="People who were not in the data, with their classes: adds how much better those of --truth are guessed.",
    ),
]
Sensitive = Annotated[
    str | None,
    panels.measured(
        metavar="A,B,...", help="Classes that are sensitive: measures of these alone, too, and limits on them."
    ),
]
Gain = Annotated[
    str | None,
    panels.measured(
        metavar="FILE", help="Worth of guesses to the adversary: a row for each guess, a column for each class."
    ),
]
Backend = Annotated[
    str,
    panels.solved(
        metavar="NAME",
        help="Solver; auto chooses by the problem.",
        autocompletion=completed_backend,
    ),
]
Tolerance = Annotated[
    float, panels.solved(metavar="X", help="Largest violation of a constraint in a solution, as a probability.")
]
SingleOptimum = Annotated[
    bool,
    panels.solved(
        "--single-optimum", help="One optimum, in place of the mean of all that exchangeable classes make of it."
    ),
]
NoPresolve = Annotated[bool, panels.solved("--no-presolve", help="Give the solver the whole program in one piece.")]
Starts = Annotated[
    int | None,
    panels.solved(metavar="N", help="Starting points for parts that are not convex; the best result is kept."),
]
Seed = Annotated[int, panels.solved(metavar="N", help="Seed of random choices: starting points.")]
TimeLimit = Annotated[
    float | None,
    panels.solved(
        metavar="SECONDS",
        help="Time for compiling and solving, for each release and back end; then the best answer so far counts.",
    ),
]
Jobs = Annotated[
    int, panels.run(metavar="N", help="Number of parallel processes; -1: one for each core, -2: one less.")
]
SolvingJobs = Annotated[
    int | None,
    panels.run(
        metavar="N",
        help="Number of parallel processes; -1: one for each core, -2: one less; default: one, or one for each of "
        "up to 8 cores where solving takes long. The result is the same.",
    ),
]
Dask = Annotated[
    str | None,
    panels.run(
        metavar="ADDRESS",
        help="Dask cluster that does the work, such as tcp://scheduler:8786; local:N starts one of N processes.",
    ),
]
Floor = Annotated[
    float,
    panels.solved(metavar="P", help="Lower bound on probabilities that entropies would push to 0 (newton only)."),
]
Test = Annotated[
    str | None,
    panels.measured(metavar="FILE", help="Other records with their classes: adds the test accuracy."),
]
Top = Annotated[
    int, panels.measured(metavar="N", help="Number of quasi-identifiers in the list of the most disclosed.")
]
MinSize = Annotated[int, panels.measured(metavar="N", help="Fewest records of a homogeneous leaf.")]
Background = Annotated[
    int, panels.known(metavar="B", help="Number of members of a leaf whose classes the adversary knows.")
]
Level = Annotated[
    LevelName | None,
    panels.solved(help="Last level of proof, each tighter than the one before it; default: all of them (auto)."),
]
OUTPUT = ("-o", "--output")
Json = Annotated[bool, panels.output("--json", help="Print one JSON object and nothing else.")]


def result(*kinds: Kind) -> Any:
    """The option ``-o`` of a command that writes tables."""
    words = "Write the result, by suffix: .csv, .parquet or .json."
    return panels.written(*kinds, names=OUTPUT, help=words)


def result_or_plot(*kinds: Kind) -> Any:
    """The option ``-o`` of a command that also draws."""
    words = "Write the result, by suffix: .csv, .parquet or .json; or a plot of it: .svg, .png or .pdf."
    return panels.written(*kinds, names=OUTPUT, help=words)


CsvLiteral = Annotated[
    bool,
    panels.output(
        "--csv-literal",
        help="Write text to .csv as it is; default: an apostrophe before what a spreadsheet would run (=, +, -, @).",
    ),
]

Report = Annotated[
    str | None,
    panels.written(REPORT, help="Write a report for whoever decides: one .html file, for any browser."),
]
Title = Annotated[
    str | None,
    panels.output(metavar="TEXT", help="Title of the report or record; default: one that names the releases."),
]
Purpose = Annotated[
    str | None,
    panels.output(metavar="TEXT", help="Purpose of the release, for the first page of the report, or the record."),
]
MaxPosterior = Annotated[
    float | None, panels.limit(metavar="P", help="Limit: largest inferred probability of anybody's class.")
]
MinK = Annotated[
    int | None, panels.limit(metavar="K", help="Limit: fewest people in a group with the same published information.")
]
MaxCertain = Annotated[int | None, panels.limit(metavar="N", help="Limit: most people whose class is certain.")]
MaxRightGuesses = Annotated[
    float | None, panels.limit(metavar="P", help="Limit: largest share of people whose class is guessed right.")
]
MaxLift = Annotated[
    float | None,
    panels.limit(metavar="S", help="Limit: most that right guesses may exceed the base rate by, a share of people."),
]
Enforce = Annotated[
    bool,
    panels.limit(
        "--enforce",
        help="Exit status 3 where a limit is not kept, 4 where that cannot be told; by default limits are only "
        "reported.",
    ),
]


def knowing(
    knowledge: Knowledge = None,
    impurity: Impurity = None,
    rounding: Rounding = RoundingMode.auto,
    confidence: Confidence = 0.99,
    noise: NoiseOfModel = None,
) -> dict[str, Any]:
    """The options that say what of a release is known, as arguments of `maxent.review`."""
    return {
        "knowledge": knowledge,
        "impurity": None if impurity is None else impurity.value,
        "rounding": rounding.value,
        "confidence": confidence,
        "noise": None if noise is None else noise.value,
    }


def problem(
    knowledge: Knowledge = None,
    impurity: Impurity = None,
    facts: Facts = None,
    marginal: Marginal = None,
    count: Count = None,
    rounding: Rounding = RoundingMode.auto,
    confidence: Confidence = 0.99,
    noise: Noise = NoiseMode.intervals,
) -> dict[str, Any]:
    """The options that say what is known, as arguments of `maxent.api.adversary.estimate.compile_release`."""
    of_release = knowing(knowledge, impurity, rounding, confidence, noise)
    return {**of_release, "facts": facts, "marginal": marginal, "count": count}


def solving(
    tolerance: Tolerance = 1e-8,
    no_presolve: NoPresolve = False,
    starts: Starts = None,
    seed: Seed = 0,
    time_limit: TimeLimit = None,
    jobs: SolvingJobs = None,
    dask: Dask = None,
    floor: Floor = 1e-6,
) -> dict[str, Any]:
    """The options that say how problems are solved, as arguments of `maxent.estimate`."""
    return {
        "tolerance": tolerance,
        "presolve": not no_presolve,
        "starts": starts,
        "seed": seed,
        "time_limit": time_limit,
        "jobs": jobs,
        "dask": dask,
        "floor": floor,
    }


def evidence(
    control: Control = None,
    sensitive: Sensitive = None,
    gain: Gain = None,
) -> dict[str, Any]:
    """The options that say what a disclosure is compared with, as arguments of `maxent.estimate`."""
    return {"control": control, "sensitive": sensitive, "gain": gain}


def inputs(options: dict[str, Any]) -> list[str | None]:
    """The files among the arguments of `maxent.estimate` that go with the table."""
    return [path for _, path in named_inputs(options)]


def named_inputs(options: dict[str, Any]) -> list[tuple[str, str | None]]:
    """The same, each with what it is."""
    return [(name, options.get(name)) for name in ("truth", "facts", "marginal", "control", "gain")]
