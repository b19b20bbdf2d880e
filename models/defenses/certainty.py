"""When a class counts as certain."""

CERTAIN = 0.999  # a class of at least this probability is certain
