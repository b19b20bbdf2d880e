"""Summaries of a report: explained numbers, bars of all releases, and the nodes that disclose most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite, isinf, log
from typing import Any

from maxent.attacks.wp216 import TITLES, Risks, Wp216Risk
from maxent.disclosure.baseline import Baseline, Way
from maxent.disclosure.limits import HOW, UNINFORMED, proved_in, worse_certain, worse_posterior
from maxent.disclosure.measures import FORMS, MEASURES, Leakage, Measure
from maxent.models.defenses.method import CERTAIN
from maxent.models.display import FALSE, leaves_in
from maxent.results.html_report.view import (
    Glance,
    NodeView,
    Number,
    ReleaseView,
    ReportView,
    TreeView,
    distance,
    people,
    percent,
    plural,
    shown,
)

# The numbers of a release, each with an explanation for somebody who does not know its formula.

Row = Mapping[str, Any]

# How a way of guessing is told, in short.
GUESSED: Mapping[Way, str] = {"estimate": "by the estimate", "predicted": "as predicted", "base": "by the base rate"}


def numbers(
    row: Row, target: str, n_classes: int, baseline: Baseline | None = None, way: Way = "estimate"
) -> tuple[Number, ...]:
    """The known measures of one row of a `Comparison`, in words.

    ``baseline`` is what blind guesses achieve; ``way`` the way of guessing that is right most often in truth.
    """
    shown = sorted((m for m in MEASURES.values() if m.report and row.get(m.key) is not None), key=lambda m: m.report)
    words = _words(row, target, n_classes) | {"blind": _blind(baseline, target, n_classes), "way": GUESSED[way]}
    of_trees = () if row.get("leaves") else ("leaves", "homogeneous_individuals")
    found = [_number(measure, row, words, n_classes) for measure in shown if measure.key not in of_trees]
    return tuple(found if row.get("gcp") is None else (_of_records(number, target) for number in found))


def blind_words(base_rate: float | None, n_classes: int) -> str:
    """Right guesses without the release, in short: ``base rate 75.1 %, uniform guess 50.0 %``."""
    known = [] if base_rate is None else [f"base rate {percent(base_rate)}"]
    return ", ".join([*known, f"uniform guess {percent(1 / n_classes)}"])


def risk_numbers(found: Risks, target: str, blind: str) -> tuple[Number, ...]:
    """The three risks of WP216, in words; ``blind`` is what guesses without the release achieve."""
    words = {
        "singling_out": "People who are alone in their group, as far as the release tells people apart.",
        "linkability": "How often somebody is right who links each person to one of the records of their group.",
        "inference": f"How often somebody is right who guesses everybody's most likely {target} ({blind}).",
    }
    return tuple(_risk(key, TITLES[key], risk, words[key]) for key, risk in found.named.items())


def _risk(key: str, title: str, risk: Wp216Risk, says: str) -> Number:
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
        value = worse_certain(value, *proved_in(row))[0]
    elif measure.key == "max_posterior":
        value = worse_posterior(value, *proved_in(row))[0]
    elif measure.key == "bayes_vulnerability":
        value, unit = row.get("right_guesses", value), "share"
    share = measure.share(value, row["individuals"])
    if measure.key == "entropy":
        value, unit = value / log(n_classes) if n_classes > 1 else 0.0, "share"
        share = value
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
        return distance(value) + (f" for {plural(infinite, 'quasi-identifier')}" if infinite else "")
    if unit == "individuals":
        return f"{value:,} of {total:,}" + (f" ({percent(value / total)})" if measure.key == "certain" else "")
    if measure.key == "bayes_vulnerability":
        return f"{percent(value)} {words['way']}"
    return people(int(value)) if unit == "group" else percent(value) if unit == "share" else measure.text(value)


def _words(row: Row, target: str, n_classes: int) -> dict[str, object]:
    """The values of the braces in explanations."""
    groups, by_estimate = proved_in(row), row["max_posterior"]
    how = "by the estimate or simply as the release predicts, whichever is right more often."
    if row.get("train_accuracy") is None and row.get("right_guesses") is None:
        how = (
            "by the estimate, if the estimate is right. Whoever simply follows what the release predicts may be right "
            "more often: that is known only with the truth."
        )
    many, origin = worse_certain(row["certain"], *groups)
    control = row.get("control", {})
    _, of_posterior = worse_posterior(by_estimate, *groups)
    groups_prove, here = many != row["certain"], of_posterior != "estimate"
    return {
        "target": target,
        "certain": CERTAIN,
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

    Shares differ in percentage points, distances and numbers of people in themselves.
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


# Nodes of a release that are listed: all of a small tree, the leaves that tell most of a large one.
LISTED = 20
# Conditions of a way through a tree that are written out: the last ones.
STEPS_SHOWN = 6


# Keys of the figures of the first page, the most asked for first; of those that are known the first few are there.
GLANCE = ("certain", "max_posterior", "bayes_vulnerability", "min_population", "beyond_control", "entropy")
FIGURES = 5


@dataclass(frozen=True, slots=True)
class Bar:
    """One release's number: how long its bar is (0 to 1, None for none), and how it differs from the first."""

    release: str
    width: float | None
    text: str
    change: str
    direction: str


