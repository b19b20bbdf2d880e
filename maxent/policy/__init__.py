"""Policies: written limits on disclosure, checks of them, the records of checks, and model cards."""
