"""The result of the structural attacks on generalised records, also as text.

Groups of rows with the same box stand where the leaves of a tree do. Boxes may overlap: then nobody is known to be in a
group, as uniqueness, homogeneity and background knowledge assume, and an adversary looks at all rows that cover a
person, or at those that may be theirs when every row is somebody's (`maxent.constraints.records`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.attacks.linking import NO_CLASS, Attacked, CountBounds, background_knowledge, homogeneity, uniqueness
from maxent.constraints.program.program import Contradiction
from maxent.constraints.records import Assignment, left_out
from maxent.disclosure.baseline import base_numbers, baseline_of
from maxent.disclosure.limits import Limits, Verdict, judge_rows
from maxent.disclosure.measures import audited
from maxent.models.arrays import BoolArray, IntArray
from maxent.models.display import Display, counted
from maxent.models.files.output import AUDIT
from maxent.models.reading import NOTHING, Noticed
from maxent.models.tables.cells import own_names
from maxent.models.tables.qi_table import QITable
from maxent.results.solved import AttackReport

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.models.formats.published_records import PublishedRecords

# The attacks on people, see `RecordsAudit`. Who is open to several is said to be so to the first.
RECORD_ATTACKS = ("unique", "span", "assignment")
# Groups that are named of each attack.
NAMED = 5


@dataclass(frozen=True, slots=True, eq=False)
class RecordCandidates:
    """The rows that may be a person's, their groups and only class, `NO_CLASS` for none, and people of groups' rows."""

    rows: IntArray
    groups: IntArray
    only: IntArray
    people: IntArray

    @classmethod
    def of(cls, owner: IntArray, group: IntArray, counts: IntArray, individuals: IntArray) -> RecordCandidates:
        """From pairs; ``counts`` has shape (n_groups, n_classes)."""
        n = len(individuals)
        rows = np.bincount(owner, counts.sum(axis=1)[group], n).astype(np.int64)
        classes = np.column_stack([np.bincount(owner, held[group] > 0, n) > 0 for held in counts.T])
        only = np.where(classes.sum(axis=1) == 1, classes.argmax(axis=1), NO_CLASS)
        people = np.bincount(group, individuals[owner], len(counts)).astype(np.int64)
        return cls(rows, np.bincount(owner, minlength=n).astype(np.int64), only.astype(np.int64), people)


@dataclass(frozen=True, eq=False, repr=False)
class RecordsAudit(AttackReport):
    """Structural attacks on generalised records.

    `summary` is the JSON summary; `individuals`, `groups` and `table` are DataFrames. ``owner`` and ``group``, shapes
    (n_pairs,), are the quasi-identifiers of ``people`` and the groups of ``records`` that cover them; ``assignment``
    says which of these pairs can be, ``contradictions`` why the rows cannot be those of the people, ``noticed``
    what was while they were read. The attacks:

    ``unique``      a single row covers the person
    ``span``        all rows that cover the person are of one class
    ``assignment``  all rows are that may be theirs when every row is one person's
    """

    kept_as = AUDIT
    records: PublishedRecords
    people: QITable
    owner: IntArray
    group: IntArray
    assignment: Assignment
    min_size: int
    known: int
    contradictions: tuple[Contradiction, ...]
    noticed: Noticed = NOTHING

    @property
    def reliable(self) -> bool:
        """Whether the rows can be those of the people."""
        return not self.contradictions

    @cached_property
    def bounds(self) -> CountBounds:
        """Rows of each group and class, and in all."""
        counts = np.column_stack([self.records.counts, self.records.counts.sum(axis=1)]).astype(np.float64)
        return CountBounds(counts, counts, np.full(len(counts), -1))

    @cached_property
    def covering(self) -> RecordCandidates:
        """The rows whose boxes hold a person's values."""
        return RecordCandidates.of(self.owner, self.group, self.records.counts, self.people.counts)

    @cached_property
    def possible(self) -> RecordCandidates:
        """Rows that belong to a person in some complete assignment; all covering rows where there is none."""
        kept = self.assignment.possible if self.reliable else np.ones(len(self.owner), bool)
        return RecordCandidates.of(self.owner[kept], self.group[kept], self.records.counts, self.people.counts)

    @cached_property
    def span(self) -> IntArray:
        """People whom the same groups cover have the same number, from 0; -1 whom none covers; shape (n_qi,)."""
        order = np.argsort(self.owner, kind="stable")
        groups = np.split(self.group[order], np.cumsum(self.covering.groups)[:-1])
        number: dict[bytes, int] = {b"": -1}
        return np.array([number.setdefault(some.tobytes(), len(number) - 1) for some in groups], np.int64)

    @cached_property
    def attack(self) -> IntArray:
        """The first of `RECORD_ATTACKS` that each quasi-identifier is open to, -1 for none; shape (n_qi,)."""
        works = (self.covering.rows == 1, self.covering.only != NO_CLASS, self.possible.only != NO_CLASS)
        return np.select(works, range(len(works)), -1).astype(np.int64)

    def individuals_in(self, rows: BoolArray) -> int:
        """Individuals of some quasi-identifiers."""
        return int(self.people.counts[rows].sum())

    @cached_property
    def _summary(self) -> dict[str, Any]:
        alike, rows = homogeneity(self.bounds, self.min_size), self.bounds.low[:, -1]
        settled = background_knowledge(self.bounds, self.known)
        beyond = settled.leaves & ~homogeneity(self.bounds).leaves
        kk, sizes = self.kk_anonymous, np.bincount(self.span[self.span >= 0], self.people.counts[self.span >= 0])
        return {
            "leaves": len(self.records),
            "individuals": self.people.individuals,
            "rows": len(self.records.lines),
            "uniqueness": {"leaves": uniqueness(self.bounds).n_leaves},
            "homogeneity": {"min_size": self.min_size, "leaves": alike.n_leaves, "individuals": alike.n_individuals},
            "background": {
                "known": self.known,
                "leaves": settled.n_leaves,
                "individuals": settled.n_individuals,
                "beyond_homogeneity": {
                    "leaves": int(beyond.sum()),
                    "individuals": int(settled.individuals[beyond].sum()),
                },
            },
            "spans": {
                "count": len(sizes),
                "min_population": int(sizes.min(initial=self.people.individuals)) if len(sizes) else None,
                "k_anonymous": int(rows.min()),
                "exposed": self.individuals_in(self.covering.only != NO_CLASS),
                "unlinked": self.individuals_in(self.covering.rows == 0),
            },
            "exposed": {name: self.individuals_in(self.attack == i) for i, name in enumerate(RECORD_ATTACKS)},
            "differencing": {"removed": 0, "recovered": 0},
            "gcp": self.records.table.gcp(),
            "covering": {"kk_anonymous": kk, **self._fewest(self.covering)},
            "assignment": {
                "complete": self.reliable,
                "ruled_out": int(self.covering.groups.sum() - self.possible.groups.sum()),
                **self._fewest(self.possible),
                "narrowed": self.individuals_in(self.possible.rows < self.covering.rows),
                "below_k": self.individuals_in(self.possible.rows < kk),
                "exposed": self.individuals_in(self.possible.only != NO_CLASS),
            },
            "worst": list(self._worst(alike)),
            "reliable": self.reliable,
            "notes": [
                *self.noticed.notes,
                *left_out(self.records, self.people),
                *(f"{text}: not to be relied on" for text in self.contradictions),
            ],
            **self.noticed.summary,
        }

    @property
    def kk_anonymous(self) -> int:
        """The k of (k,k)-anonymity: at least k rows cover each person, and each row covers at least k people."""
        return min(self._fewest(self.covering).values())

    def _fewest(self, candidates: RecordCandidates) -> dict[str, int]:
        return {"rows_per_person": int(candidates.rows.min()), "people_per_row": int(candidates.people.min())}

    def _worst(self, alike: Attacked) -> Iterator[dict[str, Any]]:
        """The largest groups of rows that are alike and of one class."""
        texts = self.table
        for i in np.argsort(-alike.individuals, kind="stable")[:NAMED].tolist():
            if alike.leaves[i]:
                values = texts.iloc[i, 1 : 1 + len(self.records.table.attributes)]
                yield {
                    "attack": "homogeneity",
                    "leaf": str(self.records.first[i]),
                    "n": int(alike.individuals[i]),
                    "class": self.records.table.target.classes[alike.disclosed[i]],
                    "path": ", ".join(f"{name}={value}" for name, value in values.items()),
                }

    def judged(self, limits: Limits, name: str = "records", **alone: Any) -> Verdict:
        """The verdict, of a release by its name; ``alone`` are numbers of sensitive classes alone."""
        counts = self.records.counts.sum(axis=0).astype(np.float64)
        people = int(counts.sum())
        base = base_numbers(baseline_of(len(counts), people, low=counts, high=counts), people)
        return judge_rows(limits, [{"release": name, **audited(self._summary), **base, **alone}])

    @property
    def individuals(self) -> DataFrame:
        """One row per distinct quasi-identifier, in the order in which they were read.

        Columns: the attributes, ``count``; ``rows`` and ``groups`` that cover it, ``possible rows`` of them that may be
        a person's; ``span`` (from 1) and its ``population``; ``attack`` (of `RECORD_ATTACKS`) and ``disclosed``.
        """
        found = self.people.frame()
        population = np.bincount(self.span + 1, self.people.counts).astype(np.int64)[self.span + 1]
        columns: dict[str, npt.NDArray[Any]] = {
            "rows": self.covering.rows,
            "groups": self.covering.groups,
            "possible rows": self.possible.rows,
            "span": self.span + 1,
            "population": np.where(self.span < 0, 0, population),
            "attack": np.array([*RECORD_ATTACKS, ""], object)[self.attack],
            "disclosed": np.array([*self.records.table.target.classes, None], object)[self.possible.only],
        }
        theirs = [attribute.name for attribute in self.people.attributes]
        for name, values in zip(own_names([*columns], theirs), columns.values(), strict=True):
            found[name] = values
        return found.iloc[np.argsort(self.people.lines, kind="stable")].reset_index(drop=True)

    @property
    def table(self) -> DataFrame:
        """One row per group of rows that are alike, in the order of the first of them.

        Columns: ``leaf``, where its first row is (`PublishedRecords.lines`); the attributes as they are published;
        ``n``, ``count(<class>)`` for each class; and ``people``, individuals whom each of its rows may be.
        """
        groups = np.arange(len(self.records))
        boxes = replace(self.records.table, box=groups, y=np.zeros(len(groups), np.int64)).frame(in_order=True)
        found = boxes.iloc[:, :-1].copy()
        counts = zip(self.records.table.target.classes, self.records.counts.T, strict=True)
        columns: dict[str, npt.NDArray[Any]] = {
            "leaf": self.records.first,
            "n": self.records.counts.sum(axis=1),
            **{f"count({name})": n for name, n in counts},
            "people": self.possible.people,
        }
        names = own_names([*columns], list(found.columns))
        for i, (name, values) in enumerate(zip(names, columns.values(), strict=True)):
            found.insert(len(found.columns) if i else 0, name, values)
        return found

    @property
    def lines(self) -> tuple[str, ...]:
        """The summary in plain language."""
        return tuple(records_lines(self.summary, self.records.table.target.name))

    def _display(self) -> Display:
        from maxent.results.text.audit import audit_display

        return audit_display(f"Audit of {counted(len(self.records), 'group')} of records", self.summary, self.lines)

    def _saved(self) -> DataFrame:
        return self.individuals


