"""Measures of disclosure: pure functions from checked arrays, such as posteriors, to numbers, and their table.

Arrays have one row per distinct quasi-identifier q: ``posterior`` is the adversary's estimate P(x|q), shape
(n_qi, n_classes); ``counts`` are the individuals behind each row, shape (n_qi,), all positive, P(q) = counts / sum.
Entropies are in nats, 0 ln 0 = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from math import isinf, log, log2
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from maxent.models.defenses.method import CERTAIN as CERTAIN

if TYPE_CHECKING:
    from maxent.disclosure.baseline import Baseline, ControlShares
    from maxent.models.arrays import BoolArray, FloatArray, IntArray


# The arrays that measures are functions of, checked: posteriors, counts, truths, priors and divergences.
#
# Each function raises `ValueError` for a shape that disagrees and for values that are negative or not a number, because
# a measure of such an array would read as a small risk.

# By how much computed probabilities may be off, unless more was allowed when they were computed.
#
# Where they are compared with a limit, they are taken to be larger by so much.
TOLERANCE = 1e-6
# A difference of two measures that is no more is round-off.
ROUND_OFF = 1e-12
BLOCK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Believed:
    """A posterior with all that measures are functions of, checked.

    ``posterior`` is P(x|q), shape (n_qi, n_classes), and ``counts`` the individuals, shape (n_qi,); ``surest`` and
    ``possible``, of the same shape, are the largest P(x|q) at most, by the estimate and as far as published numbers
    allow. ``prior`` is P(x) before the release; ``divergence`` (nats, shape (n_qi,)) is None
    without a truth, and ``top`` says how many of the largest are averaged. With a truth, ``right`` are the people of
    each quasi-identifier who are guessed right, and ``pure`` says who is in a leaf of one class, shapes (n_qi,).
    ``baseline`` is what guesses without the release achieve, ``control`` what guesses of other people do.
    """

    posterior: FloatArray
    counts: FloatArray
    surest: FloatArray
    possible: FloatArray
    prior: FloatArray
    divergence: FloatArray | None
    top: int
    right: FloatArray | None = None
    pure: BoolArray | None = None
    baseline: Baseline | None = None
    control: ControlShares | None = None


def at_most(probability: npt.ArrayLike, tolerance: float = TOLERANCE) -> FloatArray:
    """Probabilities with the error of computing them: what limits are compared with."""
    return np.minimum(np.asarray(probability, np.float64) + tolerance, 1.0)


def checked_posterior(posterior: npt.ArrayLike) -> FloatArray:
    """The posterior as floats, once it is a table of probabilities."""
    p = np.asarray(posterior, dtype=np.float64)
    if p.ndim != 2 or p.size == 0:
        raise ValueError(f"posterior must have the shape (n_qi, n_classes) and not be empty, not {p.shape}")
    if not (p.min() >= 0 and p.max() < np.inf):  # a value that is not a number is neither
        raise ValueError("posterior holds values that are negative or not finite")
    return p


def checked_counts(counts: npt.ArrayLike, rows: npt.ArrayLike) -> FloatArray:
    """The counts as floats, once there is a positive one for every row of ``rows``."""
    n, expected = np.asarray(counts, dtype=np.float64), np.shape(rows)[:1]
    if n.shape != expected:
        raise ValueError(f"counts must have the shape {expected}, not {n.shape}")
    if not (np.isfinite(n).all() and n.min() > 0):
        raise ValueError("counts must be positive: a quasi-identifier stands for at least one individual")
    return n


def checked_truth(truth: npt.ArrayLike, posterior: FloatArray) -> FloatArray:
    """The truth as floats, once it has the posterior's shape and somebody in every row."""
    people = np.asarray(truth, dtype=np.float64)
    if people.shape != posterior.shape:
        raise ValueError(f"truth must have the posterior's shape {posterior.shape}, not {people.shape}")
    if not (np.isfinite(people).all() and people.min() >= 0):
        raise ValueError("truth holds numbers of individuals that are negative or not finite")
    if not people.any(axis=1).all():
        raise ValueError(f"truth has no individual in row {int(np.argmin(people.any(axis=1)))}")
    return people


def checked_prior(prior: npt.ArrayLike | None, n_classes: int) -> FloatArray:
    """The prior as floats, uniform by default, once it is a distribution over the classes."""
    p = np.full(n_classes, 1 / n_classes) if prior is None else np.asarray(prior, dtype=np.float64)
    if p.shape != (n_classes,):
        raise ValueError(f"prior must have the shape {(n_classes,)}, not {p.shape}")
    if not (np.isfinite(p).all() and p.min() >= 0 and abs(p.sum() - 1) <= 1e-6):
        raise ValueError("prior must hold probabilities that sum to 1")
    return p


