"""Accuracies of releases that are compared: on the truth, and on other people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from maxent.api.case import Case
from maxent.models.reading import Reader
from maxent.models.release import Release
from maxent.models.tables.frame import shorten_list
from maxent.models.trees.accuracy import Cases, read_cases, score
from maxent.models.trees.predict import tested_attributes
from maxent.results.comparison import Scores

if TYPE_CHECKING:
    from maxent.api.parts.by_leaf.compare import Compared
    from maxent.models.tables.frame import Source

ALIKE = (
    "generalised records: a leaf is a group of identical rows, an individual one row; attacks need to know which rows "
    "can be a person's"
)
"""Note on generalised records in a comparison."""


@dataclass(frozen=True, slots=True, eq=False)
class Accuracies:
    """Accuracies of releases; the truth and the test are read once for all over the same attributes and classes."""

    releases: Sequence[Release]
    truth: Source | None
    test: Source | None
    count: str | None
    reader: Reader
    read: list[tuple[str, Release, Cases]] = field(default_factory=list)

    def scores(self, case: Case, compared: Compared | None) -> Scores:
        """Accuracies of a release, and notes on them; that on the truth may be known of people in parts."""
        if case.records is not None:
            return Scores(None, None, (ALIKE,))
        release, train, tested, notes = case.release, None, None, []
        if compared is not None and compared.parted:
            train = compared.train
        elif self.truth is not None:
            cases = self._cases("truth", self.truth, release)
            missing = [each.name for each in tested_attributes(release) if each not in cases.attributes]
            if missing:
                notes += [f"no training accuracy: the truth has no column {shorten_list(missing)}, which a tree tests"]
            else:
                train = score(release, cases)
                notes += train.notes
        if self.test is not None:
            tested = score(release, self._cases("test", self.test, release))
            notes += [f"test: {note}" for note in tested.notes]
        return Scores(train, tested, tuple(notes))

    def _cases(self, name: str, source: Source, release: Release) -> Cases:
        """The records of a table, with the attributes that any release alike tests."""
        for known_name, known, cases in self.read:
            if known_name == name and _over_the_same(known, release):
                return cases
        alike = [tested_attributes(other) for other in self.releases if _over_the_same(other, release)]
        tested = [attribute for attribute in release.attributes if any(attribute in each for each in alike)]
        private = {attribute.name for attribute in tested if attribute.role == "private"} if name == "truth" else ()
        cases = read_cases(source, name, release.target, tested, count=self.count, optional=private, reader=self.reader)
        self.read.append((name, release, cases))
        return cases


def _over_the_same(one: Release, other: Release) -> bool:
    return (one.target, one.attributes) == (other.target, other.attributes)
