"""Adversaries with stakes: sensitive classes, gain matrices, and the capacity of a release."""

import json
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.paths import D1

import maxent
from maxent import InvalidInput
from maxent.__main__ import main
from maxent.disclosure.leakage import channel_of, leakage, min_capacity, posterior_vulnerability, prior_vulnerability

FILES = [str(D1 / "tree.json"), str(D1 / "qi.csv")]
TRUTH = ["--truth", str(D1 / "truth.csv")]


def by_libqif(gain: Any, prior: Any, channel: Any) -> tuple[float, float, float]:
    """Formulas of libqif, a term at a time: g_vuln::prior, g_vuln::posterior, and log2 of bayes_vuln::mult_capacity."""
    before = max(sum(prior[x] * row[x] for x in range(len(prior))) for row in gain)
    after = capacity = 0.0
    for y in range(len(channel[0])):
        after += max(sum(prior[x] * channel[x][y] * row[x] for x in range(len(prior))) for row in gain)
        capacity += max(channel[x][y] for x in range(len(prior)))
    return before, after, log2(capacity)


def test_a_thousand_random_channels_have_the_figures_of_libqif() -> None:
    rng = np.random.default_rng(20)
    for _ in range(1000):
        secrets, seen, wishes = rng.integers(1, 6, 3).tolist()
        prior, channel = rng.dirichlet(np.ones(secrets)), rng.dirichlet(np.ones(seen), secrets)
        gain = rng.random((wishes, secrets))
        found = prior_vulnerability(gain, prior), posterior_vulnerability(gain, prior, channel), min_capacity(channel)
        assert found == pytest.approx(by_libqif(gain.tolist(), prior.tolist(), channel.tolist()), abs=1e-12)
        # A posterior is such a channel seen from behind, and bounded by its capacity.
        joint = prior[:, None] * channel
        counts = np.round(1e6 * joint.sum(axis=0)) + 1
        posterior = (joint / joint.sum(axis=0)).T
        leak = leakage(gain, posterior, counts)
        pi, behind = channel_of(posterior, counts)
        assert (leak.prior, leak.posterior) == pytest.approx(by_libqif(gain, pi, behind)[:2])
        assert leak.posterior <= leak.prior * 2 ** min_capacity(behind) + 1e-9  # the miracle theorem


def test_capacities_of_channels_that_tell_all_and_nothing() -> None:
    assert min_capacity(np.eye(4)) == 2
    assert min_capacity(np.full((4, 3), 1 / 3)) == 0
    prior, channel = channel_of(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([3, 1]))
    assert prior.tolist() == [0.75, 0.25, 0.0]
    assert channel.tolist() == [[1.0, 0.0], [0.0, 1.0]]  # a class that nobody can have is no secret


