"""What would pass: the best subtree within limits under a verdict of fail, or why none is offered."""

import json
import pickle
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.calls import printed_by, refused

import maxent
from maxent import Release
from maxent.__main__ import main
from maxent.disclosure.limits import Mend, limits_of
from maxent.models.release import Induction, Node
from maxent.models.trees.restate import restate

QI = ["a", "b", "c"]


def people(n: int = 60) -> pd.DataFrame:
    """People whose class depends on all three attributes."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.integers(0, 4, (n, 3)), columns=QI)
    return table.assign(T=np.where(table.sum(axis=1) + rng.integers(0, 4, n) > 6, "ill", "well"))


FRAME = people()
GROWN = maxent.defend(FRAME, target="T", qi=QI, method="none", max_depth=3).release


def subtrees(release: Release) -> Iterator[Release]:
    """Every subtree with the root, its leaves stating counts, and nothing about splits."""
    [tree] = release.trees
    nodes = {node.id: node for node in tree.nodes}

    def below(name: str) -> Iterator[list[Node]]:
        node = nodes[name]
        if node.is_leaf:
            yield [node]
            return
        every = list(product(*(list(below(branch.child or "")) for branch in node.branches)))
        counts = {c: sum(leaf.counts[c] for part in every[0] for leaf in part if leaf.counts) for c in ("ill", "well")}
        yield [Node(name, label=max(counts, key=lambda c: counts[c]), n=sum(counts.values()), counts=counts)]
        for parts in every:
            yield [Node(node.id, node.attribute, node.branches), *(each for part in parts for each in part)]

    for found in below(tree.nodes[0].id):
        yield replace(release, trees=(replace(tree, nodes=tuple(found), induction=Induction()),))


def accuracy(release: Release) -> float:
    leaves = [leaf.counts for leaf in release.trees[0].leaves if leaf.counts is not None]
    return sum(max(leaf.values()) for leaf in leaves) / sum(sum(leaf.values()) for leaf in leaves)


def mend_of(release: Release, *, truth: bool = True, sensitive: str | None = None, **limits: Any) -> Mend:
    found = maxent.estimate(release, FRAME[QI], FRAME if truth else None, sensitive=sensitive)
    [judged] = found.verdict(**limits).releases
    assert judged.status == "fail"
    assert judged.mend is not None
    return judged.mend


def passes(release: Release, sensitive: str | None, **limits: Any) -> bool:
    return maxent.estimate(release, FRAME[QI], FRAME, sensitive=sensitive).judged(limits_of(limits)).passed


@pytest.mark.parametrize(
    ("limits", "sensitive"),
    [
        ({"max_certain": 12}, None),
        pytest.param({"max_certain": 0, "min_k": 5}, None, marks=pytest.mark.slow),
        pytest.param({"max_posterior": 0.85, "max_right_guesses": 0.75}, None, marks=pytest.mark.slow),
        pytest.param({"max_lift": 0.1}, None, marks=pytest.mark.slow),
        ({"max_posterior": 0.9, "max_certain": 0}, "ill"),
    ],
)
def test_it_is_the_most_accurate_of_all_subtrees_that_pass(limits: dict[str, Any], sensitive: str | None) -> None:
    mend = mend_of(GROWN, sensitive=sensitive, **limits)
    most_first = sorted(subtrees(GROWN), key=accuracy, reverse=True)
    each_passes = (passes(each, sensitive, **limits) for each in most_first)
    best = next(accuracy(each) for each, kept in zip(most_first, each_passes, strict=True) if kept)
    assert mend.release is not None
    assert mend.proved
    assert mend.accuracy == pytest.approx((accuracy(GROWN), best))
    assert passes(mend.release, sensitive, **limits)
    assert mend.leaves == (len(GROWN.trees[0].leaves), len(mend.release.trees[0].leaves))
    assert {leaf.id for leaf in mend.release.trees[0].leaves} - {leaf.id for leaf in GROWN.trees[0].leaves} == {
        *mend.cut
    }


def reason(release: Release, **limits: Any) -> str:
    mend = mend_of(release, **limits)
    assert mend.release is None
    assert mend.as_dict() == {"offered": False, "reason": mend.reason}
    return mend.reason


def test_the_reason_is_told_where_none_is_offered() -> None:
    assert reason(restate(GROWN, "labels"), max_certain=0) == "7 of 7 leaves do not state the counts of their classes"
    forest = replace(GROWN, trees=GROWN.trees * 2)
    assert reason(forest, max_certain=0) == "the search is for one tree, and the release has 2"
    private = tuple(replace(a, role="private") if a.name == "c" else a for a in GROWN.attributes)
    assert "attributes that the adversary does not know" in reason(replace(GROWN, attributes=private), min_k=50)
    assert "no subtree of this tree keeps the limits: the whole table" in reason(GROWN, max_posterior=0.5)
    assert "max_right_guesses: at least" in reason(GROWN, max_right_guesses=0.3)
    told = mend_of(GROWN, sensitive="ill", max_certain=0, max_right_guesses=0.2).reason
    assert told == "the search knows no limits on right guesses about sensitive classes"


def test_it_is_offered_only_where_it_passes_by_all_that_is_known() -> None:
    """A fact about one person makes the others of a leaf certain, which its counts do not."""
    known = FRAME.assign(count=1)
    [judged] = maxent.estimate(GROWN, FRAME[QI], FRAME, facts=known).verdict(max_certain=0).releases
    assert judged.mend is not None
    assert "not by all that the adversary knows" in judged.mend.reason


@pytest.mark.parametrize(
    ("proved_least", "status", "words"),
    [(0, "cannot_tell", "but it cannot be told whether it does by all"), (60, "fail", "but not by all that")],
)
def test_it_is_offered_only_where_proofs_settle_it(
    monkeypatch: pytest.MonkeyPatch, proved_least: int, status: str, words: str
) -> None:
    offered = mend_of(GROWN, max_certain=0).release
    assert offered is not None
    numbers = {"proved_least": proved_least, "proved_most": 60}
    monkeypatch.setattr("maxent.api.proving.Certainty._told", lambda self, row, proof=None: {**row, **numbers})
    assert maxent.estimate(offered, FRAME[QI], FRAME).verdict(max_certain=0).status == status
    assert words in reason(GROWN, max_certain=0)


def test_a_limit_that_is_kept_needs_no_change() -> None:
    [judged] = maxent.estimate(GROWN, FRAME[QI], FRAME).verdict(min_k=1).releases
    assert judged.mend is None
    [judged] = maxent.estimate(GROWN, FRAME[QI]).verdict(max_right_guesses=0.1).releases
    again = pickle.loads(pickle.dumps(maxent.estimate(GROWN, FRAME[QI]))).verdict(max_right_guesses=0.1).releases[0]
    assert judged.mend == again.mend


def test_every_output_has_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree, qi, truth, report = (str(tmp_path / name) for name in ("tree.json", "qi.csv", "truth.csv", "report.html"))
    GROWN.save(tree)
    FRAME[QI].to_csv(qi, index=False)
    FRAME.to_csv(truth, index=False)
    limits = ["--max-certain", "0", "--min-k", "5"]
    said = "what would pass: the tree cut back from 7 leaves to"
    data = ["--truth", truth]
    calls = [
        ["audit", tree, qi],
        ["estimate", tree, qi, *data, "--report", report],
        ["compare", tree, tree, qi, *data, "--report", report],
        ["review", tree, truth, "--target", "T", "--qi", ",".join(QI), "--report", report],
    ]
    assert said in printed_by(capsys, [*calls[1], *limits]).out
    for call in calls:
        told = json.loads(printed_by(capsys, [*call, *limits, "--json"]).out)["verdict"]["releases"][-1]["would_pass"]
        assert told["offered"]
        assert told["leaves"] < told["leaves_before"] == 7
        assert told["accuracy"] <= told["accuracy_before"]
        if call[0] != "audit":
            page = Path(report).read_text(encoding="utf-8")
            assert "<h3>What would pass" in page
            assert "maxent defend optimal DATA --from TREE --target T --qi a,b,c --k 5 --max-certain 0" in page
    assert "verdict" in printed_by(capsys, ["audit", tree, "--max-certain", "0"]).out
    # The call that the report names makes the same tree of the data.
    made = ["--from", tree, "--target", "T", "--qi", ",".join(QI), "--k", "5", "--max-certain", "0"]
    assert main(["defend", "optimal", truth, *made, "-o", str(tmp_path / "best.json")]) == 0
    found = maxent.estimate(tree, qi, truth).verdict(max_certain=0, min_k=5).releases[0].mend
    assert found is not None
    assert found.release is not None
    assert maxent.load_release(tmp_path / "best.json").trees[0].leaves == found.release.trees[0].leaves


def test_an_audit_has_a_verdict_in_python() -> None:
    found = maxent.audit_release(GROWN, FRAME[QI], sensitive="ill")
    verdict = found.verdict(min_k=2, max_certain=0)
    assert verdict.status == "fail"
    [judged] = verdict.releases
    assert [(check.limit, check.status) for check in judged.checks] == [("min_k", "pass"), ("max_certain", "fail")]
    assert judged.mend is not None
    assert judged.mend.release is not None
    assert found.verdict(min_k=2).passed


def test_a_comparison_has_a_report_with_it(tmp_path: Path) -> None:
    found = maxent.compare([GROWN, GROWN], FRAME[QI], FRAME)
    path = tmp_path / "report.html"
    found.report(path, title="Two", max_certain=0)
    text = path.read_text(encoding="utf-8")
    assert "<h1>Two</h1>" in text
    assert text.count("<h3>What would pass") == 1  # the first is only what the other is compared with
    refused("html", found.report, tmp_path / "report.txt")


def test_an_audit_takes_the_base_rate_for_what_would_pass_from_the_leaves() -> None:
    limits = {"max_certain": 0, "max_lift": 0.9}
    audited, estimated = maxent.audit_release(GROWN, FRAME[QI]), maxent.estimate(GROWN, FRAME[QI])
    by_attacks, by_estimate = (found.verdict(**limits).releases[0] for found in (audited, estimated))
    assert by_attacks.mend is not None
    assert by_estimate.mend is not None
    assert by_attacks.mend.release == by_estimate.mend.release is not None
    assert by_attacks.checks[1].why == "as the attacks alone do not tell"


def test_a_verdict_shows_all_that_would_pass_and_every_reason() -> None:
    verdict = maxent.audit_release(GROWN, FRAME[QI], sensitive="ill").verdict(max_certain=0, max_right_guesses=0.9)
    text, html = repr(verdict), verdict._repr_html_()
    assert "..." not in text
    for said in ("sensitive classes", "all classes (beside)", "cannot tell, as the attacks alone do not tell"):
        assert said in " ".join(text.split())
        assert said in html
    [judged] = maxent.audit_release(GROWN, FRAME[QI]).verdict(max_certain=0, min_k=10).releases
    assert judged.mend is not None
    assert len(judged.mend.words) > 140
    shown = repr(maxent.audit_release(GROWN, FRAME[QI]).verdict(max_certain=0, min_k=10))
    assert judged.mend.words in " ".join(shown.split())
