"""The best subtree that passes its own audit, against audits of all subtrees."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.limited import ends, held, trees

from maxent.api import defend_audited as api_defend
from maxent.api.defend import defend
from maxent.api.defend_audited import Broken, audit_of, best_audited
from maxent.api.estimate import estimate
from maxent.models.defenses.optimal.best_first import BestFirst
from maxent.models.defenses.optimal.limits import SubtreeLimits as Limits
from maxent.models.defenses.optimal.method import BestSubtree
from maxent.models.errors import InvalidInput, NoAnswerInTime
from maxent.models.formats.registry import load_release
from maxent.models.induction.inducers import Growth, induce
from maxent.models.release import Release
from maxent.models.tables.training import Training, read_training
from maxent.models.trees.predict import cases_of, score
from maxent.solvers.control import Clock

D1 = Path(__file__).parents[2] / "examples/d1"


def people(seed: int, n: int = 100) -> pd.DataFrame:
    """A private attribute decides with a public one."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": random.integers(0, 6, n).astype(float), "b": random.integers(0, 3, n).astype(str)})
    frame["secret"] = random.integers(0, 2, n).astype(str)
    likely = np.where(frame["secret"] == "1", frame["a"] > 2, frame["a"] > 4) * 0.7 + 0.15
    return frame.assign(y=np.where(random.random(n) < likely, "yes", "no"))


def grown(frame: pd.DataFrame, depth: int = 3) -> tuple[Release, Training]:
    training = read_training(frame, target="y", qi=["a", "b"], private=["secret"])
    return induce(training, Growth(max_depth=depth), publish="counts"), training


def solid(tree: Any) -> bool:
    """Whether something is published below every split."""
    return not isinstance(tree, list) or (bool(ends(tree)[0]) and all(map(solid, tree)))


def all_of(release: Release, limits: Limits, training: Training, **asked: Any) -> list[Release]:
    """Every subtree that keeps the limits on leaves, best first, one after the other."""
    search, found = BestFirst(release, limits, training, **asked), []
    while (each := search.next()) is not None:
        found.append((each.reached, each.release))
        search.cut()
    assert [share for share, _ in found] == sorted((share for share, _ in found), reverse=True)
    return [each for _, each in found]


@pytest.mark.parametrize("remove", [False, True])
def test_all_subtrees_come_once_and_best_first(remove: bool) -> None:
    release, training = grown(people(0), 2)
    nodes = {node.id: node for node in release.trees[0].nodes}

    def shape(name: str) -> Any:
        node = nodes[name]
        return (
            np.array(list((node.counts or {}).values()))
            if node.is_leaf
            else [shape(b.child or "") for b in node.branches]
        )

    found = all_of(release, Limits(k=5), training, remove=remove)
    whole = shape(release.trees[0].root.id)
    every = [ends(tree) for tree in trees(whole) if solid(tree) and (remove or not ends(tree)[1])]
    kept = [one for one, _ in every if all(sum(leaf) >= 5 for leaf in one)]
    assert len(found) == len(kept) > 3
    assert len({str(each.trees[0].nodes) for each in found}) == len(found)
    assert held(whole).sum() == len(training)


def test_the_best_of_all_that_pass() -> None:
    """All leaves have 8 people, and yet private attributes leave fewer that are not told apart."""
    frame = people(4)
    release, training = grown(frame, 4)
    limits = Limits(k=8, max_posterior=0.95, objective="impurity")
    audit = audit_of(training, limits)
    passed = best_audited(BestFirst(release, limits, training), audit, BestSubtree(), 100)
    found, audits, cut = passed.found, passed.audits, passed.cut_off
    assert found.proved
    assert audits == cut + 1 > 1
    search = BestFirst(release, limits, training)
    while (each := search.next()) is not None and audit(each.release) is not None:
        search.cut()  # one by one, whatever is to blame
    assert each is not None
    assert found.reached == pytest.approx(each.reached, abs=2e-6)
    assert estimate(found.release, frame[["a", "b"]], frame).verdict(max_posterior=0.95, min_k=8).passed
    passed = best_audited(BestFirst(release, limits, training), audit, BestSubtree(), 1)
    few, more = passed.found, passed.audits
    assert passed.unfinished is None
    assert audit(few.release) is None
    assert few.most - 1e-9 <= found.reached <= few.reached
    assert more >= 2