def test_a_gain_matrix_of_guessing_is_bayes_vulnerability(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "gain.csv"
    path.write_text("guess,>50K,<=50K\nlow,0,1\nhigh,1,0\n", encoding="utf-8")
    assert main(["estimate", *FILES, *TRUTH, "--gain", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["leakage"]["posterior"] == pytest.approx(found["disclosure"]["bayes_vulnerability"])
    assert found["leakage"]["prior"] == pytest.approx(found["baseline"]["base_rate"])
    assert found["leakage"]["realised"] == pytest.approx(found["truth"]["right_guesses"])
    assert found["leakage"]["multiplicative"] == found["leakage"]["posterior"] / found["leakage"]["prior"]
    assert 0 < found["min_capacity"] <= 1
    assert main(["estimate", *FILES, "--gain", str(path)]) == 0
    assert (
        "gain of the best guesses 0.7551, 0.5455 by the base rate, 1.384 times as much, 0.5000 of a uniform guess"
        in capsys.readouterr().out
    )
    report = tmp_path / "report.html"
    assert main(["compare", FILES[0], *FILES, "--gain", str(path), "--report", str(report)]) == 0
    assert capsys.readouterr().out.count("gain of the best guesses 0.7551, 0.5455 by the base rate") == 2
    assert main(["compare", FILES[0], *FILES, "--gain", str(path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["releases"]
    assert [row["leakage"]["uniform"] for row in rows] == [pytest.approx(0.5)] * 2
    page = report.read_text(encoding="utf-8")
    assert "By the gain matrix</h3>" in page
    assert "Without the release: 0.5455 by the base rate, 0.5000 of a uniform guess." in page
    for text, said in (("guess,>50K\nlow,0\n", "'<=50K'"), ("<=50K,>50K\n1,-1\n", "a gain of at least 0")):
        path.write_text(text, encoding="utf-8")
        assert main(["estimate", *FILES, "--gain", str(path)]) == 2
        assert said in capsys.readouterr().err.replace("<=50K: ", "'<=50K': ")


def people() -> pd.DataFrame:
    """Of a leaf of five, all are well; of one of four, three are ill; of one of two, both are dead."""
    rows = [("a", "well")] * 5 + [("b", "ill")] * 3 + [("b", "well")] + [("c", "dead")] * 2
    return pd.DataFrame(rows, columns=["q", "T"])


def test_limits_are_about_sensitive_classes_alone(tmp_path: Path, capsys: Any) -> None:
    frame = people()
    release = maxent.defend(frame, target="T", qi=["q"], method="none", max_depth=3).release
    ill = maxent.estimate(release, frame[["q"]], frame, sensitive="ill")
    assert ill.sensitive is not None
    found = ill.sensitive.measures
    assert (found["certain"], found["pure"], found["individuals"]) == (0, 0, 3)
    assert found["max_posterior"] == pytest.approx(0.75)
    assert found["right_guesses"] == 1.0
    assert found["base_rate"] == 0.0  # most people are well: who always says so finds nobody
    assert found["bayes_vulnerability"] == pytest.approx(1.0)
    assert found["divergence"] == pytest.approx(0, abs=1e-6)
    both = maxent.estimate(release, frame[["q"]], sensitive=["ill", "dead"]).sensitive
    assert both is not None
    assert (both.measures["certain"], both.measures["right_guesses"]) == (2, None)
    release.save(tmp_path / "tree.json")
    frame.to_csv(tmp_path / "truth.csv", index=False)
    frame[["q"]].to_csv(tmp_path / "qi.csv", index=False)
    files = [str(tmp_path / name) for name in ("tree.json", "qi.csv")]
    truth, limit = ["--truth", str(tmp_path / "truth.csv")], ["--max-certain", "0", "--enforce"]
    for call in (["compare", *files], ["estimate", *files, *truth]):
        assert main([*call, *limit]) == 3
        assert main([*call, *limit, "--sensitive", "ill"]) == 0
        assert main([*call, *limit, "--sensitive", "ill,dead"]) == 3
        assert "all classes (beside): individuals whose class is certain 7" in capsys.readouterr().out
    review = ["review", files[0], truth[1], "--target", "T", "--qi", "q", *limit, "--sensitive"]
    assert (main([*review, "ill"]), main([*review, "dead"])) == (0, 3)
    audit = ["audit", *files, *limit, "--sensitive"]
    assert (main([*audit, "ill"]), main([*audit, "dead"])) == (4, 3)
    capsys.readouterr()
    report = str(tmp_path / "report.html")
    assert main(["estimate", *files, *truth, "--sensitive", "ill", "--json", "--report", report]) == 0
    assert json.loads(capsys.readouterr().out)["sensitive"]["classes"] == ["ill"]
    assert main(["estimate", *files, *truth, "--sensitive", "ill", "--max-certain", "0", "--report", report]) == 0
    text = Path(report).read_text(encoding="utf-8")
    assert "<h3>ill alone</h3>" in text
    assert "Stated limits and what was found, about ill alone" in text
    assert "all classes: 7" in text


def test_a_class_that_is_none_is_refused() -> None:
    with pytest.raises(
        InvalidInput, match=r"expected classes of 'Salary' \('<=50K', '>50K'\), found '>50k'; did you mean"
    ):
        maxent.estimate(*FILES, sensitive=">50k")
    with pytest.raises(InvalidInput, match="sensitive: expected classes"):
        maxent.estimate(*FILES, sensitive=[])
