"""Advice: candidates of all defenses, audited against limits and raced by cross-validation; its results and report."""
