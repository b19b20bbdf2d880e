"""Solver back ends: one module each, found by name."""
