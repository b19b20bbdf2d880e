"""The numbers of a release, each with an explanation for somebody who does not know its formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isinf, log
from typing import Any

from maxent.disclosure.judging import worse_certain, worse_posterior
from maxent.disclosure.limits import HOW
from maxent.disclosure.registry import FORMS, MEASURES, Measure
from maxent.evidence.baseline import Baseline, Way
from maxent.evidence.leakage import Leakage
from maxent.evidence.wp216 import TITLES, Risk, Risks
from maxent.html_report.view import Number
from maxent.html_report.words import nats, people, percent, plural, shown
from maxent.models.defenses.certainty import CERTAIN

Row = Mapping[str, Any]

GUESSED: Mapping[Way, str] = {"estimate": "by the estimate", "predicted": "as predicted", "base": "by the base rate"}
"""How a way of guessing is told, in short."""


def numbers(
    row: Row, target: str, n_classes: int, baseline: Baseline | None = None, way: Way = "estimate"
) -> tuple[Number, ...]:
    """The known measures of one row of a `Comparison`, in words.

    ``baseline`` is what blind guesses achieve; ``way`` the way of guessing that is right most often in truth.
    """
    shown = sorted((m for m in MEASURES.values() if m.report and row.get(m.key) is not None), key=lambda m: m.report)
    words = _words(row, target, n_classes) | {"blind": _blind(baseline, target, n_classes), "way": GUESSED[way]}
    found = [_number(measure, row, words, n_classes) for measure in shown]
    return tuple(found if row.get("gcp") is None else (_of_records(number, target) for number in found))


def blind_words(base_rate: float | None, n_classes: int) -> str:
    """Right guesses without the release, in short: ``base rate 75.1 %, uniform guess 50.0 %``."""
    known = [] if base_rate is None else [f"base rate {percent(base_rate)}"]
    return ", ".join([*known, f"uniform guess {percent(1 / n_classes)}"])


def risk_numbers(found: Risks, target: str, blind: str) -> tuple[Number, ...]:
    """The three risks of WP216, in words; ``blind`` is what guesses without the release achieve."""
    words = {
        "singling_out": "People who are alone in their group: the path to their leaf isolates one person.",
        "linkability": "How often somebody is right who links each person to one of the records of their group.",
        "inference": f"How often somebody is right who guesses everybody's most likely {target} ({blind}).",
    }
    return tuple(_risk(key, TITLES[key], risk, words[key]) for key, risk in found.named.items())


def _risk(key: str, title: str, risk: Risk, says: str) -> Number:
    """One risk, beside control people where there are any."""
    if risk.controls is not None and risk.interval is not None:
        low, high = (100 * end for end in risk.interval)
        says += (
            f" Of people who were not in the data: {percent(risk.controls)}; the difference lies between {low:+.1f} "
            f"and {high:+.1f} points with {percent(risk.confidence or 0.0)} confidence."
        )
    return Number(key, title, risk.members, percent(risk.members), risk.members, "share", "low", says)


def sensitive_numbers(row: Row, target: str, n_classes: int) -> tuple[str, tuple[Number, ...]]:
    """Sensitive classes, and what is disclosed about them alone; empty where none are named."""
    alone = row.get("sensitive")
    if alone is None:
        return "", ()
    classes = ", ".join(map(shown, alone["classes"]))
    total, right = row["individuals"], alone["right_guesses"]
    groups = alone.get("exposed"), alone["pure"]
    many, share = worse_certain(alone["certain"], *groups)[0] or 0, alone["bayes_vulnerability"]
    largest = worse_posterior(alone["max_posterior"], *groups)[0] or 0.0
    share, how = (share, "expected by the estimate") if right is None else (right, "in truth")
    says = (
        (f"People whose {target} is certain", many, f"{many:,} of {total:,}", many / total, "individuals",
         f"People of whom a {target} among {classes} is certain, by the estimate, their group, or in truth."),
        ("Surest guess about anybody", largest, f"{largest:.3f}", largest, "probability",
         f"The largest probability of one of {classes}."),
        ("People found", share, f"{percent(share)} {how}", share, "share",
         f"Of the people with {classes}, those whose {target} is guessed right. Without the release "
         f"({blind_words(alone['base_rate'], n_classes)}).{_of_others(alone.get('control'))}"),
    )  # fmt: skip
    keys = ("certain", "max_posterior", "right_guesses")
    numbers = (
        Number(key, title, value, text, part, unit, "low", said)
        for key, (title, value, text, part, unit, said) in zip(keys, says, strict=True)
    )
    return classes, tuple(numbers)


def _of_others(control: Mapping[str, Any] | None) -> str:
    """How many control people of sensitive classes are found, a sentence."""
    if control is None:
        return ""
    low, high = (100 * end for end in control["interval"])
    return (
        f" Of others who were not in the data: {percent(control['controls'])}; the difference lies between {low:+.1f} "
        f"and {high:+.1f} points with {percent(control['confidence'])} confidence."
    )


def stakes_numbers(leak: Leakage | None, capacity: float | None) -> tuple[Number, ...]:
    """What a release is worth by a gain matrix, and what no other matrix makes more of; empty without a matrix."""
    if leak is None or capacity is None:
        return ()
    real = "" if leak.realised is None else f" In truth the same guesses gain {leak.realised:.4f}."
    gain = (
        "Expected by somebody who makes the best guess about each person, in units of the gain matrix. Without the "
        f"release: {leak.prior:.4f} by the base rate, {leak.uniform:.4f} of a uniform guess.{real}"
    )
    times = (
        "Whatever guesses gain, and however frequent the classes are: the release multiplies it by no more than two to "
        f"this power, {2**capacity:.3f}."
    )
    return (
        Number("gain", "Gain of the best guesses", leak.posterior, f"{leak.posterior:.4f}", None, "gain", "low", gain),
        Number("min_capacity", "Min-capacity", capacity, f"{capacity:.4f} bits", None, "bits", "low", times),
    )


def _number(measure: Measure, row: Row, words: Mapping[str, object], n_classes: int) -> Number:
    """One measure; of some what groups prove, or predictions achieve, where that is worse than the estimate."""
    value, unit = row[measure.key], measure.unit
    if measure.key == "certain":
        value = worse_certain(value, row.get("exposed"), row.get("pure"))[0]
    elif measure.key == "max_posterior":
        value = worse_posterior(value, row.get("exposed"), row.get("pure"))[0]
    elif measure.key == "bayes_vulnerability":
        value, unit = row.get("right_guesses", value), "share"
    share = measure.share(value, row["individuals"])
    if measure.key == "entropy":
        share = value / log(n_classes) if n_classes > 1 else 0.0
    title, says = (part.format_map(words) for part in measure.says.split(": ", 1))
    return Number(measure.key, title, value, _text(measure, value, unit, row, words), share, unit, measure.better, says)


def _text(measure: Measure, value: float, unit: str, row: Row, words: Mapping[str, object]) -> str:
    """A value as a report writes it."""
    total = row["individuals"]
    if measure.key == "beyond_control":
        low, high = row["control"]["interval"]
        return f"{100 * value:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"
    if unit == "nats":
        infinite = row["infinite"] if measure.key == "divergence" else 0
        return nats(value) + (f" for {plural(infinite, 'quasi-identifier')}" if infinite else "")
    if unit == "individuals":
        return f"{value:,} of {total:,}" + (f" ({percent(value / total)})" if measure.key == "certain" else "")
    if measure.key == "bayes_vulnerability":
        return f"{percent(value)} {words['way']}"
    return people(int(value)) if unit == "group" else percent(value) if unit == "share" else measure.text(value)


def _words(row: Row, target: str, n_classes: int) -> dict[str, object]:
    """The values of the braces in explanations."""
    groups, by_estimate = (row.get("exposed"), row.get("pure")), row["max_posterior"]
    how = "by the estimate or simply as the release predicts, whichever is right more often."
    if row.get("train_accuracy") is None and row.get("right_guesses") is None:
        how = (
            "by the estimate, if the estimate is right. Whoever simply follows what the release predicts may be right "
            "more often: that is known only with the truth."
        )
    _, origin = worse_certain(row["certain"], *groups)
    control = row.get("control", {})
    _, of_posterior = worse_posterior(by_estimate, *groups)
    groups_prove, here = origin != "estimate", of_posterior != "estimate"
    return {
        "target": target,
        "certain": CERTAIN,
        "most": f"{log(n_classes):.4f}",
        "how": how,
        **{group: percent(control.get(group, 0.0)) for group in ("members", "controls", "confidence")},
        "proved": f", {HOW[origin]}; {row['certain']:,} by the estimate" if groups_prove else "",
        "here": f" Here, {HOW[of_posterior]}; the estimate has {by_estimate:.3f}." if here else "",
    }


def _blind(baseline: Baseline | None, target: str, n_classes: int) -> str:
    """The guesses of somebody who has no release."""
    uniform, share = f"a uniform guess among {plural(n_classes, 'class', 'classes')}", percent(1 / n_classes)
    if baseline is None or baseline.base_rate is None:
        return f"Nothing states how frequent each {target} is: {uniform} is right {share} of the time."
    return (
        f"A blind guess, always the most frequent {target}, is right {percent(baseline.base_rate)} of the time "
        f"(the base rate, {baseline.how}), {uniform} {share}."
    )


def _of_records(number: Number, target: str) -> Number:
    """A number of generalised records, whose leaves are groups of rows: nothing says whose these are."""
    if number.key == "leaves":
        return replace(number, title="Groups of rows that are alike")
    if number.key != "homogeneous_individuals":
        return number
    return replace(
        number,
        key="homogeneous_rows",
        title="Rows in groups of one class",
        text=plural(int(number.value), "row"),
        share=None,
        says=f"Published rows that are alike and all have the same {target}. A person may be behind rows of several "
        "groups: the attack needs to know which rows could belong to the person.",
    )


def change(number: Number, first: Number) -> tuple[str, str]:
    """The change of a number from the first release, and whether that is ``better``, ``worse`` or neither.

    Shares differ in percentage points, nats and numbers of people in themselves.
    """
    if isinf(number.value) or isinf(first.value):
        return "", ""
    less = number.value - first.value
    text = _points(less) if number.unit == "share" else _amount(less, number.unit in FORMS)
    if not text or number.better == "none":
        return text, ""
    return text, "better" if (less > 0) == (number.better == "high") else "worse"


def _points(less: float) -> str:
    """A difference of shares, empty where it rounds to nothing."""
    text = f"{100 * less:+.1f}"
    return "" if text in ("+0.0", "-0.0") else f"{text} points"


def _amount(less: float, fine: bool) -> str:
    """Any other difference, empty where it rounds to nothing."""
    text = f"{less:+.4f}" if fine else f"{less:+,.0f}"
    return text if any(digit in text for digit in "123456789") else ""