@dataclass(frozen=True, slots=True)
class Bars:
    """One number of all releases."""

    measure: Number
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """A node in a list: its tree and place (numbers for the script), its way from the root, and itself."""

    tree: int
    place: int
    way: str
    node: NodeView


def bars(view: ReportView) -> tuple[Bars, ...]:
    """Every number that some release has, side by side."""
    keys = dict.fromkeys(measure.key for release in view.releases for measure in release.measures)
    return tuple(_side_by_side(view, key) for key in keys)


def _side_by_side(view: ReportView, key: str) -> Bars:
    """One number of all releases; numbers other than shares are drawn against the largest."""
    found = [next((m for m in release.measures if m.key == key), None) for release in view.releases]
    values = [m.value for m in found if m is not None and isfinite(m.value)]
    largest = max([value for value in values if value > 0], default=0.0)
    drawn = []
    for release, measure in zip(view.releases, found, strict=True):
        if measure is None:
            drawn.append(Bar(release.name, None, "not measured", "", ""))
            continue
        width = measure.share
        if width is None and largest:
            width = min(measure.value / largest, 1.0)
        told = ("", "") if found[0] is None or measure is found[0] else change(measure, found[0])
        drawn.append(Bar(release.name, width, measure.text, *told))
    return Bars(next(m for m in found if m is not None), tuple(drawn))


def prices(view: ReportView) -> Iterator[str]:
    """Gain and cost of each release but the first, a sentence each."""
    first = {measure.key: measure for measure in view.releases[0].measures}
    for release in view.releases[1:]:
        told = {m.key: (m, change(m, first[m.key])[0]) for m in release.measures if m.key in first}
        parts = [part for part in (_protected(told), _paid(told)) if part]
        yield f"{release.name}: " + ("; ".join(parts) or "no change in what is disclosed") + "."


def glance(view: ReportView) -> Glance:
    """The first page: what is most asked about the release that is judged, the last one."""
    release = view.releases[-1]
    known = {measure.key: measure for measure in release.measures}
    five = [known[key] for key in GLANCE if key in known][:FIGURES]
    five = [replace(m, text=f"{m.text}; {release.blind}") if m.key == "bayes_vulnerability" else m for m in five]
    return Glance(release.name, tuple(five), tuple(_price(view, known)), tuple(_assumed(view, release)))


def _price(view: ReportView, known: dict[str, Number]) -> Iterator[str]:
    """What protection costs in accuracy, a sentence each."""
    if view.compared:
        yield from prices(view)
    for key, whom in (("test_accuracy", "other people"), ("train_accuracy", "the people of the training data")):
        if key in known:
            yield f"The release is right about {known[key].text} of {whom}."
    mends = [judged.mend for judged in view.verdict.releases if judged.mend is not None and judged.mend.price]
    yield from (f"What would pass {mend.price}." for mend in mends)
    if not mends and not {"test_accuracy", "train_accuracy"} & known.keys():
        yield "Not known: compare the release with one without protection, with the truth or a test."


