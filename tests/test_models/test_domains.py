"""Domains that are known without the data: what can be said, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxent.models.errors import InvalidInput
from maxent.models.release import Attribute, Target
from maxent.models.tables.domains import Domains, read_domains
from maxent.models.tables.training import Training

GIVEN = {"age": [17, 90.5], "sex": ["F", "M"], "member": [True, False], "risk": [0, 1], "code": ["1", "2"]}
READ = Domains(
    {"sex": ("F", "M"), "member": ("True", "False"), "risk": ("0", "1"), "code": ("1", "2")}, {"age": (17.0, 90.5)}
)


def test_two_numbers_are_a_range_and_strings_are_values(tmp_path: Path) -> None:
    assert read_domains(GIVEN, "risk") == READ
    assert read_domains({**GIVEN, "age": (np.int64(17), np.float64(90.5)), "sex": np.array(["F", "M"])}, "risk") == READ
    file = tmp_path / "domains.json"
    file.write_text(json.dumps(GIVEN))
    assert read_domains(file, "risk") == READ
    assert read_domains(None, "risk") == Domains()


def test_everything_else_is_refused_by_name(tmp_path: Path) -> None:
    wrong: dict[str, Any] = {
        "empty": [],
        "three": [1, 2, 3],
        "mixed": ["a", 1],
        "backwards": [3, 1],
        "endless": [0, float("inf")],
        "huge": [0, 10**400],
        "text": "abc",
        "none": None,
    }
    with pytest.raises(InvalidInput) as caught:
        read_domains({"fine": ["a"], **wrong}, "risk")
    assert [problem.field for problem in caught.value.problems] == [repr(name) for name in wrong]
    file = tmp_path / "domains.json"
    file.write_text('{"a": ["x"], "a": ["y"], "b": [0, NaN]}')
    with pytest.raises(InvalidInput) as caught:
        read_domains(file, "risk")
    assert [problem.field for problem in caught.value.problems] == ["'a'", "'b'"]
    assert caught.value.source == str(file)
    with pytest.raises(InvalidInput, match="columns with their domains"):
        read_domains(["age"], "risk")  # type: ignore[arg-type]


def test_a_number_that_is_none_is_shown_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "domains.json"
    file.write_text('{"A": -1e400, "B": [NaN, 1e999]}', encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        read_domains(file, "T")
    assert [problem.found for problem in caught.value.problems] == ["-1e400", "[NaN, 1e999]"]


def test_what_is_unstated_and_what_does_not_fit() -> None:
    attributes = (
        Attribute("age", "numeric"),
        Attribute("sex", "categorical", ("F", "M")),
        Attribute("size", "numeric"),
    )
    columns = (np.array([20.0, 91.0]), np.array([0, 1]), np.array([1.0, 2.0]))
    training = Training(Target("risk", ("0", "1")), attributes, columns, np.array([0, 1]))
    assert READ.unstated(training) == ("size",)
    assert Domains().unstated(training) == ("age", "sex", "size", "risk")
    fields = [problem.field for problem in READ.problems(training)]
    assert fields == ["'age'"]
    odd = Domains({}, {"sex": (0.0, 1.0), "nobody": (0.0, 1.0), "size": (1.0, 2.0)})
    assert [problem.field for problem in odd.problems(training)] == ["'sex'", "'nobody'"]
