"""Public data sets by name: what they are, and where a copy is."""
