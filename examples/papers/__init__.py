"""Replications of papers: every figure and statement they publish, beside ours."""