def checked_divergences(divergence: npt.ArrayLike) -> FloatArray:
    """The divergences as floats, once they are numbers or ``inf``."""
    d = np.asarray(divergence, dtype=np.float64)
    if d.ndim != 1 or d.size == 0 or np.isnan(d).any() or d.min() < 0:
        raise ValueError("divergence must hold one number of nats, 0 or more, per quasi-identifier")
    return d


def mean(values: FloatArray, counts: FloatArray) -> float:
    """Sum over q of P(q) values(q)."""
    return float(counts @ values / counts.sum())


def by_rows(measured: Callable[[FloatArray], FloatArray], p: FloatArray) -> FloatArray:
    """A number for every row, a block of rows at a time, so that intermediate results stay small."""
    out = np.empty(len(p))
    for begin in range(0, len(p), BLOCK):
        out[begin : begin + BLOCK] = measured(p[begin : begin + BLOCK])
    return out


SAME_POSTERIOR = 1e-9


@dataclass(frozen=True, slots=True)
class AlphaK:
    """The (alpha, k)-anonymity of a posterior: a largest probability, and a number of individuals."""

    alpha: float
    k: int


@dataclass(frozen=True, slots=True)
class Gain:
    """The adversary's gain over the prior; vulnerabilities are probabilities, entropies are nats.

    ``multiplicative`` is after / before (min-entropy leakage is its logarithm) and ``additive`` is after - before.
    ``entropy_reduction`` is H(prior) - H(X|Q); it is negative only for a prior that contradicts the posterior.
    """

    vulnerability_before: float
    vulnerability_after: float
    multiplicative: float
    additive: float
    entropy_before: float
    entropy_after: float
    entropy_reduction: float


def conditional_entropy(posterior: npt.ArrayLike, counts: npt.ArrayLike) -> float:
    """H(X|Q) = - sum over q, x of P(q) P(x|q) ln P(x|q), in nats: 0 (all is known) to ln n_classes.

    Source: Cover and Thomas, *Elements of Information Theory*, 2nd ed., eq. 2.10.
    """
    return mean(_row_entropy(checked_posterior(posterior)), checked_counts(counts, posterior))


def max_posterior(posterior: npt.ArrayLike) -> float:
    """The largest P(x|q): how sure the adversary is of the individual they are surest of."""
    return float(checked_posterior(posterior).max())


def bayes_vulnerability(posterior: npt.ArrayLike, counts: npt.ArrayLike) -> float:
    """V = sum over q of P(q) max_x P(x|q): the share of right guesses of an adversary who guesses everybody's class.

    From 1 / n_classes to 1. Source: Smith, "On the Foundations of Quantitative Information Flow", FoSSaCS 2009.
    """
    return mean(checked_posterior(posterior).max(axis=1), checked_counts(counts, posterior))


def certain(posterior: npt.ArrayLike, counts: npt.ArrayLike, threshold: float = CERTAIN) -> int:
    """Individuals whose posterior puts at least ``threshold`` (a probability) on one class, to within `TOLERANCE`."""
    return int(checked_counts(counts, posterior)[at_most(checked_posterior(posterior).max(axis=1)) >= threshold].sum())


def entropy_l_diversity(posterior: npt.ArrayLike, counts: npt.ArrayLike) -> float:
    """The largest l for which the posterior is entropy l-diverse: min over q of exp(H(X|q)), from 1 to n_classes.

    Read it as the number of equally likely classes that would leave the adversary as unsure about the individual
    they are surest of. Source: Machanavajjhala et al., "l-Diversity: Privacy Beyond k-Anonymity", ACM TKDD 1(1),
    2007, definition 4.1, with the adversary's posterior in place of a class's frequencies.
    """
    checked_counts(counts, posterior)
    return float(np.exp(_row_entropy(checked_posterior(posterior)).min()))


def alpha_k(posterior: npt.ArrayLike, counts: npt.ArrayLike) -> AlphaK:
    """The strongest (alpha, k)-anonymity that holds in the adversary's eyes.

    An equivalence class is a set of individuals whom the posterior does not tell apart: quasi-identifiers with the
    same row (within 1e-9) pooled. ``alpha`` is the largest probability of a class value in any of them, ``k`` the
    number of individuals in the smallest.

    Source: Wong et al., "(alpha, k)-Anonymity: An Enhanced k-Anonymity Model for Privacy Preserving Data Publishing",
    KDD 2006.
    """
    p, n = checked_posterior(posterior), checked_counts(counts, posterior)
    order, start = _equal_rows(p)
    return AlphaK(alpha=float(p.max()), k=int(np.add.reduceat(n[order], start).min()))


