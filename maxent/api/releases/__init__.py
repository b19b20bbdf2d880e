"""Releases made, read and used."""
