"""Cases: a release and its people, read once, from our format or from a reader of another one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np

from maxent.constraints.compiler import implied_marginal
from maxent.constraints.program.cells import Cells, build_cells
from maxent.models.arguments import shorten
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.draws import tells_draws
from maxent.models.errors import ARGUMENT, Check, InvalidInput, Problem, check_unused, invalid, unchecked
from maxent.models.files.input_files import Address, located
from maxent.models.formats.maxent_json.read import READER
from maxent.models.formats.release_reader import Records, read_head
from maxent.models.reading import NOTHING, Noticed, Reader, Reading, reader_of
from maxent.models.release import Attribute, Release
from maxent.models.tables.cells import MISSING
from maxent.models.tables.frame import Source
from maxent.models.tables.qi_table import QITable, read_qi
from maxent.models.tables.table_files import read_frame

if TYPE_CHECKING:
    from maxent.constraints.records import Covering
    from maxent.disclosure.truth import Controls
    from maxent.models.formats.published_records import PublishedRecords
    from maxent.models.successive.people import People
    from maxent.models.successive.releases import Joined
    from maxent.models.tables.truth_and_facts import Fact, Weighed


# Opening what was published: the readers of other formats, which are many, are loaded for what is not in ours.


def open_published(published: object, reader: Reader) -> Release | Records:
    """What `maxent.models.formats.registry.open_published` reads; the reader of ours is the first one there."""
    own = READER.recognise if reader.reading.format is None else None
    if own is not None and isinstance(published, (str, PathLike)) and own(read_head(published)):
        return READER.read(published, reader)
    from maxent.models.formats import registry

    return registry.open_published(published, reader)


# A release, or several about overlapping people.
Published: TypeAlias = "Release | Records | Sequence[Release | Records]"


@dataclass(frozen=True, slots=True, eq=False)
class Register:
    """A register beside the table: its file or frame, how many of its people are in the data, and how it is read."""

    source: Source
    people: int | None = None
    count: str | None = None
    reading: Reading | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """A release, the adversary's table, and what goes with it.

    * ``release``: of generalised records the groups of equal rows, as leaves.
    * ``table``: the adversary's table; None where only the release is known.
    * ``facts``: known classes of some individuals.
    * ``marginal`` (n_classes,): individuals of each class.
    * ``truth`` (n_distinct, n_classes): individuals of each quasi-identifier and class.
    * ``controls``: people who were not in the data.
    * ``sensitive``: codes of the classes that are measured alone, too.
    * ``gain`` (n_guesses, n_classes): what each guess is worth for each class.
    * ``records``: the records, when they were published in place of trees.
    * ``joined``: the releases, where there are several; ``release`` has the trees of all.
    * ``linked``: who the people of several releases are.
    * ``noticed``: what was noticed while all this was read.
    * ``seconds``: how long reading took.
    * ``informed``: whether the adversary knows, of the truth, how many people have each class.
    * ``in_order``: reads the adversary's table again, each row of its own, in its order.
    * ``rows``: whether the table lists the people in training order, a row each, and the adversary knows that.
    * ``stands_in``: whether quasi-identifiers of the table stand for others in the same leaves.
    * ``members``: how many people of the table, a register, the release is about.
    * ``register``: the register of an adversary who has that in the place of the table.
    * ``inside``: where the table is a register, the people in the data, with their classes, and control people.
    """

    release: Release
    table: QITable | None = None
    facts: tuple[Fact, ...] | None = None
    marginal: FloatArray | None = None
    truth: IntArray | None = None
    weighed: Weighed | None = None
    unweighed: bool = False
    controls: Controls | None = None
    sensitive: tuple[int, ...] = ()
    gain: FloatArray | None = None
    records: PublishedRecords | None = None
    joined: Joined | None = None
    linked: People | None = None
    noticed: Noticed = NOTHING
    seconds: float = 0.0
    informed: bool = False
    in_order: Callable[[], QITable] | None = None
    rows: bool = False
    stands_in: bool = False
    members: int | None = None
    register: Register | None = None
    inside: Case | None = None
    _cells: list[Cells] = field(default_factory=list, init=False, repr=False)
    _covering: list[Covering] = field(default_factory=list, init=False, repr=False)

    @property
    def people(self) -> QITable:
        """The adversary's table, where there has to be one."""
        if self.table is None:
            raise no_table()
        return self.table

    @cached_property
    def of_each_class(self) -> FloatArray | None:
        """Individuals of each class, as far as the adversary knows them and the release does not state them."""
        if self.marginal is not None or self.truth is None or not self.informed or self.records is not None:
            return self.marginal
        if self.joined is None:
            with suppress(InvalidInput):
                implied_marginal(self.release)
                return None
        return np.asarray(self.truth.sum(axis=0), np.float64)

    def knowing_classes(self) -> Case:
        """The same of an adversary who knows how many people have each class."""
        return self._placed_alike(informed=True)

    def not_knowing_classes(self) -> Case:
        """The same of an adversary who does not."""
        return self._placed_alike(informed=False, marginal=None)

    def _placed_alike(self, **changes: Any) -> Case:
        """The same with changes; people are placed once."""
        found = replace(self, **changes)
        for shared in ("_cells", "_covering"):
            object.__setattr__(found, shared, getattr(self, shared))
        return found

    def cells(self, check: Check = unchecked) -> Cells:
        """The people of the table placed in the trees, once; ``check`` may end that."""
        if not self._cells:
            self._cells.append(build_cells(self.release, self.people, check))
        return self._cells[0]

    @property
    def placed(self) -> bool:
        """Whether the people of the table were placed in the trees."""
        return bool(self._cells)

    def covering(self, check: Check = unchecked) -> Covering:
        """The people of the table placed in the groups of the records, once; ``check`` may end that."""
        assert self.records is not None
        if not self._covering:
            from maxent.constraints.records import cover

            self._covering.append(cover(self.records, self.people, check))
        return self._covering[0]


