"""Columns of a table: what their cells mean, and what they are called."""