def t_closeness(posterior: npt.ArrayLike, counts: npt.ArrayLike, ordered: bool = False) -> float:
    """The smallest t for which the posterior is t-close: the largest distance of a P(.|q) from sum_q P(q) P(.|q).

    The distance is the earth mover's, from 0 (every q looks like the population) to 1. With equal ground distances it
    is the total variation 1/2 sum_x |p_x - r_x|; with ``ordered``, for classes given in their natural order, it is
    1/(n_classes - 1) sum_i |sum_{x <= i} (p_x - r_x)|.

    Source: Li, Li and Venkatasubramanian, "t-Closeness: Privacy Beyond k-Anonymity and l-Diversity", ICDE 2007,
    section 5.
    """
    p, n = checked_posterior(posterior), checked_counts(counts, posterior)
    population = n @ p / n.sum()

    def distance(rows: FloatArray) -> FloatArray:
        if ordered:
            return np.asarray(np.abs(np.cumsum(rows - population, axis=1)).sum(axis=1) / max(p.shape[1] - 1, 1))
        return np.asarray(np.abs(rows - population).sum(axis=1) / 2)

    return float(by_rows(distance, p).max())


def gain_over_prior(posterior: npt.ArrayLike, counts: npt.ArrayLike, prior: npt.ArrayLike | None = None) -> Gain:
    """The adversary's gain of knowledge about X from the release.

    ``prior`` is P(x) before the release, shape (n_classes,); it is uniform when nothing but the domain is known. A
    prior that is no distribution over the classes raises `ValueError`.

    Sources: Smith, "On the Foundations of Quantitative Information Flow", FoSSaCS 2009 (vulnerability, multiplicative
    leakage); Braun, Chatzikokolakis and Palamidessi, "Quantitative Notions of Leakage for One-try Attacks",
    MFPS 2009 (additive leakage).
    """
    p = checked_posterior(posterior)
    before = checked_prior(prior, p.shape[1])
    vulnerability_before, vulnerability_after = float(before.max()), bayes_vulnerability(p, counts)
    # The uniform entropy is taken as ln n itself: n times -1/n ln(1/n) is off by round-off.
    entropy_before = log(p.shape[1]) if prior is None else float(_row_entropy(before[None, :])[0])
    entropy_after = conditional_entropy(p, counts)
    return Gain(
        vulnerability_before=vulnerability_before,
        vulnerability_after=vulnerability_after,
        multiplicative=vulnerability_after / vulnerability_before,
        additive=_difference(vulnerability_after, vulnerability_before),
        entropy_before=entropy_before,
        entropy_after=entropy_after,
        entropy_reduction=_difference(entropy_before, entropy_after),
    )


def _difference(more: float, less: float) -> float:
    """A difference, 0 where it is round-off: it would be printed as -0.0000."""
    found = more - less
    return found if abs(found) > ROUND_OFF else 0.0


def _row_entropy(p: FloatArray) -> FloatArray:
    """H(X|q) of every row, in nats."""

    def entropy(rows: FloatArray) -> FloatArray:
        logs = np.log(rows, out=np.zeros_like(rows), where=rows > 0)
        return np.asarray(0.0 - np.einsum("qx,qx->q", rows, logs))  # a plain minus would turn 0 into -0.0

    return by_rows(entropy, p)


