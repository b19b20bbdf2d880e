"""Forests and boosted trees of R: tables with a row for each node."""