# An audit of generalised records for people to read; numbers are formatted here, none is computed.


def records_lines(found: Mapping[str, Any], target: str) -> Iterator[str]:
    """A summary in plain language: a line per attack, then the groups of rows."""
    title = target.lower() if target.istitle() and len(target) > 1 else target
    alike, more, spans = found["homogeneity"], found["background"]["beyond_homogeneity"], found["spans"]
    covering, assignment, exposed = found["covering"], found["assignment"], found["exposed"]
    people = found["individuals"]
    yield (
        f"{_plural(found['rows'], 'row')} in {_plural(found['leaves'], 'group')} of rows that are alike but for the "
        f"{title}; {_plural(people, 'individual')}; GCP {found['gcp']:.4f}"
    )
    yield (
        f"uniqueness: {_plural(found['uniqueness']['leaves'], 'group')} of a single row; at the least "
        f"{_plural(spans['k_anonymous'], 'row')} alike: it is {spans['k_anonymous']}-anonymous"
    )
    least = f" of at least {alike['min_size']} rows" if alike["min_size"] > 1 else ""
    yield f"homogeneity: {_plural(alike['leaves'], 'group')}{least} of one class only, {_rows(alike, found)}"
    known = "one member" if found["background"]["known"] == 1 else f"{found['background']['known']} members"
    yield (
        f"background knowledge: the {title} of {known} settles that of all others in "
        f"{_plural(more['leaves'], 'more group')}, {_rows(more, found)}"
    )
    yield (
        f"covering: at least {_plural(covering['rows_per_person'], 'row')} for each person, and "
        f"{_plural(covering['people_per_row'], 'person', 'people')} for each row: it is ({covering['kk_anonymous']},"
        f"{covering['kk_anonymous']})-anonymous"
    )
    yield (
        f"linking: {_plural(exposed['unique'], 'individual')} whom a single row covers; the rows that cover them give "
        f"away the {title} of {_plural(spans['exposed'], 'individual')}{_share(spans['exposed'], people)}"
        + (f"; no row covers {spans['unlinked']}" if spans["unlinked"] else "")
    )
    if not assignment["complete"]:
        yield "assignment: the rows cannot be those of these people, one each"
    elif not assignment["ruled_out"]:
        yield "assignment: as every row is one person's, nothing more follows"
    else:
        yield (
            f"assignment: as every row is one person's, {_plural(assignment['narrowed'], 'individual')} can have fewer "
            f"rows than cover them, {assignment['below_k']} fewer than {covering['kk_anonymous']} (the least are "
            f"{assignment['rows_per_person']}); that gives away the {title} of {exposed['assignment']} more"
        )
    if found["worst"]:
        yield "largest groups of one class:"
        yield from (
            f"  {row['leaf']}: {_plural(row['n'], 'row')}, {row['class']}: {row['path']}" for row in found["worst"]
        )
    yield from (f"note: {note}" for note in found["notes"])


def _plural(number: int, noun: str, many: str | None = None) -> str:
    return f"{number} {noun}" if number == 1 else f"{number:,} {many or noun + 's'}"


def _rows(numbers: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    return f"with {_plural(numbers['individuals'], 'row')}{_share(numbers['individuals'], found['rows'])}"


def _share(number: int, whole: int) -> str:
    return f" ({100 * number / whole:.1f} %)" if number else ""
