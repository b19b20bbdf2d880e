"""The options of public functions and commands: each stated once, with its type, default, range and help.

`maxent.api.calling.takes` makes the signature and the docstring of a function of its dataclass here, and
`maxent.command_line.options.stated` the options of a command. Nothing here loads NumPy: a help has to come at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

from maxent.models.arguments import (
    JOB_COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    SECONDS,
    SHARE,
    SMALL,
    Adversary,
    Impurity,
    Noise,
    Range,
    Rounding,
    Ties,
    same,
)
from maxent.models.reading import Decimal, Delimiter, Reading, Text

if TYPE_CHECKING:
    from maxent.api.case import Published
    from maxent.models.tables.frame import Source
    from maxent.solvers.solve.driver import Progress

_T = TypeVar("_T")


def option(default: Any, help: str, range: Range | None = None, **more: Any) -> Any:
    """An option of functions and commands with what is told of it, see `maxent.models.arguments.About`."""
    return field(default=default, metadata={"about": {"help": help, "range": range, **more}})


def positional(doc: str, help: str = "", **more: Any) -> dict[str, Any]:
    """What is told of an argument that may be given by its place; only those with a help are options of commands."""
    told = {"group": "measured", "metavar": "FILE", "doc": doc} if help else {"group": "call"}
    return {"about": {"help": help or doc, **told, **more}}


def of(kind: type[_T], call: object, **others: Any) -> _T:
    """A dataclass from those of a call's options that it has, and others."""
    given: Any = kind
    named = [each.name for each in fields(given) if each.init and hasattr(call, each.name)]
    return kind(**{name: getattr(call, name) for name in named} | others)


