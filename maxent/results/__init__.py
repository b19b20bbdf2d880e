"""Results of all calls: audits, estimates, bounds, comparisons, reviews, defended releases, and their files."""
