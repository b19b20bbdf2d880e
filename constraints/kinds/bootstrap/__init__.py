"""Counts of a bootstrap: the kind of constraint, and how the error probability is divided."""
