"""A solved program: the inference, the quality of the solution, and warnings about it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import log
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from maxent.constraints.program.program import Contradiction, Unread, unread_in
from maxent.disclosure.inference import Inference
from maxent.disclosure.ladder import as_badly_off, worst_first
from maxent.disclosure.limits import DRAWS_KEYS, ORDERED, Limits, Mend, Reached, Verdict, limits_of
from maxent.disclosure.measures import Leakage, audited, told_apart_in
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.display import Summarised
from maxent.models.draws import tells_draws
from maxent.models.files.output import GROUPS, FileKind
from maxent.models.formats.release_reader import UNPROVEN
from maxent.models.reading import NOTHING, Noticed
from maxent.models.release import Release
from maxent.solvers.solve.attempt import PROVED

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.attacks.wp216 import Risks
    from maxent.disclosure.baseline import Baseline, ControlShares
    from maxent.disclosure.sensitive import Sensitive
    from maxent.disclosure.truth import InTruth
    from maxent.disclosure.worst_case import WorstCase
    from maxent.results.parts import Parts
    from maxent.results.proof import Proof
    from maxent.solvers.solve.driver import Outcome


class Drawing(Protocol):
    """How far somebody comes who computes who was drawn for each tree."""

    def __call__(self) -> tuple[Reached, Reached]:
        """With the rows in training order, and without the order."""
        ...

    def unordered(self, row: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
        """The numbers of a verdict with what is proved without the order of rows."""
        ...


class Certain(Protocol):
    """What is proved beside a limit on certainty."""

    def __call__(self, row: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
        """A row with the numbers that are proved, where a limit asks for them."""
        ...

    def codes(self) -> IntArray:
        """The class proved of each quasi-identifier by what was asked so far, -1 where none is, shape (n_qi,)."""
        ...


@dataclass(frozen=True, eq=False)
class Solved(Inference):
    """An inference with its solution.

    ``noticed`` is what was while the release and the tables were read. ``optima`` is how many optima, permutations of
    exchangeable classes of one another, the posterior is the mean of; ``outcome`` is one of them. ``baseline`` is what
    guesses without the release achieve, and ``held`` how guesses with it compare with the truth, where there is one;
    ``control`` compares with people who were not in the data; ``sensitive`` is about some classes alone. ``leakage``,
    by a gain matrix, and ``min_capacity`` (bits) are those of `maxent.disclosure.truth`, ``wp216`` those of
    `maxent.attacks.wp216`. Of several sensitive columns the posterior is that of combinations of classes, and
    ``targets`` has that of each column by its name. ``proof`` is what is proved over all data consistent with the
    release, where that was asked for. ``worst`` is the worst case of what is not read, where there is such. ``attacks``
    makes the summary of `maxent.audit` of the same case, ``mended`` searches for what would pass limits, and
    ``certainty`` for what is proved beside a limit on certainty. ``informed`` makes the estimate of somebody who also
    knows the base rate, for verdicts; None where it would be the same. With ``no_marginal`` verdicts are about who does
    not know it. ``drawing`` is how far somebody comes who computes draws, and ``rows_unknown`` why nobody knows the
    order of rows. ``parts`` has the people where they are taken in parts. ``interrupted`` is whether Ctrl-C came before
    all of this was there, be it after the solution: nothing more is sought then.
    """

    outcome: Outcome
    backend: str
    tolerance: float
    seconds: Mapping[str, float]
    noticed: Noticed = NOTHING
    optima: int = 1
    baseline: Baseline | None = None
    held: InTruth | None = None
    targets: Mapping[str, Inference] = field(default_factory=dict)
    proof: Proof | None = None
    control: ControlShares | None = None
    min_capacity: float | None = None
    leakage: Leakage | None = None
    sensitive: Sensitive | None = None
    wp216: Risks | None = None
    worst: WorstCase | None = None
    attacks: Callable[[], Mapping[str, Any]] | None = field(default=None, repr=False)
    mended: Callable[[Limits], Mend] | None = field(default=None, repr=False)
    informed: Callable[[], Solved] | None = field(default=None, repr=False)
    no_marginal: bool = False
    rows_unknown: str = ""
    drawing: Drawing | None = field(default=None, repr=False)
    certainty: Certain | None = field(default=None, repr=False)
    parts: Parts | None = None
    interrupted: bool = False

    @property
    def reliable(self) -> bool:
        """Whether the answer can be relied on: solved, and nothing contradicted."""
        return self.outcome.status == "optimal"

    def proved(self, row: Mapping[str, Any], limits: Limits) -> Mapping[str, Any]:
        """The numbers of a verdict with what is proved, where a limit is about that and it is not there already.

        Where choices of splits link people in parts, who are not in the program, nothing is proved.
        """
        if self.certainty is None or not self.reliable:
            return row
        if self.parts is not None and self.program.internal:
            if limits.max_certain is None:
                return row
            most = {"proved_least": 0, "proved_most": self.program.individuals}
            more = {key: {**row[key], **most} for key in ("sensitive",) if key in row}
            targets = {key: [{**each, **most} for each in row[key]] for key in ("targets",) if key in row}
            return {**row, **most, **more, **targets}
        found = with_proved(self, self.certainty(row, limits))
        return found if self.drawing is None else self.drawing.unordered(found, limits)

    @property
    def proved_codes(self) -> IntArray:
        """The class proved of each quasi-identifier by what was asked so far, -1 where none is, shape (n_qi,)."""
        if self.proof is not None and self.proof.reliable:
            return self.proof.codes
        known = self.certainty if self.reliable else None
        return np.full(len(self.program.table), -1) if known is None else known.codes()

    def judged_row(
        self, row: Mapping[str, Any], limits: Limits, attacks: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """The numbers that decide a verdict: of who also knows the base rate, with what is proved where it matters."""
        if self.informed is None:
            return self.proved(row, limits)
        found = self.informed()
        if attacks is None:
            attacks = {} if self.attacks is None else self.attacks()
        more = {**estimate_numbers(found), **target_rows(found, attacks), **sensitive_rows(found, attacks)}
        return found.proved({**row, **more}, limits)

    @property
    def draws_told(self) -> dict[str, str]:
        """What tells who was drawn for each tree, as keys of a row."""
        ordered = self.program.row_equations is not None
        return draws_told(self.program.release, self.noticed.aside, self.rows_unknown, ordered=ordered)

    @property
    def certificate(self) -> str:
        """The proof: ``global`` (the optimum), ``gap`` (near it), ``local`` (nothing), or ``none`` (not solved).

        The proof is our own bound on the entropy: ``global`` when it leaves no more than 1e-6 nats per individual.
        """
        return certificate_of(self.outcome)

    @property
    def most_entropy(self) -> float:
        """The most that H(X|Q) can be, nats, by the bound of the solution: from 0 to that of uniform classes.

        With a likelihood the bound is of both together, and says nothing of the entropy.
        """
        most = log(self.program.n_classes)
        return most if self.program.likelihood is not None else min(max(self.outcome.entropy_upper_bound, 0.0), most)

    @property
    def unique(self) -> bool:
        """Whether the answer is known to be the only optimum: the entropy is strictly concave."""
        return self.outcome.convex and self.certificate == "global"

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes in words on the reading of the release and the tables, and on problems of solving."""
        return (*self.noticed.notes, *self.program.notes, *self.outcome.trouble)

    @cached_property
    def contradictions(self) -> tuple[Contradiction, ...]:
        """Statements that the answer does not satisfy, or the table contradicts, the largest of each unit first."""
        program, tolerance = self.program, self.tolerance
        found = list(program.contradictions)
        if self.outcome.status in ("inconsistent", "not_converged"):
            point = self.outcome.point  # over groups of people who are alike: over cells it takes most of the memory
            linear, rows = point.evaluator.linear, point.evaluator.internal
            missed = linear.violation(point.masses)
            worst = np.zeros(len(program.linear))
            np.maximum.at(worst, linear.constraint, np.where(missed > tolerance, missed * linear.scale, 0.0))
            found += [
                Contradiction(program.linear[i].origin, program.linear[i].says, float(worst[i]))
                for i in np.flatnonzero(worst)
            ]
            for i in np.flatnonzero(point.missed > tolerance):
                c = program.internal[int(rows.constraint_of(np.array([i]))[0])]
                says = f"{c.chosen} chosen over {c.candidate}"
                found.append(Contradiction(c.origin, says, float(point.missed[i]), "impurity"))
        return tuple(sorted(found, key=lambda c: (c.unit == "impurity", -c.amount)))


