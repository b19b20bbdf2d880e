"""Solves many small programs together, each from several starts: every step is made for all at once."""
