"""Statements about members of a register: truth, bounds and estimates, by what one person adds to each statement.

Kinds that are sums, or means, are told by their value for single people of each class, so that every membership and
labelling is judged without our rows.
"""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from support.calls import printed_by, refused
from support.search import cases
from test_constraints.test_statements import KINDS, Fact, document, people, statement, values

import maxent
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.release import Release

Floats = npt.NDArray[np.float64]
CLASSES = ["no", "yes"]
SUMS = ("linear", "count", "table", "confusion", "rule", "rules")
SAID = [kind for kind in KINDS if kind not in ("auc", "sd")]


class Judged:
    """What a statement says, as numbers: ``low <= sum(num) <= high``, or of sum(num) / sum(den) where it is a mean."""

    def __init__(self, said: Fact, frame: pd.DataFrame) -> None:
        self.kind, one = str(said["kind"]), [frame.iloc[[i]] for i in range(len(frame))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # means of nobody
            printed = [each for _, each in values(said, frame, np.full(len(frame), "yes"))]
            told = np.array([[[v for v, _ in values(said, row, np.array([c]))] for c in CLASSES] for row in one], float)
        self.num, self.den = np.nan_to_num(told), (~np.isnan(told)).astype(float)
        if self.kind == "rule" and said.get("majority"):  # the lower side of how many have its class depends on others
            inside, label = self.den[:, :, 1:2] * told[:, :, 1:2], CLASSES.index(said["label"])
            self.num = np.concatenate([inside * (1 if label == 1 else -1) * np.array([[[-1], [1]]]), told[:, :, 1:]], 2)
            printed = [{"low": 0, "high": np.inf}, *printed[1:]]
        half = [0.5 * 10.0 ** -each.get("digits", 0) for each in printed]
        self.low = np.array([p.get("low", p.get("equals", 0) - h) for p, h in zip(printed, half, strict=True)])
        self.high = np.array([p.get("high", p.get("equals", 0) + h) for p, h in zip(printed, half, strict=True)])

    def agree(self, worlds: Floats) -> npt.NDArray[np.bool_]:
        """Whether each world, shape (n_worlds, people, classes), rounds to what is printed."""
        num, den = (np.tensordot(worlds, each, axes=2) for each in (self.num, self.den))
        if self.kind in SUMS:
            den = np.ones_like(num)
        with np.errstate(invalid="ignore"):
            value = np.where(den > 0, num / den, np.nan if self.kind == "mean" else 0.0)
        return np.asarray(((self.low - 1e-9 <= value) & (value <= self.high + 1e-9)).all(axis=1))

    def limits(self, cvxpy: Any, mass: Any, members: int) -> Any:
        """The same of masses, shape (people, classes), for a generic solver; known numbers of people are whole."""
        for r, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            num, den = (cvxpy.sum(cvxpy.multiply(each[:, :, r], mass)) for each in (self.num, self.den))
            if self.kind in ("share", "rate", "accuracy") and self.den.all():
                unit = float(self.num.max(initial=0.0)) or 1.0
                low, high, num, den = low * members / unit, high * members / unit, num / unit, 1
            elif self.kind in SUMS:
                den = 1
            elif self.kind == "mean" or low > 0:
                yield den >= 1
            if isinstance(den, int) and self.kind != "linear":
                low, high = np.ceil(low - 1e-9), np.floor(high + 1e-9)
            if low == high:
                yield num == low * den
                continue
            if np.isfinite(low):
                yield num >= low * den
            if np.isfinite(high):
                yield num <= high * den


def everyone(n: int, members: int) -> Floats:
    """All worlds of a register: who is a member, and of which class, shape (n_worlds, n, 2)."""
    codes = np.indices((3,) * n).reshape(n, -1).T
    codes = codes[(codes < 2).sum(axis=1) == members]
    return np.asarray(codes[:, :, None] == np.arange(2), np.float64)


def tree(frame: pd.DataFrame, rng: np.random.Generator) -> tuple[Release, Any]:
    """A tree that splits the members of ``frame`` by sex, and whether worlds agree with it."""
    states = rng.choice(["counts", "label", "n"])
    branches = [{"in": [sex], "child": sex} for sex in "fm"]
    nodes: list[dict[str, Any]] = [{"id": "root", "attribute": "sex", "branches": branches}]
    told = {sex: [int(((frame["sex"] == sex) & (frame["y"] == c)).sum()) for c in CLASSES] for sex in "fm"}
    for sex, counts in told.items():
        if states == "counts":
            nodes.append({"id": sex, "counts": dict(zip(CLASSES, counts, strict=True))})
        else:
            nodes.append({"id": sex, "label": CLASSES[int(np.argmax(counts))], "n": sum(counts)})
            if states == "label":
                del nodes[-1]["n"]
    attributes = [{"name": "sex", "type": "categorical", "values": ["f", "m"]}]
    target = {"name": "y", "classes": CLASSES}
    raw = {"format": "maxent/1", "target": target, "attributes": attributes, "trees": [{"nodes": nodes}]}

    def agrees(worlds: Floats, register: pd.DataFrame) -> Any:
        good = np.ones(len(worlds), bool)
        for sex, counts in told.items():
            inside = worlds[:, (register["sex"] == sex).to_numpy()].sum(axis=1)
            if states == "counts":
                good &= (inside == counts).all(axis=1)
            else:
                good &= inside[:, int(np.argmax(counts))] == inside.max(axis=1)
                good &= (states == "label") | (inside.sum(axis=1) == sum(counts))
        return good

    return parse_release(raw, "tree.json"), agrees


def case(seed: int, most: int) -> tuple[pd.DataFrame, int, list[Fact], Release | None, Any]:
    """A register whose first people are members, statements that are true of these, and perhaps a tree."""
    rng = np.random.default_rng([seed, 38])
    n = int(rng.integers(6, most + 1))
    members = int(rng.integers(2, 6 if n > 9 else n))
    register = people(rng, n)
    inside = register.iloc[:members]
    kinds = rng.choice(SAID, int(rng.integers(1, 4)), replace=False).tolist()
    said = [each for each in (statement(kind, inside, rng) for kind in kinds) if each is not None]
    if not said:
        said = [{"kind": "count", "class": "yes", "equals": int((inside["y"] == "yes").sum())}]
    model, agrees = tree(inside, rng) if rng.random() < 0.6 else (None, None)
    return register, members, said, model, agrees


def published(said: list[Fact], register: pd.DataFrame, model: Release | None) -> Any:
    """What is published: statements, perhaps in two documents, beside a tree or alone."""
    documents = [document(register, each) for each in said] if len(said) > 2 else [document(register, *said)]
    return [*documents[:1], *([] if model is None else [model]), *documents[1:]]


def rows_of(program: Any, register: pd.DataFrame) -> npt.NDArray[np.int64]:
    """The quasi-identifier of each person of a register."""
    shown = program.table.frame()
    names = [a.name for a in program.table.attributes]
    if not names:
        return np.zeros(len(register), np.int64)
    of = {row: i for i, row in enumerate(shown[names].itertuples(index=False, name=None))}
    return np.array([of[row] for row in register[names].itertuples(index=False, name=None)])


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 20, hunted=300))
def test_bounds_of_members_are_those_of_all_memberships_and_classes(seed: int) -> None:
    register, members, said, model, agrees = case(seed, 12)
    given: dict[str, Any] = {"population": register.drop(columns="y"), "people": members}
    worlds = everyone(len(register), members)
    for each in said:
        worlds = worlds[Judged(each, register).agree(worlds)]
    if agrees is not None:
        worlds = worlds[agrees(worlds, register)]
    truth = np.zeros((len(register), 2))
    truth[np.arange(members), [CLASSES.index(c) for c in register["y"].iloc[:members]]] = 1
    assert (worlds == truth).all(axis=(1, 2)).any(), said
    found: Any = maxent.bounds(published(said, register, model), level="integer", **given)
    assert found.status == "proved"
    assert not found.summary["unread"]
    of = rows_of(found.program, register)
    held = np.zeros((len(worlds), len(found.program.table), 3))
    for i, row in enumerate(of):
        held[:, row, :2] += worlds[:, i]
        held[:, row, 2] += 1 - worlds[:, i].sum(axis=1)
    np.testing.assert_allclose(found.bounds.low, held.min(axis=0), err_msg=str(said))
    np.testing.assert_allclose(found.bounds.high, held.max(axis=0), err_msg=str(said))
    assert found.summary["membership"]["proved_members"] == (held[:, of, 2] == 0).all(axis=0).sum()
    wide: Any = maxent.bounds(published(said, register, model), level="linear", **given)
    assert (wide.bounds.low <= held.min(axis=0) + 1e-9).all()
    assert (wide.bounds.high >= held.max(axis=0) - 1e-9).all()


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(100, 20, hunted=300))
def test_the_estimate_of_members_is_the_optimum_of_a_generic_solver(seed: int) -> None:
    cvxpy = pytest.importorskip("cvxpy")
    register, members, said, model, _ = case(seed, 40)
    result: Any = maxent.estimate(
        published(said, register, model), population=register.drop(columns="y"), people=members
    )
    of, counts = rows_of(result.program, register), result.program.table.counts
    mass = cvxpy.Variable((len(counts), 3), nonneg=True)
    each = mass[of, :2] / counts[of][:, None]
    limits = [cvxpy.sum(mass, axis=1) == counts, cvxpy.sum(mass[:, :2]) == members]
    for fact in said:
        limits += Judged(fact, register).limits(cvxpy, each, members)
    for node in () if model is None else model.trees[0].leaves:
        inside = each[np.flatnonzero((register["sex"] == node.id).to_numpy())]
        total = cvxpy.sum(inside, axis=0) if inside.shape[0] else np.zeros(2)
        if node.counts is not None:
            limits.append(total == np.array([node.counts.get(c, 0) for c in CLASSES]))
        if node.n is not None:
            limits.append(cvxpy.sum(total) == node.n)
        if node.label is not None:
            limits.append(total[CLASSES.index(node.label)] >= total)
    entropy = cvxpy.sum(cvxpy.entr(mass)) + cvxpy.sum(cvxpy.multiply(np.log(counts)[:, None], mass))
    problem = cvxpy.Problem(cvxpy.Maximize(entropy), [limit for limit in limits if limit is not True])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it says that it may be inaccurate
        problem.solve(solver="CLARABEL")
    sure = problem.status == "optimal"
    assert (result.outcome.status, result.certificate) == ("optimal", "global"), said
    if result.membership.moved:  # into what whole people prove, and as many of them are members
        assert result.membership.member @ counts == pytest.approx(members, abs=1e-6)
        return
    assert result.summary["entropy"] * len(register) == pytest.approx(problem.value, abs=1e-4 if sure else 1e-2)
    if sure:
        np.testing.assert_allclose(result.membership.joint, mass.value[:, :2] / counts[:, None], atol=2e-3)


