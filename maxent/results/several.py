"""Reviews of a model of several sensitive columns: each by itself, and what is inferred of all together."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from maxent.disclosure.inference import Inference
from maxent.disclosure.limits import Verdict
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.reading import Noticed
from maxent.models.text.display import Display, Shown
from maxent.results.estimate import inferred_numbers
from maxent.results.review import Review


@dataclass(frozen=True, eq=False, repr=False)
class SeveralReviews(Shown):
    """A model of several sensitive columns that was reviewed before its publication.

    Attributes
    ----------
    reviews : mapping of str to Review
        That of each sensitive column, by its name.
    joint : Inference or None
        What is inferred of all columns together: ``.posterior``, ``.probabilities`` and ``.disclosure``, whose classes
        are the combinations of theirs. A limit that each column keeps is kept by these, too: no combination is more
        likely than a class that it has. None where private attributes decide on leaves, and of many combinations.
    left_out : str
        Why there is no ``joint``; empty where there is one.
    """

    reviews: Mapping[str, Review]
    joint: Inference | None
    left_out: str = ""

    @property
    def reliable(self) -> bool:
        """Whether every review can be relied on."""
        return all(review.reliable for review in self.reviews.values())

    @property
    def trouble(self) -> str:
        """Why the reviews are not to be relied on; empty where they are."""
        found = {name: review.trouble for name, review in self.reviews.items()}
        return "; ".join(f"{name}: {trouble}" for name, trouble in found.items() if trouble)

    @property
    def noticed(self) -> Noticed:
        """What was noticed while the model and the table were read."""
        first, *others = (review.noticed for review in self.reviews.values())
        for other in others:
            first = first.joined(other)
        return first

    @property
    def solved(self) -> bool:
        """Whether there is an estimate of each column."""
        return all(review.estimate is not None for review in self.reviews.values())

    def verdict(self, **limits: Any) -> Verdict:
        """The verdict on each column; parameters and errors are those of `maxent.results.review.Review.verdict`."""
        found = [review.verdict(**limits) for review in self.reviews.values()]
        return Verdict(found[0].limits, tuple(judged for verdict in found for judged in verdict.releases))

    @property
    def summary(self) -> dict[str, Any]:
        """The object of ``maxent review --json``: plain numbers, strings, lists, dictionaries; a copy.

        ``targets`` has the summary of each review; ``joint`` is None where ``left_out`` says why.
        """
        own: dict[str, Any] = {
            "reliable": self.reliable,
            "targets": {name: review.summary for name, review in self.reviews.items()},
            "joint": None if self.joint is None else inferred_numbers(self.joint),
        }
        return own | ({"left_out": self.left_out} if self.left_out else {}) | self.verdict().summary

    def to_dict(self) -> dict[str, Any]:
        """`summary`, as other libraries call it."""
        return self.summary

    def report(self, path: str | PathLike[str], *, title: str = "", purpose: str = "") -> tuple[str, ...]:
        """Write a report on each column: ``report.html`` becomes ``report-1.html``, ``report-2.html`` and so on.

        Returns
        -------
        tuple of str
            The names of the files.

        Raises
        ------
        InvalidInput
            As `maxent.results.review.Review.report`.
        """
        files = report_names(path, len(self.reviews))
        for file, review in zip(files, self.reviews.values(), strict=True):
            review.report(file, title=title, purpose=purpose)
        return files

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write the summary with all posteriors (.json), or the joint posterior alone (.csv, .parquet), atomically.

        Parameters and errors are those of `maxent.results.estimate.Estimate.save`; a table needs a ``joint``.
        """
        from maxent.models.files.kinds import REVIEW
        from maxent.models.files.result_files import save_document, save_frame

        if self.joint is not None:
            frame, summary = self.joint.posterior, self.summary
            save_frame(path, frame, lambda rows: {**summary, "posterior": rows}, REVIEW, csv_literal=csv_literal)
        elif os.fspath(path).lower().endswith(".json"):
            save_document(path, {**self.summary, "posterior": None}, REVIEW)
        else:
            raise invalid("output", ARGUMENT, "path", "a .json file, as there is no joint posterior", self.left_out)

    def _display(self) -> Display:
        from maxent.text.review import several_display

        return several_display(self)


def report_names(path: str | PathLike[str], number: int) -> tuple[str, ...]:
    """The names of the reports on some columns."""
    given = Path(os.fspath(path))
    return tuple(str(given.with_name(f"{given.stem}-{i}{given.suffix}")) for i in range(1, number + 1))
