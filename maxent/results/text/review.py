"""Text of a review, and of a converted model; nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from maxent.disclosure.ladder import Rung, ladder_lines
from maxent.disclosure.limits import WORDS as LIMIT_WORDS
from maxent.disclosure.limits import Verdict, published_words
from maxent.disclosure.measures import MEASURES
from maxent.models.display import Display, counted
from maxent.models.nodes import parts_in_words
from maxent.results.text.estimate import people_by_probability, target_line, worth
from maxent.results.text.terminal import print_lines

if TYPE_CHECKING:
    from maxent.disclosure.inference import Inference
    from maxent.models.formats.release_reader import Converted
    from maxent.models.release import Release
    from maxent.results.solved import Solved

# A converted model for people to read: what survived, and what is lost.

WORDS = {"counts": "counts", "n": "sizes", "rates": "rates", "labels": "labels", "linear": "scores", "means": "means"}
WORDS["statements"] = "statements about people beside trees"


ROUNDED = "thresholds were rounded for print: some records may go another way than in the model"


def print_conversion(found: Converted, output: str) -> None:
    """Print what a model became."""
    leaves = sum(len(tree.leaves) for tree in found.release.trees)
    many = f"{counted(len(found.release.trees), 'tree')} with {counted(leaves, 'leaf', 'leaves')}"
    if found.release.statements:
        many = counted(sum(len(each.statements) for each in found.release.statements), "statement")
    stated = [WORDS[name] for name, there in found.states.items() if there]
    print_lines(
        [
            f"{output}: {many}, written by {found.tool} (format {found.format})",
            f"stated: {', '.join(stated) or 'nothing but the splits'}",
            *([] if found.exact else [ROUNDED]),
            *(f"lost: {sentence}" for sentence in found.lost),
        ]
    )


# Keys of the measures in the table; a measure without a value has no row.
SHOWN = (
    "certain",
    "max_posterior",
    "bayes_vulnerability",
    "right_guesses",
    "base_rate",
    "uniform",
    "divergence",
    "homogeneous_individuals",
    "exposed",
    "min_population",
)

# Sentences on what was lost that a console shows.
LONGEST_LIST = 3


class SeveralReviews(Protocol):
    """The printed parts of `maxent.SeveralReviews`."""

    @property
    def reviews(self) -> Mapping[str, Review]: ...
    @property
    def joint(self) -> Inference | None: ...
    @property
    def left_out(self) -> str: ...
    def verdict(self) -> Verdict: ...


class Asked(Protocol):
    """What a review was asked."""

    @property
    def options(self) -> Mapping[str, Any]: ...


class Registered(Protocol):
    """The printed parts of what an adversary with a register infers."""

    @property
    def words(self) -> str: ...


class Review(Protocol):
    """The printed parts of `maxent.Review`."""

    @property
    def name(self) -> str: ...
    @property
    def individuals(self) -> int: ...
    @property
    def release(self) -> Release: ...
    @property
    def converted(self) -> Converted: ...
    @property
    def asked(self) -> Asked: ...
    @property
    def row(self) -> Mapping[str, Any]: ...
    @property
    def estimate(self) -> Solved | None: ...
    @property
    def unsolved(self) -> str: ...
    @property
    def weaker(self) -> bool: ...
    @property
    def ladder(self) -> Sequence[Rung]: ...
    @property
    def unread_lines(self) -> list[str]: ...
    @property
    def register(self) -> Registered | None: ...
    def verdict(self) -> Verdict: ...


def print_review(review: Review) -> None:
    """Print what was reviewed, what it discloses, and the verdict, to standard output."""
    lines = [*_lines(review, len(review.converted.lost)), *ladder_lines(review.ladder)]
    print_lines([_title(review), *(f"  {line}" for line in lines)])


def review_display(review: Review) -> Display:
    """A review in a console, and in a notebook: a row for each number, and the verdict below."""
    model = _model(review)
    more = [*parts_in_words(review.release.trees), *review.unread_lines, *_lost(review, LONGEST_LIST)]
    below = [model, *more, _worth(review)]
    verdict = _verdict(review) or [f"verdict: {LIMIT_WORDS['not stated']}"]
    drawn = None if review.estimate is None else people_by_probability(review.estimate)
    lines, rows = _lines(review, 1), list(_rows(review))
    return Display(_title(review), lines, ("measure", "value"), rows, below, verdict, drawn)


def print_several(several: SeveralReviews) -> None:
    """Print the reviews of several sensitive columns, and what is inferred of all together, to standard output."""
    shown = several_display(several, every=True)
    print_lines([shown.title, *(f"  {line}" for line in shown.lines)])


def several_display(several: SeveralReviews, *, every: bool = False) -> Display:
    """Reviews of several sensitive columns, in a console and in a notebook; ``every`` sentence on what was lost."""
    reviews = list(several.reviews.values())
    names = " and ".join(several.reviews)
    verdict = several.verdict()
    lines = verdict.lines() or [f"verdict: {LIMIT_WORDS['not stated']}"]
    told = "" if several.joint is None else target_line(several.joint, "together")
    lines.append(told or f"{names} together: left out, as {several.left_out}")
    for name, review in several.reviews.items():
        lines.append(f"{name} by itself:")
        lines += [f"  {line}" for line in _measured(review, len(review.converted.lost) if every else 1)]
        lines += [f"  {line}" for line in ladder_lines(review.ladder)] * every
    numbers = {name: dict(_rows(review)) for name, review in several.reviews.items()}
    titles = dict.fromkeys(title for found in numbers.values() for title in found)
    rows = [[title, *(found.get(title, "-") for found in numbers.values())] for title in titles]
    first = verdict.lines() or lines[:1]
    title = f"Review about {names}: each by itself, {reviews[0].individuals:,} people"
    return Display(title, lines, ("measure", *several.reviews), rows, lines[len(first) :], first)


def _title(review: Review) -> str:
    release = review.release
    trees = counted(len(release.trees), "tree")
    return f"Review of {review.name} about {release.target.name}: {trees}, {review.individuals:,} people"


def _lines(review: Review, most: int) -> list[str]:
    """The review in plain language; the verdict comes first, so that no cut takes it away."""
    return [*(_verdict(review) or [f"verdict: {LIMIT_WORDS['not stated']}"]), *_measured(review, most)]


def _measured(review: Review, most: int) -> list[str]:
    """The numbers of a review, and what they are worth."""
    numbers = [f"{title} {value}" for title, value in _rows(review)]
    half = (len(numbers) + 1) // 2
    return [
        *("; ".join(part) for part in (numbers[:half], numbers[half:]) if part),
        *([] if review.estimate is None else map(target_line, review.estimate.targets.values())),
        _worth(review),
        _model(review),
        *parts_in_words(review.release.trees),
        *([] if review.register is None else [review.register.words]),
        *review.unread_lines,
        *_lost(review, most),
    ]


def _rows(review: Review) -> Iterator[tuple[str, str]]:
    """Names and values of the numbers that are known."""
    for key in SHOWN:
        value = review.row.get(key)
        if value is not None:
            title = "people in leaves of one class" if key == "homogeneous_individuals" else MEASURES[key].title
            yield title, MEASURES[key].text(value)


def _model(review: Review) -> str:
    """The model, and what of it leaves state."""
    stated = [name for name, there in review.converted.states.items() if there]
    leaves = sum(len(tree.leaves) for tree in review.release.trees)
    published = review.asked.options.get("published_as")
    as_other = f"; {published_words(published)}" if published else ""
    told = f"{counted(leaves, 'leaf', 'leaves')}, {review.converted.tool}; stated: {', '.join(stated) or 'splits only'}"
    return told + as_other


def _lost(review: Review, most: int) -> list[str]:
    lost = [*([] if review.converted.exact else [ROUNDED]), *(f"lost: {each}" for each in review.converted.lost)]
    return lost[:most]


def _worth(review: Review) -> str:
    """How far the estimate can be relied on."""
    if review.estimate is None:
        return f"no estimate: {review.unsolved}"
    told = f"estimate: {worth(review.estimate)}"
    return f"{told}; without what private splits tell: an adversary may infer more" if review.weaker else told


def _verdict(review: Review) -> list[str]:
    verdict = review.verdict()
    if verdict.status == "not stated":
        return []
    head, *checks = verdict.lines()
    return [head, *(check.strip().removeprefix(f"{review.name}: ") for check in checks)]
