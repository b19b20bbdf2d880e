"""Audit of a release: structural attacks on its leaves and, with the adversary's table, on its people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from maxent.api import options
from maxent.api.attack import audit_case, check_options
from maxent.api.calling import takes
from maxent.api.case import Case, Published, Tables, no_table, read_case
from maxent.api.compile import ROWS, Knowledge, compile_case, system_of
from maxent.api.decision_options import Auditing
from maxent.api.estimate import Progress, Solving, estimate_case, mending
from maxent.api.out_of_core.folder import InParts, links_of_attacks
from maxent.api.out_of_core.opened import ByLeaf, FoundLeaves, Opened, table_of
from maxent.api.out_of_core.scan import Scanned
from maxent.api.proving import Drawing
from maxent.attacks.findings import attacked_controls
from maxent.constraints.compiler import check_noise, has_likelihood
from maxent.constraints.kinds.bootstrap import MISFIT
from maxent.constraints.program.program import Program
from maxent.disclosure.sensitive import sensitive_codes
from maxent.models.arguments import check_flags
from maxent.models.arrays import IntArray
from maxent.models.errors import check_unused
from maxent.results.audit import Audit, AuditedPart, people_table
from maxent.results.estimate import Estimate
from maxent.results.parts import Parts
from maxent.results.records import RecordsAudit
from maxent.results.solved import assessed_numbers
from maxent.solvers.control import Clock


@takes(Auditing)
def audit(call: Auditing) -> AuditedPart:
    """Structural attacks on a release: the summary; `audit_release` has the tables, too.

    A release is attacked as the anonymised table that it is, each leaf an equivalence class (Wakabayashi et al. 2024,
    section 3). A leaf counts where what is published proves the attack: by counts, or by labels, error rates and ``n``.
    Numbers of a sampled release are those of the sample.

    Returns
    -------
    Audited
        A dict, with ``.verdict()``, ``.report(path)``, ``.to_dict()``: numbers, strings, lists and dictionaries:

        - ``leaves`` that are published, of all trees; ``individuals`` of the table, otherwise those that the release
          accounts for (None: it does not say);
        - ``uniqueness``: ``leaves`` with one record;
        - ``homogeneity``: ``leaves`` with records of one class only, and the ``individuals`` in them;
        - ``background``: ``leaves`` where the classes of at most ``known`` members settle those of the others, and
          these ``individuals``; those of ``beyond_homogeneity`` are not homogeneous already;
        - ``unknown_size``: ``leaves`` of which neither the release nor the table says how many records they have;
          ``homogeneous`` of them have one class, if any: they are in none of the numbers above;
        - ``facts``, given these: individuals ``known``, and ``leaves`` that are homogeneous without them, with the
          ``individuals`` that are left. Facts count where it is certain which leaf they are about;
        - ``spans``, given ``qi``: ``count`` of groups that the release cannot tell apart (Friedman et al. 2006,
          Definition 5), ``min_population`` and so ``k_anonymous``, the largest k for which the release is k-anonymous
          (Definition 7), None when nobody is in a published leaf; and individuals ``exposed``, whose span has one
          class (section 4.2), of whatever size. Those in removed leaves, ``unlinked``, are in no span;
        - ``exposed_classes``, given ``qi``: individuals whose span has one class, of each class;
        - ``exposed``, given ``qi``: individuals of the table by the first attack they are open to. Nobody, if sampled;
        - ``control``, given these: how many of the people an attack shows the class of, and of how many control people
          the same attack would say the right class, see `maxent.attacks.findings`; ``sensitive``, given
          these: individuals ``exposed`` whose span has one class, which is among ``classes``, and their ``control``;
        - ``differencing``: leaves ``removed``, and leaves (removed or not) ``recovered`` from numbers on inner nodes;
          what that adds to ``uniqueness``, ``homogeneity`` and ``background``, whose numbers above are without it; and
          ``groups`` of leaves of one class that are recovered only together;
        - ``recovered`` and ``groups``: each of those, by ``tree``, ``node`` above, ``branch`` (all from 1), its
          ``test`` and the id of the ``leaf`` (None: removed), with ``n``, ``counts`` and ``class``, None if not known;
        - ``risk``, when asked for: every node, by ``tree`` (from 1) and ``node``, with ``n`` and, in bits, ``BIG``,
          ``ICR``, ``R`` and ``R_branch`` (the smallest of the leaves below), infinite where nobody is; ``E`` and
          ``E_branch``, its and their errors, None if not known; and ``omega``, bits per error, infinite where pruning
          makes none, None for leaves and where errors are not known. JSON has null for infinite;
        - ``worst`` leaves, ``trees`` (each on its own, where there are several), ``notes`` on how the release was read.

        With several trees ``individuals`` are those exposed by one tree at least, which needs ``qi``; without it, and
        for ``background`` and ``facts``, those of the tree that exposes most: there may be more.

        Of records the groups of rows that are alike stand for leaves; ``spans`` are people whom the same groups cover,
        and ``k_anonymous`` is how many rows are alike at the least. Besides

        - ``rows``, and ``gcp``, the global certainty penalty of the table;
        - ``covering``: the fewest ``rows_per_person`` that cover somebody, and ``people_per_row`` that a row covers;
          ``kk_anonymous`` is the smaller of the two;
        - ``assignment``, as every row is one person's: whether it can be ``complete``; how many pairs of a distinct
          quasi-identifier and a group that has ``ruled_out``; the fewest rows that are left for somebody, and people
          for a row; individuals for whom that has ``narrowed`` the rows, those left with fewer than ``kk_anonymous``
          (``below_k``), and those ``exposed``, all of whose rows have one class;
        - ``exposed``, by the first attack, are those ``unique`` (one row covers them), then by their ``span`` (all rows
          that cover them have one class), then by ``assignment``.
    """
    return AuditedPart(_audited(call))


@takes(Auditing)
def audit_release(call: Auditing) -> Audit | RecordsAudit:
    """The structural attacks on a release, as `audit` has them, with the leaves and individuals that they work on.

    Returns
    -------
    Audit or, of generalised records, RecordsAudit
        Frozen; ``.summary`` is what `audit` returns; ``.individuals`` and ``.table``, the release as an anonymised
        table, are DataFrames, and so are ``.leaves`` of trees.
    """
    return _audited(call)


def _audited(call: Auditing) -> Audit | RecordsAudit:
    attacks = options.of(Attacking, call)
    attacks.check(call.qi, facts=call.facts, count=call.count, control=call.control)
    if call.in_parts:
        check_unused("people who are not taken in parts", rows=call.rows or None, noise=call.noise)
        where, how = InParts.of(call.folder, call.memory), Solving(jobs=call.jobs, dask=call.dask)
        parted = options.of(Tables, call, proved=True)
        return audit_tables(call.release, parted, attacks, how, where, target=call.target, progress=call.progress)
    if call.rows and call.qi is None:
        raise no_table()
    tables = options.of(Tables, call, sensitive=None, proved=True, rows=False)
    case = read_case(call.release, tables, call.target, **attacks.of_trees(tables))
    found = audit_read(case, attacks)
    return _with_rows(found, case, tables) if call.rows else found


def _with_rows(found: Audit | RecordsAudit, case: Case, tables: Tables) -> Audit | RecordsAudit:
    """An audit with what equations tell of the rows of the table, which are in training order."""
    from maxent.solvers.certainty.rows import prove

    check_unused("trees, and these are records", rows=None if isinstance(found, Audit) else True)
    assert isinstance(found, Audit)
    releases = [case.release] if case.joined is None else list(case.joined.own)
    rows = read_case(releases, replace(tables, control=None, rows=True))
    proof = prove(system_of(rows, Knowledge()), "linear", Clock(ROWS), programs=False)
    wrong = tuple(map(str, proof.contradictions)) or ((MISFIT,) if not proof.consistent else ())
    told = (*found.notes, proof.in_words())
    beside = {**found.beside, "row_equations": proof.as_dict()}
    return replace(found, beside=beside, notes=told, contradictions=(*found.contradictions, *wrong))


@dataclass(frozen=True, kw_only=True)
class Attacking(
    options.SensitiveOption,
    options.RiskOption,
    options.InexactNumbers,
    options.Attacks,
):
    """Parameters of `audit` for the attacks, whatever the tables."""

    def check(self, qi: object, **of_tables: object) -> None:
        """Refuse what is wrong, and options ``of_tables`` without a table."""
        numbers: dict[str, Any] = {"min_size": self.min_size, "background": self.background}
        check_options(qi, self.rounding, **of_tables, confidence=self.confidence, noise=self.noise, **numbers)
        check_flags(risk=self.risk)

    def of_trees(self, tables: Tables) -> dict[str, Any]:
        """The options that only trees have, for `maxent.api.case.read_case`."""
        return {"facts": tables.facts, "risk": self.risk or None, "control": tables.control}


@dataclass(frozen=True, eq=False)
class Assessment:
    """What attacks and the estimate find of a case, each when it is first asked for."""

    case: Case
    known: Knowledge
    how: Solving
    min_size: int = 1
    background: int = 1
    progress: Progress | None = None

    @cached_property
    def audit(self) -> Audit | RecordsAudit:
        """The attacks on it."""
        options: dict[str, Any] = {"rounding": self.known.rounding, "refuse": True}
        return audit_case(self.case, min_size=self.min_size, background=self.background, **options)

    @cached_property
    def estimate(self) -> Estimate:
        """The estimate of it."""
        return estimate_case(self.case, self.known, self.how, progress=self.progress)

    @property
    def row(self) -> dict[str, Any]:
        """The numbers of both, by the keys of `maxent.disclosure.measures`."""
        return assessed_numbers(self.estimate, self.audit.summary)


def assess(case: Case, known: Knowledge, how: Solving, **attacking: Any) -> Assessment:
    """The assessment of a case: attacks with ``min_size`` and ``background``, the estimate, and their row."""
    return Assessment(case, known, how, **attacking)


def audit_read(case: Case, attacks: Attacking) -> Audit | RecordsAudit:
    """The audit of a case; the parameters and errors are those of `audit`."""
    if case.joined is not None:
        check_unused("one release", risk=attacks.risk or None)
    codes = sensitive_codes(attacks.sensitive, case.release.target)
    numbers: dict[str, Any] = {"min_size": attacks.min_size, "background": attacks.background}
    told = _intervals(case, attacks)
    found = audit_case(case, **numbers, rounding=attacks.rounding, risk=attacks.risk, intervals=told, refuse=True)
    if not isinstance(found, Audit):
        return found
    judged = replace(case, sensitive=codes, controls=None)
    search = mending(judged, Knowledge(rounding=attacks.rounding), Solving(), None)
    beside = {**found.beside, **_beside(found, case, codes, attacks.confidence)}
    return replace(found, beside=beside, mended=search, drawing=Drawing(case))


def _intervals(case: Case, attacks: Attacking) -> Program | None:
    """The intervals of draws and noisy counts, where the call takes them for proofs."""
    if attacks.noise is None:
        return None
    what = "trees, and these are records" if case.records is not None else "one release"
    check_unused(what, noise=None if case.records is None and case.joined is None else attacks.noise)
    check_noise(attacks.noise, case.release)
    if attacks.noise == "likelihood" or not has_likelihood(case.release):
        return None
    if case.table is None:
        raise no_table()
    return compile_case(case, Knowledge(noise="intervals", confidence=attacks.confidence, rounding=attacks.rounding))


def _beside(found: Audit, case: Case, codes: tuple[int, ...], confidence: float) -> dict[str, Any]:
    """The findings on control people, and those about sensitive classes alone, by the keys of the summary."""
    controls = case.controls
    alone: dict[str, Any] = {}
    beside = {} if controls is None else {"control": attacked_controls(found, controls, confidence)}
    if not codes:
        return beside
    if found.people is not None:
        alone["exposed"] = found.people_in(np.isin(found.span_classes, codes))
    if controls is not None:
        alone["control"] = attacked_controls(found, controls, confidence, codes)
    return {**beside, "sensitive": {"classes": [case.release.target.classes[code] for code in codes], **alone}}


# Types of the columns of `maxent.results.audit.Audit.individuals` after ``count``: for each tree, and the rest.
OF_TREE, OF_PEOPLE = ("string", "int64"), ("int64", "int64", "string", "string")


def audit_tables(
    published: Published,
    tables: Tables,
    attacks: Attacking,
    how: Solving,
    where: InParts,
    *,
    target: str | None = None,
    progress: Progress | None = None,
) -> Audit | RecordsAudit:
    """The audit of more people than memory holds, who are routed to leaves and attacked there.

    Where something links people of different leaves they are taken together, and the result has no ``parts``.
    """
    attacks.check(tables.qi, facts=tables.facts, count=tables.count, control=tables.control)
    opened = Opened.of(published, tables, links_of_attacks, target, where, progress)
    if opened.linked:
        whole = audit_read(opened.together(**attacks.of_trees(tables)), attacks)
        opened.write_whole(lambda: whole.individuals)
        return whole
    with opened.resources(how) as with_:
        scanned = opened.scanned(with_)
        table, leaf = scanned.table()
        found = audit_read(opened.case(table), attacks)
        assert isinstance(found, Audit)
        files: tuple[Path, ...] = ()
        if where.folder is not None:
            names, rows = _people(found, leaf, scanned)
            _, files = opened.written("writing people", names, rows, scanned, with_)
        parts = Parts(what="people", trees=len(found.trees), leaves=len(leaf), folder=where.folder, files=files)
        alone = replace(parts, folder=None, files=())
        targets = {name: replace(each, parts=alone) for name, each in found.targets.items()}
        return replace(found, parts=parts, targets=targets)


def _people(found: Audit, leaf: IntArray, scanned: Scanned) -> tuple[tuple[str, ...], FoundLeaves]:
    """What is found of the people of every leaf, and the names of all columns; ``leaf`` is that of each row."""
    frame = people_table(found)
    assert found.people is not None
    assert frame is not None
    in_order = leaf[np.argsort(found.people.lines, kind="stable")]
    first = len(scanned.coded.attributes) + 1
    kinds = (*OF_TREE * len(found.trees), *OF_PEOPLE)
    columns = table_of((frame.iloc[:, first + i].to_list(), kind) for i, kind in enumerate(kinds))
    return tuple(map(str, frame.columns)), FoundLeaves(columns, ByLeaf(in_order, len(scanned.people)))
