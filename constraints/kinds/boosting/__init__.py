"""Counts of classes that the scores of a boosted model state."""
