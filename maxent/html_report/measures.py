"""The numbers of a release, each with an explanation for somebody who does not know its formula."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isinf, log
from typing import Any

from maxent.disclosure.limits import PROVED, worse_certain, worse_posterior
from maxent.disclosure.measures import CERTAIN
from maxent.html_report.view import Measure
from maxent.html_report.words import nats, people, percent, plural


def measures(row: Mapping[str, Any], target: str, n_classes: int) -> tuple[Measure, ...]:
    """The numbers of one row of a `Comparison` in words; those that are not known are left out."""
    return (*_disclosed(row, target, n_classes), *_attacked(row, target), *_served(row))


def _disclosed(row: Mapping[str, Any], target: str, n_classes: int) -> Iterator[Measure]:
    """What the estimate says, or groups prove where that is worse."""
    total, exposed = row["individuals"], row.get("exposed")
    certain, origin = worse_certain(row["certain"], exposed)
    proved = f", {PROVED}; {row['certain']:,} by the estimate" if origin == "groups" else ""
    yield Measure(
        "certain",
        f"People whose {target} is certain",
        certain,
        f"{certain:,} of {total:,} ({percent(certain / total)})",
        certain / total,
        "low",
        "Of these people the release leaves practically no doubt: the estimate gives one class a probability of "
        f"{CERTAIN} or more, or everybody in their leaf or group has the same class, whichever are more{proved}. For "
        "them, publishing the release is publishing the answer.",
    )
    yield _right_guesses(row, target, n_classes)
    surest, origin = worse_posterior(row["max_posterior"], exposed)
    proved = f" Here, {PROVED}; the estimate has {row['max_posterior']:.3f}." if origin == "groups" else ""
    yield Measure(
        "max_posterior",
        "Surest guess about anybody",
        surest,
        f"{surest:.3f}",
        surest,
        "low",
        "The largest probability of one class of one person. 1.000 means that at least one person's answer is given "
        f"away completely.{proved}",
    )
    yield Measure(
        "entropy",
        "Doubt that is left",
        row["entropy"],
        nats(row["entropy"]),
        row["entropy"] / log(n_classes) if n_classes > 1 else 0.0,
        "high",
        f"The average uncertainty (entropy) about a person's {target} that remains by the estimate. 0 means "
        f"that it is sure of everybody; {log(n_classes):.4f} nats, that it prefers no class. What the release predicts "
        "may be right more often than that suggests.",
    )
    if "divergence" in row:
        infinite = f" for {plural(row['infinite'], 'quasi-identifier')}" if row["infinite"] else ""
        yield Measure(
            "divergence",
            "Distance of the estimate from the truth",
            row["divergence"],
            nats(row["divergence"]) + infinite,
            None,
            "high",
            "How far the adversary's estimate is from the confidential data, on average over people. Small is bad: 0 "
            "means that the estimate equals the true shares of the classes among people who look alike; infinite, that "
            "it rules out what is true of somebody.",
        )


def _right_guesses(row: Mapping[str, Any], target: str, n_classes: int) -> Measure:
    """Right guesses of who follows the estimate or, where that is known to be right more often, the predictions."""
    share, predicted = row["bayes_vulnerability"], row.get("train_accuracy")
    says = f"How often somebody is right who guesses everybody's most likely {target} "
    if predicted is None:
        says += (
            "by the estimate, if the estimate is right. Whoever simply follows what the release predicts may be right "
        )
        says += "more often: that is known only with the truth."
    else:
        says += "by the estimate or simply as the release predicts, whichever is right more often."
    blind = f"one of {plural(n_classes, 'class', 'classes')}, is right {percent(1 / n_classes)} of the time"
    says += f" A blind guess, {blind}."
    best = share if predicted is None else max(share, predicted)
    text = percent(best) + (" as predicted" if best > share else " by the estimate")
    return Measure("bayes_vulnerability", "Right guesses", best, text, best, "low", says)


def _attacked(row: Mapping[str, Any], target: str) -> Iterator[Measure]:
    """What simple attacks find in the leaves, or of generalised records in the groups, where they were tried."""
    records = row.get("gcp") is not None
    if (least := row.get("min_population")) is not None:
        yield Measure(
            "min_population",
            "Smallest group that is not told apart",
            least,
            people(least),
            None,
            "high",
            "The release puts people into groups and says the same of everybody in a group (this is the k of "
            "k-anonymity). In a group of one, it speaks about one particular person.",
        )
    if (found := row.get("homogeneous_individuals")) is not None:
        yield _rows_alike(found, target) if records else _leaves_alike(found, row["individuals"], target)
    if (found := row.get("exposed")) is not None:
        yield Measure(
            "exposed",
            "People exposed by their group",
            found,
            f"{found:,} of {row['individuals']:,}",
            min(found / row["individuals"], 1.0),
            "low",
            "People whose whole group, as far as the release tells people apart, has only one class.",
        )


def _leaves_alike(found: int, individuals: int, target: str) -> Measure:
    """People whom a tree sends to leaves of one class."""
    return Measure(
        "homogeneous_individuals",
        "People in leaves of a single class",
        found,
        f"{found:,} of {individuals:,}",
        min(found / individuals, 1.0),
        "low",
        f"In these leaves everybody has the same {target}: whoever knows that a person is there knows the answer, "
        "without any computation.",
    )


def _rows_alike(found: int, target: str) -> Measure:
    """Generalised records in groups of one class: nothing says whose they are."""
    return Measure(
        "homogeneous_rows",
        "Rows in groups of one class",
        found,
        plural(found, "row"),
        None,
        "low",
        f"Published rows that are alike and all have the same {target}. A person may be behind rows of several groups: "
        "only who knows which rows can be theirs can use what such a group says.",
    )


def _served(row: Mapping[str, Any]) -> Iterator[Measure]:
    """How large the release is and how well it predicts: what protection costs."""
    if (leaves := row.get("leaves")) is not None:
        says = "How finely the release divides people. Fewer leaves say less about each of them."
        title = "Published leaves" if row.get("gcp") is None else "Groups of rows that are alike"
        yield Measure("leaves", title, leaves, f"{leaves:,}", None, "none", says)
    for key, title, whom in (
        ("train_accuracy", "Accuracy on the training data", "the people it was trained on"),
        ("test_accuracy", "Accuracy on test data", "other people, whom it has not seen"),
    ):
        if (share := row.get(key)) is not None:
            says = f"How often the release predicts right for {whom}. This is what protection costs."
            yield Measure(key, title, share, percent(share), share, "high", says)


def change(measure: Measure, first: Measure) -> tuple[str, str]:
    """How a number differs from the first release's, and whether that is ``better``, ``worse`` or neither.

    Shares differ in percentage points, nats and numbers of people in themselves.
    """
    if measure.value is None or first.value is None or isinf(measure.value) or isinf(first.value):
        return "", ""
    less = measure.value - first.value
    text = _points(less) if measure.key in _SHARES else _amount(less, measure.key in _NATS)
    if not text or measure.better == "none":
        return text, ""
    return text, "better" if (less > 0) == (measure.better == "high") else "worse"


_SHARES = ("bayes_vulnerability", "train_accuracy", "test_accuracy")
_NATS = ("entropy", "divergence", "max_posterior")


def _points(less: float) -> str:
    """A difference of shares, empty where it rounds to nothing."""
    text = f"{100 * less:+.1f}"
    return "" if text in ("+0.0", "-0.0") else f"{text} points"


def _amount(less: float, fine: bool) -> str:
    """Any other difference, empty where it rounds to nothing."""
    text = f"{less:+.4f}" if fine else f"{less:+,.0f}"
    return text if any(digit in text for digit in "123456789") else ""
