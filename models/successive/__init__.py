"""Several releases about overlapping people: their common attributes and trees, and the people of each."""
