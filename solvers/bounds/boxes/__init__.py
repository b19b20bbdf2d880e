"""Branch and bound over boxes of sums, many boxes at a time."""
