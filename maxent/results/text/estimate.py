"""Text of an estimate, and of the constraints of a program; nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import isfinite, log
from typing import Any

import numpy as np

from maxent.constraints.kinds.registry import kinds_of
from maxent.constraints.program.program import UNPROVED, Program, unread_in
from maxent.disclosure.baseline import HOW_GUESSED
from maxent.disclosure.inference import Inference
from maxent.disclosure.measures import MEASURES
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.display import ROWS, Display, Picture, counted
from maxent.models.tables.cells import value_in_words
from maxent.results.solved import Solved, unread_lines
from maxent.results.text.terminal import print_lines, print_people, print_styled

SHOWN_ROWS = 20
SHOWN_CONTRADICTIONS = SHOWN_STATEMENTS = 10


def print_estimate(estimate: Solved) -> None:
    """Print the posterior, or its surest rows, and what it discloses, to standard output."""
    if estimate.parts is not None:
        print_lines(summary_lines(estimate))
        return
    shown, rest = surest_rows(estimate.order, estimate.probabilities, estimate.program.table.counts)
    print_people(estimate.program.table, estimate.columns, (_cells(estimate, row) for row in shown))
    told = {f"note: {note}" for note in estimate.noticed.notes}
    print_lines([*rest, "", *(line for line in summary_lines(estimate) if line not in told)])


def estimate_display(estimate: Solved) -> Display:
    """An estimate in a console and in a notebook: the surest quasi-identifiers, and what is disclosed."""
    lines = summary_lines(estimate)
    if estimate.parts is not None:
        given = "leaf" if estimate.parts.trees == 1 else "leaves"
        target = estimate.program.release.target.name
        return Display(f"Estimate of P({target} | {given}): {estimate.outcome.status}", lines)
    names = ", ".join(a.name for a in estimate.program.table.attributes)
    shown, _ = surest_rows(estimate.order, estimate.probabilities, estimate.program.table.counts, ROWS)
    rest = len(estimate.order) - len(shown)
    return Display(
        f"Estimate of P({estimate.program.release.target.name} | {names}): {estimate.outcome.status}",
        lines,
        estimate.columns,
        [_cells(estimate, row) for row in shown],
        [f"... the surest; .posterior has {rest} more rows"] * bool(rest) + lines,
        picture=people_by_probability(estimate),
    )


def people_by_probability(estimate: Solved) -> Picture | None:
    """People by the probability of their likeliest class, in tenths; None without people or their probabilities."""
    if estimate.parts is not None or not len(estimate.order):
        return None
    surest = estimate.probabilities[estimate.order].max(axis=1)
    place = np.minimum(np.floor(surest * 10 + 1e-9).astype(np.int64), 9)
    people = np.bincount(place, estimate.program.table.counts[estimate.order], 10)
    bars = [(f"{i / 10:.1f} to {(i + 1) / 10:.1f}", float(people[i])) for i in range(int(place.min()), 10)]
    return Picture("people by the probability of their likeliest class", bars)


def _cells(estimate: Solved, row: int) -> list[str]:
    """A quasi-identifier, its individuals and its probabilities as text."""
    known = len(estimate.program.table.attributes) + 1
    values = estimate.row(row)
    texts = [value_in_words(value) for value in values[:known]]
    return texts + [f"{value:.3f}" for value in values[known:]]


def surest_rows(
    order: IntArray, chance: FloatArray, counts: IntArray, most: int = SHOWN_ROWS
) -> tuple[list[int], list[str]]:
    """The quasi-identifiers to show (rows of the table), and a line that says what was left out.

    ``order`` has all of them. ``chance``, shape (n_quasi_identifiers, n_classes), and ``counts``, of all rows: the
    surest come first, and of these those of most people.
    """
    if len(order) <= most:
        return order.tolist(), []
    first = np.lexsort((-counts[order], -chance[order].max(axis=1)))
    text = f"... the {most} surest of {len(order)} quasi-identifiers; -o FILE writes all of them"
    return order[first[:most]].tolist(), [text]


def contradiction_lines(found: Sequence[object]) -> list[str]:
    """Statements that contradict each other, the first of them, under a heading; nothing where there are none."""
    more = len(found) - SHOWN_CONTRADICTIONS
    lines = [f"  {each}" for each in found[:SHOWN_CONTRADICTIONS]]
    return [*["contradictions:"] * bool(found), *lines, *[f"  and {more} more"] * (more > 0)]


def summary_lines(estimate: Solved) -> list[str]:
    """The disclosure by a release, in plain language."""
    program, found = estimate.program, estimate.disclosure
    target = in_sentence(program.release.target.name)
    proved = 0 if estimate.proof is None else estimate.proof.certain_proved
    many = max(found.certain, proved)
    certain = f"the {target} of {many:,} is certain" if many else f"nobody's {target} is certain"
    parts, kinds = estimate.parts, kinds_of(program)
    distinct = program.table.distinct if parts is None else parts.distinct
    lines = [
        f"{counted(program.individuals, 'individual')}, {counted(distinct, 'distinct quasi-identifier')}; {certain}",
        f"an adversary who guesses by this estimate expects to be right for {_percent(found.bayes_vulnerability)} "
        f"of them ({_guesses(estimate)})",
        *_proof_lines(estimate),
        *_divergence_lines(estimate),
        *_truth_lines(estimate),
        *_evidence_of(estimate),
        f"largest posterior {1.0 if proved else found.max_posterior:.3f}; "
        f"doubt left {of_most(found.entropy, program.n_classes)} (0 %: all is known, 100 %: nothing)",
        "; ".join(
            f"{m.title} {m.text(found.measures[m.key])}"
            for m in MEASURES.values()
            if m.key in found.measures and m.line == "always" and not m.sentence
        ),
        "constraints: " + kinds_line(kinds if parts is None else {**kinds, "qi": distinct}),
        f"{_solver(estimate)}: {worth(estimate)}; largest violation {estimate.outcome.violation:.1e}",
        *_mean_lines(estimate),
        *map(target_line, estimate.targets.values()),
    ]
    lines += unread_lines(estimate, unread_in(estimate.noticed, program))
    lines += [f"note: {note}" for note in estimate.notes]
    lines += contradiction_lines(estimate.contradictions)
    return lines if parts is None else [*lines, *parts.lines]


def _proof_lines(estimate: Solved) -> list[str]:
    """What is proved over all data that are consistent with the release."""
    proof, target = estimate.proof, in_sentence(estimate.program.release.target.name)
    if proof is None:
        return []
    if proof.status == "inconsistent":
        return ["nothing is proved: the statements contradict each other or the table"]
    proved, undecided = proof.certain_proved, proof.individuals_open
    whom = f"the {target} of {proved:,} is certain" if proved else f"nobody's {target} is certain"
    late = " (stopped early: more may be)" if proof.status != "proved" else ""
    left = f"bounds differ for {counted(undecided, 'individual')}" if undecided else "every number of people is known"
    return [f"proved of all data that agree with this: {whom}{late}; {left}"]


def in_sentence(title: str) -> str:
    """The name of a target within a sentence."""
    return title.lower() if title.istitle() and len(title) > 1 else title


def target_line(inferred: Inference, how: str = "by itself") -> str:
    """What is inferred of one of several sensitive columns, or of all together."""
    found, target = inferred.disclosure, in_sentence(inferred.program.release.target.name)
    certain = f"that of {found.certain:,} is certain" if found.certain else "nobody's is certain"
    base = found.measures.get("base_rate")
    known = "not known" if base is None else _percent(base)
    blind = f"base rate {known}, uniform guess {_percent(1 / inferred.program.n_classes)}"
    right = f"expected right guesses {_percent(found.bayes_vulnerability)} ({blind})"
    gone = ""
    if found.divergence is not None:
        overall = found.divergence.overall
        gone = f"; overall divergence {'inf' if overall is None else f'{overall:.4f}'}"
    return f"the {target} {how}: {certain}; largest posterior {found.max_posterior:.3f}; {right}{gone}"


def kinds_line(kinds: Mapping[str, int]) -> str:
    """Number of constraints of each kind that has any: ``7 qi, 5 label``."""
    return ", ".join(f"{number} {kind}" for kind, number in kinds.items() if number)


def _divergence_lines(estimate: Solved) -> list[str]:
    found, individual = estimate.disclosure.divergence, estimate.disclosure.individual
    if estimate.parts is not None and estimate.parts.far is not None:
        overall = estimate.parts.far["overall"]
        told = "inf" if overall is None else f"{overall:.4f}"
        return [f"overall divergence from the truth {told}: the smaller, the more is disclosed"]
    if found is None or individual is None:
        return []
    if found.overall is None:
        what = counted(found.infinite, "quasi-identifier")
        lines = [f"overall divergence from the truth inf: the estimate rules out what is true of {what}"]
    else:
        lines = [f"overall divergence from the truth {found.overall:.4f}: the smaller, the more is disclosed"]
    table = estimate.program.table
    if len(table) <= SHOWN_ROWS:
        worst = found.top[0]
        return [*lines, f"largest divergence {individual[worst]:.4f} ({table.describe(worst)})"]
    lines.append("largest divergences:")
    return lines + [f"  {individual[row]:.4f}  {table.describe(row)}" for row in found.top]


def of_most(entropy: float, n_classes: int) -> str:
    """An entropy as a share of the largest that so many classes can have, for people to read."""
    return f"{100 * entropy / log(n_classes) if n_classes > 1 else 0.0:.2f} %"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _guesses(estimate: Solved) -> str:
    """What guesses without the release achieve, in words."""
    before = estimate.baseline
    uniform = f"uniform guess {_percent(1 / estimate.program.n_classes)}"
    if before is None or before.base_rate is None:
        return f"{uniform}; nothing states the base rate"
    return f"base rate {_percent(before.base_rate)} {before.how}, {uniform}"


def _truth_lines(estimate: Solved) -> list[str]:
    """Right guesses about real people, in words."""
    held, before = estimate.held, estimate.baseline
    if held is None:
        return []
    people = estimate.program.individuals
    share, how = held.right.sum() / people, HOW_GUESSED[held.way]
    pure = int(estimate.program.table.counts[held.pure].sum())
    above = f"{100 * (share - 1 / estimate.program.n_classes):+.1f} from a uniform guess"
    if before is not None and before.base_rate is not None:
        above = f"{100 * (share - before.base_rate):+.1f} points from the base rate, {above}"
    return [f"in truth, guesses {how} are right for {_percent(share)} of them, {above}; {pure:,} are in pure leaves"]


def evidence_lines(row: Mapping[str, Any]) -> list[str]:
    """What a disclosure is compared with, in words: the keys that are there of a row of a comparison.

    They are ``control``, ``wp216``, ``sensitive`` (with ``uniform``) and ``leakage``.
    """
    lines = []
    if "control" in row:
        lines.append(f"the same guesses are right for {_beside(row['control'], 'of the people in the data and for')}")
    if "wp216" in row:
        from maxent.attacks.wp216 import TITLES

        named = (f"{TITLES[key].lower()} {_risk(risk)}" for key, risk in row["wp216"].items())
        lines.append(f"the three risks of the Article 29 Working Party (WP216): {'; '.join(named)}")
    if "sensitive" in row:
        lines += _sensitive_lines(row["sensitive"], row["uniform"])
    if "leakage" in row:
        lines.append(_gain_line(row["leakage"]))
    return lines


def _evidence_of(estimate: Solved) -> list[str]:
    """The same of an estimate, and the capacity of its release."""
    known = {
        "control": estimate.control,
        "wp216": estimate.wp216,
        "sensitive": estimate.sensitive,
        "leakage": estimate.leakage,
    }
    row = {key: found.as_dict() for key, found in known.items() if found is not None}
    lines = evidence_lines({**row, "uniform": 1 / estimate.program.n_classes})
    return lines if estimate.min_capacity is None else [*lines, f"min-capacity {estimate.min_capacity:.4f} bits"]


def _risk(risk: Mapping[str, Any]) -> str:
    """One of the three risks of WP216."""
    if risk["interval"] is None:
        return _percent(risk["members"])
    low, high = (100 * end for end in risk["interval"])
    return f"{_percent(risk['members'])}, of others {_percent(risk['controls'])} ({low:+.1f} to {high:+.1f} points)"


def _sensitive_lines(found: Mapping[str, Any], uniform: float) -> list[str]:
    """What is disclosed about sensitive classes alone."""
    right, base, classes = found["right_guesses"], found["base_rate"], ", ".join(found["classes"])
    how = "guesses expect to find" if right is None else "guesses find"
    share = found["bayes_vulnerability"] if right is None else right
    pure = "" if found["pure"] is None else f"; {found['pure']:,} are in pure leaves"
    known = "base rate not known" if base is None else f"base rate {_percent(base)}"
    lines = [
        f"of {classes} alone: {found['certain']:,} are certain, largest posterior {found['max_posterior']:.3f}, {how} "
        f"{_percent(share)} of these people ({known}, uniform guess {_percent(uniform)}){pure}"
    ]
    if "control" in found:
        lines.append(
            f"of {classes} alone: the same guesses find {_beside(found['control'], 'of those in the data and')}"
        )
    return lines


def _beside(control: Mapping[str, Any], whom: str) -> str:
    """Shares of members and of control people, and the difference with its interval."""
    low, high = (100 * end for end in control["interval"])
    return (
        f"{_percent(control['members'])} {whom} {_percent(control['controls'])} of "
        f"{control['individuals']['controls']:,} others: a difference of {100 * control['difference']:+.1f} points, "
        f"{low:+.1f} to {high:+.1f} with {100 * control['confidence']:g} % confidence"
    )


def _gain_line(leak: Mapping[str, float | None]) -> str:
    """The key ``leakage`` of a JSON summary."""
    times = "" if leak["multiplicative"] is None else f", {leak['multiplicative']:.3f} times as much"
    real = "" if leak["realised"] is None else f"; {leak['realised']:.4f} in truth"
    blind = f"{leak['prior']:.4f} by the base rate{times}, {leak['uniform']:.4f} of a uniform guess"
    return f"gain of the best guesses {leak['posterior']:.4f}, {blind}{real}"


def _solver(estimate: Solved) -> str:
    return (
        "solved in closed form"
        if estimate.outcome.closed_form
        else f"solved by {estimate.backend.replace('+', ' and ')}"
    )


def _mean_lines(estimate: Solved) -> list[str]:
    if estimate.optima == 1:
        return []
    number = f"{estimate.optima:,}" if estimate.optima < 10**9 else "more than a thousand million"
    return [f"the probabilities are the mean of {number} optima, which differ in classes that no statement tells apart"]


def worth(estimate: Solved) -> str:
    """The certificate of the answer, in words."""
    if estimate.certificate == "global":
        return "the global optimum" + (" of a convex problem" if estimate.outcome.convex else ", proved by a bound")
    if estimate.certificate == "gap" and estimate.program.likelihood is not None:
        gap = estimate.outcome.duality_gap
        return f"entropy and likelihood together at most {gap:.1e} per person below the largest"
    if estimate.certificate == "gap":
        optimum = "the optimum but for rounding" if estimate.outcome.convex else "a local optimum"
        return f"{optimum}, which can leave at most {of_most(estimate.most_entropy, estimate.program.n_classes)} doubt"
    if estimate.certificate == "local":
        return "a local optimum"
    status = {
        "inconsistent": "inconsistent statements",
        "not_converged": "not converged",
        "time_limit": "stopped at the time limit",
        "interrupted": "interrupted",
    }
    return status.get(estimate.outcome.status, estimate.outcome.status) + ", not to be relied on" + _far(estimate)


def _far(estimate: Solved) -> str:
    """How far an estimate came that was stopped early, in words."""
    outcome = estimate.outcome
    if outcome.status not in ("time_limit", "interrupted"):
        return ""
    finite = isfinite(outcome.entropy_upper_bound) and estimate.program.likelihood is None
    most = of_most(estimate.most_entropy, estimate.program.n_classes) if finite else ""
    known = f"; the optimum leaves at most {most} doubt" if finite else ""
    return f"; {counted(outcome.iterations, 'step')}{known}"


# Every constraint of a program for people to read.


def print_explanation(program: Program, found: Mapping[str, Any]) -> None:
    """Print what `maxent.results.explanation.explain` found to standard output, grouped by origin."""
    print_styled(_lines(program, found))


def _leaf_lines(leaves: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What leaves state and what of it is compiled, a line for trees that are alike."""

    def told(row: Mapping[str, Any]) -> str:
        states, compiled, unread = (
            ", ".join(f"{what} {many:,}" for what, many in row[key].items()) for key in ("states", "compiled", "unread")
        )
        text = f"{counted(row['leaves'], 'leaf', 'leaves')}; stated: {states or 'nothing'}"
        text += f"; compiled, in rows: {compiled or 'nothing'}"
        return text + (f"; not read: {unread}" if unread else "")

    for text, group in groupby(leaves, told):
        first, *rest = (row["tree"] for row in group)
        yield f"tree{'s' * bool(rest)} {first}{f' to {rest[-1]}' if rest else ''}: {text}"


