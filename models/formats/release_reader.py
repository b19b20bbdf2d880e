"""The interface of a reader of releases: recognition of a file, reading, and the record of losses."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from maxent.models.arguments import shorten
from maxent.models.columns import NOTHING
from maxent.models.display import Display, Shown
from maxent.models.draws import tells_draws
from maxent.models.errors import ARGUMENT, Problem, invalid
from maxent.models.files.input_files import open_input
from maxent.models.files.json_files import MAX_BYTES
from maxent.models.hints import close_to
from maxent.models.nodes import links_of, moments_of, state_scores, statements_of
from maxent.models.release import Induction, Release

if TYPE_CHECKING:
    from maxent.models.reading import Reader
    from maxent.models.tables.frame import Source
    from maxent.models.tables.generalized_records import GeneralizedTable


# Conversion of a model: statements of the caller that its file lacks, the release, and losses.

UNNAMED = "class"  # the name of a target that neither the file nor the caller names

# What is kept of a model whose file does not show that there were no draws
UNPROVEN = "draws or weights of rows, as no sums prove that each tree was grown from all people alike"
# What tells of some people how many the trees are right about
EVALUATED = "scores of an evaluation (best_score, evals_result)"
# What nodes above the leaves tell, where an L1 penalty makes small sums of leaves 0
ABOVE = "values and gains above leaves, of which an L1 penalty hides small sums"

# What is lost of a model whose labels need be no majorities; why that is so its reader says
DECIDED = "that labels are most frequent classes of the records, which the model does not say of its labels"
PARTED = "that labels are most frequent classes: they are those of the tool's leaves, of which leaves are parts"

# Parameters of regressions: edges of intervals of the target, or every number that it can be
NUMERIC = ("bins", "values")

States: TypeAlias = dict[str, bool]


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """Statements of a caller about a model, in place of those that its file lacks; None for what is not stated.

    ``target``: the name of the sensitive attribute. ``classes``: its classes, in the order in which the model has them.
    ``features``: the columns of the model's input, in its order. ``qi``: the quasi-identifiers; all other attributes
    are private. By default all attributes are public. ``train``: a table with the columns that the model was fitted on,
    for the domains of attributes. What it states of the records is no part of the release. ``parameters``: Further
    things that a reader asks for by name, such as a learning rate; see `ReleaseReader.parameters`.
    """

    target: str | None = None
    classes: tuple[str, ...] | None = None
    features: tuple[str, ...] | None = None
    qi: tuple[str, ...] | None = None
    train: Source | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)

    def number(self, name: str, problems: list[Problem]) -> float | None:
        """A parameter that is a number, None when it is not given; another text is a problem."""
        text = self.parameters.get(name)
        if text is None:
            return None
        try:
            return float(text)
        except ValueError:
            problems.append(Problem(ARGUMENT, "parameters", f"{name}=NUMBER", f"{name}={text}"))
            return None

    def named_classes(self, names: Iterable[str]) -> tuple[str, ...]:
        """The classes that the caller gives, else ``names``. Another number, or another order of these, is refused."""
        own = tuple(names)
        given = own if self.classes is None else self.classes
        if len(given) != len(own):
            expected = f"{len(own)} names, as the model has classes"
            raise invalid("options", ARGUMENT, "classes", expected, str(len(given)))
        _check_order("classes", given, own)
        return given

    def named_features(self, names: Iterable[str]) -> tuple[str, ...]:
        """The columns that the caller gives, else ``names`` of the model. Another order of these is refused."""
        own = tuple(names)
        _check_order("features", self.features or own, own)
        return self.features or own

    def numeric(self) -> dict[str, tuple[float, ...] | None]:
        """The parameters ``bins`` and ``values`` of a regression: lists of numbers, None where they are not given."""
        found: dict[str, tuple[float, ...] | None] = {}
        for name in NUMERIC:
            text = self.parameters.get(name)
            try:
                found[name] = None if text is None else tuple(float(part) for part in text.split(","))
            except ValueError:
                raise invalid(
                    "options", ARGUMENT, "parameters", f"{name}=NUMBER,NUMBER,...", f"{name}={text}"
                ) from None
        return found


def _check_order(argument: str, given: tuple[str, ...], own: tuple[str, ...]) -> None:
    """Refuse the names of the model in another order: they would silently swap their meaning."""
    if given != own and {*given} == {*own}:
        raise invalid(
            "options", ARGUMENT, argument, f"the order of the model, {shorten(list(own))}", shorten(list(given))
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Converted(Shown):
    """A model as a release.

    ``tool``: the program that wrote the model, such as ``XGBoost 3.2.0``. ``lost``: what the file does not state, or
    the release cannot, as sentences. ``exact``: whether every record goes where the tool sends it; not so where
    thresholds were rounded for print. ``format``: the name of the reader, which
    `maxent.models.formats.registry.convert_model` fills in. ``aside``: what the model tells of people beside its trees,
    which the release does not: whoever gets the model has it. ``alike``: whether the file shows that all records had
    the same weight in training. ``hyperparameters``: the settings of the training that the file states, by the names of
    scikit-learn, with the kind of the model as ``model``.
    """

    release: Release
    tool: str
    lost: tuple[str, ...] = ()
    exact: bool = True
    format: str = ""
    aside: str = ""
    alike: bool = False
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)

    def _display(self) -> Display:
        leaves = sum(len(tree.leaves) for tree in self.release.trees)
        stated = ", ".join(name for name, there in self.states.items() if there) or "nothing but the splits"
        rows = [
            ("trees", f"{len(self.release.trees):,}"),
            ("leaves", f"{leaves:,}"),
            ("stated", stated),
            ("exact", "yes" if self.exact else "no: thresholds were rounded for print"),
        ]
        lost = [f"lost: {sentence}" for sentence in self.lost]
        lines = [f"{name}: {value}" for name, value in rows]
        return Display(f"A model of {self.tool} as a release", [*lines, *lost], ("", ""), rows, lost)

    @property
    def losses(self) -> list[str]:
        """What was lost on the way, a line each."""
        rounded = "thresholds were rounded for print: some records may go another way than in the model"
        return [*([] if self.exact else [rounded]), *(f"lost: {sentence}" for sentence in self.lost)]

    @property
    def tells_draws(self) -> str:
        """What of the model tells who was drawn for each tree, followed or not, in words; empty where nothing does."""
        return tells_draws(self.release.draws, self.aside)

    @property
    def states(self) -> States:
        """Kinds of statements of leaves: counts, n, rates, labels, linear ones (scores); means, of a numeric target."""
        kinds = dict.fromkeys(("counts", "n", "rates", "labels", "linear"), False)
        if self.release.statements:
            kinds["statements"] = True
        if self.release.target.numbers is not None:
            kinds["means"] = any(not np.isnan(moments_of(tree.nodes)[0]).all() for tree in self.release.trees)
        for nodes in (tree.nodes for tree in self.release.trees):
            said, leaves = statements_of(nodes, self.release.target.classes), links_of(nodes)[0] == 0
            shares = any(each is not None for each, leaf in zip(said.shares, leaves, strict=False) if leaf)
            kinds["counts"] |= bool(said.counted[leaves].any())
            kinds["n"] |= bool((said.n[leaves] != NOTHING).any())
            kinds["rates"] |= shares or not np.isnan(said.rate[leaves]).all()
            kinds["labels"] |= bool((said.label[leaves] != NOTHING).any())
            kinds["linear"] |= state_scores(nodes)
        return kinds

    @property
    def summary(self) -> dict[str, object]:
        """The object of ``maxent convert --json``."""
        trees = self.release.trees
        return {
            "format": self.format,
            "tool": self.tool,
            "trees": len(trees),
            "leaves": sum(int((links_of(tree.nodes)[0] == 0).sum()) for tree in trees),
            "states": self.states,
            "lost": list(self.lost),
            "exact": self.exact,
        }


def parameter_problems(given: Mapping[str, str], known: tuple[str, ...], reader: str) -> list[Problem]:
    """Parameters that a reader does not ask for."""
    if numeric := [name for name in given if name in NUMERIC and name not in known]:
        expected = (
            "none, of a model whose leaves state no means of a target: of a regression cut the target into intervals "
            "(pandas.cut) and fit a classifier on these"
        )
        return [Problem(ARGUMENT, name, expected, shorten(given[name])) for name in numeric]
    expected = f"one that {reader} asks for ({', '.join(known)})" if known else f"none: {reader} asks for nothing"
    return [
        Problem(ARGUMENT, "parameters", expected, f"{name}{close_to(name, known)}")
        for name in given
        if name not in known
    ]


# Generalised records: a table, a DataFrame like its ``frame()``, or the path of a file with that
Records: TypeAlias = "GeneralizedTable | Source"

Convert: TypeAlias = "Callable[[str | PathLike[str], Wanted, Reader], Converted]"

HEAD_BYTES = 2**16  # how much of a file readers recognise it by

# How files of a kind begin
_LOOKS = (
    (b"PAR1", "a Parquet file"),
    (b"PK\3\4", "a zip archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"RDX", "R data"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"\x89HDF", "an HDF5 file, in which Keras keeps neural networks"),
    (b"MZ", "a program"),
    (b"\x7fELF", "a program"),
    (b"\xd0\xcf\x11\xe0", "a file of Office"),
    (b"{", "a JSON object"),
    (b"[", "a JSON list"),
    (b"<", "XML or HTML"),
)


@dataclass(frozen=True, slots=True)
class Head:
    """The start of a file, or the names in a folder, that readers recognise it by; paths in lower case."""

    name: str
    start: bytes = b""
    entries: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The start as UTF-8, without a byte order mark and blanks before it; other bytes are replaced."""
        return self.start.decode("utf-8", "replace").removeprefix("\ufeff").lstrip()

    @property
    def looks(self) -> str:
        """Kind of file that it seems to be, without its content."""
        if self.start[:1] == b"\x80" and self.start[1:2] in b"\2\3\4\5":
            return "a pickle, which could run any code and is not loaded"
        start = self.start.removeprefix(b"\xef\xbb\xbf").lstrip()
        other = "binary data" if b"\0" in start or "\ufffd" in self.text[:-1] else "other text"
        return next((words for magic, words in _LOOKS if start.startswith(magic)), other)


