"""The interface of a defense method: a frozen dataclass of parameters that turns records into a release.

Importing a method must not wait for NumPy, as ``maxent defend --help`` lists all of them: what computes is imported
where it is called.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from maxent.models.arguments import parameters_of
from maxent.models.errors import Problem

if TYPE_CHECKING:
    from maxent.models.reading import Reader
    from maxent.models.release import Release
    from maxent.models.tables.generalized_records import GeneralizedTable
    from maxent.models.tables.training import Order, Training

Row = Mapping[str, Any]

# Called with what is being done, how many pieces of it are done, and how many there are
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Stated:
    """Facts that follow from the method and the parameters that a release names.

    Attributes
    ----------
    leaves_at_least : int or None
        Records that every published leaf has at the least (Wakabayashi et al. 2024, section 4).
    removed_below : int or None
        Every removed leaf had fewer records than this.
    left_out_suppressed : bool
        Whether a part of a tree is missing exactly where all its counts were suppressed.
    spans_decide : bool
        Whether candidate splits were dropped for the spans of the final tree, and for nothing else (Friedman et al.
        2006). Pruning afterwards would make that unknown: splits that are gone made spans finer.
    """

    leaves_at_least: int | None = None
    removed_below: int | None = None
    left_out_suppressed: bool = False
    spans_decide: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """Limits that a release is wanted within, as a `Method.grid` may use them; None is no limit.

    Attributes
    ----------
    records : int
        How many there are.
    numeric : bool
        Whether a column is numeric.
    min_k : int, optional
        Fewest people in a group that is not told apart.
    max_posterior : float, optional
        Largest probability that may be inferred of a (sensitive) class.
    max_certain : int, optional
        Most people whose class may be certain.
    max_right_guesses : float, optional
        Largest share of all people whose class may be guessed right.
    sensitive : str, optional
        The sensitive classes, with commas between.
    private : bool
        Whether trees may test attributes that the adversary does not know.
    start : int
        Trees of the model that candidates start from; 0 where trees are grown.
    """

    records: int
    numeric: bool = False
    min_k: int | None = None
    max_posterior: float | None = None
    max_certain: int | None = None
    max_right_guesses: float | None = None
    sensitive: str | None = None
    private: bool = False
    start: int = 0

    @property
    def least(self) -> int:
        """The smallest k to try."""
        return self.min_k or 5

    @property
    def ks(self) -> tuple[int, ...]:
        """Values of k to try: the smallest and larger ones, which also keep a tree from overfitting."""
        larger = (k for k in (2 * self.least, 5 * self.least, 10 * self.least) if k <= self.records // 10)
        return (self.least, *larger)


DEPTHS = (3, 5, 8)  # depths of trees that grids try


@dataclass(frozen=True)
class Method(ABC):
    """A method of defense: a subclass is a frozen dataclass with fields made by `maxent.models.arguments.parameter`.

    A method with a field ``k`` publishes a release for each k that is asked for, and one with a field ``seed`` gets
    the seed of a study. No field has the name of another argument of `maxent.defend`.

    Attributes
    ----------
    summary : str
        What it does, a line of ``maxent defend --help``; of methods of this package the registry says it.
    examples : tuple of str
        Two calls that its own help ends with.
    promise : str or None
        What is guaranteed, with ``{k}``; None for nothing.
    tells : bool
        Whether `publish_from` takes a function that is told the progress, see `Progress`.
    instead : mapping of parameter to str
        Parameter of other methods -> advice of what to use in its place: ``"use k="``.
    """

    summary: ClassVar[str]
    examples: ClassVar[tuple[str, ...]] = ()
    promise: ClassVar[str | None] = None
    tells: ClassVar[bool] = False
    instead: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def states(cls, release: Release) -> Stated:
        """Facts that a release whose defense names this method states to an adversary who knows the method.

        Constraints are compiled from them, so they have to hold whatever the confidential records are.
        """
        return Stated()

    @classmethod
    def grid(cls, wanted: Wanted) -> Iterator[Row]:
        """Parameters that are worth trying for an accurate release within limits: the candidates of `maxent.advise`.

        By default each k alone. What is tried need not keep the limits: the engine audits every candidate.
        """
        yield from ({"k": k} for k in wanted.ks) if "k" in parameters_of(cls) else ({},)

    @classmethod
    def untried(cls, wanted: Wanted) -> Iterator[tuple[str, str]]:
        """What the method can publish that its grid leaves out, by a name, and why; for reports."""
        yield from ()

    @property
    def domain_order(self) -> Order:
        """The order of domains for `maxent.models.tables.training.read_training`."""
        return "sorted"

    @property
    def domains_known(self) -> Mapping[str, Sequence[str]]:
        """Values of columns, and of the target, that are known without the data."""
        return {}

    @property
    def predicts(self) -> bool:
        """Whether trees are published, which predict; else it is a table of records."""
        return True

    def conflicts(self) -> Iterator[Problem]:
        """Parameters that do not go together."""
        yield from ()

    def stated(self) -> Row:
        """Parameters whose defaults depend on others, as they are used: the rows of a study state them."""
        return {}

    def read(self, target: str | Sequence[str], columns: Sequence[str], reader: Reader) -> Self:
        """The same with the files among its parameters read, of data with these columns, as the data are."""
        return self

    @abstractmethod
    def origin(self, training: Training) -> Any:
        """The origin of the releases of all k, such as the tree before it is defended."""

    @abstractmethod
    def publish_from(self, training: Training, grown: Any) -> tuple[Release | GeneralizedTable, Row]:
        """The publication, and its row: ``guarantee`` (None for none), ``leaves_before`` and more, see `Defended`."""

    def predictor(self) -> Any:
        """The function that predicts for the accuracies, such as `maxent.models.trees.predict.predict_columns`."""
        from maxent.models.trees.predict import predict_columns

        return predict_columns

    def chances(self) -> Any:
        """The function that gives the shares of classes that decisions are made from, as `predictor` predicts."""
        from maxent.models.trees.predict import predict_proba_columns

        return predict_proba_columns

    def notes(self, training: Training, releases: Sequence[Release], rows: Sequence[Row]) -> Iterable[str]:
        """Guarantees, and their limits, in words."""
        if self.promise is not None:
            yield "guaranteed: " + self.promise.format(k=only_k(rows))


def only_k(rows: Sequence[Row]) -> Any:
    """The k of the only row, and of several the letter."""
    return rows[0]["k"] if len(rows) == 1 else "k"


# When a class counts as certain.

CERTAIN = 0.999  # a class of at least this probability is certain
