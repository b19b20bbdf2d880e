"""Proofs about masses: bounds that hold for all data consistent with a program, cheapest first; sampled worlds."""
