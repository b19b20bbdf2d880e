"""Counts that are rounded to a base: what they say of the records, and how they are made."""
