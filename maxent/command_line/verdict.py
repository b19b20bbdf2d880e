"""Limits, verdict and report of the commands that help to decide."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from maxent.api.options import of
from maxent.command_line import options as opt
from maxent.command_line.progress import BEYOND, DONE, UNKNOWN, tell
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, check_unused, invalid
from maxent.models.files.output import REPORT, check_apart, check_folder, write_text
from maxent.models.reading import Reading

if TYPE_CHECKING:
    from maxent.disclosure.limits import Limits, Verdict
    from maxent.results.estimate import Estimate
    from maxent.results.html_report.build import Gatherer
    from maxent.results.html_report.view import InputFile


def option(group: str, help: str, metavar: str = "TEXT", *, default: Any = None, **more: Any) -> Any:
    """An option of the command line with what is told of it, see `maxent.models.arguments.About`."""
    return field(default=default, metadata={"about": {"help": help, "metavar": metavar, "group": group, **more}})


def limit(help: str, metavar: str = "", default: Any = None) -> Any:
    """An option of a limit."""
    return option("limits", help, metavar, default=default)


def text(help: str, metavar: str = "TEXT") -> Any:
    """An option of the output that has a text."""
    return option("output", help, metavar)


def written(help: str) -> Any:
    """An option of a report to write."""
    return option("output", help, "FILE", kinds=(REPORT,))


@dataclass(frozen=True, slots=True)
class AskedVerdict:
    """The limits that were stated, whether they are enforced, and where the report goes."""

    max_posterior: float | None = limit("Limit: largest inferred probability of anybody's class.", "P")
    min_k: int | None = limit("Limit: fewest people in a group with the same published information.", "K")
    max_certain: int | None = limit("Limit: most people whose class is certain.", "N")
    max_right_guesses: float | None = limit("Limit: largest share of people whose class is guessed right.", "P")
    max_lift: float | None = limit(
        "Limit: most that right guesses may exceed the base rate by, a share of people.", "S"
    )
    max_member: float | None = limit("Limit: largest probability that somebody of a register is in the data.", "P")
    enforce: bool = limit(
        "Exit status 3 where a limit is not kept, 4 where that cannot be told; by default limits are only reported.",
        default=False,
    )
    report: str | None = written("Write a report for whoever decides: one .html file, for any browser.")
    title: str | None = text("Title of the report or record; default: one that names the releases.")
    purpose: str | None = text("Purpose of the release, for the first page of the report, or the record.")
    no_marginal: bool = limit(
        "Judge by an adversary who does not know the base rate; default: it is known where anything states it.",
        default=False,
    )

    def limits(self) -> Limits:
        """The limits."""
        from maxent.disclosure.limits import Limits

        limits = of(Limits, self)
        if self.enforce and not limits.stated:
            *first, last = [each.name for each in fields(Limits)]
            expected = f"a limit: {', '.join(f'{name}=' for name in first)} or {last}="
            raise invalid("limits", ARGUMENT, "enforce", expected, "none")
        return limits

    @property
    def texts(self) -> dict[str, str]:
        """The texts of the report, empty for none."""
        return {"title": self.title or "", "purpose": self.purpose or ""}

    def check_texts(self, *written: object) -> None:
        """Refuse texts that stand nowhere: there is neither a report nor what else is ``written`` with them."""
        if self.report is None and not any(written):
            check_unused(
                "what has it on its first page: a report, record or dossier", title=self.title, purpose=self.purpose
            )

    def status(self, verdict: Verdict) -> int:
        """The exit status that a verdict asks for; why is told."""
        if not self.enforce or verdict.passed:
            return DONE
        from maxent.disclosure.limits import WORDS

        tell(f"limits are enforced: {WORDS[verdict.status]}")
        return BEYOND if verdict.status == "fail" else UNKNOWN


def named_files(files: Mapping[str, str | None], columns: int) -> dict[str, str | None]:
    """Files by their options, those of several columns as ``--report (1)`` and so on."""
    from maxent.results.exchange import report_names

    if columns == 1:
        return dict(files)
    return {
        f"{option} ({i})": name
        for option, path in files.items()
        if path is not None
        for i, name in enumerate(report_names(path, columns), 1)
    }


def _beside(path: str, *, public: bool) -> str:
    """The file beside a dossier that has its numbers, see `maxent.results.html_report.dossier.numbers_beside`."""
    from maxent.results.html_report.dossier import numbers_beside

    return numbers_beside(path, public=public)


@dataclass(frozen=True, slots=True)
class AskedDossier:
    """The dossiers that are asked for: whole, and without people."""

    dossier: str | None = written("Write a dossier, in the order in which authorities ask: one .html file to print.")
    dossier_public: str | None = written("Write the dossier without people: one .html file.")
    author: str | None = text("Author of the dossier.")
    organisation: str | None = text("Organisation of its author.")

    def files(self, columns: int = 1, *, numbers: bool = True) -> dict[str, str | None]:
        """Where they go, by their options, a file for each column; refused where ``numbers`` cannot stand beside."""
        if not self.asked:
            check_unused("a dossier: --dossier FILE.html", author=self.author, organisation=self.organisation)
        own = named_files({"--dossier": self.dossier, "--dossier-public": self.dossier_public}, columns)
        for option, path in own.items():
            if numbers and path is not None and (self.dossier is None or "public" not in option):
                _beside(path, public="public" in option)
        return own

    @property
    def by_role(self) -> dict[str, str | None]:
        """Where they go, by their roles in a record."""
        return {"dossier": self.dossier, "dossier_public": self.dossier_public}

    @property
    def asked(self) -> bool:
        """Whether there is any."""
        return self.dossier is not None or self.dossier_public is not None

    def write(self, found: Any, texts: Mapping[str, str], *, numbers: bool = True) -> None:
        """Write them of a result; ``numbers``: whether their numbers stand beside them, as there is no record."""
        more = {"author": self.author or "", "organisation": self.organisation or ""}
        if self.dossier is not None:
            found.dossier(self.dossier, **texts, **more, numbers=numbers)
        if self.dossier_public is not None:
            alone = numbers and self.dossier is None
            found.dossier(self.dossier_public, public=True, **texts, **more, numbers=alone)
            if alone:
                beside = _beside(self.dossier_public, public=True)
                tell(f"{beside}, the record beside the public dossier, describes people: do not publish it")


@dataclass(frozen=True, slots=True)
class Handed:
    """The folders for output checkers that are asked for."""

    sacro: str | None = text("Write the folder that ACRO and SACRO-Viewer open, with the model and the verdict.", "DIR")
    crate: str | None = text("Write an RO-Crate 1.2 with the check as an action (needs rocrate).", "DIR")
    crate_in: str | None = text("Five Safes RO-Crate to copy to --crate and to add the check to.", "DIR")
    agent: str | None = text("Who judged, for --crate: a name, or NAME <https://...>.", "NAME")
    provider: str | None = text("Organisation that --crate is made for, written as --agent is.", "NAME")

    def check(self, outputs: Mapping[str, str | None], inputs: Sequence[str | None]) -> None:
        """Refuse folders that cannot be written, that other outputs lie in, or that are read."""
        from maxent.results.exchange import check_copied, party, refused_crate, refused_sacro

        if self.crate is None and (
            lone := next((n for n in ("crate_in", "agent", "provider") if getattr(self, n)), "")
        ):
            raise invalid("options", ARGUMENT, lone, "--crate DIR, too: the folder to write", "none")
        party("agent", self.agent), party("provider", self.provider)
        if self.crate is not None and self.crate_in is not None:
            check_copied(self.crate_in, self.crate)
        folders = {"--sacro": (self.sacro, refused_sacro), "--crate": (self.crate, refused_crate)}
        asked = {option: path for option, (path, _) in folders.items() if path is not None}
        read = [*inputs, self.crate_in]
        check_apart(asked, read)
        for option, path in asked.items():
            check_folder(option, path, folders[option][1])
            apart = [(f"of {name}", each) for name, each in {**outputs, **asked}.items() if name != option]
            for what, each in [*apart, *(("an input", each) for each in read)]:
                if each is not None and _is_within(each, path):
                    raise InvalidInput("output", [Problem(ARGUMENT, option, f"a folder without the file {what}", each)])
        if self.crate is not None and self.crate_in is None:
            from importlib.util import find_spec

            if find_spec("rocrate") is None:
                raise invalid("options", ARGUMENT, "crate", "rocrate: pip install rocrate", "no such module")

    def write(self, found: Any) -> None:
        """Write the folders."""
        if self.sacro is not None:
            found.sacro(self.sacro)
        if self.crate is not None:
            found.crate(self.crate, source=self.crate_in, agent=self.agent, provider=self.provider)


def _is_within(path: str, folder: str) -> bool:
    inner, outer = os.path.realpath(path), os.path.realpath(folder)
    return inner.startswith(os.path.join(outer, ""))


def as_options(reading: Reading | None) -> dict[str, str]:
    """Options of reading files, as on the command line."""
    stated = {} if reading is None else reading.stated()
    names = {"format": "from"}
    return {
        names.get(name, name): ",".join(value) if isinstance(value, tuple) else str(value)
        for name, value in stated.items()
    }


@dataclass(slots=True)
class ReportFile:
    """The report that a command writes, if it is asked to: ``each`` is called with each release.

    Releases, tables and the files among the options are read before the command reads them.
    """

    asked: AskedVerdict
    kind: type
    command: str
    releases: Sequence[str]
    tables: Sequence[str]
    options: dict[str, Any]
    gatherer: Gatherer | None = field(init=False, default=None)
    inputs: tuple[InputFile, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        if self.asked.report is not None:
            from maxent.results.html_report.build import Gatherer
            from maxent.results.html_report.provenance import read_inputs

            files = [*(("release", each) for each in self.releases), *(("table", each) for each in self.tables)]
            self.inputs = read_inputs([*files, *opt.named_inputs(self.options)])
            self.gatherer = Gatherer(self.options["top"])

    @property
    def each(self) -> Callable[[Estimate, Mapping[str, Any]], None] | None:
        """Estimate and comparison row of each release."""
        return self.gatherer

    def write(self, verdict: Verdict, notes: Sequence[str] = (), *, interrupted: bool = False) -> None:
        """Write the report on what was gathered."""
        path = self.asked.report
        if path is None or self.gatherer is None:
            return
        from maxent.results.html_report.provenance import provenance

        options = {
            **opt.beyond_defaults(self.kind, self.options),
            **{"reading": None, **as_options(self.options.get("reading"))},
            **verdict.limits.as_dict(),
            "enforce": self.asked.enforce or None,
            "report": path,
            "title": self.asked.title,
            "purpose": self.asked.purpose,
        }
        source = provenance([self.command, *self.releases, *self.tables], options, self.inputs, self.gatherer.backends)
        texts: dict[str, Any] = self.asked.texts
        write_text(path, self.gatherer.report(verdict, source, notes, interrupted=interrupted, **texts))
