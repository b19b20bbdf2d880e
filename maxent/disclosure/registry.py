"""Every measure, once: a new one is a function and an entry here.

Texts, JSON, tables, sweeps, plots and reports ask here which measures there are and how they are called and written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from maxent.disclosure.measures import (
    Believed,
    alpha_k,
    bayes_vulnerability,
    conditional_entropy,
    entropy_l_diversity,
    max_posterior,
    mean,
    t_closeness,
    top_k_average,
)
from maxent.models.defenses.method import CERTAIN

if TYPE_CHECKING:
    from maxent.models.arrays import FloatArray

Number: TypeAlias = float | int

Better = Literal["low", "high", "none"]

# Unit -> how its numbers are written; all others are whole numbers.
FORMS: Mapping[str, str] = {"nats": ".4f", "bits": ".4f", "share": ".4f", "probability": ".3f", "classes": ".3f"}


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of what a release discloses, or of what it is good for: one entry below.

    Attributes
    ----------
    key : str
        As in JSON, in rows of a comparison and in columns of a sweep.
    title : str
        As in texts and plots.
    unit : str
        One of `FORMS`, or what is counted: ``individuals`` are some of all people, a ``group`` has so many of them.
    better : {"low", "high", "none"}
        Which direction protects more; of accuracies, which serves more.
    meaning : str
        For the documentation.
    value : callable, optional
        Its value for an estimate, None where that needs a truth; without it the measure is not one of estimates.
    json : str, optional
        Its place in the summary of `maxent.estimate`: by default ``disclosure.<key>``, ``""`` for none. Without
        ``value`` its place in what `maxent.audit` finds; with neither, `comparison_row` has the value.
    use : bool
        Whether it says what the release is good for.
    line : {"always", "if any", "never"}
        Whether a comparison has a line for it, "if any" where it is not 0 or unknown for all releases.
    sentence : bool
        Whether the text of an estimate has a sentence of its own for it.
    swept : bool
        Whether it is a column of a sweep.
    brief, bar, report : int
        Its place among the columns of a comparison in brief, the bars of a plot, the numbers of a report; 0 for none.
    axis : str, optional
        What an axis is called, by default ``title``.
    says : str
        For a report, to somebody who knows no formula: a title, a colon and sentences; ``{target}`` is the class.
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
    Measure("divergence", "divergence overall, nats", "nats", "high",
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
    Measure("entropy", "entropy left, nats", "nats", "high",
        "the adversary's mean uncertainty about a class: 0 to ln(number of classes)",
        _of(conditional_entropy), json="entropy", sentence=True, report=4,
        says="Doubt that is left: The average uncertainty (entropy) about a person's {target} that remains by the "
        "estimate. 0 means that it is sure of everybody; {most} nats, that it prefers no class. What the "
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
        "share of people whose likeliest class (of several alike the predicted one) is right, with `--control`",
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