@pytest.mark.parametrize("seed", [1, 2])
def test_leaves_that_are_to_blame_are_cut_off_together(seed: int) -> None:
    """An audit that breaks on pairs of leaves: the best of all without such pairs, and a bound where it ends early."""
    random = np.random.default_rng(seed)
    release, training = grown(people(seed), 3)
    names = [node.id for node in release.trees[0].nodes]
    pairs = [frozenset(map(str, random.choice(names, 2, replace=False))) for _ in range(len(names) * 4)]
    limits, asked = Limits(k=4), {"remove": bool(seed % 2)}

    def audit(published: Release) -> Broken | None:
        leaves = {leaf.id for leaf in published.trees[0].leaves}
        broken = next((pair for pair in pairs if pair <= leaves), None)
        return None if broken is None else Broken("pairs", broken, broken)

    every = all_of(release, limits, training, **asked) if not seed % 2 else []
    found = best_audited(BestFirst(release, limits, training, **asked), audit, BestSubtree(), 10_000).found
    assert found.proved
    assert audit(found.release) is None
    assert found.reached == next((share(e, training) for e in every if audit(e) is None), found.reached)
    early = best_audited(BestFirst(release, limits, training, **asked), audit, BestSubtree(), 3).found
    assert audit(early.release) is None
    assert early.reached <= found.reached <= early.most


def share(release: Release, training: Training) -> float:
    return score(release, cases_of(training)).accuracy


def test_audited_releases_from_the_command() -> None:
    frame = people(4)
    asked: Any = {"target": "y", "qi": ["a", "b"], "private": ["secret"], "k": 8, "max_depth": 4}
    asked |= {"max_posterior": 0.95, "objective": "impurity"}
    found = defend(frame, "optimal", audited=True, **asked)
    assert "audited: an adversary who knows all that is stated stays within the limits (k = 8)" in str(found.notes)
    assert found.rows[0]["audits"] == found.rows[0]["cut_off"] + 1
    assert estimate(found.release, frame[["a", "b"]], frame).verdict(max_posterior=0.95, min_k=8).passed
    assert "that keeps the limits (k = 8) and passes the audit has a smaller Gini impurity" in str(found.notes)
    assert "this is not k-anonymity" not in str(found.notes)
    assert "--audited cuts such subtrees off" in str(defend(frame, "optimal", **asked).notes)
    # Labels of leaves bound nothing; the label of everybody tells no more than the base rate, which is known.
    only = defend(frame, "optimal", audited=True, publish="labels", audits=1, **asked).release
    assert len(only.trees[0].leaves) == 1
    assert estimate(only, frame[["a", "b"]], frame).verdict(max_posterior=0.95).passed
    with pytest.raises(InvalidInput, match="audited"):
        defend(frame, "optimal", audited=True, grow=True, **asked)


def test_what_is_stated_is_chosen() -> None:
    """Counts of three classes are too little uncertainty for a limit on D_overall that rounded ones keep."""
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"a": list("pqr") * 40, "b": random.integers(0, 3, 120)}).astype(str)
    weights = {"p": (0.7, 0.25, 0.05), "q": (0.2, 0.75, 0.05), "r": (0.3, 0.05, 0.65)}
    frame["y"] = [str(random.choice(list("uvw"), p=weights[a])) for a in frame["a"]]
    asked: Any = {"target": "y", "qi": ["a", "b"], "k": 5, "max_depth": 2, "choose": True}
    most = defend(frame, "optimal", **asked).rows[0]
    assert (most["publish"], most["criterion"]) == ("counts", "stated")
    diverges = defend(frame, "optimal", **{**asked, "choose": False, "min_divergence": 0.0}).release
    least = estimate(diverges, frame[["a", "b"]], frame).summary["divergence"]["overall"]
    found = defend(frame, "optimal", min_divergence=least + 0.02, **asked)
    (row,) = found.rows
    assert (row["publish"], row["round_counts"]) == ("counts", 10)
    assert row["reached"] == most["reached"]
    assert "chosen: leaves state counts rounded to multiples of 10, and the release" in str(found.notes)
    assert found.release.defense is not None
    assert found.release.defense.parameters["min_divergence"] == least + 0.02
    result = estimate(found.release, frame[["a", "b"]], frame)
    assert result.summary["divergence"]["overall"] is None or result.summary["divergence"]["overall"] >= least + 0.02
    posterior = defend(frame, "optimal", max_posterior=0.9, **asked).rows[0]
    assert posterior["publish"] == "counts"  # labels alone cannot be told to be within it
    with pytest.raises(InvalidInput, match="choose: expected none where publish or criterion"):
        defend(frame, "optimal", publish="labels", **asked)


def test_what_is_not_audited_in_time_is_not_kept() -> None:
    """Audits of more than so many leaves do not end: what passes is smaller, and what others can reach is said."""
    release, training = grown(people(4), 4)
    limits = Limits(k=8)
    best = BestFirst(release, limits, training).next()
    assert best is not None

    def audit(published: Release) -> Broken | None:
        return None if len(published.trees[0].leaves) <= 3 else api_defend._unfinished(published)

    passed = best_audited(BestFirst(release, limits, training), audit, BestSubtree(), 20, clock=Clock(3600.0))
    assert len(passed.found.release.trees[0].leaves) <= 3
    assert passed.found.most == best.reached > passed.found.reached
    assert (passed.cut_off, passed.unfinished) == (0, passed.audits - 1)
    search = BestFirst(release, limits, training)
    assert search.next() is not None
    assert not search.cut(stop=lambda: True)
    assert search.next() is None
    with pytest.raises(NoAnswerInTime, match="of 0 that were audited none is known to keep the limits"):
        best_audited(BestFirst(release, limits, training), audit, BestSubtree(), 20, clock=Clock(1e-9))
    with pytest.raises(NoAnswerInTime):
        best_audited(
            BestFirst(release, limits, training), api_defend._unfinished, BestSubtree(), 20, clock=Clock(3600.0)
        )