REGISTER = pd.DataFrame({"sex": list("ffffmm"), "score": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]})
TREE = {
    "format": "maxent/1",
    "target": {"name": "y", "classes": CLASSES},
    "attributes": [{"name": "sex", "type": "categorical", "values": ["f", "m"]}],
    "trees": [
        {
            "nodes": [
                {"id": "root", "attribute": "sex", "branches": [{"in": [s], "child": s} for s in "fm"]},
                {"id": "f", "counts": {"no": 2, "yes": 1}},
                {"id": "m", "counts": {"no": 0, "yes": 1}},
            ]
        }
    ],
}
COUNT: Fact = {"kind": "count", "class": "yes", "where": {"score": {"gt": 0.35}}, "equals": 1}
AUC: Fact = {"kind": "auc", "class": "yes", "score": "score", "equals": 0.5}
GLM: Fact = {
    "kind": "glm",
    "family": "logistic",
    "of": "yes",
    "tolerance": 0.01,
    "terms": [{"intercept": True, "value": "-0.5"}, {"column": "score", "value": "1.2"}],
}


def said_in(folder: Path, name: str, *said: Fact, **more: Any) -> str:
    """A document of statements in a file."""
    of = {"format": "maxent-statements/1", "target": {"name": "y", "classes": CLASSES}, **more, "statements": said}
    (folder / name).write_text(json.dumps(of), encoding="utf-8")
    return str(folder / name)