def _document_line(document: Mapping[str, Any]) -> str:
    """A file of statements: what they are, and where they were published."""
    shown = [f"{each['kind']} ({each['source']})" for each in document["statements"][:SHOWN_STATEMENTS]]
    more = len(document["statements"]) - len(shown)
    many = f"{counted(len(document['statements']), 'statement')}; compiled, in rows: {document['rows'] or 'nothing'}"
    return f"{document['file']}: {many}; {', '.join(shown)}" + (f" and {more:,} more" if more else "")


def _of_origin(program: Program, first: Mapping[str, Any]) -> int:
    """People whom rows of one origin are about; those of a statement may be about different ones."""
    held = [
        said.region for said in program.linear if said.kind == first["kind"] and str(said.origin) == first["origin"]
    ]
    if first["kind"] != "statements" or len(held) < 2:
        return int(first["individuals"])
    cells = np.unique(np.concatenate([program.regions[region] for region in held]))
    return round(float(program.weight[cells].sum()))


def _lines(program: Program, found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Lines, each with its style."""
    split = {(t, node.id): node.attribute for t, tree in enumerate(program.release.trees, 1) for node in tree.nodes}
    for (number, node, origin), group in groupby(found["list"], lambda row: (row["tree"], row["node"], row["origin"])):
        rows = list(group)
        attribute = split.get((number, node))
        people = counted(_of_origin(program, rows[0]), "individual")
        yield f"{origin}: {people}" + (f", split by {attribute}" if attribute else ""), "bold"
        for row in rows:
            rows_of = f" ({row['rows']} rows)" if row["rows"] > 1 else ""
            yield f"  {row['kind']:<9} {row['says']}{rows_of}", ""
    yield "", ""
    for line in (*_leaf_lines(found["leaves"]), *map(_document_line, found["statements"])):
        yield line, ""
    for unread in program.unread:
        yield unread.in_words({"why": ""}), ""
    yield "constraints: " + kinds_line(found["constraints"]), ""
    for note in found["notes"]:
        yield f"note: {note}", ""
    for contradiction in program.contradictions[:SHOWN_CONTRADICTIONS]:
        yield f"contradiction: {contradiction}", ""
    if (more := len(program.contradictions) - SHOWN_CONTRADICTIONS) > 0:
        yield f"and {more} more contradictions", ""
    together = found["contradictions"][len(program.contradictions) :]
    if len(together) == 1:
        one = together[0]
        yield f"contradiction: {one['origin']}: statement: expected {one['expected']}, found {one['says']}", ""
    elif together:
        of = " of whole people" * together[0]["expected"].startswith("what can be true of whole people")
        doubt = UNPROVED * together[0]["expected"].endswith(UNPROVED)
        yield f"contradiction: {len(together)} statements cannot be true{of} together{doubt}:", ""
        for each in together:
            yield f"  {each['origin']}: {each['says']}", ""
