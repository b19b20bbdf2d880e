"""Options of other calls than `maxent.estimate`: bounds, audit, compare, bench, review, check and advise.

They are stated as those in `maxent.api.options`, and apart from them: who estimates need not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from maxent.api.options import (
    CONTROL,
    JOBS,
    QI,
    RELEASE,
    AdversaryOption,
    Attacks,
    ByBackend,
    ControlOption,
    Evidence,
    Exactness,
    Facts,
    FolderOption,
    InexactNumbers,
    Informed,
    Interruptible,
    Kinds,
    Knowing,
    LevelOption,
    Linked,
    PartsOptions,
    PopulationOption,
    ProgressOption,
    ProofOptions,
    Read,
    Released,
    RiskOption,
    RowsOption,
    SensitiveOption,
    SolverOptions,
    Targeted,
    Top,
    Truth,
    Who,
    WorkerOptions,
    option,
    positional,
)
from maxent.models.arguments import NOT_NEGATIVE, POSITIVE, Noise, Range, real, same, whole

if TYPE_CHECKING:
    from maxent.api.case import Published
    from maxent.disclosure.limits import Verdict
    from maxent.models.formats.release_reader import Records
    from maxent.models.release import Release
    from maxent.models.tables.frame import Source
    from maxent.models.tables.training import Missing
    from maxent.results.estimate import Estimate
    from maxent.results.review import Review


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class ControlTestOption:
    """Other people."""

    test: Source | None = field(
        default=None,
        kw_only=False,
        metadata=positional(
            "Other people, with all attributes that the trees test and the target: they give the test accuracy.",
            "Other records with their classes: adds the test accuracy.",
        ),
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Releases:
    """What is compared, and the adversary's table."""

    releases: Iterable[Release | Records] | Mapping[str, Release | Records] = field(
        kw_only=False,
        metadata=positional(
            "What `maxent.estimate` takes. The first is what the others are compared with. A mapping gives them names; "
            "otherwise files go by their names, and releases by what was done to them."
        ),
    )
    qi: Source = field(
        kw_only=False, metadata=positional("The adversary's table, with the public attributes of every release.")
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class WorkersOfParts(FolderOption, WorkerOptions):
    """Who does the work of people in parts: one process unless the call says otherwise."""

    jobs: int = same(WorkerOptions, "jobs", default=1, help=JOBS)

    @property
    def in_parts(self) -> bool:
        """Whether people are taken in parts: a folder, memory or workers ask for it."""
        return self.folder is not None or self.memory is not None or self.dask is not None or not _is_one(self.jobs)


def _is_one(jobs: object) -> bool:
    """Whether there is one process; what is no number is for others to refuse."""
    return isinstance(jobs, int) and jobs == 1


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Bounding(Interruptible, PopulationOption, RowsOption, Linked, Knowing, ProofOptions, WorkersOfParts, Released):
    """A call of `maxent.bounds`."""

    qi: Source | Sequence[Source] | None = field(  # type: ignore[assignment]  # none with a register
        default=None, kw_only=False, metadata=positional(QI)
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Auditing(
    ProgressOption,
    SensitiveOption,
    ControlOption,
    RiskOption,
    InexactNumbers,
    RowsOption,
    Linked,
    Facts,
    Attacks,
    WorkersOfParts,
):
    """A call of `maxent.audit`."""

    release: Published = field(kw_only=False, metadata=positional(RELEASE))
    qi: Source | Sequence[Source] | None = field(
        default=None, kw_only=False, metadata=positional("The adversary's table, as for `maxent.estimate`.")
    )
    control: Source | None = same(
        ControlOption,
        "control",
        help="People who were not in the data, with their classes: how often what attacks show is true of them.",
        doc="People like those of the table who were not in the data, with their classes; for trees, and needs ``qi``.",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Comparing(
    PartsOptions,
    Interruptible,
    Informed,
    Top,
    SolverOptions,
    ByBackend,
    Targeted,
    Read,
    Knowing,
    Attacks,
    ControlTestOption,
    Evidence,
    Truth,
    Releases,
):
    """A call of `maxent.compare`."""

    each: Callable[[Estimate, Mapping[str, Any]], None] | None = option(
        None, "Given the estimate of each release, which is not kept, and its row of the comparison.", group="call"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Differing(Interruptible, SolverOptions, ByBackend, Read, Knowing, LevelOption, Who):
    """A call of `maxent.compare_releases`."""

    releases: Sequence[Release | Source] = field(
        kw_only=False,
        metadata=positional("The first release and its successor, two; trees, as for `maxent.estimate`."),
    )
    qi: Source | Sequence[Source] = field(
        kw_only=False,
        metadata=positional(
            "The people of each release, two tables. One table stands for both: then nobody joined or left."
        ),
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Benching(ProgressOption, SolverOptions, Read, Knowing, Truth, Released):
    """A call of `maxent.bench`."""

    jobs: int = same(
        WorkerOptions, "jobs", default=1, doc="As for `maxent.estimate`; one unless the call says otherwise."
    )
    backends: str | Iterable[str] | None = option(
        None,
        "Back ends, such as newton,cvxpy:scs; default: all that are installed.",
        metavar="A,B,...",
        group="solved",
        doc="Names as `estimate` takes them, such as ``newton`` or ``cvxpy:scs``; default all that are installed.",
    )
    repeat: int | None = option(
        None,
        "Repetitions, the fastest counts; default: 3 for problems of less than 5 seconds.",
        POSITIVE,
        group="run",
        doc="How often each solves the problem; the least seconds count. The first time includes loading the solver, "
        "so the default is three times when it took under five seconds, else once.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Foreign:
    """What the file of another tool lacks."""

    classes: Sequence[str] | None = option(
        None,
        "Names of the classes, in the order in which the model has them.",
        metavar="A,B,...",
        group="read",
        doc="What a file lacks, as for `maxent.convert`; also names for the classes of a fitted model.",
    )
    features: Sequence[str] | None = option(
        None,
        "Names of the columns of the model's input, in its order.",
        metavar="A,B,...",
        group="read",
        doc="What a file lacks, as for `maxent.convert`.",
    )
    parameters: Mapping[str, Any] | None = option(
        None,
        "Further parameters that the file lacks, such as base_score=0.5 (docs/models.md).",
        metavar="NAME=VALUE",
        option="--param",
        group="read",
        doc="What a file lacks, as for `maxent.convert`.",
    )
    published_as: str | None = option(
        None,
        "Format that is published, if not that of the model, such as onnx (docs/models.md): what it has no place for "
        "is not judged.",
        metavar="FORMAT",
        group="read",
        doc="The name of the format that is published, if not that of the model, as `maxent.convert` names formats. "
        "What the model keeps beside its trees and that format has no place for, such as seeds, is not judged; all "
        "else is.",
    )


@dataclass(init=False, frozen=True, kw_only=True, eq=False, repr=False)
class Converting:
    """What `maxent convert` is told of a model."""

    target: str | None = option(
        None, "Column of the class; default: the one that MODEL names.", metavar="COLUMN", group="read"
    )
    classes: Sequence[str] | None = same(Foreign, "classes")
    features: Sequence[str] | None = same(Foreign, "features")
    qi: Sequence[str] | None = option(
        None,
        "Columns that the adversary's table has, too; default: all attributes.",
        metavar="A,B,...",
        group="read",
    )
    train: str | None = option(
        None, "Training table: domains of attributes that MODEL does not have.", metavar="FILE", group="read"
    )
    bins: Sequence[float] | None = option(
        None,
        "Edges of intervals of the target of a regression.",
        metavar="0,20,50",
        group="read",
        doc="Of a regression: edges of intervals of the target.",
    )
    values: Sequence[float] | None = option(
        None,
        "Every number that the target of a regression can be.",
        metavar="0,1,2",
        group="read",
        doc="Of a regression: every number that the target can be.",
    )
    parameters: Mapping[str, Any] | None = same(Foreign, "parameters")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Reconstructing(Read):
    """A call of `maxent.reconstruct`."""

    release: Release | Records = field(
        kw_only=False, metadata=positional("Trees whose nodes state counts, or numbers of people.")
    )
    qi: Source | None = field(
        default=None,
        kw_only=False,
        metadata=positional(
            "What is known: a row for each person, with any of the public attributes. Everything else is rebuilt."
        ),
    )
    people: int | None = option(
        None,
        "Number of individuals; default: what the release states.",
        group="known",
        doc="Number of individuals; default: what the release states, or the rows of ``qi``.",
    )
    time_limit: float | None = same(
        Exactness,
        "time_limit",
        doc="Seconds that everything after the inputs are read may take; default: a minute.",
    )
    seed: int = option(
        0,
        "Seed of random choices: where a near table is looked for.",
        group="solved",
        doc="Of random choices: where a near table is looked for.",
    )
    noise: Noise | None = same(
        InexactNumbers,
        "noise",
        doc="What draws and counts with noise are taken for; default: their likelihood. Intervals hold with a "
        "probability of 0.99. Where it is known who was drawn, draws are neither.",
    )
    rows: bool = option(
        False,
        "QI lists the people in training order: who was drawn for each tree is then known of each row.",
        group="known",
        doc="Whether ``qi`` lists people in the order of training: where the release tells who was drawn for each "
        "tree, it is then known of each row. Without ``qi`` rows are rebuilt in that order.",
    )
    others: Source | None = option(
        None,
        "All rows but one, with their classes: the posterior of the last one, from counts with noise.",
        metavar="FILE",
        group="known",
        doc="All rows but one, with their classes. The table is then the last row: the posterior of each column, from "
        "counts with noise.",
    )
    prior: Literal["uniform", "others"] = option(
        "uniform",
        "Prior of the row that --others lacks: every cell alike, or as the others are.",
        group="known",
        doc="What is known of that row beforehand: every cell is as likely, or the row is like the others.",
    )
    truth: Source | None = option(
        None,
        "The confidential data: how near the table is to the people.",
        metavar="FILE",
        group="measured",
        doc="The people of the data, with their classes.",
    )
    control: Source | None = option(
        None,
        "People who were not in the data, with their classes: by how much the table is nearer to those of --truth.",
        metavar="FILE",
        group="measured",
        doc="People of the same population who are not in the data, with their classes: ``.null`` says how much nearer "
        "the table is to those of ``truth``.",
    )


AT_MOST = (
    "Seconds that compiling and solving may take, 120 by default; None for no limit. Then the answer is the best so "
    "far, with a bound on the optimum where there is one, and is not to be relied on. Where private splits let people "
    "be in too many leaves, the estimate leaves these splits out."
)
UNINFORMED = (
    "Whether the adversary is taken not to know the base rate. By default they know how many people have each class; "
    "with ``knowledge`` they know what it names, and no more."
)
# Seconds that compiling and solving may take unless the call of a review says otherwise: it is to end.
TIME = 120.0


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Reviewing(
    Interruptible,
    Informed,
    AdversaryOption,
    Top,
    SolverOptions,
    ByBackend,
    PopulationOption,
    RowsOption,
    Read,
    InexactNumbers,
    Kinds,
    Evidence,
):
    """A call of `maxent.review`."""

    model: Any = field(
        kw_only=False,
        metadata=positional(
            "A fitted model, or path: a model of scikit-learn as `maxent.from_sklearn` takes it, a ``Pipeline`` that "
            "ends in one, whose steps are undone (docs/models.md); a model of XGBoost, LightGBM or CatBoost, read as "
            "its tool saves it; or a file or folder that a tool wrote, as `maxent.convert` takes it. Or a list of one "
            "and of statements that are published beside it, files or fitted regressions (docs/statements.md)."
        ),
    )
    X: Any = field(
        kw_only=False,
        metadata=positional(
            "The training table, as ``fit`` was given it, a DataFrame, array or path: strings, categories, numbers, "
            "missing values. More columns may be there. Columns of an array are called ``x0``, ``x1``..."
        ),
    )
    y: Any = field(
        default=None,
        kw_only=False,
        metadata=positional(
            "The class of each record; by default the column ``target`` of ``X``. Of several outputs a column for "
            "each, in their order, whose names are theirs."
        ),
    )
    qi: Sequence[str] = field(
        metadata=positional(
            "The quasi-identifiers: columns of ``X`` that an adversary knows of the people. All other attributes are "
            "private."
        )
    )
    target: str | Sequence[str] | None = option(
        None,
        "The name of the sensitive attribute; default: those that ``y`` has, else ``class``. Several, in their order, "
        "of a model with as many outputs, or of a release about their combinations: see docs/several.md.",
        group="call",
    )
    classes: Sequence[str] | None = same(Foreign, "classes")
    features: Sequence[str] | None = same(Foreign, "features")
    bins: Sequence[float] | None = same(Converting, "bins")
    values: Sequence[float] | None = same(Converting, "values")
    parameters: Mapping[str, Any] | None = same(Foreign, "parameters")
    sample_weight: Any = option(
        None,
        "Column of the weights that people had in training, if any.",
        metavar="COLUMN",
        group="read",
        doc="The weights that ``fit`` was given, shape (n_rows,), or the column of ``X`` that has them. The "
        "worst case of what is not read tells people apart by them; where people with one quasi-identifier weigh "
        "alike, weighted shares are read.",
    )
    noise: Noise | None = same(InexactNumbers, "noise")
    time_limit: float | None = same(Exactness, "time_limit", default=TIME, doc=AT_MOST)
    control: Source | None = same(
        ControlOption,
        "control",
        help=CONTROL.replace("--truth", "DATA"),
        doc="Control people, who were not in the data, a DataFrame or path: columns of the quasi-identifiers and the "
        "class.",
    )
    no_marginal: bool = same(Informed, "no_marginal", help=UNINFORMED)
    published_as: str | None = same(Foreign, "published_as")
    rows_unknown: str | None = option(
        None,
        "Why nobody knows the order of the rows of the training data: it takes MX406 back, and the verdict says so.",
        metavar="REASON",
        group="known",
    )
    early: Callable[[Verdict], object] | None = option(
        None, "Told a verdict that no estimate changes, before there is one.", group="call"
    )
    first: Callable[[Review], object] | None = option(
        None, "Given the review as it first is: with an estimate, before more is tried and proved.", group="call"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Checking(
    Interruptible,
    Informed,
    AdversaryOption,
    SolverOptions,
    ByBackend,
    PopulationOption,
    Read,
    SensitiveOption,
    ControlOption,
    Truth,
):
    """A call of `maxent.check`."""

    release: Any = field(
        kw_only=False,
        metadata=positional(
            "A ``maxent/1`` file, a file or folder of another tool as `maxent.convert` takes it, or a release; or a "
            "list of one and of statements beside it."
        ),
    )
    qi: Source = field(kw_only=False, metadata=positional("The adversary's table: a DataFrame, path or pattern."))
    policy: str | PathLike[str] | Mapping[str, Any] | None = field(
        default=None,
        kw_only=False,
        metadata=positional(
            "A policy in TOML, ACRO's YAML, the name of one that is shipped (``satre``, ``uk-llc``, ``ehds``, "
            "``opensafely``), or what such a file says: docs/policies.md."
        ),
    )
    truth: Source | None = same(Truth, "truth")
    target: str | None = option(
        None,
        "Column of the class; default: the one that RELEASE names.",
        metavar="COLUMN",
        group="read",
        doc="What a file of another tool lacks, as for `maxent.convert`. Domains are those of ``truth``, or of ``qi``.",
    )
    classes: Sequence[str] | None = same(Foreign, "classes")
    features: Sequence[str] | None = same(Foreign, "features")
    private: Sequence[str] | None = option(
        None,
        "Columns that the tree may test and the adversary's table has not.",
        metavar="C,D,...",
        group="read",
        doc="Attributes that the adversary's table does not have, beside those of the policy.",
    )
    parameters: Mapping[str, Any] | None = same(Foreign, "parameters")
    published_as: str | None = same(Foreign, "published_as")
    count: str | None = same(Facts, "count")
    sensitive: str | Sequence[str] | None = same(
        SensitiveOption, "sensitive", doc="Classes that limits are about, in the place of those of the policy."
    )
    sample_weight: str | None = same(
        Reviewing,
        "sample_weight",
        doc="The column of ``truth`` that has the weights that people had in training, if any, as for `maxent.review`.",
    )
    time_limit: float | None = same(Exactness, "time_limit", default=TIME, doc=AT_MOST)
    no_marginal: bool = same(Informed, "no_marginal", help=UNINFORMED)
    title: str = option("", "Of the record: a title.", group="call")
    purpose: str = option("", "Of the record: what the release is for.", group="call")


_TABLE = (
    "candidates are compared by what an adversary with the table and the base rate infers; judge the best one by it"
)
# What other commands take and one does not, with the reason, by the command.
UNTAKEN: Mapping[str, Mapping[str, str]] = {
    "advise": {
        "sample_weight": "trees are grown from people who weigh alike, and accuracy counts each of them once",
        "statements": "candidates are judged by themselves; judge the best one with what is published beside it",
        "control": "accuracy is that of folds, and of other people with test",
        "policy": "state its limits one by one, and check the best one by it",
        **dict.fromkeys(("population", "people", "adversary", "rows", "rows_unknown", "no_marginal"), _TABLE),
    }
}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Advising(Interruptible, Read):
    """A call of `maxent.advise`."""

    data: Source = field(kw_only=False, metadata=positional("As for `maxent.defend`."))
    y: Any = field(
        default=None,
        kw_only=False,
        metadata=positional("The class of each record; by default the column ``target`` of ``data``."),
    )
    target: str | Sequence[str] | None = option(
        None, "As for `maxent.defend`; with ``y`` its name by default, else ``class``.", group="call"
    )
    qi: Sequence[str] = field(metadata=positional("As for `maxent.defend`."))
    private: Sequence[str] = option((), "As for `maxent.defend`.", group="call")
    categorical: Sequence[str] = option((), "As for `maxent.defend`.", group="call")
    missing: Missing = option("refuse", "As for `maxent.defend`.", group="call")
    methods: Iterable[str] | None = option(None, "Methods of defense that may take part; all by default.", group="call")
    folds: int = option(
        5,
        "Folds of cross-validation, which accuracy is measured by.",
        Range("a whole number of at least 2", whole(2).holds),
        group="measured",
        doc="Of cross-validation, at least 2: stratified by the class.",
    )
    test: Source | None = same(
        ControlTestOption,
        "test",
        help="Other records with their classes: people who take no part in the search; adds the accuracy of the best "
        "on them.",
        doc="People who take no part in anything, a DataFrame or path: the accuracy of the best release on them.",
    )
    cost: Any = option(
        None,
        "Costs, a table: a row for each decision, a column for each class; the best is then what costs least.",
        metavar="FILE",
        group="measured",
        doc="What a decision costs about somebody of a class, a path, DataFrame, or array of shape (n_decisions, "
        "n_classes), as for the method ``optimal``: the best release is then the one with the least costly decisions "
        "about people whom it was not made from.",
    )
    model: Any = option(
        None,
        "A tree or forest to start from, of any tool that 'maxent convert' reads, in place of trees that are grown.",
        metavar="MODEL",
        option="--from",
        group="read",
        doc="A tree or forest to start from, as for `maxent.defend`: candidates are what methods that prune trees make "
        "of it. Its splits may have been chosen by all records, so that accuracies may be too good; use ``test``.",
    )
    sensitive: str | Iterable[str] | None = same(
        SensitiveOption, "sensitive", doc="The classes that the limits are about, see `maxent.estimate`; default: all."
    )
    seed: int = option(
        0,
        "Seed of random choices: folds and random trees.",
        NOT_NEGATIVE,
        group="run",
        doc="Makes folds and random methods repeatable.",
    )
    jobs: int = same(
        WorkerOptions, "jobs", default=1, help=JOBS, doc="Processes that run trials, -1 for one on each core."
    )
    dask: str | None = same(
        WorkerOptions,
        "dask",
        doc="The address of the scheduler of a Dask cluster whose workers run the trials instead.",
    )
    time_limit: float | None = option(
        300.0,
        "Time after which no trial begins; one that runs is ended, and the best so far counts.",
        real("a number of seconds above 0", lambda value: value > 0),
        metavar="SECONDS",
        group="run",
        doc="Seconds that reading and trials may take, 300 by default; None for no limit. The trial that runs then is "
        "ended, and the best so far counts: of candidates that were tested on no fold yet, the best for the people "
        "that it is made from.",
    )
    resume: str | PathLike[str] | None = option(
        None,
        "Folder for trials that are done: the same call goes on with them.",
        metavar="FOLDER",
        group="run",
        doc="A folder, which may be new: each trial is written to it as soon as it is done, and not run again.",
    )