def files(folder: Path) -> tuple[str, str]:
    """The tree and the register."""
    (folder / "tree.json").write_text(json.dumps(TREE), encoding="utf-8")
    REGISTER.to_csv(folder / "register.csv", index=False)
    return str(folder / "tree.json"), str(folder / "register.csv")


def test_commands_take_statements_beside_a_tree_with_a_register(tmp_path: Path, capsys: Any) -> None:
    model, register = files(tmp_path)
    told = said_in(tmp_path, "table1.json", COUNT)
    bounds = json.loads(printed_by(capsys, ["bounds", told, model, "--population", register, "--json"]).out)
    assert (bounds["membership"]["members"], bounds["constraints"]["statements"]) == (4, 1)
    toml = tmp_path / "table1.toml"
    toml.write_text(
        'format = "maxent-statements/1"\nindividuals = 4\ntarget = {name = "y", classes = ["no", "yes"]}\n'
        '[[statements]]\nkind = "share"\nclass = "yes"\nwhere = {sex = "m"}\nequals = 1.0\n',
        encoding="utf-8",
    )
    for more in ([], ["-o", f"{tmp_path}/parts{{}}/"], ["--memory", "1GB"]):
        call = ["estimate", str(toml), "--population", register, "--json", *(each.format(1) for each in more)]
        assert json.loads(printed_by(capsys, call).out)["membership"]["members"] == 4
        call = ["estimate", model, str(toml), told, *call[2:5], *(each.format(2) for each in more)]
        assert json.loads(printed_by(capsys, call).out)["constraints"]["statements"] > 1


