"""Proofs about masses: bounds that hold for all data consistent with a program, cheapest proof first."""
