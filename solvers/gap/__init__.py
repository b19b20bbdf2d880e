"""The optimality gap: upper bounds of the entropy of programs, convex or not, and proofs of optimality."""
