"""Reader of ``maxent-statements/1`` documents, JSON or TOML: statements as a release that joins with trees."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arguments import name, shorten_list, show
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import Scientific, bytes_of, json_object, read_text
from maxent.models.files.output import write_text
from maxent.models.files.toml import toml_document
from maxent.models.formats.release_reader import ReleaseReader
from maxent.models.hints import close_to
from maxent.models.release import Attribute, Node, Release, Target, Tree
from maxent.models.statements.registry import KINDS
from maxent.models.statements.scores import RankSum
from maxent.models.statements.statement import (
    Box,
    ClassSum,
    ColumnUse,
    CountsInCells,
    Figured,
    Keys,
    LinearStatement,
    Measured,
    Paired,
    Reprinted,
    StatementKeys,
    StatementPeople,
    Where,
    cells_of,
    together,
)
from maxent.models.statements.sums import ClassCount, ClassShare
from maxent.models.statements.tables import CrossTable

if TYPE_CHECKING:
    from maxent.models.arrays import BoolArray, FloatArray, IntArray
    from maxent.models.reading import Reader
    from maxent.models.tables.qi_table import QITable

FORMAT = "maxent-statements/1"
# What stands between the source of several statements and the number of each of them.
NUMBERED = " (statement "
# Kinds of statements that say nothing linear of members of a register, and why.
NOT_OF_MEMBERS = {
    "auc": "it ranks people among members, who are not known",
    "glm": "what it expects of people adds up over members, who are not known",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: its kind, where it was published, the people that it is about, and what it says of them."""

    kind: str
    source: str
    where: Where
    content: StatementKeys

    @property
    def columns(self) -> set[str]:
        """The columns by which it tells people apart: those of its ``where``, of cells and of terms."""
        parts = (*self.where.tests, *getattr(self.content, "by", ()), *getattr(self.content, "terms", ()))
        return {part.column for part in parts} - {None}

    def rows(self, people: StatementPeople) -> Iterator[LinearStatement]:
        """Its linear rows over a table."""
        among = self.among(people)
        yield from self._about(among, self.content.rows(among))

    def among(self, people: StatementPeople) -> StatementPeople:
        """Those of the people that it is about: nobody else counts."""
        inside = self.where.mask(people)
        if inside.all():
            return people
        table = replace(people.table, counts=np.where(inside, people.table.counts, 0))
        return replace(people, table=table, total=np.empty((0, 2)), members=None)

    def _about(self, people: StatementPeople, rows: Iterable[LinearStatement]) -> Iterator[LinearStatement]:
        """Rows with its source, about the people who count."""
        inside = people.table.counts > 0
        among = f" among {self.where}" if self.where.tests else ""
        for row in rows:
            weights = row.weights * (inside if row.weights.ndim == 1 else inside[:, None])
            source = f"{self.source}, {row.source}" if row.source else self.source
            yield replace(row, weights=weights, says=f"{row.says}{among}", source=source)

    def measures(self, people: StatementPeople) -> tuple[ClassSum, ...]:
        """The sums that it is linear for, see `Measured`; none where it is linear."""
        return self.content.measures(self.among(people)) if isinstance(self.content, Measured) else ()

    def given(self, people: StatementPeople, box: Box) -> Iterator[LinearStatement]:
        """The rows that hold where each of these lies between two ends."""
        assert isinstance(self.content, Measured)
        among = self.among(people)
        yield from self._about(among, self.content.given(among, box))


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredStatement:
    """A statement over the people of a table that is linear for each value of its ``sums``."""

    statement: Statement
    sums: tuple[ClassSum, ...]
    people: StatementPeople
    order: IntArray

    @property
    def source(self) -> str:
        """Where it stands, as constraints name it."""
        return f"{self.people.source}, {self.statement.source}"

    @property
    def says(self) -> str:
        """What it says in words, its figure."""
        said = next(self.rows([(one.low, one.high) for one in self.sums]), None)
        return "" if said is None else said.says.partition(", lower side")[0].partition(", upper side")[0]

    def rows(self, box: Box = ()) -> Iterator[LinearStatement]:
        """Its rows, or those where each sum lies between two ends, in the order of the classes that were asked for."""
        for row in self.statement.given(self.people, box) if box else self.statement.rows(self.people):
            yield _reordered(replace(row, source=f"{self.people.source}, {row.source}"), self.order)


