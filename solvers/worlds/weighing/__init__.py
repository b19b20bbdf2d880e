"""Counts and samples worlds, all equally likely: an independent check of the estimate."""
