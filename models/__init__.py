"""Releases, their readers and writers, and the inducers that make them."""