def _reordered(row: LinearStatement, order: IntArray) -> LinearStatement:
    """A row with its classes in another order."""
    weights = row.weights
    if weights.ndim == 2:
        weights = np.empty_like(weights)
        weights[:, order] = row.weights
    return replace(row, weights=weights, klass=None if row.klass is None else int(order[row.klass]))


@dataclass(frozen=True, slots=True, eq=False)
class StatementDocument:
    """A document of statements about the same people, and how they use the columns of the table.

    ``groups``: whether they are about each group of people, whose number the last column of a table has, of several
    releases about overlapping people; None: about everybody.
    """

    name: str
    target: Target
    individuals: int | None
    statements: tuple[Statement, ...]
    columns: Mapping[str, ColumnUse]
    document: Mapping[str, Any] = field(repr=False)
    groups: tuple[bool, ...] | None = None

    def people(self, table: QITable) -> StatementPeople:
        """Those of a table whom it is about: nobody else counts."""
        if self.groups is not None:
            inside = np.array(self.groups)[table.codes[:, -1]]
            table = replace(table, counts=np.where(inside, table.counts, 0))
        return StatementPeople(table, self.target.classes, self.name)

    def rows(
        self,
        table: QITable,
        classes: Sequence[str] = (),
        total: FloatArray | None = None,
        *,
        members: int | None = None,
    ) -> Iterator[LinearStatement]:
        """The linear rows of the statements, each with its source, by class as ``classes`` orders them.

        With ``total``, the least and largest number of people of each class, they are those of statements that depend
        on it, else all others. ``members`` of a register are so many people of the table whom they are about.
        """
        order = self._order(classes)
        for row in self._own_rows(table, None if total is None else total[order], members):
            yield _reordered(row, order)

    def cells(self, table: QITable, classes: Sequence[str]) -> Iterator[LinearStatement]:
        """A row that says nothing for each cell and margin of columns by which people of a class are counted.

        Cells that a table leaves out are among them.
        """
        people, order = self.people(table), self._order(classes)
        for each in self.statements:
            if isinstance(each.content, CountsInCells):
                axes = [*(test.axis(people) for test in each.where.tests), *each.content.axes(people)]
                for row in cells_of(people, axes, each.content.counted):
                    yield _reordered(replace(row, source=f"{self.name}, {each.source}, {row.source}"), order)

    def figure(self, place: str, table: QITable, classes: Sequence[str], masses: FloatArray) -> float | None:
        """What people of each class, shape (n_qi, n_classes), give a statement in a place; None of one without it."""
        people, order = self.people(table), self._order(classes)
        for each in self.statements:
            source = f"{self.name}, {each.source}"
            if isinstance(each.content, Figured) and (place == source or place.startswith(f"{source}, ")):
                among = each.among(people)
                return each.content.figure(among, masses[:, order] * (among.counts > 0)[:, None])
        return None

    def printed(self, table: QITable, classes: Sequence[str], masses: FloatArray) -> Iterator[tuple[str, bool | None]]:
        """Statements that rows tell less of, and whether people of each class, shape (n_qi, n_classes), may print them.

        None if that is not known.
        """
        people, order = self.people(table), self._order(classes)
        for each in self.statements:
            if isinstance(each.content, Reprinted):
                among = each.among(people)
                masses_in = masses[:, order] * (among.counts > 0)[:, None]
                yield f"{self.name}, {each.source}", each.content.prints(among, masses_in)

    def possible(self, table: QITable, classes: Sequence[str], second: FloatArray) -> BoolArray:
        """Tables with so many people of the second of two classes, shape (n, n_qi), that may print everything."""
        people, order = self.people(table), self._order(classes)
        found = np.ones(len(second), bool)
        for each in self.statements:
            if isinstance(each.content, Reprinted):
                among = each.among(people)
                inside = second * (among.counts > 0)
                found &= each.content.possible(among, inside if order[1] else among.counts - inside)
        return found

    def effects(self, table: QITable, classes: Sequence[str]) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
        """What is printed of people of the first class, what each of the second moves, and shares (`Reprinted`)."""
        people, order = self.people(table), self._order(classes)
        for each in self.statements:
            if isinstance(each.content, Reprinted):
                among = each.among(people)
                base, move, share = each.content.effects(among)
                inside = among.counts > 0
                move, share = move * inside[:, None], np.where(inside, share, 0.5)
                yield (base, move, share) if order[1] else (base + among.counts @ move, -move, 1 - share)

    @property
    def refitted(self) -> bool:
        """Whether rows tell less than some statement does."""
        return any(isinstance(each.content, Reprinted) for each in self.statements)

    @property
    def notes(self) -> Iterator[str]:
        """Notes on suppressed cells that do not say what they may be."""
        for each in self.statements:
            if isinstance(each.content, CrossTable) and (n := each.content.unlimited):
                cells = f"{n:,} suppressed cell{'s' if n > 1 else ''} ({self.name}, {each.source})"
                yield f"{cells}: taken for any number, as suppressed_below is not stated"

    def only(self, sources: Collection[str]) -> StatementDocument:
        """The document with those of its statements whose sources are among some."""
        return replace(self, statements=tuple(s for s in self.statements if f"{self.name}, {s.source}" in sources))

    def _paired(self) -> Iterator[Statement]:
        """The statements. Those that need what others say of the same people have it, and come last."""
        for each in sorted(self.statements, key=lambda each: isinstance(each.content, Paired)):
            if isinstance(each.content, Paired):
                others = {other.source: other.content for other in self.statements if other.where == each.where}
                each = replace(each, content=each.content.paired(others))
            yield each

    def _order(self, classes: Sequence[str]) -> IntArray:
        """The number that each class of the document has among others."""
        return np.array([classes.index(c) for c in self.target.classes] if classes else range(len(self.target.classes)))

    def measured(self, table: QITable, classes: Sequence[str]) -> Iterator[MeasuredStatement]:
        """The statements that are linear for each value of some sums, with these."""
        people, order = self.people(table), self._order(classes)
        for statement in self._paired():
            if found := statement.measures(people):
                sums = tuple(replace(each, klass=int(order[each.klass])) for each in found)
                yield MeasuredStatement(statement, sums, people, order)

    def _own_rows(self, table: QITable, total: FloatArray | None, members: int | None) -> Iterator[LinearStatement]:
        """The rows, whose classes are in the order of the document."""
        people = self.people(table)
        if members is not None:
            people = replace(people, of_register=True, members=members)
        if total is not None:
            people = replace(people, total=total)
        if self.individuals is not None and total is None:
            ones = np.ones((len(people), len(people.classes)))
            n = float(self.individuals)
            yield LinearStatement(ones, n, n, f"{self.individuals:,} people", source=f"{self.name}, individuals")
        for statement in self._paired():
            if isinstance(statement.content, RankSum) != (total is not None):
                continue
            if members is not None and statement.kind in NOT_OF_MEMBERS:
                continue
            own = replace(people, source=f"{self.name}, {statement.source}")
            for row in statement.rows(own):
                yield replace(row, source=f"{self.name}, {row.source}")

    @property
    def release(self) -> Release:
        """The statements as a release: a tree of one leaf, which says nothing, and the columns as attributes."""
        attributes = tuple(_attribute(self.name, column, use) for column, use in self.columns.items())
        tree = Tree((Node("everybody"),))
        return Release(self.target, attributes, (tree,), statements=(self,))


