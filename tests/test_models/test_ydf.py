"""Model folders of ydf: conditions, counts, votes and scores; and what is no such folder."""

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.calls import refused
from support.models import read_model

from maxent.models.errors import InvalidInput
from maxent.models.files.protobuf import message_of
from maxent.models.formats.registry import reader_for
from maxent.models.formats.release_reader import Converted
from maxent.models.trees.predict import predict, predict_proba


def varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found, number = found + bytes([number & 127 | 128]), number >> 7
    return found + bytes([number])


def field(number: int, value: Any) -> bytes:
    """A field as protocol buffers write it: a whole number, text, bytes, or a number of single precision."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value % 2**64)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def column(name: str, kind: int, more: bytes = b"") -> bytes:
    return field(1, field(1, kind) + field(2, name) + more)


def categories(*names: str) -> bytes:
    items = b"".join(field(7, field(1, name) + field(2, field(1, i))) for i, name in enumerate(("<OOD>", *names)))
    return field(6, field(2, len(names) + 1) + items)


BORDERS = field(8, field(1, struct.pack("<2f", 10.0, 20.1)))
SPEC = (
    column("paid", 4, categories("no", "yes"))
    + column("age", 1)
    + column("colour", 4, categories("red", "blue"))
    + column("member", 7)
    + column("hours", 9, BORDERS)
    + column("words", 5)
)


def leaf(no: float, yes: float, top: int = 1) -> bytes:
    return field(1, field(1, top) + field(2, field(1, struct.pack("<3d", 0, no, yes)) + field(2, 1)))


def score(value: float) -> bytes:
    return field(2, field(1, value))


def split(attribute: int, condition: bytes, missing: int = 0) -> bytes:
    return field(3, field(1, missing) + field(2, attribute) + field(3, condition))


OLD = field(2, field(1, 30.1))  # At least 30.1


def write(folder: Path, nodes: list[bytes], spec: bytes = SPEC, packed: bool = False, **more: Any) -> Path:
    path = folder / "model"
    path.mkdir(exist_ok=True)
    header = field(1, more.get("name", "RANDOM_FOREST")) + field(2, more.get("task", 1)) + field(3, 0)
    form = field(7, "BLOB_SEQUENCE_GZIP" if packed else more.get("form", "BLOB_SEQUENCE"))
    special = more.get("special", field(3, more.get("winner", 0))) + field(1, 1) + field(2, more.get("trees", 1)) + form
    blob = b"".join(struct.pack("<I", len(node)) + node for node in nodes)
    kind = "gradient_boosted_trees" if "GRADIENT" in more.get("name", "") else "random_forest"
    (path / "header.pb").write_bytes(header + more.get("weights", b""))
    (path / f"{kind}_header.pb").write_bytes(special)
    (path / "data_spec.pb").write_bytes(spec)
    content = gzip.compress(blob) if packed else blob
    (path / "nodes-00000-of-00001").write_bytes((b"BS\1\0" + bytes([int(packed)]) + b"\0\0\0") + content)
    return path


def read(path: Path, **said: Any) -> Converted:
    assert reader_for(path).name == "ydf"
    return read_model(path, **said)


def yes(found: Converted, people: pd.DataFrame) -> Any:
    return predict_proba(found.release, people)[:, found.release.target.classes.index("yes")]


PEOPLE = pd.DataFrame({"age": [30.0, 31.0, np.nan], "paid": ["no", "yes", "yes"]})


@pytest.mark.parametrize("packed", [False, True])
def test_counts_are_those_that_a_table_shows(tmp_path: Path, packed: bool) -> None:
    path = write(tmp_path, [split(1, OLD, missing=1), leaf(1, 0), leaf(0, 2, top=2)], packed=packed)
    found = read(path, train=PEOPLE, target="paid")
    assert [node.counts for node in found.release.trees[0].leaves] == [{"no": 1, "yes": 0}, {"no": 0, "yes": 2}]
    assert found.release.target.name == "paid"
    np.testing.assert_allclose(yes(found, PEOPLE), [0, 1, 1])
    assert read(path, train=PEOPLE.assign(paid=["no", "no", "yes"]), target="paid").release.resampled == 3
    for said in ({}, {"train": PEOPLE.iloc[:2], "target": "paid"}):
        unknown = read(path, **said)
        assert unknown.states == {"counts": False, "n": False, "rates": True, "labels": False, "linear": False}
        assert any("of a bootstrap" in sentence for sentence in unknown.lost)


def test_sums_of_weights_are_shares(tmp_path: Path) -> None:
    path = write(tmp_path, [split(1, OLD), leaf(1, 0), leaf(1, 3, top=2)], weights=field(4, field(1, 1)))
    found = read(path, train=PEOPLE, target="paid")
    assert not found.states["counts"]
    np.testing.assert_allclose(yes(found, PEOPLE), [0, 0.75, 0])


def test_trees_vote_where_the_winner_takes_all(tmp_path: Path) -> None:
    found = read(write(tmp_path, [leaf(3, 2), leaf(2, 3, top=2), leaf(0, 5, top=2)], winner=1, trees=3))
    assert found.release.predicts == "vote"
    np.testing.assert_allclose(yes(found, PEOPLE), 2 / 3)


TESTS = {
    "a vector": (split(2, field(4, field(1, bytes([1])))), {"colour": ["red", "blue", "green", None]}, [1, 0, 0, 0]),
    "a bit map": (
        split(2, field(5, field(1, bytes([5]))), 1),
        {"colour": ["red", "blue", "green", None]},
        [0, 1, 1, 1],
    ),
    "true": (split(3, field(3, b"")), {"member": ["True", "False", None]}, [1, 0, 0]),
    "a bin": (split(4, field(6, field(1, 2))), {"hours": [20.0, 20.2, np.nan]}, [0, 1, 0]),
    "missing numbers": (split(1, field(1, b"")), {"age": [1.0, np.nan]}, [0, 1]),
    "missing categories": (split(2, field(1, b"")), {"colour": ["red", "green", None]}, [0, 0, 1]),
}


@pytest.mark.parametrize("name", TESTS)
def test_conditions(tmp_path: Path, name: str) -> None:
    test, people, expected = TESTS[name]
    found = read(write(tmp_path, [test, leaf(1, 0), leaf(0, 1, top=2)]))
    np.testing.assert_allclose(yes(found, pd.DataFrame(people)), expected)


def test_boosted_trees_have_scores(tmp_path: Path) -> None:
    special = field(3, 1) + field(4, 0.5) + field(5, 1)
    nodes = [split(1, OLD), score(-1.0), score(1.0), score(0.25)]
    path = write(tmp_path, nodes, name="GRADIENT_BOOSTED_TREES", special=special, trees=2)
    found = read(path, classes=("yes", "no"))
    np.testing.assert_allclose(yes(found, PEOPLE), 1 / (1 + np.exp([0.25, -1.75, 0.25])))
    assert predict(found.release, PEOPLE).tolist() == ["no", "yes", "no"]
    assert read(path, classes=("a", "b")).release.target.classes == ("a", "b")
    special = field(3, 3) + field(4, struct.pack("<2f", 0.5, 0.0)) + field(5, 2)
    path = write(tmp_path, nodes, name="GRADIENT_BOOSTED_TREES", special=special, trees=2)
    assert [tree.of_class for tree in read(path).release.trees] == ["no", "yes"]


NODES = [split(1, OLD), leaf(1, 0), leaf(0, 2)]
WRONG: dict[str, Any] = {
    "expected classification": {"task": 2},
    "RANDOM_FOREST or": {"name": "OTHER"},
    "load the model with ydf": {"form": "TFE_RECORDIO"},
    "at least one tree": {"trees": 0},
    "expected a node, found the end": {"nodes": NODES[:2]},
    "the nodes of 1 trees": {"nodes": [*NODES, leaf(1, 1)]},
    "a sum for each class": {"nodes": [field(1, field(1, 1))]},
    "expected a column of numbers": {"nodes": [split(5, OLD), *NODES[1:]]},
    "one threshold of one column": {"nodes": [split(1, field(7, b"")), *NODES[1:]]},
    "a set of categories": {"nodes": [split(2, OLD), *NODES[1:]]},
    "categories by numbers below 3": {"nodes": [split(2, field(4, field(1, bytes([9])))), *NODES[1:]]},
    "some of the categories": {"nodes": [split(2, field(5, b"")), *NODES[1:]]},
    "a bin from 1 to 2": {"nodes": [split(4, field(6, field(1, 3))), *NODES[1:]]},
    "records, each after its size": {"nodes": [leaf(1, 0)], "cut": 1},
    "a message of protocol buffers": {"spec": b"\x0a\xff"},
    "at least two classes": {"spec": column("paid", 1) + column("age", 1)},
    "a name for each number": {"spec": column("paid", 4, field(6, field(2, 2) + field(7, field(2, field(1, 1)))))},
    "expected a name, found": {"spec": column("", 1)},
    "binomial, multinomial": {"name": "GRADIENT_BOOSTED_TREES", "special": field(3, 2)},
    "1 scores, and as many trees": {"name": "GRADIENT_BOOSTED_TREES", "special": field(3, 1)},
    "a score of every leaf": {"name": "GRADIENT_BOOSTED_TREES", "special": field(3, 1) + field(4, 0.5)},
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_no_such_folder_is_refused(tmp_path: Path, words: str) -> None:
    said = dict(WRONG[words])
    cut = said.pop("cut", 0)
    path = write(tmp_path, said.pop("nodes", NODES), **said)
    if cut:
        nodes = path / "nodes-00000-of-00001"
        nodes.write_bytes(nodes.read_bytes()[:-cut])
    refused(words, read, path)


def test_what_is_compressed_is_bounded(tmp_path: Path) -> None:
    path = write(tmp_path, [leaf(1, 0) + field(9, b"\0" * 10_000_000)], packed=True)
    refused("at most 10 times the file", read, path)
    nodes = path / "nodes-00000-of-00001"
    nodes.write_bytes(nodes.read_bytes()[:8] + b"none")
    refused("what gzip compressed", read, path)


def test_values_of_messages() -> None:
    data = field(1, -3) + field(2, "\u00fc") + field(3, 0.5) + field(4, bytes([1, 200, 1])) + field(5, field(1, 7))
    found = message_of(data, "x", "document")
    assert (found.whole(1), found.text(2), found.number(3)) == (-3, "\u00fc", 0.5)
    assert (found.wholes(4), found.message(5).whole(1), found.whole(9, 4)) == ([1, 200], 7, 4)
    for wrong in (
        lambda: found.whole(2),
        lambda: found.data(1),
        lambda: found.numbers(2),
        lambda: found.messages(1, "y"),
    ):
        with pytest.raises(InvalidInput):
            wrong()
    with pytest.raises(InvalidInput, match="finite numbers"):
        message_of(field(1, float("nan")), "x", "document").number(1)
    with pytest.raises(InvalidInput, match="text in UTF-8"):
        message_of(field(1, b"\xff"), "x", "document").text(1)