def read_head(path: str | PathLike[str]) -> Head:
    """The head of a file, of a folder, or of standard input (``-``); empty when it cannot be read."""
    name = os.fspath(path).lower()
    try:
        with open_input(path, MAX_BYTES) as file:
            return Head(name, file.read(HEAD_BYTES))
    except IsADirectoryError:
        return Head(name, entries=tuple(sorted(os.listdir(path))))
    except (OSError, ValueError):
        return Head(name)


@dataclass(frozen=True, slots=True)
class ReleaseReader:
    """A reader of releases in one format.

    ``name``: what ``--from``, and ``Reading(format=...)``, call the format. ``words``: a noun phrase for the docs and
    for errors: ``a maxent/1 document``. ``suffixes``: Endings of names, in lower case, of files that no reader
    recognises by what is in them. ``read``: path and `maxent.models.reading.Reader` -> the release, which is checked
    against every rule of ``maxent/1``; or generalised records. It raises `maxent.InvalidInput` for a file with anything
    wrong in it, and runs no code from it. ``recognise``: whether a `Head` shows the format beyond doubt; None for a
    format that its suffix alone shows. ``convert``: of a format of models: path, `Wanted` and
    `maxent.models.reading.Reader` -> `Converted`. Make such a reader with `model_reader`. ``parameters``: the names of
    what ``--param`` may give to ``convert``. ``states``: whether what it reads are statements, without trees.
    """

    name: str
    words: str
    suffixes: tuple[str, ...]
    read: Callable[[str | PathLike[str], Reader], Release | Records]
    recognise: Callable[[Head], bool] | None = None
    convert: Convert | None = None
    parameters: tuple[str, ...] = ()
    states: bool = False