def _attribute(source: str, column: str, use: ColumnUse) -> Attribute:
    """A column as an attribute; the values of a categorical one are those that are named, until the table is read."""
    named = [value for value in use.values if isinstance(value, str)]
    texts = list(dict.fromkeys([*use.known, *named]))
    if named and (use.numbers is not None or len(named) < len(use.values)):
        where = use.values[named[0]]
        raise invalid(source, where, name(column), "numbers, as elsewhere of this column", show(texts[0]))
    unnamed = use.numbers is None and not use.values  # a column of margins alone
    return Attribute(column, "categorical", tuple(texts)) if texts or unnamed else Attribute(column, "numeric")


def parse_statements(document: Mapping[str, object], source: str, folder: str = "") -> StatementDocument:
    """Statements of a decoded document, whose problems name all that is wrong; files it names are in ``folder``."""
    columns: dict[str, ColumnUse] = {}
    keys = Keys(source, "document", document, (), columns)
    keys.text("format", among=(FORMAT,))
    of = keys.child("target")
    target_name, classes = of.text("name"), of.raw("classes")
    named: list[object] = classes if isinstance(classes, list) else []
    texts = [str(c) for c in named]
    if len(texts) < 2 or not all(isinstance(c, (str, int, float)) for c in named):
        of.refuse("classes", "a list of at least two classes")
    if twice := next((c for c, n in Counter(texts).items() if n > 1), None):
        of.refuse("classes", "each class once", f"{show(twice)} again")
    of.close()
    individuals = keys.whole("individuals", None, 1)
    listed = keys.raw("statements")
    if not isinstance(listed, list) or not listed:
        keys.refuse("statements", "a list of at least one statement")
    keys.close()
    found: list[Statement] = []
    wrong: list[InvalidInput] = []
    for i, raw in enumerate(listed, 1):
        try:
            found.append(_statement(Keys(source, f"statement {i}", raw, tuple(texts), columns, folder), i))
        except InvalidInput as error:
            wrong.append(error)
    if target_name in columns:
        where = columns[target_name].place or "document"
        wrong.append(invalid(source, where, name(target_name), "a column of the table, not the target", "the target"))
    if wrong:
        raise together(wrong)
    target = Target(target_name, tuple(texts))
    sources = Counter(each.source for each in found)
    statements = StatementDocument(
        source,
        target,
        individuals,
        tuple(
            each if sources[each.source] == 1 else replace(each, source=f"{each.source}{NUMBERED}{i})")
            for i, each in enumerate(found, 1)
        ),
        columns,
        document,
    )
    statements.release  # noqa: B018  # columns that are numbers and texts are refused
    return statements


