"""Whole people: tables of people that are consistent with everything published, their extremes, and rebuilt tables."""
