"""Proof of a global optimum by relative entropies."""
