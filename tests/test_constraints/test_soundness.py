"""The property that everything rests on: what is true of the people satisfies every constraint that is compiled."""

from dataclasses import dataclass, replace
from decimal import ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.tree import DecisionTreeClassifier
from support.calls import refusal
from support.documents import release_document
from support.soundness import check
from support.strategies import (
    Case,
    People,
    Style,
    cases,
    inner_places,
    leaves_of,
    populations,
    thorough,
    true_facts,
    true_masses,
)
from support.successive import WHO, Successive, successive

import maxent
from maxent.api.audit import audit_release
from maxent.api.case import Tables, read_case
from maxent.api.successive import of_one
from maxent.constraints.compiler import compile_program, implied_marginal
from maxent.constraints.program.residuals import Evaluator
from maxent.models.defenses.pruning import prune_leaf, prune_parent
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import parse_release, validate_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.formats.scikit_learn.models import is_shared, n_outputs, outputs_of
from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.induction.growth import Growth
from maxent.models.induction.inducers import induce
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.training import read_training
from maxent.models.tables.truth_and_facts import read_facts
from maxent.models.trees.predict import predict_proba
from maxent.models.trees.printed_rates import FULL_PRECISION, decimals
from maxent.models.trees.restate import counts_reader, of_target, restate
from maxent.solvers.certainty.levels import prove
from maxent.solvers.control import Clock

KNOWLEDGE = (
    None,
    None,
    ("label",),
    ("rate",),
    ("label", "rate", "internal"),
    ("counts",),
    ("internal", "counts", "marginal"),
)


@thorough(250)
@given(case=cases(), knowledge=st.sampled_from(KNOWLEDGE), data=st.data())
def test_the_truth_satisfies_everything_compiled_from_a_tree(case: Case, knowledge: Any, data: st.DataObject) -> None:
    validate_release(case.release)
    table = read_qi(case.people.qi, case.release)
    frame = data.draw(true_facts(case.people), "facts")
    facts = () if frame is None else read_facts(frame, case.release, table)
    marginal = case.people.counts(np.arange(len(case.people))).astype(float)
    check(case, knowledge=knowledge, facts=facts, marginal=marginal)
    if any(states_every_count(case, tree) for tree in case.release.trees):
        assert implied_marginal(case.release).tolist() == marginal.tolist()
    else:
        with pytest.raises(InvalidInput, match="marginal"):
            implied_marginal(case.release)


def states_every_count(case: Case, tree: Tree) -> bool:
    """Whether the exact counts of a tree add up to everybody."""
    exact = case.release.sampling_rate == 1 and not case.release.blurred
    removed = any(branch.child is None for node in tree.nodes for branch in node.branches)
    leaves = all(leaf.counts is not None for leaf in tree.leaves)
    return exact and (tree.root.counts is not None or (leaves and not removed))


@thorough(80)
@given(case=cases(trees=(2, 3)), knowledge=st.sampled_from(KNOWLEDGE[:5]))
def test_the_truth_satisfies_everything_compiled_from_a_forest(case: Case, knowledge: Any) -> None:
    check(case, knowledge=knowledge)


@thorough(80)
@given(
    people=populations(rows=(4, 60), public=(1, 3), private=(0, 1), classes=(2, 4)),
    criterion=st.sampled_from(("gini", "entropy")),
    depth=st.sampled_from((None, 1, 2, 4)),
    least=st.integers(1, 5),
    onehot=st.booleans(),
    publish=st.sampled_from(("labels", "rates", "counts")),
    inner_counts=st.booleans(),
)
def test_the_truth_satisfies_everything_compiled_from_scikit_learn(
    people: Any, criterion: Any, depth: Any, least: int, onehot: bool, publish: Any, inner_counts: bool
) -> None:
    categories = {a.name: a.values for a in people.attributes if a.values is not None}
    indicators = {name: {f"{name}={v}": v for v in values} for name, values in categories.items()} if onehot else {}
    inputs = {
        feature: (people.columns[name] == code).astype(float) if onehot and name in categories else people.columns[name]
        for name in people.columns
        for code, feature in enumerate(indicators.get(name, (name,)))
    }
    model = DecisionTreeClassifier(criterion=criterion, max_depth=depth, min_samples_leaf=least, random_state=0)
    model.fit(pd.DataFrame(inputs), people.y)
    present = np.unique(people.y)
    release = from_sklearn(
        model,
        target="Y",
        classes=[people.classes[y] for y in present],
        categories=categories,
        onehot=indicators,
        private=[a.name for a in people.attributes if a.role == "private"],
        publish=publish,
        inner_counts=inner_counts,
    )
    validate_release(release)
    compact = replace(people, y=np.searchsorted(present, people.y), classes=release.target.classes)
    in_order = {a.name: a for a in release.attributes}
    check(Case(replace(compact, attributes=tuple(in_order[a.name] for a in people.attributes)), release))


