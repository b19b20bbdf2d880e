"""Private random decision trees: drawing, sampling, suppression and their guarantee."""
