"""An advice for people to read; numbers are formatted here, none is computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from maxent.advice.standing import OUTCOMES, points
from maxent.disclosure.limits import NAMES, SHARES, Limits
from maxent.models.text.display import Display, counted
from maxent.text.bench import aligned
from maxent.text.terminal import print_lines

Row = Mapping[str, Any]

SHOWN = 12
"""Candidates that a console shows."""

HEADER = ("candidate", "accuracy", "deviation", "behind", "leaves", "smallest group", "largest posterior", "certain")
"""Columns of the table, before the reason."""


class Advice(Protocol):
    """The printed parts of `maxent.Advice`."""

    @property
    def rows(self) -> Sequence[Row]: ...
    @property
    def winner(self) -> Row | None: ...
    @property
    def nearest(self) -> Sequence[Row]: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def individuals(self) -> int: ...
    @property
    def folds(self) -> int: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def outcomes(self) -> Mapping[str, int]: ...
    @property
    def test_accuracy(self) -> float | None: ...
    @property
    def model(self) -> str: ...
    @property
    def cut(self) -> str: ...
    @property
    def command(self) -> str: ...


def print_advice(advice: Advice) -> None:
    """Print the ranked table, the best release and how the others ended."""
    cells = [[*cells_of(row), row["why"]] for row in advice.rows[:SHOWN]]
    lines = [head(advice), limits_line(advice.limits), "", *aligned([*HEADER, "why"], cells, left=1)]
    left = len(advice.rows) - SHOWN
    lines += [f"and {left} more: --table FILE writes all of them"] if left > 0 else []
    print_lines([*lines, "", *told(advice)])


def told(advice: Advice) -> Iterator[str]:
    """The best release, or what came nearest; how the others ended."""
    best = advice.winner
    if best is None:
        yield "no candidate is known to keep the limits" if advice.limits.stated else "no candidate was tested"
        yield from (f"nearest: {row['candidate']}: {row['why']}" for row in advice.nearest)
    else:
        yield f"best: {best['candidate']}, {accuracy_words(best, advice.model)}"
        if advice.model and advice.test_accuracy is None:
            yield (
                "the splits of the model may have been chosen by these people: then it is right less often about "
                "others (--test FILE measures it)"
            )
        if advice.test_accuracy is not None:
            yield f"test: {100 * advice.test_accuracy:.2f} % of people who took no part in anything above"
        elif len(advice.rows) > 1 and not advice.model:
            yield "it was chosen by these folds: expect slightly less of other people (--test FILE measures it)"
        yield from advice.notes
        yield f"the same release: maxent {advice.command}"
    ends = ", ".join(f"{number} {OUTCOMES[name]}" for name, number in _ends(advice.outcomes))  # type: ignore[index]
    yield f"others: {ends}" if ends else "there were no others"
    if advice.cut:
        yield f"not all was tried: {advice.cut}"


def _ends(outcomes: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    return ((name, outcomes[name]) for name in OUTCOMES if name != "best" and outcomes.get(name))


def head(advice: Advice) -> str:
    """How many people, candidates and folds."""
    methods = len({row["method"] for row in advice.rows})
    of = f"{counted(len(advice.rows), 'candidate')} of {counted(methods, 'method')}"
    told = f" that start from {advice.model}" if advice.model else ""
    return f"advise: {counted(advice.individuals, 'person', 'people')}, {of}{told}, {advice.folds} folds"


def limits_line(limits: Limits) -> str:
    """The limits in words."""
    told = (
        f"{NAMES[name]} {'at least' if name == 'min_k' else 'at most'} {value:g}"
        for name, value in limits.as_dict().items()
    )
    return f"limits: {'; '.join(told) or 'none, so every candidate keeps them'}"


def accuracy_words(row: Row, model: str = "") -> str:
    """``right for 82.79 % of people whom it did not see (± 0.31 over 5 folds)``."""
    if row["accuracy"] is None:
        return "not tested"
    spread = "" if row["deviation"] is None else f"± {100 * row['deviation']:.2f} over "
    seen = "its counts and its pruning" if model else "it"
    return f"right for {100 * row['accuracy']:.2f} % of people whom {seen} did not see ({spread}{row['folds']} folds)"


def cells_of(row: Row) -> list[str]:
    """A row of the table as texts."""
    shares = [_percent(row["accuracy"]), _percent(row["deviation"])]
    late = "" if row["behind"] is None or row["outcome"] == "best" else points(row["behind"], row["behind_deviation"])
    counts = [_whole(row[key]) for key in ("leaves", "min_population")]
    posterior = "" if row["max_posterior"] is None else f"{row['max_posterior']:.3f}"
    return [row["candidate"], *shares, late, *counts, posterior, _whole(row["certain"])]


def number_words(limit: str, value: float) -> str:
    """A number that a limit is about."""
    return f"{value:.3f}" if limit in SHARES else f"{value:,.0f}"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f} %"


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def advice_display(advice: Advice) -> Display:
    """An advice in a console and in a notebook."""
    cells = [[*cells_of(row), row["why"]] for row in advice.rows]
    lines = [limits_line(advice.limits), *told(advice)]
    return Display(head(advice), lines, [*HEADER, "why"], cells, lines)
