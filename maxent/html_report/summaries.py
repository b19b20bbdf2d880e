"""Summaries of a report: bars of all releases, the price of protection, the nodes that disclose most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from maxent.disclosure.limits import UNINFORMED
from maxent.html_report.measures import change
from maxent.html_report.view import Glance, NodeView, Number, ReleaseView, ReportView, TreeView
from maxent.html_report.words import people
from maxent.models.text.display import leaves_in

LISTED = 20
"""Nodes of a release that are listed: all of a small tree, the leaves that tell most of a large one."""

STEPS_SHOWN = 6
"""Conditions of a way through a tree that are written out: the last ones."""


GLANCE = ("certain", "max_posterior", "bayes_vulnerability", "min_population", "beyond_control", "entropy")
"""Keys of the figures of the first page, the most asked for first; of those that are known the first few are there."""

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
    yield from (f"What would pass: {mend.price}." for mend in mends)
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
        where = leaves_in(each["leaves"], each["trees"])
        if each["judged"] == "not":
            why = worst.get("why", "")
            yield f"Not read, and so no limit is known to be kept: {each['what']} of {where}{'; ' * bool(why)}{why}."
        else:
            yield (
                f"Not read: {each['what']} of {where}. Limits are judged as if they gave away how many people of each "
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
