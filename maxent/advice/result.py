"""The result of an advice: ranked candidates, best release, cost of each limit; as text, picture and HTML report."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from html import escape
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.advice.ranking import CHANCE, OUTCOMES, apart_words, gained
from maxent.disclosure.limits import NAMES, SHARES, Limits, Status
from maxent.models.arguments import parameters_of
from maxent.models.defenses.registry import methods
from maxent.models.display import Display, Summarised, counted
from maxent.models.errors import ARGUMENT, invalid, printable
from maxent.models.files.output import CANDIDATES, check_outputs, write_text
from maxent.models.files.result_files import REPORT, save_frame
from maxent.models.reading import NOTHING, Noticed
from maxent.models.release import Release
from maxent.policy.concluded import Concluded
from maxent.results.html_report.provenance import provenance
from maxent.results.text.terminal import aligned, print_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


Row = Mapping[str, Any]
# Candidates that came nearest are named where none keeps the limits.
NEAREST = 3


@dataclass(frozen=True, eq=False, repr=False)
class Advice(Summarised):
    """The most accurate release within limits, of all candidates that were tried.

    Attributes
    ----------
    rows : sequence of mapping
        A row per candidate, the best first, see docs/advise.md; also a DataFrame as ``table`` (or ``frame``).
    best : Release or None
        What may be published; None where no candidate keeps the limits.
    frontier : sequence of mapping
        For each limit the candidates that keep all others, of which none is better in both accuracy and what is
        limited: ``limit``, ``stated`` and ``points``.
    limits : Limits
    individuals, folds, seed : int
    qi : tuple of str
    target : str
    model : str
        The model that all candidates start from, empty where trees were grown.
    notes : tuple of str
        What the best release guarantees, in words.
    cost : str
        The file of costs that candidates are compared by, empty where accuracy counts.
    test_accuracy, test_cost : float or None
        Accuracy of the best release on people who took no part in anything, where they were given, and what its
        decisions cost about them per person.
    untried : sequence of mapping
        What methods can publish that is no candidate, and why: ``candidate`` and ``why``.
    cut : str
        Why not every candidate ran to its end; empty where they did.
    interrupted : bool
    noticed : Noticed
    """

    rows: Sequence[Row]
    best: Release | None
    frontier: Sequence[Row]
    limits: Limits
    individuals: int
    folds: int
    seed: int
    target: str
    qi: tuple[str, ...]
    private: tuple[str, ...] = ()
    model: str = ""
    notes: tuple[str, ...] = ()
    cost: str = ""
    test_accuracy: float | None = None
    test_cost: float | None = None
    untried: Sequence[Row] = ()
    cut: str = ""
    interrupted: bool = False
    noticed: Noticed = field(default=NOTHING)

    @property
    def winner(self) -> Row | None:
        """The row of the best candidate."""
        return next((row for row in self.rows if row["outcome"] == "best"), None)

    @property
    def nearest(self) -> tuple[Row, ...]:
        """Where none keeps the limits: the candidates that came nearest."""
        found = [row for row in self.rows if row["outcome"] in ("limit", "cannot_tell")]
        return () if self.winner is not None else tuple(found[:NEAREST])

    @property
    def reliable(self) -> bool:
        """Whether all candidates ran to their end, or the best was at least tested on all folds."""
        winner = self.winner
        return not self.cut or (not self.interrupted and winner is not None and winner["folds"] == self.folds)

    @property
    def outcomes(self) -> Mapping[str, int]:
        """Outcome -> number of candidates, in the order of the table."""
        return dict(Counter(row["outcome"] for row in self.rows))

    @property
    def table(self) -> DataFrame:
        """A row per candidate, the best first; a copy."""
        import pandas as pd

        flat = [{name: value for name, value in row.items() if name not in ("options", "checks")} for row in self.rows]
        return pd.DataFrame(flat)

    @property
    def frame(self) -> DataFrame:
        """`table`, as other results call it."""
        return self.table

    @property
    def command(self) -> str:
        """The call of maxent, without its name, that makes the same release; empty without one."""
        winner = self.winner
        if winner is None:
            return ""
        options = {**winner["options"], "private": ",".join(self.private), "from": self.model}
        takes = parameters_of(methods()[winner["method"]])
        if not self.model and "seed" in takes:
            options["seed"] = self.seed
        if "cost" in takes:
            options["cost"] = self.cost
        words = ["defend", winner["method"], "DATA", "--target", self.target, "--qi", ",".join(self.qi)]
        for name, value in options.items():
            if value is not False and value != "":
                words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
        return shlex.join([*words, "-o", "FILE"])

    @property
    def summary(self) -> dict[str, Any]:
        """The object of ``maxent advise --json``: plain numbers, strings, lists, dictionaries; a copy."""
        winner = self.winner
        best = None
        if winner is not None:
            tested = {"test_accuracy": self.test_accuracy, "test_cost": self.test_cost}
            best = {**winner, **tested, "defend": self.command, "notes": list(self.notes)}
        own = {
            "target": self.target,
            "qi": list(self.qi),
            "individuals": self.individuals,
            "folds": self.folds,
            "seed": self.seed,
            "model": self.model or None,
            "cost": self.cost or None,
            "limits": self.limits.as_dict(),
            "outcomes": dict(self.outcomes),
            "best": best,
            "nearest": [row["candidate"] for row in self.nearest],
            "candidates": list(self.rows),
            "untried": list(self.untried),
            "frontier": list(self.frontier),
            "reliable": self.reliable,
            "interrupted": self.interrupted,
            "cut": self.cut or None,
        }
        return deepcopy(own) | self.noticed.summary

    def verdict(self, **limits: Any) -> Concluded:
        """Whether there is a release within the limits: without one ``fail``, or not known if the search was cut."""
        if limits:
            raise invalid("limits", ARGUMENT, next(iter(limits)), "none: those of the call count", "one")
        if not self.limits.stated:
            return Concluded("not stated")
        status: Status = "pass" if self.best is not None and self.reliable else "cannot_tell"
        if self.best is None and not self.cut and not self.interrupted:
            status = "fail"
        return Concluded(status, self._display().lines)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the best release, a maxent/1 JSON file."""
        if self.best is None:
            raise invalid("output", ARGUMENT, "path", "a release within the limits", "none")
        self.best.save(path)

    def save_table(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write the ranked table (.csv, .parquet), or with everything else (.json), atomically."""
        save_frame(path, self.table, lambda rows: self.summary, CANDIDATES, csv_literal=csv_literal)

    def report(self, path: str | PathLike[str], *, title: str = "", purpose: str = "") -> None:
        """Write a report for whoever decides: one .html file, for any browser, with the frontier as a picture."""
        check_outputs({"report": (fspath(path), REPORT)})
        write_text(path, page(self, title, purpose))

    def plot(self, limit: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw accuracy, or cost, against what a limit is about, and the frontier; needs the extra ``plot``.

        Parameters
        ----------
        limit : str, optional
            One of the stated limits, the first by default.
        ax : matplotlib Axes, optional
            Axes to draw on.

        Raises
        ------
        MissingExtra
            Without matplotlib.
        """
        from maxent.plotting.figures import draw_frontier

        return draw_frontier(ax, self.shown_frontier(limit), self.rows, NAMES)

    def shown_frontier(self, limit: str | None = None) -> Row:
        """The frontier of a limit, of the first by default."""
        found = {each["limit"]: each for each in self.frontier}
        if not found or (limit is not None and limit not in found):
            expected = f"one of {', '.join(found)}" if found else "an advice with limits"
            raise invalid("plot", ARGUMENT, "limit", expected, repr(limit))
        return found[limit or next(iter(found))]

    def _display(self) -> Display:
        """An advice in a console and in a notebook."""
        cells = [[*cells_of(row), row["why"]] for row in self.rows]
        lines = [limits_line(self.limits), *told(self)]
        return Display(head(self), lines, header(self), cells, lines)


# An advice for people to read; numbers are formatted here, none is computed.

# Candidates that a console shows.
SHOWN = 12
# Columns of the table, after the accuracy or cost and before the reason.
SHOWN_OF = ("deviation", "behind", "leaves", "smallest group", "largest posterior", "certain")


def print_advice(advice: Advice) -> None:
    """Print the ranked table, the best release and how the others ended."""
    cells = [[*cells_of(row), row["why"]] for row in advice.rows[:SHOWN]]
    lines = [head(advice), limits_line(advice.limits), "", *aligned(header(advice), cells, left=1)]
    left = len(advice.rows) - SHOWN
    lines += [f"and {left} more: --table FILE writes all of them"] if left > 0 else []
    print_lines([*lines, "", *told(advice)])


def measure(advice: Advice) -> str:
    """What candidates are compared by, as columns are called."""
    return "cost" if advice.cost else "accuracy"


def header(advice: Advice) -> list[str]:
    """The columns of the table."""
    return ["candidate", measure(advice), *SHOWN_OF, "why"]


def amount(value: float, by_cost: bool) -> str:
    """An accuracy in percent, or a cost per person."""
    return f"{value:.4g}" if by_cost else f"{100 * value:.2f} %"


def told(advice: Advice) -> Iterator[str]:
    """The best release, or what came nearest; how the others ended."""
    best = advice.winner
    if best is None:
        yield "no candidate is known to keep the limits" if advice.limits.stated else "no candidate was tested"
        yield from (f"nearest: {row['candidate']}: {row['why']}" for row in advice.nearest)
    else:
        yield f"best: {best['candidate']}, {accuracy_words(best, advice.model)}"
        if advice.model and advice.test_accuracy is None:
            worse = "its decisions cost more" if advice.cost else "it is right less often"
            yield (
                f"the splits of the model may have been chosen by these people: then {worse} about others "
                "(--test FILE measures it)"
            )
        if advice.test_accuracy is not None:
            right = f"{100 * advice.test_accuracy:.2f} % of people who took no part in anything above"
            cost = "" if advice.test_cost is None else f"; decisions cost {advice.test_cost:.4g} per person"
            yield f"test: {right}{cost}"
        elif len(advice.rows) > 1 and not advice.model and best["folds"]:
            slightly = "slightly higher costs" if advice.cost else "slightly less"
            yield f"it was chosen by these folds: expect {slightly} of other people (--test FILE measures it)"
        yield f"the same release: maxent {advice.command}"
    yield from advice.notes
    ends = ", ".join(f"{number} {OUTCOMES[name]}" for name, number in _ends(advice.outcomes))  # type: ignore[index]
    yield f"others: {ends}" if ends else "there were no others"
    yield from (f"not tried: {each['candidate']}: {each['why']}" for each in advice.untried)
    if advice.cut:
        yield f"not all was tried: {advice.cut}"


def _ends(outcomes: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    return ((name, outcomes[name]) for name in OUTCOMES if name != "best" and outcomes.get(name))


def head(advice: Advice) -> str:
    """How many people, candidates and folds."""
    methods = len({row["method"] for row in advice.rows})
    of = f"{counted(len(advice.rows), 'candidate')} of {counted(methods, 'method')}"
    told = f" that start from {advice.model}" if advice.model else ""
    by = f", by the costs of {advice.cost}" if advice.cost else ""
    return f"advise: {counted(advice.individuals, 'person', 'people')}, {of}{told}, {advice.folds} folds{by}"


def limits_line(limits: Limits) -> str:
    """The limits in words."""
    told = (
        f"{NAMES[name]} {'at least' if name == 'min_k' else 'at most'} {value:g}"
        for name, value in limits.as_dict().items()
    )
    return f"limits: {'; '.join(told) or 'none, so every candidate keeps them'}"


def accuracy_words(row: Row, model: str = "") -> str:
    """``right for 82.79 % of people whom it did not see (± 0.31 over 5 folds)``; with costs what decisions cost."""
    if row["accuracy"] is None:
        return "not tested"
    seen = "its counts and its pruning" if model else "it"
    if row["cost"] is not None:
        spread = "" if row["deviation"] is None else f"± {row['deviation']:.4g} over "
        return (
            f"decisions cost {row['cost']:.4g} per person whom {seen} did not see ({spread}{row['folds']} folds); "
            f"right for {100 * row['accuracy']:.2f} %"
        )
    spread = "" if row["deviation"] is None else f"± {100 * row['deviation']:.2f} over "
    return f"right for {100 * row['accuracy']:.2f} % of people whom {seen} did not see ({spread}{row['folds']} folds)"


def cells_of(row: Row) -> list[str]:
    """A row of the table as texts."""
    by_cost = row["cost"] is not None
    main = row["cost"] if by_cost else row["accuracy"]
    shares = ["" if value is None else amount(value, by_cost) for value in (main, row["deviation"])]
    near = row["behind"] is None or row["outcome"] == "best"
    late = "" if near else apart_words(row["behind"], row["behind_deviation"], by_cost)
    counts = [_whole(row[key]) for key in ("leaves", "min_population")]
    posterior = "" if row["max_posterior"] is None else f"{row['max_posterior']:.3f}"
    return [row["candidate"], *shares, late, *counts, posterior, _whole(row["certain"])]


def number_words(limit: str, value: float) -> str:
    """A number that a limit is about."""
    return f"{value:.3f}" if limit in SHARES else f"{value:,.0f}"


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


# The frontier as a picture: an SVG without anything else, for the report.


WIDTH, HEIGHT = 640, 320
# Margins of the plot.
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 20, 50
TICKS = 5


def picture(frontier: Row, rows: Sequence[Row]) -> str:
    """Accuracy, or cost, against what a limit is about: candidates that were tested, the frontier, and the limit."""
    limit, stated = frontier["limit"], frontier["stated"]
    dots = [
        (check["found"], row["level"], row["candidate"], check["status"] == "pass")
        for row in rows
        for check in row["checks"]
        if check["key"] == limit and check["found"] is not None and row["level"] is not None
    ]
    by_cost = any(row["cost"] is not None for row in rows)
    steps = [(point["found"], abs(gained(point))) for point in frontier["points"]]
    if not dots:
        return ""
    logged = limit not in SHARES
    across = _Axis([x for x, *_ in dots] + [stated], LEFT, WIDTH - RIGHT, logged=logged)
    up = _Axis([y for _, y, *_ in dots], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_title(limit, by_cost)}">',
        *_grid(across, up, limit, by_cost),
        f'<line class="stated" x1="{across(stated):.1f}" x2="{across(stated):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>',
    ]
    if len(steps) > 1:
        path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in steps)
        parts.append(f'<polyline class="frontier" points="{path}"/>')
    for x, y, name, within in dots:
        words = f"{name}: {amount(y, by_cost)}, {number_words(limit, x)}"
        parts.append(
            f'<circle class="{"within" if within else "beyond"}" cx="{across(x):.1f}" cy="{up(y):.1f}" r="4">'
            f"<title>{escape(printable(words))}</title></circle>"
        )
    return "\n".join([*parts, "</svg>"])


