"""Structural attacks on a release: disclosure that follows from its numbers without solving a program."""
