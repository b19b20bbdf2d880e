"""Counts of a bootstrap: the kind of constraint, and how an error probability is shared out."""
