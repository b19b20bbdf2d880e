"""What the papers print: Wakabayashi et al. (2024), Tables 5 to 7, and Waseda et al. (2025), Table A1.

A row is named by the depth of the tree or by the pruning threshold s = k - 1; a cell keeps the digits that are printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

METRICS = ("unique", "people", "leaves", "accuracy")
"""Unique leaves (U), people in homogeneous leaves (H_u), those leaves (H_leaf), test accuracy (ACC)."""

Rows: TypeAlias = Mapping[str, Mapping[str, str]]
"""Name of a row -> metric -> what is printed."""


def _rows(columns: str, text: str) -> Rows:
    """The rows of a table whose first column names them."""
    names = columns.split()
    return {row: dict(zip(names, cells, strict=True)) for row, *cells in map(str.split, text.strip().splitlines())}


TABLE_A1 = {
    "nursery": _rows(
        "accuracy people leaves",
        """
        4  0.863  3965.5   2
        5  0.880  5217     4.9
        6  0.888  5747.1   9.9
        7  0.921  6837.4  19.5
        8  0.933  7912.7  35.7
        """,
    ),
    "adult": _rows(
        "accuracy people leaves",
        """
        4  0.843   215.2   2.4
        5  0.851   829.5   7.1
        6  0.853  1621.7  18.3
        7  0.855  1957.4  35.2
        8  0.855  2316.1  60.8
        """,
    ),
    "mushroom": _rows(
        "accuracy people leaves",
        """
        4  0.979  3293.6   9
        5  0.980  3568.4  12
        6  0.995  6122.6  16
        7  1.000  6499    20
        8  1.000  6499    20
        """,
    ),
}
"""Data set -> rows by depth."""

ORIGINAL = _rows(
    "accuracy",
    """
    nursery       0.933
    adult         0.855
    mushroom      0.995
    lending-club  0.738
    """,
)
"""Data set -> accuracy of the "original decision tree" in the text of Waseda et al. (2025)."""

TABLES_5_AND_6 = {
    "nursery": _rows(
        "unique leaves people",
        """
        3  0   1    3448
        4  0   1    3448
        5  0   3    5057
        6  0  11.2  6822
        7  0  24    7863
        """,
    ),
    "loan": _rows(
        "unique leaves people",
        """
        3  0     3.8  3653
        4  0     4.8  3303
        5  0     7.9  3729
        6  3.7  16.7  3746
        7  6    27    3837
        """,
    ),
    "adult": _rows(
        "unique leaves people",
        """
        3  0     0.3     0.7
        4  0.5   2.4   210
        5  1.8   7.3   830
        6  5.1  19    1623
        7  11   34.4  1918
        """,
    ),
}
"""Data set -> rows by depth."""

TABLE_7 = {
    ("prune-leaf", "nursery"): _rows(
        "unique people leaves accuracy",
        """
        original  0  7863.9  24    0.9370
        5         0  7863    24    0.9370
        10        0  7863    24    0.9370
        20        0  7863    24    0.9370
        30        0  7861    23.9  0.9363
        40        0  7777    21.7  0.9333
        50        0  7696    19.8  0.9324
        """,
    ),
    ("prune-leaf", "loan"): _rows(
        "unique people leaves accuracy",
        """
        original  6  3837    27    0.9809
        5         0  3803.5  11    0.9815
        10        0  3784.5   8.5  0.9599
        20        0  3752.3   6.1  0.9469
        30        0  3743.7   5.8  0.9294
        40        0  3711.8   4.9  0.9294
        50        0  3684.5   4.3  0.9277
        """,
    ),
    ("prune-leaf", "adult"): _rows(
        "unique people leaves accuracy",
        """
        original  11  1918.9  34.4  0.8545
        5          0  1881.5  14.7  0.8120
        10         0  1854.3  11.4  0.8072
        20         0  1811.5   8.6  0.7954
        30         0  1750     6.1  0.7926
        40         0  1735.9   5.7  0.7921
        50         0  1693.7   4.8  0.7900
        """,
    ),
    ("prune-parent", "nursery"): _rows(
        "unique people leaves accuracy",
        """
        original  0  7863.9  24    0.9370
        5         0  7863.9  24    0.9370
        10        0  7860.2  23.9  0.9370
        20        0  7654    19.6  0.9373
        30        0  7601.5  18.5  0.9363
        40        0  7571.1  17.7  0.9355
        50        0  7528.5  17.3  0.9348
        """,
    ),
    ("prune-parent", "loan"): _rows(
        "unique people leaves accuracy",
        """
        original  6.7  3838.3  27    0.9810
        5         0    3763.9   7.8  0.9813
        10        0    3648.2   5.5  0.9820
        20        0    3555.5   3.9  0.9809
        30        0    3169.5   3.1  0.9792
        40        0    3159.1   2.9  0.9791
        50        0    3108     2.7  0.9774
        """,
    ),
    ("prune-parent", "adult"): _rows(
        "unique people leaves accuracy",
        """
        original  11  1918.9  34.4  0.8544
        5          0  1269.1  10    0.8548
        10         0   673.1   3.5  0.8542
        20         0   673.1   3.5  0.8535
        30         0   652     2.6  0.8535
        40         0   676.1   2.2  0.8530
        50         0   551.7   1.2  0.8527
        """,
    ),
}
"""(Method, data set) -> rows by s, of trees of depth 7."""
