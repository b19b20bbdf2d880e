"""The numbers of a release, each with an explanation for somebody who does not know its formula."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isinf, log
from typing import Any

from maxent.disclosure import CERTAIN
from maxent.reporting.view import Measure
from maxent.reporting.words import nats, people, percent, plural


def measures(row: Mapping[str, Any], target: str, n_classes: int) -> tuple[Measure, ...]:
    """The numbers of one row of a `Comparison` in words; those that are not known are left out."""
    return (*_disclosed(row, target, n_classes), *_attacked(row, target), *_served(row))


def _disclosed(row: Mapping[str, Any], target: str, n_classes: int) -> Iterator[Measure]:
    """What the estimate says."""
    total = row["individuals"]
    yield Measure(
        "certain",
        f"People whose {target} is certain",
        row["certain"],
        f"{row['certain']:,} of {total:,} ({percent(row['certain'] / total)})",
        row["certain"] / total,
        "low",
        f"Of these people the release leaves practically no doubt: one class has a probability of {CERTAIN} or more. "
        "For them, publishing the release is publishing the answer.",
    )
    yield Measure(
        "bayes_vulnerability",
        "Right guesses",
        row["bayes_vulnerability"],
        percent(row["bayes_vulnerability"]),
        row["bayes_vulnerability"],
        "low",
        f"How often somebody is right who guesses everybody's most likely {target} from the release and from what they "
        f"know already. A blind guess, one of {plural(n_classes, 'class', 'classes')}, is right "
        f"{percent(1 / n_classes)} of the time.",
    )
    yield Measure(
        "max_posterior",
        "Surest guess about anybody",
        row["max_posterior"],
        f"{row['max_posterior']:.3f}",
        row["max_posterior"],
        "low",
        "The largest probability that the release gives to one class of one person. 1.000 means that at least one "
        "person's answer is given away completely.",
    )
    yield Measure(
        "entropy",
        "Doubt that is left",
        row["entropy"],
        nats(row["entropy"]),
        row["entropy"] / log(n_classes) if n_classes > 1 else 0.0,
        "high",
        f"The average uncertainty (entropy) about a person's {target} that remains. 0 means that everything is known; "
        f"{log(n_classes):.4f} nats, that nothing is.",
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
            "means that they know everything; infinite, that they rule out what is true of somebody.",
        )


def _attacked(row: Mapping[str, Any], target: str) -> Iterator[Measure]:
    """What simple attacks find in the leaves, where they were tried."""
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
        yield Measure(
            "homogeneous_individuals",
            "People in leaves of a single class",
            found,
            f"{found:,} of {row['individuals']:,}",
            min(found / row["individuals"], 1.0),
            "low",
            f"In these leaves everybody has the same {target}: whoever knows that a person is there knows the answer, "
            "without any computation.",
        )
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


def _served(row: Mapping[str, Any]) -> Iterator[Measure]:
    """How large the release is and how well it predicts: what protection costs."""
    if (leaves := row.get("leaves")) is not None:
        says = "How finely the release divides people. Fewer leaves say less about each of them."
        yield Measure("leaves", "Published leaves", leaves, f"{leaves:,}", None, "none", says)
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
