"""Exchangeable classes: permutations that map one optimum to another, and the mean of these optima."""