def _equal_rows(p: FloatArray) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows in an order in which those that are equal within `SAME_POSTERIOR` are neighbours, and where groups start.

    Groups are cut where neighbours are further apart: rounding would part values at its boundaries.
    """
    order = np.arange(len(p))
    begins = np.zeros(len(p), bool)
    begins[0] = True
    for column in p.T:
        if begins.all():
            break  # every row stands alone already
        values = np.ascontiguousarray(column)[order]
        start = np.flatnonzero(begins)
        spread = np.maximum.reduceat(values, start) - np.minimum.reduceat(values, start)
        wide = np.flatnonzero(np.repeat(spread > SAME_POSTERIOR, np.diff(start, append=len(p))))
        if not len(wide):
            continue
        sort = np.lexsort((values[wide], np.cumsum(begins)[wide]))
        order[wide], values = order[wide][sort], values[wide][sort]
        begins[wide[1:]] |= np.diff(values) > SAME_POSTERIOR
    return order, np.flatnonzero(begins)


# Divergence of the truth from a posterior, in nats: a small one means that much is disclosed.
# ``truth`` are individuals per class, shape (n_qi, n_classes).

# A class of at most this probability is ruled out: floating-point numbers that should be 0 may be as large.
IMPOSSIBLE = 1e-12


@dataclass(frozen=True, slots=True)
class DivergenceSummary:
    """Individual divergences in a few numbers (nats); None stands for infinity.

    ``top`` are row indices of the largest divergences, infinite ones first; ``infinite`` is the number of rows whose
    divergence is infinite.
    """

    overall: float | None
    max: float | None
    top: tuple[int, ...]
    top_k_average: float | None
    infinite: int


def individual_divergence(truth: npt.ArrayLike, posterior: npt.ArrayLike) -> FloatArray:
    """KL(P(.|q) || P*(.|q)) = sum over x of P(x|q) ln(P(x|q) / P*(x|q)), in nats, for every q.

    P is the truth's distribution and P* the adversary's posterior: a *small* divergence means much is disclosed.

    ``truth``, shape (n_qi, n_classes): individuals per class, at least one per row. ``posterior``, shape (n_qi,
    n_classes): P*(x|q). Result, shape (n_qi,): nats, 0 or more; ``inf`` where the posterior rules out a class that some
    individual has (`IMPOSSIBLE`). Raises `ValueError` for shapes that disagree, or a row of the truth without
    individuals (its distribution is undefined).

    References
    ----------
    Zhu and Du, "Understanding Privacy Risk of Publishing Decision Trees", DBSec 2010, section 5.
    """
    estimate = checked_posterior(posterior)
    people = checked_truth(truth, estimate)
    p = people / people.sum(axis=1, keepdims=True)
    ruled_out = ((p > 0) & (estimate <= IMPOSSIBLE)).any(axis=1)
    # Logarithms are subtracted, not the probabilities divided: p / 1e-310 would overflow.
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    logs -= np.log(estimate, out=np.zeros_like(p), where=(p > 0) & (estimate > 0))
    divergence: FloatArray = np.maximum(np.einsum("qx,qx->q", p, logs), 0.0)  # round-off can leave -1e-17
    divergence[ruled_out] = np.inf
    return divergence


def overall_divergence(truth: npt.ArrayLike, posterior: npt.ArrayLike) -> float:
    """D_overall = sum over q of P(q) D_individual(q), in nats; ``inf`` when any of them is.

    P(q) is the share of the truth's individuals. Source and errors as in `individual_divergence`.
    """
    return mean(individual_divergence(truth, posterior), checked_truth(truth, checked_posterior(posterior)).sum(axis=1))


def top_divergences(divergence: npt.ArrayLike, k: int) -> npt.NDArray[np.intp]:
    """Row indices of the ``k`` largest divergences, largest first, ties by index; all rows when there are fewer.

    Raises `ValueError` when ``k`` is below 1 or a divergence is not a number.
    """
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    return np.argsort(-checked_divergences(divergence), kind="stable")[:k]


def top_k_average(divergence: npt.ArrayLike, k: int) -> float:
    """Mean of the ``k`` largest divergences, in nats; ``inf`` when any of them is. Errors as in `top_divergences`.

    Source: Zhu and Du (2010), section 5, who average the largest individual values as the worst case.
    """
    return float(checked_divergences(divergence)[top_divergences(divergence, k)].mean())


def divergence_summary(divergence: npt.ArrayLike, counts: npt.ArrayLike, k: int = 10) -> DivergenceSummary:
    """Overall, largest, and the rows of the ``k`` largest individual divergences.

    The individuals are the weights of the overall divergence. A single infinite value makes it None (infinite): what
    the adversary got wrong for sure is never left out. Errors as in `top_divergences`.
    """
    d = checked_divergences(divergence)
    return DivergenceSummary(
        overall=_none_if_infinite(mean(d, checked_counts(counts, d))),
        max=_none_if_infinite(float(d.max())),
        top=tuple(top_divergences(d, k).tolist()),
        top_k_average=_none_if_infinite(top_k_average(d, k)),
        infinite=int(np.isinf(d).sum()),
    )


def _none_if_infinite(value: float) -> float | None:
    """JSON has no infinity."""
    return None if isinf(value) else value


# Leakage: capacity and gain of an adversary, in bits.


@dataclass(frozen=True, slots=True)
class Leakage:
    """The gain that an adversary expects without and with a release, in units of the gain matrix.

    ``prior`` is the gain of the guess that is best by the shares of the classes (the base rate, for a matrix that
    counts right guesses), ``uniform`` that of a guess among all alike. ``additive`` is posterior - prior;
    ``multiplicative`` is posterior / prior, None for a prior of 0. ``realised`` is the mean gain of the same guesses
    about real people, None without the truth.
    """

    prior: float
    posterior: float
    realised: float | None
    uniform: float

    @property
    def additive(self) -> float:
        """The gain that the release adds."""
        return _difference(self.posterior, self.prior)

    @property
    def multiplicative(self) -> float | None:
        """The factor that the release makes the gain larger by."""
        return self.posterior / self.prior if self.prior else None

    def as_dict(self) -> dict[str, Any]:
        """The key ``leakage`` of a JSON summary."""
        return {**asdict(self), "additive": self.additive, "multiplicative": self.multiplicative}


def prior_vulnerability(gain: FloatArray, prior: FloatArray) -> float:
    """V_g(pi) = max over w of sum over x of pi_x g[w, x]; shapes (n_guesses, n_secrets) and (n_secrets,)."""
    return float((gain @ prior).max())


def posterior_vulnerability(gain: FloatArray, prior: FloatArray, channel: FloatArray) -> float:
    """V_g[pi, C] = sum over y of max over w of sum over x of pi_x C[x, y] g[w, x]."""
    return float((gain @ (prior[:, None] * channel)).max(axis=0).sum())


def min_capacity(channel: FloatArray) -> float:
    """log2 of the sum over y of max over x of C[x, y]: the largest min-entropy leakage over all priors, bits."""
    return log2(max(float(channel.max(axis=0).sum()), 1.0))  # round-off can leave less


def channel_of(posterior: FloatArray, counts: IntArray | FloatArray) -> tuple[FloatArray, FloatArray]:
    """The prior and the channel of a posterior: the classes are secrets, the quasi-identifiers observations.

    The prior is pi_x = sum over q of P(q) P(x|q), and C[x, q] = P(q) P(x|q) / pi_x: P(x|q) is then what Bayes' rule
    makes of an observation. Classes of probability 0 have no row.

    ``posterior``, shape (n_qi, n_classes). ``counts``, shape (n_qi,), individuals. Result: shapes (n_classes,) and
    (n_classes with a probability, n_qi).
    """
    joint = posterior * (counts / counts.sum())[:, None]
    prior = joint.sum(axis=0)
    there = prior > 0
    return prior, (joint[:, there] / prior[there]).T


def leakage(gain: FloatArray, posterior: FloatArray, counts: IntArray, truth: IntArray | None = None) -> Leakage:
    """The leakage of a posterior, shapes (n_guesses, n_classes), (n_qi, n_classes), (n_qi,) and (n_qi, n_classes)."""
    share = counts / counts.sum()
    expected = posterior @ gain.T
    realised = None
    if truth is not None:
        guess = gain[expected.argmax(axis=1)]
        realised = float((truth * guess).sum() / truth.sum())
    prior = share @ posterior
    best = float(share @ expected.max(axis=1))
    return Leakage(prior_vulnerability(gain, prior), best, realised, float((gain @ prior).mean()))


# Every measure, once: a new one is a function above and an entry here.
#
# Texts, JSON, tables, sweeps, plots and reports ask here which measures there are and how they are called and written.

Number: TypeAlias = float | int

Better = Literal["low", "high", "none"]

# Unit -> how its numbers are written; all others are whole numbers.
FORMS: Mapping[str, str] = {"nats": ".4f", "bits": ".4f", "share": ".4f", "probability": ".3f", "classes": ".3f"}


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of what a release discloses, or of what it is good for: one entry below.

    * ``key``: as in JSON, in rows of a comparison and in columns of a sweep.
    * ``title``: as in texts and plots.
    * ``unit``: one of `FORMS`, or what is counted: ``individuals`` are some of all people, a ``group`` has so many of
      them.
    * ``better`` (low, high, none): which direction protects more; of accuracies, which serves more.
    * ``meaning``: for the documentation.
    * ``value``: its value for an estimate, None where that needs a truth; without it the measure is not one of
      estimates.
    * ``json``: its place in the summary of `maxent.estimate`: by default ``disclosure.<key>``, ``""`` for none. Without
      ``value`` its place in what `maxent.audit` finds; with neither, `comparison_row` has the value.
    * ``use``: whether it says what the release is good for.
    * ``line`` (always, if any, never): whether a comparison has a line for it, "if any" where it is not 0 or unknown
      for all releases.
    * ``sentence``: whether the text of an estimate has a sentence of its own for it.
    * ``swept``: whether it is a column of a sweep.
    * ``brief``, ``bar``, ``report``: its place among the columns of a comparison in brief, the bars of a plot, the
      numbers of a report; 0 for none.
    * ``axis``: what an axis is called, by default ``title``.
    * ``says``: for a report, to somebody who knows no formula: a title, a colon and sentences; ``{target}`` is the
      class.
    """

    key: str
    title: str
    unit: str
    better: Better
    meaning: str
    value: Callable[[Believed], Number | None] | None = None
    json: str | None = None
    use: bool = False
    line: Literal["always", "if any", "never"] = "always"
    sentence: bool = False
    swept: bool = True
    brief: int = 0
    bar: int = 0
    report: int = 0
    axis: str = ""
    says: str = ""

    @property
    def group(self) -> str:
        """The group of lines of a comparison that it stands in."""
        return "use" if self.use else "attacks" if self.value is None else "disclosure"

    @property
    def kind(self) -> type[int] | type[float]:
        """The type of its values."""
        return float if self.unit in FORMS else int

    def text(self, value: Number) -> str:
        """A value as it is written."""
        return format(value, FORMS.get(self.unit, ",d"))

    def share(self, value: Number, individuals: int) -> float | None:
        """A value as a share, from 0 to 1, of what it could be; None where that has no bound of its own."""
        if self.unit == "individuals":
            return min(value / individuals, 1.0)
        return value if self.unit in ("probability", "share") else None