def certificate_of(outcome: Outcome) -> str:
    """What is proved of a solution, see `Solved.certificate`."""
    if outcome.status != "optimal":
        return "none"
    if outcome.duality_gap <= PROVED:
        return "global"
    return "gap" if np.isfinite(outcome.duality_gap) else "local"


def noted(notes: Sequence[str], noticed: Noticed, contradictions: Iterable[Contradiction]) -> dict[str, Any]:
    """The end of a summary: notes, what was noticed in reading, and statements that contradict each other."""
    wrong = [each.as_dict() for each in contradictions]
    found: dict[str, Any] = {"notes": list(notes)} if notes else {}
    return found | noticed.summary | ({"contradictions": wrong} if wrong else {})


def draws_told(release: Release, aside: Iterable[str], unknown: str = "", *, ordered: bool = False) -> dict[str, str]:
    """The keys of a row that tell who was drawn for each tree (`DRAWS_KEYS`); none where nothing does.

    ``aside`` is what models keep beside the release, ``unknown`` why nobody knows the order of rows; ``ordered``:
    whether numbers are of somebody who does.
    """
    kept = "; ".join(aside)
    found = (
        tells_draws(release.draws, kept),
        UNPROVEN if UNPROVEN in kept else "",
        unknown,
        ORDERED if ordered else "",
    )
    return {key: words for key, words in zip(DRAWS_KEYS, found, strict=True) if words}


