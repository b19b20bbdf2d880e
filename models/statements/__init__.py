"""Statements that are published beside trees: tables, means, regressions and scores, as linear rows over the people."""
