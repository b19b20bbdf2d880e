"""Generalised records, published in place of a tree."""
