"""Our own solver: Newton's method in the metric of the masses, with an augmented Lagrangian for the comparisons."""