def unread_numbers(result: Solved) -> dict[str, Any]:
    """The keys ``unread`` and ``worst_case`` of what is not read; nothing where everything is."""
    unread, worst = unread_in(result.noticed, result.program), result.worst
    judged = "not" if worst is None or worst.why else "worst_case"
    bounded = {} if worst is None else {"worst_case": worst.numbers()}
    return {"unread": [each.as_dict(judged) for each in unread], **bounded} if unread else {}


def unread_of(estimate: Solved | None) -> dict[str, Any]:
    """The keys ``unread``, always, and ``worst_case`` of the summary of a decision."""
    return {"unread": []} | ({} if estimate is None else unread_numbers(estimate))


def unread_lines(estimate: Solved | None, unread: Iterable[Unread]) -> list[str]:
    """What is not read, and what follows if it gave everything away, for people to read."""
    worst = {"why": ""} if estimate is None or estimate.worst is None else estimate.worst.numbers()
    return [each.in_words(worst) for each in unread]


def estimate_numbers(result: Solved) -> dict[str, Any]:
    """The numbers of an estimate in a row: status, measures of disclosure, and with a truth the divergences."""
    proof = result.proof
    proved = {} if proof is None or not proof.reliable else {"certain_proved": proof.certain_proved}
    return {
        "status": result.outcome.status,
        "certificate": result.certificate,
        "individuals": result.program.individuals,
        "base_rate": None,
        **result.disclosure.measures,
        **unread_numbers(result),
        **result.draws_told,
        **({"no_marginal": True} if result.no_marginal else {}),
        **({} if result.baseline is None or result.baseline.most is None else {"base_most": result.baseline.most}),
        **proved,
        **({"certain_at_most": proof.certain_at_most} if proof is not None and proved else {}),
        **({} if result.control is None else {"control": result.control.as_dict()}),
        **({} if result.wp216 is None else {"wp216": result.wp216.as_dict()}),
        **({} if result.leakage is None else {"leakage": result.leakage.as_dict()}),
    }


