"""The published release: a `Release` holds only the information that its readers see."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, get_args

from maxent.models.arguments import Impurity as Impurity
from maxent.models.arguments import RoundingMethod as RoundingMethod
from maxent.models.display import Display, Shown, counted

if TYPE_CHECKING:
    from maxent.models.arrays import FloatArray, IntArray
    from maxent.models.draws import Draws


# Counts rounded to a base: how far a true number can be from the one that is published.

ROUNDING_METHODS: tuple[RoundingMethod, ...] = get_args(RoundingMethod)


@dataclass(frozen=True, slots=True)
class Rounded:
    """Rounding of every published number of records, each for itself, to a multiple of a base of at least 2.

    ``random`` takes one of the two neighbouring multiples, ``down`` the one below.
    """

    base: int
    method: RoundingMethod = "nearest"

    @property
    def below(self) -> int:
        """By how many records the true number can be smaller than the published one."""
        return {"nearest": self.base // 2, "random": self.base - 1, "down": 0}[self.method]

    @property
    def above(self) -> int:
        """By how many records the true number can be larger than the published one."""
        return self.base // 2 if self.method == "nearest" else self.base - 1

    def behind(self, published: IntArray) -> tuple[IntArray, IntArray]:
        """Fewest and most records that published numbers stand for, never fewer than none; shapes as given."""
        low = published - self.below
        return low * (low > 0), published + self.above

    @property
    def in_words(self) -> str:
        """What a published number says, in a sentence."""
        how = {
            "nearest": "to the nearest multiple",
            "random": "at random to a neighbouring multiple",
            "down": "down to a multiple",
        }[self.method]
        sides = [f"up to {self.below} fewer"] * bool(self.below) + [f"up to {self.above} more"]
        return f"numbers of records are rounded {how} of {self.base}: the true one may be {' or '.join(sides)}"

    def __str__(self) -> str:
        return f"{self.method}, base {self.base}"


@dataclass(frozen=True, slots=True)
class Coarsened(Rounded):
    """Rounding by which numbers of several releases may be off, in some of which fewer were suppressed, or none."""


def behind(
    published: IntArray, suppressed_below: int, rounded: Rounded | None, *, sizes: bool = False
) -> tuple[IntArray, IntArray]:
    """Fewest and most records behind numbers of which small ones were suppressed, and then others rounded.

    ``sizes``: numbers of records of all classes, of which small ones need not have been suppressed.
    """
    hidden = max(suppressed_below - 1, 0)
    low, high = published, published + hidden * (published == 0)
    if rounded is None:
        return low, high
    low, most = rounded.behind(published)
    least = suppressed_below * (published > 0) * (not sizes and not isinstance(rounded, Coarsened))
    return low + (least - low) * (least > low), high + (most - high) * (most > high)


# Noise in counts: which number was added to each, for itself.

Mechanism = Literal["laplace", "geometric", "gaussian", "truncated-laplace"]

MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)


@dataclass(frozen=True, slots=True)
class AddedNoise:
    """A random number that was added to every count, for itself, with mean 0.

    ``scale``: records; the standard deviation of ``gaussian``, b of the density ``exp(-|z| / b) / (2 b)`` of
    ``laplace``, and b of the probabilities in proportion to ``exp(-|z| / b)`` of whole numbers (``geometric``).
    ``truncated-laplace`` is a Laplace number without what stands behind the point.
    """

    mechanism: Mechanism
    scale: float

    @property
    def whole(self) -> bool:
        """Whether whole numbers are added, so that published counts are whole."""
        return self.mechanism in {"geometric", "truncated-laplace"}

    @property
    def concave(self) -> bool:
        """Whether the logarithm of the probability of a published number is concave in the true count."""
        return self.mechanism != "truncated-laplace"

    def within(self, miss: float) -> float:
        """The smallest distance that noise exceeds with a probability of at most ``miss``, records."""
        if self.mechanism == "gaussian":
            from scipy.special import ndtri

            return -self.scale * float(ndtri(miss / 2)) * (1 + 1e-9)
        far = -self.scale * math.log(miss)
        if self.mechanism == "laplace":
            return far * (1 + 1e-9)
        # P(|z| > k) is exp(-(k + 1) / b), times 2 / (1 + exp(-1 / b)) where every whole number has its own share.
        own = self.scale * math.log(2 / (1 + math.exp(-1 / self.scale))) if self.mechanism == "geometric" else 0.0
        return float(max(math.ceil((far + own) * (1 + 1e-9) - 1), 0))

    def log(self, noise: FloatArray) -> FloatArray:
        """Logarithms of densities or probabilities, but for a constant, nats; shape as given."""
        if self.mechanism == "gaussian":
            return -0.5 * (noise / self.scale) ** 2
        found = -abs(noise) / self.scale
        return found - math.log(2) * (noise != 0) if self.mechanism == "truncated-laplace" else found

    def __str__(self) -> str:
        return f"{self.mechanism}, scale {self.scale:g}"


# The content of a release, as frozen values: trees over the same attributes and target, and what was done to them.

FORMAT = "maxent/1"

Role = Literal["public", "private"]
AttributeType = Literal["categorical", "numeric"]
Candidates = Literal["unused", "thresholds", "mixed", "none"]
Encoding = Literal["ordinal", "onehot"]
Predicts = Literal["label", "vote", "mean", "score"]
Labels = Literal["majority", "decided"]
Link = Literal["logit", "softmax", "share", "none"]


Numbers = tuple[float, float]  # the least and the largest number that a class stands for; infinite where there is none


@dataclass(frozen=True, slots=True)
class Target:
    """The sensitive attribute: its name and its classes, in the order of every result.

    ``numbers`` says of a numeric one what each class stands for. ``of`` are the sensitive columns of which it has every
    combination of classes, see `maxent.models.tables.classes`; empty for a target that is one column. The last class of
    a ``register`` are people of it who are not in the data.
    """

    name: str
    classes: tuple[str, ...]
    numbers: tuple[Numbers, ...] | None = None
    of: tuple[Target, ...] = ()
    register: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that tables have of it."""
        return tuple(part.name for part in self.of) or (self.name,)