@thorough(40)
@given(case=cases(populations(rows=(12, 40), public=(2, 3), private=(0, 0), classes=(2, 3)), kinds=("greedy",)))
def test_a_split_that_did_not_win_is_noticed(case: Case) -> None:
    """The property above can fail: claim that the worst candidate of a node had been chosen."""
    table = read_qi(case.people.qi, case.release)
    program = compile_program(case.release, table, knowledge=("internal",))
    truth = true_masses(case, program)
    evaluator = Evaluator(program)
    slack = evaluator.internal.slack(truth)
    assume(len(slack) and slack.max() > 1e-6)
    better = program.internal[evaluator.internal.constraint_of(np.array([slack.argmax()]))[0]]
    assume(better.form == "values")
    tree = case.release.trees[0]
    place = next(i for i in inner_places(tree) if i == better.place)
    beaten = _with_split(case, place, better.candidate)
    claimed = compile_program(beaten.release, read_qi(case.people.qi, beaten.release), knowledge=("internal",))
    assert Evaluator(claimed).max_violation(true_masses(beaten, claimed)) > 1e-9


def _with_split(case: Case, place: int, name: str) -> Case:
    """The release cut off at a node that now splits by another attribute into leaves, and claims to have won."""
    tree = case.release.trees[0]
    children = {n.id: [b.child for b in n.branches] for n in tree.nodes}
    below, stack = set(), list(children[tree.nodes[place].id])
    while stack:
        at = stack.pop()
        if at is not None:
            below.add(at)
            stack += children[at]
    values = case.people.attribute(name).values or ()
    leaves = tuple(Node(f"new {v}") for v in values)
    branches = tuple(Branch(leaf.id, values=(v,)) for leaf, v in zip(leaves, values, strict=True))
    node = replace(tree.nodes[place], attribute=name, branches=branches)
    kept = [node if i == place else n for i, n in enumerate(tree.nodes) if n.id not in below]
    return replace(case, release=replace(case.release, trees=(replace(tree, nodes=(*kept, *leaves)),)))


def test_a_false_statement_is_noticed() -> None:
    """The property above can fail for the other statements, too."""
    people = Case(
        _people(("x", "x", "x", "y"), (0, 0, 1, 1)),
        Release(
            Target("Y", ("no", "yes")),
            (Attribute("A", "categorical", ("x", "y")),),
            (
                Tree(
                    (
                        Node("N", "A", (Branch("L", values=("x",)), Branch("M", values=("y",)))),
                        Node("L", label="no", error_rate=1 / 3),
                        Node("M", counts={"no": 0, "yes": 1}),
                    )
                ),
            ),
        ),
    )
    check(people)
    leaf = people.release.trees[0].nodes[1]
    for wrong in (
        replace(leaf, label="yes"),
        replace(leaf, error_rate=0.0),
        replace(leaf, label=None, error_rate=None, counts={"no": 1, "yes": 2}),
        replace(leaf, n=2),
    ):
        nodes = list(people.release.trees[0].nodes)
        nodes[1] = wrong
        lie = replace(people, release=replace(people.release, trees=(Tree(tuple(nodes)),)))
        with pytest.raises(AssertionError):
            check(lie)
    table = read_qi(people.people.qi, people.release)
    with pytest.raises(AssertionError):
        check(people, facts=read_facts(pd.DataFrame({"A": ["x"], "Y": ["yes"], "count": [2]}), people.release, table))
    with pytest.raises(AssertionError):
        check(people, marginal=np.array([1.0, 3.0]))


def _people(values: tuple[str, ...], y: tuple[int, ...]) -> Any:
    codes = np.array([("x", "y").index(v) for v in values])
    return People((Attribute("A", "categorical", ("x", "y")),), {"A": codes}, np.array(y), ("no", "yes"))


PEOPLE = populations(rows=(4, 40), public=(1, 3), private=(0, 1), classes=(2, 3))
METHODS = st.sampled_from((prune_leaf, prune_parent))


