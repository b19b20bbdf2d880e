"""Splits that competed: the kind of constraint, and which candidates a tree with private attributes kept."""