# The tables among what goes with a release.
_FILES = ("qi", "truth", "facts", "marginal", "control", "gain", "population")


def _located(source: Any) -> Any:
    return [located(each) for each in source] if isinstance(source, (list, tuple)) else located(source)


def _check_rows(releases: Sequence[Release], tables: int) -> None:
    """Refuse rows in training order where no release tells who was drawn, or of several tables."""
    if all(release.draws is None for release in releases):
        check_unused("releases that tell who was drawn for each tree, and none here does", rows=True)
    if tables > 1:
        raise invalid("options", ARGUMENT, "qi", "one table, whose rows are in the order of all releases", str(tables))


def _with_values(release: Release, sources: Sequence[Source], own: Sequence[Release], reader: Reader) -> Release:
    """A release with the values that tables have in the columns that only statements name."""
    from maxent.models.statements.read import open_columns, with_values

    values: dict[str, list[str]] = {name: [] for name in open_columns(release, own)}
    for source in sources if values else ():
        frame = read_frame(source, "qi", list(values), reader)
        for name, column in frame.columns.items():
            codes = set(column.codes.tolist())
            values[name] += sorted(text for code, text in enumerate(column.texts()) if code in codes)
            values[name] += [MISSING] if -1 in codes else []
    return with_values(release, values)


def _with_own_values(joined: Joined, sources: Sequence[Source], reader: Reader) -> Joined:
    """Releases joined anew, with the values that tables have in the columns that only statements name."""
    from maxent.models.successive.releases import join_releases

    full = _with_values(joined.release, sources, joined.own, reader)
    values = {a.name: a.values for a in full.attributes if a.values is not None}

    def filled(release: Release) -> Release:
        attributes = tuple(a if a.values is None else replace(a, values=values[a.name]) for a in release.attributes)
        return replace(release, attributes=attributes) if release.statements else release

    return join_releases([filled(release) for release in joined.own], joined.names)


def _check_values(release: Release, table: QITable, own: Sequence[Release], reader: Reader) -> None:
    """Refuse or note values that only statements name, and nobody has."""
    if release.statements:
        from maxent.models.statements.read import check_values

        check_values(release, table, own, reader)


# What is expected of a value where people could have one that a release does not know.
_KNOWN = ("one of ", "a value that some branch ")
LEAVE_OUT = "{} (whoever in a register has another value is not in the data: leave these rows out)"


@contextmanager
def strangers_left_out() -> Iterator[None]:
    """Say of values that a release does not know that these people of a register are to be left out."""
    try:
        yield
    except InvalidInput as error:
        source = "population" if error.source == "qi" else error.source  # a frame is named by its argument
        if not any(each.expected.startswith(_KNOWN) for each in error.problems):
            raise InvalidInput(source, error.problems) from None
        first, *others = error.problems
        told = replace(first, expected=LEAVE_OUT.format(first.expected))
        raise InvalidInput(source, [told, *others]) from None