def grown(people: People, draw: Any) -> tuple[People, Release]:
    """People with two sensitive columns, their combinations as classes, and a tree that was grown on these."""
    other = draw(st.lists(st.sampled_from(("a & b", "c")), min_size=len(people), max_size=len(people)))
    frame = people.frame.assign(Z=other)
    training = read_training(
        frame,
        target=["Y", "Z"],
        qi=[a.name for a in people.attributes if a.role == "public"],
        private=[a.name for a in people.attributes if a.role == "private"],
        domains={a.name: a.values for a in people.attributes if a.values is not None},
    )
    inducer, impurity = draw(st.sampled_from((("cart", "gini"), ("cart", "entropy"), ("id3", "entropy"))))
    if any(a.values is None for a in people.attributes):
        inducer, impurity = "cart", "gini"
    release = induce(training, Growth(inducer, impurity, max_depth=draw(st.integers(1, 4))), publish="counts")
    if draw(st.booleans()):
        release = draw(METHODS)(release, draw(st.integers(1, 6)))
    release = restate(release, draw(st.sampled_from(("labels", "rates", "counts"))))
    attributes = {a.name: a for a in release.attributes}
    combined = People(
        tuple(attributes[a.name] for a in people.attributes), people.columns, training.y, release.target.classes
    )
    return combined, release


@given(PEOPLE, st.data())
@thorough(8)
def test_the_truth_satisfies_what_is_said_of_combinations_and_of_each_column(found: People, data: Any) -> None:
    people, release = grown(found, data.draw)
    check(Case(people, release))
    sizes = [len(part.classes) for part in release.target.of]
    for i, part in enumerate(release.target.of):
        own = np.unravel_index(people.y, sizes)[i].astype(np.int64)
        alone = of_target(release, i)
        check(Case(replace(people, y=own, classes=part.classes), alone))


def fitted(draw: Any) -> Any:
    """A model of several outputs, before it is fitted."""
    told = {"max_depth": draw(st.integers(1, 4)), "random_state": draw(st.integers(0, 5))}
    if draw(st.booleans()):
        told["class_weight"] = draw(st.sampled_from(("balanced", None)))
    kind = draw(st.sampled_from((DecisionTreeClassifier, ExtraTreesClassifier, RandomForestClassifier)))
    if kind is not DecisionTreeClassifier:
        told |= {"n_estimators": 2, "bootstrap": draw(st.booleans())}
    elif draw(st.booleans()):
        return MultiOutputClassifier(kind(**told))
    return kind(criterion=draw(st.sampled_from(("gini", "entropy"))), **told)


@given(PEOPLE, st.data())
@thorough(8)
def test_the_truth_satisfies_what_a_model_with_several_outputs_states_of_each(people: People, data: Any) -> None:
    other = data.draw(st.lists(st.integers(0, 2), min_size=len(people), max_size=len(people)))
    both = np.column_stack([people.y, other])
    X = pd.DataFrame({name: column.astype(float) for name, column in people.columns.items()})
    model = fitted(data.draw).fit(X, both)
    assert n_outputs(model) == 2
    for output, single in enumerate(outputs_of(model)):
        release = from_sklearn(
            single,
            target="Y",
            categories={a.name: a.values for a in people.attributes if a.values is not None},
            private=[a.name for a in people.attributes if a.role == "private"],
            X=X,
        )
        validate_release(release)
        assert not is_shared(model) or all(tree.induction.impurity is None for tree in release.trees)
        known = {name: code for code, name in enumerate(release.target.classes)}
        y = np.array([known[str(label)] for label in both[:, output].tolist()], np.int64)
        attributes = {a.name: a for a in release.attributes}
        mine = tuple(attributes[a.name] for a in people.attributes)
        check(Case(People(mine, people.columns, y, release.target.classes), release))


@thorough(4)
@given(releases=successive())
def test_the_truth_satisfies_all_releases_together(releases: Successive) -> None:
    holds(releases)


@pytest.mark.slow
@thorough(600)
@given(releases=successive())
def test_the_truth_satisfies_many_releases_together(releases: Successive) -> None:
    holds(releases)


def holds(releases: Successive) -> None:
    program = releases.compiled()
    truth = releases.true_masses(program)
    evaluator = Evaluator(program)
    linear = evaluator.linear.violation(truth)
    assert linear.max(initial=0.0) <= 1e-9, str(program.linear[evaluator.linear.constraint[linear.argmax()]])
    assert evaluator.max_violation(truth) <= 1e-9
    assert program.contradictions == ()