def _assumed(view: ReportView, release: ReleaseView) -> Iterator[str]:
    """What the numbers rest on, a sentence each."""
    kinds = [kind for kind, _, _ in release.constraints if kind != "qi"]
    known = "read of what is published" if release.row.get("unread") else "published"
    yield (
        f"The adversary knows {', '.join(release.attributes)} of exactly these {people(release.individuals)}, and "
        + (f"everything that is {known}: {', '.join(kinds)}." if kinds else "nothing of what is published is read.")
    )
    unread: Any = release.row.get("unread", ())
    worst: Any = release.row.get("worst_case", {})
    for each in unread:
        where = f" of {leaves_in(each['leaves'], each['trees'])}" if each["trees"] else ""
        if each.get("refuted"):
            yield f"{FALSE.capitalize()}, and so no limit is known to be kept: {each['what']}."
        elif each["judged"] == "not":
            why = worst.get("why", "")
            yield f"Not read, and so no limit is known to be kept: {each['what']}{where}{'; ' * bool(why)}{why}."
        else:
            yield (
                f"Not read: {each['what']}{where}. Limits are judged as if they gave away how many people of each "
                f"class end in the same leaves of all trees: {_worst(worst)}."
            )
    if release.sensitive[0]:
        yield f"Sensitive, and what the limits are about: {release.sensitive[0]}."
    given = [name for name, _ in view.provenance.options if name in ("facts", "marginal")]
    yield f"Further knowledge: {', '.join(given) or 'none'}."
    if release.row.get("no_marginal"):
        yield f"{UNINFORMED[0].upper()}{UNINFORMED[1:]}."
    elif view.verdict.limits.stated and release.row.get("base_rate") is not None:
        yield "For the verdict the adversary knows how many people have each class, too."
    yield (
        "Right guesses are expected by the estimate; what is right about real people was not given."
        if release.row.get("right_guesses") is None
        else "Right guesses are those about real people, whose classes were given."
    )


def _worst(found: Mapping[str, Any]) -> str:
    """The worst case in words."""
    printed = (
        "" if found["printed"] is None else f"; the release itself prints probabilities up to {found['printed']:.3f}"
    )
    return (
        f"largest posterior {found['max_posterior']:.3f}, {people(found['certain'])} certain, right guesses "
        f"{found['right_guesses']:.3f}{printed}"
    )


def _protected(told: dict[str, tuple[Number, str]]) -> str:
    """The change in the number of certain people, in words."""
    measure, text = told["certain"]
    if not text:
        return f"as many people are certain as before ({people(int(measure.value))})"
    fewer = text.startswith("-")
    count = int(text[1:].replace(",", ""))
    whom = f"{count:,} {'fewer' if fewer else 'more'} {'person' if count == 1 else 'people'}"
    return f"the class of {whom} is certain"


def _paid(told: dict[str, tuple[Number, str]]) -> str:
    """The change in accuracy, in words."""
    parts = []
    for key, where in (("test_accuracy", "test"), ("train_accuracy", "training")):
        if key in told:
            text = told[key][1]
            less = (
                f"{text[1:]} {'less' if text.startswith('-') else 'more'} accurate" if text else "as accurate as before"
            )
            parts.append(f"{less} on {where} data")
    return ", ".join(parts)


def listed(release: ReleaseView) -> tuple[Listed, ...]:
    """The nodes that tell most about the people there, the most telling first."""
    found = []
    for t, tree in enumerate(release.trees):
        small = len(tree.nodes) <= LISTED and len(release.trees) == 1
        found += [
            (t, place)
            for place, node in enumerate(tree.nodes)
            if node.disclosed.vulnerability is not None and (small or not node.children)
        ]

    def telling(at: tuple[int, int]) -> tuple[float, int]:
        told = release.trees[at[0]].nodes[at[1]].disclosed
        return -(told.vulnerability or 0.0), -told.individuals

    found.sort(key=telling)
    return tuple(Listed(t, p, way(release.trees[t], p), release.trees[t].nodes[p]) for t, p in found[:LISTED])


def way(tree: TreeView, place: int) -> str:
    """The conditions on the way to a place, one for each attribute, the last ones of a long way."""
    steps: dict[str, str] = {}
    while place > 0:  # upwards: of each attribute the first condition says all that the way does
        steps.setdefault(tree.nodes[place].attribute, tree.nodes[place].condition)
        place = tree.nodes[place].parent
    told = list(steps.values())
    if len(told) > STEPS_SHOWN:
        told[STEPS_SHOWN:] = ["\N{HORIZONTAL ELLIPSIS}"]
    return ", ".join(reversed(told)) or "everybody"
