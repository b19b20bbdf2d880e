"""Addresses of object stores and of the web: refused in words, but for tables in parts."""

import pytest
from support.calls import printed_by
from support.paths import D1

from maxent.__main__ import main
from maxent.models.files.input_files import redacted, without_secrets

TREE, QI = str(D1 / "tree.json"), str(D1 / "qi.csv")
SAID = "(addresses are not opened: mount the store, or copy the file here)"
OF_TABLES = "(addresses are opened where people are taken in parts: docs/scale.md"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["estimate", TREE, "s3://bucket/qi.parquet"], OF_TABLES),
        (["estimate", TREE, "gs://bucket/qi-*.parquet"], OF_TABLES),
        (["estimate", "https://example.org/tree.json", QI], SAID),
        (["estimate", TREE, QI, "-o", "s3://bucket/out.csv"], SAID),
        (["audit", TREE, QI, "-o", "s3://bucket/out/"], SAID),
    ],
)
def test_an_address_is_refused_in_words(tmp_path, monkeypatch, capsys, call, said):
    monkeypatch.chdir(tmp_path)
    assert said in printed_by(capsys, call, 2).err


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("s3://KEY:SEC/RET@people/qi.parquet", "s3:/...@people/qi.parquet: file:"),
        ("s3://KEY:SEC/RET@people/qi-*.parquet", "s3://...@people/qi-*.parquet: file:"),
        ("https://me@host:80/qi.csv?sig=SECRET", "https://...@host:80/qi.csv?...: file:"),
        ("hdfs://host:9000/a@b/SECTION.csv", "hdfs:/host:9000/a@b/SECTION.csv: file:"),
    ],
)
def test_no_message_has_the_secrets_of_an_address(tmp_path, monkeypatch, capsys, address, shown):
    monkeypatch.chdir(tmp_path)
    said = printed_by(capsys, ["estimate", TREE, address], 2).err
    assert f"maxent: {shown}" in said
    assert not any(secret in said for secret in ("SEC/", "SECRET"))


def test_a_file_that_is_not_there_is_no_address(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("qi.parquet", "C:/qi.parquet", "folder/qi.csv"):
        assert main(["estimate", TREE, name]) == 2
    assert "addresses" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("jupyter://host:8888/people.csv?token=hunter2", "jupyter://host:8888/people.csv?..."),
        ("s3://bucket/part-?.csv", "s3://bucket/part-?.csv"),
        ("ftp://me:hunter2@host/people.csv", "ftp://...@host/people.csv"),
        ("https://host/people.csv?sig=hunter2", "https://host/people.csv?..."),
        ("https://me:hunt/er2@host/people.csv", "https://...@host/people.csv"),
        ("https://host:80/a@b/people.csv", "https://host:80/a@b/people.csv"),
    ],
)
def test_keys_of_addresses_are_not_shown(name, shown):
    assert without_secrets(name) == shown


def test_addresses_in_texts_of_others_lose_what_is_secret():
    text = "cannot reach 'tcp://me:hunter2@host:1' nor https://host/x?token=hunter2 at all"
    assert redacted(text) == "cannot reach 'tcp://...@host:1' nor https://host/x?... at all"
    assert (
        redacted("not ftp://me:hunt/er2@host:80/a, http://host:80/a@b") == "not ftp://...@host:80/a, http://host:80/a@b"
    )
