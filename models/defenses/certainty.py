"""When a class counts as certain."""

CERTAIN = 0.999
"""A class of at least this probability is certain."""