def likeliest(result: Solved, q: int) -> tuple[int, float]:
    """The class that is inferred of a quasi-identifier, and its probability: 1 where it is proved."""
    p, proved = _inferred(result)
    return int(p[q].argmax()), 1.0 if proved[q] else float(p[q].max())


def by_exposure(result: Solved) -> IntArray:
    """The quasi-identifiers, whoever is worst off first."""
    p, proved = _inferred(result)
    return worst_first(p.max(axis=1), proved, result.program.table.lines)


def _inferred(result: Solved) -> tuple[FloatArray, BoolArray]:
    """Probabilities with what is proved, and of whom something is; of sensitive classes alone where some are named."""
    codes, p = result.proved_codes, result.probabilities
    p = np.where(codes[:, None] >= 0, np.arange(p.shape[1]) == codes[:, None], p)
    some = range(p.shape[1]) if result.sensitive is None else result.sensitive.codes
    others = np.setdiff1d(np.arange(p.shape[1]), some)
    p[:, others] = -1.0
    return p, np.isin(codes, some)


def person_entry(result: Solved, q: int) -> dict[str, Any]:
    """A quasi-identifier, and what is inferred of its people: an entry ``worst`` of a ladder, and of a dossier."""
    program, (best, surest) = result.program, likeliest(result, q)
    return {
        "qi": program.table.named(q),
        "people": int(program.table.counts[q]),
        "class": program.release.target.classes[best],
        "probability": min(surest, 1.0),
        **({"proved": True} if result.proved_codes[q] == best else {}),
        **({"row": int(program.table.lines[q])} if program.row_equations is not None else {}),
    }


def worst_off(result: Solved) -> tuple[dict[str, Any], int]:
    """The entry of whoever is worst off, and how many people are as badly off, with these."""
    q, (p, proved) = int(by_exposure(result)[0]), _inferred(result)
    return person_entry(result, q), as_badly_off(q, p.max(axis=1), proved, result.program.table.counts)