def _title(limit: str, by_cost: bool) -> str:
    return f"{'Cost' if by_cost else 'Accuracy'} against {NAMES[limit]}"


class _Axis:
    """Numbers to places, from ``begin`` to ``end``; ``logged`` numbers are log(1 + x)."""

    def __init__(self, values: Sequence[float], begin: float, end: float, *, logged: bool = False) -> None:
        self.form = np.log1p if logged else np.asarray
        self.back = np.expm1 if logged else np.asarray
        low, high = float(self.form(min(values))), float(self.form(max(values)))
        room = 0.04 * (high - low) or 0.01
        self.low, self.high, self.begin, self.end = low - room, high + room, begin, end

    def __call__(self, value: float) -> float:
        share = (float(self.form(value)) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self) -> list[float]:
        places = np.linspace(self.low, self.high, TICKS + 2)[1:-1]
        return [float(self.back(place)) for place in places]


def _grid(across: _Axis, up: _Axis, limit: str, by_cost: bool) -> list[str]:
    """Lines, numbers and the names of both axes."""
    foot, end = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [f'<line class="axis" x1="{LEFT}" x2="{end}" y1="{foot}" y2="{foot}"/>']
    for value in up.ticks():
        y, shown = up(value), f"{value:.3g}" if by_cost else f"{100 * value:.1f} %"
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{end}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="y" x="{LEFT - 6}" y="{y + 4:.1f}">{shown}</text>')
    seen = dict.fromkeys(value if limit in SHARES else float(max(round(value), 0)) for value in across.ticks())
    for value in seen:
        x = across(value)
        parts.append(f'<text class="x" x="{x:.1f}" y="{foot + 18}">{number_words(limit, value)}</text>')
    parts.append(f'<text class="x" x="{(LEFT + end) / 2}" y="{HEIGHT - 8}">{NAMES[limit]}</text>')
    return parts


