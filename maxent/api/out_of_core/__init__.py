"""Calls in parts: estimates, audits, bounds and comparisons of more people than memory holds, by groups of leaves."""