# --- What is known, read, measured and solved ------------------------------------------------------------------


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Kinds:
    """Which statements of a release the adversary uses."""

    knowledge: str | Iterable[str] | None = option(
        None,
        "Knowledge of the adversary: kinds of statements, such as label,rate (docs/method.md); default: all that "
        "are published.",
        metavar="KINDS",
        group="known",
        doc="What the adversary uses, of label, rate, counts, internal and marginal; default everything the release "
        "states. Without counts, the labels and rates that published counts imply are used in their place.",
    )
    impurity: Impurity | None = option(
        None,
        "Measure that splits are chosen by; default: the one that the release states.",
        group="known",
        doc="How splits were chosen, where the release does not say or says otherwise.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Facts:
    """Background knowledge about some people, and what a row of a table is."""

    facts: Source | None = option(
        None,
        "Background knowledge: columns of quasi-identifiers (empty: any), the target, and count.",
        metavar="FILE",
        group="known",
        doc="Known classes of some individuals: a DataFrame or path.",
    )
    count: str | None = option(
        None,
        "Column of QI with the number of people in a row.",
        metavar="COLUMN",
        group="read",
        doc="The column of ``qi`` (and of ``truth``, if it is there) with the number of individuals a row stands for.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Companions(Facts):
    """The same, and how frequent classes are."""

    marginal: Source | None = option(
        None,
        "Frequency of each class: a column of the target, and count or probability.",
        metavar="FILE",
        group="known",
        doc="The number of individuals of each class: a DataFrame or path.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class InexactNumbers:
    """How numbers are read that are rounded, of a sample, or have noise."""

    rounding: Rounding = option(
        "auto",
        "Printed error rates: rounded to decimals (digits), exact, or detected from the printed digits (auto).",
        group="known",
        doc="How printed error rates are read, see `maxent.models.trees.printed_rates`.",
    )
    confidence: float = option(
        0.99,
        "Probability that all intervals of counts of samples hold together.",
        metavar="P",
        group="known",
        doc="Probability that all intervals of counts of samples, bootstraps included, hold together.",
    )
    noise: Noise | None = option(
        None,
        "Draws and counts with noise: intervals of true counts, or their likelihood beside the entropy; default: the "
        "likelihood; bounds and diff: intervals.",
        group="known",
        doc="What draws of a bootstrap and counts with noise are taken for: intervals of the true counts, or what is "
        "certain of them, and their likelihood, which is maximised together with the entropy. By default the "
        "likelihood; `bounds` and `compare_releases`, which prove, take intervals.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Knowing(InexactNumbers, Companions, Kinds):
    """What the adversary knows of a release of trees."""


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class RowsOption:
    """Whether the order of the people is known."""

    rows: bool = option(
        False,
        "QI lists the people in training order, a row each, and the adversary knows that: who was drawn for each tree, "
        "where the release tells it, then makes counts of leaves equations about rows.",
        group="known",
        doc="Whether the adversary knows that ``qi`` lists the people in training order, a row each. Results are then "
        "of rows. For releases that tell who was drawn for each tree (`Release.draws`), see docs/bounds.md.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class PopulationOption:
    """A register in which the people of the data are somewhere."""

    population: Source | None = option(
        None,
        "Register of everybody who could be in the data: who is in them is inferred, too (docs/population.md); in "
        "estimate and bounds it stands in the place of QI.",
        metavar="FILE",
        group="known",
        doc="A register that holds the people of the data among others, a DataFrame or path with the columns of the "
        "quasi-identifiers: P(member) is inferred, too, and P(class | member). In `maxent.estimate` and "
        "`maxent.bounds` it stands in the place of ``qi``.",
    )
    people: int | None = option(
        None,
        "Number of individuals: with --population, of those in the data; default: what the release states.",
        POSITIVE,
        metavar="N",
        group="known",
        doc="With ``population``, how many of its people are in the data; default: what the release states.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Read:
    """How the release and all tables are read."""

    reading: Reading | None = option(
        None, "How the release and all tables are read, see `maxent.models.reading.Reading`.", group="call"
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class ReadingOptions:
    """What `maxent.models.reading.Reading` is made of."""

    text: Text | None = option(
        None,
        "Values that differ only by blanks or Unicode form: refuse them (the default), strip all text so that they "
        "are equal, or keep text exact.",
        group="read",
    )
    na: Sequence[str] | None = option(
        None,
        "Spellings of missing values, besides an empty cell; default: NA, NaN, null, None, N/A, #N/A and others "
        "(docs/tables.md).",
        metavar="A,B,...",
        group="read",
    )
    max_memory: str | None = option(
        None, "Memory for a table while it is read, such as 500MB; default: 2GB.", metavar="SIZE", group="read"
    )
    csv_delimiter: Delimiter | None = option(None, "Delimiter of CSV files; default: detected.", group="read")
    csv_decimal: Decimal | None = option(
        None, "Decimal mark of numbers in CSV files; default: detected for each column.", group="read"
    )
    csv_encoding: str | None = option(
        None, "Encoding of CSV files, such as cp1252; default: UTF-8, or detected.", metavar="NAME", group="read"
    )
    sheet: str | None = option(None, "The sheet of Excel workbooks; default: the first.", metavar="NAME", group="read")
    format: str | None = option(
        None,
        "Format of the release (docs/formats.md); default: detected.",
        metavar="FORMAT",
        option="--from",
        group="read",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Targeted:
    """What records are of."""

    target: str | None = option(
        None,
        "Column of the class; default for published records: the one that QI lacks.",
        metavar="COLUMN",
        group="read",
        doc="Of records, the column of the class; by default the only one that ``qi`` lacks. What trees alone state "
        "(``knowledge``, ``impurity``, ``marginal``) cannot be given for them.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Who:
    """How the tables of several releases are linked."""

    who: str | None = option(
        None,
        "Column that names each person, by which the tables of several releases are linked; default: each table "
        "is within the next larger one.",
        metavar="COLUMN",
        group="read",
        doc="With a table for each of several releases: the column that names each person. Without it each table has "
        "to be within the next larger one.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Linked(Who, Targeted, Read):
    """How a release, records or several releases are read with their tables."""


CONTROL = "People who were not in the data, with their classes: adds how much better those of --truth are guessed."


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class ControlOption:
    """People who were not in the data."""

    control: Source | None = option(
        None,
        CONTROL,
        metavar="FILE",
        group="measured",
        doc="Control people with their classes, a DataFrame or path: like those of ``truth``, but not in the data. Of "
        "trees only.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class SensitiveOption:
    """Which classes do harm."""

    sensitive: str | Iterable[str] | None = option(
        None,
        "Classes that are sensitive: measures of these alone, too, and limits on them.",
        metavar="A,B,...",
        group="measured",
        doc="Classes that harm those who have them: all measures are also given of these alone.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Evidence(SensitiveOption, ControlOption):
    """What a disclosure is compared with, and what guesses are worth."""

    gain: Source | None = option(
        None,
        "Worth of guesses to the adversary: a row for each guess, a column for each class.",
        metavar="FILE",
        group="measured",
        doc="What each guess is worth to the adversary, a DataFrame or path: a row for each guess, a column for each "
        "class.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Informed:
    """Whom a verdict is about."""

    no_marginal: bool = option(
        False,
        "Whether verdicts are about an adversary who does not know the base rate. By default they know how many people "
        "have each class where ``truth``, ``marginal`` or counts give it, which changes nothing but verdicts.",
        group="call",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class AdversaryOption:
    """Whom the limits of a call are about."""

    adversary: Adversary = option(
        "table",
        "Adversary whom limits are about (docs/ladder.md): predictions, population, table, rows or all_but_one.",
        metavar="NAME",
        group="limits",
        doc="The adversary of the ladder whom limits of the call are about: docs/ladder.md.",
    )


JOBS = "Number of parallel processes; -1: one for each core, -2: one less."


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class WorkerOptions:
    """Who solves independent parts."""

    jobs: int | None = option(
        None,
        f"{JOBS[:-1]}; default: one, or one for each of up to 8 cores where solving takes long. The result is the "
        "same.",
        JOB_COUNT,
        group="run",
        doc="Processes that solve independent parts, -1 for one on each core; the result is the same bit for bit. By "
        "default one, and where parts are many unknowns and the process can be copied (Linux), one on each of up to 8 "
        "cores.",
    )
    dask: str | None = option(
        None,
        "Dask cluster that does the work, such as tcp://scheduler:8786; local:N starts one of N processes.",
        metavar="ADDRESS",
        group="run",
        doc="The address of the scheduler of a Dask cluster, such as ``tcp://host:8786``, whose workers solve "
        "independent parts instead; see `maxent.solvers.solve.dask_cluster`.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Exactness:
    """How exactly a program is solved, and for how long."""

    tolerance: float = option(
        1e-8,
        "Largest violation of a constraint in a solution, as a probability.",
        SHARE,
        group="solved",
        doc="Largest violation of any constraint, in probability units, that counts as solved.",
    )
    presolve: bool = option(
        True,
        "Give the solver the whole program in one piece.",
        group="solved",
        option="--no-presolve",
        doc="False gives the solver the whole program in one piece.",
    )
    starts: int | None = option(
        None,
        "Starting points for parts that are not convex; the best result is kept.",
        POSITIVE,
        group="solved",
        doc="Starting points of a part that is not convex; the best answer is kept.",
    )
    seed: int = option(
        0,
        "Seed of random choices: starting points.",
        NOT_NEGATIVE,
        group="solved",
        doc="Makes the starting points repeatable.",
    )
    time_limit: float | None = option(
        None,
        "Time for compiling and solving, for each release and back end; then the best answer so far counts.",
        SECONDS,
        metavar="SECONDS",
        group="solved",
        doc="Seconds that everything after the inputs are read may take: compiling, solving and checking the answer. "
        "Then, within 2 s, the best answer so far is returned, with the status ``time_limit``.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class SolverOptions(WorkerOptions, Exactness):
    """How a program is solved, by whatever back end."""

    floor: float = option(
        1e-6,
        "Lower bound on probabilities that entropies would push to 0 (newton only).",
        SMALL,
        metavar="P",
        group="solved",
        doc="Smallest probability, from 0 to 0.01, that the back end ``newton`` leaves where a choice of split "
        "compared by entropy would push it to 0: the optimum does not rule out a class that the truth may have.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class ByBackend:
    """Which back end solves."""

    backend: str = option(
        "auto",
        "Solver; auto chooses by the problem.",
        metavar="NAME",
        group="solved",
        doc="A solver back end, see `maxent.solvers.backends.registry.backend_names`.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Top:
    """How many are named."""

    top: int = option(
        10,
        "Number of quasi-identifiers in the list of the most disclosed.",
        POSITIVE,
        group="measured",
        doc="How many of the most disclosed quasi-identifiers the summary names.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class WholeOptions:
    """Which of several optima is reported, and what beyond the posterior."""

    single_optimum: bool = option(
        False,
        "One optimum, in place of the mean of all that exchangeable classes make of it.",
        group="solved",
        doc="Whether, where exchangeable classes make optima several, the posterior is one of them in place of their "
        "mean.",
    )
    bounds: str | None = option(
        None,
        "Prove what is certain over all data consistent with the release, too, up to this ``level`` of "
        "`maxent.bounds`, such as ``auto``: ``.proof`` and the keys ``certain_proved`` and ``bounds`` of the summary.",
        group="call",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class ProgressOption:
    """Who is told of the work."""

    progress: Progress | None = option(None, "Told ``(what, done, total)`` meanwhile.", group="call")


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Interruptible(ProgressOption):
    """The same, and whether Ctrl-C ends it with what there is."""

    interruptible: bool = option(
        False,
        "Whether Ctrl-C while compiling or solving returns the best answer so far, with the status ``interrupted``; a "
        "second one, and otherwise the first, raises KeyboardInterrupt.",
        group="call",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Attacks:
    """What counts as an attack on a leaf."""

    min_size: int = option(
        1,
        "Fewest records of a homogeneous leaf.",
        POSITIVE,
        group="measured",
        doc="Records of the smallest leaf that counts as homogeneous.",
    )
    background: int = option(
        1,
        "Number of members of a leaf whose classes the adversary knows.",
        NOT_NEGATIVE,
        metavar="B",
        group="known",
        doc="How many members of a leaf the adversary knows the classes of.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class RiskOption:
    """Whether the information that re-identification takes is measured."""

    risk: bool = option(
        False,
        "Add the information that re-identifying the people of each node takes, in bits.",
        group="measured",
        doc="Whether the information that re-identifying people takes is measured, see "
        "`maxent.models.trees.reidentification`. Leaves state how many records they have; a tree that splits numbers "
        "needs ``qi``, which has their ranges.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class PartsOptions:
    """How people are taken in parts."""

    memory: int | str | None = option(
        None,
        "Memory of all processes, such as 4GB: people are taken in parts (docs/scale.md); default with -o "
        "FOLDER/: most of the machine's.",
        metavar="SIZE",
        group="run",
        doc="Bytes that all processes on this machine may take, such as ``'4GB'``; by default most of what it has.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class FolderOption(PartsOptions):
    """The same, with a folder for what is found of them."""

    folder: str | PathLike[str] | None = option(
        None,
        "A folder for what is found of people, which is new or empty.",
        group="call",
        doc="A folder for what is found of people, which is new or empty: Parquet files, a row per distinct "
        "quasi-identifier (and of bounds class), in the order of leaves. People are then taken in parts, as with "
        "``memory``: tables are files, read more than once, or addresses in a store, such as "
        "``'s3://bucket/people-*.parquet'``, which fsspec opens.",
    )


# --- The calls -------------------------------------------------------------------------------------------------

RELEASE = (
    "A release, a fitted model, the path of a ``maxent/1`` document or of a model, or generalised records. What a "
    "model needs stands in ``reading``, such as ``{'target': 'ill'}``. Records are a `GeneralizedTable`, a DataFrame "
    "like its ``frame()``, or the path of a file with that, CSV or Parquet by its suffix: every row stands for one "
    "individual of ``qi``, whose values lie in its ranges and sets. Or a sequence of releases (trees, statements, "
    "fitted models) about overlapping people, which hold together: docs/successive.md."
)
QI = (
    "The adversary's table: a row per individual of the training data, a column per public attribute. CSV or Parquet; "
    "large files and patterns (``part-*.parquet``) are merged out of core. Of several releases with different people a "
    "sequence: a table for each."
)


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Released:
    """What was published, and the adversary's table."""

    release: Published = field(kw_only=False, metadata=positional(RELEASE))
    qi: Source | Sequence[Source] = field(kw_only=False, metadata=positional(QI))


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Truth:
    """The confidential data."""

    truth: Source | None = field(
        default=None,
        kw_only=False,
        metadata=positional(
            "The same individuals with their classes, to compare with: a DataFrame or path.",
            "The confidential data: adds divergences of the estimate from it, and training accuracies.",
        ),
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProblemOptions(Linked, Knowing, Released):
    """A call of `maxent.api.estimate.compile_release`."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Estimating(
    Interruptible,
    Informed,
    WholeOptions,
    Top,
    SolverOptions,
    ByBackend,
    PopulationOption,
    RowsOption,
    Linked,
    Knowing,
    Evidence,
    FolderOption,
    Truth,
    Released,
):
    """A call of `maxent.estimate`."""

    qi: Source | Sequence[Source] | None = field(  # type: ignore[assignment]  # none with a register
        default=None, kw_only=False, metadata=positional(QI)
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class LevelOption:
    """How far proofs go."""

    level: str = option(
        "auto",
        "The last level of proof that is asked; each is asked only about what those before it left open. ``closed``: "
        "closed forms of single regions (exact for one tree whose splits are public, without internal constraints); "
        "``linear``: linear programs over all linear statements together; ``convex``: also choices of splits that are "
        "convex comparisons; ``integer``: whole people, choices of splits included, which needs OR-Tools; ``auto``: "
        "all of them, without ``integer`` where OR-Tools is not installed.",
        group="call",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class ProofOptions(LevelOption):
    """How bounds are proved."""

    ties: Ties = option(
        "any",
        "Inducer's choice among equally good attributes: any of them, or the first (whole numbers).",
        group="solved",
        doc="Which of equally good attributes the inducer chose: any, which is sound for all inducers, or the first.",
    )
    time_limit: float | None = same(
        Exactness,
        "time_limit",
        doc="Seconds that everything after the inputs are read may take. What is not proved by then keeps the looser "
        "bound. Without it the level ``integer`` takes a minute at most.",
    )
    worlds: bool = option(
        False,
        "Weigh each consistent world equally, too: is the estimate fragile?",
        group="solved",
        doc="Whether to weigh each world (a class for every individual) equally too, and estimate: exactly where there "
        "are few, by sampling elsewhere. Needs OR-Tools, as ``witness``.",
    )
    witness: bool = option(
        False, "Whether to find two complete tables of people that are consistent with everything.", group="call"
    )