def _of(value: Callable[[FloatArray, FloatArray], Number]) -> Callable[[Believed], Number]:
    """A function of the posterior and the counts."""
    return lambda of: value(of.posterior, of.counts)


def _of_truth(value: Callable[[FloatArray, Believed], Number]) -> Callable[[Believed], Number | None]:
    """A function of the individual divergences, where there are any."""
    return lambda of: None if of.divergence is None else value(of.divergence, of)


def _certain(of: Believed, largest: FloatArray) -> int:
    """Individuals whose largest probability makes them certain."""
    return int(of.counts[largest >= CERTAIN].sum())


# fmt: off
_ALL = (
    Measure("divergence", "divergence overall", "nats", "high",
        "Kullback-Leibler divergence of the truth from the posterior over everybody (D_overall); 0 when they are equal",
        _of_truth(lambda divergence, of: mean(divergence, of.counts)), json="divergence.overall", sentence=True,
        brief=1, report=8, axis="overall divergence, nats",
        says="Distance of the estimate from the truth: How far the adversary's estimate is from the confidential "
        "data, on average over people. Small is bad: 0 means that the estimate equals the true shares of the "
        "classes among people who look alike; infinite, that it rules out what is true of somebody."),
    Measure("divergence_max", "largest divergence", "nats", "high", "the largest divergence of a quasi-identifier",
        _of_truth(lambda divergence, of: float(divergence.max())), json="divergence.max", sentence=True),
    Measure("divergence_top", "mean of the largest", "nats", "high",
        "mean of the largest divergences of quasi-identifiers, ten unless `--top` says otherwise",
        _of_truth(lambda divergence, of: top_k_average(divergence, of.top)), json="divergence.top_k_average",
        sentence=True),
    Measure("divergence_min", "smallest divergence", "nats", "high", "the smallest divergence of a quasi-identifier",
        _of_truth(lambda divergence, of: float(divergence.min())), json="", sentence=True),
    Measure("infinite", "infinite divergences", "quasi-identifiers", "none",
        "quasi-identifiers for which the estimate rules out what is true",
        _of_truth(lambda divergence, of: int(np.isinf(divergence).sum())), json="divergence.infinite", line="if any",
        sentence=True),
    Measure("entropy", "entropy left", "nats", "high",
        "the adversary's mean uncertainty about a class: 0 to ln(number of classes)",
        _of(conditional_entropy), json="entropy", sentence=True, report=4,
        says="Doubt that is left: The average uncertainty (entropy) about a person's {target} that remains by the "
        "estimate. 0 % means that it is sure of everybody; 100 %, that it prefers no class. What the "
        "release predicts may be right more often than that suggests."),
    Measure("bayes_vulnerability", "Bayes vulnerability", "probability", "low",
        "expected share of right guesses when an adversary guesses everybody's most probable class",
        _of(bayes_vulnerability), sentence=True, brief=4, bar=3, report=2,
        says="Right guesses: How often somebody is right who guesses everybody's most likely {target} {how} "
        "{blind}"),
    Measure("right_guesses", "right guesses", "share", "low",
        "share of people whose class is guessed right in truth: by the estimate or as the release predicts, whichever "
        "is right more often",
        lambda of: None if of.right is None else float(of.right.sum() / of.counts.sum()), json="truth.right_guesses",
        sentence=True, swept=False),
    Measure("base_rate", "base rate", "share", "none",
        "share of the most frequent class, by `--marginal`, the release or the truth: right guesses without a release",
        lambda of: None if of.baseline is None else of.baseline.base_rate, json="baseline.base_rate", line="if any",
        sentence=True),
    Measure("uniform", "uniform guess", "share", "none",
        "share of right guesses of somebody who guesses among all classes alike: 1 / number of classes",
        lambda of: 1 / of.posterior.shape[1], json="baseline.uniform", line="if any", sentence=True),
    Measure("vulnerability_before", "Bayes vulnerability without the release", "probability", "none",
        "the same without the release", lambda of: float(of.prior.max()),
        json="disclosure.gain.vulnerability_before", line="never"),
    Measure("max_posterior", "largest posterior", "probability", "low", "the largest probability of anybody's class",
        lambda of: max_posterior(of.posterior), sentence=True, brief=3, bar=4, report=3,
        says="Surest guess about anybody: The largest probability of one class of one person. 1.000 means that at "
        "least one person's answer is given away completely.{here}"),
    Measure("certain", "certain individuals", "individuals", "low",
        f"people with a class of probability {CERTAIN} or more", lambda of: _certain(of, of.surest), sentence=True,
        brief=2, bar=1, report=1,
        says="People whose {target} is certain: Of these people the release leaves practically no doubt: the "
        "estimate gives one class a probability of {certain} or more, or everybody in their leaf or group has the "
        "same class, whichever are more{proved}. For them, publishing the release is publishing the answer."),
    Measure("pure", "individuals in pure leaves", "individuals", "low",
        "people in a leaf whose people all have, in truth, the class that it states or predicts",
        lambda of: None if of.pure is None else int(of.counts[of.pure].sum()), json="truth.pure", line="if any",
        sentence=True, swept=False),
    Measure("surest", "largest posterior at most", "probability", "low",
        "the largest posterior with the error of computing it: what limits are compared with",
        lambda of: float(of.surest.max()), json="", line="never"),
    Measure("possible_posterior", "largest posterior allowed", "probability", "low",
        "the largest posterior for leaves as uneven as what is published allows",
        lambda of: float(of.possible.max()),
        json="disclosure.possible.max_posterior", line="never"),
    Measure("possible_certain", "certain individuals allowed", "individuals", "low",
        "certain individuals for leaves as uneven as what is published allows", lambda of: _certain(of, of.possible),
        json="disclosure.possible.certain", line="never"),
    Measure("possible_right", "right guesses allowed", "share", "low",
        "expected share of right guesses for leaves as uneven as what is published allows",
        lambda of: mean(of.possible, of.counts), json="disclosure.possible.right_guesses", line="never", swept=False),
    Measure("entropy_l_diversity", "entropy l-diversity", "classes", "high",
        "exp(entropy) of the most exposed person: the number of equally probable classes with the same uncertainty",
        _of(entropy_l_diversity), bar=6, report=5,
        says="Classes left for the person most exposed: The estimate leaves as much doubt about the person it is "
        "surest of as there is among this many equally likely classes (entropy l-diversity). 1 means no doubt."),
    Measure("alpha_k", "k of (alpha, k)-anonymity", "group", "high",
        "people in the smallest group with equal posteriors; alpha is `max_posterior`",
        _of(lambda posterior, counts: alpha_k(posterior, counts).k), json="disclosure.alpha_k.k", bar=7, report=6,
        says="Smallest group with one estimate: The fewest people for whom the probabilities of the estimate are the "
        "same. This is the k of (alpha, k)-anonymity, whose alpha is the largest probability of the estimate."),
    Measure("t_closeness", "t-closeness", "probability", "low",
        "largest distance between a person's posterior and that of the whole table, 0 to 1",
        _of(t_closeness), bar=5, report=7,
        says="Largest distance from everybody: The largest distance, from 0 to 1, of the estimate for one person from "
        "the shares of the classes among all people (t-closeness). 0 means that the release tells nobody apart."),
    Measure("member_hits", "hit rate of members", "share", "low",
        "share of people whose likeliest class (of equals those predicted, each as often) is right, with `--control`",
        lambda of: None if of.control is None else of.control.hits.members, json="control.members", line="if any",
        sentence=True, swept=False),
    Measure("control_hits", "hit rate of control people", "share", "none",
        "the same of people who were not in the data",
        lambda of: None if of.control is None else of.control.hits.controls, json="control.controls", line="if any",
        sentence=True, swept=False),
    Measure("beyond_control", "members beyond control people", "share", "low",
        "the difference of the two: what a release gives away about its people beyond what it teaches about others",
        lambda of: None if of.control is None else of.control.hits.difference, json="control.difference",
        line="if any", sentence=True, swept=False, report=15,
        says="Beyond other people: How much more often the same guesses are right about these people ({members}) than "
        "about people like them who were not in the data ({controls}). What is not beyond other people, the release "
        "teaches about everybody. The range holds the true difference with {confidence} confidence."),
    Measure("member", "largest P(member)", "probability", "low",
        "the largest probability that somebody of a register is in the data, with `--population`",
        line="if any", sentence=True, swept=False, report=16,
        says="Surest guess about who is in the data: The largest probability that somebody in a register of people is "
        "one of those whom the release was made from. 1.000 means that this is given away of at least one person."),
    Measure("unique_leaves", "unique leaves", "leaves", "low", "leaves with one person", json="uniqueness.leaves"),
    Measure("homogeneous_leaves", "homogeneous leaves", "leaves", "low", "leaves whose people all have one class",
        json="homogeneity.leaves"),
    Measure("homogeneous_individuals", "individuals in them", "individuals", "low", "people in homogeneous leaves",
        json="homogeneity.individuals", report=10,
        says="People in leaves of a single class: In these leaves everybody has the same {target}: whoever knows "
        "that a person is there knows the answer, without any computation."),
    Measure("background_leaves", "leaves settled by background", "leaves", "low",
        "leaves where the classes of `--background` members settle those of the others", json="background.leaves"),
    Measure("background_individuals", "individuals in them", "individuals", "low",
        "people in leaves settled by background",
        json="background.individuals"),
    Measure("spans", "spans", "spans", "none", "groups that the release does not tell apart", json="spans.count"),
    Measure("min_population", "smallest span's individuals", "group", "high", "people of the smallest span",
        json="spans.min_population", report=9,
        says="Smallest group that is not told apart: The release puts people into groups and says the same of "
        "everybody in a group (this is the k of k-anonymity). In a group of one, it speaks about one particular "
        "person."),
    Measure("k_anonymous", "k of k-anonymity", "group", "high", "the largest k for which it is k-anonymous",
        json="spans.k_anonymous", line="never"),
    Measure("exposed", "exposed individuals", "individuals", "low", "people whose span has one class",
        json="spans.exposed", brief=5, bar=2, report=11,
        says="People exposed by their group: People whose whole group, as far as the release tells people apart, has "
        "only one class."),
    Measure("unlinked", "individuals in no span", "individuals", "none", "people in no published leaf",
        json="spans.unlinked", line="never"),
    Measure("removed_leaves", "removed leaves", "leaves", "none",
        "branches that end where a leaf was removed before publication",
        json="differencing.removed", line="if any"),
    Measure("recovered_leaves", "recovered leaves", "leaves", "low", "removed leaves that other numbers give back",
        json="differencing.recovered", line="if any"),
    Measure("fewest_bits", "fewest bits to re-identify", "bits", "high",
        "bits that it takes to re-identify somebody of a leaf (`R` of `audit --risk`), the fewest", line="if any",
        swept=False),
    Measure("mean_bits", "mean bits", "bits", "high", "the same, mean over records", line="if any", swept=False),
    Measure("leaves", "leaves", "leaves", "none",
        "leaves that are published; of random trees those with counts, of records groups of rows that are alike",
        json="leaves", use=True, brief=6, report=12,
        says="Published leaves: How finely the release divides people. Fewer leaves say less about each of them."),
    Measure("gcp", "global certainty penalty", "share", "low",
        "how much generalised records have lost, 0 (as they are) to 1", json="gcp",
        use=True),
    Measure("train_accuracy", "train accuracy", "share", "high",
        "share of right predictions for the people of the truth",
        use=True, bar=8, report=13,
        says="Accuracy on the training data: How often the release predicts right for the people it was trained on. "
        "This is what protection costs."),
    Measure("test_accuracy", "test accuracy", "share", "high", "share of right predictions for the people of the test",
        use=True, brief=7, bar=9, report=14,
        says="Accuracy on test data: How often the release predicts right for other people, whom it has not seen. "
        "This is what protection costs."),
)
# fmt: on

