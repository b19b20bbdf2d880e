"""Worlds counted and sampled, each equally likely: an independent check of the estimate."""
