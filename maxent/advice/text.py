"""An advice for people to read; numbers are formatted here, none is computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from maxent.advice.standing import OUTCOMES, apart_words
from maxent.disclosure.limits import NAMES, SHARES, Limits
from maxent.models.text.display import Display, counted
from maxent.text.bench import aligned
from maxent.text.terminal import print_lines

Row = Mapping[str, Any]

SHOWN = 12
"""Candidates that a console shows."""

SHOWN_OF = ("deviation", "behind", "leaves", "smallest group", "largest posterior", "certain")
"""Columns of the table, after the accuracy or cost and before the reason."""


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
    def test_cost(self) -> float | None: ...
    @property
    def model(self) -> str: ...
    @property
    def cost(self) -> str: ...
    @property
    def untried(self) -> Sequence[Row]: ...
    @property
    def cut(self) -> str: ...
    @property
    def command(self) -> str: ...


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
        yield from advice.notes
        yield f"the same release: maxent {advice.command}"
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


def advice_display(advice: Advice) -> Display:
    """An advice in a console and in a notebook."""
    cells = [[*cells_of(row), row["why"]] for row in advice.rows]
    lines = [limits_line(advice.limits), *told(advice)]
    return Display(head(advice), lines, header(advice), cells, lines)
