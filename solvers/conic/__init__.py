"""Conic models of convex programs, and sequences of them for programs that are not convex."""