def test_statements_that_say_nothing_of_members_are_listed_with_the_reason(tmp_path: Path) -> None:
    model, register = files(tmp_path)
    told = said_in(tmp_path, "scores.json", {**AUC, "source": "Table 3"}, GLM, COUNT)
    for call in (maxent.estimate, maxent.bounds):
        found: Any = call([model, told], population=register)
        unread = [each["what"] for each in found.summary["unread"]]
        assert unread == [
            "auc (scores.json, Table 3), as it ranks people among members, who are not known",
            "glm (scores.json, statement 2), as what it expects of people adds up over members, who are not known",
        ]
        assert "not read: auc (scores.json, Table 3)" in str(found)
    estimate: Any = maxent.estimate([model, told], population=register)
    assert estimate.verdict(max_member=1.0, max_certain=6).status == "cannot_tell"
    without: Any = maxent.estimate([model, said_in(tmp_path, "table1.json", COUNT)], population=register)
    assert without.verdict(max_certain=6).status == "pass"


def test_a_review_takes_no_values_of_a_column_from_the_table_that_its_register_has_more_of(tmp_path: Path) -> None:
    """Whoever has the file and a register does not know which values nobody in the data has."""
    stated = said_in(
        tmp_path, "one.json", {"kind": "count", "where": {"v": "0"}, "class": "no", "equals": 1}, individuals=4
    )
    data = pd.DataFrame({"u": list("AAAA"), "v": list("0011"), "y": ["no", "yes"] * 2})
    register = pd.DataFrame({"u": list("AAAABBBB"), "v": list("00110110")})
    found = maxent.review(
        stated, data, target="y", qi=["u", "v"], population=register, max_member=0.9, adversary="population"
    )
    own = maxent.bounds(stated, population=register).summary["membership"]
    assert found.register.membership["proved_members"] == own["proved_members"] == 0
    assert found.verdict().status == "pass"


def test_what_a_register_with_statements_cannot_have_is_refused(tmp_path: Path) -> None:
    model, register = files(tmp_path)
    told = said_in(tmp_path, "table1.json", COUNT)
    refused("one release of trees, and statements beside it", maxent.bounds, [model, told, model], population=register)
    refused("the number of people in the data", maxent.bounds, told, population=register)
    men: Fact = {"kind": "count", "class": "yes", "where": {"sex": "m"}, "equals": 2, "source": "Table 2"}
    wrong = said_in(tmp_path, "table2.json", men)
    for call in (maxent.estimate, maxent.bounds):
        refused(
            "Table 2: statement: expected what can be true together with", call, [model, wrong], population=register
        )
    strange = said_in(tmp_path, "table3.json", {**men, "where": {"sex": "x"}})
    refused("a value that somebody has", maxent.bounds, strange, population=register, people=4)
