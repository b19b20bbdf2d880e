"""Checks 1xx: leaves, groups and cells by themselves, as rules on frequency tables have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maxent.attacks.findings import TreeAudit
from maxent.attacks.linking import NO_CLASS, CountBounds, background_knowledge, only_class
from maxent.constraints.program.program import CHOICES
from maxent.disclosure.limits import CHECK_WORDS, IDS
from maxent.models.arrays import BoolArray, FloatArray
from maxent.models.columns import NOTHING, Statements
from maxent.models.display import counted
from maxent.models.nodes import each, parts_of, statements_of
from maxent.policy.checks.context import (
    GROUP,
    LEAVES,
    PEOPLE,
    YES,
    Finding,
    Limit,
    Matter,
    PolicyCheck,
    by_limit,
    is_number,
    is_whole,
    unknown,
    unread_doubt,
    within,
)
from maxent.policy.checks.hyperparameters import unnecessary_risk
from maxent.results.audit import Audit, published

if TYPE_CHECKING:
    from maxent.solvers.certainty.stated import StatedCell

ACRO = "ACRO's default.yaml (github.com/AI-SDC/ACRO)"
SACRO_ML = "structural attack of SACRO-ML (github.com/AI-SDC/SACRO-ML)"
HANDBOOK = "SDAP, Handbook on Statistical Disclosure Control for Outputs (2019)"
BLUNT = (
    "Prune or grow with a larger minimum: `maxent defend prune-parent --k`, `maxent defend optimal`, or the "
    "`min_samples_leaf` of the tool that grew the tree."
)


def _draws(of: Matter) -> bool:
    """Whether numbers are those of draws with replacement, which count some people several times and others never."""
    return of.review.release.resampled is not None


_UNSETTLED = "as it is not settled what follows from all for whole people"


def _trees(audit: Audit) -> Sequence[TreeAudit]:
    """The trees that were published; the one that stands for statements where these are no counts alone."""
    counted = audit.stated and not audit.beside["statements"]["told_apart"]["weighing"]
    return published(audit) or (() if counted else audit.trees)


@dataclass(frozen=True, slots=True, eq=False)
class _Beside:
    """Numbers of people that statements beside trees tell.

    ``cells``: of a class in a group. ``group``: the smallest number of people whom a statement is about, and its
    source. ``recovered``: sources of numbers that follow though they were suppressed or rounded. ``complete``: whether
    nothing else is known. ``why``: why that is not so, or what was not read; empty where these are all.
    """

    cells: Sequence[StatedCell] = ()
    group: tuple[float, str] = (inf, "")
    recovered: Sequence[str] = ()
    complete: bool = True
    why: str = ""

    @property
    def exact(self) -> list[StatedCell]:
        """The numbers that are known."""
        return [cell for cell in self.cells if cell.exact]

    @property
    def least(self) -> tuple[float, str]:
        """The smallest number of a class, or of the others in its group, above 0, and its source."""
        parts = ((part, cell.source) for cell in self.exact for part in (cell.low, cell.people - cell.low) if part)
        return min(parts, default=(inf, ""))

    @property
    def empty(self) -> list[str]:
        """The sources of groups with nobody of a class, or nobody else."""
        return [cell.source for cell in self.exact if cell.low in (0, cell.people)]

    def pure(self, classes: int) -> tuple[list[str], int]:
        """The sources of groups whose people all have one of some classes, and how many others may be such."""
        groups: dict[bytes, list[StatedCell]] = {}
        for cell in self.exact:
            groups.setdefault(cell.cells.tobytes(), []).append(cell)
        found, maybe = [], 0
        for group in groups.values():
            none = sum(cell.low == 0 for cell in group)
            full = [cell for cell in group if cell.low == cell.people]
            if full or none == classes - 1:
                found.append((full or group)[0].source)
            maybe += not full and none == len(group) < classes - 1
        return found, maybe

    def given_away(self, known: int, classes: int) -> Iterator[tuple[int, str]]:
        """People of a class in a group where all but ``known``, at most, have it, and the sources that tell so."""
        for cell in self.cells:
            many = cell.low if cell.low >= cell.people - known else 0
            others = cell.people - cell.high if classes == 2 and cell.high <= known else 0
            if found := max(many, others):
                yield found, cell.source


def _printed(of: Matter) -> tuple[FloatArray, FloatArray]:
    """The fewest and the most people whom printed numbers leave possible: of a class, and of the others beside it.

    Without a table of the people these are known of counts and tables alone.
    """
    open_, said = of.review.audit.open_numbers, of.review.release.statements
    if "statements" not in of.review.audit.beside:
        numbers = (n for document in said for one in document.statements for n in getattr(one.content, "numbers", ()))
        open_ = [(low, high) for klass, low, high, _ in numbers if klass is not None and low < high]
    low, high = np.array(open_, np.float64).reshape(-1, 2).T
    return low, high


def _beside(of: Matter) -> _Beside:
    """What statements beside trees tell; nothing is known of it without a table of the people."""
    audit = of.review.audit
    if not of.review.release.statements:
        return _Beside()
    if (found := audit.beside.get("statements")) is None:
        return _Beside(complete=False, why="as the table of the people is not given")
    group = (inf if found["group"] is None else found["group"], found["group_source"])
    complete = found["complete"] and not audit.targets
    why = "" if audit.reliable else "as what is published contradicts the table"
    why = why or unread_doubt(of.row) or ("" if complete else _UNSETTLED)
    return _Beside(audit.stated, group, found["recovered"], complete, why)


def _also(of: Matter, s: str = "") -> str:
    """What is added to leaves, where statements beside trees tell numbers, too; ``s``: of several."""
    return f" or group{s} of a statement" * bool(of.review.release.statements)


def _sizes(of: Matter) -> tuple[FloatArray, FloatArray]:
    """Fewest and most records of every published leaf of all trees; of draws the fewest people who were drawn."""
    release, trees = of.review.release, _trees(of.review.audit)
    high = np.concatenate([np.empty(0), *(tree.bounds.high[:, -1] for tree in trees)])
    if not _draws(of):
        return np.concatenate([np.empty(0), *(tree.bounds.low[:, -1] for tree in trees)]), high
    said = [statements_of(tree.places.tree.nodes, release.target.classes).distinct[tree.leaves] for tree in trees]
    distinct = np.concatenate(said).astype(np.float64)
    drawn = np.concatenate([tree.bounds.low[:, -1] for tree in trees])
    return np.where(distinct == NOTHING, np.minimum(drawn, 1.0), distinct), high


def _smallest(low: FloatArray, high: FloatArray) -> tuple[float, float] | None:
    """The smallest positive number at the least and at the most; None where all are 0."""
    there = high > 0
    if not there.any():
        return None
    sure = low >= 1
    most = float(high[sure].min()) if sure.any() else inf
    return float(np.maximum(low[there], 1).min()), most


def _fewest(
    of: Matter,
    name: str,
    trees: tuple[FloatArray, FloatArray],
    told: tuple[float, str],
    limit: float,
    bound: Literal["at most", "at least"] = "at least",
    share: Callable[[float], float] = float,
    why: str = "",
) -> Finding:
    """A finding about the smallest of the numbers of ``trees``, and ``told`` beside them, or a function of it."""
    beside = _beside(of)
    low, high = _smallest(*trees) or (inf, inf)
    least, most = min(low, told[0] if beside.complete else 1.0), min(high, told[0])
    if least == inf:
        return unknown(name, "there is none")
    source = f"({told[1]})" * (told[0] < high)
    least, most = sorted(map(share, (least, most)))
    why = beside.why or _reason(of, why)
    return within(name, least, most, limit, bound=bound, sure=not beside.why, why=why, by=source)


def _min_leaf(of: Matter, limit: int) -> Finding:
    parted = any(parts_of(tree.nodes) for tree in of.review.release.trees)
    name = f"records of the smallest leaf{_also(of)}" + " of the tool, all of its parts together," * parted
    return _fewest(of, name, _sizes(of), _beside(of).group, limit, why=_UNSIZED)


def _reason(of: Matter, why: str) -> str:
    """Why numbers cannot be told."""
    return _DRAWN if _draws(of) else why if of.review.release.published else _UNTOLD


_DRAWN = "as the numbers are those of draws, which may be of fewer people"
_UNTOLD = "as not all numbers of people follow from statements"
_UNSIZED = "as leaves do not state how many records they have"
_UNCOUNTED = "as leaves do not state all of their counts"


def _cells(of: Matter) -> tuple[FloatArray, FloatArray]:
    """Fewest and most records of every class in every published leaf."""
    found = [tree.bounds for tree in _trees(of.review.audit)]
    low, high = (
        np.concatenate([np.empty(0), *(side[:, :-1].ravel() for side in sides)])
        for sides in ([b.low for b in found], [b.high for b in found])
    )
    return np.minimum(low, 1.0) if _draws(of) else low, high


def _redacted(of: Matter) -> BoolArray:
    """Of which cells the count is shown as 0, as small ones are suppressed, and does not follow from other numbers."""
    classes, trees = of.review.release.target.classes, _trees(of.review.audit)
    found = [np.empty((0, len(classes)), bool)]
    for tree in trees:
        said, bounds = statements_of(tree.places.tree.nodes, classes), tree.bounds
        hidden = said.counted[tree.leaves, None] & (said.table(len(classes))[tree.leaves] == 0)
        found.append(hidden & (bounds.low < bounds.high)[:, :-1])
    return np.concatenate(found).ravel()


def _min_cell(of: Matter, limit: int) -> Finding:
    (low, high), but = _cells(of), "zeros"
    if of.review.release.suppressed_below >= limit and (hidden := _redacted(of)).any() and not _draws(of):
        low, high = (np.where(hidden, 0.0, side) for side in (low, high))
        but = f"zeros and {counted(int(hidden.sum()), 'redacted count')}"
    low, high = (np.concatenate(sides) for sides in zip((low, high), _printed(of), strict=True))
    name = f"smallest count of a class in a leaf{_also(of)}, {but} apart,"
    return _fewest(of, name, (low, high), _beside(of).least, limit, why=_UNCOUNTED)


def _most(
    of: Matter, name: str, sure: int, possible: float, told: Sequence[str], limit: int, unit: str = ""
) -> Finding:
    """A finding about a number from ``sure`` to ``possible``, of which statements have ``told`` some, by sources."""
    beside = _beside(of)
    why, source = beside.why or _reason(of, _UNCOUNTED), f"({told[0]})" if told else ""
    most = possible if beside.complete else inf
    if unit and sure < most < inf:
        name, source = f"{name}:", f"{unit} {source}".strip()
    return within(name, sure, most, limit, bound="at most", sure=not beside.why, why=why, by=source)


def _max_zeros(of: Matter, limit: int) -> Finding:
    low, high = _cells(of)
    empty, hidden = _beside(of).empty, _redacted(of) & (of.review.release.suppressed_below > 1) & (not _draws(of))
    sure, possible = int((high == 0).sum()) + len(empty), int(((low == 0) & ~hidden).sum()) + len(empty)
    possible += int((_printed(of)[0] == 0).sum())
    return _most(of, f"counts of 0 of a class in a leaf{_also(of)}", sure, possible, empty, limit, "cells")


def _each_column(of: Matter) -> Iterator[CountBounds]:
    """Bounds of all published leaves, and of each of several sensitive columns: leaves may be pure in one alone."""
    for audit in (of.review.audit, *of.review.audit.targets.values()):
        found = [tree.bounds for tree in _trees(audit)]
        low, high, label = ([getattr(b, name) for b in found] for name in ("low", "high", "label"))
        if found:
            yield CountBounds(np.concatenate(low), np.concatenate(high), np.concatenate(label))


def _max_pure(of: Matter, limit: int) -> Finding:
    sure = possible = 0
    for bounds in _each_column(of):
        alone = (only_class(bounds) != NO_CLASS) & (bounds.low[:, -1] >= 1)
        several = (bounds.low[:, :-1] > 0).sum(axis=1) > 1
        sure = max(sure, 0 if _draws(of) else int(alone.sum()))
        possible = max(possible, int((~several & (bounds.high[:, -1] >= 1)).sum()))
    pure, maybe = _beside(of).pure(len(of.review.release.target.classes))
    name = f"leaves{_also(of, 's')} whose people all have one class"
    return _most(of, name, sure + len(pure), possible + len(pure) + maybe, pure, limit, "of them")


def _states_means(of: Matter) -> bool:
    """Whether leaves state means of numbers, which people contribute to with different weight."""
    return any(node.mean is not None for tree in of.review.release.trees for node in each(tree.nodes))


_MEANS = "leaves state means, and what each person contributes to them is not published"
_SUMS = "statements give sums, to which people contribute with different weight"
_WEIGHED = ("linear", "mean", "sd", "auc", "log_loss", "brier", "glm")  # kinds of statements that are no counts


def _of_smallest(
    of: Matter, name: str, limit: float, bound: Literal["at most", "at least"], share: Callable[[float], float]
) -> Finding:
    """A finding about contributions to a leaf, by a function of the number of its records."""
    weighed = any(one.kind in _WEIGHED for said in of.review.release.statements for one in said.statements)
    found = _fewest(of, name, _sizes(of), _beside(of).group, limit, bound, share, _UNSIZED)
    if _states_means(of) or (weighed and found.status != "fail"):
        return unknown(name, _MEANS if _states_means(of) else _SUMS)
    return found


def _dominance(of: Matter, limit: Any) -> Finding:
    name, top = f"share of the {limit['n']} largest contributors to a leaf{_also(of)}", float(limit["n"])
    return _of_smallest(of, name, limit["k"], "at most", lambda n: min(top / n, 1.0))


def _p_ratio(of: Matter, limit: float) -> Finding:
    name = f"contributions of a leaf{_also(of)} but the two largest, as a multiple of the largest,"
    return _of_smallest(of, name, limit, "at least", lambda n: max(n - 2, 0.0))


def _max_recovered(of: Matter, limit: int) -> Finding:
    name = f"leaves{' or cells' * bool(of.review.release.statements)} that other numbers of the release give back"
    trees = of.review.audit.trees
    if any(tree.difference is not None and tree.difference.contradicted for tree in trees):
        return unknown(name, "the numbers of inner nodes and leaves do not add up")
    found, told = sum(len(tree.recovered) for tree in published(of.review.audit)), _beside(of).recovered
    open_ = any(not tree.bounds.known.all() or tree.removed for tree in published(of.review.audit))
    closed = not (of.review.release.statements and open_)
    return _most(of, name, found + len(told), found + len(told) if closed else inf, told, limit)


def _max_background(of: Matter, limit: int) -> Finding:
    name = f"people whom {of.background} known members of their leaf{_also(of)} give away"
    found, open_ = 0, False
    audits = (of.review.audit, *of.review.audit.targets.values())
    for tree in (tree for audit in audits for tree in _trees(audit)):
        attacked = background_knowledge(tree.bounds, of.background)
        found = max(found, 0 if _draws(of) else attacked.n_individuals)
        unclear: BoolArray = ~attacked.leaves & ~tree.bounds.known
        open_ |= bool(unclear.any()) or _draws(of)
    told = sorted(_beside(of).given_away(of.background, len(of.review.release.target.classes)), reverse=True)
    most, sure = found + sum(people for people, _ in told), max(found, *(people for people, _ in told[:1]), 0)
    possible = inf if open_ else min(most, of.review.audit.individuals_known or most)
    return _most(of, name, sure, possible, [source for _, source in told], limit)


def _min_dof(of: Matter, limit: int) -> Finding:
    name = "residual degrees of freedom"
    review = of.review
    classes = len(review.release.target.classes)
    fitted = 0
    for tree in review.audit.trees:
        parts = int((tree.places.whole != np.arange(len(tree.places))).sum())
        inner = tree.places.n_nodes - parts - len(tree.leaves)
        fitted += len(tree.leaves) * (classes - 1) + inner
    sampled = review.release.sampled
    records = max((tree.records for tree in review.audit.trees), default=0) if sampled else review.individuals
    found = min([records - fitted, *(regressions := list(_of_regressions(of)))])
    most = min([review.individuals - fitted, *regressions]) if sampled and not records else found
    return within(name, found, most, limit, bound="at least", why="as the release does not state how many were drawn")


def _of_regressions(of: Matter) -> Iterator[int]:
    """People of each regression that is stated, less its coefficients."""
    from maxent.models.statements.glm import Coefficients
    from maxent.models.statements.statement import StatementPeople

    for document in of.review.release.statements:
        assert of.review.estimate is not None
        people = StatementPeople(of.review.estimate.program.table, document.target.classes)
        for said in document.statements:
            if isinstance(said.content, Coefficients):
                terms, responses = said.content.fit.value.shape
                yield round(said.among(people).counts.sum()) - terms * max(responses - 1, 1)


def _rounded_to(of: Matter, limit: int) -> Finding:
    release, name = of.review.release, f"numbers of people that are no multiples of {limit}"
    off = open_ = 0
    for tree in of.review.audit.trees:
        said = statements_of(tree.places.tree.nodes, release.target.classes)
        off += int((said.count % limit != 0).sum() + ((said.n != NOTHING) & (said.n % limit != 0)).sum())
        if release.rounded is None:  # what follows from the rate of so many people is published, too
            low, high, rated = _rated(tree, said)
            exact = (low == high) & ~said.counted[:, None]
            none = (low <= high) & (np.ceil(low / limit) * limit > high)
            off += int(((exact | rated) & none).sum())
            open_ += int((rated & ~exact & ~none).sum())
    ranges, others = 0, False
    for document in release.statements:
        off += document.individuals is not None and document.individuals % limit != 0
        for one in document.statements:
            others |= not hasattr(one.content, "numbers")
            told = [printed for *_, printed in getattr(one.content, "numbers", ())]
            off += sum(len(each) == 1 and each[0] % limit != 0 for each in told)
            ranges += sum(len(each) > 1 for each in told)
    scored = release.boosting is not None or release.predicts == "score"
    unclear = ""
    if others or scored or _states_means(of):
        unclear = "as scores, means and statements that are no counts give numbers, too"
    elif any(one["what"] != CHOICES for one in of.row.get("unread") or ()):  # no choice states a number
        unclear = "as more is stated than is read"
    why = unclear or (_RANGED if ranges else _RATED)
    return within(name, off, None if unclear else off + open_ + ranges, 0, bound="at most", why=why)


_RANGED = "as what is printed leaves open which number it is"
_RATED = "as a rate is that of several numbers, and only some of them are multiples"


def _rated(tree: TreeAudit, said: Statements) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Fewest and most records of every class in leaves and in nodes with a rate, and where a rate tells them."""
    shape = (len(said), tree.bounds.low.shape[1] - 1)
    low, high, rated = np.zeros(shape), np.full(shape, inf), np.zeros(shape, bool)
    of_label = np.flatnonzero(~np.isnan(said.rate) & (said.label != NOTHING))
    rated[of_label, said.label[of_label]] = True
    rated[[i for i, stated in enumerate(said.shares) if stated]] = True
    rated[said.counted] = False
    if tree.difference is not None:
        bounds = tree.difference.bounds.take(above := np.flatnonzero(rated.any(axis=1)))
        low[above], high[above] = bounds.low[:, :-1], bounds.high[:, :-1]
    low[tree.leaves], high[tree.leaves] = tree.bounds.low[:, :-1], tree.bounds.high[:, :-1]
    return low, high, rated