def model_reader(
    name: str,
    words: str,
    recognise: str | Callable[[Head], bool],
    *,
    suffixes: tuple[str, ...] = (),
    parameters: tuple[str, ...] = (),
    states: bool = False,
) -> Callable[[Convert], ReleaseReader]:
    """Make a function the reader of a format of models; where a release is read nothing is said of it.

    A text in place of ``recognise`` is a regular expression for how files begin.
    """
    recognised = (lambda head: re.match(recognise, head.text) is not None) if isinstance(recognise, str) else recognise

    def made(convert: Convert) -> ReleaseReader:
        def converted(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
            found = convert(path, wanted, reader)
            return found if found.tool == "maxent" else replace(found, release=grown_by_tool(found.release))

        def read(path: str | PathLike[str], reader: Reader) -> Release:
            found = converted(path, Wanted(), reader)
            reader.keep_aside(found.aside)
            return found.release

        return ReleaseReader(name, words, suffixes, read, recognised, converted, parameters, states)

    return made


def grown_by_tool(release: Release) -> Release:
    """A release of a tool whose trees say so, where nothing is stated of their growth: among all attributes."""
    names = tuple(attribute.name for attribute in release.attributes)
    if not names or release.statements:  # a regression grew no tree
        return release
    tool = Induction(among=names)
    trees = (replace(tree, induction=tool) if tree.induction == Induction() else tree for tree in release.trees)
    return replace(release, trees=tuple(trees))
