"""What Zhu and Du (2010) print about their experiments: section 5, Figures 5 and 7, and numbers in the text."""

from __future__ import annotations

RECORDS, COMBINATIONS, CLASSES = 30_162, 4_480, 16
"""Records, distinct quasi-identifiers and values of the sensitive attribute (section 5)."""

LEAVES = {"gini": 518, "entropy": 2_983}
"""Rate-constraints by impurity, one for each leaf (section 5)."""

LABELS = {"gini": 7_770, "entropy": 44_745}
"""Label-constraints: for each leaf one for each class but its label (section 5)."""

INTERNAL = {"gini": 1_097, "entropy": 3_307}
"""Internal-constraints: at each inner node one for each candidate but the chosen one (section 5)."""

MEMORY_GB = {"gini": 1.2, "entropy": 2.5}
"""Memory that the solver took (section 5, Performance)."""

FIGURE_5 = {
    "S_A": ("0.5", "0.5", "0.5", "0.5", "0.231", "0.693", "0.693"),
    "S_B": ("0.815", "0.185", "0.815", "0.185", "0.068", "0.205", "0.205"),
}
"""Solutions of Example 1 without (S_A) and with (S_B) implicit information: x20, x21, x30, x31, D_o, D_q2, D_q3."""

FIGURE_7 = (
    ("1.492", "0.971", "2.463"),
    ("1.371", "1.156", "2.527"),
    ("1.305", "0.942", "2.247"),
    ("1.304", "0.399", "1.703"),
    ("1.262", "1.170", "2.432"),
    ("1.247", "1.187", "2.435"),
    ("1.197", "1.419", "2.616"),
    ("1.195", "1.253", "2.448"),
    ("1.191", "1.441", "2.632"),
    ("1.144", "1.744", "2.888"),
)
"""The ten largest KL2 - KL1, KL1 with and KL2 without implicit information; information gain, nats."""
