"""Releases and solver back ends side by side."""