def _statement(keys: Keys, number: int) -> Statement:
    """One statement of a document."""
    source = keys.raw("source")
    if source is not None and (not isinstance(source, str) or not source.strip()):
        keys.refuse("source", "a text, such as 'Table 2, row 3'")
    if source is not None:
        keys.where = f"{keys.where} ({name(source)})"
    kind = keys.raw("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        near = close_to(kind, KINDS) if isinstance(kind, str) else ""
        keys.refuse("kind", f"one of {', '.join(KINDS)}", show(kind) + near if kind is not None else None)
    where, content = keys.condition(), KINDS[kind].parse(keys)
    keys.close()
    if not (isinstance(content, (ClassCount, ClassShare)) and content.value.low <= 0 and content.n is None):
        for test in where.tests:
            keys.use(test.column, values=test.values)
    return Statement(kind, source or f"statement {number}", where, content)


def read_statements(path: str | os.PathLike[str]) -> StatementDocument:
    """Statements of a file: TOML by the suffix ``.toml``, else JSON."""
    source = os.fspath(path)
    if source.lower().endswith(".toml"):
        document: Mapping[str, object] = toml_document(read_text(path), shown_path(path))
    else:
        document = json_object(bytes_of(source), source)
    return parse_statements(document, os.path.basename(source), os.path.dirname(source))


def save_statements(statements: StatementDocument) -> str:
    """The JSON text of a document, a line for each statement."""
    head = {key: value for key, value in statements.document.items() if key != "statements"}
    lines = ",\n  ".join(json.dumps(_as_printed(each)) for each in statements.document["statements"])
    text = json.dumps(head)[:-1]
    return f'{text},\n "statements": [\n  {lines}\n ]}}\n'


def _as_printed(said: Any) -> Any:
    """The same with numbers that were printed with an exponent as texts, which show all of their digits."""
    if isinstance(said, list):
        return [_as_printed(each) for each in said]
    if not isinstance(said, Mapping):
        return said
    texts = {
        key: said[key].text
        for key, digits in (("equals", "digits"), ("value", "digits"), ("mean", "mean_digits"))
        if isinstance(said.get(key), Scientific) and digits not in said
    }
    return {key: _as_printed(each) for key, each in said.items()} | texts


def documents_beside(path: object) -> tuple[str, ...]:
    """The files of releases that the statements of a file name; none where it is no file of statements.

    Raises an `InvalidInput` where it cannot be read.
    """
    if not isinstance(path, (str, os.PathLike)):
        return ()
    folder, said = os.path.dirname(os.fspath(path)), read_statements(path).document["statements"]
    named = dict.fromkeys(each["from"] for each in said if isinstance(each.get("from"), str))
    return tuple(os.path.join(folder, name) for name in named)


def save_release(release: Release, path: str | os.PathLike[str]) -> None:
    """Write a release that is a document of statements and nothing else, atomically."""
    if len(release.statements) != 1 or len(release.trees) != 1 or len(release.trees[0].nodes) != 1:
        raise invalid("release", "trees", "content", "one document of statements, without trees", "several releases")
    write_text(os.fspath(path), save_statements(release.statements[0]), public=True)


def _read(path: str | os.PathLike[str], reader: Reader) -> Release:
    return read_statements(path).release


READER = ReleaseReader(
    FORMAT,
    f"a {FORMAT} document, JSON or TOML",
    (".toml",),
    _read,
    lambda head: re.search(rf"""["']?format["']?\s*[:=]\s*["']{FORMAT[:-1]}""", head.text[:4096]) is not None,
    states=True,
)


# Domains of columns that only statements name: the values of the table.


def open_columns(release: Release, own: Sequence[Release]) -> tuple[str, ...]:
    """Categorical attributes whose values no tree declares; ``own`` are the releases that ``release`` joins."""
    declared = {a.name for each in own if not each.statements for a in each.attributes}
    return tuple(a.name for a in release.attributes if a.values is not None and a.name not in declared)


def with_values(release: Release, values: Mapping[str, Sequence[str]]) -> Release:
    """A release whose open columns have the values of the table, after those that statements name."""
    attributes = tuple(
        replace(a, values=(*(a.values or ()), *(v for v in values[a.name] if v not in (a.values or ()))))
        if a.name in values
        else a
        for a in release.attributes
    )
    return replace(release, attributes=attributes)


def check_values(release: Release, table: QITable, own: Sequence[Release], reader: Reader) -> None:
    """Refuse values that somebody must have, as statements say, and that neither somebody has nor a tree declares.

    Other values that nobody has are noted: they may be misspelled.
    """
    declared = {a.name: set(a.values or ()) for each in own if not each.statements for a in each.attributes}
    problems: list[Problem] = []
    source = ""
    for statements in release.statements:
        people = StatementPeople(table, release.target.classes, statements.name)
        for column, use in statements.columns.items():
            known = [str(v) for v in people.values(column)] if use.values else []
            named = {*known, *declared.get(column, ())}
            nobody = [value for value in use.values if isinstance(value, str) and value not in named]
            for value in nobody:
                if value in use.needed:
                    expected = f"a value that somebody has: {shorten_list(known)}"
                    found = f"{value!r}{close_to(value, known)}"
                    problems.append(Problem(use.needed[value], name(column), expected, found))
                    source = source or statements.name
            if nobody:
                said = f"column {name(column)}: nobody has {shorten_list(nobody)}; numbers of them, which may be 0, say"
                reader.note(statements.name, f"{said} nothing")
    if problems:
        raise InvalidInput(source, problems)