_DOMINANCE = Limit(
    "a table of n (people) and k (a share), such as { n = 2, k = 0.9 }",
    lambda v: isinstance(v, dict) and v.keys() == {"n", "k"} and is_whole(1)(v["n"]) and is_number(0, 1)(v["k"]),
    {"n": 2, "k": 0.9},
)


def _min_stated_cell(of: Matter, limit: int) -> Finding:
    name, beside = "smallest number of people that follows from statements, zeros apart,", _beside(of)
    most, source = beside.least
    low, high = _smallest(*_printed(of)) or (inf, inf)
    if most == low == inf and not beside.why:
        return Finding("pass", None, f"{name} there is none: {CHECK_WORDS['pass']}")
    least, by = min(most if beside.complete else 1, low), f"({source})" if source and most <= high else ""
    why = beside.why or _RANGED
    return within(name, least, min(most, high), limit, bound="at least", sure=not beside.why, why=why, by=by)


def _max_stated_zeros(of: Matter, limit: int) -> Finding:
    empty = _beside(of).empty
    name = "cells of statements that leave a class without anybody, or without others,"
    return _most(of, name, len(empty), len(empty) + int((_printed(of)[0] == 0).sum()), empty, limit)


# The checks of this family.
CHECKS = (
    PolicyCheck(
        "MX101", "min_leaf", "records of the smallest leaf", GROUP, _min_leaf,
        "The fewest records of a published leaf. A leaf without records has nobody in it, and is left to MX103. Parts "
        "of a leaf of the tool are one. Of a bootstrap it fails by the draws that are stated, and passes only by the "
        "people who were drawn, where the release states them. People whom a statement is about, and those of a number "
        "that follows from statements, are such a group.",
        "A leaf is a group of people of whom the same is published. Of few people it speaks almost by name.",
        f"safe_threshold of {ACRO}: 10; frequency threshold of {HANDBOOK}; k-anonymity of the {SACRO_ML}.",
        BLUNT,
        statbarn="Frequencies",
    ),
    PolicyCheck(
        "MX102", "min_cell", "smallest count of a class in a leaf", GROUP, _min_cell,
        "The fewest records of a class in a published leaf, zeros apart: the leaves are the rows of a frequency "
        "table, the classes its columns. Of statements the numbers of MX111 count, too. A count that is redacted, as "
        "all below this limit are, is no published count, unless others give it back: limits on certain people (MX202) "
        "judge what whoever has the table knows of it.",
        "A count of one or two in a table tells those whom it counts apart from everybody else.",
        f"safe_threshold of {ACRO}, which is about every cell of a table: 10.",
        f"{BLUNT} Or publish labels in place of counts: `--publish labels`.",
        statbarn="Frequencies",
    ),
    PolicyCheck(
        "MX103", "max_zeros", "counts of 0 of a class in a leaf", LEAVES, _max_zeros,
        "Cells, a leaf and a class, that have no records, and those of MX112. A count that is redacted, and that "
        "nothing gives back, is no 0.",
        "A zero says of everybody in the leaf that they do not have the class.",
        f"zeros_are_disclosive of {ACRO}: true; class disclosure of {HANDBOOK}.",
        "Merge the leaf with its sibling (`maxent defend prune-parent`), or `maxent defend optimal`, which limits "
        "what a leaf gives away.",
        statbarn="Frequencies",
    ),
    PolicyCheck(
        "MX104", "max_pure", "leaves whose people all have one class", LEAVES, _max_pure,
        "Published leaves that have people of one class only; of several sensitive columns, of the one with most. With "
        "them groups of statements of whom that follows.",
        "Whoever knows that a person is there knows the answer, without any computation.",
        f"class disclosure of {HANDBOOK} and of the {SACRO_ML}; homogeneity: Machanavajjhala et al. (2007).",
        "As for MX103.",
        statbarn="Frequencies",
    ),
    PolicyCheck(
        "MX105", "nk_dominance", "share of the n largest contributors to a leaf", _DOMINANCE, _dominance,
        "The largest share that n people have in what a leaf, or a statement, states of a group. To a count each "
        "contributes 1; of other sums only that a group is too small can be told.",
        "Where few people make up a number, each of them can work out the others.",
        f"safe_nk_n = 2, safe_nk_k = 0.9 of {ACRO}; dominance rule of {HANDBOOK}.",
        f"{BLUNT} Means of leaves of a regression cannot be judged: publish classes of bins instead (`bins=`).",
        statbarn="LinearAggregations",
    ),
    PolicyCheck(
        "MX106", "p_ratio", "contributions but the two largest, as a multiple of the largest",
        Limit("a number from 0 to 1", is_number(0, 1), 0.1), _p_ratio,
        "What all but the two largest contributors of a leaf contribute together, as a multiple of the largest one. Of "
        "statements as for MX105.",
        "Otherwise the second largest contributor can estimate the largest one closely.",
        f"safe_pratio_p = 0.1 of {ACRO}; p% rule of {HANDBOOK}.",
        "As for MX105.",
        statbarn="LinearAggregations",
    ),
    PolicyCheck(
        IDS["min_k"], "min_k", "smallest group that is not told apart", GROUP, by_limit("min_k"),
        "The fewest people of the adversary's table whom the release does not tell apart: those in the same leaf, of "
        "several trees in the same leaves, and in the same groups of statements beside them. It cannot be told where "
        "sums such as means give people of a group different weights.",
        "This is k-anonymity as an adversary meets it: several trees divide people further than each of them does.",
        "Sweeney (2002), k-anonymity; Friedman et al. (2006), of decision trees.",
        f"{BLUNT} Of forests, publish fewer trees.",
    ),
    PolicyCheck(
        "MX108", "max_recovered", "leaves that other numbers give back", LEAVES, _max_recovered,
        "Leaves, removed or published, of which inner nodes or other trees tell more than the leaf itself states, and "
        "numbers of statements that were suppressed or rounded and follow, or are printed elsewhere. It cannot be "
        "told of leaves that hide numbers beside statements.",
        "A number that was suppressed protects nobody where it follows from the others.",
        "UK LLC, Statistical Disclosure Control (30 January 2026): masked counts must not be derivable; secondary "
        f"suppression of {HANDBOOK}.",
        "Publish no numbers on inner nodes, or remove leaves in pairs.",
        statbarn="Frequencies",
    ),
    PolicyCheck(
        "MX109", "max_background", "people whom known members of their leaf give away", PEOPLE, _max_background,
        "People in leaves where the classes of `background` members (table [adversary], default 1) settle those of "
        "the others. Of several trees, in the one that gives away most. People in cells of statements, too.",
        "Members of a small group know themselves, and often each other.",
        "Wakabayashi et al. (2024), section 3.",
        BLUNT,
        statbarn="Frequencies",
    ),
    PolicyCheck(
        "MX110", "min_dof", "residual degrees of freedom", GROUP, _min_dof,
        "Records less the numbers that were fitted: a share of each class but one in every leaf, and a test at every "
        "inner node, of all trees. Of a regression beside them its people less its coefficients, if that is fewer.",
        "A model with about as many parameters as records can return the records.",
        f"safe_dof_threshold of {ACRO}: 10; degrees of freedom of the {SACRO_ML}.",
        "Grow fewer or shallower trees, or fit fewer coefficients.",
        statbarn="CorrelationCoefficients",
    ),
    PolicyCheck(
        "MX111", "min_stated_cell", "smallest number of people that follows from statements", GROUP, _min_stated_cell,
        "The fewest people of a class, or of the others beside them, in a cell of a table (listed or not), a share, a "
        "rule or another statement beside trees, or in a group that none is about, such as the difference of two. The "
        "number follows exactly from all that is published, as people are whole; a printed one that is left open (a "
        "rounded count, a share, a rate, a sum), and that of the others beside it, is as small as it can be. It cannot "
        "be told where that was not settled in ten seconds, or where statements tell more than 500 groups apart.",
        "A regression with dummies, or margins beside suppressed cells, give small numbers that nobody printed.",
        f"Threshold of {ACRO}: 10; secondary suppression of {HANDBOOK}.",
        "Print fewer digits, suppress more cells, or leave a statement out: docs/statements.md.",
        statbarn="LinkedMultilevelTables",
    ),
    PolicyCheck(
        "MX112", "max_stated_zeros", "cells of statements with nobody of a class, or nobody else", LEAVES,
        _max_stated_zeros,
        "Cells of statements beside trees, and groups that none is about, in which nobody has a class, or everybody "
        "has it, as follows exactly from all that is published.",
        "Such a cell rules out a class for everybody in it, or gives it away.",
        f"Zeros and full cells: {HANDBOOK}.",
        "As for MX111.",
        statbarn="LinkedMultilevelTables",
    ),
    PolicyCheck(
        "MX120", "no_unnecessary_risk", "hyper-parameters that are not among the riskiest", YES, unnecessary_risk,
        "Whether depth, smallest leaves, trees and the like lie in a region where membership inference did best. The "
        "regions are those of DecisionTreeClassifier, RandomForestClassifier and XGBClassifier. It cannot be told of "
        "other models, or where the file lacks a parameter: skops files and folders of SACRO-ML state them.",
        "Such settings allow a model to be more complex than its purpose needs. The check is about settings: it judges "
        "nobody, and alone it makes no PASS.",
        f"{SACRO_ML}, unnecessary risk; arXiv 2502.09396.",
        "Train with a smaller depth, larger leaves, or fewer trees.",
    ),
    PolicyCheck(
        "MX121", "rounded_to", "multiple that all published numbers of people are rounded to", Limit(
            "a whole number of at least 2, such as 5", is_whole(2), 5
        ), _rounded_to,
        "Whether every count and every n of a node, and every count that follows from its rate, is a multiple of the "
        "limit; of statements all counts that are printed. It cannot be told where a rate is that of several numbers, "
        "or where scores, means or statements that are no counts give numbers, too.",
        "Differences of rounded numbers tell of nobody who joined or left, and small numbers are not exact.",
        "OpenSAFELY, Applying statistical disclosure control (docs.opensafely.org/outputs/sdc): counts are rounded to "
        "the nearest 5; SDC guidance of other environments: base 5 or 10.",
        "Round what is published: `maxent defend ... --publish counts --round-counts 5`.",
        statbarn="Frequencies",
    ),
)  # fmt: skip