def with_proved(result: Solved, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row that counts whoever is proved by totals of leaves and equations of rows, too, which no limit asks for."""
    of_codes = int(result.program.table.counts[result.proved_codes >= 0].sum())
    least = max(row.get("proved_least") or 0, of_codes, (result.program.row_equations or {}).get("proved") or 0)
    return {**row, "proved_least": least} if least else dict(row)


class Once:
    """What a function makes, made once and only when it is asked for."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make, self.made = make, list[Any]()

    def __call__(self) -> Any:
        """What it makes."""
        if not self.made:
            self.made.append(self.make())
        return self.made[0]


def assessed_numbers(result: Solved | None, attacks: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of an estimate, if there is one, and of attacks on its case: keys of `maxent.disclosure.measures`."""
    found = {**audited(attacks), **told_apart_in(attacks)}
    if result is None:
        return found
    return {**estimate_numbers(result), **found, **target_rows(result, attacks), **sensitive_rows(result, attacks)}


def target_rows(result: Solved, attacks: Mapping[str, Any]) -> dict[str, Any]:
    """The key ``targets`` of a row, each of several sensitive columns by itself; nothing of a single one."""
    found = attacks.get("targets", {})
    worst = result.worst
    rows = [
        {"target": name, **each.disclosure.measures, **audited(found.get(name, {}))}
        | ({} if worst is None else {"worst_case": worst.of_target(result.program, i).numbers()})
        for i, (name, each) in enumerate(result.targets.items())
    ]
    return {"targets": rows} if rows else {}


def sensitive_rows(result: Solved, attacks: Mapping[str, Any]) -> dict[str, Any]:
    """The key ``sensitive`` of a row, the measures of sensitive classes alone; nothing where none are named."""
    if result.sensitive is None:
        return {}
    exposed, worst = attacks.get("exposed_classes"), result.worst
    alone: dict[str, Any] = {"exposed": exposed_people(exposed, result.sensitive.classes)}
    if worst is not None:
        alone["worst_case"] = worst.numbers(result.sensitive.codes)
    return {"sensitive": {**result.sensitive.as_dict(), **alone}}


def exposed_people(exposed: Mapping[str, int] | None, classes: Iterable[str]) -> int | None:
    """Individuals whose span has one class, of some classes; None where that is not known."""
    return None if exposed is None else sum(exposed[each] for each in classes)


def described(release: Release) -> str | None:
    """The defense that a release states, with its parameters: ``prune-leaf k=5``."""
    if release.defense is None:
        return None
    parameters = (f"{key}={value}" for key, value in release.defense.parameters.items())
    return " ".join([release.defense.method, *parameters])


class Saved(Summarised):
    """A result with rows, which are saved as a table, or with its summary."""

    __slots__ = ()
    kept_as: ClassVar[FileKind]
    rows_key: ClassVar[str] = "rows"
    parts: Parts | None = None

    @abstractmethod
    def _saved(self) -> DataFrame:
        """Return the rows that `save` writes."""

    def save(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write the rows (.csv, .parquet) or the summary with them (.json), by suffix, atomically.

        Parameters
        ----------
        csv_literal : bool
            Whether text in a .csv file is written as it is, also where a spreadsheet would run it as a formula.
        """
        if self.parts is not None:
            raise self.parts.kept(path)
        self._write(path, self._saved(), self.kept_as, csv_literal)

    def _write(self, path: str | PathLike[str], frame: DataFrame, kind: FileKind, csv_literal: bool) -> None:
        from maxent.models.files.result_files import save_frame

        save_frame(path, frame, lambda rows: {**self.summary, self.rows_key: rows}, kind, csv_literal=csv_literal)


class Brief(Saved):
    """A result without an estimate of people, whose verdict and short report have its lines."""

    __slots__ = ()
    titled: ClassVar[str] = "Audit"

    @abstractmethod
    def judged(self, limits: Limits) -> Verdict:
        """Return the verdict against limits."""

    @property
    @abstractmethod
    def reported(self) -> Sequence[str]:
        """The lines of a report below its verdict."""

    def verdict(self, **limits: Any) -> Verdict:
        """The verdict against limits, as far as this alone can tell; of others it cannot be told.

        Parameters and errors are those of `maxent.results.estimate.Estimate.verdict`.
        """
        return self.judged(limits_of(limits))

    def report(self, path: str | PathLike[str], *, title: str = "", purpose: str = "", **limits: Any) -> None:
        """Write a short report for whoever decides: one .html file, for any browser.

        Parameters and errors are those of `maxent.results.estimate.Estimate.report`.
        """
        from maxent.results.html_report.view import save_brief

        verdict = self.verdict(**limits)
        save_brief(path, title or self.titled, [*verdict.lines(), *self.reported], purpose)


class AttackReport(Brief):
    """What structural attacks find, with the release as an anonymised table."""

    __slots__ = ()

    @property
    @abstractmethod
    def table(self) -> DataFrame:
        """The release as an anonymised table."""

    @property
    @abstractmethod
    def lines(self) -> tuple[str, ...]:
        """The summary in plain language."""

    @property
    def reported(self) -> Sequence[str]:
        """The lines of a report below its verdict."""
        return self.lines

    def save_table(self, path: str | PathLike[str], *, csv_literal: bool = False) -> None:
        """Write `table` by suffix (.csv, .parquet, .json); the rest is as in `save`."""
        from maxent.models.files.result_files import save_frame

        save_frame(path, self.table, lambda rows: {"rows": rows}, GROUPS, csv_literal=csv_literal)
