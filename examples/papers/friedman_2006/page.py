"""The tables of this folder's README.md: what was measured, and how the page says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import TypeAlias

from papers.tables import table
from papers.verdicts import holds, of


@dataclass(frozen=True)
class Point:
    """A tree, by the k or the confidence limit it was grown for, and what it is worth to its users and adversaries.

    ``leaves`` are those with records; ``span`` is the smallest population; ``exposed`` are individuals of spans of one
    class, ``certain`` those whom the engine is sure of, ``divergence`` is its D_overall (nats), ``right`` the share of
    individuals whose class it guesses right, and ``most`` its largest posterior.
    """

    x: float
    root: str
    leaves: int
    error: float
    span: int
    exposed: int
    certain: int
    divergence: float
    right: float
    most: float


Results: TypeAlias = Mapping[tuple[str, str], Sequence[Point]]
"""Trees by inducer (id3, c45, quinlan: C4.5 with his selection) and method (plain, none: a single leaf, flat: no
hierarchies, kadet, tds, diverse)."""


NAMED = (750, 1000)
"""The k of two trees that the paper speaks about."""


def diversity(limit: float) -> float:
    """The l of entropy l-diversity that keeps both of two classes from a larger share than ``limit`` (section 4.2)."""
    return float(2 ** -(limit * log2(limit) + (1 - limit) * log2(1 - limit)))


def tables(results: Results) -> dict[str, str]:
    """The tables of the page by name."""
    found = {"published": table(["", "published", "here", "Quinlan's selection", "verdict"], published(results))}
    for method in ("kadet", "flat"):
        found[f"selection-{method}"] = table(["k", *SELECTIONS], selections(results, method))
    for name in ("id3", "c45"):
        plain, none = results[name, "plain"][0], results[name, "none"][0]
        by_k = zip(*(results[name, method] for method in ("flat", "kadet", "tds")), strict=True)
        found[f"{name}-error"] = table(
            ["k", "kADET without hierarchies", "kADET", "generalised first (TDS)"],
            [
                ["plain tree", *[f"{plain.error:.4f}"] * 3],
                *([f"{same_k[0].x:g}", *(f"{point.error:.4f}" for point in same_k)] for same_k in by_k),
            ],
        )
        for method in ("flat", "kadet", "tds"):
            ends = {"one leaf": none, "plain tree": plain}
            found[f"{name}-{method}"] = table(["k", *DETAILS], details(results[name, method], ends))
        found[f"{name}-limit"] = table(
            ["limit", "l", *DETAILS],
            [[line[0], f"{diversity(float(line[0])):.3f}", *line[1:]] for line in details(results[name, "diverse"])],
        )
    return found


DETAILS = ["leaves", "error", "smallest span", "exposed", "certain", "D_overall", "guessed right", "surest"]


def details(points: Sequence[Point], ends: Mapping[str, Point] | None = None) -> list[list[str]]:
    """A row per tree, those of ``ends`` by name and the others by what they were grown for."""
    return [row(name, p) for name, p in [*(ends or {}).items(), *((f"{p.x:g}", p) for p in points)]]


def row(name: str, point: Point) -> list[str]:
    """What the page says of a tree."""
    people = [f"{n:,}" for n in (point.span, point.exposed, point.certain)]
    guesses = [f"{point.divergence:.3f}", f"{point.right:.1%}", f"{point.most:.3f}"]
    return [name, f"{point.leaves:,}", f"{point.error:.4f}", *people, *guesses]


SELECTIONS = [f"{what}, {how}" for what in ("error", "exposed", "certain", "D_overall") for how in ("ratio", "Quinlan")]


def selections(results: Results, method: str) -> list[list[str]]:
    """A row per tree of C4.5, what is said of the one by gain ratio alone before what is said of the other."""
    rows = []
    for start in ("plain", method):
        for pair in zip(results["c45", start], results["quinlan", start], strict=True):
            said = [details([point])[0] for point in pair]
            cells = [
                line[1 + DETAILS.index(what)] for what in ("error", "exposed", "certain", "D_overall") for line in said
            ]
            rows.append(["plain tree" if start == "plain" else said[0][0], *cells])
    return rows


def published(results: Results) -> list[list[str]]:
    """What the paper says in words or numbers, and what was found; of C4.5 with Quinlan's selection, too.

    The verdict is on what was found by gain ratio alone.
    """
    by_k = {name: {p.x: p for p in results[name, "kadet"]} for name in ("id3", "c45", "quinlan")}
    id3 = by_k["id3"]
    one_leaf = results["id3", "none"][0]

    def ahead(name: str) -> float:
        pairs = zip(results[name, "tds"], results[name, "kadet"], strict=True)
        differences = [tds.error - kadet.error for tds, kadet in pairs]
        return sum(differences) / len(differences)

    def harmless(name: str) -> float:
        points = by_k[name]
        return min(k for k in points if not any(p.exposed for p in points.values() if p.x >= k))

    def limit(name: str) -> float:
        none = results[name, "none"][0].error
        return min(point.x for point in results[name, "diverse"] if point.error < none)

    def shares(name: str) -> list[float]:
        return [p.exposed / one_leaf.span for p in by_k[name].values() if p.x < 75]

    def each(say: Callable[[str], float], form: str) -> list[str]:
        return [format(say(name), form) for name in ("c45", "quinlan")]

    roots, errors = (tuple(getattr(id3[k], what) for k in NAMED) for what in ("root", "error"))
    bound = diversity(0.85)
    return [
        [
            "ID3: error of TDS less that of kADET, mean over k",
            "0.006",
            f"{ahead('id3'):+.4f}",
            "",
            of("0.006", ahead("id3")),
        ],
        ["C4.5: the same", "0.03", *each(ahead, "+.4f"), of("0.03", ahead("c45"))],
        [
            "ID3: root at k = 750 and k = 1000",
            "relationship, marital-status",
            ", ".join(roots),
            "",
            holds(roots == ("relationship", "marital-status")),
        ],
        [
            "ID3: error at k = 750 and k = 1000",
            "the first is larger",
            ", ".join(f"{error:.4f}" for error in errors),
            "",
            holds(errors[0] > errors[1]),
        ],
        [
            "ID3: nobody is exposed from k =",
            "above 750",
            f"{harmless('id3'):g}",
            "",
            holds(harmless("id3") > 750),
        ],
        ["C4.5: nobody is exposed from k =", "75", *each(harmless, "g"), of("75", harmless("c45"))],
        [
            "C4.5: share of exposed individuals at k = 2, 5, 10, 20, 50",
            "below 0.5 %",
            *(", ".join(f"{share:.1%}" for share in shares(name)) for name in ("c45", "quinlan")),
            holds(max(shares("c45")) < 0.005) if shares("c45") else "",
        ],
        [
            "share of the larger class: the lowest limit there is",
            "0.751",
            f"{one_leaf.most:.3f}",
            "",
            of("0.751", one_leaf.most),
        ],
        ["l of entropy l-diversity for the limit 0.85", "1.526", f"{bound:.3f}", "", of("1.526", bound)],
        [
            "ID3: lowest limit with a tree better than one leaf",
            "above 0.85",
            f"{limit('id3'):g}",
            "",
            holds(limit("id3") > 0.85),
        ],
        ["C4.5: the same", "lower than with ID3", *each(limit, "g"), holds(limit("c45") < limit("id3"))],
    ]