# The report on an advice: one HTML file without script, with the frontiers as pictures.


def page(advice: Advice, title: str = "", purpose: str = "") -> str:
    """The report as HTML; everything that comes from data or a call is escaped."""
    from maxent.results.html_report.build import rendered

    best = "least costly" if advice.cost else "most accurate"
    return rendered(
        "advice.html.j2",
        style="advice.css",
        script="",
        advice=advice,
        title=title or f"The {best} release of {advice.target} within limits",
        purpose=purpose,
        head=head(advice),
        limits=limits_line(advice.limits),
        told=told(advice),
        frontiers=tuple(_frontiers(advice)),
        measure=measure(advice),
        header=header(advice),
        rows=[(row["outcome"], [*cells_of(row), row["why"]]) for row in advice.rows],
        chance=f"{1 / CHANCE:,.0f}",
        best="" if advice.winner is None else accuracy_words(advice.winner, advice.model),
        outcomes=OUTCOMES,
        source=provenance(["advise"], {}),
    )


def _frontiers(advice: Advice) -> Iterator[tuple[str, str, list[tuple[str, str, str]]]]:
    """What each limit is about, a picture of what it costs, and the rows of a table."""
    key = measure(advice)
    for each in advice.frontier:
        limit, drawn = each["limit"], picture(each, advice.rows)
        if drawn:
            points = [
                (point["candidate"], amount(point[key], bool(advice.cost)), number_words(limit, point["found"]))
                for point in each["points"]
            ]
            yield NAMES[limit], drawn, points
