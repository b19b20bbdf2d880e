"""Solver back ends, found by name, and the models that they solve."""
