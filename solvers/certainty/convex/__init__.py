"""The level ``convex``: choices of splits that are convex comparisons, as tangents beside linear statements."""
