"""Models that XGBoost saved as UBJSON: the numbers of their lists, and what is no such document."""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxent.models.errors import InvalidInput
from maxent.models.formats.boosting.xgboost_ubj import read_ubjson_object
from maxent.models.formats.registry import convert_model, reader_for
from maxent.models.formats.release_reader import Wanted
from maxent.models.reading import Reader

SEED = Path(__file__).parents[1] / "fuzz" / "seeds" / "xgboost-json.json"
KINDS = {"split_conditions": "d", "default_left": "U", "split_type": "i", "values": "i", "offsets": "l"}
FORMATS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}


def size(n: int) -> bytes:
    return b"L" + struct.pack(">q", n)


def binary(value: Any, key: str = "") -> bytes:
    """A document as XGBoost writes it: lists of numbers with their type."""
    if isinstance(value, str):
        return b"S" + size(len(value.encode())) + value.encode()
    if isinstance(value, int):
        return size(value)
    if isinstance(value, float):
        return b"d" + struct.pack(">f", value)
    if isinstance(value, dict):
        return b"{" + b"".join(size(len(k)) + k.encode() + binary(v, k) for k, v in value.items()) + b"}"
    if key != "version" and value and all(isinstance(item, (int, float)) for item in value):
        kind = KINDS.get(key, "d" if any(isinstance(item, float) for item in value) else "l")
        return b"[$" + kind.encode() + b"#" + size(len(value)) + np.array(value).astype(FORMATS[kind]).tobytes()
    return b"[#" + size(len(value)) + b"".join(map(binary, value))


def test_the_model_is_that_of_the_json(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(binary(json.loads(SEED.read_text(encoding="utf-8"))))
    assert reader_for(path).name == "xgboost-ubj"
    found = convert_model(path, Wanted(parameters={"rate": "0.3"}), Reader())
    of_json = convert_model(SEED, Wanted(parameters={"rate": "0.3"}), Reader())
    assert found.release == of_json.release
    assert found.lost == of_json.lost


def test_values_of_every_kind(tmp_path: Path) -> None:
    def read(content: bytes) -> object:
        (tmp_path / "x").write_bytes(b"{U\x01a" + content + b"}")
        return read_ubjson_object(tmp_path / "x")["a"]

    for mark, kind in FORMATS.items():
        assert read(mark.encode() + np.array(-3 if mark != "U" else 250).astype(kind).tobytes()) in (-3, 250)
    assert read(b"[ZTFSU\x02\xc3\xbc]") == [None, True, False, "ü"]
    assert np.array_equal(read(b"[$I#U\x02\x00\x01\xff\xff"), [1, -1])
    assert read(b"{#U\x01U\x01b[]") == {"b": []}


def test_memory_is_bounded_by_the_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"{U\x01a[" + b"{}" * 100_000 + b"]}")
    with pytest.raises(InvalidInput, match="fewer objects, lists and keys"):
        read_ubjson_object(tmp_path / "x")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "an object, found the end"),
        (b"[]", "an object, found something"),
        (b"{}{}", "nothing after"),
        (b"{U\x01a", "more bytes"),
        (b"{U\x09a", "more bytes, found the end"),
        (b"{U\x01a?}", "a value"),
        (b"{U\x01a" + b"[" * 40, "at most 32 levels"),
        (b"{i\xff", "a length"),
        (b"{d\0\0\0\0", "a length"),
        (b"{U\x01\xff", "text in UTF-8"),
        (b"{U\x01aTU\x01aT}", "each key once"),
        (b"{U\x01a[$Z#L\x7f\xff\xff\xff\xff\xff\xff\xff", "numbers of a type"),
        (b"{U\x01a[$lU", "how many"),
        (b"{U\x01a[$l#L\x7f\xff\xff\xff\xff\xff\xff\xff", "fewer numbers"),
        (b"{U\x01a[#L\x7f\xff\xff\xff\xff\xff\xff\xff", "more bytes"),
    ],
)
def test_what_is_no_such_document_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InvalidInput, match=words):
        read_ubjson_object(tmp_path / "x")