@dataclass(frozen=True, slots=True)
class Attribute:
    """A column that splits may test. ``values`` is the domain of a categorical one, None for numeric.

    ``missing`` says of a numeric one that cells without a number are values, which branches take; a categorical one has
    a value for them, `maxent.models.tables.cells.MISSING`.
    """

    name: str
    type: AttributeType = "categorical"
    values: tuple[str, ...] | None = None
    role: Role = "public"
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Branch:
    """One outcome of a split: ``values`` (categorical) or ``gt < value <= le`` (numeric, either may be None).

    ``missing`` says of a numeric one that it takes records without a number, too; without bounds it takes only these,
    or with False every number. ``child`` is None when the leaf below was removed before publication.
    """

    child: str | None
    values: tuple[str, ...] | None = None
    le: float | None = None
    gt: float | None = None
    missing: bool | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """An inner node (``attribute`` and ``branches``) or a leaf (neither), and what was stated about it.

    ``error_rate`` is a share (0..1) of the node's records, ``n`` and ``counts`` are records, ``rates`` are shares of
    classes, 0 of one that is not named. Of a release that was resampled these are of draws, and ``distinct`` is how
    many different records were drawn. ``value`` is what a leaf of a boosted model adds to the score of the tree's
    class, or to that of each class that it names, and ``hessian`` the sum of the second derivatives of the loss that it
    was computed with. ``mean`` and ``variance`` are those of a numeric target in the node's records; the squares are
    divided by n. ``part_of`` names the leaf of the tool that a leaf is a part of: where the tool sends people without
    a value by other splits, its leaf stands in several places. Those of one name are one group; a part states its label
    alone. ``noisy`` are the counts of a release with noise, any numbers; such a node has no ``counts``.
    """

    id: str
    attribute: str | None = None
    branches: tuple[Branch, ...] = ()
    label: str | None = None
    error_rate: float | None = None
    n: int | None = None
    counts: Mapping[str, int] | None = None
    rates: Mapping[str, float] | None = None
    distinct: int | None = None
    value: float | Mapping[str, float] | None = None
    hessian: float | None = None
    mean: float | None = None
    variance: float | None = None
    part_of: str | None = None
    noisy: Mapping[str, float] | None = None

    @property
    def is_leaf(self) -> bool:
        return self.attribute is None


def nodes_of(stated: Iterable[Mapping[str, Any]]) -> tuple[Node, ...]:
    """Nodes from their fields by name, with branches that are fields of theirs."""
    return tuple([Node(**{**each, "branches": _branches(each.get("branches", ()))}) for each in stated])


