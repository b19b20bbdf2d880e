"""Audits, bounds and comparisons of more people than memory holds: what is found of leaves, given to their people."""