def no_table() -> InvalidInput:
    """The error of a call that needs an adversary's table and has none."""
    return invalid("options", ARGUMENT, "qi", "the adversary's table: a pandas DataFrame or the path of a file", "None")


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The files or frames about the people: the adversary's table ``qi``, and what goes with it.

    `case` reads them, once for all releases of trees over the same attributes and classes. ``proved`` says that
    control people are compared with what is proved of the people, which needs no truth. Of several releases that are
    taken together ``qi`` may be a table for each, linked by the column ``who``. With ``rows`` it is one table of the
    people in training order, a row each. ``declared``: attributes of the trees, where statements beside them name more.
    In the place of ``qi`` ``population`` is a register, of which ``people`` are those that the release is about.
    """

    qi: Source | Sequence[Source] | None
    truth: Source | None = None
    facts: Source | None = None
    marginal: Source | None = None
    count: str | None = None
    reading: Reading | None = None
    control: Source | None = None
    sensitive: str | Iterable[str] | None = None
    gain: Source | None = None
    proved: bool = False
    who: str | None = None
    weights: FloatArray | None = None
    unweighed: bool = False
    rows: bool = False
    declared: tuple[Attribute, ...] | None = None
    population: Source | None = None
    people: int | None = None
    _read: list[Case] = field(default_factory=list, init=False)

    def located(self) -> Tables:
        """The same, where names of files that look like addresses are `maxent.models.files.input_files.Address`."""
        return replace(self, **{name: _located(getattr(self, name)) for name in _FILES})

    @property
    def at_addresses(self) -> bool:
        """Whether a table is at an `maxent.models.files.input_files.Address`."""
        given = [getattr(self, name) for name in _FILES]
        return any(isinstance(one, Address) for each in given for one in (each if isinstance(each, list) else [each]))

    def case(self, published: Release | Records, target: str | None = None, reader: Reader | None = None) -> Case:
        """The case of a release, or of generalised records whose class is in the column ``target``."""
        begin, reader = time.perf_counter(), reader or reader_of(self.reading)
        if isinstance(published, Release):
            check_unused("records, and this is a tree", target=target)
            found = self._of_trees(published, reader)
        else:
            found = self._of_records(published, target, reader)
        return replace(found, seconds=time.perf_counter() - begin)

    def case_of_several(self, joined: Joined) -> Case:
        """The case of several releases together."""
        begin = time.perf_counter()
        check_unused("one release", population=self.population)
        if self.qi is None:
            return Case(joined.release, joined=joined)
        from maxent.models.successive.people import read_classes, read_people

        check_unused("one release", control=self.control)
        reader = reader_of(self.reading)
        sources = list(self.qi) if isinstance(self.qi, (list, tuple)) else [cast("Source", self.qi)]
        if joined.release.statements:
            joined = _with_own_values(joined, sources, reader)
        if self.rows:
            _check_rows(joined.parts, len(sources))
            table = read_qi(sources[0], joined.release, count=self.count, reader=reader, rows=True)
            found = self.with_companions(Case(joined.release, table, joined=joined, rows=True), reader)
            return replace(found, noticed=reader.noticed, seconds=time.perf_counter() - begin)
        people = read_people(sources, joined, who=self.who, count=self.count, reader=reader)
        _check_values(people.joined.release, people.table, joined.own, reader)
        found = Case(people.joined.release, people.table, joined=people.joined, linked=people)
        if self.truth is not None and people.joined.membership is not None:
            classes = read_classes(self.truth, people, self.who, reader)
            found = replace(replace(self, truth=None).with_companions(found, reader), truth=classes)
        else:
            found = self.with_companions(found, reader)
        return replace(found, noticed=reader.noticed, seconds=time.perf_counter() - begin)

    def _single(self) -> Source | None:
        """The only table of a single release."""
        check_unused("several releases, each with a table of its own", who=self.who)
        if isinstance(self.qi, (list, tuple)):
            if len(self.qi) != 1:
                raise invalid("options", ARGUMENT, "qi", "one table, as there is one release", str(len(self.qi)))
            return cast("Source", self.qi[0])
        return cast("Source | None", self.qi)

    def registered(self, release: Release, reader: Reader, own: Release | None = None) -> Case:
        """The case of a release with the register in the place of the table; ``own``: without statements beside it."""
        self.check_register(release)
        source, trees = cast("Source", self.population), (own or release,)
        if release.statements:
            release = _with_values(release, [source], trees, reader)
        with strangers_left_out():
            table = read_qi(source, release, count=self.count, reader=reader)
        _check_values(release, table, trees, reader)
        found = self.with_members(release, table, reader)
        if self.truth is None:
            check_unused("truth=, the people in the data, whom control people are compared with", control=self.control)
            return found
        people = read_qi(self.truth, release, count=self.count, reader=reader_of(self.reading))
        if people.individuals != found.members:
            expected = f"the {found.members:,} people of the register who are in the data"
            raise invalid(people.source, ARGUMENT, "truth", expected, f"{people.individuals:,}")
        inside = replace(self, marginal=None).with_companions(Case(release, people), reader_of(self.reading))
        return replace(found, inside=inside)

    def check_register(self, release: Release) -> None:
        """Refuse what cannot be taken with a register in the place of the table."""
        from maxent.constraints.membership import named

        own = "the table of the people in the data, and this is a register (population=)"
        check_unused(own, facts=self.facts, rows=self.rows or None)
        check_unused(own, gain=self.gain, sensitive=self.sensitive, who=self.who)
        named(release)

    def with_members(self, release: Release, table: QITable, reader: Reader, *, stands_in: bool = False) -> Case:
        """The case of a release and a register that was read, some of whom are members."""
        from maxent.constraints.membership import members_of

        members = members_of(release, table, self.people)
        found, marginal = Case(release, table, members=members, stands_in=stands_in), None
        if self.marginal is not None:
            from maxent.models.tables.truth_and_facts import read_marginal

            marginal = read_marginal(self.marginal, release, members, reader=reader)
        return replace(found, marginal=marginal, noticed=reader.noticed)

    def _of_trees(self, release: Release, reader: Reader) -> Case:
        if self.population is not None and self.qi is None:
            return self.registered(release, reader)
        if self.population is None:
            check_unused("population=, a register of more people", people=self.people)
        qi = self._single()
        if self.rows:
            _check_rows((release,), 1)
        if qi is None:
            return Case(release)
        for known in self._read:
            if (known.release.target, known.release.attributes) == (release.target, release.attributes):
                return replace(known, release=release)
        trees = release
        if self.declared is not None:
            trees = replace(release, attributes=self.declared, statements=())
        if release.statements:
            # Whoever has the register and not the table knows no fewer values than it has.
            sources = (qi,) if self.population is None else (qi, self.population)
            release = _with_values(release, sources, (trees,), reader)
        table = read_qi(qi, release, count=self.count, reader=reader, rows=self.rows)
        _check_values(release, table, (trees,), reader)
        again = partial(self._in_order, qi, release)
        register = None
        if self.population is not None:
            if self.people not in (None, table.individuals):
                expected = f"the number of people of the table, {table.individuals:,}, or none"
                raise invalid("options", ARGUMENT, "people", expected, shorten(self.people))
            register = Register(self.population, self.people, self.count, self.reading)
        case = Case(release, table, in_order=again, rows=self.rows, register=register)
        self._read.append(self.with_companions(case, reader))
        return self._read[-1]

    def _in_order(self, qi: Source, release: Release) -> QITable:
        return read_qi(qi, release, count=self.count, reader=reader_of(self.reading), rows=True)

    def _of_records(self, published: Records, target: str | None, reader: Reader) -> Case:
        qi = self._single()
        check_unused("trees, and these are records", rows=self.rows or None, population=self.population)
        if qi is None:
            expected = "the adversary's table, which says what the records are of"
            raise invalid("options", ARGUMENT, "qi", expected, "none")
        from maxent.constraints.records import records_release
        from maxent.models.formats.published_records import read_published

        records, people = read_published(published, qi, target=target, count=self.count, reader=reader)
        return self.with_companions(Case(records_release(records), people, records=records), reader)

    def with_companions(self, case: Case, reader: Reader) -> Case:
        """A case with what goes with its table."""
        release, table = case.release, case.people
        marginal, facts, truth = None, None, None
        if self.marginal is not None and case.records is None:
            from maxent.models.tables.truth_and_facts import read_marginal

            marginal = read_marginal(self.marginal, release, table.individuals, reader=reader)
        if self.facts is not None:
            from maxent.models.tables.truth_and_facts import read_facts

            facts = read_facts(self.facts, release, table, reader=reader)
        if self.truth is not None:
            from maxent.models.tables.truth_and_facts import read_truth

            truth = read_truth(self.truth, release, table, count=self.count, reader=reader)
        controls = self._controls(release, reader) if case.records is None else None
        found = replace(case, marginal=marginal, facts=facts, truth=truth, controls=controls)
        found = replace(found, unweighed=self.unweighed)
        if self.weights is not None and self.truth is not None:
            from maxent.models.tables.truth_and_facts import ALIKE, read_weights

            again = reader_of(self.reading)  # what it notices was noticed before
            each = np.unique(self.weights).size > 1
            weighed = read_weights(self.truth, self.weights, release, table, reader=again) if each else ALIKE
            found = replace(found, weighed=weighed)
        if self.sensitive is not None:
            from maxent.disclosure.sensitive import sensitive_codes

            found = replace(found, sensitive=sensitive_codes(self.sensitive, release.target))
        if self.gain is not None:
            from maxent.models.tables.truth_and_facts import read_stakes

            gain = read_stakes(self.gain, "gain", release.target, reader, decision="guess", unit="gain")
            found = replace(found, gain=gain)
        return replace(found, noticed=reader.noticed)

    def _controls(self, release: Release, reader: Reader) -> Controls | None:
        """The control people, if there are any."""
        if self.control is None:
            return None
        if self.truth is None and not self.proved:
            expected = "none without truth=, whose people control people are compared with"
            raise invalid("options", ARGUMENT, "control", expected, shorten(self.control))
        from maxent.disclosure.truth import read_controls

        return read_controls(self.control, release, count=self.count, reader=reader)


_T = TypeVar("_T")


def taken(kind: type[_T], options: Mapping[str, Any]) -> _T:
    """A dataclass from those of the options that it has."""
    return kind(**{each.name: options[each.name] for each in fields(cast("Any", kind)) if each.name in options})


def read_case(published: Published, tables: Tables, target: str | None = None, **of_trees: object) -> Case:
    """Read what was published, and the tables that go with it."""
    begin, reader = time.perf_counter(), reader_of(tables.reading)
    if isinstance(published, (list, tuple)) and len(published) != 1:
        check_unused("records, and these are trees", target=target)
        if tables.population is not None and tables.qi is None and published:
            case = tables.registered(*_beside(published, reader))
        else:
            case = tables.case_of_several(_joined(published, reader))
        return replace(case, noticed=reader.noticed.joined(case.noticed), seconds=time.perf_counter() - begin)
    one = published[0] if isinstance(published, (list, tuple)) else published
    opened = open_published(one, reader)
    if not isinstance(opened, Release):
        check_unused("trees, and these are records", **of_trees)
    case = tables.case(opened, target, reader)
    return replace(case, noticed=reader.noticed, seconds=time.perf_counter() - begin)


def _beside(published: Sequence[Release | Records], reader: Reader) -> tuple[Release, Reader, Release]:
    """A release with the statements beside it, its reader, and the release without them."""
    from maxent.models.successive.releases import with_statements

    releases, names = _opened(published, reader)
    order = sorted(range(len(releases)), key=lambda i: bool(releases[i].statements))
    own, *others = (releases[i] for i in order)
    for i, each in zip(order[1:], others, strict=True):
        if not each.statements:
            expected = "one release of trees, and statements beside it, with population="
            raise invalid(names[i], "file", "release", expected, "more trees")
    return with_statements(own, others, [names[i] for i in order]), reader, own


def _opened(published: Sequence[Release | Records], reader: Reader) -> tuple[list[Release], list[str]]:
    """Several releases, and their names; records are refused."""
    opened = [open_published(each, reader) for each in published]
    names = _names(published)
    problems = [
        Problem(name, "release", "trees, where there are several releases", "generalised records")
        for name, release in zip(names, opened, strict=True)
        if not isinstance(release, Release)
    ]
    if problems:
        raise InvalidInput("releases", problems)
    return [cast("Release", each) for each in opened], names


def _joined(published: Sequence[Release | Records], reader: Reader) -> Joined:
    """Several releases as one, before it is known who is in which of them."""
    from maxent.models.successive.releases import join_releases

    if not published:
        raise invalid("options", ARGUMENT, "release", "at least one release", "none")
    releases, names = _opened(published, reader)
    for each in releases:
        reader.keep_aside(tells_draws(each.draws, ""))
    return join_releases(releases, names)


def _names(published: Sequence[Release | Records]) -> list[str]:
    """Names of releases in messages: those of their files, else their numbers."""
    paths = [Path(each).name if isinstance(each, (str, PathLike)) else "" for each in published]
    alike = Counter(paths)
    return [
        f"release {i}" if not path else path if alike[path] == 1 else f"{path} ({i})" for i, path in enumerate(paths, 1)
    ]
