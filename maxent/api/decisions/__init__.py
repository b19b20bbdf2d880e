"""Decisions about a release: what speaks for it and against it, in one call."""
