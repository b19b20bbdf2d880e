"""Exchangeable classes: which permutations lead from an optimum to another one, and the mean of these optima."""
