"""Results: estimates, comparisons, defended releases."""
