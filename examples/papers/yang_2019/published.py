"""What Yang et al. (2019) print: Table 1, and GCP and error of Table 2."""

from __future__ import annotations

from typing import NamedTuple


class Generalization(NamedTuple):
    """What Table 1 publishes in the place of a record's age and marital status."""

    tiered: tuple[str, str]
    uniform: tuple[str, str]


_BOTH, _ONE = "Married|Not Married", "Not Married"

TABLE_1 = (
    Generalization(("42-61", _BOTH), ("29-61", _BOTH)),
    Generalization(("42-61", _BOTH), ("29-61", _BOTH)),
    Generalization(("29-61", _BOTH), ("29-61", _BOTH)),
    Generalization(("29-42", _ONE), ("29-61", _BOTH)),
    Generalization(("29-42", _ONE), ("29-61", _BOTH)),
)
"""By record; a star is written as all values."""

RISK = {
    ("2", "R"): 3.322,
    ("6", "R"): 4.322,
    ("6", "R_branch"): 3.432,
    ("1", "omega"): 0.135,
    ("2", "omega"): 0.161,
    ("3", "omega"): 0.246,
    ("6", "omega"): 0.445,
    ("2", "E"): 2.0,
    ("2", "E_branch"): 0.0,
    ("3", "E"): 4.0,
    ("3", "E_branch"): 1.0,
    ("6", "E"): 2.0,
    ("6", "E_branch"): 0.0,
}
"""(Node, measure) -> its value in the worked example."""


class Cell(NamedTuple):
    """GCP, and error of the classifier."""

    gcp: float
    error: float


ORIGINAL = {"contraceptive": 0.4779, "adult": 0.1462}
"""Errors on the original data."""

TABLE_2 = {
    ("contraceptive", "mondrian", 10): Cell(0.4174, 0.5848),
    ("contraceptive", "erp", 10): Cell(0.4093, 0.4902),
    ("contraceptive", "tiered", 10): Cell(0.4071, 0.4827),
    ("contraceptive", "mondrian", 20): Cell(0.5136, 0.5989),
    ("contraceptive", "erp", 20): Cell(0.5131, 0.5936),
    ("contraceptive", "tiered", 20): Cell(0.5127, 0.5655),
    ("contraceptive", "mondrian", 30): Cell(0.5771, 0.6028),
    ("contraceptive", "erp", 30): Cell(0.5728, 0.6029),
    ("contraceptive", "tiered", 30): Cell(0.5602, 0.5906),
    ("adult", "mondrian", 10): Cell(0.4711, 0.2481),
    ("adult", "erp", 10): Cell(0.4251, 0.2109),
    ("adult", "tiered", 10): Cell(0.3648, 0.1663),
    ("adult", "mondrian", 20): Cell(0.5010, 0.2509),
    ("adult", "erp", 20): Cell(0.4262, 0.2448),
    ("adult", "tiered", 20): Cell(0.3696, 0.1708),
    ("adult", "mondrian", 30): Cell(0.5195, 0.2776),
    ("adult", "erp", 30): Cell(0.4695, 0.2493),
    ("adult", "tiered", 30): Cell(0.3737, 0.1744),
}
"""(Data, method, k) -> what is printed; its Mondrian is the one by information gain."""