@pytest.mark.slow
@thorough(60)
@given(releases=successive(populations(rows=(3, 14), public=(1, 2), private=(0, 1), classes=(2, 3)), (2, 2)))
def test_the_truth_lies_inside_what_is_proved_of_all_releases_together(releases: Successive) -> None:
    program = releases.compiled()
    truth = np.zeros((len(program.table), program.n_classes))
    np.add.at(truth, program.cells.owner, releases.true_masses(program))
    joined = read_case(releases.releases, Tables(releases.tables, who=WHO)).joined
    assert joined is not None
    alone = [prove(of_one(program, joined, i), "linear", Clock()).bounds for i in range(2)]
    for level in ("closed", "linear", "convex"):
        proved = prove(program, level, Clock())
        assert proved.status == "proved"
        assert (proved.bounds.low <= truth).all()
        assert (truth <= proved.bounds.high).all()
    for one in alone:  # what another release states never widens a bound
        assert (proved.bounds.low >= one.low - 1e-5).all()
        assert (proved.bounds.high <= one.high + 1e-5).all()


TIES = (ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP)


@dataclass(frozen=True)
class Printed:
    """The counts of leaves, and the release that prints their labels and rates; leaf i is where A is ``vi``.

    ``decimals`` is whether all rates have as many decimals, not as many significant digits.
    """

    counts: tuple[tuple[int, ...], ...]
    release: maxent.Release
    decimals: bool = True

    @property
    def qi(self) -> pd.DataFrame:
        rows = [(f"v{i}", sum(counts)) for i, counts in enumerate(self.counts)]
        return pd.DataFrame(rows, columns=["A", "n"])


def release_of(counts: Any, rates: Any, *, sized: bool) -> maxent.Release:
    """A tree with a leaf for each of some counts, whose rates are printed as given."""
    classes = ["a", "b", "c"][: len(counts[0])]
    leaves = [
        {
            "id": f"L{i}",
            "label": classes[int(np.argmax(leaf))],
            "error_rate": rate,
            **({"n": sum(leaf)} if sized else {}),
        }
        for i, (leaf, rate) in enumerate(zip(counts, rates, strict=True))
    ]
    values = [f"v{i}" for i in range(len(leaves))]
    branches = [{"in": [value], "child": leaf["id"]} for value, leaf in zip(values, leaves, strict=True)]
    return parse_release(
        release_document("T", classes, {"A": values}, [{"id": "N", "attribute": "A", "branches": branches}, *leaves]),
        "printed",
    )