def test_an_estimate_that_did_not_end_proves_nothing(monkeypatch: Any) -> None:
    release, training = grown(people(4), 2)
    stopped = SimpleNamespace(
        numbers={},
        outcome=SimpleNamespace(status="time_limit"),
        reliable=False,
        disclosure=SimpleNamespace(divergence=None),
        proved=lambda row, limits: row,
    )
    monkeypatch.setattr(api_defend, "estimate_case", lambda case, known, solving: stopped)
    told: dict[str, Any] = {"release": "r", "status": "time_limit", "exposed": 0, "certain": 0, "min_population": 9}
    for found, limits, unfinished in (
        ({"max_posterior": 0.5}, Limits(k=5, max_posterior=0.9), True),
        ({"max_posterior": 0.95}, Limits(k=5, max_posterior=0.9), True),
        ({"max_posterior": 0.5}, Limits(k=5, min_divergence=0.0), True),
        ({"max_posterior": 0.5}, Limits(k=5), None),
        ({"max_posterior": 0.5}, Limits(k=10), False),
    ):
        stopped.numbers = {**told, **found}
        monkeypatch.setattr(api_defend, "_broken", lambda *_: Broken("groups", frozenset(["L1"]), frozenset(["L1"])))
        broken = audit_of(training, limits, Clock(3600.0))(release)
        assert (None if broken is None else broken.unfinished) == unfinished
        assert broken is None or broken.enough is None
    levels = api_defend._unfinished(release).leaves
    assert release.trees[0].root.id not in levels
    assert levels


def test_an_audit_passes_nothing_that_proofs_break(monkeypatch: Any) -> None:
    """By comparisons of splits 7 people are proved, the estimate is sure of 5."""
    release = load_release(D1 / "tree.json")
    domains = {attribute.name: attribute.values or () for attribute in release.public}
    training = read_training(D1 / "truth.csv", target="Salary", qi=[*domains], domains=domains)
    broken = audit_of(training, Limits(k=1, max_certain=5))(release)
    assert broken is not None
    assert (broken.told, broken.unknown) == ("max_certain 7 where 5 is stated", False)
    assert audit_of(training, Limits(k=1, max_certain=7))(release) is None
    monkeypatch.setattr("maxent.api.proving.Certainty._by_proof", lambda self: None)  # without an end
    broken = audit_of(training, Limits(k=1, max_certain=5))(release)
    assert broken is not None
    assert broken.unknown


def test_time_limits_of_audits() -> None:
    frame = people(4)
    asked: Any = {"target": "y", "qi": ["a", "b"], "k": 8, "max_depth": 2, "max_posterior": 0.95}
    row = defend(frame, "optimal", audited=True, time_limit=3600, **asked).rows[0]
    assert "unfinished" not in row
    for how in ("audited", "choose"):
        with pytest.raises(NoAnswerInTime, match="time_limit: expected more seconds than it takes"):
            defend(frame, "optimal", time_limit=1e-9, **{how: True}, **asked)
    with pytest.raises(InvalidInput, match="time_limit: expected none without audits"):
        defend(frame, "optimal", time_limit=5, **asked)
    with pytest.raises(InvalidInput, match="audits: expected none without audits"):
        defend(frame, "optimal", audits=5, **asked)
    with pytest.raises(InvalidInput, match="time_limit: expected None or a number above 0"):
        defend(frame, "optimal", time_limit=0, audited=True, **asked)


def test_what_could_not_be_audited_in_time_bounds_what_is_chosen(monkeypatch: Any) -> None:
    frame = people(4)

    def audit_of(*_: Any) -> Any:
        return lambda release: api_defend._unfinished(release) if release.trees[0].induction.impurity else None

    monkeypatch.setattr(api_defend, "audit_of", audit_of)
    found = defend(frame, "optimal", target="y", qi=["a", "b"], k=8, max_depth=2, choose=True, time_limit=3600)
    (row,) = found.rows
    assert (row["criterion"], row["unfinished"]) == ("unstated", 1)
    assert row["reached"] == row["best_possible"]  # no other statement has a better tree
    assert "out of time: 1 audit did not end; what was not audited to the end is not taken to be kept" in str(
        found.notes
    )
