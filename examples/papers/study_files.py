"""Study files of papers, examples/papers/*/paper.toml: what is recomputed, by which program, on which page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.files.toml import Table, are_texts, is_text, line_numbers, toml_document

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "examples" / "studies"
PAPERS = ROOT / "examples" / "papers"


@dataclass(frozen=True, slots=True)
class Program:
    """A module of examples/papers/, which fills in a page and draws its figures, from files in MAXENT_DATA.

    The path of the ``page`` begins at the top of the project; the figures are in the folder figures/ beside it.
    """

    name: str
    page: str
    figures: tuple[str, ...]
    data: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """The folder of the page."""
        return Path(self.page).parent

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of the page and of the figures."""
        return self.page, *(str(self.folder / "figures" / name) for name in self.figures)


@dataclass(frozen=True, slots=True)
class Published:
    """Something that is printed: what it is called, and where ours is beside it.

    The section of the ``page`` that has the ``tables`` is shown. Their verdicts are counted, unless a ``verdict`` is
    given: with the ``test`` that asserts it, file::function, or the reason ``why`` there is no other.
    """

    names: tuple[str, ...]
    title: str
    page: str
    tables: tuple[str, ...]
    verdict: str
    test: str
    why: str


@dataclass(frozen=True, slots=True)
class Paper:
    """A study file."""

    name: str
    short: str
    reference: str
    programs: tuple[Program, ...]
    published: tuple[Published, ...]


def load_papers(names: Iterable[str] | None = None, folder: Path = PAPERS) -> list[Paper]:
    """The study files of a folder in the order of their names, or those that are asked for."""
    return [load_paper(folder / name.replace("-", "_") / "paper.toml") for name in names or paper_names(folder)]


def paper_names(folder: Path = PAPERS) -> list[str]:
    """Names of the study files of a folder, in their order: ``zhu-2010`` is that of ``zhu_2010/paper.toml``."""
    return sorted(path.parent.name.replace("_", "-") for path in folder.glob("*/paper.toml"))


def load_paper(path: Path) -> Paper:
    """Read a study file.

    Raises
    ------
    InvalidInput
        Naming every unknown key and unsuitable value, each with its line.
    """
    text, document = _read(path)
    problems: list[Problem] = []
    top = Table(document, (), line_numbers(text), problems)
    about = top.table("paper")
    short, reference = (about.take(key, "a text", is_text, required=True) or "" for key in ("short", "reference"))
    about.close()
    top.table("protocol")  # read by the programs
    programs = tuple(map(_program, top.array("program")))
    published = tuple(_published(table, programs) for table in top.array("published"))
    top.close()
    if problems:
        raise InvalidInput(str(path), problems)
    return Paper(path.parent.name.replace("_", "-"), short, reference, programs, published)


@cache
def protocol(name: str) -> Mapping[str, Any]:
    """The numbers that a study file gives to its programs."""
    _, document = _read(PAPERS / name.replace("-", "_") / "paper.toml")
    return dict(document["protocol"])


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    """A TOML document, and its text."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise invalid(str(path), "file", "content", "a study file of a paper", str(error)) from None
    return text, toml_document(text, str(path))


def _texts(table: Table, key: str, *, required: bool = False) -> tuple[str, ...]:
    """A list of texts."""
    return tuple(table.take(key, "a list of texts", are_texts, required=required) or ())


def _program(table: Table) -> Program:
    """A table [[program]]."""
    name, page = (table.take(key, "a text", is_text, required=True) or "" for key in ("name", "page"))
    found = Program(name, page, _texts(table, "figures"), _texts(table, "data"))
    table.close()
    return found


def _published(table: Table, programs: Sequence[Program]) -> Published:
    """A table [[published]]."""
    pages = [program.page for program in programs]
    names = _texts(table, "names", required=True)
    title = table.take("title", "a text", is_text, required=True) or ""
    page = table.take("page", f"one of {', '.join(pages)}", lambda value: value in pages) or (pages or [""])[0]
    tables = _texts(table, "tables")
    verdict, test, why = (table.take(key, "a text", is_text) or "" for key in ("verdict", "test", "why"))
    if not tables and not verdict:
        table.note("tables", "tables whose verdicts are counted, or a verdict", "neither")
    if bool(test) + bool(why) != bool(verdict):
        table.note("verdict", "a verdict with either a test or why; without one, neither", f"{verdict!r}")
    table.close()
    return Published(names, title, page, tables, verdict, test, why)
