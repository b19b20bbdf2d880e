"""Choices of splits: the kind of constraint, and the candidates that a tree with private attributes compared."""
