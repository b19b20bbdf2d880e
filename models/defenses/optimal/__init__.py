"""Optimal trees: the best subtree, or small tree, that may be published within limits."""
