"""Addresses of object stores and of the web: refused in words, wherever a file is named."""

from pathlib import Path

import pytest

from maxent.__main__ import main

D1 = Path(__file__).parents[2] / "examples" / "d1"
TREE, QI = str(D1 / "tree.json"), str(D1 / "qi.csv")
SAID = "(addresses are not opened: mount the store, or copy the file here)"


@pytest.mark.parametrize(
    "call",
    [
        ["estimate", TREE, "s3://bucket/qi.parquet"],
        ["estimate", TREE, "gs://bucket/qi-*.parquet", "--memory", "1GB"],
        ["estimate", "https://example.org/tree.json", QI],
        ["estimate", TREE, QI, "-o", "s3://bucket/out.csv"],
        ["audit", TREE, QI, "-o", "s3://bucket/out/"],
    ],
)
def test_an_address_is_refused_in_words(tmp_path, monkeypatch, capsys, call):
    monkeypatch.chdir(tmp_path)
    assert main(call) == 2
    assert SAID in capsys.readouterr().err


def test_a_file_that_is_not_there_is_no_address(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("qi.parquet", "C:/qi.parquet", "folder/qi.csv"):
        assert main(["estimate", TREE, name]) == 2
    assert "addresses" not in capsys.readouterr().err