# Key -> measure, in the order of texts and tables.
MEASURES: dict[str, Measure] = {measure.key: measure for measure in _ALL}


def estimated(of: Believed) -> dict[str, Number]:
    """The measures of an estimate, by key; a measure that needs a truth only where there is one."""
    found = ((key, measure.value(of)) for key, measure in MEASURES.items() if measure.value is not None)
    return {key: value for key, value in found if value is not None}


def audited(attacks: Mapping[str, Any]) -> dict[str, Number | None]:
    """The measures of attacks, by key, from what `maxent.audit` finds; ``gcp`` only of records, spans with a table."""
    found: dict[str, Number | None] = {}
    for key, measure in MEASURES.items():
        if measure.value is None and measure.json is not None:
            *path, last = measure.json.split(".")
            place = attacks.get(path[0], {}) if path else attacks
            if last in place:
                found[key] = place[last]
    return found


def told_apart_in(attacks: Mapping[str, Any]) -> dict[str, Any]:
    """What divides the smallest group further, as a row has it for limits: statements, and classes that are known."""
    found, spans = attacks.get("statements", {}).get("told_apart"), attacks.get("spans", {})
    if spans.get("min_population") is not None and spans.get("k_anonymous") is None:
        found = {"source": "", **(found or {}), "least": 1, "weighing": ""}
    return {} if found is None else {"told_apart": found}
