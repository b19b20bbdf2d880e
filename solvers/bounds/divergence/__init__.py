"""Proof by relative entropies that no feasible point has more entropy than an answer."""
