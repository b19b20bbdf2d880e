"""Limits, verdict and report of the commands that help to decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from maxent.command_line import options as opt
from maxent.command_line.progress import BEYOND, DONE, UNKNOWN, tell

if TYPE_CHECKING:
    from maxent.disclosure.limits import Limits, Verdict
    from maxent.models.reading import Reading
    from maxent.results.estimate import Estimate
    from maxent.results.html_report.build import Gatherer
    from maxent.results.html_report.view import InputFile


@dataclass(frozen=True, slots=True)
class AskedVerdict:
    """The limits that were stated, whether they are enforced, and where the report goes."""

    max_posterior: float | None
    min_k: int | None
    max_certain: int | None
    max_right_guesses: float | None
    max_lift: float | None
    enforce: bool
    report: str | None
    title: str | None = None
    purpose: str | None = None
    no_marginal: bool = False

    def limits(self) -> Limits:
        """The limits."""
        from maxent.disclosure.limits import Limits
        from maxent.models.errors import ARGUMENT, invalid

        *first, last = names = [each.name for each in fields(Limits)]
        limits = Limits(**{name: getattr(self, name) for name in names})
        if self.enforce and not limits.stated:
            expected = f"a limit: {', '.join(f'{name}=' for name in first)} or {last}="
            raise invalid("limits", ARGUMENT, "enforce", expected, "none")
        return limits

    @property
    def texts(self) -> dict[str, str]:
        """The texts of the report, empty for none."""
        return {"title": self.title or "", "purpose": self.purpose or ""}

    def status(self, verdict: Verdict) -> int:
        """The exit status that a verdict asks for; why is told."""
        if not self.enforce or verdict.passed:
            return DONE
        from maxent.disclosure.limits import WORDS

        tell(f"limits are enforced: {WORDS[verdict.status]}")
        return BEYOND if verdict.status == "fail" else UNKNOWN


def asked(
    report: opt.Report = None,
    max_posterior: opt.MaxPosterior = None,
    min_k: opt.MinK = None,
    max_certain: opt.MaxCertain = None,
    max_right_guesses: opt.MaxRightGuesses = None,
    max_lift: opt.MaxLift = None,
    enforce: opt.Enforce = False,
    title: opt.Title = None,
    purpose: opt.Purpose = None,
    no_marginal: opt.NoMarginal = False,
) -> AskedVerdict:
    """The options of limits, and of the report."""
    limits = (max_posterior, min_k, max_certain, max_right_guesses, max_lift)
    return AskedVerdict(*limits, enforce, report, title, purpose, no_marginal)


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
    """The report that a command writes, if it is asked to: ``each`` is called with each release."""

    asked: AskedVerdict
    command: Sequence[str]
    options: Mapping[str, Any]
    gatherer: Gatherer | None = field(init=False, default=None)
    inputs: tuple[InputFile, ...] = field(init=False, default=())

    def begin(self, files: Sequence[tuple[str, str | None]]) -> None:
        """Note the files that are read, as (what for, path), before they are."""
        if self.asked.report is not None:
            from maxent.results.html_report.build import Gatherer
            from maxent.results.html_report.provenance import read_inputs

            self.inputs = read_inputs(files)
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
        from maxent.models.files.output import write_text
        from maxent.results.html_report.provenance import provenance

        options = {
            **self.options,
            **{"reading": None, **as_options(self.options.get("reading"))},
            **verdict.limits.as_dict(),
            "enforce": self.asked.enforce or None,
            "report": path,
            "title": self.asked.title,
            "purpose": self.asked.purpose,
        }
        source = provenance(self.command, options, self.inputs, self.gatherer.backends)
        write_text(path, self.gatherer.report(verdict, source, notes, interrupted=interrupted, **self.asked.texts))
