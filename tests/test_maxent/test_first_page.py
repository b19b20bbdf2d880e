"""Verdict and report from Python, and the first page of a report."""

import pickle
from pathlib import Path

import pytest
from support.calls import refused
from support.paths import D1

import maxent
from maxent.__main__ import main

FILES = (D1 / "tree.json", D1 / "qi.csv")
TRUTH = D1 / "truth.csv"


def test_an_estimate_has_a_verdict_and_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = maxent.estimate(*FILES, TRUTH)
    verdict = found.verdict(max_certain=4, min_k=2, max_posterior=1.0)
    assert [(check.limit, check.status) for check in verdict.releases[0].checks] == [
        ("max_posterior", "pass"),
        ("min_k", "pass"),
        ("max_certain", "fail"),
    ]
    assert found.verdict().status == "not stated"
    assert main(["estimate", *map(str, FILES), "--truth", str(TRUTH), "--max-certain", "4", "--min-k", "2"]) == 0
    assert found.verdict(max_certain=4, min_k=2).lines()[0] in capsys.readouterr().out
    refused("did you mean 'max_certain'", found.verdict, max_certan=0)
    path = tmp_path / "report.html"
    found.report(path, title="Salaries <1>", purpose="A survey & its tree", max_certain=4)
    text = path.read_text(encoding="utf-8")
    for said in ("<h1>Salaries &lt;1&gt;</h1>", "A survey &amp; its tree", "Beyond the stated limits"):
        assert said in text
    refused("html", found.report, tmp_path / "report.txt")
    assert pickle.loads(pickle.dumps(found)).verdict(max_certain=4).status == "fail"


def test_a_comparison_has_a_verdict() -> None:
    found = maxent.compare([FILES[0], FILES[0]], FILES[1])
    assert found.verdict(max_certain=7).status == "pass"
    assert [judged.decisive for judged in found.verdict(max_certain=6).releases] == [False, True]


def test_the_first_page_has_five_figures_the_price_and_what_is_assumed(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    call = ["compare", str(FILES[0]), *map(str, FILES), "--truth", str(TRUTH), "--control", str(TRUTH), "--max-certain"]
    assert main([*call, "0", "--title", "Wages", "--purpose", "Research", "--report", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    page = text.split('<section id="glance"')[1].split("</section>")[0]
    assert page.count('<tr><th scope="row">') == 5 + 4  # figures, and what is signed
    assert "81.8 % by the estimate; base rate 54.5 %, uniform guess 50.0 %" in page
    assert "Beyond other people" in page
    assert "The release is right about 72.7 % of the people of the training data." in page
    assert "The adversary knows Education, Country, Gender of exactly these 11 people" in page
    assert "Right guesses are those about real people" in page
    assert "Signature" in page
    assert "<h1>Wages</h1>" in text
    assert "--title Wages --purpose Research" in text
    assert "#glance { break-after: page; }" in text


def test_without_a_truth_the_page_says_what_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    maxent.estimate(*FILES).report(path)
    page = path.read_text(encoding="utf-8").split('<section id="glance"')[1].split("</section>")[0]
    assert "Not known: compare the release with one without protection" in page
    assert "Right guesses are expected by the estimate" in page
    assert "Doubt that is left" in page
