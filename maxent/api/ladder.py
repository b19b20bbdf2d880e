"""What the adversaries of the ladder infer who know less, or more, than the table: their figures, once asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.api.case import Case, Tables
from maxent.api.compile import Interrupted, Knowledge, compile_case
from maxent.api.estimate import Solving, estimate_case
from maxent.constraints.compiler import has_likelihood
from maxent.constraints.program.program import Linear, Program
from maxent.constraints.program.residuals import Evaluator
from maxent.disclosure.baseline import baseline_of
from maxent.disclosure.inference import measure
from maxent.disclosure.ladder import EXACT, Figures, as_badly_off, proved_of, worst_first
from maxent.disclosure.limits import Limits
from maxent.disclosure.measures import TOLERANCE
from maxent.disclosure.sensitive import judged_alone
from maxent.disclosure.truth import answered, right_by, shared
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.display import counted
from maxent.models.errors import InvalidInput, NoAnswerInTime
from maxent.models.release import Attribute, Branch, Node, Release, Tree
from maxent.models.tables.cells import own_names
from maxent.models.trees.predict import answers_at, predicts_numbers, states_answers, states_shares
from maxent.results.estimate import Estimate
from maxent.results.reliability import unwarned
from maxent.results.solved import Drawing, assessed_numbers, with_proved, worst_off

if TYPE_CHECKING:
    from maxent.api.population import PopulationFigures

# Seconds that the estimate of an adversary other than the first may take.
SECONDS = 10.0
# Quasi-identifiers times pairs of classes of which it is asked whether somebody can have another class.
LARGEST = 50_000_000
# Cells, times comparisons of splits with somebody in another class, that are evaluated.
COMPARED = 20_000_000
# Individuals by which a statement may be missed, as a share of those it is about: the error of computing it.
MET = 1e-9

NO_REGISTER = "no register of the population was given (--population)"
NOT_PLACED = "there was no time to place people in leaves"
NO_ORDER = "the file tells nothing about the order of rows: who knows it infers what the table tells"
NO_SEED = (
    "the file does not say who was drawn for each tree, without which the order tells nothing more than the table; "
    "whoever finds the seed by trying, a small random_state at once, does infer more (docs/seeds.md)"
)
NO_ANSWERS = "statements without a tree predict nothing"
NOT_TRIED = "nobody computed what draws tell of the rows"


@dataclass(eq=False)
class Climb:
    """The figures of all adversaries but that of the verdict, each found when it is asked for, once.

    ``case`` is as the adversary with the table knows it, but for the base rate; ``register`` is figures, or why there
    are none.
    """

    case: Case
    known: Knowledge
    solving: Solving
    rows: Callable[[], Case]
    drawing: Drawing | None = None
    told: bool = False
    program: Program | None = None
    register: PopulationFigures | str = NO_REGISTER
    _found: dict[tuple[str, bool], Figures] = field(default_factory=dict, init=False, repr=False)

    def __call__(self, adversary: str, *, named: bool = False) -> Figures:
        """The figures of an adversary; ``named``: whether a limit names it, so that more time is taken."""
        key = (adversary, named and adversary == "rows")
        if key not in self._found:
            with unwarned():
                found = self._figures(*key)
            known = found.right_guesses is not None and self.base_rate is not None
            found = replace(found, base_rate=self.base_rate) if known else found
            taken = {"no_marginal": True} if found.row and self.known.no_marginal else {}
            self._found[key] = replace(found, row={**found.row, **taken})
        return self._found[key]

    @property
    def base_rate(self) -> float | None:
        """The share of the most frequent class in truth, beside which all rungs stand; None without the truth."""
        truth = self.case.truth
        return None if truth is None else float(truth.sum(axis=0).max() / truth.sum())

    @property
    def informed(self) -> bool:
        """Whether who has the table knows how many people have each class, which is not published."""
        return self.known.of_verdict(self.case).of_each_class is not None

    def _figures(self, adversary: str, named: bool) -> Figures:
        if adversary == "population":
            return self._population()
        if adversary != "rows" and not self.case.placed:
            return Figures(missing=NOT_PLACED)
        try:
            if adversary == "rows":
                return self._rows(named)
            return self._predictions() if adversary == "predictions" else self._all_but_one()
        except NoAnswerInTime as error:
            return Figures(missing=str(error))
        except Interrupted:
            return Figures(missing="interrupted")

    def _population(self) -> Figures:
        """Who has a register in which the people of the table are somewhere."""
        found = self.register
        if isinstance(found, str):
            return Figures(missing=found)
        if found.why:  # what was proved holds
            proved = Figures(certain_proved=found.certain_proved, note=found.why, row=found.row)
            return proved if found.row else Figures(missing=found.why)
        note = f"largest P(member) {found.membership['largest']:.3f}"
        one = (found.certain, found.certain_proved, found.right_guesses, found.base_rate, found.worst)
        return Figures(*one, note=note, row=found.row, alike=found.alike)

    # Rows in training order.

    def _rows(self, named: bool) -> Figures:
        """Who knows the order of the rows: the equations of draws alone, or, where a limit asks, an estimate."""
        if not self.told:
            return Figures(missing=NO_ORDER if self.case.release.resampled is None else NO_SEED)
        if named and self.case.release.draws is not None:
            try:
                return _of_estimate(self._estimate(self.rows(), self.known))
            except InvalidInput as error:
                return Figures(missing=f"not tried: {error.problems[0].field}: {error.problems[0].found}")
        reached = None if self.drawing is None else self.drawing()[0]
        if reached is None or reached.proved is None:
            return Figures(missing=NOT_TRIED if reached is None else reached.why)
        note = "by equations alone: a limit for these rows, or --rows, has the estimate, too"
        told = "; ".join(filter(None, (note, reached.why)))
        row = {"individuals": self.case.people.individuals}
        return Figures(certain_proved=reached.proved, worst=reached.first, note=told, row=row)

    def _estimate(self, case: Case, known: Knowledge) -> Estimate:
        limit = self.solving.time_limit
        how = replace(self.solving, time_limit=SECONDS if limit is None else min(SECONDS, limit), bounds=None)
        return estimate_case(known.of_verdict(case), known, how)

    # Predictions: answers of the model for any input.

    def _predictions(self) -> Figures:
        """Who has the table, and asks the model: of a tree with the counts of these people, a release of one split.

        Other answers are believed as they are, and prove nothing.
        """
        if not states_answers(self.case.release):
            return Figures(missing=NO_ANSWERS)
        case, cells = self.case, self.case.cells()
        answers, codes = answers_at(case.release, list(cells.leaf.T), len(cells))
        told = answers_of(case.release)
        if told is None or len(cells) > len(case.people):
            sure = told is not None and all(node.counts is not None for node in told)
            return self._believed(answers, codes, sure=sure)
        answer, table = grouped(case, told)
        estimate = self._estimate(table, replace(self.known, impurity=None, noise=None))
        worst, alike = _worst(case, estimate.probabilities[answer], estimate.proved_codes[answer])
        note = f"{counted(len(table.people), 'different answer')} of one tree, whose leaves count these people"
        return replace(_of_estimate(estimate), worst=worst, note=note, alike=alike)

    def _believed(self, answers: FloatArray, codes: IntArray, *, sure: bool) -> Figures:
        """Answers taken for probabilities: their mean over all inputs that somebody may have.

        An answer without probabilities, a number or a class, is a guess: it tells nothing but how frequent classes are.
        """
        case, cells = self.known.of_verdict(self.case), self.case.cells()
        owner = cells.owner
        counts, n_classes = case.people.counts, answers.shape[1]
        total = np.zeros((len(counts), n_classes))
        np.add.at(total, owner, answers)
        votes = answered(answers, codes, owner, np.ones(len(cells)))
        posterior = total / total.sum(axis=1, keepdims=True)
        right = None
        if case.truth is not None:
            right = (case.truth * votes).sum(axis=1)
            by_shares = right_by(posterior, case.truth)
            right = right if right.sum() >= by_shares.sum() else by_shares
        base = baseline_of(n_classes, int(counts.sum()), marginal=case.of_each_class, truth=case.truth)
        guessed = np.zeros(len(counts), bool)
        kinds = self.known.kinds
        guessed[owner[~gives_probabilities(case.release, cells.leaf, kinds)]] = True
        blind = base.shares is None or (kinds is not None and "marginal" not in kinds)
        posterior[guessed] = 1 / n_classes if blind else base.shares
        found = measure(posterior, counts, case.truth, right=right, baseline=base)
        proved = np.zeros(len(counts), bool)
        if sure:  # every input that somebody may have gets one and the same certain answer
            least = np.ones((len(counts), n_classes))
            np.minimum.at(least, owner, answers)
            proved = (least == 1.0).any(axis=1) & ~guessed
        row: dict[str, Any] = {
            **{"release": "predictions", "status": "optimal", "individuals": int(counts.sum()), "base_rate": None},
            **found.measures,
            **{"possible_posterior": 1.0, "possible_certain": int(counts.sum()), "possible_right": 1.0},
            **{"proved_least": int(counts[proved].sum()), "exposed": int(counts[proved].sum()), "surest": None},
            "proved_most": int(counts.sum()),
        }
        codes = np.where(proved, posterior.argmax(axis=1), -1)
        if case.sensitive:
            of_each, hit = None if base.shares is None else np.array(base.shares), None
            if case.truth is not None:
                hits = [(case.truth * guess).sum(axis=0) for guess in (votes, shared(posterior))]
                of_each, hit = case.truth.sum(axis=0), max(hits, key=lambda each: each[list(case.sensitive)].sum())
            alone = judged_alone(case.sensitive, counts, posterior, codes, of_each=of_each, right=hit)
            row["sensitive"] = {**alone, "proved_most": int(counts.sum())}
        many = "one tree" if len(case.release.trees) == 1 else f"{len(case.release.trees)} trees together"
        if guessed.all():
            note = (
                f"answers of {many} are guesses without probabilities, which make nobody certain and rule nothing out"
            )
            right_guesses = row.get("right_guesses")
            return Figures(row["certain"], proved_of(row), right_guesses, row["base_rate"], note=note, row=row)
        note = f"answers of {many}, taken as they are: nothing is proved by them that is not proved of the table"
        if guessed.any():
            note += f"; to {int(counts[guessed].sum()):,} people some are guesses without probabilities"
        right_guesses = row.get("right_guesses", found.bayes_vulnerability)
        who, alike = _worst(case, posterior, codes)
        one = (found.certain, proved_of(row), right_guesses, row["base_rate"], who)
        return Figures(*one, note=note, row=row, alike=alike)

    # Everybody but one.

    def _all_but_one(self) -> Figures:
        """Which classes of each person agree with all that is stated, where the class of everybody else is known."""
        case, truth = self.case.not_knowing_classes(), self.case.truth
        if truth is None:
            return Figures(missing="nothing says what the classes of the others are (--truth)")
        release = case.release
        if release.sampling_rate < 1 or release.noise is not None or (release.target.numbers and release.sampled):
            return Figures(missing="numbers of a sample are intervals, which no single class breaks for sure")
        if case.people.individuals and len(truth) * truth.shape[1] ** 2 > LARGEST:
            return Figures(missing=f"there are more than {LARGEST:,} pairs of a person and another class")
        from maxent.solvers.certainty.exchange import false_statements

        program, drawn = self.program, has_likelihood(case.release)
        known = replace(self.known, noise="likelihood") if drawn else self.known
        if known.kinds and "marginal" in known.kinds:
            known = replace(known, knowledge=[kind for kind in known.kinds if kind != "marginal"])
            program = None
        if program is None or self.informed or (drawn and program.likelihood is None):
            program = compile_case(case, known)
        if next(false_statements(program, truth), None) is not None:
            return Figures(missing="the classes of the table do not agree with what is stated")
        return _of_others(case, program, *classes_left(program, truth))


def _worst(case: Case, posterior: FloatArray, codes: IntArray) -> tuple[dict[str, Any], int]:
    """Whoever is worst off, and how many people are as badly off; ``codes``: the classes that are proved, or -1.

    Of sensitive classes alone where some are named.
    """
    table, some = case.people, list(case.sensitive or range(posterior.shape[1]))
    proved = np.isin(codes, some)
    surest = np.where(codes >= 0, proved.astype(np.float64), posterior[:, some].max(axis=1))
    q = int(worst_first(surest, proved, table.lines)[0])
    best = int(codes[q]) if proved[q] else some[int(posterior[q, some].argmax())]
    who = {"qi": table.named(q), "people": int(table.counts[q]), "class": case.release.target.classes[best]}
    who |= {"probability": float(surest[q])} | ({"proved": True} if proved[q] else {})
    return who, as_badly_off(q, surest, proved, table.counts)


def _of_estimate(estimate: Estimate) -> Figures:
    """The figures of an estimate with the attacks on the same case."""
    attacks = {} if estimate.attacks is None else estimate.attacks()
    row = {"release": "release", **assessed_numbers(estimate, attacks)}
    row = with_proved(estimate, estimate.proved(row, Limits(max_certain=0)))
    right, (who, alike) = row.get("right_guesses", row.get("bayes_vulnerability")), worst_off(estimate)
    return Figures(row["certain"], proved_of(row), right, row.get("base_rate"), who, row=row, alike=alike)


# Answers of a single tree as a release: one split, on the answer.


def answers_of(release: Release) -> list[Node] | None:
    """What the answer of each leaf states of its people, a leaf with it; None of answers that state nothing.

    That is shares, rates or errors as printed, or that no class is more frequent than the label.
    """
    whole = not (release.sampled or release.blurred) and release.labels == "majority" and release.boosting is None
    if len(release.trees) != 1 or not whole or release.predicts in ("vote", "score") or release.target.of:
        return None
    [tree] = release.trees
    if any(branch.child is None for node in tree.nodes for branch in node.branches):
        return None  # whoever is in a leaf that was removed gets the answer of others
    found = []
    for leaf in tree.leaves:
        if leaf.counts is not None and any(leaf.counts.values()):
            found.append(Node("", counts=leaf.counts))
        elif leaf.rates is not None or leaf.label is not None:
            found.append(Node("", label=leaf.label, error_rate=leaf.error_rate, rates=leaf.rates))
        else:
            return None
    return found


def gives_probabilities(release: Release, reached: IntArray, kinds: Sequence[str] | None = None) -> BoolArray:
    """Whether the answers of all trees at the places of cells are probabilities: numbers and bare classes are not.

    Nor are shares of counts that were rounded or suppressed: 0 of 15 may be 2. ``kinds`` is what is known of what is
    published: nobody is told by an answer what they are not told of a leaf.

    ``reached`` and the result have the shapes (n_cells, n_trees) and (n_cells,).
    """
    if release.blurred or predicts_numbers(release) or (release.predicts == "vote" and len(release.trees) == 1):
        return np.zeros(len(reached), bool)
    counted_, rated = (kinds is None or kind in kinds for kind in ("counts", "rate"))
    if release.predicts == "score":
        return np.full(len(reached), counted_ and states_shares(release))
    found = np.ones(len(reached), bool)
    for tree, place in zip(release.trees, reached.T, strict=True):
        told = [
            (n.counts if counted_ or rated else None, *((n.rates, n.error_rate) if rated else ())) for n in tree.nodes
        ]
        said = [n.is_leaf and all(x is None for x in each) for n, each in zip(tree.nodes, told, strict=True)]
        bare = np.full(max(len(said), int(place.max()) + 1), any(said))  # a removed leaf has the answer of others
        bare[: len(said)] = said
        found &= ~bare[place]
    return found


def _key(told: Node, classes: Sequence[str]) -> object:
    """What tells an answer from others."""
    if told.counts is not None:
        return tuple(told.counts[c] / sum(told.counts.values()) for c in classes)
    return told.label, told.error_rate, None if told.rates is None else tuple(sorted(told.rates.items()))


def grouped(case: Case, told: list[Node]) -> tuple[IntArray, Case]:
    """The answer of each quasi-identifier, shape (n_qi,), and the case of somebody who knows that of the people alone.

    ``told``: what the answer of each leaf states, which is true of all who get the same one, together.
    """
    import pandas as pd

    release, cells = case.release, case.cells()
    [tree] = release.trees
    of_leaf = np.full(len(tree.nodes), -1)
    of_leaf[[i for i, node in enumerate(tree.nodes) if node.is_leaf]] = np.arange(len(told))
    number: dict[object, int] = {}
    same = np.array([number.setdefault(_key(each, release.target.classes), len(number)) for each in told])
    answer = np.empty(len(case.people), np.int64)
    answer[cells.owner] = same[of_leaf[cells.leaf[:, 0]]]
    used, answer = np.unique(answer, return_inverse=True)
    answer = answer.ravel().astype(np.int64)
    sizes = np.bincount(answer, case.people.counts).astype(np.int64)
    names = tuple(f"answer {i + 1}" for i in range(len(used)))
    classes, of_people = release.target.classes, release.target.name
    [column] = own_names(["answer"], [of_people])
    [people] = own_names(["people"], [of_people, column])

    def leaf(i: int) -> Node:
        said, n = told[int(np.flatnonzero(same == used[i])[0])], int(sizes[i])
        if said.counts is not None:
            shares = [n * said.counts[c] / sum(said.counts.values()) for c in classes]
            return Node(names[i], counts={c: round(share) for c, share in zip(classes, shares, strict=True)})
        return replace(said, id=names[i], n=None if said.rates is None and said.error_rate is None else n)

    branches = tuple(Branch(name, values=(name,)) for name in names)
    nodes = (Node("root", column, branches), *map(leaf, range(len(used))))
    asked = Release(release.target, (Attribute(column, values=names),), (Tree(nodes),))
    table, truth = pd.DataFrame({column: names, people: sizes}), None
    if case.truth is not None:
        of_each = np.zeros((len(used), len(classes)), np.int64)
        np.add.at(of_each, answer, case.truth)
        at, code = np.nonzero(of_each)
        values: dict[str, Any] = {column: np.array(names, object)[at], of_people: np.array(classes, object)[code]}
        truth = pd.DataFrame(values | {people: of_each[at, code]})
    found = Tables(table, truth, count=people).case(asked)
    return answer, replace(found, marginal=case.marginal, sensitive=case.sensitive, in_order=None)


# Which classes of one person agree with all that is stated, everybody else's being known.


def classes_left(program: Program, truth: IntArray) -> tuple[BoolArray, bool]:
    """Whether somebody can have each class while everybody else has the true one, shape (n_qi, n_classes, n_classes).

    What was not evaluated allows everything, as the second answer says. The truth satisfies the program.
    """
    n_classes, cells = program.n_classes, program.cells
    left = np.ones((len(truth), n_classes, n_classes), bool)
    full = not program.unfinished and program.likelihood is None
    many = np.bincount(cells.owner, minlength=len(truth))
    for said in program.linear:
        owner, here = np.unique(cells.owner[program.regions[said.region]], return_counts=True)
        if said.weights is None and (here == many[owner]).all():
            left[owner] &= ~_broken(said, truth[owner].sum(axis=0).astype(np.float64))
        elif program.single and said.weights is not None:
            region = program.regions[said.region]
            people = truth[cells.owner[region]].astype(np.float64)
            left[cells.owner[region]] &= ~_broken_weighted(said, said.weights, people)
        else:
            full = False
    some = np.arange(n_classes)
    left[:, some, some] = True
    if program.internal:
        compared = program.single and _compare(program, truth, left)
        full = full and compared
    return left, full


def _broken(said: Linear, people: FloatArray) -> BoolArray:
    """Whether somebody of one class who had another would break a statement, shape (n_classes, n_classes)."""
    value = said.coef @ people
    slack = MET * max(1.0, float(people.sum()))
    moved = value[:, None, None] + said.coef[:, None, :] - said.coef[:, :, None]
    low, high = said.lower[:, None, None] - slack, said.upper[:, None, None] + slack
    return np.asarray(((moved < low) | (moved > high)).any(axis=0))


def _broken_weighted(said: Linear, weights: FloatArray, people: FloatArray) -> BoolArray:
    """The same of a statement that weighs cells, shape (n_cells, n_classes, n_classes)."""
    broken = np.zeros((len(people), people.shape[1], people.shape[1]), bool)
    for coef, lower, upper in zip(said.coef, said.lower, said.upper, strict=True):
        each = coef * weights
        value, slack = float((each * people).sum()), MET * max(1.0, float(people.sum()))
        moved = value + each[:, None, :] - each[:, :, None]
        broken |= (moved < lower - slack) | (moved > upper + slack)
    return broken


def _compare(program: Program, truth: IntArray, left: BoolArray) -> bool:
    """Take out classes with which a split would not have been chosen; whether all were tried."""
    from maxent.solvers.worlds.part import TIED

    rows, owner = Evaluator(program).internal, program.cells.owner
    least = TIED if program.ties == "first" else -TIED
    masses = truth[owner].astype(np.float64)
    cell = np.empty(len(truth), np.int64)
    cell[owner] = np.arange(len(owner))
    here = (truth > 0)[:, :, None] & left & ~np.eye(truth.shape[1], dtype=bool)
    candidates = np.argwhere(here)
    most = COMPARED // max(len(owner), 1)
    for q, x, other in candidates[:most].tolist():
        at = cell[q]
        masses[at, x] -= 1
        masses[at, other] += 1
        if float(rows.slack(masses).min(initial=np.inf)) < least:
            left[q, x, other] = False
        masses[at, x] += 1
        masses[at, other] -= 1
    return len(candidates) <= most


def _of_others(case: Case, program: Program, left: BoolArray, full: bool) -> Figures:
    """The figures of somebody who knows everybody else's class, from the classes that are left."""
    truth, classes = case.truth, case.release.target.classes
    assert truth is not None
    people, n_left = int(truth.sum()), left.sum(axis=2)
    alone = n_left == 1
    certain = int(truth[alone].sum())
    base = truth.sum(axis=0).astype(np.float64)
    prior = np.where(left, np.maximum(base, TOLERANCE), 0.0)
    posterior = prior / prior.sum(axis=2, keepdims=True)
    own = np.broadcast_to(np.arange(len(classes)), truth.shape)
    likeliest = posterior >= posterior.max(axis=2, keepdims=True) - TOLERANCE
    hit = np.take_along_axis(likeliest, own[:, :, None], 2)[:, :, 0] / likeliest.sum(axis=2)
    right = float((truth * hit).sum() / people)
    there = truth > 0
    surest = float(posterior.max(axis=2)[there].max())
    some = list(case.sensitive or range(len(classes)))
    mine = np.isin(own, some) if truth[:, some].any() else there
    open_ = np.where(there & mine, n_left, len(classes) + 1)
    q = int(worst_first(-open_.min(axis=1).astype(np.float64), (open_ == 1).any(axis=1), case.people.lines)[0])
    x = int(open_[q].argmin())
    possible = [name for name, here in zip(classes, left[q, x], strict=True) if here]
    worst: dict[str, Any] = {"qi": case.people.named(q), "people": int(truth[q, x])}
    worst |= {"class": possible[0], "probability": 1.0, "proved": True} if len(possible) == 1 else {"classes": possible}
    row: dict[str, Any] = {
        **{"release": "release", "status": "optimal", "individuals": people, "unread": ()},
        **{"max_posterior": surest, "certain": certain, "exposed": certain, "right_guesses": right},
        **{"bayes_vulnerability": right, "base_rate": float(base.max() / people)},
        **{"certain_proved": certain, "certain_at_most": certain if full else people},
        "possible_posterior": surest if full else 1.0,
    }
    if program.unread:
        row["unread"] = [each.as_dict("not") for each in program.unread]
    if case.sensitive:
        pairs, codes = posterior[there], np.where(alone, own, -1)[there]
        told_of = {"possible": pairs if full else None, "of_each": base, "right": (truth * hit).sum(axis=0)}
        found = judged_alone(some, truth[there], pairs, codes, **told_of)
        most = found["exposed"] if full else found["individuals"]
        row["sensitive"] = {**found, "certain_proved": found["exposed"], "certain_at_most": most}
    told = []
    if certain == people:
        why = f"{EXACT}: " * ({c.kind for c in program.linear} - {"label", "marginal", "n"} == {"counts"})
        told = [f"{why}with everybody else's class one class is left of each"]
    elif not full or program.unread:
        told = ["more is stated than was evaluated: other classes may be ruled out, too"]
    alike = int(truth[open_ == open_[q, x]].sum() - truth[q, x]) + worst["people"]
    one = (certain, proved_of(row), right, row["base_rate"], worst)
    return Figures(*one, note="; ".join(told), row=row, alike=alike)