def _branches(stated: Iterable[Mapping[str, Any]]) -> tuple[Branch, ...]:
    return tuple([Branch(**each) for each in stated])


EXACT = frozenset({"c45", "kadet"})  # algorithms of `maxent.models` that compare numbers in double precision


@dataclass(frozen=True, slots=True)
class Induction:
    """Knowledge of the adversary about the algorithm that grew a tree.

    ``impurity`` None: nothing is known and no internal constraint follows. ``candidates`` says which splits
    competed: ``unused`` (multiway, the attributes not yet used on the path), ``thresholds`` (binary, every
    attribute and every cut between adjacent observed values; categorical values are ordered as in
    `Attribute.values`, or each stands against the rest with ``encoding="onehot"``), ``mixed`` (categorical attributes
    as in ``unused``, numeric ones as in ``thresholds``), or ``none``.
    ``min_samples_leaf`` and ``k`` (k-anonymous induction) are records; splits that leave fewer in a branch
    did not compete. ``compared`` are the attributes whose splits are known to have competed; None: all. ``among`` are
    those that a tool grew the tree from by rules that are not all stated here; None: nothing is said of further rules.
    """

    algorithm: str | None = None
    impurity: Impurity | None = None
    candidates: Candidates = "none"
    min_samples_leaf: int = 1
    k: int = 1
    encoding: Encoding = "ordinal"
    compared: tuple[str, ...] | None = None
    among: tuple[str, ...] | None = None

    @property
    def exact(self) -> bool:
        """Whether any two different numbers are known to have been told apart; scikit-learn rounds to 24 bits."""
        return self.candidates == "mixed" and self.algorithm in EXACT


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree as its list of nodes, a tuple or `maxent.models.nodes.Nodes`; the first is the root.

    ``weight`` is how much it counts among the trees that predict together, and ``of_class`` the class whose score its
    values are added to.
    """

    nodes: Sequence[Node]
    induction: Induction = field(default_factory=Induction)
    weight: float = 1.0
    of_class: str | None = None

    @property
    def root(self) -> Node:
        return self.nodes[0]

    @property
    def of_statements(self) -> bool:
        """Whether it stands for statements: one leaf, which says nothing."""
        return len(self.nodes) == 1 and self.nodes[0] == Node(self.nodes[0].id)

    @property
    def leaves(self) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.is_leaf)

    @property
    def n_leaves(self) -> int:
        """How many leaves there are; nodes that are held as arrays are not made objects to count them."""
        columns = getattr(self.nodes, "columns", None)
        return len(self.leaves) if columns is None else len(columns) - len(columns.inner)


@dataclass(frozen=True, slots=True)
class Boosting:
    """Rule that turns the scores of trees into probabilities.

    Attributes
    ----------
    link : {"logit", "softmax", "share", "none"}
        ``logit``: of the one class that all trees add to, of two. ``softmax``: of the scores of all classes. ``share``:
        scores are at least 0, and each class has its share of their sum. ``none``:
        scores stay what they are; the class with the largest is predicted, or that of all trees where its is above 0.
    rate, l2 : float or None
        Learning rate, which the values of leaves contain, and L2 penalty under which they were found; None: not known.
    base : float or mapping of class to float
        The scores before the first tree.
    l1 : float
        L1 penalty under which values were found.
    hessian : float
        Factor of ``p (1 - p)`` in the second derivative of a record's loss; p is the probability of the tree's class.
    penalties : mapping of attribute to float
        L2 penalties of the leaves right below splits on some attributes, where they are others than ``l2``.
    weights : mapping of class to float
        What a record of each class weighed in training, 1 where it is not named.

    With a rate and a penalty, all leaves state ``-rate G / (H + l2)``: G and H are sums of the first and second
    derivatives of the loss of all their records, before the first tree of the round. See
    `maxent.constraints.kinds.boosting`.
    """

    link: Link
    rate: float | None = None
    l2: float | None = None
    base: float | Mapping[str, float] = 0.0
    l1: float = 0.0
    hessian: float = 1.0
    penalties: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Defense:
    """The defense of a model before its publication: name of the method and parameters, such as ``k``."""

    method: str
    parameters: Mapping[str, int | float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, repr=False)
class Content(Shown):
    """The content of one publication: trees over the same attributes and target.

    Records entered each tree's counts with probability ``sampling_rate``, and counts below
    ``suppressed_below`` (records) were published as 0. ``defense`` is what the publisher says was done.
    ``resampled``: each tree counts so many draws of its own from all records, with replacement (a bootstrap).
    ``predicts`` says how the trees predict: by the label of the only one, by votes, by the mean of their shares, or by
    the sum of their scores, which ``boosting`` describes. ``labels`` are those of a ``majority``, or ``decided`` under
    costs, weights or priors, and then no statement about the records. ``rounded``: every ``n`` and count was rounded
    to a multiple of a base, each for itself; nothing else about records is stated then but labels. ``draws``: who was
    drawn for each tree, where the file tells it; numbers of nodes are then those of the draws. ``noise`` was added to
    every count, which `Node.noisy` has then; it states nothing about n, labels or sums. ``statements``: what else was
    published of the same people, `maxent.models.statements.read.StatementDocument` of each document.
    """

    target: Target
    attributes: tuple[Attribute, ...]
    trees: tuple[Tree, ...]
    sampling_rate: float = 1.0
    suppressed_below: int = 0
    defense: Defense | None = None
    resampled: int | None = None
    predicts: Predicts | None = None
    boosting: Boosting | None = None
    labels: Labels = "majority"
    rounded: Rounded | None = None
    draws: Draws | None = None
    statements: tuple[Any, ...] = ()
    noise: AddedNoise | None = None

    @property
    def sampled(self) -> bool:
        """Whether numbers are not those of the records: of a sample, of some repeatedly, or with noise."""
        return self.sampling_rate < 1 or self.resampled is not None or self.noise is not None

    @property
    def blurred(self) -> bool:
        """Whether a published number may stand for several: some are suppressed, or all are rounded."""
        return self.suppressed_below > 1 or self.rounded is not None

    def behind(self, published: IntArray, *, sizes: bool = False) -> tuple[IntArray, IntArray]:
        """Fewest and most records, of those that were counted, that published numbers stand for; shapes as given."""
        return behind(published, self.suppressed_below, self.rounded, sizes=sizes)

    @property
    def public(self) -> tuple[Attribute, ...]:
        """The quasi-identifiers, in the order of the document."""
        return tuple(a for a in self.attributes if a.role == "public")

    @property
    def private(self) -> tuple[Attribute, ...]:
        return tuple(a for a in self.attributes if a.role == "private")

    def _display(self) -> Display:
        facts = {
            "target": f"{self.target.name}: {', '.join(self.target.classes)}",
            "public attributes": ", ".join(a.name for a in self.public),
            "private attributes": ", ".join(a.name for a in self.private),
            "nodes": str(sum(len(tree.nodes) for tree in self.trees)),
            "leaves": str(sum(node.is_leaf for tree in self.trees for node in tree.nodes)),
            "sampling rate": "" if self.sampling_rate == 1 else f"{self.sampling_rate:g}",
            "draws": "" if self.draws is None else f"known for {self.draws.trees} trees, {self.draws.n} rows",
            "draws per tree": "" if self.resampled is None else str(self.resampled),
            "rounded counts": "" if self.rounded is None else str(self.rounded),
            "noise in counts": "" if self.noise is None else str(self.noise),
            "defense": "" if self.defense is None else self.defense.method,
            "predicts": "" if self.predicts is None else self.predicts,
        }
        rows = [(fact, value) for fact, value in facts.items() if value]
        title = f"Release of {counted(len(self.trees), 'tree')} about {self.target.name}"
        return Display(title, [f"{fact}: {value}" for fact, value in rows], rows=rows)


@dataclass(frozen=True, slots=True, repr=False)
class Release(Content):
    """One publication: trees over the same attributes and target.

    Records entered each tree's counts with probability ``sampling_rate``, and counts below
    ``suppressed_below`` (records) were published as 0. ``defense`` is what the publisher says was done.
    ``resampled``: each tree counts so many draws of its own from all records, with replacement (a bootstrap).
    ``predicts``, ``boosting``, ``labels`` and ``rounded`` are described at `Content`.
    """

    @property
    def published(self) -> tuple[Tree, ...]:
        """The trees without those that stand for statements."""
        return tuple(tree for tree in self.trees if not (self.statements and tree.of_statements))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the release as a ``maxent/1`` JSON document, atomically; statements as ``maxent-statements/1``."""
        # By its name, as formats are above releases.
        module = "maxent.models.statements.read" if self.statements else "maxent.models.formats.maxent_json.write"
        import_module(module).save_release(self, path)
