"""What commands that help to decide have in common: limits, the verdict, and the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from maxent.commands.jobs import DONE, UNRELIABLE, tell

if TYPE_CHECKING:
    from maxent.limits import Limits, Verdict
    from maxent.reporting.reports import Gatherer
    from maxent.reporting.view import InputFile
    from maxent.result import Estimate


@dataclass(frozen=True, slots=True)
class Asked:
    """The limits that were stated, whether they are enforced, and where the report goes."""

    max_posterior: float | None
    min_k: int | None
    max_certain: int | None
    enforce: bool
    report: str | None

    def limits(self) -> Limits:
        """The limits.

        Raises
        ------
        InvalidInput
            When one is out of its range, or none is stated that could be enforced.
        """
        from maxent.limits import Limits
        from maxent.models.errors import InvalidInput, Problem
        from maxent.report import SOURCE

        limits = Limits(self.max_posterior, self.min_k, self.max_certain)
        if self.enforce and not limits.stated:
            expected = "a limit: --max-posterior, --min-k or --max-certain"
            raise InvalidInput(SOURCE, [Problem("argument", "--enforce", expected, "none")])
        return limits

    def status(self, verdict: Verdict) -> int:
        """The exit status that a verdict asks for; why is told."""
        if not self.enforce or verdict.passed:
            return DONE
        from maxent.limits import WORDS

        tell(f"limits are enforced: {WORDS[verdict.status]}")
        return UNRELIABLE


@dataclass(slots=True)
class ReportFile:
    """The report that a command writes, if it is asked to: ``each`` is called with each release."""

    asked: Asked
    command: Sequence[str]
    options: Mapping[str, Any]
    gatherer: Gatherer | None = field(init=False, default=None)
    inputs: tuple[InputFile, ...] = field(init=False, default=())

    def begin(self, files: Sequence[tuple[str, str | None]]) -> None:
        """Note the files that are read, as (what for, path), before they are."""
        if self.asked.report is not None:
            from maxent.reporting.provenance import read_inputs
            from maxent.reporting.reports import Gatherer

            self.inputs = read_inputs(files)
            self.gatherer = Gatherer(self.options["top"])

    @property
    def each(self) -> Callable[[Estimate, Mapping[str, Any]], None] | None:
        """What is to be given each release: its estimate and its row of a comparison."""
        return self.gatherer

    def write(self, verdict: Verdict, notes: Sequence[str] = (), *, interrupted: bool = False) -> None:
        """Write the report on what was gathered."""
        path = self.asked.report
        if path is None or self.gatherer is None:
            return
        from maxent.report import write_text
        from maxent.reporting.provenance import provenance

        options = {**self.options, **verdict.limits.as_dict(), "enforce": self.asked.enforce or None, "report": path}
        source = provenance(self.command, options, self.inputs, self.gatherer.backends)
        write_text(path, self.gatherer.report(verdict, source, notes, interrupted=interrupted))
