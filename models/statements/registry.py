"""Registry of the kinds of statements: a new kind is a class with `parse` and `rows`, and an entry here."""

from __future__ import annotations

from typing import Protocol

from maxent.models.statements import glm, rules, scores, sums, tables
from maxent.models.statements.statement import Keys, StatementKeys


class StatementKind(Protocol):
    """A class that reads the keys of a statement of its kind."""

    def parse(self, keys: Keys) -> StatementKeys:
        """The content of a statement; keys that it leaves are unknown."""
        ...


# Name, the key ``kind`` of a document, and the class.
KINDS: dict[str, StatementKind] = {
    "linear": sums.LinearSum,
    "count": sums.ClassCount,
    "share": sums.ClassShare,
    "rate": sums.ClassRate,
    "mean": sums.ClassMean,
    "sd": sums.ClassDeviation,
    "table": tables.CrossTable,
    "confusion": scores.Confusion,
    "accuracy": scores.AccuracyStatement,
    "auc": scores.RankSum,
    "log_loss": scores.LogLoss,
    "brier": scores.Brier,
    "rule": rules.RuleStatement,
    "rules": rules.RuleListStatement,
    "glm": glm.Coefficients,
}
