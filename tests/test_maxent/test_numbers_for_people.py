"""Numbers as people read them: in texts and reports, while JSON has every digit."""

import json
import re
from pathlib import Path

import pytest
from support.documents import release_document

from maxent.__main__ import main
from maxent.constraints.program.program import Contradiction
from maxent.models.errors import Origin


@pytest.fixture
def many(tmp_path):
    """1,234,567 people in two leaves, the posterior of one of which is 0.1 + 0.2 or so."""
    leaves = [{"id": "L0", "counts": {"a": 234567, "b": 0}}, {"id": "L1", "counts": {"a": 700000, "b": 300000}}]
    branches = [{"in": ["u"], "child": "L0"}, {"in": ["v"], "child": "L1"}]
    document = release_document(
        "Secret", ["a", "b"], {"A": ["u", "v"]}, [{"id": "N", "attribute": "A", "branches": branches}, *leaves]
    )
    (tmp_path / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "qi.csv").write_text("A,n\nu,234567\nv,1000000\n", encoding="utf-8")
    return [str(tmp_path / "tree.json"), str(tmp_path / "qi.csv")]


@pytest.mark.regression(number=20)
def test_texts_and_reports_have_commas_and_three_decimals(many, tmp_path, capsys):
    tree, qi = many
    report, limits = str(tmp_path / "out.html"), ["--max-certain", "200000", "--max-posterior", "0.30000000000000004"]
    for call in (["estimate", tree, qi], ["compare", tree, "--qi", qi], ["audit", tree, qi]):
        more = [] if call[0] == "audit" else ["--report", report, *limits]
        assert main([*call, "--count", "n", *more]) == 0
        printed = capsys.readouterr().out
        assert "234,567" in printed
        assert not re.search(r"\d\.\d{9}|\de\+0[1-9]", printed), printed
        if more:
            text = Path(report).read_text(encoding="utf-8")
            for part in ("<script.*?</script>", "<style.*?</style>", "<svg.*?</svg>", "<section id=.provenance.*"):
                text = re.sub(part, "", text, flags=re.DOTALL)
            assert "234,567" in text
            assert "at most 200,000" in text
            assert "at most 0.3<" in text
            assert not re.search(r"\d\.\d{9}", text)


def test_a_contradiction_is_in_whole_people():
    assert str(Contradiction(Origin("leaf", "L"), "n", 1234567.0)).endswith("(off by 1,234,567 individuals)")
    assert str(Contradiction(Origin("leaf", "L"), "n", 0.25)).endswith("(off by 0.25 individuals)")