@st.composite
def printed(draw: Any) -> Printed:
    """Two to four leaves, of sizes that rates of few digits look exact for as well, printed in some way."""
    size = st.one_of(st.integers(1, 30), st.integers(1, 30).map(lambda i: 100 * i), st.integers(1, 3000))
    digits, ties = draw(st.integers(1, 5)), draw(st.sampled_from((*TIES, None)))
    n_classes, found, rates = draw(st.integers(2, 3)), [], []
    for n in draw(st.lists(size, min_size=2, max_size=4)):
        wrong = draw(st.one_of(st.integers(0, min(n // 2, 3)), st.integers(0, n // 2)))
        of_one = draw(st.integers(0, wrong)) if n_classes == 3 else wrong
        found.append((n - wrong, of_one, wrong - of_one)[:n_classes])
        exact = Decimal(wrong) / Decimal(n)
        rates.append(float(f"{exact:.{digits}g}" if ties is None else exact.quantize(Decimal(1).scaleb(-digits), ties)))
    return Printed(tuple(found), release_of(found, rates, sized=draw(st.booleans())), ties is not None)


@given(case=printed())
def test_the_truth_satisfies_printed_rates(case):
    table = read_qi(case.qi, case.release, count="n")
    for rounding in ("auto", "digits") if case.decimals else ("auto",):
        program = compile_program(case.release, table, rounding=rounding)
        leaf = [int(table.levels[0][code][1:]) for code in table.codes[program.cells.owner, 0]]
        truth = np.array([case.counts[i] for i in leaf], np.float64)
        assert Evaluator(program).max_violation(truth) <= 1e-9


@given(case=printed(), known=st.integers(0, 3), with_table=st.booleans())
@pytest.mark.regression(number=5)
def test_an_audit_claims_nothing_of_printed_rates_that_is_not_so(case, known, with_table):
    options = {"qi": case.qi, "count": "n"} if with_table else {}
    found = audit_release(case.release, background=known, **options)
    tree, truth = found.trees[0], np.array(case.counts)
    for i, leaf in enumerate(truth):
        wrong = int(leaf.sum() - leaf.max())
        if tree.homogeneity.leaves[i]:
            assert wrong == 0
        if tree.background.leaves[i]:
            assert wrong <= known
        assert (tree.bounds.low[i, :-1] <= leaf).all()
        assert (leaf <= tree.bounds.high[i, :-1]).all()
    if with_table:
        pure = sum(int(leaf.sum()) for leaf in truth if leaf.max() == leaf.sum())
        assert found.summary["spans"]["exposed"] <= pure


@pytest.fixture
def rounded() -> Printed:
    """Errors 25, 51 and 1 of 200, 400 and 300, which look exact with two digits."""
    counts = ((175, 25), (349, 51), (299, 1))
    return Printed(counts, release_of(counts, (0.12, 0.13, 0.0), sized=True))


@pytest.mark.regression(number=5)
def test_rates_that_look_exact_prove_nothing(rounded):
    truth = pd.DataFrame(
        [(f"v{i}", "ab"[x], n) for i, leaf in enumerate(rounded.counts) for x, n in enumerate(leaf)],
        columns=["A", "T", "n"],
    )
    result = maxent.estimate(rounded.release, rounded.qi, truth, count="n")
    assert result.summary["disclosure"]["certain"] == 0
    assert "infinite" not in result.summary["divergence"]
    assert [note for note in result.notes if "2 digits and are read as intervals" in note]
    found = maxent.audit(rounded.release, rounded.qi, count="n")
    assert (found["homogeneity"]["leaves"], found["spans"]["exposed"]) == (0, 0)
    assert found["notes"] == list(result.notes)
    literal = maxent.estimate(rounded.release, rounded.qi, truth, count="n", rounding="exact")
    assert literal.summary["disclosure"]["certain"] == literal.summary["divergence"]["infinite"] * 300 == 300


@pytest.mark.regression(number=5)
def test_both_commands_say_when_digits_prove_that_rates_are_exact():
    counts = ((2, 1), (3, 0))
    for rates in ((0.33, 0.0), (1 / 3, 0.0)):
        case = Printed(counts, release_of(counts, rates, sized=True))
        estimated = maxent.estimate(case.release, case.qi, count="n")
        for notes in (estimated.notes, maxent.audit(case.release)["notes"]):
            assert [note for note in notes if "error rates are exact" in note]
        assert estimated.summary["disclosure"]["certain"] == 3
        assert maxent.estimate(case.release, case.qi, count="n", knowledge="label").notes == ()


COUNTED = st.builds(Style, leaf=st.just("counts"), inner=st.sampled_from(("nothing", "counts")))


def with_rates(case: Case, digits: int | None, *, sized: bool, single: bool = False) -> Case:
    """The same case, whose nodes state shares in place of counts; nobody's shares are not stated."""

    def node(before: Node) -> Node:
        if before.counts is None:
            return before
        n = sum(before.counts.values())
        shares = {c: k / n for c, k in before.counts.items()} if n else None
        if shares and single:
            shares = {c: float(np.float32(share)) for c, share in shares.items()}
        if shares and digits is not None:
            shares = {c: round(share, digits) for c, share in shares.items()}
        return replace(before, counts=None, rates=shares, n=n if sized else None)

    trees = tuple(replace(tree, nodes=tuple(map(node, tree.nodes))) for tree in case.release.trees)
    return replace(case, release=replace(case.release, trees=trees), digits=digits)


@thorough(40)
@given(
    case=cases(trees=(1, 2), style=COUNTED),
    digits=st.sampled_from((None, 1, 2, 3, 5)),
    sized=st.booleans(),
    knowledge=st.sampled_from((None, ("rate",), ("label", "rate", "internal"))),
)
def test_the_truth_satisfies_class_rates(case: Case, digits: int | None, sized: bool, knowledge: Any) -> None:
    stated = with_rates(case, digits, sized=sized)
    check(stated, knowledge=knowledge)


@thorough(25)
@given(case=cases(style=COUNTED), digits=st.sampled_from((None, 1, 2, 3)), sized=st.booleans(), asked=st.booleans())
def test_an_audit_claims_nothing_of_class_rates_that_is_not_so(
    case: Case, digits: int | None, sized: bool, asked: bool
) -> None:
    stated = with_rates(case, digits, sized=sized)
    found = audit_release(stated.release, case.people.qi if asked else None).trees[0]
    at = leaves_of(case.release, case.people.frame)[:, 0]
    for i, place in enumerate(found.leaves.tolist()):
        truth = case.people.counts(np.flatnonzero(at == place))
        assert (found.bounds.low[i, :-1] <= truth).all()
        assert (truth <= found.bounds.high[i, :-1]).all()


@thorough(8)
@given(case=cases(populations(private=(0, 0)), style=COUNTED), single=st.booleans())
def test_exact_shares_say_what_counts_say(case: Case, single: bool) -> None:
    stated = with_rates(case, None, sized=True, single=single).release
    shares = [share for node in stated.trees[0].nodes for share in (node.rates or {}).values()]
    assume(any(decimals(share) >= FULL_PRECISION for share in shares))  # else they may be rounded
    counts, implied = counts_reader(case.release), counts_reader(stated)
    for before, after in zip(case.release.trees[0].nodes, stated.trees[0].nodes, strict=True):
        assert counts(before) == implied(after)
    unsized = with_rates(case, None, sized=False, single=single).release
    first, second = (maxent.estimate(r, case.people.qi, backend="newton") for r in (case.release, unsized))
    classes = [f"P({c})" for c in case.release.target.classes]
    np.testing.assert_allclose(first.posterior[classes], second.posterior[classes], atol=1e-12)
    np.testing.assert_allclose(
        predict_proba(case.release, case.people.frame), predict_proba(stated, case.people.frame), atol=1e-7
    )


def leaf(**stated: Any) -> Release:
    return Release(Target("Y", ("a", "b", "c")), (), (Tree((Node("L", **stated),)),))


def test_shares_are_kept_in_a_file_and_one_that_is_not_named_is_0(tmp_path: Any) -> None:
    release = leaf(rates={"a": 0.25, "b": 0.75}, label="b")
    release.save(tmp_path / "tree.json")
    again = maxent.load_release(tmp_path / "tree.json")
    assert again == release
    assert predict_proba(again, pd.DataFrame(index=range(2))).tolist() == [[0.25, 0.75, 0.0]] * 2


@pytest.mark.parametrize(
    ("stated", "field", "words"),
    [
        ({"rates": {"a": 0.25, "d": 0.75}}, "rates", "classes of the target"),
        ({"rates": {"a": 0.25, "b": 1.75}}, "rates of b", "from 0 to 1"),
        ({"rates": {"a": 0.25, "b": True}}, "rates of b", "from 0 to 1"),
        ({"rates": {"a": 0.25, "b": 0.5}}, "rates", "sum to 1"),
        ({"rates": {}}, "rates", "an object from classes to shares"),
        ({"rates": {"a": 0.25, "b": 0.75}, "label": "a"}, "label", "most frequent class of rates (b: 0.75)"),
        ({"rates": {"a": 0.25, "b": 0.75}, "label": "b", "error_rate": 0.125}, "error_rate", "0.25"),
        ({"rates": {"a": 0.25, "b": 0.75}, "counts": {"a": 1, "b": 1, "c": 0}}, "rates of a", "0.5"),
        ({"rates": {"a": 0.25, "b": 0.75}, "n": 0}, "rates", "without records"),
    ],
)
def test_shares_that_cannot_be_are_refused(stated: dict[str, Any], field: str, words: str) -> None:
    found = refusal(parse_release, release_to_document(leaf(**stated)), "release")
    assert any(problem.field == field and words in problem.expected for problem in found.problems)


def test_printed_shares_are_intervals_and_a_note_says_so() -> None:
    split = (Branch("L", values=("x",)), Branch("M", values=("y",)))
    document = release_to_document(
        Release(
            Target("Y", ("a", "b")),
            (Attribute("A", "categorical", ("x", "y")),),
            (Tree((Node("N", "A", split), Node("L", rates={"a": 0.33, "b": 0.67}), Node("M", rates={"a": 1.0}))),),
        )
    )
    people = pd.DataFrame({"A": ["x"] * 300 + ["y"]})
    found = maxent.estimate(parse_release(document, "release"), people)
    assert found.summary["constraints"]["rates"] == 4
    assert any("2 digits and are read as intervals" in note for note in found.notes)
    assert maxent.audit(parse_release(document, "release"), people)["homogeneity"]["leaves"] == 1
